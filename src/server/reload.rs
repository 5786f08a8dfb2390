//! Reloads: one at a time, on a thread of their own, each told in the log.
//!
//! The loop ends only with the watcher: whatever a save brings, the next one is heard.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use slog::Logger;

use crate::diag::render::concise;
use crate::runtime::{Reason, ReloadOutcome, Runtime};
use crate::site::load::Loader;
use crate::watch::{Change, Mode, Notice, Notices, Watcher};

/// What was loaded, and from where: what reloading goes on from.
pub struct Origin {
    /// The site's file.
    pub path: PathBuf,
    /// The loader that loaded it; it remembers what does not change.
    pub loader: Loader,
    /// The files and folders that decide.
    pub watch: BTreeSet<PathBuf>,
    /// The moment before the load began.
    pub since: SystemTime,
}

/// The reloads of a running server.
pub struct Reloads {
    watcher: Watcher,
    busy: Arc<Mutex<()>>,
}

impl Reloads {
    /// Asks for a reload at once.
    pub fn ask(&self) {
        self.watcher.reload();
    }

    /// Waits until a reload under way is told, `within` at most.
    pub fn settle(&self, within: Duration) {
        drop(self.busy.try_lock_for(within));
    }
}

/// Watches what a site is made of and reloads it; until the end of the process.
///
/// # Errors
/// The system starts no thread.
pub fn start(runtime: Arc<Runtime>, origin: Origin) -> io::Result<Reloads> {
    let Origin { path, loader, watch, since } = origin;
    let (watcher, notices) = Watcher::start(watch.clone(), since, Mode::Events)?;
    let busy = Arc::<Mutex<()>>::default();
    let reloads = Reloads { watcher: watcher.clone(), busy: busy.clone() };
    let mut reloader = Reloader { runtime, loader, path, watch, watcher, busy, refused: false };
    thread::Builder::new().name("moondock-reload".to_owned()).spawn(move || reloader.run(notices))?;
    Ok(reloads)
}

struct Reloader {
    runtime: Arc<Runtime>,
    loader: Loader,
    path: PathBuf,
    watch: BTreeSet<PathBuf>,
    watcher: Watcher,
    /// Held from the beginning of a reload until it is told.
    busy: Arc<Mutex<()>>,
    /// The last reload was refused: that the site is mended is told, even when it is what is served already.
    refused: bool,
}

impl Reloader {
    fn run(&mut self, mut notices: Notices) {
        while let Some(notice) = notices.next_notice() {
            match notice {
                Notice::Changed(change) => self.reload(&change),
                Notice::Warning(text) => {
                    slog::warn!(self.log(), # "config", "files are watched less closely"; "cause" => text)
                }
            }
        }
    }

    /// Loads the site again, makes it live when nothing is wrong, and tells how it ended. A file that makes no sense
    /// because it is only half there is looked at once more before it is told.
    fn reload(&mut self, change: &Change) {
        let busy = self.busy.clone();
        let _busy = busy.lock();
        let since = SystemTime::now();
        let reason = if change.asked || self.refused { Reason::Asked } else { Reason::Files };
        let reloaded = self.runtime.reload(&mut self.loader, &self.path, reason);
        if let Some(watch) = reloaded.watch {
            self.watch = watch;
        }
        self.watcher.track(self.watch.clone(), since);
        let is_live = matches!(reloaded.outcome, ReloadOutcome::Activated { .. } | ReloadOutcome::Unchanged);
        if !is_live && change.half_written && !change.retried {
            self.watcher.retry();
        } else {
            self.refused = !is_live;
            tell(&self.log(), &reloaded.outcome);
        }
    }

    fn log(&self) -> Logger {
        self.runtime.current.load().logger.clone()
    }
}

fn tell(log: &Logger, outcome: &ReloadOutcome) {
    match outcome {
        ReloadOutcome::Unchanged => {
            slog::debug!(log, # "config", "files were touched and hold what they held");
        }
        ReloadOutcome::Activated { generation, changes, needs_restart, warnings: (warnings, sources), took } => {
            let milliseconds = (took.as_secs_f64() * 1e4).round() / 10.0;
            let changes = if changes.is_empty() { "nothing that is answered" } else { changes };
            slog::info!(log, # "config", "reloaded"; "generation" => generation, "changes" => changes, "ms" => milliseconds);
            if !needs_restart.is_empty() {
                slog::warn!(log, # "config", "settings that a running server keeps were changed; restart it to apply them";
                    "settings" => needs_restart.join(", "));
            }
            if !warnings.is_empty() {
                slog::warn!(log, # "config", "the site has warnings"; "report" => concise(warnings, sources).trim_end());
            }
        }
        ReloadOutcome::Refused { diagnostics, sources } => {
            slog::error!(log, # "config", "the changed site has errors; the one before serves on";
                "errors" => diagnostics.errors(), "report" => concise(diagnostics, sources).trim_end());
        }
        ReloadOutcome::Failed(cause) => {
            slog::error!(log, # "config", "the changed site cannot be used; the one before serves on"; "cause" => cause);
        }
    }
}
