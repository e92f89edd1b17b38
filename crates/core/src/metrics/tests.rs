use std::net::IpAddr;
use std::time::Duration;

use super::{Counts, ServiceReadiness, ServiceTime, text};
use crate::journal::{About, JournalEvent, Row, Settled, Status, UpdateState, What};
use crate::lease::membership::tests::membership;
use crate::lease::role_change::{LeaseChange, RoleChange};
use crate::lease::status::Role;
use crate::net::family::Family;
use crate::update::domain::Domain;
use crate::update::outcome::Outcome;

const NOW: ServiceTime = ServiceTime { at: 1_763_170_100, started: 1_763_170_000, version: "1.2.3" };

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn row(domain: &str, state: UpdateState) -> Row {
    Row {
        domain: domain.to_owned(),
        kind: "A".to_owned(),
        address: Some(ip("203.0.113.7")),
        source: Some("public".to_owned()),
        accepted: Some(1_763_170_040),
        accepted_address: Some(ip("203.0.113.6")),
        state,
        ..Row::default()
    }
}

fn settled(outcome: Outcome, attempt: u32) -> What {
    What::Settled(Settled {
        about: About { entry: 0, domain: Domain::parse("a.example").expect("a domain"), family: Family::V4 },
        endpoint: None,
        ip: ip("203.0.113.7"),
        previous: Some(ip("203.0.113.6")),
        is_repair: false,
        outcome,
        took: Duration::from_millis(30),
        attempt,
        is_repeat: false,
        is_requested: false,
        retry_in: None,
        relay: None,
        allow: None,
    })
}

fn address(ip: IpAddr, previous: IpAddr) -> What {
    let (entries, source) = (vec![0], "public".to_owned());
    What::Address { entries, family: Family::V4, ip, previous: Some(previous), source, was_missing: false }
}

fn failed_source(source: &str) -> What {
    let (entries, source) = (vec![0], source.to_owned());
    What::SourceFailed { entries, family: Family::V4, source, why: String::new(), is_repeat: true }
}

/// The counts after these events, each at its second.
fn counted(all: impl IntoIterator<Item = (u64, What)>) -> Counts {
    let mut counts = Counts::default();
    for (at, what) in all {
        counts.take(&JournalEvent { at: 1_763_170_000 + at, what }, Duration::from_secs(at));
    }
    counts
}

#[test]
fn i3_what_happened_is_counted() {
    let counts = counted([
        (1, settled(Outcome::Accepted(200), 1)),
        (2, address(ip("203.0.113.7"), ip("203.0.113.6"))),
        (3, settled(Outcome::of_status(503), 1)),
        (4, settled(Outcome::of_status(503), 2)),
        (9, settled(Outcome::Accepted(200), 3)),
        (9, failed_source("url:\"\\\n")),
    ]);
    let text = text(&counts, &Status { rows: vec![row("a.example", UpdateState::UpToDate)], ..Status::default() }, NOW);
    for expected in [
        "ddns_build_info{version=\"1.2.3\"} 1\n",
        "ddns_start_time_seconds 1763170000\n",
        "ddns_configuration_rejected 0\n",
        "# TYPE ddns_updates_total counter\nddns_updates_total{outcome=\"accepted\"} 2\n",
        "ddns_updates_total{outcome=\"failed\"} 2\n",
        "ddns_updates_total{outcome=\"stopped\"} 0\n",
        "ddns_retries_total 2\n",
        "ddns_request_seconds_bucket{le=\"0.025\"} 0\nddns_request_seconds_bucket{le=\"0.05\"} 4\n",
        "ddns_request_seconds_bucket{le=\"+Inf\"} 4\nddns_request_seconds_sum 0.12\nddns_request_seconds_count 4\n",
        "ddns_change_to_acceptance_seconds_bucket{le=\"5\"} 0\nddns_change_to_acceptance_seconds_bucket{le=\"15\"} 1\n",
        "ddns_change_to_acceptance_seconds_sum 7\n",
        "ddns_address_changes_total{type=\"A\"} 1\n",
        "ddns_source_failures_total{type=\"A\",source=\"url:\\\"\\\\\\n\"} 1\n",
        "ddns_address_info{type=\"A\",address=\"203.0.113.7\",source=\"public\"} 1\n",
        "ddns_records{state=\"up_to_date\"} 1\n",
        "ddns_record_up_to_date{domain=\"a.example\",type=\"A\"} 1\n",
        "ddns_record_last_success_timestamp_seconds{domain=\"a.example\",type=\"A\"} 1763170040\n",
        "ddns_record_last_success_age_seconds{domain=\"a.example\",type=\"A\"} 60\n",
        "ddns_record_address_info{domain=\"a.example\",type=\"A\",address=\"203.0.113.6\"} 1\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn i3_the_worst_of_equal_names_counts_and_each_has_one_series() {
    let rows = vec![
        row("a.example", UpdateState::UpToDate),
        Row { failures: Some(3), ..row("a.example", UpdateState::Retrying) },
        Row { accepted: None, ..row("a.example", UpdateState::Stopped) },
        Row { endpoint: Some("https://b".to_owned()), ..row("a.example", UpdateState::UpToDate) },
    ];
    let text = text(&Counts::default(), &Status { rows, ..Status::default() }, NOW);
    let name = "{domain=\"a.example\",type=\"A\"}";
    for expected in [
        format!("ddns_record_up_to_date{name} 0\n"),
        format!("ddns_record_stopped{name} 1\n"),
        format!("ddns_record_failures{name} 3\n"),
        "ddns_record_up_to_date{domain=\"a.example\",type=\"A\",endpoint=\"https://b\"} 1\n".to_owned(),
        "ddns_records{state=\"stopped\"} 1\n".to_owned(),
    ] {
        assert_eq!(text.matches(&expected).count(), 1, "{expected}\n{text}");
    }
    assert!(!text.contains(&format!("ddns_record_last_success_timestamp_seconds{name}")), "never, for one of them");
    let mut series: Vec<&str> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), all, "no series twice");
}

