//! One pass over a file before any parsing: the limits, and where each top-level node begins and ends.
//!
//! What passes here cannot make the parser overflow its stack or run away: nesting, nested comments and slashdashes are
//! counted with the same lexer that later shows the parser its tokens. A chunk with a finding is not parsed at all.

use std::ops::Range;

use super::lex::{Flaw, Kind, Lexer, Token};

/// The greatest file, in bytes.
pub(super) const MAX_BYTES: usize = 16 << 20;
/// How deep blocks may nest.
pub(super) const MAX_DEPTH: usize = 32;
/// How deep blocks switched off by `/-` may nest.
const MAX_SLASHDASH_DEPTH: usize = 4;
/// How many `/-` may follow each other.
const MAX_SLASHDASH_RUN: usize = 4;

/// How often the scan goes on after something that was left open; each time it reads the rest of the file anew.
const MAX_RESTARTS: usize = 16;

/// What the scan found wrong; offsets are the file's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Issue {
    /// Blocks, comments or slashdashes nest too deep; the limit is crossed here.
    TooDeep(usize),
    /// A block without its `}`, and the first word that looks like the next block.
    UnclosedBlock {
        /// Its `{`.
        open: usize,
        /// The word.
        suspect: Option<Range<usize>>,
    },
    /// A `}` too many.
    StrayBrace(usize),
    /// A token that is not whole.
    Flaw(Flaw, Range<usize>),
}

/// One top-level node's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Its bytes in the file.
    pub(super) range: Range<usize>,
    /// The first thing that is wrong with it.
    pub(super) issue: Option<Issue>,
}

struct Block {
    open: usize,
    slashed: bool,
    /// The first word at the beginning of a line inside that a top-level node could begin with.
    suspect: Option<Range<usize>>,
}

struct Scan<'a> {
    text: &'a str,
    is_top: &'a dyn Fn(&str) -> bool,
    chunks: Vec<Chunk>,
    blocks: Vec<Block>,
    /// The chunk under way: its first byte and one past its last solid one.
    open: Option<(usize, usize)>,
    issue: Option<Issue>,
    /// `/-` that wait for what they switch off.
    slashes: usize,
    slashed_blocks: usize,
    continued: bool,
    restarts: usize,
}

/// Cuts a file that is not too big into chunks. `is_top` knows the names of top-level nodes: when a block is never
/// closed, the scan goes on at the first line that begins with one.
pub(super) fn scan(text: &str, is_top: &dyn Fn(&str) -> bool) -> Vec<Chunk> {
    let mut scan = Scan {
        text,
        is_top,
        chunks: Vec::new(),
        blocks: Vec::new(),
        open: None,
        issue: None,
        slashes: 0,
        slashed_blocks: 0,
        continued: false,
        restarts: 0,
    };
    let mut at = if text.starts_with('\u{feff}') { 3 } else { 0 };
    while let Some(next) = scan.run(at) {
        at = next;
    }
    scan.chunks
}

