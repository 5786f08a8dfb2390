//! Turns what the scanner, the decoder and the parser could not read into diagnostics that name the mistake.
//!
//! The parser only says where it stopped. What the writer meant is seen from the tokens of the chunk, so these are
//! looked at one by one for the habits of other languages. One finding for each chunk; but every bare keyword is told.

use std::ops::Range;

use crate::diag::{Code, Diagnostic, FileId, Span, codes};

use super::lex::{Flaw, Kind, Lexer, Token, is_forbidden, is_newline};
use super::literal::Fault;
use super::scan::{Issue, MAX_BYTES, MAX_DEPTH};
use super::tree::Broken;

const KEYWORDS: [&str; 6] = ["true", "false", "null", "inf", "-inf", "nan"];

fn found(
    code: &'static Code,
    at: Range<usize>,
    message: impl Into<String>,
    label: &str,
    help: impl Into<String>,
) -> Diagnostic {
    Diagnostic::new(code, message, Span::new(FileId(0), at), label).help(help)
}

/// A file beyond the limit.
pub(super) fn too_big(file: FileId) -> Diagnostic {
    let message = format!("this file is larger than {} MiB", MAX_BYTES >> 20);
    Diagnostic::new(
        &codes::SYNTAX_TOO_BIG,
        message,
        Span {
            file,
            start: 0,
            end: 0,
        },
        "",
    )
    .help("split it with `include`")
}

/// The rest of the line from a byte on.
fn to_line_end(text: &str, at: usize) -> Range<usize> {
    at..text[at..]
        .find(is_newline)
        .map_or(text.len(), |end| at + end)
}

/// What the scanner found in a file.
pub(super) fn of_issue(file: FileId, text: &str, issue: &Issue) -> Diagnostic {
    let mut diagnostic = match issue {
        Issue::TooDeep(at) => found(
            &codes::SYNTAX_TOO_DEEP,
            *at..*at + 1,
            "this is nested too deep",
            "the limit is crossed here",
            format!("blocks nest {MAX_DEPTH} deep at most, and those behind /- four deep"),
        ),
        Issue::UnclosedBlock { open, suspect } => unclosed_block(*open, suspect.clone()),
        Issue::StrayBrace(at) => found(
            &codes::SYNTAX_STRAY_BRACE,
            *at..*at + 1,
            "there is no open block for this `}` to close",
            "one too many",
            "remove it, or look for a `{` that is missing above",
        ),
        Issue::Flaw(flaw, range) => of_flaw(text, *flaw, range),
    };
    diagnostic.primary.span.file = file;
    for label in &mut diagnostic.related {
        label.span.file = file;
    }
    diagnostic
}

fn unclosed_block(open: usize, suspect: Option<Range<usize>>) -> Diagnostic {
    let diagnostic = found(
        &codes::SYNTAX_UNCLOSED_BLOCK,
        open..open + 1,
        "this block is never closed",
        "opened here",
        "add a `}`",
    );
    match suspect {
        Some(word) => diagnostic.also(Span::new(FileId(0), word), "this looks like the next block"),
        None => diagnostic,
    }
}

fn of_flaw(text: &str, flaw: Flaw, range: &Range<usize>) -> Diagnostic {
    let line = to_line_end(text, range.start);
    match flaw {
        Flaw::UnclosedString => found(
            &codes::SYNTAX_UNCLOSED_STRING,
            line,
            "this text does not end on its line",
            "opened here",
            "add the closing quote; a text of several lines goes between #\"\"\" and \"\"\"#",
        ),
        Flaw::UnclosedLines => {
            let hashes = "#".repeat(
                text[range.start..]
                    .bytes()
                    .take_while(|byte| *byte == b'#')
                    .count(),
            );
            found(
                &codes::SYNTAX_UNCLOSED_STRING,
                line,
                "this text is never closed",
                "opened here",
                format!("close it with a line that holds only \"\"\"{hashes}"),
            )
        }
        Flaw::UnclosedComment => found(
            &codes::SYNTAX_UNCLOSED_COMMENT,
            range.start..range.start + 2,
            "this comment is never closed",
            "opened here",
            "add a `*/`",
        ),
        Flaw::CommentTooDeep => found(
            &codes::SYNTAX_TOO_DEEP,
            range.start..range.start + 2,
            "comments are nested too deep",
            "the outermost begins here",
            "comments nest 16 deep at most",
        ),
        Flaw::MultilineStart => {
            let quotes = text[range.start..]
                .find("\"\"\"")
                .map_or(range.start, |at| range.start + at + 3);
            found(
                &codes::SYNTAX_MULTILINE_START,
                to_line_end(text, quotes),
                "the text must begin on the line after the opening quotes",
                "move this to its own line",
                "or write it on one line between single quotes: \"…\"",
            )
        }
    }
}

