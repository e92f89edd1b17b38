//! hyper on a stream, one exchange after another.
//!
//! Nothing but the exchange itself drives hyper, and the stream can be looked at any time. So it is known what was sent
//! (A7), whether all of it was, and whether anything came that was not requested.

use std::cell::{Cell, RefCell};
use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::body::{Body as _, Bytes, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::fault::{Fault, FaultKind};
use super::limits::{MAX_BYTES_BEFORE_HEAD, MAX_HEAD_BYTES, MAX_HEADERS};
use crate::http::body::Whole;
use crate::http::io::Io;

/// A stream on which HTTP is spoken.
pub(in crate::http::client) trait ByteStream: AsyncRead + AsyncWrite + Unpin {
    /// Acknowledges at once what has been received.
    fn acknowledge(&self);

    /// Whether data that is not delivered yet is discarded when the stream is closed, even by the end of this process.
    /// Otherwise, the system keeps trying.
    fn discard_unsent(&self, is_wanted: bool);
}

/// hyper's connection on a stream, driven only while somebody waits for it.
pub(in crate::http::client) struct Conversation<S: ByteStream> {
    wire: Rc<RefCell<ExchangeWire<S>>>,
    sender: SendRequest<Whole>,
    /// `None` once hyper has nothing more to do.
    connection: Option<Connection<Io<ExchangeWire<S>>, Whole>>,
    /// Bytes that were read but are not part of the response; known once the connection is over.
    left: Bytes,
}

/// How reading a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::http::client) enum BodyEnd {
    /// The body is complete.
    Whole,
    /// The other side closed: before the end of the body or, over TLS, without `close_notify`.
    Closed,
    /// The body broke off, or is longer than the limit.
    Cut,
}

