//! The form of GitHub Actions: workflow commands that become annotations of the changed files.

use super::super::{Diagnostic, Sources};
use super::{Report, concise, word};

/// The findings of every site, a command each.
pub(super) fn write(reports: &[Report<'_>]) -> String {
    reports.iter().flat_map(|report| report.shown().map(|found| command(found, report.sources))).collect()
}

fn command(found: &Diagnostic, sources: &Sources) -> String {
    let span = found.primary.span;
    let (line, column) = sources.line_column(span.file, span.start);
    let (end_line, end_column) = sources.line_column(span.file, span.end);
    // GitHub refuses columns of a place that goes over several lines.
    let columns = match line == end_line {
        true => (format!(",col={column}"), format!(",endColumn={end_column}")),
        false => Default::default(),
    };
    format!(
        "::{} file={},line={line}{},endLine={end_line}{},title={}::{}\n",
        word(found.severity),
        property(&sources.get(span.file).name),
        columns.0,
        columns.1,
        property(&format!("moondock ({})", found.code.id)),
        data(&concise::sentence(found, sources)),
    )
}

/// Text behind the last `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property, which `:` and `,` would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::tests::whole;
    use super::*;
    use crate::diag::{Diagnostics, Span, codes};

    #[test]
    fn what_would_end_a_command_is_escaped() {
        let mut sources = Sources::default();
        let file = sources.add("a,b:c.kdl", "ä endpoint\nlast\n");
        let mut found = Diagnostics::default();
        let one = Diagnostic::new(&codes::VALUE_TYPE, "100 %\r\nof: it, all", Span::new(file, 3..11), "");
        found.push(one.help("mend it"));
        found.push(Diagnostic::new(&codes::ENVIRONMENT_UNUSED, "m", Span::new(file, 3..15), ""));
        let style = "file=a%2Cb%3Ac.kdl,line=1";
        assert_eq!(
            write(&[whole(&found, &sources)]),
            format!(
                "::error {style},col=3,endLine=1,endColumn=11,title=moondock (value%3A%3Atype)::\
                 100 %25%0D%0Aof: it, all; mend it\n\
                 ::warning {style},endLine=2,title=moondock (environment%3A%3Aunused)::m\n"
            )
        );
    }
}
