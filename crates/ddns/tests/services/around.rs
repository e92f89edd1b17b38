//! H14 to H22: requests around the update, with receivers that answer what a test wants.

mod made;
mod shared;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::given::{home, with};
use crate::support::{Received, Receiver, Response, Sandbox};

/// One entry of a list, and what the answer of the step is.
const FOUND: &str = r#"{"list": [{"name": "home.example.com", "id": 17}, {"name": "www.example.com", "id": 18}]}"#;

/// An update of the record that one step finds.
fn config(receiver: &Receiver, more: &Value) -> Value {
    let step = json!({"id": "/find?name=__DOMAIN__", "in": "/list", "where": {"/name": "__DOMAIN__"},
        "take": {"/id": "__ID__"}});
    with(&with(&home(&receiver.url("/records/__ID__?ip=__IP__")), &json!({"before": step})), more)
}

/// The first step with these parts besides.
fn step(more: &Value) -> Value {
    let step = json!({"id": "/find?name=__DOMAIN__", "in": "/list", "where": {"/name": "__DOMAIN__"},
        "take": {"/id": "__ID__"}});
    with(&step, more)
}

/// Steps get this answer, everything else a 200.
fn finding(answer: &str) -> Receiver {
    let answer = answer.to_owned();
    Receiver::responding(move |request| {
        let is_step = request.target().starts_with("/find");
        if is_step { Response::with_body(200, &answer) } else { Response::status(200) }
    })
}

fn targets(receiver: &Receiver) -> Vec<String> {
    receiver.take().iter().map(|request| format!("{} {}", request.method(), request.target())).collect()
}

#[test]
fn h14_steps_go_before_an_update_and_only_where_it_is_sent() {
    let receiver = finding(FOUND);
    let sandbox = Sandbox::new();
    sandbox.sync(&config(&receiver, &json!({}))).expect(0);
    assert_eq!(targets(&receiver), ["GET /find?name=home.example.com", "GET /records/17?ip=203.0.113.7"]);
    sandbox.sync(&config(&receiver, &json!({}))).expect(0);
    assert_eq!(receiver.take().len(), 0, "it is up to date");
}

#[test]
fn h14_a_step_that_fails_sends_nothing_and_what_was_accepted_still_counts() {
    let fails = Arc::new(AtomicUsize::new(0));
    let so = Arc::clone(&fails);
    let receiver = Receiver::responding(move |request| match request.target().starts_with("/find") {
        true if so.load(Ordering::SeqCst) == 1 => Response::with_body(500, "<p>down for&nbsp;now</p>"),
        true => Response::with_body(200, FOUND),
        false => Response::status(200),
    });
    let (sandbox, first) = (Sandbox::new(), config(&receiver, &json!({})));
    sandbox.sync(&first).expect(0);
    receiver.take();
    fails.store(1, Ordering::SeqCst);
    let other = config(&receiver, &json!({"index4": "shell:echo 203.0.113.8"}));
    let run = sandbox.sync(&other).expect(1).prints("before 1 of 1 (GET http://127.0.0.1:");
    run.prints("500 Internal Server Error: `down for&nbsp;now`").prints("the update was not sent");
    assert_eq!(targets(&receiver), ["GET /find?name=home.example.com"]);
    // The address is as it was: nothing was sent that could have changed it.
    sandbox.sync(&first).expect(0);
    assert_eq!(receiver.take().len(), 0);
    fails.store(0, Ordering::SeqCst);
    sandbox.sync(&other).expect(0);
    assert_eq!(targets(&receiver).len(), 2);
}

