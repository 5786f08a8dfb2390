//! Entries bounded in number and bytes, with an end of life each; what was not used gives way first.
//!
//! Eviction is by second chance: a hand goes round the slots, spares an entry that was read since it last came by, and
//! takes the first that was not. A read therefore only sets a flag.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What an entry costs beside its key and value, in bytes.
const OVERHEAD: usize = 128;

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all entries, with their keys.
    pub bytes: usize,
    /// Entries.
    pub entries: usize,
    /// Bytes of one entry.
    pub entry: usize,
}

impl Default for Limits {
    /// 64 MiB, 100,000 entries, 8 MiB for one.
    fn default() -> Self {
        Self { bytes: 64 << 20, entries: 100_000, entry: 8 << 20 }
    }
}

/// The value is larger than one entry may be.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLarge;

/// The entries.
pub struct Store<V> {
    limits: Limits,
    inner: Mutex<Inner<V>>,
}

struct Inner<V> {
    index: HashMap<Arc<[u8]>, usize>,
    slots: Vec<Option<Entry<V>>>,
    free: Vec<usize>,
    hand: usize,
    bytes: usize,
}

struct Entry<V> {
    key: Arc<[u8]>,
    value: Arc<V>,
    size: usize,
    expires: Option<Instant>,
    used: bool,
}

impl<V> Entry<V> {
    fn expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

impl<V> Store<V> {
    /// An empty store.
    pub fn new(limits: Limits) -> Self {
        let inner = Inner { index: HashMap::new(), slots: Vec::new(), free: Vec::new(), hand: 0, bytes: 0 };
        Self { limits, inner: Mutex::new(inner) }
    }

    /// What bounds it.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The value of a key, unless its life has ended.
    pub fn get(&self, key: &[u8], now: Instant) -> Option<Arc<V>> {
        let mut inner = self.inner.lock();
        let slot = *inner.index.get(key)?;
        let entry = inner.slots.get_mut(slot)?.as_mut()?;
        if entry.expired(now) {
            inner.remove(slot);
            return None;
        }
        entry.used = true;
        Some(Arc::clone(&entry.value))
    }

    /// Keeps a value of `size` bytes in place of what the key had; without `ttl` until it gives way.
    ///
    /// # Errors
    /// It is larger than one entry may be; what the key had is gone all the same.
    pub fn set(
        &self,
        key: &[u8],
        value: Arc<V>,
        size: usize,
        ttl: Option<Duration>,
        now: Instant,
    ) -> Result<(), TooLarge> {
        let size = size + key.len() + OVERHEAD;
        let mut inner = self.inner.lock();
        inner.delete(key, now);
        if size > self.limits.entry.min(self.limits.bytes) {
            return Err(TooLarge);
        }
        let expires = ttl.and_then(|ttl| now.checked_add(ttl));
        while inner.bytes + size > self.limits.bytes || inner.index.len() >= self.limits.entries {
            inner.evict(now);
        }
        inner.insert(Entry { key: key.into(), value, size, expires, used: false });
        Ok(())
    }

    /// Removes a key; returns whether it had a value.
    pub fn delete(&self, key: &[u8], now: Instant) -> bool {
        self.inner.lock().delete(key, now)
    }

