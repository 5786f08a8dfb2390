//! A record as it waits in a queue: owned, compact, not formatted yet.
//!
//! Making one happens on the thread of a request and must stay cheap; everything that costs (masking, escaping,
//! formatting) is left to the thread that writes.

use std::fmt::{Arguments, Write};
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use slog::KV;

use super::feature::{Feature, Level};
use super::router::ApiRecord;

/// How many bytes of text one record may hold; what is longer is cut and says so.
pub(super) const TEXT_LIMIT: usize = 64 << 10;

/// What a queue counts for a record beside its text, in bytes.
const FIXED_WEIGHT: usize = 256;

/// One record, owned.
pub(super) struct Entry {
    /// When it was made.
    pub(super) time: SystemTime,
    /// How grave it is.
    pub(super) level: Level,
    /// What it is about.
    pub(super) feature: Feature,
    /// What it says.
    pub(super) body: Body,
}

/// What a record says.
pub(super) enum Body {
    /// A request answered.
    Api(ApiEntry),
    /// Anything else.
    Event(Event),
}

/// A request answered; its four texts lie behind each other in one piece of memory.
pub(super) struct ApiEntry {
    text: Box<str>,
    ends: [usize; 3],
    /// The status sent.
    pub(super) status: u16,
    /// Bytes of the body.
    pub(super) bytes: u64,
    /// From the head's arrival to the answer.
    pub(super) duration: Duration,
    /// How long it waited for a runspace.
    pub(super) waited: Duration,
    /// The client.
    pub(super) remote: IpAddr,
}

/// A message with fields.
pub(super) struct Event {
    /// The constant text.
    pub(super) message: Value,
    /// The fields: those of the record first, then those of its loggers from the innermost out.
    pub(super) fields: Vec<(&'static str, Value)>,
    room: usize,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A whole number.
    Signed(i64),
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
    /// Text.
    Text(String),
    /// The beginning of a text that was too long; it may end in the middle of a secret.
    Cut(String),
    /// JSON, complete and valid, as a serialised value gave it.
    Json(String),
}

impl Entry {
    /// The record of a request answered.
    pub(super) fn api(record: &ApiRecord<'_>) -> Self {
        let parts = [record.method, record.path, record.route, record.id].map(|part| cut(part, TEXT_LIMIT / 4));
        let mut text = String::with_capacity(parts.iter().map(|part| part.len()).sum());
        let mut ends = [0; 3];
        for (index, part) in parts.iter().enumerate() {
            text.push_str(part);
            if let Some(end) = ends.get_mut(index) {
                *end = text.len();
            }
        }
        let body = Body::Api(ApiEntry {
            text: text.into_boxed_str(),
            ends,
            status: record.status,
            bytes: record.bytes,
            duration: record.duration,
            waited: record.waited,
            remote: record.remote,
        });
        Self { time: SystemTime::now(), level: record.level(), feature: Feature::Api, body }
    }

    /// A record of slog with the fields of its logger.
    pub(super) fn event(feature: Feature, record: &slog::Record<'_>, context: &slog::OwnedKVList) -> Self {
        let mut event = Event { message: Value::Null, fields: Vec::new(), room: TEXT_LIMIT };
        event.message = event.text(record.msg());
        let mut fields = Fields { event: &mut event, start: 0 };
        // slog hands over the newest pair first; a value that cannot be serialised leaves its field out, never the record.
        drop(record.kv().serialize(record, &mut fields));
        fields.turn();
        drop(context.serialize(record, &mut fields));
        fields.turn();
        Self { time: SystemTime::now(), level: record.level().into(), feature, body: Body::Event(event) }
    }

    /// A record of the logging itself.
    pub(super) fn own(level: Level, message: &str, fields: Vec<(&'static str, Value)>) -> Self {
        let event = Event { message: Value::Text(message.to_owned()), fields, room: TEXT_LIMIT };
        Self { time: SystemTime::now(), level, feature: Feature::Server, body: Body::Event(event) }
    }

    /// The endpoint it belongs to; empty when it belongs to none.
    pub(super) fn endpoint(&self) -> &str {
        match &self.body {
            Body::Api(api) => api.route(),
            Body::Event(event) => event.endpoint(),
        }
    }

    /// About how many bytes it holds.
    pub(super) fn weight(&self) -> usize {
        FIXED_WEIGHT
            + match &self.body {
                Body::Api(api) => api.text.len(),
                Body::Event(event) => TEXT_LIMIT.saturating_sub(event.room),
            }
    }
}

impl ApiEntry {
    fn part(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        let end = self.ends.get(index).copied().unwrap_or(self.text.len());
        &self.text[start..end]
    }

