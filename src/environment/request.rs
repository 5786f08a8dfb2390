//! `req`: the request as a table whose fields are made when they are read.
//!
//! Making the table is nearly free; a handler pays only for what it looks at. What most look at is made by
//! [`request_fields`]; here is what is rare, and every mistake. Both read [`Request`] and change nothing.

use std::borrow::Cow;

use mlua::{Error, IntoLua, Lua, LuaString, MultiValue, Result, Table, Value};

use super::api::arguments::{kind, misuse, propose};
use super::api::error::{Failure, Outcome};
use super::api::json;
use super::fiber;
use super::form::{self, Form};
use super::json_read::{self, Item};
use super::request_fields;
use crate::exchange::{Request, Typed};

/// Every field and method, for "did you mean".
pub(super) const NAMES: [&str; 20] = [
    "method",
    "path",
    "route",
    "scheme",
    "host",
    "id",
    "ip",
    "time",
    "params",
    "query",
    "headers",
    "cookies",
    "body",
    "user",
    "ctx",
    "json",
    "form",
    "files",
    "query_all",
    "header_all",
];

/// The metatable of every `req` in a runspace.
///
/// # Errors
/// Lua has no memory left.
pub(super) fn metatable(lua: &Lua) -> Result<Table> {
    let methods = methods(lua)?;
    let slow = lua.create_function(move |lua, (req, name): (Table, Value)| field(lua, &methods, &req, &name))?;
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", request_fields::index(lua, slow, headers_metatable(lua)?)?)?;
    metatable.raw_set("__newindex", lua.create_function(refuse_write)?)?;
    metatable.raw_set("__metatable", false)?;
    metatable.set_readonly(true);
    Ok(metatable)
}

fn methods(lua: &Lua) -> Result<Table> {
    let methods = lua.create_table()?;
    methods.raw_set("json", request_fields::json(lua, lua.create_function(req_json)?)?)?;
    methods.raw_set("form", lua.create_function(req_form)?)?;
    methods.raw_set("files", lua.create_function(req_files)?)?;
    methods.raw_set("query_all", lua.create_function(query_all)?)?;
    methods.raw_set("header_all", lua.create_function(header_all)?)?;
    Ok(methods)
}

/// A metatable that finds headers however their names are written.
fn headers_metatable(lua: &Lua) -> Result<Table> {
    let metatable = lua.create_table()?;
    metatable.raw_set("__index", request_fields::headers_index(lua)?)?;
    metatable.raw_set("__metatable", false)?;
    metatable.set_readonly(true);
    Ok(metatable)
}

/// A header's name as it is kept: lower case, `-` for `_`. Owned if that is another one.
fn header_name(name: &[u8]) -> Cow<'_, str> {
    let is_other = |byte: &u8| byte.is_ascii_uppercase() || *byte == b'_';
    let text = String::from_utf8_lossy(name);
    if name.iter().any(is_other) {
        return Cow::Owned(text.to_ascii_lowercase().replace('_', "-"));
    }
    text
}

fn refuse_write(_: &Lua, (_, name, _): (Value, Value, Value)) -> Result<()> {
    let name = name.to_string()?;
    Err(misuse("req", format_args!("{name:?} cannot be set; req.ctx is for values of your own")))
}

/// Reads something of the request whose method was called.
fn with_request<R>(req: &Value, read: impl FnOnce(&Request) -> Result<R>) -> Result<R> {
    match req {
        Value::Table(req) => current(req, read),
        _ => Err(misuse("req", "methods are called with a colon, such as req:json()")),
    }
}

/// Reads something of the request that `req` stands for.
fn current<R>(req: &Table, read: impl FnOnce(&Request) -> Result<R>) -> Result<R> {
    let pointer = req.to_pointer();
    let result = fiber::with_call(|call| {
        let request = call.request.as_ref().filter(|_| call.table.get() == pointer)?;
        Some(read(request))
    });
    result
        .flatten()
        .unwrap_or_else(|| Err(Error::runtime("this request has ended; copy what you need from `req` while it runs")))
}

/// Makes a field at its first use and keeps it in the table.
fn field(lua: &Lua, methods: &Table, req: &Table, name: &Value) -> Result<Value> {
    let Value::String(text) = name else {
        return Err(misuse("req", format_args!("fields have names, not {} as a key", kind(name))));
    };
    let value = current(req, |request| make(lua, request, &text.as_bytes()))?;
    let value = match value {
        Some(value) => value,
        None => methods.raw_get::<Option<Value>>(text)?.ok_or_else(|| unknown(text))?,
    };
    req.raw_set(text, &value)?;
    Ok(value)
}

