//! From an address to an open stream: name look-up, TCP, TLS. Proxies belong here.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::callback::Url;
use ddns_core::config::Ssl;
use ddns_core::local::is_far;
use ddns_core::record::Family;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::tls::{self, Tls};
use super::{How, Over};

/// One of several addresses of a host gets so long at most before the next one is tried.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// An open connection.
pub(super) struct Connection {
    pub(super) stream: Stream,
    /// The family it goes over.
    pub(super) family: Option<Family>,
    /// Whether an unknown issuer was let pass, because the host is a local one.
    pub(super) is_unverified: bool,
}

/// An open stream, secured or not.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection {
    /// Whether the other side still listens, as far as this host has heard. Between requests it must be silent: what
    /// it says then is that it closes.
    pub(super) fn is_open(&self) -> bool {
        recv(self.stream.socket(), &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) == Err(Errno::AGAIN)
    }
}

impl Stream {
    /// What lies below.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, into),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// Opens streams. Remembers the addresses of hosts for one synchronization.
#[derive(Default)]
pub(super) struct Connector {
    tls: Tls,
    hosts: RefCell<HashMap<String, Vec<IpAddr>>>,
}

impl Connector {
    /// A connection to the host of `url`. The error says what was tried.
    pub(super) async fn connect(&self, url: &Url, how: How<'_>, limit: Duration) -> Result<Connection, String> {
        let How { ssl, over, from, .. } = how;
        let stream = self.tcp(url, over, from, limit).await?;
        let family = stream.peer_addr().ok().and_then(|peer| Family::of(peer.ip()));
        let plain = |stream| Connection { stream, family, is_unverified: false };
        if !url.secure {
            return Ok(plain(Stream::Plain(stream)));
        }
        let error = match self.secure(stream, url, ssl).await? {
            Ok(stream) => return Ok(plain(stream)),
            Err(error) => error,
        };
        if *ssl == Ssl::Auto && url.is_local() && tls::is_unknown_issuer(&error) {
            let stream = self.tcp(url, over, from, limit).await?;
            if let Ok(stream) = self.secure(stream, url, &Ssl::Off).await? {
                return Ok(Connection { stream, family, is_unverified: true });
            }
        }
        Err(tls::explain(&error, url))
    }

    async fn secure(&self, stream: TcpStream, url: &Url, ssl: &Ssl) -> Result<io::Result<Stream>, String> {
        let connector = self.tls.connector(ssl)?;
        let name = tls::server_name(&url.host)?;
        // Boxed: a handshake is large, and most of what waits here is none.
        let secured = Box::pin(connector.connect(name, stream)).await;
        Ok(secured.map(|stream| Stream::Tls(Box::new(stream))))
    }

    async fn tcp(&self, url: &Url, over: Over, from: Option<IpAddr>, limit: Duration) -> Result<TcpStream, String> {
        let addresses = self.look_up(&url.host, over).await?;
        // A dead first address leaves time for the next.
        let patience = CONNECT_PATIENCE.min(limit / u32::try_from(addresses.len() + 1).unwrap_or(u32::MAX));
        let mut tried = Vec::new();
        for ip in addresses {
            let address = SocketAddr::new(ip, url.port);
            match timeout(patience, open(address, from)).await {
                Ok(Ok(stream)) => {
                    // A request is one small write: nothing is gained by waiting for more.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => tried.push(format!("{address}: {}", reason(&error))),
                Err(_) => tried.push(format!("{address}: no answer within {} s", patience.as_secs_f32())),
            }
        }
        Err(format!("no connection to {} ({})", url.origin(), tried.join(", ")))
    }

    /// The addresses of a host, in the order in which they are to be tried; at least one.
    pub(super) async fn look_up(&self, host: &str, over: Over) -> Result<Vec<IpAddr>, String> {
        let mut addresses = self.all_addresses(host).await?;
        match over {
            Over::Any => {}
            Over::Prefer(family) => addresses.sort_by_key(|ip| Family::of(*ip) != Some(family)),
            Over::Only(family) => {
                addresses.retain(|ip| Family::of(*ip) == Some(family));
                if addresses.is_empty() {
                    return Err(format!("{host} has no {family} address"));
                }
            }
        }
        Ok(addresses)
    }

    async fn all_addresses(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        if let Ok(ip) = host.parse() {
            return Ok(vec![ip]);
        }
        if let Some(known) = self.hosts.borrow().get(host) {
            return Ok(known.clone());
        }
        let found = lookup_host((host, 0)).await;
        let found = found.map_err(|error| format!("the name {host} cannot be looked up ({})", reason(&error)))?;
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in found {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
        if addresses.is_empty() {
            return Err(format!("the name {host} has no address"));
        }
        self.hosts.borrow_mut().insert(host.to_owned(), addresses.clone());
        Ok(addresses)
    }
}

/// A stream; from this address of ours where one is given and the way to the other side can begin there.
async fn open(address: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    if let Some(from) = from.filter(|from| from.is_ipv6() == address.is_ipv6() && is_far(address.ip())) {
        let socket = if from.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
        if socket.bind(SocketAddr::new(from, 0)).is_ok() {
            return socket.connect(address).await;
        }
    }
    TcpStream::connect(address).await
}

/// What an error of the system means, without its number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::TimedOut => "timed out".to_owned(),
        _ => error.to_string().trim_start_matches("failed to lookup address information: ").to_owned(),
    }
}