    /// The method.
    pub(super) fn method(&self) -> &str {
        self.part(0)
    }

    /// The path as sent.
    pub(super) fn path(&self) -> &str {
        self.part(1)
    }

    /// The endpoint's pattern; empty when none matched.
    pub(super) fn route(&self) -> &str {
        self.part(2)
    }

    /// The request id.
    pub(super) fn id(&self) -> &str {
        self.part(3)
    }
}

impl Event {
    fn endpoint(&self) -> &str {
        let found = self.fields.iter().find(|(key, _)| *key == "endpoint");
        match found {
            Some((_, Value::Text(text))) => text,
            _ => "",
        }
    }

    /// Formats into what room is left; stops formatting when there is none.
    fn text(&mut self, arguments: &Arguments<'_>) -> Value {
        let mut bounded = Bounded { text: String::new(), room: self.room };
        let whole = bounded.write_fmt(*arguments).is_ok();
        self.room -= bounded.text.len();
        if whole { Value::Text(bounded.text) } else { Value::Cut(bounded.text) }
    }
}

/// Takes text up to a limit; beyond it is an error, which ends the formatting.
struct Bounded {
    text: String,
    room: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let fits = cut(text, self.room - self.text.len());
        self.text.push_str(fits);
        if fits.len() == text.len() { Ok(()) } else { Err(std::fmt::Error) }
    }
}

/// The longest beginning of `text` that has at most `limit` bytes and ends between characters.
fn cut(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Collects fields from slog.
struct Fields<'e> {
    event: &'e mut Event,
    start: usize,
}

impl Fields<'_> {
    /// Puts what came since the last turn into the order in which it was written.
    fn turn(&mut self) {
        if let Some(new) = self.event.fields.get_mut(self.start..) {
            new.reverse();
        }
        self.start = self.event.fields.len();
    }

    fn push(&mut self, key: slog::Key, value: Value) -> slog::Result {
        self.event.fields.push((key, value));
        Ok(())
    }
}

/// Declares methods that take a number as it is.
macro_rules! emit {
    ($($method:ident($type:ty) $variant:ident;)*) => {
        $(fn $method(&mut self, key: slog::Key, value: $type) -> slog::Result {
            self.push(key, Value::$variant(value.into()))
        })*
    };
}

impl slog::Serializer for Fields<'_> {
    emit! {
        emit_bool(bool) Boolean;
        emit_u8(u8) Unsigned;
        emit_u16(u16) Unsigned;
        emit_u32(u32) Unsigned;
        emit_u64(u64) Unsigned;
        emit_i8(i8) Signed;
        emit_i16(i16) Signed;
        emit_i32(i32) Signed;
        emit_i64(i64) Signed;
        emit_f32(f32) Float;
        emit_f64(f64) Float;
    }

    fn emit_usize(&mut self, key: slog::Key, value: usize) -> slog::Result {
        self.push(key, Value::Unsigned(value as u64))
    }

    fn emit_isize(&mut self, key: slog::Key, value: isize) -> slog::Result {
        self.push(key, Value::Signed(value as i64))
    }

    fn emit_unit(&mut self, key: slog::Key) -> slog::Result {
        self.push(key, Value::Null)
    }

    fn emit_none(&mut self, key: slog::Key) -> slog::Result {
        self.push(key, Value::Null)
    }

    fn emit_arguments(&mut self, key: slog::Key, value: &Arguments<'_>) -> slog::Result {
        let text = self.event.text(value);
        self.push(key, text)
    }

    fn emit_serde(&mut self, key: slog::Key, value: &dyn slog::SerdeValue) -> slog::Result {
        let Ok(json) = serde_json::to_string(value.as_serde()) else {
            return self.push(key, Value::Null);
        };
        if json.len() > self.event.room {
            return self.emit_arguments(key, &format_args!("{json}"));
        }
        self.event.room -= json.len();
        self.push(key, Value::Json(json))
    }
}
