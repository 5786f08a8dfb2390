//! `target console`: standard output, which in a container is where logs belong. `system` without a path uses the same
//! kind on standard error.
//!
//! Written past the buffers of std, so that a line is either handed to the system or known to be lost.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use super::TargetKind;
use crate::diag::{Diagnostic, codes};
use crate::kdl::reader::Reader;
use crate::logging::writer::Sink;

/// The address of standard output.
pub(in crate::logging) const STANDARD_OUTPUT: &str = "standard output";
/// The address of standard error.
pub(in crate::logging) const STANDARD_ERROR: &str = "standard error";

/// The kind `console`.
pub(super) const KIND: TargetKind = TargetKind { name: "console", address, open };

/// How long a reader that takes nothing may keep a batch waiting where the system would rather not wait itself.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to wait between two tries then.
const STEP: Duration = Duration::from_millis(5);

fn address(node: &Reader<'_>) -> Option<String> {
    if let Some(file) = node.plain(1) {
        let message = "`target console` takes no file";
        let found = Diagnostic::new(&codes::VALUE_UNEXPECTED, message, file.span, "one too many");
        node.report(found.help("remove it; the console is standard output"));
    }
    Some(STANDARD_OUTPUT.to_owned())
}

fn open(address: &str) -> io::Result<Box<dyn Sink>> {
    let (stream, terminal) = if address == STANDARD_ERROR {
        (io::stderr().as_fd().try_clone_to_owned()?, io::stderr().is_terminal())
    } else {
        (io::stdout().as_fd().try_clone_to_owned()?, io::stdout().is_terminal())
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Ok(Box::new(Console { stream: File::from(stream), coloured: terminal && !no_color, inside: false }))
}

/// One of the process's standard streams.
struct Console<W> {
    stream: W,
    coloured: bool,
    /// The last write ended inside a line.
    inside: bool,
}

impl<W: Write + Send> Sink for Console<W> {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.inside {
            self.put(b"\n")?;
        }
        self.put(lines)
    }

    fn coloured(&self) -> bool {
        self.coloured
    }
}

impl<W: Write> Console<W> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let start = Instant::now();
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.inside = bytes.get(written - 1) != Some(&b'\n');
                    bytes = bytes.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Whoever shares the stream has made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && start.elapsed() < PATIENCE => {
                    std::thread::park_timeout(STEP);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes what it is told to, call by call.
    struct Script {
        steps: std::vec::IntoIter<io::Result<usize>>,
        taken: Vec<u8>,
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = self.steps.next().unwrap_or(Ok(usize::MAX))?.min(bytes.len());
            self.taken.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn console(steps: Vec<io::Result<usize>>) -> Console<Script> {
        Console { stream: Script { steps: steps.into_iter(), taken: Vec::new() }, coloured: false, inside: false }
    }

    #[test]
    fn short_writes_and_interruptions_lose_nothing() {
        let mut console =
            console(vec![Ok(2), Err(io::ErrorKind::Interrupted.into()), Err(io::ErrorKind::WouldBlock.into()), Ok(1)]);
        console.write(b"one\ntwo\n").unwrap();
        assert_eq!(console.stream.taken, b"one\ntwo\n");
    }

    #[test]
    fn a_line_cut_by_a_failure_is_ended_first() {
        let mut console = console(vec![Ok(5), Err(io::ErrorKind::StorageFull.into())]);
        assert!(console.write(b"one\ntwo\n").is_err());
        console.write(b"three\n").unwrap();
        assert_eq!(console.stream.taken, b"one\nt\nthree\n");
    }
}
