//! What a running handler was called with: reached by host functions through [`fiber::with_call`](super::fiber::with_call).

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Arc;

use crate::exchange::{Answer, Request};
use crate::script::Script;

/// One call of a handler. Lives on the worker, as long as the handler runs.
pub struct CallContext {
    /// For whom; `None` while a startup script runs.
    pub request: Option<Request>,
    /// Takes what the handler logs.
    pub logger: slog::Logger,
    /// What runs.
    pub script: Arc<Script>,
    /// The address of the `req` table of this call; a `req` kept from an earlier request has another.
    pub(super) table: Cell<*const c_void>,
    /// What `abort` was called with.
    pub(super) aborted: RefCell<Option<Answer>>,
    /// The modules that this call (or, when persistent, its runspace) has required; made at the first use.
    pub(super) loaded: RefCell<Option<mlua::Table>>,
}
