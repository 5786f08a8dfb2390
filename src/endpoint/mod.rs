//! What is answered: methods, path, handler and options of an endpoint, and the table that finds it.

pub mod option;
pub mod pattern;
pub mod route_table;
pub mod settings;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::diag::Span;
use crate::endpoint::option::concurrency::ConcurrencyLimit;
use crate::endpoint::option::param::Param;
use crate::endpoint::pattern::Pattern;
use crate::logging::feature::Level;
use crate::script::Script;

/// A validated endpoint: settings of its groups, its environment and the server are merged in already.
#[derive(Debug)]
pub struct Endpoint {
    /// What it answers, in capitals; `ANY` stands for every method.
    pub methods: Vec<Arc<str>>,
    /// The path.
    pub pattern: Pattern,
    /// What runs.
    pub action: Action,
    /// Wall clock of the handler.
    pub timeout: Duration,
    /// Bytes of the body, after Content-Encoding.
    pub max_body: u64,
    /// How many of it may run at once.
    pub concurrency: Option<ConcurrencyLimit>,
    /// The least level its `api` and `script` records need; `off` writes none.
    pub log: Level,
    /// Declared parameters.
    pub params: Vec<Param>,
    /// Headers added to its answers unless the handler set them.
    pub headers: Vec<(String, String)>,
    /// One line of documentation.
    pub summary: Option<String>,
    /// Where it is declared: the file as shown and the line.
    pub place: Place,
}

/// A place in the site, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as messages show it.
    pub file: Arc<str>,
    /// The 1-based line.
    pub line: u32,
    /// The exact place.
    pub span: Span,
}

/// What an endpoint does.
#[derive(Debug, PartialEq)]
pub enum Action {
    /// Runs a handler in an environment.
    Script {
        /// The handler.
        script: Arc<Script>,
        /// The name of the environment.
        environment: Arc<str>,
        /// Whether the script stands in the site file (for `routes`).
        inline: bool,
    },
    /// Answers always the same.
    Respond {
        /// The status.
        status: u16,
        /// The content type; `None` when there is no body.
        content_type: Option<String>,
        /// The body.
        body: Bytes,
    },
    /// Sends the client elsewhere.
    Redirect {
        /// The target.
        location: String,
        /// The status, 301 302 303 307 308.
        status: u16,
    },
}
