//! A server's life from start to end: signals, reloads, the last words in the log.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use slog::Logger;
use tokio::runtime::Builder;

use super::reload::{self, Origin, Reloads};
use super::signals::{Asked, Signals};
use super::{BuildError, Running};
use crate::runtime::Runtime;
use crate::site::Site;

/// How long the log may take to write what is left of it.
const FLUSH: Duration = Duration::from_secs(2);

/// Serves a site until a signal ends it: SIGTERM and SIGINT stop it gracefully, a second one at once, SIGHUP reloads.
/// `announce` is called as soon as requests are answered.
///
/// # Errors
/// The machine refuses something the site asks for; nothing runs then.
pub fn run(site: Arc<Site>, origin: Origin, announce: impl FnOnce(&Running)) -> Result<(), BuildError> {
    let refused = |error: io::Error| BuildError::new("cannot start", &error);
    let runtime = Runtime::start(site.clone()).map_err(refused)?;
    let tokio = Builder::new_current_thread().enable_all().build().map_err(refused)?;
    let _entered = tokio.enter();
    let mut signals = Signals::listen().map_err(refused)?;
    slog::info!(log(&runtime), # "config", "loaded"; "generation" => 1, "file" => %origin.path.display(),
        "endpoints" => site.endpoints.len(), "environments" => site.environments.len(), "statics" => site.statics.len());
    let running = Running::start(runtime.clone()).inspect_err(|error| {
        slog::crit!(log(&runtime), # "server", "cannot start"; "cause" => %error);
        flush(&runtime);
    })?;
    let reloads = reload::start(runtime.clone(), origin).map_err(refused)?;
    announce(&running);
    tokio.block_on(async {
        let name = serve(&mut signals, &reloads).await;
        slog::info!(log(&runtime), # "server", "stopping"; "signal" => name);
        let finished = running.stop(signals.stop()).await;
        if finished {
            slog::info!(log(&runtime), # "server", "stopped");
        } else {
            slog::warn!(log(&runtime), # "server", "stopped before all requests were answered");
        }
    });
    reloads.settle(FLUSH);
    flush(&runtime);
    Ok(())
}

/// Hears signals until one of them ends the server; its name.
async fn serve(signals: &mut Signals, reloads: &Reloads) -> &'static str {
    loop {
        match signals.next().await {
            Asked::Stop(name) => return name,
            Asked::Reload => reloads.ask(),
        }
    }
}

fn log(runtime: &Runtime) -> Logger {
    runtime.current.load().logger.clone()
}

fn flush(runtime: &Runtime) {
    runtime.current.load().router.flush(FLUSH);
}
