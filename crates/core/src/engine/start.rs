//! Starts updates: first marks them, then sends them.

use std::rc::Rc;

use super::in_flight::InFlight;
use super::plan::{Plan, StoreId};
use super::queueing::Sendables;
use super::stores::MARK_MARGIN;
use super::{Durability, Effect, Engine, Reads, Ticket};
use crate::callback::expect::Expect;
use crate::callback::{Moment, RequestTemplate, SendableBatch, USER_AGENT};
use crate::net::family::Family;
use crate::schedule::queue::{Retry, Stage, UpdateId};
use crate::text::json::Value;
use crate::text::log_format::Level;
use crate::update::outcome::{Outcome, Why};
use crate::update::plan::Verdict;
use crate::update::{Sendable, Update};

/// Why an update is not sent if the response of its service could not be remembered (H6).
const UNREMEMBERED: &str = "not sent: the cache cannot be written, and `expect`, `absent` or `min_interval` needs it";

fn unsent(why: String) -> Outcome {
    Outcome::Failed(Why::NoResponse { why, reached: false })
}

impl Engine {
    /// Whether anything may start now.
    pub(super) fn may_start(&self) -> bool {
        self.closing.is_none() && !self.is_standing_by() && !self.is_draining()
    }

    pub(super) fn start(&mut self) {
        if !self.may_start() {
            return;
        }
        let plan = Rc::clone(&self.plan);
        let now = self.now.steady;
        while let Some(start) = self.queue.start(now) {
            let id = start.0;
            let Some((at, mut batch)) = self.batch(&plan, id) else {
                self.queue.give_back(start);
                continue;
            };
            self.unmark_outdated(at, &batch);
            let is_whole = !self.unmark_left_out(&plan, at, &batch);
            let is_marked = is_whole && batch.iter().all(|member| self.is_marked(at, member));
            // Judge again: a retry may come early, or a former address may have returned. A marked update was judged when it
            // was marked.
            let verdict = if is_marked { None } else { Some(self.judge_batch(at, &mut batch, true).0) };
            if let (Some(Verdict::Held(until, _)), Some(before)) = (&verdict, self.queue.retry(id).cloned()) {
                self.queue.put_back(start, Retry { at: self.steady_at(*until), ..before });
                continue;
            }
            if verdict.is_some_and(|verdict| verdict.is_futile()) {
                self.queue.give_back(start);
                if let Some((_, batch)) = self.batch(&plan, id) {
                    let counted = self.counted_now(&plan, at);
                    self.queue_batch(&plan, id, at, batch, true, counted);
                }
                continue;
            }
            if batch.is_empty() {
                self.queue.give_back(start);
                continue;
            }
            if plan.entry(at).callback.around.is_some() {
                self.begin_sequence(&plan, start, &batch);
                continue;
            }
            if !is_marked {
                // Updates with steps are marked when the steps are done.
                let is_plain = |id: &UpdateId| plan.entry(plan.entry_of(*id)).callback.around.is_none();
                let soon = self.queue.starting_by(now + MARK_MARGIN).into_iter().filter(is_plain).collect();
                self.mark(&plan, at, &batch, soon);
                self.save(Durability::Process);
            }
            let members = batch.iter().map(|(id, update)| (*id, update.ip)).collect();
            let request = InFlight { start, members, began: now, origin: None, sequence: None };
            let store = plan.store_of(at);
            match self.stores[store].unpersisted() {
                Some(ticket) => self.marking.push((store, ticket, request)),
                None => self.send(&plan, request, &batch),
            }
        }
    }

