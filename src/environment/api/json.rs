//! `json`: text to values and back. Lists stay lists when they are empty, null stays null, and long integers keep their digits.

use std::sync::Arc;

use mlua::{Lua, Result, Table, Value};

use crate::environment::api::arguments::{Options, bytes, kind, misuse};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::value::array_metatable;
use crate::environment::api::{Host, Module};
use crate::environment::{json_read, json_write};

/// The module.
pub const MODULE: Module = Module { name: "json", install };

/// What some editors put before a text; it is no part of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a text is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What is wrong, without the place.
    pub reason: String,
    /// The line, from 1.
    pub line: usize,
    /// The byte in the line, from 1; 0 at an end of line.
    pub column: usize,
    /// The byte in the text, from 1.
    pub offset: usize,
}

impl From<JsonError> for Failure {
    fn from(error: JsonError) -> Self {
        let JsonError { reason, line, column, offset } = error;
        Self::new("json", format!("not valid JSON: {reason} at line {line}, column {column} (byte {offset})"))
    }
}

/// Makes the value of a JSON text; a byte order mark before it is skipped.
///
/// # Errors
/// Outside: Lua has no memory left. Inside: the text is not JSON, or is nested deeper than 128 levels.
pub fn decode(lua: &Lua, text: &[u8]) -> Result<std::result::Result<Value, JsonError>> {
    let marked = text.strip_prefix(BYTE_ORDER_MARK);
    let plain = marked.unwrap_or(text);
    let skipped = text.len() - plain.len();
    Ok(json_read::read(lua, plain)?.map_err(|error| explain(&error, plain, skipped)))
}

/// Writes a value as JSON text.
///
/// # Errors
/// Outside: Lua has no memory left. Inside: JSON cannot hold the value; the sentence names the place in it, such as
/// `value.items[3].price: NaN is not a JSON number`.
pub fn encode(lua: &Lua, value: &Value, pretty: bool) -> Result<std::result::Result<Vec<u8>, String>> {
    json_write::write(lua, value, pretty)
}

fn explain(error: &serde_json::Error, text: &[u8], skipped: usize) -> JsonError {
    let (line, column) = (error.line(), error.column());
    let told = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = told.strip_suffix(&place).unwrap_or(&told).to_owned();
    let before: usize = text.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    JsonError { reason, line, column, offset: skipped + before + column }
}

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("null", Value::NULL)?;
    module.raw_set("decode", lua.create_function(lua_decode)?)?;
    module.raw_set("encode", lua.create_function(lua_encode)?)?;
    module.raw_set("array", lua.create_function(lua_array)?)?;
    module.set_readonly(true);
    Ok(Value::Table(module))
}

fn lua_decode(lua: &Lua, text: Value) -> Result<Outcome<Value>> {
    let text = bytes("json.decode", "the text", &text)?;
    Ok(decode(lua, &text)?.map_err(Failure::from))
}

fn lua_encode(lua: &Lua, (value, options): (Value, Value)) -> Result<mlua::LuaString> {
    let pretty = Options::read("json.encode", &options, &["pretty"])?.boolean("pretty", false)?;
    let text = encode(lua, &value, pretty)?.map_err(|why| misuse("json.encode", why))?;
    lua.create_string(text)
}

