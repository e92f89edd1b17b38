//! Requests around the update (H14 to H22). The steps before it only read, so nothing is marked before they are sent, and each
//! may be dropped, repeated or in vain. Updates that ask the same share a request.

use std::rc::Rc;
use std::time::Duration;

use super::answers::PageEnd;
use super::in_flight::{AnswerPages, AskKey, EndedRequest, InFlight, RequestDetails, Sequence, SequencePart, StepAsk};
use super::plan::Plan;
use super::queueing::Sendables;
use super::settle::{Facts, wrong_clock};
use super::{Durability, Effect, Engine, Reads, backoff};
use crate::callback::SendableBatch;
use crate::callback::steps::{LookupStep, Search};
use crate::net::family::Family;
use crate::net::status::with_reason;
use crate::schedule::queue::{Lane, Retry, Stage, UpdateId};
use crate::update::outcome::{Outcome, Why};

/// How long after its arrival an answer counts for other updates that ask the same.
const SHARED: Duration = Duration::from_secs(10);

/// The limit of an answer, in bytes: more is not read, nor shared with other updates.
pub const MAX_ANSWER_BYTES: usize = 1024 * 1024;

impl Engine {
    /// Starts an update that has requests around it with the first of them.
    pub(super) fn begin_sequence(&mut self, plan: &Plan, start: (UpdateId, Lane), batch: &Sendables<'_>) {
        let at = plan.entry_of(start.0);
        let sequence = Sequence {
            part: SequencePart::Before(0),
            taken: vec![None; plan.entry(at).callback.taken_count()],
            kept: Vec::new(),
            is_absent: false,
            is_there: false,
            search: Search::default(),
            key: None,
            asked_at: self.now.steady,
            known_at: self.known_at(at),
            observed: Family::ALL.map(|family| self.found(at, family)),
            ended: None,
        };
        let members = batch.iter().map(|(id, update)| (*id, update.ip)).collect();
        let sequence = Some(Box::new(sequence));
        self.step(plan, InFlight { start, members, began: self.now.steady, origin: None, sequence });
    }

    /// Sends the next step, or uses a known answer. After the last step, the update is next.
    fn step(&mut self, plan: &Plan, mut request: InFlight) {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        loop {
            let Some(batch) = self.unchanged(plan, &request) else {
                self.start_over(plan, &request, &[]);
                return;
            };
            let Some(number) = request.step_number() else { return };
            let Some(step) = callback.steps().get(number) else {
                self.asked.ready.push(request);
                return;
            };
            let Some(parcel) = SendableBatch::of(batch.iter().map(|(_, update)| *update)) else { return };
            let moment = self.moment(at, parcel.batch().first, 0);
            let about = (parcel.batch().into(), moment, request.taken());
            let key = callback.ask_key(step, about, false).map(|key| (at, key));
            let kept = step.keep.and_then(|_| callback.ask_key(step, about, true)).map(|key| (at, key));
            let known = kept.and_then(|key| match self.asked.asks.get(&key) {
                Some(StepAsk::Kept { values, until }) if *until > self.now.steady => {
                    Some((key, values.clone(), *until))
                }
                _ => None,
            });
            if let Some((kept, values, until)) = known {
                self.hide(at, callback.secrets_in(&values));
                if let Some(sequence) = &mut request.sequence {
                    sequence.kept.push((kept, until, key));
                    sequence.take(values);
                    sequence.part = SequencePart::Before(number + 1);
                }
                continue;
            }
            let Some(key) = key else {
                self.ask(plan, request, step, &parcel, None);
                return;
            };
            let id = request.start.0;
            match self.asked.asks.get_mut(&key) {
                Some(StepAsk::UnderWay { sent, pages, .. }) => {
                    let (sent, pages) = (*sent, pages.clone());
                    if let Some(sequence) = &mut request.sequence {
                        sequence.asks(key, sent);
                    }
                    match self.take_pages(plan, &mut request, &pages) {
                        None | Some(PageEnd::Next(_)) => {
                            if let Some(StepAsk::UnderWay { waiting, .. }) = self.asked.asks.get_mut(&key) {
                                waiting.push(request);
                            }
                            return;
                        }
                        Some(end) => match self.end_step(plan, request, end) {
                            Some(next) => request = next,
                            None => return,
                        },
                    }
                }
                Some(StepAsk::Answered { sent, ended, pages, used_by })
                    if *ended + SHARED >= self.now.steady && !used_by.contains(&id) =>
                {
                    used_by.insert(id);
                    let (pages, sent) = (pages.clone(), *sent);
                    if let Some(sequence) = &mut request.sequence {
                        sequence.asks(key, sent);
                    }
                    let end = self.take_pages(plan, &mut request, &pages);
                    match end.and_then(|end| self.end_step(plan, request, end)) {
                        Some(next) => request = next,
                        None => return,
                    }
                }
                Some(StepAsk::Failed { outcome, until, is_requested }) if *until > self.now.steady => {
                    let (outcome, until, is_requested) = (outcome.clone(), *until, *is_requested);
                    // This update has failed before; now it only waits, so this is not another failure.
                    if let Some(before) = self.queue.retry(id).cloned() {
                        self.queue.put_back(request.start, Retry { at: until, outcome, is_requested, ..before });
                        return;
                    }
                    let (in_vain_until, retry_after) = (Some(until), is_requested.then_some(Duration::ZERO));
                    let circumstances = RequestDetails { retry_after, in_vain_until, ..RequestDetails::default() };
                    self.conclude(plan, request, &[outcome], Some(circumstances));
                    return;
                }
                _ => {
                    let sent = (self.now.steady, self.known_at(at));
                    let under_way = StepAsk::UnderWay { sent, waiting: Vec::new(), pages: Vec::new() };
                    self.asked.asks.insert(key, under_way);
                    if let Some(sequence) = &mut request.sequence {
                        sequence.asks(key, sent);
                    }
                    self.ask(plan, request, step, &parcel, None);
                    return;
                }
            }
        }
    }

