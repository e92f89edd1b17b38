//! H4, H5: what the text of a response means.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::given::{ends, home, with};
use crate::support::watching::{SOON, Watch, host, status, until};
use crate::support::{Receiver, Response, Sandbox};

/// A receiver whose response can be changed.
fn saying(status: u16, body: &str) -> (Receiver, Arc<Mutex<(u16, String)>>) {
    let says = Arc::new(Mutex::new((status, body.to_owned())));
    let said = Arc::clone(&says);
    let receiver = Receiver::responding(move |_| {
        let (status, body) = said.lock().unwrap().clone();
        Response::with_body(status, &body)
    });
    (receiver, says)
}

fn expecting(receiver: &Receiver, expect: &Value) -> Value {
    with(&home(&receiver.url("/?ip=__IP__")), &json!({"index4": receiver.index4(), "expect": expect}))
}

#[test]
fn h4_a_response_of_200_that_says_no_is_a_failure_and_is_sent_again() {
    let (receiver, says) = saying(200, "KO");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!({"accept": "^OK"})));
    sandbox.sync(&config).expect(1).prints("failed: the endpoint responded with 200 `KO`");
    *says.lock().unwrap() = (200, "OK\n".to_owned());
    sandbox.sync(&config).expect(0).prints("accepted (200");
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.callbacks().len(), 2);
}

