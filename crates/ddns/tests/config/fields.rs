//! Section B: each field by the effect that a user sees, and the rules about values: B9, B10, B13. Wrong values are in
//! `config/errors.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::given::{basic, ends, sent_by, targets, with, without};
use crate::support::tools::skipped;
use crate::support::{Received, Receiver, Response, Sandbox};

/// How many callbacks two synchronizations in a row make.
fn sent_by_two_runs(sandbox: &Sandbox, receiver: &Receiver, config: &Value) -> [usize; 2] {
    [(); 2].map(|()| {
        let run = sandbox.sync(config);
        ends(&run, 0, &config.to_string());
        receiver.take().len()
    })
}

#[test]
fn b_schema_is_accepted_and_changes_nothing() {
    let receiver = Receiver::new();
    let plain = sent_by(&receiver, &basic(&receiver), "no schema").line;
    for version in ["v4.0", "v4.1"] {
        let schema = format!("https://ddns.example/schema/{version}.json");
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"$schema": schema}))).expect(0);
        run.never_prints("warning");
        assert_eq!(receiver.take().remove(0).line, plain, "{version}");
    }
}

#[test]
fn b_debug_writes_the_request_line_to_the_log() {
    let receiver = Receiver::new();
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"debug": false}))).expect(0).never_prints("GET ");
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"debug": true}))).expect(0).prints("GET ").prints("/hook");
}

#[test]
fn b_ttl_and_line_are_the_values_of_their_placeholders() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"id": receiver.url("/hook?ttl=__TTL__&line=__LINE__")}));
    let cases = [
        (json!({"ttl": 600, "line": "east"}), "/hook?ttl=600&line=east"),
        (json!({"ttl": "600", "line": "600"}), "/hook?ttl=600&line=600"),
        (json!({"ttl": 2_147_483_647}), "/hook?ttl=2147483647&line="),
        (json!({"line": ""}), "/hook?ttl=&line="),
        (json!({}), "/hook?ttl=&line="),
    ];
    for (fields, target) in cases {
        assert_eq!(sent_by(&receiver, &with(&config, &fields), target).target(), target, "{fields}");
    }
}

#[test]
fn b_ipv4_and_ipv6_take_an_array_or_one_string() {
    for (field, index, address) in [("ipv4", "index4", "203.0.113.7"), ("ipv6", "index6", "2001:db8::7")] {
        for (domains, names) in [
            (json!("one.example"), vec!["one.example"]),
            (json!(["one.example"]), vec!["one.example"]),
            (json!(["one.example", "two.example"]), vec!["one.example", "two.example"]),
        ] {
            let receiver = Receiver::new();
            let fields = json!({field: domains, index: format!("shell:echo {address}")});
            let run = Sandbox::new().sync(&with(&without(basic(&receiver), "ipv4"), &fields));
            ends(&run, 0, &fields.to_string());
            let expected: Vec<_> = names.iter().map(|name| format!("/hook?d={name}&ip={address}")).collect();
            assert_eq!(targets(&receiver), expected, "{fields}");
        }
    }
}

/// An empty list is none: only the other family is updated.
#[test]
fn b_an_empty_list_of_domains_is_none() {
    for none in [json!([]), json!("")] {
        let receiver = Receiver::new();
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"ipv6": none, "index6": "shell:exit 1"})));
        ends(&run, 0, &none.to_string());
        receiver.only();
    }
}

