//! Every form of an answer: what a handler returns, and what is sent or logged.

use super::*;
use crate::environment::api::testing::{message, state};
use crate::environment::api::{hex, json, respond};

fn runspace() -> Lua {
    state(&[json::MODULE, hex::MODULE, respond::RESPOND, respond::REDIRECT, respond::HTML])
}

/// The answer to a chunk in one line.
fn said(lua: &Lua, code: &str) -> String {
    let values = match lua.load(code).set_name("=case").eval::<MultiValue>() {
        Ok(values) => values,
        Err(error) => return format!("raises {}", message(&error)),
    };
    match read(lua, values) {
        Err(why) => format!("fails {why}"),
        Ok(Answer::Problem(problem)) => {
            format!("problem {}{}", problem.status, lines(problem.headers))
        }
        Ok(Answer::Response(response)) => {
            let kind = match response.content_type {
                ContentType::None => "-".to_owned(),
                ContentType::Text => "text".to_owned(),
                ContentType::Html => "html".to_owned(),
                ContentType::Json => "json".to_owned(),
                ContentType::Other(other) => other,
            };
            let body = String::from_utf8_lossy(&response.body).into_owned();
            format!("{} {kind} {body}{}", response.status, lines(response.headers))
        }
    }
}

fn lines(mut headers: Vec<(String, Vec<u8>)>) -> String {
    headers.sort();
    let line = |(name, value): &(String, Vec<u8>)| format!(" | {name}: {}", String::from_utf8_lossy(value));
    headers.iter().map(line).collect()
}

fn check(cases: &[(&str, &str)]) {
    let lua = runspace();
    for (code, wanted) in cases {
        assert_eq!(said(&lua, code), *wanted, "{code}");
    }
}

#[test]
fn values_alone() {
    check(&[
        ("return", "204 - "),
        ("return nil", "204 - "),
        ("return nil, nil", "204 - "),
        ("return 'hi'", "200 text hi"),
        ("return ''", "200 text "),
        ("return {}", "200 json {}"),
        ("return json.array {}", "200 json []"),
        ("return { a = { 1, 2 } }", "200 json {\"a\":[1,2]}"),
        ("return 5", "200 json 5"),
        ("return 2.5", "200 json 2.5"),
        ("return true", "200 json true"),
        ("return false", "200 json false"),
        ("return json.null", "200 json null"),
        ("return 1, 2, 3, 4", "fails a handler returns at most a body, a status and headers"),
        ("return print", "fails a function cannot be an answer"),
        ("return coroutine.create(print)", "fails a coroutine cannot be an answer"),
        ("return newproxy()", "fails a userdata cannot be an answer"),
        ("return { x = { 0/0 } }", "fails the answer cannot be written as JSON: value.x[1]: NaN is not a JSON number"),
        (
            "local t = {}; t.self = t; return t",
            "fails the answer cannot be written as JSON: value.self: a cycle: this table holds itself",
        ),
    ]);
}

#[test]
fn bytes_pass_unchanged() {
    let lua = runspace();
    let values = lua.load("return '\\0\\255\\r\\n'").eval().unwrap();
    let Ok(Answer::Response(response)) = read(&lua, values) else { panic!("no response") };
    assert_eq!(&response.body[..], b"\0\xff\r\n");
}

#[test]
fn with_a_status() {
    check(&[
        ("return nil, 404", "problem 404"),
        ("return nil, 500", "problem 500"),
        ("return nil, 201", "201 - "),
        ("return nil, 304", "304 - "),
        ("return nil, 503, { ['Retry-After'] = 5 }", "problem 503 | retry-after: 5"),
        ("return 'x', 201", "201 text x"),
        ("return 'x', 404", "404 text x"),
        ("return { a = 1 }, 422", "422 json {\"a\":1}"),
        ("return 'x', nil, { ['X-A'] = 'b' }", "200 text x | x-a: b"),
        ("return nil, nil, { ['X-A'] = 'b' }", "204 -  | x-a: b"),
        ("return 'x', 99", "fails the status must be a whole number from 200 to 599, not 99"),
        ("return 'x', 600", "fails the status must be a whole number from 200 to 599, not 600"),
        ("return nil, 101", "fails the status must be a whole number from 200 to 599, not 101"),
        ("return 'x', 200.5", "fails the status must be a whole number from 200 to 599, not 200.5"),
        ("return 'x', '200'", "fails the status must be a number, not a string"),
    ]);
}

