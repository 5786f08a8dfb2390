//! moondock turns a `site.kdl` into a running HTTP API.
//!
//! Four stages, one direction, each allowed a little more than the one before:
//!
//! `KDL text → Config (decoded, with spans) → Site (validated, immutable) → Generation (live resources)`
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`diag`] | diagnostics: the model, the table of codes, the renderers |
//! | [`kdl`] | reading the site language: scan, parse, structure by schema, typed access |
//! | [`exchange`] [`script`] | leaves: the neutral request and answer; the text of a script and where it came from |
//! | [`logging`] [`persistence`] [`environment`] [`endpoint`] | one concern each: its settings and what is made of them |
//! | [`luau`] | what a Lua text names, found by reading it |
//! | [`site`] | loads a site: reads files, decodes, resolves names across nodes |
//! | [`runtime`] | generations: build completely, swap one pointer |
//! | [`http`] | the path of a request |
//! | [`watch`] | tells that tracked files have other contents |
//! | [`server`] | binds, runs workers, reloads, stops |
//! | [`lsp`] | what an editor asks while a site is typed |
//! | [`cli`] | the commands |
//! | `trial` | what must hold of every text; for the fuzzers and the tests only |
//!
//! Who may name whom is a test: `tests/it/layering.rs`. `ARCHITECTURE.md` has the reasons.

pub mod cli;
pub mod diag;
pub mod endpoint;
pub mod environment;
pub mod exchange;
pub mod http;
pub mod kdl;
pub mod logging;
pub mod lsp;
pub mod luau;
pub mod persistence;
pub mod runtime;
pub mod script;
pub mod server;
pub mod site;
#[cfg(any(test, fuzzing))]
pub mod trial;
pub mod watch;
