//! What the editor tells: texts are opened, changed, saved and closed, files change.

use gen_lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, LspNotificationMethod,
};
use lsp_server::Notification;
use serde::de::DeserializeOwned;

use super::documents::Documents;

/// Takes what is told; gives whether sites may be others now. What cannot be read is left alone: nobody waits for an
/// answer.
pub(super) fn take(documents: &mut Documents, told: Notification) -> bool {
    match LspNotificationMethod::from(told.method.as_str()) {
        LspNotificationMethod::TextDocumentDidOpen => {
            read(told).map(|params: DidOpenTextDocumentParams| documents.open(params.text_document)).is_some()
        }
        LspNotificationMethod::TextDocumentDidChange => read(told)
            .map(|params: DidChangeTextDocumentParams| {
                let text = params.text_document;
                documents.change(&text.text_document_identifier.uri, text.version, params.content_changes);
            })
            .is_some(),
        LspNotificationMethod::TextDocumentDidClose => {
            read(told).map(|params: DidCloseTextDocumentParams| documents.close(&params.text_document.uri)).is_some()
        }
        // What was saved, or changed beside the editor, may be any file that a site reads.
        LspNotificationMethod::TextDocumentDidSave | LspNotificationMethod::WorkspaceDidChangeWatchedFiles => true,
        _ => false,
    }
}

fn read<P: DeserializeOwned>(told: Notification) -> Option<P> {
    serde_json::from_value(told.params).ok()
}
