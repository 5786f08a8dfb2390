//! Turns what the scanner, the decoder and the parser could not read into diagnostics that name the mistake.
//!
//! The parser only says where it stopped. What the writer meant is seen from the tokens of the chunk, so these are
//! looked at one by one for the habits of other languages (`habits`), and the chunk is read on behind them (`recovery`).

use std::ops::Range;

use crate::diag::{Code, Diagnostic, FileId, Span, codes};

use super::lex::{Flaw, Kind, Lexer, Token, is_forbidden, is_newline};
use super::literal::Fault;
use super::scan::{Issue, MAX_BYTES, MAX_DEPTH};

/// A finding of file 0.
pub(super) fn found(
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
    Diagnostic::new(&codes::SYNTAX_TOO_BIG, message, Span { file, start: 0, end: 0 }, "")
        .help("split it with `include`")
}

fn stray_brace(text: &str, at: usize) -> Diagnostic {
    let (message, label) = ("there is no open block for this `}` to close", "one too many");
    let found = |help| found(&codes::SYNTAX_STRAY_BRACE, at..at + 1, message, label, help);
    let Some(end) = lacks_brace(text, at) else {
        return found("remove it, or look for a `{` that is missing above");
    };
    let label = "does a `{` belong here?";
    found("put the `{` at the end of the line that begins the block").also(Span::new(FileId(0), end..end), label)
}

/// How many lines above a brace are looked at.
const LOOK_BACK: usize = 200;

/// The end of the line that begins the block which a brace seems to close: the nearest line above that is indented as the
/// brace is, when what follows it is indented more and it opens no block.
fn lacks_brace(text: &str, at: usize) -> Option<usize> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let indent = &text[before.len()..at];
    let above = before.strip_suffix('\n')?;
    let mut end = above.len();
    let mut has_inner = false;
    for line in above.rsplit('\n').take(LOOK_BACK) {
        let (start, code) = (end - line.len(), line.trim());
        let own = &line[..line.len() - line.trim_start().len()];
        if !code.is_empty() && !own.starts_with(indent) || own == indent && !code.is_empty() {
            let begins = own == indent && has_inner && !code.ends_with(['{', '}', ';']) && !code.starts_with("//");
            return begins.then(|| start + line.trim_end().len());
        }
        has_inner |= !code.is_empty();
        end = start.saturating_sub(1);
    }
    None
}

/// The rest of the line from a byte on.
fn to_line_end(text: &str, at: usize) -> Range<usize> {
    at..text[at..].find(is_newline).map_or(text.len(), |end| at + end)
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
        Issue::StrayBrace(at) => stray_brace(text, *at),
        Issue::Flaw(flaw, range) => of_flaw(text, *flaw, range),
    };
    diagnostic.primary.span.file = file;
    for label in &mut diagnostic.related {
        label.span.file = file;
    }
    diagnostic
}

fn unclosed_block(open: usize, suspect: Option<Range<usize>>) -> Diagnostic {
    let diagnostic =
        found(&codes::SYNTAX_UNCLOSED_BLOCK, open..open + 1, "this block is never closed", "opened here", "add a `}`");
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
            let hashes = "#".repeat(text[range.start..].bytes().take_while(|byte| *byte == b'#').count());
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
            let quotes = text[range.start..].find("\"\"\"").map_or(range.start, |at| range.start + at + 3);
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
    let message = format!("the invisible character U+{:04X} cannot stand in KDL", u32::from(c));
    let help = "remove it; in a quoted text it can be written \\u{…}";
    Some(found(&codes::SYNTAX_CHARACTER, at..at + c.len_utf8(), message, "it is here", help))
}

/// A file that says it is written in KDL 1.
fn v1_file(chunk: &str) -> Option<Diagnostic> {
    let tokens: Vec<Token> = Lexer::new(chunk, 0).filter(Token::is_solid).take(3).collect();
    let [dash, name, version] = tokens.as_slice() else {
        return None;
    };
    let marker =
        dash.kind == Kind::Slashdash && &chunk[name.range()] == "kdl-version" && &chunk[version.range()] == "1";
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

/// A node beyond the limit.
pub(super) fn node_too_big(chunk: &str) -> Diagnostic {
    found(
        &codes::SYNTAX_TOO_BIG,
        to_line_end(chunk, 0),
        "this node is too big",
        "it begins here",
        "split it into several nodes, or several files with `include`",
    )
}

/// Where reading stopped, when nothing more can be said.
pub(super) fn unreadable(chunk: &str, stopped: usize) -> Diagnostic {
    let start = stopped.min(chunk.len());
    let start = (0..=start).rev().find(|at| chunk.is_char_boundary(*at)).unwrap_or(0);
    let end = Lexer::new(chunk, start).find(Token::is_solid).map_or(chunk.len(), |token| token.end);
    let help = "a node is a name, then values and name=value, then a block in { }";
    found(&codes::SYNTAX_OTHER, start..end, "this cannot be read", "not expected here", help)
}

/// What is wrong with a text whose literal begins there.
pub(super) fn of_fault(literal: usize, fault: &Fault) -> Diagnostic {
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
