//! What a group keeps in its store: a key and a text for each callback, domain and record type (J2).

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::text::{entry_of, key_of, text_of};
use super::{Changed, Claim, ClaimKey, Fingerprint, InDoubt, State};
use crate::net::family::Family;
use crate::text::hex;
use crate::text::json::{Dialect, Value, parse, push_member};
use crate::update::domain::Domain;
use crate::update::hold::Hold;
use crate::update::streak::Streak;

/// A key of the store and its text; `None`: nothing is remembered, so the key is removed.
pub type Pair = (String, Option<String>);

impl State {
    /// Reads the state from a group's store. The member that marked an update has lost the lease and can no longer send it: the update
    /// is in doubt, but nobody waits for that request. A pair that cannot be read is ignored, and its update is sent again.
    pub fn from_pairs<'a>(salt: Vec<u8>, pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut state = Self::new(salt);
        for (key, text) in pairs {
            if let Some(key) = key_of(key)
                && let Some((entry, hold, streak, more)) = read(text, key.family)
            {
                let ended = |doubt: InDoubt| InDoubt { until: 0, by: 0, ..doubt };
                if let Some(Claim { accepted, in_doubt }) = entry {
                    state.set(&key, Claim { accepted, in_doubt: in_doubt.map(ended) });
                }
                state.set_hold(&key, hold);
                state.set_streak(&key, streak);
                if !more.is_empty() {
                    state.more_of.insert(key, more);
                }
            }
        }
        state
    }

    /// Puts everything that was accepted in doubt, because the group's store went back in time (J7). Returns the pairs that changed.
    pub fn doubt_all(&mut self) -> Vec<Pair> {
        let mut changed = Vec::new();
        for key in self.claimed().collect::<Vec<_>>() {
            if let Some(doubted) = self.entry(&key).doubted() {
                self.set(&key, doubted);
                changed.push(self.pair(&key));
            }
        }
        changed
    }

    /// The salt as text.
    pub fn salt_text(&self) -> String {
        hex::text(&self.salt)
    }

    /// Reads what [`State::salt_text`] wrote; `None`: it is something else.
    pub fn read_salt(text: &str) -> Option<Vec<u8>> {
        hex::bytes(text).filter(|salt| !salt.is_empty())
    }

    /// The current pair of a key.
    pub fn pair(&self, key: &ClaimKey) -> Pair {
        let mut text = String::new();
        let between = |text: &str| if text.is_empty() { '{' } else { ',' };
        let entry = self.entry(key);
        if entry != Claim::default() {
            text = format!("{{\"entry\"{}", text_of(&entry));
        }
        let hold = self.hold(key);
        if hold != Hold::default() {
            text = format!("{text}{}\"hold\":", between(&text));
            hold.push_text(&mut text);
        }
        if let Some(streak) = self.streak(key) {
            text = format!("{text}{}\"streak\":{}", between(&text), streak.to_text());
        }
        if !text.is_empty() {
            text += self.more_of.get(key).map_or("", String::as_str);
        }
        let ClaimKey { callback, domain, family } = key;
        let name = format!("{callback} {domain} {}", family.record_type());
        (name, (!text.is_empty()).then(|| text + "}"))
    }

    /// The keys of everything that is remembered, with duplicates.
    pub fn keys(&self) -> impl Iterator<Item = ClaimKey> {
        self.claimed().chain(keys_of(&self.holds)).chain(keys_of(&self.streaks))
    }

    /// The keys of claims that are not known to be in the file, and of the holds in `also`.
    pub fn changed(&self, also: &Changed) -> Vec<ClaimKey> {
        let held = also.holds.keys().filter(|key| !self.is_changed(key)).cloned();
        self.claimed().filter(|key| self.is_changed(key)).chain(held).collect()
    }

    /// The keys of claims that may be from one of these makers.
    pub(crate) fn claimed_by(&self, makers: &HashSet<Fingerprint>) -> impl Iterator<Item = ClaimKey> {
        let theirs = self.callbacks.iter().filter(|(_, claims)| makers.iter().any(|by| claims.may_be_of(*by)));
        keys_of(theirs.map(|(callback, claims)| (callback, &claims.entries)))
    }

    fn claimed(&self) -> impl Iterator<Item = ClaimKey> {
        keys_of(self.callbacks.iter().map(|(callback, claims)| (callback, &claims.entries)))
    }
}

fn keys_of<'a, T: 'a>(
    values: impl IntoIterator<Item = (&'a Fingerprint, &'a [FxHashMap<Domain, T>; 2])>,
) -> impl Iterator<Item = ClaimKey> {
    values.into_iter().flat_map(|(callback, families)| {
        Family::ALL.into_iter().flat_map(move |family| {
            let key = move |domain: &Domain| ClaimKey { callback: *callback, domain: domain.clone(), family };
            families[family.index()].keys().map(key)
        })
    })
}

