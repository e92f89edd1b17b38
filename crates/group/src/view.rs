//! The group as the store shows it: who holds, and who is there. The keys and their texts.

use ddns_core::text::own_json::{line, read};
use serde::{Deserialize, Serialize};

/// The layout of the keys. A group with another one is not touched.
pub const VERSION: &str = "1";

/// A lease of the store, by its number; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub i64);

/// In hexadecimal digits, as it stands in keys.
impl std::fmt::Display for LeaseId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

impl LeaseId {
    /// The number, as it stands in keys.
    pub fn parse(text: &str) -> Option<Self> {
        i64::from_str_radix(text, 16).ok().filter(|number| *number != 0).map(Self)
    }
}

/// The names of a group's keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(String);

impl Keys {
    /// Those of the group of this name.
    pub fn new(name: &str) -> Self {
        Self(format!("ddns/{name}/"))
    }

    /// What all of them begin with.
    pub fn prefix(&self) -> &str {
        &self.0
    }

    /// The layout of the keys: [`VERSION`].
    pub fn version(&self) -> String {
        format!("{}version", self.0)
    }

    /// Who holds: [`Holder::text`].
    pub fn holder(&self) -> String {
        format!("{}holder", self.0)
    }

    /// What all members' keys begin with.
    pub fn members(&self) -> String {
        format!("{}members/", self.0)
    }

    /// A member: [`MemberEntry::text`].
    pub fn member(&self, lease: LeaseId) -> String {
        format!("{}members/{lease}", self.0)
    }

    /// What the keys of the state begin with.
    pub fn state(&self) -> String {
        format!("{}state/", self.0)
    }
}

/// Who holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// What the member is called.
    pub member: String,
    /// Its lease.
    pub lease: LeaseId,
    /// The revision at which its key was created: no other holder, before or after, has the same.
    pub created: i64,
}

impl Holder {
    /// The text of a holder's key.
    pub fn text(member: &str, lease: LeaseId) -> String {
        line(&HolderText { member: member.to_owned(), lease: lease.to_string() })
    }
}

/// Who holds, as the key has it.
#[derive(Serialize, Deserialize)]
struct HolderText {
    member: String,
    #[serde(default)]
    lease: String,
}

/// A member, as its key has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberView {
    /// What it is called.
    pub member: String,
    /// Its lease.
    pub lease: LeaseId,
    /// Whether it could send: it has an address.
    pub ready: bool,
    /// `prefer`
    pub prefer: u8,
    /// The revision at which its key was created: the order of arrival.
    pub created: i64,
}

/// What a member says of itself in its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberEntry {
    /// What it is called.
    pub member: String,
    /// Whether it could send.
    pub ready: bool,
    /// `prefer`
    pub prefer: u8,
}

impl MemberEntry {
    /// The text of its key.
    pub fn text(&self) -> String {
        line(self)
    }
}

/// The whole picture at one revision of the store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct View {
    /// The revision.
    pub revision: i64,
    /// The layout; none before the first member.
    pub version: Option<String>,
    /// Who holds.
    pub holder: Option<Holder>,
    /// Who is there, in any order.
    pub members: Vec<MemberView>,
}

/// A key as the store shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The key.
    pub key: String,
    /// Its text.
    pub value: String,
    /// The lease that it is attached to; none where it stays.
    pub lease: Option<LeaseId>,
    /// The revision at which it was created.
    pub created: i64,
}

impl View {
    /// The picture of all keys of a group; those of the state, and any that nobody knows, are left out.
    pub fn new(keys: &Keys, revision: i64, all: &[KeyValue]) -> Self {
        let mut view = Self { revision, ..Self::default() };
        for pair in all {
            view.put(keys, pair);
        }
        view
    }

    /// A key was put.
    pub fn put(&mut self, keys: &Keys, pair: &KeyValue) {
        let KeyValue { key, value, lease, created } = pair;
        let name = key.strip_prefix(keys.prefix()).unwrap_or_default();
        match (name, lease) {
            ("version", _) => self.version = Some(value.clone()),
            ("holder", lease) => {
                let member = read(value).map_or_else(String::new, |holder: HolderText| holder.member);
                // One without a lease was put by hand: nobody holds as long as it is there.
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

    /// A key was deleted.
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

    /// What the member with this lease says of itself.
    pub fn entry(&self, lease: LeaseId) -> Option<MemberEntry> {
        let member = self.members.iter().find(|member| member.lease == lease)?;
        Some(MemberEntry { member: member.member.clone(), ready: member.ready, prefer: member.prefer })
    }

    /// The members in the order in which they may hold: those that are ready first, then the higher `prefer`, then who came
    /// first.
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

    /// As a member of a former version wrote them, and reads them.
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
