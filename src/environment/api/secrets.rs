//! `secrets`: the secrets that the environment may see. Each is read by name; the whole can be neither listed nor printed.

use std::sync::Arc;

use mlua::{Lua, LuaString, MetaMethod, Result, UserData, UserDataMethods, Value};

use crate::environment::api::arguments::misuse;
use crate::environment::api::vars::undeclared;
use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "secrets", install };

/// The global; a userdata, since there is no way into it but by name.
struct Secrets(Arc<Host>);

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    lua.create_userdata(Secrets(Arc::clone(host))).map(Value::UserData)
}

impl UserData for Secrets {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::Index, |lua, this, name: Value| this.read(lua, &name));
        methods.add_meta_method(MetaMethod::NewIndex, |_, _, (_, _): (Value, Value)| -> Result<()> {
            Err(misuse("secrets", "they cannot be changed by a script"))
        });
        methods.add_meta_method(MetaMethod::Iter, |_, _, ()| -> Result<()> {
            Err(misuse("secrets", "they cannot be listed; read one by its name"))
        });
        methods.add_meta_method(MetaMethod::ToString, |_, _, ()| Ok("secrets"));
    }
}

impl Secrets {
    /// A secret, or nothing when it is optional and absent.
    fn read(&self, lua: &Lua, name: &Value) -> Result<Option<LuaString>> {
        let environment = &self.0.environment;
        let found = match name {
            Value::String(name) => name.to_str().ok().and_then(|name| environment.secrets.get(&*name)),
            _ => None,
        };
        let missing =
            || undeclared("secrets", "secret", &environment.name, name, environment.secrets.keys().map(String::as_str));
        found.ok_or_else(missing)?.as_ref().map(|secret| lua.create_string(secret)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn are_read_by_name_only() {
        check(
            &[super::MODULE],
            &[
                ("secrets.api_key", "k-123"),
                ("secrets['api_key']", "k-123"),
                ("secrets.absent", "nil"),
                (
                    "secrets.apikey",
                    "raises secrets: environment \"main\" sees no secret \"apikey\"; did you mean \"api_key\"?",
                ),
                (
                    "secrets['\\255']",
                    "raises secrets: environment \"main\" sees no secret \"\u{fffd}\"; known: absent, api_key",
                ),
                ("secrets[1]", "raises secrets: environment \"main\" sees no secret \"1\"; known: absent, api_key"),
                ("(function() secrets.api_key = 1 end)()", "raises secrets: they cannot be changed by a script"),
                (
                    "(function() for name in secrets do end end)()",
                    "raises secrets: they cannot be listed; read one by its name",
                ),
                ("pcall(pairs, secrets) or pcall(next, secrets)", "false"),
                ("tostring(secrets)", "secrets"),
                ("getmetatable(secrets)", "false"),
            ],
        );
    }
}
