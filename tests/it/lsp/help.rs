//! What can be written, what a word means, where it is declared, what a text has.

use serde_json::{Value, json};

use super::{able, folder};
use crate::harness::editor::Editor;
use crate::harness::repository;

const SITE: &str = r#"include "more.kdl"
variables {
    page-size 50
}
secrets {
    jwt-key (env)JWT_KEY optional=#true
}
environment shared {
    max-runspaces 2
    secrets jwt-key
}
endpoint GET "/notes/{id}" environment=shared {
    script "lua/item.lua"
}
"#;
const MORE: &str = "environment other {\n}\n/- environment gone {\n}\n";

/// An editor with the site, and with the text in which `|` is the cursor open beside it as an include.
fn with_cursor(marked: &str) -> (Editor, (u32, u32), crate::harness::site_folder::SiteFolder) {
    let folder = folder(&[("site.kdl", SITE), ("more.kdl", MORE), ("lua/item.lua", "return 1")]);
    let mut editor = Editor::start(folder.path(), &able());
    let at = marked.find('|').expect("there is a cursor");
    let before = &marked[..at];
    let line = before.matches('\n').count() as u32;
    let place = (line, before.rsplit('\n').next().unwrap_or_default().len() as u32);
    editor.open("more.kdl", &marked.replacen('|', "", 1));
    // What other files of the site declare is known when it was checked.
    editor.findings("more.kdl", Some(1));
    (editor, place, folder)
}

/// What is proposed at the cursor.
fn proposed(marked: &str) -> Vec<String> {
    let (mut editor, place, _folder) = with_cursor(marked);
    let items = editor.at("textDocument/completion", "more.kdl", place)["items"].clone();
    let label = |item: &Value| item["label"].as_str().unwrap().to_owned();
    items.as_array().map(|items| items.iter().map(label).collect()).unwrap_or_default()
}

#[test]
fn what_can_be_written_depends_on_the_place() {
    // What must be proposed, and what must not.
    for (marked, wanted, unwanted) in [
        ("|", &["endpoint", "environment", "server", "group"][..], &["timeout", "schedule", "lua"][..]),
        ("serv|", &["server"], &[]),
        (
            "endpoint GET \"/\" {\n    |\n}\n",
            &["lua", "script", "respond", "environment", "timeout"],
            &["server", "bind", "cors"],
        ),
        ("endpoint GET \"/\" {\n    tim|\n    lua \"\"\n}\n", &["timeout"], &["lua"]),
        ("endpoint GET \"/\" {\n    |\nserver {\n}\n", &["lua"], &["bind"]),
        ("endpoint GET \"/\" timeout=\"1s\" {\n    |", &["memory-less", "lua"][1..], &["timeout"]),
        ("endpoint |", &["GET", "POST", "ANY", "timeout="], &["lua"]),
        ("endpoint GET \"/\" env|", &["environment="], &["param="]),
        ("endpoint GET \"/\" environment=|", &["shared", "other"][..1], &["gone", "jwt-key"]),
        ("environment here {\n}\nendpoint GET \"/\" environment=\"sha|\"", &["shared", "here"], &["GET"]),
        ("endpoint GET \"/\" {\n    environment |\n}", &["shared"], &[]),
        ("default-environment |", &["shared"], &["#true"]),
        ("environment a {\n    persistent-runspaces |", &["#true", "#false"], &[]),
        ("environment a {\n    persistent-runspaces #|", &["#true", "#false"], &[]),
        ("environment a {\n    secrets |", &["jwt-key"], &["page-size"]),
        ("environment a {\n    variables |", &["page-size"], &["jwt-key"]),
        ("environment a {\n    kind |", &["integrated"], &["external"]),
        ("logging {\n    target |", &["console", "level="], &["file", "database"]),
        ("logging {\n    target console level=|", &["info", "warning"], &["console"]),
        ("logging {\n    target console {\n        feature api |", &["script"], &["info"]),
        ("variables {\n    x (|", &["env", "file", "secret"], &[]),
        ("variables {\n    x (secret)|", &["jwt-key"], &["shared"]),
        ("endpoint GET \"/\" {\n    script \"|\"", &["lua/"], &["site.kdl"]),
        ("endpoint GET \"/\" {\n    script \"lua/|", &["lua/item.lua"], &[]),
        ("group \"/a/{a}\" {\n    endpoint GET \"/{b}/{*c}\" {\n        param |", &["a", "b", "c", "type="], &[]),
        ("endpoint GET \"/\" {\n    param x type=|", &["integer", "uuid"], &[]),
        ("// serv|", &[], &["server"]),
        ("/* serv|", &[], &["server"]),
        ("endpoint GET \"/\" {\n    lua #\"\"\"\n    ret|\n    \"\"\"#\n}\n", &[], &["lua", "script"]),
        ("endpoint GET \"/\" { } |", &[], &["server", "lua"]),
        ("unheard-of {\n    |\n}", &[], &["server", "lua"]),
    ] {
        let found = proposed(marked);
        let missing: Vec<_> = wanted.iter().filter(|label| !found.iter().any(|found| found == **label)).collect();
        let wrong: Vec<_> = unwanted.iter().filter(|label| found.iter().any(|found| found == **label)).collect();
        assert!(missing.is_empty() && wrong.is_empty(), "{marked:?}: without {missing:?}, with {wrong:?}: {found:?}");
    }
}

