//! The text that Prometheus reads, version 0.0.4.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use super::counts::{Counts, Histogram};
use crate::dns::DnsVerdict;
use crate::journal::{EventKind, Row, Status, UpdateState};
use crate::lease::membership::Membership;
use crate::lease::status::Role;
use crate::net::family::Family;

/// The `Content-Type` of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How many domains have series of their own.
const MAX_DOMAINS: usize = 1000;

/// The times and the version that the text contains.
#[derive(Debug, Clone, Copy)]
pub struct ServiceTime {
    /// The current time, in seconds since the epoch.
    pub at: u64,
    /// When the service began, in seconds since the epoch.
    pub started: u64,
    /// The version of the program.
    pub version: &'static str,
}

/// All metrics.
pub fn text(counts: &Counts, status: &Status, now: ServiceTime) -> String {
    let mut page = Exposition(String::new());
    page.about_service(status, now);
    page.about_outcomes(counts);
    page.about_addresses(counts, status);
    page.about_states(status);
    if let Some(group) = &status.group {
        page.about_group(counts, group);
    }
    if status.rows.iter().any(|row| row.dns.is_some()) {
        page.about_dns(counts);
    }
    page.about_domains(&status.rows, now);
    page.0
}

/// The value of a series; `None` if it has none.
type SeriesValue = fn(&Series<'_>, ServiceTime) -> Option<u64>;

struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.0, "{}{label}=\"", if at == 0 { '{' } else { ',' });
            for letter in text.chars() {
                match letter {
                    '\\' => self.0.push_str("\\\\"),
                    '"' => self.0.push_str("\\\""),
                    '\n' => self.0.push_str("\\n"),
                    letter => self.0.push(letter),
                }
            }
            self.0.push('"');
        }
        let _ = writeln!(self.0, "{} {value}", if labels.is_empty() { "" } else { "}" });
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut all = 0;
        for (bound, count) in histogram.bounds.iter().zip(&histogram.counts) {
            all += count;
            self.sample(&bucket, &[("le", &seconds(Duration::from_millis(*bound)))], all);
        }
        all += histogram.counts.last().copied().unwrap_or_default();
        self.sample(&bucket, &[("le", "+Inf")], all);
        self.sample(&format!("{name}_sum"), &[], seconds(histogram.sum));
        self.sample(&format!("{name}_count"), &[], all);
    }

    fn about_service(&mut self, status: &Status, now: ServiceTime) {
        self.family("ddns_build_info", "gauge", "The version of the program.");
        self.sample("ddns_build_info", &[("version", now.version)], 1);
        self.single("ddns_start_time_seconds", "gauge", "When the service began, in seconds since 1970.", now.started);
        self.single(
            "ddns_configuration_rejected",
            "gauge",
            "1 while the newest configuration is invalid and the previous one is still used.",
            u8::from(!status.errors.is_empty()),
        );
        if let Some(next) = status.next {
            let help = "Seconds until addresses are looked up again.";
            self.single("ddns_next_synchronization_seconds", "gauge", help, next);
        }
    }

    fn about_outcomes(&mut self, counts: &Counts) {
        self.family("ddns_updates_total", "counter", "Updates that were sent or tried, by outcome.");
        for outcome in EventKind::OUTCOMES {
            self.sample("ddns_updates_total", &[("outcome", outcome.key())], counts.events[outcome as usize]);
        }
        self.single("ddns_retries_total", "counter", "Retries of updates.", counts.retries);
        self.histogram("ddns_request_seconds", "How long requests took.", &counts.requests);
        let help = "From the moment a new address was found until an endpoint accepted it.";
        self.histogram("ddns_change_to_acceptance_seconds", help, &counts.changes);
    }

    fn about_addresses(&mut self, counts: &Counts, status: &Status) {
        self.family("ddns_address_changes_total", "counter", "How often a different address was found.");
        for family in Family::ALL {
            let count = counts.addresses[family.index()];
            self.sample("ddns_address_changes_total", &[("type", family.record_type())], count);
        }
        self.family("ddns_source_failures_total", "counter", "How often a source gave no address.");
        for ((family, source), count) in &counts.source_failures {
            self.sample("ddns_source_failures_total", &[("type", family.record_type()), ("source", source)], count);
        }
        self.family("ddns_address_info", "gauge", "The addresses found, and their sources.");
        let found: BTreeSet<(&str, IpAddr, &str)> = status
            .rows
            .iter()
            .filter_map(|row| Some((row.kind.as_str(), row.address?, row.source.as_deref()?)))
            .collect();
        for (kind, address, source) in found.into_iter().take(MAX_DOMAINS) {
            let labels = [("type", kind), ("address", &address.to_string()), ("source", source)];
            self.sample("ddns_address_info", &labels, 1);
        }
    }

    fn about_states(&mut self, status: &Status) {
        self.family("ddns_records", "gauge", "Records by the state of their update.");
        let can_be = |state: &UpdateState| match state {
            UpdateState::Accepted | UpdateState::InDoubt => false,
            UpdateState::StandBy => status.group.is_some(),
            _ => true,
        };
        for state in UpdateState::ALL.into_iter().filter(can_be) {
            let count = status.rows.iter().filter(|row| row.state == state).count();
            self.sample("ddns_records", &[("state", state.key())], count);
        }
        if let Some(oldest) = status.rows.iter().filter_map(|row| row.accepted).min() {
            let help = "When the least recently accepted record was accepted, in seconds since 1970.";
            self.single("ddns_oldest_success_timestamp_seconds", "gauge", help, oldest);
        }
    }

    fn about_group(&mut self, counts: &Counts, Membership { group, status }: &Membership) {
        let labels = [("group", group.as_str())];
        let is_holder = matches!(status.role, Role::Holder | Role::HandingOver);
        let ready = status.members.iter().filter(|seen| seen.ready).count();
        let gauges = [
            ("ddns_group_holder", "1 while this host holds the lease of its group and may send.", u64::from(is_holder)),
            ("ddns_group_store_up", "1 while the store of the group answers.", u64::from(status.store.is_ok())),
            (
                "ddns_group_members",
                "Hosts of the group that this one sees, itself included.",
                status.members.len() as u64,
            ),
            ("ddns_group_members_ready", "Hosts of the group that could send.", ready as u64),
        ];
        for (name, help, value) in gauges {
            self.family(name, "gauge", help);
            self.sample(name, &labels, value);
        }
        let name = "ddns_group_lease_seconds";
        let left = status.lease_left.filter(|_| is_holder).unwrap_or_default();
        self.family(
            name,
            "gauge",
            "How long this host may go on sending without another renewal; 0 if it may not send.",
        );
        self.sample(name, &labels, left.as_secs());
        let count = |kind: EventKind| counts.events[kind as usize];
        let losses = count(EventKind::Lost) + count(EventKind::GaveBack);
        for (name, help, count) in [
            ("ddns_group_takeovers_total", "How often this host took over the lease.", count(EventKind::TookOver)),
            ("ddns_group_losses_total", "How often this host lost the lease or gave it back.", losses),
        ] {
            self.family(name, "counter", help);
            self.sample(name, &labels, count);
        }
    }

    fn about_dns(&mut self, counts: &Counts) {
        let help = "From the moment an endpoint accepted an address until DNS servers had it.";
        self.histogram("ddns_acceptance_to_visibility_seconds", help, &counts.visible);
        let name = "ddns_dns_questions_total";
        self.family(name, "counter", "Questions to DNS servers, by result.");
        for (result, count) in ["answered", "unanswered"].into_iter().zip(counts.questions) {
            self.sample(name, &[("result", result)], count);
        }
        let help = "Updates that were accepted again because DNS had something else.";
        self.single("ddns_repairs_total", "counter", help, counts.repairs);
    }

    fn about_domains(&mut self, rows: &[Row], now: ServiceTime) {
        let domains = Series::of(rows);
        let families: [(&str, &str, SeriesValue); 5] = [
            ("ddns_record_up_to_date", "1 while the endpoint has the address.", |series, _| {
                (series.worst != UpdateState::StandBy).then_some(u64::from(series.worst.is_good()))
            }),
            ("ddns_record_stopped", "1 after the service refused it permanently.", |series, _| {
                Some(u64::from(series.worst == UpdateState::Stopped))
            }),
            ("ddns_record_failures", "How often in a row the update failed.", |series, _| Some(series.failures)),
            (
                "ddns_record_last_success_timestamp_seconds",
                "When the endpoint last accepted an update, in seconds since 1970.",
                |series, _| series.accepted,
            ),
            (
                "ddns_record_last_success_age_seconds",
                "Seconds since the endpoint last accepted an update.",
                |series, now| Some(now.at.saturating_sub(series.accepted?)),
            ),
        ];
        let visible: (&str, &str, SeriesValue) =
            ("ddns_record_visible", "1 while DNS servers have the address that was accepted.", |series, _| {
                series.is_visible.map(u64::from)
            });
        let is_asked = rows.iter().any(|row| row.dns.is_some());
        for (name, help, value) in families.into_iter().chain(is_asked.then_some(visible)) {
            self.family(name, "gauge", help);
            for series in &domains {
                if let Some(value) = value(series, now) {
                    self.sample(name, &series.labels(), value);
                }
            }
        }
        self.family("ddns_record_address_info", "gauge", "The address that the endpoint accepted last.");
        for series in &domains {
            let Some(address) = series.row.accepted_address.map(|ip| ip.to_string()) else { continue };
            let mut labels = series.labels();
            labels.push(("address", &address));
            self.sample("ddns_record_address_info", &labels, 1);
        }
    }
}

