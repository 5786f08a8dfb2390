//! The router with destinations that keep what they are given.

use std::sync::Mutex;

use slog::Drain as _;

use super::*;
use crate::logging::feature::Scope;
use crate::logging::format::Format;
use crate::logging::writer::Sink;

/// What a destination was given.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<String>>);

impl Sink for Page {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().push_str(std::str::from_utf8(lines).unwrap());
        Ok(())
    }
}

fn settings(filter: Filter, format: Format) -> TargetSettings {
    let destination = Destination { kind: "test", address: "page".to_owned() };
    TargetSettings { destination, filter, format, queue: 100_000, overflow: Overflow::Drop }
}

/// A router that writes onto a page, and the page.
fn router(filter: Filter, format: Format) -> (Router, Page) {
    let page = Page::default();
    let writer = Arc::new(Writer::new("page", Box::new(page.clone())));
    let mask = Arc::new(Mask::new(&["hunter2".to_owned()], &["pin".to_owned()]));
    (Router::of(vec![Target::new(&settings(filter, format), writer, mask)]), page)
}

/// Everything written, without times, which no test can know.
fn written(router: &Router, page: &Page) -> Vec<String> {
    assert!(router.flush(Duration::from_secs(10)));
    let text = page.0.lock().unwrap().clone();
    let time = regex::Regex::new(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\.\d{3}Z").unwrap();
    text.lines().map(|line| time.replace(line, "TIME").into_owned()).collect()
}

fn request(status: u16) -> ApiRecord<'static> {
    ApiRecord {
        method: "GET",
        path: "/users/7?token=t",
        route: "/users/{id}",
        status,
        bytes: 12,
        duration: Duration::from_micros(1_250),
        waited: Duration::ZERO,
        remote: IpAddr::from([127, 0, 0, 1]),
        id: "r-1",
    }
}

