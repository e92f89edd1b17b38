//! Server-sent events: a browser that shows the page learns that something changed, and fetches it.
//!
//! An event says no more than that, so that a browser that falls behind misses nothing and costs nothing: however much
//! happens, one event is owed to it. A heartbeat finds those that are gone.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ddns_core::web::session::Id;
use hyper::body::{Body, Bytes, Frame};
use tokio::time::{Instant, Sleep, sleep};

use super::site::Site;

/// How many browsers may listen at once: the rest of the connections is for pages.
const MAX_LISTENERS: usize = 16;

/// No browser gets more than one event in this time.
const PACE: Duration = Duration::from_millis(300);

/// How often those who listen get a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// What has changed so far, and who wants to know.
#[derive(Default)]
pub(super) struct ChangeFeed {
    count: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
    /// Whether each of those who listen is to end, the oldest first.
    listening: RefCell<VecDeque<Weak<Cell<bool>>>>,
}

impl ChangeFeed {
    /// Something changed.
    pub(super) fn tell(&self) {
        self.count.set(self.count.get().wrapping_add(1));
        self.wake();
    }

    fn wake(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// What a browser listens to. The newest is the one that somebody looks at: the oldest makes room for it.
    pub(super) fn listen(&self, site: &Rc<Site>, id: &Id) -> EventStream {
        let is_over = Rc::new(Cell::new(false));
        let mut listening = self.listening.borrow_mut();
        listening.retain(|stream| stream.strong_count() > 0);
        if listening.len() >= MAX_LISTENERS
            && let Some(oldest) = listening.pop_front().and_then(|oldest| oldest.upgrade())
        {
            oldest.set(true);
            self.wake();
        }
        listening.push_back(Rc::downgrade(&is_over));
        EventStream {
            site: Rc::clone(site),
            id: id.clone(),
            seen: self.count.get(),
            is_begun: false,
            not_before: Instant::now(),
            timer: Box::pin(sleep(HEARTBEAT)),
            is_over,
        }
    }
}

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
        let count = self.site.changes.count.get();
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
        let mut waiting = self.site.changes.waiting.borrow_mut();
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}
