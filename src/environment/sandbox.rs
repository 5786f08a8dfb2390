//! What scripts find in a runspace, and how it is made unchangeable.
//!
//! The base is built once for each runspace: Luau's safe libraries without what reaches around an environment, and the
//! modules of [`api`](super::api). Then it is frozen, with all that hangs on it. A request gets a fresh global table
//! whose metatable leads to the base, so nothing that it sets or replaces is there for the next.

use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::Arc;

use mlua::{Lua, Table, Value};

use super::api::{Host, MODULES};

/// Globals of Luau and mlua that reach around an environment, load code, or steer the collector.
const GONE: &[&str] = &[
    "load", "loadstring", "loadfile", "dofile", "getfenv", "setfenv", "newproxy", "collectgarbage", "gcinfo",
    "require", "package", "io",
];

/// A native sort of this many elements without a comparator takes some milliseconds; above it Lua compares, so that
/// the sort can be interrupted.
const SORT: &str = "
local sort = table.sort
return function(list, before)
    if before == nil and type(list) == 'table' and #list > 20000 then
        return sort(list, function(a, b) return a < b end)
    end
    return sort(list, before)
end";

/// Removes what is dangerous and installs what scripts may call.
pub(super) fn furnish(lua: &Lua, host: &Arc<Host>) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in GONE {
        globals.raw_set(*name, Value::Nil)?;
    }
    let debug: Table = globals.raw_get("debug")?;
    let traceback: Value = debug.raw_get("traceback")?;
    globals.raw_set("debug", lua.create_table_from([("traceback", traceback)])?)?;
    let table: Table = globals.raw_get("table")?;
    let sort: Value = lua.load(SORT).set_name("=table.sort").call(())?;
    table.raw_set("sort", sort)?;
    let math: Table = globals.raw_get("math")?;
    math.raw_set("randomseed", Value::Nil)?;
    math.raw_set("random", random(lua)?)?;
    for module in MODULES {
        globals.raw_set(module.name, (module.install)(lua, host)?)?;
    }
    Ok(())
}

/// `math.random` over the process's generator. Luau's own keeps its state in the runspace, where one request could
/// fix what the next one draws.
fn random(lua: &Lua) -> mlua::Result<mlua::Function> {
    lua.create_function(|_, (low, high): (Option<f64>, Option<f64>)| {
        let (low, high) = match (low, high) {
            (None, _) => return Ok(unit()),
            (Some(high), None) => (1.0, high),
            (Some(low), Some(high)) => (low, high),
        };
        let (low, high) = (low.floor(), high.floor());
        if low.is_nan() || high.is_nan() || low > high {
            return Err(mlua::Error::runtime("math.random: the interval is empty"));
        }
        Ok((low + (unit() * (high - low + 1.0)).floor()).min(high))
    })
}

/// A number from 0 to just below 1.
fn unit() -> f64 {
    // Version 4 UUIDs are made of random bytes, by the same generator that `uuid.v4` uses.
    let bits = uuid::Uuid::new_v4().as_u128() as u64;
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Freezes the base and everything it reaches; gives the metatable of request globals.
pub(super) fn freeze(lua: &Lua) -> mlua::Result<Table> {
    let mut seen = HashSet::new();
    freeze_table(&lua.globals(), &mut seen)?;
    lua.globals().set_readonly(false);
    lua.sandbox(true)?;
    // After `sandbox` the globals of the main thread are a proxy; the base is what it leads to.
    let proxy = lua.globals();
    let base: Table = match proxy.metatable() {
        Some(metatable) => metatable.raw_get("__index")?,
        None => proxy,
    };
    base.set_readonly(true);
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", base)?;
    metatable.raw_set("__metatable", false)?;
    metatable.set_readonly(true);
    Ok(metatable)
}

fn freeze_table(table: &Table, seen: &mut HashSet<*const c_void>) -> mlua::Result<()> {
    if !seen.insert(table.to_pointer()) {
        return Ok(());
    }
    let mut inner = Vec::new();
    table.for_each(|key: Value, value: Value| {
        inner.extend([key, value].into_iter().filter_map(|part| part.as_table().cloned()));
        Ok(())
    })?;
    inner.extend(table.metatable());
    table.set_readonly(true);
    inner.iter().try_for_each(|part| freeze_table(part, seen))
}

/// A fresh global table over the base.
pub(super) fn globals(lua: &Lua, metatable: &Table) -> mlua::Result<Table> {
    let globals = lua.create_table_with_capacity(0, 2)?;
    globals.raw_set("_G", &globals)?;
    globals.set_metatable(Some(metatable.clone()))?;
    globals.set_safeenv(true);
    Ok(globals)
}
