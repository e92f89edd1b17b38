//! What the environment sets: the variables of the fields, those that name a file with the value, and `DDNS_CONFIG`.

use ddns_core::config::fields::{FIELDS, Field, Key, Kind, file_variables};
use ddns_core::config::files::is_path;
use ddns_core::config::raw::{Origin, Raw};
use ddns_core::config::value;
use ddns_core::text::diagnostic::{Diagnostic, Place, nearest};
use ddns_core::text::json::{Node, Value};

use super::file::{address, read_text};
use crate::environment::Environment;

/// Names configuration files, as `-c` does.
pub(super) const CONFIG: &str = "DDNS_CONFIG";

/// The schedule of NewFuture/DDNS in its Docker image.
const CRON: &str = "DDNS_CRON";

/// How NewFuture/DDNS sets one member of `extra`.
const EXTRA: &str = "DDNS_EXTRA_";

/// With 0, Python does not verify certificates, and so NewFuture/DDNS does not.
const UNVERIFIED: &str = "PYTHONHTTPSVERIFY";

/// The files of `DDNS_CONFIG`: one, several with separators, or a JSON list.
pub(super) fn configured_files(environment: &Environment, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
    let Some(text) = environment.get(CONFIG) else { return Vec::new() };
    if is_one_address(text.trim()) {
        return vec![text.trim().to_owned()];
    }
    let mut wrong = |message: String| {
        diagnostics.push(Diagnostic::error(Place::Environment(CONFIG.to_owned()), message));
    };
    let items = value::list(text).unwrap_or_else(|error| {
        wrong(format!("its list is wrong: {}", error.message));
        Vec::new()
    });
    let files: Vec<String> = items.iter().filter_map(|item| item.value.text()).map(str::to_owned).collect();
    let is_json = text.trim_start().starts_with('[');
    if is_json && files.len() < items.len() {
        wrong("must be a file, several files separated by commas, or a JSON list of files".to_owned());
    }
    files
}

/// Whether a text is one address, in which commas may stand: no path and no other address follows them.
fn is_one_address(text: &str) -> bool {
    let is_file = |item: &str| {
        item.trim().is_empty()
            || item.starts_with([' ', '/', '.', '~'])
            || item.contains("://")
            || item.contains(".json")
    };
    address(text).is_some() && !text.split([',', ';']).skip(1).any(is_file)
}

/// The fields that the environment sets.
pub(super) fn settings(environment: &Environment, diagnostics: &mut Vec<Diagnostic>) -> Raw {
    let mut raw = Raw::default();
    let place = |name: &str| Place::Environment(name.to_owned());
    let unreadable = environment.unreadable.iter();
    diagnostics.extend(unreadable.map(|name| Diagnostic::error(place(name), "its value is not UTF-8 text")));
    for name in &environment.ambiguous {
        let message = "it is set twice, to different values: case makes no difference in its name";
        diagnostics.push(Diagnostic::error(place(name), message).hint("unset one of the two"));
    }
    let mut warn = |name: &str, message: &str, hint: &str| {
        diagnostics.push(Diagnostic::warning(place(name), message).hint(hint));
    };
    let mut wrong = Vec::new();
    for (name, value) in environment.ours() {
        let origin = Origin::Environment(name.to_owned());
        if let Some(field) = FIELDS.iter().find(|field| field.variable == Some(name)) {
            // The value may come from a file with Windows line ends.
            let value = value.trim_end_matches('\r');
            let value = if field.key == Key::Line { value.trim() } else { value };
            raw.set(field.key, Node::synthetic(Value::string(value)), origin);
        } else if let Some((field, _)) = file_variables().find(|(_, variable)| *variable == name) {
            match from_file(environment, field, (name, value)) {
                Ok(text) => raw.set(field.key, Node::synthetic(Value::String(text)), origin),
                Err(diagnostic) => wrong.push(diagnostic),
            }
        } else if name == CRON {
            let hint = "set DDNS_INTERVAL or `interval`, e.g. to 5m: ddns then keeps running";
            warn(name, "it has no effect: no cron is needed", hint);
        } else if name.starts_with(EXTRA) {
            warn(name, "it has no effect", "set DDNS_EXTRA to an object: {\"__KEY__\": \"value\"}");
        } else if let Some(outer) = FIELDS
            .iter()
            .filter_map(|field| field.name.split('.').next())
            .find(|outer| name.strip_prefix("DDNS_").is_some_and(|own| own.eq_ignore_ascii_case(outer)))
        {
            warn(name, "it has no effect", &format!("set `{outer}` in a configuration file"));
        } else if let Some(direct) = name.strip_suffix("_FILE")
            && FIELDS.iter().any(|field| field.variable == Some(direct))
        {
            let all = file_variables().map(|(_, variable)| variable).collect::<Vec<_>>().join(", ");
            warn(name, "it has no effect", &format!("set {direct}; only {all} name files"));
        } else if name != CONFIG
            && let Some(near) = nearest_variable(name)
        {
            warn(name, "unknown variable: it has no effect", &format!("did you mean {near}?"));
        }
    }
    if environment.get(UNVERIFIED).is_some_and(|value| value.trim() == "0") {
        let hint = "set `ssl` to `false` to accept any certificate, or to the file of your own CA";
        warn(UNVERIFIED, "it has no effect on ddns", hint);
    }
    diagnostics.append(&mut wrong);
    raw
}

/// The value of a field whose variable names a file.
fn from_file(environment: &Environment, field: &Field, (name, value): (&str, &str)) -> Result<String, Diagnostic> {
    let place = || Place::Environment(name.to_owned());
    let direct = field.variable.unwrap_or_default();
    if environment.get(direct).is_some() {
        let message = format!("{direct} is set too: set only one of the two");
        return Err(Diagnostic::error(place(), message).hint(format!("unset {direct} or {name}")));
    }
    match read_text(&environment.path(value).display().to_string()) {
        Ok(text) if text.trim().is_empty() => {
            Err(Diagnostic::warning(place(), format!("the file is empty, so `{}` is not set", field.name)))
        }
        Ok(text) if field.kind == Kind::Text && text.trim_end().contains(['\r', '\n']) => {
            Err(Diagnostic::error(place(), format!("the file must hold one line: `{}`, and nothing else", field.name)))
        }
        Ok(text) => Ok(text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']).to_owned()),
        Err(why) => {
            // The user may have put the secret itself here by mistake.
            let shown = if is_path(value) { value } else { "that it names" };
            let hint = format!("it must be the path of a file; the value itself goes into {direct}");
            Err(Diagnostic::error(place(), format!("the file {shown} {why}")).hint(hint))
        }
    }
}

/// A variable of ddns with a very similar name: the environment also contains other programs' variables.
fn nearest_variable(name: &str) -> Option<&'static str> {
    let ours = FIELDS.iter().flat_map(|field| [field.variable, field.file_variable]).flatten().chain([CONFIG]);
    nearest(name, ours).filter(|near| near.len().abs_diff(name.len()) <= 2)
}
