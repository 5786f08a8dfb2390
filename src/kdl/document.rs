//! A file of the site language, read: healthy top-level nodes, and what can be said of the broken ones.
//!
//! A [`Parser`] keeps every chunk it has seen, with the outcome of its structural pass: a load after one edit parses one
//! chunk.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, FileId, Label, Span, codes};

use super::lex::{Kind, Lexer};
use super::literal::Literal;
use super::reader::{Context, Reader};
use super::recovery;
use super::scan::{self, MAX_BYTES};
use super::schema::Schema;
use super::structure;
use super::syntax;
use super::tree::{self, Node};

/// A chunk with all that was found in it, free of its place.
#[derive(Debug)]
pub(super) struct Chunk {
    /// Its text.
    pub(super) text: Arc<str>,
    /// Its nodes (one, or none when it is switched off or broken).
    pub(super) nodes: Vec<Node>,
    /// Whether it could not be parsed.
    broken: bool,
    diagnostics: Vec<Diagnostic>,
    faults: Vec<tree::At>,
}

impl Chunk {
    /// Whether something inside the place, or around it, was reported.
    pub(super) fn is_faulty(&self, at: tree::At) -> bool {
        self.faults.iter().any(|fault| fault.start < at.end && at.start < fault.end)
    }
}

/// A chunk at its place in a file.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) chunk: Arc<Chunk>,
    /// The file's byte at which it begins.
    pub(super) base: u32,
    /// The file's 1-based line at which it begins.
    first_line: u32,
}

impl Placed {
    pub(super) fn span(&self, file: FileId, at: tree::At) -> Span {
        Span { file, start: self.base + at.start, end: self.base + at.end }
    }

    /// The 1-based line of a byte of the chunk.
    pub(super) fn line(&self, at: u32) -> u32 {
        self.first_line + newlines(&self.chunk.text[..at as usize])
    }

    /// The file's line for every line of a decoded literal.
    pub(super) fn lines(&self, decoded: &Literal, literal: tree::At) -> Vec<u32> {
        let text = &self.chunk.text;
        let starts = std::iter::once(0).chain(decoded.value.match_indices('\n').map(|(at, _)| at + 1));
        let (mut seen, mut line) = (0, self.first_line);
        starts
            .map(|start| {
                let place = super::reader::range_of(&decoded.pieces, start..start, literal.start).start;
                let place = place.clamp(seen, text.len());
                line += newlines(&text[seen..place]);
                seen = place;
                line
            })
            .collect()
    }
}

fn newlines(text: &str) -> u32 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u32
}

/// What can be said of a chunk that could not be read, so that names it declares are not told to be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The name of the node, when it can be read.
    pub name: Option<String>,
    /// Its first argument, when it can be read.
    pub argument: Option<String>,
    /// Where it begins.
    pub span: Span,
}

/// A file, read.
#[derive(Clone, Debug)]
pub struct Document {
    file: FileId,
    schema: Arc<Schema>,
    chunks: Vec<Placed>,
    broken: Vec<Broken>,
}

impl Document {
    /// The file.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// What is known of the nodes that could not be read; empty when all could.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Readers of its top-level nodes, in the file's order; nodes that the schema does not know are left out.
    pub fn readers<'a>(&'a self, context: &'a Context<'a>) -> Vec<Reader<'a>> {
        let nodes = self.chunks.iter().flat_map(|placed| placed.chunk.nodes.iter().map(move |node| (placed, node)));
        let known = nodes.filter(|(_, node)| self.schema.top().get(&node.name.text).is_some());
        known.map(|(placed, node)| Reader::top(context, self, placed, node)).collect()
    }
}

/// Reports top-level nodes that may stand once and stand twice in all the files of a site.
pub fn report_duplicates<'d>(documents: impl IntoIterator<Item = &'d Document>, sink: &mut Diagnostics) {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for document in documents {
        for placed in &document.chunks {
            for node in &placed.chunk.nodes {
                let once = document.schema.top().get(&node.name.text).is_some_and(|spec| !spec.repeatable);
                if !once {
                    continue;
                }
                let span = placed.span(document.file, node.name.at);
                let Some(first) = first.insert(&node.name.text, span) else {
                    continue;
                };
                let message = format!("`{}` may be given once in a site", node.name.text);
                let found = Diagnostic::new(&codes::NODE_DUPLICATE, message, span, "given again");
                sink.push(found.also(first, "first here").help("merge them, or remove one"));
            }
        }
    }
}

/// Parses files, and remembers their chunks.
#[derive(Debug)]
pub struct Parser {
    schema: Arc<Schema>,
    chunks: HashMap<Arc<str>, (Arc<Chunk>, u64)>,
    load: u64,
}

