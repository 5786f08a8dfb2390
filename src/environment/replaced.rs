//! Functions of Luau that are replaced, because a native one has no interrupt points: with large arguments it would hold
//! its worker beyond every limit.
//!
//! A replacement hands small work to the original and does large work in Lua, which can be interrupted, or in the host
//! in time that grows only as the arguments do.

use mlua::{Lua, LuaString, Table, Value};

use super::places::HOST_CHUNK;

/// A native sort of this many elements without a comparator takes some milliseconds; above it Lua compares, so that
/// the sort can be interrupted.
const SORT: &str = "
local sort, type, error = table.sort, type, error
return function(list, before)
    if type(list) ~= 'table' then
        error(`invalid argument #1 to 'sort' (table expected, got {type(list)})`, 2)
    elseif before == nil and #list > 20000 then
        return sort(list, function(a, b) return a < b end)
    elseif before ~= nil and type(before) ~= 'function' then
        error(`invalid argument #2 to 'sort' (function expected, got {type(before)})`, 2)
    end
    return sort(list, before)
end";

/// Luau takes the count as a 32-bit number, so one beyond it would wrap around and give an empty text.
const REP: &str = "
local rep, type, error, tonumber = string.rep, type, error, tonumber
return function(text, count)
    if type(text) ~= 'string' and type(text) ~= 'number' then
        error(`invalid argument #1 to 'rep' (string expected, got {type(text)})`, 2)
    end
    local times = tonumber(count)
    if times == nil then
        error(`invalid argument #2 to 'rep' (number expected, got {type(count)})`, 2)
    elseif times >= 2147483648 then
        error('not enough memory: string.rep of ' .. count, 2)
    end
    return rep(text, times)
end";

/// Luau's own takes only text, but what functions give beside nil is an error with a code: it is raised as it is.
const ASSERT: &str = "
local assert, type, error, select = assert, type, error, select
return function(...)
    local value, message = ...
    if value then return ... end
    if select('#', ...) == 0 then error(`missing argument #1 to 'assert'`, 2) end
    if message == nil then error('assertion failed!', 2) end
    error(message, if type(message) == 'string' then 2 else 0)
end";

/// Beyond a million elements Lua moves them.
const MOVE: &str = "
local move, type = table.move, type
return function(from, first, last, at, into)
    local is_large = type(first) == 'number' and type(last) == 'number' and type(at) == 'number' and last - first >= 1e6
    if not is_large or type(from) ~= 'table' or (into ~= nil and type(into) ~= 'table') then
        return move(from, first, last, at, into)
    end
    into = into or from
    if at > last or at <= first or into ~= from then
        for offset = 0, last - first do into[at + offset] = from[first + offset] end
    else
        for offset = last - first, 0, -1 do into[at + offset] = from[first + offset] end
    end
    return into
end";

/// Luau compares a plain text at every place anew. When that can be more than ten million steps the host searches,
/// in time that grows as both texts together.
const FIND: &str = "
local search, find, type = ..., string.find, type
return function(text, pattern, init, plain)
    if type(text) == 'string' and type(pattern) == 'string' and #text * #pattern > 1e7
        and (init == nil or type(init) == 'number') and (plain or not find(pattern, '[%^%$%*%+%?%.%(%[%%%-]')) then
        return search(text, pattern, init or 1)
    end
    return find(text, pattern, init, plain)
end";

