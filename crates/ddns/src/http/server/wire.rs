//! The stream of a connection to this host, and how long it may take.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// How long the other side may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// For its next request.
    pub(super) idle: Duration,
    /// For a request from its first byte to its last, and to take its response.
    pub(super) request: Duration,
}

impl Patience {
    pub(super) const USUAL: Self = Self { idle: Duration::from_secs(60), request: Duration::from_secs(10) };
}

/// Longer than any response is held back.
pub(super) const UNBOUNDED: Duration = Duration::from_secs(24 * 3600);

/// The first byte of TLS: somebody wrote https.
const HANDSHAKE: u8 = 0x16;

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Reading,
    Responding,
    Writing,
}

pub(super) struct Wire {
    pub(super) stream: TcpStream,
    patience: Patience,
    phase: Phase,
    since: Instant,
    /// Whether TLS was spoken. Nothing of it is handed on.
    pub(super) is_secured: bool,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, patience: Patience) -> Self {
        Self { stream, patience, phase: Phase::Waiting, since: Instant::now(), is_secured: false }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        (self.phase, self.since) = (phase, Instant::now());
    }

    /// Whether no request has come for so long.
    pub(super) fn is_silent(&self, at_least: Duration) -> bool {
        self.phase == Phase::Waiting && self.since.elapsed() >= at_least
    }

    /// When it has taken too long.
    pub(super) fn deadline(&self) -> Instant {
        self.since
            + match self.phase {
                Phase::Waiting => self.patience.idle,
                Phase::Reading | Phase::Writing => self.patience.request,
                Phase::Responding => UNBOUNDED,
            }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, into))?;
        if let (Some(first), Phase::Waiting) = (into.filled().get(before), self.phase) {
            if *first == HANDSHAKE {
                self.is_secured = true;
                into.set_filled(before);
            }
            self.enter(Phase::Reading);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if self.phase == Phase::Writing {
            self.enter(Phase::Waiting);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
