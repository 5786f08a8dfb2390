//! Header lines and cookies that a script writes, checked so that nothing in them can begin another line.

use mlua::{Table, Value};

use super::api::arguments::{duration, kind, name_of, propose};
use crate::exchange::ContentType;

/// What a cookie in a table may say.
const COOKIE: [&str; 7] = ["value", "path", "domain", "max_age", "http_only", "secure", "same_site"];

/// Header lines of an answer.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Headers {
    /// The content type, if they hold one.
    pub(super) content_type: Option<String>,
    /// All others, names in lower case.
    pub(super) lines: Vec<(String, Vec<u8>)>,
}

impl Headers {
    /// Reads a table of names with values or lists of values; nil is none.
    ///
    /// # Errors
    /// A sentence that names the header which cannot be sent.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let mut headers = Self::default();
        let table = match value {
            Value::Nil => return Ok(headers),
            Value::Table(table) => table,
            other => return Err(format!("headers must be a table, not {}", kind(other))),
        };
        for pair in table.pairs::<Value, Value>() {
            let (name, value) = pair.map_err(|error| error.to_string())?;
            headers.field(&name, &value)?;
        }
        Ok(headers)
    }

    fn field(&mut self, name: &Value, value: &Value) -> Result<(), String> {
        let Value::String(text) = name else {
            return Err(format!("a header name must be a string, not {}", kind(name)));
        };
        let shown = text.to_string_lossy();
        if !is_token(&text.as_bytes()) {
            return Err(format!("header {shown:?}: the name may hold letters, digits and !#$%&'*+-.^_`|~ only"));
        }
        let name = shown.to_ascii_lowercase();
        match value {
            Value::Table(list) => list
                .clone()
                .sequence_values::<Value>()
                .try_for_each(|value| self.add(&name, &value.map_err(|error| error.to_string())?)),
            one => self.add(&name, one),
        }
    }

    /// Adds one line; `name` is a token in lower case.
    fn add(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let bytes = match value {
            Value::String(text) => text.as_bytes().to_vec(),
            Value::Integer(number) => number.to_string().into_bytes(),
            Value::Number(number) => number.to_string().into_bytes(),
            Value::Boolean(value) => value.to_string().into_bytes(),
            other => {
                return Err(format!(
                    "header {name:?}: the value must be a string, a number or a list of them, not {}",
                    kind(other)
                ));
            }
        };
        self.line(name, bytes)
    }

    /// Adds one line of bytes.
    ///
    /// # Errors
    /// They hold a control character.
    pub(super) fn line(&mut self, name: &str, value: Vec<u8>) -> Result<(), String> {
        if value.iter().any(|byte| is_control(*byte)) {
            return Err(format!("header {name:?}: the value holds a line break or another control character"));
        }
        if name != "content-type" {
            self.lines.push((name.to_owned(), value));
            return Ok(());
        }
        let text = String::from_utf8(value).map_err(|_| format!("header {name:?}: the value is not valid UTF-8"))?;
        self.content_type = Some(text);
        Ok(())
    }

    /// Adds a `set-cookie` line for each cookie of a table; nil is none.
    ///
    /// # Errors
    /// A sentence that names the cookie which cannot be sent.
    pub(super) fn cookies(&mut self, value: &Value) -> Result<(), String> {
        let table = match value {
            Value::Nil => return Ok(()),
            Value::Table(table) => table,
            other => return Err(format!("cookies must be a table, not {}", kind(other))),
        };
        for pair in table.pairs::<Value, Value>() {
            let (name, value) = pair.map_err(|error| error.to_string())?;
            let shown = name_of(&name);
            let line = cookie(&name, &value).map_err(|why| format!("cookie {shown:?}: {why}"))?;
            self.lines.push(("set-cookie".to_owned(), line.into_bytes()));
        }
        Ok(())
    }
}

/// The content type of these words; the common ones without a copy.
pub(super) fn content_type(kind: String) -> ContentType {
    match kind.as_str() {
        "text/plain; charset=utf-8" => ContentType::Text,
        "text/html; charset=utf-8" => ContentType::Html,
        "application/json" => ContentType::Json,
        _ => ContentType::Other(kind),
    }
}

fn is_control(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\t') || byte == 0x7f
}

