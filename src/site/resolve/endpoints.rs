//! Endpoints: groups unfolded, methods and paths read, handlers found, settings merged by precedence.

use std::sync::Arc;

use bytes::Bytes;

use crate::diag::{Diagnostic, Span, codes};
use crate::endpoint::option::Options;
use crate::endpoint::option::param::Param;
use crate::endpoint::settings::{Code, EndpointSettings, GroupSettings};
use crate::endpoint::{Action, Endpoint};
use crate::kdl::reader::Text;
use crate::kdl::scalar::At;
use crate::kdl::suggest;
use crate::logging::feature::Level;
use crate::script::{LineMap, Script};
use crate::site::scripts::syntax_diagnostic;

use super::environments::{BUILT_IN, ResolvedEnvironment};
use super::{Resolver, names, params, paths};

/// Methods of HTTP that an endpoint may name, and `ANY`.
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ANY"];

/// An endpoint with the places that later rules point at.
pub(super) struct ResolvedEndpoint<'a> {
    pub(super) endpoint: Arc<Endpoint>,
    /// Where the path stands.
    pub(super) path_span: Span,
    /// What it runs.
    pub(super) code: Option<&'a Code>,
}

impl ResolvedEndpoint<'_> {
    /// The environment that it runs in.
    pub(super) fn environment(&self) -> Option<&str> {
        match &self.endpoint.action {
            Action::Script { environment, .. } => Some(environment),
            _ => None,
        }
    }
}

/// Resolves every endpoint of the site.
pub(super) fn resolve<'a>(
    resolver: &mut Resolver<'a>,
    environments: &[ResolvedEnvironment],
) -> Vec<ResolvedEndpoint<'a>> {
    let config = resolver.config;
    let mut resolved = Vec::new();
    let default = default_environment(resolver, environments);
    let mut walk = Walk { environments, default, out: &mut resolved };
    walk.group(resolver, &config.root, "", &Around::default());
    resolved
}

/// Which environment runs handlers that name none.
enum DefaultEnvironment {
    Named(Arc<str>),
    /// There are several, and none is called `integrated`: an endpoint must say.
    Ambiguous,
    /// Something was reported already, or cannot be known.
    Unknown,
}

fn default_environment(resolver: &mut Resolver<'_>, environments: &[ResolvedEnvironment]) -> DefaultEnvironment {
    if let Some(named) = &resolver.config.default_environment {
        let found = find(resolver, environments, named);
        return found.map_or(DefaultEnvironment::Unknown, |at| DefaultEnvironment::Named(at.environment.name.clone()));
    }
    match environments {
        [only] if !resolver.config.broken.contains_key("environment") => {
            DefaultEnvironment::Named(only.environment.name.clone())
        }
        all => match all.iter().find(|one| &*one.environment.name == BUILT_IN) {
            Some(integrated) => DefaultEnvironment::Named(integrated.environment.name.clone()),
            None if resolver.config.incomplete => DefaultEnvironment::Unknown,
            None => DefaultEnvironment::Ambiguous,
        },
    }
}

/// The environment of this name, or a report that there is none.
fn find<'e>(
    resolver: &mut Resolver<'_>,
    environments: &'e [ResolvedEnvironment],
    name: &At<String>,
) -> Option<&'e ResolvedEnvironment> {
    let found = environments.iter().find(|one| *one.environment.name == *name.it);
    if found.is_none() && !resolver.is_broken("environment", &name.it) {
        let known: Vec<&str> = environments.iter().map(|one| &*one.environment.name).collect();
        let message = format!("there is no environment named `{}`", name.it);
        let diagnostic = Diagnostic::new(&codes::NAME_UNKNOWN, message, name.span, "not declared");
        let meant = suggest::certain(&name.it, known.iter().copied());
        let diagnostic = diagnostic.help(names::suggestion(&name.it, &known));
        resolver.report(suggest::in_place(diagnostic, name.span, meant));
    }
    found
}

/// The walk through groups.
struct Walk<'w, 'a> {
    environments: &'w [ResolvedEnvironment],
    default: DefaultEnvironment,
    out: &'w mut Vec<ResolvedEndpoint<'a>>,
}

/// What an endpoint inherits from the groups around it.
#[derive(Default)]
struct Around {
    options: Options,
    params: Vec<Param>,
}

impl<'w, 'a> Walk<'w, 'a> {
    fn group(&mut self, resolver: &mut Resolver<'a>, group: &'a GroupSettings, outer: &str, around: &Around) {
        if let Some(own) = &group.prefix {
            paths::check_prefix(resolver, own);
        }
        let prefix = paths::prefix(group, outer);
        let options = group.options.clone().within(&around.options);
        let around = Around { options, params: params::of_group(resolver, group, &prefix, &around.params) };
        for endpoint in &group.endpoints {
            let resolved = self.endpoint(resolver, endpoint, &prefix, &around);
            self.out.extend(resolved);
        }
        for inner in &group.groups {
            self.group(resolver, inner, &prefix, &around);
        }
    }

