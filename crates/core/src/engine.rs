//! The engine: everything between an address and a remembered update. Events and the time go in; effects and a report of what
//! happened come out. Nothing else decides what is sent, and when.
//!
//! The driver carries out the effects in order (lookups, requests, reads and writes) and reports their results as events: each
//! of them is answered once, unless it was cancelled. The engine marks an update in doubt before it sends it
//! ([`Effect::Persist`] comes before [`Effect::Send`]), so that other readers of the store know which requests may be under way
//! (E4).

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
mod stops;
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
use crate::dns::{DnsObservation, DnsQuery};
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
use queueing::PendingTask;
use reload::Closing;
use replaced::Replaced;
use stores::{MARK_MARGIN, StoreState};
use visibility::DnsSchedule;

pub use lease::{LeaseEvent, Note, Term};
pub use look::KnownAddresses;
pub use previews::{Preview, Previews, all_redacted, redacted};
pub use reload::GRACE;
pub use settle::{Facts, ResponseFacts};
pub use steps::MAX_ANSWER_BYTES;
pub use stores::{Durability, Stored, Ticket};
pub use visibility::RoundId;

/// How many secrets taken by steps the engine remembers and masks.
const MAX_STEP_SECRETS: usize = 256;

/// The number of a lookup, unique in an engine.
pub type LookupId = u64;

/// The number of a request, unique in an engine.
pub type RequestId = u64;

/// The current time, on two clocks.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    /// Time since a fixed moment. This clock also runs while the machine is suspended.
    pub steady: Duration,
    /// The time of day. Ages are computed from its first value and `steady`, so setting the clock does not change them.
    pub day: Timestamp,
}

/// What an engine is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A single run: one synchronization, without retries.
    Once,
    /// A service: it synchronizes again and again, and retries.
    Service,
    /// Only to judge and to show: nothing is ever queued, marked, written or sent.
    Look,
}

/// What the driver reports to the engine.
#[derive(Debug)]
pub enum Event {
    /// Start, with the plan of the last [`Event::Reload`] if there was one.
    Begin,
    /// The time of [`Engine::wake_at`] has come.
    Time,
    /// Start nothing new, and finish with [`Effect::Closed`].
    Stop,
    /// Like [`Event::Stop`]; an [`Event::Begin`] with this plan follows.
    Reload(Rc<Plan>),
    /// Write unsaved changes now.
    Save,
    /// Addresses or routes of this family changed on this host.
    Network(Family),
    /// The user asked for a synchronization, or the machine woke up from suspend.
    Synchronize,
    /// The user wants stopped updates to be sent again.
    RetryStopped,
    /// Send these updates again, although they are up to date.
    SendAgain(Vec<UpdateId>),
    /// A lookup has ended.
    LookedUp {
        /// The lookup that ended.
        lookup: LookupId,
        /// Its result.
        found: Lookup,
    },
    /// A request has ended.
    Settled {
        /// The request that ended.
        request: RequestId,
        /// How it ended.
        facts: Facts,
    },
    /// A store was read.
    Read {
        /// The store.
        store: StoreId,
        /// Its contents.
        stored: Stored,
    },
    /// A store was written, or the write failed.
    Persisted {
        /// The store.
        store: StoreId,
        /// The last write that this concerns.
        upto: Ticket,
        /// Why the write failed, if it did.
        result: Result<(), String>,
    },
    /// Something happened to the lease of the group.
    Lease(LeaseEvent),
    /// Comes before a single run begins: how long it waits for addresses to be visible in DNS.
    WaitForDns(Duration),
    /// A round of questions to DNS servers has ended.
    SeenInDns {
        /// The round that ended.
        round: RoundId,
        /// What the DNS servers said.
        observation: DnsObservation,
        /// How many questions since the last round were answered, and how many were not.
        questions: [u32; 2],
    },
}

/// How much of a response the engine needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Only the status.
    Status,
    /// The status and the body, both of which `expect` judges (H4).
    Verdict,
    /// The body, up to [`MAX_ANSWER_BYTES`]: it answers a step.
    Answer,
}

