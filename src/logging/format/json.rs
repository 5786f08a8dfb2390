//! `format=json`: one object a line.

use super::{Shown, Style, each_field, escape, message, timestamp};
use crate::logging::record::Entry;

/// The members that every record has; a field of the same name gets an underscore behind it.
const OWN: [&str; 4] = ["time", "level", "feature", "message"];

pub(super) fn write(style: &Style, entry: &Entry, out: &mut String) {
    out.push_str("{\"time\":");
    escape::quoted(&timestamp(entry.time), out);
    out.push_str(",\"level\":");
    escape::quoted(entry.level.name(), out);
    out.push_str(",\"feature\":");
    escape::quoted(entry.feature.name(), out);
    out.push_str(",\"message\":");
    escape::quoted(&message(&style.mask, entry), out);
    let mut seen: Vec<String> = OWN.map(str::to_owned).to_vec();
    each_field(&style.mask, entry, &mut |name, value| {
        let name = free_name(name, &mut seen);
        out.push(',');
        escape::quoted(&name, out);
        out.push(':');
        match value {
            Shown::Literal(text) => out.push_str(&text),
            Shown::Text(text) => escape::quoted(&text, out),
            Shown::Json(value) => tree(&value, out),
        }
    });
    out.push('}');
}

/// The name, with underscores behind it until no member of the object is called so.
fn free_name(name: &str, seen: &mut Vec<String>) -> String {
    let mut name = name.to_owned();
    while seen.contains(&name) {
        name.push('_');
    }
    seen.push(name.clone());
    name
}

/// Writes a JSON value with the log's own escapes. Its depth is bounded: it was parsed, and the parser has a limit.
fn tree(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::String(text) => escape::quoted(text, out),
        serde_json::Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                tree(item, out);
            }
            out.push(']');
        }
        serde_json::Value::Object(map) => {
            out.push('{');
            for (index, (name, item)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                escape::quoted(name, out);
                out.push(':');
                tree(item, out);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// A JSON value as compact text, for the formats that have no objects.
pub(super) fn compact(value: &serde_json::Value) -> String {
    let mut out = String::new();
    tree(value, &mut out);
    out
}
