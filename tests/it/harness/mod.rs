//! What the tests share: a temporary site folder, the running program, a plain HTTP client, the reader of case files.
//!
//! Nothing here waits for time to pass: it waits for an outcome, and gives up after [`PATIENCE`].

pub(crate) mod case;
pub(crate) mod client;
pub(crate) mod console;
pub(crate) mod editor;
pub(crate) mod expect;
pub(crate) mod markdown;
pub(crate) mod play;
pub(crate) mod program;
pub(crate) mod request;
pub(crate) mod site_folder;

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an outcome may take before the test has failed. It only costs time when something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The folder of the repository.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below a folder, sorted, its build and version folders left out.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).unwrap_or_else(|error| panic!("{}: {error}", next.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A path as messages show it: relative to the repository.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}
