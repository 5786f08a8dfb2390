//! The architecture as a test: who may name whom, which crate is known where, how large files get, where `unsafe` is.
//!
//! The tables say the same as ARCHITECTURE.md. Comments and texts are no code and are not looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use crate::harness::{files_below, repository};

/// What a module may name of the others. The leaves `exchange` and `script` may be named by all and name none.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("main", &["cli"]),
    (
        "cli",
        &["server", "http", "runtime", "site", "endpoint", "environment", "logging", "kdl", "diag", "watch", "lsp"],
    ),
    ("trial", &["lsp", "site", "kdl", "diag"]),
    ("lsp", &["site", "endpoint", "environment", "logging", "kdl", "diag"]),
    ("server", &["http", "runtime", "site", "endpoint", "environment", "logging", "kdl", "diag", "watch"]),
    ("http", &["runtime", "site", "endpoint", "environment", "logging", "kdl", "diag"]),
    ("runtime", &["site", "endpoint", "environment", "logging", "persistence", "kdl", "diag"]),
    ("site", &["endpoint", "environment", "logging", "persistence", "luau", "kdl", "diag"]),
    ("endpoint", &["logging", "kdl", "diag"]),
    ("environment", &["logging", "luau", "kdl", "diag"]),
    ("logging", &["kdl", "diag"]),
    ("persistence", &["kdl", "diag"]),
    ("kdl", &["diag"]),
    ("luau", &[]),
    ("diag", &[]),
    ("watch", &[]),
    ("exchange", &[]),
    ("script", &[]),
    ("lib", &[]),
];

/// The leaves.
const LEAVES: &[&str] = &["exchange", "script"];

/// Of these modules only this part may be named from there.
const ONLY: &[(&str, &str, &str)] = &[("environment", "logging", "feature")];

/// The crates that only one place may know: the beginning of a file's path below `src`.
const FENCES: &[(&str, &[&str])] = &[
    ("kdl", &["kdl/"]),
    ("mlua", &["environment/"]),
    ("corosensei", &["environment/"]),
    ("tree_sitter", &["luau/"]),
    ("tree_sitter_luau", &["luau/"]),
    ("actix_web", &["http/", "server.rs", "server/"]),
    ("actix_http", &["http/", "server.rs", "server/"]),
    ("actix_files", &["http/"]),
    ("matchit", &["endpoint/"]),
    ("notify", &["watch/"]),
    ("miette", &["diag/"]),
    ("slog_async", &["logging/"]),
    ("slog_term", &["logging/"]),
    ("slog_json", &["logging/"]),
    ("lsp_server", &["lsp/"]),
    ("gen_lsp_types", &["lsp/"]),
    ("clap", &["cli/", "main.rs"]),
    ("mimalloc", &["main.rs"]),
];

/// The only files with `unsafe` in them: the handler's native stack, the ticker that interrupts it, and the raw walks
/// over values and captured variables.
const UNSAFE: &[&str] = &[
    "environment/captured.rs",
    "environment/entry.rs",
    "environment/fiber.rs",
    "environment/json_read.rs",
    "environment/json_write.rs",
    "environment/push.rs",
    "environment/reference.rs",
    "environment/request_fields.rs",
    "environment/ticker.rs",
];

/// Names that say nothing and attract everything.
const EMPTY_NAMES: &[&str] = &["utils", "util", "helpers", "helper", "common", "manager", "misc"];

/// The most lines a file may have, its tests included.
const LONGEST_FILE: usize = 500;

/// A source file below `src`.
struct File {
    /// Its path below `src`.
    path: String,
    /// Its lines.
    lines: usize,
    /// Its code: comments and texts blanked out.
    code: String,
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_string(), lines: text.lines().count(), code: code_of(text) }
    }

    /// The top-level module it belongs to.
    fn module(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.strip_suffix(".rs").unwrap_or(first)
    }

    /// How many modules it lies below the crate's root.
    fn depth(&self) -> usize {
        let parts = self.path.split('/').count();
        parts - usize::from(self.path.ends_with("/mod.rs"))
    }
}

fn sources() -> Vec<File> {
    let folder = repository().join("src");
    let rust = files_below(&folder).into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    rust.map(|path| File::new(&relative(&path, &folder), &std::fs::read_to_string(&path).unwrap())).collect()
}

fn relative(path: &Path, folder: &Path) -> String {
    path.strip_prefix(folder).expect("it lies below").to_string_lossy().replace('\\', "/")
}

