//! Updates that go in one request.

use ddns_core::address::observation::Observation;
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::Job;
use ddns_core::update::Sendable;
use ddns_core::update::plan::{Verdict, together};

use super::Updates;
use crate::sync::sender::{Batch, Sender};

/// Which updates of a sender go in one request.
pub(super) struct Groups {
    all: Vec<Vec<Job>>,
    /// The group of each update, by its number from the sender's first on.
    of: Vec<usize>,
}

impl<'a> Updates<'a> {
    /// Whether updates of a sender go in one request.
    pub(in crate::sync) fn is_combined(&self, at: usize) -> bool {
        self.states[at].groups.is_some()
    }

    /// The updates that go in one request with this one, and itself; the first one stands for all of them in the queue.
    pub(in crate::sync) fn members(&self, job: Job) -> Vec<Job> {
        let state = &self.states[self.sender_of(job)];
        let members = |groups: &Groups| groups.all[groups.of[(job - state.first) as usize]].clone();
        state.groups.as_ref().map_or_else(|| vec![job], members)
    }

    /// The update that stands for its request in the queue.
    pub(in crate::sync) fn leader(&self, job: Job) -> Job {
        let state = &self.states[self.sender_of(job)];
        let leader = |groups: &Groups| groups.all[groups.of[(job - state.first) as usize]].first().copied();
        state.groups.as_ref().and_then(leader).unwrap_or(job)
    }

    /// The first update of each request of a sender.
    pub(in crate::sync) fn leaders(&self, at: usize) -> Vec<Job> {
        let first = |group: &Vec<Job>| group.first().copied();
        self.states[at].groups.iter().flat_map(|groups| &groups.all).filter_map(first).collect()
    }

    /// The updates of one request as they are to be sent now, and their sender; none where there is no address. A family
    /// that was looked for and has none now is left out, where something stands in its place.
    pub(in crate::sync) fn batch(&self, job: Job) -> Option<(usize, Batch<'a>)> {
        let at = self.sender_of(job);
        if !self.is_combined(at) {
            return self.update(job).map(|(at, update)| (at, vec![(job, update)]));
        }
        let members = self.members(job);
        let batch: Batch<'a> = members.iter().filter_map(|job| Some((*job, self.update(*job)?.1))).collect();
        let combine = self.senders[at].entry.callback.variables.combine();
        let may_lack = combine.is_some_and(|combine| combine.missing.is_some());
        let is_unavailable = |job: &Job| {
            let (at, _, family) = self.about(*job);
            *self.observed(at, family) != Observation::Off
        };
        let is_whole = batch.len() == members.len() || may_lack && members.iter().all(is_unavailable);
        (is_whole && !batch.is_empty()).then_some((at, batch))
    }

    /// What is to be done about the updates of one request. Those that are stopped are taken out, and returned.
    pub(in crate::sync) fn judge_batch(
        &self,
        at: usize,
        batch: &mut Batch<'a>,
    ) -> (Verdict, Vec<(Job, Sendable<'a>, Verdict)>) {
        if let [(job, update)] = batch[..] {
            let verdict = self.judge(at, &update);
            let stopped = matches!(verdict, Verdict::Stopped(..)).then(|| (job, update, verdict.clone()));
            if stopped.is_some() {
                batch.clear();
            }
            return (verdict, stopped.into_iter().collect());
        }
        let (updates, verdicts): (Vec<_>, Vec<_>) =
            batch.iter().map(|(_, update)| (**update, self.judge(at, update))).unzip();
        let (verdict, carried) = together(&updates, &verdicts);
        let mut carried = carried.into_iter().zip(verdicts);
        let mut stopped = Vec::new();
        batch.retain(|(job, update)| {
            let Some((false, verdict)) = carried.next() else { return true };
            stopped.push((*job, *update, verdict));
            false
        });
        (verdict, stopped)
    }
}

/// Which updates of a sender go in one request; none where each has its own.
pub(super) fn groups(sender: &Sender<'_>, first: Job) -> Option<Groups> {
    let number = |at: usize| Job::try_from(at).unwrap_or(Job::MAX);
    let before_v6 = sender.entry.domains_of(Family::V4).len();
    let job = |(family, at): (Family, usize)| first + number(if family == Family::V4 { at } else { before_v6 + at });
    let places = sender.entry.groups()?;
    let all: Vec<Vec<Job>> = places.into_iter().map(|group| group.into_iter().map(job).collect()).collect();
    let mut of = vec![0; all.iter().map(Vec::len).sum()];
    for (number, group) in all.iter().enumerate() {
        for job in group {
            of[(job - first) as usize] = number;
        }
    }
    Some(Groups { all, of })
}
