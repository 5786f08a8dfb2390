//! A site: loads the files, decodes them, resolves names across nodes. The only place that reads the user's files.

mod allowed;
mod config;
mod files;
pub mod load;
mod outlines;
mod outside;
mod read;
mod requires;
mod resolve;
mod scripts;
mod secrets;
pub mod server;
pub mod statics;

use std::path::PathBuf;
use std::sync::Arc;

use crate::endpoint::{Endpoint, Place};
use crate::environment::settings::Environment;
use crate::logging::settings::LoggingSettings;
use crate::site::server::ServerSettings;
use crate::site::statics::StaticFolder;

/// A validated, immutable site. Holds no KDL node, no Lua value, no handle.
pub struct Site {
    /// The title, if it has one.
    pub title: Option<String>,
    /// The version, if it says one.
    pub version: Option<String>,
    /// The folder of `site.kdl`, absolute.
    pub folder: PathBuf,
    /// The name and text of every file of the site language that it was read from.
    pub texts: Vec<(Arc<str>, Arc<str>)>,
    /// Where and how it listens.
    pub server: ServerSettings,
    /// Where the settings of the server stand that it says, in the order of the file.
    pub server_places: Vec<(&'static str, Place)>,
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
