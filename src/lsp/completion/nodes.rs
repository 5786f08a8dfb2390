//! Nodes and properties, by the block or node in which the cursor is.

use gen_lsp_types::CompletionItemKind;

use crate::kdl::format::Format;
use crate::kdl::outline::value;
use crate::kdl::schema::{Body, Kind, NodeSpec, NotYet, Schema, ValueSpec};

use super::super::describe::describe;
use super::{Place, Proposal, beside};

/// The nodes that may stand in the block: those that may stand once and are there already are left out.
pub(super) fn nodes(place: &Place<'_>) -> Vec<Proposal> {
    let schema = place.view.schema;
    let block = place.spot.outline.end().block;
    let text = &place.document.text.all;
    let there: Vec<String> = beside(place, block).map(|name| value(text, &name)).collect();
    let given = |spec: &NodeSpec| {
        let property = block.is_some_and(|block| has_property(place, block, &spec.name));
        !spec.repeatable && (property || there.contains(&spec.name))
    };
    match block {
        None => named(schema.top(), schema, &given),
        Some(block) => match place.spot.specs[block] {
            None => Vec::new(),
            Some(spec) => {
                let options = spec.properties.iter().filter(|option| !is_later(option) && !given(option));
                let mut all: Vec<Proposal> =
                    schema.body(spec).map(|body| named(body, schema, &given)).unwrap_or_default();
                all.extend(options.map(|option| node(option, schema)));
                all
            }
        },
    }
}

fn named(body: &Body, schema: &Schema, given: &dyn Fn(&NodeSpec) -> bool) -> Vec<Proposal> {
    let open = body.nodes.iter().filter(|spec| !is_later(spec) && !given(spec));
    open.map(|spec| node(spec, schema)).collect()
}

fn is_later(spec: &NodeSpec) -> bool {
    spec.not_yet == NotYet::All
}

/// The properties that the node does not have yet.
pub(super) fn properties(place: &Place<'_>, node: usize) -> Vec<Proposal> {
    let schema = place.view.schema;
    let Some(spec) = place.spot.specs[node].filter(|_| !place.spot.is_quoted) else { return Vec::new() };
    let settings = schema.settings(spec).filter(|setting| setting.is_scalar() && !is_later(setting));
    let open = settings.filter(|setting| !setting.name.is_empty() && !has_property(place, node, &setting.name));
    open.map(|setting| {
        let mut proposal = Proposal::new(format!("{}=", setting.name), CompletionItemKind::Property);
        proposal.snippet = Some(format!("{}={}", setting.name, first_gap(setting)));
        proposal.detail = setting.default.as_ref().map(|default| format!("default: {default}"));
        proposal.about = Some(describe(schema, setting));
        proposal
    })
    .collect()
}

fn has_property(place: &Place<'_>, node: usize, name: &str) -> bool {
    let text = &place.document.text.all;
    let keys = place.spot.outline.parts(node).iter().filter_map(|part| part.key.as_ref());
    keys.into_iter().any(|key| value(text, key) == name)
}

fn node(spec: &NodeSpec, schema: &Schema) -> Proposal {
    let has_block = schema.body(spec).is_some();
    let kind = if has_block { CompletionItemKind::Struct } else { CompletionItemKind::Field };
    let mut proposal = Proposal::new(&spec.name, kind);
    proposal.snippet = Some(snippet(spec, has_block));
    proposal.detail = Some(spec.description.clone());
    proposal.about = Some(describe(schema, spec));
    proposal
}

/// The node with a gap for each value that it must have, and its block.
fn snippet(spec: &NodeSpec, has_block: bool) -> String {
    let mut out = spec.name.clone();
    let mut next = 1;
    if spec.name == "endpoint" {
        out.push_str(" ${1:GET} \"${2:/}\"");
        next = 3;
    } else if let Some(values) = &spec.values {
        for position in 0..values.min.max(usize::from(spec.is_switch())) {
            out.push_str(&format!(" {}", gap(values.at(position), next, &spec.not_yet)));
            next += 1;
        }
    }
    for property in spec.properties.iter().filter(|property| property.required) {
        if let Some(values) = &property.values {
            out.push_str(&format!(" {}={}", property.name, gap(values.at(0), next, &property.not_yet)));
            next += 1;
        }
    }
    let opens = has_block
        && (spec.values.is_none() || spec.repeatable)
        && !matches!(spec.name.as_str(), "bind" | "param" | "target" | "static");
    out.push_str(if opens { " {\n    $0\n}" } else { "$0" });
    out
}

fn first_gap(setting: &NodeSpec) -> String {
    setting.values.as_ref().map(|values| gap(values.at(0), 1, &setting.not_yet)).unwrap_or_default()
}

/// A gap for a value: the choice of what it may be, or quotes when it needs them.
fn gap(spec: &ValueSpec, number: usize, not_yet: &NotYet) -> String {
    let words = one_of(spec, not_yet);
    if spec.kind == Kind::Boolean {
        return format!("${{{number}|#true,#false|}}");
    }
    if !words.is_empty() {
        return format!("${{{number}|{}|}}", words.join(","));
    }
    let is_word = spec.refers_to.is_some() || spec.format == Some(Format::Name);
    match spec.kind {
        Kind::Text if spec.format == Some(Format::Lua) => format!("#\"\"\"\n    ${number}\n    \"\"\"#"),
        Kind::Text if !is_word => format!("\"${number}\""),
        _ => format!("${number}"),
    }
}

/// The words that a value may be, without those of a later version.
pub(super) fn one_of<'s>(spec: &'s ValueSpec, not_yet: &NotYet) -> Vec<&'s str> {
    let is_later = |word: &String| matches!(not_yet, NotYet::Values(later) if later.contains(word));
    spec.one_of.iter().filter(|word| !is_later(word)).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippets_have_gaps_for_what_must_be_given() {
        let schema = Schema::of_site().unwrap();
        let top = |name: &str| schema.top().get(name).unwrap();
        let of = |spec: &NodeSpec| snippet(spec, schema.body(spec).is_some());
        assert_eq!(of(top("endpoint")), "endpoint ${1:GET} \"${2:/}\" {\n    $0\n}");
        assert_eq!(of(top("environment")), "environment $1 {\n    $0\n}");
        assert_eq!(of(top("server")), "server {\n    $0\n}");
        assert_eq!(of(top("static")), "static \"$1\" dir=\"$2\"$0");
        let inner = |around: &str, name: &str| of(schema.setting(top(around), name).unwrap());
        assert_eq!(inner("environment", "persistent-runspaces"), "persistent-runspaces ${1|#true,#false|}$0");
        assert_eq!(inner("environment", "kind"), "kind ${1|integrated|}$0");
        assert_eq!(inner("endpoint", "environment"), "environment $1$0");
    }
}
