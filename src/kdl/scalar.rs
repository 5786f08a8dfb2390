//! Scalar formats: how one value of the language becomes a Rust value, and what is said when it cannot.

use std::ops::Range;

use crate::diag::Span;

use super::suggest;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub it: T,
    /// Where the value stands (the literal with its quotes).
    pub span: Span,
}

/// A plain value of the language, free of the kdl crate.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// `#true` or `#false`.
    Boolean(bool),
    /// `#null`.
    Null,
}

/// Why a value is not what its place asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Bad {
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// The words at the place.
    pub label: String,
    /// What to do.
    pub help: Option<String>,
    /// The part of the text value that is wrong, in bytes; `None` is all of it.
    pub part: Option<Range<usize>>,
}

/// A format that the schema names.
pub trait Scalar: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// What is wrong with it; the reader turns it into a diagnostic at the value's place.
    fn read(value: &Plain) -> Result<Self, Bad>;
}

/// The longest span of time a site may name: a hundred years, as in scripts.
const LONGEST_DURATION: std::time::Duration = std::time::Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A span of time, from text with a unit: `"250ms" "5s" "10m" "24h" "7d"`, parts add up (`"1h 30m"`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duration(pub std::time::Duration);

/// A number of bytes, from text with a unit: `"64KiB" "1MiB" "2GiB"` (also `B`, `KB` = 1000).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl Bad {
    /// A value of the wrong type: `article` says what it is.
    pub fn kind(wanted: &str, found: &Plain) -> Self {
        Self {
            message: format!("this must be {wanted}, not {}", found.kind()),
            label: format!("this is {}", found.kind()),
            help: None,
            part: None,
        }
    }

    /// A word that is none of the possible ones: `what` they are, without an article.
    pub fn one_of(what: &str, found: &str, known: &[&str]) -> Self {
        Self {
            message: format!("there is no {what} `{found}`"),
            label: format!("not a {what}"),
            help: suggest::help(found, known.iter().copied()),
            part: None,
        }
    }

    fn part(message: String, label: &str, help: &str, part: Range<usize>) -> Self {
        Self { message, label: label.to_owned(), help: Some(help.to_owned()), part: Some(part) }
    }
}

impl Plain {
    /// What it is, with an article.
    pub fn kind(&self) -> &'static str {
        match self {
            Plain::Text(_) => "text",
            Plain::Integer(_) => "a whole number",
            Plain::Float(_) => "a number with a fraction",
            Plain::Boolean(_) => "#true or #false",
            Plain::Null => "#null",
        }
    }
}

impl Scalar for Plain {
    fn read(value: &Plain) -> Result<Self, Bad> {
        Ok(value.clone())
    }
}

impl Scalar for String {
    fn read(value: &Plain) -> Result<Self, Bad> {
        match value {
            Plain::Text(text) => Ok(text.clone()),
            other => Err(Bad { help: Some("put it in quotes".to_owned()), ..Bad::kind("text", other) }),
        }
    }
}

impl Scalar for bool {
    fn read(value: &Plain) -> Result<Self, Bad> {
        match value {
            Plain::Boolean(truth) => Ok(*truth),
            other => Err(Bad { help: Some("write #true or #false".to_owned()), ..Bad::kind("#true or #false", other) }),
        }
    }
}

impl Scalar for f64 {
    fn read(value: &Plain) -> Result<Self, Bad> {
        match value {
            Plain::Float(number) => Ok(*number),
            Plain::Integer(number) => Ok(*number as f64),
            other => Err(Bad::kind("a number", other)),
        }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Scalar for $type {
            fn read(value: &Plain) -> Result<Self, Bad> {
                let Plain::Integer(number) = value else { return Err(Bad::kind("a whole number", value)) };
                <$type>::try_from(*number).map_err(|_| Bad {
                    message: format!("this must be from {} to {}", <$type>::MIN, <$type>::MAX),
                    label: "out of range".to_owned(),
                    help: None,
                    part: None,
                })
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i32 i64 i128);

/// A number and its unit inside a text, as byte ranges.
struct Part {
    number: Range<usize>,
    unit: Range<usize>,
}

/// Cuts `"1h 30m"` into its parts. A text that holds none gives an empty list.
fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let blank = text[at..].len() - text[at..].trim_start().len();
        let number = at + blank;
        let digits = text[number..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len() - number);
        let unit = number + digits;
        let end = text[unit..].find(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
        let end = end.map_or(text.len(), |found| unit + found);
        if number < text.len() {
            parts.push(Part { number: number..unit, unit: unit..end });
        }
        at = end;
    }
    parts
}

/// What a kind of quantity is made of.
struct Quantity {
    /// Its name with an article.
    name: &'static str,
    /// Its units and what one of each is worth.
    units: &'static [(&'static str, u128)],
    /// The unit to propose for a bare number.
    usual: &'static str,
    /// How its units are told.
    help: &'static str,
}

