//! The pool of an environment: its warm runspaces, and the way of a request through one of them.

mod building;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::api::{Host, ProcessHost};
use super::call::CallContext;
use super::fiber::{self, Ended, Fiber, Limits, Stop};
use super::gate::{Gate, Permit};
use super::lease::{Discard, Lease, is_old, worker_number};
use super::refusals::{PAUSE, Refusals, Untold};
use super::run_error::RunError;
use super::runspace::{Failure, Runspace};
use super::script_log::ScriptLog;
use super::settings::Environment;
use crate::exchange::{Answer, Request};
use crate::script::Script;

/// How long a failed startup is remembered before it is tried again.
const STARTUP_RETRY: Duration = Duration::from_secs(1);
/// Whole slices after which a handler is told to hold its worker: about a quarter of a second of computing.
const WATCHDOG_SLICES: u32 = 250;

/// The warm runspaces of one validated environment. Shared by all generations whose environment is equal.
pub struct Pool {
    environment: Arc<Environment>,
    gate: Arc<Gate>,
    host: Arc<Host>,
    log: slog::Logger,
    /// Idle runspaces with the worker that used each last, the warmest at the end.
    idle: Mutex<VecDeque<(u64, Arc<Runspace>)>>,
    /// Why the startup script failed last, and when.
    unhealthy: Mutex<Option<(String, Instant)>>,
    refusals: Refusals,
    counters: Counters,
}

#[derive(Default)]
struct Counters {
    busy: AtomicUsize,
    built: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
    served: AtomicU64,
    timeouts: AtomicU64,
    memory_errors: AtomicU64,
}

/// One request for a runspace.
pub struct Call {
    /// What to run.
    pub handler: Arc<Script>,
    /// For whom.
    pub request: Box<Request>,
    /// Wall clock of the handler.
    pub timeout: Duration,
    /// Takes what the handler logs (`log.*`, `print`, feature `script`).
    pub log: ScriptLog,
}

/// How long a request waited, beside its answer.
pub struct Ran {
    /// The answer, or how the handler failed.
    pub outcome: Result<Answer, RunError>,
    /// How long it waited for a runspace.
    pub waited: Duration,
}

/// Numbers of a pool at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Runspaces that run a request.
    pub busy: usize,
    /// Runspaces that wait for one.
    pub idle: usize,
    /// Requests that wait for a runspace of this environment name.
    pub waiting: usize,
    /// Runspaces built since the pool was.
    pub built: u64,
    /// Runspaces thrown away (memory, panic, recycled).
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

impl Pool {
    /// Builds the pool and its `min-runspaces`; may run on any thread. A startup script that fails makes the pool
    /// unhealthy (see [`Pool::health`]), not an error.
    pub fn build(
        environment: Arc<Environment>,
        gate: Arc<Gate>,
        process: Arc<ProcessHost>,
        log: &slog::Logger,
    ) -> Arc<Self> {
        let host = Arc::new(Host { environment: environment.clone(), process });
        let pool = Arc::new(Self {
            environment,
            gate,
            host,
            log: log.clone(),
            idle: Mutex::default(),
            unhealthy: Mutex::default(),
            refusals: Refusals::default(),
            counters: Counters::default(),
        });
        for _ in 0..pool.environment.settings.min_runspaces {
            match pool.build_here() {
                Ok(runspace) => pool.idle.lock().push_back((0, Arc::new(runspace))),
                Err(reason) => {
                    pool.note_unhealthy(reason);
                    break;
                }
            }
        }
        pool
    }

    /// The environment it was built of.
    pub fn environment(&self) -> &Arc<Environment> {
        &self.environment
    }

    /// Whether its runspaces can be built.
    ///
    /// # Errors
    /// Why the startup script fails.
    pub fn health(&self) -> Result<(), String> {
        self.unhealthy.lock().as_ref().map_or(Ok(()), |(reason, _)| Err(reason.clone()))
    }

