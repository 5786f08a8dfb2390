//! Features, scopes and levels: what a record is about, whose it is, and how grave.

/// What a record is about. Its name is the slog tag of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// One record for each request answered.
    Api,
    /// What handlers log.
    Script,
    /// Runs of schedules.
    Schedule,
    /// Load, reload, check.
    Config,
    /// Life of runspaces and workers.
    Environment,
    /// The store.
    Persistence,
    /// Start, stop, listeners, panics.
    Server,
}

/// A level or `off`; ordered from the most talkative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Everything.
    Trace,
    /// For the author of a script.
    Debug,
    /// What happens normally.
    Info,
    /// Something is not as it should be.
    Warning,
    /// A request or an action failed.
    Error,
    /// The server cannot do its work.
    Critical,
    /// Nothing at all.
    Off,
}
