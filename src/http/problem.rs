//! Failures become a status, a public `application/problem+json` (RFC 9457) and a log record with the private part.

use std::any::Any;

use actix_http::body::BoxBody;
use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderValue};
use serde::Serialize;
use slog::Logger;

use super::worker;
use crate::environment::run_error::RunError;
use crate::environment::settings::Environment;
use crate::exchange::{Problem, RequestId};

/// The content type of every problem.
pub static CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Seconds after which a client that was refused for want of room may try again.
const RETRY_AFTER: u32 = 1;

/// The HTTP answer that tells a problem.
pub fn response(problem: &Problem, id: &RequestId) -> HttpResponse<BoxBody> {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let document = Document {
        r#type: "about:blank",
        title: status.canonical_reason().unwrap_or("Error"),
        status: status.as_u16(),
        detail: problem.detail.as_deref(),
        request_id: &id.0,
    };
    // Text and numbers can always be told as JSON.
    let body = serde_json::to_vec(&document).unwrap_or_default();
    let mut response = HttpResponse::with_body(status, BoxBody::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT_TYPE.clone());
    if let Some(seconds) = problem.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    for (name, value) in problem.headers.iter().filter_map(|(name, value)| worker::header(name, value)) {
        headers.append(name, value);
    }
    response
}

/// The members of a problem, in the order of RFC 9457, and what moondock adds.
#[derive(Serialize)]
struct Document<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    request_id: &'a str,
}

/// A problem of a status that asks the client to come back later.
pub fn busy(detail: String) -> Problem {
    Problem { retry_after: Some(RETRY_AFTER), ..Problem::with(503, detail) }
}

/// What the client is told about a handler that failed; the private part goes to `log` (which names endpoint and
/// request already). `None`: nobody is there to be told.
pub fn failure(error: RunError, environment: &Environment, log: &Logger) -> Option<Problem> {
    let (name, most) = (&*environment.name, environment.settings.max_runspaces);
    match error {
        RunError::Script { message, traceback } => {
            slog::error!(log, # "script", "handler failed"; "error" => message, "traceback" => traceback);
            Some(Problem::new(500))
        }
        RunError::Timeout { limit, place } => {
            let seconds = limit.as_secs_f64();
            slog::error!(log, # "script", "handler ran longer than its timeout"; "timeout_s" => seconds, "at" => place);
            Some(Problem::with(504, format!("the handler ran longer than its timeout of {seconds} s")))
        }
        RunError::Memory { limit, place } => {
            let limit = bytes(limit);
            slog::error!(log, # "script", "handler used more than its memory limit"; "memory" => &limit, "at" => place);
            Some(Problem::with(500, format!("the handler used more than its memory limit of {limit}")))
        }
        RunError::QueueFull => {
            slog::warn!(log, # "environment", "too many requests wait for a runspace";
                "environment" => name, "max_runspaces" => most, "queue" => environment.settings.queue);
            Some(busy(format!("too many requests wait for environment {name}")))
        }
        RunError::NoRunspace { waited } => {
            slog::warn!(log, # "environment", "no runspace became free in time";
                "environment" => name, "max_runspaces" => most, "waited_ms" => waited.as_millis() as u64);
            Some(busy(format!("no runspace of environment {name} became free in time")))
        }
        RunError::Unhealthy { reason } => {
            // The pool has told it as an error, once for each time that a runspace could not be built.
            slog::debug!(log, # "environment", "environment is unhealthy"; "environment" => name, "reason" => reason);
            Some(busy(format!("environment {name} is unhealthy")))
        }
        RunError::Cancelled => None,
    }
}

/// What the client is told about a fault of the server itself: nothing. The log is told everything.
pub fn bug(panic: &(dyn Any + Send), log: &Logger) -> Problem {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    slog::crit!(log, # "server", "the server panicked while it answered a request"; "panic" => text);
    Problem::new(500)
}

/// A size in the unit that people gave it in.
fn bytes(size: usize) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if size >= unit && size.is_multiple_of(unit) {
            return format!("{} {name}", size / unit);
        }
    }
    format!("{size} bytes")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use actix_http::body::MessageBody as _;

    use super::*;
    use crate::environment::settings::EnvironmentSettings;

    fn told(problem: &Problem) -> serde_json::Value {
        let response = response(problem, &RequestId("r-1".into()));
        assert_eq!(response.headers().get("content-type"), Some(&CONTENT_TYPE));
        serde_json::from_slice(&response.into_body().try_into_bytes().unwrap()).unwrap()
    }

    fn silent() -> Logger {
        Logger::root(slog::Discard, slog::o!())
    }

    fn batch() -> Environment {
        Environment {
            name: "batch".into(),
            settings: EnvironmentSettings::default(),
            variables: BTreeMap::new(),
            secrets: BTreeMap::new(),
            modules: BTreeMap::new(),
            module_folders: Vec::new(),
            startup: None,
        }
    }

    #[test]
    fn members_of_a_problem() {
        let problem = Problem::with(404, "no such note");
        let expected = serde_json::json!({
            "type": "about:blank", "title": "Not Found", "status": 404, "detail": "no such note", "request_id": "r-1"
        });
        assert_eq!(told(&problem), expected);
        assert_eq!(told(&Problem::new(500)).get("detail"), None);
    }

    #[test]
    fn a_failure_tells_the_client_nothing_private() {
        let environment = batch();
        let of = |error| failure(error, &environment, &silent());
        let script = RunError::Script { message: "site.kdl:3: secret".to_owned(), traceback: "…".to_owned() };
        assert_eq!(of(script), Some(Problem::new(500)));
        let timeout =
            of(RunError::Timeout { limit: Duration::from_millis(1500), place: "site.kdl:3".to_owned() }).unwrap();
        assert_eq!((timeout.status, timeout.detail.unwrap().contains("1.5 s")), (504, true));
        let memory = of(RunError::Memory { limit: 64 << 20, place: "site.kdl:3".to_owned() }).unwrap();
        assert_eq!((memory.status, memory.detail.unwrap().contains("memory limit of 64 MiB")), (500, true));
        let full = of(RunError::QueueFull).unwrap();
        assert_eq!((full.status, full.retry_after, full.detail.unwrap().contains("batch")), (503, Some(1), true));
        let none = of(RunError::NoRunspace { waited: Duration::from_secs(2) }).unwrap();
        assert_eq!((none.status, none.retry_after, none.detail.unwrap().contains("batch")), (503, Some(1), true));
        let ill = of(RunError::Unhealthy { reason: "private".to_owned() }).unwrap();
        assert_eq!((ill.status, ill.detail.unwrap().contains("private")), (503, false));
        assert_eq!(of(RunError::Cancelled), None);
    }

    #[test]
    fn sizes() {
        assert_eq!(
            (bytes(64 << 20), bytes(3 << 10), bytes(1000)),
            ("64 MiB".to_owned(), "3 KiB".to_owned(), "1000 bytes".to_owned())
        );
    }
}
