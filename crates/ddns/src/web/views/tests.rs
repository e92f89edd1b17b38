//! Every view, filled with something of everything. `DDNS_TEST_VIEWS=FOLDER` writes the pages there, to look at them.

use std::fs;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::config::validate::validate_text;
use ddns_core::engine::Previews;
use ddns_core::journal::{DAYS, Day, EventKind, Record, Row, Status, SyncResult, UpdateState};
use ddns_core::lease::membership::Membership;
use ddns_core::lease::status::{GroupPeer, MemberStatus, Role};
use ddns_core::net::family::Family;
use ddns_core::net::local_address::{Flags, Lifetime, LocalAddress, Scope};
use ddns_core::web::list::ListQuery;
use ddns_core::web::overview::overview;
use ddns_core::web::when::Clock;
use maud::Markup;

use super::details::DetailsModel;
use super::layout;
use super::overview::OverviewModel;
use super::strip::{HistoryStrips, Strip};
use super::{addresses, assets, history, login, requests};
use crate::compose;
use crate::environment::Environment;
use crate::lookup::report::{LookupReport, SourceReport};

/// 2026-11-15T19:03:32Z
const NOW: u64 = 1_794_769_412;
const DAY: u64 = 86_400;
const TOKEN: &str = "0123456789abcdef";

/// Markup that no view may let through.
const NASTY: &str = "<b onclick=\"x\">&'";

fn clock() -> Clock<'static> {
    Clock { now: NOW, offset: &|_| 3600 }
}

fn ip(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

fn row(domain: &str, address: &str, state: UpdateState) -> Row {
    let found = ip(address);
    Row {
        domain: domain.to_owned(),
        kind: if address.contains(':') { "AAAA" } else { "A" }.to_owned(),
        address: found,
        source: found.map(|ip| if ip.is_ipv4() { "public" } else { "default" }.to_owned()),
        accepted: found.map(|_| NOW - 78_540),
        accepted_address: found,
        state,
        last_status: Some(200),
        last_ms: Some(112),
        ..Row::default()
    }
}

fn status() -> Status {
    let mut rows = Vec::new();
    for name in ["home", "www", "mail", "vpn", "git", "photos"] {
        rows.push(row(&format!("{name}.example.com"), "203.0.113.7", UpdateState::UpToDate));
    }
    for name in ["home", "git"] {
        rows.push(row(&format!("{name}.example.com"), "2001:db8:5a0:1200::7", UpdateState::UpToDate));
    }
    let mut nas = row("nas.example.com", "2001:db8:5a0:1200::7", UpdateState::Retrying);
    (nas.next, nas.failures, nas.reason) = (Some(42), Some(3), Some("503".to_owned()));
    (nas.accepted, nas.accepted_address) = (Some(NOW - 3 * DAY), ip("2001:db8:5a0:1200::5"));
    (nas.last_status, nas.last_ms) = (Some(503), Some(1_204));
    rows.push(nas);
    rows.push(Row {
        reason: Some("badauth".to_owned()),
        last_ms: Some(87),
        ..row("old.example.net", "203.0.113.7", UpdateState::Stopped)
    });
    let none = Row {
        accepted: None,
        accepted_address: None,
        last_ms: None,
        ..row("lan.example.org", "", UpdateState::NoAddress)
    };
    rows.push(Row { kind: "AAAA".to_owned(), ..none });
    rows.push(Row {
        accepted: None,
        accepted_address: None,
        last_ms: None,
        ..row("new.example.org", "203.0.113.7", UpdateState::Sending)
    });
    Status {
        process: Some(7),
        configs: vec!["config.json".to_owned()],
        next: Some(221),
        errors: Vec::new(),
        rows,
        group: None,
    }
}

fn all_good() -> Status {
    let mut status = status();
    status.rows.truncate(8);
    status
}

/// Member `router-a` of the group `home`.
fn membership(role: Role, holder: &str) -> Membership {
    let seen = |name: &str, ready, prefer| GroupPeer {
        member: name.to_owned(),
        ready,
        prefer,
        is_holder: name == holder,
        is_self: name == "router-a",
    };
    let status = MemberStatus {
        member: "router-a".to_owned(),
        role,
        holder: Some(holder.to_owned()),
        held_for: Some(Duration::from_secs(3 * 3600)),
        lease_left: (role == Role::Holder).then_some(Duration::from_secs(12)),
        members: vec![seen("router-b", true, 50), seen("router-a", true, 0), seen("router-c", false, 0)],
        store: Ok(()),
        ready: Ok(()),
        trouble: None,
    };
    Membership { group: "home".to_owned(), status }
}

/// A group in which everything is wrong.
fn nasty_membership() -> Membership {
    let nasty = || NASTY.to_owned();
    let mut membership = membership(Role::StandBy, NASTY);
    membership.group = nasty();
    let status = &mut membership.status;
    (status.store, status.ready, status.trouble) = (Err(nasty()), Err(nasty()), Some(nasty()));
    status.members = vec![GroupPeer { member: nasty(), ..status.members[0].clone() }; 30];
    membership
}

fn strip(seed: usize) -> Strip {
    let mut days = [Day { worst: Some(EventKind::Accepted), is_change: false }; DAYS];
    days[..seed * 5 % 11].fill(Day::default());
    if seed % 4 == 1 {
        days[12 + seed % 9] = Day { worst: Some(EventKind::Failed), is_change: false };
        days[13 + seed % 9] = Day { worst: Some(EventKind::Failed), is_change: true };
    }
    if seed == 9 {
        days[26..].fill(Day { worst: Some(EventKind::Stopped), is_change: false });
    }
    days[28 - seed % 3].is_change = true;
    days
}

fn overview_of(status: &Status, query: &ListQuery) -> Markup {
    let view = overview(status, query);
    let strips = (0..view.rows.len()).map(strip).collect();
    let since = view.addresses.iter().map(|current| (current.ip, NOW - 78_540)).collect();
    let past = HistoryStrips { strips, since };
    OverviewModel { status, view: &view, query, clock: clock(), token: TOKEN, past, outcome: None }.page()
}

/// Two requests with one address each, one that carries both addresses, and one without an address.
fn previews() -> Previews {
    let text = r#"{"cache": false, "providers": [
        {"provider": "callback", "id": "https://u:s3cret@dns.example.com/update?host=__DOMAIN__", "token": {"ip": "__IP__"},
         "ipv4": ["home.example.com", "www.example.com"], "proxy": "http://proxy.example:3128"},
        {"provider": "callback", "id": "https://dns.example.net/?a=__IPV4__&aaaa=__IPV6__", "ipv4": ["both.example.com"],
         "ipv6": ["both.example.com"]},
        {"provider": "callback", "id": "https://dns.example.org/__IP__", "ipv6": ["none.example.com"]}]}"#;
    let configs = Rc::new(vec![validate_text("config.json", text).expect("a configuration")]);
    let plan = compose::plan(&configs, &Environment::read());
    let found = |address: &str| {
        let mut lookup = Lookup::default();
        let choice = Choice { ip: ip(address).expect("an address"), why: "2 of 3 services agree".to_owned() };
        lookup.add(&Source::parse("public").expect("a source"), Ok(choice), Duration::ZERO);
        Some(lookup)
    };
    let both = [found("10.0.0.7"), found("2001:db8:5a0:1200::7")];
    compose::look(&plan, &[[found("203.0.113.7"), None], both, [None, None]]).previews(|_, _| true, 0, 10)
}

