//! `/metrics`, `/healthz` and `/readyz` (I3): what programs that look after a service get.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::support::Response;
use crate::support::page::{Page, address};
use crate::support::pages::root;
use crate::support::programs::needed;
use crate::support::watching::{Endpoint, SOON, Watch, host, until};

/// What is counted and shown, by name.
fn families(text: &str) -> BTreeSet<String> {
    let name = |line: &str| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned);
    text.lines().filter_map(name).collect()
}

/// The names of metrics in a text of ours.
fn named(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let plain = |word: &str| {
        let base = ["_bucket", "_sum", "_count"].iter().find_map(|ending| word.strip_suffix(ending));
        base.unwrap_or(word).to_owned()
    };
    words.filter(|word| word.starts_with("ddns_")).map(plain).collect()
}

/// The value of a series.
#[track_caller]
fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {series} in\n{text}"))
}

fn metrics(page: &Page) -> String {
    let answer = page.get("/metrics").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    answer.body
}

#[test]
fn i3_metrics_tell_what_happened_and_how_every_record_stands() {
    let page = Page::with(&json!({}), &json!({"ipv6": ["home.example.com"], "index6": "shell:false"}));
    page.endpoint.wait(1, SOON);
    until(SOON, "it is counted", || metrics(&page).contains("ddns_records{state=\"up_to_date\"} 1\n"));
    page.endpoint.receiver.set_ip("203.0.113.9");
    page.sandbox.run(&["sync", "-c", "config.json"]).expect(1);
    let text = metrics(&page);
    for (series, expected) in [
        ("ddns_updates_total{outcome=\"accepted\"}", 2.0),
        ("ddns_request_seconds_count", 2.0),
        ("ddns_change_to_acceptance_seconds_count", 1.0),
        ("ddns_address_changes_total{type=\"A\"}", 1.0),
        ("ddns_records{state=\"no_address\"}", 1.0),
        ("ddns_record_up_to_date{domain=\"home.example.com\",type=\"A\"}", 1.0),
        ("ddns_record_up_to_date{domain=\"home.example.com\",type=\"AAAA\"}", 0.0),
        ("ddns_record_address_info{domain=\"home.example.com\",type=\"A\",address=\"203.0.113.9\"}", 1.0),
    ] {
        assert!((value(&text, series) - expected).abs() < f64::EPSILON, "{series}\n{text}");
    }
    assert!(value(&text, "ddns_source_failures_total{type=\"AAAA\",source=\"shell:…\"}") >= 2.0);
    assert!(value(&text, "ddns_record_last_success_age_seconds{domain=\"home.example.com\",type=\"A\"}") < 60.0);

    // Counts go on when the configuration changes.
    let mut config: serde_json::Value = serde_json::from_str(&page.sandbox.read("config.json")).expect("JSON");
    config["ttl"] = json!(300);
    page.sandbox.write("config.json", config.to_string());
    page.watch.signal(Signal::HUP);
    until(SOON, "the reload", || page.watch.lines_with("watching") == 2);
    let after = metrics(&page);
    assert!(value(&after, "ddns_updates_total{outcome=\"accepted\"}") >= 2.0, "{after}");
}

#[test]
fn i3_promtool_accepts_the_metrics() {
    let Some(promtool) = needed("promtool") else { return };
    let page = Page::with(
        &json!({}),
        &json!({"ipv4": ["home.example.com", "bücher.example"], "index4":
        ["shell:false", "shell:echo 203.0.113.7"]}),
    );
    page.endpoint.wait(2, SOON);
    until(SOON, "both", || metrics(&page).contains("ddns_records{state=\"up_to_date\"} 2\n"));
    is_accepted(&promtool, &metrics(&page));
    is_accepted(&promtool, &metrics(&in_group()));
}

/// A host of a group whose store is not there.
fn in_group() -> Page {
    Page::with(&json!({}), &json!({"group": {"store": "etcd://127.0.0.1:1", "name": "home"}}))
}

#[track_caller]
fn is_accepted(promtool: &Path, text: &str) {
    let mut child = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.trim().is_empty(), "{said}\n{text}");
}

#[test]
fn i3_the_alert_rules_hold() {
    let Some(promtool) = needed("promtool") else { return };
    let folder = root().join("packaging/prometheus");
    for arguments in [["check", "rules", "ddns.rules.yml"], ["test", "rules", "ddns.rules.test.yml"]] {
        let output = Command::new(&promtool).args(arguments).current_dir(&folder).output().expect("promtool starts");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
    }
}