/// What is wrong with a chunk before the parser sees it.
pub(super) fn before_parsing(chunk: &str) -> Option<Diagnostic> {
    forbidden(chunk).or_else(|| v1_file(chunk))
}

fn forbidden(chunk: &str) -> Option<Diagnostic> {
    let (at, c) = chunk.char_indices().find(|(_, c)| is_forbidden(*c))?;
    let message = format!(
        "the invisible character U+{:04X} cannot stand in KDL",
        u32::from(c)
    );
    let help = "remove it; in a quoted text it can be written \\u{…}";
    Some(found(
        &codes::SYNTAX_CHARACTER,
        at..at + c.len_utf8(),
        message,
        "it is here",
        help,
    ))
}

/// A file that says it is written in KDL 1.
fn v1_file(chunk: &str) -> Option<Diagnostic> {
    let tokens: Vec<Token> = Lexer::new(chunk, 0)
        .filter(Token::is_solid)
        .take(3)
        .collect();
    let [dash, name, version] = tokens.as_slice() else {
        return None;
    };
    let marker = dash.kind == Kind::Slashdash
        && &chunk[name.range()] == "kdl-version"
        && &chunk[version.range()] == "1";
    marker.then(|| {
        found(
            &codes::SYNTAX_V1_FILE,
            name.start..version.end,
            "this file says that it is written in KDL 1",
            "here",
            "moondock reads KDL 2: write `kdl-version 2`, #true for true, and #\"…\"# for r\"…\"",
        )
    })
}

/// What is wrong with a chunk that has no nodes.
pub(super) fn of_broken(chunk: &str, broken: &[Broken]) -> Vec<Diagnostic> {
    let habits = Habits::new(chunk);
    let keywords = habits.keywords();
    if !keywords.is_empty() {
        return keywords;
    }
    let first = broken.iter().find_map(|broken| match broken {
        Broken::Text(literal, fault) => Some(of_fault(*literal, fault)),
        Broken::TooBig => Some(found(
            &codes::SYNTAX_TOO_BIG,
            to_line_end(chunk, 0),
            "this node is too big",
            "it begins here",
            "split it into several nodes, or several files with `include`",
        )),
        Broken::Grammar(_) => None,
    });
    let stopped = broken.iter().find_map(|broken| match broken {
        Broken::Grammar(range) => Some(range.clone()),
        _ => None,
    });
    vec![
        first
            .or_else(|| habits.first())
            .unwrap_or_else(|| unreadable(chunk, stopped)),
    ]
}

fn unreadable(chunk: &str, stopped: Option<Range<usize>>) -> Diagnostic {
    let start = stopped.map_or(0, |range| range.start.min(chunk.len()));
    let start = (0..=start)
        .rev()
        .find(|at| chunk.is_char_boundary(*at))
        .unwrap_or(0);
    let end = Lexer::new(chunk, start)
        .find(Token::is_solid)
        .map_or(chunk.len(), |token| token.end);
    let help = "a node is a name, then values and name=value, then a block in { }";
    found(
        &codes::SYNTAX_OTHER,
        start..end,
        "this cannot be read",
        "not expected here",
        help,
    )
}

fn of_fault(literal: usize, fault: &Fault) -> Diagnostic {
    let at = |range: &Range<usize>| literal + range.start..literal + range.end;
    match fault {
        Fault::Escape(range) => found(
            &codes::SYNTAX_ESCAPE,
            at(range),
            "there is no such escape",
            "here",
            "double the backslash, or use a raw text: #\"…\"#",
        ),
        Fault::End(range) => found(
            &codes::SYNTAX_MULTILINE_END,
            at(range),
            "the closing quotes must stand alone on their line",
            "move this to its own line",
            "the white space before them is taken off every line",
        ),
        Fault::Dedent { line, closing } => found(
            &codes::SYNTAX_DEDENT,
            at(line),
            "this line does not begin like the closing line",
            &format!("{} here", blanks(line.len())),
            "every line must begin with exactly the white space that stands before the closing quotes; tabs are not spaces",
        )
        .also(Span::new(FileId(0), at(closing)), format!("{} here", blanks(closing.len()))),
    }
}

fn blanks(count: usize) -> String {
    match count {
        0 => "no white space".to_owned(),
        1 => "1 blank".to_owned(),
        more => format!("{more} blanks"),
    }
}

/// The tokens of a chunk, looked at for the habits of other languages.
struct Habits<'a> {
    chunk: &'a str,
    tokens: Vec<Token>,
}

