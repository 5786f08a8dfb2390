//! Takes out of a record what must never be written: values of secrets, and values whose name says that they are one.
//!
//! Runs on the thread that writes. It works on text before it is escaped, so no format can hide a secret from it.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// What is written in place of a hidden value.
pub(super) const HIDDEN: &str = "***";

/// Names whose values are hidden unless a site says more; compared without case, `-` and `_`.
const NAMES: &[&str] = &[
    "accesstoken",
    "apikey",
    "authorization",
    "authtoken",
    "clientsecret",
    "cookie",
    "credentials",
    "csrftoken",
    "idtoken",
    "jwt",
    "passwd",
    "password",
    "privatekey",
    "proxyauthorization",
    "refreshtoken",
    "secret",
    "sessionid",
    "setcookie",
    "sig",
    "signature",
    "token",
    "xapikey",
    "xauthtoken",
    "xcsrftoken",
];

/// Names of headers whose value is hidden to the end of the line where a text shows them as `Name: value`.
const HEADERS: &[&str] = &["authorization", "cookie", "proxyauthorization", "setcookie", "xapikey", "xauthtoken"];

/// The longest name looked at, in bytes.
const NAME_LIMIT: usize = 64;

/// Knows what to hide.
#[derive(Default)]
pub(super) struct Mask {
    secrets: Vec<String>,
    names: BTreeSet<String>,
}

