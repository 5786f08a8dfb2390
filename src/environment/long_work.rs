//! What keeps the limits of a handler while a function of the host works for it.

use std::time::Instant;

use super::fiber::{self, Stop};

/// For a host function that works for long: ends the handler when its time or memory is up. Lua meets the interrupt at
/// once.
///
/// # Errors
/// The handler is being ended.
pub(super) fn check_limits(lua: &mlua::Lua) -> mlua::Result<()> {
    let Some(limits) = fiber::limits() else { return Ok(()) };
    let is_over = || lua.used_memory() > limits.memory;
    if Instant::now() >= limits.deadline {
        fiber::stop(Stop::Deadline);
    } else if is_over() && {
        lua.gc_collect()?;
        is_over()
    } {
        fiber::stop(Stop::Memory);
    } else {
        return Ok(());
    }
    fiber::arm(lua);
    Err(mlua::Error::runtime("the handler is being ended"))
}
