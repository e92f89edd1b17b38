//! What was looked up is judged, and put into the queue where it must be sent.

use ddns_core::address::observation::Observation;
use ddns_core::config::Cache;
use ddns_core::net::family::Family;
use ddns_core::schedule::queue::{Job, Lane};
use ddns_core::text::duration::seconds;
use ddns_core::text::log_format::Level;
use ddns_core::update::Update;
use ddns_core::update::plan::{Reason, Verdict};

use super::lookups::Finished;
use super::sender::Batch;
use super::{LookedUp, Sync};

impl<'a> Sync<'a> {
    /// Queues everything that must be sent of the addresses that are known.
    pub(crate) fn queue_all(&mut self) {
        for at in 0..self.senders.len() {
            if self.senders[at].is_strict() && self.lookups.is_open(self.senders[at].config) {
                continue;
            }
            self.queue_family(at, Family::V4, false);
            self.queue_family(at, Family::V6, false);
        }
    }

    pub(super) fn looked_up(&mut self, finished: &Finished) -> LookedUp {
        self.lookups.log(finished);
        let Finished { lookup, family, senders, is_round } = finished;
        let observation = lookup.observed().map_or(Observation::Unavailable, Observation::Found);
        let mut looked_up = LookedUp { family: *family, ip: lookup.address(), senders: Vec::new() };
        for (at, number) in senders.iter().copied() {
            let sender = &self.senders[at];
            let is_news = self.lookups.finish(at, *family, number);
            if is_news {
                looked_up.senders.push(at);
                let source = lookup.found().map(|(source, _)| source);
                self.updates.observe(at, *family, observation.clone(), source);
            }
            if !sender.is_strict() && is_news {
                self.queue_family(at, *family, *is_round);
            } else if sender.is_strict() && !self.lookups.is_open(sender.config) {
                // Strict order: nothing begins before all of it is known.
                for at in (0..self.senders.len()).filter(|at| self.senders[*at].config == sender.config) {
                    self.queue_family(at, Family::V4, *is_round);
                    self.queue_family(at, Family::V6, *is_round);
                }
            }
        }
        self.note_lookup(finished, &looked_up.senders);
        self.tell_address();
        looked_up
    }

    /// Judges every update of a sender's family, and queues what must be sent: in a round also what is never remembered.
    pub(super) fn queue_family(&mut self, at: usize, family: Family, is_round: bool) {
        let sender = &self.senders[at];
        let domains = sender.entry.domains_of(family);
        let found = match *self.updates.observed(at, family) {
            Observation::Found(found) => Some(found),
            Observation::Unavailable => None,
            // Not looked up yet.
            Observation::Off => return,
        };
        if domains.is_empty() {
            return;
        }
        let jobs = (self.updates.first(at, family)..).zip(domains);
        let was_missing = self.lookups.set_missing(at, family, found.is_none());
        let Some(found) = found else {
            // Nothing is looked for in the cache, and nothing about it changes (E6).
            let count = domains.len();
            let plural = if count == 1 { "" } else { "s" };
            let level = if was_missing { Level::Debug } else { Level::Error };
            sender.log.line(level, || format!("no {family} address found: {count} update{plural} cannot be sent"));
            self.tallies[sender.config].without_address += count;
            for (job, _) in jobs {
                self.queue.withdraw(job);
                self.waiting.remove(&job);
            }
            if self.updates.is_combined(at) && !self.is_standing_by() {
                self.queue_groups(at, family, is_round);
            }
            return;
        };
        if was_missing {
            sender.log.info(format!("{family}: address found again: {}", found.ip()));
        }
        if self.is_standing_by() {
            return;
        }
        if self.updates.is_combined(at) {
            self.queue_groups(at, family, is_round);
            return;
        }
        self.updates.open_cache(at);
        let is_forgetful = is_round && sender.entry.cache == Cache::Off;
        for (job, domain) in jobs {
            let update = sender.entry.sendable(domain, family, found);
            self.queue_batch(job, at, vec![(job, update)], is_forgetful, &[family]);
        }
    }

