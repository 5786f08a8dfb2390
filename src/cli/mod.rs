//! The commands: one file each, and the one place that writes to standard output and standard error.

mod call;
mod check;
mod env_file;
mod explain;
mod fmt;
mod lsp;
mod mend;
mod new;
mod output;
mod replace;
mod routes;
mod run;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use self::output::{Color, Output};

/// The site that is meant when none is named.
const DEFAULT_SITE: &str = "site.kdl";
/// A site with mistakes, for `run`: EX_CONFIG of sysexits.h, which systemd's RestartPreventExitStatus can name.
const BAD_SITE: u8 = 78;

/// Turns a site.kdl into a running HTTP API.
#[derive(Parser)]
#[command(name = "moondock", version, about, arg_required_else_help = false)]
struct Arguments {
    /// When colours are used; NO_COLOR turns them off as well.
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    color: When,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a site; saving its files replaces it while it runs
    Run {
        /// The site file, or a folder with a site.kdl
        #[arg(default_value = DEFAULT_SITE)]
        site: PathBuf,
    },
    /// Say what is wrong with a site, and where; changes nothing unless --fix is given
    Check(check::Flags),
    /// Send one request through a site, without a port
    Call(call::Call),
    /// Make a small working site to go on from
    New {
        /// The folder; it may be there, but none of the files
        folder: PathBuf,
    },
    /// Lay out site files: indentation and the ends of lines, never a text or comment
    Fmt {
        /// Site files, or folders with a site.kdl; - reads standard input and writes standard output
        #[arg(default_value = DEFAULT_SITE)]
        files: Vec<PathBuf>,
        /// Change nothing, and exit with 1 when a file is not laid out well
        #[arg(long)]
        check: bool,
    },
    /// Help an editor while a site is typed, over standard input and output (docs/editors.md)
    Lsp(lsp::Flags),
    /// Tell what the code of a finding means, and how it is mended, with examples
    Explain(explain::Flags),
    /// Print the schema of site.kdl, in the KDL schema language
    Schema,
    /// Print what makes a shell complete moondock's arguments
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, for `man -l -`
    Man,
    /// List what a site answers: methods, path, environment, handler, place
    Routes {
        /// The site file, or a folder with a site.kdl
        #[arg(default_value = DEFAULT_SITE)]
        site: PathBuf,
        /// How the list is written
        #[arg(long, value_enum, default_value_t = routes::Format::Human)]
        format: routes::Format,
    },
}

/// Runs the command that the arguments name; gives the exit code: 0 fine, 1 the site has errors or the machine refused,
/// 2 wrong usage or could not look, 78 a bad site for `run`.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(told) => return usage(&told),
    };
    let mut output = Output::new(match arguments.color {
        When::Auto => Color::Auto,
        When::Always => Color::Always,
        When::Never => Color::Never,
    });
    match arguments.command {
        None => {
            output.out(&Arguments::command().render_help().to_string());
            ExitCode::SUCCESS
        }
        Some(Command::Run { site }) => run::run(&mut output, &site_file(&site)),
        Some(Command::Check(flags)) => check::run(&mut output, &flags),
        Some(Command::Call(call)) => call::run(&mut output, &call),
        Some(Command::New { folder }) => new::run(&mut output, &folder),
        Some(Command::Fmt { files, check }) => {
            let files: Vec<PathBuf> = files.iter().map(|file| site_file(file)).collect();
            fmt::run(&mut output, &files, check)
        }
        Some(Command::Lsp(flags)) => lsp::run(&mut output, &flags),
        Some(Command::Explain(flags)) => explain::run(&mut output, &flags),
        Some(Command::Schema) => {
            output.out(crate::kdl::schema::TEXT);
            ExitCode::SUCCESS
        }
        Some(Command::Completions { shell }) => generated(&mut output, |text| {
            clap_complete::generate(shell, &mut Arguments::command(), "moondock", text);
            Ok(())
        }),
        Some(Command::Man) => generated(&mut output, |text| clap_mangen::Man::new(Arguments::command()).render(text)),
        Some(Command::Routes { site, format }) => routes::run(&mut output, &site_file(&site), format),
    }
}

/// Prints what is made from the arguments' own description.
fn generated(output: &mut Output, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> ExitCode {
    let mut text = Vec::new();
    match write(&mut text) {
        Ok(()) => output.out(&String::from_utf8_lossy(&text)),
        Err(error) => {
            output.err(&format!("moondock: {error}\n"));
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What clap has to say: help and version are answers, everything else is wrong usage.
fn usage(told: &clap::Error) -> ExitCode {
    let _gone_pipe = told.print();
    if told.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// A folder means the site.kdl in it.
fn site_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(DEFAULT_SITE) } else { path.to_path_buf() }
}

/// Why a site file could not be looked at, as a sentence that says what to do.
fn could_not_look(path: &Path, error: &std::io::Error) -> String {
    let advice = match error.kind() {
        std::io::ErrorKind::NotFound => "; name the site file, or write one (docs/guide.md shows how)",
        _ => "",
    };
    format!("moondock: cannot read {}: {error}{advice}\n", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
