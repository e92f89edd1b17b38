//! Section C, substitution in a URL: no value may change its shape, and nothing that the user wrote is rewritten.

use serde_json::json;

use crate::support::given::{SOURCE, home, parameter, sent, with};
use crate::support::{Received, Receiver, Sandbox};

#[test]
fn c2_endpoint_is_never_substituted() {
    let receiver = Receiver::new();
    let base = receiver.url("/__IP__/base");
    let common = json!({"dns": "callback", "endpoint": base, "ipv4": "home.example.com", "index4": SOURCE});
    for (more, expected) in [
        (json!({"id": "hook?ip=__IP__"}), "/__IP__/base/hook?ip=203.0.113.7"),
        (json!({"id": "/__DOMAIN__"}), "/__IP__/base/home.example.com"),
        (json!({"token": {"ip": "__IP__"}}), "/__IP__/base"),
        (json!({"endpoint": receiver.url("/?d=__DOMAIN__"), "id": "?ip=__IP__"}), "/?d=__DOMAIN__&ip=203.0.113.7"),
    ] {
        Sandbox::new().sync(&with(&common, &more)).expect(0);
        let seen = receiver.take();
        let targets: Vec<_> = seen.iter().map(Received::target).collect();
        assert_eq!(targets, [expected], "with {more}");
    }
}

/// `http://__DOMAIN__/update` sends each host its own update.
#[test]
fn c1_a_placeholder_may_stand_in_the_host() {
    let receiver = Receiver::new();
    let id = format!("http://__LINE__:{}/x", receiver.port());
    Sandbox::new().sync(&with(&home(&id), &json!({"line": "127.0.0.1"}))).expect(0);
    let one = receiver.only();
    assert_eq!(one.target(), "/x");
    assert_eq!(one.header("host"), Some(format!("127.0.0.1:{}", receiver.port()).as_str()));
}

#[test]
fn c6_a_value_is_percent_encoded_where_it_stands() {
    for (line, encoded) in [
        ("a&b=c d/e%?#ü", "a%26b%3Dc%20d%2Fe%25%3F%23%C3%BC"),
        ("x&ip=198.51.100.66", "x%26ip%3D198.51.100.66"),
        ("1+1;2,3@4", "1%2B1%3B2%2C3%404"),
        ("%41%2F", "%2541%252F"),
        ("a\r\nX-Injected: 1", "a%0D%0AX-Injected:%201"),
        ("\"<>\\^`{|}'()!$[]\t", "%22%3C%3E%5C%5E%60%7B%7C%7D%27%28%29%21%24%5B%5D%09"),
        ("😀", "%F0%9F%98%80"),
        ("Az09-._~:*", "Az09-._~:*"),
        ("../../admin", "..%2F..%2Fadmin"),
    ] {
        let one = sent("/p/__LINE__/q?line=__LINE__&last=1", &json!({"line": line}));
        assert_eq!(one.target(), format!("/p/{encoded}/q?line={encoded}&last=1"), "line {line:?}");
        assert_eq!(one.header("x-injected"), None, "line {line:?}");
    }
}

#[test]
fn c6_a_value_cannot_add_a_parameter_or_end_the_query() {
    let one = sent("/?line=__LINE__&ip=__IP__", &json!({"line": "a&b=c d/e%?#ü"}));
    let names: Vec<_> = one.target()[2..].split('&').map(|pair| pair.split('=').next()).collect();
    assert_eq!(names, [Some("line"), Some("ip")], "{}", one.line);
    assert_eq!(parameter(one.target(), "ip"), "203.0.113.7");
}

#[test]
fn c6_ipv6_addresses_and_wildcards_stay_readable() {
    let receiver = Receiver::new();
    let config = json!({"dns": "callback", "id": receiver.url("/__DOMAIN__?ip=__IP__&d=__DOMAIN__"),
        "ipv6": ["*.example.com"], "index6": "shell:echo 2001:db8::1"});
    Sandbox::new().sync(&config).expect(0);
    assert_eq!(receiver.only().target(), "/*.example.com?ip=2001:db8::1&d=*.example.com");
}

#[test]
fn c6_a_unicode_domain_is_percent_encoded() {
    let one = sent("/__DOMAIN__", &json!({"ipv4": ["bücher.example"]}));
    assert_eq!(one.target(), "/b%C3%BCcher.example");
}

#[test]
fn c6_what_the_user_wrote_is_kept_byte_for_byte() {
    for written in [
        "/a%2Fb?x=%2F&y=%2f",
        "/+?plus=a+b&sum=1%2B1",
        "/?a=&b&c=&=d&&e",
        "/?empty=&ip=",
        "/a//b/./c/../d/",
        "/v=1;w=2,3/x:y@z?q=/?:@!$'()*,;-._~",
        "/UPPER/%41%7e",
        "/?q=1?2",
    ] {
        let one = sent(written, &json!({}));
        assert_eq!(one.target(), written);
        let mixed = sent(&format!("{written}__IP__"), &json!({}));
        assert_eq!(mixed.target(), format!("{written}203.0.113.7"), "beside a placeholder");
    }
}

#[test]
fn c6_what_no_url_may_hold_is_encoded() {
    for (written, expected) in [
        ("/two words?x=a b", "/two%20words?x=a%20b"),
        ("/pfad/ü?q=é__IP__", "/pfad/%C3%BC?q=%C3%A9203.0.113.7"),
        ("/日本", "/%E6%97%A5%E6%9C%AC"),
    ] {
        assert_eq!(sent(written, &json!({})).target(), expected, "id {written}");
    }
}
