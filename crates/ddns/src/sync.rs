//! Synchronizing: observe, judge, render, send, fold, save. Decides nothing: each step asks the core.
//!
//! One [`Sync`] holds everything that is told, over all configurations. A look for addresses puts what must be told
//! into the queue; [`Sync::turn`] starts what may start and takes in what ended. A single synchronization turns until
//! nothing is left; `ddns watch` goes on turning.

mod teller;

use std::cell::OnceCell;
use std::future::poll_fn;
use std::net::IpAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use ddns_core::backoff::Backoff;
use ddns_core::callback::{Fingerprint, Secrets};
use ddns_core::config::validate::Valid;
use ddns_core::config::{Cache, Concurrency, Config, Entry, Ssl};
use ddns_core::domain::Domain;
use ddns_core::log_format::Level;
use ddns_core::observe::Observation;
use ddns_core::outcome::{Outcome, Tally};
use ddns_core::plan::{Reason, Verdict, judge};
use ddns_core::queue::{Job, Lane, Queue, Road, Stage};
use ddns_core::record::{Family, Update};
use ddns_core::schedule::Look;
use ddns_core::source::Source;
use ddns_core::state::{EntryKey, learned};
use ddns_core::status::{Progress, Row, reason, seconds};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::timeout_at;

use crate::clock::{Calendar, steady_time, unix_time};
use crate::environment::Environment;
use crate::http::Client;
use crate::log::Log;
use crate::progress::Progress as ProgressLine;
use crate::sources;
use crate::store::{Durability, Store};

use teller::Sent;
pub(crate) use teller::Teller;

/// Everything that is told.
pub(crate) struct Sync<'a> {
    tellers: &'a [Teller<'a>],
    environment: &'a Environment,
    calendar: Calendar,
    /// What is known of each teller's updates; as many as there are tellers.
    desks: Vec<Desk>,
    queue: Queue,
    stores: Vec<Shared>,
    looking: FuturesUnordered<LocalBoxFuture<'a, Looked>>,
    sending: FuturesUnordered<LocalBoxFuture<'a, Sent<'a>>>,
    /// By configuration.
    tallies: Vec<Tally>,
    /// Looks that have not ended, by configuration.
    looks: Vec<usize>,
    /// Whether this goes on and on: then what was told is remembered as long, cache or not.
    is_service: bool,
    /// Whether nothing new is started any more.
    is_closing: bool,
    /// Begun by whoever wants it to be seen.
    pub(crate) progress: Rc<ProgressLine>,
}

/// What is known of the updates of one teller.
struct Desk {
    /// The number of the first one; the others follow, IPv4 first.
    first: Job,
    /// By [`Family::index`], as is what follows.
    observed: [Observation; 2],
    /// How often was asked: an answer to an older question is none.
    asked: [u32; 2],
    /// Whether it was said that there is no address.
    is_missed: [bool; 2],
    /// The lane of all of them, where they have one in common.
    lane: Option<Lane>,
    /// Which store holds what was told, and under which name; none where nothing is remembered, or nothing was needed
    /// yet.
    memory: Option<(usize, Fingerprint)>,
}

impl Desk {
    fn complained(&self, family: Family) -> bool {
        self.is_missed[family.index()]
    }
}

/// A cache that entries share.
struct Shared {
    /// None: it is in memory only.
    path: Option<PathBuf>,
    store: Store,
    /// The first teller that used it: what is wrong with the cache is told in its log.
    user: usize,
}

/// A list of sources has been asked.
struct Looked {
    observation: Observation,
    family: Family,
    /// The tellers that use it, and how often each had asked when this was begun.
    tellers: Vec<(usize, u32)>,
    is_round: bool,
}

/// Whose addresses were looked for, and whether there is one.
pub(crate) struct Found {
    pub(crate) family: Family,
    pub(crate) has_address: bool,
    /// By number.
    pub(crate) tellers: Vec<usize>,
}

/// What two tellers have in common where one answer is enough for both.
type Question<'a> = (Family, &'a [Source], &'a Ssl, bool);

/// What one turn brought.
enum Turn<'a> {
    Looked(Looked),
    Sent(Sent<'a>),
}

