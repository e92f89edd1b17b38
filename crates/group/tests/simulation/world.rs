//! Members, the network between them, their store and one endpoint; and what must never happen.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use ddns_group::etcd::StoreStamp;
use ddns_group::machine::{Action, Answer, Call, Machine, MachineEvent, margin};
use ddns_group::view::View;

use super::faults::Fault;
use super::node::{Node, rate};
use super::store::{Asked, CHECK, Said, Store};
use crate::random::Random;

/// A mistake that is made on purpose, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// The lease is trusted to its last moment.
    NoMargin,
    /// The deadline counts from the answer.
    FromAnswer,
    /// It is sent before the state is read.
    NotLoaded,
    /// Revisions that fall are believed.
    Falling,
    /// Claims of a store that went back are believed.
    NoDoubt,
}

/// What happens at a moment, to a member as it was started then (its life).
#[derive(Debug)]
pub(crate) enum What {
    Check,
    Wake(usize, u32),
    Arrive { from: (usize, u32), id: u64, sent: Duration, asked: Asked },
    Respond { to: (usize, u32), id: u64, sent: Duration, said: Said, stamp: StoreStamp },
    GiveUp { from: (usize, u32), id: u64 },
    Deliver { to: (usize, u32), watch: u64 },
    Unwatch { to: (usize, u32), watch: u64 },
    Accept { by: (u64, i64), address: u32 },
    Ended { from: (usize, u32), id: u64, is_ok: bool },
    Work(usize, u32),
    Fault(Fault),
}

/// One thing that will happen; in the order of moments, and as they were planned.
#[derive(Debug)]
struct Item {
    at: Duration,
    number: u64,
    what: What,
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Item {}

pub(crate) struct World {
    pub(crate) now: Duration,
    pub(crate) random: Random,
    pub(super) flaw: Flaw,
    pub(super) lease: Duration,
    queue: BinaryHeap<Reverse<Item>>,
    pub(super) next: u64,
    pub(crate) store: Store,
    pub(crate) nodes: Vec<Node>,
    /// The address that the endpoint has, and the newest holder that it was accepted from.
    pub(crate) endpoint: (Option<u32>, (u64, i64)),
    /// The store as it was kept, how often it went back, and when last.
    pub(super) kept: Option<Store>,
    pub(crate) era: u64,
    pub(super) went_back: Duration,
    /// How many messages of a hundred are lost.
    pub(crate) loss: u64,
    pub(crate) is_slow: bool,
    pub(crate) healed: Option<Duration>,
    /// When somebody could send after that.
    pub(crate) open_after_heal: Option<Duration>,
    /// Members that reach no endpoint, and those that have no address, also after that; as bits.
    pub(crate) unreaching: u32,
    pub(crate) homeless: u32,
    pub(crate) wrong: Option<String>,
}

impl World {
    pub(crate) fn new(seed: u64, flaw: Flaw) -> Self {
        let mut random = Random(seed);
        let lease = Duration::from_secs([5, 8, 15][usize::try_from(random.below(3)).unwrap_or(0)]);
        let store = Store::new(lease, rate(&mut random));
        let is_preferring = random.below(3) == 0;
        let count = 3 + u32::try_from(random.below(3)).unwrap_or(0);
        let nodes = (0..count).map(|number| Node::new(number, is_preferring, &mut random));
        let nodes: Vec<Node> = nodes.collect();
        let mut world = Self {
            now: Duration::ZERO,
            random,
            flaw,
            lease,
            queue: BinaryHeap::new(),
            next: 0,
            store,
            nodes,
            endpoint: (None, (0, 0)),
            kept: None,
            era: 0,
            went_back: Duration::ZERO,
            loss: 0,
            is_slow: false,
            healed: None,
            open_after_heal: None,
            unreaching: 0,
            homeless: 0,
            wrong: None,
        };
        world.at(Duration::ZERO, What::Check);
        world
    }

    pub(crate) fn lease(&self) -> Duration {
        self.lease
    }

    pub(crate) fn at(&mut self, at: Duration, what: What) {
        self.next += 1;
        self.queue.push(Reverse(Item { at, number: self.next, what }));
    }

