//! The state of a member, for people.

use std::time::Duration;

use super::{HolderStage, Machine};
use crate::view::{LeaseId, VERSION, View};
use ddns_core::lease::status::{GroupPeer, MemberStatus, Role, WENT_BACK};
use ddns_core::text::duration::duration;

impl Machine {
    /// The state of this member.
    pub fn status(&self, now: Duration) -> MemberStatus {
        let holder = self.view.as_ref().and_then(|view| view.holder.as_ref());
        MemberStatus {
            member: self.settings.member.clone(),
            role: self.role(now),
            holder: holder.map(|holder| holder.member.clone()),
            held_for: self.seen_holder.map(|(_, since)| now.saturating_sub(since)),
            lease_left: self.deadline().map(|until| until.saturating_sub(now)),
            members: self.view.as_ref().map(|view| self.seen(view)).unwrap_or_default(),
            store: self.store(now),
            ready: self.ready(now),
            trouble: self.trouble(now),
        }
    }

    fn role(&self, now: Duration) -> Role {
        match self.stage() {
            _ if self.has_left => Role::Left,
            Some(HolderStage::Sending | HolderStage::Unconfirmed) if !self.is_confirmed(now) => Role::Unconfirmed,
            Some(HolderStage::Unconfirmed) => Role::Unconfirmed,
            Some(HolderStage::Loading) => Role::TakingOver,
            Some(HolderStage::Sending) => Role::Holder,
            Some(HolderStage::Draining | HolderStage::Resigning) => Role::HandingOver,
            None if self.is_in_view() => Role::StandBy,
            None => Role::Joining,
        }
    }

    fn is_in_view(&self) -> bool {
        self.lease.zip(self.view.as_ref()).is_some_and(|(lease, view)| view.entry(lease.id).is_some())
    }

    fn seen(&self, view: &View) -> Vec<GroupPeer> {
        let holder = view.holder.as_ref().map(|holder| holder.lease);
        let own = self.lease.map(|lease| lease.id);
        let seen = view.order().into_iter().map(|member| GroupPeer {
            member: member.member.clone(),
            ready: member.ready,
            prefer: member.prefer,
            is_holder: holder == Some(member.lease),
            is_self: own == Some(member.lease),
        });
        seen.collect()
    }

    /// Whether another process holds under the name of this member. After two leases it cannot be an earlier process of this
    /// host: that key would have expired with its lease, even if an election prolonged the lease.
    fn is_namesake_holding(&self, now: Duration) -> bool {
        let own = [self.lease.map(|lease| lease.id), self.former];
        let holder = self.view.as_ref().and_then(|view| view.holder.as_ref());
        let is_namesake =
            holder.is_some_and(|holder| holder.member == self.settings.member && !own.contains(&Some(holder.lease)));
        is_namesake && self.seen_holder.is_some_and(|(_, since)| now.saturating_sub(since) > self.settings.lease * 2)
    }

    fn store(&self, now: Duration) -> Result<(), String> {
        if self.unsafe_until.is_some_and(|until| now < until) {
            return Err(WENT_BACK.to_owned());
        }
        match self.calls.why(now) {
            Some(why) => Err(why.to_owned()),
            None => Ok(()),
        }
    }

    fn ready(&self, now: Duration) -> Result<(), String> {
        let pause = self.readiness.paused_until.saturating_sub(now);
        if !self.has_right_version() {
            return Err("the group has another version".to_owned());
        }
        if !self.readiness.has_address {
            return Err("this host has no address".to_owned());
        }
        if !pause.is_zero() {
            let pause = duration(pause);
            return Err(format!("this host reached no endpoint while it held the lease; it is ready again in {pause}"));
        }
        Ok(())
    }

    fn trouble(&self, now: Duration) -> Option<String> {
        let version = self.view.as_ref().and_then(|view| view.version.as_deref()).filter(|version| *version != VERSION);
        if let Some(version) = version {
            return Some(format!(
                "the group in the store has version {version}, but this program uses version {VERSION}: \
                 use the same program on all hosts, or another `name`"
            ));
        }
        if self.view.as_ref().and_then(|view| view.holder.as_ref()).is_some_and(|holder| holder.lease == LeaseId(0)) {
            return Some("the holder's key in the store has no lease and never expires: delete it".to_owned());
        }
        if self.is_namesake_holding(now) {
            let member = &self.settings.member;
            return Some(format!(
                "another process in the group has the same `member`, {member}: give each its own name, or leave \
                 `member` out"
            ));
        }
        let lease = self.settings.lease;
        let took = duration(self.slow?);
        Some(format!(
            "the store took {took} to answer, which is too long for a lease of {}: check the nodes of `store`, or set a longer `lease`",
            duration(lease)
        ))
    }
}
