//! One value against what the schema says of it: type, words, format, range. Used for what stands in the file, and for
//! what was read from outside.

use std::ops::Range;

use crate::diag::{Code, codes};

use super::format::Format;
use super::literal;
use super::reader::range_of;
use super::scalar::{Bad, Plain};
use super::schema::{Kind, ValueSpec};
use super::suggest;

/// The code of a mistake in a format.
pub(super) fn code(format: Format) -> &'static Code {
    match format {
        Format::Duration => &codes::VALUE_DURATION,
        Format::Size => &codes::VALUE_SIZE,
        _ => &codes::VALUE_FORMAT,
    }
}

/// What is wrong with a value, if anything is.
pub(super) fn check(owner: &str, value: &Plain, spec: &ValueSpec) -> Option<(&'static Code, Bad)> {
    if let Some(format) = spec.format.filter(|format| format.is_quantity()) {
        let wrong = format.check(value).err().map(|bad| (code(format), bad));
        return wrong.or_else(|| too_little(format, value, spec).map(|bad| (&codes::VALUE_RANGE, bad)));
    }
    if !accepts(spec.kind, value) {
        return Some((&codes::VALUE_TYPE, wrong_type(spec.kind, value)));
    }
    if let Some(bad) = one_of(value, &spec.one_of) {
        return Some((&codes::VALUE_ENUM, bad));
    }
    if let Some(bad) = range(owner, value, spec) {
        return Some((&codes::VALUE_RANGE, bad));
    }
    let format = spec.format?;
    format.check(value).err().map(|bad| (code(format), bad))
}

/// The literal that is certainly meant by a value that is wrong: one that is right, and differs in its spelling only.
pub(super) fn cure(value: &Plain, literal: &str, spec: &ValueSpec) -> Option<String> {
    let (meant, written) = match (spec.kind, value) {
        (Kind::Boolean, Plain::Text(text)) => {
            let truth = truth(text)?;
            (Plain::Boolean(truth), format!("#{truth}"))
        }
        (Kind::Integer | Kind::Number, Plain::Text(text)) => {
            let number: i128 = text.parse().ok().filter(|number: &i128| number.to_string() == *text)?;
            (Plain::Integer(number), text.clone())
        }
        (Kind::Text, Plain::Integer(_)) if literal.bytes().all(|byte| byte.is_ascii_digit()) => {
            (Plain::Text(literal.to_owned()), format!("\"{literal}\""))
        }
        (Kind::Text, Plain::Boolean(truth)) => (Plain::Text(truth.to_string()), format!("\"{truth}\"")),
        (_, Plain::Text(text)) if !spec.one_of.is_empty() && !spec.one_of.contains(text) => {
            let meant = suggest::certain(text, spec.one_of.iter().map(String::as_str))?;
            let quoted = literal.starts_with(['"', '#']);
            let written = if quoted { format!("\"{meant}\"") } else { meant.to_owned() };
            (Plain::Text(meant.to_owned()), written)
        }
        _ => return None,
    };
    check("", &meant, spec).is_none().then_some(written)
}

