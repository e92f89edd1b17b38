//! A request has ended: what the response means, what to remember, and what to send next.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use smallvec::{SmallVec, smallvec};

use super::in_flight::{InFlight, RequestDetails};
use super::plan::Plan;
use super::{Effect, Engine, Mode, Note, RequestId, backoff};
use crate::callback::Batch;
use crate::callback::expect::{MAX_JUDGED_BODY_BYTES, Meaning, ResponseVerdict, suspicious};
use crate::journal::{About, Last, Settled, What};
use crate::net::family::Family;
use crate::net::status::with_reason;
use crate::schedule::limiter::AcceptQueue;
use crate::schedule::queue::{Retry, Stage, UpdateId};
use crate::schedule::retry_after::{self, http_seconds};
use crate::text::duration::duration;
use crate::text::log_format::Level;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::outcome::{Outcome, Why};
use crate::update::plan::Verdict;

/// The maximum length of a response text that ddns shows, in characters.
const SHOWN_BODY: usize = 500;

/// Services accept signatures if the clocks differ by no more than this.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(120);

/// How a request ended.
#[derive(Debug)]
pub enum Facts {
    /// No final response arrived.
    Failed {
        /// What was tried, and what happened.
        why: String,
        /// Whether the endpoint may have received the request anyway.
        reached: bool,
    },
    /// A final response arrived.
    Response(Box<ResponseFacts>),
}

/// The parts of a response that the engine needs.
#[derive(Debug)]
pub struct ResponseFacts {
    /// Its status.
    pub status: u16,
    /// Its body, as far as it was read.
    pub body: Vec<u8>,
    /// Whether the body is complete.
    pub is_whole: bool,
    /// The value of `Retry-After`, unparsed.
    pub retry_after: Option<String>,
    /// The value of `Allow`, unparsed.
    pub allow: Option<String>,
    /// The value of `Date`, unparsed; set if the status is 400 to 499, a pause is requested, or the body counts.
    pub date: Option<String>,
    /// The proxy that it came through; `None` if there was none.
    pub via: Option<String>,
    /// Whether that proxy may have responded in the endpoint's place.
    pub is_relayed: bool,
    /// The state of the endpoint's accept queue at the end.
    pub line: AcceptQueue,
}

impl ResponseFacts {
    /// How long the endpoint asks ddns to pause. A date in `Retry-After` is compared with the endpoint's own clock.
    pub(super) fn requested_pause(&self, now: u64) -> Option<Duration> {
        let its_now = || self.date.as_deref().and_then(http_seconds);
        self.retry_after.as_deref().and_then(|text| retry_after::parse(text, its_now().unwrap_or(now)))
    }

    /// The body as it may be shown after masking. If it was cut off, the last word is dropped: it may be part of a secret.
    fn text(&self) -> Cow<'_, str> {
        let mut text = String::from_utf8_lossy(&self.body);
        if !self.is_whole && !text.is_empty() {
            let rest = text.trim_end_matches(|letter: char| !letter.is_whitespace() && !"\"'<>=:&,;".contains(letter));
            text = Cow::Owned(if rest.trim().is_empty() { String::new() } else { format!("{rest}…") });
        }
        text
    }
}

