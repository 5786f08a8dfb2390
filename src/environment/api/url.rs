//! `url`: taking addresses apart, putting them together, and percent-encoding.

use std::sync::Arc;

use mlua::{Lua, LuaString, Result, Table, Value};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_encode};
use url::Url;

use crate::environment::api::arguments::{Options, bytes, kind, misuse, text, whole};
use crate::environment::api::error::{Failure, Outcome};
use crate::environment::api::{Host, Module};

/// The module.
pub const MODULE: Module = Module { name: "url", install };

/// All but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What cannot stand in a path; `%` may, since a path is given as encoded as it shall be sent.
const NOT_PATH: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'?').add(b'`').add(b'{').add(b'}');

/// What cannot stand in a query given as text.
const NOT_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>');

/// What cannot stand in a fragment given as text.
const NOT_FRAGMENT: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');

/// The parts that `url.build` takes and `url.parse` gives.
const PARTS: [&str; 8] = ["scheme", "username", "password", "host", "port", "path", "query", "fragment"];

fn install(lua: &Lua, _: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("parse", lua.create_function(parse)?)?;
    module.raw_set("build", lua.create_function(build)?)?;
    module.raw_set("escape", lua.create_function(escape)?)?;
    module.raw_set("unescape", lua.create_function(unescape)?)?;
    Ok(Value::Table(module))
}

fn parse(lua: &Lua, address: Value) -> Result<Outcome<Table>> {
    let address = text("url.parse", "url", &address)?;
    match Url::parse(&address) {
        Ok(url) => parts(lua, &url).map(Ok),
        Err(error) => Ok(Err(invalid(error))),
    }
}

fn invalid(error: url::ParseError) -> Failure {
    Failure::new("invalid-url", format!("not an absolute URL: {error}"))
}

fn parts(lua: &Lua, url: &Url) -> Result<Table> {
    let parts = lua.create_table()?;
    parts.raw_set("scheme", url.scheme())?;
    if !url.username().is_empty() {
        parts.raw_set("username", unescaped(lua, url.username())?)?;
    }
    if let Some(password) = url.password() {
        parts.raw_set("password", unescaped(lua, password)?)?;
    }
    parts.raw_set("host", url.host_str())?;
    parts.raw_set("port", url.port_or_known_default())?;
    parts.raw_set("path", url.path())?;
    parts.raw_set("query", query_table(lua, url.query().unwrap_or_default())?)?;
    parts.raw_set("fragment", url.fragment())?;
    Ok(parts)
}

fn unescaped(lua: &Lua, text: &str) -> Result<LuaString> {
    lua.create_string(percent_encoding::percent_decode_str(text).collect::<Vec<u8>>())
}

/// Names with their value, or with the list of their values when there are several.
fn query_table(lua: &Lua, query: &str) -> Result<Table> {
    let table = lua.create_table()?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = unescaped(lua, &name.replace('+', " "))?;
        let value = unescaped(lua, &value.replace('+', " "))?;
        match table.raw_get(&name)? {
            Value::Nil => table.raw_set(name, value)?,
            Value::Table(values) => values.raw_push(value)?,
            first => table.raw_set(name, lua.create_sequence_from([first, Value::String(value)])?)?,
        }
    }
    Ok(table)
}

fn build(_: &Lua, given: Value) -> Result<Outcome<String>> {
    if given.is_nil() {
        return Err(misuse("url.build", "parts must be a table, not nil"));
    }
    let parts = Options::read("url.build", &given, &PARTS)?;
    let mut built = String::new();
    let origin = part(&parts, "host")?;
    match (part(&parts, "scheme")?, &origin) {
        (Some(scheme), Some(host)) => {
            if let Err(failure) = authority(&parts, &mut built, &scheme, host)? {
                return Ok(Err(failure));
            }
        }
        (None, None) => {}
        (Some(_), None) => return Err(misuse("url.build", "a scheme needs a host")),
        (None, Some(_)) => return Err(misuse("url.build", "a host needs a scheme")),
    }
    tail(&parts, &mut built, origin.is_some())?;
    if origin.is_none() {
        return Ok(Ok(built));
    }
    Ok(Url::parse(&built).map(String::from).map_err(invalid))
}

fn part(parts: &Options<'_>, name: &str) -> Result<Option<String>> {
    match parts.get(name)? {
        Value::Nil => Ok(None),
        value => text("url.build", name, &value).map(|text| Some(text.to_owned())),
    }
}

