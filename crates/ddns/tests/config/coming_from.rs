//! What users of NewFuture/DDNS have in their scripts, variables and files means the same here, or a hint says what takes its
//! place (B11).

use serde_json::json;

use crate::support::authority::Authority;
use crate::support::given::{basic, ends, files, home, sent, targets, with, without};
use crate::support::lookup::refused;
use crate::support::{Receiver, Response, Sandbox};

#[test]
fn b11_the_version_has_both_letters() {
    let version = |option: &str| Sandbox::new().run(&[option]).expect(0).stdout;
    assert!(version("-v").starts_with("ddns "), "{}", version("-v"));
    assert_eq!(version("-v"), version("--version"));
}

#[test]
fn b11_variables_count_in_any_case_and_with_dots() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("ddns_dns", "callback")
        .env("Ddns_Id", receiver.url("/__DOMAIN__/__TTL__"))
        .env("ddns_ipv4", "a.example")
        .env("DDNS_index4", "cmd:echo 203.0.113.7")
        .env("DDNS_TTL", "300")
        .env("ddns_log.level", "ERROR");
    let run = sandbox.run(&[]).expect(0);
    assert_eq!(run.stderr, "", "the level of the log counts");
    assert_eq!(receiver.only().target(), "/a.example/300");
}

#[test]
fn b11_a_variable_in_two_spellings_must_have_one_value() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("ddns_ttl", "300").env("DDNS_TTL", "600");
    let run = sandbox.sync(&basic(&receiver)).expect(2);
    run.prints("DDNS_TTL (environment): error: it is set twice, to different values").prints("unset one of the two");
    assert!(receiver.callbacks().is_empty());
    let sandbox = Sandbox::new().env("ddns_ttl", "300").env("DDNS_TTL", "300");
    sandbox.sync(&basic(&receiver)).expect(0).never_prints("twice");
}

#[test]
fn b11_a_schedule_for_cron_is_a_hint_at_interval() {
    let receiver = Receiver::new();
    let run = Sandbox::new().env("DDNS_CRON", "*/10 * * * *").sync(&basic(&receiver)).expect(0);
    run.prints("DDNS_CRON (environment): it has no effect").prints("`interval`");
}

#[test]
fn b11_task_is_a_hint_at_the_service_and_at_the_old_timer() {
    for arguments in [&["task"][..], &["task", "--install", "5"], &["task", "--status"]] {
        let run = Sandbox::new().run(arguments).expect(2);
        run.prints("there is no command `task`")
            .prints("`ddns service install`")
            .prints("systemctl disable --now ddns.timer");
    }
}

#[test]
fn b11_commands_and_options_of_the_other_client_lead_to_what_takes_their_place() {
    for (arguments, part) in [
        (&["web"][..], "`ddns watch --help`"),
        (&["mcp"], "`ddns status --json`"),
        (&["--open"], "open it in your browser"),
        (&["--port", "8080"], "`ddns watch --web 127.0.0.1:PORT`"),
    ] {
        Sandbox::new().run(arguments).expect(2).prints("there is no ").prints(part);
    }
}

#[test]
fn b11_of_several_words_after_line_the_first_counts() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", with(&basic(&receiver), &json!({"id": receiver.url("/__LINE__")})).to_string());
    sandbox.run(&["--line", "one", "two"]).expect(0).prints("only the first one, `one`, is used");
    let listed = sandbox.run(&["check", "--line", "one", "two"]).expect(0).stdout;
    assert!(listed.contains("one, two"), "{listed}");
    assert_eq!(receiver.only().target(), "/one");
    sandbox.run(&["--line", "one", "check"]).expect(2).prints("put the command first");
}

#[test]
fn b7_a_token_that_switches_itself_off_gets_a_hint() {
    for (token, typed) in [(json!("None"), "None"), (json!(false), "false")] {
        let sandbox = Sandbox::new().configure(&basic(&Receiver::new()));
        sandbox.run(&["--token", typed]).expect(2).prints("leave `token` out to send a GET");
        sandbox.sync(&with(&basic(&Receiver::new()), &json!({"token": token}))).expect(2).prints("leave `token` out");
    }
}

