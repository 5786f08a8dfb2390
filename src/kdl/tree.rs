//! The nodes of one chunk, free of the kdl crate: names, values and places, counted from the chunk's first byte.
//!
//! The parser is shown a skeleton: the chunk without comments, every text as an empty one. So it cannot be led astray by
//! what stands inside texts, and has little to read. Values of texts are decoded from the chunk by `literal`.

use std::ops::Range;

use super::grammar;
use super::lex::{Kind, Lexer, Token};
use super::literal::{self, Fault};
use super::scalar::Plain;

/// The longest skeleton of one node, in bytes; the parser needs hundreds of bytes of memory for each.
const MAX_SKELETON: usize = 1 << 20;

/// Bytes of the chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl At {
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<Range<usize>> for At {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }
}

/// A name and its place (with its quotes, if it has any).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) text: Box<str>,
    pub(super) at: At,
}

/// An argument or a property.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    /// The property's key; an argument has none.
    pub(super) key: Option<Word>,
    /// The annotation before the value.
    pub(super) note: Option<Word>,
    /// The value.
    pub(super) value: Plain,
    /// The literal.
    pub(super) at: At,
}

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) name: Word,
    pub(super) note: Option<Word>,
    pub(super) entries: Vec<Entry>,
    /// The nodes of its block; `None` when it has no block.
    pub(super) children: Option<Vec<Node>>,
    /// From its name to the end of its last entry or block.
    pub(super) extent: At,
}

impl Node {
    pub(super) fn arguments(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.key.is_none())
    }

    pub(super) fn properties(&self) -> impl Iterator<Item = (&Word, &Entry)> {
        self.entries.iter().filter_map(|entry| Some((entry.key.as_ref()?, entry)))
    }

    pub(super) fn property(&self, key: &str) -> Option<&Entry> {
        self.properties().find(|(word, _)| &*word.text == key).map(|(_, entry)| entry)
    }

    pub(super) fn has_child(&self, name: &str) -> bool {
        self.nodes().iter().any(|child| &*child.name.text == name)
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.children.as_deref().unwrap_or_default()
    }
}

/// Why a chunk, or a text in it, could not be read.
#[derive(Debug)]
pub(super) enum Broken {
    /// A literal without a value; its node is there all the same.
    Text(Range<usize>, Fault),
    /// Something that cannot stand at this byte; there are no nodes.
    Grammar(usize),
    /// Too much for one node; there are no nodes.
    TooBig,
}

/// What was read from a chunk.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) nodes: Vec<Node>,
    /// Empty when all is well.
    pub(super) broken: Vec<Broken>,
}

impl From<Broken> for Parsed {
    fn from(broken: Broken) -> Self {
        Self { nodes: Vec::new(), broken: vec![broken] }
    }
}

/// A chunk as the parser sees it.
struct Skeleton {
    text: String,
    /// Where runs of the skeleton begin, there and in the chunk.
    runs: Vec<(usize, usize)>,
}

impl Skeleton {
    fn of(chunk: &str, tokens: &[Token]) -> Self {
        let mut out = Self { text: String::new(), runs: Vec::new() };
        for token in tokens {
            out.runs.push((out.text.len(), token.start));
            match token.kind {
                Kind::Quoted => out.text.push_str("\"\""),
                // Not nothing: what ends where a comment begins would be thought to end behind it.
                Kind::Space | Kind::LineComment => out.text.push(' '),
                Kind::Newline => out.text.push('\n'),
                _ => out.text.push_str(&chunk[token.range()]),
            }
        }
        out.runs.push((out.text.len(), chunk.len()));
        out
    }

    /// The place in the chunk of a place in the skeleton.
    fn place(&self, at: usize) -> usize {
        let run = self.runs.partition_point(|(start, _)| *start <= at).saturating_sub(1);
        let (start, origin) = self.runs.get(run).copied().unwrap_or_default();
        let limit = self.runs.get(run + 1).map_or(usize::MAX, |(_, origin)| *origin);
        (origin + (at - start)).min(limit)
    }

    /// The place in the chunk of some bytes of the skeleton.
    fn range(&self, start: usize, len: usize) -> Range<usize> {
        self.place(start)..self.place(start + len)
    }
}

