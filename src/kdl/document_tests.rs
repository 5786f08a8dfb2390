//! Tests: files read from text to values.

use super::*;
use crate::diag::Sources;
use crate::kdl::reader::Outside;
use crate::kdl::scalar::{Duration, Plain, Size};

struct World;

impl Outside for World {
    fn env(&self, name: &str) -> Option<String> {
        match name {
            "WORKERS" => Some("3".to_owned()),
            "WORDS" => Some("some words".to_owned()),
            _ => None,
        }
    }
    fn file(&self, _: FileId, path: &str) -> Result<String, String> {
        if path == "there" { Ok("5s".to_owned()) } else { Err(format!("there is no file `{path}`")) }
    }
    fn secret(&self, name: &str) -> Option<String> {
        (name == "key").then(|| "hush".to_owned())
    }
    fn secret_names(&self) -> Vec<String> {
        vec!["key".to_owned(), "empty".to_owned()]
    }
}

/// Every finding as `line:column code`.
fn told(text: &str, found: Diagnostics) -> Vec<String> {
    let mut sources = Sources::default();
    let file = sources.add("site.kdl", text);
    let told = |found: &Diagnostic| {
        let (line, column) = sources.line_column(file, found.primary.span.start);
        format!("{line}:{column} {}", found.code.id)
    };
    found.sorted().iter().map(told).collect()
}

fn check(text: &str) -> Vec<String> {
    let mut found = Diagnostics::default();
    Parser::default().parse(FileId(0), text, &mut found);
    told(text, found)
}

