//! Notifications (I5): takes in events, asks the core what to report, and sends it. A notification never changes the outcome of
//! an update, and no synchronization waits for it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ddns_core::callback::expect::{Expect, MAX_JUDGED_BODY_BYTES, Meaning};
use ddns_core::callback::{Moment, Notice, USER_AGENT};
use ddns_core::config::validate::Valid;
use ddns_core::config::{Config, Notification};
use ddns_core::engine::Engine;
use ddns_core::engine::plan::Plan;
use ddns_core::journal::{About, JournalEvent, What};
use ddns_core::net::family::Family;
use ddns_core::notify::{self, Ledger, NotifyEvent, Outgoing};
use ddns_core::text::log_format::Level;
use ddns_core::update::outcome::{Outcome, Tally, Why};
use ddns_core::update::state::Fingerprint;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::sleep;

use crate::clock::{steady_time, unix_time};
use crate::http::{AddressFamilies, BodyUse, Client, Failure, How, Response};
use crate::output::log::Log;
use ddns_core::net::status::with_reason;

/// How often ddns tries to send a notification in a row, if it certainly did not arrive.
const TRIES: u32 = 3;

/// The pause before the second try; it doubles before the third.
const PAUSE: Duration = Duration::from_secs(1);

/// How many characters of a response are shown.
const MAX_RESPONSE_CHARS: usize = 200;

/// Failed lookups within this time belong to the same change of the network.
const STEP: Duration = Duration::from_secs(1);

/// All notifications of a run.
pub(crate) struct Notifier<'a> {
    each: Vec<One<'a>>,
    client: &'a Client,
    /// The requests under way: each returns its place in `each`, and whether it arrived.
    sending: FuturesUnordered<LocalBoxFuture<'a, (usize, bool)>>,
    plan: Rc<Plan>,
    /// The entries and families without an address.
    missing: BTreeSet<(usize, Family)>,
    /// The families whose lookup failed since the last synchronization, and why.
    unanswered: BTreeMap<(usize, Family), String>,
    /// When a missing address was last counted as a failure.
    counted: BTreeMap<(usize, Family), Option<Instant>>,
    /// When a single run began to notify; `None`: it has not yet, or this is a service.
    began: Option<Instant>,
}

/// One notification.
struct One<'a> {
    notification: &'a Notification,
    log: &'a Log<'a>,
    config: usize,
    /// Its place among the notifications of its configuration.
    place: usize,
    /// The entries of its configuration.
    entries: Range<usize>,
    /// The names under which failures of these entries are counted.
    names: Vec<String>,
    ledger: Ledger,
    /// Whether the notification that is being sent may have arrived.
    is_begun: Rc<Cell<bool>>,
}

/// What the notifications of a service still had to report before a reload.
#[derive(Default)]
pub(crate) struct Unreported(Vec<UnreportedOne>);

struct UnreportedOne {
    /// The configuration of the notification, and its place there.
    name: (String, usize),
    /// The first entry of that configuration.
    first: usize,
    ledger: Ledger,
}

