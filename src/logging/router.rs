//! The router: a slog drain that hands a record to the targets whose filter takes it.

use super::feature::{Feature, Level};
use super::settings::LoggingSettings;

/// The live targets of one generation. Targets that did not change are shared with the generation before.
pub struct Router {}

/// One request answered, as the `api` feature tells it. Borrowed: nothing is formatted unless a target takes it.
pub struct ApiRecord<'a> {
    /// The method.
    pub method: &'a str,
    /// The path as sent.
    pub path: &'a str,
    /// The endpoint's pattern; empty when none matched.
    pub route: &'a str,
    /// The status sent.
    pub status: u16,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// From the head's arrival to the answer's hand-over.
    pub duration: std::time::Duration,
    /// How long it waited for a runspace.
    pub waited: std::time::Duration,
    /// The client.
    pub remote: std::net::IpAddr,
    /// The request id.
    pub id: &'a str,
}

#[allow(unused_variables, clippy::todo)]
impl Router {
    /// Opens the targets, taking over from `previous` what did not change. `secrets` are values never to be written.
    ///
    /// # Errors
    /// A target that cannot be opened.
    pub fn build(settings: &LoggingSettings, previous: Option<&Router>, secrets: Vec<String>) -> std::io::Result<Self> {
        todo!()
    }
    /// The logger that everything is passed.
    pub fn logger(&self) -> slog::Logger {
        todo!()
    }
    /// Whether any target takes such a record of this endpoint (empty for none): a comparison.
    pub fn takes(&self, feature: Feature, level: Level, endpoint: &str) -> bool {
        todo!()
    }
    /// Writes the record of a request answered.
    pub fn api(&self, record: &ApiRecord<'_>) {
        todo!()
    }
    /// Records dropped because a queue was full.
    pub fn dropped(&self) -> u64 {
        todo!()
    }
    /// Waits until everything logged so far is written, `within` at most; returns whether it was.
    pub fn flush(&self, within: std::time::Duration) -> bool {
        todo!()
    }
}
