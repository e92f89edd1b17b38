//! Mistakes that are made on purpose, around the engine: it has no switch that would make it wrong. What it writes is changed on
//! its way, or what it is told.

use std::net::IpAddr;

use ddns_core::update::state::{Claim, ClaimKey, State};

use crate::world::World;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Requests go out although their marks were not written.
    SendBeforePersisted,
    /// A file that must not be believed stays.
    NoDiscard,
    /// A file that could not be written counts as written.
    BelieveFailedWrite,
    /// What another process wrote is not taken in.
    IgnoreForeign,
    /// What may have reached the endpoint counts as not sent.
    NeverReached,
    /// What was not sent counts as something that may have reached the endpoint: what was known before is not put back.
    AlwaysReached,
    /// A reload forgets the requests that were given up, and the pauses that endpoints asked for.
    ForgetfulReload,
    /// Of a batch only the first update is marked.
    MarkFirst,
    /// `min_interval` counts from the response alone.
    IntervalFromResponse,
    /// What a former callback had accepted still counts.
    BelieveFormer,
    /// What was accepted still counts after something was sent in its place.
    BelieveMissing,
    /// An endpoint that hangs holds up the others.
    HungLane,
    /// Who asks what an endpoint has gets what it had before.
    OldAnswer,
}

impl World {
    /// What is written to a file in the place of this text, where `before` was in it.
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

    /// Whether an update goes along with another one.
    fn is_follower(&self, process: usize, key: &ClaimKey) -> bool {
        let plan = &self.processes[process].plan;
        let ids = (0..plan.entry_count()).flat_map(|at| plan.updates_of(at));
        let mut here = ids.filter(|id| {
            let (_, domain, family) = plan.about(*id);
            *domain == key.domain && family == key.family
        });
        here.any(|id| plan.leader(id) != id)
    }

    /// Whether this is the callback that a process has now.
    fn is_current(&self, process: usize, state: &State, key: &ClaimKey) -> bool {
        let plan = &self.processes[process].plan;
        (0..plan.entry_count()).any(|at| {
            let callback = &plan.entry(at).callback;
            callback.fingerprint_of(callback.fingerprint(state.salt()), &key.domain, key.family) == key.callback
        })
    }

    /// Whether a process has no address for this update.
    fn is_missing(&self, process: usize, key: &ClaimKey) -> bool {
        let known = &self.processes[process];
        let name = crate::checks::name_of(key.domain.as_str());
        let entry = known.shape.entries.iter().position(|entry| entry.number == name.0);
        let found: Option<Option<IpAddr>> = entry.and_then(|at| known.observed.get(&(at, key.family)).copied());
        entry.is_some_and(|at| known.shape.entries[at].combine.is_some_and(|combine| combine.has_missing))
            && found == Some(None)
    }
}
