//! Runs a site: binds once, starts the workers, reloads, and stops without losing what is under way.
//!
//! The only module that starts threads, binds addresses and listens to signals. What is fixed at start (addresses,
//! workers, connection limits and timeouts) lives here; all else is read from the current generation.

pub mod call;
pub mod limits;
pub mod listen;
pub mod reload;
pub mod run;
pub mod signals;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use actix_web::dev::{Server, ServerHandle};
use actix_web::rt::System;
use slog::Logger;
use tokio::sync::watch;

use self::limits::Limits;
use self::listen::{Address, Listener};
use crate::diag::Span;
use crate::http::connection::{self, Listening};
use crate::runtime::Runtime;
use crate::site::server::ServerSettings;

/// Blocking work of a worker (file reading, large compressions) runs on so many threads at most.
const BLOCKING_THREADS: usize = 16;
/// How often a stopping server looks whether its connections are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// The machine refused something that a site asks for.
#[derive(Debug)]
pub struct BuildError {
    /// What was refused and why, in one sentence.
    pub message: String,
    /// Where the site asks for it, when it says so itself.
    pub span: Option<Span>,
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for BuildError {}

impl BuildError {
    fn new(what: &str, error: &io::Error) -> Self {
        Self { message: format!("{what}: {error}"), span: None }
    }
}

/// A server that answers requests. Dropping it ends it at once; [`Running::stop`] lets requests finish.
pub struct Running {
    runtime: Arc<Runtime>,
    settings: Arc<ServerSettings>,
    addresses: Vec<Address>,
    handle: ServerHandle,
    stopping: watch::Sender<bool>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Binds every address of the runtime's site and answers requests from now on.
    ///
    /// # Errors
    /// An address cannot be bound, or a thread cannot be started.
    pub fn start(runtime: Arc<Runtime>) -> Result<Self, BuildError> {
        let site = runtime.current.load().site.clone();
        let log = runtime.current.load().logger.clone();
        let limits = Limits::of(&site.server);
        let listeners = listen::bind_all(&site.server)?;
        let addresses: Vec<Address> = listeners.iter().map(|listener| listener.address.clone()).collect();
        let settings = Arc::new(site.server.clone());
        let (stopping, stop) = watch::channel(false);
        let listening = Listening { runtime: runtime.clone(), settings: settings.clone(), stopping: stop };
        let (sender, receiver) = mpsc::channel();
        let workers = settings.workers;
        let thread = thread::Builder::new().name("moondock-http".to_owned());
        let thread = thread
            .spawn(move || serve(workers, limits, listeners, &listening, &sender))
            .map_err(|error| BuildError::new("cannot start a thread", &error))?;
        let Ok(handle) = receiver.recv() else {
            return Err(BuildError {
                message: format!("the HTTP server did not start: {}", failure_of(thread)),
                span: None,
            });
        };
        for address in &addresses {
            slog::info!(log, # "server", "listening"; "address" => %address);
        }
        Ok(Self { runtime, settings, addresses, handle, stopping, thread: Some(thread) })
    }

    /// Where it listens, in the order declared; ports that the system chose are filled in.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// The running site.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// Stops: accepts nothing more, closes idle connections at once, lets requests under way finish within
    /// `shutdown-grace`, then ends. `hurry` ends it before that. Returns whether all of them finished.
    pub async fn stop(mut self, hurry: impl Future) -> bool {
        self.handle.pause().await;
        self.stopping.send_replace(true);
        let finished = tokio::select! {
            () = self.all_closed() => true,
            () = tokio::time::sleep(self.settings.shutdown_grace) => false,
            _ = hurry => false,
        };
        self.end();
        finished
    }

    async fn all_closed(&self) {
        while self.runtime.counters.connections.load(Ordering::Relaxed) > 0 {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Ends the workers; what still runs on them is dropped.
    fn end(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        drop(self.handle.stop(false));
        if thread.join().is_err() {
            slog::crit!(self.log(), # "server", "the HTTP server panicked");
        }
        for address in &self.addresses {
            address.forget();
        }
    }

    fn log(&self) -> Logger {
        self.runtime.current.load().logger.clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Why a thread ended before its time.
fn failure_of(thread: JoinHandle<io::Result<()>>) -> String {
    match thread.join() {
        Ok(Ok(())) => "it ended at once".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it panicked".to_owned(),
    }
}

/// The HTTP thread: accepts, and starts the workers.
fn serve(
    workers: usize,
    limits: Limits,
    listeners: Vec<Listener>,
    listening: &Listening,
    started: &mpsc::Sender<ServerHandle>,
) -> io::Result<()> {
    System::new().block_on(async {
        let mut builder = Server::build()
            .workers(workers)
            .worker_max_blocking_threads(BLOCKING_THREADS)
            .max_concurrent_connections(limits.connections_of_worker)
            .disable_signals()
            .shutdown_timeout(0);
        for (number, listener) in listeners.into_iter().enumerate() {
            let listening = listening.clone();
            let name = format!("bind-{number}");
            builder = match listener.socket {
                listen::Socket::Tcp(socket) => builder.listen(name, socket, move || connection::service(&listening))?,
                listen::Socket::Unix(socket) => {
                    builder.listen_uds(name, socket, move || connection::service(&listening))?
                }
            };
        }
        let server = builder.run();
        // Nobody waits for the handle when the start was given up; then there is nothing to serve.
        if started.send(server.handle()).is_err() {
            return Ok(());
        }
        server.await
    })
}

#[cfg(test)]
mod tests;
