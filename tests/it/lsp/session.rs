//! How a session begins, goes on and ends.

use serde_json::{Value, json};

use super::{WRONG, able, folder};
use crate::harness::editor::Editor;

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
