//! A value as the cache keeps it.

use mlua::{Lua, Result, Value};

use crate::environment::api::arguments::misuse;
use crate::environment::api::json;
use crate::environment::json_write;

/// A value outside of Lua.
pub(super) enum Kept {
    Null,
    Boolean(bool),
    Number(f64),
    /// A string, of any bytes.
    Text(Box<[u8]>),
    /// A table.
    Json(Box<[u8]>),
    /// Something that goes in a table of its own.
    Boxed(Box<[u8]>),
}

impl Kept {
    /// The copy of a value; `None` when it takes more than `limit` bytes.
    ///
    /// # Errors
    /// JSON cannot hold it.
    pub(super) fn read(lua: &Lua, function: &str, value: &Value, boxed: bool, limit: usize) -> Result<Option<Self>> {
        Ok(Some(match value {
            Value::Boolean(value) => Self::Boolean(*value),
            // What is of the type `integer` comes in a box, so this one is a number.
            Value::Integer(value) => Self::Number(*value as f64),
            Value::Number(value) => Self::Number(*value),
            Value::String(text) if text.as_bytes().len() > limit => return Ok(None),
            Value::String(text) => Self::Text(text.as_bytes().as_ref().into()),
            value if value.is_null() => Self::Null,
            value => match written(lua, function, value, limit)? {
                Some(text) if boxed => Self::Boxed(text),
                Some(text) => Self::Json(text),
                None => return Ok(None),
            },
        }))
    }

    /// The value in a runspace, and whether it is in a box.
    pub(super) fn to_lua(&self, lua: &Lua) -> Result<(Value, bool)> {
        Ok(match self {
            Self::Null => (Value::NULL, false),
            Self::Boolean(value) => (Value::Boolean(*value), false),
            Self::Number(value) => (Value::Number(*value), false),
            Self::Text(text) => (Value::String(lua.create_string(text)?), false),
            Self::Json(text) => (decoded(lua, text)?, false),
            Self::Boxed(text) => (decoded(lua, text)?, true),
        })
    }

    /// Bytes beside the entry's own.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Null | Self::Boolean(_) | Self::Number(_) => 0,
            Self::Text(text) | Self::Json(text) | Self::Boxed(text) => text.len(),
        }
    }
}

/// A table as JSON; `None` when that takes more than `limit` bytes.
fn written(lua: &Lua, function: &str, value: &Value, limit: usize) -> Result<Option<Box<[u8]>>> {
    let mut text = Vec::new();
    match json_write::write_within(lua, value, false, limit, &mut text)? {
        Ok(()) => Ok(Some(text.into())),
        Err(why) if why.ends_with(&format!("larger than {limit} bytes")) => Ok(None),
        Err(why) => Err(misuse(function, why)),
    }
}

fn decoded(lua: &Lua, text: &[u8]) -> Result<Value> {
    json::decode(lua, text)?.map_err(|error| mlua::Error::runtime(format_args!("cache: {}", error.reason)))
}
