//! How every update stands, for `ddns status` and the page.

use std::collections::BTreeSet;
use std::time::Duration;

use ddns_core::address::observation::Observation;
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::{Job, Queue, Stage};
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::endpoint::{Endpoint, tell_apart};
use ddns_core::update::outcome::Outcome;
use ddns_core::update::plan::{Reason, Verdict};
use ddns_core::update::status::{Last, Row, UpdateState, reason, seconds};

use super::Updates;
use crate::clock::steady_time;

/// What decides where there is no `expect` (A4).
const STATUS: &str = "the status alone: 200 to 299 is accepted";

impl Updates<'_> {
    /// Notes how a request ended, for [`Updates::rows`].
    pub(in crate::sync) fn note(&mut self, job: Job, outcome: &Outcome, took: Duration) {
        if self.is_service {
            if self.ended.is_empty() {
                self.ended = vec![None; self.len()];
            }
            let took = u32::try_from(took.as_millis()).unwrap_or(u32::MAX);
            self.ended[job as usize] = Some(Last { status: outcome.status(), took });
        }
    }

    /// Notes which condition decided on the last response.
    pub(in crate::sync) fn decided(&mut self, job: Job, because: Option<&String>) {
        if let Some(decisions) = &mut self.decisions {
            match because.filter(|because| !because.is_empty()) {
                Some(because) => decisions.insert(job, because.clone()),
                None => decisions.remove(&job),
            };
        }
    }

    /// What decided on the last response, in words; none where there was none.
    pub(in crate::sync) fn decision(&self, at: usize, job: Job) -> Option<String> {
        let last = self.ended.get(job as usize).copied().flatten()?;
        let because = self.decisions.as_ref().and_then(|decisions| decisions.get(&job));
        let by_status =
            || (self.senders[at].entry.callback.expect.is_none() && last.status.is_some()).then_some(STATUS);
        because.cloned().or_else(|| by_status().map(str::to_owned))
    }

    /// How every update stands.
    pub(in crate::sync) fn rows(&self, queue: &Queue, waiting: &BTreeSet<Job>) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut endpoints: Vec<&Endpoint> = Vec::new();
        let known: Vec<Endpoint> = self.senders.iter().map(|sender| sender.entry.callback.endpoint()).collect();
        for (at, sender) in self.senders.iter().enumerate() {
            for family in Family::ALL {
                for (job, domain) in (self.first(at, family)..).zip(sender.entry.domains_of(family)) {
                    let is_waiting = waiting.contains(&self.leader(job));
                    rows.push(self.row(queue, is_waiting, job, at, (domain, family)));
                    endpoints.push(&known[at]);
                }
            }
        }
        tell_apart(&mut rows, &endpoints);
        rows
    }

    fn row(&self, queue: &Queue, is_waiting: bool, own: Job, at: usize, (domain, family): (&Domain, Family)) -> Row {
        let memory = self.memory(at, domain, family);
        let entry = memory.map(|memory| memory.entry(domain, family)).unwrap_or_default();
        let ip = match *self.observed(at, family) {
            Observation::Found(found) => Some(self.senders[at].entry.update(domain, family, found.ip()).ip),
            Observation::Unavailable | Observation::Off => None,
        };
        let job = self.leader(own);
        let left = |until: Duration| seconds(until.saturating_sub(steady_time()));
        let (state, next, why) = match (queue.stage(job), queue.retry(job), ip) {
            _ if is_waiting => {
                let left = entry.in_doubt.map_or(0, |doubt| doubt.until.saturating_sub(self.now()));
                let why = "another process is sending an older address".to_owned();
                (UpdateState::Retrying, Some(left), Some(why))
            }
            (Stage::WaitingToRetry, Some(retry), _) => {
                (UpdateState::Retrying, Some(left(retry.at)), Some(reason(&retry.outcome)))
            }
            (Stage::Idle | Stage::Withdrawn(_), _, None) => (UpdateState::NoAddress, None, None),
            // The other address of its request is missing (H7).
            (Stage::Idle | Stage::Withdrawn(_), ..) if self.is_combined(at) && self.batch(job).is_none() => {
                (UpdateState::NoAddress, None, None)
            }
            (Stage::Idle | Stage::Withdrawn(_), _, Some(ip)) => match self.judge(at, &Update { domain, family, ip }) {
                Verdict::Stopped(why, _) => (UpdateState::Stopped, None, Some(why)),
                Verdict::Held(until, by) => {
                    let left = until.saturating_sub(self.now());
                    (UpdateState::HeldBack, Some(left), Some(by.reason().to_owned()))
                }
                // What is too old is sent in the next round; until then nothing is wrong with it.
                Verdict::UpToDate(_) | Verdict::Send(Reason::Old(_)) => (UpdateState::UpToDate, None, None),
                // It is about to be sent: what held it back is over, for one.
                Verdict::Send(_) | Verdict::Wait(_) => (UpdateState::Sending, None, None),
            },
            _ => match queue.pause_of(job) {
                Some(pause) => (UpdateState::Retrying, Some(left(pause.until)), Some(reason(&pause.outcome))),
                None => (UpdateState::Sending, None, None),
            },
        };
        let failures = match queue.stage(job) {
            Stage::WaitingToRetry if !is_waiting => queue.retry(job).map(|retry| retry.failures),
            _ => None,
        };
        let last = self.ended.get(own as usize).copied().flatten();
        Row {
            domain: domain.to_string(),
            kind: family.record_type().to_owned(),
            endpoint: None,
            address: ip,
            source: self.source(at, family).filter(|_| ip.is_some()),
            accepted: entry.accepted.map(|accepted| accepted.at),
            accepted_address: entry.accepted.map(|accepted| accepted.ip),
            // What is being sent for the first time is not in doubt yet.
            in_doubt: entry.in_doubt.map(|doubt| doubt.ip).filter(|_| state != UpdateState::Sending),
            state,
            next,
            failures,
            reason: why,
            last_status: last.and_then(|last| last.status),
            last_ms: last.map(|last| last.took),
            is_expired: false,
        }
    }
}
