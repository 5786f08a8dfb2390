//! Environments: names, limits, what they see, and the modules that their scripts require.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::diag::{Diagnostic, Span, codes};
use crate::environment::declaration::EnvironmentDeclaration;
use crate::environment::settings::{Environment, EnvironmentSettings, MODULE_NAMES, is_module_name};
use crate::script::Script;
use crate::site::files::FileText;
use crate::site::requires;

use super::endpoints::ResolvedEndpoint;
use super::{Resolver, Secrets, Variables, names};

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
    declared_modules: bool,
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
    ResolvedEnvironment { environment, span: None, timeout: None, declared_modules: false }
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
    endpoints: &[ResolvedEndpoint],
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

/// Finds and compiles the modules that the handlers of each environment require, and what those require.
pub(super) fn finish(
    resolver: &mut Resolver<'_>,
    environments: Vec<ResolvedEnvironment>,
    endpoints: &[ResolvedEndpoint],
) -> Vec<Arc<Environment>> {
    let mut finished = Vec::new();
    // What a script requires is found by reading it, so it is not known when no Lua is looked at.
    let reads = resolver.scripts.compiles();
    for mut resolved in environments {
        let name = resolved.environment.name.clone();
        let handlers = endpoints.iter().filter(|endpoint| endpoint.environment() == Some(&*name));
        let mut roots: Vec<(Arc<Script>, Option<Span>)> =
            handlers.filter_map(|endpoint| Some((endpoint.script()?.clone(), endpoint.code_span))).collect();
        roots.extend(resolved.environment.startup.clone().map(|startup| (startup, resolved.span)));
        if reads {
            resolved.environment.modules = modules(resolver, &resolved, roots);
        }
        finished.push(Arc::new(resolved.environment));
    }
    finished
}

/// The modules reachable from `roots`: those named in `require` calls, and every file of declared folders as soon as one
/// call computes its name.
fn modules(
    resolver: &mut Resolver<'_>,
    resolved: &ResolvedEnvironment,
    mut queue: Vec<(Arc<Script>, Option<Span>)>,
) -> BTreeMap<String, Arc<Script>> {
    let folders = &resolved.environment.module_folders;
    let mut modules: BTreeMap<String, Arc<Script>> = BTreeMap::new();
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let mut all_added = !resolved.declared_modules;
    while let Some((script, span)) = queue.pop() {
        let requires = requires::scan(&script.text);
        let mut wanted: Vec<(String, bool)> = requires.names.into_iter().map(|(name, _)| (name, true)).collect();
        wanted.extend(requires.optional.into_iter().map(|name| (name, false)));
        if requires.computed && !all_added {
            all_added = true;
            wanted.extend(folders.iter().flat_map(|folder| module_names(folder)).map(|name| (name, false)));
        }
        for (name, told) in wanted {
            if modules.contains_key(&name) || missing.contains(&name) {
                continue;
            }
            match find_module(resolver, folders, &name) {
                Found::Script(module) => {
                    modules.insert(name, module.clone());
                    queue.push((module, span));
                }
                Found::Nothing if told => {
                    missing.insert(name.clone());
                    if let Some(span) = span {
                        resolver.report(unknown_module(folders, &script, &name, span));
                    }
                }
                Found::Nothing | Found::Broken => {}
            }
        }
    }
    modules
}

fn unknown_module(folders: &[PathBuf], script: &Script, name: &str, span: Span) -> Diagnostic {
    let tried: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let known: Vec<String> = folders.iter().flat_map(|folder| module_names(folder)).collect();
    let near = names::nearest(name, known.iter().map(String::as_str));
    let help = match near {
        _ if !is_module_name(name) => MODULE_NAMES.to_owned(),
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("looked for {}.lua in {}", name.replace('.', "/"), tried.join(", ")),
    };
    let message = format!("`require \"{name}\"` in {} finds nothing", script.origin);
    Diagnostic::new(&codes::SCRIPT_UNKNOWN_MODULE, message, span, "this script needs it").help(help)
}

enum Found {
    Script(Arc<Script>),
    Broken,
    Nothing,
}

/// Looks a module up the way `require` names it: dots are folders, `.lua` before `.luau`, then `init`.
fn find_module(resolver: &mut Resolver<'_>, folders: &[PathBuf], name: &str) -> Found {
    if !is_module_name(name) {
        return Found::Nothing;
    }
    let relative = name.replace('.', "/");
    for folder in folders {
        for ending in [".lua", ".luau", "/init.lua", "/init.luau"] {
            let path = folder.join(format!("{relative}{ending}"));
            if let Some(known) = resolver.read.get(&path) {
                return known.clone().map_or(Found::Broken, Found::Script);
            }
            // A folder that happens to have the name is not the module.
            if !path.is_file() {
                resolver.files.watch.insert(path);
                continue;
            }
            let FileText::Text(text) = resolver.files.text(&path) else {
                return Found::Broken;
            };
            let script = resolver.compile_file(&path, text);
            resolver.read.insert(path, script.clone());
            return script.map_or(Found::Broken, Found::Script);
        }
    }
    Found::Nothing
}

/// How deep and how many module files are looked at, so that a folder like `/` named by mistake ends nothing.
const MAX_DEPTH: usize = 8;
const MAX_MODULES: usize = 10_000;

/// The names of all modules in a folder, hidden ones left out.
fn module_names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut queue = vec![(folder.to_path_buf(), String::new(), 0)];
    while let Some((path, prefix, depth)) = queue.pop() {
        let Ok(entries) = std::fs::read_dir(&path) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || names.len() >= MAX_MODULES {
                continue;
            }
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) && depth < MAX_DEPTH {
                queue.push((entry.path(), format!("{prefix}{name}."), depth + 1));
            } else if let Some(stem) = name.strip_suffix(".lua").or_else(|| name.strip_suffix(".luau")) {
                names.push(format!("{prefix}{stem}"));
            }
        }
    }
    names.sort();
    names
}