#[test]
fn b_index_takes_an_array_or_one_value_and_the_first_address_wins() {
    let receiver = Receiver::new();
    for sources in [
        json!("shell:echo 203.0.113.7"),
        json!(["shell:echo 203.0.113.7"]),
        json!(["shell:exit 1", "cmd:echo 203.0.113.7", "shell:echo 203.0.113.9"]),
        json!(["shell:echo no address here", receiver.index4()]),
    ] {
        let request = sent_by(&receiver, &with(&basic(&receiver), &json!({"index4": sources})), &sources.to_string());
        assert_eq!(request.target(), "/hook?d=home.example.com&ip=203.0.113.7", "{sources}");
    }
    let config = json!({"dns": "callback", "id": receiver.url("/__IP__"), "ipv6": "home.example.com"});
    let sources = json!({"index6": ["shell:echo 203.0.113.7", receiver.index6()]});
    let request = sent_by(&receiver, &with(&config, &sources), "index6 passes over an address of the other family");
    assert_eq!(request.target(), "/2001:db8::7");
}

#[test]
fn b_index_false_switches_the_family_off() {
    for (index4, index6, sent) in [
        (json!(false), json!("shell:echo 2001:db8::7"), "/hook?d=home.example.com&ip=2001:db8::7"),
        (json!("shell:echo 203.0.113.7"), json!(false), "/hook?d=home.example.com&ip=203.0.113.7"),
    ] {
        let receiver = Receiver::new();
        let more = json!({"ipv6": "home.example.com", "index4": index4, "index6": index6});
        Sandbox::new().sync(&with(&basic(&receiver), &more)).expect(0);
        assert_eq!(targets(&receiver), [sent]);
    }
}

#[test]
fn b_proxy_takes_an_array_or_a_string() {
    let receiver = Receiver::new();
    for proxy in [json!("DIRECT"), json!(["DIRECT"]), json!([])] {
        sent_by(&receiver, &with(&basic(&receiver), &json!({"proxy": proxy})), &proxy.to_string());
    }
}

#[test]
fn b_cache_true_is_the_default_and_remembers() {
    for cache in [None, Some(json!(true)), Some(json!("true"))] {
        let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
        let mut config = basic(&receiver);
        if let Some(cache) = &cache {
            config["cache"] = cache.clone();
        }
        assert_eq!(sent_by_two_runs(&sandbox, &receiver, &config), [1, 0], "{cache:?}");
        assert!(sandbox.cache_file().is_file(), "{cache:?}: no file at {:?}", sandbox.cache_file());
        assert!(!sandbox.path("true").exists(), "{cache:?}: the word was taken for a path");
    }
}

#[test]
fn b_cache_false_sends_every_time_and_leaves_no_file() {
    for cache in [json!(false), json!("false")] {
        let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
        let config = with(&basic(&receiver), &json!({"cache": cache}));
        assert_eq!(sent_by_two_runs(&sandbox, &receiver, &config), [1, 1], "{cache}");
        assert!(!sandbox.cache_file().exists() && !sandbox.path("false").exists(), "{cache}: a file was left");
    }
}

#[test]
fn b_cache_path_is_the_file_and_its_folder_is_made() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    for path in ["state/deep/own.json".to_owned(), sandbox.path("elsewhere/own").to_string_lossy().into_owned()] {
        let config = with(&basic(&receiver), &json!({"cache": path}));
        assert_eq!(sent_by_two_runs(&sandbox, &receiver, &config), [1, 0], "{path}");
        assert!(sandbox.path(&path).is_file(), "no file at {path}");
    }
    assert!(!sandbox.cache_file().exists(), "the usual place stays untouched");
}

#[test]
fn b_cache_max_age_zero_always_sends() {
    for (age, sent) in [(json!(0), [1, 1]), (json!(3600), [1, 0])] {
        let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
        let config = with(&basic(&receiver), &json!({"cache_max_age": age}));
        assert_eq!(sent_by_two_runs(&sandbox, &receiver, &config), sent, "{age}");
    }
}

#[test]
fn b_log_level_hides_what_is_below_it() {
    let receiver = Receiver::new();
    let log = |level: &str| Sandbox::new().sync(&with(&basic(&receiver), &json!({"log": {"level": level}}))).expect(0);
    log("ERROR").never_prints("accepted");
    log("INFO").prints("home.example.com A 203.0.113.7: accepted (200").never_prints("GET ");
    log("DEBUG").prints("GET ");
}

