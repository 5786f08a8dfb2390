//! What scripts can call: one file for each module, one line in [`MODULES`].

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mlua::{Lua, Value};

use crate::environment::settings::Environment;

pub mod all;
pub mod arguments;
pub mod base64;
pub mod cache;
pub mod crypto;
pub mod error;
pub mod hex;
pub mod json;
pub mod later;
pub mod log;
pub mod password;
pub mod re;
pub mod require;
pub mod respond;
pub mod secrets;
pub mod server;
pub mod sleep;
#[cfg(test)]
pub mod testing;
pub mod time;
pub mod url;
pub mod uuid;
pub mod value;
pub mod vars;

/// What host functions of a runspace may reach beyond the request; made once for each pool.
pub struct Host {
    /// The environment: variables and secrets that its scripts see.
    pub environment: Arc<Environment>,
    /// What all runspaces of the process share.
    pub process: Arc<ProcessHost>,
}

/// What host functions share in the whole process.
#[derive(Default)]
pub struct ProcessHost {
    /// The number of the generation that is live.
    pub generation: AtomicU64,
    /// The name of this node.
    pub node: String,
    /// What scripts keep in memory.
    pub cache: cache::Cache,
    /// What computes password hashes.
    pub passwords: password::Passwords,
    /// The regular expressions used last.
    pub patterns: re::pattern::Patterns,
    /// What `time.mono` counts from.
    pub beginning: time::Beginning,
}

/// Something scripts can call, by its global name: a table of functions, or one function.
pub struct Module {
    /// The global's name.
    pub name: &'static str,
    /// Makes its value in a runspace; called once for each runspace, before its base is frozen.
    pub install: fn(&Lua, &Arc<Host>) -> mlua::Result<Value>,
}

/// Every module, in the order of the reference.
pub const MODULES: &[Module] = &[
    log::MODULE,
    log::PRINT,
    base64::MODULE,
    hex::MODULE,
    json::MODULE,
    respond::RESPOND,
    respond::REDIRECT,
    respond::HTML,
    respond::ABORT,
    url::MODULE,
    uuid::MODULE,
    cache::MODULE,
    re::MODULE,
    crypto::MODULE,
    time::MODULE,
    vars::MODULE,
    secrets::MODULE,
    sleep::MODULE,
    server::MODULE,
    all::MODULE,
    require::MODULE,
    require::PACKAGE,
    later::KV,
    later::DB,
    later::HTTP,
    later::TEMPLATE,
    later::FILE,
    later::DEFER,
];
