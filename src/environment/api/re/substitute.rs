//! `re.gsub`: what takes the place of a match.

use std::ops::Range;

use mlua::{Function, Lua, LuaString, Result, Table, Value};
use regex::bytes::{Captures, Match, Regex};

use crate::environment::api::arguments::{Bytes, bytes, kind, misuse, propose, whole};
use crate::environment::api::re::{Arguments, Reach, results, string};

/// What takes the place of a match.
enum Replacement {
    /// Text with groups in it.
    Template(Template),
    /// Asked for the first group, or the whole match.
    Table(Table),
    /// Called with what the match gives.
    Function(Function),
}

/// `gsub(text, pattern, replacement, n)`: the new text, and how many matches were replaced.
pub(super) fn gsub(
    lua: &Lua,
    reach: &Reach,
    (subject, pattern, with, limit): Arguments,
) -> Result<(LuaString, usize)> {
    let subject = bytes("re.gsub", "text", &subject)?;
    let regex = reach.compiled("re.gsub", &pattern)?;
    let replacement = replacement(&regex, with)?;
    let limit = match &limit {
        Value::Nil => usize::MAX,
        limit => usize::try_from(whole(
            "re.gsub",
            "the most replacements",
            limit,
            0..=i64::MAX,
        )?)
        .unwrap_or(usize::MAX),
    };
    // A function may wait, and what is borrowed of Lua must not be held meanwhile.
    let subject = match replacement {
        Replacement::Function(_) => Bytes::Owned(subject.to_vec()),
        _ => subject,
    };
    let mut replaced = Replaced {
        text: Vec::with_capacity(subject.len()),
        most: reach.most(),
    };
    let count = replace(lua, &subject, &regex, &replacement, limit, &mut replaced)?;
    Ok((lua.create_string(replaced.text)?, count))
}

fn replacement(regex: &Regex, value: Value) -> Result<Replacement> {
    match value {
        Value::Table(table) => Ok(Replacement::Table(table)),
        Value::Function(function) => Ok(Replacement::Function(function)),
        Value::String(text) => Template::parse(regex, &text.as_bytes()).map(Replacement::Template),
        other => {
            let other = kind(&other);
            Err(misuse(
                "re.gsub",
                format_args!("replacement must be a string, a table or a function, not {other}"),
            ))
        }
    }
}

/// The new text so far.
struct Replaced {
    text: Vec<u8>,
    /// How long it may become.
    most: usize,
}

impl Replaced {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.text.len() + bytes.len() > self.most {
            return Err(misuse(
                "re.gsub",
                "the result is larger than the memory of a runspace",
            ));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
    }
}

fn replace(
    lua: &Lua,
    subject: &[u8],
    regex: &Regex,
    replacement: &Replacement,
    limit: usize,
    out: &mut Replaced,
) -> Result<usize> {
    let (mut done, mut count) = (0, 0);
    for captures in regex.captures_iter(subject).take(limit) {
        let Some(found) = captures.get(0) else { break };
        out.push(subject.get(done..found.start()).unwrap_or_default())?;
        put(lua, &captures, found, replacement, out)?;
        done = found.end();
        count += 1;
    }
    out.push(subject.get(done..).unwrap_or_default())?;
    Ok(count)
}

/// Puts what takes the place of one match; the match itself when a table or function gives nil or false.
fn put(
    lua: &Lua,
    captures: &Captures<'_>,
    found: Match<'_>,
    replacement: &Replacement,
    out: &mut Replaced,
) -> Result<()> {
    let given: Value = match replacement {
        Replacement::Template(template) => return template.put(captures, out),
        Replacement::Table(table) => {
            table.get(string(lua, captures.get(usize::from(captures.len() > 1)))?)?
        }
        Replacement::Function(function) => function.call(results(lua, captures)?)?,
    };
    match &given {
        Value::Nil | Value::Boolean(false) => out.push(found.as_bytes()),
        Value::String(text) => out.push(&text.as_bytes()),
        Value::Integer(_) | Value::Number(_) => out.push(given.to_string()?.as_bytes()),
        other => Err(misuse(
            "re.gsub",
            format_args!("a replacement must be a string, not {}", kind(other)),
        )),
    }
}

/// Text with `$1`, `$name`, `${name}` and `$$` in it.
struct Template {
    text: Vec<u8>,
    parts: Vec<Part>,
}

enum Part {
    Text(Range<usize>),
    Group(usize),
}

impl Template {
    /// Finds the groups in a text.
    fn parse(regex: &Regex, text: &[u8]) -> Result<Self> {
        let mut parts = Vec::new();
        // What is before `plain` is in the parts; what is before `at` has no further group.
        let (mut plain, mut at) = (0, 0);
        while let Some(offset) = text.iter().skip(at).position(|byte| *byte == b'$') {
            let dollar = at + offset;
            let rest = text.get(dollar + 1..).unwrap_or_default();
            at = dollar + 1;
            if rest.first() == Some(&b'$') {
                parts.push(Part::Text(plain..at));
                at += 1;
                plain = at;
            } else if let Some((name, length)) = reference(rest) {
                parts.push(Part::Text(plain..dollar));
                parts.push(Part::Group(group(regex, name)?));
                at += length;
                plain = at;
            }
        }
        parts.push(Part::Text(plain..text.len()));
        Ok(Self {
            text: text.to_vec(),
            parts,
        })
    }

    fn put(&self, captures: &Captures<'_>, out: &mut Replaced) -> Result<()> {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(range) => out.push(self.text.get(range.clone()).unwrap_or_default()),
            Part::Group(group) => captures
                .get(*group)
                .map_or(Ok(()), |found| out.push(found.as_bytes())),
        })
    }
}