#[test]
fn what_is_proposed_replaces_what_is_half_written() {
    let (mut editor, place, _folder) = with_cursor("endpoint GET \"/\" environment=\"sha|\"");
    let items = editor.at("textDocument/completion", "more.kdl", place)["items"].clone();
    let shared = items.as_array().unwrap().iter().find(|item| item["label"] == "shared").unwrap().clone();
    assert_eq!(shared["textEdit"]["newText"], "\"shared\"");
    assert_eq!(shared["textEdit"]["range"]["start"]["character"], 29);
    assert_eq!(shared["textEdit"]["range"]["end"]["character"], 34);
}

#[test]
fn snippets_are_for_clients_that_can_use_them() {
    for (capabilities, text, format) in [(able(), "server {\n    $0\n}", 2), (json!({}), "server", 1)] {
        let folder = folder(&[]);
        let mut editor = Editor::start(folder.path(), &capabilities);
        editor.open("site.kdl", "s");
        let items = editor.at("textDocument/completion", "site.kdl", (0, 1))["items"].clone();
        let server = items.as_array().unwrap().iter().find(|item| item["label"] == "server").unwrap().clone();
        assert_eq!(server["textEdit"]["newText"], text);
        assert_eq!(server["insertTextFormat"], format);
        assert!(server["documentation"]["value"].as_str().unwrap().contains("listens"), "{server}");
    }
}

#[test]
fn who_indents_a_line_is_not_asked_what_for() {
    let (mut editor, (line, character), _folder) = with_cursor("server {\n    |\n}");
    let context = json!({ "triggerKind": 2, "triggerCharacter": " " });
    let text = json!({ "uri": editor.uri("more.kdl") });
    let place = json!({ "line": line, "character": character });
    let params = json!({ "textDocument": text, "position": place, "context": context });
    assert_eq!(editor.request("textDocument/completion", params), Value::Null);
}

