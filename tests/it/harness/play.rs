//! Plays a case: starts the program, does the steps, collects everything that is not as expected.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::PATIENCE;
use super::case::{Case, Step, What};
use super::client::{Answer, Connection};
use super::console::{self, Line};
use super::expect::{Expected, log_line_fits};
use super::program::{Refused, Server, run_to_end};
use super::request::Request;
use super::site_folder::SiteFolder;

/// How soon an outcome that has not come about is asked for again, when the log says nothing.
const MOMENT: Duration = Duration::from_millis(15);

/// Plays a case in a folder that may hold files already.
///
/// # Errors
/// Everything that was not as expected, with the lines of the case file.
pub(crate) fn play(case: &Case, folder: &SiteFolder) -> Result<(), Vec<String>> {
    let mut stage = Stage::new(folder);
    for step in &case.steps {
        stage.line = step.line;
        stage.step(step);
        if stage.broken {
            break;
        }
    }
    stage.finish()
}

/// The state of a case under way.
struct Stage<'f> {
    folder: &'f SiteFolder,
    environment: Vec<(String, String)>,
    server: Option<Server>,
    connection: Option<Connection>,
    /// Values of headers that later requests name.
    kept: BTreeMap<String, String>,
    /// A save was made in this section: outcomes are waited for.
    saved: bool,
    /// Where in the log the section began.
    section: usize,
    absent: Vec<(usize, String)>,
    /// The line of the step under way.
    line: usize,
    failures: Vec<String>,
    /// Nothing more can be learnt from going on.
    broken: bool,
}

impl<'f> Stage<'f> {
    fn new(folder: &'f SiteFolder) -> Self {
        Self {
            folder,
            environment: Vec::new(),
            server: None,
            connection: None,
            kept: BTreeMap::new(),
            saved: false,
            section: 0,
            absent: Vec::new(),
            line: 0,
            failures: Vec::new(),
            broken: false,
        }
    }

    fn step(&mut self, step: &Step) {
        match &step.what {
            What::Section => self.begin_section(),
            What::Write { name, text, style } => {
                self.touched();
                self.folder.save(
                    name,
                    text,
                    if self.server.is_some() { *style } else { super::site_folder::SaveStyle::InPlace },
                );
            }
            What::Delete(name) => {
                self.touched();
                self.folder.delete(name);
            }
            What::Link(name, target) => self.folder.link(name, target),
            What::Environment(settings) => self.environment.extend(settings.iter().cloned()),
            What::Exchange { request, expected, same_connection } => self.exchange(request, expected, *same_connection),
            What::Raw { bytes, expected } => self.raw(bytes, expected),
            What::Refused { code, lines } => self.refused(*code, lines),
            What::Log(lines) => lines.iter().for_each(|line| self.log(line)),
            What::LogAbsent(lines) => self.absent.extend(lines.iter().map(|line| (self.line, line.clone()))),
            What::Signal(name) => self.with_server(|server| server.signal(name)),
            What::Console(command) => self.console(command),
        }
    }

    fn begin_section(&mut self) {
        self.saved = false;
        self.section = self.server.as_ref().map_or(0, |server| server.output.len());
    }

    fn touched(&mut self) {
        self.saved = self.server.is_some();
        self.connection = None;
    }

    fn fail(&mut self, what: impl std::fmt::Display) {
        self.failures.push(format!("line {}: {what}", self.line));
    }

    /// Does something with the server, which is started when it does not run yet.
    fn with_server(&mut self, act: impl FnOnce(&Server)) {
        if self.server.is_none() {
            match Server::start(self.folder.path(), &["run"], &self.environment) {
                Ok(server) => self.server = Some(server),
                Err(Refused { code, text }) => {
                    self.fail(format!("the server does not start (exit status {code:?}):\n{text}"));
                    self.broken = true;
                }
            }
        }
        if let Some(server) = &self.server {
            act(server);
        }
    }

