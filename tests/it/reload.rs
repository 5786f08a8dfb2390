//! Reloading where order and load matter: saves in quick succession, under load, while requests run.
//!
//! The plain cases of saving are in `tests/cases/serve/reload`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::harness::client::{Answer, Connection};
use crate::harness::program::Server;
use crate::harness::request::Request;
use crate::harness::site_folder::{SaveStyle, SiteFolder};

fn site(text: &str) -> String {
    format!("endpoint GET \"/v\" {{\n    lua \"return '{text}'\"\n}}\n")
}

fn started(text: &str) -> (SiteFolder, Server) {
    let folder = SiteFolder::new();
    folder.write("site.kdl", text);
    let server = Server::start(folder.path(), &["run"], &[]).unwrap_or_else(|refused| panic!("{refused:?}"));
    (folder, server)
}

fn get(connection: &mut Connection, target: &str) -> Answer {
    connection.send(&Request::get(target).bytes()).unwrap();
    connection.answer(false).unwrap()
}

/// Asks on one connection until the answer is the wanted one; returns all answers on the way.
fn ask_until(server: &Server, want: &str) -> Vec<String> {
    let mut connection = Connection::open(server.address).unwrap();
    let give_up = std::time::Instant::now() + crate::harness::PATIENCE;
    let mut answers = Vec::new();
    while answers.last().is_none_or(|last| last != want) {
        assert!(
            std::time::Instant::now() < give_up,
            "still {:?}, wants {want:?}; the log:\n{}",
            answers.last(),
            server.output.since(0).join("\n")
        );
        answers.push(get(&mut connection, "/v").text());
    }
    answers
}

#[test]
fn no_request_fails_and_no_connection_sees_old_after_new() {
    const SAVES: usize = 60;
    let (folder, server) = started(&site("0"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| numbers_seen(&server, &done))).collect();
        for number in 1..=SAVES {
            folder.save("site.kdl", &site(&number.to_string()), SaveStyle::Rename);
            ask_until(&server, &number.to_string());
        }
        done.store(true, Ordering::Relaxed);
        for client in clients {
            let seen = client.join().unwrap();
            assert!(seen.is_sorted(), "old after new: {seen:?}");
        }
    });
}

/// The numbers that one connection is answered until the end, each once.
fn numbers_seen(server: &Server, done: &AtomicBool) -> Vec<usize> {
    let mut connection = Connection::open(server.address).unwrap();
    let mut seen = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let answer = get(&mut connection, "/v");
        assert_eq!(answer.status, 200, "{answer:?}");
        let number: usize = answer.text().parse().unwrap();
        if seen.last() != Some(&number) {
            seen.push(number);
        }
    }
    seen
}

#[test]
fn of_many_saves_in_a_row_the_last_is_live() {
    let (folder, server) = started(&site("0"));
    for number in 1..=100 {
        folder.save(
            "site.kdl",
            &site(&number.to_string()),
            if number % 2 == 0 { SaveStyle::InPlace } else { SaveStyle::Rename },
        );
    }
    ask_until(&server, "100");
}

#[test]
fn a_request_under_way_ends_in_the_generation_it_began_in() {
    let slow = "endpoint GET \"/slow\" {\n    lua \"log.info('begun'); sleep(0.4); return 'old'\"\n}\n";
    let (folder, server) = started(&(slow.to_string() + &site("1")));
    thread::scope(|scope| {
        let request = scope.spawn(|| get(&mut Connection::open(server.address).unwrap(), "/slow"));
        server
            .output
            .wait(0, |lines| lines.iter().any(|line| line.contains("begun")).then_some(()))
            .expect("it has begun");
        folder.save("site.kdl", &site("2"), SaveStyle::Rename);
        ask_until(&server, "2");
        assert_eq!(request.join().unwrap().text(), "old");
    });
    let gone = get(&mut Connection::open(server.address).unwrap(), "/slow");
    assert_eq!(gone.status, 404);
}

#[test]
fn hangup_reloads_and_ends_nothing() {
    let (_folder, server) = started(&site("1"));
    server.signal("HUP");
    ask_until(&server, "1");
    let (status, _) = server.stop();
    assert!(status.success(), "{status}");
}

/// Nothing that the server writes, and no file that is written as it was, is a reload: a change that comes afterwards is
/// the second generation.
#[test]
fn a_socket_beside_the_site_and_a_save_of_the_same_are_no_reloads() {
    let site =
        |text: &str| format!("server {{\n    bind \"127.0.0.1:0\"\n    bind \"unix:x.sock\"\n}}\n{}", site(text));
    let (folder, server) = started(&site("1"));
    assert!(folder.path().join("x.sock").exists());
    folder.write("near.txt", "a file beside");
    for style in [SaveStyle::InPlace, SaveStyle::Rename, SaveStyle::Backup] {
        folder.save("site.kdl", &site("1"), style);
    }
    ask_until(&server, "1");
    folder.save("site.kdl", &site("2"), SaveStyle::Rename);
    ask_until(&server, "2");
    let (status, log) = server.stop();
    assert!(status.success(), "{status}");
    let reloads: Vec<&String> = log.iter().filter(|line| line.contains("reloaded")).collect();
    assert!(reloads.len() == 1 && reloads[0].contains("generation=2"), "{reloads:?}");
}

#[test]
fn at_the_end_a_request_under_way_is_answered() {
    for signal in ["TERM", "INT"] {
        let (_folder, server) =
            started("endpoint GET \"/slow\" {\n    lua \"log.info('begun'); sleep(0.4); return 'done'\"\n}\n");
        thread::scope(|scope| {
            let request = scope.spawn(|| get(&mut Connection::open(server.address).unwrap(), "/slow"));
            server
                .output
                .wait(0, |lines| lines.iter().any(|line| line.contains("begun")).then_some(()))
                .expect("it has begun");
            server.signal(signal);
            assert_eq!(request.join().unwrap().text(), "done", "after SIG{signal}");
        });
        let (status, log) = server.ended();
        assert!(status.success(), "{status} after SIG{signal}:\n{}", log.join("\n"));
    }
}
