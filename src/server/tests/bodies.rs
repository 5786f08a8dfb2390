//! Bodies: limits, what is left unread, Expect, gzip.

use super::*;

#[test]
fn too_large_is_readable_every_time() {
    let server = Made::new().lua("POST", "/up", "return 'n=' .. #req.body").start();
    let large = vec![b'x'; 8 << 20];
    for _ in 0..5 {
        assert_eq!(server.ask("POST /up", &large).status, 413);
    }
    let mut chunked = Vec::new();
    for _ in 0..128 {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.extend_from_slice(&[b'y'; 65536]);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(server.ask("POST /up\ntransfer-encoding: chunked", &chunked).status, 413);
    let mut wire = server.connect();
    wire.send("POST /up\ncontent-length: 10000000000", b"");
    assert_eq!(wire.answer(false).status, 413);
    assert_eq!(server.ask("POST /up", &[b'z'; 65536]).text(), "n=65536");
    assert_eq!(server.ask("POST /up", &[b'z'; 65537]).status, 413);
    let small = server.ask("POST /up\ntransfer-encoding: chunked", b"3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\n\r\n");
    assert_eq!(small.text(), "n=5");
}

#[test]
fn an_endless_body_is_cut() {
    let server = Made::new()
        .server(|server| server.header_timeout = Duration::from_millis(800))
        .lua("POST", "/up", "return req.body")
        .start();
    let mut wire = server.connect();
    wire.send("POST /up\ntransfer-encoding: chunked", b"");
    let chunk = [b"10000\r\n".as_slice(), &[b'y'; 65536], b"\r\n"].concat();
    wire.stream.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let began = Instant::now();
    wire.raw(&chunk);
    wire.raw(&chunk);
    assert_eq!(wire.answer(false).status, 413);
    while wire.stream.write_all(&chunk).is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "it reads for ever");
    }
}

#[test]
fn keep_alive_stays_in_step_whatever_is_left_unread() {
    let server = Made::new().respond("POST", "/ignore", "ignored").lua("POST", "/read", "return req.body").start();
    let mut wire = server.connect();
    for (head, body, expected) in [
        ("POST /ignore", b"GET /read HTTP/1.1\r\n\r\n".to_vec(), "ignored"),
        ("POST /ignore\ntransfer-encoding: chunked", b"5\r\nabcde\r\n0\r\n\r\n".to_vec(), "ignored"),
        ("POST /ignore", vec![b'x'; 60_000], "ignored"),
        ("POST /read", b"abc".to_vec(), "abc"),
        ("POST /nothing", b"abc".to_vec(), ""),
        ("POST /read", b"last".to_vec(), "last"),
    ] {
        wire.send(head, &body);
        let answered = wire.answer(false);
        assert!(answered.header("connection").is_none(), "{head}: {}", answered.head);
        if !expected.is_empty() {
            assert_eq!(answered.text(), expected, "{head}");
        }
    }
    // What is more than a little ends the connection, after its answer.
    wire.send("POST /ignore", &vec![b'x'; 1 << 20]);
    let answered = wire.answer(false);
    assert_eq!((answered.text(), answered.header("connection")), ("ignored", Some("close")));
    drop(wire.stream.shutdown(Shutdown::Write));
    assert!(wire.has_ended());
}

#[test]
fn continue_is_said_only_when_the_body_is_wanted() {
    let server = Made::new().respond("POST", "/ignore", "ignored").lua("POST", "/up", "return req.body").start();
    let mut wire = server.connect();
    wire.send("POST /up\nexpect: 100-continue\ncontent-length: 3", b"");
    assert_eq!(wire.answer(false).status, 100);
    wire.raw(b"abc");
    assert_eq!(wire.answer(false).text(), "abc");
    for (path, length, status) in [("/up", 70_000, 413), ("/nothing", 3, 404), ("/ignore", 3, 200)] {
        let mut wire = server.connect();
        wire.send(&format!("POST {path}\nexpect: 100-continue\ncontent-length: {length}"), b"");
        let answered = wire.answer(false);
        assert_eq!((answered.status, answered.header("connection")), (status, Some("close")), "{path}");
    }
}

#[test]
fn gzip_bodies() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let server = Made::new().lua("POST", "/n", "return 'n=' .. #req.body").start();
    let send = |body: &[u8], coding: &str| server.ask(&format!("POST /n\ncontent-encoding: {coding}"), body);
    let good = gzip(&[b'x'; 5000]);
    assert_eq!(send(&good, "gzip").text(), "n=5000");
    assert_eq!(send(&[good.clone(), gzip(b"more")].concat(), "GZIP").text(), "n=5004");
    assert_eq!(send(b"abc", "identity").text(), "n=3");
    assert_eq!(send(&good[..good.len() - 12], "gzip").status, 400);
    assert_eq!(send(b"not gzip", "gzip").status, 400);
    assert_eq!(send(&gzip(&vec![0; 20_000_000]), "gzip").status, 413);
    let unknown = send(b"abc", "br");
    assert_eq!((unknown.status, unknown.header("accept-encoding")), (415, Some("gzip")));
    assert_eq!(send(b"abc", "gzip, gzip").status, 415);
}

#[test]
fn a_wish_to_upgrade_is_no_body() {
    let server = Made::new().lua("GET", "/read", "return req.body").respond("GET", "/ignore", "ignored").start();
    for (path, text) in [("/read", ""), ("/ignore", "ignored")] {
        let began = Instant::now();
        let lines = "connection: upgrade\nupgrade: websocket";
        let answered = server.ask(&format!("GET {path}\n{lines}"), b"");
        assert_eq!((answered.status, answered.text()), (200, text), "{path}");
        assert!(began.elapsed() < Duration::from_millis(900), "{path}");
    }
}