/// What the driver must do.
#[derive(Debug)]
pub enum Effect {
    /// A synchronization begins.
    Begin,
    /// Look up an address.
    LookUp {
        /// The number to report in [`Event::LookedUp`].
        lookup: LookupId,
        /// The entry whose sources to ask.
        entry: usize,
        /// The family of the address.
        family: Family,
    },
    /// Read the current contents of a store.
    Read {
        /// The store.
        store: StoreId,
    },
    /// Write what changed: call [`Engine::merge`], then [`Engine::text`] (for a file) or [`Engine::pairs`] (for a group).
    Persist {
        /// The store.
        store: StoreId,
        /// The number to report in [`Event::Persisted`].
        upto: Ticket,
        /// What the write must survive.
        durability: Durability,
    },
    /// Remove a cache file that is no longer true.
    Discard {
        /// The store of the file.
        store: StoreId,
    },
    /// Send a request.
    Send {
        /// The number to report in [`Event::Settled`].
        request: RequestId,
        /// The entry with the settings for sending it.
        entry: usize,
        /// The request.
        message: Box<Request>,
        /// The lease under which it is sent: it must not be sent once that lease is over. `None`: this host is in no group.
        term: Option<Term>,
        /// How much of the response the engine needs.
        reads: Reads,
    },
    /// Ask DNS servers.
    AskDns {
        /// The number to report in [`Event::SeenInDns`].
        round: RoundId,
        /// What to ask. If it names no resolvers, use those of the system.
        dns_query: Box<DnsQuery>,
    },
    /// Mask secrets in the log from now on.
    Hide {
        /// The entry that they belong to.
        entry: usize,
        /// Values that a step took.
        secrets: Vec<String>,
    },
    /// Cut off all requests: none of them delivers anything more, and none settles.
    Cancel,
    /// Tell the group something.
    Tell(Note),
    /// The engine has nothing left to do for now.
    Idle {
        /// The results since the last [`Effect::Idle`], by configuration.
        tallies: Vec<Tally>,
        /// How many updates are sent later: they wait for a retry, or for the end of a pause.
        postponed: usize,
    },
    /// Closing is done: requests under way have ended, or their time was up.
    Closed,
    /// A single run ends here, with this exit status.
    Ended(u8),
}

