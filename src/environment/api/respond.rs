//! `respond`, `redirect` and `html` make complete answers; `abort` ends the handler with an error from anywhere.

use bytes::Bytes;
use mlua::{Error, Lua, Result, Table, Value};

use crate::environment::answer::{Prepared, json_body, status_of};
use crate::environment::api::Module;
use crate::environment::api::arguments::{kind, misuse, name_of, propose, text, whole};
use crate::environment::fiber::{self, Stop};
use crate::environment::headers::{Headers, content_type};
use crate::exchange::{self, Answer, ContentType, Problem, Response};

/// What `respond` takes.
const FIELDS: [&str; 6] = ["status", "body", "json", "type", "headers", "cookies"];

/// The statuses that send a client elsewhere.
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// The function that makes an answer of everything at once.
pub const RESPOND: Module = Module { name: "respond", install: |lua, _| function(lua, respond) };

/// The function that sends the client elsewhere.
pub const REDIRECT: Module = Module { name: "redirect", install: |lua, _| function(lua, redirect) };

/// The function that answers a page.
pub const HTML: Module = Module { name: "html", install: |lua, _| function(lua, html) };

/// The function that ends the handler.
pub const ABORT: Module = Module { name: "abort", install: |lua, _| function(lua, abort) };

fn function<A: mlua::FromLuaMulti + 'static, R: mlua::IntoLuaMulti + 'static>(
    lua: &Lua,
    body: fn(&Lua, A) -> Result<R>,
) -> Result<Value> {
    lua.create_function(body).map(Value::Function)
}

fn respond(lua: &Lua, parts: Value) -> Result<Prepared> {
    let Value::Table(parts) = &parts else {
        return Err(misuse("respond", format_args!("takes one table, not {}", kind(&parts))));
    };
    check_fields(parts)?;
    assemble(lua, parts).map(Prepared)
}

fn check_fields(parts: &Table) -> Result<()> {
    parts.for_each(|key: Value, _: Value| {
        let key = name_of(&key);
        if FIELDS.contains(&key.as_str()) {
            return Ok(());
        }
        let end = propose(&key, FIELDS.into_iter());
        Err(misuse("respond", format_args!("unknown field {key:?}{end}")))
    })
}

fn assemble(lua: &Lua, parts: &Table) -> Result<Response> {
    let wrong = |why: String| misuse("respond", why);
    let status = parts.raw_get::<Value>("status")?;
    let (kind, body) = body_of(lua, parts)?;
    let mut headers = Headers::read(&parts.raw_get("headers")?).map_err(wrong)?;
    let named: Value = parts.raw_get("type")?;
    if !named.is_nil() {
        let named = text("respond", "type", &named)?.as_bytes().to_vec();
        headers.line("content-type", named).map_err(wrong)?;
    }
    headers.cookies(&parts.raw_get("cookies")?).map_err(wrong)?;
    let nothing = status.is_nil() && kind == ContentType::None;
    let status = if nothing { 204 } else { status_of(&status).map_err(wrong)? };
    let mut response = Response { status, content_type: kind, headers: Vec::new(), body };
    headers.apply(&mut response);
    Ok(response)
}

fn body_of(lua: &Lua, parts: &Table) -> Result<(ContentType, Bytes)> {
    let (body, json): (Value, Value) = (parts.raw_get("body")?, parts.raw_get("json")?);
    match (body, json) {
        (Value::Nil, Value::Nil) => Ok((ContentType::None, Bytes::new())),
        (Value::Nil, json) => {
            let body = json_body(lua, &json).map_err(|why| misuse("respond", why))?;
            Ok((ContentType::Json, body))
        }
        (Value::String(body), Value::Nil) => Ok((ContentType::Text, Bytes::copy_from_slice(&body.as_bytes()))),
        (Value::Buffer(body), Value::Nil) => Ok((ContentType::Text, Bytes::from(body.to_vec()))),
        (body, Value::Nil) => {
            Err(misuse("respond", format_args!("body must be a string, not {}; json takes other values", kind(&body))))
        }
        _ => Err(misuse("respond", "takes body or json, not both")),
    }
}

fn redirect(_: &Lua, (to, status): (Value, Value)) -> Result<Prepared> {
    let to = text("redirect", "the URL", &to)?;
    let status = match status {
        Value::Nil => 302,
        given => status_of(&given).ok().filter(|status| REDIRECTS.contains(status)).ok_or_else(|| {
            misuse(
                "redirect",
                format_args!("the status must be one of 301, 302, 303, 307 and 308, not {}", name_of(&given)),
            )
        })?,
    };
    let mut headers = Headers::default();
    headers.line("location", exchange::location(&to).as_bytes().to_vec()).map_err(|why| misuse("redirect", why))?;
    Ok(Prepared(Response { status, headers: headers.lines, ..Response::default() }))
}

fn html(_: &Lua, page: Value) -> Result<Prepared> {
    let page = text("html", "the page", &page)?;
    let body = Bytes::copy_from_slice(page.as_bytes());
    let content_type = content_type("text/html; charset=utf-8".to_owned());
    Ok(Prepared(Response { status: 200, content_type, headers: Vec::new(), body }))
}

/// Never comes back: the error it raises is followed by one at every call and loop, so that `pcall` ends too.
fn abort(lua: &Lua, (status, message): (Value, Value)) -> Result<()> {
    let status = whole("abort", "the status", &status, 400..=599)?;
    let mut problem = Problem::new(u16::try_from(status).map_err(Error::external)?);
    if !message.is_nil() {
        problem.detail = Some(text("abort", "the message", &message)?.to_owned());
    }
    let stopped = fiber::with_call(|call| {
        call.aborted.replace(Some(Answer::Problem(problem)));
        fiber::stop(Stop::Aborted);
    });
    if stopped.is_none() {
        return Err(misuse("abort", "no request is being answered"));
    }
    fiber::arm(lua);
    Err(Error::runtime("the handler was aborted"))
}
