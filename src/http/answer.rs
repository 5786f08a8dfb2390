//! The neutral answer becomes an HTTP response.

use actix_http::body::BoxBody;
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderName, HeaderValue};
use bytes::Bytes;
use slog::Logger;

use super::{problem, worker};
use crate::exchange::{self, Answer, ContentType, Problem, RequestId, Response};

static TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
static HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
static JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What a handler answered; `log` makes a logger that names endpoint and request.
pub fn response(answer: Answer, id: &RequestId, log: &dyn Fn() -> Logger) -> HttpResponse<BoxBody> {
    match answer {
        Answer::Problem(told) => problem::response(&told, id),
        Answer::Response(answer) => match StatusCode::from_u16(answer.status) {
            // An informational status is no answer: the client would wait on.
            Ok(status) if !status.is_informational() => complete(status, answer, log),
            _ => {
                slog::error!(log(), # "script", "handler answered a status that cannot be sent"; "status" => answer.status);
                problem::response(&Problem::new(500), id)
            }
        },
    }
}

/// An answer that is always the same.
pub fn fixed(status: u16, content_type: Option<&str>, body: &Bytes) -> HttpResponse<BoxBody> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let mut response = HttpResponse::with_body(status, BoxBody::new(body.clone()));
    if let Some(value) = content_type.and_then(|kind| HeaderValue::from_str(kind).ok()) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

/// Sends the client elsewhere.
pub fn redirect(status: u16, location: &str) -> HttpResponse<BoxBody> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::PERMANENT_REDIRECT);
    let mut response = HttpResponse::with_body(status, BoxBody::new(Bytes::new()));
    if let Ok(location) = HeaderValue::from_str(&exchange::location(location)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn complete(status: StatusCode, answer: Response, log: &dyn Fn() -> Logger) -> HttpResponse<BoxBody> {
    let bodiless = status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED;
    if bodiless && !answer.body.is_empty() {
        slog::warn!(log(), # "script", "a body cannot go with this status and is dropped"; "status" => status.as_u16());
    }
    let body = if bodiless { BoxBody::new(actix_http::body::None::new()) } else { BoxBody::new(answer.body) };
    let mut response = HttpResponse::with_body(status, body);
    if !bodiless && let Some(value) = content_type(answer.content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    for (name, value) in answer.headers {
        add(&mut response, &name, &value, log);
    }
    response
}

fn content_type(kind: ContentType) -> Option<HeaderValue> {
    match kind {
        ContentType::None => None,
        ContentType::Text => Some(TEXT.clone()),
        ContentType::Html => Some(HTML.clone()),
        ContentType::Json => Some(JSON.clone()),
        ContentType::Other(text) => HeaderValue::from_maybe_shared(Bytes::from(text)).ok(),
    }
}

/// Adds a handler's header, unless it is about the connection: that is the server's business.
fn add(response: &mut HttpResponse<BoxBody>, name: &str, value: &[u8], log: &dyn Fn() -> Logger) {
    match worker::header(name, value) {
        Some((name, value)) if name == header::CONNECTION => {
            if value.as_bytes().eq_ignore_ascii_case(b"close") {
                response.head_mut().set_connection_type(actix_http::ConnectionType::Close);
            }
        }
        Some((name, _)) if is_framing(&name) => {}
        Some((name, value)) => response.headers_mut().append(name, value),
        None => {
            slog::error!(log(), # "script", "a header that cannot be sent is left out"; "header" => name)
        }
    }
}

fn is_framing(name: &HeaderName) -> bool {
    matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::UPGRADE | header::TRAILER | header::TE)
        || name == "keep-alive"
}

#[cfg(test)]
mod tests {
    use actix_http::body::MessageBody as _;

    use super::*;

    fn sent(answer: Response) -> HttpResponse<BoxBody> {
        response(Answer::Response(answer), &RequestId("r-1".into()), &|| Logger::root(slog::Discard, slog::o!()))
    }

    fn body(response: HttpResponse<BoxBody>) -> Bytes {
        response.into_body().try_into_bytes().unwrap()
    }

    #[test]
    fn content_types() {
        for (kind, expected) in [
            (ContentType::Text, Some("text/plain; charset=utf-8")),
            (ContentType::Html, Some("text/html; charset=utf-8")),
            (ContentType::Json, Some("application/json")),
            (ContentType::Other("image/png".to_owned()), Some("image/png")),
            (ContentType::None, None),
        ] {
            let response = sent(Response { status: 200, content_type: kind, body: "x".into(), ..Response::default() });
            assert_eq!(response.headers().get("content-type").map(|value| value.to_str().unwrap()), expected);
            assert_eq!(body(response), "x");
        }
    }

    #[test]
    fn a_body_never_goes_with_204_and_304() {
        for status in [204, 304] {
            let response =
                sent(Response { status, content_type: ContentType::Text, body: "x".into(), ..Response::default() });
            assert_eq!(response.status().as_u16(), status);
            assert!(response.headers().is_empty());
            assert!(body(response).is_empty());
        }
    }

    #[test]
    fn statuses_that_are_no_answer() {
        for status in [0, 99, 100, 101, 1000] {
            assert_eq!(sent(Response { status, ..Response::default() }).status(), 500, "{status}");
        }
    }

    #[test]
    fn headers_repeat_but_never_frame() {
        let lines = [
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("content-length", "9"),
            ("transfer-encoding", "chunked"),
            ("x", "a\r\nb: c"),
        ];
        let headers = lines.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect();
        let response = sent(Response { status: 200, headers, ..Response::default() });
        let left: Vec<String> =
            response.headers().iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
        assert_eq!(left, ["set-cookie=a=1", "set-cookie=b=2"]);
    }
}
