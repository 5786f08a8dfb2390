//! What `check` says: every `tests/cases/check/*.kdl` with its whole report beside it.
//!
//! The report is the short form, a line, and the form for people. `UPDATE=1 cargo test` writes the reports anew; look at
//! them before they are committed. `tests/cases/check/files/` holds what the cases name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use moondock::diag::render::{Style, concise, human};
use moondock::diag::{Code, codes};
use moondock::site::load::Loader;

use crate::harness::repository;

/// Where the cases are, as the reports show it.
const FOLDER: &str = "tests/cases/check";

/// Codes whose cases are no files of this folder, and where they are shown instead.
const ELSEWHERE: &[(&Code, &str)] = &[
    (&codes::SYNTAX_TOO_BIG, "a file of 17 MiB: the tests of src/kdl/document.rs"),
    (&codes::SECRET_WORLD_READABLE, "the rights of a file: the tests of src/site/secrets.rs"),
];

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(repository().join(FOLDER)).unwrap();
    let mut cases: Vec<PathBuf> = entries
        .map(|entry| Path::new(FOLDER).join(entry.unwrap().file_name()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "kdl"))
        .collect();
    cases.sort();
    cases
}

/// The report of a site; its path is shown as it is given, so it is relative to the package, where tests run.
fn report(site: &Path) -> String {
    let loaded = Loader::default().load(site).unwrap();
    if loaded.diagnostics.is_empty() {
        return "nothing is wrong\n".to_owned();
    }
    let short = concise(&loaded.diagnostics, &loaded.sources);
    let long = human(&loaded.diagnostics, &loaded.sources, Style { width: 1000, ..Style::default() });
    // Absolute paths are told where a file is looked for; they differ from machine to machine.
    let here = repository().display().to_string();
    let report = format!("{short}\n{long}").replace(&format!("{here}/"), "/repository/");
    let lines: Vec<&str> = report.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

#[test]
fn every_case_has_its_report() {
    let update = std::env::var("UPDATE").is_ok_and(|value| value == "1");
    let mut differing = Vec::new();
    for case in cases() {
        let expected = case.with_extension("txt");
        let found = report(&case);
        if update {
            std::fs::write(&expected, &found).unwrap();
        } else if std::fs::read_to_string(&expected).unwrap_or_default() != found {
            differing.push(format!("--- {}\n{found}", case.display()));
        }
    }
    assert!(differing.is_empty(), "these reports have changed:\n{}", differing.join("\n"));
}

/// Each mistake is told once, in the order of the file, and none causes a second finding. A line says by the number at its
/// end that it is wrong.
#[test]
fn forty_mistakes_are_forty_findings() {
    let loaded = Loader::default().load(&Path::new(FOLDER).join("forty-mistakes.kdl")).unwrap();
    let text = &loaded.sources.get(loaded.diagnostics.iter().next().unwrap().primary.span.file).text;
    let is_marked = |line: &str| {
        line.rsplit_once("// ")
            .is_some_and(|(_, said)| said.split(' ').next().is_some_and(|it| it.parse::<u32>().is_ok()))
    };
    let marked: Vec<u32> = (1..).zip(text.lines()).filter(|(_, line)| is_marked(line)).map(|(at, _)| at).collect();
    let place = |found: &moondock::diag::Diagnostic| {
        let span = found.primary.span;
        loaded.sources.line_column(span.file, span.start).0
    };
    let found: Vec<u32> = loaded.diagnostics.iter().map(place).collect();
    assert_eq!(marked.len(), 40);
    assert_eq!(found, marked);
}

#[test]
fn every_code_has_a_case() {
    let mut shown = BTreeSet::new();
    for case in cases() {
        let report = std::fs::read_to_string(case.with_extension("txt")).unwrap_or_default();
        let codes = report.lines().filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()));
        shown.extend(codes);
    }
    let elsewhere = |code: &Code| ELSEWHERE.iter().any(|(other, _)| other.id == code.id);
    let missing: Vec<&str> =
        codes::ALL.iter().filter(|code| !shown.contains(code.id) && !elsewhere(code)).map(|code| code.id).collect();
    assert!(missing.is_empty(), "no case in {FOLDER} shows {missing:?}");
}

#[test]
fn loading_again_tells_the_same() {
    let mut loader = Loader::default();
    for case in cases() {
        let first = loader.load(&case).unwrap();
        let second = loader.load(&case).unwrap();
        let told = |loaded: &moondock::site::load::Loaded| concise(&loaded.diagnostics, &loaded.sources);
        assert_eq!(told(&first), told(&second), "{}", case.display());
    }
}
