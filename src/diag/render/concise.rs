//! The concise form: one line for each finding, as compilers write it.

use std::fmt::Write;

use super::super::{Diagnostic, Sources};
use super::{Report, word};

/// The findings of every site, a line each.
pub(super) fn write(reports: &[Report<'_>]) -> String {
    let lines = |report: &Report<'_>| {
        let lines: String = report.shown().map(|found| line(found, report.sources) + "\n").collect();
        lines + &report.more() + report.summary
    };
    reports.iter().map(lines).collect()
}

/// One finding without a line break, neither inside nor at its end.
pub(super) fn line(found: &Diagnostic, sources: &Sources) -> String {
    let span = found.primary.span;
    let (line, column) = sources.line_column(span.file, span.start);
    let name = &sources.get(span.file).name;
    let mut out = format!("{name}:{line}:{column}: {}[{}] ", word(found.severity), found.code.id);
    out.push_str(&sentence(found, sources));
    out.replace(['\n', '\r'], " ")
}

/// What is wrong, the other places and the help, as one sentence.
pub(super) fn sentence(found: &Diagnostic, sources: &Sources) -> String {
    let mut out = found.message.clone();
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
    out
}