fn is_token(bytes: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_part)
}

/// One cookie as the value of a `set-cookie` line (RFC 6265, section 4.1).
fn cookie(name: &Value, value: &Value) -> Result<String, String> {
    let Value::String(name) = name else {
        return Err("the name must be a string".to_owned());
    };
    if !is_token(&name.as_bytes()) {
        return Err("the name may hold letters, digits and !#$%&'*+-.^_`|~ only".to_owned());
    }
    let name = name.to_string_lossy();
    let Value::Table(parts) = value else {
        return Ok(format!("{name}={}", cookie_value(value)?));
    };
    check_parts(parts)?;
    let part = |name: &str| parts.raw_get::<Value>(name).map_err(|error| error.to_string());
    let mut line = format!("{name}={}", cookie_value(&part("value")?)?);
    attributes(&mut line, part)?;
    Ok(line)
}

fn check_parts(parts: &Table) -> Result<(), String> {
    for pair in parts.pairs::<Value, Value>() {
        let (key, _) = pair.map_err(|error| error.to_string())?;
        let key = name_of(&key);
        if !COOKIE.contains(&key.as_str()) {
            return Err(format!("unknown field {key:?}{}", propose(&key, COOKIE.into_iter())));
        }
    }
    Ok(())
}

fn cookie_value(value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.to_string_lossy(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        other => return Err(format!("the value must be a string, not {}", kind(other))),
    };
    let is_part = |byte: u8| matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e);
    if text.bytes().all(is_part) {
        return Ok(text);
    }
    Err("the value may not hold spaces, quotes, commas, semicolons, backslashes, control characters or letters outside \
         of ASCII; url.escape makes it fit"
        .to_owned())
}

fn attributes(line: &mut String, part: impl Fn(&str) -> Result<Value, String>) -> Result<(), String> {
    for (name, word) in [("path", "Path"), ("domain", "Domain")] {
        match part(name)? {
            Value::Nil => {}
            Value::String(text) => {
                let text = text.to_string_lossy();
                if text.bytes().any(|byte| is_control(byte) || byte == b';' || !byte.is_ascii()) {
                    return Err(format!(
                        "{name} may not hold semicolons, control characters or letters outside of ASCII"
                    ));
                }
                line.push_str(&format!("; {word}={text}"));
            }
            other => return Err(format!("{name} must be a string, not {}", kind(&other))),
        }
    }
    let age = part("max_age")?;
    if !age.is_nil() {
        let age = duration("respond", "max_age", &age).map_err(|error| plain(&error))?;
        line.push_str(&format!("; Max-Age={}", age.as_secs()));
    }
    let secure = flag("secure", &part("secure")?)?;
    if flag("http_only", &part("http_only")?)? {
        line.push_str("; HttpOnly");
    }
    if secure {
        line.push_str("; Secure");
    }
    same_site(line, &part("same_site")?, secure)
}

fn flag(name: &str, value: &Value) -> Result<bool, String> {
    match value {
        Value::Nil => Ok(false),
        Value::Boolean(value) => Ok(*value),
        other => Err(format!("{name} must be true or false, not {}", kind(other))),
    }
}

fn same_site(line: &mut String, value: &Value, secure: bool) -> Result<(), String> {
    let word = match value {
        Value::Nil => return Ok(()),
        Value::String(word) => word.to_string_lossy(),
        other => return Err(format!("same_site must be a string, not {}", kind(other))),
    };
    let known = ["Strict", "Lax", "None"];
    let Some(known) = known.into_iter().find(|known| known.eq_ignore_ascii_case(&word)) else {
        return Err(format!("same_site must be \"strict\", \"lax\" or \"none\", not {word:?}"));
    };
    if known == "None" && !secure {
        return Err("same_site \"none\" needs secure = true, or browsers drop the cookie".to_owned());
    }
    line.push_str(&format!("; SameSite={known}"));
    Ok(())
}

/// The sentence of an argument's error, without the function's name.
fn plain(error: &mlua::Error) -> String {
    let told = match error {
        mlua::Error::RuntimeError(message) => message.clone(),
        other => other.to_string(),
    };
    told.strip_prefix("respond: ").map_or(told.clone(), str::to_owned)
}
