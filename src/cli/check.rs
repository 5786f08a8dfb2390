//! `moondock check`: every mistake of a site in one run. Runs no Lua, opens no port, writes nothing.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;

use crate::diag::render;
use crate::site::load::{Counts, Loaded, Loader};

use super::output::Output;

/// How findings are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// With the lines around each place
    Human,
    /// One line for each finding
    Concise,
    /// One JSON object for each site
    Json,
}

/// Checks the sites one after the other; the worst of them decides the exit code.
pub(super) fn run(output: &mut Output, sites: &[PathBuf], format: Format) -> ExitCode {
    let codes: Vec<u8> = sites.iter().map(|site| check(output, site, format)).collect();
    ExitCode::from(codes.into_iter().max().unwrap_or(0))
}

/// Checks one site: 0 without errors, 1 with, 2 when it could not look.
fn check(output: &mut Output, path: &Path, format: Format) -> u8 {
    let loaded = match Loader::default().load(path) {
        Ok(loaded) => loaded,
        Err(error) => {
            output.err(&super::could_not_look(path, &error));
            return 2;
        }
    };
    let style = output.out_style();
    let (found, sources) = (&loaded.diagnostics, &loaded.sources);
    let text = match format {
        Format::Human => render::human(found, sources, style) + &summary(path, &loaded),
        Format::Concise => render::concise(found, sources) + &summary(path, &loaded),
        Format::Json => render::json(found, sources) + "\n",
    };
    output.out(&text);
    u8::from(loaded.diagnostics.has_errors())
}

/// The last line: what was found, or what the site has.
fn summary(path: &Path, loaded: &Loaded) -> String {
    let (errors, warnings) = (loaded.diagnostics.errors(), loaded.diagnostics.warnings());
    let path = path.display();
    match (errors, warnings) {
        (0, 0) => format!("{path} is fine: {}\n", contents(&loaded.counts)),
        (0, warnings) => format!("{path}: {}\n", plural(warnings, "warning")),
        (errors, 0) => format!("{path}: {}\n", plural(errors, "error")),
        (errors, warnings) => format!("{path}: {}, {}\n", plural(errors, "error"), plural(warnings, "warning")),
    }
}

fn contents(counts: &Counts) -> String {
    let parts = [(counts.endpoints, "endpoint"), (counts.environments, "environment"), (counts.scripts, "script")];
    let parts: Vec<String> = parts.iter().map(|(count, what)| plural(*count, what)).collect();
    parts.join(", ")
}

fn plural(count: usize, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}
