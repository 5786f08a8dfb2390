//! What a path holds, as far as a change of it counts: whether it is there, and a hash of its contents.

use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A file touched so lately may not be complete.
const HALF_WRITTEN: Duration = Duration::from_millis(200);
/// Times of most file systems come from a clock that ticks every few milliseconds.
const TICK: Duration = Duration::from_millis(20);
/// Times without any fraction come from a file system that keeps seconds, or even two.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// Names in a folder that are scratch of editors or written by servers; they never count.
const SCRATCH: &[&str] = &[
    "~", ".bak", ".db", ".log", ".pid", ".sock", ".sqlite", ".swo", ".swp", ".swx", ".tmp", "-journal", "-shm", "-wal",
];

/// What a look at a path found.
#[derive(Clone, Debug)]
pub(super) struct Fingerprint {
    /// What counts.
    pub(super) content: Content,
    stamp: Option<Stamp>,
    /// The stamp is so young that another save could leave it as it is.
    unsure: bool,
}

/// What a path holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing is there.
    Missing,
    /// It cannot be read.
    Unreadable(io::ErrorKind),
    /// A file.
    File {
        /// Of its bytes.
        hash: u64,
        /// In bytes.
        length: u64,
    },
    /// A folder.
    Folder {
        /// Of the names in it that count.
        names: u64,
    },
}

/// What the system tells of a file without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Fingerprint {
    /// Looks at a path; contents are read only when what the system tells differs from `before`.
    pub(super) fn take(path: &Path, before: Option<&Self>, now: SystemTime) -> Self {
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                return Self { content: Content::failed(&error), stamp: None, unsure: false };
            }
        };
        let stamp = Stamp::of(&metadata);
        if let Some(before) = before
            && before.stamp == Some(stamp)
            && !before.unsure
        {
            return before.clone();
        }
        let content = match metadata.file_type() {
            kind if kind.is_dir() => names(path),
            kind if kind.is_file() => file(path),
            // Nobody reads a pipe or a device: it could wait for ever, or never end.
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        let content = content.unwrap_or_else(|error| Content::failed(&error));
        Self { content, stamp: Some(stamp), unsure: touched_since(&metadata, now) }
    }

    /// Whether the path was touched so lately that it may not be complete.
    pub(super) fn is_half_written(&self, now: SystemTime) -> bool {
        let Some(stamp) = self.stamp else { return true };
        now.duration_since(time(stamp.changed)).is_ok_and(|age| age < HALF_WRITTEN)
    }
}

impl Content {
    fn failed(error: &io::Error) -> Self {
        match error.kind() {
            // A file in the place of a folder means as well that there is no such path.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            kind => Self::Unreadable(kind),
        }
    }

    /// Whether this is much less than `before`: a file of less than half the length, or none.
    pub(super) fn is_much_less_than(&self, before: &Self) -> bool {
        match (before, self) {
            (Self::File { length: before, .. }, Self::File { length, .. }) => *length < before.div_ceil(2),
            (Self::File { .. } | Self::Folder { .. }, Self::Missing) => true,
            _ => false,
        }
    }
}

/// Whether the system's own times of something say that it was touched at `moment` or later. In doubt it was.
pub(super) fn touched_since(metadata: &Metadata, moment: SystemTime) -> bool {
    let tick = if metadata.ctime_nsec() == 0 { COARSE_TICK } else { TICK };
    time((metadata.ctime(), metadata.ctime_nsec())) + tick >= moment
}

fn time((seconds, nanoseconds): (i64, i64)) -> SystemTime {
    let nanoseconds = Duration::from_nanos(nanoseconds.unsigned_abs());
    let seconds_span = Duration::from_secs(seconds.unsigned_abs());
    let whole = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(seconds_span)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(seconds_span)
    };
    whole.unwrap_or(SystemTime::UNIX_EPOCH) + nanoseconds
}

fn file(path: &Path) -> io::Result<Content> {
    let mut file = File::open(path)?;
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => {
                return Ok(Content::File { hash: hasher.finish(), length });
            }
            Ok(count) => {
                hasher.write(&buffer[..count]);
                length += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn names(path: &Path) -> io::Result<Content> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name().into_encoded_bytes();
        if folder || !SCRATCH.iter().any(|end| name.ends_with(end.as_bytes())) {
            names.push((name, folder));
        }
    }
    names.sort();
    let mut hasher = DefaultHasher::new();
    for (name, folder) in names {
        hasher.write(&name);
        // No name holds either byte, so that two lists never look like one.
        hasher.write_u8(if folder { b'/' } else { 0 });
    }
    Ok(Content::Folder { names: hasher.finish() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(path: &Path) -> Content {
        Fingerprint::take(path, None, SystemTime::now()).content
    }

    #[test]
    fn contents_count_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert_eq!(content(&path), Content::Missing);
        assert_eq!(content(&path.join("b")), Content::Missing);
        fs::write(&path, "one").unwrap();
        let one = content(&path);
        fs::write(&path, "two").unwrap();
        assert_ne!(content(&path), one);
        fs::rename(&path, folder.path().join("other")).unwrap();
        fs::write(&path, "one").unwrap();
        assert_eq!(content(&path), one);
        assert_eq!(content(&path.join("b")), Content::Missing);
    }

    #[test]
    fn a_young_stamp_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let young = Fingerprint::take(&path, None, SystemTime::now());
        assert!(young.unsure && young.is_half_written(SystemTime::now()));
        let later = SystemTime::now() + Duration::from_secs(3);
        let old = Fingerprint::take(&path, None, later);
        assert!(!old.unsure && !old.is_half_written(later));
        let forged = Fingerprint { content: Content::Missing, ..old.clone() };
        assert_eq!(Fingerprint::take(&path, Some(&forged), later).content, Content::Missing, "not read again");
        let unsure = Fingerprint { unsure: true, ..forged };
        assert_eq!(Fingerprint::take(&path, Some(&unsure), later).content, old.content, "read again");
    }

    #[test]
    fn a_folder_is_the_names_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let empty = content(folder.path());
        for name in ["a.db", "a.db-wal", "x.log", ".a.kdl.swp", "a.kdl~"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        assert_eq!(content(folder.path()), empty, "scratch does not count");
        fs::write(folder.path().join("a.kdl"), "x").unwrap();
        let one = content(folder.path());
        assert_ne!(one, empty);
        fs::write(folder.path().join("a.kdl"), "yy").unwrap();
        assert_eq!(content(folder.path()), one, "contents of files do not count");
        fs::create_dir(folder.path().join("sub")).unwrap();
        assert_ne!(content(folder.path()), one);
    }

    #[test]
    fn much_less() {
        let file = |length| Content::File { hash: length, length };
        assert!(file(0).is_much_less_than(&file(1)));
        assert!(file(49).is_much_less_than(&file(100)));
        assert!(!file(50).is_much_less_than(&file(100)));
        assert!(!file(0).is_much_less_than(&file(0)));
        assert!(Content::Missing.is_much_less_than(&file(0)));
        assert!(!file(0).is_much_less_than(&Content::Missing));
    }

    #[test]
    fn times_before_1970_and_without_fraction() {
        assert_eq!(time((-1, 500_000_000)), SystemTime::UNIX_EPOCH - Duration::from_millis(500));
        assert_eq!(time((1, 5)), SystemTime::UNIX_EPOCH + Duration::new(1, 5));
    }
}
