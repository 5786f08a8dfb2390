//! What a site file says about an environment: settings as decoded, and the validated [`Environment`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::exchange::Typed;
use crate::script::Script;

/// The limits and habits of an environment.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentSettings {
    /// Whether globals stay in a runspace between requests; default no.
    pub persistent: bool,
    /// How many runspaces may be busy at once in the whole process; default 25.
    pub max_runspaces: usize,
    /// How many are built before a generation goes live; default 1.
    pub min_runspaces: usize,
    /// How many requests may wait for a runspace; default 1024.
    pub queue: usize,
    /// How long a request waits for a runspace; default 2 s.
    pub wait: Duration,
    /// Live memory of one runspace in bytes; default 64 MiB.
    pub memory: usize,
    /// Replace a runspace after so many requests; 0 is never.
    pub recycle_requests: u64,
    /// Replace a runspace that is so old; zero is never.
    pub recycle_age: Duration,
}

impl Default for EnvironmentSettings {
    fn default() -> Self {
        Self {
            persistent: false,
            max_runspaces: 25,
            min_runspaces: 1,
            queue: 1024,
            wait: Duration::from_secs(2),
            memory: 64 << 20,
            recycle_requests: 0,
            recycle_age: Duration::ZERO,
        }
    }
}

/// How long a startup script may run.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// A validated environment: all that its runspaces are made of. Equal environments share their warm runspaces.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Its name.
    pub name: Arc<str>,
    /// Limits and habits.
    pub settings: EnvironmentSettings,
    /// The variables it sees, by their Lua name; `None` for an optional one that is absent.
    pub variables: BTreeMap<String, Option<Typed>>,
    /// The secrets it sees, by their Lua name; `None` for an optional one that is absent.
    pub secrets: BTreeMap<String, Option<String>>,
    /// What `require` finds, by module name (dots as written in Lua).
    pub modules: BTreeMap<String, Arc<Script>>,
    /// The folders searched for modules, for the message when there is none of that name.
    pub module_folders: Vec<PathBuf>,
    /// Run once for each runspace.
    pub startup: Option<Arc<Script>>,
}

/// What names of modules are made of, for messages.
pub const MODULE_NAMES: &str = "a module name holds letters, digits, `_`, `-` and dots between folders";

/// Whether a module can have this name.
pub fn is_module_name(name: &str) -> bool {
    let is_letter = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    name.split('.').all(|part| !part.is_empty() && part.chars().all(is_letter))
}

impl Environment {
    /// An environment of this name that sees nothing and has no modules.
    pub fn named(name: &str, settings: EnvironmentSettings) -> Self {
        Self {
            name: name.into(),
            settings,
            variables: BTreeMap::new(),
            secrets: BTreeMap::new(),
            modules: BTreeMap::new(),
            module_folders: Vec::new(),
            startup: None,
        }
    }

    /// How long its startup script may run.
    pub fn startup_timeout(&self) -> Duration {
        STARTUP_TIMEOUT
    }
}
