//! What a pool promises: isolation, limits that hold against every attack, exact numbers, fairness.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use tokio::task::LocalSet;

use super::api::ProcessHost;
use super::api::testing::recorded;
use super::compile::compile;
use super::gate::Gate;
use super::pool::{Call, Pool};
use super::run_error::RunError;
use super::settings::{Environment, EnvironmentSettings};
use crate::exchange::{Answer, Head, Request, RequestId};
use crate::script::{LineMap, Script, ScriptId};

struct TestHead;

impl Head for TestHead {
    fn method(&self) -> &str {
        "GET"
    }
    fn path(&self) -> &str {
        "/test"
    }
    fn query(&self) -> &str {
        ""
    }
    fn host(&self) -> &str {
        ""
    }
    fn time(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
    fn header(&self, _: &str) -> Option<&[u8]> {
        None
    }
    fn header_all<'a>(&'a self, _: &str, _: &mut dyn FnMut(&'a [u8])) {}
    fn each_header<'a>(&'a self, _: &mut dyn FnMut(&'a str, &'a [u8])) {}
}

fn request() -> Box<Request> {
    Box::new(Request {
        head: Box::new(TestHead),
        route: "/test".into(),
        id: RequestId("test".into()),
        scheme: "http",
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        params: Vec::new(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Bytes::new(),
    })
}

fn script(id: u64, text: &str) -> Arc<Script> {
    let bytecode = compile(text).unwrap_or_else(|error| panic!("{}: {text}", error.message));
    Arc::new(Script {
        id: ScriptId(id),
        origin: "site.kdl".into(),
        text: text.into(),
        bytecode: bytecode.into(),
        lines: LineMap::default(),
        native: false,
    })
}

fn logger() -> slog::Logger {
    slog::Logger::root(slog::Discard, slog::o!())
}

fn pool(environment: Environment) -> Arc<Pool> {
    logged_pool(environment, &logger())
}

fn logged_pool(environment: Environment, log: &slog::Logger) -> Arc<Pool> {
    let gate = Gate::new();
    gate.set_limits(&environment);
    Pool::build(Arc::new(environment), gate, Arc::new(ProcessHost::default()), log)
}

fn settings(max: usize) -> EnvironmentSettings {
    EnvironmentSettings { max_runspaces: max, ..EnvironmentSettings::default() }
}

/// Runs futures that need a worker.
fn on_worker<F: Future>(work: F) -> F::Output {
    let reactor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&reactor, work)
}

async fn run(pool: &Arc<Pool>, script: &Arc<Script>, timeout: Duration) -> Result<Answer, RunError> {
    let call = Call { handler: script.clone(), request: request(), timeout, log: logger().into() };
    pool.run(call).await.outcome
}

const LONG: Duration = Duration::from_secs(20);

fn text(outcome: &Result<Answer, RunError>) -> String {
    match outcome {
        Ok(Answer::Response(response)) => String::from_utf8_lossy(&response.body).into_owned(),
        other => panic!("{other:?}"),
    }
}

/// Runs one script once in a pool of its own.
fn once(lua: &str) -> Result<Answer, RunError> {
    let pool = pool(Environment::named("test", settings(1)));
    on_worker(run(&pool, &script(1, lua), LONG))
}

fn attacks(file: &str) -> Vec<(String, String)> {
    let path = format!("{}/tests/cases/attacks/{file}.json", env!("CARGO_MANIFEST_DIR"));
    let list: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let entries = list["attacks"].as_array().unwrap();
    let text = |entry: &serde_json::Value, key: &str| entry[key].as_str().unwrap().to_owned();
    entries.iter().map(|entry| (text(entry, "name"), text(entry, "lua"))).collect()
}

/// What a second request sees; equal before and after an attack when the runspace is clean.
const FINGERPRINT: &str = r#"
local util = require "util"
local seen = {}
local function put(name, value) seen[#seen + 1] = name .. "=" .. tostring(value) end
put("leak", leak) put("leak2", leak2) put("string.leak", string.leak) put("_G.leak", rawget(_G, "leak"))
put("format", string.format("%d", 5)) put("upper", ("x"):upper()) put("method", ("abc").len)
put("tag", util.tag) put("nested", util.nested.a.b) put("next", util.next()) put("again", util.next())
put("util.mt", getmetatable(util)) put("util.x", util.nothing)
put("loaded.leak", package.loaded.leak) put("type", type(print)) put("req", type(require))
put("add", pcall(function() return "a" + "b" end))
put("nil index", pcall(function() return (nil).x end))
put("frozen", table.isfrozen(_G)) put("lib", table.isfrozen(string)) put("mt", getmetatable(_G))
put("server", server.version) put("json", json ~= nil) put("gmatch", ("a"):gmatch("a")())
put("table", #table.pack(1, 2)) put("unknown", rawequal(seen, string))
local names = {}
for name in pairs(_G) do names[#names + 1] = name end
table.sort(names)
put("globals", table.concat(names, ","))
put("itself", rawequal(_G._G, _G)) put("set", pcall(function() probe = 1 _G.probe = probe + 1 end)) put("probe", probe)
return table.concat(seen, "\n")
"#;

const UTIL: &str = r#"
local count = 0
return { tag = "clean", nested = { a = { b = 1 } }, next = function() count = count + 1 return count end }
"#;

const HOST: &str = "
local now = function() return 1 end
host = host or { now = now, sub = { v = 1 }, list = { 1, 2, 3 }, ud = server }
";

fn with_util(mut environment: Environment) -> Environment {
    environment.modules.insert("util".into(), script(1000, UTIL));
    environment.startup = Some(script(1001, HOST));
    environment
}

#[test]
fn every_isolation_attack_leaves_a_clean_runspace_clean() {
    let pool = pool(with_util(Environment::named("clean", settings(1))));
    pool.health().unwrap();
    let look = script(1, FINGERPRINT);
    on_worker(async {
        let before = text(&run(&pool, &look, LONG).await);
        assert!(before.contains("next=1\nagain=2"), "{before}");
        for (at, (name, lua)) in attacks("isolation").iter().enumerate() {
            // Whether the attempt works, does nothing or raises is all one.
            let _attempt = run(&pool, &script(10 + at as u64, lua), LONG).await;
            let after = text(&run(&pool, &look, LONG).await);
            assert_eq!(before, after, "after {name}: {lua}");
        }
    });
    assert_eq!(pool.stats().built, 1, "all of it in one runspace");
}

#[test]
fn a_persistent_runspace_keeps_its_globals_and_modules() {
    let settings = EnvironmentSettings { persistent: true, ..settings(1) };
    let pool = pool(with_util(Environment::named("kept", settings)));
    let count = script(1, "count = (count or 0) + 1 return count .. '/' .. require('util').next()");
    on_worker(async {
        for round in 1..=3 {
            assert_eq!(text(&run(&pool, &count, LONG).await), format!("{round}/{round}"));
        }
    });
}

#[test]
fn every_runaway_ends_in_time_and_the_process_lives() {
    let limit = Duration::from_millis(300);
    let host = "host = function(f) return f() end";
    for (at, (name, lua)) in attacks("runaway").iter().enumerate() {
        let mut best = Duration::MAX;
        for _ in 0..if cfg!(debug_assertions) { 1 } else { 3 } {
            let pool = pool(Environment::named("runaway", settings(1)));
            let attack = script(at as u64 + 1, &format!("{host}\n{lua}"));
            let ok = script(999, "return 'ok'");
            on_worker(async {
                let began = Instant::now();
                let _ending = run(&pool, &attack, limit).await;
                best = best.min(began.elapsed());
                assert_eq!(text(&run(&pool, &ok, LONG).await), "ok", "after {name}");
            });
        }
        if cfg!(debug_assertions) {
            assert!(best < Duration::from_secs(20), "{name} took {best:?}");
        } else {
            assert!(best < limit + Duration::from_millis(50), "{name} took {best:?}");
        }
    }
}

#[test]
fn max_runspaces_is_exact_over_several_workers() {
    for max in 1..=3 {
        let environment = Environment::named("exact", settings(max));
        let pool = pool(environment);
        let busy = script(1, "local n = 0 for i = 1, 20000 do n = n + i end sleep(0.001) return 'done'");
        let worker = |count: usize| {
            let (pool, busy) = (pool.clone(), busy.clone());
            move || {
                on_worker(async {
                    let runs = (0..count).map(|_| run(&pool, &busy, LONG));
                    for outcome in futures_util::future::join_all(runs).await {
                        assert_eq!(text(&outcome), "done");
                        assert!(pool.stats().busy <= max);
                    }
                });
            }
        };
        // Nearly all of the load on one worker; the idle runspaces of the other must not starve it.
        std::thread::scope(|scope| {
            scope.spawn(worker(100));
            scope.spawn(worker(5));
        });
        let stats = pool.stats();
        assert_eq!((stats.busy, stats.waiting, stats.served), (0, 0, 105));
        assert!(stats.built <= max as u64, "{} built of {max}", stats.built);
    }
}

#[test]
fn a_long_handler_lets_short_ones_through() {
    let pool = pool(Environment::named("fair", settings(2)));
    let long = script(1, "while true do end");
    let short = script(2, "return 'short'");
    on_worker(async {
        let hog = run(&pool, &long, Duration::from_secs(2));
        let others = async {
            let mut answered = 0;
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(500) {
                assert_eq!(text(&run(&pool, &short, LONG).await), "short");
                answered += 1;
                tokio::task::yield_now().await;
            }
            answered
        };
        let answered = tokio::select! {
            _ = hog => 0,
            answered = others => answered,
        };
        assert!(answered > 20, "only {answered} while the other computed");
    });
    assert_eq!(pool.stats().busy, 0, "the hog was cancelled with its future");
}

#[test]
fn thousands_of_cancelled_handlers_leave_nothing_behind() {
    let pool = pool(Environment::named("cancel", settings(4)));
    let waits = script(1, "pcall(function() sleep(60) end) local ok = pcall(sleep, 60) while true do end");
    let nested =
        script(2, "return coroutine.wrap(function() table.sort({3,2,1}, function() sleep(60) return false end) end)()");
    let fine = script(3, "return 'fine'");
    let rounds = if cfg!(debug_assertions) { 500 } else { 3000 };
    on_worker(async {
        for round in 0..rounds {
            let victim = if round % 2 == 0 { &waits } else { &nested };
            let ended = futures_util::future::poll_immediate(Box::pin(run(&pool, victim, LONG))).await;
            assert!(ended.is_none(), "{ended:?}");
            if round % 50 == 0 {
                assert_eq!(text(&run(&pool, &fine, LONG).await), "fine");
            }
        }
    });
    let stats = pool.stats();
    assert_eq!((stats.busy, stats.waiting), (0, 0));
    assert!(stats.built <= 4, "{} built", stats.built);
}

#[test]
fn waiting_works_wherever_lua_stands() {
    for lua in [
        "sleep(0.001) return 'here'",
        "local t = {3, 1, 2} table.sort(t, function(a, b) sleep(0.001) return a < b end) return t[1] == 1 and 'here'",
        "return (('x'):gsub('x', function() sleep(0.001) return 'here' end))",
        "return setmetatable({}, {__index = function(_, k) sleep(0.001) return k end}).here",
        "return coroutine.wrap(function() sleep(0.001) coroutine.yield('no') sleep(0.001) return 'here' end)() and 'here'",
        "local ok, text = pcall(function() sleep(0.001) return 'here' end) return text",
    ] {
        assert_eq!(text(&once(lua)), "here", "{lua}");
    }
}

#[test]
fn a_wait_ends_at_the_deadline() {
    let pool = pool(Environment::named("late", settings(1)));
    let began = Instant::now();
    let outcome = on_worker(run(&pool, &script(1, "sleep(60)"), Duration::from_millis(50)));
    assert!(matches!(outcome, Err(RunError::Timeout { .. })), "{outcome:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(pool.stats().timeouts, 1);
}

#[test]
fn functions_run_side_by_side() {
    let order = "
        local log = {}
        local function step(name, times, pause)
            return function()
                for at = 1, times do sleep(pause) log[#log + 1] = name .. at end
                return name
            end
        end
        local a, b = all{ step('a', 2, 0.2), step('b', 1, 0.05) }
        return a .. b .. ':' .. table.concat(log, ' ')";
    assert_eq!(text(&once(order)), "ab:b1 a1 a2");
    let error = once("all{ function() sleep(60) end, function() sleep(0.001) error('boom') end }");
    let Err(RunError::Script { message, .. }) = &error else { panic!("{error:?}") };
    assert!(message.contains("boom"), "{message}");
    assert_eq!(text(&once("return select('#', all{}) .. ''")), "0");
}

#[test]
fn errors_are_told_at_their_line_with_the_users_frames() {
    let outcome = once("local function inner()\n  error('boom')\nend\n\ninner()");
    let Err(RunError::Script { message, traceback }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(message, "site.kdl:2: boom");
    assert!(traceback.contains("site.kdl:2") && traceback.contains("site.kdl:5"), "{traceback}");
    assert!(!traceback.contains('#'), "{traceback}");
}

#[test]
fn memory_beyond_the_limit_ends_the_request_and_the_runspace() {
    let small = EnvironmentSettings { memory: 8 << 20, ..settings(1) };
    let pool = pool(Environment::named("memory", small));
    let grow = script(1, "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end");
    let garbage = script(2, "for i = 1, 200000 do local s = ('x'):rep(1000) .. i end return 'fine'");
    on_worker(async {
        let outcome = run(&pool, &grow, LONG).await;
        assert!(matches!(outcome, Err(RunError::Memory { limit, .. }) if limit == 8 << 20), "{outcome:?}");
        assert_eq!(text(&run(&pool, &garbage, LONG).await), "fine");
    });
    let stats = pool.stats();
    assert_eq!((stats.memory_errors, stats.dropped, stats.built), (1, 1, 2));
}

#[test]
fn a_startup_script_that_fails_makes_the_pool_unhealthy() {
    let mut environment = Environment::named("startup", settings(1));
    environment.startup = Some(script(1, "\nerror('no database')"));
    let pool = pool(environment);
    assert!(pool.health().unwrap_err().contains("site.kdl:2: no database"));
    let outcome = on_worker(run(&pool, &script(2, "return 1"), LONG));
    assert!(matches!(outcome, Err(RunError::Unhealthy { .. })), "{outcome:?}");
}

const KEEPS: &str = r#"
local count, names, inner = 0, {}, { list = {} }
limit = 10
config = { deep = { list = { 1 } } }
function tick() count += 1 return count end
function see() return count end
function remember(name) local ok = pcall(function() names[name] = true end) return ok, names[name] end
function nested() return pcall(table.insert, inner.list, 1) end
local later
function calls() return later() end
function later() return "later" end
gone = respond { status = 410 }
"#;

#[test]
fn what_a_startup_script_leaves_is_the_same_for_every_request() {
    let mut environment = Environment::named("startup", settings(1));
    environment.startup = Some(script(1, KEEPS));
    let pool = pool(environment);
    pool.health().unwrap();
    let look = script(
        2,
        r#"
        local before = see()
        local ticks = tick() .. tick()
        local kept, found = remember("x")
        local changed = pcall(function() config.deep.list[1] = 2 end) or pcall(function() limit = 20 end)
        return table.concat({ before, ticks, tostring(kept), tostring(found), tostring(nested()), limit,
            config.deep.list[1], calls(), tostring(changed) }, " ")"#,
    );
    let set = script(3, "tick = nil remember('x') limit = 7 return gone");
    on_worker(async {
        let first = text(&run(&pool, &look, LONG).await);
        assert_eq!(first, "0 12 false nil false 20 1 later true", "`limit` may be set in the request's own globals");
        let answer = run(&pool, &set, LONG).await;
        assert!(matches!(&answer, Ok(Answer::Response(response)) if response.status == 410), "{answer:?}");
        assert_eq!(text(&run(&pool, &look, LONG).await), first);
    });
    assert_eq!(pool.stats().built, 1);
}

#[test]
fn a_startup_script_cannot_leave_what_changes_in_a_clean_runspace() {
    for (name, lua) in [
        ("turn", "turn = coroutine.wrap(function() while true do coroutine.yield(1) end end)"),
        ("routine", "routine = coroutine.create(function() end)"),
        ("bytes", "bytes = buffer.create(8)"),
        ("words", "words = ('a b'):gmatch('%a')"),
        ("deep", "deep = { { { hidden = buffer.create(1) } } }"),
        ("inside", "local bytes = buffer.create(1) function inside() return bytes end"),
        ("meta", "meta = setmetatable({}, { __index = coroutine.wrap(function() end) })"),
    ] {
        let mut environment = Environment::named("startup", settings(1));
        environment.startup = Some(script(1, lua));
        let reason = pool(environment.clone()).health().unwrap_err();
        assert!(reason.contains(&format!("`{name}`")), "{name}: {reason}");
        environment.settings.persistent = true;
        pool(environment).health().unwrap();
    }
    let mut environment = Environment::named("startup", settings(1));
    environment.startup = Some(script(1, "local t = {} for i = 1, 200000 do t = { t } end deep = t"));
    pool(environment).health().unwrap();
}

#[test]
fn runspaces_are_recycled_by_requests() {
    let pool = pool(Environment::named("recycle", EnvironmentSettings { recycle_requests: 2, ..settings(1) }));
    let fine = script(1, "return 'fine'");
    on_worker(async {
        for _ in 0..6 {
            assert_eq!(text(&run(&pool, &fine, LONG).await), "fine");
        }
    });
    assert_eq!((pool.stats().built, pool.stats().dropped), (3, 3));
}

#[test]
fn an_idle_runspace_that_is_too_old_serves_nobody() {
    let age = EnvironmentSettings { recycle_age: Duration::from_nanos(1), ..settings(1) };
    let pool = pool(Environment::named("age", age));
    assert_eq!((pool.stats().built, pool.stats().idle), (1, 1));
    assert_eq!(text(&on_worker(run(&pool, &script(1, "return 'fine'"), LONG))), "fine");
    let stats = pool.stats();
    assert_eq!(
        (stats.built, stats.dropped, stats.idle, stats.busy),
        (2, 2, 0, 0),
        "the idle one, and that which served"
    );
}

#[test]
fn the_life_of_runspaces_is_recorded() {
    let limits = EnvironmentSettings { recycle_requests: 2, queue: 0, memory: 8 << 20, ..settings(1) };
    let (fine, waits) = (script(1, "return 'fine'"), script(2, "sleep(60)"));
    let grow = script(3, "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end");
    let (records, ()) = recorded(slog::Level::Debug, |log| {
        let pool = logged_pool(Environment::named("life", limits), &log);
        on_worker(async {
            for _ in 0..2 {
                assert_eq!(text(&run(&pool, &fine, LONG).await), "fine");
            }
            assert!(run(&pool, &grow, LONG).await.is_err());
            let mut busy = Box::pin(run(&pool, &waits, LONG));
            assert!(futures_util::future::poll_immediate(&mut busy).await.is_none());
            for _ in 0..100 {
                assert_eq!(run(&pool, &fine, LONG).await.unwrap_err(), RunError::QueueFull);
            }
        });
    });
    let wanted = [
        ("DEBG environment a runspace was built", ""),
        ("DEBG environment a runspace was recycled", " reason=requests requests=2 environment=life"),
        ("DEBG environment a runspace was built", ""),
        ("WARN environment a runspace was thrown away for its memory", " environment=life"),
        ("DEBG environment a runspace was built", ""),
        ("WARN environment requests were refused: every runspace is busy", " queue_full=1 environment=life"),
    ];
    assert_eq!(records.len(), wanted.len(), "{records:#?}");
    for (record, (begin, end)) in records.iter().zip(wanted) {
        assert!(record.starts_with(begin) && record.ends_with(end), "{record}");
    }
}