/// What a word for yes or no says.
fn truth(word: &str) -> Option<bool> {
    // PowerShell writes $true.
    match word.trim_start_matches('$') {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn accepts(kind: Kind, value: &Plain) -> bool {
    match (kind, value) {
        (_, Plain::Null) => false,
        (Kind::Any, _)
        | (Kind::Text, Plain::Text(_))
        | (Kind::Integer | Kind::Number, Plain::Integer(_))
        | (Kind::Number, Plain::Float(_))
        | (Kind::Boolean, Plain::Boolean(_)) => true,
        _ => false,
    }
}

fn wrong_type(kind: Kind, value: &Plain) -> Bad {
    let mut bad = Bad::kind(kind.name(), value);
    bad.help = match (kind, value) {
        (Kind::Boolean, Plain::Text(text)) => {
            truth(text).map(|truth| format!("KDL spells it #{truth}, without quotes"))
        }
        (Kind::Integer | Kind::Number, Plain::Text(text)) if text.parse::<f64>().is_ok() => {
            Some(format!("write {text} without quotes"))
        }
        (Kind::Text, Plain::Integer(number)) => Some(format!("put it in quotes: \"{number}\"")),
        (Kind::Text, Plain::Float(number)) => Some(format!("put it in quotes: \"{number}\"")),
        (Kind::Text, Plain::Boolean(truth)) => Some(format!("put it in quotes: \"{truth}\"")),
        _ => None,
    };
    bad
}

fn one_of(value: &Plain, words: &[String]) -> Option<Bad> {
    if words.is_empty() {
        return None;
    }
    let written = match value {
        Plain::Text(text) => text.clone(),
        Plain::Integer(number) => number.to_string(),
        _ => String::new(),
    };
    if words.contains(&written) {
        return None;
    }
    let known = || words.iter().map(String::as_str);
    let help = suggest::help(&written, known());
    let all: Vec<&str> = known().collect();
    let help = help.unwrap_or_else(|| format!("it can be {}", suggest::list(&all)));
    Some(Bad {
        message: format!("`{written}` is not possible"),
        label: "not one of its values".to_owned(),
        help: Some(help),
        part: None,
    })
}

fn range(owner: &str, value: &Plain, spec: &ValueSpec) -> Option<Bad> {
    let number = match value {
        Plain::Integer(number) => *number as f64,
        Plain::Float(number) => *number,
        _ => return None,
    };
    let low =
        spec.least.filter(|least| number.is_nan() || number < *least).map(|least| format!("must be at least {least}"));
    let high = spec.most.filter(|most| number > *most).map(|most| format!("must be at most {most}"));
    let help = match (spec.least, spec.most) {
        (Some(least), Some(most)) => Some(format!("`{owner}` goes from {least} to {most}")),
        _ => None,
    };
    low.or(high).map(|message| Bad { message, label: "out of range".to_owned(), help, part: None })
}

/// A duration or size that is less than its place takes.
fn too_little(format: Format, value: &Plain, spec: &ValueSpec) -> Option<Bad> {
    let least = spec.from.as_ref()?;
    if format.measure(value) >= format.measure(&Plain::Text(least.clone())) {
        return None;
    }
    Some(Bad { message: format!("must be at least {least}"), label: "too little".to_owned(), help: None, part: None })
}

/// The place in `text` of a part of the value of the literal at `literal`; all of the literal when there is no part.
pub(super) fn place(text: &str, literal: Range<usize>, part: Option<Range<usize>>) -> Range<usize> {
    let Some(part) = part else { return literal };
    match literal::decode(&text[literal.clone()]) {
        Ok(decoded) if part.end <= decoded.value.len() => {
            let range = range_of(&decoded.pieces, part, literal.start as u32);
            if range.is_empty() { literal } else { range }
        }
        _ => literal,
    }
}

/// A text from outside as a value of the type that is asked for; text when it cannot be that.
pub(super) fn from_text(text: &str, kind: Kind) -> Plain {
    let trimmed = text.trim();
    let typed = match kind {
        Kind::Any | Kind::Text => None,
        Kind::Integer => trimmed.parse().ok().map(Plain::Integer),
        Kind::Number => trimmed.parse().ok().map(Plain::Integer).or_else(|| trimmed.parse().ok().map(Plain::Float)),
        Kind::Boolean => match trimmed {
            "true" | "#true" | "1" => Some(Plain::Boolean(true)),
            "false" | "#false" | "0" => Some(Plain::Boolean(false)),
            _ => None,
        },
    };
    typed.unwrap_or_else(|| Plain::Text(text.to_owned()))
}

/// What a value must be, as a phrase.
pub(super) fn wanted(spec: &ValueSpec) -> String {
    let words: Vec<&str> = spec.one_of.iter().map(String::as_str).collect();
    match (spec.format, spec.least, spec.most) {
        _ if !words.is_empty() => format!("one of {}", suggest::list(&words)),
        (Some(Format::Duration), ..) => format!("a duration{} such as 30s", at_least(spec)),
        (Some(Format::Size), ..) => format!("a size{} such as 1MiB", at_least(spec)),
        (_, Some(least), Some(most)) => format!("{} from {least} to {most}", spec.kind.name()),
        (_, Some(least), None) => format!("{}, at least {least}", spec.kind.name()),
        (_, None, Some(most)) => format!("{}, at most {most}", spec.kind.name()),
        _ => spec.kind.name().to_owned(),
    }
}

fn at_least(spec: &ValueSpec) -> String {
    spec.from.as_ref().map_or_else(String::new, |least| format!(" of at least {least},"))
}
