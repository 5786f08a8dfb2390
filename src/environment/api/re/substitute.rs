//! `re.gsub`: what takes the place of a match.

use std::ops::Range;
use std::sync::Arc;

use mlua::{Function, Lua, LuaString, MultiValue, Result, Value};
use regex::bytes::{Captures, Regex};

use crate::environment::api::Host;
use crate::environment::api::arguments::{bytes, kind, misuse, propose, whole};
use crate::environment::api::re::{Arguments, Reach, Search, results, subject, with};
use crate::environment::places::HOST_CHUNK;

/// Up to so many bytes of text are replaced in one go; more, match by match in Lua, where others get their turn.
const AT_ONCE: usize = 64 * 1024;

/// What scripts call. A function or table is asked in Lua, not below a host function, so that it may wait.
const COMPOSE: &str = "
local gsub, search, type, error, concat = ...
local function kind(value)
    local name = type(value)
    return name == 'nil' and name or 'a ' .. name
end
local function take(pieces, ask, before, matched, ...)
    if matched == nil then
        pieces[#pieces + 1] = before
        return false
    end
    local given = ask(...)
    if not given then
        given = matched
    elseif type(given) ~= 'string' and type(given) ~= 'number' then
        error('re.gsub: a replacement must be a string, not ' .. kind(given), 0)
    end
    pieces[#pieces + 1] = before
    pieces[#pieces + 1] = given
    return true
end
local function itself(text) return text end
return function(text, pattern, with, most)
    local ask = type(with)
    if ask == 'function' then
        ask = with
    elseif ask == 'table' then
        ask = function(group) return with[group] end
    else
        local replaced, count = gsub(text, pattern, with, most)
        if replaced then return replaced, count end
        ask = itself
    end
    local step = search(text, pattern, most, with)
    local pieces, count = {}, 0
    while take(pieces, ask, step()) do count += 1 end
    return concat(pieces), count
end";

/// `gsub(text, pattern, replacement, n)`: the new text, and how many matches were replaced.
pub(super) fn install(lua: &Lua, host: &Arc<Host>) -> Result<Function> {
    let globals = lua.globals();
    let table: mlua::Table = globals.get("table")?;
    let parts: [Value; 5] = [
        Value::Function(with(lua, host, gsub)?),
        Value::Function(with(lua, host, search)?),
        globals.get("type")?,
        globals.get("error")?,
        table.get("concat")?,
    ];
    lua.load(COMPOSE).set_name(HOST_CHUNK).call(MultiValue::from_iter(parts))
}

/// Replaces by a template in one go; answers nil when the text is too long for that.
fn gsub(lua: &Lua, reach: &Reach, (text, pattern, with, most): Arguments) -> Result<(Option<LuaString>, usize)> {
    let text = bytes("re.gsub", "text", &text)?;
    let regex = reach.compiled("re.gsub", &pattern)?;
    let template = template(&regex, &with)?;
    let most = count_of(&most)?;
    if text.len() > AT_ONCE {
        return Ok((None, 0));
    }
    let mut replaced = Replaced { text: Vec::with_capacity(text.len()), most: reach.most() };
    let (mut done, mut count) = (0, 0);
    for captures in regex.captures_iter(&text).take(most) {
        let Some(found) = captures.get(0) else { break };
        replaced.push(text.get(done..found.start()).unwrap_or_default())?;
        template.put(&captures, &mut replaced)?;
        done = found.end();
        count += 1;
    }
    replaced.push(text.get(done..).unwrap_or_default())?;
    Ok((Some(lua.create_string(replaced.text)?), count))
}

fn count_of(most: &Value) -> Result<usize> {
    match most {
        Value::Nil => Ok(usize::MAX),
        most => {
            Ok(usize::try_from(whole("re.gsub", "the most replacements", most, 0..=i64::MAX)?).unwrap_or(usize::MAX))
        }
    }
}

fn template(regex: &Regex, value: &Value) -> Result<Template> {
    match value {
        Value::String(text) => Template::parse(regex, &text.as_bytes()),
        other => {
            let other = kind(other);
            Err(misuse("re.gsub", format_args!("replacement must be a string, a table or a function, not {other}")))
        }
    }
}

/// A function that gives, for one match after another: the text before it, the match, and its groups or what the
/// template makes of it; after the last one only the text behind it.
fn search(lua: &Lua, reach: &Reach, (text, pattern, most, with): Arguments) -> Result<Function> {
    let text = subject(lua, "re.gsub", text)?;
    let mut left = count_of(&most)?;
    let mut search = Search::new(reach.compiled("re.gsub", &pattern)?);
    let template = match &with {
        Value::String(_) => Some(template(search.regex(), &with)?),
        _ => None,
    };
    let (mut done, limit) = (0, reach.most());
    lua.create_function_mut(move |lua, ()| {
        let text = text.as_bytes();
        let captures = if left == 0 { None } else { search.next(&text) };
        let Some((captures, found)) = captures.and_then(|captures| captures.get(0).map(|found| (captures, found)))
        else {
            let rest = lua.create_string(text.get(done..).unwrap_or_default())?;
            return Ok(MultiValue::from_iter([Value::String(rest)]));
        };
        left -= 1;
        let before = lua.create_string(text.get(done..found.start()).unwrap_or_default())?;
        done = found.end();
        let mut given = match &template {
            Some(template) => {
                let mut replaced = Replaced { text: Vec::new(), most: limit };
                template.put(&captures, &mut replaced)?;
                MultiValue::from_iter([Value::String(lua.create_string(replaced.text)?)])
            }
            None => results(lua, &captures)?,
        };
        given.push_front(Value::String(lua.create_string(found.as_bytes())?));
        given.push_front(Value::String(before));
        Ok(given)
    })
}

/// The new text so far.
struct Replaced {
    text: Vec<u8>,
    /// How long it may become: what a runspace could not hold must not be built outside of it either.
    most: usize,
}

impl Replaced {
    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        if self.text.len() + bytes.len() > self.most {
            return Err(misuse("re.gsub", "the result is larger than the memory of a runspace"));
        }
        self.text.extend_from_slice(bytes);
        Ok(())
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
        Ok(Self { text: text.to_vec(), parts })
    }

    fn put(&self, captures: &Captures<'_>, out: &mut Replaced) -> Result<()> {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(range) => out.push(self.text.get(range.clone()).unwrap_or_default()),
            Part::Group(group) => captures.get(*group).map_or(Ok(()), |found| out.push(found.as_bytes())),
        })
    }
}

