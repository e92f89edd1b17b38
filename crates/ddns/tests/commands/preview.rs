//! `ddns preview`: what it shows is what a run sends, and looking changes nothing.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::given::{SOURCE, home, with};
use crate::support::terminal::fits;
use crate::support::tools::needed;
use crate::support::{Received, Receiver, Response, Run, Sandbox};

const ALL: [&[&str]; 4] = [&[], &["--wide"], &["--curl"], &["--json"]];

/// Writes the configuration and previews it with these options.
fn preview(sandbox: &Sandbox, config: &Value, options: &[&str]) -> Run {
    sandbox.write("config.json", config.to_string());
    sandbox.run(&[&["preview", "-c", "config.json"], options].concat())
}

#[track_caller]
fn items(run: &Run) -> Vec<Value> {
    run.json()
}

/// The one line of a block that begins with a label.
#[track_caller]
fn row<'a>(run: &'a Run, label: &str) -> &'a str {
    let mut rows = run.stdout.lines().filter_map(|line| line.strip_prefix("  ")?.strip_prefix(label));
    rows.next().unwrap_or_else(|| panic!("no row {label}:\n{}", run.stdout)).trim()
}

#[test]
fn preview_shows_request_address_source_and_verdict() {
    let sandbox = Sandbox::new();
    let id = "http://user:pass-word@127.0.0.1:9/up?name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__&key=my-secret-key";
    let run = preview(&sandbox, &home(id), &[]).expect(0);
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "\
home.example.com A
  verdict  would be sent: never accepted
  address  203.0.113.7, from shell:…: the first IPv4 address in the output of
             `sh`
  request  GET http://127.0.0.1:9/up?name=home.example.com&type=A&ip=203.0.113.7
             &key=***
           Host: 127.0.0.1:9
           User-Agent: ddns-callback/{version}
           Accept: */*
           Authorization: Basic ***

Nothing was sent. A run now would send 1 of 1 updates.
"
    );
    assert_eq!(run.stdout, expected);
    assert_eq!(run.stderr, "");
}

#[test]
fn preview_curl_in_a_pipe() {
    let sandbox = Sandbox::new();
    let config =
        with(&home("http://127.0.0.1:9/it's?a=[1]"), &json!({"token": {"ip": "__IP__", "key": "my-secret-key"}}));
    let run = preview(&sandbox, &config, &["--curl"]).expect(0);
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "\
# Secrets appear as ***; --show-secrets prints them.
# home.example.com A: would be sent: never accepted
curl -q -i -g --path-as-is --noproxy '*' -A ddns-callback/{version} \\
  -H 'Accept: */*' -H 'Content-Type: application/json' -H Expect: \\
  --data-raw '{{\"ip\":\"203.0.113.7\",\"key\":\"***\"}}' \\
  'http://127.0.0.1:9/it'\\''s?a=***'
"
    );
    assert_eq!(run.stdout, expected);
}

#[test]
fn preview_judges_as_a_run_does() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let config = with(&home(&receiver.url("/?ip=__IP__")), &json!({"index4": receiver.index4()}));
    let verdict = |config: &Value| row(&preview(&sandbox, config, &[]).expect(0), "verdict").to_owned();
    assert_eq!(verdict(&config), "would be sent: never accepted");
    sandbox.sync(&config).expect(0);
    let known = verdict(&config);
    assert!(known.starts_with("up to date: accepted ") && known.ends_with(" s ago"), "{known}");
    let json = items(&preview(&sandbox, &config, &["--json"]).expect(0));
    assert_eq!(json[0]["verdict"], "up to date", "{json:?}");
    assert!(json[0]["request"]["url"].is_string(), "the request is shown all the same: {json:?}");
    receiver.set_ip("203.0.113.9");
    assert_eq!(verdict(&config), "would be sent: changed from 203.0.113.7");
    let always = verdict(&with(&config, &json!({"cache_max_age": 0, "index4": SOURCE})));
    assert!(always.starts_with("would be sent: accepted ") && always.ends_with("cache_max_age"), "{always}");
    assert_eq!(verdict(&with(&config, &json!({"cache": false}))), "would be sent: the cache is off");
    assert_eq!(receiver.callbacks().len(), 1, "previews send nothing");
}

