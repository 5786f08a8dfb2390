//! What stands between a socket and a request: counting connections, cutting those that are too slow, answering
//! `Expect: 100-continue` only when the body is wanted, and ending cleanly.
//!
//! actix limits the time of the first head of a connection, not of later ones, and lets a client that does not read
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

use actix_http::body::BoxBody;
use actix_http::{HttpMessage as _, HttpService, KeepAlive, Request, Response};
use actix_service::{
    Service, ServiceFactory, ServiceFactoryExt as _, fn_factory, fn_service, map_config,
};
use actix_web::App;
use actix_web::dev::{AppConfig, ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::rt;
use futures_util::future::LocalBoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;

use super::handle::{handle, wants_body};
use super::worker::Worker;
use crate::runtime::{Counters, Runtime};
use crate::site::server::ServerSettings;

/// How long a client that is still sending may go on after its answer, so that it can read it.
const LINGER: Duration = Duration::from_secs(5);

/// A kind of socket.
pub trait Socket: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Prepares it and says who is at its other end; unix sockets do not know.
    fn open(&self) -> Option<SocketAddr>;
}

impl Socket for TcpStream {
    fn open(&self) -> Option<SocketAddr> {
        // Without it an answer of several writes can wait for the client's delayed acknowledgement. A socket that
        // refuses is closed already, which reading will tell.
        drop(self.set_nodelay(true));
        self.peer_addr().ok()
    }
}

impl Socket for UnixStream {
    fn open(&self) -> Option<SocketAddr> {
        None
    }
}

/// What the connections of a listener need; made once, used by every worker.
#[derive(Clone)]
pub struct Listening {
    /// The running site.
    pub runtime: Arc<Runtime>,
    /// Timeouts.
    pub settings: Arc<ServerSettings>,
    /// Becomes true when the server begins to stop.
    pub stopping: watch::Receiver<bool>,
}

/// The service of one listener on one worker: takes sockets, answers requests.
pub fn service<T: Socket>(
    listening: &Listening,
) -> impl ServiceFactory<T, Config = (), Response = ()> + use<T> {
    let worker = Worker::new(&listening.runtime);
    let settings = &listening.settings;
    rt::spawn(sweep(
        Rc::downgrade(&worker),
        settings.header_timeout,
        settings.keep_alive,
    ));
    let stopping = listening.stopping.clone();
    let gate = ExpectGate::factory(worker.clone());
    let http = HttpService::build()
        .keep_alive(KeepAlive::Timeout(settings.keep_alive))
        .client_request_timeout(settings.header_timeout)
        .client_disconnect_timeout(LINGER)
        // A client that closed its side has gone, and its handler is ended; an answer that is ready is still sent.
        .h1_allow_half_closed(false)
        .graceful_shutdown_signal(move || stopped(stopping.clone()))
        .on_connect_ext(|stream: &Watched<T>, extensions| {
            extensions.insert(stream.connection.clone());
        })
        .expect(gate)
        .h1(app(worker.clone()));
    fn_service(move |socket: T| {
        let peer = socket.open();
        std::future::ready(Ok((Watched::new(socket, &worker), peer)))
    })
    .and_then(http)
}

/// Every request goes one way: actix's own routing is neither used nor paid for.
fn app(
    worker: Rc<Worker>,
) -> impl ServiceFactory<
    Request,
    Config = (),
    Response = ServiceResponse<BoxBody>,
    Error = actix_web::Error,
    InitError = (),
> {
    let app = App::new().default_service(fn_service(move |request: ServiceRequest| {
        let worker = worker.clone();
        async move { Ok::<_, actix_web::Error>(answer(worker, request).await) }
    }));
    map_config(app, |()| AppConfig::default())
}

async fn answer(worker: Rc<Worker>, request: ServiceRequest) -> ServiceResponse<BoxBody> {
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    if let Some(connection) = &connection {
        connection.phase.set(Phase::Answering);
    }
    let response = handle(worker, request).await;
    if let Some(connection) = connection {
        connection.wait();
    }
    response
}

