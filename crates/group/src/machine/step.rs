//! Decides what to do next.

use std::time::Duration;

use super::calls::CallKind;
use super::{Action, CAMPAIGN_STAGGER, Call, HolderStage, MAX_PAUSE, Machine, PREFERRED_AFTER, Settings};
use crate::view::MemberEntry;

/// How often a leaving member tries to revoke its lease; then the lease is left to expire.
const MAX_REVOKES: u32 = 2;

impl Machine {
    pub(super) fn step(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.wake_at = None;
        if self.has_left {
            return;
        }
        self.stop_in_time(now, actions);
        self.keep_lease(now, actions);
        if self.is_ending {
            self.leave(now, actions);
            return;
        }
        if !self.calls.is_under_way(CallKind::Watch) {
            self.call(Call::Watch, now, actions);
        }
        self.hand_over(now, actions);
        self.register(now, actions);
        match self.held.map(|held| (held.stage, held.created)) {
            Some((HolderStage::Loading, created)) => {
                if self.is_due(self.unsafe_until.unwrap_or_default(), now) {
                    self.call(Call::Load(created, self.unsafe_until.is_some()), now, actions);
                }
            }
            Some((HolderStage::Resigning, created)) => {
                if let Some(lease) = self.lease {
                    self.call(Call::Resign(lease.id, created), now, actions);
                }
            }
            Some(_) => {}
            None => self.campaign(now, actions),
        }
    }

    /// Whether a time has come. If not, the machine wakes then.
    fn is_due(&mut self, at: Duration, now: Duration) -> bool {
        if now < at {
            self.wake_at = Some(self.wake_at.map_or(at, |known| known.min(at)));
        }
        now >= at
    }

    /// Makes a call, unless a call of its kind is running or failed a moment ago.
    fn call(&mut self, call: Call, now: Duration, actions: &mut Vec<Action>) {
        let kind = CallKind::of(&call);
        if !self.calls.is_under_way(kind) && self.is_due(self.calls.not_before(kind), now) {
            self.calls.started(kind);
            actions.push(Action::Call(call));
        }
    }

    /// Drops everything if the lease was not renewed in time, before another member can hold (J3).
    fn stop_in_time(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let Some(deadline) = self.deadline() else { return };
        // No running request can take longer than one lease, so a drain need not either.
        let is_draining = self.stage() == Some(HolderStage::Draining);
        let deadline = if is_draining { deadline.min(self.drain_until) } else { deadline };
        if self.is_due(deadline, now) {
            actions.push(Action::Stop);
            self.change(HolderStage::Sending, HolderStage::Unconfirmed);
            // Nothing is running any more.
            self.change(HolderStage::Draining, HolderStage::Resigning);
        }
    }

    fn keep_lease(&mut self, now: Duration, actions: &mut Vec<Action>) {
        // A leaving member needs its lease only for running requests: the sooner it ends, the sooner another can hold.
        if self.is_ending && self.stage() != Some(HolderStage::Draining) {
            return;
        }
        match self.lease {
            None => self.call(Call::Grant, now, actions),
            Some(lease) => {
                if self.is_due(lease.renewed + self.settings.renewal(), now) && self.may_renew(now) {
                    self.call(Call::Renew(lease.id), now, actions);
                }
            }
        }
    }

    /// Whether the lease may be renewed. After it could not be confirmed in time, this member renews it only when the watch
    /// works again: renewals that arrive, but are answered too late, would keep the lease from members that could use it.
    fn may_renew(&self, now: Duration) -> bool {
        self.is_confirmed(now) || self.calls.failures(CallKind::Watch) == 0
    }

    /// Ends the membership: once the running requests have ended, revokes the lease, which also deletes the member's keys.
    fn leave(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if self.stage() == Some(HolderStage::Draining) {
            return;
        }
        match self.lease {
            Some(lease) if self.calls.failures(CallKind::Revoke) < MAX_REVOKES => {
                self.held = None;
                self.call(Call::Revoke(lease.id), now, actions);
            }
            _ => {
                self.has_left = true;
                self.wake_at = None;
                actions.push(Action::Left);
            }
        }
    }

    /// Puts the key of this member if its text is missing or outdated.
    fn register(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.is_due(self.readiness.paused_until, now);
        let (Some(lease), Some(view)) = (self.lease, &self.view) else { return };
        if !self.has_right_version() {
            return;
        }
        let Settings { member, prefer, .. } = &self.settings;
        let wanted = MemberEntry { member: member.clone(), ready: self.is_ready(now), prefer: *prefer };
        let there = match &self.registered {
            Some((entry, at)) if *at > view.revision => Some(entry.clone()),
            _ => view.entry(lease.id),
        };
        if there.as_ref() != Some(&wanted) && !self.calls.is_under_way(CallKind::Register) {
            // Revision 0: until the store confirms the put, only the view counts.
            self.registered = Some((wanted.clone(), 0));
            self.call(Call::Register(lease.id, wanted), now, actions);
        }
    }

    /// Campaigns if no member holds: the first in the order at once, each further one a little later.
    fn campaign(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let (Some(lease), Some(view)) = (self.lease, &self.view) else { return };
        let may = self.readiness.has_address && self.has_right_version() && self.is_confirmed(now);
        if !may || view.holder.is_some() {
            return;
        }
        let Some(rank) = view.order().iter().position(|member| member.lease == lease.id) else { return };
        let turn = self.vacant_since + CAMPAIGN_STAGGER.saturating_mul(rank.try_into().unwrap_or(u32::MAX));
        if self.is_due(turn.max(self.stand_back_until).max(self.unsafe_until.unwrap_or_default()), now) {
            self.call(Call::Campaign(lease.id), now, actions);
        }
    }

    /// Gives the lease back if another member would do better (J5, `prefer`).
    fn hand_over(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if !matches!(self.stage(), Some(HolderStage::Loading | HolderStage::Sending)) || !self.is_another_ready() {
            return;
        }
        let lease = self.settings.lease;
        let readiness = &self.readiness;
        let preferred = self.preferred.map(|(_, since)| since + lease * PREFERRED_AFTER);
        let without = (!readiness.has_address).then_some(readiness.without_since + lease);
        let unreached = readiness.unreached_since.map(|since| since + lease);
        let is_unreached = unreached.is_some_and(|at| self.is_due(at, now));
        let is_better = [preferred, without].into_iter().flatten().any(|at| self.is_due(at, now));
        if !is_unreached && !is_better {
            return;
        }
        if is_unreached {
            let leases = 1_u32.checked_shl(self.readiness.given_back).unwrap_or(u32::MAX).min(MAX_PAUSE);
            self.readiness.given_back = (self.readiness.given_back + 1).min(MAX_PAUSE);
            self.readiness.paused_until = now + lease * leases;
        }
        // Restart the count: if the preferred member does not take over, this one would give the lease back again at once.
        self.preferred = self.preferred.map(|(lease, _)| (lease, now));
        self.stand_back_until = now + lease / 3;
        self.drain(now, actions);
        self.change(HolderStage::Loading, HolderStage::Resigning);
    }

    fn is_another_ready(&self) -> bool {
        let own = self.lease.map(|lease| lease.id);
        let members = self.view.iter().flat_map(|view| &view.members);
        members.into_iter().any(|member| member.ready && Some(member.lease) != own)
    }
}
