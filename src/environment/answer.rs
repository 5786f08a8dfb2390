//! What a handler gives back becomes an answer.
//!
//! Knows every form of an answer that a script can write; what it cannot send is told as a sentence for the log, never
//! to the client. It sends nothing itself.

use bytes::Bytes;
use mlua::{Lua, MultiValue, Table, UserData, Value};

use super::api::arguments::kind;
use super::api::error::Failure;
use super::api::json;
use super::entry::Given;
use super::headers::{self, Headers};
use crate::exchange::{Answer, ContentType, Problem, Response};

/// The statuses that a handler may give.
pub(super) const STATUSES: std::ops::RangeInclusive<i64> = 200..=599;

/// A complete answer as a value of Lua, made by `respond` and its like. Opaque to scripts.
pub(super) struct Prepared(pub(super) Response);

impl UserData for Prepared {}

/// Makes the answer of what a handler gave.
///
/// # Errors
/// The private reason of a 500: nothing of it is for the client.
pub(super) fn of(lua: &Lua, given: Given) -> Result<Answer, String> {
    let (status, content_type, body) = match given {
        Given::Text(body, status) => (status, ContentType::Text, body),
        Given::Json(text, status) => (status, ContentType::Json, Bytes::from(text.map_err(unwritable)?)),
        Given::Values(values) => return read(lua, values),
    };
    Ok(Answer::Response(Response { status: status.unwrap_or(200), content_type, headers: Vec::new(), body }))
}

fn unwritable(why: String) -> String {
    format!("the answer cannot be written as JSON: {why}")
}

fn read(lua: &Lua, mut values: MultiValue) -> Result<Answer, String> {
    if values.len() > 3 {
        return Err("a handler returns at most a body, a status and headers".to_owned());
    }
    let body = values.pop_front().unwrap_or(Value::Nil);
    let status = values.pop_front().unwrap_or(Value::Nil);
    let extra = values.pop_front().unwrap_or(Value::Nil);
    if status.is_nil() && extra.is_nil() {
        return alone(lua, &body).map(Answer::Response);
    }
    if body.is_userdata() {
        return Err("an answer made with respond, redirect, html or file is returned alone".to_owned());
    }
    if body.is_nil() && !is_number(&status) && !status.is_nil() {
        return Err(text_of(lua, &status));
    }
    let status = (!status.is_nil()).then(|| status_of(&status)).transpose()?;
    let extra = Headers::read(&extra)?;
    if let (Value::Nil, Some(status @ 400..)) = (&body, status) {
        let headers = extra.lines;
        return Ok(Answer::Problem(Problem { headers, ..Problem::new(status) }));
    }
    let mut response = plain(lua, &body)?;
    response.status = status.unwrap_or(response.status);
    extra.apply(&mut response);
    Ok(Answer::Response(response))
}

/// One value without a status.
fn alone(lua: &Lua, body: &Value) -> Result<Response, String> {
    if let Value::UserData(prepared) = body
        && let Ok(prepared) = prepared.borrow::<Prepared>()
    {
        return Ok(copy(&prepared.0));
    }
    plain(lua, body)
}

fn copy(response: &Response) -> Response {
    Response {
        status: response.status,
        content_type: response.content_type.clone(),
        headers: response.headers.clone(),
        body: response.body.clone(),
    }
}

/// A body in the content type of its kind, with 200, or 204 without one.
fn plain(lua: &Lua, body: &Value) -> Result<Response, String> {
    let (status, content_type, body) = match body {
        Value::String(text) => (200, ContentType::Text, Bytes::copy_from_slice(&text.as_bytes())),
        Value::Nil => (204, ContentType::None, Bytes::new()),
        Value::Table(_) | Value::Boolean(_) | Value::Integer(_) | Value::Number(_) => {
            (200, ContentType::Json, json_body(lua, body)?)
        }
        null if null.is_null() => (200, ContentType::Json, Bytes::from_static(b"null")),
        other => return Err(format!("{} cannot be an answer", kind(other))),
    };
    Ok(Response { status, content_type, headers: Vec::new(), body })
}

/// The JSON text of a value.
///
/// # Errors
/// JSON cannot hold it; a sentence that names the place.
pub(super) fn json_body(lua: &Lua, value: &Value) -> Result<Bytes, String> {
    json::encode(lua, value, false).map_err(|error| error.to_string())?.map(Bytes::from).map_err(unwritable)
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Integer(_) | Value::Number(_))
}

/// A status that can be sent.
///
/// # Errors
/// It is no whole number from 200 to 599.
pub(super) fn status_of(value: &Value) -> Result<u16, String> {
    match value {
        Value::Nil => Ok(200),
        Value::Integer(status) if STATUSES.contains(status) => {
            u16::try_from(*status).map_err(|error| error.to_string())
        }
        Value::Integer(status) => Err(bad_status(status)),
        Value::Number(status) => Err(bad_status(status)),
        other => Err(format!("the status must be a number, not {}", kind(other))),
    }
}

fn bad_status(status: impl std::fmt::Display) -> String {
    let (low, high) = (STATUSES.start(), STATUSES.end());
    format!("the status must be a whole number from {low} to {high}, not {status}")
}

/// The text of the `err` in `nil, err`.
fn text_of(lua: &Lua, error: &Value) -> String {
    if let Some(text) = Failure::text_of(lua, error) {
        return text;
    }
    match error {
        Value::String(text) => text.to_string_lossy(),
        Value::Table(table) => described(table),
        other => other.to_string().unwrap_or_else(|error| error.to_string()),
    }
}

/// A table as an error: what it prints as, else its `message`.
fn described(table: &Table) -> String {
    let printed = Value::Table(table.clone());
    let has_text = table.metatable().is_some_and(|meta| meta.contains_key("__tostring").unwrap_or(false));
    match table.raw_get::<Value>("message") {
        Ok(Value::String(message)) if !has_text => message.to_string_lossy(),
        _ => printed.to_string().unwrap_or_else(|error| error.to_string()),
    }
}

impl Headers {
    /// Puts what a script said over what follows from the body.
    pub(super) fn apply(self, response: &mut Response) {
        response.headers.extend(self.lines);
        if let Some(kind) = self.content_type {
            response.content_type = headers::content_type(kind);
        }
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
