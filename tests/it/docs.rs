//! The documentation as a test: every KDL block is checked, the guide is played, links and commands are looked at.
//!
//! A block ```` ```kdl ```` must be free of errors. With `fails=CODE` behind it, it must fail with that code. What the
//! block names is taken from the blocks with a file name on the same page. A block that declares no endpoint gets one.

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::harness::markdown::{Kind, pieces};
use crate::harness::program::run_to_end;
use crate::harness::site_folder::SiteFolder;
use crate::harness::{files_below, repository, shown};
use crate::serve::play_file;

/// Pages that are one session from the first line to the last: played, not only checked.
const PLAYED: &[&str] = &["docs/guide.md", "docs/reloading.md"];

/// What is added to a block that declares nothing to answer.
const ANSWERS_SOMETHING: &str = "\nendpoint GET \"/added-by-the-test\" { respond 200 \"ok\"; }\n";

fn pages() -> Vec<PathBuf> {
    let beside =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|name| repository().join(name));
    let below = files_below(&repository().join("docs"))
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    beside.into_iter().chain(below).collect()
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", shown(page)))
}

/// A fenced block of a page.
struct Block {
    line: usize,
    info: Vec<String>,
    text: String,
}

impl Block {
    fn file_name(&self) -> Option<&str> {
        self.info.get(1).map(String::as_str).filter(|word| word.contains('.') && !word.contains('='))
    }

    fn fails_with(&self) -> Option<&str> {
        self.info.iter().find_map(|word| word.strip_prefix("fails="))
    }

    fn is(&self, language: &str) -> bool {
        self.info.first().is_some_and(|word| word == language)
    }
}

fn blocks(page: &Path) -> Vec<Block> {
    let only_blocks = |piece: crate::harness::markdown::Piece| match piece.kind {
        Kind::Block { info, text } => Some(Block { line: piece.line, info, text }),
        _ => None,
    };
    pieces(&read(page)).into_iter().filter_map(only_blocks).collect()
}

#[test]
fn every_kdl_block_is_as_good_as_it_says() {
    // The pages of the codes have rules of their own: `errors.rs`.
    let pages = pages().into_iter().filter(|page| !page.starts_with(repository().join("docs/errors")));
    let failures: Vec<String> = pages.flat_map(|page| wrong_blocks(&page)).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

fn wrong_blocks(page: &Path) -> Vec<String> {
    let blocks = blocks(page);
    let environment = environment_of(&blocks);
    let kdl = blocks.iter().filter(|block| block.is("kdl"));
    let told = |block: &Block, what: String| format!("{}:{}: {what}", shown(page), block.line);
    kdl.filter_map(|block| wrong_with(block, &blocks, &environment).map(|what| told(block, what))).collect()
}

fn wrong_with(block: &Block, page: &[Block], environment: &[(String, String)]) -> Option<String> {
    let site = SiteFolder::new();
    for file in page.iter().filter(|block| !block.is("answer") && block.fails_with().is_none()) {
        if let Some(name) = file.file_name() {
            site.write(name, &file.text);
        }
    }
    site.write("site.kdl", &completed(&block.text));
    let (status, text) = run_to_end(site.path(), &["check"], environment);
    match block.fails_with() {
        None => (!status.success()).then(|| format!("{status}:\n{text}")),
        Some(code) => {
            (status.code() != Some(1) || !text.contains(code)).then(|| format!("wants {code}, but {status}:\n{text}"))
        }
    }
}

fn completed(text: &str) -> String {
    let answers = Regex::new(r"(?m)^(?:endpoint|group|static|include)\b").expect("the pattern is right");
    match answers.is_match(text) {
        true => text.to_string(),
        false => text.to_string() + ANSWERS_SOMETHING,
    }
}

fn environment_of(blocks: &[Block]) -> Vec<(String, String)> {
    let settings = blocks.iter().filter(|block| block.is("env")).flat_map(|block| block.text.lines());
    settings
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect()
}

#[test]
fn pages_that_are_a_session_work_as_written() {
    let failures: Vec<String> =
        PLAYED.iter().flat_map(|page| play_file(&repository().join(page), SiteFolder::new)).collect();
    assert!(failures.is_empty(), "\n{}\n", failures.join("\n"));
}

#[test]
fn the_tests_that_the_readme_names_are_the_ones_that_ci_runs() {
    let ci = std::fs::read_to_string(repository().join(".ci/run")).unwrap();
    let named = read(&repository().join("README.md"));
    let commands: Vec<&str> = named.lines().filter_map(|line| line.strip_prefix("$ cargo ")).collect();
    assert_eq!(commands, ["run --release -- run", "test"], "the README has exactly two commands for a fresh machine");
    assert!(
        ci.lines().any(|line| line.trim() == "step cargo test"),
        ".ci/run does not run `cargo test` as the README does"
    );
}

#[test]
fn every_link_leads_somewhere() {
    let link = Regex::new(r"\]\(([^)#\s]+)(?:#[^)]*)?\)").expect("the pattern is right");
    let mut broken = Vec::new();
    for page in pages() {
        let folder = page.parent().expect("a page has a folder").to_path_buf();
        let text = read(&page);
        let targets =
            link.captures_iter(&text).map(|found| found[1].to_string()).filter(|target| !target.contains("://"));
        broken.extend(
            targets.filter(|target| !folder.join(target).exists()).map(|target| format!("{}: {target}", shown(&page))),
        );
    }
    assert!(broken.is_empty(), "\n{}\n", broken.join("\n"));
}
