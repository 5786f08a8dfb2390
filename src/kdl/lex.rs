//! Cuts text into tokens, without recursion and without ever looking back.
//!
//! The lexer decides alone where texts, comments and braces begin and end. What the parser is shown afterwards holds no
//! text and no comment, so the two cannot disagree about them. Every byte belongs to exactly one token.

use std::ops::Range;

/// How deep `/* /* */ */` may nest.
pub(super) const COMMENT_DEPTH: usize = 16;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Blanks, and comments `/* … */`.
    Space,
    /// A comment to the end of the line.
    LineComment,
    /// The end of a line.
    Newline,
    /// `/-`.
    Slashdash,
    /// `\` at the end of a line.
    Continuation,
    /// `;`.
    Semicolon,
    /// `{`.
    Open,
    /// `}`.
    Close,
    /// `(`.
    ParenOpen,
    /// `)`.
    ParenClose,
    /// `=`.
    Equals,
    /// A text in quotes of any form.
    Quoted,
    /// A bare word, a number or a keyword such as `#true`.
    Word,
    /// A character that begins nothing.
    Bad,
}

/// Why a token cannot be what it wants to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// A text on one line that the line ends.
    UnclosedString,
    /// A text of several lines, or a comment, that the file ends.
    UnclosedLines,
    /// `/*` without `*/`.
    UnclosedComment,
    /// Comments nested too deep.
    CommentTooDeep,
    /// `"""` with something after it on its line.
    MultilineStart,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// First byte.
    pub(super) start: usize,
    /// One past the last byte.
    pub(super) end: usize,
    /// What is wrong with it.
    pub(super) flaw: Option<Flaw>,
}

impl Token {
    /// Its bytes.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Whether it stands for something, rather than for the space between things.
    pub(super) fn is_solid(&self) -> bool {
        !matches!(self.kind, Kind::Space | Kind::LineComment | Kind::Newline)
    }
}

