//! Reads case files. Their format is described in CONTRIBUTING.md, section "Cases".

use super::console::{self, Line};
use super::expect::{Expected, Want};
use super::markdown::{self, Kind, Piece};
use super::request::{Request, parse_header, unescape};
use super::site_folder::SaveStyle;

/// One case: a site and what happens to it.
#[derive(Debug)]
pub(crate) struct Case {
    /// Its heading.
    pub(crate) title: String,
    /// What is done and expected, in order.
    pub(crate) steps: Vec<Step>,
}

/// One step and the line it stands at.
#[derive(Debug)]
pub(crate) struct Step {
    /// The 1-based line in the case file.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) what: What,
}

/// What a step does.
#[derive(Debug)]
pub(crate) enum What {
    /// A heading: what follows a save is no longer waited for.
    Section,
    /// Writes a file: before the start a file of the site, afterwards a save.
    Write {
        /// Its name.
        name: String,
        /// Its text.
        text: String,
        /// How it is saved.
        style: SaveStyle,
    },
    /// Removes a file.
    Delete(String),
    /// Makes a symbolic link.
    Link(String, String),
    /// Sets environment variables for the program.
    Environment(Vec<(String, String)>),
    /// Sends a request, on a connection of its own or the one before, and looks at the answer.
    Exchange {
        /// What to send.
        request: Request,
        /// What must come back.
        expected: Expected,
        /// Whether the connection of the step before is used.
        same_connection: bool,
    },
    /// Sends bytes on a connection of its own and looks at all the answers.
    Raw {
        /// What to send.
        bytes: Vec<u8>,
        /// What must come back.
        expected: Vec<Expected>,
    },
    /// The start must be refused with this exit status and these lines.
    Refused {
        /// The exit status.
        code: i32,
        /// Lines that must be in what it says.
        lines: Vec<String>,
    },
    /// Each of these records must be in the log since the section began.
    Log(Vec<String>),
    /// None of these may be in the log at the end of the case.
    LogAbsent(Vec<String>),
    /// Sends the program a signal.
    Signal(String),
    /// A command line of a terminal and what it shows.
    Console(Line),
}

/// The cases of a file: each heading of the first level begins one.
///
/// # Errors
/// Where and what cannot be read.
pub(crate) fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    for piece in markdown::pieces(text) {
        if let Kind::Heading { level: 1, text } = &piece.kind {
            cases.push(Case { title: text.clone(), steps: Vec::new() });
            continue;
        }
        let line = piece.line;
        let case = cases.last_mut().ok_or_else(|| format!("line {line}: a case begins with a heading"))?;
        read_piece(piece, &mut case.steps).map_err(|what| format!("line {line}: {what}"))?;
    }
    Ok(cases)
}

fn read_piece(piece: Piece, steps: &mut Vec<Step>) -> Result<(), String> {
    let line = piece.line;
    match piece.kind {
        Kind::Heading { .. } => steps.push(Step { line, what: What::Section }),
        Kind::Block { info, text } => {
            let info: Vec<&str> = info.iter().map(String::as_str).collect();
            read_block(line, &info, &text, steps)?;
        }
        Kind::Table { columns, rows } => read_table(&columns, rows, steps)?,
    }
    Ok(())
}

fn read_block(line: usize, info: &[&str], text: &str, steps: &mut Vec<Step>) -> Result<(), String> {
    let (kind, marks) = info.split_first().unwrap_or((&"", &[]));
    let what = match *kind {
        "answer" => return attach_answer(text, marks, steps),
        "console" => {
            steps.extend(console::lines(text)?.into_iter().map(|command| Step { line, what: What::Console(command) }));
            return Ok(());
        }
        "http" => exchange(text, marks)?,
        "raw" => What::Raw { bytes: unescape(&text.replace('\n', "\r\n"))?, expected: Vec::new() },
        "env" => What::Environment(text.lines().map(setting).collect::<Result<_, _>>()?),
        "refused" => What::Refused { code: number(marks)?, lines: own_lines(text) },
        "log" if marks.contains(&"absent") => What::LogAbsent(own_lines(text)),
        "log" => What::Log(own_lines(text)),
        "signal" => What::Signal(marks.first().ok_or("which signal?")?.to_string()),
        "delete" => What::Delete(marks.first().ok_or("which file?")?.to_string()),
        "link" => {
            What::Link(marks.first().ok_or("which name?")?.to_string(), marks.get(1).ok_or("to where?")?.to_string())
        }
        _ => match write(text, marks)? {
            Some(write) => write,
            None => return Ok(()),
        },
    };
    steps.push(Step { line, what });
    Ok(())
}

