//! Bad input: exit 2, every problem named with its place, nothing sent, never a secret and never a panic. Mostly B8;
//! the errors of one rule (B7, B10, …) stand beside that rule.

use std::fs;

use serde_json::{Value, json};

use crate::support::given::{basic, ends, with, without};
use crate::support::{Receiver, Response, Run, Sandbox};

const SECRET: &str = "s3cr3t-key-0123456789";

/// What no output may hold: either half of the secret, or a sign of a crash.
#[track_caller]
fn clean(run: &Run, case: &str) {
    for text in ["s3cr3t", "0123456789", "panicked", "RUST_BACKTRACE"] {
        let held = run.stderr.contains(text) || run.stdout.contains(text);
        assert!(!held, "{case}: the output holds {text:?}\n{}{}", run.stdout, run.stderr);
    }
}

/// Whether a name in backticks has `field` as one of its parts: `ttl`, `ttl[0]` and `providers[1].ttl` name `ttl`.
fn names(stderr: &str, field: &str) -> bool {
    let word = |c: char| c.is_alphanumeric() || "_-$".contains(c);
    stderr.split('`').skip(1).step_by(2).any(|name| name.split(|c| !word(c)).any(|part| part == field))
}

/// Runs a good configuration and then this one: both must be refused, so that nothing at all reaches the receiver.
#[track_caller]
fn refused(bad: impl AsRef<[u8]>, case: &str) -> Run {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("good.json", with(&basic(&receiver), &json!({"index4": receiver.index4()})).to_string());
    sandbox.write("bad.json", bad);
    let run = sandbox.run(&["-c", "good.json", "bad.json"]);
    ends(&run, 2, case);
    clean(&run, case);
    assert!(run.stderr.contains("error:"), "{case}: no error is reported: {}", run.stderr);
    assert!(run.stderr.contains("bad.json"), "{case}: the file is not named: {}", run.stderr);
    assert_eq!((receiver.callbacks().len(), receiver.lookups()), (0, 0), "{case}: something was sent");
    run
}

/// A configuration that is right but for `fields`; it is never meant to reach anybody.
fn wrong(fields: &Value) -> Value {
    let config = json!({
        "dns": "callback",
        "id": "http://127.0.0.1:9/hook",
        "ipv4": "home.example.com",
        "index4": "shell:echo 203.0.113.7",
    });
    with(&config, fields)
}

#[test]
fn b8_a_wrong_type_or_value_is_an_error_that_names_the_field() {
    let cases = [
        ("dns", json!([5, true, "", ["callback"], {}])),
        ("id", json!([5, true, {}, ["http://127.0.0.1:9/"]])),
        ("endpoint", json!([5, true, {}, ["http://127.0.0.1:9/"]])),
        ("token", json!([5, true])),
        ("$schema", json!([5, {}])),
        ("debug", json!(["perhaps", 5, [], {}])),
        ("ttl", json!(["ten", -1.5, true, [], {}])),
        ("line", json!([true, [], {}])),
        ("ipv4", json!([5, true, {}, [5], [["a.example"]], [null]])),
        ("ipv6", json!([5, true, {}, [5], [["a.example"]], [null]])),
        ("index4", json!(["nonsense", true, {}, [{}], "url:", "cmd:", "shell:", "url:ftp://h.example/"])),
        ("index6", json!(["nonsense", true, {}, [{}], "url:", "cmd:", "shell:", "url:ftp://h.example/"])),
        ("proxy", json!([5, true, {}, [5]])),
        ("ssl", json!([5, [], {}])),
        ("cache", json!([5, [], {}])),
        ("cache_max_age", json!(["old", -1, true, []])),
        ("log", json!(["INFO", 5, []])),
        ("timeout", json!(["soon", -1, true, []])),
        ("concurrency", json!(["many", 0, -1, 1.5, true, []])),
        ("interval", json!(["soon", "5x", -1, true, []])),
        ("extra", json!(["x", 5, []])),
        ("providers", json!(["callback", 5, {}, [5], ["callback"]])),
    ];
    for (field, values) in cases {
        for value in values.as_array().expect("a list of values") {
            let case = format!("{field}: {value}");
            let run = refused(wrong(&json!({field: value})).to_string(), &case);
            assert!(names(&run.stderr, field), "{case}: the field is not named: {}", run.stderr);
            assert!(run.stderr.contains("bad.json:1:"), "{case}: no position: {}", run.stderr);
        }
    }
}

