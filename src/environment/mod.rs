//! Where handlers run: runspaces, their pools, limits and isolation, and what scripts can call. mlua lives here.

pub mod api;
pub mod call;
pub mod compile;
pub mod declaration;
pub mod fiber;
pub mod gate;
pub mod known;
pub mod pool;
pub mod run_error;
pub mod script_log;
pub mod settings;
pub mod waiting;

mod answer;
mod captured;
mod caught;
mod chunks;
mod entry;
mod form;
mod headers;
mod held;
mod json_quote;
mod json_read;
mod json_write;
mod lease;
mod long_work;
mod places;
mod push;
mod reference;
mod refusals;
mod replaced;
mod request;
mod request_fields;
mod runspace;
mod sandbox;
mod ticker;
mod turns;

#[cfg(test)]
mod pool_tests;
