//! The path of a request, top to bottom: pin the generation, find what answers, check, read the body, run, answer.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use actix_http::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures_util::FutureExt as _;
use slog::o;
use tokio::sync::OwnedSemaphorePermit;

use super::body::Incoming;
use super::finish::{Reply, Underway, finish};
use super::proxy;
use super::static_files::{self, Served};
use super::worker::Worker;
use super::{answer, problem};
use crate::endpoint::option::param;
use crate::endpoint::route_table::Found;
use crate::endpoint::{Action, Endpoint};
use crate::environment::pool::{Call, Pool};
use crate::environment::script_log::ScriptLog;
use crate::exchange::{Head, Problem, Request, RequestId};
use crate::runtime::generation::{EndpointGate, LiveEndpoint};
use crate::script::Script;

/// How long a request waits in the queue of an endpoint that runs no script.
const QUEUE_WAIT: Duration = Duration::from_secs(2);

/// Answers a request, whatever happens.
pub async fn handle(worker: Rc<Worker>, request: ServiceRequest) -> ServiceResponse<BoxBody> {
    let (request, payload) = request.into_parts();
    let mut body = Incoming::from(payload);
    let began = Instant::now();
    let pinned = worker.pin();
    let client = proxy::client(&request, &pinned.generation.site.server.trusted_proxies);
    let id = client.id.clone().unwrap_or_else(|| worker.next_id());
    let underway = Underway { worker: &worker, pinned: &pinned, request: &request, client: &client, id: &id, began };
    let mut gone = CountGone(Some(&worker));
    let outcome = AssertUnwindSafe(reply(&underway, &mut body)).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|panic| {
        let log = pinned.generation.logger.new(o!("request" => id.0.to_string()));
        Reply::own(problem::response(&problem::bug(&*panic, &log), &id))
    });
    let response = body.leave(&request, finish(&underway, outcome)).await;
    gone.0 = None;
    ServiceResponse::new(request, response)
}

/// Whether the body of a request will be read at all, as far as its head tells; what `Expect: 100-continue` asks.
pub fn wants_body(worker: &Worker, method: &str, path: &str, announced: Option<u64>) -> bool {
    let pinned = worker.pin();
    match pinned.generation.routes.find(method, path) {
        Found::Entry(live, _) => {
            matches!(live.endpoint.action, Action::Script { .. })
                && announced.is_none_or(|length| length <= live.endpoint.max_body)
        }
        _ => false,
    }
}

/// Counts a request whose future is dropped before it has an answer.
struct CountGone<'a>(Option<&'a Worker>);

impl Drop for CountGone<'_> {
    fn drop(&mut self) {
        if let Some(worker) = self.0 {
            worker.count_cancelled();
        }
    }
}

async fn reply<'a>(underway: &Underway<'a>, body: &mut Incoming) -> Reply<'a> {
    let (request, id) = (underway.request, underway.id);
    let own = |problem: Problem| Reply::own(problem::response(&problem, id));
    match underway.pinned.generation.routes.find(request.method().as_str(), request.uri().path()) {
        Found::Entry(live, params) => endpoint(underway, live, params, body).await,
        Found::Malformed => {
            own(Problem::with(400, "the path is not percent-encoded UTF-8 text without control characters"))
        }
        Found::Nothing => match from_folder(underway).await {
            Some(reply) => reply,
            None => own(Problem::new(404)),
        },
        Found::Method(_)
            if reads(request)
                && let Some(reply) = from_folder(underway).await =>
        {
            reply
        }
        Found::Method(allow) => Reply::own(not_this_method(request, &allow, id)),
    }
}

fn reads(request: &HttpRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD)
}

/// 405, or for OPTIONS what was asked for.
fn not_this_method(request: &HttpRequest, allow: &str, id: &RequestId) -> HttpResponse<BoxBody> {
    let mut response = if request.method() == Method::OPTIONS {
        HttpResponse::with_body(StatusCode::NO_CONTENT, BoxBody::new(actix_http::body::None::new()))
    } else {
        problem::response(&Problem::new(405), id)
    };
    if let Ok(allow) = HeaderValue::from_str(allow) {
        response.headers_mut().insert(header::ALLOW, allow);
    }
    response
}

/// The answer of a static folder, when one has the path.
async fn from_folder<'a>(underway: &Underway<'a>) -> Option<Reply<'a>> {
    let request = underway.request;
    let (folder, segments) = static_files::folder_of(&underway.pinned.generation.site.statics, request.uri().path())?;
    let response = match static_files::serve(request, folder, segments).await {
        Served::Response(response) if response.status().is_client_error() => refused_file(&response, underway.id),
        Served::Response(response) => response,
        Served::Method => not_this_method(request, "GET, HEAD, OPTIONS", underway.id),
        Served::Nothing => return None,
    };
    Some(Reply { headers: &folder.headers, ..Reply::own(response) })
}

/// A range or condition that a file does not meet, told as every error; what says why stays (`Content-Range`, `ETag`).
fn refused_file(response: &HttpResponse<BoxBody>, id: &RequestId) -> HttpResponse<BoxBody> {
    let mut problem = problem::response(&Problem::new(response.status().as_u16()), id);
    for name in [header::CONTENT_RANGE, header::ACCEPT_RANGES, header::ETAG, header::LAST_MODIFIED] {
        if let Some(value) = response.headers().get(&name) {
            problem.headers_mut().insert(name, value.clone());
        }
    }
    problem
}

