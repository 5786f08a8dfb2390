//! Parameters: where each comes from, and which of the groups around an endpoint hold for it.
//!
//! A parameter that does not say where it comes from is one of the path when a path has its name, else one of the query.
//! A name that is nearly one of the path is taken for a slip, not for a parameter of the query.

use crate::diag::{Diagnostic, Span, codes};
use crate::endpoint::option::param::settings::ParamSettings;
use crate::endpoint::option::param::{Param, Source};
use crate::endpoint::pattern::Pattern;
use crate::endpoint::settings::{EndpointSettings, GroupSettings};

use super::{Resolver, names, paths};

/// What the parameters of a node are looked at with.
struct Place<'p> {
    /// Names in the path, or in the paths of a group.
    names: Vec<&'p str>,
    /// Whether these are all there are.
    complete: bool,
    /// Where the path or prefix stands, and what it is in words.
    path: Option<(Span, &'static str)>,
}

/// The parameters of a group: its own, and those of the groups around it that it does not declare anew.
pub(super) fn of_group(
    resolver: &mut Resolver<'_>,
    group: &GroupSettings,
    prefix: &str,
    around: &[Param],
) -> Vec<Param> {
    if group.params.is_empty() {
        return around.to_vec();
    }
    let mut below = Below { patterns: Vec::new(), complete: group.complete };
    below.group(group, prefix);
    let names = below.patterns.iter().flat_map(Pattern::names).map(|name| &**name).collect();
    let place = Place { names, complete: below.complete, path: group.span.map(|span| (span, "this group")) };
    let own = own(resolver, &group.params, &place);
    inherited(own, around)
}

/// The parameters of an endpoint: its own, and those of its groups as far as its path has them.
pub(super) fn of_endpoint(
    resolver: &mut Resolver<'_>,
    settings: &EndpointSettings,
    pattern: &Pattern,
    around: &[Param],
) -> Vec<Param> {
    let names: Vec<&str> = pattern.names().map(|name| &**name).collect();
    let place = Place { names, complete: true, path: Some((settings.path.span, "this path")) };
    let own = own(resolver, &settings.params, &place);
    let mut params = inherited(own, around);
    params.retain(|param| param.source != Some(Source::Path) || place.names.contains(&&*param.name));
    params
}

/// The nearer declaration of a parameter wins.
fn inherited(mut own: Vec<Param>, around: &[Param]) -> Vec<Param> {
    let missing: Vec<Param> =
        around.iter().filter(|param| !own.iter().any(|nearer| nearer.is_same(param))).cloned().collect();
    own.extend(missing);
    own
}

/// Gives every parameter of a node its source, and checks names against the path and each other.
fn own(resolver: &mut Resolver<'_>, declared: &[ParamSettings], place: &Place<'_>) -> Vec<Param> {
    let mut params: Vec<Param> = Vec::new();
    for settings in declared {
        let mut param = settings.param.clone();
        let in_path = place.names.contains(&&*param.name);
        let slip = || param.source.is_none() && !in_path && place.complete && near(&param, declared, place).is_some();
        if slip() || param.source == Some(Source::Path) && !in_path && place.complete {
            resolver.report(unused(&param, declared, place));
        }
        param.source = param.source.or(Some(if in_path { Source::Path } else { Source::Query }));
        if param.source == Some(Source::Path) {
            always_there(resolver, settings);
        }
        if let Some(first) = params.iter().find(|known| known.is_same(&param)) {
            let message = format!("there are two parameters named `{}`", param.name);
            let found = Diagnostic::new(&codes::NAME_DUPLICATE, message, param.span, "again");
            resolver.report(found.also(first.span, "declared here first").help("remove one of them"));
        }
        params.push(param);
    }
    params
}

/// The name in the path that a parameter most likely means; one that is declared itself is not meant.
fn near<'p>(param: &Param, declared: &[ParamSettings], place: &Place<'p>) -> Option<&'p str> {
    let is_free = |name: &&str| declared.iter().all(|other| *other.param.name != **name);
    names::nearest(&param.name, place.names.iter().copied().filter(is_free))
}

fn unused(param: &Param, declared: &[ParamSettings], place: &Place<'_>) -> Diagnostic {
    let message = match place.path {
        Some((_, "this group")) => format!("no path of this group has a parameter `{}`", param.name),
        _ => format!("the path has no parameter `{}`", param.name),
    };
    let found = Diagnostic::new(&codes::ENDPOINT_PARAM_UNUSED, message, param.span, "not in the path");
    let found = match place.path {
        Some((span, label)) => found.also(span, label),
        None => found,
    };
    match near(param, declared, place) {
        Some(near) => found.help(format!(
            "did you mean `{near}`? For a parameter of the query or a header write in=query or in=header"
        )),
        None => found.help("write in=query or in=header, or put {…} into the path"),
    }
}

/// A parameter of the path is there whenever the path fits, and once.
fn always_there(resolver: &mut Resolver<'_>, settings: &ParamSettings) {
    for (name, span) in &settings.absence {
        let param = &settings.param;
        let message = format!("`{name}` does nothing for a parameter of the path");
        let found = Diagnostic::new(&codes::ENDPOINT_PARAM_SETTING, message, *span, "does nothing");
        let found = found.also(param.span, "always there, and once");
        resolver.report(found.help("remove it; when no path fits, the answer is 404"));
    }
}

/// The paths of what stands in a group, those of inner groups too.
struct Below {
    patterns: Vec<Pattern>,
    /// Whether all of it could be read.
    complete: bool,
}

impl Below {
    fn group(&mut self, group: &GroupSettings, prefix: &str) {
        self.complete &= group.complete;
        if !prefix.is_empty() {
            self.add(Pattern::parse(prefix).ok());
        }
        for endpoint in &group.endpoints {
            self.add(paths::path(&endpoint.path.it, prefix).ok());
        }
        for inner in &group.groups {
            self.group(inner, &paths::prefix(inner, prefix));
        }
    }

    fn add(&mut self, pattern: Option<Pattern>) {
        self.complete &= pattern.is_some();
        self.patterns.extend(pattern);
    }
}
