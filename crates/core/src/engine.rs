//! Everything between an address and a remembered update: events and the time go in, effects and an account of what happened
//! come out. Nothing else decides what is sent, and when.
//!
//! Whoever drives it looks up, sends, reads and writes what it asks for, in this order, and tells it what came of it: each
//! lookup, request, reading and writing is answered once, unless it was cancelled. What is remembered is marked before it is sent
//! ([`Effect::Persist`] comes before [`Effect::Send`]), so that whoever reads it then knows what may be under way (E4).

mod answers;
mod claims;
mod in_flight;
mod lease;
mod look;
mod observe;
pub mod plan;
pub mod previews;
mod queueing;
mod reload;
mod replaced;
mod settle;
mod start;
mod steps;
mod stores;
mod streaks;
mod view;
mod visibility;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::address::lookup::Lookup;
use crate::address::observation::Observation;
use crate::callback::{Request, Timestamp};
use crate::dns::{Sighting, Sought};
use crate::journal::{JournalEvent, Last, What};
use crate::net::family::Family;
use crate::schedule::backoff::Backoff;
use crate::schedule::lookups::Schedule;
use crate::schedule::queue::{Lane, Queue, Stage, UpdateId};
use crate::text::log_format::Level;
use crate::text::secrets::Secrets;
use crate::update::outcome::Tally;
use crate::update::state::{ClaimKey, Fingerprint};

use claims::{AllGivenUp, Before};
use in_flight::{InFlight, StepMemory};
use observe::{EntryLookups, LookupState};
use plan::{Plan, StoreId};
use queueing::Todo;
use reload::Closing;
use replaced::Replaced;
use stores::{AHEAD, StoreState};
use visibility::Lookout;

pub use lease::{LeaseEvent, Note, Term};
pub use previews::{Preview, Previews, all_redacted, redacted};
pub use reload::GRACE;
pub use settle::{Facts, ResponseFacts};
pub use steps::ANSWER_LIMIT;
pub use stores::{Durability, Stored, Ticket};
pub use visibility::RoundId;

/// So many secrets that steps took are looked for in texts.
const MOST_SECRETS: usize = 256;

/// The number of a lookup: each has its own.
pub type LookupId = u64;

/// The number of a request: each has its own.
pub type RequestId = u64;

/// The time.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Since some fixed moment; runs while the machine sleeps.
    pub steady: Duration,
    /// The time of day. Ages are counted from the first one that is given: a clock that is set makes nothing older or younger.
    pub day: Timestamp,
}

/// What an engine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One synchronization; nothing is retried.
    Once,
    /// A service.
    Service,
    /// To judge and to show: nothing is queued, marked, written or sent, whatever happens.
    Look,
}

/// What happened.
#[derive(Debug)]
pub enum Event {
    /// It begins, with the plan of the last [`Event::Reload`] where there was one.
    Begin,
    /// The time of [`Engine::wake_at`] has come.
    Time,
    /// Start nothing more, and end with [`Effect::Closed`].
    Stop,
    /// The same, and [`Event::Begin`] with this plan follows.
    Reload(Rc<Plan>),
    /// Save what is not saved yet.
    Save,
    /// Addresses or routes of this host changed, of this family.
    Network(Family),
    /// Somebody asked for a synchronization, or the machine has slept.
    Synchronize,
    /// Services may get what they refused for good.
    RetryStopped,
    /// Send these once more, though they are up to date.
    SendAgain(Vec<UpdateId>),
    /// A lookup ended.
    LookedUp {
        /// Which one.
        lookup: LookupId,
        /// What it gave.
        found: Lookup,
    },
    /// A request ended.
    Settled {
        /// Which one.
        request: RequestId,
        /// How.
        facts: Facts,
    },
    /// A store was read.
    Read {
        /// Which one.
        store: StoreId,
        /// What it has.
        stored: Stored,
    },
    /// A store was written.
    Persisted {
        /// Which one.
        store: StoreId,
        /// Everything up to this.
        upto: Ticket,
        /// Or why not.
        result: Result<(), String>,
    },
    /// Something happened to the lease of the group.
    Lease(LeaseEvent),
    /// Before a single run begins: it waits so long for addresses to be visible in DNS.
    WaitForDns(Duration),
    /// A round ended.
    SeenInDns {
        /// Which one.
        round: RoundId,
        /// What DNS servers said.
        sighting: Sighting,
        /// How many questions since the last round were answered, and how many were not.
        questions: [u32; 2],
    },
}