/// All updates with the same domain, type and endpoint, taken together.
struct Series<'a> {
    row: &'a Row,
    worst: UpdateState,
    failures: u64,
    accepted: Option<u64>,
    /// `None`: not known.
    is_visible: Option<bool>,
}

impl<'a> Series<'a> {
    fn labels(&self) -> Vec<(&'static str, &'a str)> {
        let row = self.row;
        let endpoint = row.endpoint.as_deref().map(|endpoint| ("endpoint", endpoint));
        [("domain", row.domain.as_str()), ("type", row.kind.as_str())].into_iter().chain(endpoint).collect()
    }

    /// One series for each domain, type and endpoint, of the first [`MAX_DOMAINS`] domains: the worst update counts.
    fn of(rows: &'a [Row]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut places: HashMap<(&str, &str, Option<&str>), usize> = HashMap::new();
        let mut domains: BTreeSet<&str> = BTreeSet::new();
        for row in rows {
            if !domains.contains(row.domain.as_str()) {
                if domains.len() == MAX_DOMAINS {
                    continue;
                }
                domains.insert(&row.domain);
            }
            let known = row.dns.as_ref().filter(|dns| dns.verdict != DnsVerdict::Unknown);
            let is_visible = known.map(|dns| dns.verdict.is_good());
            let (worst, failures, accepted) = (row.state, row.failures.unwrap_or(0).into(), row.accepted);
            let fresh = Self { row, worst, failures, accepted, is_visible };
            let key = (row.domain.as_str(), row.kind.as_str(), row.endpoint.as_deref());
            match places.get(&key) {
                None => {
                    places.insert(key, all.len());
                    all.push(fresh);
                }
                Some(at) => {
                    let known = &mut all[*at];
                    known.worst = known.worst.max(fresh.worst);
                    known.failures = known.failures.max(fresh.failures);
                    known.accepted = known.accepted.min(fresh.accepted);
                    known.is_visible = known.is_visible.into_iter().chain(fresh.is_visible).min();
                }
            }
        }
        all
    }
}

/// `0.25`, `30`
fn seconds(duration: Duration) -> String {
    duration.as_secs_f64().to_string()
}
