//! One request through a site without a port: a pair of sockets stands in for the network, all else is as it is served.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use actix_service::{Service, ServiceFactory};
use actix_web::rt::System;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::sync::watch;

use crate::http::connection::{self, Listening};
use crate::runtime::Runtime;
use crate::site::Site;

/// How long the log may take to write what is left of it.
const FLUSH: Duration = Duration::from_secs(2);

/// The answer to a request, head and body as they are sent. The request must ask for the connection to be closed.
///
/// # Errors
/// The machine refuses what the site asks for.
pub fn call(site: Arc<Site>, request: &[u8]) -> io::Result<Vec<u8>> {
    let settings = Arc::new(site.server.clone());
    let runtime = Runtime::start(site)?;
    // Nobody stops it: it ends with its one connection.
    let (_stopping, stopping) = watch::channel(false);
    let listening = Listening { runtime: runtime.clone(), settings, stopping };
    let answer = System::new().block_on(async {
        let made = connection::service::<UnixStream>(&listening).new_service(()).await;
        let service = made.map_err(|_| io::Error::other("the HTTP service did not start"))?;
        let (client, server) = UnixStream::pair()?;
        let (_served, answer) = tokio::join!(service.call(server), exchange(client, request));
        answer
    });
    runtime.current.load().router.flush(FLUSH);
    answer
}

async fn exchange(mut client: UnixStream, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    client.write_all(request).await?;
    client.read_to_end(&mut answer).await?;
    Ok(answer)
}
