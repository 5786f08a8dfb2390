//! Plays the examples: the site of each folder of `examples` with its `cases.md`, and the root site with the README.

use std::path::{Path, PathBuf};

use crate::harness::{files_below, repository, site_folder::SiteFolder};
use crate::serve::play_file;

fn examples() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(repository().join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    folders
}

#[test]
fn every_example_does_what_its_cases_say() {
    let folders = examples();
    assert!(!folders.is_empty());
    let failures: Vec<String> =
        folders.iter().flat_map(|folder| play_file(&folder.join("cases.md"), || site_of(folder))).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

/// A copy of an example; the one that belongs to the root site gets that site.
fn site_of(folder: &Path) -> SiteFolder {
    if folder.join("site.kdl").exists() { SiteFolder::copy_of(folder) } else { root_site() }
}

#[test]
fn the_root_site_does_what_the_readme_says() {
    let failures = play_file(&repository().join("README.md"), root_site);
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

/// The root site with the files that it serves.
fn root_site() -> SiteFolder {
    let site = SiteFolder::new();
    site.write("site.kdl", &std::fs::read_to_string(repository().join("site.kdl")).unwrap());
    for file in files_below(&repository().join("examples/demo")) {
        site.write_bytes(file.strip_prefix(repository()).expect("it lies below"), &std::fs::read(&file).unwrap());
    }
    site
}