#[test]
fn b_log_goes_to_standard_error_by_default_and_to_log_file_where_set() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let run = sandbox.sync(&basic(&receiver)).expect(0).prints(": accepted (200");
    assert_eq!(run.stdout, "", "a synchronization prints nothing on standard output");

    let config = with(&basic(&receiver), &json!({"log": {"file": "logs/deep/ddns.log"}, "cache": false}));
    sandbox.sync(&config).expect(0).never_prints("accepted");
    sandbox.sync(&config).expect(0);
    let log = sandbox.read("logs/deep/ddns.log");
    let lines = log.matches("home.example.com A 203.0.113.7: accepted (200").count();
    assert_eq!(lines, 2, "both runs are in the file, the first is not overwritten:\n{log}");
}

#[test]
fn b_log_format_and_datefmt_shape_the_lines() {
    let receiver = Receiver::new();
    let log = |log: Value| Sandbox::new().sync(&with(&basic(&receiver), &json!({"log": log}))).expect(0);
    log(json!({"format": "<%(levelname)s> %(message)s"})).prints("<INFO> home.example.com A 203.0.113.7: accepted");
    let dated = json!({"format": "%(asctime)s|%(message)s", "datefmt": "year %Y"});
    log(dated).prints("year 2").prints("|home.example.com A 203.0.113.7: accepted").never_prints("year %Y");

    let run = log(json!({"format": "json"}));
    let line = run.stderr.lines().find(|line| line.contains("accepted")).expect("a line about the update");
    assert!(serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object()), "no JSON object: {line}");
}

#[test]
fn b_log_has_the_time_of_the_zone_that_tz_names() {
    let file = "/usr/share/zoneinfo/Asia/Kolkata";
    if !std::path::Path::new(file).exists() {
        return skipped("there are no time zones in /usr/share/zoneinfo");
    }
    let receiver = Receiver::new();
    let log = json!({"log": {"format": "%(asctime)s|%(message)s", "datefmt": "<%z>"}});
    let cases = [
        ("Asia/Kolkata", "+0530"),
        (":Asia/Kolkata", "+0530"),
        (file, "+0530"),
        ("IST-5:30", "+0530"),
        ("", "+0000"),
        ("No/Such_Zone", "+0000"),
    ];
    for (zone, offset) in cases {
        let run = Sandbox::new().env("TZ", zone).sync(&with(&basic(&receiver), &log)).expect(0);
        run.prints(&format!("<{offset}>|home.example.com A 203.0.113.7: accepted"));
    }
}

#[test]
fn b_timeout_ends_a_request() {
    let receiver = Receiver::responding(|_| Response::status(200).after(Duration::from_secs(20)));
    let started = Instant::now();
    let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"timeout": 1}))).expect(1);
    run.prints("home.example.com A 203.0.113.7: failed");
    let took = started.elapsed();
    assert!(took > Duration::from_millis(900) && took < Duration::from_secs(10), "{took:?} for a limit of one second");
}

#[test]
fn b_timeout_is_more_than_0_and_at_most_3600_seconds() {
    let receiver = Receiver::new();
    for good in [json!(3600), json!("3600"), json!(0.5), json!(3600.0)] {
        Sandbox::new().sync(&with(&basic(&receiver), &json!({"timeout": good}))).expect(0);
    }
    let sent = receiver.callbacks().len();
    for bad in [json!(3601), json!(3600.001), json!(0), json!(-1), json!("NaN"), json!("inf")] {
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"timeout": bad}))).expect(2);
        run.prints("`timeout`").prints("3600");
    }
    assert_eq!(receiver.callbacks().len(), sent, "something was sent");
}

