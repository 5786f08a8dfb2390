//! The command line: what the commands print, how they exit, what they leave alone.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use crate::harness::client::Connection;
use crate::harness::files_below;
use crate::harness::program::{Server, run_to_end};
use crate::harness::request::Request;
use crate::harness::site_folder::SiteFolder;

const GOOD: &str = r##"
environment shared {
    max-runspaces 2
}
endpoint GET PUT "/notes/{id}" environment=shared script="lua/item.lua"
endpoint GET "/hello" environment=shared {
    lua #"return "hello""#
}
endpoint GET "/ping" {
    respond 200 "pong"
}
static "/files" dir="public"
"##;

fn site(text: &str) -> SiteFolder {
    let folder = SiteFolder::new();
    folder.write("site.kdl", text);
    folder.write("lua/item.lua", "return req.params.id\n");
    folder.write("public/x.txt", "x\n");
    folder
}

/// What a command says and how it exits.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let (status, text) = run_to_end(folder, arguments, &[]);
    (status.code(), text)
}

#[test]
fn without_a_command_it_shows_help() {
    let (_, text) = run(site(GOOD).path(), &[]);
    for command in ["run", "check", "routes"] {
        assert!(text.contains(command), "{command} is not in:\n{text}");
    }
}

#[test]
fn an_unknown_command_is_a_wrong_usage() {
    let (code, text) = run(site(GOOD).path(), &["chekc"]);
    assert_eq!(code, Some(2), "{text}");
}

