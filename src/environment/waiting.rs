//! Host functions that wait, in a form that is right on every stack.
//!
//! mlua remembers which Lua thread is current by the callbacks that are entered and left. Children of `all` are
//! interleaved, so after a wait that memory may name another child's thread. Therefore a waiting function is three
//! callbacks, composed in Lua: `start` reads the arguments and makes the future, the second only waits, and `finish`,
//! entered anew, makes the results.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;

use mlua::{Function, Lua, MultiValue};

use super::fiber;
use super::places::HOST_CHUNK;

/// What a waiting function waits for.
pub type Pending<T> = Pin<Box<dyn Future<Output = T>>>;

/// The three parts as one function. Made anew for each, as the parts are its upvalues.
const COMPOSE: &str = "local start, wait, finish = ... return function(...) start(...) wait() return finish() end";

/// Makes a host function that waits. `start` runs first and may raise on misuse; `finish` gets what the future gave.
/// When the handler is stopped meanwhile, an error is raised and `finish` does not run.
///
/// # Errors
/// There is no memory for it.
pub fn waiting_function<T: 'static>(
    lua: &Lua,
    start: impl Fn(&Lua, MultiValue) -> mlua::Result<Pending<T>> + Send + 'static,
    finish: impl Fn(&Lua, T) -> mlua::Result<MultiValue> + Send + 'static,
) -> mlua::Result<Function> {
    let start = lua.create_function(move |lua, arguments| {
        let pending = start(lua, arguments)?;
        keep(Box::new(pending))
    })?;
    let wait = lua.create_function(|_, ()| {
        let pending = taken::<Pending<T>>()?;
        keep(Box::new(fiber::wait(pending)))
    })?;
    let finish = lua.create_function(move |lua, ()| {
        let waited = taken::<Result<T, fiber::Cancelled>>()?;
        let value = waited.map_err(|_| mlua::Error::runtime("the request was cancelled"))?;
        finish(lua, value)
    })?;
    lua.load(COMPOSE).set_name(HOST_CHUNK).call((start, wait, finish))
}

fn keep(value: Box<dyn Any>) -> mlua::Result<()> {
    fiber::keep(value).ok_or_else(|| mlua::Error::runtime("nothing can wait here"))
}

fn taken<T: 'static>() -> mlua::Result<T> {
    let kept = fiber::take_kept().and_then(|kept| kept.downcast::<T>().ok());
    kept.map(|kept| *kept).ok_or_else(|| mlua::Error::runtime("nothing can wait here"))
}
