//! What every answer gets on its way out: headers, request id, compression, its record in the log.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use actix_http::body::{BodySize, BoxBody, MessageBody as _};
use actix_web::http::header::{self, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};

use super::compression::{Absent, compress};
use super::proxy::Client;
use super::worker::{self, Pinned, Worker};
use crate::endpoint::Endpoint;
use crate::exchange::RequestId;
use crate::logging::feature::{Feature, Level};
use crate::logging::router::ApiRecord;

static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A request under way, as far as its answer's way out is concerned.
pub struct Underway<'a> {
    /// The worker it runs on.
    pub worker: &'a Worker,
    /// The generation that answers it.
    pub pinned: &'a Pinned,
    /// The request.
    pub request: &'a HttpRequest,
    /// Who asks.
    pub client: &'a Client,
    /// Its id.
    pub id: &'a RequestId,
    /// When its head had arrived.
    pub began: Instant,
}

/// An answer before it gets what every answer gets.
pub struct Reply<'g> {
    /// The answer.
    pub response: HttpResponse<BoxBody>,
    /// The endpoint that made it.
    pub endpoint: Option<&'g Endpoint>,
    /// Headers that its endpoint or static folder declares.
    pub headers: &'g [(String, String)],
    /// How long it waited for a runspace.
    pub waited: Duration,
}

impl Reply<'_> {
    /// An answer of the server itself.
    pub fn own(response: HttpResponse<BoxBody>) -> Self {
        Self { response, endpoint: None, headers: &[], waited: Duration::ZERO }
    }
}

/// Gives an answer all that is still missing, and counts and records it.
pub fn finish(underway: &Underway<'_>, reply: Reply<'_>) -> HttpResponse<BoxBody> {
    let Reply { mut response, endpoint, headers, waited } = reply;
    add_headers(&mut response, headers, &underway.pinned.headers);
    if let Ok(id) = HeaderValue::from_str(&underway.id.0) {
        response.headers_mut().insert(X_REQUEST_ID.clone(), id);
    }
    let bytes = match response.body().size() {
        BodySize::Sized(bytes) => bytes,
        BodySize::None | BodySize::Stream => 0,
    };
    let is_head = underway.request.method() == Method::HEAD;
    if underway.pinned.generation.site.server.compress {
        response = compress(underway.request, response, is_head);
    }
    if is_head {
        response = without_body(response);
    }
    record(underway, endpoint, response.status(), if is_head { 0 } else { bytes }, waited);
    response
}

/// The endpoint's headers win over the server's, the handler's over both.
fn add_headers(
    response: &mut HttpResponse<BoxBody>,
    declared: &[(String, String)],
    server: &[(HeaderName, HeaderValue)],
) {
    let headers = response.headers_mut();
    for (name, value) in declared.iter().filter_map(|(name, value)| worker::header(name, value.as_bytes())) {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
    for (name, value) in server {
        if !headers.contains_key(name) {
            headers.insert(name.clone(), value.clone());
        }
    }
}

fn record(underway: &Underway<'_>, endpoint: Option<&Endpoint>, status: StatusCode, bytes: u64, waited: Duration) {
    let counters = underway.worker.counters();
    counters.requests.fetch_add(1, Ordering::Relaxed);
    let level = if status.is_server_error() {
        counters.errors.fetch_add(1, Ordering::Relaxed);
        Level::Error
    } else if status.is_client_error() {
        Level::Warning
    } else {
        Level::Info
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        counters.refused.fetch_add(1, Ordering::Relaxed);
    }
    let route = endpoint.map_or("", |endpoint| &endpoint.pattern.text);
    let router = &underway.pinned.generation.router;
    if endpoint.is_none_or(|endpoint| level >= endpoint.log) && router.takes(Feature::Api, level, route) {
        router.api(&ApiRecord {
            method: underway.request.method().as_str(),
            path: underway.request.uri().path(),
            route,
            status: status.as_u16(),
            bytes,
            duration: underway.began.elapsed(),
            waited,
            remote: underway.client.ip,
            id: &underway.id.0,
        });
    }
}

/// The answer to HEAD: the head of GET's, its length told in a header. actix keeps "this answers HEAD" for the request
/// it decoded last, which on a pipelined connection may be a later one; a body of no known length is right either way.
fn without_body(mut response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
    let size = response.body().size();
    if size == BodySize::None {
        return response;
    }
    if let BodySize::Sized(length) = size {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    response.head_mut().no_chunking(true);
    response.map_body(|_, _| BoxBody::new(Absent))
}
