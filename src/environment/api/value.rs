//! Values of Lua as the fields of log records: copies, in which what JSON cannot hold is described instead.
//!
//! The way between JSON text and Lua is `json`, not this.

use std::ffi::c_void;
use std::fmt;

use mlua::{Lua, Result, Table, Value};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::environment::api::arguments::{kind, name_of};

/// How deep a value may be; what is deeper is described.
pub const DEPTH: usize = 128;

/// What a value, or the name of a field, costs beside its text, in bytes.
const OVERHEAD: usize = 16;

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
    /// A whole number.
    Integer(i64),
    /// A number with a fraction, or beyond whole numbers, or none.
    Number(f64),
    /// A string, or what stands for something that is not JSON-like.
    Text(Box<[u8]>),
    /// A list.
    Array(Vec<Data>),
    /// Named values, in no order.
    Object(Vec<(Box<[u8]>, Data)>),
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

/// The copy of a value, with `<function>` for a function and the like; `None` when it takes more than `limit` bytes.
/// No metamethod is asked.
///
/// # Errors
/// Lua has no memory left.
pub fn describe(lua: &Lua, value: &Value, limit: usize) -> Result<Option<Data>> {
    let mut reader = Reader { lua, left: limit, holders: Vec::new() };
    match reader.read(value) {
        Ok(data) => Ok(Some(data)),
        Err(Refused::TooLarge) => Ok(None),
        Err(Refused::Lua(error)) => Err(error),
    }
}

/// Why a value cannot be copied.
enum Refused {
    TooLarge,
    Lua(mlua::Error),
}

impl From<mlua::Error> for Refused {
    fn from(error: mlua::Error) -> Self {
        Self::Lua(error)
    }
}

struct Reader<'a> {
    lua: &'a Lua,
    /// Bytes that may still be taken.
    left: usize,
    /// The tables that hold the current one.
    holders: Vec<*const c_void>,
}

type Read<T = Data> = std::result::Result<T, Refused>;

impl Reader<'_> {
    fn read(&mut self, value: &Value) -> Read {
        self.take(OVERHEAD)?;
        Ok(match value {
            Value::Boolean(value) => Data::Boolean(*value),
            Value::Number(value) => Data::Number(*value),
            Value::Integer(value) => Data::Integer(*value),
            Value::String(text) => Data::Text(self.copy(&text.as_bytes())?),
            Value::LightUserData(_) if value.is_null() => Data::Null,
            Value::Table(table) => self.table(table)?,
            other => described(kind(other)),
        })
    }

    fn take(&mut self, bytes: usize) -> Read<()> {
        self.left = self.left.checked_sub(bytes).ok_or(Refused::TooLarge)?;
        Ok(())
    }

    fn copy(&mut self, bytes: &[u8]) -> Read<Box<[u8]>> {
        self.take(bytes.len())?;
        Ok(bytes.into())
    }

    fn table(&mut self, table: &Table) -> Read {
        let pointer = table.to_pointer();
        if self.holders.contains(&pointer) {
            return Ok(described("a table that holds itself"));
        }
        if self.holders.len() == DEPTH {
            return Ok(described("a deep table"));
        }
        self.holders.push(pointer);
        let data = if self.is_list(table)? { self.array(table) } else { self.object(table) };
        self.holders.pop();
        data
    }

    /// Whether all keys are those of a list; an empty table is one when it is marked so.
    fn is_list(&self, table: &Table) -> Read<bool> {
        let length = table.raw_len();
        if length == 0 {
            return Ok(table.is_empty() && table.metatable() == Some(array_metatable(self.lua)?));
        }
        if length > self.left / OVERHEAD {
            return Err(Refused::TooLarge);
        }
        let keys = table.pairs::<Value, Value>().take(length + 1).count();
        Ok(keys == length)
    }

    fn array(&mut self, table: &Table) -> Read {
        let items = (1..=table.raw_len()).map(|index| self.read(&table.raw_get(index)?));
        items.collect::<Read<_>>().map(Data::Array)
    }

    fn object(&mut self, table: &Table) -> Read {
        let mut fields = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            let (key, value) = pair?;
            self.take(OVERHEAD)?;
            let key = match &key {
                Value::String(key) => self.copy(&key.as_bytes())?,
                key => self.copy(name_of(key).as_bytes())?,
            };
            fields.push((key, self.read(&value)?));
        }
        Ok(Data::Object(fields))
    }
}

