//! The commands that know `notify` (I5): check, preview, notify, init.

use serde_json::{Value, json};

use crate::support::inbox::{Inbox, SECRET};
use crate::support::{Receiver, Response, Sandbox};

fn configured(sandbox: &Sandbox, notify: &Value) {
    let config = json!({"dns": "callback", "id": "http://127.0.0.1:9/?ip=__IP__", "ipv4": "home.example.com",
        "index4": "shell:echo 203.0.113.7", "proxy": "DIRECT", "notify": notify});
    sandbox.write("config.json", config.to_string());
}

#[test]
fn i5_notify_sends_each_once_and_shows_the_response() {
    let sandbox = Sandbox::new();
    let inbox = Inbox::responding(|_| Response::with_body(200, &format!("thanks for {SECRET}")));
    let failed = inbox.notify(&json!({"on": "failed", "after": 5}));
    configured(&sandbox, &json!([inbox.notify(&json!({})), failed]));
    let run = sandbox.run(&["notify", "-c", "config.json"]).expect(0).never_prints(SECRET);
    run.shows("`changed` to http://127.0.0.1:").shows("arrived: 200 OK").shows("thanks for ***");
    assert_eq!(inbox.events(), ["changed", "failed"]);
    assert_eq!(inbox.messages()[1]["message"], "an example: home.example.com A failed 5 times in a row: 503");
    assert!(!sandbox.cache_file().exists(), "nothing is remembered of it");
    sandbox.run(&["notify", "stopped", "-c", "config.json"]).expect(0);
    assert_eq!(inbox.events(), ["changed", "failed", "stopped"]);
    sandbox
        .run(&["notify", "synchronized", "-c", "config.json"])
        .expect(2)
        .prints("no notification has `synchronized` in `on`");
    sandbox.run(&["notify", "broken", "-c", "config.json"]).expect(2);
}

#[test]
fn i5_notify_tries_every_event() {
    let (sandbox, inbox) = (Sandbox::new(), Inbox::new());
    let help = sandbox.run(&["notify", "--help"]).expect(0).stdout;
    let events = ["changed", "failed", "recovered", "stopped", "not-visible", "drifted", "visible", "synchronized"];
    for event in events.into_iter().chain(["took-over", "lost"]) {
        configured(&sandbox, &inbox.notify(&json!({"on": event})));
        sandbox.run(&["notify", event, "-c", "config.json"]).expect(0);
        assert!(help.contains(event), "{event} is missing:\n{help}");
    }
    assert_eq!(inbox.events().len(), 10);
}

#[test]
fn i5_an_address_alone_gets_the_message_as_text() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    for notify in [json!(receiver.url("/hook")), json!([receiver.url("/hook")])] {
        configured(&sandbox, &notify);
        sandbox.run(&["notify", "-c", "config.json"]).expect(0);
        let request = receiver.take().remove(0);
        assert_eq!(request.line, "POST /hook HTTP/1.1");
        let body: Value = serde_json::from_slice(&request.body).expect("JSON");
        assert!(body["text"].as_str().is_some_and(|text| text.contains("home.example.com")), "{body}");
    }
    configured(&sandbox, &json!("ftp://h/hook"));
    sandbox.run(&["check", "-c", "config.json"]).expect(2).shows("error: `notify`");
}

#[test]
fn i5_notify_ends_with_1_where_one_does_not_arrive() {
    let sandbox = Sandbox::new();
    let (good, bad) = (Inbox::new(), Inbox::responding(|_| Response::status(401)));
    configured(&sandbox, &json!([bad.notify(&json!({})), good.notify(&json!({}))]));
    let run = sandbox.run(&["notify", "-c", "config.json"]).expect(1).never_prints(SECRET);
    run.shows("not accepted: 401 Unauthorized").shows("arrived: 200 OK");
    configured(&sandbox, &json!([]));
    sandbox.run(&["notify", "-c", "config.json"]).expect(2).prints("the configuration has no `notify`");
}

