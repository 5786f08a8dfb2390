//! Scalar formats: how one value of the language becomes a Rust value, and what is said when it cannot.

use std::ops::Range;

use crate::diag::Span;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub it: T,
    /// Where the value stands (the literal with its quotes).
    pub span: Span,
}

/// A plain value of the language, free of the kdl crate.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// `#true` or `#false`.
    Boolean(bool),
    /// `#null`.
    Null,
}

/// Why a value is not what its place asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Bad {
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// The words at the place.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
    /// The part of the text value that is wrong, in bytes; `None` is all of it.
    pub part: Option<Range<usize>>,
}

/// A format that the schema names.
pub trait Scalar: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// What is wrong with it; the reader turns it into a diagnostic at the value's place.
    fn read(value: &Plain) -> Result<Self, Bad>;
}

/// A span of time, from text with a unit: `"250ms" "5s" "10m" "24h" "7d"`, parts add up (`"1h 30m"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration(pub std::time::Duration);

/// A number of bytes, from text with a unit: `"64KiB" "1MiB" "2GiB"` (also `B`, `KB` = 1000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);
