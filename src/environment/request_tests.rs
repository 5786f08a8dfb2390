//! What handlers read of requests: each case is an expression with what it answers.

use std::cell::{Cell, OnceCell, RefCell};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::*;
use crate::environment::api;
use crate::environment::api::testing::{answer, state};
use crate::environment::call::CallContext;
use crate::environment::fiber::with_test_call;
use crate::exchange::{Head, RequestId};
use crate::script::{LineMap, Script, ScriptId};

/// A request that says what it is told.
#[derive(Clone, Default)]
struct Sent {
    query: &'static str,
    headers: Vec<(&'static str, &'static [u8])>,
    body: &'static [u8],
}

impl Head for Sent {
    fn method(&self) -> &str {
        "POST"
    }
    fn path(&self) -> &str {
        "/users/a%20b"
    }
    fn query(&self) -> &str {
        self.query
    }
    fn host(&self) -> &str {
        "example.org"
    }
    fn time(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(1_500)
    }
    fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }
    fn header_all<'a>(&'a self, name: &str, each: &mut dyn FnMut(&'a [u8])) {
        self.headers.iter().filter(|(found, _)| *found == name).for_each(|(_, value)| each(value));
    }
    fn each_header<'a>(&'a self, each: &mut dyn FnMut(&'a str, &'a [u8])) {
        self.headers.iter().for_each(|(name, value)| each(name, value));
    }
}

fn request(sent: &Sent) -> Request {
    let declared =
        |values: &[(&str, Typed)]| values.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
    Request {
        head: Box::new(sent.clone()),
        route: "/users/{id}".into(),
        id: RequestId("r-1".into()),
        scheme: "https",
        ip: [10, 0, 0, 1].into(),
        params: declared(&[("id", Typed::Integer(9_007_199_254_740_993)), ("name", Typed::Text("a b".into()))]),
        query: declared(&[
            ("page", Typed::Integer(2)),
            ("tags", Typed::Many(vec![Typed::Text("x".into()), Typed::Text("y".into())])),
            ("none", Typed::Many(Vec::new())),
            ("flag", Typed::Boolean(true)),
        ]),
        headers: declared(&[("x-count", Typed::Number(1.5))]),
        body: Bytes::from_static(sent.body),
    }
}

fn call(request: Option<Request>) -> Rc<CallContext> {
    Rc::new(CallContext {
        request: request.map(Box::new),
        log: slog::Logger::root(slog::Discard, slog::o!()).into(),
        made: OnceCell::new(),
        side_by_side: Cell::new(0),
        script: Arc::new(Script {
            id: ScriptId(1),
            origin: "case".into(),
            text: "".into(),
            bytecode: [].into(),
            lines: LineMap::default(),
            native: false,
        }),
        table: Cell::new(ptr::null()),
        aborted: RefCell::new(None),
        loaded: std::cell::RefCell::new(None),
    })
}

/// The `req` of a call, as the entry makes it.
fn made(lua: &Lua, metatable: &Table, call: &CallContext) -> Table {
    let req = lua.create_table().unwrap();
    req.set_metatable(Some(metatable.clone())).unwrap();
    call.table.set(req.to_pointer());
    req
}

fn check(sent: &Sent, cases: &[(&str, &str)]) {
    let lua = state(&[api::json::MODULE]);
    let kit = metatable(&lua).unwrap();
    let call = call(Some(request(sent)));
    lua.globals().set("req", made(&lua, &kit, &call)).unwrap();
    let ((), _) = with_test_call(call, || {
        for (code, wanted) in cases {
            assert_eq!(answer(&lua, code), *wanted, "{code}");
        }
    });
}

#[test]
fn plain_fields() {
    let sent = Sent { body: b"\0\xffbody", ..Sent::default() };
    check(
        &sent,
        &[
            ("req.method", "POST"),
            ("req.path", "/users/a%20b"),
            ("req.route", "/users/{id}"),
            ("req.scheme", "https"),
            ("req.host", "example.org"),
            ("req.id", "r-1"),
            ("req.ip", "10.0.0.1"),
            ("req.time", "1.5"),
            ("req.user", "nil"),
            ("req.body == '\\0\\255body' and #req.body", "6"),
            ("(function() req.ctx.seen = 1; return req.ctx.seen end)()", "1"),
            ("rawequal(req.params, req.params) and rawequal(req.json, req.json)", "true"),
            ("req.methd", "raises req: unknown field \"methd\"; did you mean \"method\"?"),
            ("req.zebra", "raises req: unknown field \"zebra\""),
            ("req[1]", "raises req: fields have names, not a number as a key"),
            (
                "(function() req.zebra = 1 end)()",
                "raises req: \"zebra\" cannot be set; req.ctx is for values of your own",
            ),
            ("getmetatable(req)", "false"),
            ("pcall(setmetatable, req, {})", "false, cannot change a protected metatable"),
        ],
    );
}

