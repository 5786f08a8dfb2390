//! A temporary folder with a site in it, and the ways people save files.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use tempfile::TempDir;

/// How a file is saved. Editors differ, and each way has once been missed by somebody's watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaveStyle {
    /// Cut to nothing and written anew, the way of `>`.
    InPlace,
    /// Written beside and moved over the old one.
    Rename,
    /// The old one moved to a backup, the new one written in its place, the way of vim.
    Backup,
}

impl SaveStyle {
    /// The style of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "in-place" => Some(Self::InPlace),
            "rename" => Some(Self::Rename),
            "backup" => Some(Self::Backup),
            _ => None,
        }
    }
}

/// A site's folder, removed with the test.
pub(crate) struct SiteFolder {
    folder: TempDir,
}

impl SiteFolder {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("moondock-").tempdir().expect("a temporary folder can be made") }
    }

    /// A copy of a folder of the repository. Its `site.kdl` gets a free port.
    pub(crate) fn copy_of(from: &Path) -> Self {
        let to = Self::new();
        for file in super::files_below(from) {
            let name = file.strip_prefix(from).expect("it lies below");
            to.write_bytes(name, &to.with_free_port(name, fs::read(&file).unwrap()));
        }
        to
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file, its folders too. A `site.kdl` gets a free port (see [`bind_free_port`]).
    pub(crate) fn write(&self, name: &str, text: &str) {
        self.save(name, text, SaveStyle::InPlace);
    }

    /// Saves a file in a style.
    pub(crate) fn save(&self, name: &str, text: &str, style: SaveStyle) {
        let bytes = self.with_free_port(Path::new(name), text.as_bytes().to_vec());
        let path = self.prepared(Path::new(name));
        match style {
            SaveStyle::InPlace => fs::write(&path, bytes).unwrap(),
            SaveStyle::Rename => {
                let beside = beside(&path, ".new");
                fs::write(&beside, bytes).unwrap();
                fs::rename(beside, path).unwrap();
            }
            SaveStyle::Backup => {
                fs::rename(&path, beside(&path, "~")).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
    }

    /// Writes bytes as they are.
    pub(crate) fn write_bytes(&self, name: &Path, bytes: &[u8]) {
        fs::write(self.prepared(name), bytes).unwrap();
    }

    /// Removes a file.
    pub(crate) fn delete(&self, name: &str) {
        fs::remove_file(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Makes a symbolic link.
    pub(crate) fn link(&self, name: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.prepared(Path::new(name))).unwrap();
    }

    /// The bytes of a file; a file of the site language listens on a free port (see [`bind_free_port`]).
    fn with_free_port(&self, name: &Path, bytes: Vec<u8>) -> Vec<u8> {
        if name.extension().is_none_or(|ending| ending != "kdl") {
            return bytes;
        }
        match String::from_utf8(bytes) {
            Ok(text) => bind_free_port(name, &text, !self.another_has_a_server(name)).into_bytes(),
            Err(error) => error.into_bytes(),
        }
    }

    fn another_has_a_server(&self, name: &Path) -> bool {
        let others = super::files_below(self.path()).into_iter().filter(|path| *path != self.path().join(name));
        let mut kdl = others.filter(|path| path.extension().is_some_and(|ending| ending == "kdl"));
        kdl.any(|path| path.is_file() && fs::read_to_string(path).is_ok_and(|text| has_server(&text)))
    }

    fn prepared(&self, name: &Path) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).unwrap();
        path
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().expect("a file has a name").to_os_string();
    name.push(ending);
    path.with_file_name(name)
}

/// Makes a site listen on a port that the system chooses, without moving any line: a `server` block gets the address as
/// its first child, or in place of the one it says. `alone`: there is no such block elsewhere, so a `site.kdl` without one
/// gets one behind its last line.
fn bind_free_port(name: &Path, text: &str, alone: bool) -> String {
    const FREE: &str = r#"bind "127.0.0.1:0""#;
    let said = Regex::new(r#"(?m)^    bind (?:"127\.0\.0\.1:\d+"|\(env\).*)$"#).expect("the pattern is right");
    if text.contains("\n    bind ") {
        return said.replace(text, format!("    {FREE}")).into_owned();
    }
    if has_server(text) {
        return text.replacen("server {", &format!("server {{ {FREE};"), 1);
    }
    if alone && name == Path::new("site.kdl") {
        return format!("{}\nserver {{ {FREE}; }}\n", text.trim_end_matches('\n'));
    }
    text.to_string()
}

fn has_server(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("server {"))
}
