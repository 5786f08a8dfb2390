//! The modules of an environment: what its scripts require, and what those require in turn.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Span, codes};
use crate::environment::settings::{MODULE_NAMES, is_module_name};
use crate::script::Script;
use crate::site::files::FileText;
use crate::site::requires::{self, Requires};

use super::environments::ResolvedEnvironment;
use super::part::{Part, Role};
use super::{Resolver, names};

/// What the scripts of an environment reach.
pub(super) struct Reached<'a> {
    /// All of its scripts, those it began with and the modules.
    pub(super) parts: Vec<Part<'a>>,
    /// The modules by the name that they are required by.
    pub(super) modules: BTreeMap<String, Arc<Script>>,
    /// Whether all modules that are required are there and can be read.
    pub(super) complete: bool,
}

/// The modules reachable from `roots`: those named in `require` calls, and every file of declared folders as soon as one
/// call computes its name.
pub(super) fn reach<'a>(
    resolver: &mut Resolver<'_>,
    resolved: &ResolvedEnvironment,
    roots: Vec<Part<'a>>,
) -> Reached<'a> {
    let folders = &resolved.environment.module_folders;
    // A folder that is not there has been told; what would be looked for in it is not told as well.
    let searchable = folders.iter().all(|folder| folder.is_dir());
    let mut reached = Reached { parts: roots, modules: BTreeMap::new(), complete: searchable };
    let mut missing: BTreeSet<String> = BTreeSet::new();
    let mut all_added = !resolved.declared_modules;
    let mut next = 0;
    while let Some(part) = reached.parts.get(next) {
        let requires = requires::scan(&part.script.text);
        let adds_all = requires.computed && !all_added;
        all_added |= adds_all;
        for (name, at) in wanted(requires, adds_all.then_some(folders)) {
            if reached.modules.contains_key(&name) || missing.contains(&name) {
                continue;
            }
            match find_module(resolver, folders, &name) {
                Found::Script(script) => {
                    reached.modules.insert(name, Arc::clone(&script));
                    reached.parts.push(Part { script, role: Role::Module });
                }
                Found::Nothing => {
                    let span = at.and_then(|at| reached.parts[next].span(resolver, at));
                    if let Some(span) = span {
                        reached.complete = false;
                        if searchable {
                            resolver.report(unknown_module(folders, &name, span));
                        }
                        missing.insert(name);
                    }
                }
                Found::Broken => reached.complete = false,
            }
        }
        next += 1;
    }
    reached
}

/// The names that a script wants, with the place of those that must be there.
fn wanted(requires: Requires, all_of: Option<&Vec<PathBuf>>) -> Vec<(String, Option<Range<usize>>)> {
    let mut wanted: Vec<_> = requires.names.into_iter().map(|(name, at)| (name, Some(at))).collect();
    wanted.extend(requires.optional.into_iter().map(|name| (name, None)));
    wanted.extend(all_of.into_iter().flatten().flat_map(|folder| module_names(folder)).map(|name| (name, None)));
    wanted
}

fn unknown_module(folders: &[PathBuf], name: &str, span: Span) -> Diagnostic {
    let tried: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let known: Vec<String> = folders.iter().flat_map(|folder| module_names(folder)).collect();
    let near = names::nearest(name, known.iter().map(String::as_str));
    let help = match near {
        _ if !is_module_name(name) => MODULE_NAMES.to_owned(),
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("looked for {}.lua in {}", name.replace('.', "/"), tried.join(", ")),
    };
    let message = format!("there is no module `{name}`");
    Diagnostic::new(&codes::SCRIPT_UNKNOWN_MODULE, message, span, "required here").help(help)
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
            if !resolver.files.has(&path) {
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
