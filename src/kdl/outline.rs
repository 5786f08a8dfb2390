//! The outline of a text: its nodes, what they are given and their blocks, by the tokens alone.
//!
//! Nothing can be wrong with it, so it is there while a line is half typed. It says where things stand, not whether they
//! may: that is for the scan, the parser and the structural pass. Nothing here recurses, however deep blocks nest.

use std::ops::Range;

use super::lex::{Flaw, Kind, Lexer, Token};
use super::literal;
use super::schema::{NodeSpec, Schema};

/// How often the outline begins anew behind something that was left open.
const MAX_RESTARTS: usize = 16;

/// The outline of a text. Places are bytes of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    nodes: Vec<Item>,
    parts: Vec<Part>,
    end: End,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The node in whose block it stands, by its number.
    pub parent: Option<usize>,
    /// Its name, with its quotes; empty for a block that has no node.
    pub name: Range<usize>,
    /// From its name to the end of the last thing that it has.
    pub extent: Range<usize>,
    /// The inside of its block, to the end of the text when it is not closed.
    pub block: Option<Range<usize>>,
    /// Whether `/-` switches it off, or something around it.
    pub is_off: bool,
    parts: Range<usize>,
}

/// An argument or a property.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The property's key; an argument has none.
    pub key: Option<Range<usize>>,
    /// The annotation, without its parentheses; empty when it is not written yet.
    pub note: Option<Range<usize>>,
    /// The literal, when it is written.
    pub value: Option<Range<usize>>,
}

/// What the text ends in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// What was begun and not ended.
    pub inside: Inside,
    /// The innermost block that is open.
    pub block: Option<usize>,
    /// The node of the last line, while it can go on.
    pub node: Option<usize>,
    /// Whether the last thing is a block that was closed, behind which nothing can follow on its line.
    pub behind_block: bool,
    /// Whether an annotation was begun and not ended.
    pub in_note: bool,
}

/// What was begun and not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// Nothing.
    #[default]
    Nothing,
    /// A comment.
    Comment,
    /// A text of one line.
    Text,
    /// A text of several lines.
    Lines,
}

impl Outline {
    /// The outline of a text.
    pub fn of(text: &str, schema: &Schema) -> Self {
        Builder::new(text).build(&resets(text, schema))
    }

    /// The outline of what stands before a byte, as seen in the light of the whole text.
    pub fn before(text: &str, offset: usize, schema: &Schema) -> Self {
        Builder::new(&text[..offset]).build(&resets(text, schema))
    }

    /// The nodes in the order of the text; a node comes before those of its block.
    pub fn nodes(&self) -> &[Item] {
        &self.nodes
    }

    /// What a node is given.
    pub fn parts(&self, node: usize) -> &[Part] {
        self.nodes.get(node).map_or(&[], |item| &self.parts[item.parts.clone()])
    }

    /// The arguments of a node.
    pub fn arguments(&self, node: usize) -> impl Iterator<Item = &Part> {
        self.parts(node).iter().filter(|part| part.key.is_none())
    }

    /// What the text ends in.
    pub fn end(&self) -> &End {
        &self.end
    }

    /// The number of the innermost node that reaches over a byte.
    pub fn node_at(&self, offset: usize) -> Option<usize> {
        let reaches = |item: &Item| item.extent.start <= offset && offset <= item.extent.end;
        self.nodes.iter().rposition(reaches)
    }

    /// What the schema says of every node, in their order.
    pub fn specs<'s>(&self, text: &str, schema: &'s Schema) -> Vec<Option<&'s NodeSpec>> {
        let mut specs: Vec<Option<&NodeSpec>> = Vec::with_capacity(self.nodes.len());
        for item in &self.nodes {
            let name = value(text, &item.name);
            specs.push(match item.parent {
                None => schema.top().get(&name),
                Some(parent) => specs[parent].and_then(|around| schema.setting(around, &name)),
            });
        }
        specs
    }
}

/// What a word or text stands for; as it is written when it is not whole.
pub fn value(text: &str, literal: &Range<usize>) -> String {
    let written = &text[literal.clone()];
    if Lexer::new(written, 0).next().is_some_and(|token| token.flaw.is_some()) {
        return written.trim_start_matches('#').trim_start_matches('"').to_owned();
    }
    literal::decode(written).map_or_else(|_| written.to_owned(), |decoded| decoded.value)
}

/// The whole of the word or text that begins at a byte.
pub fn literal_at(text: &str, start: usize) -> Range<usize> {
    let token = Lexer::new(text, start).next().filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
    start..token.map_or(start, |token| token.end)
}

/// Whether a text can be written without quotes: it is a name in the plain sense, and no keyword.
pub fn is_bare(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic());
    begins && text.chars().all(plain) && !super::grammar::KEYWORDS.contains(&text)
}

/// The bytes at which a top-level node begins whatever was left open before: the first behind a text or comment without
/// an end, and every one at the beginning of a line when blocks are not closed.
fn resets(text: &str, schema: &Schema) -> Vec<usize> {
    let is_top = |at: usize| {
        let word = Lexer::new(text, at).next().filter(|token| token.kind == Kind::Word);
        word.is_some_and(|token| schema.top().get(&text[token.range()]).is_some())
    };
    let (mut resets, mut lines, mut depth, mut at) = (Vec::new(), Vec::new(), 0_usize, 0);
    'anew: loop {
        for token in Lexer::new(text, at) {
            match token.kind {
                Kind::Open => depth += 1,
                Kind::Close => depth = depth.saturating_sub(1),
                Kind::Word if begins_line(text, token.start) && is_top(token.start) => lines.push(token.start),
                _ => {}
            }
            if matches!(token.flaw, Some(Flaw::UnclosedLines | Flaw::UnclosedComment)) && resets.len() < MAX_RESTARTS {
                let next = text[token.start..].match_indices('\n').map(|(line, _)| token.start + line + 1);
                if let Some(next) = next.into_iter().find(|next| is_top(*next)) {
                    resets.push(next);
                    (at, depth) = (next, 0);
                    continue 'anew;
                }
            }
        }
        break;
    }
    if depth > 0 {
        resets.extend(lines);
        resets.sort_unstable();
    }
    resets
}

