//! `ddns init --recipe` for services that have an id for each record, and secrets in files of their own (H12, H13).

use std::fs;

use crate::support::{Receiver, Response, Run, Sandbox, mode};

/// A recipe of a user's own, with lookups: what the service is asked for comes from the receiver.
const OWN: &str = r#"{
  "title": "My service", "kind": "server", "about": "A service of mine.", "documentation": "https://example.com/",
  "certainty": "unchecked",
  "questions": [
    {"name": "base", "ask": "Address", "check": "^http://"},
    {"name": "token", "ask": "Token", "secret": true, "check": "^[a-z0-9-]+$"},
    {"name": "zone", "ask": "Zone"}
  ],
  "lookups": [
    {"name": "zone_id", "what": "the id of the zone", "url": "${base}/zones?name=${zone}",
     "headers": {"X-Key": "${token}"}, "in": "/zones", "where": {"/name": "${zone}"}, "value": "/id"},
    {"name": "record_id", "what": "the id of the record", "each": "record", "url": "${base}/zones/${zone_id}/records",
     "headers": {"X-Key": "${token}"}, "in": "", "where": {"/name": "${host}", "/type": "${type}"}, "value": "/id"}
  ],
  "config": {
    "method": "PUT", "endpoint": "${base}", "id": "/zones/${zone_id}/records/__RECORD_ID__", "headers": {"X-Key": "__TOKEN__"},
    "token": {"ip": "__IP__"}, "extra": {"__TOKEN__": "${token}"}
  },
  "domain": {"extra": {"__RECORD_ID__": "${record_id}"}}
}"#;

/// A service that knows one zone with two records.
fn service() -> Receiver {
    Receiver::responding(|request| match request.target() {
        "/zones?name=example.com" => {
            Response::with_body(200, r#"{"zones": [{"id": 1, "name": "a.example"}, {"id": 2, "name": "example.com"}]}"#)
        }
        "/zones/2/records" => Response::with_body(
            200,
            r#"[{"id": "r@", "name": "@", "type": "A"}, {"id": "r4", "name": "home", "type": "A"}, {"id": "r6", "name": "home", "type": "AAAA"}]"#,
        ),
        target if target.starts_with("/zones/2/records/") => Response::status(204),
        _ => Response::status(404),
    })
}

/// `ddns init` for that service with the recipe above, with further arguments.
fn init(sandbox: &Sandbox, service: &Receiver, more: &[&str]) -> Run {
    let base = format!("base={}", service.url("/"));
    let args =
        ["init", "--recipe", "./my.json", "--set", &base, "--set", "token=s3cret-of-mine", "--set", "zone=example.com"];
    sandbox.run(&[&args, more].concat())
}

fn written(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.path(".")).expect("the folder").count()
}

#[test]
fn h12_a_recipe_may_choose_method_and_headers() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (base, index4) = (format!("base={}", receiver.url("/")), receiver.index4());
    let args = ["init", "--recipe", "powerdns", "--ipv4", "home.example.com", "--index4", &index4, "--set", &base];
    let more = ["--set", "key=S3cret-of-mine", "--set", "zone=example.com"];
    let run = sandbox.run(&[&args[..], &more].concat()).expect(0).never_prints("S3cret");
    assert!(run.stdout.contains("PATCH /api/v1/servers/localhost/zones/example.com. "), "{}", run.stdout);
    assert_eq!(mode(&sandbox.path("config.json")), 0o600);
    assert!(sandbox.read("config.json").contains("from the recipe `powerdns`"));
    sandbox.run(&["check"]).expect(0).never_prints("warning:");
    sandbox.run(&[]).expect(0).never_prints("warning");
    let sent = receiver.only();
    assert_eq!(sent.line, "PATCH /api/v1/servers/localhost/zones/example.com. HTTP/1.1");
    assert_eq!(sent.header("X-API-Key"), Some("S3cret-of-mine"));
    assert_eq!(sent.json()["rrsets"][0]["records"][0]["content"], "203.0.113.7");
}

#[test]
fn h12_lookups_are_shown_without_secrets_and_their_results_are_used() {
    let (sandbox, service) = (Sandbox::new(), service());
    sandbox.write("my.json", OWN);
    let (index4, index6) = (service.index4(), service.index6());
    let domains = ["--ipv4", "home.example.com", "example.com", "--ipv6", "home.example.com"];
    let more = [&domains[..], &["--index4", &index4, "--index6", &index6]].concat();
    let run = init(&sandbox, &service, &more).expect(0).never_prints("s3cret");
    assert!(run.stdout.contains("/zones?name=example.com\n    X-Key: ***\n"), "{}", run.stdout);
    let lookups: Vec<String> = service.callbacks().iter().map(|request| request.target().to_owned()).collect();
    assert_eq!(lookups, ["/zones?name=example.com", "/zones/2/records"], "what is asked twice is sent once");
    sandbox.run(&[]).expect(0).never_prints("warning");
    let mut sent: Vec<String> = service.callbacks()[2..].iter().map(|request| request.line.clone()).collect();
    sent.sort();
    let expected = ["r%40", "r4", "r6"].map(|id| format!("PUT /zones/2/records/{id} HTTP/1.1"));
    assert_eq!(sent, expected);
}

#[test]
fn h12_without_lookups_the_ids_are_answers_like_any_other() {
    let (sandbox, service) = (Sandbox::new(), service());
    sandbox.write("my.json", OWN);
    let index4 = service.index4();
    let init = |ids: &[&str]| {
        let more = ["--offline", "--ipv4", "home.example.com", "--index4", &index4];
        init(&sandbox, &service, &[&more[..], ids].concat())
    };
    init(&[]).expect(2).prints("--set zone_id=…").never_prints("s3cret");
    init(&["--set", "zone_id=2"]).expect(2).prints("--set record_id.A.home.example.com=…");
    assert_eq!(written(&sandbox), 1, "nothing but the recipe");
    init(&["--set", "zone_id=2", "--set", "record_id.A.home.example.com=r9"]).expect(0);
    assert!(service.callbacks().is_empty(), "nothing is looked up");
    sandbox.run(&[]).expect(0);
    assert_eq!(service.only().target(), "/zones/2/records/r9");
}

#[test]
fn h13_secrets_of_a_recipe_can_have_files_of_their_own() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (base, index4) = (format!("base={}", receiver.url("/")), receiver.index4());
    let args = ["init", "--recipe", "gotify", "--ipv4", "home.example.com", "--index4", &index4, "--set", &base];
    sandbox
        .run(&[&args[..], &["--set", "token=s3cret-of-mine", "--secrets", "keys"]].concat())
        .expect(0)
        .never_prints("s3cret");
    assert!(!sandbox.read("config.json").contains("s3cret"));
    assert_eq!(sandbox.read("keys/token"), "s3cret-of-mine\n");
    assert_eq!(mode(&sandbox.path("keys/token")), 0o600);
    sandbox.run(&[]).expect(0).never_prints("s3cret");
    assert_eq!(receiver.only().header("X-Gotify-Key"), Some("s3cret-of-mine"));
}
