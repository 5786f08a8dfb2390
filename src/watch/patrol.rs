//! The watcher's thread: takes hints, looks, and tells.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::fingerprint::{Fingerprint, touched_since};
use super::settle::{IDLE_AFTER, IDLE_PERIOD, Look, Settle, Verdict};
use super::{Change, Mode, Notice, folders};

/// How often a look may find new folders to watch before it is content; each round only follows a change made meanwhile.
const ROUNDS: usize = 3;
/// Looking takes at most this part of the time, however many files there are.
const SHARE: u32 = 20;

/// What the thread is told.
pub(super) enum Message {
    /// The system says that something happened.
    Hint,
    /// The system's events do not work as they should.
    Trouble(String),
    /// These paths count from now on, found by a load that began at this moment.
    Track(BTreeSet<PathBuf>, SystemTime),
    /// Look now.
    Sweep,
    /// Look now and tell in any case.
    Reload,
    /// Tell again after a quiet moment.
    Retry,
    /// Nobody has a handle any more.
    Stop,
}

/// A tracked path.
struct Tracked {
    /// What the last look saw.
    seen: Fingerprint,
    /// What was told last, which is what was loaded or older; `None` when it is not known to be.
    told: Option<Fingerprint>,
}

/// The events of the system.
struct Events {
    watcher: RecommendedWatcher,
    /// Folders that are watched, with what they were then.
    folders: BTreeMap<PathBuf, (u64, u64)>,
}

/// The state of the thread.
pub(super) struct Patrol {
    notices: Sender<Notice>,
    events: Option<Events>,
    /// A hint is on its way; no second one is needed.
    hinted: Arc<AtomicBool>,
    tracked: BTreeMap<PathBuf, Tracked>,
    settle: Settle,
    retrying: bool,
    warned: bool,
    /// When something last happened.
    busy: Instant,
    /// How often to look without any event.
    period: Duration,
    /// When everything was last looked at, and how long it took.
    swept: (Instant, Duration),
}

impl Patrol {
    pub(super) fn new(notices: Sender<Notice>, own: Sender<Message>, mode: Mode, period: Duration) -> Self {
        let now = Instant::now();
        let mut patrol = Self {
            notices,
            events: None,
            hinted: Arc::new(AtomicBool::new(false)),
            tracked: BTreeMap::new(),
            settle: Settle::default(),
            retrying: false,
            warned: false,
            busy: now,
            period,
            swept: (now, Duration::ZERO),
        };
        if mode == Mode::Events {
            match patrol.listen(own) {
                Ok(watcher) => patrol.events = Some(Events { watcher, folders: BTreeMap::new() }),
                Err(error) => patrol.warn(&error.to_string()),
            }
        }
        patrol
    }

