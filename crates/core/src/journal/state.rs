//! The state of every update, from a running service or from the cache. `ddns status` and the API show it as JSON.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::dns::DnsVerdict;
use crate::lease::membership::Membership;
use crate::text::own_json::lenient;
use crate::text::vocabulary::vocabulary;
use crate::update::state::Accepted;

/// The state of every update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The id of the running process; `None` if the state comes from the cache.
    pub process: Option<u32>,
    /// The configuration files.
    #[serde(rename = "configurations")]
    pub configs: Vec<String>,
    /// Seconds until the next round of lookups.
    #[serde(rename = "next_in")]
    pub next: Option<u64>,
    /// The errors of a changed configuration, which is therefore not used; empty if there is none.
    pub errors: Vec<String>,
    /// One row for each update, in the order of the configuration.
    #[serde(rename = "updates")]
    pub rows: Vec<Row>,
    /// The state of this host in its group; `None` if it is in no group.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub group: Option<Membership>,
}

/// The result of a synchronization that a user asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncResult {
    /// Whether every update is accepted or up to date.
    pub good: bool,
    /// What happened, as a sentence.
    pub text: String,
}

/// The state of one update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The domain.
    pub domain: String,
    /// `A` or `AAAA`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where the update is sent: the origin, or the whole URL if the origin is not enough to tell it from other updates; `None` if no
    /// other update has the same domain and type.
    pub endpoint: Option<String>,
    /// The address that a lookup found; `None` if there was none, or no lookup yet.
    pub address: Option<IpAddr>,
    /// The source that gave the address.
    pub source: Option<String>,
    /// When the endpoint last accepted an address, in seconds since the epoch; `None` if it never did.
    pub accepted: Option<u64>,
    /// The address that it accepted then.
    pub accepted_address: Option<IpAddr>,
    /// An address that was sent but not accepted: the endpoint may have it all the same.
    pub in_doubt: Option<IpAddr>,
    /// The state.
    pub state: UpdateState,
    /// Seconds until the update is sent again; `None` if that is unknown.
    #[serde(rename = "retry_in")]
    pub next: Option<u64>,
    /// How often the update failed in a row; `None` if the last request did not fail.
    pub failures: Option<u32>,
    /// Why the update has this state: the words of the service, or what happened.
    pub reason: Option<String>,
    /// The status of the last response; `None` if there was none.
    pub last_status: Option<u16>,
    /// How long the last request took, in milliseconds; `None` if there was none.
    pub last_ms: Option<u32>,
    /// Whether the address was accepted longer ago than `cache_max_age`, so that the next run sends it again.
    #[serde(rename = "expired", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_expired: bool,
    /// What DNS says about the accepted address; `None` if DNS is not asked.
    #[serde(default, deserialize_with = "lenient", skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsState>,
}

/// What DNS says about an update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsState {
    /// Whether the accepted address is visible.
    pub verdict: DnsVerdict,
    /// The verdict and its reason, for people.
    pub text: String,
    /// Whether the address should be visible by now.
    #[serde(rename = "late", default)]
    pub is_late: bool,
    /// When the verdict began, in seconds since the epoch.
    pub since: u64,
    /// When DNS was last asked, in seconds since the epoch; `None`: never.
    pub asked: Option<u64>,
    /// For how many seconds resolvers may cache the answer.
    pub ttl: Option<u32>,
    /// How often the update was sent again because DNS had another address.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repairs: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde hands it over")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl DnsState {
    /// Whether the address should be visible by now, and is not.
    pub fn is_wrong(&self) -> bool {
        self.is_late && matches!(self.verdict, DnsVerdict::NotVisible | DnsVerdict::Partly | DnsVerdict::Drifted)
    }

    /// The verdict in a word or two.
    pub fn word(&self) -> &'static str {
        match self.verdict {
            DnsVerdict::NotVisible | DnsVerdict::Partly if !self.is_late => "not yet",
            verdict => verdict.word(),
        }
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Last {
    /// The status of the response; `None` if there was no response.
    pub status: Option<u16>,
    /// How long the request took, in milliseconds.
    pub took: u32,
}

vocabulary! {
    /// The state of an update: one key for JSON, metrics, and the page's URLs and style sheet, and one word for people. In order, the
    /// worst state last.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case", from = "String")]
    pub enum UpdateState {
        /// The endpoint accepted this address.
        UpToDate = "up_to_date" "up to date",
        /// No service is running; the cache remembers an accepted address.
        Accepted = "accepted",
        /// Another host of the group sends the update, or none does yet.
        StandBy = "stand_by" "on standby",
        /// The update is being sent, or is about to be sent.
        Sending = "sending",
        /// The service asked to wait, or `min_interval` has not passed.
        HeldBack = "held_back" "held back",
        /// No service is running; the last request had no clear result, or no address was ever accepted.
        #[default]
        InDoubt = "in_doubt" "in doubt",
        /// No source gave an address.
        NoAddress = "no_address" "no address",
        /// The update failed, its endpoint is paused, or an older request may still arrive.
        Retrying = "retrying",
        /// The service refused the update permanently.
        Stopped = "stopped",
    }
}

