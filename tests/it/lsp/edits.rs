//! What the editor is told to write: layout and fixes.

use serde_json::{Value, json};

use super::{able, folder};
use crate::harness::editor::Editor;

#[test]
fn a_text_is_laid_out_and_one_that_is_no_kdl_is_left_alone() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", "server {\n  bind \"127.0.0.1:1\"  \n}\n");
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let place = json!({ "textDocument": { "uri": editor.uri("site.kdl") }, "options": options });
    let edits = editor.request("textDocument/formatting", place.clone());
    assert_eq!(edits.as_array().map(Vec::len), Some(1), "{edits}");
    assert_eq!(edits[0]["newText"], "  bind \"127.0.0.1:1\"");
    editor.change("site.kdl", 2, "server {\n  bind \"127");
    assert_eq!(editor.request("textDocument/formatting", place), Value::Null);
}

const TWO_MISTAKES: &str = "endpoint GET \"/\" {\n    responnd 200 \"ok\"\n    depercated #true\n}\n";

fn actions(editor: &mut Editor, line: u32, only: Option<&[&str]>) -> Vec<Value> {
    let place = json!({ "line": line, "character": 6 });
    let mut context = json!({ "diagnostics": [] });
    if let Some(only) = only {
        context["only"] = json!(only);
    }
    let text = json!({ "uri": editor.uri("site.kdl") });
    let params = json!({ "textDocument": text, "range": { "start": place, "end": place }, "context": context });
    editor.request("textDocument/codeAction", params).as_array().expect("there is a list").clone()
}

#[test]
fn a_finding_has_its_fixes_and_all_can_be_applied_at_once() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", "");
    // Asked in the same breath, it waits for the findings of this text.
    editor.change("site.kdl", 2, TWO_MISTAKES);
    let offered = actions(&mut editor, 1, None);
    let titles: Vec<&str> = offered.iter().filter_map(|action| action["title"].as_str()).collect();
    assert_eq!(titles, ["Write respond", "Apply every fix that is certain"]);
    assert_eq!((&offered[0]["kind"], &offered[0]["isPreferred"]), (&json!("quickfix"), &json!(true)));
    assert_eq!(offered[0]["diagnostics"][0]["code"], "node::unknown");
    let change = &offered[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"], json!({ "uri": editor.uri("site.kdl"), "version": 2 }));
    assert_eq!(change["edits"][0]["newText"], "respond");
    assert_eq!(offered[1]["kind"], "source.fixAll");
    assert_eq!(offered[1]["edit"]["documentChanges"][0]["edits"].as_array().map(Vec::len), Some(2));
    for (line, only, count) in [
        (0, None, 1),
        (1, Some(&["quickfix"][..]), 1),
        (0, Some(&["quickfix"]), 0),
        (1, Some(&["source"]), 1),
        (0, Some(&["source.fixAll.moondock"]), 1),
        (1, Some(&["refactor", "source.organizeImports"]), 0),
        (1, Some(&[]), 0),
    ] {
        assert_eq!(actions(&mut editor, line, only).len(), count, "{line} {only:?}");
    }
}

#[test]
fn a_client_without_versions_gets_edits_without() {
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &json!({}));
    editor.open("site.kdl", TWO_MISTAKES);
    let offered = actions(&mut editor, 1, Some(&["quickfix"]));
    let edits = &offered[0]["edit"]["changes"][editor.uri("site.kdl")];
    assert_eq!(edits[0]["newText"], "respond");
}

#[test]
fn nothing_is_written() {
    let folder = folder(&[("site.kdl", TWO_MISTAKES)]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", TWO_MISTAKES);
    actions(&mut editor, 1, None);
    editor.change("site.kdl", 2, "");
    editor.codes("site.kdl", 2);
    assert!(editor.quit().success());
    assert_eq!(std::fs::read_to_string(folder.path().join("site.kdl")).unwrap(), TWO_MISTAKES);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
