//! The task that keeps this host in its group: it carries out the machine's actions and reports the results to the machine.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::engine::LeaseEvent;
use ddns_core::lease::status::{MemberStatus, Role};
use ddns_core::update::state::State;
use ddns_group::machine::{Action, Answer, Call, MachineEvent};
use ddns_group::view::{Holder, LeaseId, View};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, LocalBoxStream, StreamExt as _};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep, sleep_until};

use super::calls::{GroupStore, LoadedState};
use super::etcd::Error;
use super::member::GroupMember;
use super::write::{HolderKey, MAX_PAIRS, Write, WriteResult};
use crate::clock::steady_time;

/// The delay before a failed write is repeated, as long as the lease lasts.
const WRITE_RETRY_DELAY: Duration = Duration::from_millis(300);

/// What happens to this host in its group, for the service.
pub(crate) enum LeaseNotice {
    /// This host gained the lease, is giving it back, or lost it; for the engine.
    Lease(LeaseEvent),
    /// This host left the group.
    Left,
    /// The state of this host changed; for people.
    MemberStatus(Box<MemberStatus>),
}

pub(super) struct LeaseKeeper {
    member: GroupMember,
    store: Rc<GroupStore>,
    changes: UnboundedSender<LeaseNotice>,
    calls: FuturesUnordered<LocalBoxFuture<'static, EndedCall>>,
    watching: Option<LocalBoxStream<'static, Result<View, Error>>>,
    writing: Option<LocalBoxFuture<'static, Written>>,
    /// The state that was read, until the machine lets this host send.
    loaded: Option<State>,
    /// The name of the last write. `None`: nothing was written yet.
    last_write: Option<String>,
    /// How many writes and loads there were, for names of writes: no name is used twice, because a late write may have it.
    writes: u64,
    /// The last reported state, without the times that always change.
    said: Option<MemberStatus>,
}

struct EndedCall {
    call: Call,
    sent: Duration,
    answer: Result<(Answer, Option<LoadedState>), Error>,
}

/// A write that has ended: the number of its last pair, its name, and its result.
type Written = (u64, String, Result<WriteResult, Error>);

enum KeeperStep {
    Ended(EndedCall),
    Viewed(Result<View, Error>),
    Written(Written),
    /// The member was told something, or a timer is due.
    Woken,
}

impl LeaseKeeper {
    pub(super) fn new(member: GroupMember, store: GroupStore, changes: UnboundedSender<LeaseNotice>) -> Self {
        Self {
            member,
            store: Rc::new(store),
            changes,
            calls: FuturesUnordered::new(),
            watching: None,
            writing: None,
            loaded: None,
            last_write: None,
            writes: 0,
            said: None,
        }
    }

    /// Runs until this host has left the group.
    pub(super) async fn run(mut self) {
        self.take(MachineEvent::Woke);
        while self.member.machine(|machine| machine.status(steady_time()).role) != Role::Left {
            match self.next().await {
                KeeperStep::Ended(ended) => self.ended(ended),
                KeeperStep::Viewed(Ok(view)) => self.take(MachineEvent::Viewed(view)),
                KeeperStep::Viewed(Err(error)) => {
                    self.watching = None;
                    self.failed(Call::Watch, &error);
                }
                KeeperStep::Written(written) => self.wrote(written),
                KeeperStep::Woken => {
                    self.told();
                    if self.member.machine(|machine| machine.wake_at()).is_some_and(|at| at <= steady_time()) {
                        self.take(MachineEvent::Woke);
                    }
                }
            }
            self.write();
        }
    }