/// Writes `scheme://user@host:port`, whose parts must not smuggle in another part.
fn authority(parts: &Options<'_>, built: &mut String, scheme: &str, host: &str) -> Result<Outcome<()>> {
    let schemely = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    if scheme.is_empty() || !scheme.chars().all(schemely) {
        return Ok(Err(Failure::new("invalid-url", format!("{scheme:?} is not a scheme"))));
    }
    let bracketed = host.starts_with('[') && host.ends_with(']');
    let foreign = |character: char| {
        character.is_control()
            || character.is_whitespace()
            || "/\\?#@".contains(character)
            || (character == ':' && !bracketed)
    };
    if host.is_empty() || host.chars().any(foreign) {
        return Ok(Err(Failure::new("invalid-url", format!("{host:?} is not a host"))));
    }
    built.push_str(scheme);
    built.push_str("://");
    let password = part(parts, "password")?;
    if let Some(username) = part(parts, "username")?.or_else(|| password.as_ref().map(|_| String::new())) {
        built.extend(percent_encode(username.as_bytes(), RESERVED));
        if let Some(password) = password {
            built.push(':');
            built.extend(percent_encode(password.as_bytes(), RESERVED));
        }
        built.push('@');
    }
    built.push_str(host);
    match parts.get("port")? {
        Value::Nil => {}
        port => built.push_str(&format!(":{}", whole("url.build", "port", &port, 0..=65_535)?)),
    }
    Ok(Ok(()))
}

/// Writes path, query and fragment.
fn tail(parts: &Options<'_>, built: &mut String, absolute: bool) -> Result<()> {
    let path = part(parts, "path")?.unwrap_or_default();
    if absolute && !path.starts_with('/') {
        built.push('/');
    }
    built.extend(percent_encode(path.as_bytes(), NOT_PATH));
    let query = match parts.get("query")? {
        Value::Nil => String::new(),
        Value::String(query) => percent_encode(&query.as_bytes(), NOT_QUERY).to_string(),
        Value::Table(query) => query_text(&query)?,
        other => {
            return Err(misuse("url.build", format_args!("query must be a table or a string, not {}", kind(&other))));
        }
    };
    if !query.is_empty() {
        built.push('?');
        built.push_str(&query);
    }
    if let Some(fragment) = part(parts, "fragment")? {
        built.push('#');
        built.extend(percent_encode(fragment.as_bytes(), NOT_FRAGMENT));
    }
    Ok(())
}

/// `a=1&b=2`, sorted by name, since Lua's order changes from run to run.
fn query_text(query: &Table) -> Result<String> {
    let mut pairs = Vec::new();
    for pair in query.pairs::<Value, Value>() {
        let (name, value) = pair?;
        let name = bytes("url.build", "the name of a query parameter", &name)?.to_vec();
        match &value {
            Value::Table(values) => {
                let values: Vec<String> =
                    values.sequence_values().map(|value| query_value(&value?)).collect::<Result<_>>()?;
                pairs.push((name, values));
            }
            value => pairs.push((name, vec![query_value(value)?])),
        }
    }
    pairs.sort();
    let mut text = String::new();
    for (name, values) in pairs {
        for value in values {
            let separator = if text.is_empty() { "" } else { "&" };
            text.push_str(&format!("{separator}{}={value}", percent_encode(&name, RESERVED)));
        }
    }
    Ok(text)
}

fn query_value(value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(percent_encode(&text.as_bytes(), RESERVED).to_string()),
        Value::Boolean(_) | Value::Integer(_) | Value::Number(_) => {
            Ok(percent_encode(value.to_string()?.as_bytes(), RESERVED).to_string())
        }
        other => {
            Err(misuse("url.build", format_args!("the value of a query parameter must be text, not {}", kind(other))))
        }
    }
}

fn escape(_: &Lua, (data, options): (Value, Value)) -> Result<String> {
    let data = bytes("url.escape", "text", &data)?;
    let form = Options::read("url.escape", &options, &["form"])?.boolean("form", false)?;
    let escaped = percent_encode(&data, RESERVED).to_string();
    Ok(if form { escaped.replace("%20", "+") } else { escaped })
}

fn unescape(lua: &Lua, (data, options): (Value, Value)) -> Result<Outcome<LuaString>> {
    let data = bytes("url.unescape", "text", &data)?;
    let form = Options::read("url.unescape", &options, &["form"])?.boolean("form", false)?;
    match decoded(&data, form) {
        Ok(plain) => lua.create_string(plain).map(Ok),
        Err(at) => {
            let message = format!("not percent-encoded: byte {at} is a % without two hexadecimal digits");
            Ok(Err(Failure::new("invalid-escape", message)))
        }
    }
}

