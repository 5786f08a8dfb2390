//! Typed access to a node that the schema has already looked at.
//!
//! A reader only builds: the structural pass has reported unknown keys, wrong types and duplicates. What is missing or
//! was reported comes back as `None`, and the caller goes on. `(env)`, `(file)` and `(secret)` are resolved here.

use std::cell::RefCell;
use std::ops::Range;

use crate::diag::{Diagnostic, Diagnostics, Span, codes};

use super::document::{Document, Placed};
use super::literal;
use super::scalar::{At, Bad, Plain, Scalar};
use super::schema::{NodeSpec, ValueSpec};
use super::tree::{self, Entry, Node, Word};
use super::values;

/// Where values from outside come from; the loader implements it.
pub trait Outside {
    /// The environment variable of this name.
    fn env(&self, name: &str) -> Option<String>;
    /// The text of a file named in `from`, relative to it.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    fn file(&self, from: crate::diag::FileId, path: &str) -> Result<String, String>;
    /// The value of an entry of `secrets`; `None` when there is no such entry.
    fn secret(&self, name: &str) -> Option<String>;
    /// The names of all secrets, for "did you mean".
    fn secret_names(&self) -> Vec<String>;
    /// Whether it was told already that a secret has no value.
    fn absence_told(&self, _name: &str) -> bool {
        false
    }
    /// Whether these are all: not when a block that declares some could not be read. An unknown name is then no mistake.
    fn secrets_complete(&self) -> bool {
        true
    }
}

/// A text value with the map back to its bytes in the file: for Lua and patterns.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The value.
    pub value: String,
    /// The literal's place.
    pub span: Span,
    /// For every line of the value (index 0 is line 1) the 1-based line in the file.
    pub lines: Vec<u32>,
    /// Pieces that map value bytes to file bytes.
    pub map: Vec<Piece>,
}

impl Text {
    /// The place in the file of a range of the value; the whole literal when that cannot be told.
    pub fn span_of(&self, value: Range<usize>) -> Span {
        if self.map.is_empty() || value.end > self.value.len() {
            return self.span;
        }
        Span::new(self.span.file, range_of(&self.map, value, 0))
    }
}

/// A run of value bytes and the file bytes it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte in the value.
    pub value: u32,
    /// First byte in the file.
    pub file: u32,
    /// Length in the value.
    pub value_len: u32,
    /// Length in the file; equal to `value_len` for a copied run.
    pub file_len: u32,
}

/// What reading needs beside the file: where values come from, and where findings go.
pub struct Context<'a> {
    pub(super) outside: &'a dyn Outside,
    sink: RefCell<Diagnostics>,
}

impl<'a> Context<'a> {
    /// A context without findings.
    pub fn new(outside: &'a dyn Outside) -> Self {
        Self { outside, sink: RefCell::default() }
    }

    /// Adds a finding.
    pub fn report(&self, diagnostic: Diagnostic) {
        self.sink.borrow_mut().push(diagnostic);
    }

    /// All that was found.
    pub fn into_findings(self) -> Vec<Diagnostic> {
        self.sink.into_inner().into_vec()
    }
}

/// One node, read in the light of the schema. A property can stand for a child with one value, and is read like it.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) document: &'a Document,
    pub(super) placed: &'a Placed,
    pub(super) spec: Option<&'a NodeSpec>,
    pub(super) view: View<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum View<'a> {
    Node(&'a Node),
    Property(&'a Word, &'a Entry),
}

/// A value with what the schema says of it and, when it is an argument, its node.
pub(super) struct Found<'a> {
    pub(super) entry: &'a Entry,
    pub(super) spec: Option<&'a ValueSpec>,
    pub(super) node: Option<&'a Node>,
}

impl<'a> Reader<'a> {
    /// The reader of a top-level node.
    pub(super) fn top(context: &'a Context<'a>, document: &'a Document, placed: &'a Placed, node: &'a Node) -> Self {
        let spec = document.schema().top().get(&node.name.text);
        Self { context, document, placed, spec, view: View::Node(node) }
    }

