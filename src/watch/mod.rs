//! Tells that tracked files have other contents. Events are hints; the sweep is the truth. Names std and notify only.
//!
//! A thread keeps a fingerprint of every tracked path. An event of the system, whatever it names, only says that a look
//! is worth while: when the folders have been quiet for a moment, everything tracked is looked at, and only contents that
//! differ from those loaded are a change. The same look is taken every few seconds without any event, which serves file
//! systems that send none. So no way of saving can be missed, and nothing that is written beside the tracked files counts.
//!
//! **What a change is compared with.** Loading and tracking are two steps, and a save may fall between them. A path that
//! was tracked already keeps the fingerprint it had, which was taken *before* the load: a save since then differs and is
//! told (at worst a load too many, never one too few). A path that is new has no such fingerprint; therefore
//! [`Watcher::track`] is told when the load began, and a new path that was touched since counts as changed.
//!
//! **Half-written files.** A change says whether its files were touched a blink ago ([`Change::half_written`]). Who finds
//! that such a file makes no sense asks [`Watcher::retry`] and hears again a quiet moment later. A file that became much
//! shorter, or went away, is not told before it has held still for one more quiet moment, even if it would make sense.
//!
//! Nothing here reads a file for its meaning, logs, or ends because of a bad save.

mod fingerprint;
mod folders;
mod patrol;
mod settle;

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, SystemTime};

use patrol::{Message, Patrol};

/// How changes are noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// By events of the system and by looking every few seconds.
    #[default]
    Events,
    /// By looking every two seconds only.
    Poll,
}

/// Tracked paths that have other contents than were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The paths as they were given to [`Watcher::track`]. Empty when somebody asked ([`Watcher::reload`],
    /// [`Watcher::retry`]) and nothing differs.
    pub paths: BTreeSet<PathBuf>,
    /// Whether one of them was touched so lately that it may not be complete.
    pub half_written: bool,
    /// Whether this answers [`Watcher::retry`]: what makes no sense now is to be reported, not tried again.
    pub retried: bool,
    /// Whether this answers [`Watcher::reload`]: load, whatever differs.
    pub asked: bool,
}

impl Change {
    /// Makes one change of this and a later one.
    pub fn absorb(&mut self, later: Self) {
        self.paths.extend(later.paths);
        self.half_written = later.half_written;
        self.retried |= later.retried;
        self.asked |= later.asked;
    }
}

/// What a watcher tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something has other contents. Whoever loads answers with [`Watcher::track`], also when the load failed.
    Changed(Change),
    /// Events do not work, or not everywhere; a sentence for the log. Changes are still noticed, some seconds later.
    Warning(String),
}

/// Where notices arrive.
pub struct Notices {
    receiver: Receiver<Notice>,
    waiting: VecDeque<Notice>,
}

impl Notices {
    /// Waits for the next notice; changes that arrived meanwhile are folded into one. `None` when the watcher has ended.
    pub fn next_notice(&mut self) -> Option<Notice> {
        let mut next = match self.waiting.pop_front() {
            Some(notice) => notice,
            None => self.receiver.recv().ok()?,
        };
        if let Notice::Changed(change) = &mut next {
            for later in self.receiver.try_iter() {
                match later {
                    Notice::Changed(later) => change.absorb(later),
                    warning => self.waiting.push_back(warning),
                }
            }
        }
        Some(next)
    }
}

/// A handle on the watcher's thread, which ends with the last of its clones.
#[derive(Clone)]
pub struct Watcher {
    handle: Arc<Handle>,
}

struct Handle {
    sender: Sender<Message>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // When the thread has ended already there is nothing to stop.
        drop(self.sender.send(Message::Stop));
    }
}

impl Watcher {
    /// Starts to watch files and folders that were loaded by a load which began at `since`. That events do not work is
    /// no error but a [`Notice::Warning`].
    ///
    /// A folder stands for the list of names in it. Paths should be absolute; others count from the working folder.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(paths: BTreeSet<PathBuf>, since: SystemTime, mode: Mode) -> io::Result<(Self, Notices)> {
        Self::start_with(paths, since, mode, settle::PERIOD)
    }

    fn start_with(
        paths: BTreeSet<PathBuf>,
        since: SystemTime,
        mode: Mode,
        period: Duration,
    ) -> io::Result<(Self, Notices)> {
        let (sender, messages) = channel();
        let (notices, receiver) = channel();
        let own = sender.clone();
        std::thread::Builder::new().name("watch".to_owned()).spawn(move || {
            let mut patrol = Patrol::new(notices, own, mode, period);
            patrol.track(&paths, since);
            patrol.run(&messages);
        })?;
        let watcher = Self { handle: Arc::new(Handle { sender }) };
        Ok((watcher, Notices { receiver, waiting: VecDeque::new() }))
    }

    /// Tracks these paths from now on, and no others; `since` is the moment before the load that found them began.
    pub fn track(&self, paths: BTreeSet<PathBuf>, since: SystemTime) {
        self.tell(Message::Track(paths, since));
    }

    /// Looks at everything now and tells when something differs.
    pub fn sweep_now(&self) {
        self.tell(Message::Sweep);
    }

    /// Looks at everything now and tells in any case.
    pub fn reload(&self) {
        self.tell(Message::Reload);
    }

    /// What the last change brought makes no sense: tells again after one more quiet moment, whatever differs then.
    pub fn retry(&self) {
        self.tell(Message::Retry);
    }

    fn tell(&self, message: Message) {
        // The thread ends by itself only when nobody hears its notices.
        drop(self.handle.sender.send(message));
    }
}

#[cfg(test)]
mod tests;
