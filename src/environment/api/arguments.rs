//! Arguments of host functions: every check and every sentence about a wrong one, so that all modules say it alike.
//!
//! A wrong argument is a mistake of the script and raises; nothing here returns `nil, err`.

use std::fmt::Display;
use std::ops::{Deref, RangeInclusive};
use std::time::Duration;

use mlua::{BorrowedBytes, BorrowedStr, Error, Function, Result, Table, Value};

/// The longest span of time a script may name: a hundred years.
const LONGEST: f64 = 100.0 * 365.0 * 86_400.0;

/// The units of a duration, longest name first where one ends with another.
const UNITS: [(&str, f64); 5] = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)];

/// The error that a wrong use of `function` raises.
pub fn misuse(function: &str, message: impl Display) -> Error {
    Error::runtime(format_args!("{function}: {message}"))
}

/// The error for an argument that is of the wrong kind.
fn wrong(function: &str, what: &str, wanted: &str, value: &Value) -> Error {
    misuse(function, format_args!("{what} must be {wanted}, not {}", kind(value)))
}

/// What a script wrote as a name, for a message: bytes that are not UTF-8 become question marks.
pub fn name_of(value: &Value) -> String {
    match value {
        Value::String(name) => name.to_string_lossy(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => number.to_string(),
        // What a metamethod says is not asked: it may wait, and a host function must not be below one that waits.
        other => kind(other).to_owned(),
    }
}

/// What a value is, with its article, in the words of Lua.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Boolean(_) => "a boolean",
        Value::LightUserData(_) if value.is_null() => "json.null",
        Value::Integer(_) | Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Table(_) => "a table",
        Value::Function(_) => "a function",
        Value::Thread(_) => "a coroutine",
        Value::Vector(_) => "a vector",
        Value::Buffer(_) => "a buffer",
        Value::Error(_) => "an error",
        Value::LightUserData(_) | Value::UserData(_) | Value::Other(_) => "a userdata",
    }
}