#[test]
fn check_says_by_its_status_what_it_found() {
    let good = site(GOOD);
    assert_eq!(run(good.path(), &["check"]).0, Some(0));
    assert_eq!(run(good.path(), &["check", "site.kdl"]).0, Some(0));
    assert_eq!(run(good.path(), &["check", "none.kdl"]).0, Some(2));
    let bad = site("endpoint GET \"/x\" {\n    responnd 200 \"x\"\n}\n");
    let (code, text) = run(bad.path(), &["check"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("site.kdl:2:5") && text.contains("respond"), "{text}");
}

#[test]
fn check_writes_json_for_programs() {
    let bad = site("endpoint GET \"/x\" {\n    responnd 200 \"x\"\n}\n");
    let (code, text) = run(bad.path(), &["check", "--format", "json"]);
    assert_eq!(code, Some(1), "{text}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    assert!(json.to_string().contains("node::unknown"), "{json}");
}

#[test]
fn check_changes_nothing_and_runs_nothing() {
    let folder = site(GOOD);
    folder.write("lua/item.lua", "error(\"this must not run\")\n");
    let before = contents(folder.path());
    let (code, text) = run(folder.path(), &["check"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(contents(folder.path()), before);
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files_below(folder).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn routes_tells_what_is_answered_by_what() {
    let (code, text) = run(site(GOOD).path(), &["routes"]);
    assert_eq!(code, Some(0), "{text}");
    for wanted in [
        &["GET", "PUT", "/notes/{id}", "shared", "lua/item.lua", "site.kdl:5"][..],
        &["GET", "/ping", "site.kdl:9"],
        &["/files", "public"],
    ] {
        let line = text.lines().find(|line| wanted.iter().all(|part| line.contains(part)));
        assert!(line.is_some(), "no line has {wanted:?} in:\n{text}");
    }
}

#[test]
fn nothing_is_coloured_that_is_no_terminal() {
    let bad = site("endpoint GET \"/x\" {\n    responnd 200 \"x\"\n}\n");
    for arguments in [&["check"][..], &["run"], &["routes"], &["--help"]] {
        let (_, text) = run(bad.path(), arguments);
        assert!(!text.contains('\u{1b}'), "{arguments:?}: {text:?}");
    }
}

#[test]
fn the_start_report_says_what_runs() {
    let folder = site(GOOD);
    let server = Server::start(folder.path(), &["run"], &[]).unwrap_or_else(|refused| panic!("{refused:?}"));
    let (_, lines) = server.stop();
    let report = lines.join("\n");
    for wanted in ["http://127.0.0.1:", "shared"] {
        assert!(report.contains(wanted), "{wanted} is not in:\n{report}");
    }
}

#[test]
fn it_does_not_matter_where_it_is_started() {
    let folder = site(GOOD);
    let elsewhere = SiteFolder::new();
    elsewhere.write("lua/item.lua", "return \"the wrong file\"\n");
    let path = folder.path().join("site.kdl");
    let arguments = ["run", path.to_str().expect("the path is text")];
    let server = Server::start(elsewhere.path(), &arguments, &[]).unwrap_or_else(|refused| panic!("{refused:?}"));
    let mut connection = Connection::open(server.address).unwrap();
    for (target, want) in [("/notes/7", "7"), ("/files/x.txt", "x\n")] {
        connection.send(&Request::get(target).bytes()).unwrap();
        assert_eq!(connection.answer(false).unwrap().text(), want);
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = SiteFolder::new();
    folder.write_bytes(
        Path::new("site.kdl"),
        format!("server {{ bind \"{address}\"; }}\nendpoint GET \"/\" {{ respond 200 \"x\"; }}\n").as_bytes(),
    );
    let (code, text) = run(folder.path(), &["run"]);
    assert!(code.is_some_and(|code| code != 0), "{text}");
    assert!(text.contains(&address), "{text}");
}

#[test]
fn fmt_lays_out_a_file_once_and_for_all() {
    let messy = "endpoint GET \"/x\" {\n  lua #\"\"\"\n      return 1  \n      \"\"\"#  \n      // why\n}\n";
    let neat = "endpoint GET \"/x\" {\n    lua #\"\"\"\n      return 1  \n      \"\"\"#\n    // why\n}\n";
    let folder = site(GOOD);
    folder.write("other.kdl", messy);
    let (code, text) = run(folder.path(), &["fmt", "--check", "other.kdl"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("other.kdl"), "{text}");
    let read = || fs::read_to_string(folder.path().join("other.kdl")).unwrap();
    assert_eq!(read(), messy, "--check changes nothing");
    assert_eq!(run(folder.path(), &["fmt", "other.kdl"]).0, Some(0));
    assert_eq!(read(), neat);
    assert_eq!(run(folder.path(), &["fmt", "--check", "other.kdl", "."]).0, Some(0));
    let broken = "endpoint GET \"/x {\n  lua 1\n";
    folder.write("other.kdl", broken);
    let (code, text) = run(folder.path(), &["fmt", "other.kdl"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("other.kdl:1:14"), "{text}");
    assert_eq!(read(), broken);
}

/// What is shown to people to copy from is laid out as `fmt` does it.
#[test]
fn the_sites_of_the_repository_are_laid_out_well() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sites = files_below(&root.join("examples"));
    sites.retain(|site| site.extension().is_some_and(|extension| extension == "kdl"));
    assert!(!sites.is_empty());
    let mut arguments = vec!["fmt", "--check", "site.kdl", "bench/site.kdl"];
    arguments.extend(sites.iter().map(|site| site.to_str().unwrap()));
    let (code, text) = run(root, &arguments);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn schema_prints_the_schema() {
    let (code, text) = run(site(GOOD).path(), &["schema"]);
    assert_eq!(code, Some(0));
    assert_eq!(text, include_str!("../../schemas/site.kdl-schema"));
}

#[test]
fn shells_and_manual_readers_get_every_command() {
    let folder = site(GOOD);
    for arguments in [&["completions", "bash"][..], &["completions", "zsh"], &["completions", "fish"], &["man"]] {
        let (code, text) = run(folder.path(), arguments);
        assert_eq!(code, Some(0), "{text}");
        for command in ["check", "fmt", "routes", "completions"] {
            assert!(text.contains(command), "{command} is not in {arguments:?}:\n{text}");
        }
    }
    assert_eq!(run(folder.path(), &["completions", "cmd.exe"]).0, Some(2));
}

#[test]
fn new_makes_a_site_that_is_fine_and_overwrites_nothing() {
    let folder = site(GOOD);
    let (code, text) = run(folder.path(), &["new", "fresh/api"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(folder.path(), &["check", "--deny", "warnings", "fresh/api"]);
    assert_eq!(code, Some(0), "{text}");
    // All that there is to see of the example but its cases is what is made.
    let names = |below: &Path| {
        let files = files_below(below).into_iter();
        let mut names: Vec<_> = files.map(|file| file.strip_prefix(below).unwrap().to_path_buf()).collect();
        names.retain(|name| name != Path::new("cases.md"));
        names.sort();
        names
    };
    let made = folder.path().join("fresh/api");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/new");
    assert_eq!(names(&made), names(&example));
    let before = fs::read_to_string(folder.path().join("site.kdl")).unwrap();
    let (code, text) = run(folder.path(), &["new", "."]);
    assert_eq!(code, Some(2), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("site.kdl")).unwrap(), before);
    assert!(!folder.path().join(".gitignore").exists(), "nothing was made");
}

#[test]
fn call_sends_one_request_without_a_port() {
    let text = r##"
endpoint GET "/hello" { lua #"log.info("from the handler") return "hello " .. (req.query.name or req.headers.x_name)"#; }
endpoint POST "/echo" { lua #"return req:json(), 201"#; }
static "/files" dir="public"
"##;
    let folder = site(text);
    // The output of a program is both of its streams here; what a script reads is standard output alone.
    let out = |arguments: &[&str]| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_moondock"));
        let ended = program.args(arguments).current_dir(folder.path()).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap())
    };
    let (code, answer, log) = out(&["call", "GET", "/hello?name=Ada"]);
    assert_eq!((code, &*answer), (Some(0), "hello Ada"));
    assert!(log.contains("from the handler"), "{log}");
    assert_eq!(out(&["call", "GET", "/hello", "-H", "X-Name: Bob"]).1, "hello Bob");
    assert_eq!(out(&["call", "GET", "/files/x.txt"]).1, "x\n");
    let (code, answer, _) = out(&["call", "-i", "POST", "/echo", "-d", r#"{"a":1}"#]);
    assert_eq!(code, Some(0));
    assert!(answer.starts_with("HTTP/1.0 201 Created\r\n") && answer.ends_with("\r\n\r\n{\"a\":1}"), "{answer}");
    folder.write("body.json", r#"{"b":2}"#);
    assert_eq!(out(&["call", "POST", "/echo", "-d", "@body.json"]).1, r#"{"b":2}"#);
    let (code, answer, _) = out(&["call", "GET", "/none"]);
    assert!(code == Some(1) && answer.contains("\"status\":404"), "{answer}");
    for wrong in [&["call", "GET", "hello"][..], &["call", "GET", "/a b"], &["call", "GET", "/x", "-H", "no header"]] {
        assert_eq!(out(wrong).0, Some(2), "{wrong:?}");
    }
    folder.write("bad.kdl", "endpoint GET \"/x\" {\n");
    assert_eq!(out(&["call", "GET", "/x", "--site", "bad.kdl"]).0, Some(78));
}
