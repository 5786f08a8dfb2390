//! The pool of an environment: a gate that keeps `max-runspaces` exact, and the idle runspaces.

use std::sync::Arc;
use std::time::Duration;

use crate::environment::api::ProcessHost;
use crate::environment::settings::Environment;
use crate::exchange::{Answer, Request};
use crate::script::Script;

/// What outlives generations for one environment name: how many may be busy, who waits.
pub struct Gate {}

/// The warm runspaces of one validated environment. Shared by all generations whose environment is equal.
pub struct Pool {}

/// One request for a runspace.
pub struct Call {
    /// What to run.
    pub handler: Arc<Script>,
    /// For whom.
    pub request: Request,
    /// Wall clock of the handler.
    pub timeout: Duration,
    /// Takes what the handler logs (`log.*`, `print`, feature `script`).
    pub logger: slog::Logger,
}

/// How long a request waited and ran, beside its answer.
pub struct Ran {
    /// The answer, or how the handler failed.
    pub outcome: Result<Answer, RunError>,
    /// How long it waited for a runspace.
    pub waited: Duration,
}

/// How a handler can fail. The private part goes to the log, never to the client.
#[derive(Debug, Clone, PartialEq)]
pub enum RunError {
    /// It raised an error (or answered something that cannot be sent).
    Script {
        /// The message, with the place in the user's file.
        message: String,
        /// The call stack in the user's files, one frame a line.
        traceback: String,
    },
    /// It ran longer than its timeout: 504.
    Timeout {
        /// The limit.
        limit: Duration,
        /// Where it was, such as `site.kdl:12`.
        place: String,
    },
    /// It used more memory than its environment allows: 500, the runspace is gone.
    Memory {
        /// The limit in bytes.
        limit: usize,
        /// Where it was.
        place: String,
    },
    /// Too many requests wait for a runspace already: 503.
    QueueFull,
    /// No runspace became free within the wait: 503.
    NoRunspace {
        /// The wait.
        waited: Duration,
    },
    /// The environment is unhealthy (its startup script fails): 503.
    Unhealthy {
        /// Why.
        reason: String,
    },
    /// The client went away or the server stops; nobody reads the answer.
    Cancelled,
}

/// Numbers of a pool at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Runspaces that run a request.
    pub busy: usize,
    /// Runspaces that wait for one.
    pub idle: usize,
    /// Requests that wait for a runspace.
    pub waiting: usize,
    /// Runspaces built since the start.
    pub built: u64,
    /// Runspaces thrown away (memory, deadline without unwinding, recycled).
    pub dropped: u64,
    /// Requests refused because the queue was full or the wait too long.
    pub refused: u64,
    /// Requests that ran.
    pub served: u64,
    /// Handlers ended at their deadline.
    pub timeouts: u64,
    /// Handlers ended at their memory limit.
    pub memory_errors: u64,
}

#[allow(unused_variables, clippy::todo)]
impl Gate {
    /// A gate that lets nobody through until a limit is set.
    pub fn new(name: &str) -> Arc<Self> {
        todo!()
    }
    /// Sets `max-runspaces`, `queue` and `wait`; called when a generation goes live. Fewer than now busy takes effect
    /// as they finish.
    pub fn set_limits(&self, environment: &Environment) {
        todo!()
    }
}

#[allow(unused_variables, clippy::todo)]
impl Pool {
    /// Builds the pool and its `min-runspaces`; may run on any thread. A startup script that fails makes the pool
    /// unhealthy (see [`Pool::health`]), not an error.
    pub fn build(environment: Arc<Environment>, gate: Arc<Gate>, process: Arc<ProcessHost>, log: &slog::Logger) -> Arc<Self> {
        todo!()
    }
    /// The environment it was built of.
    pub fn environment(&self) -> &Arc<Environment> {
        todo!()
    }
    /// Why it is unhealthy, if it is.
    pub fn health(&self) -> Result<(), String> {
        todo!()
    }
    /// Its numbers.
    pub fn stats(&self) -> PoolStats {
        todo!()
    }
    /// Runs a request: waits for a runspace, runs the handler under its limits, gives the runspace back. Must be
    /// polled on a thread with a tokio `LocalSet` (an actix worker). Dropping the future ends the handler.
    pub async fn run(self: &Arc<Self>, call: Call) -> Ran {
        todo!()
    }
}
