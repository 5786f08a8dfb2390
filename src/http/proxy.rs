//! Who the client is: the peer itself, or what trusted proxies say about it.
//!
//! A header that anybody can send is believed only when the peer that sent it is in `trusted-proxies`, and of a chain
//! only up to the first address that is not.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::exchange::RequestId;

static X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
static X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
static X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids of a proxy are replaced by our own.
const LONGEST_ID: usize = 128;

/// Who asks, and how.
#[derive(Debug, PartialEq, Eq)]
pub struct Client {
    /// The client's address.
    pub ip: IpAddr,
    /// `http` or `https`.
    pub scheme: &'static str,
    /// The host the client named in a header of a trusted proxy.
    pub forwarded_host: Option<String>,
    /// The request id of a trusted proxy.
    pub id: Option<RequestId>,
}

/// Finds out who asks. A peer on a unix socket counts as `127.0.0.1`.
pub fn client(request: &HttpRequest, trusted: &[IpNet]) -> Client {
    let peer = request.peer_addr().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |peer| peer.ip().to_canonical());
    client_of(peer, request.headers(), trusted)
}

/// The host the client named, after what a trusted proxy forwarded; empty when it named none.
pub fn host<'a>(request: &'a HttpRequest, forwarded: Option<&'a str>) -> &'a str {
    // A target in absolute form wins over the header (RFC 9112 section 3.2.2); a user's name before the `@` is no host.
    let target = || request.uri().authority().map(|authority| authority.as_str());
    let target = || target().map(|authority| authority.rsplit('@').next().unwrap_or(authority));
    let named = || request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    forwarded.or_else(target).or_else(named).unwrap_or_default()
}

fn client_of(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let direct = Client { ip: peer, scheme: "http", forwarded_host: None, id: None };
    if !is_trusted(peer, trusted) {
        return direct;
    }
    let id = headers.get(&X_REQUEST_ID).and_then(|id| id.to_str().ok()).filter(|id| is_sane(id));
    let id = id.map(|id| RequestId(id.into()));
    if headers.contains_key(header::FORWARDED) && !headers.contains_key(&X_FORWARDED_FOR) {
        return Client { id, ..forwarded(direct, headers, trusted) };
    }
    let chain = list(headers, &X_FORWARDED_FOR);
    let ip = first_untrusted(peer, chain.iter().rev().map(|entry| address(entry)), trusted);
    let last = |name| list(headers, name).pop();
    Client {
        ip,
        scheme: last(&X_FORWARDED_PROTO).map_or("http", |scheme| scheme_of(&scheme)),
        forwarded_host: last(&X_FORWARDED_HOST).map(Cow::into_owned).filter(|host| is_host(host)),
        id,
    }
}

/// Reads `Forwarded` (RFC 7239) from its end to its beginning.
fn forwarded(direct: Client, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let mut found = direct;
    for element in list(headers, &header::FORWARDED).iter().rev() {
        let Some(ip) = parameter(element, "for").and_then(|value| address(&value)) else {
            break;
        };
        found.ip = ip;
        if let Some(scheme) = parameter(element, "proto") {
            found.scheme = scheme_of(&scheme);
        }
        if let Some(host) = parameter(element, "host").filter(|host| is_host(host)) {
            found.forwarded_host = Some(host);
        }
        if !is_trusted(ip, trusted) {
            break;
        }
    }
    found
}

/// Walks from the nearest to the farthest; ends at the first that is not trusted, or that is no address.
fn first_untrusted(peer: IpAddr, chain: impl Iterator<Item = Option<IpAddr>>, trusted: &[IpNet]) -> IpAddr {
    let mut ip = peer;
    for next in chain {
        let Some(next) = next else { break };
        ip = next;
        if !is_trusted(ip, trusted) {
            break;
        }
    }
    ip
}

fn is_trusted(ip: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|net| net.contains(&ip))
}

/// The elements of a list header, over all its lines.
fn list<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Vec<Cow<'h, str>> {
    let lines = headers.get_all(name).filter_map(|line| line.to_str().ok());
    lines
        .flat_map(|line| line.split(','))
        .map(|element| Cow::Borrowed(element.trim()))
        .filter(|element| !element.is_empty())
        .collect()
}

