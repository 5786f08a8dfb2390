//! Findings while a site is typed.

use serde_json::{Value, json};

use super::{FINE, WRONG, able, folder};
use crate::harness::editor::{Editor, framed};

#[test]
fn findings_come_while_a_site_is_typed_and_go_when_it_is_mended() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", WRONG);
    let found = editor.findings("site.kdl", Some(1));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["code"], "node::unknown");
    assert_eq!(found[0]["severity"], 1);
    assert_eq!(found[0]["source"], "moondock");
    let place = |character: u32| json!({ "line": 0, "character": character });
    assert_eq!(found[0]["range"], json!({ "start": place(19), "end": place(27) }));
    assert!(found[0]["message"].as_str().unwrap().contains("help: did you mean `respond`?"), "{found:?}");
    editor.change("site.kdl", 2, FINE);
    assert_eq!(editor.codes("site.kdl", 2), [""; 0]);
    assert!(editor.quit().success());
}

#[test]
fn many_quick_changes_are_few_checks() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", "");
    let uri = editor.uri("site.kdl");
    let changes: Vec<u8> = (2..=500)
        .flat_map(|version| {
            let text = if version == 500 { WRONG.to_owned() } else { FINE.repeat(version) };
            let file = json!({ "uri": uri, "version": version });
            let params = json!({ "textDocument": file, "contentChanges": [{ "text": text }] });
            framed(&json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params }))
        })
        .collect();
    editor.write(&changes);
    assert_eq!(editor.codes("site.kdl", 500), ["node::unknown"]);
    let checks = editor.unread(|message| message["method"] == "textDocument/publishDiagnostics");
    assert!(checks < 50, "{checks} checks");
}

#[test]
fn every_file_of_the_site_gets_its_own_findings_and_is_cleared() {
    let bad = "environment shared {\n    wrokers 1\n}\n";
    let folder = folder(&[("site.kdl", "include \"conf.d/*.kdl\"\n"), ("conf.d/a.kdl", bad), ("conf.d/b.kdl", FINE)]);
    let mut editor = Editor::start(folder.path(), &able());
    // One include is open, and the site is found above it.
    editor.open("conf.d/b.kdl", WRONG);
    assert_eq!(editor.codes("conf.d/b.kdl", 1), ["node::unknown"]);
    assert_eq!(editor.findings("conf.d/a.kdl", None).len(), 1);
    // The other is opened and mended without being saved: its old findings go.
    editor.open("conf.d/a.kdl", "");
    editor.change("conf.d/a.kdl", 2, "environment integrated {\n}\n");
    assert_eq!(editor.codes("conf.d/a.kdl", 2), [""; 0]);
    // Without the editor's text the file counts again.
    let closed = json!({ "textDocument": { "uri": editor.uri("conf.d/a.kdl") } });
    editor.notify("textDocument/didClose", closed);
    assert_eq!(editor.findings("conf.d/a.kdl", None).len(), 1);
    // When the last open text of the site is closed, nothing is told about it any more.
    let closed = json!({ "textDocument": { "uri": editor.uri("conf.d/b.kdl") } });
    editor.notify("textDocument/didClose", closed);
    assert_eq!(editor.findings("conf.d/a.kdl", None), [Value::Null; 0]);
    assert_eq!(editor.findings("conf.d/b.kdl", None), [Value::Null; 0]);
}

#[test]
fn other_places_are_told_as_the_client_can_show_them() {
    let twice = FINE.repeat(2);
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", &twice);
    let found = editor.findings("site.kdl", Some(1));
    let related = &found[0]["relatedInformation"][0];
    assert_eq!(related["location"]["uri"], editor.uri("site.kdl"));
    assert_eq!(related["location"]["range"]["start"]["line"], 0);
    let mut plain = Editor::start(folder.path(), &json!({}));
    plain.open("site.kdl", &twice);
    let found = plain.findings("site.kdl", Some(1));
    assert!(found[0].get("relatedInformation").is_none(), "{found:?}");
    assert!(found[0]["message"].as_str().unwrap().contains("site.kdl:1:"), "{found:?}");
}

