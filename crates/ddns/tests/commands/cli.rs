//! Commands, help, and what is printed after a mistyped word.

use std::env;

use serde_json::json;

use crate::support::given::{basic, targets, with};
use crate::support::{Receiver, Sandbox};

fn page(args: &[&str]) -> String {
    let run = Sandbox::new().run(args).expect(0);
    assert_eq!(run.stderr, "", "{args:?}");
    run.stdout
}

#[test]
fn cli_help_fits_a_screen_and_begins_with_three_examples() {
    let help = page(&["--help"]);
    assert!(help.lines().count() <= 40, "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
    let examples = help.split("Commands:").next().expect("a beginning").matches("\n  ddns ").count();
    assert_eq!(examples, 3, "{help}");
    for part in ["ddns help options", "\n  demo ", "\n  addresses ", "\n  help ", "--config FILE", "placeholders"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    assert_eq!(help, page(&["help"]));
    assert_eq!(help, page(&["-h"]));
}

#[test]
fn cli_each_command_has_a_page_of_its_own() {
    for (command, option) in [("addresses", "--wide"), ("demo", "--help"), ("help", "TOPIC")] {
        let help = page(&[command, "--help"]);
        assert_eq!(help, page(&["help", command]), "{command}");
        assert!(help.contains(&format!("Usage: ddns {command}")) && help.contains(option), "{help}");
        assert!(help.contains("\nExample:\n  ddns "), "{help}");
    }
    assert!(!page(&["demo", "--help"]).contains("--config"), "the demonstration takes none");
}

/// What a report of an error needs.
#[test]
fn cli_version_tells_how_the_program_was_built() {
    let short = format!("ddns {}\n", env!("CARGO_PKG_VERSION"));
    for words in [&["--version"][..], &["-V"], &["version"]] {
        assert_eq!(page(words), short, "{words:?}");
    }
    let long = page(&["version", "--verbose"]);
    let lines: Vec<_> = long.strip_prefix(&short).expect("the version comes first").lines().collect();
    let [commit, target, features] = lines[..] else { panic!("{long}") };
    assert_eq!(commit, format!("commit: {}", option_env!("DDNS_COMMIT").unwrap_or("unknown")));
    assert!(target.starts_with(&format!("target: {}-{}-", env::consts::ARCH, env::consts::OS)), "{target}");
    assert_eq!(features, "features: all");
}

#[test]
fn cli_each_topic_has_a_page() {
    let parts = [
        ("options", "--log-datefmt"),
        ("config", "/etc/ddns/config.json"),
        ("placeholders", "__RECORDTYPE__"),
        ("sources", "quorum:"),
        ("exit-codes", "nothing was sent"),
    ];
    for (topic, part) in parts {
        assert!(page(&["help", topic]).contains(part), "{topic}");
    }
}

#[test]
fn cli_e7_a_mistyped_word_is_reported_with_the_nearest_one() {
    let cases: [(&[&str], &str); 8] = [
        (&["dmeo"], "did you mean `ddns demo`?"),
        (&["help", "palceholders"], "did you mean `ddns help placeholders`?"),
        (&["help", "adresses"], "did you mean `ddns help addresses`?"),
        (&["addresses", "--wid"], "did you mean --wide?"),
        (&["addresses", "--idnex4", "public"], "did you mean --index4?"),
        (&["--edbug"], "did you mean --debug?"),
        (&["demo", "-c", "config.json"], "takes no options"),
        (&["--wide"], "an option of `ddns status`"),
    ];
    for (args, part) in cases {
        let run = Sandbox::new().run(args).expect(2).prints(part);
        assert_eq!(run.stdout, "", "{args:?}");
    }
}

/// A value in the wrong place may be a key.
#[test]
fn cli_g2_a_value_in_the_wrong_place_is_not_printed() {
    let key = "S3cr3t-key=of/mine";
    for args in [
        &["help", key][..],
        &["demo", key],
        &["addresses", key],
        &["addresses", "--json=S3cr3t-key=of/mine"],
        &["--no-cache=S3cr3t-key=of/mine"],
        &["--debug", key],
    ] {
        Sandbox::new().run(args).expect(2).never_prints("S3cr3t");
    }
}

#[test]
fn cli_check_and_preview_take_the_file_as_a_word() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("other.json", basic(&receiver).to_string());
    for command in ["check", "preview"] {
        let run = sandbox.run(&[command, "other.json"]).expect(0);
        assert!(run.stdout.contains("home.example.com"), "{command}: {}", run.stdout);
    }
    sandbox.run(&["preview", "missing.json"]).expect(2).prints("missing.json");
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn cli_a_command_comes_first_and_a_hint_suggests_nothing_that_sends() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("c.json", basic(&receiver).to_string());
    sandbox.run(&["-c", "c.json", "check"]).expect(2).prints("`check` is a command").prints("`ddns check …`");
    let run = sandbox.run(&["c.json"]).expect(2);
    run.prints("`ddns check -c c.json`").never_prints("`ddns -c");
    for option in ["--cache", "--ssl", "--web", "--proxy=DIRECT"] {
        sandbox.run(&["-c", "c.json", option, "preview"]).expect(2).prints("put the command first: `ddns preview …`");
    }
    assert!(!sandbox.path("preview").exists());
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn e8_force_sends_the_named_domains_once_more() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let names = json!({"id": receiver.url("/__DOMAIN__"), "ipv4": ["a.example", "b.example"], "interval": "5m"});
    sandbox.write("config.json", with(&basic(&receiver), &names).to_string());
    sandbox.run(&["--force", "b.example", "A.example"]).expect(0);
    receiver.take();
    sandbox.run(&["--force", "B.example", "--debug"]).expect(0).prints("sent again on request");
    assert_eq!(targets(&receiver), ["/b.example"]);
    let run = sandbox.run(&["--force", "c.example", "b.exampel"]).expect(2);
    run.prints("`c.example` is not a domain of the configuration").prints("did you mean b.example?");
    sandbox.run(&["--force"]).expect(2).prints("--force needs a domain");
    assert_eq!(targets(&receiver), ["/b.example"]);
}

#[test]
fn e8_h6_force_respects_a_pause_that_the_configuration_wants() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", with(&basic(&receiver), &json!({"min_interval": "1h"})).to_string());
    sandbox.run(&[]).expect(0);
    sandbox.run(&["--force", "home.example.com"]).prints("held back");
    assert_eq!(receiver.callbacks().len(), 1);
}

