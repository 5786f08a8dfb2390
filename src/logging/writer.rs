//! A destination's queue and the thread that empties it.
//!
//! A record is pushed under a short lock and nothing else: the thread that writes is woken for the first record only,
//! then lingers a moment, so that under load one wake and one write serve many records. Its thread is started by the
//! first record, because opening a target must start nothing. The thread ends when the last [`Writer`] is dropped, after
//! it has written what waits.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::feature::Level;
use super::format::Style;
use super::record::{Entry, Value};
use super::settings::Overflow;

/// How long records gather before they are written together.
const LINGER: Duration = Duration::from_millis(5);
/// Bytes that wait in one queue at most, whatever their number of records.
const WEIGHT_LIMIT: usize = 32 << 20;
/// Bytes handed to the destination in one write, about.
const BATCH: usize = 256 << 10;
/// How often a destination that fails is told about.
const COMPLAIN_EVERY: Duration = Duration::from_secs(60);

/// Where lines end up. Called on the writer's thread only.
pub(super) trait Sink: Send {
    /// Writes whole lines, or says why it could not. What it could not write is gone.
    fn write(&mut self, lines: &[u8]) -> io::Result<()>;
    /// Whether `pretty` may use colours.
    fn coloured(&self) -> bool {
        false
    }
}

/// The only writer of one destination. Dropping it ends its thread once the queue is empty.
pub(super) struct Writer {
    shared: Arc<Shared>,
    name: String,
    /// Whether the destination shows colours.
    pub(super) coloured: bool,
}

struct Shared {
    state: Mutex<State>,
    /// There is something to do for the thread.
    work: Condvar,
    /// Something was taken from the queue or written.
    progress: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Item>,
    weight: usize,
    /// The destination until the thread has it.
    sink: Option<Box<dyn Sink>>,
    /// The thread waits for a first record and must be woken.
    idle: bool,
    /// Somebody waits: no lingering.
    urgent: bool,
    closed: bool,
    /// Records taken into the queue since the start.
    accepted: u64,
    /// Of these, records that were written or given up.
    settled: u64,
    /// Records refused since the start because the queue was full.
    dropped: u64,
}

/// A record and how it is to look.
struct Item {
    entry: Arc<Entry>,
    style: Arc<Style>,
}

impl Writer {
    /// A writer to a destination that is open; `name` is for messages.
    pub(super) fn new(name: &str, sink: Box<dyn Sink>) -> Self {
        let coloured = sink.coloured();
        let state = State { sink: Some(sink), ..State::default() };
        let shared = Shared { state: Mutex::new(state), work: Condvar::new(), progress: Condvar::new() };
        Self { shared: Arc::new(shared), name: name.to_owned(), coloured }
    }

    /// Puts a record into the queue. When `limit` records wait already, it is dropped and counted, or the caller waits.
    pub(super) fn push(&self, entry: &Arc<Entry>, style: &Arc<Style>, limit: usize, overflow: Overflow) {
        let mut state = self.shared.state.lock();
        while state.queue.len() >= limit || state.weight >= WEIGHT_LIMIT {
            if overflow == Overflow::Drop {
                state.dropped += 1;
                return;
            }
            state.urgent = true;
            self.shared.work.notify_one();
            self.shared.progress.wait(&mut state);
        }
        state.weight += entry.weight();
        state.accepted += 1;
        state.queue.push_back(Item { entry: entry.clone(), style: style.clone() });
        if state.sink.is_some() {
            self.start(&mut state);
        }
        if state.idle || state.queue.len() == limit / 2 {
            state.idle = false;
            self.shared.work.notify_one();
        }
    }

    /// Starts the thread. When the system refuses one, records gather and the next one tries again.
    fn start(&self, state: &mut MutexGuard<'_, State>) {
        let Some(sink) = state.sink.take() else {
            return;
        };
        let cell = Arc::new(Mutex::new(Some(sink)));
        let (shared, name, own) = (self.shared.clone(), self.name.clone(), cell.clone());
        let run = move || {
            if let Some(sink) = own.lock().take() {
                Loop { shared: &shared, name: &name, sink, lost: 0, told: 0, complained: None }.run();
            }
        };
        if std::thread::Builder::new().name("log-writer".to_owned()).spawn(run).is_err() {
            state.sink = cell.lock().take();
        }
    }

