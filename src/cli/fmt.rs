//! `moondock fmt`: lays out site files. Changes blanks at the beginning and the end of lines, never a text or comment.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::diag::Sources;
use crate::kdl::layout::laid_out;

use super::output::Output;

/// How a file fared.
enum Done {
    /// It is laid out well.
    Same,
    /// It was not.
    Changed,
    /// It is no KDL, or could not be read or written.
    Failed(String),
}

/// Lays out files: 0, or 1 with `check` when one is not laid out well, or 2 when one could not be.
pub(super) fn run(output: &mut Output, files: &[PathBuf], check: bool) -> ExitCode {
    let mut code = 0;
    for file in files {
        let done = if file.as_os_str() == "-" { standard_input(output, check) } else { lay_out(file, check) };
        code = code.max(match done {
            Done::Same => 0,
            Done::Changed if check => {
                output.out(&format!("{} is not laid out well; `moondock fmt {0}` does it\n", file.display()));
                1
            }
            Done::Changed => 0,
            Done::Failed(why) => {
                output.err(&format!("moondock: {why}\n"));
                2
            }
        });
    }
    ExitCode::from(code)
}

/// Lays out one file in its place.
fn lay_out(path: &Path, check: bool) -> Done {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return Done::Failed(format!("cannot read {}: {error}", path.display())),
    };
    let neat = match laid_out(&text) {
        Ok(neat) => neat,
        Err(at) => return no_kdl(&path.display().to_string(), &text, at.start),
    };
    if neat == text {
        return Done::Same;
    }
    let written = if check { Ok(()) } else { super::replace::replace(path, &text, &neat) };
    match written {
        Ok(()) => Done::Changed,
        Err(error) => Done::Failed(format!("cannot write {}: {error}", path.display())),
    }
}

/// Writes standard input, laid out, to standard output.
fn standard_input(output: &mut Output, check: bool) -> Done {
    let mut text = String::new();
    if let Err(error) = io::stdin().read_to_string(&mut text) {
        return Done::Failed(format!("cannot read standard input: {error}"));
    }
    match laid_out(&text) {
        Err(at) => no_kdl("<stdin>", &text, at.start),
        Ok(neat) => {
            if !check {
                output.out(&neat);
            }
            if neat == text { Done::Same } else { Done::Changed }
        }
    }
}

fn no_kdl(name: &str, text: &str, at: usize) -> Done {
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    let (line, column) = sources.line_column(file, at as u32);
    Done::Failed(format!("{name}:{line}:{column}: this is no KDL, so nothing was laid out; `moondock check` says more"))
}
