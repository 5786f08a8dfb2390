//! Tests of the server over raw sockets: sites made by hand, one server for each test on a port of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::*;
use crate::diag::{FileId, Span};
use crate::endpoint::pattern::Pattern;
use crate::endpoint::{Action, Endpoint, Place};
use crate::environment::compile::compile;
use crate::environment::settings::{Environment, EnvironmentSettings};
use crate::kdl::scalar::At;
use crate::logging::feature::Level;
use crate::logging::settings::LoggingSettings;
use crate::script::{LineMap, Script, ScriptId};
use crate::site::Site;
use crate::site::server::Bind;
use crate::site::statics::StaticFolder;

/// A site under construction.
struct Made(Site);

impl Made {
    fn new() -> Self {
        let span = Span::new(FileId(0), 0..0);
        let server = ServerSettings {
            binds: vec![At {
                it: Bind::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))),
                span,
            }],
            workers: 1,
            max_body: 64 * 1024,
            shutdown_grace: Duration::from_secs(5),
            ..ServerSettings::default()
        };
        Self(Site {
            title: None,
            version: None,
            folder: "/".into(),
            server,
            environments: vec![Arc::new(environment())],
            endpoints: Vec::new(),
            statics: Vec::new(),
            logging: LoggingSettings {
                targets: Vec::new(),
                ..LoggingSettings::default()
            },
            secret_values: Vec::new(),
        })
    }

    fn server(mut self, change: impl FnOnce(&mut ServerSettings)) -> Self {
        change(&mut self.0.server);
        self
    }

    fn endpoint(
        mut self,
        methods: &str,
        path: &str,
        action: Action,
        change: impl FnOnce(&mut Endpoint),
    ) -> Self {
        let mut endpoint = Endpoint {
            methods: methods.split(' ').map(Arc::from).collect(),
            pattern: Pattern::parse(path).unwrap(),
            action,
            timeout: Duration::from_secs(90),
            max_body: self.0.server.max_body,
            concurrency: None,
            log: Level::Trace,
            params: Vec::new(),
            headers: Vec::new(),
            summary: None,
            place: Place {
                file: "site.kdl".into(),
                line: 1,
                span: Span::new(FileId(0), 0..0),
            },
        };
        change(&mut endpoint);
        self.0.endpoints.push(Arc::new(endpoint));
        self
    }

    fn respond(self, methods: &str, path: &str, body: &str) -> Self {
        let action = Action::Respond {
            status: 200,
            content_type: Some("text/plain".to_owned()),
            body: Bytes::from(body.to_owned()),
        };
        self.endpoint(methods, path, action, |_| {})
    }

    fn lua(self, methods: &str, path: &str, text: &str) -> Self {
        let id = ScriptId(self.0.endpoints.len() as u64 + 1);
        let bytecode = compile(text, "site.kdl").unwrap();
        let script = Script {
            id,
            origin: "site.kdl".into(),
            text: text.into(),
            bytecode: bytecode.into(),
            lines: LineMap::default(),
            native: false,
        };
        let action = Action::Script {
            script: Arc::new(script),
            environment: "integrated".into(),
            inline: true,
        };
        self.endpoint(methods, path, action, |_| {})
    }

    fn folder(mut self, prefix: &str, folder: &Path) -> Self {
        let folder = folder.canonicalize().unwrap();
        let headers = vec![("x-static".to_owned(), "yes".to_owned())];
        self.0.statics.push(Arc::new(StaticFolder {
            prefix: prefix.to_owned(),
            folder,
            index: Some("index.html".to_owned()),
            headers,
        }));
        self
    }

    fn start(self) -> Started {
        let runtime = Runtime::start(Arc::new(self.0)).unwrap();
        let running = Running::start(runtime).unwrap();
        let Address::Tcp(address) = running.addresses()[0] else {
            panic!("{:?}", running.addresses())
        };
        Started { running, address }
    }
}

fn environment() -> Environment {
    Environment {
        name: "integrated".into(),
        settings: EnvironmentSettings::default(),
        variables: Default::default(),
        secrets: Default::default(),
        modules: Default::default(),
        module_folders: Vec::new(),
        startup: None,
    }
}

struct Started {
    running: Running,
    address: SocketAddr,
}

impl Started {
    fn connect(&self) -> Wire {
        let stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream
            .set_write_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        Wire {
            stream,
            read: Vec::new(),
        }
    }

