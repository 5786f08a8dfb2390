//! Comments that allow a warning: `// moondock: allow environment::unused` directly above a node.
//!
//! This only finds them; what a code is, and whether anything was allowed, is for others to say.

use std::ops::Range;

use super::lex::{Kind, Lexer, Token};

/// Such a comment. Places are bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The code as it is written; what follows it on the line is for people.
    pub code: String,
    /// Where the code stands; where it should stand when it is missing.
    pub at: Range<usize>,
    /// The whole line of the comment with its line break; `None` when something stands before it.
    pub line: Option<Range<usize>>,
    /// The node below with its block; `None` when none begins on the next line.
    pub node: Option<Range<usize>>,
}

/// Every such comment of a text.
pub fn allowances(text: &str) -> Vec<Allowance> {
    // Hardly a file has one, and a large file is not read twice for nothing.
    if !text.contains("moondock:") {
        return Vec::new();
    }
    let tokens: Vec<Token> = Lexer::new(text, 0).collect();
    let comments = tokens.iter().enumerate().filter(|(_, token)| token.kind == Kind::LineComment);
    comments.filter_map(|(index, _)| allowance(text, &tokens, index)).collect()
}

fn allowance(text: &str, tokens: &[Token], index: usize) -> Option<Allowance> {
    let comment = tokens[index].range();
    let told = text[comment.clone()].trim_start_matches('/').trim_start().strip_prefix("moondock:")?;
    let rest = told.trim_start().strip_prefix("allow").filter(|rest| !rest.starts_with(char::is_alphanumeric))?;
    let rest = rest.trim();
    let code = rest.split_whitespace().next().unwrap_or_default().to_owned();
    let start = match rest {
        "" => comment.end,
        rest => rest.as_ptr().addr() - text.as_ptr().addr(),
    };
    let line = line_of(text, tokens, index);
    let node = line.as_ref().and_then(|_| node_below(tokens, index));
    Some(Allowance { at: start..start + code.len(), code, line, node })
}

/// The line of a comment that is alone on it.
fn line_of(text: &str, tokens: &[Token], index: usize) -> Option<Range<usize>> {
    let before = tokens[..index].iter().rev().find(|token| token.kind != Kind::Space);
    let start = match before {
        None => 0,
        Some(token) if token.kind == Kind::Newline => token.end,
        Some(_) => return None,
    };
    let end = tokens.get(index + 1).filter(|token| token.kind == Kind::Newline).map_or(text.len(), |token| token.end);
    Some(start..end)
}

/// The node that begins on the next line; further comments may stand between.
fn node_below(tokens: &[Token], index: usize) -> Option<Range<usize>> {
    let mut breaks = 0;
    for (at, token) in tokens.iter().enumerate().skip(index + 1) {
        match token.kind {
            Kind::Newline => breaks += 1,
            Kind::LineComment => breaks = 0,
            Kind::Space => {}
            Kind::Close | Kind::Semicolon => return None,
            _ => return Some(token.start..node_end(&tokens[at..])),
        }
        if breaks > 1 {
            return None;
        }
    }
    None
}

/// The end of the node that these tokens begin.
fn node_end(tokens: &[Token]) -> usize {
    let (mut depth, mut end, mut continued) = (0_usize, 0, false);
    for token in tokens {
        match token.kind {
            Kind::Newline if depth == 0 && !continued => break,
            Kind::Semicolon if depth == 0 => break,
            Kind::Close if depth == 0 => break,
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ => {}
        }
        if token.is_solid() {
            continued = token.kind == Kind::Continuation;
            end = token.end;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_with_the_node_below() {
        for (text, code, node) in [
            ("// moondock: allow a::b\nnode 1 {\n  x; }\nnext", "a::b", Some("node 1 {\n  x; }")),
            ("//moondock:allow a::b for a reason\r\n  node; other", "a::b", Some("node")),
            ("// moondock: allow a::b\n// more\nnode \\\n  2\nnext", "a::b", Some("node \\\n  2")),
            ("a {\n // moondock: allow a::b\n c\n}\n", "a::b", Some("c")),
            ("// moondock: allow a::b\n\nnode", "a::b", None),
            ("// moondock: allow a::b\n}", "a::b", None),
            ("// moondock: allow a::b", "a::b", None),
            ("// moondock: allow\nnode", "", Some("node")),
            ("x // moondock: allow a::b\nnode", "a::b", None),
        ] {
            let found = allowances(text);
            assert_eq!(found.len(), 1, "{text:?}");
            assert_eq!(found[0].code, code, "{text:?}");
            assert_eq!(&text[found[0].at.clone()], code, "{text:?}");
            assert_eq!(found[0].node.clone().map(|node| &text[node]), node, "{text:?}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for text in [
            "a \"// moondock: allow a::b\"",
            "// moondock: allowed\nnode",
            "// allow a::b",
            "/* moondock: allow a::b */",
        ] {
            assert_eq!(allowances(text), [], "{text}");
        }
    }

    #[test]
    fn the_line_is_the_comment_and_nothing_else() {
        let text = "a\n  // moondock: allow a::b\n  node";
        assert_eq!(allowances(text)[0].line.clone().map(|line| &text[line]), Some("  // moondock: allow a::b\n"));
        assert_eq!(allowances("x // moondock: allow a::b")[0].line, None);
    }
}
