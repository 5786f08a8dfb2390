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

    fn units(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
        }
    }
}

/// A text and where its lines begin.
#[derive(Clone, Debug)]
pub(super) struct Text {
    /// All of it.
    pub(super) all: Arc<str>,
    encoding: Encoding,
    /// The first byte of every line. Unlike elsewhere a CR alone ends a line, too: so does the protocol count.
    starts: Vec<u32>,
}

impl Text {
    /// The text, its places counted in this encoding.
    pub(super) fn new(all: impl Into<Arc<str>>, encoding: Encoding) -> Self {
        let all: Arc<str> = all.into();
        let bytes = all.as_bytes();
        let breaks = memchr::memchr2_iter(b'\n', b'\r', bytes);
        let ends = breaks.filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'));
        let starts = std::iter::once(0).chain(ends.map(|at| at as u32 + 1)).collect();
        Self { all, encoding, starts }
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
        let mut units = 0;
        for (at, c) in self.all[range.clone()].char_indices() {
            if range.start + at + c.len_utf8() > offset {
                break;
            }
            units += self.encoding.units(c);
        }
        Position::new(line as u32, units as u32)
    }

    /// The byte of a place. A place that is not there is the nearest one before it.
    pub(super) fn offset(&self, position: Position) -> usize {
        let range = self.line(position.line as usize);
        let mut units = 0;
        for (at, c) in self.all[range.clone()].char_indices() {
            units += self.encoding.units(c);
            if units > position.character as usize {
                return range.start + at;
            }
        }
        range.end
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

#[cfg(test)]
mod tests {
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
}
