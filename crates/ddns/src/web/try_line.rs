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
            let result = line.take_turn(client, is_right).await;
            if result == Ok(false) {
                when_wrong();
            }
            result
        });
        checking.await.unwrap_or(Ok(false))
    }

    /// One at a time: each takes memory and a thread, and tries at the same moment would all be free.
    async fn take_turn(
        &self,
        client: IpAddr,
        is_right: impl FnOnce() -> bool + Send + 'static,
    ) -> Result<bool, Duration> {
        let number = self.tries.borrow_mut().wait(client, steady_time())?;
        loop {
            let turn = self.tries.borrow_mut().turn(number, steady_time());
            match turn {
                Some(Ok(())) => break,
                None => self.checked.notified().await,
                Some(Err(wait)) => {
                    self.checked.notify_waiters();
                    return Err(wait);
                }
            }
        }
        let is_right = tokio::task::spawn_blocking(is_right).await.unwrap_or(false);
        self.tries.borrow_mut().end(client, is_right, steady_time());
        self.checked.notify_waiters();
        Ok(is_right)
    }
}
