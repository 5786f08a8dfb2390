//! `cache`: values in the memory of this process, shared by every environment, bounded, gone with the process.
//!
//! What is kept is a copy, so a script cannot reach what another one got: text as it is, tables as JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Result, Value};

use crate::environment::api::arguments::{self, Bytes, Options, bytes, misuse};
use crate::environment::api::cache::flight::{Flights, Lead, Turn, Wait};
use crate::environment::api::cache::kept::Kept;
use crate::environment::api::cache::store::{Limits, Store, TooLarge};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::{Host, Module, ProcessHost};
use crate::environment::places::HOST_CHUNK;
use crate::environment::waiting::{Pending, waiting_function};
use crate::environment::{fiber, held};

pub mod flight;
mod kept;
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
    lua.load(COMPOSE).set_name(HOST_CHUNK).call(MultiValue::from_iter(parts)).map(Value::Table)
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
            held::hold(number, Box::new(Computing { lead, ttl })).ok_or_else(nothing_waits)?;
            number.into_lua_multi(lua)
        }
        Turn::Wait(other) if held::holds(other.number()) => {
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
    let held = held::let_go(number).and_then(|held| held.downcast::<Computing>().ok());
    let Some(Computing { lead, ttl }) = held.map(|held| *held) else {
        return Ok(());
    };
    if !ok || value.is_nil() {
        return Ok(());
    }
    let Some(kept) = Kept::read(lua, "cache.fetch", &value, boxed, cache.store.limits().entry)? else {
        return Ok(());
    };
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

#[cfg(test)]
mod tests;
