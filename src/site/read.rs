//! Reading the text files that a site names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest file that is read, in bytes: more than any limit of the site language, and nothing to a machine.
const LONGEST: u64 = 64 << 20;

/// What is looked at before the machine is: a check may be told variables, an editor has texts that are not saved.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Variables of the environment.
    pub(super) environment: BTreeMap<String, String>,
    /// Texts by the absolute path of the file in whose place they stand, whether it exists or not.
    pub(super) texts: BTreeMap<PathBuf, Arc<str>>,
}

impl Given {
    /// The text that is given for a file, or else the file's.
    ///
    /// # Errors
    /// No text is given, and the file cannot be read as one.
    pub(super) fn text(&self, path: &Path) -> io::Result<Arc<str>> {
        self.texts.get(path).map_or_else(|| text(path).map(Arc::from), |text| Ok(Arc::clone(text)))
    }

    /// Whether a text is given for the path, or a file is there.
    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.texts.contains_key(path) || path.is_file()
    }
}

/// The text of a file.
///
/// # Errors
/// It cannot be opened, is larger than 64 MiB or not UTF-8; or it is no regular file: a pipe or device has no end, or
/// waits for one.
fn text(path: &Path) -> io::Result<String> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    match path.metadata()?.file_type() {
        kind if kind.is_file() => {}
        kind if kind.is_dir() => return Err(invalid("it is a folder".to_owned())),
        _ => return Err(invalid("it is no regular file".to_owned())),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(invalid(format!("it is larger than {} MiB", LONGEST >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| invalid(not_text(&error)))
}

/// Where a file is no text, by line and column.
fn not_text(error: &std::string::FromUtf8Error) -> String {
    let valid = error.utf8_error().valid_up_to();
    let before = &error.as_bytes()[..valid];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    format!("it is not UTF-8 text (line {line}, column {column})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_in_regular_files_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "a\nbé").unwrap();
        assert_eq!(text(&path).unwrap(), "a\nbé");
        std::fs::write(&path, b"a\nb\xc3\xa9\xff").unwrap();
        assert_eq!(text(&path).unwrap_err().to_string(), "it is not UTF-8 text (line 2, column 3)");
        assert_eq!(text(Path::new("/dev/zero")).unwrap_err().to_string(), "it is no regular file");
        assert_eq!(text(folder.path()).unwrap_err().to_string(), "it is a folder");
        assert_eq!(text(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        File::create(&path).unwrap().set_len(LONGEST + 1).unwrap();
        assert_eq!(text(&path).unwrap_err().to_string(), "it is larger than 64 MiB");
    }
}