    /// Lets time pass; ends early where something is wrong.
    pub(crate) fn run_until(&mut self, end: Duration) {
        while self.wrong.is_none() && self.queue.peek().is_some_and(|Reverse(item)| item.at <= end) {
            let Some(Reverse(item)) = self.queue.pop() else { return };
            self.now = item.at.max(self.now);
            self.happen(item.what);
            self.judge();
        }
        self.now = end;
    }

    /// Never two members that may send at the same moment.
    fn judge(&mut self) {
        if self.nodes.iter().filter(|node| node.is_open(self.now)).count() > 1 {
            self.find("two members may send at the same moment");
        }
        let is_open = self.nodes.iter().any(|node| node.may_send(self.now));
        if is_open && self.healed.is_some() && self.open_after_heal.is_none() {
            self.open_after_heal = Some(self.now);
        }
    }

    /// Two members send. That is wrong, unless the store went back a moment ago, and one of them cannot know it.
    fn find(&mut self, what: &str) {
        let is_fresh = self.era > 0 && self.now < self.went_back + self.lease;
        if is_fresh && self.nodes.iter().any(|node| node.is_unaware) {
            self.store.is_older = true;
        } else {
            self.wrong = Some(format!("{:?}: {what}", self.now));
        }
    }

    /// Whether a member is there to take something in; where it is paused, that waits.
    fn is_awake(&mut self, (node, life): (usize, u32), what: What) -> Option<What> {
        let known = &self.nodes[node];
        if known.machine.is_none() || known.life != life {
            return None;
        }
        if self.now < known.paused_until {
            let until = known.paused_until;
            self.at(until, what);
            return None;
        }
        Some(what)
    }

    fn happen(&mut self, what: What) {
        let whom = match &what {
            What::Wake(node, life) | What::Work(node, life) => Some((*node, *life)),
            What::Respond { to, .. } | What::Deliver { to, .. } | What::Unwatch { to, .. } => Some(*to),
            What::GiveUp { from, .. } | What::Ended { from, .. } => Some(*from),
            What::Check | What::Arrive { .. } | What::Accept { .. } | What::Fault(_) => None,
        };
        let what = match whom {
            Some(whom) => self.is_awake(whom, what),
            None => Some(what),
        };
        match what {
            None => {}
            Some(What::Check) => {
                self.change_store(Store::check);
                self.at(self.now + CHECK, What::Check);
            }
            Some(What::Wake(node, _)) => self.wake(node),
            Some(What::Work(node, _)) => self.work(node),
            Some(What::Arrive { from, id, sent, asked }) => self.arrive(from, id, sent, &asked),
            Some(What::Respond { to: (node, _), id, sent, said, stamp }) => self.respond(node, id, sent, said, stamp),
            Some(What::GiveUp { from: (node, _), id }) => match self.nodes[node].pending.remove(&id) {
                Some((Asked::Call(call), _)) => self.fail(node, call),
                Some(_) => self.lose_track(node),
                None => {}
            },
            Some(What::Deliver { to, watch }) => self.deliver(to, watch),
            Some(What::Unwatch { to, watch }) => self.unwatch(to, watch),
            Some(What::Accept { by, address }) => {
                if by < self.endpoint.1 {
                    self.find("a request of an older holder arrived after a newer one");
                }
                self.endpoint = (Some(address), by);
            }
            Some(What::Ended { from: (node, _), id, is_ok }) => self.ended(node, id, is_ok),
            Some(What::Fault(fault)) => self.fault(fault),
        }
    }

    /// What happens in the store is seen by those who watch it.
    pub(super) fn change_store<T>(&mut self, change: impl FnOnce(&mut Store, Duration) -> T) -> T {
        let before = self.store.stamp();
        let result = change(&mut self.store, self.now);
        if self.store.stamp() != before {
            let view = self.store.view();
            for node in 0..self.nodes.len() {
                self.show(node, &view);
            }
        }
        result
    }

    fn show(&mut self, node: usize, view: &View) {
        let delay = self.delay();
        let to = (node, self.nodes[node].life);
        if let Some((watch, views)) = &mut self.nodes[node].watch {
            views.push_back((view.clone(), self.store.stamp()));
            let watch = *watch;
            self.at(self.now + delay, What::Deliver { to, watch });
        }
    }

