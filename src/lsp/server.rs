//! The session: takes messages in their order, answers requests, and has sites checked when typing pauses.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, at, never, select, unbounded};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use serde::Serialize;
use serde_json::Value;

use crate::kdl::schema::Schema;
use crate::site::load::Options;

use super::Ending;
use super::checker::{self, Checked, Job};
use super::client::Client;
use super::documents::Documents;
use super::findings::Told;
use super::inbox::{self, Inbox};
use super::requests::{self, Failure, View};
use super::watching;
use super::wire::{self, Incoming};

/// How long nothing must be typed before a site is checked: letters of one word are one check.
const QUIET: Duration = Duration::from_millis(40);

/// How far the session is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The client has not greeted.
    New,
    /// It has.
    Open,
    /// It asked for the end.
    Closing,
}

struct Session<W> {
    output: W,
    schema: Arc<Schema>,
    stage: Stage,
    client: Client,
    documents: Documents,
    /// Counts the states of the open texts.
    revision: u64,
    /// When the newest texts are to be checked; `None` when they are, or are being.
    due: Option<Instant>,
    jobs: Sender<Job>,
    checked: Checked,
    told: Told,
    /// Requests about findings that wait for a check.
    waiting: Vec<Request>,
    /// Why nothing can be written any more.
    lost: Option<String>,
}

/// Serves one client.
pub(super) fn run(options: Options, mut input: impl BufRead + Send + 'static, output: impl Write) -> Ending {
    let schema = match Schema::of_site() {
        Ok(schema) => Arc::new(schema),
        Err(why) => return Ending::Broken(why),
    };
    let (sender, incoming) = unbounded();
    thread::spawn(move || {
        loop {
            let next = wire::read(&mut input);
            let ended = matches!(next, Incoming::End(_));
            if sender.send(next).is_err() || ended {
                break;
            }
        }
    });
    let (jobs, checked) = checker::start(options, Arc::clone(&schema));
    Session::new(schema, jobs, output).run(&incoming, &checked)
}

impl<W: Write> Session<W> {
    fn new(schema: Arc<Schema>, jobs: Sender<Job>, output: W) -> Self {
        Self {
            output,
            schema,
            stage: Stage::New,
            client: Client::default(),
            documents: Documents::default(),
            revision: 0,
            due: None,
            jobs,
            checked: Checked::default(),
            told: Told::default(),
            waiting: Vec::new(),
            lost: None,
        }
    }

    fn run(mut self, incoming: &Receiver<Incoming>, checked: &Receiver<Checked>) -> Ending {
        let mut inbox = Inbox::default();
        loop {
            incoming.try_iter().for_each(|next| inbox.push(next));
            if let Some(done) = checked.try_iter().last() {
                self.publish(done);
            }
            if let Some(why) = self.lost.take() {
                return Ending::Broken(why);
            }
            if let Some((next, cancelled)) = inbox.pop() {
                if let Some(ending) = self.take(next, cancelled) {
                    return ending;
                }
                continue;
            }
            let due = self.due.map_or_else(never, at);
            select! {
                recv(incoming) -> next => inbox.push(next.unwrap_or(Incoming::End(None))),
                recv(checked) -> done => done.into_iter().for_each(|done| self.publish(done)),
                recv(due) -> _ => self.check(),
            }
        }
    }

    /// Takes a message; gives the ending when it was the last.
    fn take(&mut self, next: Incoming, cancelled: bool) -> Option<Ending> {
        if let Some(id) = inbox::cancelled(&next) {
            self.cancel(&id);
            return None;
        }
        match next {
            Incoming::Message(Message::Request(request)) if cancelled => self.answer_cancelled(request.id),
            Incoming::Message(Message::Request(request)) => self.request(request),
            Incoming::Message(Message::Notification(told)) => return self.notification(told),
            // Answers to our own requests say nothing that matters.
            Incoming::Message(Message::Response(_)) => {}
            Incoming::Fault(fault) => {
                let written = wire::write_fault(&mut self.output, &fault);
                self.written(written);
            }
            Incoming::End(Some(why)) => return Some(Ending::Broken(why)),
            Incoming::End(None) => return Some(self.ending()),
        }
        None
    }

    fn ending(&self) -> Ending {
        if self.stage == Stage::Closing { Ending::Asked } else { Ending::Gone }
    }