impl Engine {
    pub(super) fn settled(&mut self, request: RequestId, facts: Facts) {
        let Some(request) = self.requests.remove(&request) else { return };
        let plan = Rc::clone(&self.plan);
        let at = plan.entry_of(request.start.0);
        if request.is_step() {
            self.step_ended(&plan, request, facts);
            return;
        }
        let ended = match facts {
            Facts::Failed { why, reached } => {
                let why = self.masked(at, &why);
                // If this is the request after the update, the update itself was sent.
                let reached = reached || request.sequence.as_ref().is_some_and(|sequence| sequence.ended.is_some());
                (smallvec![Outcome::Failed(Why::NoResponse { why, reached })], RequestDetails::default())
            }
            Facts::Response(response) => {
                self.show(&plan, at, &response, self.now.steady.saturating_sub(request.began));
                let mut asked = response.requested_pause(self.now.day.seconds);
                let (mut outcomes, because) = self.judge_response(&plan, at, &response, &request);
                for outcome in &mut outcomes {
                    if let Outcome::Failed(Why::Wait { wait, .. }) = outcome {
                        *wait = wait.or(asked);
                        asked = *wait;
                    }
                }
                if request.template(&plan.entry(at).callback).sign.is_some()
                    && let Some(words) = wrong_clock(&response, self.now.day.seconds)
                {
                    self.warn_of_clock(at, &words, outcomes.iter());
                    let status = Some(response.status);
                    for outcome in outcomes.iter_mut().filter(|outcome| outcome.is_refused()) {
                        let why = format!("{words}, which refused the request: {}", outcome.reason());
                        *outcome = Outcome::Failed(Why::Step { status, why, reached: true });
                    }
                }
                let ResponseFacts { allow, via, is_relayed, line, .. } = *response;
                let relay = via.filter(|_| is_relayed);
                (
                    outcomes,
                    RequestDetails { because, retry_after: asked, relay, allow, line: Some(line), in_vain_until: None },
                )
            }
        };
        if request.sequence.is_none() {
            self.conclude(&plan, request, &ended.0, Some(ended.1));
            return;
        }
        let mut request = request;
        let callback = &plan.entry(at).callback;
        let special = if request.is_after() { callback.after() } else { callback.absent() };
        let special = special.filter(|_| request.is_after() || request.makes_since().is_some());
        let what = special.and_then(|special| self.shown(&plan, &request, special)).unwrap_or_default();
        let ended = request.whole(&what, ended);
        if let Some((request, (outcomes, circumstances))) = self.follow(&plan, request, ended) {
            self.conclude(&plan, request, &outcomes, Some(circumstances));
        }
    }

