//! Binding the addresses of a site, once, before anything else is started.

use std::fmt;
use std::io;
use std::iter;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Type};

use super::BuildError;
use crate::site::server::{Bind, ServerSettings};

/// Connections that may wait to be accepted; the system may allow less.
const BACKLOG: i32 = 4096;

/// An address that is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and port.
    Tcp(SocketAddr),
    /// A unix socket's path.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(formatter, "http://{address}"),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Removes what binding has left in the file system.
    pub(super) fn forget(&self) {
        if let Self::Unix(path) = self {
            // Another process may have taken it over or removed it; there is nothing to do about that.
            drop(std::fs::remove_file(path));
        }
    }
}

/// A bound socket.
pub(super) struct Listener {
    pub(super) address: Address,
    pub(super) socket: Socket,
}

/// The kinds of socket.
pub(super) enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// Binds every address of a site, or none.
pub(super) fn bind_all(settings: &ServerSettings) -> Result<Vec<Listener>, BuildError> {
    let spans = settings.binds.iter().map(|bind| Some(bind.span)).chain(iter::repeat(None));
    let bound = settings.addresses().into_iter().zip(spans).map(|(bind, span)| {
        let (told, bound) = match &bind {
            Bind::Tcp(address) => (address.to_string(), tcp(*address)),
            Bind::Unix(path) => (format!("unix:{}", path.display()), unix(path)),
        };
        let message = |error| format!("cannot listen on {told}: {}", cause(&error));
        bound.map_err(|error| BuildError { message: message(error), span })
    });
    bound.collect()
}

fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there already".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not listen there".to_owned(),
        io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
        io::ErrorKind::NotFound => "its folder does not exist".to_owned(),
        _ => error.to_string(),
    }
}

fn tcp(address: SocketAddr) -> io::Result<Listener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A server that is started again must not wait for the connections of the one before.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // So that `[::]:80` and `0.0.0.0:80` can stand side by side, on every system.
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    let socket = TcpListener::from(socket);
    Ok(Listener { address: Address::Tcp(socket.local_addr()?), socket: Socket::Tcp(socket) })
}

fn unix(path: &Path) -> io::Result<Listener> {
    remove_abandoned(path);
    let socket = UnixListener::bind(path)?;
    socket.set_nonblocking(true)?;
    Ok(Listener { address: Address::Unix(path.to_owned()), socket: Socket::Unix(socket) })
}

/// Removes the socket of a server that has ended without doing so itself; one that answers is left alone.
fn remove_abandoned(path: &Path) {
    let is_socket = path.symlink_metadata().is_ok_and(|metadata| metadata.file_type().is_socket());
    let is_refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && UnixStream::connect(path).err().is_some_and(is_refused) {
        // When this fails, binding fails and says why.
        drop(std::fs::remove_file(path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::{FileId, Span};
    use crate::kdl::scalar::At;

    fn span(number: usize) -> Span {
        Span::new(FileId(0), number..number)
    }

    fn bound(binds: &[Bind]) -> Result<Vec<Listener>, BuildError> {
        let binds = binds.iter().enumerate();
        let binds = binds.map(|(number, it)| At { it: it.clone(), span: span(number) }).collect();
        bind_all(&ServerSettings { binds, ..ServerSettings::default() })
    }

    #[test]
    fn a_port_in_use_is_told_with_its_place() {
        let any_port = Bind::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let first = bound(std::slice::from_ref(&any_port)).unwrap();
        let Address::Tcp(taken) = first[0].address else { panic!("{}", first[0].address) };
        let error = bound(&[any_port, Bind::Tcp(taken)]).err().unwrap();
        let message = format!("cannot listen on {taken}: another program listens there already");
        assert_eq!((error.message, error.span), (message, Some(span(1))));
    }

    #[test]
    fn an_abandoned_unix_socket_is_taken_over_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.sock");
        let binds = [Bind::Unix(path.clone())];
        drop(bound(&binds).unwrap());
        assert!(path.exists());
        let live = bound(&binds).unwrap();
        assert!(bound(&binds).err().unwrap().message.contains("another program"));
        live[0].address.forget();
        assert!(!path.exists());
        let nowhere = [Bind::Unix(folder.path().join("none/s.sock"))];
        assert!(bound(&nowhere).err().unwrap().message.contains("its folder does not exist"));
    }
}
