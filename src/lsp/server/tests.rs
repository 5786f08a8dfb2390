//! Who waits for a check: here the test decides when one is done, so that nothing depends on who is faster.

use std::sync::Arc;

use crossbeam_channel::{Receiver, unbounded};
use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::{Value, json};

use super::{Checked, Incoming, Job, Session};
use crate::kdl::schema::Schema;

/// A session that was greeted and has a text whose check is not done; and the checks that it asked for.
fn with_a_text() -> (Session<Vec<u8>>, Receiver<Job>) {
    let (jobs, asked) = unbounded();
    let mut session = Session::new(Arc::new(Schema::of_site().unwrap()), jobs, Vec::new());
    request(&mut session, "greets", "initialize", json!({ "capabilities": {} }));
    let text = json!({ "uri": "file:///site.kdl", "languageId": "kdl", "version": 1, "text": "endpoint GET \"/\"" });
    notify(&mut session, "textDocument/didOpen", json!({ "textDocument": text }));
    session.output.clear();
    (session, asked)
}

fn request(session: &mut Session<Vec<u8>>, id: &str, method: &str, params: Value) {
    let id = RequestId::from(id.to_owned());
    let request = Request { id, method: method.to_owned(), params };
    assert!(session.take(Incoming::Message(Message::Request(request)), false).is_none());
}

fn notify(session: &mut Session<Vec<u8>>, method: &str, params: Value) {
    let told = Notification { method: method.to_owned(), params };
    assert!(session.take(Incoming::Message(Message::Notification(told)), false).is_none());
}

/// A request that waits for the check of the newest text.
fn waits(session: &mut Session<Vec<u8>>, id: &str) {
    let place = json!({ "line": 0, "character": 0 });
    let params = json!({ "textDocument": { "uri": "file:///site.kdl" }, "range": { "start": place, "end": place },
        "context": { "diagnostics": [] } });
    request(session, id, "textDocument/codeAction", params);
}

/// What was written since, the id and the error's code (0 when it is none) of each answer.
fn answers(session: &mut Session<Vec<u8>>) -> Vec<(String, i64)> {
    let mut written = &std::mem::take(&mut session.output)[..];
    let mut out = Vec::new();
    while let Ok(Some(message)) = Message::read(&mut written) {
        if let Message::Response(response) = message {
            let code = response.response_result.err().map_or(0, |error| i64::from(error.code));
            out.push((response.id.to_string(), code));
        }
    }
    out
}

#[test]
fn who_waits_is_answered_when_the_newest_text_is_checked() {
    let (mut session, asked) = with_a_text();
    waits(&mut session, "first");
    notify(
        &mut session,
        "textDocument/didChange",
        json!({ "textDocument": { "uri": "file:///site.kdl", "version": 2 }, "contentChanges": [{ "text": "" }] }),
    );
    waits(&mut session, "second");
    let revisions: Vec<u64> = asked.try_iter().map(|job| job.revision).collect();
    assert_eq!(revisions, [1, 2]);
    session.publish(Checked { revision: 1, sites: Vec::new() });
    assert_eq!(answers(&mut session), []);
    session.publish(Checked { revision: 2, sites: Vec::new() });
    let both = [("\"first\"".to_owned(), 0), ("\"second\"".to_owned(), 0)];
    assert_eq!(answers(&mut session), both);
}

#[test]
fn who_is_cancelled_while_it_waits_is_told_so() {
    let (mut session, _asked) = with_a_text();
    waits(&mut session, "by name");
    waits(&mut session, "stays");
    notify(&mut session, "$/cancelRequest", json!({ "id": "by name" }));
    notify(&mut session, "$/cancelRequest", json!({ "id": 12345 }));
    notify(&mut session, "$/cancelRequest", json!("nothing"));
    assert_eq!(answers(&mut session), [("\"by name\"".to_owned(), -32800)]);
    session.publish(Checked { revision: 1, sites: Vec::new() });
    assert_eq!(answers(&mut session), [("\"stays\"".to_owned(), 0)]);
}

#[test]
fn who_waits_when_the_session_ends_is_told_so() {
    let (mut session, _asked) = with_a_text();
    waits(&mut session, "waits");
    request(&mut session, "ends", "shutdown", Value::Null);
    assert_eq!(answers(&mut session), [("\"waits\"".to_owned(), -32802), ("\"ends\"".to_owned(), 0)]);
}