impl Default for Parser {
    #[expect(
        clippy::expect_used,
        reason = "the schema is compiled in and a test reads it; without one there is no language"
    )]
    fn default() -> Self {
        let schema = Schema::of_site().expect("the schema that is compiled in can be read");
        Self { schema: Arc::new(schema), chunks: HashMap::new(), load: 0 }
    }
}

impl Parser {
    /// Ends a load: chunks that no file of it used are forgotten.
    pub fn prune(&mut self) {
        let load = self.load;
        self.chunks.retain(|_, (_, used)| *used == load);
        self.load += 1;
    }

    /// Reads a file; its mistakes of syntax and structure go to the sink.
    pub fn parse(&mut self, file: FileId, text: &str, sink: &mut Diagnostics) -> Document {
        let mut document = Document { file, schema: Arc::clone(&self.schema), chunks: Vec::new(), broken: Vec::new() };
        if text.len() > MAX_BYTES {
            sink.push(syntax::too_big(file));
            document.broken = broken("", file, 0);
            return document;
        }
        let schema = Arc::clone(&self.schema);
        let is_top = |name: &str| schema.top().get(name).is_some();
        let (mut line, mut counted) = (1, 0);
        for found in scan::scan(text, &is_top) {
            line += newlines(&text[counted..found.range.start]);
            counted = found.range.start;
            let base = found.range.start as u32;
            if let Some(issue) = &found.issue {
                sink.push(syntax::of_issue(file, text, issue));
                document.broken.extend(broken(&text[found.range.clone()], file, base));
                continue;
            }
            let placed = Placed { chunk: self.chunk(&text[found.range]), base, first_line: line };
            sink.extend(placed.chunk.diagnostics.iter().map(|found| moved(found, file, base)));
            if placed.chunk.broken {
                document.broken.extend(broken(&placed.chunk.text, file, base));
            } else {
                document.chunks.push(placed);
            }
        }
        document
    }

    fn chunk(&mut self, text: &str) -> Arc<Chunk> {
        let load = self.load;
        if let Some((chunk, used)) = self.chunks.get_mut(text) {
            *used = load;
            return Arc::clone(chunk);
        }
        let chunk = Arc::new(read(text, &self.schema));
        self.chunks.insert(Arc::clone(&chunk.text), (Arc::clone(&chunk), load));
        chunk
    }
}

/// Reads a chunk that is new.
fn read(text: &str, schema: &Schema) -> Chunk {
    let mut chunk =
        Chunk { text: text.into(), nodes: Vec::new(), broken: false, diagnostics: Vec::new(), faults: Vec::new() };
    if let Some(found) = syntax::before_parsing(text) {
        chunk.diagnostics.push(found);
        chunk.broken = true;
        return chunk;
    }
    let recovered = recovery::read(text, tree::parse(text));
    let found = structure::check(&recovered.nodes, schema, text, &recovered.unread);
    chunk.broken = !recovered.diagnostics.is_empty();
    chunk.diagnostics = [recovered.diagnostics, found.diagnostics].concat();
    (chunk.nodes, chunk.faults) = (recovered.nodes, found.faults);
    chunk
}

/// A finding of a chunk, moved to where the chunk stands.
fn moved(found: &Diagnostic, file: FileId, base: u32) -> Diagnostic {
    let span = |span: &Span| Span { file, start: span.start + base, end: span.end + base };
    let label = |label: &Label| Label { span: span(&label.span), text: label.text.clone() };
    let mut moved = found.clone();
    moved.primary = label(&found.primary);
    moved.related = found.related.iter().map(label).collect();
    for (edit, _) in moved.fixes.iter_mut().flat_map(|fix| &mut fix.edits) {
        *edit = span(edit);
    }
    moved
}

/// The names of the nodes that a broken chunk begins, as far as they can be read: its own, and those at the beginning
/// of its lines, for it may have swallowed others.
fn broken(text: &str, file: FileId, base: u32) -> Vec<Broken> {
    let mut offset = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let mut words = Lexer::new(line, 0).filter(|token| token.is_solid());
        let name = words.next().filter(|token| token.start == 0 && token.kind == Kind::Word);
        if let Some(name) = name {
            let argument =
                words.next().filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted) && token.flaw.is_none());
            let argument = argument.map(|token| &line[token.range()]);
            let start = base + (offset + name.start) as u32;
            found.push(Broken {
                name: Some(line[name.range()].to_owned()),
                argument: argument.and_then(|text| super::literal::decode(text).ok()).map(|decoded| decoded.value),
                span: Span { file, start, end: start + (name.end - name.start) as u32 },
            });
        }
        offset += line.len();
    }
    if found.is_empty() {
        let span = Span { file, start: base, end: base };
        found.push(Broken { name: None, argument: None, span });
    }
    found
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