impl<'a> Habits<'a> {
    fn new(chunk: &'a str) -> Self {
        Self {
            chunk,
            tokens: Lexer::new(chunk, 0).collect(),
        }
    }

    fn text(&self, token: &Token) -> &'a str {
        &self.chunk[token.range()]
    }

    /// Every bare keyword.
    fn keywords(&self) -> Vec<Diagnostic> {
        let bare =
            |token: &&Token| token.kind == Kind::Word && KEYWORDS.contains(&self.text(token));
        self.tokens
            .iter()
            .filter(bare)
            .map(|token| self.keyword(token))
            .collect()
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
        .fix(
            format!("write #{word}"),
            Span::new(FileId(0), token.range()),
            format!("#{word}"),
        )
    }

    /// The first habit that is found.
    fn first(&self) -> Option<Diagnostic> {
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
        self.tokens[..index]
            .iter()
            .rev()
            .find(|token| token.is_solid())
    }

    /// Whether the token is the first of its node.
    fn begins_node(&self, index: usize) -> bool {
        let mut before = self.tokens[..index].iter().rev();
        let stop = before.find(|token| token.is_solid() || token.kind == Kind::Newline);
        match stop.map(|token| token.kind) {
            None | Some(Kind::Open | Kind::Semicolon | Kind::Close | Kind::Slashdash) => true,
            Some(Kind::Newline) => !matches!(
                self.solid_before(index).map(|token| token.kind),
                Some(Kind::Continuation)
            ),
            _ => false,
        }
    }

    /// The run of tokens without space around one, as far as it is no block.
    fn glued_run(&self, index: usize) -> Range<usize> {
        let joins = |token: &&Token| {
            matches!(
                token.kind,
                Kind::Bad | Kind::Word | Kind::Slashdash | Kind::Continuation
            ) || token.kind == Kind::LineComment
        };
        let before = self.tokens[..index].iter().rev().take_while(joins).last();
        let after = self.tokens[index..].iter().take_while(joins).last();
        let token = &self.tokens[index];
        before.map_or(token.start, |token| token.start)..after.map_or(token.end, |token| token.end)
    }

    fn bad(&self, index: usize) -> Option<Diagnostic> {
        let token = &self.tokens[index];
        match self.text(token).chars().next()? {
            '#' => Some(self.hash_comment(token)),
            '[' | ']' => Some(self.brackets(index)),
            _ => {
                let run = self.glued_run(index);
                Some(found(
                    &codes::SYNTAX_BARE_PATH,
                    run.clone(),
                    "text with a slash needs quotes",
                    "quote this",
                    format!("write \"{}\"", &self.chunk[run]),
                ))
            }
        }
    }

    fn hash_comment(&self, token: &Token) -> Diagnostic {
        found(
            &codes::SYNTAX_HASH_COMMENT,
            token.start..token.start + 1,
            "`#` does not begin a comment",
            "here",
            "comments begin with //",
        )
    }

    fn brackets(&self, index: usize) -> Diagnostic {
        let (message, help) = if self.begins_node(index) {
            ("KDL has no [sections]", "write  name { … }")
        } else {
            (
                "KDL has no [lists]",
                "write the values one after the other, with spaces: tags a b c",
            )
        };
        found(
            &codes::SYNTAX_BRACKETS,
            self.tokens[index].range(),
            message,
            "here",
            help,
        )
    }

    fn word(&self, index: usize) -> Option<Diagnostic> {
        let token = &self.tokens[index];
        let word = self.text(token);
        let next = self.tokens.get(index + 1);
        if word == "r" && next.is_some_and(|next| next.kind == Kind::Quoted) {
            let at = token.start..next.map_or(token.end, |next| next.end);
            let message = "raw text is written #\"…\"# in KDL 2";
            return Some(found(
                &codes::SYNTAX_V1_RAW,
                at,
                message,
                "KDL 1 spelling",
                "drop the r, and keep at least one # on both sides",
            ));
        }
        if word.starts_with('#') {
            return self.hash_word(index, word);
        }
        match number(word) {
            Number::Not | Number::Fine => self.glued(index),
            Number::TooLarge => Some(found(
                &codes::SYNTAX_HUGE_NUMBER,
                token.range(),
                "this number is too large",
                "it needs more than 128 bits",
                "write it as text, in quotes",
            )),
            Number::Wrong => Some(self.unit(index)),
        }
    }

    fn hash_word(&self, index: usize, word: &str) -> Option<Diagnostic> {
        let token = &self.tokens[index];
        if KEYWORDS.contains(&&word[1..]) {
            return self.glued(index);
        }
        if self.begins_node(index) {
            return Some(self.hash_comment(token));
        }
        let likely = KEYWORDS
            .iter()
            .find(|keyword| keyword.eq_ignore_ascii_case(&word[1..]));
        let help = match likely {
            Some(keyword) => format!("write #{keyword}"),
            None => format!("write \"{word}\" for the text; comments begin with //"),
        };
        let message = format!("there is no keyword `{word}`");
        Some(found(
            &codes::SYNTAX_KEYWORD,
            token.range(),
            message,
            "not a keyword",
            help,
        ))
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
        found(
            &codes::SYNTAX_BARE_UNIT,
            run.clone(),
            message,
            "quote this",
            format!("write {fix}"),
        )
        .fix("put it in quotes", Span::new(FileId(0), run), fix.clone())
    }

    fn equals(&self, index: usize) -> Option<Diagnostic> {
        let before = self.tokens[..index].iter().rposition(Token::is_solid);
        let key = before.map(|at| self.begins_node(at));
        let after = self.tokens[index + 1..]
            .iter()
            .find(|token| token.kind != Kind::Space);
        let at = self.tokens[index].range();
        let name_value = "write  name value  for a child, and  name=value  for a property";
        if key == Some(true) {
            let message = "a child takes its value without `=`";
            return Some(found(
                &codes::SYNTAX_EQUALS,
                at,
                message,
                "remove this",
                name_value,
            ));
        }
        let ends = after.is_none_or(|token| {
            matches!(token.kind, Kind::Newline | Kind::Semicolon | Kind::Close)
        });
        let no_key = key.is_none()
            || before.is_some_and(|at| !matches!(self.tokens[at].kind, Kind::Word | Kind::Quoted));
        if ends || no_key {
            let message = if ends {
                "a value is missing after this `=`"
            } else {
                "a name is missing before this `=`"
            };
            return Some(found(
                &codes::SYNTAX_EQUALS,
                at,
                message,
                "here",
                name_value,
            ));
        }
        None
    }

    fn brace(&self, index: usize) -> Option<Diagnostic> {
        if !self.begins_node(index) {
            return None;
        }
        let message = "a `{` must stand on the line of its node";
        Some(found(
            &codes::SYNTAX_BRACE_ALONE,
            self.tokens[index].range(),
            message,
            "move this up",
            "write  name {  on one line",
        ))
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
        let mut after = self.tokens[index + 1..]
            .iter()
            .filter(|token| token.kind != Kind::Space);
        let name = after
            .next()
            .is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        let close = after
            .next()
            .is_some_and(|token| token.kind == Kind::ParenClose);
        let value = after
            .next()
            .is_some_and(|token| matches!(token.kind, Kind::Word | Kind::Quoted));
        if name && close && value {
            return None;
        }
        let help = "an annotation stands before a value, as in (env)NAME; text with parentheses needs quotes";
        Some(found(
            &codes::SYNTAX_OTHER,
            self.tokens[index].range(),
            "this is not an annotation",
            "here",
            help,
        ))
    }
}

