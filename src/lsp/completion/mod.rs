//! What can be written at a cursor: nodes, options, values, names.

mod files;
mod nodes;
mod values;

use std::ops::Range;

use gen_lsp_types::{
    CompletionItem, CompletionItemKind, CompletionItemTextEdit, CompletionList, CompletionParams, CompletionResponse,
    CompletionTriggerKind, Documentation, InsertTextFormat, MarkupContent, TextEdit,
};

use super::documents::Document;
use super::requests::View;
use super::spot::{Spot, Want};

/// Something that can be written.
pub(super) struct Proposal {
    /// What is written.
    pub(super) text: String,
    /// What is written by a client that can jump from gap to gap.
    pub(super) snippet: Option<String>,
    /// What kind of thing it is.
    pub(super) kind: CompletionItemKind,
    /// A few words behind it.
    pub(super) detail: Option<String>,
    /// What it is, in Markdown.
    pub(super) about: Option<String>,
}

impl Proposal {
    /// A word of this kind.
    pub(super) fn new(text: impl Into<String>, kind: CompletionItemKind) -> Self {
        Self { text: text.into(), snippet: None, kind, detail: None, about: None }
    }
}

/// What is known of the place for which something is proposed.
pub(super) struct Place<'a> {
    pub(super) view: &'a View<'a>,
    pub(super) document: &'a Document,
    pub(super) spot: &'a Spot<'a>,
}

/// What can be written at a place of a text.
pub(super) fn complete(view: &View<'_>, params: CompletionParams) -> Option<CompletionResponse> {
    let at = params.text_document_position_params;
    let document = view.documents.get(&at.text_document.uri).filter(|document| document.is_kdl())?;
    let offset = document.text.offset(at.position);
    let spot = Spot::of(&document.text.all, offset, view.schema);
    let by_character =
        params.context.is_some_and(|context| context.trigger_kind == CompletionTriggerKind::TriggerCharacter);
    // Who indents a line asks for nothing yet.
    if by_character && spot.want == Want::Node {
        return None;
    }
    let place = Place { view, document, spot: &spot };
    let proposals = match spot.want {
        Want::Nothing => Vec::new(),
        Want::Node => nodes::nodes(&place),
        Want::Entry { node, position } => {
            let mut all = values::arguments(&place, node, position);
            all.extend(nodes::properties(&place, node));
            all
        }
        Want::Value { node } => values::of_last(&place, node),
        Want::Note => values::annotations(),
    };
    let range = document.text.range(spot.half.clone());
    let rank = proposals.len().to_string().len();
    let items = (0..).zip(proposals).map(|(order, proposal)| item(view, proposal, range, format!("{order:0rank$}")));
    Some(CompletionResponse::CompletionList(CompletionList { items: items.collect(), ..CompletionList::default() }))
}

fn item(view: &View<'_>, proposal: Proposal, range: gen_lsp_types::Range, order: String) -> CompletionItem {
    let snippet = proposal.snippet.filter(|_| view.client.snippets);
    let format = if snippet.is_some() { InsertTextFormat::Snippet } else { InsertTextFormat::PlainText };
    let edit = TextEdit::new(range, snippet.unwrap_or_else(|| proposal.text.clone()));
    let label = proposal.text.trim_matches('"').trim_end().to_owned();
    CompletionItem {
        filter_text: Some(proposal.text),
        label,
        kind: Some(proposal.kind),
        detail: proposal.detail,
        documentation: proposal
            .about
            .map(|value| Documentation::MarkupContent(MarkupContent { kind: view.client.completion_markup(), value })),
        insert_text_format: Some(format),
        sort_text: Some(order),
        text_edit: Some(CompletionItemTextEdit::TextEdit(edit)),
        ..CompletionItem::default()
    }
}

/// The names of the nodes that stand beside each other in a block, up to the cursor and behind it.
fn beside<'a>(place: &Place<'a>, block: Option<usize>) -> impl Iterator<Item = Range<usize>> {
    let outline = place.document.outline(place.view.schema);
    // Both outlines number what stands before the cursor alike.
    let half = place.spot.half.clone();
    let items = outline.nodes().iter().filter(move |item| item.parent == block && !item.is_off);
    items.map(|item| item.name.clone()).filter(move |name| name.start != half.start).collect::<Vec<_>>().into_iter()
}