/// What stands for something that JSON cannot hold.
fn described(what: &str) -> Data {
    let what = what.trim_start_matches("an ").trim_start_matches("a ");
    Data::Text(format!("<{what}>").into_bytes().into())
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Integer(value) => serializer.serialize_i64(*value),
            Self::Number(value) => serialize_number(*value, serializer),
            Self::Text(text) => serializer.serialize_str(&String::from_utf8_lossy(text)),
            Self::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Self::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                fields
                    .iter()
                    .try_for_each(|(key, value)| map.serialize_entry(&*String::from_utf8_lossy(key), value))?;
                map.end()
            }
        }
    }
}

/// A number; JSON has no word for those that are none, so they are text.
fn serialize_number<S: Serializer>(number: f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    if !number.is_finite() {
        serializer.serialize_str(&number.to_string())
    } else if number.fract() == 0.0 && number.abs() <= EXACT as f64 {
        serializer.serialize_i64(number as i64)
    } else {
        serializer.serialize_f64(number)
    }
}

impl fmt::Display for Data {
    /// As JSON.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lua: &Lua, code: &str) -> Option<String> {
        lua.globals().set("null", Value::NULL).unwrap();
        lua.globals().set("array", array_metatable(lua).unwrap()).unwrap();
        let data = describe(lua, &lua.load(code).eval().unwrap(), 1 << 20).unwrap();
        data.map(|data| data.to_string())
    }

    #[test]
    fn json_like_values_are_themselves() {
        let lua = Lua::new();
        for (code, json) in [
            ("true", "true"),
            ("5", "5"),
            ("-0.5", "-0.5"),
            ("'a\\0b\\255'", "\"a\\u0000b\u{fffd}\""),
            ("null", "null"),
            ("{}", "{}"),
            ("setmetatable({}, array)", "[]"),
            ("setmetatable({1}, array)", "[1]"),
            ("{1, 'x', {}, {2}}", "[1,\"x\",{},[2]]"),
            ("{a = {b = null}}", "{\"a\":{\"b\":null}}"),
        ] {
            assert_eq!(read(&lua, code).as_deref(), Some(json), "{code}");
        }
    }

    #[test]
    fn other_values_are_described() {
        let lua = Lua::new();
        for (code, json) in [
            ("0/0", "\"NaN\""),
            ("-1/0", "\"-inf\""),
            ("print", "\"<function>\""),
            ("{f = coroutine.create(print)}", "{\"f\":\"<coroutine>\"}"),
            ("{[1.5] = 2}", "{\"1.5\":2}"),
            ("{[print] = 2}", "{\"a function\":2}"),
            ("{1, nil, 3}", "{\"1\":1,\"3\":3}"),
            ("(function() local t = {}; t.me = {t}; return t end)()", "{\"me\":[\"<table that holds itself>\"]}"),
            (
                "setmetatable({a = 1}, {__tostring = error, __index = error, __len = error, __iter = error})",
                "{\"a\":1}",
            ),
        ] {
            assert_eq!(read(&lua, code).as_deref(), Some(json), "{code}");
        }
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let lua = Lua::new();
        let deep = read(&lua, "(function() local t = {}; for i = 1, 1000 do t = {t} end; return t end)()");
        assert!(deep.is_some_and(|deep| deep.contains("<deep table>")));
        for code in [
            "string.rep('x', 2^21)",
            "table.create(2^20, 0)",
            "(function() local t = {1}; for i = 1, 60 do t = {t, t} end; return t end)()",
            "(function() local t = {}; for i = 1, 2^17 do t['k' .. i] = true end; return t end)()",
        ] {
            assert_eq!(read(&lua, code), None, "{code}");
        }
    }
}
