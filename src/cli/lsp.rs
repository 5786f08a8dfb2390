//! `moondock lsp`: talks to an editor over standard input and standard output. Runs no Lua, opens no port, writes no file.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::lsp::{self, Ending};
use crate::site::load::Options;

use super::check;
use super::output::Output;

/// What can be asked of a session.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// KEY=VALUE lines that (env) finds before the environment of the process
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// What many editors say: that it is to talk over standard input and output, as it always does
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Serves the editor that started it: 0 when it asked for the end, 2 when the file of variables is of no use, or else 1.
pub(super) fn run(output: &mut Output, flags: &Flags) -> ExitCode {
    let environment = match flags.env_file.as_deref().map(check::variables).transpose() {
        Ok(environment) => environment.unwrap_or_default(),
        Err(why) => {
            output.err(&format!("moondock: {why}\n"));
            return ExitCode::from(2);
        }
    };
    let options = Options { environment, ..Options::default() };
    match lsp::serve(options, io::stdin(), io::stdout().lock()) {
        Ending::Asked => ExitCode::SUCCESS,
        Ending::Gone => ExitCode::FAILURE,
        Ending::Broken(why) => {
            output.err(&format!("moondock: the editor cannot be understood or reached: {why}\n"));
            ExitCode::FAILURE
        }
    }
}
