//! K14, K19: how much is asked of real servers where there are many names, and by which hosts of a group.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::service::{FIRST_ROUND, age, dns_of};
use crate::support::dns_lab::{DnsLab, ODD, SETUP, answer, odd_server, record};
use crate::support::etcd::Etcd;
use crate::support::members::TAKEN_OVER;
use crate::support::tools::inside;
use crate::support::watching::{Endpoint, SOON, Watch, host, status, until};

/// More than 416, so that `every` grows. `DDNS_TEST_NAMES=10000` takes five minutes.
const NAMES: usize = 600;

/// Case 33: after a change 20 names a second at each of two servers, each name once and at one server; at rest 10,000 questions a day.
#[test]
fn k14_many_names_at_real_servers() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    let names = env::var("DDNS_TEST_NAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(NAMES);
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let domains: Vec<String> = (0..names).map(|number| format!("n{number}.example.test")).collect();
    let config =
        endpoint.config(&json!({"ipv4": domains, "index4": "cmd:echo 203.0.113.7", "verify": true, "interval": "1h"}));
    let heard = || {
        let all = lab.heard_by("primary").into_iter();
        all.filter(|(_, question)| question.contains(" IN A ")).collect::<Vec<_>>()
    };
    let before = lab.heard_by_secondary();
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(names, Duration::from_secs(120));
    let (begun, seconds) = (Instant::now(), names as u64 / 40);
    let count = || {
        let (all, _) = status(&sandbox);
        all["updates"].as_array().expect("updates").iter().filter(|it| it["dns"]["verdict"] == "visible").count()
    };
    while count() < names {
        let most = Duration::from_secs(seconds * 3 / 2) + SOON;
        assert!(begun.elapsed() < most, "{} of {names} after {:?}", count(), begun.elapsed());
        thread::sleep(Duration::from_secs(1));
    }
    println!("{names} names were visible after {:?}", begun.elapsed());
    assert!(begun.elapsed() > Duration::from_secs(seconds * 2 / 3), "too fast: {:?}", begun.elapsed());
    let (primary, secondary) = (heard(), lab.heard_by_secondary() - before);
    println!("the primary heard {} questions, the secondary {secondary}", primary.len());
    let different: BTreeSet<&String> = primary.iter().map(|(_, question)| question).collect();
    // The last hundred are asked about at both, and for a zone of their own; some questions lead to the zone.
    let once = (names..names + 250).contains(&(primary.len() + secondary));
    assert!(once && different.len() + 10 > primary.len(), "{} and {secondary}", primary.len());
    assert!(primary.len() * 3 > names && secondary * 3 > names, "{} and {secondary}", primary.len());
    // In ten seconds: a machine that does other things may send what it could not in the second before.
    let mut by_time: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, _) in &primary {
        *by_time.entry(&at[..at.len() - 1]).or_default() += 1;
    }
    assert!(by_time.values().all(|count| *count <= 220), "{by_time:?}");
    watch.stop();

    // At rest: what the cache says of the next rounds.
    let cache: Value = serde_json::from_str(&fs::read_to_string(sandbox.cache_file()).expect("a cache")).expect("JSON");
    let pauses = cache["holds"].as_object().expect("what was seen").values().map(|hold| {
        let time = |name: &str| hold["seen"][name].as_u64().expect("a time");
        time("next") - time("last")
    });
    let a_day = pauses.map(|pause| 86_400_000 / pause).sum::<u64>() / 1000;
    println!("{a_day} questions a day at rest");
    assert!((9_000..10_500).contains(&a_day), "{a_day} a day");
    // A day later all of them are due. A hundred are asked about at once, and the others over the time that they have.
    age(&sandbox, 86_400);
    let before = heard().len() + lab.heard_by_secondary();
    let _watch = Watch::again(&sandbox);
    thread::sleep(Duration::from_secs(15));
    let asked = heard().len() + lab.heard_by_secondary() - before;
    assert!((1..150).contains(&asked), "{asked} questions after a start");
    assert_eq!(endpoint.count(), names, "nothing was sent again");
}

/// Case 36: the second host asks a server of its own, which hears nothing before it holds the lease.
#[test]
fn k19_in_a_group_only_the_holder_asks() {
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    let Some(()) = inside(SETUP) else { return };
    let (Some(lab), Some(etcd)) = (DnsLab::start(), Etcd::start()) else { return };
    lab.set("home.example.test", "203.0.113.7");
    lab.refresh();
    odd_server(|_, question| {
        HEARD.fetch_add(1, Ordering::SeqCst);
        vec![answer(question, [0x84, 0], &record(question, &[203, 0, 113, 8]))]
    });
    let endpoint = Endpoint::new();
    let config = |member: &str, source: &str, verify: Value| {
        let store = format!("etcd://127.0.0.1:{}", etcd.port);
        let group = json!({"store": store, "name": "home", "lease": "5s", "member": member});
        endpoint.config(&json!({"ipv4": ["home.example.test"], "index4": source, "verify": verify, "group": group,
            "interval": "1m"}))
    };
    let (one, other) = (host(), host());
    let first = Watch::start(&one, &config("one", "cmd:echo 203.0.113.7", json!(true)));
    until(SOON * 2 + FIRST_ROUND, "the holder asks", || dns_of(&one)["verdict"] == "visible");
    let second = Watch::start(&other, &config("other", "cmd:echo 203.0.113.8", json!({"server": ODD})));
    second.prints("is on standby");
    thread::sleep(FIRST_ROUND * 3);
    assert_eq!(HEARD.load(Ordering::SeqCst), 0, "{}", second.log());
    first.stop();
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.8");
    until(SOON + FIRST_ROUND, "it asks now", || dns_of(&other)["verdict"] == "visible");
    assert!(HEARD.load(Ordering::SeqCst) > 0);
}
