//! The group as the store shows it: the holder and the members, and the names and texts of the keys.

use ddns_core::text::own_json::{line, read};
use serde::{Deserialize, Serialize};

/// The layout of the keys. This program does not touch a group with another version.
pub const VERSION: &str = "1";

/// A lease of the store, by its number; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub i64);

/// In hexadecimal digits, as in the names of keys.
impl std::fmt::Display for LeaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl LeaseId {
    /// Reads the hexadecimal number in the name of a key.
    pub fn parse(text: &str) -> Option<Self> {
        i64::from_str_radix(text, 16).ok().filter(|number| *number != 0).map(Self)
    }
}

/// The names of a group's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(String);

impl Keys {
    /// The keys of the group with this name.
    pub fn new(name: &str) -> Self {
        Self(format!("ddns/{name}/"))
    }

    /// The prefix of all keys.
    pub fn prefix(&self) -> &str {
        &self.0
    }

    /// The key of the layout: [`VERSION`].
    pub fn version(&self) -> String {
        format!("{}version", self.0)
    }

    /// The holder's key: [`Holder::text`].
    pub fn holder(&self) -> String {
        format!("{}holder", self.0)
    }

    /// The prefix of the members' keys.
    pub fn members(&self) -> String {
        format!("{}members/", self.0)
    }

    /// The key of a member: [`MemberEntry::text`].
    pub fn member(&self, lease: LeaseId) -> String {
        format!("{}members/{lease}", self.0)
    }

    /// The prefix of the keys of the state.
    pub fn state(&self) -> String {
        format!("{}state/", self.0)
    }
}

/// The member that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The name of the member.
    pub member: String,
    /// The lease of the holder's key; zero if it has none.
    pub lease: LeaseId,
    /// The revision at which the holder's key was created. It identifies the holder: no other one, before or after, has the same.
    pub created: i64,
}

impl Holder {
    /// The text of a holder's key.
    pub fn text(member: &str, lease: LeaseId) -> String {
        line(&HolderText { member: member.to_owned(), lease: lease.to_string() })
    }
}

/// The text of a holder's key.
#[derive(Serialize, Deserialize)]
struct HolderText {
    member: String,
    #[serde(default)]
    lease: String,
}

/// A member, as its key shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberView {
    /// The name of the member.
    pub member: String,
    /// The lease of the member.
    pub lease: LeaseId,
    /// Whether the member is ready to send: it has an address and is not pausing.
    pub ready: bool,
    /// `prefer`
    pub prefer: u8,
    /// The revision at which the key was created: the order in which members joined.
    pub created: i64,
}

/// What a member writes into its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEntry {
    /// The name of the member.
    pub member: String,
    /// Whether the member is ready to send.
    pub ready: bool,
    /// `prefer`
    pub prefer: u8,
}

impl MemberEntry {
    /// The text of the member's key.
    pub fn text(&self) -> String {
        line(self)
    }
}

/// The whole group at one revision of the store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// The revision.
    pub revision: i64,
    /// The layout of the keys. `None`: no member has joined yet.
    pub version: Option<String>,
    /// The holder, if a member holds.
    pub holder: Option<Holder>,
    /// The members, in any order.
    pub members: Vec<MemberView>,
}

/// A key as the store shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The name of the key.
    pub key: String,
    /// The text of the key.
    pub value: String,
    /// The lease that the key is attached to. `None`: the key does not expire.
    pub lease: Option<LeaseId>,
    /// The revision at which the key was created.
    pub created: i64,
}

impl View {
    /// Reads all keys of a group. Keys of the state and unknown keys are ignored.
    pub fn new(keys: &Keys, revision: i64, all: &[KeyValue]) -> Self {
        let mut view = Self { revision, ..Self::default() };
        for pair in all {
            view.put(keys, pair);
        }
        view
    }

    /// Takes in a key that was put.
    pub fn put(&mut self, keys: &Keys, pair: &KeyValue) {
        let KeyValue { key, value, lease, created } = pair;
        let name = key.strip_prefix(keys.prefix()).unwrap_or_default();
        match (name, lease) {
            ("version", _) => self.version = Some(value.clone()),
            ("holder", lease) => {
                let unknown = || "a key that no member wrote".to_owned();
                let member = read(value).map_or_else(unknown, |holder: HolderText| holder.member);
                // A holder's key without a lease was put by hand. As long as it exists, no member can hold.
                self.holder = Some(Holder { member, lease: lease.unwrap_or(LeaseId(0)), created: *created });
            }
            (_, Some(lease)) if name.strip_prefix("members/").and_then(LeaseId::parse) == Some(*lease) => {
                self.members.retain(|member| member.lease != *lease);
                if let Some(MemberEntry { member, ready, prefer }) = read(value) {
                    self.members.push(MemberView { member, lease: *lease, ready, prefer, created: *created });
                }
            }
            _ => {}
        }
    }