impl<'a> Notifier<'a> {
    /// `None`: no notification is configured.
    pub(crate) fn new(
        configs: &'a [Valid],
        logs: &'a [Log<'a>],
        client: &'a Client,
        plan: &Rc<Plan>,
        mut former: Unreported,
    ) -> Option<Box<Self>> {
        let plan = Rc::clone(plan);
        let mut each = Vec::new();
        for (config, ((valid, _), log)) in configs.iter().zip(logs).enumerate() {
            let entries = plan.entries_of(config);
            for (place, notification) in valid.notify.iter().enumerate() {
                let (entries, names) = (entries.clone(), plan.streak_names(entries.clone()));
                let mut ledger = Ledger::new(notification.on, notification.after);
                let own = (valid.name.clone(), place);
                if let Some(known) = former.0.iter().position(|known| known.name == own) {
                    let UnreportedOne { first, ledger: before, .. } = former.0.swap_remove(known);
                    let sends =
                        |about: &About, at: &usize| plan.entry(*at).domains_of(about.family).contains(&about.domain);
                    let now_called = |about: &About| {
                        // Two entries may send the same domain.
                        let same = (entries.start + about.entry).checked_sub(first).filter(|at| entries.contains(at));
                        let mut all = same.into_iter().chain(entries.clone());
                        Some(About { entry: all.find(|at| sends(about, at))?, ..about.clone() })
                    };
                    ledger = ledger.continuing(before, now_called);
                }
                let is_begun = Rc::default();
                each.push(One { notification, log, config, place, entries, names, ledger, is_begun });
            }
        }
        if each.is_empty() {
            return None;
        }
        let (sending, missing, unanswered) = (FuturesUnordered::new(), BTreeSet::new(), BTreeMap::new());
        let counted = BTreeMap::new();
        Some(Box::new(Self { each, client, sending, plan, missing, unanswered, counted, began: None }))
    }

    /// Takes in what happened.
    pub(crate) fn take(&mut self, journal: &[JournalEvent], engine: &mut Engine) {
        for JournalEvent { at, what } in journal {
            match what {
                What::Settled(settled) => {
                    let about = &settled.about;
                    // Without a cache, ddns does not know whether the address changed.
                    if settled.is_change() && engine.remembers(about.entry) {
                        let meant = self.each.iter_mut().filter(|one| one.entries.contains(&about.entry));
                        meant.for_each(|one| one.ledger.change(about, settled.ip, settled.previous));
                    }
                    self.note(about, &settled.outcome, *at, engine);
                }
                What::SourceFailed { entries, family, source, why, .. } => {
                    for entry in entries {
                        self.unanswered.insert((*entry, *family), format!("{source}: {why}"));
                    }
                }
                What::NoAddress { entries, family, .. } => {
                    self.missing.extend(entries.iter().map(|entry| (*entry, *family)));
                }
                What::Address { entries, family, .. } => {
                    for entry in entries {
                        self.missing.remove(&(*entry, *family));
                    }
                }
                What::Role(change) => self.each.iter_mut().for_each(|one| one.ledger.change_role(change)),
                What::Visibility(visibility) => {
                    let meant = self.each.iter_mut().filter(|one| one.entries.contains(&visibility.about.entry));
                    meant.for_each(|one| one.ledger.visibility(visibility));
                }
                What::Held(held) if held.until.is_none() => self.note_stop(&held.about, &held.why, *at, engine),
                What::Held(_) | What::SourceRecovered { .. } | What::DnsQuestions { .. } | What::Said { .. } => {}
            }
        }
    }

    /// Counts how an update ended.
    fn note(&mut self, about: &About, outcome: &Outcome, at: u64, engine: &mut Engine) {
        for one in self.each.iter_mut().filter(|one| one.entries.contains(&about.entry)) {
            let key = one.key(about.entry, engine);
            let streak = one.ledger.take(about, outcome, engine.streak(key, about), at);
            engine.set_streak(key, about, streak);
        }
    }

    /// Counts an update that is stopped and was not sent: the service refused another one, and with it all of the entry (H5).
    fn note_stop(&mut self, about: &About, why: &str, at: u64, engine: &mut Engine) {
        for one in self.each.iter_mut().filter(|one| one.entries.contains(&about.entry)) {
            let key = one.key(about.entry, engine);
            let streak = engine.streak(key, about);
            if !streak.is_stopped {
                engine.set_streak(key, about, one.ledger.stop(about, why, streak, at));
            }
        }
    }

    /// Takes in the end of a synchronization: counts updates without an address as failed, and sends what is due.
    pub(crate) fn rest(&mut self, tallies: &[Tally], postponed: usize, engine: &mut Engine) {
        let now = unix_time().seconds;
        let plan = Rc::clone(&self.plan);
        for ((entry, family), why) in std::mem::take(&mut self.unanswered) {
            // One change of the network comes in steps, each with a lookup: count it once.
            let counted = self.counted.entry((entry, family)).or_default();
            if counted.is_some_and(|at| at.elapsed() < STEP) {
                continue;
            }
            *counted = Some(Instant::now());
            let why = format!("no {family} address found ({why})");
            let outcome = Outcome::Failed(Why::NoResponse { why, reached: false });
            let is_missing = self.missing.contains(&(entry, family));
            for domain in plan.entry(entry).domains_of(family).iter().filter(|_| is_missing) {
                self.note(&About { entry, domain: domain.clone(), family }, &outcome, now, engine);
            }
        }
        for one in &mut self.each {
            let tally = tallies[one.config];
            let is_all = postponed == 0 && tally.exit_code() == 0 && tally.accepted + tally.up_to_date > 0;
            // Updates that were not due count, too: they may be stopped.
            one.ledger.synchronized(is_all && engine.is_well(one.config));
        }
        self.review(engine);
    }

    /// Sends the notifications that are due.
    pub(crate) fn review(&mut self, engine: &mut Engine) {
        for number in 0..self.each.len() {
            let one = &mut self.each[number];
            let mut streak_statuses = Vec::new();
            for at in one.entries.clone() {
                streak_statuses.extend(engine.streak_statuses(one.key(at, engine), at));
            }
            let entries = one.entries.clone();
            let waiting = || entries.flat_map(|at| engine.waiting(at)).collect();
            let (changes, outgoing) = one.ledger.review(streak_statuses, waiting, steady_time(), unix_time().seconds);
            for (about, streak) in changes {
                let key = one.key(about.entry, engine);
                engine.set_streak(key, &about, streak);
            }
            if let Some(outgoing) = outgoing {
                let (notification, log, client) = (one.notification, one.log, self.client);
                let is_begun = Rc::clone(&one.is_begun);
                is_begun.set(false);
                let limit = notification.timeout.saturating_sub(self.began.map_or(Duration::ZERO, |at| at.elapsed()));
                self.sending.push(Box::pin(async move {
                    let arrived = deliver(notification, &outgoing, client, limit, (log, &is_begun)).await;
                    (number, arrived)
                }));
            }
        }
    }

    /// Waits until a notification arrived or failed.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<(usize, bool)> {
        match self.sending.poll_next_unpin(context) {
            Poll::Ready(Some(ended)) => Poll::Ready(ended),
            _ => Poll::Pending,
        }
    }

    /// Takes in whether a notification arrived, and sends the next one.
    pub(crate) fn ended(&mut self, (number, has_arrived): (usize, bool), engine: &mut Engine) {
        let one = &mut self.each[number];
        let Some(outgoing) = one.ledger.ended(has_arrived, steady_time()) else { return };
        one.count_report(&outgoing, has_arrived, engine);
        self.review(engine);
    }

    /// When to review again, if nothing happens before.
    pub(crate) fn wake_at(&self) -> Option<Duration> {
        self.each.iter().filter_map(|one| one.ledger.wake_at()).min()
    }

    /// Whether a notification is being sent.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// Sends everything that is due without further pauses, because the program ends.
    pub(crate) fn hurry(&mut self, engine: &mut Engine) {
        self.each.iter_mut().for_each(|one| one.ledger.hurry());
        self.review(engine);
    }

    /// Gives up what is being sent. Returns what is still to be reported, after a reload. A notification that may have arrived
    /// is not repeated.
    pub(crate) fn into_unreported(mut self, configs: &[Valid], engine: &mut Engine) -> Unreported {
        for one in &mut self.each {
            let may_have_arrived = one.is_begun.get();
            let Some(outgoing) = one.ledger.ended(may_have_arrived, steady_time()) else { continue };
            if may_have_arrived {
                let event = outgoing.event.key();
                one.log.warning(format!(
                    "notification `{event}`: cut off by a reload; it may have arrived and is not sent again"
                ));
            }
            one.count_report(&outgoing, may_have_arrived, engine);
        }
        let name = |one: &One<'_>| configs.get(one.config).map(|(config, _)| config.name.clone()).unwrap_or_default();
        let unreported = |one: One<'_>| UnreportedOne {
            name: (name(&one), one.place),
            first: one.entries.start,
            ledger: one.ledger,
        };
        Unreported(self.each.into_iter().map(unreported).collect())
    }

    /// Sends everything that is due at the end of a single run. Each notification must arrive within its `timeout` from now.
    pub(crate) fn finish(&mut self, tallies: &[Tally], postponed: usize, engine: &mut Engine) {
        self.began = Some(Instant::now());
        self.rest(tallies, postponed, engine);
    }
}

