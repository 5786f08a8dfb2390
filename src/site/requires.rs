//! Finds what a script requires, without running it: the names of `require "x"` calls, comments and texts left out.

use std::ops::Range;

/// What a script requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Requires {
    /// Names written as literals, with the bytes of the literal.
    pub(super) names: Vec<(String, Range<usize>)>,
    /// Names that the script can do without: `pcall(require, "x")`.
    pub(super) optional: Vec<String>,
    /// Whether some call computes its name, so that any module may be meant.
    pub(super) computed: bool,
}

/// Looks for `require` calls in Lua text.
pub(super) fn scan(text: &str) -> Requires {
    let mut found = Requires::default();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'-' if bytes[at..].starts_with(b"--") => at = skip_comment(bytes, at),
            b'"' | b'\'' | b'`' => at = skip_quoted(bytes, at),
            b'[' => at = long_bracket_end(bytes, at).unwrap_or(at + 1),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let end = word_end(bytes, at);
                let field = at > 0 && matches!(bytes[at - 1], b'.' | b':');
                at = if &text[at..end] == "require" && !field { read_call(text, end, &mut found) } else { end };
            }
            _ => at += 1,
        }
    }
    found
}

/// Reads what follows the word `require`; gives where to go on.
fn read_call(text: &str, after: usize, found: &mut Requires) -> usize {
    let bytes = text.as_bytes();
    let mut at = skip_space(bytes, after);
    let call = bytes.get(at) == Some(&b'(');
    if call {
        at = skip_space(bytes, at + 1);
    }
    match bytes.get(at) {
        Some(b'"' | b'\'') => {
            let end = skip_quoted(bytes, at);
            // An unclosed text ends the script anyway, so its name does not matter.
            let name = text.get(at + 1..end - 1).unwrap_or_default();
            let follows = bytes.get(skip_space(bytes, end));
            if call && follows != Some(&b')') || name.contains('\\') {
                found.computed = true;
            } else {
                found.names.push((name.to_owned(), at..end));
            }
            end
        }
        Some(_) if call => {
            found.computed = true;
            at
        }
        Some(b',') => read_handed_on(text, at, found),
        // `local load = require` hands the function on, and anything may be asked of it.
        _ => {
            found.computed = true;
            at
        }
    }
}

/// Reads what follows `require,`: in `pcall(require, "x")` the next value is the name.
fn read_handed_on(text: &str, comma: usize, found: &mut Requires) -> usize {
    let bytes = text.as_bytes();
    let at = skip_space(bytes, comma + 1);
    if !matches!(bytes.get(at), Some(b'"' | b'\'')) {
        found.computed = true;
        return at;
    }
    let end = skip_quoted(bytes, at);
    let name = text.get(at + 1..end - 1).unwrap_or_default();
    let whole = bytes.get(skip_space(bytes, end)) == Some(&b')') && !name.contains('\\');
    match whole {
        true => found.optional.push(name.to_owned()),
        false => found.computed = true,
    }
    end
}

fn word_end(bytes: &[u8], from: usize) -> usize {
    let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    from + bytes[from..].iter().take_while(|byte| word(byte)).count()
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let from = from.min(bytes.len());
    from + bytes[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

fn skip_comment(bytes: &[u8], from: usize) -> usize {
    if let Some(end) = long_bracket_end(bytes, from + 2) {
        return end;
    }
    from + bytes[from..].iter().take_while(|byte| **byte != b'\n').count()
}

fn skip_quoted(bytes: &[u8], from: usize) -> usize {
    let quote = bytes[from];
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            b'\n' if quote != b'`' => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of a `[[ … ]]` or `[=[ … ]=]` that begins at `from`.
fn long_bracket_end(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let level = rest.get(1..)?.iter().take_while(|byte| **byte == b'=').count();
    if rest.first() != Some(&b'[') || rest.get(level + 1) != Some(&b'[') {
        return None;
    }
    let close: Vec<u8> = [b"]".as_slice(), &vec![b'='; level], b"]"].concat();
    let body = from + level + 2;
    let end = bytes[body..].windows(close.len()).position(|window| window == close);
    Some(end.map_or(bytes.len(), |at| body + at + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_names_are_found_and_only_they() {
        let cases: &[(&str, &[&str], bool)] = &[
            ("local a = require \"a\"", &["a"], false),
            ("local a = require('lib.b').c", &["lib.b"], false),
            ("require ( \"a\" ) require'b'", &["a", "b"], false),
            ("-- require \"a\"\n--[[ require 'b' ]] return 1", &[], false),
            ("return 'require \"a\"' .. [[require 'b']] .. [=[ ]] require 'c' ]=]", &[], false),
            ("return `require \"a\"`", &[], false),
            ("return x.require('a') .. y:require('b')", &[], false),
            ("require(name)", &[], true),
            ("require('a' .. name)", &[], true),
            ("local load = require", &[], true),
            ("require 'a\\x'", &[], true),
            ("prerequire 'a' require_all 'b'", &[], false),
            ("require \"unclosed", &["unclose"], false),
            ("require '", &[""], false),
            ("-", &[], false),
        ];
        for (text, names, computed) in cases {
            let found = scan(text);
            let found_names: Vec<&str> = found.names.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!((found_names.as_slice(), found.computed), (*names, *computed), "{text}");
        }
    }

    #[test]
    fn names_that_may_be_missing_are_told_apart() {
        let cases: &[(&str, &[&str], bool)] = &[
            ("local ok, a = pcall(require, \"a\")", &["a"], false),
            ("pcall( require , 'lib.b' )", &["lib.b"], false),
            ("pcall(require, name)", &[], true),
            ("pcall(require, 'a' .. name)", &[], true),
            ("f(require, 'a', 'b')", &[], true),
            ("pcall(require, 'a", &[], true),
        ];
        for (text, optional, computed) in cases {
            let found = scan(text);
            assert_eq!(
                (found.optional.as_slice(), found.computed),
                (&*optional.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), *computed),
                "{text}"
            );
            assert!(found.names.is_empty(), "{text}");
        }
    }
}