#[test]
fn nil_and_an_error() {
    check(&[
        ("return nil, 'no luck'", "fails no luck"),
        ("return hex.decode('zz')", "fails not hexadecimal: byte 1 is 'z'"),
        ("return nil, { message = 'told' }", "fails told"),
        ("return nil, setmetatable({}, { __tostring = function() return 'printed' end })", "fails printed"),
        ("return nil, false", "fails false"),
    ]);
}

#[test]
fn with_headers() {
    check(&[
        (
            "return 'x', 200, { ['X-List'] = { 'a', 'b' }, N = 1.5, B = true }",
            "200 text x | b: true | n: 1.5 | x-list: a | x-list: b",
        ),
        ("return 'x', 200, { ['Content-Type'] = 'image/png' }", "200 image/png x"),
        ("return {}, 200, { ['content-type'] = 'application/hal+json' }", "200 application/hal+json {}"),
        ("return 'x', 200, { ['content-type'] = 'text/html; charset=utf-8' }", "200 html x"),
        ("return 'x', 200, { v = '\\233\\t' }", "200 text x | v: \u{fffd}\t"),
        ("return 'x', 200, 'y'", "fails headers must be a table, not a string"),
        ("return 'x', 200, { 'y' }", "fails a header name must be a string, not a number"),
        ("return 'x', 200, { x = {} }", "200 text x"),
        (
            "return 'x', 200, { x = print }",
            "fails header \"x\": the value must be a string, a number or a list of them, not a function",
        ),
    ]);
}

#[test]
fn nothing_begins_another_line() {
    let lua = runspace();
    for bad in ["a\\r\\nInjected: 1", "a\\nInjected: 1", "a\\r\\n\\r\\nBODY", "a\\0b", "a\\rb", "\\127"] {
        let value = "the value holds a line break or another control character";
        let name = "the name may hold letters, digits and !#$%&'*+-.^_`|~ only";
        for (code, wanted) in [
            (format!("return 'x', 200, {{ ['X-Echo'] = '{bad}' }}"), format!("fails header \"x-echo\": {value}")),
            (
                format!("return 'x', 200, {{ ['X-Echo'] = {{ 'a', '{bad}' }} }}"),
                format!("fails header \"x-echo\": {value}"),
            ),
            (
                format!("return 'x', 200, {{ ['Content-Type'] = '{bad}' }}"),
                format!("fails header \"content-type\": {value}"),
            ),
            (
                format!("return respond {{ body = 'x', type = '{bad}' }}"),
                format!("raises respond: header \"content-type\": {value}"),
            ),
            (format!("return redirect('{bad}')"), format!("raises redirect: header \"location\": {value}")),
        ] {
            assert_eq!(said(&lua, &code), wanted, "{code}");
        }
        let named = said(&lua, &format!("return 'x', 200, {{ ['{bad}'] = '1' }}"));
        assert!(named.starts_with("fails header ") && named.ends_with(name), "{named}");
        let cookie = said(&lua, &format!("return respond {{ cookies = {{ sid = '{bad}' }} }}"));
        assert!(cookie.starts_with("raises respond: cookie \"sid\": "), "{cookie}");
        let path = said(&lua, &format!("return respond {{ cookies = {{ sid = {{ value = 'x', path = '{bad}' }} }} }}"));
        assert!(path.starts_with("raises respond: cookie \"sid\": path "), "{path}");
        let key = said(&lua, &format!("return respond {{ cookies = {{ ['{bad}'] = 'x' }} }}"));
        assert!(key.starts_with("raises respond: cookie "), "{key}");
    }
}

