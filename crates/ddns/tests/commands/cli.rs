//! Commands, help, and what is printed after a mistyped word.

use std::env;

use crate::support::Sandbox;

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
