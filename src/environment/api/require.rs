//! `require` and `package.loaded`: modules of the environment, cached for the request, or for the runspace when it is
//! persistent.

use std::sync::Arc;

use mlua::{Function, Lua, Table, Value};

use super::{Host, Module};
use crate::environment::chunks::SharedChunks;
use crate::environment::entry::Current;
use crate::environment::fiber;
use crate::environment::places::HOST_CHUNK;
use crate::environment::settings::{Environment, MODULE_NAMES, is_module_name};
use crate::kdl::suggest;

/// `require(name)`.
pub(super) const MODULE: Module = Module { name: "require", install };
/// `package.loaded`.
pub(super) const PACKAGE: Module = Module { name: "package", install: install_package };

/// Stands in the cache while a module runs, to tell modules that require each other.
const RUNNING: &str = "\0running";

fn install(lua: &Lua, host: &Arc<Host>) -> mlua::Result<Value> {
    let environment = host.environment.clone();
    let find = lua.create_function(move |lua, name: String| find(lua, &environment, &name))?;
    let done = lua.create_function(|lua, (name, value): (String, Value)| {
        // A module that gives nothing is there all the same, as in Lua.
        let value = if value.is_nil() { Value::Boolean(true) } else { value };
        loaded(lua)?.raw_set(name, &value)?;
        Ok(value)
    })?;
    // The module runs in Lua, not below a host function, so that its errors have their own traceback.
    let compose = "local find, done = ...
        return function(name)
            local known, run = find(name)
            if run then return done(name, run()) end
            return known
        end";
    lua.load(compose).set_name(HOST_CHUNK).call((find, done)).map(Value::Function)
}

fn install_package(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Value> {
    let metatable = lua.create_table()?;
    let index = lua.create_function(|lua, (_, key): (Table, Value)| {
        let wanted = key.as_string().is_some_and(|key| key.as_bytes() == b"loaded".as_slice());
        if wanted { loaded(lua).map(Some) } else { Ok(None) }
    })?;
    metatable.raw_set("__index", index)?;
    metatable.raw_set("__metatable", false)?;
    let package = lua.create_table()?;
    package.set_metatable(Some(metatable))?;
    Ok(Value::Table(package))
}

/// The modules loaded so far.
fn loaded(lua: &Lua) -> mlua::Result<Table> {
    let call = fiber::call().ok_or_else(|| mlua::Error::runtime("modules can be required while a script runs"))?;
    let mut loaded = call.loaded.borrow_mut();
    match &*loaded {
        Some(known) => Ok(known.clone()),
        None => Ok(loaded.insert(lua.create_table()?).clone()),
    }
}

/// The value of a module that was required already, or the function that makes it.
fn find(lua: &Lua, environment: &Environment, name: &str) -> mlua::Result<(Value, Option<Function>)> {
    let cache = loaded(lua)?;
    let known: Value = cache.raw_get(name)?;
    if known.as_string().is_some_and(|text| text.as_bytes() == RUNNING.as_bytes()) {
        return Err(mlua::Error::runtime(format!("the modules form a circle: `{name}` is required while it runs")));
    }
    if !known.is_nil() {
        return Ok((known, None));
    }
    let Some(script) = environment.modules.get(name) else {
        return Err(unknown(environment, name));
    };
    let chunk = match lua.app_data_ref::<SharedChunks>() {
        Some(chunks) => chunks.lock().function(lua, script)?.get::<Function>(lua)?.deep_clone()?,
        None => return Err(mlua::Error::runtime("this runspace has no modules")),
    };
    let current = lua.app_data_ref::<Current>().map(|current| current.globals());
    chunk.set_environment(current.ok_or_else(|| mlua::Error::runtime("this runspace runs no script"))??)?;
    cache.raw_set(name, RUNNING)?;
    Ok((Value::Nil, Some(chunk)))
}

fn unknown(environment: &Environment, name: &str) -> mlua::Error {
    if !is_module_name(name) {
        return mlua::Error::runtime(format!("there is no module `{name}`: {MODULE_NAMES}"));
    }
    let known = environment.modules.keys().map(String::as_str);
    let near = suggest::closest(name, known).map(|near| format!("; did you mean `{near}`?"));
    let folders: Vec<String> = environment.module_folders.iter().map(|folder| folder.display().to_string()).collect();
    let path = name.replace('.', "/");
    let message =
        format!("there is no module `{name}`: looked for {path}.lua and {path}/init.lua in {}", folders.join(", "));
    mlua::Error::runtime(message + &near.unwrap_or_default())
}