fn records() -> Vec<Record> {
    let record = |ago: u64, event| Record {
        at: NOW - ago,
        event,
        family: Some(Family::V4),
        domain: Some("home.example.com".to_owned()),
        endpoint: Some("https://dns.example.com".to_owned()),
        address: ip("203.0.113.7"),
        previous: ip("203.0.113.5"),
        status: Some(200),
        took: Some(112),
        attempt: 1,
        until: None,
        after: None,
        ttl: None,
        source: None,
        group: None,
        reason: None,
    };
    let failed = |words: &str| Some(words.to_owned());
    let of_group = |ago, event, reason| Record {
        domain: None,
        family: None,
        group: Some("home".to_owned()),
        reason,
        ..record(ago, event)
    };
    vec![
        Record {
            family: Some(Family::V6),
            domain: Some("nas.example.com".to_owned()),
            reason: failed("503"),
            attempt: 3,
            ..record(40, EventKind::Failed)
        },
        record(1_260, EventKind::Accepted),
        Record { domain: None, source: Some("public".to_owned()), ..record(1_300, EventKind::Address) },
        Record {
            reason: failed("200: badauth"),
            domain: Some("old.example.net".to_owned()),
            ..record(9_000, EventKind::Stopped)
        },
        Record {
            reason: failed("the service asked to wait"),
            until: Some(NOW + 900),
            ..record(30_000, EventKind::HeldBack)
        },
        Record {
            reason: failed("connect to dns.example.com: connection refused"),
            ..record(90_000, EventKind::Failed)
        },
        Record {
            domain: None,
            source: Some("url:https://ip.example/".to_owned()),
            reason: failed(NASTY),
            ..record(200_000, EventKind::SourceFailed)
        },
        Record {
            domain: None,
            source: Some("url:https://ip.example/".to_owned()),
            ..record(199_000, EventKind::SourceRecovered)
        },
        Record { domain: None, address: None, ..record(300_000, EventKind::NoAddress) },
        Record { previous: ip("203.0.113.7"), ..record(400_000, EventKind::Unchanged) },
        of_group(410_000, EventKind::TookOver, None),
        of_group(500_000, EventKind::GaveBack, failed("this host has no address")),
        of_group(600_000, EventKind::Lost, failed(NASTY)),
    ]
}

