//! Where a name is declared, or the file that a value names.

use std::path::{Path, PathBuf};

use gen_lsp_types::{Definition, DefinitionParams, DefinitionResponse, Location, Position, Range};

use crate::kdl::format::Format;
use crate::kdl::outline::value;

use super::documents::Document;
use super::names;
use super::place::{self, Found, What};
use super::requests::View;
use super::uri;

/// How many files of a pattern are told.
const MOST_FILES: usize = 100;

/// Where what stands at a place of a text is declared.
pub(super) fn definition(view: &View<'_>, params: DefinitionParams) -> Option<DefinitionResponse> {
    let at = params.text_document_position_params;
    let document = view.documents.get(&at.text_document.uri).filter(|document| document.is_kdl())?;
    let found = place::at(document.outline(view.schema), document.text.offset(at.position))?;
    let locations = locations(view, document, &found);
    (!locations.is_empty()).then_some(DefinitionResponse::Definition(Definition::LocationList(locations)))
}

fn locations(view: &View<'_>, document: &Document, found: &Found<'_>) -> Vec<Location> {
    let What::Value(part) = found.what else { return Vec::new() };
    let (text, outline) = (&document.text.all, document.outline(view.schema));
    let specs = outline.specs(text, view.schema);
    let written = value(text, &found.range);
    if let Some(kind) = names::meant(text, outline, &specs, view.schema, found.node, part) {
        return declarations(view, document, kind, &written);
    }
    if part.note.as_ref().is_some_and(|note| &text[note.clone()] == "file") {
        return files(view, document, &written);
    }
    let spec = specs[found.node];
    let setting = match &part.key {
        Some(key) => spec.and_then(|spec| view.schema.setting(spec, &value(text, key))),
        None => spec,
    };
    let position = outline.arguments(found.node).position(|argument| argument == part).unwrap_or_default();
    let format = setting.and_then(|setting| setting.values.as_ref()?.at(position).format);
    match format {
        Some(Format::Script | Format::Path | Format::Glob) => files(view, document, &written),
        _ => Vec::new(),
    }
}

/// The declarations of a name; a pattern is none.
fn declarations(view: &View<'_>, document: &Document, kind: &str, name: &str) -> Vec<Location> {
    let mut locations = Vec::new();
    for page in names::pages(view, document) {
        let uri = match &page.path {
            None => Some(document.uri.clone()),
            Some(path) => address(view, path),
        };
        let here = page.declared(view.schema, kind).into_iter().filter(|(declared, _)| declared == name);
        locations.extend(here.filter_map(|(_, range)| Some(Location::new(uri.clone()?, page.text.range(range)))));
    }
    locations
}

/// The files that a path or pattern names.
fn files(view: &View<'_>, document: &Document, written: &str) -> Vec<Location> {
    let Some(folder) = document.path.as_deref().and_then(Path::parent) else { return Vec::new() };
    let path = folder.join(written);
    let named: Vec<PathBuf> = match written.contains(['*', '?', '[']) {
        false => vec![path],
        true => glob::glob(&path.display().to_string()).into_iter().flatten().flatten().take(MOST_FILES).collect(),
    };
    let there = named.into_iter().filter(|path| view.documents.of_path(path).is_some() || path.is_file());
    let begin = Range::new(Position::new(0, 0), Position::new(0, 0));
    there.filter_map(|path| Some(Location::new(address(view, &path)?, begin))).collect()
}

/// The address of a file, as the client writes it when it is open.
fn address(view: &View<'_>, path: &Path) -> Option<gen_lsp_types::Uri> {
    view.documents.of_path(path).map(|document| document.uri.clone()).or_else(|| uri::of(path))
}
