//! What can be done about findings: the edits of `check --fix`, one by one or all that are certain.

use std::path::Path;

use gen_lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, CodeActionResponse, DocumentChange, Edit,
    OptionalVersionedTextDocumentIdentifier, TextDocumentEdit, TextDocumentIdentifier, TextEdit, Uri, WorkspaceEdit,
};

use crate::diag::{Diagnostic, Fix, Span, fix};

use super::checker::Site;
use super::findings::Places;
use super::requests::View;

/// What can be done in a range of a text.
pub(super) fn actions(view: &View<'_>, params: CodeActionParams) -> Option<Vec<CodeActionResponse>> {
    let document = view.documents.get(&params.text_document.uri)?;
    let path = document.path.as_deref()?;
    let only = params.context.only.as_deref();
    let mut actions = Vec::new();
    for site in &view.checked.sites {
        let mut places = Places::new(&site.loaded.sources, view.documents);
        if is_wanted(only, &CodeActionKind::QuickFix) {
            actions.extend(quick_fixes(view, site, &mut places, path, params.range));
        }
        if is_wanted(only, &CodeActionKind::SourceFixAll) {
            actions.extend(fix_all(view, site, &mut places, path));
        }
    }
    let mut different: Vec<CodeAction> = Vec::new();
    for action in actions {
        // Two sites that include the text have the same to say of it.
        if !different.contains(&action) {
            different.push(action);
        }
    }
    Some(different.into_iter().map(CodeActionResponse::CodeAction).collect())
}

/// Whether the client wants actions of this kind: it names none, it, or one above it. Our own name for it is heeded too.
fn is_wanted(only: Option<&[CodeActionKind]>, kind: &CodeActionKind) -> bool {
    let (kind, ours) = (kind.as_str(), format!("{}.moondock", kind.as_str()));
    let names = |wanted: &str| {
        wanted.is_empty()
            || wanted == ours
            || kind == wanted
            || kind.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
    };
    only.is_none_or(|only| only.iter().any(|wanted| names(wanted.as_str())))
}

fn quick_fixes(
    view: &View<'_>,
    site: &Site,
    places: &mut Places<'_>,
    path: &Path,
    range: gen_lsp_types::Range,
) -> Vec<CodeAction> {
    let mut actions = Vec::new();
    for found in site.loaded.diagnostics.iter().filter(|found| !found.fixes.is_empty()) {
        if places.path(found.primary.span.file) != path || !overlap(places.range(found.primary.span), range) {
            continue;
        }
        for fix in &found.fixes {
            actions.extend(quick_fix(view, places, found, fix));
        }
    }
    actions
}

fn overlap(one: gen_lsp_types::Range, other: gen_lsp_types::Range) -> bool {
    one.start <= other.end && other.start <= one.end
}

fn quick_fix(view: &View<'_>, places: &mut Places<'_>, found: &Diagnostic, fix: &Fix) -> Option<CodeAction> {
    Some(CodeAction {
        title: capitalized(&fix.title),
        kind: Some(CodeActionKind::QuickFix),
        diagnostics: Some(vec![places.finding(found, view.client)]),
        edit: Some(edit(view, places, &fix.edits)?),
        is_preferred: Some(found.fixes.len() == 1),
        ..CodeAction::default()
    })
}

/// Every fix of the text that is the only one of its finding.
fn fix_all(view: &View<'_>, site: &Site, places: &mut Places<'_>, path: &Path) -> Option<CodeAction> {
    let sources = &site.loaded.sources;
    let mended = fix::mend(&site.loaded.diagnostics, sources, |file| Path::new(&*sources.get(file).name) == path);
    let mended = mended.into_iter().next()?;
    Some(CodeAction {
        title: "Apply every fix that is certain".to_owned(),
        kind: Some(CodeActionKind::SourceFixAll),
        edit: Some(edit(view, places, &mended.edits)?),
        ..CodeAction::default()
    })
}

/// A sentence of its own, as menus have them.
fn capitalized(title: &str) -> String {
    let mut chars = title.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Edits as the client takes them; for one that can, with the version of the text they are for.
fn edit(view: &View<'_>, places: &mut Places<'_>, edits: &[(Span, String)]) -> Option<WorkspaceEdit> {
    let mut by_text: Vec<(Uri, Vec<TextEdit>)> = Vec::new();
    for (span, text) in edits {
        let location = places.location(*span)?;
        let edit = TextEdit::new(location.range, text.clone());
        match by_text.iter_mut().find(|(uri, _)| *uri == location.uri) {
            Some((_, edits)) => edits.push(edit),
            None => by_text.push((location.uri, vec![edit])),
        }
    }
    if !view.client.versioned_edits {
        return Some(WorkspaceEdit { changes: Some(by_text.into_iter().collect()), ..WorkspaceEdit::default() });
    }
    let changes = by_text.into_iter().map(|(uri, edits)| {
        DocumentChange::TextDocumentEdit(TextDocumentEdit {
            edits: edits.into_iter().map(Edit::TextEdit).collect(),
            text_document: OptionalVersionedTextDocumentIdentifier {
                version: view.documents.get(&uri).map(|document| document.version),
                text_document_identifier: TextDocumentIdentifier { uri },
            },
        })
    });
    Some(WorkspaceEdit { document_changes: Some(changes.collect()), ..WorkspaceEdit::default() })
}
