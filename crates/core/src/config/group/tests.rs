//! Tables for `group` (J1, J6).

use std::rc::Rc;

use super::super::listing::listing;
use super::super::raw::{Document, FileLayers, read};
use super::super::validate::{Surroundings, Valid, validate};
use super::*;
use crate::text::diagnostic::Diagnostic;

fn written(group: &str, fetched: bool) -> FileLayers {
    let text = format!(r#"{{"dns":"callback","id":"https://h.example/__IP__","ipv4":"a.example","group":{group}}}"#);
    read(&Rc::new(Document { name: "c.json".to_owned(), text, fetched })).expect("JSON")
}

fn around() -> Surroundings {
    let mut around = Surroundings::default();
    let files = [("/ca", Ok("CA")), ("/cert", Ok("CERT")), ("/key", Ok("s3cret-key")), ("/pass", Ok("s3cret-word\n"))];
    let wrong = [("/none", Err("does not exist")), ("/two", Ok("a\nb"))];
    for (path, text) in files.into_iter().chain(wrong) {
        around.files.add(path.to_owned(), text.map(str::to_owned).map_err(str::to_owned));
    }
    around
}

fn checked(group: &str) -> Result<Valid, Vec<Diagnostic>> {
    validate("c.json", Some(written(group, false)), &around())
}

fn group(text: &str) -> Group {
    checked(text).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}")).0.group.expect("it is set")
}

const MINIMAL_GROUP: &str = r#""store":"etcd://a:1","name":"home""#;

fn with(rest: &str) -> String {
    format!("{{{MINIMAL_GROUP},{rest}}}")
}

#[test]
fn j1_a_group_has_a_store_and_a_name() {
    let least = group(&format!("{{{MINIMAL_GROUP}}}"));
    assert_eq!((least.store.to_string(), least.name.as_str()), ("etcd://a:1".to_owned(), "home"));
    assert_eq!((least.lease, least.member, least.prefer), (Duration::from_secs(15), None, 0));
    assert_eq!((least.ca, least.identity, least.login), (None, None, None));
    let whole = group(
        r#"{"store":"etcds://A.example, [2001:db8::1]:12379 ,10.0.0.3:1","name":"my_home-1.x","lease":"1m","member":"b",
        "prefer":100,"ca":"/ca","certificate":"/cert","key":"/key","user":"u","password_file":"/pass"}"#,
    );
    assert_eq!(whole.store.to_string(), "etcds://a.example:2379,[2001:db8::1]:12379,10.0.0.3:1");
    assert_eq!((whole.store.secure, whole.store.servers[1].host.as_str()), (true, "2001:db8::1"));
    assert_eq!((whole.lease, whole.member.as_deref(), whole.prefer), (Duration::from_secs(60), Some("b"), 100));
    let (certificate, key) = whole.identity.clone().expect("both");
    assert_eq!((certificate.text.as_str(), key.text.as_str()), ("CERT", "s3cret-key"));
    assert_eq!(whole.login, Some(("u".to_owned(), Password("s3cret-word".to_owned()))));
    assert!(!format!("{whole:?}").contains("s3cret"), "{whole:?}");
    assert_eq!(checked("null").expect("none").0.group, None);
}