    fn request(&mut self, request: Request) {
        let answer = match (self.stage, request.method.as_str()) {
            (Stage::New, "initialize") => self.initialize(request.params),
            (Stage::New, _) => Err(failure(ErrorCode::ServerNotInitialized, "`initialize` comes first")),
            (Stage::Closing, _) => Err(failure(ErrorCode::InvalidRequest, "nothing is answered after `shutdown`")),
            (Stage::Open, "initialize") => Err(failure(ErrorCode::InvalidRequest, "`initialize` comes once")),
            (Stage::Open, "shutdown") => {
                self.stage = Stage::Closing;
                self.let_go();
                Ok(Value::Null)
            }
            (Stage::Open, method) => match requests::entry(method) {
                Ok(entry) if entry.waits && self.checked.revision < self.revision => {
                    self.check();
                    return self.waiting.push(request);
                }
                Ok(entry) => self.answered(entry, request.params),
                Err(failure) => Err(failure),
            },
        };
        self.answer(request.id, answer);
    }

    /// The answer of an entry of the table. A fault of ours costs one answer, not the session.
    fn answered(&self, entry: &requests::Entry, params: Value) -> Result<Value, Failure> {
        let view =
            View { schema: &self.schema, documents: &self.documents, checked: &self.checked, client: self.client };
        catch_unwind(AssertUnwindSafe(|| (entry.answer)(&view, params)))
            .unwrap_or_else(|_| Err(failure(ErrorCode::InternalError, "this is a fault of moondock")))
    }

    fn initialize(&mut self, params: Value) -> Result<Value, Failure> {
        if !params.is_object() {
            return Err(failure(ErrorCode::InvalidParams, "`initialize` says what the client can do"));
        }
        self.client = Client::of(&params);
        self.documents = Documents::new(self.client.encoding);
        self.stage = Stage::Open;
        serde_json::to_value(self.client.welcome())
            .map_err(|error| failure(ErrorCode::InternalError, &error.to_string()))
    }

    /// Gives the ending when the client asks for the exit.
    fn notification(&mut self, told: Notification) -> Option<Ending> {
        if told.method == "exit" {
            return Some(self.ending());
        }
        if self.stage == Stage::Open && told.method == "initialized" && self.client.watches {
            self.send(Message::Request(watching::request()));
        }
        if self.stage == Stage::Open && super::changes::take(&mut self.documents, told) {
            self.revision += 1;
            self.due = Some(Instant::now() + QUIET);
        }
        None
    }

    /// Has the newest texts checked.
    fn check(&mut self) {
        if self.due.take().is_some() {
            let job = Job { revision: self.revision, texts: self.documents.texts() };
            // Without its thread there are no findings, but all else is still answered.
            let _ended = self.jobs.send(job);
        }
    }

    /// Tells what a check found, and answers who waited for it.
    fn publish(&mut self, checked: Checked) {
        self.checked = checked;
        // Places in texts that have changed since would be wrong; the next check is on its way.
        if self.checked.revision < self.revision {
            return;
        }
        for publication in self.told.update(&self.checked, &self.documents, self.client) {
            self.notify("textDocument/publishDiagnostics", publication);
        }
        for request in std::mem::take(&mut self.waiting) {
            self.request(request);
        }
    }

    fn cancel(&mut self, id: &RequestId) {
        if let Some(at) = self.waiting.iter().position(|request| request.id == *id) {
            let request = self.waiting.remove(at);
            self.answer_cancelled(request.id);
        }
    }

    /// Answers who waits for a check that nobody will wait for.
    fn let_go(&mut self) {
        for request in std::mem::take(&mut self.waiting) {
            self.answer(request.id, Err(failure(ErrorCode::ServerCancelled, "the session ends")));
        }
    }

    fn answer_cancelled(&mut self, id: RequestId) {
        self.answer(id, Err(failure(ErrorCode::RequestCanceled, "the request was cancelled")));
    }

    fn answer(&mut self, id: RequestId, answer: Result<Value, Failure>) {
        let error =
            |failure: Failure| ResponseError { code: failure.code as i32, message: failure.message, data: None };
        self.send(Message::Response(Response { id, response_result: answer.map_err(error) }));
    }

    fn notify(&mut self, method: &str, params: impl Serialize) {
        // What is sent is made of texts and numbers, which can always be written.
        let params = serde_json::to_value(params).unwrap_or_default();
        self.send(Message::Notification(Notification { method: method.to_owned(), params }));
    }

    fn send(&mut self, message: Message) {
        let written = wire::write(&mut self.output, &message);
        self.written(written);
    }

    fn written(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.lost.get_or_insert(error.to_string());
        }
    }
}

fn failure(code: ErrorCode, message: &str) -> Failure {
    Failure { code, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
