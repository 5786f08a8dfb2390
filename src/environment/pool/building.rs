//! How a pool builds a runspace: on a worker when a request needs one, on any thread before the pool goes live.

use std::sync::Arc;

use super::{Pool, count};
use crate::environment::fiber::{Fiber, Stop};
use crate::environment::places;
use crate::environment::runspace::{Failure, Runspace};
use crate::script::Script;

impl Pool {
    /// Builds a runspace and runs its startup script.
    pub(super) async fn build_runspace(&self) -> Result<Runspace, String> {
        let mut runspace = Runspace::build(&self.host).map_err(|error| error.to_string())?;
        if self.environment.settings.persistent {
            runspace.finish().map_err(|error| error.to_string())?;
        }
        if let Some(startup) = &self.environment.startup {
            runspace = self.start(runspace, startup.clone()).await?;
        }
        if !self.environment.settings.persistent {
            runspace.finish().map_err(|error| places::told(&error).0)?;
        }
        count(&self.counters.built);
        slog::debug!(self.log, # "environment", "a runspace was built";
            "environment" => %self.environment.name, "ms" => runspace.born.elapsed().as_millis() as u64);
        *self.unhealthy.lock() = None;
        Ok(runspace)
    }

    /// Runs the startup script. In a persistent runspace it sets globals that stay; in a clean one what it sets
    /// becomes part of the base, and is frozen with it.
    async fn start(&self, runspace: Runspace, startup: Arc<Script>) -> Result<Runspace, String> {
        let origin = startup.origin.clone();
        let context = runspace.call(startup, None, self.log.clone().into()).map_err(|error| error.to_string())?;
        let limits = self.limits(self.environment.startup_timeout());
        let callbacks = runspace.callbacks();
        let inside = context.clone();
        let fiber = Fiber::new(callbacks, limits, Some(context), move || {
            let result = runspace.run(&inside);
            (runspace, result)
        });
        let ended = fiber.map_err(|error| error.to_string())?.await;
        let (runspace, result) = ended.result.map_err(|_| format!("{origin} panicked"))?;
        match (ended.stop, result) {
            (None, Ok(_)) => Ok(runspace),
            (Some(Stop::Deadline), _) => {
                Err(format!("{origin} ran longer than {:?}", self.environment.startup_timeout()))
            }
            (Some(_), _) | (None, Err(Failure::Memory)) => {
                Err(format!("{origin} needs more memory than the environment has"))
            }
            (None, Err(Failure::Script { message, .. })) => Err(message),
        }
    }

    /// Builds a runspace on a thread that need not be a worker.
    pub(super) fn build_here(&self) -> Result<Runspace, String> {
        if self.environment.startup.is_none() {
            // Nothing in this waits, so it is ready at once.
            let built = futures_util::FutureExt::now_or_never(self.build_runspace());
            return built.unwrap_or_else(|| Err("building a runspace waited".to_owned()));
        }
        // The startup script may wait, and needs a reactor of its own: this thread may have one that is in use.
        std::thread::scope(|scope| {
            let built = scope.spawn(|| {
                let reactor = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let reactor = reactor.map_err(|error| error.to_string())?;
                tokio::task::LocalSet::new().block_on(&reactor, self.build_runspace())
            });
            built.join().unwrap_or_else(|_| Err("building a runspace panicked".to_owned()))
        })
    }
}
