//! Synchronizing: observe, judge, render, send, fold, save. Decides nothing: each step asks the core.
//!
//! One [`Sync`] tells everything, over all configurations. A look for addresses puts what must be told into the queue;
//! [`Sync::turn`] starts what may start and takes in what ended. A single synchronization turns until nothing is left;
//! `ddns watch` goes on turning.

mod ledger;
mod sender;
pub(crate) mod store;

use std::collections::HashMap;
use std::future::poll_fn;
use std::net::IpAddr;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use ddns_core::address::observation::Observation;
use ddns_core::config::Cache;
use ddns_core::net::family::Family;
use ddns_core::schedule::backoff::Backoff;
use ddns_core::schedule::lookups::Look;
use ddns_core::schedule::queue::{Job, Lane, LaneKey, Queue};
use ddns_core::text::log_format::Level;
use ddns_core::update::Update;
use ddns_core::update::outcome::{Outcome, Tally};
use ddns_core::update::plan::{Reason, Verdict};
use ddns_core::update::status::Row;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::timeout_at;

use crate::clock::{steady_time, unix_time};
use crate::environment::Environment;
use crate::lookup::{self, Lookup, Query};
use crate::output::progress::Progress;
use crate::sync::store::Durability;

use ledger::Ledger;
pub(crate) use ledger::cache_path;
use sender::Sent;
pub(crate) use sender::{Sender, senders};

/// Tells everything.
pub(crate) struct Sync<'a> {
    ledger: Ledger<'a>,
    queue: Queue,
    /// By sender.
    lookouts: Vec<Lookout>,
    looking: FuturesUnordered<LocalBoxFuture<'a, Looked>>,
    sending: FuturesUnordered<LocalBoxFuture<'a, Sent<'a>>>,
    /// By configuration.
    tallies: Vec<Tally>,
    /// Looks that have not ended, by configuration.
    looks: Vec<usize>,
    /// Whether nothing new is started any more.
    is_closing: bool,
    /// Begun by whoever wants it to be seen.
    pub(crate) progress: Rc<Progress>,
}

/// How the addresses of a sender are looked for, by [`Family::index`], and where its updates go.
#[derive(Clone, Default)]
struct Lookout {
    /// How often was asked: an answer to an older question is none.
    asked: [u32; 2],
    /// Whether it was said that there is no address.
    is_missed: [bool; 2],
    /// The lane of all of its updates, where they have one in common.
    lane: Option<Lane>,
}

/// A list of sources has been asked.
struct Looked {
    lookup: Lookup,
    family: Family,
    /// The senders that use it, and how often each had asked when this was begun.
    senders: Vec<(usize, u32)>,
    is_round: bool,
}

/// Whose addresses were looked for, and whether there is one.
pub(crate) struct Found {
    pub(crate) family: Family,
    pub(crate) has_address: bool,
    /// By number.
    pub(crate) senders: Vec<usize>,
}

/// What one turn brought.
enum Turn<'a> {
    Looked(Looked),
    Sent(Sent<'a>),
}

