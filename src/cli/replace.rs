//! Replaces a file by another text in one step.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Gives a file another text: whoever reads it sees the old one or the new one, and a full disk loses nothing. A symbolic
/// link stays one, and so do the permissions.
///
/// # Errors
/// The folder or the file cannot be written, or the file does not hold `old` any more.
pub(super) fn replace(path: &Path, old: &str, new: &str) -> io::Result<()> {
    let path = path.canonicalize()?;
    if fs::read(&path)? != old.as_bytes() {
        return Err(io::Error::other("it was changed meanwhile"));
    }
    // Hidden and scratch, so that neither a pattern of `include` nor the watch of a running server minds it.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
    let written = write_like(&path, &beside, new).and_then(|()| fs::rename(&beside, &path));
    // It may not even have been made; what matters is what went wrong.
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
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
