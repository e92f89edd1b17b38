use super::*;
use crate::text::json::Value;

const SENT: &str = "203.0.113.7";

fn dyndns2(status: u16, body: &str) -> Meaning {
    Expect::Dyndns2.judge((status, body.as_bytes()), (1, &[SENT.parse().expect("an address")]), false, &equal)[0]
        .verdict
}

#[test]
fn h4_dyndns2_knows_the_whole_table_of_return_codes() {
    let stop = Meaning::Stopped { until_address: false, all: false };
    let stop_all = Meaning::Stopped { until_address: false, all: true };
    let half_an_hour = Meaning::Wait(Some(Duration::from_secs(1800)));
    let cases = [
        ("good 203.0.113.7", Meaning::Accepted),
        ("good", Meaning::Accepted),
        ("GOOD 203.0.113.7\r\n", Meaning::Accepted),
        ("nochg 203.0.113.7", Meaning::Unchanged),
        ("good 127.0.0.1", stop),
        ("nochg 198.51.100.1", stop),
        ("good 203.0.113.7,2001:db8::1", stop),
        ("badauth", stop_all),
        ("badagent", stop),
        ("abuse", stop),
        ("nohost", stop),
        ("notfqdn", stop),
        ("numhost", stop),
        ("!donator", stop),
        ("!yours", stop),
        ("!active", stop),
        ("badsys", stop),
        ("badip", stop),
        ("911", half_an_hour),
        ("dnserr", half_an_hour),
        ("servererror", half_an_hour),
        ("interror", half_an_hour),
        ("interval", half_an_hour),
        ("w30s", Meaning::Wait(Some(Duration::from_secs(30)))),
        ("w10m", Meaning::Wait(Some(Duration::from_secs(600)))),
        ("w1h", Meaning::Wait(Some(Duration::from_secs(3600)))),
        ("w", Meaning::Rejected),
        ("welcome", Meaning::Rejected),
        // The URL may name several hosts; what is no return code counts only in the first line.
        ("good 203.0.113.7\n911", half_an_hour),
        ("nochg\nnohost\n", stop),
        ("good\nhave a nice day", Meaning::Accepted),
        ("hello\ngood", Meaning::Rejected),
        ("", Meaning::Rejected),
        ("<html>", Meaning::Rejected),
        ("goodness", Meaning::Rejected),
    ];
    for (body, expected) in cases {
        assert_eq!(dyndns2(200, body), expected, "{body:?}");
    }
    assert_eq!(dyndns2(401, "badauth"), stop_all, "the others hold at any status");
    assert_eq!(dyndns2(500, "good"), Meaning::Rejected);
    assert_eq!(dyndns2(204, ""), Meaning::Unchanged);
}

#[test]
fn h4_a_line_is_about_its_domain_where_the_counts_agree() {
    let judge = |body: &str| -> Vec<Meaning> {
        let sent = [SENT.parse().expect("an address")];
        Expect::Dyndns2
            .judge((200, body.as_bytes()), (2, &sent), false, &equal)
            .into_iter()
            .map(|one| one.verdict)
            .collect()
    };
    let stop = |all| Meaning::Stopped { until_address: false, all };
    assert_eq!(judge("good\nnohost\n"), [Meaning::Accepted, stop(false)]);
    assert_eq!(judge("good\nbadauth\n"), [Meaning::Accepted, stop(true)]);
    assert_eq!(judge("badauth\n"), [stop(true)], "once for the whole account");
    assert_eq!(judge("good\n\nnochg\n"), [Meaning::Accepted, Meaning::Unchanged]);
}

#[test]
fn h4_the_worst_line_is_about_all_where_the_counts_differ() {
    let both: [IpAddr; 2] = [SENT, "2001:db8::7"].map(|ip| ip.parse().expect("an address"));
    let stop = |all| Meaning::Stopped { until_address: false, all };
    for (domains, sent, body, expected) in [
        (3, &both[..1], "good\nbadauth", stop(true)),
        (3, &both[..1], "good\n911\nnohost\nbadauth", stop(true)),
        (3, &both[..1], "911\nnohost", stop(false)),
        (3, &both[..1], "good\nw1h", Meaning::Wait(Some(Duration::from_secs(3600)))),
        (3, &both[..1], "good\n<html>", Meaning::Rejected),
        (3, &both[..1], "nochg\ngood", Meaning::Accepted),
        (3, &both[..1], "nochg", Meaning::Unchanged),
        (1, &both[..], "good 203.0.113.7\nbadauth", stop(true)),
        // A request with one update: services add lines of their own.
        (1, &both[..1], "good 203.0.113.7\ngood 2001:db8::7", Meaning::Accepted),
    ] {
        let judged = Expect::Dyndns2.judge((200, body.as_bytes()), (domains, sent), false, &equal);
        assert_eq!(judged.iter().map(|one| one.verdict).collect::<Vec<_>>(), [expected], "{domains} {body:?}");
    }
}

fn pattern(text: &str) -> Condition {
    Condition::default().with_pattern(text).expect("a pattern")
}

