//! What is answered: methods, problems, headers, compression, proxies, concurrency.

use std::os::unix::net::UnixStream;

use super::*;

#[test]
fn methods_and_problems() {
    let server = Made::new().respond("GET", "/page", "0123456789").respond("POST", "/post", "p").start();
    let mut wire = server.connect();
    wire.send("HEAD /page", b"");
    wire.send("GET /page", b"");
    let head = wire.answer(true);
    let get = wire.answer(false);
    assert_eq!(
        (head.status, head.header("content-length"), head.header("content-type")),
        (200, Some("10"), Some("text/plain"))
    );
    assert_eq!((get.status, get.text()), (200, "0123456789"));
    assert_ne!(head.header("x-request-id"), get.header("x-request-id"));

    let refused = server.ask("HEAD /post", b"");
    assert_eq!((refused.status, refused.header("allow")), (405, Some("POST, OPTIONS")));
    let options = server.ask("OPTIONS /page", b"");
    assert_eq!((options.status, options.header("allow"), options.body.len()), (204, Some("GET, HEAD, OPTIONS"), 0));
    let nothing = server.ask("GET /nothing", b"");
    assert_eq!((nothing.status, nothing.header("content-type")), (404, Some("application/problem+json")));
    let document: serde_json::Value = serde_json::from_slice(&nothing.body).unwrap();
    assert_eq!((&document["status"], document["request_id"].as_str()), (&404.into(), nothing.header("x-request-id")));
    assert_eq!(server.ask("GET /%zz", b"").status, 400);
    assert_eq!(server.ask("GET /page/", b"").status, 404);
    // Without a Host the request is none: actix itself refuses it.
    let mut wire = server.connect();
    wire.raw(b"GET /page HTTP/1.1\r\n\r\n");
    assert_eq!(wire.answer(false).status, 400);
    assert_eq!(server.counters().requests.load(Ordering::Relaxed), 7);
}

#[test]
fn headers_of_site_and_endpoint() {
    let made = Made::new().server(|server| {
        server.headers = vec![("x-a".to_owned(), "site".to_owned()), ("x-b".to_owned(), "site".to_owned())]
    });
    let action = Action::Redirect { location: "/new".to_owned(), status: 308 };
    let made = made
        .endpoint("GET", "/old", action, |endpoint| endpoint.headers = vec![("x-b".to_owned(), "endpoint".to_owned())]);
    let answered = made.start().ask("GET /old", b"");
    assert_eq!((answered.status, answered.header("location")), (308, Some("/new")));
    assert_eq!((answered.header("x-a"), answered.header("x-b")), (Some("site"), Some("endpoint")));
}

#[test]
fn failures_tell_nothing_private() {
    let server = Made::new().lua("GET", "/error", "error('private')").start();
    let answered = server.ask("GET /error", b"");
    assert_eq!(answered.status, 500);
    assert!(!answered.text().contains("private"));
    assert_eq!(server.counters().errors.load(Ordering::Relaxed), 1);
}

#[test]
fn heads_that_are_no_heads() {
    let server = Made::new().respond("GET", "/x", "x").start();
    for (text, status) in [
        ("NONSENSE\r\n\r\n".to_owned(), 400),
        (format!("GET /x HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n", "y".repeat(300_000)), 431),
    ] {
        let mut wire = server.connect();
        drop(wire.stream.write_all(text.as_bytes()));
        assert_eq!(wire.answer(false).status, status);
    }
    let many = (0..200).map(|number| format!("\nx-{number}: y")).collect::<String>();
    assert!(matches!(server.ask(&format!("GET /x{many}"), b"").status, 400 | 431));
    assert_eq!(server.ask("GET /x", b"").text(), "x");
}

#[test]
fn compression() {
    let long = "0123456789".repeat(500);
    let server = Made::new().respond("GET", "/long", &long).respond("GET", "/short", "short").start();
    let answered = server.ask("GET /long\naccept-encoding: gzip", b"");
    assert_eq!((answered.header("content-encoding"), answered.header("vary")), (Some("gzip"), Some("accept-encoding")));
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&*answered.body).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, long);
    let head = server.ask("HEAD /long\naccept-encoding: gzip", b"");
    assert_eq!((head.status, head.header("content-encoding")), (200, Some("gzip")));
    let plain = server.ask("GET /long", b"");
    assert_eq!(
        (plain.header("content-encoding"), plain.header("vary"), plain.body.len()),
        (None, Some("accept-encoding"), 5000)
    );
    let short = server.ask("GET /short\naccept-encoding: gzip", b"");
    assert_eq!((short.header("content-encoding"), short.text()), (None, "short"));
}

#[test]
fn trusted_proxies_are_believed_and_others_are_not() {
    const SHOW: &str = "return tostring(req.ip) .. ' ' .. req.id .. ' ' .. req.scheme .. ' ' .. req.host";
    let head = "GET /\nx-forwarded-for: 6.6.6.6, 1.2.3.4\nx-forwarded-proto: https\nx-request-id: abc\nx-forwarded-host: h.example";
    let server = Made::new()
        .server(|server| server.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()])
        .lua("GET", "/", SHOW)
        .start();
    let answered = server.ask(head, b"");
    assert_eq!((answered.text(), answered.header("x-request-id")), ("1.2.3.4 abc https h.example", Some("abc")));
    let server = Made::new().lua("GET", "/", SHOW).start();
    let answered = server.ask(head, b"");
    let id = answered.header("x-request-id").unwrap();
    assert_eq!(answered.text(), format!("127.0.0.1 {id} http t"));
}

#[test]
fn concurrency_of_an_endpoint() {
    let limit = crate::endpoint::option::concurrency::ConcurrencyLimit { limit: 1, queue: 1 };
    let server = Made::new()
        .endpoint("GET", "/one", script("sleep(0.5) return 'slept'"), |endpoint| endpoint.concurrency = Some(limit))
        .respond("GET", "/x", "x")
        .start();
    let mut wires: Vec<Wire> = (0..4).map(|_| server.connect()).collect();
    for wire in &mut wires {
        wire.send("GET /one", b"");
        assert_eq!(server.ask("GET /x", b"").status, 200);
    }
    let answers: Vec<Answered> = wires.iter_mut().map(|wire| wire.answer(false)).collect();
    assert_eq!(answers.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200, 200, 503, 503]);
    assert_eq!(answers[3].header("retry-after"), Some("1"));
    assert_eq!(server.counters().refused.load(Ordering::Relaxed), 2);
}

#[test]
fn a_unix_socket_serves_and_goes_with_its_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sock");
    let span = Span::new(FileId(0), 0..0);
    let bind = Bind::Unix(path.clone());
    let made = Made::new().respond("GET", "/x", "x");
    let made = made.server(|server| server.binds.push(At { it: bind, span }));
    let server = made.start();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\nx"), "{text}");
    drop(server);
    assert!(!path.exists());
}
