//! Replaces a file by another text in one step.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a text beside the file that the path leads to and puts it in its place, with the same permissions: whoever
/// reads meanwhile sees the old text or the new one, and a full disk loses nothing.
///
/// # Errors
/// The folder or the file cannot be written.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    // A link stays a link.
    let path = fs::canonicalize(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = write(&beside, text, &path).and_then(|()| fs::rename(&beside, &path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

fn write(beside: &Path, text: &str, like: &Path) -> io::Result<()> {
    let mut file = fs::File::create_new(beside)?;
    file.set_permissions(fs::metadata(like)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("site.kdl");
        fs::write(&path, "old").unwrap();
        replace(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("none"), "x").is_err());
    }
}