    /// Its numbers.
    pub fn stats(&self) -> PoolStats {
        let counters = &self.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PoolStats {
            busy: counters.busy.load(Ordering::Relaxed),
            idle: self.idle.lock().len(),
            waiting: self.gate.waiting(),
            built: read(&counters.built),
            dropped: read(&counters.dropped),
            refused: read(&counters.refused),
            served: read(&counters.served),
            timeouts: read(&counters.timeouts),
            memory_errors: read(&counters.memory_errors),
        }
    }

    /// Runs a request: waits for a runspace, runs the handler under its limits, gives the runspace back. Must be
    /// polled on a thread with a tokio `LocalSet` (an actix worker). Dropping the future ends the handler.
    pub async fn run(self: &Arc<Self>, call: Call) -> Ran {
        let (permit, waited) = match self.gate.enter().await {
            Ok(entered) => entered,
            Err(error) => {
                self.note_refused(&error);
                let waited = if let RunError::NoRunspace { waited } = error { waited } else { Duration::ZERO };
                return Ran { outcome: Err(error), waited };
            }
        };
        let outcome = match self.lease(permit).await {
            Ok(lease) => self.serve(lease, call).await,
            Err(reason) => Err(RunError::Unhealthy { reason }),
        };
        Ran { outcome, waited }
    }

    /// An idle runspace, this worker's own first, or a new one.
    async fn lease<'p>(&'p self, permit: Permit<'p>) -> Result<Lease<'p>, String> {
        let runspace = match self.take_idle() {
            Some(runspace) => runspace,
            None => {
                if let Some((reason, since)) = &*self.unhealthy.lock()
                    && since.elapsed() < STARTUP_RETRY
                {
                    return Err(reason.clone());
                }
                let built = self.build_runspace().await;
                Arc::new(built.inspect_err(|reason| self.note_unhealthy(reason.clone()))?)
            }
        };
        self.counters.busy.fetch_add(1, Ordering::Relaxed);
        Ok(Lease { pool: self, runspace: Some(runspace), discard: None, _permit: permit })
    }

    /// An idle runspace. One that has become too old while it waited is thrown away.
    fn take_idle(&self) -> Option<Arc<Runspace>> {
        let worker = worker_number();
        loop {
            let (_, runspace) = {
                let mut idle = self.idle.lock();
                let own = idle.iter().rposition(|(last, _)| *last == worker);
                own.and_then(|at| idle.remove(at)).or_else(|| idle.pop_back())?
            };
            if !is_old(&runspace, &self.environment.settings) {
                return Some(runspace);
            }
            self.discard(runspace, Discard::Age);
        }
    }

    /// Takes back a runspace that can serve again.
    pub(super) fn give_back(&self, runspace: Arc<Runspace>) {
        self.idle.lock().push_back((worker_number(), runspace));
    }

    /// Throws a runspace away, and says so.
    pub(super) fn discard(&self, runspace: Arc<Runspace>, why: Discard) {
        count(&self.counters.dropped);
        let (environment, served) = (&self.environment.name, runspace.served.load(Ordering::Relaxed));
        match why {
            Discard::Requests | Discard::Age => slog::debug!(self.log, # "environment", "a runspace was recycled";
                "environment" => %environment, "requests" => served,
                "reason" => if why == Discard::Age { "age" } else { "requests" }),
            Discard::Memory => slog::warn!(self.log, # "environment", "a runspace was thrown away for its memory";
                "environment" => %environment, "requests" => served, "limit" => self.environment.settings.memory),
            Discard::Broken => {
                slog::warn!(self.log, # "environment", "a runspace was thrown away: its handler could not be ended";
                "environment" => %environment, "requests" => served)
            }
        }
    }