/// The output of the engine.
#[derive(Debug, Default)]
pub struct Out {
    /// To be carried out in this order.
    pub effects: VecDeque<Effect>,
    /// What happened, oldest first.
    pub journal: Vec<JournalEvent>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct Engine {
    plan: Rc<Plan>,
    mode: Mode,
    now: Now,
    /// Ages are counted from here.
    epoch: Now,
    chance: Chance,
    /// Random numbers for DNS only, so that asking DNS changes no other decision.
    dns_chance: Chance,
    dns_schedule: DnsSchedule,
    /// Identifies the marks of this run.
    own: u32,
    out: Out,
    entries: Vec<EntryState>,
    stores: Vec<StoreState>,
    /// Tasks that wait for stores to be read.
    todos: VecDeque<PendingTask>,
    queue: Queue,
    /// `None` in a single run.
    schedule: Option<Schedule>,
    lookups: BTreeMap<LookupId, LookupState>,
    /// How many lookups are under way, by configuration.
    open: Vec<usize>,
    requests: BTreeMap<RequestId, InFlight>,
    /// How much longer than its request a mark lasts.
    ahead: Duration,
    /// Requests whose marks are being written.
    marking: Vec<(StoreId, Ticket, InFlight)>,
    last_number: u64,
    /// Updates that wait because an earlier request may still arrive (E4a).
    waiting: BTreeSet<UpdateId>,
    recheck_at: Option<Duration>,
    /// Updates that are held back or stopped: until when, in seconds since the epoch; `None`: stopped.
    held: BTreeMap<UpdateId, Option<u64>>,
    /// The updates in `held` that have an end, by time.
    held_until: BTreeSet<(u64, UpdateId)>,
    /// Updates that the user wants sent again, although they are up to date.
    asked_for: BTreeSet<UpdateId>,
    /// Families that were looked up but not judged yet, because they wait for the other family; and whether that was in a
    /// round.
    uncounted: BTreeMap<(usize, Family), bool>,
    /// By configuration.
    tallies: Vec<Tally>,
    /// What was remembered of an update before it was marked. No entry: all fields have their defaults.
    before: BTreeMap<UpdateId, Before>,
    /// Claims that requests under way replace.
    replaced: HashMap<ClaimKey, Replaced>,
    /// Requests that were given up but may still arrive.
    given_up: AllGivenUp,
    /// What steps asked, and the answers.
    asked: StepMemory,
    /// Secrets that steps took, oldest first, and the finder that masks them in texts.
    found_secrets: (Vec<String>, Option<Secrets>),
    /// How the last request of each update ended; empty before the first one, and always in a single run.
    ended: Vec<Option<Last>>,
    /// Which condition of `expect` decided on the last response; `None` if no page is configured.
    decisions: Option<HashMap<UpdateId, String>>,
    /// Why each failing source failed last; with the first entry that has it, since its name leaves out secrets.
    failing: BTreeMap<(Family, usize, String), String>,
    /// `None`: this host is in no group.
    lease: Option<lease::Holding>,
    /// When the lease was won.
    won_at: Duration,
    closing: Option<Closing>,
    /// Whether there was anything to do since the last [`Effect::Idle`].
    is_busy: bool,
    /// Whether to forget stops once the lease is won.
    forgets_stops: bool,
}

/// The state of an entry; arrays are indexed by [`Family::index`].
#[derive(Debug, Default)]
struct EntryState {
    observed: [Observation; 2],
    /// The source that gave the address, or why none did.
    sources: [Option<Result<String, String>>; 2],
    lookups: [EntryLookups; 2],
    /// The last address found. In an engine that only looks, it may be an example.
    found: [Option<IpAddr>; 2],
    /// Whether the last lookup found no address.
    is_missing: [bool; 2],
    /// The address that the log has warned about.
    doubted: [Option<IpAddr>; 2],
    /// The key of its callback in its store; `None` until the store has been read.
    callback: Option<Fingerprint>,
    /// Who makes its claims (E3); `None` before the first claim.
    maker: Option<Fingerprint>,
    /// The lane of all its updates; `None` if they use different lanes, or none was queued yet.
    lane: Option<Lane>,
    /// The origin of its requests; `None` before the first one, or if it depends on the update.
    origin: Option<Rc<str>>,
    /// Whether the log has recommended `expect`.
    has_hinted: bool,
}

impl Engine {
    /// Creates an engine that does nothing before [`Event::Begin`]. The same `seed` gives the same effects for the same events.
    pub fn new(plan: Rc<Plan>, mode: Mode, seed: u64, now: Now) -> Self {
        let mut chance = Chance(seed);
        let mut engine = Self {
            mode,
            now,
            epoch: now,
            own: chance.number(),
            ahead: MARK_MARGIN,
            chance,
            dns_chance: Chance(!seed),
            dns_schedule: DnsSchedule::default(),
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

    /// Handles an event, and adds effects and reports to `out`.
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
            Event::SeenInDns { round, observation, questions } => self.seen_in_dns(round, &observation, questions),
        }
        self.advance();
    }

