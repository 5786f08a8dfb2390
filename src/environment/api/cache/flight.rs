//! One caller computes a value in the whole process while others wait for it.
//!
//! Whoever asks first leads. The others wait until the leader hands the value out, or gives up (an error, a client
//! gone): then they ask again, and the first of them leads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The computations under way.
pub struct Flights<V>(Mutex<Table<V>>);

struct Table<V> {
    /// Numbers the leads.
    next: u64,
    flights: HashMap<Arc<[u8]>, Flight<V>>,
}

struct Flight<V> {
    number: u64,
    /// When a leader that was heard no more of is given up.
    until: Instant,
    done: watch::Receiver<Option<Arc<V>>>,
}

/// Whose turn it is.
pub enum Turn<V> {
    /// The value is there already.
    Ready(Arc<V>),
    /// The caller computes.
    Lead(Lead<V>),
    /// Somebody else does.
    Wait(Wait<V>),
}

/// The right to compute one value; dropped without a value, it passes on.
pub struct Lead<V> {
    flights: Arc<Flights<V>>,
    key: Arc<[u8]>,
    number: u64,
    done: watch::Sender<Option<Arc<V>>>,
}

/// A value that somebody else computes.
pub struct Wait<V> {
    number: u64,
    until: Instant,
    done: watch::Receiver<Option<Arc<V>>>,
}

impl<V> Default for Flights<V> {
    fn default() -> Self {
        Self(Mutex::new(Table { next: 0, flights: HashMap::new() }))
    }
}

impl<V> Flights<V> {
    /// Whose turn it is for a key. `look` looks once more for a value that was handed out meanwhile. A leader is given
    /// up at `until`, should it vanish without a word.
    pub fn turn(
        self: &Arc<Self>,
        key: &[u8],
        now: Instant,
        until: Instant,
        look: impl FnOnce() -> Option<Arc<V>>,
    ) -> Turn<V> {
        let mut table = self.0.lock();
        if let Some(flight) = table.flights.get(key).filter(|flight| flight.until > now) {
            let (number, until, done) = (flight.number, flight.until, flight.done.clone());
            return Turn::Wait(Wait { number, until, done });
        }
        if let Some(value) = look() {
            return Turn::Ready(value);
        }
        let (sender, done) = watch::channel(None);
        table.next += 1;
        let number = table.next;
        let key: Arc<[u8]> = key.into();
        table.flights.insert(Arc::clone(&key), Flight { number, until, done });
        Turn::Lead(Lead { flights: Arc::clone(self), key, number, done: sender })
    }
}

impl<V> Lead<V> {
    /// Its number, unique in the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// For which key it is.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Hands the value to all who wait. It should be where others look for it by now.
    pub fn finish(self, value: Arc<V>) {
        self.done.send_replace(Some(value));
    }
}

impl<V> Drop for Lead<V> {
    fn drop(&mut self) {
        let mut table = self.flights.0.lock();
        if table.flights.get(&self.key).is_some_and(|flight| flight.number == self.number) {
            table.flights.remove(&self.key);
        }
    }
}

impl<V> Wait<V> {
    /// The number of the lead that is waited for.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The value, or nothing when the leader gave up or is given up.
    pub async fn value(mut self) -> Option<Arc<V>> {
        let done = self.done.wait_for(Option::is_some);
        let value = tokio::time::timeout_at(self.until.into(), done).await;
        value.ok().and_then(|done| done.ok().and_then(|value| value.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    fn turn(flights: &Arc<Flights<u32>>, key: &str) -> Turn<u32> {
        let now = Instant::now();
        flights.turn(key.as_bytes(), now, now + Duration::from_secs(60), || None)
    }

    fn lead(turn: Turn<u32>) -> Lead<u32> {
        match turn {
            Turn::Lead(lead) => lead,
            _ => panic!("it should lead"),
        }
    }

    fn wait(turn: Turn<u32>) -> Wait<u32> {
        match turn {
            Turn::Wait(wait) => wait,
            _ => panic!("it should wait"),
        }
    }

    #[tokio::test]
    async fn one_leads_and_the_others_get_its_value() {
        let flights = Arc::new(Flights::default());
        let first = lead(turn(&flights, "a"));
        let (second, third) = (wait(turn(&flights, "a")), wait(turn(&flights, "a")));
        let _other = lead(turn(&flights, "b"));
        first.finish(Arc::new(7));
        assert_eq!((second.value().await.as_deref(), third.value().await.as_deref()), (Some(&7), Some(&7)));
        lead(turn(&flights, "a"));
    }

    #[tokio::test]
    async fn the_next_leads_when_the_leader_gives_up() {
        let flights = Arc::new(Flights::default());
        let first = lead(turn(&flights, "a"));
        let (second, third) = (wait(turn(&flights, "a")), wait(turn(&flights, "a")));
        drop(third);
        drop(first);
        assert_eq!(second.value().await, None);
        let next = lead(turn(&flights, "a"));
        let late = wait(turn(&flights, "a"));
        next.finish(Arc::new(8));
        assert_eq!(late.value().await.as_deref(), Some(&8));
    }

    #[test]
    fn a_leader_that_vanished_is_given_up() {
        let flights: Arc<Flights<u32>> = Arc::new(Flights::default());
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let vanished = lead(flights.turn(b"a", now, now + second, || None));
        wait(flights.turn(b"a", now, now + second, || None));
        let next = lead(flights.turn(b"a", now + second, now + 2 * second, || None));
        drop(vanished);
        wait(flights.turn(b"a", now + second, now + 2 * second, || None));
        drop(next);
        lead(flights.turn(b"a", now + second, now + 2 * second, || None));
    }

    #[tokio::test]
    async fn who_waits_gives_a_vanished_leader_up() {
        let flights: Arc<Flights<u32>> = Arc::new(Flights::default());
        let now = Instant::now();
        let until = now + Duration::from_millis(5);
        let vanished = lead(flights.turn(b"a", now, until, || None));
        assert_eq!(wait(flights.turn(b"a", now, until, || None)).value().await, None);
        lead(turn(&flights, "a"));
        drop(vanished);
    }

    #[test]
    fn looks_before_it_leads() {
        let flights = Arc::new(Flights::default());
        let now = Instant::now();
        assert!(matches!(flights.turn(b"a", now, now, || Some(Arc::new(1))), Turn::Ready(_)));
    }

    /// Takes turns until it has led or got a value; `give_up` leads without one.
    async fn take_turns(flights: &Arc<Flights<u32>>, running: &AtomicUsize, give_up: bool) {
        loop {
            match turn(flights, "a") {
                Turn::Ready(_) => return,
                Turn::Wait(wait) => {
                    if wait.value().await.is_some() {
                        return;
                    }
                }
                Turn::Lead(lead) => {
                    assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    running.fetch_sub(1, Ordering::SeqCst);
                    if !give_up {
                        lead.finish(Arc::new(1));
                    }
                    return;
                }
            }
        }
    }

    #[test]
    fn never_two_at_once_on_any_thread() {
        let flights = Arc::new(Flights::default());
        let running = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                    let turns = (0..200).map(|number| take_turns(&flights, &running, number % 3 == 0));
                    runtime.block_on(futures_util::future::join_all(turns));
                });
            }
        });
        lead(turn(&flights, "a"));
    }
}