#[test]
fn i3_many_domains_with_one_address_leave_room_for_the_others() {
    let mut rows = vec![row("a.example", UpdateState::UpToDate); 2000];
    rows.push(Row {
        kind: "AAAA".to_owned(),
        address: Some(ip("2001:db8::7")),
        ..row("z.example", UpdateState::UpToDate)
    });
    let text = text(&Counts::default(), &Status { rows, ..Status::default() }, NOW);
    for (kind, address) in [("A", "203.0.113.7"), ("AAAA", "2001:db8::7")] {
        let line = format!("ddns_address_info{{type=\"{kind}\",address=\"{address}\",source=\"public\"}} 1\n");
        assert_eq!(text.matches(&line).count(), 1, "{line}");
    }
}

#[test]
fn i3_the_group_has_gauges_and_a_host_that_stands_by_says_nothing_of_records() {
    let change = |kind| What::Role(RoleChange { group: "home".to_owned(), member: "a".to_owned(), kind, why: None });
    let counts = counted([
        (1, change(LeaseChange::TookOver)),
        (2, change(LeaseChange::Lost)),
        (3, change(LeaseChange::TookOver)),
    ]);
    let status = Status { rows: vec![row("a.example", UpdateState::UpToDate)], ..Status::default() };
    assert!(!text(&counts, &status, NOW).contains("group"), "only where there is one");
    let holder = text(&counts, &status.clone().in_group(Some(membership(Role::Holder, Some("a")))), NOW);
    for expected in [
        "# TYPE ddns_group_holder gauge\nddns_group_holder{group=\"home\"} 1\n",
        "ddns_group_store_up{group=\"home\"} 1\n",
        "ddns_group_members{group=\"home\"} 2\n",
        "ddns_group_members_ready{group=\"home\"} 2\n",
        "ddns_group_lease_seconds{group=\"home\"} 12\n",
        "# TYPE ddns_group_takeovers_total counter\nddns_group_takeovers_total{group=\"home\"} 2\n",
        "ddns_group_losses_total{group=\"home\"} 1\n",
        "ddns_record_up_to_date{domain=\"a.example\",type=\"A\"} 1\n",
        "ddns_records{state=\"stand_by\"} 0\n",
    ] {
        assert!(holder.contains(expected), "{expected}\n{holder}");
    }
    let mut stand_by = membership(Role::StandBy, Some("b"));
    stand_by.status.store = Err("refused".to_owned());
    let stand_by = text(&counts, &status.in_group(Some(stand_by)), NOW);
    for expected in [
        "ddns_group_holder{group=\"home\"} 0\n",
        "ddns_group_store_up{group=\"home\"} 0\n",
        "ddns_group_lease_seconds{group=\"home\"} 0\n",
        "ddns_records{state=\"stand_by\"} 1\n",
    ] {
        assert!(stand_by.contains(expected), "{expected}\n{stand_by}");
    }
    assert!(!stand_by.contains("ddns_record_up_to_date{"), "{stand_by}");
}

