//! The options of an endpoint, one file each. Their order here is the order in which they act.

pub mod concurrency;
pub mod param;
