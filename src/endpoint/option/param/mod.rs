//! `param`: declared path, query and header parameters, their types and bounds.

use std::sync::Arc;

use regex::Regex;

use crate::diag::Span;
use crate::exchange::{Problem, Request, Typed};
use crate::kdl::reader::Reader;
use crate::kdl::scalar::{At, Bad, Plain, Scalar};

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The path; a mismatch is 404.
    Path,
    /// The query; a mismatch is 400.
    Query,
    /// A header; a mismatch is 400.
    Header,
}

/// The type of a parameter; default `string`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParamType {
    /// Any text.
    #[default]
    String,
    /// A whole number from -2^63 to 2^63-1.
    Integer,
    /// A finite number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A UUID in its usual form; handed over in lower case.
    Uuid,
}

/// A declared parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// Its name as declared.
    pub name: Arc<str>,
    /// Where the declaration stands.
    pub span: Span,
    /// Where it comes from; `None` until the path of the endpoint is known.
    pub source: Option<Source>,
    /// Its type.
    pub kind: ParamType,
    /// Its value when the request has none.
    pub default: Option<Typed>,
    /// Whether a request may come without it.
    pub optional: bool,
    /// Whether all values are taken, as a list.
    pub many: bool,
    /// Least number.
    pub min: Option<f64>,
    /// Greatest number.
    pub max: Option<f64>,
    /// Least number of characters.
    pub min_length: Option<u64>,
    /// Greatest number of characters.
    pub max_length: Option<u64>,
    /// What the whole text must match.
    pub pattern: Option<Regex>,
    /// The texts it may be.
    pub one_of: Vec<String>,
}

impl PartialEq for Param {
    /// Whether requests are treated alike; the place of the declaration does not matter.
    fn eq(&self, other: &Self) -> bool {
        let key = |param: &Self| {
            (param.name.clone(), param.source, param.kind, param.default.clone(), param.optional, param.many)
        };
        let bounds = |param: &Self| (param.min, param.max, param.min_length, param.max_length);
        let pattern = |param: &Self| param.pattern.as_ref().map(|pattern| pattern.as_str().to_owned());
        key(self) == key(other)
            && bounds(self) == bounds(other)
            && pattern(self) == pattern(other)
            && self.one_of == other.one_of
    }
}

impl Scalar for Source {
    fn read(value: &Plain) -> Result<Self, Bad> {
        match String::read(value)?.as_str() {
            "path" => Ok(Self::Path),
            "query" => Ok(Self::Query),
            "header" => Ok(Self::Header),
            other => Err(Bad::one_of("place", other, &["path", "query", "header"])),
        }
    }
}

impl Scalar for ParamType {
    fn read(value: &Plain) -> Result<Self, Bad> {
        match String::read(value)?.as_str() {
            "string" => Ok(Self::String),
            "integer" => Ok(Self::Integer),
            "number" => Ok(Self::Number),
            "boolean" => Ok(Self::Boolean),
            "uuid" => Ok(Self::Uuid),
            other => Err(Bad::one_of("type", other, &["string", "integer", "number", "boolean", "uuid"])),
        }
    }
}

/// A pattern that the whole text must match.
#[derive(Clone, Debug)]
struct WholePattern(Regex);

impl Scalar for WholePattern {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let text = String::read(value)?;
        match Regex::new(&format!("^(?:{text})$")) {
            Ok(regex) => Ok(Self(regex)),
            Err(error) => Err(Bad {
                message: "this is not a regular expression".into(),
                label: error.to_string().lines().last().unwrap_or_default().trim().to_owned(),
                help: Some("the syntax is that of Rust's regex crate: no look-around, no back-references".into()),
                part: None,
            }),
        }
    }
}

impl Param {
    /// Reads a `param` node. `None` when something of it was not understood (which was reported).
    pub fn decode(reader: &Reader<'_>) -> Option<Self> {
        if !reader.is_complete() {
            return None;
        }
        let name = reader.arg::<String>(0)?;
        let mut param = Self {
            name: name.it.as_str().into(),
            span: name.span,
            source: reader.get("in").map(|at| at.it),
            kind: reader.get("type").map(|at: At<ParamType>| at.it).unwrap_or_default(),
            default: None,
            optional: reader.switch("optional").is_some_and(|at| at.it),
            many: reader.switch("many").is_some_and(|at| at.it),
            min: reader.get("min").map(|at| at.it),
            max: reader.get("max").map(|at| at.it),
            min_length: reader.get("min-length").map(|at| at.it),
            max_length: reader.get("max-length").map(|at| at.it),
            pattern: reader.get("pattern").map(|at: At<WholePattern>| at.it.0),
            one_of: reader.list("one-of").into_iter().map(|at: At<String>| at.it).collect(),
        };
        param.default = param.decode_default(reader);
        Some(param)
    }

