//! `ddns check`: each setting with its origin, all errors and warnings, and, online, how far a request would
//! come.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::date_time_ymd;
use rustls::version::TLS13;
use serde_json::{Value, json};

use crate::support::authority::{Authority, params_for};
use crate::support::given::{SOURCE, home, with};
use crate::support::terminal::fits;
use crate::support::tools::needed;
use crate::support::{Receiver, Run, Sandbox};

/// Writes the configuration for its owner's eyes only, and checks it with these options.
fn check_text(sandbox: &Sandbox, config: &str, options: &[&str]) -> Run {
    let path = sandbox.write("config.json", config);
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("the rights are set");
    sandbox.run(&[&["check", "-c", "config.json"], options].concat())
}

fn check(sandbox: &Sandbox, config: &Value, options: &[&str]) -> Run {
    check_text(sandbox, &config.to_string(), options)
}

#[track_caller]
fn report(run: &Run) -> Value {
    run.json()
}

const WHOLE: &str = r#"{
  "dns": "callback",
  "id": "https://alice:pass-word@h.example/hook?name=__DOMAIN__&ip=__IP__&key=my-secret-key&zone=__ZONE__",
  "token": {"key": "my-secret-key", "ip": "__IP__", "no": "__NOPE__"},
  "extra": {"__ZONE__": "my-zone"},
  "ipv4": ["a.example.com", "b.example.com"],
  "tll": 300
}"#;