#[test]
fn h4_conditions_are_looked_at_in_order() {
    let expect = Conditions {
        stop: vec![
            Condition { all: true, ..pattern("^KO$") },
            Condition { until_address: true, ..pattern("bad address") },
        ],
        wait: vec![Condition { wait_for: Some(Duration::from_secs(60)), ..pattern("TOOSOON") }],
        reject: vec![pattern("error")],
        accept: Some(vec![pattern("^OK"), Condition { status: vec![304..=304], ..Condition::default() }]),
        ..Conditions::default()
    };
    let cases = [
        (200, "OK\n", Meaning::Accepted, "OK"),
        (200, "KO\r\nOK", Meaning::Stopped { until_address: false, all: true }, "KO"),
        (500, "a bad address, error", Meaning::Stopped { until_address: true, all: false }, "a bad address, error"),
        (200, "x\nTOOSOON for you\nerror", Meaning::Wait(Some(Duration::from_secs(60))), "TOOSOON for you"),
        (200, "OK error", Meaning::Rejected, "OK error"),
        (500, "OK", Meaning::Rejected, "OK"),
        (304, "", Meaning::Accepted, ""),
        (200, "nothing", Meaning::Rejected, "nothing"),
        (200, "{\n  \"fine\": 0\n}\n", Meaning::Rejected, "{\n  \"fine\": 0\n}"),
    ];
    for (status, body, verdict, words) in cases {
        let judged = expect.judge(status, body, false, &equal);
        assert_eq!((judged.verdict, judged.words.as_str()), (verdict, words), "{status} {body:?}: {}", judged.because);
    }
    let plain = Conditions { reject: vec![pattern("no")], ..Conditions::default() };
    assert_eq!(plain.judge(204, "", false, &equal).verdict, Meaning::Accepted, "without `accept` the status decides");
    assert_eq!(plain.judge(404, "", false, &equal).verdict, Meaning::Rejected);
    let conflict = Condition { status: vec![409..=409], ..pattern("exists") };
    let any = Conditions { accept: Some(vec![pattern("exists|made"), conflict]), ..Conditions::default() };
    for (status, expected) in [(200, Meaning::Accepted), (409, Meaning::Accepted), (410, Meaning::Rejected)] {
        assert_eq!(any.judge(status, "it exists", false, &equal).verdict, expected, "any may hold: {status}");
    }
}

#[test]
fn h4_json_values_are_equal_by_type_and_value() {
    let holds = |pointer: &str, wanted: &str, body: &str| {
        let wanted = parse(wanted, Dialect::STRICT).expect("JSON").value;
        let json = vec![(Pointer::parse(pointer).expect("a pointer"), wanted)];
        let accept = Some(vec![Condition { json, ..Condition::default() }]);
        Conditions { accept, ..Conditions::default() }.judge(200, body, false, &equal).verdict == Meaning::Accepted
    };
    let body = r#"{"code": 0, "text": "1", "a/b": {"c~d": [true, null, 1.0]}, "list": [1, {"x": 2}],
        "big": 9007199254740993}"#;
    for (pointer, wanted) in [
        ("/code", "0"),
        ("/code", "0.0"),
        ("/code", "-0"),
        ("/big", "9007199254740993"),
        ("/text", "\"1\""),
        ("/a~1b/c~0d/0", "true"),
        ("/a~1b/c~0d/1", "null"),
        ("/a~1b/c~0d/2", "1"),
        ("/list", r#"[1,{"x":2}]"#),
    ] {
        assert!(holds(pointer, wanted, body), "{pointer} {wanted}");
    }
    for (pointer, wanted) in [
        ("/code", "\"0\""),
        ("/text", "1"),
        ("/code", "false"),
        ("/gone", "null"),
        ("/list/00", "1"),
        ("/list/2", "1"),
        ("/big", "9007199254740992"),
    ] {
        assert!(!holds(pointer, wanted, body), "{pointer} {wanted}");
    }
    assert!(!holds("/code", "0", "code: 0"), "a body that is no JSON has no values");
    for text in ["code", "/a~2b", "/a~", "/a~~0"] {
        assert_eq!(Pointer::parse(text), None, "{text}");
    }
}

#[test]
fn only_the_first_part_of_a_body_is_looked_at() {
    let mut body = vec![b'x'; MAX_JUDGED_BODY_BYTES];
    body.extend(b"\nOK");
    let expect = Expect::Conditions(Conditions { accept: Some(vec![pattern("^OK$")]), ..Conditions::default() });
    assert_eq!(expect.judge((200, &body), (1, &[]), false, &equal)[0].verdict, Meaning::Rejected);
    assert_eq!(expect.judge((200, &body[1..]), (1, &[]), false, &equal)[0].verdict, Meaning::Rejected);
    assert_eq!(expect.judge((200, &body[4..]), (1, &[]), false, &equal)[0].verdict, Meaning::Accepted);
    assert_eq!(
        expect.judge((200, b"\xff\nOK"), (1, &[]), false, &equal)[0].verdict,
        Meaning::Accepted,
        "what is not UTF-8 is replaced"
    );
}

#[test]
fn a_pattern_cannot_blow_up() {
    assert!(Condition::default().with_pattern("(a{100}){100}{100}").is_err());
    assert!(Condition::default().with_pattern("(").is_err());
}

#[test]
fn a_failure_with_a_status_of_success_is_noticed() {
    for (body, found) in [
        ("badauth", Some("badauth")),
        ("KO", Some("ko")),
        ("ERROR: no such host", Some("error")),
        (r#"{"result": null, "success" : false}"#, Some("\"success\":false")),
        ("good 203.0.113.7", None),
        ("OK", None),
        ("", None),
        (r#"{"success":true}"#, None),
        ("<html>error</html>", None),
    ] {
        assert_eq!(suspicious(body.as_bytes()).as_deref(), found, "{body}");
    }
}

#[test]
fn h4_what_needs_the_body_is_known() {
    let by_status = Conditions {
        accept: Some(vec![Condition { status: vec![200..=299], ..Condition::default() }]),
        ..Conditions::default()
    };
    assert!(!Expect::Conditions(by_status).needs_body());
    let json = vec![(Pointer::parse("").expect("a pointer"), Value::Null)];
    let by_json = Conditions { reject: vec![Condition { json, ..Condition::default() }], ..Conditions::default() };
    assert!(Expect::Conditions(by_json).needs_body() && Expect::Dyndns2.needs_body());
}
