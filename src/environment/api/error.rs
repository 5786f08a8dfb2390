//! The second value of `nil, err`: a failure that a script has to expect.
//!
//! In Lua it is a frozen table with `code` and `message` that prints as its message. A wrong use of a function is not
//! a failure: it raises (see `arguments`).

use mlua::{IntoLua, Lua, Result, Table, Value};

use crate::environment::api::arguments::kind;

/// Where the metatable of all failures is kept in a runspace.
const METATABLE: &str = "moondock.failure";

/// Why a host function could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A word for programs, such as `invalid-base64`; stable over releases.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Failure {
    /// A failure of this kind.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The text of a failure that a script hands back; `None` when the value is something else.
    pub fn text_of(lua: &Lua, value: &Value) -> Option<String> {
        let table = value.as_table()?;
        if table.metatable()? != metatable(lua).ok()? {
            return None;
        }
        table.raw_get("message").ok()
    }
}

/// What a host function returns that can fail: the value, or `nil, err`.
pub type Outcome<T> = std::result::Result<T, Failure>;

impl IntoLua for Failure {
    fn into_lua(self, lua: &Lua) -> Result<Value> {
        let table = lua.create_table_with_capacity(0, 2)?;
        table.raw_set("code", self.code)?;
        table.raw_set("message", self.message)?;
        table.set_metatable(Some(metatable(lua)?))?;
        table.set_readonly(true);
        Ok(Value::Table(table))
    }
}

/// The metatable of failures, made when a runspace first needs it.
fn metatable(lua: &Lua) -> Result<Table> {
    if let Value::Table(made) = lua.named_registry_value(METATABLE)? {
        return Ok(made);
    }
    let metatable = lua.create_table()?;
    metatable.raw_set("__tostring", lua.create_function(|_, failure: Table| failure.raw_get::<Value>("message"))?)?;
    metatable.raw_set("__concat", lua.create_function(concatenate)?)?;
    metatable.raw_set("__metatable", false)?;
    metatable.set_readonly(true);
    lua.set_named_registry_value(METATABLE, &metatable)?;
    Ok(metatable)
}

/// `"cannot decode: " .. err`, either way round.
fn concatenate(lua: &Lua, (left, right): (Value, Value)) -> Result<mlua::LuaString> {
    let mut joined = Vec::new();
    for side in [&left, &right] {
        match side {
            Value::String(text) => joined.extend_from_slice(&text.as_bytes()),
            Value::Integer(_) | Value::Number(_) => joined.extend_from_slice(side.to_string()?.as_bytes()),
            other => match Failure::text_of(lua, other) {
                Some(text) => joined.extend_from_slice(text.as_bytes()),
                None => {
                    return Err(mlua::Error::runtime(format_args!(
                        "attempt to concatenate {} with an error",
                        kind(other)
                    )));
                }
            },
        }
    }
    lua.create_string(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_text_and_data_and_frozen() {
        let lua = Lua::new();
        lua.globals().set("err", Failure::new("invalid-hex", "no hex")).unwrap();
        lua.load(
            r#"
            assert(tostring(err) == "no hex")
            assert("failed: " .. err == "failed: no hex" and err .. "!" == "no hex!" and err .. 5 == "no hex5")
            assert(err .. err == "no hexno hex" and not pcall(function() return err .. {} end))
            assert(err.code == "invalid-hex" and err.message == "no hex")
            assert(not pcall(function() err.code = 1 end))
            assert(getmetatable(err) == false)
            assert(not pcall(setmetatable, err, {}))
            "#,
        )
        .exec()
        .unwrap();
    }

    #[test]
    fn is_recognised() {
        let lua = Lua::new();
        let failure = Failure::new("x", "why").into_lua(&lua).unwrap();
        assert_eq!(Failure::text_of(&lua, &failure).as_deref(), Some("why"));
        let other = lua.load("{ code = 'x', message = 'why' }").eval().unwrap();
        assert_eq!(Failure::text_of(&lua, &other), None);
        assert_eq!(Failure::text_of(&lua, &Value::Nil), None);
    }

    #[test]
    fn an_outcome_is_a_value_or_nil_and_why() {
        let lua = Lua::new();
        let decode =
            lua.create_function(|_, good: bool| Ok(if good { Ok(7) } else { Err(Failure::new("x", "why")) })).unwrap();
        lua.globals().set("decode", decode).unwrap();
        lua.load("assert(decode(true) == 7); local v, e = decode(false); assert(v == nil and tostring(e) == 'why')")
            .exec()
            .unwrap();
    }
}