    async fn next(&mut self) -> KeeperStep {
        let wake_at = self.member.machine(|machine| machine.wake_at());
        let left = wake_at.map(|at| at.saturating_sub(steady_time()));
        let member = self.member.clone();
        let mut woken = pin!(member.woken());
        // This timer does not count suspend; after it, the service wakes the member.
        let mut time = pin!(async {
            match left {
                Some(left) => sleep_until(Instant::now() + left).await,
                None => std::future::pending().await,
            }
        });
        poll_fn(|context| {
            if let Poll::Ready(next) = self.poll(context) {
                return Poll::Ready(next);
            }
            if woken.as_mut().poll(context).is_ready() || time.as_mut().poll(context).is_ready() {
                return Poll::Ready(KeeperStep::Woken);
            }
            Poll::Pending
        })
        .await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<KeeperStep> {
        if let Poll::Ready(Some(ended)) = self.calls.poll_next_unpin(context) {
            return Poll::Ready(KeeperStep::Ended(ended));
        }
        if let Some(watching) = &mut self.watching
            && let Poll::Ready(Some(viewed)) = watching.poll_next_unpin(context)
        {
            return Poll::Ready(KeeperStep::Viewed(viewed));
        }
        match &mut self.writing {
            Some(writing) => writing.as_mut().poll(context).map(KeeperStep::Written),
            None => Poll::Pending,
        }
    }

    /// Passes an event to the machine and carries out its actions. If the deadline has passed, the machine learns that first.
    fn take(&mut self, event: MachineEvent) {
        let now = steady_time();
        if event != MachineEvent::Woke && self.member.machine(|machine| machine.deadline()).is_some_and(|at| at <= now)
        {
            self.step(MachineEvent::Woke, now);
        }
        self.step(event, now);
        let deadline = self.member.machine(|machine| machine.deadline());
        self.member.hold(deadline.unwrap_or_default());
        self.report();
    }

    /// Reports the state of this host if it changed.
    fn report(&mut self) {
        let status = self.member.status();
        let said = Some(MemberStatus { held_for: None, lease_left: None, ..status.clone() });
        if self.said != said {
            self.said = said;
            self.tell(LeaseNotice::MemberStatus(Box::new(status)));
        }
    }

    fn step(&mut self, event: MachineEvent, now: Duration) {
        let actions = self.member.machine(|machine| machine.on(event, now, jitter()));
        for action in actions {
            match action {
                Action::Call(Call::Watch) => self.watching = Some(Rc::clone(&self.store).watch()),
                Action::Call(call) => self.call(call),
                Action::Open => {
                    if let Some(state) = self.loaded.take() {
                        let gained = LeaseEvent::Gained { term: self.member.term(), state: Box::new(state) };
                        self.tell(LeaseNotice::Lease(gained));
                    }
                }
                Action::Drain => self.tell(LeaseNotice::Lease(LeaseEvent::Draining)),
                Action::Stop => self.stop(),
                Action::Left => self.tell(LeaseNotice::Left),
            }
        }
    }

    fn tell(&self, change: LeaseNotice) {
        // The receiver may be gone already.
        let _ = self.changes.send(change);
    }

    fn call(&mut self, call: Call) {
        let (store, sent) = (Rc::clone(&self.store), steady_time());
        let load = match call {
            Call::Load(created, is_doubtful) => {
                self.writes += 1;
                Some((self.own(created), is_doubtful, self.writes))
            }
            _ => None,
        };
        self.calls.push(Box::pin(async move {
            let answer = match load {
                Some((own, is_doubtful, number)) => {
                    let loaded = store.load(&own, is_doubtful, number).await;
                    loaded.map(|loaded| (Answer::Loaded(own.created), Some(loaded)))
                }
                None => store.answer(&call).await.map(|answer| (answer, None)),
            };
            EndedCall { call, sent, answer }
        }));
    }

    fn ended(&mut self, EndedCall { call, sent, answer }: EndedCall) {
        match answer {
            Ok((answer, loaded)) => {
                if let Some(LoadedState { state, last }) = loaded {
                    self.loaded = Some(state);
                    self.last_write = last;
                }
                self.take(MachineEvent::Answered { sent, answer });
            }
            Err(error) => self.failed(call, &error),
        }
    }

    fn failed(&mut self, call: Call, error: &Error) {
        if *error == Error::WentBack {
            self.went_back();
        } else {
            self.take(MachineEvent::Failed { call, why: error.to_string() });
        }
    }

    /// Drops all running calls and writes: they relied on data that the store has lost.
    fn went_back(&mut self) {
        self.calls.clear();
        (self.watching, self.writing) = (None, None);
        self.take(MachineEvent::WentBack);
    }

    /// This host's holder key with this revision.
    fn own(&self, created: i64) -> HolderKey {
        let lease = self.member.machine(|machine| machine.lease()).unwrap_or(LeaseId(0));
        HolderKey { created, text: Holder::text(&self.store.settings.member, lease) }
    }

    /// Starts the next write, unless a write is running.
    fn write(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let Some(created) = self.member.machine(|machine| machine.created()) else { return };
        let Some((number, pairs)) = self.member.unwritten(MAX_PAIRS) else { return };
        self.writes += 1;
        let name = format!("{created}-{}", self.writes);
        let write = Write { own: self.own(created), last: self.last_write.clone(), name, pairs };
        let store = Rc::clone(&self.store);
        self.writing = Some(Box::pin(async move {
            let result = write.run(&store.etcd, &store.keys, store.settings.call_limit()).await;
            if !matches!(result, Ok(WriteResult::Done | WriteResult::Behind(_)) | Err(Error::WentBack)) {
                sleep(WRITE_RETRY_DELAY).await;
            }
            (number, write.name, result)
        }));
    }

    fn wrote(&mut self, (number, name, result): Written) {
        self.writing = None;
        match result {
            Ok(WriteResult::Done) => {
                self.last_write = Some(name);
                self.member.committed(number);
                self.cannot_write(None);
                // A drain may have waited for this write.
                self.told();
            }
            Ok(WriteResult::Behind(last)) => self.last_write = last,
            Err(Error::WentBack) => self.went_back(),
            // The state of the member already shows that the lease is gone or the store cannot be reached.
            Ok(WriteResult::Refused) | Err(Error::Unreachable(_) | Error::LeaseGone | Error::Compacted) => {}
            Err(error) => {
                let why = format!(
                    "the store does not take what this host writes ({error}): no new address is sent until it does"
                );
                self.cannot_write(Some(why));
            }
        }
    }

    fn cannot_write(&mut self, why: Option<String>) {
        self.member.cannot_write(why);
        self.report();
    }

    fn told(&mut self) {
        while let Some(event) = self.member.told() {
            let is_end = event == MachineEvent::Drained;
            self.take(event);
            // The machine does not ask for a stop here, because no request is running.
            if is_end && self.member.machine(|machine| machine.deadline()).is_none() {
                self.stop();
            }
        }
    }

    fn stop(&mut self) {
        self.member.lose();
        self.writing = None;
        self.tell(LeaseNotice::Lease(LeaseEvent::Lost));
    }
}

/// A random number from 0 to 1.
fn jitter() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
