//! Decodes a text literal and keeps, for every byte of the value, where in the literal it came from.
//!
//! This is the only decoder of texts: the parser is shown none. Hence a mistake inside a text is found here, at its
//! exact place, and a place in a value (of Lua, of a pattern) finds its place in the file.

use std::ops::Range;

use super::lex::{is_blank, is_newline, newline_len};
use super::reader::Piece;

/// A decoded literal; offsets count from the literal's first byte.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Literal {
    /// The value.
    pub(super) value: String,
    /// Runs of the value and where they came from.
    pub(super) pieces: Vec<Piece>,
}

/// Why a literal has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// An escape that KDL does not have.
    Escape(Range<usize>),
    /// A line that does not begin with the white space of the closing line.
    Dedent {
        /// The line's white space.
        line: Range<usize>,
        /// The white space of the closing line.
        closing: Range<usize>,
    },
    /// The closing quotes do not stand alone on their line.
    End(Range<usize>),
}

#[derive(Clone, Copy)]
enum Unit {
    Char(char),
    Escape(char, usize),
    Newline(usize),
}

type Units = Vec<(Unit, usize)>;

impl Unit {
    fn is_blank(self) -> bool {
        matches!(self, Unit::Char(c) if is_blank(c))
    }
}

/// How a literal is delimited.
struct Shape {
    raw: bool,
    lines: bool,
    body: Range<usize>,
}

fn shape(literal: &str) -> Shape {
    let hashes = literal.bytes().take_while(|byte| *byte == b'#').count();
    let quoted = &literal[hashes..];
    let lines = quoted.starts_with("\"\"\"") && newline_len(&quoted[3..]) > 0;
    let quotes = if lines { 3 } else { 1 };
    let start = hashes + quotes + if lines { newline_len(&quoted[3..]) } else { 0 };
    let end = literal.len().saturating_sub(hashes + quotes).max(start);
    Shape { raw: hashes > 0, lines, body: start..end }
}

/// The value of one literal: quoted in any form that the lexer accepted, or a bare word.
pub(super) fn decode(literal: &str) -> Result<Literal, Fault> {
    let mut out = Literal::default();
    if !literal.trim_start_matches('#').starts_with('"') {
        out.copy(literal, 0);
        return Ok(out);
    }
    let shape = shape(literal);
    let body = &literal[shape.body.clone()];
    if !shape.lines && (shape.raw || !body.contains('\\')) {
        out.copy(body, shape.body.start);
        return Ok(out);
    }
    let units = units(body, shape.body.start, shape.raw)?;
    if shape.lines {
        out.lines(&units, shape.body.end..literal.len())?;
    } else {
        out.extend(&units);
    }
    Ok(out)
}

/// Cuts a body into characters, escapes and line breaks. An escape of white space leaves nothing: it goes before the
/// dedent, the other escapes after it.
fn units(body: &str, offset: usize, raw: bool) -> Result<Units, Fault> {
    let mut units = Vec::with_capacity(body.len());
    let mut at = 0;
    while let Some(c) = body[at..].chars().next() {
        let rest = &body[at..];
        if c == '\\' && !raw {
            let (unit, len) = escape(rest).map_err(|len| Fault::Escape(offset + at..offset + at + len))?;
            units.extend(unit.map(|unit| (unit, offset + at)));
            at += len;
            continue;
        }
        let newline = newline_len(rest);
        let unit = if newline > 0 { Unit::Newline(newline) } else { Unit::Char(c) };
        units.push((unit, offset + at));
        at += newline.max(c.len_utf8());
    }
    Ok(units)
}