/// The name of the group behind a dollar, and how many bytes it takes there: `name`, or `{name}`.
fn reference(rest: &[u8]) -> Option<(&[u8], usize)> {
    if let Some(braced) = rest.strip_prefix(b"{") {
        let end = braced.iter().position(|byte| *byte == b'}')?;
        return Some((braced.get(..end)?, end + 2));
    }
    let end = rest
        .iter()
        .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_')
        .unwrap_or(rest.len());
    Some((rest.get(..end)?, end)).filter(|_| end > 0)
}

/// The number of a group.
fn group(regex: &Regex, name: &[u8]) -> Result<usize> {
    let name = String::from_utf8_lossy(name);
    let numbered = name
        .parse::<usize>()
        .ok()
        .filter(|number| *number < regex.captures_len());
    let named = || {
        regex
            .capture_names()
            .position(|known| known == Some(&*name))
    };
    numbered.or_else(named).ok_or_else(|| {
        let known: Vec<&str> = regex.capture_names().flatten().collect();
        let highest = regex.captures_len() - 1;
        let end = if known.is_empty() { String::new() } else { propose(&name, known.into_iter()) };
        misuse("re.gsub", format_args!("the replacement names a group {name:?}, but those of the pattern are 0 to {highest}{end}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::environment::api::re::MODULE;
    use crate::environment::api::testing::{answer, check, host, state_of};

    #[test]
    fn gsub() {
        check(
            &[MODULE],
            &[
                ("re.gsub('hello world', 'o', '0')", "hell0 w0rld, 2"),
                ("re.gsub('hello world', 'o', '0', 1)", "hell0 world, 1"),
                ("re.gsub('hello world', 'o', '0', 0)", "hello world, 0"),
                (
                    "re.gsub('john smith', '(\\\\w+) (\\\\w+)', '$2 ${1}')",
                    "smith john, 1",
                ),
                (
                    "re.gsub('john', '(?P<first>\\\\w)(\\\\w+)', '$first.')",
                    "j., 1",
                ),
                ("re.gsub('5', '\\\\d', '$$$0')", "$5, 1"),
                ("re.gsub('abc', '', '-')", "-a-b-c-, 4"),
                ("re.gsub('abc', '\\\\w', string.upper)", "ABC, 3"),
                (
                    "re.gsub('abc', '\\\\w', { a = 'x', b = false, c = 3 })",
                    "xb3, 3",
                ),
                ("re.gsub('$a $b', '\\\\$(\\\\w)', { a = 'x' })", "x $b, 2"),
                (
                    "re.gsub('a1', '(\\\\w)(\\\\d)', function(letter, digit) return digit .. letter end)",
                    "1a, 1",
                ),
                ("re.gsub('abc', 'b', function() end)", "abc, 1"),
                (
                    "re.gsub('abc', 'b', function() return {} end)",
                    "raises re.gsub: a replacement must be a string, not a table",
                ),
                (
                    "re.gsub('abc', 'b', function() error('own', 0) end)",
                    "raises own",
                ),
                (
                    "re.gsub('abc', 'b', true)",
                    "raises re.gsub: replacement must be a string, a table or a function, not a boolean",
                ),
                (
                    "re.gsub('abc', 'b', 'x', -1)",
                    "raises re.gsub: the most replacements must be a whole number from 0 to 9223372036854775807, not -1",
                ),
            ],
        );
    }

    #[test]
    fn groups_in_a_replacement() {
        check(
            &[MODULE],
            &[
                ("re.gsub('ab', '(a)(b)', '$2$1$0')", "baab, 1"),
                ("re.gsub('ab', '(a)(x)?b', '[$2]')", "[], 1"),
                ("re.gsub('a', 'a', 'costs 5$')", "costs 5$, 1"),
                ("re.gsub('a', 'a', '$ $. ${ $-')", "$ $. ${ $-, 1"),
                ("re.gsub('a', 'a', '$$1')", "$1, 1"),
                ("re.gsub('a', '(a)', '${1}1')", "a1, 1"),
                ("re.gsub('a', 'a', '')", ", 1"),
                (
                    "re.gsub('a', 'a', '$1')",
                    "raises re.gsub: the replacement names a group \"1\", but those of the pattern are 0 to 0",
                ),
                (
                    "re.gsub('a', '(a)', '$1st')",
                    "raises re.gsub: the replacement names a group \"1st\", but those of the pattern are 0 to 1",
                ),
                (
                    "re.gsub('a', '(?P<year>a)', '$yaer')",
                    "raises re.gsub: the replacement names a group \"yaer\", but those of the pattern are 0 to 1; did you mean \"year\"?",
                ),
                (
                    "re.gsub('a', '(a)', '${}')",
                    "raises re.gsub: the replacement names a group \"\", but those of the pattern are 0 to 1",
                ),
            ],
        );
    }

    #[test]
    fn a_result_cannot_outgrow_the_memory_of_a_runspace() {
        let lua = state_of(&[MODULE], &host());
        for code in [
            "re.gsub(string.rep('x', 2^20), '.+', string.rep('$0', 1000))",
            "re.gsub(string.rep('x', 2^12), '.', string.rep('y', 2^15))",
            "re.gsub(string.rep('x', 2^12), '.', { x = string.rep('y', 2^15) })",
        ] {
            assert_eq!(
                answer(&lua, code),
                "raises re.gsub: the result is larger than the memory of a runspace",
                "{code}"
            );
        }
    }
}