#[test]
fn preview_changes_nothing() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let config = with(&home(&receiver.url("/?ip=__IP__")), &json!({"log": {"file": "run.log"}, "debug": true}));
    for options in ALL {
        preview(&sandbox, &config, options).expect(0);
        let names: Vec<_> =
            fs::read_dir(sandbox.path("")).expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["config.json"], "{options:?}: neither cache nor log");
    }
    let damaged = "{\"version\":1, no more";
    let cache = sandbox.write(".local/state/ddns/cache.json", damaged);
    let run = preview(&sandbox, &config, &[]).expect(0).prints("damaged");
    assert_eq!(row(&run, "verdict"), "would be sent: never accepted");
    assert_eq!(fs::read_to_string(&cache).expect("still there"), damaged);
    assert_eq!(fs::read_dir(cache.parent().expect("a folder")).expect("a folder").count(), 1, "nothing beside it");
    assert_eq!(receiver.callbacks().len(), 0);
}

/// Callbacks with everything that an address or a body can hold that is hard to keep as it is.
fn odd_callbacks(receiver: &Receiver) -> Vec<Value> {
    let at = |path: &str| receiver.url(path);
    let with_user = |user: &str| at("/u?d=__DOMAIN__").replace("://", &format!("://{user}@"));
    let token = json!({
        "quote'": "it's \"so\" \\ $HOME `id`", "ü": "straße 漢字 🦀", "ip": "__IP__", "at": "@file", "n": 1.50,
        "deep": [{"t": "__TTL__"}, null, true, "line\nbreak\ttab"], "d": "__DOMAIN__", "more": "long ".repeat(400),
    });
    vec![
        json!({"id": at("/plain?d=__DOMAIN__&ip=__IP__&t=__RECORDTYPE__")}),
        json!({"id": at("/a/../b/./c//d?x={1,2}&y=[a-c]&z=it's&e=&p=%2F%zz+&q=a|b^c\\d&u=grün ß")}),
        json!({"id": with_user("us%3Aer:p%40ss'w%20ord$x")}),
        json!({"id": with_user("only-user"), "token": {"a": 1}}),
        json!({"id": with_user("a%0Ab:c%1B"), "token": token}),
        json!({"id": at("/hook/__IP__/__DOMAIN__"), "token": token, "ttl": 600}),
        json!({"id": at("?__LINE__"), "line": "a b&c=d#e'f", "token": "[__TTL__, \"__LINE__\"]"}),
        json!({"id": at("/put"), "method": "put", "token": token, "headers": {"X-Key": "it's $HOME; ü", "Accept": "a/b"}}),
        json!({"id": at("/delete/__DOMAIN__"), "method": "delete", "headers": {"X-Empty": "", "X-At": "@file", "X-End": "a;"}}),
        json!({"id": at("/delete"), "method": "delete", "token": {"ip": "__IP__"}}),
        json!({"id": at("/bare"), "method": "post", "headers": {"User-Agent": "", "Accept": "", "Content-Type": "x/y"}}),
        json!({"id": at("/patch"), "method": "patch"}),
        json!({"id": with_user("user:pw"), "headers": {"authorization": "Bearer __IP__"}}),
        json!({"id": at("/form"), "format": "form", "token": {"a b": "c&d=é'", "ip": "__IP__", "at": "@x"}}),
        json!({"id": at("/form"), "format": "form", "token": "@a=1&ip=__IP__&b=%20 c", "headers": {"Content-Type": "a/b"}}),
        json!({"id": at("/text"), "format": "text", "token": "@line one\r\n__IP__ 'two'\n", "method": "put"}),
    ]
}

fn assert_same(a: &Received, b: &Received) {
    assert_eq!((&a.line, &a.body), (&b.line, &b.body));
    let sorted = |request: &Received| {
        let mut headers = request.headers.clone();
        headers.sort();
        headers
    };
    assert_eq!(sorted(a), sorted(b), "{}", a.line);
}

