//! The stream of a connection to this host, and its time limits.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionTimeouts {
    /// To send its next request.
    pub(crate) idle: Duration,
    /// For a request from its first byte to its last, and to take its response.
    pub(crate) request: Duration,
}

impl ConnectionTimeouts {
    pub(crate) const USUAL: Self = Self { idle: Duration::from_secs(60), request: Duration::from_secs(10) };
}

/// Longer than any response is delayed.
pub(super) const UNBOUNDED: Duration = Duration::from_secs(24 * 3600);

/// The first byte of TLS: the client uses https.
const HANDSHAKE: u8 = 0x16;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    Waiting,
    Reading,
    Responding,
    Writing,
    /// A response without an end: it has no time limit, but the client must take it.
    Streaming,
}

/// What a connection is doing, and since when.
pub(crate) struct Activity {
    patience: ConnectionTimeouts,
    phase: Cell<ConnectionPhase>,
    since: Cell<Instant>,
    /// Since when the client has taken nothing of what is to be sent.
    stuck: Cell<Option<Instant>>,
}

impl Activity {
    pub(super) fn new(patience: ConnectionTimeouts) -> Self {
        Self {
            patience,
            phase: Cell::new(ConnectionPhase::Waiting),
            since: Cell::new(Instant::now()),
            stuck: Cell::default(),
        }
    }

    pub(crate) fn phase(&self) -> ConnectionPhase {
        self.phase.get()
    }

    pub(crate) fn enter(&self, phase: ConnectionPhase) {
        self.phase.set(phase);
        self.since.set(Instant::now());
    }

    /// Whether no request has come for this long, or one that began is incomplete after four times as long.
    pub(super) fn is_silent(&self, at_least: Duration) -> bool {
        let since = self.since.get().elapsed();
        match self.phase() {
            ConnectionPhase::Waiting => since >= at_least,
            ConnectionPhase::Reading => since >= at_least * 4,
            _ => false,
        }
    }

    /// When the current phase has taken too long.
    pub(crate) fn deadline(&self) -> Instant {
        match (self.phase(), self.stuck.get()) {
            (ConnectionPhase::Waiting, _) => self.since.get() + self.patience.idle,
            (ConnectionPhase::Reading | ConnectionPhase::Writing, _) => self.since.get() + self.patience.request,
            (ConnectionPhase::Streaming, Some(stuck)) => stuck + self.patience.request,
            (ConnectionPhase::Responding | ConnectionPhase::Streaming, _) => self.since.get() + UNBOUNDED,
        }
    }

    fn wrote<T>(&self, result: Poll<T>) -> Poll<T> {
        let stuck = if result.is_pending() { self.stuck.get().or_else(|| Some(Instant::now())) } else { None };
        self.stuck.set(stuck);
        result
    }
}

pub(crate) struct ServerWire<S> {
    pub(crate) stream: S,
    pub(crate) activity: Rc<Activity>,
    /// Whether the client sent TLS where it is not expected. None of it is passed on.
    pub(crate) is_secured: bool,
}

impl<S> ServerWire<S> {
    pub(crate) fn new(stream: S, activity: Rc<Activity>) -> Self {
        Self { stream, activity, is_secured: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ServerWire<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        if let (Some(first), ConnectionPhase::Waiting) = (into.filled().get(before), self.activity.phase()) {
            if *first == HANDSHAKE {
                self.is_secured = true;
                into.set_filled(before);
            }
            self.activity.enter(ConnectionPhase::Reading);
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ServerWire<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.activity.wrote(wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if self.activity.phase() == ConnectionPhase::Writing {
            self.activity.enter(ConnectionPhase::Waiting);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
