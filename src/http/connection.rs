//! What stands between a socket and a request: answering `Expect: 100-continue` only when the body is wanted, hearing
//! when the server stops, and putting actix together.

use std::cell::Cell;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_http::body::BoxBody;
use actix_http::{HttpMessage as _, HttpService, KeepAlive, Request, Response};
use actix_service::{Service, ServiceFactory, ServiceFactoryExt as _, fn_factory, fn_service, map_config};
use actix_web::App;
use actix_web::dev::{AppConfig, ServiceRequest, ServiceResponse};
use actix_web::http::header;
use actix_web::rt;
use futures_util::future::LocalBoxFuture;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::handle::{handle, wants_body};
use super::progress::{Connection, Pace, Socket, Watched};
use super::worker::Worker;
use crate::runtime::Runtime;
use crate::site::server::ServerSettings;

/// How long a client that is still sending may go on after its answer, so that it can read it.
const LINGER: Duration = Duration::from_secs(5);

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
pub fn service<T: Socket>(listening: &Listening) -> impl ServiceFactory<T, Config = (), Response = ()> + use<T> {
    let worker = Worker::new(&listening.runtime);
    let settings = &listening.settings;
    rt::spawn(sweep(Rc::downgrade(&worker), Pace::of(settings), listening.stopping.clone()));
    let stopping = worker.connections().stopping.clone();
    let gate = ExpectGate::factory(worker.clone());
    let http = HttpService::build()
        .keep_alive(KeepAlive::Timeout(settings.keep_alive))
        .client_request_timeout(settings.header_timeout)
        .client_disconnect_timeout(LINGER)
        // A client that closed its side has gone, and its handler is ended; an answer that is ready is still sent.
        .h1_allow_half_closed(false)
        .graceful_shutdown_signal(move || Stopping { flag: stopping.clone(), has_passed: false })
        .on_connect_ext(|stream: &Watched<T>, extensions| {
            extensions.insert(stream.connection.clone());
        })
        .expect(gate)
        .h1(app(worker.clone()));
    fn_service(move |socket: T| {
        let peer = socket.open();
        std::future::ready(Ok((watched(socket, &worker), peer)))
    })
    .and_then(http)
}

fn watched<T: Socket>(socket: T, worker: &Worker) -> Watched<T> {
    Watched::new(socket, worker.connections(), worker.counters().clone())
}

/// Every request goes one way: actix's own routing is neither used nor paid for.
fn app(
    worker: Rc<Worker>,
) -> impl ServiceFactory<Request, Config = (), Response = ServiceResponse<BoxBody>, Error = actix_web::Error, InitError = ()>
{
    let app = App::new().default_service(fn_service(move |request: ServiceRequest| {
        let worker = worker.clone();
        async move { Ok::<_, actix_web::Error>(answer(worker, request).await) }
    }));
    map_config(app, |()| AppConfig::default())
}

async fn answer(worker: Rc<Worker>, request: ServiceRequest) -> ServiceResponse<BoxBody> {
    let connection = request.conn_data::<Rc<Connection>>().cloned();
    if let Some(connection) = &connection {
        connection.begin();
    }
    let response = handle(worker, request).await;
    if let Some(connection) = connection {
        connection.wait();
    }
    response
}

/// Is ready when the server stops. Every poll of every connection asks, so it is a flag; [`super::progress::Connections::stop`] wakes.
///
/// It lets one more poll of its connection pass by: what a client has sent already is read then, and answered.
struct Stopping {
    flag: Rc<Cell<bool>>,
    has_passed: bool,
}

impl Future for Stopping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.flag.get() {
            return Poll::Pending;
        }
        if self.has_passed {
            return Poll::Ready(());
        }
        self.has_passed = true;
        context.waker().wake_by_ref();
        Poll::Pending
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
            async move { Ok(ExpectGate { worker, app: Rc::new(app.await?) }) }
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
        let length =
            request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if wants_body(&self.worker, request.method().as_str(), request.uri().path(), length) {
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

/// The clock of a worker. It also lets go of a generation that has been replaced, and hears when the server stops.
async fn sweep(worker: Weak<Worker>, pace: Pace, mut stopping: watch::Receiver<bool>) {
    let mut interval = tokio::time::interval(pace.tick);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_told = false;
    loop {
        let stops = tokio::select! {
            _ = interval.tick() => false,
            // An error means that nobody is left to tell: the server has ended.
            _ = stopping.wait_for(|stopping| *stopping), if !is_told => true,
        };
        let Some(worker) = worker.upgrade() else {
            return;
        };
        if stops {
            is_told = true;
            worker.connections().stop();
        } else {
            worker.connections().tick(&pace);
            drop(worker.pin());
        }
    }
}