/// Parses a chunk without an issue.
pub(super) fn parse(chunk: &str) -> Parsed {
    parse_tokens(chunk, &Lexer::new(chunk, 0).collect::<Vec<Token>>())
}

/// Parses what these tokens say. They need not be those that the lexer finds in the chunk.
pub(super) fn parse_tokens(chunk: &str, tokens: &[Token]) -> Parsed {
    if let Err(at) = grammar::check(chunk, tokens) {
        return Broken::Grammar(tokens.get(at).map_or(chunk.len(), |token| token.start)).into();
    }
    let skeleton = Skeleton::of(chunk, tokens);
    if skeleton.text.len() > MAX_SKELETON {
        return Broken::TooBig.into();
    }
    let document = match kdl::KdlDocument::parse_v2(&skeleton.text) {
        Ok(document) => document,
        Err(error) => {
            let first = error.diagnostics.first().map_or(0, |found| found.span.offset());
            return Broken::Grammar(skeleton.place(first)).into();
        }
    };
    let mut reading = Reading { chunk, skeleton: &skeleton, broken: Vec::new() };
    let nodes = document.nodes().iter().map(|node| reading.node(node)).collect();
    Parsed { nodes, broken: reading.broken }
}

struct Reading<'a> {
    chunk: &'a str,
    skeleton: &'a Skeleton,
    broken: Vec<Broken>,
}

impl Reading<'_> {
    fn node(&mut self, node: &kdl::KdlNode) -> Node {
        let name = self.word(node.name());
        let entries: Vec<Entry> = node.entries().iter().map(|entry| self.entry(entry)).collect();
        let children = node.children().map(|block| block.nodes().iter().map(|node| self.node(node)).collect());
        let end = match node.children() {
            Some(block) => self.block_end(block.span().offset() + block.span().len()),
            None => entries.last().map_or(name.at.end, |entry| entry.at.end),
        };
        let extent = At { start: name.at.start, end };
        Node { note: node.ty().map(|word| self.word(word)), name, entries, children, extent }
    }

    /// One past the brace that ends the block whose inside ends at a place of the skeleton.
    fn block_end(&self, inside: usize) -> u32 {
        let end = self.skeleton.place(inside);
        self.chunk[end..].find('}').map_or(end, |at| end + at + 1) as u32
    }

    fn word(&mut self, word: &kdl::KdlIdentifier) -> Word {
        let range = self.skeleton.range(word.span().offset(), word.span().len());
        let text = self.text(range.clone()).unwrap_or_else(|| word.value().to_owned());
        Word { text: text.into(), at: range.into() }
    }

    fn entry(&mut self, entry: &kdl::KdlEntry) -> Entry {
        let literal = entry.format().map_or(0, |format| format.value_repr.len());
        let end = entry.span().offset() + entry.span().len();
        let range = self.skeleton.range(end - literal, literal);
        let value = match entry.value() {
            kdl::KdlValue::String(text) => Plain::Text(self.text(range.clone()).unwrap_or_else(|| text.clone())),
            kdl::KdlValue::Integer(number) => Plain::Integer(*number),
            kdl::KdlValue::Float(number) => Plain::Float(*number),
            kdl::KdlValue::Bool(truth) => Plain::Boolean(*truth),
            kdl::KdlValue::Null => Plain::Null,
        };
        Entry {
            key: entry.name().map(|word| self.word(word)),
            note: entry.ty().map(|word| self.word(word)),
            value,
            at: range.into(),
        }
    }

    /// The value of a text that stands in quotes.
    fn text(&mut self, range: Range<usize>) -> Option<String> {
        let literal = &self.chunk[range.clone()];
        if !literal.starts_with(['"', '#']) {
            return None;
        }
        match literal::decode(literal) {
            Ok(decoded) => Some(decoded.value),
            Err(fault) => {
                self.broken.push(Broken::Text(range, fault));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_value_ends_where_a_comment_begins() {
        for chunk in ["a \"b\"// c\n", "a \"b\"// c", "a \"b\"/* c */", "a \"b\" // c\n", "a \"b\"\\ // c\n"] {
            let parsed = parse(chunk);
            assert!(parsed.broken.is_empty(), "{chunk}: {:?}", parsed.broken);
            let value = &parsed.nodes[0].entries[0];
            assert_eq!(&chunk[value.at.range()], "\"b\"", "{chunk}");
        }
    }
}
