//! What scripts get to see of errors: text with places of their files, and nothing of the host's insides.
//!
//! What catches errors in Luau hands out whatever was raised, and for a host function that is mlua's own error with a
//! traceback in it. So the functions that catch are wrapped in Lua. When all goes well the wrapper only hands on; on
//! the way of an error it calls the host once, which makes text of it. Values that a script raised stay what they are.
//!
//! That a handler is to end cannot be caught for long: the interrupt stays armed and raises again in the wrapper.

use mlua::{Lua, LuaString, MultiValue, Result, Table, Value};

use super::places::{self, HOST_CHUNK};

/// The functions that catch, each around its original.
const WRAPPERS: &str = "
local tidy, trace, pcall, xpcall, resume, close, traceback, type, error = ...

local function told(problem)
    local kind = type(problem)
    if kind == 'string' or kind == 'userdata' then return tidy(problem) end
    return problem
end

local function after(ok, ...)
    if ok then return ok, ... end
    return ok, told((...))
end

local function wanted(at, name, value, kind)
    if type(value) ~= kind then
        error(`invalid argument #{at} to '{name}' ({kind} expected, got {type(value)})`, 3)
    end
end

return {
    pcall = function(...) return after(pcall(...)) end,
    xpcall = function(run, handle, ...)
        wanted(2, 'xpcall', handle, 'function')
        return after(xpcall(run, function(problem) return handle(told(problem)) end, ...))
    end,
    resume = function(thread, ...)
        wanted(1, 'resume', thread, 'thread')
        return after(resume(thread, ...))
    end,
    close = function(thread)
        wanted(1, 'close', thread, 'thread')
        return after(close(thread))
    end,
    traceback = function(...)
        local thread, message, level = ...
        if type(thread) == 'thread' then
            return trace(traceback(thread, nil, level), message)
        end
        message, level = ...
        if level ~= nil then wanted(2, 'traceback', level, 'number') end
        return trace(traceback(nil, (level or 1) + 1), message)
    end,
}";

/// Puts the wrappers in the place of what they wrap. To be called once everything else is installed: the host's own
/// Lua goes on with the originals, so that what it raises anew keeps its traceback.
pub(super) fn install(lua: &Lua) -> Result<()> {
    let globals = lua.globals();
    let (coroutine, debug): (Table, Table) = (globals.raw_get("coroutine")?, globals.raw_get("debug")?);
    let parts: [Value; 9] = [
        Value::Function(lua.create_function(tidy)?),
        Value::Function(lua.create_function(trace)?),
        globals.raw_get("pcall")?,
        globals.raw_get("xpcall")?,
        coroutine.raw_get("resume")?,
        coroutine.raw_get("close")?,
        debug.raw_get("traceback")?,
        globals.raw_get("type")?,
        globals.raw_get("error")?,
    ];
    let wrappers: Table = lua.load(WRAPPERS).set_name(HOST_CHUNK).call(MultiValue::from_iter(parts))?;
    for (table, name) in [
        (&globals, "pcall"),
        (&globals, "xpcall"),
        (&coroutine, "resume"),
        (&coroutine, "close"),
        (&debug, "traceback"),
    ] {
        table.raw_set(name, wrappers.raw_get::<Value>(name)?)?;
    }
    Ok(())
}

/// What a script sees of an error that it caught. A text that tells no place stays the very same.
fn tidy(lua: &Lua, problem: Value) -> Result<Value> {
    match problem {
        Value::Error(error) => {
            let (message, _) = places::told(&error);
            lua.create_string(places::in_files(lua, &message)).map(Value::String)
        }
        Value::String(text) => tidy_text(lua, text).map(Value::String),
        other => Ok(other),
    }
}

fn tidy_text(lua: &Lua, text: LuaString) -> Result<LuaString> {
    let tidied = {
        let bytes = text.as_bytes();
        // A place stands before what may be no text.
        let (valid, rest) = match std::str::from_utf8(&bytes) {
            Ok(valid) => (valid, &bytes[..0]),
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                (std::str::from_utf8(valid).unwrap_or_default(), rest)
            }
        };
        let message = places::without_host_place(valid);
        if message.len() == valid.len() && !message.contains('#') {
            None
        } else {
            Some([places::in_files(lua, message).as_bytes(), rest].concat())
        }
    };
    tidied.map_or(Ok(text), |tidied| lua.create_string(tidied))
}

/// A traceback of Luau without the host's own frames, and with places of the files.
fn trace(lua: &Lua, (frames, message): (LuaString, Option<LuaString>)) -> Result<LuaString> {
    let frames = frames.to_string_lossy();
    let mut shown = Vec::new();
    if let Some(message) = message {
        shown.extend_from_slice(&tidy_text(lua, message)?.as_bytes());
        shown.push(b'\n');
    }
    for frame in frames.lines().filter(|frame| !places::is_host_frame(frame)) {
        shown.extend_from_slice(places::in_files(lua, frame).as_bytes());
        shown.push(b'\n');
    }
    lua.create_string(shown)
}
