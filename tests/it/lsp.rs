//! The language server, from an editor's point of view: what it is told while a site is typed.

use serde_json::{Value, json};

use crate::harness::editor::{Editor, framed};
use crate::harness::site_folder::SiteFolder;

/// A client that can do everything.
fn able() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8", "utf-16"] },
        "workspace": {
            "workspaceEdit": { "documentChanges": true },
            "didChangeWatchedFiles": { "dynamicRegistration": true },
        },
        "textDocument": {
            "publishDiagnostics": { "relatedInformation": true, "versionSupport": true },
            "completion": { "completionItem": { "snippetSupport": true } },
        },
    })
}

const FINE: &str = "endpoint GET \"/\" { respond 200 \"ok\"; }\n";
const WRONG: &str = "endpoint GET \"/\" { responnd 200 \"ok\"; }\n";

fn folder(files: &[(&str, &str)]) -> SiteFolder {
    let folder = SiteFolder::new();
    for (name, text) in files {
        folder.write_bytes(name.as_ref(), text.as_bytes());
    }
    folder
}

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
    assert_eq!(
        found[0]["range"],
        json!({ "start": { "line": 0, "character": 19 }, "end": { "line": 0, "character": 27 } })
    );
    assert!(found[0]["message"].as_str().unwrap().contains("help: did you mean `respond`?"), "{found:?}");
    editor.change("site.kdl", 2, FINE);
    assert_eq!(editor.codes("site.kdl", 2), [""; 0]);
    assert!(editor.quit().success());
}

#[test]
fn the_end_is_told_by_the_exit_status() {
    let folder = folder(&[]);
    assert_eq!(Editor::start(folder.path(), &able()).quit().code(), Some(0));
    assert_eq!(Editor::start(folder.path(), &able()).hang_up().code(), Some(1));
    let mut editor = Editor::start(folder.path(), &able());
    editor.notify("exit", Value::Null);
    assert_eq!(editor.hang_up().code(), Some(1));
    let mut editor = Editor::silent(folder.path());
    editor.write(b"no header at all\r\n\r\n");
    assert_eq!(editor.hang_up().code(), Some(1));
}

#[test]
fn what_is_no_request_is_an_error_and_not_the_end() {
    let folder = folder(&[]);
    let mut editor = Editor::silent(folder.path());
    let code = |answer: Value| answer["error"]["code"].as_i64();
    assert_eq!(code(editor.request("textDocument/hover", json!({}))), Some(-32002));
    assert_eq!(code(editor.request("initialize", json!([]))), Some(-32602));
    editor.open("site.kdl", WRONG);
    editor.request("initialize", json!({ "capabilities": {} }));
    assert_eq!(code(editor.request("initialize", json!({ "capabilities": {} }))), Some(-32600));
    assert_eq!(code(editor.request("moondock/nothing", Value::Null)), Some(-32601));
    assert_eq!(code(editor.request("textDocument/formatting", json!({ "textDocument": 3 }))), Some(-32602));
    for wrong in ["{", "[]", "null", "\u{0}"] {
        editor.write(format!("Content-Length: {}\r\n\r\n{wrong}", wrong.len()).as_bytes());
        let answer = editor.wait(|message| message["id"].is_null() && message.get("error").is_some());
        assert!([-32700, -32600].contains(&answer["error"]["code"].as_i64().unwrap()), "{wrong}");
    }
    editor.notify("textDocument/didChange", json!({ "no": "text" }));
    editor.notify("$/unheardOf", Value::Null);
    editor.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": 1 }));
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
    assert_eq!(code(editor.request("textDocument/formatting", Value::Null)), Some(-32600));
    editor.notify("exit", Value::Null);
    assert_eq!(editor.hang_up().code(), Some(0));
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
            let params =
                json!({ "textDocument": { "uri": uri, "version": version }, "contentChanges": [{ "text": text }] });
            framed(&json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": params }))
        })
        .collect();
    editor.write(&changes);
    assert_eq!(editor.codes("site.kdl", 500), ["node::unknown"]);
    let checks = editor.unread(|message| message["method"] == "textDocument/publishDiagnostics");
    assert!(checks < 50, "{checks} checks");
}

#[test]
fn a_text_is_laid_out_and_one_that_is_no_kdl_is_left_alone() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", "server {\n  bind \"127.0.0.1:1\"  \n}\n");
    let place =
        json!({ "textDocument": { "uri": editor.uri("site.kdl") }, "options": { "tabSize": 2, "insertSpaces": true } });
    let edits = editor.request("textDocument/formatting", place.clone());
    assert_eq!(edits.as_array().map(Vec::len), Some(1), "{edits}");
    assert_eq!(edits[0]["newText"], "  bind \"127.0.0.1:1\"");
    editor.change("site.kdl", 2, "server {\n  bind \"127");
    assert_eq!(editor.request("textDocument/formatting", place), Value::Null);
}
