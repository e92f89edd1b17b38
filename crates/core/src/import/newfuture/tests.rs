//! Tests importing files of NewFuture/DDNS.

use crate::import::tests::{notes, read, shown};
use crate::import::{NotePart, PeerClient};
use crate::text::json::Value;

#[test]
fn l8_newfuture_entries_of_any_provider() {
    let cases = [
        (
            r#"{"dns": "HE", "token": "k", "ipv4": "a.example.org,b.example.org", "index4": "url:https://x.example/?a,b"}"#,
            "he-net a.example.org:A b.example.org:A url:https://x.example/?a,b",
        ),
        (
            r#"{"dns": "tencentcloud", "id": "AKIDxxxxxxxx", "token": "s", "ipv6": ["w~example.org"], "index6": ["regex:2001.*", "public"]}"#,
            "tencentcloud w.example.org:AAAA regex:2001.*,public",
        ),
        (
            "{'dns': 'namesilo', 'token': 'k\\'x', 'ipv4': ('a.example.org',), 'index4': 0, 'debug': True, # c\n}",
            "namesilo a.example.org:A 0",
        ),
        (
            "DDNS_DNS=cloudflare\nDDNS_TOKEN=t\nDDNS_IPV4=[\"a.example.org\", \"b.example.org\"]\nDDNS_CRON=*/9 * * * *\n",
            "cloudflare a.example.org:A b.example.org:A",
        ),
        (
            r#"{"dns": "webhook", "id": "https://h.example/?i=__IP__", "token": {"a": "__DOMAIN__"}, "ipv4": ["a.example.org"], "ipv6": ["a.example.org"], "index6": false}"#,
            "- a.example.org:A",
        ),
        (
            r#"{"providers": [{"provider": "callback", "id": "https://h.example/?d=__DOMAIN__", "ipv4": ["b+example.org"]}]}"#,
            "- b+example.org:A",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(shown(&read(PeerClient::NewFuture, text)), [expected], "{text}");
    }
    let two = read(
        PeerClient::NewFuture,
        r#"{"ssl": false, "log": {"level": "DEBUG"}, "providers": [
            {"provider": "alidns", "id": "LTAIxxxxxx", "token": "s", "ipv4": ["a+example.org"], "ttl": 60},
            {"provider": "cloudflare", "id": "me@example.org", "token": "k", "ipv4": ["b.example.org"]}]}"#,
    );
    assert_eq!(shown(&two), ["alidns a.example.org:A"]);
    assert_eq!(notes(&two, NotePart::LeftOut), ["3 cloudflare (b.example.org)"]);
    assert_eq!(notes(&two, NotePart::Dropped), ["2 ttl"]);
    let text = two.document(&[0], None, "x").expect("a configuration").text;
    assert!(text.contains("\"ssl\": false") && text.contains("\"level\": \"DEBUG\""), "{text}");
    let cron = read(
        PeerClient::NewFuture,
        "DDNS_DNS=cloudflare\nDDNS_TOKEN=t\nDDNS_IPV4=a.example.org\nDDNS_CRON=*/9 * * * *\n",
    );
    assert_eq!(cron.settings, [("interval".to_owned(), Value::string("9m"))]);
}

#[test]
fn l8_a_source_keeps_its_last_letter() {
    for source in ["shell:ip route get 8.8.8.8 | awk '{print $7}'", "regex:2409:.*[0-9a-f]"] {
        let text = format!(
            r#"{{"dns": "callback", "id": "https://h.example/__IP__", "ipv4": ["a.example"], "index4": ["{source}"]}}"#
        );
        let import = read(PeerClient::NewFuture, &text);
        assert_eq!(import.entries.len(), 1, "{source}");
        let text = import.document(&[0], None, "file").expect("a configuration").text;
        assert!(text.contains(source), "{source}: {text}");
    }
}
