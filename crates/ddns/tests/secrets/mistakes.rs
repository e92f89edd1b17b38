//! Secrets in places where they do not belong: typing mistakes must not print them (G2).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use serde_json::json;

use crate::support::given::with;
use crate::support::{Receiver, Response, Sandbox};

const SECRET: &str = "s3cr3t-key-0123456789";

#[test]
fn g2_a_wrong_source_is_reported_without_its_keys() {
    let sources = [
        format!("url:u:{SECRET}@ip.example/?key={SECRET}"),
        format!("http://u:{SECRET}@ip.example/?key={SECRET}"),
        format!("urll:https://ip.example/?key={SECRET}"),
        format!("cmd:curl 'unclosed {SECRET}"),
        format!("cmd:KEY={SECRET} ./getip"),
        format!("quorum:1(nonsense:{SECRET})"),
        format!("url:ftp://u:{SECRET}@h/"),
    ];
    for source in sources {
        let sandbox = Sandbox::new();
        let config = json!({"dns": "callback", "id": "http://127.0.0.1:9/", "ipv4": "a.example", "index4": source});
        sandbox.sync(&config).expect(2).prints("index4").never_prints(SECRET);
        let rest = ["--dns", "callback", "--id", "http://127.0.0.1:9/", "--ipv4", "a.example", "--index4", &source];
        sandbox.run(&rest).expect(2).prints("--index4").never_prints(SECRET);
    }
}

#[test]
fn g2_a_source_that_fails_is_reported_without_its_keys() {
    let sources = [
        format!("url:http://u:{SECRET}@127.0.0.1:9/{SECRET}/ip?key={SECRET}"),
        format!("shell:echo {SECRET}; exit 1"),
        format!("cmd:/bin/false {SECRET}"),
    ];
    for source in sources {
        let config = json!({
            "dns": "callback", "id": "http://127.0.0.1:9/", "ipv4": "a.example", "index4": source, "debug": true,
        });
        Sandbox::new().sync(&config).expect(1).prints("no address from").never_prints(SECRET);
    }
}

#[test]
fn g2_a_value_that_stands_alone_is_redacted() {
    let sandbox = Sandbox::new();
    let wrong: [&[&str]; 3] = [
        &["--token", "{key:", "s3cr3t-key-0123456789}"],
        &["http://u:s3cr3t-key-0123456789@h/c.json?k=s3cr3t-key-0123456789"],
        &["-c", "htps://u:s3cr3t-key-0123456789@h/c.json?k=s3cr3t-key-0123456789"],
    ];
    for arguments in wrong {
        sandbox.run(arguments).expect(2).never_prints(SECRET);
    }
    let sandbox = sandbox.env("DDNS_TOKEN_FILE", format!("{{\"k\":\"{SECRET}\"}}")).env("DDNS_DNS", "callback");
    sandbox.run(&[]).expect(2).prints("DDNS_TOKEN_FILE").never_prints(SECRET);
    let sandbox = Sandbox::new().env("DDNS_TOKEN_FILE", SECRET).env("DDNS_SIGN_FILE", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZI");
    sandbox.run(&["--dns", "callback"]).expect(2).prints("that it names").never_prints(SECRET).never_prints("MfKQ9r8");
}

#[test]
fn g2_a_fetched_configuration_is_named_without_its_keys() {
    let server = Receiver::responding(|_| Response::with_body(200, r#"{"dns": "callback", "tokn": 1, "id": "x"}"#));
    let address = server.url("/c.json").replace("http://", &format!("http://u:{SECRET}@"));
    let run = Sandbox::new().run(&["-c", &format!("{address}?key={SECRET}")]);
    run.expect(2).prints("/c.json").never_prints(SECRET);
    // A password with a `/`: what precedes that is taken for host and port.
    let address = server.url(&format!("/{SECRET}@h.example/c.json"));
    Sandbox::new().run(&["-c", &address]).expect(2).prints("/***@h.example/c.json").never_prints(SECRET);
    let run = Sandbox::new().run(&["-c", &server.url("/a-token-of-20-signs-/c.json")]);
    run.expect(2).prints("/***/c.json").never_prints("a-token");
}

#[test]
fn g2_a_key_in_place_of_an_address_is_redacted() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.s3cr3tsignature0123";
    let config = json!({"dns": "callback", "id": jwt, "ipv4": "a.example"});
    Sandbox::new().sync(&config).expect(2).prints("did you mean https://").never_prints("s3cr3tsignature");
}

#[test]
fn g2_a_password_with_an_at_sign_is_masked_in_a_response() {
    let receiver = Receiver::responding(|_| Response::with_body(200, "you are user with p@ssw0rd-XYZ"));
    let id = receiver.url("/").replace("http://", "http://user:p@ssw0rd-XYZ@");
    let config = json!({
        "dns": "callback", "id": id, "ipv4": "a.example", "index4": "shell:echo 203.0.113.7", "debug": true,
    });
    Sandbox::new().sync(&config).expect(0).never_prints("ssw0rd");
}

#[test]
fn b11_a_variable_that_is_no_unicode_is_an_error() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["--dns", "callback", "--id", "http://127.0.0.1:9/", "--ipv4", "a.example"]);
    command.env("DDNS_TOKEN", OsString::from_vec(b"{\"k\":\"\xe4\"}".to_vec()));
    let output = command.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("DDNS_TOKEN"));
}