    /// Looks until nothing is different any more; only once when nothing was saved in this section.
    fn until_same(&mut self, mut differences: impl FnMut(&mut Self) -> Vec<String>) {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let found = differences(self);
            if found.is_empty() {
                return;
            }
            if !self.saved || Instant::now() > give_up {
                found.into_iter().for_each(|what| self.fail(what));
                self.broken = self.saved;
                return;
            }
            self.with_server(|server| server.output.tick(MOMENT));
        }
    }

    fn exchange(&mut self, request: &Request, expected: &Expected, same_connection: bool) {
        self.until_same(|stage| match stage.ask(request, expected, same_connection) {
            Ok(answer) => expected
                .differences(&answer)
                .into_iter()
                .map(|what| format!("{} {}: {what}", request.method, request.target))
                .collect(),
            Err(error) => vec![format!("{} {}: {error}", request.method, request.target)],
        });
    }

    fn ask(&mut self, request: &Request, expected: &Expected, same_connection: bool) -> std::io::Result<Answer> {
        let mut connection = match self.connection.take().filter(|_| same_connection) {
            Some(connection) => connection,
            None => self.connect()?,
        };
        connection.send(&request.filled_in(&self.kept).bytes())?;
        let answer = connection.answer(request.method == "HEAD" || expected.to_head)?;
        if expected.then_closed && !connection.is_closed() {
            return Err(std::io::Error::other("the connection is not closed behind the answer"));
        }
        for (header, name) in &expected.kept {
            let value =
                answer.header(header).ok_or_else(|| std::io::Error::other(format!("no header {header} to keep")))?;
            self.kept.insert(name.clone(), value.to_string());
        }
        self.connection = Some(connection);
        Ok(answer)
    }

    fn connect(&mut self) -> std::io::Result<Connection> {
        let mut connection = Err(std::io::Error::other("the server does not run"));
        self.with_server(|server| connection = Connection::open(server.address));
        connection
    }

    fn raw(&mut self, bytes: &[u8], expected: &[Expected]) {
        self.until_same(|stage| stage.raw_differences(bytes, expected).unwrap_or_else(|error| vec![error.to_string()]));
    }

    fn raw_differences(&mut self, bytes: &[u8], expected: &[Expected]) -> std::io::Result<Vec<String>> {
        let mut connection = self.connect()?;
        connection.send(bytes)?;
        let mut found = Vec::new();
        for (number, expected) in expected.iter().enumerate() {
            let answer = connection.answer(expected.to_head)?;
            found
                .extend(expected.differences(&answer).into_iter().map(|what| format!("answer {}: {what}", number + 1)));
            if expected.then_closed && !connection.is_closed() {
                found.push(format!("answer {}: the connection is not closed behind it", number + 1));
            }
        }
        Ok(found)
    }

    fn refused(&mut self, code: i32, lines: &[String]) {
        match Server::start(self.folder.path(), &["run"], &self.environment) {
            Ok(_) => self.fail("the server starts, but should refuse"),
            Err(refused) => {
                if refused.code != Some(code) {
                    self.fail(format!("exit status {:?}, wants {code}:\n{}", refused.code, refused.text));
                }
                for line in lines.iter().filter(|line| !refused.text.contains(line.as_str())) {
                    self.fail(format!("{line:?} is not in what it says:\n{}", refused.text));
                }
            }
        }
    }

    /// Waits for a record; not when something has failed already, since the record may depend on it.
    fn log(&mut self, want: &str) {
        let (from, waits) = (self.section, self.failures.is_empty());
        let fits = |lines: &[String]| lines.iter().any(|line| log_line_fits(want, line));
        let mut found = false;
        self.with_server(|server| {
            found = match waits {
                true => server.output.wait(from, |lines| fits(lines).then_some(())).is_some(),
                false => fits(&server.output.since(from)),
            }
        });
        if !found {
            self.fail(format!("no log record fits {want}"));
        }
    }

    fn console(&mut self, command: &Line) {
        match command.words.first().map(String::as_str) {
            Some("curl") => self.curl(command),
            Some("moondock") if command.words.get(1).is_none_or(|word| word != "run") => self.other_command(command),
            _ => {}
        }
    }

    fn curl(&mut self, command: &Line) {
        let (request, with_head) = match console::curl(&command.words) {
            Ok(parsed) => parsed,
            Err(what) => return self.fail(what),
        };
        self.until_same(|stage| match stage.ask(&request, &Expected::default(), false) {
            Ok(answer) => shown_differences(&command.shown, &console::printed(&answer, with_head)),
            Err(error) => vec![error.to_string()],
        });
    }

    fn other_command(&mut self, command: &Line) {
        let arguments: Vec<&str> = command.words.iter().skip(1).map(String::as_str).collect();
        let (_, printed) = run_to_end(self.folder.path(), &arguments, &self.environment);
        shown_differences(&command.shown, &printed).into_iter().for_each(|what| self.fail(what));
    }

    /// Ends the server, looks for what must not be in the log, and tells all failures with the log.
    fn finish(mut self) -> Result<(), Vec<String>> {
        let mut log = Vec::new();
        if let Some(server) = self.server.take() {
            let (status, lines) = server.stop();
            log = lines;
            if !status.success() {
                self.failures.push(format!("at the end: {status} after SIGTERM"));
            }
        }
        for (line, want) in &self.absent {
            let found = log.iter().find(|record| log_line_fits(want, record));
            self.failures.extend(found.map(|record| format!("line {line}: the log has {record}")));
        }
        if self.failures.is_empty() {
            return Ok(());
        }
        let skipped = log.len().saturating_sub(60);
        self.failures.push(format!("the last of the log:\n  {}", log[skipped..].join("\n  ")));
        Err(self.failures)
    }
}

fn shown_differences(shown: &[String], printed: &str) -> Vec<String> {
    console::missing(shown, printed)
        .map(|line| format!("{line:?} is shown, but this is printed:\n{printed}"))
        .into_iter()
        .collect()
}