    /// Sends a step; `page` requests a further page of its answer.
    fn ask(
        &mut self,
        plan: &Plan,
        mut request: InFlight,
        step: &LookupStep,
        parcel: &SendableBatch<'_>,
        page: Option<&str>,
    ) {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        let fresh = if step.request.sign.is_none() { 0 } else { self.chance.number() };
        let moment = self.moment(at, parcel.batch().first, fresh);
        let page = page.and_then(|page| Some((step.next.as_ref()?.1.as_str(), page)));
        self.say_sending(plan, at, parcel, &step.request, (moment, request.taken()));
        match callback.render_as(&step.request, (parcel, moment, request.taken()), page) {
            Ok(message) => {
                request.began = self.now.steady;
                let (number, term) = (self.next_number(), self.term());
                self.requests.insert(number, request);
                let message = Box::new(message);
                self.out.effects.push_back(Effect::Send {
                    request: number,
                    entry: at,
                    message,
                    term,
                    reads: Reads::Answer,
                });
            }
            Err(why) => {
                let why = self.masked(at, &why);
                let outcome = self.step_failed(plan, &request, None, &why);
                self.all_failed(plan, request, &outcome, None);
            }
        }
    }

    /// A step has ended.
    pub(super) fn step_ended(&mut self, plan: &Plan, mut request: InFlight, facts: Facts) {
        let at = plan.entry_of(request.start.0);
        let response = match facts {
            Facts::Failed { why, .. } => {
                let why = self.masked(at, &why);
                let outcome = self.step_failed(plan, &request, None, &why);
                self.all_failed(plan, request, &outcome, None);
                return;
            }
            Facts::Response(response) => response,
        };
        self.show_answer(plan, at, &request, &response);
        let status = response.status;
        let key = request.sequence.as_mut().and_then(|sequence| sequence.key);
        let why = match std::str::from_utf8(&response.body) {
            _ if response.body.len() + usize::from(!response.is_whole) > MAX_ANSWER_BYTES => {
                Err("the response is larger than 1 MiB")
            }
            _ if !response.is_whole && (200..300).contains(&status) => Err("the rest of the response did not arrive"),
            Ok(text) => Ok(text),
            Err(_) if !(200..300).contains(&status) => Ok(""),
            Err(_) => Err("the response is not UTF-8"),
        };
        let is_signed = request.step(&plan.entry(at).callback).is_some_and(|step| step.request.sign.is_some());
        let clock = wrong_clock(&response, self.now.day.seconds).filter(|_| is_signed);
        let text: Rc<str> = match why {
            Ok(text) => text.into(),
            Err(why) => {
                let outcome = self.step_failed(plan, &request, Some(status), why);
                self.all_failed(plan, request, &outcome, None);
                return;
            }
        };
        let asked = response.requested_pause(self.now.day.seconds);
        let (waiting, mut pages) = self.waiting_for(key);
        let mut all = vec![request];
        all.extend(waiting);
        let (mut next, mut others, mut ended) = (None, Vec::new(), Vec::new());
        for mut request in all {
            let sent = request.sequence.as_ref().map(|sequence| sequence.sent()).unwrap_or_default();
            match self.take_page(plan, &mut request, (status, &text)) {
                PageEnd::Next(page) if next.is_none() => next = Some((request, page)),
                PageEnd::Next(_) => others.push(request),
                PageEnd::Failed(outcome) if outcome.is_refused() && clock.is_some() => {
                    let why = format!(
                        "{}; the endpoint responded with {}",
                        clock.as_deref().unwrap_or_default(),
                        with_reason(status)
                    );
                    let outcome = self.step_failed(plan, &request, Some(status), &why);
                    ended.push((request, PageEnd::Failed(outcome), sent));
                }
                end => ended.push((request, end, sent)),
            }
        }
        if let Some(clock) = &clock {
            let outcomes = ended.iter().filter_map(|(_, end, _)| match end {
                PageEnd::Failed(outcome) => Some(outcome),
                _ => None,
            });
            self.warn_of_clock(at, clock, outcomes);
        }
        let is_good = ended.iter().any(|(_, end, _)| matches!(end, PageEnd::Found(_) | PageEnd::Unfit(_)));
        if let Some(key) = key {
            pages.push((status, text));
            if next.is_some() {
                let sent =
                    next.as_ref().and_then(|(request, _)| Some(request.sequence.as_ref()?.sent())).unwrap_or_default();
                self.asked.asks.insert(key, StepAsk::UnderWay { sent, waiting: others, pages });
            } else {
                let is_short = pages.iter().map(|(_, text)| text.len()).sum::<usize>() <= MAX_ANSWER_BYTES;
                if let Some((_, _, sent)) = ended.first().filter(|_| is_short && is_good) {
                    let used_by = ended.iter().map(|(request, ..)| request.start.0).collect();
                    let (sent, ended) = (*sent, self.now.steady);
                    self.asked.asks.insert(key, StepAsk::Answered { sent, ended, pages, used_by });
                }
            }
        }
        // An update that fails for its own reasons must not fail the others.
        self.go_through(plan, ended, key.filter(|_| !is_good), asked);
        if let Some((request, page)) = next {
            self.next_page(plan, request, &page);
        }
    }

