//! The habits of other languages: what the tokens of a chunk show that cannot be parsed.

use std::ops::Range;

use crate::diag::{Diagnostic, FileId, Span, codes};

use super::grammar::{KEYWORDS, WordKind, word_kind};
use super::lex::{Kind, Lexer, Token, is_newline};
use super::syntax::found;

const NAME_VALUE: &str = "write  name value  for a child, and  name=value  for a property";

/// What stands in a chunk as far as can be told from its tokens.
#[derive(Debug)]
pub(super) enum Meant {
    /// A text, or another value.
    Value(Range<usize>),
    /// Nothing that counts.
    Blank(Range<usize>),
    /// That cannot be told; what follows may be a consequence.
    Unknown,
}

impl Meant {
    /// The token that stands for it.
    fn token(&self) -> Option<Token> {
        match self {
            Self::Value(at) => Some(Token { kind: Kind::Quoted, start: at.start, end: at.end, flaw: None }),
            Self::Blank(at) => Some(Token { kind: Kind::Space, start: at.start, end: at.end, flaw: None }),
            Self::Unknown => None,
        }
    }
}

/// A habit that was found.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) diagnostic: Diagnostic,
    pub(super) meant: Meant,
}

impl Told {
    /// A value is written wrong.
    fn value(diagnostic: Diagnostic, at: Range<usize>) -> Self {
        Self { diagnostic, meant: Meant::Value(at) }
    }

    fn unknown(diagnostic: Diagnostic) -> Self {
        Self { diagnostic, meant: Meant::Unknown }
    }
}

/// The tokens of a chunk, looked at for the habits of other languages.
struct Habits<'a> {
    chunk: &'a str,
    tokens: Vec<Token>,
    /// Those that were looked at, as they were meant.
    before: Vec<Token>,
}

/// What the tokens of a chunk show.
#[derive(Debug)]
pub(super) struct Shown {
    /// All habits, up to the first after which nothing can be told.
    pub(super) told: Vec<Told>,
    /// The tokens as they were meant; `None` when that cannot be told of all.
    pub(super) meant: Option<Vec<Token>>,
}

/// Looks for the habits of other languages in a chunk.
pub(super) fn shown(chunk: &str) -> Shown {
    let tokens: Vec<Token> = Lexer::new(chunk, 0).collect();
    let before = Vec::with_capacity(tokens.len());
    Habits { chunk, tokens, before }.look()
}

