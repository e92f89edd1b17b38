//! H18 and H19: records that are made, and the request after an update.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{FOUND, config, finding, step, targets};
use crate::support::given::with;
use crate::support::watching::SOON;
use crate::support::{Receiver, Response, Sandbox};

/// A place that is mistyped, or that the service renamed, must not look like a record that is missing.
#[test]
fn h15_h18_a_place_that_no_entry_has_makes_no_record() {
    let absent = json!({"absent": {"id": "/new"}});
    for (answer, code) in [
        (r#"{"list": [{"host": "home.example.com", "id": 17}, {"host": "b.example.com", "id": 18}]}"#, 1),
        (r#"{"list": [{"host": "home.example.com", "id": 17}, {"name": "b.example.com", "id": 18}]}"#, 0),
        (r#"{"list": [{"name": null, "id": 17}]}"#, 1),
        (r#"{"list": []}"#, 0),
    ] {
        let receiver = finding(answer);
        Sandbox::new().sync(&config(&receiver, &absent)).expect(code);
        assert_eq!(receiver.take().len(), 2 - usize::try_from(code).expect("a status"), "{answer}");
    }
}

#[test]
fn h18_what_is_missing_is_made_and_shown_so() {
    let receiver = finding(r#"{"list": []}"#);
    let absent =
        json!({"absent": {"method": "POST", "id": "/records", "token": {"name": "__DOMAIN__", "ip": "__IP__"}}});
    let sandbox = Sandbox::new();
    sandbox.sync(&config(&receiver, &absent)).expect(0).prints("accepted: the record was created");
    let seen = receiver.take();
    assert_eq!(
        (seen[1].line.as_str(), seen[1].json()),
        ("POST /records HTTP/1.1", json!({"name": "home.example.com", "ip": "203.0.113.7"}))
    );
    assert!(sandbox.run(&["history"]).stdout.contains("the record was created"));
    // `none` of a step says the same by a status; an earlier step that finds nothing is a failure.
    let gone = Receiver::responding(|request| Response::status(if request.target() == "/zone" { 404 } else { 200 }));
    let none = json!({"id": "/zone", "take": {"/id": "__ID__"}, "expect": {"none": {"status": 404}}});
    let one = with(&absent, &json!({"before": none}));
    Sandbox::new().sync(&config(&gone, &one)).expect(0).prints("the record was created");
    gone.take();
    let two = with(&absent, &json!({"before": [none, {"id": "/find"}]}));
    Sandbox::new().sync(&config(&gone, &two)).expect(1).prints("before 1 of 2").prints("nothing was found");
    assert_eq!(gone.take().len(), 1);
}

/// The service is slow: it has the record after the time limit.
#[test]
fn h18_a_creation_without_a_response_is_not_repeated_while_it_may_still_arrive() {
    let made = Arc::new(Mutex::new(None::<Instant>));
    let receiver = Receiver::responding(move |request| {
        let mut made = made.lock().expect("not poisoned");
        if request.target().starts_with("/new") {
            made.get_or_insert_with(Instant::now);
            return Response::status(200).after(SOON);
        }
        let is_there = made.is_some_and(|made| made.elapsed() > Duration::from_millis(1700));
        Response::with_body(200, if is_there { FOUND } else { r#"{"list": []}"# })
    });
    let (sandbox, more) = (Sandbox::new(), json!({"absent": {"id": "/new?ip=__IP__"}, "timeout": 1}));
    let find = "GET /find?name=home.example.com";
    sandbox.sync(&config(&receiver, &more)).expect(1);
    assert_eq!(targets(&receiver), [find, "GET /new?ip=203.0.113.7"]);
    sandbox.sync(&config(&receiver, &more)).expect(0).prints("an earlier request may still create it");
    assert_eq!(targets(&receiver), [find, find, "GET /records/17?ip=203.0.113.7"]);
}

/// The list of the second run is from before the first one created the record.
#[test]
fn h18_two_runs_that_share_a_cache_create_a_record_once() {
    let made = Arc::new(AtomicUsize::new(0));
    let receiver = Receiver::responding(move |request| match request.target() {
        "/new" => {
            made.fetch_add(1, Ordering::SeqCst);
            Response::status(200)
        }
        target if target.starts_with("/find") => {
            let answer = if made.load(Ordering::SeqCst) > 0 { FOUND } else { r#"{"list": []}"# };
            Response::with_body(200, answer).after(Duration::from_millis(800))
        }
        _ => Response::status(200),
    });
    let sandbox = Sandbox::new().configure(&config(&receiver, &json!({"absent": {"id": "/new"}})));
    let mut first = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    thread::sleep(Duration::from_millis(400));
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert!(first.wait().expect("it has ended").success());
    let sent = targets(&receiver);
    assert_eq!(sent.iter().filter(|target| *target == "GET /new").count(), 1, "{sent:?}");
}

#[test]
fn h18_a_failing_creation_is_named_and_the_next_run_looks_again() {
    let receiver = Receiver::responding(|request| match request.target() {
        target if target.starts_with("/find") => Response::with_body(200, r#"{"list": []}"#),
        _ => Response::with_body(500, "no"),
    });
    let (sandbox, more) = (Sandbox::new(), json!({"absent": {"method": "POST", "id": "/new"}, "timeout": 1}));
    let find = "GET /find?name=home.example.com";
    // A gateway may say 500 while the service still creates it.
    for sent in [&[find, "POST /new"][..], &[find, find, "POST /new"]] {
        let run = sandbox.sync(&config(&receiver, &more)).expect(1);
        run.prints("creating the record (POST http://127.0.0.1:").prints("failed: 500");
        assert_eq!(targets(&receiver), sent);
    }
    let run = sandbox.sync(&config(&receiver, &with(&more, &json!({"cache": false})))).expect(1);
    run.prints("`cache` is off").prints("`absent`");
}

#[test]
fn h19_what_follows_an_update_is_part_of_it() {
    let status = Arc::new(AtomicUsize::new(500));
    let now = Arc::clone(&status);
    let receiver = Receiver::responding(move |request| match request.target() {
        "/refresh" => Response::status(u16::try_from(now.load(Ordering::SeqCst)).expect("a status")),
        target if target.starts_with("/find") => Response::with_body(200, FOUND),
        _ => Response::status(200),
    });
    let more = json!({"after": {"method": "POST", "id": "/refresh"}});
    let sandbox = Sandbox::new();
    let run = sandbox.sync(&config(&receiver, &more)).expect(1);
    run.prints("the update was accepted; after (POST http://127.0.0.1:").prints("failed: 500");
    let all = ["GET /find?name=home.example.com", "GET /records/17?ip=203.0.113.7", "POST /refresh"];
    assert_eq!(targets(&receiver), all);
    status.store(200, Ordering::SeqCst);
    sandbox.sync(&config(&receiver, &more)).expect(0);
    assert_eq!(targets(&receiver), all, "from the start");
    sandbox.sync(&config(&receiver, &more)).expect(0);
    assert_eq!(receiver.take().len(), 0);
    // Where it needs what nothing gave, there is nothing to follow.
    let empty = finding(r#"{"list": []}"#);
    let more = json!({"absent": {"id": "/new?ip=__IP__"}, "after": {"method": "DELETE", "id": "/old/__ID__"}});
    Sandbox::new().sync(&config(&empty, &more)).expect(0);
    let made = ["GET /find?name=home.example.com", "GET /new?ip=203.0.113.7"];
    assert_eq!(targets(&empty), made);
    // That the file could set the value makes no difference, unless it does.
    let take = json!({"take": {"/id": "__ID__", "/ttl": "__TTL__"}});
    let more = json!({"before": step(&take), "absent": {"id": "/new?ip=__IP__"}, "after": {"id": "/set/__TTL__"}});
    Sandbox::new().sync(&config(&empty, &more)).expect(0);
    assert_eq!(targets(&empty), made);
    Sandbox::new().sync(&config(&empty, &with(&more, &json!({"ttl": 60})))).expect(0);
    assert_eq!(targets(&empty), [&made[..], &["GET /set/60"]].concat());
}

#[test]
fn h19_whatever_after_is_answered_it_is_said_that_the_update_was_accepted() {
    let more = json!({"after": {"method": "DELETE", "id": "/old/__ID__"}, "timeout": 1,
        "expect": {"stop": {"status": 403}, "wait": {"status": 429}}});
    for (status, said) in [
        (429, "asks to wait: 429, the update was accepted"),
        (403, "refused it permanently: 403, the update was accepted"),
        (500, "failed: 500"),
        (0, "failed: http://127.0.0.1:"),
    ] {
        let receiver = Receiver::responding(move |request| match request.target() {
            target if target.starts_with("/find") => Response::with_body(200, FOUND),
            target if target.starts_with("/old") && status == 0 => Response::status(200).after(SOON),
            target if target.starts_with("/old") => Response::with_body(status, "slow"),
            _ => Response::status(200),
        });
        let run = Sandbox::new().sync(&config(&receiver, &more)).expect(1);
        run.prints("the update was accepted; after (DELETE http://127.0.0.1:").prints("/old/17)").prints(said);
    }
}

/// What stops all updates names the one that was accepted.
#[test]
fn h5_h19_a_stop_of_all_says_which_update_was_accepted() {
    let receiver = Receiver::responding(|request| match request.target() {
        target if target.starts_with("/find") => Response::with_body(200, FOUND),
        target if target.starts_with("/old") => Response::with_body(403, "no right"),
        _ => Response::status(200),
    });
    let stop = json!({"stop": {"status": 403, "all": true}});
    let more = json!({"after": {"method": "DELETE", "id": "/old/__ID__"}, "expect": stop, "concurrency": 1,
        "ipv4": ["home.example.com", "www.example.com"]});
    let run = Sandbox::new().sync(&config(&receiver, &more)).expect(1);
    run.prints("www.example.com A 203.0.113.7: stopped: the service refused it permanently: home.example.com A: the update was accepted; after");
}

#[test]
fn h18_a_page_that_has_nothing_leaves_what_other_pages_had() {
    let receiver = Receiver::responding(|request| match request.target() {
        "/find" => Response::with_body(200, r#"{"list": [{"name": "home.example.com", "id": 2}], "next": "n2"}"#),
        "/find?page=n2" => Response::status(404),
        _ => Response::status(200),
    });
    let parts = json!({"id": "/find", "next": {"at": "/next", "as": "page"}, "expect": {"none": {"status": 404}}});
    let more = json!({"before": step(&parts), "absent": {"id": "/new"}});
    Sandbox::new().sync(&config(&receiver, &more)).expect(0);
    assert_eq!(targets(&receiver), ["GET /find", "GET /find?page=n2", "GET /records/2?ip=203.0.113.7"]);
}
