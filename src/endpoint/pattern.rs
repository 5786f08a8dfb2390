//! Path patterns: `/users/{id}`, `/files/{*rest}`.

use std::sync::Arc;

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
    /// Exactly this text, percent-decoded.
    Literal(String),
    /// One non-empty segment.
    Param(Arc<str>),
    /// Everything that is left, at least one character.
    Tail(Arc<str>),
}