impl<'a> Sync<'a> {
    /// Nothing is looked for yet. Where `backoff` is none, what fails is not tried again.
    pub(crate) fn new(tellers: &'a [Teller<'a>], environment: &'a Environment, backoff: Option<Backoff>) -> Self {
        let mut updates = 0;
        let mut desks = Vec::with_capacity(tellers.len());
        for teller in tellers {
            let first = Job::try_from(updates).unwrap_or(Job::MAX);
            updates += Family::ALL.map(|family| teller.entry.domains_of(family).len()).iter().sum::<usize>();
            desks.push(Desk {
                first,
                observed: [const { Observation::Off }; 2],
                asked: [0; 2],
                is_missed: [false; 2],
                lane: None,
                memory: None,
            });
        }
        let configs = tellers.last().map_or(0, |teller| teller.config + 1);
        Self {
            tellers,
            environment,
            calendar: Calendar::new(),
            desks,
            queue: Queue::new(updates, backoff),
            stores: Vec::new(),
            looking: FuturesUnordered::new(),
            sending: FuturesUnordered::new(),
            tallies: vec![Tally::default(); configs],
            looks: vec![0; configs],
            is_service: backoff.is_some(),
            is_closing: false,
            progress: Rc::default(),
        }
    }

    /// Begins to look for addresses. A list of sources is asked once, however many entries use it.
    pub(crate) fn look(&mut self, look: &Look) {
        let tellers = self.tellers;
        let mut asked: Vec<(Question<'_>, Vec<usize>)> = Vec::new();
        for (at, teller) in tellers.iter().enumerate() {
            for family in Family::ALL {
                if teller.entry.domains_of(family).is_empty() || !look.means(teller.config, at, family) {
                    continue;
                }
                self.looks[teller.config] += 1;
                let desk = &mut self.desks[at];
                desk.asked[family.index()] += 1;
                let key = (family, teller.entry.sources_of(family), &teller.entry.ssl, desk.complained(family));
                match asked.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, sharing)) => sharing.push(at),
                    None => asked.push((key, vec![at])),
                }
            }
        }
        let is_round = !look.rounds.is_empty();
        for ((family, .., has_complained), sharing) in asked {
            let teller = &tellers[sharing[0]];
            // What was complained about is not said again and again.
            let level = if has_complained { Level::Debug } else { Level::Warning };
            let sharing = sharing.into_iter().map(|at| (at, self.desks[at].asked[family.index()])).collect();
            self.looking.push(Box::pin(async move {
                let observation = sources::observe(teller.entry, family, teller.client, teller.log, level).await;
                Looked { observation, family, tellers: sharing, is_round }
            }));
        }
    }

    /// Whether everything that was to be done is done.
    pub(crate) fn is_done(&self) -> bool {
        self.looking.is_empty() && self.queue.is_idle()
    }

    /// Starts what may start, and waits until something has ended. News that has waited long enough is saved meanwhile.
    /// Nothing is lost where the waiting is given up.
    pub(crate) async fn turn(&mut self) -> Option<Found> {
        self.start();
        let save_by = self.stores.iter().filter_map(|shared| shared.store.save_by()).min();
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
        let found = match turn {
            Some(Turn::Looked(looked)) => Some(self.looked(looked)),
            Some(Turn::Sent(sent)) => {
                self.sent(&sent);
                None
            }
            None => None,
        };
        if save_by.is_some_and(|by| Instant::now() >= by) {
            self.save(Durability::Power);
        }
        if self.progress.due().is_some() {
            let tally = self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally));
            self.progress.show(tally, self.queue.open());
        }
        found
    }

    /// What the configurations came to, each by its number. Saves what is not saved yet.
    pub(crate) fn finish(&mut self) -> &[Tally] {
        self.progress.end();
        self.save(Durability::Power);
        &self.tallies
    }

    /// Starts nothing new from now on.
    pub(crate) fn close(&mut self) {
        self.is_closing = true;
    }

    /// Whether a request is on its way.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Whether addresses are being looked for.
    pub(crate) fn is_looking(&self) -> bool {
        !self.looking.is_empty()
    }

    /// Saves what is not saved yet.
    pub(crate) fn save_now(&mut self) {
        self.save(Durability::Power);
    }

    /// Tries again at once what rests: what found no connection, or everything that failed.
    pub(crate) fn hurry(&mut self, everything: bool) {
        self.queue.hurry(everything);
    }

    /// When to turn again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.queue.wake_at()
    }

    /// What has happened since this was last asked for.
    pub(crate) fn take_tally(&mut self) -> Tally {
        let all = self.tallies.iter().fold(Tally::default(), |all, tally| all.plus(*tally));
        self.tallies.fill(Tally::default());
        all
    }

    fn start(&mut self) {
        if self.is_closing {
            return;
        }
        let now = steady_time();
        while let Some(start) = self.queue.start(now) {
            let Some((at, update)) = self.update(start.0) else {
                self.queue.drop(start.0);
                continue;
            };
            let teller = &self.tellers[at];
            self.sending.push(Box::pin(teller.send(update, start)));
        }
    }

    fn teller_of(&self, job: Job) -> usize {
        self.desks.partition_point(|desk| desk.first <= job) - 1
    }

    /// The update of a number as it is to be told now, and its teller; none where there is no address.
    fn update(&self, job: Job) -> Option<(usize, Update<'a>)> {
        let at = self.teller_of(job);
        let (desk, entry) = (&self.desks[at], self.tellers[at].entry);
        let mut index = (job - desk.first) as usize;
        let [v4, _] = Family::ALL.map(|family| entry.domains_of(family).len());
        let family = if index < v4 { Family::V4 } else { Family::V6 };
        index -= if family == Family::V4 { 0 } else { v4 };
        let Observation::Found(ip) = desk.observed[family.index()] else { return None };
        Some((at, Update { domain: &entry.domains_of(family)[index], family, ip }))
    }

    /// Every update for which there is an address, and what is to be done about it.
    pub(crate) fn verdicts(&mut self) -> Vec<(&'a Teller<'a>, Update<'a>, Verdict)> {
        let mut verdicts = Vec::new();
        for at in 0..self.tellers.len() {
            self.open(at);
            let teller = &self.tellers[at];
            for family in Family::ALL {
                let Observation::Found(ip) = self.desks[at].observed[family.index()] else { continue };
                for domain in teller.entry.domains_of(family) {
                    let update = Update { domain, family, ip };
                    verdicts.push((teller, update, self.judge(at, &update, self.calendar.now())));
                }
            }
        }
        verdicts
    }

    /// How every update stands.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let (time, now) = (steady_time(), self.calendar.now());
        for (teller, desk) in self.tellers.iter().zip(&self.desks) {
            let domains = Family::ALL
                .into_iter()
                .flat_map(|family| teller.entry.domains_of(family).iter().map(move |domain| (family, domain)));
            for (job, (family, domain)) in (desk.first..).zip(domains) {
                let last =
                    desk.memory.and_then(|(store, print)| self.stores[store].store.state().last(print, domain, family));
                let ip = match desk.observed[family.index()] {
                    Observation::Found(ip) => Some(ip),
                    _ => None,
                };
                let progress = match (self.queue.stage(job), self.queue.retry(job), ip) {
                    (Stage::Resting, Some(retry), _) => {
                        Progress::Retry { seconds: seconds(retry.at.saturating_sub(time)), why: reason(&retry.outcome) }
                    }
                    (Stage::Idle, _, None) => Progress::NoAddress,
                    (Stage::Idle, _, Some(_)) => Progress::UpToDate,
                    _ => Progress::Sending,
                };
                rows.push(Row {
                    domain: domain.to_string(),
                    kind: family.record_type().to_owned(),
                    address: ip.or(last.map(|last| last.ip)),
                    accepted: last.map(|last| last.at.min(now)),
                    progress,
                });
            }
        }
        rows
    }

    fn judge(&self, at: usize, update: &Update<'_>, now: u64) -> Verdict {
        let memory = self.desks[at].memory.map(|(store, print)| (self.stores[store].store.state(), print));
        judge(update, self.tellers[at].entry.cache_max_age, memory, now)
    }

    /// Takes these addresses as if they had been looked for, one for each family.
    pub(crate) fn suppose(&mut self, addresses: [IpAddr; 2]) {
        self.tallies.fill(Tally::default());
        for desk in &mut self.desks {
            desk.observed = addresses.map(Observation::Found);
        }
    }

    /// Queues everything that must be told of the addresses that are known.
    pub(crate) fn want_all(&mut self) {
        for at in 0..self.tellers.len() {
            self.want(at, Family::V4, false);
            self.want(at, Family::V6, false);
        }
        self.save(Durability::Process);
    }

    fn looked(&mut self, Looked { observation, family, tellers, is_round }: Looked) -> Found {
        let has_address = matches!(observation, Observation::Found(_));
        let mut found = Found { family, has_address, tellers: Vec::new() };
        for (at, asked) in tellers {
            let config = self.tellers[at].config;
            self.looks[config] -= 1;
            if self.desks[at].asked[family.index()] != asked {
                continue;
            }
            found.tellers.push(at);
            self.desks[at].observed[family.index()] = observation.clone();
            if !self.tellers[at].is_strict() {
                self.want(at, family, is_round);
            } else if self.looks[config] == 0 {
                // Strict order: nothing begins before all of it is known.
                for at in (0..self.tellers.len()).filter(|at| self.tellers[*at].config == config) {
                    self.want(at, Family::V4, is_round);
                    self.want(at, Family::V6, is_round);
                }
            }
        }
        // From the moment a new address is sent, nobody knows which one the endpoint holds. Should this run be killed
        // then, the old one must not count as known: it is forgotten before anything is sent.
        self.save(Durability::Process);
        found
    }

    /// Judges every update of a teller's family, and queues what must be told: in a round also what is never remembered.
    fn want(&mut self, at: usize, family: Family, is_round: bool) {
        let teller = &self.tellers[at];
        let domains = teller.entry.domains_of(family);
        if domains.is_empty() {
            return;
        }
        let skipped = if family == Family::V4 { 0 } else { teller.entry.domains_of(Family::V4).len() };
        let first = self.desks[at].first + Job::try_from(skipped).unwrap_or(Job::MAX);
        let ip = match self.desks[at].observed[family.index()] {
            Observation::Found(ip) => Some(ip),
            // Not asked yet.
            Observation::Off => return,
            Observation::Unavailable => None,
        };
        let was_missed = std::mem::replace(&mut self.desks[at].is_missed[family.index()], ip.is_none());
        let Some(ip) = ip else {
            // Nothing is looked up in the cache, and nothing about it changes (E6).
            let count = domains.len();
            let level = if was_missed { Level::Debug } else { Level::Error };
            let told = || format!("no {family} address was found: {count} of the updates cannot be told");
            teller.log.line(level, told);
            self.tallies[teller.config].without_address += count;
            (first..).take(count).for_each(|job| self.queue.drop(job));
            return;
        };
        if was_missed {
            teller.log.info(format!("{family}: there is an address again, {ip}"));
        }
        self.open(at);
        let now = self.calendar.now();
        let is_forgetful = is_round && teller.entry.cache == Cache::Off;
        for (job, domain) in (first..).zip(domains) {
            let update = Update { domain, family, ip };
            let verdict = if is_forgetful { Verdict::Send(Reason::NoCache) } else { self.judge(at, &update, now) };
            match verdict {
                Verdict::Known(since) => {
                    teller
                        .log
                        .debug(|| format!("{update}: already known, accepted {} s ago", now.saturating_sub(since)));
                    self.tallies[teller.config].known += 1;
                    self.queue.drop(job);
                }
                Verdict::Send(reason) => {
                    teller.log.debug(|| format!("{update}: {reason}"));
                    if let Some((store, callback)) = self.desks[at].memory
                        && reason.replaces()
                    {
                        let key = EntryKey { callback, domain: domain.clone(), family };
                        self.stores[store].store.learn(key, None);
                    }
                    let lane = self.lane(at, &update);
                    self.queue.want(job, lane);
                }
            }
        }
    }

    /// Opens the cache of a teller, where it has one and it is not open yet.
    fn open(&mut self, at: usize) {
        let teller = &self.tellers[at];
        let path = cache_path(teller.entry, self.environment);
        if self.desks[at].memory.is_some() || (path.is_none() && !self.is_service) {
            return;
        }
        let store = self.stores.iter().position(|shared| shared.path == path).unwrap_or_else(|| {
            let store = path.as_deref().map_or_else(Store::in_memory, |path| Store::open(path, teller.log));
            self.stores.push(Shared { path, store, user: at });
            self.stores.len() - 1
        });
        self.stores[store].store.keep(teller.entry.cache_max_age);
        let print = teller.entry.callback.fingerprint(self.stores[store].store.state().salt());
        self.desks[at].memory = Some((store, print));
    }

    fn lane(&mut self, at: usize, update: &Update<'_>) -> Lane {
        if let Some(lane) = self.desks[at].lane {
            return lane;
        }
        let teller = &self.tellers[at];
        let road = if teller.is_strict() {
            Road::Strict(teller.config)
        } else {
            // One whose address cannot be made fails by itself, wherever it stands.
            let request = teller.entry.callback.render(update, unix_time());
            Road::Origin(request.map(|request| request.url.origin()).unwrap_or_default())
        };
        let lane = self.queue.lane(road, teller.concurrency);
        if teller.is_strict() || teller.entry.callback.target.fixed_part().is_some() {
            self.desks[at].lane = Some(lane);
        }
        lane
    }

    fn sent(&mut self, sent: &Sent<'a>) {
        let Sent { update, start, outcome, rest, .. } = sent;
        let (job, lane) = *start;
        let at = self.teller_of(job);
        let teller = &self.tellers[at];
        let tally = &mut self.tallies[teller.config];
        if outcome.is_accepted() {
            tally.accepted += 1;
        } else {
            tally.failed += 1;
        }
        let now = self.calendar.now();
        if let Some((store, callback)) = self.desks[at].memory
            && let Some(entry) = learned(outcome, update, now)
        {
            let key = EntryKey { callback, domain: update.domain.clone(), family: update.family };
            self.stores[store].store.learn(key, entry);
        }
        let time = steady_time();
        let again = self.queue.ended((job, lane), outcome, *rest, time, dice(outcome));
        let retry = self.queue.retry(job).map(|retry| retry.at.saturating_sub(time));
        teller.report(sent, retry);
        match self.update(job) {
            None => self.queue.drop(job),
            // The address changed while it was under way.
            Some((_, update)) if again => {
                if let Verdict::Send(_) = self.judge(at, &update, now) {
                    let lane = self.lane(at, &update);
                    self.queue.want(job, lane);
                }
            }
            Some(_) => {}
        }
    }

    fn save(&mut self, durability: Durability) {
        let now = self.calendar.now();
        for Shared { store, user, .. } in &mut self.stores {
            store.save(now, durability, self.tellers[*user].log);
        }
    }
}