    fn word(&self) -> &'a Word {
        match self.view {
            View::Node(node) => &node.name,
            View::Property(key, _) => key,
        }
    }

    fn node(&self) -> Option<&'a Node> {
        match self.view {
            View::Node(node) => Some(node),
            View::Property(..) => None,
        }
    }

    /// The node's name, such as `endpoint`.
    pub fn name(&self) -> &'a str {
        &self.word().text
    }

    /// Where the name stands.
    pub fn span(&self) -> Span {
        self.at(self.word().at)
    }

    /// The 1-based line of the name in its file.
    pub fn line(&self) -> u32 {
        self.placed.line(self.word().at.start)
    }

    /// Whether all of the node was understood, so that what is absent is truly absent. After a finding inside the node
    /// nothing may be said about what it lacks.
    pub fn is_complete(&self) -> bool {
        let extent = match self.view {
            View::Node(node) => node.extent,
            View::Property(key, entry) => tree::At { start: key.at.start, end: entry.at.end },
        };
        !self.placed.chunk.is_faulty(extent)
    }

    pub(super) fn at(&self, at: tree::At) -> Span {
        self.placed.span(self.document.file(), at)
    }

    fn arguments(&self) -> Vec<&'a Entry> {
        match self.view {
            View::Node(node) => node.arguments().collect(),
            View::Property(_, entry) => vec![entry],
        }
    }

    fn argument(&self, n: usize) -> Option<Found<'a>> {
        let entry = self.arguments().get(n).copied()?;
        let spec = self.spec.and_then(|spec| spec.values.as_ref()).map(|values| values.at(n));
        Some(Found { entry, spec, node: self.node() })
    }

    /// Argument number `n`.
    pub fn arg<T: Scalar>(&self, n: usize) -> Option<At<T>> {
        self.read(self.argument(n)?)
    }

    /// All arguments; none when one of them was reported, for their positions would no longer be those of the file.
    pub fn args<T: Scalar>(&self) -> Vec<At<T>> {
        let read: Vec<Option<At<T>>> = (0..self.arguments().len()).map(|n| self.arg(n)).collect();
        read.into_iter().collect::<Option<Vec<At<T>>>>().unwrap_or_default()
    }

    /// A scalar setting, written as property or as child with one value.
    pub fn get<T: Scalar>(&self, key: &str) -> Option<At<T>> {
        let setting = self.setting(key)?;
        match setting.arguments().is_empty() {
            true => setting.bare(),
            false => setting.arg(0),
        }
    }

    /// What a node without a value means: a switch is on.
    fn bare<T: Scalar>(&self) -> Option<At<T>> {
        if !self.spec.is_some_and(NodeSpec::is_switch) {
            return None;
        }
        T::read(&Plain::Boolean(true)).ok().map(|it| At { it, span: self.span() })
    }

    /// All values of every child of this name (`modules "a" "b"`), or the one property.
    pub fn list<T: Scalar>(&self, key: &str) -> Vec<At<T>> {
        self.each(key).iter().flat_map(Reader::args).collect()
    }

    /// A switch: `#true`, a bare child node (which means true), or absent.
    pub fn switch(&self, key: &str) -> Option<At<bool>> {
        self.get(key)
    }

    /// The setting of this name, written either way.
    fn setting(&self, key: &str) -> Option<Reader<'a>> {
        debug_assert!(self.knows(key), "the schema has no `{key}` in `{}`", self.name());
        self.property(key).or_else(|| self.nodes(key).next())
    }

    fn knows(&self, key: &str) -> bool {
        self.spec.is_none_or(|spec| self.document.schema().setting(spec, key).is_some())
    }

    fn property(&self, key: &str) -> Option<Reader<'a>> {
        let (word, entry) = self.node()?.properties().find(|(word, _)| &*word.text == key)?;
        let spec = self.spec.and_then(|spec| self.document.schema().setting(spec, key));
        spec.filter(|spec| spec.is_scalar())?;
        Some(Self { spec, view: View::Property(word, entry), ..*self })
    }

    fn nodes<'k>(&self, key: &'k str) -> impl Iterator<Item = Reader<'a>> + use<'a, 'k> {
        let (parent, nodes) = (*self, self.node().map_or(&[][..], Node::nodes));
        nodes.iter().filter(move |node| &*node.name.text == key).map(move |node| parent.inner(node))
    }

    fn inner(&self, node: &'a Node) -> Reader<'a> {
        let spec = self.spec.and_then(|spec| self.document.schema().setting(spec, &node.name.text));
        Self { spec, view: View::Node(node), ..*self }
    }

    /// The first child node of this name; a property that stands for it too.
    pub fn child(&self, key: &str) -> Option<Reader<'a>> {
        self.setting(key)
    }

    /// The child nodes of this name; a property that stands for one too.
    pub fn each(&self, key: &str) -> Vec<Reader<'a>> {
        self.property(key).into_iter().chain(self.nodes(key)).collect()
    }

    /// All child nodes, for nodes whose children have free names (`variables`, `secrets`, `headers`).
    pub fn children(&self) -> Vec<Reader<'a>> {
        self.node().map_or(&[][..], Node::nodes).iter().map(|node| self.inner(node)).collect()
    }

    /// A text setting with its map, for `lua`.
    pub fn text(&self, key: &str) -> Option<Text> {
        let setting = self.setting(key)?;
        let found = setting.argument(0)?;
        let at = found.entry.at;
        if found.entry.note.is_some() {
            let At { it, span } = setting.read::<String>(found)?;
            return Some(Text { value: it, span, lines: Vec::new(), map: Vec::new() });
        }
        if self.placed.chunk.is_faulty(at) || !matches!(found.entry.value, Plain::Text(_)) {
            return None;
        }
        let decoded = literal::decode(&self.placed.chunk.text[at.range()]).ok()?;
        let base = self.placed.base + at.start;
        let map: Vec<Piece> = decoded.pieces.iter().map(|piece| Piece { file: piece.file + base, ..*piece }).collect();
        let lines = self.placed.lines(&decoded, at);
        Some(Text { value: decoded.value, span: self.at(at), lines, map })
    }

    /// Argument `n` when it is text in the file, even if it was reported: a name that is not right is declared still.
    pub fn written(&self, n: usize) -> Option<&'a str> {
        match self.arguments().get(n).map(|entry| &entry.value) {
            Some(Plain::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Where argument `n` comes from, such as `env`; `None` when it stands in the file.
    pub fn source(&self, n: usize) -> Option<&'a str> {
        self.arguments().get(n).and_then(|entry| entry.note.as_ref()).map(|note| &*note.text)
    }

    /// Argument `n` as written, before any format: for values of any type.
    pub fn plain(&self, n: usize) -> Option<At<Plain>> {
        self.arg(n)
    }

    /// Adds a diagnostic to the load's findings.
    pub fn report(&self, diagnostic: Diagnostic) {
        self.context.report(diagnostic);
    }

    /// Reports that a value which has a place is not in its format, at the part of it that is wrong.
    pub fn bad<T>(&self, value: &At<T>, bad: Bad) {
        let inside = value.span.start.checked_sub(self.placed.base);
        let entry = inside.and_then(|start| match self.view {
            View::Node(node) => entry_at(node, start),
            View::Property(_, entry) => Some(entry),
        });
        match entry {
            Some(entry) => self.not_in_format(entry, bad),
            None => self
                .report(with_help(Diagnostic::new(&codes::VALUE_FORMAT, bad.message, value.span, bad.label), bad.help)),
        }
    }

    fn not_in_format(&self, entry: &Entry, bad: Bad) {
        if let Some(note) = &entry.note {
            return self.outside_value(note, entry, None);
        }
        let range = values::place(&self.placed.chunk.text, entry.at.range(), bad.part);
        let span = self.at(range.into());
        self.report(with_help(Diagnostic::new(&codes::VALUE_FORMAT, bad.message, span, bad.label), bad.help));
    }

    fn read<T: Scalar>(&self, found: Found<'a>) -> Option<At<T>> {
        let entry = found.entry;
        if self.placed.chunk.is_faulty(entry.at) {
            return None;
        }
        let span = self.at(entry.at);
        let value = match &entry.note {
            None => entry.value.clone(),
            Some(note) => self.outside(note, &found)?,
        };
        match T::read(&value) {
            Ok(it) => Some(At { it, span }),
            Err(bad) => {
                self.not_in_format(entry, bad);
                None
            }
        }
    }
}

