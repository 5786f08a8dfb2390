//! `all{f, g}`: functions side by side. Their waits overlap; the results come back in order.
//!
//! Each function runs on a Lua thread and a native stack of its own, below the handler that called. An error in one
//! ends the others and is raised. Between the start and the end nothing here touches mlua (see
//! [`waiting`](crate::environment::waiting)): threads are resumed by the fiber module.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use mlua::{Function, Lua, MultiValue, Table, Value};

use super::{Host, Module};
use crate::environment::call::CallContext;
use crate::environment::fiber::{self, Fiber, Stop};
use crate::environment::places::HOST_CHUNK;
use crate::environment::waiting::{Pending, waiting_function};

/// `all(functions)`.
pub(super) const MODULE: Module = Module { name: "all", install };

/// Functions at once in one request, those that they start in turn included: each has a stack, and of the mappings that
/// make one the system gives a process only so many.
const MAX_CHILDREN: usize = 100;

/// What is composed in Lua: each child keeps its result in a table and gives only whether it went well. Of several
/// errors the first in time counts: those of the others come of being ended. It is raised as it was, so `pcall` is
/// taken while it is still Luau's own.
const COMPOSE: &str = "
local prepare, wait = ...
local pcall = pcall
return function(functions)
    if type(functions) ~= 'table' then error('all: a list of functions is wanted, not ' .. type(functions), 2) end
    local results, children, failure = {}, {}, nil
    for at, run in ipairs(functions) do
        children[at] = function()
            local ok, value = pcall(run)
            if ok then results[at] = { value } else failure = failure or { value } end
            return ok
        end
    end
    prepare(children)
    wait()
    if failure then error(failure[1], 0) end
    local values = {}
    for at in ipairs(children) do
        if not results[at] then error('all: function ' .. at .. ' was ended', 2) end
        values[at] = results[at][1]
    end
    return unpack(values, 1, #children)
end";

fn install(lua: &Lua, _: &Arc<Host>) -> mlua::Result<Value> {
    let prepare = lua.create_function(prepare)?;
    let wait = waiting_function(lua, |_, _| start(), finish)?;
    lua.load(COMPOSE).set_name(HOST_CHUNK).call((prepare, wait)).map(Value::Function)
}

/// Makes a fiber for each function and keeps them for `start`.
fn prepare(lua: &Lua, functions: Table) -> mlua::Result<()> {
    let nothing_waits = || mlua::Error::runtime("all: nothing can wait here");
    let (limits, call) = fiber::limits().zip(fiber::call()).ok_or_else(nothing_waits)?;
    let count = functions.raw_len();
    let together = call.side_by_side.get() + count;
    if together > MAX_CHILDREN {
        let message = format!("all: at most {MAX_CHILDREN} functions at once in a request, not {together}");
        return Err(mlua::Error::runtime(message));
    }
    let mut children = Children { running: Vec::with_capacity(count), failed: false, stop: None };
    for function in functions.sequence_values::<Function>() {
        let thread = lua.create_thread(function?)?;
        let work = move || fiber::resume(&thread);
        let fiber = Fiber::new(fiber::callbacks(lua), limits, Some(call.clone()), work);
        children.running.push(Some(Child { fiber: fiber.map_err(mlua::Error::external)?, _place: Place::take(&call) }));
    }
    fiber::keep(Box::new(children)).ok_or_else(nothing_waits)
}

fn start() -> mlua::Result<Pending<Option<Stop>>> {
    let kept = fiber::take_kept().and_then(|kept| kept.downcast::<Children>().ok());
    let children = kept.ok_or_else(|| mlua::Error::runtime("all: nothing can wait here"))?;
    Ok(Box::pin(*children))
}

/// What ended a function from outside (its limits, `abort`) ends the handler that called: it is the same call.
fn finish(lua: &Lua, stop: Option<Stop>) -> mlua::Result<MultiValue> {
    if let Some(stop) = stop {
        fiber::stop(stop);
        fiber::arm(lua);
    }
    Ok(MultiValue::new())
}

/// A function under way.
struct Child {
    fiber: Fiber<bool>,
    _place: Place,
}

/// A place among the functions of a request that run at once; left when dropped.
struct Place(Rc<CallContext>);

impl Place {
    fn take(call: &Rc<CallContext>) -> Self {
        call.side_by_side.set(call.side_by_side.get() + 1);
        Self(call.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.side_by_side.set(self.0.side_by_side.get() - 1);
    }
}

/// The functions under way. Dropping it ends those that are left.
struct Children {
    running: Vec<Option<Child>>,
    failed: bool,
    /// Why one of them was ended from outside.
    stop: Option<Stop>,
}

impl Future for Children {
    type Output = Option<Stop>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        for child in &mut this.running {
            let Some(Child { fiber, .. }) = child else { continue };
            if let Poll::Ready(ended) = Pin::new(fiber).poll(context) {
                *child = None;
                this.stop = this.stop.or(ended.stop);
                this.failed |= ended.stop.is_some() || !matches!(ended.result, Ok(true));
            }
            if this.failed {
                break;
            }
        }
        if this.failed {
            this.running.clear();
        }
        if this.running.iter().all(Option::is_none) { Poll::Ready(this.stop) } else { Poll::Pending }
    }
}