impl Teller<'_> {
    /// Whether everything in its configuration is told one after the other.
    fn is_strict(&self) -> bool {
        matches!(self.concurrency, Concurrency::Fixed(number) if number.get() == 1)
    }
}

/// The file in which an entry's successes are remembered; none where none is.
pub(crate) fn cache_path(entry: &Entry, environment: &Environment) -> Option<PathBuf> {
    match &entry.cache {
        Cache::Off => None,
        Cache::Standard => Some(environment.standard_cache()),
        Cache::File(path) => Some(environment.path(path)),
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

/// The tellers of all configurations, each with the log of its own.
pub(crate) fn tellers<'a>(configs: &'a [Valid], logs: &'a [Log<'a>], client: &'a Client) -> Vec<Teller<'a>> {
    let tellers = configs.iter().zip(logs).enumerate().flat_map(|(number, ((config, _), log))| {
        config.entries.iter().map(move |entry| Teller {
            entry,
            client,
            log,
            config: number,
            concurrency: config.concurrency,
            is_one_of_several: config.entries.len() > 1,
            masked: OnceCell::new(),
        })
    });
    tellers.collect()
}

/// Everything in a configuration that must not be seen in a log.
pub(crate) fn secrets(config: &Config) -> Secrets {
    let domains = config.entries.iter().flat_map(|entry| entry.domains.iter().flatten());
    let public: Vec<&str> = domains.map(Domain::as_str).collect();
    let mut literals = Vec::new();
    for entry in &config.entries {
        literals.extend(entry.callback.literals());
        entry.proxies.literals(&mut literals);
        entry.sources.iter().flatten().for_each(|source| source.literals(&mut literals));
    }
    Secrets::new(literals, &public)
}
