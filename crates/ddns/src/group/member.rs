//! This process as a member of its group: what the rest of the program may know about the lease and reports for it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::engine::{Note, Term};
use ddns_core::lease::membership::Membership;
use ddns_core::lease::status::{MemberStatus, Role};
use ddns_core::update::state::Pair;
use ddns_group::machine::{Machine, MachineEvent};
use futures_util::future::LocalBoxFuture;
use tokio::sync::{Notify, watch};

use crate::clock::steady_time;
use crate::driver::Lease;

/// Shared by the task that keeps the lease and by the code that sends.
#[derive(Clone)]
pub(crate) struct GroupMember(Rc<Shared>);

struct Shared {
    /// The name of the group.
    name: String,
    machine: RefCell<Machine>,
    /// Requests may be sent until then, on the steady clock; zero if this host does not hold the lease.
    deadline: Cell<Duration>,
    /// The current term. A lease that was lost and won again is a new term.
    term: Cell<Term>,
    /// The pairs to write to the store, each with its number.
    unwritten: RefCell<VecDeque<(u64, Pair)>>,
    /// The number of the last queued pair.
    queued: Cell<u64>,
    /// The store has all pairs up to this number.
    committed: watch::Sender<u64>,
    /// Events for the machine.
    told: RefCell<VecDeque<MachineEvent>>,
    /// Whether no request is running any more and no further pair will be queued.
    is_drained: Cell<bool>,
    /// Why the store refuses the writes of this host.
    unwritable: RefCell<Option<String>>,
    /// Wakes the task.
    wake: Notify,
}

impl GroupMember {
    pub(super) fn new(name: String, machine: Machine) -> Self {
        Self(Rc::new(Shared {
            name,
            machine: RefCell::new(machine),
            deadline: Cell::default(),
            term: Cell::default(),
            unwritten: RefCell::default(),
            queued: Cell::default(),
            committed: watch::Sender::new(0),
            told: RefCell::default(),
            is_drained: Cell::default(),
            unwritable: RefCell::default(),
            wake: Notify::new(),
        }))
    }

    /// Leaves the group, giving back the lease.
    pub(crate) fn terminate(&self) {
        self.tell(MachineEvent::Terminate);
    }

    fn tell(&self, event: MachineEvent) {
        self.0.told.borrow_mut().push_back(event);
        self.0.wake.notify_one();
    }

    /// No request is running any more, and everything to write is queued.
    pub(crate) fn drained(&self) {
        self.0.is_drained.set(true);
        self.0.wake.notify_one();
    }

    /// Lets the task check the time, after a suspend that timers did not count.
    pub(crate) fn wake(&self) {
        self.0.wake.notify_one();
    }

    /// The state of this host in its group.
    pub(crate) fn status(&self) -> MemberStatus {
        let status = self.0.machine.borrow().status(steady_time());
        let unwritable = || self.0.unwritable.borrow().clone().filter(|_| status.role == Role::Holder);
        let trouble = status.trouble.clone().or_else(unwritable);
        MemberStatus { trouble, ..status }
    }

    /// Notes why the store refuses the writes of this host. `None`: it accepts them.
    pub(super) fn cannot_write(&self, why: Option<String>) {
        self.0.unwritable.replace(why);
    }

    /// The state of this host, with the name of the group.
    pub(crate) fn membership(&self) -> Membership {
        Membership { group: self.0.name.clone(), status: self.status() }
    }

    /// Only for the task that keeps the lease.
    pub(super) fn machine<T>(&self, ask: impl FnOnce(&mut Machine) -> T) -> T {
        ask(&mut self.0.machine.borrow_mut())
    }

    /// The next event for the machine. [`MachineEvent::Drained`] waits until everything is written.
    pub(super) fn told(&self) -> Option<MachineEvent> {
        let told = self.0.told.borrow_mut().pop_front();
        told.or_else(|| (self.is_written() && self.0.is_drained.take()).then_some(MachineEvent::Drained))
    }

    pub(super) async fn woken(&self) {
        self.0.wake.notified().await;
    }

    /// Sets until when requests may be sent; zero if this host does not hold the lease.
    pub(super) fn hold(&self, deadline: Duration) {
        self.0.deadline.set(deadline);
    }

    /// Ends the term. Pairs that are not written yet are dropped, and nobody waits for them.
    pub(super) fn lose(&self) {
        self.hold(Duration::ZERO);
        self.0.term.set(self.0.term.get() + 1);
        self.0.is_drained.set(false);
        self.0.unwritable.take();
        self.0.unwritten.borrow_mut().clear();
        self.0.committed.send_replace(self.0.queued.get());
    }

