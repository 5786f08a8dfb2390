//! The real program: started in a folder with a scrubbed environment, its output collected, ended with the test.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use regex::Regex;

use super::PATIENCE;

/// The program under test, with none of the environment of whoever runs the tests.
pub(crate) fn command(folder: &Path, arguments: &[&str], environment: &[(String, String)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moondock"));
    command.args(arguments).current_dir(folder).env_clear().stdin(Stdio::null());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    command
}

/// What a command that ends by itself said: exit status, then standard output and standard error, one after the other.
pub(crate) fn run_to_end(folder: &Path, arguments: &[&str], environment: &[(String, String)]) -> (ExitStatus, String) {
    let output = command(folder, arguments, environment).output().expect("the program can be started");
    let text = [output.stdout, output.stderr].concat();
    (output.status, String::from_utf8_lossy(&text).into_owned())
}

/// The lines a program has written so far, of standard output and standard error as they came.
#[derive(Default)]
pub(crate) struct Output {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: Vec<String>,
    ended: usize,
}

impl Output {
    /// How many lines there are.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().unwrap().lines.len()
    }

    /// The lines from a position on.
    pub(crate) fn since(&self, from: usize) -> Vec<String> {
        self.state.lock().unwrap().lines[from..].to_vec()
    }

    /// Waits until `find` finds something in the lines from a position on; `None` when the program ended or time is up.
    pub(crate) fn wait<T>(&self, from: usize, mut find: impl FnMut(&[String]) -> Option<T>) -> Option<T> {
        let give_up = Instant::now() + PATIENCE;
        let mut state = self.state.lock().unwrap();
        loop {
            if let Some(found) = find(&state.lines[from.min(state.lines.len())..]) {
                return Some(found);
            }
            let left = give_up.saturating_duration_since(Instant::now());
            if left.is_zero() || state.ended == 2 {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }

    /// Waits for one more line, or a moment: for those who ask again and again whether something has come about.
    pub(crate) fn tick(&self, moment: Duration) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_timeout(state, moment).unwrap());
    }

    fn collect(&self, pipe: impl Read) {
        for line in BufReader::new(pipe).split(b'\n') {
            let Ok(line) = line else { break };
            self.state.lock().unwrap().lines.push(String::from_utf8_lossy(&line).into_owned());
            self.changed.notify_all();
        }
        self.state.lock().unwrap().ended += 1;
        self.changed.notify_all();
    }
}

/// A server that runs. Dropping it ends it.
pub(crate) struct Server {
    child: Child,
    /// What it has written.
    pub(crate) output: Arc<Output>,
    /// Where it listens (the first address it reported).
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts `moondock run` in a folder and waits for the line of its report that says where it listens.
    ///
    /// # Errors
    /// It ended instead: its exit status and all that it wrote.
    pub(crate) fn start(folder: &Path, arguments: &[&str], environment: &[(String, String)]) -> Result<Self, Refused> {
        let mut command = command(folder, arguments, environment);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be started");
        let output = Arc::new(Output::default());
        collect_in_background(&output, child.stdout.take().expect("it is piped"));
        collect_in_background(&output, child.stderr.take().expect("it is piped"));
        match output.wait(0, reported_address) {
            Some(address) => Ok(Self { child, output, address }),
            None => Err(Refused::after(child, &output)),
        }
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", r#"kill "-$0" "$1""#, name, &self.pid().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the signal {name} could not be sent");
    }

    /// Waits until it has ended by itself and all its output is there.
    pub(crate) fn ended(mut self) -> (ExitStatus, Vec<String>) {
        self.output.wait(0, |_| None::<()>);
        assert_eq!(
            self.output.state.lock().unwrap().ended,
            2,
            "it does not end; it wrote:\n{}",
            self.output.since(0).join("\n")
        );
        let status = self.child.wait().expect("a child can be waited for");
        (status, self.output.since(0))
    }

    /// Asks it to end as a service manager would, and waits.
    pub(crate) fn stop(self) -> (ExitStatus, Vec<String>) {
        self.signal("TERM");
        self.ended()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A start that came to nothing.
#[derive(Debug)]
pub(crate) struct Refused {
    /// How it exited; `None` when it had to be killed.
    pub(crate) code: Option<i32>,
    /// What it said.
    pub(crate) text: String,
}

impl Refused {
    fn after(mut child: Child, output: &Output) -> Self {
        let ended = output.state.lock().unwrap().ended == 2;
        if !ended {
            drop(child.kill());
        }
        let code = child.wait().ok().and_then(|status| status.code());
        Self { code, text: output.since(0).join("\n") }
    }
}

fn collect_in_background(output: &Arc<Output>, pipe: impl Read + Send + 'static) {
    let output = Arc::clone(output);
    thread::spawn(move || output.collect(pipe));
}

/// The address in the start report, such as `http://127.0.0.1:43117`.
fn reported_address(lines: &[String]) -> Option<SocketAddr> {
    let address = Regex::new(r"http://((?:\d+\.){3}\d+|\[[0-9a-f:]+\]):(\d+)").expect("the pattern is right");
    let found = lines.iter().find_map(|line| address.captures(line))?;
    format!("{}:{}", &found[1], &found[2]).parse().ok().filter(|address: &SocketAddr| address.port() != 0)
}
