//! Tests: the trials, of the official KDL suite, of all our cases and examples, and of changes of them.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::kdl::trial::is_taken;

use super::*;

/// The texts of the files below a folder that end so; the official suite has some that are no text.
fn texts(folder: &str, ending: &str) -> Vec<String> {
    let mut open = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|found| found == ending) {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
}

/// The `kdl` blocks of the pages below a folder.
fn blocks(folder: &str) -> Vec<String> {
    let pages = texts(folder, "md");
    let blocks = pages.iter().flat_map(|page| page.split("\n```kdl").skip(1));
    let inside =
        blocks.filter_map(|block| block.split_once('\n')?.1.split_once("\n```").map(|(text, _)| text.to_owned()));
    inside.collect()
}

fn seeds() -> Vec<String> {
    let sources = [texts("tests/cases", "kdl"), texts("examples", "kdl"), blocks("docs/errors"), blocks("tests/cases")];
    let seeds = sources.concat();
    assert!(seeds.len() > 700, "{} seeds", seeds.len());
    seeds
}

/// One change of a text. Places are parts of its length.
#[derive(Clone, Debug)]
enum Change {
    /// Leaves some out.
    Cut(f64, usize),
    /// Puts in something.
    Insert(f64, &'static str),
    /// Says some again.
    Repeat(f64, usize, usize),
    /// Goes on as another seed does from there.
    Splice(f64, prop::sample::Index, f64),
}

const PIECES: [&str; 34] = [
    "{",
    "}",
    "(",
    ")",
    "=",
    ";",
    "\\",
    "/",
    "/-",
    "/*",
    "*/",
    "//",
    "#",
    "\"",
    "\"\"\"",
    "#\"\"\"\n",
    "\n\"\"\"#",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\u{feff}",
    "\u{2028}",
    "é",
    "🚀",
    "\0",
    "\u{202e}",
    "true",
    "#true",
    "1",
    "-",
    "[",
    "\\u{",
    "endpoint GET \"/\" ",
];

fn change() -> impl Strategy<Value = Change> {
    let place = 0.0..1.0_f64;
    prop_oneof![
        (place.clone(), 1..40_usize).prop_map(|(at, len)| Change::Cut(at, len)),
        (place.clone(), prop::sample::select(PIECES.to_vec())).prop_map(|(at, piece)| Change::Insert(at, piece)),
        (place.clone(), 1..20_usize, 1..30_usize).prop_map(|(at, len, times)| Change::Repeat(at, len, times)),
        (place.clone(), any::<prop::sample::Index>(), place)
            .prop_map(|(at, seed, from)| Change::Splice(at, seed, from)),
    ]
}

/// The nearest place of a text at or before a part of its length.
fn at(text: &str, part: f64) -> usize {
    before(text, (text.len() as f64 * part) as usize)
}

fn before(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn changed(text: &str, change: &Change, seeds: &[String]) -> String {
    match *change {
        Change::Cut(part, len) => {
            let start = at(text, part);
            format!("{}{}", &text[..start], &text[before(text, start + len).max(start)..])
        }
        Change::Insert(part, piece) => {
            let start = at(text, part);
            format!("{}{piece}{}", &text[..start], &text[start..])
        }
        Change::Repeat(part, len, times) => {
            let start = at(text, part);
            let end = before(text, start + len).max(start);
            format!("{}{}{}", &text[..start], text[start..end].repeat(times), &text[end..])
        }
        Change::Splice(part, seed, from) => {
            let other = seed.get(seeds);
            format!("{}{}", &text[..at(text, part)], &other[at(other, from)..])
        }
    }
}

/// Tries every seed, and so many changed ones; always the same ones.
fn tried(cases: u32, trial: fn(&str)) {
    let seeds = seeds();
    seeds.iter().for_each(|seed| trial(seed));
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let changes = (any::<prop::sample::Index>(), prop::collection::vec(change(), 1..4));
    runner
        .run(&changes, |(seed, changes)| {
            let text = changes.iter().fold(seed.get(&seeds).clone(), |text, change| changed(&text, change, &seeds));
            trial(&text);
            Ok(())
        })
        .expect("what must hold, holds");
}

#[test]
fn the_scanner_agrees_with_the_kdl_crate() {
    tried(3_000, scanner);
}

#[test]
fn every_character_of_a_text_has_its_place() {
    tried(3_000, string_map);
}

#[test]
fn whatever_a_site_says_is_read_or_told() {
    tried(300, reader);
}

#[test]
fn a_layout_changes_blanks_and_nothing_else() {
    tried(3_000, formatter);
}

#[test]
fn an_editor_gets_its_answers() {
    tried(100, editor);
    for wrong in ["", "Content-Length: 5\r\n\r\n{}", "Content-Length: 99999999999999999999\r\n\r\n", "\r\n\r\n", "{}"] {
        wire(wrong.as_bytes());
    }
}

/// What the suite says otherwise, and why moondock does.
const OTHERWISE: &[(&str, &str)] = &[];

#[test]
fn the_official_suite_is_read_as_it_says() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/kdl-suite");
    let mut wrong = Vec::new();
    for (folder, taken) in [("taken", true), ("refused", false)] {
        for file in std::fs::read_dir(suite.join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let expected = taken != OTHERWISE.iter().any(|(other, _)| *other == name);
            let is_taken = String::from_utf8(std::fs::read(&file).unwrap()).is_ok_and(|text| is_taken(&text));
            if is_taken != expected {
                wrong.push(format!("{folder}/{name}"));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}
