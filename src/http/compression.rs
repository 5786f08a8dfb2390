//! Compresses answers by `Accept-Encoding`, and takes away the bodies of answers to HEAD.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_http::encoding::Encoder;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, AcceptEncoding, ContentEncoding, Encoding, Header as _, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;

static ACCEPT_ENCODING: HeaderValue = HeaderValue::from_static("accept-encoding");

/// Smaller answers are sent as they are: the gain would be eaten by the cost.
const WORTH_COMPRESSING: u64 = 1024;

/// Compresses an answer that is worth it in the way the client likes best.
pub fn compress(request: &HttpRequest, mut response: HttpResponse<BoxBody>, is_head: bool) -> HttpResponse<BoxBody> {
    if !is_compressible(&response) {
        return response;
    }
    let coding = preferred(request);
    if coding == ContentEncoding::Identity {
        response.headers_mut().append(header::VARY, ACCEPT_ENCODING.clone());
        return response;
    }
    weaken_tag(&mut response);
    response.map_body(|head, body| {
        let encoder = Encoder::response(coding, head, body);
        if is_head { BoxBody::new(Absent) } else { BoxBody::new(encoder) }
    })
}

fn is_compressible(response: &HttpResponse<BoxBody>) -> bool {
    if matches!(response.body().size(), BodySize::None)
        || matches!(response.body().size(), BodySize::Sized(size) if size <= WORTH_COMPRESSING)
    {
        return false;
    }
    let headers = response.headers();
    let plain = !headers.contains_key(header::CONTENT_ENCODING) && !headers.contains_key(header::CONTENT_RANGE);
    let whole = response.status() != StatusCode::PARTIAL_CONTENT && response.status() != StatusCode::NOT_MODIFIED;
    let may = !headers.get(header::CACHE_CONTROL).is_some_and(|value| contains(value, "no-transform"));
    plain && whole && may && headers.get(header::CONTENT_TYPE).is_some_and(is_compressible_type)
}

fn is_compressible_type(value: &HeaderValue) -> bool {
    let kind = value.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // Events must not wait in a compressor for more of them.
    if kind == "text/event-stream" {
        return false;
    }
    kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || matches!(
            &*kind,
            "application/json"
                | "application/javascript"
                | "application/xml"
                | "application/x-ndjson"
                | "application/wasm"
                | "application/manifest+json"
                | "font/ttf"
                | "font/otf"
                | "image/bmp"
        )
}

fn contains(value: &HeaderValue, word: &str) -> bool {
    value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains(word))
}

/// The coding of `Accept-Encoding` that the client likes best; of equals the one that packs better.
fn preferred(request: &HttpRequest) -> ContentEncoding {
    if !request.headers().contains_key(header::ACCEPT_ENCODING) {
        return ContentEncoding::Identity;
    }
    let known = [Encoding::brotli(), Encoding::zstd(), Encoding::gzip(), Encoding::identity()];
    let chosen = AcceptEncoding::parse(request).ok().and_then(|accepted| accepted.negotiate(known.iter()));
    match chosen {
        Some(Encoding::Known(coding)) => coding,
        _ => ContentEncoding::Identity,
    }
}

/// A strong entity tag names bytes; after compression they are others.
fn weaken_tag(response: &mut HttpResponse<BoxBody>) {
    let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
    if let Some(tag) = tag.filter(|tag| !tag.starts_with("W/"))
        && let Ok(weak) = HeaderValue::from_str(&format!("W/{tag}"))
    {
        response.headers_mut().insert(header::ETAG, weak);
    }
}

/// The body of an answer to HEAD: not there.
pub struct Absent;

impl MessageBody for Absent {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderName;
    use actix_web::test::TestRequest;

    use super::*;

    fn answer(kind: &str, length: usize) -> HttpResponse<BoxBody> {
        let mut response = HttpResponse::with_body(StatusCode::OK, BoxBody::new(vec![b'x'; length]));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_str(kind).unwrap());
        response
    }

    fn coding(kind: &str, length: usize, accepted: &str) -> String {
        let request = TestRequest::default().insert_header(("accept-encoding", accepted)).to_http_request();
        let response = compress(&request, answer(kind, length), false);
        let get = |name: &str| response.headers().get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
        format!("{} {}", get("content-encoding"), get("vary"))
    }

    #[test]
    fn what_is_compressed_and_how() {
        for (kind, length, accepted, expected) in [
            ("text/plain; charset=utf-8", 2000, "gzip", "gzip accept-encoding"),
            ("application/json", 2000, "gzip, br", "br accept-encoding"),
            ("application/problem+json", 2000, "zstd;q=0.9, gzip;q=0.8", "zstd accept-encoding"),
            ("application/json", 2000, "gzip;q=0, identity", "- accept-encoding"),
            ("application/json", 2000, "lzma", "- accept-encoding"),
            ("image/svg+xml", 2000, "deflate;q=0.5, br;q=0.5", "br accept-encoding"),
            ("application/json", 1024, "gzip", "- -"),
            ("image/png", 9000, "gzip", "- -"),
            ("text/event-stream", 9000, "gzip", "- -"),
        ] {
            assert_eq!(coding(kind, length, accepted), expected, "{kind} {length} {accepted}");
        }
    }

    #[test]
    fn what_is_never_compressed() {
        let request = TestRequest::default().insert_header(("accept-encoding", "gzip")).to_http_request();
        for (name, value) in
            [("content-encoding", "br"), ("content-range", "bytes 0-1/9"), ("cache-control", "private, No-Transform")]
        {
            let mut response = answer("text/plain", 5000);
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            let response = compress(&request, response, false);
            assert!(!response.headers().contains_key("vary"), "{name}");
            assert_eq!(response.body().size(), BodySize::Sized(5000), "{name}");
        }
    }

    #[test]
    fn a_tag_of_other_bytes_is_weak() {
        let request = TestRequest::default().insert_header(("accept-encoding", "gzip")).to_http_request();
        let mut response = answer("text/plain", 5000);
        response.headers_mut().insert(header::ETAG, HeaderValue::from_static("\"a\""));
        assert_eq!(compress(&request, response, false).headers().get("etag").unwrap(), "W/\"a\"");
    }
}
