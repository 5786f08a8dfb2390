//! Environments: names, limits, what they see, and the modules that their scripts require.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::diag::{Diagnostic, Span, codes};
use crate::endpoint::Action;
use crate::endpoint::settings::Code;
use crate::environment::declaration::EnvironmentDeclaration;
use crate::environment::settings::{Environment, EnvironmentSettings};

use super::endpoints::ResolvedEndpoint;
use super::modules;
use super::part::{Part, Role};
use super::{Resolver, Secrets, Variables, lua, names};

/// The environment that exists when none is declared.
pub(super) const BUILT_IN: &str = "integrated";

/// An environment whose own node is resolved; its modules follow once its handlers are known.
pub(super) struct ResolvedEnvironment {
    /// All but the modules.
    pub(super) environment: Environment,
    /// Where its name stands; `None` for the built-in one.
    pub(super) span: Option<Span>,
    /// Wall clock of its handlers, if it says one.
    pub(super) timeout: Option<Duration>,
    /// Whether `modules` was given, so that every file in the folders may be meant.
    pub(super) declared_modules: bool,
    /// Whether its startup script is there, or none was given.
    has_startup: bool,
}

/// Resolves every declared environment, or makes the built-in one.
pub(super) fn resolve(
    resolver: &mut Resolver<'_>,
    variables: &Variables,
    secrets: &Secrets,
) -> Vec<ResolvedEnvironment> {
    let config = resolver.config;
    let mut resolved: Vec<ResolvedEnvironment> = Vec::new();
    for declaration in &config.environments {
        let name = &declaration.name;
        match resolved.iter().find(|earlier| *earlier.environment.name == *name.it).and_then(|earlier| earlier.span) {
            Some(first) => resolver.report(
                Diagnostic::new(
                    &codes::NAME_DUPLICATE,
                    format!("there are two environments named `{}`", name.it),
                    name.span,
                    "again",
                )
                .also(first, "declared here first")
                .help("give one of them another name, or merge them"),
            ),
            None => {
                let environment = resolve_one(resolver, declaration, variables, secrets);
                resolved.push(environment);
            }
        }
    }
    if resolved.is_empty() && !resolver.config.broken.contains_key("environment") {
        resolved.push(built_in(resolver, variables));
    }
    resolved
}

fn built_in(resolver: &Resolver<'_>, variables: &Variables) -> ResolvedEnvironment {
    let environment = Environment {
        name: BUILT_IN.into(),
        settings: EnvironmentSettings::default(),
        variables: variables.clone(),
        secrets: Secrets::new(),
        modules: BTreeMap::new(),
        module_folders: vec![resolver.files.folder.clone()],
        startup: None,
    };
    ResolvedEnvironment { environment, span: None, timeout: None, declared_modules: false, has_startup: true }
}

fn resolve_one(
    resolver: &mut Resolver<'_>,
    declaration: &EnvironmentDeclaration,
    variables: &Variables,
    secrets: &Secrets,
) -> ResolvedEnvironment {
    check_limits(resolver, declaration);
    let config = resolver.config;
    let declared: Vec<&str> = config.variables.iter().map(|(name, _)| name.it.as_str()).collect();
    let seen = match &declaration.variables {
        Some(wanted) => names::choose(resolver, "variable", wanted, variables, &declared),
        None => variables.clone(),
    };
    let declared: Vec<&str> = config.secrets.iter().map(|(name, _)| name.it.as_str()).collect();
    let secrets = names::choose(resolver, "secret", &declaration.secrets, secrets, &declared);
    let startup = declaration.startup.as_ref().and_then(|path| resolver.script_file(path.span, &path.it));
    let has_startup = startup.is_some() || declaration.startup.is_none() && declaration.complete;
    let environment = Environment {
        name: declaration.name.it.as_str().into(),
        settings: declaration.settings.clone(),
        variables: seen,
        secrets,
        modules: BTreeMap::new(),
        module_folders: module_folders(resolver, declaration),
        startup,
    };
    ResolvedEnvironment {
        environment,
        span: Some(declaration.name.span),
        timeout: declaration.timeout.as_ref().map(|at| at.it.0),
        declared_modules: !declaration.modules.is_empty(),
        has_startup,
    }
}

