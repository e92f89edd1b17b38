//! K4, K9: names of every kind, at real servers; and what the resolver of the house hears of them.

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::dns_lab::{DnsLab, SETUP};
use crate::support::tools::inside;

/// A configuration whose source gives 203.0.113.7 for these domains.
pub(super) fn config(domains: &Value) -> Value {
    json!({"dns": "callback", "id": "http://127.0.0.1:1/__IP__", "ipv4": domains, "index4": "cmd:echo 203.0.113.7"})
}

/// What `ddns verify --json` says of each domain, and its exit status.
#[track_caller]
pub(super) fn verified(config: &Value) -> (Vec<Value>, i32) {
    let sandbox = Sandbox::new().configure(config);
    let run = sandbox.run(&["verify", "--json"]);
    (run.json(), run.code)
}

#[test]
fn k9_names_of_every_kind() {
    let Some(()) = inside(SETUP) else { return };
    let Some(_lab) = DnsLab::start() else { return };
    // The name, what `verify` says of it, the verdict, and how many servers say so.
    let cases = [
        ("example.test", json!(null), "visible", 2),
        ("old.example.test", json!(null), "not_visible", 2),
        ("*.example.test", json!(null), "visible", 2),
        ("none.example.test", json!(null), "not_visible", 2),
        ("nowhere.other.test", json!(null), "not_visible", 1),
        ("two.example.test", json!(null), "visible", 2),
        ("inside.example.test", json!(null), "visible", 2),
        ("outside.example.test", json!(null), "visible", 1),
        ("round1.example.test", json!(null), "unknown", 2),
        ("a.child.example.test", json!(null), "visible", 1),
        ("many.example.test", json!(null), "visible", 2),
        ("a.six.test", json!(null), "visible", 1),
        ("private.example.test", json!({"proxied": true}), "not_visible", 2),
        ("localhost", json!(null), "unknown", 0),
        ("a.nothing", json!(null), "unknown", 0),
    ];
    let domains = cases.iter().map(|(name, verify, ..)| json!({"name": name, "verify": verify}));
    let (report, code) = verified(&config(&domains.collect::<Value>()));
    assert_eq!(code, 1, "one is not visible: {report:#?}");
    for ((name, _, verdict, servers), found) in cases.iter().zip(&report) {
        assert_eq!(found["domain"], *name);
        assert_eq!(found["verdict"], *verdict, "{found:#}");
        assert_eq!(found["servers"].as_array().map(Vec::len), Some(*servers), "{found:#}");
    }
    let ttl = report.iter().find(|found| found["domain"] == "two.example.test").map(|found| found["ttl"].clone());
    assert_eq!(ttl, Some(json!(300)));
    // The same names, judged otherwise.
    let others = json!([
        {"name": "two.example.test", "verify": {"exact": true}},
        {"name": "old.example.test", "verify": {"proxied": true}},
    ]);
    let (report, _) = verified(&config(&others));
    assert_eq!(
        (&report[0]["verdict"], &report[1]["verdict"]),
        (&json!("not_visible"), &json!("proxied")),
        "{report:#?}"
    );
    let (report, code) = verified(&config(&json!([{"name": "old.example.test", "verify": {"proxied": true}}])));
    assert_eq!(code, 0, "behind a proxy is as good as visible: {report:#?}");
    // IPv6: nothing of this type is there.
    let mut no_aaaa = config(&json!([]));
    no_aaaa["ipv6"] = json!("two.example.test");
    no_aaaa["index6"] = json!("cmd:echo 2001:db8::7");
    assert_eq!(verified(&no_aaaa).0[0]["verdict"], "not_visible");
}

/// It has a zone of the same name with another address, and a name that it were asked about would stay in its cache.
#[test]
fn k4_k17_the_resolver_hears_of_no_domain() {
    let Some(()) = inside(SETUP) else { return };
    let Some(lab) = DnsLab::start() else { return };
    lab.set("home.example.test", "203.0.113.7");
    lab.refresh();
    let (report, _) = verified(&config(&json!(["home.example.test", "missing.example.test"])));
    assert_eq!((&report[0]["verdict"], &report[1]["verdict"]), (&json!("visible"), &json!("visible")), "{report:#?}");
    let heard = lab.heard_by("resolver");
    assert!(heard.iter().any(|(_, question)| question.starts_with("test IN NS")), "{heard:?}");
    assert!(!heard.iter().any(|(_, question)| question.contains("example")), "{heard:?}");
    // Who wants to know what the house sees asks for it.
    let mut asked = config(&json!(["home.example.test"]));
    asked["verify"] = json!({"ask": "resolver"});
    let (report, code) = verified(&asked);
    assert_eq!(
        (code, &report[0]["by"], &report[0]["verdict"]),
        (1, &json!("resolver"), &json!("not_visible")),
        "{report:#?}"
    );
    assert_eq!(report[0]["servers"][0]["addresses"], json!(["192.168.1.5"]));
}
