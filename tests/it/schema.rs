//! The schema as a test: it describes all of the language, and `docs/reference/site.md` says what it says.
//!
//! `UPDATE=1 cargo test` writes the page anew.

use std::collections::BTreeSet;
use std::fmt::Write;

use moondock::diag::render::concise;
use moondock::diag::{Diagnostics, Sources};
use moondock::kdl::document::Parser;
use moondock::kdl::format::{FORMATS, Format};
use moondock::kdl::schema::{Kind, NodeSpec, NotYet, Schema, TEXT, ValueSpec, Values};

use crate::harness::repository;

const PAGE: &str = "docs/reference/site.md";

fn schema() -> Schema {
    Schema::of_site().unwrap()
}

#[test]
fn every_node_option_and_value_is_described() {
    let schema = schema();
    for spec in schema.all() {
        let name = &spec.name;
        assert!(!spec.description.is_empty(), "`{name}` has no description");
        assert!(!spec.description.ends_with('.'), "the description of `{name}` ends with a full stop");
        let values = spec.values.iter().filter(|_| !schema.is_property(spec));
        for value in values.flat_map(|values| std::iter::once(&values.each).chain(values.at.iter().map(|(_, at)| at))) {
            assert!(!value.description.is_empty(), "the value of `{name}` has no description");
        }
    }
}

#[test]
fn every_format_is_used_and_has_one_name() {
    let schema = schema();
    let values = schema.all().filter_map(|spec| spec.values.as_ref());
    let specs = values.flat_map(|values| std::iter::once(&values.each).chain(values.at.iter().map(|(_, at)| at)));
    let mut used: BTreeSet<&str> = specs.filter_map(|spec| spec.format).map(Format::name).collect();
    used.extend(schema.bodies().filter_map(|body| body.names).map(Format::name));
    let known: BTreeSet<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
    assert_eq!(used, known, "the formats that the schema names, and those that moondock has");
    assert_eq!(known.len(), FORMATS.len(), "two formats have one name");
}

#[test]
fn every_name_that_is_referred_to_can_be_declared() {
    let schema = schema();
    let declared: BTreeSet<&str> = schema.all().filter_map(|spec| spec.declares.as_deref()).collect();
    for spec in schema.all() {
        let Some(kind) = spec.values.as_ref().and_then(|values| values.each.refers_to.as_deref()) else {
            continue;
        };
        assert!(declared.contains(kind), "nothing declares the `{kind}` that `{}` refers to", spec.name);
    }
}

#[test]
fn no_alias_is_a_name_beside_it() {
    let schema = schema();
    for body in schema.bodies() {
        for alias in body.nodes.iter().flat_map(|node| &node.aliases) {
            assert!(body.nodes.iter().all(|node| node.name != *alias), "`{alias}` is an alias and a name");
        }
    }
}

#[test]
fn every_example_is_right() {
    let schema = schema();
    let top = schema.top().nodes.iter().map(|node| (None, node));
    let inner = schema.all().flat_map(|owner| {
        let nodes = schema.body(owner).into_iter().flat_map(|body| &body.nodes);
        nodes.map(move |node| (Some(owner.name.as_str()), node))
    });
    for (owner, node) in top.chain(inner).filter(|(_, node)| node.not_yet != NotYet::All) {
        for example in &node.examples {
            let text = match owner {
                None => example.clone(),
                Some(owner) => within(owner, example),
            };
            let mut found = Diagnostics::default();
            let mut sources = Sources::default();
            let file = sources.add("example", text.as_str());
            Parser::default().parse(file, &text, &mut found);
            assert!(found.is_empty(), "{text}\n{}", concise(&found, &sources));
        }
    }
}

/// An example inside a node that may hold it.
fn within(owner: &str, example: &str) -> String {
    match owner {
        "endpoint" => format!("endpoint GET \"/\" {{ {example}; }}"),
        "param" => within("endpoint", &format!("param a {{ {example}; }}")),
        "target" => format!("logging {{ target console {{ {example}; }}; }}"),
        "group" | "environment" => format!("{owner} a {{ {example}; }}"),
        "static" => format!("static a dir=b {{ {example}; }}"),
        owner => format!("{owner} {{ {example}; }}"),
    }
}