/// Reads a file with a closure over its readers; what was found while parsing and reading.
fn read_with(text: &str, read: impl FnOnce(Vec<Reader<'_>>)) -> Vec<String> {
    let mut found = Diagnostics::default();
    let document = Parser::default().parse(FileId(0), text, &mut found);
    let context = Context::new(&World);
    read(document.readers(&context));
    found.extend(context.into_findings().iter().cloned());
    told(text, found)
}

#[test]
fn settings_are_read_in_either_form() {
    let text = "server { workers 3; timeout \"5s\"; compress; trusted-proxies \"::1\" \"::2\"; }\n\
                environment a max-runspaces=4 queue=7 {\n  memory \"1MiB\"\n  variables a b\n}";
    let told = read_with(text, |readers| {
        let [server, environment] = readers.as_slice() else { panic!("two nodes") };
        assert_eq!(server.get::<usize>("workers").map(|at| at.it), Some(3));
        let five = std::time::Duration::from_secs(5);
        assert_eq!(server.get("timeout").map(|at: crate::kdl::scalar::At<Duration>| at.it.0), Some(five));
        assert_eq!(server.switch("compress").map(|at| at.it), Some(true));
        assert_eq!(server.get::<Size>("max-body"), None);
        assert_eq!(server.list::<String>("trusted-proxies").len(), 2);
        assert_eq!(environment.arg::<String>(0).map(|at| at.it).as_deref(), Some("a"));
        assert_eq!(environment.get::<u32>("max-runspaces").map(|at| at.it), Some(4));
        assert_eq!(environment.get::<Size>("memory").map(|at| at.it), Some(Size(1 << 20)));
        let queue = environment.child("queue").expect("a property stands for a child");
        assert_eq!(queue.arg::<usize>(0).map(|at| at.it), Some(7));
        assert_eq!(queue.get::<Duration>("wait"), None);
        assert!(environment.is_complete() && server.is_complete());
        assert_eq!((server.line(), environment.line()), (1, 2));
    });
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn values_from_outside_become_what_their_place_needs() {
    let text = "server {\n  workers (env)WORKERS\n  timeout (file)there\n  keep-alive (env)GONE default=\"7s\"\n}\n\
                variables {\n  a (env)WORDS\n  b (env)GONE\n  c (secret)key\n  d (secret)kye\n  e (secret)empty\n\
                \x20 f (env)GONE optional=#true\n}\nserver { workers (env)WORDS; }";
    let told = read_with(text, |readers| {
        assert_eq!(readers[0].get::<usize>("workers").map(|at| at.it), Some(3));
        assert_eq!(readers[0].get::<Duration>("timeout").map(|at| at.it.0.as_secs()), Some(5));
        assert_eq!(readers[0].get::<Duration>("keep-alive").map(|at| at.it.0.as_secs()), Some(7));
        let values: Vec<Option<Plain>> =
            readers[1].children().iter().map(|child| child.plain(0).map(|at| at.it)).collect();
        let text = |text: &str| Some(Plain::Text(text.to_owned()));
        assert_eq!(values, [text("some words"), None, text("hush"), None, None, None]);
        assert_eq!(readers[2].get::<usize>("workers"), None);
    });
    let expected = ["8:10 value::unset", "10:13 name::unknown", "11:13 value::unset", "14:23 value::format"];
    assert_eq!(told, expected);
}

#[test]
fn a_lua_text_knows_its_lines() {
    let text = "\n\nendpoint GET \"/a\" {\n  lua #\"\"\"\n    local a\n\n      b\n    \"\"\"#\n}";
    let told = read_with(text, |readers| {
        let lua = readers[0].text("lua").expect("lua");
        assert_eq!(lua.value, "local a\n\n  b");
        assert_eq!(lua.lines, [5, 6, 7]);
        let b = lua.value.find('b').expect("b");
        let range = crate::kdl::reader::range_of(&lua.map, b..b + 1, 0);
        assert_eq!(&text[range], "b");
    });
    assert_eq!(told, Vec::<String>::new());
}

#[test]
fn one_mistake_is_told_once() {
    for (text, expected) in [
        ("server { workers \"4\"; }", vec!["1:18 value::type"]),
        ("server { workers 0; }", vec!["1:18 value::range"]),
        ("server { wrokers 4; }", vec!["1:10 node::unknown"]),
        ("sever { wrokers 4; }", vec!["1:1 node::unknown"]),
        ("server { endpoint GET \"/\"; }", vec!["1:10 node::misplaced"]),
        ("environment a max-runspace=4", vec!["1:15 prop::unknown"]),
        ("environment a timeout=\"1s\" { timeout \"2s\"; }", vec!["1:30 setting::twice"]),
        ("environment a timeout=\"1s\" timeout=\"2s\"", vec!["1:28 prop::duplicate"]),
        ("environment a { timeout \"1s\"; timeout \"2s\"; }", vec!["1:31 node::duplicate"]),
        ("environment", vec!["1:1 value::missing"]),
        ("endpoint \"/\"", vec!["1:1 value::missing"]),
        ("site a b", vec!["1:8 value::unexpected"]),
        ("server 5 { workers 1; }", vec!["1:8 value::unexpected"]),
        ("server { timeout 30; }", vec!["1:18 value::duration"]),
        ("server { timeout \"1h3x\"; }", vec!["1:22 value::duration"]),
        ("server { max-body \"1QB\"; }", vec!["1:21 value::size"]),
        ("static \"/a\"", vec!["1:1 setting::missing"]),
        ("static \"/a\" dri=x", vec!["1:13 prop::unknown"]),
        ("endpoint GET, POST \"/\"", vec!["1:13 value::comma"]),
        ("environment a kind=externl", vec!["1:20 value::enum"]),
        ("environment a { kind external; workers 2; command x; }", vec!["1:22 node::not-yet"]),
        ("environment a { workers 2; user x; }", vec!["1:17 node::not-yet", "1:28 node::not-yet"]),
        ("auth { nonsense; }", vec!["1:1 node::not-yet"]),
        ("endpoint GET \"/\" auth=app", vec!["1:18 node::not-yet"]),
        ("logging { target file \"a\" level=nonsense; }", vec!["1:18 node::not-yet"]),
        ("persistence sqlite \"a\" { pool 3; }", vec!["1:13 node::not-yet"]),
        ("server { workers 1 { a; }; }", vec!["1:22 node::no-block"]),
        ("server { timeout (duration)\"5s\"; }", vec!["1:19 value::annotation"]),
        ("(x)site a", vec!["1:2 value::annotation"]),
        ("variables { \"a b\" 1; }", vec!["1:15 value::format"]),
        ("variables { a 1; a 2; }", vec!["1:18 node::duplicate"]),
        ("variables { a #null; }", vec!["1:15 value::type"]),
    ] {
        assert_eq!(check(text), expected, "{text}");
    }
}

#[test]
fn a_broken_node_hides_no_other() {
    let text = "server {\n  workers true\n  compress false\n}\nsite = \"x\"\nenvironment a {\n  timeout 5s\n}\nbogus";
    let expected = [
        "2:11 syntax::keyword",
        "3:12 syntax::keyword",
        "5:6 syntax::equals",
        "7:11 syntax::bare-unit",
        "9:1 node::unknown",
    ];
    assert_eq!(check(text), expected);
    let mut found = Diagnostics::default();
    let document = Parser::default().parse(FileId(0), text, &mut found);
    let names: Vec<_> = document
        .broken()
        .iter()
        .map(|broken| (broken.name.as_deref().unwrap_or(""), broken.argument.as_deref()))
        .collect();
    assert_eq!(names, [("server", None), ("site", None), ("environment", Some("a"))]);
}

#[test]
fn an_edit_parses_one_chunk_and_moves_the_rest() {
    let mut parser = Parser::default();
    let first = "site \"a\"\nserver { workers 0; }\n";
    let second = format!("site \"abc\"\n\n{}", &first[9..]);
    let mut found = Diagnostics::default();
    parser.parse(FileId(0), first, &mut found);
    parser.prune();
    let kept = parser.chunks.len();
    let mut found = Diagnostics::default();
    parser.parse(FileId(0), &second, &mut found);
    assert_eq!((kept, parser.chunks.len()), (2, 3));
    assert_eq!(told(&second, found), ["3:18 value::range"]);
    parser.prune();
    assert_eq!(parser.chunks.len(), 2);
}

#[test]
fn what_stands_once_stands_once_in_all_files() {
    let mut parser = Parser::default();
    let mut found = Diagnostics::default();
    let one = parser.parse(FileId(0), "site a\nvariables { }", &mut found);
    let two = parser.parse(FileId(1), "variables { }\nsite b", &mut found);
    report_duplicates(&[one, two], &mut found);
    let told: Vec<_> = found.iter().map(|found| (found.code.id, found.primary.span.file)).collect();
    assert_eq!(told, [("node::duplicate", FileId(1))]);
}

#[test]
fn what_is_too_big_is_refused() {
    let file = "// a line of a file that is too big\n".repeat(500_000);
    assert_eq!(check(&file), ["1:1 syntax::too-big"]);
    let node = format!("site {}\nserver {{ workers 0; }}", "a ".repeat(600_000));
    assert_eq!(check(&node), ["1:1 syntax::too-big", "2:18 value::range"]);
}

/// The text with every fix applied once.
fn mended(text: &str) -> String {
    let mut sources = Sources::default();
    let file = sources.add("site.kdl", text);
    let mut found = Diagnostics::default();
    Parser::default().parse(file, text, &mut found);
    assert!(!found.is_empty(), "nothing is wrong with {text}");
    let mended = crate::diag::fix::mend(&found, &sources, |_| true);
    mended.into_iter().next().map_or_else(|| text.to_owned(), |mended| mended.text)
}

#[test]
fn what_is_certain_is_mended() {
    for (text, want) in [
        ("server {\n  compress true\n}\n", "server {\n  compress #true\n}\n"),
        ("server {\n  timeout=\"5s\"\n}\n", "server {\n  timeout \"5s\"\n}\n"),
        ("static /a/{b} dir=x\n", "static \"/a/{b}\" dir=x\n"),
        ("server\r\n\r\n{\r\n}\r\n", "server {\r\n}\r\n"),
        ("site r#\"a\"#\n", "site #\"a\"#\n"),
        ("  # a\n", "  // a\n"),
        ("\"endpiont\" GET \"/\" { respond 204; }\n", "endpoint GET \"/\" { respond 204; }\n"),
        ("logging { target console level=\"inof\"; }\n", "logging { target console level=\"info\"; }\n"),
        ("server { workers \"2\"; }\n", "server { workers 2; }\n"),
        ("server { workers (envv)W; }\n", "server { workers (env)W; }\n"),
    ] {
        assert_eq!(mended(text), want);
    }
}

#[test]
fn what_could_be_meant_otherwise_is_left_alone() {
    for text in [
        "endpoint GET \"/\" {\n  redirect /a//b\n}\n",
        "static /a{b dir=x\n",
        "server // why\n{\n}\n",
        "server { workers \"two\"; }\n",
        "site r\"a\\\"\"\n",
        "server { workers 1; wrokers 2; }\n",
        "endpoint GET \"/\" timeout=\"1s\" tiemout=\"2s\" { respond 204; }\n",
        "server { timeout 5; }\n",
    ] {
        assert_eq!(mended(text), text);
    }
}