/// What of a response matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The status decides.
    Status,
    /// The body decides, too (H4).
    Verdict,
    /// The body is what was asked for: up to [`ANSWER_LIMIT`].
    Answer,
}

/// What is to be done.
#[derive(Debug)]
pub enum Effect {
    /// A synchronization begins.
    Begin,
    /// Look up an address.
    LookUp {
        /// Its number.
        lookup: LookupId,
        /// The entry whose sources are asked.
        entry: usize,
        /// The family.
        family: Family,
    },
    /// Read what a store has now.
    Read {
        /// Which one.
        store: StoreId,
    },
    /// Write what changed: [`Engine::merge`], then [`Engine::text`] or [`Engine::pairs`].
    Persist {
        /// Which one.
        store: StoreId,
        /// For [`Event::Persisted`].
        upto: Ticket,
        /// What it must withstand.
        durability: Durability,
    },
    /// Remove a file that must not be believed any more.
    Discard {
        /// Of which store.
        store: StoreId,
    },
    /// Send a request.
    Send {
        /// Its number.
        request: RequestId,
        /// The entry that says how.
        entry: usize,
        /// The request.
        message: Box<Request>,
        /// The lease it is sent under; it must not be sent when that is over.
        term: Option<Term>,
        /// What of the response matters.
        reads: Reads,
    },
    /// Ask DNS servers.
    AskDns {
        /// The number of the round.
        round: RoundId,
        /// What about. Without resolvers those of the system are meant.
        sought: Box<Sought>,
    },
    /// These must not be seen in the log.
    Hide {
        /// The entry that they are of.
        entry: usize,
        /// What a step took.
        secrets: Vec<String>,
    },
    /// Cut off every request: nothing of them is delivered any more, and none settles.
    Cancel,
    /// Tell the group.
    Tell(Note),
    /// Everything that was to be done is done for now.
    Idle {
        /// What it came to since the last time, by configuration.
        tallies: Vec<Tally>,
        /// How many updates are sent later: they failed, or their endpoint did.
        postponed: usize,
    },
    /// What was under way has ended, or had its time.
    Closed,
    /// There is nothing to be done by this run, or no more; with this exit status.
    Ended(u8),
}

