//! H8 to H10: zones, values of single domains, other hosts of the network, and the address before.

use std::fs;

use serde_json::{Value, json};

use crate::support::given::{SOURCE, home, targets, with};
use crate::support::{Receiver, Response, Sandbox};

/// Updates of these domains, one after the other.
fn several(id: &str, ipv4: &Value, more: &Value) -> Value {
    with(&json!({"dns": "callback", "id": id, "ipv4": ipv4, "index4": SOURCE, "concurrency": 1}), more)
}

#[test]
fn h8_zone_host_and_subdomain() {
    let receiver = Receiver::new();
    let names = json!(["example.com", "a.example.com", "b.c.example.com", "*.sub.example.com", "x.sub.example.com"]);
    let id = receiver.url("/__ZONE__/__HOST__?s=__SUBDOMAIN__.&d=__DOMAIN__");
    let zones = json!(["example.com.", "Sub.Example.com", "example.com"]);
    Sandbox::new().sync(&several(&id, &names, &json!({"zone": zones}))).expect(0).never_prints("warning");
    let seen: Vec<String> = receiver.take().iter().map(|one| one.target().to_owned()).collect();
    assert_eq!(
        seen,
        [
            "/example.com/%40?s=.&d=example.com",
            "/example.com/a?s=a.&d=a.example.com",
            "/example.com/b.c?s=b.c.&d=b.c.example.com",
            "/sub.example.com/*?s=*.&d=*.sub.example.com",
            "/sub.example.com/x?s=x.&d=x.sub.example.com",
        ]
    );
    let token = r#"{"z": __ZONE__, "h": "__HOST__", "s": __SUBDOMAIN__}"#;
    let one = several(&receiver.url("/"), &json!("example.com"), &json!({"zone": "example.com", "token": token}));
    Sandbox::new().sync(&one).expect(0);
    assert_eq!(receiver.only().text(), r#"{"z":"example.com","h":"@","s":""}"#);
}

#[test]
fn h8_a_domain_outside_is_an_error_and_so_is_what_is_no_zone() {
    let receiver = Receiver::new();
    let id = receiver.url("/__HOST__");
    for (names, zone, why) in [
        (
            json!(["a.example.com", "a.example.org"]),
            json!("example.com"),
            "`ipv4`: a.example.org is not below any name in `zone`",
        ),
        (json!("badexample.com"), json!(["example.com"]), "`ipv4`: badexample.com is not below any name in `zone`"),
        (json!("com"), json!("example.com"), "com is not below any name in `zone`"),
        (
            json!("a.example.com"),
            json!("exa mple.com"),
            "`zone`: `exa mple.com` is not a domain name: it contains a space",
        ),
        (json!("a.example.com"), json!(5), "`zone` must be a domain name, or a list of them, not a number"),
        (json!("a.example.com"), json!([5]), "`zone[0]` must be a string, not a number"),
    ] {
        Sandbox::new().sync(&several(&id, &names, &json!({"zone": zone}))).expect(2).prints(why);
    }
    assert!(receiver.callbacks().is_empty());
}

/// The placeholders exist where `zone` is set, and a name in `extra` counts first.
#[test]
fn h8_placeholders_need_a_zone_and_extra_wins() {
    let receiver = Receiver::new();
    let id = receiver.url("/__ZONE__/__HOST__");
    Sandbox::new().sync(&home(&id)).expect(0).prints("__HOST__ is not a placeholder: it is sent as it is (set `zone`)");
    let extra = json!({"extra": {"__ZONE__": "z1"}, "zone": "example.com"});
    Sandbox::new().sync(&with(&home(&id), &extra)).expect(0).never_prints("warning");
    let seen: Vec<String> = receiver.callbacks().iter().map(|one| one.target().to_owned()).collect();
    assert_eq!(seen, ["/__ZONE__/__HOST__", "/z1/home"]);
}

#[test]
fn h8_options_and_variables_set_it() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_ZONE", "example.org,example.com");
    sandbox.write("config.json", with(&home(&receiver.url("/__ZONE__")), &json!({"cache": false})).to_string());
    sandbox.run(&["-c", "config.json"]).expect(0);
    sandbox.run(&["-c", "config.json", "--zone", "home.example.com"]).expect(0);
    sandbox.run(&["-c", "config.json", "--zone", "com", "example.com"]).expect(0);
    assert_eq!(targets(&receiver), ["/example.com", "/example.com", "/home.example.com"]);
}

