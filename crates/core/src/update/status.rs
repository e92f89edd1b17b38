//! What a running instance, or the cache, knows of every update: as a value, and as the JSON that is sent and shown.

use std::net::IpAddr;
use std::time::Duration;

use crate::lease::membership::Membership;
use crate::text::json::{Dialect, Node, Value, parse};
use crate::update::outcome::Outcome;
use crate::update::state::Accepted;

/// How every update stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The process that runs; none where the cache was read.
    pub process: Option<u32>,
    /// Its configuration files.
    pub configs: Vec<String>,
    /// Seconds until the next round.
    pub next: Option<u64>,
    /// What is wrong with a newer configuration, which is therefore not used; empty where there is none.
    pub errors: Vec<String>,
    /// One for each update, in the order of the configuration.
    pub rows: Vec<Row>,
    /// How this host stands in its group; none where it is in none.
    pub group: Option<Membership>,
}

/// How one update stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The domain.
    pub domain: String,
    /// `A` or `AAAA`.
    pub kind: String,
    /// Where it is sent: the origin, or the address where that is needed; none where no other update has the same domain and
    /// type.
    pub endpoint: Option<String>,
    /// The address that was looked up; none where there is none, or nothing was looked up.
    pub address: Option<IpAddr>,
    /// The source that gave it.
    pub source: Option<String>,
    /// What the endpoint accepted last; none where it never accepted anything.
    pub accepted: Option<Accepted>,
    /// An address that was sent without success: the endpoint may have it.
    pub in_doubt: Option<IpAddr>,
    /// How the last request ended; none where none was sent.
    pub last: Option<Last>,
    /// How it stands.
    pub state: UpdateState,
    /// In how many seconds it is sent again; `None` if nobody knows.
    pub next: Option<u64>,
    /// How often it failed in a row.
    pub failures: u32,
    /// Why it stands so: the words of the service, or what happened.
    pub reason: Option<String>,
    /// Whether it was accepted longer ago than `cache_max_age`: the next run sends it again.
    pub is_expired: bool,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// The status of the response; none where there was none.
    pub status: Option<u16>,
    /// How long it took, in milliseconds.
    pub took: u32,
}

/// How an update stands: one key in JSON, metrics, addresses of the page and its style sheet, one word for people. The worst is
/// the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpdateState {
    /// The endpoint accepted this address, and that counts.
    UpToDate,
    /// No service runs; the cache remembers that it was accepted.
    Accepted,
    /// Another host of the group sends it, or nobody does yet.
    StandBy,
    /// It is being sent, or about to be.
    Sending,
    /// The service asked to wait, or `min_interval` has not passed.
    HeldBack,
    /// No service runs; a request was not settled, or nothing was accepted yet.
    InDoubt,
    /// No source gives an address.
    NoAddress,
    /// It failed, its endpoint pauses, or an older request may still arrive.
    Retrying,
    /// The service refused it for good.
    Stopped,
}

impl UpdateState {
    /// All of them, the best first, each with its key and its word.
    const TABLE: [(Self, &'static str, &'static str); 9] = [
        (Self::UpToDate, "up_to_date", "up to date"),
        (Self::Accepted, "accepted", "accepted"),
        (Self::StandBy, "stand_by", "stands by"),
        (Self::Sending, "sending", "sending"),
        (Self::HeldBack, "held_back", "held back"),
        (Self::InDoubt, "in_doubt", "in doubt"),
        (Self::NoAddress, "no_address", "no address"),
        (Self::Retrying, "retrying", "retrying"),
        (Self::Stopped, "stopped", "stopped"),
    ];

    /// All of them, the best first.
    pub const ALL: [Self; 9] = {
        let mut all = [Self::UpToDate; 9];
        let mut at = 0;
        while at < all.len() {
            all[at] = Self::TABLE[at].0;
            at += 1;
        }
        all
    };

