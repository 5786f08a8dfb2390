//! `cache`: values in the memory of this process, shared by every environment, bounded, gone with the process.
//!
//! What is kept is a copy, so a script cannot reach what another one got: text as it is, tables as JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Result, Value};

use crate::environment::api::arguments::{self, Bytes, Options, bytes, misuse};
use crate::environment::api::cache::flight::{Flights, Lead, Turn, Wait};
use crate::environment::api::cache::store::{Limits, Store, TooLarge};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::json;
use crate::environment::api::{Host, Module, ProcessHost};
use crate::environment::waiting::{Pending, waiting_function};
use crate::environment::{fiber, json_write};

pub mod flight;
pub mod store;

/// The module.
pub const MODULE: Module = Module { name: "cache", install };

/// The longest key, in bytes.
const LONGEST_KEY: usize = 4096;

/// When a function of `cache.fetch` is taken for lost that has no deadline.
const PATIENCE: Duration = Duration::from_secs(600);

/// What scripts call, over the host functions. A value of the type `integer` goes in a box, since mlua would hand it
/// over as a number. The function of `fetch` runs in Lua, not below a host function, so it may wait.
const COMPOSE: &str = "
local get, set, delete, begin, wait, finish, pcall, error, type = ...
local function box(value)
    if type(value) == 'integer' then return { value }, true end
    return value, false
end
local function unbox(value, boxed)
    if boxed then return value[1] end
    return value
end
local function done(lead, ok, ...)
    finish(lead, ok, box((...)))
    if not ok then error((...), 0) end
    return ...
end
return {
    get = function(key) return unbox(get(key)) end,
    set = function(key, value, options) return set(key, options, box(value)) end,
    delete = delete,
    fetch = function(key, options, compute)
        while true do
            local turn, value, boxed = begin(key, options, compute)
            if turn == 'ready' then return unbox(value, boxed) end
            if turn ~= 'wait' then return done(turn, pcall(compute)) end
            local came, theirs, inside = wait()
            if came then return unbox(theirs, inside) end
        end
    end,
}";

/// What the process keeps for scripts.
pub struct Cache {
    store: Store<Kept>,
    flights: Arc<Flights<Kept>>,
}

impl Default for Cache {
    fn default() -> Self {
        Self { store: Store::new(Limits::default()), flights: Arc::default() }
    }
}

/// A value outside of Lua.
enum Kept {
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

/// What is held while the function of `fetch` runs.
struct Computing {
    lead: Lead<Kept>,
    ttl: Option<Duration>,
}

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let globals = lua.globals();
    let parts: [Value; 9] = [
        Value::Function(with(lua, host, get)?),
        Value::Function(with(lua, host, set)?),
        Value::Function(with(lua, host, delete)?),
        Value::Function(with(lua, host, begin)?),
        Value::Function(waiting_function(lua, |_, _| theirs(), came)?),
        Value::Function(with(lua, host, finish)?),
        globals.get("pcall")?,
        globals.get("error")?,
        globals.get("type")?,
    ];
    lua.load(COMPOSE).set_name("=cache").call(MultiValue::from_iter(parts)).map(Value::Table)
}

/// A function of Lua that can reach the cache.
fn with<A: mlua::FromLuaMulti + 'static, R: IntoLuaMulti + 'static>(
    lua: &Lua,
    host: &Arc<Host>,
    function: fn(&Lua, &Cache, A) -> Result<R>,
) -> Result<Function> {
    let process: Arc<ProcessHost> = Arc::clone(&host.process);
    lua.create_function(move |lua, arguments| function(lua, &process.cache, arguments))
}

fn key_of(function: &str, key: &Value) -> Result<Bytes> {
    let key = bytes(function, "key", key)?;
    if key.len() > LONGEST_KEY {
        let length = key.len();
        return Err(misuse(function, format_args!("key must be at most {LONGEST_KEY} bytes long, not {length}")));
    }
    Ok(key)
}

fn ttl_of(function: &'static str, options: &Value) -> Result<Option<Duration>> {
    Options::read(function, options, &["ttl"])?.duration("ttl")
}

fn get(lua: &Lua, cache: &Cache, key: Value) -> Result<(Value, bool)> {
    let key = key_of("cache.get", &key)?;
    let kept = cache.store.get(&key, Instant::now());
    kept.map_or(Ok((Value::Nil, false)), |kept| kept.to_lua(lua))
}