    /// The same for a sender whose updates go in one request, when both families are known (H7). Each update is counted
    /// once: with the lookup of its family, or with the one that was waited for.
    fn queue_groups(&mut self, at: usize, family: Family, is_round: bool) {
        let sender = &self.senders[at];
        let is_open = |family: &Family| {
            !sender.entry.domains_of(*family).is_empty() && *self.updates.observed(at, *family) == Observation::Off
        };
        if Family::ALL.iter().any(is_open) {
            self.uncounted.insert((at, family));
            return;
        }
        let counted: Vec<Family> =
            Family::ALL.into_iter().filter(|one| self.uncounted.remove(&(at, *one)) || *one == family).collect();
        self.updates.open_cache(at);
        let is_forgetful = is_round && sender.entry.cache == Cache::Off;
        let mut failed = 0;
        for job in self.updates.leaders(at) {
            if let Some((_, batch)) = self.updates.batch(job) {
                self.queue_batch(job, at, batch, is_forgetful, &counted);
                continue;
            }
            self.queue.withdraw(job);
            self.waiting.remove(&job);
            let found = self.updates.members(job).into_iter().filter_map(|job| self.updates.update(job));
            failed += found.filter(|(_, update)| counted.contains(&update.family)).count();
        }
        if failed > 0 {
            self.tallies[sender.config].failed += failed;
            let plural = if failed == 1 { "" } else { "s" };
            sender.log.error(format!(
                "{failed} update{plural} not sent: the other address is missing; `combine.missing` says what stands in its place"
            ));
        }
    }

    /// Judges the updates of one request, and queues it where it must be sent. Those of the `counted` families are counted.
    pub(super) fn queue_batch(
        &mut self,
        job: Job,
        at: usize,
        mut batch: Batch<'a>,
        is_forgetful: bool,
        counted: &[Family],
    ) {
        let sender = &self.senders[at];
        let is_counted = |update: &Update<'_>| counted.contains(&update.family);
        let (verdict, stopped) = if is_forgetful {
            (Verdict::Send(Reason::NoCache), Vec::new())
        } else {
            self.updates.judge_batch(at, &mut batch)
        };
        // Without a cache it is judged when it starts.
        if !is_forgetful && !matches!(verdict, Verdict::Held(..) | Verdict::Stopped(..)) {
            self.unhold(job);
        }
        for (own, update, verdict) in stopped.iter().filter(|(_, update, _)| is_counted(update)) {
            self.hold(*own, at, update, verdict);
        }
        let Some(first) = batch.first().map(|(_, update)| *update) else {
            self.queue.withdraw(job);
            self.waiting.remove(&job);
            return;
        };
        match verdict {
            Verdict::UpToDate(since) => {
                let age = self.updates.now().saturating_sub(since);
                sender.log.debug(|| format!("{first}: already up to date, accepted {} ago", seconds(age)));
                self.tallies[sender.config].up_to_date += batch.iter().filter(|(_, update)| is_counted(update)).count();
                self.queue.withdraw(job);
                self.waiting.remove(&job);
            }
            Verdict::Wait(_) => {
                self.queue.withdraw(job);
                self.wait(job, at, &first);
            }
            Verdict::Held(..) | Verdict::Stopped(..) => {
                self.queue.withdraw(job);
                self.waiting.remove(&job);
                self.hold(job, at, &first, &verdict);
                // One of them is counted.
                let count = batch.iter().filter(|(_, update)| is_counted(update)).count();
                self.tallies[sender.config].held_back += count.saturating_sub(1);
            }
            Verdict::Send(reason) => {
                sender.log.debug(|| format!("{first}: {reason}"));
                self.waiting.remove(&job);
                let lane = self.lane(at, &batch);
                self.queue.push(job, lane);
            }
        }
    }

    fn lane(&mut self, at: usize, batch: &Batch<'_>) -> Lane {
        if let Some(lane) = self.lanes[at] {
            return lane;
        }
        let sender = &self.senders[at];
        let (key, is_common) = sender.lane(batch);
        let lane = self.queue.lane(key, sender.concurrency);
        if is_common {
            self.queue.keep(lane);
            self.lanes[at] = Some(lane);
        }
        lane
    }
}
