//! When to look, and whether what was seen is to be told yet: the rules of waiting, with time as an input.

use std::time::{Duration, Instant};

/// How long no event must have come before a look.
pub(super) const QUIET: Duration = Duration::from_millis(70);
/// A look is taken after this at the latest, however many events come.
pub(super) const LONGEST: Duration = Duration::from_millis(500);
/// How long a file that looks incomplete may keep changing before it is told all the same.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How often everything is looked at without any event.
pub(super) const PERIOD: Duration = Duration::from_secs(2);
/// The same when events work and nothing has happened for [`IDLE_AFTER`].
pub(super) const IDLE_PERIOD: Duration = Duration::from_secs(5);
/// When nothing happened for this long it counts as idle.
pub(super) const IDLE_AFTER: Duration = Duration::from_secs(60);

/// What to do after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing to tell.
    Calm,
    /// Look again after one more quiet moment.
    Wait,
    /// Tell it.
    Tell,
}

/// What a look found, as far as waiting is concerned.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    /// Something differs from what was loaded.
    pub(super) changed: bool,
    /// Something that differs became much shorter, or is gone.
    pub(super) shrunk: bool,
    /// Something that differs is not as the look before saw it.
    pub(super) moving: bool,
}

/// The machine.
#[derive(Debug, Default)]
pub(super) struct Settle {
    /// The first and the last hint since the last look.
    hints: Option<(Instant, Instant)>,
    /// Since when telling is put off.
    held: Option<Instant>,
    /// Somebody wants to hear in any case.
    wanted: bool,
}

impl Settle {
    /// An event came, or a look found a difference.
    pub(super) fn hint(&mut self, now: Instant) {
        let first = self.hints.map_or(now, |(first, _)| first);
        self.hints = Some((first, now));
    }

    /// Somebody wants to hear again after one more quiet moment.
    pub(super) fn retry(&mut self, now: Instant) {
        self.wanted = true;
        self.held = Some(now);
        self.hint(now);
    }

    /// When to look; `None` when there is no reason.
    pub(super) fn due(&self) -> Option<Instant> {
        self.hints.map(|(first, last)| (last + QUIET).min(first + LONGEST))
    }

    /// A look was taken: what to do. Forgets the hints so far.
    pub(super) fn looked(&mut self, look: Look, now: Instant) -> Verdict {
        self.hints = None;
        if !look.changed && !self.wanted {
            self.held = None;
            return Verdict::Calm;
        }
        if self.puts_off(look, now) {
            self.held.get_or_insert(now);
            self.hint(now);
            return Verdict::Wait;
        }
        self.held = None;
        self.wanted = false;
        Verdict::Tell
    }

    fn puts_off(&self, look: Look, now: Instant) -> bool {
        match self.held {
            None => look.shrunk,
            Some(since) => look.moving && now.duration_since(since) < PATIENCE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments as milliseconds from one start.
    fn at(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    const CHANGED: Look = Look { changed: true, shrunk: false, moving: true };
    const SHRUNK: Look = Look { changed: true, shrunk: true, moving: true };
    const NOTHING: Look = Look { changed: false, shrunk: false, moving: false };

    #[test]
    fn a_look_is_due_when_it_has_been_quiet() {
        let (start, mut settle) = (Instant::now(), Settle::default());
        assert_eq!(settle.due(), None);
        settle.hint(at(start, 0));
        settle.hint(at(start, 40));
        assert_eq!(settle.due(), Some(at(start, 110)));
        assert_eq!(settle.looked(CHANGED, at(start, 110)), Verdict::Tell);
        assert_eq!(settle.due(), None);
    }

    #[test]
    fn saves_without_pause_are_told_twice_a_second() {
        let (start, mut settle, mut told) = (Instant::now(), Settle::default(), Vec::new());
        for save in 0..100 {
            let now = at(start, save * 10);
            if settle.due().is_some_and(|due| due <= now) && settle.looked(CHANGED, now) == Verdict::Tell {
                told.push(save * 10);
            }
            settle.hint(now);
        }
        assert_eq!(told, [500]);
        assert_eq!(settle.due(), Some(at(start, 1000)));
    }

    #[test]
    fn a_shorter_file_is_told_when_it_holds_still() {
        let (start, mut settle) = (Instant::now(), Settle::default());
        settle.hint(start);
        assert_eq!(settle.looked(SHRUNK, at(start, 70)), Verdict::Wait);
        assert_eq!(settle.due(), Some(at(start, 140)));
        assert_eq!(settle.looked(Look { moving: false, ..SHRUNK }, at(start, 140)), Verdict::Tell);
        assert_eq!(settle.due(), None);
    }

    #[test]
    fn a_shorter_file_that_grows_back_is_nothing() {
        let (start, mut settle) = (Instant::now(), Settle::default());
        assert_eq!(settle.looked(SHRUNK, at(start, 70)), Verdict::Wait);
        assert_eq!(settle.looked(NOTHING, at(start, 140)), Verdict::Calm);
        assert_eq!(settle.looked(SHRUNK, at(start, 300)), Verdict::Wait, "the next one is put off anew");
    }

    #[test]
    fn patience_has_an_end() {
        let (start, mut settle) = (Instant::now(), Settle::default());
        assert_eq!(settle.looked(SHRUNK, start), Verdict::Wait);
        assert_eq!(settle.looked(SHRUNK, at(start, 1999)), Verdict::Wait);
        assert_eq!(settle.looked(SHRUNK, at(start, 2000)), Verdict::Tell);
    }

    #[test]
    fn a_retry_is_answered_even_when_nothing_differs() {
        let (start, mut settle) = (Instant::now(), Settle::default());
        settle.retry(start);
        assert_eq!(settle.due(), Some(at(start, 70)));
        assert_eq!(settle.looked(NOTHING, at(start, 70)), Verdict::Tell);
        assert_eq!(settle.looked(NOTHING, at(start, 80)), Verdict::Calm);
    }

    #[test]
    fn a_retry_waits_while_the_file_moves() {
        let (start, mut settle) = (Instant::now(), Settle::default());
        settle.retry(start);
        assert_eq!(settle.looked(CHANGED, at(start, 70)), Verdict::Wait);
        assert_eq!(settle.looked(Look { moving: false, ..CHANGED }, at(start, 140)), Verdict::Tell);
    }
}