#[test]
fn params_and_query() {
    let query = "tag=a&tag=b&p=a+b&l=a%2Bb&e=&bare&arr[]=5&eq=x=y&u=%E6%9C%88&page=7&page=8&flag=yes";
    check(
        &Sent { query, ..Sent::default() },
        &[
            ("tostring(req.params.id)", "9007199254740993"),
            ("req.params.name", "a b"),
            ("req.params.other", "nil"),
            ("req.query.tag", "a"),
            ("req.query.p", "a b"),
            ("req.query.l", "a+b"),
            ("req.query.e == '' and req.query.bare == ''", "true"),
            ("req.query['arr[]']", "5"),
            ("req.query.eq", "x=y"),
            ("req.query.u", "月"),
            ("req.query.page + 1", "3"),
            ("req.query.flag == true", "true"),
            ("table.concat(req.query.tags, ' ')", "x y"),
            ("json.encode(req.query.none)", "[]"),
            ("json.encode(req:query_all('tag'))", "[\"a\",\"b\"]"),
            ("json.encode(req:query_all('absent'))", "[]"),
            ("json.encode(req:query_all('tags'))", "[\"x\",\"y\"]"),
            ("json.encode(req:query_all('flag'))", "[true]"),
            ("json.encode(req:query_all('page'))", "[\"7\",\"8\"]"),
            ("(function() local n = 0 for _ in pairs(req.query) do n += 1 end return n end)()", "12"),
        ],
    );
}

#[test]
fn headers_and_cookies() {
    let headers: Vec<(&str, &[u8])> = vec![
        ("content-type", b"text/plain"),
        ("x-twice", b"1"),
        ("x-twice", b"2"),
        ("x-count", b"1.5"),
        ("x-bytes", b"\xff"),
        ("cookie", b"sid=abc; theme=\"dark\"; sid=later; =x; broken; e="),
        ("cookie", b"other=1=2"),
    ];
    check(
        &Sent { headers, ..Sent::default() },
        &[
            ("req.headers['content-type']", "text/plain"),
            ("req.headers.content_type", "text/plain"),
            ("req.headers['Content-Type']", "text/plain"),
            ("req.headers.absent", "nil"),
            ("req.headers.Absent_Too", "nil"),
            ("req.headers[1]", "nil"),
            ("req.headers.x_twice", "1"),
            ("json.encode(req:header_all('X_Twice'))", "[\"1\",\"2\"]"),
            ("json.encode(req:header_all('absent'))", "[]"),
            ("req.headers.x_count + 1", "2.5"),
            ("req.headers.x_bytes == '\\255'", "true"),
            ("(function() local n = 0 for _ in pairs(req.headers) do n += 1 end return n end)()", "5"),
            ("req.cookies.sid", "abc"),
            ("req.cookies.theme", "dark"),
            ("req.cookies.e", ""),
            ("req.cookies.other", "1=2"),
            ("req.cookies.broken", "nil"),
        ],
    );
}

#[test]
fn bodies_as_json() {
    for (body, wanted) in [
        (&b""[..], "nil"),
        (b"  \r\n ", "nil"),
        (b"null", "true"),
        (b"\xef\xbb\xbf{\"a\":1}", "{\"a\":1}"),
        (b"[[],{}]", "[[],{}]"),
    ] {
        let code = "(function() local v, e = req:json(); if v == json.null then return true end; return e or v and json.encode(v) end)()";
        check(&Sent { body, ..Sent::default() }, &[(code, wanted)]);
    }
    check(
        &Sent { body: b"{\"a\":1,}", ..Sent::default() },
        &[
            ("req:json()", "nil, not valid JSON: trailing comma at line 1, column 8 (byte 8)"),
            ("select(2, req:json()).code", "json"),
            ("req.body", "{\"a\":1,}"),
            ("req.json()", "raises req: methods are called with a colon, such as req:json()"),
        ],
    );
}

