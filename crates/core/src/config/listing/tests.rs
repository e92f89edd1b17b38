//! A table of values as they are shown, and a property: no listing contains a secret.

use std::rc::Rc;

use proptest::prelude::*;

use super::super::raw::{Document, read};
use super::super::validate::validate;
use super::*;
use crate::text::diagnostic::Diagnostic;
use crate::text::json::push_string;

fn list(text: &str, around: &Surroundings, all: bool) -> Vec<Section> {
    let document = Rc::new(Document { name: "c.json".to_owned(), text: text.to_owned(), fetched: false });
    listing(Some(&read(&document).expect("JSON")), around, all)
}

fn rows(sections: &[Section]) -> Vec<String> {
    let rows = sections.iter().flat_map(|section| section.rows.iter().map(move |row| (section.entry, row)));
    rows.map(|(entry, row)| {
        let entry = entry.map(|entry| format!("{entry} ")).unwrap_or_default();
        format!("{entry}{} = {}  {}", row.name, row.value, row.origin)
    })
    .collect()
}

#[test]
fn each_setting_is_shown_with_its_origin_and_without_its_secrets() {
    let text = r#"{
  "dns": "callback",
  "id": "/hook/averyveryverylongsegment/x?key=s3cret&d=__DOMAIN__&z=__ZONE__&u=__NOPE__",
  "endpoint": "https://user:s3cret@h.example/__IP__",
  "token": {"key": "s3cret", "n": 5, "f": true, "deep": [null, {"ip": "x__IP__y"}], "z": "__ZONE__"},
  "extra": {"__ZONE__": "s3cret", "note": "s3cret"},
  "proxy": ["http://user:s3cret@p.example:3128/", "http://u:s3cret@h:1/x", "DIRECT", "p:1"],
  "index4": ["url:http://u:s3cret@h/?k=s3cret", "cmd:/bin/echo s3cret", 0, "nonsense"], "index6": false,
  "ipv4": "a.example, b.example", "ipv6": ["c.example"],
  "ttl": 300, "cache": false,
  "method": "put", "headers": {"authorization": "Bearer s3cret", "X-Key": "a__IP__", "accept": "a/b", "bad name": "s3cret"}
}"#;
    let mut around = Surroundings::default();
    around.options.set(Key::Ttl, Node::synthetic(Value::string("60")), Origin::Option("--ttl".to_owned()));
    let variable = Origin::Environment("DDNS_LINE".to_owned());
    around.environment.set(Key::Line, Node::synthetic(Value::string("x")), variable.clone());
    around.environment.set(Key::Ipv4, Node::synthetic(Value::string("other.example")), variable);
    let expected = [
        "dns = callback  c.json:2",
        "id = /hook/***/x?key=***&d=__DOMAIN__&z=__ZONE__&u=***  c.json:3",
        "endpoint = https://***:***@h.example/__IP__  c.json:4",
        "token = {\"key\":\"***\",\"n\":\"***\",\"f\":true,\"deep\":[null,{\"ip\":\"***__IP__***\"}],\"z\":\"__ZONE__\"}  c.json:5",
        "method = put  c.json:11",
        "headers = {\"Authorization\":\"Bearer ***\",\"X-Key\":\"***__IP__\",\"Accept\":\"a/b\",\"***\":\"***\"}  c.json:11",
        "ipv4 = a.example, b.example  c.json:9",
        "ipv6 = c.example  c.json:9",
        "index4 = url:http://h/, cmd:echo, interface number 0, ***  c.json:8",
        "index6 = false  c.json:8",
        "ttl = 60  --ttl",
        "line = x  DDNS_LINE",
        "extra = {\"__ZONE__\":\"***\",\"note\":\"***\"}  c.json:6",
        "proxy = http://***@p.example:3128/, http://***, DIRECT, p:1  c.json:7",
        "cache = false  c.json:10",
    ];
    let sections = list(text, &around, false);
    assert_eq!(rows(&sections), expected);
    assert!(holds_secrets(&sections));
    let all = rows(&list(text, &around, true));
    for default in ["ssl = auto  default", "timeout = 30  default", "log.level = INFO  default"] {
        assert!(all.contains(&default.to_owned()), "{all:#?}");
    }
    assert!(!holds_secrets(&list(r#"{"dns":"callback","id":"https://h/?ip=__IP__","ttl":1}"#, &around, true)));
}

#[test]
fn entries_show_what_counts_for_them() {
    let text =
        "{\"ttl\": 5, \"timeout\": 9, \"debug\": true,\n\"providers\": [{\"provider\": \"callback\"},\n{\"ttl\": 7}]}";
    let expected = [
        "debug = true  c.json:1",
        "0 provider = callback  c.json:2",
        "0 ttl = 5  c.json:1",
        "0 timeout = 9  c.json:1",
        "1 ttl = 7  c.json:3",
        "1 timeout = 9  c.json:1",
    ];
    assert_eq!(rows(&list(text, &Surroundings::default(), false)), expected);
}

#[test]
fn an_interface_id_is_no_secret() {
    let text = r#"{"ipv6": [{"name": "a.example", "interface_id": "::1", "verify": true},
{"name": "b.example", "interface_id": "::2", "extra": {"__K__": "s3cret"}}]}"#;
    let sections = list(text, &Surroundings::default(), false);
    let expected = "ipv6 = a.example (interface_id, verify), b.example (interface_id, extra ***)  c.json:1";
    assert_eq!(rows(&sections), [expected]);
    let public = r#"{"ipv6": [{"name": "a.example", "interface_id": "::1"}]}"#;
    assert!(holds_secrets(&sections) && !holds_secrets(&list(public, &Surroundings::default(), false)));
}

