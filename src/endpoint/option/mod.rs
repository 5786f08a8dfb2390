//! The options of an endpoint, one file each, and [`Options`]: those that a group hands down to its endpoints.

pub mod concurrency;
pub mod headers;
pub mod param;

use crate::kdl::reader::Reader;
use crate::kdl::scalar::{At, Duration, Size};
use crate::logging::feature::Level;

use self::concurrency::ConcurrencyLimit;

/// Options that stand on an endpoint or on a group around it; the nearest wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The environment that runs the handler.
    pub environment: Option<At<String>>,
    /// It is given but could not be read, which was told: then none is no mistake.
    pub environment_unread: bool,
    /// Wall clock of the handler.
    pub timeout: Option<At<Duration>>,
    /// Bytes of the body.
    pub max_body: Option<At<Size>>,
    /// How many may run at once; each endpoint of a group has its own count.
    pub concurrency: Option<ConcurrencyLimit>,
    /// The least level of its records.
    pub log: Option<At<Level>>,
    /// Headers of its answers.
    pub headers: Vec<(String, String)>,
}

impl Options {
    /// Reads the options of an `endpoint` or `group` node.
    pub fn decode(reader: &Reader<'_>) -> Self {
        let environment: Option<At<String>> = reader.get("environment");
        Self {
            environment_unread: environment.is_none() && reader.child("environment").is_some(),
            environment,
            timeout: reader.get("timeout"),
            max_body: reader.get("max-body"),
            concurrency: ConcurrencyLimit::decode(reader),
            log: reader.get("log"),
            headers: headers::decode(reader),
        }
    }

    /// Fills what is not set here from the group around it.
    #[must_use]
    pub fn within(mut self, group: &Self) -> Self {
        self.environment_unread |= self.environment.is_none() && group.environment_unread;
        self.environment = self.environment.or_else(|| group.environment.clone());
        self.timeout = self.timeout.or_else(|| group.timeout.clone());
        self.max_body = self.max_body.or_else(|| group.max_body.clone());
        self.concurrency = self.concurrency.or(group.concurrency);
        self.log = self.log.or_else(|| group.log.clone());
        headers::inherit(&mut self.headers, &group.headers);
        self
    }
}
