//! The habits of other languages: what the tokens of a chunk show that cannot be parsed.

use std::ops::Range;

use crate::diag::{Diagnostic, FileId, Span, codes};

use super::grammar::{KEYWORDS, WordKind, word_kind};
use super::lex::{Kind, Lexer, Token};
use super::syntax::found;

/// The tokens of a chunk, looked at for the habits of other languages.
pub(super) struct Habits<'a> {
    chunk: &'a str,
    tokens: Vec<Token>,
}

impl<'a> Habits<'a> {
    /// Reads the tokens of a chunk.
    pub(super) fn new(chunk: &'a str) -> Self {
        Self { chunk, tokens: Lexer::new(chunk, 0).collect() }
    }

    fn text(&self, token: &Token) -> &'a str {
        &self.chunk[token.range()]
    }

    /// Every bare keyword.
    pub(super) fn keywords(&self) -> Vec<Diagnostic> {
        let bare = |token: &&Token| token.kind == Kind::Word && KEYWORDS.contains(&self.text(token));
        let all = self.tokens.iter().enumerate().filter(|(_, token)| bare(token));
        all.map(|(index, token)| if self.is_level(index) { self.level(token) } else { self.keyword(token) }).collect()
    }

    /// Whether an `inf` is a level, where `info` is meant.
    fn is_level(&self, index: usize) -> bool {
        let mut before = self.tokens[..index].iter().rev().filter(|token| token.is_solid());
        let name = before.find(|token| token.kind != Kind::Equals);
        self.text(&self.tokens[index]) == "inf"
            && name.is_some_and(|token| ["level", "log"].contains(&self.text(token)))
    }

    fn level(&self, token: &Token) -> Diagnostic {
        let told =
            found(&codes::SYNTAX_KEYWORD, token.range(), "`inf` is no level", "a bare keyword", "did you mean `info`?");
        told.fix("write info", Span::new(FileId(0), token.range()), "info")
    }

    fn keyword(&self, token: &Token) -> Diagnostic {
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

    /// The first habit that is found.
    pub(super) fn first(&self) -> Option<Diagnostic> {
        (0..self.tokens.len()).find_map(|index| {
            let token = self.tokens[index];
            match token.kind {
                Kind::Bad => self.bad(index),
                Kind::Word => self.word(index),
                Kind::Equals => self.equals(index),
                Kind::Open => self.brace(index),
                Kind::Quoted => self.glued(index),
                Kind::ParenOpen => self.parenthesis(index),
                _ => None,
            }
        })
    }

    fn solid_before(&self, index: usize) -> Option<&Token> {
        self.tokens[..index].iter().rev().find(|token| token.is_solid())
    }

    /// Whether the token is the first of its node.
    fn begins_node(&self, index: usize) -> bool {
        let mut before = self.tokens[..index].iter().rev();
        let stop = before.find(|token| token.is_solid() || token.kind == Kind::Newline);
        match stop.map(|token| token.kind) {
            None | Some(Kind::Open | Kind::Semicolon | Kind::Close | Kind::Slashdash) => true,
            Some(Kind::Newline) => {
                !matches!(self.solid_before(index).map(|token| token.kind), Some(Kind::Continuation))
            }
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

    fn bad(&self, index: usize) -> Option<Diagnostic> {
        let token = &self.tokens[index];
        match self.text(token).chars().next()? {
            '#' => Some(self.hash_comment(index)),
            '[' | ']' => Some(self.brackets(index)),
            _ => {
                let run = self.glued_run(index);
                let message = "text with a slash needs quotes";
                let help = format!("write \"{}\"", &self.chunk[run.clone()]);
                let told = found(&codes::SYNTAX_BARE_PATH, run.clone(), message, "quote this", help);
                Some(self.with_quotes(told, run))
            }
        }
    }

    fn hash_comment(&self, index: usize) -> Diagnostic {
        let token = &self.tokens[index];
        let told = found(
            &codes::SYNTAX_HASH_COMMENT,
            token.start..token.start + 1,
            "`#` does not begin a comment",
            "here",
            "comments begin with //",
        );
        // Behind something else on its line it may be meant otherwise, and would hide a brace that follows.
        let mut before = self.tokens[..index].iter().rev().skip_while(|token| token.kind == Kind::Space);
        match before.next().is_none_or(|token| token.kind == Kind::Newline) {
            true => told.fix("write //", Span::new(FileId(0), token.start..token.start + 1), "//"),
            false => told,
        }
    }

    fn brackets(&self, index: usize) -> Diagnostic {
        let (message, help) = if self.begins_node(index) {
            ("KDL has no [sections]", "write  name { … }")
        } else {
            ("KDL has no [lists]", "write the values one after the other, with spaces: tags a b c")
        };
        found(&codes::SYNTAX_BRACKETS, self.tokens[index].range(), message, "here", help)
    }

    fn word(&self, index: usize) -> Option<Diagnostic> {
        let token = &self.tokens[index];
        let word = self.text(token);
        let next = self.tokens.get(index + 1);
        if word == "r" && next.is_some_and(|next| next.kind == Kind::Quoted) {
            let at = token.start..next.map_or(token.end, |next| next.end);
            let message = "raw text is written #\"…\"# in KDL 2";
            let help = "drop the r, and keep at least one # on both sides";
            let told = found(&codes::SYNTAX_V1_RAW, at.clone(), message, "KDL 1 spelling", help);
            return Some(self.raw(told, at));
        }
        if word.starts_with('#') {
            return self.hash_word(index, word);
        }
        match word_kind(word) {
            WordKind::TooLarge => Some(found(
                &codes::SYNTAX_HUGE_NUMBER,
                token.range(),
                "this number is too large",
                "it needs more than 128 bits",
                "write it as text, in quotes",
            )),
            WordKind::NoNumber => Some(self.unit(index)),
            _ => self.glued(index),
        }
    }

    /// Adds the fix that spells a raw text as KDL 2 does.
    fn raw(&self, told: Diagnostic, at: Range<usize>) -> Diagnostic {
        let literal = &self.chunk[at.start + 1..at.end];
        let title = "write it as KDL 2 does";
        match literal.starts_with('#') {
            true => told.fix(title, Span::new(FileId(0), at), literal),
            // A backslash before a quote means that the text ends elsewhere than the lexer thinks.
            false if literal.contains("\\\"") || literal.starts_with("\"\"\"") => told,
            false => told.fix(title, Span::new(FileId(0), at), format!("#{literal}#")),
        }
    }

    fn hash_word(&self, index: usize, word: &str) -> Option<Diagnostic> {
        let token = &self.tokens[index];
        if KEYWORDS.contains(&&word[1..]) {
            return self.glued(index);
        }
        if self.begins_node(index) {
            return Some(self.hash_comment(index));
        }
        let likely = KEYWORDS.iter().find(|keyword| keyword.eq_ignore_ascii_case(&word[1..]));
        let help = match likely {
            Some(keyword) => format!("write #{keyword}"),
            None => format!("write \"{word}\" for the text; comments begin with //"),
        };
        let message = format!("there is no keyword `{word}`");
        let told = found(&codes::SYNTAX_KEYWORD, token.range(), message, "not a keyword", help);
        Some(match likely {
            Some(keyword) => {
                told.fix(format!("write #{keyword}"), Span::new(FileId(0), token.range()), format!("#{keyword}"))
            }
            None => told,
        })
    }

    /// A word that begins like a number and is none.
    fn unit(&self, index: usize) -> Diagnostic {
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
        self.with_quotes(told, run)
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

    fn equals(&self, index: usize) -> Option<Diagnostic> {
        let before = self.tokens[..index].iter().rposition(Token::is_solid);
        let key = before.map(|at| self.begins_node(at));
        let after = self.tokens[index + 1..].iter().find(|token| token.kind != Kind::Space);
        let at = self.tokens[index].range();
        let name_value = "write  name value  for a child, and  name=value  for a property";
        if key == Some(true) {
            let message = "a child takes its value without `=`";
            let told = found(&codes::SYNTAX_EQUALS, at.clone(), message, "remove this", name_value);
            let spaced = self.tokens[..index].last().is_some_and(|token| token.kind == Kind::Space);
            let new = if spaced { "" } else { " " };
            return Some(told.fix("remove the =", Span::new(FileId(0), at), new));
        }
        let ends = after.is_none_or(|token| matches!(token.kind, Kind::Newline | Kind::Semicolon | Kind::Close));
        let no_key =
            key.is_none() || before.is_some_and(|at| !matches!(self.tokens[at].kind, Kind::Word | Kind::Quoted));
        if ends || no_key {
            let message = if ends { "a value is missing after this `=`" } else { "a name is missing before this `=`" };
            return Some(found(&codes::SYNTAX_EQUALS, at, message, "here", name_value));
        }
        None
    }

    fn brace(&self, index: usize) -> Option<Diagnostic> {
        if !self.begins_node(index) {
            return None;
        }
        let open = &self.tokens[index];
        let message = "a `{` must stand on the line of its node";
        let help = "write  name {  on one line";
        let told = found(&codes::SYNTAX_BRACE_ALONE, open.range(), message, "move this up", help);
        // A comment between the two would be lost, and a brace behind another has no node.
        let end = self.solid_before(index).filter(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let between = end.map(|token| token.end..open.start);
        match between.filter(|between| self.chunk[between.clone()].trim().is_empty()) {
            Some(between) => told.fix("move it up", Span::new(FileId(0), between.start..open.end), " {"),
            None => told,
        }
        .into()
    }

    /// Two things without a space between them.
    fn glued(&self, index: usize) -> Option<Diagnostic> {
        let next = self.tokens.get(index + 1)?;
        if !matches!(next.kind, Kind::Word | Kind::Quoted | Kind::ParenOpen) {
            return None;
        }
        let label = "this needs a space before it";
        Some(found(
            &codes::SYNTAX_NO_SPACE,
            next.range(),
            "a space is missing here",
            label,
            "values are separated by spaces",
        ))
    }

    fn parenthesis(&self, index: usize) -> Option<Diagnostic> {
        let mut after = self.tokens[index + 1..].iter().filter(|token| token.kind != Kind::Space);
        let name = after.next().is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let close = after.next().is_some_and(|token| token.kind == Kind::ParenClose);
        let value = after.next().is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        if name && close && value {
            return None;
        }
        let help = "an annotation stands before a value, as in (env)NAME; text with parentheses needs quotes";
        Some(found(&codes::SYNTAX_OTHER, self.tokens[index].range(), "this is not an annotation", "here", help))
    }
}
