//! Which folders must be watched so that a change of a path cannot go unseen: watching the path itself would end with its
//! first replacement.
//!
//! For a path these are the folder it really lies in, the folders of all symbolic links on the way, the nearest folder
//! that exists when it does not, and the folder above each of them, to see the folder itself replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// More links than this on the way are a loop.
const LINKS: usize = 40;

/// The folders to watch for all these paths.
pub(super) fn of<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> BTreeSet<PathBuf> {
    let folders = on_the_way(paths);
    let above = folders.iter().filter_map(|folder| folder.parent()).map(Path::to_owned);
    above.chain(folders.iter().cloned()).collect()
}

/// The same without the folders above: those whose own times tell that a name in them came, went or was replaced.
pub(super) fn on_the_way<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    let mut parents: BTreeMap<&Path, Option<PathBuf>> = BTreeMap::new();
    for path in paths {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            folders.insert(path.clone());
            continue;
        };
        // Many files share few folders, which are followed only once.
        let real = parents.entry(parent).or_insert_with(|| follow(parent, &mut folders));
        let Some(real) = real else { continue };
        let path = real.join(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => drop(follow(&path, &mut folders)),
            Ok(metadata) if metadata.is_dir() => drop(folders.insert(path)),
            _ => {}
        }
    }
    folders
}

/// Follows a path link by link, adds what must be watched for it, and returns where it really is, if it is there.
fn follow(path: &Path, folders: &mut BTreeSet<PathBuf>) -> Option<PathBuf> {
    let mut real = PathBuf::new();
    let mut rest = steps(path);
    let mut links = 0;
    while let Some(step) = rest.pop() {
        match step {
            Step::Root => real = PathBuf::from("/"),
            Step::Up => drop(real.pop()),
            Step::Into(name) => {
                let next = real.join(name);
                let Ok(metadata) = fs::symlink_metadata(&next) else {
                    folders.insert(real);
                    return None;
                };
                if !metadata.is_symlink() {
                    real = next;
                    continue;
                }
                folders.insert(real.clone());
                links += 1;
                let target = fs::read_link(&next).ok().filter(|_| links <= LINKS)?;
                rest.extend(steps(&target));
            }
        }
    }
    folders.insert(if real.is_dir() { real.clone() } else { real.parent().unwrap_or(&real).to_owned() });
    Some(real)
}

/// One step of a path.
enum Step {
    Root,
    Up,
    Into(OsString),
}

/// The steps of a path, the last one first.
fn steps(path: &Path) -> Vec<Step> {
    let step = |component: Component<'_>| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// The folders for one path, relative to the temporary folder; what lies above that is left out.
    fn found(root: &Path, path: &str) -> Vec<String> {
        let folders = of([&root.join(path)]);
        let inside = folders.iter().filter_map(|folder| folder.strip_prefix(root).ok());
        inside.map(|folder| folder.display().to_string()).collect()
    }

    #[test]
    fn every_folder_that_can_make_a_difference() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::write(root.join("a/b/c/file"), "x").unwrap();
        assert_eq!(found(&root, "a/b/c/file"), ["a/b", "a/b/c"]);
        assert_eq!(found(&root, "a/b/c"), ["a", "a/b", "a/b/c"], "a folder itself is watched");
        assert_eq!(found(&root, "a/b/x/y/z"), ["a", "a/b"], "the nearest that exists");
        assert_eq!(found(&root, "a/b/c/missing"), ["a/b", "a/b/c"]);
    }

    #[test]
    fn links_on_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("config/..2026")).unwrap();
        fs::write(root.join("config/..2026/site.kdl"), "x").unwrap();
        symlink("..2026", root.join("config/..data")).unwrap();
        symlink("..data/site.kdl", root.join("config/site.kdl")).unwrap();
        assert_eq!(found(&root, "config/site.kdl"), ["", "config", "config/..2026"]);
        fs::create_dir_all(root.join("elsewhere/deep")).unwrap();
        symlink(root.join("config"), root.join("elsewhere/deep/link")).unwrap();
        assert_eq!(
            found(&root, "elsewhere/deep/link/site.kdl"),
            ["", "config", "config/..2026", "elsewhere", "elsewhere/deep"]
        );
        symlink("loop", root.join("loop")).unwrap();
        assert_eq!(found(&root, "loop"), [""]);
    }
}
