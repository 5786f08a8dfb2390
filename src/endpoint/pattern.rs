//! Path patterns: `/users/{id}`, `/files/{*rest}`.
//!
//! A pattern is read once, when the site is loaded, with errors that point at the part that is wrong. Matching is the
//! business of [`super::route_table`].

use std::ops::Range;
use std::sync::Arc;

use percent_encoding::percent_decode_str;

/// The first segment of paths that the server keeps for itself.
const RESERVED: &str = "_moondock";

/// Whether a path as sent (percent-encoded) is one of those that the server keeps for itself.
pub fn is_reserved(path: &str) -> bool {
    let first = path.strip_prefix('/').and_then(|rest| rest.split('/').next()).unwrap_or_default();
    first == RESERVED || first.contains('%') && decode(first).as_deref() == Some(RESERVED)
}

/// A validated path pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// As written, with the prefixes of its groups.
    pub text: Arc<str>,
    /// Its segments.
    pub segments: Vec<Segment>,
}

/// One segment of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// Exactly this text, percent-decoded. The empty text stands for the end of a path that ends with a slash.
    Literal(String),
    /// One non-empty segment.
    Param(Arc<str>),
    /// Everything that is left, at least one character.
    Tail(Arc<str>),
}

/// Why a text is no pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// What is wrong, in a sentence without a final dot.
    pub message: String,
    /// The bytes of the text that are wrong.
    pub part: Range<usize>,
}

impl PatternError {
    fn new(part: Range<usize>, message: impl Into<String>) -> Self {
        Self { message: message.into(), part }
    }
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// The text does not begin with `/`, a parameter is not closed, badly named, named twice or not a whole segment,
    /// `{*rest}` is not last, a segment is empty, `.` or `..`, holds what no path can hold, or the path is reserved.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let Some(rest) = text.strip_prefix('/') else {
            return Err(PatternError::new(0..text.len(), "a path begins with `/`"));
        };
        let mut segments = Vec::new();
        let mut start = 1;
        for piece in rest.split('/') {
            let part = start..start + piece.len();
            start = part.end + 1;
            let segment = Segment::parse(piece, part.clone(), text.len())?;
            check_beside(&segments, &segment, part)?;
            segments.push(segment);
        }
        if segments.first() == Some(&Segment::Literal(RESERVED.to_owned())) {
            let end = 1 + rest.find('/').unwrap_or(rest.len());
            return Err(PatternError::new(
                0..end,
                format!("paths under `/{RESERVED}/` are reserved for the server itself"),
            ));
        }
        Ok(Self { text: text.into(), segments })
    }

    /// The names of its parameters, in order.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.segments.iter().filter_map(Segment::name)
    }

    /// The pattern without the names of its parameters: two patterns of one shape match the same paths.
    pub fn shape(&self) -> String {
        let mut shape = String::with_capacity(self.text.len());
        for segment in &self.segments {
            shape.push('/');
            match segment {
                Segment::Literal(text) => shape.extend(text.chars().flat_map(escaped)),
                Segment::Param(_) => shape.push_str("{}"),
                Segment::Tail(_) => shape.push_str("{*}"),
            }
        }
        shape
    }
}

impl Segment {
    /// The name of a parameter.
    pub fn name(&self) -> Option<&Arc<str>> {
        match self {
            Self::Literal(_) => None,
            Self::Param(name) | Self::Tail(name) => Some(name),
        }
    }

    fn parse(piece: &str, part: Range<usize>, end_of_text: usize) -> Result<Self, PatternError> {
        let Some(open) = piece.find('{') else {
            return literal(piece, part, end_of_text).map(Self::Literal);
        };
        let Some(close) = piece.find('}') else {
            return Err(PatternError::new(
                part.start + open..part.end,
                "the parameter is not closed: a `}` is missing",
            ));
        };
        if open != 0 || close != piece.len() - 1 {
            return Err(PatternError::new(part, "a parameter takes a whole segment between two slashes"));
        }
        let inner = &piece[1..close];
        let (tail, name) = inner.strip_prefix('*').map_or((false, inner), |name| (true, name));
        if !is_name(name) {
            let message = if name.is_empty() {
                "the parameter has no name".to_owned()
            } else {
                format!(
                    "`{name}` is no parameter name: it begins with a small letter or `_`, then come small letters, digits, `_` and `-`"
                )
            };
            return Err(PatternError::new(part, message));
        }
        Ok(if tail { Self::Tail(name.into()) } else { Self::Param(name.into()) })
    }
}

/// What makes a shape unambiguous: a brace of a literal is not a parameter, a slash of a literal is no border.
fn escaped(letter: char) -> impl Iterator<Item = char> {
    let escape = matches!(letter, '{' | '}' | '/' | '%').then_some('%');
    escape.into_iter().chain(std::iter::once(letter))
}

/// What a segment needs of those before it.
fn check_beside(before: &[Segment], segment: &Segment, part: Range<usize>) -> Result<(), PatternError> {
    if let Some(Segment::Tail(name)) = before.last() {
        return Err(PatternError::new(
            part,
            format!("nothing can follow `{{*{name}}}`: it takes all that is left of the path"),
        ));
    }
    if matches!(before.last(), Some(Segment::Literal(text)) if text.is_empty()) {
        let start = part.start - 1;
        return Err(PatternError::new(start..start + 1, "a path has no empty segment: write one slash"));
    }
    if let Some(name) = segment.name()
        && before.iter().any(|other| other.name() == Some(name))
    {
        return Err(PatternError::new(part, format!("two parameters are named `{name}`")));
    }
    Ok(())
}

