//! Addresses with a password that are mistyped: nothing shows it, wherever such an address stands (G2).

use serde_json::{Value, json};

use crate::support::{Run, Sandbox};

/// Each holds the password, or a part of it, behind the mistake.
const MISTYPED: [&str; 19] = [
    "http://user:pa/s3cr3t@h.lan/",
    "http://user:pa/ss/s3cr3t/x@h.lan/path",
    "http://user:s3cr3t/ss@h.lan/",
    "http://user:pa?s3cr3t@h.lan/",
    "http://user:s3cr3t#ss@h.lan/",
    "http://user:s3cr3t:h.lan/",
    "http://user:s3cr3t",
    "http://s3cr3t s3cr3t/x@h.lan/",
    "http:/user:s3cr3t@h.lan/",
    "http:user:s3cr3t@h.lan/",
    "http//user:s3cr3t@h.lan/x.json",
    "htp://user:s3cr3t@h.lan/",
    "htp://user:pa/s3cr3t@h.lan/?key=s3cr3t",
    "user:s3cr3t@h.lan/path",
    "user:pa/s3cr3t@h.lan/path.json",
    "user:pa?s3cr3t@h.lan/path",
    "http://h.lan:99999/?key=s3cr3t&s3cr3t",
    "http:/h.lan/c.json?key=s3cr3t",
    "s3cr3t-s3cr3t-s3cr3t://h.lan/",
];

const COMMANDS: [&[&str]; 6] =
    [&["check"], &["check", "--json"], &["check", "--all", "--wide"], &["preview"], &[], &["watch"]];

/// A wrong field beside it, so that no command goes on.
fn wrong(fields: &Value) -> Value {
    let mut config = json!({"dns": "callback", "id": "http://127.0.0.1:9/", "ipv4": "a.example", "ttl": "ten"});
    config.as_object_mut().expect("an object").extend(fields.as_object().expect("fields").clone());
    config
}

#[track_caller]
fn hidden(run: &Run, case: &str) {
    assert_eq!(run.code, 2, "{case}\n{}{}", run.stdout, run.stderr);
    for text in ["s3cr3t", "panicked"] {
        assert!(!run.stdout.contains(text) && !run.stderr.contains(text), "{case}\n{}{}", run.stdout, run.stderr);
    }
}

#[test]
fn g2_a_mistyped_address_in_a_file_is_not_shown() {
    for address in MISTYPED {
        let fields = [
            json!({"id": address}),
            json!({"id": address, "endpoint": "http://127.0.0.1:9/"}),
            json!({"id": "", "endpoint": address}),
            json!({"endpoint": address, "id": "x"}),
            json!({"proxy": address}),
            json!({"proxy": [address, "DIRECT"]}),
            json!({"index4": format!("url:{address}")}),
            json!({"index4": [address]}),
            json!({"index4": format!("quorum:1(url:{address})")}),
        ];
        // All at once: what is wrong with one entry is reported with the rest.
        let entries: Vec<Value> = fields
            .iter()
            .map(|fields| {
                let mut entry = wrong(fields);
                entry.as_object_mut().expect("an object").remove("dns");
                entry["provider"] = json!("callback");
                entry
            })
            .collect();
        let sandbox = Sandbox::new();
        for text in [json!({"providers": entries}).to_string(), format!("{:#}", json!({"providers": entries}))] {
            sandbox.write("config.json", text);
            for command in COMMANDS {
                hidden(&sandbox.run(&[command, &["-c", "config.json"]].concat()), &format!("{address} {command:?}"));
            }
        }
    }
}

#[test]
fn g2_a_mistyped_address_in_the_environment_is_not_shown() {
    let fields = ["DDNS_ID", "DDNS_ENDPOINT", "DDNS_PROXY", "DDNS_INDEX4"];
    let proxies = ["http_proxy", "https_proxy", "all_proxy"];
    for address in MISTYPED {
        let sandbox = Sandbox::new().env("DDNS_DNS", "callback").env("DDNS_IPV4", "a.example").env("DDNS_TTL", "ten");
        let sandbox = fields.iter().chain(&proxies).fold(sandbox, |sandbox, name| sandbox.env(name, address));
        let behind = proxies.iter().fold(Sandbox::new(), |sandbox, name| sandbox.env(name, address));
        behind.write("config.json", wrong(&json!({})).to_string());
        let named = Sandbox::new().env("DDNS_CONFIG", address);
        let in_file = Sandbox::new().env("DDNS_ID_FILE", address).env("DDNS_TOKEN_FILE", address);
        for command in COMMANDS {
            let case = format!("{address} {command:?}");
            hidden(&sandbox.run(command), &case);
            hidden(&behind.run(&[command, &["-c", "config.json"]].concat()), &case);
            hidden(&named.run(command), &case);
            hidden(&in_file.run(command), &case);
        }
    }
}

#[test]
fn g2_a_mistyped_address_in_an_option_is_not_shown() {
    let rest = ["--dns", "callback", "--ipv4", "a.example", "--ttl", "ten"];
    for address in MISTYPED {
        let sandbox = Sandbox::new();
        let id = ["--id", address];
        let others = ["--endpoint", address, "--proxy", address, "--index4", address];
        let source = format!("url:{address}");
        for command in COMMANDS {
            let case = format!("{address} {command:?}");
            hidden(&sandbox.run(&[command, &rest, &id].concat()), &case);
            hidden(&sandbox.run(&[command, &rest, &others].concat()), &case);
            hidden(&sandbox.run(&[command, &rest, &["--index4", &source]].concat()), &case);
            hidden(&sandbox.run(&[command, &["-c", address]].concat()), &case);
            hidden(&sandbox.run(&[command, &[address]].concat()), &case);
        }
    }
}

#[test]
fn g2_a_mistyped_address_is_reported_with_the_way_out() {
    let cases = [
        (
            "http://user:pa/ss@host.example/",
            "`/`, `?`, `#` and `@` in a password must be written as %2F, %3F, %23 and %40",
        ),
        ("http:/user:pass@host.example/", "write the whole URL: https://HOST/PATH"),
        ("htp://user:pass@host.example/", "has the scheme `htp`"),
        ("user:pass@host.example/path", "did you mean https://***:***@host.example/path ?"),
    ];
    for (id, way_out) in cases {
        Sandbox::new().sync(&wrong(&json!({"id": id}))).expect(2).prints("`id` ").prints(way_out);
    }
}
