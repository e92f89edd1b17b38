//! What the forms of the page add to the configuration (I2): another entry of a file, or the first file. Only the new entry is
//! checked, and the file changes only where something must move.

use super::check::{Finding, check};
use super::controls::is_locked;
use crate::address::source::Source;
use crate::config::Config;
use crate::config::fields::{EditRight, FIELDS, Field, FieldScope, Key, RequestPart};
use crate::config::files::named;
use crate::config::raw::{self, Document, FileLayers, Origin, Raw};
use crate::config::validate::Surroundings;
use crate::config::value::{flag, list};
use crate::text::diagnostic::Severity;
use crate::text::json::{Dialect, Member, Node, TokenKind, Value, first_token, parse, pretty};

/// The part of a setting that a browser may not set; `None`: it may. `value` is `None` if the setting is only removed.
pub(super) fn refusal(field: &'static Field, value: Option<&Value>) -> Option<String> {
    if is_locked(field) {
        return Some(format!("`{}`", field.name));
    }
    let value = value?;
    let is_named = |text: &str| field.words.iter().any(|word| word.eq_ignore_ascii_case(text));
    let is_word = match value {
        Value::String(text) => flag(text).is_some() || text.trim().is_empty() || is_named(text.trim()),
        Value::Bool(_) | Value::Null => true,
        _ => false,
    };
    if names_file(field, &Node::synthetic(value.clone())) || field.edit == EditRight::NoPath && !is_word {
        return Some("the path of a file".to_owned());
    }
    let is_program = field.edit == EditRight::NoProgram && sources(value).iter().any(Source::runs_a_program);
    is_program.then(|| "a program (`cmd:`, `shell:`)".to_owned())
}

/// Whether a value of a field names a file.
pub(super) fn names_file(field: &Field, node: &Node) -> bool {
    let mut alone = Raw::default();
    alone.set(field.key, node.clone(), Origin::Option(String::new()));
    !named(&alone).is_empty()
}

/// The sources that a value names; everything else in it is left out.
fn sources(value: &Value) -> Vec<Source> {
    let texts = match value {
        Value::Array(items) => items.iter().filter_map(|item| item.value.text()).collect(),
        value => Vec::from_iter(value.text()),
    };
    let parts = |text: &str| -> Vec<String> {
        let items = list(text).unwrap_or_default();
        items.iter().filter_map(|item| item.value.text().map(str::to_owned)).chain([text.to_owned()]).collect()
    };
    texts.into_iter().flat_map(parts).filter_map(|text| Source::parse(&text).ok()).collect()
}

/// Refuses a configuration from a browser that is invalid by itself, or that would make ddns run a program, or read or write a
/// file of the host. The error is a clause.
pub fn checked(text: &str) -> Result<(), String> {
    valid("config.json", text, &Surroundings::default())?;
    refused_field(text).map_or(Ok(()), |(_, why)| Err(why))
}

/// The first field of a configuration with something that belongs to the host, and why that is refused.
pub fn refused_field(text: &str) -> Option<(&'static str, String)> {
    let written = read(text).ok()?;
    let mut settings = written.layers().flat_map(Raw::settings);
    let (field, what) = settings.find_map(|(field, set)| Some((field.name, refusal(field, Some(&set.node.value))?)))?;
    Some((field, format!("{what} cannot be added in a browser: edit the configuration on the host")))
}

/// Checks the text of the first configuration, layered with its surroundings. The error is a clause.
pub fn first(name: &str, text: &str, around: &Surroundings) -> Result<Config, String> {
    refuse_inherited(&read(text)?, &Raw::default(), around)?;
    valid(name, text, around)
}

fn valid(name: &str, text: &str, around: &Surroundings) -> Result<Config, String> {
    let (config, findings) = check(name, text, around);
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let why = |finding: &Finding| finding.message.clone();
    config.ok_or_else(|| errors.map(why).collect::<Vec<_>>().join("; "))
}

