//! What a reload changed, in words: compares two sites by what they answer, not by how they are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::endpoint::{Action, Endpoint};
use crate::site::Site;
use crate::site::statics::StaticFolder;

/// What was added, changed and removed between two sites; empty when they answer alike.
pub fn describe(old: &Site, new: &Site) -> String {
    let mut words = Vec::new();
    let same = |one: &&Arc<Endpoint>, other: &&Arc<Endpoint>| same_endpoint(one, other);
    compare("endpoint", &endpoints(old), &endpoints(new), same, &mut words);
    compare("environment", &environments(old), &environments(new), |one, other| one == other, &mut words);
    compare("static folder", &statics(old), &statics(new), |one, other| one == other, &mut words);
    if old.logging != new.logging {
        words.push("logging changed".to_owned());
    }
    if old.server != new.server {
        words.push("server settings changed".to_owned());
    }
    words.join(", ")
}

/// Settings that a running server keeps until it is started again.
pub fn needs_restart(started: &Site, new: &Site) -> Vec<&'static str> {
    let (before, after) = (&started.server, &new.server);
    let fixed = [
        ("bind", before.addresses() != after.addresses()),
        ("workers", before.workers != after.workers),
        ("max-connections", before.max_connections != after.max_connections),
        ("header-timeout", before.header_timeout != after.header_timeout),
        ("keep-alive", before.keep_alive != after.keep_alive),
        ("shutdown-grace", before.shutdown_grace != after.shutdown_grace),
    ];
    fixed.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
}

fn endpoints(site: &Site) -> BTreeMap<String, &Arc<Endpoint>> {
    let name = |endpoint: &Endpoint| format!("{} {}", endpoint.methods.join(" "), endpoint.pattern.text);
    site.endpoints.iter().map(|endpoint| (name(endpoint), endpoint)).collect()
}

fn environments(site: &Site) -> BTreeMap<String, &crate::environment::settings::Environment> {
    site.environments.iter().map(|one| (one.name.to_string(), &**one)).collect()
}

fn statics(site: &Site) -> BTreeMap<String, &StaticFolder> {
    site.statics.iter().map(|one| (one.prefix.clone(), &**one)).collect()
}

fn same_endpoint(one: &Endpoint, other: &Endpoint) -> bool {
    let options = |endpoint: &Endpoint| (endpoint.timeout, endpoint.max_body, endpoint.concurrency, endpoint.log);
    options(one) == options(other)
        && one.params == other.params
        && one.headers == other.headers
        && same_action(&one.action, &other.action)
}

/// A handler that only moved to other lines is the same.
fn same_action(one: &Action, other: &Action) -> bool {
    match (one, other) {
        (
            Action::Script { script, environment, .. },
            Action::Script { script: other_script, environment: other_environment, .. },
        ) => {
            environment == other_environment && script.origin == other_script.origin && script.text == other_script.text
        }
        (one, other) => one == other,
    }
}

fn compare<T>(
    kind: &str,
    old: &BTreeMap<String, T>,
    new: &BTreeMap<String, T>,
    same: impl Fn(&T, &T) -> bool,
    words: &mut Vec<String>,
) {
    let added = new.keys().filter(|name| !old.contains_key(*name)).count();
    let removed = old.keys().filter(|name| !new.contains_key(*name)).count();
    let changed = new.iter().filter(|(name, now)| old.get(*name).is_some_and(|before| !same(before, now))).count();
    for (count, verb) in [(added, "added"), (changed, "changed"), (removed, "removed")] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            words.push(format!("{count} {kind}{plural} {verb}"));
        }
    }
}
