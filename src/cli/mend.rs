//! `moondock check --fix`: applies the fixes of findings, writes the files, and checks again.
//!
//! A fix can bring to light what stood behind the mistake, so this goes on until nothing is left to be fixed.

use std::path::Path;
use std::sync::Arc;

use crate::diag::fix::{self, Mended};
use crate::diag::{FileId, Sources};
use crate::site::load::Loaded;

use super::replace::replace;

/// The site file itself among the files of a load.
pub(super) const SITE: FileId = FileId(0);
/// How often is looked again at most.
const ROUNDS: usize = 16;

/// What became of a site.
pub(super) struct Outcome {
    /// The last look at it.
    pub(super) loaded: Loaded,
    /// A line for each fix.
    pub(super) notes: String,
}

/// Mends the files of a site in place; `load` looks at them.
///
/// # Errors
/// What `load` says, or that a file cannot be written, or that somebody else has changed it meanwhile; before it stands
/// what was done until then.
pub(super) fn files(mut load: impl FnMut() -> Result<Loaded, String>) -> Result<Outcome, String> {
    let mut outcome = Outcome { loaded: load()?, notes: String::new() };
    for _ in 0..ROUNDS {
        let sources = &outcome.loaded.sources;
        let mended = fix::mend(&outcome.loaded.diagnostics, sources, |_| true);
        if mended.is_empty() {
            break;
        }
        for file in &mended {
            let source = sources.get(file.file);
            let replaced = replace(Path::new(&*source.name), &source.text, &file.text);
            replaced.map_err(|error| format!("{}moondock: cannot write {}: {error}\n", outcome.notes, source.name))?;
            outcome.notes.push_str(&notes(file, sources));
        }
        outcome.loaded = load()?;
    }
    Ok(outcome)
}

/// Mends a text; what it includes is left alone. `load` looks at it.
///
/// # Errors
/// What `load` says.
pub(super) fn text(
    text: Arc<str>,
    mut load: impl FnMut(Arc<str>) -> Result<Loaded, String>,
) -> Result<Outcome, String> {
    let mut outcome = Outcome { loaded: load(text)?, notes: String::new() };
    for _ in 0..ROUNDS {
        let sources = &outcome.loaded.sources;
        let mended = fix::mend(&outcome.loaded.diagnostics, sources, |file| file == SITE);
        let Some(site) = mended.into_iter().next() else { break };
        outcome.notes.push_str(&notes(&site, sources));
        outcome.loaded = load(site.text.into())?;
    }
    Ok(outcome)
}

fn notes(mended: &Mended, sources: &Sources) -> String {
    let name = &sources.get(mended.file).name;
    let line = |(span, title): &(crate::diag::Span, String)| {
        let (line, column) = sources.line_column(span.file, span.start);
        format!("{name}:{line}:{column}: fixed: {title}\n")
    };
    mended.applied.iter().map(line).collect()
}