fn literal(piece: &str, part: Range<usize>, end_of_text: usize) -> Result<String, PatternError> {
    if piece.is_empty() && part.end < end_of_text {
        return Err(PatternError::new(part.start - 1..part.end + 1, "a path has no empty segment: write one slash"));
    }
    if let Some(at) = piece.find('}') {
        return Err(PatternError::new(part.start + at..part.start + at + 1, "a `}` without its `{`"));
    }
    let strange = |letter: char| {
        letter.is_control() || (letter.is_whitespace() && letter != ' ') || matches!(letter, '?' | '#' | '\\')
    };
    if let Some((at, letter)) = piece.char_indices().find(|(_, letter)| strange(*letter)) {
        let part = part.start + at..part.start + at + letter.len_utf8();
        let letter = letter.escape_default();
        return Err(PatternError::new(part, format!("`{letter}` cannot stand in a path")));
    }
    if piece.trim() != piece {
        let message = "a segment begins or ends with a space; when that is meant, write %20";
        return Err(PatternError::new(part, message));
    }
    let Some(decoded) = decode(piece) else {
        return Err(PatternError::new(
            part,
            "the percent-encoding is broken: `%` needs two hexadecimal digits, and UTF-8 text as a result",
        ));
    };
    if decoded == "." || decoded == ".." {
        return Err(PatternError::new(
            part,
            format!("`{decoded}` never arrives as a segment: clients resolve it before they ask"),
        ));
    }
    Ok(decoded)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-'))
}

/// The text behind a percent-encoding; `None` when the encoding is broken, no UTF-8, or hides a control character.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let is_digit = |next: Option<u8>| next.is_some_and(|byte| byte.is_ascii_hexdigit());
        if byte == b'%' && !(is_digit(bytes.next()) && is_digit(bytes.next())) {
            return None;
        }
    }
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    (!decoded.contains(|letter: char| letter.is_ascii_control())).then(|| decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(text: &str) -> Segment {
        Segment::Literal(text.to_owned())
    }

    #[test]
    fn good_patterns() {
        let segments = |text| Pattern::parse(text).unwrap().segments;
        assert_eq!(segments("/"), [literal("")]);
        assert_eq!(segments("/a/b"), [literal("a"), literal("b")]);
        assert_eq!(segments("/a/"), [literal("a"), literal("")]);
        assert_eq!(segments("/a%20b/%C3%A4"), [literal("a b"), literal("ä")]);
        assert_eq!(segments("/a b/ä/%20"), [literal("a b"), literal("ä"), literal(" ")]);
        assert_eq!(segments("/u/{id}/x"), [literal("u"), Segment::Param("id".into()), literal("x")]);
        assert_eq!(segments("/f/{*rest}"), [literal("f"), Segment::Tail("rest".into())]);
        assert_eq!(segments("/{*rest}"), [Segment::Tail("rest".into())]);
        assert_eq!(segments("/{a}/{b-2}"), [Segment::Param("a".into()), Segment::Param("b-2".into())]);
    }

    #[test]
    fn bad_patterns_point_at_the_part() {
        for (text, part, words) in [
            ("", 0..0, "begins with"),
            ("users", 0..5, "begins with"),
            ("/a/{id", 3..6, "not closed"),
            ("/a/x{id}", 3..8, "whole segment"),
            ("/a/{id}x", 3..8, "whole segment"),
            ("/a/{i}{j}", 3..9, "whole segment"),
            ("/a/{}", 3..5, "no name"),
            ("/a/{*}", 3..6, "no name"),
            ("/a/{Id}", 3..7, "`Id`"),
            ("/a/{1d}", 3..7, "`1d`"),
            ("/{id}/{id}", 6..10, "two parameters"),
            ("/{*rest}/x", 9..10, "nothing can follow"),
            ("/{*rest}/", 9..9, "nothing can follow"),
            ("//a", 0..2, "empty segment"),
            ("/a//b", 2..4, "empty segment"),
            ("/a//", 2..4, "empty segment"),
            ("/a}", 2..3, "without its"),
            ("/a\tb", 2..3, "cannot stand"),
            ("/a /b", 1..3, "write %20"),
            ("/a/b ", 3..5, "write %20"),
            ("/a?x=1", 2..3, "cannot stand"),
            ("/a%2", 1..4, "percent-encoding"),
            ("/a%zz", 1..5, "percent-encoding"),
            ("/a%FF", 1..5, "percent-encoding"),
            ("/a/../b", 3..5, "never arrives"),
            ("/a/%2e", 3..6, "never arrives"),
            ("/_moondock/x", 0..10, "reserved"),
            ("/_moondock", 0..10, "reserved"),
            ("/%5fmoondock/x", 0..12, "reserved"),
        ] {
            let error = Pattern::parse(text).expect_err(text);
            assert_eq!(error.part, part, "{text}: {}", error.message);
            assert!(error.message.contains(words), "{text}: {}", error.message);
        }
    }

    #[test]
    fn shapes_forget_names_only() {
        let shape = |text| Pattern::parse(text).unwrap().shape();
        assert_eq!(shape("/u/{id}"), shape("/u/{name}"));
        assert_eq!(shape("/u/%61"), shape("/u/a"));
        assert_ne!(shape("/u/{id}"), shape("/u/%7B%7D"));
        assert_ne!(shape("/u/{id}"), shape("/u/{*id}"));
        assert_ne!(shape("/a%2Fb"), shape("/a/b"));
        assert_ne!(shape("/a"), shape("/a/"));
    }
}
