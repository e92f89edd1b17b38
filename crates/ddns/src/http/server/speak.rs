//! HTTP on one connection, within its limits.

use std::cell::RefCell;
use std::error::Error as _;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use hyper::Request;
use hyper::body::{Body, Bytes, Incoming};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::{sleep_until, timeout};

use super::wire::{ConnectionPhase, ServerWire};
use crate::http::io::Io;

/// A longer head, or one with more headers, is not a request.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_HEADERS: usize = 128;

/// How long the rest of a refused request is read.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// The status of the response to an invalid request, if there was one, and a sentence about what arrived.
pub(super) type Rejection = (Option<u16>, String);

/// Responds to the requests of a client. If `half_closed` is set, a client that has sent everything and closed its side
/// still gets its responses. Returns how the connection ended; `None` if it took too long.
pub(crate) async fn speak<S, B, F>(
    wire: &Rc<RefCell<ServerWire<S>>>,
    half_closed: bool,
    respond: impl Fn(Request<Incoming>) -> F,
) -> Option<hyper::Result<()>>
where
    S: AsyncRead + AsyncWrite + Unpin,
    B: Body<Data = Bytes> + 'static,
    B::Error: std::error::Error + Send + Sync,
    F: Future<Output = io::Result<hyper::Response<B>>>,
{
    let mut builder = Builder::new();
    builder
        .half_close(half_closed)
        .title_case_headers(true)
        .auto_date_header(false)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD_BYTES);
    let activity = Rc::clone(&wire.borrow().activity);
    let mut connection = pin!(builder.serve_connection(Io(wire.clone()), service_fn(respond)));
    let mut timer = pin!(sleep_until(activity.deadline()));
    poll_fn(|context| {
        if let Poll::Ready(result) = connection.as_mut().poll(context) {
            return Poll::Ready(Some(result));
        }
        let deadline = activity.deadline();
        if timer.deadline() != deadline {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context).map(|()| None)
    })
    .await
}

/// Why hyper gave up a connection, and with which status; `None` if there is nothing to report.
pub(super) fn reason(error: &hyper::Error, phase: ConnectionPhase) -> Option<Rejection> {
    if error.is_parse_version_h2() {
        return Some((None, "the client used HTTP/2, but this is HTTP/1.1".to_owned()));
    }
    if error.is_parse_too_large() {
        return Some((
            Some(431),
            format!("a request has more than {} KiB of headers, or more than {MAX_HEADERS}", MAX_HEAD_BYTES >> 10),
        ));
    }
    if error.is_parse() {
        return Some((Some(400), format!("received something that is not an HTTP request ({error})")));
    }
    if error.is_user() || phase != ConnectionPhase::Reading {
        return None;
    }
    Some((None, closed(error)))
}

/// The message for a connection that ended in the middle of a request.
fn closed(error: &hyper::Error) -> String {
    let broken = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    match broken.filter(|broken| broken.kind() != io::ErrorKind::UnexpectedEof) {
        Some(broken) => format!("a connection broke in the middle of a request ({broken})"),
        None => "a connection was closed in the middle of a request".to_owned(),
    }
}

/// A whole body of at most this many KiB, or why there is none.
pub(crate) async fn read(mut incoming: Incoming, limit: usize) -> Result<Vec<u8>, Rejection> {
    let too_large = || Err((Some(413), format!("the body of a request is larger than {limit} KiB")));
    let most = limit << 10;
    if incoming.size_hint().lower() > most as u64 {
        return too_large();
    }
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        let data = match frame {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(error) => {
                let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
                return Err(match source.map(io::Error::kind) {
                    Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                        (Some(400), "the chunks of a request body are invalid".to_owned())
                    }
                    _ => (None, closed(&error)),
                });
            }
        };
        if data.len() > most - body.len() {
            return too_large();
        }
        body.extend_from_slice(&data);
    }
    Ok(body)
}

/// Reads for a moment what still arrives: closing the connection at once would lose the response.
pub(crate) async fn hang_up(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let mut dropped = [0; 4096];
    let close = async {
        // With TLS, this waits until the client has taken everything.
        let _ = stream.shutdown().await;
        while stream.read(&mut dropped).await.is_ok_and(|count| count > 0) {}
    };
    let _ = timeout(DRAIN_TIMEOUT, close).await;
}

#[cfg(test)]
mod tests {
    use std::task::Context;
    use std::time::Instant;

    use tokio::io::ReadBuf;
    use tokio::runtime::Builder as RuntimeBuilder;

    use super::*;

    /// The stream of a client that takes nothing: with TLS, closing it waits for the client.
    struct StuckStream;

    impl AsyncRead for StuckStream {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for StuckStream {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Pending
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    /// I2: such clients would fill up the page.
    #[test]
    fn i2_a_client_that_takes_nothing_is_not_waited_for() {
        let runtime = RuntimeBuilder::new_current_thread().enable_time().build().expect("a runtime");
        let begun = Instant::now();
        let closed = runtime.block_on(async { timeout(10 * DRAIN_TIMEOUT, hang_up(&mut StuckStream)).await });
        assert!(closed.is_ok() && begun.elapsed() >= DRAIN_TIMEOUT, "{:?}", begun.elapsed());
    }
}