#[test]
fn check_shows_each_setting_and_all_warnings() {
    let sandbox = Sandbox::new().env("DDNS_LINE", "home");
    let run = check_text(&sandbox, WHOLE, &["--ttl", "60"]).expect(0);
    let expected = "\
config.json
  dns   = callback                                      config.json:2
  id    = https://***:***@h.example/hook?name=__DOMAIN__&ip=__IP__&key=***
            &zone=__ZONE__                              config.json:3
  token = {\"key\":\"***\",\"ip\":\"__IP__\",\"no\":\"***\"}        config.json:4
  ipv4  = a.example.com, b.example.com                  config.json:6
  ttl   = 60                                            --ttl
  line  = home                                          DDNS_LINE
  extra = {\"__ZONE__\":\"***\"}                            config.json:5

config.json:7:3: warning: unknown field `tll`: it has no effect
  7 |   \"tll\": ***
    |   ^^^^^
  hint: did you mean `ttl`?
config.json: warning: __NOPE__ is not a placeholder: it is sent as it is
  hint: did you mean __ZONE__?

No errors, 2 warnings.
";
    assert_eq!(run.stdout, expected);
    assert_eq!(run.stderr, "");
}

#[test]
fn check_warns_where_the_endpoint_is_not_told_the_address() {
    let sandbox = Sandbox::new();
    let base = json!({"dns": "callback", "ipv4": "a.example.com"});
    let told = "neither `id` nor `token` contains __IP__";
    for id in ["https://h.example/hook", "https://h.example/hook?name=__DOMAIN__"] {
        check(&sandbox, &with(&base, &json!({"id": id})), &[]).expect(0).shows(told).shows("No errors, 1 warning.");
        let body = json!({"id": id, "token": {"deep": ["__IP__"]}});
        check(&sandbox, &with(&base, &body), &[]).expect(0).shows("No errors, no warnings.");
    }
}

#[test]
fn check_in_a_terminal_prints_the_same() {
    let Some(script) = needed("script") else { return };
    let sandbox = Sandbox::new();
    let in_pipe = check_text(&sandbox, WHOLE, &[]).expect(0).stdout;
    let line = format!("{} check -c config.json", env!("CARGO_BIN_EXE_ddns"));
    let mut command = Command::new(script);
    command.args(["-qec", &line, "/dev/null"]).current_dir(sandbox.path("")).env("HOME", sandbox.path(""));
    let output = command.stdin(Stdio::null()).output().expect("script starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n"), in_pipe);
}

#[test]
fn check_reports_all_errors_and_still_shows_the_settings() {
    let sandbox = Sandbox::new();
    let config = "{\n\"dns\": \"other\", \"id\": \"h.example/?k=s3cr3t\",\n\"ipv4\": [\"a b\"], \"ttl\": []\n}";
    let run = check_text(&sandbox, config, &["--online"]).expect(2).never_prints("s3cr3t");
    for part in [
        "  id   = h.example/?k=***",
        "Nothing was tested online",
        "`dns` is `other`",
        "`ttl` must be",
        "4 errors, no warnings.",
    ] {
        assert!(run.stdout.contains(part), "no word of {part}:\n{}", run.stdout);
    }
    let report = report(&check_text(&sandbox, config, &["--json"]).expect(2));
    assert_eq!(report["errors"].as_array().map(Vec::len), Some(4), "{report:#}");
    assert_eq!(report["errors"][1]["place"], "config.json:3:25", "{report:#}");
    check_text(&sandbox, "{ no json", &[]).expect(2).shows("not valid JSON");
    sandbox.run(&["check", "-c", "missing.json"]).expect(2);
    Sandbox::new().run(&["check"]).expect(2).prints("no configuration found");
    sandbox.run(&["check", "--onlin"]).expect(2).prints("--online");
}

#[test]
fn check_warns_of_likely_mistakes() {
    let base = home("https://h.example/hook?ip=__IP__");
    let cases = [
        (json!({}), None),
        (json!({"ssl": false}), Some("`ssl` is off")),
        (json!({"id": "http://h.example/__IP__?key=my-secret-key"}), Some("`id` is an unencrypted http address")),
        (json!({"id": "http://h.example/?ip=__IP__"}), None),
        (json!({"id": "http://10.0.0.1/__IP__?key=my-secret-key"}), None),
        (json!({"id": "https://h.example/?ip=__ip__&of=__IP__"}), Some("__ip__ is not a placeholder")),
        (json!({"id": "https://h.example/?d=__DOMAIN&of=__IP__"}), Some("__DOMAIN is not a placeholder")),
        (json!({"ipv4": ["a.example", "A.example"]}), Some("a.example is listed twice")),
        (json!({"ipv4": ["a.example", "b.example"]}), Some("2 domains send the same request")),
        (json!({"endpoint": "https://e.example/__IP__", "id": "__IP__"}), Some("`endpoint` contains __IP__")),
        (json!({"id": "https://h.example/hook"}), Some("the endpoint is not told the address")),
        (
            json!({"ipv4": "münchen.example", "before": {"id": "/find"}}),
            Some("`ipv4`: münchen.example: services list a name like this in ASCII"),
        ),
        (json!({"tokn": 1}), Some("unknown field `tokn`")),
    ];
    for (more, expected) in cases {
        let report = report(&check(&Sandbox::new(), &with(&base, &more), &["--json"]).expect(0));
        let warnings: Vec<&str> =
            report["warnings"].as_array().expect("a list").iter().filter_map(|one| one["message"].as_str()).collect();
        assert_eq!(warnings.len(), usize::from(expected.is_some()), "{more}: {warnings:?}");
        assert!(expected.is_none_or(|part| warnings[0].contains(part)), "{more}: {warnings:?}");
    }
    // What is warned of is no secret: a run names it, too.
    let half = with(&base, &json!({"id": "http://127.0.0.1:9/?d=__DOMAIN&of=__IP__"}));
    let sandbox = Sandbox::new();
    sandbox.write("config.json", half.to_string());
    sandbox.run(&[]).expect(1).prints("__DOMAIN is not a placeholder").prints("did you mean __DOMAIN__?");
    let twice = json!({"id": "https://h.example/", "index4": SOURCE, "providers": [
        {"provider": "callback", "ipv4": "a.example"}, {"provider": "callback", "ipv4": ["a.example"]}]});
    let run = check(&Sandbox::new(), &twice, &["--wide"]).expect(0);
    assert!(run.stdout.contains("entry 2 sends a.example A to the same endpoint as entry 1"), "{}", run.stdout);
    // The same callback in another file.
    let sandbox = Sandbox::new();
    sandbox.write("other.json", base.to_string());
    check(&sandbox, &base, &["other.json", "--wide"]).expect(0).shows("to the same endpoint as config.json, entry 1");
}

#[test]
fn check_warns_of_secrets_that_others_can_read() {
    let sandbox = Sandbox::new();
    let with_key = home("https://h.example/?key=my-secret-key");
    let without = home("https://h.example/?ip=__IP__");
    for (config, mode, expected) in [
        (&with_key, 0o600, None),
        (&with_key, 0o640, Some("its group can read it")),
        (&with_key, 0o604, Some("every user on this host can read it")),
        (&without, 0o644, None),
    ] {
        let path = sandbox.write("config.json", config.to_string());
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the rights are set");
        let run = sandbox.run(&["check", "--wide"]).expect(0);
        assert!(expected.is_none_or(|part| run.stdout.contains(part)), "{mode:o}:\n{}", run.stdout);
        assert_eq!(run.stdout.contains("can read"), expected.is_some(), "{mode:o}:\n{}", run.stdout);
    }
    let file = sandbox.write("token", "{\"key\": \"my-secret-key\"}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("the rights are set");
    let sandbox = sandbox.env("DDNS_TOKEN_FILE", "token");
    let run = sandbox.run(&["check", "--wide"]).expect(0).never_prints("my-secret-key");
    for part in ["token  = {\"key\":\"***\"}", "  DDNS_TOKEN_FILE\n", "every user on this host can read the file token"]
    {
        assert!(run.stdout.contains(part), "no word of {part}:\n{}", run.stdout);
    }
}

/// A configuration that only names the files of its secrets holds none; the files are to be looked at instead.
#[test]
fn check_warns_of_files_with_secrets_that_others_can_read() {
    let sandbox = Sandbox::new();
    let config = with(
        &home("https://h.example/?key=__KEY__&id=__ID__&ip=__IP__"),
        &json!({
            "extra": {"__KEY__": {"file": "key"}},
            "sign": [{"file": "sign"}],
            "ipv4": [{"name": "a.example", "extra": {"__ID__": {"file": "id"}}}],
            "web": {"password_file": "hash", "certificate": "pem", "key": "pem.key"},
        }),
    );
    let names = ["key", "sign", "id", "hash", "pem.key"];
    let set = |name: &str, mode: u32| {
        fs::set_permissions(sandbox.path(name), fs::Permissions::from_mode(mode)).expect("the rights are set");
    };
    sandbox.write("config.json", config.to_string());
    for name in names.iter().chain(&["pem"]) {
        sandbox.write(name, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        set(name, 0o600);
    }
    set("config.json", 0o644);
    set("pem", 0o644);
    let checked = || sandbox.run(&["check", "--wide"]).expect(2).never_prints("MfKQ").stdout;
    let shown = checked();
    assert!(!shown.contains("can read") && !shown.contains("***"), "{shown}");
    assert!(shown.contains(r#"extra  = {"__KEY__":"the file key"}"#), "{shown}");
    for name in names {
        set(name, 0o644);
        let shown = checked();
        assert!(shown.contains(&format!("every user on this host can read the file {name}\n")), "{shown}");
        assert!(shown.contains(&format!("chmod 600 {name}\n")), "{shown}");
        assert_eq!(shown.matches("can read").count(), 1, "{shown}");
        set(name, 0o600);
    }
    // One secret in the configuration is enough.
    sandbox.write("config.json", with(&config, &json!({"token": {"key": "s3cret"}})).to_string());
    assert!(checked().contains("the file contains secrets, and every user on this host can read it"));
}

#[test]
fn check_shows_defaults_where_asked() {
    let sandbox = Sandbox::new();
    let config = home("https://h.example/");
    assert!(!check(&sandbox, &config, &[]).expect(0).stdout.contains("default"));
    let report = report(&check(&sandbox, &config, &["--all", "--json"]).expect(0));
    let all = report["settings"].as_array().expect("a list");
    let row =
        |field: &str| all.iter().find(|row| row["field"] == field).unwrap_or_else(|| panic!("no {field}: {report:#}"));
    assert_eq!(
        *row("timeout"),
        json!({"file": "config.json", "entry": null, "field": "timeout", "value": "30", "origin": "default"})
    );
    assert_eq!(row("ipv4")["origin"], "config.json:1");
    let run =
        Sandbox::new().env("DDNS_DNS", "callback").run(&["check", "--id", "https://h.example/", "--ipv4", "a.example"]);
    assert!(run.expect(0).stdout.starts_with("Environment and options\n  dns  = callback"));
}

/// The steps to each origin: their names with whether they worked, and their details.
fn steps(report: &Value, origin: usize) -> Vec<(String, String)> {
    let steps = report["origins"][origin]["steps"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = |step: &Value| format!("{}{}", if step["ok"] == true { "" } else { "no " }, text(&step["step"]));
    steps.iter().map(|step| (name(step), text(&step["detail"]))).collect()
}

#[test]
fn check_online_goes_as_far_as_a_request_would_begin() {
    let authority = Authority::new("Check CA");
    let mut params = params_for("localhost");
    params.not_after = date_time_ymd(2047, 3, 9);
    let server = authority.server_with(&params, &[&TLS13]);
    let (sandbox, plain) = (authority.trusted(), Receiver::new());
    let provider = |id: &str| json!({"provider": "callback", "id": id, "ipv4": "a.example"});
    let entries = [provider(&server.url("/x?ip=__IP__")), provider(&server.url("/other")), provider(&plain.url("/"))];
    let config = json!({"index4": ["interface:nope", SOURCE], "timeout": 5, "providers": entries});
    let report = report(&check(&sandbox, &config, &["--online", "--json"]).expect(0));
    assert_eq!(report["addresses"][0]["address"], "203.0.113.7", "{report:#}");
    assert_eq!(report["origins"].as_array().map(Vec::len), Some(2), "each origin once: {report:#}");
    let steps_to = steps(&report, 0);
    let names: Vec<&str> = steps_to.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["name", "connection", "TLS", "certificate"], "{report:#}");
    assert!(steps_to[0].1.starts_with("localhost is ") && steps_to[0].1.contains("127.0.0.1"), "{report:#}");
    assert_eq!(steps_to[2].1, "TLS 1.3; the certificate is verified");
    assert!(
        steps_to[3].1.starts_with("valid until 2047-03-09 (for ") && steps_to[3].1.ends_with("issued by Check CA"),
        "{report:#}"
    );
    assert_eq!(steps(&report, 1).len(), 1, "an address without TLS: {report:#}");
    let text = check(&sandbox, &config, &["--online"]).expect(0).stdout;
    for part in [
        "  · IPv4         interface:nope gave no address",
        "  ✓ IPv4         203.0.113.7, from shell:…",
        "  ✓ TLS          TLS 1.3; ",
    ] {
        assert!(text.contains(part), "no word of {part}:\n{text}");
    }
    assert!(server.seen().is_empty() && plain.callbacks().is_empty(), "no request is sent");
}

#[test]
fn check_online_reports_which_step_fails() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("the port");
    let plain = Receiver::new();
    let authority = Authority::new("Check CA");
    let server = authority.server("localhost");
    let wrong_name = format!("https://127.0.0.1:{}/", server.url("").rsplit(':').next().expect("a port"));
    let cases: [(String, &[&str], &str); 4] = [
        (format!("http://{closed}/"), &["no connection"], "connection refused"),
        ("http://no-such-host.invalid/".to_owned(), &["no name"], "cannot be looked up"),
        (
            plain.url("/").replace("http:", "https:"),
            &["connection", "no TLS"],
            "during the TLS handshake: is it an http address?",
        ),
        (wrong_name, &["connection", "no TLS"], "is for another name"),
    ];
    for (id, expected, why) in cases {
        let sandbox = authority.trusted();
        let report =
            report(&check(&sandbox, &with(&home(&id), &json!({"timeout": 5})), &["--online", "--json"]).expect(1));
        let steps = steps(&report, 0);
        assert_eq!(steps.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), expected, "{id}: {report:#}");
        assert!(steps.last().is_some_and(|(_, printed)| printed.contains(why)), "{id}: {report:#}");
    }
    assert!(plain.callbacks().is_empty());
    let sandbox = Sandbox::new();
    let config = with(&home(&plain.url("/")), &json!({"index4": "interface:nope"}));
    check(&sandbox, &config, &["--online"]).expect(1).shows("✗ IPv4         interface:nope gave no address");
    check(&sandbox, &config, &[]).expect(0);
}

#[test]
fn check_fits_eighty_columns() {
    let sandbox = Sandbox::new();
    let long = "l".repeat(300);
    let label = "l".repeat(63);
    let config = json!({
        "dns": "callback", "id": format!("http://{label}.example/{label}/x?{}", "a=__DOMAIN__&".repeat(20)), "tokn": long,
        "token": {"names": vec!["__NOPE__ __DOMAIN__"; 40]}, "ipv4": [format!("{label}.{label}.{label}.example"), "a.example", "a.example"],
        "index4": [format!("interface:{label}{label}"), SOURCE], "line": long, "ttl": [long], "log": {"level": long},
    });
    for config in [&config, &with(&config, &json!({"ttl": 5, "log": null}))] {
        for options in [&[][..], &["--all"], &["--online"]] {
            let run = check(&sandbox, config, options);
            fits(80, &run.stdout);
            for line in run.stdout.lines() {
                assert_eq!(line.trim_end(), line, "{options:?}: blanks at the end");
            }
        }
    }
}

#[test]
fn check_of_ten_thousand_is_short_and_quick() {
    let sandbox = Sandbox::new();
    let domains: Vec<String> = (0..10_000).map(|n| format!("d{n}.example.com")).collect();
    let config = with(&home("https://h.example/?d=__DOMAIN__&ip=__IP__"), &json!({"ipv4": domains}));
    let begun = Instant::now();
    let run = check(&sandbox, &config, &[]).expect(0);
    assert!(run.stdout.lines().count() < 15, "{}", run.stdout);
    let entries: Vec<Value> = (0..100)
        .map(|n| json!({"provider": "callback", "id": format!("https://h.example/{n}"), "ipv4": "a.example"}))
        .collect();
    check(&sandbox, &json!({"providers": entries}), &[]).expect(0);
    assert!(begun.elapsed() < Duration::from_secs(5), "took {:?}", begun.elapsed());
}

#[test]
fn check_a_closed_pipe_is_no_crash() {
    let sandbox = Sandbox::new().configure(&home("http://127.0.0.1:9/"));
    for options in [&["check"][..], &["check", "--json"], &["check", "--wide", "--all"]] {
        let mut command = sandbox.command(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        let mut printed = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut printed).expect("text");
        assert_eq!((child.wait().expect("it ends").code(), printed.as_str()), (Some(0), ""), "{options:?}");
    }
}
