//! How a session begins, goes on and ends.

use serde_json::{Value, json};

use super::{WRONG, able, folder};
use crate::harness::editor::{Editor, framed};

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
fn a_request_that_is_cancelled_says_so_and_the_next_is_answered() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", WRONG);
    editor.codes("site.kdl", 1);
    let uri = editor.uri("site.kdl");
    let place = json!({ "line": 0, "character": 0 });
    let context = json!({ "diagnostics": [] });
    let actions =
        json!({ "textDocument": { "uri": uri }, "range": { "start": place, "end": place }, "context": context });
    // All in one breath: while the new text is not checked, the request about its findings waits, and can be cancelled.
    let edit = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": WRONG }] });
    let all = [
        json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": edit }),
        json!({ "jsonrpc": "2.0", "id": "by name", "method": "textDocument/codeAction", "params": actions }),
        json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": "by name" } }),
        json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": { "id": 12345 } }),
        json!({ "jsonrpc": "2.0", "method": "$/cancelRequest", "params": "nothing" }),
    ];
    let bytes: Vec<u8> = all.iter().flat_map(framed).collect();
    editor.write(&bytes);
    let answer = editor.wait(|message| message["id"] == "by name");
    assert_eq!(answer["error"]["code"], -32800, "{answer}");
    assert!(editor.request("textDocument/codeAction", actions).is_array());
    assert!(editor.quit().success());
}

#[test]
fn who_waits_when_the_session_ends_is_told_so() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", WRONG);
    editor.codes("site.kdl", 1);
    let uri = editor.uri("site.kdl");
    let place = json!({ "line": 0, "character": 0 });
    let actions = json!({ "textDocument": { "uri": uri }, "range": { "start": place, "end": place },
        "context": { "diagnostics": [] } });
    let edit = json!({ "textDocument": { "uri": uri, "version": 2 }, "contentChanges": [{ "text": WRONG }] });
    let all = [
        json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": edit }),
        json!({ "jsonrpc": "2.0", "id": "waits", "method": "textDocument/codeAction", "params": actions }),
        json!({ "jsonrpc": "2.0", "id": "ends", "method": "shutdown" }),
    ];
    let bytes: Vec<u8> = all.iter().flat_map(framed).collect();
    editor.write(&bytes);
    let answer = editor.wait(|message| message["id"] == "waits");
    assert_eq!(answer["error"]["code"], -32802, "{answer}");
    assert!(editor.wait(|message| message["id"] == "ends").get("error").is_none());
    editor.notify("exit", Value::Null);
    assert_eq!(editor.hang_up().code(), Some(0));
}
