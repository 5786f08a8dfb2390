//! What scripts name that is not there: globals, fields of host tables, variables, secrets, path parameters.
//!
//! All of it are warnings, for Lua decides when it runs. What cannot be told for sure is not told.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::diag::{Code, Diagnostic, Span, codes};
use crate::environment::settings::Environment;
use crate::kdl::allow::Allowance;
use crate::kdl::suggest;
use crate::luau::known::Known;
use crate::luau::outline::{Name, Outline, REQUEST};

use super::part::{Part, Role};
use super::{Resolver, foreign, names, paths};

/// The scripts of an environment, and what they can find there.
struct Scripts<'e> {
    environment: &'e Environment,
    known: Arc<Known>,
    /// Globals that some script of the environment sets; `None` when that is not known of all of them.
    assigned: Option<BTreeSet<Box<str>>>,
}

/// A finding before it has a place.
struct Found {
    code: &'static Code,
    message: String,
    at: Range<usize>,
    label: &'static str,
    help: String,
    /// The name that is certainly meant in the place of the one that is written.
    meant: Option<String>,
}

/// Reports what the scripts of an environment name in vain. `whole` is false when some of them could not be read.
pub(super) fn check(resolver: &mut Resolver<'_>, environment: &Environment, parts: &[Part<'_>], whole: bool) {
    let Some(known) = resolver.outlines.known() else { return };
    let outlines: Vec<Arc<Outline>> = parts.iter().map(|part| resolver.outlines.of(&part.script, &known)).collect();
    let all_known = whole && !outlines.iter().any(|outline| outline.opaque);
    let assigned = all_known.then(|| outlines.iter().flat_map(|outline| outline.assigned.iter().cloned()).collect());
    let scripts = Scripts { environment, known, assigned };
    for (part, outline) in parts.iter().zip(&outlines) {
        let found = scripts.faults(resolver, part, outline);
        for one in found {
            report(resolver, part, one);
        }
        allowances(resolver, part, outline);
    }
}

fn report(resolver: &mut Resolver<'_>, part: &Part<'_>, found: Found) {
    let written = &part.script.text[found.at.clone()];
    let Some(span) = part.span(resolver, found.at.clone()) else { return };
    // An edit is safe only where the file says the name as Lua reads it, without an escape inside.
    let in_file = resolver.files.sources.get(span.file).text.get(span.start as usize..span.end as usize);
    let meant = found.meant.filter(|_| in_file == Some(written));
    let diagnostic = Diagnostic::new(found.code, found.message, span, found.label).help(found.help);
    resolver.report(match meant {
        Some(meant) => diagnostic.fix(format!("write {meant}"), span, meant),
        None => diagnostic,
    });
}

/// Hands the comments of a script on to those who heed them.
fn allowances(resolver: &mut Resolver<'_>, part: &Part<'_>, outline: &Outline) {
    for comment in &outline.allowed {
        let places = (part.span(resolver, comment.at.clone()), part.span(resolver, comment.covers.clone()));
        let (Some(at), Some(covers)) = places else { continue };
        let range = |span: Span| span.start as usize..span.end as usize;
        let allowance =
            Allowance { code: comment.code.to_string(), at: range(at), line: None, node: Some(range(covers)) };
        let comment = (at.file, allowance);
        if !resolver.allowances.contains(&comment) {
            resolver.allowances.push(comment);
        }
    }
}