    fn endpoint(
        &mut self,
        resolver: &mut Resolver<'a>,
        settings: &'a EndpointSettings,
        prefix: &str,
        around: &Around,
    ) -> Option<ResolvedEndpoint<'a>> {
        let methods = methods(resolver, settings);
        let pattern = paths::pattern(resolver, &settings.path, prefix);
        let params = pattern.as_ref().map(|pattern| params::of_endpoint(resolver, settings, pattern, &around.params));
        let options = settings.options.clone().within(&around.options);
        let environment = match &options.environment {
            _ if options.environment_unread => Some(None),
            named => named.as_ref().map(|name| find(resolver, self.environments, name)),
        };
        let action = self.action(resolver, settings, environment);
        let (environment, action) = action?;
        let server = &resolver.config.server;
        let timeout = options.timeout.as_ref().map(|at| at.it.0);
        let endpoint = Endpoint {
            methods: methods?,
            pattern: pattern?,
            action,
            timeout: timeout.or(environment.and_then(|one| one.timeout)).unwrap_or(server.timeout),
            max_body: options.max_body.as_ref().map_or(server.max_body, |at| at.it.0),
            concurrency: options.concurrency,
            log: options.log.as_ref().map_or(Level::Trace, |at| at.it),
            params: params?,
            headers: options.headers,
            summary: settings.summary.clone(),
            place: resolver.place(settings.span),
        };
        let (path_span, code) = (settings.path.span, settings.code.first());
        Some(ResolvedEndpoint { endpoint: Arc::new(endpoint), path_span, code })
    }

    /// What the endpoint does, and the environment that runs it if it is a script.
    fn action(
        &self,
        resolver: &mut Resolver<'_>,
        settings: &EndpointSettings,
        named: Option<Option<&'w ResolvedEnvironment>>,
    ) -> Option<(Option<&'w ResolvedEnvironment>, Action)> {
        let code = single_code(resolver, settings)?;
        let (script, inline) = match code {
            Code::Lua(text) => (inline_script(resolver, text), true),
            Code::Script(path) => (resolver.script_file(path.span, &path.it), false),
            Code::Respond { status, body, content_type, .. } => {
                return respond(resolver, status.as_ref(), body.as_ref(), content_type.as_ref())
                    .map(|action| (None, action));
            }
            Code::Redirect { location, status } => {
                return redirect(resolver, location, status.as_ref()).map(|action| (None, action));
            }
        };
        let environment = match named {
            Some(found) => found,
            None => self.default_for(resolver, settings),
        }?;
        let action = Action::Script { script: script?, environment: environment.environment.name.clone(), inline };
        Some((Some(environment), action))
    }

    fn default_for(&self, resolver: &mut Resolver<'_>, settings: &EndpointSettings) -> Option<&'w ResolvedEnvironment> {
        match &self.default {
            DefaultEnvironment::Named(name) => self.environments.iter().find(|one| one.environment.name == *name),
            DefaultEnvironment::Unknown => None,
            DefaultEnvironment::Ambiguous => {
                let known: Vec<&str> = self.environments.iter().map(|one| &*one.environment.name).collect();
                let message = "this endpoint does not say which environment runs it";
                let found =
                    Diagnostic::new(&codes::ENVIRONMENT_AMBIGUOUS, message, settings.span, "no environment named");
                let help = format!(
                    "add environment={} here, or `default-environment` at the top level",
                    known.join(" or environment=")
                );
                resolver.report(found.help(help));
                None
            }
        }
    }
}

fn methods(resolver: &mut Resolver<'_>, settings: &EndpointSettings) -> Option<Vec<Arc<str>>> {
    if settings.methods.is_empty() && !settings.complete {
        return None;
    }
    if settings.methods.is_empty() {
        let message = "this endpoint does not say which method it answers";
        let help = format!("write a method before the path: endpoint GET \"{}\"", settings.path.it);
        resolver
            .report(Diagnostic::new(&codes::ENDPOINT_METHOD, message, settings.path.span, "only a path").help(help));
        return None;
    }
    let mut methods: Vec<Arc<str>> = Vec::new();
    let mut bad = false;
    for method in &settings.methods {
        if METHODS.contains(&method.it.as_str()) && !methods.iter().any(|known| **known == *method.it) {
            methods.push(method.it.as_str().into());
            continue;
        }
        bad = true;
        resolver.report(method_fault(method, settings));
    }
    (!bad).then_some(methods)
}

