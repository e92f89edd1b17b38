//! Requests that are on their way, and how far each has come.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use smallvec::{SmallVec, smallvec};

use super::plan::Plan;
use super::queueing::{Members, Sendables};
use crate::address::observation::Observed;
use crate::callback::steps::{LookupStep, Search};
use crate::callback::{Callback, RequestTemplate};
use crate::schedule::limiter::Line;
use crate::schedule::queue::{Lane, UpdateId};
use crate::text::json::Value;
use crate::update::outcome::{Outcome, Why};
use crate::update::state::Fingerprint;

/// A request that has its place in the queue.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) start: (UpdateId, Lane),
    /// What it carries.
    pub(super) members: Members<IpAddr>,
    pub(super) began: Duration,
    /// Where it goes; `None` if that need not be named.
    pub(super) origin: Option<String>,
    /// How far it has come; `None` if nothing goes around it.
    pub(super) sequence: Option<Box<Sequence>>,
}

/// What else is known of a request that has ended.
#[derive(Debug, Default)]
pub(super) struct Circumstances {
    /// Which condition of `expect` decided, one for each update; empty where the status did.
    pub(super) because: Vec<String>,
    pub(super) retry_after: Option<Duration>,
    pub(super) relay: Option<String>,
    pub(super) allow: Option<String>,
    pub(super) line: Option<Line>,
    /// What it needs failed for another update, and nobody asks again before then.
    pub(super) in_vain_until: Option<Duration>,
}

/// What a step asks: its entry, and its request; where that is kept, and what is looked for in the answer.
pub(super) type AskKey = (usize, Fingerprint);

/// How far an update has come that has requests around it.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) part: SequencePart,
    /// What steps found.
    pub(super) taken: Vec<Option<Value>>,
    /// Kept answers that it used, until when each is kept, and the request that asked for it.
    pub(super) kept: Vec<(AskKey, Duration, Option<AskKey>)>,
    /// Whether the last step found nothing.
    pub(super) is_absent: bool,
    /// Whether the service has the address already, and only what follows the update is sent.
    pub(super) is_there: bool,
    pub(super) search: Search,
    /// What the step under way asks.
    pub(super) key: Option<AskKey>,
    /// When the last step was sent.
    pub(super) asked_at: Duration,
    /// The same in seconds since the epoch.
    pub(super) asked_day: u64,
    /// The addresses that it began with.
    pub(super) observed: [Option<Observed>; 2],
    /// How the update ended, while what follows it is under way.
    pub(super) ended: Option<EndedRequest>,
}

/// How a request ended: one outcome for each update, or one for all.
pub(super) type EndedRequest = (SmallVec<[Outcome; 1]>, Circumstances);

/// Which request of a sequence is next, or under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequencePart {
    Before(usize),
    Update,
    After,
}

/// What is known of something that steps ask.
#[derive(Debug)]
pub(super) enum StepAsk {
    /// It was sent then and is under way; these wait for it, too, and these pages of it came.
    UnderWay { sent: (Duration, u64), waiting: Vec<InFlight>, pages: AnswerPages },
    /// It was answered.
    Answered { sent: (Duration, u64), ended: Duration, pages: AnswerPages, used_by: BTreeSet<UpdateId> },
    /// It failed, and nobody asks again before then; the service may have asked for that.
    Failed { outcome: Outcome, until: Duration, is_requested: bool },
    /// What was found is kept until then.
    Kept { values: Vec<(usize, Value)>, until: Duration },
}

/// Answers, with their status.
pub(super) type AnswerPages = Vec<(u16, Rc<str>)>;

/// What steps asked and were answered. Nothing of it is ever written.
#[derive(Debug, Default)]
pub(super) struct StepMemory {
    pub(super) asks: BTreeMap<AskKey, StepAsk>,
    /// What is to be marked and sent.
    pub(super) ready: Vec<InFlight>,
    /// Updates whose service seems to have the address: when they are looked at again.
    pub(super) later: BTreeMap<UpdateId, Duration>,
    /// When the last request of an update ended without being accepted.
    pub(super) last_sent: BTreeMap<UpdateId, Duration>,
}

impl StepMemory {
    /// Everything that was kept is asked for anew.
    pub(super) fn forget(&mut self) {
        self.asks.retain(|_, ask| matches!(ask, StepAsk::UnderWay { .. }));
    }

    /// What failed may be asked again at once: everything, or what found no way there.
    pub(super) fn retry_now(&mut self, everything: bool) {
        let is_over = |outcome: &Outcome| everything || outcome.status().is_none();
        self.asks
            .retain(|_, ask| !matches!(ask, StepAsk::Failed { outcome, is_requested: false, .. } if is_over(outcome)));
    }

    /// When something is to be done.
    pub(super) fn wake_at(&self) -> Option<Duration> {
        self.later.values().min().copied()
    }

