//! Names: variables and secrets, their Lua spelling, and the nearest known name for one that is not.

use std::collections::BTreeMap;

use crate::diag::{Diagnostic, Span, codes};
use crate::kdl::scalar::At;
use crate::kdl::suggest;

use super::{Resolver, Secrets, Variables};

/// The known name that a mistyped one most likely means: at most a third of its letters differ.
pub(super) fn nearest<'n>(wanted: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    suggest::closest(wanted, known)
}

/// The help for an unknown name: the nearest, or all of them when they are few.
pub(super) fn suggestion(wanted: &str, known: &[&str]) -> String {
    match nearest(wanted, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "none is declared".to_owned(),
        None if known.len() <= 6 => format!("declared are {}", known.join(", ")),
        None => format!("{} are declared, none of a similar name", known.len()),
    }
}

/// How a name is spelled in Lua.
pub(super) fn lua_name(name: &str) -> String {
    name.replace('-', "_")
}

/// All variables by their Lua name.
pub(super) fn variables(resolver: &mut Resolver<'_>) -> Variables {
    let config = resolver.config;
    distinct(resolver, "variable", config.variables.iter().map(|(name, _)| name));
    config.variables.iter().map(|(name, value)| (lua_name(&name.it), value.clone())).collect()
}

/// All secrets by their Lua name.
pub(super) fn secrets(resolver: &mut Resolver<'_>) -> Secrets {
    let config = resolver.config;
    distinct(resolver, "secret", config.secrets.iter().map(|(name, _)| name));
    config.secrets.iter().map(|(name, value)| (lua_name(&name.it), value.clone())).collect()
}

/// Reports names that stand twice, or that are one name in Lua.
fn distinct<'n>(resolver: &mut Resolver<'_>, kind: &str, names: impl Iterator<Item = &'n At<String>>) {
    let mut seen: BTreeMap<String, (&str, Span)> = BTreeMap::new();
    for name in names {
        let lua = lua_name(&name.it);
        let Some((earlier, span)) = seen.get(&lua).copied() else {
            seen.insert(lua, (&name.it, name.span));
            continue;
        };
        // Twice in one block was told by the structural pass.
        let is_told = |found: &Diagnostic| found.code == &codes::NODE_DUPLICATE && found.primary.span == name.span;
        if resolver.sink.iter().any(is_told) {
            continue;
        }
        let found = if earlier == name.it {
            Diagnostic::new(
                &codes::NAME_DUPLICATE,
                format!("there are two {kind}s named `{earlier}`"),
                name.span,
                "again",
            )
        } else {
            let message = format!("`{earlier}` and `{}` are both `{lua}` in Lua", name.it);
            Diagnostic::new(&codes::NAME_COLLISION, message, name.span, "the same name in Lua")
        };
        resolver.report(found.also(span, "declared here first").help("give one of them another name"));
    }
}

/// The entries of `all` that the names or globs of an environment choose. A plain name must exist.
pub(super) fn choose<V: Clone>(
    resolver: &mut Resolver<'_>,
    kind: &str,
    wanted: &[At<String>],
    all: &BTreeMap<String, V>,
    declared: &[&str],
) -> BTreeMap<String, V> {
    let mut chosen = BTreeMap::new();
    for want in wanted {
        let pattern = lua_name(&want.it);
        let glob = pattern.contains(['*', '?']);
        let matcher = glob::Pattern::new(&pattern).ok();
        let hit = |name: &str| name == pattern || glob && matcher.as_ref().is_some_and(|matcher| matcher.matches(name));
        chosen.extend(all.iter().filter(|(name, _)| hit(name)).map(|(name, value)| (name.clone(), value.clone())));
        let known = declared.iter().any(|name| lua_name(name) == pattern);
        if !glob && !known && !resolver.config.may_lack(&format!("{kind}s")) {
            let message = format!("there is no {kind} named `{}`", want.it);
            let found = Diagnostic::new(&codes::NAME_UNKNOWN, message, want.span, "not declared");
            let meant = suggest::certain(&want.it, declared.iter().copied());
            resolver.report(suggest::in_place(found.help(suggestion(&want.it, declared)), want.span, meant));
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_slip_away() {
        let known = ["shared", "integrated", "page_size"];
        let near = |wanted| nearest(wanted, known.iter().copied());
        assert_eq!(near("sharde"), Some("shared"));
        assert_eq!(near("Integratd"), Some("integrated"));
        assert_eq!(near("page-size"), Some("page_size"));
        assert_eq!(near("other"), None);
        assert_eq!(near("shared"), None);
    }
}
