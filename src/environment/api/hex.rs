//! `hex`: bytes as pairs of hexadecimal digits.

use std::sync::Arc;

use mlua::{Lua, LuaString, Result, Value};

use crate::environment::api::arguments::bytes;
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "hex", install };

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("encode", lua.create_function(encode)?)?;
    module.raw_set("decode", lua.create_function(decode)?)?;
    Ok(Value::Table(module))
}

fn encode(lua: &Lua, data: Value) -> Result<LuaString> {
    lua.create_string(hex::encode(&*bytes("hex.encode", "data", &data)?))
}

fn decode(lua: &Lua, text: Value) -> Result<Outcome<LuaString>> {
    let text = bytes("hex.decode", "text", &text)?;
    match hex::decode(&*text) {
        Ok(data) => lua.create_string(data).map(Ok),
        Err(error) => Ok(Err(Failure::new("invalid-hex", format!("not hexadecimal: {}", why(error, text.len()))))),
    }
}

fn why(error: hex::FromHexError, length: usize) -> String {
    match error {
        hex::FromHexError::InvalidHexCharacter { c, index } => {
            format!("byte {} is {c:?}", index + 1)
        }
        _ => format!("{length} digits make no whole bytes"),
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn both_ways() {
        check(
            &[super::MODULE],
            &[
                ("hex.encode('')", ""),
                ("hex.encode('\\0\\255moon')", "00ff6d6f6f6e"),
                ("hex.decode('6d6F6f6E')", "moon"),
                ("hex.decode('00ff') == '\\0\\255'", "true"),
                ("hex.decode('6d6')", "nil, not hexadecimal: 3 digits make no whole bytes"),
                ("hex.decode('6dg0')", "nil, not hexadecimal: byte 3 is 'g'"),
                ("select(2, hex.decode('x')).code", "invalid-hex"),
                ("hex.encode(nil)", "raises hex.encode: data must be a string, not nil"),
                ("hex.decode(12)", "raises hex.decode: text must be a string, not a number"),
            ],
        );
    }
}