fn lua_array(lua: &Lua, value: Value) -> Result<Table> {
    let marker = array_metatable(lua)?;
    let list = match value {
        Value::Nil => lua.create_table()?,
        Value::Table(table) => table,
        other => {
            return Err(misuse("json.array", format_args!("the list must be a table, not {}", kind(&other))));
        }
    };
    match list.metatable() {
        Some(found) if found == marker => return Ok(list),
        Some(_) => return Err(misuse("json.array", "the list has a metatable already")),
        None => list.set_metatable(Some(marker))?,
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value as Json;

    use super::*;
    use crate::environment::api::testing::{answer, check, message, state};

    /// What comes back of a text that goes into Lua and out again.
    fn round(lua: &Lua, text: &str) -> String {
        let value = decode(lua, text.as_bytes()).unwrap().unwrap();
        String::from_utf8(encode(lua, &value, false).unwrap().unwrap()).unwrap()
    }

    #[test]
    fn what_was_decoded_is_encoded_the_same() {
        let lua = Lua::new();
        for text in [
            "null",
            "true",
            "false",
            "0",
            "-1",
            "1.5",
            "\"\"",
            "\"a\"",
            "[]",
            "{}",
            "[[],{}]",
            "[null]",
            "[1,null,3]",
            "[[[]]]",
            "{\"a\":null}",
            "{\"1\":\"x\"}",
            "{\"\":[]}",
            "[\"\\u0000\\u001f\\n\\t\\r\\b\\f\\\"\\\\/é月\"]",
            "[1.5,false,\"s\"]",
            "[9007199254740991,9007199254740992,9007199254740993,-9007199254740993]",
            "9007199254740993",
            "[9223372036854775807,-9223372036854775808]",
            "[0.1,1e-7,1e+300,5e-324]",
        ] {
            assert_eq!(round(&lua, text), text, "{text}");
        }
        for (text, wanted) in [
            ("1e2", "100"),
            ("-0", "0"),
            ("1.0", "1"),
            ("18446744073709551615", "18446744073709552000"),
            (" [ 1 , 2 ] ", "[1,2]"),
            ("\u{feff}[1]", "[1]"),
            ("{\"a\":1,\"a\":2}", "{\"a\":2}"),
            ("\"\\ud83d\\ude00\"", "\"😀\""),
        ] {
            let (got, wanted): (Json, Json) = (round(&lua, text).parse().unwrap(), wanted.parse().unwrap());
            assert_eq!(got.as_f64(), wanted.as_f64(), "{text}");
            assert!(got == wanted || got.is_f64() != wanted.is_f64(), "{text}");
        }
    }

    #[test]
    fn what_is_not_json_says_where() {
        check(
            &[MODULE],
            &[
                ("json.decode('')", "nil, not valid JSON: EOF while parsing a value at line 1, column 0 (byte 0)"),
                (
                    "json.decode('{\"a\":1')",
                    "nil, not valid JSON: EOF while parsing an object at line 1, column 6 (byte 6)",
                ),
                ("json.decode('{}x')", "nil, not valid JSON: trailing characters at line 1, column 3 (byte 3)"),
                ("json.decode('[\\n1,\\n]')", "nil, not valid JSON: trailing comma at line 3, column 1 (byte 6)"),
                ("json.decode('[1e999]')", "nil, not valid JSON: number out of range at line 1, column 6 (byte 6)"),
                ("select(2, json.decode('nope')).code", "json"),
                ("json.decode(5)", "raises json.decode: the text must be a string, not a number"),
            ],
        );
        let lua = state(&[MODULE]);
        for text in [
            "{'a':1}",
            "[1,]",
            "“a”",
            "[01]",
            "[1.]",
            "[.5]",
            "NaN",
            "\"\t\"",
            "\"\\x\"",
            "\"\\ud800\"",
            "{1:2}",
            "[1 2]",
            "tru",
        ] {
            assert!(decode(&lua, text.as_bytes()).unwrap().is_err(), "{text}");
        }
        assert!(decode(&lua, b"{\"a\":\"\xff\"}").unwrap().is_err());
        assert!(decode(&lua, b"\xff").unwrap().is_err());
    }

    #[test]
    fn depth_has_one_limit_both_ways() {
        let lua = state(&[MODULE]);
        let nest = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
        assert_eq!(round(&lua, &nest(128)), nest(128));
        for text in [nest(129), nest(100_000), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
            let error = decode(&lua, text.as_bytes()).unwrap().unwrap_err();
            assert_eq!(error.reason, "nested deeper than 128 levels");
        }
        let deep =
            answer(&lua, "(function() local t = {}; for i = 1, 100000 do t = {t} end; return json.encode(t) end)()");
        assert!(deep.ends_with("[1]: nested deeper than 128 levels") && deep.contains(" … "), "{deep}");
    }

    #[test]
    fn what_json_cannot_hold_is_refused_with_its_place() {
        let cases = [
            ("{ items = { 1, 2, { price = 0/0 } } }", "value.items[3].price: NaN is not a JSON number"),
            ("-1/0", "value: infinity is not a JSON number"),
            ("{ f = print }", "value.f: a function cannot be written as JSON"),
            ("{ coroutine.create(print) }", "value[1]: a coroutine cannot be written as JSON"),
            ("{ vector.create(1, 2, 3) }", "value[1]: a vector cannot be written as JSON"),
            ("{ buffer.create(1) }", "value[1]: a buffer cannot be written as JSON"),
            ("{ ['a b'] = { newproxy() } }", "value[\"a b\"][1]: a userdata cannot be written as JSON"),
            ("{ 1, x = 2 }", "value: a table with list items and named fields; JSON has either"),
            ("{ 1, nil, 3 }", "value: a list with holes; fill them with json.null"),
            ("{ [1] = 1, [1000000] = 2 }", "value: a list with holes; fill them with json.null"),
            (
                "{ [2] = 1 }",
                "value: a table with holes or with numbers as keys; JSON keys are strings, so use tostring",
            ),
            ("{ 1, [1.5] = 1 }", "value: a table with list items and named fields; JSON has either"),
            ("{ [true] = 1 }", "value: a table with a boolean as a key; JSON keys are strings"),
            ("{ '\\255' }", "value[1]: a string that is not valid UTF-8; encode bytes with base64 or hex first"),
            ("json.array { x = 1 }", "value: a table with list items and named fields; JSON has either"),
        ];
        refused(&cases);
    }

    #[test]
    fn a_table_that_holds_itself_is_refused() {
        refused(&[
            (
                "(function() local t = {}; t.self = { t }; return t end)()",
                "value.self[1]: a cycle: this table holds itself",
            ),
            ("(function() local t = {}; t[1] = t; return t end)()", "value[1]: a cycle: this table holds itself"),
        ]);
    }

    fn refused(cases: &[(&str, &str)]) {
        let lua = state(&[MODULE]);
        for (code, wanted) in cases {
            let value: Value = lua.load(*code).eval().unwrap();
            assert_eq!(encode(&lua, &value, false).unwrap().unwrap_err(), *wanted, "{code}");
            let raised = lua.load(format!("json.encode({code})")).eval::<Value>().unwrap_err();
            assert_eq!(message(&raised), format!("json.encode: {wanted}"));
        }
    }

    #[test]
    fn lists_and_objects() {
        check(
            &[MODULE],
            &[
                ("json.encode({})", "{}"),
                ("json.encode(json.array())", "[]"),
                ("json.encode(json.array {})", "[]"),
                ("json.encode(json.array(json.array { 1 }))", "[1]"),
                ("json.encode(nil)", "null"),
                ("json.encode(json.null)", "null"),
                ("json.encode({ json.null, 2 })", "[null,2]"),
                ("json.decode('null') == json.null", "true"),
                ("(function() local t = json.decode('[1]'); table.remove(t, 1); return json.encode(t) end)()", "[]"),
                ("(function() local a = {1}; return json.encode({ a, a }) end)()", "[[1],[1]]"),
                (
                    "(function() local t = {}; for i = 9, 1, -1 do t[i] = i end; return json.encode(t) end)()",
                    "[1,2,3,4,5,6,7,8,9]",
                ),
                (
                    "(function() local t = {}; for i = 1, 20 do t[i] = i end; for i = 20, 3, -1 do t[i] = nil end; return json.encode(t) end)()",
                    "[1,2]",
                ),
                ("json.encode({ 1, 2.5, 2^53, 1e300, -0 })", "[1,2.5,9007199254740992,1e+300,0]"),
                (
                    "json.encode({ a = { 1, { b = 2 } }, }, { pretty = true })",
                    "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ]\n}",
                ),
                ("json.encode({ {}, json.array {} }, { pretty = true })", "[\n  {},\n  []\n]"),
                (
                    "json.encode(1, { prety = true })",
                    "raises json.encode: unknown option \"prety\"; did you mean \"pretty\"?",
                ),
                ("json.array(5)", "raises json.array: the list must be a table, not a number"),
                ("json.array(setmetatable({}, {}))", "raises json.array: the list has a metatable already"),
                ("json.array(table.freeze {})", "raises attempt to modify a readonly table"),
                ("getmetatable(json.array {})", "false"),
                ("pcall(function() json.encode = 1 end)", "false, case:1: attempt to modify a readonly table"),
            ],
        );
    }

    #[test]
    fn long_integers_survive_in_tables() {
        check(
            &[MODULE],
            &[
                ("tostring(json.decode('{\"id\":9223372036854775807}').id)", "9223372036854775807"),
                (
                    "json.encode(json.decode('[9223372036854775807,-9007199254740993]'))",
                    "[9223372036854775807,-9007199254740993]",
                ),
                ("type(json.decode('[9007199254740992]')[1])", "number"),
                ("type(json.decode('[18446744073709551615]')[1])", "number"),
            ],
        );
    }

    #[test]
    fn shared_tables_cannot_blow_up() {
        let lua = state(&[MODULE]);
        let code = "(function() local t = { 1 }; for i = 1, 40 do t = { t, t } end; return t end)()";
        let value = lua.load(code).eval().unwrap();
        let mut text = Vec::new();
        let said = json_write::write_within(&lua, &value, false, 1 << 20, &mut text).unwrap().unwrap_err();
        assert!(said.ends_with("the JSON text would be larger than 1048576 bytes"), "{said}");
    }

    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            (-1000_i64..1000).prop_map(Json::from),
            any::<f64>()
                .prop_filter("JSON has no NaN", |value| value.is_finite() && value.fract() != 0.0)
                .prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Json::from),
                prop::collection::hash_map(any::<String>(), inner, 0..8)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_survives(value in json(), pretty: bool) {
            let lua = Lua::new();
            let inside = decode(&lua, value.to_string().as_bytes()).unwrap().unwrap();
            let text = encode(&lua, &inside, pretty).unwrap().unwrap();
            prop_assert_eq!(serde_json::from_slice::<Json>(&text).unwrap(), value);
        }

        #[test]
        fn any_bytes_are_judged_like_serde_does(text in prop::collection::vec(prop::sample::select(b"[]{},:\"\\u0019aeE+-. \n\xff\xc3\xa9tfn".to_vec()), 0..24)) {
            let lua = Lua::new();
            let ours = decode(&lua, &text).unwrap();
            prop_assert_eq!(ours.is_ok(), serde_json::from_slice::<Json>(&text).is_ok());
        }
    }
}
