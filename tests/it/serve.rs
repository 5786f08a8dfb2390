//! Plays the cases of `tests/cases/serve`: one test for each of its folders.

use std::path::Path;

use crate::harness::{case, files_below, play, repository, shown, site_folder::SiteFolder};

/// Declares a test for each folder, and the list that [`no_folder_is_forgotten`] compares.
macro_rules! folders {
    ($($name:ident)*) => {
        const FOLDERS: &[&str] = &[$(stringify!($name)),*];
        $(#[test] fn $name() { play_folder(&folder().join(stringify!($name))); })*
    };
}

folders! { answers bodies environments errors http limits logs modules parameters reload requests routing security settings site static_files }

fn folder() -> std::path::PathBuf {
    repository().join("tests/cases/serve")
}

#[test]
fn no_folder_is_forgotten() {
    let mut have: Vec<String> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    have.sort();
    assert_eq!(have, FOLDERS, "tests/cases/serve and the list in tests/it/serve.rs");
}

/// Plays every case below a folder and tells all failures at once. `MOONDOCK_CASE=part-of-a-name` plays only some.
fn play_folder(folder: &Path) {
    let only = std::env::var("MOONDOCK_CASE").unwrap_or_default();
    let files = files_below(folder);
    assert!(!files.is_empty(), "{} has no case", shown(folder));
    let chosen = files.iter().filter(|file| shown(file).contains(&only));
    let failures: Vec<String> = chosen.flat_map(|file| play_file(file, SiteFolder::new)).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

/// Plays the cases of a file, each in a folder of its own; returns what was not as expected.
pub(crate) fn play_file(file: &Path, site: impl Fn() -> SiteFolder) -> Vec<String> {
    let name = shown(file);
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{name}: {error}"));
    let cases = match case::parse(&text) {
        Ok(cases) => cases,
        Err(what) => return vec![format!("{name}: {what}")],
    };
    let play = |case: &case::Case| play::play(case, &site()).err().unwrap_or_default();
    let told = |case: &case::Case, what: String| format!("{name}, {:?}, {what}", case.title);
    cases.iter().flat_map(|case| play(case).into_iter().map(move |what| told(case, what))).collect()
}