#[test]
fn places_are_counted_as_was_agreed() {
    // The mistake stands behind two moons, which are eight bytes, and four units of UTF-16.
    let text = "site \"🌙🌙\"; wrong\r\nendpoint GET \"/\" { respond 200; }\r\n";
    let folder = folder(&[]);
    for (encodings, name, character) in [
        (json!(["utf-16", "utf-8"]), "utf-8", 17),
        (json!(["utf-32", "utf-16"]), "utf-16", 13),
        (Value::Null, "utf-16", 13),
    ] {
        let mut editor = Editor::silent(folder.path());
        let capabilities = json!({ "general": { "positionEncodings": encodings } });
        let welcome = editor.request("initialize", json!({ "capabilities": capabilities }));
        assert_eq!(welcome["capabilities"]["positionEncoding"], name);
        editor.open("site.kdl", text);
        let found = editor.findings("site.kdl", Some(1));
        assert_eq!(found[0]["range"]["start"], json!({ "line": 0, "character": character }), "{encodings}");
        // What is changed there hits the word, too.
        let place = |character: u32| json!({ "line": 0, "character": character });
        let range = json!({ "start": place(character), "end": place(character + 5) });
        editor.edit("site.kdl", 2, json!([{ "range": range, "text": "/-gone" }]));
        assert_eq!(editor.codes("site.kdl", 2), [""; 0], "{encodings}");
    }
}

#[test]
fn scripts_are_compiled_from_the_editor_and_never_run() {
    let folder = folder(&[("site.kdl", "endpoint GET \"/\" script=\"a.lua\"\n"), ("a.lua", "return 1")]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("a.lua", "while true do end");
    assert_eq!(editor.codes("a.lua", 1), [""; 0]);
    editor.change("a.lua", 2, "return ((");
    assert_eq!(editor.codes("a.lua", 2), ["script::syntax"]);
    // A script that nobody has saved yet is there.
    editor.open("site.kdl", "endpoint GET \"/\" script=\"new.lua\"\n");
    assert_eq!(editor.codes("site.kdl", 1), ["script::missing"]);
    editor.open("new.lua", "return 2");
    assert_eq!(editor.codes("site.kdl", 1), [""; 0]);
    assert!(!folder.path().join("new.lua").exists());
}

#[test]
fn what_changes_beside_the_editor_is_looked_at_again() {
    let folder = folder(&[("site.kdl", "include \"a.kdl\"\n"), ("a.kdl", FINE)]);
    let mut editor = Editor::start(folder.path(), &able());
    let asked = editor.wait(|message| message["method"] == "client/registerCapability");
    editor.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": null }));
    assert_eq!(asked["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    editor.open("site.kdl", "include \"a.kdl\"\n");
    assert_eq!(editor.codes("site.kdl", 1), [""; 0]);
    folder.write_bytes("a.kdl".as_ref(), WRONG.as_bytes());
    editor.notify("workspace/didChangeWatchedFiles", json!({ "changes": [] }));
    assert_eq!(editor.findings("a.kdl", None).len(), 1);
    folder.write_bytes("a.kdl".as_ref(), FINE.as_bytes());
    let saved = json!({ "textDocument": { "uri": editor.uri("site.kdl") } });
    editor.notify("textDocument/didSave", saved);
    assert_eq!(editor.findings("a.kdl", None), [Value::Null; 0]);
}

#[test]
fn each_open_site_is_checked_and_what_is_no_site_is_left_alone() {
    let folder = folder(&[("site.kdl", FINE), ("other/site.kdl", FINE)]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", WRONG);
    editor.open("other/site.kdl", WRONG);
    editor.open("lone.kdl", WRONG);
    editor.open("foreign.kdl", "layout {\n    pane \"x\"\n}\n");
    for name in ["site.kdl", "other/site.kdl", "lone.kdl"] {
        assert_eq!(editor.codes(name, 1), ["node::unknown"], "{name}");
    }
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
    assert_eq!(
        editor.unread(|message| message["params"]["uri"].as_str().is_some_and(|uri| uri.contains("foreign"))),
        0
    );
}

#[test]
fn warnings_are_told_and_can_be_allowed() {
    let unused = "environment unused {\n}\nenvironment used {\n}\nendpoint GET \"/\" environment=used { lua \"\"; }\n";
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", unused);
    let found = editor.findings("site.kdl", Some(1));
    assert_eq!((&found[0]["code"], &found[0]["severity"]), (&json!("environment::unused"), &json!(2)));
    editor.change("site.kdl", 2, &format!("// moondock: allow environment::unused\n{unused}"));
    assert_eq!(editor.codes("site.kdl", 2), [""; 0]);
}

#[test]
fn variables_can_be_given_in_a_file() {
    let site = format!("variables {{\n    x (env)MOON\n}}\n{FINE}");
    let folder = folder(&[("moon.env", "MOON=titan\n")]);
    for (arguments, wanted) in [(&["--stdio"][..], 1), (&["--env-file", "moon.env"], 0)] {
        let mut editor = Editor::with(folder.path(), arguments);
        editor.request("initialize", json!({ "capabilities": {} }));
        editor.open("site.kdl", &site);
        assert_eq!(editor.findings("site.kdl", Some(1)).len(), wanted, "{arguments:?}");
    }
    assert_eq!(Editor::with(folder.path(), &["--env-file", "none.env"]).hang_up().code(), Some(2));
}