#[test]
fn b13_words_and_numbers_of_the_other_client_mean_the_same() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let config = |more| with(&with(&basic(&receiver), &json!({"id": receiver.url("/__TTL__")})), &more);
    sandbox.sync(&config(json!({"ttl": 1.5}))).expect(0).prints("`ttl` is rounded to 2 seconds");
    assert_eq!(receiver.take()[0].target(), "/2");
    sandbox.sync(&config(json!({"ttl": "-1.5"}))).expect(2).prints("`ttl` must be");
    sandbox.run(&["--cache", "n", "--ttl", "60"]).expect(0);
    sandbox.run(&["--cache", "n", "--ttl", "60"]).expect(0);
    assert_eq!(receiver.take().len(), 2, "nothing is remembered");
    assert!(!sandbox.path("n").exists());
}

/// There, `none` and `false` mean that nothing is set.
#[test]
fn b13_none_and_false_are_neither_domains_nor_files() {
    let receiver = Receiver::new();
    for off in [json!(false), json!("false"), json!("none"), json!("None")] {
        let sandbox = Sandbox::new();
        sandbox.sync(&with(&basic(&receiver), &json!({"ipv6": off, "cache": "none"}))).expect(0);
        sandbox.run(&["--ipv6", "none"]).expect(0);
        assert_eq!(receiver.take().len(), 2, "one domain, and nothing is remembered: {off}");
        assert!(!sandbox.path("none").exists());
    }
    for (word, hint) in [
        ("off", "write `false`"),
        ("Disabled", "write `false`"),
        ("null", "./null"),
        ("on", "write `true`"),
        ("auto", "write `true`"),
    ] {
        let sandbox = Sandbox::new();
        let config = with(&basic(&receiver), &json!({"cache": word}));
        sandbox.sync(&config).expect(2).prints(&format!("`cache` would be a file called `{word}`")).prints(hint);
        assert!(!sandbox.path(word).exists() && receiver.take().is_empty());
    }
    for word in ["off", "NO", "null", "disabled", "0"] {
        let said = format!("`ipv6` would update a domain called `{}`", word.to_lowercase());
        Sandbox::new().sync(&with(&basic(&receiver), &json!({"ipv6": word}))).expect(2).prints(&said);
    }
    let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"ssl": "off"}))).expect(2);
    run.prints("`ssl` would be a file called `off`").prints("write `false`");
    assert!(receiver.take().is_empty());
    let v6 = json!({"ipv4": false, "ipv6": ["home.example.com"], "index6": "shell:echo 2001:db8::7"});
    Sandbox::new().sync(&with(&basic(&receiver), &v6)).expect(0);
    assert_eq!(receiver.take().len(), 1);
    let beside = json!({"ipv4": ["none", "a.example"]});
    Sandbox::new().sync(&with(&basic(&receiver), &beside)).expect(2).prints("can only stand alone");
    let sandbox = Sandbox::new();
    sandbox
        .sync(&with(&basic(&receiver), &json!({"index4": ["false", "public"]})))
        .expect(2)
        .prints("can only stand alone");
}

#[test]
fn b12_a_file_may_be_named_as_a_url() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("here.json", basic(&receiver).to_string());
    let url = format!("file://{}", sandbox.path("here.json").display());
    sandbox.run(&["-c", &url]).expect(0);
    assert_eq!(receiver.take().len(), 1);
    sandbox.write("python.json", "{'dns': 'callback'}");
    let said = sandbox.run(&["check", "python.json"]).expect(2).stdout;
    assert!(said.contains("`ddns import FILE` reads them"), "{said}");
}

#[test]
fn c4_line_of_a_file_with_windows_line_ends_is_trimmed() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_LINE", "x\r");
    sandbox.sync(&with(&basic(&receiver), &json!({"id": receiver.url("/__LINE__")}))).expect(0);
    assert_eq!(receiver.only().target(), "/x");
}

#[test]
fn d5_proxy_false_is_direct() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("http_proxy", "http://127.0.0.1:9");
    sandbox.sync(&with(&home(&receiver.url("/")), &json!({"proxy": false}))).expect(0);
    assert_eq!(receiver.only().target(), "/");
    sandbox.sync(&with(&home(&receiver.url("/")), &json!({"proxy": true}))).expect(2).prints("`proxy` must be");
    receiver.take();
    for word in ["false", "No", "off"] {
        let sandbox = Sandbox::new().env("http_proxy", "http://127.0.0.1:9").env("DDNS_PROXY", word);
        sandbox.sync(&home(&receiver.url("/"))).expect(0);
        assert_eq!(receiver.take().len(), 1, "{word}");
    }
}

