//! What each endpoint accepted last: one entry per callback, domain and record type (E3).
//!
//! Before an address is sent, its entry is marked in doubt; the response settles it (E4). The mark also tells other
//! processes, and the next configuration of this process, that a request may be under way (E4a).

mod merge;
mod pairs;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::net::family::Family;
use crate::text::hex;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::hold::{Hold, UnderWay};
use crate::update::outcome::Outcome;
use crate::update::streak::Streak;

pub use pairs::Pair;

/// How long entries are kept at least.
const CLAIM_RETENTION: Duration = Duration::from_secs(90 * 86_400);

/// How far in the future the time of an entry may be, in seconds. Later times are from a wrong clock, and their updates are sent again.
const CLOCK_SLACK: u64 = 86_400;

/// How long a mark may last, in seconds. Longer ones are not believed: no request takes that long.
const MAX_MARK_SECONDS: u64 = 2 * 3600;

/// A salted hash of a callback (E3): identifies the callback and reveals nothing about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// Takes the first bytes of a hash.
    pub fn new(hash: [u8; 16]) -> Self {
        Self(hash)
    }

    /// The bytes of the hash.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
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

/// Identifies a claim.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    /// The callback.
    pub callback: Fingerprint,
    /// The domain.
    pub domain: Domain,
    /// The record type.
    pub family: Family,
}

/// An address that the endpoint accepted, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// The address.
    pub ip: IpAddr,
    /// Seconds since the epoch.
    pub at: u64,
}

/// An address that was sent, or is about to be, and is not settled by a response: the endpoint has either this address
/// or the one that it accepted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InDoubt {
    /// The address.
    pub ip: IpAddr,
    /// When its request has ended for certain, in seconds since the epoch; 0: it has already ended.
    pub until: u64,
    /// Who sends it: a random number for each run of a configuration.
    pub by: u32,
    /// The number of its message: the same for all tries (H11); 0: the request is not signed.
    pub message: u32,
}

impl InDoubt {
    /// Whether another process than `own` may be sending it now.
    pub fn is_foreign(&self, own: u32, now: u64) -> bool {
        self.by != own && may_be_under_way(self.until, now)
    }
}

/// Whether a request that ends at `until` may be under way. An end too far in the future is from a wrong clock.
pub(super) fn may_be_under_way(until: u64, now: u64) -> bool {
    until > now && until <= now + MAX_MARK_SECONDS
}

impl From<InDoubt> for UnderWay {
    fn from(InDoubt { ip, until, by, .. }: InDoubt) -> Self {
        Self { ip, until, by }
    }
}

impl From<UnderWay> for InDoubt {
    fn from(UnderWay { ip, until, by }: UnderWay) -> Self {
        Self { ip, until, by, message: 0 }
    }
}

/// What ddns remembers of one update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claim {
    /// What the endpoint accepted last; `None`: it has never accepted anything.
    pub accepted: Option<Accepted>,
    /// `None`: the endpoint is known to have what it accepted last.
    pub in_doubt: Option<InDoubt>,
}