#[test]
fn b8_a_wrong_type_inside_log_names_its_field() {
    for (field, values) in [
        ("level", json!(["LOUD", -5, true, []])),
        ("file", json!([5, true, []])),
        ("format", json!([5, true, []])),
        ("datefmt", json!([5, true, []])),
    ] {
        for value in values.as_array().expect("a list of values") {
            let case = format!("log.{field}: {value}");
            let run = refused(wrong(&json!({"log": {field: value}})).to_string(), &case);
            assert!(names(&run.stderr, field), "{case}: the field is not named: {}", run.stderr);
        }
    }
}

#[test]
fn b8_all_errors_of_a_file_are_reported_at_once_each_at_its_place() {
    let text = r#"{
  "dns": "callback",
  "id": "http://127.0.0.1:9/hook", // a comment moves nothing
  /* nor do
     two lines of it */
  "ipv4": ["home.example.com", "a..b"],
  "ttl": "ten",
  "cache_max_age": [],
  "index4": "nonsense",
  "token": "{",
  "tll": 5
}"#;
    let run = refused(text, "six problems");
    for (line, field) in [(6, "ipv4"), (7, "ttl"), (8, "cache_max_age"), (9, "index4"), (10, "token"), (11, "tll")] {
        assert!(run.stderr.contains(&format!("bad.json:{line}:")), "no word about line {line}: {}", run.stderr);
        assert!(names(&run.stderr, field), "`{field}` is not named: {}", run.stderr);
    }
    // The column is that of the field or of its value.
    let columns = ["bad.json:7:3:", "bad.json:7:10:"];
    assert!(columns.iter().any(|place| run.stderr.contains(place)), "the column of `ttl`: {}", run.stderr);
    assert!(run.stderr.matches('^').count() >= 5, "a caret for each error: {}", run.stderr);
}

#[test]
fn b8_the_errors_of_every_file_are_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("one.json", wrong(&json!({"ttl": "ten"})).to_string());
    sandbox.write("two.json", wrong(&json!({"dns": "other"})).to_string());
    let run = sandbox.run(&["-c", "one.json", "missing.json", "two.json"]).expect(2);
    run.prints("one.json:1:").prints("missing.json").prints("two.json:1:");
}

#[test]
fn b8_broken_json_is_an_error_at_its_line() {
    let cases = [
        ("no value", "{\n  \"dns\": ,\n}", 2..=2),
        ("no comma", "{\n  \"dns\": \"callback\"\n  \"ttl\": 5\n}", 2..=3),
        ("no colon", "{\n  \"dns\" \"callback\"\n}", 2..=2),
        ("a bare word", "{\n  \"dns\": callback\n}", 2..=2),
        ("single quotes", "{\n  'dns': 'callback'\n}", 2..=2),
        ("an open string", "{\n  \"dns\": \"callback,\n  \"ttl\": 5\n}", 2..=3),
        ("a bad escape", "{\n  \"dns\": \"call\\qback\"\n}", 2..=2),
        ("a bad number", "{\n  \"dns\": \"callback\",\n  \"ttl\": 0x10\n}", 3..=3),
        ("the wrong bracket", "{\n  \"ipv4\": [\"home.example.com\"}\n}", 2..=2),
        ("something after the end", "{\n  \"dns\": \"callback\"\n}\n}", 4..=4),
    ];
    for (case, text, mut lines) in cases {
        let run = refused(text, case);
        let placed = lines.any(|line| run.stderr.contains(&format!("bad.json:{line}:")));
        assert!(placed, "{case}: not at its line: {}", run.stderr);
        assert!(run.stderr.contains('^'), "{case}: no caret: {}", run.stderr);
    }
    for text in ["", "  \n", "// soon\n", "{\n\"dns\": \"callback\"", "{\n/* \"dns\": 1}"] {
        refused(text, &format!("{text:?}"));
    }
    refused(b"{\"dns\": \"callback\", \"line\": \"\xff\xfe\"}", "no UTF-8");
    refused(b"\x7fELF\x02\x01\x01\x00", "no text");
    for text in ["[]", "\"callback\"", "42", "null", "true"] {
        refused(text, text);
    }
}