    /// The current term.
    pub(super) fn term(&self) -> Term {
        self.0.term.get()
    }

    /// The pairs to write next, at most `most`, with the newest text of each key; and the number of the last pair.
    pub(super) fn unwritten(&self, most: usize) -> Option<(u64, Vec<Pair>)> {
        let unwritten = self.0.unwritten.borrow();
        let mut pairs: Vec<Pair> = Vec::new();
        let mut last = None;
        for (number, pair) in unwritten.iter() {
            match pairs.iter().position(|(key, _)| *key == pair.0) {
                Some(at) => pairs[at] = pair.clone(),
                None if pairs.len() == most => break,
                None => pairs.push(pair.clone()),
            }
            last = Some(*number);
        }
        Some((last?, pairs))
    }

    /// Notes that the store has all pairs up to this number.
    pub(super) fn committed(&self, number: u64) {
        self.0.unwritten.borrow_mut().retain(|(own, _)| *own > number);
        self.0.committed.send_replace(number);
    }

    fn is_written(&self) -> bool {
        self.0.unwritten.borrow().is_empty()
    }
}

impl Lease for GroupMember {
    fn is_valid(&self, term: Term) -> bool {
        self.term() == term && steady_time() < self.0.deadline.get()
    }

    fn write(&self, term: Term, pairs: Vec<Pair>) -> LocalBoxFuture<'static, ()> {
        let shared = &self.0;
        if self.term() == term {
            for pair in pairs {
                let number = shared.queued.get() + 1;
                shared.queued.set(number);
                shared.unwritten.borrow_mut().push_back((number, pair));
            }
            shared.wake.notify_one();
        }
        let number = shared.queued.get();
        let mut committed = shared.committed.subscribe();
        Box::pin(async move {
            // Cannot fail: the sender lives as long as the member.
            let _ = committed.wait_for(|committed| *committed >= number).await;
        })
    }

    fn tell(&self, note: Note) {
        match note {
            Note::Address(is_there) => self.tell(MachineEvent::Address(is_there)),
            Note::Reached(is_reached) => self.tell(MachineEvent::Reached(is_reached)),
            Note::Drained => self.drained(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use ddns_group::machine::Settings;

    use super::*;

    fn holder() -> GroupMember {
        let settings = Settings { member: "a".to_owned(), lease: Duration::from_secs(5), prefer: 0 };
        let member = GroupMember::new("home".to_owned(), Machine::new(settings, steady_time()));
        member.hold(steady_time() + Duration::from_secs(60));
        member
    }

    fn poll<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Poll<T> {
        std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn pair(key: &str, text: &str) -> Pair {
        (key.to_owned(), Some(text.to_owned()))
    }

    #[test]
    fn j2_what_is_written_is_waited_for_up_to_itself() {
        let member = holder();
        let mut written = member.write(member.term(), vec![pair("a", "1"), pair("b", "1"), pair("a", "2")]);
        let _later = member.write(member.term(), vec![pair("c", "1")]);
        assert_eq!(member.unwritten(1), Some((1, vec![pair("a", "1")])), "no more than that");
        let (number, pairs) = member.unwritten(2).expect("there is something");
        assert_eq!((number, pairs), (3, vec![pair("a", "2"), pair("b", "1")]), "no key twice");
        assert!(poll(&mut written).is_pending());
        member.committed(2);
        assert!(poll(&mut written).is_pending());
        member.committed(3);
        assert!(poll(&mut written).is_ready());
        assert_eq!(member.unwritten(9), Some((4, vec![pair("c", "1")])));
    }

    #[test]
    fn j3_nothing_is_sent_when_its_lease_is_over() {
        let member = holder();
        let term = member.term();
        assert!(member.is_valid(term));
        let deadline = steady_time();
        member.hold(deadline);
        assert!(!member.is_valid(term), "its time is up");
        member.hold(deadline + Duration::from_secs(60));
        assert!(member.is_valid(term), "it was confirmed in time after all");
        member.lose();
        member.hold(deadline + Duration::from_secs(60));
        assert!(!member.is_valid(term), "another lease is not that of this request");
    }

    #[test]
    fn j3_what_a_lost_lease_left_is_neither_written_nor_waited_for() {
        let member = holder();
        let before = member.term();
        let mut left = member.write(before, vec![pair("a", "1")]);
        member.lose();
        let mut late = member.write(before, vec![pair("a", "2")]);
        assert_eq!(member.unwritten(9), None);
        assert!(poll(&mut left).is_ready() && poll(&mut late).is_ready());
    }
}