    /// A request ends, and with it its lease.
    pub(super) fn leave(&self) {
        self.counters.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a refused request; the first of many is told at once, the rest by their number.
    fn note_refused(self: &Arc<Self>, error: &RunError) {
        count(&self.counters.refused);
        if let Some(untold) = self.refusals.note(error) {
            self.tell_refused(untold);
            tokio::task::spawn_local(watch_refused(Arc::downgrade(self)));
        }
    }

    fn tell_refused(&self, untold: Untold) {
        slog::warn!(self.log, # "environment", "requests were refused: every runspace is busy";
            "environment" => %self.environment.name, "queue_full" => untold.queue_full,
            "waited_too_long" => untold.waited_too_long);
    }

    /// The fiber and the context hold handles into the runspace, and so go before the lease, which lets others have it.
    async fn serve(&self, mut lease: Lease<'_>, call: Call) -> Result<Answer, RunError> {
        let Call { handler, request, timeout, log } = call;
        let Some(runspace) = lease.runspace.clone() else {
            return Err(RunError::Cancelled);
        };
        let context = runspace.call(handler, Some(request), log).map_err(|error| self.told(&error))?;
        let inside = context.clone();
        let callbacks = runspace.callbacks();
        let fiber = Fiber::new(callbacks, self.limits(timeout), Some(context.clone()), move || runspace.run(&inside));
        let ended = match fiber {
            Ok(fiber) => fiber.await,
            Err(error) => {
                return Err(RunError::Unhealthy { reason: format!("no memory for a stack: {error}") });
            }
        };
        count(&self.counters.served);
        self.watch(&context, &ended);
        self.outcome(&mut lease, ended, &context, timeout)
    }

    /// Turns the end of a fiber into an answer or a failure, and decides whether the runspace can serve again.
    fn outcome(
        &self,
        lease: &mut Lease<'_>,
        ended: Ended<Result<Option<Answer>, Failure>>,
        context: &CallContext,
        timeout: Duration,
    ) -> Result<Answer, RunError> {
        let result = match ended.result {
            Ok(result) => result,
            Err(panic) => {
                lease.discard = Some(Discard::Broken);
                return Err(self.panicked(&*panic));
            }
        };
        match (ended.stop, result) {
            (Some(Stop::Deadline), _) => {
                count(&self.counters.timeouts);
                Err(RunError::Timeout { limit: timeout, place: lease.place(ended.place) })
            }
            (Some(Stop::Aborted), _) => context.aborted.take().ok_or(RunError::Cancelled),
            (Some(Stop::Cancelled), _) | (None, Ok(None)) => Err(RunError::Cancelled),
            (Some(Stop::Memory), _) | (None, Err(Failure::Memory)) => {
                count(&self.counters.memory_errors);
                lease.discard = Some(Discard::Memory);
                let limit = self.environment.settings.memory;
                Err(RunError::Memory { limit, place: lease.place(ended.place) })
            }
            (None, Err(Failure::Script { message, traceback })) => Err(RunError::Script { message, traceback }),
            (None, Ok(Some(answer))) => Ok(answer),
        }
    }

    fn panicked(&self, panic: &(dyn std::any::Any + Send)) -> RunError {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        slog::crit!(self.log, # "environment", "a host function panicked"; "environment" => %self.environment.name, "panic" => text);
        RunError::Script { message: format!("a host function panicked: {text}"), traceback: String::new() }
    }

    fn told(&self, error: &mlua::Error) -> RunError {
        RunError::Script { message: error.to_string(), traceback: String::new() }
    }

    /// Tells of a handler that computes for long: it slows its neighbours on the worker.
    fn watch<R>(&self, context: &CallContext, ended: &Ended<R>) {
        if ended.preemptions < WATCHDOG_SLICES {
            return;
        }
        let route = context.request.as_ref().map_or("", |request| &*request.route);
        let id = context.request.as_ref().map_or("", |request| &*request.id.0);
        slog::warn!(self.log, # "environment", "a handler computed for long";
            "environment" => %self.environment.name, "endpoint" => route, "request" => id,
            "milliseconds" => u64::from(ended.preemptions) * fiber::SLICE.as_millis() as u64);
    }

    fn limits(&self, timeout: Duration) -> Limits {
        Limits { deadline: Instant::now() + timeout, memory: self.environment.settings.memory }
    }

    fn note_unhealthy(&self, reason: String) {
        slog::error!(self.log, # "environment", "the environment is unhealthy";
            "environment" => %self.environment.name, "reason" => &reason);
        *self.unhealthy.lock() = Some((reason, Instant::now()));
    }
}

/// Tells of requests that are refused, as long as there are some in every pause.
async fn watch_refused(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let Some(pool) = pool.upgrade() else { break };
        let Some(untold) = pool.refusals.again() else { break };
        pool.tell_refused(untold);
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
