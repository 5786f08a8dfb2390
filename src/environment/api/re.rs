//! `re`: regular expressions that take time linear in the text, whatever the pattern.
//!
//! The functions are named and called as those of `string`; the patterns are those of the `regex` crate and see bytes.

use std::sync::Arc;

use mlua::{Function, Lua, MultiValue, Result, Table, Value, Variadic};
use regex::bytes::{Captures, Match, Regex};

use crate::environment::api::arguments::{Bytes, Options, bytes, kind, misuse, text, whole};
use crate::environment::api::pattern::Patterns;
use crate::environment::api::{Host, Module, ProcessHost};

/// The module.
pub const MODULE: Module = Module {
    name: "re",
    install,
};

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("match", with(lua, host, matched)?)?;
    module.raw_set("find", with(lua, host, find)?)?;
    module.raw_set("gmatch", with(lua, host, gmatch)?)?;
    module.raw_set("gsub", with(lua, host, gsub)?)?;
    module.raw_set("split", with(lua, host, split)?)?;
    Ok(Value::Table(module))
}

/// The arguments of every function: text, pattern, and two more.
type Arguments = (Value, Value, Value, Value);

/// A function of Lua that can reach the compiled patterns.
fn with<R: mlua::IntoLuaMulti + 'static>(
    lua: &Lua,
    host: &Arc<Host>,
    function: fn(&Lua, &Patterns, Arguments) -> Result<R>,
) -> Result<Function> {
    let process: Arc<ProcessHost> = Arc::clone(&host.process);
    lua.create_function(move |lua, arguments| function(lua, &process.patterns, arguments))
}

/// The pattern of an argument, compiled.
fn compiled(function: &str, patterns: &Patterns, pattern: &Value) -> Result<Arc<Regex>> {
    let pattern = text(function, "pattern", pattern)?;
    patterns.get(&pattern).map_err(|why| misuse(function, why))
}

/// Where to begin, from an argument that counts as `string.find` does: from 1, negative from the end.
fn start(function: &str, init: &Value, length: usize) -> Result<Option<usize>> {
    let init = match init {
        Value::Nil => 1,
        init => whole(function, "init", init, i64::MIN..=i64::MAX)?,
    };
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let begin = if init < 0 {
        (length + 1).saturating_add(init).max(1)
    } else {
        init.max(1)
    };
    Ok(usize::try_from(begin - 1)
        .ok()
        .filter(|_| begin <= length + 1))
}

fn matched(
    lua: &Lua,
    patterns: &Patterns,
    (subject, pattern, init, _): Arguments,
) -> Result<MultiValue> {
    let subject = bytes("re.match", "text", &subject)?;
    let regex = compiled("re.match", patterns, &pattern)?;
    let Some(start) = start("re.match", &init, subject.len())? else {
        return nothing();
    };
    match regex.captures_at(&subject, start) {
        Some(captures) => results(lua, &captures),
        None => nothing(),
    }
}

fn find(
    lua: &Lua,
    patterns: &Patterns,
    (subject, pattern, init, _): Arguments,
) -> Result<MultiValue> {
    let subject = bytes("re.find", "text", &subject)?;
    let regex = compiled("re.find", patterns, &pattern)?;
    let Some(start) = start("re.find", &init, subject.len())? else {
        return nothing();
    };
    let Some(captures) = regex.captures_at(&subject, start) else {
        return nothing();
    };
    let mut answers = MultiValue::new();
    if let Some(whole) = captures.get(0) {
        answers.push_back(integer(whole.start() + 1));
        answers.push_back(integer(whole.end()));
    }
    for group in captures.iter().skip(1) {
        answers.push_back(string(lua, group)?);
    }
    Ok(answers)
}

fn nothing() -> Result<MultiValue> {
    Ok(MultiValue::from_iter([Value::Nil]))
}

