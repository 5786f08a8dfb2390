//! What a reload changed, in words: compares two sites by what they answer, not by how they are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::endpoint::{Action, Endpoint, Place};
use crate::script::ScriptId;
use crate::site::Site;
use crate::site::server::FIXED;
use crate::site::statics::StaticFolder;

/// So many names of one kind are told; the others are counted.
const NAMES: usize = 5;

/// Whether two sites were read from the same: nothing of one could be told from the other.
pub fn is_same(old: &Site, new: &Site) -> bool {
    let alike = |(one, other): (&Arc<Endpoint>, &Arc<Endpoint>)| {
        one.place == other.place && one.summary == other.summary && script(one) == script(other)
    };
    old.texts == new.texts
        && (&old.title, &old.version) == (&new.title, &new.version)
        && old.server == new.server
        && old.secret_values == new.secret_values
        && old.endpoints.len() == new.endpoints.len()
        && old.endpoints.iter().zip(&new.endpoints).all(alike)
        && describe(old, new).is_empty()
}

fn script(endpoint: &Endpoint) -> Option<ScriptId> {
    match &endpoint.action {
        Action::Script { script, .. } => Some(script.id),
        _ => None,
    }
}

/// What was added, changed and removed between two sites, by name; empty when they answer alike.
pub fn describe(old: &Site, new: &Site) -> String {
    let mut words = Vec::new();
    let same = |one: &&Arc<Endpoint>, other: &&Arc<Endpoint>| same_endpoint(one, other);
    compare("endpoint", &endpoints(old), &endpoints(new), same, &mut words);
    compare("environment", &environments(old), &environments(new), |one, other| one == other, &mut words);
    compare("static folder", &statics(old), &statics(new), |one, other| one == other, &mut words);
    if old.logging != new.logging {
        words.push("logging changed".to_owned());
    }
    let settings = new.server.differing(&old.server);
    if !settings.is_empty() {
        words.push(format!("server settings changed: {}", settings.join(", ")));
    }
    words.join("; ")
}

/// Settings that a running server keeps until it is started again, each with its place: those that are not what the
/// server was started with, and that `new` changes.
pub fn needs_restart(started: &Site, old: &Site, new: &Site) -> Vec<String> {
    let (kept, changed) = (new.server.differing(&started.server), new.server.differing(&old.server));
    let told = FIXED.iter().filter(|name| kept.contains(*name) && changed.contains(*name));
    told.map(|name| match place_of(name, started, new) {
        Some(place) => format!("{name} ({}:{})", place.file, place.line),
        None => format!("{name} (no longer given)"),
    })
    .collect()
}

/// Where a setting stands; of several addresses the first that is not listened on.
fn place_of<'s>(name: &str, started: &Site, new: &'s Site) -> Option<&'s Place> {
    let mut places = new.server_places.iter().filter(|(known, _)| *known == name).map(|(_, place)| place);
    let listened = started.server.addresses();
    let first_new = new.server.binds.iter().position(|bind| !listened.contains(&bind.it));
    places.nth(if name == "bind" { first_new.unwrap_or(0) } else { 0 })
}

fn endpoints(site: &Site) -> BTreeMap<String, &Arc<Endpoint>> {
    let name = |endpoint: &Endpoint| format!("{} {}", endpoint.methods.join(" "), endpoint.pattern.text);
    site.endpoints.iter().map(|endpoint| (name(endpoint), endpoint)).collect()
}

fn environments(site: &Site) -> BTreeMap<String, &crate::environment::settings::Environment> {
    site.environments.iter().map(|one| (one.name.to_string(), &**one)).collect()
}

fn statics(site: &Site) -> BTreeMap<String, &StaticFolder> {
    let name = |folder: &StaticFolder| if folder.prefix.is_empty() { "/".to_owned() } else { folder.prefix.clone() };
    site.statics.iter().map(|one| (name(one), &**one)).collect()
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
    let added = new.keys().filter(|name| !old.contains_key(*name)).collect();
    let removed = old.keys().filter(|name| !new.contains_key(*name)).collect();
    let differs = |name: &String, now: &T| old.get(name).is_some_and(|before| !same(before, now));
    let changed = new.iter().filter(|(name, now)| differs(name, now)).map(|(name, _)| name).collect();
    for (names, verb) in [(added, "added"), (changed, "changed"), (removed, "removed")] {
        words.extend(told(kind, verb, &names));
    }
}

