//! Handles events.

use std::time::Duration;

use super::calls::{CallKind, Calls};
use super::{Action, Answer, HeldLease, HolderStage, LeaseTimes, Machine, MachineEvent, margin};
use crate::view::{Holder, View};

impl Machine {
    pub(super) fn take(&mut self, event: MachineEvent, now: Duration, jitter: f64, actions: &mut Vec<Action>) {
        match event {
            MachineEvent::Woke => {}
            MachineEvent::Answered { sent, answer } => self.answered(sent, answer, now, actions),
            MachineEvent::Failed { call, why } => {
                let kind = CallKind::of(&call);
                self.calls.failed(kind, why, now, jitter);
                self.is_watch_doubted |= kind != CallKind::Watch;
            }
            MachineEvent::WentBack => self.went_back(now, actions),
            MachineEvent::Viewed(view) => self.viewed(view, now, actions),
            MachineEvent::Address(has_address) => {
                if self.readiness.has_address && !has_address {
                    self.readiness.without_since = now;
                }
                self.readiness.has_address = has_address;
            }
            MachineEvent::Reached(true) => {
                self.readiness.unreached_since = None;
                self.readiness.given_back = 0;
            }
            MachineEvent::Reached(false) => {
                self.readiness.unreached_since.get_or_insert(now);
            }
            MachineEvent::Drained => self.change(HolderStage::Draining, HolderStage::Resigning),
            MachineEvent::Terminate => {
                self.is_ending = true;
                self.drain(now, actions);
            }
        }
    }

    fn answered(&mut self, sent: Duration, answer: Answer, now: Duration, actions: &mut Vec<Action>) {
        self.calls.answered(CallKind::answered_by(&answer));
        if std::mem::take(&mut self.is_watch_doubted) {
            self.calls.forget(CallKind::Watch);
        }
        let is_own = |id| self.lease.is_some_and(|lease| lease.id == id);
        match answer {
            Answer::Granted(id, ttl) => {
                self.time(sent, now);
                if self.lease.is_none() {
                    self.lease = Some(LeaseTimes { id, renewed: sent, until: sent + ttl.saturating_sub(margin(ttl)) });
                }
            }
            Answer::Renewed(id, Some(ttl)) if is_own(id) => {
                self.time(sent, now);
                self.renewed(sent, ttl, now);
            }
            Answer::Renewed(id, None) | Answer::Registered(id, None) | Answer::Campaigned(id, None) if is_own(id) => {
                self.lease_gone(actions);
            }
            Answer::Registered(id, Some(revision)) if is_own(id) => {
                if let Some((_, at)) = &mut self.registered {
                    *at = revision;
                }
            }
            Answer::Campaigned(id, Some(holder)) if is_own(id) => self.campaigned(holder, now, actions),
            Answer::Loaded(created) if self.created() == Some(created) => self.loaded(now, actions),
            Answer::Resigned(created) if self.created() == Some(created) => {
                self.lose(actions);
                if let Some(view) = &mut self.view
                    && view.holder.as_ref().is_some_and(|holder| holder.created == created)
                {
                    view.holder = None;
                    self.vacant_since = now;
                    self.see_holder(now, actions);
                }
            }
            Answer::Revoked(id) if is_own(id) => self.lease_gone(actions),
            // The answer concerns an earlier lease or holder's key.
            _ => {}
        }
    }

    /// Notes how long the store took, if that is too long.
    fn time(&mut self, sent: Duration, now: Duration) {
        let took = now.saturating_sub(sent);
        self.slow = Some(took).filter(|took| *took > self.settings.renewal());
    }

    fn renewed(&mut self, sent: Duration, ttl: Duration, now: Duration) {
        let Some(lease) = &mut self.lease else { return };
        // Answers may arrive in a different order than the calls were sent.
        lease.renewed = lease.renewed.max(sent);
        lease.until = lease.until.max(sent + ttl.saturating_sub(margin(ttl)));
        if now < lease.until {
            // No other member can have held in the meantime, but the running requests were dropped: read the state again.
            self.change(HolderStage::Unconfirmed, HolderStage::Loading);
        }
    }

    fn loaded(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.unsafe_until = None;
        if !self.is_confirmed(now) {
            self.change(HolderStage::Loading, HolderStage::Unconfirmed);
        } else if self.stage() == Some(HolderStage::Loading) {
            self.change(HolderStage::Loading, HolderStage::Sending);
            actions.push(Action::Open);
        }
    }

