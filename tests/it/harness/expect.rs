//! What a case expects of an answer or a log record, and how a difference is told.

use regex::Regex;
use serde_json::Value;

use super::client::Answer;
use super::request::parse_header;

/// What a piece of text must be.
#[derive(Clone, Debug)]
pub(crate) enum Want {
    /// Exactly this.
    Exact(Vec<u8>),
    /// Something this pattern finds.
    Matches(Regex),
    /// Something with this inside.
    Contains(String),
    /// JSON of this value; `"…"` in it stands for any value.
    Json(Value),
    /// Not there at all.
    Absent,
}

impl Want {
    /// Reads a cell or header value: `/pattern/`, `-` for absent, else the exact text.
    ///
    /// # Errors
    /// A pattern that is none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "-" {
            return Ok(Self::Absent);
        }
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')) {
            Some(pattern) if !pattern.is_empty() => {
                Ok(Self::Matches(Regex::new(pattern).map_err(|error| error.to_string())?))
            }
            _ => Ok(Self::Exact(text.as_bytes().to_vec())),
        }
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// Text that is no JSON.
    pub(crate) fn json(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map(Self::Json).map_err(|error| format!("the expected JSON: {error}"))
    }

    /// What is different about `got`; nothing when it is as wanted.
    fn difference(&self, got: Option<&[u8]>) -> Option<String> {
        let (Some(got), wanted) = (got, self) else {
            return (!matches!(self, Self::Absent)).then(|| format!("wants {}, got nothing", self.describe()));
        };
        let text = String::from_utf8_lossy(got);
        let fits = match wanted {
            Self::Exact(want) => want == got,
            Self::Matches(pattern) => pattern.is_match(&text),
            Self::Contains(part) => text.contains(part.as_str()),
            Self::Json(want) => serde_json::from_slice(got).is_ok_and(|got: Value| same(want, &got)),
            Self::Absent => false,
        };
        (!fits).then(|| format!("wants {}, got {:?}", wanted.describe(), shorten(&text)))
    }

    fn describe(&self) -> String {
        match self {
            Self::Exact(bytes) => format!("{:?}", shorten(&String::from_utf8_lossy(bytes))),
            Self::Matches(pattern) => format!("/{pattern}/"),
            Self::Contains(part) => format!("something with {part:?}"),
            Self::Json(value) => value.to_string(),
            Self::Absent => "nothing".to_string(),
        }
    }
}

/// What an answer must be; what is not said is not looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expected {
    /// The status.
    pub(crate) status: Option<u16>,
    /// Headers, names in lower case.
    pub(crate) headers: Vec<(String, Want)>,
    /// Headers whose value is kept under a name, for later requests of the case.
    pub(crate) kept: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Option<Want>,
    /// It answers a HEAD request: no body follows, whatever its length says.
    pub(crate) to_head: bool,
    /// The server closes the connection behind it.
    pub(crate) then_closed: bool,
}

impl Expected {
    /// Reads a status line, header lines, and behind an empty line the body in the way that the marks say.
    ///
    /// # Errors
    /// What cannot be read.
    pub(crate) fn parse(text: &str, marks: &[&str]) -> Result<Self, String> {
        let (head, body) = match text.split_once("\n\n") {
            Some((head, body)) => (head, Some(body)),
            None => (text.trim_end_matches('\n'), text.ends_with('\n').then_some("")),
        };
        let mut lines = head.lines();
        let mut expected = Self { status: status_wanted(lines.next().unwrap_or_default())?, ..Self::default() };
        for line in lines {
            let (name, value) = parse_header(line)?;
            let name = name.to_ascii_lowercase();
            match value.strip_prefix("<<").and_then(|rest| rest.strip_suffix(">>")) {
                Some(keep) => expected.kept.push((name, keep.to_string())),
                None => expected.headers.push((name, Want::parse(&value)?)),
            }
        }
        expected.body = body.map(|body| body_wanted(body, marks)).transpose()?;
        expected.to_head = marks.contains(&"head");
        expected.then_closed = marks.contains(&"closed");
        Ok(expected)
    }

    /// Everything about an answer that is not as expected.
    pub(crate) fn differences(&self, got: &Answer) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(want) = self.status.filter(|want| *want != got.status) {
            found.push(format!("status wants {want}, got {} {:?}", got.status, shorten(&got.text())));
        }
        for (name, want) in &self.headers {
            found.extend(
                want.difference(header_values(got, name).as_deref().map(str::as_bytes))
                    .map(|what| format!("header {name} {what}")),
            );
        }
        found.extend(
            self.body.as_ref().and_then(|want| want.difference(Some(&got.body))).map(|what| format!("body {what}")),
        );
        found
    }
}

/// Reads a status; `any` is every one.
fn status_wanted(text: &str) -> Result<Option<u16>, String> {
    match text {
        "any" => Ok(None),
        _ => text.parse().map(Some).map_err(|_| format!("{text:?} is no status")),
    }
}

fn body_wanted(body: &str, marks: &[&str]) -> Result<Want, String> {
    let known = |mark: &&&str| matches!(**mark, "json" | "matches" | "contains" | "escapes");
    match marks.iter().find(known) {
        Some(&"json") => Want::json(body),
        Some(&"matches") => Regex::new(body.trim()).map(Want::Matches).map_err(|error| error.to_string()),
        Some(&"contains") => Ok(Want::Contains(body.trim().to_string())),
        Some(_) => super::request::unescape(body).map(Want::Exact),
        None => Ok(Want::Exact(body.as_bytes().to_vec())),
    }
}

/// The values of a header, of several lines joined by a comma as HTTP says.
fn header_values(answer: &Answer, name: &str) -> Option<String> {
    let values: Vec<&str> =
        answer.headers.iter().filter(|(have, _)| have == name).map(|(_, value)| value.as_str()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Whether a value is the wanted one, `"…"` standing for any.
fn same(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::String(any), _) if any == "…" => true,
        (Value::Object(want), Value::Object(got)) => {
            want.len() == got.len() && want.iter().all(|(key, value)| got.get(key).is_some_and(|got| same(value, got)))
        }
        (Value::Array(want), Value::Array(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got))
        }
        _ => want == got,
    }
}

/// Whether a log line is as one of a case: JSON whose fields are all in the record (texts as `/patterns/` or exact),
/// or text that the line has inside.
pub(crate) fn log_line_fits(want: &str, line: &str) -> bool {
    let Ok(Value::Object(want)) = serde_json::from_str::<Value>(want) else {
        return line.contains(want);
    };
    let Ok(Value::Object(got)) = serde_json::from_str::<Value>(line) else {
        return false;
    };
    want.iter().all(|(key, want)| got.get(key).is_some_and(|got| field_fits(want, got)))
}

fn field_fits(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::String(text), Value::String(got)) => {
            Want::parse(text).is_ok_and(|want| want.difference(Some(got.as_bytes())).is_none())
        }
        _ => same(want, got),
    }
}

/// Text short enough to be read in a failure.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_string(),
    }
}
