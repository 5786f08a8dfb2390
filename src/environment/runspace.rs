//! A runspace: one Lua state, busy with at most one request.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use mlua::{Lua, Table};

use super::api::Host;
use super::call::CallContext;
use super::chunks::SharedChunks;
use super::entry::{Entry, Given};
use super::places;
use super::sandbox::{Base, Known};
use super::script_log::ScriptLog;
use super::settings::Environment;
use super::{answer, request, sandbox};
use crate::exchange::{Answer, Request};
use crate::script::Script;

/// One Lua state with its frozen base.
pub(super) struct Runspace {
    pub(super) lua: Lua,
    environment: Arc<Environment>,
    entry: Entry,
    chunks: SharedChunks,
    /// `None` until the base is frozen.
    base: Option<Base>,
    /// What was there before the startup script of a clean environment.
    host: Option<Known>,
    /// Loaded modules that stay, when the environment is persistent.
    loaded: Option<Table>,
    pub(super) born: Instant,
    /// How many requests it served.
    pub(super) served: AtomicU64,
}

/// How a handler failed, seen from inside.
#[derive(Debug)]
pub(super) enum Failure {
    /// It raised an error, or answered what cannot be sent.
    Script { message: String, traceback: String },
    /// An allocation went over the hard limit.
    Memory,
}

impl Runspace {
    /// A state with everything scripts can call, not yet frozen: the startup script may add to it.
    pub(super) fn build(host: &Arc<Host>) -> mlua::Result<Self> {
        let lua = Lua::new();
        lua.enable_jit(false);
        sandbox::furnish(&lua, host)?;
        let entry = Entry::install(&lua, request::metatable(&lua)?)?;
        // Until the base is frozen, a script works on the base itself.
        entry.keep_globals(&lua.globals())?;
        let chunks = SharedChunks::default();
        lua.set_app_data(chunks.clone());
        let settings = &host.environment.settings;
        let known = if settings.persistent { None } else { Some(sandbox::known(&lua)?) };
        // Luau has no emergency collection: the soft limit is kept by the interrupt, this one only stops what grows
        // faster than a slice.
        lua.set_memory_limit(settings.memory.saturating_mul(2))?;
        Ok(Self {
            lua,
            environment: host.environment.clone(),
            entry,
            chunks,
            base: None,
            host: known,
            loaded: None,
            born: Instant::now(),
            served: AtomicU64::new(0),
        })
    }

    /// Freezes the base. A persistent runspace gets the globals that it keeps.
    pub(super) fn finish(&mut self) -> mlua::Result<()> {
        let base = sandbox::freeze(&self.lua, self.host.take().as_ref())?;
        if self.environment.settings.persistent {
            self.entry.keep_globals(&sandbox::globals(&self.lua, &base.metatable)?)?;
            self.loaded = Some(self.lua.create_table()?);
        } else {
            self.entry.renew_globals(&base.metatable)?;
        }
        self.base = Some(base);
        Ok(())
    }

    /// The context of a call of `script`.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub(super) fn call(
        &self,
        script: Arc<Script>,
        request: Option<Box<Request>>,
        log: ScriptLog,
    ) -> mlua::Result<Rc<CallContext>> {
        let loaded = self.loaded.clone();
        if let (None, Some(base)) = (&loaded, &self.base) {
            base.restore(&self.lua)?;
        }
        Ok(Rc::new(CallContext {
            request,
            log,
            made: OnceCell::new(),
            side_by_side: Cell::new(0),
            script,
            table: Cell::new(std::ptr::null()),
            aborted: RefCell::new(None),
            loaded: RefCell::new(loaded),
        }))
    }

    /// Runs the script of a call; to be called on a fiber of that call.
    pub(super) fn run(&self, call: &CallContext) -> Result<Option<Answer>, Failure> {
        let given = self.enter(call).map_err(|error| self.failure(&error))?;
        if call.request.is_none() {
            return Ok(None);
        }
        match answer::of(&self.lua, given) {
            Ok(answer) => Ok(Some(answer)),
            Err(message) => Err(Failure::Script { message, traceback: String::new() }),
        }
    }

    fn enter(&self, call: &CallContext) -> mlua::Result<Given> {
        let function = self.chunks.lock().function(&self.lua, &call.script)?;
        self.entry.run(&function, call)
    }

    /// The callbacks of its state.
    pub(super) fn callbacks(&self) -> *mut mlua::ffi::lua_Callbacks {
        self.entry.callbacks()
    }

    /// An error of Lua with its places in the user's files.
    fn failure(&self, error: &mlua::Error) -> Failure {
        if is_memory(error) {
            return Failure::Memory;
        }
        let (message, traceback) = places::told(error);
        Failure::Script { message: self.rewrite(&message), traceback: self.rewrite(&traceback) }
    }

    /// Places as the user knows them.
    pub(super) fn rewrite(&self, text: &str) -> String {
        places::in_files(&self.lua, text)
    }

    /// Whether more than the limit is in use even after a collection.
    pub(super) fn is_over(&self) -> bool {
        let limit = self.environment.settings.memory;
        if self.entry.used_memory() <= limit {
            return false;
        }
        let collected = self.lua.gc_collect();
        collected.is_err() || self.entry.used_memory() > limit
    }
}

fn is_memory(error: &mlua::Error) -> bool {
    matches!(places::innermost(error), mlua::Error::MemoryError(_))
}
