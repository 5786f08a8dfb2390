//! `re`: regular expressions that take time linear in the text, whatever the pattern.
//!
//! The functions are named and called as those of `string`; the patterns are those of the `regex` crate and see bytes.

use std::sync::Arc;

use mlua::{Function, Lua, LuaString, MultiValue, Result, Table, Value, Variadic};
use regex::bytes::{Captures, Match, Regex};

use crate::environment::api::arguments::{Options, bytes, misuse, text, whole};
use crate::environment::api::{Host, Module};
use crate::environment::long_work::check_limits;

pub mod pattern;
mod substitute;

/// The module.
pub const MODULE: Module = Module { name: "re", install };

fn install(lua: &Lua, host: &Arc<Host>) -> Result<Value> {
    let module = lua.create_table()?;
    module.raw_set("match", with(lua, host, matched)?)?;
    module.raw_set("find", with(lua, host, find)?)?;
    module.raw_set("gmatch", with(lua, host, gmatch)?)?;
    module.raw_set("gsub", substitute::install(lua, host)?)?;
    module.raw_set("split", with(lua, host, split)?)?;
    Ok(Value::Table(module))
}

/// So many parts are cut between two looks at the limits of the handler.
const PARTS_BETWEEN_CHECKS: usize = 4096;

/// The arguments of every function: text, pattern, and two more.
type Arguments = (Value, Value, Value, Value);

/// What a function of this module can reach.
struct Reach {
    host: Arc<Host>,
}

impl Reach {
    /// The pattern of an argument, compiled.
    fn compiled(&self, function: &str, pattern: &Value) -> Result<Arc<Regex>> {
        let pattern = text(function, "pattern", pattern)?;
        self.host.process.patterns.get(&pattern).map_err(|why| misuse(function, why))
    }

    /// The most bytes that a result may have: what a runspace could not hold must not be built outside of it either.
    fn most(&self) -> usize {
        self.host.environment.settings.memory
    }
}

/// A function of Lua that can reach the compiled patterns.
fn with<R: mlua::IntoLuaMulti + 'static>(
    lua: &Lua,
    host: &Arc<Host>,
    function: fn(&Lua, &Reach, Arguments) -> Result<R>,
) -> Result<Function> {
    let reach = Reach { host: Arc::clone(host) };
    lua.create_function(move |lua, arguments| function(lua, &reach, arguments))
}

/// Where to begin, from an argument that counts as `string.find` does: from 1, negative from the end.
fn start(function: &str, init: &Value, length: usize) -> Result<Option<usize>> {
    let init = match init {
        Value::Nil => 1,
        init => whole(function, "init", init, i64::MIN..=i64::MAX)?,
    };
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let begin = if init < 0 { (length + 1).saturating_add(init).max(1) } else { init.max(1) };
    Ok(usize::try_from(begin - 1).ok().filter(|_| begin <= length + 1))
}

fn matched(lua: &Lua, reach: &Reach, (subject, pattern, init, _): Arguments) -> Result<MultiValue> {
    let subject = bytes("re.match", "text", &subject)?;
    let regex = reach.compiled("re.match", &pattern)?;
    let Some(start) = start("re.match", &init, subject.len())? else {
        return nothing();
    };
    match regex.captures_at(&subject, start) {
        Some(captures) => results(lua, &captures),
        None => nothing(),
    }
}

fn find(lua: &Lua, reach: &Reach, (subject, pattern, init, _): Arguments) -> Result<MultiValue> {
    let subject = bytes("re.find", "text", &subject)?;
    let regex = reach.compiled("re.find", &pattern)?;
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
    found.map_or(Ok(Value::Nil), |found| lua.create_string(found.as_bytes()).map(Value::String))
}

/// What a match gives: its groups, or all of it when the pattern has none. A group that took no part is nil.
fn results(lua: &Lua, captures: &Captures<'_>) -> Result<MultiValue> {
    let groups = usize::from(captures.len() > 1);
    captures.iter().skip(groups).map(|group| string(lua, group)).collect()
}

fn gmatch(lua: &Lua, reach: &Reach, (text, pattern, _, _): Arguments) -> Result<Function> {
    let subject = subject(lua, "re.gmatch", text)?;
    let mut search = Search::new(reach.compiled("re.gmatch", &pattern)?);
    lua.create_function_mut(move |lua, _: Variadic<Value>| {
        let subject = subject.as_bytes();
        search.next(&subject).map_or_else(nothing, |captures| results(lua, &captures))
    })
}

/// The text of an iteration; Lua keeps it, so that it counts among the memory of the runspace.
fn subject(lua: &Lua, function: &str, text: Value) -> Result<LuaString> {
    match text {
        Value::String(text) => Ok(text),
        other => lua.create_string(&*bytes(function, "text", &other)?),
    }
}

/// How far an iteration over matches has come.
struct Search {
    regex: Arc<Regex>,
    /// Where the next match may begin.
    at: Option<usize>,
    /// Where the last one ended.
    last: Option<usize>,
}

impl Search {
    fn new(regex: Arc<Regex>) -> Self {
        Self { regex, at: Some(0), last: None }
    }

    fn regex(&self) -> &Regex {
        &self.regex
    }

    /// The next match. An empty one right behind another is none, as in [`Regex::captures_iter`].
    fn next<'t>(&mut self, subject: &'t [u8]) -> Option<Captures<'t>> {
        loop {
            let at = self.at.take().filter(|at| *at <= subject.len())?;
            let captures = self.regex.captures_at(subject, at)?;
            let found = captures.get(0)?;
            self.at = Some(found.end() + usize::from(found.is_empty()));
            if found.is_empty() && self.last == Some(found.end()) {
                continue;
            }
            self.last = Some(found.end());
            return Some(captures);
        }
    }
}

fn split(lua: &Lua, reach: &Reach, (subject, pattern, options, _): Arguments) -> Result<Table> {
    let subject = bytes("re.split", "text", &subject)?;
    let regex = reach.compiled("re.split", &pattern)?;
    let limit = Options::read("re.split", &options, &["limit"])?.whole("limit", 1..=i64::MAX)?;
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let parts = lua.create_table()?;
    for (index, part) in regex.splitn(&subject, limit).enumerate() {
        if index % PARTS_BETWEEN_CHECKS == PARTS_BETWEEN_CHECKS - 1 {
            check_limits(lua)?;
        }
        parts.raw_set(index + 1, lua.create_string(part)?)?;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use crate::environment::api::testing::check;

    #[test]
    fn match_and_find() {
        check(
            &[super::MODULE],
            &[
                ("re.match('key = value', '(\\\\w+) = (\\\\w+)')", "key, value"),
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
            ("re.gmatch('axb', 'x*')", "{, x, }"),
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
    fn mistakes() {
        check(
            &[super::MODULE],
            &[
                ("re.match('x', '(a')", "raises re.match: the pattern \"(a\" is wrong at character 1: unclosed group"),
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
                ("re.match('x', '\\255')", "raises re.match: pattern must be valid UTF-8"),
                ("re.match(nil, 'x')", "raises re.match: text must be a string, not nil"),
                ("re.match('x', nil)", "raises re.match: pattern must be a string, not nil"),
                ("re.match('x', 'x', 'x')", "raises re.match: init must be a whole number, not a string"),
                ("re.split('x', 'x', { max = 1 })", "raises re.split: unknown option \"max\"; known: limit"),
                (
                    "re.split('x', 'x', { limit = 0 })",
                    "raises re.split: option \"limit\" must be a whole number from 1 to 9223372036854775807, not 0",
                ),
            ],
        );
    }
}
