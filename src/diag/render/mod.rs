//! Diagnostics as text for people and as JSON for programs. Only the human form knows miette.

mod human;
mod json;

use std::fmt::Write;

use super::{Diagnostic, Diagnostics, Severity, Sources};

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
fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Every diagnostic with the lines around its places, for people; those beyond the limit are counted.
pub fn human(diagnostics: &Diagnostics, sources: &Sources, style: Style) -> String {
    human::draw(diagnostics, sources, style)
}

/// All diagnostics as one JSON object, for programs; without a line break at its end.
pub fn json(diagnostics: &Diagnostics, sources: &Sources) -> String {
    json::write(diagnostics, sources)
}

/// One line for each diagnostic, as compilers write it: `site.kdl:3:5: error[code] message; help`.
pub fn concise(diagnostics: &Diagnostics, sources: &Sources) -> String {
    let mut out = String::new();
    for found in diagnostics.iter() {
        out.push_str(&one_line(found, sources));
        out.push('\n');
    }
    out
}

/// One diagnostic on one line, for records of the log; without a line break at its end.
pub fn one_line(found: &Diagnostic, sources: &Sources) -> String {
    let span = found.primary.span;
    let (line, column) = sources.line_column(span.file, span.start);
    let name = &sources.get(span.file).name;
    let mut out = format!("{name}:{line}:{column}: {}[{}] {}", word(found.code.severity), found.code.id, found.message);
    for label in &found.related {
        let (line, column) = sources.line_column(label.span.file, label.span.start);
        let name = &sources.get(label.span.file).name;
        // Writing to a String cannot fail.
        let _written = write!(out, " ({}: {name}:{line}:{column})", label.text);
    }
    if let Some(help) = &found.help {
        out.push_str("; ");
        out.push_str(help);
    }
    out.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{FileId, Span, codes};

    fn two_files() -> (Diagnostics, Sources) {
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
        let value: serde_json::Value = serde_json::from_str(&json(&found, &sources)).expect("JSON");
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