impl Claim {
    /// Marks the claim before `own` sends an update, whose request may be under way until `until`. Also returns what
    /// was in doubt before, for [`Claim::settled`]. `None`: another process may be sending another address than `shared`.
    pub fn marked(
        self,
        (update, shared): (&Update<'_>, Option<IpAddr>),
        until: u64,
        own: u32,
        now: u64,
    ) -> Option<(Self, Option<InDoubt>)> {
        let before = self.in_doubt.filter(|doubt| doubt.by != own);
        if before.is_some_and(|doubt| doubt.is_foreign(own, now) && Some(doubt.ip) != shared) {
            return None;
        }
        let message = self.in_doubt.filter(|doubt| doubt.ip == update.ip).map_or(0, |doubt| doubt.message);
        Some((Self { in_doubt: Some(InDoubt { ip: update.ip, until, by: own, message }), ..self }, before))
    }

    /// Numbers the message that is sent, unless a previous try has numbered it (H11).
    #[must_use]
    pub fn numbered(self, message: u32) -> Self {
        let number =
            |doubt: InDoubt| InDoubt { message: if doubt.message == 0 { message } else { doubt.message }, ..doubt };
        Self { in_doubt: self.in_doubt.map(number), ..self }
    }

    /// The claim after a request has ended. `before` is what was in doubt before the mark: a request of which nothing
    /// was sent restores it. After a failure, the address stays in doubt, because the endpoint may have accepted it.
    #[must_use]
    pub fn settled(self, outcome: &Outcome, update: &Update<'_>, before: Option<InDoubt>, now: u64) -> Self {
        match outcome {
            _ if outcome.is_accepted() => Self { accepted: Some(Accepted { ip: update.ip, at: now }), in_doubt: None },
            _ if outcome.may_have_reached() => {
                let message = self.in_doubt.map_or(0, |doubt| doubt.message);
                Self { in_doubt: Some(InDoubt { ip: update.ip, until: 0, by: 0, message }), ..self }
            }
            _ => Self { in_doubt: before, ..self },
        }
    }

    /// The claim when a request for something else may replace the address at the endpoint; `None`: it is already in
    /// doubt, or claims no address.
    pub fn doubted(self) -> Option<Self> {
        let doubt = |accepted: Accepted| InDoubt { ip: accepted.ip, until: 0, by: 0, message: 0 };
        let in_doubt = self.accepted.filter(|_| self.in_doubt.is_none()).map(doubt)?;
        Some(Self { in_doubt: Some(in_doubt), ..self })
    }

    /// Undoes [`Claim::doubted`] if that request was not sent; `None`: something else has put the claim in doubt since.
    pub fn undoubted(self) -> Option<Self> {
        let before = Self { in_doubt: None, ..self };
        (before.doubted() == Some(self)).then_some(before)
    }

    /// The latest time in the claim, for [`State::prune`].
    fn at(&self) -> u64 {
        let accepted = self.accepted.map_or(0, |accepted| accepted.at);
        accepted.max(self.in_doubt.map_or(0, |doubt| doubt.until))
    }
}

/// A claim in the form that is kept in memory. It is small, because there may be many thousands. IPv4 addresses have their IPv6-mapped
/// form, and `::` means that there is no address. Times after 2106 are from a wrong clock and are all stored as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeptClaim {
    accepted: Ipv6Addr,
    sent: Ipv6Addr,
    at: u32,
    until: u32,
    by: u32,
    message: u32,
    saved: Saved,
}

/// Whether a claim is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The file has it.
    Yes,
    /// It was handed over to be written, and is not confirmed.
    Perhaps,
    /// It changed after that.
    No,
}

impl From<Claim> for KeptClaim {
    fn from(Claim { accepted, in_doubt }: Claim) -> Self {
        let address = |ip: IpAddr| match ip {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let time = |time: u64| u32::try_from(time).unwrap_or(u32::MAX);
        let none = Ipv6Addr::UNSPECIFIED;
        let mut slot = Self { accepted: none, sent: none, at: 0, until: 0, by: 0, message: 0, saved: Saved::Yes };
        if let Some(Accepted { ip, at }) = accepted {
            (slot.accepted, slot.at) = (address(ip), time(at));
        }
        if let Some(InDoubt { ip, until, by, message }) = in_doubt {
            (slot.sent, slot.until, slot.by, slot.message) = (address(ip), time(until), by, message);
        }
        slot
    }
}

impl From<KeptClaim> for Claim {
    fn from(KeptClaim { accepted, sent, at, until, by, message, .. }: KeptClaim) -> Self {
        let address = |ip: Ipv6Addr| (!ip.is_unspecified()).then(|| ip.to_canonical());
        Self {
            accepted: address(accepted).map(|ip| Accepted { ip, at: at.into() }),
            in_doubt: address(sent).map(|ip| InDoubt { ip, until: until.into(), by, message }),
        }
    }
}

/// An update that is about to be sent, for [`State::replaced_by`].
#[derive(Debug, Clone)]
pub struct Sending {
    /// Which update.
    pub key: ClaimKey,
    /// The address; `None`: the request carries the text `missing` in its place (H7).
    pub ip: Option<IpAddr>,
    /// Identifies the configuration file that sends it and the origin: [`crate::callback::Callback::maker`].
    pub by: Fingerprint,
}

/// Everything that ddns remembers in one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Random, made with the file, so that equal callbacks have different hashes in different files.
    salt: Vec<u8>,
    callbacks: BTreeMap<Fingerprint, Claims>,
    /// Members that a later version added to the file, as text; they are written back.
    more: String,
    /// The same for single entries.
    more_of: FxHashMap<ClaimKey, String>,
    /// What keeps updates from being sent; few updates have this.
    holds: BTreeMap<Fingerprint, Holds>,
    /// Failures in a row, by the key of the notification that counts them; only for updates that fail.
    streaks: BTreeMap<Fingerprint, Streaks>,
}

