//! The `static` node: a folder that is served as it is.

use std::path::PathBuf;

use crate::diag::Span;
use crate::endpoint::option::headers;
use crate::kdl::reader::Reader;
use crate::kdl::scalar::At;

/// A `static` node as decoded.
pub(super) struct StaticSettings {
    pub(super) span: Span,
    pub(super) prefix: At<String>,
    pub(super) dir: At<String>,
    pub(super) index: Option<String>,
    pub(super) headers: Vec<(String, String)>,
}

impl StaticSettings {
    /// Reads a `static` node; `None` when it has no path or folder (which was reported).
    pub(super) fn decode(reader: &Reader<'_>) -> Option<Self> {
        Some(Self {
            span: reader.span(),
            prefix: reader.arg(0)?,
            dir: reader.get("dir")?,
            index: Some(reader.get("index").map_or_else(|| "index.html".to_owned(), |at| at.it)),
            headers: headers::decode(reader),
        })
    }
}

/// A folder that is served as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct StaticFolder {
    /// The path prefix without a trailing slash; empty for `/`.
    pub prefix: String,
    /// The folder, canonical.
    pub folder: PathBuf,
    /// The file that answers for a folder.
    pub index: Option<String>,
    /// Headers of its answers, names in lower case.
    pub headers: Vec<(String, String)>,
}
