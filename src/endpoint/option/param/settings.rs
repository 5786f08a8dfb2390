//! A `param` node as decoded, and what of it contradicts itself.

use std::fmt;

use regex::Regex;

use super::{Param, ParamType, Source};
use crate::diag::{Diagnostic, Span, codes};
use crate::exchange::Typed;
use crate::kdl::reader::Reader;
use crate::kdl::scalar::{At, Bad, Plain, Scalar};

/// A `param` node.
#[derive(Clone, Debug)]
pub struct ParamSettings {
    /// The parameter; where it comes from is decided when the paths are known, unless the node says so.
    pub param: Param,
    /// What says that it may be absent or come several times, with its place: in a path it is always there, once.
    pub absence: Vec<(&'static str, Span)>,
}

/// What bounds a parameter, and the types that it means something for.
const BOUNDS: &[(&str, &[ParamType])] = &[
    ("min", &[ParamType::Integer, ParamType::Number]),
    ("max", &[ParamType::Integer, ParamType::Number]),
    ("min-length", &[ParamType::String]),
    ("max-length", &[ParamType::String]),
    ("pattern", &[ParamType::String]),
];

impl Scalar for Source {
    fn read(value: &Plain) -> Result<Self, Bad> {
        const ALL: [Source; 3] = [Source::Path, Source::Query, Source::Header];
        let name = String::read(value)?;
        let found = ALL.into_iter().find(|source| source.name() == name);
        found.ok_or_else(|| Bad::one_of("place", &name, &ALL.map(Source::name)))
    }
}

impl Scalar for ParamType {
    fn read(value: &Plain) -> Result<Self, Bad> {
        const ALL: [ParamType; 5] =
            [ParamType::String, ParamType::Integer, ParamType::Number, ParamType::Boolean, ParamType::Uuid];
        let name = String::read(value)?;
        let found = ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| Bad::one_of("type", &name, &ALL.map(ParamType::name)))
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
                message: format!("this is not a regular expression: {}", reason(&error)),
                label: "not a pattern".into(),
                help: Some("the syntax is that of Rust's regex crate: no look-around, no back-references".into()),
                part: None,
            }),
        }
    }
}

