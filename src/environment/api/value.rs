//! JSON-like values outside of Lua: what the cache keeps and what log records carry.
//!
//! Copies, so that nothing a script does later reaches them. The fast way between JSON text and Lua is `json`, not this.

use std::fmt;

use mlua::{Lua, Result, Table, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::environment::api::arguments::kind;

/// How deep a value may be.
pub const DEPTH: usize = 128;

/// The largest whole number that Lua's numbers tell from its neighbours.
const EXACT: u64 = 1 << 53;

/// Where the metatable of tables that are arrays even when empty is kept in a runspace.
const ARRAY: &str = "moondock.array";

/// A JSON-like value. Text is bytes, since Lua's is.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// `json.null`.
    Null,
    /// A boolean.
    Boolean(bool),
    /// A whole number beyond those that a number tells from their neighbours.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A string.
    Text(Box<[u8]>),
    /// A list.
    Array(Vec<Data>),
    /// Named values, in no order.
    Object(Vec<(Box<[u8]>, Data)>),
}

/// Why a value cannot be copied.
#[derive(Debug)]
pub enum Refused {
    /// Something in it is not JSON-like; a sentence that names the place.
    Odd(String),
    /// It is larger than the limit.
    TooLarge,
    /// Lua failed.
    Lua(mlua::Error),
}

impl From<mlua::Error> for Refused {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

/// The metatable that marks a table as an array, made when a runspace first needs it.
///
/// # Errors
/// Lua has no memory left.
pub fn array_metatable(lua: &Lua) -> Result<Table> {
    if let Value::Table(made) = lua.named_registry_value(ARRAY)? {
        return Ok(made);
    }
    let made = lua.create_table()?;
    made.raw_set("__metatable", false)?;
    made.set_readonly(true);
    lua.set_named_registry_value(ARRAY, &made)?;
    Ok(made)
}

/// Copies values out of Lua, up to a limit.
pub struct Reader<'a> {
    lua: &'a Lua,
    /// Bytes that may still be taken.
    left: usize,
    /// Whether what is not JSON-like becomes its description instead of being refused.
    describe: bool,
    /// The tables that hold the current one.
    holders: Vec<*const std::ffi::c_void>,
    /// Where the current one is.
    path: Vec<Step>,
}

/// One step into a value.
enum Step {
    Index(usize),
    Key(Box<[u8]>),
}

