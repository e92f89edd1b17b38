//! What `ddns addresses --json` reports.

use serde_json::Value;

use crate::support::{Run, Sandbox};

/// The report without a configuration.
#[track_caller]
pub fn addresses() -> Value {
    report(&Sandbox::new().run(&["addresses", "--json"]).expect(0))
}

/// The rows of local addresses.
#[track_caller]
pub fn local(report: &Value) -> Vec<Value> {
    report["local"].as_array().unwrap_or_else(|| panic!("`local` is a list: {report:#}")).clone()
}

/// One JSON object on standard output, and nothing else there.
#[track_caller]
pub fn report(run: &Run) -> Value {
    let value: Value = run.json();
    assert!(value.is_object(), "one object: {value:#}");
    check_form(&value);
    value
}

/// What holds of every report.
#[track_caller]
pub fn check_form(report: &Value) {
    for name in ["local", "sources", "hints"] {
        assert!(report[name].is_array(), "`{name}` is a list: {report:#}");
    }
    for row in local(report) {
        for name in ["interface", "ip", "scope", "verdict"] {
            assert!(row[name].as_str().is_some_and(|text| !text.is_empty()), "`{name}` is a text: {row}");
        }
        assert!(row["prefix"].as_u64().is_some_and(|length| length <= 128), "`prefix` is a number: {row}");
        assert!(row["flags"].as_array().is_some_and(|all| all.iter().all(Value::is_string)), "`flags`: {row}");
        for name in ["valid", "preferred"] {
            assert!(row.get(name).is_some(), "`{name}` is there: {row}");
        }
    }
    for source in report["sources"].as_array().expect("a list") {
        assert!(["IPv4", "IPv6"].iter().any(|family| source["family"] == *family), "`family`: {source}");
        assert!(source["source"].is_string(), "`source`: {source}");
        assert!(source["why"].as_str().is_some_and(|why| !why.is_empty()), "`why` is always there: {source}");
        assert!(source["ms"].is_number(), "`ms`: {source}");
        assert!(source.get("ip").is_some_and(|ip| ip.is_null() || ip.is_string()), "`ip` or null: {source}");
    }
    for kind in ["A", "AAAA"] {
        let chosen = report["chosen"].get(kind).unwrap_or_else(|| panic!("`chosen.{kind}` is there: {report:#}"));
        let whole = ["ip", "source", "why"].iter().all(|name| chosen[name].is_string());
        assert!(chosen.is_null() || whole, "`chosen.{kind}`: {chosen}");
    }
}