/// A block with a file name is a file of the site; one without is only shown.
fn write(text: &str, marks: &[&str]) -> Result<Option<What>, String> {
    let Some((name, marks)) = marks.split_first().filter(|(name, _)| name.contains('.') && !name.contains('=')) else {
        return Ok(None);
    };
    let style = match marks.iter().find(|mark| !mark.starts_with("fails=")) {
        Some(mark) => SaveStyle::named(mark)
            .ok_or_else(|| format!("a file is saved in-place, by rename or by backup, not by {mark}"))?,
        None => SaveStyle::Rename,
    };
    Ok(Some(What::Write { name: name.to_string(), text: format!("{text}\n"), style }))
}

fn exchange(text: &str, marks: &[&str]) -> Result<What, String> {
    let mut request = Request::parse(text)?;
    if marks.contains(&"escapes") {
        request.body = unescape(&String::from_utf8_lossy(&request.body))?;
    }
    if marks.contains(&"gzip") {
        request.gzip();
    }
    Ok(What::Exchange { request, expected: Expected::default(), same_connection: marks.contains(&"same") })
}

fn attach_answer(text: &str, marks: &[&str], steps: &mut [Step]) -> Result<(), String> {
    let answer = Expected::parse(text, marks)?;
    match steps.last_mut().map(|step| &mut step.what) {
        Some(What::Exchange { expected, .. }) => *expected = answer,
        Some(What::Raw { expected, .. }) => expected.push(answer),
        _ => return Err("an answer follows its request".to_string()),
    }
    Ok(())
}

fn setting(line: &str) -> Result<(String, String), String> {
    let (name, value) = line.split_once('=').ok_or_else(|| format!("{line:?} is no NAME=value"))?;
    Ok((name.to_string(), value.to_string()))
}

fn number(marks: &[&str]) -> Result<i32, String> {
    marks.first().and_then(|mark| mark.parse().ok()).ok_or_else(|| "with which exit status?".to_string())
}

fn own_lines(text: &str) -> Vec<String> {
    text.lines().filter(|line| !line.is_empty()).map(str::to_string).collect()
}

/// A table whose first column is `request` is one exchange for each row; any other is only shown.
fn read_table(columns: &[String], rows: Vec<(usize, Vec<String>)>, steps: &mut Vec<Step>) -> Result<(), String> {
    if columns.first().is_none_or(|first| first != "request") {
        return Ok(());
    }
    for (line, cells) in rows {
        let what = read_row(columns, &cells).map_err(|what| format!("row at line {line}: {what}"))?;
        steps.push(Step { line, what });
    }
    Ok(())
}

fn read_row(columns: &[String], cells: &[String]) -> Result<What, String> {
    if cells.len() != columns.len() {
        return Err(format!("{} cells for {} columns", cells.len(), columns.len()));
    }
    let mut request = Request::default();
    let mut expected = Expected::default();
    for (column, cell) in columns.iter().zip(cells) {
        read_cell(column, cell, &mut request, &mut expected)?;
    }
    expected.to_head = request.method == "HEAD";
    Ok(What::Exchange { request, expected, same_connection: false })
}

/// One cell. What stands in backticks is taken with escapes; an empty cell says nothing.
fn read_cell(column: &str, cell: &str, request: &mut Request, expected: &mut Expected) -> Result<(), String> {
    let quoted = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    if cell.is_empty() {
        return Ok(());
    }
    let text = quoted.unwrap_or(cell);
    match column {
        "request" => (request.method, request.target) = request_line(text)?,
        "with" => request.headers.extend(text.split(" ; ").map(parse_header).collect::<Result<Vec<_>, _>>()?),
        "send" => request.body = unescape(text)?,
        "status" => expected.status = Some(text.parse().map_err(|_| format!("{text:?} is no status"))?),
        "body" if quoted.is_some() => expected.body = Some(Want::Exact(unescape(text)?)),
        "body" => expected.body = Some(Want::parse(text)?),
        "json" => expected.body = Some(Want::json(text)?),
        "contains" => expected.body = Some(Want::Contains(text.to_string())),
        name => expected.headers.push((name.to_string(), Want::parse(text)?)),
    }
    Ok(())
}

fn request_line(text: &str) -> Result<(String, String), String> {
    let (method, target) = text.split_once(' ').ok_or_else(|| format!("{text:?} is no `METHOD target`"))?;
    Ok((method.to_string(), target.to_string()))
}
