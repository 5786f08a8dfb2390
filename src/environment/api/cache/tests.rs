//! What scripts see of the cache.

use super::*;
use crate::environment::api::json;
use slog::Logger;

use crate::environment::api::all::MODULE as ALL;
use crate::environment::api::sleep::MODULE as SLEEP;
use crate::environment::api::testing::{answer, check, fiber, host, in_fiber, on_worker, state_of};

#[test]
fn get_set_delete() {
    check(
        &[MODULE],
        &[
            ("cache.get('a')", "nil"),
            ("cache.set('a', 'x\\0\\255', { ttl = 60 })", "true"),
            ("cache.get('a') == 'x\\0\\255'", "true"),
            ("cache.set('a', { list = { 1, 2 }, on = false })", "true"),
            ("cache.get('a').list", "{1, 2}"),
            ("cache.get('a').on", "false"),
            ("cache.delete('a')", "true"),
            ("cache.delete('a')", "false"),
            ("cache.get('a')", "nil"),
            ("cache.set('b', 1, { ttl = 0 })", "true"),
            ("cache.get('b')", "nil"),
            ("cache.set('\\0\\255', 1) and cache.get('\\0\\255')", "1"),
            ("cache.set('', true) and cache.get('')", "true"),
        ],
    );
}

#[test]
fn what_is_kept_is_a_copy() {
    let lua = state_of(&[MODULE], &host());
    let code =
        "local t = { x = 1 } cache.set('a', t) t.x = 2 local u = cache.get('a') u.x = 3 assert(cache.get('a').x == 1)";
    lua.load(code).exec().unwrap();
}

#[test]
fn runspaces_share_it() {
    let host = host();
    let (first, second) = (state_of(&[MODULE], &host), state_of(&[MODULE], &host));
    assert_eq!(answer(&first, "cache.set('a', { x = 1 })"), "true");
    assert_eq!(answer(&second, "cache.get('a').x"), "1");
}

#[test]
fn every_kind_of_value_comes_back() {
    let host = host();
    let lua = state_of(&[MODULE, json::MODULE], &host);
    for value in [
        "true",
        "0",
        "-0.5",
        "2^53",
        "2^60",
        "1/0",
        "''",
        "'a\\0b\\255'",
        "json.null",
        "json.decode('9223372036854775807')",
        "json.decode('[9007199254740993]')[1]",
    ] {
        let code = format!(
            "(function() cache.set('k', {value}) local v = cache.get('k') return v == {value} and type(v) == type({value}) end)()"
        );
        assert_eq!(answer(&lua, &code), "true", "{value}");
    }
    for text in ["{}", "[]", "[1,{\"a\":[]},null,9223372036854775807,1.5]", "{\"a\":{\"b\":[[]]}}"] {
        let code =
            format!("(function() cache.set('k', json.decode('{text}')) return json.encode(cache.get('k')) end)()");
        assert_eq!(answer(&lua, &code), text, "{text}");
    }
}

fn fetching() -> Lua {
    let lua = state_of(&[MODULE, SLEEP, ALL], &host());
    lua.load("count = 0 function compute() count += 1 return { n = count } end").exec().unwrap();
    lua
}

#[test]
fn fetch_computes_once() {
    let lua = fetching();
    let logger = Logger::root(slog::Discard, slog::o!());
    for (code, wanted) in [
        ("cache.fetch('a', { ttl = '1h' }, compute).n", "1"),
        ("cache.fetch('a', { ttl = '1h' }, compute).n", "1"),
        ("cache.fetch('b', nil, compute).n", "2"),
        ("cache.fetch('c', { ttl = 0 }, compute).n", "3"),
        ("cache.fetch('c', { ttl = 0 }, compute).n", "4"),
        ("cache.fetch('d', {}, function() return nil, 'not now' end)", "nil, not now"),
        ("cache.fetch('d', {}, function() end)", ""),
        ("cache.fetch('d', {}, function() error('own', 0) end)", "raises own"),
        ("pcall(cache.fetch, 'd', {}, function() error({ code = 7 }) end) or 7", "7"),
        (
            "cache.fetch('d', {}, function() return print end)",
            "raises cache.fetch: value: a function cannot be written as JSON",
        ),
        (
            "cache.fetch('d', {}, function() return cache.fetch('d', {}, compute) end)",
            "raises cache.fetch: the function fetches the very key that it computes",
        ),
        ("cache.fetch('d', {}, function() return cache.fetch('e', {}, function() return 'inner' end) end)", "inner"),
        ("cache.delete('d')", "true"),
        ("#cache.fetch('d', {}, function() return string.rep('x', 2^23) end)", "8388608"),
        ("cache.get('d')", "nil"),
        ("cache.fetch('d', {}, function() sleep('1ms') return 5 end)", "5"),
        ("cache.get('d')", "5"),
    ] {
        assert_eq!(in_fiber(&lua, &logger, code), wanted, "{code}");
    }
}

