//! Static folders: they must exist, and each prefix is served from one of them.

use crate::diag::{Diagnostic, Span, codes};
use crate::endpoint::pattern::{Pattern, Segment};
use crate::kdl::scalar::At;
use crate::site::statics::{StaticFolder, StaticSettings};

use super::Resolver;

/// A static folder with its place.
pub(super) struct ResolvedStatic {
    pub(super) folder: StaticFolder,
    pub(super) span: Span,
}

/// Resolves every `static` node.
pub(super) fn resolve(resolver: &mut Resolver<'_>) -> Vec<ResolvedStatic> {
    let config = resolver.config;
    let mut resolved: Vec<ResolvedStatic> = Vec::new();
    for settings in &config.statics {
        let Some(one) = resolve_one(resolver, settings) else {
            continue;
        };
        if let Some(first) = resolved.iter().find(|earlier| earlier.folder.prefix == one.folder.prefix) {
            let message = format!("`{}` is served from two folders", settings.prefix.it);
            let found = Diagnostic::new(&codes::NAME_DUPLICATE, message, one.span, "again");
            resolver.report(found.also(first.span, "served here first").help("remove one, or change its path"));
            continue;
        }
        resolved.push(one);
    }
    resolved
}

fn resolve_one(resolver: &mut Resolver<'_>, settings: &StaticSettings) -> Option<ResolvedStatic> {
    let prefix = prefix(resolver, &settings.prefix);
    let path = resolver.files.beside(settings.dir.span.file, &settings.dir.it);
    let folder = match path.canonicalize() {
        Ok(folder) if folder.is_dir() => folder,
        _ => {
            let message = format!("there is no folder `{}`", settings.dir.it);
            let found = Diagnostic::new(&codes::STATIC_FOLDER, message, settings.dir.span, "named here");
            resolver.report(found.help(format!("looked for {}", path.display())));
            resolver.files.watch.insert(path);
            return None;
        }
    };
    let headers = settings.headers.clone();
    let folder = StaticFolder { prefix: prefix?, folder, index: settings.index.clone(), headers };
    Some(ResolvedStatic { folder, span: settings.span })
}

/// The prefix without its trailing slash; it must be a path without parameters.
fn prefix(resolver: &mut Resolver<'_>, prefix: &At<String>) -> Option<String> {
    if prefix.it == "/" {
        return Some(String::new());
    }
    let trimmed = prefix.it.strip_suffix('/').unwrap_or(&prefix.it);
    let fault = match Pattern::parse(trimmed) {
        Ok(pattern) if pattern.segments.iter().all(|segment| matches!(segment, Segment::Literal(_))) => {
            return Some(trimmed.to_owned());
        }
        Ok(_) => "a static path has no parameters".to_owned(),
        Err(error) => error.message,
    };
    let found = Diagnostic::new(&codes::ENDPOINT_ROUTE, fault, prefix.span, "this path");
    resolver.report(found.help("a static path looks like \"/assets\""));
    None
}
