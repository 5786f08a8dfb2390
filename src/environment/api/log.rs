//! `log` and `print`: records of the feature `script` on the logger of the current call.
//!
//! One call is one record. What characters a target writes is the target's business.

use std::sync::Arc;

use mlua::{Function, Lua, Result, Table, Value, Variadic};
use slog::{Level, Logger, RecordStatic};

use crate::environment::api::arguments::{kind, misuse};
use crate::environment::api::value::{Data, array_metatable, describe};
use crate::environment::api::{Host, Module};
use crate::environment::fiber;
use crate::environment::places::HOST_CHUNK;

/// `log`.
pub const MODULE: Module = Module { name: "log", install };

/// `print`.
pub const PRINT: Module = Module { name: "print", install: install_print };

/// The longest message and the largest fields of one record, in bytes.
const LARGEST: usize = 64 * 1024;

/// What is the same in every record of a level.
static LEVELS: [RecordStatic<'static>; 6] = [
    slog::record_static!(Level::Trace, "script"),
    slog::record_static!(Level::Debug, "script"),
    slog::record_static!(Level::Info, "script"),
    slog::record_static!(Level::Warning, "script"),
    slog::record_static!(Level::Error, "script"),
    slog::record_static!(Level::Critical, "script"),
];

/// The functions, with their place in [`LEVELS`].
const FUNCTIONS: [(&str, usize); 7] =
    [("trace", 0), ("debug", 1), ("info", 2), ("warning", 3), ("warn", 3), ("error", 4), ("critical", 5)];

/// Where `info` and `print` have their place in [`LEVELS`].
const INFO: usize = 2;

/// The function that scripts see: the host function, called again with text where it asks for that. So `tostring`, and
/// what metamethods it calls, is not below a host function and may wait.
const LOG: &str = "
local emit, text = ...
return function(message, fields)
    if emit(message, fields) then emit(text(message), fields) end
end";

const PRINT_ALL: &str = "
local emit, text = ...
return function(...)
    if emit(...) then
        local values = table.pack(...)
        for at = 1, values.n do values[at] = text(values[at]) end
        emit(unpack(values, 1, values.n))
    end
end";

const TEXT: &str = "
local tostring, type, getmetatable = ...
return function(value)
    local kind = type(value)
    if kind == 'userdata' or kind == 'table' and getmetatable(value) ~= nil then return tostring(value) end
    return value
end";

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    for (name, level) in FUNCTIONS {
        let emit = lua
            .create_function(move |lua, (message, fields): (Value, Value)| log(lua, name, level, &message, &fields))?;
        module.raw_set(name, composed(lua, LOG, emit)?)?;
    }
    Ok(Value::Table(module))
}

fn install_print(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let emit = lua.create_function(|lua, values: Variadic<Value>| print(lua, &values))?;
    composed(lua, PRINT_ALL, emit).map(Value::Function)
}

fn composed(lua: &Lua, code: &str, emit: Function) -> Result<Function> {
    let globals: Table = lua.globals();
    let library: (Value, Value, Value) = (globals.get("tostring")?, globals.get("type")?, globals.get("getmetatable")?);
    let text: Function = lua.load(TEXT).set_name(HOST_CHUNK).call(library)?;
    lua.load(code).set_name(HOST_CHUNK).call((emit, text))
}

/// Whether `tostring` is to be asked first.
type Ask = bool;

fn log(lua: &Lua, name: &str, level: usize, message: &Value, fields: &Value) -> Result<Ask> {
    let Some(logger) = logger(level) else {
        return Ok(false);
    };
    let Some(message) = shown(lua, message)? else {
        return Ok(true);
    };
    let fields = read_fields(lua, name, fields)?;
    emit(&logger, level, &message, fields);
    Ok(false)
}

fn print(lua: &Lua, values: &[Value]) -> Result<Ask> {
    let Some(logger) = logger(INFO) else {
        return Ok(false);
    };
    let words = values.iter().map(|value| shown(lua, value)).collect::<Result<Option<Vec<_>>>>()?;
    let Some(words) = words else { return Ok(true) };
    emit(&logger, INFO, &words.join("\t"), None);
    Ok(false)
}

/// The logger of the current call, when any target takes a record of this level.
fn logger(level: usize) -> Option<Logger> {
    let level = LEVELS.get(level)?.level;
    fiber::with_call(|call| call.logger(level).cloned()).flatten()
}

/// What a value says in a message, a plain table as JSON; `None` for what has a word of its own in the matter.
fn shown(lua: &Lua, value: &Value) -> Result<Option<String>> {
    Ok(Some(match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Table(table) if table.metatable().is_some_and(|found| !is_array(lua, &found)) => {
            return Ok(None);
        }
        Value::UserData(_) | Value::Error(_) => return Ok(None),
        Value::Table(_) => {
            describe(lua, value, LARGEST)?.map_or_else(|| "<large table>".to_owned(), |data| data.to_string())
        }
        other => other.to_string()?,
    }))
}

