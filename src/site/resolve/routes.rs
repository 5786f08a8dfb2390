//! Routes against each other: no method and path may be answered twice, and no static file hides behind an endpoint.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::diag::{Diagnostic, codes};
use crate::endpoint::pattern::{Pattern, Segment};

use super::Resolver;
use super::endpoints::ResolvedEndpoint;
use super::statics::ResolvedStatic;

/// Reports endpoints that answer the same, and files that an endpoint answers for.
pub(super) fn conflicts(resolver: &mut Resolver<'_>, endpoints: &[ResolvedEndpoint<'_>], statics: &[ResolvedStatic]) {
    let mut first: HashMap<(&str, String), &ResolvedEndpoint<'_>> = HashMap::new();
    for resolved in endpoints {
        let shape = resolved.endpoint.pattern.shape();
        let mut told = false;
        for method in &resolved.endpoint.methods {
            let earlier = *first.entry((method, shape.clone())).or_insert(resolved);
            if !std::ptr::eq(earlier, resolved) && !told {
                told = true;
                resolver.report(twice(method, resolved, earlier));
            }
        }
    }
    for resolved in endpoints {
        shadowed(resolver, resolved, statics);
    }
}

fn twice(method: &str, second: &ResolvedEndpoint<'_>, first: &ResolvedEndpoint<'_>) -> Diagnostic {
    let (here, there) = (&second.endpoint.pattern.text, &first.endpoint.pattern.text);
    let found = if here == there {
        let message = format!("`{method} {here}` is answered twice");
        Diagnostic::new(&codes::ENDPOINT_DUPLICATE_ROUTE, message, second.path_span, "never reached")
            .help("remove one, or give them different methods")
    } else {
        let message = format!("`{here}` and `{there}` are the same route for {method}");
        Diagnostic::new(&codes::ENDPOINT_DUPLICATE_ROUTE, message, second.path_span, "never reached")
            .help("names of parameters do not tell routes apart: remove one, or change a literal part")
    };
    found.also(first.path_span, "answered here first")
}

/// Files that can never be fetched because an endpoint answers their paths.
fn shadowed(resolver: &mut Resolver<'_>, resolved: &ResolvedEndpoint<'_>, statics: &[ResolvedStatic]) {
    let endpoint = &resolved.endpoint;
    if !endpoint.methods.iter().any(|method| matches!(&**method, "GET" | "ANY")) {
        return;
    }
    for folder in statics {
        let below = below(&endpoint.pattern, &folder.folder.prefix);
        if below.is_some_and(|below| hides(below, &folder.folder.folder)) {
            let path = &endpoint.pattern.text;
            let message = match endpoint.pattern.names().next() {
                None => format!("the file behind `{path}` is never served"),
                Some(_) => format!("files behind `{path}` are never served"),
            };
            resolver.report(
                Diagnostic::new(&codes::STATIC_SHADOWED, message, folder.span, "in this folder")
                    .also(resolved.path_span, "this endpoint answers instead")
                    .help("endpoints win over static folders: change one of the paths"),
            );
        }
    }
}

/// What of a pattern is below a prefix, when it answers paths there.
fn below<'p>(pattern: &'p Pattern, prefix: &str) -> Option<&'p [Segment]> {
    let mut segments = pattern.segments.as_slice();
    for part in prefix.split('/').filter(|part| !part.is_empty()) {
        let (first, rest) = segments.split_first()?;
        match first {
            Segment::Tail(_) => return Some(segments),
            Segment::Literal(text) if text != part => return None,
            Segment::Literal(_) | Segment::Param(_) => segments = rest,
        }
    }
    Some(segments)
}

/// Whether a file of the folder has a path that these segments match.
fn hides(segments: &[Segment], folder: &Path) -> bool {
    let Some((first, rest)) = segments.split_first() else {
        return false;
    };
    match first {
        Segment::Literal(text) if text.is_empty() || text.contains('/') => false,
        Segment::Literal(text) => ends_or_hides(rest, &folder.join(text)),
        Segment::Param(_) => visible(folder).any(|path| ends_or_hides(rest, &path)),
        Segment::Tail(_) => visible(folder).next().is_some(),
    }
}

fn ends_or_hides(rest: &[Segment], path: &Path) -> bool {
    if rest.is_empty() { path.is_file() } else { hides(rest, path) }
}

/// What of a folder may be served.
fn visible(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".")).map(|entry| entry.path())
}