fn addresses_of(is_empty: bool) -> Markup {
    let seconds = Lifetime::Seconds;
    let local = |interface: &str, address: &str, scope, flags, (valid, preferred)| LocalAddress {
        interface: interface.to_owned(),
        index: 1,
        ip: ip(address).expect("an address"),
        prefix: if address.contains(':') { 64 } else { 24 },
        scope,
        flags,
        valid,
        preferred,
    };
    let found = |address: &str, why: &str| Ok(Choice { ip: ip(address).expect("an address"), why: why.to_owned() });
    let list = |family, domains: &[&str], attempts: Vec<(&str, Result<Choice, String>, u64)>| {
        let mut lookup = Lookup::default();
        for (source, result, took) in attempts {
            lookup.add(&Source::parse(source).expect("a source"), result, Duration::from_millis(took));
        }
        SourceReport { family, domains: domains.iter().map(|&domain| domain.to_owned()).collect(), lookup }
    };
    let lists = vec![
        list(
            Family::V4,
            &["home.example.com", "photos.example.com"],
            vec![
                ("url:https://ip.example/", Err(NASTY.to_owned()), 31),
                ("public", found("203.0.113.7", "2 of 3 services agree"), 142),
            ],
        ),
        list(Family::V6, &[NASTY], vec![("default", Err("no route to the internet".to_owned()), 1)]),
    ];
    let forever = (Lifetime::Forever, Lifetime::Forever);
    let temporary = Flags { temporary: true, deprecated: true, ..Flags::default() };
    let host = vec![
        local("eth0", "192.168.1.20", Scope::Global, Flags::default(), (seconds(79_200), seconds(79_200))),
        local("eth0", "2001:db8:5a0:1200::7", Scope::Global, Flags::default(), (seconds(7200), seconds(3600))),
        local("eth0", "2001:db8:5a0:1200:9d3e:1c2f:77a0:b1c4", Scope::Global, temporary, (seconds(7200), seconds(0))),
        local(NASTY, "fe80::1", Scope::Link, Flags::default(), forever),
        local("lo", "127.0.0.1", Scope::Host, Flags::default(), forever),
    ];
    let (local, lists) = if is_empty { (vec![], vec![]) } else { (host, lists) };
    let report = LookupReport { local: Ok(local), lists };
    let asked = (!is_empty).then(|| clock().when(NOW - 3));
    addresses::page(&report, asked.as_ref(), TOKEN)
}