/// As with `find`.
const SPLIT: &str = "
local search, split, sub, type = ..., string.split, string.sub, type
return function(text, separator)
    if type(text) ~= 'string' or type(separator) ~= 'string' or #text * #separator <= 1e7 then
        return split(text, separator)
    end
    local parts, from = {}, 1
    while true do
        local first, last = search(text, separator, from)
        if not first then break end
        parts[#parts + 1] = sub(text, from, first - 1)
        from = last + 1
    end
    parts[#parts + 1] = sub(text, from)
    return parts
end";

/// The system's formatting of a time takes a microsecond for each field.
const DATE: &str = "
local date, type, error = os.date, type, error
return function(format, time)
    if type(format) == 'string' and #format > 1000 then
        error(\"invalid argument #1 to 'date' (a format of at most 1000 bytes expected)\", 2)
    end
    return date(format, time)
end";

/// Puts the replacements in the place of the originals.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn install(lua: &Lua) -> mlua::Result<()> {
    let globals = lua.globals();
    let library = |name: &str| globals.raw_get::<Table>(name);
    let (table, string, os) = (library("table")?, library("string")?, library("os")?);
    let search = lua.create_function(search)?;
    for (owner, name, code) in [
        (&table, "sort", SORT),
        (&table, "move", MOVE),
        (&string, "rep", REP),
        (&string, "find", FIND),
        (&string, "split", SPLIT),
        (&os, "date", DATE),
        (&globals, "assert", ASSERT),
    ] {
        owner.raw_set(name, lua.load(code).set_name(HOST_CHUNK).call::<Value>(&search)?)?;
    }
    Ok(())
}

/// The first and last place of a text in another, from a place on, as `string.find` counts them.
fn search(_: &Lua, (text, wanted, from): (LuaString, LuaString, f64)) -> mlua::Result<(Option<usize>, Option<usize>)> {
    let (text, wanted) = (text.as_bytes(), wanted.as_bytes());
    let from = if from < 0.0 { (text.len() as f64 + from).max(0.0) } else { (from - 1.0).max(0.0) };
    if from > text.len() as f64 {
        return Ok((None, None));
    }
    let from = from as usize;
    let found = memchr::memmem::find(&text[from..], &wanted).map(|at| from + at);
    Ok((found.map(|at| at + 1), found.map(|at| at + wanted.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every replacement does what the original does, whether it hands on or not.
    #[test]
    fn replacements_and_originals_agree() {
        let lua = Lua::new();
        let before: Table = lua
            .load("return { find = string.find, split = string.split, move = table.move, date = os.date }")
            .eval()
            .unwrap();
        install(&lua).unwrap();
        lua.globals().set("before", before).unwrap();
        lua.load(
            r#"
            local long, needle = ("ab"):rep(5000), ("ab"):rep(2000) .. "c"
            local texts = { long .. needle .. "x", needle, needle .. needle, "", long .. "." .. needle }
            for _, text in texts do
                for _, init in { 1, 2, 0, -1, -3000, 10001, 20000, 1e9, 3.7 } do
                    for _, plain in { true, false } do
                        local a, b = string.find(text, needle, init, plain)
                        local c, d = before.find(text, needle, init, plain)
                        assert(a == c and b == d, `{#text} {init} {plain}: {a} {b}, not {c} {d}`)
                    end
                end
                local parts, wanted = text:split(needle), before.split(text, needle)
                assert(#parts == #wanted)
                for at, part in wanted do assert(parts[at] == part) end
            end
            assert(string.find("a.c", ".", 1, true) == 2 and string.find("abc", "b") == 2 and ("x"):find("") == 1)
            assert(not pcall(string.find, "x") and not pcall(string.split))
            local function list() local made = {} for n = 1, 1000100 do made[n] = n end return made end
            for _, at in { 1, 2, 51, 1000100 } do
                local a, b = list(), list()
                assert(table.move(a, 1, 1000050, at) == a)
                before.move(b, 1, 1000050, at)
                for n = 1, 2000200 do if a[n] ~= b[n] then error(`{at}: {n}`) end end
            end
            assert(#table.move({ 1, 2, 3 }, 1, 3, 2) == 4 and #table.move({ 1, 2 }, 1, 2, 1, {}) == 2)
            assert(os.date("!%Y", 0) == "1970" and type(os.date("*t")) == "table" and not pcall(os.date, ("%c"):rep(501)))
            "#,
        )
        .exec()
        .unwrap();
    }
}