#[test]
fn i5_preview_and_check_show_notifications_without_secrets() {
    let (sandbox, inbox) = (Sandbox::new(), Inbox::new());
    configured(&sandbox, &inbox.notify(&json!({"on": ["failed", "recovered"]})));
    let shown = sandbox.run(&["preview", "-c", "config.json"]).expect(0).never_prints(SECRET).stdout;
    for part in [
        "notification 1\n  on       failed, recovered\n",
        "  example  failed: home.example.com A failed 3 times in a row: 503\n",
        "  request  POST http://127.0.0.1:",
        "\"event\":\"failed\"",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let json: Value = sandbox.run(&["preview", "--json", "-c", "config.json"]).expect(0).json();
    let last = json.as_array().and_then(|all| all.last()).expect("an element");
    assert_eq!(
        (&last["notification"], &last["event"], &last["on"]),
        (&json!(1), &json!("failed"), &json!(["failed", "recovered"]))
    );
    assert_eq!(last["request"]["method"], "POST");
    let shown = sandbox.run(&["preview", "--show-secrets", "--yes", "-c", "config.json"]).expect(0).stdout;
    assert!(shown.contains(SECRET), "{shown}");

    let shown = sandbox.run(&["check", "--wide", "-c", "config.json"]).expect(0).never_prints(SECRET).stdout;
    assert!(shown.contains("on failed recovered, id http://127.0.0.1:") && shown.contains("__MESSAGE__"), "{shown}");
    configured(&sandbox, &json!({"id": inbox.0.url("/?a=__IP__"), "on": ["failed", "changed"]}));
    let shown = sandbox.run(&["check", "--wide", "-c", "config.json"]).expect(0).stdout;
    assert!(shown.contains("neither __EVENT__ nor __MESSAGE__ is sent"), "{shown}");
    assert!(inbox.messages().is_empty());
}

#[test]
fn i5_check_online_connects_to_notifications_too() {
    let endpoint = Receiver::new();
    let config = json!({"dns": "callback", "id": endpoint.url("/?ip=__IP__"), "ipv4": "home.example.com",
        "index4": "shell:echo 203.0.113.7", "proxy": "DIRECT", "notify": {"id": "http://127.0.0.1:9/__MESSAGE__"}});
    let sandbox = Sandbox::new().configure(&config);
    let shown = sandbox.run(&["check", "--online", "-c", "config.json"]).expect(1).stdout;
    assert!(shown.contains("http://127.0.0.1:9"), "{shown}");
    assert!(endpoint.callbacks().is_empty());
}

#[test]
fn i5_a_wrong_notification_stops_the_run_before_anything_is_sent() {
    let (sandbox, endpoint) = (Sandbox::new(), Receiver::new());
    let config = json!({"dns": "callback", "id": endpoint.url("/?ip=__IP__"), "ipv4": "home.example.com",
        "index4": endpoint.index4(), "notify": {"id": "https://n.example/__MESSAGE__", "on": "fail"}});
    sandbox.sync(&config).expect(2).prints("`on` has no event `fail`").prints("did you mean `failed`?");
    assert!(endpoint.callbacks().is_empty());
}

#[test]
fn i5_the_environment_may_name_it() {
    let inbox = Inbox::new();
    let sandbox = Sandbox::new().env("DDNS_NOTIFY", inbox.notify(&json!({})).to_string());
    let endpoint = Receiver::new();
    let config = json!({"dns": "callback", "id": endpoint.url("/?ip=__IP__"), "ipv4": "home.example.com",
        "index4": endpoint.index4(), "proxy": "DIRECT"});
    sandbox.sync(&config).expect(0).never_prints(SECRET);
    assert_eq!(inbox.events(), ["changed"]);
    let sandbox = Sandbox::new().env("DDNS_NOTIFY", "{\"id\": \"s3cret");
    sandbox.sync(&config).expect(2).prints("DDNS_NOTIFY").never_prints("s3cret");
}

#[test]
fn i5_init_writes_a_notification_from_a_recipe() {
    let sandbox = Sandbox::new();
    let args = [
        "init",
        "--recipe",
        "duckdns",
        "--ipv4",
        "home.duckdns.org",
        "--set",
        "token=t0ken-of-mine",
        "--notify-recipe",
        "ntfy",
    ];
    let with = |more: &[&str]| {
        let _ = std::fs::remove_file(sandbox.path("config.json"));
        sandbox.run(&[&args[..], more].concat())
    };
    with(&[]).expect(2).prints("--set notify.topic=…");
    with(&["--set", "notify.topic=my-t0pic"]).expect(0).shows("  ddns notify    send each notification once");
    let text = sandbox.read("config.json");
    assert!(text.contains("\"notify\": {") && text.contains("my-t0pic") && text.contains("t0ken-of-mine"), "{text}");
    sandbox.run(&["check", "-c", "config.json"]).expect(0).never_prints("my-t0pic");

    with(&["--set", "notify.topic=my-t0pic", "--secrets", "keys"]).expect(0);
    let text = sandbox.read("config.json");
    assert!(!text.contains("my-t0pic") && text.contains("keys/notify.topic"), "{text}");
    assert_eq!(sandbox.read("keys/notify.topic"), "my-t0pic\n");
    sandbox.run(&["check", "-c", "config.json"]).expect(0);

    let _ = std::fs::remove_file(sandbox.path("config.json"));
    let plain = [
        "init",
        "--yes",
        "--id",
        "https://h.example/?ip=__IP__",
        "--ipv4",
        "home.example.com",
        "--index4",
        "shell:echo 203.0.113.7",
    ];
    let notify = ["--notify-recipe", "healthchecks", "--set", "notify.check=0aaf6b5c-1111-4222-8333-444455556666"];
    sandbox.run(&[&plain[..], &notify[..]].concat()).expect(0);
    let text = sandbox.read("config.json");
    assert!(text.contains("\"synchronized\"") && text.contains("/__CHECK__/fail"), "{text}");
    sandbox.run(&["check", "-c", "config.json"]).expect(0);
    sandbox
        .run(&["init", "other.json", "--recipe", "healthchecks"])
        .expect(2)
        .prints("receives notifications, no updates");
    sandbox.run(&["init", "other.json", "--notify-recipe", "duckdns"]).expect(2).prints("makes no notifications");
}
