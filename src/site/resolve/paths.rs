//! Paths: those of endpoints with the prefixes of the groups around them.

use crate::diag::{Diagnostic, codes};
use crate::endpoint::pattern::{Pattern, PatternError};
use crate::endpoint::settings::GroupSettings;
use crate::kdl::scalar::At;

use super::Resolver;

/// The prefix of a group, with those of the groups around it.
pub(super) fn prefix(group: &GroupSettings, around: &str) -> String {
    match &group.prefix {
        Some(own) => format!("{around}{}", own.it.trim_end_matches('/')),
        None => around.to_owned(),
    }
}

/// Reports a prefix that is no path.
pub(super) fn check_prefix(resolver: &mut Resolver<'_>, prefix: &At<String>) {
    if let Err(error) = Pattern::parse(&prefix.it) {
        let found = Diagnostic::new(&codes::ENDPOINT_ROUTE, error.message, prefix.span, "this prefix");
        resolver.report(found.help("a prefix looks like \"/api/v1\""));
        return;
    }
    check_notation(resolver, prefix);
}

/// The pattern of a path in a group.
pub(super) fn path(path: &str, prefix: &str) -> Result<Pattern, PatternError> {
    // A group's own path is written as "/" in it: the prefix alone.
    let own = if path == "/" && !prefix.is_empty() { "" } else { path };
    if own.is_empty() && prefix.is_empty() || !path.starts_with('/') {
        return Pattern::parse(path);
    }
    Pattern::parse(&format!("{prefix}{own}"))
}

/// What a lone `*` of another server is meant as.
pub(super) const REST: &str = "*rest";

/// How other servers write a parameter in a path: each gives the name in its notation.
const NOTATIONS: &[fn(&str) -> Option<&str>] = &[
    |segment| segment.strip_prefix(':'),
    |segment| segment.strip_prefix('$'),
    |segment| segment.strip_prefix('<')?.strip_suffix('>').map(|inner| inner.rsplit(':').next().unwrap_or(inner)),
    |segment| segment.strip_prefix('*').map(|name| if name.is_empty() { REST } else { name }),
];

/// Warns of a parameter in the notation of another server: here they are plain text, and no such path is ever asked for.
fn check_notation(resolver: &mut Resolver<'_>, path: &At<String>) {
    let Some((segment, name)) = foreign(&path.it).next() else { return };
    let message = format!("`{segment}` is no parameter here, but plain text");
    let found = Diagnostic::new(&codes::ENDPOINT_FOREIGN_ROUTE, message, path.span, "in this path");
    let kind = if name == REST { "the rest of a path" } else { "a parameter" };
    resolver.report(found.help(format!("{kind} is written {{{name}}}")));
}

/// The segments of a path that look like parameters of another server, each with the name that is meant.
pub(super) fn foreign(path: &str) -> impl Iterator<Item = (&str, &str)> {
    path.split('/').filter_map(|segment| Some((segment, meant(segment)?)))
}

/// The name of the parameter that a segment seems to be meant as.
fn meant(segment: &str) -> Option<&str> {
    let name = NOTATIONS.iter().find_map(|name| name(segment))?;
    let plain = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let is_name = name.starts_with(|char: char| char.is_ascii_alphabetic()) && name.chars().all(plain);
    (is_name || name == REST).then_some(name)
}

/// The pattern of an endpoint's path, or a report of what is wrong with it.
pub(super) fn pattern(resolver: &mut Resolver<'_>, path: &At<String>, prefix: &str) -> Option<Pattern> {
    match self::path(&path.it, prefix) {
        Ok(pattern) => {
            check_notation(resolver, path);
            Some(pattern)
        }
        // A mistake in the prefix was reported there.
        Err(_) if !prefix.is_empty() && Pattern::parse(prefix).is_err() => None,
        Err(error) => {
            let help = "a path looks like \"/users/{id}\" or \"/files/{*rest}\"";
            resolver.report(Diagnostic::new(&codes::ENDPOINT_ROUTE, error.message, path.span, "this path").help(help));
            None
        }
    }
}