/// Reads one escape: what it stands for, if for anything, and its length; the length of the fault otherwise.
fn escape(rest: &str) -> Result<(Option<Unit>, usize), usize> {
    let after = rest[1..].chars().next().ok_or(1_usize)?;
    if is_blank(after) || is_newline(after) {
        let blank = rest[1..].find(|c| !is_blank(c) && !is_newline(c)).unwrap_or(rest.len() - 1);
        return Ok((None, 1 + blank));
    }
    let c = match after {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        's' => ' ',
        'b' => '\u{8}',
        'f' => '\u{c}',
        '\\' | '"' => after,
        'u' => return unicode(rest).map(|(c, len)| (Some(Unit::Escape(c, len)), len)),
        _ => return Err(1 + after.len_utf8()),
    };
    Ok((Some(Unit::Escape(c, 2)), 2))
}

fn unicode(rest: &str) -> Result<(char, usize), usize> {
    let Some(close) = rest.find('}').filter(|_| rest[2..].starts_with('{')) else {
        return Err(2);
    };
    let digits = &rest[3..close];
    let valid = (1..=6).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = valid.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
    code.and_then(char::from_u32).map(|c| (c, close + 1)).ok_or(close + 1)
}

impl Literal {
    fn copy(&mut self, text: &str, from: usize) {
        self.value.push_str(text);
        if !text.is_empty() {
            let len = text.len() as u32;
            self.pieces.push(Piece { value: 0, file: from as u32, value_len: len, file_len: len });
        }
    }

    fn push(&mut self, c: char, from: usize, file_len: usize) {
        let (value, value_len) = (self.value.len() as u32, c.len_utf8() as u32);
        self.value.push(c);
        let piece = Piece { value, file: from as u32, value_len, file_len: file_len as u32 };
        if let Some(last) = self.pieces.last_mut()
            && piece.value_len == piece.file_len
            && c != '\n'
            && last.value_len == last.file_len
            && last.file + last.file_len == piece.file
        {
            last.value_len += value_len;
            last.file_len += value_len;
            return;
        }
        self.pieces.push(piece);
    }

    fn extend(&mut self, units: &[(Unit, usize)]) {
        for (unit, from) in units {
            match *unit {
                Unit::Char(c) => self.push(c, *from, c.len_utf8()),
                Unit::Escape(c, len) => self.push(c, *from, len),
                Unit::Newline(len) => self.push('\n', *from, len),
            }
        }
    }

    /// Takes the closing line's white space off every line.
    fn lines(&mut self, units: &Units, quotes: Range<usize>) -> Result<(), Fault> {
        let lines: Vec<&[(Unit, usize)]> =
            units.split_inclusive(|(unit, _)| matches!(unit, Unit::Newline(_))).collect();
        let ends_open = !matches!(units.last(), None | Some((Unit::Newline(_), _)));
        let (prefix, lines): (&[(Unit, usize)], _) =
            if ends_open { (lines[lines.len() - 1], &lines[..lines.len() - 1]) } else { (&[], &lines[..]) };
        if !prefix.iter().all(|(unit, _)| unit.is_blank()) {
            return Err(Fault::End(quotes));
        }
        for (number, line) in lines.iter().enumerate() {
            let last = number + 1 == lines.len();
            let (content, newline) = line.split_at(line.len().saturating_sub(1));
            if !content.iter().all(|(unit, _)| unit.is_blank()) {
                self.extend(&content[dedent(content, prefix, quotes.start)?..]);
            }
            self.extend(if last { &[] } else { newline });
        }
        Ok(())
    }

    /// The place in the literal of a range of the value. The end is that of the last byte inside, so a label never
    /// runs into the next line's indentation.
    #[cfg(any(test, fuzzing))]
    pub(super) fn range(&self, value: Range<usize>) -> Range<usize> {
        super::reader::range_of(&self.pieces, value, 0)
    }
}

