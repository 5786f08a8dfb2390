//! `moondock check --fix`: applies the fixes of findings, writes the files, and checks again.
//!
//! A fix can bring to light what stood behind the mistake, so this goes on until nothing is left to be fixed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::fix::{self, Mended};
use crate::diag::{FileId, Sources};
use crate::site::load::Loaded;

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

/// Gives a file another text in one step: whoever reads it sees the old one or the new one. A symbolic link stays one.
fn replace(path: &Path, old: &str, new: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    if fs::read(&path)? != old.as_bytes() {
        return Err(io::Error::other("it was changed meanwhile"));
    }
    let beside = beside(&path);
    let written = write_like(&path, &beside, new).and_then(|()| fs::rename(&beside, &path));
    if written.is_err() {
        // It may not even have been made; what matters is what went wrong.
        let _gone = fs::remove_file(&beside);
    }
    written
}

/// A name in the same folder, hidden so that no pattern of `include` finds it.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.moondock-{}", std::process::id()))
}

/// Writes a new file with the permissions of another.
fn write_like(like: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create_new(path)?;
    file.set_permissions(fs::metadata(like)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_only_when_it_is_as_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.kdl");
        fs::write(&path, "old").unwrap();
        replace(&path, "other", "new").unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        replace(&path, "old", "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("real.kdl"), folder.path().join("site.kdl"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.kdl", &link).unwrap();
        replace(&link, "old", "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
