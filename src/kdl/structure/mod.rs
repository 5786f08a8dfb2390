//! The structural pass: every node of a chunk against the schema, every mistake told once.
//!
//! This file walks nodes and properties; `arguments` looks at values, `children` at blocks,
//! `foreign` knows what other servers say.
//!
//! Spans count from the chunk's first byte, in file 0: a chunk and its findings are kept from one load to the next, and
//! moved to where the chunk now stands when they are told.

mod arguments;
mod children;
mod foreign;

use std::collections::HashMap;

use crate::diag::{Diagnostic, FileId, Span, codes};

use super::scalar::Plain;
use super::schema::{NodeSpec, NotYet, Schema};
use super::suggest;
use super::tree::{At, Entry, Node, Word};

/// What the pass found in a chunk.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The mistakes.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Places that no other finding may be about.
    pub(super) faults: Vec<At>,
}

/// Checks the nodes of a chunk. About `unread` places, in the order of the text, nothing is known, and nothing is told.
pub(super) fn check(nodes: &[Node], schema: &Schema, chunk: &str, unread: &[At]) -> Found {
    let found = Found { diagnostics: Vec::new(), faults: unread.to_vec() };
    let mut pass = Pass { schema, chunk, unread, found };
    for node in nodes {
        match schema.top().get(&node.name.text) {
            Some(spec) => pass.node(node, spec),
            None => pass.unknown_node(node, None, schema.top(), &[]),
        }
    }
    pass.found
}

/// A place of the chunk as a span of file 0.
pub(super) fn span(at: At) -> Span {
    Span::new(FileId(0), at.range())
}

struct Pass<'a> {
    schema: &'a Schema,
    chunk: &'a str,
    unread: &'a [At],
    found: Found,
}

