//! Requests under way, and how far each has come.

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
use crate::schedule::limiter::AcceptQueue;
use crate::schedule::queue::{Lane, UpdateId};
use crate::text::json::Value;
use crate::update::outcome::{Outcome, Why};
use crate::update::state::Fingerprint;

/// A request that occupies a place in its lane.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) start: (UpdateId, Lane),
    /// Its updates, and the addresses that it carries.
    pub(super) members: Members<IpAddr>,
    pub(super) began: Duration,
    /// Where it goes; `None` if its configuration has only one entry.
    pub(super) origin: Option<String>,
    /// The progress of its sequence; `None` if no requests go around it.
    pub(super) sequence: Option<Box<Sequence>>,
}

/// What else is known about a request that has ended.
#[derive(Debug, Default)]
pub(super) struct RequestDetails {
    /// Which condition of `expect` decided, for each update; empty if the status decided.
    pub(super) because: Vec<String>,
    pub(super) retry_after: Option<Duration>,
    pub(super) relay: Option<String>,
    pub(super) allow: Option<String>,
    pub(super) line: Option<AcceptQueue>,
    /// If one of its steps failed for another update: the step is not repeated before this time.
    pub(super) in_vain_until: Option<Duration>,
}

/// Identifies what a step asks: the entry, and a hash of the request. The hash for a kept answer includes what the step looks
/// for in it.
pub(super) type AskKey = (usize, Fingerprint);

/// The progress of an update that has requests around it.
#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) part: SequencePart,
    /// Values that steps took.
    pub(super) taken: Vec<Option<Value>>,
    /// The kept answers that it used: until when each is kept, and the request that it came from.
    pub(super) kept: Vec<(AskKey, Duration, Option<AskKey>)>,
    /// Whether the last step found nothing.
    pub(super) is_absent: bool,
    /// Whether the service already has the address, so that only the request after the update is sent.
    pub(super) is_there: bool,
    pub(super) search: Search,
    /// What the current step asks.
    pub(super) key: Option<AskKey>,
    /// When the last step was sent.
    pub(super) asked_at: Duration,
    /// When what other processes send was last read before that, in seconds since the epoch: the answer is at least as recent.
    pub(super) known_at: u64,
    /// The addresses at the start of the sequence.
    pub(super) observed: [Option<Observed>; 2],
    /// How the update ended, while the request after it is under way.
    pub(super) ended: Option<EndedRequest>,
}

/// How a request ended: one outcome for each update, or one for all.
pub(super) type EndedRequest = (SmallVec<[Outcome; 1]>, RequestDetails);

/// The request of a sequence that is next or under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequencePart {
    Before(usize),
    Update,
    After,
}

/// What is known about something that steps ask.
#[derive(Debug)]
pub(super) enum StepAsk {
    /// Sent at this time, and under way. Other requests wait for it; `pages` have arrived so far.
    UnderWay { sent: (Duration, u64), waiting: Vec<InFlight>, pages: AnswerPages },
    /// Answered.
    Answered { sent: (Duration, u64), ended: Duration, pages: AnswerPages, used_by: BTreeSet<UpdateId> },
    /// Failed, and not repeated before `until`; the service may have asked for that.
    Failed { outcome: Outcome, until: Duration, is_requested: bool },
    /// The values found are kept until then.
    Kept { values: Vec<(usize, Value)>, until: Duration },
}

/// The pages of an answer, each with its status.
pub(super) type AnswerPages = Vec<(u16, Rc<str>)>;

/// What steps asked, and the answers. None of it is ever written.
#[derive(Debug, Default)]
pub(super) struct StepMemory {
    pub(super) asks: BTreeMap<AskKey, StepAsk>,
    /// Requests whose steps are done: to be marked and sent.
    pub(super) ready: Vec<InFlight>,
    /// Updates whose service seems to have the address, and when to judge them again.
    pub(super) later: BTreeMap<UpdateId, Duration>,
    /// When the last request of an update ended without being accepted.
    pub(super) last_sent: BTreeMap<UpdateId, Duration>,
}

impl StepMemory {
    /// Drops all answers, so that steps ask again.
    pub(super) fn forget(&mut self) {
        self.asks.retain(|_, ask| matches!(ask, StepAsk::UnderWay { .. }));
    }

    /// Lets failed steps be repeated at once: all of them (`everything`), or those without a response.
    pub(super) fn retry_now(&mut self, everything: bool) {
        let is_over = |outcome: &Outcome| everything || outcome.status().is_none();
        self.asks
            .retain(|_, ask| !matches!(ask, StepAsk::Failed { outcome, is_requested: false, .. } if is_over(outcome)));
    }