impl One<'_> {
    /// Counts that a report arrived, or did not.
    fn count_report(&self, outgoing: &Outgoing, has_arrived: bool, engine: &mut Engine) {
        for line in &outgoing.lines {
            let key = self.key(line.about.entry, engine);
            let streak = Ledger::streak_after(outgoing.event, has_arrived, engine.streak(key, &line.about));
            engine.set_streak(key, &line.about, streak);
        }
    }

    /// The key under which failures of an entry are counted.
    fn key(&self, at: usize, engine: &Engine) -> Fingerprint {
        engine.streak_key(at, &self.names[at - self.entries.start], self.notification)
    }
}

/// Sends a notification, and tries again if it certainly did not arrive. Returns whether it arrived, or may have.
async fn deliver(
    notification: &Notification,
    outgoing: &Outgoing,
    client: &Client,
    limit: Duration,
    (log, is_begun): (&Log<'_>, &Cell<bool>),
) -> bool {
    // In a single run, all notifications share the time of one.
    if limit < notification.timeout / 10 {
        log.warning(format!("notification `{}`: not sent: those before it took all the time", outgoing.event.key()));
        return false;
    }
    let began = Instant::now();
    let notice = notify::notice(outgoing);
    let mut pause = PAUSE;
    for number in 1.. {
        let left = limit.saturating_sub(began.elapsed());
        is_begun.set(true);
        let (origin, sent) = send(notification, &notice, client, left, Some(log)).await;
        let warnings = sent.as_ref().map_or_else(|not_sent| &not_sent.warnings, |response| &response.warnings);
        for warning in warnings {
            log.warning(warning);
        }
        let what = format!("notification `{}` to {origin}", outgoing.event.key());
        let Err(not_sent) = sent else {
            log.info(format!("{what}: sent"));
            return true;
        };
        let (why, is_final) = (log.masked(&not_sent.why), not_sent.is_final);
        is_begun.set(false);
        if not_sent.may_have_arrived {
            log.warning(format!("{what}: {why}; it may have arrived and is not sent again"));
            return true;
        }
        if is_final || number >= TRIES || began.elapsed() + pause >= limit {
            log.warning(format!("{what}: {}: {why}", not_sent.word()));
            break;
        }
        log.debug(|| format!("{what}: {why}; once more"));
        sleep(pause).await;
        pause *= 2;
    }
    false
}

/// Why a notification was not sent, or not accepted.
#[derive(Default)]
struct NotSent {
    /// The reason, which may contain text from the service.
    why: String,
    /// Whether it may have reached the service anyway.
    may_have_arrived: bool,
    /// Whether the service responded, and did not accept it.
    is_refused: bool,
    /// Whether another try would fail in the same way.
    is_final: bool,
    warnings: Vec<String>,
    /// The response of a service that did not accept it.
    body: Vec<u8>,
}

impl NotSent {
    fn word(&self) -> &'static str {
        match (self.is_refused, self.may_have_arrived) {
            (true, _) => "not accepted",
            (false, true) => "it may have arrived",
            (false, false) => "not sent",
        }
    }
}

