//! What keeps an update from being sent although it is due: the service stopped it, asked to wait, or needs a minimum
//! interval between requests (H4 to H6). It is remembered in the cache, so that every process respects it.

use std::net::IpAddr;
use std::time::Duration;

use crate::dns::DnsMemory;
use crate::text::json::{Value, one_line, push_member, push_string};
use crate::text::own_json;
use crate::update::Update;
use crate::update::outcome::{Outcome, Why};

/// How much of a service's text is kept, in characters.
const MAX_REASON_CHARS: usize = 200;

/// After this many responses in a row that nothing changed, the update is not sent again until its address changes.
const MAX_NOCHG: u8 = 3;

/// The longest wait that counts, in seconds. An end further in the future is from a wrong clock.
pub const MAX_WAIT_SECONDS: u64 = 31 * 86_400;

/// What ddns remembers of one update besides its claim.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hold {
    /// When it was last sent, in seconds since the epoch; 0: no `min_interval` needs it.
    pub sent: u64,
    /// When the wait that the service asked for ends, in seconds since the epoch; 0: it did not ask for one.
    pub wait_until: u64,
    /// Set if the service permanently refused the update.
    pub stopped: Option<Stopped>,
    /// How often in a row the service responded that it already had this address.
    pub unchanged: u8,
    /// Requests of other processes that may be under way besides the one in doubt (E4a).
    pub under_way: Vec<UnderWay>,
    /// Whether DNS shows what was accepted; `None`: it is not checked (K19).
    pub seen: Option<Box<DnsMemory>>,
    /// Members that a later version added, as text.
    pub more: String,
}

/// A request that may be under way besides the one in doubt, usually of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// The address.
    pub ip: IpAddr,
    /// When it has ended for certain, in seconds since the epoch.
    pub until: u64,
    /// Who sends it: [`InDoubt::by`](super::state::InDoubt::by).
    pub by: u32,
}

/// A permanent refusal of an update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    /// The refused address.
    pub ip: IpAddr,
    /// When it was refused, in seconds since the epoch.
    pub at: u64,
    /// Whether the update is tried again with another address.
    pub until_address: bool,
    /// The text of the service, masked.
    pub why: String,
}

impl Stopped {
    /// The stop of an update with this address; `None`: the outcome is not a stop.
    pub fn by(outcome: &Outcome, ip: IpAddr, now: u64) -> Option<Self> {
        let Outcome::Stopped { words, until_address, .. } = outcome else { return None };
        let why = words.chars().take(MAX_REASON_CHARS).collect();
        Some(Self { ip, at: now, until_address: *until_address, why })
    }
}

impl Stopped {
    /// Of two stops of one update, the one that another address does not end; otherwise the later one.
    fn or_stronger(self, other: Self) -> Self {
        let rank = |stopped: &Self| (!stopped.until_address, stopped.at);
        if rank(&self) > rank(&other) { self } else { other }
    }
}

impl Hold {
    /// The hold after a request has ended. `is_same`: the address is the one that was accepted last.
    #[must_use]
    pub fn settled(self, outcome: &Outcome, update: &Update<'_>, is_same: bool, now: u64) -> Self {
        // Nothing was sent: what the service said before still counts.
        if !outcome.may_have_reached() || *outcome == Outcome::AlreadyThere {
            return self;
        }
        let sent = if self.sent > 0 { now } else { 0 };
        let none = Self { sent, under_way: self.under_way, seen: self.seen, more: self.more, ..Self::default() };
        match outcome {
            Outcome::Unchanged(_) => {
                Self { unchanged: if is_same { self.unchanged.saturating_add(1) } else { 1 }, ..none }
            }
            Outcome::Stopped { .. } => {
                let stopped = Stopped::by(outcome, update.ip, now);
                let before = self.stopped;
                Self { stopped: stopped.map(|new| before.map_or(new.clone(), |old| old.or_stronger(new))), ..none }
            }
            Outcome::Failed(Why::Wait { wait: Some(wait), .. }) => {
                Self { wait_until: now + wait.as_secs().min(MAX_WAIT_SECONDS), stopped: self.stopped, ..none }
            }
            Outcome::Accepted(_) | Outcome::AlreadyThere | Outcome::Made(_) => none,
            // While the request was under way, a stop of all updates of the entry may have come.
            Outcome::Failed(_) => Self { stopped: self.stopped, ..none },
        }
    }

    /// The hold after a step has ended, so that no update was sent.
    #[must_use]
    pub fn refused(self, outcome: &Outcome, update: &Update<'_>, now: u64) -> Self {
        let sent = self.sent;
        match outcome {
            Outcome::Stopped { .. } | Outcome::Failed(Why::Wait { .. }) => {
                Self { sent, ..self.settled(outcome, update, false, now) }
            }
            _ => self,
        }
    }

    /// The stop that applies to this address.
    pub fn stop_for(&self, ip: IpAddr) -> Option<&Stopped> {
        self.stopped.as_ref().filter(|stopped| !stopped.until_address || stopped.ip == ip)
    }

