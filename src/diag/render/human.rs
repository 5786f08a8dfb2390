//! The human form: a frame with the lines around each place, drawn by miette.
//!
//! Places share a frame only when they are near each other in one file; a far one, or one in another file, gets its
//! own. Lines are found by the index of the source, so a long file costs no more than a short one.

use std::fmt;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan,
    SpanContents, ThemeCharacters, ThemeStyles,
};

use super::super::{Diagnostic, Label, Severity, Source, Sources, Span};
use super::{Report, Style};

/// Lines between two places that still share a frame.
const NEAR: usize = 8;

/// The findings of every site, drawn one after the other.
pub(super) fn write(reports: &[Report<'_>]) -> String {
    reports.iter().map(draw).collect()
}

fn draw(report: &Report<'_>) -> String {
    let handler = handler(report.style);
    let mut out = String::new();
    for found in report.shown() {
        let drawn = handler.render_report(&mut out, &Drawn::of(found, report.sources));
        if drawn.is_err() {
            out.push_str(&super::one_line(found, report.sources));
        }
        out.push('\n');
    }
    out + &report.more() + report.summary + &hint(report)
}

/// Where more can be read, below the summary if there is one.
fn hint(report: &Report<'_>) -> String {
    match report.shown().next() {
        Some(first) if !report.summary.is_empty() => {
            format!("`moondock explain {}` tells more about a code\n", first.code.id)
        }
        _ => String::new(),
    }
}

fn handler(style: Style) -> GraphicalReportHandler {
    let theme = GraphicalTheme {
        characters: if style.unicode { ThemeCharacters::unicode() } else { ThemeCharacters::ascii() },
        styles: if style.color { ThemeStyles::ansi() } else { ThemeStyles::none() },
    };
    GraphicalReportHandler::new_themed(theme)
        .with_width(style.width)
        .with_context_lines(1)
        .with_links(false)
        .without_syntax_highlighting()
}

/// A source that finds lines by its index.
#[derive(Debug)]
struct Window<'a>(&'a Source);

impl SourceCode for Window<'_> {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let source = self.0;
        let end = span.offset() + span.len();
        let (first, last) = (source.line(span.offset()), source.line(end.max(span.offset() + 1) - 1));
        // Without context the place itself is asked for, as the line and column of a frame's title.
        let (start, column) = match before + after {
            0 => (span.offset(), column(source, span.offset())),
            _ => (source.line_range(first.saturating_sub(before)).start, 0),
        };
        let last = (last + after).min(source.line_count().saturating_sub(1));
        // With only half of a line break at its end miette gives the last line the number of the one above.
        let shown = source.text[..source.line_range(last).end].trim_end_matches('\r').len();
        let stop = shown.max(end).max(start);
        let line = source.line(start);
        Ok(Box::new(MietteSpanContents::new_named(
            source.name.to_string(),
            &source.text.as_bytes()[start..stop],
            (start, stop - start).into(),
            line,
            column,
            last + 1 - line,
        )))
    }
}

/// The 0-based column of a byte, in characters.
fn column(source: &Source, offset: usize) -> usize {
    source.text[source.line_range(source.line(offset)).start..offset].chars().count()
}

/// A diagnostic, or one of its far places, as miette wants it.
#[derive(Debug)]
struct Drawn<'a> {
    message: String,
    code: Option<&'a str>,
    severity: miette::Severity,
    help: Option<&'a str>,
    source: Window<'a>,
    labels: Vec<LabeledSpan>,
    far: Vec<Drawn<'a>>,
}

impl<'a> Drawn<'a> {
    fn of(found: &'a Diagnostic, sources: &'a Sources) -> Self {
        let primary = found.primary.span;
        let source = sources.get(primary.file);
        let is_near = |label: &&Label| {
            let line = |span: Span| source.line(span.start as usize);
            label.span.file == primary.file && line(label.span).abs_diff(line(primary)) <= NEAR
        };
        let (near, far): (Vec<&Label>, Vec<&Label>) = found.related.iter().partition(is_near);
        let mut labels = vec![LabeledSpan::new_primary_with_span(
            Some(found.primary.text.clone()).filter(|text| !text.is_empty()),
            place(source, primary),
        )];
        labels.extend(
            near.into_iter()
                .map(|label| LabeledSpan::new_with_span(Some(label.text.clone()), place(source, label.span))),
        );
        Self {
            message: found.message.clone(),
            code: Some(found.code.id),
            severity: match found.severity {
                Severity::Error => miette::Severity::Error,
                Severity::Warning => miette::Severity::Warning,
            },
            help: found.help.as_deref(),
            source: Window(source),
            labels,
            far: far.into_iter().map(|label| Self::far(label, sources)).collect(),
        }
    }

    /// A place with a frame of its own.
    fn far(label: &'a Label, sources: &'a Sources) -> Self {
        let source = sources.get(label.span.file);
        Self {
            message: label.text.clone(),
            code: None,
            severity: miette::Severity::Advice,
            help: None,
            source: Window(source),
            labels: vec![LabeledSpan::new_primary_with_span(None, place(source, label.span))],
            far: Vec::new(),
        }
    }
}

/// A span that lies in the text, on whole characters.
fn place(source: &Source, span: Span) -> SourceSpan {
    let start = source.boundary(span.start as usize);
    let end = source.boundary(span.end as usize).max(start);
    (start, end - start).into()
}

impl fmt::Display for Drawn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Drawn<'_> {}

impl miette::Diagnostic for Drawn<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.code.map(|code| Box::new(code) as Box<dyn fmt::Display>)
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        Some(Box::new(self.labels.iter().cloned()))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        let far = self.far.iter().map(|far| far as &dyn miette::Diagnostic);
        (!self.far.is_empty()).then(|| Box::new(far) as Box<dyn Iterator<Item = &dyn miette::Diagnostic>>)
    }
}
