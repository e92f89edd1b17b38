//! Passwords wait here for their turn, and clients that guess are slowed down (I2). The page and pushes have separate lines, so
//! that a client that knows one password cannot reset its wrong tries at the other.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::web::attempts::{PasswordAttempts, client_of};
use tokio::sync::Notify;

use crate::clock::steady_time;

#[derive(Default)]
pub(super) struct AttemptQueue {
    attempts: RefCell<PasswordAttempts>,
    /// Notified after each check: it is the turn of the next try.
    checked: Notify,
}

impl AttemptQueue {
    /// Counts a wrong try of a client. The error is how long it must wait before it may try.
    pub(super) fn wrong(&self, client: IpAddr) -> Result<(), Duration> {
        let (who, now) = (client_of(client), steady_time());
        self.attempts.borrow().may(who, now)?;
        self.attempts.borrow_mut().wrong(who, now);
        Ok(())
    }

    /// Whether a password is right, once its turn has come; `who` is counted. The error is how long it must wait, because it was not
    /// checked. A check runs to its end and counts even if its client is gone.
    pub(super) async fn check(
        self: &Rc<Self>,
        who: IpAddr,
        is_right: impl FnOnce() -> bool + Send + 'static,
        when_wrong: impl FnOnce() + 'static,
    ) -> Result<bool, Duration> {
        let queue = Rc::clone(self);
        let checking = tokio::task::spawn_local(async move {
            queue.turn(who).await?;
            let is_right = tokio::task::spawn_blocking(is_right).await.unwrap_or(false);
            queue.attempts.borrow_mut().end(who, is_right, steady_time());
            queue.checked.notify_waiters();
            if !is_right {
                when_wrong();
            }
            Ok(is_right)
        });
        checking.await.unwrap_or(Ok(false))
    }

    /// Waits for the turn of a client. Only one check runs at a time: each takes memory and a thread, and simultaneous tries
    /// would all escape the delay.
    async fn turn(&self, who: IpAddr) -> Result<(), Duration> {
        let number = self.attempts.borrow_mut().wait(who, steady_time())?;
        loop {
            let turn = self.attempts.borrow_mut().turn(number, steady_time());
            match turn {
                None => self.checked.notified().await,
                Some(turn) => return turn.inspect_err(|_| self.checked.notify_waiters()),
            }
        }
    }
}