/// Each view by a name.
fn pages() -> Vec<(&'static str, String)> {
    let (status, good) = (status(), all_good());
    let nasty = Status {
        errors: vec![NASTY.to_owned()],
        rows: vec![Row { reason: Some(NASTY.to_owned()), ..row(NASTY, "", UpdateState::Stopped) }],
        group: Some(nasty_membership()),
        ..Status::default()
    };
    let search = ListQuery { search: NASTY.to_owned(), page: 1, ..ListQuery::default() };
    let first = ListQuery { page: 1, ..ListQuery::default() };
    let many: Vec<Row> =
        (0..10_000).map(|at| row(&format!("host{at:05}.example.com"), "203.0.113.7", UpdateState::UpToDate)).collect();
    let many = Status { rows: many, ..good.clone() };
    let (previews, none) = (previews(), Previews { shown: Vec::new(), total: 0, due: 0 });
    let details_of = |row: &Row, has_history: bool| {
        let mut history = records();
        history.retain(|record| has_history && record.domain.is_some());
        let outcome = Some((NOW - 5, Some(SyncResult { good: false, text: "1 of 2 failed".to_owned() })));
        let (preview, strip) = (&previews.shown[0], has_history.then(|| strip(5)));
        DetailsModel { row, preview, strip, history, outcome, clock: clock(), token: TOKEN }.page()
    };
    let history_of = |records, query| history::page(&records, query, &clock());
    let login = |wrong| login::form(TOKEN, Some(NASTY), wrong);
    let gone = login::error("There is nothing here", "No page has this address.");
    let of = |tab: Option<&str>, title, content: Markup| {
        layout::page(title, tab, TOKEN, tab.is_some(), &content).into_string()
    };
    let tab = Some("/");
    let (holder, stand_by) = (membership(Role::Holder, "router-a"), membership(Role::StandBy, "router-b"));
    let mut alone = holder.clone();
    alone.status.store = Err("connect to 10.0.0.1:2379: connection refused".to_owned());
    vec![
        ("overview", of(tab, "Overview", overview_of(&status, &first))),
        ("overview-good", of(tab, "Overview", overview_of(&good, &first))),
        ("overview-many", of(tab, "Overview", overview_of(&many, &first.on_page(3)))),
        ("overview-holder", of(tab, "Overview", overview_of(&status.clone().in_group(Some(holder)), &first))),
        ("overview-stand-by", of(tab, "Overview", overview_of(&status.clone().in_group(Some(stand_by)), &first))),
        ("overview-alone", of(tab, "Overview", overview_of(&good.clone().in_group(Some(alone)), &first))),
        ("overview-empty", of(tab, "Overview", overview_of(&Status::default(), &first))),
        ("overview-nasty", of(tab, "Overview", overview_of(&nasty, &first))),
        ("overview-search", of(tab, "Overview", overview_of(&status, &search))),
        ("details", of(tab, "home.example.com", details_of(&status.rows[8], true))),
        ("details-bare", of(tab, "lan.example.org", details_of(&status.rows[10], false))),
        ("addresses", of(Some("/addresses"), "Addresses", addresses_of(false))),
        ("addresses-empty", of(Some("/addresses"), "Addresses", addresses_of(true))),
        ("requests", of(Some("/requests"), "Requests", requests::page(&previews, &first, NOW))),
        ("requests-empty", of(Some("/requests"), "Requests", requests::page(&none, &search, NOW))),
        ("history", of(Some("/history"), "History", history_of(Ok(records()), &first))),
        ("history-broken", of(Some("/history"), "History", history_of(Err("permission denied".to_owned()), &search))),
        ("login", of(None, "Log in", login(None))),
        ("login-wrong", of(None, "Log in", login(Some("The password is wrong.")))),
        ("wrong", of(None, "Not found", gone)),
    ]
}

#[test]
fn i2_no_page_holds_a_style_a_script_or_markup_from_outside() {
    for (name, page) in pages() {
        assert!(!page.contains("<b onclick"), "{name}: a value is not escaped");
        assert!(!page.contains(" style=") && !page.contains("<style"), "{name}: a style in the page");
        assert_eq!(page.matches("<script").count(), page.matches("<script src=\"/assets/").count(), "{name}: a script");
        let handlers = ["onclick=", "onload=", "onsubmit=", "javascript:"];
        assert!(!handlers.iter().any(|handler| page.replace("&lt;b onclick", "").contains(handler)), "{name}");
        assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "{name}: another host");
    }
}

#[test]
fn i1_a_page_weighs_little_and_its_names_are_unique() {
    let files: usize = [&assets::STYLE, &assets::SCRIPT, &assets::ICON].iter().map(|asset| asset.content().len()).sum();
    for (name, page) in pages() {
        if let Ok(folder) = std::env::var("DDNS_TEST_VIEWS") {
            let page = page.replace("/assets/", "assets/");
            fs::write(format!("{folder}/{name}.html"), page).expect("a folder for pages");
            for asset in [&assets::STYLE, &assets::SCRIPT, &assets::ICON] {
                fs::write(format!("{folder}{}", asset.path()), asset.content()).expect("a folder for assets");
            }
        }
    }
    for (name, page) in pages() {
        assert!(page.len() + files < 60 * 1024, "{name}: {} + {files} bytes", page.len());
        let mut ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "{name}: an id is there twice");
        assert_eq!(page.matches("<h1").count(), 1, "{name}: one title");
    }
}

#[test]
fn j1_the_first_view_shows_the_group_and_updates_that_stand_by_need_no_attention() {
    let pages = pages();
    let page = |name: &str| &pages.iter().find(|(own, _)| *own == name).expect("a page").1;
    let holder = page("overview-holder");
    assert!(holder.contains("holds the lease for 3 h, 12 s left") && holder.contains("What needs attention"));
    let stand_by = page("overview-stand-by");
    for expected in
        ["On standby for router-b", "is on standby: router-b holds the lease", "router-c", "The store answers"]
    {
        assert!(stand_by.contains(expected), "{expected}");
    }
    assert!(!stand_by.contains("refused it permanently") && !stand_by.contains("Next try in"));
    let alone = page("overview-alone");
    assert!(alone.contains("may send for another <span class=\"count\" role=\"timer\" data-left=\"12\""), "{alone}");
    assert!(!page("overview").contains("id=\"group\""), "only where there is one");
}