async fn stopped(mut stopping: watch::Receiver<bool>) {
    if stopping.wait_for(|stopping| *stopping).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Decides about `Expect: 100-continue`: a request whose body nobody would read gets its answer at once.
struct ExpectGate<S> {
    worker: Rc<Worker>,
    app: S,
}

impl ExpectGate<()> {
    fn factory(
        worker: Rc<Worker>,
    ) -> impl ServiceFactory<
        Request,
        Config = (),
        Response = Request,
        Error = Response<BoxBody>,
        InitError = (),
        Service: Service<Request, Response = Request, Error = Response<BoxBody>>,
        Future: 'static,
    > {
        fn_factory(move || {
            let worker = worker.clone();
            let app = app(worker.clone()).new_service(());
            async move {
                Ok(ExpectGate {
                    worker,
                    app: Rc::new(app.await?),
                })
            }
        })
    }
}

impl<S> Service<Request> for ExpectGate<Rc<S>>
where
    S: Service<Request, Response = ServiceResponse<BoxBody>, Error = actix_web::Error> + 'static,
{
    type Response = Request;
    type Error = Response<BoxBody>;
    type Future = LocalBoxFuture<'static, Result<Request, Response<BoxBody>>>;

    fn poll_ready(&self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&self, request: Request) -> Self::Future {
        let length = request
            .headers()
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok()?.parse().ok());
        if wants_body(
            &self.worker,
            request.method().as_str(),
            request.uri().path(),
            length,
        ) {
            return Box::pin(std::future::ready(Ok(request)));
        }
        let app = self.app.clone();
        Box::pin(async move {
            Err(match app.call(request).await {
                Ok(response) => response.into(),
                Err(error) => error.into(),
            })
        })
    }
}

/// A socket whose progress is watched. Dropping it takes it off the count.
struct Watched<T> {
    socket: T,
    connection: Rc<Connection>,
    counters: Arc<Counters>,
}

impl<T> Watched<T> {
    fn new(socket: T, worker: &Worker) -> Self {
        let counters = worker.counters().clone();
        counters.connections.fetch_add(1, Ordering::Relaxed);
        Self {
            socket,
            connection: worker.connections().add(),
            counters,
        }
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
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
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
    fn wait(&self) {
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
        if !waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(context.waker()))
        {
            *waker = Some(context.waker().clone());
        }
    }

    fn cut(&self) {
        self.late.set(true);
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

    /// Moves the clock by one tick and cuts what is late: a head that took longer than `head` ticks, and a connection
    /// that made no progress for `idle` ticks.
    fn tick(&self, head: u32, idle: u32) {
        let now = self.clock.get().wrapping_add(1);
        self.clock.set(now);
        self.open.borrow_mut().retain(|connection| {
            let Some(connection) = connection.upgrade() else {
                return false;
            };
            let quiet = now.wrapping_sub(connection.since.get());
            let late = match connection.phase.get() {
                Phase::First | Phase::Answering => false,
                Phase::Waiting => quiet > idle,
                Phase::Head => quiet > head,
            };
            if late {
                connection.cut();
            }
            !late
        });
    }
}

/// The clock of a worker; it also lets go of a generation that has been replaced.
async fn sweep(worker: Weak<Worker>, header_timeout: Duration, keep_alive: Duration) {
    let period = (header_timeout / 8).clamp(Duration::from_millis(20), Duration::from_secs(1));
    let ticks = |time: Duration| {
        u32::try_from(time.as_millis().div_ceil(period.as_millis())).unwrap_or(u32::MAX)
    };
    let (head, idle) = (ticks(header_timeout), ticks(header_timeout + keep_alive));
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        let Some(worker) = worker.upgrade() else {
            return;
        };
        worker.connections().tick(head, idle);
        drop(worker.pin());
    }
}