/// The text with comments, string and character literals blanked out; line breaks stay.
fn code_of(text: &str) -> String {
    let no_code = Regex::new(concat!(
        r#"(?s)//[^\n]*"#,
        r#"|/\*.*?\*/"#,
        r####"|\bb?r###".*?"###|\bb?r##".*?"##|\bb?r#".*?"#|\bb?r".*?""####,
        r#"|b?"(?:\\.|[^"\\])*""#,
        r#"|'(?:\\[^\n']*|[^\\'\n])'"#,
    ))
    .expect("the pattern is right");
    let blank = |found: &regex::Captures<'_>| found[0].chars().filter(|char| *char == '\n').collect::<String>() + " ";
    no_code.replace_all(text, blank).into_owned()
}

/// The paths below the crate's root that a file names: `crate::a::b`, `use crate::{a::b, c}`, `super::…` out of its module.
fn named_paths(file: &File) -> BTreeSet<String> {
    let root = match file.module() {
        "main" => r"\bmoondock::",
        _ => r"\bcrate::",
    };
    let up = format!(r"\b(?:super::){{{}}}", file.depth().max(1));
    let starts = Regex::new(&format!(r"{root}|{up}")).expect("the pattern is right");
    let mut paths = BTreeSet::new();
    for start in starts.find_iter(&file.code) {
        paths.extend(paths_behind(&file.code[start.end()..]));
    }
    paths
}

/// The first one or two words of each path that begins here: of `{a::b, c}` they are `a::b` and `c`.
fn paths_behind(code: &str) -> Vec<String> {
    let word = Regex::new(r"^\s*([a-z_][a-z0-9_]*)(?:::([A-Za-z_][A-Za-z0-9_]*))?").expect("the pattern is right");
    let Some(inside) = code.strip_prefix('{') else {
        return word.captures(code).map(|found| joined(&found)).into_iter().collect();
    };
    let mut depth = 1;
    let list: String = inside
        .chars()
        .take_while(|char| {
            depth += i32::from(*char == '{') - i32::from(*char == '}');
            depth > 0
        })
        .collect();
    split_at_top(&list).iter().filter_map(|entry| word.captures(entry).map(|found| joined(&found))).collect()
}

fn joined(found: &regex::Captures<'_>) -> String {
    [Some(&found[1]), found.get(2).map(|part| part.as_str())].into_iter().flatten().collect::<Vec<_>>().join("::")
}

/// Splits a list at the commas that lie in no braces.
fn split_at_top(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for char in list.chars() {
        depth += i32::from(char == '{') - i32::from(char == '}');
        match (char, depth, parts.last_mut()) {
            (',', 0, _) => parts.push(String::new()),
            (_, _, Some(part)) => part.push(char),
            (_, _, None) => {}
        }
    }
    parts
}

/// What is wrong about the names of a set of files.
fn wrong_names(files: &[File]) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = MAY_NAME.iter().copied().collect();
    let mut wrong = Vec::new();
    for file in files {
        let Some(may) = allowed.get(file.module()) else {
            wrong.push(format!(
                "src/{}: the module {} is not in the table of tests/it/layering.rs",
                file.path,
                file.module()
            ));
            continue;
        };
        for path in named_paths(file) {
            let module = path.split("::").next().unwrap_or_default();
            let known = allowed.contains_key(module) && module != file.module();
            if known && !may.contains(&module) && !is_open_leaf(file.module(), module) {
                wrong.push(format!("src/{}: {} may not name {path}", file.path, file.module()));
            }
            wrong.extend(outside_the_part(file, &path));
        }
    }
    wrong
}

fn is_open_leaf(from: &str, module: &str) -> bool {
    LEAVES.contains(&module) && !LEAVES.contains(&from) && !matches!(from, "diag" | "watch")
}

fn outside_the_part(file: &File, path: &str) -> Option<String> {
    let (from, module, part) =
        ONLY.iter().find(|(from, module, _)| file.module() == *from && path.split("::").next() == Some(module))?;
    (path != format!("{module}::{part}"))
        .then(|| format!("src/{}: {from} may name of {module} only {part}, not {path}", file.path))
}

/// The pairs of modules that name each other.
fn mutual_pairs(files: &[File]) -> Vec<String> {
    let mut edges: BTreeSet<(String, String)> = BTreeSet::new();
    for file in files {
        let others = named_paths(file).into_iter().filter_map(|path| path.split("::").next().map(str::to_string));
        edges.extend(others.filter(|other| other != file.module()).map(|other| (file.module().to_string(), other)));
    }
    let both_ways = edges.iter().filter(|(a, b)| a < b && edges.contains(&(b.clone(), a.clone())));
    both_ways.map(|(a, b)| format!("{a} and {b} name each other")).collect()
}

