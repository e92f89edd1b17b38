//! A file descriptor that is read when there is something to read.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};

use rustix::io::{Errno, read};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

pub(super) struct Readable(AsyncFd<OwnedFd>);

impl Readable {
    #[expect(deprecated, reason = "what its unsafe successor asks of the caller, an `OwnedFd` keeps by itself")]
    pub(super) fn new(file: OwnedFd) -> io::Result<Self> {
        AsyncFd::with_interest(file, Interest::READABLE).map(Self)
    }

    pub(super) fn get(&self) -> &OwnedFd {
        self.0.get_ref()
    }

    /// Reads what is there; the descriptor must not block.
    pub(super) fn poll(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Result<usize, Errno>> {
        loop {
            let Ok(mut guard) = ready!(self.0.poll_read_ready(context)) else { return Poll::Pending };
            match read(self.0.get_ref(), &mut *buffer) {
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                result => return Poll::Ready(result),
            }
        }
    }
}