/// An address as proxies write it: bare, in brackets, with a port.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split_once(']').and_then(|(inner, _)| inner.parse::<IpAddr>().ok()).map(|ip| ip.to_canonical());
    }
    let bare = text.parse::<IpAddr>().ok();
    bare.or_else(|| text.rsplit_once(':').and_then(|(host, _)| host.parse().ok())).map(|ip: IpAddr| ip.to_canonical())
}

/// A parameter of an element of `Forwarded`, without its quotes.
fn parameter(element: &str, name: &str) -> Option<String> {
    element.split(';').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn scheme_of(text: &str) -> &'static str {
    if text.eq_ignore_ascii_case("https") { "https" } else { "http" }
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte))
}

fn is_sane(id: &str) -> bool {
    (1..=LONGEST_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(&byte))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn asked(peer: &str, lines: &[(&'static str, &'static str)], trusted: &[&str]) -> Client {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let trusted: Vec<IpNet> = trusted.iter().map(|net| net.parse().unwrap()).collect();
        client_of(peer.parse().unwrap(), &headers, &trusted)
    }

    #[test]
    fn addresses_of_the_chain() {
        fn ip(peer: &str, lines: &[(&'static str, &'static str)], trusted: &[&str]) -> String {
            asked(peer, lines, trusted).ip.to_string()
        }
        let xff = "x-forwarded-for";
        assert_eq!(ip("9.9.9.9", &[(xff, "1.2.3.4")], &[]), "9.9.9.9");
        assert_eq!(ip("9.9.9.9", &[(xff, "1.2.3.4")], &["10.0.0.0/8"]), "9.9.9.9");
        assert_eq!(ip("10.0.0.1", &[], &["10.0.0.0/8"]), "10.0.0.1");
        assert_eq!(ip("10.0.0.1", &[(xff, "1.2.3.4")], &["10.0.0.0/8"]), "1.2.3.4");
        assert_eq!(ip("10.0.0.1", &[(xff, "6.6.6.6, 1.2.3.4, 10.0.0.2")], &["10.0.0.0/8"]), "1.2.3.4");
        assert_eq!(ip("10.0.0.1", &[(xff, "6.6.6.6"), (xff, "1.2.3.4")], &["10.0.0.0/8"]), "1.2.3.4");
        assert_eq!(ip("10.0.0.1", &[(xff, "10.0.0.9, 10.0.0.2")], &["10.0.0.0/8"]), "10.0.0.9");
        assert_eq!(ip("10.0.0.1", &[(xff, "1.2.3.4, unknown, 10.0.0.2")], &["10.0.0.0/8"]), "10.0.0.2");
        assert_eq!(ip("10.0.0.1", &[(xff, "[2001:db8::1]:99")], &["10.0.0.0/8"]), "2001:db8::1");
        assert_eq!(ip("10.0.0.1", &[(xff, "1.2.3.4:99")], &["10.0.0.0/8"]), "1.2.3.4");
        assert_eq!(
            ip(
                "10.0.0.1",
                &[("forwarded", "for=6.6.6.6, For=\"[2001:db8::2]:1\";proto=https, for=10.0.0.2")],
                &["10.0.0.0/8"]
            ),
            "2001:db8::2"
        );
    }

    #[test]
    fn scheme_host_and_id_only_from_trusted() {
        let lines =
            [("x-forwarded-proto", "https"), ("x-forwarded-host", "api.example.org"), ("x-request-id", "abc-1")];
        let seen = asked("10.0.0.1", &lines, &["10.0.0.1/32"]);
        assert_eq!((seen.scheme, seen.forwarded_host.as_deref()), ("https", Some("api.example.org")));
        assert_eq!(seen.id, Some(RequestId("abc-1".into())));
        let seen = asked("10.0.0.2", &lines, &["10.0.0.1/32"]);
        assert_eq!(seen, Client { ip: "10.0.0.2".parse().unwrap(), scheme: "http", forwarded_host: None, id: None });
        let seen = asked("10.0.0.1", &[("forwarded", "for=1.1.1.1;proto=https;host=h.example")], &["10.0.0.1/32"]);
        assert_eq!((seen.scheme, seen.forwarded_host.as_deref()), ("https", Some("h.example")));
    }

    #[test]
    fn ids_that_could_do_harm_are_not_taken() {
        for id in ["", "a b", "<script>", "\"", "é"] {
            assert!(!is_sane(id), "{id}");
        }
        assert!(!is_sane(&"x".repeat(129)));
        assert!(is_sane("Root=1-67891233-abcdef012345678912345678"));
    }
}