#[test]
fn h15_h16_an_answer_that_is_wrong_sends_nothing_and_is_named() {
    let long = format!("{{\"list\": [], \"x\": \"{}\"}}", "x".repeat(1024 * 1024));
    let deep = format!("{{\"list\": {}{}}}", "[".repeat(1000), "]".repeat(1000));
    let found = r#"[{"name": "home.example.com", "id": 1}]"#;
    let deep_elsewhere = format!("{{\"x\": {}{}, \"list\": {found}}}", "[".repeat(1000), "]".repeat(1000));
    let many = format!("{{\"list\": [{}]}}", vec!["{}"; 10_001].join(","));
    let one = |entry: &str| format!("{{\"list\": [{entry}]}}");
    let named = |id: &str| one(&format!("{{\"name\": \"home.example.com\", \"id\": {id}}}"));
    let cases: Vec<(String, &str)> = vec![
        (long, "the response is larger than 1 MiB"),
        (deep, "nested deeper than 100 levels"),
        (deep_elsewhere, "nested deeper than 100 levels"),
        (many, "the list has more than 10000 entries"),
        ("<html>".to_owned(), "the response is not JSON"),
        (String::new(), "the response is not JSON"),
        ("{}".to_owned(), "the response has nothing at `/list`"),
        (r#"{"list": 5}"#.to_owned(), "`/list` of the response is not a list"),
        (r#"{"list": []}"#.to_owned(), "nothing matches /name home.example.com"),
        (r#"{"list": null}"#.to_owned(), "nothing matches /name home.example.com"),
        (one(r#"{"name": "other.example.com", "id": 1}"#), "nothing matches /name home.example.com"),
        (one(r#"{"name": "home.example.com"}"#), "the result has nothing at `/id`"),
        (one(r#"{"names": "home.example.com", "id": 1}"#), "no entry of the list has `/name`: correct `where`"),
        (named("null"), "the result has nothing at `/id`"),
        (named(r#"{"a": 1}"#), "`/id` of the result is an object"),
        (named(r#""a\nb""#), "`/id` of the result is not a single line"),
        (named(r#""..""#), "`/id` of the result is `..`, which would be another path"),
        (named(r#""""#), "`/id` of the result is empty"),
        (named(&format!("\"{}\"", "x".repeat(1025))), "`/id` of the result is longer than 1024 bytes"),
        (
            r#"{"list": {"error": "down", "id": 1}}"#.to_owned(),
            r#"not a list of entries: `{"error": "down", "id": 1}`"#,
        ),
        (r#"{"list": {"error": {"id": 1}}}"#.to_owned(), "the response is not a list of entries"),
        (
            one(r#"{"name": "HOME.example.com", "id": 1}, {"name": "home.example.com", "id": 2}"#),
            "2 entries match: id 1, id 2; delete all but one, or narrow `where` down",
        ),
    ];
    for (answer, expected) in cases {
        let receiver = finding(&answer);
        let run = Sandbox::new().sync(&config(&receiver, &json!({}))).expect(1);
        run.prints(expected).prints("before 1 of 1 (GET ").prints("; the update was not sent");
        assert_eq!(receiver.take().len(), 1, "{expected}");
    }
    let receiver = Receiver::responding(|_| {
        Response::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"a\":\"\xff\"}".to_vec())
    });
    Sandbox::new().sync(&config(&receiver, &json!({}))).expect(1).prints("the response is not UTF-8");
    let receiver =
        Receiver::responding(|_| Response::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"list\":[]}".to_vec()));
    Sandbox::new().sync(&config(&receiver, &json!({}))).expect(1).prints("the rest of the response did not arrive");
}

#[test]
fn h15_lists_are_read_as_services_write_them() {
    let entry = r#"{"name": "home.example.com", "id": 17}"#;
    let cases = [
        (format!("{{\"list\": [{entry}]}}"), "/list"),
        (format!("{{\"list\": {entry}}}"), "/list"),
        (format!("{{\"list\": {{\"17\": {entry}, \"18\": {{\"name\": \"x\"}}}}}}"), "/list"),
        (format!("[{entry}]"), ""),
        (format!("[{}]", entry.replace(".com", ".com.")), ""),
        (format!("[{entry}]{}", " ".repeat(1024 * 1024 - entry.len() - 2)), ""),
        (format!("{{\"a/b\": [[{entry}]]}}"), "/a~1b/0"),
    ];
    for (answer, list) in cases {
        let receiver = finding(&answer);
        Sandbox::new().sync(&config(&receiver, &json!({"before": step(&json!({"in": list}))}))).expect(0);
        assert_eq!(targets(&receiver)[1], "GET /records/17?ip=203.0.113.7", "{answer}");
    }
    let receiver = finding(r#"{"id": 17, "on": true, "n": 7}"#);
    let whole = json!({"id": "/find", "take": {"/id": "__ID__", "/on": "__ON__", "/n": "__N__"}});
    let token = json!("{\"on\": __ON__, \"n\": __N__, \"text\": \"__N__\"}");
    Sandbox::new().sync(&config(&receiver, &json!({"before": whole, "token": token}))).expect(0);
    let seen = receiver.take();
    assert_eq!(seen[1].text(), r#"{"on":true,"n":7,"text":"7"}"#, "a value keeps its type");
}

#[test]
fn h16_a_value_is_encoded_where_it_stands() {
    let receiver = finding(r#"{"list": [{"name": "home.example.com", "id": "a/b?c&d=e\"f"}]}"#);
    let plain = step(&json!({"headers": {}}));
    let more = json!({"before": plain, "token": {"id": "__ID__"}, "headers": {"X-Id": "__ID__"}});
    Sandbox::new().sync(&config(&receiver, &more)).expect(0);
    let update = &receiver.take()[1];
    assert_eq!(update.target(), "/records/a%2Fb%3Fc%26d%3De%22f?ip=203.0.113.7");
    assert_eq!(update.json(), json!({"id": "a/b?c&d=e\"f"}));
    assert_eq!(update.header("x-id"), Some("a/b?c&d=e\"f"));
}

#[test]
fn h14_a_step_is_redirected_within_its_origin_alone() {
    let elsewhere = finding(FOUND);
    let other = elsewhere.url("/find");
    let receiver = Receiver::responding(move |request| match request.target() {
        "/find?far" => Response::status(307).header("Location", &other),
        "/find?near" => Response::status(307).header("Location", "/find"),
        target if target.starts_with("/find") => Response::with_body(200, FOUND),
        _ => Response::status(200),
    });
    let to = |id: &str| config(&receiver, &json!({"before": step(&json!({"id": id}))}));
    Sandbox::new().sync(&to("/find?near")).expect(0);
    receiver.take();
    Sandbox::new().sync(&to("/find?far")).expect(1).prints("which is not followed").prints("before 1 of 1");
    assert_eq!((receiver.take().len(), elsewhere.take().len()), (1, 0));
    // The same where a value makes it another origin.
    let far = elsewhere.url("").replacen("http://", "", 1);
    let of_domain = json!({"ipv4": [{"name": "home.example.com", "extra": {"__HOST__": far}}]});
    // What would follow the update elsewhere stops it, too: it would be sent again and again.
    for (away, expected) in [
        (json!({"before": step(&json!({"id": "http://__HOST__/find"}))}), "it would go to http://"),
        (json!({"after": {"id": "http://__HOST__/after"}}), "`after` would go to http://"),
        (json!({"after": {"id": "http://__HOST____HOST__/after"}}), "`after`: "),
        (json!({"after": {"id": "/after", "headers": {"X-A": "__LINE__"}}, "line": "a\nb"}), "`after`: "),
    ] {
        let run = Sandbox::new().sync(&config(&receiver, &with(&of_domain, &away))).expect(1);
        run.prints(expected).prints("the update was not sent");
        assert_eq!((receiver.take().len(), elsewhere.take().len()), (0, 0));
    }
}

#[test]
fn h14_h16_g2_what_a_step_takes_as_a_secret_is_never_seen() {
    let receiver = Receiver::responding(|request: &Received| match request.target() {
        "/login" => Response::with_body(200, r#"{"session": "s3ss10n-0f-m1ne"}"#),
        _ => Response::with_body(403, "session s3ss10n-0f-m1ne has no rights"),
    });
    let login = json!({"id": "/login", "token": {"key": "k3y-k3y-k3y"}, "secret": {"/session": "__SESSION__"}});
    let more = json!({"before": login, "headers": {"X-Session": "__SESSION__"}, "id": receiver.url("/?ip=__IP__")});
    let sandbox = Sandbox::new();
    // The header is of the step, too, where it does not say otherwise: there the session is not known yet.
    sandbox.sync(&config(&receiver, &more)).expect(2).prints("step 1 uses __SESSION__, which no step before it takes");
    let mut more = more;
    more["before"]["headers"] = json!({});
    let file = sandbox.write("c.json", config(&receiver, &more).to_string());
    let file = file.to_str().expect("a path");
    for args in
        [&["--debug", "-c", file][..], &["preview", "-c", file], &["preview", "--lookup", "-c", file], &["history"]]
    {
        let run = sandbox.run(args).never_prints("s3ss10n").never_prints("k3y-k3y");
        assert!(args[0] != "preview" || run.stdout.contains("X-Session: "), "{}", run.stdout);
    }
    let session = receiver.take().into_iter().find(|request| request.target().starts_with("/?"));
    assert_eq!(session.expect("an update").header("x-session"), Some("s3ss10n-0f-m1ne"));
}

#[test]
fn h17_addresses_are_compared_and_not_texts() {
    let answer = r#"{"list": [{"name": "home.example.com", "id": 17, "to": "2001:0DB8:0::0007"}]}"#;
    let receiver = finding(answer);
    let same = json!({"before": step(&json!({"same": {"/to": "__IP__"}})), "ipv4": null, "ipv6": ["home.example.com"],
        "index6": "shell:echo 2001:db8::7"});
    let sandbox = Sandbox::new();
    sandbox.sync(&config(&receiver, &same)).expect(0).prints("already there");
    assert_eq!(receiver.take().len(), 1);
    sandbox.sync(&config(&receiver, &same)).expect(0);
    assert_eq!(receiver.take().len(), 0, "it counts as accepted");
    assert!(sandbox.run(&["history"]).stdout.contains("already there"));
    // In `expect`, too.
    let receiver = Receiver::responding(|_| Response::with_body(200, r#"{"to": "2001:db8:0::7"}"#));
    for (wanted, code) in [("__IP__", 0), ("x__IP__", 1)] {
        let expect = json!({"expect": {"accept": {"json": {"/to": wanted}}}});
        let config = with(&with(&home(&receiver.url("/?ip=__IP__")), &same), &expect);
        Sandbox::new().sync(&crate::support::given::without(config, "before")).expect(code);
    }
}

#[test]
fn h17_e4a_what_is_in_doubt_counts_as_there_when_nothing_can_arrive_any_more() {
    let address = Arc::new(Mutex::new("203.0.113.1".to_owned()));
    let now = Arc::clone(&address);
    let receiver = Receiver::responding(move |request| {
        if request.target().starts_with("/find") {
            let to = now.lock().expect("an address").clone();
            return Response::with_body(
                200,
                &format!(r#"{{"list": [{{"name": "home.example.com", "id": 1, "to": "{to}"}}]}}"#),
            );
        }
        // It is taken, and the response gets lost.
        "203.0.113.7".clone_into(&mut now.lock().expect("an address"));
        Response::Close
    });
    let more = json!({"before": step(&json!({"same": {"/to": "__IP__"}})), "timeout": 2});
    let sandbox = Sandbox::new();
    sandbox.sync(&config(&receiver, &more)).expect(1);
    assert_eq!(receiver.take().len(), 2);
    let began = std::time::Instant::now();
    let run = sandbox.sync(&config(&receiver, &more)).expect(0);
    run.prints("waiting: the service has this address, but an earlier request may still arrive")
        .prints("already there");
    assert!(began.elapsed().as_millis() >= 1900, "{:?}", began.elapsed());
    let seen = targets(&receiver);
    assert!(seen.len() == 2 && seen.iter().all(|target| target.starts_with("GET /find")), "{}", seen.len());
}

/// Some services write the name of the zone itself so.
#[test]
fn h15_null_in_an_entry_is_an_empty_text() {
    let receiver = finding(r#"{"list": [{"name": null, "id": 17}, {"id": 18}]}"#);
    let find = step(&json!({"where": {"/name": "__SUBDOMAIN__"}}));
    let more = json!({"before": find, "zone": "example.com", "ipv4": ["example.com"], "absent": {"id": "/new"}});
    Sandbox::new().sync(&config(&receiver, &more)).expect(0);
    assert_eq!(targets(&receiver)[1], "GET /records/17?ip=203.0.113.7");
}

#[test]
fn h15_a_further_page_is_asked_for_in_place_of_the_first() {
    let receiver = Receiver::responding(|request| match request.target() {
        target if target.contains("p%5Bn%5D=1") => Response::with_body(200, r#"{"list": [], "next": 2}"#),
        target if target.starts_with("/find") => Response::with_body(200, FOUND),
        _ => Response::status(200),
    });
    let find = step(&json!({"id": "/find?p%5Bn%5D=1&size=9", "next": {"at": "/next", "as": "p[n]"}}));
    Sandbox::new().sync(&config(&receiver, &json!({"before": find}))).expect(0);
    assert_eq!(targets(&receiver)[..2], ["GET /find?p%5Bn%5D=1&size=9", "GET /find?size=9&p[n]=2"]);
}

#[test]
fn h17_a_taken_number_agrees_with_the_number_in_a_response() {
    let receiver = Receiver::responding(|request| {
        let is_step = request.target().starts_with("/find");
        Response::with_body(200, if is_step { FOUND } else { r#"{"id": 17, "on": true}"# })
    });
    for (wanted, code) in [("__ID__", 0), ("__OTHER__", 1), ("17", 1), ("0__ID__", 1)] {
        let take = json!({"take": {"/id": "__ID__"}});
        let expect = json!({"accept": {"json": {"/id": wanted, "/on": "__ON__"}}});
        let more = json!({"before": step(&take), "expect": expect, "extra": {"__OTHER__": 18, "__ON__": true}});
        Sandbox::new().sync(&config(&receiver, &more)).expect(code);
    }
}

#[test]
fn h22_preview_asks_once_for_all_names_and_counts_what_would_be_sent() {
    let list = r#"[{"name": "a.example.com", "id": 1, "to": "203.0.113.7"}, {"name": "b.example.com", "id": 2, "to": "192.0.2.1"}]"#;
    let receiver = Receiver::responding(move |request| match request.target() {
        "/login" => Response::with_body(200, r#"{"session": "abcdefgh"}"#),
        _ => Response::with_body(200, list),
    });
    let find = json!({"id": "/find", "headers": {"X-Session": "__SESSION__"}, "in": "", "where": {"/name": "__DOMAIN__"},
        "same": {"/to": "__IP__"}, "take": {"/id": "__ID__"}});
    let login = json!({"id": "/login", "secret": {"/session": "__SESSION__"}});
    let more = json!({"ipv4": ["a.example.com", "b.example.com", "c.example.com"], "before": [login, find]});
    let sandbox = Sandbox::new().configure(&config(&receiver, &more));
    let run = sandbox.run(&["preview", "--lookup", "--wide"]).expect(1);
    assert_eq!(targets(&receiver), ["GET /login", "GET /find"]);
    for text in ["the service already has this address", "/records/2?ip=203.0.113.7", "would send 1 of 3 updates"] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    assert_eq!(run.stdout.matches("would be sent").count(), 1, "{}", run.stdout);
}

#[test]
fn h16_what_a_refused_login_says_is_shown_where_it_holds_no_secret() {
    let login = json!({"id": "/find", "method": "POST", "secret": {"/data/session": "__SESSION__"},
        "expect": {"accept": {"json": {"/status": "success"}}, "stop": {"json": {"/code": 4013}}}});
    let more = json!({"before": login, "id": "/u/__SESSION__?ip=__IP__"});
    for (status, answer, is_shown) in [
        (200, r#"{"status": "error", "code": 1, "message": "maintenance", "data": ""}"#, true),
        (200, r#"{"status": "error", "code": 4013, "message": "maintenance"}"#, true),
        (200, r#"{"status": "error", "code": 1, "message": "maintenance", "data": {"session": "s3cret"}}"#, false),
        (200, "maintenance", false),
        (401, "maintenance", true),
        (401, r#"{"message": "maintenance", "data": {"session": ""}}"#, true),
        (401, r#"{"message": "maintenance", "data": {"session": "s3cret"}}"#, false),
    ] {
        let (receiver, sandbox) = (Receiver::responding(move |_| Response::with_body(status, answer)), Sandbox::new());
        let run = sandbox.sync(&with(&config(&receiver, &more), &json!({"endpoint": receiver.url("/")}))).expect(1);
        assert_eq!(run.stderr.contains("maintenance"), is_shown, "{answer}: {}", run.stderr);
        run.never_prints("s3cret");
    }
}

#[test]
fn h16_g2_no_message_names_what_a_step_takes_as_a_secret() {
    let two = r#"{"list": [{"name": "home.example.com", "key": "s3cret-one"}, {"name": "home.example.com", "key": "s3cret-two"}]}"#;
    let secret = json!({"take": {}, "secret": {"/key": "__ID__"}});
    let receiver = finding(two);
    let run = Sandbox::new().sync(&config(&receiver, &json!({"before": step(&secret)}))).expect(1);
    run.prints("2 entries match").never_prints("s3cret");
    // An answer that is refused may hold one all the same.
    let refused = with(&secret, &json!({"expect": {"accept": {"json": {"/ok": true}}}}));
    let sandbox = Sandbox::new();
    let run = sandbox.sync(&config(&receiver, &json!({"before": step(&refused)}))).expect(1);
    run.prints("200 OK").never_prints("s3cret");
    assert!(!sandbox.run(&["history"]).never_prints("s3cret").stdout.contains("s3cret"));
    let looked = sandbox.run(&["preview", "--lookup"]).never_prints("s3cret");
    assert!(!looked.stdout.contains("s3cret"), "{}", looked.stdout);
    let run = finding(r#"{"list": [], "next": {"page": 2}}"#);
    let next = json!({"next": {"at": "/next", "as": "page"}});
    let run = Sandbox::new().sync(&config(&run, &json!({"before": step(&next), "absent": {"id": "/new"}}))).expect(1);
    run.prints("the value that asks for the next page is not a single line");
}

#[test]
fn h14_what_cannot_be_right_is_an_error_with_its_place() {
    let receiver = Receiver::new();
    let cases = [
        (json!({"before": step(&json!({"id": "https://other.example/find"}))}), "which is not the origin of `id`"),
        (json!({"before": step(&json!({"id": "https://other.example/find"}))}), "`before`: step 1 goes to"),
        (json!({"absent": {"id": "https://other.example/new"}}), "`absent` goes to https://other.example"),
        (
            json!({"after": {"id": "http://__G__:9/x"}, "extra": {"__G__": "s3cret.example"}}),
            "`after` goes to http://__G__:9, which is not the origin of `id`",
        ),
        (json!({"before": step(&json!({"in": "list"}))}), "`list` is not a JSON pointer"),
        (json!({"before": step(&json!({"take": {"id": "__ID__"}}))}), "`id` is not a JSON pointer"),
        (json!({"before": step(&json!({"take": {"/id": "ID"}}))}), "`ID` is not of the form `__NAME__`"),
        (json!({"before": step(&json!({"take": {"/id": "__IP__"}}))}), "`__IP__` is a built-in placeholder"),
        (json!({"before": step(&json!({"take": {"/id": "__ZONE__"}}))}), "`__ZONE__` is a built-in placeholder"),
        (json!({"extra": {"__ID__": "1"}}), "`__ID__` is also set in `extra`"),
        (json!({"before": step(&json!({"id": "/find/__ID__"}))}), "step 1 uses __ID__, which no step before it takes"),
        (json!({"before": step(&json!({"where": {"/a": "__ID__"}}))}), "step 1 uses __ID__"),
        (json!({"before": step(&json!({"expect": {"accept": {"json": {"/a": "__ID__"}}}}))}), "step 1 uses __ID__"),
        (
            json!({"absent": {"id": "/new"}, "expect": {"accept": {"json": {"/id": "__ID__"}}}}),
            "`absent` uses __ID__, which has no value",
        ),
        (json!({"before": {"id": "/find", "take": {"/id": "__ID__"}, "total": "/t"}}), "`in` says where it is"),
        (
            json!({"before": {"id": "/find", "take": {"/id": "__ID__"}, "next": {"at": "/n", "as": "page"}}}),
            "`in` says where it is",
        ),
        (json!({"absent": {"id": "/new/__ID__"}}), "`absent` uses __ID__, which has no value"),
        (
            json!({"before": step(&json!({"take": {"/id": "__ID__", "/ttl": "__TTL__"}})), "absent": {"id": "/new/__TTL__"}}),
            "`absent` uses __TTL__, which has no value",
        ),
        (
            json!({"before": step(&json!({"id": "/find/__LINE__", "take": {"/id": "__ID__", "/l": "__LINE__"}}))}),
            "step 1 uses __LINE__, which no step before it takes",
        ),
        (json!({"before": step(&json!({"keep": "1d", "same": {"/a": "__IP__"}}))}), "leave out `keep`"),
        (json!({"before": step(&json!({"keep": "1d", "not": {"/a": "__IP__"}}))}), "leave out `keep`"),
        (json!({"before": step(&json!({"keep": "5s"}))}), "a time from 10 s to 30 days"),
        (json!({"before": step(&json!({"method": "DELETE"}))}), "`method` must be GET or POST"),
        (json!({"before": step(&json!({"wher": {}}))}), "did you mean `where`?"),
        (json!({"before": step(&json!({"where": {"/name": "__DOMIAN__"}}))}), "did you mean __DOMAIN__?"),
        (json!({"before": step(&json!({"not": {"/a": "__ZONE__"}}))}), "`not`: __ZONE__ is not a placeholder"),
        (json!({"before": step(&json!({"where": {"/name": "__HOST__"}}))}), "set `zone`"),
        (json!({"before": step(&json!({"next": {"at": "/a"}}))}), "an object with `at` and `as`"),
        (json!({"before": step(&json!({"expect": "dyndns2"}))}), "`expect` of a step must be an object"),
        (json!({"before": vec![step(&json!({})); 4]}), "`before` has 4 steps; at most 3 are allowed"),
        (json!({"before": [step(&json!({})), step(&json!({}))]}), "`__ID__` is taken twice"),
        (
            json!({"before": null, "absent": {"id": "/new"}, "id": receiver.url("/?__IP__")}),
            "no effect without `before`",
        ),
        (json!({"expect": {"none": {"status": 404}}}), "`none` has no meaning here"),
        (json!({"id": "http://__ID__/"}), "`id`: the host must not come from a step"),
        (
            json!({"before": [step(&json!({})), {"id": "http://__ID__/"}]}),
            "`before`: step 2: the host must not come from",
        ),
        (json!({"after": {"id": "http://h__ID__/"}}), "`after`: the host must not come from a step"),
        (json!({"notify": {"id": receiver.url("/n"), "before": {"id": "/x"}}}), "has no `before`"),
        (
            json!({"ipv6": ["home.example.com"], "index6": "shell:echo 2001:db8::7", "combine": {"domains": 2}}),
            "is ambiguous",
        ),
    ];
    for (more, expected) in cases {
        let run = Sandbox::new().sync(&config(&receiver, &more)).expect(2);
        run.prints(expected);
    }
    assert_eq!(receiver.take().len(), 0);
}

#[test]
fn h14_everything_is_seen_before_it_is_sent() {
    let receiver = finding(FOUND);
    let more = json!({"absent": {"method": "POST", "id": "/records"}, "after": {"method": "POST", "id": "/refresh"},
        "headers": {"Authorization": "Bearer s3cr3t-t0ken"}});
    let sandbox = Sandbox::new().configure(&config(&receiver, &more));
    let run = sandbox.run(&["preview"]).expect(0).never_prints("s3cr3t");
    let parts = ["before 1 of 1: GET", "the update: GET", "where nothing is found: POST", "after: POST"];
    let places = parts.map(|text| run.stdout.find(text).unwrap_or_else(|| panic!("{text}: {}", run.stdout)));
    assert!(places.is_sorted() && run.stdout.contains("/records/__ID__?ip=203.0.113.7"), "{}", run.stdout);
    assert!(run.stdout.contains("ddns asks the service for __ID__ first. --lookup does so now."), "{}", run.stdout);
    let curl = sandbox.run(&["preview", "--curl"]).expect(0);
    assert_eq!(curl.stdout.matches("curl -q").count(), 4, "{}", curl.stdout);
    let json: Value = sandbox.run(&["preview", "--json"]).expect(0).json();
    assert_eq!(json[0]["requests"].as_array().map(Vec::len), Some(4));
    assert_eq!(receiver.take().len(), 0, "nothing was sent");
    for other in ["--json", "--curl"] {
        sandbox.run(&["preview", "--lookup", other]).expect(2).prints("only works with text output");
    }
    assert_eq!(receiver.take().len(), 0, "nor is it where it could not be shown");
    let run = sandbox.run(&["preview", "--lookup"]).expect(0);
    for text in ["__ID__ 17", "/records/17?ip=203.0.113.7", "No update was sent."] {
        assert!(run.stdout.contains(text), "{}", run.stdout);
    }
    assert_eq!(targets(&receiver), ["GET /find?name=home.example.com"]);
    // Where everything is up to date, it says so.
    sandbox.run(&[]).expect(0);
    receiver.take();
    sandbox.run(&["preview", "--lookup"]).expect(0).shows("the service was not asked: the update is up to date");
    assert_eq!(receiver.take().len(), 0);
    sandbox.run(&["check"]).expect(0).never_prints("s3cr3t").shows("before").shows("absent");
    let empty = finding(r#"{"list": []}"#);
    sandbox.write("config.json", config(&empty, &json!({})).to_string());
    sandbox.run(&["preview", "--lookup", "--wide"]).expect(1).shows("nothing matches /name home.example.com");
}