/// What is told about the word at the cursor.
fn told(marked: &str) -> String {
    let (mut editor, place, _folder) = with_cursor(marked);
    let hover = editor.at("textDocument/hover", "more.kdl", place);
    hover["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_word_is_explained() {
    for (marked, wanted) in [
        ("ser|ver {\n}", "Where and how the server listens"),
        ("endpoint GET \"/\" {\n    time|out \"5s\"\n}", "Default: that of the group around it"),
        ("endpoint GET \"/\" tim|eout=\"5s\"", "How long a handler may run"),
        ("endpoint GET \"/\" timeout=\"5|s\"", "How long a handler may run"),
        ("logging {\n    target console le|vel=info\n}", "`critical`"),
        ("variables {\n    x (e|nv)HOME\n}", "environment variable"),
        ("sched|ule", "Not available yet"),
        ("nothing-of-the-|kind", ""),
        ("// ser|ver", ""),
        ("|", ""),
    ] {
        let told = told(marked);
        assert!(told.contains(wanted) && told.is_empty() == wanted.is_empty(), "{marked:?}: {told:?}");
    }
}

#[test]
fn secrets_are_not_shown() {
    for marked in ["secrets {\n    a|a \"hush-hush\"\n}", "secrets {\n    aa \"hush|-hush\"\n}"] {
        assert!(!told(marked).contains("hush"), "{marked}");
    }
}

/// Where what the cursor stands on is declared: file and line.
fn declared(marked: &str) -> Vec<(String, u64)> {
    let (mut editor, place, _folder) = with_cursor(marked);
    let locations = editor.at("textDocument/definition", "more.kdl", place);
    let base = editor.uri("");
    let location = |it: &Value| {
        let file = it["uri"].as_str().unwrap().strip_prefix(&base).unwrap().to_owned();
        (file, it["range"]["start"]["line"].as_u64().unwrap())
    };
    locations.as_array().map(|all| all.iter().map(location).collect()).unwrap_or_default()
}

#[test]
fn a_name_leads_to_its_declaration() {
    for (marked, wanted) in [
        ("endpoint GET \"/\" environment=sha|red", &[("site.kdl", 7)][..]),
        ("environment here {\n}\nendpoint GET \"/\" {\n    environment he|re\n}", &[("more.kdl", 0)]),
        ("variables {\n    x (secret)jwt-|key\n}", &[("site.kdl", 5)]),
        ("environment a {\n    secrets jwt-k|ey\n}", &[("site.kdl", 5)]),
        ("environment a {\n    variables page-|size\n}", &[("site.kdl", 2)]),
        ("endpoint GET \"/\" script=\"lua/it|em.lua\"", &[("lua/item.lua", 0)]),
        ("include \"lua/*.l|ua\"", &[("lua/item.lua", 0)]),
        ("endpoint GET \"/\" script=\"lua/no|ne.lua\"", &[]),
        ("endpoint GET \"/\" environment=no|ne", &[]),
        ("ser|ver", &[]),
    ] {
        let found = declared(marked);
        let found: Vec<(&str, u64)> = found.iter().map(|(file, line)| (file.as_str(), *line)).collect();
        assert_eq!(found, wanted, "{marked:?}");
    }
}

#[test]
fn a_text_has_an_outline() {
    let folder = folder(&[("more.kdl", MORE), ("lua/item.lua", "return 1")]);
    let params = |editor: &Editor| json!({ "textDocument": { "uri": editor.uri("site.kdl") } });
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", SITE);
    let request = params(&editor);
    let all = editor.request("textDocument/documentSymbol", request);
    let names = |symbols: &Value| -> Vec<String> {
        symbols.as_array().unwrap().iter().map(|symbol| symbol["name"].as_str().unwrap().to_owned()).collect()
    };
    let top = ["include more.kdl", "variables", "secrets", "environment shared", "endpoint GET /notes/{id}"];
    assert_eq!(names(&all), top);
    assert_eq!(names(&all[3]["children"]), ["max-runspaces 2", "secrets jwt-key"]);
    assert_eq!(all[4]["range"]["end"], json!({ "line": 13, "character": 1 }));
    let mut plain = Editor::start(folder.path(), &json!({}));
    plain.open("site.kdl", SITE);
    let flat = plain.request("textDocument/documentSymbol", params(&editor));
    assert_eq!(flat.as_array().map(Vec::len), Some(10));
    assert_eq!(flat[6]["containerName"], "environment shared");
}

/// Somebody types each of the examples letter by letter, and asks at every letter.
#[test]
fn every_beginning_of_a_site_has_answers() {
    let text = std::fs::read_to_string(repository().join("examples/notes-api/site.kdl")).unwrap();
    let folder = folder(&[]);
    let mut editor = Editor::start(folder.path(), &able());
    editor.open("site.kdl", "");
    let (mut line, mut character, mut version, mut asked) = (0, 0, 1, Vec::new());
    for c in text.chars() {
        let place = json!({ "line": line, "character": character });
        version += 1;
        editor.edit("site.kdl", version, json!([{ "range": { "start": place, "end": place }, "text": c.to_string() }]));
        (line, character) = if c == '\n' { (line + 1, 0) } else { (line, character + c.len_utf8()) };
        let at = json!({ "textDocument": { "uri": editor.uri("site.kdl") }, "position": { "line": line, "character": character } });
        for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition"] {
            asked.push(editor.ask(method, at.clone()));
        }
    }
    for id in asked {
        let answer = editor.answer(id);
        assert!(answer.get("error").is_none(), "{answer}");
    }
    // The site names files that are not in the folder, but the last text is what it was typed as.
    let last = editor.findings("site.kdl", Some(version));
    assert!(last.iter().all(|found| found["code"] != "syntax::other"), "{last:?}");
    assert!(editor.quit().success());
}
