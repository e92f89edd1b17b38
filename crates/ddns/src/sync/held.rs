//! Updates that are due and are not sent yet: a service stopped them or wants a pause, or another process is sending.

use std::time::{Duration, Instant};

use ddns_core::net::family::Family;
use ddns_core::schedule::queue::{Job, Stage};
use ddns_core::text::duration::seconds;
use ddns_core::text::log_format::Level;
use ddns_core::update::Update;
use ddns_core::update::outcome::Outcome;
use ddns_core::update::plan::Verdict;

use super::Sync;
use crate::clock::steady_time;

/// How often is looked whether another process has ended what it sends.
const RECHECK: Duration = Duration::from_millis(250);

impl Sync<'_> {
    /// An update is due and must not be sent, now or at all. A service judges it again when its time has come.
    pub(super) fn hold(&mut self, job: Job, at: usize, update: &Update<'_>, verdict: &Verdict) {
        let (sender, now) = (&self.senders[at], self.updates.now());
        let tally = &mut self.tallies[sender.config];
        let (line, until) = match verdict {
            Verdict::Held(until, by) => {
                tally.held_back += 1;
                let left = seconds(until.saturating_sub(now));
                (format!("{update}: held back for {left}: {}", by.reason()), Some(*until))
            }
            Verdict::Stopped(words, _) => {
                tally.stopped += 1;
                let way_out = "change its configuration, or run `ddns --retry-stopped`";
                (format!("{update}: stopped: the service refused it for good with `{words}`; {way_out}"), None)
            }
            _ => return,
        };
        // Said once, and in every run.
        let is_news = self.held.get(&job) != Some(&until);
        self.unhold(job);
        self.held.insert(job, until);
        self.held_until.extend(until.map(|until| (until, job)));
        sender.log.line(if is_news { Level::Error } else { Level::Debug }, || line);
        if is_news {
            self.note_held(at, update, verdict);
        }
    }

    /// A service refused one update, and with it every update of its entry (H5): those in the queue are taken out of it, those that are
    /// under way end.
    pub(super) fn stop_all(&mut self, at: usize, update: &Update<'_>, outcome: &Outcome) {
        self.updates.stop_all(at, update, outcome);
        for job in self.updates.of_sender(at) {
            if matches!(self.queue.stage(job), Stage::Queued(_) | Stage::WaitingToRetry)
                && let Some((_, batch)) = self.updates.batch(job)
            {
                for (own, update) in &batch {
                    self.updates.unmark(*own, at, update);
                }
                self.queue_batch(job, at, batch, false, &Family::ALL);
            }
        }
    }

    /// It is not held back any more.
    pub(super) fn unhold(&mut self, job: Job) {
        if let Some(until) = self.held.remove(&job).flatten() {
            self.held_until.remove(&(until, job));
        }
    }

    /// Judges again what was held back, where its time has come.
    pub(super) fn release(&mut self) {
        let now = self.updates.now();
        while let Some((_, job)) = self.held_until.first().copied().filter(|(until, _)| *until <= now) {
            self.unhold(job);
            if let Some((at, batch)) = self.updates.batch(job) {
                self.updates.open_cache(at);
                self.queue_batch(job, at, batch, false, &Family::ALL);
            }
        }
    }

    /// When something that is held back may be sent, on the steady clock.
    pub(super) fn release_at(&self) -> Option<Duration> {
        let (next, _) = self.held_until.first()?;
        Some(steady_time() + Duration::from_secs(next.saturating_sub(self.updates.now())))
    }

    /// Sends what services stopped, too.
    pub(crate) fn retry_stopped(&mut self) {
        self.updates.forget_stops();
        self.held.retain(|_, until| until.is_some());
    }

    /// Another process is sending an older address: it is waited for.
    pub(super) fn wait(&mut self, job: Job, at: usize, update: &Update<'_>) {
        if self.waiting.insert(job) {
            let why = "another process is sending an older address, or was killed while it did";
            self.senders[at].log.info(format!("{update}: waiting: {why}"));
        }
        self.recheck_at.get_or_insert_with(|| Instant::now() + RECHECK);
    }

    /// Judges again what waits for another process.
    pub(super) fn recheck(&mut self) {
        if self.is_closing || self.recheck_at.is_none_or(|at| at > Instant::now()) {
            return;
        }
        self.recheck_at = None;
        for job in self.waiting.clone() {
            match self.updates.batch(job) {
                Some((at, batch)) => {
                    self.updates.open_cache(at);
                    self.queue_batch(job, at, batch, false, &Family::ALL);
                }
                None => {
                    self.waiting.remove(&job);
                }
            }
        }
    }
}