#[test]
fn i3_a_host_that_stands_by_is_ready_while_it_sees_the_store() {
    let readiness = ServiceReadiness::new(vec![Duration::from_secs(300)]);
    let objection = |membership| {
        let status = Status { rows: vec![row("a.example", UpdateState::Sending)], ..Status::default() };
        readiness.objection(&status.in_group(Some(membership)), Duration::from_secs(900))
    };
    let mut member = membership(Role::StandBy, Some("b"));
    assert_eq!(objection(member.clone()), None);
    member.status.store = Err("refused by 10.0.0.1".to_owned());
    assert_eq!(objection(member.clone()).as_deref(), Some("the store of the group cannot be used"));
    member.status.role = Role::Holder;
    assert_eq!(objection(member), None, "its lease has not ended");
}

#[test]
fn i3_a_thousand_domains_have_series_and_all_are_in_the_sums() {
    let rows: Vec<Row> = (0..1500).map(|at| row(&format!("d{at}.example"), UpdateState::UpToDate)).collect();
    let mut counts = Counts::default();
    for number in 0..500 {
        let what = failed_source(&format!("url:http://{number}.example"));
        counts.take(&JournalEvent { at: 0, what }, Duration::ZERO);
    }
    let text = text(&counts, &Status { rows, ..Status::default() }, NOW);
    assert_eq!(text.matches("ddns_record_up_to_date{").count(), 1000);
    assert!(text.contains("ddns_records{state=\"up_to_date\"} 1500\n"), "{}", &text[..2000]);
    assert_eq!(text.matches("ddns_source_failures_total{").count(), 100);
}

#[test]
fn i3_a_service_is_ready_until_something_fails_for_longer_than_its_interval() {
    let mut readiness = ServiceReadiness::new(vec![Duration::from_secs(300)]);
    let take = |readiness: &mut ServiceReadiness, at, what| {
        readiness.take(&JournalEvent { at, what }, Duration::from_secs(at));
    };
    let status = |state| Status { rows: vec![row("a.example", state)], ..Status::default() };
    let (bad, good) = (status(UpdateState::Retrying), status(UpdateState::UpToDate));
    let at = |readiness: &ServiceReadiness, status: &Status, now| readiness.objection(status, Duration::from_secs(now));
    assert_eq!(at(&readiness, &good, 0), None);
    take(&mut readiness, 10, settled(Outcome::of_status(503), 1));
    take(&mut readiness, 200, settled(Outcome::of_status(503), 2));
    assert_eq!(at(&readiness, &bad, 310), None);
    assert_eq!(at(&readiness, &bad, 311).as_deref(), Some("1 update failing, for 5 min"));
    assert_eq!(at(&readiness, &good, 311), None, "another process may have sent it");
    let mut withdrawn = readiness.clone();
    withdrawn.review(|| good.rows.clone());
    assert_eq!(at(&withdrawn, &bad, 311), None, "it was withdrawn, and the next one is new");
    take(&mut readiness, 400, settled(Outcome::Accepted(200), 3));
    assert_eq!(at(&readiness, &bad, 401), None);
    let (entries, family) = (vec![0], Family::V4);
    take(&mut readiness, 500, What::NoAddress { entries, family, previous: None });
    assert_eq!(at(&readiness, &bad, 801).as_deref(), Some("an address is missing"));
    take(&mut readiness, 802, address(ip("203.0.113.7"), ip("203.0.113.6")));
    assert_eq!(at(&readiness, &bad, 1200), None);
    let stopped = status(UpdateState::Stopped);
    assert_eq!(at(&readiness, &stopped, 1201).as_deref(), Some("1 update stopped"));
}
