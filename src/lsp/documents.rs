//! The texts that the editor has open.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{TextDocumentContentChangeEvent, TextDocumentItem, Uri};

use crate::kdl::outline::Outline;
use crate::kdl::schema::Schema;

use super::text::{Encoding, Text};
use super::uri;

/// An open text.
#[derive(Debug)]
pub(super) struct Document {
    /// Its address as the client writes it.
    pub(super) uri: Uri,
    /// Its file; `None` for a text that is in none.
    pub(super) path: Option<PathBuf>,
    /// The client's number of this state of it.
    pub(super) version: i32,
    /// What it says now.
    pub(super) text: Arc<Text>,
    outline: OnceCell<Arc<Outline>>,
}

impl Document {
    /// Its outline, which is made once for each state of it.
    pub(super) fn outline(&self, schema: &Schema) -> &Arc<Outline> {
        self.outline.get_or_init(|| Arc::new(Outline::of(&self.text.all, schema)))
    }

    /// Whether it is of the site language; a text without a file is taken for one.
    pub(super) fn is_kdl(&self) -> bool {
        self.path.as_deref().is_none_or(is_kdl)
    }
}

/// Whether a path is that of a file of the site language.
pub(super) fn is_kdl(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("kdl"))
}

/// The open texts, by their address.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: BTreeMap<String, Document>,
    encoding: Encoding,
}

impl Documents {
    /// None yet, their places to be counted in this encoding.
    pub(super) fn new(encoding: Encoding) -> Self {
        Self { open: BTreeMap::new(), encoding }
    }

    /// The encoding of places.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// A text was opened.
    pub(super) fn open(&mut self, item: TextDocumentItem) {
        let text = Arc::new(Text::new(item.text, self.encoding));
        let path = uri::path(&item.uri);
        let document = Document { path, version: item.version, text, uri: item.uri, outline: OnceCell::new() };
        self.open.insert(document.uri.0.as_str().to_owned(), document);
    }

    /// A text was changed, by edits that follow each other. Of a text that is not open nothing is known.
    pub(super) fn change(&mut self, uri: &Uri, version: i32, edits: Vec<TextDocumentContentChangeEvent>) {
        let Some(document) = self.open.get_mut(uri.0.as_str()) else { return };
        document.version = version;
        for edit in edits {
            let all = match edit {
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => whole.text,
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let mut all = document.text.all.to_string();
                    all.replace_range(document.text.bytes(part.range), &part.text);
                    all
                }
            };
            document.text = Arc::new(Text::new(all, self.encoding));
            document.outline = OnceCell::new();
        }
    }

    /// A text was closed: its file counts again.
    pub(super) fn close(&mut self, uri: &Uri) {
        self.open.remove(uri.0.as_str());
    }

    /// The open text of this address.
    pub(super) fn get(&self, uri: &Uri) -> Option<&Document> {
        self.open.get(uri.0.as_str())
    }

    /// The open text of this file.
    pub(super) fn of_path(&self, path: &Path) -> Option<&Document> {
        self.open.values().find(|document| document.path.as_deref() == Some(path))
    }

    /// The files that are open.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.open.values().filter_map(|document| document.path.as_ref())
    }

    /// The texts that stand in the place of files.
    pub(super) fn texts(&self) -> BTreeMap<PathBuf, Arc<str>> {
        let of_files = self.open.values().filter_map(|document| Some((document.path.clone()?, &document.text)));
        of_files.map(|(path, text)| (path, Arc::clone(&text.all))).collect()
    }
}
