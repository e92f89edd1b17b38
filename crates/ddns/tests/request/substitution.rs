//! Section C, substitution: which placeholders there are, how often, where not, and what a body makes of them.
//! What a URL makes of them stands in `request/url.rs`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::given::{both_forms, home, parameter, sent, sent_body, with};
use crate::support::{Receiver, Sandbox};

const EVERY: &str = "/u?d=__DOMAIN__&ip=__IP__&type=__RECORDTYPE__&ttl=__TTL__&line=__LINE__&ts=__TIMESTAMP__";

/// Fails the test unless `text` is a time of this minute in seconds, with a fractional part.
#[track_caller]
fn assert_timestamp(text: &str) {
    let (whole, fraction) = text.split_once('.').unwrap_or_else(|| panic!("{text:?} has no fractional part"));
    assert!(!fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit()), "{text:?}");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970").as_secs();
    let age = now.checked_sub(whole.parse().unwrap_or_else(|_| panic!("{text:?} is no number of seconds")));
    assert!(age.is_some_and(|age| age < 60), "{text:?} is not the present time, which is {now}");
}

/// A body without the blanks between its tokens (no test here has one inside a string).
fn compact(text: &str) -> String {
    text.split_whitespace().collect()
}

#[test]
fn c1_every_placeholder_is_replaced_in_the_url() {
    let target = sent(EVERY, &json!({"ttl": 600, "line": "office"})).target().to_owned();
    let start = "/u?d=home.example.com&ip=203.0.113.7&type=A&ttl=600&line=office&ts=";
    assert!(target.starts_with(start), "{target}");
    assert_timestamp(parameter(&target, "ts"));
}

#[test]
fn c1_every_placeholder_is_replaced_in_both_forms_of_the_token() {
    let document = r#"{"d": "__DOMAIN__", "ip": "__IP__", "type": "__RECORDTYPE__", "ttl": "__TTL__",
        "line": "__LINE__", "ts": "__TIMESTAMP__"}"#;
    for token in [document.replace('\n', " "), Value::from(document).to_string()] {
        let mut body = sent_body(&token, r#", "ttl": 600, "line": "office""#).json();
        let time = body["ts"].take();
        assert_timestamp(time.as_str().expect("a quoted placeholder is part of a string"));
        let expected = json!({"d": "home.example.com", "ip": "203.0.113.7", "type": "A", "ttl": "600",
            "line": "office", "ts": null});
        assert_eq!(body, expected, "token {token}");
    }
}

#[test]
fn c1_ipv4_sends_a_and_ipv6_sends_aaaa_and_nothing_else_is_sent() {
    let receiver = Receiver::new();
    let id = receiver.url("/__DOMAIN__/__RECORDTYPE__/__IP__");
    let both = json!({"ipv6": ["home.example.com"], "index6": "shell:echo 2001:db8::7"});
    Sandbox::new().sync(&with(&home(&id), &both)).expect(0);
    let mut targets: Vec<_> = receiver.callbacks().iter().map(|one| one.target().to_owned()).collect();
    targets.sort();
    assert_eq!(targets, ["/home.example.com/A/203.0.113.7", "/home.example.com/AAAA/2001:db8::7"]);
}

#[test]
fn c1_placeholders_are_replaced_as_often_as_they_stand_there() {
    for (written, expected) in [
        ("__IP__", "203.0.113.7"),
        ("__IP__,__IP__,__IP__", "203.0.113.7,203.0.113.7,203.0.113.7"),
        ("__IP____IP__", "203.0.113.7203.0.113.7"),
        ("__IP____DOMAIN____RECORDTYPE__", "203.0.113.7home.example.comA"),
        ("a__IP__b", "a203.0.113.7b"),
        ("_-__IP__-_", "_-203.0.113.7-_"),
        ("__ __IP__ __", "__ 203.0.113.7 __"),
    ] {
        for token in both_forms(&json!({"value": written, "again": [written]}).to_string()) {
            let body = sent_body(&token, "").json();
            assert_eq!(body, json!({"value": expected, "again": [expected]}), "token {token}");
        }
        if !written.contains(' ') {
            let target = sent(&format!("/{written}?q={written}"), &json!({})).target().to_owned();
            assert_eq!(target, format!("/{expected}?q={expected}"), "in the URL");
        }
    }
}

#[test]
fn c2_keys_of_the_token_are_not_substituted() {
    for token in both_forms(r#"{"__IP__": "__IP__", "in": [{"__DOMAIN__": "__DOMAIN__"}]}"#) {
        let body = sent_body(&token, "").json();
        let expected = json!({"__IP__": "203.0.113.7", "in": [{"__DOMAIN__": "home.example.com"}]});
        assert_eq!(body, expected, "token {token}");
    }
}

