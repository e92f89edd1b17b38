//! The state of a member in its group, as sentences for people and as JSON for programs.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::status::{MemberStatus, Role};
use crate::text::duration::{duration, seconds};

/// A group, and the state of this member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Membership {
    /// The name of the group.
    #[serde(rename = "name")]
    pub group: String,
    /// The state of this member.
    #[serde(flatten)]
    pub status: MemberStatus,
}

/// Reads the same object twice instead of using `flatten`: serde buffers flattened values, and features of `serde_json` that
/// tests enable change the numbers in that buffer.
impl<'de> Deserialize<'de> for Membership {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct GroupName {
            name: String,
        }
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let GroupName { name } = serde_json::from_str(text).map_err(D::Error::custom)?;
        Ok(Self { group: name, status: serde_json::from_str(text).map_err(D::Error::custom)? })
    }
}

impl Membership {
    /// Whether nothing is wrong: a member can send, and this member knows which.
    pub fn is_good(&self) -> bool {
        self.objection().is_none()
    }

    /// Why this member does not do its work, in a few words without its name; `None` if it does. A standby does its work while it
    /// reaches the store, and the holder while it may send.
    pub fn objection(&self) -> Option<&'static str> {
        let MemberStatus { role, holder, store, trouble, .. } = &self.status;
        match (role, store) {
            _ if trouble.is_some() => Some("the group needs attention"),
            (Role::Unconfirmed, _) => Some("the lease of the group is not confirmed"),
            (Role::Joining | Role::StandBy, Ok(())) if holder.is_none() => Some("nobody holds the lease of the group"),
            (Role::Holder | Role::HandingOver, _) | (_, Ok(())) => None,
            _ => Some("the store of the group cannot be used"),
        }
    }

    /// What this member does, and which member holds the lease: `is on standby: router-b holds the lease`.
    pub fn sentence(&self) -> String {
        let MemberStatus { member, role, holder, held_for, lease_left, store, .. } = &self.status;
        let since = held_for.map_or_else(String::new, |time| format!(" for {}", duration(time)));
        match (role, holder) {
            (Role::Holder, _) => {
                let left = lease_left.map_or_else(String::new, |left| format!(", {} left", seconds(left.as_secs())));
                format!("holds the lease{since}{left}")
            }
            (Role::TakingOver, _) => "is taking over: reading what was accepted".to_owned(),
            (Role::HandingOver, _) => "gives the lease back once its requests have finished".to_owned(),
            (Role::Unconfirmed, _) => {
                "could not renew the lease in time: nothing is sent until the store confirms it".to_owned()
            }
            (Role::Joining, _) => "is joining the group: nothing is sent yet".to_owned(),
            (Role::Left, _) => "left the group: nothing is sent".to_owned(),
            (Role::StandBy, Some(holder)) if holder == member => {
                "is on standby: a member of the same name holds the lease (this host before its last start, or another)"
                    .to_owned()
            }
            (Role::StandBy, Some(holder)) if store.is_err() => {
                format!("is on standby: {holder} held the lease when the store last answered")
            }
            (Role::StandBy, Some(holder)) => format!("is on standby: {holder} holds the lease"),
            (Role::StandBy, None) => "is on standby: nobody holds the lease".to_owned(),
        }
    }

    /// What else people should know: why the store cannot be used, why this member cannot take over, what to change.
    pub fn remarks(&self) -> Vec<String> {
        let MemberStatus { store, ready, trouble, role, .. } = &self.status;
        let store = store.as_ref().err().map(|why| format!("the store cannot be used: {why}"));
        let can_have = matches!(role, Role::Holder | Role::HandingOver | Role::Left);
        let ready = ready.as_ref().err().filter(|_| !can_have).map(|why| format!("cannot take over: {why}"));
        store.into_iter().chain(ready).chain(trouble.clone()).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lease::status::GroupPeer;
    use crate::text::own_json::{indented, read};

    /// Member `a` of the group `home`, whose other member is `b`.
    pub(crate) fn membership(role: Role, holder: Option<&str>) -> Membership {
        let seen = |name: &str| GroupPeer {
            member: name.to_owned(),
            ready: true,
            prefer: 0,
            is_holder: holder == Some(name),
            is_self: name == "a",
        };
        let is_holder = role == Role::Holder;
        let status = MemberStatus {
            member: "a".to_owned(),
            role,
            holder: holder.map(str::to_owned),
            held_for: holder.map(|_| Duration::from_secs(3 * 3600)),
            lease_left: is_holder.then_some(Duration::from_secs(12)),
            members: vec![seen("a"), seen("b")],
            store: Ok(()),
            ready: Ok(()),
            trouble: None,
        };
        Membership { group: "home".to_owned(), status }
    }

    #[test]
    fn j1_a_role_is_one_sentence_with_the_name_of_who_holds() {
        let cases = [
            (Role::Holder, Some("a"), "holds the lease for 3 h, 12 s left"),
            (Role::StandBy, Some("b"), "is on standby: b holds the lease"),
            (
                Role::StandBy,
                Some("a"),
                "is on standby: a member of the same name holds the lease (this host before its last start, or another)",
            ),
            (Role::TakingOver, Some("a"), "is taking over: reading what was accepted"),
            (Role::HandingOver, Some("a"), "gives the lease back once its requests have finished"),
            (Role::Left, None, "left the group: nothing is sent"),
        ];
        for (role, holder, expected) in cases {
            let membership = membership(role, holder);
            assert_eq!((membership.sentence().as_str(), membership.remarks().len()), (expected, 0));
            assert!(membership.is_good(), "{role:?}");
        }
        for (role, expected) in [
            (Role::StandBy, "is on standby: nobody holds the lease"),
            (Role::Joining, "is joining the group: nothing is sent yet"),
        ] {
            let membership = membership(role, None);
            let objection = Some("nobody holds the lease of the group");
            assert_eq!((membership.sentence().as_str(), membership.objection()), (expected, objection));
        }
    }

    #[test]
    fn j4_what_is_wrong_is_said_and_a_holder_goes_on_without_the_store() {
        let mut stand_by = membership(Role::StandBy, None);
        stand_by.status.store = Err("connection refused".to_owned());
        stand_by.status.ready = Err("this host has no address".to_owned());
        stand_by.status.trouble = Some("the lease is shorter than the way to the store".to_owned());
        let expected = [
            "the store cannot be used: connection refused",
            "cannot take over: this host has no address",
            "the lease is shorter than the way to the store",
        ];
        assert_eq!(stand_by.remarks(), expected);
        assert_eq!(stand_by.objection(), Some("the group needs attention"));
        stand_by.status.trouble = None;
        assert_eq!(stand_by.objection(), Some("the store of the group cannot be used"));
        let store = stand_by.status.store.clone();
        stand_by.status.holder = Some("b".to_owned());
        assert_eq!(stand_by.sentence(), "is on standby: b held the lease when the store last answered");
        let mut holder = membership(Role::Holder, Some("a"));
        holder.status.store = store;
        assert_eq!(holder.objection(), None, "until its lease ends");
        holder.status.role = Role::Unconfirmed;
        assert_eq!(holder.objection(), Some("the lease of the group is not confirmed"));
    }

    #[test]
    fn what_is_written_of_a_group_reads_back() {
        let roles = ["joining", "stand-by", "taking-over", "holder", "handing-over", "unconfirmed", "left"];
        for (at, word) in roles.into_iter().enumerate() {
            let role = read(&format!("\"{word}\"")).expect("a role");
            let mut membership = membership(role, (at > 2).then_some("b"));
            if at % 2 == 0 {
                membership.status.store = Err("a \"b\"".to_owned());
                membership.status.ready = Err("none".to_owned());
                membership.status.trouble = Some("ü".to_owned());
            }
            let text = indented(&membership);
            assert!(text.contains(&format!("\"role\": \"{word}\"")), "{text}");
            assert_eq!(read(&text), Some(membership), "{text}");
        }
        for wrong in
            ["{}", "[]", "{\"members\":[{}]}", "{\"name\":\"a\",\"member\":\"a\",\"role\":\"x\",\"members\":[]}"]
        {
            assert_eq!(read::<Membership>(wrong), None, "{wrong}");
        }
    }
}
