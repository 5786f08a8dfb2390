//! `moondock lsp`: talks to an editor over standard input and standard output. Runs no Lua, opens no port, writes no file.

use std::io;
use std::process::ExitCode;

use crate::lsp::{self, Ending};

use super::output::Output;

/// Serves the editor that started it: 0 when it asked for the end, or else 1.
pub(super) fn run(output: &mut Output) -> ExitCode {
    match lsp::serve(io::stdin(), io::stdout().lock()) {
        Ending::Asked => ExitCode::SUCCESS,
        Ending::Gone => ExitCode::FAILURE,
        Ending::Broken(why) => {
            output.err(&format!("moondock: the editor cannot be understood or reached: {why}\n"));
            ExitCode::FAILURE
        }
    }
}
