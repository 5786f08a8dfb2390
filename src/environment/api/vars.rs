//! `vars`: the variables that the environment may see, in the type they have in the site.

use std::sync::Arc;

use mlua::{Lua, Result, Table, Value};

use crate::environment::api::arguments::{misuse, name_of, propose};
use crate::environment::api::{Host, Module};
use crate::exchange::Typed;

/// The module.
pub const MODULE: Module = Module { name: "vars", install };

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    for (name, value) in &host.environment.variables {
        module.raw_set(name.as_str(), to_lua(lua, value)?)?;
    }
    module.set_metatable(Some(strict(lua, host)?))?;
    module.set_readonly(true);
    Ok(Value::Table(module))
}

/// A metatable whose `__index` is reached only by names that are not declared.
fn strict(lua: &Lua, host: &Arc<Host>) -> Result<Table> {
    let metatable = lua.create_table()?;
    let host = Arc::clone(host);
    let index = lua.create_function(move |_, (_, name): (Value, Value)| -> Result<Value> {
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

fn to_lua(lua: &Lua, value: &Typed) -> Result<Value> {
    Ok(match value {
        Typed::Text(text) => Value::String(lua.create_string(text)?),
        Typed::Integer(integer) => Value::Integer(*integer),
        Typed::Number(number) => Value::Number(*number),
        Typed::Boolean(boolean) => Value::Boolean(*boolean),
        Typed::Many(values) => {
            let list = lua.create_table_with_capacity(values.len(), 0)?;
            for value in values {
                list.raw_push(to_lua(lua, value)?)?;
            }
            list.set_readonly(true);
            Value::Table(list)
        }
    })
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
                ("(function() local n = 0 for name in pairs(vars) do n += 1 end return n end)()", "5"),
                ("(function() local n = 0 for name in vars do n += 1 end return n end)()", "5"),
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
                    "raises vars: environment \"main\" sees no variable \"x\"; known: debug, greeting, hosts, limit, ratio",
                ),
                (
                    "vars[1]",
                    "raises vars: environment \"main\" sees no variable \"1\"; known: debug, greeting, hosts, limit, ratio",
                ),
                ("(function() vars.greeting = 1 end)()", "raises attempt to modify a readonly table"),
                ("(function() vars.hosts[1] = 1 end)()", "raises attempt to modify a readonly table"),
                ("rawset(vars, 'x', 1)", "raises attempt to modify a readonly table"),
                ("getmetatable(vars)", "false"),
            ],
        );
    }
}