    /// What programs call it.
    pub fn key(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// What people call it.
    pub fn word(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    /// The state that [`UpdateState::key`] names.
    pub fn parse(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.key() == key)
    }

    /// Whether nothing is left to be done by this host.
    pub fn is_good(self) -> bool {
        matches!(self, Self::UpToDate | Self::Accepted | Self::StandBy)
    }
}

impl Row {
    /// Another host of the group sends it, or nobody does yet. One without an address still has none.
    pub fn stand_by(&mut self) {
        if self.state != UpdateState::NoAddress {
            self.state = UpdateState::StandBy;
            (self.next, self.failures, self.reason) = (None, 0, None);
        }
    }
}

impl Status {
    /// The same for a host of a group: where another one sends, updates stand by.
    #[must_use]
    pub fn in_group(mut self, group: Option<Membership>) -> Self {
        if group.as_ref().is_some_and(|group| group.standing.role.is_standing_by()) {
            self.rows.iter_mut().for_each(Row::stand_by);
        }
        self.group = group;
        self
    }

    /// What keeps this host from sending, and from knowing who does; none where it sends, or another does.
    pub fn obstacle(&self) -> Option<&'static str> {
        let group = self.group.as_ref().filter(|group| group.standing.role.is_standing_by())?;
        group.objection()
    }

    /// `12 records up to date`, `9 of 12 records up to date`, `12 records stand by`; and why, where something is wrong with the
    /// group.
    pub fn summary(&self) -> String {
        let all = self.rows.len();
        let good = self.rows.iter().filter(|row| row.state.is_good()).count();
        let plural = if all == 1 { "" } else { "s" };
        let state = match self.rows.iter().any(|row| row.state == UpdateState::StandBy) {
            true if good == 1 => "stands by",
            true => "stand by",
            false => "up to date",
        };
        let why = self.obstacle().map_or_else(String::new, |why| format!(": {why}"));
        if good == all {
            format!("{all} record{plural} {state}{why}")
        } else {
            format!("{good} of {all} record{plural} {state}{why}")
        }
    }

    /// Whether nothing is left to be done, nothing is wrong with the group, and the configuration is the one that was written
    /// last.
    pub fn is_good(&self) -> bool {
        self.errors.is_empty()
            && self.rows.iter().all(|row| row.state.is_good())
            && self.group.as_ref().is_none_or(Membership::is_good)
    }

    /// As JSON; `group` is left out where there is none.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let last = |part: fn(Last) -> Option<u64>| number(row.last.and_then(part));
            let members = [
                ("domain", Value::string(row.domain.as_str())),
                ("type", Value::string(row.kind.as_str())),
                ("endpoint", row.endpoint.as_deref().map_or(Value::Null, Value::string)),
                ("address", address(row.address)),
                ("source", row.source.as_deref().map_or(Value::Null, Value::string)),
                ("accepted", number(row.accepted.map(|accepted| accepted.at))),
                ("accepted_address", address(row.accepted.map(|accepted| accepted.ip))),
                ("in_doubt", address(row.in_doubt)),
                ("state", Value::string(row.state.key())),
                ("retry_in", number(row.next)),
                ("failures", number(Some(row.failures.into()).filter(|failures| *failures > 0))),
                ("reason", row.reason.as_deref().map_or(Value::Null, Value::string)),
                ("last_status", last(|last| last.status.map(u64::from))),
                ("last_ms", last(|last| Some(last.took.into()))),
            ];
            Value::object(members.into_iter().chain(row.is_expired.then_some(("expired", Value::Bool(true)))))
        });
        let members = [
            ("process", number(self.process.map(u64::from))),
            ("configurations", Value::list(self.configs.iter().map(|name| Value::string(name.as_str())))),
            ("next_in", number(self.next)),
            ("errors", Value::list(self.errors.iter().map(|error| Value::string(error.as_str())))),
            ("updates", Value::list(rows)),
        ];
        Value::object(members.into_iter().chain(self.group.as_ref().map(|group| ("group", group.to_json()))))
    }

    /// Reads what [`Status::to_json`] made; none where it is something else.
    pub fn from_text(text: &str) -> Option<Self> {
        let document = parse(text, Dialect::STRICT).ok()?;
        let names = list(&document, "configurations")?.iter().map(|name| name.value.text().map(str::to_owned));
        Some(Self {
            process: whole(&document, "process").and_then(|process| process.try_into().ok()),
            configs: names.collect::<Option<_>>()?,
            next: whole(&document, "next_in"),
            errors: list(&document, "errors")?
                .iter()
                .filter_map(|error| error.value.text())
                .map(str::to_owned)
                .collect(),
            rows: list(&document, "updates")?.iter().map(row).collect::<Option<_>>()?,
            group: member(&document, "group").and_then(Membership::from_json),
        })
    }
}