impl<'a> Habits<'a> {
    fn text(&self, token: &Token) -> &'a str {
        &self.chunk[token.range()]
    }

    fn look(mut self) -> Shown {
        let mut told: Vec<Told> = Vec::new();
        let mut index = 0;
        while index < self.tokens.len() {
            let Some(found) = self.habit(index) else {
                self.before.push(self.tokens[index]);
                index += 1;
                continue;
            };
            let (token, looked) = (found.meant.token(), index);
            told.push(found);
            let Some(token) = token else { return Shown { told, meant: None } };
            self.put(token);
            while self.tokens.get(index).is_some_and(|next| next.start < token.end) {
                index += 1;
            }
            // What stands for nothing before the token that showed it leaves that token as it is.
            if let Some(shown) = self.tokens.get(index).filter(|shown| shown.start == token.end && index == looked) {
                self.before.push(*shown);
                index += 1;
            }
        }
        Shown { told, meant: Some(self.before) }
    }

    /// Puts in what was meant, so that it touches nothing. It may begin before the token that showed it.
    fn put(&mut self, token: Token) {
        let space = |at| Token { kind: Kind::Space, start: at, end: at, flaw: None };
        while self.before.pop_if(|last| last.start >= token.start).is_some() {}
        self.before.extend([space(token.start), token, space(token.end)]);
    }

    fn habit(&self, index: usize) -> Option<Told> {
        match self.tokens[index].kind {
            Kind::Bad => self.bad(index),
            Kind::Word => self.word(index),
            Kind::Equals => self.equals(index),
            Kind::Open => self.brace(index),
            Kind::Quoted => self.glued(index),
            Kind::ParenOpen => self.parenthesis(index),
            _ => None,
        }
    }

    /// Whether an `inf` that follows is a level, where `info` is meant.
    fn is_level(&self, index: usize) -> bool {
        let mut before = self.before.iter().rev().filter(|token| token.is_solid());
        let name = before.find(|token| token.kind != Kind::Equals);
        self.text(&self.tokens[index]) == "inf"
            && name.is_some_and(|token| ["level", "log"].contains(&self.text(token)))
    }

    fn keyword(&self, index: usize) -> Diagnostic {
        let token = &self.tokens[index];
        if self.is_level(index) {
            return level(token);
        }
        let word = self.text(token);
        found(
            &codes::SYNTAX_KEYWORD,
            token.range(),
            format!("`{word}` is written `#{word}` in KDL 2"),
            "a bare keyword",
            format!("write #{word}, or \"{word}\" for the text"),
        )
        .fix(format!("write #{word}"), Span::new(FileId(0), token.range()), format!("#{word}"))
    }

    /// Whether what follows these tokens is the first of its node.
    fn begins_node(before: &[Token]) -> bool {
        let stops = |token: &&Token| token.is_solid() || token.kind == Kind::Newline;
        let mut back = before.iter().rev().filter(stops).map(|token| token.kind);
        match back.next() {
            None | Some(Kind::Open | Kind::Semicolon | Kind::Close | Kind::Slashdash) => true,
            Some(Kind::Newline) => back.next() != Some(Kind::Continuation),
            _ => false,
        }
    }

    /// The text without white space around a token, as somebody wrote it who forgot the quotes.
    fn glued_run(&self, index: usize) -> Range<usize> {
        let ends = |c: char| c.is_whitespace() || matches!(c, ';' | '"' | '(' | ')' | '=');
        let token = self.tokens[index];
        let start = self.chunk[..token.start]
            .rfind(ends)
            .map_or(0, |at| at + self.chunk[at..].chars().next().map_or(1, char::len_utf8));
        let end = self.chunk[token.end..].find(ends).map_or(self.chunk.len(), |at| token.end + at);
        let run = self.chunk[start..end].trim_end_matches('}');
        // `{id}` is part of a path, the brace of a block is not.
        let open = run.matches('{').count().saturating_sub(run.matches('}').count());
        let closing = (end - start - run.len()).min(open);
        start..start + run.len() + closing
    }

    fn bad(&self, index: usize) -> Option<Told> {
        let token = &self.tokens[index];
        match self.text(token).chars().next()? {
            '#' => Some(self.hash_comment(index)),
            '[' | ']' => Some(self.brackets(index)),
            _ => {
                let run = self.glued_run(index);
                let message = "text with a slash needs quotes";
                let help = format!("write \"{}\"", &self.chunk[run.clone()]);
                let told = found(&codes::SYNTAX_BARE_PATH, run.clone(), message, "quote this", help);
                Some(Told::value(self.with_quotes(told, run.clone()), run))
            }
        }
    }

    fn hash_comment(&self, index: usize) -> Told {
        let token = &self.tokens[index];
        let told = found(
            &codes::SYNTAX_HASH_COMMENT,
            token.start..token.start + 1,
            "`#` does not begin a comment",
            "here",
            "comments begin with //",
        );
        // Behind something else on its line it may be meant otherwise, and would hide a brace that follows.
        let mut before = self.before.iter().rev().skip_while(|token| token.kind == Kind::Space);
        if !before.next().is_none_or(|token| token.kind == Kind::Newline) {
            return Told::unknown(told);
        }
        let end = self.chunk[token.start..].find(is_newline).map_or(self.chunk.len(), |end| token.start + end);
        Told {
            diagnostic: told.fix("write //", Span::new(FileId(0), token.start..token.start + 1), "//"),
            meant: Meant::Blank(token.start..end),
        }
    }

    fn brackets(&self, index: usize) -> Told {
        let begins = Self::begins_node(&self.before);
        let (message, help) = if begins {
            ("KDL has no [sections]", "write  name { … }")
        } else {
            ("KDL has no [lists]", "write the values one after the other, with spaces: tags a b c")
        };
        let at = self.tokens[index].range();
        let told = found(&codes::SYNTAX_BRACKETS, at.clone(), message, "here", help);
        let rest = self.tokens[index..].iter().take_while(|token| token.kind != Kind::Newline);
        let close = rest.filter(|token| token.kind == Kind::Bad).find(|token| self.text(token) == "]");
        match close {
            Some(close) if !begins && close.start > at.start => Told::value(told, at.start..close.end),
            _ => Told::unknown(told),
        }
    }

    fn word(&self, index: usize) -> Option<Told> {
        let token = &self.tokens[index];
        let word = self.text(token);
        let next = self.tokens.get(index + 1);
        if KEYWORDS.contains(&word) {
            return Some(Told::value(self.keyword(index), token.range()));
        }
        if let Some(next) = next.filter(|next| word == "r" && next.kind == Kind::Quoted) {
            return Some(self.raw(token.start..next.end));
        }
        if word.starts_with('#') {
            return self.hash_word(index, word);
        }
        match word_kind(word) {
            WordKind::TooLarge => {
                let message = "this number is too large";
                let label = "it needs more than 128 bits";
                let help = "write it as text, in quotes";
                let told = found(&codes::SYNTAX_HUGE_NUMBER, token.range(), message, label, help);
                Some(Told::value(told, token.range()))
            }
            WordKind::NoNumber => Some(self.unit(index)),
            _ => self.glued(index),
        }
    }

    fn raw(&self, at: Range<usize>) -> Told {
        let message = "raw text is written #\"…\"# in KDL 2";
        let help = "drop the r, and keep at least one # on both sides";
        let told = found(&codes::SYNTAX_V1_RAW, at.clone(), message, "KDL 1 spelling", help);
        let literal = &self.chunk[at.start + 1..at.end];
        let title = "write it as KDL 2 does";
        if literal.starts_with('#') {
            return Told::value(told.fix(title, Span::new(FileId(0), at.clone()), literal), at);
        }
        // A backslash before a quote means that the text ends elsewhere than the lexer thinks.
        if literal.contains("\\\"") || literal.starts_with("\"\"\"") {
            return Told::unknown(told);
        }
        Told::value(told.fix(title, Span::new(FileId(0), at.clone()), format!("#{literal}#")), at)
    }

    fn hash_word(&self, index: usize, word: &str) -> Option<Told> {
        let token = &self.tokens[index];
        if KEYWORDS.contains(&&word[1..]) {
            return self.glued(index);
        }
        if Self::begins_node(&self.before) {
            return Some(self.hash_comment(index));
        }
        let likely = KEYWORDS.iter().find(|keyword| keyword.eq_ignore_ascii_case(&word[1..]));
        let help = match likely {
            Some(keyword) => format!("write #{keyword}"),
            None => format!("write \"{word}\" for the text; comments begin with //"),
        };
        let message = format!("there is no keyword `{word}`");
        let told = found(&codes::SYNTAX_KEYWORD, token.range(), message, "not a keyword", help);
        let told = match likely {
            Some(keyword) => {
                told.fix(format!("write #{keyword}"), Span::new(FileId(0), token.range()), format!("#{keyword}"))
            }
            // It may begin a comment.
            None => return Some(Told::unknown(told)),
        };
        Some(Told::value(told, token.range()))
    }

    /// A word that begins like a number and is none.
    fn unit(&self, index: usize) -> Told {
        let run = self.glued_run(index);
        let word = &self.chunk[run.clone()];
        let what = if word.matches('.').count() == 3 || word.contains(':') {
            "an address"
        } else if word.ends_with('B') {
            "a size"
        } else if word.ends_with(['s', 'm', 'h', 'd']) {
            "a duration"
        } else {
            "text that begins with a digit"
        };
        let message = format!("{what} needs quotes");
        let fix = format!("\"{word}\"");
        let told = found(&codes::SYNTAX_BARE_UNIT, run.clone(), message, "quote this", format!("write {fix}"));
        Told::value(self.with_quotes(told, run.clone()), run)
    }

    /// Adds the fix that puts a run in quotes, unless it could mean something else: an escape, or a comment behind it.
    fn with_quotes(&self, told: Diagnostic, run: Range<usize>) -> Diagnostic {
        let word = &self.chunk[run.clone()];
        let unbalanced = word.matches('{').count() != word.matches('}').count();
        if unbalanced || word.contains('\\') || word.contains("//") || word.contains("/*") {
            return told;
        }
        told.fix("put it in quotes", Span::new(FileId(0), run), format!("\"{word}\""))
    }

    fn equals(&self, index: usize) -> Option<Told> {
        let begins = Self::begins_node(&self.before);
        let key = self.before.iter().rposition(Token::is_solid).filter(|_| !begins);
        let after = self.tokens[index + 1..].iter().find(|token| token.kind != Kind::Space).map(|token| token.kind);
        let doubled = after == Some(Kind::Equals);
        if !doubled && key.is_some_and(|at| Self::begins_node(&self.before[..at])) {
            return Some(self.child_equals(index));
        }
        let ends = doubled || after.is_none_or(|kind| matches!(kind, Kind::Newline | Kind::Semicolon | Kind::Close));
        let no_key = key.is_none_or(|at| !matches!(self.before[at].kind, Kind::Word | Kind::Quoted));
        if !ends && !no_key {
            return None;
        }
        let message = if ends { "a value is missing after this `=`" } else { "a name is missing before this `=`" };
        let at = self.tokens[index].range();
        Some(Told::unknown(found(&codes::SYNTAX_EQUALS, at, message, "here", NAME_VALUE)))
    }

    fn child_equals(&self, index: usize) -> Told {
        let at = self.tokens[index].range();
        let message = "a child takes its value without `=`";
        let told = found(&codes::SYNTAX_EQUALS, at.clone(), message, "remove this", NAME_VALUE);
        let spaced = self.before.last().is_some_and(|token| token.kind == Kind::Space);
        let new = if spaced { "" } else { " " };
        let diagnostic = told.fix("remove the =", Span::new(FileId(0), at.clone()), new);
        Told { diagnostic, meant: Meant::Blank(at) }
    }

    fn brace(&self, index: usize) -> Option<Told> {
        if !Self::begins_node(&self.before) {
            return None;
        }
        let open = &self.tokens[index];
        let message = "a `{` must stand on the line of its node";
        let help = "write  name {  on one line";
        let told = found(&codes::SYNTAX_BRACE_ALONE, open.range(), message, "move this up", help);
        // A comment between the two would be lost, and a brace behind another has no node.
        let end = self
            .before
            .iter()
            .rfind(|token| token.is_solid())
            .filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let between = end.map(|token| token.end..open.start);
        let Some(between) = between.filter(|between| self.chunk[between.clone()].trim().is_empty()) else {
            return Some(Told::unknown(told));
        };
        let diagnostic = told.fix("move it up", Span::new(FileId(0), between.start..open.end), " {");
        Some(Told { diagnostic, meant: Meant::Blank(between) })
    }

    /// Two things without a space between them.
    fn glued(&self, index: usize) -> Option<Told> {
        let next = self.tokens.get(index + 1)?;
        if !matches!(next.kind, Kind::Word | Kind::Quoted | Kind::ParenOpen) {
            return None;
        }
        if next.kind == Kind::ParenOpen && !self.is_annotation(index + 1) {
            return Some(self.code(index));
        }
        let label = "this needs a space before it";
        Some(Told::unknown(found(
            &codes::SYNTAX_NO_SPACE,
            next.range(),
            "a space is missing here",
            label,
            "values are separated by spaces",
        )))
    }

    /// A call, as the code of a handler has them.
    fn code(&self, index: usize) -> Told {
        let at = self.tokens[index].start..self.tokens[index + 1].end;
        let message = "code stands in a text";
        let help =
            "write  lua #\"return 1\"#  or, of several lines,  lua #\"\"\"  and below the code a line with  \"\"\"#";
        Told::unknown(found(&codes::SYNTAX_OTHER, at, message, "this looks like code", help))
    }

    fn is_annotation(&self, index: usize) -> bool {
        let mut after = self.tokens[index + 1..].iter().filter(|token| token.kind != Kind::Space);
        let name = after.next().is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let close = after.next().is_some_and(|token| token.kind == Kind::ParenClose);
        let value = after.next().is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        name && close && value
    }

    fn parenthesis(&self, index: usize) -> Option<Told> {
        if self.is_annotation(index) {
            return None;
        }
        let help = "an annotation stands before a value, as in (env)NAME; text with parentheses needs quotes";
        let at = self.tokens[index].range();
        Some(Told::unknown(found(&codes::SYNTAX_OTHER, at, "this is not an annotation", "here", help)))
    }
}

fn level(token: &Token) -> Diagnostic {
    let told =
        found(&codes::SYNTAX_KEYWORD, token.range(), "`inf` is no level", "a bare keyword", "did you mean `info`?");
    told.fix("write info", Span::new(FileId(0), token.range()), "info")
}
