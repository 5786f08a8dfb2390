//! The names that every script finds, read off a runspace, so that no list of them has to be kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use mlua::{Table, Value};

use super::api::{Host, ProcessHost};
use super::request;
use super::runspace::Runspace;
use super::settings::{Environment, EnvironmentSettings};
use crate::luau::known::{Fields, Known};
use crate::luau::outline::REQUEST;

/// The globals of every runspace with the fields of host tables, and the fields of `req`. `None` when Lua has no memory
/// for one more runspace.
pub fn known() -> Option<Known> {
    let environment = Arc::new(Environment::named("", EnvironmentSettings::default()));
    let host = Arc::new(Host { environment, process: Arc::new(ProcessHost::default()) });
    let runspace = Runspace::build(&host).ok()?;
    let mut globals: Vec<(String, Fields)> = Vec::new();
    let read = runspace.lua.globals().for_each(|name: String, value: Value| {
        globals.push((name, fields(&value)?));
        Ok(())
    });
    read.ok()?;
    globals.push((REQUEST.to_owned(), Fields::These(request::NAMES.iter().map(|name| (*name).to_owned()).collect())));
    Some(Known::new(globals))
}

/// What a table holds; a metatable may give more.
fn fields(value: &Value) -> mlua::Result<Fields> {
    match value {
        Value::Table(table) if table.metatable().is_none() => names(table).map(Fields::These),
        _ => Ok(Fields::Any),
    }
}

fn names(table: &Table) -> mlua::Result<BTreeSet<String>> {
    table.pairs::<String, Value>().map(|pair| pair.map(|(name, _)| name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scripts_find_is_known() {
        let known = known().unwrap();
        for (global, field) in
            [("json", "encode"), ("string", "split"), ("os", "time"), ("req", "params"), ("log", "warn")]
        {
            assert!(known.has(global) && known.may_have(global, field), "{global}.{field}");
        }
        for (global, field) in [("json", "encod"), ("os", "execute"), ("req", "url"), ("math", "randomseed")] {
            assert!(!known.may_have(global, field), "{global}.{field}");
        }
        assert!(known.may_have("vars", "x") && known.has("_G") && !known.has("io"));
    }
}
