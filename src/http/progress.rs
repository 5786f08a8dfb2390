//! The progress of connections: counts them, and cuts those that are too slow.
//!
//! actix limits the time of the first head of a connection, not of later ones, and lets a client that does not take
//! its answer stay for ever. [`Connections`] closes both gaps with one coarse clock for each worker: a request pays two
//! stores for it, no timer.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::runtime::Counters;
use crate::site::server::ServerSettings;

/// A kind of socket.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Prepares it and says who is at its other end; unix sockets do not know.
    fn open(&self) -> Option<SocketAddr>;
}

/// A socket whose progress is watched. Dropping it takes it off the count.
pub struct Watched<T> {
    socket: T,
    /// Its progress.
    pub connection: Rc<Connection>,
    counters: Arc<Counters>,
}

impl<T> Watched<T> {
    /// Counts and watches a socket.
    pub fn new(socket: T, connections: &Connections, counters: Arc<Counters>) -> Self {
        counters.connections.fetch_add(1, Ordering::Relaxed);
        Self { socket, connection: connections.add(), counters }
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        self.counters.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<T: Socket> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.connection.late.get() {
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.socket).poll_read(context, buffer);
        if polled.is_pending() {
            self.connection.remember(context);
        } else if buffer.filled().len() > before {
            self.connection.has_read();
        }
        polled
    }
}

impl<T: Socket> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.connection.late.get() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let polled = Pin::new(&mut self.socket).poll_write(context, bytes);
        if polled.is_pending() {
            self.connection.remember(context);
        } else {
            self.connection.has_written();
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// What a connection is at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Its first head is to come; actix has a timer for that.
    First,
    /// A request is being answered; its handler has a timeout.
    Answering,
    /// Its answer is on the way out, or done.
    Waiting,
    /// As before, and the next head has begun.
    Head,
}

/// The progress of one connection.
pub struct Connection {
    phase: Cell<Phase>,
    /// The tick of the last progress that counts.
    since: Cell<u32>,
    clock: Rc<Cell<u32>>,
    late: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Connection {
    /// A request is being answered.
    pub fn begin(&self) {
        self.phase.set(Phase::Answering);
    }

    /// Its answer is made; what comes next is for the client to do.
    pub fn wait(&self) {
        self.phase.set(Phase::Waiting);
        self.since.set(self.clock.get());
    }

    fn has_read(&self) {
        if self.phase.get() == Phase::Waiting {
            self.phase.set(Phase::Head);
            self.since.set(self.clock.get());
        }
    }

    fn has_written(&self) {
        self.since.set(self.clock.get());
    }

    fn remember(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waker = Some(context.waker().clone());
        }
    }

    fn cut(&self) {
        self.late.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// The connections of a worker.
#[derive(Default)]
pub struct Connections {
    open: RefCell<Vec<Weak<Connection>>>,
    clock: Rc<Cell<u32>>,
    /// Whether the server stops.
    pub stopping: Rc<Cell<bool>>,
}

impl Connections {
    fn add(&self) -> Rc<Connection> {
        let connection = Rc::new(Connection {
            phase: Cell::new(Phase::First),
            since: Cell::new(self.clock.get()),
            clock: self.clock.clone(),
            late: Cell::new(false),
            waker: RefCell::default(),
        });
        self.open.borrow_mut().push(Rc::downgrade(&connection));
        connection
    }

    /// Lets every connection end: at once when it is idle, after its answer when it is not.
    pub fn stop(&self) {
        self.stopping.set(true);
        for connection in self.open.borrow().iter().filter_map(Weak::upgrade) {
            connection.wake();
        }
    }

    /// Moves the clock by one tick and cuts what is late.
    pub fn tick(&self, pace: &Pace) {
        let now = self.clock.get().wrapping_add(1);
        self.clock.set(now);
        self.open.borrow_mut().retain(|connection| {
            let Some(connection) = connection.upgrade() else {
                return false;
            };
            let quiet = now.wrapping_sub(connection.since.get());
            let late = match connection.phase.get() {
                Phase::First | Phase::Answering => false,
                Phase::Waiting => quiet > pace.idle,
                Phase::Head => quiet > pace.head,
            };
            if late {
                connection.cut();
            }
            true
        });
    }
}

/// What is late, in ticks of a worker's clock.
pub struct Pace {
    /// One tick.
    pub tick: Duration,
    /// A head takes longer.
    head: u32,
    /// A connection makes no progress for longer: nothing is asked, or an answer is not taken.
    idle: u32,
}

impl Pace {
    /// The pace of these settings.
    pub fn of(settings: &ServerSettings) -> Self {
        let tick = (settings.header_timeout / 8).clamp(Duration::from_millis(20), Duration::from_secs(1));
        let ticks = |time: Duration| u32::try_from(time.as_millis().div_ceil(tick.as_millis())).unwrap_or(u32::MAX);
        Self { tick, head: ticks(settings.header_timeout), idle: ticks(settings.header_timeout + settings.keep_alive) }
    }
}