/// Whether KDL calls the character white space.
pub(super) fn is_blank(c: char) -> bool {
    matches!(c, '\t' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Whether KDL calls the character a line break (a CR before LF is one with it).
pub(super) fn is_newline(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{b}' | '\u{c}' | '\u{2028}' | '\u{2029}')
}

/// The length of the line break that the text begins with; 0 when there is none.
pub(super) fn newline_len(text: &str) -> usize {
    match text.as_bytes() {
        [b'\r', b'\n', ..] => 2,
        [b'\n' | b'\r' | 0x0b | 0x0c, ..] => 1,
        [0xc2, 0x85, ..] => 2,
        [0xe2, 0x80, 0xa8 | 0xa9, ..] => 3,
        _ => 0,
    }
}

/// Whether KDL forbids the character everywhere, texts and comments included.
pub(super) fn is_forbidden(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{200e}' | '\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Whether the character ends a bare word.
fn ends_word(c: char) -> bool {
    matches!(c, '{' | '}' | ';' | '"' | '\\' | '(' | ')' | '=' | '/' | '#' | '[' | ']') || is_blank(c) || is_newline(c)
}

/// The tokens of a text, one after the other.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Begins at a byte of the text.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    fn rest(&self, from: usize) -> &'a str {
        &self.text[from..]
    }

    /// One past the last character from `from` on for which `belongs` holds.
    fn run(&self, from: usize, belongs: impl Fn(char) -> bool) -> usize {
        let rest = self.rest(from);
        from + rest.find(|c| !belongs(c)).unwrap_or(rest.len())
    }

    fn comment(&self, start: usize) -> (usize, Option<Flaw>) {
        let bytes = self.text.as_bytes();
        let (mut at, mut depth) = (start, 0_usize);
        while at + 1 < bytes.len() {
            match (bytes[at], bytes[at + 1]) {
                (b'/', b'*') => {
                    depth += 1;
                    at += 2;
                    if depth > COMMENT_DEPTH {
                        return (at, Some(Flaw::CommentTooDeep));
                    }
                }
                (b'*', b'/') => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        return (at, None);
                    }
                }
                _ => at += 1,
            }
        }
        (bytes.len(), Some(Flaw::UnclosedComment))
    }

    /// A text that begins at `start` with `hashes` signs before its quotes.
    fn quoted(&self, start: usize, hashes: usize) -> (usize, Option<Flaw>) {
        let body = start + hashes + 1;
        let triple = self.rest(start + hashes).starts_with("\"\"\"");
        if !triple {
            return self.quoted_body(body, hashes, false);
        }
        let after = body + 2;
        if newline_len(self.rest(after)) > 0 || after == self.text.len() {
            return self.quoted_body(after, hashes, true);
        }
        let (end, flaw) = self.quoted_body(after, hashes, true);
        let end = if flaw.is_some() { self.run(after, |c| !is_newline(c)) } else { end };
        (end, Some(Flaw::MultilineStart))
    }

    fn quoted_body(&self, from: usize, hashes: usize, lines: bool) -> (usize, Option<Flaw>) {
        let bytes = self.text.as_bytes();
        let quotes = if lines { 3 } else { 1 };
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' if hashes == 0 => at = self.escape(at),
                b'"' if self.closes(at, quotes, hashes) => return (at + quotes + hashes, None),
                byte if byte < 0x20 || byte == 0xc2 || byte == 0xe2 => {
                    let newline = newline_len(self.rest(at));
                    if newline > 0 && !lines {
                        return (at, Some(Flaw::UnclosedString));
                    }
                    at += newline.max(self.char_len(at));
                }
                _ => at += self.char_len(at),
            }
        }
        (bytes.len(), Some(if lines { Flaw::UnclosedLines } else { Flaw::UnclosedString }))
    }

    fn char_len(&self, at: usize) -> usize {
        self.rest(at).chars().next().map_or(1, char::len_utf8)
    }

    /// One past an escape; an escape of white space takes line breaks with it.
    fn escape(&self, at: usize) -> usize {
        let blank = self.run(at + 1, |c| is_blank(c) || is_newline(c));
        if blank > at + 1 || at + 1 >= self.text.len() {
            return blank;
        }
        at + 1 + self.char_len(at + 1)
    }

    fn closes(&self, at: usize, quotes: usize, hashes: usize) -> bool {
        let bytes = &self.text.as_bytes()[at..];
        bytes.len() >= quotes + hashes
            && bytes[..quotes].iter().all(|byte| *byte == b'"')
            && bytes[quotes..quotes + hashes].iter().all(|byte| *byte == b'#')
    }

    fn hash(&self, start: usize) -> (Kind, usize, Option<Flaw>) {
        let after = self.run(start, |c| c == '#');
        if self.rest(after).starts_with('"') {
            let (end, flaw) = self.quoted(start, after - start);
            return (Kind::Quoted, end, flaw);
        }
        if after == start + 1 && self.rest(after).starts_with(|c: char| c.is_ascii_alphabetic() || c == '-') {
            return (Kind::Word, self.run(after, |c| !ends_word(c)), None);
        }
        (Kind::Bad, after, None)
    }

    fn slash(&self, start: usize) -> (Kind, usize, Option<Flaw>) {
        match self.text.as_bytes().get(start + 1) {
            Some(b'/') => (Kind::LineComment, self.run(start, |c| !is_newline(c)), None),
            Some(b'-') => (Kind::Slashdash, start + 2, None),
            Some(b'*') => {
                let (end, flaw) = self.comment(start);
                (Kind::Space, end, flaw)
            }
            _ => (Kind::Bad, start + 1, None),
        }
    }

    fn token(&self, start: usize, c: char) -> (Kind, usize, Option<Flaw>) {
        let one = |kind| (kind, start + c.len_utf8(), None);
        match c {
            '{' => one(Kind::Open),
            '}' => one(Kind::Close),
            '(' => one(Kind::ParenOpen),
            ')' => one(Kind::ParenClose),
            '=' => one(Kind::Equals),
            ';' => one(Kind::Semicolon),
            '\\' => one(Kind::Continuation),
            '[' | ']' => one(Kind::Bad),
            '/' => self.slash(start),
            '#' => self.hash(start),
            '"' => {
                let (end, flaw) = self.quoted(start, 0);
                (Kind::Quoted, end, flaw)
            }
            c if is_blank(c) => (Kind::Space, self.run(start, is_blank), None),
            c if is_newline(c) => (Kind::Newline, start + newline_len(self.rest(start)), None),
            _ => (Kind::Word, self.run(start, |c| !ends_word(c)), None),
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let start = self.at;
        let c = self.rest(start).chars().next()?;
        let (kind, end, flaw) = self.token(start, c);
        self.at = end;
        Some(Token { kind, start, end, flaw })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        Lexer::new(text, 0).filter(Token::is_solid).map(|token| (token.kind, &text[token.range()])).collect()
    }

    #[test]
    fn words_and_texts_end_where_they_should() {
        assert_eq!(
            kinds("a \"b}\" #\"c\"#;d=#true (env)X\\\n"),
            [
                (Kind::Word, "a"),
                (Kind::Quoted, "\"b}\""),
                (Kind::Quoted, "#\"c\"#"),
                (Kind::Semicolon, ";"),
                (Kind::Word, "d"),
                (Kind::Equals, "="),
                (Kind::Word, "#true"),
                (Kind::ParenOpen, "("),
                (Kind::Word, "env"),
                (Kind::ParenClose, ")"),
                (Kind::Word, "X"),
                (Kind::Continuation, "\\"),
            ]
        );
    }

    #[test]
    fn a_raw_text_keeps_quotes_and_braces() {
        let text = "lua #\"\"\"\n  a{{{ \"\"\" /* \n  \"\"\"# x";
        assert_eq!(kinds(text).last(), Some(&(Kind::Word, "x")));
        assert!(Lexer::new(text, 0).all(|token| token.flaw.is_none()));
    }

    #[test]
    fn flaws_are_told() {
        let flaw = |text: &str| Lexer::new(text, 0).find_map(|token| token.flaw);
        assert_eq!(flaw("a \"b\nc"), Some(Flaw::UnclosedString));
        assert_eq!(flaw("a \"\"\"\nc\n"), Some(Flaw::UnclosedLines));
        assert_eq!(flaw("a /* c"), Some(Flaw::UnclosedComment));
        assert_eq!(flaw(&"/*".repeat(20)), Some(Flaw::CommentTooDeep));
        assert_eq!(flaw("a \"\"\"b\"\"\""), Some(Flaw::MultilineStart));
        assert_eq!(flaw("a \"\" #\"\"# \"\\\"\""), None);
    }
}
