//! A value that is put into a request: it stays in its place in the address, in a header and in every format of a body, and
//! nothing that may be seen depends on it.
#![no_main]

use ddns_core::address::observation::{Choice, Observed};
use ddns_core::address::source::Source;
use ddns_core::callback::{SendableBatch, Request, Timestamp};
use ddns_core::config::Entry;
use ddns_core::net::family::Family;
use ddns_core::text::json::{Dialect, Value, parse, pretty};
use ddns_fuzz::configuration;
use libfuzzer_sys::fuzz_target;

const NOW: Timestamp = Timestamp { seconds: 1_763_170_000, micros: 42 };

const JSON: &str = r#""token":"{\"in\":\"<__V__>\",\"bare\":__V__,\"end\":1}""#;
const FORM: &str = r#""format":"form","token":{"a":"<__V__>","end":"1"}"#;
const FORM_TEXT: &str = r#""format":"form","token":"a=%3C__V__%3E&end=1""#;
const TEXT: &str = r#""format":"text","token":"<__V__>""#;

fuzz_target!(|value: &str| {
    for format in [JSON, FORM, FORM_TEXT, TEXT] {
        let (entry, other) = (entry(format, value), entry(format, "x"));
        let has_control = value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t');
        let Some(request) = rendered(&entry) else {
            assert!(has_control, "{value:?} can be sent");
            continue;
        };
        assert!(!has_control);
        assert_eq!(seen(&entry), seen(&other));
        let url = &request.url;
        assert_eq!(['/', '?', '&', '=', '#'].map(|mark| url.path.matches(mark).count()), [3, 1, 1, 2, 0], "{}", url.path);
        assert!(url.path.starts_with("/p/%3C") && url.path.ends_with("&end=1"), "{}", url.path);
        assert!(url.path.bytes().all(|byte| byte.is_ascii_graphic()), "{}", url.path);
        assert_eq!(url.host, "h.example");
        assert_eq!(request.headers, [("X-Key".to_owned(), format!("<{value}>"))]);
        check_body(format, &request.body.expect("a body"), value);
    }
});

fn entry(format: &str, value: &str) -> Entry {
    let text = format!(
        r#"{{"dns":"callback","ipv4":"a.example","id":"https://h.example/p/%3C__V__/q?v=__V__&end=1",
            "headers":{{"X-Key":"<__V__>"}},"extra":{{"__V__":{}}},{format}}}"#,
        pretty(&Value::string(value))
    );
    configuration(&text).expect("a configuration").entries.remove(0)
}

fn rendered(entry: &Entry) -> Option<Request> {
    entry.callback.render(&parcel(entry), NOW).ok()
}

fn seen(entry: &Entry) -> Result<Vec<String>, String> {
    entry.callback.redacted(parcel(entry).batch(), NOW, "agent", false).map(|request| request.lines())
}

fn parcel(entry: &Entry) -> SendableBatch<'_> {
    let choice = Choice { ip: Family::V4.documentation(), why: String::new() };
    let found = Observed::by(&Source::Default, &choice);
    SendableBatch::of([entry.sendable(&entry.domains_of(Family::V4)[0], Family::V4, found)]).expect("an update")
}

fn check_body(format: &str, body: &str, value: &str) {
    match format {
        JSON => {
            let document = parse(body, Dialect::STRICT).expect("JSON").value;
            let texts: Vec<&str> = document.members().expect("an object").iter().filter_map(|it| it.node.value.text()).collect();
            assert_eq!(texts, [format!("<{value}>").as_str(), value]);
        }
        TEXT => assert_eq!(body, format!("<{value}>")),
        _ => {
            let pairs: Vec<(&str, &str)> = body.split('&').map(|pair| pair.split_once('=').expect("a pair")).collect();
            assert_eq!((pairs.len(), pairs[0].0, pairs[1]), (2, "a", ("end", "1")), "{body:?}");
            assert!(body.bytes().all(|byte| byte.is_ascii_graphic()) && body.matches('=').count() == 2, "{body:?}");
        }
    }
}
