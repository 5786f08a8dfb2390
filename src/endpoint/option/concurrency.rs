//! `concurrency 4 queue=10`: how many requests of an endpoint may run at once.

use crate::kdl::reader::Reader;

/// The setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// At most so many at once.
    pub limit: usize,
    /// So many may wait; beyond: 503. Default none.
    pub queue: usize,
}

impl ConcurrencyLimit {
    /// Reads `concurrency` of an endpoint or group.
    pub fn decode(reader: &Reader<'_>) -> Option<Self> {
        let node = reader.child("concurrency");
        let limit = node.as_ref().map_or_else(|| reader.get("concurrency"), |node| node.arg(0))?;
        let queue = node.and_then(|node| node.get("queue"));
        Some(Self { limit: limit.it, queue: queue.map_or(0, |at| at.it) })
    }
}
