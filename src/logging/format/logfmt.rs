//! `format=logfmt`: `key=value` pairs.

use super::{FIELDS, Shown, Style, each_field, escape, json, message, timestamp};
use crate::logging::mask::Mask;
use crate::logging::record::Entry;

pub(super) fn write(style: &Style, entry: &Entry, out: &mut String) {
    out.push_str("time=");
    out.push_str(&timestamp(entry.time));
    out.push_str(" level=");
    out.push_str(entry.level.name());
    out.push_str(" feature=");
    out.push_str(entry.feature.name());
    out.push_str(" message=");
    escape::word(&message(&style.mask, entry), out);
    fields(&style.mask, entry, &mut |name, value| pair(name, value, out));
}

/// Every field as a pair of name and escaped value; the members of `fields` stand beside the others.
pub(super) fn fields(mask: &Mask, entry: &Entry, each: &mut dyn FnMut(&str, &str)) {
    each_field(mask, entry, &mut |name, value| match value {
        Shown::Json(serde_json::Value::Object(map)) if name == FIELDS => {
            for (name, value) in &map {
                each(name, &member(value));
            }
        }
        Shown::Json(value) => each(name, &member(&value)),
        Shown::Literal(text) => each(name, &text),
        Shown::Text(text) => each(name, &word(&text)),
    });
}

/// Appends one pair with a blank before it.
pub(super) fn pair(name: &str, value: &str, out: &mut String) {
    out.push(' ');
    escape::name(name, out);
    out.push('=');
    out.push_str(value);
}

fn member(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => word(text),
        serde_json::Value::Array(_) | serde_json::Value::Object(_) => word(&json::compact(value)),
        other => other.to_string(),
    }
}

fn word(text: &str) -> String {
    let mut out = String::new();
    escape::word(text, &mut out);
    out
}
