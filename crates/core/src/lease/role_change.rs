//! The role changes that people want to hear about: the lease was taken over, given back or lost.

use super::status::{MemberStatus, Role};

/// What happened to the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseChange {
    /// This member got the lease, and sends.
    TookOver,
    /// This member gave it back.
    GaveBack,
    /// This member could not keep it.
    Lost,
}

/// A change of role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleChange {
    /// The name of the group.
    pub group: String,
    /// The name of this member.
    pub member: String,
    /// What happened.
    pub kind: LeaseChange,
    /// Why, as a sentence without its full stop; `None` if that is unknown.
    pub why: Option<String>,
}

impl RoleChange {
    /// What happened to the lease between two states of this member; `None` if nothing did. A holder that is waiting for the store
    /// to confirm its lease still has it.
    pub fn between(group: &str, before: Option<&MemberStatus>, now: &MemberStatus) -> Option<Self> {
        let was = before.map_or(Role::Joining, |before| before.role);
        let (kind, why) = match (has_lease(was), has_lease(now.role)) {
            (false, true) => (LeaseChange::TookOver, None),
            (true, false) if now.role == Role::Left => {
                (LeaseChange::GaveBack, Some("this host left the group".to_owned()))
            }
            (true, false) if was == Role::HandingOver => (LeaseChange::GaveBack, before.and_then(why_given_back)),
            (true, false) => (LeaseChange::Lost, Some(why_lost(now))),
            _ => return None,
        };
        Some(Self { group: group.to_owned(), member: now.member.clone(), kind, why })
    }

    /// What happened, without the name of the member: `took over the lease of group home`.
    pub fn sentence(&self) -> String {
        sentence(self.kind, &self.group, self.why.as_deref())
    }
}

/// What happened, without the name of the member.
pub fn sentence(kind: LeaseChange, group: &str, why: Option<&str>) -> String {
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    match kind {
        LeaseChange::TookOver => format!("took over the lease of group {group}{why}"),
        LeaseChange::GaveBack => format!("gave the lease of group {group} back{why}"),
        LeaseChange::Lost => format!("lost the lease of group {group}{why}"),
    }
}

fn has_lease(role: Role) -> bool {
    matches!(role, Role::Holder | Role::HandingOver | Role::Unconfirmed)
}

/// Why a member gives the lease back; `None` if it is only shutting down.
fn why_given_back(status: &MemberStatus) -> Option<String> {
    let MemberStatus { members, ready, .. } = status;
    if let Err(why) = ready {
        return Some(why.clone());
    }
    let own = members.iter().find(|seen| seen.is_self).map_or(0, |seen| seen.prefer);
    let preferred = members.iter().find(|seen| !seen.is_self && seen.ready && seen.prefer > own)?;
    Some(format!("{} is preferred", preferred.member))
}

fn why_lost(now: &MemberStatus) -> String {
    match (&now.store, &now.holder) {
        (Err(why), _) => why.clone(),
        (Ok(()), Some(holder)) if *holder != now.member => format!("{holder} holds it now"),
        _ => "it was not renewed in time".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::membership::tests::membership;
    use super::*;

    #[test]
    fn j1_a_lease_that_is_taken_over_given_back_or_lost_is_one_change() {
        let status = |role, holder| membership(role, holder).status;
        let no_address = |role| MemberStatus { ready: Err("no address".to_owned()), ..status(role, Some("a")) };
        let dead = |role| MemberStatus { store: Err("refused".to_owned()), ..status(role, None) };
        let mut preferred = status(Role::HandingOver, Some("a"));
        preferred.members[1].prefer = 9;
        let cases = [
            (
                Some(status(Role::TakingOver, Some("a"))),
                status(Role::Holder, Some("a")),
                "took over the lease of group home",
            ),
            (None, status(Role::Holder, Some("a")), "took over the lease of group home"),
            (
                Some(status(Role::Holder, Some("a"))),
                status(Role::StandBy, Some("b")),
                "lost the lease of group home: b holds it now",
            ),
            (Some(status(Role::Holder, Some("a"))), dead(Role::Joining), "lost the lease of group home: refused"),
            (
                Some(dead(Role::Unconfirmed)),
                status(Role::StandBy, None),
                "lost the lease of group home: it was not renewed in time",
            ),
            (
                Some(no_address(Role::HandingOver)),
                status(Role::StandBy, None),
                "gave the lease of group home back: no address",
            ),
            (Some(preferred), status(Role::StandBy, Some("b")), "gave the lease of group home back: b is preferred"),
            (
                Some(status(Role::HandingOver, Some("a"))),
                status(Role::Left, None),
                "gave the lease of group home back: this host left the group",
            ),
            (
                Some(status(Role::Holder, Some("a"))),
                status(Role::Left, None),
                "gave the lease of group home back: this host left the group",
            ),
        ];
        for (before, now, expected) in cases {
            let change = RoleChange::between("home", before.as_ref(), &now).map(|change| change.sentence());
            assert_eq!(change.as_deref(), Some(expected));
        }
        let kept = [
            (Role::Joining, Role::StandBy),
            (Role::StandBy, Role::TakingOver),
            (Role::TakingOver, Role::StandBy),
            (Role::Holder, Role::Unconfirmed),
            (Role::Unconfirmed, Role::Holder),
            (Role::Holder, Role::HandingOver),
            (Role::StandBy, Role::Left),
        ];
        for (before, now) in kept {
            let (before, now) = (status(before, None), status(now, None));
            assert_eq!(RoleChange::between("home", Some(&before), &now), None, "{before:?}");
        }
    }
}