#[test]
fn the_schema_is_what_the_repository_has() {
    let file = std::fs::read_to_string(repository().join("schemas/site.kdl-schema")).unwrap();
    assert_eq!(TEXT, file);
    assert!(!schema().version.is_empty());
}

#[test]
fn the_reference_is_generated_from_the_schema() {
    let page = Page::of(&schema());
    let path = repository().join(PAGE);
    if std::env::var("UPDATE").is_ok_and(|value| value == "1") {
        std::fs::write(&path, &page).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(have == page, "{PAGE} is not what the schema says; UPDATE=1 cargo test writes it anew");
}

/// The page under way.
struct Page<'a> {
    schema: &'a Schema,
    text: String,
    told: BTreeSet<String>,
}

const HEAD: &str = "\
# Every node and setting of site.kdl

This page is generated from `schemas/site.kdl-schema`; `UPDATE=1 cargo test` writes it anew. The guide explains how the \
parts work together.

A setting with one value may be written as a property (`timeout=\"5s\"`) or as a child (`timeout \"5s\"`), never both \
at once. A switch that stands alone (`compress`) means `#true`. Every value may be read from outside: `(env)NAME` an \
environment variable, `(file)\"path\"` a file, `(secret)name` an entry of `secrets`; `default=\"…\"` beside it holds \
when it is not there.

Durations and sizes are text with a unit, and fractions will do: `\"250ms\"`, `\"1.5s\"`, `\"1h 30m\"`, `\"64KiB\"`. The \
units of time are `ms`, `s`, `m`, `h` and `d`; those of sizes are `B`, `KiB`, `MiB` and `GiB` (1024 each), and `KB`, `MB` \
and `GB` (1000 each).

A setting of an endpoint wins over that of its group, an inner group over an outer one, the group over the environment, \
the environment over `server`. A node may stand once, unless it says \"several\".
";