impl<'a> Reader<'a> {
    /// Refuses what is not JSON-like, and more than `limit` bytes.
    pub fn strict(lua: &'a Lua, limit: usize) -> Self {
        Self {
            lua,
            left: limit,
            describe: false,
            holders: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Writes `<function>` for a function and the like; still refuses more than `limit` bytes.
    pub fn lenient(lua: &'a Lua, limit: usize) -> Self {
        Self {
            describe: true,
            ..Self::strict(lua, limit)
        }
    }

    /// The copy of a value.
    ///
    /// # Errors
    /// Why it cannot be copied.
    pub fn read(&mut self, value: &Value) -> std::result::Result<Data, Refused> {
        self.take(16)?;
        Ok(match value {
            Value::Boolean(value) => Data::Boolean(*value),
            Value::Number(value) => Data::Number(*value),
            Value::Integer(value) if value.unsigned_abs() <= EXACT => Data::Number(*value as f64),
            Value::Integer(value) => Data::Integer(*value),
            Value::String(text) => Data::Text(self.copy(&text.as_bytes())?),
            Value::LightUserData(_) if value.is_null() => Data::Null,
            Value::Table(table) => return self.table(table),
            other => return self.odd(kind(other)),
        })
    }

    fn take(&mut self, bytes: usize) -> std::result::Result<(), Refused> {
        self.left = self.left.checked_sub(bytes).ok_or(Refused::TooLarge)?;
        Ok(())
    }

    fn copy(&mut self, bytes: &[u8]) -> std::result::Result<Box<[u8]>, Refused> {
        self.take(bytes.len())?;
        Ok(bytes.into())
    }

    fn table(&mut self, table: &Table) -> std::result::Result<Data, Refused> {
        let pointer = table.to_pointer();
        if self.holders.contains(&pointer) {
            return self.odd("a table that holds itself");
        }
        if self.holders.len() == DEPTH {
            return self.odd("deeper than 128 tables");
        }
        self.holders.push(pointer);
        let data = self.inside(table);
        self.holders.pop();
        data
    }

    fn inside(&mut self, table: &Table) -> std::result::Result<Data, Refused> {
        let length = table.raw_len();
        if length > 0 {
            return self.array(table, length);
        }
        let marked = match table.metatable() {
            Some(metatable) => metatable == array_metatable(self.lua)?,
            None => false,
        };
        if marked {
            self.array(table, 0)
        } else {
            self.object(table)
        }
    }

    fn array(&mut self, table: &Table, length: usize) -> std::result::Result<Data, Refused> {
        let mut count = 0_usize;
        table.for_each(|_: Value, _: Value| {
            count += 1;
            Ok(())
        })?;
        if count != length {
            return if self.describe {
                self.object(table)
            } else {
                self.odd("a table with holes or mixed keys")
            };
        }
        let mut items = Vec::new();
        for index in 1..=length {
            self.path.push(Step::Index(index));
            items.push(self.read(&table.raw_get(index)?)?);
            self.path.pop();
        }
        Ok(Data::Array(items))
    }

    fn object(&mut self, table: &Table) -> std::result::Result<Data, Refused> {
        let mut fields = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            let key = match &key {
                Value::String(key) => self.copy(&key.as_bytes())?,
                key if self.describe => self.copy(key.to_string()?.as_bytes())?,
                key => return self.odd(&format!("a table with {} as a key", kind(key))),
            };
            self.take(16)?;
            self.path.push(Step::Key(key.clone()));
            let value = self.read(&value)?;
            self.path.pop();
            fields.push((key, value));
        }
        Ok(Data::Object(fields))
    }

    /// What is not JSON-like: described or refused.
    fn odd(&self, what: &str) -> std::result::Result<Data, Refused> {
        if self.describe {
            let what = what.trim_start_matches("a ").trim_start_matches("an ");
            return Ok(Data::Text(format!("<{what}>").into_bytes().into()));
        }
        let mut place = String::from("the value");
        for step in &self.path {
            match step {
                Step::Index(index) => place.push_str(&format!("[{index}]")),
                Step::Key(key) => {
                    place.push_str(&format!(".{}", String::from_utf8_lossy(key).escape_debug()))
                }
            }
        }
        Err(Refused::Odd(format!("{place} is {what}")))
    }
}

impl Data {
    /// Makes the value in a runspace.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn to_lua(&self, lua: &Lua) -> Result<Value> {
        Ok(match self {
            Self::Null => Value::NULL,
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Integer(value) => Value::Number(*value as f64),
            Self::Number(value) => Value::Number(*value),
            Self::Text(text) => Value::String(lua.create_string(text)?),
            Self::Array(items) => {
                let table = lua.create_table_with_capacity(items.len(), 0)?;
                for (index, item) in items.iter().enumerate() {
                    table.raw_set(index + 1, item.to_lua(lua)?)?;
                }
                if items.is_empty() {
                    table.set_metatable(Some(array_metatable(lua)?))?;
                }
                Value::Table(table)
            }
            Self::Object(fields) => {
                let table = lua.create_table_with_capacity(0, fields.len())?;
                for (key, value) in fields {
                    table.raw_set(lua.create_string(key)?, value.to_lua(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }

    /// About how many bytes of memory it holds.
    pub fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(text) => text.len(),
                Self::Array(items) => items.iter().map(Self::size).sum(),
                Self::Object(fields) => fields
                    .iter()
                    .map(|(key, value)| 16 + key.len() + value.size())
                    .sum(),
                _ => 0,
            }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Number(value) => match whole(*value) {
                Some(whole) => serializer.serialize_i64(whole),
                None if value.is_finite() => serializer.serialize_f64(*value),
                None => serializer.serialize_str(&value.to_string()),
            },
            Self::Text(text) => serializer.serialize_str(&String::from_utf8_lossy(text)),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items
                    .iter()
                    .try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(key, value)| {
                    map.serialize_entry(&*String::from_utf8_lossy(key), value)
                })?;
                map.end()
            }
        }
    }
}

/// The whole number that a number is, if it is one exactly.
pub fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= EXACT as f64).then_some(number as i64)
}