    /// Sends a request on a connection of its own.
    fn ask(&self, head: &str, body: &[u8]) -> Answered {
        let mut wire = self.connect();
        wire.send(head, body);
        wire.answer(head.starts_with("HEAD"))
    }

    fn counters(&self) -> &crate::runtime::Counters {
        &self.running.runtime().counters
    }

    fn stop(self, hurry: impl Future<Output = ()>) -> bool {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(self.running.stop(hurry))
    }
}

/// A connection.
struct Wire {
    stream: TcpStream,
    read: Vec<u8>,
}

#[derive(Debug)]
struct Answered {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answered {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            line.split_once(": ")
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        })
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

impl Wire {
    /// Sends a head (method and path, then more lines) and a body.
    fn send(&mut self, head: &str, body: &[u8]) {
        let (first, more) = head.split_once('\n').unwrap_or((head, ""));
        let mut text = format!("{first} HTTP/1.1\r\nhost: t\r\n");
        if !body.is_empty() && !more.contains("transfer-encoding") {
            text.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        more.lines()
            .for_each(|line| text.push_str(&format!("{line}\r\n")));
        text.push_str("\r\n");
        self.stream.write_all(text.as_bytes()).unwrap();
        self.stream.write_all(body).unwrap();
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    fn fill(&mut self) -> usize {
        let mut buffer = [0; 16 * 1024];
        let count = self.stream.read(&mut buffer).unwrap();
        self.read.extend_from_slice(&buffer[..count]);
        count
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        while self.read.len() < count {
            assert!(
                self.fill() > 0,
                "the connection ended after {:?}",
                String::from_utf8_lossy(&self.read)
            );
        }
        self.read.drain(..count).collect()
    }

    fn take_until(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self
                .read
                .windows(mark.len())
                .position(|window| window == mark)
            {
                return self.take(at + mark.len());
            }
            assert!(
                self.fill() > 0,
                "the connection ended after {:?}",
                String::from_utf8_lossy(&self.read)
            );
        }
    }

    fn answer(&mut self, is_head: bool) -> Answered {
        let head = String::from_utf8(self.take_until(b"\r\n\r\n")).unwrap();
        let status = head[9..12].parse().unwrap();
        let mut answered = Answered {
            status,
            head,
            body: Vec::new(),
        };
        if is_head || matches!(status, 100 | 204 | 304) {
            return answered;
        }
        if answered.header("transfer-encoding") == Some("chunked") {
            loop {
                let line = String::from_utf8(self.take_until(b"\r\n")).unwrap();
                let size = usize::from_str_radix(line.trim(), 16).unwrap();
                answered.body.extend(self.take(size));
                self.take(2);
                if size == 0 {
                    return answered;
                }
            }
        }
        let length = answered
            .header("content-length")
            .unwrap_or_else(|| panic!("{}", answered.head))
            .parse()
            .unwrap();
        answered.body = self.take(length);
        answered
    }

    /// Whether the server has ended the connection, and sent nothing more.
    fn has_ended(&mut self) -> bool {
        let mut buffer = [0; 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => self.read.is_empty(),
            Ok(_) => false,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// Waits for something that happens on another thread.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} never happened");
        thread::yield_now();
    }
}

#[test]
fn methods_and_problems() {
    let server = Made::new()
        .respond("GET", "/page", "0123456789")
        .respond("POST", "/post", "p")
        .start();
    let mut wire = server.connect();
    wire.send("HEAD /page", b"");
    wire.send("GET /page", b"");
    let head = wire.answer(true);
    let get = wire.answer(false);
    assert_eq!(
        (
            head.status,
            head.header("content-length"),
            head.header("content-type")
        ),
        (200, Some("10"), Some("text/plain"))
    );
    assert_eq!((get.status, get.text()), (200, "0123456789"));
    assert_ne!(head.header("x-request-id"), get.header("x-request-id"));

    let refused = server.ask("HEAD /post", b"");
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("POST, OPTIONS"))
    );
    let options = server.ask("OPTIONS /page", b"");
    assert_eq!(
        (options.status, options.header("allow"), options.body.len()),
        (204, Some("GET, HEAD, OPTIONS"), 0)
    );
    let nothing = server.ask("GET /nothing", b"");
    assert_eq!(
        (nothing.status, nothing.header("content-type")),
        (404, Some("application/problem+json"))
    );
    let document: serde_json::Value = serde_json::from_slice(&nothing.body).unwrap();
    assert_eq!(
        (&document["status"], document["request_id"].as_str()),
        (&404.into(), nothing.header("x-request-id"))
    );
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
        server.headers = vec![
            ("x-a".to_owned(), "site".to_owned()),
            ("x-b".to_owned(), "site".to_owned()),
        ]
    });
    let action = Action::Redirect {
        location: "/new".to_owned(),
        status: 308,
    };
    let made = made.endpoint("GET", "/old", action, |endpoint| {
        endpoint.headers = vec![("x-b".to_owned(), "endpoint".to_owned())]
    });
    let answered = made.start().ask("GET /old", b"");
    assert_eq!(
        (answered.status, answered.header("location")),
        (308, Some("/new"))
    );
    assert_eq!(
        (answered.header("x-a"), answered.header("x-b")),
        (Some("site"), Some("endpoint"))
    );
}