/// The bytes, or the place (from 1) of a `%` without digits.
fn decoded(data: &[u8], form: bool) -> std::result::Result<Vec<u8>, usize> {
    let mut plain = Vec::with_capacity(data.len());
    let mut at = 0;
    while let Some(byte) = data.get(at) {
        match byte {
            b'%' => {
                let digits = data.get(at + 1..at + 3).ok_or(at + 1)?;
                plain.extend(hex::decode(digits).map_err(|_| at + 1)?);
                at += 2;
            }
            b'+' if form => plain.push(b' '),
            other => plain.push(*other),
        }
        at += 1;
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn parse() {
        check(
            &[super::MODULE],
            &[
                ("url.parse('https://example.org/a?x=1#f').scheme", "https"),
                ("url.parse('https://example.org/a?x=1#f').host", "example.org"),
                ("url.parse('https://example.org/a?x=1#f').port", "443"),
                ("url.parse('https://example.org:8443/a').port", "8443"),
                ("url.parse('https://example.org/a%20b?x=1#f').path", "/a%20b"),
                ("url.parse('https://example.org/a?x=1#f').fragment", "f"),
                ("url.parse('https://example.org').path", "/"),
                ("url.parse('https://example.org').fragment", "nil"),
                ("url.parse('https://u%40:p%3A@example.org/').username", "u@"),
                ("url.parse('https://u%40:p%3A@example.org/').password", "p:"),
                ("url.parse('https://example.org/').username", "nil"),
                ("url.parse('https://e/?a=1+2&b=%26&a=3').query.b", "&"),
                ("url.parse('https://e/?a=1+2&b=%26&a=3&a=').query.a", "{1 2, 3, }"),
                ("url.parse('https://e/?a&b=1=2').query.b", "1=2"),
                ("next(url.parse('https://e/').query)", "nil"),
                ("url.parse('https://e/?a=%ff').query.a == '\\255'", "true"),
                ("url.parse('mailto:me@example.org').host", "nil"),
                ("url.parse('https://[::1]:80/').host", "[::1]"),
                ("url.parse('/relative')", "nil, not an absolute URL: relative URL without a base"),
                ("url.parse('https://a b/')", "nil, not an absolute URL: invalid international domain name"),
                ("select(2, url.parse('')).code", "invalid-url"),
                ("url.parse(1)", "raises url.parse: url must be a string, not a number"),
                ("url.parse('\\255')", "raises url.parse: url must be valid UTF-8"),
            ],
        );
    }

    #[test]
    fn build() {
        check(
            &[super::MODULE],
            &[
                ("url.build { scheme = 'https', host = 'example.org' }", "https://example.org/"),
                ("url.build { scheme = 'https', host = 'e', port = 443, path = 'a b' }", "https://e/a%20b"),
                ("url.build { scheme = 'http', host = 'e', port = 8080, path = '/x' }", "http://e:8080/x"),
                ("url.build { scheme = 'http', host = '[::1]', port = 1 }", "http://[::1]:1/"),
                ("url.build { scheme = 'http', host = 'e', username = 'a@', password = 'b:' }", "http://a%40:b%3A@e/"),
                (
                    "url.build { path = '/x', query = { b = 2, a = { 'x y', '&' }, c = true } }",
                    "/x?a=x%20y&a=%26&b=2&c=true",
                ),
                ("url.build { path = '/x', query = 'a=1&b=2' }", "/x?a=1&b=2"),
                ("url.build { path = '/what?', fragment = 'top' }", "/what%3F#top"),
                ("url.build { query = {} }", ""),
                ("url.build(url.parse('https://u:p@e:81/a?x=1&x=2#f'))", "https://u:p@e:81/a?x=1&x=2#f"),
            ],
        );
    }

    #[test]
    fn parts_cannot_smuggle_in_others() {
        check(
            &[super::MODULE],
            &[
                ("url.build { scheme = 'https', host = 'evil/@x' }", "nil, \"evil/@x\" is not a host"),
                ("url.build { scheme = 'https', host = 'e\\r\\nx' }", "nil, \"e\\r\\nx\" is not a host"),
                ("url.build { scheme = 'ht tp', host = 'e' }", "nil, \"ht tp\" is not a scheme"),
                ("url.build { path = '/a\\r\\nb' }", "/a%0D%0Ab"),
                ("url.build { host = 'e' }", "raises url.build: a host needs a scheme"),
                ("url.build { scheme = 'https' }", "raises url.build: a scheme needs a host"),
                (
                    "url.build { scheme = 'https', host = 'e', port = 70000 }",
                    "raises url.build: port must be a whole number from 0 to 65535, not 70000",
                ),
                ("url.build { hots = 'e' }", "raises url.build: unknown option \"hots\"; did you mean \"host\"?"),
                (
                    "url.build { query = { a = {{}} } }",
                    "raises url.build: the value of a query parameter must be text, not a table",
                ),
                (
                    "url.build { query = { 1 } }",
                    "raises url.build: the name of a query parameter must be a string, not a number",
                ),
                ("url.build()", "raises url.build: parts must be a table, not nil"),
                ("url.build('x')", "raises url.build: options must be a table, not a string"),
            ],
        );
    }

    #[test]
    fn escapes() {
        check(
            &[super::MODULE],
            &[
                ("url.escape('a-b.c_d~e')", "a-b.c_d~e"),
                ("url.escape('a b&c/d\\0\\255')", "a%20b%26c%2Fd%00%FF"),
                ("url.escape('a b+c', { form = true })", "a+b%2Bc"),
                ("url.unescape('a%20b+c')", "a b+c"),
                ("url.unescape('a%20b+c', { form = true })", "a b c"),
                ("url.unescape('%fF') == '\\255'", "true"),
                ("url.unescape('100%')", "nil, not percent-encoded: byte 4 is a % without two hexadecimal digits"),
                ("url.unescape('%zz')", "nil, not percent-encoded: byte 1 is a % without two hexadecimal digits"),
                ("select(2, url.unescape('%')).code", "invalid-escape"),
                ("url.escape({})", "raises url.escape: text must be a string, not a table"),
                (
                    "url.escape('x', { from = true })",
                    "raises url.escape: unknown option \"from\"; did you mean \"form\"?",
                ),
            ],
        );
    }
}