    /// Removes a key that was deleted.
    pub fn deleted(&mut self, keys: &Keys, key: &str) {
        match key.strip_prefix(keys.prefix()).unwrap_or_default() {
            "version" => self.version = None,
            "holder" => self.holder = None,
            name => {
                let lease = name.strip_prefix("members/").and_then(LeaseId::parse);
                self.members.retain(|member| Some(member.lease) != lease);
            }
        }
    }

    /// The entry of the member with this lease.
    pub fn entry(&self, lease: LeaseId) -> Option<MemberEntry> {
        let member = self.members.iter().find(|member| member.lease == lease)?;
        Some(MemberEntry { member: member.member.clone(), ready: member.ready, prefer: member.prefer })
    }

    /// The members in the order in which they may hold: ready members first, then by higher `prefer`, then by earlier arrival.
    pub fn order(&self) -> Vec<&MemberView> {
        let mut members: Vec<&MemberView> = self.members.iter().collect();
        members.sort_by_key(|member| (!member.ready, std::cmp::Reverse(member.prefer), member.created));
        members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(key: String, value: &str, lease: i64, created: i64) -> KeyValue {
        KeyValue { key, value: value.to_owned(), lease: Some(LeaseId(lease)).filter(|lease| lease.0 != 0), created }
    }

    /// Members with an older version of the program wrote these texts, and must be able to read them.
    #[test]
    fn j1_the_texts_of_keys_stay_as_they_are() {
        let (holder, member) = (r#"{"member":"a \"ü\"","lease":"1f"}"#, r#"{"member":"b","ready":false,"prefer":200}"#);
        assert_eq!(Holder::text("a \"ü\"", LeaseId(31)), holder);
        let entry = MemberEntry { member: "b".to_owned(), ready: false, prefer: 200 };
        assert_eq!(entry.text(), member);
        let keys = Keys::new("home");
        for more in ["", r#""colour":{"a":[1.5]},"#] {
            let [holder, member] = [holder, member].map(|text| text.replacen('{', &format!("{{{more}"), 1));
            let all = [pair(keys.holder(), &holder, 31, 7), pair(keys.member(LeaseId(32)), &member, 32, 8)];
            let view = View::new(&keys, 9, &all);
            assert_eq!(view.holder.clone().map(|holder| holder.member).as_deref(), Some("a \"ü\""));
            assert_eq!(view.entry(LeaseId(32)).as_ref(), Some(&entry));
        }
    }

    #[test]
    fn j1_the_picture_of_a_group_is_that_of_its_keys() {
        let keys = Keys::new("home");
        assert_eq!(keys.member(LeaseId(0x1f)), "ddns/home/members/1f");
        let entry = |name: &str, ready, prefer| MemberEntry { member: name.to_owned(), ready, prefer };
        let all = [
            pair(keys.version(), VERSION, 0, 1),
            pair(keys.member(LeaseId(31)), &entry("a", true, 0).text(), 31, 2),
            pair(keys.member(LeaseId(32)), &entry("b", true, 0).text(), 32, 3),
            pair(keys.member(LeaseId(33)), &entry("c\"", true, 9).text(), 33, 4),
            pair(keys.member(LeaseId(34)), &entry("d", false, 50).text(), 34, 5),
            pair(keys.member(LeaseId(35)), "nonsense", 35, 6),
            pair(keys.holder(), &Holder::text("a", LeaseId(31)), 31, 7),
            pair(format!("{}entry/1", keys.state()), "x", 0, 8),
            pair("other/holder".to_owned(), "x", 0, 9),
        ];
        let mut view = View::new(&keys, 9, &all);
        assert_eq!((view.revision, view.version.as_deref()), (9, Some(VERSION)));
        let names = |view: &View| view.order().iter().map(|member| member.member.clone()).collect::<Vec<_>>();
        assert_eq!(names(&view), ["c\"", "a", "b", "d"]);
        assert_eq!(view.holder, Some(Holder { member: "a".to_owned(), lease: LeaseId(31), created: 7 }));
        view.put(&keys, &pair(keys.member(LeaseId(33)), &entry("c", false, 9).text(), 33, 4));
        view.deleted(&keys, &keys.holder());
        view.deleted(&keys, &keys.member(LeaseId(31)));
        assert_eq!((names(&view), view.holder.clone()), (vec!["b".into(), "d".into(), "c".into()], None));
        view.put(&keys, &pair(keys.holder(), "by hand", 0, 10));
        assert_eq!(view.holder.map(|holder| holder.lease), Some(LeaseId(0)));
    }
}