#[test]
fn h4_a_failure_shows_all_that_a_response_of_several_lines_says() {
    let (receiver, _) = saying(200, "{\n  \"success\": false,\r\n\n  \"error\": \"no such record\"\n}\n");
    let config = expecting(&receiver, &json!({"accept": {"json": {"/success": true}}}));
    let said = r#"responded with 200 `{ "success": false, "error": "no such record" }` ("#;
    Sandbox::new().sync(&config).expect(1).prints(said);
    let config = with(&config, &json!({"expect": {"stop": {"json": {"/success": false}}}}));
    let sandbox = Sandbox::new();
    sandbox.sync(&config).expect(1).prints(r#"permanently: 200 `{ "success": false, "error": "no such record" }` ("#);
    sandbox.sync(&config).expect(1).prints("no such record");
}

#[test]
fn h4_conditions_look_at_status_body_and_json() {
    let cases = [
        (json!({"accept": {"json": {"/code": 0}}}), 200, r#"{"code": 0}"#, 0),
        (json!({"accept": {"json": {"/code": 0}}}), 200, r#"{"code": "0"}"#, 1),
        (json!({"accept": [{"status": 304}, "fine"]}), 304, "", 0),
        (json!({"accept": {"status": "200-204", "body": "^$"}}), 200, "", 0),
        (json!({"reject": "error"}), 200, "an error", 1),
        (json!({"reject": "error"}), 200, "fine", 0),
        (json!({"reject": "error"}), 500, "fine", 1),
        (json!({"accept": "fine"}), 500, "fine", 1),
        (json!("dyndns2"), 200, "good 203.0.113.7", 0),
        (json!("dyndns2"), 200, "nochg 203.0.113.7", 0),
        (json!("dyndns2"), 200, "<html>", 1),
    ];
    for (expect, status, body, code) in cases {
        let (receiver, _) = saying(status, body);
        let run = Sandbox::new().sync(&expecting(&receiver, &expect));
        ends(&run, code, &format!("{expect} {status} {body}"));
        assert_eq!(receiver.callbacks().len(), 1);
    }
}

#[test]
fn h4_the_option_and_the_variable_take_a_preset_or_json() {
    let (receiver, _) = saying(200, "badauth");
    let config = with(&home(&receiver.url("/")), &json!({}));
    for (sandbox, options) in [
        (Sandbox::new(), vec!["--expect", "dyndns2"]),
        (Sandbox::new(), vec!["--expect", r#"{"reject": "bad"}"#]),
        (Sandbox::new().env("DDNS_EXPECT", "dyndns2"), vec![]),
    ] {
        sandbox.write("config.json", config.to_string());
        sandbox.run(&[&["-c", "config.json"], &options[..]].concat()).expect(1).prints("badauth");
    }
}

#[test]
fn h4_a_body_that_does_not_come_in_time_is_a_failure() {
    let receiver =
        Receiver::responding(|_| Response::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\ngood".to_vec()));
    let sandbox = Sandbox::new();
    let config = with(&expecting(&receiver, &json!("dyndns2")), &json!({"timeout": 1}));
    sandbox.sync(&config).expect(1).prints("the rest of the response did not arrive");
    // The status alone decides where nothing needs the body.
    let config = with(&config, &json!({"expect": {"accept": {"status": 200}}}));
    sandbox.sync(&config).expect(0);
}

#[test]
fn h5_a_stopped_update_is_not_sent_again_before_somebody_says_so() {
    let (receiver, says) = saying(200, "badauth");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!("dyndns2")));
    let run = sandbox.sync(&config).expect(1);
    run.prints("stopped: the endpoint refused it permanently: 200 `badauth`").prints("1 failed");
    receiver.set_ip("203.0.113.8");
    let again = sandbox.sync(&config).expect(1);
    again.prints("refused it permanently with `badauth`").prints("--retry-stopped").prints("1 stopped");
    assert_eq!(receiver.callbacks().len(), 1);
    sandbox.run(&["status", "-c", "config.json"]).shows("stopped: the service said `badauth`");
    let history = sandbox.run(&["history", "--wide", "-c", "config.json"]).expect(0).stdout;
    assert!(history.contains("stopped: the service said `badauth` with status 200"), "{history}");
    sandbox.run(&["preview", "-c", "config.json"]).shows("stopped: the service refused it");

    *says.lock().unwrap() = (200, "good".to_owned());
    sandbox.run(&["-c", "config.json", "--retry-stopped"]).expect(0).prints("accepted");
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.callbacks().len(), 2);
}

#[test]
fn h5_a_changed_callback_ends_a_stop() {
    let (receiver, says) = saying(200, "badauth");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!("dyndns2")));
    sandbox.sync(&config).expect(1);
    *says.lock().unwrap() = (200, "good".to_owned());
    sandbox.sync(&with(&config, &json!({"id": receiver.url("/?ip=__IP__&key=right")}))).expect(0);
}

#[test]
fn h5_a_corrected_secret_of_a_scheme_ends_a_stop() {
    let (receiver, says) = saying(403, "InvalidSignature");
    let (sandbox, secret) = (Sandbox::new(), json!({"file": "secret"}));
    let sign = json!({"scheme": "aws4", "id": "AKID", "secret": secret, "region": "us-east-1", "service": "route53"});
    let stops = json!({"stop": {"status": 403, "all": true}});
    let config = with(&expecting(&receiver, &stops), &json!({"sign": sign}));
    sandbox.write("secret", "wrong-wrong\n");
    sandbox.sync(&config).expect(1).prints("stopped");
    *says.lock().unwrap() = (200, "fine".to_owned());
    sandbox.sync(&config).expect(1).prints("1 stopped");
    sandbox.write("secret", "right-right\n");
    sandbox.sync(&config).expect(0);
    assert_eq!(receiver.callbacks().len(), 2);
}

#[test]
fn h4_h5_a_byte_order_mark_before_a_response_hides_nothing() {
    let (receiver, _) = saying(200, "\u{feff}badauth");
    for expect in [json!("dyndns2"), json!({"stop": "^badauth"})] {
        Sandbox::new().sync(&expecting(&receiver, &expect)).expect(1).prints("stopped");
    }
    let (receiver, _) = saying(200, "\u{feff}good 203.0.113.7");
    Sandbox::new().sync(&expecting(&receiver, &json!("dyndns2"))).expect(0);
}

#[test]
fn h5_until_address_ends_a_stop_when_the_address_changes() {
    let (receiver, says) = saying(200, "bad address");
    let expect = json!({"stop": {"body": "bad address", "until": "address"}});
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &expect));
    sandbox.sync(&config).expect(1);
    sandbox.sync(&config).expect(1).prints("1 stopped");
    assert_eq!(receiver.callbacks().len(), 1);
    *says.lock().unwrap() = (200, "fine".to_owned());
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&config).expect(0);
}