#[test]
fn preview_curl_sends_the_same_bytes() {
    let Some(_) = needed("curl") else { return };
    let receiver = Receiver::new();
    for callback in odd_callbacks(&receiver) {
        let sandbox = Sandbox::new();
        let base = json!({"dns": "callback", "cache": false, "ipv4": "home.example.com", "ipv6": ["*.straße.example"],
            "index4": SOURCE, "index6": "shell:echo 2001:db8::7", "concurrency": 1});
        let config = with(&base, &callback);
        sandbox.sync(&config).expect(0);
        let sent = receiver.take();
        assert_eq!(sent.len(), 2);
        for width in [&[][..], &["--wide"]] {
            let options = [&["--curl", "--show-secrets", "--yes"], width].concat();
            let script = preview(&sandbox, &config, &options).expect(0).stdout;
            let mut shell = Command::new("sh");
            shell.args(["-euc", &script]).current_dir(sandbox.path("")).env("http_proxy", "http://127.0.0.1:9");
            let output = shell.stdin(Stdio::null()).output().expect("sh starts");
            assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
            let tried = receiver.take();
            assert_eq!(tried.len(), 2, "{script}");
            sent.iter().zip(&tried).for_each(|(sent, tried)| assert_same(sent, tried));
        }
        let shown = preview(&sandbox, &config, &["--json", "--show-secrets", "--yes"]).expect(0);
        for (sent, item) in sent.iter().zip(items(&shown)) {
            let request = &item["request"];
            assert_eq!(request["method"], sent.method());
            assert_eq!(request["url"], receiver.url(sent.target()));
            let headers: Vec<_> = sent.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            assert_eq!(request["headers"], Value::Object(headers.into_iter().collect()));
            assert_eq!(request["body"].as_str().unwrap_or_default(), sent.text());
        }
    }
}

#[test]
fn preview_shows_secrets_only_where_that_is_meant() {
    let sandbox = Sandbox::new();
    let config = home("http://127.0.0.1:9/?key=my-secret-key");
    let run = preview(&sandbox, &config, &["--show-secrets"]).expect(2);
    assert_eq!(run.stdout, "");
    run.prints("standard output is not a terminal").prints("--yes").never_prints("my-secret-key");
    preview(&sandbox, &config, &["--yes"]).expect(0).never_prints("my-secret-key");
    preview(&sandbox, &config, &["--show-secrets", "--yes"]).expect(0).shows("key=my-secret-key");
}

/// In a terminal the user who asks for secrets sees them; the rest of the text is that of a pipe.
#[test]
fn preview_in_a_terminal() {
    let Some(script) = needed("script") else { return };
    let sandbox = Sandbox::new();
    let config = home("http://127.0.0.1:9/?key=my-secret-key");
    let in_pipe = preview(&sandbox, &config, &[]).expect(0).stdout;
    let in_terminal = |options: &str| {
        let line = format!("{} preview -c config.json {options}", env!("CARGO_BIN_EXE_ddns"));
        let mut command = Command::new(&script);
        command.args(["-qec", &line, "/dev/null"]).current_dir(sandbox.path("")).env("HOME", sandbox.path(""));
        let output = command.stdin(Stdio::null()).output().expect("script starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")
    };
    assert_eq!(in_terminal(""), in_pipe);
    assert_eq!(in_terminal("--show-secrets"), in_pipe.replace("***", "my-secret-key"));
}

