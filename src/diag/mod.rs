//! Diagnostics: what is wrong with the user's files, where, and what to do.
//!
//! A [`Diagnostic`] is a value with a stable code, spans into [`Sources`] and a help. It is never an error type to be
//! returned: it goes to a [`Diagnostics`] sink, and reading goes on, so that every mistake is told in one run.

pub mod codes;
pub mod fix;
pub mod policy;
pub mod render;

use std::ops::Range;
use std::sync::Arc;

/// Names a file of [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// A range of bytes in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of a byte range in a file.
    pub fn new(file: FileId, range: Range<usize>) -> Self {
        Self { file, start: range.start as u32, end: range.end as u32 }
    }
}

/// A file that diagnostics point into.
#[derive(Clone, Debug)]
pub struct Source {
    /// The name as messages show it: relative to the folder the command was told, or as given.
    pub name: Arc<str>,
    /// Its whole text.
    pub text: Arc<str>,
    /// The first byte of every line.
    starts: Arc<[u32]>,
}

impl Source {
    /// The 0-based line of a byte.
    fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1)
    }

    /// How many lines it has; a text that ends with a line break has an empty last one.
    fn line_count(&self) -> usize {
        self.starts.len()
    }

    /// The bytes of a 0-based line, without its line break.
    fn line_range(&self, line: usize) -> Range<usize> {
        let start = self.starts.get(line).map_or(self.text.len(), |start| *start as usize);
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| *next as usize - 1);
        start..end.max(start)
    }

    /// The nearest character boundary at or before a byte.
    fn boundary(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// The files of one load.
#[derive(Clone, Debug, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// Adds a file and names it.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> FileId {
        let text: Arc<str> = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect();
        self.0.push(Source { name: name.into(), text, starts });
        FileId(self.0.len() as u32 - 1)
    }

    /// The file of this name.
    pub fn get(&self, file: FileId) -> &Source {
        &self.0[file.0 as usize]
    }

    /// Every file, in the order of their names' numbers.
    pub fn iter(&self) -> std::slice::Iter<'_, Source> {
        self.0.iter()
    }

    /// How many files were read.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no file was read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Line and column of a byte offset, both 1-based; the column counts characters.
    pub fn line_column(&self, file: FileId, offset: u32) -> (u32, u32) {
        let source = self.get(file);
        let offset = source.boundary(offset as usize);
        let line = source.line(offset);
        let before = &source.text[source.line_range(line).start..offset];
        (line as u32 + 1, before.chars().count() as u32 + 1)
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It runs, but surely not as meant.
    Warning,
    /// The server would refuse, or answer wrongly.
    Error,
}

/// One entry of the table of codes; two are the same when their names are.
#[derive(Debug, Eq)]
pub struct Code {
    /// The stable name, such as `endpoint::duplicate-route`.
    pub id: &'static str,
    /// Its severity unless the user said otherwise.
    pub severity: Severity,
    /// One line that says what it is about.
    pub title: &'static str,
    /// What it means and how it is mended, with a broken and a mended example: its page in Markdown.
    pub explanation: &'static str,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// A place with a few words about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is there; may be empty.
    pub text: String,
}

/// A cure that is an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What the edit does, such as "write #true".
    pub title: String,
    /// Replacements that belong together.
    pub edits: Vec<(Span, String)>,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub code: &'static Code,
    /// How bad it is: as the code says, unless the user said otherwise.
    pub severity: Severity,
    /// What is wrong, in the user's words.
    pub message: String,
    /// Where.
    pub primary: Label,
    /// Other places that explain it.
    pub related: Vec<Label>,
    /// What to do.
    pub help: Option<String>,
    /// Edits that would cure it.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A diagnostic with one place.
    pub fn new(code: &'static Code, message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            message: message.into(),
            primary: Label { span, text: label.into() },
            related: Vec::new(),
            help: None,
            fixes: Vec::new(),
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Label { span, text: label.into() });
        self
    }

    /// Adds an edit that would cure it.
    #[must_use]
    pub fn fix(mut self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.fixes.push(Fix { title: title.into(), edits: vec![(span, text.into())] });
        self
    }
}

/// Where diagnostics are collected.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    /// Adds several.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        self.found.extend(diagnostics);
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.errors() > 0
    }

    /// How many are errors.
    pub fn errors(&self) -> usize {
        self.found.iter().filter(|found| found.severity == Severity::Error).count()
    }

    /// How many are warnings.
    pub fn warnings(&self) -> usize {
        self.found.len() - self.errors()
    }

    /// Keeps those that `wanted` says, which may change them.
    pub fn retain_mut(&mut self, wanted: impl FnMut(&mut Diagnostic) -> bool) {
        self.found.retain_mut(wanted);
    }

    /// All of them by file, then place; the same finding once.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.found.sort_by_key(|found| (found.primary.span, found.code.id));
        self.found.dedup();
        self
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.found.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// All of them, taken out.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.found
    }
}