impl fmt::Display for Data {
    /// As JSON; text stands alone, without quotes.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => out.write_str(&String::from_utf8_lossy(text)),
            other => out.write_str(&serde_json::to_string(other).map_err(|_| fmt::Error)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lua: &Lua, code: &str) -> std::result::Result<Data, Refused> {
        lua.globals().set("null", Value::NULL).unwrap();
        lua.globals()
            .set("array", array_metatable(lua).unwrap())
            .unwrap();
        Reader::strict(lua, 1 << 20).read(&lua.load(code).eval().unwrap())
    }

    #[test]
    fn comes_back_as_it_was() {
        let lua = Lua::new();
        for (code, json) in [
            ("true", "true"),
            ("5", "5"),
            ("-0.5", "-0.5"),
            ("'a\\0b\\255'", "\"a\\u0000b\u{fffd}\""),
            ("null", "null"),
            ("{}", "{}"),
            ("setmetatable({}, array)", "[]"),
            ("{1, 'x', {}, {2}}", "[1,\"x\",{},[2]]"),
            ("{a = {b = null}}", "{\"a\":{\"b\":null}}"),
            ("0/0", "\"NaN\""),
        ] {
            let data = read(&lua, code).unwrap();
            assert_eq!(serde_json::to_string(&data).unwrap(), json, "{code}");
            let again = Reader::strict(&lua, 1 << 20)
                .read(&data.to_lua(&lua).unwrap())
                .unwrap();
            assert_eq!(format!("{again:?}"), format!("{data:?}"), "{code}");
        }
    }

    #[test]
    fn refuses_with_the_place() {
        let lua = Lua::new();
        for (code, why) in [
            ("print", "the value is a function"),
            ("{a = {1, print}}", "the value.a[2] is a function"),
            (
                "{1, nil, 3}",
                "the value is a table with holes or mixed keys",
            ),
            (
                "{1, x = 2}",
                "the value is a table with holes or mixed keys",
            ),
            ("{[1.5] = 2}", "the value is a table with a number as a key"),
            (
                "{[true] = 2}",
                "the value is a table with a boolean as a key",
            ),
            (
                "(function() local t = {}; t.me = {t}; return t end)()",
                "the value.me[1] is a table that holds itself",
            ),
            ("coroutine.create(print)", "the value is a coroutine"),
        ] {
            match read(&lua, code) {
                Err(Refused::Odd(message)) => assert_eq!(message, why, "{code}"),
                other => panic!("{code}: {other:?}"),
            }
        }
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let lua = Lua::new();
        let nest = |depth: usize| {
            format!(
                "(function() local t = {{}}; for i = 2, {depth} do t = {{t}} end; return t end)()"
            )
        };
        assert!(read(&lua, &nest(128)).is_ok());
        assert!(matches!(read(&lua, &nest(129)), Err(Refused::Odd(_))));
        assert!(matches!(
            read(&lua, "string.rep('x', 2^21)"),
            Err(Refused::TooLarge)
        ));
        let shared = "(function() local t = {1}; for i = 1, 60 do t = {t, t} end; return t end)()";
        assert!(matches!(read(&lua, shared), Err(Refused::TooLarge)));
    }

    #[test]
    fn lenient_describes() {
        let lua = Lua::new();
        let value = lua.load("{ f = print, list = {1, x = 2} }").eval().unwrap();
        let data = Reader::lenient(&lua, 1 << 20).read(&value).unwrap();
        let json: serde_json::Value = serde_json::to_value(&data).unwrap();
        assert_eq!(
            json,
            serde_json::json!({ "f": "<function>", "list": { "1": 1, "x": 2 } })
        );
    }
}