#[test]
fn h4_an_address_that_was_not_sent_stops() {
    let (receiver, _) = saying(200, "good 127.0.0.1");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!("dyndns2")));
    sandbox
        .sync(&config)
        .expect(1)
        .prints("stopped: the endpoint set 127.0.0.1 instead of 203.0.113.7: 200 `good 127.0.0.1`");
}

#[test]
fn h4_a_wait_is_remembered_and_respected_by_the_next_run() {
    let (receiver, says) = saying(200, "911");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!("dyndns2")));
    sandbox.sync(&config).expect(1).prints("asks to wait: 200 `911`");
    *says.lock().unwrap() = (200, "good".to_owned());
    sandbox.sync(&config).expect(1).prints("held back for").prints("calls for a wait").prints("1 held back");
    assert_eq!(receiver.callbacks().len(), 1);
    let short = json!({"wait": {"body": "busy", "for": "1s"}});
    let (receiver, says) = saying(200, "busy");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &short));
    sandbox.sync(&config).expect(1);
    *says.lock().unwrap() = (200, "fine".to_owned());
    until(SOON, "the wait to end", || sandbox.sync(&config).code == 0);
}

#[test]
fn h4_retry_after_says_how_long_a_wait_is_and_is_remembered() {
    for asked in ["600", "99999999999999999999"] {
        let receiver = Receiver::responding(move |_| Response::status(200).header("Retry-After", asked));
        let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!({"wait": {"status": 200}})));
        let length = if asked == "600" { "10 min" } else { "24 h" };
        let run = sandbox.sync(&config).expect(1).prints("asks to wait: 200");
        run.prints(&format!("it is not sent for {length}"));
        let status = sandbox.run(&["status"]).expect(3).stdout;
        assert!(
            status.contains("held back for ") && status.contains(": the service's last answer calls for a wait"),
            "{status}"
        );
        sandbox.sync(&config).expect(1).prints("held back for").prints("calls for a wait");
        assert_eq!(receiver.callbacks().len(), 1, "{asked}");
    }
}

#[test]
fn a6_h4_a_wait_on_429_pauses_the_whole_endpoint() {
    let receiver = Receiver::responding(|_| Response::status(429).header("Retry-After", "60"));
    let names: Vec<String> = (0..6).map(|number| format!("n{number}.example.com")).collect();
    let more = json!({"ipv4": names, "concurrency": 1, "expect": {"wait": {"status": 429}}});
    let sandbox = host();
    let watch = Watch::start(&sandbox, &with(&expecting(&receiver, &json!({})), &more));
    until(SOON, "the first answer", || watch.lines_with("asks to wait") >= 1);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(receiver.callbacks().len(), 1, "{}", watch.log());
}

#[test]
fn h4_dyndns2_refreshes_after_28_days_and_not_after_the_third_nochg() {
    let (receiver, _) = saying(200, "nochg");
    let (sandbox, config) = (Sandbox::new(), expecting(&receiver, &json!("dyndns2")));
    let check = |config: &Value| {
        sandbox.write("config.json", config.to_string());
        sandbox.run(&["preview", "-c", "config.json"]).stdout
    };
    for _ in 0..5 {
        sandbox.sync(&with(&config, &json!({"cache_max_age": 0}))).expect(0);
    }
    assert_eq!(receiver.callbacks().len(), 3, "three in a row are enough");
    receiver.set_ip("203.0.113.8");
    sandbox.sync(&with(&config, &json!({"cache_max_age": 0}))).expect(0);
    assert_eq!(receiver.callbacks().len(), 4, "another address is sent");
    assert!(check(&config).contains("up to date"), "28 days where none is set");
}