    /// Takes over the holder that the store reported after a campaign.
    fn campaigned(&mut self, holder: Holder, now: Duration, actions: &mut Vec<Action>) {
        let is_news = self.view.as_ref().is_some_and(|view| holder.created > view.revision);
        if !is_news {
            return;
        }
        if let Some(view) = &mut self.view {
            view.holder = Some(holder);
        }
        self.see_holder(now, actions);
    }

    /// Forgets everything known about the store (J7). Only the store can say whether this member's lease still exists. The
    /// previous holder may go on sending until its last renewal runs out, so this member neither campaigns nor loads before that.
    fn went_back(&mut self, now: Duration, actions: &mut Vec<Action>) {
        self.lose(actions);
        self.calls = Calls::default();
        (self.view, self.registered, self.seen_holder, self.preferred) = (None, None, None, None);
        (self.resigned, self.is_watch_doubted) = (0, false);
        if let Some(lease) = &mut self.lease {
            (lease.renewed, lease.until) = (Duration::ZERO, now);
        }
        let lease = self.settings.lease;
        // Half of the margin covers clocks that are wrong.
        self.unsafe_until = Some(now + lease.saturating_sub(margin(lease) / 2));
    }

    fn viewed(&mut self, mut view: View, now: Duration, actions: &mut Vec<Action>) {
        self.calls.answered(CallKind::Watch);
        let before = self.view.take();
        let known = before.as_ref().and_then(|before| before.holder.as_ref());
        // The answer to a campaign can arrive before the watch shows its result.
        if let Some(known) = known.filter(|known| known.created > view.revision) {
            view.holder = Some(known.clone());
        }
        if view.holder.is_none() && (known.is_some() || before.is_none()) {
            self.vacant_since = now;
        }
        self.view = Some(view);
        self.see_holder(now, actions);
        self.see_preferred(now);
    }

    /// Starts or stops holding, as the view shows it.
    fn see_holder(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let holder = self.view.as_ref().and_then(|view| view.holder.as_ref());
        let seen = holder.map(|holder| holder.created);
        if self.seen_holder.map(|(created, _)| created) != seen {
            self.seen_holder = seen.map(|created| (created, now));
        }
        let id = self.lease.map(|lease| lease.id);
        let own = holder.filter(|holder| Some(holder.lease) == id).map(|holder| holder.created);
        if self.created() == own {
            return;
        }
        self.lose(actions);
        if let Some(created) = own {
            let stage = if created > self.resigned { HolderStage::Loading } else { HolderStage::Resigning };
            self.held = Some(HeldLease { created, stage });
            self.readiness.unreached_since = None;
        }
    }

    /// Notes since when another member has been ready with a higher `prefer`.
    fn see_preferred(&mut self, now: Duration) {
        let own = self.lease.map(|lease| lease.id);
        let order = self.view.as_ref().map(View::order).unwrap_or_default();
        let best = order.first().filter(|best| best.ready && best.prefer > self.settings.prefer);
        let best = best.map(|best| best.lease).filter(|lease| Some(*lease) != own);
        self.preferred = match (best, self.preferred) {
            (Some(lease), Some((known, since))) if lease == known => Some((lease, since)),
            (best, _) => best.map(|lease| (lease, now)),
        };
    }

    fn lease_gone(&mut self, actions: &mut Vec<Action>) {
        self.lose(actions);
        self.former = self.lease.take().map(|lease| lease.id);
        self.registered = None;
    }

    /// This member no longer holds.
    fn lose(&mut self, actions: &mut Vec<Action>) {
        if matches!(self.stage(), Some(HolderStage::Sending | HolderStage::Draining)) {
            actions.push(Action::Stop);
        }
        self.held = None;
    }

    /// Starts to wait for the running requests.
    pub(super) fn drain(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if self.stage() == Some(HolderStage::Sending) {
            self.change(HolderStage::Sending, HolderStage::Draining);
            self.drain_until = now + self.settings.lease;
            actions.push(Action::Drain);
        }
    }

    pub(super) fn change(&mut self, from: HolderStage, to: HolderStage) {
        if let Some(held) = &mut self.held
            && held.stage == from
        {
            held.stage = to;
            if to == HolderStage::Resigning {
                self.resigned = self.resigned.max(held.created);
            }
        }
    }
}
