//! A site: loads the files, decodes them, resolves names across nodes. The only place that reads the user's files.

pub mod load;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::endpoint::{Endpoint, Place};
use crate::environment::settings::Environment;
use crate::logging::settings::LoggingSettings;

/// A validated, immutable site. Holds no KDL node, no Lua value, no handle.
pub struct Site {
    /// The title, if it has one.
    pub title: Option<String>,
    /// The version, if it says one.
    pub version: Option<String>,
    /// The folder of `site.kdl`, absolute.
    pub folder: PathBuf,
    /// Where and how it listens.
    pub server: ServerSettings,
    /// Every environment, by name.
    pub environments: Vec<Arc<Environment>>,
    /// Every endpoint.
    pub endpoints: Vec<Arc<Endpoint>>,
    /// Every static folder.
    pub statics: Vec<Arc<StaticFolder>>,
    /// Who hears what.
    pub logging: LoggingSettings,
    /// The values of all secrets, never to be written anywhere.
    pub secret_values: Vec<String>,
}

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// An address and port; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A unix socket's path, absolute.
    Unix(PathBuf),
}

/// The `server` block with its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    /// Listeners with their places; default `127.0.0.1:8080`.
    pub binds: Vec<(Bind, Option<Place>)>,
    /// Worker threads; default the cores.
    pub workers: usize,
    /// The whole head must have arrived by then; default 10 s.
    pub header_timeout: Duration,
    /// The whole body must have arrived by then; 408; default 30 s.
    pub body_timeout: Duration,
    /// Idle connections are closed after; default 30 s.
    pub keep_alive: Duration,
    /// Connections at once in the whole process; `None`: as many as the descriptor limit allows, 25000 at most.
    pub max_connections: Option<usize>,
    /// Whose `X-Forwarded-For` and `Forwarded` are believed.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// Whether answers above 1 KiB are compressed by Accept-Encoding; default yes.
    pub compress: bool,
    /// How long requests under way may finish at the end; default 10 s.
    pub shutdown_grace: Duration,
    /// Headers of every answer unless set otherwise.
    pub headers: Vec<(String, String)>,
    /// The default limit of a body in bytes (for paths without an endpoint); default 1 MiB.
    pub max_body: u64,
}

/// A `static` node.
#[derive(Clone, Debug)]
pub struct StaticFolder {
    /// The path prefix without a trailing slash; empty for `/`.
    pub prefix: String,
    /// The folder, canonical.
    pub folder: PathBuf,
    /// The file that answers for a folder.
    pub index: Option<String>,
    /// Headers of its answers.
    pub headers: Vec<(String, String)>,
    /// Where it is declared.
    pub place: Place,
}
