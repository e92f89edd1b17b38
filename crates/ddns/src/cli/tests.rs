//! Reading the command line, and the texts of help.

use std::ffi::OsString;

use ddns_core::config::fields::{FIELDS, Key};
use ddns_core::config::raw::Raw;
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::text::json::Value;

use super::rows::NAMES;
use super::table::{COMMANDS, Name, usage_of};
use super::topics::TOPICS;
use super::{CliSettings, Invocation, help, parse};
use crate::output::layout::{WIDE, WIDTH};

fn parsed(arguments: &[&str]) -> Result<Invocation, Diagnostic> {
    parse(arguments.iter().map(OsString::from))
}

fn settings(arguments: &[&str]) -> (Vec<String>, Raw) {
    match parsed(arguments) {
        Ok(Invocation::Synchronize(CliSettings { files, options, .. })) => (files, options),
        other => panic!("{arguments:?}: {other:?}"),
    }
}

fn shown(options: &Raw, key: Key) -> String {
    match options.get(key).map(|setting| &setting.node.value) {
        Some(Value::Array(items)) => items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>().join(" "),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(value)) => value.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn b11_every_spelling_of_an_option_is_understood() {
    for spelling in ["--log-level", "--log_level", "--log.level"] {
        assert_eq!(shown(&settings(&[spelling, "DEBUG"]).1, Key::LogLevel), "DEBUG", "{spelling}");
    }
    assert_eq!(shown(&settings(&["--cache_max_age=5"]).1, Key::CacheMaxAge), "5");
}

#[test]
fn b11_lists_take_several_values_and_repeat() {
    let arguments = ["--ipv4", "a.example", "b.example", "--ipv4", "c.example,d.example", "-c", "x", "y", "-c", "z"];
    let (files, options) = settings(&arguments);
    assert_eq!(shown(&options, Key::Ipv4), "a.example b.example c.example d.example");
    assert_eq!(files, ["x", "y", "z"]);
    assert_eq!(shown(&settings(&["--index4", "[\"default\"]"]).1, Key::Index4), "[\"default\"]");
    assert_eq!(shown(&settings(&["--ipv4", "a", "--ipv4=b"]).1, Key::Ipv4), "a b");
    assert_eq!(shown(&settings(&["--ipv4", "[\"a\",\"b\"]", "--ipv4", "c"]).1, Key::Ipv4), "a b c");
}

#[test]
fn b11_a_value_may_be_left_out_where_a_flag_is_meant() {
    assert_eq!(shown(&settings(&["--cache"]).1, Key::Cache), "true");
    assert_eq!(shown(&settings(&["--cache", "/x"]).1, Key::Cache), "/x");
    assert_eq!(shown(&settings(&["--cache=/x", "--debug"]).1, Key::Cache), "/x");
    assert_eq!(shown(&settings(&["--cache", "--debug"]).1, Key::Debug), "true");
    assert_eq!(shown(&settings(&["--cache=preview"]).1, Key::Cache), "preview");
    assert_eq!(shown(&settings(&["--cache", "./preview"]).1, Key::Cache), "./preview");
    assert_eq!(shown(&settings(&["--line", ""]).1, Key::Line), "");
    assert_eq!(shown(&settings(&["--no-cache"]).1, Key::Cache), "false");
    assert_eq!(shown(&settings(&["--no_ssl"]).1, Key::Ssl), "false");
}

#[test]
fn a_mistake_is_an_error_with_a_hint() {
    let cases = [
        (vec!["--tokne", "x"], "--token"),
        (vec!["dmo"], "ddns demo"),
        (vec!["run"], "no command `run`"),
        (vec!["--index4", ""], "empty value"),
        (vec!["my.json"], "ddns check -c my.json"),
        (vec!["--ttl"], "whole number"),
        (vec!["-c"], "--config needs a value"),
        (vec!["-x"], "no option -x"),
        (vec!["--debug", "demo"], "unexpected argument"),
        (vec!["--token", "{k:", "s3cret}"], "single quotes"),
        (vec!["--verify", "-c", "x.json"], "`-c` is no time such as 90s or 5m"),
        (vec!["demo", "--x"], "takes no options"),
        (vec!["demo", "-c", "x"], "takes no options"),
        (vec!["--debug", "demo"], "put the command first: `ddns demo"),
        (vec!["addresses", "--jsn"], "did you mean --json?"),
        (vec!["addresses", "--tokne", "x"], "did you mean --token?"),
        (vec!["addresses", "--xyzzy"], "ddns addresses --help"),
        (vec!["addresses", "s3cret"], "unexpected argument"),
        (vec!["--json"], "an option of `ddns "),
        (vec!["addresses", "--json=s3cret"], "--json takes no value"),
        (vec!["--no-cache=s3cret"], "--no-cache takes no value"),
        (vec!["help", "demo", "s3cret"], "takes only one TOPIC"),
        (vec!["run"], "`ddns --help` lists every command"),
        (vec!["init", "--ipv4", "a.example", "init.json"], "--ipv4: error: `init.json` is a file"),
        (vec!["--ipv6", "a.example", "./s3cret"], "--ipv6: error: a path is not a domain name"),
        (vec!["--ipv4", "a.example", "My.JSON"], "--ipv4: error: `My.JSON` is a file, not a domain name"),
        (vec!["--ipv4", "a.example", "config.yaml"], "--ipv4: error: `config.yaml` is a file, not a domain name"),
        (vec!["--ipv4", "a.example", "/etc/ddns.json"], "or with -c"),
        (vec!["--ipv4", "a.example", "https://u:s3cret@h/x.json"], "with --id"),
        (vec!["--ipv4", "a.example", "status"], "put the command first: `ddns status --ipv4 …`"),
        (vec!["--cache", "preview"], "put the command first: `ddns preview …`; to name a file, write ./preview"),
        (vec!["--ssl", "check"], "`check` is a command"),
        (vec!["--web", "watch"], "`watch` is a command"),
        (vec!["--new-config", "check"], "`check` is a command"),
        (vec!["--proxy", "DIRECT", "preview"], "`preview` is a command"),
        (vec!["--zone", "a.example", "check"], "`check` is a command"),
    ];
    for (arguments, part) in cases {
        let error = parsed(&arguments).expect_err("a mistake").shown();
        assert!(error.contains(part) && !error.contains("s3cret"), "{arguments:?}: {error}");
    }
}

fn given(arguments: &[&str]) -> (Name, super::ParsedArgs) {
    match parsed(arguments) {
        Ok(Invocation::Command(name, given)) => (name, given),
        other => panic!("{arguments:?}: {other:?}"),
    }
}

#[test]
fn a_command_has_its_own_options_and_those_of_the_fields() {
    let (name, given) = given(&["addresses", "--json", "--ttl", "5", "-c", "x", "y", "--wide"]);
    assert_eq!((name, given.form().json, given.form().wide), (Name::Addresses, true, true));
    assert_eq!(given.settings.files, ["x", "y"]);
    assert_eq!(shown(&given.settings.options, Key::Ttl), "5");
    assert!(!super::tests::given(&["addresses"]).1.has("json"));
}

#[test]
fn help_can_be_asked_for_in_every_way() {
    let text = |arguments: &[&str]| match parsed(arguments) {
        Ok(Invocation::Show(text)) => text,
        Ok(Invocation::Command(Name::Help, given)) => help::about(given.word(), WIDTH).expect("a page"),
        other => panic!("{arguments:?}: {other:?}"),
    };
    assert_eq!(text(&["--help"]), text(&["help"]));
    assert_eq!(text(&["-h"]), text(&["-c", "x", "-h"]));
    for command in COMMANDS {
        let page = text(&["help", command.name]);
        assert_eq!(page, text(&[command.name, "--help"]));
        assert!(page.starts_with(command.text().summary) && page.contains(command.text().example), "{page}");
        for choice in command.options {
            assert!(page.contains(&format!("--{}", choice.name)), "{page}");
        }
    }
    for (typed, meant) in [("placeholder", "placeholders"), ("adresses", "addresses"), ("exit-code", "exit-codes")] {
        let error = help::about(Some(typed), WIDTH).expect_err("no such page").shown();
        assert!(error.contains(&format!("did you mean `ddns help {meant}`?")), "{error}");
    }
    let error = help::about(Some("S3cret-value-of-mine"), WIDTH).expect_err("no such page").shown();
    assert!(error.contains("exit-codes") && !error.contains("S3cret"), "{error}");
}

#[test]
fn each_command_fits_a_line_of_help() {
    for command in COMMANDS {
        let (name, text) = (command.name, command.text());
        assert!(NAMES + text.summary.chars().count() <= WIDTH, "{name}: too long for a line");
        assert!(name.len() + 4 <= NAMES, "{name}: too long for its column");
        assert!(text.example.starts_with(&format!("ddns {name}")), "{name}: another command's example");
        assert!(!text.about.is_empty() && text.summary.starts_with(char::is_uppercase), "{name}");
        assert_eq!(COMMANDS.iter().filter(|other| other.name == name).count(), 1, "{name}");
    }
}

/// Every page fits the width of a screen, and the overview also its height.
#[test]
fn help_fits_a_screen() {
    let overview = help::about(None, WIDTH).expect("a page");
    assert!(overview.lines().count() <= 40, "{overview}");
    for command in COMMANDS {
        assert!(overview.contains(&format!("\n  {} ", command.name)), "{overview}");
    }
    let names = COMMANDS.iter().map(|command| command.name).chain(TOPICS.iter().map(|topic| topic.name));
    for page in names.map(|name| help::about(Some(name), WIDTH).expect("a page")).chain([overview]) {
        for line in page.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
            assert_eq!(line.trim_end(), line, "a blank at the end");
        }
    }
}

