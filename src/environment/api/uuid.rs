//! `uuid`: identifiers that are unique without asking anybody.

use std::sync::Arc;

use mlua::{Lua, Result, Value};
use uuid::Uuid;

use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "uuid", install };

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("v4", lua.create_function(|_, ()| Ok(text(Uuid::new_v4())))?)?;
    module.raw_set("v7", lua.create_function(|_, ()| Ok(text(Uuid::now_v7())))?)?;
    Ok(Value::Table(module))
}

fn text(uuid: Uuid) -> String {
    uuid.hyphenated().to_string()
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::{check, state};

    #[test]
    fn have_their_version_and_variant() {
        let shape = "'^%x%x%x%x%x%x%x%x%-%x%x%x%x%-VERSION%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$'";
        for version in ["4", "7"] {
            let shape = shape.replace("VERSION", version);
            check(&[super::MODULE], &[(&format!("(string.find(uuid.v{version}(), {shape}))"), "1")]);
        }
    }

    #[test]
    fn are_distinct_and_those_by_time_ascend() {
        let lua = state(&[super::MODULE]);
        let code = "local last = '' for i = 1, 1000 do local id = uuid.v7() assert(id > last) last = id end
                    local seen = {} for i = 1, 1000 do local id = uuid.v4() assert(not seen[id]) seen[id] = true end";
        lua.load(code).exec().unwrap();
    }

    #[test]
    fn v7_holds_the_time_in_milliseconds() {
        let lua = state(&[super::MODULE]);
        let id: String = lua.load("uuid.v7()").eval().unwrap();
        let millis = u128::from_str_radix(&id.replace('-', "")[..12], 16).unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        assert!(now.abs_diff(millis) < 60_000);
    }
}