async fn endpoint<'a>(
    underway: &Underway<'a>,
    live: &'a LiveEndpoint,
    params: Vec<(Arc<str>, String)>,
    body: &mut Incoming,
) -> Reply<'a> {
    let endpoint = &*live.endpoint;
    let mut waited = Duration::ZERO;
    let response = match act(underway, live, params, body, &mut waited).await {
        Ok(response) => response,
        Err(problem) => problem::response(&problem, underway.id),
    };
    Reply { response, endpoint: Some(endpoint), headers: &endpoint.headers, waited }
}

async fn act(
    underway: &Underway<'_>,
    live: &LiveEndpoint,
    params: Vec<(Arc<str>, String)>,
    body: &mut Incoming,
    waited: &mut Duration,
) -> Result<HttpResponse<BoxBody>, Problem> {
    let endpoint = &*live.endpoint;
    match &endpoint.action {
        Action::Script { script, .. } => {
            let mut request = incoming(underway, endpoint, params);
            param::check(&endpoint.params, &mut request)?;
            let within = underway.pinned.generation.site.server.body_timeout;
            request.body = body.read(underway.request, endpoint.max_body, within).await?;
            let Some(pool) = &live.pool else {
                return Err(Problem::new(500));
            };
            let _permit = enter(live.gate.as_ref(), pool.environment().settings.wait).await?;
            run(underway, endpoint, pool, (script, request), waited).await
        }
        fixed => {
            if !endpoint.params.is_empty() {
                param::check(&endpoint.params, &mut incoming(underway, endpoint, params))?;
            }
            let _permit = enter(live.gate.as_ref(), QUEUE_WAIT).await?;
            Ok(match fixed {
                Action::Redirect { location, status } => answer::redirect(*status, location),
                Action::Respond { status, content_type, body: text } => {
                    answer::fixed(*status, content_type.as_deref(), text)
                }
                Action::Script { .. } => return Err(Problem::new(500)),
            })
        }
    }
}

async fn run(
    underway: &Underway<'_>,
    endpoint: &Endpoint,
    pool: &Arc<Pool>,
    (script, request): (&Arc<Script>, Box<Request>),
    waited: &mut Duration,
) -> Result<HttpResponse<BoxBody>, Problem> {
    let log = || ScriptLog { log: underway.pinned.generation.logger.clone(), floor: endpoint.log };
    let call = Call { handler: script.clone(), request, timeout: endpoint.timeout, log: log() };
    let ran = pool.run(call).await;
    *waited = ran.waited;
    let logger = || log().logger(&endpoint.pattern.text, underway.id);
    match ran.outcome {
        Ok(answered) => Ok(answer::response(answered, underway.id, &logger)),
        Err(error) => Err(problem::failure(error, pool.environment(), &logger())
            .unwrap_or_else(|| problem::busy("the server stops".to_owned()))),
    }
}

/// The request as a handler sees it, still without its body.
fn incoming(underway: &Underway<'_>, endpoint: &Endpoint, params: Vec<(Arc<str>, String)>) -> Box<Request> {
    let client = underway.client;
    let (request, forwarded_host) = (underway.request.clone(), client.forwarded_host.clone());
    Box::new(Request {
        head: Box::new(Sent { request, forwarded_host, began: underway.began }),
        route: endpoint.pattern.text.clone(),
        id: underway.id.clone(),
        scheme: client.scheme,
        ip: client.ip,
        params: params.into_iter().map(|(name, value)| (name, crate::exchange::Typed::Text(value))).collect(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Bytes::new(),
    })
}

/// Waits for a place among those of an endpoint that run at once.
async fn enter(gate: Option<&Arc<EndpointGate>>, wait: Duration) -> Result<Option<OwnedSemaphorePermit>, Problem> {
    let Some(gate) = gate else {
        return Ok(None);
    };
    if let Ok(permit) = gate.running.clone().try_acquire_owned() {
        return Ok(Some(permit));
    }
    let full = || problem::busy("too many requests of this endpoint run already".to_owned());
    let _place = Queued::enter(gate).ok_or_else(full)?;
    match tokio::time::timeout(wait, gate.running.clone().acquire_owned()).await {
        Ok(Ok(permit)) => Ok(Some(permit)),
        Ok(Err(_)) | Err(_) => Err(full()),
    }
}

/// A place in the queue of an endpoint, left when dropped.
struct Queued<'a>(&'a EndpointGate);

impl<'a> Queued<'a> {
    fn enter(gate: &'a EndpointGate) -> Option<Self> {
        let before = gate.waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(gate);
        (before < gate.limit.queue).then_some(place)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The head of a request as actix keeps it: nothing is copied until somebody asks.
struct Sent {
    request: HttpRequest,
    forwarded_host: Option<String>,
    began: Instant,
}

impl Head for Sent {
    fn method(&self) -> &str {
        self.request.method().as_str()
    }

    fn path(&self) -> &str {
        self.request.uri().path()
    }

    fn query(&self) -> &str {
        self.request.uri().query().unwrap_or_default()
    }

    fn host(&self) -> &str {
        proxy::host(&self.request, self.forwarded_host.as_deref())
    }

    fn time(&self) -> SystemTime {
        let now = SystemTime::now();
        now.checked_sub(self.began.elapsed()).unwrap_or(now)
    }

    fn header(&self, name: &str) -> Option<&[u8]> {
        self.request.headers().get(name).map(HeaderValue::as_bytes)
    }

    fn header_all<'a>(&'a self, name: &str, each: &mut dyn FnMut(&'a [u8])) {
        self.request.headers().get_all(name).map(HeaderValue::as_bytes).for_each(each);
    }

    fn each_header<'a>(&'a self, each: &mut dyn FnMut(&'a str, &'a [u8])) {
        self.request.headers().iter().for_each(|(name, value)| each(name.as_str(), value.as_bytes()));
    }
}
