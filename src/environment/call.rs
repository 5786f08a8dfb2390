//! What a running handler was called with: reached by host functions through [`fiber::with_call`](super::fiber::with_call).

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;

use slog::Logger;

use super::script_log::ScriptLog;
use crate::exchange::{Answer, Request};
use crate::script::Script;

/// One call of a handler. Lives on the worker, as long as the handler runs.
pub struct CallContext {
    /// For whom; `None` while a startup script runs.
    pub request: Option<Box<Request>>,
    /// Takes what the handler logs.
    pub(super) log: ScriptLog,
    /// The logger made of it.
    pub(super) made: OnceCell<Logger>,
    /// What runs.
    pub script: Arc<Script>,
    /// The address of the `req` table of this call; a `req` kept from an earlier request has another.
    pub(super) table: Cell<*const c_void>,
    /// How many functions run side by side for it now, beside the handler itself.
    pub(super) side_by_side: Cell<usize>,
    /// What `abort` was called with.
    pub(super) aborted: RefCell<Option<Answer>>,
    /// The modules that this call (or, when persistent, its runspace) has required; made at the first use.
    pub(super) loaded: RefCell<Option<mlua::Table>>,
}

impl CallContext {
    /// The logger of the handler, when any target may take a record of this level.
    pub fn logger(&self, level: slog::Level) -> Option<&Logger> {
        let make = || match &self.request {
            Some(request) => self.log.logger(&request.route, &request.id),
            None => self.log.log.clone(),
        };
        self.log.takes(level).then(|| self.made.get_or_init(make))
    }
}
