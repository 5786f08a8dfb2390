//! What a worker thread keeps between requests: the current generation, ready to use, and where request ids come from.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix_web::http::header::{HeaderName, HeaderValue};
use arc_swap::{ArcSwap, Cache};

use super::progress::Connections;
use crate::exchange::RequestId;
use crate::runtime::generation::Generation;
use crate::runtime::{Counters, Runtime};

/// The state of one worker thread for one listener.
pub struct Worker {
    counters: Arc<Counters>,
    current: RefCell<Cache<Arc<ArcSwap<Generation>>, Arc<Generation>>>,
    pinned: RefCell<Rc<Pinned>>,
    ids: RequestIds,
    connections: Connections,
}

/// A generation held by a worker and by the requests under way on it. Counting the requests costs no atomic operation,
/// because they never leave the thread.
pub struct Pinned {
    /// The generation.
    pub generation: Arc<Generation>,
    /// The `headers` of the `server` block, ready to be sent.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Worker {
    /// The state of a worker of this runtime.
    pub fn new(runtime: &Runtime) -> Rc<Self> {
        let pinned = Pinned::new(runtime.current.load_full());
        Rc::new(Self {
            counters: runtime.counters.clone(),
            current: RefCell::new(Cache::new(runtime.current.clone())),
            pinned: RefCell::new(Rc::new(pinned)),
            ids: RequestIds::default(),
            connections: Connections::default(),
        })
    }

    /// The current generation, held as long as the result lives.
    pub fn pin(&self) -> Rc<Pinned> {
        let mut current = self.current.borrow_mut();
        let current = current.load();
        let mut pinned = self.pinned.borrow_mut();
        if !Arc::ptr_eq(current, &pinned.generation) {
            *pinned = Rc::new(Pinned::new(current.clone()));
        }
        pinned.clone()
    }

    /// Numbers of the process.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The connections of this worker.
    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// A new request id.
    pub fn next_id(&self) -> RequestId {
        self.ids.next()
    }

    /// Counts a request whose client went away.
    pub fn count_cancelled(&self) {
        self.counters.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

impl Pinned {
    fn new(generation: Arc<Generation>) -> Self {
        let headers = &generation.site.server.headers;
        let headers = headers.iter().filter_map(|(name, value)| header(name, value.as_bytes())).collect();
        Self { generation, headers }
    }
}

/// A header line as actix wants it; `None` when it can be none.
pub fn header(name: &str, value: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value).ok()?))
}

/// Makes request ids: a random beginning for each worker, then a number.
struct RequestIds {
    prefix: [u8; PREFIX],
    last: Cell<u64>,
}

/// Letters of the random beginning: 64 bits in hexadecimal.
const PREFIX: usize = 16;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Default for RequestIds {
    fn default() -> Self {
        // The keys of a `RandomState` are random for each thread, so the hash of nothing is a random number.
        let mut random = RandomState::new().build_hasher().finish();
        let prefix = std::array::from_fn(|_| {
            let digit = DIGITS[(random & 15) as usize];
            random >>= 4;
            digit
        });
        Self { prefix, last: Cell::new(0) }
    }
}

impl RequestIds {
    fn next(&self) -> RequestId {
        let mut number = self.last.get() + 1;
        self.last.set(number);
        let mut text = [b'-'; PREFIX + 1 + 16];
        text[..PREFIX].copy_from_slice(&self.prefix);
        let digits = (16 - number.leading_zeros() as usize / 4).max(1);
        for at in (0..digits).rev() {
            text[PREFIX + 1 + at] = DIGITS[(number & 15) as usize];
            number >>= 4;
        }
        let text = str::from_utf8(&text[..PREFIX + 1 + digits]).unwrap_or_default();
        RequestId(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_have_one_beginning() {
        let (ids, others) = (RequestIds::default(), RequestIds::default());
        let made: Vec<Arc<str>> = (0..300).map(|_| ids.next().0).collect();
        let mut unique = made.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), 300);
        assert!(made.iter().all(|id| id[..PREFIX] == made[0][..PREFIX]));
        assert!(made[0].ends_with("-1") && made[15].ends_with("-10") && made[254].ends_with("-ff"), "{made:?}");
        assert_ne!(others.next().0[..PREFIX], made[0][..PREFIX]);
    }
}
