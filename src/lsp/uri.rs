//! Addresses of the protocol and paths of the file system.

use std::path::{Path, PathBuf};

use gen_lsp_types::Uri;

/// The path that an address names; `None` for a text that is no file, such as one that was never saved.
pub(super) fn path(uri: &Uri) -> Option<PathBuf> {
    url::Url::parse(uri.as_ref()).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// The address of an absolute path.
pub(super) fn of(path: &Path) -> Option<Uri> {
    let url = url::Url::from_file_path(path).ok()?;
    // Brackets are left alone by browsers, but an address in the strict sense has none in its path.
    Some(url.as_str().replace('[', "%5B").replace(']', "%5D").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for written in ["/a/site.kdl", "/ä b/%41 #?.kdl", "/[x]/{y}.kdl", "/🌙"] {
            assert_eq!(path(&of(Path::new(written)).unwrap()).as_deref(), Some(Path::new(written)));
        }
        assert_eq!(path(&"file:///[x]/%7By%7d.kdl".into()).as_deref(), Some(Path::new("/[x]/{y}.kdl")));
        for other in ["untitled:Untitled-1", "git:/a/site.kdl", "file://elsewhere/a.kdl", "a"] {
            assert_eq!(path(&other.into()), None, "{other}");
        }
    }
}
