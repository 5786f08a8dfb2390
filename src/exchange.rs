//! The neutral request and answer: what the HTTP side hands to a handler and gets back.
//!
//! A leaf: it knows neither actix nor Lua. A request stays on the worker that received it, so nothing here is `Send`.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;

/// The head of a request as the HTTP side holds it; read only when somebody asks.
pub trait Head {
    /// The method, in capitals.
    fn method(&self) -> &str;
    /// The path as sent, percent-encoding untouched, without the query.
    fn path(&self) -> &str;
    /// The query as sent, without the `?`; empty when there is none.
    fn query(&self) -> &str;
    /// The host the client named, after trusted proxies; empty when it named none.
    fn host(&self) -> &str;
    /// When the head had arrived.
    fn time(&self) -> SystemTime;
    /// The first value of a header; `name` is lower case.
    fn header(&self, name: &str) -> Option<&[u8]>;
    /// Every value of a header, in order; `name` is lower case.
    fn header_all<'a>(&'a self, name: &str, each: &mut dyn FnMut(&'a [u8]));
    /// Every header line, names in lower case.
    fn each_header<'a>(&'a self, each: &mut dyn FnMut(&'a str, &'a [u8]));
}

/// A value in the type that its `param` declares.
#[derive(Clone, Debug, PartialEq)]
pub enum Typed {
    /// Text, and everything that is not declared otherwise.
    Text(String),
    /// `type=integer`.
    Integer(i64),
    /// `type=number`.
    Number(f64),
    /// `type=boolean`.
    Boolean(bool),
    /// `many=#true`: the values in order.
    Many(Vec<Typed>),
}

/// As it stands in a request.
impl fmt::Display for Typed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::Integer(number) => number.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Boolean(truth) => truth.fmt(formatter),
            Self::Many(values) => values
                .iter()
                .enumerate()
                .try_for_each(|(at, value)| write!(formatter, "{}{value}", if at > 0 { ", " } else { "" })),
        }
    }
}

/// A request as a handler sees it.
pub struct Request {
    /// Method, path, query and headers, resolved on demand.
    pub head: Box<dyn Head>,
    /// The pattern of the endpoint, such as `/users/{id}`.
    pub route: Arc<str>,
    /// The request id, unique for the process's life and beyond; also the `x-request-id` of the answer.
    pub id: RequestId,
    /// `http` or `https`, after trusted proxies.
    pub scheme: &'static str,
    /// The client, after trusted proxies.
    pub ip: IpAddr,
    /// Path parameters, decoded once, in their declared type.
    pub params: Vec<(Arc<str>, Typed)>,
    /// Declared query parameters, in their declared type (also defaults of absent ones).
    pub query: Vec<(Arc<str>, Typed)>,
    /// Declared header parameters, in their declared type; names in lower case.
    pub headers: Vec<(Arc<str>, Typed)>,
    /// The body, after Content-Encoding.
    pub body: Bytes,
}

/// What identifies a request: either taken from a trusted proxy or made here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(pub Arc<str>);

/// How a request ends when its handler or the server came to an end with it.
#[derive(Debug)]
pub enum Answer {
    /// A complete answer.
    Response(Response),
    /// An error to be told as `application/problem+json` (RFC 9457).
    Problem(Problem),
}

/// The public part of an error: nothing in it is private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status, 400 to 599.
    pub status: u16,
    /// What the client is told beyond the status; `None` says nothing more.
    pub detail: Option<String>,
    /// Seconds for `Retry-After`.
    pub retry_after: Option<u32>,
    /// Headers beside those of every problem.
    pub headers: Vec<(String, Vec<u8>)>,
}

impl Problem {
    /// A problem of this status that says nothing more.
    pub fn new(status: u16) -> Self {
        Self { status, detail: None, retry_after: None, headers: Vec::new() }
    }

    /// A problem of this status with a sentence for the client.
    pub fn with(status: u16, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::new(status) }
    }
}

/// An answer with a body.
#[derive(Debug, Default)]
pub struct Response {
    /// The HTTP status, 100 to 599; 0 is never sent.
    pub status: u16,
    /// What kind of body it is; `headers` never hold a content type.
    pub content_type: ContentType,
    /// The other headers, names lower case, checked for control characters already.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Bytes,
}

/// The content type of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ContentType {
    /// No header at all: there is no body.
    #[default]
    None,
    /// `text/plain; charset=utf-8`.
    Text,
    /// `text/html; charset=utf-8`.
    Html,
    /// `application/json`.
    Json,
    /// As the handler said, checked for control characters.
    Other(String),
}

/// An address to send a client to, as a header can hold it: what a URI cannot hold is percent-encoded, control characters
/// excepted, which no address has and whoever calls refuses.
pub fn location(address: &str) -> Cow<'_, str> {
    let bytes = address.as_bytes();
    let is_escape =
        |at: usize| matches!(bytes.get(at + 1..at + 3), Some([a, b]) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    let fits = |at: usize, byte: u8| match byte {
        b'%' => is_escape(at),
        b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => false,
        byte => byte.is_ascii(),
    };
    if bytes.iter().enumerate().all(|(at, byte)| fits(at, *byte)) {
        return Cow::Borrowed(address);
    }
    let mut encoded = String::with_capacity(address.len() + 16);
    for (at, byte) in bytes.iter().enumerate() {
        if fits(at, *byte) {
            encoded.push(char::from(*byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    Cow::Owned(encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_cannot_hold_is_encoded_once() {
        for (address, sent) in [
            ("/new", "/new"),
            ("https://a.example/b?c=d&e=%20#f", "https://a.example/b?c=d&e=%20#f"),
            ("http://[::1]:8080/", "http://[::1]:8080/"),
            ("/größe", "/gr%C3%B6%C3%9Fe"),
            ("/a b", "/a%20b"),
            ("/100%", "/100%25"),
            ("/%zz%4", "/%25zz%254"),
            ("/{a}|\\^`\"<>", "/%7Ba%7D%7C%5C%5E%60%22%3C%3E"),
        ] {
            assert_eq!(location(address), sent);
            assert_eq!(location(&location(address)), sent, "it stays as it is");
        }
    }
}
