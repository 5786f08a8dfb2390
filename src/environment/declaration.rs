//! An `environment` node as decoded, with its places, before names and files are resolved.

use crate::environment::settings::EnvironmentSettings;
use crate::kdl::reader::Reader;
use crate::kdl::scalar::{At, Duration, Size};

/// An `environment` node.
#[derive(Clone, Debug, PartialEq)]
pub struct EnvironmentDeclaration {
    /// Its name.
    pub name: At<String>,
    /// Limits and habits.
    pub settings: EnvironmentSettings,
    /// Where `max-runspaces` stands, for messages about it.
    pub max_runspaces: Option<At<usize>>,
    /// Where `min-runspaces` stands.
    pub min_runspaces: Option<At<usize>>,
    /// Wall clock of its handlers, unless the endpoint says otherwise.
    pub timeout: Option<At<Duration>>,
    /// Names or globs of variables; `None` is all of them.
    pub variables: Option<Vec<At<String>>>,
    /// Names or globs of secrets.
    pub secrets: Vec<At<String>>,
    /// Folders that `require` searches; empty is the folder of the site.
    pub modules: Vec<At<String>>,
    /// The startup script.
    pub startup: Option<At<String>>,
    /// Whether all of the node was understood, so that what is absent has its default.
    pub complete: bool,
}

impl EnvironmentDeclaration {
    /// Reads an `environment` node; `None` when it has no name (which was reported).
    pub fn decode(reader: &Reader<'_>) -> Option<Self> {
        let max_runspaces = reader.get("max-runspaces");
        let min_runspaces = reader.get("min-runspaces");
        let unread = max_runspaces.is_none() && reader.child("max-runspaces").is_some();
        Some(Self {
            name: reader.arg(0)?,
            settings: decode_settings(reader, max_runspaces.as_ref(), min_runspaces.as_ref()),
            max_runspaces,
            min_runspaces,
            timeout: reader.get("timeout"),
            variables: Some(reader.list("variables")).filter(|names| !names.is_empty()),
            secrets: reader.list("secrets"),
            modules: reader.list("modules"),
            startup: reader.get("startup"),
            complete: reader.is_complete() && !unread,
        })
    }
}

fn decode_settings(
    reader: &Reader<'_>,
    max_runspaces: Option<&At<usize>>,
    min_runspaces: Option<&At<usize>>,
) -> EnvironmentSettings {
    let default = EnvironmentSettings::default();
    let wait = reader.child("queue").and_then(|node| node.get::<Duration>("wait"));
    let recycle = reader.child("recycle");
    let requests = recycle.as_ref().and_then(|node| node.get::<u64>("requests"));
    let age = recycle.and_then(|node| node.get::<Duration>("age"));
    let max = max_runspaces.map_or(default.max_runspaces, |at| at.it);
    EnvironmentSettings {
        persistent: reader.switch("persistent-runspaces").map_or(default.persistent, |at| at.it),
        max_runspaces: max,
        min_runspaces: min_runspaces.map_or(default.min_runspaces.min(max), |at| at.it),
        queue: reader.get("queue").map_or(default.queue, |at| at.it),
        wait: wait.map_or(default.wait, |at| at.it.0),
        memory: reader.get::<Size>("memory").map_or(default.memory, |at| at.it.0 as usize),
        recycle_requests: requests.map_or(default.recycle_requests, |at| at.it),
        recycle_age: age.map_or(default.recycle_age, |at| at.it.0),
    }
}