#[test]
fn h9_a_domain_may_have_values_of_its_own() {
    let receiver = Receiver::new();
    let names = json!([
        {"name": " A.example.com", "extra": {"__ID__": "17 &", "__KEY__": "own"}},
        {"name": "b.example.com", "extra": {"__ID__": 18}},
        "c.example.com",
    ]);
    let more = json!({"extra": {"__ID__": "common", "__KEY__": "all"}, "token": {"id": "__ID__", "d": "__DOMAIN__"}});
    let config = several(&receiver.url("/__ID__?k=__KEY__"), &names, &more);
    let sandbox = Sandbox::new();
    sandbox.sync(&with(&config, &json!({"debug": true}))).expect(0).never_prints("17 &").never_prints("own\"");
    let seen = receiver.take();
    let seen: Vec<(&str, Value)> = seen.iter().map(|one| (one.target(), one.json())).collect();
    assert_eq!(
        seen,
        [
            ("/17%20%26?k=own", json!({"d": "a.example.com", "id": "17 &"})),
            ("/18?k=all", json!({"d": "b.example.com", "id": "18"})),
            ("/common?k=all", json!({"d": "c.example.com", "id": "common"})),
        ]
    );
    // What changes for one domain is sent for that one alone (E3).
    sandbox.sync(&config).expect(0);
    assert!(receiver.take().is_empty());
    let mut changed = config.clone();
    changed["ipv4"][1]["extra"]["__ID__"] = json!(19);
    sandbox.sync(&changed).expect(0);
    assert_eq!(receiver.only().target(), "/19?k=all");
    let check = sandbox.run(&["check", "-c", "config.json"]).expect(0);
    assert!(check.stdout.contains("b.example.com (extra ***)") && !check.stdout.contains("17 &"), "{}", check.stdout);
}

/// A and AAAA of one name are two records.
#[test]
fn h9_each_family_has_its_own() {
    let receiver = Receiver::new();
    let own = |id: &str| json!([{"name": "a.example", "extra": {"__ID__": id}}]);
    let more = json!({"ipv6": own("six"), "index6": "shell:echo 2001:db8::7"});
    Sandbox::new().sync(&several(&receiver.url("/__ID__/__RECORDTYPE__"), &own("four"), &more)).expect(0);
    assert_eq!(targets(&receiver), ["/four/A", "/six/AAAA"]);
}

