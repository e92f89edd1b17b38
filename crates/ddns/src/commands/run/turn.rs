//! A single run in a group (J1): it takes the lease where nobody has it, and gives it back when everything is sent.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use ddns_core::lease::standing::{Role, Standing};
use ddns_core::text::log_format::Level;
use tokio::time::timeout;

use crate::group::{Joined, LeaseNotice};
use crate::output::log::Log;
use crate::sync::Sync;

/// The store has so long to be told that this host leaves.
const FAREWELL: Duration = Duration::from_secs(3);

/// What a run in a group came to so far.
#[derive(PartialEq, Eq)]
enum TurnStage {
    /// It is not known yet who holds the lease.
    Waiting,
    /// This host does.
    Holding,
    /// This run sends nothing, or no more: with which exit status.
    Over(u8),
}

pub(super) struct Turn {
    joined: Joined,
    retry_stopped: bool,
    stage: TurnStage,
}

impl Turn {
    pub(super) fn new(joined: Joined, retry_stopped: bool) -> Self {
        Self { joined, retry_stopped, stage: TurnStage::Waiting }
    }

    /// Whether it is to be waited for, also where nothing is looked up or sent.
    pub(super) fn is_open(&self, sync: &Sync<'_>) -> bool {
        self.stage == TurnStage::Waiting && (sync.is_looking_up() || sync.has_address())
    }

    /// The exit status where this run sends nothing, or no more.
    pub(super) fn code(&self) -> Option<u8> {
        match self.stage {
            TurnStage::Over(code) => Some(code),
            TurnStage::Waiting | TurnStage::Holding => None,
        }
    }

    /// One step of the synchronization, or of the group. Whether the lease was won.
    pub(super) async fn step(&mut self, sync: &mut Sync<'_>, log: &Log<'_>) -> bool {
        let change = {
            let mut step = pin!(sync.step());
            poll_fn(|context| match self.joined.poll(context) {
                Poll::Ready(change) => Poll::Ready(Some(change)),
                Poll::Pending => step.as_mut().poll(context).map(|_| None),
            })
            .await
        };
        match change {
            Some(LeaseNotice::TakeOver(won)) => {
                self.stage = TurnStage::Holding;
                sync.take_over(won, self.retry_stopped);
                return true;
            }
            Some(LeaseNotice::StandBy) if self.stage == TurnStage::Holding => {
                sync.stand_by();
                let name = self.joined.name();
                log.error(format!("lost the lease of group {name}: what was not accepted is sent by its next holder"));
                self.stage = TurnStage::Over(1);
            }
            Some(_) if self.stage == TurnStage::Waiting => self.look(log),
            _ => {}
        }
        false
    }

    /// Ends where it shows that the lease is not to be had.
    fn look(&mut self, log: &Log<'_>) {
        let name = self.joined.name();
        let (level, line, code) = match self.joined.member.standing() {
            Standing { trouble: Some(trouble), .. } => (Level::Error, format!("group {name}: {trouble}"), 1),
            Standing { store: Err(why), .. } => {
                (Level::Error, format!("the store of group {name} cannot be used: {why}; nothing was sent"), 1)
            }
            Standing { role: Role::StandBy, holder: Some(holder), member, .. } if holder != member => {
                (Level::Info, format!("{holder} holds the lease of group {name}: nothing to be sent by this host"), 0)
            }
            _ => return,
        };
        log.line(level, || line);
        self.stage = TurnStage::Over(code);
    }

    /// Gives the lease back, after everything was saved.
    pub(super) async fn leave(mut self) {
        if self.joined.member.standing().store.is_err() {
            return;
        }
        self.joined.member.terminate();
        self.joined.member.drained();
        let left = async { while !matches!(poll_fn(|context| self.joined.poll(context)).await, LeaseNotice::Left) {} };
        let _ = timeout(FAREWELL, left).await;
    }
}