/// The name of the group behind a dollar, and how many bytes it takes there: `name`, or `{name}`.
fn reference(rest: &[u8]) -> Option<(&[u8], usize)> {
    if let Some(braced) = rest.strip_prefix(b"{") {
        let end = braced.iter().position(|byte| *byte == b'}')?;
        return Some((braced.get(..end)?, end + 2));
    }
    let end = rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len());
    Some((rest.get(..end)?, end)).filter(|_| end > 0)
}

/// The number of a group.
fn group(regex: &Regex, name: &[u8]) -> Result<usize> {
    let name = String::from_utf8_lossy(name);
    let numbered = name.parse::<usize>().ok().filter(|number| *number < regex.captures_len());
    let named = || regex.capture_names().position(|known| known == Some(&*name));
    numbered.or_else(named).ok_or_else(|| {
        let known: Vec<&str> = regex.capture_names().flatten().collect();
        let highest = regex.captures_len() - 1;
        let end = if known.is_empty() { String::new() } else { propose(&name, known.into_iter()) };
        misuse(
            "re.gsub",
            format_args!("the replacement names a group {name:?}, but those of the pattern are 0 to {highest}{end}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::environment::api::re::MODULE;
    use crate::environment::api::sleep::MODULE as SLEEP;
    use crate::environment::api::testing::{answer, check, check_waiting, host, state_of};

    #[test]
    fn gsub() {
        check(
            &[MODULE],
            &[
                ("re.gsub('hello world', 'o', '0')", "hell0 w0rld, 2"),
                ("re.gsub('hello world', 'o', '0', 1)", "hell0 world, 1"),
                ("re.gsub('hello world', 'o', '0', 0)", "hello world, 0"),
                ("re.gsub('john smith', '(\\\\w+) (\\\\w+)', '$2 ${1}')", "smith john, 1"),
                ("re.gsub('john', '(?P<first>\\\\w)(\\\\w+)', '$first.')", "j., 1"),
                ("re.gsub('5', '\\\\d', '$$$0')", "$5, 1"),
                ("re.gsub('abc', '', '-')", "-a-b-c-, 4"),
                ("re.gsub('abc', '\\\\w', string.upper)", "ABC, 3"),
                ("re.gsub('abc', '\\\\w', { a = 'x', b = false, c = 3 })", "xb3, 3"),
                ("re.gsub('$a $b', '\\\\$(\\\\w)', { a = 'x' })", "x $b, 2"),
                ("re.gsub('a1', '(\\\\w)(\\\\d)', function(letter, digit) return digit .. letter end)", "1a, 1"),
                ("re.gsub('abc', 'b', function() end)", "abc, 1"),
                (
                    "re.gsub('abc', 'b', function() return {} end)",
                    "raises re.gsub: a replacement must be a string, not a table",
                ),
                ("re.gsub('abc', 'b', function() error('own', 0) end)", "raises own"),
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
    fn long_texts_are_replaced_alike() {
        check(
            &[MODULE],
            &[
                (
                    "(function() local t, n = re.gsub(string.rep('ab', 2^16), '(a)(b)', '$2$1') return t == string.rep('ba', 2^16), n end)()",
                    "true, 65536",
                ),
                (
                    "(function() local t, n = re.gsub(string.rep('ab', 2^16), '', '-', 2) return #t, n end)()",
                    "131074, 2",
                ),
                ("(function() local t, n = re.gsub(string.rep('ab', 2^16), 'x', '-') return #t, n end)()", "131072, 0"),
                (
                    "re.gsub(string.rep('x', 2^17), '.', '$1')",
                    "raises re.gsub: the replacement names a group \"1\", but those of the pattern are 0 to 0",
                ),
                (
                    "re.gsub(string.rep('x', 2^17), '.', 5)",
                    "raises re.gsub: replacement must be a string, a table or a function, not a number",
                ),
            ],
        );
    }

    #[test]
    fn a_function_or_metamethod_may_wait() {
        check_waiting(
            &[MODULE, SLEEP],
            &[
                ("re.gsub('ab', '.', function(c) sleep('1ms') return c:upper() end)", "AB, 2"),
                (
                    "re.gsub('ab', '.', setmetatable({}, { __index = function(_, k) sleep('1ms') return k .. k end }))",
                    "aabb, 2",
                ),
                (
                    "re.gsub('ab', '.', function(c) return (re.gsub(c, '.', function(d) sleep('1ms') return d .. '!' end)) end)",
                    "a!b!, 2",
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
        ] {
            assert_eq!(
                answer(&lua, code),
                "raises re.gsub: the result is larger than the memory of a runspace",
                "{code}"
            );
        }
    }
}
