//! Generations: build completely beside what runs, then swap one pointer.

pub mod change;
pub mod generation;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use crate::diag::{Diagnostics, Sources};
use crate::environment::api::{ProcessHost, server};
use crate::runtime::generation::{Gates, Generation};
use crate::site::Site;
use crate::site::load::Loader;

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
    /// What the server was started with: settings that only a restart changes are compared with it.
    started: Arc<Site>,
    gates: Gates,
    process: Arc<ProcessHost>,
}

/// Why a site is loaded again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Files may have changed: when all that is read is as before, nothing is done.
    Files,
    /// It is built anew in any case.
    Asked,
}

/// How a reload ended.
pub enum ReloadOutcome {
    /// All that was read is as before; the same generation serves on.
    Unchanged,
    /// The new generation is live.
    Activated {
        /// Its number.
        generation: u64,
        /// What was added, changed, removed, in words; empty when everything is answered as before.
        changes: String,
        /// Settings that were changed but need a restart, each with its place.
        needs_restart: Vec<String>,
        /// Warnings, and the files they point into.
        warnings: (Diagnostics, Sources),
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
    /// The machine refused (the site file is gone, a target could not be opened …); the old one serves on.
    Failed(String),
}

/// A reload's ending and what to watch from now on; `None` keeps watching the same.
pub struct Reloaded {
    /// How it ended.
    pub outcome: ReloadOutcome,
    /// The files that decide now.
    pub watch: Option<BTreeSet<PathBuf>>,
}

impl Runtime {
    /// Builds the first generation of a site that was loaded without error.
    ///
    /// # Errors
    /// The machine refused something the site asks for.
    pub fn start(site: Arc<Site>) -> io::Result<Arc<Self>> {
        let gates = Gates::default();
        let process = Arc::new(ProcessHost { node: server::node_name(), ..ProcessHost::default() });
        let first = Generation::build(1, site.clone(), None, &gates, &process)?;
        first.activate(&process);
        let runtime = Self {
            current: Arc::new(ArcSwap::from_pointee(first)),
            counters: Arc::new(Counters::default()),
            started: site,
            gates,
            process,
        };
        Ok(Arc::new(runtime))
    }

    /// Loads again and, when nothing is wrong, builds and swaps. Runs on the reload thread, one at a time.
    pub fn reload(&self, loader: &mut Loader, path: &Path, reason: Reason) -> Reloaded {
        let began = Instant::now();
        let loaded = match loader.load(path) {
            Ok(loaded) => loaded,
            Err(error) => {
                self.counters.reloads_refused.fetch_add(1, Ordering::Relaxed);
                let outcome = ReloadOutcome::Failed(format!("{}: {error}", path.display()));
                return Reloaded { outcome, watch: None };
            }
        };
        let old = self.current.load();
        let outcome = match loaded.site {
            Some(site) if reason == Reason::Files && change::is_same(&old.site, &site) => ReloadOutcome::Unchanged,
            Some(site) => self.activate(site, (loaded.diagnostics, loaded.sources), began),
            None => ReloadOutcome::Refused { diagnostics: loaded.diagnostics, sources: loaded.sources },
        };
        match outcome {
            ReloadOutcome::Activated { .. } => self.counters.reloads.fetch_add(1, Ordering::Relaxed),
            ReloadOutcome::Unchanged => 0,
            _ => self.counters.reloads_refused.fetch_add(1, Ordering::Relaxed),
        };
        Reloaded { outcome, watch: Some(loaded.watch) }
    }

    fn activate(&self, site: Arc<Site>, warnings: (Diagnostics, Sources), began: Instant) -> ReloadOutcome {
        let old = self.current.load_full();
        let number = old.number + 1;
        let new = match Generation::build(number, site.clone(), Some(&old), &self.gates, &self.process) {
            Ok(new) => new,
            Err(error) => return ReloadOutcome::Failed(error.to_string()),
        };
        new.activate(&self.process);
        self.current.store(Arc::new(new));
        ReloadOutcome::Activated {
            generation: number,
            changes: change::describe(&old.site, &site),
            needs_restart: change::needs_restart(&self.started, &old.site, &site),
            warnings,
            took: began.elapsed(),
        }
    }
}