/// The crates that are named outside their fence.
fn broken_fences(files: &[File]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, places) in FENCES {
        let named =
            Regex::new(&format!(r"(?m)(?:^|[^:\w]|[^\w]::){name}::|\buse {name}\b")).expect("the pattern is right");
        let outside = files.iter().filter(|file| !places.iter().any(|place| file.path.starts_with(place)));
        let naming = outside.filter(|file| named.is_match(&file.code));
        wrong.extend(naming.map(|file| format!("src/{}: {name} belongs behind {}", file.path, places.join(", "))));
    }
    wrong
}

/// Files that are too long, have a name that says nothing, or use `unsafe` where it is not allowed.
fn wrong_shapes(files: &[File]) -> Vec<String> {
    let marked = Regex::new(r"\bunsafe\b").expect("the pattern is right");
    let mut wrong = Vec::new();
    for File { path, lines, code } in files {
        if *lines > LONGEST_FILE {
            wrong.push(format!("src/{path}: {lines} lines, {LONGEST_FILE} at most"));
        }
        if path.split('/').any(|part| EMPTY_NAMES.contains(&part.trim_end_matches(".rs"))) {
            wrong.push(format!("src/{path}: a name that says nothing"));
        }
        if marked.is_match(code) && !UNSAFE.contains(&path.as_str()) {
            wrong.push(format!("src/{path}: `unsafe` is not allowed here"));
        }
    }
    wrong
}

fn all_faults(files: &[File]) -> Vec<String> {
    [wrong_names(files), mutual_pairs(files), broken_fences(files), wrong_shapes(files)].concat()
}

#[test]
fn the_code_keeps_to_the_architecture() {
    let faults = all_faults(&sources());
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn modules_that_are_allowed_to_use_unsafe_do() {
    let files = sources();
    let unused: Vec<_> = UNSAFE
        .iter()
        .filter(|name| !files.iter().any(|file| file.path == **name && file.code.contains("unsafe")))
        .collect();
    assert!(unused.is_empty(), "no `unsafe` in {unused:?}: take it out of the list");
}

#[test]
fn a_planted_violation_is_found() {
    let long = "\n".repeat(LONGEST_FILE + 1);
    let planted: &[(&str, &str, &str)] = &[
        ("kdl/reader.rs", "use crate::site::Site;", "kdl may not name site::Site"),
        ("kdl/reader.rs", "fn f() { crate::http::handle() }", "kdl may not name http::handle"),
        ("kdl/reader.rs", "use super::super::site::Site;", "kdl may not name site::Site"),
        ("kdl/mod.rs", "use super::runtime;", "kdl may not name runtime"),
        ("script.rs", "use crate::{exchange::Request, diag};", "script may not name exchange::Request"),
        ("script.rs", "use crate::{exchange::{Request, Answer}, diag};", "script may not name diag"),
        ("environment/pool.rs", "use crate::logging::router::Router;", "environment may name of logging only feature"),
        ("plugins/mod.rs", "", "the module plugins is not in the table"),
        ("site/load.rs", "use kdl::KdlDocument;", "kdl belongs behind kdl/"),
        ("site/load.rs", "fn f(lua: &mlua::Lua) {}", "mlua belongs behind environment/"),
        ("site/load.rs", "type W = Box<dyn ::notify::Watcher>;", "notify belongs behind watch/"),
        ("site/load.rs", long.as_str(), "lines, 500 at most"),
        ("site/helpers.rs", "", "a name that says nothing"),
        ("site/utils/mod.rs", "", "a name that says nothing"),
        ("site/load.rs", "fn f() { unsafe { g() } }", "`unsafe` is not allowed here"),
    ];
    for (path, text, fault) in planted {
        let faults = all_faults(&[File::new(path, text)]);
        assert!(
            faults.iter().any(|found| found.contains(fault)),
            "{text:?} in {path} wants {fault:?}, found {faults:?}"
        );
    }
    let pair = [File::new("server.rs", "use crate::cli;"), File::new("cli/mod.rs", "use crate::server;")];
    assert_eq!(mutual_pairs(&pair), ["cli and server name each other"]);
}

#[test]
fn what_is_no_violation_is_not_found() {
    let fine: &[(&str, &str)] = &[
        ("kdl/reader.rs", "// crate::site is above us\nconst A: &str = \"crate::site::Site\"; use crate::diag::Span;"),
        (
            "kdl/reader.rs",
            "const A: &str = r#\"unsafe \"crate::site\" \"#; const B: char = '\"'; use super::scalar::At;",
        ),
        (
            "site/load.rs",
            "use crate::kdl::reader::Reader; use crate::script::Script; fn f<'a>(x: &'a str) -> &'a str { x }",
        ),
        ("environment/api/json.rs", "use mlua::Lua; use crate::logging::feature::Level; use super::super::pool::Pool;"),
    ];
    for (path, text) in fine {
        assert_eq!(all_faults(&[File::new(path, text)]), Vec::<String>::new(), "{text:?} in {path}");
    }
}
