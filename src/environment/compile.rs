//! Compiles Luau text to bytecode. Runs no line of it.

use std::collections::BTreeSet;

use mlua::chunk::Compiler;

/// What stands before a handler's text, on its first line, so that `req` is a local and lines stay what they are.
/// The semicolon keeps a text that begins with `(` from becoming a call.
const PREFIX: &str = "local req = ...; ";

/// Globals that are the same, with all their fields, for as long as a runspace lives. Luau binds `json.encode` when it
/// loads a chunk, and calls `type` without looking it up; what may change must be found each time: `server.generation`,
/// `package.loaded`, and whatever a startup script makes.
const CONSTANT: &[&str] = &[
    "abort",
    "all",
    "assert",
    "base64",
    "bit32",
    "buffer",
    "cache",
    "coroutine",
    "crypto",
    "debug",
    "error",
    "getmetatable",
    "hex",
    "html",
    "ipairs",
    "json",
    "log",
    "math",
    "next",
    "os",
    "pairs",
    "pcall",
    "print",
    "rawequal",
    "rawget",
    "rawlen",
    "rawset",
    "re",
    "redirect",
    "require",
    "respond",
    "select",
    "setmetatable",
    "sleep",
    "string",
    "table",
    "time",
    "tonumber",
    "tostring",
    "type",
    "typeof",
    "unpack",
    "url",
    "utf8",
    "uuid",
    "vector",
    "xpcall",
];

/// Why a text is no Luau.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The 1-based line of the text.
    pub line: u32,
    /// What is wrong, in Luau's words.
    pub message: String,
}

/// Compiles the text of a handler, module or startup script.
///
/// Luau's own parser bounds nesting (1,000 levels), so hostile text is an error and no overflow; 1 MiB of stack is
/// enough for it.
///
/// # Errors
/// The text is no Luau.
pub fn compile(text: &str) -> Result<Vec<u8>, SyntaxError> {
    let source = [PREFIX, text].concat();
    // Level 2 would inline functions, whose frames are then missing in tracebacks.
    let compiler = Compiler::new().set_optimization_level(1).set_debug_level(1);
    let compiler = compiler.set_mutable_globals(changeable(text));
    compiler.compile(source).map_err(|error| told(&error))
}

/// The words of a text that may be the name of a global whose fields change. Words that are none do no harm.
fn changeable(text: &str) -> BTreeSet<&str> {
    let is_letter = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let words =
        text.split(|char| !is_letter(char)).filter(|word| word.starts_with(|char| !char::is_ascii_digit(&char)));
    words.filter(|word| !CONSTANT.contains(word)).collect()
}

/// Luau tells `LINE: text`, `:LINE: text` or, through mlua, `syntax error: NAME:LINE: text`.
fn told(error: &mlua::Error) -> SyntaxError {
    let whole = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    let mut places = std::iter::once(0).chain(whole.match_indices(':').map(|(at, _)| at + 1));
    let parsed = places.find_map(|at| {
        let rest = &whole[at..];
        let digits = rest.find(|char: char| !char.is_ascii_digit())?;
        let line = rest[..digits].parse().ok()?;
        let message = rest[digits..].strip_prefix(':')?.trim_start();
        Some(SyntaxError { line, message: message.to_owned() })
    });
    parsed.unwrap_or(SyntaxError { line: 1, message: whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_at_their_line() {
        let error = compile("local a = 1\nlocal b = = 2").unwrap_err();
        assert_eq!(error.line, 2);
        assert!(error.message.contains("'='"), "{}", error.message);
        assert!(compile("if a then\n").unwrap_err().message.contains("<eof>"));
    }

    #[test]
    fn a_text_that_begins_with_a_bracket_is_no_call() {
        assert!(compile("(print)('x')").is_ok());
        assert!(compile("return").is_ok());
        assert!(compile("").is_ok());
    }

    #[test]
    fn nesting_without_end_is_an_error_on_a_small_stack() {
        let work = || {
            for (open, close) in [("(", ")"), ("{", "}"), ("if a then ", " end"), ("function() return ", " end")] {
                let text = format!("return {}1{}", open.repeat(100_000), close.repeat(100_000));
                assert!(compile(&text).is_err(), "{open}");
            }
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
    }
}