#[test]
fn h9_one_object_and_lists_in_variables() {
    let receiver = Receiver::new();
    let one = json!({"name": "a.example", "extra": {"__ID__": "1"}});
    let id = receiver.url("/__ID__");
    Sandbox::new().sync(&several(&id, &one, &json!({}))).expect(0);
    let sandbox = Sandbox::new().env("DDNS_IPV4", json!([one]).to_string());
    sandbox.run(&["--dns", "callback", "--id", &id, "--index4", SOURCE]).expect(0);
    let sandbox = Sandbox::new().env("DDNS_IPV4", one.to_string());
    sandbox.run(&["--dns", "callback", "--id", &id, "--index4", SOURCE]).expect(0);
    assert_eq!(targets(&receiver), ["/1", "/1", "/1"]);
    let sandbox = Sandbox::new().env("DDNS_IPV4", r#"{"name": "a.example", "extra": {"__ID__": "s3cret"}"#);
    let run = sandbox.run(&["--dns", "callback", "--id", &id, "--index4", SOURCE]);
    run.expect(2).prints("starts like a JSON object but is not one").never_prints("s3cret");
}

#[test]
fn h9_what_is_wrong_with_a_domain_is_an_error() {
    let receiver = Receiver::new();
    let id = receiver.url("/__ID__");
    let own = |own: Value| with(&json!({"name": "a.example"}), &own);
    for (names, why) in [
        (json!([{"extra": {"__ID__": "s3cret"}}]), "`ipv4`: a domain has no `name`"),
        (json!([{"name": 5}]), "`ipv4`: `name` must be a string, not a number"),
        (json!([{"name": "a b"}]), "`a b` is not a domain name: it contains a space"),
        (json!([own(json!({"extra": "s3cret"}))]), "`ipv4`: `extra` of a.example must be an object, not a string"),
        (
            json!([own(json!({"extra": {"__ID__": {"x": "s3cret"}}}))]),
            "`__ID__` of a.example must be a string, a number or a boolean",
        ),
        (json!([own(json!({"extra": {"__IP__": "s3cret"}}))]), "`__IP__` of a.example is a built-in placeholder"),
        (json!([own(json!({"extra": {"id": "s3cret"}}))]), "`id` of a.example is not of the form `__NAME__`"),
        (json!([own(json!({"interface_id": "::1"}))]), "`interface_id` of a.example only works for domains in `ipv6`"),
        (
            json!([own(json!({"extra": {"__ID__": "s3cret"}})), "b.example"]),
            "`ipv4`: b.example has no __ID__, which other domains have",
        ),
        (
            json!([own(json!({"extra": {"__ID__": "s3cret"}})), "a.example"]),
            "a.example is listed twice, at least once with values of its own",
        ),
        (
            json!(["a.example", own(json!({"extra": {"__ID__": "s3cret"}}))]),
            "a.example is listed twice, at least once with values of its own",
        ),
        (json!([5]), "`ipv4[0]` must be"),
        (json!(5), "`ipv4` must be a list of domains, or one domain, not a number"),
    ] {
        let run = Sandbox::new().sync(&several(&id, &names, &json!({})));
        run.expect(2).prints(why).prints("config.json:1:").never_prints("s3cret");
    }
    let unknown = json!([own(json!({"extras": {}, "extra": {"__ID__": "1"}}))]);
    let run = Sandbox::new().sync(&several(&id, &unknown, &json!({}))).expect(0);
    run.prints("unknown field `extras` of a.example").prints("did you mean `extra`?");
}

#[test]
fn h9_an_interface_id_is_another_host_of_the_network() {
    let receiver = Receiver::new();
    let names = json!([
        "router.example",
        {"name": "nas.example", "interface_id": "::1234:5678:9abc:def0"},
        {"name": "far.example", "interface_id": "::ff:0:0:0:5/56"},
    ]);
    let config = json!({"dns": "callback", "id": receiver.url("/__DOMAIN__?__IP__"), "ipv6": names, "concurrency": 1,
        "index6": "shell:echo 2001:db8:1:2aa::7"});
    let sandbox = Sandbox::new();
    sandbox.sync(&config).expect(0);
    let seen: Vec<String> = receiver.take().iter().map(|one| one.target().to_owned()).collect();
    let expected = [
        "/router.example?2001:db8:1:2aa::7",
        "/nas.example?2001:db8:1:2aa:1234:5678:9abc:def0",
        "/far.example?2001:db8:1:2ff::5",
    ];
    assert_eq!(seen, expected);
    // It is remembered as what was sent, and shows so.
    sandbox.sync(&config).expect(0);
    assert!(receiver.take().is_empty());
    let cache = fs::read_to_string(sandbox.cache_file()).expect("the cache");
    assert!(cache.contains("\"nas.example AAAA\":[\"2001:db8:1:2aa:1234:5678:9abc:def0\""), "{cache}");
    let preview = sandbox.run(&["preview", "-c", "config.json"]).expect(0).stdout;
    assert!(preview.contains("2001:db8:1:2aa:1234:5678:9abc:def0: interface_id after"), "{preview}");
    // Another host behind the same prefix: its address changes with the router's.
    let moved = with(&config, &json!({"index6": "shell:echo 2001:db8:1:2ab::7"}));
    sandbox.sync(&moved).expect(0);
    assert_eq!(receiver.take()[1].target(), "/nas.example?2001:db8:1:2ab:1234:5678:9abc:def0");
    for (id, why) in [
        ("2001:db8::1", "has bits in the prefix of 64 bits"),
        ("::1/200", "prefix length"),
        ("nas", "end of an IPv6 address"),
    ] {
        let wrong = json!({"ipv6": [{"name": "nas.example", "interface_id": id}]});
        Sandbox::new().sync(&with(&config, &wrong)).expect(2).prints(why).prints("`interface_id` of nas.example");
    }
}

#[test]
fn h10_the_address_accepted_last() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let config = |ip: &str| {
        let token = r#"{"old": __OLDIP__, "text": "<__OLDIP__>"}"#;
        let more = json!({"index4": format!("shell:echo {ip}"), "token": token});
        with(&home(&receiver.url("/?old=__OLDIP__&new=__IP__")), &more)
    };
    let last = || receiver.take().pop().map(|one| (one.target().to_owned(), one.text().to_owned())).expect("a request");
    sandbox.sync(&config("203.0.113.1")).expect(0).never_prints("warning");
    assert_eq!(last(), ("/?old=&new=203.0.113.1".into(), r#"{"old":null,"text":"<>"}"#.into()));
    sandbox.sync(&config("203.0.113.2")).expect(0);
    let second = r#"{"old":"203.0.113.1","text":"<203.0.113.1>"}"#;
    assert_eq!(last(), ("/?old=203.0.113.1&new=203.0.113.2".into(), second.into()));
    let preview = sandbox.run(&["preview", "-c", "config.json", "--ip", "203.0.113.3"]).expect(0).stdout;
    assert!(preview.contains("old=203.0.113.2&new=203.0.113.3"), "{preview}");
}

/// What was sent without success was not accepted: the address before it stays the old one (E4).
#[test]
fn h10_a_failure_changes_nothing() {
    let receiver =
        Receiver::responding(|one| Response::status(if one.target().contains("new=203.0.113.2") { 500 } else { 200 }));
    let sandbox = Sandbox::new();
    let config = |ip: &str| {
        with(&home(&receiver.url("/?old=__OLDIP__&new=__IP__")), &json!({"index4": format!("shell:echo {ip}")}))
    };
    for (ip, code) in [("203.0.113.1", 0), ("203.0.113.2", 1), ("203.0.113.2", 1), ("203.0.113.3", 0)] {
        sandbox.sync(&config(ip)).expect(code);
    }
    let seen: Vec<String> = receiver.callbacks().iter().map(|one| one.target().to_owned()).collect();
    assert_eq!(
        seen[1..],
        ["/?old=203.0.113.1&new=203.0.113.2", "/?old=203.0.113.1&new=203.0.113.2", "/?old=203.0.113.1&new=203.0.113.3"]
    );
    // Without a cache nothing is known.
    Sandbox::new().sync(&with(&config("203.0.113.9"), &json!({"cache": false}))).expect(0);
    assert_eq!(receiver.callbacks().last().expect("a request").target(), "/?old=&new=203.0.113.9");
}