/// What a word is that may be a number.
#[derive(Debug, PartialEq, Eq)]
enum Number {
    Not,
    Fine,
    TooLarge,
    Wrong,
}

fn number(word: &str) -> Number {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let numeric = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if !numeric(unsigned) && !unsigned.strip_prefix('.').is_some_and(numeric) {
        return Number::Not;
    }
    let (digits, radix) = match unsigned.get(..2) {
        Some("0x") => (&unsigned[2..], 16),
        Some("0o") => (&unsigned[2..], 8),
        Some("0b") => (&unsigned[2..], 2),
        _ => (unsigned, 10),
    };
    let all = |text: &str| {
        text.starts_with(|c: char| c.is_digit(radix))
            && text.chars().all(|c| c == '_' || c.is_digit(radix))
    };
    if all(digits) {
        let plain = digits.replace('_', "");
        return if i128::from_str_radix(&plain, radix).is_ok() {
            Number::Fine
        } else {
            Number::TooLarge
        };
    }
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if radix == 10 && all(whole) && all(fraction) && all(exponent) {
        Number::Fine
    } else {
        Number::Wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_from_units() {
        for (word, expected) in [
            ("5", Number::Fine),
            ("-0x1F", Number::Fine),
            ("1_000.5e-3", Number::Fine),
            ("5s", Number::Wrong),
            ("127.0.0.1:80", Number::Wrong),
            (".5", Number::Wrong),
            ("0xZ", Number::Wrong),
            (
                "99999999999999999999999999999999999999999",
                Number::TooLarge,
            ),
            ("a5", Number::Not),
            ("-", Number::Not),
        ] {
            assert_eq!(number(word), expected, "{word}");
        }
    }
}
