//! What each endpoint accepted last: one entry per callback, domain and record type (E3).
//!
//! The text form is JSON; it holds addresses, names, times and salted hashes, and no secret.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use crate::net::family::Family;
use crate::text::hex;
use crate::text::json::{Dialect, Node, Value, parse, push_escaped};
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::outcome::Outcome;

/// The form of the text that this version writes.
const VERSION: &str = "2";

/// The form with another kind of keys for callbacks: it is read, and its entries do not count.
const OLD_VERSION: &str = "1";

/// Entries are kept for so long at least.
const KEEP: Duration = Duration::from_secs(90 * 86_400);

/// A clock that is wrong by more than this in the past made entries that lie in the future: they are sent again.
const CLOCK_SLACK: u64 = 86_400;

/// A salted hash of a callback (E3): identifies a callback and reveals nothing about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// From the first bytes of a hash.
    pub fn new(hash: [u8; 16]) -> Self {
        Self(hash)
    }

    /// Reads what [`fmt::Display`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        hex::bytes(text)?.try_into().ok().map(Self)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::text(&self.0))
    }
}

/// What an entry is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EntryKey {
    /// The callback.
    pub callback: Fingerprint,
    /// The domain.
    pub domain: Domain,
    /// The record type.
    pub family: Family,
}

/// What was accepted, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// The address.
    pub ip: IpAddr,
    /// Seconds since the epoch.
    pub at: u64,
}

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Random, made with the file: keeps two files' hashes apart.
    salt: Vec<u8>,
    callbacks: HashMap<Fingerprint, Entries>,
}

/// What one callback had accepted: by [`Family::index`].
type Entries = [HashMap<Domain, Accepted>; 2];

/// What a synchronization learned: an entry, or that there is none any more.
pub type News = HashMap<EntryKey, Option<Accepted>>;

impl State {
    /// Nothing remembered yet.
    pub fn new(salt: Vec<u8>) -> Self {
        Self { salt, callbacks: HashMap::new() }
    }

    /// The salt for [`crate::callback::Callback::fingerprint`].
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// What is remembered of one callback.
    pub fn of(&self, callback: Fingerprint) -> Memory<'_> {
        Memory(self.callbacks.get(&callback))
    }

    /// Takes one piece of news in.
    pub fn learn(&mut self, key: EntryKey, entry: Option<Accepted>) {
        let entries = &mut self.callbacks.entry(key.callback).or_default()[key.family.index()];
        match entry {
            Some(accepted) => entries.insert(key.domain, accepted),
            None => entries.remove(&key.domain),
        };
    }

    /// Takes news in and forgets what is older than 90 days and than `max_age`: it belongs to callbacks that are gone.
    pub fn merge(&mut self, news: &News, max_age: Duration, now: u64) {
        let keep = KEEP.max(max_age).as_secs();
        for (key, entry) in news {
            self.learn(key.clone(), *entry);
        }
        for entries in self.callbacks.values_mut().flatten() {
            entries.retain(|_, entry| now.saturating_sub(entry.at) < keep);
        }
        self.callbacks.retain(|_, families| families.iter().any(|entries| !entries.is_empty()));
    }

    /// The text of the cache file.
    pub fn to_text(&self) -> String {
        let salt = hex::text(&self.salt);
        let mut text = format!("{{\"version\":{VERSION},\"salt\":\"{salt}\",\"callbacks\":{{");
        let sorted: BTreeMap<&Fingerprint, &Entries> = self.callbacks.iter().collect();
        for (at, (callback, entries)) in sorted.into_iter().enumerate() {
            text += if at == 0 { "\n" } else { ",\n" };
            text += &format!("\"{callback}\":{{");
            let mut between = "\n ";
            for family in Family::ALL {
                let mut sorted: Vec<(&Domain, &Accepted)> = entries[family.index()].iter().collect();
                sorted.sort_unstable_by_key(|(domain, _)| *domain);
                // Most entries hold the same address and time: each is made text once.
                let mut last: Option<(Accepted, String)> = None;
                for (domain, entry) in sorted {
                    text += between;
                    text.push('"');
                    push_escaped(&mut text, domain.as_str());
                    text.push(' ');
                    text += family.record_type();
                    text.push('"');
                    let fresh = || (*entry, format!(":[\"{}\",{}]", entry.ip, entry.at));
                    let known = last.take().filter(|(known, _)| known == entry);
                    text += &last.insert(known.unwrap_or_else(fresh)).1;
                    between = ",\n ";
                }
            }
            text += "}";
        }
        text += "}}\n";
        text
    }

    /// Reads what [`State::to_text`] wrote; none where it is damaged or of an unknown version. One of the old version has
    /// no entries: everything is sent once more.
    pub fn from_text(text: &str) -> Option<Self> {
        let Value::Object(members) = parse(text, Dialect::STRICT).ok()?.value else { return None };
        let (mut state, mut is_old) = (None, false);
        for member in members {
            match (member.key.as_str(), member.node.value) {
                ("version", Value::Number(version)) if version == VERSION || version == OLD_VERSION => {
                    is_old = version == OLD_VERSION;
                }
                ("salt", Value::String(salt)) => state = Some(Self::new(hex::bytes(&salt)?)),
                ("callbacks", Value::Object(callbacks)) => {
                    let state = state.as_mut()?;
                    for callback in callbacks {
                        let fingerprint = Fingerprint::parse(&callback.key)?;
                        state.callbacks.insert(fingerprint, entries_of(callback.node.value)?);
                    }
                }
                _ => return None,
            }
        }
        let mut state = state.filter(|state| !state.salt.is_empty())?;
        if is_old {
            state.callbacks.clear();
        }
        Some(state)
    }
}

