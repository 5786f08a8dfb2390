//! The logger of one run of a handler: it names the endpoint and the request, and keeps the endpoint's floor.

use std::sync::Arc;

use slog::{Logger, o};

use crate::exchange::RequestId;
use crate::logging::feature::Level;

/// Where a handler's records go.
#[derive(Clone)]
pub struct ScriptLog {
    /// Takes the records of all scripts.
    pub log: Logger,
    /// What is below it is left out.
    pub floor: Level,
}

impl ScriptLog {
    /// Whether any target may take a record of this level.
    pub fn takes(&self, level: slog::Level) -> bool {
        level_of(level) >= self.floor && slog::Drain::is_enabled(&self.log, level)
    }

    /// The logger for an endpoint that answers a request. Most requests log nothing, so it is made only when needed.
    pub fn logger(&self, endpoint: &Arc<str>, request: &RequestId) -> Logger {
        let values = o!("endpoint" => Shared(endpoint.clone()), "request" => Shared(request.0.clone()));
        match self.floor {
            Level::Trace => self.log.new(values),
            floor => Logger::root(slog::Fuse(Floor { log: self.log.clone(), floor }), values),
        }
    }
}

/// What belongs to no request.
impl From<Logger> for ScriptLog {
    fn from(log: Logger) -> Self {
        Self { log, floor: Level::Trace }
    }
}

/// Passes on records from a level upward.
struct Floor {
    log: Logger,
    floor: Level,
}

impl slog::Drain for Floor {
    type Ok = ();
    type Err = slog::Never;

    fn log(&self, record: &slog::Record<'_>, values: &slog::OwnedKVList) -> Result<(), slog::Never> {
        if level_of(record.level()) >= self.floor {
            slog::Drain::log(&self.log, record, values)?;
        }
        Ok(())
    }
}

fn level_of(level: slog::Level) -> Level {
    match level {
        slog::Level::Critical => Level::Critical,
        slog::Level::Error => Level::Error,
        slog::Level::Warning => Level::Warning,
        slog::Level::Info => Level::Info,
        slog::Level::Debug => Level::Debug,
        slog::Level::Trace => Level::Trace,
    }
}

/// Text that is shared rather than copied into each logger.
struct Shared(Arc<str>);

impl slog::Value for Shared {
    fn serialize(&self, _: &slog::Record<'_>, key: slog::Key, serializer: &mut dyn slog::Serializer) -> slog::Result {
        serializer.emit_str(key, &self.0)
    }
}
