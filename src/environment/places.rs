//! Turns places that Luau tells (`site.kdl#17:3`) into places of the user's files (`site.kdl:41`), and errors of mlua into
//! what the user is told of them.

use std::sync::Arc;

use mlua::{Error, Lua};

use super::chunks::SharedChunks;
use crate::script::Script;

/// The name of every chunk of the host's own: its lines mean nothing to the user.
pub(super) const HOST_CHUNK: &str = "=[moondock]";
/// How Luau begins a message that was raised in one.
const HOST_PLACE: &str = "[moondock]:";

/// A text of Luau with its places as the user knows them.
pub(super) fn in_files(lua: &Lua, text: &str) -> String {
    rewrite(text, |number| lua.app_data_ref::<SharedChunks>().and_then(|chunks| chunks.lock().script(number)))
}

/// Rewrites every place in a text. `find` gives the script of a number.
fn rewrite(text: &str, find: impl Fn(u64) -> Option<Arc<Script>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let (before, after) = rest.split_at(at);
        out.push_str(before);
        rest = match numbers(&after[1..]).and_then(|(id, line, used)| {
            let script = find(id).filter(|script| before.ends_with(&*script.origin))?;
            Some((script.lines.line(line), used))
        }) {
            Some((line, used)) => {
                out.push_str(&format!(":{line}"));
                &after[1 + used..]
            }
            None => {
                out.push('#');
                &after[1..]
            }
        };
    }
    out.push_str(rest);
    out
}

/// Reads `ID:LINE` at the start of a text; gives how long it was.
fn numbers(text: &str) -> Option<(u64, u32, usize)> {
    let id_end = text.find(|char: char| !char.is_ascii_digit())?;
    let line_text = text[id_end..].strip_prefix(':')?;
    let line_end = line_text.find(|char: char| !char.is_ascii_digit()).unwrap_or(line_text.len());
    let (id, line) = (text[..id_end].parse().ok()?, line_text[..line_end].parse().ok()?);
    Some((id, line, id_end + 1 + line_end))
}

/// What an error tells: its message, which begins with a place wherever one is known, and the frames of the user's files,
/// one a line. The places are still those of Luau.
pub(super) fn told(error: &Error) -> (String, String) {
    let (text, trace) = match error {
        Error::CallbackError { traceback, cause } => {
            let text = innermost(cause).to_string();
            (split_trace(&text).0.to_owned(), traceback.clone())
        }
        other => {
            let text = other.to_string();
            let (message, trace) = split_trace(&text);
            (message.to_owned(), trace.to_owned())
        }
    };
    let message = text.strip_prefix("runtime error: ").unwrap_or(&text);
    let message = without_host_place(message).trim_end();
    let frames: Vec<&str> = trace.lines().map(str::trim).filter(|line| user_place(line).is_some()).collect();
    let place = frames.first().and_then(|frame| user_place(frame)).filter(|_| !begins_with_place(message));
    let message = place.map_or_else(|| message.to_owned(), |place| format!("{place}: {message}"));
    (message, frames.join("\n"))
}

/// The error that others were wrapped around.
pub(super) fn innermost(error: &Error) -> &Error {
    match error {
        Error::CallbackError { cause, .. } | Error::WithContext { cause, .. } => innermost(cause),
        other => other,
    }
}

fn split_trace(text: &str) -> (&str, &str) {
    text.split_once("\nstack traceback:").unwrap_or((text, ""))
}

/// A message without the place that Luau put before it when it was raised in the host's own Lua.
pub(super) fn without_host_place(message: &str) -> &str {
    let rest = message.strip_prefix(HOST_PLACE).map(|rest| rest.trim_start_matches(|char: char| char.is_ascii_digit()));
    rest.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message)
}

/// Whether a line of a traceback lies in the host's own Lua.
pub(super) fn is_host_frame(line: &str) -> bool {
    line.starts_with(HOST_PLACE)
}

/// Whether a chunk of this name is a script of the site, `site.kdl#17`.
pub(super) fn is_script(chunk: &str) -> bool {
    let number = chunk.rsplit_once('#').map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The place at the start of a line of a traceback that lies in a file of the site: `site.kdl#17:3`.
fn user_place(line: &str) -> Option<&str> {
    line.match_indices('#').find_map(|(at, _)| {
        let (_, _, used) = numbers(&line[at + 1..])?;
        line.get(..at + 1 + used)
    })
}

/// Whether a message says where it happened, as `site.kdl#17:3: text` or `site.kdl:41: text`.
fn begins_with_place(message: &str) -> bool {
    let place = message.lines().next().and_then(|line| line.split_once(": ")).map(|(place, _)| place);
    place.and_then(|place| place.rsplit_once(':')).is_some_and(|(name, line)| {
        !name.is_empty() && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{LineMap, ScriptId};

    fn script(number: u64) -> Option<Arc<Script>> {
        (number == 17).then(|| {
            Arc::new(Script {
                id: ScriptId(17),
                origin: "site.kdl".into(),
                text: "".into(),
                bytecode: Arc::new([]),
                lines: LineMap(vec![41, 42, 43]),
                native: false,
            })
        })
    }

    #[test]
    fn places_become_those_of_the_file() {
        for (told, wanted) in [
            ("site.kdl#17:3: boom", "site.kdl:43: boom"),
            ("site.kdl#17:1", "site.kdl:41"),
            ("a #1 b site.kdl#17:2: c # d", "a #1 b site.kdl:42: c # d"),
            ("site.kdl#18:2: x", "site.kdl#18:2: x"),
            ("other#17:2: x", "other#17:2: x"),
            ("#", "#"),
            ("site.kdl#17:", "site.kdl#17:"),
            ("site.kdl#17:99999999999: x", "site.kdl#17:99999999999: x"),
        ] {
            assert_eq!(rewrite(told, script), wanted);
        }
    }

    fn callback(message: &str, traceback: &str) -> Error {
        Error::CallbackError { traceback: traceback.to_owned(), cause: Arc::new(Error::runtime(message)) }
    }

    #[test]
    fn only_frames_of_the_users_files_are_kept() {
        let trace =
            "\nstack traceback:\n[C] in error\n[moondock]:4 function x\nmy site.kdl#17:3 function f\nb.lua#2:1\n";
        let frames = "my site.kdl#17:3 function f\nb.lua#2:1";
        for (error, message) in [
            (Error::RuntimeError(format!("a.lua#9:3: boom{trace}")), "a.lua#9:3: boom"),
            (Error::RuntimeError(format!("a.lua:41: boom{trace}")), "a.lua:41: boom"),
            (Error::RuntimeError(format!("[moondock]:7: no #1{trace}")), "my site.kdl#17:3: no #1"),
            (Error::RuntimeError(format!("again: and: again{trace}")), "my site.kdl#17:3: again: and: again"),
            (callback("hex.decode: no", trace), "my site.kdl#17:3: hex.decode: no"),
            (callback("a.lua#9:3: inner\nstack traceback:\nc#1:1", trace), "a.lua#9:3: inner"),
        ] {
            assert_eq!(told(&error), (message.to_owned(), frames.to_owned()));
        }
        assert_eq!(told(&Error::runtime("startup: why")), ("startup: why".to_owned(), String::new()));
    }

    #[test]
    fn scripts_are_told_from_the_hosts_chunks() {
        for (name, is) in [("site.kdl#17", true), ("[moondock]", false), ("a#", false), ("a#b", false), ("a#1#2", true)]
        {
            assert_eq!(is_script(name), is, "{name}");
        }
    }
}
