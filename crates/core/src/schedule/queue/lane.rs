//! A lane: the updates that go to one origin, how many of them are sent at once, and when all of them pause.

use std::collections::VecDeque;
use std::time::Duration;

use crate::config::Concurrency;
use crate::schedule::backoff::Backoff;
use crate::schedule::limiter::Limiter;
use crate::update::outcome::Outcome;

/// The number of an update, in the order of the configuration.
pub type UpdateId = u32;

/// The number of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(pub(super) u32);

/// What the updates of a lane have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LaneKey {
    /// They go to this origin.
    pub origin: String,
    /// They belong to this configuration, which requires strict order: one at a time over all of its lanes.
    pub strict: Option<usize>,
}

/// Why nothing is sent in a lane, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// When it ends.
    pub until: Duration,
    /// The failure that caused it.
    pub outcome: Outcome,
    /// Until when the endpoint asked for it (`Retry-After`): nothing cuts it shorter.
    pub requested: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct LaneState {
    pub(super) key: LaneKey,
    pub(super) limiter: Limiter,
    pub(super) sending: usize,
    /// When a request last started or ended.
    pub(super) moved: Duration,
    /// Whether the lane is checked again later, because its requests may hang.
    pub(super) is_watched: bool,
    pub(super) queued: VecDeque<UpdateId>,
    /// In strict order: when each of these was queued, as a running number.
    pub(super) turns: VecDeque<u64>,
    /// Whether the lane is listed among those that may have something to start.
    pub(super) is_listed: bool,
    /// Whether its number must stay valid.
    pub(super) is_kept: bool,
    pub(super) pause: Option<Pause>,
    /// Overloads and lost connections since the last accepted update, or the last pause.
    trouble: usize,
    /// Pauses since the last accepted update.
    pauses: u32,
}

impl LaneState {
    pub(super) fn new(key: LaneKey, concurrency: Concurrency, pause: Option<Pause>) -> Self {
        Self {
            key,
            limiter: Limiter::new(concurrency),
            sending: 0,
            moved: Duration::ZERO,
            is_watched: false,
            queued: VecDeque::new(),
            turns: VecDeque::new(),
            is_listed: false,
            is_kept: false,
            pause,
            trouble: 0,
            pauses: 0,
        }
    }

    /// Whether the lane is in use, or its number must stay valid.
    pub(super) fn is_needed(&self) -> bool {
        self.is_kept || self.sending > 0 || !self.queued.is_empty() || self.pause.is_some()
    }

    /// Whether the lane's own limit lets another update start.
    pub(super) fn has_room(&self) -> bool {
        !self.is_held() && self.limiter.has_room(self.sending)
    }

    /// Whether requests under way keep others from starting, if they hang.
    pub(super) fn could_hang(&self) -> bool {
        !self.is_held() && self.limiter.could_hang(self.sending)
    }

    /// Whether nothing can start: the lane is paused, or nothing is queued.
    pub(super) fn is_held(&self) -> bool {
        self.pause.is_some() || self.queued.is_empty()
    }

    /// Notes how an update of the lane ended.
    pub(super) fn finish(&mut self, outcome: &Outcome, now: Duration) {
        self.sending -= 1;
        self.moved = now;
        self.limiter.learn(outcome, now, self.sending);
        if outcome.is_accepted() {
            self.trouble = 0;
            self.pauses = 0;
        }
    }

    /// Starts or extends a pause if a failure concerns the whole endpoint: the endpoint asked for it, or as many requests
    /// failed in a row as are sent at once.
    pub(super) fn fail(
        &mut self,
        outcome: &Outcome,
        requested: Option<Duration>,
        backoff: Backoff,
        now: Duration,
        jitter: f64,
    ) {
        if !outcome.is_trouble() {
            return;
        }
        self.trouble += 1;
        let until = match requested {
            Some(requested) => now + requested,
            None if self.pause.is_none() && self.trouble >= self.limiter.limit() => {
                self.trouble = 0;
                self.pauses += 1;
                now + backoff.delay(self.pauses, jitter)
            }
            None => return,
        };
        let requested = requested.map(|requested| now + requested);
        self.extend_pause(Pause { until, outcome: outcome.clone(), requested });
    }

    /// Starts a pause, or extends the one that there is.
    pub(super) fn extend_pause(&mut self, pause: Pause) {
        self.pause = Some(match self.pause.take() {
            Some(before) => {
                let outcome = if pause.until >= before.until { pause.outcome } else { before.outcome };
                let (until, requested) = (pause.until.max(before.until), pause.requested.max(before.requested));
                Pause { until, outcome, requested }
            }
            None => pause,
        });
    }

    /// Ends the pause, except for what the endpoint asked for.
    pub(super) fn cut_pause(&mut self) {
        self.pause = self.pause.take().and_then(|pause| Some(Pause { until: pause.requested?, ..pause }));
    }

    /// Whether the pause could be cut short.
    pub(super) fn can_be_cut(&self) -> bool {
        self.pause.as_ref().is_some_and(|pause| pause.requested != Some(pause.until))
    }
}
