//! `format=pretty`: for people. Time, level, feature, message, then the fields; coloured only where the target says so.

use super::{Style, escape, logfmt, message, timestamp};
use crate::logging::feature::Level;
use crate::logging::record::{ApiEntry, Body, Entry};

/// Ends every colour.
const PLAIN: &str = "\u{1b}[0m";
/// For what is beside the point.
const DIM: &str = "\u{1b}[2m";

pub(super) fn write(style: &Style, entry: &Entry, out: &mut String) {
    let time = timestamp(entry.time).replace('T', " ");
    paint(style, DIM, &time, out);
    out.push(' ');
    paint(style, colour(entry.level), &format!("{:<8}", entry.level.name()), out);
    out.push(' ');
    paint(style, DIM, &format!("{:<11}", entry.feature.name()), out);
    out.push(' ');
    match &entry.body {
        Body::Api(api) => request(style, entry, api, out),
        Body::Event(_) => event(style, entry, out),
    }
}

fn event(style: &Style, entry: &Entry, out: &mut String) {
    escape::plain(&message(&style.mask, entry), out);
    pairs(style, entry, &[], out);
}

/// A request reads as `GET /hello 200`, then what may be left out.
fn request(style: &Style, entry: &Entry, api: &ApiEntry, out: &mut String) {
    escape::plain(api.method(), out);
    out.push(' ');
    escape::plain(&style.mask.text(api.path()), out);
    out.push(' ');
    paint(style, colour(entry.level), &api.status.to_string(), out);
    let mut hidden = vec!["method", "path", "status"];
    if api.route() == api.path() || api.route().is_empty() {
        hidden.push("route");
    }
    if api.waited.is_zero() {
        hidden.push("wait_ms");
    }
    pairs(style, entry, &hidden, out);
}

fn pairs(style: &Style, entry: &Entry, hidden: &[&str], out: &mut String) {
    let mut text = String::new();
    logfmt::fields(&style.mask, entry, &mut |name, value| {
        if !hidden.contains(&name) {
            logfmt::pair(name, value, &mut text);
        }
    });
    if !text.is_empty() {
        out.push(' ');
        paint(style, DIM, &text, out);
    }
}

fn paint(style: &Style, colour: &str, text: &str, out: &mut String) {
    if !style.coloured {
        out.push_str(text);
        return;
    }
    out.push_str(colour);
    out.push_str(text);
    out.push_str(PLAIN);
}

fn colour(level: Level) -> &'static str {
    match level {
        Level::Trace | Level::Debug | Level::Off => DIM,
        Level::Info => "\u{1b}[32m",
        Level::Warning => "\u{1b}[33m",
        Level::Error => "\u{1b}[31m",
        Level::Critical => "\u{1b}[1;31m",
    }
}
