//! What scripts find in a runspace, and how it is made unchangeable.
//!
//! The base is built once for each runspace: Luau's safe libraries without what reaches around an environment, and the
//! modules of [`api`](super::api). Then it is frozen, with all that hangs on it. A request gets a fresh global table
//! whose metatable leads to the base, so nothing that it sets or replaces is there for the next.

use std::collections::HashSet;
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};

use super::answer::Prepared;
use super::api::arguments::{kind, name_of};
use super::api::{Host, MODULES};
use super::captured::{self, Captured};
use super::caught;
use super::replaced;

/// Globals of Luau and mlua that reach around an environment, load code, or steer the collector.
const GONE: &[&str] = &[
    "load",
    "loadstring",
    "loadfile",
    "dofile",
    "getfenv",
    "setfenv",
    "newproxy",
    "collectgarbage",
    "gcinfo",
    "require",
    "package",
    "io",
];

/// Removes what is dangerous and installs what scripts may call.
pub(super) fn furnish(lua: &Lua, host: &Arc<Host>) -> mlua::Result<()> {
    let globals = lua.globals();
    for name in GONE {
        globals.raw_set(*name, Value::Nil)?;
    }
    let debug: Table = globals.raw_get("debug")?;
    let traceback: Value = debug.raw_get("traceback")?;
    globals.raw_set("debug", lua.create_table_from([("traceback", traceback)])?)?;
    replaced::install(lua)?;
    let math: Table = globals.raw_get("math")?;
    math.raw_set("randomseed", Value::Nil)?;
    math.raw_set("random", random(lua)?)?;
    for module in MODULES {
        globals.raw_set(module.name, (module.install)(lua, host)?)?;
    }
    caught::install(lua)
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

/// The frozen base of a runspace.
pub(super) struct Base {
    /// The metatable of request globals, which leads to the base.
    pub(super) metatable: Table,
    /// Variables of the startup script that its functions share and could change.
    variables: Vec<Variable>,
}

/// A captured variable with what the startup script left in it.
struct Variable {
    function: Function,
    number: c_int,
    value: Value,
}

impl Base {
    /// Puts back what functions of the startup script may have changed in their variables.
    pub(super) fn restore(&self, lua: &Lua) -> mlua::Result<()> {
        let set = |it: &Variable| captured::set(lua, &it.function, it.number, &it.value);
        self.variables.iter().try_for_each(set)
    }
}

/// What the base holds at one moment, by address.
pub(super) struct Known(HashSet<usize>);

/// What the base holds now: the host's values, which may keep a state.
pub(super) fn known(lua: &Lua) -> mlua::Result<Known> {
    let mut walk = Walk::default();
    walk.reach(&lua.globals())?;
    while let Some((name, value)) = walk.found.pop() {
        if let Value::Table(table) = &value {
            walk.name = name;
            walk.reach(table)?;
        }
    }
    Ok(Known(walk.seen))
}

/// Freezes the base and everything it reaches. What came to it after `host` was taken is the startup script's: it must
/// not be able to keep anything from one request to the next.
///
/// # Errors
/// The startup script left something that cannot be frozen; the message names the global.
pub(super) fn freeze(lua: &Lua, host: Option<&Known>) -> mlua::Result<Base> {
    // Luau binds names of the base when it loads a chunk, so `_G` must not be one: each request has its own.
    lua.globals().raw_set("_G", Value::Nil)?;
    let mut walk = Walk::default();
    let mut variables = Vec::new();
    walk.reach(&lua.globals())?;
    while let Some((name, value)) = walk.found.pop() {
        walk.name = name;
        let is_new = host.is_some_and(|host| !host.0.contains(&value.to_pointer().addr()));
        match &value {
            Value::Table(table) => {
                walk.reach(table)?;
                table.set_readonly(true);
            }
            Value::Function(function) if is_new => walk.capture(lua, function, &mut variables)?,
            Value::UserData(made) if made.is::<Prepared>() => {}
            Value::Thread(_) | Value::Buffer(_) | Value::UserData(_) if is_new => {
                return Err(unfit(&walk.name, &value));
            }
            _ => {}
        }
    }
    Ok(Base { metatable: seal(lua)?, variables })
}

fn unfit(name: &str, value: &Value) -> mlua::Error {
    let what = match value {
        Value::Function(_) => "a host function made by it, such as an iterator",
        other => kind(other),
    };
    mlua::Error::runtime(format!(
        "the startup script leaves {what} in `{name}`, which can change: in a clean environment make it in a module or \
         in the handler, or set `persistent-runspaces #true`"
    ))
}

/// Values that are reached from the globals, each once, with the global that led there.
#[derive(Default)]
struct Walk {
    seen: HashSet<usize>,
    found: Vec<(Rc<str>, Value)>,
    /// The global that is being followed; empty at the globals themselves.
    name: Rc<str>,
}

impl Walk {
    /// Takes in what a table holds: the one found last, or the globals.
    fn reach(&mut self, table: &Table) -> mlua::Result<()> {
        let at_globals = self.seen.is_empty();
        self.seen.insert(table.to_pointer().addr());
        table.for_each(|key: Value, value: Value| {
            if at_globals {
                self.name = name_of(&key).into();
            }
            self.find(key);
            self.find(value);
            Ok(())
        })?;
        table.metatable().map(Value::Table).into_iter().for_each(|metatable| self.find(metatable));
        Ok(())
    }

    fn find(&mut self, value: Value) {
        let refers = matches!(
            value,
            Value::Table(_) | Value::Function(_) | Value::Thread(_) | Value::Buffer(_) | Value::UserData(_)
        );
        if refers && self.seen.insert(value.to_pointer().addr()) {
            self.found.push((self.name.clone(), value));
        }
    }

    /// Takes in what a function of the startup script has captured.
    fn capture(&mut self, lua: &Lua, function: &Function, variables: &mut Vec<Variable>) -> mlua::Result<()> {
        if function.info().what == "C" {
            return Err(unfit(&self.name, &Value::Function(function.clone())));
        }
        for Captured { number, value, shared } in captured::list(lua, function)? {
            if shared {
                variables.push(Variable { function: function.clone(), number, value: value.clone() });
            }
            self.find(value);
        }
        Ok(())
    }
}

/// Closes the base, and makes the metatable that leads to it.
fn seal(lua: &Lua) -> mlua::Result<Table> {
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

/// A fresh global table over the base.
pub(super) fn globals(lua: &Lua, metatable: &Table) -> mlua::Result<Table> {
    let globals = lua.create_table_with_capacity(0, 2)?;
    globals.raw_set("_G", &globals)?;
    globals.set_metatable(Some(metatable.clone()))?;
    globals.set_safeenv(true);
    Ok(globals)
}