#[test]
fn b8_a_missing_or_unreadable_file_is_an_error_that_names_it() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("good.json", basic(&receiver).to_string());
    fs::create_dir(sandbox.path("folder.json")).expect("a folder");
    for file in ["missing.json", "no/such/folder.json", "folder.json", "good.json/inside"] {
        let run = sandbox.run(&["-c", "good.json", "-c", file]);
        ends(&run, 2, file);
        assert!(run.stderr.contains(file), "the file is not named: {}", run.stderr);
        clean(&run, file);
    }
    let run = sandbox.env("DDNS_CONFIG", "missing.json").run(&[]).expect(2);
    run.prints("missing.json");
    assert!(receiver.callbacks().is_empty(), "something was sent: {:?}", receiver.callbacks());
}

#[test]
fn no_configuration_at_all_reports_where_it_looked_and_what_to_try() {
    let run = Sandbox::new().run(&[]).expect(2);
    let places = [".ddns/config.json", ".ddns.json", "/etc/ddns/config.json", "/etc/ddns.json"];
    for text in ["config.json"].iter().chain(&places) {
        assert!(run.stderr.contains(text), "{text} is not named: {}", run.stderr);
    }
    run.prints("ddns demo").never_prints("panicked");
}

#[test]
fn b_dns_must_be_callback_or_an_error_names_it() {
    for dns in ["cloudflare", "dnspod", "none"] {
        let run = refused(wrong(&json!({"dns": dns})).to_string(), dns).prints("callback").prints(dns);
        assert!(names(&run.stderr, "dns"), "`dns` is not named: {}", run.stderr);
    }
    let run = refused(without(wrong(&json!({})), "dns").to_string(), "no dns").prints("callback");
    assert!(names(&run.stderr, "dns"), "`dns` is not named: {}", run.stderr);

    let shared = without(wrong(&json!({})), "dns");
    for entry in [json!({"provider": "cloudflare"}), json!({"id": "http://127.0.0.1:9/"})] {
        let config = with(&shared, &json!({"providers": [{"provider": "callback"}, entry]}));
        let run = refused(config.to_string(), &entry.to_string()).prints("callback");
        assert!(names(&run.stderr, "provider"), "{entry}: `provider` is not named: {}", run.stderr);
    }
}

#[test]
fn b_an_entry_without_any_domain_is_an_error() {
    for none in [json!({}), json!({"ipv4": []}), json!({"ipv4": "", "ipv6": []})] {
        let config = with(&without(wrong(&json!({})), "ipv4"), &none);
        let run = refused(config.to_string(), &none.to_string());
        assert!(names(&run.stderr, "ipv4"), "{none}: `ipv4` is not named: {}", run.stderr);
    }
}

#[test]
fn h12_the_provider_of_another_client_is_answered_with_its_recipe() {
    let sandbox = Sandbox::new();
    for (dns, recipe) in [("cloudflare", "cloudflare"), ("he", "he-net"), ("noip", "no-ip"), ("Route53", "route53")] {
        let config = json!({"dns": dns, "id": "me@example.com", "token": "k3y", "ipv4": ["home.example.com"]});
        let run = sandbox.sync(&config).expect(2).prints(&format!("`ddns init --recipe {recipe}`"));
        assert_eq!(run.stderr.matches("error: ").count(), 1, "nothing else: {}", run.stderr);
        assert!(!run.stderr.contains("k3y"), "{}", run.stderr);
    }
}

#[test]
fn b_what_belongs_outside_of_providers_is_refused_inside() {
    for (field, value) in [("interval", json!(5)), ("concurrency", json!(1))] {
        let entries = json!([{"provider": "callback"}, {"provider": "callback", field: value}]);
        let config = with(&without(wrong(&json!({})), "dns"), &json!({"providers": entries}));
        let run = refused(config.to_string(), field);
        assert!(names(&run.stderr, field), "`{field}` is not named: {}", run.stderr);
    }
}

#[test]
fn b_with_several_providers_a_line_names_its_endpoint() {
    let (good, bad) = (Receiver::new(), Receiver::responding(|_| Response::status(500)));
    let entries = json!([{"provider": "callback", "id": good.url("/")}, {"provider": "callback", "id": bad.url("/")}]);
    let config = with(&without(basic(&good), "dns"), &json!({"providers": entries}));
    let run = Sandbox::new().sync(&config).expect(1);
    run.prints(&format!("accepted by http://127.0.0.1:{}", good.port()))
        .prints(&format!("http://127.0.0.1:{} responded with 500", bad.port()));
}

