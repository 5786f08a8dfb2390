//! Compiles scripts and keeps them over loads: the same text at the same place stays the same [`Script`].

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

use crate::diag::{Diagnostic, Span, codes};
use crate::environment::compile::{SyntaxError, compile};
use crate::script::{LineMap, Script, ScriptId};

/// The scripts of the load before, so that a save compiles only what changed.
#[derive(Default)]
pub(super) struct ScriptCache {
    known: HashMap<Place, Weak<Script>>,
    bytecode: HashMap<Arc<str>, Weak<[u8]>>,
    next: u64,
    /// Whether scripts are only collected, for a check that is to look at no Lua.
    collects: bool,
}

/// What makes two scripts one. Two handlers with equal text at different places stay two.
#[derive(PartialEq, Eq, Hash)]
struct Place {
    origin: Arc<str>,
    first_line: u32,
    text: Arc<str>,
    lines: Vec<u32>,
}

impl ScriptCache {
    /// A cache that compiles, or that only collects the texts.
    pub(super) fn new(collects: bool) -> Self {
        Self { collects, ..Self::default() }
    }

    /// Whether its scripts can be run.
    pub(super) fn compiles(&self) -> bool {
        !self.collects
    }

    /// The script for this text, compiled if it is new.
    ///
    /// # Errors
    /// The text is no Luau.
    pub(super) fn intern(&mut self, origin: &str, text: Arc<str>, lines: LineMap) -> Result<Arc<Script>, SyntaxError> {
        let place =
            Place { origin: origin.into(), first_line: lines.line(1), text: text.clone(), lines: lines.0.clone() };
        if let Some(script) = self.known.get(&place).and_then(Weak::upgrade) {
            return Ok(script);
        }
        let native = wants_native(&text);
        let bytecode = self.compile(&text)?;
        self.next += 1;
        let script =
            Arc::new(Script { id: ScriptId(self.next), origin: place.origin.clone(), text, bytecode, lines, native });
        self.known.insert(place, Arc::downgrade(&script));
        Ok(script)
    }

    fn compile(&mut self, text: &Arc<str>) -> Result<Arc<[u8]>, SyntaxError> {
        if self.collects {
            return Ok(Arc::new([]));
        }
        if let Some(bytecode) = self.bytecode.get(text).and_then(Weak::upgrade) {
            return Ok(bytecode);
        }
        let bytecode: Arc<[u8]> = compile(text)?.into();
        self.bytecode.insert(text.clone(), Arc::downgrade(&bytecode));
        Ok(bytecode)
    }

    /// Forgets scripts that no site has any more.
    pub(super) fn prune(&mut self) {
        self.known.retain(|_, script| script.strong_count() > 0);
        self.bytecode.retain(|_, bytecode| bytecode.strong_count() > 0);
    }
}

/// Whether a script asks for native code: `--!native` before its first line of code, as in Luau.
fn wants_native(text: &str) -> bool {
    let comments = text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with("--"));
    comments.into_iter().any(|line| line == "--!native")
}

/// A syntax error as a diagnostic. `span` gives the file's place of a byte range of the text.
pub(super) fn syntax_diagnostic(text: &str, error: &SyntaxError, span: impl Fn(Range<usize>) -> Span) -> Diagnostic {
    let message = format!("Lua syntax error: {}", without_place(&error.message));
    let place = culprit(text, error);
    let label = if place.is_empty() { "the script ends here" } else { "here" };
    let found = Diagnostic::new(&codes::SCRIPT_SYNTAX, message, span(place), label);
    match opener(text, &error.message) {
        Some((range, word)) => found.also(span(range), format!("this `{word}` is never closed")),
        None => found,
    }
}

/// Luau's message without "at line 2" or "at column 5": these count in the script, and a label shows the place.
fn without_place(message: &str) -> String {
    let Some(at) = message.find("' at line ").or_else(|| message.find("' at column ")) else {
        return message.to_owned();
    };
    let end = message[at..].find(')').map_or(message.len(), |end| at + end);
    format!("{}{}", &message[..at + 1], &message[end..])
}

