//! The outline of a text for who looks for a place in it.

use gen_lsp_types::{
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, Location, SymbolInformation, SymbolKind,
};

use crate::kdl::outline::{Item, Outline, value};

use super::documents::Document;
use super::requests::View;

/// How deep the outline goes: as deep as blocks may nest.
const DEEPEST: usize = 32;
/// How many nodes it has at most.
const MOST: usize = 20_000;
/// The longest name of a node with its arguments, in characters.
const LONGEST: usize = 80;

/// The nodes of a text.
pub(super) fn symbols(view: &View<'_>, params: DocumentSymbolParams) -> Option<DocumentSymbolResponse> {
    let document = view.documents.get(&params.text_document.uri).filter(|document| document.is_kdl())?;
    let outline = document.outline(view.schema);
    let told = told(outline);
    Some(match view.client.levels {
        true => DocumentSymbolResponse::DocumentSymbolList(nested(document, outline, &told)),
        false => DocumentSymbolResponse::SymbolInformationList(flat(document, outline, &told)),
    })
}

/// The numbers of the nodes that are told.
fn told(outline: &Outline) -> Vec<usize> {
    let mut depths: Vec<usize> = Vec::with_capacity(outline.nodes().len());
    let mut told = Vec::new();
    for (node, item) in outline.nodes().iter().enumerate() {
        let depth = item.parent.map_or(0, |parent| depths[parent] + 1);
        depths.push(depth);
        let named = !item.name.is_empty() && !item.is_off;
        if depth < DEEPEST && named && told.len() < MOST {
            told.push(node);
        }
    }
    told
}

fn nested(document: &Document, outline: &Outline, told: &[usize]) -> Vec<DocumentSymbol> {
    let mut children: Vec<Vec<DocumentSymbol>> = vec![Vec::new(); outline.nodes().len()];
    let mut top = Vec::new();
    // A node comes before those of its block, so from behind every node has its children when it is reached.
    for node in told.iter().rev() {
        let item = &outline.nodes()[*node];
        let mut inside = std::mem::take(&mut children[*node]);
        inside.reverse();
        let symbol = symbol(document, outline, *node, inside);
        match item.parent {
            Some(parent) => children[parent].push(symbol),
            None => top.push(symbol),
        }
    }
    top.reverse();
    top
}

#[expect(deprecated, reason = "the type has a field of an older protocol, which stays empty")]
fn symbol(document: &Document, outline: &Outline, node: usize, children: Vec<DocumentSymbol>) -> DocumentSymbol {
    let item = &outline.nodes()[node];
    DocumentSymbol {
        name: name(document, outline, node),
        detail: None,
        kind: kind(document, item),
        tags: None,
        deprecated: None,
        range: document.text.range(item.extent.clone()),
        selection_range: document.text.range(item.name.clone()),
        children: (!children.is_empty()).then_some(children),
    }
}

/// The nodes one after the other, for a client that knows no levels.
#[expect(deprecated, reason = "the type has a field of an older protocol, which stays empty")]
fn flat(document: &Document, outline: &Outline, told: &[usize]) -> Vec<SymbolInformation> {
    let of = |node: &usize| {
        let item = &outline.nodes()[*node];
        SymbolInformation {
            deprecated: None,
            location: Location::new(document.uri.clone(), document.text.range(item.extent.clone())),
            base_symbol_information: gen_lsp_types::BaseSymbolInformation {
                name: name(document, outline, *node),
                kind: kind(document, item),
                tags: None,
                container_name: item.parent.map(|parent| name(document, outline, parent)),
            },
        }
    };
    told.iter().map(of).collect()
}

/// The name of a node with its arguments, as far as they are short.
fn name(document: &Document, outline: &Outline, node: usize) -> String {
    let text = &document.text.all;
    let arguments = outline.arguments(node).filter_map(|part| part.value.as_ref());
    let words = std::iter::once(&outline.nodes()[node].name).chain(arguments).take(8);
    let lines = |word: String| word.lines().next().unwrap_or_default().trim().to_owned();
    let all: Vec<String> = words.map(|word| lines(value(text, word))).collect();
    let all: String = all.join(" ").chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    // A symbol must have a name.
    if all.trim().is_empty() { "…".to_owned() } else { all }
}

fn kind(document: &Document, item: &Item) -> SymbolKind {
    match (&document.text.all[item.name.clone()], &item.block) {
        ("endpoint", _) => SymbolKind::Method,
        ("group", _) => SymbolKind::Namespace,
        ("environment", Some(_)) => SymbolKind::Class,
        ("include", _) => SymbolKind::File,
        ("param", _) => SymbolKind::Variable,
        (_, Some(_)) => SymbolKind::Object,
        _ => SymbolKind::Property,
    }
}
