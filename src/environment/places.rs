//! Turns places that Luau tells (`site.kdl#17:3`) into places of the user's files (`site.kdl:41`).

use std::sync::Arc;

use crate::script::Script;

/// Rewrites every place in a text. `find` gives the script of a number.
pub(super) fn rewrite(text: &str, find: impl Fn(u64) -> Option<Arc<Script>>) -> String {
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

/// Splits what mlua tells of an error into its message and the frames of the user's files, one a line.
pub(super) fn split(text: &str, is_user_frame: impl Fn(&str) -> bool) -> (String, String) {
    let (message, trace) = text.split_once("\nstack traceback:").unwrap_or((text, ""));
    let message = message.strip_prefix("runtime error: ").unwrap_or(message);
    let frames: Vec<&str> = trace.lines().map(str::trim).filter(|line| is_user_frame(line)).collect();
    (message.trim_end().to_owned(), frames.join("\n"))
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

    #[test]
    fn only_frames_of_the_users_files_are_kept() {
        let told = "runtime error: site.kdl#17:3: boom\nstack traceback:\n[C] in error\nsite.kdl#17:3 in f\nhost:1";
        let (message, frames) = split(told, |line| line.contains('#'));
        assert_eq!((message.as_str(), frames.as_str()), ("site.kdl#17:3: boom", "site.kdl#17:3 in f"));
    }
}
