//! The log messages of a member whose state in its group changes. Each change is logged once.

use super::status::{MemberStatus, Role, WENT_BACK};
use crate::text::duration::duration;
use crate::text::log_format::Level;

/// The log messages for a change from `before` to `now`; `before` is `None` for the first state.
pub fn news(group: &str, before: Option<&MemberStatus>, now: &MemberStatus) -> Vec<(Level, String)> {
    let mut said = Vec::new();
    if let Some(trouble) = &now.trouble
        && before.is_none_or(|before| before.trouble.as_ref() != Some(trouble))
    {
        said.push((Level::Error, format!("group {group}: {trouble}")));
    }
    said.extend(of_store(group, before, now));
    said.extend(of_role(group, before, now));
    said
}

fn of_store(group: &str, before: Option<&MemberStatus>, now: &MemberStatus) -> Option<(Level, String)> {
    // The connection breaks before a restored store answers, so `store` has failed already: report the new reason all the same.
    let is_back = |store: &Result<(), String>| store.as_ref().is_err_and(|why| why == WENT_BACK);
    let is_news = |before: &MemberStatus| before.store.is_ok() || is_back(&now.store) && !is_back(&before.store);
    match (before.is_none_or(is_news), &now.store) {
        (true, Err(why)) => {
            let effect = match (now.role, now.lease_left) {
                (Role::Holder | Role::HandingOver, Some(left)) => {
                    format!("this host holds the lease for {} at most", duration(left))
                }
                _ => "nothing is sent until it can".to_owned(),
            };
            Some((Level::Warning, format!("the store of group {group} cannot be used: {why}; {effect}")))
        }
        (false, Ok(())) => Some((Level::Info, format!("the store of group {group} can be used again"))),
        _ => None,
    }
}

fn of_role(group: &str, before: Option<&MemberStatus>, now: &MemberStatus) -> Vec<(Level, String)> {
    let was = before.map_or(Role::Joining, |before| before.role);
    let mut said = Vec::new();
    if was != now.role {
        let line = match (was, now.role) {
            (_, Role::Holder) => Some((Level::Info, format!("holds the lease of group {group}: sending"))),
            (_, Role::HandingOver) => {
                let why = now.ready.as_ref().err().map(|why| format!(": {why}")).unwrap_or_default();
                Some((Level::Info, format!("gives the lease of group {group} back{why}")))
            }
            (Role::HandingOver, _) | (Role::Holder | Role::Unconfirmed, Role::Left) => {
                Some((Level::Info, format!("gave the lease of group {group} back")))
            }
            (_, Role::Unconfirmed) => {
                let effect = "nothing is sent until the store confirms it";
                Some((Level::Warning, format!("could not renew the lease of group {group} in time: {effect}")))
            }
            (Role::Holder | Role::Unconfirmed, _) => {
                Some((Level::Warning, format!("lost the lease of group {group}: nothing is sent")))
            }
            _ => None,
        };
        said.extend(line);
    }
    if now.role == Role::StandBy
        && let Some(holder) = now.holder.as_ref().filter(|holder| **holder != now.member)
        && (was != now.role || before.is_none_or(|before| before.holder.as_ref() != Some(holder)))
    {
        said.push((Level::Info, format!("is on standby: {holder} holds the lease of group {group}")));
    }
    said
}

/// Why a single run cannot get the lease of its group: the log level, a sentence and the exit status. `None` if it may still
/// get the lease.
pub fn denial(group: &str, now: &MemberStatus) -> Option<(Level, String, u8)> {
    match now {
        MemberStatus { trouble: Some(trouble), .. } => Some((Level::Error, format!("group {group}: {trouble}"), 1)),
        MemberStatus { store: Err(why), .. } => {
            Some((Level::Error, format!("the store of group {group} cannot be used: {why}; nothing was sent"), 1))
        }
        MemberStatus { role: Role::StandBy, holder: Some(holder), member, .. } if holder != member => {
            let why = format!("{holder} holds the lease of group {group}: this host sends nothing");
            Some((Level::Info, why, 0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn status(role: Role, holder: Option<&str>) -> MemberStatus {
        MemberStatus {
            member: "a".to_owned(),
            role,
            holder: holder.map(str::to_owned),
            held_for: None,
            lease_left: (role == Role::Holder).then_some(Duration::from_secs(8)),
            members: Vec::new(),
            store: Ok(()),
            ready: Ok(()),
            trouble: None,
        }
    }

    fn lines(before: Option<&MemberStatus>, now: &MemberStatus) -> Vec<String> {
        news("home", before, now).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn j1_what_changes_is_said_once() {
        let stand_by = status(Role::StandBy, Some("b"));
        let holder = status(Role::Holder, Some("a"));
        assert_eq!(lines(None, &stand_by), ["is on standby: b holds the lease of group home"]);
        assert_eq!(lines(Some(&stand_by), &stand_by), [""; 0]);
        let other = status(Role::StandBy, Some("c"));
        assert_eq!(lines(Some(&stand_by), &other), ["is on standby: c holds the lease of group home"]);
        assert_eq!(lines(Some(&other), &status(Role::StandBy, None)), [""; 0]);
        assert_eq!(lines(Some(&other), &holder), ["holds the lease of group home: sending"]);
        let lost = ["lost the lease of group home: nothing is sent", "is on standby: b holds the lease of group home"];
        assert_eq!(lines(Some(&holder), &stand_by), lost);
        let handing_over = MemberStatus { ready: Err("no address".to_owned()), ..status(Role::HandingOver, Some("a")) };
        assert_eq!(lines(Some(&holder), &handing_over), ["gives the lease of group home back: no address"]);
        let back = ["gave the lease of group home back", "is on standby: b holds the lease of group home"];
        assert_eq!(lines(Some(&handing_over), &stand_by), back);
    }

    #[test]
    fn j4_a_store_that_cannot_be_used_is_named_once_with_what_follows() {
        let refused = |status: &MemberStatus| MemberStatus { store: Err("refused".to_owned()), ..status.clone() };
        let (stand_by, holder) = (status(Role::StandBy, None), status(Role::Holder, Some("a")));
        let line = "the store of group home cannot be used: refused; nothing is sent until it can";
        assert_eq!(lines(None, &refused(&stand_by)), [line]);
        let other = MemberStatus { store: Err("timeout".to_owned()), ..stand_by.clone() };
        assert_eq!(lines(Some(&refused(&stand_by)), &other), [""; 0]);
        assert_eq!(lines(Some(&other), &stand_by), ["the store of group home can be used again"]);
        let back = MemberStatus { store: Err(WENT_BACK.to_owned()), ..stand_by.clone() };
        assert_eq!(lines(Some(&other), &back).len(), 1, "J7: another reason is no news, this one is");
        assert_eq!(lines(Some(&back), &back), [""; 0]);
        let line = "the store of group home cannot be used: refused; this host holds the lease for 8 s at most";
        assert_eq!(lines(Some(&holder), &refused(&holder)), [line]);
        let late = "could not renew the lease of group home in time: nothing is sent until the store confirms it";
        let unconfirmed = refused(&status(Role::Unconfirmed, Some("a")));
        assert_eq!(lines(Some(&refused(&holder)), &unconfirmed), [late]);
        let trouble = MemberStatus { trouble: Some("another version".to_owned()), ..stand_by.clone() };
        assert_eq!(lines(Some(&stand_by), &trouble), ["group home: another version"]);
    }
}