impl<'a> Page<'a> {
    fn of(schema: &'a Schema) -> String {
        let mut page = Self { schema, text: HEAD.to_owned(), told: BTreeSet::new() };
        let (later, now): (Vec<_>, Vec<_>) = schema.top().nodes.iter().partition(|node| node.not_yet == NotYet::All);
        for node in now {
            page.section(node, "");
        }
        page.later("of the top level", &later);
        page.text
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The section of a node, then those of the nodes inside that have settings of their own.
    fn section(&mut self, node: &'a NodeSpec, within: &str) {
        let path = format!("{within}{}", node.name);
        if !self.told.insert(format!("{} {}", node.name, node.description)) {
            return;
        }
        let level = if within.is_empty() { "##" } else { "###" };
        writeln!(self.text, "\n{level} {path}\n\n{}.", node.description).unwrap();
        self.facts(node);
        let settings: Vec<&NodeSpec> = self.schema.settings(node).collect();
        let (later, now): (Vec<&NodeSpec>, Vec<&NodeSpec>) =
            settings.into_iter().partition(|setting| setting.not_yet == NotYet::All);
        self.table(&now);
        self.free(node);
        self.later(&format!("of `{}`", node.name), &later);
        for setting in now.into_iter().filter(|setting| self.schema.settings(setting).next().is_some()) {
            self.section(setting, &format!("{path} / "));
        }
    }

    fn facts(&mut self, node: &NodeSpec) {
        if node.repeatable && !self.schema.is_property(node) {
            self.add("It may stand several times.\n");
        }
        if let Some(hint) = &node.hint {
            writeln!(self.text, "{hint}").unwrap();
        }
        if let Some(values) = &node.values {
            write!(self.text, "\nTakes {}.", takes(values)).unwrap();
            if let Some(default) = &node.default {
                write!(self.text, " Without it: {}.", code(default, values)).unwrap();
            }
            self.add("\n");
        }
        if let NotYet::Values(later) = &node.not_yet
            && later.iter().all(|value| value != "*")
        {
            let later: Vec<String> = later.iter().map(|value| format!("`{value}`")).collect();
            writeln!(self.text, "\nOf a later version: {}.", later.join(", ")).unwrap();
        }
        for example in &node.examples {
            writeln!(self.text, "\nExample: {}", inline(example)).unwrap();
        }
    }

    fn table(&mut self, settings: &[&NodeSpec]) {
        if settings.is_empty() {
            return;
        }
        self.add("\n| setting | takes | default | what it is |\n| --- | --- | --- | --- |\n");
        for setting in settings {
            let mark = match setting {
                setting if setting.required => " (needed)",
                setting if setting.repeatable => " (several)",
                _ => "",
            };
            let name = format!("`{}`{mark}", setting.name);
            let takes = setting.values.as_ref().map_or_else(|| "a block".to_owned(), takes);
            let default = match (&setting.default, &setting.values) {
                (Some(default), Some(values)) => code(default, values),
                _ => String::new(),
            };
            let row = format!("| {name} | {takes} | {default} | {} |\n", sentence(&setting.description));
            self.add(&row);
        }
    }

    fn free(&mut self, node: &NodeSpec) {
        let Some(any) = self.schema.body(node).and_then(|body| body.any.as_deref()) else {
            return;
        };
        let takes = any.values.as_ref().map_or_else(String::new, takes);
        writeln!(self.text, "\nEach node inside is {}; its name is free, and it takes {takes}.", any.description)
            .unwrap();
        self.table(&any.properties.iter().collect::<Vec<_>>());
    }

    fn later(&mut self, place: &str, later: &[&NodeSpec]) {
        if !later.is_empty() {
            let names: Vec<String> = later.iter().map(|node| format!("`{}`", node.name)).collect();
            writeln!(self.text, "\nKnown nodes {place} that a later version brings: {}.", names.join(", ")).unwrap();
        }
    }
}

/// A default as code when it is a value of the language, as it is when it is a phrase.
fn code(text: &str, values: &Values) -> String {
    let quantity = matches!(values.at(0).format, Some(Format::Duration | Format::Size));
    match text {
        text if quantity && !text.contains(' ') => inline(&format!("\"{text}\"")),
        text if text.contains([' ', '`']) || matches!(text, "none" | "all" | "both") => text.to_owned(),
        text => inline(text),
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), chars.as_str()))
}

fn inline(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

fn takes(values: &Values) -> String {
    if values.at.is_empty() {
        let one = value(&values.each);
        return match values.max {
            Some(1) if values.min == 0 => format!("{one}, or nothing"),
            Some(1) => one,
            _ => format!("{one}, several"),
        };
    }
    let parts = values.at.iter().map(|(position, spec)| {
        let (what, form) = (&spec.description, value(spec));
        let what = if *what == form { form } else { format!("{what}: {form}") };
        if *position < values.min { what } else { format!("then, if any, {what}") }
    });
    parts.collect::<Vec<_>>().join("; ")
}

fn value(spec: &ValueSpec) -> String {
    if !spec.one_of.is_empty() {
        let words: Vec<String> = spec.one_of.iter().map(|word| format!("`{word}`")).collect();
        return words.join(" ");
    }
    let kind = match (spec.format, spec.kind) {
        (Some(Format::Duration), _) => "a duration",
        (Some(Format::Size), _) => "a size",
        (_, Kind::Text) => &spec.description,
        (_, Kind::Any) => "any value",
        (_, kind) => kind.name(),
    };
    let kind = if kind.is_empty() { spec.kind.name() } else { kind };
    if let Some(least) = &spec.from {
        return format!("{kind}, at least {least}");
    }
    match (spec.least, spec.most) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        (Some(least), None) => format!("{kind}, at least {least}"),
        (None, Some(most)) => format!("{kind}, at most {most}"),
        (None, None) => kind.to_owned(),
    }
}
