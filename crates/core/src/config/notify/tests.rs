//! Tables for `notify` (I5).

use std::rc::Rc;

use super::super::lint::lint;
use super::super::listing::listing;
use super::super::raw::{Document, FileLayers, read};
use super::super::validate::{Valid, validate};
use super::*;
use crate::callback::{Notice, Timestamp};
use crate::net::proxy::Proxies;
use crate::net::ssl::Ssl;
use crate::text::diagnostic::Diagnostic;

const GROUP: &str = r#""group": {"store": "etcd://10.0.0.1", "name": "home"}"#;

const NOW: Timestamp = Timestamp { seconds: 1_763_170_000, micros: 42 };

fn written(rest: &str) -> FileLayers {
    let text = format!(r#"{{"dns":"callback","id":"https://h.example/__IP__","ipv4":"a.example",{rest}}}"#);
    read(&Rc::new(Document { name: "c.json".to_owned(), text, fetched: false })).expect("JSON")
}

fn checked(rest: &str) -> Result<Valid, Vec<Diagnostic>> {
    validate("c.json", Some(written(rest)), &Surroundings::default())
}

fn notifications(rest: &str) -> Vec<Notification> {
    checked(rest).unwrap_or_else(|wrong| panic!("{rest}: {wrong:?}")).0.notify
}

/// Everything that is said about a configuration, without its places.
fn said(rest: &str) -> Vec<String> {
    let around = Surroundings::default();
    let all = match checked(rest) {
        Err(wrong) => wrong,
        Ok((config, mut warnings)) => {
            warnings.extend(lint(&config, Some(&written(rest)), &around));
            warnings
        }
    };
    all.iter().map(|one| one.message.clone()).collect()
}

#[test]
fn i5_one_notification_or_a_list_of_them() {
    let one = notifications(r#""notify": {"id": "https://n.example/?m=__MESSAGE__"}"#);
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].on, one[0].after, one[0].timeout), (NotifyEvents::DEFAULT, 3, Duration::from_secs(30)));
    let two = notifications(
        r#""notify": [{"id": "https://n.example/__EVENT__", "on": "failed", "after": 5, "timeout": 2.5},
                      {"endpoint": "https://n.example", "token": {"m": "__MESSAGE__"}, "on": ["changed", "STOPPED"]}]"#,
    );
    let sets = [
        NotifyEvents::NONE.with(NotifyEvent::Failed),
        NotifyEvents::NONE.with(NotifyEvent::Changed).with(NotifyEvent::Stopped),
    ];
    assert_eq!([two[0].on, two[1].on], sets);
    assert_eq!((two[0].after, two[1].after), (5, 3));
    assert_eq!(two[0].timeout, Duration::from_millis(2500));
    assert!(notifications(r#""notify": []"#).is_empty() && notifications(r#""notify": null"#).is_empty());
}

#[test]
fn i5_it_inherits_proxy_ssl_and_timeout_alone() {
    let own = r#""notify": {"id": "https://n.example/__MESSAGE__"}"#;
    let common = r#""proxy": "http://p.example:3128", "ssl": true, "timeout": 7, "token": {"ip": "__IP__"}, "headers": {"X-Key": "k"},
        "method": "PUT", "format": "form", "extra": {"__MESSAGE__": "x"}, "ttl": 5, "expect": "dyndns2""#;
    let found = &notifications(&format!("{common},{own}"))[0];
    assert_eq!((found.timeout, &found.ssl), (Duration::from_secs(7), &Ssl::Verify));
    assert_ne!(found.proxies, Proxies::system(&std::sync::Arc::default()));
    let request =
        found.callback.render(&Notice { message: "m".to_owned(), ..Notice::default() }, NOW).expect("a request");
    assert_eq!((request.method.as_str(), request.url.to_string().as_str()), ("GET", "https://n.example/m"));
    assert!(request.headers.is_empty() && request.body.is_none() && found.callback.request.expect.is_none());

    let own = r#""notify": {"id": "https://n.example/__MESSAGE__", "proxy": "SYSTEM", "ssl": "auto", "timeout": 3}"#;
    let found = &notifications(&format!("{common},{own}"))[0];
    assert_eq!((found.timeout, &found.ssl), (Duration::from_secs(3), &Ssl::Auto));
    assert_eq!(found.proxies, Proxies::system(&std::sync::Arc::default()));
}

#[test]
fn i5_placeholders_are_those_of_what_happened() {
    let notify = r#""notify": {"id": "https://n.example/?e=__EVENT__&d=__DOMAINS__&k=__KEY__", "extra": {"__KEY__": "k3y"},
        "headers": {"Title": "__MESSAGE__"},
        "token": {"one": "__DOMAIN__", "ip": "__IP__", "old": "__OLDIP__", "type": "__RECORDTYPE__", "at": "__TIMESTAMP__",
                  "ttl": "__TTL__", "host": "__HOST__", "none": "__NOPE__"}}"#;
    let notice = Notice {
        event: "changed",
        message: "a & b".to_owned(),
        domains: "a.example,b.example".to_owned(),
        ips: "203.0.113.7".to_owned(),
        old_ips: "198.51.100.4".to_owned(),
        record_types: "A".to_owned(),
    };
    let callback = &notifications(notify)[0].callback;
    let request = callback.render(&notice, NOW).expect("a request");
    assert_eq!(request.url.to_string(), "https://n.example/?e=changed&d=a.example,b.example&k=k3y");
    assert_eq!(request.headers, [("Title".to_owned(), "a & b".to_owned())]);
    let body = r#"{"one":"a.example,b.example","ip":"203.0.113.7","old":"198.51.100.4","type":"A","#;
    let rest = r#""at":"1763170000.000042","ttl":"__TTL__","host":"__HOST__","none":"__NOPE__"}"#;
    assert_eq!(request.body.as_deref(), Some(format!("{body}{rest}").as_str()));
    let seen = callback.redacted(&notice, NOW, "agent", false).expect("a request");
    assert!(
        !seen.lines().join("\n").contains("k3y") && seen.lines().join("\n").contains("a & b"),
        "{:?}",
        seen.lines()
    );
    assert_eq!(
        said(notify),
        [
            "__TTL__ has no meaning in `notify`: it is sent as it is",
            "__HOST__ has no meaning in `notify`: it is sent as it is",
            "__NOPE__ is not a placeholder: it is sent as it is"
        ]
    );
}