#[test]
fn too_large_is_readable_every_time() {
    let server = Made::new()
        .lua("POST", "/up", "return 'n=' .. #req.body")
        .start();
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
    assert_eq!(
        server
            .ask("POST /up\ntransfer-encoding: chunked", &chunked)
            .status,
        413
    );
    let mut wire = server.connect();
    wire.send("POST /up\ncontent-length: 10000000000", b"");
    assert_eq!(wire.answer(false).status, 413);
    assert_eq!(server.ask("POST /up", &[b'z'; 65536]).text(), "n=65536");
    assert_eq!(server.ask("POST /up", &[b'z'; 65537]).status, 413);
    let small = server.ask(
        "POST /up\ntransfer-encoding: chunked",
        b"3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\n\r\n",
    );
    assert_eq!(small.text(), "n=5");
}

#[test]
fn an_endless_body_is_cut() {
    let server = Made::new()
        .server(|server| server.header_timeout = Duration::from_millis(300))
        .lua("POST", "/up", "return req.body")
        .start();
    let mut wire = server.connect();
    wire.send("POST /up\ntransfer-encoding: chunked", b"");
    let chunk = [b"10000\r\n".as_slice(), &[b'y'; 65536], b"\r\n"].concat();
    wire.stream
        .set_write_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    let began = Instant::now();
    wire.raw(&chunk);
    wire.raw(&chunk);
    assert_eq!(wire.answer(false).status, 413);
    while wire.stream.write_all(&chunk).is_ok() {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "it reads for ever"
        );
    }
}

#[test]
fn keep_alive_stays_in_step_whatever_is_left_unread() {
    let server = Made::new()
        .respond("POST", "/ignore", "ignored")
        .lua("POST", "/read", "return req.body")
        .start();
    let mut wire = server.connect();
    for (head, body, expected) in [
        (
            "POST /ignore",
            b"GET /read HTTP/1.1\r\n\r\n".to_vec(),
            "ignored",
        ),
        (
            "POST /ignore\ntransfer-encoding: chunked",
            b"5\r\nabcde\r\n0\r\n\r\n".to_vec(),
            "ignored",
        ),
        ("POST /ignore", vec![b'x'; 60_000], "ignored"),
        ("POST /read", b"abc".to_vec(), "abc"),
        ("POST /nothing", b"abc".to_vec(), ""),
        ("POST /read", b"last".to_vec(), "last"),
    ] {
        wire.send(head, &body);
        let answered = wire.answer(false);
        assert!(
            answered.header("connection").is_none(),
            "{head}: {}",
            answered.head
        );
        if !expected.is_empty() {
            assert_eq!(answered.text(), expected, "{head}");
        }
    }
    // What is more than a little ends the connection, after its answer.
    wire.send("POST /ignore", &vec![b'x'; 1 << 20]);
    let answered = wire.answer(false);
    assert_eq!(
        (answered.text(), answered.header("connection")),
        ("ignored", Some("close"))
    );
    drop(wire.stream.shutdown(Shutdown::Write));
    assert!(wire.has_ended());
}

#[test]
fn continue_is_said_only_when_the_body_is_wanted() {
    let server = Made::new()
        .respond("POST", "/ignore", "ignored")
        .lua("POST", "/up", "return req.body")
        .start();
    let mut wire = server.connect();
    wire.send("POST /up\nexpect: 100-continue\ncontent-length: 3", b"");
    assert_eq!(wire.answer(false).status, 100);
    wire.raw(b"abc");
    assert_eq!(wire.answer(false).text(), "abc");
    for (path, length, status) in [
        ("/up", 70_000, 413),
        ("/nothing", 3, 404),
        ("/ignore", 3, 200),
    ] {
        let mut wire = server.connect();
        wire.send(
            &format!("POST {path}\nexpect: 100-continue\ncontent-length: {length}"),
            b"",
        );
        let answered = wire.answer(false);
        assert_eq!(
            (answered.status, answered.header("connection")),
            (status, Some("close")),
            "{path}"
        );
    }
}