impl UpdateState {
    /// Whether this host has nothing left to do.
    pub fn is_good(self) -> bool {
        matches!(self, Self::UpToDate | Self::Accepted | Self::StandBy)
    }
}

/// Also understands the keys of other versions: such a service may still be running.
impl From<String> for UpdateState {
    fn from(key: String) -> Self {
        match key.as_str() {
            "retry" | "waiting" => Self::Retrying,
            key => Self::parse(key).unwrap_or_default(),
        }
    }
}

impl Row {
    /// The address that the endpoint last accepted; `None` if it never accepted one.
    pub fn accepted(&self) -> Option<Accepted> {
        Some(Accepted { ip: self.accepted_address?, at: self.accepted? })
    }

    /// Puts the update on standby: another host of the group sends it, or none does yet. An update without an address still shows
    /// that.
    pub fn stand_by(&mut self) {
        if self.state != UpdateState::NoAddress {
            self.state = UpdateState::StandBy;
            (self.next, self.failures, self.reason) = (None, None, None);
        }
    }
}

impl Status {
    /// Adds the state of this host in its group. If this host does not send, its updates are on standby.
    #[must_use]
    pub fn in_group(mut self, group: Option<Membership>) -> Self {
        if group.as_ref().is_some_and(|group| group.status.role.is_standing_by()) {
            self.rows.iter_mut().for_each(Row::stand_by);
        }
        self.group = group;
        self
    }