#[test]
fn i5_what_is_wrong_is_named() {
    let id = r#""id": "https://n.example/__MESSAGE__""#;
    let cases = [
        (r#""notify": 5"#.to_owned(), "`notify` must be an object, a list of objects, or a URL, not a number"),
        (r#""notify": [[]]"#.to_owned(), "`notify` must be an object, a list of objects, or a URL, not a list"),
        (r#""notify": "{""#.to_owned(), "`notify` is not JSON: at character 2, "),
        (r#""notify": {}"#.to_owned(), "`id` and `endpoint` are both empty: there is no URL to call"),
        (format!(r#""notify": {{{id}, "on": "fail"}}"#), "`notify`: `on` has no event `fail`"),
        (format!(r#""notify": {{{id}, "on": [5]}}"#), "`notify`: `on` must be events, not a number"),
        (format!(r#""notify": {{{id}, "on": []}}"#), "`notify`: `on` is empty: nothing would be sent"),
        (format!(r#""notify": {{{id}, "after": 0}}"#), "`notify`: `after` must be a whole number from 1 to 1000"),
        (format!(r#""notify": {{{id}, "after": "x"}}"#), "`notify`: `after` must be a whole number from 1 to 1000"),
        (format!(r#""notify": {{{id}, "url": "x"}}"#), "`notify`: unknown field `url`: it has no effect"),
        (format!(r#""notify": {{{id}, "ipv4": "x"}}"#), "`notify`: `ipv4` has no effect in a notification"),
        (
            format!(r#""notify": {{{id}, "method": "FETCH"}}"#),
            "`method` must be one of GET, POST, PUT, PATCH, DELETE, not `FETCH`",
        ),
        (format!(r#""notify": {{{id}, "timeout": 0}}"#), "`timeout` must be a number of seconds"),
        (
            format!(r#""cache": false, "notify": {{{id}}}"#),
            "`cache` is off: a single run cannot report changed addresses",
        ),
        (
            r#""notify": {"id": "https://n.example/?x=__IP__"}"#.to_owned(),
            "`notify`: neither __EVENT__ nor __MESSAGE__ is sent",
        ),
        (
            r#""notify": {"id": "http://n.example/?key=s3cret&m=__MESSAGE__"}"#.to_owned(),
            "`notify`: an unencrypted http address: anyone on the path to n.example can read your keys",
        ),
        (
            r#""notify": {"id": "https://n.example/__OLDIP__", "on": "failed"}"#.to_owned(),
            "`notify`: __OLDIP__ is always empty on failed",
        ),
        (
            r#""notify": {"id": "https://n.example/__IP__", "on": "synchronized"}"#.to_owned(),
            "`notify`: __IP__ is always empty on synchronized",
        ),
        (
            r#""notify": {"id": "https://n.example/__EVENT__", "on": ["failed", "took-over", "lost"]}"#.to_owned(),
            "`notify`: `took-over` and `lost` never happen without `group`",
        ),
        (
            format!(r#"{GROUP}, "notify": {{"id": "https://n.example/__IP__", "on": "lost"}}"#),
            "`notify`: __IP__ is always empty on lost",
        ),
        (
            r#""notify": {"id": "https://n.example/", "on": "changed", "after": 2}"#.to_owned(),
            "`notify`: `after` has no effect without `failed` or `recovered` in `on`",
        ),
    ];
    for (rest, expected) in cases {
        let said = said(&rest);
        assert!(said.len() == 1 && said[0].starts_with(expected), "{rest}: {said:?}");
    }
    let in_group = format!(r#"{GROUP}, "notify": {{"id": "https://n.example/__MESSAGE__", "on": "took-over,lost"}}"#);
    assert_eq!(said(&in_group), [""; 0]);
    let providers = r#""providers": [{"provider": "callback", "ipv4": "b.example", "notify": {}}]"#;
    assert_eq!(said(providers)[0], "`notify` is not allowed inside `providers`");
}

#[test]
fn i5_a_listing_shows_what_may_be_seen() {
    let rest = r#""notify": [{"on": ["failed", "recovered"], "after": 5, "id": "https://n.example/?key=s3cret&m=__MESSAGE__",
        "headers": {"Authorization": "Bearer s3cret"}, "token": {"a": "s3cret", "m": "__EVENT__"}}, {"id": "https://o.example/"}]"#;
    let sections = listing(Some(&written(rest)), &Surroundings::default(), false);
    let row = sections[0].rows.iter().find(|row| row.name == "notify").expect("a row");
    assert_eq!(
        row.value,
        "on failed recovered, after 5, id https://n.example/?key=***&m=__MESSAGE__, token {\"a\":\"***\",\"m\":\"__EVENT__\"}, \
         headers {\"Authorization\":\"Bearer ***\"}; id https://o.example/"
    );
    let sections = listing(Some(&written(r#""notify": ["s3cret"]"#)), &Surroundings::default(), false);
    assert_eq!(sections[0].rows.iter().find(|row| row.name == "notify").map(|row| row.value.as_str()), Some("***"));
}

#[test]
fn i5_secrets_are_secrets_of_the_configuration() {
    let rest = r#""notify": {"id": "https://n.example/?key=s3cret-one&m=__MESSAGE__", "proxy": "http://u:s3cret-two@p.example",
        "extra": {"__K__": "s3cret-three"}}"#;
    let (config, _) = checked(rest).expect("valid");
    let masked = config.secrets().mask("s3cret-one s3cret-two s3cret-three").into_owned();
    assert_eq!(masked, "*** *** ***");
}
