//! Finds what answers a method and path: literal beats parameter beats tail, whatever the order of declaration.

use std::sync::Arc;

use super::pattern::Pattern;

/// What was found for a path as sent (percent-encoded).
pub enum Found<'t, T> {
    /// The entry for this method, with the percent-decoded path parameters in the pattern's order.
    /// HEAD finds the entry of GET when there is none for HEAD.
    Entry(&'t T, Vec<(Arc<str>, String)>),
    /// The path is known, the method is not; the value for `Allow` (OPTIONS included, HEAD beside GET).
    Method(String),
    /// A percent-encoding in the path is broken, or decodes to no UTF-8 or a control character.
    Malformed,
    /// No pattern matches.
    Nothing,
}

/// A table of entries by method and pattern.
pub struct RouteTable<T> {
    _entries: Vec<T>,
}

#[allow(unused_variables, clippy::todo)]
impl<T> RouteTable<T> {
    /// Builds the table; look-ups do not grow with it. Of two entries for one method and shape the first stays.
    pub fn build(entries: impl IntoIterator<Item = (Pattern, Vec<Arc<str>>, T)>) -> Self {
        todo!()
    }
    /// Finds the entry; `method` is in capitals, `path` percent-encoded without the query.
    pub fn find<'t>(&'t self, method: &str, path: &str) -> Found<'t, T> {
        todo!()
    }
}
