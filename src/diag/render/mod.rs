//! Diagnostics as text, for people and for programs: one file for each format, and the table of them.
//!
//! Only the human form knows miette.

mod concise;
mod github;
mod human;
mod json;
mod jsonl;
mod sarif;

use super::{Diagnostic, Diagnostics, Severity, Sources};

/// A way to write findings.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Whether a person reads it, who wants to hear in words what was done and how it ended.
    pub for_people: bool,
    /// How many findings of a site are written unless the user says otherwise.
    pub max: usize,
    /// Writes the findings of every site.
    pub write: fn(&[Report<'_>]) -> String,
}

/// Every format, the one that is meant when none is named first.
#[rustfmt::skip]
pub static FORMATS: &[Format] = &[
    Format { name: "human", about: "With the lines around each place", for_people: true, max: 50, write: human::write },
    Format { name: "concise", about: "One line for each finding", for_people: true, max: usize::MAX, write: concise::write },
    Format { name: "json", about: "One JSON object for each site", for_people: false, max: usize::MAX, write: json::write },
    Format { name: "jsonl", about: "One JSON object for each finding", for_people: false, max: usize::MAX, write: jsonl::write },
    Format { name: "sarif", about: "A SARIF 2.1.0 log, for code scanning", for_people: false, max: usize::MAX, write: sarif::write },
    Format { name: "github", about: "Annotations of GitHub Actions", for_people: false, max: usize::MAX, write: github::write },
];

/// What was found in one site.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// The findings.
    pub diagnostics: &'a Diagnostics,
    /// The files they point into.
    pub sources: &'a Sources,
    /// How it looks, and how many findings are shown.
    pub style: Style,
    /// The last line for people; may be empty.
    pub summary: &'a str,
}

impl<'a> Report<'a> {
    /// The findings that are shown.
    fn shown(&self) -> impl Iterator<Item = &'a Diagnostic> + use<'a> {
        self.diagnostics.iter().take(self.style.max)
    }

    /// How many findings are not shown.
    pub fn omitted(&self) -> usize {
        self.diagnostics.iter().len().saturating_sub(self.style.max)
    }

    /// The line that says how many findings are not shown; nothing when all are.
    pub fn more(&self) -> String {
        match self.omitted() {
            0 => String::new(),
            left => format!("… and {left} more\n"),
        }
    }
}

/// How the human form looks; the caller knows whether a terminal reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are used.
    pub color: bool,
    /// Whether characters beyond ASCII draw the frames.
    pub unicode: bool,
    /// Columns of a line.
    pub width: usize,
    /// How many diagnostics are shown; the others are counted.
    pub max: usize,
}

impl Default for Style {
    /// No colours, 100 columns, 50 diagnostics.
    fn default() -> Self {
        Self { color: false, unicode: true, width: 100, max: 50 }
    }
}

/// The word for a severity.
pub fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Every diagnostic with the lines around its places, for people; those beyond the limit are counted.
pub fn human(diagnostics: &Diagnostics, sources: &Sources, style: Style) -> String {
    human::write(&[Report { diagnostics, sources, style, summary: "" }])
}

/// One line for each diagnostic, as compilers write it: `site.kdl:3:5: error[code] message; help`.
pub fn concise(diagnostics: &Diagnostics, sources: &Sources) -> String {
    diagnostics.iter().map(|found| one_line(found, sources) + "\n").collect()
}

/// One diagnostic on one line, for records of the log; without a line break at its end.
pub fn one_line(found: &Diagnostic, sources: &Sources) -> String {
    concise::line(found, sources)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::diag::{FileId, Span, codes};

    pub(super) fn two_files() -> (Diagnostics, Sources) {
        let mut sources = Sources::default();
        let long: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let site = sources.add("site.kdl", long);
        let other = sources.add("conf.d/é.kdl", "ä endpoint\n");
        let at = |file: FileId, start: usize, end: usize| Span::new(file, start..end);
        let mut found = Diagnostics::default();
        let near = Diagnostic::new(&codes::NAME_DUPLICATE, "two names", at(site, 21, 25), "again");
        found.push(near.also(at(site, 7, 11), "first here").help("rename one"));
        let far = Diagnostic::new(&codes::ENVIRONMENT_UNUSED, "far apart", at(site, 231, 235), "here");
        found.push(far.also(at(site, 0, 4), "and there").also(at(other, 3, 11), "and elsewhere"));
        (found, sources)
    }

    pub(super) fn whole<'a>(diagnostics: &'a Diagnostics, sources: &'a Sources) -> Report<'a> {
        Report { diagnostics, sources, style: Style::default(), summary: "" }
    }

    #[test]
    fn concise_is_one_line_for_each() {
        let (found, sources) = two_files();
        assert_eq!(
            concise(&found, &sources),
            "site.kdl:4:1: error[name::duplicate] two names (first here: site.kdl:2:1); rename one\n\
             site.kdl:31:1: warning[environment::unused] far apart (and there: site.kdl:1:1) \
             (and elsewhere: conf.d/é.kdl:1:3)\n"
        );
    }

    #[test]
    fn near_places_share_a_snippet_and_far_ones_do_not() {
        let (found, sources) = two_files();
        let shown = human(&found, &sources, Style::default());
        assert!(shown.contains("[site.kdl:4:1]"), "{shown}");
        assert!(shown.contains("[site.kdl:31:1]"), "{shown}");
        assert!(shown.contains("[site.kdl:1:1]"), "{shown}");
        assert!(shown.contains("[conf.d/é.kdl:1:3]"), "{shown}");
        assert!(shown.contains("rename one") && shown.contains("first here"), "{shown}");
        assert!(!shown.contains("line 15"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn colours_and_the_limit_are_the_callers() {
        let (found, sources) = two_files();
        let style = Style { color: true, max: 1, ..Style::default() };
        let shown = human(&found, &sources, style);
        assert!(shown.contains('\u{1b}'), "{shown}");
        assert!(shown.contains("and 1 more") && !shown.contains("far apart"), "{shown}");
    }

    #[test]
    fn places_at_the_end_and_outside_are_drawn() {
        let mut sources = Sources::default();
        let empty = sources.add("empty.kdl", "");
        let text = sources.add("site.kdl", "a\r\n\tb é");
        let mut found = Diagnostics::default();
        for (file, start, end) in [(empty, 0, 0), (text, 0, 9), (text, 8, 8), (text, 7, 8), (text, 90, 99)] {
            found.push(Diagnostic::new(&codes::VALUE_TYPE, "m", Span::new(file, start..end), "here"));
        }
        let shown = human(&found, &sources, Style { unicode: false, ..Style::default() });
        assert_eq!(shown.matches("value::type").count(), 5, "{shown}");
    }

    #[test]
    fn json_tells_places_in_both_ways() {
        let (found, sources) = two_files();
        let value: serde_json::Value = serde_json::from_str(&json::write(&[whole(&found, &sources)])).expect("JSON");
        assert_eq!(value["version"], 1);
        assert_eq!(value["ok"], false);
        assert_eq!(value["summary"]["warnings"], 1);
        let first = &value["diagnostics"][0];
        assert_eq!(first["code"], "name::duplicate");
        assert_eq!(first["primary"]["start"]["line"], 4);
        assert_eq!(first["primary"]["start"]["offset"], 21);
        assert_eq!(first["related"][0]["label"], "first here");
        assert_eq!(value["diagnostics"][1]["related"][1]["start"]["column"], 3);
    }
}
