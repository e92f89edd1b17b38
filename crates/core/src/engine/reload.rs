//! Stopping and reloading: requests under way get time to end. A reload keeps the stores, the pauses that endpoints asked for,
//! and the requests that were given up: they may still arrive (E4a).

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use super::plan::Plan;
use super::visibility::DnsSchedule;
use super::{Durability, Effect, Engine, EntryState, Mode, stores};
use crate::schedule::lookups::Schedule;
use crate::update::outcome::Tally;

/// How long requests under way may take to end.
pub const GRACE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Closing {
    until: Duration,
    /// `None`: the engine stops for good.
    next: Option<Rc<Plan>>,
    is_over: bool,
}

impl Closing {
    /// The state before [`Event::Begin`](super::Event::Begin), in which nothing is done.
    pub(super) fn before_begin() -> Self {
        Self { until: Duration::ZERO, next: None, is_over: true }
    }

    pub(super) fn wake_at(&self) -> Option<Duration> {
        (!self.is_over).then_some(self.until)
    }
}

impl Engine {
    /// Whether another plan follows.
    pub(super) fn is_reloading(&self) -> bool {
        self.closing.as_ref().is_some_and(|closing| closing.next.is_some())
    }

    /// Closes: starts nothing new.
    pub(super) fn close(&mut self, next: Option<Rc<Plan>>) {
        let until = self.closing.as_ref().map_or(self.now.steady + GRACE, |closing| closing.until);
        self.closing = Some(Closing { until, next, is_over: false });
        self.drop_steps();
        self.take_back_marked();
        self.unmark_all_unsent();
        self.save_rounds();
    }

    /// Says that the engine is closed, once nothing is under way or the time is up.
    pub(super) fn finish_closing(&mut self) {
        let Some(Closing { until, next, is_over: false }) = &self.closing else { return };
        if !self.requests.is_empty() && self.now.steady < *until {
            return;
        }
        let (plan, next) = (Rc::clone(&self.plan), next.clone());
        if !self.requests.is_empty() {
            let requests = std::mem::take(&mut self.requests);
            self.give_up(&plan, requests.into_values());
            self.out.effects.push_back(Effect::Cancel);
        }
        if let Some(next) = next {
            self.doubt_moved_claims(&plan, &next);
        }
        self.save(Durability::Power);
        if let Some(closing) = &mut self.closing {
            closing.is_over = true;
        }
        self.out.effects.push_back(Effect::Closed);
    }

    /// Continues with the plan that was announced.
    pub(super) fn renew(&mut self) {
        if let Some(next) = self.closing.take().and_then(|closing| closing.next) {
            self.set_plan(next);
        }
    }

    /// Starts over with a plan.
    pub(super) fn set_plan(&mut self, plan: Rc<Plan>) {
        let old = std::mem::replace(&mut self.plan, plan);
        // A mark of a request that was given up is no longer our own.
        self.own = self.chance.number();
        let before = std::mem::take(&mut self.stores);
        self.stores = stores::stores(&self.plan, before, &old, &mut self.chance);
        self.entries = (0..self.plan.entry_count()).map(|_| EntryState::default()).collect();
        self.empty();
        self.dns_schedule = DnsSchedule::new(&self.plan, &self.dns_schedule);
        self.lookups.clear();
        self.open = vec![0; self.plan.configs().len()];
        self.tallies = vec![Tally::default(); self.plan.configs().len()];
        self.before.clear();
        self.replaced.clear();
        self.ended.clear();
        // Only the page shows them.
        self.decisions = self.plan.configs().iter().any(|(config, _)| config.web.is_some()).then(HashMap::new);
        self.failing.clear();
        self.is_busy = true;
        self.schedule = (self.mode == Mode::Service).then(|| Schedule::new(&self.plan.intervals(), self.now.steady));
        // Nobody hears any more how the writes of before end.
        for (store, state) in self.stores.iter_mut().enumerate() {
            self.out.effects.extend(state.write_again(store, self.now.steady));
        }
        if self.term().is_some() {
            (0..self.entries.len()).for_each(|at| self.bind(at));
            self.tidy_shared();
        }
    }
}