fn read(text: &str) -> Result<FileLayers, String> {
    raw::read(&Document::local("", text)).map_err(|wrong| wrong.message)
}

/// Refuses entries that would inherit the content of their requests: they would send something else, or a secret that was meant
/// for another receiver.
fn refuse_inherited(new: &FileLayers, file: &Raw, around: &Surroundings) -> Result<(), String> {
    for &Field { key, name, .. } in FIELDS.iter().filter(|field| field.request == RequestPart::Content) {
        let is_own = new.file.get(key).is_some()
            || new.entries.as_ref().is_some_and(|entries| entries.iter().all(|(entry, _)| entry.get(key).is_some()));
        let is_of_file = !is_own && file.get(key).is_some();
        // An option overrides every entry.
        let environment = around.environment.get(key).filter(|_| !is_own && !is_of_file);
        let outside = around.options.get(key).or(environment).map(|setting| &setting.origin);
        if let Some(Origin::Environment(from) | Origin::Option(from)) = outside {
            return Err(format!(
                "`{name}` comes from {from}, and the new entry would inherit it: add the entry on the host"
            ));
        } else if is_of_file {
            return Err(format!(
                "`{name}` is outside of `providers`, and the new entry would inherit it: move it into the entries first"
            ));
        }
    }
    Ok(())
}

/// Appends the entries of another configuration to a file, which keeps its kind of line ends. The error is a clause.
pub fn appended(old: &str, addition: &str, around: &Surroundings) -> Result<String, String> {
    let new = joined(old, addition, around)?;
    let is_crlf = old.contains("\r\n") && old.matches('\n').count() == old.matches("\r\n").count();
    Ok(if is_crlf { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new })
}

fn joined(old: &str, addition: &str, around: &Surroundings) -> Result<String, String> {
    let invalid = |_| "the file is not valid JSON: correct it on the host first".to_owned();
    let (root, new) =
        (parse(old, Dialect::CONFIG).map_err(invalid)?, parse(addition, Dialect::CONFIG).map_err(invalid)?);
    let members = root.value.members().ok_or("the file is not a JSON object: correct it on the host first")?;
    let providers = members.iter().rfind(|member| member.key == "providers");
    // Without `providers`, the settings of the file become its first entry, and the new entries do not inherit them.
    let file = if providers.is_some() { read(old)?.file } else { Raw::default() };
    let entries = entries(new.value.members().unwrap_or_default());
    let text: Vec<String> = entries.iter().map(indented).collect();
    let text = text.join(",\n");
    // Judge the text that is written, not the text that it was made from.
    let written = format!("{{\"providers\": [{text}]}}");
    if let Some((_, why)) = refused_field(&written) {
        return Err(why);
    }
    refuse_inherited(&read(&written)?, &file, around)?;
    let Some(providers) = providers else {
        // `provider` has no effect outside of an entry, but would have one inside.
        return if members.iter().any(|member| member.key == "provider") {
            Err("the file has a `provider` without `providers`: correct it on the host first".to_owned())
        } else {
            Ok(wrapped(old, &root, members, &text))
        };
    };
    let Value::Array(items) = &providers.node.value else {
        return Err("`providers` of the file is not a list: correct it on the host first".to_owned());
    };
    let (from, to) =
        (items.last().map_or(providers.node.span.start + 1, |last| last.span.end), providers.node.span.end - 1);
    let between = old[from..to].trim_end_matches([' ', '\t']);
    let comma = if items.is_empty() || comma_after(between).is_some() { "" } else { "," };
    let line = if between.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{}{comma}{between}{line}{text}\n  {}", &old[..from], &old[to..]))
}

/// Whether a field describes an entry, wherever it is written.
fn is_of_entry(field: &Field) -> bool {
    field.scope == FieldScope::Entry || field.key == Key::Recipe
}

pub(crate) type NewEntry = Vec<(String, Value)>;

