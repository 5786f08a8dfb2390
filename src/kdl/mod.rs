//! Reading the site language. The only module that knows the kdl crate.
//!
//! `text → scan (limits, chunks) → parse each chunk → structure by schema → typed access through [`reader::Reader`]`.
//! Nothing here reads a file or knows what a node means.

mod grammar;
mod habits;
#[cfg(test)]
mod hostile;
mod lex;
mod literal;
mod outside;
mod scan;
mod structure;
mod syntax;
mod tree;
mod values;

pub mod allow;
pub mod document;
pub mod format;
pub mod layout;
pub mod outline;
pub mod reader;
mod recovery;
pub mod scalar;
pub mod schema;
pub mod suggest;
#[cfg(any(test, fuzzing))]
pub mod trial;
