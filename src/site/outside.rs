//! Values from outside the site file: environment variables, files and secrets.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::FileId;
use crate::kdl::reader::Outside;
use crate::site::read::Given;

/// Where `(env)`, `(file)` and `(secret)` get their values.
pub(super) struct Values {
    /// The folder of each file, by its id; the site's own for files not listed.
    folders: Vec<PathBuf>,
    /// The folder of the site.
    folder: PathBuf,
    /// Secrets by name; `None` for an optional one that is absent.
    secrets: RefCell<BTreeMap<String, Option<String>>>,
    /// Secrets without a value whose absence was told where they are declared.
    told: RefCell<BTreeSet<String>>,
    /// Whether every `secrets` block could be read.
    complete: bool,
    /// Files that were read, or would have been.
    read: RefCell<BTreeSet<PathBuf>>,
    /// Variables and texts that are looked at before the machine is.
    given: Arc<Given>,
}

impl Values {
    /// Values for nodes that are read before `secrets` is.
    pub(super) fn without_secrets(folder: &Path, given: &Arc<Given>) -> Self {
        Self {
            folders: Vec::new(),
            folder: folder.to_path_buf(),
            secrets: RefCell::default(),
            told: RefCell::default(),
            complete: true,
            read: RefCell::default(),
            given: Arc::clone(given),
        }
    }

    /// Values for a site whose files lie in these folders, in the order of their ids. `complete` is false when a block
    /// of secrets could not be read.
    pub(super) fn new(folder: &Path, folders: Vec<PathBuf>, complete: bool, given: &Arc<Given>) -> Self {
        Self { folders, complete, ..Self::without_secrets(folder, given) }
    }

    /// Adds a secret that later values may name.
    pub(super) fn declare(&self, name: &str, value: Option<String>) {
        self.secrets.borrow_mut().insert(name.to_owned(), value);
    }

    /// Adds a secret whose value is missing or wrong, which was told at its declaration.
    pub(super) fn declare_told(&self, name: &str) {
        self.declare(name, None);
        self.told.borrow_mut().insert(name.to_owned());
    }

    /// The path that a file of the site means by `path`.
    pub(super) fn path(&self, from: FileId, path: &str) -> PathBuf {
        self.folders.get(from.0 as usize).unwrap_or(&self.folder).join(path)
    }

    /// The files whose contents became values.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        self.read.borrow().clone()
    }
}

impl Outside for Values {
    fn env(&self, name: &str) -> Option<String> {
        self.given.environment.get(name).cloned().or_else(|| std::env::var(name).ok())
    }

    fn file(&self, from: FileId, path: &str) -> Result<String, String> {
        let path = self.path(from, path);
        self.read.borrow_mut().insert(path.clone());
        let text = self.given.text(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let line = text.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        Ok(line.unwrap_or(&text).to_owned())
    }

    fn secret(&self, name: &str) -> Option<String> {
        self.secrets.borrow().get(name).cloned().flatten()
    }

    fn secrets_complete(&self) -> bool {
        self.complete
    }

    fn absence_told(&self, name: &str) -> bool {
        self.told.borrow().contains(name)
    }

    fn secret_names(&self) -> Vec<String> {
        self.secrets.borrow().keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_variables_win_over_those_of_the_process() {
        let environment = BTreeMap::from([("PATH".to_owned(), "given".to_owned())]);
        let given = Arc::new(Given { environment, ..Given::default() });
        let values = Values::without_secrets(Path::new("/"), &given);
        assert_eq!(values.env("PATH").as_deref(), Some("given"));
        let values = Values::without_secrets(Path::new("/"), &Arc::default());
        assert_eq!(values.env("PATH"), std::env::var("PATH").ok());
    }

    #[test]
    fn one_trailing_newline_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let values = Values::without_secrets(folder.path(), &Arc::default());
        for (written, read) in [("a", "a"), ("a\n", "a"), ("a\n\n", "a\n"), ("a\r\n", "a"), ("", "")] {
            std::fs::write(folder.path().join("f"), written).unwrap();
            assert_eq!(values.file(FileId(0), "f").unwrap(), read, "{written:?}");
        }
        assert!(values.file(FileId(0), "absent").unwrap_err().contains("absent"));
    }
}