    /// Until when an update is held back, in seconds since the epoch, and why.
    pub fn until(&self, min_interval: Duration, now: u64) -> Option<(u64, HeldBy)> {
        let is_ahead = |until: &u64| *until > now && *until <= now + MAX_WAIT_SECONDS;
        let wait = Some(self.wait_until).filter(is_ahead).map(|until| (until, HeldBy::Service));
        // A request sent in the future was sent by a wrong clock.
        let interval =
            self.sent.checked_add(min_interval.as_secs()).filter(|until| is_ahead(until) && self.sent <= now);
        wait.into_iter().chain(interval.map(|until| (until, HeldBy::MinInterval))).max_by_key(|(until, _)| *until)
    }

    /// Whether the service has responded often enough that it already has the address.
    pub fn nochg_limit_reached(&self) -> bool {
        self.unchanged >= MAX_NOCHG
    }

    /// The latest time in the hold.
    pub(super) fn at(&self) -> u64 {
        self.sent.max(self.wait_until)
    }

    /// Merges with what another process wrote since `base`: where both changed something, the later value wins.
    /// `accepted` is when the update was last accepted.
    pub(crate) fn merged(self, base: &Self, theirs: Self, accepted: u64) -> Self {
        let later = |ours: u64, base: u64, theirs: u64| match (ours == base, theirs == base) {
            (true, _) => theirs,
            (false, true) => ours,
            (false, false) => ours.max(theirs),
        };
        let stopped = match (self.stopped == base.stopped, theirs.stopped == base.stopped) {
            (true, _) => theirs.stopped,
            (false, true) => self.stopped,
            (false, false) => match (self.stopped, theirs.stopped) {
                (Some(ours), Some(theirs)) => Some(ours.or_stronger(theirs)),
                (None, theirs) => theirs.filter(|theirs| theirs.at >= accepted),
                (ours, None) => ours,
            },
        };
        Self {
            sent: later(self.sent, base.sent, theirs.sent),
            wait_until: later(self.wait_until, base.wait_until, theirs.wait_until),
            stopped,
            unchanged: if self.unchanged == base.unchanged { theirs.unchanged } else { self.unchanged },
            seen: DnsMemory::merged(self.seen, theirs.seen),
            ..theirs
        }
    }

    /// Whether another process has recorded something since `base` that may keep this update from being sent.
    pub(super) fn has_changed_from(&self, base: &Self) -> bool {
        (self.sent, self.wait_until, &self.stopped) != (base.sent, base.wait_until, &base.stopped)
    }

    /// The request of this process that is under way beside the one in doubt.
    pub(super) fn sent_by(&self, own: u32) -> Option<UnderWay> {
        self.under_way.iter().find(|request| request.by == own).copied()
    }

    /// Removes the request that ends last of those that are meant. (A process may have marked an update several times.)
    pub fn take_last(&mut self, is_meant: impl Fn(&UnderWay) -> bool) -> Option<UnderWay> {
        let meant = self.under_way.iter().enumerate().filter(|(_, request)| is_meant(request));
        let (place, _) = meant.max_by_key(|(_, request)| request.until)?;
        Some(self.under_way.remove(place))
    }

    /// When the requests of other processes than `own` with another address than `shared` will have ended; `None`: there are
    /// none.
    pub fn others_until(&self, shared: Option<IpAddr>, own: u32, now: u64) -> Option<u64> {
        let is_other = |other: &&UnderWay| Some(other.ip) != shared && other.by != own && other.until > now;
        self.under_way.iter().filter(is_other).map(|other| other.until).max()
    }

    pub(super) fn push_text(&self, out: &mut String) {
        let mut between = "{";
        let mut push = |name: &str, value: &str| {
            *out += &format!("{between}\"{name}\":{value}");
            between = ",";
        };
        for (name, number) in [("sent", self.sent), ("wait", self.wait_until), ("unchanged", self.unchanged.into())] {
            if number > 0 {
                push(name, &number.to_string());
            }
        }
        if !self.under_way.is_empty() {
            let requests = self.under_way.iter().map(|UnderWay { ip, until, by }| format!("[\"{ip}\",{until},{by}]"));
            push("under_way", &format!("[{}]", requests.collect::<Vec<_>>().join(",")));
        }
        if let Some(Stopped { ip, at, until_address, why }) = &self.stopped {
            let mut quoted = String::new();
            push_string(&mut quoted, why);
            push("stopped", &format!("[\"{ip}\",{at},{until_address},{quoted}]"));
        }
        if let Some(seen) = &self.seen {
            push("seen", &own_json::line(seen));
        }
        match between {
            "{" => out.extend(["{", self.more.trim_start_matches(','), "}"]),
            _ => out.extend([&self.more, "}"]),
        }
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let Value::Object(members) = value else { return None };
        let mut hold = Self::default();
        for member in members {
            match (member.key.as_str(), &member.node.value) {
                ("sent", Value::Number(text)) => hold.sent = text.parse().ok()?,
                ("wait", Value::Number(text)) => hold.wait_until = text.parse().ok()?,
                ("unchanged", Value::Number(text)) => hold.unchanged = text.parse().ok()?,
                ("stopped", value) => {
                    let (ip, at, until_address, why) = own_json::read(&one_line(value))?;
                    hold.stopped = Some(Stopped { ip, at, until_address, why });
                }
                ("under_way", value) => {
                    let all: Vec<(IpAddr, u64, u32)> = own_json::read(&one_line(value))?;
                    hold.under_way.extend(all.into_iter().map(|(ip, until, by)| UnderWay { ip, until, by }));
                }
                // Nothing important depends on it, so a form of another version is ignored.
                ("seen", value) => hold.seen = own_json::read(&one_line(value)),
                ("sent" | "wait" | "unchanged", _) => return None,
                _ => push_member(&mut hold.more, member),
            }
        }
        Some(hold)
    }
}

