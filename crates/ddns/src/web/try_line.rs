//! Passwords wait here for their turn: whoever guesses is slowed down (I2). Those of the page and those of pushes each have a line of their
//! own, so that who knows one of them cannot clear the slate for guesses at the other.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::web::tries::Tries;
use tokio::sync::Notify;

use crate::clock::steady_time;

#[derive(Default)]
pub(super) struct TryLine {
    tries: RefCell<Tries>,
    /// One was checked: it is the turn of the next one.
    checked: Notify,
}

impl TryLine {
    /// A client was wrong, or how long it must wait where it may not even try.
    pub(super) fn wrong(&self, client: IpAddr) -> Result<(), Duration> {
        let now = steady_time();
        self.tries.borrow().may(client, now)?;
        self.tries.borrow_mut().wrong(client, now);
        Ok(())
    }

    /// Whether a password is the right one, once its turn has come; how long its client must wait where it is not checked. It is
    /// counted, and others wait for its end, also if its client does not.
    pub(super) async fn check(
        self: &Rc<Self>,
        client: IpAddr,
        is_right: impl FnOnce() -> bool + Send + 'static,
        when_wrong: impl FnOnce() + 'static,
    ) -> Result<bool, Duration> {
        let line = Rc::clone(self);
        let checking = tokio::task::spawn_local(async move {
            line.turn(client).await?;
            let is_right = tokio::task::spawn_blocking(is_right).await.unwrap_or(false);
            line.tries.borrow_mut().end(client, is_right, steady_time());
            line.checked.notify_waiters();
            if !is_right {
                when_wrong();
            }
            Ok(is_right)
        });
        checking.await.unwrap_or(Ok(false))
    }

    /// Waits for the turn of a client. One at a time: each takes memory and a thread, and tries at the same moment would all be free.
    async fn turn(&self, client: IpAddr) -> Result<(), Duration> {
        let number = self.tries.borrow_mut().wait(client, steady_time())?;
        loop {
            let turn = self.tries.borrow_mut().turn(number, steady_time());
            match turn {
                None => self.checked.notified().await,
                Some(turn) => return turn.inspect_err(|_| self.checked.notify_waiters()),
            }
        }
    }
}
