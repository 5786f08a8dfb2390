//! The black-box tests: one binary that starts the real program, talks bytes to it and reads its log.
//!
//! `harness/` knows how; the other files say what must hold. Cases are data: see `tests/cases/` and CONTRIBUTING.md.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed; clippy's exception for tests does not reach their helper functions"
)]

mod check;
mod check_flags;
mod cli;
mod crowd;
mod docs;
mod errors;
mod examples;
mod forgotten;
mod harness;
mod layering;
mod lsp;
mod reload;
mod schema;
mod serve;