fn set(lua: &Lua, cache: &Cache, (key, options, value, boxed): (Value, Value, Value, bool)) -> Result<Outcome<bool>> {
    let key = key_of("cache.set", &key)?;
    let ttl = ttl_of("cache.set", &options)?;
    if value.is_nil() {
        return Err(misuse("cache.set", "value must not be nil; cache.delete removes a key, json.null can be kept"));
    }
    let kept = match Kept::read(lua, "cache.set", &value, boxed, cache.store.limits().entry)? {
        Some(kept) => cache.keep(&key, &Arc::new(kept), ttl),
        None => {
            cache.store.delete(&key, Instant::now());
            Err(TooLarge)
        }
    };
    Ok(kept.map(|()| true).map_err(|TooLarge| too_large(cache)))
}

fn too_large(cache: &Cache) -> Failure {
    let limit = cache.store.limits().entry >> 20;
    Failure::new("too-large", format!("the value is larger than the {limit} MiB that the cache takes"))
}

fn delete(_: &Lua, cache: &Cache, key: Value) -> Result<bool> {
    Ok(cache.store.delete(&key_of("cache.delete", &key)?, Instant::now()))
}

/// The first step of `fetch`: the value, or the number of a lead, or a wait for that of another caller.
fn begin(lua: &Lua, cache: &Cache, (key, options, compute): (Value, Value, Value)) -> Result<MultiValue> {
    let key = key_of("cache.fetch", &key)?;
    let ttl = ttl_of("cache.fetch", &options)?;
    arguments::function("cache.fetch", "the third argument", compute)?;
    let now = Instant::now();
    let look = || cache.store.get(&key, now);
    if let Some(kept) = look() {
        return ready(lua, &kept);
    }
    let until = fiber::limits().map_or(now + PATIENCE, |limits| limits.deadline);
    match cache.flights.turn(&key, now, until, look) {
        Turn::Ready(kept) => ready(lua, &kept),
        Turn::Lead(lead) => {
            let number = lead.number();
            fiber::hold(number, Box::new(Computing { lead, ttl })).ok_or_else(nothing_waits)?;
            number.into_lua_multi(lua)
        }
        Turn::Wait(other) if fiber::holds(other.number()) => {
            Err(misuse("cache.fetch", "the function fetches the very key that it computes"))
        }
        Turn::Wait(other) => {
            fiber::keep(Box::new(other)).ok_or_else(nothing_waits)?;
            "wait".into_lua_multi(lua)
        }
    }
}

fn ready(lua: &Lua, kept: &Kept) -> Result<MultiValue> {
    let (value, boxed) = kept.to_lua(lua)?;
    ("ready", value, boxed).into_lua_multi(lua)
}

fn nothing_waits() -> mlua::Error {
    misuse("cache.fetch", "nothing can wait here")
}

/// The wait that `begin` left.
fn theirs() -> Result<Pending<Option<Arc<Kept>>>> {
    let kept = fiber::take_kept().and_then(|kept| kept.downcast::<Wait<Kept>>().ok());
    let wait = kept.ok_or_else(nothing_waits)?;
    Ok(Box::pin(wait.value()))
}

fn came(lua: &Lua, kept: Option<Arc<Kept>>) -> Result<MultiValue> {
    match kept {
        Some(kept) => {
            let (value, boxed) = kept.to_lua(lua)?;
            (true, value, boxed).into_lua_multi(lua)
        }
        None => false.into_lua_multi(lua),
    }
}

/// The last step of `fetch`: keeps and hands out what the function gave. After an error, or nil, the next who waits
/// computes.
fn finish(lua: &Lua, cache: &Cache, (number, ok, value, boxed): (u64, bool, Value, bool)) -> Result<()> {
    let held = fiber::let_go(number).and_then(|held| held.downcast::<Computing>().ok());
    let Some(Computing { lead, ttl }) = held.map(|held| *held) else { return Ok(()) };
    if !ok || value.is_nil() {
        return Ok(());
    }
    let Some(kept) = Kept::read(lua, "cache.fetch", &value, boxed, cache.store.limits().entry)? else { return Ok(()) };
    let kept = Arc::new(kept);
    // One that is just too large to be kept still serves those who wait for it.
    let (Ok(()) | Err(TooLarge)) = cache.keep(lead.key(), &kept, ttl);
    lead.finish(kept);
    Ok(())
}

impl Cache {
    fn keep(&self, key: &[u8], kept: &Arc<Kept>, ttl: Option<Duration>) -> std::result::Result<(), TooLarge> {
        self.store.set(key, Arc::clone(kept), kept.size(), ttl, Instant::now())
    }
}