/// The claims of one callback.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Claims {
    /// The makers of these claims, each a hash of a configuration file and an origin (E3); empty: an older version wrote them.
    by: Vec<Fingerprint>,
    entries: Entries,
    /// Members that a later version added, as text.
    more: String,
}

impl Claims {
    /// Whether the claims may be from this maker.
    fn may_be_of(&self, by: Fingerprint) -> bool {
        self.by.is_empty() || self.by.contains(&by)
    }
}

/// The claims of one callback, by [`Family::index`].
type Entries = [FxHashMap<Domain, KeptClaim>; 2];

/// What keeps the updates of one callback from being sent, by [`Family::index`].
type Holds = [FxHashMap<Domain, Hold>; 2];

/// The failures that one notification counts, by [`Family::index`].
type Streaks = [FxHashMap<Domain, Streak>; 2];

/// What changed since the file was written.
#[derive(Debug, Default)]
pub struct Changed {
    /// Whether claims changed; the [`State`] knows which.
    pub claims: bool,
    /// Whether the file may claim an address that the service was seen not to have.
    pub is_refuted: bool,
    /// The holds that changed, as they were when the file was written.
    pub holds: FxHashMap<ClaimKey, Hold>,
    /// The updates whose failures in a row changed.
    pub streaks: FxHashSet<ClaimKey>,
}

impl Changed {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        !self.claims && self.holds.is_empty() && self.streaks.is_empty()
    }

    /// Adds older changes. Their holds win, because they are closer to what the file has.
    pub fn extend(&mut self, older: &Self) {
        self.claims |= older.claims;
        self.is_refuted |= older.is_refuted;
        self.holds.extend(older.holds.iter().map(|(key, hold)| (key.clone(), hold.clone())));
        self.streaks.extend(older.streaks.iter().cloned());
    }
}

impl State {
    /// A state that remembers nothing.
    pub fn new(salt: Vec<u8>) -> Self {
        let (callbacks, holds, streaks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { salt, callbacks, more: String::new(), more_of: FxHashMap::default(), holds, streaks }
    }

    /// The salt for [`crate::callback::Callback::fingerprint`].
    pub fn salt(&self) -> &[u8] {
        &self.salt
    }

    /// Everything remembered of one callback.
    pub fn of(&self, callback: Fingerprint) -> Memory<'_> {
        Memory {
            entries: self.callbacks.get(&callback).map(|claims| &claims.entries),
            holds: self.holds.get(&callback),
        }
    }

    /// What keeps an update from being sent; the default if nothing does.
    pub fn hold(&self, key: &ClaimKey) -> Hold {
        self.of(key.callback).hold(&key.domain, key.family).cloned().unwrap_or_default()
    }

    /// Remembers what keeps an update from being sent.
    pub fn set_hold(&mut self, key: &ClaimKey, hold: Hold) {
        put(&mut self.holds, key, hold);
    }

    /// The failures in a row of an update; `None`: the update does not fail.
    pub fn streak(&self, key: &ClaimKey) -> Option<Streak> {
        self.streaks.get(&key.callback)?[key.family.index()].get(&key.domain).copied()
    }

    /// Whether a notification counts failures of any update.
    pub fn has_streaks(&self, notification: Fingerprint) -> bool {
        self.streaks.contains_key(&notification)
    }

    /// Remembers the failures in a row of an update.
    pub fn set_streak(&mut self, key: &ClaimKey, streak: Streak) {
        put(&mut self.streaks, key, streak);
    }

    /// The claim of one update.
    pub fn entry(&self, key: &ClaimKey) -> Claim {
        self.of(key.callback).entry(&key.domain, key.family)
    }

    /// Sets a claim without changing whether it counts as written.
    pub fn set(&mut self, key: &ClaimKey, entry: Claim) {
        self.put_claim(key, entry, None);
    }