const TIME: Quantity = Quantity {
    name: "a duration",
    units: &[
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
        ("d", 86_400_000_000_000),
    ],
    usual: "s",
    help: "the units are ms, s, m, h and d, as in \"1h 30m\"",
};

const BYTES: Quantity = Quantity {
    name: "a size",
    units: &[
        ("B", 1),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    usual: "B",
    help: "the units are B, KiB, MiB and GiB (KB is 1000 bytes), as in \"64KiB\"",
};

impl Quantity {
    /// The sum of the parts of a value, in the smallest unit.
    fn read(&self, value: &Plain) -> Result<u128, Bad> {
        let text = match value {
            Plain::Text(text) => text,
            Plain::Integer(number) => return Err(self.bare(&number.to_string())),
            Plain::Float(number) => return Err(self.bare(&number.to_string())),
            other => {
                return Err(Bad { help: Some(self.help.to_owned()), ..Bad::kind(self.name, other) });
            }
        };
        self.read_text(text)
    }

    fn read_text(&self, text: &str) -> Result<u128, Bad> {
        let parts = parts(text);
        if parts.is_empty() {
            return Err(Bad {
                message: format!("this is not {}", self.name),
                label: "nothing here".to_owned(),
                help: Some(self.help.to_owned()),
                part: None,
            });
        }
        let mut sum = 0_u128;
        for part in &parts {
            sum = sum.saturating_add(self.part(text, part)?);
        }
        Ok(sum)
    }

    fn bare(&self, number: &str) -> Bad {
        Bad {
            message: format!("{} needs a unit", self.name),
            label: "a number without a unit".to_owned(),
            help: Some(format!("write \"{number}{}\"; {}", self.usual, self.help)),
            part: None,
        }
    }

    fn part(&self, text: &str, part: &Part) -> Result<u128, Bad> {
        let (number, unit) = (&text[part.number.clone()], &text[part.unit.clone()]);
        if number.is_empty() {
            let message = format!("this is not {}", self.name);
            return Err(Bad::part(message, "a number is missing here", self.help, part.unit.clone()));
        }
        if unit.is_empty() {
            let help = self.unit_help(text);
            let message = format!("{} needs a unit", self.name);
            return Err(Bad::part(message, "a number without a unit", &help, part.number.clone()));
        }
        let Some((_, worth)) = self.units.iter().find(|(known, _)| *known == unit) else {
            let likely = self.units.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit));
            let help = likely.map_or(self.help.to_owned(), |(known, _)| format!("write {known}; {}", self.help));
            return Err(Bad::part(
                format!("`{unit}` is not a unit of {}", self.what()),
                "not a unit",
                &help,
                part.unit.clone(),
            ));
        };
        let number: f64 = number.parse().map_err(|_| {
            Bad::part(format!("`{number}` is not a number"), "not a number", self.help, part.number.clone())
        })?;
        // Text without a fraction stays exact up to 2^53 units, which is beyond any duration or size in use.
        Ok((number * *worth as f64).round() as u128)
    }

    /// The help for a number without a unit: a unit that stands apart from its number is put to it, else the usual one.
    fn unit_help(&self, text: &str) -> String {
        let joined: String = text.split_whitespace().collect();
        let meant = if parts(&joined).iter().all(|part| !part.unit.is_empty()) {
            self.spelled(&joined)
        } else {
            Some(format!("{}{}", text.trim(), self.usual)).filter(|meant| self.read_text(meant).is_ok())
        };
        meant.map_or(self.help.to_owned(), |meant| format!("write \"{meant}\"; {}", self.help))
    }

    /// A text with its units as they are spelled, when all of them are known.
    fn spelled(&self, text: &str) -> Option<String> {
        let mut spelled = String::new();
        for part in parts(text) {
            let unit = &text[part.unit];
            let (known, _) = self.units.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit))?;
            spelled.push_str(&text[part.number]);
            spelled.push_str(known);
        }
        self.read_text(&spelled).is_ok().then_some(spelled)
    }

    fn what(&self) -> &'static str {
        self.name.strip_prefix("a ").unwrap_or(self.name)
    }
}