/// The bytes of a string or a buffer.
pub enum Bytes {
    /// Of a string, in place.
    Borrowed(BorrowedBytes),
    /// Of a buffer, copied, since a script may change it.
    Owned(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// Any bytes: a string or a buffer.
///
/// # Errors
/// The value is something else.
pub fn bytes(function: &str, what: &str, value: &Value) -> Result<Bytes> {
    match value {
        Value::String(text) => Ok(Bytes::Borrowed(text.as_bytes())),
        Value::Buffer(buffer) => Ok(Bytes::Owned(buffer.to_vec())),
        other => Err(wrong(function, what, "a string", other)),
    }
}

/// Text: a string of valid UTF-8.
///
/// # Errors
/// The value is something else, or its bytes are not UTF-8.
pub fn text(function: &str, what: &str, value: &Value) -> Result<BorrowedStr> {
    match value {
        Value::String(text) => text.to_str().map_err(|_| misuse(function, format_args!("{what} must be valid UTF-8"))),
        other => Err(wrong(function, what, "a string", other)),
    }
}

/// A number that is neither infinite nor NaN.
///
/// # Errors
/// The value is something else.
pub fn number(function: &str, what: &str, value: &Value) -> Result<f64> {
    match value {
        Value::Integer(number) => Ok(*number as f64),
        Value::Number(number) if number.is_finite() => Ok(*number),
        Value::Number(number) => Err(misuse(function, format_args!("{what} must be a finite number, not {number}"))),
        other => Err(wrong(function, what, "a number", other)),
    }
}

/// A whole number within a range.
///
/// # Errors
/// The value is not a whole number or outside of the range.
pub fn whole(function: &str, what: &str, value: &Value, range: RangeInclusive<i64>) -> Result<i64> {
    let outside = |shown: &dyn Display| {
        let (low, high) = (range.start(), range.end());
        misuse(function, format_args!("{what} must be a whole number from {low} to {high}, not {shown}"))
    };
    match value {
        Value::Integer(number) if range.contains(number) => Ok(*number),
        Value::Integer(number) => Err(outside(number)),
        Value::Number(number) if *number == 0.0 && range.contains(&0) => Ok(0),
        Value::Number(number) => Err(outside(number)),
        other => Err(wrong(function, what, "a whole number", other)),
    }
}

/// A function.
///
/// # Errors
/// The value is something else.
pub fn function(name: &str, what: &str, value: Value) -> Result<Function> {
    match value {
        Value::Function(function) => Ok(function),
        other => Err(wrong(name, what, "a function", &other)),
    }
}

/// A span of time: seconds as a number, or text with units such as `"250ms"` or `"1h 30m"`.
///
/// # Errors
/// The value is something else, negative, or longer than a hundred years.
pub fn duration(function: &str, what: &str, value: &Value) -> Result<Duration> {
    let seconds = match value {
        Value::String(text) => {
            let text = text.to_string_lossy();
            parse_duration(&text).ok_or_else(|| {
                let example = "such as \"250ms\", \"5s\", \"10m\", \"24h\" or \"7d\"";
                misuse(
                    function,
                    format_args!("{what} must be seconds as a number or text with a unit, {example}, not {text:?}"),
                )
            })?
        }
        Value::Integer(_) | Value::Number(_) => number(function, what, value)?,
        other => {
            return Err(wrong(function, what, "seconds as a number or text with a unit", other));
        }
    };
    if (0.0..=LONGEST).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(misuse(function, format_args!("{what} must be from 0 seconds to 100 years, not {seconds} seconds")))
}

/// Seconds of `"1h 30m"`: numbers with a unit each, adding up.
fn parse_duration(text: &str) -> Option<f64> {
    let mut parts = text.split_whitespace().peekable();
    parts.peek()?;
    parts.map(parse_duration_part).sum()
}

fn parse_duration_part(part: &str) -> Option<f64> {
    let digits = part.find(|character: char| !character.is_ascii_digit() && character != '.')?;
    let (amount, unit) = part.split_at(digits);
    let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(amount.parse::<f64>().ok()? * seconds)
}

/// One of the names of a table.
///
/// # Errors
/// The value is not a string or none of the names; the message proposes the nearest.
pub fn choice<T: Copy>(function: &str, what: &str, value: &Value, choices: &[(&str, T)]) -> Result<T> {
    let word = text(function, what, value)?;
    if let Some((_, chosen)) = choices.iter().find(|(name, _)| *name == &*word) {
        return Ok(*chosen);
    }
    let names = choices.iter().map(|(name, _)| *name);
    Err(misuse(function, format_args!("unknown {what} {:?}{}", &*word, propose(&word, names))))
}

/// The end of a sentence about an unknown word: the nearest known one, else all of them if they are few.
pub fn propose<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = known
        .clone()
        .map(|name| (strsim::damerau_levenshtein(&word.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 1 + name.len().min(word.len()) / 4)
        .min();
    if let Some((_, name)) = near {
        return format!("; did you mean {name:?}?");
    }
    let names: Vec<&str> = known.take(13).collect();
    match names.len() {
        0 => "; there is none".to_owned(),
        1..=12 => format!("; known: {}", names.join(", ")),
        _ => String::new(),
    }
}

/// The last argument of many functions: a table of named options, all optional.
pub struct Options<'a> {
    function: &'static str,
    table: Option<&'a Table>,
}

impl<'a> Options<'a> {
    /// Takes the table, or nothing when it is left out.
    ///
    /// # Errors
    /// The value is something else, or has a key that is not in `known`.
    pub fn read(function: &'static str, value: &'a Value, known: &[&str]) -> Result<Self> {
        let table = match value {
            Value::Nil => None,
            Value::Table(table) => Some(table),
            other => return Err(wrong(function, "options", "a table", other)),
        };
        if let Some(table) = table {
            table.for_each(|key: Value, _: Value| check_key(function, &key, known))?;
        }
        Ok(Self { function, table })
    }

    /// The value of an option; nil when it is left out.
    ///
    /// # Errors
    /// Lua has no memory left.
    pub fn get(&self, name: &str) -> Result<Value> {
        self.table.map_or(Ok(Value::Nil), |table| table.raw_get(name))
    }

    /// A boolean option.
    ///
    /// # Errors
    /// It is something else.
    pub fn boolean(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name)? {
            Value::Nil => Ok(default),
            Value::Boolean(value) => Ok(value),
            other => Err(wrong(self.function, &option(name), "true or false", &other)),
        }
    }

    /// A span of time; `None` when it is left out.
    ///
    /// # Errors
    /// It is something else.
    pub fn duration(&self, name: &str) -> Result<Option<Duration>> {
        match self.get(name)? {
            Value::Nil => Ok(None),
            value => duration(self.function, &option(name), &value).map(Some),
        }
    }

    /// A whole number within a range; `None` when it is left out.
    ///
    /// # Errors
    /// It is something else.
    pub fn whole(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>> {
        match self.get(name)? {
            Value::Nil => Ok(None),
            value => whole(self.function, &option(name), &value, range).map(Some),
        }
    }
}

fn option(name: &str) -> String {
    format!("option \"{name}\"")
}

fn check_key(function: &str, key: &Value, known: &[&str]) -> Result<()> {
    let Value::String(key) = key else {
        return Err(misuse(function, format_args!("options must be named, but one of the keys is {}", kind(key))));
    };
    if known.iter().any(|name| *key == **name) {
        return Ok(());
    }
    let key = key.to_string_lossy();
    Err(misuse(function, format_args!("unknown option {key:?}{}", propose(&key, known.iter().copied()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mlua::Lua;

    fn value(lua: &Lua, code: &str) -> Value {
        lua.load(code).eval().unwrap()
    }

    fn said<T>(result: Result<T>) -> String {
        match result {
            Ok(_) => "fine".to_owned(),
            Err(Error::RuntimeError(message)) => message,
            Err(other) => other.to_string(),
        }
    }

    #[test]
    fn durations() {
        let lua = Lua::new();
        for (code, millis) in [
            ("0", 0),
            ("1.5", 1_500),
            ("'250ms'", 250),
            ("'5s'", 5_000),
            ("'1.5m'", 90_000),
            ("'1h 30m'", 5_400_000),
            ("'7d'", 604_800_000),
        ] {
            let got = duration("f", "ttl", &value(&lua, code)).unwrap();
            assert_eq!(got, Duration::from_millis(millis), "{code}");
        }
        let bad = [
            "-1", "1e300", "0/0", "1/0", "''", "'5'", "'s'", "'1.2.3s'", "'-5s'", "'5 s'", "'5y'", "{}", "true",
            "'1e5s'", "'\\0'",
        ];
        for code in bad {
            let message = said(duration("f", "ttl", &value(&lua, code)));
            assert!(message.starts_with("f: ttl must be "), "{code}: {message}");
        }
    }

    #[test]
    fn whole_numbers() {
        let lua = Lua::new();
        for (code, wanted) in [
            ("1", "fine"),
            ("10", "fine"),
            ("0", "f: n must be a whole number from 1 to 10, not 0"),
            ("11", "f: n must be a whole number from 1 to 10, not 11"),
            ("1.5", "f: n must be a whole number from 1 to 10, not 1.5"),
            ("0/0", "f: n must be a whole number from 1 to 10, not NaN"),
            ("2^63", "f: n must be a whole number from 1 to 10, not 9223372036854776000"),
            ("'1'", "f: n must be a whole number, not a string"),
            ("nil", "f: n must be a whole number, not nil"),
        ] {
            assert_eq!(said(whole("f", "n", &value(&lua, code), 1..=10)), wanted, "{code}");
        }
    }

    #[test]
    fn options() {
        let lua = Lua::new();
        for (code, wanted) in [
            ("nil", "fine"),
            ("{}", "fine"),
            ("{ url = true }", "fine"),
            ("{ urll = true }", "f: unknown option \"urll\"; did you mean \"url\"?"),
            ("{ zebra = 1 }", "f: unknown option \"zebra\"; known: url, ttl"),
            ("{ 1 }", "f: options must be named, but one of the keys is a number"),
            ("{ url = 1 }", "f: option \"url\" must be true or false, not a number"),
            ("5", "f: options must be a table, not a number"),
            ("'x'", "f: options must be a table, not a string"),
        ] {
            let value = value(&lua, code);
            let got = Options::read("f", &value, &["url", "ttl"]).and_then(|options| options.boolean("url", false));
            assert_eq!(said(got), wanted, "{code}");
        }
    }

    #[test]
    fn choices() {
        let lua = Lua::new();
        let known = [("sha256", 1), ("md5", 2)];
        for (code, wanted) in [
            ("'sha256'", "fine"),
            ("'sha265'", "f: unknown algorithm \"sha265\"; did you mean \"sha256\"?"),
            ("'SHA256'", "f: unknown algorithm \"SHA256\"; did you mean \"sha256\"?"),
            ("'zebra'", "f: unknown algorithm \"zebra\"; known: sha256, md5"),
            ("'\\255'", "f: algorithm must be valid UTF-8"),
            ("1", "f: algorithm must be a string, not a number"),
        ] {
            assert_eq!(said(choice("f", "algorithm", &value(&lua, code), &known)), wanted, "{code}");
        }
    }
}
