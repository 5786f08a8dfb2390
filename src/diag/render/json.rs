//! The JSON form: one object for each site, on a line. Keys never change their meaning; new ones may come.

use serde::Serialize;

use super::super::{Diagnostic, Label, Sources, Span};
use super::{Report, word};

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    ok: bool,
    summary: Summary,
    diagnostics: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    files: usize,
    /// Findings beyond the limit, which are left out below.
    omitted: usize,
}

/// One finding.
#[derive(Serialize)]
pub(super) struct Entry<'a> {
    code: &'a str,
    severity: &'a str,
    message: &'a str,
    help: Option<&'a str>,
    primary: Place<'a>,
    related: Vec<Place<'a>>,
    fixes: Vec<Cure<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    start: Point,
    end: Point,
    label: &'a str,
}

/// A place: bytes from the file's first, and 1-based lines and columns of characters.
#[derive(Serialize)]
struct Point {
    offset: u32,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Cure<'a> {
    title: &'a str,
    edits: Vec<Edit<'a>>,
}

#[derive(Serialize)]
struct Edit<'a> {
    file: &'a str,
    start: u32,
    end: u32,
    from: Point,
    to: Point,
    text: &'a str,
}

/// Every site as one JSON object on a line of its own.
pub(super) fn write(reports: &[Report<'_>]) -> String {
    reports.iter().map(|report| line(&document(report))).collect()
}

/// A value as JSON on a line.
pub(super) fn line(value: &impl Serialize) -> String {
    // Nothing in a report can fail to be written: its keys are text and its numbers whole.
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

fn document<'a>(report: &Report<'a>) -> Document<'a> {
    let (diagnostics, sources) = (report.diagnostics, report.sources);
    let summary = Summary {
        errors: diagnostics.errors(),
        warnings: diagnostics.warnings(),
        files: sources.len(),
        omitted: report.omitted(),
    };
    let ok = !diagnostics.has_errors();
    Document { version: 1, ok, summary, diagnostics: report.shown().map(|found| entry(found, sources)).collect() }
}

/// One finding with all that is known of it.
pub(super) fn entry<'a>(found: &'a Diagnostic, sources: &'a Sources) -> Entry<'a> {
    Entry {
        code: found.code.id,
        severity: word(found.severity),
        message: &found.message,
        help: found.help.as_deref(),
        primary: place(&found.primary, sources),
        related: found.related.iter().map(|label| place(label, sources)).collect(),
        fixes: found.fixes.iter().map(|fix| Cure { title: &fix.title, edits: edits(&fix.edits, sources) }).collect(),
    }
}

fn edits<'a>(edits: &'a [(Span, String)], sources: &'a Sources) -> Vec<Edit<'a>> {
    let edit = |(span, text): &'a (Span, String)| Edit {
        file: &sources.get(span.file).name,
        start: span.start,
        end: span.end,
        from: point(*span, span.start, sources),
        to: point(*span, span.end, sources),
        text,
    };
    edits.iter().map(edit).collect()
}

fn place<'a>(label: &'a Label, sources: &'a Sources) -> Place<'a> {
    let span = label.span;
    Place {
        file: &sources.get(span.file).name,
        start: point(span, span.start, sources),
        end: point(span, span.end, sources),
        label: &label.text,
    }
}

fn point(span: Span, offset: u32, sources: &Sources) -> Point {
    let (line, column) = sources.line_column(span.file, offset);
    Point { offset, line, column }
}