/// Why an update is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// The service asked to wait.
    Service,
    /// `min_interval`.
    MinInterval,
}

impl HeldBy {
    /// The reason, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Service => "the service's last answer calls for a wait",
            Self::MinInterval => "it was sent less than min_interval ago",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::family::Family;
    use crate::update::domain::Domain;

    const NOW: u64 = 1_763_170_000;

    #[test]
    fn h6_the_later_of_wait_and_interval_counts_and_a_wrong_clock_does_not() {
        let until = |sent, wait_until, min_interval| {
            let hold = Hold { sent, wait_until, ..Hold::default() };
            hold.until(Duration::from_secs(min_interval), NOW).map(|(until, by)| (until - NOW, by))
        };
        assert_eq!(until(NOW - 5, 0, 60), Some((55, HeldBy::MinInterval)));
        assert_eq!(until(NOW - 5, NOW + 100, 60), Some((100, HeldBy::Service)));
        assert_eq!(until(NOW - 5, NOW + 10, 60), Some((55, HeldBy::MinInterval)));
        assert_eq!(until(NOW - 60, NOW, 60), None, "both are over");
        assert_eq!(until(NOW + 10, 0, 60), None, "sent by a clock that ran ahead");
        assert_eq!(until(0, NOW + MAX_WAIT_SECONDS + 1, 0), None, "no service asks for that");
        assert_eq!(until(u64::MAX, u64::MAX, 60), None, "the file may say anything");
    }

    #[test]
    fn h4_however_long_a_service_asks_to_wait_it_is_respected_for_a_month() {
        let domain = Domain::parse("a.example").expect("a domain");
        let update = Update { domain: &domain, family: Family::V4, ip: "203.0.113.7".parse().expect("an address") };
        for (asked, seconds) in [(60, 60), (MAX_WAIT_SECONDS + 1, MAX_WAIT_SECONDS), (u64::MAX, MAX_WAIT_SECONDS)] {
            let wait = Some(Duration::from_secs(asked));
            let outcome = Outcome::Failed(Why::Wait { status: 200, words: String::new(), wait });
            let hold = Hold::default().settled(&outcome, &update, false, NOW);
            assert_eq!(hold.until(Duration::ZERO, NOW), Some((NOW + seconds, HeldBy::Service)), "{asked}");
        }
    }

    #[test]
    fn h5_only_success_ends_a_stop_that_came_while_a_request_was_under_way() {
        let domain = Domain::parse("a.example").expect("a domain");
        let ip = "203.0.113.7".parse().expect("an address");
        let update = Update { domain: &domain, family: Family::V4, ip };
        let words = "w".repeat(MAX_REASON_CHARS + 1);
        let stop = Outcome::Stopped { status: 200, words, until_address: false, all: true };
        let stopped = Stopped::by(&stop, ip, NOW);
        assert_eq!(stopped.as_ref().map(|stopped| stopped.why.len()), Some(MAX_REASON_CHARS));
        let failed = Outcome::Failed(Why::NoResponse { why: String::new(), reached: true });
        let wait = |wait| Outcome::Failed(Why::Wait { status: 200, words: String::new(), wait });
        for (outcome, is_kept) in [
            (Outcome::Accepted(200), false),
            (Outcome::Unchanged(200), false),
            (Outcome::of_status(500), true),
            (Outcome::Failed(Why::Response { status: 200, words: String::new() }), true),
            (wait(None), true),
            (wait(Some(Duration::from_secs(1))), true),
            (failed, true),
        ] {
            let hold = Hold { stopped: stopped.clone(), ..Hold::default() };
            let hold = hold.settled(&outcome, &update, false, NOW);
            assert_eq!(hold.stop_for(ip).is_some(), is_kept, "{outcome:?}");
        }
    }

    #[test]
    fn h4_nochg_is_counted_for_one_address() {
        let domain = Domain::parse("a.example").expect("a domain");
        let ip = "203.0.113.7".parse().expect("an address");
        let update = Update { domain: &domain, family: Family::V4, ip };
        let mut hold = Hold::default();
        for (is_same, count) in [(false, 1), (true, 2), (true, 3), (false, 1)] {
            hold = hold.settled(&Outcome::Unchanged(200), &update, is_same, NOW);
            assert_eq!((hold.unchanged, hold.nochg_limit_reached()), (count, count >= 3));
        }
        assert_eq!(hold.settled(&Outcome::Accepted(200), &update, true, NOW), Hold::default());
    }
}