    fn deliver(&mut self, to: (usize, u32), watch: u64) {
        let node = &mut self.nodes[to.0];
        let Some((_, views)) = node.watch.as_mut().filter(|(known, _)| *known == watch) else { return };
        if !node.has_link {
            // The connection waits, and repeats what was lost.
            self.at(self.now + Duration::from_millis(200), What::Deliver { to, watch });
        } else if let Some((view, stamp)) = views.pop_front() {
            let known = node.pending.remove(&watch).and_then(|(_, known)| known);
            if self.saw(to.0, known, stamp) {
                self.tell(to.0, MachineEvent::Viewed(view));
            }
        }
    }

    /// A connection broke.
    fn unwatch(&mut self, to: (usize, u32), watch: u64) {
        let node = &mut self.nodes[to.0];
        if !node.has_link {
            self.at(self.now + Duration::from_millis(200), What::Unwatch { to, watch });
        } else if watch != 0 && node.asked_watch == watch {
            node.pending.remove(&watch);
            (node.watch, node.asked_watch) = (None, 0);
            self.fail(to.0, Call::Watch);
        }
    }

    fn fail(&mut self, node: usize, call: Call) {
        self.tell(node, MachineEvent::Failed { call, why: "no answer".to_owned() });
    }

    /// The whole store showed how far it is. Whether that is as far as was known; where not, what is known of it is forgotten.
    fn saw(&mut self, node: usize, known: Option<StoreStamp>, stamp: StoreStamp) -> bool {
        let member = &mut self.nodes[node];
        if std::mem::replace(&mut member.era, self.era) != self.era {
            member.is_unaware = !stamp.went_back(known);
        }
        if !stamp.went_back(known) || self.flaw == Flaw::Falling {
            let further = member.seen.is_none_or(|seen| !stamp.went_back(Some(seen)));
            member.seen = if further { Some(stamp) } else { member.seen };
            return true;
        }
        member.seen = Some(stamp);
        member.pending.clear();
        (member.watch, member.asked_watch, member.known) = (None, 0, None);
        self.tell(node, MachineEvent::WentBack);
        false
    }

    fn delay(&mut self) -> Duration {
        let most = match self.random.below(100) {
            0..3 if self.is_slow => 12_000,
            0..20 if self.is_slow => 3000,
            _ => 40,
        };
        Duration::from_millis(1 + self.random.below(most))
    }

    pub(super) fn is_lost(&mut self) -> bool {
        self.random.below(100) < self.loss
    }

    pub(super) fn ask(&mut self, node: usize, asked: &Asked) {
        self.next += 1;
        let (id, from) = (self.next, (node, self.nodes[node].life));
        let known = &mut self.nodes[node];
        let sent = known.local(self.now);
        let limit = match asked {
            Asked::Call(Call::Grant) => self.lease.min(Duration::from_secs(10)),
            _ => self.lease / 3,
        };
        let give_up = known.real(sent + limit);
        known.pending.insert(id, (asked.clone(), known.seen));
        if matches!(asked, Asked::Call(Call::Watch)) {
            (known.watch, known.asked_watch) = (None, id);
        }
        self.at(give_up, What::GiveUp { from, id });
        let copies = u64::from(!self.is_lost()) + u64::from(self.random.below(100) < self.loss / 3);
        for _ in 0..copies {
            let at = self.now + self.delay();
            self.at(at, What::Arrive { from, id, sent, asked: asked.clone() });
        }
    }

    fn arrive(&mut self, from: (usize, u32), id: u64, sent: Duration, asked: &Asked) {
        let node = &self.nodes[from.0];
        let name = from.0.to_string();
        // Once the network is healed, what was under way before is there soon, or lost.
        let is_old = self.healed.is_some_and(|at| node.real(sent) < at && self.now > at + Duration::from_millis(100));
        let said = if !node.has_link || is_old {
            None
        } else if node.is_stale {
            self.store.stale_answer(asked, self.now)
        } else if self.store.has_majority {
            let said = self.change_store(|store, now| store.apply(asked, &name, now));
            Some((said, self.store.stamp()))
        } else {
            None
        };
        match said {
            Some((Said::Watching, _)) if self.nodes[from.0].life == from.1 && self.nodes[from.0].asked_watch == id => {
                self.nodes[from.0].watch = Some((id, VecDeque::new()));
                let view = self.store.view();
                self.show(from.0, &view);
            }
            Some((Said::Watching, _)) | None => {}
            Some((said, stamp)) => {
                if !self.is_lost() {
                    let at = self.now + self.delay();
                    self.at(at, What::Respond { to: from, id, sent, said, stamp });
                }
            }
        }
    }

