//! The structural pass: every node of a chunk against the schema, every mistake told once.
//!
//! Spans count from the chunk's first byte, in file 0: a chunk and its findings are kept from one load to the next, and
//! moved to where the chunk now stands when they are told.

use std::collections::HashMap;

use crate::diag::{Code, Diagnostic, FileId, Span, codes};

use super::scalar::{Bad, Plain};
use super::schema::{Body, NodeSpec, NotYet, Schema, ValueSpec, Values};
use super::suggest;
use super::tree::{At, Entry, Node, Word};
use super::values;

/// What the pass found in a chunk.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The mistakes.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Places that no other finding may be about.
    pub(super) faults: Vec<At>,
}

/// Checks the nodes of a chunk.
pub(super) fn check(nodes: &[Node], schema: &Schema, chunk: &str) -> Found {
    let mut pass = Pass {
        schema,
        chunk,
        found: Found::default(),
    };
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
    found: Found,
}

impl Pass<'_> {
    fn report(&mut self, at: At, diagnostic: Diagnostic) {
        self.found.faults.push(at);
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
            (
                NotYet::Values(later),
                Some(Entry {
                    value: Plain::Text(text),
                    at,
                    note: None,
                    ..
                }),
            ) if later.contains(text) => (*at, format!("{name} {text}")),
            _ => return false,
        };
        let message = format!("`{what}` is not available yet in this version of moondock");
        let found = Diagnostic::new(
            &codes::NODE_NOT_YET,
            message,
            span(at),
            "of a later version",
        );
        self.report(at, found.help("leave it out for now"));
        true
    }

    fn arguments(&mut self, node: &Node, spec: &NodeSpec) {
        let given: Vec<&Entry> = node.arguments().collect();
        let Some(values) = &spec.values else {
            if let Some(first) = given.first() {
                self.unexpected(node, first, 0, spec);
            }
            return;
        };
        if given.len() < values.min && !(given.is_empty() && spec.is_switch()) {
            self.missing(node, spec, values);
        }
        if let Some(extra) = values.max.and_then(|max| given.get(max)) {
            self.unexpected(node, extra, values.max.unwrap_or(0), spec);
        }
        for (position, entry) in given
            .iter()
            .take(values.max.unwrap_or(usize::MAX))
            .enumerate()
        {
            self.value(&node.name.text, entry, values.at(position));
        }
    }

    fn missing(&mut self, node: &Node, spec: &NodeSpec, values: &Values) {
        let name = &node.name.text;
        let message = match values.min {
            1 => format!("`{name}` needs a value"),
            _ if !values.each.description.is_empty() => {
                format!("`{name}` needs {}", values.each.description)
            }
            least => format!("`{name}` needs {least} values"),
        };
        let found = Diagnostic::new(
            &codes::VALUE_MISSING,
            message,
            span(node.name.at),
            "nothing follows",
        );
        let found = match spec.examples.first() {
            Some(example) => found.help(format!("for example: {example}")),
            None if values.each.description.is_empty() => found,
            None => found.help(format!("it takes {}", values.each.description)),
        };
        self.report(node.name.at, found);
    }

    fn unexpected(&mut self, node: &Node, extra: &Entry, max: usize, spec: &NodeSpec) {
        let name = &node.name.text;
        let message = match max {
            0 => format!("`{name}` takes no value"),
            1 => format!("`{name}` takes one value"),
            _ => format!("`{name}` takes {max} values at most"),
        };
        let found = Diagnostic::new(
            &codes::VALUE_UNEXPECTED,
            message,
            span(extra.at),
            "one too many",
        );
        let found = match spec.examples.first() {
            Some(example) => found.help(format!("for example: {example}")),
            None if max == 0 && !spec.properties.is_empty() => {
                found.help("its settings are written  name=value")
            }
            None => found,
        };
        self.report(extra.at, found);
    }

    fn properties(&mut self, node: &Node, spec: &NodeSpec) {
        let mut seen: HashMap<&str, At> = HashMap::new();
        for (key, entry) in node.properties() {
            if let Some(first) = seen.insert(&key.text, key.at) {
                let message = format!("`{}` is given twice", key.text);
                let found =
                    Diagnostic::new(&codes::PROP_DUPLICATE, message, span(key.at), "given again");
                self.report(
                    key.at,
                    found.also(span(first), "first here").help("keep one"),
                );
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
        if let Some(child) = node
            .nodes()
            .iter()
            .find(|child| child.name.text == key.text)
        {
            let message = format!("`{}` is set twice on this `{}`", key.text, node.name.text);
            let found = Diagnostic::new(
                &codes::SETTING_TWICE,
                message,
                span(child.name.at),
                "once as a child",
            );
            self.report(
                child.name.at,
                found
                    .also(span(key.at), "once as a property")
                    .help("keep one of the two"),
            );
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
        let found = Diagnostic::new(
            &codes::PROP_UNKNOWN,
            message,
            span(key.at),
            "this is a node of its own",
        );
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
        let mut found = Diagnostic::new(
            &codes::PROP_UNKNOWN,
            message,
            span(key.at),
            "not a setting of it",
        );
        let settings = self
            .schema
            .settings(spec)
            .filter(|setting| setting.is_scalar());
        match self.likely(&key.text, settings) {
            Some((meant, help)) => {
                found = found.help(help);
                if let Some(meant) = meant {
                    found = found.fix(format!("write {meant}"), span(key.at), meant);
                }
            }
            None if &*key.text == "default" => {
                found =
                    found.help("`default` stands beside a value that is read with (env) or (file)");
            }
            None => {}
        }
        self.report(key.at, found);
        self.found.faults.push(entry.at);
    }

    /// What was likely meant by a word, with the help that says so; without a guess the help lists what there is.
    fn likely<'s>(
        &self,
        word: &str,
        known: impl Iterator<Item = &'s NodeSpec>,
    ) -> Option<(Option<String>, String)> {
        let known: Vec<&NodeSpec> = known.collect();
        let alias = known
            .iter()
            .find(|spec| spec.aliases.iter().any(|alias| alias == word));
        let names = || known.iter().map(|spec| spec.name.as_str());
        let meant = alias
            .map(|spec| spec.name.as_str())
            .or_else(|| suggest::closest(word, names()));
        match meant {
            Some(meant) => Some((Some(meant.to_owned()), format!("did you mean `{meant}`?"))),
            None => suggest::help(word, names()).map(|help| (None, help)),
        }
    }

    fn children(&mut self, node: &Node, spec: &NodeSpec) {
        let body = self.schema.body(spec);
        if body.is_none() && spec.properties.is_empty() {
            if let Some(first) = node.nodes().first() {
                let message = format!("`{}` takes no block", node.name.text);
                let found = Diagnostic::new(
                    &codes::NODE_NO_BLOCK,
                    message,
                    span(first.name.at),
                    "nothing can stand here",
                );
                self.report(first.extent, found.help("remove the block"));
                self.found.faults.push(node.extent);
            }
            return;
        }
        let empty = Body::default();
        let body = body.unwrap_or(&empty);
        let mut seen: HashMap<&str, At> = HashMap::new();
        let later = self.later_kind(node, spec);
        for child in node.nodes() {
            let Some(setting) = self.schema.setting(spec, &child.name.text) else {
                self.unknown_node(child, Some(node), body, &spec.properties);
                continue;
            };
            if later && setting.not_yet == NotYet::All {
                self.found.faults.push(child.extent);
                continue;
            }
            self.free_name(child, setting, body);
            let first = seen.insert(&child.name.text, child.name.at);
            if let Some(first) = first.filter(|_| !setting.repeatable) {
                self.duplicate(child, node, first);
                continue;
            }
            self.node(child, setting);
        }
    }

    /// Whether a setting of the node has a value of a later release, which explains its other later settings.
    fn later_kind(&self, node: &Node, spec: &NodeSpec) -> bool {
        self.schema.settings(spec).any(|setting| {
            let NotYet::Values(later) = &setting.not_yet else { return false };
            let child = node.nodes().iter().find(|child| *child.name.text == setting.name);
            let entry = child.and_then(|child| child.arguments().next()).or_else(|| node.property(&setting.name));
            !setting.repeatable
                && matches!(entry.map(|entry| &entry.value), Some(Plain::Text(text)) if later.contains(text))
        })
    }

    fn free_name(&mut self, child: &Node, setting: &NodeSpec, body: &Body) {
        let Some(format) = body.names.filter(|_| setting.name.is_empty()) else {
            return;
        };
        if let Err(bad) = format.check(&Plain::Text(child.name.text.to_string())) {
            let code = values::code(format);
            let found = self.bad(code, &child.name.text, child.name.at, bad);
            self.report(child.name.at, found);
        }
    }

    fn duplicate(&mut self, node: &Node, parent: &Node, first: At) {
        let message = format!(
            "`{}` may be given once in `{}`",
            node.name.text, parent.name.text
        );
        let found = Diagnostic::new(
            &codes::NODE_DUPLICATE,
            message,
            span(node.name.at),
            "given again",
        );
        self.report(
            node.extent,
            found
                .also(span(first), "first here")
                .help("merge them, or remove one"),
        );
    }

    fn unknown_node(
        &mut self,
        node: &Node,
        parent: Option<&Node>,
        body: &Body,
        options: &[NodeSpec],
    ) {
        let name = &*node.name.text;
        let place = parent.map_or("the top level".to_owned(), |parent| {
            format!("`{}`", parent.name.text)
        });
        let homes = self.schema.parents(name);
        let found = if homes.is_empty() {
            let message = match parent {
                Some(_) => format!("{place} has no `{name}`"),
                None => format!("there is no node `{name}`"),
            };
            let found = Diagnostic::new(
                &codes::NODE_UNKNOWN,
                message,
                span(node.name.at),
                "not known here",
            );
            match self.likely(name, body.nodes.iter().chain(options)) {
                Some((Some(meant), help)) => {
                    found
                        .help(help)
                        .fix(format!("write {meant}"), span(node.name.at), meant)
                }
                Some((None, help)) => found.help(help),
                None => found,
            }
        } else {
            self.misplaced(node, parent, &place, &homes)
        };
        self.report(node.extent, found);
    }

    fn misplaced(
        &self,
        node: &Node,
        parent: Option<&Node>,
        place: &str,
        homes: &[Option<&str>],
    ) -> Diagnostic {
        let name = &node.name.text;
        let message = match parent {
            Some(_) => format!("`{name}` cannot stand in {place}"),
            None => format!("`{name}` cannot stand at the top level"),
        };
        let found = Diagnostic::new(
            &codes::NODE_MISPLACED,
            message,
            span(node.name.at),
            "not here",
        );
        let found = match parent {
            Some(parent) => found.also(span(parent.name.at), "this is the node around it"),
            None => found,
        };
        let mut homes: Vec<String> = homes
            .iter()
            .map(|home| home.map_or("the top level".to_owned(), |home| format!("`{home}`")))
            .collect();
        let last = homes.pop().unwrap_or_default();
        let homes = if homes.is_empty() {
            last
        } else {
            format!("{} or {last}", homes.join(", "))
        };
        found.help(format!("it belongs to {homes}"))
    }

    fn required(&mut self, node: &Node, spec: &NodeSpec) {
        let given = |name: &str| {
            node.property(name).is_some()
                || node.nodes().iter().any(|child| &*child.name.text == name)
        };
        let missing = |setting: &&NodeSpec| setting.required && !given(&setting.name);
        let missing: Vec<NodeSpec> = self
            .schema
            .settings(spec)
            .filter(missing)
            .cloned()
            .collect();
        if self
            .found
            .faults
            .iter()
            .any(|fault| within(*fault, node.extent))
        {
            return;
        }
        for setting in missing {
            let message = format!("`{}` needs `{}`", node.name.text, setting.name);
            let found = Diagnostic::new(
                &codes::SETTING_MISSING,
                message,
                span(node.name.at),
                "not given",
            );
            self.report(
                node.name.at,
                found.help(format!("it is {}", setting.description)),
            );
        }
    }

    fn value(&mut self, owner: &str, entry: &Entry, spec: &ValueSpec) {
        if let Some(note) = &entry.note {
            return self.annotated(note, entry);
        }
        let literal = &self.chunk[entry.at.range()];
        if let Plain::Text(text) = &entry.value
            && literal.ends_with(',')
        {
            let found = Diagnostic::new(
                &codes::VALUE_COMMA,
                "values are separated by spaces, not by commas",
                Span {
                    start: entry.at.end - 1,
                    ..span(entry.at)
                },
                "this comma",
            );
            let bare = text.trim_end_matches(',').to_owned();
            let found = found.help(format!("write `{bare}` without it")).fix(
                "remove the comma",
                span(entry.at),
                bare,
            );
            return self.report(entry.at, found);
        }
        if let Some((code, bad)) = values::check(owner, &entry.value, spec) {
            let found = self.bad(code, owner, entry.at, bad);
            self.report(entry.at, found);
        }
    }

    fn annotated(&mut self, note: &Word, entry: &Entry) {
        const SOURCES: [&str; 3] = ["env", "file", "secret"];
        let found = if !SOURCES.contains(&&*note.text) {
            let message = format!("there is no annotation `({})`", note.text);
            let found = Diagnostic::new(
                &codes::VALUE_ANNOTATION,
                message,
                span(note.at),
                "not known",
            );
            match suggest::closest(&note.text, SOURCES) {
                Some(meant) => found.help(format!("did you mean `({meant})`?")),
                None => found.help("values are read from outside with (env), (file) and (secret); others need none"),
            }
        } else if !matches!(entry.value, Plain::Text(_)) {
            let message = format!("`({})` needs a name", note.text);
            Diagnostic::new(
                &codes::VALUE_TYPE,
                message,
                span(entry.at),
                format!("this is {}", entry.value.kind()),
            )
        } else {
            return;
        };
        self.report(entry.at, found);
    }

    /// A diagnostic about a literal, at the part of it that is wrong.
    fn bad(&self, code: &'static Code, owner: &str, literal: At, bad: Bad) -> Diagnostic {
        let range = values::place(self.chunk, literal.range(), bad.part);
        let message = format!("`{owner}`: {}", bad.message);
        let found = Diagnostic::new(code, message, Span::new(FileId(0), range), bad.label);
        match bad.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}

fn within(inner: At, outer: At) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// Whether `key` is the `default=` of a value that is read from outside.
fn is_default(node: &Node, key: &Word) -> bool {
    &*key.text == "default" && node.arguments().any(is_outside)
}

fn is_outside(entry: &Entry) -> bool {
    matches!(
        entry.note.as_ref().map(|note| &*note.text),
        Some("env" | "file")
    )
}
