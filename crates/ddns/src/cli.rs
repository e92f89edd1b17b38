//! Options and commands. Every option for a field comes from the table of fields.

use clap::{Arg, ArgAction, ArgMatches, Command};
use ddns_core::config::fields::{FIELDS, Field, Key, Kind};
use ddns_core::config::raw::{Origin, Raw};
use ddns_core::json::{Node, Value};
use ddns_core::source::split_list;

const EXAMPLES: &str = "\
Examples:
  ddns demo                    see in ten seconds what it does; needs no configuration
  ddns -c config.json          find the address and tell every domain that changed
  ddns --dns callback --ipv4 home.example.com \\
       --id 'https://example.com/update?name=__DOMAIN__&ip=__IP__'

Every option can also stand in the configuration file or the environment (DDNS_ID, DDNS_TOKEN, …).
Exit status: 0 all told or already known, 1 something failed, 2 wrong configuration or usage.";

/// The whole command line.
pub(crate) fn command() -> Command {
    let config = Arg::new("config")
        .short('c')
        .long("config")
        .value_name("FILE")
        .num_args(1..)
        .action(ArgAction::Append)
        .help("Configuration files, or http(s) addresses of some; each is run");
    let mut command = Command::new("ddns")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Tells any HTTP endpoint this host's address when it changes.")
        .after_help(EXAMPLES)
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .subcommand(Command::new("demo").about("Show what it does, on this machine alone, without a configuration"))
        .arg(config);
    for field in &FIELDS {
        if let Some(option) = field.option {
            command = command.arg(argument(field, option));
        }
        if let Some(option) = negation(field) {
            command = command.arg(negated(field, option));
        }
    }
    command
}

fn argument(field: &Field, option: &'static str) -> Arg {
    let arg = Arg::new(field.name).long(option).help(field.help).aliases(field.aliases);
    match field.kind {
        Kind::Flag => arg.action(ArgAction::SetTrue),
        Kind::FlagOrText => arg.value_name(field.value).num_args(0..=1).default_missing_value("true"),
        Kind::List | Kind::Sources => arg.value_name(field.value).num_args(1..).action(ArgAction::Append),
        _ => arg.value_name(field.value).allow_hyphen_values(true),
    }
}

/// The option that switches a field off.
fn negation(field: &Field) -> Option<&'static str> {
    match field.key {
        Key::Cache => Some("no-cache"),
        Key::Ssl => Some("no-ssl"),
        _ => None,
    }
}

fn negated(field: &Field, option: &'static str) -> Arg {
    Arg::new(option).long(option).help("The same with `false`").action(ArgAction::SetTrue).conflicts_with(field.name)
}

/// The settings that the options make.
pub(crate) fn settings(matches: &ArgMatches) -> Raw {
    let mut raw = Raw::default();
    for field in &FIELDS {
        let Some(option) = field.option else { continue };
        if let Some(value) = value(field, matches) {
            raw.set(field.key, Node::synthetic(value), Origin::Option(format!("--{option}")));
        }
        if let Some(option) = negation(field).filter(|option| matches.get_flag(option)) {
            raw.set(field.key, Node::synthetic(Value::Bool(false)), Origin::Option(format!("--{option}")));
        }
    }
    raw
}

fn value(field: &Field, matches: &ArgMatches) -> Option<Value> {
    match field.kind {
        Kind::Flag => matches.get_flag(field.name).then_some(Value::Bool(true)),
        Kind::List | Kind::Sources => {
            let values: Vec<&String> = matches.get_many(field.name)?.collect();
            // One value may be a list in itself, with separators or in JSON.
            if let [one] = values.as_slice() {
                return Some(Value::string(one.as_str()));
            }
            let items =
                values.into_iter().flat_map(|value| split_list(value)).map(|item| Node::synthetic(Value::string(item)));
            Some(Value::Array(items.collect()))
        }
        _ => matches.get_one::<String>(field.name).map(Value::string),
    }
}

/// The configuration files that were named.
pub(crate) fn config_files(matches: &ArgMatches) -> Vec<String> {
    matches.get_many::<String>("config").map(|files| files.cloned().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn b11_every_spelling_of_an_option_is_understood() {
        for spelling in ["--log-level", "--log_level", "--log.level"] {
            let matches = command().try_get_matches_from(["ddns", spelling, "DEBUG"]).expect("understood");
            let raw = settings(&matches);
            assert_eq!(
                raw.get(Key::LogLevel).and_then(|setting| setting.node.value.text()),
                Some("DEBUG"),
                "{spelling}"
            );
        }
    }

    #[test]
    fn b11_lists_take_several_values_and_repeat() {
        let args =
            ["ddns", "--ipv4", "a.example", "b.example", "--ipv4", "c.example,d.example", "-c", "x", "y", "-c", "z"];
        let matches = command().try_get_matches_from(args).expect("understood");
        let raw = settings(&matches);
        let Some(Value::Array(items)) = raw.get(Key::Ipv4).map(|setting| &setting.node.value) else { panic!("a list") };
        let names: Vec<_> = items.iter().filter_map(|item| item.value.text()).collect();
        assert_eq!(names, ["a.example", "b.example", "c.example", "d.example"]);
        assert_eq!(config_files(&matches), ["x", "y", "z"]);
    }
}
