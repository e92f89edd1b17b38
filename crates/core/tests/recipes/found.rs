//! What recipes make of records that are not as they expect: nothing of somebody else is changed or lost.

use ddns_core::callback::steps::{Found, Search, StepEnd};
use ddns_core::net::family::Family;
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;

use super::{NOW, config, table};

/// What the last step of a recipe makes of an answer: `-` already there, `0` nothing, `1` one record, or why it fails.
fn found(name: &str, answer: &str) -> String {
    let block = table().into_iter().find(|block| block.name == name).expect("a block");
    let config = config(&block, &block.recipe(), &[Family::V4]);
    let callback = &config.entries[0].callback;
    let domain = Domain::parse(&block.domain).expect("a domain");
    let update = Update { domain: &domain, family: Family::V4, ip: "203.0.113.7".parse().expect("an address") };
    let taken = vec![None; callback.taken_count()];
    let about = ((&update).into(), NOW.into(), &taken[..]);
    match callback.take_page(callback.steps().len() - 1, about, false, (200, answer), &mut Search::default()) {
        StepEnd::Found(Found::One { is_same: true, .. }) => "-".to_owned(),
        StepEnd::Found(Found::One { .. }) => "1".to_owned(),
        StepEnd::Found(Found::Nothing) => "0".to_owned(),
        StepEnd::Failed(why) => why,
        StepEnd::Next(page) => format!("page {page}"),
        StepEnd::Refused(_) => "refused".to_owned(),
    }
}

