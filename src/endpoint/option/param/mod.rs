//! `param`: declared path, query and header parameters, their types and bounds.

pub mod settings;

use std::sync::Arc;

use regex::Regex;

use crate::diag::Span;
use crate::exchange::{Problem, Request, Typed};

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
    /// The only values it may have; empty: any.
    pub one_of: Vec<Typed>,
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

impl Source {
    /// Its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Query => "query",
            Self::Header => "header",
        }
    }
}

impl ParamType {
    /// Its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Uuid => "uuid",
        }
    }

    /// What a value of it is, as a phrase.
    fn wanted(self) -> &'static str {
        match self {
            Self::String => "text",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Boolean => "`true` or `false`",
            Self::Uuid => "a UUID",
        }
    }
}

impl Param {
    /// Whether both declare one parameter: the same name at the same place.
    pub fn is_same(&self, other: &Self) -> bool {
        self.source == other.source
            && match self.source {
                Some(Source::Header) => header_name(&self.name) == header_name(&other.name),
                _ => self.name == other.name,
            }
    }

    /// Converts one text, or says what it must be.
    fn read(&self, text: &str) -> Result<Typed, String> {
        let typed = self.convert(text)?;
        self.check_number(&typed)?;
        self.check_text(text)?;
        self.check_choice(&typed)?;
        Ok(typed)
    }

    fn convert(&self, text: &str) -> Result<Typed, String> {
        let wanted = || self.kind.wanted().to_owned();
        match self.kind {
            ParamType::String => Ok(Typed::Text(text.to_owned())),
            ParamType::Integer => text.parse().map(Typed::Integer).map_err(|_| wanted()),
            ParamType::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Typed::Number(number)),
                _ => Err(wanted()),
            },
            ParamType::Boolean => match text {
                "true" => Ok(Typed::Boolean(true)),
                "false" => Ok(Typed::Boolean(false)),
                _ => Err(wanted()),
            },
            ParamType::Uuid => match uuid::Uuid::try_parse(text) {
                Ok(id) if text.len() == 36 => Ok(Typed::Text(id.hyphenated().to_string())),
                _ => Err(wanted()),
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
        Ok(())
    }

    fn check_choice(&self, typed: &Typed) -> Result<(), String> {
        if self.one_of.is_empty() || self.one_of.contains(typed) {
            return Ok(());
        }
        let allowed: Vec<String> = self.one_of.iter().map(Typed::to_string).collect();
        Err(format!("one of {}", allowed.join(", ")))
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
                let name: Arc<str> = header_name(&param.name).into();
                let texts = header_texts(request, &name);
                let value = param.resolve(&texts).map_err(|wanted| mismatch("header", param, &wanted))?;
                request.headers.extend(value.map(|value| (name, value)));
            }
        }
    }
    Ok(())
}

/// The header that a declared name means.
fn header_name(declared: &str) -> String {
    declared.to_ascii_lowercase().replace('_', "-")
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
    fn choices_are_compared_in_the_type() {
        let cases: &[(ParamType, Vec<Typed>, &str, bool)] = &[
            (ParamType::Integer, vec![Typed::Integer(1), Typed::Integer(2)], "2", true),
            (ParamType::Integer, vec![Typed::Integer(1)], "+1", true),
            (ParamType::Integer, vec![Typed::Integer(1)], "3", false),
            (ParamType::Number, vec![Typed::Number(0.5)], "5e-1", true),
            (ParamType::String, vec![Typed::Text("1".into())], "1", true),
            (ParamType::String, vec![Typed::Text("1".into())], "01", false),
            (ParamType::Boolean, vec![Typed::Boolean(true)], "false", false),
        ];
        for (kind, one_of, text, fits) in cases {
            let chosen = Param { one_of: one_of.clone(), ..param(*kind) };
            assert_eq!(chosen.read(text).is_ok(), *fits, "{kind:?} {text:?}");
        }
        let told = Param { one_of: vec![Typed::Integer(1), Typed::Integer(2)], ..param(ParamType::Integer) }.read("3");
        assert_eq!(told, Err("one of 1, 2".into()));
    }

    #[test]
    fn a_header_is_one_however_it_is_spelled() {
        let of = |name: &str, source| Param { name: name.into(), source: Some(source), ..param(ParamType::String) };
        assert!(of("X-Tenant", Source::Header).is_same(&of("x_tenant", Source::Header)));
        assert!(!of("Page", Source::Query).is_same(&of("page", Source::Query)));
        assert!(!of("page", Source::Header).is_same(&of("page", Source::Query)));
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
