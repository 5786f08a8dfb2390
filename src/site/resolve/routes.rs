//! Routes against each other: no method and path may be answered twice, and no static file hides behind an endpoint.

use std::collections::HashMap;

use crate::diag::{Diagnostic, codes};
use crate::endpoint::pattern::{Pattern, Segment};

use super::Resolver;
use super::endpoints::ResolvedEndpoint;
use super::statics::ResolvedStatic;

/// Reports endpoints that answer the same, and files that an endpoint answers for.
pub(super) fn conflicts(resolver: &mut Resolver<'_>, endpoints: &[ResolvedEndpoint], statics: &[ResolvedStatic]) {
    let mut first: HashMap<(&str, String), &ResolvedEndpoint> = HashMap::new();
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

fn twice(method: &str, second: &ResolvedEndpoint, first: &ResolvedEndpoint) -> Diagnostic {
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

/// A file that can never be fetched because an endpoint answers its path.
fn shadowed(resolver: &mut Resolver<'_>, resolved: &ResolvedEndpoint, statics: &[ResolvedStatic]) {
    let Some(path) = literal_path(&resolved.endpoint.pattern) else {
        return;
    };
    for folder in statics {
        let rest = path.strip_prefix(folder.folder.prefix.as_str()).and_then(|rest| rest.strip_prefix('/'));
        if rest.is_some_and(|rest| !rest.is_empty() && folder.folder.folder.join(rest).is_file()) {
            let message = format!("the file behind `{path}` is never served");
            resolver.report(
                Diagnostic::new(&codes::STATIC_SHADOWED, message, folder.span, "it lies in this folder")
                    .also(resolved.path_span, "this endpoint answers instead")
                    .help("endpoints win over static folders: rename one of them"),
            );
        }
    }
}

/// The path of a pattern without parameters.
fn literal_path(pattern: &Pattern) -> Option<String> {
    let mut path = String::new();
    for segment in &pattern.segments {
        let Segment::Literal(text) = segment else {
            return None;
        };
        path.push('/');
        path.push_str(text);
    }
    Some(path)
}