/// Why an update failed, in a few words.
pub fn reason(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted(status) | Outcome::Unchanged(status) | Outcome::Refused(status) => status.to_string(),
        Outcome::Rejected { status, words }
        | Outcome::Wait { status, words, .. }
        | Outcome::Stopped { status, words, .. } => {
            if words.is_empty() {
                status.to_string()
            } else {
                format!("{status}: {words}")
            }
        }
        Outcome::Failed { why, .. } => why.clone(),
    }
}

/// Whole seconds, the started one included.
pub fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

fn number(number: Option<u64>) -> Value {
    number.map_or(Value::Null, |number| Value::Number(number.to_string()))
}

fn member<'a>(node: &'a Node, name: &str) -> Option<&'a Value> {
    match &node.value {
        Value::Object(members) => members.iter().find(|member| member.key == name).map(|member| &member.node.value),
        _ => None,
    }
}

fn list<'a>(node: &'a Node, name: &str) -> Option<&'a [Node]> {
    match member(node, name)? {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

fn text(node: &Node, name: &str) -> Option<String> {
    match member(node, name)? {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn whole(node: &Node, name: &str) -> Option<u64> {
    match member(node, name)? {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    }
}

fn address(ip: Option<IpAddr>) -> Value {
    ip.map_or(Value::Null, |ip| Value::string(ip.to_string()))
}

fn row(node: &Node) -> Option<Row> {
    let ip = |name| text(node, name).and_then(|ip| ip.parse().ok());
    let status = whole(node, "last_status").and_then(|status| status.try_into().ok());
    let took = whole(node, "last_ms").and_then(|took| took.try_into().ok());
    Some(Row {
        domain: text(node, "domain")?,
        kind: text(node, "type")?,
        endpoint: text(node, "endpoint"),
        address: ip("address"),
        source: text(node, "source"),
        accepted: ip("accepted_address").zip(whole(node, "accepted")).map(|(ip, at)| Accepted { ip, at }),
        in_doubt: ip("in_doubt"),
        last: took.map(|took| Last { status, took }),
        // A service of another version may still run.
        state: match text(node, "state")?.as_str() {
            "retry" | "waiting" => UpdateState::Retrying,
            key => UpdateState::parse(key).unwrap_or(UpdateState::InDoubt),
        },
        next: whole(node, "retry_in"),
        failures: whole(node, "failures").and_then(|failures| failures.try_into().ok()).unwrap_or_default(),
        reason: text(node, "reason"),
        is_expired: member(node, "expired") == Some(&Value::Bool(true)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::membership::tests::membership;
    use crate::lease::standing::Role;
    use crate::text::json::pretty;

    fn row(state: UpdateState) -> Row {
        Row {
            domain: "bücher.example".to_owned(),
            kind: "A".to_owned(),
            endpoint: Some("https://example.com".to_owned()),
            address: "203.0.113.7".parse().ok(),
            source: Some("default".to_owned()),
            accepted: "203.0.113.8".parse().ok().map(|ip| Accepted { ip, at: 1_763_170_000 }),
            in_doubt: "203.0.113.9".parse().ok(),
            last: Some(Last { status: Some(503), took: 12 }),
            state,
            next: None,
            failures: 0,
            reason: None,
            is_expired: false,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut rows: Vec<Row> = UpdateState::ALL.into_iter().map(row).collect();
        rows[1].is_expired = true;
        rows[3].last = Some(Last { status: None, took: 0 });
        rows[6] = Row { address: None, accepted: None, in_doubt: None, last: None, source: None, ..rows[6].clone() };
        rows[7] = Row { next: Some(12), failures: 3, reason: Some("503".to_owned()), ..rows[7].clone() };
        let (configs, errors) = (vec!["a \"b\".json".to_owned()], vec!["wrong".to_owned()]);
        let group = Some(membership(Role::StandBy, Some("b")));
        let status = Status { process: Some(7), configs, next: Some(3), errors, rows, group };
        assert_eq!(Status::from_text(&pretty(&status.to_json())), Some(status));
        let empty = Status::default();
        assert_eq!(Status::from_text(&pretty(&empty.to_json())), Some(empty));
        for wrong in [
            "",
            "{}",
            "[]",
            "{\"configurations\":[1],\"errors\":[],\"updates\":[]}",
            "{\"configurations\":[],\"errors\":[],\"updates\":[{}]}",
        ] {
            assert_eq!(Status::from_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn i6_every_state_has_a_place_a_key_and_a_word_of_its_own() {
        for (place, state) in UpdateState::ALL.into_iter().enumerate() {
            assert_eq!((state as usize, UpdateState::parse(state.key())), (place, Some(state)));
            assert_eq!(UpdateState::ALL.iter().filter(|other| other.word() == state.word()).count(), 1);
        }
    }

    #[test]
    fn i6_a_service_of_another_version_is_understood() {
        for (key, expected) in
            [("retry", UpdateState::Retrying), ("waiting", UpdateState::Retrying), ("of later", UpdateState::InDoubt)]
        {
            let updates = format!("[{{\"domain\":\"a.example\",\"type\":\"A\",\"state\":\"{key}\"}}]");
            let text = format!("{{\"configurations\":[],\"errors\":[],\"updates\":{updates}}}");
            let status = Status::from_text(&text).expect("a status");
            assert_eq!((status.rows[0].state, status.is_good()), (expected, false), "{key}");
        }
    }

    #[test]
    fn the_summary_counts() {
        let mut status = Status { rows: vec![row(UpdateState::UpToDate)], ..Status::default() };
        assert_eq!(status.summary(), "1 record up to date");
        status.rows.push(row(UpdateState::NoAddress));
        assert_eq!(status.summary(), "1 of 2 records up to date");
    }

    #[test]
    fn j1_updates_of_a_host_that_stands_by_are_neither_late_nor_failed() {
        let status =
            Status { rows: [UpdateState::Sending, UpdateState::Retrying].map(row).into(), ..Status::default() };
        let stand_by = || membership(Role::StandBy, Some("b"));
        let standing = status.clone().in_group(Some(stand_by()));
        assert_eq!((standing.summary().as_str(), standing.is_good()), ("2 records stand by", true));
        let mut alone = stand_by();
        alone.standing.store = Err("refused".to_owned());
        let alone = status.clone().in_group(Some(alone));
        let summary = "2 records stand by: the store of the group cannot be used";
        assert_eq!((alone.summary().as_str(), alone.is_good()), (summary, false), "nobody knows who sends");
        let missing =
            Status { rows: [UpdateState::Sending, UpdateState::NoAddress].map(row).into(), ..Status::default() };
        let missing = missing.in_group(Some(stand_by()));
        assert_eq!((missing.summary().as_str(), missing.is_good()), ("1 of 2 records stands by", false));
        let holder = status.clone().in_group(Some(membership(Role::Holder, Some("a"))));
        assert_eq!((holder.rows, holder.group.is_some()), (status.rows, true));
    }

    #[test]
    fn j3_a_host_whose_lease_is_not_confirmed_does_not_claim_to_be_up_to_date() {
        let status =
            Status { rows: [UpdateState::UpToDate, UpdateState::UpToDate].map(row).into(), ..Status::default() };
        let status = status.in_group(Some(membership(Role::Unconfirmed, Some("a"))));
        assert_eq!(status.summary(), "2 records stand by: the lease of the group is not confirmed");
        assert!(status.rows.iter().all(|row| row.state == UpdateState::StandBy) && !status.is_good());
    }
}
