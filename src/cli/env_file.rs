//! Files of environment variables: `KEY=VALUE` lines, as other tools write them.

use std::collections::BTreeMap;

/// Reads the text of such a file. Empty lines and those that begin with `#` say nothing; `export ` before the name and
/// quotes around the value are taken off. A name given twice has the last of its values.
///
/// # Errors
/// The 1-based line that cannot be read, and why.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, String>, (usize, &'static str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.lines().map(str::trim).enumerate();
    let told = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    told.map(|(index, line)| variable(line).map_err(|why| (index + 1, why))).collect()
}

fn variable(line: &str) -> Result<(String, String), &'static str> {
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, value) = line.split_once('=').ok_or("this is not KEY=VALUE")?;
    let name = name.trim_end();
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(letter) {
        return Err("the name of a variable is made of letters, digits and `_`, and does not begin with a digit");
    }
    Ok((name.to_owned(), unquoted(value.trim_start())?))
}

/// The value without its quotes; without quotes a ` #` begins a comment.
fn unquoted(value: &str) -> Result<String, &'static str> {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let end = if value.starts_with('#') { Some(0) } else { value.find(" #") };
        return Ok(value[..end.unwrap_or(value.len())].trim_end().to_owned());
    };
    let (inner, rest) = value[1..].split_once(quote).ok_or("the quote is never closed")?;
    match rest.trim_start() {
        "" => Ok(inner.to_owned()),
        rest if rest.starts_with('#') => Ok(inner.to_owned()),
        _ => Err("something follows the closing quote"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_variables() {
        for (line, name, value) in [
            ("A=b", "A", "b"),
            ("  export A = b c ", "A", "b c"),
            ("A=", "A", ""),
            ("A=\"b # c\"  # d", "A", "b # c"),
            ("A='b\"c'", "A", "b\"c"),
            ("A=b#c # d", "A", "b#c"),
            ("A= # nothing", "A", ""),
            ("A=b=c", "A", "b=c"),
            ("# B=1\n\nA=b\r\n", "A", "b"),
            ("A=1\nA=2", "A", "2"),
        ] {
            assert_eq!(parse(line), Ok(BTreeMap::from([(name.to_owned(), value.to_owned())])), "{line:?}");
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told() {
        for (text, line) in [("A", 1), ("A=1\n\n=2", 3), ("1A=2", 1), ("A B=2", 1), ("A=\"b", 1), ("A='b' c", 1)] {
            assert_eq!(parse(text).map_err(|(line, _)| line), Err(line), "{text:?}");
        }
    }
}