    /// When to send [`Event::Time`] if nothing else happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        if let Some(closing) = &self.closing {
            // What requests report while the engine closes is still written in time.
            return closing.wake_at().map(|until| self.save_at().map_or(until, |at| at.min(until)));
        }
        let schedule = self.schedule.as_ref().and_then(Schedule::wake_at);
        // What must not start needs no wake-up.
        let start = [self.queue.wake_at(), self.queue.hang_at(), self.recheck_at].into_iter().flatten();
        let start = start.min().filter(|_| self.may_start());
        let steps = self.asked.wake_at().filter(|_| self.may_start());
        let dns = self.dns_at().filter(|_| self.may_start());
        let times = [schedule, start, self.release_at(), self.save_at(), steps, dns];
        times.into_iter().flatten().min()
    }

    /// Whether nothing is left to do for now.
    pub fn is_done(&self) -> bool {
        self.todos.is_empty() && !self.is_working()
    }

    /// Whether updates are in progress, or a single run waits for DNS.
    fn is_working(&self) -> bool {
        self.is_updating() || self.waits_for_dns()
    }

    /// Whether an address is being looked up, or an update is being sent or waits for it.
    fn is_updating(&self) -> bool {
        !self.lookups.is_empty()
            || !self.queue.is_idle()
            || !self.waiting.is_empty()
            || !self.asked.is_idle()
            || self.waits_for_lease()
    }

    /// Does everything that can be done now.
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

    /// The time of day in seconds since the epoch. It runs on from the start, even if somebody sets the clock.
    pub fn clock(&self) -> u64 {
        self.clock_at(self.now.steady)
    }

    /// The value of [`Engine::clock`] at a steady moment.
    fn clock_at(&self, steady: Duration) -> u64 {
        // Truncated only once, so that processes that share a cache agree to the second.
        (self.epoch_day() + steady.saturating_sub(self.epoch.steady)).as_secs()
    }

    /// The steady moment at which [`Engine::clock`] reaches this value.
    fn steady_at(&self, seconds: u64) -> Duration {
        let (then, epoch) = (Duration::from_secs(seconds), self.epoch_day());
        (self.epoch.steady + then.saturating_sub(epoch)).saturating_sub(epoch.saturating_sub(then))
    }

    fn epoch_day(&self) -> Duration {
        Duration::new(self.epoch.day.seconds, self.epoch.day.micros.saturating_mul(1000))
    }

    /// The results since the last [`Effect::Idle`].
    pub fn tally(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally))
    }

    /// How many updates are queued or being sent.
    pub fn to_send(&self) -> usize {
        self.queue.open()
    }

    /// Whether an update is queued in a lane that is not paused.
    pub fn is_queued(&self, id: UpdateId) -> bool {
        matches!(self.queue.stage(id), Stage::Queued(_)) && self.queue.pause_of(id).is_none()
    }

    /// The current plan.
    pub fn plan(&self) -> &Rc<Plan> {
        &self.plan
    }

    /// When the next round starts; `None` in a single run.
    pub fn next_round(&self) -> Option<Duration> {
        self.schedule.as_ref().and_then(Schedule::next_round)
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Masks the secrets of an entry's configuration, and those that steps took, in a text from outside.
    fn masked(&self, at: usize, text: &str) -> String {
        let masked = self.plan.masked(at, text);
        match &self.found_secrets.1 {
            Some(found) => found.mask(&masked).into_owned(),
            None => masked.into_owned(),
        }
    }

    /// Masks these secrets from now on.
    fn hide(&mut self, at: usize, secrets: Vec<String>) {
        let (known, finder) = &mut self.found_secrets;
        // A secret that is used again moves to the end, so that it is not dropped.
        let is_fresh = |secret: &String| known.iter().rev().take(MAX_STEP_SECRETS / 4).any(|known| known == secret);
        let new: Vec<String> = secrets.iter().filter(|secret| !is_fresh(secret)).cloned().collect();
        if !new.is_empty() {
            known.retain(|secret| !new.contains(secret));
            known.extend(new);
            // The oldest belong to sessions that ended long ago.
            known.drain(..known.len().saturating_sub(MAX_STEP_SECRETS));
            *finder = Some(Secrets::new(known.iter().cloned(), &[]));
        }
        if !secrets.is_empty() {
            // Each configuration has a log of its own, and a reload begins new ones.
            self.out.effects.push_back(Effect::Hide { entry: at, secrets });
        }
    }

    fn tell(&mut self, what: What) {
        let at = self.clock();
        self.out.journal.push(JournalEvent { at, what });
    }

    /// Writes a text to the log only, not to the history. The text is built only if the log shows this level.
    fn say(&mut self, at: usize, level: Level, text: impl FnOnce() -> String) {
        let config = self.plan.config_of(at);
        if self.plan.shows(config, level) {
            self.tell(What::Said { entry: at, level, text: text() });
        }
    }
}

/// How long to wait after failures; `None`: nothing is retried in this mode.
fn backoff(plan: &Plan, mode: Mode) -> Option<Backoff> {
    (mode == Mode::Service).then(|| Schedule::backoff(&plan.intervals()))
}

/// Pseudorandom numbers (SplitMix64): the same seed gives the same numbers.
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

    /// A number from 0 to 1.
    fn jitter(&mut self) -> f64 {
        f64::from((self.next() >> 32) as u32) / f64::from(u32::MAX)
    }

    fn salt(&mut self) -> Vec<u8> {
        [self.next(), self.next()].iter().flat_map(|number| number.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests;