    /// Whether nothing was asked, or everything is forgotten.
    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty() && self.later.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.later.is_empty()
    }

    pub(super) fn withdraw(&mut self, id: UpdateId) {
        self.later.remove(&id);
    }

    /// A request of an update has ended.
    pub(super) fn note_ended(&mut self, id: UpdateId, is_accepted: bool, now: Duration) {
        if is_accepted {
            self.last_sent.remove(&id);
        } else {
            self.last_sent.insert(id, now);
        }
    }
}

impl InFlight {
    /// What it sends now, once its steps are done.
    pub(super) fn template<'c>(&self, callback: &'c Callback) -> &'c RequestTemplate {
        let update = &callback.request;
        match &self.sequence {
            Some(sequence) if sequence.part == SequencePart::After => callback.after().unwrap_or(update),
            Some(sequence) if sequence.is_absent => callback.absent().unwrap_or(update),
            _ => update,
        }
    }

    /// The step that is next or under way.
    pub(super) fn step<'c>(&self, callback: &'c Callback) -> Option<&'c LookupStep> {
        callback.steps().get(self.step_number()?)
    }

    pub(super) fn step_number(&self) -> Option<usize> {
        match self.sequence.as_ref()?.part {
            SequencePart::Before(number) => Some(number),
            SequencePart::Update | SequencePart::After => None,
        }
    }

    pub(super) fn taken(&self) -> &[Option<Value>] {
        self.sequence.as_ref().map_or(&[], |sequence| &sequence.taken)
    }

    /// Its updates as they were when it began.
    pub(super) fn as_begun<'p>(&self, plan: &'p Plan) -> Sendables<'p> {
        let observed = self.sequence.as_ref().map_or([None; 2], |sequence| sequence.observed);
        let sendable = |(id, _): &(UpdateId, IpAddr)| {
            let (at, domain, family) = plan.about(*id);
            Some((*id, plan.entry(at).sendable(domain, family, observed[family.index()]?)))
        };
        self.members.iter().filter_map(sendable).collect::<Members<_>>()
    }

    /// Whether something was used that was kept.
    pub(super) fn is_kept(&self) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| !sequence.kept.is_empty())
    }

    /// Whether it still looks something up: nothing was sent.
    pub(super) fn is_step(&self) -> bool {
        self.step_number().is_some()
    }

    /// Whether it is what follows the update.
    pub(super) fn is_after(&self) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| sequence.part == SequencePart::After)
    }

    /// When the service was seen to have the address, in seconds since the epoch.
    pub(super) fn asked_day(&self) -> Option<u64> {
        self.sequence.as_ref().map(|sequence| sequence.asked_day)
    }

    /// How the whole ended, where this was what follows the update: `what`.
    pub(super) fn whole(&mut self, what: &str, mut ended: EndedRequest) -> EndedRequest {
        let Some(sequence) = self.sequence.as_mut().filter(|sequence| sequence.part == SequencePart::After) else {
            return ended;
        };
        let (is_there, update) = (sequence.is_there, sequence.ended.take());
        let Some(failed) = ended.0.iter_mut().find(|outcome| !outcome.is_accepted()) else {
            return update.unwrap_or_else(|| (smallvec![Outcome::AlreadyThere], ended.1));
        };
        let so_far = if is_there { "the service has the address" } else { "the update was accepted" };
        let so_far = format!("{so_far}; after ({what})");
        let reason = failed.reason();
        match failed {
            Outcome::Stopped { words, .. } | Outcome::Failed(Why::Wait { words, .. }) => {
                *words = format!("{so_far}: `{words}`");
            }
            Outcome::Failed(Why::NoResponse { why, .. }) => *why = format!("{so_far} failed: {why}"),
            _ => {
                let (status, why) = (failed.status(), format!("{so_far} failed: {reason}"));
                *failed = Outcome::Failed(Why::Step { status, why, reached: true });
            }
        }
        let failed = failed.clone();
        ended.0 = smallvec![failed];
        ended
    }

    /// What was accepted, where the record was made.
    pub(super) fn made(&self, outcome: Outcome) -> Outcome {
        match (&self.sequence, outcome) {
            (Some(sequence), Outcome::Accepted(status)) if sequence.is_absent => Outcome::Made(status),
            (_, outcome) => outcome,
        }
    }
}

impl Sequence {
    /// When what it asks was sent.
    pub(super) fn sent(&self) -> (Duration, u64) {
        (self.asked_at, self.asked_day)
    }

    /// It asks something that was sent then.
    pub(super) fn asks(&mut self, key: AskKey, sent: (Duration, u64)) {
        (self.asked_at, self.asked_day) = sent;
        self.search = Search::default();
        self.key = Some(key);
    }

    pub(super) fn take(&mut self, values: Vec<(usize, Value)>) {
        for (place, value) in values {
            if let Some(taken) = self.taken.get_mut(place) {
                *taken = Some(value);
            }
        }
    }
}
