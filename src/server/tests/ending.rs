//! How connections and servers end.

use super::*;

#[test]
fn slow_clients_are_cut() {
    let quick = |server: &mut ServerSettings| {
        // The clock of actix is half a second coarse.
        server.header_timeout = Duration::from_millis(800);
        server.body_timeout = Duration::from_millis(200);
        server.keep_alive = Duration::from_millis(1500);
    };
    let server = Made::new().server(quick).respond("GET", "/x", "x").lua("POST", "/up", "return req.body").start();
    let mut first = server.connect();
    first.raw(b"GET /x HTTP/1.1\r\nhost");
    assert_eq!(first.answer(false).status, 408);
    assert!(first.has_ended());

    let mut body = server.connect();
    body.send("POST /up\ncontent-length: 10", b"");
    assert_eq!(body.answer(false).status, 408);

    let mut idle = server.connect();
    idle.send("GET /x", b"");
    idle.answer(false);
    assert!(idle.has_ended());

    // The second head of a connection comes one byte at a time and never ends.
    let mut second = server.connect();
    second.send("GET /x", b"");
    second.answer(false);
    second.raw(b"GET /x HTTP/1.1\r\nhost: ");
    second.stream.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
    let began = Instant::now();
    loop {
        let mut buffer = [0; 100];
        let sent = second.stream.write_all(b"x");
        match second.stream.read(&mut buffer) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => sent.unwrap(),
            _ => break,
        }
        assert!(began.elapsed() < Duration::from_secs(5), "a slow head is never cut");
    }
    eventually("all connections closed", || server.counters().connections.load(Ordering::Relaxed) == 0);
}

#[test]
fn a_client_that_goes_ends_its_handler() {
    let server = Made::new().lua("GET", "/slow", "sleep(60)").respond("GET", "/x", "x").start();
    for half in [false, true] {
        let before = server.counters().cancelled.load(Ordering::Relaxed);
        let mut wire = server.connect();
        wire.send("GET /slow", b"");
        assert_eq!(server.ask("GET /x", b"").status, 200);
        if half {
            wire.stream.shutdown(Shutdown::Write).unwrap();
            assert!(wire.has_ended());
        }
        drop(wire);
        eventually("the handler's end", || server.counters().cancelled.load(Ordering::Relaxed) > before);
    }
    // An answer that needs no waiting reaches a client that only closed its writing side.
    let mut wire = server.connect();
    wire.raw(b"GET /x HTTP/1.1\r\nhost: t\r\n\r\n");
    wire.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wire.answer(false).text(), "x");
}

#[test]
fn stopping_lets_requests_finish() {
    let server = Made::new().lua("GET", "/slow", "sleep(0.5) return 'slept'").respond("GET", "/x", "x").start();
    let mut idle = server.connect();
    idle.send("GET /x", b"");
    idle.answer(false);
    let mut busy = server.connect();
    busy.send("GET /slow", b"");
    assert_eq!(server.ask("GET /x", b"").status, 200);
    let address = server.address;
    let stopping = thread::spawn(|| server.stop(std::future::pending::<()>()));
    assert!(idle.has_ended());
    let answered = busy.answer(false);
    assert_eq!((answered.text(), answered.header("connection")), ("slept", Some("close")));
    assert!(stopping.join().unwrap());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_hurried_stop_does_not_wait() {
    let server = Made::new().lua("GET", "/slow", "sleep(60)").respond("GET", "/x", "x").start();
    let mut busy = server.connect();
    busy.send("GET /slow", b"");
    assert_eq!(server.ask("GET /x", b"").status, 200);
    let began = Instant::now();
    assert!(!server.stop(std::future::ready(())));
    assert!(began.elapsed() < Duration::from_secs(3));
    assert!(busy.has_ended());
}

#[test]
fn what_was_sent_before_the_stop_is_answered() {
    let server = Made::new().lua("POST", "/up", "return req.body").respond("GET", "/x", "x").start();
    let mut wires: Vec<Wire> = (0..300).map(|_| server.connect()).collect();
    for wire in &mut wires {
        wire.send("GET /x", b"");
        wire.answer(false);
    }
    for wire in &mut wires {
        wire.send("POST /up", &[b'x'; 20_000]);
    }
    assert!(server.stop(std::future::pending::<()>()));
    for wire in &mut wires {
        assert_eq!(wire.answer(false).body.len(), 20_000);
        assert!(wire.has_ended());
    }
}
