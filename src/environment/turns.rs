//! Whose turn it is among handlers that compute: one slice for each turn of the reactor, first come, first served.
//!
//! A task that wakes itself is polled again before sockets are looked at. So a handler that ran a whole slice is woken
//! by a pump, and the pump by the reactor.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::task::Waker;

thread_local! {
    /// Handlers that ran a whole slice, in order; one is let on for each turn of the reactor.
    static PREEMPTED: RefCell<VecDeque<Waker>> = const { RefCell::new(VecDeque::new()) };
    static PUMPING: Cell<bool> = const { Cell::new(false) };
}

/// Puts a handler at the end of the line of those that ran a whole slice. One of them runs for each turn of the
/// reactor, so that sockets are looked at between two slices however many handlers compute.
pub(super) fn let_others_run(waker: &Waker) {
    PREEMPTED.with_borrow_mut(|queue| queue.push_back(waker.clone()));
    if !PUMPING.replace(true) {
        tokio::task::spawn_local(pump(Pumping));
    }
}

/// Says that a pump is at work; gone with it, also when its `LocalSet` ends.
struct Pumping;

impl Drop for Pumping {
    fn drop(&mut self) {
        PUMPING.set(false);
        // Taken out first: a waker may be all that keeps a task, and its handler unwinds when it is dropped.
        drop(PREEMPTED.take());
    }
}

async fn pump(_pumping: Pumping) {
    loop {
        // The waker of `yield_now` is deferred until the reactor has been polled.
        tokio::task::yield_now().await;
        let Some(next) = PREEMPTED.with_borrow_mut(VecDeque::pop_front) else {
            break;
        };
        next.wake();
    }
}