    /// Reads `default=`, which must itself be a value that the parameter takes.
    fn decode_default(&self, reader: &Reader<'_>) -> Option<Typed> {
        let default = reader.get::<Plain>("default")?;
        let text = match &default.it {
            Plain::Text(text) => text.clone(),
            Plain::Integer(number) => number.to_string(),
            Plain::Float(number) => number.to_string(),
            Plain::Boolean(flag) => flag.to_string(),
            Plain::Null => String::new(),
        };
        match self.read(&text) {
            Ok(typed) if self.many => Some(Typed::Many(vec![typed])),
            Ok(typed) => Some(typed),
            Err(wanted) => {
                let bad = Bad {
                    message: format!("the default of `{}` is no value it could take", self.name),
                    label: format!("it must be {wanted}"),
                    help: None,
                    part: None,
                };
                reader.bad(&default, bad);
                None
            }
        }
    }

    /// Converts one text, or says what it must be.
    fn read(&self, text: &str) -> Result<Typed, String> {
        let typed = self.convert(text)?;
        self.check_number(&typed)?;
        self.check_text(text)?;
        Ok(typed)
    }

    fn convert(&self, text: &str) -> Result<Typed, String> {
        match self.kind {
            ParamType::String => Ok(Typed::Text(text.to_owned())),
            ParamType::Integer => text.parse().map(Typed::Integer).map_err(|_| "an integer".to_owned()),
            ParamType::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Typed::Number(number)),
                _ => Err("a number".to_owned()),
            },
            ParamType::Boolean => match text {
                "true" => Ok(Typed::Boolean(true)),
                "false" => Ok(Typed::Boolean(false)),
                _ => Err("`true` or `false`".to_owned()),
            },
            ParamType::Uuid => match uuid::Uuid::try_parse(text) {
                Ok(id) if text.len() == 36 => Ok(Typed::Text(id.hyphenated().to_string())),
                _ => Err("a UUID".to_owned()),
            },
        }
    }

    fn check_number(&self, typed: &Typed) -> Result<(), String> {
        let number = match typed {
            Typed::Integer(number) => *number as f64,
            Typed::Number(number) => *number,
            _ => return Ok(()),
        };
        match (self.min, self.max) {
            (Some(min), _) if number < min => Err(format!("at least {min}")),
            (_, Some(max)) if number > max => Err(format!("at most {max}")),
            _ => Ok(()),
        }
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        let length = text.chars().count() as u64;
        if let Some(min) = self.min_length.filter(|min| length < *min) {
            return Err(format!("at least {min} characters long"));
        }
        if let Some(max) = self.max_length.filter(|max| length > *max) {
            return Err(format!("at most {max} characters long"));
        }
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.is_match(text)) {
            return Err("of the declared pattern".to_owned());
        }
        if !self.one_of.is_empty() && !self.one_of.iter().any(|allowed| allowed == text) {
            return Err(format!("one of {}", self.one_of.join(", ")));
        }
        Ok(())
    }

    /// The value of a query or header parameter, from the texts the request has for it.
    fn resolve(&self, texts: &[String]) -> Result<Option<Typed>, String> {
        if texts.is_empty() {
            return match &self.default {
                Some(default) => Ok(Some(default.clone())),
                None if self.optional => Ok(None),
                None => Err("given".to_owned()),
            };
        }
        if self.many {
            let all: Result<Vec<_>, _> = texts.iter().map(|text| self.read(text)).collect();
            return all.map(|values| Some(Typed::Many(values)));
        }
        self.read(&texts[0]).map(Some)
    }
}

/// Checks and converts the declared parameters: `request.params` come in as text and leave typed; `request.query` and
/// `request.headers` are filled.
///
/// # Errors
/// The problem to answer: 404 for a path parameter, 400 otherwise, naming the parameter and what it must be.
pub fn check(params: &[Param], request: &mut Request) -> Result<(), Problem> {
    for param in params {
        match param.source.unwrap_or(Source::Query) {
            Source::Path => check_path(param, request)?,
            Source::Query => {
                let texts = query_texts(request.head.query(), &param.name);
                let value = param.resolve(&texts).map_err(|wanted| mismatch("query", param, &wanted))?;
                request.query.extend(value.map(|value| (param.name.clone(), value)));
            }
            Source::Header => {
                let name: Arc<str> = param.name.to_ascii_lowercase().replace('_', "-").into();
                let texts = header_texts(request, &name);
                let value = param.resolve(&texts).map_err(|wanted| mismatch("header", param, &wanted))?;
                request.headers.extend(value.map(|value| (name, value)));
            }
        }
    }
    Ok(())
}