    /// Records refused so far because the queue was full.
    pub(super) fn dropped(&self) -> u64 {
        self.shared.state.lock().dropped
    }

    /// Waits until everything pushed before this call is settled, until `deadline` at most; returns whether it is.
    pub(super) fn flush(&self, deadline: Instant) -> bool {
        let mut state = self.shared.state.lock();
        let target = state.accepted;
        while state.settled < target {
            state.urgent = true;
            self.shared.work.notify_one();
            if self.shared.progress.wait_until(&mut state, deadline).timed_out() {
                return state.settled >= target;
            }
        }
        true
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.work.notify_one();
    }
}

/// What the thread keeps.
struct Loop<'s> {
    shared: &'s Shared,
    name: &'s str,
    sink: Box<dyn Sink>,
    /// Records that the destination did not take and that no record has told of yet.
    lost: u64,
    /// Of the dropped records, how many were told of.
    told: u64,
    complained: Option<Instant>,
}

impl Loop<'_> {
    fn run(mut self) {
        let mut items = VecDeque::new();
        while let Some(dropped) = self.next(&mut items) {
            self.write_all(&mut items, dropped);
        }
    }

    /// Waits for records and takes all of them; returns how many were dropped so far, `None` at the end.
    fn next(&self, items: &mut VecDeque<Item>) -> Option<u64> {
        let mut state = self.shared.state.lock();
        while state.queue.is_empty() {
            if state.closed {
                return None;
            }
            state.idle = true;
            self.shared.work.wait(&mut state);
        }
        state.idle = false;
        if !state.urgent && !state.closed {
            self.shared.work.wait_for(&mut state, LINGER);
        }
        state.urgent = false;
        state.weight = 0;
        std::mem::swap(&mut state.queue, items);
        self.shared.progress.notify_all();
        Some(state.dropped)
    }

    fn write_all(&mut self, items: &mut VecDeque<Item>, dropped: u64) {
        let mut lines = String::with_capacity(BATCH.min(items.len() * 256));
        let mut count = 0;
        let mut style = None;
        while let Some(item) = items.pop_front() {
            if self.lost > 0 {
                let lost = vec![("count", Value::Unsigned(std::mem::take(&mut self.lost)))];
                item.style.write(&Entry::own(Level::Warning, "log records could not be written", lost), &mut lines);
            }
            item.style.write(&item.entry, &mut lines);
            count += 1;
            if items.is_empty() {
                style = Some(item.style);
            }
            if lines.len() >= BATCH || items.is_empty() {
                self.report_dropped(style.as_deref(), dropped, &mut lines);
                self.hand_over(&lines, count);
                lines.clear();
                count = 0;
            }
        }
    }

    /// Tells, behind the last record of a batch, how many were dropped since it was last told.
    fn report_dropped(&mut self, style: Option<&Style>, dropped: u64, lines: &mut String) {
        let Some(style) = style else { return };
        if dropped > self.told {
            let fields = vec![("count", Value::Unsigned(dropped - self.told))];
            style.write(&Entry::own(Level::Warning, "log records dropped, the queue was full", fields), lines);
            self.told = dropped;
        }
    }

    fn hand_over(&mut self, lines: &str, count: u64) {
        if let Err(error) = self.sink.write(lines.as_bytes()) {
            self.lost += count;
            self.complain(&error);
        }
        self.shared.state.lock().settled += count;
        self.shared.progress.notify_all();
    }

    /// Says on standard error, once in a while, that a destination fails: nowhere else is sure to work.
    fn complain(&mut self, error: &io::Error) {
        let due = self.complained.is_none_or(|at| at.elapsed() >= COMPLAIN_EVERY);
        if due && self.name != super::target::console::STANDARD_ERROR {
            let line = format!("moondock: the log cannot be written to {}: {error}\n", self.name);
            // When standard error fails too there is nobody left to tell.
            drop(io::Write::write_all(&mut io::stderr().lock(), line.as_bytes()));
            self.complained = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::super::format::Format;
    use super::super::mask::Mask;
    use super::*;

    /// A destination that hands its batches to the test and waits until it may go on.
    struct Gate {
        batches: Sender<String>,
        go: Receiver<io::Result<()>>,
    }

    impl Sink for Gate {
        fn write(&mut self, lines: &[u8]) -> io::Result<()> {
            drop(self.batches.send(String::from_utf8_lossy(lines).into_owned()));
            self.go.recv().unwrap_or(Ok(()))
        }
    }

    struct Test {
        writer: Writer,
        style: Arc<Style>,
        batches: Receiver<String>,
        go: Sender<io::Result<()>>,
    }

    fn test() -> Test {
        let (send, batches) = channel();
        let (go, wait) = channel();
        let writer = Writer::new("test", Box::new(Gate { batches: send, go: wait }));
        let style = Style { format: Format::Json, coloured: false, mask: Arc::new(Mask::default()) };
        Test { writer, style: Arc::new(style), batches, go }
    }

    fn push(writer: &Writer, style: &Arc<Style>, message: &str, limit: usize, overflow: Overflow) {
        writer.push(&Arc::new(Entry::own(Level::Info, message, Vec::new())), style, limit, overflow);
    }

    fn messages(batches: &Receiver<String>) -> Vec<String> {
        let batch = batches.recv_timeout(Duration::from_secs(10)).unwrap();
        let text = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let count = value.get("count").map_or(String::new(), |count| format!(" {count}"));
            format!("{}{count}", value["message"].as_str().unwrap())
        };
        batch.lines().map(text).collect()
    }

    impl Test {
        fn push(&self, message: &str, limit: usize, overflow: Overflow) {
            push(&self.writer, &self.style, message, limit, overflow);
        }

        fn messages(&self) -> Vec<String> {
            messages(&self.batches)
        }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(10)
    }

    #[test]
    fn a_full_queue_drops_and_tells_how_many() {
        let test = test();
        test.push("first", 2, Overflow::Drop);
        assert_eq!(test.messages(), ["first"]);
        for message in ["a", "b", "c", "d"] {
            test.push(message, 2, Overflow::Drop);
        }
        assert_eq!(test.writer.dropped(), 2);
        test.go.send(Ok(())).unwrap();
        assert_eq!(test.messages(), ["a", "b", "log records dropped, the queue was full 2"]);
        test.go.send(Ok(())).unwrap();
        assert!(test.writer.flush(soon()));
    }

    #[test]
    fn block_waits_instead() {
        let test = test();
        test.push("first", 1, Overflow::Block);
        assert_eq!(test.messages(), ["first"]);
        test.push("a", 1, Overflow::Block);
        let (writer, style) = (&test.writer, &test.style);
        std::thread::scope(|scope| {
            scope.spawn(|| push(writer, style, "b", 1, Overflow::Block));
            test.go.send(Ok(())).unwrap();
            assert_eq!(messages(&test.batches), ["a"]);
            test.go.send(Ok(())).unwrap();
            assert_eq!(messages(&test.batches), ["b"]);
            test.go.send(Ok(())).unwrap();
        });
        assert!(test.writer.flush(soon()));
        assert_eq!(test.writer.dropped(), 0);
    }

    #[test]
    fn a_destination_that_fails_is_survived_and_told() {
        let test = test();
        test.push("lost", 9, Overflow::Drop);
        assert_eq!(test.messages(), ["lost"]);
        test.go.send(Err(io::ErrorKind::StorageFull.into())).unwrap();
        assert!(test.writer.flush(soon()));
        test.push("next", 9, Overflow::Drop);
        assert_eq!(test.messages(), ["log records could not be written 1", "next"]);
        test.go.send(Ok(())).unwrap();
    }

    #[test]
    fn a_flush_has_an_end() {
        let test = test();
        test.push("stuck", 9, Overflow::Drop);
        assert_eq!(test.messages(), ["stuck"]);
        assert!(!test.writer.flush(Instant::now()));
        test.go.send(Ok(())).unwrap();
        assert!(test.writer.flush(soon()));
    }

    #[test]
    fn what_waits_is_written_after_the_writer_is_gone() {
        let Test { writer, style, batches, go } = test();
        writer.push(&Arc::new(Entry::own(Level::Info, "last", Vec::new())), &style, 9, Overflow::Drop);
        drop(writer);
        go.send(Ok(())).unwrap();
        assert!(batches.recv_timeout(Duration::from_secs(10)).unwrap().contains("last"));
        assert!(batches.recv_timeout(Duration::from_secs(10)).is_err(), "the thread ends and lets go of the sink");
    }
}