/// Sends a notification once. Returns its origin, and the response of a service that accepted it.
async fn send(
    notification: &Notification,
    notice: &Notice,
    client: &Client,
    limit: Duration,
    log: Option<&Log<'_>>,
) -> (String, Result<Response, NotSent>) {
    let moment = moment();
    let request = match notification.callback.render(notice, moment) {
        Ok(request) => request,
        Err(why) => {
            let not_sent = NotSent { why, is_final: true, ..NotSent::default() };
            return ("its service".to_owned(), Err(not_sent));
        }
    };
    let origin = request.url.origin();
    if let Some(log) = log.filter(|log| log.shows(Level::Debug))
        && let Ok(shown) = notification.callback.redacted(notice, moment, USER_AGENT, false)
    {
        log.debug(|| format!("notification `{}`: sending to {origin}", notice.event));
        shown.lines().iter().for_each(|line| log.debug(|| format!("> {line}")));
    }
    let sent = client.send(&request, how(notification, limit)).await.map_err(|Failure { why, reached, warnings }| {
        NotSent { why, may_have_arrived: reached, warnings, ..NotSent::default() }
    });
    let sent = sent.and_then(|response| match judged(notification, notice, &response) {
        Ok(()) => Ok(response),
        Err(why) => {
            let is_final = response.status < 500 && response.status != 429;
            let may_have_arrived = (200..300).contains(&response.status) && !response.is_whole;
            let Response { warnings, body, .. } = response;
            Err(NotSent { why, may_have_arrived, is_refused: true, is_final, warnings, body })
        }
    });
    (origin, sent)
}

