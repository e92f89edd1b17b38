//! An open connection: a socket, secured or not, directly or through a proxy.

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
use ddns_core::schedule::limiter::Line;
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

/// An open connection. `S` is its stream, or what is spoken on it.
pub(super) struct Connection<S = Stream> {
    pub(super) stream: S,
    /// The family it goes over.
    pub(super) family: Option<Family>,
    /// The address of ours that was asked for when it was made.
    pub(super) from: Option<IpAddr>,
    /// The proxy it goes through.
    pub(super) via: Option<Arc<Server>>,
    /// Whose unknown issuer was let pass, because the host is a local one.
    pub(super) unverified: Vec<String>,
    /// The other side, as others see it that connect there.
    pub(super) host: Rc<Host>,
    /// Whether it was not taken at first.
    pub(super) is_late: bool,
    /// Held until there was a response.
    pub(super) opening: Option<Opening>,
}

/// A connection that is being made, or had no response yet.
pub(super) struct Opening {
    /// See [`Host::opening`].
    _held: Rc<()>,
    since: Instant,
    /// How often another had made way when it began.
    yields: u32,
}

/// What is known about new connections to an address.
#[derive(Default)]
pub(super) struct Host {
    /// How long one takes; `None` where there was none yet.
    pub(super) usual: Cell<Option<Duration>>,
    /// Held by each that is being made, or had no response yet.
    opening: Rc<()>,
    /// Responses on kept connections since a new one had its first.
    overtaken: Cell<usize>,
    /// How often a kept connection made way for those that had no response yet, and when last; none where a response came
    /// since.
    yields: Cell<u32>,
    yielded: Cell<Option<Instant>>,
}

/// A connection that takes so much longer than others to its address was not taken: the line of new connections there is
/// full. The system itself would try again after a second.
pub(super) const LATE: Duration = Duration::from_millis(15);

/// A server of one thread takes no other connection as long as it keeps one. Where each of the others had so many
/// responses, and a new one had none, a kept one makes way; again after twice as many, for the new one may just be slow.
const OVERTAKEN: usize = 4;

impl Host {
    /// Another connection is being made.
    pub(super) fn open(&self) -> Opening {
        Opening { _held: self.opening.clone(), since: Instant::now(), yields: self.yields.get() }
    }

    /// How many connections had no response yet.
    fn newcomers(&self) -> usize {
        Rc::strong_count(&self.opening) - 1
    }
}

/// An open stream. TLS goes over a socket, or over TLS with a proxy.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<Stream>>),
}

impl Connection {
    /// A connection that is no more than a socket.
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

    /// Begins to speak HTTP on it.
    pub(super) async fn begin(self) -> Result<Box<Spoken>, Fault> {
        let Self { stream, family, from, via, unverified, host, is_late, opening } = self;
        let stream = Conversation::new(stream).await?;
        // It is passed from hand to hand with every request.
        Ok(Box::new(Connection { stream, family, from, via, unverified, host, is_late, opening }))
    }
}

/// A connection on which HTTP is spoken.
pub(super) type Spoken = Connection<Conversation<Stream>>;

impl Spoken {
    /// A response has come: how the line of new connections at the other side is, and whether this connection makes way for
    /// them.
    pub(super) fn responded(&mut self) -> (Line, bool) {
        let host = &self.host;
        let yielded = host.yielded.take();
        let opening = self.opening.take();
        let newcomers = host.newcomers() - usize::from(opening.is_some());
        let has_newcomers = newcomers > 0;
        // It waited until another made way, and then it was the first.
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
        // Whoever opens connections holds it too.
        let others = Rc::strong_count(host).saturating_sub(1 + newcomers);
        let is_far_ahead = overtaken.is_power_of_two() && overtaken >= OVERTAKEN * others;
        let makes_way = has_newcomers && (is_freed || is_far_ahead);
        if makes_way {
            host.yields.set(host.yields.get().wrapping_add(1));
            host.yielded.set(Some(Instant::now()));
        }
        let line = match (is_freed, std::mem::take(&mut self.is_late), has_newcomers) {
            (true, _, _) => Line::Single,
            (_, true, _) => Line::Full,
            (_, _, false) => Line::Free,
            _ if opening.is_none() => Line::Ahead,
            _ => Line::Busy,
        };
        (line, makes_way)
    }

    /// Whether there is no other connection to the same address.
    pub(super) fn is_alone(&self) -> bool {
        // Whoever opens connections holds it too.
        Rc::strong_count(&self.host) <= 2
    }

    /// Whether the other side still listens, as far as this host knows. Between requests it must be silent: what
    /// it sends then is that it closes.
    pub(super) fn is_open(&mut self) -> bool {
        self.stream.idle_stream(Stream::is_open).unwrap_or(false)
    }
}

impl Stream {
    /// What lies below.
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
                // What arrived may have been decrypted already, with the end of the response before it.
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
        // A system that cannot do so still has the time limit of the request.
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