pub(super) fn with_help(diagnostic: Diagnostic, help: Option<String>) -> Diagnostic {
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// The value of the node, or of one inside it, that begins at a byte of the chunk.
fn entry_at(node: &Node, start: u32) -> Option<&Entry> {
    let own = node.entries.iter().find(|entry| entry.at.start == start);
    own.or_else(|| node.nodes().iter().find_map(|child| entry_at(child, start)))
}

/// The place of a range of a value, in bytes of the file (`base` is where the pieces' places count from). The end is
/// that of the last byte inside, so a label never runs into the next line's indentation.
pub fn range_of(pieces: &[Piece], value: Range<usize>, base: u32) -> Range<usize> {
    let place = |at: u32, end: bool| {
        let after = pieces.partition_point(|piece| if end { piece.value < at } else { piece.value <= at });
        let Some(piece) = after.checked_sub(1).map(|index| pieces[index]) else {
            return pieces.first().map_or(0, |piece| piece.file);
        };
        let inside = at - piece.value;
        match (piece.value_len == piece.file_len, end) {
            (true, _) => piece.file + inside.min(piece.file_len),
            (false, false) if inside < piece.value_len => piece.file,
            (false, _) => piece.file + piece.file_len,
        }
    };
    let start = place(value.start as u32, false);
    let end = if value.end > value.start { place(value.end as u32, true) } else { start };
    (base + start) as usize..(base + end.max(start)) as usize
}