#[test]
fn b11_a_variable_that_sets_nothing_says_so() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_EXTRA_PROXIED", "1").env("DDNS_VERIFY", "true").env("DDNS_PROVIDERS", "[]");
    let sandbox = sandbox.env("DDNS_LOG", "DEBUG").env("DDNS_HEADERS_FILE", "headers");
    let run = sandbox.sync(&basic(&receiver)).expect(0);
    run.prints("DDNS_EXTRA_PROXIED (environment): it has no effect")
        .prints("set DDNS_EXTRA to an object")
        .prints("set `verify` in a configuration file")
        .prints("set `providers` in a configuration file")
        .prints("DDNS_LOG (environment): it has no effect (set `log` in a configuration file)")
        .prints("set DDNS_HEADERS; only DDNS_ID_FILE, DDNS_TOKEN_FILE, DDNS_SIGN_FILE name files");
}

#[test]
fn h_one_value_of_extra_may_be_an_option() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write(
        "config.json",
        with(&basic(&receiver), &json!({"id": receiver.url("/__KEY__/__ZONE_ID__")})).to_string(),
    );
    sandbox.run(&["--extra.__KEY__", "s3cret", "--extra.__ZONE_ID__=z1"]).expect(0).never_prints("s3cret");
    assert_eq!(receiver.only().target(), "/s3cret/z1");
    sandbox.run(&["--extra", "{}", "--extra.__KEY__", "v"]).expect(2).prints("use only one");
}

/// That client also fills in placeholders there.
#[test]
fn b11_a_placeholder_in_a_value_of_extra_is_a_warning() {
    let receiver = Receiver::new();
    let more = json!({"id": receiver.url("/?name=__NAME__"), "extra": {"__NAME__": "www.__DOMAIN__"}});
    let run = Sandbox::new().sync(&with(&basic(&receiver), &more)).expect(0);
    run.prints("`extra`").prints("__DOMAIN__");
    assert_eq!(receiver.only().target(), "/?name=www.__DOMAIN__");
}

#[test]
fn b11_a_list_of_files_in_a_variable_is_read_as_any_list() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_CONFIG", "['a.json',]");
    sandbox.write("a.json", basic(&receiver).to_string());
    sandbox.run(&[]).expect(0);
    receiver.only();
    let run = sandbox.env("DDNS_CONFIG", "['a.json'").run(&[]).expect(2);
    run.prints("DDNS_CONFIG (environment)").never_prints("cannot be read");
    receiver.only();
}

