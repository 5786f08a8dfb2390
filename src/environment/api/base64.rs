//! `base64`: bytes as text, in both alphabets of RFC 4648.

use std::sync::Arc;

use base64::Engine;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use mlua::{Lua, LuaString, Result, Value};

use crate::environment::api::arguments::{Options, bytes};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "base64", install };

/// `+` and `/`, padded; reads padded and unpadded text.
pub const PLAIN: GeneralPurpose = engine(&STANDARD, true);

/// `-` and `_`, not padded, as in tokens; reads padded and unpadded text.
pub const URL: GeneralPurpose = engine(&URL_SAFE, false);

const fn engine(alphabet: &Alphabet, padded: bool) -> GeneralPurpose {
    let config = GeneralPurposeConfig::new();
    let config = config.with_encode_padding(padded).with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config)
}

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("encode", lua.create_function(encode)?)?;
    module.raw_set("decode", lua.create_function(decode)?)?;
    Ok(Value::Table(module))
}

fn chosen(function: &'static str, options: &Value) -> Result<&'static GeneralPurpose> {
    let url = Options::read(function, options, &["url"])?.boolean("url", false)?;
    Ok(if url { &URL } else { &PLAIN })
}

fn encode(lua: &Lua, (data, options): (Value, Value)) -> Result<LuaString> {
    let data = bytes("base64.encode", "data", &data)?;
    let engine = chosen("base64.encode", &options)?;
    lua.create_string(engine.encode(&*data))
}

fn decode(lua: &Lua, (text, options): (Value, Value)) -> Result<Outcome<LuaString>> {
    let text = bytes("base64.decode", "text", &text)?;
    let engine = chosen("base64.decode", &options)?;
    match engine.decode(&*text) {
        Ok(data) => lua.create_string(data).map(Ok),
        Err(error) => Ok(Err(Failure::new("invalid-base64", format!("not base64: {}", why(&error))))),
    }
}

fn why(error: &base64::DecodeError) -> String {
    use base64::DecodeError::{InvalidByte, InvalidLastSymbol, InvalidLength, InvalidPadding};
    match error {
        InvalidByte(at, byte) => format!("byte {} is {:?}", at + 1, char::from(*byte)),
        InvalidLength(length) => format!("it cannot be {length} characters long"),
        InvalidLastSymbol(at, _) => format!("byte {} cannot be the last", at + 1),
        InvalidPadding => "its padding is wrong".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn known_answers() {
        check(
            &[super::MODULE],
            &[
                // RFC 4648, section 10.
                ("base64.encode('')", ""),
                ("base64.encode('f')", "Zg=="),
                ("base64.encode('fo')", "Zm8="),
                ("base64.encode('foo')", "Zm9v"),
                ("base64.encode('foobar')", "Zm9vYmFy"),
                ("base64.encode('\\251\\255\\254')", "+//+"),
                ("base64.encode('\\251\\255\\254', { url = true })", "-__-"),
                ("base64.encode('f', { url = true })", "Zg"),
                ("base64.encode(buffer.fromstring('foo'))", "Zm9v"),
                ("base64.decode('Zm9vYmFy')", "foobar"),
                ("base64.decode('Zg==')", "f"),
                ("base64.decode('Zg')", "f"),
                ("base64.decode('-__-', { url = true }) == '\\251\\255\\254'", "true"),
                ("#base64.decode('AAAA')", "3"),
                ("base64.decode('')", ""),
            ],
        );
    }

    #[test]
    fn mistakes() {
        check(
            &[super::MODULE],
            &[
                ("base64.decode('Zm9v!')", "nil, not base64: byte 5 is '!'"),
                ("base64.decode('Zm9v\\n')", "nil, not base64: byte 5 is '\\n'"),
                ("base64.decode('-__-')", "nil, not base64: byte 1 is '-'"),
                ("base64.decode('A')", "nil, not base64: it cannot be 1 characters long"),
                ("base64.decode('Zh==')", "nil, not base64: byte 2 cannot be the last"),
                ("select(2, base64.decode('!')).code", "invalid-base64"),
                ("base64.encode()", "raises base64.encode: data must be a string, not nil"),
                ("base64.encode(5)", "raises base64.encode: data must be a string, not a number"),
                ("base64.encode({})", "raises base64.encode: data must be a string, not a table"),
                (
                    "base64.encode('x', { ulr = true })",
                    "raises base64.encode: unknown option \"ulr\"; did you mean \"url\"?",
                ),
                (
                    "base64.decode('x', { url = 1 })",
                    "raises base64.decode: option \"url\" must be true or false, not a number",
                ),
                ("base64.decode('x', true)", "raises base64.decode: options must be a table, not a boolean"),
            ],
        );
    }
}