impl Pass<'_> {
    fn report(&mut self, at: At, diagnostic: Diagnostic) {
        self.found.faults.push(at);
        let told = diagnostic.primary.span;
        let next = self.unread.partition_point(|unread| unread.end <= told.start);
        if self.unread.get(next).is_some_and(|unread| unread.start < told.end) {
            return;
        }
        self.found.diagnostics.push(diagnostic);
    }

    fn node(&mut self, node: &Node, spec: &NodeSpec) {
        if self.not_yet(node.name.at, &node.name.text, node.arguments().next(), spec) {
            return self.found.faults.push(node.extent);
        }
        if let Some(note) = &node.note {
            let found = Diagnostic::new(
                &codes::VALUE_ANNOTATION,
                format!("`{}` takes no annotation", node.name.text),
                span(note.at),
                "only values have one",
            );
            self.report(note.at, found.help("remove it, or put it before a value"));
        }
        self.arguments(node, spec);
        self.properties(node, spec);
        self.children(node, spec);
        self.required(node, spec);
    }

    /// Whether the node, or the value that makes it what it is, is of a later release; tells it.
    fn not_yet(&mut self, at: At, name: &str, first: Option<&Entry>, spec: &NodeSpec) -> bool {
        let (at, what) = match (&spec.not_yet, first) {
            (NotYet::All, _) => (at, name.to_owned()),
            (NotYet::Values(later), Some(Entry { value: Plain::Text(text), at, note: None, .. }))
                if later.contains(text) =>
            {
                (*at, format!("{name} {text}"))
            }
            (NotYet::Values(later), Some(Entry { at, .. })) if later.iter().any(|value| value == "*") => {
                (*at, format!("{name} {}", &self.chunk[at.range()]))
            }
            _ => return false,
        };
        self.report(at, later(&what, at));
        true
    }

    fn properties(&mut self, node: &Node, spec: &NodeSpec) {
        let mut seen: HashMap<&str, At> = HashMap::new();
        for (key, entry) in node.properties() {
            if let Some(first) = seen.insert(&key.text, key.at) {
                let message = format!("`{}` is given twice", key.text);
                let found = Diagnostic::new(&codes::PROP_DUPLICATE, message, span(key.at), "given again");
                self.report(key.at, found.also(span(first), "first here").help("keep one"));
                continue;
            }
            match self.schema.setting(spec, &key.text) {
                Some(setting) if setting.is_scalar() => self.property(node, key, entry, setting),
                Some(setting) => self.not_a_property(key, entry, setting),
                None if is_default(node, key) => self.default(node, entry, spec),
                None => self.unknown_property(node, key, entry, spec),
            }
        }
    }

    /// `default=` must be what the value beside it must be.
    fn default(&mut self, node: &Node, entry: &Entry, spec: &NodeSpec) {
        let position = node.arguments().position(is_outside);
        if let (Some(position), Some(values)) = (position, &spec.values) {
            self.value("default", entry, values.at(position));
        }
    }

    fn property(&mut self, node: &Node, key: &Word, entry: &Entry, setting: &NodeSpec) {
        if self.not_yet(key.at, &key.text, Some(entry), setting) {
            return self.found.faults.push(entry.at);
        }
        if let Some(child) = node.nodes().iter().find(|child| child.name.text == key.text) {
            let message = format!("`{}` is set twice on this `{}`", key.text, node.name.text);
            let found = Diagnostic::new(&codes::SETTING_TWICE, message, span(child.name.at), "once as a child");
            self.report(child.name.at, found.also(span(key.at), "once as a property").help("keep one of the two"));
        }
        if let Some(values) = &setting.values {
            self.value(&key.text, entry, values.at(0));
        }
    }

    fn not_a_property(&mut self, key: &Word, entry: &Entry, setting: &NodeSpec) {
        if self.not_yet(key.at, &key.text, Some(entry), setting) {
            return self.found.faults.push(entry.at);
        }
        let message = format!("`{}` cannot be a property", key.text);
        let found = Diagnostic::new(&codes::PROP_UNKNOWN, message, span(key.at), "this is a node of its own");
        let help = match setting.examples.first() {
            Some(example) => format!("write it inside the block: {example}"),
            None => format!("write it inside the block: {} …", key.text),
        };
        self.report(key.at, found.help(help));
        self.found.faults.push(entry.at);
    }

    fn unknown_property(&mut self, node: &Node, key: &Word, entry: &Entry, spec: &NodeSpec) {
        let name = &node.name.text;
        let message = format!("`{name}` has no setting `{}`", key.text);
        let mut found = Diagnostic::new(&codes::PROP_UNKNOWN, message, span(key.at), "not a setting of it");
        let settings = self.schema.settings(spec).filter(|setting| setting.is_scalar());
        match self.likely(&key.text, Some(name), settings) {
            Some((meant, help)) => {
                found = found.help(help);
                let given = |name: &str| node.property(name).is_some() || node.has_child(name);
                if let Some(meant) = meant.filter(|meant| !given(meant)) {
                    found = found.fix(format!("write {meant}"), span(key.at), meant);
                }
            }
            None if &*key.text == "default" => {
                found = found.help("`default` stands beside a value that is read with (env) or (file)");
            }
            None => {}
        }
        self.report(key.at, found);
        self.found.faults.push(entry.at);
    }

    /// What was certainly meant by a word, with the help that says what was likely meant, or lists what there is.
    fn likely<'s>(
        &self,
        word: &str,
        parent: Option<&str>,
        known: impl Iterator<Item = &'s NodeSpec>,
    ) -> Option<(Option<String>, String)> {
        let known: Vec<&NodeSpec> = known.collect();
        let written = suggest::plain(word);
        let alias = known.iter().find(|spec| spec.aliases.contains(&written));
        if let Some(help) = foreign::help(word, parent).filter(|_| alias.is_none()) {
            return Some((None, help.to_owned()));
        }
        let names = || known.iter().map(|spec| spec.name.as_str());
        let meant = alias.map(|spec| spec.name.as_str()).or_else(|| suggest::closest(word, names()));
        match meant {
            Some(meant) => {
                let certain = alias.map(|spec| spec.name.as_str()).or_else(|| suggest::certain(word, names()));
                Some((certain.map(str::to_owned), format!("did you mean `{meant}`?")))
            }
            None => suggest::help(word, names()).map(|help| (None, help)),
        }
    }
}

/// Says that something is of a later release.
fn later(what: &str, at: At) -> Diagnostic {
    let message = format!("`{what}` is not available yet in this version of moondock");
    let found = Diagnostic::new(&codes::NODE_NOT_YET, message, span(at), "of a later version");
    found.help("leave it out for now")
}

fn within(inner: At, outer: At) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether `key` is the `default=` of a value that is read from outside.
fn is_default(node: &Node, key: &Word) -> bool {
    &*key.text == "default" && node.arguments().any(is_outside)
}

fn is_outside(entry: &Entry) -> bool {
    matches!(entry.note.as_ref().map(|note| &*note.text), Some("env" | "file"))
}
