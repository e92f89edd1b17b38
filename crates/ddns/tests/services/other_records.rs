//! H12, H15, H17 and H19: records beside the one that a recipe updates, and answers that get lost. A receiver in the place of the
//! service keeps the records.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::recipes::{IPV4, init};
use crate::support::given::{home, with};
use crate::support::{Receiver, Response, Sandbox};

/// A sandbox with the configuration of a recipe for `home.example.com` at this receiver.
fn by_recipe(receiver: &Receiver, recipe: (&str, &str), answers: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let answers: Vec<&str> = answers.iter().flat_map(|answer| ["--set", answer]).collect();
    init(&sandbox, receiver, recipe, &[&IPV4[..], &answers].concat()).expect(0);
    // No test asks the DNS of this host.
    let text = sandbox.read("config.json").replace("\"verify\": true", "\"verify\": false, \"timeout\": 1");
    sandbox.write("config.json", text);
    sandbox
}

/// What was sent to change something.
fn changes(receiver: &Receiver) -> Vec<String> {
    let all = receiver.take().into_iter().filter(|request| request.method() != "GET");
    all.map(|request| format!("{} {} {}", request.method(), request.target(), request.text())).collect()
}

/// Ids and addresses.
type SharedRecords = Arc<Mutex<Vec<(String, String)>>>;