/// What is remembered of one callback.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a>(Option<&'a Entries>);

impl Memory<'_> {
    /// The address that was accepted last, however long ago.
    pub fn accepted(self, domain: &Domain, family: Family) -> Option<Accepted> {
        self.0?[family.index()].get(domain).copied()
    }
}

impl Accepted {
    /// Whether it still counts: not older than `max_age`, not from a clock that ran ahead.
    pub fn counts(self, max_age: Duration, now: u64) -> bool {
        now.saturating_sub(self.at) < max_age.as_secs() && self.at <= now.saturating_add(CLOCK_SLACK)
    }
}

fn entries_of(value: Value) -> Option<Entries> {
    let Value::Object(members) = value else { return None };
    let mut families = Entries::default();
    let mut left = members.len();
    for member in members {
        let (domain, record_type) = member.key.rsplit_once(' ')?;
        let family = Family::ALL.into_iter().find(|family| family.record_type() == record_type)?;
        let entries = &mut families[family.index()];
        if entries.is_empty() {
            entries.reserve(left);
        }
        entries.insert(Domain::parse(domain).ok()?, accepted(&member.node, family)?);
        left -= 1;
    }
    Some(families)
}

fn accepted(node: &Node, family: Family) -> Option<Accepted> {
    let Value::Array(pair) = &node.value else { return None };
    let [Node { value: Value::String(ip), .. }, Node { value: Value::Number(at), .. }] = pair.as_slice() else {
        return None;
    };
    let ip: IpAddr = ip.parse().ok()?;
    (Family::of(ip) == Some(family)).then_some(Accepted { ip, at: at.parse().ok()? })
}