impl Scripts<'_> {
    fn faults(&self, resolver: &Resolver<'_>, part: &Part<'_>, outline: &Outline) -> Vec<Found> {
        let names = outline.names.iter().filter_map(|name| match (&*name.global, name.field.as_deref()) {
            (REQUEST, None) if part.is_handler() => None,
            (REQUEST, Some(_)) if !part.is_handler() => None,
            ("vars" | "secrets", Some(field)) => self.declared(resolver, name, field),
            (global, Some(field)) => Some(self.field(name, global, field)),
            (global, None) => self.global(part, outline, name, global),
        });
        let status = outline.status.as_ref().filter(|_| part.is_handler()).map(|(status, at)| bare_status(*status, at));
        names.chain(status).chain(unknown_params(part, outline)).collect()
    }

    fn global(&self, part: &Part<'_>, outline: &Outline, name: &Name, global: &str) -> Option<Found> {
        let assigned = self.assigned.as_ref()?;
        if assigned.contains(global) {
            return None;
        }
        let locals = outline.locals.iter().map(|local| &**local);
        let known = self.known.globals().filter(|name| *name != REQUEST || part.is_handler());
        let candidates: Vec<&str> = known.chain(assigned.iter().map(|name| &**name)).chain(locals).collect();
        let special = self.special(part, outline, global);
        let meant = suggest::certain(global, candidates.iter().copied()).filter(|_| special.is_none());
        let help =
            special.or_else(|| suggest::closest(global, candidates).map(|near| format!("did you mean `{near}`?")));
        Some(Found {
            code: &codes::SCRIPT_UNKNOWN_GLOBAL,
            message: format!("nothing sets `{global}`, so it is nil"),
            at: name.at.clone(),
            label: "not defined",
            help: help.unwrap_or_else(|| "declare it with `local`, or put it in quotes if it is a text".to_owned()),
            meant: meant.map(str::to_owned),
        })
    }

    /// The help for a global of which more is known than how it is spelled.
    fn special(&self, part: &Part<'_>, outline: &Outline, global: &str) -> Option<String> {
        if global == REQUEST {
            return Some("only handlers have `req`: give what is needed of it to the function".to_owned());
        }
        if outline.locals.contains(global) {
            return Some(format!("the local `{global}` is of another block: declare it before this one begins"));
        }
        let is_field = self.known.fields(REQUEST).any(|field| field == global);
        match foreign::word(global) {
            _ if part.is_handler() && is_field => Some(format!("did you mean `req.{global}`?")),
            help => help.map(str::to_owned),
        }
    }

    fn field(&self, name: &Name, global: &str, field: &str) -> Found {
        let known: Vec<&str> = self.known.fields(global).collect();
        let foreign = foreign::field(global, field);
        let meant = suggest::certain(field, known.iter().copied()).filter(|_| foreign.is_none());
        let near = || suggest::help(field, known.iter().copied());
        Found {
            code: &codes::SCRIPT_UNKNOWN_FIELD,
            message: format!("`{global}` has no `{field}`"),
            at: name.at.clone(),
            label: "not there",
            help: foreign
                .map(str::to_owned)
                .or_else(near)
                .unwrap_or_else(|| "docs/reference/lua.md has all".to_owned()),
            meant: meant.map(str::to_owned),
        }
    }

    /// A name of `vars` or `secrets` that the environment does not see.
    fn declared(&self, resolver: &Resolver<'_>, name: &Name, field: &str) -> Option<Found> {
        let is_variable = &*name.global == "vars";
        let (noun, list) = if is_variable { ("variable", "variables") } else { ("secret", "secrets") };
        let seen: Vec<&str> = match is_variable {
            true => self.environment.variables.keys().map(String::as_str).collect(),
            false => self.environment.secrets.keys().map(String::as_str).collect(),
        };
        if seen.contains(&field) || resolver.config.may_lack(list) {
            return None;
        }
        let declared = match is_variable {
            true => resolver.config.variables.iter().any(|(name, _)| names::lua_name(&name.it) == field),
            false => resolver.config.secrets.iter().any(|(name, _)| names::lua_name(&name.it) == field),
        };
        let environment = &self.environment.name;
        let (message, help) = match declared {
            true => (
                format!("the environment `{environment}` does not see the {noun} `{field}`"),
                format!("name it there: environment {environment} {{ {list} {}; }}", written(resolver, field)),
            ),
            false => (format!("there is no {noun} `{field}`"), undeclared(noun, field, &seen)),
        };
        let meant = suggest::certain(field, seen.iter().copied()).filter(|_| !declared);
        Some(Found {
            code: &codes::SCRIPT_UNKNOWN_NAME,
            message,
            at: name.at.clone(),
            label: if declared { "not seen" } else { "not declared" },
            help,
            meant: meant.map(str::to_owned),
        })
    }
}

/// A variable or secret as the site spells it.
fn written(resolver: &Resolver<'_>, field: &str) -> String {
    let variables = resolver.config.variables.iter().map(|(name, _)| name.it.as_str());
    let all = variables.chain(resolver.config.secrets.iter().map(|(name, _)| name.it.as_str()));
    all.into_iter().find(|name| names::lua_name(name) == field).unwrap_or(field).to_owned()
}

fn undeclared(noun: &str, field: &str, seen: &[&str]) -> String {
    if let Some(near) = suggest::closest(field, seen.iter().copied()) {
        return format!("did you mean `{near}`?");
    }
    match noun {
        "secret" => {
            format!("declare it, secrets {{ {field} (env){}; }}, and name it in the environment", field.to_uppercase())
        }
        _ => format!("declare it: variables {{ {field} \"…\"; }}"),
    }
}

fn bare_status(status: u16, at: &Range<usize>) -> Found {
    Found {
        code: &codes::SCRIPT_BARE_STATUS,
        message: format!("this answers 200 with the text {status}"),
        at: at.clone(),
        label: "a body, not a status",
        help: format!("the status is the second value: return nil, {status}"),
        meant: None,
    }
}

/// What an inline handler reads of `req.params` that its path does not have.
fn unknown_params(part: &Part<'_>, outline: &Outline) -> Vec<Found> {
    let Role::Inline(_, endpoint) = &part.role else { return Vec::new() };
    let known: Vec<&str> = endpoint.pattern.names().map(|name| &**name).collect();
    let read = outline.params.iter().filter_map(|name| Some((name, name.field.as_deref()?)));
    // A parameter in the notation of another server is told at the path; here it would be a second finding.
    let path = &*endpoint.pattern.text;
    let told = |field: &str| paths::foreign(path).any(|(_, name)| name == field || name == paths::REST);
    let unknown = read.filter(|(_, field)| !known.contains(field) && !told(field));
    unknown.map(|(name, field)| unknown_param(name, field, &known, path)).collect()
}

fn unknown_param(name: &Name, field: &str, known: &[&str], path: &str) -> Found {
    let query = format!("what follows the `?` is in `req.query.{field}`");
    let help = match (suggest::closest(field, known.iter().copied()), known) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, []) => format!("the path has none; {query}"),
        (None, known) => format!("the path has {}; {query}", suggest::list(known)),
    };
    Found {
        code: &codes::SCRIPT_UNKNOWN_PARAM,
        message: format!("the path `{path}` has no parameter `{field}`"),
        at: name.at.clone(),
        label: "always nil",
        help,
        meant: suggest::certain(field, known.iter().copied()).map(str::to_owned),
    }
}
