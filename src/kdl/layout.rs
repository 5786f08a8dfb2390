//! The layout of a site file: indentation and the ends of lines, and nothing else.
//!
//! Works on the lexer's tokens, so a text or comment is never looked into, let alone changed. What it writes has the same
//! tokens as what it read but for blanks at the beginning and the end of lines.

use std::ops::Range;

use super::lex::{Kind, Lexer, Token, is_blank};
use super::scan::MAX_BYTES;

/// What a level of blocks is indented by.
const STEP: &str = "    ";

/// The text with every line indented by its depth and without blanks at its end; a file that is laid out well stays
/// what it is, byte for byte.
///
/// # Errors
/// The first place at which the text is no KDL, or where it is too large: nothing is laid out then.
pub fn laid_out(text: &str) -> Result<String, Range<usize>> {
    if text.len() > MAX_BYTES {
        return Err(MAX_BYTES..MAX_BYTES);
    }
    let mut writer = Writer { text, out: String::with_capacity(text.len()), depth: 0, continued: false };
    let mut line: Vec<Token> = Vec::new();
    for token in Lexer::new(text, 0) {
        if token.flaw.is_some() || token.kind == Kind::Bad {
            return Err(token.range());
        }
        line.push(token);
        if token.kind == Kind::Newline {
            writer.line(&line)?;
            line.clear();
        }
    }
    writer.line(&line)?;
    if writer.depth > 0 { Err(text.len()..text.len()) } else { Ok(writer.out) }
}

struct Writer<'a> {
    text: &'a str,
    out: String,
    depth: usize,
    /// The line before ended with `\`.
    continued: bool,
}

impl Writer<'_> {
    /// Writes a line: tokens up to a line break. A text of several lines is one token of its first line.
    fn line(&mut self, tokens: &[Token]) -> Result<(), Range<usize>> {
        let (end, content) = match tokens.split_last() {
            Some((last, content)) if last.kind == Kind::Newline => (&self.text[last.range()], content),
            _ => ("", tokens),
        };
        let content = trimmed(self.text, content);
        let closing = content.iter().filter(|token| token.kind != Kind::Space);
        let closing = closing.take_while(|token| token.kind == Kind::Close).count();
        if let [first, ..] = content {
            let depth = self.depth.checked_sub(closing).ok_or_else(|| first.range())?;
            let depth = depth + usize::from(self.continued && closing == 0);
            (0..depth).for_each(|_| self.out.push_str(STEP));
        }
        for token in content {
            self.out.push_str(&self.text[token.range()]);
            match token.kind {
                Kind::Open => self.depth += 1,
                Kind::Close => self.depth = self.depth.checked_sub(1).ok_or_else(|| token.range())?,
                _ => {}
            }
        }
        self.out.push_str(end);
        let last = content.iter().rfind(|token| !matches!(token.kind, Kind::Space | Kind::LineComment));
        self.continued = last.is_some_and(|token| token.kind == Kind::Continuation);
        Ok(())
    }
}

/// The tokens without blanks at both ends. A comment stays.
fn trimmed<'t>(text: &str, tokens: &'t [Token]) -> &'t [Token] {
    let is_blanks = |token: &Token| token.kind == Kind::Space && text[token.range()].chars().all(is_blank);
    let Some(first) = tokens.iter().position(|token| !is_blanks(token)) else {
        return &[];
    };
    let last = tokens.iter().rposition(|token| !is_blanks(token)).unwrap_or(first);
    &tokens[first..=last]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_get_the_indentation_of_their_depth() {
        let messy = "a {  \n  b 1 \\\n 2\n\t\tc { d; }\n\n   // said   \n /* x\n  y */ e\n  } \n}\n";
        assert_eq!(laid_out("a {\n").unwrap_err(), 4..4);
        assert_eq!(laid_out(messy).unwrap_err().start, messy.len() - 2, "a brace too many");
        let messy = &messy[..messy.len() - 2];
        let neat = "a {\n    b 1 \\\n        2\n    c { d; }\n\n    // said   \n    /* x\n  y */ e\n}\n";
        assert_eq!(laid_out(messy).unwrap(), neat);
    }

    #[test]
    fn texts_and_line_breaks_stay_what_they_are() {
        let script = "lua #\"\"\"\n  return 1  \n\n      \"\"\"#";
        let messy = format!("endpoint GET \"/\" {{\r\n{script}  \r\n}}");
        assert_eq!(laid_out(&messy).unwrap(), format!("endpoint GET \"/\" {{\r\n    {script}\r\n}}"));
    }

    #[test]
    fn what_is_no_kdl_is_left_alone() {
        for (text, at) in [("a \"b\n", 2), ("}\n", 0), ("a [\n", 2), ("a {", 3), ("/* a", 0)] {
            assert_eq!(laid_out(text).unwrap_err().start, at, "{text}");
        }
    }

    /// What stands for something, comments included.
    fn solid(text: &str) -> Vec<(Kind, String)> {
        let tokens = Lexer::new(text, 0).filter(|token| token.kind != Kind::Space || text[token.range()].contains('*'));
        tokens.map(|token| (token.kind, text[token.range()].to_owned())).collect()
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just(" "),
            Just("\t"),
            Just("  "),
            Just("\n"),
            Just("\r\n"),
            Just("{"),
            Just("}"),
            Just("a"),
            Just("\\\n"),
            Just("// c \n"),
            Just("/* d\n */"),
            Just("\"e\""),
            Just("#\"\"\"\n f\n  \"\"\"#"),
            Just(";"),
            Just("/-"),
            Just("\u{a0}"),
            Just("#true"),
            Just("k=1"),
            Just("\u{2028}"),
            Just("(env)X"),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn twice_is_once_and_nothing_but_blanks_changes(text in pieces()) {
            if let Ok(once) = laid_out(&text) {
                prop_assert_eq!(laid_out(&once), Ok(once.clone()));
                prop_assert_eq!(solid(&text), solid(&once));
                prop_assert!(once.split('\n').all(|line| !line.ends_with(' ') || line.contains("//") || text.contains("#\"")));
            }
        }

        #[test]
        fn nothing_breaks_it(text in "\\PC{0,200}") {
            let _either_way = laid_out(&text);
        }
    }
}