/// A path that does not fit names nothing that exists, so the answer is 404 and says no more.
fn check_path(param: &Param, request: &mut Request) -> Result<(), Problem> {
    for (name, value) in &mut request.params {
        if let (true, Typed::Text(text)) = (*name == param.name, &*value) {
            *value = param.read(text).map_err(|_| Problem::new(404))?;
        }
    }
    Ok(())
}

fn mismatch(place: &str, param: &Param, wanted: &str) -> Problem {
    Problem::with(400, format!("the {place} parameter `{}` must be {wanted}", param.name))
}

fn query_texts(query: &str, name: &str) -> Vec<String> {
    url::form_urlencoded::parse(query.as_bytes())
        .filter(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
        .collect()
}

fn header_texts(request: &Request, name: &str) -> Vec<String> {
    let mut texts = Vec::new();
    request.head.header_all(name, &mut |value| texts.push(String::from_utf8_lossy(value).into_owned()));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::FileId;

    fn param(kind: ParamType) -> Param {
        Param {
            name: "p".into(),
            span: Span { file: FileId(0), start: 0, end: 0 },
            source: Some(Source::Query),
            kind,
            default: None,
            optional: false,
            many: false,
            min: None,
            max: None,
            min_length: None,
            max_length: None,
            pattern: None,
            one_of: Vec::new(),
        }
    }

    #[test]
    fn texts_become_values_of_their_type() {
        let cases: &[(ParamType, &str, Option<Typed>)] = &[
            (ParamType::Integer, "7", Some(Typed::Integer(7))),
            (ParamType::Integer, "-9223372036854775808", Some(Typed::Integer(i64::MIN))),
            (ParamType::Integer, "9223372036854775808", None),
            (ParamType::Integer, "7.0", None),
            (ParamType::Integer, " 7", None),
            (ParamType::Integer, "", None),
            (ParamType::Number, "1e3", Some(Typed::Number(1000.0))),
            (ParamType::Number, "nan", None),
            (ParamType::Number, "inf", None),
            (ParamType::Number, "1e999", None),
            (ParamType::Boolean, "true", Some(Typed::Boolean(true))),
            (ParamType::Boolean, "false", Some(Typed::Boolean(false))),
            (ParamType::Boolean, "1", None),
            (ParamType::Boolean, "yes", None),
            (
                ParamType::Uuid,
                "67E55044-10B1-426F-9247-BB680E5FE0C8",
                Some(Typed::Text("67e55044-10b1-426f-9247-bb680e5fe0c8".into())),
            ),
            (ParamType::Uuid, "67e5504410b1426f9247bb680e5fe0c8", None),
            (ParamType::Uuid, "{67e55044-10b1-426f-9247-bb680e5fe0c8}", None),
            (ParamType::String, "", Some(Typed::Text(String::new()))),
        ];
        for (kind, text, expected) in cases {
            assert_eq!(param(*kind).read(text).ok(), *expected, "{kind:?} {text:?}");
        }
    }

    #[test]
    fn bounds_are_inclusive_and_lengths_count_characters() {
        let bounded = Param { min: Some(1.0), max: Some(3.0), ..param(ParamType::Integer) };
        let verdicts: Vec<bool> = ["0", "1", "3", "4"].iter().map(|text| bounded.read(text).is_ok()).collect();
        assert_eq!(verdicts, [false, true, true, false]);
        let long = Param { min_length: Some(2), max_length: Some(3), ..param(ParamType::String) };
        let verdicts: Vec<bool> = ["é", "éé", "ééé", "éééé"].iter().map(|text| long.read(text).is_ok()).collect();
        assert_eq!(verdicts, [false, true, true, false]);
    }

    #[test]
    fn a_pattern_must_match_the_whole_text() {
        let WholePattern(pattern) = WholePattern::read(&Plain::Text("a|bc".into())).unwrap();
        let exact = Param { pattern: Some(pattern), ..param(ParamType::String) };
        let verdicts: Vec<bool> = ["a", "bc", "ac", "abc"].iter().map(|text| exact.read(text).is_ok()).collect();
        assert_eq!(verdicts, [true, true, false, false]);
    }

    #[test]
    fn absent_and_repeated_values_follow_the_declaration() {
        let required = param(ParamType::Integer);
        assert_eq!(required.resolve(&[]), Err("given".into()));
        let optional = Param { optional: true, ..required.clone() };
        assert_eq!(optional.resolve(&[]), Ok(None));
        let default = Param { default: Some(Typed::Integer(1)), ..required.clone() };
        assert_eq!(default.resolve(&[]), Ok(Some(Typed::Integer(1))));
        let texts = ["2".to_owned(), "3".to_owned()];
        assert_eq!(required.resolve(&texts), Ok(Some(Typed::Integer(2))));
        let many = Param { many: true, ..required };
        assert_eq!(many.resolve(&texts), Ok(Some(Typed::Many(vec![Typed::Integer(2), Typed::Integer(3)]))));
    }
}