#[test]
fn cli_watch_names_the_options_that_make_it_a_service_with_a_page() {
    let help = page(&["watch", "--help"]);
    assert!(help.contains("--web") && help.contains("--interval"), "{help}");
}

#[test]
fn b_an_interval_in_minutes_that_was_hardly_meant_is_named() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    for (interval, is_named) in [(json!(300), true), (json!("300"), true), (json!(60), false), (json!("300m"), false)] {
        sandbox.write("config.json", with(&basic(&receiver), &json!({"interval": interval})).to_string());
        let run = sandbox.run(&["check", "--wide"]).expect(0);
        assert_eq!(run.stdout.contains("300 minutes, which is 5 h"), is_named, "{interval}: {}", run.stdout);
    }
}

#[test]
fn f6_cmd_with_a_pipe_is_a_hint_at_shell() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("config.json", with(&basic(&receiver), &json!({"index4": "cmd:echo 203.0.113.7 | cat"})).to_string());
    let shown = |sandbox: &Sandbox| sandbox.run(&["check", "--wide"]).expect(0).stdout;
    let named = shown(&sandbox);
    assert!(named.contains("`|` is only an argument") && named.contains("hint: use `shell:`"), "{named}");
    sandbox.write("config.json", with(&basic(&receiver), &json!({"index4": "cmd:echo 'a|b'"})).to_string());
    assert!(!shown(&sandbox).contains("`shell:`"), "{}", shown(&sandbox));
}
