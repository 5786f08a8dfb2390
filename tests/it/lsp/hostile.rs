//! What nobody types, and nothing may break on.

use serde_json::{Value, json};

use super::{FINE, able, folder};
use crate::harness::editor::Editor;

/// Asks everything that can be asked about a place, and wants answers that are no errors.
fn ask_all(editor: &mut Editor, name: &str, line: u32, character: u32) {
    let text = json!({ "uri": editor.uri(name) });
    let place = json!({ "line": line, "character": character });
    let range = json!({ "start": place, "end": { "line": u32::MAX / 2, "character": 7 } });
    for (method, params) in [
        ("textDocument/completion", json!({ "textDocument": text, "position": place })),
        ("textDocument/hover", json!({ "textDocument": text, "position": place })),
        ("textDocument/definition", json!({ "textDocument": text, "position": place })),
        ("textDocument/documentSymbol", json!({ "textDocument": text })),
        ("textDocument/formatting", json!({ "textDocument": text, "options": { "tabSize": 4, "insertSpaces": true } })),
        ("textDocument/codeAction", json!({ "textDocument": text, "range": range, "context": { "diagnostics": [] } })),
    ] {
        let answer = editor.request(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
    }
}

#[test]
fn texts_that_nobody_types_break_nothing() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", "");
    let deep = "a{".repeat(200_000);
    let texts = [
        "\0",
        "endpoint\0GET \"/\0\" {\0}",
        "server {\r    bind \"127.0.0.1:1\"\r}\rendpoint GET \"/\" { respond 200; }\r",
        "\u{feff}server {\r\n  wrokers 1\r\n}\r\n",
        "}}}}}}}}",
        "endpoint GET \"/\" { lua #\"\"\"",
        "a /-{ a /-{ a /-{ a /-{ a /-{ a",
        "/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*",
        "🌙=🌙(🌙)🌙 \"🌙",
        "\u{2028}\u{85}\u{2029}",
        "include \"site.kdl\"\ninclude \"*\"\ninclude \"/\"\ninclude \"\"",
        "endpoint GET \"/{a}{b}{\" { param \"\"; }",
        "- - - = = ( ( ) ) # ## \\ \\",
        &deep,
    ];
    for (version, text) in (2..).zip(texts) {
        editor.change("site.kdl", version, text);
        for (line, character) in [(0, 0), (0, 1), (0, u32::MAX / 2), (1, 3), (u32::MAX / 2, 0)] {
            ask_all(&mut editor, "site.kdl", line, character);
        }
        editor.findings("site.kdl", Some(version));
    }
    assert!(editor.quit().success());
}

#[test]
fn a_huge_text_is_answered() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    let huge = format!("{FINE}// {}\nserver {{\n    \n}}\n", "moon 🌙 ".repeat(1_000_000));
    assert!(huge.len() > 10_000_000);
    editor.open("site.kdl", &huge);
    let items = editor.at("textDocument/completion", "site.kdl", (3, 4));
    assert!(items["items"].as_array().is_some_and(|items| items.iter().any(|item| item["label"] == "bind")), "{items}");
    assert_eq!(editor.codes("site.kdl", 1), [""; 0]);
    let place = json!({ "line": 3, "character": 4 });
    editor.edit("site.kdl", 2, json!([{ "range": { "start": place, "end": place }, "text": "wrokers 1" }]));
    assert_eq!(editor.codes("site.kdl", 2), ["node::unknown"]);
    editor.change("site.kdl", 3, &"x".repeat(17 << 20));
    assert_eq!(editor.codes("site.kdl", 3), ["syntax::too-big"]);
    assert!(editor.quit().success());
}

#[test]
fn places_that_are_not_there_are_the_nearest() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &json!({}));
    editor.open("site.kdl", "🌙");
    let edit = |from: (u32, u32), to: (u32, u32), text: &str| {
        let place = |(line, character)| json!({ "line": line, "character": character });
        json!({ "range": { "start": place(from), "end": place(to) }, "text": text })
    };
    // In the middle of a pair, far behind the end, and the wrong way round: then all of it is put right.
    editor.edit(
        "site.kdl",
        2,
        json!([edit((0, 1), (0, 1), "a"), edit((99, 99), (100, 0), "b"), edit((0, 3), (0, 1), "c")]),
    );
    editor.edit("site.kdl", 3, json!([edit((9, 9), (0, 0), FINE)]));
    assert_eq!(editor.codes("site.kdl", 3), [""; 0]);
}

#[test]
fn what_is_not_open_or_no_file_is_answered() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    ask_all(&mut editor, "never-opened.kdl", 0, 0);
    editor.change("never-opened.kdl", 1, FINE);
    let untitled = json!({ "uri": "untitled:Untitled-1" });
    let mut item = untitled.clone();
    item["languageId"] = json!("kdl");
    item["version"] = json!(1);
    item["text"] = json!("serv");
    editor.notify("textDocument/didOpen", json!({ "textDocument": item }));
    let place = json!({ "textDocument": untitled, "position": { "line": 0, "character": 4 } });
    let items = editor.request("textDocument/completion", place);
    assert!(items["items"].as_array().is_some_and(|items| !items.is_empty()), "{items}");
    for uri in ["", ":", "%%%", "file://", "file:///%ff%00/site.kdl", "http://x/site.kdl"] {
        let item = json!({ "uri": uri, "languageId": "kdl", "version": 1, "text": "a {" });
        editor.notify("textDocument/didOpen", json!({ "textDocument": item }));
        let place = json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 1 } });
        assert!(editor.request("textDocument/hover", place).get("error").is_none(), "{uri}");
    }
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
}
