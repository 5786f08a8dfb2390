//! Globals of later releases: every use says so, instead of "attempt to index nil".

use mlua::{Lua, Result, Value, Variadic};

use crate::environment::api::Module;

/// The key-value store.
pub const KV: Module = Module { name: "kv", install: |lua, _| table(lua, "kv") };

/// Databases.
pub const DB: Module = Module { name: "db", install: |lua, _| table(lua, "db") };

/// Requests to other servers.
pub const HTTP: Module = Module { name: "http", install: |lua, _| table(lua, "http") };

/// Templates.
pub const TEMPLATE: Module = Module { name: "template", install: |lua, _| table(lua, "template") };

/// Answers of files.
pub const FILE: Module = Module { name: "file", install: |lua, _| raising_value(lua, "file") };

/// Work after the answer.
pub const DEFER: Module = Module { name: "defer", install: |lua, _| raising_value(lua, "defer") };

fn raising_value(lua: &Lua, name: &'static str) -> Result<Value> {
    raising(lua, name).map(Value::Function)
}

fn raising(lua: &Lua, name: &'static str) -> Result<mlua::Function> {
    lua.create_function(move |_, _: Variadic<Value>| -> Result<()> {
        Err(mlua::Error::runtime(format_args!("`{name}` is not available yet: it comes with a later release")))
    })
}

/// A table that raises when it is indexed or called.
fn table(lua: &Lua, name: &'static str) -> Result<Value> {
    let module = lua.create_table()?;
    let metatable = lua.create_table()?;
    let raising = raising(lua, name)?;
    for event in ["__index", "__newindex", "__call", "__iter", "__len"] {
        metatable.raw_set(event, &raising)?;
    }
    metatable.raw_set("__metatable", false)?;
    metatable.set_readonly(true);
    module.set_metatable(Some(metatable))?;
    module.set_readonly(true);
    Ok(Value::Table(module))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::api::testing::check;

    #[test]
    fn every_use_says_when_it_comes() {
        let modules = [KV, DB, HTTP, TEMPLATE, FILE, DEFER];
        for (name, uses) in [
            ("kv", ["kv.get('x')", "kv('space')", "#kv", "(function() for _ in kv do end end)()"]),
            ("db", ["db.one('x')", "db('notes')", "(function() db.x = 1 end)()", "db.tx"]),
            ("http", ["http.get('x')", "http.post", "http()", "http[1]"]),
            ("template", ["template.render('x')", "template.string", "template()", "template[1]"]),
            ("file", ["file('x')", "file()", "file('x', {})", "file(nil)"]),
            ("defer", ["defer(print)", "defer()", "defer(1, 2)", "defer(nil)"]),
        ] {
            let wanted = format!("raises `{name}` is not available yet: it comes with a later release");
            for code in uses {
                check(&modules, &[(code, &wanted)]);
            }
        }
    }
}