#[test]
fn what_is_wrong_is_one_mask() {
    let s = "s3cretvalue";
    for value in [format!("\"{s}\""), format!("[\"{s}\"]"), format!("{{\"a\": \"{s}\"}}"), "7777777".to_owned()] {
        for key in ["token", "headers", "extra", "index4", "proxy"] {
            // A single word in `proxy` is a host name.
            let is_host = key == "proxy" && !value.starts_with(['{', '7']);
            let rows = rows(&list(&format!("{{\"{key}\": {value}}}"), &Surroundings::default(), false));
            let shown = rows.concat();
            let is_number = value.starts_with('7') && key == "index4";
            assert!(is_host || is_number || (!shown.contains(s) && !shown.contains("7777")), "{key}: {value}: {shown}");
        }
    }
    for id in
        ["user:s3cretpw@h.example/x", "user:s3cretpw@h", "__IP__s3cretpw@h/", "ftp://u:s3cretpw@h/", "?s3cretpw", "7"]
    {
        let shown = rows(&list(&format!("{{\"id\": \"{id}\"}}"), &Surroundings::default(), false)).concat();
        assert!(!shown.contains("s3cretpw"), "{id}: {shown}");
    }
    assert_eq!(
        rows(&list("{\"id\": [1], \"endpoint\": 5}", &Surroundings::default(), false)),
        ["id = ***  c.json:1", "endpoint = ***  c.json:1"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Secrets wherever they can be written, in any order, form and combination.
    #[test]
    fn g2_no_listing_holds_a_secret(
        tail in "[a-zA-Z0-9'\"\\\\ü /?&=#@:+%-]{0,12}",
        before in "[a-z_/?&=@:.]{0,8}",
        places in proptest::collection::vec(any::<bool>(), 10),
    ) {
        let secret = format!("Xq7Zk{tail}");
        let coded = secret.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
        let mut quoted = String::new();
        push_string(&mut quoted, &secret);
        let all = [
            format!("\"id\": \"https://u:{coded}@h/{before}?{before}={coded}&Xq7Zk=__IP__\""),
            format!("\"endpoint\": \"http://{coded}:p@h/x?k={coded}\""),
            format!("\"token\": {{\"{before}\": {quoted}, \"l\": [{quoted}, \"__IP__\"]}}"),
            format!("\"extra\": {{\"__A__\": {quoted}}}"),
            format!("\"index4\": [\"url:https://h/?k={coded}\", {quoted}]"),
            format!("\"index6\": \"shell:echo {coded}\""),
            format!("\"proxy\": \"http://u:{coded}@h:1\""),
            "\"ttl\": 5, \"ipv4\": \"a.example\"".to_owned(),
            format!("\"headers\": {{\"X-Key\": {quoted}, \"Authorization\": \"Bearer {coded}\"}}"),
            "\"format\": \"form\"".to_owned(),
        ];
        let chosen: Vec<&String> = all.iter().zip(&places).filter(|(_, is_in)| **is_in).map(|(text, _)| text).collect();
        let text = format!("{{{}}}", chosen.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(",\n"));
        let shown = rows(&list(&text, &Surroundings::default(), true)).join("\n").replace("Xq7Zk=__IP__", "");
        prop_assert!(!shown.contains("Xq7Zk"), "{}\n{}", text, shown);
        prop_assert!(!shown.contains(&coded), "{}\n{}", text, shown);
    }

    /// Whatever a password contains, and whether the scheme before it is right, mistyped or missing: neither the
    /// listing nor an error shows it.
    #[test]
    fn g2_no_mistyped_address_shows_its_password(
        scheme in "(http|https|htp|)",
        mark in "(://|:/|:|//|/|)",
        password in "[a-z0-9/?#&=:@%. \\[\\]-]{0,6}Xq7Zk[a-z0-9/?#&=:@%. \\[\\]-]{0,6}",
        rest in "(h|h.example|h:1|h:x|)(/|/p|\\?k=Xq7Zk|)",
    ) {
        let address = format!("{scheme}{mark}u:{password}@{rest}");
        let mut quoted = String::new();
        push_string(&mut quoted, &address);
        let source = quoted.replacen('"', "\"url:", 1);
        let fields = [
            format!("\"id\": {quoted}"),
            format!("\"id\": {quoted}, \"endpoint\": \"http://h/\""),
            format!("\"id\": \"x\", \"endpoint\": {quoted}"),
            format!("\"id\": \"http://h/\", \"proxy\": [{quoted}]"),
            format!("\"id\": \"http://h/\", \"index4\": [{quoted}]"),
            format!("\"id\": \"http://h/\", \"index4\": {source}"),
        ];
        for field in fields {
            let text = format!("{{\"dns\": \"callback\", \"ipv4\": \"a.example\", {field}}}");
            let document = Rc::new(Document { name: "c.json".to_owned(), text: text.clone(), fetched: false });
            let around = Surroundings::default();
            let checked = validate("c.json", Some(read(&document).expect("JSON")), &around);
            let wrong = checked.map_or_else(|wrong| wrong, |(_, warnings)| warnings);
            let mut shown = rows(&list(&text, &around, false));
            shown.extend(wrong.iter().map(Diagnostic::shown));
            prop_assert!(!shown.concat().contains("Xq7Zk"), "{}\n{:#?}", text, shown);
        }
    }
}
