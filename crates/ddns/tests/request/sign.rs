//! H11 and H13: signed requests, and secrets in files.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use serde_json::{Value, json};
use standardwebhooks::Webhook;

use crate::support::given::{home, sent, switched, with};
use crate::support::watching::{SOON, Watch, host, until};
use crate::support::{Received, Receiver, Response, Sandbox};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";

/// What the official library says.
fn is_signed(one: &Received, secret: &str) -> bool {
    let mut headers = HeaderMap::new();
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let value = one.header(name).unwrap_or_else(|| panic!("{name} is missing: {:?}", one.headers));
        headers.insert(name, value.parse().expect("a value"));
    }
    Webhook::new(secret).expect("a secret").verify(&one.body, &headers).is_ok()
}

#[test]
fn h11_the_official_library_verifies_the_signature() {
    for more in [
        json!({"token": {"domain": "__DOMAIN__", "ip": "__IP__", "é": "\n"}}),
        json!({"token": "ip=__IP__", "format": "form", "method": "PUT"}),
        json!({}),
    ] {
        let one = sent("/hook", &with(&more, &json!({"sign": SECRET})));
        assert!(is_signed(&one, SECRET) && !is_signed(&one, OTHER), "{one:?}");
        let id = one.header("webhook-id").expect("an id");
        assert!(id.starts_with("msg_") && !id.contains('.'), "{id}");
        let seconds: u64 = one.header("webhook-timestamp").and_then(|text| text.parse().ok()).expect("whole seconds");
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
        assert!(now.abs_diff(seconds) < 300, "{seconds}");
        let mut changed = one.clone();
        changed.body.push(b' ');
        assert!(!is_signed(&changed, SECRET));
    }
    // Two while one is replaced by the other.
    let one = sent("/hook", &json!({"sign": [SECRET, OTHER], "token": {"ip": "__IP__"}}));
    assert!(is_signed(&one, SECRET) && is_signed(&one, OTHER));
    assert_eq!(one.header("webhook-signature").map(|value| value.split(' ').count()), Some(2));
}

