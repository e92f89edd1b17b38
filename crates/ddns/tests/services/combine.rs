//! H7: several updates in one request.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::given::{home, with};
use crate::support::watching::{SOON, Watch, host, status, until};
use crate::support::{Receiver, Response, Sandbox};

fn both(receiver: &Receiver, more: &Value) -> Value {
    let base = json!({
        "index4": receiver.index4(), "index6": receiver.index6(),
        "ipv4": ["home.example.com"], "ipv6": ["home.example.com"],
        "combine": {"families": true},
    });
    with(&with(&home(&receiver.url("/?d=__DOMAIN__&a=__IPV4__&aaaa=__IPV6__&all=__IPS__")), &base), more)
}

fn targets(receiver: &Receiver) -> Vec<String> {
    receiver.take().iter().map(|one| one.target().to_owned()).collect()
}

#[test]
fn h7_both_families_go_in_one_request_and_are_known_after_it() {
    let receiver = Receiver::new();
    let (sandbox, config) = (Sandbox::new(), both(&receiver, &json!({})));
    let run = sandbox.sync(&config).expect(0);
    run.prints("home.example.com A 203.0.113.7: accepted").prints("home.example.com AAAA 2001:db8::7: accepted");
    let whole = "/?d=home.example.com&a=203.0.113.7&aaaa=2001:db8::7&all=203.0.113.7,2001:db8::7";
    assert_eq!(targets(&receiver), [whole]);
    sandbox.sync(&config).expect(0);
    assert!(targets(&receiver).is_empty(), "both are known");
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(0).prints("2 accepted");
    assert_eq!(targets(&receiver), [whole.replace("203.0.113.7", "203.0.113.8")], "one that changed sends both");
}

#[test]
fn h7_a_failure_is_one_of_all_members() {
    let fails = Arc::new(AtomicUsize::new(1));
    let receiver = Receiver::responding({
        let fails = Arc::clone(&fails);
        move |_| Response::status(if fails.load(Ordering::SeqCst) > 0 { 500 } else { 200 })
    });
    let (sandbox, config) = (Sandbox::new(), both(&receiver, &json!({})));
    sandbox.sync(&config).expect(1).prints("2 failed");
    fails.store(0, Ordering::SeqCst);
    sandbox.sync(&config).expect(0).prints("2 accepted");
    assert_eq!(targets(&receiver).len(), 2);
}

#[test]
fn h7_missing_stands_in_the_place_of_a_family_without_an_address() {
    let receiver = Receiver::new();
    let gone = json!({"index6": format!("url:{}", receiver.url("/nothing"))});
    let sandbox = Sandbox::new();
    let run = sandbox.sync(&both(&receiver, &gone)).expect(1);
    run.prints("1 update not sent").prints("combine.missing").prints("1 failed").prints("1 without an address");
    let sent = || -> Vec<String> { targets(&receiver).into_iter().filter(|target| target.starts_with("/?")).collect() };
    assert!(sent().is_empty());
    let config = with(&both(&receiver, &gone), &json!({"combine": {"families": true, "missing": "preserve"}}));
    sandbox.sync(&config).expect(1).prints("1 accepted");
    assert_eq!(sent(), ["/?d=home.example.com&a=203.0.113.7&aaaa=preserve&all=203.0.113.7"]);
    let back = with(&config, &json!({"index6": receiver.index6()}));
    sandbox.sync(&back).expect(0);
    assert_eq!(sent(), ["/?d=home.example.com&a=203.0.113.7&aaaa=2001:db8::7&all=203.0.113.7,2001:db8::7"]);
}

