//! Section B: where values come from. B11 (layers, environment, options) and B12 (places, several files, addresses).

use std::fs;

use serde_json::json;

use crate::support::given::{basic, ends, targets, with, without};
use crate::support::{Receiver, Response, Sandbox};

#[test]
fn b11_command_line_over_file_over_environment() {
    let receiver = Receiver::new();
    let url = |path: &str| receiver.url(path);
    let base = json!({
        "dns": "callback",
        "endpoint": url("/base"),
        "id": "hook/__DOMAIN__?ip=__IP__&ttl=__TTL__&line=__LINE__",
        "token": {"from": "nowhere"},
        "ipv4": "home.example.com",
        "index4": "shell:echo 203.0.113.7",
    });
    // Field, its value in each layer from the lowest to the highest, and what the request holds then.
    let cases = [
        ("ttl", ["1", "2", "3"].map(str::to_owned), ["ttl=1&", "ttl=2&", "ttl=3&"]),
        ("line", ["env", "file", "option"].map(str::to_owned), ["line=env ", "line=file ", "line=option "]),
        ("id", ["/env", "/file", "/option"].map(url), [" /env ", " /file ", " /option "]),
        ("endpoint", ["/env", "/file", "/option"].map(url), [" /env/hook/", " /file/hook/", " /option/hook/"]),
        (
            "token",
            ["env", "file", "option"].map(|from| format!(r#"{{"from":"{from}"}}"#)),
            [r#""from":"env""#, r#""from":"file""#, r#""from":"option""#],
        ),
        (
            "ipv4",
            ["e.example", "f.example", "o.example"].map(str::to_owned),
            ["/e.example?", "/f.example?", "/o.example?"],
        ),
        (
            "index4",
            ["203.0.113.1", "203.0.113.2", "203.0.113.3"].map(|address| format!("shell:echo {address}")),
            ["ip=203.0.113.1&", "ip=203.0.113.2&", "ip=203.0.113.3&"],
        ),
    ];
    for (field, [low, middle, high], expected) in cases {
        let name = format!("DDNS_{}", field.to_uppercase());
        let option = format!("--{field}");
        for (layer, expected) in expected.into_iter().enumerate() {
            let sandbox = Sandbox::new().env(&name, &low);
            let mut config = without(base.clone(), field);
            if layer > 0 {
                config[field] = middle.as_str().into();
            }
            sandbox.write("config.json", config.to_string());
            let mut args = vec!["-c", "config.json"];
            if layer > 1 {
                args.extend([option.as_str(), &high]);
            }
            let case = format!("{field}, {layer} layers above the environment");
            ends(&sandbox.run(&args), 0, &case);
            let sent: Vec<_> = receiver.take().iter().map(|r| format!("{} {}", r.line, r.text())).collect();
            assert!(sent.len() == 1 && sent[0].contains(expected), "{case}: {expected:?} in {sent:?}");
        }
    }
}

/// Each value of the environment would show in the request, or keep it from being sent.
#[test]
fn b11_null_in_a_file_sets_a_field_to_nothing_over_the_environment() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("DDNS_TOKEN", r#"{"from": "environment"}"#)
        .env("DDNS_TTL", "600")
        .env("DDNS_INDEX4", "shell:exit 1")
        .env("DDNS_LOG_LEVEL", "ERROR")
        .env("DDNS_WEB", "true");
    let id = receiver.url("/hook?ttl=__TTL__");
    let entry = json!({"dns": "callback", "id": id, "ipv4": "home.example.com", "token": null});
    let config = with(&entry, &json!({"index4": "shell:echo 203.0.113.7", "ttl": null, "log": null, "web": null}));
    sandbox.sync(&config).expect(0).prints("accepted");
    assert_eq!(receiver.take()[0].line, "GET /hook?ttl= HTTP/1.1");
    assert!(!sandbox.run(&["check"]).expect(0).stdout.contains("9876"), "`web` is set to nothing");

    // What stands outside of `providers` is below an entry, too.
    let entry = json!({"provider": "callback", "ttl": null, "token": null});
    let outer = json!({"id": id, "ttl": 300, "ipv4": "home.example.com", "index4": "shell:echo 203.0.113.8"});
    sandbox.sync(&with(&outer, &json!({"providers": [entry]}))).expect(0);
    assert_eq!(receiver.take()[0].line, "GET /hook?ttl= HTTP/1.1");

    // A field that must be there is missed, and named.
    let run =
        sandbox.env("DDNS_IPV4", "environment.example").sync(&with(&outer, &json!({"ipv4": null, "dns": "callback"})));
    run.expect(2).prints("no domain is set");
    assert_eq!(receiver.callbacks().len(), 0);
}

/// Fields are layered one by one, so that a path in the file meets a base address of the environment.
#[test]
fn b11_layers_join_before_endpoint_and_id_are_merged() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_ENDPOINT", receiver.url("/api"));
    sandbox.sync(&with(&basic(&receiver), &json!({"id": "/hook"}))).expect(0);
    assert_eq!(receiver.only().target(), "/api/hook");
}

#[test]
fn b11_cache_and_log_level_follow_the_layers() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_CACHE", "env.json").env("DDNS_LOG_LEVEL", "ERROR");
    sandbox.sync(&basic(&receiver)).expect(0).never_prints("accepted");
    assert!(sandbox.path("env.json").is_file(), "the environment names the cache");

    sandbox.sync(&with(&basic(&receiver), &json!({"cache": "file.json", "log": {"level": "INFO"}}))).expect(0);
    assert!(sandbox.path("file.json").is_file(), "the file names the cache");

    let run = sandbox.run(&["-c", "config.json", "--cache", "option.json", "--log-level", "ERROR"]).expect(0);
    run.never_prints("accepted");
    assert!(sandbox.path("option.json").is_file(), "the option names the cache");
    assert_eq!(receiver.take().len(), 3, "each of the three caches was new");

    sandbox.run(&["-c", "config.json", "--no-cache"]).expect(0).prints("accepted");
    sandbox.run(&["-c", "config.json", "--cache"]).expect(0);
    assert!(sandbox.cache_file().is_file(), "--cache alone is true, over the path of the file");
    assert_eq!(receiver.callbacks().len(), 2);
}

#[test]
fn b11_the_environment_alone_is_a_configuration() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("DDNS_DNS", "callback")
        .env("DDNS_ENDPOINT", receiver.url("/api"))
        .env("DDNS_ID", "hook/__SITE__?d=__DOMAIN__&ip=__IP__&ttl=__TTL__&line=__LINE__")
        .env("DDNS_TOKEN", r#"{"ip":"__IP__"}"#)
        .env("DDNS_EXTRA", r#"{"__SITE__":"berlin"}"#)
        .env("DDNS_TTL", "600")
        .env("DDNS_LINE", "east")
        .env("DDNS_IPV4", "a.example,b.example")
        .env("DDNS_IPV6", r#"["c.example"]"#)
        .env("DDNS_INDEX4", r#"["shell:exit 1", "shell:echo 203.0.113.7"]"#)
        .env("DDNS_INDEX6", "shell:echo , ; echo 2001:db8::7")
        .env("DDNS_PROXY", "DIRECT")
        .env("DDNS_SSL", "auto")
        .env("DDNS_CACHE", "cache/env.json")
        .env("DDNS_CACHE_MAX_AGE", "0")
        .env("DDNS_TIMEOUT", "10")
        .env("DDNS_CONCURRENCY", "1")
        .env("DDNS_DEBUG", "true")
        .env("DDNS_LOG_FILE", "logs/env.log")
        .env("DDNS_LOG_FORMAT", "%(asctime)s <%(levelname)s> %(message)s")
        .env("DDNS_LOG_DATEFMT", "in %Y");
    let run = sandbox.run(&[]).expect(0).never_prints("accepted");
    assert_eq!(run.stdout, "");
    let sent = [
        "/api/hook/berlin?d=a.example&ip=203.0.113.7&ttl=600&line=east",
        "/api/hook/berlin?d=b.example&ip=203.0.113.7&ttl=600&line=east",
        "/api/hook/berlin?d=c.example&ip=2001:db8::7&ttl=600&line=east",
    ];
    assert_eq!(targets(&receiver), sent);
    assert!(receiver.take().iter().all(|request| request.method() == "POST"), "DDNS_TOKEN makes a body");
    assert!(sandbox.path("cache/env.json").is_file(), "DDNS_CACHE names the file");
    let log = sandbox.read("logs/env.log");
    for text in ["in 2", " <INFO> a.example A 203.0.113.7: accepted", "<DEBUG>", "POST "] {
        assert!(log.contains(text), "{text:?} is not in the log:\n{log}");
    }
    sandbox.run(&[]).expect(0);
    assert_eq!(receiver.callbacks().len(), 3, "DDNS_CACHE_MAX_AGE=0 sends everything again");
}

#[test]
fn b11_lists_in_the_environment_are_json_or_separated() {
    for list in
        ["a.example,b.example", "a.example;b.example", r#"["a.example", "b.example"]"#, " a.example , b.example "]
    {
        let receiver = Receiver::new();
        let sandbox = Sandbox::new().env("DDNS_IPV4", list);
        ends(&sandbox.sync(&without(basic(&receiver), "ipv4")), 0, list);
        let sent = ["/hook?d=a.example&ip=203.0.113.7", "/hook?d=b.example&ip=203.0.113.7"];
        assert_eq!(targets(&receiver), sent, "{list}");
    }
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_INDEX6", "false");
    sandbox.sync(&with(&basic(&receiver), &json!({"ipv6": "home.example.com"}))).expect(0);
    assert_eq!(targets(&receiver), ["/hook?d=home.example.com&ip=203.0.113.7"], "DDNS_INDEX6=false switches it off");
}

#[test]
fn b11_options_alone_are_a_configuration() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_DNS", "callback");
    let endpoint = receiver.url("/api");
    let run = sandbox.run(&[
        "--endpoint",
        &endpoint,
        "--id",
        "hook?d=__DOMAIN__&ip=__IP__&ttl=__TTL__&line=__LINE__",
        "--token",
        r#"{"ip": "__IP__"}"#,
        "--ipv4",
        "a.example",
        "b.example",
        "--ipv6",
        "c.example",
        "--index4",
        "shell:exit 1",
        "shell:echo 203.0.113.7",
        "--index6",
        "shell:echo 2001:db8::7",
        "--ttl",
        "600",
        "--line",
        "east",
        "--proxy",
        "DIRECT",
        "--ssl",
        "auto",
        "--cache",
        "cache/option.json",
        "--cache-max-age",
        "0",
        "--debug",
        "--log-file",
        "logs/option.log",
        "--log-format",
        "%(asctime)s <%(levelname)s> %(message)s",
        "--log-datefmt",
        "in %Y",
    ]);
    run.expect(0).never_prints("accepted");
    let sent = [
        "/api/hook?d=a.example&ip=203.0.113.7&ttl=600&line=east",
        "/api/hook?d=b.example&ip=203.0.113.7&ttl=600&line=east",
        "/api/hook?d=c.example&ip=2001:db8::7&ttl=600&line=east",
    ];
    assert_eq!(targets(&receiver), sent);
    assert!(receiver.callbacks().iter().all(|request| request.method() == "POST"), "--token makes a body");
    assert!(sandbox.path("cache/option.json").is_file(), "--cache names the file");
    let log = sandbox.read("logs/option.log");
    for text in ["in 2", " <INFO> a.example A 203.0.113.7: accepted", "<DEBUG>", "POST "] {
        assert!(log.contains(text), "{text:?} is not in the log:\n{log}");
    }
}

#[test]
fn b11_cache_max_age_and_bare_ssl_are_options_over_the_file() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", with(&basic(&receiver), &json!({"cache_max_age": 3600})).to_string());
    for expected in [1, 2] {
        sandbox.run(&["-c", "config.json", "--cache-max-age", "0", "--ssl"]).expect(0);
        assert_eq!(receiver.callbacks().len(), expected, "an age of 0 sends every time");
    }
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(receiver.callbacks().len(), 2, "the file's own age holds without the option");
}

#[test]
fn b11_log_options_have_three_spellings() {
    let receiver = Receiver::new();
    for joint in ["-", "_", "."] {
        let option = |name: &str| format!("--log{joint}{name}");
        let sandbox = Sandbox::new().configure(&basic(&receiver));
        let [level, file, format, date] = ["level", "file", "format", "datefmt"].map(option);
        let args = [&level, "INFO", &file, "own.log", &format, "%(asctime)s|%(message)s", &date, "in %Y"];
        ends(&sandbox.run(&[&["-c", "config.json"], &args[..]].concat()), 0, joint);
        let log = sandbox.read("own.log");
        assert!(log.contains("in 2") && log.contains("|home.example.com A"), "--log{joint}…: {log}");
    }
}

#[test]
fn b11_secrets_are_read_from_files() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let id = sandbox.write("secrets/id", format!("{}\n", receiver.url("/hook/own")));
    let token = sandbox.write("secrets/token", "{\"key\": \"s3cr3t-key-0123456789\"}\n");
    let sandbox = sandbox.env("DDNS_ID_FILE", id.to_string_lossy()).env("DDNS_TOKEN_FILE", token.to_string_lossy());
    sandbox.sync(&without(basic(&receiver), "id")).expect(0).never_prints("s3cr3t");
    let request = receiver.take().remove(0);
    assert_eq!((request.target(), request.text()), ("/hook/own", r#"{"key":"s3cr3t-key-0123456789"}"#));

    // They are of the environment's layer: the file wins.
    sandbox.sync(&with(&basic(&receiver), &json!({"id": receiver.url("/file"), "token": {"from": "file"}}))).expect(0);
    let request = receiver.only();
    assert_eq!((request.target(), request.text()), ("/file", r#"{"from":"file"}"#));
}

#[test]
fn b11_a_secret_in_two_places_or_in_a_missing_file_is_an_error() {
    for (field, value) in
        [("TOKEN", r#"{"key": "s3cr3t-key-0123456789"}"#), ("ID", "http://127.0.0.1:9/s3cr3t-key-0123456789")]
    {
        let receiver = Receiver::new();
        let (name, file) = (format!("DDNS_{field}"), format!("DDNS_{field}_FILE"));
        let config = without(with(&basic(&receiver), &json!({"endpoint": receiver.url("/")})), "id");

        let sandbox = Sandbox::new();
        let path = sandbox.write("secret", value);
        let sandbox = sandbox.env(&name, value).env(&file, path.to_string_lossy());
        sandbox.sync(&config).expect(2).prints(&name).prints(&file).never_prints("s3cr3t");

        if field == "ID" {
            let sandbox = Sandbox::new();
            sandbox.write("secret", format!("{value}\n{value}\n"));
            let run = sandbox.env(&file, "secret").sync(&config).expect(2);
            run.prints(&file).prints("must hold one line").never_prints("s3cr3t");
        }

        let sandbox = Sandbox::new().env(&file, "missing/secret");
        sandbox.sync(&config).expect(2).prints(&file).prints("missing/secret");
        assert!(receiver.callbacks().is_empty(), "{field}: something was sent");
    }
}

/// An entry of `providers` is part of the file, so the command line is above it and the environment below.
#[test]
fn b11_layers_reach_into_providers_and_into_every_file() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_TTL", "1").env("DDNS_LINE", "env");
    let entry = json!([{"provider": "callback", "id": receiver.url("/entry/__TTL__/__LINE__"), "ttl": 2}]);
    let config = without(without(basic(&receiver), "dns"), "id");
    sandbox.write("one.json", with(&config, &json!({"providers": entry, "cache": false})).to_string());
    let two = json!({"id": receiver.url("/two/__TTL__/__LINE__"), "cache": false});
    sandbox.write("two.json", with(&basic(&receiver), &two).to_string());

    sandbox.run(&["-c", "one.json", "two.json"]).expect(0);
    assert_eq!(targets(&receiver), ["/entry/2/env", "/two/1/env"]);
    receiver.take();
    sandbox.run(&["-c", "one.json", "two.json", "--ttl", "3"]).expect(0);
    assert_eq!(targets(&receiver), ["/entry/3/env", "/two/3/env"]);
}

#[test]
fn b12_without_a_named_file_the_first_place_that_exists_is_taken() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let home = sandbox.path("home");
    let sandbox = sandbox.env("HOME", home.to_string_lossy());
    let places = ["config.json", "home/.ddns/config.json", "home/.ddns.json"];
    for place in places {
        let id = receiver.url(&format!("/{place}"));
        sandbox.write(place, with(&basic(&receiver), &json!({"id": id})).to_string());
    }
    for place in places {
        sandbox.run(&[]).expect(0);
        assert_eq!(targets(&receiver), [format!("/{place}")], "only the first place is run");
        receiver.take();
        fs::remove_file(sandbox.path(place)).expect("the place is cleared");
    }
    sandbox.run(&[]).expect(2);
}

#[test]
fn b12_several_files_and_files_with_providers_are_all_run() {
    let receiver = Receiver::new();
    let config = |name: &str| with(&basic(&receiver), &json!({"id": receiver.url(name), "cache": false})).to_string();
    let sandbox = Sandbox::new();
    sandbox.write("config.json", config("/default"));
    sandbox.write("a.json", config("/a"));
    sandbox.write("b.json", config("/b"));
    let entries = ["/c1", "/c2"].map(|name| json!({"provider": "callback", "id": receiver.url(name)}));
    let common = json!({"ipv4": "home.example.com", "index4": "shell:echo 203.0.113.7", "cache": false});
    sandbox.write("c.json", with(&common, &json!({"providers": entries})).to_string());

    let all = ["/a", "/b", "/c1", "/c2"];
    for args in [
        &["-c", "a.json", "b.json", "c.json"][..],
        &["-c", "a.json", "-c", "b.json", "--config", "c.json"],
        &["--config", "a.json", "b.json", "c.json"],
    ] {
        let run = sandbox.run(args);
        ends(&run, 0, &args.join(" "));
        run.prints("a.json: 1 accepted").prints("c.json: 2 accepted");
        assert_eq!(targets(&receiver), all, "{args:?}");
        receiver.take();
    }
    for (list, sent) in
        [("a.json,b.json,c.json", &all[..]), (r#"["a.json", "b.json", "c.json"]"#, &all), ("b.json", &["/b"])]
    {
        let command = sandbox.command(&[]).env("DDNS_CONFIG", list).output().expect("the program starts");
        let printed = String::from_utf8_lossy(&command.stderr);
        assert_eq!(command.status.code(), Some(0), "DDNS_CONFIG={list}: {printed}");
        assert_eq!(targets(&receiver), sent, "DDNS_CONFIG={list}: {printed}");
        receiver.take();
    }
    sandbox.env("DDNS_CONFIG", "a.json").run(&["-c", "b.json"]).expect(0);
    assert_eq!(targets(&receiver), ["/b"], "-c is above DDNS_CONFIG");
}

/// A receiver that serves `config` at `/config.json` and nothing else.
fn serving(config: String) -> Receiver {
    Receiver::responding(move |request| match request.target() {
        "/config.json" => Response::with_body(200, &config),
        _ => Response::status(404),
    })
}

#[test]
fn b12_a_configuration_at_an_address_is_fetched() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"index4": receiver.index4()}));
    let server = serving(format!("// fetched\n{config}"));
    Sandbox::new().run(&["-c", &server.url("/config.json")]).expect(0);
    assert_eq!(receiver.take().remove(0).target(), "/hook?d=home.example.com&ip=203.0.113.7");
    assert_eq!(server.only().line, "GET /config.json HTTP/1.1");

    // The host's own environment is not part of the fetched file.
    let server = serving(without(config, "index4").to_string());
    let sandbox = Sandbox::new().env("DDNS_INDEX4", "shell:echo 203.0.113.9");
    sandbox.env("DDNS_CONFIG", server.url("/config.json")).run(&[]).expect(0);
    assert_eq!(receiver.only().target(), "/hook?d=home.example.com&ip=203.0.113.9");
}

#[test]
fn b12_an_address_in_the_environment_may_contain_commas() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"index4": receiver.index4()})).to_string();
    let server = Receiver::responding(move |_| Response::with_body(200, &config));
    let fetched = || targets(&server);
    let sandbox = Sandbox::new().env("DDNS_CONFIG", server.url("/c?hosts=1,2;3"));
    sandbox.run(&[]).expect(0);
    assert_eq!(fetched(), ["/c?hosts=1,2;3"]);
    server.take();
    let sandbox = Sandbox::new().env("DDNS_CONFIG", format!("{}, {}", server.url("/a.json"), server.url("/b.json")));
    sandbox.run(&[]).expect(0);
    assert_eq!(fetched(), ["/a.json", "/b.json"]);
    let sandbox = Sandbox::new().env("DDNS_CONFIG", format!("{},missing.json", server.url("/a.json")));
    sandbox.run(&[]).expect(2).prints("missing.json");
}

