use super::*;
use crate::web::controls::controls;

const FLAT: &str = "// mine\n{\n  \"dns\": \"callback\", // one\n  \"id\": \"https://o.example/u?ip=__IP__&key=s3cret-id\", # two\n  \
                    \"ttl\": 60, /* first */\n  \"ipv4\": [\"a.example\", \"b.example\"],\n  \"ttl\": 300 # seconds\n}\n// end\n";

const TWO: &str = "{\"providers\": [\n  {\"provider\": \"callback\", \"id\": \"https://o.example/__IP__\", \"headers\": {\"X\": \"s3cret-x\"}, \
                   \"ipv4\": \"a.example\"}, # A\n  {\"provider\": \"callback\", \"id\": \"https://p.example/__IP__\", \"ipv4\": \"b.example\"} // B\n]}";

fn at(entry: usize, key: Key) -> At {
    At { entry: Some(entry), key }
}

fn set(at: At, json: &str) -> Op {
    Op::Set { at, item: None, value: parse(json, Dialect::STRICT).expect("JSON").value }
}

fn applied(old: &str, ops: &[Op]) -> Result<String, Vec<String>> {
    let wrong = |all: Vec<Finding>| {
        told(&all)
            .into_iter()
            .map(|(field, text)| format!("{}: {text}", field.map_or("", |field| field.name)))
            .collect()
    };
    apply(old, ops, &Surroundings::default()).map(|(text, _)| text).map_err(wrong)
}

#[test]
fn i7_an_edit_changes_its_field_and_nothing_else() {
    let cases: [(&str, Op, &str, &str); 12] = [
        // If a key is written twice, the last one counts.
        (FLAT, set(at(0, Key::Ttl), "600"), "\"ttl\": 300 #", "\"ttl\": 600 #"),
        (FLAT, Op::Unset { at: at(0, Key::Ttl) }, "  \"ttl\": 60, /* first */\n", "  /* first */\n"),
        (FLAT, set(at(0, Key::Line), "\"x\""), "300 # seconds\n}", "300, # seconds\n  \"line\": \"x\"\n}"),
        (
            FLAT,
            Op::Add { list: at(0, Key::Ipv4), item: Value::string("c.example") },
            "\"b.example\"]",
            "\"b.example\", \"c.example\"]",
        ),
        (FLAT, Op::Remove { list: at(0, Key::Ipv4), item: 0 }, "[\"a.example\", ", "["),
        (FLAT, Op::Remove { list: at(0, Key::Ipv4), item: 1 }, ", \"b.example\"", ""),
        (
            FLAT,
            Op::Add { list: at(0, Key::Ipv6), item: Value::string("a.example") },
            "300 # seconds\n",
            "300, # seconds\n  \"ipv6\": [\"a.example\"]\n",
        ),
        (
            FLAT,
            set(At { entry: None, key: Key::LogLevel }, "\"DEBUG\""),
            "300 # seconds\n",
            "300, # seconds\n  \"log\": {\n    \"level\": \"DEBUG\"\n  }\n",
        ),
        (
            TWO,
            Op::RemoveEntry(1),
            ", # A\n  {\"provider\": \"callback\", \"id\": \"https://p.example/__IP__\", \"ipv4\": \"b.example\"} // B",
            " # A\n  // B",
        ),
        (
            TWO,
            Op::Add { list: at(1, Key::Ipv4), item: Value::string("c.example") },
            "\"b.example\"",
            "[\"b.example\", \"c.example\"]",
        ),
        (TWO, set(at(1, Key::Ssl), "true"), "\"b.example\"}", "\"b.example\", \"ssl\": true}"),
        (TWO, set(at(0, Key::Index4), "\"public\""), "\"a.example\"}", "\"a.example\", \"index4\": \"public\"}"),
    ];
    for (old, op, from, to) in cases {
        assert_eq!(old.matches(from).count(), 1, "{from}");
        let mut expected = old.replace(from, to);
        if op == (Op::Unset { at: at(0, Key::Ttl) }) {
            expected = expected.replace(",\n  \"ttl\": 300 # seconds", "\n  # seconds");
        }
        assert_eq!(applied(old, std::slice::from_ref(&op)), Ok(expected), "{op:?}");
    }
    // Line endings are kept.
    let windows = FLAT.replace('\n', "\r\n");
    let more = applied(&windows, &[set(at(0, Key::Line), "\"x\"")]).expect("applied");
    assert!(more.matches('\n').count() == more.matches("\r\n").count() && more.contains("\r\n  \"line\": \"x\"\r\n}"));
}

