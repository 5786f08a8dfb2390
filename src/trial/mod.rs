//! What must hold of every text, whatever it says. The fuzzers of `fuzz/` ask it for as long as they are let; the tests
//! here ask it of the official KDL suite, of all our cases, and of some thousand changes of them.
//!
//! A trial panics when something does not hold. Nothing here is part of the program.

use std::cell::RefCell;
use std::io::Cursor;
use std::path::Path;

use serde_json::{Value, json};

use crate::diag::render::{FORMATS, Report, Style};
use crate::diag::{Diagnostics, Sources, Span, fix};
use crate::lsp::{self, Ending};
use crate::site::load::{Loader, Options};

pub use crate::kdl::trial::{formatter, scanner, string_map};

thread_local! {
    /// One for all texts, as in a server: a loader that is new would read the schema for each of them.
    static LOADER: RefCell<Loader> = RefCell::default();
}

/// A folder that is not there: what a text names is missing, and nothing is read.
const SITE: &str = "/no-such-folder/site.kdl";

/// Every text is read as a site or told to be none, at places that it has, and every format can say it; what
/// `check --fix` writes can be read again.
///
/// # Panics
/// When one of these does not hold.
pub fn reader(text: &str) {
    if looks_around(text) {
        return;
    }
    let (found, sources) = read(text);
    for file in fix::mend(&found, &sources, |_| true) {
        read(&file.text);
    }
}

/// Whether a text includes what it finds: the folders of the machine are not what is tried.
fn looks_around(text: &str) -> bool {
    text.contains("include") && text.contains(['*', '?', '['])
}

#[expect(clippy::expect_used, reason = "a trial panics when something does not hold")]
fn read(text: &str) -> (Diagnostics, Sources) {
    let loaded = LOADER.with_borrow_mut(|loader| loader.load_text(Path::new(SITE), text.into()));
    let loaded = loaded.expect("the path is absolute");
    let (found, sources) = (loaded.diagnostics, loaded.sources);
    assert_eq!(loaded.site.is_some(), !found.has_errors(), "{text:?}");
    for one in found.iter() {
        let places = std::iter::once(&one.primary).chain(&one.related).map(|label| label.span);
        let edits = one.fixes.iter().flat_map(|fix| &fix.edits).map(|(span, _)| *span);
        places.chain(edits).for_each(|span| has_place(&sources, span));
    }
    let report = Report { diagnostics: &found, sources: &sources, style: Style::default(), summary: "" };
    for format in FORMATS {
        let written = (format.write)(&[report]);
        assert!(found.is_empty() || !written.is_empty(), "{} says nothing of {text:?}", format.name);
    }
    (found, sources)
}

fn has_place(sources: &Sources, Span { file, start, end }: Span) {
    let text = &sources.get(file).text;
    let is_place = |at: u32| text.is_char_boundary(at as usize);
    assert!(start <= end && is_place(start) && is_place(end), "{start}..{end} is no place in {text:?}");
}

/// An editor gets an answer to all that it asks while a text is typed, and the server ends when it is asked to. Where the
/// text is cut, and what is asked where, follows from the text alone.
///
/// # Panics
/// When one of these does not hold.
pub fn editor(text: &str) {
    if looks_around(text) {
        return;
    }
    let mut session = Session::default();
    session.request("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }));
    session.notify("initialized", json!({}));
    let half = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let opened = json!({ "uri": URI, "languageId": "kdl", "version": 1, "text": &text[..half] });
    session.notify("textDocument/didOpen", json!({ "textDocument": opened }));
    session.ask(&text[..half]);
    let end = place(&text[..half]);
    let edit = json!({ "range": { "start": end, "end": end }, "text": &text[half..] });
    let changed = json!({ "uri": URI, "version": 2 });
    session.notify("textDocument/didChange", json!({ "textDocument": changed, "contentChanges": [edit] }));
    session.ask(&text[..(half / 2..half).find(|at| text.is_char_boundary(*at)).unwrap_or(half)]);
    session.ask(text);
    session.request("shutdown", Value::Null);
    session.notify("exit", Value::Null);
    session.play(text);
}

/// Bytes that need not be messages are read to their end.
pub fn wire(bytes: &[u8]) {
    if !looks_around(&String::from_utf8_lossy(bytes)) {
        lsp::serve(Options::default(), Cursor::new(bytes.to_vec()), Vec::new());
    }
}

/// The site's address for an editor.
const URI: &str = "file:///no-such-folder/site.kdl";

/// What an editor says in one session.
#[derive(Default)]
struct Session {
    said: Vec<u8>,
    requests: i32,
}

impl Session {
    fn say(&mut self, message: &Value) {
        let text = message.to_string();
        self.said.extend(format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes());
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn request(&mut self, method: &str, params: Value) {
        self.requests += 1;
        self.say(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }));
    }

    /// Asks all that can be asked where some text ends.
    fn ask(&mut self, before: &str) {
        let (document, place) = (json!({ "uri": URI }), place(before));
        let range = json!({ "start": { "line": 0, "character": 0 }, "end": place });
        let here = json!({ "textDocument": document, "position": place });
        for method in ["textDocument/completion", "textDocument/hover", "textDocument/definition"] {
            self.request(method, here.clone());
        }
        self.request("textDocument/documentSymbol", json!({ "textDocument": document }));
        let options = json!({ "tabSize": 4, "insertSpaces": true });
        self.request("textDocument/formatting", json!({ "textDocument": document, "options": options }));
        let context = json!({ "diagnostics": [] });
        self.request(
            "textDocument/codeAction",
            json!({ "textDocument": document, "range": range, "context": context }),
        );
    }

    /// Says it all, and looks at the answers.
    fn play(self, text: &str) {
        let mut output = Vec::new();
        let ending = lsp::serve(Options::default(), Cursor::new(self.said), &mut output);
        assert_eq!(ending, Ending::Asked, "{text:?}");
        let heard = String::from_utf8_lossy(&output);
        let heard: Vec<&str> = heard.split("Content-Length: ").filter(|message| message.contains("\"id\":")).collect();
        assert_eq!(heard.len(), self.requests as usize, "{text:?}");
        // Who waits for a check when the session ends is told so.
        let failed =
            heard.iter().find(|message| message.contains("\"error\":{\"code\"") && !message.contains("-32802"));
        assert_eq!(failed, None, "{text:?}");
    }
}

/// Where a text ends: its last line, and the UTF-16 units before the end of that line.
fn place(text: &str) -> Value {
    let normal = text.replace("\r\n", "\n").replace('\r', "\n");
    let line = normal.matches('\n').count();
    let last = normal.rsplit('\n').next().unwrap_or_default();
    json!({ "line": line, "character": last.encode_utf16().count() })
}

#[cfg(test)]
mod tests;
