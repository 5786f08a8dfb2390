//! What the client can do, and what it is told that this server can do.

use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProvider, CompletionOptions, DefinitionProvider,
    DocumentFormattingProvider, DocumentSymbolProvider, HoverProvider, InitializeResult, MarkupKind, Save, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSync, TextDocumentSyncKind, TextDocumentSyncOptions,
};
use serde_json::Value;

use super::text::Encoding;

/// What the client can do, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Client {
    /// In which units it counts places.
    pub(super) encoding: Encoding,
    /// Whether findings can name other places.
    pub(super) related: bool,
    /// Whether edits can say for which version of a text they are.
    pub(super) versioned_edits: bool,
    /// Whether what is written can have gaps to jump to.
    pub(super) snippets: bool,
    /// Whether it shows Markdown beside what is proposed, and over a word.
    markdown: (bool, bool),
    /// Whether an outline can have levels.
    pub(super) levels: bool,
    /// Whether it watches files on request.
    pub(super) watches: bool,
}

impl Client {
    /// What the client says of itself when it greets. Only what matters is looked at, so that nothing else in it can be
    /// wrong.
    pub(super) fn of(params: &Value) -> Self {
        let can = |path: &str| params.pointer(&format!("/capabilities/{path}")) == Some(&Value::Bool(true));
        let markdown = |path: &str| {
            let formats = params.pointer(&format!("/capabilities/{path}")).and_then(Value::as_array);
            formats.is_some_and(|formats| formats.iter().any(|format| format == "markdown"))
        };
        let encodings = params.pointer("/capabilities/general/positionEncodings").and_then(Value::as_array);
        let utf8 = encodings.is_some_and(|encodings| encodings.iter().any(|encoding| encoding == "utf-8"));
        Self {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            related: can("textDocument/publishDiagnostics/relatedInformation"),
            versioned_edits: can("workspace/workspaceEdit/documentChanges"),
            snippets: can("textDocument/completion/completionItem/snippetSupport"),
            markdown: (
                markdown("textDocument/completion/completionItem/documentationFormat"),
                markdown("textDocument/hover/contentFormat"),
            ),
            levels: can("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            watches: can("workspace/didChangeWatchedFiles/dynamicRegistration"),
        }
    }

    /// How what is proposed is described.
    pub(super) fn completion_markup(self) -> MarkupKind {
        if self.markdown.0 { MarkupKind::Markdown } else { MarkupKind::PlainText }
    }

    /// How a word is described.
    pub(super) fn hover_markup(self) -> MarkupKind {
        if self.markdown.1 { MarkupKind::Markdown } else { MarkupKind::PlainText }
    }

    /// The answer to its greeting.
    pub(super) fn welcome(self) -> InitializeResult {
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::Incremental),
            save: Some(Save::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        };
        let actions = CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QuickFix, CodeActionKind::SourceFixAll]),
            ..CodeActionOptions::default()
        };
        let capabilities = ServerCapabilities {
            position_encoding: Some(self.encoding.kind()),
            text_document_sync: Some(TextDocumentSync::Options(sync)),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some([" ", "\"", "=", "(", "#", "/"].map(str::to_owned).into()),
                ..CompletionOptions::default()
            }),
            hover_provider: Some(HoverProvider::Bool(true)),
            definition_provider: Some(DefinitionProvider::Bool(true)),
            document_symbol_provider: Some(DocumentSymbolProvider::Bool(true)),
            code_action_provider: Some(CodeActionProvider::CodeActionOptions(actions)),
            document_formatting_provider: Some(DocumentFormattingProvider::Bool(true)),
            ..ServerCapabilities::default()
        };
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        InitializeResult { capabilities, server_info: Some(ServerInfo { name: "moondock".to_owned(), version }) }
    }
}