#[test]
fn b11_an_option_for_one_value_of_extra_leaves_the_others() {
    let receiver = Receiver::new();
    let config =
        with(&basic(&receiver), &json!({"id": receiver.url("/__A__/__B__"), "extra": {"__A__": "a", "__B__": "b"}}));
    let sandbox = Sandbox::new().configure(&config);
    let listed = sandbox.run(&["check", "--extra.__B__", "option"]).expect(0).stdout;
    assert!(listed.contains("__A__") && listed.contains("__B__"), "{listed}");
    sandbox.run(&["--extra.__B__", "option"]).expect(0);
    assert_eq!(receiver.take()[0].target(), "/a/option");
    // The whole object replaces the whole object.
    sandbox.run(&["--extra", r#"{"__A__": "x"}"#]).expect(0).prints("__B__ is not a placeholder");
    assert_eq!(receiver.take()[0].target(), "/x/__B__");
    let outer =
        without(with(&config, &json!({"providers": [{"provider": "callback", "extra": {"__A__": "own"}}]})), "dns");
    sandbox.write("config.json", outer.to_string());
    sandbox.run(&["--extra.__B__", "option"]).expect(0);
    assert_eq!(receiver.take()[0].target(), "/own/option");
    sandbox.write("config.json", without(config, "extra").to_string());
    let sandbox = sandbox.env("DDNS_EXTRA", r#"{"__A__": "env", "__B__": "b"}"#);
    sandbox.run(&["--extra.__B__", "option"]).expect(0);
    assert_eq!(receiver.only().target(), "/env/option");
}

#[test]
fn d6_a_variable_of_python_that_switches_verification_off_is_named() {
    let receiver = Receiver::new();
    let run = Sandbox::new().env("PYTHONHTTPSVERIFY", "0").sync(&basic(&receiver)).expect(0);
    run.prints("PYTHONHTTPSVERIFY (environment): it has no effect").prints("set `ssl` to `false`");
    let receiver = Receiver::new();
    Sandbox::new().env("PYTHONHTTPSVERIFY", "1").sync(&basic(&receiver)).expect(0).never_prints("PYTHON");
}

#[test]
fn b11_lists_in_variables_may_have_single_quotes() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new()
        .env("DDNS_DNS", "callback")
        .env("DDNS_ID", receiver.url("/__DOMAIN__"))
        .env("DDNS_IPV4", "['a.example', 'b.example']")
        .env("DDNS_INDEX4", "['regex:(nothing', 'cmd:echo 203.0.113.7']");
    sandbox.run(&[]).expect(2).prints("DDNS_INDEX4 (environment): error: `index4`: the pattern after `regex:`");
    let sandbox = sandbox.env("DDNS_INDEX4", r#"['shell:echo none', "shell:echo '203.0.113.7'"]"#);
    sandbox.run(&[]).expect(0);
    assert_eq!(targets(&receiver), ["/a.example", "/b.example"]);
    let sandbox = sandbox
        .env("DDNS_IPV4", "['d.example',]")
        .env("DDNS_INDEX4", r"['regex:192\.0\.2\.', 'shell:echo 203.0.113.7']");
    receiver.take();
    sandbox.run(&[]).expect(0);
    assert_eq!(targets(&receiver), ["/d.example"]);
    sandbox.run(&["--ipv4", "['c.example'", "--no-cache"]).expect(2).prints("`ipv4` starts like a JSON list");
    sandbox.run(&["--ipv4", "['c.example']", "--no-cache"]).expect(0);
    assert!(targets(&receiver).contains(&"/c.example".to_owned()));
}

#[test]
fn b11_levels_of_the_log_may_be_numbers() {
    for (level, info) in [(json!(10), true), (json!(20), true), (json!(30), false), (json!("40"), false)] {
        let receiver = Receiver::new();
        let run = Sandbox::new().sync(&with(&basic(&receiver), &json!({"log": {"level": level}}))).expect(0);
        assert_eq!(run.stderr.contains("home.example.com"), info, "{level}: {}", run.stderr);
    }
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("DDNS_LOG_LEVEL", "50");
    assert_eq!(sandbox.sync(&basic(&receiver)).expect(0).stderr, "");
    sandbox.run(&["-c", "config.json", "--log-level", "10", "--no-cache"]).expect(0).prints("debug: ");
}

#[test]
fn b13_numbers_stand_for_what_they_mean() {
    assert_eq!(sent("/__TTL__/__LINE__", &json!({"ttl": 300.0, "line": 10})).target(), "/300/10");
    for (cache, is_kept) in [(json!(1), true), (json!(0), false)] {
        let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
        sandbox.sync(&with(&basic(&receiver), &json!({"cache": cache}))).expect(0);
        assert_eq!(sandbox.cache_file().exists(), is_kept, "cache: {cache}");
        assert!(!sandbox.path("1").exists());
    }
}

#[test]
fn f1_local_is_default_and_none_switches_a_family_off() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"ipv6": "six.example.com", "index6": "none", "index4": "local"}));
    let sandbox = Sandbox::new().configure(&config);
    let report: serde_json::Value = sandbox.run(&["addresses", "--json", "-c", "config.json"]).json();
    let sources = report["sources"].as_array().expect("a list");
    assert_eq!(sources.len(), 1, "IPv6 is switched off: {report:#}");
    assert_eq!(sources[0]["source"], "default");
}

#[test]
fn d5_proxy_none_is_direct() {
    let receiver = Receiver::new();
    let sandbox = Sandbox::new().env("http_proxy", "http://127.0.0.1:9");
    sandbox.sync(&with(&home(&receiver.url("/")), &json!({"proxy": "none"}))).expect(0);
    assert_eq!(receiver.only().target(), "/");
}

#[test]
fn f5_a_pattern_that_looks_around_gets_a_hint_at_an_interface() {
    refused(6, &json!("regex:^(?!fe80|fd).*")).prints("look-around is not supported").prints("`interface:NAME`");
}