/// `missing` was sent in the place of an address that the endpoint has no more then.
#[test]
fn h7_after_missing_was_sent_the_address_that_returns_is_sent_again() {
    let receiver =
        Receiver::responding(|request| Response::status(if request.target() == "/nothing" { 404 } else { 200 }));
    let base = both(&receiver, &json!({"combine": {"families": true, "missing": ""}}));
    let gone = with(&base, &json!({"index6": format!("url:{}", receiver.url("/nothing"))}));
    let sandbox = Sandbox::new();
    let run = |config: &Value, ip: &str, code| {
        receiver.set_ip(ip);
        sandbox.sync(config).expect(code);
        let all = targets(&receiver).into_iter().filter(|target| target.starts_with("/?"));
        all.map(|target| target.replace("/?d=home.example.com&", "").replace("203.0.113.", "")).collect::<Vec<_>>()
    };
    run(&base, "203.0.113.7", 0);
    assert_eq!(run(&gone, "203.0.113.8", 1), ["a=8&aaaa=&all=8"]);
    assert_eq!(run(&base, "203.0.113.8", 0), ["a=8&aaaa=2001:db8::7&all=8,2001:db8::7"]);
    assert!(run(&base, "203.0.113.8", 0).is_empty());
    // Nothing was sent: what was accepted counts.
    let unsent = json!({"proxy": "http://127.0.0.1:9"});
    receiver.set_ip("203.0.113.9");
    sandbox.sync(&with(&with(&gone, &unsent), &json!({"index4": "shell:echo 203.0.113.9"}))).expect(1);
    assert!(run(&base, "203.0.113.8", 0).is_empty());
    // Sent with another callback in its place: the same holds.
    let path = "/?d=__DOMAIN__&a=__IPV4__&aaaa=__IPV6__&all=__IPS__&k=2";
    let other = with(&gone, &json!({"id": receiver.url(path)}));
    assert_eq!(run(&other, "203.0.113.8", 1), ["a=8&aaaa=&all=8&k=2"]);
    assert_eq!(run(&base, "203.0.113.8", 0), ["a=8&aaaa=2001:db8::7&all=8,2001:db8::7"]);
}

/// Both families are stopped, and one has another address: the request has both.
#[test]
fn h7_the_address_of_a_family_that_is_stopped_is_sent_along() {
    let says = Arc::new(Mutex::new("nohost".to_owned()));
    let receiver = Receiver::responding({
        let says = Arc::clone(&says);
        move |_| Response::with_body(200, &says.lock().unwrap())
    });
    let expect = json!({"expect": {"stop": {"body": "nohost", "until": "address"}, "accept": "good"}});
    for combine in [json!({"families": true}), json!({"families": true, "missing": "", "domains": 3})] {
        "nohost".clone_into(&mut says.lock().unwrap());
        receiver.set_ip("203.0.113.7");
        let id = json!({"id": receiver.url("/?a=__IPV4__&aaaa=__IPV6__")});
        let config = with(&with(&both(&receiver, &expect), &id), &json!({"combine": combine}));
        let sandbox = Sandbox::new();
        sandbox.sync(&config).expect(1);
        sandbox.sync(&config).expect(1).prints("2 stopped");
        assert_eq!(targets(&receiver), ["/?a=203.0.113.7&aaaa=2001:db8::7"]);
        receiver.set_ip("203.0.113.8");
        sandbox.sync(&config).expect(1);
        assert_eq!(targets(&receiver), ["/?a=203.0.113.8&aaaa=2001:db8::7"], "{combine}");
        "good".clone_into(&mut says.lock().unwrap());
        receiver.set_ip("203.0.113.9");
        sandbox.sync(&config).expect(0).prints("2 accepted");
        assert_eq!(targets(&receiver), ["/?a=203.0.113.9&aaaa=2001:db8::7"]);
        sandbox.sync(&config).expect(0);
        assert!(targets(&receiver).is_empty(), "both are known");
    }
}

/// Without `missing`, nothing can be sent: that is not up to date.
#[test]
fn h7_i6_an_update_that_lacks_the_other_address_has_no_address() {
    let receiver = Receiver::new();
    let sandbox = host();
    let watch = Watch::start(&sandbox, &both(&receiver, &json!({"index6": "cmd:false"})));
    watch.prints("the other address is missing");
    let (report, code) = status(&sandbox);
    let states = [0, 1].map(|at| report["updates"][at]["state"].as_str().expect("a state"));
    assert_eq!((code, states), (1, ["no_address"; 2]), "{report:#}");
    let shown = sandbox.run(&["status", "-c", "config.json"]).stdout;
    assert!(shown.contains("no address of the other family"), "{shown}");
    watch.stop();
}