#[test]
fn help_names_every_option() {
    let help = help::about(Some("options"), WIDTH).expect("a page");
    for field in &FIELDS {
        assert!(field.option.is_none_or(|option| help.contains(&format!("--{option}"))), "{}", field.name);
        let takes_several = usage_of(field).is_some_and(|usage| usage.ends_with('…'));
        assert_eq!(takes_several, field.kind.is_list(), "{}", field.name);
    }
    assert!(help.contains("--no-cache") && help.contains("-c, --config"), "{help}");
}

/// Of these commands, only `watch` runs the files of `-c`.
#[test]
fn help_says_what_a_file_is_for_in_each_command() {
    let page = |name: &str| help::about(Some(name), WIDE).expect("a page");
    assert!(page("watch").contains("-c, --config FILE…") && page("watch").contains("ddns runs all of them"));
    assert!(page("init").contains("-c, --config FILE ") && page("init").contains("Usage: ddns init [FILE] [OPTION…]"));
    for name in ["init", "status", "sync", "check", "preview", "addresses"] {
        assert!(!page(name).contains("are run"), "{}", page(name));
    }
}

#[test]
fn help_explains_every_placeholder_and_source() {
    let placeholders = help::about(Some("placeholders"), WIDTH).expect("a page");
    for name in ["__DOMAIN__", "__IP__", "__RECORDTYPE__", "__TTL__", "__LINE__", "__TIMESTAMP__"] {
        assert!(placeholders.contains(name), "{placeholders}");
    }
    let sources = help::about(Some("sources"), WIDTH).expect("a page");
    for name in ["default", "public", "url:", "interface:", "regex:", "cmd:", "shell:", "stun:", "quorum:", "false"] {
        assert!(sources.contains(&format!("\n  {name}")), "{name}: {sources}");
    }
}

#[test]
fn b11_the_topic_names_every_variable_that_names_a_file() {
    let page = help::about(Some("config"), WIDTH).expect("a page");
    for (_, variable) in ddns_core::config::fields::file_variables() {
        assert!(page.contains(variable), "{variable}");
    }
}
