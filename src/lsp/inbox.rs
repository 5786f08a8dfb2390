//! What came in and was not looked at yet. A request that is cancelled while it waits here is not worked on.

use std::collections::{HashSet, VecDeque};

use gen_lsp_types::{CancelParams, Id};
use lsp_server::{Message, RequestId};

use super::wire::Incoming;

/// The waiting messages, in their order.
#[derive(Default)]
pub(super) struct Inbox {
    waiting: VecDeque<Incoming>,
    /// The requests among them.
    requests: HashSet<RequestId>,
    cancelled: HashSet<RequestId>,
}

impl Inbox {
    /// Adds a message. A cancellation of a request that waits here is heeded at once; any other stays a message.
    pub(super) fn push(&mut self, incoming: Incoming) {
        if let Incoming::Message(Message::Request(request)) = &incoming {
            self.requests.insert(request.id.clone());
        }
        match cancelled(&incoming).filter(|id| self.requests.contains(id)) {
            Some(id) => {
                self.cancelled.insert(id);
            }
            None => self.waiting.push_back(incoming),
        }
    }

    /// The next message, and whether it is a request that was cancelled.
    pub(super) fn pop(&mut self) -> Option<(Incoming, bool)> {
        let next = self.waiting.pop_front()?;
        let Incoming::Message(Message::Request(request)) = &next else { return Some((next, false)) };
        self.requests.remove(&request.id);
        let cancelled = self.cancelled.remove(&request.id);
        Some((next, cancelled))
    }
}

/// The request that a message cancels.
pub(super) fn cancelled(incoming: &Incoming) -> Option<RequestId> {
    let Incoming::Message(Message::Notification(told)) = incoming else { return None };
    if told.method != "$/cancelRequest" {
        return None;
    }
    let params: CancelParams = serde_json::from_value(told.params.clone()).ok()?;
    match params.id {
        Id::Int(number) => Some(number.into()),
        Id::String(text) => Some(text.into()),
    }
}