/// What comes out of the engine.
#[derive(Debug, Default)]
pub struct Out {
    /// To be carried out in this order.
    pub effects: VecDeque<Effect>,
    /// What happened, the oldest first.
    pub journal: Vec<JournalEvent>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Engine {
    plan: Rc<Plan>,
    mode: Mode,
    now: Now,
    /// Ages are counted from here on.
    epoch: Now,
    chance: Chance,
    /// For DNS alone: asking changes nothing else.
    dns_chance: Chance,
    lookout: Lookout,
    /// The number that marks of this run carry.
    own: u32,
    out: Out,
    entries: Vec<EntryState>,
    stores: Vec<StoreState>,
    /// What is done once stores have been read.
    todos: VecDeque<Todo>,
    queue: Queue,
    /// `None` in a single run.
    schedule: Option<Schedule>,
    lookups: BTreeMap<LookupId, LookupState>,
    /// How many lookups have not ended, by configuration.
    open: Vec<usize>,
    requests: BTreeMap<RequestId, InFlight>,
    /// How much longer than its request a mark holds.
    ahead: Duration,
    /// Requests whose marks are being written.
    marking: Vec<(StoreId, Ticket, InFlight)>,
    last_number: u64,
    /// Updates that another process is sending (E4a): judged again when it may have ended.
    waiting: BTreeSet<UpdateId>,
    recheck_at: Option<Duration>,
    /// Updates that are due and must not be sent: until when, in seconds since the epoch; `None` if it has no end.
    held: BTreeMap<UpdateId, Option<u64>>,
    /// Those that have an end, by it.
    held_until: BTreeSet<(u64, UpdateId)>,
    /// Updates that are sent once more, whatever was accepted.
    asked_for: BTreeSet<UpdateId>,
    /// Families of entries that were looked up, and not counted yet: the other family is waited for. With whether that was in a round.
    uncounted: BTreeMap<(usize, Family), bool>,
    /// By configuration.
    tallies: Vec<Tally>,
    /// What was remembered of an update before it was marked; nothing that differs where it is not in here.
    before: BTreeMap<UpdateId, Before>,
    /// Claims that requests under way replace.
    replaced: HashMap<ClaimKey, Replaced>,
    /// Requests that were given up and may still arrive.
    given_up: AllGivenUp,
    /// What steps asked.
    asked: StepMemory,
    /// What steps took that must not be seen, the oldest first, and what finds it in texts.
    found_secrets: (Vec<String>, Option<Secrets>),
    /// How the last request of each update ended; empty where none was sent, or nobody asks.
    ended: Vec<Option<Last>>,
    /// Which condition of `expect` decided on the last response; `None` if nobody wants to know.
    decisions: Option<HashMap<UpdateId, String>>,
    /// Why the sources failed that failed when they were last asked.
    failing: BTreeMap<(Family, String), String>,
    /// `None` where this host sends for itself.
    lease: Option<lease::Holding>,
    /// When the lease was won.
    won_at: Duration,
    closing: Option<Closing>,
    /// Whether something was to be done since it was last at rest.
    is_busy: bool,
    /// Whether stops are forgotten when the lease is won.
    forgets_stops: bool,
}

/// What is known of an entry; by [`Family::index`].
#[derive(Debug, Default)]
struct EntryState {
    observed: [Observation; 2],
    /// The source that gave the address, or why none did.
    sources: [Option<Result<String, String>>; 2],
    /// Its lookups.
    lookups: [EntryLookups; 2],
    /// The last address that was found. Where nothing is sent it may be an example.
    found: [Option<IpAddr>; 2],
    /// Whether the last lookup gave no address.
    is_missing: [bool; 2],
    /// An address that was warned about.
    doubted: [Option<IpAddr>; 2],
    /// The key of its callback in its store; `None` before that was read.
    callback: Option<Fingerprint>,
    /// Who makes its claims; `None` before the first (E3).
    maker: Option<Fingerprint>,
    /// The lane of all its updates; `None` if they differ, or it is not known yet.
    lane: Option<Lane>,
    /// Where it sends, once it has sent; `None` if that depends on the update.
    origin: Option<Rc<str>>,
    /// Whether `expect` was recommended.
    has_hinted: bool,
}

impl Engine {
    /// Nothing is known, and nothing is done before [`Event::Begin`]. The same `seed` gives the same effects for the same events.
    pub fn new(plan: Rc<Plan>, mode: Mode, seed: u64, now: Now) -> Self {
        let mut chance = Chance(seed);
        let mut engine = Self {
            mode,
            now,
            epoch: now,
            own: chance.number(),
            ahead: AHEAD,
            chance,
            dns_chance: Chance(!seed),
            lookout: Lookout::default(),
            out: Out::default(),
            entries: Vec::new(),
            stores: Vec::new(),
            todos: VecDeque::new(),
            queue: Queue::new(0, None),
            schedule: None,
            lookups: BTreeMap::new(),
            open: Vec::new(),
            requests: BTreeMap::new(),
            marking: Vec::new(),
            last_number: 0,
            waiting: BTreeSet::new(),
            recheck_at: None,
            held: BTreeMap::new(),
            asked_for: BTreeSet::new(),
            held_until: BTreeSet::new(),
            uncounted: BTreeMap::new(),
            tallies: Vec::new(),
            before: BTreeMap::new(),
            replaced: HashMap::new(),
            given_up: AllGivenUp::new(),
            asked: StepMemory::default(),
            found_secrets: (Vec::new(), None),
            ended: Vec::new(),
            decisions: None,
            failing: BTreeMap::new(),
            lease: None,
            won_at: Duration::ZERO,
            closing: Some(Closing::before_begin()),
            is_busy: true,
            forgets_stops: false,
            plan: Rc::clone(&plan),
        };
        engine.set_plan(plan);
        engine
    }

