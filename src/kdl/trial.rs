//! What must hold of the scanner, the string map and the formatter, whatever a text says: asked by the fuzzers and, in
//! short, by the tests of [`crate::trial`].

use std::sync::LazyLock;

use super::grammar;
use super::layout::laid_out;
use super::lex::{Kind, Lexer, Token, is_forbidden, newline_len};
use super::literal::{self, Literal};
use super::scalar::Plain;
use super::scan::{Chunk, Issue, MAX_BYTES, scan};
use super::schema::Schema;
use super::syntax;
use super::tree::{self, Broken, Node, Parsed};

/// The longest text that the kdl crate is shown as a whole, in bytes: its time grows faster than the text.
const MAX_WHOLE: usize = 4 << 10;

#[expect(clippy::expect_used, reason = "the schema is compiled in and a test reads it")]
static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::of_site().expect("the schema can be read"));

/// Whether a text is KDL as far as moondock takes it, whatever its nodes are.
#[cfg(test)]
pub fn is_taken(text: &str) -> bool {
    let is_read = |text: &str| syntax::before_parsing(text).is_none() && tree::parse(text).broken.is_empty();
    scan(text, &|_| false).iter().all(|chunk| chunk.issue.is_none() && is_read(&text[chunk.range.clone()]))
}

/// The scanner cuts every text into chunks that lie one behind the other and hold all that stands for something; and
/// what it lets through, the check of the grammar and the kdl crate agree about, chunk by chunk and as a whole.
pub fn scanner(text: &str) {
    if text.len() > MAX_BYTES {
        return;
    }
    let chunks = scan(text, &|name| SCHEMA.top().get(name).is_some());
    in_order(text, &chunks);
    let clean = chunks.iter().all(|chunk| chunk.issue.is_none());
    let parsed: Vec<_> = chunks.iter().filter(|chunk| chunk.issue.is_none()).map(|chunk| agreed(text, chunk)).collect();
    // The kdl crate takes `/-(t)v` and refuses `/-(t)v;`: of the whole it cannot be asked where a node is switched off.
    if clean && text.len() <= MAX_WHOLE && !text.contains("/-") && parsed.iter().all(Option::is_some) {
        whole(text, parsed.into_iter().flatten().flatten());
    }
}

fn in_order(text: &str, chunks: &[Chunk]) {
    let mut end = 0;
    let is_place = |at: usize| at <= text.len() && text.is_char_boundary(at);
    for chunk in chunks {
        assert!(end <= chunk.range.start && chunk.range.start < chunk.range.end, "{chunks:?}");
        assert!(is_place(chunk.range.start) && is_place(chunk.range.end), "{chunk:?}");
        let between = &text[end..chunk.range.start];
        let lost = Lexer::new(between, 0).find(|token| token.is_solid() && !is_ending(token.kind));
        assert!(lost.is_none_or(|token| between[token.range()] == *"\u{feff}"), "{between:?} is in no chunk");
        end = chunk.range.end;
        match &chunk.issue {
            Some(Issue::TooDeep(at) | Issue::StrayBrace(at)) => assert!(*at < text.len() && is_place(*at), "{chunk:?}"),
            Some(Issue::UnclosedBlock { open, suspect }) => {
                assert_eq!(text.as_bytes().get(*open), Some(&b'{'), "{chunk:?}");
                assert!(suspect.as_ref().is_none_or(|word| is_place(word.start) && is_place(word.end)), "{chunk:?}");
            }
            Some(Issue::Flaw(_, range)) => assert!(is_place(range.start) && is_place(range.end), "{chunk:?}"),
            None => {}
        }
    }
}

/// Whether such a token only ends something.
fn is_ending(kind: Kind) -> bool {
    matches!(kind, Kind::Semicolon | Kind::Continuation)
}

/// The nodes of a chunk, when it is KDL; the check of the grammar and the kdl crate must agree whether it is.
fn agreed(text: &str, chunk: &Chunk) -> Option<Vec<Node>> {
    let text = &text[chunk.range.clone()];
    if syntax::before_parsing(text).is_some() {
        return None;
    }
    let tokens: Vec<Token> = Lexer::new(text, 0).collect();
    let passes = grammar::check(text, &tokens).is_ok();
    let Parsed { nodes, broken } = tree::parse(text);
    let misread = broken.iter().any(|broken| matches!(broken, Broken::Grammar(_)));
    assert_eq!(passes, !misread, "the kdl crate refuses the skeleton of {text:?}");
    if text.len() <= MAX_WHOLE {
        let taken = kdl::KdlDocument::parse_v2(text).is_ok();
        assert!(taken || !broken.is_empty(), "the kdl crate refuses {text:?}");
        // It is lenient about what `/-` stands before, and takes the reserved word `-inf` as a name; nobody misses that.
        let is_lenient = text.contains("/-") || text.contains("-inf");
        assert!(!taken || broken.is_empty() || is_lenient, "only the kdl crate takes {text:?}");
    }
    broken.is_empty().then_some(nodes)
}