#[test]
fn a_record_in_every_format() {
    for (format, event, api) in [
        (
            Format::Pretty,
            "TIME warning  config      reloaded  generation=7 changes=\"1 endpoint\" pin=*** endpoint=/a",
            "TIME warning  api         GET /users/7?token=*** 404  route=/users/{id} bytes=12 duration_ms=1.250 remote=127.0.0.1 request=r-1",
        ),
        (
            Format::Logfmt,
            "time=TIME level=warning feature=config message=reloaded generation=7 changes=\"1 endpoint\" pin=*** endpoint=/a",
            "time=TIME level=warning feature=api message=answered method=GET path=\"/users/7?token=***\" route=/users/{id} status=404 bytes=12 duration_ms=1.250 wait_ms=0.000 remote=127.0.0.1 request=r-1",
        ),
        (
            Format::Json,
            r#"{"time":"TIME","level":"warning","feature":"config","message":"reloaded","generation":7,"changes":"1 endpoint","pin":"***","endpoint":"/a"}"#,
            r#"{"time":"TIME","level":"warning","feature":"api","message":"answered","method":"GET","path":"/users/7?token=***","route":"/users/{id}","status":404,"bytes":12,"duration_ms":1.250,"wait_ms":0.000,"remote":"127.0.0.1","request":"r-1"}"#,
        ),
    ] {
        let (router, page) = router(Filter::from_level(Level::Trace), format);
        let log = router.logger().new(slog::o!("endpoint" => "/a"));
        slog::warn!(log, # "config", "reloaded"; "generation" => 7, "changes" => "1 endpoint", "pin" => 1234);
        router.api(&request(404));
        assert_eq!(written(&router, &page), [event, api]);
    }
}

#[test]
fn the_fields_of_a_script() {
    let given = serde_json::json!({ "user": "ann", "password": "x", "list": [1, "a b"] }).to_string();
    for (format, expected) in [
        (Format::Logfmt, r#"time=TIME level=info feature=script message=hi list="[1,\"a b\"]" password=*** user=ann"#),
        (
            Format::Json,
            r#"{"time":"TIME","level":"info","feature":"script","message":"hi","fields":{"list":[1,"a b"],"password":"***","user":"ann"}}"#,
        ),
    ] {
        let (router, page) = router(Filter::from_level(Level::Trace), format);
        slog::info!(router.logger(), # "script", "hi"; "fields" => &given);
        assert_eq!(written(&router, &page), [expected]);
    }
}

#[test]
fn no_record_is_more_than_one_line_and_no_secret_is_in_it() {
    for format in Format::ALL {
        let (router, page) = router(Filter::from_level(Level::Trace), format);
        slog::error!(router.logger(), # "script", "a\nb\r\u{2028}hunter2"; "traceback" => "x\n\u{1b}[2Jhunter2", "time" => 1);
        let lines = written(&router, &page);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(!lines[0].contains("hunter2") && !lines[0].contains('\u{1b}'), "{lines:?}");
    }
}

#[test]
fn a_long_record_is_cut_and_says_so() {
    let (router, page) = router(Filter::from_level(Level::Trace), Format::Json);
    let long = format!("{}hunter2", "é".repeat((64 << 10) / 2 - 2));
    slog::info!(router.logger(), "{}", long; "later" => "text");
    let line = &written(&router, &page)[0];
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    assert!(value["message"].as_str().unwrap().ends_with("é…"));
    assert_eq!(value["later"], "…");
    assert!(line.len() < 66 << 10);
}

#[test]
fn what_no_target_takes_is_not_even_formatted() {
    struct Loud;
    impl std::fmt::Display for Loud {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("formatted although nobody takes it")
        }
    }
    let (router, page) = router(Filter::new(Level::Info, &[Feature::Api], &[Scope::User]), Format::Json);
    slog::info!(router.logger(), # "script", "{}", Loud; "value" => %Loud);
    slog::debug!(router.logger(), # "api", "{}", Loud);
    assert!(router.takes(Feature::Api, Level::Info, "/a"));
    assert!(!router.takes(Feature::Api, Level::Debug, "/a"));
    assert!(!router.takes(Feature::Script, Level::Critical, "/a"));
    assert!(!router.logger().is_enabled(slog::Level::Debug));
    assert!(written(&router, &page).is_empty());
}

#[test]
fn endpoint_patterns_choose_records() {
    let mut filter = Filter::from_level(Level::Info);
    filter.endpoints = vec![glob::Pattern::new("/users/*").unwrap()];
    let (router, page) = router(filter, Format::Logfmt);
    assert!(router.takes(Feature::Api, Level::Info, "/users/{id}"));
    assert!(!router.takes(Feature::Api, Level::Info, "/other"));
    router.api(&ApiRecord { route: "/other", ..request(200) });
    slog::info!(router.logger(), # "config", "reloaded");
    slog::info!(router.logger(), # "script", "no"; "endpoint" => "/other");
    slog::info!(router.logger(), # "script", "yes"; "endpoint" => "/users/{id}");
    let lines = written(&router, &page);
    assert!(lines.len() == 1 && lines[0].contains("yes"), "{lines:?}");
}

#[test]
fn a_reload_keeps_the_writer_and_takes_the_new_filter() {
    let (old, page) = router(Filter::from_level(Level::Info), Format::Logfmt);
    slog::info!(old.logger(), "one");
    let new =
        LoggingSettings { targets: vec![settings(Filter::from_level(Level::Warning), Format::Json)], mask: Vec::new() };
    let new = Router::build(&new, Some(&old), Vec::new()).unwrap();
    drop(old);
    slog::info!(new.logger(), "two");
    slog::warn!(new.logger(), "three");
    let lines = written(&new, &page);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("message=one") && lines[1].contains("\"three\""), "{lines:?}");
}

#[test]
fn a_target_that_does_not_exist_is_an_error() {
    let settings =
        LoggingSettings { targets: vec![settings(Filter::from_level(Level::Info), Format::Json)], mask: Vec::new() };
    assert!(Router::build(&settings, None, Vec::new()).is_err());
}

#[test]
fn records_of_many_threads_are_all_written_in_their_order() {
    let (router, page) = router(Filter::from_level(Level::Info), Format::Json);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = router.logger();
            scope.spawn(move || (0..500).for_each(|n| slog::info!(log, "line"; "thread" => thread, "n" => n)));
        }
    });
    let mut next = [0; 8];
    for line in written(&router, &page) {
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        let thread = value["thread"].as_u64().unwrap() as usize;
        assert_eq!(value["n"], next[thread]);
        next[thread] += 1;
    }
    assert_eq!(next, [500; 8]);
}