fn read(text: &str, family: Family) -> Option<(Option<Claim>, Hold, Streak, String)> {
    let Value::Object(members) = parse(text, Dialect::STRICT).ok()?.value else { return None };
    let (mut entry, mut hold, mut streak, mut more) = (None, Hold::default(), Streak::default(), String::new());
    for member in members {
        match member.key.as_str() {
            "entry" => match &member.node.value {
                Value::Array(parts) => entry = Some(entry_of(parts, family)?),
                _ => return None,
            },
            "hold" => hold = Hold::from_value(&member.node.value)?,
            "streak" => streak = Streak::from_value(&member.node.value)?,
            _ => push_member(&mut more, &member),
        }
    }
    Some((entry, hold, streak, more))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use proptest::prelude::*;

    use super::*;
    use crate::update::hold::Stopped;
    use crate::update::state::Accepted;

    fn ip(family: Family) -> BoxedStrategy<IpAddr> {
        match family {
            Family::V4 => any::<[u8; 4]>().prop_map(IpAddr::from).boxed(),
            // Other IPv6 addresses might be IPv4-mapped.
            Family::V6 => any::<[u8; 14]>()
                .prop_map(|rest| {
                    let mut bytes = [0x20; 16];
                    bytes[2..].copy_from_slice(&rest);
                    IpAddr::from(bytes)
                })
                .boxed(),
        }
    }

    fn entry(family: Family) -> impl Strategy<Value = Claim> {
        let accepted = (ip(family), any::<u64>()).prop_map(|(ip, at)| Accepted { ip, at });
        let in_doubt = (ip(family), any::<u64>(), any::<u32>(), any::<u32>())
            .prop_map(|(ip, until, by, message)| InDoubt { ip, until, by, message });
        (proptest::option::of(accepted), proptest::option::of(in_doubt))
            .prop_map(|(accepted, in_doubt)| Claim { accepted, in_doubt })
    }

    fn hold(family: Family) -> impl Strategy<Value = Hold> {
        let stopped = (ip(family), any::<u64>(), any::<bool>(), ".{0,20}")
            .prop_map(|(ip, at, until_address, why)| Stopped { ip, at, until_address, why });
        (any::<u64>(), any::<u64>(), proptest::option::of(stopped), any::<u8>()).prop_map(
            |(sent, wait_until, stopped, unchanged)| Hold { sent, wait_until, stopped, unchanged, ..Hold::default() },
        )
    }

    fn streak() -> impl Strategy<Value = Streak> {
        (any::<u32>(), any::<[bool; 3]>(), any::<u8>(), any::<u64>()).prop_map(|(failures, flags, tries, at)| {
            let [is_stopped, is_reported, is_stop_reported] = flags;
            Streak { failures, is_stopped, is_reported, is_stop_reported, tries, at }
        })
    }

    type Remembered = (ClaimKey, Option<Claim>, Option<Hold>, Option<Streak>);

    fn remembered() -> impl Strategy<Value = Remembered> {
        prop_oneof![Just(Family::V4), Just(Family::V6)].prop_flat_map(|family| {
            let key = (any::<[u8; 16]>(), "[a-zü*_]{1,10}\\.[a-z\"\\\\/]{1,10}").prop_map(move |(callback, domain)| {
                let domain = Domain::parse(&domain).expect("a domain");
                ClaimKey { callback: Fingerprint::new(callback), domain, family }
            });
            let of = proptest::option::of::<BoxedStrategy<Claim>>;
            let hold = proptest::option::of(hold(family).boxed());
            (key, of(entry(family).boxed()), hold, proptest::option::of(streak()))
        })
    }

    fn state_of(all: &[Remembered]) -> State {
        let mut state = State::new(vec![7]);
        for (key, entry, hold, streak) in all {
            if let Some(entry) = entry.filter(|entry| *entry != Claim::default()) {
                state.set(key, entry);
            }
            state.set_hold(key, hold.clone().unwrap_or_default());
            state.set_streak(key, streak.unwrap_or_default());
        }
        state
    }

    fn texts(state: &State) -> Vec<(String, String)> {
        state.keys().map(|key| state.pair(&key)).map(|(key, text)| (key, text.expect("something"))).collect()
    }

    fn read_back(texts: &[(String, String)]) -> State {
        State::from_pairs(vec![7], texts.iter().map(|(key, text)| (key.as_str(), text.as_str())))
    }

    proptest! {
        #[test]
        fn j2_pairs_read_back_and_marks_of_others_are_in_doubt(all in proptest::collection::vec(remembered(), 0..6)) {
            let ended = |entry: Claim| Claim {
                in_doubt: entry.in_doubt.map(|doubt| InDoubt { until: 0, by: 0, ..doubt }),
                ..entry
            };
            let expected: Vec<Remembered> =
                all.iter().cloned().map(|(key, entry, hold, streak)| (key, entry.map(ended), hold, streak)).collect();
            prop_assert_eq!(read_back(&texts(&state_of(&all))), state_of(&expected));
            prop_assert_eq!(State::read_salt(&state_of(&all).salt_text()), Some(vec![7]));
        }

        #[test]
        fn j2_a_text_that_makes_no_sense_counts_for_nothing(key in ".{0,60}", text in ".{0,60}") {
            prop_assert_eq!(read_back(&[(key, text)]), State::new(vec![7]));
        }
    }

    #[test]
    fn j2_a_key_of_which_nothing_is_remembered_has_no_text() {
        let domain = Domain::parse("a.example").expect("a domain");
        let key = ClaimKey { callback: Fingerprint::new([1; 16]), domain, family: Family::V6 };
        let mut state = State::new(vec![7]);
        let name = "01010101010101010101010101010101 a.example AAAA".to_owned();
        assert_eq!(state.pair(&key), (name.clone(), None));
        state.set_hold(&key, Hold { sent: 9, ..Hold::default() });
        state.set_streak(&key, Streak { failures: 2, ..Streak::default() });
        assert_eq!(state.pair(&key), (name.clone(), Some("{\"hold\":{\"sent\":9},\"streak\":[2,0,0,0]}".to_owned())));
        let later = "{\"hold\":{\"sent\":9},\"other\":1}".to_owned();
        assert_eq!(read_back(&[(name.clone(), later.clone())]).pair(&key), (name.clone(), Some(later)), "it is kept");
        let wrong = ["{\"hold\":[]}", "{\"streak\":[2]}", "{\"entry\":[\"1.1.1.1\",0]}"];
        for text in wrong {
            assert_eq!(read_back(&[(name.clone(), text.to_owned())]), State::new(vec![7]), "{text}");
        }
    }
}