    /// Why this host neither sends nor knows which member does; `None` if it or another member sends.
    pub fn obstacle(&self) -> Option<&'static str> {
        let group = self.group.as_ref().filter(|group| group.status.role.is_standing_by())?;
        group.objection()
    }

    /// `12 records up to date`, `9 of 12 records up to date` or `12 records on standby`, followed by what is wrong with the group, if
    /// anything is.
    pub fn summary(&self) -> String {
        let all = self.rows.len();
        let good = self.rows.iter().filter(|row| row.state.is_good()).count();
        let plural = if all == 1 { "" } else { "s" };
        let is_standby = self.rows.iter().any(|row| row.state == UpdateState::StandBy);
        let state = if is_standby { "on standby" } else { "up to date" };
        let why = self.obstacle().map_or_else(String::new, |why| format!(": {why}"));
        if good == all {
            format!("{all} record{plural} {state}{why}")
        } else {
            format!("{good} of {all} record{plural} {state}{why}")
        }
    }

    /// Whether nothing is left to do, the group works, and the configuration in use is the newest one.
    pub fn is_good(&self) -> bool {
        self.errors.is_empty()
            && self.rows.iter().all(|row| row.state.is_good())
            && self.group.as_ref().is_none_or(Membership::is_good)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::membership::tests::membership;
    use crate::lease::status::Role;
    use crate::text::own_json::{indented, line, read};

    fn row(state: UpdateState) -> Row {
        Row {
            domain: "bücher.example".to_owned(),
            kind: "A".to_owned(),
            endpoint: Some("https://example.com".to_owned()),
            address: "203.0.113.7".parse().ok(),
            source: Some("default".to_owned()),
            accepted: Some(1_763_170_000),
            accepted_address: "203.0.113.8".parse().ok(),
            in_doubt: "203.0.113.9".parse().ok(),
            state,
            next: None,
            failures: None,
            reason: None,
            last_status: Some(503),
            last_ms: Some(12),
            is_expired: false,
            dns: None,
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let mut rows: Vec<Row> = UpdateState::ALL.into_iter().map(row).collect();
        rows[1].is_expired = true;
        (rows[3].last_status, rows[3].last_ms) = (None, Some(0));
        let none = Row { address: None, in_doubt: None, source: None, last_status: None, ..rows[6].clone() };
        rows[6] = Row { accepted: None, accepted_address: None, last_ms: None, ..none };
        rows[7] = Row { next: Some(12), failures: Some(3), reason: Some("503".to_owned()), ..rows[7].clone() };
        let (configs, errors) = (vec!["a \"b\".json".to_owned()], vec!["wrong".to_owned()]);
        let group = Some(membership(Role::StandBy, Some("b")));
        let status = Status { process: Some(7), configs, next: Some(3), errors, rows, group };
        assert_eq!(read(&indented(&status)), Some(status));
        let empty = Status::default();
        assert_eq!(read(&indented(&empty)), Some(empty));
        for wrong in [
            "",
            "{}",
            "[]",
            "{\"configurations\":[1],\"errors\":[],\"updates\":[]}",
            "{\"configurations\":[],\"errors\":[],\"updates\":[{}]}",
        ] {
            assert_eq!(read::<Status>(wrong), None, "{wrong}");
        }
    }

    /// Every version must be able to read and write this text.
    const TEXT: &str = r#"{
  "process": 7,
  "configurations": [
    "/etc/ddns/config.json"
  ],
  "next_in": 221,
  "errors": [],
  "updates": [
    {
      "domain": "bücher.example",
      "type": "A",
      "endpoint": "https://example.com",
      "address": "203.0.113.7",
      "source": "default",
      "accepted": 1763170000,
      "accepted_address": "203.0.113.8",
      "in_doubt": "203.0.113.9",
      "state": "retrying",
      "retry_in": 12,
      "failures": 3,
      "reason": "503: \"no\"",
      "last_status": 503,
      "last_ms": 12
    },
    {
      "domain": "b.example",
      "type": "AAAA",
      "endpoint": null,
      "address": null,
      "source": null,
      "accepted": 1763170000,
      "accepted_address": "2001:db8::1",
      "in_doubt": null,
      "state": "accepted",
      "retry_in": null,
      "failures": null,
      "reason": null,
      "last_status": null,
      "last_ms": null,
      "expired": true
    }
  ],
  "group": {
    "name": "home",
    "member": "a",
    "role": "stand-by",
    "holder": "b",
    "held_for": 10800,
    "lease_left": null,
    "members": [
      {
        "member": "a",
        "ready": true,
        "prefer": 0,
        "holder": false,
        "self": true
      }
    ],
    "store_error": "connection refused",
    "not_ready": null,
    "trouble": null
  }
}
"#;

    #[test]
    fn i6_the_text_of_a_status_stays_as_it_is() {
        let status: Status = read(TEXT).expect("a status");
        assert_eq!(indented(&status), TEXT);
        let newer = TEXT.replace("\"name\": \"home\"", "\"colour\": [1.5], \"name\": \"home\"");
        let newer = newer.replace("\"next_in\"", "\"colour\": {\"a\": null}, \"next_in\"");
        assert_eq!(read(&newer.replace("\"last_ms\"", "\"colour\": 7, \"last_ms\"")), Some(status.clone()));
        let group = read(&TEXT.replace("stand-by", "of later")).map(|status: Status| status.group);
        assert_eq!(group, Some(None), "a group that is not understood is left out");
        assert!(status.group.is_some());
    }

    #[test]
    fn i6_every_state_has_a_place_a_key_and_a_word_of_its_own() {
        for (place, state) in UpdateState::ALL.into_iter().enumerate() {
            assert_eq!((state as usize, UpdateState::parse(state.key())), (place, Some(state)));
            assert_eq!(line(&state), format!("\"{}\"", state.key()));
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
            let status: Status = read(&text).expect("a status");
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
        assert_eq!((standing.summary().as_str(), standing.is_good()), ("2 records on standby", true));
        let mut alone = stand_by();
        alone.status.store = Err("refused".to_owned());
        let alone = status.clone().in_group(Some(alone));
        let summary = "2 records on standby: the store of the group cannot be used";
        assert_eq!((alone.summary().as_str(), alone.is_good()), (summary, false), "nobody knows who sends");
        let missing =
            Status { rows: [UpdateState::Sending, UpdateState::NoAddress].map(row).into(), ..Status::default() };
        let missing = missing.in_group(Some(stand_by()));
        assert_eq!((missing.summary().as_str(), missing.is_good()), ("1 of 2 records on standby", false));
        let holder = status.clone().in_group(Some(membership(Role::Holder, Some("a"))));
        assert_eq!((holder.rows, holder.group.is_some()), (status.rows, true));
    }

    #[test]
    fn j3_a_host_whose_lease_is_not_confirmed_does_not_claim_to_be_up_to_date() {
        let status =
            Status { rows: [UpdateState::UpToDate, UpdateState::UpToDate].map(row).into(), ..Status::default() };
        let status = status.in_group(Some(membership(Role::Unconfirmed, Some("a"))));
        assert_eq!(status.summary(), "2 records on standby: the lease of the group is not confirmed");
        assert!(status.rows.iter().all(|row| row.state == UpdateState::StandBy) && !status.is_good());
    }
}