    /// Asks the system for events. Only that something happened is taken from them, and reading is nothing.
    fn listen(&self, own: Sender<Message>) -> notify::Result<RecommendedWatcher> {
        let hinted = self.hinted.clone();
        notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let message = match event {
                Ok(event) if event.kind.is_access() => return,
                Ok(_) if hinted.swap(true, Ordering::AcqRel) => return,
                Ok(_) => Message::Hint,
                Err(error) => Message::Trouble(error.to_string()),
            };
            // The thread has ended; the system's watcher ends with it.
            drop(own.send(message));
        })
    }

    /// Works until nobody listens or nobody has a handle.
    pub(super) fn run(&mut self, messages: &Receiver<Message>) {
        loop {
            let now = Instant::now();
            let told = match self.next_look() {
                due if due <= now => self.look_now(now),
                due => match messages.recv_timeout(due - now) {
                    Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(message) => self.take(message),
                    Err(RecvTimeoutError::Timeout) => Ok(()),
                },
            };
            if told.is_err() {
                return;
            }
        }
    }

    fn take(&mut self, message: Message) -> Result<(), Gone> {
        let now = Instant::now();
        match message {
            Message::Hint => {
                // Cleared before the look, so that what happens during it gives another hint.
                self.hinted.store(false, Ordering::Release);
                self.busy = now;
                self.settle.hint(now);
            }
            Message::Trouble(error) => {
                self.warn(&error);
                self.settle.hint(now);
            }
            Message::Track(paths, since) => self.track(&paths, since),
            Message::Sweep => return self.tell_if(now, false),
            Message::Reload => return self.tell_if(now, true),
            Message::Retry => {
                self.retrying = true;
                self.settle.retry(now);
            }
            Message::Stop => {}
        }
        Ok(())
    }

    /// When to look next: after a quiet moment when something happened, else after the period.
    fn next_look(&self) -> Instant {
        let (at, took) = self.swept;
        let idle = self.events.is_some() && !self.warned && self.busy.elapsed() > IDLE_AFTER;
        let period = if idle { self.period.max(IDLE_PERIOD) } else { self.period };
        let periodic = at + period.max(took * SHARE);
        self.settle.due().map_or(periodic, |due| due.min(periodic))
    }

    /// Takes the look that is due. A periodic one that finds something is itself only a hint.
    fn look_now(&mut self, now: Instant) -> Result<(), Gone> {
        let settled = self.settle.due().is_some_and(|due| due <= now);
        let moving = self.sweep();
        let (change, look) = self.compare(&moving);
        if !settled {
            if look.moving || (look.changed && self.settle.due().is_none()) {
                self.busy = now;
                self.settle.hint(now);
            }
            return Ok(());
        }
        match self.settle.looked(look, Instant::now()) {
            Verdict::Tell => self.tell(change),
            Verdict::Wait | Verdict::Calm => Ok(()),
        }
    }

    /// Looks at once; tells a difference, or in any case.
    fn tell_if(&mut self, now: Instant, asked: bool) -> Result<(), Gone> {
        let moving = self.sweep();
        let (change, look) = self.compare(&moving);
        if asked || look.changed {
            self.busy = now;
            self.settle = Settle::default();
            return self.tell(Change { asked, ..change });
        }
        Ok(())
    }

    fn tell(&mut self, mut change: Change) -> Result<(), Gone> {
        change.retried = std::mem::take(&mut self.retrying);
        for tracked in self.tracked.values_mut() {
            tracked.told = Some(tracked.seen.clone());
        }
        self.notices.send(Notice::Changed(change)).map_err(|_| Gone)
    }

    /// Looks at every tracked path; returns those that are not as the look before saw them.
    fn sweep(&mut self) -> BTreeSet<PathBuf> {
        let start = Instant::now();
        let mut moving = BTreeSet::new();
        self.watch_folders(false);
        for _ in 0..ROUNDS {
            let new = self.look_at_all();
            let still = new.is_empty();
            moving.extend(new);
            // What appeared or went away may need other folders; what happened before they were watched needs a look.
            if still || !self.watch_folders(true) {
                break;
            }
        }
        self.swept = (Instant::now(), start.elapsed());
        moving
    }

    fn look_at_all(&mut self) -> Vec<PathBuf> {
        let now = SystemTime::now();
        let mut moving = Vec::new();
        for (path, tracked) in &mut self.tracked {
            let seen = Fingerprint::take(path, Some(&tracked.seen), now);
            if seen.content != tracked.seen.content {
                moving.push(path.clone());
            }
            tracked.seen = seen;
        }
        moving
    }

    fn compare(&self, moving: &BTreeSet<PathBuf>) -> (Change, Look) {
        let now = SystemTime::now();
        let (mut change, mut look) = (Change::default(), Look::default());
        for (path, tracked) in &self.tracked {
            let told = tracked.told.as_ref().map(|told| &told.content);
            if told == Some(&tracked.seen.content) {
                continue;
            }
            look.changed = true;
            look.moving |= moving.contains(path);
            look.shrunk |= told.is_some_and(|told| tracked.seen.content.is_much_less_than(told));
            change.half_written |= tracked.seen.is_half_written(now);
            change.paths.insert(path.clone());
        }
        (change, look)
    }

    /// Tracks these paths and no others.
    pub(super) fn track(&mut self, paths: &BTreeSet<PathBuf>, since: SystemTime) {
        let mut before = std::mem::take(&mut self.tracked);
        let mut new = Vec::new();
        for path in paths {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            match before.remove(&path) {
                Some(tracked) => drop(self.tracked.insert(path, tracked)),
                None => new.push(path),
            }
        }
        if new.is_empty() && before.is_empty() {
            return;
        }
        let doubtful = Doubt::new(since);
        for path in new {
            let tracked = doubtful.track(&path);
            if tracked.told.is_none() {
                self.settle.hint(Instant::now());
            }
            self.tracked.insert(path, tracked);
        }
        self.watch_folders(true);
        // Between the first look and the watching of the folders something may have happened.
        self.settle.hint(Instant::now());
    }

    /// Watches the folders of all tracked paths: anew those that were replaced, and with `all` also finds out which they
    /// are now. Returns whether something was watched that was not before.
    fn watch_folders(&mut self, all: bool) -> bool {
        let Some(events) = &mut self.events else {
            return false;
        };
        let replaced = events.folders.iter().any(|(folder, identity)| identity_of(folder) != Some(*identity));
        if !all && !replaced {
            return false;
        }
        let (new, failed) = events.watch(folders::of(self.tracked.keys()));
        if let Some(error) = failed {
            self.warn(&error);
        }
        new
    }

    /// Says once that events cannot be relied on.
    fn warn(&mut self, reason: &str) {
        if std::mem::replace(&mut self.warned, true) {
            return;
        }
        let text = format!(
            "the system does not tell of every change of a file ({reason}); looking every {} s instead",
            self.period.as_secs()
        );
        // Nobody listens: the next change finds that out and ends the thread.
        drop(self.notices.send(Notice::Warning(text)));
    }
}

