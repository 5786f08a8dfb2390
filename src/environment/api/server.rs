//! `server`: what runs the script.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mlua::{Lua, Result, Value};

use crate::environment::api::arguments::{misuse, name_of, propose};
use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "server", install };

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("version", env!("CARGO_PKG_VERSION"))?;
    module.raw_set("node", host.process.node.as_str())?;
    let metatable = lua.create_table()?;
    let process = Arc::clone(&host.process);
    let index = lua.create_function(move |_, (_, name): (Value, Value)| match &name {
        Value::String(field) if *field == "generation" => Ok(process.generation.load(Ordering::Relaxed)),
        _ => Err(unknown(&name)),
    })?;
    metatable.raw_set("__index", index)?;
    metatable.raw_set("__metatable", false)?;
    module.set_metatable(Some(metatable))?;
    Ok(Value::Table(module))
}

/// The name of the host, as the operating system tells it; empty when it has none.
pub fn node_name() -> String {
    #[cfg(unix)]
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").unwrap_or_default();
    name
}

fn unknown(name: &Value) -> mlua::Error {
    let name = name_of(name);
    misuse(
        "server",
        format_args!("there is no {name:?}{}", propose(&name, ["version", "generation", "node"].into_iter())),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::api::testing::{check, host, state_of};

    #[test]
    fn fields() {
        check(
            &[MODULE],
            &[
                ("server.version", env!("CARGO_PKG_VERSION")),
                ("server.node", "here"),
                ("server.generation", "3"),
                ("server.genration", "raises server: there is no \"genration\"; did you mean \"generation\"?"),
                ("getmetatable(server)", "false"),
            ],
        );
    }

    #[test]
    fn the_generation_is_the_one_of_now() {
        let host = host();
        let lua = state_of(&[MODULE], &host);
        host.process.generation.store(41, Ordering::Relaxed);
        assert_eq!(lua.load("server.generation").eval::<u64>().unwrap(), 41);
    }
}