#[test]
fn h15_records_of_other_types_are_left_alone() {
    let entry = |kind: &str| format!(r#"{{".id": "*1", "name": "home.example.com", "address": "192.0.2.1"{kind}}}"#);
    for kind in ["AAAA", "CNAME", "FWD", "MX", "NS", "NXDOMAIN", "SRV", "TXT", "HTTPS"] {
        let other = entry(&format!(r#", "type": "{kind}""#));
        assert_eq!(found("routeros", &format!("[{other}]")), "0", "{kind}");
        assert_eq!(found("routeros", &format!("[{other}, {}]", entry(""))), "1", "{kind}");
    }
    assert_eq!(found("routeros", &format!("[{}]", entry(r#", "type": "A""#))), "1");
    let there = entry("").replace("192.0.2.1", "203.0.113.7");
    assert_eq!(found("routeros", &format!("[{}, {there}]", entry(r#", "type": "AAAA""#))), "-");
    for (kind, expected) in [("A/AAAA", "1"), ("CNAME", "0")] {
        let record = format!(
            r#"{{"RecordId": 1, "RecordName": "home.example.com", "RecordType": "{kind}", "Proxied": true, "Ttl": 60, "Data": {{"Value": "x"}}}}"#
        );
        assert_eq!(found("aliesa", &format!("{{\"Records\": [{record}]}}")), expected, "{kind}");
    }
}

#[test]
fn h17_a_set_with_several_values_is_not_replaced_in_any_order() {
    let huawei = r#"{"recordsets": [{"id": "r", "name": "home.example.com.", "type": "A", "line": "default_view", "records": [SET]}]}"#;
    let powerdns = r#"{"rrsets": [{"name": "home.example.com.", "type": "A", "ttl": 300, "records": [SET]}]}"#;
    let sets = [
        ("gandi", r#"{"rrset_values": [SET], "rrset_ttl": 300}"#, r#""IP""#),
        ("desec-api", r#"{"records": [SET]}"#, r#""IP""#),
        ("google-cloud-dns", r#"{"rrdatas": [SET]}"#, r#""IP""#),
        ("huaweidns", huawei, r#""IP""#),
        ("gcore", r#"{"ttl": 120, "resource_records": [SET]}"#, r#"{"id": 1, "content": ["IP"], "enabled": true}"#),
        (
            "hostinger",
            r#"[{"name": "home", "type": "A", "ttl": 300, "records": [SET]}]"#,
            r#"{"content": "IP", "is_disabled": false}"#,
        ),
        ("powerdns", powerdns, r#"{"content": "IP", "disabled": false, "modified_at": 0}"#),
    ];
    for (name, answer, value) in sets {
        let set = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|ip| value.replace("IP", ip)).collect();
            answer.replace("SET", &values.join(", "))
        };
        assert_eq!(found(name, &set(&["203.0.113.7"])), "-", "{name}");
        assert_eq!(found(name, &set(&["192.0.2.1"])), "1", "{name}");
        for values in [["203.0.113.7", "192.0.2.1"], ["192.0.2.1", "203.0.113.7"]] {
            let why = found(name, &set(&values));
            assert!(why.contains(&format!(" has 2 values: {}; ", values.join(", "))), "{name}: {why}");
        }
    }
}

#[test]
fn h17_a_record_that_is_switched_off_is_not_already_there() {
    let answers = [
        (
            "powerdns",
            r#"{"rrsets": [{"name": "home.example.com.", "type": "A", "ttl": 300, "records": [{"content": "203.0.113.7", "disabled": OFF}]}]}"#,
        ),
        (
            "technitium",
            r#"{"status": "ok", "response": {"records": [{"name": "home.example.com", "type": "A", "ttl": 300, "disabled": OFF, "rData": {"ipAddress": "203.0.113.7"}}]}}"#,
        ),
        (
            "ionos",
            r#"{"records": [{"id": "r4", "name": "home.example.com", "type": "A", "content": "203.0.113.7", "ttl": 300, "disabled": OFF}]}"#,
        ),
        ("gcore", r#"{"ttl": 120, "resource_records": [{"id": 1, "content": ["203.0.113.7"], "enabled": ON}]}"#),
    ];
    for (name, answer) in answers {
        assert_eq!(found(name, &answer.replace("OFF", "false").replace("ON", "true")), "-", "{name}");
        assert_eq!(found(name, &answer.replace("OFF", "true").replace("ON", "false")), "1", "{name}");
    }
}

#[test]
fn h17_where_a_post_would_make_a_second_record_one_with_the_address_is_enough() {
    let record = |name: &str, value: &str| match name {
        "netlify" => format!(
            r#"{{"id": "{value}", "hostname": "home.example.com", "type": "A", "value": "{value}", "ttl": 300}}"#
        ),
        "spaceship" => format!(r#"{{"type": "A", "name": "home", "address": "{value}", "ttl": 300}}"#),
        _ => format!(r#"{{"record": "home.example.com", "type": "A", "value": "{value}"}}"#),
    };
    for name in ["netlify", "spaceship", "dreamhost"] {
        let list = |values: &[&str]| {
            let records: Vec<String> = values.iter().map(|value| record(name, value)).collect();
            let records = format!("[{}]", records.join(", "));
            found(
                name,
                &match name {
                    "netlify" => records,
                    "spaceship" => format!("{{\"items\": {records}, \"total\": {}}}", values.len()),
                    _ => format!("{{\"result\": \"success\", \"data\": {records}}}"),
                },
            )
        };
        assert_eq!(list(&[]), "0", "{name}");
        assert_eq!(list(&["192.0.2.1"]), "1", "{name}");
        assert_eq!(list(&["203.0.113.7"]), "-", "{name}");
        // The others can be repeated, and the old record goes then (H19).
        let both = if name == "netlify" { "-" } else { "1" };
        for there in [["192.0.2.1", "203.0.113.7"], ["203.0.113.7", "192.0.2.1"]] {
            assert_eq!(list(&there), both, "{name}: {there:?}");
        }
        assert!(list(&["192.0.2.1", "192.0.2.2"]).starts_with("2 entries match: "), "{name}");
    }
}

#[test]
fn h15_an_error_message_is_no_empty_list() {
    for name in ["hostinger", "luadns", "netlify", "routeros", "cloudns-api"] {
        for error in [r#"{"error": "out of order"}"#, r#"{"error": {"message": "out of order"}}"#] {
            let why = found(name, error);
            assert_eq!(why, format!("the response is not a list of entries: `{error}`"), "{name}");
        }
        assert_eq!(found(name, "[]"), "0", "{name}");
    }
    let records = r#"{"records": [{"id": 5, "type": "A", "fqdn": "home.example.com.", "answer": "192.0.2.1", "ttl": 300}], "nextPage": PAGE}"#;
    assert_eq!(found("name-com", &records.replace("PAGE", "0")), "1");
    assert_eq!(found("name-com", &records.replace("PAGE", "2")), "page 2");
}

#[test]
fn h15_entries_that_match_are_named_so_that_they_can_be_told_apart() {
    let cases = [
        (
            "hetzner-cloud",
            r#"{"rrset": {"records": [{"value": "192.0.2.1"}, {"value": "192.0.2.2"}]}}"#,
            "192.0.2.1, 192.0.2.2",
        ),
        ("ns1", r#"{"answers": [{"answer": ["192.0.2.1"]}, {"answer": ["192.0.2.2"]}]}"#, "192.0.2.1, 192.0.2.2"),
        (
            "technitium",
            r#"{"status": "ok", "response": {"records": [{"name": "home.example.com", "type": "A", "ttl": 1234, "rData": {"ipAddress": "192.0.2.1"}}, {"name": "home.example.com", "type": "A", "ttl": 1234, "rData": {"ipAddress": "192.0.2.2"}}]}}"#,
            "192.0.2.1, 192.0.2.2",
        ),
        (
            "luadns",
            r#"[{"id": 4, "name": "home.example.com.", "type": "A", "content": "192.0.2.1", "ttl": 1}, {"id": 5, "name": "home.example.com.", "type": "A", "content": "192.0.2.2", "ttl": 1}]"#,
            "id 4 (192.0.2.1), id 5 (192.0.2.2)",
        ),
        (
            "spaceship",
            r#"{"total": 2, "items": [{"type": "A", "name": "home", "address": "192.0.2.1", "ttl": 1}, {"type": "A", "name": "home", "address": "192.0.2.2", "ttl": 1}]}"#,
            "address 192.0.2.1, address 192.0.2.2",
        ),
    ];
    for (name, answer, named) in cases {
        let why = found(name, answer);
        assert!(why.starts_with(&format!("2 entries match: {named}; ")), "{name}: {why}");
    }
}