    /// Sets a claim that must be written.
    pub fn change(&mut self, key: &ClaimKey, entry: Claim) {
        self.put_claim(key, entry, Some(Saved::No));
    }

    fn put_claim(&mut self, key: &ClaimKey, entry: Claim, saved: Option<Saved>) {
        let entries = &mut self.callbacks.entry(key.callback).or_default().entries[key.family.index()];
        match entries.get_mut(&key.domain) {
            Some(known) => *known = KeptClaim { saved: saved.unwrap_or(known.saved), ..entry.into() },
            None => {
                entries.insert(key.domain.clone(), KeptClaim { saved: saved.unwrap_or(Saved::Yes), ..entry.into() });
            }
        }
    }

    /// Reserves room for `count` claims of a callback: a table that grows on its own takes half as much memory again while it does.
    pub fn make_room(&mut self, callback: Fingerprint, family: Family, count: usize) {
        if let Some(claims) = self.callbacks.get_mut(&callback) {
            let entries = &mut claims.entries[family.index()];
            entries.reserve(count.saturating_sub(entries.len()));
        }
    }

    /// Changes all claims that are `from` to `to`.
    pub fn turn(&mut self, from: Saved, to: Saved) {
        let slots = self.callbacks.values_mut().flat_map(|claims| &mut claims.entries).flat_map(FxHashMap::values_mut);
        slots.filter(|slot| slot.saved == from).for_each(|slot| slot.saved = to);
    }

    /// Whether a claim is not known to be in the file.
    pub fn is_changed(&self, key: &ClaimKey) -> bool {
        let claims = self.callbacks.get(&key.callback);
        let slot = claims.and_then(|claims| claims.entries[key.family.index()].get(&key.domain));
        slot.is_some_and(|slot| slot.saved != Saved::Yes)
    }

    /// Forgets what was accepted, but not what keeps updates from being sent.
    pub fn forget_claims(&mut self) {
        self.callbacks.clear();
        self.more_of.clear();
    }

    /// Notes a maker of the claims of a callback.
    pub fn note_maker(&mut self, callback: Fingerprint, by: Fingerprint) {
        let claims = self.callbacks.entry(callback).or_default();
        if !claims.by.contains(&by) {
            claims.by.push(by);
        }
    }

    /// Whether several callbacks have claims: with only one, no callback can replace the claims of another.
    pub fn has_several(&self) -> bool {
        self.callbacks.len() > 1
    }

    /// The claims that no longer hold once these updates are sent: another address for the same domain and type, accepted by
    /// the same origin from the same configuration file, through a callback that is no longer configured for them (E3). Returns
    /// each with the index of the update that replaces it. `present` yields everything that is configured.
    pub fn replaced_by<'a>(
        &self,
        sending: &[Sending],
        present: impl Iterator<Item = (Fingerprint, &'a Domain, Family)>,
    ) -> Vec<(usize, ClaimKey)> {
        let mut places: FxHashMap<(&Domain, Family), Vec<usize>> = FxHashMap::default();
        for (place, one) in sending.iter().enumerate() {
            places.entry((&one.key.domain, one.key.family)).or_default().push(place);
        }
        let mut replaced = Vec::new();
        for (callback, claims) in &self.callbacks {
            let mut check = |domain: &Domain, family: Family, entry: &KeptClaim| {
                let Some(accepted) = Claim::from(*entry).accepted else { return };
                for place in places.get(&(domain, family)).into_iter().flatten() {
                    let Sending { key, ip, by } = &sending[*place];
                    if Some(accepted.ip) != *ip && key.callback != *callback && claims.may_be_of(*by) {
                        replaced.push((*place, ClaimKey { callback: *callback, domain: domain.clone(), family }));
                    }
                }
            };
            for family in Family::ALL {
                let entries = &claims.entries[family.index()];
                // Walks through the smaller of the two: with as many callbacks as domains, checking all pairs would be quadratic.
                if entries.len() < places.len() {
                    for (domain, entry) in entries {
                        check(domain, family, entry);
                    }
                } else {
                    for (domain, _) in places.keys().filter(|(_, of)| *of == family) {
                        if let Some(entry) = entries.get(*domain) {
                            check(domain, family, entry);
                        }
                    }
                }
            }
        }
        let mut former: FxHashSet<ClaimKey> = replaced.iter().map(|(_, key)| key.clone()).collect();
        if !former.is_empty() {
            for (callback, domain, family) in present {
                former.remove(&ClaimKey { callback, domain: domain.clone(), family });
            }
            replaced.retain(|(_, key)| former.contains(key));
        }
        replaced
    }

