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

fn header_name(value: &Plain) -> Result<(), Bad> {
    let text = text(value);
    let help = "a header's name is made of letters, digits and `-`";
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    match text.char_indices().find(|(_, c)| !token(*c)) {
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
        assert_eq!(part(Format::Path, "a/b"), None);
        assert_eq!(part(Format::Path, ""), Some(None));
    }
}