#[test]
fn b_the_log_of_an_entry_is_a_warning_and_that_of_the_file_counts() {
    let receiver = Receiver::new();
    let entries = json!([{"provider": "callback", "log": {"level": "ERROR"}}]);
    let config = with(&without(basic(&receiver), "dns"), &json!({"providers": entries, "log": {"level": "WARNING"}}));
    let run = Sandbox::new().sync(&config).expect(0);
    assert_eq!(receiver.callbacks().len(), 1);
    run.prints("`log` inside `providers` has no effect: it applies to the whole file").never_prints("accepted");
}

#[test]
fn b_domains_outside_of_providers_that_nobody_updates_are_a_warning() {
    let warning = "`ipv4` outside of `providers` has no effect: each entry has its own";
    let receiver = Receiver::new();
    let config = without(home(&receiver.url("/__DOMAIN__")), "dns");
    let entries =
        json!([{"provider": "callback", "ipv4": "a.example"}, {"provider": "callback", "ipv4": ["b.example"]}]);
    Sandbox::new().sync(&with(&config, &json!({"providers": entries}))).expect(0).prints(warning);
    assert_eq!(targets(&receiver), ["/a.example", "/b.example"]);
    receiver.take();
    let entries = json!([{"provider": "callback", "ipv4": "a.example"}, {"provider": "callback"}]);
    Sandbox::new().sync(&with(&config, &json!({"providers": entries}))).expect(0).never_prints(warning);
    assert_eq!(targets(&receiver), ["/a.example", "/home.example.com"]);
}

#[test]
fn e4_the_cache_of_the_other_client_is_named_and_set_aside() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"cache": "state/ddns.cache"}));
    let sandbox = Sandbox::new();
    let theirs = r#"{"home.example.com:A":"203.0.113.7","home.example.com:AAAA":"2001:db8::7"}"#;
    sandbox.write("state/ddns.cache", theirs);
    sandbox.write("config.json", config.to_string());
    let name = "the cache belongs to another client (NewFuture/DDNS)";
    sandbox.run(&["preview"]).expect(0).prints(name);
    sandbox.sync(&config).expect(0).prints(name).prints("every address is sent again");
    assert_eq!(receiver.take().len(), 1);
    assert!(
        files(&sandbox.path("state")).iter().any(|file| std::fs::read_to_string(file).is_ok_and(|it| it == theirs))
    );
    sandbox.sync(&config).expect(0).never_prints("NewFuture");
    assert!(receiver.take().is_empty(), "it is up to date");
    for other in ["{}", r#"{"a.example:TXT":"x"}"#, r#"{"a.example:A":5}"#, "[]", "no JSON"] {
        sandbox.write("state/ddns.cache", other);
        sandbox.sync(&config).expect(0).prints("is damaged").never_prints("NewFuture");
    }
}

/// A receiver that is a proxy as well: it serves `config` and accepts everything else.
fn serving(config: &impl ToString) -> Receiver {
    let config = config.to_string();
    Receiver::responding(move |request| {
        let is_asked_for = request.target().ends_with("/config.json");
        if is_asked_for { Response::with_body(200, &config) } else { Response::status(200) }
    })
}

#[test]
fn b12_a_configuration_is_fetched_through_the_proxy_of_options_and_environment() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"index4": receiver.index4()}));
    let proxy = serving(&config);
    let fetched = || proxy.take().first().map(|request| request.line.clone()).unwrap_or_default();
    let expected = "GET http://config.invalid/config.json HTTP/1.1";
    let address = "http://config.invalid/config.json";
    Sandbox::new().run(&["-c", address, "--proxy", &proxy.url("")]).expect(0);
    assert_eq!(fetched(), expected);
    let sandbox = Sandbox::new().env("DDNS_PROXY", proxy.url(""));
    sandbox.run(&["-c", address]).expect(0);
    assert_eq!(fetched(), expected);
    // `none` goes around that of the environment.
    let sandbox = Sandbox::new().env("http_proxy", "http://127.0.0.1:9");
    sandbox.run(&["-c", &proxy.url("/config.json")]).expect(2).prints("cannot be fetched");
    sandbox.run(&["-c", &proxy.url("/config.json"), "--proxy", "none"]).expect(0);
    assert_eq!(fetched(), "GET /config.json HTTP/1.1");
    // What is wrong with it is reported before anything is asked for.
    let run = Sandbox::new().run(&["-c", &proxy.url("/config.json"), "--proxy", "ftp://user:s3cret@h"]).expect(2);
    run.prints("--proxy: error: `proxy` names a proxy with the scheme `ftp`").never_prints("s3cret");
    assert_eq!(fetched(), "");
}

