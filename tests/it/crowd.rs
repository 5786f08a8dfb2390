//! Several clients at once: how many handlers run, who waits, who is refused, and that nobody starves.
//!
//! Handlers are held until the test lets them go, so nothing depends on how quick the machine is.

use std::thread;

use crate::harness::client::{Answer, Connection};
use crate::harness::program::Server;
use crate::harness::request::Request;
use crate::harness::site_folder::SiteFolder;

/// Endpoints in an environment of their own: `/go` lets the held handlers go, `/ok` answers always.
const CONTROL: &str = r##"
environment control {
    max-runspaces 2
}
endpoint GET "/go" environment=control {
    lua #"cache.set("go", true); return "gone""#
}
endpoint GET "/ok" environment=control {
    lua #"return "ok""#
}
"##;

/// The handler of `/held`: says that it began, and ends when it is let go.
const HELD: &str = r##"lua #"log.info("begun"); while not cache.get("go") do sleep(0.005) end; return "done""#"##;

fn started(site: &str) -> (SiteFolder, Server) {
    let folder = SiteFolder::new();
    folder.write("site.kdl", &(site.to_string() + CONTROL));
    let server = Server::start(folder.path(), &["run"], &[]).unwrap_or_else(|refused| panic!("{refused:?}"));
    (folder, server)
}

fn get(server: &Server, target: &str) -> Answer {
    let mut connection = Connection::open(server.address).unwrap();
    connection.send(&Request::get(target).bytes()).unwrap();
    connection.answer(false).unwrap()
}

fn begun(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.contains("begun")).count()
}

fn wait_for_begun(server: &Server, count: usize) {
    let seen = server.output.wait(0, |lines| (begun(lines) >= count).then_some(()));
    assert!(seen.is_some(), "{count} handlers do not begin; the log:\n{}", server.output.since(0).join("\n"));
}

/// Sends `clients` requests to `/held` at once, calls `meanwhile`, lets them go, and returns their statuses, sorted.
fn held(server: &Server, clients: usize, meanwhile: impl FnOnce()) -> Vec<u16> {
    thread::scope(|scope| {
        let requests: Vec<_> = (0..clients).map(|_| scope.spawn(|| get(server, "/held").status)).collect();
        meanwhile();
        assert_eq!(get(server, "/go").text(), "gone");
        let mut statuses: Vec<u16> = requests.into_iter().map(|request| request.join().unwrap()).collect();
        statuses.sort_unstable();
        statuses
    })
}

#[test]
fn exactly_max_runspaces_handlers_run_at_once() {
    for most in [1, 2, 3] {
        let (_folder, server) = started(&format!(
            "server {{\n    workers 2\n}}\nenvironment small {{\n    max-runspaces {most}\n    queue 100 wait=\"20s\"\n}}\n\
             endpoint GET \"/held\" environment=small {{\n    {HELD}\n}}\n"
        ));
        let statuses = held(&server, most + 4, || {
            wait_for_begun(&server, most);
            for _ in 0..20 {
                assert_eq!(get(&server, "/ok").text(), "ok");
            }
            assert_eq!(begun(&server.output.since(0)), most, "max-runspaces {most}");
        });
        assert_eq!(statuses, vec![200; most + 4]);
    }
}

#[test]
fn beyond_the_queue_a_request_is_refused_at_once() {
    let (_folder, server) = started(&format!(
        "environment small {{\n    max-runspaces 1\n    queue 1 wait=\"20s\"\n}}\n\
         endpoint GET \"/held\" environment=small {{\n    {HELD}\n}}\n"
    ));
    let statuses = held(&server, 1, || {
        wait_for_begun(&server, 1);
        thread::scope(|scope| {
            let more: Vec<_> = (0..4).map(|_| scope.spawn(|| get(&server, "/held"))).collect();
            let refused = server.output.wait(0, |lines| {
                let refused = lines.iter().filter(|line| line.contains("503"));
                (refused.count() >= 3).then_some(())
            });
            assert!(refused.is_some(), "three of four are refused");
            assert_eq!(get(&server, "/go").text(), "gone");
            let answers: Vec<Answer> = more.into_iter().map(|one| one.join().unwrap()).collect();
            let refused: Vec<_> = answers.iter().filter(|one| one.status == 503).collect();
            assert_eq!(refused.len(), 3, "{answers:?}");
            assert!(refused.iter().all(|one| one.header("retry-after").is_some()));
        });
    });
    assert_eq!(statuses, [200]);
}

#[test]
fn who_waits_longer_than_the_wait_is_refused() {
    let (_folder, server) = started(&format!(
        "environment small {{\n    max-runspaces 1\n    queue 10 wait=\"50ms\"\n}}\n\
         endpoint GET \"/held\" environment=small {{\n    {HELD}\n}}\n"
    ));
    let statuses = held(&server, 1, || {
        wait_for_begun(&server, 1);
        let refused = get(&server, "/held");
        assert_eq!(refused.status, 503);
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    });
    assert_eq!(statuses, [200]);
}

#[test]
fn an_endpoint_keeps_to_its_concurrency() {
    let (_folder, server) = started(&format!(
        "endpoint GET \"/held\" {{\n    concurrency 2\n    {HELD}\n}}\n\
         endpoint GET \"/free\" {{\n    lua \"return 'free'\"\n}}\ndefault-environment integrated\n\
         environment integrated {{\n    max-runspaces 10\n}}\n"
    ));
    let statuses = held(&server, 2, || {
        wait_for_begun(&server, 2);
        let refused = get(&server, "/held");
        assert_eq!(refused.status, 503);
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
        assert_eq!(get(&server, "/free").text(), "free");
    });
    assert_eq!(statuses, [200, 200]);
}

#[test]
fn a_handler_whose_client_went_away_gives_its_runspace_back() {
    let (_folder, server) = started(&format!(
        "environment small {{\n    max-runspaces 1\n    queue 10 wait=\"20s\"\n}}\n\
         endpoint GET \"/held\" environment=small {{\n    timeout \"60s\"\n    {HELD}\n}}\n\
         endpoint GET \"/next\" environment=small {{\n    lua \"return 'next'\"\n}}\n"
    ));
    let mut gone = Connection::open(server.address).unwrap();
    gone.send(&Request::get("/held").bytes()).unwrap();
    wait_for_begun(&server, 1);
    drop(gone);
    assert_eq!(get(&server, "/next").text(), "next");
}

#[test]
fn a_handler_that_computes_does_not_starve_the_others_of_its_worker() {
    let (_folder, server) = started(
        "server {\n    workers 1\n}\nenvironment busy {\n    max-runspaces 2\n    timeout \"60s\"\n}\n\
         endpoint GET \"/held\" environment=busy {\n    lua \"log.info('begun'); while not cache.get('go') do end; return 'done'\"\n}\n",
    );
    let statuses = held(&server, 2, || {
        wait_for_begun(&server, 2);
        for _ in 0..50 {
            assert_eq!(get(&server, "/ok").text(), "ok");
        }
    });
    assert_eq!(statuses, [200, 200]);
}
