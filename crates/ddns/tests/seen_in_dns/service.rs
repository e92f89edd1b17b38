//! K11 to K24 in a running service and in single runs, against real servers: `PowerDNS` is the endpoint and the server of its zone.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::dns_lab::{DnsLab, SETUP};
use crate::support::given::with;
use crate::support::inbox::Inbox;
use crate::support::page::Page;
use crate::support::powerdns::PowerDns;
use crate::support::tools::{inside, needed, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, status, until};
use crate::support::{Receiver, Response, Sandbox};

/// So long after acceptance a name is asked about for the first time.
pub(super) const FIRST_ROUND: Duration = Duration::from_secs(2);

/// Makes what a cache knows of DNS older, as if nothing had run for so many seconds.
pub(super) fn age(sandbox: &Sandbox, seconds: u64) {
    let file = sandbox.cache_file();
    let mut cache: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a cache")).expect("JSON");
    for hold in cache["holds"].as_object_mut().expect("what was seen").values_mut() {
        let seen = &mut hold["seen"];
        for name in ["/accepted", "/since", "/last", "/next", "/repairs/at"] {
            if let Some(time) = seen.pointer_mut(name).filter(|time| time.as_u64().is_some_and(|time| time > seconds)) {
                *time = json!(time.as_u64().expect("a time") - seconds);
            }
        }
        if let Some(first) = seen["misses"][1].as_u64().filter(|first| *first > 0) {
            seen["misses"][1] = json!(first - seconds);
        }
    }
    fs::write(file, cache.to_string()).expect("the cache is written");
}

pub(super) fn dns_of(sandbox: &Sandbox) -> Value {
    status(sandbox).0["updates"][0]["dns"].clone()
}

/// The configuration: home.dyn.test at a `PowerDNS`.
fn at_powerdns(server: &PowerDns, more: &Value) -> Value {
    let body = json!({"rrsets": [{"name": "__DOMAIN__.", "type": "__RECORDTYPE__", "ttl": 60, "changetype": "REPLACE",
        "records": [{"content": "__IP__", "disabled": false}]}]});
    let id = format!("http://127.0.0.1:{}/api/v1/servers/localhost/zones/dyn.test.", server.api);
    let config = json!({"dns": "callback", "id": id, "method": "PATCH", "token": body,
        "headers": {"X-API-Key": "SecretKey123"}, "ipv4": ["home.dyn.test"], "index4": "cmd:echo 203.0.113.7"});
    with(&config, more)
}

/// A record that somebody changes by hand is reported, and with `repair` is right again: on the page, by a notification, in the
/// history and in the metrics.
#[test]
fn k12_k13_k23_k24_a_record_changed_by_hand_is_reported_and_repaired() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_lab) = DnsLab::start() else { return };
    let place = Sandbox::new();
    let Some(server) = PowerDns::start(&place, "dyn.test", ("10.53.0.8", 53)) else { return };
    let inbox = Inbox::new();
    let notify = inbox.notify(&json!({"on": ["drifted", "not-visible", "visible"]}));
    for is_repaired in [false, true] {
        let verify = if is_repaired { json!({"repair": true}) } else { json!(true) };
        let config = at_powerdns(&server, &json!({"verify": verify, "notify": [notify]}));
        let sandbox = host();
        let watch = Watch::start(&sandbox, &config);
        until(SOON + FIRST_ROUND, "it is visible", || dns_of(&sandbox)["verdict"] == "visible");
        assert_eq!(dns_of(&sandbox)["text"], "visible (1 server, TTL 60)");
        watch.stop();
        assert_eq!(inbox.messages().len(), 0, "that it is visible is no news");
        PowerDns::tamper(&place, "home.dyn.test", "198.51.100.4");
        // More than an hour later, and twice a minute later: none has it.
        for seconds in [4000, 61] {
            age(&sandbox, seconds);
            let before = dns_of(&sandbox)["asked"].as_u64();
            let watch = Watch::again(&sandbox);
            until(SOON, "it is missed", || {
                let dns = dns_of(&sandbox);
                dns["verdict"] == "not_visible" && dns["asked"].as_u64() > before
            });
            watch.stop();
        }
        age(&sandbox, 61);
        let page = Page::start(Endpoint::new(), sandbox, &json!({}), config);
        let sandbox = &page.sandbox;
        let said = "min after it was accepted: ns.dyn.test has 198.51.100.4";
        until(SOON, "the log says so", || page.watch.lines_with(said) == 1);
        let metrics = || page.get("/metrics").expect(200).body;
        let history = || sandbox.run(&["history", "--json", "-c", "config.json"]).expect(0).stdout;
        if is_repaired {
            until(SOON + FIRST_ROUND, "it is visible again", || dns_of(sandbox)["verdict"] == "visible");
            until(SOON, "two notifications", || inbox.messages().len() == 2);
            assert_eq!(inbox.events(), ["drifted", "visible"]);
            assert!(metrics().contains("ddns_repairs_total 1\n"), "{}", metrics());
            assert!(
                metrics().contains("ddns_record_visible{domain=\"home.dyn.test\",type=\"A\"} 1\n"),
                "{}",
                metrics()
            );
            for expected in ["\"reason\": \"drifted\"", "\"event\": \"drifted\"", "\"event\": \"visible\""] {
                let found = history().replace("\":\"", "\": \"");
                assert!(found.contains(expected), "{expected}: {found}");
            }
            assert!(page.get("/").expect(200).body.contains("DNS: visible"));
        } else {
            until(SOON, "a notification", || inbox.messages().len() == 1);
            let message = inbox.messages()[0]["message"].as_str().unwrap_or_default().to_owned();
            assert_eq!(message, "home.dyn.test A 203.0.113.7 is different in DNS: ns.dyn.test has 198.51.100.4");
            assert!(
                metrics().contains("ddns_record_visible{domain=\"home.dyn.test\",type=\"A\"} 0\n"),
                "{}",
                metrics()
            );
            assert!(
                metrics().contains("ddns_repairs_total 0\n")
                    && metrics().contains("ddns_dns_questions_total{result=\"answered\"}")
            );
            let overview = page.get("/").expect(200).body;
            assert!(
                overview.contains("Up to date, not visible in DNS") && overview.contains("DNS: drifted"),
                "{overview}"
            );
            // K2: it is up to date all the same.
            let (all, code) = status(sandbox);
            assert_eq!((all["updates"][0]["state"].as_str(), code), (Some("up_to_date"), 0));
            page.get("/readyz").expect(200);
            let shown = sandbox.run(&["status", "-c", "config.json", "--wide"]).expect(0).stdout;
            assert!(
                shown.contains("STATE") && shown.contains("DNS") && shown.contains("drifted: ns.dyn.test has"),
                "{shown}"
            );
            let sent = history();
            assert!(!sent.contains("\"reason\":\"drifted\""), "{sent}");
        }
        page.watch.stop();
        inbox.0.take();
    }
}