#[test]
fn preview_takes_addresses_instead_of_looking() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let more = json!({"index4": receiver.index4(), "index6": receiver.index6(), "ipv6": "home.example.com"});
    let config = with(&home(&receiver.url("/?ip=__IP__")), &more);
    let run = preview(&sandbox, &config, &["--json", "--ip", "198.51.100.1", "--ip=2001:DB8:0::9"]).expect(0);
    let all = items(&run);
    let printed: Vec<_> = all.iter().map(|item| (item["address"].as_str(), item["source"].as_str())).collect();
    assert_eq!(printed, [(Some("198.51.100.1"), Some("--ip")), (Some("2001:db8::9"), Some("--ip"))]);
    assert_eq!(receiver.lookups(), 0);
    let all = items(&preview(&sandbox, &config, &["--json", "--ip", "198.51.100.1"]).expect(0));
    assert_eq!(all[1]["address"], "2001:db8::7", "what is not given is looked for");
    assert_eq!(receiver.lookups(), 1);
    for wrong in [&["--ip", "1.2.3"][..], &["--ip", "0.0.0.0"], &["--ip", "::ffff:1.2.3.4"], &["--ip"]] {
        preview(&sandbox, &config, wrong).expect(2).prints("--ip");
    }
    preview(&sandbox, &config, &["--ip", "192.0.2.1", "--ip", "192.0.2.2"]).expect(2).prints("two IPv4 addresses");
    let ipv4_only = with(&home(&receiver.url("/?ip=__IP__")), &json!({"index4": receiver.index4()}));
    preview(&sandbox, &ipv4_only, &["--ip", "2001:db8::1"]).expect(0).prints("2001:db8::1 has no effect");
}

/// An address that no source gave is called an example, and no command sends it.
#[test]
fn a8_a_preview_of_an_example_is_no_command() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let more = json!({"index4": receiver.index4(), "index6": receiver.index6(), "ipv6": "home.example.com"});
    let config = with(&home(&receiver.url("/?ip=__IP__")), &more);
    let shown = preview(&sandbox, &config, &["--ip", "198.51.100.1"]).expect(0).stdout;
    assert!(shown.contains("198.51.100.1, from --ip: an example") && shown.contains("A run that found"), "{shown}");
    let script = preview(&sandbox, &config, &["--curl", "--wide", "--ip", "198.51.100.1"]).expect(0).stdout;
    let commands: Vec<&str> = script.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(commands.len() == 1 && commands[0].contains("2001:db8::7"), "{script}");
    assert!(script.contains("198.51.100.1") && script.contains("# An example"), "{script}");
    let all = items(&preview(&sandbox, &config, &["--json", "--curl", "--ip", "198.51.100.1"]).expect(0));
    assert!(all[0]["example"] == true && all[0]["curl"].is_null(), "{all:?}");
    assert!(all[1]["example"].is_null() && all[1]["curl"].is_string(), "{all:?}");
    // In one request: it is an example as a whole, and only one address of it was given.
    let both = json!({"id": receiver.url("/?a=__IPV4__&b=__IPV6__"), "combine": {"families": true}});
    let shown = preview(&sandbox, &with(&config, &both), &["--ip", "198.51.100.1"]).expect(0).stdout;
    for expected in ["its address comes from --ip", "the other address comes from --ip"] {
        assert_eq!(shown.matches(expected).count(), 1, "{shown}");
    }
    let alone = with(&with(&config, &both), &json!({"index6": "shell:false"}));
    let shown = preview(&sandbox, &alone, &[]).expect(1).stdout;
    assert!(shown.ends_with("would send 0 of 2 updates; 1 has no address.\n"), "{shown}");
}

#[test]
fn preview_reports_why_nothing_can_be_sent() {
    let sandbox = Sandbox::new();
    let config = with(
        &home("http://127.0.0.1:9/?key=s3cr3t-k3y"),
        &json!({"index4": ["interface:nope", "shell:echo s3cr3t-k3y; exit 3"]}),
    );
    let run = preview(&sandbox, &config, &[]).expect(1);
    assert_eq!(row(&run, "verdict"), "cannot be sent: no IPv4 address found");
    assert!(row(&run, "source").starts_with("interface:nope gave no address: "), "{}", run.stdout);
    assert!(run.stdout.ends_with("would send 0 of 1 updates; 1 has no address.\n"), "{}", run.stdout);
    run.never_prints("s3cr3t");
    let all = items(&preview(&sandbox, &config, &["--json"]).expect(1));
    assert_eq!(
        (&all[0]["verdict"], &all[0]["request"], &all[0]["address"]),
        (&json!("no address"), &Value::Null, &Value::Null)
    );
    let impossible = with(&home("http://__LINE__/"), &json!({"line": "no host"}));
    let run = preview(&sandbox, &impossible, &[]).expect(1);
    assert!(row(&run, "verdict").starts_with("cannot be sent: the address names the host"), "{}", run.stdout);
    let off = with(&home("http://127.0.0.1:9/"), &json!({"index4": false}));
    let run = preview(&sandbox, &off, &[]).expect(0);
    assert_eq!(run.stdout, "Nothing would be sent: every family with domains is turned off.\n");
    sandbox.run(&["preview", "-c", "missing.json"]).expect(2);
    Sandbox::new().run(&["preview"]).expect(2).prints("no configuration found");
}