/// One of two is stopped, and what is sent for the other fails: it was sent again and again, without an end.
#[test]
fn h7_what_is_stopped_does_not_send_the_others_again() {
    let says = Arc::new(Mutex::new((200, "good\nnohost\n".to_owned())));
    let receiver = Receiver::responding({
        let says = Arc::clone(&says);
        move |_| {
            let (status, words) = &*says.lock().unwrap();
            Response::with_body(*status, words)
        }
    });
    let config = with(
        &home(&receiver.url("/?h=__DOMAINS__&ip=__IP__")),
        &json!({
            "index4": receiver.index4(), "expect": "dyndns2", "combine": {"domains": 20},
            "ipv4": ["a.example.com", "b.example.com"],
        }),
    );
    let sandbox = Sandbox::new();
    sandbox.sync(&config).expect(1).prints("1 accepted");
    assert_eq!(targets(&receiver).len(), 1);
    receiver.set_ip("203.0.113.8");
    for (status, words) in [(500, "out of order"), (200, "good")] {
        *says.lock().unwrap() = (status, words.to_owned());
        sandbox.sync(&config).expect(1);
        assert_eq!(targets(&receiver), ["/?h=a.example.com&ip=203.0.113.8"], "{words}");
    }
}

#[test]
fn h7_domains_of_equal_addresses_go_together_up_to_a_number() {
    let receiver = Receiver::new();
    let names: Vec<String> = (0..5).map(|number| format!("d{number}.example.com")).collect();
    let config = with(
        &home(&receiver.url("/?h=__DOMAINS__&ip=__IP__")),
        &json!({"index4": receiver.index4(), "ipv4": names, "combine": {"domains": 2}}),
    );
    let sandbox = Sandbox::new();
    sandbox.sync(&config).expect(0).prints("5 accepted");
    let mut sent = targets(&receiver);
    sent.sort();
    let expected = [
        "/?h=d0.example.com,d1.example.com&ip=203.0.113.7",
        "/?h=d2.example.com,d3.example.com&ip=203.0.113.7",
        "/?h=d4.example.com&ip=203.0.113.7",
    ];
    assert_eq!(sent, expected);
    let own =
        json!({"ipv4": [names[0], {"name": names[1], "extra": {"__K__": "x"}}, names[2]], "combine": {"domains": 9}});
    let id = json!({"id": receiver.url("/?h=__DOMAINS__&ip=__IP__&k=__K__"), "extra": {"__K__": "all"}});
    Sandbox::new().sync(&with(&with(&config, &own), &id)).expect(0);
    let mut sent = targets(&receiver);
    sent.sort();
    let expected = ["/?h=d0.example.com,d2.example.com&ip=203.0.113.7&k=all", "/?h=d1.example.com&ip=203.0.113.7&k=x"];
    assert_eq!(sent, expected, "those with values of their own go by themselves");
}

#[test]
fn h7_dyndns2_judges_each_domain_by_its_line_and_leaves_out_what_is_stopped() {
    let says = Arc::new(Mutex::new("good\nnohost\ngood\n".to_owned()));
    let receiver = Receiver::responding({
        let says = Arc::clone(&says);
        move |_| Response::with_body(200, &says.lock().unwrap())
    });
    let config = with(
        &home(&receiver.url("/?h=__DOMAINS__&ip=__IP__")),
        &json!({
            "index4": receiver.index4(), "expect": "dyndns2", "combine": {"domains": 20},
            "ipv4": ["a.example.com", "b.example.com", "c.example.com"],
        }),
    );
    let sandbox = Sandbox::new();
    let run = sandbox.sync(&config).expect(1);
    run.prints("a.example.com A 203.0.113.7: accepted")
        .prints("b.example.com A 203.0.113.7: stopped")
        .prints("2 accepted");
    targets(&receiver);
    *says.lock().unwrap() = "good\ngood\n".to_owned();
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1).prints("2 accepted").prints("1 stopped");
    assert_eq!(targets(&receiver), ["/?h=a.example.com,c.example.com&ip=203.0.113.8"]);
}