fn method_fault(method: &At<String>, settings: &EndpointSettings) -> Diagnostic {
    let upper = method.it.to_ascii_uppercase();
    if METHODS.contains(&method.it.as_str()) {
        let message = format!("`{}` is named twice", method.it);
        return Diagnostic::new(&codes::ENDPOINT_METHOD, message, method.span, "again").help("remove one of them");
    }
    let message = format!("there is no method `{}`", method.it);
    let found = Diagnostic::new(&codes::ENDPOINT_METHOD, message, method.span, "not a method");
    let is_named = |name: &str| settings.methods.iter().any(|other| other.it == name);
    if METHODS.contains(&upper.as_str()) {
        let found = found.help(format!("methods are written in capitals: {upper}"));
        return suggest::in_place(found, method.span, Some(upper.as_str()).filter(|upper| !is_named(upper)));
    }
    if method.it.starts_with('/') {
        return found
            .help(format!("an endpoint has one path, and it stands last; is `{}` another path?", settings.path.it));
    }
    match names::nearest(&upper, METHODS.iter().copied()) {
        Some(near) => {
            let meant = suggest::certain(&upper, METHODS.iter().copied()).filter(|meant| !is_named(meant));
            suggest::in_place(found.help(format!("did you mean {near}?")), method.span, meant)
        }
        None => found.help(format!("there are {}", METHODS.join(" "))),
    }
}

fn single_code<'s>(resolver: &mut Resolver<'_>, settings: &'s EndpointSettings) -> Option<&'s Code> {
    match settings.code.as_slice() {
        [code] => Some(code),
        // A handler whose node was not understood is not a missing one.
        [] if !settings.complete => None,
        [] => {
            let message = "this endpoint has nothing to run";
            let found = Diagnostic::new(&codes::ENDPOINT_NO_CODE, message, settings.span, "no handler");
            resolver.report(found.help("add lua, script, respond or redirect"));
            None
        }
        [first, second, ..] => {
            let message = "this endpoint has two handlers";
            let found = Diagnostic::new(&codes::ENDPOINT_TWO_CODES, message, second.span(), "a second one");
            resolver.report(found.also(first.span(), "the first").help("keep one of them"));
            None
        }
    }
}

/// Compiles inline Lua; its lines are those of the site file.
fn inline_script(resolver: &mut Resolver<'_>, text: &Text) -> Option<Arc<Script>> {
    let read = resolver.files.documents.iter().find(|read| read.id == text.span.file);
    let origin = read.map(|read| resolver.files.inside(&read.path)).unwrap_or_default();
    match resolver.scripts.intern(&origin, text.value.as_str().into(), LineMap(text.lines.clone())) {
        Ok(script) => Some(script),
        Err(error) => {
            resolver.report(syntax_diagnostic(&text.value, &error, |range| text.span_of(range)));
            None
        }
    }
}

fn respond(
    resolver: &mut Resolver<'_>,
    status: Option<&At<u16>>,
    body: Option<&At<String>>,
    content_type: Option<&At<String>>,
) -> Option<Action> {
    let code = status.map_or(if body.is_some() { 200 } else { 204 }, |at| at.it);
    let empty = matches!(code, 204 | 304);
    if let Some(at) = status.filter(|at| !(200..=599).contains(&at.it)) {
        let message = format!("{} is no status that an answer can have", at.it);
        resolver
            .report(Diagnostic::new(&codes::ENDPOINT_STATUS, message, at.span, "not sendable").help("use 200 to 599"));
        return None;
    }
    if let (true, Some(body)) = (empty, body) {
        let message = format!("an answer of status {code} has no body");
        resolver.report(
            Diagnostic::new(&codes::ENDPOINT_STATUS, message, body.span, "never sent").help("remove it, or use 200"),
        );
        return None;
    }
    let content_type = match (content_type, body) {
        (Some(given), _) => Some(given.it.clone()),
        (None, Some(_)) => Some("text/plain; charset=utf-8".to_owned()),
        (None, None) => None,
    };
    let body = body.map_or_else(Bytes::new, |at| Bytes::from(at.it.clone()));
    Some(Action::Respond { status: code, content_type, body })
}

fn redirect(resolver: &mut Resolver<'_>, location: &At<String>, status: Option<&At<u16>>) -> Option<Action> {
    let code = status.map_or(302, |at| at.it);
    if let Some(at) = status.filter(|at| !matches!(at.it, 301 | 302 | 303 | 307 | 308)) {
        let message = format!("{} does not send a client elsewhere", at.it);
        resolver.report(
            Diagnostic::new(&codes::ENDPOINT_STATUS, message, at.span, "not a redirect")
                .help("use 301, 302, 303, 307 or 308"),
        );
        return None;
    }
    if location.it.is_empty() || location.it.chars().any(char::is_control) {
        let message = "this is no address to redirect to";
        resolver.report(
            Diagnostic::new(&codes::ENDPOINT_STATUS, message, location.span, "here").help("write a path or a URL"),
        );
        return None;
    }
    Some(Action::Redirect { location: location.it.clone(), status: code })
}
