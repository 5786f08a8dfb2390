//! The values of a node: how many, and each against what the schema says of it.

use crate::diag::{Code, Diagnostic, FileId, Span, codes};

use super::super::scalar::{Bad, Plain};
use super::super::schema::{NodeSpec, ValueSpec, Values};
use super::super::suggest;
use super::super::tree::{At, Entry, Node, Word};
use super::super::values;
use super::{Pass, foreign, span};

impl Pass<'_> {
    pub(super) fn arguments(&mut self, node: &Node, spec: &NodeSpec) {
        let given: Vec<&Entry> = node.arguments().collect();
        let Some(values) = &spec.values else {
            if let Some(first) = given.first() {
                self.unexpected(node, first, 0, spec);
            }
            return;
        };
        let has_less = given.len() < values.min && !(given.is_empty() && spec.is_switch());
        if has_less && !self.says_otherwise(node, spec) {
            self.missing(node, spec, values);
        }
        if let Some(extra) = values.max.and_then(|max| given.get(max)) {
            self.unexpected(node, extra, values.max.unwrap_or(0), spec);
        }
        if let [first, second] = given.as_slice()
            && self.turned_around(node, first, second, values)
        {
            return;
        }
        for (position, entry) in given.iter().take(values.max.unwrap_or(usize::MAX)).enumerate() {
            self.value(&node.name.text, entry, values.at(position));
        }
    }

    /// Whether a value may be missing because it stands in a property, as other servers have it; that is told there.
    fn says_otherwise(&self, node: &Node, spec: &NodeSpec) -> bool {
        let is_foreign = |key: &str| foreign::help(key, Some(&node.name.text)).is_some();
        node.properties().any(|(key, _)| self.schema.setting(spec, &key.text).is_none() && is_foreign(&key.text))
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
        let found = Diagnostic::new(&codes::VALUE_MISSING, message, span(node.name.at), "nothing follows");
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
        let found = Diagnostic::new(&codes::VALUE_UNEXPECTED, message, span(extra.at), "one too many");
        let found = match spec.examples.first() {
            Some(example) => found.help(format!("for example: {example}")),
            None if max == 0 && !spec.properties.is_empty() => found.help("its settings are written  name=value"),
            None => found,
        };
        self.report(extra.at, found);
    }

    /// Tells two values that are right but for their order. Gives whether they are.
    fn turned_around(&mut self, node: &Node, first: &Entry, second: &Entry, values: &Values) -> bool {
        let name = &node.name.text;
        let fits = |entry: &Entry, position| {
            entry.note.is_none() && values::check(name, &entry.value, values.at(position)).is_none()
        };
        if fits(first, 0) || fits(second, 1) || !fits(first, 1) || !fits(second, 0) {
            return false;
        }
        let at = At { start: first.at.start, end: second.at.end };
        let [former, latter] = [first, second].map(|entry| &self.chunk[entry.at.range()]);
        let message = format!("`{name}`: these two values are the other way round");
        let found = Diagnostic::new(&codes::VALUE_TYPE, message, span(at), "in the wrong order");
        let turned = format!("{latter} {former}");
        let found = found.help(format!("write  {name} {turned}"));
        self.report(at, found.fix("turn them around", span(at), turned));
        true
    }

    pub(super) fn value(&mut self, owner: &str, entry: &Entry, spec: &ValueSpec) {
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
                Span { start: entry.at.end - 1, ..span(entry.at) },
                "this comma",
            );
            let bare = text.trim_end_matches(',').to_owned();
            let found = found.help(format!("write `{bare}` without it")).fix("remove the comma", span(entry.at), bare);
            return self.report(entry.at, found);
        }
        if let Some((code, bad)) = values::check(owner, &entry.value, spec) {
            let found = self.bad(code, owner, entry.at, bad);
            let found = match values::cure(&entry.value, literal, spec) {
                Some(cure) => found.fix(format!("write {cure}"), span(entry.at), cure),
                None => found,
            };
            self.report(entry.at, found);
        }
    }

    fn annotated(&mut self, note: &Word, entry: &Entry) {
        const SOURCES: [&str; 3] = ["env", "file", "secret"];
        let found = if !SOURCES.contains(&&*note.text) {
            let message = format!("there is no annotation `({})`", note.text);
            let found = Diagnostic::new(&codes::VALUE_ANNOTATION, message, span(note.at), "not known");
            match suggest::certain(&note.text, SOURCES) {
                Some(meant) => found.help(format!("did you mean `({meant})`?")).fix(
                    format!("write ({meant})"),
                    span(note.at),
                    meant,
                ),
                None => found.help("values are read from outside with (env), (file) and (secret); others need none"),
            }
        } else if !matches!(entry.value, Plain::Text(_)) {
            let message = format!("`({})` needs a name", note.text);
            Diagnostic::new(&codes::VALUE_TYPE, message, span(entry.at), format!("this is {}", entry.value.kind()))
        } else {
            return;
        };
        self.report(entry.at, found);
    }

    /// A diagnostic about a literal, at the part of it that is wrong.
    pub(super) fn bad(&self, code: &'static Code, owner: &str, literal: At, bad: Bad) -> Diagnostic {
        let range = values::place(self.chunk, literal.range(), bad.part);
        let message = format!("`{owner}`: {}", bad.message);
        let found = Diagnostic::new(code, message, Span::new(FileId(0), range), bad.label);
        match bad.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}