/// Nobody listens any more.
struct Gone;

impl Events {
    /// Watches exactly these folders. Returns whether there are new ones, and why one cannot be watched.
    fn watch(&mut self, wanted: BTreeSet<PathBuf>) -> (bool, Option<String>) {
        let stale: Vec<PathBuf> = self
            .folders
            .iter()
            .filter(|(folder, identity)| !wanted.contains(*folder) || identity_of(folder) != Some(**identity))
            .map(|(folder, _)| folder.clone())
            .collect();
        for folder in stale {
            self.folders.remove(&folder);
            // A folder that is gone was forgotten by the system already.
            drop(self.watcher.unwatch(&folder));
        }
        let (mut new, mut failed) = (false, None);
        for folder in wanted {
            let Some(identity) = identity_of(&folder) else {
                continue;
            };
            if self.folders.contains_key(&folder) {
                continue;
            }
            match self.watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    new = true;
                    self.folders.insert(folder, identity);
                }
                Err(error) if is_missing(&error) => {}
                Err(error) => failed = Some(format!("{}: {error}", folder.display())),
            }
        }
        (new, failed)
    }
}

/// What tells a folder from another one of the same name.
fn identity_of(folder: &Path) -> Option<(u64, u64)> {
    fs::metadata(folder).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        notify::ErrorKind::PathNotFound => true,
        notify::ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// Judges whether a path that was not tracked during a load can have changed since the load read it.
struct Doubt {
    since: SystemTime,
}

impl Doubt {
    fn new(since: SystemTime) -> Self {
        Self { since }
    }

    fn track(&self, path: &PathBuf) -> Tracked {
        let seen = Fingerprint::take(path, None, SystemTime::now());
        let touched = |path: &Path, metadata: std::io::Result<fs::Metadata>| match metadata {
            Ok(metadata) => touched_since(&metadata, self.since),
            // Its folder tells when it went away.
            Err(_) => path.parent().is_none(),
        };
        // The folders on the way tell of names that came, went, or were put in the place of others.
        let changed = touched(path, fs::metadata(path))
            || folders::of([path]).iter().any(|folder| touched(folder, fs::symlink_metadata(folder)));
        Tracked { told: (!changed).then(|| seen.clone()), seen }
    }
}
