//! The pages of the codes, `docs/errors/`: what each shows is what `check` says.
//!
//! A page has a broken example with exactly one finding, at the place that it names, and a mended one with none. Blocks with a
//! file name are further files, `env` blocks hold variables; the mended example has those of the broken one, and its own.

use std::path::PathBuf;

use moondock::diag::{Code, Severity, codes};
use regex::Regex;

use crate::harness::markdown::{Kind, pieces};
use crate::harness::program::{command, run_to_end};
use crate::harness::repository;
use crate::harness::site_folder::SiteFolder;

/// A part of a page: what stands under one of its headings.
#[derive(Default)]
struct Part {
    site: Option<String>,
    files: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

fn page(code: &Code) -> PathBuf {
    repository().join("docs/errors").join(format!("{}.md", code.id.replace("::", "-")))
}

/// What stands under a heading of the second level.
fn part(text: &str, wanted: &str) -> Part {
    let mut part = Part::default();
    let mut inside = false;
    for piece in pieces(text) {
        match piece.kind {
            Kind::Heading { level: 2, text } => inside = text == wanted,
            Kind::Block { info, text } if inside => part.add(&info, text),
            _ => {}
        }
    }
    part
}

impl Part {
    fn add(&mut self, info: &[String], text: String) {
        let text = format!("{text}\n");
        match (info[0].as_str(), info.get(1)) {
            (_, Some(name)) => self.files.push((name.clone(), text)),
            ("env", None) => {
                let settings = text.lines().map(|line| line.split_once('=').expect("a line is NAME=value"));
                self.environment.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
            }
            _ => assert!(self.site.replace(text).is_none(), "an example is one site"),
        }
    }

    /// What `check` says of the site, after the files and variables of another part.
    fn checked(&self, after: &Part) -> Vec<String> {
        // The site lies in a folder of its own, so that an example may have files outside of it.
        let folder = SiteFolder::new();
        let write = |name: &str, text: &str| {
            let path = folder.path().join("site").join(name);
            std::fs::create_dir_all(path.parent().expect("a file has a folder")).unwrap();
            std::fs::write(path, text).unwrap();
        };
        after.files.iter().chain(&self.files).for_each(|(name, text)| write(name, text));
        write("site.kdl", self.site.as_deref().expect("an example has a site"));
        let variables = [after.environment.as_slice(), &self.environment].concat();
        let (_, text) = run_to_end(&folder.path().join("site"), &["check", "--format", "concise"], &variables);
        let finding = Regex::new(r"(?m)^(\S+:\d+:\d+): (?:error|warning)\[(\S+)\]").expect("the pattern is right");
        finding.captures_iter(&text).map(|found| format!("{} {}", &found[1], &found[2])).collect()
    }
}

/// What a page says about its broken example, as `checked` says it.
fn promised(code: &Code, text: &str) -> Option<String> {
    let told = Regex::new(r"(?m)^Told at line (\d+), column (\d+)(?: of `(\S+)`)?:$").expect("the pattern is right");
    let told = told.captures(text)?;
    let file = told.get(3).map_or("site.kdl", |file| file.as_str());
    Some(format!("{file}:{}:{} {}", &told[1], &told[2], code.id))
}

fn faults(code: &Code) -> Vec<String> {
    let text = code.explanation;
    let mut faults = Vec::new();
    let mut claim = |holds: bool, what: &str| {
        if !holds {
            faults.push(format!("{}: {what}", page(code).display()));
        }
    };
    claim(text.starts_with(&format!("# `{}`: {}\n", code.id, code.title)), "the heading is not the code and its title");
    let warns = text.contains("\n\nThis is a warning. ");
    claim(warns == (code.severity == Severity::Warning), "it does not say rightly whether it is a warning");
    claim(text.lines().all(|line| line.chars().count() <= 120), "a line is longer than 120 characters");
    if text.contains("\n## Example\n") {
        return faults;
    }
    let broken = part(text, "Broken");
    let found = broken.checked(&Part::default());
    claim(promised(code, text).is_some_and(|promised| found == [promised]), &format!("the broken one gives {found:?}"));
    let left = part(text, "Mended").checked(&broken);
    claim(left.is_empty(), &format!("the mended one gives {left:?}"));
    faults
}

#[test]
fn every_page_shows_what_check_says() {
    let faults: Vec<String> = codes::ALL.iter().flat_map(|code| faults(code)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn only_what_no_site_can_show_goes_without_a_site() {
    let without: Vec<&str> =
        codes::ALL.iter().filter(|code| code.explanation.contains("\n## Example\n")).map(|code| code.id).collect();
    assert_eq!(without, [codes::SYNTAX_TOO_BIG.id, codes::SECRET_WORLD_READABLE.id]);
}

#[test]
fn the_index_has_every_code_in_order() {
    let text = std::fs::read_to_string(repository().join("docs/errors/README.md")).unwrap();
    let row =
        Regex::new(r"(?m)^\| \[`([^`]+)`\]\(([^)]+)\) \| (error|warning) \| (.*) \|$").expect("the pattern is right");
    let rows: Vec<String> =
        row.captures_iter(&text).map(|row| format!("{} {} {} {}", &row[1], &row[2], &row[3], &row[4])).collect();
    // The areas come in the order of the table of codes, and so do the codes of each.
    let first = |code: &&&Code| codes::ALL.iter().position(|other| area(other) == area(code));
    let mut wanted: Vec<&&Code> = codes::ALL.iter().collect();
    wanted.sort_by_key(first);
    let wanted: Vec<String> = wanted.iter().map(|code| row_of(code)).collect();
    assert_eq!(rows, wanted);
}

fn area(code: &Code) -> &str {
    code.id.split("::").next().unwrap_or_default()
}

fn row_of(code: &Code) -> String {
    let severity = if code.severity == Severity::Error { "error" } else { "warning" };
    format!("{} {}.md {severity} {}", code.id, code.id.replace("::", "-"), code.title)
}

#[test]
fn explain_prints_the_page_of_a_code() {
    let folder = SiteFolder::new();
    let explained = |arguments: &[&str]| {
        let arguments = [&["explain"], arguments].concat();
        let output = command(folder.path(), &arguments, &[]).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let page = |code: &Code| std::fs::read_to_string(page(code)).unwrap();
    assert_eq!(explained(&["value::enum"]), (Some(0), page(&codes::VALUE_ENUM), String::new()));
    let (status, list, _) = explained(&["--list"]);
    assert_eq!((status, list.lines().count()), (Some(0), codes::ALL.len()));
    let (status, _, why) = explained(&["value::enm"]);
    assert_eq!(status, Some(2));
    assert!(why.contains("did you mean `value::enum`?"), "{why}");
    assert_eq!(explained(&[]).0, Some(2), "something has to be asked");
}
