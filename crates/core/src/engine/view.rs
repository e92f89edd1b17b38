//! The state of every update, for `ddns status` and the page.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::in_flight::{InFlight, SequencePart};
use super::{Engine, Mode, RequestId};
use crate::config::Cache;
use crate::dns::{DnsVerdict, why_not_asked};
use crate::journal::{DnsState, Endpoint, Row, UpdateState, tell_apart};
use crate::net::family::Family;
use crate::schedule::queue::{Stage, UpdateId};
use crate::text::duration::whole_seconds;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::hold::HeldBy;
use crate::update::plan::{MAY_STILL_ARRIVE, Reason, Verdict};
use crate::update::state::Accepted;

/// What decides if there is no `expect` (A4).
const STATUS: &str = "only the status: 200 to 299 means accepted";

/// The state of an update, the seconds until it changes, and why.
type RowState = (UpdateState, Option<u64>, Option<String>);

impl Engine {
    /// The state of every update.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut endpoints: Vec<&Endpoint> = Vec::new();
        let entries = 0..self.plan.entry_count();
        let mut known: Vec<Endpoint> = entries.map(|at| self.plan.entry(at).callback.endpoint()).collect();
        // Entries may differ only in what is masked.
        let mut places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, endpoint) in known.iter().enumerate() {
            places.entry(endpoint.address.clone()).or_default().push(at);
        }
        for at in places.into_values().filter(|places| places.len() > 1).flatten() {
            let first = self.plan.entries_of(self.plan.config_of(at)).start;
            known[at].address += &format!(" (entry {})", at - first + 1);
        }
        for (at, endpoint) in known.iter().enumerate() {
            for family in Family::ALL {
                for (id, domain) in (self.plan.first(at, family)..).zip(self.plan.entry(at).domains_of(family)) {
                    rows.push(self.row(id, at, domain, family));
                    endpoints.push(endpoint);
                }
            }
        }
        tell_apart(&mut rows, &endpoints);
        if self.is_standing_by() {
            rows.iter_mut().for_each(Row::stand_by);
        }
        rows
    }

    /// The updates in a request that is under way, and their addresses; empty if the request goes before or after its updates.
    pub fn carried(&self, request: RequestId) -> &[(UpdateId, IpAddr)] {
        let is_update = |request: &&InFlight| {
            request.sequence.as_ref().is_none_or(|sequence| sequence.part == SequencePart::Update)
        };
        self.requests.get(&request).filter(is_update).map_or(&[], |request| &request.members)
    }

    /// Whether all updates of a configuration are up to date, except families that are switched off. Entries that remember
    /// nothing are left out: a single run without a cache sends everything, and its tally has the result.
    pub fn is_well(&self, config: usize) -> bool {
        let is_remembered = |at: &usize| self.mode == Mode::Service || self.plan.entry(*at).cache != Cache::Off;
        let entries = self.plan.entries_of(config).filter(is_remembered);
        let families = entries.flat_map(|at| Family::ALL.map(|family| (at, family)));
        families.filter(|(at, family)| !self.plan.entry(*at).sources_of(*family).is_empty()).all(|(at, family)| {
            let domains = (self.plan.first(at, family)..).zip(self.plan.entry(at).domains_of(family));
            domains.into_iter().all(|(id, domain)| self.row(id, at, domain, family).state.is_good())
        })
    }

    fn row(&self, own: UpdateId, at: usize, domain: &Domain, family: Family) -> Row {
        let claim = self.claim(at, domain, family);
        let address = self.wanted(at, domain, family);
        let id = self.plan.leader(own);
        let (queued, retry) = (self.queue.stage(id), self.queue.retry(id));
        let left = |until: Duration| Some(whole_seconds(until.saturating_sub(self.now.steady)));
        let (state, next, why) = match (queued, retry, address) {
            _ if self.mode == Mode::Look => self.remembered(at, domain, family),
            _ if self.waiting.contains(&id) => {
                let left = claim.in_doubt.map_or(0, |doubt| doubt.until.saturating_sub(self.clock()));
                (UpdateState::Retrying, Some(left), Some(MAY_STILL_ARRIVE.to_owned()))
            }
            (Stage::Idle, ..) if self.asked.later.contains_key(&id) => {
                let at = self.asked.later.get(&id).copied().unwrap_or_default();
                (UpdateState::Retrying, left(at), Some(MAY_STILL_ARRIVE.to_owned()))
            }
            (Stage::WaitingToRetry, Some(retry), _) => {
                let at = self.queue.retry_at(id).unwrap_or(retry.at);
                (UpdateState::Retrying, left(at), Some(retry.outcome.reason()))
            }
            (Stage::Idle | Stage::Withdrawn(_), _, None) => {
                (UpdateState::NoAddress, None, Some(self.why_missing(at, family)))
            }
            // The other address of its request is missing (H7).
            (Stage::Idle | Stage::Withdrawn(_), ..)
                if self.plan.is_combined(at) && self.batch(&self.plan, id).is_none() =>
            {
                (UpdateState::NoAddress, None, None)
            }
            (Stage::Idle | Stage::Withdrawn(_), _, Some(ip)) => match self.judge(at, &Update { domain, family, ip }) {
                Verdict::Stopped(why, _) => (UpdateState::Stopped, None, Some(why)),
                Verdict::Held(until, by) => self.held_back(until, by),
                Verdict::UpToDate(_) => (UpdateState::UpToDate, None, None),
                Verdict::Send(reason) => match (self.held_with_others(at, id), reason) {
                    (Some((until, by)), _) => self.held_back(until, by),
                    // An update that is too old is sent in the next round; until then, nothing is wrong.
                    (None, Reason::Old(_)) => (UpdateState::UpToDate, None, None),
                    // It is about to be sent, for example because it is no longer held back.
                    (None, _) => (UpdateState::Sending, None, None),
                },
                Verdict::Wait(_) => (UpdateState::Sending, None, None),
            },
            _ => match self.queue.pause_of(id) {
                Some(pause) => (UpdateState::Retrying, left(pause.until), Some(pause.outcome.reason())),
                None => (UpdateState::Sending, None, None),
            },
        };
        let failures = match queued {
            Stage::Idle | Stage::Withdrawn(_) => None,
            _ => retry.map(|retry| retry.failures),
        };
        let last = self.ended.get(own as usize).copied().flatten();
        // If the current address is unknown, judge the one that was accepted last.
        let counts = |accepted: Accepted| {
            matches!(self.judge(at, &Update { domain, family, ip: accepted.ip }), Verdict::UpToDate(_))
        };
        Row {
            domain: domain.to_string(),
            kind: family.record_type().to_owned(),
            address,
            source: self.source(at, family).filter(|_| address.is_some()),
            accepted: claim.accepted.map(|accepted| accepted.at),
            accepted_address: claim.accepted.map(|accepted| accepted.ip),
            // An update that is being sent for the first time is not in doubt yet; nor is one that was marked and not sent.
            in_doubt: claim
                .in_doubt
                .filter(|doubt| state != UpdateState::Sending && (doubt.by != self.own || self.is_under_way(own)))
                .map(|doubt| doubt.ip),
            state,
            next,
            failures,
            reason: why,
            last_status: last.and_then(|last| last.status),
            last_ms: last.map(|last| last.took),
            dns: self.dns_state(at, domain, family, claim.accepted),
            is_expired: state == UpdateState::Accepted && !claim.accepted.is_some_and(counts),
            ..Row::default()
        }
    }

    /// What DNS shows of an update.
    fn dns_state(&self, at: usize, domain: &Domain, family: Family, accepted: Option<Accepted>) -> Option<DnsState> {
        let verify = self.plan.entry(at).verify_of(domain, family)?;
        if let Some(why) = why_not_asked(domain.as_str()) {
            let text = format!("unknown: the name {why}");
            let verdict = DnsVerdict::Unknown;
            let since = self.clock();
            return Some(DnsState { verdict, text, is_late: false, since, asked: None, ttl: None, repairs: 0 });
        }
        let seen = self.visibility(at, domain, family).filter(|seen| Some(seen.ip) == accepted.map(|it| it.ip))?;
        Some(DnsState {
            verdict: seen.verdict(),
            text: seen.sentence(verify, self.clock()),
            is_late: seen.is_late(verify, self.clock()),
            since: seen.since,
            asked: (seen.last > 0).then_some(seen.last),
            ttl: seen.found.ttl,
            repairs: seen.repairs.count,
        })
    }

    /// Until when, and by what, the request of an update is held back because of another update in it.
    fn held_with_others(&self, at: usize, id: UpdateId) -> Option<(u64, HeldBy)> {
        let (_, mut batch) = self.batch(&self.plan, id).filter(|_| self.plan.is_combined(at))?;
        match self.judge_batch(at, &mut batch, false).0 {
            Verdict::Held(until, by) => Some((until, by)),
            _ => None,
        }
    }

    /// The state of an update, only by what is remembered.
    fn remembered(&self, at: usize, domain: &Domain, family: Family) -> RowState {
        let claim = self.claim(at, domain, family);
        let hold = self.memory(at, domain, family).and_then(|memory| memory.hold(domain, family));
        // `min_interval` also runs after an update was accepted, when nothing is held back.
        let is_due = claim.accepted.is_none() || claim.in_doubt.is_some();
        let waits = hold
            .and_then(|hold| hold.until(self.plan.entry(at).min_interval, self.clock()))
            .filter(|(_, by)| is_due || *by == HeldBy::Service);
        match (hold.and_then(|hold| hold.stopped.as_ref()), waits) {
            (Some(stopped), _) => (UpdateState::Stopped, None, Some(stopped.why.clone())),
            (None, Some((until, by))) => self.held_back(until, by),
            (None, None) if is_due => (UpdateState::InDoubt, None, None),
            (None, None) => (UpdateState::Accepted, None, None),
        }
    }

    fn held_back(&self, until: u64, by: HeldBy) -> RowState {
        (UpdateState::HeldBack, Some(until.saturating_sub(self.clock())), Some(by.reason().to_owned()))
    }

    /// The source of an entry's address.
    pub(super) fn source(&self, at: usize, family: Family) -> Option<String> {
        self.entries[at].sources[family.index()].clone()?.ok()
    }

    /// Why an entry has no address.
    fn why_missing(&self, at: usize, family: Family) -> String {
        match &self.entries[at].sources[family.index()] {
            Some(Err(why)) => self.masked(at, why),
            _ => "it is being looked up".to_owned(),
        }
    }

    /// What decided on the last response; `None` if there was none.
    pub(super) fn decision(&self, at: usize, id: UpdateId) -> Option<String> {
        let last = self.ended.get(id as usize).copied().flatten()?;
        let because = self.decisions.as_ref().and_then(|decisions| decisions.get(&id));
        let is_by_status = self.plan.entry(at).callback.request.expect.is_none() && last.status.is_some();
        because.cloned().or_else(|| is_by_status.then(|| STATUS.to_owned()))
    }
}