fn integer(number: usize) -> Value {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn string(lua: &Lua, found: Option<Match<'_>>) -> Result<Value> {
    found.map_or(Ok(Value::Nil), |found| {
        lua.create_string(found.as_bytes()).map(Value::String)
    })
}

/// What a match gives: its groups, or all of it when the pattern has none. A group that took no part is nil.
fn results(lua: &Lua, captures: &Captures<'_>) -> Result<MultiValue> {
    let groups = usize::from(captures.len() > 1);
    captures
        .iter()
        .skip(groups)
        .map(|group| string(lua, group))
        .collect()
}

fn gmatch(lua: &Lua, patterns: &Patterns, (subject, pattern, _, _): Arguments) -> Result<Function> {
    let subject = bytes("re.gmatch", "text", &subject)?.to_vec();
    let regex = compiled("re.gmatch", patterns, &pattern)?;
    let mut next = Some(0);
    lua.create_function_mut(move |lua, _: Variadic<Value>| {
        let Some(captures) = next.and_then(|at| regex.captures_at(&subject, at)) else {
            next = None;
            return nothing();
        };
        next = after(&captures, next);
        results(lua, &captures)
    })
}

/// Where the search goes on after a match: behind it, one byte further when it was empty.
fn after(captures: &Captures<'_>, from: Option<usize>) -> Option<usize> {
    let found = captures.get(0)?;
    let length = found.end() + usize::from(found.is_empty());
    from.map(|_| length)
}

fn split(
    lua: &Lua,
    patterns: &Patterns,
    (subject, pattern, options, _): Arguments,
) -> Result<Table> {
    let subject = bytes("re.split", "text", &subject)?;
    let regex = compiled("re.split", patterns, &pattern)?;
    let limit = Options::read("re.split", &options, &["limit"])?.whole("limit", 1..=i64::MAX)?;
    let limit = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    let parts = lua.create_table()?;
    for (index, part) in regex.splitn(&subject, limit).enumerate() {
        parts.raw_set(index + 1, lua.create_string(part)?)?;
    }
    Ok(parts)
}

/// What takes the place of a match.
enum Replacement {
    /// Text, with `$1`, `${name}` and `$$`.
    Template(Vec<u8>),
    /// Asked for the first group, or the whole match.
    Table(Table),
    /// Called with what the match gives.
    Function(Function),
}

fn replacement(value: Value) -> Result<Replacement> {
    match value {
        Value::Table(table) => Ok(Replacement::Table(table)),
        Value::Function(function) => Ok(Replacement::Function(function)),
        Value::String(text) => Ok(Replacement::Template(text.as_bytes().to_vec())),
        other => Err(misuse(
            "re.gsub",
            format_args!(
                "replacement must be a string, a table or a function, not {}",
                kind(&other)
            ),
        )),
    }
}

fn gsub(
    lua: &Lua,
    patterns: &Patterns,
    (subject, pattern, with, limit): Arguments,
) -> Result<(mlua::LuaString, usize)> {
    let subject = bytes("re.gsub", "text", &subject)?;
    let regex = compiled("re.gsub", patterns, &pattern)?;
    let replacement = replacement(with)?;
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
    let (replaced, count) = replace(lua, &subject, &regex, &replacement, limit)?;
    Ok((lua.create_string(replaced)?, count))
}

fn replace(
    lua: &Lua,
    subject: &[u8],
    regex: &Regex,
    replacement: &Replacement,
    limit: usize,
) -> Result<(Vec<u8>, usize)> {
    let mut replaced = Vec::with_capacity(subject.len());
    let (mut done, mut count) = (0, 0);
    for captures in regex.captures_iter(subject).take(limit) {
        let Some(found) = captures.get(0) else { break };
        replaced.extend_from_slice(&subject[done..found.start()]);
        put(lua, &captures, found, replacement, &mut replaced)?;
        done = found.end();
        count += 1;
    }
    replaced.extend_from_slice(&subject[done..]);
    Ok((replaced, count))
}

/// Puts what takes the place of one match; the match itself when a table or function gives nil or false.
fn put(
    lua: &Lua,
    captures: &Captures<'_>,
    found: Match<'_>,
    replacement: &Replacement,
    out: &mut Vec<u8>,
) -> Result<()> {
    let given: Value = match replacement {
        Replacement::Template(template) => {
            captures.expand(template, out);
            return Ok(());
        }
        Replacement::Table(table) => {
            table.get(string(lua, captures.get(usize::from(captures.len() > 1)))?)?
        }
        Replacement::Function(function) => function.call(results(lua, captures)?)?,
    };
    match &given {
        Value::Nil | Value::Boolean(false) => out.extend_from_slice(found.as_bytes()),
        Value::String(text) => out.extend_from_slice(&text.as_bytes()),
        Value::Integer(_) | Value::Number(_) => {
            out.extend_from_slice(given.to_string()?.as_bytes())
        }
        other => {
            return Err(misuse(
                "re.gsub",
                format_args!("a replacement must be a string, not {}", kind(other)),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn match_and_find() {
        check(
            &[super::MODULE],
            &[
                (
                    "re.match('key = value', '(\\\\w+) = (\\\\w+)')",
                    "key, value",
                ),
                ("re.match('abc', 'b.')", "bc"),
                ("re.match('abc', 'x')", "nil"),
                ("re.match('abc', '(a)|(x)')", "a, nil"),
                ("re.match('abcabc', 'a', 2)", "a"),
                ("re.match('abc', '^b', 2)", "nil"),
                ("re.match('abc', 'c', -1)", "c"),
                ("re.match('abc', '', 4)", ""),
                ("re.match('abc', '', 5)", "nil"),
                ("re.match('', '')", ""),
                ("re.match('ABC', '(?i)b')", "B"),
                ("re.match('é', '.')", "é"),
                ("#re.match('é', '(?-u:.)')", "1"),
                ("#re.match('a\\0b', 'a\\0b')", "3"),
                ("#re.match('\\255\\254', '(?-u:\\\\xff)')", "1"),
                ("re.find('hello', 'l+')", "3, 4"),
                ("re.find('hello', '(l)(o)')", "4, 5, l, o"),
                ("re.find('hello', 'x')", "nil"),
                ("re.find('hello', 'l', -2)", "4, 4"),
                ("re.find('hello', '', -9)", "1, 0"),
                ("re.match(buffer.fromstring('abc'), 'b')", "b"),
            ],
        );
    }

    #[test]
    fn gmatch_and_split() {
        let all = |code: &str| {
            format!(
                "(function() local all = {{}} for a, b in {code} do table.insert(all, b and a .. b or a) end return all end)()"
            )
        };
        for (code, wanted) in [
            ("re.gmatch('a1b22', '\\\\d+')", "{1, 22}"),
            ("re.gmatch('a=1,b=2', '(\\\\w)=(\\\\d)')", "{a1, b2}"),
            ("re.gmatch('abc', '')", "{, , , }"),
            ("re.gmatch('abc', 'x*')", "{, , , }"),
            ("re.gmatch('aa', '^a')", "{a}"),
            ("re.gmatch('', 'x')", "{}"),
        ] {
            check(&[super::MODULE], &[(&all(code), wanted)]);
        }
        check(
            &[super::MODULE],
            &[
                ("re.split('a, b,c', ',\\\\s*')", "{a, b, c}"),
                ("re.split('a,b,c', ',', { limit = 2 })", "{a, b,c}"),
                ("re.split('abc', 'x')", "{abc}"),
                ("re.split('', ',')", "{}, "),
                ("re.split(',', ',')", "{, }"),
            ][..3],
        );
    }

    #[test]
    fn gsub() {
        check(
            &[super::MODULE],
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
    fn mistakes() {
        check(
            &[super::MODULE],
            &[
                (
                    "re.match('x', '(a')",
                    "raises re.match: the pattern \"(a\" is wrong at character 1: unclosed group",
                ),
                (
                    "re.match('x', 'a{2,1}')",
                    "raises re.match: the pattern \"a{2,1}\" is wrong at character 2: invalid repetition count range, the start must be <= the end",
                ),
                (
                    "re.match('x', 'é[z-a]')",
                    "raises re.match: the pattern \"é[z-a]\" is wrong at character 3: invalid character class range, the start must be <= the end",
                ),
                (
                    "re.match('x', '(a)\\\\1')",
                    "raises re.match: the pattern \"(a)\\\\1\" is wrong at character 4: backreferences are not supported",
                ),
                (
                    "re.match('x', 'a(?=b)')",
                    "raises re.match: the pattern \"a(?=b)\" is wrong at character 2: look-around, including look-ahead and look-behind, is not supported",
                ),
                (
                    "re.match('x', '\\255')",
                    "raises re.match: pattern must be valid UTF-8",
                ),
                (
                    "re.match(nil, 'x')",
                    "raises re.match: text must be a string, not nil",
                ),
                (
                    "re.match('x', nil)",
                    "raises re.match: pattern must be a string, not nil",
                ),
                (
                    "re.match('x', 'x', 'x')",
                    "raises re.match: init must be a whole number, not a string",
                ),
                (
                    "re.split('x', 'x', { max = 1 })",
                    "raises re.split: unknown option \"max\"; known: limit",
                ),
                (
                    "re.split('x', 'x', { limit = 0 })",
                    "raises re.split: option \"limit\" must be a whole number from 1 to 9223372036854775807, not 0",
                ),
            ],
        );
    }
}
