//! The flags of `check`: formats, which codes count, variables, standard input, mending.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use moondock::diag::render::FORMATS;

use crate::harness::program::command;
use crate::harness::site_folder::SiteFolder;
use crate::harness::{files_below, repository};

/// One warning, nothing else.
const IDLE: &str = "environment idle\nenvironment used\nendpoint GET \"/\" environment=used { lua \"return 1\"; }\n";
/// Three mistakes, of which the first two can be mended.
const BAD: &str = "server {
    compress true
}
endpiont GET \"/\" { respond 200 \"x\"; }
environment idle max-runspaces=0
endpoint GET \"/other\" { respond 200 \"x\"; }
";

/// The text with what can be mended mended.
fn mended() -> String {
    BAD.replace("compress true", "compress #true").replace("endpiont", "endpoint")
}

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

fn check(folder: &Path, arguments: &[&str]) -> Said {
    check_text(folder, arguments, "")
}

/// Runs `check` with a text on its standard input.
fn check_text(folder: &Path, arguments: &[&str], text: &str) -> Said {
    let arguments = [&["check"], arguments].concat();
    let mut command = command(folder, &arguments, &[]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    // Who refuses its arguments does not read.
    let _gone = child.stdin.take().expect("it is piped").write_all(text.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn site(text: &str) -> SiteFolder {
    let folder = SiteFolder::new();
    // A site that is only looked at needs no port of its own, so it stays as it is.
    folder.write_bytes(Path::new("site.kdl"), text.as_bytes());
    folder
}

#[test]
fn flags_decide_which_codes_count() {
    let folder = site(IDLE);
    let unused = "environment::unused";
    for (arguments, code, shown) in [
        (&[][..], 0, true),
        (&["--deny", "warnings"], 1, true),
        (&["--deny", unused], 1, true),
        (&["--deny", "value::type"], 0, true),
        (&["--allow", unused], 0, false),
        (&["--deny", "warnings", "--allow", unused], 0, false),
    ] {
        let said = check(folder.path(), arguments);
        assert_eq!((said.code, said.out.contains(unused)), (Some(code), shown), "{arguments:?}: {}", said.out);
    }
}

#[test]
fn what_cannot_be_asked_for_is_a_wrong_usage() {
    let folder = site(IDLE);
    folder.write("bad.env", "A=1\n\nnonsense\n");
    for (arguments, says) in [
        (&["--deny", "environment::unusd"][..], "did you mean `environment::unused`?"),
        (&["--allow", "zzzz"], "there is no code `zzzz`"),
        (&["--allow", "value::type"], "only warnings can be left out"),
        (&["--deny", "environment::unused", "--allow", "environment::unused"], "at once"),
        (&["--env-file", "none.env"], "none.env"),
        (&["--env-file", "bad.env"], "bad.env:3: this is not KEY=VALUE"),
        (&["--format", "xml"], "sarif"),
        (&["--max-errors=-1"], "max-errors"),
    ] {
        let said = check(folder.path(), arguments);
        assert_eq!(said.code, Some(2), "{arguments:?}: {}", said.err);
        assert!(said.err.contains(says) && said.out.is_empty(), "{arguments:?}: {}{}", said.out, said.err);
    }
}

#[test]
fn the_number_of_findings_can_be_limited() {
    let folder = site(BAD);
    for (max, format, left) in
        [("1", "human", 2), ("1", "concise", 2), ("2", "concise", 1), ("3", "human", 0), ("0", "human", 0)]
    {
        let said = check(folder.path(), &["--max-errors", max, "--format", format]);
        let more = if left > 0 { format!("… and {left} more\n") } else { String::new() };
        assert_eq!(said.out.contains("… and"), left > 0, "{}", said.out);
        let summary = format!("{more}site.kdl: 3 errors\n");
        assert!(said.out.contains(&summary), "{max}: {}", said.out);
    }
    let said = check(folder.path(), &["--max-errors", "1", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&said.out).expect("one JSON object");
    assert_eq!((json["summary"]["omitted"].as_u64(), json["summary"]["errors"].as_u64()), (Some(2), Some(3)));
    assert_eq!(said.err, "… and 2 more\n");
}

#[test]
fn every_format_can_be_had() {
    let folder = site(BAD);
    for (format, begins, lines) in [
        ("concise", "site.kdl:2:14: error[syntax::keyword] ", 4),
        ("json", "{\"version\":1,", 1),
        ("jsonl", "{\"code\":\"syntax::keyword\",", 3),
        ("sarif", "{\"$schema\":", 1),
        (
            "github",
            "::error file=site.kdl,line=2,col=14,endLine=2,endColumn=18,title=moondock (syntax%3A%3Akeyword)::",
            3,
        ),
    ] {
        let said = check(folder.path(), &["--format", format]);
        assert_eq!(said.code, Some(1), "{format}");
        assert!(said.out.starts_with(begins), "{format}: {}", said.out);
        assert_eq!(said.out.lines().count(), lines, "{format}: {}", said.out);
    }
}

#[test]
fn one_log_holds_the_runs_of_several_sites() {
    let folder = site(BAD);
    folder.write("other.kdl", IDLE);
    let said = check(folder.path(), &["--format", "sarif", "site.kdl", "other.kdl"]);
    let log: serde_json::Value = serde_json::from_str(&said.out).expect("one JSON object");
    let levels = [&log["runs"][0], &log["runs"][1]].map(|run| run["results"][0]["level"].clone());
    assert_eq!(levels, ["error", "warning"]);
}

#[test]
fn variables_come_from_a_file() {
    let folder = site("variables { a (env)MOONDOCK_TEST_GIVEN; }\nendpoint GET \"/\" { respond 200 \"x\"; }\n");
    folder.write("given.env", "# here\nexport MOONDOCK_TEST_GIVEN=\"x\"\n");
    assert_eq!(check(folder.path(), &[]).code, Some(1));
    assert_eq!(check(folder.path(), &["--env-file", "given.env", "--offline"]).code, Some(0));
}

#[test]
fn lua_can_be_left_alone() {
    let folder = site("endpoint GET \"/\" { lua \"return return\"; }\nendpoint GET \"/b\" script=\"b.lua\"\n");
    folder.write("b.lua", "require \"nowhere\"\n");
    assert_eq!(check(folder.path(), &[]).code, Some(1));
    let said = check(folder.path(), &["--no-scripts"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.out.contains("is fine"), "{}", said.out);
}

#[test]
fn a_site_can_come_from_standard_input() {
    let folder = SiteFolder::new();
    folder.write("more.kdl", "endpoint GET \"/more\" { respond 200 \"x\"; }\n");
    let said = check_text(folder.path(), &["-"], "include \"more.kdl\"\n");
    assert_eq!((said.code, said.out.starts_with("<stdin> is fine: 1 endpoint")), (Some(0), true), "{}", said.out);
    let said = check_text(folder.path(), &["-", "--format", "concise"], BAD);
    assert_eq!(said.code, Some(1));
    assert!(said.out.starts_with("<stdin>:2:14: error[syntax::keyword]"), "{}", said.out);
}

#[test]
fn files_are_mended_and_what_is_left_is_told() {
    let folder = site(BAD);
    let said = check(folder.path(), &["--fix", "--format", "concise"]);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.out.starts_with("site.kdl:2:14: fixed: write #true\n"), "{}", said.out);
    assert!(said.out.contains("value::range") && said.out.ends_with("site.kdl: 1 error\n"), "{}", said.out);
    let text = fs::read_to_string(folder.path().join("site.kdl")).unwrap();
    assert_eq!(text, mended());
}

#[test]
fn included_files_are_mended_where_they_are_but_not_for_standard_input() {
    let site_text = "include \"conf.d/*.kdl\"\nserver { compress true; }\n";
    let part = "endpoint GET \"/\" { respond 200 \"x\" tpye=\"text/plain\"; }\n";
    let folder = site(site_text);
    folder.write_bytes(Path::new("conf.d/a.kdl"), part.as_bytes());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let said = check_text(folder.path(), &["-", "--fix"], site_text);
    assert_eq!((said.code, said.out), (Some(1), site_text.replace("true", "#true")), "{}", said.err);
    assert_eq!((read("site.kdl").as_str(), read("conf.d/a.kdl").as_str()), (site_text, part));
    let said = check(folder.path(), &["--fix", "--format", "concise"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    assert!(said.out.contains("conf.d/a.kdl:1:36: fixed: write type\n"), "{}", said.out);
    assert_eq!(read("site.kdl"), site_text.replace("true", "#true"));
    assert_eq!(read("conf.d/a.kdl"), part.replace("tpye", "type"));
}

#[test]
fn a_mended_text_goes_to_standard_output() {
    let folder = SiteFolder::new();
    let said = check_text(folder.path(), &["-", "--fix"], BAD);
    assert_eq!(said.code, Some(1));
    assert_eq!(said.out, mended());
    assert!(said.err.contains("fixed: write #true") && said.err.contains("value::range"), "{}", said.err);
    let fine = mended().replace("environment idle max-runspaces=0\n", "");
    let said = check_text(folder.path(), &["-", "--fix"], &fine);
    assert_eq!((said.code, said.out), (Some(0), fine), "{}", said.err);
}

#[test]
fn the_reference_page_has_every_flag_and_format() {
    let page = fs::read_to_string(repository().join("docs/reference/check.md")).unwrap();
    let help = check(SiteFolder::new().path(), &["--help"]).out;
    let flags = help.split_whitespace().filter(|word| word.starts_with("--"));
    let flags: Vec<&str> = flags.map(|flag| flag.trim_end_matches(|c: char| !c.is_ascii_alphanumeric())).collect();
    assert!(flags.contains(&"--env-file"), "{help}");
    let missing: Vec<&str> = flags.into_iter().filter(|flag| !page.contains(&format!("`{flag}"))).collect();
    assert!(missing.is_empty(), "docs/reference/check.md does not have {missing:?}");
    for format in FORMATS {
        assert!(
            page.contains(&format!("### {}\n", format.name)),
            "docs/reference/check.md does not show {}",
            format.name
        );
    }
}

/// Cases of which a cure lets something be seen that the mistake had hidden, so that as much or more is left.
const UNCOVERED: &[&str] = &["crlf.kdl", "first-pode.kdl", "node-unknown-script.kdl", "value-annotation.kdl"];

/// How many findings a report of the form `json` has, and how many of them have a fix.
fn count(report: &str) -> (usize, usize) {
    let json: serde_json::Value = serde_json::from_str(report).unwrap_or_else(|error| panic!("{error}: {report}"));
    let found = json["diagnostics"].as_array().expect("a list");
    let fixable = found.iter().filter(|found| found["fixes"].as_array().is_some_and(|fixes| !fixes.is_empty()));
    (found.len(), fixable.count())
}

fn texts(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    files_below(folder).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// A copy of all cases of `check`, so that what one of them names is there.
fn copied_cases() -> SiteFolder {
    let (from, to) = (repository().join("tests/cases/check"), SiteFolder::new());
    for file in files_below(&from) {
        to.write_bytes(file.strip_prefix(&from).expect("it lies below"), &fs::read(&file).unwrap());
    }
    to
}

#[test]
fn mending_any_case_leaves_less_and_mending_it_again_changes_nothing() {
    let names = fs::read_dir(repository().join("tests/cases/check")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let (mut mended, mut wrong) = (0, Vec::new());
    for name in names.filter(|name| name.ends_with(".kdl")) {
        let folder = copied_cases();
        let (before, fixable) = count(&check(folder.path(), &["--format", "json", &name]).out);
        let untouched = texts(folder.path());
        let first = check(folder.path(), &["--format", "json", "--fix", &name]);
        let once = texts(folder.path());
        let again = check(folder.path(), &["--format", "json", "--fix", &name]);
        let (after, left) = count(&first.out);
        let fewer = (after < before) == (fixable > 0 && !UNCOVERED.contains(&name.as_str()));
        let stays = again.out == first.out && again.err.is_empty() && texts(folder.path()) == once;
        if !fewer || left > 0 || !stays || (once != untouched) != (fixable > 0) {
            wrong.push(format!("{name}: {before} before\n{}{}{}{}", first.err, first.out, again.err, again.out));
        }
        mended += usize::from(fixable > 0);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(mended > 10, "only {mended} cases can be mended");
}