#[test]
fn b_debug_inside_of_providers_holds_for_the_file() {
    let receiver = Receiver::new();
    let entries =
        json!([{"provider": "callback", "$schema": "x"}, {"provider": "callback", "debug": true, "line": "x"}]);
    let config = with(&without(basic(&receiver), "dns"), &json!({"providers": entries}));
    Sandbox::new().sync(&config).expect(0).prints("debug: > GET");
}

#[test]
fn b_an_address_with_another_scheme_a_bad_host_or_a_bad_port_is_refused() {
    let addresses = [
        "ftp://127.0.0.1/hook",
        "file:///etc/hostname",
        "ws://127.0.0.1/hook",
        "httpx://127.0.0.1/hook",
        "http://",
        "http:///hook",
        "http://?d=x",
        "http://:80/hook",
        "http://user:pw@/hook",
        "http://127.0.0.1:99999/hook",
        "http://127.0.0.1:65536/hook",
        "http://127.0.0.1:abc/hook",
        "http://127.0.0.1:-1/hook",
        "http://[::1/hook",
        "http://[nothing]/hook",
        "http://exam ple.com/hook",
        "http://a..example/hook",
    ];
    for address in addresses {
        for field in ["id", "endpoint"] {
            let case = format!("{field} {address}");
            let config = with(&without(wrong(&json!({})), "id"), &json!({field: address}));
            let run = refused(config.to_string(), &case);
            assert!(names(&run.stderr, field), "{case}: the field is not named: {}", run.stderr);
            assert!(run.stderr.contains("bad.json:1:"), "{case}: no position: {}", run.stderr);
        }
    }
    refused(wrong(&json!({"endpoint": "dns.example.net/api", "id": "hook"})).to_string(), "endpoint without a scheme");
}

#[test]
fn an_interval_below_10_s_is_refused_with_the_reason() {
    for value in [json!(0), json!("9s"), json!("0m"), json!("31d"), json!(1.5), json!("5 minutes")] {
        let config = wrong(&json!({"ipv6": "home.example.com", "index6": "shell:echo 2001:db8::7", "interval": value}));
        let run = refused(config.to_string(), &value.to_string());
        assert!(names(&run.stderr, "interval"), "{value}: the field is not named: {}", run.stderr);
    }
    let config = wrong(&json!({"interval": "5s"}));
    refused(config.to_string(), "5s").prints("less than 10 s").prints("whatever the interval");
}