    fn wake(&mut self, node: usize) {
        if self.nodes[node].wake_at.is_some_and(|at| at <= self.now) {
            self.nodes[node].wake_at = None;
            self.tell(node, MachineEvent::Woke);
        }
    }

    fn respond(&mut self, node: usize, id: u64, sent: Duration, said: Said, stamp: StoreStamp) {
        if !self.nodes[node].has_link {
            return;
        }
        let Some((asked, known)) = self.nodes[node].pending.remove(&id) else { return };
        match (asked, &said) {
            // The node that answers may be behind the others: it is left, and with it the watch there.
            (Asked::Call(call @ Call::Renew(_)), _) if stamp.went_back(known) && self.flaw != Flaw::Falling => {
                let (life, watch) = (self.nodes[node].life, self.nodes[node].asked_watch);
                self.unwatch((node, life), watch);
                return self.fail(node, call);
            }
            // An error has no stamp.
            (_, Said::Answer(Answer::Registered(_, None) | Answer::Campaigned(_, None) | Answer::Revoked(_))) => {}
            _ if !self.saw(node, known, stamp) => return,
            _ => {}
        }
        self.answered(node, sent, said);
    }

    fn answered(&mut self, node: usize, sent: Duration, said: Said) {
        let answer = match said {
            Said::Answer(answer) => answer,
            Said::Watching => return,
            Said::Read(Some(created), known, at) => {
                self.nodes[node].known = Some((known, at));
                Answer::Loaded(created)
            }
            Said::Read(None, known, at) => {
                self.nodes[node].known = Some((known, at));
                return self.work(node);
            }
            Said::Written(at) => return self.written(node, at),
        };
        let (sent, answer) = match (self.flaw, answer) {
            (Flaw::NoMargin, Answer::Granted(lease, ttl)) => (sent + margin(ttl), Answer::Granted(lease, ttl)),
            (Flaw::NoMargin, Answer::Renewed(lease, Some(ttl))) => {
                (sent + margin(ttl), Answer::Renewed(lease, Some(ttl)))
            }
            (Flaw::FromAnswer, answer) => (self.nodes[node].local(self.now), answer),
            (_, answer) => (sent, answer),
        };
        self.tell(node, MachineEvent::Answered { sent, answer });
    }

    pub(super) fn tell(&mut self, node: usize, event: MachineEvent) {
        let jitter = self.random.jitter();
        let known = &mut self.nodes[node];
        let local = known.local(self.now);
        let Some(machine) = &mut known.machine else { return };
        let actions = machine.on(event, local, jitter);
        for action in actions {
            self.act(node, action);
        }
        let (known, life) = (&self.nodes[node], self.nodes[node].life);
        let wake_at = known.machine.as_ref().and_then(Machine::wake_at).map(|at| known.real(at));
        // Clocks are compared in whole numbers: a little later is certainly due.
        let wake_at = wake_at.map(|at| at.max(self.now) + Duration::from_nanos(100));
        if let Some(at) = wake_at.filter(|_| wake_at != known.wake_at) {
            self.at(at, What::Wake(node, life));
        }
        self.nodes[node].wake_at = wake_at;
        self.work(node);
    }

    fn act(&mut self, node: usize, action: Action) {
        let known = &mut self.nodes[node];
        match action {
            Action::Call(Call::Load(created, _)) if self.flaw == Flaw::NotLoaded => {
                let (sent, answer) = (known.local(self.now), Answer::Loaded(created));
                self.tell(node, MachineEvent::Answered { sent, answer });
            }
            Action::Call(Call::Load(created, true)) if self.flaw == Flaw::NoDoubt => {
                self.ask(node, &Asked::Call(Call::Load(created, false)));
            }
            Action::Call(call) => self.ask(node, &Asked::Call(call)),
            Action::Open => {}
            Action::Drain => known.is_draining = true,
            Action::Stop => {
                known.sending = None;
                known.is_draining = false;
            }
            Action::Left => {
                known.machine = None;
                if self.healed.is_some() {
                    self.at(self.now, What::Fault(Fault::Start(node)));
                }
            }
        }
    }
}