#[test]
fn i3_pages_rules_and_dashboard_name_metrics_that_are_there() {
    let page = Page::open();
    page.endpoint.wait(1, SOON);
    until(SOON, "a success", || metrics(&page).contains("ddns_oldest_success"));
    let mut there = families(&metrics(&page));
    there.extend(families(&metrics(&in_group())));
    // A server that is not there.
    let verified = Page::with(&json!({}), &json!({"verify": {"server": "127.0.0.1:1"}}));
    until(SOON, "it is accepted", || metrics(&verified).contains("ddns_repairs_total"));
    there.extend(families(&metrics(&verified)));
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("the file");
    assert_eq!(named(&read("docs/metrics.md").replace("ddns_record_…", "")), there, "the page lists each of them");
    for path in ["packaging/prometheus/ddns.rules.yml", "packaging/grafana/ddns.json"] {
        let used = named(&read(path));
        assert!(!used.is_empty() && used.is_subset(&there), "{path}: {:?}", used.difference(&there));
    }
    let shown = named(&expressions().join(" "));
    for wanted in ["holder", "store_up", "members", "members_ready", "takeovers_total", "losses_total"] {
        assert!(shown.contains(&format!("ddns_group_{wanted}")), "the dashboard shows how a group stands: {wanted}");
    }
}

/// What the panels of the dashboard ask for.
fn expressions() -> Vec<String> {
    let text = fs::read_to_string(root().join("packaging/grafana/ddns.json")).expect("the dashboard");
    let dashboard: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has a number of its own");
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    targets.map(|target| target["expr"].as_str().expect("an expression").to_owned()).collect()
}

#[test]
fn i3_promtool_can_read_every_expression_of_the_dashboard() {
    let Some(promtool) = needed("promtool") else { return };
    let sandbox = host();
    let rules =
        expressions().into_iter().enumerate().map(|(at, expr)| json!({"record": format!("panel:{at}"), "expr": expr}));
    let rules: Vec<serde_json::Value> = rules.collect();
    assert!(rules.len() > 15, "{rules:?}");
    let file = sandbox.write("rules.yml", json!({"groups": [{"name": "dashboard", "rules": rules}]}).to_string());
    let output = Command::new(promtool).args(["check", "rules"]).arg(file).output().expect("promtool starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
}

#[test]
fn i3_health_is_for_everybody_and_metrics_for_whoever_may_see_the_page() {
    let page = Page::with(&json!({"password_file": "password", "token_file": "token"}), &json!({}));
    page.endpoint.wait(1, SOON);
    for path in ["/healthz", "/readyz"] {
        let answer = page.get(path).expect(200);
        assert_eq!(answer.header("set-cookie"), None);
        assert!(!answer.body.contains("example"), "{}", answer.body);
        page.request("HEAD", path, &[], "").expect(200);
        page.request("POST", path, &[], "x").expect(405);
        page.request("GET", path, &["Host: evil.example"], "").expect(421);
    }
    page.get("/metrics").expect(401);
    page.request("GET", "/metrics", &["Authorization: Bearer wrong"], "").expect(401);
    let token = "Authorization: Bearer 0123456789abcdef0123456789abcdef";
    let text = page.request("GET", "/metrics", &[token], "").expect(200).body;
    assert!(text.contains("ddns_build_info{version="), "{text}");
    let visitor = page.logged_in();
    page.get_as("/metrics", &visitor).expect(200);
}

#[test]
fn i3_a_service_is_not_ready_while_something_is_stopped_or_fails_for_long() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::with_body(200, "badauth"));
    let config = endpoint.config(&json!({"web": "127.0.0.1:0", "expect": "dyndns2"}));
    let watch = Watch::start(&sandbox, &config);
    let page = Page { address: address(&watch), endpoint, sandbox, watch };
    until(SOON, "it is stopped", || page.get("/readyz").status == 503);
    let answer = page.get("/readyz");
    assert_eq!(answer.body, "not ready: 1 update stopped\n");
    page.get("/healthz").expect(200);
    drop(page);

    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(500));
    let config = endpoint.config(&json!({"web": "127.0.0.1:0", "interval": "10s"}));
    let watch = Watch::start(&sandbox, &config);
    let page = Page { address: address(&watch), endpoint, sandbox, watch };
    page.endpoint.wait(1, SOON);
    page.get("/readyz").expect(200);
    until(Duration::from_secs(30), "it has failed for an interval", || page.get("/readyz").status == 503);
    let answer = page.get("/readyz").expect(503);
    assert!(answer.body.starts_with("not ready: 1 update failing, for 1"), "{}", answer.body);
    page.get("/healthz").expect(200);
}
