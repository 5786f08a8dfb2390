//! The formats that the schema can name. Some are checked here; of the others only the owner of the node knows more.

use super::scalar::{Bad, Duration, Plain, Scalar, Size};

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A span of time with a unit.
    Duration,
    /// A number of bytes with a unit.
    Size,
    /// A name that Lua can use: letters, digits, dashes.
    Name,
    /// A path of the file system, relative to the file that names it.
    Path,
    /// A path with `*`.
    Glob,
    /// A file with Lua.
    Script,
    /// Lua.
    Lua,
    /// A path pattern of an endpoint.
    Route,
    /// An address to listen on.
    Address,
    /// An address or a network.
    Network,
    /// A regular expression.
    Regex,
    /// The name of a header.
    HeaderName,
    /// The type of a body, such as `text/html; charset=utf-8`.
    MediaType,
}

/// Every format and its name in the schema.
pub const FORMATS: &[(&str, Format)] = &[
    ("duration", Format::Duration),
    ("size", Format::Size),
    ("name", Format::Name),
    ("path", Format::Path),
    ("glob", Format::Glob),
    ("script", Format::Script),
    ("lua", Format::Lua),
    ("route", Format::Route),
    ("address", Format::Address),
    ("network", Format::Network),
    ("regex", Format::Regex),
    ("header-name", Format::HeaderName),
    ("media-type", Format::MediaType),
];

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Its name in the schema.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether its values are measured: durations and sizes.
    pub fn is_quantity(self) -> bool {
        matches!(self, Format::Duration | Format::Size)
    }

    /// How much a value is, in the smallest unit of the format; `None` when it is no quantity.
    pub fn measure(self, value: &Plain) -> Option<u128> {
        match self {
            Format::Duration => Duration::read(value).ok().map(|duration| duration.0.as_nanos()),
            Format::Size => Size::read(value).ok().map(|size| size.0.into()),
            _ => None,
        }
    }

    /// Checks a value, as far as that is possible without knowing the node.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(self, value: &Plain) -> Result<(), Bad> {
        match self {
            Format::Duration => Duration::read(value).map(|_| ()),
            Format::Size => Size::read(value).map(|_| ()),
            Format::Name => name(value),
            Format::HeaderName => header_name(value),
            Format::MediaType => media_type(value),
            Format::Path | Format::Glob | Format::Script => path(value),
            Format::Lua | Format::Route | Format::Address | Format::Network | Format::Regex => Ok(()),
        }
    }
}

fn text(value: &Plain) -> &str {
    match value {
        Plain::Text(text) => text,
        _ => "",
    }
}

fn bad(message: &str, label: &str, help: &str, part: Option<std::ops::Range<usize>>) -> Bad {
    Bad { message: message.to_owned(), label: label.to_owned(), help: Some(help.to_owned()), part }
}

fn name(value: &Plain) -> Result<(), Bad> {
    let text = text(value);
    let help = "a name begins with a letter and goes on with letters, digits, `-` or `_`";
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err(bad("this is not a name", "it does not begin with a letter", help, None));
    }
    match text.char_indices().find(|(_, c)| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))) {
        Some((at, c)) => Err(bad("this is not a name", "not in a name", help, Some(at..at + c.len_utf8()))),
        None => Ok(()),
    }
}

/// Whether a character may stand in a token of HTTP.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// A type, a slash and a subtype, then parameters that only need to be sendable.
fn media_type(value: &Plain) -> Result<(), Bad> {
    let text = text(value);
    let help = "write a type such as \"text/html; charset=utf-8\"";
    let message = "this is not the type of a body";
    if let Some((at, c)) = text.char_indices().find(|(_, c)| !matches!(c, ' '..='~')) {
        return Err(bad(message, "cannot stand in a header", help, Some(at..at + c.len_utf8())));
    }
    let essence = text.split(';').next().unwrap_or_default().trim_end_matches(' ');
    let is_token = |part: &str| !part.is_empty() && part.chars().all(is_token);
    match essence.split_once('/') {
        Some((kind, subtype)) if is_token(kind) && is_token(subtype) => Ok(()),
        _ if text.is_empty() => Err(bad(message, "nothing here", help, None)),
        _ => Err(bad(message, "not a type", help, None)),
    }
}

fn header_name(value: &Plain) -> Result<(), Bad> {
    let text = text(value);
    let help = "a header's name is made of letters, digits and `-`";
    match text.char_indices().find(|(_, c)| !is_token(*c)) {
        Some((at, c)) => {
            Err(bad("this is not the name of a header", "not in a header's name", help, Some(at..at + c.len_utf8())))
        }
        None if text.is_empty() => Err(bad("this is not the name of a header", "empty", help, None)),
        None => Ok(()),
    }
}

fn path(value: &Plain) -> Result<(), Bad> {
    let text = text(value);
    if text.is_empty() {
        return Err(bad("this path is empty", "nothing here", "write a path, relative to this file", None));
    }
    match text.find('\0') {
        Some(at) => Err(bad("this is not a path", "a NUL byte", "remove it", Some(at..at + 1))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_header_names_point_at_the_wrong_character() {
        let part = |format: Format, value: &str| format.check(&Plain::Text(value.to_owned())).err().map(|bad| bad.part);
        assert_eq!(part(Format::Name, "page-size"), None);
        assert_eq!(part(Format::Name, "page size"), Some(Some(4..5)));
        assert_eq!(part(Format::Name, "9"), Some(None));
        assert_eq!(part(Format::HeaderName, "X-Ä"), Some(Some(2..4)));
        for fine in ["text/plain", "text/html; charset=utf-8", "application/vnd.api+json", "a/b;c=\"d e\""] {
            assert_eq!(part(Format::MediaType, fine), None, "{fine}");
        }
        for wrong in ["", "text", "/", "text/", "text /plain", " text/plain", "text/a b"] {
            assert_eq!(part(Format::MediaType, wrong), Some(None), "{wrong}");
        }
        assert_eq!(part(Format::MediaType, "a/b\nc"), Some(Some(3..4)));
        assert_eq!(part(Format::MediaType, "a/b; c=é"), Some(Some(7..9)));
        assert_eq!(part(Format::Path, "a/b"), None);
        assert_eq!(part(Format::Path, ""), Some(None));
    }
}