/// The receiver takes two messages with one id for the same: another address must have another.
#[test]
fn h11_an_id_stays_over_tries_and_is_new_for_another_address() {
    let (receiver, status) = switched(500);
    let sandbox = Sandbox::new();
    let run = |ip: &str, code: i32| {
        let more = json!({"sign": SECRET, "token": {"ip": "__IP__"}, "index4": format!("shell:echo {ip}")});
        sandbox.sync(&with(&home(&receiver.url("/")), &more)).expect(code);
        receiver.take().pop().and_then(|one| one.header("webhook-id").map(str::to_owned)).unwrap_or_default()
    };
    let first = run("203.0.113.1", 1);
    assert_eq!(run("203.0.113.1", 1), first, "another try");
    let second = run("203.0.113.2", 1);
    let third = run("203.0.113.1", 1);
    assert!(first != second && third != second && third != first, "{first} {second} {third}");
    status.store(200, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(run("203.0.113.1", 0), third, "the last try");
    assert_eq!(run("203.0.113.1", 0), "", "accepted");
    let fourth = run("203.0.113.2", 0);
    assert!(![&first, &second, &third].contains(&&fourth));
    assert!(!fs::read_to_string(sandbox.cache_file()).expect("the cache").contains("whsec"));
}

#[test]
fn h11_no_redirection_is_followed() {
    for status in [301, 302, 303, 307, 308] {
        let receiver = Receiver::responding(move |one| match one.target() {
            "/hook" => Response::status(status).header("Location", "/end"),
            _ => Response::status(200),
        });
        let run = Sandbox::new().sync(&with(&home(&receiver.url("/hook")), &json!({"sign": SECRET}))).expect(1);
        run.prints(&format!("redirects to {}: a signed request does not follow", receiver.url("")));
        assert_eq!(receiver.only().target(), "/hook", "{status}");
    }
}

#[test]
fn h11_what_is_no_secret_is_refused_unseen() {
    let receiver = Receiver::new();
    for (sign, why) in [
        (json!("s3cret"), "`sign`: a secret does not begin with `whsec_`"),
        (json!("whsec_s3cret!"), "is not base64 after `whsec_`"),
        (json!("whsec_s3cr"), "has fewer than 24 or more than 64 bytes"),
        (json!([SECRET, "s3cret"]), "does not begin with `whsec_`"),
        (json!({"fil": "s3cret"}), "`sign` must be a secret `whsec_…`"),
        (json!([]), "`sign` is an empty list"),
        (json!([5]), "`sign[0]` must be a string, not a number"),
        (json!(true), "`sign` must be a secret `whsec_…`"),
    ] {
        let run = Sandbox::new().sync(&with(&home(&receiver.url("/")), &json!({"sign": sign})));
        run.expect(2).prints(why).prints("config.json:1:").never_prints("s3cr").never_prints("MfKQ9r8");
    }
    let both = json!({"sign": SECRET, "headers": {"webhook-id": "1", "Webhook-Signature": "v1"}});
    let run = Sandbox::new().sync(&with(&home(&receiver.url("/")), &both)).expect(2);
    run.prints("must not set `Webhook-Id`").prints("must not set `Webhook-Signature`");
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn h11_neither_secret_nor_signature_is_shown() {
    let receiver = Receiver::responding(|_| Response::with_body(500, SECRET));
    let config =
        with(&home(&receiver.url("/")), &json!({"sign": [SECRET, OTHER], "token": {"ip": "__IP__"}, "debug": true}));
    let run = Sandbox::new().sync(&config).expect(1).never_prints("MfKQ9r8").prints("Webhook-Signature: v1,*** v1,***");
    let signature = receiver.only().header("webhook-signature").expect("a signature").to_owned();
    run.never_prints(&signature[3..20]);
    let sandbox = Sandbox::new().configure(&config);
    for args in [&["check"][..], &["preview"], &["preview", "--curl"], &["preview", "--json"]] {
        sandbox.run(&[args, &["-c", "config.json"]].concat()).expect(0).never_prints("MfKQ9r8").never_prints("C2FVsBQ");
    }
    let shown = sandbox.run(&["preview", "-c", "config.json", "--json", "--show-secrets", "--yes"]).expect(0);
    let request = &shown.json::<Value>()[0]["request"];
    let headers = request["headers"].as_object().expect("headers").iter();
    let headers = headers.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
    let body = request["body"].as_str().expect("a body").as_bytes().to_vec();
    assert!(is_signed(&Received { line: String::new(), headers, body }, SECRET));
}

#[test]
fn h11_options_and_variables_set_it() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_SIGN", format!("{SECRET},{OTHER}"));
    sandbox.write("config.json", with(&home(&receiver.url("/")), &json!({"cache": false})).to_string());
    sandbox.run(&["-c", "config.json"]).expect(0);
    sandbox.run(&["-c", "config.json", "--sign", OTHER]).expect(0);
    let sandbox = Sandbox::new().env("DDNS_SIGN_FILE", "secret");
    sandbox.write("secret", format!("{OTHER}\n"));
    sandbox.write("config.json", home(&receiver.url("/")).to_string());
    sandbox.run(&["-c", "config.json"]).expect(0);
    let seen = receiver.callbacks();
    assert_eq!(seen.len(), 3);
    assert!(is_signed(&seen[0], SECRET) && seen.iter().all(|one| is_signed(one, OTHER)));
}

#[test]
fn h13_values_come_from_files() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("keys/one", "k&1\n");
    sandbox.write("two", "two");
    sandbox.write("sign", format!("{SECRET}\r\n"));
    let config = json!({"dns": "callback", "id": receiver.url("/?k=__KEY__&i=__ID__"), "index4": "shell:echo 203.0.113.7",
        "extra": {"__KEY__": {"file": sandbox.path("keys/one")}}, "sign": [{"file": "sign"}],
        "ipv4": [{"name": "a.example", "extra": {"__ID__": {"file": "two"}}}], "debug": true});
    sandbox.sync(&config).expect(0).never_prints("k&1").never_prints("k%261").never_prints("two\n");
    let one = receiver.take().remove(0);
    assert_eq!(one.target(), "/?k=k%261&i=two");
    assert!(is_signed(&one, SECRET));
    for args in [&["check"][..], &["preview"]] {
        sandbox.run(&[args, &["-c", "config.json"]].concat()).expect(0).never_prints("k&1").never_prints("placeholder");
    }
    let sandbox = sandbox.env("DDNS_EXTRA", r#"{"__KEY__": {"file": "two"}}"#);
    sandbox.write("config.json", home(&receiver.url("/?k=__KEY__")).to_string());
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(receiver.only().target(), "/?k=two");
}

#[test]
fn h13_what_is_wrong_with_a_file_is_an_error() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("empty.txt", "\n");
    sandbox.write("lines.txt", "s3cret\nmore\n");
    fs::create_dir(sandbox.path("folder.d")).expect("a folder");
    for (file, why) in [
        (json!("none.txt"), "`extra`: `__KEY__`: the file none.txt does not exist"),
        (json!("empty.txt"), "the file empty.txt is empty"),
        (json!("lines.txt"), "the file lines.txt must hold one line"),
        (json!("folder.d"), "the file folder.d is a folder"),
        (json!("my s3cret=="), "the file that it names does not exist"),
        (json!(5), "`extra`: `__KEY__` must be a string, a number or a boolean"),
    ] {
        let more = json!({"extra": {"__KEY__": {"file": file}}});
        let run = sandbox.sync(&with(&home(&receiver.url("/__KEY__")), &more));
        let run = run.expect(2).prints(why).prints("config.json:1:").never_prints("s3cret");
        run.never_prints("is not a placeholder");
    }
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn h13_a_fetched_configuration_names_no_file() {
    let receiver = Receiver::new();
    for more in [
        json!({"extra": {"__KEY__": {"file": "/etc/hostname"}}}),
        json!({"sign": {"file": "/etc/hostname"}}),
        json!({"cache": "victim"}),
        json!({"log": {"file": "victim"}}),
        json!({"ssl": "victim"}),
        json!({"ipv4": [{"name": "a.example", "extra": {"__KEY__": {"file": "/etc/hostname"}}}]}),
    ] {
        let config = with(&home(&receiver.url("/__KEY__")), &more).to_string();
        let page = Receiver::responding(move |_| Response::with_body(200, &config));
        let run = Sandbox::new().run(&["-c", &page.url("/config.json"), "--extra.__OTHER__", "x"]);
        run.expect(2).prints("names a file, which a fetched configuration may not");
    }
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn h13_a_service_notices_that_a_file_changed() {
    let (receiver, sandbox) = (Receiver::new(), host());
    sandbox.write("key", "one\n");
    let more = json!({"extra": {"__KEY__": {"file": "key"}}});
    let watch = Watch::start(&sandbox, &with(&home(&receiver.url("/__KEY__")), &more));
    until(SOON, "the first callback", || receiver.callbacks().len() == 1);
    sandbox.write("key", "two\n");
    until(SOON, "the callback with the new key", || receiver.callbacks().len() == 2);
    assert_eq!(receiver.callbacks()[1].target(), "/two");
    watch.stop();
}
