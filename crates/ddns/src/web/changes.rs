//! What has changed so far, and who wants to know.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::task::{Context, Waker};

/// How many browsers may listen at once: the rest of the connections is for pages.
const MAX_LISTENERS: usize = 16;

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

    /// How often something changed.
    pub(super) fn count(&self) -> u64 {
        self.count.get()
    }

    /// Another browser listens, as long as it holds what it gets here: whether it is to end. The newest is the one that
    /// somebody looks at: the oldest makes room for it.
    pub(super) fn enter(&self) -> Rc<Cell<bool>> {
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
        is_over
    }

    /// Wakes this task when something changes.
    pub(super) fn wait(&self, context: &Context<'_>) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
    }
}
