//! Applies the fixes of findings to texts. Pure: who calls it writes the files.

use super::{Diagnostics, FileId, Sources, Span};

/// A file whose text is better now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The file.
    pub file: FileId,
    /// Its new text.
    pub text: String,
    /// The edits that make it of the old one.
    pub edits: Vec<(Span, String)>,
    /// Each fix that was applied: where it begins in the old text, and what it did.
    pub applied: Vec<(Span, String)>,
}

/// Applies every fix that is the only one of its finding and overlaps with none that stands before it. Only files that
/// `may_change` says are touched. What comes back is by file; nothing when nothing is to be done.
pub fn mend(found: &Diagnostics, sources: &Sources, may_change: impl Fn(FileId) -> bool) -> Vec<Mended> {
    let mut taken: Vec<(Span, &str)> = Vec::new();
    let mut mended: Vec<Mended> = Vec::new();
    for one in found.iter() {
        // Of several cures the user has to choose one.
        let [fix] = one.fixes.as_slice() else { continue };
        let [(first, _), ..] = fix.edits.as_slice() else { continue };
        let free = |(span, _): &(Span, String)| {
            may_change(span.file) && span.file == first.file && !taken.iter().any(|(other, _)| overlap(*other, *span))
        };
        if !fix.edits.iter().all(free) {
            continue;
        }
        taken.extend(fix.edits.iter().map(|(span, text)| (*span, text.as_str())));
        note(&mut mended, *first, &fix.title);
    }
    for file in &mut mended {
        let mut edits: Vec<(Span, &str)> = taken.iter().filter(|(span, _)| span.file == file.file).copied().collect();
        edits.sort_by_key(|(span, _)| *span);
        file.text = edited(&sources.get(file.file).text, &edits);
        file.edits = edits.into_iter().map(|(span, text)| (span, text.to_owned())).collect();
    }
    mended
}

/// Whether two edits cannot both be done: they share a byte, or begin at the same.
fn overlap(one: Span, other: Span) -> bool {
    let shared = one.start < other.end && other.start < one.end;
    one.file == other.file && (one.start == other.start || shared)
}

fn note(mended: &mut Vec<Mended>, span: Span, title: &str) {
    let applied = (span, title.to_owned());
    match mended.iter_mut().find(|known| known.file == span.file) {
        Some(known) => known.applied.push(applied),
        None => mended.push(Mended { file: span.file, text: String::new(), edits: Vec::new(), applied: vec![applied] }),
    }
}

/// The text of a file with its edits done, which are in their order.
fn edited(text: &str, edits: &[(Span, &str)]) -> String {
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (span, new) in edits {
        out.push_str(&text[at..span.start as usize]);
        out.push_str(new);
        at = span.end as usize;
    }
    out + &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{Diagnostic, codes};

    fn at(start: usize, end: usize) -> Span {
        Span::new(FileId(0), start..end)
    }

    fn finding(span: Span, fixes: &[(Span, &str)]) -> Diagnostic {
        let found = Diagnostic::new(&codes::VALUE_TYPE, "m", span, "");
        fixes.iter().fold(found, |found, (span, text)| found.fix("t", *span, *text))
    }

    #[test]
    fn fixes_that_do_not_overlap_are_applied_and_the_rest_is_left() {
        let mut sources = Sources::default();
        sources.add("site.kdl", "one two äö three");
        for (fixes, want) in [
            (vec![vec![(at(4, 7), "2")]], "one 2 äö three"),
            (vec![vec![(at(13, 18), "3")], vec![(at(0, 3), "1")]], "1 two äö 3"),
            (vec![vec![(at(4, 7), "2")], vec![(at(6, 8), "x")]], "one 2 äö three"),
            (vec![vec![(at(4, 4), "a")], vec![(at(4, 4), "b")]], "one atwo äö three"),
            (vec![vec![(at(0, 3), "1")], vec![(at(3, 4), "_")]], "1_two äö three"),
            (vec![vec![(at(0, 3), "1"), (at(4, 7), "2")]], ""),
            (vec![], ""),
        ] {
            let mut found = Diagnostics::default();
            found.extend(fixes.iter().map(|fixes| finding(at(0, 1), fixes)));
            let mended = mend(&found, &sources, |_| true);
            assert_eq!(mended.first().map_or("", |mended| &mended.text), want, "{fixes:?}");
            assert!(mend(&found, &sources, |_| false).is_empty());
        }
    }
}