/// The last line of what regex tells; those before it draw the place.
fn reason(error: &regex::Error) -> String {
    let whole = error.to_string();
    let last = whole.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

impl ParamSettings {
    /// Reads a `param` node. `None` when something of it was not understood (which was reported).
    pub fn decode(reader: &Reader<'_>) -> Option<Self> {
        if !reader.is_complete() {
            return None;
        }
        let name = reader.arg::<String>(0)?;
        let kind: Option<At<ParamType>> = reader.get("type");
        if kind.is_none() && reader.child("type").is_some() {
            return None;
        }
        let (min, max) = (reader.get::<f64>("min"), reader.get::<f64>("max"));
        let (min_length, max_length) = (reader.get::<u64>("min-length"), reader.get::<u64>("max-length"));
        let default = reader.get::<Plain>("default");
        let optional = reader.switch("optional");
        let many = reader.switch("many");
        let mut param = Param {
            name: name.it.as_str().into(),
            span: name.span,
            source: reader.get("in").map(|at| at.it),
            kind: kind.as_ref().map(|at| at.it).unwrap_or_default(),
            default: None,
            optional: optional.as_ref().is_some_and(|at| at.it),
            many: many.as_ref().is_some_and(|at| at.it),
            min: min.as_ref().map(|at| at.it),
            max: max.as_ref().map(|at| at.it),
            min_length: min_length.as_ref().map(|at| at.it),
            max_length: max_length.as_ref().map(|at| at.it),
            pattern: reader.get("pattern").map(|at: At<WholePattern>| at.it.0),
            one_of: Vec::new(),
        };
        idle(reader, &param, kind.as_ref());
        exclusive(reader, ("min", min), ("max", max));
        exclusive(reader, ("min-length", min_length), ("max-length", max_length));
        never_absent(reader, &param, default.as_ref(), optional.as_ref());
        param.one_of = choices(reader, &param);
        param.default = default.as_ref().and_then(|default| decode_default(reader, &param, default));
        let given = |name, span: Option<Span>| span.map(|span| (name, span));
        let absence = [
            given("default", default.map(|at| at.span)),
            given("optional", optional.filter(|at| at.it).map(|at| at.span)),
            given("many", many.filter(|at| at.it).map(|at| at.span)),
        ];
        Some(Self { param, absence: absence.into_iter().flatten().collect() })
    }
}

/// Reports bounds that mean nothing for the type.
fn idle(reader: &Reader<'_>, param: &Param, kind: Option<&At<ParamType>>) {
    for (name, kinds) in BOUNDS {
        let Some(bound) = reader.child(name).filter(|_| !kinds.contains(&param.kind)) else {
            continue;
        };
        let message = format!("`{name}` does nothing for a parameter of type {}", param.kind.name());
        let found = Diagnostic::new(&codes::ENDPOINT_PARAM_SETTING, message, bound.span(), "does nothing");
        let found = match kind {
            Some(kind) => found.also(kind.span, "the type"),
            None => found.also(param.span, "a string, as nothing else is said"),
        };
        let types: Vec<String> = kinds.iter().map(|kind| format!("type={}", kind.name())).collect();
        reader.report(found.help(format!("remove it, or write {}", types.join(" or "))));
    }
}

/// Reports bounds that no value can keep.
fn exclusive<T: PartialOrd + fmt::Display>(
    reader: &Reader<'_>,
    (least, low): (&str, Option<At<T>>),
    (most, high): (&str, Option<At<T>>),
) {
    let (Some(low), Some(high)) = (low, high) else {
        return;
    };
    if low.it <= high.it {
        return;
    }
    let message = format!("no value is at least {} and at most {}", low.it, high.it);
    let found = Diagnostic::new(&codes::ENDPOINT_PARAM_RANGE, message, low.span, format!("`{least}`"));
    reader.report(found.also(high.span, format!("`{most}`")).help("lower the one or raise the other"));
}

/// Reports `optional` beside a default.
fn never_absent(reader: &Reader<'_>, param: &Param, default: Option<&At<Plain>>, optional: Option<&At<bool>>) {
    let (Some(default), Some(optional)) = (default, optional.filter(|at| at.it)) else {
        return;
    };
    let message = format!("`{}` has a default, so it is never absent", param.name);
    let found = Diagnostic::new(&codes::ENDPOINT_PARAM_SETTING, message, optional.span, "does nothing");
    reader.report(found.also(default.span, "the default").help("keep one of the two"));
}

/// The values of `one-of`, each of which the parameter must be able to have.
fn choices(reader: &Reader<'_>, param: &Param) -> Vec<Typed> {
    let mut choices = Vec::new();
    for value in reader.list::<Plain>("one-of") {
        match param.read_plain(&value.it) {
            Ok(typed) => choices.push(typed),
            Err(wanted) => {
                let message = format!("`{}` can never have this value: it must be {wanted}", param.name);
                reader.bad(&value, unfit(message));
            }
        }
    }
    choices
}

/// The value of `default=`, which must itself be one that the parameter takes.
fn decode_default(reader: &Reader<'_>, param: &Param, default: &At<Plain>) -> Option<Typed> {
    match param.read_plain(&default.it) {
        Ok(typed) if param.many => Some(Typed::Many(vec![typed])),
        Ok(typed) => Some(typed),
        Err(wanted) => {
            let message = format!("the default of `{}` is no value it could take: it must be {wanted}", param.name);
            reader.bad(default, unfit(message));
            None
        }
    }
}

fn unfit(message: String) -> Bad {
    Bad { message, label: "this value".into(), help: None, part: None }
}

impl Param {
    /// A value of the file as one of the parameter, or what it must be. Text is read as that of a request is, for values
    /// from outside are text.
    fn read_plain(&self, plain: &Plain) -> Result<Typed, String> {
        match (plain, self.kind) {
            (Plain::Text(text), _) => self.read(text),
            (Plain::Integer(number), ParamType::Integer | ParamType::Number) => self.read(&number.to_string()),
            (Plain::Float(number), ParamType::Number) => self.read(&number.to_string()),
            (Plain::Boolean(truth), ParamType::Boolean) => self.read(&truth.to_string()),
            _ => Err(self.kind.wanted().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_must_match_the_whole_text() {
        let WholePattern(pattern) = WholePattern::read(&Plain::Text("a|bc".into())).unwrap();
        let verdicts: Vec<bool> = ["a", "bc", "ac", "abc"].iter().map(|text| pattern.is_match(text)).collect();
        assert_eq!(verdicts, [true, true, false, false]);
    }
}