/// The masked port is no number: the request can be shown all the same.
#[test]
fn preview_g2_a_port_of_extra_can_be_shown() {
    let sandbox = Sandbox::new();
    let config = with(&home("http://127.0.0.1:__PORT__/x?k=s3cr3t"), &json!({"extra": {"__PORT__": 8099}}));
    let run = preview(&sandbox, &config, &[]).expect(0).never_prints("s3cr3t");
    assert_eq!(row(&run, "request"), "GET http://127.0.0.1:8099/x?k=***");
}

#[test]
fn preview_names_the_entry_where_there_are_several() {
    let sandbox = Sandbox::new();
    let entry =
        |path: &str| json!({"provider": "callback", "id": format!("http://127.0.0.1:9/{path}"), "ipv4": "a.example"});
    let config = json!({"index4": SOURCE, "providers": [entry("x"), entry("y")]});
    preview(&sandbox, &config, &[]).expect(0).shows("  of       config.json, entry 2\n");
}

#[test]
fn preview_fits_eighty_columns() {
    let sandbox = Sandbox::new();
    let label = "l".repeat(63);
    let long = format!("{label}.{label}.{label}.example");
    let token = json!({"ip": "__IP__", "names": vec!["__DOMAIN__"; 40], "key": "k".repeat(500)});
    let more =
        json!({"ipv4": [long, "a.example"], "token": token, "index4": [format!("interface:{label}{label}"), SOURCE]});
    let config = with(&home(&format!("http://127.0.0.1:9/{label}/x?{}", "a=__DOMAIN__&".repeat(20))), &more);
    for options in [&[][..], &["--curl"], &["--curl", "--show-secrets", "--yes"], &["--show-secrets", "--yes"]] {
        let run = preview(&sandbox, &config, options).expect(0);
        fits(80, &run.stdout);
        for line in run.stdout.lines() {
            assert_eq!(line.trim_end(), line, "{options:?}: blanks at the end");
        }
    }
    let wide = preview(&sandbox, &config, &["--wide"]).expect(0);
    assert!(wide.stdout.lines().any(|line| line.chars().count() > 1000), "nothing is broken or cut");
}

#[test]
fn preview_of_ten_thousand_is_short_and_quick() {
    let sandbox = Sandbox::new();
    let domains: Vec<String> = (0..10_000).map(|n| format!("d{n}.example.com")).collect();
    let config = with(&home("http://127.0.0.1:9/?d=__DOMAIN__&k=s3cr3t"), &json!({"ipv4": domains}));
    let begun = Instant::now();
    let run = preview(&sandbox, &config, &[]).expect(0).shows("\n… and 9,980 more alike (--json shows all)\n");
    assert!(run.stdout.ends_with("would send 10,000 of 10,000 updates.\n"));
    assert_eq!(run.stdout.matches("  verdict  ").count(), 20);
    assert_eq!(items(&preview(&sandbox, &config, &["--json"]).expect(0)).len(), 10_000);
    let script = preview(&sandbox, &config, &["--curl"]).expect(0).stdout;
    assert_eq!(script.matches("\ncurl ").count(), 10_000, "a script is whole");
    // Two seconds on a machine at rest; were each update to look at all others, minutes.
    assert!(begun.elapsed() < Duration::from_secs(60), "took {:?}", begun.elapsed());
}

#[test]
fn preview_a_closed_pipe_is_no_crash() {
    let sandbox = Sandbox::new().configure(&home("http://127.0.0.1:9/"));
    for options in ALL {
        let mut command = sandbox.command(&[&["preview"], options].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let mut printed = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut printed).expect("text");
        assert_eq!((child.wait().expect("it ends").code(), printed.as_str()), (Some(0), ""), "{options:?}");
    }
}

