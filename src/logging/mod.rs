//! Logging: features, levels, the router that decides who hears what, and the targets. slog drains live here.
//!
//! A record's feature is its slog tag: `slog::info!(log, #"config", "reloaded"; "generation" => 7)`.

pub mod feature;
pub mod router;
pub mod settings;
