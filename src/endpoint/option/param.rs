//! `param`: declared path, query and header parameters, their types and bounds.

use std::sync::Arc;

use crate::exchange::{Problem, Request, Typed};

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The path; a mismatch is 404.
    Path,
    /// The query; a mismatch is 400.
    Query,
    /// A header; a mismatch is 400.
    Header,
}

/// A declared parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name as declared.
    pub name: Arc<str>,
    /// Where it comes from.
    pub source: Source,
    /// Its value when the request has none.
    pub default: Option<Typed>,
}

/// Checks and converts the declared parameters: `request.params` come in as text and leave typed; `request.query` and
/// `request.headers` are filled.
///
/// # Errors
/// The problem to answer: 404 for a path parameter, 400 otherwise, naming the parameter and what it must be.
#[allow(unused_variables, clippy::todo)]
pub fn check(params: &[Param], request: &mut Request) -> Result<(), Problem> {
    todo!()
}
