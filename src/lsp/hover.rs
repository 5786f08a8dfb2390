//! What a word means: what the schema says of the node, option or annotation under the pointer.

use gen_lsp_types::{Contents, Hover, HoverParams, MarkupContent};

use crate::kdl::outline::value;

use super::describe::{annotation, describe};
use super::place::{self, What};
use super::requests::View;

/// What the word at a place of a text means.
pub(super) fn hover(view: &View<'_>, params: HoverParams) -> Option<Hover> {
    let at = params.text_document_position_params;
    let document = view.documents.get(&at.text_document.uri).filter(|document| document.is_kdl())?;
    let text = &document.text.all;
    let outline = document.outline(view.schema);
    let found = place::at(outline, document.text.offset(at.position))?;
    let spec = || outline.specs(text, view.schema).get(found.node).copied().flatten();
    let setting = |key| view.schema.setting(spec()?, &value(text, key));
    let about = match found.what {
        What::Note(_) => annotation(&text[found.range.clone()])?.to_owned(),
        What::Key(part) | What::Value(part) => match &part.key {
            Some(key) => describe(view.schema, setting(key)?),
            None => describe(view.schema, spec()?),
        },
        What::Name => describe(view.schema, spec()?),
    };
    let contents = Contents::MarkupContent(MarkupContent { kind: view.client.hover_markup(), value: about });
    Some(Hover { contents, range: Some(document.text.range(found.range)) })
}