    /// Entries and bytes held, with those whose life has ended but which nobody asked for since.
    pub fn held(&self) -> (usize, usize) {
        let inner = self.inner.lock();
        (inner.index.len(), inner.bytes)
    }
}

impl<V> Inner<V> {
    fn insert(&mut self, entry: Entry<V>) {
        self.bytes += entry.size;
        let key = Arc::clone(&entry.key);
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                self.slots.len() - 1
            }
        };
        if let Some(place) = self.slots.get_mut(slot) {
            *place = Some(entry);
        }
        self.index.insert(key, slot);
    }

    fn delete(&mut self, key: &[u8], now: Instant) -> bool {
        let Some(slot) = self.index.get(key).copied() else {
            return false;
        };
        self.remove(slot).is_some_and(|entry| !entry.expired(now))
    }

    fn remove(&mut self, slot: usize) -> Option<Entry<V>> {
        let entry = self.slots.get_mut(slot)?.take()?;
        self.bytes -= entry.size;
        self.index.remove(&entry.key);
        self.free.push(slot);
        Some(entry)
    }

    /// Moves the hand until it has taken one entry. Ends: a second round finds nothing spared.
    fn evict(&mut self, now: Instant) {
        for _ in 0..=2 * self.slots.len() {
            let slot = self.hand;
            self.hand = (slot + 1) % self.slots.len().max(1);
            let Some(Some(entry)) = self.slots.get_mut(slot) else {
                continue;
            };
            if entry.used && !entry.expired(now) {
                entry.used = false;
                continue;
            }
            self.remove(slot);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(bytes: usize, entries: usize) -> Store<u32> {
        Store::new(Limits { bytes, entries, entry: 1000 })
    }

    fn put(store: &Store<u32>, key: &str, value: u32, now: Instant) {
        store.set(key.as_bytes(), Arc::new(value), 4, None, now).unwrap();
    }

    fn read(store: &Store<u32>, key: &str, now: Instant) -> Option<u32> {
        store.get(key.as_bytes(), now).map(|value| *value)
    }

    #[test]
    fn keeps_replaces_and_deletes() {
        let (store, now) = (store(10_000, 10), Instant::now());
        assert_eq!(read(&store, "a", now), None);
        put(&store, "a", 1, now);
        put(&store, "a", 2, now);
        assert_eq!(read(&store, "a", now), Some(2));
        assert_eq!(store.held(), (1, 4 + 1 + OVERHEAD));
        assert!(store.delete(b"a", now));
        assert!(!store.delete(b"a", now));
        assert_eq!(store.held(), (0, 0));
    }

    #[test]
    fn a_life_ends() {
        let (store, now) = (store(10_000, 10), Instant::now());
        let ttl = Duration::from_secs(5);
        store.set(b"a", Arc::new(1), 4, Some(ttl), now).unwrap();
        store.set(b"b", Arc::new(1), 4, Some(Duration::ZERO), now).unwrap();
        store.set(b"c", Arc::new(1), 4, Some(Duration::MAX), now).unwrap();
        assert_eq!(read(&store, "a", now + ttl - Duration::from_nanos(1)), Some(1));
        assert_eq!(read(&store, "b", now), None);
        assert_eq!(read(&store, "a", now + ttl), None);
        assert!(!store.delete(b"a", now + ttl));
        assert_eq!(read(&store, "c", now + ttl), Some(1));
        assert_eq!(store.held().0, 1);
    }

    #[test]
    fn entries_are_bounded_and_the_used_ones_stay() {
        let (store, now) = (store(10_000, 3), Instant::now());
        for key in ["a", "b", "c"] {
            put(&store, key, 1, now);
        }
        assert!(read(&store, "a", now).is_some());
        put(&store, "d", 1, now);
        assert_eq!((read(&store, "a", now), read(&store, "b", now)), (Some(1), None));
        assert_eq!(store.held().0, 3);
        for key in ["a", "c", "d"] {
            assert!(read(&store, key, now).is_some());
        }
        put(&store, "e", 1, now);
        assert_eq!(store.held().0, 3);
        assert_eq!(read(&store, "e", now), Some(1));
    }

    #[test]
    fn bytes_are_bounded_whatever_comes() {
        let (store, now) = (Store::new(Limits { bytes: 2_000, entries: 100, entry: 900 }), Instant::now());
        for round in 0..500_usize {
            let key = (round * 7 % 40).to_string();
            let size = round * 31 % 1_000;
            let kept = store.set(key.as_bytes(), Arc::new(round), size, None, now);
            assert_eq!(kept.is_err(), size + key.len() + OVERHEAD > 900);
            assert_eq!(store.get(key.as_bytes(), now).map(|value| *value), kept.ok().map(|()| round));
            let inner = store.inner.lock();
            let counted: usize = inner.slots.iter().flatten().map(|entry| entry.size).sum();
            assert!(inner.bytes <= 2_000 && inner.bytes == counted, "{} of {counted}", inner.bytes);
            assert_eq!(inner.slots.iter().flatten().count(), inner.index.len());
        }
    }
}