#[test]
fn those_who_come_meanwhile_wait_for_the_first() {
    let lua = fetching();
    let logger = Logger::root(slog::Discard, slog::o!());
    let fetch = "function() return cache.fetch('k', {}, function() count += 1 sleep('5ms') return count end) end";
    let three = format!("all {{ {fetch}, {fetch}, {fetch} }}");
    assert_eq!(in_fiber(&lua, &logger, &three), "1, 1, 1");
    let failing = "function() return pcall(cache.fetch, 'f', {}, function() count += 1 sleep('1ms') if count < 4 then error('no', 0) end return count end) end";
    let three = format!("all {{ {failing}, {failing}, {failing} }}");
    assert_eq!(in_fiber(&lua, &logger, &three), "false, false, true");
    assert_eq!(answer(&lua, "cache.get('f')"), "4");
}

#[test]
fn a_caller_that_is_cancelled_passes_the_turn_on() {
    let host = host();
    let (first, second) = (state_of(&[MODULE, SLEEP], &host), state_of(&[MODULE, SLEEP], &host));
    let logger = Logger::root(slog::Discard, slog::o!());
    on_worker(async {
        let mut leading = Box::pin(fiber(&first, &logger, "cache.fetch('k', {}, function() sleep(30) return 1 end)"));
        let mut waiting = Box::pin(fiber(&second, &logger, "cache.fetch('k', {}, function() return 2 end)"));
        assert!(poll(&mut leading).is_pending());
        assert!(poll(&mut waiting).is_pending());
        drop(leading);
        assert_eq!(waiting.await.result.unwrap(), "2");
    });
}

fn poll<F: Future + Unpin>(future: &mut F) -> std::task::Poll<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::Pin::new(future).poll(&mut context)
}

#[test]
fn mistakes() {
    check(
        &[MODULE],
        &[
            (
                "cache.set('a', nil)",
                "raises cache.set: value must not be nil; cache.delete removes a key, json.null can be kept",
            ),
            ("cache.set('a', print)", "raises cache.set: value: a function cannot be written as JSON"),
            ("cache.set('a', { b = { print } })", "raises cache.set: value.b[1]: a function cannot be written as JSON"),
            ("cache.set('a', 1, { tll = 5 })", "raises cache.set: unknown option \"tll\"; did you mean \"ttl\"?"),
            (
                "cache.set('a', 1, { ttl = -1 })",
                "raises cache.set: option \"ttl\" must be from 0 seconds to 100 years, not -1 seconds",
            ),
            ("cache.set('a', 1, 60)", "raises cache.set: options must be a table, not a number"),
            ("cache.set(1, 1)", "raises cache.set: key must be a string, not a number"),
            ("cache.get(string.rep('k', 5000))", "raises cache.get: key must be at most 4096 bytes long, not 5000"),
            ("cache.set('a', string.rep('x', 2^23))", "nil, the value is larger than the 8 MiB that the cache takes"),
            ("select(2, cache.set('a', string.rep('x', 2^23))).code", "too-large"),
            ("cache.fetch('a', function() end)", "raises cache.fetch: options must be a table, not a function"),
            ("cache.fetch('a', {}, 1)", "raises cache.fetch: the third argument must be a function, not a number"),
        ],
    );
}
