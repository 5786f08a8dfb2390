//! Findings as the protocol wants them, and which files have been told some.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gen_lsp_types::{
    Code, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, Message, PublishDiagnosticsParams,
};

use crate::diag::{self, FileId, Label, Severity, Sources, Span};

use super::checker::{Checked, Site};
use super::client::Client;
use super::documents::Documents;
use super::text::Text;
use super::uri;

/// How many findings of a site are told at most; who has more mends the first ones first.
const MOST: usize = 1000;

/// What was told last, by file.
#[derive(Default)]
pub(super) struct Told(BTreeMap<PathBuf, Vec<Diagnostic>>);

impl Told {
    /// What is to be told now: every file of every site, also those that have no findings any more. A file that is not
    /// open and of which the same was told before is left out.
    pub(super) fn update(
        &mut self,
        checked: &Checked,
        documents: &Documents,
        client: Client,
    ) -> Vec<PublishDiagnosticsParams> {
        let mut now: BTreeMap<PathBuf, Vec<Diagnostic>> = BTreeMap::new();
        for site in &checked.sites {
            add(&mut now, site, documents, client);
        }
        // Who has a script of a site open is told that nothing is wrong with it.
        let is_read = |path: &&PathBuf| checked.sites.iter().any(|site| site.reads(path));
        for path in documents.paths().filter(is_read).chain(self.0.keys()) {
            now.entry(path.clone()).or_default();
        }
        let is_new = |path: &Path, found: &Vec<Diagnostic>| {
            documents.of_path(path).is_some() || self.0.get(path).map_or(!found.is_empty(), |told| told != found)
        };
        let new = now.iter().filter(|(path, found)| is_new(path, found));
        let new = new.filter_map(|(path, found)| publication(path, found.clone(), documents)).collect();
        now.retain(|_, found| !found.is_empty());
        self.0 = now;
        new
    }
}

fn publication(path: &Path, diagnostics: Vec<Diagnostic>, documents: &Documents) -> Option<PublishDiagnosticsParams> {
    let document = documents.of_path(path);
    let uri = document.map(|document| document.uri.clone()).or_else(|| uri::of(path))?;
    Some(PublishDiagnosticsParams { uri, diagnostics, version: document.map(|document| document.version) })
}

fn add(now: &mut BTreeMap<PathBuf, Vec<Diagnostic>>, site: &Site, documents: &Documents, client: Client) {
    let mut places = Places::new(&site.loaded.sources, documents);
    for file in 0..site.loaded.sources.len() as u32 {
        now.entry(places.path(FileId(file))).or_default();
    }
    for found in site.loaded.diagnostics.iter().take(MOST) {
        let told = places.finding(found, client);
        let of_file = now.entry(places.path(found.primary.span.file)).or_default();
        // A file that two sites include has its own mistakes in both.
        if !of_file.contains(&told) {
            of_file.push(told);
        }
    }
}

/// Places in the files of a load as the protocol counts them.
pub(super) struct Places<'a> {
    sources: &'a Sources,
    documents: &'a Documents,
    texts: HashMap<FileId, Text>,
}

impl<'a> Places<'a> {
    /// Places in these files.
    pub(super) fn new(sources: &'a Sources, documents: &'a Documents) -> Self {
        Self { sources, documents, texts: HashMap::new() }
    }

    /// The path of a file; the site was loaded by its absolute path, so its files are named so.
    pub(super) fn path(&self, file: FileId) -> PathBuf {
        PathBuf::from(&*self.sources.get(file).name)
    }

    /// The range of a span.
    pub(super) fn range(&mut self, span: Span) -> gen_lsp_types::Range {
        let text = self
            .texts
            .entry(span.file)
            .or_insert_with(|| Text::new(self.sources.get(span.file).text.clone(), self.documents.encoding()));
        text.range(span.start as usize..span.end as usize)
    }

    /// The file and range of a span.
    pub(super) fn location(&mut self, span: Span) -> Option<Location> {
        let path = self.path(span.file);
        let open = self.documents.of_path(&path).map(|document| document.uri.clone());
        Some(Location::new(open.or_else(|| uri::of(&path))?, self.range(span)))
    }

    /// A finding with its code, its other places, and its help behind the message.
    pub(super) fn finding(&mut self, found: &diag::Diagnostic, client: Client) -> Diagnostic {
        let mut message = found.message.clone();
        let mut related = Vec::new();
        for label in &found.related {
            match self.related(label).filter(|_| client.related) {
                Some(information) => related.push(information),
                None => message.push_str(&format!("\n{}", self.in_words(label))),
            }
        }
        if let Some(help) = &found.help {
            message.push_str(&format!("\nhelp: {help}"));
        }
        Diagnostic {
            range: self.range(found.primary.span),
            severity: Some(match found.severity {
                Severity::Error => DiagnosticSeverity::Error,
                Severity::Warning => DiagnosticSeverity::Warning,
            }),
            code: Some(Code::String(found.code.id.to_owned())),
            source: Some("moondock".to_owned()),
            message: Message::String(message),
            related_information: (!related.is_empty()).then_some(related),
            ..Diagnostic::default()
        }
    }

    fn related(&mut self, label: &Label) -> Option<DiagnosticRelatedInformation> {
        let location = self.location(label.span)?;
        Some(DiagnosticRelatedInformation { location, message: label.text.clone() })
    }

    /// Another place for a client that cannot show one.
    fn in_words(&self, label: &Label) -> String {
        let (line, column) = self.sources.line_column(label.span.file, label.span.start);
        format!("{}:{line}:{column}: {}", self.sources.get(label.span.file).name, label.text)
    }
}