impl Scalar for Duration {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let nanos = TIME.read(value)?;
        let limit = LONGEST_DURATION.as_nanos();
        match u64::try_from(nanos) {
            Ok(nanos) if u128::from(nanos) <= limit => Ok(Self(std::time::Duration::from_nanos(nanos))),
            _ => Err(Bad {
                message: "this is longer than 100 years".into(),
                label: "too long".into(),
                help: Some("write a shorter duration".into()),
                part: None,
            }),
        }
    }
}

impl Scalar for Size {
    fn read(value: &Plain) -> Result<Self, Bad> {
        let bytes = BYTES.read(value)?;
        Ok(Self(u64::try_from(bytes).unwrap_or(u64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Plain {
        Plain::Text(value.to_owned())
    }

    #[test]
    fn durations_add_up() {
        for (written, millis) in [
            ("250ms", 250),
            ("5s", 5_000),
            ("1h 30m", 5_400_000),
            ("1h30m", 5_400_000),
            ("1.5s", 1_500),
            ("7d", 604_800_000),
            ("0s", 0),
        ] {
            assert_eq!(
                Duration::read(&text(written)),
                Ok(Duration(std::time::Duration::from_millis(millis))),
                "{written}"
            );
        }
    }

    #[test]
    fn sizes_have_two_kinds_of_units() {
        for (written, bytes) in [("64KiB", 65_536), ("1MiB", 1 << 20), ("2GiB", 2 << 30), ("10KB", 10_000), ("0B", 0)] {
            assert_eq!(Size::read(&text(written)), Ok(Size(bytes)), "{written}");
        }
    }

    #[test]
    fn the_wrong_part_is_told() {
        let part = |value: &str| Duration::read(&text(value)).expect_err(value).part;
        assert_eq!(part("30d12x"), Some(5..6));
        assert_eq!(part("5"), Some(0..1));
        assert_eq!(part("s"), Some(0..1));
        assert_eq!(part("1.2.3s"), Some(0..5));
        assert_eq!(part("5s é"), Some(3..5));
        assert_eq!(part(""), None);
        assert_eq!(part("  "), None);
        assert_eq!(Size::read(&text("64kib")).expect_err("case").part, Some(2..5));
        assert!(Duration::read(&Plain::Integer(5)).expect_err("bare").help.expect("help").contains("\"5s\""));
    }

    #[test]
    fn a_unit_apart_from_its_number_is_put_to_it() {
        let told = |bad: Option<Bad>| bad.and_then(|bad| bad.help).unwrap_or_default();
        for (written, meant) in
            [("5 s", "5s"), ("1 h 30 m", "1h30m"), (" 5 s ", "5s"), ("5 S", "5s"), ("5", "5s"), ("1h 30", "1h 30s")]
        {
            let help = told(Duration::read(&text(written)).err());
            assert!(help.starts_with(&format!("write \"{meant}\";")), "{written}: {help}");
        }
        assert_eq!(told(Duration::read(&text("5 x")).err()), TIME.help);
        assert!(told(Size::read(&text("1 MiB")).err()).starts_with("write \"1MiB\";"));
        assert!(told(Size::read(&text("64 kib")).err()).starts_with("write \"64KiB\";"));
    }

    #[test]
    fn integers_know_their_range() {
        assert_eq!(u16::read(&Plain::Integer(80)), Ok(80));
        assert!(u16::read(&Plain::Integer(70_000)).is_err());
        assert!(u16::read(&text("80")).is_err());
    }
}
