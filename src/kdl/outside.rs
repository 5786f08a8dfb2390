//! Values from outside: what `(env)`, `(file)` and `(secret)` stand for, and what is said when it is not there.
//!
//! A value from outside is never shown: it may be a secret.

use crate::diag::{Diagnostic, codes};

use super::reader::{Found, Reader, with_help};
use super::scalar::Plain;
use super::schema::ValueSpec;
use super::suggest;
use super::tree::{Entry, Word};
use super::values;

impl<'a> Reader<'a> {
    /// The value that an annotated one stands for.
    pub(super) fn outside(&self, note: &Word, found: &Found<'a>) -> Option<Plain> {
        let Plain::Text(name) = &found.entry.value else {
            return None;
        };
        let text = match &*note.text {
            "env" => {
                self.context.outside.env(name).ok_or_else(|| format!("the environment variable `{name}` is not set"))
            }
            "file" => self.context.outside.file(self.document.file(), name),
            "secret" => return self.secret(name, note, found),
            _ => return None,
        };
        match text {
            Ok(text) => self.converted(&text, note, found),
            Err(why) => self.absent(&why, found),
        }
    }

    fn secret(&self, name: &str, note: &Word, found: &Found<'a>) -> Option<Plain> {
        if let Some(text) = self.context.outside.secret(name) {
            return self.converted(&text, note, found);
        }
        let names = self.context.outside.secret_names();
        if self.context.outside.absence_told(name) {
            return None;
        }
        if names.iter().any(|known| known == name) {
            return self.absent(&format!("the secret `{name}` has no value"), found);
        }
        if self.context.outside.secrets_complete() {
            let message = format!("there is no secret named `{name}`");
            let diagnostic = Diagnostic::new(&codes::NAME_UNKNOWN, message, self.at(found.entry.at), "not declared");
            let help = suggest::help(name, names.iter().map(String::as_str));
            let diagnostic =
                diagnostic.help(help.unwrap_or_else(|| format!("declare it: secrets {{ {name} (env)… }}")));
            let meant = suggest::certain(name, names.iter().map(String::as_str));
            self.report(suggest::in_place(diagnostic, self.at(found.entry.at), meant));
        }
        None
    }

    /// What to take when the value is not there: the default, nothing when that is allowed; else it is a mistake.
    fn absent(&self, why: &str, found: &Found<'a>) -> Option<Plain> {
        let beside = |key: &str| found.node.and_then(|node| node.property(key));
        if let Some(default) = beside("default") {
            return (!self.placed.chunk.is_faulty(default.at)).then(|| default.value.clone());
        }
        if beside("optional").is_some_and(|entry| entry.value == Plain::Boolean(true)) {
            return None;
        }
        let diagnostic = Diagnostic::new(&codes::VALUE_UNSET, why, self.at(found.entry.at), "needed here");
        self.report(diagnostic.help(match found.entry.note.as_ref().map(|note| &*note.text) {
            Some("env") => "set it, or write default=\"…\" beside it",
            Some("file") => "make the file, or write default=\"…\" beside it",
            _ => "give it a value",
        }));
        None
    }

    /// A text from outside as the type that its place asks for.
    fn converted(&self, text: &str, note: &Word, found: &Found<'a>) -> Option<Plain> {
        let Some(spec) = found.spec else {
            return Some(Plain::Text(text.to_owned()));
        };
        let plain = values::from_text(text, spec.kind);
        if values::check("", &plain, spec).is_none() {
            return Some(plain);
        }
        self.outside_value(note, found.entry, Some(spec));
        None
    }

    /// Says that a value from outside does not fit, without showing it: it may be a secret.
    pub(super) fn outside_value(&self, note: &Word, entry: &Entry, spec: Option<&ValueSpec>) {
        let name = match &entry.value {
            Plain::Text(name) => name.as_str(),
            _ => "",
        };
        let source = match &*note.text {
            "env" => "the environment variable",
            "file" => "the file",
            _ => "the secret",
        };
        let message = format!("{source} `{name}` does not hold what is needed here");
        let found = Diagnostic::new(&codes::VALUE_FORMAT, message, self.at(entry.at), "its value is wrong");
        self.report(with_help(found, spec.map(|spec| format!("it must be {}", values::wanted(spec)))));
    }
}
