//! Where handlers run: runspaces, their pools, limits and isolation, and what scripts can call. mlua lives here.

pub mod api;
pub mod call;
pub mod compile;
pub mod declaration;
pub mod fiber;
pub mod pool;
pub mod settings;
mod answer;
mod form;
mod headers;
mod json_read;
mod json_write;
mod request;
mod ticker;
mod waiting;
