//! Features, scopes and levels: what a record is about, whose it is, and how grave.
//!
//! Each is a name of the language and of the log alike. Nothing here decides who hears a record: `filter` does.

use crate::kdl::scalar::{Bad, Plain, Scalar};

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

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 7] =
        [Self::Api, Self::Script, Self::Schedule, Self::Config, Self::Environment, Self::Persistence, Self::Server];

    /// Its name in the language and the log, which is also its slog tag.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Api => "api",
            Self::Script => "script",
            Self::Schedule => "schedule",
            Self::Config => "config",
            Self::Environment => "environment",
            Self::Persistence => "persistence",
            Self::Server => "server",
        }
    }

    /// The feature of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    /// Whose records these are.
    pub const fn scope(self) -> Scope {
        match self {
            Self::Api | Self::Script | Self::Schedule => Scope::User,
            Self::Config | Self::Environment | Self::Persistence | Self::Server => Scope::System,
        }
    }

    /// Its bit in a set of features.
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Whose record it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Of the site: requests, handlers, schedules.
    User,
    /// Of the server itself.
    System,
}

impl Scope {
    /// Both scopes.
    pub const ALL: [Self; 2] = [Self::User, Self::System];

    /// Its name in the language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
        }
    }

    /// The features of this scope, as a set of bits.
    pub fn features(self) -> u8 {
        Feature::ALL.iter().filter(|feature| feature.scope() == self).fold(0, |set, feature| set | feature.bit())
    }
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

impl Level {
    /// Every level, from the most talkative, `off` last.
    pub const ALL: [Self; 7] =
        [Self::Trace, Self::Debug, Self::Info, Self::Warning, Self::Error, Self::Critical, Self::Off];

    /// Its name in the language and the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Off => "off",
        }
    }

    /// The level of this name; `warn` is accepted for `warning`.
    pub fn named(name: &str) -> Option<Self> {
        if name == "warn" {
            return Some(Self::Warning);
        }
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level of a request's record by the status it was answered with: 5xx error, 4xx warning, else info.
    pub const fn of_status(status: u16) -> Self {
        match status {
            500.. => Self::Error,
            400..=499 => Self::Warning,
            _ => Self::Info,
        }
    }
}

impl From<slog::Level> for Level {
    fn from(level: slog::Level) -> Self {
        match level {
            slog::Level::Critical => Self::Critical,
            slog::Level::Error => Self::Error,
            slog::Level::Warning => Self::Warning,
            slog::Level::Info => Self::Info,
            slog::Level::Debug => Self::Debug,
            slog::Level::Trace => Self::Trace,
        }
    }
}

impl Scalar for Feature {
    fn read(value: &Plain) -> Result<Self, Bad> {
        one_of(value, "feature", Self::named, || Self::ALL.iter().map(|it| it.name()).collect())
    }
}

impl Scalar for Scope {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let named = |name: &str| Self::ALL.into_iter().find(|scope| scope.name() == name);
        one_of(value, "scope", named, || Self::ALL.iter().map(|it| it.name()).collect())
    }
}

impl Scalar for Level {
    fn read(value: &Plain) -> Result<Self, Bad> {
        one_of(value, "level", Self::named, || Self::ALL.iter().map(|it| it.name()).collect())
    }
}

/// Reads a word of a closed list; the message of a mistake names the whole list.
pub(super) fn one_of<T>(
    value: &Plain,
    what: &str,
    named: impl Fn(&str) -> Option<T>,
    names: impl Fn() -> Vec<&'static str>,
) -> Result<T, Bad> {
    let message = match value {
        Plain::Text(text) => match named(text) {
            Some(found) => return Ok(found),
            None => format!("`{text}` is no {what}"),
        },
        _ => format!("a {what} is a word"),
    };
    let help = format!("write one of: {}", names().join(", "));
    Err(Bad { message, label: format!("not a {what}"), help: Some(help), part: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Plain {
        Plain::Text(text.to_owned())
    }

    #[test]
    fn every_name_reads_back() {
        for level in Level::ALL {
            assert_eq!(Level::read(&text(level.name())), Ok(level));
        }
        for feature in Feature::ALL {
            assert_eq!(Feature::read(&text(feature.name())), Ok(feature));
        }
        for scope in Scope::ALL {
            assert_eq!(Scope::read(&text(scope.name())), Ok(scope));
        }
        assert_eq!(Level::read(&text("warn")), Ok(Level::Warning));
    }

    #[test]
    fn a_wrong_word_is_told_with_the_list() {
        let bad = Level::read(&text("loud")).unwrap_err();
        assert_eq!(bad.message, "`loud` is no level");
        assert_eq!(bad.help.as_deref(), Some("write one of: trace, debug, info, warning, error, critical, off"));
        assert_eq!(Feature::read(&Plain::Integer(3)).unwrap_err().message, "a feature is a word");
    }

    #[test]
    fn the_scopes_share_out_all_features() {
        assert_eq!(Scope::User.features() & Scope::System.features(), 0);
        assert_eq!((Scope::User.features() | Scope::System.features()).count_ones(), 7);
    }

    #[test]
    fn the_level_of_a_status() {
        let levels = [200, 304, 404, 499, 500, 504].map(Level::of_status);
        use Level::{Error, Info, Warning};
        assert_eq!(levels, [Info, Info, Warning, Warning, Error, Error]);
    }
}