fn is_array(lua: &Lua, metatable: &Table) -> bool {
    array_metatable(lua).is_ok_and(|array| array == *metatable)
}

/// The fields of one record; `None` when there are none.
fn read_fields(lua: &Lua, name: &str, fields: &Value) -> Result<Option<Data>> {
    let wrong = |message: String| misuse(&format!("log.{name}"), message);
    match fields {
        Value::Nil => return Ok(None),
        Value::Table(_) => {}
        other => {
            return Err(wrong(format!("fields must be a table, not {}", kind(other))));
        }
    }
    match describe(lua, fields, LARGEST)? {
        Some(Data::Object(fields)) if fields.is_empty() => Ok(None),
        Some(data @ Data::Object(_)) => Ok(Some(data)),
        Some(_) => Err(wrong("fields must be named, such as { user = id }".to_owned())),
        None => {
            let why = format!("<left out: larger than {} KiB>", LARGEST / 1024);
            Ok(Some(Data::Object(vec![(b"fields".as_slice().into(), Data::Text(why.into_bytes().into()))])))
        }
    }
}

/// Writes one record; a message that is too long is cut.
fn emit(logger: &Logger, level: usize, message: &str, fields: Option<Data>) {
    let Some(record) = LEVELS.get(level) else {
        return;
    };
    let kept = message.get(..message.floor_char_boundary(LARGEST)).unwrap_or(message);
    let cut = message.len() - kept.len();
    let rest = if cut == 0 { String::new() } else { format!("… ({cut} bytes more)") };
    let text = format_args!("{kept}{rest}");
    match fields.map(slog::Serde) {
        Some(fields) => logger.log(&slog::Record::new(record, &text, slog::b!("fields" => &fields))),
        None => logger.log(&slog::Record::new(record, &text, slog::b!())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::api::testing::{in_fiber, recorded, state};

    /// What is recorded when a line of Lua runs, and what the line answers.
    fn run(code: &str) -> (Vec<String>, String) {
        let lua = state(&[MODULE, PRINT, crate::environment::api::json::MODULE]);
        recorded(Level::Debug, |logger| in_fiber(&lua, &logger, code))
    }

    fn check(cases: &[(&str, &str)]) {
        for (code, wanted) in cases {
            let (records, answer) = run(code);
            assert_eq!((records.join(" | ").as_str(), answer.as_str()), (*wanted, ""), "{code}");
        }
    }

    #[test]
    fn levels() {
        check(&[
            ("log.trace('x')", ""),
            ("log.debug('x')", "DEBG script x"),
            ("log.info('x')", "INFO script x"),
            ("log.warning('x')", "WARN script x"),
            ("log.warn('x')", "WARN script x"),
            ("log.error('x')", "ERRO script x"),
            ("log.critical('x')", "CRIT script x"),
        ]);
    }

    #[test]
    fn messages() {
        check(&[
            ("log.info('a\\nb\\0\\255')", "INFO script a\nb\0\u{fffd}"),
            ("log.info(5)", "INFO script 5"),
            ("log.info()", "INFO script nil"),
            ("log.info({ a = { 1, true } })", "INFO script {\"a\":[1,true]}"),
            ("log.info(json.array {})", "INFO script []"),
            ("log.info(setmetatable({}, { __tostring = function() return 'me' end }))", "INFO script me"),
            ("log.info(select(2, pcall(error, 'why', 0)))", "INFO script why"),
            ("print('a', 1, nil, true, { 1 })", "INFO script a\t1\tnil\ttrue\t[1]"),
            ("print(setmetatable({}, { __tostring = function() return 'me' end }), nil)", "INFO script me\tnil"),
            ("print()", "INFO script "),
        ]);
    }

    #[test]
    fn fields() {
        check(&[
            ("log.info('x', { user = 7 })", "INFO script x fields={\"user\":7}"),
            ("log.info('x', { list = { 1, json.null } })", "INFO script x fields={\"list\":[1,null]}"),
            ("log.info('x', { f = print })", "INFO script x fields={\"f\":\"<function>\"}"),
            ("log.info('x', {})", "INFO script x"),
            (
                "log.info('x', { t = string.rep('x', 2^17) })",
                "INFO script x fields={\"fields\":\"<left out: larger than 64 KiB>\"}",
            ),
        ]);
    }

    #[test]
    fn long_messages_are_cut() {
        let (records, _) = run("log.info(string.rep('é', 2^16))");
        assert!(
            records[0].len() < 2 * LARGEST && records[0].ends_with("é… (65536 bytes more)"),
            "{}",
            records[0].len()
        );
    }

    #[test]
    fn mistakes() {
        for (code, wanted) in [
            ("log.info('x', 5)", "raises log.info: fields must be a table, not a number"),
            ("log.error('x', { 1, 2 })", "raises log.error: fields must be named, such as { user = id }"),
            ("log.trace('x', 5)", ""),
        ] {
            assert_eq!(run(code), (Vec::new(), wanted.to_owned()), "{code}");
        }
    }
}
