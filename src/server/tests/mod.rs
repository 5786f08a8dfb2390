//! Tests of the server over raw sockets: sites made by hand, one server for each test on a port of its own.

mod answers;
mod bodies;
mod ending;
mod files;
mod swapping;

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
            binds: vec![At { it: Bind::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))), span }],
            workers: 1,
            max_body: 64 * 1024,
            shutdown_grace: Duration::from_secs(5),
            ..ServerSettings::default()
        };
        Self(Site {
            title: None,
            version: None,
            folder: "/".into(),
            texts: Vec::new(),
            server,
            server_places: Vec::new(),
            environments: Vec::new(),
            endpoints: Vec::new(),
            statics: Vec::new(),
            logging: LoggingSettings { targets: Vec::new(), ..LoggingSettings::default() },
            secret_values: Vec::new(),
        })
    }

    fn server(mut self, change: impl FnOnce(&mut ServerSettings)) -> Self {
        change(&mut self.0.server);
        self
    }

    fn endpoint(mut self, methods: &str, path: &str, action: Action, change: impl FnOnce(&mut Endpoint)) -> Self {
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
            place: Place { file: "site.kdl".into(), line: 1, span: Span::new(FileId(0), 0..0) },
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
        self.endpoint(methods, path, script(text), |_| {})
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

    fn start(mut self) -> Started {
        let runs_scripts = |endpoint: &Arc<Endpoint>| matches!(endpoint.action, Action::Script { .. });
        if self.0.endpoints.iter().any(runs_scripts) {
            self.0.environments.push(Arc::new(environment()));
        }
        let runtime = Runtime::start(Arc::new(self.0)).unwrap();
        let running = Running::start(runtime).unwrap();
        let Address::Tcp(address) = running.addresses()[0] else { panic!("{:?}", running.addresses()) };
        Started { running, address }
    }
}

/// An action that runs a script. Its identity is its text, as nothing else of it matters here.
fn script(text: &str) -> Action {
    let script = Script {
        id: ScriptId(text.bytes().fold(7, |id: u64, byte| id.wrapping_mul(31).wrapping_add(u64::from(byte)))),
        origin: "site.kdl".into(),
        text: text.into(),
        bytecode: compile(text).unwrap().into(),
        lines: LineMap::default(),
        native: false,
    };
    Action::Script { script: Arc::new(script), environment: "integrated".into(), inline: true }
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
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        Wire { stream, read: Vec::new() }
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

    fn stop(self, hurry: impl Future) -> bool {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(self.running.stop(hurry))
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
            line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
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
        more.lines().for_each(|line| text.push_str(&format!("{line}\r\n")));
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
            assert!(self.fill() > 0, "the connection ended after {:?}", String::from_utf8_lossy(&self.read));
        }
        self.read.drain(..count).collect()
    }

    fn take_until(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.windows(mark.len()).position(|window| window == mark) {
                return self.take(at + mark.len());
            }
            assert!(self.fill() > 0, "the connection ended after {:?}", String::from_utf8_lossy(&self.read));
        }
    }

    fn answer(&mut self, is_head: bool) -> Answered {
        let head = String::from_utf8(self.take_until(b"\r\n\r\n")).unwrap();
        let status = head[9..12].parse().unwrap();
        let mut answered = Answered { status, head, body: Vec::new() };
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
        let length = answered.header("content-length").unwrap_or_else(|| panic!("{}", answered.head)).parse().unwrap();
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