#[test]
fn preview_shows_stopped_updates_also_where_there_are_many() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "no"));
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..25).map(|number| format!("d{number}.example.com")).collect();
    let more = json!({"ipv4": names, "expect": {"stop": {"body": "no", "all": true}}});
    let config = with(&home(&receiver.url("/?d=__DOMAIN__&ip=__IP__")), &more);
    sandbox.sync(&config).expect(1);
    let run = preview(&sandbox, &config, &[]).expect(0);
    assert_eq!(run.stdout.matches("  verdict  stopped: the service refused it").count(), 20, "{}", run.stdout);
    assert!(run.stdout.contains("… and 5 more alike"), "{}", run.stdout);
    assert!(run.stdout.ends_with("A run now would send 0 of 25 updates; 25 are stopped.\n"), "{}", run.stdout);
}

#[test]
fn preview_counts_what_is_held_back_as_not_sent() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let more = json!({"index4": receiver.index4(), "min_interval": "1h"});
    let config = with(&home(&receiver.url("/?ip=__IP__")), &more);
    sandbox.sync(&config).expect(0);
    receiver.set_ip("203.0.113.9");
    let run = preview(&sandbox, &config, &[]).expect(0);
    assert!(row(&run, "verdict").starts_with("would be held back for "), "{}", run.stdout);
    assert!(run.stdout.ends_with("A run now would send 0 of 1 updates; 1 is held back.\n"), "{}", run.stdout);
}

/// `ttl` and `line` may be found by a step where they are not set.
#[test]
fn h16_preview_names_a_ttl_and_a_line_that_are_not_known_yet() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let found = json!({"id": receiver.url("/find"), "take": {"/ttl": "__TTL__", "/line": "__LINE__"}});
    let more = json!({"before": found, "token": "{\"ttl\": __TTL__, \"line\": \"__LINE__\", \"ip\": \"__IP__\"}"});
    let config = with(&home(&receiver.url("/u?ttl=__TTL__")), &more);
    preview(&sandbox, &config, &["--wide"]).expect(0).shows("ddns asks the service for __TTL__ and __LINE__ first.");
    let request = items(&preview(&sandbox, &config, &["--json"]).expect(0))[0]["request"].clone();
    assert!(request["url"].as_str().is_some_and(|url| url.ends_with("/u?ttl=__TTL__")), "{request}");
    let body: Value = serde_json::from_str(request["body"].as_str().expect("a body")).expect("JSON");
    assert_eq!(body, json!({"ttl": "__TTL__", "line": "__LINE__", "ip": "203.0.113.7"}));
    // One that is set is known.
    let run = preview(&sandbox, &with(&config, &json!({"ttl": 60})), &["--wide"]).expect(0);
    assert!(run.stdout.contains("/u?ttl=60") && run.stdout.contains("for __LINE__ first."), "{}", run.stdout);
}

/// The response is cut where the session stands in it.
#[test]
fn h16_g2_lookup_shows_no_part_of_a_session() {
    let receiver = Receiver::responding(|request| match request.target() {
        "/login" => Response::with_body(200, r#"{"session": "s3ss10n-0f-m1ne"}"#),
        _ => Response::with_body(403, &format!("{}s3ss10n-0f-m1ne", "x".repeat(494))),
    });
    let login = json!({"id": "/login", "secret": {"/session": "__SESSION__"}});
    let find = json!({"id": "/find", "headers": {"X-Session": "__SESSION__"}, "take": {"/id": "__ID__"}});
    let config = with(&home(&receiver.url("/records/__ID__?ip=__IP__")), &json!({"before": [login, find]}));
    let sandbox = Sandbox::new().configure(&config);
    let run = sandbox.run(&["preview", "--lookup", "--wide"]).expect(1);
    assert!(run.stdout.contains("403 Forbidden: xxx") && !run.stdout.contains("s3ss"), "{}", run.stdout);
}
