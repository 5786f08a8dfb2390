//! Typed access to a node that the schema has already looked at.
//!
//! A reader only builds: the structural pass has reported unknown keys, wrong types and duplicates. What is missing or
//! was reported comes back as `None`, and the caller goes on. `(env)`, `(file)` and `(secret)` are resolved here.

use crate::diag::{Diagnostic, Span};

use super::scalar::{At, Plain, Scalar};

/// Where values from outside come from; the loader implements it.
pub trait Outside {
    /// The environment variable of this name.
    fn env(&self, name: &str) -> Option<String>;
    /// The text of a file named in `from`, relative to it.
    ///
    /// # Errors
    /// Why it cannot be read, as a sentence.
    fn file(&self, from: crate::diag::FileId, path: &str) -> Result<String, String>;
    /// The value of an entry of `secrets`; `None` when there is no such entry.
    fn secret(&self, name: &str) -> Option<String>;
    /// The names of all secrets, for "did you mean".
    fn secret_names(&self) -> Vec<String>;
}

/// A text value with the map back to its bytes in the file: for Lua and patterns.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// The value.
    pub value: String,
    /// The literal's place.
    pub span: Span,
    /// For every line of the value (index 0 is line 1) the 1-based line in the file.
    pub lines: Vec<u32>,
    /// Pieces that map value bytes to file bytes.
    pub map: Vec<Piece>,
}

/// A run of value bytes and the file bytes it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// First byte in the value.
    pub value: u32,
    /// First byte in the file.
    pub file: u32,
    /// Length in the value.
    pub value_len: u32,
    /// Length in the file; equal to `value_len` for a copied run.
    pub file_len: u32,
}

/// One node, read in the light of the schema.
pub struct Reader<'a> {
    /// Replaced by the real thing.
    _node: &'a (),
}

#[allow(unused_variables, clippy::todo, missing_docs)]
impl<'a> Reader<'a> {
    /// The node's name, such as `endpoint`.
    pub fn name(&self) -> &'a str {
        todo!()
    }
    /// Where the name stands.
    pub fn span(&self) -> Span {
        todo!()
    }
    /// Argument number `n`.
    pub fn arg<T: Scalar>(&self, n: usize) -> Option<At<T>> {
        todo!()
    }
    /// All arguments.
    pub fn args<T: Scalar>(&self) -> Vec<At<T>> {
        todo!()
    }
    /// A scalar setting, written as property or as child with one value.
    pub fn get<T: Scalar>(&self, key: &str) -> Option<At<T>> {
        todo!()
    }
    /// All values of every child of this name (`modules "a" "b"`), or the one property.
    pub fn list<T: Scalar>(&self, key: &str) -> Vec<At<T>> {
        todo!()
    }
    /// A switch: `#true`, a bare child node (which means true), or absent.
    pub fn switch(&self, key: &str) -> Option<At<bool>> {
        todo!()
    }
    /// The first child node of this name.
    pub fn child(&self, key: &str) -> Option<Reader<'a>> {
        todo!()
    }
    /// The child nodes of this name.
    pub fn each(&self, key: &str) -> Vec<Reader<'a>> {
        todo!()
    }
    /// All child nodes, for nodes whose children have free names (`variables`, `secrets`, `headers`).
    pub fn children(&self) -> Vec<Reader<'a>> {
        todo!()
    }
    /// A text setting with its map, for `lua`.
    pub fn text(&self, key: &str) -> Option<Text> {
        todo!()
    }
    /// Argument `n` as written, before any format: for values of any type.
    pub fn plain(&self, n: usize) -> Option<At<Plain>> {
        todo!()
    }
    /// Adds a diagnostic to the load's findings.
    pub fn report(&self, diagnostic: Diagnostic) {
        todo!()
    }
    /// Reports that a value which has a place is not in its format, at the part of it that is wrong.
    pub fn bad<T>(&self, value: &At<T>, bad: super::scalar::Bad) {
        todo!()
    }
}