/// How many units of a line are its indentation, when it begins with exactly the prefix.
fn dedent(line: &[(Unit, usize)], prefix: &[(Unit, usize)], quotes: usize) -> Result<usize, Fault> {
    let same = |(wanted, found): (&(Unit, usize), &(Unit, usize))| match (wanted.0, found.0) {
        (Unit::Char(wanted), Unit::Char(found)) => wanted == found,
        _ => false,
    };
    if line.len() >= prefix.len() && prefix.iter().zip(line).all(same) {
        return Ok(prefix.len());
    }
    let start = line[0].1;
    let end = line.iter().find(|(unit, _)| !unit.is_blank()).map_or(start, |(_, from)| *from);
    let closing = prefix.first().map_or(quotes, |(_, from)| *from);
    Err(Fault::Dedent { line: start..end, closing: closing..quotes })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kdl::trial::string_map;

    fn value(literal: &str) -> String {
        decode(literal).expect(literal).value
    }

    #[test]
    fn every_form_has_its_value() {
        for (literal, expected) in [
            ("word", "word"),
            ("\"a b\"", "a b"),
            ("\"\"", ""),
            ("#\"\"#", ""),
            ("#\"a\\n\"#", "a\\n"),
            ("\"a\\n\\u{1F680}\\\"\"", "a\n🚀\""),
            ("\"a\\   \n   b\"", "ab"),
            ("\"\"\"\n  a\n\n   b\n  \"\"\"", "a\n\n b"),
            ("\"\"\"\n\"\"\"", ""),
            ("\"\"\"\n\n\"\"\"", ""),
            ("#\"\"\"\r\n\ta\r\n\t b\r\n\t\"\"\"#", "a\n b"),
            ("\"\"\"\n  a\\\n     b\n  \"\"\"", "ab"),
        ] {
            assert_eq!(value(literal), expected, "{literal:?}");
        }
    }

    #[test]
    fn faults_have_their_exact_place() {
        assert_eq!(decode("\"ab\\d\""), Err(Fault::Escape(3..5)));
        assert_eq!(decode("\"\\u{110000}\""), Err(Fault::Escape(1..11)));
        assert_eq!(decode("\"\"\"\n  a\n b\n  \"\"\""), Err(Fault::Dedent { line: 8..9, closing: 11..13 }));
        assert_eq!(decode("\"\"\"\n  a\n  b\"\"\""), Err(Fault::End(11..14)));
    }

    #[test]
    fn a_place_in_the_value_finds_its_place_in_the_literal() {
        let literal = "#\"\"\"\r\n    if x\r\n      y\r\n    \"\"\"#";
        let decoded = decode(literal).expect("a text");
        let at = decoded.value.find('y').expect("y");
        assert_eq!(&literal[decoded.range(at..at + 1)], "y");
        let all = decoded.range(0..4);
        assert_eq!(&literal[all], "if x");
        let escaped = "\"a\\u{e9}b\"";
        let decoded = decode(escaped).expect("a text");
        assert_eq!(&escaped[decoded.range(1..3)], "\\u{e9}");
        assert_eq!(&escaped[decoded.range(3..4)], "b");
    }

    /// Pieces of what stands between quotes.
    fn piece() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "a",
            "return x",
            " ",
            "  ",
            "    ",
            "\t",
            "\n",
            "\n",
            "\n    ",
            "\r\n    ",
            "\u{85}",
            "\u{2028}",
            "é",
            "🚀",
            "\u{a0}",
            "\\n",
            "\\t",
            "\\\"",
            "\\\\",
            "\\s",
            "\\u{e9}",
            "\\u{1F680}",
            "\\u{110000}",
            "\\  \n   ",
            "\\\n",
            "\\d",
            "{",
            "}",
            "//",
            "/*",
            "]]",
            "'",
            "#",
        ])
    }

    fn literal() -> impl Strategy<Value = String> {
        (prop::collection::vec(piece(), 0..12), 0..5_usize).prop_map(|(pieces, form)| {
            let body = pieces.concat();
            match form {
                0 => format!("\"{body}\""),
                1 => format!("#\"{body}\"#"),
                2 => format!("\"\"\"\n{body}\n    \"\"\""),
                3 => format!("#\"\"\"\n    {body}\n    \"\"\"#"),
                _ => format!("##\"\"\"\r\n    {body}\r\n    \"\"\"##"),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn values_are_those_of_the_parser_and_every_byte_has_a_place(literal in literal()) {
            string_map(&literal);
        }
    }
}
