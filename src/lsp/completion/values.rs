//! Values: words that a value may be, switches, names, annotations, files.

use gen_lsp_types::CompletionItemKind;

use crate::endpoint::pattern::Pattern;
use crate::kdl::format::Format;
use crate::kdl::outline::{Part, is_bare, value};
use crate::kdl::schema::{NodeSpec, NotYet, ValueSpec};

use super::super::describe::{ANNOTATIONS, is_switch, phrase};
use super::super::names;
use super::nodes::one_of;
use super::{Place, Proposal, files};

/// The methods that an endpoint may answer, the most usual first.
const METHODS: [&str; 8] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "ANY"];

/// What an argument of the node may be.
pub(super) fn arguments(place: &Place<'_>, node: usize, position: usize) -> Vec<Proposal> {
    let Some(spec) = place.spot.specs[node] else { return Vec::new() };
    let Some(values) = spec.values.as_ref().filter(|values| values.max.is_none_or(|max| position < max)) else {
        return Vec::new();
    };
    match spec.name.as_str() {
        "endpoint" if spec.declares.is_none() && !place.spot.is_quoted && values.min == 2 => {
            return METHODS.map(|method| Proposal::new(method, CompletionItemKind::EnumMember)).into();
        }
        "param" => return parameters(place),
        _ => {}
    }
    let part = place.spot.last(node).filter(|_| !place.spot.half.is_empty()).cloned().unwrap_or_default();
    of_spec(place, node, &part, spec, values.at(position))
}

/// What the value of the last part of the node may be.
pub(super) fn of_last(place: &Place<'_>, node: usize) -> Vec<Proposal> {
    let Some(part) = place.spot.last(node).cloned() else { return Vec::new() };
    let text = &place.document.text.all;
    match part.note.as_ref().map(|note| &text[note.clone()]) {
        Some("env") => return variables(),
        Some("file") => return files::files(place, None),
        Some("secret") => return names_of(place, "secret"),
        Some(_) => return Vec::new(),
        None => {}
    }
    let Some(spec) = place.spot.specs[node] else { return Vec::new() };
    let key = part.key.as_ref().map(|key| value(text, key));
    let setting = key.as_ref().and_then(|key| place.view.schema.setting(spec, key));
    match setting.and_then(|setting| Some((setting, setting.values.as_ref()?.at(0)))) {
        Some((setting, value)) => of_spec(place, node, &part, setting, value),
        None => Vec::new(),
    }
}

fn of_spec(place: &Place<'_>, node: usize, part: &Part, owner: &NodeSpec, spec: &ValueSpec) -> Vec<Proposal> {
    let Place { view, document, spot } = place;
    if let Some(kind) = names::meant(&document.text.all, &spot.outline, &spot.specs, view.schema, node, part) {
        return names_of(place, kind);
    }
    if is_switch(spec) {
        return ["#true", "#false"].map(|word| Proposal::new(word, CompletionItemKind::Keyword)).into();
    }
    if !spec.one_of.is_empty() {
        return words(place, owner, spec);
    }
    match spec.format {
        Some(format @ (Format::Script | Format::Glob | Format::Path)) => files::files(place, Some(format)),
        _ => example(place, owner, spec),
    }
}

fn words(place: &Place<'_>, owner: &NodeSpec, spec: &ValueSpec) -> Vec<Proposal> {
    let word = |word: &str| {
        let mut proposal = Proposal::new(written(place, word), CompletionItemKind::EnumMember);
        proposal.about = Some(format!("{}.", owner.description));
        proposal
    };
    one_of(spec, &owner.not_yet).into_iter().map(word).collect()
}

/// The default, when a value like it can be written: it shows the form.
fn example(place: &Place<'_>, owner: &NodeSpec, spec: &ValueSpec) -> Vec<Proposal> {
    let is_value = |default: &&String| {
        !default.contains(' ') && (spec.format.is_some_and(Format::is_quantity) || default.parse::<f64>().is_ok())
    };
    let Some(default) = owner.default.as_ref().filter(is_value).filter(|_| owner.not_yet == NotYet::Nothing) else {
        return Vec::new();
    };
    let text = if default.parse::<f64>().is_ok() { default.clone() } else { written(place, default) };
    let mut proposal = Proposal::new(text, CompletionItemKind::Value);
    proposal.detail = Some(format!("the default; {}", phrase(spec)));
    vec![proposal]
}

/// A word as it is written here: with quotes when it needs them, or when one is written already.
pub(super) fn written(place: &Place<'_>, word: &str) -> String {
    let quotes = place.spot.is_quoted || !is_bare(word);
    if quotes { format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")) } else { word.to_owned() }
}

/// The names of a kind that the site declares.
fn names_of(place: &Place<'_>, kind: &str) -> Vec<Proposal> {
    let mut known: Vec<String> = names::pages(place.view, place.document)
        .iter()
        .flat_map(|page| page.declared(place.view.schema, kind))
        .filter(|(_, range)| *range != place.spot.half)
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty())
        .collect();
    known.sort();
    known.dedup();
    let proposal = |name: &String| {
        let mut proposal = Proposal::new(written(place, name), CompletionItemKind::Reference);
        proposal.detail = Some(kind.to_owned());
        proposal
    };
    known.iter().map(proposal).collect()
}

/// The parameters of the paths around the cursor: those of the endpoint and of its groups.
fn parameters(place: &Place<'_>) -> Vec<Proposal> {
    let Place { document, spot, .. } = place;
    let mut around = spot.outline.end().block;
    let mut names: Vec<String> = Vec::new();
    while let Some(node) = around {
        let path = spot.outline.arguments(node).last().and_then(|part| part.value.clone());
        let pattern = path.and_then(|path| Pattern::parse(&value(&document.text.all, &path)).ok());
        names.extend(pattern.iter().flat_map(Pattern::names).map(ToString::to_string));
        around = spot.outline.nodes()[node].parent;
    }
    names.iter().map(|name| Proposal::new(written(place, name), CompletionItemKind::Variable)).collect()
}

/// The names of environment variables, never their values.
fn variables() -> Vec<Proposal> {
    let mut names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    names.retain(|name| is_bare(name));
    names.sort();
    names.iter().map(|name| Proposal::new(name, CompletionItemKind::Variable)).collect()
}

/// The annotations of values.
pub(super) fn annotations() -> Vec<Proposal> {
    let proposal = |(name, about): (&str, &str)| {
        let mut proposal = Proposal::new(name, CompletionItemKind::Keyword);
        proposal.about = Some(about.to_owned());
        proposal
    };
    ANNOTATIONS.map(proposal).into()
}
