//! Reads the site file and what it includes, and remembers every path whose contents decided.
//!
//! A file that cannot be read is a diagnostic at the place that names it; reading goes on. The site file itself is the
//! one exception: without it there is nothing to point into.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, FileId, Sources, Span, codes};
use crate::kdl::document::{Document, Parser};
use crate::kdl::reader::{Context, Reader};
use crate::kdl::scalar::At;
use crate::site::outside::Values;
use crate::site::read::Given;

/// The files of one load.
pub(super) struct Files {
    /// Their texts, for messages.
    pub(super) sources: Sources,
    /// Every `.kdl` file in the order of reading, the site file first.
    pub(super) documents: Vec<ReadFile>,
    /// Paths that decide what the site is, whether they exist or not.
    pub(super) watch: BTreeSet<PathBuf>,
    /// The folder of the site file, absolute.
    pub(super) folder: PathBuf,
    /// The folder of the site file as the user wrote it, for messages.
    shown_folder: PathBuf,
    /// Variables and texts that are looked at before the machine is.
    given: Arc<Given>,
}

/// One `.kdl` file.
pub(super) struct ReadFile {
    /// Its id in the sources.
    pub(super) id: FileId,
    /// Its absolute path.
    pub(super) path: PathBuf,
    /// What was parsed of it.
    pub(super) document: Document,
    /// The include that named it; `None` for the site file.
    included: Option<Span>,
}

/// A text file that was read, or why it could not be.
pub(super) enum FileText {
    /// Its text.
    Text(Arc<str>),
    /// There is no such file.
    Missing,
    /// It is there but cannot be used; a sentence says why.
    Unreadable(String),
}

/// The text of a site file.
///
/// # Errors
/// It cannot be read or is not UTF-8.
pub(super) fn site_text(path: &Path, given: &Given) -> io::Result<Arc<str>> {
    given.text(&std::path::absolute(path)?)
}

impl Files {
    /// Reads everything that the site file at `path`, of this text, includes.
    ///
    /// # Errors
    /// There is no current folder for a relative path.
    pub(super) fn read(
        path: &Path,
        text: Arc<str>,
        given: &Arc<Given>,
        parser: &mut Parser,
        sink: &mut Diagnostics,
    ) -> io::Result<Self> {
        let absolute = std::path::absolute(path)?;
        let mut files = Self {
            sources: Sources::default(),
            documents: Vec::new(),
            watch: BTreeSet::new(),
            folder: absolute.parent().unwrap_or(Path::new("/")).to_path_buf(),
            shown_folder: path.parent().unwrap_or(Path::new("")).to_path_buf(),
            given: Arc::clone(given),
        };
        files.watch.insert(absolute.clone());
        files.add(absolute, text, None, parser, sink);
        let mut next = 0;
        while next < files.documents.len() {
            files.follow_includes(next, parser, sink);
            next += 1;
        }
        Ok(files)
    }

    fn add(
        &mut self,
        path: PathBuf,
        text: Arc<str>,
        included: Option<Span>,
        parser: &mut Parser,
        sink: &mut Diagnostics,
    ) {
        let id = self.sources.add(self.shown(&path), text.clone());
        let document = parser.parse(id, &text, sink);
        self.documents.push(ReadFile { id, path, document, included });
    }