#[test]
fn gzip_bodies() {
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let server = Made::new()
        .lua("POST", "/n", "return 'n=' .. #req.body")
        .start();
    let send = |body: &[u8], coding: &str| {
        server.ask(&format!("POST /n\ncontent-encoding: {coding}"), body)
    };
    let good = gzip(&[b'x'; 5000]);
    assert_eq!(send(&good, "gzip").text(), "n=5000");
    assert_eq!(
        send(&[good.clone(), gzip(b"more")].concat(), "GZIP").text(),
        "n=5004"
    );
    assert_eq!(send(b"abc", "identity").text(), "n=3");
    assert_eq!(send(&good[..good.len() - 12], "gzip").status, 400);
    assert_eq!(send(b"not gzip", "gzip").status, 400);
    assert_eq!(send(&gzip(&vec![0; 20_000_000]), "gzip").status, 413);
    let unknown = send(b"abc", "br");
    assert_eq!(
        (unknown.status, unknown.header("accept-encoding")),
        (415, Some("gzip"))
    );
    assert_eq!(send(b"abc", "gzip, gzip").status, 415);
}

#[test]
fn slow_clients_are_cut() {
    let quick = |server: &mut ServerSettings| {
        server.header_timeout = Duration::from_millis(200);
        server.body_timeout = Duration::from_millis(200);
        server.keep_alive = Duration::from_millis(400);
    };
    let server = Made::new()
        .server(quick)
        .respond("GET", "/x", "x")
        .lua("POST", "/up", "return req.body")
        .start();
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
    second
        .stream
        .set_read_timeout(Some(Duration::from_millis(30)))
        .unwrap();
    let began = Instant::now();
    loop {
        let mut buffer = [0; 100];
        let sent = second.stream.write_all(b"x");
        match second.stream.read(&mut buffer) {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                sent.unwrap()
            }
            _ => break,
        }
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "a slow head is never cut"
        );
    }
    eventually("all connections closed", || {
        server.counters().connections.load(Ordering::Relaxed) == 0
    });
}

#[test]
fn a_client_that_goes_ends_its_handler() {
    let server = Made::new()
        .lua("GET", "/slow", "sleep(60)")
        .respond("GET", "/x", "x")
        .start();
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
        eventually("the handler's end", || {
            server.counters().cancelled.load(Ordering::Relaxed) > before
        });
    }
    // An answer that needs no waiting reaches a client that only closed its writing side.
    let mut wire = server.connect();
    wire.raw(b"GET /x HTTP/1.1\r\nhost: t\r\n\r\n");
    wire.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(wire.answer(false).text(), "x");
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
        (
            format!(
                "GET /x HTTP/1.1\r\nhost: t\r\nx: {}\r\n\r\n",
                "y".repeat(300_000)
            ),
            431,
        ),
    ] {
        let mut wire = server.connect();
        drop(wire.stream.write_all(text.as_bytes()));
        assert_eq!(wire.answer(false).status, status);
    }
    let many = (0..200)
        .map(|number| format!("\nx-{number}: y"))
        .collect::<String>();
    assert!(matches!(
        server.ask(&format!("GET /x{many}"), b"").status,
        400 | 431
    ));
    assert_eq!(server.ask("GET /x", b"").text(), "x");
}

#[test]
fn compression() {
    let long = "0123456789".repeat(500);
    let server = Made::new()
        .respond("GET", "/long", &long)
        .respond("GET", "/short", "short")
        .start();
    let answered = server.ask("GET /long\naccept-encoding: gzip", b"");
    assert_eq!(
        (answered.header("content-encoding"), answered.header("vary")),
        (Some("gzip"), Some("accept-encoding"))
    );
    let mut plain = String::new();
    flate2::read::GzDecoder::new(&*answered.body)
        .read_to_string(&mut plain)
        .unwrap();
    assert_eq!(plain, long);
    let head = server.ask("HEAD /long\naccept-encoding: gzip", b"");
    assert_eq!(
        (head.status, head.header("content-encoding")),
        (200, Some("gzip"))
    );
    let plain = server.ask("GET /long", b"");
    assert_eq!(
        (
            plain.header("content-encoding"),
            plain.header("vary"),
            plain.body.len()
        ),
        (None, Some("accept-encoding"), 5000)
    );
    let short = server.ask("GET /short\naccept-encoding: gzip", b"");
    assert_eq!(
        (short.header("content-encoding"), short.text()),
        (None, "short")
    );
}

