//! Requests that an environment refuses, told in the log at most once a second with their number.

use std::time::Duration;

use parking_lot::Mutex;

use super::run_error::RunError;

/// How often it is told at most.
pub(super) const PAUSE: Duration = Duration::from_secs(1);

/// Refused requests that were not told yet.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    untold: Untold,
    /// Whether somebody looks again after the pause.
    watched: bool,
}

/// How many requests were refused, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Untold {
    /// Too many waited already.
    pub(super) queue_full: u64,
    /// They waited for too long.
    pub(super) waited_too_long: u64,
}

impl Refusals {
    /// Notes a refused request. Gives what to tell now; the caller then calls [`again`](Self::again) after each
    /// [`PAUSE`] until that gives nothing.
    pub(super) fn note(&self, error: &RunError) -> Option<Untold> {
        let mut state = self.0.lock();
        match error {
            RunError::NoRunspace { .. } => state.untold.waited_too_long += 1,
            _ => state.untold.queue_full += 1,
        }
        let quiet = !std::mem::replace(&mut state.watched, true);
        quiet.then(|| std::mem::take(&mut state.untold))
    }

    /// What was refused during the pause; when nothing was, nobody needs to look again.
    pub(super) fn again(&self) -> Option<Untold> {
        let mut state = self.0.lock();
        let untold = std::mem::take(&mut state.untold);
        state.watched = untold != Untold::default();
        state.watched.then_some(untold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_told_at_once_and_the_rest_after_a_pause() {
        let refusals = Refusals::default();
        let (full, late) = (RunError::QueueFull, RunError::NoRunspace { waited: PAUSE });
        let told = |queue_full, waited_too_long| Some(Untold { queue_full, waited_too_long });
        assert_eq!(refusals.note(&full), told(1, 0));
        for error in [&full, &late, &full] {
            assert_eq!(refusals.note(error), None);
        }
        assert_eq!(refusals.again(), told(2, 1));
        assert_eq!(refusals.note(&late), None);
        assert_eq!(refusals.again(), told(0, 1));
        assert_eq!(refusals.again(), None);
        assert_eq!(refusals.note(&late), told(0, 1));
    }
}