impl Scan<'_> {
    /// Scans to the end; where to go on when something was left open.
    fn run(&mut self, from: usize) -> Option<usize> {
        for token in Lexer::new(self.text, from) {
            if let Some(flaw) = token.flaw {
                self.report(Issue::Flaw(flaw, token.range()));
            }
            match token.kind {
                Kind::Newline => self.newline(),
                Kind::Space | Kind::LineComment => {}
                _ => self.solid(token),
            }
            if matches!(token.flaw, Some(Flaw::CommentTooDeep | Flaw::UnclosedComment | Flaw::UnclosedLines))
                || matches!(self.issue, Some(Issue::TooDeep(_)))
            {
                return self.give_up(token);
            }
        }
        self.finish()
    }

    fn report(&mut self, issue: Issue) {
        self.issue.get_or_insert(issue);
    }

    fn newline(&mut self) {
        if self.blocks.is_empty() && !self.continued && self.slashes == 0 {
            self.close();
        }
        self.continued = false;
    }

    fn close(&mut self) {
        let issue = self.issue.take();
        if let Some((start, end)) = self.open.take() {
            self.chunks.push(Chunk { range: start..end, issue });
        }
        (self.slashes, self.continued) = (0, false);
    }

    fn solid(&mut self, token: Token) {
        if token.kind == Kind::Close && self.blocks.is_empty() {
            self.close();
            self.report(Issue::StrayBrace(token.start));
        }
        if token.kind == Kind::Semicolon && self.blocks.is_empty() && self.ends(token.start) {
            return self.close();
        }
        if token.kind == Kind::Continuation && self.open.is_none() && self.continues(token.end) {
            return;
        }
        if token.kind == Kind::Open && self.open.is_none() {
            self.reopen();
        }
        let start = self.open.map_or(token.start, |(start, _)| start);
        self.open = Some((start, token.end));
        match token.kind {
            Kind::Slashdash => self.slashdash(token.start),
            Kind::Open => self.enter(token.start),
            Kind::Close => self.leave(),
            Kind::Continuation => self.continued = true,
            Kind::Semicolon => {}
            _ => self.word(token),
        }
    }

    /// Whether a `;` outside of all blocks ends a node, or belongs to a `}` too many. Any other is part of the mistake
    /// that the next node is told with.
    fn ends(&self, semicolon: usize) -> bool {
        let is_stray = |last: &Chunk| {
            let behind = &self.text[last.range.end..semicolon];
            matches!(last.issue, Some(Issue::StrayBrace(_))) && !behind.contains(['\n', '\r'])
        };
        self.open.is_some() || self.chunks.last().is_some_and(is_stray)
    }

    /// Whether the line goes on behind a `\`. Where more follows on its line, it is part of a mistake.
    fn continues(&self, behind: usize) -> bool {
        let is_blank = |token: &Token| matches!(token.kind, Kind::Space | Kind::LineComment);
        Lexer::new(self.text, behind).find(|token| !is_blank(token)).is_none_or(|token| token.kind == Kind::Newline)
    }

    /// A `{` on a line of its own was meant for the node above: both are one chunk, and one mistake.
    fn reopen(&mut self) {
        if let Some(last) = self.chunks.pop_if(|chunk| chunk.issue.is_none()) {
            self.open = Some((last.range.start, last.range.end));
        }
    }

    fn slashdash(&mut self, at: usize) {
        self.slashes += 1;
        if self.slashes > MAX_SLASHDASH_RUN {
            self.report(Issue::TooDeep(at));
        }
    }

    fn enter(&mut self, at: usize) {
        let slashed = std::mem::take(&mut self.slashes) > 0;
        self.slashed_blocks += usize::from(slashed);
        self.blocks.push(Block { open: at, slashed, suspect: None });
        if self.blocks.len() > MAX_DEPTH || self.slashed_blocks > MAX_SLASHDASH_DEPTH {
            self.report(Issue::TooDeep(at));
        }
    }

    fn leave(&mut self) {
        match self.blocks.pop() {
            Some(block) => self.slashed_blocks -= usize::from(block.slashed),
            None => self.close(),
        }
        self.slashes = 0;
    }

    fn word(&mut self, token: Token) {
        (self.slashes, self.continued) = (0, false);
        let first = token.start == 0 || matches!(self.text.as_bytes()[token.start - 1], b'\n' | b'\r');
        if let Some(block) = self.blocks.last_mut()
            && block.suspect.is_none()
            && first
            && token.kind == Kind::Word
            && (self.is_top)(&self.text[token.range()])
        {
            block.suspect = Some(token.range());
        }
    }

    /// Ends the chunk at a finding after which nothing can be told apart any more, and goes on at the next line that
    /// begins with a top-level name.
    fn give_up(&mut self, token: Token) -> Option<usize> {
        let start = self.open.map_or(token.start, |(start, _)| start);
        let next = self.next_top(token.start);
        self.end_at(start, next)
    }

    fn finish(&mut self) -> Option<usize> {
        let suspected = self.blocks.iter().rev().find(|block| block.suspect.is_some());
        let Some(block) = suspected.or(self.blocks.last()) else {
            self.close();
            return None;
        };
        let (open, suspect) = (block.open, block.suspect.clone());
        let next = suspect.as_ref().map(|range| range.start);
        let start = self.open.map_or(open, |(start, _)| start);
        let inside = next.is_none_or(|next| self.issue_start() < Some(next));
        if self.issue.is_none() || !inside {
            self.issue = Some(Issue::UnclosedBlock { open, suspect });
        }
        self.end_at(start, next)
    }

    fn issue_start(&self) -> Option<usize> {
        match self.issue.as_ref()? {
            Issue::TooDeep(at) | Issue::StrayBrace(at) | Issue::UnclosedBlock { open: at, .. } => Some(*at),
            Issue::Flaw(_, range) => Some(range.start),
        }
    }

    fn end_at(&mut self, start: usize, next: Option<usize>) -> Option<usize> {
        self.restarts += 1;
        let next = next.filter(|_| self.restarts <= MAX_RESTARTS);
        let end = next.unwrap_or(self.text.len());
        self.open = Some((start, start + self.text[start..end].trim_end().len()));
        self.blocks.clear();
        self.slashed_blocks = 0;
        self.close();
        next
    }

    fn next_top(&self, from: usize) -> Option<usize> {
        let text = &self.text[from..];
        text.match_indices('\n').map(|(at, _)| from + at + 1).find(|line| {
            let rest = &self.text[*line..];
            let word = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or("");
            !word.is_empty() && (self.is_top)(word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> Vec<(&str, Option<Issue>)> {
        let top = |name: &str| matches!(name, "server" | "endpoint" | "site");
        scan(text, &top).into_iter().map(|chunk| (&text[chunk.range], chunk.issue)).collect()
    }

    #[test]
    fn top_level_nodes_are_chunks() {
        let text = "\u{feff}// x\nsite \"a;b\" // c\nserver { a; b {\n} }; endpoint \\ // d\n 1\n/- server {\n}\nsite";
        let chunks: Vec<&str> = scanned(text).into_iter().map(|(text, _)| text).collect();
        assert_eq!(chunks, ["site \"a;b\"", "server { a; b {\n} }", "endpoint \\ // d\n 1", "/- server {\n}", "site"]);
    }

    #[test]
    fn an_open_block_ends_where_the_next_node_begins() {
        let text = "server {\n  bind 1\n\nendpoint {\n  x\n}\nsite";
        let found = scanned(text);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].0, "server {\n  bind 1");
        assert_eq!(found[0].1, Some(Issue::UnclosedBlock { open: 7, suspect: Some(19..27) }));
        assert_eq!(found[1], ("endpoint {\n  x\n}", None));
    }

    #[test]
    fn a_text_without_end_hides_only_its_own_node() {
        let found = scanned("server {\n  a #\"\"\"\n  x\n\nsite \"b\"\n");
        assert!(matches!(found[0].1, Some(Issue::Flaw(Flaw::UnclosedLines, _))));
        assert_eq!(found[1], ("site \"b\"", None));
    }

    #[test]
    fn a_stray_brace_is_its_own_chunk() {
        let found = scanned("site 1\n}\nsite 2");
        assert_eq!(found[1], ("}", Some(Issue::StrayBrace(7))));
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_semicolon_that_ends_nothing_is_not_lost() {
        let chunks = |text| scanned(text).into_iter().map(|(text, _)| text).collect::<Vec<_>>();
        assert_eq!(chunks(";site"), [";site"]);
        assert_eq!(chunks("site;; site\n;\n"), ["site", "; site", ";"]);
        assert_eq!(chunks("\\\n;site \\\n;"), [";site \\"]);
        assert_eq!(chunks("\\site\n\\ // more\nsite"), ["\\site", "site"]);
        assert_eq!(chunks("site {\n};\n}; site"), ["site {\n}", "}", "site"]);
    }

    #[test]
    fn limits_hold() {
        let deep = |text: String| matches!(scanned(&text)[0].1, Some(Issue::TooDeep(_)));
        assert!(deep("a{".repeat(33)));
        assert!(deep("a /-{ ".repeat(20)));
        assert!(deep("/- ".repeat(100)));
        assert!(!deep(format!("{}{}", "a{".repeat(32), "}".repeat(32))));
    }
}
