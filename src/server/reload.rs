//! Reloads: one at a time, on a thread of their own, each told in the log.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use slog::Logger;

use crate::diag::{Diagnostics, Severity, Sources};
use crate::runtime::{ReloadOutcome, Runtime};
use crate::site::load::Loader;

/// What a reload needs.
pub struct Reloader {
    /// The running site.
    pub runtime: Arc<Runtime>,
    /// Remembers what did not change.
    pub loader: Loader,
    /// The site's file.
    pub path: PathBuf,
}

impl Reloader {
    /// Loads the site again, makes it live when nothing is wrong, and logs how it ended. Returns what to watch from now
    /// on; `None` keeps watching the same.
    pub fn reload(&mut self) -> Option<BTreeSet<PathBuf>> {
        let reloaded = self.runtime.reload(&mut self.loader, &self.path);
        tell(&self.runtime.current.load().logger, &reloaded.outcome);
        reloaded.watch
    }
}

fn tell(log: &Logger, outcome: &ReloadOutcome) {
    match outcome {
        ReloadOutcome::Activated {
            generation,
            changes,
            needs_restart,
            warnings: (warnings, sources),
            took,
        } => {
            let milliseconds = (took.as_secs_f64() * 1e4).round() / 10.0;
            let changes = if changes.is_empty() {
                "nothing that is answered"
            } else {
                changes
            };
            slog::info!(log, # "config", "reloaded"; "generation" => generation, "changes" => changes, "ms" => milliseconds);
            if !needs_restart.is_empty() {
                slog::warn!(log, # "config", "settings that a running server keeps were changed; restart it to apply them";
                    "settings" => needs_restart.join(", "));
            }
            if !warnings.is_empty() {
                slog::warn!(log, # "config", "the site has warnings"; "report" => report(warnings, sources));
            }
        }
        ReloadOutcome::Refused {
            diagnostics,
            sources,
        } => {
            slog::error!(log, # "config", "the changed site has errors; the one before serves on";
                "errors" => diagnostics.errors(), "report" => report(diagnostics, sources));
        }
        ReloadOutcome::Failed(cause) => {
            slog::error!(log, # "config", "the changed site cannot be used; the one before serves on"; "cause" => cause);
        }
    }
}

/// One line for each finding.
fn report(diagnostics: &Diagnostics, sources: &Sources) -> String {
    let lines = diagnostics.iter().map(|found| {
        let span = found.primary.span;
        let (line, column) = sources.line_column(span.file, span.start);
        let severity = match found.code.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        format!(
            "{}:{line}:{column}: {severity}[{}]: {}",
            sources.get(span.file).name,
            found.code.id,
            found.message
        )
    });
    lines.collect::<Vec<String>>().join("\n")
}
