//! `concurrency 4 queue=10`: how many requests of an endpoint may run at once.

/// The setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// At most so many at once.
    pub limit: usize,
    /// So many may wait; beyond: 503.
    pub queue: usize,
}