#[test]
fn bodies_as_forms() {
    let headers: Vec<(&str, &[u8])> = vec![("content-type", b"application/x-www-form-urlencoded")];
    check(
        &Sent { body: b"a=1&a=2&b=x+y", headers, ..Sent::default() },
        &[("req:form().a .. req:form().b", "1x y"), ("json.encode(req:files())", "[]")],
    );
    let headers: Vec<(&str, &[u8])> = vec![("content-type", b"multipart/form-data; boundary=\"b b\"")];
    let body = b"--b b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv\r\n--b b\r\n\
        Content-Disposition: form-data; name=\"f\"; filename=\"../x\"\r\n\r\n\0\xff\r\n--b b--\r\n";
    check(
        &Sent { body, headers: headers.clone(), ..Sent::default() },
        &[
            ("json.encode(req:form())", "{\"t\":\"v\"}"),
            ("#req:files()", "1"),
            ("req:files()[1].field, req:files()[1].name, req:files()[1].type", "f, ../x, application/octet-stream"),
            ("req:files()[1].size, req:files()[1].data == '\\0\\255'", "2, true"),
        ],
    );
    check(
        &Sent { body: b"--b b\r\n", headers, ..Sent::default() },
        &[("req:form() == nil and select(2, req:files()).code", "form")],
    );
    check(&Sent::default(), &[("req:form()", "nil, the body is no form: its content type is missing")]);
}

#[test]
fn what_came_with_the_request_cannot_be_changed() {
    let headers = vec![("cookie", &b"a=1"[..])];
    let sent = Sent { query: "q=1", headers, ..Sent::default() };
    let code = |table| format!("select(2, pcall(function() req.{table}.new = 1 end)), req.{table}.new");
    let cases = ["params", "query", "headers", "cookies"].map(code);
    let lua = state(&[]);
    let metatable = metatable(&lua).unwrap();
    let call = call(Some(request(&sent)));
    lua.globals().set("req", made(&lua, &metatable, &call)).unwrap();
    let ((), _) = with_test_call(call, || {
        for case in &cases {
            assert_eq!(answer(&lua, case), "case:1: attempt to modify a readonly table, nil", "{case}");
        }
    });
}

#[test]
fn headers_are_found_however_long_and_however_written() {
    const LONG: &str = "x-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789-0123456789";
    let headers = vec![("x-tenant", &b"acme"[..]), ("x-tenant", &b"other"[..]), (LONG, &b"long"[..])];
    let case = format!("req.headers[{:?}], req.headers[{:?}]", LONG.to_uppercase(), LONG.replace('-', "_"));
    check(
        &Sent { headers, ..Sent::default() },
        &[
            ("req.headers.x_tenant, req.headers['X-Tenant'], req.headers['x-tenant']", "acme, acme, acme"),
            ("req.headers.none, req.headers.x_none, req.headers[1]", "nil, nil, nil"),
            (&case, "long, long"),
        ],
    );
}

#[test]
fn a_request_that_has_ended_says_so() {
    let lua = Lua::new();
    let kit = metatable(&lua).unwrap();
    let ended = "raises this request has ended; copy what you need from `req` while it runs";
    let first = call(Some(request(&Sent::default())));
    lua.globals().set("old", made(&lua, &kit, &first)).unwrap();
    assert_eq!(answer(&lua, "old.method"), ended);
    let ((), _) = with_test_call(first, || assert_eq!(answer(&lua, "old:json()"), "nil"));
    let second = call(Some(request(&Sent::default())));
    lua.globals().set("req", made(&lua, &kit, &second)).unwrap();
    let ((), _) = with_test_call(second, || {
        for code in ["old.method", "old:json()", "req.json(old)", "old:query_all('x')", "req.json({})"] {
            assert_eq!(answer(&lua, code), ended, "{code}");
        }
        assert_eq!(answer(&lua, "req.method"), "POST");
    });
    let startup = call(None);
    let req = made(&lua, &kit, &startup);
    lua.globals().set("req", req).unwrap();
    let ((), _) = with_test_call(startup, || assert_eq!(answer(&lua, "req.method"), ended));
}

#[test]
fn abort_keeps_its_answer_and_stops_the_handler() {
    let lua = state(&[api::respond::ABORT]);
    let call = call(Some(request(&Sent::default())));
    let (said, stop) = with_test_call(Rc::clone(&call), || {
        for (code, wanted) in [
            ("abort(200)", "raises abort: the status must be a whole number from 400 to 599, not 200"),
            ("abort()", "raises abort: the status must be a whole number, not nil"),
            ("abort(404, {})", "raises abort: the message must be a string, not a table"),
        ] {
            assert_eq!(answer(&lua, code), wanted, "{code}");
        }
        let swallow = "(function() pcall(abort, 404, 'no such note'); for i = 1, 10 do end; return 'swallowed' end)()";
        answer(&lua, swallow)
    });
    assert_eq!(said, "raises the handler was aborted");
    assert_eq!(stop, Some(fiber::Stop::Aborted));
    let kept = call.aborted.take();
    let Some(crate::exchange::Answer::Problem(problem)) = kept else { panic!("{kept:?}") };
    assert_eq!(problem, crate::exchange::Problem::with(404, "no such note"));
    assert_eq!(answer(&lua, "abort(404)"), "raises abort: no request is being answered");
}