/// A process that is killed between acceptance and verdict is followed by one that asks.
#[test]
fn k19_a_verdict_survives_a_kill() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    lab.set("home.example.test", "203.0.113.7");
    lab.refresh();
    let receiver = Receiver::responding(|_| Response::status(204));
    let sandbox = host();
    let config = json!({"dns": "callback", "id": receiver.url("/?ip=__IP__"), "ipv4": ["home.example.test"],
        "index4": "cmd:echo 203.0.113.7", "verify": true});
    let watch = Watch::start(&sandbox, &config);
    let is_remembered = || fs::read_to_string(sandbox.cache_file()).is_ok_and(|text| text.contains("\"seen\""));
    until(SOON, "it is accepted, and remembered", is_remembered);
    watch.signal(Signal::KILL);
    drop(watch);
    let _watch = Watch::again(&sandbox);
    until(SOON + FIRST_ROUND, "it is visible", || dns_of(&sandbox)["verdict"] == "visible");
    assert_eq!(receiver.callbacks().len(), 1);
}

/// A single run waits where somebody wants it, and its exit status is that of the updates.
#[test]
fn k22_a_single_run_waits_for_dns_and_its_exit_status_stays() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    lab.set("home.example.test", "198.51.100.4");
    lab.refresh();
    let receiver = Receiver::responding(|_| Response::status(204));
    let config = json!({"dns": "callback", "id": receiver.url("/?ip=__IP__"), "ipv4": ["home.example.test"],
        "index4": "cmd:echo 203.0.113.7"});
    let sandbox = Sandbox::new().configure(&config);
    sandbox.run(&["--verify", "3s"]).expect(0).prints("home.example.test A: DNS: not yet (");
    lab.set("home.example.test", "203.0.113.7");
    lab.refresh();
    sandbox.run(&["--verify", "20s"]).expect(0).prints("visible in DNS");
    assert_eq!(receiver.callbacks().len(), 1);
    sandbox.run(&["--verify", "soon"]).expect(2).prints("`soon` is no time such as 90s or 5m");
    sandbox.run(&["--verify"]).expect(2).prints("--verify needs");
}

/// Where nobody can be asked, everything else goes on, and nothing is coloured.
#[test]
fn k16_where_port_53_is_blocked_it_is_unknown_and_nothing_else_changes() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_) = needed("nft") else { return };
    sh("nft add table inet t && nft 'add chain inet t out { type filter hook output priority 0; }' && \
        nft 'add rule inet t out meta l4proto { tcp, udp } th dport 53 reject'");
    let page = Page::with(&json!({}), &json!({"verify": true}));
    until(SOON * 2 + FIRST_ROUND, "a round", || dns_of(&page.sandbox)["asked"].is_u64());
    let dns = dns_of(&page.sandbox);
    assert_eq!(dns["verdict"], "unknown", "{dns}");
    assert_eq!(page.watch.lines_with("nobody knows whether it is visible in DNS"), 1, "{}", page.watch.log());
    assert!(!page.get("/metrics").expect(200).body.contains("ddns_record_visible{"));
    page.get("/readyz").expect(200);
    assert!(!page.get("/").expect(200).body.contains("not visible in DNS"));
}
