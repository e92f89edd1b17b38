//! An open connection: a socket, with or without TLS, directly or through a proxy.

use std::cell::Cell;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::net::family::Family;
use ddns_core::net::proxy::Server;
use ddns_core::schedule::limiter::AcceptQueue;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::IoState;

use super::exchange::{ByteStream, Conversation, Fault};
use crate::platform;

/// An open connection. `S` is its stream, or the conversation on it.
pub(super) struct Connection<S = Stream> {
    pub(super) stream: S,
    pub(super) family: Option<Family>,
    /// The local address that was requested when the connection was made.
    pub(super) from: Option<IpAddr>,
    /// The proxy it goes through.
    pub(super) via: Option<Arc<Server>>,
    /// The names whose unknown issuer was accepted, because the host is local.
    pub(super) unverified: Vec<String>,
    /// What is known about the server's address, shared by all connections to it.
    pub(super) host: Rc<Host>,
    /// Whether the first attempt was not accepted in time.
    pub(super) is_late: bool,
    /// Held until the first response.
    pub(super) opening: Option<Opening>,
}

/// A connection that is being made, or has had no response yet.
pub(super) struct Opening {
    /// See [`Host::opening`].
    _held: Rc<()>,
    since: Instant,
    /// How often other connections had made way when this one began.
    yields: u32,
}

/// What is known about new connections to an address.
#[derive(Default)]
pub(super) struct Host {
    /// How long it usually takes to open a connection; `None` before the first one.
    pub(super) usual: Cell<Option<Duration>>,
    /// Held by each connection that is being made, or has had no response yet.
    opening: Rc<()>,
    /// Responses on kept connections since a new connection had its first one.
    overtaken: Cell<usize>,
    /// How often a kept connection made way for new ones without a response, and when last; `None` if a response has come since.
    yields: Cell<u32>,
    yielded: Cell<Option<Instant>>,
}

/// An attempt that takes this much longer than usual was not accepted: the server's queue of new connections is full.
/// The system itself would try again only after a second.
pub(super) const LATE: Duration = Duration::from_millis(15);

/// A single-threaded server accepts no other connection while it keeps one. If each other connection has had this many
/// responses and a new one none, a kept connection makes way; again after twice as many, because the new one may just
/// be slow.
const MAX_OVERTAKES: usize = 4;

impl Host {
    /// Registers another connection that is being made.
    pub(super) fn open(&self) -> Opening {
        Opening { _held: self.opening.clone(), since: Instant::now(), yields: self.yields.get() }
    }

    /// How many connections have had no response yet.
    fn unanswered_connections(&self) -> usize {
        Rc::strong_count(&self.opening) - 1
    }
}

/// An open stream. TLS runs over a socket, or over TLS with a proxy.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<Stream>>),
}

impl Connection {
    /// A connection that is only a socket.
    pub(super) fn plain(socket: TcpStream, host: Rc<Host>) -> Self {
        let family = socket.peer_addr().ok().and_then(|peer| Family::of(peer.ip()));
        Self {
            stream: Stream::Plain(socket),
            family,
            from: None,
            via: None,
            unverified: Vec::new(),
            host,
            is_late: false,
            opening: None,
        }
    }

    /// Starts HTTP on the connection.
    pub(super) async fn begin(self) -> Result<Box<HttpConnection>, Fault> {
        let Self { stream, family, from, via, unverified, host, is_late, opening } = self;
        let stream = Conversation::new(stream).await?;
        // Boxed: it is passed on with every request.
        Ok(Box::new(Connection { stream, family, from, via, unverified, host, is_late, opening }))
    }
}

/// A connection on which HTTP is spoken.
pub(super) type HttpConnection = Connection<Conversation<Stream>>;

impl HttpConnection {
    /// To be called when a response has come. Returns the state of the server's queue of new connections, and whether
    /// this connection makes way for them.
    pub(super) fn responded(&mut self) -> (AcceptQueue, bool) {
        let host = &self.host;
        let yielded = host.yielded.take();
        let opening = self.opening.take();
        let unanswered_connections = host.unanswered_connections() - usize::from(opening.is_some());
        let has_newcomers = unanswered_connections > 0;
        // The connection waited until another one made way, and was served first then.
        let was_waiting = |opening: &Opening| {
            let is_soon = |at: Instant| {
                let since = at.elapsed();
                since < LATE || since < opening.since.elapsed() / 2
            };
            opening.yields != host.yields.get() && yielded.is_some_and(is_soon)
        };
        let is_freed = opening.as_ref().is_some_and(was_waiting);
        let overtaken = if opening.is_some() || !has_newcomers { 0 } else { host.overtaken.get().saturating_add(1) };
        host.overtaken.set(overtaken);
        // The dialer holds the host too.
        let others = Rc::strong_count(host).saturating_sub(1 + unanswered_connections);
        let is_far_ahead = overtaken.is_power_of_two() && overtaken >= MAX_OVERTAKES * others;
        let makes_way = has_newcomers && (is_freed || is_far_ahead);
        if makes_way {
            host.yields.set(host.yields.get().wrapping_add(1));
            host.yielded.set(Some(Instant::now()));
        }
        let line = match (is_freed, std::mem::take(&mut self.is_late), has_newcomers) {
            (true, _, _) => AcceptQueue::Single,
            (_, true, _) => AcceptQueue::Full,
            (_, _, false) => AcceptQueue::Free,
            _ if opening.is_none() => AcceptQueue::Ahead,
            _ => AcceptQueue::Busy,
        };
        (line, makes_way)
    }

    /// Whether there is no other connection to the same address.
    pub(super) fn is_alone(&self) -> bool {
        // The dialer holds the host too.
        Rc::strong_count(&self.host) <= 2
    }

    /// Whether the other side still listens, as far as this host knows. A server must be silent between requests: if it
    /// sends anything then, it closes.
    pub(super) fn is_open(&mut self) -> bool {
        self.stream.idle_stream(Stream::is_open).unwrap_or(false)
    }
}

impl Stream {
    /// The TCP socket below.
    pub(super) fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => stream.get_ref().0.socket(),
        }
    }

    fn is_open(&mut self) -> bool {
        match self {
            Self::Plain(socket) => {
                recv(&*socket, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) == Err(Errno::AGAIN)
            }
            Self::Tls(stream) => {
                let (below, session) = stream.get_mut();
                // Data may have been decrypted already, together with the end of the previous response.
                let is_silent = |state: IoState| state.plaintext_bytes_to_read() == 0 && !state.peer_has_closed();
                session.process_new_packets().is_ok_and(is_silent) && below.is_open()
            }
        }
    }
}

impl ByteStream for Stream {
    fn acknowledge(&self) {
        platform::acknowledge(self.socket());
    }

    fn discard_unsent(&self, is_wanted: bool) {
        // A system that cannot do this still has the time limit of the request.
        let _ = set_socket_linger(self.socket(), is_wanted.then_some(Duration::ZERO));
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
