//! `vars`: the variables that the environment may see, in the type they have in the site.

use std::sync::Arc;

use mlua::{Lua, Result, Table, Value};

use crate::environment::api::arguments::{misuse, name_of, propose};
use crate::environment::api::{Host, Module};
use crate::environment::json_read::{self, Item};
use crate::exchange::Typed;

/// The module.
pub const MODULE: Module = Module { name: "vars", install };

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let present: Vec<(&[u8], Item<'_>)> = host.environment.variables.iter().filter_map(item).collect();
    let module = json_read::record(lua, present.into_iter())?;
    module.for_each(|_: Value, value: Value| {
        value.as_table().into_iter().for_each(|list| list.set_readonly(true));
        Ok(())
    })?;
    module.set_metatable(Some(strict(lua, host)?))?;
    module.set_readonly(true);
    Ok(Value::Table(module))
}

fn item<'v>((name, value): (&'v String, &'v Option<Typed>)) -> Option<(&'v [u8], Item<'v>)> {
    value.as_ref().map(|value| (name.as_bytes(), Item::Typed(value)))
}

/// A metatable whose `__index` is reached only by names that have no value: nil when they are declared.
fn strict(lua: &Lua, host: &Arc<Host>) -> Result<Table> {
    let metatable = lua.create_table()?;
    let host = Arc::clone(host);
    let index = lua.create_function(move |_, (_, name): (Value, Value)| -> Result<Value> {
        if host.environment.variables.contains_key(&name_of(&name)) && name.is_string() {
            return Ok(Value::Nil);
        }
        Err(undeclared(
            "vars",
            "variable",
            &host.environment.name,
            &name,
            host.environment.variables.keys().map(String::as_str),
        ))
    })?;
    metatable.raw_set("__index", index)?;
    metatable.raw_set("__metatable", false)?;
    metatable.set_readonly(true);
    Ok(metatable)
}

/// The error for a name that the environment does not see.
pub fn undeclared<'a>(
    module: &str,
    noun: &str,
    environment: &str,
    name: &Value,
    known: impl Iterator<Item = &'a str> + Clone,
) -> mlua::Error {
    let name = name_of(name);
    let end = propose(&name, known);
    misuse(module, format_args!("environment {environment:?} sees no {noun} {name:?}{end}"))
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn declared_ones_are_read_in_their_type() {
        check(
            &[super::MODULE],
            &[
                ("vars.greeting", "hello"),
                ("vars.limit + 1", "11"),
                ("vars.ratio", "0.5"),
                ("vars.debug", "true"),
                ("table.concat(vars.hosts, ' ')", "a b"),
                ("tostring(vars.large)", "9007199254740993"),
                ("vars.absent", "nil"),
                ("(function() local n = 0 for name in pairs(vars) do n += 1 end return n end)()", "6"),
                ("(function() local n = 0 for name in vars do n += 1 end return n end)()", "6"),
            ],
        );
    }

    #[test]
    fn everything_else_raises() {
        check(
            &[super::MODULE],
            &[
                (
                    "vars.greting",
                    "raises vars: environment \"main\" sees no variable \"greting\"; did you mean \"greeting\"?",
                ),
                (
                    "vars.x",
                    "raises vars: environment \"main\" sees no variable \"x\"; known: absent, debug, greeting, hosts, large, limit, ratio",
                ),
                (
                    "vars[1]",
                    "raises vars: environment \"main\" sees no variable \"1\"; known: absent, debug, greeting, hosts, large, limit, ratio",
                ),
                ("(function() vars.greeting = 1 end)()", "raises attempt to modify a readonly table"),
                ("(function() vars.hosts[1] = 1 end)()", "raises attempt to modify a readonly table"),
                ("rawset(vars, 'x', 1)", "raises attempt to modify a readonly table"),
                ("getmetatable(vars)", "false"),
            ],
        );
    }
}