fn unknown(name: &LuaString) -> Error {
    let name = name.to_string_lossy();
    let end = propose(&name, NAMES.into_iter());
    misuse("req", format_args!("unknown field {name:?}{end}"))
}

/// The value of a rare field; `None` when there is no such field.
fn make(lua: &Lua, request: &Request, name: &[u8]) -> Result<Option<Value>> {
    Ok(Some(match name {
        b"cookies" => Value::Table(cookies(lua, request)?),
        b"ctx" => Value::Table(lua.create_table()?),
        b"user" => Value::Nil,
        _ => return Ok(None),
    }))
}

fn cookies(lua: &Lua, request: &Request) -> Result<Table> {
    let mut fields: Vec<(&[u8], Item<'_>)> = Vec::new();
    request.head.header_all("cookie", &mut |line| {
        fields.extend(cookie_pairs(line).map(|(name, value)| (name, Item::Raw(value))));
    });
    let cookies = json_read::record(lua, fields.into_iter())?;
    cookies.set_readonly(true);
    Ok(cookies)
}

/// The cookies of one line (RFC 6265, section 5.4), without the quotes around a value.
fn cookie_pairs(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    line.split(|byte| *byte == b';').filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (pair[..at].trim_ascii(), pair[at + 1..].trim_ascii());
        let unquoted = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        (!name.is_empty()).then_some((name, unquoted.unwrap_or(value)))
    })
}

/// Nothing for an empty body, the value, or nil and why the body is not JSON.
fn req_json(lua: &Lua, req: Value) -> Result<MultiValue> {
    let body = with_request(&req, |request| Ok(request.body.clone()))?;
    if body.trim_ascii().is_empty() {
        return Ok(MultiValue::from_iter([Value::Nil]));
    }
    Ok(match json::decode(lua, &body)? {
        Ok(value) => MultiValue::from_iter([value]),
        Err(error) => {
            let failure = Failure::from(error).into_lua(lua)?;
            MultiValue::from_iter([Value::Nil, failure])
        }
    })
}

fn form_of(req: &Value) -> Result<Outcome<Form>> {
    with_request(req, |request| {
        let content_type = request.head.header("content-type").unwrap_or_default();
        Ok(form::read(content_type, &request.body).map_err(|why| Failure::new("form", why)))
    })
}

/// The first value of each text field.
fn req_form(lua: &Lua, req: Value) -> Result<Outcome<Table>> {
    let form = match form_of(&req)? {
        Ok(form) => form,
        Err(failure) => return Ok(Err(failure)),
    };
    let fields = form.fields.iter().map(|(name, value)| (name.as_bytes(), Item::Raw(value)));
    json_read::record(lua, fields).map(Ok)
}

fn req_files(lua: &Lua, req: Value) -> Result<Outcome<Table>> {
    let form = match form_of(&req)? {
        Ok(form) => form,
        Err(failure) => return Ok(Err(failure)),
    };
    let list = json_read::list(lua, std::iter::empty())?;
    for file in form.files {
        let entry = lua.create_table_with_capacity(0, 5)?;
        entry.raw_set("field", file.field)?;
        entry.raw_set("name", file.name)?;
        entry.raw_set("type", file.content_type)?;
        entry.raw_set("size", file.data.len())?;
        entry.raw_set("data", lua.create_string(&file.data)?)?;
        list.raw_push(entry)?;
    }
    Ok(Ok(list))
}

fn query_all(lua: &Lua, (req, name): (Value, LuaString)) -> Result<Table> {
    with_request(&req, |request| {
        let name = name.as_bytes();
        let declared = request.query.iter().find(|(declared, _)| declared.as_bytes() == &*name);
        if let Some((_, Typed::Many(values))) = declared {
            return json_read::list(lua, values.iter().map(Item::Typed));
        }
        let pairs = form::pairs(request.head.query().as_bytes());
        let sent: Vec<_> = pairs.filter(|(sent, _)| sent.as_bytes() == &*name).map(|(_, value)| value).collect();
        match declared {
            Some((_, value)) if sent.len() < 2 => json_read::list(lua, std::iter::once(Item::Typed(value))),
            _ => json_read::list(lua, sent.iter().map(|value| Item::Raw(value.as_bytes()))),
        }
    })
}

fn header_all(lua: &Lua, (req, name): (Value, LuaString)) -> Result<Table> {
    with_request(&req, |request| {
        let name = name.as_bytes();
        let mut values = Vec::new();
        request.head.header_all(&header_name(&name), &mut |value| values.push(Item::Raw(value)));
        json_read::list(lua, values.into_iter())
    })
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