    /// Continues updates whose step has ended.
    fn go_through(
        &mut self,
        plan: &Plan,
        ended: Vec<(InFlight, PageEnd, (Duration, u64))>,
        key: Option<AskKey>,
        asked: Option<Duration>,
    ) {
        let mut failed = Vec::new();
        for (request, end, _) in ended {
            match end {
                PageEnd::Failed(mut outcome) => {
                    if let Outcome::Failed(Why::Wait { wait, .. }) = &mut outcome {
                        *wait = wait.or(asked);
                    }
                    failed.push((request, outcome));
                }
                end => {
                    if let Some(request) = self.end_step(plan, request, end) {
                        self.step(plan, request);
                    }
                }
            }
        }
        self.fail_steps(plan, failed, key, asked);
    }

    fn next_page(&mut self, plan: &Plan, request: InFlight, page: &str) {
        let at = plan.entry_of(request.start.0);
        let Some(number) = request.step_number() else { return };
        let batch = request.as_begun(plan);
        let (step, parcel) =
            (plan.entry(at).callback.steps().get(number), SendableBatch::of(batch.iter().map(|(_, it)| *it)));
        match step.zip(parcel) {
            Some((step, parcel)) => self.ask(plan, request, step, &parcel, Some(page)),
            None => self.start_over(plan, &request, &[]),
        }
    }

