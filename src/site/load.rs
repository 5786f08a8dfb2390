//! The one loader: start, reload and `check` use it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostics, Sources};
use crate::site::Site;

/// What a load found. The watch set is there even when the load failed, so that mending a broken include is enough.
pub struct Loaded {
    /// The site, when there was no error.
    pub site: Option<Arc<Site>>,
    /// Everything that is wrong, sorted.
    pub diagnostics: Diagnostics,
    /// The files the diagnostics point into.
    pub sources: Sources,
    /// Files and folders (of globs and modules) whose contents decide.
    pub watch: BTreeSet<PathBuf>,
    /// What the summary of `check` counts.
    pub counts: Counts,
}

/// What a site has, for the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Files read.
    pub files: usize,
    /// Endpoints declared.
    pub endpoints: usize,
    /// Environments declared.
    pub environments: usize,
    /// Scripts, inline and files, modules included.
    pub scripts: usize,
}

/// Loads sites, and remembers parsed chunks and compiled scripts from one load to the next.
#[derive(Default)]
pub struct Loader {}

#[allow(unused_variables, clippy::todo)]
impl Loader {
    /// Loads the site at `path`.
    ///
    /// # Errors
    /// The site file itself cannot be read (not there, no right, no UTF-8).
    pub fn load(&mut self, path: &Path) -> std::io::Result<Loaded> {
        todo!()
    }
}