/// B8: the last one counts, as in most JSON readers, with a warning.
#[test]
fn b8_a_field_that_is_written_twice_is_a_warning_and_the_last_one_counts() {
    let receiver = Receiver::new();
    let text = |first: &str, last: &str| {
        let rest = basic(&receiver).to_string();
        format!("{{{first}, {}, {last}}}", rest.trim_matches(['{', '}']))
    };
    let ttl = text(r#""ttl": 60"#, r#""ttl": 300"#).replace("/?", "/?ttl=__TTL__&");
    let sandbox = Sandbox::new();
    sandbox.write("config.json", ttl);
    let run = sandbox.run(&["-c", "config.json"]).expect(0);
    let run = run.prints("warning").prints("`ttl` is written twice; the last one counts").prints("config.json:1:");
    assert_eq!(run.stderr.matches("written twice").count(), 1, "{}", run.stderr);
    sandbox.run(&["check", "-c", "config.json"]).shows("300");

    // The first one is not even looked at.
    sandbox.write("config.json", text(r#""ttl": "ten""#, r#""ttl": 300"#));
    sandbox.run(&["-c", "config.json"]).expect(0).prints("`ttl` is written twice");
    sandbox.write("config.json", text(r#""ttl": 300"#, r#""ttl": "ten""#));
    sandbox.run(&["-c", "config.json"]).expect(2);
}

#[test]
fn b_concurrency_one_keeps_strict_order() {
    // The first responses take longest, so that any overlap would change the order.
    let receiver = Receiver::responding(|request| {
        let first = request.target().contains("h0");
        Response::status(200).after(Duration::from_millis(if first { 150 } else { 5 }))
    });
    let domains: Vec<_> = (0..6).map(|n| format!("h{n}.example")).collect();
    Sandbox::new().sync(&with(&basic(&receiver), &json!({"ipv4": domains, "concurrency": 1}))).expect(0);
    let arrived: Vec<_> = receiver.callbacks().iter().map(|request| request.target().to_owned()).collect();
    let expected: Vec<_> = domains.iter().map(|domain| format!("/hook?d={domain}&ip=203.0.113.7")).collect();
    assert_eq!(arrived, expected);
}

#[test]
fn b_concurrency_is_the_number_of_requests_under_way_at_once() {
    for (concurrency, at_least, at_most) in [(json!(1), 1, 1), (json!(3), 2, 3), (json!("auto"), 1, 9)] {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (counted, highest) = (now, most.clone());
        let receiver = Receiver::responding(move |_| {
            highest.fetch_max(counted.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(Duration::from_millis(40));
            counted.fetch_sub(1, Ordering::SeqCst);
            Response::status(200)
        });
        let domains: Vec<_> = (0..9).map(|n| format!("h{n}.example")).collect();
        let config = with(&basic(&receiver), &json!({"ipv4": domains, "concurrency": concurrency}));
        ends(&Sandbox::new().sync(&config), 0, &concurrency.to_string());
        assert_eq!(receiver.callbacks().len(), 9, "concurrency {concurrency}");
        let most = most.load(Ordering::SeqCst);
        assert!((at_least..=at_most).contains(&most), "concurrency {concurrency}: {most} requests at once");
    }
}

#[test]
fn b_extra_holds_variables_whose_keys_look_like_placeholders() {
    let receiver = Receiver::new();
    let more = json!({
        "id": receiver.url("/hook/__SITE__?plain=plain&site=SITE"),
        "token": {"at": "__SITE__", "plain": "plain"},
        "extra": {"__SITE__": "berlin", "plain": "never", "SITE": "never"},
    });
    let request = sent_by(&receiver, &with(&basic(&receiver), &more), "extra");
    assert_eq!(request.target(), "/hook/berlin?plain=plain&site=SITE");
    assert_eq!(request.json(), json!({"at": "berlin", "plain": "plain"}));
}

#[test]
fn b_providers_inherit_what_is_outside_and_win_with_what_is_inside() {
    let receiver = Receiver::new();
    let config = json!({
        "endpoint": receiver.url("/api"),
        "token": {"ttl": "__TTL__"},
        "ttl": 300,
        "line": "outside",
        "ipv4": ["home.example.com"],
        "index4": "shell:echo 203.0.113.7",
        "providers": [
            {"provider": "callback", "id": "a/__DOMAIN__/__LINE__"},
            {"provider": "callback", "id": "b/__DOMAIN__/__LINE__", "ttl": 60, "line": "inside"},
            {"provider": "callback", "id": "c/__DOMAIN__", "ipv4": ["x.example", "y.example"], "token": {}},
            {"provider": "callback", "endpoint": receiver.url("/other"), "index4": "shell:echo 203.0.113.9"},
        ],
    });
    let run = Sandbox::new().sync(&config).expect(0).never_prints("warning");
    run.prints("home.example.com A 203.0.113.9: accepted");
    let mut sent: Vec<_> = receiver.callbacks().iter().map(|r| format!("{} {}", r.line, r.text())).collect();
    sent.sort();
    let expected = [
        "GET /api/c/x.example HTTP/1.1 ",
        "GET /api/c/y.example HTTP/1.1 ",
        r#"POST /api/a/home.example.com/outside HTTP/1.1 {"ttl":"300"}"#,
        r#"POST /api/b/home.example.com/inside HTTP/1.1 {"ttl":"60"}"#,
        r#"POST /other HTTP/1.1 {"ttl":"300"}"#,
    ];
    assert_eq!(sent, expected);
}

#[test]
fn b8_comments_trailing_commas_and_a_byte_order_mark_are_accepted() {
    let receiver = Receiver::new();
    let text = r#"
        // a comment with "quotes" and a { brace
        {
            "dns": "callback", # another kind
            /* one over
               two lines, */
            "id": "URL", // the slashes, the marks and the comma below are no comments
            "token": {"text": "a // b # c /* d */ e, ]", "quoted": "\"// \\", "list": [1, 2, /* 3 */ ],},
            "ipv4": ["home.example.com",],
            "index4": "shell:echo 203.0.113.7",
        }
        # the end"#;
    let text = text.replace("URL", &receiver.url("/hook?c=/*x*/&d=//y"));
    for (case, text) in [("plain", text.clone()), ("byte order mark", format!("\u{feff}{text}"))] {
        let run = Sandbox::new().sync_text(&text.replace('\n', if case == "plain" { "\n" } else { "\r\n" }));
        ends(&run, 0, case);
        let request = receiver.take().remove(0);
        assert_eq!(request.line, "POST /hook?c=/*x*/&d=//y HTTP/1.1", "{case}");
        let body = json!({"text": "a // b # c /* d */ e, ]", "quoted": "\"// \\", "list": [1, 2]});
        assert_eq!(request.json(), body, "{case}");
    }
}

#[test]
fn b8_an_unknown_field_is_a_warning_with_the_nearest_name_and_the_run_goes_on() {
    let secret = json!({"key": "s3cr3t-key-0123456789"});
    let cases = [
        (json!({"tokn": secret}), "tokn", "did you mean `token`?"),
        (json!({"endpont": "https://u:s3cr3t-key-0123456789@h.example/"}), "endpont", "did you mean `endpoint`?"),
        (json!({"TTL": 5}), "TTL", "did you mean `ttl`?"),
        (json!({"cache-max-age": 5}), "cache-max-age", "did you mean `cache_max_age`?"),
        (json!({"log": {"levl": "INFO"}}), "levl", "level`?"),
        (json!({"qqqqqqqqqqqq": secret}), "qqqqqqqqqqqq", "warning"),
    ];
    for (fields, name, hint) in cases {
        let receiver = Receiver::new();
        let run = Sandbox::new().sync(&with(&basic(&receiver), &fields));
        ends(&run, 0, name);
        receiver.only();
        for text in ["config.json:1:", "warning:", "unknown field", name, hint] {
            assert!(run.stderr.contains(text), "{name}: {text:?} is missing: {}", run.stderr);
        }
        assert!(!run.stderr.contains("s3cr3t"), "{name}: a value is shown: {}", run.stderr);
    }
    let receiver = Receiver::new();
    let entry = json!([{"provider": "callback", "id": receiver.url("/hook"), "lin": "x"}]);
    let config = with(&without(without(basic(&receiver), "dns"), "id"), &json!({"providers": entry}));
    Sandbox::new().sync(&config).expect(0).prints("warning:").prints("did you mean `line`?");
    receiver.only();
}

#[test]
fn b9_a_string_list_is_separated_by_commas_or_semicolons() {
    for list in
        ["a.example,b.example", "a.example;b.example", " a.example , b.example ", "a.example;b.example,a.example"]
    {
        let receiver = Receiver::new();
        ends(&Sandbox::new().sync(&with(&basic(&receiver), &json!({"ipv4": list}))), 0, list);
        let expected = ["/hook?d=a.example&ip=203.0.113.7", "/hook?d=b.example&ip=203.0.113.7"];
        assert_eq!(targets(&receiver), expected, "{list}");
    }
}

#[test]
fn b9_what_follows_the_kind_of_a_source_is_taken_whole() {
    let receiver = Receiver::responding(|request| {
        let asked = request.target().starts_with("/address");
        Response::with_body(200, if asked { "203.0.113.7" } else { "" })
    });
    let page = receiver.url("/address?a=1,2;b=3");
    for index4 in ["shell:echo one, two; echo 203.0.113.7", "cmd:echo 1,2;3 203.0.113.7", &format!("url:{page}")] {
        for sources in [json!(index4), json!([index4])] {
            let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"index4": sources})));
            ends(&run, 0, index4);
            let seen = receiver.take();
            let sent = seen.last().map(Received::target);
            assert_eq!(sent, Some("/hook?d=home.example.com&ip=203.0.113.7"), "{sources}");
            if index4.starts_with("url:") {
                assert_eq!(seen[0].target(), "/address?a=1,2;b=3", "{sources}");
            }
        }
    }
}

#[test]
fn b10_domains_are_trimmed_lower_cased_and_kept_once() {
    let label = "l".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", "l".repeat(61));
    assert_eq!(longest.len(), 253);
    let cases = [
        (json!("  Home.Example.COM\t"), vec!["home.example.com"]),
        (json!(["a.example", "A.EXAMPLE", " a.example "]), vec!["a.example"]),
        (json!("*.example.com"), vec!["*.example.com"]),
        (json!("_acme-challenge.example.com"), vec!["_acme-challenge.example.com"]),
        (json!("bücher.例え"), vec!["bücher.例え"]),
        (json!("xn--bcher-kva.example"), vec!["xn--bcher-kva.example"]),
        (json!("host"), vec!["host"]),
        (json!(longest), vec![longest.as_str()]),
    ];
    for (domains, names) in cases {
        let receiver = Receiver::new();
        let more = json!({"ipv4": domains, "id": receiver.url("/hook"), "token": {"name": "__DOMAIN__"}});
        ends(&Sandbox::new().sync(&with(&basic(&receiver), &more)), 0, &domains.to_string());
        let sent: Vec<_> = receiver.callbacks().iter().map(|request| request.json()["name"].clone()).collect();
        assert_eq!(sent, names, "{domains}");
    }
}

#[test]
fn b10_an_impossible_domain_is_an_error_naming_the_entry() {
    let long = "l".repeat(64);
    let label = "l".repeat(63);
    let cases = [
        ("a b.example", "a b.example"),
        ("a\tb.example", "b.example"),
        ("a\u{0}b.example", "b.example"),
        ("a\u{7f}b.example", "b.example"),
        ("a..example", "a..example"),
        (".a.example", ".a.example"),
        (&format!("{long}.example"), &long[..20]),
        // 64 bytes in 32 characters: the limit counts bytes.
        (&format!("{}.example", "ü".repeat(32)), "üüüüüüüüüü"),
        (&format!("{label}.{label}.{label}.{}", &label[..62]), &label[..20]),
    ];
    for (domain, named) in cases {
        for field in ["ipv4", "ipv6"] {
            let receiver = Receiver::new();
            let more = json!({"ipv4": "good.example", "index4": receiver.index4(), "index6": receiver.index6()});
            let config = with(&with(&basic(&receiver), &more), &json!({field: ["fine.example", domain]}));
            let run = Sandbox::new().sync(&config);
            ends(&run, 2, domain);
            for text in ["config.json:1:", "error:", &format!("`{field}"), named] {
                assert!(run.stderr.contains(text), "{domain:?}: {text:?} is missing: {}", run.stderr);
            }
            assert_eq!((receiver.callbacks().len(), receiver.lookups()), (0, 0), "{domain:?} in {field}");
        }
    }
}

#[test]
fn b10_marks_that_no_name_has_are_named() {
    let receiver = Receiver::new();
    for domain in ["home.example.com\"", "'home.example.com'"] {
        let run = Sandbox::new().env("DDNS_IPV4", domain).sync(&without(basic(&receiver), "ipv4")).expect(2);
        run.prints("a domain name cannot contain a brace or a quotation mark").prints("leave the marks out");
    }
    let config = with(&basic(&receiver), &json!({"ipv4": ["home.example.com;"]}));
    Sandbox::new().sync(&config).expect(2).prints("is more than one domain");
    assert!(receiver.callbacks().is_empty());
    for odd in ["$host.example", "a=b.example", "[a.example]", "a\\b.example", "a|b.example"] {
        let config = with(&basic(&receiver), &json!({"ipv4": [odd]}));
        Sandbox::new().sync(&config).expect(0).prints("does not look like a domain name");
    }
    for plain in ["a+example.com", "*.a~b_c-d.example"] {
        let config = with(&basic(&receiver), &json!({"ipv4": [plain]}));
        Sandbox::new().sync(&config).expect(0).never_prints("does not look like");
    }
}

#[test]
fn b13_ssl_takes_booleans_and_words() {
    let receiver = Receiver::new();
    for ssl in [json!("auto"), json!(true), json!("true")] {
        sent_by(&receiver, &with(&basic(&receiver), &json!({"ssl": ssl})), &ssl.to_string());
    }
}

#[test]
fn b13_environment_and_options_take_more_words_in_any_case() {
    for (words, sent) in [(["true", "True", "YES", "yes", "1"], [1, 0]), (["false", "FALSE", "no", "No", "0"], [1, 1])]
    {
        for word in words {
            for by_option in [false, true] {
                let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
                sandbox.write("config.json", basic(&receiver).to_string());
                let (sandbox, args) = if by_option {
                    (sandbox, vec!["-c", "config.json", "--cache", word])
                } else {
                    (sandbox.env("DDNS_CACHE", word), vec!["-c", "config.json"])
                };
                let counts = [(); 2].map(|()| {
                    ends(&sandbox.run(&args), 0, word);
                    receiver.take().len()
                });
                assert_eq!(counts, sent, "{word}, by option: {by_option}");
                assert!(!sandbox.path(word).exists(), "{word} was taken for a path");
            }
        }
    }
    for word in ["auto", "AUTO", "True", "YES", "1"] {
        let receiver = Receiver::new();
        let sandbox = Sandbox::new().env("DDNS_SSL", word);
        ends(&sandbox.sync(&basic(&receiver)), 0, word);
        sandbox.run(&["-c", "config.json", "--no-cache", "--ssl", word]).expect(0);
        assert_eq!(receiver.callbacks().len(), 2, "{word}");
    }
}
