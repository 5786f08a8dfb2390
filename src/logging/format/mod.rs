//! How a record becomes one line. A format only writes text; what must not be written is taken out on the way.

mod escape;
mod json;
mod logfmt;
mod pretty;

use std::sync::Arc;
use std::time::SystemTime;

use super::feature::one_of;
use super::mask::Mask;
use super::record::{Body, Entry, Value};
use crate::kdl::scalar::{Bad, Plain, Scalar};

/// The form of the lines of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For people: time, level, feature, message, then fields.
    #[default]
    Pretty,
    /// `key=value` pairs.
    Logfmt,
    /// One JSON object.
    Json,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Pretty, Self::Logfmt, Self::Json];

    /// Its name in the language.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Logfmt => "logfmt",
            Self::Json => "json",
        }
    }
}

impl Scalar for Format {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let named = |name: &str| Self::ALL.into_iter().find(|format| format.name() == name);
        one_of(value, "format", named, || Self::ALL.iter().map(|it| it.name()).collect())
    }
}

/// How the records of one target look.
pub(super) struct Style {
    /// The form.
    pub(super) format: Format,
    /// Whether `pretty` may use colours.
    pub(super) coloured: bool,
    /// What is hidden.
    pub(super) mask: Arc<Mask>,
}

impl Style {
    /// Appends the record as one line with its line break.
    pub(super) fn write(&self, entry: &Entry, out: &mut String) {
        match self.format {
            Format::Pretty => pretty::write(self, entry, out),
            Format::Logfmt => logfmt::write(self, entry, out),
            Format::Json => json::write(self, entry, out),
        }
        out.push('\n');
    }
}

/// A value as it may be written.
enum Shown {
    /// Null, a truth value or a number, in JSON's spelling (which is everybody's).
    Literal(String),
    /// Text, masked but not escaped.
    Text(String),
    /// JSON, masked.
    Json(serde_json::Value),
}

/// The message of a record, masked but not escaped.
fn message(mask: &Mask, entry: &Entry) -> String {
    match &entry.body {
        Body::Api(_) => "answered".to_owned(),
        Body::Event(event) => match &event.message {
            Value::Text(text) => mask.text(text).into_owned(),
            Value::Cut(text) => mask.cut_text(text),
            _ => String::new(),
        },
    }
}

/// Every field of a record, masked, in order.
fn each_field(mask: &Mask, entry: &Entry, each: &mut dyn FnMut(&str, Shown)) {
    match &entry.body {
        Body::Api(api) => {
            for (name, text) in [("method", api.method()), ("path", api.path()), ("route", api.route())] {
                each(name, Shown::Text(mask.text(text).into_owned()));
            }
            each("status", Shown::Literal(api.status.to_string()));
            each("bytes", Shown::Literal(api.bytes.to_string()));
            each("duration_ms", Shown::Literal(milliseconds(api.duration)));
            each("wait_ms", Shown::Literal(milliseconds(api.waited)));
            each("remote", Shown::Text(api.remote.to_string()));
            each("request", Shown::Text(api.id().to_owned()));
        }
        Body::Event(event) => {
            for (name, value) in &event.fields {
                each(name, shown(mask, name, value));
            }
        }
    }
}

fn shown(mask: &Mask, name: &str, value: &Value) -> Shown {
    if mask.hides(name) {
        return Shown::Text(super::mask::HIDDEN.to_owned());
    }
    match value {
        Value::Null => Shown::Literal("null".to_owned()),
        Value::Boolean(value) => Shown::Literal(value.to_string()),
        Value::Signed(value) => Shown::Literal(value.to_string()),
        Value::Unsigned(value) => Shown::Literal(value.to_string()),
        Value::Float(value) if value.is_finite() => Shown::Literal(value.to_string()),
        Value::Float(value) => Shown::Text(value.to_string()),
        Value::Text(text) if name == FIELDS && text.starts_with('{') => parsed(mask, text),
        Value::Text(text) => Shown::Text(mask.text(text).into_owned()),
        Value::Cut(text) => Shown::Text(mask.cut_text(text)),
        Value::Json(text) => parsed(mask, text),
    }
}

/// The field whose value, a JSON object, holds the fields that a script gave.
const FIELDS: &str = "fields";

fn parsed(mask: &Mask, text: &str) -> Shown {
    match serde_json::from_str(text) {
        Ok(mut value) => {
            mask.json(&mut value);
            Shown::Json(value)
        }
        Err(_) => Shown::Text(mask.text(text).into_owned()),
    }
}

/// A span of time in milliseconds with microseconds behind the point.
fn milliseconds(span: std::time::Duration) -> String {
    format!("{}.{:03}", span.as_millis(), span.subsec_micros() % 1000)
}

/// A moment as RFC 3339 in UTC with milliseconds.
fn timestamp(time: SystemTime) -> String {
    match jiff::Timestamp::try_from(time) {
        Ok(timestamp) => format!("{timestamp:.3}"),
        Err(_) => "-".to_owned(),
    }
}
