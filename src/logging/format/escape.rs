//! Makes any text safe to stand on one line of a log.
//!
//! Control characters (a terminal would obey them), line and paragraph separators (a reader would start a new record)
//! and marks that turn the direction of writing (a person would read another text) are written as escapes.

use std::fmt::Write;

/// Whether a character may not stand in a log as it is.
fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends text without quotes; only what is unsafe is escaped.
pub(super) fn plain(text: &str, out: &mut String) {
    for c in text.chars() {
        if is_unsafe(c) { escape(c, out) } else { out.push(c) }
    }
}

/// Appends text as a JSON string with its quotes.
pub(super) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            _ if is_unsafe(c) => escape(c, out),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Appends text bare when that is unmistakable, else quoted.
pub(super) fn word(text: &str, out: &mut String) {
    let bare = |c: char| !(c.is_whitespace() || is_unsafe(c) || matches!(c, '"' | '=' | '\\'));
    if !text.is_empty() && text.chars().all(bare) { out.push_str(text) } else { quoted(text, out) }
}

/// Appends text as the name of a pair: what is not a letter, digit, `-`, `_` or `.` becomes `_`.
pub(super) fn name(text: &str, out: &mut String) {
    out.extend(text.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }));
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Everything unsafe lies in the first plane, so four digits are enough.
        _ => drop(write!(out, "\\u{:04x}", c as u32)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(write: fn(&str, &mut String), text: &str) -> String {
        let mut out = String::new();
        write(text, &mut out);
        out
    }

    #[test]
    fn one_line_whatever_comes() {
        let text = "a\r\nb\tc\u{1b}[31m\u{7f}\u{85}\u{2028}\u{202e}é\0";
        let expected = "a\\r\\nb\\tc\\u001b[31m\\u007f\\u0085\\u2028\\u202eé\\u0000";
        assert_eq!(with(plain, text), expected);
        assert_eq!(serde_json::from_str::<String>(&with(quoted, text)).unwrap(), text);
    }

    #[test]
    fn words_are_quoted_when_they_must() {
        for (text, expected) in
            [("a-b", "a-b"), ("", "\"\""), ("a b", "\"a b\""), ("a=b", "\"a=b\""), ("é", "é"), ("\\", "\"\\\\\"")]
        {
            assert_eq!(with(word, text), expected);
        }
        assert_eq!(with(name, "a b=c\n"), "a_b_c_");
    }

    proptest::proptest! {
        #[test]
        fn quoted_text_reads_back(text in ".*") {
            let line = with(quoted, &text);
            proptest::prop_assert!(!line.contains('\n'));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }
}
