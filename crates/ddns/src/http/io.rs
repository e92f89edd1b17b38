//! Adapts a tokio stream to hyper.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The most bytes of one read.
const READ_SIZE: usize = 8 * 1024;

thread_local! {
    /// Everything that is read passes through this buffer: only unsafe code could read into hyper's own.
    static READ_BUFFER: RefCell<[u8; READ_SIZE]> = const { RefCell::new([0; READ_SIZE]) };
}

/// A stream that hyper uses while its owner keeps it and can look at it. No borrow lasts longer than a poll.
pub(super) struct Io<S>(pub(super) Rc<RefCell<S>>);

impl<S: AsyncRead + Unpin> Read for Io<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, mut into: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        READ_BUFFER.with_borrow_mut(|bytes| {
            let room = into.remaining().min(READ_SIZE);
            let mut buffer = ReadBuf::new(&mut bytes[..room]);
            ready!(Pin::new(&mut *self.0.borrow_mut()).poll_read(context, &mut buffer))?;
            into.put_slice(buffer.filled());
            Poll::Ready(Ok(()))
        })
    }
}

impl<S: AsyncWrite + Unpin> Write for Io<S> {
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