#[test]
fn b8_errors_in_the_environment_and_in_options_name_variable_and_option() {
    let cases = [
        ("ttl", "ten"),
        ("ipv4", "a..b"),
        ("ipv4", r#"["home.example.com""#),
        ("ipv4", "[5]"),
        ("ipv6", "a b.example"),
        ("index4", "nonsense"),
        ("index6", "url:ftp://h.example/"),
        ("cache_max_age", "old"),
        ("log_level", "LOUD"),
        ("id", "ftp://127.0.0.1/s3cr3t-key-0123456789"),
        ("endpoint", "http://user:s3cr3t-key-0123456789@127.0.0.1:99999/"),
        ("token", "s3cr3t-key-0123456789"),
        ("token", r#"{"key": "s3cr3t-key-0123456789""#),
    ];
    for (field, value) in cases {
        let (variable, option) = (format!("DDNS_{}", field.to_uppercase()), format!("--{}", field.replace('_', "-")));
        let receiver = Receiver::new();
        let config = with(&basic(&receiver), &json!({"index4": receiver.index4(), "index6": receiver.index6()}));
        let absent = if field == "endpoint" { "id" } else { field };
        let config = without(config, absent).to_string();

        let sandbox = Sandbox::new().env(&variable, value);
        sandbox.write("config.json", &config);
        let run = sandbox.run(&["-c", "config.json"]);
        ends(&run, 2, &format!("{variable}={value}"));
        clean(&run, &variable);
        assert!(run.stderr.contains(&variable), "{variable} is not named: {}", run.stderr);

        if value.starts_with('[') {
            continue; // Lists as JSON are of the environment alone.
        }
        let sandbox = Sandbox::new();
        sandbox.write("config.json", &config);
        let run = sandbox.run(&["-c", "config.json", &option, value]);
        ends(&run, 2, &format!("{option} {value}"));
        clean(&run, &option);
        assert!(run.stderr.contains(&option), "{option} is not named: {}", run.stderr);
        assert_eq!((receiver.callbacks().len(), receiver.lookups()), (0, 0), "{field}: something was sent");
    }
    for (variable, value) in
        [("DDNS_EXTRA", "[1]"), ("DDNS_DEBUG", "perhaps"), ("DDNS_TIMEOUT", "soon"), ("DDNS_CONCURRENCY", "many")]
    {
        let run = Sandbox::new().env(variable, value).sync(&wrong(&json!({})));
        ends(&run, 2, variable);
        assert!(run.stderr.contains(variable), "{variable} is not named: {}", run.stderr);
    }
    let run = Sandbox::new().env("DDNS_DNS", "cloudflare").sync(&without(wrong(&json!({})), "dns"));
    run.expect(2).prints("DDNS_DNS").prints("callback");
}

#[test]
fn e7_wrong_usage_exits_2_without_showing_a_value() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("config.json", basic(&receiver).to_string());
    let joined = format!("--tokn={SECRET}");
    for args in [&["--tokn", SECRET][..], &[&joined], &["--no-such-option"], &["--ttl"], &["-c"]] {
        let run = sandbox.run(&[&["-c", "config.json"], args].concat());
        ends(&run, 2, &args.join(" "));
        clean(&run, &args.join(" "));
    }
    assert!(receiver.callbacks().is_empty(), "something was sent: {:?}", receiver.callbacks());
}

#[test]
fn g2_no_secret_in_an_error_about_another_field() {
    let url = |rest: &str| format!("http://{rest}");
    let secrets = [
        ("object token", json!({"token": {"key": SECRET, "deep": [{"and": SECRET}]}})),
        ("string token", json!({"token": format!(r#"{{"key": "{SECRET}"}}"#)})),
        ("string token with another name in it", json!({"token": format!(r#"{{"ttl": "ten", "key": "{SECRET}"}}"#)})),
        ("query", json!({"id": url(&format!("127.0.0.1:9/hook?key={SECRET}&d=__DOMAIN__"))})),
        ("userinfo", json!({"id": url(&format!("user:{SECRET}@127.0.0.1:9/hook"))})),
        ("path", json!({"id": url(&format!("127.0.0.1:9/{SECRET}/hook"))})),
        ("endpoint", json!({"endpoint": url(&format!("{SECRET}:{SECRET}@127.0.0.1:9/{SECRET}?k={SECRET}"))})),
        ("percent-encoded", json!({"id": url("127.0.0.1:9/hook?key=s3cr3t%2Dkey%2D0123456789")})),
    ];
    for (place, secret) in secrets {
        for (field, value) in
            [("ttl", json!("ten")), ("ipv4", json!("a..b")), ("dns", json!("other")), ("tll", json!(5))]
        {
            let config = with(&wrong(&secret), &json!({field: value, "index4": "nonsense"}));
            // Everything on one line, so that a quoted source line holds the secret too; and over several.
            for text in [config.to_string(), format!("{config:#}")] {
                let case = format!("{place}, bad {field}");
                let run = refused(&text, &case);
                assert!(names(&run.stderr, field), "{case}: the field is not named: {}", run.stderr);
            }
        }
    }
}

#[test]
fn g2_no_secret_in_an_error_about_the_field_that_holds_it() {
    let cases = [
        json!({"id": [format!("http://user:{SECRET}@127.0.0.1:9/")]}),
        json!({"id": {"url": SECRET}}),
        json!({"id": format!("http://user:{SECRET}@127.0.0.1:99999/{SECRET}?key={SECRET}")}),
        json!({"id": format!("ftp://user:{SECRET}@127.0.0.1/{SECRET}?key={SECRET}")}),
        json!({"id": format!("user:{SECRET}@dns.example.net/hook?key={SECRET}")}),
        json!({"id": format!("dns.example.net/{SECRET}/hook?key={SECRET}")}),
        json!({"id": "", "endpoint": format!("http://user:{SECRET}@[::1/{SECRET}")}),
        json!({"endpoint": [SECRET]}),
        json!({"token": [SECRET], "ttl": "ten"}),
        json!({"token": SECRET}),
        json!({"token": {"key": SECRET}, "providers": [{"provider": "other", "token": {"key": SECRET}}]}),
    ];
    for fields in cases {
        for text in [wrong(&fields).to_string(), format!("{:#}", wrong(&fields))] {
            refused(text, &fields.to_string());
        }
    }
}

/// Where the text is broken nobody can know what is secret, so nothing of its values may be shown.
#[test]
fn g2_no_secret_in_an_error_about_broken_json() {
    let cases = [
        r#"{"dns": "callback", "id": "http://u:SECRET@h.example/?k=SECRET", "token": {"key": "SECRET"} "ttl": 5}"#,
        r#"{"dns": "callback", "token": {"key": "SECRET"}, "ttl": }"#,
        r#"{"dns": "callback", "token": {"key": "SECRET}, "ttl": 5}"#,
        r#"{"dns": "callback", "token": "SECRET"#,
        r#"{"dns": "callback", "token": SECRET}"#,
        r#"{"dns": "callback", "token": 'SECRET'}"#,
        r#"{"dns": "callback", "token": {"key": "SECRET" "and": "SECRET"}}"#,
        r#"{"dns": "callback", "token": "{\"key\": \"SECRET\"}\q"}"#,
        r#"{"dns": "callback", /* SECRET */ "token": {"key": "x"}, // SECRET"#,
        "SECRET",
        "dns=callback&token=SECRET",
    ];
    for text in cases {
        refused(text.replace("SECRET", SECRET), text);
        refused(text.replace(", ", ",\n").replace("SECRET", SECRET), &format!("{text}, over several lines"));
    }
}

#[test]
fn b8_deep_nesting_never_ends_in_a_crash() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(50_000), close.repeat(50_000));
    let texts = [
        deep("[", "]"),
        format!(r#"{{"dns": "callback", "token": {}}}"#, deep(r#"{"a":"#, "}")),
        format!(r#"{{"dns": "callback", "token": "{}"}}"#, deep("[", "]")),
        "[".repeat(50_000),
        "/*".repeat(50_000),
    ];
    for text in texts {
        let run = refused(&text, &text[..40]);
        assert!(run.stderr.len() < 20_000, "a message that nobody can read: {} bytes", run.stderr.len());
    }
}

/// In an entry and in `log` too; a `null` sets nothing, and entries have fields of their own.
#[test]
fn b8_a_field_that_is_written_twice_is_noticed_wherever_it_stands() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let fields = r#""ipv4": "home.example.com", "index4": "shell:echo 203.0.113.7", "cache": false"#;
    let [first, last] = ["/first", "/last"].map(|path| receiver.url(path));
    let cases = [
        (
            format!(
                "{{\"providers\": [{{\"provider\": \"callback\", {fields},\n\"id\": \"{first}\",\n \"id\": \"{last}\"}}]}}"
            ),
            "config.json:3:",
            "id",
        ),
        (
            format!(
                "{{\"dns\": \"callback\", {fields}, \"id\": \"{last}\",\n\"log\": {{\"level\": \"ERROR\",\n\"level\": \"INFO\"}}}}"
            ),
            "config.json:3:",
            "log.level",
        ),
    ];
    for (text, place, name) in cases {
        let run = sandbox.sync_text(&text);
        ends(&run, 0, &text);
        let warning = run.stderr.lines().find(|line| line.contains("written twice")).unwrap_or_default();
        assert!(warning.contains(place) && warning.contains(&format!("`{name}`")), "{text}\n{}", run.stderr);
        assert_eq!(
            receiver.take().iter().map(|sent| sent.target().to_owned()).collect::<Vec<_>>(),
            ["/last"],
            "{text}"
        );
    }
    let entry = format!("{{\"provider\": \"callback\", {fields}, \"id\": \"{last}\"}}");
    let text = format!("{{\"ttl\": null, \"ttl\": 5, \"providers\": [{entry}, {entry}]}}");
    let run = sandbox.sync_text(&text);
    ends(&run, 0, &text);
    assert!(!run.stderr.contains("twice"), "{}", run.stderr);
}

#[test]
fn b8_errors_inside_log_are_reported_together() {
    let log = json!({"level": "LOUD", "format": "no message", "datefmt": 5});
    let run = refused(wrong(&json!({"log": log})).to_string(), "three errors in log");
    for field in ["level", "format", "datefmt"] {
        assert!(names(&run.stderr, field), "`log.{field}` is not named: {}", run.stderr);
    }
}

#[test]
fn h20_the_hint_says_why_a_notification_forgets_nothing() {
    let notify = json!({"id": "http://127.0.0.1:9/__MESSAGE__", "expect": {"forget": {"status": 404}}});
    let run = refused(wrong(&json!({"notify": notify})).to_string(), "forget in a notification");
    run.prints("`forget` has no meaning here").prints("a notification has no steps").never_prints("`none`");
}
