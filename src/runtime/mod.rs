//! Generations: build completely beside what runs, then swap one pointer.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::diag::{Diagnostics, Sources};
use crate::endpoint::Endpoint;
use crate::endpoint::route_table::RouteTable;
use crate::environment::pool::Pool;
use crate::logging::router::Router;
use crate::site::Site;
use crate::site::load::Loaded;

/// One numbered running version of a site. Dropping it undoes all that building it did.
pub struct Generation {
    /// Its number, from 1.
    pub number: u64,
    /// What it serves.
    pub site: Arc<Site>,
    /// Which endpoint answers what.
    pub routes: RouteTable<Arc<LiveEndpoint>>,
    /// Every pool, in the order of the site's environments.
    pub pools: Vec<Arc<Pool>>,
    /// Who hears what.
    pub router: Arc<Router>,
    /// The logger of the server's own records.
    pub logger: slog::Logger,
}

/// An endpoint with its live parts.
pub struct LiveEndpoint {
    /// The endpoint.
    pub endpoint: Arc<Endpoint>,
    /// The pool of its environment, when it runs a script.
    pub pool: Option<Arc<Pool>>,
    /// Its concurrency limit and queue.
    pub gate: Option<Arc<EndpointGate>>,
}

/// Keeps an endpoint's `concurrency`.
pub struct EndpointGate {
    /// Permits to run.
    pub running: Arc<tokio::sync::Semaphore>,
    /// How many wait now.
    pub waiting: std::sync::atomic::AtomicUsize,
    /// How many may.
    pub queue: usize,
}

/// Numbers of the whole process, counted from the start; what metrics will show.
#[derive(Default)]
pub struct Counters {
    /// Requests answered.
    pub requests: AtomicU64,
    /// Answers of 500 and above.
    pub errors: AtomicU64,
    /// Requests refused with 503.
    pub refused: AtomicU64,
    /// Requests whose client went away.
    pub cancelled: AtomicU64,
    /// Reloads that went live.
    pub reloads: AtomicU64,
    /// Reloads that were refused.
    pub reloads_refused: AtomicU64,
    /// Connections open now.
    pub connections: AtomicU64,
}

/// The running site: the current generation and how it is replaced.
pub struct Runtime {
    /// The live generation; workers keep an [`arc_swap::Cache`] of it.
    pub current: Arc<ArcSwap<Generation>>,
    /// Numbers of the process.
    pub counters: Arc<Counters>,
}

/// How a reload ended.
pub enum ReloadOutcome {
    /// Nothing that counts had changed.
    Unchanged,
    /// The new generation is live.
    Activated {
        /// Its number.
        generation: u64,
        /// What was added, changed, removed, in words.
        changes: String,
        /// From the start of the load to the swap.
        took: Duration,
    },
    /// The old one serves on; the findings say why.
    Refused {
        /// What is wrong.
        diagnostics: Diagnostics,
        /// The files they point into.
        sources: Sources,
    },
    /// The machine refused (a file could not be opened …); the old one serves on.
    Failed(String),
}

#[allow(unused_variables, clippy::todo)]
impl Runtime {
    /// Builds the first generation of a site loaded without error.
    ///
    /// # Errors
    /// The machine refused something the site asks for.
    pub fn start(site: Arc<Site>) -> Result<Arc<Self>, String> {
        todo!()
    }
    /// Loads again and, when nothing is wrong, builds and swaps. Also returns what to watch from now on. Runs on the
    /// reload thread; one at a time.
    pub fn reload(&self, loader: &mut crate::site::load::Loader, path: &Path) -> (ReloadOutcome, std::collections::BTreeSet<std::path::PathBuf>) {
        todo!()
    }
}

/// Only to keep the signature of the loader's result in one place.
pub type LoadResult = std::io::Result<Loaded>;
