//! The `server` block: as decoded, and with its defaults.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::diag::Span;
use crate::endpoint::option::headers;
use crate::kdl::reader::Reader;
use crate::kdl::scalar::{self, At, Bad, Plain, Scalar, Size};

/// Where a listener listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    /// An address and port; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A unix socket's path, absolute once the site is resolved.
    Unix(PathBuf),
}

impl Scalar for Bind {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let text = String::read(value)?;
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let named = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
        let address = named.as_deref().unwrap_or(&text);
        address.parse().map(Self::Tcp).map_err(|_| bind_fault(&text))
    }
}

/// Says what an address lacks, for the forms people write.
fn bind_fault(text: &str) -> Bad {
    let help = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("an address and a port, such as \"127.0.0.1:{text}\"")
    } else if text.parse::<std::net::IpAddr>().is_ok() {
        "the port is missing, such as \"127.0.0.1:8080\" or \"[::1]:8080\"".to_owned()
    } else if let Some(port) = text.strip_prefix(':').or_else(|| text.strip_prefix("*:")) {
        format!("every address of the machine is written \"0.0.0.0:{port}\"")
    } else {
        "write \"127.0.0.1:8080\", \"[::1]:8080\" or \"unix:/run/moondock.sock\"".to_owned()
    };
    Bad {
        message: "this is no address to listen on".into(),
        label: "not an address".into(),
        help: Some(help),
        part: None,
    }
}

/// A network whose proxies are trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network(pub ipnet::IpNet);

impl Scalar for Network {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let text = String::read(value)?;
        let single = text.parse::<std::net::IpAddr>().ok().map(ipnet::IpNet::from);
        single.or_else(|| text.parse().ok()).map(Self).ok_or_else(|| Bad {
            message: "this is no network".into(),
            label: "not a network".into(),
            help: Some("write an address or a network such as \"10.0.0.0/8\" or \"fd00::/8\"".into()),
            part: None,
        })
    }
}

/// Settings that a running server keeps until it is started again.
pub const FIXED: [&str; 6] = ["bind", "workers", "max-connections", "header-timeout", "keep-alive", "shutdown-grace"];

/// The `server` block with its defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerSettings {
    /// Listeners with the place of each; default `127.0.0.1:8080`.
    pub binds: Vec<At<Bind>>,
    /// Worker threads; default the cores.
    pub workers: usize,
    /// Wall clock of handlers unless said otherwise; default 30 s.
    pub timeout: Duration,
    /// The default limit of a body in bytes; default 1 MiB.
    pub max_body: u64,
    /// The whole head must have arrived by then; default 10 s.
    pub header_timeout: Duration,
    /// The whole body must have arrived by then, else 408; default 30 s.
    pub body_timeout: Duration,
    /// Idle connections are closed after; default 30 s.
    pub keep_alive: Duration,
    /// Connections at once in the whole process; `None`: as many as the descriptor limit allows, 25000 at most.
    pub max_connections: Option<usize>,
    /// Whose `X-Forwarded-For` and `Forwarded` are believed.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// Whether answers above 1 KiB are compressed by Accept-Encoding; default yes.
    pub compress: bool,
    /// How long requests under way may finish at the end; default 10 s.
    pub shutdown_grace: Duration,
    /// Headers of every answer unless set otherwise, names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            binds: Vec::new(),
            workers: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            timeout: Duration::from_secs(30),
            max_body: 1 << 20,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            keep_alive: Duration::from_secs(30),
            max_connections: None,
            trusted_proxies: Vec::new(),
            compress: true,
            shutdown_grace: Duration::from_secs(10),
            headers: Vec::new(),
        }
    }
}

impl ServerSettings {
    /// Reads a `server` node.
    pub fn decode(reader: &Reader<'_>) -> Self {
        let default = Self::default();
        let time = |key: &str, default: Duration| reader.get::<scalar::Duration>(key).map_or(default, |at| at.it.0);
        let networks = reader.list::<Network>("trusted-proxies");
        Self {
            binds: reader.list("bind"),
            workers: reader.get("workers").map_or(default.workers, |at| at.it),
            timeout: time("timeout", default.timeout),
            max_body: reader.get::<Size>("max-body").map_or(default.max_body, |at| at.it.0),
            header_timeout: time("header-timeout", default.header_timeout),
            body_timeout: time("body-timeout", default.body_timeout),
            keep_alive: time("keep-alive", default.keep_alive),
            max_connections: reader.get("max-connections").map(|at| at.it),
            trusted_proxies: networks.into_iter().map(|at| at.it.0).collect(),
            compress: reader.switch("compress").map_or(default.compress, |at| at.it),
            shutdown_grace: time("shutdown-grace", default.shutdown_grace),
            headers: headers::decode(reader),
        }
    }

    /// The settings of a `server` node that only a start applies, as it says them, each with its place.
    pub fn fixed_places(reader: &Reader<'_>) -> Vec<(&'static str, Span)> {
        let places = |name| reader.each(name).into_iter().map(move |node| (name, node.span()));
        FIXED.iter().copied().flat_map(places).collect()
    }

    /// The names of settings that differ from those of another, binds by their addresses.
    pub fn differing(&self, other: &Self) -> Vec<&'static str> {
        let settings = [
            ("bind", self.addresses() != other.addresses()),
            ("workers", self.workers != other.workers),
            ("timeout", self.timeout != other.timeout),
            ("max-body", self.max_body != other.max_body),
            ("header-timeout", self.header_timeout != other.header_timeout),
            ("body-timeout", self.body_timeout != other.body_timeout),
            ("keep-alive", self.keep_alive != other.keep_alive),
            ("max-connections", self.max_connections != other.max_connections),
            ("trusted-proxies", self.trusted_proxies != other.trusted_proxies),
            ("compress", self.compress != other.compress),
            ("shutdown-grace", self.shutdown_grace != other.shutdown_grace),
            ("headers", self.headers != other.headers),
        ];
        settings.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// The addresses to listen on; the default when none is declared.
    pub fn addresses(&self) -> Vec<Bind> {
        if self.binds.is_empty() {
            return vec![Bind::Tcp(SocketAddr::from(([127, 0, 0, 1], 8080)))];
        }
        self.binds.iter().map(|at| at.it.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_the_common_slips_are_told() {
        let read = |text: &str| Bind::read(&Plain::Text(text.to_owned()));
        assert!(matches!(read("127.0.0.1:0"), Ok(Bind::Tcp(_))));
        assert!(matches!(read("[::1]:8080"), Ok(Bind::Tcp(_))));
        assert!(matches!(read("localhost:80"), Ok(Bind::Tcp(_))));
        assert!(matches!(read("unix:/run/x.sock"), Ok(Bind::Unix(_))));
        for (text, hint) in
            [("8080", "127.0.0.1:8080"), (":80", "0.0.0.0:80"), ("::1", "port is missing"), ("x", "127.0.0.1")]
        {
            let bad = read(text).expect_err(text);
            assert!(bad.help.unwrap().contains(hint), "{text}");
        }
    }
}