/// Netlify as far as it matters: records have ids, and are created and deleted. The responses of these methods get lost once.
fn netlify(values: &[&str], lost: Vec<&'static str>) -> (Receiver, SharedRecords) {
    let records: Vec<_> = values.iter().zip(1..).map(|(value, id)| (format!("r{id}"), (*value).to_owned())).collect();
    let records = Arc::new(Mutex::new(records));
    let made = AtomicUsize::new(0);
    let (kept, troubles) = (Arc::clone(&records), Mutex::new(lost));
    let receiver = Receiver::responding(move |request| {
        let mut records = records.lock().expect("the records");
        let response = match (request.method(), request.target().ends_with("/dns_zones")) {
            ("GET", true) => Response::with_body(200, r#"[{"id": "z1", "name": "example.com"}]"#),
            ("GET", false) => {
                let shown = records.iter().map(|(id, value)| {
                    json!({"id": id, "hostname": "home.example.com", "type": "A", "value": value, "ttl": 300})
                });
                Response::with_body(200, &Value::from(shown.collect::<Vec<_>>()).to_string())
            }
            ("POST", _) => {
                let id = format!("n{}", made.fetch_add(1, Ordering::SeqCst));
                records.push((id, request.json()["value"].as_str().expect("an address").to_owned()));
                Response::with_body(201, "{}")
            }
            ("DELETE", _) => {
                let id = request.target().rsplit('/').next().unwrap_or_default();
                records.retain(|(known, _)| known != id);
                Response::status(204)
            }
            _ => Response::status(405),
        };
        let mut troubles = troubles.lock().expect("the troubles");
        match troubles.iter().position(|method| *method == request.method()) {
            Some(at) => {
                troubles.remove(at);
                Response::Close
            }
            None => response,
        }
    });
    (receiver, kept)
}

const NETLIFY: (&str, &str) = ("netlify", "api.netlify.com");

#[test]
fn h17_h19_a_lost_answer_makes_no_second_record_and_the_old_one_still_goes() {
    for lost in [vec!["POST"], vec!["DELETE"], vec!["POST", "DELETE"]] {
        let (receiver, records) = netlify(&["198.51.100.1"], lost.clone());
        let sandbox = by_recipe(&receiver, NETLIFY, &["token=t", "zone=example.com"]);
        let values = || records.lock().expect("the records").iter().map(|(_, it)| it.clone()).collect::<Vec<_>>();
        for _ in &lost {
            sandbox.run(&[]).expect(1);
            // Until then a late request of ours could undo what is found.
            thread::sleep(Duration::from_millis(1500));
        }
        sandbox.run(&[]).expect(0);
        assert_eq!(values(), ["203.0.113.7"], "{lost:?}");
        assert_eq!(changes(&receiver).iter().filter(|sent| sent.starts_with("POST")).count(), 1, "{lost:?}");
        // The next address needs no help.
        sandbox.run(&["--index4", "shell:echo 203.0.113.8"]).expect(0);
        assert_eq!(values(), ["203.0.113.8"], "{lost:?}");
    }
}

#[test]
fn h17_another_record_of_the_user_stays_where_ours_is_there() {
    for values in [["203.0.113.7", "198.51.100.2"], ["198.51.100.2", "203.0.113.7"]] {
        let (receiver, records) = netlify(&values, Vec::new());
        let sandbox = by_recipe(&receiver, NETLIFY, &["token=t", "zone=example.com"]);
        sandbox.run(&[]).expect(0).prints("already");
        assert_eq!(changes(&receiver), [""; 0]);
        // Which one is ours is not known: nothing is changed, and both are named.
        let run = sandbox.run(&["--index4", "shell:echo 203.0.113.8"]).expect(1);
        run.prints(&format!("2 entries match: id r1 ({}), id r2 ({});", values[0], values[1]));
        assert_eq!((changes(&receiver).len(), records.lock().expect("the records").len()), (0, 2));
    }
}

#[test]
fn h15_routeros_changes_no_entry_of_another_type() {
    for kind in ["CNAME", "FWD", "TXT", "MX", "AAAA"] {
        let entry = json!({".id": "*1", "name": "home.example.com", "type": kind, "ttl": "1d"});
        let receiver = Receiver::responding(move |request| match request.method() {
            "GET" => Response::with_body(200, &json!([entry]).to_string()),
            _ => Response::status(200),
        });
        // Its host is an answer.
        let server = format!("server=127.0.0.1:{}", receiver.port());
        let sandbox = by_recipe(&receiver, ("routeros", "help.mikrotik.com"), &[&server, "user=u", "password=p"]);
        sandbox.run(&[]).expect(0);
        let new = r#"{"name":"home.example.com","address":"203.0.113.7"}"#;
        assert_eq!(changes(&receiver), [format!("PUT /rest/ip/dns/static {new}")], "{kind}");
    }
}

#[test]
fn h17_a_set_with_several_values_is_refused_and_named() {
    let receiver = Receiver::responding(|request| match request.method() {
        "GET" => Response::with_body(200, r#"{"rrset_values": ["203.0.113.7", "198.51.100.2"], "rrset_ttl": 300}"#),
        _ => Response::status(201),
    });
    let sandbox = by_recipe(&receiver, ("gandi", "api.gandi.net"), &["token=t", "zone=example.com"]);
    let run = sandbox.run(&[]).expect(1);
    run.prints("`/rrset_values` has 2 values: 203.0.113.7, 198.51.100.2; an update would leave only the new one");
    assert_eq!(changes(&receiver), [""; 0]);
}

/// The same where a service has a list only for several values.
#[test]
fn h17_a_list_in_the_place_of_one_value_is_not_replaced() {
    let cases = [
        (r#"["198.51.100.1", "198.51.100.2"]"#, "`/content` has 2 values: 198.51.100.1, 198.51.100.2;"),
        (r#"["203.0.113.7", "198.51.100.2"]"#, "`/content` has 2 values"),
        (r#""198.51.100.1,198.51.100.2""#, "`/content` has 2 values: 198.51.100.1, 198.51.100.2;"),
        (r#"["203.0.113.7"]"#, "already there"),
        (r#"["198.51.100.1"]"#, "accepted"),
    ];
    for (content, said) in cases {
        let list = format!(r#"[{{"name": "home", "type": "A", "ttl": 300, "content": {content}}}]"#);
        let receiver = Receiver::responding(move |request| match request.method() {
            "GET" => Response::with_body(200, &list),
            _ => Response::with_body(200, r#"{"message": "ok"}"#),
        });
        let answers = ["user=u", "password=p", "zone=example.com"];
        let sandbox = by_recipe(&receiver, ("servercow", "api.servercow.de"), &answers);
        sandbox.run(&[]).expect(i32::from(said.contains("values"))).prints(said);
        assert_eq!(changes(&receiver).len(), usize::from(said == "accepted"), "{content}");
    }
}

#[test]
fn h17_the_addresses_of_a_record_are_compared_in_any_order() {
    let cases = [
        ("2001:db8:0::7,203.0.113.7", "already there"),
        ("198.51.100.1,198.51.100.2", "`/Data/Value` has 2 values"),
        ("198.51.100.1,2001:db8::1", "accepted"),
    ];
    for (value, said) in cases {
        let records = json!({"Records": [{"RecordId": 1, "RecordName": "home.example.com", "RecordType": "A/AAAA",
            "Data": {"Value": value}, "Ttl": 30, "Proxied": true}]});
        let receiver = Receiver::responding(move |request| match request.header("x-acs-action") {
            Some("ListSites") => Response::with_body(200, r#"{"Sites": [{"SiteId": 1, "SiteName": "example.com"}]}"#),
            Some("ListRecords") => Response::with_body(200, &records.to_string()),
            _ => Response::with_body(200, r#"{"RequestId": "x"}"#),
        });
        let sandbox = Sandbox::new();
        let answers = ["--set", "id=LTAI12345678", "--set", "secret=s", "--set", "zone=example.com"];
        let both = ["--ipv6", "home.example.com", "--index6", "shell:echo 2001:db8::7"];
        let aliesa = ("aliesa", "esa.cn-hangzhou.aliyuncs.com");
        init(&sandbox, &receiver, aliesa, &[&IPV4[..], &both, &answers].concat()).expect(0);
        sandbox.run(&[]).expect(i32::from(said.contains("values"))).prints(said);
        assert_eq!(changes(&receiver).len(), usize::from(said == "accepted"), "{value}");
    }
}

#[test]
fn h20_edgeone_changes_no_origin_group() {
    for (kind, code) in [("ORIGIN_GROUP", 1), ("IP_DOMAIN", 0)] {
        let domain = json!({"DomainName": "home.example.com", "OriginDetail": {"OriginType": kind, "Origin": "og-1"}});
        let receiver = Receiver::responding(move |request| {
            let response = match request.header("x-tc-action") {
                Some("DescribeZones") => json!({"Zones": [{"ZoneId": "zone-1", "ZoneName": "example.com"}]}),
                Some("DescribeAccelerationDomains") => json!({"AccelerationDomains": [domain]}),
                _ => json!({"RequestId": "r"}),
            };
            Response::with_body(200, &json!({"Response": response}).to_string())
        });
        let answers = ["id=AKIDEXAMPLE", "secret=s", "zone=example.com"];
        let sandbox = by_recipe(&receiver, ("edgeone", "teo.tencentcloudapi.com"), &answers);
        sandbox.run(&[]).expect(code);
        let sent = receiver.take();
        let changes = sent.iter().filter(|it| it.header("x-tc-action") == Some("ModifyAccelerationDomain"));
        assert_eq!(changes.count(), usize::from(code == 0), "{kind}");
    }
}

#[test]
fn h15_where_and_not_take_several_values_and_null_is_a_missing_one() {
    let list = r#"[{"id": 1, "kind": "b"}, {"id": 2}, {"id": 3, "kind": null}, {"id": 4, "kind": ["a"]}, {"id": 5, "kind": "A"}]"#;
    let cases = [
        (json!({"where": {"/kind": ["a", null]}, "not": {"/id": [2, 3]}}), Ok("5")),
        (json!({"where": {"/kind": ["x", "B"]}}), Ok("1")),
        (json!({"where": {"/kind": ["a"], "/id": 4}}), Ok("4")),
        (json!({"where": {"/kind": null}, "not": {"/id": 2}}), Ok("3")),
        (json!({"where": {"/kind": ["x", null], "/id": 9}}), Err("/kind x or missing")),
    ];
    for (more, expected) in cases {
        let receiver = Receiver::responding(move |request| match request.target() {
            "/find" => Response::with_body(200, list),
            _ => Response::status(200),
        });
        let step = with(&json!({"id": "/find", "in": "", "take": {"/id": "__ID__"}}), &more);
        let config = with(&home(&receiver.url("/records/__ID__?ip=__IP__")), &json!({"before": step}));
        let run = Sandbox::new().sync(&config);
        match expected {
            Ok(id) => {
                run.expect(0);
                assert_eq!(receiver.take()[1].target(), format!("/records/{id}?ip=203.0.113.7"), "{more}");
            }
            Err(why) => _ = run.expect(1).prints(why),
        }
    }
}

#[test]
fn h4_a_group_named_ip_must_be_the_address_that_was_sent() {
    for (text, code) in [("home (203.0.113.7) updated", 0), ("home (127.0.0.1) updated", 1), ("home () updated", 1)] {
        let receiver = Receiver::responding(move |_| Response::with_body(200, text));
        let sandbox = by_recipe(&receiver, ("goip", "www.goip.de"), &["user=u", "password=p"]);
        sandbox.run(&[]).expect(code);
        assert_eq!(receiver.take().len(), 1, "{text}");
    }
    // Of a request for both families, each address is one that was sent.
    for (text, code) in [("(2001:DB8:0::7)", 0), ("(203.0.113.7)", 0), ("(203.0.113.8)", 1)] {
        let receiver = Receiver::responding(move |_| Response::with_body(200, text));
        let both = json!({"ipv6": ["home.example.com"], "index6": "shell:echo 2001:db8::7", "combine": {"families": true},
            "expect": {"accept": r"\((?P<ip>[^)]*)\)"}});
        Sandbox::new().sync(&with(&home(&receiver.url("/?ips=__IPS__")), &both)).expect(code);
    }
}

#[test]
fn h12_h23_a_name_with_one_address_is_not_taken_for_both_families() {
    let answers = ["--set", "id=AKIDEXAMPLE", "--set", "secret=s", "--set", "zone=example.com"];
    let both = ["--ipv6", "home.example.com", "--index6", "shell:echo 2001:db8::7"];
    let receiver = Receiver::new();
    let edgeone = ("edgeone", "teo.tencentcloudapi.com");
    let sandbox = Sandbox::new();
    let run = init(&sandbox, &receiver, edgeone, &[&IPV4[..], &both, &answers].concat()).expect(2);
    run.prints("takes one address for home.example.com: name it for IPv4 or IPv6, not both");
    assert!(!sandbox.path("config.json").exists());
    // Two names are two hosts.
    let two = ["--ipv6", "www.example.com", "--index6", "shell:echo 2001:db8::7"];
    init(&sandbox, &receiver, edgeone, &[&IPV4[..], &two, &answers].concat()).expect(0);
    let file = with(
        &home("https://example.com/?d=__DOMAIN__&ip=__IP__"),
        &json!({"recipe": "edgeone@1", "ipv6": ["home.example.com"], "index6": "shell:echo 2001:db8::7"}),
    );
    sandbox.write("config.json", file.to_string());
    let check = sandbox.run(&["check", "-c", "config.json"]);
    let said = format!("{}{}", check.stdout, check.stderr);
    assert!(said.contains("takes one address for home.example.com: IPv4 and IPv6 replace each other"), "{said}");
}