/// The entries of a configuration, each with the settings that it inherits.
pub(crate) fn entries(members: &[Member]) -> Vec<NewEntry> {
    let is_field = |member: &&Member| Field::written(&member.key).is_some_and(is_of_entry);
    let pair = |member: &Member| (member.key.clone(), member.node.value.clone());
    let common: NewEntry = members.iter().filter(is_field).filter(|member| member.key != "dns").map(pair).collect();
    let whole = |own: NewEntry| {
        let mut entry = vec![("provider".to_owned(), Value::string("callback"))];
        entry.extend(own.iter().filter(|(name, _)| name != "provider").cloned());
        entry.extend(common.iter().filter(|(name, _)| own.iter().all(|(known, _)| known != name)).cloned());
        entry
    };
    // If `providers` is written twice, the last one counts.
    let providers = members.iter().rfind(|member| member.key == "providers").map(|member| &member.node.value);
    match providers {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.value.members())
            .map(|own| whole(own.iter().map(pair).collect()))
            .collect(),
        _ => vec![whole(Vec::new())],
    }
}

fn indented(entry: &NewEntry) -> String {
    let text = pretty(&Value::object(entry.iter().cloned()));
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Wraps a file without `providers`: its settings become the first entry. Settings of the whole file stay outside, and so do the
/// ones that notifications inherit (`proxy`, `ssl`, `timeout`).
fn wrapped(old: &str, root: &Node, members: &[Member], added: &str) -> String {
    let mut outside = String::new();
    let mut inside = String::new();
    let mut at = root.span.start;
    let is_of_file = |field: &Field| !is_of_entry(field) || field.request == RequestPart::Transport;
    for member in members {
        let (start, end) = (member.key_span.start, member.node.span.end);
        let is_whole = member.key == "log" || Field::written(&member.key).is_some_and(is_of_file);
        if member.key == "dns" {
            inside += &old[at..start];
            inside += "\"provider\"";
            at = member.key_span.end;
        } else if is_whole {
            inside += &old[at..start];
            outside += &format!("  {},\n", &old[start..end]);
            at = end;
            // Leave out the comma after it.
            if let Some(comma) = comma_after(&old[end..]) {
                inside += &old[end..end + comma];
                at = end + comma + 1;
            }
        }
    }
    inside += &old[at..root.span.end];
    let (before, after) = (&old[..root.span.start], &old[root.span.end..]);
    format!("{before}{{\n{outside}  \"providers\": [\n{inside},\n{added}\n  ]\n}}{after}")
}

/// The position of the comma that follows a value; `None`: the value is the last one.
pub(super) fn comma_after(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let (length, kind) = first_token(&text[at..], true);
        match kind {
            TokenKind::Blank | TokenKind::Comment if length > 0 => at += length,
            TokenKind::Mark if text[at..].starts_with(',') => return Some(at),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = r#"// From a recipe.
        {"dns": "callback", "id": "https://n.example/__IP__", "headers": {"X": "k3y"}, "ipv4": ["n.example"]}"#;

    fn added(old: &str, new: &str) -> Result<String, String> {
        appended(old, new, &Surroundings::default())
    }

    fn config_of(text: &str) -> Config {
        valid("config.json", text, &Surroundings::default()).unwrap_or_else(|why| panic!("{why}\n{text}"))
    }

    #[test]
    fn i2_an_entry_is_added_and_the_rest_stays() {
        let flat = "// mine\n{\n  \"dns\": \"callback\", // one\n  \"interval\": \"5m\", // often\n  \"id\": \"https://o.example/__IP__\", # two\n  \
                    \"ipv4\": \"o.example\",\n  \"log\": {\"level\": \"DEBUG\"}\n}\n// end\n";
        let text = added(flat, NEW).expect("added");
        for part in [
            "// mine",
            "// one",
            "// often",
            "# two",
            "// end",
            "\"provider\": \"callback\", // one",
            "  \"interval\": \"5m\",\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let config = config_of(&text);
        assert!(config.interval.is_some() && config.entries[1].callback.request.headers.len() == 1);
        // Add another entry to `providers`: every byte stays.
        let more = added(&text, &NEW.replace("n.example", "m.example")).expect("added");
        assert_eq!(config_of(&more).entries.len(), 3);
        let inserted = |new: &str, old: &str| {
            let mut left = old.bytes().peekable();
            for byte in new.bytes() {
                left.next_if_eq(&byte);
            }
            left.peek().is_none()
        };
        assert!(inserted(&more, &text), "{more}");
        // A file from Windows stays one.
        for old in [flat, &text] {
            let windows = added(&old.replace('\n', "\r\n"), NEW).expect("added");
            assert_eq!(windows, added(old, NEW).expect("added").replace('\n', "\r\n"));
        }
        for (old, expected) in [
            ("{\"providers\": []}", "{\"providers\": [\nNEW\n  ]}"),
            ("{\"providers\": [\n  {\"a\": 1} # one\n  ]}", "{\"providers\": [\n  {\"a\": 1}, # one\nNEW\n  ]}"),
            ("{\"providers\": [{}, /* , */ ],}", "{\"providers\": [{}, /* , */\nNEW\n  ],}"),
        ] {
            let new = added(old, r#"{"dns": "callback"}"#).expect("added");
            assert_eq!(new, expected.replace("NEW", "    {\n      \"provider\": \"callback\"\n    }"));
        }
    }

    /// I5: notifications inherit `proxy`, `ssl` and `timeout`; adding an entry must not change that.
    #[test]
    fn i2_the_way_of_notifications_stays() {
        let old = r#"{"dns": "callback", "id": "https://o.example/__IP__", "ipv4": "o.example", "proxy": "http://p.example:1",
            "ssl": true, "timeout": 7, "notify": {"id": "https://t.example/?k=s3cret&m=__MESSAGE__"}}"#;
        let (before, after) = (config_of(old), config_of(&added(old, NEW).expect("added")));
        assert_eq!(before.notify, after.notify);
        assert_eq!(before.entries[0], after.entries[0]);
    }

    /// H23: an entry keeps its recipe, and one that is added does not inherit it.
    #[test]
    fn h23_the_recipe_of_a_file_goes_with_its_entry() {
        let old = r#"{"dns": "callback", "recipe": "x@1", "id": "https://o.example/__IP__", "ipv4": "o.example"}"#;
        let written = read(&added(old, NEW).expect("added")).expect("settings");
        let entries = written.entries.expect("entries");
        let has_recipe: Vec<bool> = entries.iter().map(|(entry, _)| entry.get(Key::Recipe).is_some()).collect();
        assert_eq!((written.file.get(Key::Recipe).is_some(), has_recipe), (false, vec![true, false]));
    }

    #[test]
    fn i2_an_added_entry_inherits_no_secret() {
        let old = |outside: &str| {
            format!(
                r#"{{{outside}, "providers": [{{"provider": "callback", "id": "https://o.example/__IP__", "ipv4": "o.example"}}]}}"#
            )
        };
        for outside in [
            r#""token": {"key": "s3cret"}"#,
            r#""extra": {"__K__": "s3cret"}"#,
            r#""sign": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA""#,
            r#""endpoint": "https://u:s3cret@o.example""#,
            r#""ipv6": [{"name": "o.example", "extra": {"__K__": "s3cret"}}]"#,
        ] {
            let why = added(&old(outside), NEW).expect_err(outside);
            assert!(why.contains("outside of `providers`"), "{why}");
        }
        // The new entry has headers of its own.
        for outside in [r#""headers": {"X": "s3cret"}"#, r#""ttl": 5"#] {
            let config = config_of(&added(&old(outside), NEW).expect(outside));
            assert!(!config.entries[1].callback.secrets().contains(&"s3cret".to_owned()));
        }
        assert!(added("{", NEW).is_err() && added("[]", NEW).is_err());
    }

    #[test]
    fn i2_nor_one_of_the_environment_or_of_an_option() {
        let set = |key: Key, text: &str, origin: Origin| {
            let mut raw = Raw::default();
            raw.set(key, Node::synthetic(Value::string(text)), origin);
            raw
        };
        let old = r#"{"dns": "callback", "id": "https://o.example/__IP__", "ipv4": "o.example"}"#;
        let variable = Origin::Environment("DDNS_TOKEN_FILE".to_owned());
        let token = || set(Key::Token, r#"{"key": "s3cret"}"#, variable.clone());
        let around = Surroundings { environment: token(), ..Surroundings::default() };
        for why in [appended(old, NEW, &around).map(drop), first("c", NEW, &around).map(drop)] {
            assert!(why.is_err_and(|why| why.contains("`token` comes from DDNS_TOKEN_FILE")));
        }
        let own = NEW.replace("\"headers\"", "\"token\": {\"ip\": \"__IP__\"}, \"headers\"");
        assert!(appended(old, &own, &around).is_ok() && first("c", &own, &around).is_ok());
        // An option overrides the entry.
        let around = Surroundings { options: token(), ..Surroundings::default() };
        assert!(appended(old, &own, &around).is_err() && first("c", &own, &around).is_err());
        let ttl = set(Key::Ttl, "60", Origin::Option("--ttl".to_owned()));
        assert!(appended(old, NEW, &Surroundings { options: ttl, ..Surroundings::default() }).is_ok());
    }

    #[test]
    fn i2_what_is_written_is_judged() {
        for providers in [r#"[{"index4": "shell:reboot"}], "providers": []"#, r#"[{"index4": "shell:reboot"}]"#] {
            let new = format!(r#"{{"id": "https://x.example", "ipv4": "x.example", "providers": {providers}}}"#);
            let written = added("{\"providers\": []}", &new);
            assert!(
                written.as_ref().map_or_else(|why| why.contains("`cmd:`"), |text| !text.contains("shell")),
                "{written:?}"
            );
        }
    }

    #[test]
    fn i2_a_browser_adds_nothing_of_the_host() {
        assert_eq!(checked(NEW), Ok(()));
        for (more, expected) in [
            (r#""index4": "cmd:reboot""#, "`cmd:`"),
            (r#""index4": [" SHELL:reboot"]"#, "`cmd:`"),
            (r#""index6": "[\"shell:reboot\"]""#, "`cmd:`"),
            (r#""index4": "quorum:1(default, shell:reboot)""#, "`cmd:`"),
            (r#""cache": "/etc/cron.d/x""#, "the path of a file"),
            (r#""cache": "auto""#, "would be a file called `auto`"),
            (r#""ssl": "/etc/passwd""#, "the path of a file"),
            (r#""log": {"file": "/etc/cron.d/x"}"#, "`log.file`"),
            (r#""sign": {"file": "/etc/shadow"}"#, "the path of a file"),
            (r#""sign": {"scheme": "acs3", "id": "A", "secret": {"file": "/etc/shadow"}}"#, "the path of a file"),
            (r#""extra": {"__A__": {"file": "/etc/shadow"}}"#, "the path of a file"),
            (
                r#""ipv6": "{\"name\": \"a.example\", \"extra\": {\"__A__\": {\"file\": \"/x\"}}}""#,
                "the path of a file",
            ),
            (r#""web": "127.0.0.1:1""#, "`web`"),
            (r#""notify": {"id": "https://n.example/__MESSAGE__"}"#, "`notify`"),
            (r#""ttl": "soon""#, "`ttl` must be"),
        ] {
            let why = checked(&NEW.replace("\"headers\"", &format!("{more}, \"headers\""))).expect_err(more);
            assert!(why.contains(expected), "{more}: {why}");
        }
    }
}