    /// Takes in what happened, and says what is to be done.
    pub fn on(&mut self, event: Event, now: Now, out: &mut Out) {
        self.now = now;
        std::mem::swap(&mut self.out, out);
        if self.mode == Mode::Look {
            self.look(event);
        } else {
            self.act(event);
        }
        std::mem::swap(&mut self.out, out);
    }

    fn act(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Begin => self.begin(),
            Event::Time => {}
            Event::Stop => self.close(None),
            Event::Reload(plan) => self.close(Some(plan)),
            Event::Save => self.save(Durability::Power),
            Event::Network(family) => {
                if let Some(schedule) = &mut self.schedule {
                    schedule.network_changed(family, now.steady);
                }
            }
            Event::Synchronize => {
                self.is_busy = true;
                if let Some(schedule) = &mut self.schedule {
                    schedule.request(now.steady);
                }
            }
            Event::RetryStopped => self.retry_stopped(),
            Event::SendAgain(ids) => self.asked_for.extend(ids),
            Event::LookedUp { lookup, found } => self.looked_up(lookup, &found),
            Event::Settled { request, facts } => self.settled(request, facts),
            Event::Read { store, stored } => self.read(store, stored),
            Event::Persisted { store, upto, result } => self.persisted(store, upto, result),
            Event::Lease(event) => self.on_lease(event),
            Event::WaitForDns(patience) => self.wait_for_dns(patience),
            Event::SeenInDns { round, sighting, questions } => self.seen_in_dns(round, &sighting, questions),
        }
        self.advance();
    }