#[test]
fn c3_values_in_nested_objects_and_arrays_are_substituted_in_both_forms() {
    let document = r#"{"a": {"b": [{"c": ["x", ["__IP__", {"d": "for __DOMAIN__"}]]}]}, "e": ["__RECORDTYPE__"]}"#;
    for token in both_forms(document) {
        let body = sent_body(&token, "").json();
        let nested = json!({"b": [{"c": ["x", ["203.0.113.7", {"d": "for home.example.com"}]]}]});
        assert_eq!(body, json!({"a": nested, "e": ["A"]}), "token {token}");
    }
}

#[test]
fn c3_a_string_token_may_be_an_array() {
    let token = Value::from(r#"["__IP__", {"d": "__DOMAIN__"}, 1]"#).to_string();
    assert_eq!(sent_body(&token, "").json(), json!(["203.0.113.7", {"d": "home.example.com"}, 1]));
}

#[test]
fn c3_c8_numbers_booleans_null_and_the_order_of_keys_pass_through_untouched() {
    let document = concat!(
        r#"{"z":1e400,"y":1.10,"x":12345678901234567890,"w":0.1000000000000000055511151231257827,"v":-0.0,"#,
        r#""u":100000000000000000000000000000000000001,"t":1E-7,"s":true,"r":false,"q":null,"#,
        r#""p":{"b":[3,2,1],"a":{},"c":[]},"zz":"","A":"first by ASCII"}"#,
    );
    for token in both_forms(document) {
        assert_eq!(compact(sent_body(&token, "").text()), compact(document), "token {token}");
    }
}

#[test]
fn c4_a_value_that_was_put_in_is_never_searched_again() {
    let fields = json!({"line": "__IP__", "extra": {"__NOTE__": "__DOMAIN____LINE__"}});
    let target = sent("/?line=__LINE__&note=__NOTE__", &fields).target().to_owned();
    assert_eq!(target, "/?line=__IP__&note=__DOMAIN____LINE__");

    let more = r#", "line": "__IP__", "extra": {"__NOTE__": "__DOMAIN____LINE__"}"#;
    for token in both_forms(r#"{"line": "__LINE__", "note": ["__NOTE__"]}"#) {
        let body = sent_body(&token, more).json();
        assert_eq!(body, json!({"line": "__IP__", "note": ["__DOMAIN____LINE__"]}), "token {token}");
    }
    let bare = sent_body(r#""{\"line\": __LINE__, \"note\": __NOTE__}""#, more).json();
    assert_eq!(bare, json!({"line": "__IP__", "note": "__DOMAIN____LINE__"}));
}

/// A template that kept the first domain's values would send them for the second.
#[test]
fn c4_the_template_is_not_changed_by_an_update() {
    for token in both_forms(r#"{"d": ["__DOMAIN__"]}"#) {
        let receiver = Receiver::new();
        let token: Value = serde_json::from_str(&token).expect("both forms are JSON");
        let more = json!({"ipv4": ["a.example.com", "b.example.com", "c.example.com"], "token": token});
        Sandbox::new().sync(&with(&home(&receiver.url("/__DOMAIN__")), &more)).expect(0);
        let mut seen: Vec<_> = receiver.callbacks().iter().map(|one| (one.target().to_owned(), one.json())).collect();
        seen.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = ["a", "b", "c"].map(|name| format!("{name}.example.com"));
        let expected = expected.map(|name| (format!("/{name}"), json!({"d": [name]})));
        assert_eq!(seen, expected);
    }
}

#[test]
fn c4_an_unknown_placeholder_stays_and_is_warned_about_once() {
    let receiver = Receiver::new();
    let more = json!({"ipv4": ["a.example.com", "b.example.com"], "token": {"x": "__NOPE__", "ip": "__IP__"}});
    let run = Sandbox::new().sync(&with(&home(&receiver.url("/?x=__NOPE__&y=__NOPE__&d=__DOMAIN__")), &more)).expect(0);
    let seen = receiver.callbacks();
    assert_eq!(seen.len(), 2, "both updates are sent");
    for one in seen {
        assert!(one.target().starts_with("/?x=__NOPE__&y=__NOPE__&d="), "{}", one.line);
        assert_eq!(one.json(), json!({"x": "__NOPE__", "ip": "203.0.113.7"}));
    }
    let warned = |line: &&str| line.contains("__NOPE__") && line.to_lowercase().contains("warning");
    assert_eq!(run.stderr.lines().filter(warned).count(), 1, "one warning:\n{}", run.stderr);
}

#[test]
fn c4_names_are_case_sensitive() {
    let one = sent("/__ip__?d=__Domain__&ip=__IP__", &json!({"token": {"ip": "__Ip__"}}));
    assert_eq!(one.target(), "/__ip__?d=__Domain__&ip=203.0.113.7");
    assert_eq!(one.json(), json!({"ip": "__Ip__"}));
}

#[test]
fn c5_unset_ttl_and_line_are_the_empty_text() {
    assert_eq!(sent("/?ttl=__TTL__&line=__LINE__&x=1", &json!({})).target(), "/?ttl=&line=&x=1");
    for token in both_forms(r#"{"ttl": "__TTL__", "line": "<__LINE__>"}"#) {
        assert_eq!(sent_body(&token, "").json(), json!({"ttl": "", "line": "<>"}), "token {token}");
    }
}

#[test]
fn c7_a_value_is_escaped_by_the_json_writer() {
    let line = "q\"},\\u0041 \\ {\"admin\": true, [\n\t\u{1}ü😀'";
    let more = format!(r#", "line": {}"#, Value::from(line));
    for document in [r#"{"line": "__LINE__"}"#, r#"{"line": __LINE__}"#] {
        for token in both_forms(document).into_iter().filter(|token| serde_json::from_str::<Value>(token).is_ok()) {
            assert_eq!(sent_body(&token, &more).json(), json!({"line": line}), "token {token}");
        }
    }
}

#[test]
fn c7_a_placeholder_outside_quotes_becomes_a_bare_value() {
    let set = r#", "ttl": 600, "line": "office""#;
    for (document, more, expected) in [
        (r#"{"ttl": __TTL__}"#, set, r#"{"ttl":600}"#),
        (r#"{"ttl": __TTL__}"#, r#", "ttl": "600""#, r#"{"ttl":600}"#),
        (r#"{"ttl": __TTL__, "line": __LINE__}"#, "", r#"{"ttl":null,"line":null}"#),
        (r#"{"ip":__IP__,"line":__LINE__}"#, set, r#"{"ip":"203.0.113.7","line":"office"}"#),
        (r"[__IP__, [__TTL__,__DOMAIN__ ], __RECORDTYPE__]", set, r#"["203.0.113.7",[600,"home.example.com"],"A"]"#),
        (r#"{"both": "__TTL__", "ttl": __TTL__}"#, set, r#"{"both":"600","ttl":600}"#),
        (r#"{"a": "\"__IP__\"", "ttl": __TTL__}"#, set, r#"{"a":"\"203.0.113.7\"","ttl":600}"#),
        (r#"{"a": "\\", "ttl": __TTL__, "b": "__IP__"}"#, set, r#"{"a":"\\","ttl":600,"b":"203.0.113.7"}"#),
    ] {
        let body = sent_body(&Value::from(document).to_string(), more);
        assert_eq!(compact(body.text()), expected, "token {document} with{more}");
    }
}

#[test]
fn c7_a_bare_timestamp_is_a_number() {
    let body = sent_body(r#""{\"ts\": __TIMESTAMP__}""#, "");
    let text = compact(body.text());
    let number = text.strip_prefix(r#"{"ts":"#).and_then(|rest| rest.strip_suffix('}'));
    assert_timestamp(number.unwrap_or_else(|| panic!("{text} is not one bare value")));
}

/// An endpoint that signs or deduplicates by time compares the two.
#[test]
fn c9_the_time_is_read_once_per_request() {
    let one =
        sent("/__TIMESTAMP__?ts=__TIMESTAMP__", &json!({"token": {"a": "__TIMESTAMP__", "b": ["__TIMESTAMP__"]}}));
    let time = parameter(one.target(), "ts");
    assert_timestamp(time);
    assert_eq!(one.target(), format!("/{time}?ts={time}"));
    assert_eq!(one.json(), json!({"a": time, "b": [time]}));
}

#[test]
fn c10_ipv6_is_sent_in_canonical_text() {
    for (printed, expected) in [
        ("2001:DB8:0:0::7", "2001:db8::7"),
        ("2001:0db8:0000:0000:0001:0000:0000:0001", "2001:db8::1:0:0:1"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("2001:db8:0:0:1:0:0:0", "2001:db8:0:0:1::"),
    ] {
        let receiver = Receiver::new();
        let config = json!({"dns": "callback", "id": receiver.url("/__IP__?ip=__IP__"), "token": {"ip": "__IP__"},
            "ipv6": ["home.example.com"], "index6": [format!("shell:echo {printed}")]});
        Sandbox::new().sync(&config).expect(0);
        let one = receiver.only();
        assert_eq!(one.target(), format!("/{expected}?ip={expected}"), "source printed {printed}");
        assert_eq!(one.json(), json!({"ip": expected}), "source printed {printed}");
    }
}

#[test]
fn c_extra_variables_are_placeholders_in_id_and_token() {
    let extra = json!({"extra": {"__HOST__": "nas one", "plain": "never", "__X": "never"}, "token": {
        "host": "__HOST__", "again": ["<__HOST__>"], "plain": "plain __X"}});
    let one = sent("/__HOST__?h=__HOST__&plain=plain", &extra);
    assert_eq!(one.target(), "/nas%20one?h=nas%20one&plain=plain");
    assert_eq!(one.json(), json!({"host": "nas one", "again": ["<nas one>"], "plain": "plain __X"}));
    let bare = sent_body(r#""{\"host\": __HOST__}""#, r#", "extra": {"__HOST__": "nas"}"#);
    assert_eq!(bare.json(), json!({"host": "nas"}));
}