    /// A step has ended: takes the other requests that waited for it, and the earlier pages of the answer.
    fn waiting_for(&mut self, key: Option<AskKey>) -> (Vec<InFlight>, AnswerPages) {
        match key.and_then(|key| self.asked.asks.remove(&key)) {
            Some(StepAsk::UnderWay { waiting, pages, .. }) => (waiting, pages),
            _ => (Vec::new(), Vec::new()),
        }
    }

    /// A step failed: fails all updates that waited for it.
    fn all_failed(&mut self, plan: &Plan, request: InFlight, outcome: &Outcome, asked: Option<Duration>) {
        let key = request.sequence.as_ref().and_then(|sequence| sequence.key);
        let mut all = vec![(request, outcome.clone())];
        let waiting = self.waiting_for(key).0.into_iter();
        all.extend(waiting.map(|request| (request, outcome.clone())));
        self.fail_steps(plan, all, key, asked);
    }

    /// Fails these updates. The step is not repeated before the retry of the first one, which sent it: earlier retries of the
    /// others would be in vain.
    fn fail_steps(
        &mut self,
        plan: &Plan,
        failed: Vec<(InFlight, Outcome)>,
        key: Option<AskKey>,
        asked: Option<Duration>,
    ) {
        let Some((_, first)) = failed.first() else { return };
        let (first, mut until, mut is_requested) = (first.clone(), None, false);
        for (mut request, outcome) in failed {
            let id = request.start.0;
            if let Some(sequence) = &mut request.sequence {
                sequence.key = None;
            }
            // A pause that the service asks for concerns all updates that need the step.
            let asked = match &outcome {
                Outcome::Failed(Why::Wait { wait, .. }) => wait.or(asked),
                _ => asked,
            };
            let in_vain_until = until.filter(|_| key.is_some());
            let circumstances = RequestDetails { retry_after: asked, in_vain_until, ..RequestDetails::default() };
            self.conclude(plan, request, &[outcome], Some(circumstances));
            if until.is_none() {
                (until, is_requested) = (self.queue.retry_at(id), asked.is_some());
            }
        }
        if let Some(key) = key {
            let is_single = backoff(plan, self.mode).is_none();
            let until = until.or(is_single.then_some(Duration::MAX)).unwrap_or(self.now.steady);
            self.asked.asks.insert(key, StepAsk::Failed { outcome: first, until, is_requested });
        }
    }

    /// Starts everything that may start. A request whose steps are done but that is not sent after all makes room for others.
    pub(super) fn start_all(&mut self) {
        self.start();
        while !self.asked.ready.is_empty() {
            self.send_ready();
            self.start();
        }
    }

    /// Marks and sends requests whose steps are done.
    fn send_ready(&mut self) {
        let plan = Rc::clone(&self.plan);
        let (mut marked, mut is_new) = (Vec::new(), false);
        for mut request in std::mem::take(&mut self.asked.ready) {
            let at = plan.entry_of(request.start.0);
            let batch = self.unchanged(&plan, &request).filter(|_| self.may_start());
            let Some(mut batch) = batch else {
                self.start_over(&plan, &request, &[]);
                continue;
            };
            let is_marked = batch.iter().all(|member| self.is_marked(at, member));
            let whole = batch.len();
            if !is_marked && (self.judge_batch(at, &mut batch, true).0.is_futile() || batch.len() != whole) {
                let counted = self.counted_now(&plan, at);
                self.start_over(&plan, &request, counted);
                continue;
            }
            if !is_marked {
                self.mark(&plan, at, &batch, Vec::new());
                is_new = true;
            }
            if let Some(sequence) = &mut request.sequence {
                sequence.part = if sequence.is_there { SequencePart::After } else { SequencePart::Update };
            }
            marked.push(request);
        }
        if is_new {
            self.save(Durability::Process);
        }
        for request in marked {
            let store = plan.store_of(plan.entry_of(request.start.0));
            if let Some(ticket) = self.stores[store].unpersisted() {
                self.marking.push((store, ticket, request));
                continue;
            }
            let batch = request.as_begun(&plan);
            self.send(&plan, request, &batch);
        }
    }