/// An example of a notification, about the first update of its configuration; `None`: there is no update.
pub(crate) fn example(config: &Config, notification: &Notification, event: NotifyEvent) -> Option<Notice> {
    let mut updates = config.entries.iter().flat_map(|entry| {
        Family::ALL.into_iter().filter_map(|family| Some((entry.domains[family.index()].first()?, family)))
    });
    let (domain, family) = updates.next()?;
    Some(notify::notice(&notify::example(event, domain, family, notification.after)))
}

/// The result of sending an example.
pub(crate) struct TriedExample {
    pub(crate) origin: String,
    pub(crate) message: String,
    /// The response, or why there was none, without secrets.
    pub(crate) said: String,
    pub(crate) has_arrived: bool,
}

/// Sends an example of a notification; `None`: there is no update to report.
pub(crate) async fn try_example(
    config: &Config,
    notification: &Notification,
    event: NotifyEvent,
    client: &Client,
) -> Option<TriedExample> {
    let secrets = config.secrets();
    let mut notice = example(config, notification, event)?;
    // It goes to the receiver of real notifications.
    notice.message.insert_str(0, "an example: ");
    let began = Instant::now();
    let (origin, sent) = send(notification, &notice, client, notification.timeout, None).await;
    let has_arrived = sent.is_ok();
    let (line, body) = match sent {
        Ok(Response { status, body, .. }) => {
            (format!("arrived: {} ({} ms)", with_reason(status), began.elapsed().as_millis()), body)
        }
        Err(not_sent) => (format!("{}: {}", not_sent.word(), not_sent.why), not_sent.body),
    };
    let body = String::from_utf8_lossy(&body).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = if body.is_empty() { line } else { format!("{line}: {body}") };
    let said = secrets.mask(&line).chars().take(MAX_RESPONSE_CHARS).collect();
    Some(TriedExample { origin, message: notice.message, said, has_arrived })
}

/// The time and the number of a request: each signed one has a number of its own.
pub(crate) fn moment() -> Moment {
    let number = getrandom::u32().unwrap_or_else(|_| std::process::id());
    let moment = Moment::from(unix_time());
    Moment { message: (moment.message.0, number), ..moment }
}

pub(crate) fn how(notification: &Notification, limit: Duration) -> How<'_> {
    let needs_body = notification.callback.request.expect.as_ref().is_some_and(Expect::needs_body);
    How {
        limit,
        want: if needs_body { BodyUse::Verdict } else { BodyUse::Status },
        over: AddressFamilies::Any,
        proxies: &notification.proxies,
        ssl: &notification.ssl,
        from: None,
    }
}

/// Whether the service accepted it, by the status or by `expect`. The error is why not.
fn judged(notification: &Notification, notice: &Notice, response: &Response) -> Result<(), String> {
    let status = with_reason(response.status);
    let Some(expect) = &notification.callback.request.expect else {
        return if (200..300).contains(&response.status) { Ok(()) } else { Err(status) };
    };
    if expect.needs_body() && !response.is_whole && response.body.len() < MAX_JUDGED_BODY_BYTES {
        return Err(format!("{status}, but the rest of the response did not arrive, and `expect` needs it"));
    }
    let about = (notice.into(), Moment::from(unix_time()), &[][..]);
    let judged = notification.callback.judge(expect, about, false, (response.status, &response.body), 1);
    match judged.first() {
        Some(judgement) if matches!(judgement.verdict, Meaning::Accepted | Meaning::Unchanged) => Ok(()),
        Some(judgement) => Err(format!("{status}: {}", judgement.because)),
        None => Err(status),
    }
}