#[test]
fn trusted_proxies_are_believed_and_others_are_not() {
    const SHOW: &str =
        "return tostring(req.ip) .. ' ' .. req.id .. ' ' .. req.scheme .. ' ' .. req.host";
    let head = "GET /\nx-forwarded-for: 6.6.6.6, 1.2.3.4\nx-forwarded-proto: https\nx-request-id: abc\nx-forwarded-host: h.example";
    let server = Made::new()
        .server(|server| server.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()])
        .lua("GET", "/", SHOW)
        .start();
    let answered = server.ask(head, b"");
    assert_eq!(
        (answered.text(), answered.header("x-request-id")),
        ("1.2.3.4 abc https h.example", Some("abc"))
    );
    let server = Made::new().lua("GET", "/", SHOW).start();
    let answered = server.ask(head, b"");
    let id = answered.header("x-request-id").unwrap();
    assert_eq!(answered.text(), format!("127.0.0.1 {id} http t"));
}

#[test]
fn concurrency_of_an_endpoint() {
    let action = |text: &str| {
        let script = Script {
            id: ScriptId(1),
            origin: "site.kdl".into(),
            text: text.into(),
            bytecode: compile(text, "site.kdl").unwrap().into(),
            lines: LineMap::default(),
            native: false,
        };
        Action::Script {
            script: Arc::new(script),
            environment: "integrated".into(),
            inline: true,
        }
    };
    let limit = crate::endpoint::option::concurrency::ConcurrencyLimit { limit: 1, queue: 1 };
    let server = Made::new()
        .endpoint(
            "GET",
            "/one",
            action("sleep(0.5) return 'slept'"),
            |endpoint| endpoint.concurrency = Some(limit),
        )
        .respond("GET", "/x", "x")
        .start();
    let mut wires: Vec<Wire> = (0..4).map(|_| server.connect()).collect();
    for wire in &mut wires {
        wire.send("GET /one", b"");
        assert_eq!(server.ask("GET /x", b"").status, 200);
    }
    let answers: Vec<Answered> = wires.iter_mut().map(|wire| wire.answer(false)).collect();
    assert_eq!(
        answers
            .iter()
            .map(|answer| answer.status)
            .collect::<Vec<_>>(),
        [200, 200, 503, 503]
    );
    assert_eq!(answers[3].header("retry-after"), Some("1"));
    assert_eq!(server.counters().refused.load(Ordering::Relaxed), 2);
}