    /// After an accepted update, sends the request after it. Returns the update's request if there is none.
    pub(super) fn follow(
        &mut self,
        plan: &Plan,
        mut request: InFlight,
        ended: EndedRequest,
    ) -> Option<(InFlight, EndedRequest)> {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        let is_update = request.sequence.as_ref().is_some_and(|sequence| sequence.part == SequencePart::Update);
        let is_meant = is_update && ended.0.iter().all(Outcome::is_accepted);
        let after = callback.after().filter(|after| is_meant && callback.is_given(after, request.taken()));
        let batch = request.as_begun(plan);
        let parcel = SendableBatch::of(batch.iter().map(|(_, update)| *update));
        let (Some(_), Some(parcel)) = (after, parcel) else { return Some((request, ended)) };
        if let Some(sequence) = &mut request.sequence {
            sequence.part = SequencePart::After;
            sequence.ended = Some(ended);
        }
        self.dispatch(plan, request, &parcel);
        None
    }

    /// Drops all steps.
    pub(super) fn drop_steps(&mut self) {
        let steps: Vec<u64> = self.requests.iter().filter(|(_, it)| it.is_step()).map(|(number, _)| *number).collect();
        let mut dropped: Vec<InFlight> = steps.iter().filter_map(|number| self.requests.remove(number)).collect();
        for ask in std::mem::take(&mut self.asked.asks).into_values() {
            if let StepAsk::UnderWay { waiting, .. } = ask {
                dropped.extend(waiting);
            }
        }
        dropped.append(&mut self.asked.ready);
        for request in dropped {
            self.queue.give_back(request.start);
        }
        self.asked.later.clear();
    }

    /// Judges updates again whose service seemed to have the address.
    pub(super) fn look_again(&mut self) {
        if self.asked.is_empty() {
            return;
        }
        let now = self.now.steady;
        let due: Vec<UpdateId> = self.asked.later.iter().filter(|(_, at)| **at <= now).map(|(id, _)| *id).collect();
        for id in &due {
            self.asked.later.remove(id);
        }
        self.judge_again(due);
        // Free the memory of answers that nothing will use any more.
        self.asked.asks.retain(|_, ask| match ask {
            StepAsk::UnderWay { .. } => true,
            StepAsk::Answered { ended, .. } => *ended + SHARED >= now,
            StepAsk::Failed { until, .. } | StepAsk::Kept { until, .. } => *until > now,
        });
    }

    /// Drops the kept answers that this request used: they are outdated.
    pub(super) fn forget_kept(&mut self, request: &InFlight) {
        for (key, used, asked) in request.sequence.iter().flat_map(|sequence| &sequence.kept) {
            // Another update may have asked again in the meantime.
            if matches!(self.asked.asks.get(key), Some(StepAsk::Kept { until, .. }) if until == used) {
                self.asked.asks.remove(key);
                // The shared answer that it came from is just as old.
                self.asked
                    .asks
                    .retain(|key, ask| !matches!(ask, StepAsk::Answered { .. } if Some(key) == asked.as_ref()));
            }
        }
    }

    /// The current updates of a request, if they are the same as at its start and the request may go on.
    fn unchanged<'p>(&self, plan: &'p Plan, request: &InFlight) -> Option<Sendables<'p>> {
        let id = request.start.0;
        let (_, mut batch) = self.batch(plan, id)?;
        batch.retain(|(id, update)| request.members.contains(&(*id, update.ip)));
        // A round without a new address changes nothing.
        let may_go_on = matches!(self.queue.stage(id), Stage::Sending | Stage::SendingOutdated)
            // The service may have asked for a pause in the meantime.
            && !self.queue.is_asked_to_pause(request.start.1, self.now.steady);
        (batch.len() == request.members.len() && may_go_on).then_some(batch)
    }

    /// Judges the updates of a request again: an address changed, or the request must not go on. A new address was counted when
    /// it was found.
    fn start_over(&mut self, plan: &Plan, request: &InFlight, counted: &[Family]) {
        let id = request.start.0;
        self.queue.give_back(request.start);
        if let Some((at, batch)) = self.batch(plan, id) {
            self.queue_batch(plan, id, at, batch, true, counted);
        }
    }
}