fn check_limits(resolver: &mut Resolver<'_>, declaration: &EnvironmentDeclaration) {
    let (Some(min), max) = (&declaration.min_runspaces, declaration.settings.max_runspaces) else {
        return;
    };
    if min.it <= max || !declaration.complete {
        return;
    }
    let message = format!("`min-runspaces` is {}, but at most {max} may exist", min.it);
    let mut found = Diagnostic::new(&codes::ENVIRONMENT_RANGE, message, min.span, "more than the maximum");
    if let Some(max) = &declaration.max_runspaces {
        found = found.also(max.span, "the maximum");
    }
    resolver.report(found.help("lower it, or raise `max-runspaces`"));
}

fn module_folders(resolver: &mut Resolver<'_>, declaration: &EnvironmentDeclaration) -> Vec<PathBuf> {
    if declaration.modules.is_empty() {
        return vec![resolver.files.folder.clone()];
    }
    let mut folders = Vec::new();
    for folder in &declaration.modules {
        let path = resolver.files.beside(folder.span.file, &folder.it);
        if !path.is_dir() {
            let message = format!("there is no folder `{}`", folder.it);
            let found = Diagnostic::new(&codes::ENVIRONMENT_MODULES, message, folder.span, "named here");
            resolver.report(found.help(format!("looked for {}", path.display())));
        }
        resolver.files.watch.insert(path.clone());
        folders.push(path);
    }
    folders
}

/// Environments that no endpoint runs in.
pub(super) fn unused(
    resolver: &mut Resolver<'_>,
    environments: &[ResolvedEnvironment],
    endpoints: &[ResolvedEndpoint<'_>],
) {
    if resolver.config.incomplete || resolver.sink.has_errors() {
        return;
    }
    let used: BTreeSet<&str> = endpoints.iter().filter_map(ResolvedEndpoint::environment).collect();
    for environment in environments {
        let name = &*environment.environment.name;
        if let (Some(span), false) = (environment.span, used.contains(name)) {
            let message = format!("nothing uses the environment `{name}`");
            let found = Diagnostic::new(&codes::ENVIRONMENT_UNUSED, message, span, "declared here");
            resolver.report(found.help("name it on an endpoint or a group (environment=…), or remove it"));
        }
    }
}

/// Finds and compiles the modules that the scripts of each environment require, and looks at what they all name.
pub(super) fn finish(
    resolver: &mut Resolver<'_>,
    environments: Vec<ResolvedEnvironment>,
    endpoints: &[ResolvedEndpoint<'_>],
) -> Vec<Arc<Environment>> {
    let mut roots = roots(endpoints);
    // What a script requires and names is found by reading it, so it is not known when no Lua is looked at.
    let reads = resolver.scripts.compiles();
    let mut finished = Vec::new();
    for mut resolved in environments {
        let mut own = roots.remove(&*resolved.environment.name).unwrap_or_default();
        let startup = resolved.environment.startup.clone();
        own.extend(startup.map(|script| Part { script, role: Role::Startup }));
        if reads {
            let reached = modules::reach(resolver, &resolved, own);
            resolved.environment.modules = reached.modules;
            let whole = reached.complete && resolved.has_startup && has_handlers(resolver, &resolved);
            lua::check(resolver, &resolved.environment, &reached.parts, whole);
        }
        finished.push(Arc::new(resolved.environment));
    }
    finished
}

/// The handlers by environment, those in files once.
fn roots<'a>(endpoints: &[ResolvedEndpoint<'a>]) -> BTreeMap<Arc<str>, Vec<Part<'a>>> {
    let mut roots: BTreeMap<Arc<str>, Vec<Part<'a>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for endpoint in endpoints {
        let Action::Script { script, environment, .. } = &endpoint.endpoint.action else { continue };
        let role = match endpoint.code {
            Some(Code::Lua(text)) => Role::Inline(text, Arc::clone(&endpoint.endpoint)),
            _ if seen.insert((environment.clone(), script.id)) => Role::Handler,
            _ => continue,
        };
        roots.entry(environment.clone()).or_default().push(Part { script: Arc::clone(script), role });
    }
    roots
}

/// Whether all handlers that may leave something for others in this environment could be read.
fn has_handlers(resolver: &Resolver<'_>, resolved: &ResolvedEnvironment) -> bool {
    !resolved.environment.settings.persistent || !resolver.config.incomplete && !resolver.sink.has_errors()
}