    /// Forgets what is older than both 90 days and `max_age`: it belongs to callbacks that are no longer configured.
    pub fn prune(&mut self, max_age: Duration, now: u64) {
        let keep = CLAIM_RETENTION.max(max_age).as_secs();
        for entries in self.callbacks.values_mut().flat_map(|claims| &mut claims.entries) {
            // The number of a message must outlive its tries, and an entry that was never accepted has no time.
            let is_numbered = |entry: &Claim| entry.in_doubt.is_some_and(|doubt| doubt.message != 0);
            entries.retain(|_, slot| {
                let entry = Claim::from(*slot);
                now.saturating_sub(entry.at()) < keep || is_numbered(&entry)
            });
        }
        self.callbacks.retain(|_, claims| claims.entries.iter().any(|entries| !entries.is_empty()));
        let callbacks = &self.callbacks;
        let is_known = |key: &ClaimKey| {
            callbacks
                .get(&key.callback)
                .is_some_and(|claims| claims.entries[key.family.index()].contains_key(&key.domain))
        };
        self.more_of.retain(|key, _| is_known(key));
        // A stop has no end; the count of unchanged responses and what DNS showed are kept as long as their entry.
        for (callback, families) in &mut self.holds {
            for (family, holds) in families.iter_mut().enumerate() {
                for hold in holds.values_mut() {
                    hold.under_way.retain(|other| other.until > now);
                }
                let known = self.callbacks.get(callback).map(|claims| &claims.entries[family]);
                let is_known = |domain: &Domain| known.is_some_and(|entries| entries.contains_key(domain));
                holds.retain(|domain, hold| {
                    hold.stopped.is_some()
                        || !hold.under_way.is_empty()
                        || (hold.unchanged > 0 || hold.seen.is_some()) && is_known(domain)
                        || now.saturating_sub(hold.at()) < keep
                });
            }
        }
        self.holds.retain(|_, families| families.iter().any(|holds| !holds.is_empty()));
        for streaks in self.streaks.values_mut().flatten() {
            streaks.retain(|_, streak| now.saturating_sub(streak.at) < keep);
        }
        self.streaks.retain(|_, families| families.iter().any(|streaks| !streaks.is_empty()));
    }
}

/// Stores a value; the default value is removed instead.
fn put<T: Default + PartialEq>(
    values: &mut BTreeMap<Fingerprint, [FxHashMap<Domain, T>; 2]>,
    ClaimKey { callback, domain, family }: &ClaimKey,
    value: T,
) {
    if value != T::default() {
        values.entry(*callback).or_default()[family.index()].insert(domain.clone(), value);
    } else if let Some(families) = values.get_mut(callback) {
        families[family.index()].remove(domain);
        if families.iter().all(FxHashMap::is_empty) {
            values.remove(callback);
        }
    }
}

/// Everything remembered of one callback.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    entries: Option<&'a Entries>,
    holds: Option<&'a Holds>,
}

impl<'a> Memory<'a> {
    /// The claim of one update.
    pub fn entry(self, domain: &Domain, family: Family) -> Claim {
        let slot = self.entries.and_then(|entries| entries[family.index()].get(domain));
        slot.copied().map(Claim::from).unwrap_or_default()
    }

    /// What keeps one update from being sent.
    pub fn hold(self, domain: &Domain, family: Family) -> Option<&'a Hold> {
        self.holds.and_then(|holds| holds[family.index()].get(domain))
    }
}

impl Accepted {
    /// Whether it still counts: it is not older than `max_age`, and not from a clock that ran ahead.
    pub fn counts(self, max_age: Duration, now: u64) -> bool {
        now.saturating_sub(self.at) < max_age.as_secs() && self.at <= now.saturating_add(CLOCK_SLACK)
    }
}

#[cfg(test)]
mod tests;