impl<S: ByteStream> Conversation<S> {
    pub(in crate::http::client) async fn new(stream: S) -> Result<Self, Fault> {
        let wire = Rc::new(RefCell::new(ExchangeWire::new(stream)));
        let mut builder = Builder::new();
        builder
            .title_case_headers(true)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD_BYTES)
            .allow_obsolete_multiline_headers_in_responses(true);
        let begun = builder.handshake(Io(wire.clone())).await;
        let (sender, connection) = begun.map_err(|error| Fault::unsent(FaultKind::Invalid(error)))?;
        Ok(Self { wire, sender, connection: Some(connection), left: Bytes::new() })
    }

    /// Sends the request and waits for the head of the final response. If that is given up, or `is_slow` is set and
    /// this process ends, nothing more of the request is delivered.
    pub(super) async fn send(
        &mut self,
        request: hyper::Request<Whole>,
        is_slow: &Cell<bool>,
    ) -> Result<hyper::Response<Incoming>, Fault> {
        self.wire.borrow_mut().begin();
        let unanswered = Unanswered(&self.wire);
        let mut response = pin!(self.sender.try_send_request(request));
        let result = poll_fn(|context| {
            drive(&mut self.connection, &mut self.left, context);
            let polled = response.as_mut().poll(context);
            let mut wire = self.wire.borrow_mut();
            if is_slow.get() {
                wire.stream.discard_unsent(true);
            }
            wire.wait_for_rest(polled)
        });
        let result = result.await;
        if let Ok(response) = &result {
            let mut wire = self.wire.borrow_mut();
            wire.has_head = true;
            if is_slow.get() {
                wire.stream.discard_unsent(false);
            }
            // A server that refuses before it has read everything does not want the rest.
            wire.is_muted = !response.status().is_success();
        }
        drop(unanswered);
        result.map_err(|error| self.fault(error))
    }

    /// Reads a body up to `most` bytes.
    pub(super) async fn read(&mut self, mut incoming: Incoming, body: &mut Vec<u8>, most: usize) -> BodyEnd {
        loop {
            let data = match self.next(&mut incoming).await {
                Ok(data) => data,
                Err(end) => return end,
            };
            let room = most - body.len();
            body.extend_from_slice(&data[..data.len().min(room)]);
            if data.len() > room {
                return BodyEnd::Cut;
            }
        }
    }

    /// The next piece of a body, or how it ended.
    pub(in crate::http::client) async fn next(&mut self, incoming: &mut Incoming) -> Result<Bytes, BodyEnd> {
        let frame = poll_fn(|context| {
            // hyper need not run for a piece that has come already.
            if let Poll::Ready(frame) = Pin::new(&mut *incoming).poll_frame(context) {
                return Poll::Ready(frame);
            }
            drive(&mut self.connection, &mut self.left, context);
            let polled = Pin::new(&mut *incoming).poll_frame(context);
            self.wire.borrow_mut().wait_for_rest(polled)
        });
        match frame.await {
            None => Err(BodyEnd::Whole),
            Some(Err(error)) => {
                let is_closed = io_error(&error).is_some_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
                Err(if is_closed { BodyEnd::Closed } else { BodyEnd::Cut })
            }
            Some(Ok(frame)) => Ok(frame.into_data().unwrap_or_default()),
        }
    }

    /// Whether the whole request was handed to the system.
    pub(super) fn is_flushed(&self) -> bool {
        self.wire.borrow().is_flushed
    }

    /// Waits until the request is sent and the connection is ready for another one; false if it never will be.
    pub(super) async fn idle(&mut self) -> bool {
        poll_fn(|context| {
            // hyper is ready for the next request before it has handed over the last one.
            let is_idle = |sender: &SendRequest<_>| self.wire.borrow().is_flushed && sender.is_ready();
            if is_idle(&self.sender) {
                return Poll::Ready(true);
            }
            drive(&mut self.connection, &mut self.left, context);
            let is_over = self.connection.is_none() || self.wire.borrow().failed.is_some();
            match (is_idle(&self.sender), is_over) {
                (true, _) => Poll::Ready(true),
                (false, true) => Poll::Ready(false),
                (false, false) => Poll::Pending,
            }
        })
        .await
    }

    /// The stream itself, if nothing was read beyond the response.
    pub(super) fn into_stream(mut self) -> Option<S> {
        self.end();
        let wire = Rc::into_inner(self.wire).filter(|_| self.left.is_empty());
        wire.map(|wire| wire.into_inner().stream)
    }

    /// Looks at the stream between two exchanges; `None` if hyper gave it up.
    pub(in crate::http::client) fn idle_stream<T>(&mut self, look: impl FnOnce(&mut S) -> T) -> Option<T> {
        self.connection.as_ref().map(|_| look(&mut self.wire.borrow_mut().stream))
    }

    /// Ends hyper's work. What hyper had read beyond the response moves to `left`.
    fn end(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.left = connection.into_parts().read_buf;
        }
    }

    fn fault(&mut self, mut error: TrySendError<hyper::Request<Whole>>) -> Fault {
        let is_sent = error.take_message().is_none();
        let error = error.into_error();
        self.end();
        let (left, mut wire) = (&self.left, self.wire.borrow_mut());
        let kind = if wire.received >= MAX_BYTES_BEFORE_HEAD {
            FaultKind::OnlyInterim
        } else if error.is_parse_too_large() && left.starts_with(b"HTTP/") {
            // A head that is too large is still in `left`. hyper reports a length beyond its integers in the same way.
            FaultKind::TooLarge
        } else if error.is_parse() {
            // A TLS alert or handshake, and the major version that all of TLS shares.
            if matches!(**left, [0x15 | 0x16, 0x03, ..]) { FaultKind::Secured } else { FaultKind::Invalid(error) }
        } else if let Some(broken) = wire.failed.take() {
            FaultKind::Broken(broken)
        } else if let Some(broken) = io_error(&error) {
            FaultKind::Broken(broken)
        } else if left.is_empty() {
            FaultKind::Silent
        } else if is_sent {
            FaultKind::CutOff
        } else {
            FaultKind::Early
        };
        Fault { is_sent, kind }
    }
}

