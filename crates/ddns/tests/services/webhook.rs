//! H2 to H4 with a real receiver: `webhook` (adnanh/webhook), where it is installed, by the recipe for it.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::Sandbox;
use crate::support::given::{by_recipe, home, with};
use crate::support::tools::{Ended, needed, started};

const UNSATISFIED: &str = "Hook rules were not satisfied.";

/// Hooks that write what they are called with to `seen`: the key must be right, and the address a public one of ours.
fn webhook(program: &Path, place: &Sandbox) -> (Ended, u16) {
    place.write("record", "echo \"$@\" >>seen");
    let value = |source: &str, name: &str| json!({"source": source, "name": name});
    let key = json!({"match": {"type": "value", "value": "SecretKey123", "parameter": value("header", "X-Ddns-Key")}});
    let ours = json!({"match": {"type": "regex", "regex": r"^(203\.0\.113\.|2001:db8:)", "parameter": value("payload", "ip")}});
    let record = json!({
        "id": "record", "execute-command": "/bin/sh", "command-working-directory": place.path(""),
        // It responds when the command has ended.
        "include-command-output-in-response": true,
        "pass-arguments-to-command":
            [value("string", "record"), value("payload", "domain"), value("payload", "type"), value("payload", "ip")],
        "trigger-rule": {"and": [key, ours]}
    });
    let put = with(&record, &json!({"id": "put", "http-methods": ["PUT"]}));
    let broken = with(&record, &json!({"id": "broken", "execute-command": "/bin/false"}));
    let hooks = place.write("hooks.json", json!([record, put, broken]).to_string());
    started(|port| {
        let mut command = Command::new(program);
        command.args(["-ip", "127.0.0.1", "-port", &port.to_string(), "-hooks"]).arg(&hooks);
        command
    })
}

#[test]
fn h4_webhook_runs_a_hook_whose_rules_are_satisfied_and_no_other() {
    let Some(program) = needed("webhook") else { return };
    let place = Sandbox::new();
    let (_server, port) = webhook(&program, &place);
    let url = format!("url=http://127.0.0.1:{port}/hooks/record");
    let refused = format!("failed: the endpoint responded with 200 `{UNSATISFIED}`");

    // A wrong key, then the right one.
    let sandbox = by_recipe("nsupdate", &[&url, "key=WrongKey123"]);
    sandbox.run(&[]).expect(1).prints(&refused).prints("2 failed").never_prints("WrongKey123");
    assert!(!place.path("seen").exists());
    let config = sandbox.read("config.json").replace("WrongKey123", "SecretKey123");
    sandbox.write("config.json", config);
    sandbox.run(&[]).expect(0).prints("2 accepted").never_prints("SecretKey123");
    let mut seen: Vec<String> = place.read("seen").lines().map(str::to_owned).collect();
    seen.sort();
    assert_eq!(seen, ["home.example.com A 203.0.113.7", "home.example.com AAAA 2001:db8::7"]);
    sandbox.run(&[]).says_nothing();

    // The rule for the payload, which holds for one family.
    let run = sandbox.run(&["--index4", "shell:echo 198.51.100.9", "--index6", "shell:echo 2001:db8::9"]).expect(1);
    run.prints(&refused).prints("1 failed, 1 accepted");
    assert!(place.read("seen").ends_with("home.example.com AAAA 2001:db8::9\n"), "{}", place.read("seen"));
}

#[test]
fn h4_webhook_says_200_to_a_wrong_key_and_the_status_alone_would_be_believed() {
    let Some(program) = needed("webhook") else { return };
    let place = Sandbox::new();
    let (_server, port) = webhook(&program, &place);
    let token = json!({"domain": "__DOMAIN__", "type": "__RECORDTYPE__", "ip": "__IP__"});
    let hook = |name: &str, more| {
        let config = home(&format!("http://127.0.0.1:{port}/hooks/{name}"));
        Sandbox::new().sync(&with(&with(&config, &json!({"token": token})), &more))
    };
    hook("record", json!({})).expect(0).prints("accepted (200");
    hook("record", json!({"expect": {"stop": "rules were not"}})).expect(1).prints("stopped: ").prints(UNSATISFIED);
    assert!(!place.path("seen").exists());

    let headers = json!({"X-Ddns-Key": "SecretKey123"});
    hook("unknown", json!({"headers": headers})).expect(1).prints("responded with 404");
    hook("broken", json!({"headers": headers})).expect(1).prints("responded with 500");
    hook("put", json!({"headers": headers})).expect(1).prints("responded with 405");
    hook("put", json!({"headers": headers, "method": "PUT"})).expect(0);
    hook("record", json!({"headers": headers, "format": "form"})).expect(0);
    assert_eq!(place.read("seen"), "home.example.com A 203.0.113.7\n".repeat(2));
}