    /// When to bring [`Event::Time`], if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        if let Some(closing) = &self.closing {
            // What is heard meanwhile is written as soon as ever.
            return closing.wake_at().map(|until| self.save_at().map_or(until, |at| at.min(until)));
        }
        let schedule = self.schedule.as_ref().and_then(Schedule::wake_at);
        // What may not start wakes nobody.
        let start = [self.queue.wake_at(), self.queue.hang_at(), self.recheck_at].into_iter().flatten();
        let start = start.min().filter(|_| self.may_start());
        let steps = self.asked.wake_at().filter(|_| self.may_start());
        let dns = self.dns_at().filter(|_| self.may_start());
        let times = [schedule, start, self.release_at(), self.save_at(), steps, dns];
        times.into_iter().flatten().min()
    }

    /// Whether everything that was to be done is done.
    pub fn is_done(&self) -> bool {
        self.todos.is_empty() && !self.is_working()
    }

    /// Whether something is to be done.
    fn is_working(&self) -> bool {
        self.is_updating() || self.waits_for_dns()
    }

    /// Whether an address is being looked up, or a request is to be sent or under way.
    fn is_updating(&self) -> bool {
        !self.lookups.is_empty()
            || !self.queue.is_idle()
            || !self.waiting.is_empty()
            || !self.asked.is_idle()
            || self.waits_for_lease()
    }

    /// Does what can be done now.
    fn advance(&mut self) {
        if self.closing.is_none() {
            self.begin_due();
            self.recheck();
            self.release();
            self.look_again();
            self.start_all();
            self.ask_dns();
        }
        self.save_due();
        self.hand_back();
        self.finish_closing();
        if self.closing.is_some() {
            return;
        }
        self.is_busy |= self.is_working();
        if self.is_done() && std::mem::take(&mut self.is_busy) {
            self.end_rounds();
            let tallies = vec![Tally::default(); self.tallies.len()];
            let tallies = std::mem::replace(&mut self.tallies, tallies);
            self.out.effects.push_back(Effect::Idle { tallies, postponed: self.queue.postponed() });
        }
    }

    fn begin(&mut self) {
        self.renew();
        self.read_for_streaks();
        if self.schedule.is_none() {
            self.look_up_all();
        }
    }

    /// The time of day as it runs since the beginning, in seconds since the epoch.
    pub fn clock(&self) -> u64 {
        self.clock_at(self.now.steady)
    }

    /// What it said, or will say, at a steady moment.
    fn clock_at(&self, steady: Duration) -> u64 {
        // Not cut off twice: processes that share a cache agree to the second.
        (self.epoch_day() + steady.saturating_sub(self.epoch.steady)).as_secs()
    }

    /// When the clock has these seconds since the epoch.
    fn steady_at(&self, seconds: u64) -> Duration {
        let (then, epoch) = (Duration::from_secs(seconds), self.epoch_day());
        (self.epoch.steady + then.saturating_sub(epoch)).saturating_sub(epoch.saturating_sub(then))
    }

    fn epoch_day(&self) -> Duration {
        Duration::new(self.epoch.day.seconds, self.epoch.day.micros.saturating_mul(1000))
    }

    /// What this came to so far, since it was last at rest.
    pub fn tally(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally))
    }

    /// How many updates are to be sent or being sent.
    pub fn to_send(&self) -> usize {
        self.queue.open()
    }

    /// Whether an update stands in a line that is open.
    pub fn is_queued(&self, id: UpdateId) -> bool {
        matches!(self.queue.stage(id), Stage::Queued(_)) && self.queue.pause_of(id).is_none()
    }

    /// The plan that it works on.
    pub fn plan(&self) -> &Rc<Plan> {
        &self.plan
    }

    /// When the next round is; `None` in a single run.
    pub fn next_round(&self) -> Option<Duration> {
        self.schedule.as_ref().and_then(Schedule::next_round)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// A text from elsewhere without any secret of an entry's configuration, or that a step took.
    fn masked(&self, at: usize, text: &str) -> String {
        let masked = self.plan.masked(at, text);
        match &self.found_secrets.1 {
            Some(found) => found.mask(&masked).into_owned(),
            None => masked.into_owned(),
        }
    }

    /// These must not be seen from now on.
    fn hide(&mut self, at: usize, secrets: Vec<String>) {
        let (known, finder) = &mut self.found_secrets;
        // What is used again moves to the end before it is forgotten.
        let is_fresh = |secret: &String| known.iter().rev().take(MOST_SECRETS / 4).any(|known| known == secret);
        let new: Vec<String> = secrets.into_iter().filter(|secret| !is_fresh(secret)).collect();
        if new.is_empty() {
            return;
        }
        known.retain(|secret| !new.contains(secret));
        known.extend(new.iter().cloned());
        // Sessions that ended long ago.
        known.drain(..known.len().saturating_sub(MOST_SECRETS));
        *finder = Some(Secrets::new(known.iter().cloned(), &[]));
        self.out.effects.push_back(Effect::Hide { entry: at, secrets: new });
    }

    fn tell(&mut self, what: What) {
        let at = self.clock();
        self.out.journal.push(JournalEvent { at, what });
    }

    /// Something that only the log tells. The text is made where it is shown.
    fn say(&mut self, at: usize, level: Level, text: impl FnOnce() -> String) {
        let config = self.plan.config_of(at);
        if self.plan.shows(config, level) {
            self.tell(What::Said { entry: at, level, text: text() });
        }
    }
}

/// How long to wait after failures; `None` where nothing is retried.
fn backoff(plan: &Plan, mode: Mode) -> Option<Backoff> {
    (mode == Mode::Service).then(|| Schedule::backoff(&plan.intervals()))
}

/// Numbers that look random (SplitMix64): the same for the same seed.
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Any number but 0.
    fn number(&mut self) -> u32 {
        ((self.next() >> 32) as u32).max(1)
    }

    /// Anywhere from 0 up to 1.
    fn jitter(&mut self) -> f64 {
        f64::from((self.next() >> 32) as u32) / f64::from(u32::MAX)
    }

    fn salt(&mut self) -> Vec<u8> {
        [self.next(), self.next()].iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests;