/// What an outcome means for the entry of its update; none where nothing changes.
///
/// A failed request may have been taken all the same: the endpoint may then hold another address than the one it
/// accepted last, so that one is forgotten too and is sent again if the host returns to it.
pub fn learned(outcome: &Outcome, update: &Update<'_>, now: u64) -> Option<Option<Accepted>> {
    match outcome {
        Outcome::Accepted(_) => Some(Some(Accepted { ip: update.ip, at: now })),
        _ if outcome.may_have_reached() => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> EntryKey {
        let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
        EntryKey { callback, domain: Domain::parse(name).expect("a domain"), family: Family::V4 }
    }

    fn entry(at: u64) -> Accepted {
        Accepted { ip: "203.0.113.7".parse().expect("an address"), at }
    }

    fn state_with(name: &str, at: u64) -> State {
        let mut state = State::new(vec![1, 2, 3]);
        state.merge(&News::from([(key(name), Some(entry(at)))]), Duration::ZERO, at);
        state
    }

    fn last(state: &State, name: &str) -> Option<Accepted> {
        let key = key(name);
        state.of(key.callback).accepted(&key.domain, key.family)
    }

    #[test]
    fn the_text_reads_back() {
        let mut state = state_with("a.example", 1000);
        state.merge(&News::from([(key("bücher.example"), Some(entry(1001)))]), Duration::ZERO, 1001);
        assert_eq!(State::from_text(&state.to_text()), Some(state.clone()));
        assert_eq!(State::from_text(&State::new(vec![7]).to_text()), Some(State::new(vec![7])));
    }

    #[test]
    fn e4_damaged_texts_are_refused_and_never_panic() {
        let text = state_with("a.example", 1000).to_text();
        for end in 0..text.len() - 2 {
            assert_eq!(State::from_text(&text[..end]), None, "cut at {end}");
        }
        for (from, to) in [("\"version\":2", "\"version\":3"), ("203.0", "2001:"), (" A\"", " MX\""), ("1000", "\"x\"")]
        {
            assert_eq!(State::from_text(&text.replacen(from, to, 1)), None, "{from}");
        }
    }

    #[test]
    fn e4_a_text_of_the_old_version_is_read_and_has_no_entries() {
        let old = state_with("a.example", 1000).to_text().replacen("\"version\":2", "\"version\":1", 1);
        assert_eq!(State::from_text(&old), Some(State::new(vec![1, 2, 3])));
        assert_eq!(State::from_text(&old.replacen("203.0", "2001:", 1)), None, "damaged all the same");
    }

    #[test]
    fn e3_an_entry_counts_until_it_is_too_old() {
        let state = state_with("a.example", 10_000);
        let age = Duration::from_secs(60);
        let entry = last(&state, "a.example").expect("an entry");
        assert!(entry.counts(age, 10_059));
        assert!(!entry.counts(age, 10_060));
        assert!(!entry.counts(Duration::ZERO, 10_000));
        assert!(last(&state, "b.example").is_none());
    }

    #[test]
    fn an_entry_of_a_clock_that_ran_ahead_does_not_count() {
        let age = Duration::from_secs(60);
        assert!(entry(10_000_000).counts(age, 10_000_000 - 100));
        assert!(!entry(10_000_000).counts(age, 5_000_000));
    }

    #[test]
    fn a_failure_that_may_have_reached_the_endpoint_forgets_what_it_held() {
        let domain = Domain::parse("a.example").expect("a domain");
        let update = Update { domain: &domain, family: Family::V4, ip: entry(0).ip };
        let failed = |reached| Outcome::Failed { why: String::new(), reached };
        assert_eq!(learned(&Outcome::Accepted(204), &update, 7), Some(Some(entry(7))));
        assert_eq!(learned(&Outcome::Refused(500), &update, 7), Some(None));
        assert_eq!(learned(&failed(true), &update, 7), Some(None));
        assert_eq!(learned(&failed(false), &update, 7), None);
    }

    #[test]
    fn entries_of_callbacks_that_are_gone_are_forgotten_in_the_end() {
        let mut state = state_with("a.example", 1000);
        state.merge(&News::new(), Duration::ZERO, 1000 + KEEP.as_secs() - 1);
        assert!(last(&state, "a.example").is_some());
        state.merge(&News::new(), KEEP * 2, 1000 + KEEP.as_secs());
        assert!(last(&state, "a.example").is_some());
        state.merge(&News::new(), Duration::ZERO, 1000 + KEEP.as_secs());
        assert!(last(&state, "a.example").is_none());
    }
}