#[test]
fn i7_several_changes_are_made_in_their_order() {
    let new = vec![
        ("id".to_owned(), Value::string("https://n.example/__IP__")),
        ("ipv4".to_owned(), Value::string("n.example")),
    ];
    // A flat file gets a second entry; its own settings become the first one.
    let text =
        applied(FLAT, &[Op::AddEntry(new), set(at(1, Key::Ttl), "5"), set(at(0, Key::Ttl), "6")]).expect("applied");
    for part in
        ["// mine", "// one", "# two", "/* first */", "# seconds", "// end", "s3cret-id", "\"ttl\": 6 ", "\"ttl\": 5"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let back = applied(&text, &[Op::RemoveEntry(1)]).expect("applied");
    assert!(back.contains("s3cret-id") && !back.contains("n.example"), "{back}");
    assert!(applied(&back, &[Op::RemoveEntry(0)]).is_err_and(|why| why[0].contains("only entry")));
    let all = [Op::Remove { list: at(0, Key::Ipv4), item: 1 }, Op::Remove { list: at(0, Key::Ipv4), item: 0 }];
    assert!(applied(FLAT, &all).is_err_and(|why| why[0].contains("No domain is set")));
}

/// An addition must contain every byte of the old text in its order; a removal, the other way around.
#[test]
fn i7_bytes_that_no_operation_touches_stay() {
    let is_inside = |small: &str, large: &str| {
        let mut left = small.bytes().peekable();
        large.bytes().for_each(|byte| {
            let _ = left.next_if_eq(&byte);
        });
        left.peek().is_none()
    };
    for old in [FLAT, TWO, &FLAT.replace('\n', "\r\n"), &FLAT.replace("300 #", "300, #"), &TWO.replace("} //", "}, //")]
    {
        for key in [Key::Line, Key::Timeout, Key::Cache, Key::MinInterval, Key::Concurrency, Key::LogLevel] {
            let (value, place) = match key {
                Key::Concurrency => ("2", At { entry: None, key }),
                Key::LogLevel => ("\"ERROR\"", At { entry: None, key }),
                Key::Timeout | Key::MinInterval => ("7", at(0, key)),
                Key::Line => ("\"x\"", at(0, key)),
                _ => ("true", at(0, key)),
            };
            let more = applied(old, &[set(place, value)]).unwrap_or_else(|why| panic!("{key:?}: {why:?}"));
            assert!(is_inside(old, &more), "{key:?}\n{more}");
            let same = applied(&more, &[set(place, value)]).expect("applied");
            assert_eq!(same, more);
            let less = applied(&more, &[Op::Unset { at: place }]).expect("applied");
            assert!(is_inside(&less, &more), "{key:?}\n{less}");
            let squeezed = |text: &str| text.replace([' ', '\r', '\n', ','], "").replace("\"log\":{}", "");
            assert_eq!(squeezed(&less), squeezed(old), "{key:?}");
        }
    }
}

#[test]
fn i2_nothing_of_the_host_can_be_set() {
    let file = |key| At { entry: None, key };
    let cases = [
        set(at(0, Key::Index4), "\"cmd:reboot\""),
        set(at(0, Key::Index4), "[\"default\", \"shell:reboot\"]"),
        set(at(0, Key::Index4), "\"default, cmd:reboot\""),
        set(at(0, Key::Index6), "\"quorum:1(default, cmd:reboot)\""),
        Op::Add { list: at(0, Key::Index4), item: Value::string("shell:reboot") },
        set(at(0, Key::Ssl), "\"/etc/ca.pem\""),
        set(at(0, Key::Cache), "\"/etc/passwd\""),
        set(file(Key::LogFile), "\"/etc/passwd\""),
        set(at(0, Key::Extra), r#"{"__K__": {"file": "/etc/shadow"}}"#),
        set(at(0, Key::Extra), r#""{\"__K__\": {\"file\": \"/etc/shadow\"}}""#),
        set(at(0, Key::Sign), r#"{"file": "/etc/shadow"}"#),
        set(at(0, Key::Ipv4), r#"[{"name": "a.example", "extra": {"__K__": {"file": "/etc/shadow"}}}]"#),
        Op::Add {
            list: at(0, Key::Ipv4),
            item: parse(r#"{"name": "c.example", "extra": {"__K__": {"file": "/x"}}}"#, Dialect::STRICT)
                .expect("JSON")
                .value,
        },
        set(file(Key::Web), "true"),
        set(file(Key::Group), "{}"),
        set(file(Key::Notify), r#"{"id": "https://x.example/__MESSAGE__"}"#),
        Op::Unset { at: file(Key::Notify) },
        set(file(Key::Providers), "[]"),
        set(at(0, Key::Dns), "\"callback\""),
        Op::AddEntry(vec![
            ("id".to_owned(), Value::string("https://n.example")),
            ("ipv4".to_owned(), Value::string("n.example")),
            ("index4".to_owned(), Value::string("cmd:x")),
        ]),
        Op::AddEntry(vec![
            ("id".to_owned(), Value::string("https://n.example")),
            ("ipv4".to_owned(), Value::string("n.example")),
            ("web".to_owned(), Value::Bool(true)),
        ]),
    ];
    for op in cases {
        let why = applied(FLAT, std::slice::from_ref(&op)).expect_err(&format!("{op:?}"));
        assert!(why[0].contains("on the host"), "{op:?}: {why:?}");
    }
    // If `providers` is written twice, one could be checked and the other one written.
    for providers in [
        r#""providers": [{"id": "https://x.example", "ipv4": "x.example", "index4": "shell:reboot"}], "providers": [HARMLESS]"#,
        r#""providers": [{"id": "https://x.example", "ipv4": "x.example", "index4": "shell:reboot"}], "providers": null"#,
        r#""providers": [HARMLESS, HARMLESS]"#,
    ] {
        let harmless = r#"{"id": "https://y.example", "ipv4": "y.example"}"#;
        let op = format!(r#"{{"op": "add_entry", "value": {{{}}}}}"#, providers.replace("HARMLESS", harmless));
        let op = Op::read(&parse(&op, Dialect::STRICT).expect("JSON").value).expect("an operation");
        let why = applied(FLAT, &[op, Op::RemoveEntry(2)]).expect_err(providers);
        assert!(why[0].contains("has no providers"), "{providers}: {why:?}");
    }
}

#[test]
fn i7_without_its_last_domain_an_entry_has_none_of_those_outside() {
    let text = r#"{"dns": "callback", "ipv4": ["o1.example", "o2.example"], "providers": [
        {"id": "https://o.example/__IP__", "ipv4": ["own.example"], "ipv6": ["six.example"]}]}"#;
    let edited = applied(text, &[Op::Remove { list: at(0, Key::Ipv4), item: 0 }]).expect("valid");
    assert!(edited.contains(r#""ipv4": null"#), "{edited}");
    let alone = text.replace(r#""ipv4": ["o1.example", "o2.example"], "#, "");
    let edited = applied(&alone, &[Op::Remove { list: at(0, Key::Ipv4), item: 0 }]).expect("valid");
    assert!(!edited.contains("ipv4"), "{edited}");
}

#[test]
fn i2_nobody_new_gets_a_secret() {
    let elsewhere = || set(at(0, Key::Id), "\"https://evil.example/__IP__\"");
    let again = |ops: &[Op]| applied(TWO, ops).expect_err("refused").join("\n");
    assert!(again(&[elsewhere()]).starts_with("headers: Type this again"));
    for op in [
        set(at(0, Key::Proxy), "\"http://evil.example:1\""),
        set(at(0, Key::Ssl), "false"),
        set(at(0, Key::Endpoint), "\"https://evil.example\""),
        set(at(0, Key::Before), r#"{"id": "https://evil.example/?k", "take": {"/id": "__X__"}}"#),
    ] {
        let is_same = matches!(&op, Op::Set { at, .. } if at.key == Key::Endpoint);
        // An absolute URL ignores the base (B3).
        assert_eq!(applied(TWO, std::slice::from_ref(&op)).is_ok(), is_same, "{op:?}");
    }
    let typed = applied(TWO, &[elsewhere(), set(at(0, Key::Headers), r#"{"X": "other"}"#)]).expect("typed again");
    assert!(!typed.contains("s3cret-x"));
    // The same host is the same receiver; another entry has its own secrets.
    assert!(applied(TWO, &[set(at(0, Key::Id), "\"https://o.example/v2/__IP__\"")]).is_ok());
    assert!(applied(TWO, &[set(at(1, Key::Id), "\"https://evil.example/__IP__\"")]).is_ok());
    // The numbers of entries change when one is removed.
    let moved = [Op::RemoveEntry(1), elsewhere()];
    assert!(applied(TWO, &moved).is_err());
    // Secrets outside of the entries: in the file, or in the environment.
    let outside = TWO.replace("{\"providers\"", "{\"extra\": {\"__K__\": \"s3cret-outside\"}, \"providers\"");
    let wrong = applied(&outside, &[set(at(1, Key::Id), "\"https://evil.example/__IP__\"")]).expect_err("refused");
    assert!(wrong[0].starts_with("extra: Type this again"), "{wrong:?}");
    let in_file = TWO
        .replace("\"s3cret-x\"", "\"__K__\"")
        .replace("\"ipv4\": \"a.", "\"extra\": {\"__K__\": {\"file\": \"/k\"}}, \"ipv4\": \"a.");
    assert!(applied(&in_file, &[elsewhere()]).is_err_and(|why| why.iter().any(|why| why.starts_with("extra: "))));
    let mut around = Surroundings::default();
    around.environment.set(
        Key::Token,
        Node::synthetic(Value::string(r#"{"k": "s3cret-env"}"#)),
        Origin::Environment("DDNS_TOKEN".to_owned()),
    );
    let wrong = apply(TWO, &[set(at(1, Key::Id), "\"https://evil.example/__IP__\"")], &around).expect_err("refused");
    assert!(told(&wrong)[0].1.contains("not set in this file"), "{wrong:?}");
    // A secret that an entry no longer sets must not be inherited from outside.
    let own = TWO
        .replace("{\"providers\"", "{\"headers\": {\"X\": \"s3cret-out\"}, \"providers\"")
        .replace("\"ipv4\": \"b.", "\"headers\": {\"X\": \"own\"}, \"ipv4\": \"b.");
    let wrong = applied(&own, &[Op::Unset { at: at(1, Key::Headers) }]).expect_err("refused");
    assert!(wrong[0].contains("outside of this entry"), "{wrong:?}");
    let new = Op::AddEntry(vec![
        ("id".to_owned(), Value::string("https://evil.example")),
        ("ipv4".to_owned(), Value::string("n.example")),
        ("headers".to_owned(), Value::object([("X", Value::string("own"))])),
    ]);
    assert!(applied(&own, std::slice::from_ref(&new)).is_ok());
    assert!(applied(&own, &[new, Op::Unset { at: at(2, Key::Headers) }]).is_err());
    // The host is a placeholder: its value decides who gets the secret.
    let named = r#"{"dns": "callback", "id": "https://__DOMAIN__/u?ip=__IP__", "headers": {"X": "s3cret-x"}, "ipv4": "a.example"}"#;
    assert!(applied(named, &[Op::Add { list: at(0, Key::Ipv4), item: Value::string("evil.example") }]).is_err());
    assert!(applied(named, &[set(at(0, Key::Timeout), "5")]).is_ok());
    let routed = r#"{"dns": "callback", "id": "http://__IP__:1/u?k=s3cret", "ipv4": "a.example", "ipv6": [{"name": "a.example", "interface_id": "::1"}]}"#;
    let elsewhere = Op::Set {
        at: at(0, Key::Ipv6),
        item: Some(0),
        value: Value::object([("name", Value::string("a.example")), ("interface_id", Value::string("::2"))]),
    };
    for op in [set(at(0, Key::Index4), "\"url:http://evil.example/\""), elsewhere] {
        assert!(applied(routed, std::slice::from_ref(&op)).is_err(), "{op:?}");
    }
    // Notifications use the proxy of the file.
    let notified = TWO.replace(
        "{\"providers\"",
        "{\"notify\": {\"id\": \"https://n.example/?k=s3cret&m=__MESSAGE__\"}, \"providers\"",
    );
    assert!(applied(&notified, &[set(At { entry: None, key: Key::Proxy }, "\"http://evil.example:1\"")]).is_err());
}

#[test]
fn i7_a_wrong_value_is_told_in_the_words_of_the_form() {
    let cases = [
        (set(at(0, Key::Ttl), "\"soon\""), "ttl: TTL must be a whole number of seconds up to 4294967295, not soon."),
        (set(at(0, Key::Id), "\"update?ip=__IP__\""), "id: The URL must start with http:// or https://."),
        (Op::Add { list: at(0, Key::Ipv4), item: Value::string("b b") }, "ipv4: b b is not a domain name"),
        (Op::Unset { at: at(0, Key::Id) }, "URL and Base URL are both empty"),
        (set(at(0, Key::Timeout), "0"), "timeout: Time limit must be"),
    ];
    for (op, expected) in cases {
        let why = applied(FLAT, std::slice::from_ref(&op)).expect_err("refused");
        assert!(why.iter().any(|why| why.contains(expected) || why.starts_with(expected)), "{op:?}: {why:?}");
        assert!(!why.concat().contains('`') && !why.concat().contains("s3cret"), "{why:?}");
    }
    assert!(applied("{", &[]).is_err() && applied("[]", &[]).is_err());
}

fn form_of(text: &str, entry: Option<usize>) -> EditForm {
    let around = Surroundings::default();
    let config = check("", text, &around).0;
    let all = controls(text, &around, config.as_ref());
    all.into_iter().find(|form| form.entry == entry).expect("a form")
}

#[test]
fn i7_a_form_that_was_only_opened_changes_nothing_and_one_that_was_filled_in_changes_that() {
    let form = form_of(FLAT, Some(0));
    let shown = |name: &str| {
        let control = form.controls.iter().find(|control| control.field.name == name)?;
        match &control.content {
            Content::Open(text) => Some(text.replace('\n', "\r\n")),
            Content::Items(_) | Content::Locked(_) => None,
            Content::Unset | Content::WriteOnly(_) => Some(String::new()),
        }
    };
    assert_eq!(operations(&form, shown), []);
    let odd = form_of(&FLAT.replacen('{', "{\"method\": \"post\", ", 1), Some(0));
    assert_eq!(operations(&odd, |name| (name == "method").then(|| "POST".to_owned())), [], "the same word");
    let changed = [
        ("ttl", "600"),
        ("ipv4.is.a.example", "remove"),
        ("ipv4.add", "c.example\r\nd.example, e.example"),
        ("line", ""),
        ("unset.id", "on"),
        ("index4.add", "public"),
    ];
    let typed = |name: &str| {
        changed.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned()).or_else(|| shown(name))
    };
    let ops = operations(&form, typed);
    let add = |name: &str| Op::Add { list: at(0, Key::Ipv4), item: Value::string(name) };
    let expected = [
        Op::Unset { at: at(0, Key::Id) },
        Op::Remove { list: at(0, Key::Ipv4), item: 0 },
        add("c.example"),
        add("d.example"),
        add("e.example"),
        Op::Add { list: at(0, Key::Index4), item: Value::string("public") },
        set(at(0, Key::Ttl), "600"),
    ];
    assert_eq!(ops, expected);
    // Two sources that look the same, and a domain with the name of a field.
    let twins = "{\"id\": \"https://o.example/__IP__\", \"ipv4\": [\"add\"], \"index4\": [\"shell:a\", \"shell:b\"]}";
    let twins = form_of(twins, Some(0));
    let typed = [("index4.is.shell:…#2", "remove"), ("ipv4.add", "new.example")];
    let typed = |name: &str| typed.iter().find(|(known, _)| *known == name).map(|(_, text)| (*text).to_owned());
    let second = Op::Remove { list: at(0, Key::Index4), item: 1 };
    assert_eq!(operations(&twins, typed), [add("new.example"), second]);
    // A body in a format that was not touched.
    let text = form_of("{\"id\": \"https://o.example/\", \"format\": \"text\", \"token\": \"__IP__\"}", Some(0));
    let body = operations(&text, |name| (name == "token").then(|| "{\"ip\": 1.50}".to_owned()));
    assert_eq!(body, [Op::Set { at: at(0, Key::Token), item: None, value: Value::string("{\"ip\": 1.50}") }]);
    let off = operations(&form, |name| (name == "index6.add").then(|| "false".to_owned()));
    assert_eq!(off, [set(at(0, Key::Index6), "false")]);
}

/// A key in every place that can hold one.
#[test]
fn i2_no_control_holds_a_secret() {
    let text = r#"{ // C4nary in a comment
        "dns": "callback", "id": "/u?name=__DOMAIN__&key=C4nary1", "endpoint": "https://u:C4nary2@o.example/C4nary3C4nary3C4nary3C4nary3/",
        "token": {"key": "C4nary4", "n": 123456789, "ip": "__IP__"}, "headers": {"X-Key": "C4nary5"}, "extra": {"__K__": "C4nary6", "__F__": {"file": "C4nary"}},
        "sign": "whsec_C4naryAAAAAAAAAAAAAAAAAAAAAAAAAA", "proxy": ["http://u:C4nary7@127.0.0.1:1", "DIRECT"], "unknown": "C4nary8",
        "ipv4": [{"name": "a.example", "extra": {"__O__": "C4nary9"}}, "b.example"], "index4": ["url:https://s.example/?k=C4naryA", "cmd:prog C4naryB", "shell:echo C4naryC"],
        "before": {"id": "/z?k=C4naryD", "take": {"/id": "__Z__"}}, "line": "C4nary4", "log": {"format": "%(message)s"},
        "notify": {"id": "https://n.example/?k=C4naryE&m=__MESSAGE__"}, "web": {"password_file": "C4naryF"}, "group": {"store": "etcd://u:C4naryG@h", "name": "g"}}"#;
    for text in [text.to_owned(), text.replace("\"dns\"", "\"dnss\"")] {
        let around = Surroundings::default();
        let config = check("", &text, &around).0;
        let all = controls(&text, &around, config.as_ref());
        let shown: Vec<String> = all
            .iter()
            .flat_map(|form| &form.controls)
            .map(|control| format!("{}: {:?} {:?}", control.field.name, control.content, control.elsewhere))
            .collect();
        let shown = shown.join("\n");
        let shown = if config.is_some() { shown } else { shown.replace("line: Open(\"C4nary4\")", "") };
        assert!(!shown.contains("C4nary") && !shown.contains("123456789"), "{shown}");
        assert!(shown.contains("a.example") && shown.contains("o.example"), "{shown}");
    }
}

/// A source has a host of its own, so the endpoint does not matter to it; a looser check of certificates lets others pose as this host.
#[test]
fn i2_a_looser_check_of_certificates_asks_for_the_secrets_of_sources_again() {
    let source = "url:https://u:s3cret@s.example/ip?key=s3cret";
    let text = |index4: &str, ssl: &str| {
        format!(
            r#"{{"dns": "callback", "id": "https://o.example/__IP__", "ipv4": "a.example", "index4": {index4}{ssl}}}"#
        )
    };
    let off = || set(at(0, Key::Ssl), "false");
    for secret in [
        format!("[\"default\", \"{source}\"]"),
        format!("\"quorum:1({source}, default)\""),
        "\"url:https://s.example/?key=s3cret\"".to_owned(),
    ] {
        let wrong = applied(&text(&secret, ""), &[off()]).expect_err("refused");
        assert!(wrong[0].starts_with("index4: Type this again"), "{wrong:?}");
        assert!(applied(&text(&secret, ""), &[off(), set(at(0, Key::Index4), &secret)]).is_ok(), "typed again");
        assert!(applied(&text(&secret, ", \"ssl\": false"), &[set(at(0, Key::Ttl), "60")]).is_ok(), "it was so before");
        assert!(applied(&text(&secret, ", \"ssl\": false"), &[set(at(0, Key::Ssl), "true")]).is_ok(), "stricter");
    }
    let proxied = text("\"default\"", ", \"proxy\": \"https://u:s3cret@p.example\"");
    let wrong = applied(&proxied, &[off()]).expect_err("refused");
    assert!(wrong[0].starts_with("proxy: Type this again"), "{wrong:?}");
    assert!(applied(&proxied, &[off(), set(at(0, Key::Proxy), "\"https://u:s3cret@p.example\"")]).is_ok());
    let one = text(&format!("[\"default\", \"{source}\"]"), "");
    let again =
        |number, value: &str| Op::Set { at: at(0, Key::Index4), item: Some(number), value: Value::string(value) };
    assert!(applied(&one, &[off(), again(1, source)]).is_ok(), "an item was typed again");
    assert!(applied(&one, &[off(), again(0, "public")]).is_err(), "another one was");
    for open in ["\"url:https://s.example/ip\"", "\"default\"", "\"shell:echo s3cret\""] {
        assert!(applied(&text(open, ""), &[off()]).is_ok(), "{open}");
    }
    // A new endpoint does not change the host of the source.
    assert!(applied(&one, &[set(at(0, Key::Id), "\"https://p.example/__IP__\"")]).is_ok());
}
