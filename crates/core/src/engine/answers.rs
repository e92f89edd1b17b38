//! What the answer to a step means for an update: found, not found, already there, or a failure that names the step (H15 to
//! H20).

use std::time::Duration;

use super::Engine;
use super::in_flight::{AnswerPages, InFlight, SequencePart, StepAsk};
use super::plan::Plan;
use super::settle::ResponseFacts;
use super::stores::MAX_MARK_MARGIN;
use crate::callback::expect::Meaning;
use crate::callback::steps::{Found, StepEnd};
use crate::callback::{RequestTemplate, SendableBatch, USER_AGENT};
use crate::net::status::with_reason;
use crate::schedule::queue::UpdateId;
use crate::text::log_format::Level;
use crate::update::outcome::{Outcome, Why};

/// Why an update waits although the service seems to have the address: an earlier request may still arrive and undo it (E4a).
const MAY_ARRIVE: &str = "the service has this address, but an earlier request may still arrive";

/// Why a record is not created yet: an earlier request may still create it (H18).
const MAY_CREATE: &str = "the service has no record, but an earlier request may still create it";

/// Shown in place of an answer.
const HIDDEN: &str = "the response is not shown, for it may contain a secret";

/// What a page of an answer means.
pub(super) enum PageEnd {
    Next(String),
    Found(Found),
    /// The answer is fine, but does not fit this update.
    Unfit(Outcome),
    Failed(Outcome),
}

impl Engine {
    /// Judges the pages of an answer that have arrived so far.
    pub(super) fn take_pages(&mut self, plan: &Plan, request: &mut InFlight, pages: &AnswerPages) -> Option<PageEnd> {
        let mut end = None;
        for (status, text) in pages {
            end = Some(self.take_page(plan, request, (*status, text)));
        }
        end
    }

    /// Judges a page of an answer for one of the requests that wait for it.
    pub(super) fn take_page(&mut self, plan: &Plan, request: &mut InFlight, (status, text): (u16, &str)) -> PageEnd {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        let batch = request.as_begun(plan);
        let (Some(number), Some(parcel)) = (request.step_number(), SendableBatch::of(batch.iter().map(|(_, it)| *it)))
        else {
            return PageEnd::Found(Found::Nothing);
        };
        let moment = self.moment(at, parcel.batch().first, 0);
        let (taken, is_kept) = (request.taken().to_vec(), request.is_kept());
        let Some(sequence) = &mut request.sequence else { return PageEnd::Found(Found::Nothing) };
        let about = (parcel.batch().into(), moment, &taken[..]);
        let judgement = match callback.take_page(number, about, is_kept, (status, text), &mut sequence.search) {
            StepEnd::Next(page) => return PageEnd::Next(page),
            StepEnd::Found(found) => return PageEnd::Found(found),
            StepEnd::Failed(why) => {
                let why = self.masked(at, &why);
                return PageEnd::Unfit(self.step_failed(plan, request, Some(status), &why));
            }
            StepEnd::Refused(judgement) => judgement,
        };
        let is_secret = callback.may_hold_secret(number, status, text);
        let words = if is_secret { HIDDEN.to_owned() } else { format!("`{}`", self.words(at, &judgement.words)) };
        let words = self.of_step(plan, request, &words);
        PageEnd::Failed(match judgement.verdict {
            Meaning::Stopped { until_address, all } => {
                Outcome::Stopped { status, words, until_address, all: all || callback.is_common(number) }
            }
            Meaning::Wait(wait) => Outcome::Failed(Why::Wait { status, words, wait }),
            verdict => {
                if verdict == Meaning::Forget {
                    self.forget_kept(request);
                }
                let said = if is_secret { String::new() } else { self.words(at, text) };
                let said = if said.is_empty() { String::new() } else { format!(": `{said}`") };
                self.step_failed(plan, request, Some(status), &format!("{}{said}", with_reason(status)))
            }
        })
    }

    /// Continues after the answer to a step. Returns the request if it goes on.
    pub(super) fn end_step(&mut self, plan: &Plan, mut request: InFlight, end: PageEnd) -> Option<InFlight> {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        let number = request.step_number()?;
        let (is_same, values) = match end {
            PageEnd::Found(Found::One { is_same, values }) => (is_same, values),
            PageEnd::Found(Found::Nothing) => {
                if self.must_wait(plan, &request, MAY_CREATE) {
                    return None;
                }
                if let Some(sequence) = &mut request.sequence {
                    sequence.is_absent = true;
                    sequence.part = SequencePart::Before(number + 1);
                }
                return Some(request);
            }
            PageEnd::Failed(outcome) | PageEnd::Unfit(outcome) => {
                self.conclude(plan, request, &[outcome], None);
                return None;
            }
            PageEnd::Next(_) => {
                let outcome = self.step_failed(plan, &request, None, "a page of the list is missing");
                self.conclude(plan, request, &[outcome], None);
                return None;
            }
        };
        let secrets: Vec<String> = callback.secrets_in(&values);
        self.hide(at, secrets);
        let kept = callback.steps().get(number).and_then(|step| Some((step, step.keep?)));
        if let Some((step, keep)) = kept
            && let Some(parcel) = SendableBatch::of(request.as_begun(plan).iter().map(|(_, update)| *update))
        {
            let moment = self.moment(at, parcel.batch().first, 0);
            if let Some(key) = callback.ask_key(step, (parcel.batch().into(), moment, request.taken()), true) {
                let kept = StepAsk::Kept { values: values.clone(), until: self.now.steady + keep };
                self.asked.asks.insert((at, key), kept);
            }
        }
        if let Some(sequence) = &mut request.sequence {
            sequence.take(values);
            sequence.key = None;
            sequence.part = SequencePart::Before(number + 1);
        }
        if is_same { self.is_there(plan, request) } else { Some(request) }
    }

