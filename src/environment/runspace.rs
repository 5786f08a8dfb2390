//! A runspace: one Lua state, busy with at most one request.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use mlua::{Lua, MultiValue, Table};

use super::api::Host;
use super::call::CallContext;
use super::chunks::Chunks;
use super::places;
use super::request::RequestKit;
use super::sandbox::{Base, Known};
use super::settings::Environment;
use super::{answer, sandbox};
use crate::exchange::{Answer, Request};
use crate::script::Script;

/// One Lua state with its frozen base.
pub(super) struct Runspace {
    pub(super) lua: Lua,
    environment: Arc<Environment>,
    kit: RequestKit,
    /// `None` until the base is frozen.
    base: Option<Base>,
    /// What was there before the startup script of a clean environment.
    host: Option<Known>,
    /// Globals and loaded modules that stay, when the environment is persistent.
    kept: Option<(Table, Table)>,
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
        let kit = RequestKit::install(&lua)?;
        lua.set_app_data(Chunks::default());
        let settings = &host.environment.settings;
        let known = if settings.persistent { None } else { Some(sandbox::known(&lua)?) };
        // Luau has no emergency collection: the soft limit is kept by the interrupt, this one only stops what grows
        // faster than a slice.
        lua.set_memory_limit(settings.memory.saturating_mul(2))?;
        Ok(Self {
            lua,
            environment: host.environment.clone(),
            kit,
            base: None,
            host: known,
            kept: None,
            born: Instant::now(),
            served: AtomicU64::new(0),
        })
    }

    /// Freezes the base. A persistent runspace gets the globals that it keeps.
    pub(super) fn finish(&mut self) -> mlua::Result<()> {
        let base = sandbox::freeze(&self.lua, self.host.take().as_ref())?;
        if self.environment.settings.persistent {
            self.kept = Some((sandbox::globals(&self.lua, &base.metatable)?, self.lua.create_table()?));
        }
        self.base = Some(base);
        Ok(())
    }

    /// The context of a call of `script`. Its globals are fresh, those kept, or, before the base is frozen, the base.
    pub(super) fn call(
        &self,
        script: Arc<Script>,
        request: Option<Request>,
        logger: slog::Logger,
    ) -> mlua::Result<Rc<CallContext>> {
        let (globals, loaded) = match (&self.kept, &self.base) {
            (Some((globals, loaded)), _) => (globals.clone(), Some(loaded.clone())),
            (None, Some(base)) => {
                base.restore(&self.lua)?;
                (sandbox::globals(&self.lua, &base.metatable)?, None)
            }
            (None, None) => (self.lua.globals(), None),
        };
        Ok(Rc::new(CallContext {
            request,
            logger,
            script,
            table: Cell::new(std::ptr::null()),
            aborted: RefCell::new(None),
            globals,
            loaded: RefCell::new(loaded),
        }))
    }

    /// Runs the script of a call; to be called on a fiber of that call.
    pub(super) fn run(&self, call: &CallContext) -> Result<Option<Answer>, Failure> {
        let values = self.values(call).map_err(|error| self.failure(&error))?;
        if call.request.is_none() {
            return Ok(None);
        }
        match answer::read(&self.lua, values) {
            Ok(answer) => Ok(Some(answer)),
            Err(message) => Err(Failure::Script { message, traceback: String::new() }),
        }
    }

    fn values(&self, call: &CallContext) -> mlua::Result<MultiValue> {
        let function = {
            let chunks = self.lua.app_data_mut::<Chunks>();
            let mut chunks = chunks.ok_or_else(|| mlua::Error::runtime("the runspace has lost its scripts"))?;
            chunks.function(&self.lua, &call.script)?.deep_clone()?
        };
        function.set_environment(call.globals.clone())?;
        if call.request.is_none() {
            return function.call(());
        }
        let request = self.kit.make(&self.lua, call)?;
        function.call(request)
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
        if self.lua.used_memory() <= limit {
            return false;
        }
        let collected = self.lua.gc_collect();
        collected.is_err() || self.lua.used_memory() > limit
    }
}

fn is_memory(error: &mlua::Error) -> bool {
    matches!(places::innermost(error), mlua::Error::MemoryError(_))
}
