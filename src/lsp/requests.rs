//! The table of requests: each is answered from what is open and what was checked last.

use gen_lsp_types::{
    CodeActionRequest, CompletionRequest, DefinitionRequest, DocumentFormattingRequest, DocumentSymbolRequest,
    HoverRequest, LspRequestMethod, Request,
};
use lsp_server::ErrorCode;
use serde_json::Value;

use crate::kdl::schema::Schema;

use super::checker::Checked;
use super::client::Client;
use super::documents::Documents;
use super::{actions, completion, definition, formatting, hover, symbols};

/// What a request is answered from.
pub(super) struct View<'a> {
    /// The language.
    pub(super) schema: &'a Schema,
    /// The open texts.
    pub(super) documents: &'a Documents,
    /// What was found last.
    pub(super) checked: &'a Checked,
    /// What the client can do.
    pub(super) client: Client,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

/// A request that can be answered.
pub(super) struct Entry {
    /// Its name in the protocol.
    pub(super) method: LspRequestMethod<'static>,
    /// Whether its answer is about findings, and so must wait until the newest texts are checked.
    pub(super) waits: bool,
    /// Answers it.
    pub(super) answer: fn(&View<'_>, Value) -> Result<Value, Failure>,
}

/// Every request that can be answered.
const REQUESTS: &[Entry] = &[
    Entry {
        method: CompletionRequest::METHOD,
        waits: false,
        answer: |view, params| typed::<CompletionRequest>(view, params, completion::complete),
    },
    Entry {
        method: HoverRequest::METHOD,
        waits: false,
        answer: |view, params| typed::<HoverRequest>(view, params, hover::hover),
    },
    Entry {
        method: DefinitionRequest::METHOD,
        waits: false,
        answer: |view, params| typed::<DefinitionRequest>(view, params, definition::definition),
    },
    Entry {
        method: DocumentSymbolRequest::METHOD,
        waits: false,
        answer: |view, params| typed::<DocumentSymbolRequest>(view, params, symbols::symbols),
    },
    Entry {
        method: CodeActionRequest::METHOD,
        waits: true,
        answer: |view, params| typed::<CodeActionRequest>(view, params, actions::actions),
    },
    Entry {
        method: DocumentFormattingRequest::METHOD,
        waits: false,
        answer: |view, params| typed::<DocumentFormattingRequest>(view, params, formatting::format),
    },
];

/// The entry of a request.
///
/// # Errors
/// There is no such request.
pub(super) fn entry(method: &str) -> Result<&'static Entry, Failure> {
    let wanted = LspRequestMethod::from(method);
    REQUESTS.iter().find(|entry| entry.method == wanted).ok_or_else(|| Failure {
        code: ErrorCode::MethodNotFound,
        message: format!("there is no request `{method}` here"),
    })
}

/// Answers a request of this type.
fn typed<R: Request>(
    view: &View<'_>,
    params: Value,
    answer: impl Fn(&View<'_>, R::Params) -> R::Result,
) -> Result<Value, Failure> {
    let params = serde_json::from_value(params)
        .map_err(|error| Failure { code: ErrorCode::InvalidParams, message: format!("{}: {error}", R::METHOD) })?;
    serde_json::to_value(answer(view, params))
        .map_err(|error| Failure { code: ErrorCode::InternalError, message: error.to_string() })
}
