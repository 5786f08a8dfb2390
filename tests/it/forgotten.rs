//! Finds test files and case folders that nothing runs.

use std::collections::BTreeSet;

use crate::harness::{files_below, repository, shown};

/// The folders of `tests/cases` and the endings of what is played there; a folder `files` in them is what cases share.
const CASES: &[(&str, &[&str])] =
    &[("attacks", &["json"]), ("check", &["kdl", "txt"]), ("kdl-suite", &["kdl", "md"]), ("serve", &["md"])];

#[test]
fn every_test_file_is_a_module() {
    let folder = repository().join("tests/it");
    let main = std::fs::read_to_string(folder.join("main.rs")).unwrap();
    let declared: BTreeSet<String> = modules_of(&main).collect();
    let mut have = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        have.insert(name.trim_end_matches(".rs").to_string());
    }
    have.remove("main");
    assert_eq!(have, declared, "tests/it and the modules of tests/it/main.rs");
}

fn modules_of(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_string))
}

#[test]
fn every_case_folder_is_played() {
    let folder = repository().join("tests/cases");
    let have: BTreeSet<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(
        have,
        CASES.iter().map(|(name, _)| name.to_string()).collect(),
        "tests/cases and the list in tests/it/forgotten.rs"
    );
}

#[test]
fn every_case_file_has_an_ending_that_is_played() {
    for (name, endings) in CASES {
        let folder = repository().join("tests/cases").join(name);
        let given = folder.join("files");
        for file in files_below(&folder).iter().filter(|file| !file.starts_with(&given)) {
            let ending = file.extension().unwrap_or_default().to_string_lossy();
            assert!(endings.contains(&&*ending), "{} is played by nothing", shown(file));
        }
    }
}

#[test]
fn there_is_only_one_test_binary() {
    let folder = repository().join("tests");
    let mut have: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    have.sort();
    assert_eq!(have, ["cases", "it"], "every test belongs to tests/it");
}