    /// The service already has the address (H17).
    fn is_there(&mut self, plan: &Plan, mut request: InFlight) -> Option<InFlight> {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        if self.must_wait(plan, &request, MAY_ARRIVE) {
            return None;
        }
        let is_in_doubt = self.doubted_until(plan, &request).is_some();
        let batch = request.as_begun(plan);
        let after = callback.after().filter(|after| is_in_doubt && callback.is_given(after, request.taken()));
        if after.is_some()
            && let Some(sequence) = &mut request.sequence
        {
            sequence.is_there = true;
            sequence.part = SequencePart::Before(callback.steps().len());
            return Some(request);
        }
        if let Some(sequence) = &mut request.sequence {
            sequence.part = SequencePart::Update;
        }
        // This replaces claims of former callbacks, just like an update that is sent (E3).
        self.mark(plan, at, &batch, Vec::new());
        self.conclude(plan, request, &[Outcome::AlreadyThere], None);
        None
    }

    /// Puts an update back if an earlier request may still arrive, and asks again when it no longer can. Returns whether it did.
    fn must_wait(&mut self, plan: &Plan, request: &InFlight, why: &str) -> bool {
        let asked_at = request.sequence.as_ref().map_or(Duration::ZERO, |sequence| sequence.asked_at);
        let Some(quiet_at) = self.doubted_until(plan, request).filter(|quiet_at| *quiet_at > asked_at) else {
            return false;
        };
        let id = request.start.0;
        let (at, domain, family) = plan.about(id);
        let name = format!("{domain} {}", family.record_type());
        self.say(at, Level::Info, || format!("{name}: waiting: {why}"));
        self.queue.give_back(request.start);
        self.asked.later.insert(id, quiet_at);
        true
    }

    /// When no earlier request of these updates can arrive any more; `None`: none is in doubt.
    fn doubted_until(&self, plan: &Plan, request: &InFlight) -> Option<Duration> {
        request.members.iter().filter_map(|(own, _)| self.quiet_at(plan, *own)).max()
    }

    /// For an update in doubt: when earlier requests can no longer arrive.
    fn quiet_at(&self, plan: &Plan, id: UpdateId) -> Option<Duration> {
        let (at, domain, family) = plan.about(id);
        let doubt = self.claim(at, domain, family).in_doubt?;
        let timeout = plan.entry(at).timeout;
        // The request of another process, or of this one before a restart, ended no later than its mark. If the mark has no
        // end, or one that is too far ahead (a wrong clock), the request ended before this process started or won the lease.
        // Marks have whole seconds.
        let latest = self.clock() + (plan.entry(at).longest() + MAX_MARK_MARGIN).as_secs();
        let ended = match doubt.until {
            until if until == 0 || until > latest => self.epoch.steady.max(self.won_at),
            until => self.steady_at(until.saturating_add(1)),
        };
        let last = self.asked.last_sent.get(&id).copied().unwrap_or_default();
        Some(last.max(ended) + timeout)
    }

    /// A step that failed.
    pub(super) fn step_failed(&self, plan: &Plan, request: &InFlight, status: Option<u16>, why: &str) -> Outcome {
        Outcome::Failed(Why::Step { status, why: self.of_step(plan, request, why), reached: false })
    }

    /// `before 2 of 2 (GET https://…): 403 Forbidden; the update was not sent`
    fn of_step(&self, plan: &Plan, request: &InFlight, why: &str) -> String {
        let callback = &plan.entry(plan.entry_of(request.start.0)).callback;
        let number = request.step_number().unwrap_or_default();
        let step = callback.steps().get(number).map(|step| &step.request);
        let shown = step.and_then(|step| self.shown(plan, request, step)).unwrap_or_default();
        format!("before {} of {} ({shown}): {why}; the update was not sent", number + 1, callback.steps().len())
    }

    /// `DELETE https://…`: a request before or after an update, redacted.
    pub(super) fn shown(&self, plan: &Plan, request: &InFlight, template: &RequestTemplate) -> Option<String> {
        let at = plan.entry_of(request.start.0);
        let batch = request.as_begun(plan);
        let parcel = SendableBatch::of(batch.iter().map(|(_, update)| *update))?;
        let moment = self.moment(at, parcel.batch().first, 0);
        let about = (parcel.batch().into(), moment, request.taken());
        let shown = plan.entry(at).callback.redacted_as(template, about, USER_AGENT, false).ok()?;
        Some(format!("{} {}", shown.method.as_str(), shown.url))
    }

    /// Logs the answer to a step; only its size if it may contain a secret.
    pub(super) fn show_answer(&mut self, plan: &Plan, at: usize, request: &InFlight, response: &ResponseFacts) {
        let callback = &plan.entry(at).callback;
        let Some(number) = request.step_number() else { return };
        let took = self.now.steady.saturating_sub(request.began);
        let is_secret = callback.may_hold_secret(number, response.status, &String::from_utf8_lossy(&response.body));
        if is_secret {
            let (status, size) = (with_reason(response.status), response.body.len());
            self.say(at, Level::Debug, || format!("< {status} ({} ms), {size} bytes with a secret", took.as_millis()));
        } else {
            self.show(plan, at, response, took);
        }
    }
}