    /// A wait counts also if the clock is wrong, but the user should know of it.
    pub(super) fn warn_of_clock<'o>(
        &mut self,
        at: usize,
        clock: &str,
        mut outcomes: impl Iterator<Item = &'o Outcome>,
    ) {
        if outcomes.any(|outcome| matches!(outcome, Outcome::Failed(Why::Wait { .. }))) {
            self.say(at, Level::Warning, || format!("{clock}: the service may ask to wait because of that"));
        }
    }

    /// Handles the end of a request, with one outcome for each update, or one for all of them.
    pub(super) fn conclude(
        &mut self,
        plan: &Plan,
        request: InFlight,
        outcomes: &[Outcome],
        circumstances: Option<RequestDetails>,
    ) {
        let (is_step, is_after) = (request.is_step(), request.is_after());
        let seen_at = request.seen_at();
        let InFlight { start, members, began, origin, .. } = request;
        let (id, now) = (start.0, self.now.steady);
        let at = plan.entry_of(id);
        let took = now.saturating_sub(began);
        let circumstances = circumstances.unwrap_or_default();
        let outcome_of = |place: usize| outcomes.get(place).unwrap_or(&outcomes[0]);
        // Each with the address that the endpoint accepted before, and whether it is a repair.
        let mut updates: SmallVec<[(Update<'_>, Option<IpAddr>, bool); 1]> = SmallVec::new();
        for (place, (own, ip)) in members.iter().enumerate() {
            let (_, domain, family) = plan.about(*own);
            let (update, outcome) = (Update { domain, family, ip: *ip }, outcome_of(place));
            let tally = &mut self.tallies[plan.config_of(at)];
            if outcome.is_accepted() {
                tally.accepted += 1;
            } else {
                tally.failed += 1;
            }
            let previous = if is_step {
                self.refuse(at, &update, outcome)
            } else {
                if seen_at.is_some() {
                    self.asked.note_ended(*own, outcome.is_accepted(), now);
                }
                let seen_at = seen_at.filter(|_| *outcome == Outcome::AlreadyThere);
                self.settle((*own, began), at, &update, outcome, seen_at)
            };
            let is_repair = outcome.is_accepted() && {
                let by_itself = !self.asked_for.remove(own);
                // If the service already has the address, sending it again would change nothing: this counts as an attempt
                // only.
                self.check_dns_after(*own, &update, by_itself) && *outcome != Outcome::AlreadyThere
            };
            updates.push((update, previous, is_repair));
            self.note_ended(*own, outcome, took);
            self.note_decision(*own, circumstances.because.get(place));
        }
        // A failure to retry counts most, then a stop.
        let find = |is_meant: fn(&Outcome) -> bool| outcomes.iter().find(|outcome| is_meant(outcome));
        let outcome = find(Outcome::is_retried).or(find(|outcome| !outcome.is_accepted())).unwrap_or(&outcomes[0]);
        if self.lease.is_some() {
            let reached = !matches!(outcome, Outcome::Failed(Why::NoResponse { .. } | Why::Step { status: None, .. }));
            self.out.effects.push_back(Effect::Tell(Note::Reached(reached)));
        }
        let before = self.queue.retry(id).map(|retry| (retry.failures, retry.outcome.clone()));
        self.queue.note(start.1, circumstances.line.unwrap_or(AcceptQueue::Free), now);
        let jitter = if outcome.is_accepted() { 0.0 } else { self.chance.jitter() };
        let is_retried = outcome.is_retried() && backoff(plan, self.mode).is_some();
        let is_outdated = if let Some(at) = circumstances.in_vain_until.filter(|_| is_retried) {
            let failures = before.as_ref().map_or(1, |(failures, _)| failures.saturating_add(1));
            let (outcome, is_requested) = (outcome.clone(), circumstances.retry_after.is_some());
            self.queue.put_back(start, Retry { at, failures, outcome, is_requested, lane: start.1 })
        } else {
            self.queue.finish(start, outcome, circumstances.retry_after, now, jitter)
        };
        let held = updates.iter().filter(|_| is_retried).filter_map(|(update, ..)| self.held_until(at, update)).max();
        if let Some(until) = held {
            self.queue.put_off(id, until);
        }
        // In the meantime, another update may have stopped all of them.
        if outcome.is_retried()
            && plan.entry(at).needs_memory()
            && updates.iter().all(|(update, ..)| matches!(self.judge(at, update), Verdict::Stopped(..)))
        {
            self.queue.withdraw(id);
        }
        let retry_in = self.queue.retry_at(id).map(|at| at.saturating_sub(now));
        let is_requested = self.queue.retry(id).is_some_and(|retry| retry.is_requested);
        if self.entries[at].origin.is_none() {
            self.entries[at].origin =
                plan.entry(at).callback.request.target.fixed_part().map(|url| url.origin().into());
        }
        let endpoint = self.entries[at].origin.clone().or_else(|| origin.as_deref().map(Rc::from));
        for (place, (update, previous, is_repair)) in updates.iter().enumerate() {
            let outcome = outcome_of(place);
            self.tell(What::Settled(Settled {
                about: About { entry: at, domain: update.domain.clone(), family: update.family },
                endpoint: endpoint.clone(),
                ip: update.ip,
                previous: *previous,
                is_repair: *is_repair,
                outcome: outcome.clone(),
                took,
                attempt: before.as_ref().map_or(1, |(failures, _)| failures.saturating_add(1)),
                is_repeat: before.as_ref().is_some_and(|(_, before)| before == outcome),
                retry_in: retry_in.filter(|_| outcome.is_retried()),
                is_requested,
                relay: circumstances.relay.clone(),
                allow: circumstances.allow.clone(),
            }));
        }
        let all = outcomes.iter().position(|outcome| matches!(outcome, Outcome::Stopped { all: true, .. }));
        if let Some((place, (update, ..))) = all.and_then(|place| Some((place, updates.get(place)?))) {
            self.stop_all(plan, at, update, outcome_of(place), is_after);
        }
        self.send_newer(plan, id, at, &members, is_outdated);
    }

    /// Sends what has changed or appeared while a request was under way.
    fn send_newer(&mut self, plan: &Plan, id: UpdateId, at: usize, sent: &[(UpdateId, IpAddr)], is_outdated: bool) {
        match self.batch(plan, id) {
            None => self.queue.withdraw(id),
            Some((_, newer)) if is_outdated => {
                // What has just been sent is counted.
                let is_new = newer.iter().any(|(own, update)| !sent.contains(&(*own, update.ip)));
                self.queue_batch(plan, id, at, newer, false, if is_new { &Family::ALL } else { &[] });
            }
            // An address that was missing before. An update that was left out because it is stopped is no reason to send.
            Some((_, newer)) => {
                let is_new = newer.iter().any(|(own, update)| {
                    sent.iter().all(|(sent, _)| sent != own) && matches!(self.judge(at, update), Verdict::Send(_))
                });
                if newer.len() > sent.len() && is_new {
                    self.queue_batch(plan, id, at, newer, false, &[]);
                }
            }
        }
    }

    /// A service refused one update, and with it all updates of its entry (H5). Queued updates are taken off the queue;
    /// requests under way are not interrupted.
    fn stop_all(&mut self, plan: &Plan, at: usize, update: &Update<'_>, outcome: &Outcome, is_after: bool) {
        self.stop_claims(plan, at, update, outcome, is_after);
        for id in plan.updates_of(at) {
            if matches!(self.queue.stage(id), Stage::Queued(_) | Stage::WaitingToRetry)
                && let Some((_, batch)) = self.batch(plan, id)
            {
                for (own, update) in &batch {
                    self.unmark(*own, at, update);
                }
                self.queue_batch(plan, id, at, batch, false, &Family::ALL);
            }
        }
    }

    /// Judges a response by its status, or by `expect` if that is set. Returns one outcome for each update, or one for all, and
    /// which conditions decided.
    fn judge_response(
        &mut self,
        plan: &Plan,
        at: usize,
        response: &ResponseFacts,
        request: &InFlight,
    ) -> (SmallVec<[Outcome; 1]>, Vec<String>) {
        let (status, members, callback) = (response.status, &request.members, &plan.entry(at).callback);
        let Some(expect) = &request.template(callback).expect else {
            self.hint_at_expect(at, response);
            let mut outcome = Outcome::of_status(status);
            if let Outcome::Failed(Why::Response { words, .. }) = &mut outcome {
                *words = self.words(at, &response.text());
            }
            return (smallvec![request.made(outcome)], Vec::new());
        };
        if expect.needs_body() && !response.is_whole && response.body.len() < MAX_JUDGED_BODY_BYTES {
            let why = format!("{status}, but the rest of the response did not arrive, and `expect` needs it");
            return (smallvec![Outcome::Failed(Why::NoResponse { why, reached: true })], Vec::new());
        }
        let mut domains: Vec<&Domain> = Vec::new();
        for (id, _) in members {
            let domain = plan.about(*id).1;
            if !domains.contains(&domain) {
                domains.push(domain);
            }
        }
        let update = |(id, ip): &(UpdateId, IpAddr)| {
            let (_, domain, family) = plan.about(*id);
            Update { domain, family, ip: *ip }
        };
        let updates: SmallVec<[Update<'_>; 1]> = members.iter().map(update).collect();
        let Some(batch) = Batch::of(&updates) else { return (smallvec![Outcome::of_status(status)], Vec::new()) };
        let about = (batch.into(), self.now.day.into(), request.taken());
        let judged = callback.judge(expect, about, request.is_kept(), (status, &response.body), domains.len());
        if judged.iter().any(|judgement| judgement.verdict == Meaning::Forget) {
            self.forget_kept(request);
        }
        let (mut outcomes, mut because) = (SmallVec::new(), Vec::new());
        for (id, ip) in members {
            let (_, domain, family) = plan.about(*id);
            let place = domains.iter().position(|known| *known == domain).unwrap_or_default();
            let Some(judgement) = judged.get(place).or(judged.first()) else {
                outcomes.push(Outcome::of_status(status));
                because.push(String::new());
                continue;
            };
            let update = Update { domain, family, ip: *ip };
            self.say(at, Level::Debug, || format!("{update}: expect: {}", judgement.because));
            outcomes.push(request.made(self.outcome_of(at, response, judgement)));
            because.push(judgement.because.clone());
        }
        (outcomes, because)
    }

    /// Warns if an accepted response looks like a failure: some services always respond with 200. The warning decides nothing.
    fn hint_at_expect(&mut self, at: usize, response: &ResponseFacts) {
        let is_success = (200..300).contains(&response.status);
        if is_success
            && !self.entries[at].has_hinted
            && let Some(word) = suspicious(&response.body)
        {
            self.entries[at].has_hinted = true;
            let (status, word) = (response.status, self.words(at, &word));
            let way_out = "set `expect` if that is a failure";
            self.say(at, Level::Warning, || {
                format!("the response says `{word}`, but only its status counts ({status}): {way_out}")
            });
        }
    }

    /// Logs a response. The body is masked before it is cut: a cut could split a secret, and the halves would not be found
    /// (D4).
    pub(super) fn show(&mut self, plan: &Plan, at: usize, response: &ResponseFacts, took: Duration) {
        if !plan.shows(plan.config_of(at), Level::Debug) {
            return;
        }
        let via = response.via.as_ref().map(|server| format!(", through the proxy {server}")).unwrap_or_default();
        let status = with_reason(response.status);
        self.say(at, Level::Debug, || format!("< {status} ({} ms{via})", took.as_millis()));
        if response.body.is_empty() {
            return;
        }
        let masked = self.masked(at, &response.text());
        let shown: String = masked.chars().take(SHOWN_BODY).collect();
        let cut = if shown.len() < masked.len() { "…" } else { "" };
        self.say(at, Level::Debug, || format!("< {shown}{cut}"));
    }

    /// Notes how a request ended, for status displays.
    fn note_ended(&mut self, id: UpdateId, outcome: &Outcome, took: Duration) {
        if self.mode == Mode::Service {
            if self.ended.is_empty() {
                self.ended = vec![None; self.plan.update_count()];
            }
            let took = u32::try_from(took.as_millis()).unwrap_or(u32::MAX);
            self.ended[id as usize] = Some(Last { status: outcome.status(), took });
        }
    }

    /// Notes which condition of `expect` decided on the last response.
    fn note_decision(&mut self, id: UpdateId, because: Option<&String>) {
        if let Some(decisions) = &mut self.decisions {
            match because.filter(|because| !because.is_empty()) {
                Some(because) => decisions.insert(id, because.clone()),
                None => decisions.remove(&id),
            };
        }
    }

    fn outcome_of(&self, at: usize, response: &ResponseFacts, judgement: &ResponseVerdict) -> Outcome {
        let status = response.status;
        let words = || self.words(at, &judgement.words);
        match judgement.verdict {
            Meaning::Accepted => Outcome::Accepted(status),
            Meaning::Unchanged => Outcome::Unchanged(status),
            Meaning::Rejected | Meaning::Forget | Meaning::Nothing if !(200..300).contains(&status) => {
                Outcome::Failed(Why::Response { status, words: self.words(at, &response.text()) })
            }
            Meaning::Rejected | Meaning::Forget | Meaning::Nothing => {
                Outcome::Failed(Why::Response { status, words: words() })
            }
            Meaning::Stopped { until_address, all } => Outcome::Stopped { status, words: words(), until_address, all },
            Meaning::Wait(wait) => Outcome::Failed(Why::Wait { status, words: words(), wait }),
        }
    }

    /// The response text as it may be shown: on one line without markup, masked before it is cut.
    pub(super) fn words(&self, at: usize, words: &str) -> String {
        bare(&self.masked(at, words))
    }
}

/// A text on one line, cut to `most` characters.
fn line(text: &str, most: usize) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(most).collect()
}

/// A text on one line without its markup, unless there is nothing else.
fn bare(text: &str) -> String {
    // Behind the last `>` no tag ends: it is searched once, however many `<` a hostile text has.
    let (mut rest, tail) = text.split_at(text.rfind('>').map_or(0, |last| last + 1));
    let mut bare = String::new();
    while let Some((before, tag)) = rest.split_once('<') {
        bare += before;
        // `a < b` is not a tag.
        let is_tag = tag.starts_with(|letter: char| letter.is_ascii_alphabetic() || "/!?".contains(letter));
        let end = is_tag.then(|| tag.split_once('>')).flatten().map(|(_, behind)| behind);
        bare.push(if end.is_some() { ' ' } else { '<' });
        rest = end.unwrap_or(tag);
    }
    bare += rest;
    bare += tail;
    // If there is nothing else, show the markup.
    line(if bare.trim().is_empty() { text } else { &bare }, SHOWN_BODY)
}

/// Says how far the clock of this host is off, if that may be why the service refused a signed request: correcting the clock
/// solves it (H11a). Some services refuse with 200; one with 5xx has trouble of its own.
pub(super) fn wrong_clock(response: &ResponseFacts, now: u64) -> Option<String> {
    let theirs = http_seconds(response.date.as_deref()?)?;
    let apart = Duration::from_secs(theirs.abs_diff(now));
    let way = if now < theirs { "behind" } else { "ahead of" };
    (apart > CLOCK_TOLERANCE && response.status < 500)
        .then(|| format!("this host's clock is {} {way} the clock of the service", duration(apart)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i7_a_text_is_shown_without_its_markup() {
        let cases = [
            ("<html><p>bad&nbsp;key</p>\n</html>", "bad&nbsp;key"),
            ("1 < 2, 3 > 2", "1 < 2, 3 > 2"),
            ("<b>no end <i", "no end <i"),
            ("<html></html>", "<html></html>"),
            ("a<!-- b -->c", "a c"),
        ];
        for (text, expected) in cases {
            assert_eq!(bare(text), expected, "{text}");
        }
    }

    /// The body of a step may have 1 MiB, and each update that shares the step shows it. In the square of the length, this
    /// would take minutes.
    #[test]
    fn i7_a_hostile_text_takes_no_longer_than_another() {
        for text in ["<", "<a", "<a ", "</", "< >"] {
            assert!(bare(&text.repeat((1 << 20) / text.len())).starts_with(text.trim_end()));
        }
    }
}
