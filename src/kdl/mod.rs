//! Reading the site language. The only module that knows the kdl crate.
//!
//! `text → scan (limits, chunks) → parse each chunk → structure by schema → typed access through [`Reader`]`.
//! Nothing here reads a file or knows what a node means.

pub mod reader;
pub mod scalar;