impl Mask {
    /// Hides these values wherever they stand, and the values of these names beside those that are always hidden.
    pub(super) fn new(secrets: &[String], names: &[String]) -> Self {
        let mut known = BTreeSet::new();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            known.insert(secret.clone());
            known.insert(percent_encoding::utf8_percent_encode(secret, percent_encoding::NON_ALPHANUMERIC).to_string());
            known.insert(percent_encoding::utf8_percent_encode(secret, QUERY).to_string());
            if let Ok(json) = serde_json::to_string(secret) {
                known.insert(json[1..json.len() - 1].to_owned());
            }
        }
        let mut secrets: Vec<String> = known.into_iter().collect();
        // A secret may contain another one: the longer is hidden first, else its rest would stay.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let names =
            NAMES.iter().map(|name| (*name).to_owned()).chain(names.iter().map(|name| plain_name(name))).collect();
        Self { secrets, names }
    }

    /// A text as it may be written.
    pub(super) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), HIDDEN));
            }
        }
        match self.pairs(&text) {
            Some(masked) => Cow::Owned(masked),
            None => text,
        }
    }

    /// Like [`Mask::text`], for a text that was cut and may end inside a secret.
    pub(super) fn cut_text(&self, text: &str) -> String {
        let mut end = text.len();
        for secret in &self.secrets {
            let begun = (1..secret.len()).rev().filter(|at| secret.is_char_boundary(*at));
            if let Some(at) = begun.into_iter().find(|at| text.ends_with(&secret[..*at])) {
                end = end.min(text.len() - at);
            }
        }
        format!("{}…", self.text(&text[..end]))
    }

    /// Hides inside a JSON value, at any depth.
    pub(super) fn json(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            serde_json::Value::Object(map) => {
                for (name, item) in map.iter_mut() {
                    if self.hides(name) {
                        *item = serde_json::Value::String(HIDDEN.to_owned());
                    } else {
                        self.json(item);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether values of this name are hidden.
    pub(super) fn hides(&self, name: &str) -> bool {
        name.len() <= NAME_LIMIT && self.names.contains(&plain_name(name))
    }

    /// Hides the values of `name=value`, `"name": value` and of headers shown as `Name: value`; `None` when there are none.
    fn pairs(&self, text: &str) -> Option<String> {
        let mut masked: Option<String> = None;
        let mut copied = 0;
        let mut from = 0;
        while let Some(sign) = text[from..].find(['=', ':']).map(|at| from + at) {
            from = sign + 1;
            let Some(value) = self.value_after(text, sign) else {
                continue;
            };
            let out = masked.get_or_insert_with(String::new);
            out.push_str(&text[copied..value.start]);
            out.push_str(HIDDEN);
            copied = value.end;
            from = from.max(value.end);
        }
        let mut masked = masked?;
        masked.push_str(&text[copied..]);
        Some(masked)
    }

    /// The value behind the sign at `sign` when the name before it says that it is hidden.
    fn value_after(&self, text: &str, sign: usize) -> Option<std::ops::Range<usize>> {
        let before = text[..sign].trim_end_matches(' ');
        let quoted = before.ends_with(['"', '\'']);
        let before = before.trim_end_matches(['"', '\'', '\\', ']']);
        let start = before
            .rfind(|c: char| !is_name(c))
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        let name = &before[start..];
        if name.is_empty() || !self.hides(name) {
            return None;
        }
        let equals = text.as_bytes().get(sign) == Some(&b'=');
        let header = HEADERS.contains(&plain_name(name).as_str());
        // `token: unexpected` is a sentence; `"token": …` and `Cookie: …` are not.
        if !(equals || quoted || header) {
            return None;
        }
        let rest = &text[sign + 1..];
        let value = sign + 1 + (rest.len() - rest.trim_start_matches(' ').len());
        let end = value + value_length(&text[value..], header && !quoted);
        (end > value).then_some(value..end)
    }
}

/// What stays as it is in a query by the URL standard's own percent-encoding.
const QUERY: &percent_encoding::AsciiSet =
    &percent_encoding::NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

/// A name without case, dashes and underscores.
fn plain_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase()).collect()
}

/// How many bytes of `text` are the value: a quoted string, the rest of a header line, or up to the next separator.
fn value_length(text: &str, header: bool) -> usize {
    if header {
        return text.find(['\r', '\n']).unwrap_or(text.len());
    }
    match text.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted_length(text, quote),
        _ => text
            .find(|c: char| c.is_whitespace() || matches!(c, '&' | ';' | '#' | ',' | '}' | ']' | '"'))
            .unwrap_or(text.len()),
    }
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask() -> Mask {
        Mask::new(
            &["s3cr/et \"x\"".to_owned(), "abc".to_owned(), "abcdef".to_owned(), String::new()],
            &["pin_code".to_owned()],
        )
    }

    #[test]
    fn secrets_in_every_spelling() {
        let mask = mask();
        for (text, expected) in [
            ("key s3cr/et \"x\" used", "key *** used"),
            ("/p/s3cr%2Fet%20%22x%22", "/p/***"),
            ("{\"k\":\"s3cr/et \\\"x\\\"\"}", "{\"k\":\"***\"}"),
            ("abcdef abc ab", "*** *** ab"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(mask.text(text), expected);
        }
    }

    #[test]
    fn values_by_their_name() {
        let mask = mask();
        for (text, expected) in [
            ("/a?x=1&token=T1&y=2", "/a?x=1&token=***&y=2"),
            ("/a?Access_Token=T1#f", "/a?Access_Token=***#f"),
            ("PIN-CODE=1234", "PIN-CODE=***"),
            ("Authorization: Bearer T1 T2\nHost: x", "Authorization: ***\nHost: x"),
            ("cookie: a=1; b=2", "cookie: ***"),
            (r#"{"password": "a\"b", "x": 1}"#, r#"{"password": ***, "x": 1}"#),
            (r#"{"api-key":"k"}"#, r#"{"api-key":***}"#),
            ("password = 'a b' end", "password = *** end"),
            ("unexpected token: end", "unexpected token: end"),
            ("a=b: c=", "a=b: c="),
            ("é=1 token=é", "é=1 token=***"),
            ("token=", "token="),
        ] {
            assert_eq!(mask.text(text), expected, "{text}");
        }
        assert!(mask.hides("Set-Cookie"));
        assert!(!mask.hides("note"));
    }

    #[test]
    fn json_at_any_depth() {
        let mut value =
            serde_json::json!({ "user": { "password": ["a"], "name": "abcdef" }, "list": [{ "token": 7 }, 1] });
        mask().json(&mut value);
        assert_eq!(
            value,
            serde_json::json!({ "user": { "password": "***", "name": "***" }, "list": [{ "token": "***" }, 1] })
        );
    }

    #[test]
    fn a_cut_text_never_ends_inside_a_secret() {
        assert_eq!(mask().cut_text("value abcde"), "value …");
        assert_eq!(mask().cut_text("value s3cr/"), "value …");
        assert_eq!(mask().cut_text("value"), "value…");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail(text in "\\PC{0,40}[=:\"'é ]{0,3}(token|cookie)?[=: \"'\\\\]{0,4}\\PC{0,20}") {
            let mask = mask();
            let masked = mask.text(&text);
            proptest::prop_assert!(!masked.contains("abc"));
            mask.cut_text(&text);
        }
    }
}