#[test]
fn b8_a_blank_that_json_does_not_know_is_an_error_and_no_crash() {
    let run = Sandbox::new().sync_text("{\u{a0}\"dns\": \"callback\"}");
    run.expect(2).prints("config.json:1:2").prints("does not allow this kind of space");
}

#[test]
fn b8_control_characters_of_a_configuration_do_not_reach_the_terminal() {
    Sandbox::new().sync_text("{\"dns\": \"\\u001b[31mred\"}").expect(2).never_prints("\u{1b}");
}

#[test]
fn b12_a_fetched_configuration_names_no_files_of_this_host() {
    for field in [json!({"cache": "/tmp/x"}), json!({"log": {"file": "/tmp/x"}})] {
        let mut config = json!({"dns": "callback", "id": "http://127.0.0.1:9/", "ipv4": "a.example"});
        config.as_object_mut().expect("an object").extend(field.as_object().expect("an object").clone());
        let text = config.to_string();
        let server = Receiver::responding(move |_| Response::with_body(200, &text));
        Sandbox::new().run(&["-c", &server.url("/c.json")]).expect(2).prints("fetched");
    }
}

#[test]
fn b12_a_fetched_configuration_may_turn_files_off_but_name_none() {
    let run = |more: &serde_json::Value| {
        let config = json!({"dns": "callback", "id": "http://127.0.0.1:9/", "ipv4": "a.example", "index4": "false"});
        let text = with(&config, more).to_string();
        let server = Receiver::responding(move |_| Response::with_body(200, &text));
        let sandbox = Sandbox::new();
        let run = sandbox.run(&["-c", &server.url("/c.json")]);
        assert!(!["no", "1", "auto"].iter().any(|name| sandbox.path(name).exists()), "{more}: a file was written");
        run
    };
    for named in [json!({"log": {"file": "no"}}), json!({"log": {"file": "1"}}), json!({"cache": "auto"})] {
        run(&named).expect(2).prints("names a file, which a fetched configuration may not");
    }
    for off in [json!({"cache": "none"}), json!({"cache": "no"}), json!({"ssl": "Auto"}), json!({"log": {"file": ""}})]
    {
        run(&off).never_prints("names a file");
    }
}

#[test]
fn g2_a_domain_as_text_in_a_list_shows_no_value_of_its_own() {
    let json = format!(r#"{{"name":"b.example","extra":{{"__KEY__":"{SECRET}"}}}}"#);
    let refused = |sandbox: Sandbox, config: serde_json::Value| {
        sandbox.write("config.json", config.to_string());
        for command in [&["check"][..], &["check", "--json"], &["preview"], &[]] {
            let run = sandbox.run(&[command, &["-c", "config.json"]].concat()).expect(2).never_prints(SECRET);
            assert!(format!("{}{}", run.stdout, run.stderr).contains("cannot contain a brace"), "{command:?}: {run:?}");
        }
    };
    let config = json!({"dns": "callback", "id": "http://127.0.0.1:9/__KEY__"});
    refused(Sandbox::new().env("DDNS_IPV4", format!("a.example, {json}")), config.clone());
    for domains in [json!(["a.example", json]), json!({"name": json}), json!(format!("a.example; {json}"))] {
        refused(Sandbox::new(), with(&config, &json!({"ipv4": domains})));
    }
}

#[test]
fn g2_a_key_in_the_place_of_a_path_is_not_shown() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.s3cr3tsignature0123";
    for key in [jwt, "s3cr3t/Xq7Zk0PbW4mQ2", "/s3cr3tXq7Zk0PbW4mQ2", "id.s3cr3t9f86d081884c7d65", "Qm9v/s3cr3t+Xq7"] {
        let base = json!({"dns": "callback", "id": "http://127.0.0.1:9/__KEY__", "ipv4": "a.example"});
        for more in [
            json!({"extra": {"__KEY__": {"file": key}}}),
            json!({"sign": {"file": key}}),
            json!({"group": {"store": "etcds://127.0.0.1:9", "name": "home", "user": "u", "password_file": key}}),
        ] {
            let sandbox = Sandbox::new().configure(&with(&base, &more));
            for command in [&["check"][..], &[]] {
                let run = sandbox.run(&[command, &["-c", "config.json"]].concat()).expect(2);
                assert!(format!("{}{}", run.stdout, run.stderr).contains("the file that it names"), "{run:?}");
                run.never_prints("s3cr3t").never_prints("eyJ");
            }
        }
        let run = Sandbox::new().env("DDNS_TOKEN_FILE", key).run(&["--dns", "callback"]).expect(2);
        run.prints("that it names").never_prints("s3cr3t").never_prints("eyJ");
    }
}

#[test]
fn g2_a_secret_that_spells_a_domain_hides_it_nowhere() {
    let receiver = Receiver::responding(|_| Response::with_body(500, "home.example.com is unknown"));
    let config = json!({
        "dns": "callback", "id": receiver.url("/"), "token": {"user": "Home.Example.COM", "name": "__DOMAIN__"},
        "ipv4": "home.example.com", "index4": "shell:echo 203.0.113.7", "debug": true,
    });
    Sandbox::new().sync(&config).expect(1).prints("home.example.com is unknown");
}
