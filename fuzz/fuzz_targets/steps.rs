//! The answer to a step: a status on the first line, then its body.
#![no_main]

use ddns_core::callback::Timestamp;
use ddns_core::callback::steps::{Found, Search, StepEnd};
use ddns_core::net::family::Family;
use ddns_core::text::json::Value;
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_fuzz::configuration;
use libfuzzer_sys::fuzz_target;

const CONFIGURATION: &str = r#"{"dns":"callback","ipv4":"a.example","id":"https://h.example/__ID__","before":{"id":"/find",
    "in":"/list","where":{"/name":"__DOMAIN__"},"not":{"/old":true},"same":{"/ip":"__IP__","/ips":["__IP__"]},
    "total":"/total","next":{"at":"/next","as":"page"},"take":{"/id":"__ID__","/ttl":"__TTL__"},
    "expect":{"none":{"status":404},"reject":{"json":{"/error":"__DOMAIN__"}}}},"absent":{"id":"/new"}}"#;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (status, body) = text.split_once('\n').unwrap_or(("200", &text));
    let status = status.parse().unwrap_or(200);
    let Some(config) = configuration(CONFIGURATION) else { panic!("it is valid") };
    let callback = &config.entries[0].callback;
    let domain = Domain::parse("a.example").expect("a domain");
    let update = Update { domain: &domain, family: Family::V4, ip: Family::V4.documentation() };
    let taken = vec![None; callback.taken_count()];
    let about = ((&update).into(), Timestamp { seconds: 1, micros: 0 }.into(), &taken[..]);
    let mut search = Search::default();
    // The same page again and again ends, too.
    for page in 0..30 {
        match callback.take_page(0, about, false, (status, body), &mut search) {
            StepEnd::Next(next) => assert!(page < 20 && !next.is_empty()),
            StepEnd::Found(Found::One { values, .. }) => {
                for (_, value) in values {
                    let (Value::String(text) | Value::Number(text)) = value else { continue };
                    assert!(!text.is_empty() && text.len() <= 1024 && !text.chars().any(char::is_control));
                }
                return;
            }
            StepEnd::Failed(why) => {
                assert!(!why.is_empty());
                return;
            }
            StepEnd::Found(Found::Nothing) | StepEnd::Refused(_) => return,
        }
    }
    panic!("it does not end");
});