#[test]
fn d6_ssl_counts_for_a_fetched_configuration() {
    let receiver = Receiver::new();
    let config = with(&basic(&receiver), &json!({"index4": receiver.index4()})).to_string();
    let authority = Authority::new("testing");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", config.len());
    let address = format!("https://localhost:{}/config.json", authority.sending(head + &config, true));
    let unknown = Authority::new("another").trusted();
    let own = unknown.write("own.pem", &authority.pem);
    let unverified = "is trusted unverified";
    for (ssl, code, warning) in [
        (None, 0, unverified),
        (Some("auto"), 0, unverified),
        (Some("false"), 0, "`ssl` is off"),
        (own.to_str(), 0, ""),
        (Some("true"), 2, "an issuer that this system does not trust"),
        (Some("/nowhere.pem"), 2, "the CA file /nowhere.pem cannot be read"),
    ] {
        let options = ssl.map(|ssl| vec!["--ssl", ssl]).unwrap_or_default();
        let run = unknown.run(&[&["-c", &address, "--no-cache"], &options[..]].concat());
        ends(&run, code, &format!("{ssl:?}"));
        assert_eq!(run.stderr.contains(unverified), warning == unverified, "{ssl:?}: {}", run.stderr);
        run.prints(warning);
    }
}

#[test]
fn g3_parts_of_a_python_program_in_the_format_of_the_log() {
    let receiver = Receiver::new();
    let format = "%(asctime)s.%(msecs)03d [%(module)s.%(funcName)s:%(lineno)d] %(levelname)s %(message)s";
    let log = json!({"log": {"format": format, "datefmt": "%H:%M"}});
    let run = Sandbox::new().sync(&with(&basic(&receiver), &log)).expect(0);
    for line in run.stderr.lines() {
        let (time, rest) = line.split_at("12:34.567".len());
        let is_time = |(at, byte): (usize, u8)| match at {
            2 => byte == b':',
            5 => byte == b'.',
            _ => byte.is_ascii_digit(),
        };
        assert!(time.bytes().enumerate().all(is_time), "{line}");
        assert!(rest.starts_with(" [ddns.-:-] "), "{line}");
    }
    run.prints("`log.format` asks for a place in the code").prints("home.example.com");
}

#[test]
fn b8_a_placeholder_beside_the_fields_is_told_where_it_belongs() {
    let config = with(&basic(&Receiver::new()), &json!({"__KEY__": "x"}));
    Sandbox::new()
        .sync(&config)
        .expect(0)
        .prints("unknown field `__KEY__`: it has no effect")
        .prints("put it into `extra`");
}

#[test]
fn b13_whole_numbers_inside_objects_may_have_a_fraction_of_zeros() {
    let config = json!({
        "dns": "callback", "id": "http://127.0.0.1:9/__DOMAINS__", "ipv4": "a.example", "interval": 5.0,
        "combine": {"domains": 20.0}, "expect": {"stop": {"status": 410.0}},
        "notify": {"id": "http://127.0.0.1:9/__MESSAGE__", "after": 3.0},
        "group": {"store": "etcd://127.0.0.1:9", "name": "home", "lease": 1.0, "prefer": 10.0},
        "web": {"push": {"nas": {"password_file": "password", "max_age": 720.0}}},
    });
    let sandbox = Sandbox::new();
    sandbox.write("password", "0123456789abcdef");
    sandbox.write("config.json", config.to_string());
    sandbox.run(&["check", "-c", "config.json"]).expect(0);
    for (field, wrong) in [("group", json!({"prefer": 10.5})), ("combine", json!({"domains": 1.5}))] {
        sandbox.write("config.json", with(&config, &json!({field: wrong})).to_string());
        sandbox.run(&["-c", "config.json"]).expect(2).prints("a whole number");
    }
}
