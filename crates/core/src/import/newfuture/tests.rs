//! Tests importing files of NewFuture/DDNS.

use crate::import::tests::{extra, notes, read, shown, try_read, written};
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
    let minutes = read(
        PeerClient::NewFuture,
        r#"{"dns": "he", "token": "k", "ipv4": "h.example", "interval": 10, "cache_max_age": 0}"#,
    );
    assert_eq!(minutes.settings, [("interval".to_owned(), Value::string("10m"))]);
    assert_eq!(written(&minutes)[0].1.member("cache_max_age"), Some(&Value::Number("0".to_owned())));
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

/// That client takes a placeholder beside the fields, and in a variable of its own.
#[test]
fn l8_values_of_placeholders_go_into_extra() {
    let hook = r#""dns": "callback", "id": "https://h.example/__IP__?f=__FOO__&b=__BAR__", "ipv4": "a.example""#;
    let python = hook.replace('"', "'");
    let cases = [
        format!("{{{hook},\n\"__FOO__\": \"v1\", \"extra\": {{\"__BAR__\": \"v2\"}}}}"),
        format!("{{{hook},\n\"__FOO__\": \"v1\", \"__BAR__\": \"v2\"}}"),
        format!("{{{python},\n'__FOO__': 'v1', '__BAR__': 'v2', 'token': None}}"),
        "DDNS_DNS=callback\nDDNS_ID=https://h.example/__IP__?f=__FOO__&b=__BAR__\nDDNS_IPV4=a.example\nDDNS_EXTRA___FOO__=v1\n\
         DDNS_EXTRA___BAR__=v2\n"
            .to_owned(),
    ];
    for text in cases {
        let import = read(PeerClient::NewFuture, &text);
        let all = written(&import);
        assert_eq!((extra(&all[0].1, "__FOO__"), extra(&all[0].1, "__BAR__")), ("v1", "v2"), "{text}");
        assert!(notes(&import, NotePart::Dropped).is_empty(), "{:?}", import.notes);
        let is_beside = !text.contains("DDNS_");
        assert_eq!(
            notes(&import, NotePart::Changed).contains(&"2 __FOO__".to_owned()),
            is_beside,
            "{:?}",
            import.notes
        );
    }
}

/// That client fills in placeholders of any form, also inside values; `extra_` and a name comes before `extra`.
#[test]
fn l8_l14_values_of_placeholders_that_ddns_does_not_know_are_named() {
    let text = "{\"dns\": \"callback\", \"id\": \"https://h.example/__IP__?f=__FOO__\", \"ipv4\": [\"'a.example'\"],\n\
                \"extra\": {\"__FOO__\": \"lost\", \"KEY\": \"k\",\n\"__BAR__\": \"x-__DOMAIN__\"},\n\"extra___FOO__\": \"v1\"}";
    let import = read(PeerClient::NewFuture, text);
    let all = written(&import);
    assert_eq!((extra(&all[0].1, "__FOO__"), extra(&all[0].1, "__BAR__")), ("v1", "x-__DOMAIN__"));
    assert_eq!(shown(&import), ["- a.example:A"]);
    assert_eq!(notes(&import, NotePart::Dropped), ["2 KEY"]);
    assert_eq!(notes(&import, NotePart::Changed), ["3 __BAR__", "4 extra___FOO__"]);
}

#[test]
fn l14_variables_have_their_lines_and_others_are_named() {
    let text = "TZ=UTC\nDDNS_DNS=cloudflare\nDDNS_TOKEN=t\nDDNS_IPV4=a.example.org\nDDNS_TTL=60\nPYTHONHTTPSVERIFY=0\n\
                TOKEN=other\nDDNS_PROXY=\n";
    let import = read(PeerClient::NewFuture, text);
    assert_eq!(shown(&import), ["cloudflare a.example.org:A"]);
    assert_eq!(extra(&written(&import)[0].1, "__TOKEN__"), "t");
    assert_eq!(notes(&import, NotePart::Dropped), ["1 TZ", "5 ttl", "6 PYTHONHTTPSVERIFY", "7 TOKEN"]);
    assert_eq!(import.entries[0].line, 2);
}

#[test]
fn l13_half_a_file_is_an_error_with_its_place() {
    for (text, line, column) in [
        ("{\n  \"dns\": \"he\",\n  \"token\" \"s3cret\"\n}", 3, 11),
        ("{\n  'dns': 'he',\n  'token' 's3cret'\n}", 3, 11),
        ("{\n  'dns': 'he', 'debug': True\n  'token': 's3cret'\n}", 3, 3),
    ] {
        let error = try_read(PeerClient::NewFuture, text).expect_err(text);
        assert_eq!(error.line, line, "{}", error.message);
        assert!(
            error.message.contains(&format!("in column {column}: ")) && !error.message.contains("s3cret"),
            "{}",
            error.message
        );
    }
}