fn told(kind: &str, verb: &str, names: &Vec<&String>) -> Option<String> {
    let count = names.len();
    let plural = if count == 1 { "" } else { "s" };
    let more = count.checked_sub(NAMES).filter(|more| *more > 0);
    let more = more.map_or_else(String::new, |more| format!(" and {more} more"));
    let first: Vec<&str> = names.iter().take(NAMES).map(|name| name.as_str()).collect();
    (count > 0).then(|| format!("{count} {kind}{plural} {verb}: {}{more}", first.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::load::Loader;

    /// The site of a text, by a loader that may know others.
    fn site(loader: &mut Loader, folder: &tempfile::TempDir, text: &str) -> Arc<Site> {
        let path = folder.path().join("site.kdl");
        std::fs::write(&path, text).unwrap();
        loader.load(&path).unwrap().site.expect("it has no errors")
    }

    #[test]
    fn changes_are_told_by_name_and_bounded() {
        let (folder, mut loader) = (tempfile::tempdir().unwrap(), Loader::default());
        let endpoint = |path: &str, body: &str| format!("endpoint GET \"{path}\" {{ respond 200 \"{body}\"; }}\n");
        let old = site(&mut loader, &folder, &(endpoint("/a", "1") + &endpoint("/b", "1")));
        let many: String = (1..=7).map(|number| endpoint(&format!("/n{number}"), "")).collect();
        let server = "server { timeout \"5s\"; compress #false; }\nstatic \"/\" dir=\".\"\n";
        let new = site(&mut loader, &folder, &(endpoint("/a", "2") + &many + server));
        let wanted = "7 endpoints added: GET /n1, GET /n2, GET /n3, GET /n4, GET /n5 and 2 more; 1 endpoint changed: GET /a; \
            1 endpoint removed: GET /b; 1 static folder added: /; server settings changed: timeout, compress";
        assert_eq!(describe(&old, &new), wanted);
        assert_eq!(describe(&new, &new), "");
    }

    #[test]
    fn the_same_texts_and_scripts_are_the_same_site() {
        let (folder, mut loader) = (tempfile::tempdir().unwrap(), Loader::default());
        std::fs::write(folder.path().join("a.lua"), "return 1").unwrap();
        std::fs::write(folder.path().join("value"), "one").unwrap();
        let text = "variables { v (file)\"value\"; }\nendpoint GET \"/a\" { script \"a.lua\"; }\n";
        let first = site(&mut loader, &folder, text);
        assert!(is_same(&first, &site(&mut loader, &folder, text)));
        assert!(!is_same(&first, &site(&mut loader, &folder, &format!("// a comment\n{text}"))));
        std::fs::write(folder.path().join("a.lua"), "return 2").unwrap();
        let second = site(&mut loader, &folder, text);
        assert!(!is_same(&first, &second));
        std::fs::write(folder.path().join("value"), "two").unwrap();
        assert!(!is_same(&second, &site(&mut loader, &folder, text)));
    }

    #[test]
    fn a_restart_is_asked_for_once_and_where() {
        let (folder, mut loader) = (tempfile::tempdir().unwrap(), Loader::default());
        let mut of = |settings: &str| {
            let text = format!("server {{\n{settings}\n}}\nendpoint GET \"/a\" {{ respond 204; }}\n");
            site(&mut loader, &folder, &text)
        };
        let started = of("bind \"127.0.0.1:1\"\nworkers 1");
        let changed = of("bind \"127.0.0.1:1\"\nbind \"127.0.0.1:2\"\n\nworkers 2");
        let moved = of("\nworkers 2\nbind \"127.0.0.1:1\"\nbind \"127.0.0.1:2\"\ntimeout \"1s\"");
        let file = folder.path().join("site.kdl").display().to_string();
        let told = needs_restart(&started, &started, &changed);
        assert_eq!(told, [format!("bind ({file}:3)"), format!("workers ({file}:5)")]);
        assert_eq!(needs_restart(&started, &changed, &moved), [""; 0]);
        assert_eq!(needs_restart(&started, &changed, &started), [""; 0]);
        let with_keep_alive = of("bind \"127.0.0.1:1\"\nworkers 1\nkeep-alive \"1s\"");
        assert_eq!(needs_restart(&with_keep_alive, &with_keep_alive, &started), ["keep-alive (no longer given)"]);
    }
}
