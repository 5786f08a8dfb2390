//! An editor: starts `moondock lsp`, says what it is told to say, and keeps what comes back.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::PATIENCE;
use super::program::command;

/// An editor with its language server. Dropping it ends the server.
pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    incoming: Receiver<Value>,
    /// What came and nobody has asked for yet.
    unread: VecDeque<Value>,
    folder: PathBuf,
    requests: i32,
}

impl Editor {
    /// Starts the server in a folder, and says nothing yet.
    pub(crate) fn silent(folder: &Path) -> Self {
        Self::with(folder, &[])
    }

    /// Starts the server with arguments, and says nothing yet.
    pub(crate) fn with(folder: &Path, arguments: &[&str]) -> Self {
        let mut child = command(folder, &[&["lsp"], arguments].concat(), &[])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the program can be started");
        let (sender, incoming) = channel();
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, incoming, unread: VecDeque::new(), folder: folder.to_path_buf(), requests: 0 }
    }

    /// Starts the server and greets it as a client that can do this.
    pub(crate) fn start(folder: &Path, capabilities: &Value) -> Self {
        let mut editor = Self::silent(folder);
        editor.request("initialize", json!({ "processId": null, "rootUri": null, "capabilities": capabilities }));
        editor.notify("initialized", json!({}));
        editor
    }

    /// The address of a file of the folder.
    pub(crate) fn uri(&self, name: &str) -> String {
        format!("file://{}/{name}", self.folder.display())
    }

    /// Writes bytes as they are. A server that has gone is found out by what it does not answer.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        if let Some(input) = &mut self.input {
            drop(input.write_all(bytes).and_then(|()| input.flush()));
        }
    }

    /// Sends a message.
    pub(crate) fn send(&mut self, message: &Value) {
        let framed = framed(message);
        self.write(&framed);
    }

    /// Tells something.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Asks something, and does not wait; gives the number of the request.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i32 {
        self.requests += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params }));
        self.requests
    }

    /// The answer to a request: its result, or the whole message when it is an error.
    pub(crate) fn answer(&mut self, id: i32) -> Value {
        let message = self.wait(|message| message["id"] == id && message.get("method").is_none());
        message.get("result").cloned().unwrap_or(message)
    }

    /// Asks something, and waits for the answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.answer(id)
    }
    /// Asks about a place of a file.
    pub(crate) fn at(&mut self, method: &str, name: &str, (line, character): (u32, u32)) -> Value {
        let position = json!({ "line": line, "character": character });
        self.request(method, json!({ "textDocument": { "uri": self.uri(name) }, "position": position }))
    }

    /// Opens a file with a text.
    pub(crate) fn open(&mut self, name: &str, text: &str) {
        let item = json!({ "uri": self.uri(name), "languageId": "kdl", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    /// Changes all of an open text.
    pub(crate) fn change(&mut self, name: &str, version: i32, text: &str) {
        self.edit(name, version, json!([{ "text": text }]));
    }

    /// Changes parts of an open text.
    pub(crate) fn edit(&mut self, name: &str, version: i32, edits: Value) {
        let text = json!({ "uri": self.uri(name), "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": text, "contentChanges": edits }));
    }

    /// Waits for the findings of this version of an open text; `None` stands for a file that is not open.
    pub(crate) fn findings(&mut self, name: &str, version: Option<i32>) -> Vec<Value> {
        let uri = self.uri(name);
        let told = self.wait(|message| {
            let params = &message["params"];
            message["method"] == "textDocument/publishDiagnostics"
                && params["uri"] == uri
                && params["version"] == json!(version)
        });
        told["params"]["diagnostics"].as_array().expect("findings are a list").clone()
    }

    /// Waits for the codes of the findings of this version of an open text.
    pub(crate) fn codes(&mut self, name: &str, version: i32) -> Vec<String> {
        let code = |found: &Value| found["code"].as_str().expect("a finding has a code").to_owned();
        self.findings(name, Some(version)).iter().map(code).collect()
    }

    /// Waits for a message, and takes it out.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.unread.iter().position(&wanted) {
                return self.unread.remove(at).expect("it is there");
            }
            let left = give_up.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(message) => self.unread.push_back(message),
                Err(error) => panic!("{error}; what came is {:?}", self.unread),
            }
        }
    }

    /// How many messages came that nobody has asked for.
    pub(crate) fn unread(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.unread.iter().filter(|message| wanted(message)).count()
    }

    /// Says nothing more, and waits until the server has ended.
    pub(crate) fn hang_up(mut self) -> ExitStatus {
        drop(self.input.take());
        // Its output ends with it; a server that stays is found out by the time it takes.
        let give_up = Instant::now() + PATIENCE;
        while self.incoming.recv_timeout(give_up.saturating_duration_since(Instant::now())).is_ok() {}
        assert!(Instant::now() < give_up, "it does not end");
        self.child.wait().expect("a child can be waited for")
    }

    /// Asks for the end and the exit, as editors do, and waits.
    pub(crate) fn quit(mut self) -> ExitStatus {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        self.hang_up()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A message with its header.
pub(crate) fn framed(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

/// The next message; `None` at the end.
fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => length = line.strip_prefix("Content-Length: ")?.parse().ok()?,
        }
    }
    let mut bytes = vec![0; length];
    output.read_exact(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}