#[test]
fn a4_without_expect_a_suspicious_200_is_accepted_and_hinted_at() {
    for body in ["badauth", "KO", r#"{"success": false}"#] {
        let (receiver, _) = saying(200, body);
        let sandbox = Sandbox::new();
        let run = sandbox.sync(&home(&receiver.url("/"))).expect(0).prints("accepted (200");
        run.prints("only its status counts (200)").prints("set `expect`");
    }
    let (receiver, _) = saying(200, "good 203.0.113.7");
    Sandbox::new().sync(&home(&receiver.url("/"))).expect(0).never_prints("expect");
}

#[test]
fn h4_the_debug_log_shows_which_condition_decided_and_no_secret() {
    let (receiver, _) = saying(200, "no: key SecretKey123 is wrong");
    let sandbox = Sandbox::new();
    let id = receiver.url("/?key=SecretKey123&ip=__IP__");
    let config = with(&home(&id), &json!({"expect": {"reject": ["x", "^no"]}, "debug": true}));
    let run = sandbox.sync(&config).expect(1);
    run.prints("expect: `reject[1]` holds").prints("`no: key *** is wrong`").never_prints("SecretKey123");
}

#[test]
fn h4_what_is_wrong_in_expect_is_an_error_with_its_place() {
    let receiver = Receiver::new();
    let cases = [
        (json!("dyndns"), "`dyndns2`, or an object"),
        (json!(17), "must be `dyndns2`, or an object"),
        (json!({"acept": "x"}), "`expect` has no field `acept`"),
        (json!({"accept": "("}), "is not a regular expression"),
        (json!({"accept": "(?=x)"}), "is not a regular expression"),
        (json!({"accept": {"status": 99}}), "must be a status from 100 to 599"),
        (json!({"accept": {"status": "299-200"}}), "must be a status from 100 to 599"),
        (json!({"accept": {"json": {"code": 0}}}), "`code` is not a JSON pointer"),
        (json!({"accept": {"json": "x"}}), "`expect.accept.json` cannot be"),
        (json!({"accept": {}}), "has an empty condition"),
        (json!({"stop": ""}), "has an empty pattern"),
        (json!({"stop": {"body": ""}}), "has an empty pattern"),
        (json!({"accept": []}), "`expect.accept` is empty"),
        (json!({"accept": {"text": "x"}}), "a condition has no field `text`"),
        (json!({"wait": {"body": "x", "for": "soon"}}), "`soon` is not a duration"),
        (json!({"wait": {"body": "x", "for": "0s"}}), "`0s` is not a duration from 1s to 31d"),
        (json!({"wait": {"body": "x", "for": "32d"}}), "`32d` is not a duration from 1s to 31d"),
        (json!({"accept": {"json": {"/a~2": 0}}}), "`/a~2` is not a JSON pointer"),
        (json!({"accept": {"body": "x", "for": "1m"}}), "`expect.accept.for` cannot be"),
        (json!({"stop": {"body": "x", "until": "tomorrow"}}), "`expect.stop.until` cannot be"),
        (json!({"accept": 1}), "must be a string or an object"),
    ];
    for (expect, sentence) in cases {
        let run = Sandbox::new().sync(&expecting(&receiver, &expect));
        ends(&run, 2, &expect.to_string());
        assert!(run.stderr.contains(sentence), "{expect}: {}", run.stderr);
    }
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn h5_a_service_shows_a_stop_and_sends_it_when_asked_to() {
    let sandbox = host();
    let count = Arc::new(AtomicUsize::new(0));
    let receiver = Receiver::responding({
        let count = Arc::clone(&count);
        move |_| Response::with_body(200, if count.fetch_add(1, Ordering::SeqCst) == 0 { "nohost" } else { "good" })
    });
    let config = with(&expecting(&receiver, &json!("dyndns2")), &json!({"interval": "30s"}));
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "the stop", || count.load(Ordering::SeqCst) == 1 && status(&sandbox).1 == 1);
    until(SOON, "the status", || status(&sandbox).0["updates"][0]["state"] == "stopped");
    assert_eq!(status(&sandbox).0["updates"][0]["reason"], "nohost");
    sandbox.run(&["sync"]).expect(1);
    assert_eq!(count.load(Ordering::SeqCst), 1, "a synchronization does not send it");
    sandbox.run(&["sync", "--retry-stopped"]).expect(0);
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(status(&sandbox).0["updates"][0]["state"], "up_to_date");
    drop(watch);
}