/// The token that the error is about. Luau tells its line and text; which of several equal tokens on the line is meant
/// is found by compiling the text cut right behind each: the first whose text fails otherwise than by its end.
fn culprit(text: &str, error: &SyntaxError) -> Range<usize> {
    let line = line_range(text, error.line);
    let Some(token) = told_token(&error.message) else {
        return trimmed(text, line);
    };
    if token == "<eof>" {
        let end = text.trim_end().len();
        return end..end;
    }
    let occurrences: Vec<usize> = text[line.clone()].match_indices(token).map(|(at, _)| line.start + at).collect();
    let fails = |at: &&usize| {
        let cut = &text[..**at + token.len()];
        compile(cut).is_err_and(|error| told_token(&error.message) != Some("<eof>"))
    };
    let at = occurrences.iter().find(fails).or(occurrences.first());
    at.map_or_else(|| trimmed(text, line), |at| *at..*at + token.len())
}

/// The token in Luau's "…, got 'x'", "… near 'x'" or "… got <eof>".
fn told_token(message: &str) -> Option<&str> {
    let at = ["got ", "near "].iter().filter_map(|word| message.rfind(word).map(|at| at + word.len())).max()?;
    let rest = &message[at..];
    if rest.starts_with("<eof>") {
        return Some("<eof>");
    }
    let inner = rest.strip_prefix('\'')?;
    inner.rfind('\'').map(|end| &inner[..end]).filter(|token| !token.is_empty())
}

/// The word that is to be closed, from Luau's "(to close 'if' at line 2)" or "… at column 5".
fn opener<'m>(text: &str, message: &'m str) -> Option<(Range<usize>, &'m str)> {
    let rest = &message[message.find("(to close '")? + "(to close '".len()..];
    let word = &rest[..rest.find('\'')?];
    let place = rest[word.len()..].strip_prefix("' at line ")?;
    let digits = place.find(|char: char| !char.is_ascii_digit()).unwrap_or(place.len());
    let line = line_range(text, place[..digits].parse().ok()?);
    let at = line.start + text[line].find(word)?;
    Some((at..at + word.len(), word))
}

/// The bytes of a 1-based line without its end.
fn line_range(text: &str, line: u32) -> Range<usize> {
    let mut start = 0;
    for (index, part) in text.split('\n').enumerate() {
        if index as u32 + 1 == line {
            return start..start + part.trim_end_matches('\r').len();
        }
        start += part.len() + 1;
    }
    text.len()..text.len()
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let line = &text[range.clone()];
    let start = range.start + (line.len() - line.trim_start().len());
    start..start + line.trim().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::FileId;

    fn found(text: &str) -> (String, Option<String>) {
        let error = compile(text).unwrap_err();
        let span = |range: Range<usize>| Span::new(FileId(0), range);
        let diagnostic = syntax_diagnostic(text, &error, span);
        let cut = |span: Span| text[span.start as usize..span.end as usize].to_owned();
        (
            format!("{}@{}", cut(diagnostic.primary.span), diagnostic.primary.span.start),
            diagnostic.related.first().map(|label| format!("{}@{}", cut(label.span), label.span.start)),
        )
    }

    #[test]
    fn the_error_is_at_its_token() {
        assert_eq!(found("return 1 + + 2").0, "+@11");
        assert_eq!(found("local a = 1\nlocal b = = 2").0, "=@22");
        assert_eq!(found("x = = 1\n").0, "=@4");
    }

    #[test]
    fn an_unclosed_block_is_told_with_its_beginning() {
        let (place, opener) = found("if a then\n  b()\n");
        assert_eq!(place, "@15");
        assert_eq!(opener.as_deref(), Some("then@5"));
    }

    #[test]
    fn equal_texts_at_different_places_are_two_scripts_and_unchanged_ones_stay() {
        let mut cache = ScriptCache::default();
        let first = cache.intern("a.kdl", "return 1".into(), LineMap(vec![3])).unwrap();
        let other = cache.intern("b.kdl", "return 1".into(), LineMap(vec![3])).unwrap();
        let again = cache.intern("a.kdl", "return 1".into(), LineMap(vec![3])).unwrap();
        let moved = cache.intern("a.kdl", "return 1".into(), LineMap(vec![4])).unwrap();
        assert_eq!(first.id, again.id);
        assert!(first.id != other.id && first.id != moved.id);
        drop((first, other, again, moved));
        cache.prune();
        assert!(cache.known.is_empty() && cache.bytecode.is_empty());
    }
}
