//! Reading a request's body under its limits, and leaving one unread without losing step.

use std::io::Read;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_http::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse};
use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use futures_util::{FutureExt as _, StreamExt as _};

use crate::exchange::Problem;

/// A body that nobody wants is still read up to this size, so that its connection can serve on.
const WORTH_READING: u64 = 64 * 1024;
/// And so long; a client that is slower loses its connection.
const WORTH_WAITING: Duration = Duration::from_secs(1);
/// Compressed bodies above this size are inflated off the worker.
const INFLATE_IN_PLACE: usize = 16 * 1024;
/// Never reserve more than this on the word of a `Content-Length`.
const RESERVE: u64 = 256 * 1024;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
}

/// The body of a request on its way in.
pub struct Incoming {
    payload: Payload,
    /// Reading it has failed: there is no end to wait for.
    failed: bool,
}

impl From<Payload> for Incoming {
    fn from(payload: Payload) -> Self {
        Self { payload, failed: false }
    }
}

impl Incoming {
    /// Reads the whole body, decoded.
    ///
    /// # Errors
    /// The problem to answer: 413 above the limit (before or after decoding), 408 when it takes too long, 415 for a
    /// coding that is not known, 400 when it is broken.
    pub async fn read(&mut self, request: &HttpRequest, limit: u64, within: Duration) -> Result<Bytes, Problem> {
        if !is_announced(request) {
            return Ok(Bytes::new());
        }
        let coding = coding(request)?;
        let expected = length(request);
        if expected.is_some_and(|length| length > limit) {
            return Err(too_large(limit));
        }
        let late = || Problem::with(408, format!("the body had not arrived within {} s", within.as_secs_f64()));
        let body = tokio::time::timeout(within, collect(expected, &mut self.payload, limit)).await;
        let body = body.unwrap_or_else(|_| Err(late())).inspect_err(|_| self.failed = true)?;
        match coding {
            Coding::Gzip if !body.is_empty() => gunzip(body, limit).await,
            _ => Ok(body),
        }
    }

    /// Lets go of the rest nobody reads: takes it when it is little; else the connection ends with the answer.
    pub async fn leave(mut self, request: &HttpRequest, response: HttpResponse<BoxBody>) -> HttpResponse<BoxBody> {
        if matches!(self.payload, Payload::None) || self.take_rest(request).await {
            return response;
        }
        response.map_body(|_, body| BoxBody::new(Leaving { body, _rest: self.payload }))
    }

    /// Reads on to the end, unless that is too far; returns whether it got there.
    async fn take_rest(&mut self, request: &HttpRequest) -> bool {
        // A client that waits for `100 Continue` has sent nothing yet; one that wants to speak another protocol sends
        // on without an end.
        if self.failed
            || !is_announced(request)
            || request.head().expect()
            || length(request).is_some_and(|length| length > WORTH_READING)
        {
            return false;
        }
        let reading = async {
            let mut left = WORTH_READING;
            while let Some(chunk) = self.payload.next().await {
                let Some(less) = chunk.ok().and_then(|chunk| left.checked_sub(chunk.len() as u64)) else {
                    return false;
                };
                left = less;
            }
            true
        };
        // Most of the time all is there, and no clock is needed.
        let mut reading = std::pin::pin!(reading);
        match reading.as_mut().now_or_never() {
            Some(ended) => ended,
            None => tokio::time::timeout(WORTH_WAITING, reading).await.unwrap_or(false),
        }
    }
}

/// An answer that keeps the unread rest of its request's body until it is sent.
///
/// actix ends a connection cleanly (the answer, then reading on for a while, so that a client which is still sending
/// can read the answer) only while somebody holds the rest; it would swallow a dropped chunked body without an end.
struct Leaving {
    body: BoxBody,
    _rest: Payload,
}

impl MessageBody for Leaving {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}

async fn collect(expected: Option<u64>, payload: &mut Payload, limit: u64) -> Result<Bytes, Problem> {
    let Some(first) = payload.next().await else {
        return Ok(Bytes::new());
    };
    let first = first.map_err(|error| broken(&error))?;
    // The usual small body comes as one piece, which is passed on as it is.
    if expected == Some(first.len() as u64) {
        return Ok(first);
    }
    let mut whole = BytesMut::with_capacity(expected.unwrap_or(0).min(RESERVE) as usize);
    let mut next = Some(first);
    while let Some(chunk) = next {
        if (whole.len() + chunk.len()) as u64 > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&chunk);
        next = payload.next().await.transpose().map_err(|error| broken(&error))?;
    }
    Ok(whole.freeze())
}

async fn gunzip(body: Bytes, limit: u64) -> Result<Bytes, Problem> {
    if body.len() <= INFLATE_IN_PLACE && limit <= 1 << 20 {
        return inflate(&body, limit);
    }
    let inflated = tokio::task::spawn_blocking(move || inflate(&body, limit)).await;
    inflated.unwrap_or_else(|_| Err(Problem::new(500)))
}

fn inflate(body: &[u8], limit: u64) -> Result<Bytes, Problem> {
    let mut plain = Vec::new();
    match MultiGzDecoder::new(body).take(limit + 1).read_to_end(&mut plain) {
        Ok(_) if plain.len() as u64 > limit => Err(too_large(limit)),
        Ok(_) => Ok(plain.into()),
        Err(_) => Err(Problem::with(400, "the body is not in the gzip format that its Content-Encoding promises")),
    }
}

fn coding(request: &HttpRequest) -> Result<Coding, Problem> {
    let mut lines = request.headers().get_all(header::CONTENT_ENCODING);
    let Some(line) = lines.next() else {
        return Ok(Coding::Identity);
    };
    let name = line.to_str().unwrap_or_default().trim();
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let alone = lines.next().is_none();
    match alone {
        true if is("gzip") || is("x-gzip") => Ok(Coding::Gzip),
        true if is("identity") => Ok(Coding::Identity),
        _ => Err(Problem {
            headers: vec![("accept-encoding".to_owned(), b"gzip".to_vec())],
            ..Problem::with(415, "a body is understood plain or with Content-Encoding gzip")
        }),
    }
}

/// Whether the head speaks of a body. actix makes one also of what follows a request to upgrade.
fn is_announced(request: &HttpRequest) -> bool {
    let headers = request.headers();
    headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING)
}

fn length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

fn too_large(limit: u64) -> Problem {
    Problem::with(413, format!("the body is larger than {limit} bytes"))
}

fn broken(error: &PayloadError) -> Problem {
    match error {
        PayloadError::Overflow => Problem::new(413),
        PayloadError::Incomplete(_) => Problem::with(400, "the body ended before its announced end"),
        _ => Problem::with(400, "the body could not be read"),
    }
}