    /// The name of a path in messages: as the user would write it from where they stand.
    pub(super) fn shown(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.folder).map(|rest| self.shown_folder.join(rest));
        relative.unwrap_or_else(|_| path.to_path_buf()).display().to_string()
    }

    /// The name of a path inside the site: relative to its folder, wherever the command was called.
    pub(super) fn inside(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).display().to_string()
    }

    /// The absolute path that a file of the site means by `relative`.
    pub(super) fn beside(&self, file: FileId, relative: &str) -> PathBuf {
        let base = self.documents.iter().find(|read| read.id == file).and_then(|read| read.path.parent());
        clean(&base.unwrap_or(&self.folder).join(relative))
    }

    /// Reads a text file that the site names, and watches it.
    pub(super) fn text(&mut self, path: &Path) -> FileText {
        self.watch.insert(path.to_path_buf());
        match self.given.text(path) {
            Ok(text) => FileText::Text(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => FileText::Missing,
            Err(error) => FileText::Unreadable(error.to_string()),
        }
    }

    /// Whether there is a file to be read at the path.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.given.is_file(path)
    }

    fn follow_includes(&mut self, index: usize, parser: &mut Parser, sink: &mut Diagnostics) {
        let values = Values::without_secrets(&self.folder, &self.given);
        let cx = Context::new(&values);
        let includes: Vec<Include> = {
            let readers = self.documents[index].document.readers(&cx);
            readers.iter().filter(|reader| reader.name() == "include").flat_map(decode_include).collect()
        };
        sink.extend(cx.into_findings());
        for include in includes {
            self.follow(index, &include, parser, sink);
        }
    }

    fn follow(&mut self, index: usize, include: &Include, parser: &mut Parser, sink: &mut Diagnostics) {
        let pattern = self.beside(self.documents[index].id, &include.pattern.it);
        if include.pattern.it.contains(['*', '?', '[']) {
            let found = self.expand(&pattern);
            if found.is_empty() && !include.optional {
                let message = format!("`{}` matches no file", include.pattern.it);
                let help = format!("looked for {}; write optional=#true if that is fine", pattern.display());
                let span = include.pattern.span;
                sink.push(
                    Diagnostic::new(&codes::INCLUDE_NOTHING, message, span, "nothing is included here").help(help),
                );
            }
            for path in found {
                self.include(index, path, include, parser, sink);
            }
        } else {
            self.include(index, pattern, include, parser, sink);
        }
    }

    /// The files of a glob by name; hidden files and editors' leftovers are not meant.
    fn expand(&mut self, pattern: &Path) -> Vec<PathBuf> {
        self.watch.extend(pattern.parent().map(Path::to_path_buf));
        let Ok(paths) = glob::glob(&pattern.display().to_string()) else {
            return Vec::new();
        };
        let meant = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            !name.starts_with('.') && !name.ends_with('~') && path.is_file()
        };
        let mut found: Vec<PathBuf> = paths.flatten().filter(meant).collect();
        found.sort();
        found
    }

    fn include(&mut self, index: usize, path: PathBuf, include: &Include, parser: &mut Parser, sink: &mut Diagnostics) {
        let span = include.pattern.span;
        if let Some(earlier) = self.documents.iter().find(|read| read.path == path) {
            sink.push(self.twice(index, earlier, span));
            return;
        }
        match self.text(&path) {
            FileText::Text(text) => self.add(path, text, Some(span), parser, sink),
            FileText::Missing if include.optional => {}
            FileText::Missing => sink.push(
                Diagnostic::new(&codes::INCLUDE_MISSING, "there is no such file", span, "named here")
                    .help(format!("looked for {}; write optional=#true if it may be absent", path.display())),
            ),
            FileText::Unreadable(why) => {
                let message = format!("this file cannot be read: {why}");
                let found = Diagnostic::new(&codes::INCLUDE_UNREADABLE, message, span, "named here");
                sink.push(found.help(format!("it is {}", path.display())));
            }
        }
    }

    /// An include of a file that was read already: a cycle when it leads to the file that names it.
    fn twice(&self, index: usize, earlier: &ReadFile, span: Span) -> Diagnostic {
        let mut chain = Some(self.documents[index].id);
        while let Some(id) = chain {
            if id == earlier.id {
                let message = "this file includes itself, directly or through others";
                return Diagnostic::new(&codes::INCLUDE_CYCLE, message, span, "leads back here")
                    .help("remove this include");
            }
            let read = self.documents.iter().find(|read| read.id == id);
            chain = read.and_then(|read| read.included).map(|include| include.file);
        }
        let found = Diagnostic::new(&codes::INCLUDE_TWICE, "this file is included twice", span, "included again");
        match earlier.included {
            Some(first) => found.also(first, "included here first").help("remove one of them"),
            None => found,
        }
    }
}

/// An `include` node.
struct Include {
    pattern: At<String>,
    optional: bool,
}

fn decode_include(reader: &Reader<'_>) -> Vec<Include> {
    let optional = reader.switch("optional").is_some_and(|at| at.it);
    reader.args().into_iter().map(|pattern| Include { pattern, optional }).collect()
}

/// Takes `.` and `..` out of a path by its text alone, so that one file has one name.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}