#[test]
fn b12_a_fetched_configuration_may_not_run_commands() {
    let receiver = Receiver::new();
    let basic = basic(&receiver);
    let entry = json!([{"provider": "callback", "id": receiver.url("/hook"), "index4": "shell:touch ran"}]);
    let cases = [
        ("index4", with(&basic, &json!({"index4": "shell:touch ran; echo 203.0.113.7"}))),
        ("index4", with(&basic, &json!({"index4": [receiver.index4(), "cmd:touch ran"]}))),
        ("index6", with(&basic, &json!({"index4": receiver.index4(), "index6": "cmd:touch ran"}))),
        (
            "index4",
            with(&without(without(basic, "dns"), "id"), &json!({"index4": receiver.index4(), "providers": entry})),
        ),
    ];
    for (field, config) in cases {
        let server = serving(config.to_string());
        let sandbox = Sandbox::new();
        let run = sandbox.run(&["-c", &server.url("/config.json")]);
        ends(&run, 2, &config.to_string());
        assert!(run.stderr.contains(field), "{config}: {field} is not named: {}", run.stderr);
        assert!(!sandbox.path("ran").exists(), "{config}: a command of a fetched file was run");
        assert!(receiver.callbacks().is_empty(), "{config}: something was sent");
    }
}

#[test]
fn b12_a_configuration_that_cannot_be_fetched_is_an_error_and_nothing_is_sent() {
    let receiver = Receiver::new();
    let config = basic(&receiver).to_string();
    let body = config.clone();
    let server = Receiver::responding(move |request| match request.target() {
        "/missing" => Response::with_body(404, &body),
        "/broken" => Response::with_body(200, &body[..body.len() - 1]),
        _ => Response::Close,
    });
    let sandbox = Sandbox::new();
    sandbox.write("good.json", config);
    for path in ["/missing", "/broken", "/closed"] {
        let run = sandbox.run(&["-c", "good.json", &server.url(path)]);
        ends(&run, 2, path);
        assert!(run.stderr.contains(path), "{path} is not named: {}", run.stderr);
    }
    assert!(receiver.callbacks().is_empty(), "something was sent: {:?}", receiver.callbacks());
}