#[test]
fn b13_whole_numbers_may_have_a_fraction_and_the_last_part_counts() {
    let group = |rest: &str| group(&with(rest));
    assert_eq!(group(r#""prefer":10.0,"lease":1.0"#).prefer, 10);
    assert_eq!(group(r#""prefer":10,"prefer":20"#).prefer, 20);
    assert_eq!(group(r#""prefer":10,"prefer":null"#).prefer, 0);
}

#[test]
fn j1_what_is_wrong_with_a_group_is_said() {
    let many = (0..17).map(|at| format!("a:{}", at + 1)).collect::<Vec<_>>().join(",");
    let store = |store: &str| format!(r#"{{"store":"{store}","name":"home"}}"#);
    let cases = [
        (r#""etcd://a:1""#.to_owned(), "`group` must be an object, not a string"),
        ("[]".to_owned(), "`group` must be an object, not a list"),
        (r#"{"name":"a"}"#.to_owned(), "`group.store` is missing"),
        (r#"{"store":"etcd://a:1"}"#.to_owned(), "`group.name` is missing"),
        (r#"{"store":["etcd://a:1"],"name":"a"}"#.to_owned(), "`group.store` must be a string, not a list"),
        (store("a:1"), "`group.store` must begin with etcd:// or etcds://"),
        (store("http://a:1"), "`group.store` must begin with etcd:// or etcds://, not http://"),
        (store("etcd://"), "`group.store` has an empty host (server 1)"),
        (store("etcd://a:1,,b:1"), "`group.store` has an empty host (server 2)"),
        (store("etcd://a:1,etcd://b:1"), "`group.store` has a second scheme (server 2)"),
        (store("etcd://a:1/x"), "`group.store` has more than host and port (server 1)"),
        (store("etcd://2001:db8::1"), "`group.store` has an IPv6 address without brackets (server 1)"),
        (store("etcd://[2001:db8::1:1"), "`group.store` has an invalid host (server 1)"),
        (store("etcd://a b:1"), "`group.store` has an invalid host (server 1)"),
        (store("etcd://a:1,b:99999"), "`group.store` has an invalid port (server 2)"),
        (store("etcd://a:0"), "`group.store` has an invalid port (server 1)"),
        (store("etcd://a:1,b:2,A:1"), "`group.store` names a:1 twice"),
        (store(&format!("etcd://{many}")), "`group.store` has 17 servers; at most 16 are allowed"),
        (store("etcd://root:s3cret@a:1"), "`group.store` must not contain a user or a password"),
        (
            r#"{"store":"etcd://a:1","name":"a/b"}"#.to_owned(),
            "`group.name` must be letters, digits, `.`, `_` and `-`, at most 64",
        ),
        (
            r#"{"store":"etcd://a:1","name":7}"#.to_owned(),
            "`group.name` must be letters, digits, `.`, `_` and `-`, at most 64",
        ),
        (with(r#""member":"""#), "`group.member` must be letters, digits, `.`, `_` and `-`, at most 64"),
        (with(r#""lease":"4s""#), "`group.lease` is 4 s; use 5s to 10m"),
        (with(r#""lease":15"#), "`group.lease` is 15 min; use 5s to 10m"),
        (with(r#""lease":"soon""#), "`group.lease` must be a time from 5s to 10m"),
        (with(r#""lease":true"#), "`group.lease` must be a time from 5s to 10m"),
        (with(r#""prefer":101"#), "`group.prefer` must be a whole number from 0 to 100"),
        (with(r#""prefer":-1"#), "`group.prefer` must be a whole number from 0 to 100"),
        (with(r#""prefer":0.5"#), "`group.prefer` must be a whole number from 0 to 100"),
        (with(r#""prefers":1"#), "`group` has no field `prefers`"),
        (with(r#""password":"s3cret""#), "`group` has no field `password`"),
        (with(r#""ca":"/ca""#), "`group.ca` has no effect with `etcd://`, which is not encrypted"),
        (
            with(r#""certificate":"/cert","key":"/key""#),
            "`group.certificate` has no effect with `etcd://`, which is not encrypted",
        ),
        (
            r#"{"store":"etcds://a","name":"a","certificate":"/cert"}"#.to_owned(),
            "`group.certificate` is set, but `group.key` is not: they belong together",
        ),
        (
            r#"{"store":"etcds://a","name":"a","key":"/key"}"#.to_owned(),
            "`group.key` is set, but `group.certificate` is not: they belong together",
        ),
        (
            with(r#""password_file":"/pass""#),
            "`group.password_file` is set, but `group.user` is not: they belong together",
        ),
        (with(r#""user":"u""#), "`group.user` is set, but `group.password_file` is not: they belong together"),
        (with(r#""user":"","password_file":"/pass""#), "`group.user` must be the name of a user of the store"),
        (r#"{"store":"etcds://a","name":"a","ca":"/none"}"#.to_owned(), "`group.ca`: the file /none does not exist"),
        (r#"{"store":"etcds://a","name":"a","ca":""}"#.to_owned(), "`group.ca` must be the path of a file"),
        (with(r#""user":"u","password_file":"/two""#), "`group.password_file`: the file /two must hold one line"),
        (with(r#""user":"u","password_file":"s3cret""#), "`group.password_file`: the file that it names was not read"),
    ];
    for (text, expected) in cases {
        let wrong = checked(&text).expect_err(&text);
        assert_eq!(wrong[0].message, expected, "{text}");
        let shown: String = wrong.iter().map(Diagnostic::shown).collect();
        assert!(shown.starts_with("c.json:1:") && !shown.contains("s3cret"), "{shown}");
    }
}

#[test]
fn j1_a_password_on_an_open_connection_is_worth_a_warning() {
    let (config, warnings) = checked(&with(r#""user":"u","password_file":"/pass""#)).expect("it is valid");
    assert_eq!(warnings[0].message, "`group`: with `etcd://` the password of the store is sent unencrypted");
    assert_eq!(config.secrets().mask("it is s3cret-word!"), "it is ***!");
    assert_eq!(config.files, ["/pass"]);
}

#[test]
fn j6_a_group_stands_once_in_a_file_of_this_host() {
    let text = r#"{"providers":[{"provider":"callback","id":"https://h.example/","ipv4":"a.example",
        "group":{"store":"etcd://a:1","name":"a"}}]}"#;
    let document = Document { name: "c.json".to_owned(), text: text.to_owned(), fetched: false };
    let written_inside = read(&Rc::new(document)).expect("JSON");
    let wrong = validate("c.json", Some(written_inside), &around()).expect_err("it is refused");
    assert_eq!(wrong[0].message, "`group` is not allowed inside `providers`");
    let fetched = r#"{"store":"etcds://a","name":"a","ca":"/ca"}"#;
    let wrong = validate("c.json", Some(written(fetched, true)), &around()).expect_err("it is refused");
    assert_eq!(wrong[0].message, "`group.ca` names a file, which a fetched configuration may not");
}

#[test]
fn g2_a_listing_shows_a_group_without_what_may_be_a_password() {
    let shown = |group: &str| {
        let sections = listing(Some(&written(group, false)), &around(), false);
        let rows = sections.into_iter().flat_map(|section| section.rows);
        rows.into_iter().find(|row| row.name == "group").expect("it is set").value
    };
    assert_eq!(shown(&format!("{{{MINIMAL_GROUP}}}")), r#"{"store": "etcd://a:1","name": "home"}"#);
    let wrong = shown(r#"{"store":"etcd://u:s3cret@a","password":"s3cret"}"#);
    assert_eq!(wrong, r#"{"store": "***","password": "***"}"#);
    let paths = shown(r#"{"ca":"/ca.pem","password_file":"s3cret"}"#);
    assert_eq!(paths, r#"{"ca": "/ca.pem","password_file": "***"}"#);
    assert_eq!(shown(r#""s3cret""#), "***");
}
