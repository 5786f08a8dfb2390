//! A text with its lines, and places in it as the protocol counts them: by line, and in units of the agreed encoding.

use std::ops::Range;
use std::sync::Arc;

use gen_lsp_types::{Position, PositionEncodingKind};

/// In which units a place in its line is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, of which characters beyond the basic plane have two: what holds unless something else is agreed.
    #[default]
    Utf16,
}

impl Encoding {
    /// Its name in the protocol.
    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }
}

/// A text and where its lines begin.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// All of it.
    pub(super) all: Arc<str>,
    /// The first byte of every line. Unlike elsewhere a CR alone ends a line, too: so does the protocol count.
    starts: Vec<u32>,
    /// The units of UTF-16 before every block of bytes; `None` when a unit is a byte. So a line of megabytes, in which
    /// many places are asked for, is not counted through for each.
    units: Option<Vec<usize>>,
}

/// The bytes of a block of which the units are counted once.
const BLOCK: usize = 1 << 10;

impl Text {
    /// The text, its places counted in this encoding.
    pub(super) fn new(all: impl Into<Arc<str>>, encoding: Encoding) -> Self {
        let all: Arc<str> = all.into();
        let bytes = all.as_bytes();
        let breaks = memchr::memchr2_iter(b'\n', b'\r', bytes);
        let ends = breaks.filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'));
        let starts = std::iter::once(0).chain(ends.map(|at| at as u32 + 1)).collect();
        let units = (encoding == Encoding::Utf16 && !all.is_ascii()).then(|| units(&all));
        Self { all, starts, units }
    }

    /// The bytes of a 0-based line without its end.
    fn line(&self, line: usize) -> Range<usize> {
        let start = self.starts.get(line).map_or(self.all.len(), |start| *start as usize);
        let end = self.starts.get(line + 1).map_or(self.all.len(), |next| *next as usize);
        start..start + self.all[start..end].trim_end_matches(['\n', '\r']).len()
    }

    /// The place of a byte; of one inside a character that of the character, of one inside a line's end that of the end.
    pub(super) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1);
        let range = self.line(line);
        let offset = boundary(&self.all, offset.clamp(range.start, range.end));
        Position::new(line as u32, (self.units_before(offset) - self.units_before(range.start)) as u32)
    }

    /// The byte of a place. A place that is not there is the nearest one before it.
    pub(super) fn offset(&self, position: Position) -> usize {
        let range = self.line(position.line as usize);
        let Some(units) = &self.units else {
            return boundary(&self.all, range.start.saturating_add(position.character as usize).min(range.end));
        };
        let wanted = self.units_before(range.start).saturating_add(position.character as usize);
        let block = units.partition_point(|units| *units <= wanted).saturating_sub(1);
        let mut at = boundary(&self.all, block * BLOCK);
        let mut left = wanted - units.get(block).copied().unwrap_or_default();
        for c in self.all[at..].chars() {
            if c.len_utf16() > left {
                break;
            }
            left -= c.len_utf16();
            at += c.len_utf8();
        }
        at.min(range.end)
    }

    /// How many units stand before a byte at which a character begins.
    fn units_before(&self, offset: usize) -> usize {
        let Some(units) = &self.units else { return offset };
        let block = offset / BLOCK;
        let counted = boundary(&self.all, block * BLOCK);
        units.get(block).copied().unwrap_or_default()
            + self.all[counted..offset].chars().map(char::len_utf16).sum::<usize>()
    }

    /// The places of a range of bytes.
    pub(super) fn range(&self, bytes: Range<usize>) -> gen_lsp_types::Range {
        gen_lsp_types::Range::new(self.position(bytes.start), self.position(bytes.end))
    }

    /// The bytes between two places, in whatever order they are.
    pub(super) fn bytes(&self, range: gen_lsp_types::Range) -> Range<usize> {
        let (one, other) = (self.offset(range.start), self.offset(range.end));
        one.min(other)..one.max(other)
    }
}

/// The nearest byte at or before this one at which a character begins.
fn boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The units of UTF-16 before every block.
fn units(text: &str) -> Vec<usize> {
    let (mut counts, mut units) = (vec![0], 0);
    for (at, c) in text.char_indices() {
        while counts.len() * BLOCK < at + c.len_utf8() {
            counts.push(units);
        }
        units += c.len_utf16();
    }
    while counts.len() * BLOCK <= text.len() {
        counts.push(units);
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_counted_in_the_agreed_units() {
        let text = "aö🌙b\r\n\r🌙\n";
        // Line, column in UTF-8, column in UTF-16, byte.
        let places = [
            (0, 0, 0, 0),
            (0, 1, 1, 1),
            (0, 3, 2, 3),
            (0, 7, 4, 7),
            (0, 8, 5, 8),
            (1, 0, 0, 10),
            (2, 4, 2, 15),
            (3, 0, 0, 16),
        ];
        for (encoding, pick) in [(Encoding::Utf8, 0), (Encoding::Utf16, 1)] {
            let text = Text::new(text, encoding);
            for (line, utf8, utf16, byte) in places {
                let position = Position::new(line, [utf8, utf16][pick]);
                assert_eq!(text.offset(position), byte, "{encoding:?} {position:?}");
                assert_eq!(text.position(byte), position, "{encoding:?} {byte}");
            }
        }
    }

    #[test]
    fn a_place_that_is_not_there_is_the_nearest_before() {
        let text = Text::new("a🌙\r\nb", Encoding::Utf16);
        for (line, character, byte) in [(0, 2, 1), (0, 99, 5), (1, 99, 8), (7, 0, 8), (u32::MAX, u32::MAX, 8)] {
            assert_eq!(text.offset(Position::new(line, character)), byte, "{line}:{character}");
        }
        for (byte, line, character) in [(3, 0, 1), (6, 0, 3), (99, 1, 1)] {
            assert_eq!(text.position(byte), Position::new(line, character), "{byte}");
        }
        let range = gen_lsp_types::Range::new(Position::new(1, 0), Position::new(0, 0));
        assert_eq!(text.bytes(range), 0..7);
    }

    proptest! {
        /// Long lines are counted in blocks, which must make no difference.
        #[test]
        fn a_place_of_a_byte_is_the_byte_of_the_place(pieces in prop::collection::vec(prop_oneof![
            Just("ä".repeat(700)), Just("🌙".repeat(600)), Just("abc".repeat(900)), Just("€".to_owned()),
            Just("\r\n".to_owned()), Just("\r".to_owned()), Just("\n".to_owned()),
        ], 0..6)) {
            let all = pieces.concat();
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let text = Text::new(all.as_str(), encoding);
                let mut place = Position::new(0, 0);
                for (at, c) in all.char_indices() {
                    prop_assert_eq!(text.position(at), place);
                    if c != '\n' || !all[..at].ends_with('\r') {
                        prop_assert_eq!(text.offset(place), at);
                    }
                    let crlf = c == '\r' && all[at..].starts_with("\r\n");
                    match c {
                        '\n' | '\r' if !crlf => place = Position::new(place.line + 1, 0),
                        '\r' => {}
                        c if encoding == Encoding::Utf8 => place.character += c.len_utf8() as u32,
                        c => place.character += c.len_utf16() as u32,
                    }
                }
            }
        }
    }
}
