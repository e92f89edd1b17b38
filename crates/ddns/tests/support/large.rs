//! Configurations that grow: each in one way, so that a cost that grows faster shows. For tests and for `benches/cost.rs`.

use serde_json::{Value, json};

/// A name, and the configuration with so many of what it names.
pub(crate) type Case = (&'static str, fn(usize) -> String);

/// Right and wrong configurations, and some that no person would write.
pub(crate) const CASES: [Case; 26] = [
    ("domains", |n| with("ipv4", list(n, |at| format!("host-{at}.example.com")))),
    ("domains in a text", |n| with("ipv4", json!(joined(n, ",", |at| format!("host-{at}.example.com"))))),
    ("domains, each twice", |n| with("ipv4", list(n, |at| format!("host-{}.example.com", at / 2)))),
    ("domains that look like something else", |n| with("ipv4", list(n, |at| format!("host/{at}")))),
    ("invalid domains", |n| with("ipv4", list(n, |at| format!("host..{at}")))),
    ("invalid domains in a text", |n| with("ipv4", json!(joined(n, ",", |at| format!("host..{at}"))))),
    ("numbers instead of domains", |n| {
        format!("{{\"dns\":\"callback\",\"ipv4\":[{}]}}", joined(n, ",", |_| "1".into()))
    }),
    ("unknown fields", |n| format!("{{{}}}", joined(n, ",", |at| format!("\"field{at}\":1")))),
    ("unknown fields, one a line", |n| format!("{{/**/{}}}", joined(n, ",\n", |at| format!("\"field{at}\":1")))),
    ("unknown fields of log", |n| format!("{{\"log\":{{{}}}}}", joined(n, ",", |at| format!("\"field{at}\":1")))),
    ("one field, written again", |n| format!("{{{}}}", joined(n, ",", |_| "\"ttl\":1".into()))),
    ("one long key", |n| format!("{{\"{}\":1}}", "k".repeat(10 * n))),
    ("one long value", |n| with("token", json!({"key": "v".repeat(10 * n)}))),
    ("one long address", |n| with("id", json!(format!("http://127.0.0.1:9/?{}", "name=value&".repeat(n))))),
    ("placeholders in an address", |n| with("id", json!(format!("http://127.0.0.1:9/?{}", "x__IP__".repeat(n))))),
    ("values of token", |n| with("token", list(n, |at| format!("value-{at}")))),
    ("unknown placeholders", |n| with("token", list(n, |at| format!("__NAME{at}__")))),
    ("variables", |n| with("extra", (0..n).map(|at| (format!("__V{at}__"), json!("value"))).collect())),
    ("wrong variables", |n| with("extra", (0..n).map(|at| (format!("v{at}"), json!("value"))).collect())),
    ("unknown parts of log.format", |n| {
        with("log", json!({"format": format!("%(message)s{}", joined(n, "", |at| format!("%(part{at})s")))}))
    }),
    ("wrong sources", |n| with("index4", list(n, |at| format!("nonsense{at}")))),
    ("wrong proxies", |n| with("proxy", list(n, |at| format!("nonsense://host{at}")))),
    ("entries", |n| entries(n, |at| json!({"id": format!("http://127.0.0.1:9/?key=key-{at:06}")}))),
    ("entries with the same warning", |n| {
        entries(n, |at| json!({"id": format!("http://127.0.0.1:9/{at}"), "ssl": false}))
    }),
    ("wrong entries", |n| entries(n, |_| json!({"provider": "other"}))),
    ("empty entries", |n| format!("{{\"providers\":[{}]}}", joined(n, ",", |_| "{}".into()))),
];

/// So many entries with a key of their own each, in the form that keys usually have, and domains that look alike.
pub(crate) fn keys(count: usize) -> String {
    entries(count, |at| {
        let hex = |salt: u64| format!("{:016x}", (at as u64 + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        json!({"id": format!("http://127.0.0.1:9/?key={}{}", hex(1), hex(7)), "ipv4": format!("{}.example", hex(3))})
    })
}

fn with(field: &str, value: Value) -> String {
    let mut config = json!({
        "dns": "callback", "id": "http://127.0.0.1:9/?ip=__IP__", "ipv4": "home.example.com", "index4": "shell:echo 203.0.113.7",
    });
    config[field] = value;
    config.to_string()
}

fn entries(count: usize, fields: impl Fn(usize) -> Value) -> String {
    let entry = |at| {
        let mut entry = json!({"provider": "callback", "ipv4": format!("host-{at}.example.com")});
        for (name, value) in fields(at).as_object().expect("fields") {
            entry[name] = value.clone();
        }
        entry
    };
    let providers: Vec<Value> = (0..count).map(entry).collect();
    json!({"index4": "shell:echo 203.0.113.7", "cache": false, "providers": providers}).to_string()
}

fn list(count: usize, item: impl Fn(usize) -> String) -> Value {
    (0..count).map(item).collect()
}

fn joined(count: usize, between: &str, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(between)
}
