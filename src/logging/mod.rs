//! Logging: features, levels, the router that decides who hears what, and the targets. slog drains live here.
//!
//! A record's feature is its slog tag: `slog::info!(log, # "config", "reloaded"; "generation" => 7)` (the blank is needed). Three field names
//! have a meaning: `endpoint` is the pattern of the endpoint a record belongs to (targets filter by it), `request` its
//! request id, and `fields` a JSON object of what a script gave (a serialised value or JSON text), which `pretty` and
//! `logfmt` show as fields of their own.
//!
//! The way of a record: the [`router`] compares level, feature and endpoint with what the targets take; only if one takes
//! it, it becomes an owned record and waits in the queue of the target's writer; the writer's thread masks, formats
//! and writes. Nothing here logs about itself but the number of records dropped or lost.

pub mod feature;
pub mod filter;
pub mod format;
mod mask;
mod record;
pub mod router;
pub mod settings;
pub mod target;
mod writer;