#[test]
fn h4_a_service_sends_again_when_a_wait_is_over() {
    let sandbox = host();
    let count = Arc::new(AtomicUsize::new(0));
    let receiver = Receiver::responding({
        let count = Arc::clone(&count);
        move |_| Response::with_body(200, if count.fetch_add(1, Ordering::SeqCst) == 0 { "w2s" } else { "good" })
    });
    let config = with(&expecting(&receiver, &json!("dyndns2")), &json!({"interval": "30s"}));
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "the wait", || count.load(Ordering::SeqCst) == 1);
    std::thread::sleep(Duration::from_millis(900));
    assert_eq!(count.load(Ordering::SeqCst), 1, "not before its time");
    until(SOON, "the second request", || count.load(Ordering::SeqCst) == 2);
    drop(watch);
}

#[test]
fn h4_check_shows_the_conditions() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", expecting(&receiver, &json!({"accept": ["^OK", {"status": 304}]})).to_string());
    let shown = sandbox.run(&["check", "--wide"]).expect(0).stdout;
    assert!(shown.contains(r#"expect = {"accept": ["^OK",{"status": 304}]}"#), "{shown}");
}

#[test]
fn e1_words_that_come_with_200_are_shown_without_markup_too() {
    let head = "<?xml version=\"1.0\" encoding=\"utf-16\"?><interface-response><Command>SETDNSHOST</Command><Language>eng</Language>";
    let (receiver, _) =
        saying(200, &format!("{head}<ErrCount>1</ErrCount><errors><Err1>Passwords do not match</Err1></errors>"));
    for (meaning, words) in [("accept", "<ErrCount>0"), ("stop", "do not match"), ("wait", "do not match")] {
        let sandbox = Sandbox::new();
        let run = sandbox.sync(&expecting(&receiver, &json!({meaning: words}))).expect(1);
        run.prints("SETDNSHOST eng 1 Passwords do not match").never_prints("<Err1>");
    }
}

#[test]
fn e1_a_failure_shows_what_the_service_said_without_markup_and_without_keys() {
    let long = format!("{} THE REST", "x".repeat(600));
    for (body, shown, hidden) in [
        (
            "<?xml version=\"1.0\"?><r><Err1>Domain name not found</Err1></r>",
            "403 Forbidden: `Domain name not found`",
            "Err1",
        ),
        ("{\"error\":\"the key\n k3y-of-mine is wrong\"}", "`{\"error\":\"the key *** is wrong\"}`", "k3y-of-mine"),
        ("1 < 2 and\u{1b}[31m red <b", "`1 < 2 and [31m red <b`", "\u{1b}"),
        (&long, "xxx`", "THE REST"),
        ("", "403 Forbidden (", "`"),
    ] {
        let (receiver, _) = saying(403, body);
        for expect in [json!({}), json!({"expect": {"accept": "good"}})] {
            let sandbox = Sandbox::new();
            let config = with(&home(&receiver.url("/?key=k3y-of-mine")), &expect);
            let run = sandbox.sync(&config).expect(1);
            let line = run.stderr.lines().next().expect("a line");
            assert!(line.contains(shown), "{shown}: {line}");
            assert!(!line.replace("`id`, `headers`, `token` or `sign`", "").contains(hidden), "{hidden}: {line}");
        }
    }
}