#[test]
fn h7_placeholders_without_a_single_meaning_are_errors() {
    let receiver = Receiver::new();
    for (combine, id) in [
        (json!({"families": true}), "/?ip=__IP__"),
        (json!({"families": true}), "/?t=__RECORDTYPE__&a=__IPV4__"),
        (json!({"domains": 5}), "/?d=__DOMAIN__&ip=__IP__"),
        (json!({"domains": 5}), "/?old=__OLDIP__&ip=__IP__&d=__DOMAINS__"),
    ] {
        let config = both(&receiver, &json!({"combine": combine, "id": receiver.url(id)}));
        Sandbox::new().sync(&config).expect(2).prints("is ambiguous");
    }
    for wrong in [
        json!({"families": 1}),
        json!({"domains": 0}),
        json!({"domains": 1001}),
        json!({"missing": 1}),
        json!({"x": 1}),
    ] {
        Sandbox::new().sync(&both(&receiver, &json!({"combine": wrong}))).expect(2).prints("`combine");
    }
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn h7_preview_shows_one_request_for_all_members() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", both(&receiver, &json!({})).to_string());
    let shown = sandbox.run(&["preview", "-c", "config.json", "--show-secrets", "--yes", "--wide"]).expect(0).stdout;
    assert_eq!(shown.matches("?d=home.example.com&a=203.0.113.7&aaaa=2001:db8::7").count(), 1, "{shown}");
    assert!(shown.contains("sent in one request with another update"), "{shown}");
    let curl = sandbox.run(&["preview", "-c", "config.json", "--curl"]).expect(0).stdout;
    assert_eq!(curl.matches("curl ").count(), 1, "{curl}");
}

#[test]
fn h7_a_service_sends_both_when_one_family_changes_and_shows_both() {
    let sandbox = host();
    let receiver = Receiver::new();
    let watch = Watch::start(&sandbox, &both(&receiver, &json!({"interval": "30s"})));
    until(SOON, "the first request", || receiver.callbacks().len() == 1);
    receiver.set_ip("203.0.113.8");
    sandbox.run(&["sync"]).expect(0);
    assert_eq!(receiver.callbacks().len(), 2);
    assert_eq!(
        receiver.callbacks()[1].target(),
        "/?d=home.example.com&a=203.0.113.8&aaaa=2001:db8::7&all=203.0.113.8,2001:db8::7"
    );
    let (report, code) = status(&sandbox);
    assert_eq!((code, report["updates"].as_array().map(Vec::len)), (0, Some(2)));
    drop(watch);
}

#[test]
fn h6_a_combined_request_that_is_held_back_counts_all_of_its_updates() {
    let receiver = Receiver::new();
    let (sandbox, config) = (Sandbox::new(), both(&receiver, &json!({"min_interval": "1h"})));
    sandbox.sync(&config).expect(0);
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(1).prints("2 held back");
    assert_eq!(targets(&receiver).len(), 1);
}

/// Somebody tries it with one domain first.
#[test]
fn h7_domains_has_a_value_also_with_one_domain_in_a_request() {
    let receiver = Receiver::new();
    let more = json!({"ipv4": ["a.example", "b.example"], "combine": {"domains": 1}, "index4": receiver.index4()});
    let id = receiver.url("/?d=__DOMAIN__&all=__DOMAINS__&before=__OLDIP__");
    Sandbox::new().sync(&with(&home(&id), &more)).expect(0).never_prints("not a placeholder");
    let mut sent = targets(&receiver);
    sent.sort();
    assert_eq!(sent, ["/?d=a.example&all=a.example&before=", "/?d=b.example&all=b.example&before="]);
}

#[test]
fn h7_a_text_in_place_of_the_object_is_named() {
    let more = json!({"combine": "families"});
    let run = Sandbox::new().sync(&with(&home("http://127.0.0.1:9/"), &more)).expect(2);
    run.prints("`combine` must be an object with `families`, `domains` and `missing`, not a string");
}