#[test]
fn respond_takes_everything() {
    check(&[
        ("return respond {}", "204 - "),
        ("return respond { status = 202 }", "202 - "),
        ("return respond { body = 'x' }", "200 text x"),
        ("return respond { body = buffer.fromstring('x'), type = 'image/gif' }", "200 image/gif x"),
        ("return respond { json = { 1 }, status = 201 }", "201 json [1]"),
        ("return respond { json = json.null }", "200 json null"),
        ("return respond { json = false }", "200 json false"),
        (
            "return respond { body = 'x', headers = { a = 'b', ['content-type'] = 'text/css' } }",
            "200 text/css x | a: b",
        ),
        ("return respond { body = 'x', json = 1 }", "raises respond: takes body or json, not both"),
        ("return respond { body = {} }", "raises respond: body must be a string, not a table; json takes other values"),
        ("return respond { boddy = 'x' }", "raises respond: unknown field \"boddy\"; did you mean \"body\"?"),
        (
            "return respond { 'x' }",
            "raises respond: unknown field \"1\"; known: status, body, json, type, headers, cookies",
        ),
        ("return respond 'x'", "raises respond: takes one table, not a string"),
        (
            "return respond { status = 1000 }",
            "raises respond: the status must be a whole number from 200 to 599, not 1000",
        ),
        (
            "return respond { json = { f = print } }",
            "raises respond: the answer cannot be written as JSON: value.f: a function cannot be written as JSON",
        ),
        ("return respond {}, 201", "fails an answer made with respond, redirect, html or file is returned alone"),
        ("local kept = respond { body = 'x' }; return kept", "200 text x"),
        ("return getmetatable(respond {})", "200 json false"),
        (
            "return { respond {} }",
            "fails the answer cannot be written as JSON: value[1]: a userdata cannot be written as JSON",
        ),
    ]);
}

#[test]
fn cookies() {
    check(&[
        ("return respond { cookies = { sid = 'abc' } }", "204 -  | set-cookie: sid=abc"),
        (
            "return respond { cookies = { sid = { value = 'abc', path = '/', domain = 'x.org', max_age = '1h', http_only = true, secure = true, same_site = 'strict' } } }",
            "204 -  | set-cookie: sid=abc; Path=/; Domain=x.org; Max-Age=3600; HttpOnly; Secure; SameSite=Strict",
        ),
        (
            "return respond { cookies = { a = { value = '', max_age = 0 }, b = 1 } }",
            "204 -  | set-cookie: a=; Max-Age=0 | set-cookie: b=1",
        ),
        (
            "return respond { cookies = { a = { value = 'x', same_site = 'none' } } }",
            "raises respond: cookie \"a\": same_site \"none\" needs secure = true, or browsers drop the cookie",
        ),
        (
            "return respond { cookies = { a = { value = 'x', same_site = 'maybe' } } }",
            "raises respond: cookie \"a\": same_site must be \"strict\", \"lax\" or \"none\", not \"maybe\"",
        ),
        (
            "return respond { cookies = { a = { value = 'x', htp_only = true } } }",
            "raises respond: cookie \"a\": unknown field \"htp_only\"; did you mean \"http_only\"?",
        ),
        (
            "return respond { cookies = { a = { path = '/' } } }",
            "raises respond: cookie \"a\": the value must be a string, not nil",
        ),
        (
            "return respond { cookies = { a = { value = 'x', secure = 1 } } }",
            "raises respond: cookie \"a\": secure must be true or false, not a number",
        ),
        (
            "return respond { cookies = { a = { value = 'x', max_age = -1 } } }",
            "raises respond: cookie \"a\": max_age must be from 0 seconds to 100 years, not -1 seconds",
        ),
        (
            "return respond { cookies = { ['a b'] = 'x' } }",
            "raises respond: cookie \"a b\": the name may hold letters, digits and !#$%&'*+-.^_`|~ only",
        ),
        ("return respond { cookies = 'x' }", "raises respond: cookies must be a table, not a string"),
    ]);
    let spaced = said(&runspace(), "return respond { cookies = { a = 'x y' } }");
    assert!(spaced.ends_with("url.escape makes it fit"), "{spaced}");
}

#[test]
fn redirects_and_pages() {
    check(&[
        ("return redirect('/there?a=1')", "302 -  | location: /there?a=1"),
        ("return redirect('/x', 308)", "308 -  | location: /x"),
        (
            "return redirect('/x', 200)",
            "raises redirect: the status must be one of 301, 302, 303, 307 and 308, not 200",
        ),
        ("return redirect()", "raises redirect: the URL must be a string, not nil"),
        ("return html('<p>')", "200 html <p>"),
        ("return html(5)", "raises html: the page must be a string, not a number"),
    ]);
}