    /// The families whose updates count now if they are not sent after all. In strict order, all are judged once more when the
    /// last address is known.
    pub(super) fn counted_now(&self, plan: &Plan, at: usize) -> &'static [Family] {
        if plan.is_strict(at) && self.open[plan.config_of(at)] > 0 { &[] } else { &Family::ALL }
    }

    /// The marks were written, or cannot be: sends the requests that waited for them.
    pub(super) fn send_marked(&mut self, store: StoreId) {
        if self.marking.is_empty() || !self.may_start() {
            return;
        }
        let plan = Rc::clone(&self.plan);
        let persisted = self.stores[store].persisted;
        let is_next = |(of, ticket, _): &mut (StoreId, Ticket, InFlight)| *of == store && *ticket <= persisted;
        let ready: Vec<InFlight> = self.marking.extract_if(.., is_next).map(|(_, _, request)| request).collect();
        for request in ready {
            let id = request.start.0;
            let mut batch = self.batch(&plan, id).map(|(_, batch)| batch).unwrap_or_default();
            batch.retain(|(id, update)| request.members.contains(&(*id, update.ip)));
            let is_meant = self.queue.stage(id) == Stage::Sending
                || request.sequence.is_some() && self.queue.stage(id) == Stage::SendingOutdated;
            if batch.len() == request.members.len() && is_meant {
                self.send(&plan, request, &batch);
                continue;
            }
            // The address has changed in the meantime: the marked request is not sent.
            self.take_back(&plan, &request);
            if let Some((at, batch)) = self.batch(&plan, id) {
                self.queue_batch(&plan, id, at, batch, false, &[]);
            }
        }
    }

    /// Drops a request that was marked and not sent.
    pub(super) fn take_back(&mut self, plan: &Plan, request: &InFlight) {
        for (id, ip) in &request.members {
            let (at, domain, family) = plan.about(*id);
            self.unmark(*id, at, &Update { domain, family, ip: *ip });
        }
        self.queue.give_back(request.start);
    }

    pub(super) fn send(&mut self, plan: &Plan, request: InFlight, batch: &Sendables<'_>) {
        let at = plan.entry_of(request.start.0);
        // Another process may have marked the update first, or its service may have told another process to wait.
        if !self.must_still_send(at, batch) {
            self.take_back(plan, &request);
            let counted = self.counted_now(plan, at);
            self.queue_batch(plan, request.start.0, at, batch.clone(), true, counted);
            return;
        }
        if self.may_be_made(at, &request, batch) {
            self.take_back(plan, &request);
            self.queue.withdraw(request.start.0);
            if let Some((_, first)) = batch.first() {
                self.wait(request.start.0, at, first);
            }
            return;
        }
        if !self.can_remember(at) {
            self.conclude(plan, request, &[unsent(UNREMEMBERED.to_owned())], None);
            return;
        }
        match SendableBatch::of(batch.iter().map(|(_, update)| *update)) {
            Some(parcel) => self.dispatch(plan, request, &parcel),
            None => self.queue.give_back(request.start),
        }
    }

    /// Whether another process may have created the record after this one asked whether there is one.
    fn may_be_made(&self, at: usize, request: &InFlight, batch: &Sendables<'_>) -> bool {
        let Some(since) = request.makes_since() else { return false };
        let is_news = |(_, update): &(UpdateId, Sendable<'_>)| {
            let accepted = self.claim(at, update.domain, update.family).accepted;
            accepted.is_some_and(|accepted| (since..=self.clock()).contains(&accepted.at))
        };
        self.stores[self.plan.store_of(at)].merged_at >= since && batch.iter().any(is_news)
    }

    /// Sends the update, or the request in its place (`absent`) or after it (`after`).
    pub(super) fn dispatch(&mut self, plan: &Plan, mut request: InFlight, parcel: &SendableBatch<'_>) {
        let at = plan.entry_of(request.start.0);
        let callback = &plan.entry(at).callback;
        let template = request.template(callback);
        let fresh = if template.sign.is_none() { 0 } else { self.chance.number() };
        let moment = self.moment(at, parcel.batch().first, fresh);
        self.say_sending(plan, at, parcel, template, (moment, request.taken()));
        match callback.render_as(template, (parcel, moment, request.taken()), None) {
            Err(why) => {
                let why = self.masked(at, &why);
                let reached = request.sequence.as_ref().is_some_and(|sequence| sequence.ended.is_some());
                self.conclude(plan, request, &[Outcome::Failed(Why::NoResponse { why, reached })], None);
            }
            Ok(message) => {
                request.began = self.now.steady;
                let needs_body = template.expect.as_ref().is_some_and(Expect::needs_body);
                let reads = if needs_body { Reads::Verdict } else { Reads::Status };
                let is_one_of_several = plan.config(plan.config_of(at)).entries.len() > 1;
                request.origin = is_one_of_several.then(|| message.url.origin());
                let (number, term) = (self.next_number(), self.term());
                self.requests.insert(number, request);
                let message = Box::new(message);
                self.out.effects.push_back(Effect::Send { request: number, entry: at, message, term, reads });
            }
        }
    }

    pub(super) fn say_sending(
        &mut self,
        plan: &Plan,
        at: usize,
        parcel: &SendableBatch<'_>,
        template: &RequestTemplate,
        (moment, taken): (Moment, &[Option<Value>]),
    ) {
        if !plan.shows(plan.config_of(at), Level::Debug) {
            return;
        }
        let entry = plan.entry(at);
        let about = (parcel.batch().into(), moment, taken);
        if let Ok(request) = entry.callback.redacted_as(template, about, USER_AGENT, false) {
            let way = entry.proxies.described(&request.url);
            let first = parcel.batch().first;
            self.say(at, Level::Debug, || format!("{first}: sending to {}{way}", request.url.origin()));
            for line in request.lines() {
                self.say(at, Level::Debug, || format!("> {line}"));
            }
        }
    }
}
