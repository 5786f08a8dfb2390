//! A runspace that serves one request, and what becomes of it afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::gate::Permit;
use super::pool::Pool;
use super::runspace::Runspace;
use super::settings::EnvironmentSettings;

/// Why a runspace serves no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Discard {
    /// It served as many requests as it may.
    Requests,
    /// It is as old as it may be.
    Age,
    /// It uses too much memory.
    Memory,
    /// A host function panicked, or its handler could not be ended.
    Broken,
}

/// A runspace that serves one request. Dropping it gives the runspace back, or throws it away.
pub(super) struct Lease<'p> {
    pub(super) pool: &'p Pool,
    /// There until the lease is dropped.
    pub(super) runspace: Option<Arc<Runspace>>,
    /// Why it is to be thrown away, if that is known already.
    pub(super) discard: Option<Discard>,
    /// Goes last, so that whoever gets it finds the runspace.
    pub(super) _permit: Permit<'p>,
}

impl Lease<'_> {
    /// A place that Lua told, in the user's files.
    pub(super) fn place(&self, place: Option<(String, u32)>) -> String {
        let told = place.map(|(chunk, line)| format!("{chunk}:{line}")).unwrap_or_default();
        self.runspace.as_ref().map_or(told.clone(), |runspace| runspace.rewrite(&told))
    }

    /// Why the runspace cannot serve again. A handler that had to be abandoned holds it for ever.
    fn verdict(&self, runspace: &Arc<Runspace>) -> Option<Discard> {
        let settings = &self.pool.environment().settings;
        let served = runspace.served.fetch_add(1, Ordering::Relaxed) + 1;
        let worn = settings.recycle_requests > 0 && served >= settings.recycle_requests;
        let abandoned = Arc::strong_count(runspace) > 1;
        if self.discard.is_some() {
            self.discard
        } else if abandoned || std::thread::panicking() {
            Some(Discard::Broken)
        } else if worn {
            Some(Discard::Requests)
        } else if is_old(runspace, settings) {
            Some(Discard::Age)
        } else {
            runspace.is_over().then_some(Discard::Memory)
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(runspace) = self.runspace.take() {
            match self.verdict(&runspace) {
                None => self.pool.give_back(runspace),
                Some(why) => self.pool.discard(runspace, why),
            }
        }
        self.pool.leave();
    }
}

/// Whether a runspace is older than its environment allows.
pub(super) fn is_old(runspace: &Runspace, settings: &EnvironmentSettings) -> bool {
    !settings.recycle_age.is_zero() && runspace.born.elapsed() >= settings.recycle_age
}

/// A number for the thread, so that a worker finds the runspaces whose memory is in its cache.
pub(super) fn worker_number() -> u64 {
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NUMBER.with(|number| *number)
}