    /// When the next update in `later` is due.
    pub(super) fn wake_at(&self) -> Option<Duration> {
        self.later.values().min().copied()
    }

    /// Whether nothing is remembered, and no update waits.
    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty() && self.later.is_empty()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.later.is_empty()
    }

    pub(super) fn withdraw(&mut self, id: UpdateId) {
        self.later.remove(&id);
    }

    /// Notes that a request of an update has ended.
    pub(super) fn note_ended(&mut self, id: UpdateId, is_accepted: bool, now: Duration) {
        if is_accepted {
            self.last_sent.remove(&id);
        } else {
            self.last_sent.insert(id, now);
        }
    }
}

impl InFlight {
    /// The request to send once the steps are done.
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

    /// Its updates with the addresses at the start of the sequence.
    pub(super) fn as_begun<'p>(&self, plan: &'p Plan) -> Sendables<'p> {
        let observed = self.sequence.as_ref().map_or([None; 2], |sequence| sequence.observed);
        let sendable = |(id, _): &(UpdateId, IpAddr)| {
            let (at, domain, family) = plan.about(*id);
            Some((*id, plan.entry(at).sendable(domain, family, observed[family.index()]?)))
        };
        self.members.iter().filter_map(sendable).collect::<Members<_>>()
    }

    /// Whether it used kept answers.
    pub(super) fn is_kept(&self) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| !sequence.kept.is_empty())
    }

    /// Whether it is still at a step, so that the update was not sent.
    pub(super) fn is_step(&self) -> bool {
        self.step_number().is_some()
    }

    /// Whether it is the request after the update.
    pub(super) fn is_after(&self) -> bool {
        self.sequence.as_ref().is_some_and(|sequence| sequence.part == SequencePart::After)
    }

    /// When what other processes send was last read before the last step was sent, in seconds since the epoch. What the service
    /// has counts from then: a request that is unknown here may have begun later, and arrived after the answer.
    pub(super) fn seen_at(&self) -> Option<u64> {
        self.sequence.as_ref().map(|sequence| sequence.known_at)
    }

    /// Whether the service has no record, so that this request creates it. If so, since when another process may have created
    /// it, in seconds since the epoch.
    pub(super) fn makes_since(&self) -> Option<u64> {
        let is_making = |sequence: &&Sequence| sequence.is_absent && sequence.part == SequencePart::Update;
        self.sequence.as_deref().filter(is_making).map(|sequence| sequence.known_at)
    }

    /// How the whole sequence ended, if this was the request after the update, or created the record; `what` describes it.
    pub(super) fn whole(&mut self, what: &str, mut ended: EndedRequest) -> EndedRequest {
        if self.makes_since().is_some() {
            let failed = ended.0.iter_mut().filter(|outcome| !outcome.is_accepted());
            failed.for_each(|outcome| reword(outcome, &format!("creating the record ({what})")));
            return ended;
        }
        let Some(sequence) = self.sequence.as_mut().filter(|sequence| sequence.part == SequencePart::After) else {
            return ended;
        };
        let (is_there, update) = (sequence.is_there, sequence.ended.take());
        let Some(failed) = ended.0.iter_mut().find(|outcome| !outcome.is_accepted()) else {
            return update.unwrap_or_else(|| (smallvec![Outcome::AlreadyThere], ended.1));
        };
        let so_far = if is_there { "the service has the address" } else { "the update was accepted" };
        reword(failed, &format!("{so_far}; after ({what})"));
        let failed = failed.clone();
        ended.0 = smallvec![failed];
        ended
    }

    /// The outcome of an update, which is [`Outcome::Made`] if the record was created.
    pub(super) fn made(&self, outcome: Outcome) -> Outcome {
        match (&self.sequence, outcome) {
            (Some(sequence), Outcome::Accepted(status)) if sequence.is_absent => Outcome::Made(status),
            (_, outcome) => outcome,
        }
    }
}

/// Names the request that failed, and what came before it.
fn reword(failed: &mut Outcome, so_far: &str) {
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
}

impl Sequence {
    /// When the current step was sent.
    pub(super) fn sent(&self) -> (Duration, u64) {
        (self.asked_at, self.known_at)
    }

    /// The current step asks this; it was sent at that time.
    pub(super) fn asks(&mut self, key: AskKey, sent: (Duration, u64)) {
        (self.asked_at, self.known_at) = sent;
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
