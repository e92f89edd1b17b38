//! Server-sent events: a browser that shows the page learns that something changed, and fetches it.
//!
//! An event says no more than that, so that a browser that falls behind misses nothing and costs nothing: however much
//! happens, one event is owed to it. A heartbeat finds those that are gone.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::web::session::Id;
use hyper::body::{Body, Bytes, Frame};
use tokio::time::{Instant, Sleep, sleep};

use super::site::Site;

/// No browser gets more than one event in this time.
const PACE: Duration = Duration::from_millis(300);

/// How often those who listen get a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// The events of one browser, without an end.
pub(super) struct EventStream {
    site: Rc<Site>,
    id: Id,
    seen: u64,
    is_begun: bool,
    /// The next event may come from then on.
    not_before: Instant,
    timer: Pin<Box<Sleep>>,
    /// Whether it has made room for another one.
    is_over: Rc<Cell<bool>>,
}

impl EventStream {
    /// What a browser listens to.
    pub(super) fn new(site: &Rc<Site>, id: &Id) -> Self {
        Self {
            site: Rc::clone(site),
            id: id.clone(),
            seen: site.changes.count(),
            is_begun: false,
            not_before: Instant::now(),
            timer: Box::pin(sleep(HEARTBEAT)),
            is_over: site.changes.enter(),
        }
    }

    fn send(&mut self, text: String) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.timer.as_mut().reset(Instant::now() + HEARTBEAT);
        Poll::Ready(Some(Ok(Frame::data(text.into()))))
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.is_over.get() || !self.site.is_let_in(&self.id) {
            return Poll::Ready(None);
        }
        if !self.is_begun {
            self.is_begun = true;
            return self.send("retry: 2000\n\n".to_owned());
        }
        let count = self.site.changes.count();
        if count != self.seen {
            if Instant::now() >= self.not_before {
                self.seen = count;
                self.not_before = Instant::now() + PACE;
                return self.send(format!("event: changed\ndata: {count}\n\n"));
            }
            let then = self.not_before;
            self.timer.as_mut().reset(then);
        }
        if self.timer.as_mut().poll(context).is_ready() {
            if count == self.seen {
                return self.send(":\n\n".to_owned());
            }
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.site.changes.wait(context);
        Poll::Pending
    }
}