#[test]
fn stopping_lets_requests_finish() {
    let server = Made::new()
        .lua("GET", "/slow", "sleep(0.5) return 'slept'")
        .respond("GET", "/x", "x")
        .start();
    let mut idle = server.connect();
    idle.send("GET /x", b"");
    idle.answer(false);
    let mut busy = server.connect();
    busy.send("GET /slow", b"");
    assert_eq!(server.ask("GET /x", b"").status, 200);
    let address = server.address;
    let stopping = thread::spawn(|| server.stop(std::future::pending()));
    assert!(idle.has_ended());
    let answered = busy.answer(false);
    assert_eq!(
        (answered.text(), answered.header("connection")),
        ("slept", Some("close"))
    );
    assert!(stopping.join().unwrap());
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn a_hurried_stop_does_not_wait() {
    let server = Made::new()
        .lua("GET", "/slow", "sleep(60)")
        .respond("GET", "/x", "x")
        .start();
    let mut busy = server.connect();
    busy.send("GET /slow", b"");
    assert_eq!(server.ask("GET /x", b"").status, 200);
    let began = Instant::now();
    assert!(!server.stop(std::future::ready(())));
    assert!(began.elapsed() < Duration::from_secs(3));
    assert!(busy.has_ended());
}

#[test]
fn static_folders() {
    let folder = tempfile::tempdir().unwrap();
    let public = folder.path().join("public");
    std::fs::create_dir_all(public.join("sub/deep")).unwrap();
    std::fs::create_dir_all(public.join(".git")).unwrap();
    for (name, text) in [
        ("secret.txt", "MARKER"),
        ("public/index.html", "<p>index"),
        ("public/sub/x.txt", "inside"),
        ("public/sub/index.html", "sub index"),
        ("public/sp ace \u{6708}.txt", "inside2"),
        ("public/.env", "MARKER"),
        ("public/.git/config", "MARKER"),
        ("public/endpoint", "MARKER"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("../secret.txt", public.join("out")).unwrap();
    std::os::unix::fs::symlink("/etc", public.join("etc")).unwrap();
    std::os::unix::fs::symlink(".env", public.join("visible")).unwrap();
    std::os::unix::fs::symlink("sub/x.txt", public.join("link.txt")).unwrap();
    let server = Made::new()
        .folder("/files", &public)
        .folder("/files/sub/deep", &folder.path().join("public/sub"))
        .respond("GET", "/files/endpoint", "endpoint")
        .start();

    for (path, text, kind) in [
        ("/files/sub/x.txt", "inside", "text/plain; charset=utf-8"),
        (
            "/files/sp%20ace%20%E6%9C%88.txt",
            "inside2",
            "text/plain; charset=utf-8",
        ),
        ("/%66iles/link.txt", "inside", "text/plain; charset=utf-8"),
        ("/files/", "<p>index", "text/html; charset=utf-8"),
        ("/files/sub/", "sub index", "text/html; charset=utf-8"),
        (
            "/files/sub/deep/x.txt",
            "inside",
            "text/plain; charset=utf-8",
        ),
        ("/files/endpoint", "endpoint", "text/plain"),
    ] {
        let answered = server.ask(&format!("GET {path}"), b"");
        assert_eq!(
            (
                answered.status,
                answered.text(),
                answered.header("content-type")
            ),
            (200, text, Some(kind)),
            "{path}"
        );
    }
    assert_eq!(
        server.ask("GET /files?a=1", b"").header("location"),
        Some("/files/?a=1")
    );
    assert_eq!(server.ask("GET /files/sub", b"").status, 308);
    let file = server.ask("GET /files/sub/x.txt", b"");
    assert_eq!(file.header("x-static"), Some("yes"));
    let head = server.ask("HEAD /files/sub/x.txt", b"");
    assert_eq!(
        (
            head.status,
            head.header("content-length"),
            head.header("etag")
        ),
        (200, Some("6"), file.header("etag"))
    );
    let part = server.ask("GET /files/sub/x.txt\nrange: bytes=0-2", b"");
    assert_eq!((part.status, part.text()), (206, "ins"));
    assert_eq!(
        server
            .ask("GET /files/sub/x.txt\nrange: bytes=99-", b"")
            .status,
        416
    );
    let tag = file.header("etag").unwrap();
    assert_eq!(
        server
            .ask(&format!("GET /files/sub/x.txt\nif-none-match: {tag}"), b"")
            .status,
        304
    );
    let modified = file.header("last-modified").unwrap();
    assert_eq!(
        server
            .ask(
                &format!("GET /files/sub/x.txt\nif-modified-since: {modified}"),
                b""
            )
            .status,
        304
    );
    let refused = server.ask("POST /files/sub/x.txt", b"abc");
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("GET, HEAD, OPTIONS"))
    );
    assert_eq!(server.ask("POST /files/none", b"").status, 404);

    let absolute = folder.path().join("secret.txt").display().to_string();
    for name in [
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        ".%2e/secret.txt",
        "sub/../../secret.txt",
        "sub/%2e%2e/%2e%2e/secret.txt",
        "..%5csecret.txt",
        "..\\secret.txt",
        "%252e%252e%252fsecret.txt",
        "..%c0%afsecret.txt",
        "....//secret.txt",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "//etc/passwd",
        "%00/../secret.txt",
        "sub/x.txt%00.html",
        "out",
        "etc/passwd",
        ".env",
        "%2eenv",
        "sub/../.env",
        "visible",
        ".git/config",
        &absolute,
        &absolute.replace('/', "%2f"),
        "file:///etc/passwd",
        "..;/secret.txt",
        "sub/x.txt/",
        "sub/deep",
        "none/",
    ] {
        for prefix in ["/files/", "/files//", "/%66iles/"] {
            let answered = server.ask(&format!("GET {prefix}{name}"), b"");
            assert!(
                matches!(answered.status, 400 | 404 | 308),
                "{prefix}{name}: {}",
                answered.status
            );
            assert!(
                !answered.text().contains("MARKER") && !answered.text().contains("root:"),
                "{prefix}{name}"
            );
        }
    }
}
