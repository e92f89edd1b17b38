//! A stream of tokio as hyper reads and writes it.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// So much is read at once: enough for almost every message.
const READ_SIZE: usize = 2 * 1024;

/// A stream that hyper uses while its owner keeps it, and can look at it. hyper never holds the borrow over an await.
pub(super) struct Io<'a, S>(pub(super) &'a RefCell<S>);

impl<S: AsyncRead + Unpin> Read for Io<'_, S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        // Into hyper's own buffer only unsafe code can read; a copy of a short message costs next to nothing.
        let mut bytes = [0; READ_SIZE];
        let room = into.remaining().min(READ_SIZE);
        let mut buffer = ReadBuf::new(&mut bytes[..room]);
        ready!(Pin::new(&mut *self.0.borrow_mut()).poll_read(context, &mut buffer))?;
        into.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Write for Io<'_, S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_shutdown(context)
    }
}
