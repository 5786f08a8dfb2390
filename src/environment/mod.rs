//! Where handlers run: runspaces, their pools, limits and isolation, and what scripts can call. mlua lives here.

pub mod api;
pub mod compile;
pub mod declaration;
pub mod pool;
pub mod settings;
