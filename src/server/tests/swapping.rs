//! Generations that are swapped while requests are answered.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::runtime::generation::Generation;

/// A generation whose only answer is its number.
fn numbered(number: usize) -> Arc<Generation> {
    let made = Made::new().respond("GET", "/", &number.to_string());
    Runtime::start(Arc::new(made.0)).unwrap().current.load_full()
}

#[test]
fn no_request_fails_and_nobody_sees_the_old_after_the_new() {
    const GENERATIONS: usize = 300;
    let server = Made::new().server(|server| server.workers = 2).respond("GET", "/", "0").start();
    let is_done = AtomicBool::new(false);
    let runtime = server.running.runtime().clone();
    let seen: Vec<usize> = thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut wire = server.connect();
                    let mut last = 0;
                    while !is_done.load(Ordering::Relaxed) || last < GENERATIONS {
                        wire.send("GET /", b"");
                        let now: usize = wire.answer(false).text().parse().unwrap();
                        assert!(now >= last, "{now} after {last}");
                        last = now;
                    }
                    last
                })
            })
            .collect();
        for number in 1..=GENERATIONS {
            runtime.current.store(numbered(number));
        }
        is_done.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert_eq!(seen, [GENERATIONS; 8]);
}

#[test]
fn a_generation_nobody_uses_any_more_is_let_go() {
    let server = Made::new()
        .server(|server| server.header_timeout = Duration::from_millis(200))
        .respond("GET", "/", "0")
        .start();
    assert_eq!(server.ask("GET /", b"").text(), "0");
    let old = Arc::downgrade(&server.running.runtime().current.load_full());
    server.running.runtime().current.store(numbered(1));
    eventually("the end of the old generation", || old.strong_count() == 0);
    assert_eq!(server.ask("GET /", b"").text(), "1");
}
