//! The gate of an environment name: keeps `max-runspaces` exact for the whole process, over reloads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::run_error::RunError;
use super::settings::Environment;

/// How many requests of one environment may be busy, and who waits. First come, first served.
#[derive(Debug)]
pub struct Gate {
    permits: Semaphore,
    limits: Mutex<Limits>,
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Limits {
    /// Permits that exist, free or in use.
    total: usize,
    /// Permits to be taken out of use as they come back, after the limit was lowered.
    owed: usize,
    queue: usize,
    wait: Duration,
}

/// The right to keep one runspace busy; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit<'g>(&'g Gate);

impl Gate {
    /// A gate that lets nobody through until a limit is set.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { permits: Semaphore::new(0), limits: Mutex::default(), waiting: AtomicUsize::new(0) })
    }

    /// Sets `max-runspaces`, `queue` and `wait`; called when a generation goes live. A lower limit takes effect as
    /// requests finish.
    pub fn set_limits(&self, environment: &Environment) {
        let settings = &environment.settings;
        let mut limits = self.limits.lock();
        limits.queue = settings.queue;
        limits.wait = settings.wait;
        let wanted = settings.max_runspaces;
        if wanted > limits.total {
            let more = wanted - limits.total;
            let cancelled = more.min(limits.owed);
            limits.owed -= cancelled;
            self.permits.add_permits(more - cancelled);
        } else {
            let fewer = limits.total - wanted;
            limits.owed += fewer - self.permits.forget_permits(fewer);
        }
        limits.total = wanted;
    }

    /// How many requests wait now.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Waits for a permit, within the queue and the wait.
    ///
    /// # Errors
    /// The queue is full, or the wait was too long.
    pub(super) async fn enter(&self) -> Result<(Permit<'_>, Duration), RunError> {
        if let Ok(permit) = self.permits.try_acquire() {
            permit.forget();
            return Ok((Permit(self), Duration::ZERO));
        }
        let (queue, wait) = {
            let limits = self.limits.lock();
            (limits.queue, limits.wait)
        };
        let _place = self.take_place(queue).ok_or(RunError::QueueFull)?;
        let began = Instant::now();
        match tokio::time::timeout(wait, self.permits.acquire()).await {
            Ok(Ok(permit)) => {
                permit.forget();
                Ok((Permit(self), began.elapsed()))
            }
            Ok(Err(_)) | Err(_) => Err(RunError::NoRunspace { waited: began.elapsed() }),
        }
    }

    /// A place in the queue, if one is left.
    fn take_place(&self, queue: usize) -> Option<Place<'_>> {
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Place(&self.waiting);
        (before < queue).then_some(place)
    }
}

/// A place in the queue; left when dropped, also by a client that goes away.
struct Place<'g>(&'g AtomicUsize);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut limits = self.0.limits.lock();
        if limits.owed > 0 {
            limits.owed -= 1;
        } else {
            self.0.permits.add_permits(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::settings::EnvironmentSettings;

    fn environment(max: usize, queue: usize) -> Environment {
        let settings =
            EnvironmentSettings { max_runspaces: max, queue, wait: Duration::ZERO, ..EnvironmentSettings::default() };
        Environment::named("test", settings)
    }

    #[tokio::test]
    async fn limits_hold_while_they_change() {
        let gate = Gate::new();
        gate.set_limits(&environment(2, 9));
        let first = gate.enter().await.unwrap();
        let second = gate.enter().await.unwrap();
        assert!(gate.enter().await.is_err());
        gate.set_limits(&environment(1, 9));
        drop(first);
        assert!(gate.enter().await.is_err(), "one is busy, and one is the limit");
        drop(second);
        let only = gate.enter().await.unwrap();
        assert!(gate.enter().await.is_err());
        gate.set_limits(&environment(3, 9));
        let _more = (gate.enter().await.unwrap(), gate.enter().await.unwrap());
        assert!(gate.enter().await.is_err());
        drop(only);
        assert!(gate.enter().await.is_ok());
    }

    #[tokio::test]
    async fn a_full_queue_refuses_at_once_and_places_are_given_back() {
        let gate = Gate::new();
        gate.set_limits(&environment(1, 0));
        let _busy = gate.enter().await.unwrap();
        assert!(matches!(gate.enter().await, Err(RunError::QueueFull)));
        gate.set_limits(&environment(1, 1));
        assert!(matches!(gate.enter().await, Err(RunError::NoRunspace { .. })));
        assert_eq!(gate.waiting(), 0);
    }
}