/// The kdl crate reads from the whole text what was read from its chunks.
fn whole(text: &str, nodes: impl Iterator<Item = Node>) {
    let document = kdl::KdlDocument::parse_v2(text);
    assert!(document.is_ok(), "the kdl crate refuses as a whole {text:?}");
    let ours: Vec<String> = nodes.map(|node| shown(&node)).collect();
    let theirs: Vec<String> = document.iter().flat_map(|document| document.nodes()).map(shown_by_kdl).collect();
    assert_eq!(ours, theirs, "read from {text:?}");
}

/// A node as a line of text: names, annotations, values and blocks.
fn shown(node: &Node) -> String {
    let note = node.note.as_ref().map(|note| &*note.text);
    let entry = |entry: &tree::Entry| {
        let (key, note) = (entry.key.as_ref().map(|key| &*key.text), entry.note.as_ref().map(|note| &*note.text));
        let value = match &entry.value {
            Plain::Text(text) => format!("{text:?}"),
            Plain::Integer(number) => format!("{number}"),
            Plain::Float(number) => format!("{number:?}"),
            Plain::Boolean(truth) => format!("{truth}"),
            Plain::Null => "null".to_owned(),
        };
        format!("{key:?}{note:?}{value}")
    };
    let entries: Vec<String> = node.entries.iter().map(entry).collect();
    let nodes = node.children.as_ref().map(|nodes| nodes.iter().map(shown).collect::<Vec<_>>());
    format!("{:?}{note:?}{entries:?}{nodes:?}", &*node.name.text)
}

fn shown_by_kdl(node: &kdl::KdlNode) -> String {
    let note = node.ty().map(kdl::KdlIdentifier::value);
    let entry = |entry: &kdl::KdlEntry| {
        let (key, note) = (entry.name().map(kdl::KdlIdentifier::value), entry.ty().map(kdl::KdlIdentifier::value));
        let value = match entry.value() {
            kdl::KdlValue::String(text) => format!("{text:?}"),
            kdl::KdlValue::Integer(number) => format!("{number}"),
            kdl::KdlValue::Float(number) => format!("{number:?}"),
            kdl::KdlValue::Bool(truth) => format!("{truth}"),
            kdl::KdlValue::Null => "null".to_owned(),
        };
        format!("{key:?}{note:?}{value}")
    };
    let entries: Vec<String> = node.entries().iter().map(entry).collect();
    let nodes = node.children().map(|block| block.nodes().iter().map(shown_by_kdl).collect::<Vec<_>>());
    format!("{:?}{note:?}{entries:?}{nodes:?}", node.name().value())
}

/// Every text in quotes has the value that the kdl crate gives it, and every character of it the place it came from.
pub fn string_map(text: &str) {
    for token in Lexer::new(text, 0).filter(|token| token.kind == Kind::Quoted && token.flaw.is_none()) {
        let literal = &text[token.range()];
        // No text with one is read so far, and the kdl crate knows none.
        if literal.contains(is_forbidden) {
            continue;
        }
        let decoded = literal::decode(literal).ok();
        if literal.len() <= MAX_WHOLE {
            let parsed = kdl::KdlDocument::parse_v2(&format!("n {literal}")).ok();
            let parsed = parsed.as_ref().and_then(|document| document.get_arg("n")?.as_string());
            assert_eq!(decoded.as_ref().map(|decoded| decoded.value.as_str()), parsed, "{literal:?}");
        }
        if let Some(decoded) = decoded {
            placed(literal, &decoded);
        }
    }
}

fn placed(literal: &str, decoded: &Literal) {
    for (at, c) in decoded.value.char_indices() {
        let source = &literal[decoded.range(at..at + c.len_utf8())];
        let copied = source.chars().eq([c]);
        let escaped = source.starts_with('\\') || c == '\n' && newline_len(source) == source.len();
        assert!(copied || escaped, "{c:?} of {literal:?} came from {source:?}");
    }
}

/// Laying out twice is laying out once, and changes nothing but blanks around lines.
pub fn formatter(text: &str) {
    let Ok(once) = laid_out(text) else { return };
    assert_eq!(laid_out(&once).as_ref(), Ok(&once), "{text:?}");
    assert_eq!(solid(text), solid(&once), "{text:?}");
}

/// What stands for something, comments included.
fn solid(text: &str) -> Vec<(Kind, &str)> {
    let tokens = Lexer::new(text, 0).filter(|token| token.kind != Kind::Space || text[token.range()].contains('*'));
    tokens.map(|token| (token.kind, &text[token.range()])).collect()
}
