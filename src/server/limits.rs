//! How many connections a process takes, by its settings and by what the system allows.

use crate::site::server::ServerSettings;

/// The most connections unless the site says more.
const DEFAULT_CONNECTIONS: usize = 25_000;
/// Descriptors kept for files, logs, databases and the like.
const RESERVED_DESCRIPTORS: u64 = 256;
/// A process takes at least so many, whatever the system says.
const LEAST_CONNECTIONS: u64 = 64;

/// Limits of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// Connections of one worker at once.
    pub(super) connections_of_worker: usize,
}

impl Limits {
    /// Raises the limit of descriptors as far as the system allows, and shares the connections out over the workers.
    pub(super) fn of(settings: &ServerSettings) -> Self {
        let descriptors = rlimit::increase_nofile_limit(u64::MAX).ok();
        Self::within(settings, descriptors)
    }

    fn within(settings: &ServerSettings, descriptors: Option<u64>) -> Self {
        let room = descriptors.map(|limit| limit.saturating_sub(RESERVED_DESCRIPTORS).max(LEAST_CONNECTIONS));
        let room = room.map_or(usize::MAX, |room| usize::try_from(room).unwrap_or(usize::MAX));
        let total = settings.max_connections.unwrap_or_else(|| room.min(DEFAULT_CONNECTIONS));
        Self { connections_of_worker: total.div_ceil(settings.workers.max(1)).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_worker(max_connections: Option<usize>, workers: usize, descriptors: Option<u64>) -> usize {
        let settings = ServerSettings { max_connections, workers, ..ServerSettings::default() };
        Limits::within(&settings, descriptors).connections_of_worker
    }

    #[test]
    fn shares() {
        assert_eq!(of_worker(None, 2, Some(1 << 20)), 12_500);
        assert_eq!(of_worker(None, 2, None), 12_500);
        assert_eq!(of_worker(None, 2, Some(1024)), 384);
        assert_eq!(of_worker(None, 1, Some(10)), 64);
        assert_eq!(of_worker(Some(7), 2, Some(1024)), 4);
        assert_eq!(of_worker(Some(100_000), 4, Some(1024)), 25_000);
    }
}