fn begins_line(text: &str, at: usize) -> bool {
    at == 0 || matches!(text.as_bytes()[at - 1], b'\n' | b'\r')
}

struct Builder<'a> {
    text: &'a str,
    out: Outline,
    open: Vec<usize>,
    current: Option<usize>,
    /// `/-` waits for what it switches off.
    off: bool,
    continued: bool,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, out: Outline::default(), open: Vec::new(), current: None, off: false, continued: false }
    }

    fn build(mut self, resets: &[usize]) -> Outline {
        let mut resets = resets.iter().copied().filter(|at| *at < self.text.len()).peekable();
        let mut at = if self.text.starts_with('\u{feff}') { 3 } else { 0 };
        while let Some(token) = Lexer::new(self.text, at).next() {
            at = token.end;
            while let Some(reset) = resets.next_if(|reset| *reset < token.end) {
                // What a text or comment without an end has swallowed is read again.
                at = if reset > token.start { reset } else { at };
                self.reset();
            }
            if at >= token.end {
                self.take(token);
            }
        }
        self.out.end.block = self.open.last().copied();
        self.out.end.behind_block = self.current.is_some_and(|node| self.out.nodes[node].block.is_some());
        self.out.end.node = self.current.filter(|node| self.out.nodes[*node].block.is_none());
        self.out
    }

    fn reset(&mut self) {
        self.open.clear();
        (self.current, self.off, self.continued, self.out.end) = (None, false, false, End::default());
    }

    fn take(&mut self, token: Token) {
        self.out.end.inside = match (token.kind, token.flaw) {
            (Kind::LineComment, _) | (Kind::Space, Some(_)) => Inside::Comment,
            (_, Some(Flaw::UnclosedString)) => Inside::Text,
            (Kind::Quoted, Some(_)) => Inside::Lines,
            _ => Inside::Nothing,
        };
        match token.kind {
            Kind::Space | Kind::LineComment => {}
            Kind::Newline => {
                if !std::mem::take(&mut self.continued) {
                    self.end_node();
                }
            }
            Kind::Semicolon => self.end_node(),
            Kind::Continuation => self.continued = true,
            Kind::Slashdash => self.off = true,
            Kind::Open => self.open(token),
            Kind::Close => self.close(token),
            Kind::ParenOpen => self.note(token),
            Kind::ParenClose => self.out.end.in_note = false,
            Kind::Equals => self.equals(),
            Kind::Quoted | Kind::Word | Kind::Bad => self.word(token),
        }
    }

    fn end_node(&mut self) {
        (self.current, self.out.end.in_note) = (None, false);
    }

    fn push(&mut self, name: Range<usize>) -> usize {
        let parent = self.open.last().copied();
        let is_off = std::mem::take(&mut self.off) || parent.is_some_and(|parent| self.out.nodes[parent].is_off);
        let parts = self.out.parts.len()..self.out.parts.len();
        self.out.nodes.push(Item { parent, extent: name.clone(), name, block: None, is_off, parts });
        self.out.nodes.len() - 1
    }

    fn open(&mut self, token: Token) {
        let is_free = |node: &usize| self.out.nodes[*node].block.is_none();
        // A block that is switched off is no block of its node.
        let owner = self.current.filter(is_free).filter(|_| !self.off);
        let owner = owner.unwrap_or_else(|| self.push(token.start..token.start));
        let item = &mut self.out.nodes[owner];
        item.block = Some(token.end..self.text.len());
        item.extent.end = self.text.len();
        self.open.push(owner);
        self.end_node();
    }

    fn close(&mut self, token: Token) {
        self.end_node();
        let Some(owner) = self.open.pop() else { return };
        let item = &mut self.out.nodes[owner];
        item.extent.end = token.end;
        if let Some(block) = &mut item.block {
            block.end = token.start;
        }
        self.current = Some(owner);
    }

    /// The part that the current node is given next: a new one, or the last one, which still waits for its value.
    fn part(&mut self, end: usize) -> Option<&mut Part> {
        let item = &mut self.out.nodes[self.current?];
        if item.block.is_some() {
            return None;
        }
        item.extent.end = end;
        let waits = self.out.parts[item.parts.clone()].last().is_some_and(|part| part.value.is_none());
        if !waits {
            self.out.parts.push(Part::default());
            item.parts.end = self.out.parts.len();
        }
        self.off = false;
        self.out.parts.last_mut()
    }

    fn note(&mut self, token: Token) {
        self.out.end.in_note = true;
        if let Some(part) = self.part(token.end) {
            part.note = Some(token.end..token.end);
        }
    }

    fn equals(&mut self) {
        let Some(item) = self.current.map(|node| &self.out.nodes[node]) else { return };
        if let Some(last) = self.out.parts[item.parts.clone()].last_mut().filter(|part| part.key.is_none()) {
            last.key = last.value.take();
        }
    }

    fn word(&mut self, token: Token) {
        if self.out.end.in_note {
            if let Some(part) = self.part(token.end) {
                part.note = Some(token.range());
            }
        } else if self.current.is_none() {
            self.current = Some(self.push(token.range()));
        } else if let Some(part) = self.part(token.end) {
            part.value = Some(token.range());
        }
    }
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
