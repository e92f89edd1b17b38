//! A body that is complete before it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

/// The bytes left to send; `None` if they were taken, or there is no body.
pub(crate) struct Whole(Option<Bytes>);

impl Whole {
    pub(super) const NONE: Self = Self(None);

    pub(crate) fn of(bytes: Bytes) -> Self {
        Self((!bytes.is_empty()).then_some(bytes))
    }

    pub(super) fn new(text: &str) -> Self {
        Self::of(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