/// Lets hyper do what it can. At its end, everything that waits for hyper gets a result.
fn drive<S: ByteStream>(
    connection: &mut Option<Connection<Io<ExchangeWire<S>>, Whole>>,
    left: &mut Bytes,
    context: &mut Context<'_>,
) {
    let is_over = connection.as_mut().is_some_and(|driven| driven.poll_without_shutdown(context).is_ready());
    if let Some(connection) = connection.take_if(|_| is_over) {
        *left = connection.into_parts().read_buf;
    }
}

/// The system's error, if that is why hyper failed.
fn io_error(error: &hyper::Error) -> Option<io::Error> {
    let mut source = error.source();
    while let Some(error) = source {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return Some(io::Error::new(error.kind(), error.to_string()));
        }
        source = error.source();
    }
    None
}

/// A request without a response yet. If it is given up, the system must not deliver it later: a newer address may be
/// there by then (E4a).
struct Unanswered<'a, S: ByteStream>(&'a RefCell<ExchangeWire<S>>);

impl<S: ByteStream> Drop for Unanswered<'_, S> {
    fn drop(&mut self) {
        let wire = self.0.borrow();
        if !wire.has_head {
            wire.stream.discard_unsent(true);
        }
    }
}

/// A stream during an exchange, and what must be known about it.
struct ExchangeWire<S> {
    stream: S,
    /// How many bytes have come in this exchange.
    received: usize,
    /// Whether the head of the final response has come.
    has_head: bool,
    /// Whether everything that hyper has written so far was handed to the system.
    is_flushed: bool,
    /// Whether nothing more is sent.
    is_muted: bool,
    /// How much had come when it was acknowledged; 0: it was not.
    acknowledged: usize,
    /// Why nothing more can be sent. What the other side sent before is still read.
    failed: Option<io::Error>,
}

impl<S: ByteStream> ExchangeWire<S> {
    fn new(stream: S) -> Self {
        Self { stream, received: 0, has_head: false, is_flushed: false, is_muted: false, acknowledged: 0, failed: None }
    }

    /// Another exchange begins.
    fn begin(&mut self) {
        (self.received, self.has_head, self.is_flushed, self.is_muted) = (0, false, false, false);
        self.acknowledged = 0;
    }

    /// Passes on the result of hyper. If there is none yet, but part of the response has come, that part is
    /// acknowledged: the other side may hold back the rest until then, and this host would otherwise acknowledge it
    /// only after 40 ms.
    fn wait_for_rest<T>(&mut self, polled: Poll<T>) -> Poll<T> {
        if polled.is_pending() && self.received > 0 && self.acknowledged == 0 {
            self.acknowledged = self.received;
            self.stream.acknowledge();
        }
        polled
    }

    /// The result of a write. A failure is kept for later: the other side may have responded before it closed.
    fn wrote<T>(&mut self, result: io::Result<T>, context: &Context<'_>) -> Poll<io::Result<T>> {
        result.map_or_else(
            |error| {
                self.failed = Some(error);
                context.waker().wake_by_ref();
                Poll::Pending
            },
            |value| Poll::Ready(Ok(value)),
        )
    }
}

impl<S: ByteStream> AsyncRead for ExchangeWire<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.has_head && self.received >= MAX_BYTES_BEFORE_HEAD {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        let before = into.filled().len();
        let result = ready!(Pin::new(&mut self.stream).poll_read(context, into));
        self.received += into.filled().len() - before;
        match result {
            // Over TLS, an end without `close_notify` is an error. Before the head is there, it counts as a normal end.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && !self.has_head => Poll::Ready(Ok(())),
            result => Poll::Ready(result),
        }
    }
}

impl<S: ByteStream> AsyncWrite for ExchangeWire<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.is_flushed = false;
        if self.is_muted || self.failed.is_some() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.wrote(result, context)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.failed.is_some() {
            return Poll::Pending;
        }
        let result = ready!(Pin::new(&mut self.stream).poll_flush(context));
        self.is_flushed = result.is_ok();
        self.wrote(result, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