impl<'a> Sync<'a> {
    /// Nothing is looked for yet. Where `backoff` is none, what fails is not tried again.
    pub(crate) fn new(senders: &'a [Sender<'a>], environment: &'a Environment, backoff: Option<Backoff>) -> Self {
        let ledger = Ledger::new(senders, environment, backoff.is_some());
        let configs = senders.last().map_or(0, |sender| sender.config + 1);
        Self {
            queue: Queue::new(ledger.len(), backoff),
            ledger,
            lookouts: vec![Lookout::default(); senders.len()],
            looking: FuturesUnordered::new(),
            sending: FuturesUnordered::new(),
            tallies: vec![Tally::default(); configs],
            looks: vec![0; configs],
            is_closing: false,
            progress: Rc::default(),
        }
    }

    /// Begins to look for addresses. A list of sources is asked once, however many entries use it.
    pub(crate) fn look(&mut self, look: &Look) {
        let senders = self.ledger.senders;
        let mut queries = Vec::new();
        for (at, sender) in senders.iter().enumerate() {
            for family in Family::ALL {
                let Some(query) = Query::needed(sender.entry, family) else { continue };
                if look.means(sender.config, at, family) {
                    self.looks[sender.config] += 1;
                    let asked = &mut self.lookouts[at].asked[family.index()];
                    *asked += 1;
                    queries.push((query, (at, *asked)));
                }
            }
        }
        let is_round = !look.rounds.is_empty();
        for (query, sharing) in lookup::shared(queries) {
            let client = senders[sharing[0].0].client;
            self.looking.push(Box::pin(async move {
                let lookup = lookup::look_up(query, client).await;
                Looked { lookup, family: query.family, senders: sharing, is_round }
            }));
        }
    }

    /// Once for all that share a lookup, and as a warning only while one of them has not been warned yet.
    fn log_lookup(&self, looked: &Looked) {
        let family = looked.family;
        let is_missed = |at: usize| self.lookouts[at].is_missed[family.index()];
        let fresh = looked.senders.iter().map(|(at, _)| *at).find(|at| !is_missed(*at));
        let level = if fresh.is_some() { Level::Warning } else { Level::Debug };
        let log = self.ledger.senders[fresh.unwrap_or(looked.senders[0].0)].log;
        for (source, why) in looked.lookup.failed() {
            log.line(level, || format!("{family}: no address from {source}: {why}"));
        }
        if let Some((source, choice)) = looked.lookup.found() {
            log.debug(|| format!("{family}: {}, from {source}: {}", choice.ip, choice.why));
        }
    }

    /// Whether everything that was to be done is done.
    pub(crate) fn is_done(&self) -> bool {
        self.looking.is_empty() && self.queue.is_idle()
    }

    /// Whether addresses are being looked for.
    pub(crate) fn is_looking(&self) -> bool {
        !self.looking.is_empty()
    }

    /// Whether a request is on its way.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Starts what may start, and waits until something has ended. News that has waited long enough is saved meanwhile.
    /// Nothing is lost where the waiting is given up.
    pub(crate) async fn turn(&mut self) -> Option<Found> {
        self.start();
        let save_by = self.ledger.save_by();
        let wake = save_by.into_iter().chain(self.progress.due()).min();
        let next = poll_fn(|context| {
            if let Poll::Ready(Some(looked)) = self.looking.poll_next_unpin(context) {
                return Poll::Ready(Turn::Looked(looked));
            }
            match self.sending.poll_next_unpin(context) {
                Poll::Ready(Some(sent)) => Poll::Ready(Turn::Sent(sent)),
                _ => Poll::Pending,
            }
        });
        let turn = match wake {
            None => Some(next.await),
            Some(by) => timeout_at(by.into(), next).await.ok(),
        };
        let mut found = None;
        match turn {
            Some(Turn::Looked(looked)) => found = Some(self.looked(looked)),
            Some(Turn::Sent(sent)) => self.sent(&sent),
            None => {}
        }
        if save_by.is_some_and(|by| Instant::now() >= by) {
            self.save();
        }
        if self.progress.due().is_some() {
            self.progress.show(self.tally(), self.queue.open());
        }
        found
    }

    /// What the configurations came to, each by its number. Saves what is not saved yet.
    pub(crate) fn finish(&mut self) -> &[Tally] {
        self.progress.end();
        self.save();
        &self.tallies
    }

    /// Starts nothing new from now on.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Saves what is not saved yet.
    pub(crate) fn save(&mut self) {
        self.ledger.save(Durability::Power);
    }

    /// Tries again at once what rests: what found no connection, or everything that failed.
    pub(crate) fn hurry(&mut self, everything: bool) {
        self.queue.hurry(everything);
    }

    /// How many updates are to be told later.
    pub(crate) fn untold(&self) -> usize {
        self.queue.untold()
    }

    /// The rests that endpoints asked for, for [`Sync::resting`].
    pub(crate) fn asked_rests(&self) -> HashMap<LaneKey, Duration> {
        self.queue.asked_rests()
    }

    /// With rests that were asked for before.
    pub(crate) fn resting(mut self, rests: HashMap<LaneKey, Duration>) -> Self {
        self.queue = self.queue.resting(rests);
        self
    }

    /// When to turn again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.queue.wake_at()
    }

    /// What has happened since this was last asked for.
    pub(crate) fn take_tally(&mut self) -> Tally {
        let all = self.tally();
        self.tallies.fill(Tally::default());
        all
    }

    fn tally(&self) -> Tally {
        self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally))
    }

    /// How every update stands.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.ledger.rows(&self.queue)
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(crate) fn verdicts(&mut self) -> Vec<(&'a Sender<'a>, Update<'a>, Verdict)> {
        self.ledger.verdicts()
    }

    /// Takes these addresses as if they had been looked for, one for each family.
    pub(crate) fn suppose(&mut self, addresses: [IpAddr; 2]) {
        for at in 0..self.ledger.senders.len() {
            for (family, ip) in Family::ALL.into_iter().zip(addresses) {
                self.ledger.observe(at, family, Observation::Found(ip));
            }
        }
    }

    /// Queues everything that must be told of the addresses that are known.
    pub(crate) fn want_all(&mut self) {
        for at in 0..self.ledger.senders.len() {
            self.want(at, Family::V4, false);
            self.want(at, Family::V6, false);
        }
        self.ledger.save(Durability::Process);
    }

    fn start(&mut self) {
        if self.is_closing {
            return;
        }
        let now = steady_time();
        while let Some(start) = self.queue.start(now) {
            match self.ledger.update(start.0) {
                Some((at, update)) => self.sending.push(Box::pin(self.ledger.senders[at].send(update, start))),
                None => self.queue.give_back(start),
            }
        }
    }

    fn looked(&mut self, looked: Looked) -> Found {
        self.log_lookup(&looked);
        let observation = looked.lookup.address().map_or(Observation::Unavailable, Observation::Found);
        let Looked { lookup, family, senders, is_round } = looked;
        let has_address = lookup.address().is_some();
        let mut found = Found { family, has_address, senders: Vec::new() };
        for (at, asked) in senders {
            let sender = &self.ledger.senders[at];
            self.looks[sender.config] -= 1;
            // One that was overtaken by a newer question is no news.
            let is_news = self.lookouts[at].asked[family.index()] == asked;
            if is_news {
                found.senders.push(at);
                self.ledger.observe(at, family, observation.clone());
            }
            if !sender.is_strict() && is_news {
                self.want(at, family, is_round);
            } else if sender.is_strict() && self.looks[sender.config] == 0 {
                // Strict order: nothing begins before all of it is known.
                for at in 0..self.ledger.senders.len() {
                    if self.ledger.senders[at].config == sender.config {
                        self.want(at, Family::V4, is_round);
                        self.want(at, Family::V6, is_round);
                    }
                }
            }
        }
        self.ledger.save(Durability::Process);
        found
    }

    /// Judges every update of a sender's family, and queues what must be told: in a round also what is never remembered.
    fn want(&mut self, at: usize, family: Family, is_round: bool) {
        let sender = &self.ledger.senders[at];
        let domains = sender.entry.domains_of(family);
        let ip = match *self.ledger.observed(at, family) {
            Observation::Found(ip) => Some(ip),
            Observation::Unavailable => None,
            // Not asked yet.
            Observation::Off => return,
        };
        if domains.is_empty() {
            return;
        }
        let jobs = (self.ledger.first(at, family)..).zip(domains);
        let was_missed = std::mem::replace(&mut self.lookouts[at].is_missed[family.index()], ip.is_none());
        let Some(ip) = ip else {
            // Nothing is looked up in the cache, and nothing about it changes (E6).
            let count = domains.len();
            let level = if was_missed { Level::Debug } else { Level::Error };
            let told = || format!("no {family} address was found: {count} of the updates cannot be told");
            sender.log.line(level, told);
            self.tallies[sender.config].without_address += count;
            jobs.for_each(|(job, _)| self.queue.forget(job));
            return;
        };
        if was_missed {
            sender.log.info(format!("{family}: there is an address again, {ip}"));
        }
        self.ledger.open(at);
        let is_forgetful = is_round && sender.entry.cache == Cache::Off;
        for (job, domain) in jobs {
            self.want_one(job, at, &Update { domain, family, ip }, is_forgetful);
        }
    }

    /// Judges one update, and queues it where it must be told. What it replaces is forgotten: saving is to follow.
    fn want_one(&mut self, job: Job, at: usize, update: &Update<'_>, is_forgetful: bool) {
        let sender = &self.ledger.senders[at];
        let verdict = if is_forgetful { Verdict::Send(Reason::NoCache) } else { self.ledger.judge(at, update) };
        match verdict {
            Verdict::Known(since) => {
                let age = self.ledger.now().saturating_sub(since);
                sender.log.debug(|| format!("{update}: already known, accepted {age} s ago"));
                self.tallies[sender.config].known += 1;
                self.queue.forget(job);
            }
            Verdict::Send(reason) => {
                sender.log.debug(|| format!("{update}: {reason}"));
                if reason.replaces() {
                    self.ledger.forget(at, update);
                }
                let lane = self.lane(at, update);
                self.queue.want(job, lane);
            }
        }
    }

    fn lane(&mut self, at: usize, update: &Update<'_>) -> Lane {
        if let Some(lane) = self.lookouts[at].lane {
            return lane;
        }
        let sender = &self.ledger.senders[at];
        let key = if sender.is_strict() {
            LaneKey::Strict(sender.config)
        } else {
            // One whose address cannot be made fails by itself, wherever it stands.
            let request = sender.entry.callback.render(update, unix_time());
            LaneKey::Origin(request.map(|request| request.url.origin()).unwrap_or_default())
        };
        let lane = self.queue.lane(key, sender.concurrency);
        if sender.is_strict() || sender.entry.callback.target.fixed_part().is_some() {
            self.lookouts[at].lane = Some(lane);
        }
        lane
    }

    fn sent(&mut self, sent: &Sent<'a>) {
        let Sent { update, start, outcome, rest, .. } = sent;
        let job = start.0;
        let at = self.ledger.sender_of(job);
        let sender = &self.ledger.senders[at];
        let tally = &mut self.tallies[sender.config];
        if outcome.is_accepted() {
            tally.accepted += 1;
        } else {
            tally.failed += 1;
        }
        self.ledger.learn(at, update, outcome);
        let now = steady_time();
        let is_wanted_again = self.queue.ended(*start, outcome, *rest, now, dice(outcome));
        let retry = self.queue.retry(job).map(|retry| retry.at.saturating_sub(now));
        sender.report(sent, retry);
        match self.ledger.update(job) {
            None => self.queue.forget(job),
            // The address changed while it was under way.
            Some((_, update)) if is_wanted_again => {
                self.want_one(job, at, &update, false);
                self.ledger.save(Durability::Process);
            }
            Some(_) => {}
        }
    }
}

/// Full jitter for the next try; none is needed where there is none.
fn dice(outcome: &Outcome) -> f64 {
    if outcome.is_accepted() { 0.0 } else { chance() }
}

/// Anywhere from 0 up to 1.
pub(crate) fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests;