impl Kept {
    /// The copy of a value; `None` when it takes more than `limit` bytes.
    fn read(lua: &Lua, function: &str, value: &Value, boxed: bool, limit: usize) -> Result<Option<Self>> {
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
    fn to_lua(&self, lua: &Lua) -> Result<(Value, bool)> {
        Ok(match self {
            Self::Null => (Value::NULL, false),
            Self::Boolean(value) => (Value::Boolean(*value), false),
            Self::Number(value) => (Value::Number(*value), false),
            Self::Text(text) => (Value::String(lua.create_string(text)?), false),
            Self::Json(text) => (decoded(lua, text)?, false),
            Self::Boxed(text) => (decoded(lua, text)?, true),
        })
    }

    fn size(&self) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;
    use slog::Logger;

    use crate::environment::api::all::MODULE as ALL;
    use crate::environment::api::sleep::MODULE as SLEEP;
    use crate::environment::api::testing::{answer, check, fiber, host, in_fiber, on_worker, state_of};

    #[test]
    fn get_set_delete() {
        check(
            &[MODULE],
            &[
                ("cache.get('a')", "nil"),
                ("cache.set('a', 'x\\0\\255', { ttl = 60 })", "true"),
                ("cache.get('a') == 'x\\0\\255'", "true"),
                ("cache.set('a', { list = { 1, 2 }, on = false })", "true"),
                ("cache.get('a').list", "{1, 2}"),
                ("cache.get('a').on", "false"),
                ("cache.delete('a')", "true"),
                ("cache.delete('a')", "false"),
                ("cache.get('a')", "nil"),
                ("cache.set('b', 1, { ttl = 0 })", "true"),
                ("cache.get('b')", "nil"),
                ("cache.set('\\0\\255', 1) and cache.get('\\0\\255')", "1"),
                ("cache.set('', true) and cache.get('')", "true"),
            ],
        );
    }

    #[test]
    fn what_is_kept_is_a_copy() {
        let lua = state_of(&[MODULE], &host());
        let code = "local t = { x = 1 } cache.set('a', t) t.x = 2 local u = cache.get('a') u.x = 3 assert(cache.get('a').x == 1)";
        lua.load(code).exec().unwrap();
    }

    #[test]
    fn runspaces_share_it() {
        let host = host();
        let (first, second) = (state_of(&[MODULE], &host), state_of(&[MODULE], &host));
        assert_eq!(answer(&first, "cache.set('a', { x = 1 })"), "true");
        assert_eq!(answer(&second, "cache.get('a').x"), "1");
    }

    #[test]
    fn every_kind_of_value_comes_back() {
        let host = host();
        let lua = state_of(&[MODULE, json::MODULE], &host);
        for value in [
            "true", "0", "-0.5", "2^53", "2^60", "1/0", "''", "'a\\0b\\255'", "json.null",
            "json.decode('9223372036854775807')", "json.decode('[9007199254740993]')[1]",
        ] {
            let code = format!("(function() cache.set('k', {value}) local v = cache.get('k') return v == {value} and type(v) == type({value}) end)()");
            assert_eq!(answer(&lua, &code), "true", "{value}");
        }
        for text in ["{}", "[]", "[1,{\"a\":[]},null,9223372036854775807,1.5]", "{\"a\":{\"b\":[[]]}}"] {
            let code = format!("(function() cache.set('k', json.decode('{text}')) return json.encode(cache.get('k')) end)()");
            assert_eq!(answer(&lua, &code), text, "{text}");
        }
    }

    fn fetching() -> Lua {
        let lua = state_of(&[MODULE, SLEEP, ALL], &host());
        lua.load("count = 0 function compute() count += 1 return { n = count } end").exec().unwrap();
        lua
    }

    #[test]
    fn fetch_computes_once() {
        let lua = fetching();
        let logger = Logger::root(slog::Discard, slog::o!());
        for (code, wanted) in [
            ("cache.fetch('a', { ttl = '1h' }, compute).n", "1"),
            ("cache.fetch('a', { ttl = '1h' }, compute).n", "1"),
            ("cache.fetch('b', nil, compute).n", "2"),
            ("cache.fetch('c', { ttl = 0 }, compute).n", "3"),
            ("cache.fetch('c', { ttl = 0 }, compute).n", "4"),
            ("cache.fetch('d', {}, function() return nil, 'not now' end)", "nil, not now"),
            ("cache.fetch('d', {}, function() end)", ""),
            ("cache.fetch('d', {}, function() error('own', 0) end)", "raises own"),
            ("pcall(cache.fetch, 'd', {}, function() error({ code = 7 }) end) or 7", "7"),
            ("cache.fetch('d', {}, function() return print end)", "raises cache.fetch: value: a function cannot be written as JSON"),
            ("cache.fetch('d', {}, function() return cache.fetch('d', {}, compute) end)", "raises cache.fetch: the function fetches the very key that it computes"),
            ("cache.fetch('d', {}, function() return cache.fetch('e', {}, function() return 'inner' end) end)", "inner"),
            ("cache.delete('d')", "true"),
            ("#cache.fetch('d', {}, function() return string.rep('x', 2^23) end)", "8388608"),
            ("cache.get('d')", "nil"),
            ("cache.fetch('d', {}, function() sleep('1ms') return 5 end)", "5"),
            ("cache.get('d')", "5"),
        ] {
            assert_eq!(in_fiber(&lua, &logger, code), wanted, "{code}");
        }
    }

    #[test]
    fn those_who_come_meanwhile_wait_for_the_first() {
        let lua = fetching();
        let logger = Logger::root(slog::Discard, slog::o!());
        let fetch = "function() return cache.fetch('k', {}, function() count += 1 sleep('5ms') return count end) end";
        let three = format!("all {{ {fetch}, {fetch}, {fetch} }}");
        assert_eq!(in_fiber(&lua, &logger, &three), "1, 1, 1");
        let failing = "function() return pcall(cache.fetch, 'f', {}, function() count += 1 sleep('1ms') if count < 4 then error('no', 0) end return count end) end";
        let three = format!("all {{ {failing}, {failing}, {failing} }}");
        assert_eq!(in_fiber(&lua, &logger, &three), "false, false, true");
        assert_eq!(answer(&lua, "cache.get('f')"), "4");
    }

    #[test]
    fn a_caller_that_is_cancelled_passes_the_turn_on() {
        let host = host();
        let (first, second) = (state_of(&[MODULE, SLEEP], &host), state_of(&[MODULE, SLEEP], &host));
        let logger = Logger::root(slog::Discard, slog::o!());
        on_worker(async {
            let mut leading = Box::pin(fiber(&first, &logger, "cache.fetch('k', {}, function() sleep(30) return 1 end)"));
            let mut waiting = Box::pin(fiber(&second, &logger, "cache.fetch('k', {}, function() return 2 end)"));
            assert!(poll(&mut leading).is_pending());
            assert!(poll(&mut waiting).is_pending());
            drop(leading);
            assert_eq!(waiting.await.result.unwrap(), "2");
        });
    }

    fn poll<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(future).poll(&mut context)
    }

