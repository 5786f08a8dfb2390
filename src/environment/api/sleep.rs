//! `sleep`: waits, while the worker serves others.

use std::sync::Arc;

use mlua::{Lua, MultiValue, Result, Value};

use crate::environment::api::arguments::duration;
use crate::environment::api::{Host, Module};
use crate::environment::waiting::{Pending, waiting_function};

/// The module, a function.
pub const MODULE: Module = Module { name: "sleep", install };

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    waiting_function(lua, begin, |_, ()| Ok(MultiValue::new())).map(Value::Function)
}

/// The wait; the deadline of the handler ends it early, with the handler.
fn begin(lua: &Lua, arguments: MultiValue) -> Result<Pending<()>> {
    let span: Value = lua.unpack_multi(arguments)?;
    let span = duration("sleep", "the time", &span)?;
    Ok(Box::pin(async move { tokio::time::sleep(span).await }))
}

#[cfg(test)]
mod tests {
    use super::MODULE;
    use crate::environment::api::testing::{check, check_waiting};

    #[test]
    fn waits_for_seconds_or_text_with_a_unit() {
        let took =
            |argument: &str| format!("(function() local begin = os.clock() sleep({argument}) return 'waited' end)()");
        for argument in ["0", "0.001", "'1ms'", "'0s'"] {
            check_waiting(&[MODULE], &[(&took(argument), "waited")]);
        }
    }

    #[test]
    fn waits_anywhere_in_lua() {
        check_waiting(
            &[MODULE],
            &[
                ("coroutine.wrap(function() sleep('1ms') coroutine.yield(1) end)()", "1"),
                ("pcall(function() sleep('1ms') return 2 end)", "true, 2"),
                ("(string.gsub('ab', '.', function(c) sleep('1ms') return c:upper() end))", "AB"),
                ("setmetatable({}, { __index = function(_, k) sleep('1ms') return k end }).x", "x"),
            ],
        );
    }

    #[test]
    fn mistakes() {
        check(
            &[MODULE],
            &[
                ("sleep()", "raises sleep: the time must be seconds as a number or text with a unit, not nil"),
                ("sleep(-1)", "raises sleep: the time must be from 0 seconds to 100 years, not -1 seconds"),
                ("sleep(0/0)", "raises sleep: the time must be a finite number, not NaN"),
                ("sleep({})", "raises sleep: the time must be seconds as a number or text with a unit, not a table"),
                (
                    "(tostring(select(2, pcall(sleep, '5'))):gsub('.*such as', 'such as'):gsub('\\n.*', ''))",
                    "such as \"250ms\", \"5s\", \"10m\", \"24h\" or \"7d\", not \"5\"",
                ),
                ("sleep(0)", "raises nothing can wait here"),
            ],
        );
    }
}
