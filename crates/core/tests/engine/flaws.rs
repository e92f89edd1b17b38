//! Deliberate mistakes around the engine, which has no switch that makes it wrong: they change what the engine writes, or what it
//! is told.

use std::net::IpAddr;

use ddns_core::update::state::{Claim, ClaimKey, State};

use crate::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Requests are sent although their marks were not written.
    SendBeforePersisted,
    /// A file that must be discarded stays.
    NoDiscard,
    /// A failed write counts as successful.
    BelieveFailedWrite,
    /// What other processes wrote is ignored.
    IgnoreForeign,
    /// A request that may have reached the endpoint counts as not sent.
    NeverReached,
    /// A request that was not sent counts as possibly arrived, so the earlier claim is not restored.
    AlwaysReached,
    /// A reload forgets abandoned requests, and the pauses that endpoints asked for.
    ForgetfulReload,
    /// Only the first update of a request is marked.
    MarkFirst,
    /// `min_interval` counts only from the response.
    IntervalFromResponse,
    /// Acceptances of a former callback still count.
    BelieveFormer,
    /// An accepted address still counts after a substitute was sent.
    BelieveMissing,
    /// An endpoint that hangs holds up requests to the others.
    HungLane,
    /// A step is answered with the previous address of the endpoint.
    OldAnswer,
    /// A refused request counts as accepted.
    RefusedIsAccepted,
    /// A substitute is sent although there is an address.
    NeedlessSubstitute,
}

impl World {
    /// The text that a mistake writes to a file instead of `text`. The file contained `before`.
    pub(crate) fn flawed(&self, process: usize, before: Option<State>, text: String) -> String {
        let is_flawed = matches!(
            self.flaw,
            Flaw::MarkFirst | Flaw::IntervalFromResponse | Flaw::BelieveFormer | Flaw::BelieveMissing
        );
        let Some(before) = before.filter(|_| is_flawed) else { return text };
        let Some(mut state) = State::from_text(&text) else { return text };
        if before.salt() != state.salt() {
            return text;
        }
        let counts = |claim: Claim| claim.accepted.is_some() && claim.in_doubt.is_none();
        let keys: Vec<ClaimKey> = before.keys().collect();
        for key in keys {
            let (was, is) = (before.entry(&key), state.entry(&key));
            match self.flaw {
                Flaw::MarkFirst if self.is_follower(process, &key) && counts(was) && is.in_doubt.is_some() => {
                    state.set(&key, was);
                }
                Flaw::IntervalFromResponse if is.in_doubt.is_some() => {
                    let mut hold = state.hold(&key);
                    hold.sent = before.hold(&key).sent;
                    state.set_hold(&key, hold);
                }
                Flaw::BelieveFormer if !self.is_current(process, &state, &key) && counts(was) => state.set(&key, was),
                Flaw::BelieveMissing if self.is_missing(process, &key) && counts(was) => state.set(&key, was),
                _ => {}
            }
        }
        state.to_string()
    }

    /// Whether an update is sent along with another one.
    fn is_follower(&self, process: usize, key: &ClaimKey) -> bool {
        let plan = &self.processes[process].plan;
        let ids = (0..plan.entry_count()).flat_map(|at| plan.updates_of(at));
        let mut here = ids.filter(|id| {
            let (_, domain, family) = plan.about(*id);
            *domain == key.domain && family == key.family
        });
        here.any(|id| plan.leader(id) != id)
    }

    /// Whether this claim belongs to the current configuration of a process.
    fn is_current(&self, process: usize, state: &State, key: &ClaimKey) -> bool {
        let plan = &self.processes[process].plan;
        (0..plan.entry_count()).any(|at| {
            let callback = &plan.entry(at).callback;
            callback.fingerprint_of(callback.fingerprint(state.salt()), &key.domain, key.family) == key.callback
        })
    }

    /// Whether a process has no address for this update, and sends a substitute.
    fn is_missing(&self, process: usize, key: &ClaimKey) -> bool {
        let known = &self.processes[process];
        let name = crate::checks::name_of(key.domain.as_str());
        let entry = known.shape.entries.iter().position(|entry| entry.number == name.0);
        let found: Option<Option<IpAddr>> = entry.and_then(|at| known.observed.get(&(at, key.family)).copied());
        entry.is_some_and(|at| known.shape.entries[at].combine.is_some_and(|combine| combine.has_missing))
            && found == Some(None)
    }
}