    #[test]
    fn mistakes() {
        check(
            &[MODULE],
            &[
                (
                    "cache.set('a', nil)",
                    "raises cache.set: value must not be nil; cache.delete removes a key, json.null can be kept",
                ),
                (
                    "cache.set('a', print)",
                    "raises cache.set: value: a function cannot be written as JSON",
                ),
                (
                    "cache.set('a', { b = { print } })",
                    "raises cache.set: value.b[1]: a function cannot be written as JSON",
                ),
                (
                    "cache.set('a', 1, { tll = 5 })",
                    "raises cache.set: unknown option \"tll\"; did you mean \"ttl\"?",
                ),
                (
                    "cache.set('a', 1, { ttl = -1 })",
                    "raises cache.set: option \"ttl\" must be from 0 seconds to 100 years, not -1 seconds",
                ),
                (
                    "cache.set('a', 1, 60)",
                    "raises cache.set: options must be a table, not a number",
                ),
                (
                    "cache.set(1, 1)",
                    "raises cache.set: key must be a string, not a number",
                ),
                (
                    "cache.get(string.rep('k', 5000))",
                    "raises cache.get: key must be at most 4096 bytes long, not 5000",
                ),
                (
                    "cache.set('a', string.rep('x', 2^23))",
                    "nil, the value is larger than the 8 MiB that the cache takes",
                ),
                (
                    "select(2, cache.set('a', string.rep('x', 2^23))).code",
                    "too-large",
                ),
                (
                    "cache.fetch('a', function() end)",
                    "raises cache.fetch: options must be a table, not a function",
                ),
                (
                    "cache.fetch('a', {}, 1)",
                    "raises cache.fetch: the third argument must be a function, not a number",
                ),
            ],
        );
    }
}
