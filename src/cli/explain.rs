//! `moondock explain`: what a code means and how it is mended, from its page in `docs/errors/`.

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::diag::render::word;
use crate::diag::{Code, codes};
use crate::kdl::suggest;

use super::output::Output;

/// What can be asked about codes.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct Flags {
    /// The code, such as endpoint::duplicate-route; it stands at the head of every finding
    code: Option<String>,
    /// List all codes, each with its severity and a title
    #[arg(long)]
    list: bool,
}

/// Prints the page of a code, or the list of all; a code that does not exist is wrong usage.
pub(super) fn run(output: &mut Output, flags: &Flags) -> ExitCode {
    let asked = match &flags.code {
        None => Ok(list()),
        Some(name) => code(name).map(|code| code.explanation.to_owned()),
    };
    match asked {
        Ok(text) => {
            output.out(&text);
            ExitCode::SUCCESS
        }
        Err(why) => {
            output.err(&format!("moondock: {why}; `moondock explain --list` prints all\n"));
            ExitCode::from(2)
        }
    }
}

/// The code of this name.
///
/// # Errors
/// There is none, with the nearest one.
pub(super) fn code(name: &str) -> Result<&'static Code, String> {
    let known = codes::ALL.iter().find(|code| code.id == name).copied();
    known.ok_or_else(|| {
        let help = suggest::help(name, codes::ALL.iter().map(|code| code.id));
        let help = help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("there is no code `{name}`{help}")
    })
}

fn list() -> String {
    let width = codes::ALL.iter().map(|code| code.id.len()).max().unwrap_or(0);
    codes::ALL.iter().fold(String::new(), |mut text, code| {
        let _infallible = writeln!(text, "{:width$}  {:7}  {}", code.id, word(code.severity), code.title);
        text
    })
}
