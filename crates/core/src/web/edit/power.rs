//! What an edit must not add: whatever makes the program read, write or run something of the host, and how the page itself is
//! locked. What stands in the file already may stay, move or go.

use std::rc::Rc;

use super::restore::Restored;
use super::{Edit, Finding, error, whole};
use crate::address::source::{Source, split_list};
use crate::config::fields::{FIELDS, Field, Key};
use crate::config::files;
use crate::config::raw::{self, Document, Raw, Setting, Written};
use crate::config::{Cache, Config, value};
use crate::net::ssl::Ssl;
use crate::text::json::{Dialect, Member, Node, Span, Value, parse};

/// What a field can make the program do. A new field must say what it is.
enum Power {
    /// Nothing on the host.
    None,
    /// Runs programs.
    Programs,
    /// Reads or writes the file that it names.
    Path,
    /// Reads files that parts of it name (H13).
    Values,
    /// Decides who may do what on the page, who is told what, or who sends: nothing of it changes.
    Locked,
    /// Entries with fields of their own.
    Entries,
}

fn power(key: Key) -> Power {
    match key {
        Key::Dns
        | Key::Id
        | Key::Endpoint
        | Key::Token
        | Key::Method
        | Key::Headers
        | Key::Format
        | Key::Ttl
        | Key::Line
        | Key::Zone
        // A proxy, and verification that is switched off, concern who gets the secrets.
        | Key::Proxy
        | Key::CacheMaxAge
        | Key::Timeout
        | Key::MinInterval
        | Key::Expect
        | Key::Combine
        | Key::Concurrency
        | Key::Interval
        | Key::Debug
        | Key::LogLevel
        | Key::LogFormat
        | Key::LogDatefmt
        | Key::Schema => Power::None,
        Key::Index4 | Key::Index6 => Power::Programs,
        Key::Ssl | Key::Cache | Key::LogFile => Power::Path,
        Key::Ipv4 | Key::Ipv6 | Key::Extra | Key::Sign => Power::Values,
        // What it sends goes to services of its own; a group decides who sends.
        Key::Web | Key::Group | Key::Notify => Power::Locked,
        Key::Providers => Power::Entries,
    }
}

const ON_THE_HOST: &str = "edit the configuration on the host";

/// What an edit adds and may not. `config` is what the restored text means; without it nothing is saved anyway.
pub(super) fn added(edit: &Edit<'_>, restored: &Restored, config: Option<&Config>) -> Vec<Finding> {
    let place = |span: Span| Span { start: restored.back(span.start, false), end: restored.back(span.end, true) };
    let mut findings = locked(edit, &restored.text);
    let (Some(old), Some(new), Some(config)) = (read(edit.old), read(&restored.text), config) else { return findings };
    let known = Known::of(&old, edit);
    let mut wrong = |entry: usize, key: Key, what: &str| {
        let name = Field::of(key).name;
        let message = format!("`{name}`: {what} cannot be added in a browser");
        let own = new.entries.as_ref().and_then(|entries| entries.get(entry)).and_then(|(raw, _)| raw.get(key));
        findings.push(match own.or_else(|| new.file.get(key)) {
            Some(setting) => error(edit.edited, place(setting.node.span), message, ON_THE_HOST),
            None => whole(message, ON_THE_HOST),
        });
    };
    if config.log.file.as_ref().is_some_and(|path| !known.has_path(Key::LogFile, path)) {
        wrong(usize::MAX, Key::LogFile, "the path of a file");
    }
    for (number, entry) in config.entries.iter().enumerate() {
        for (key, sources) in [Key::Index4, Key::Index6].into_iter().zip(&entry.sources) {
            let programs = sources.iter().flat_map(programs);
            if programs.into_iter().any(|source| !known.programs.contains(source)) {
                wrong(number, key, "`cmd:` or `shell:`");
            }
        }
        if matches!(&entry.cache, Cache::File(path) if !known.has_path(Key::Cache, path)) {
            wrong(number, Key::Cache, "the path of a file");
        }
        if matches!(&entry.ssl, Ssl::Ca(path) if !known.has_path(Key::Ssl, path)) {
            wrong(number, Key::Ssl, "the path of a file");
        }
    }
    for (number, raw) in layers(&new).enumerate() {
        for field in FIELDS.iter().filter(|field| matches!(power(field.key), Power::Values)) {
            let Some(setting) = raw.get(field.key) else { continue };
            if named_by(field.key, setting).iter().any(|path| !known.values.contains(path)) {
                // The file as a whole is the first layer.
                wrong(number.wrapping_sub(1), field.key, "the path of a file");
            }
        }
    }
    findings
}

fn read(text: &str) -> Option<Written> {
    raw::read(&Rc::new(Document { name: String::new(), text: text.to_owned(), fetched: false })).ok()
}

/// The files that one setting names: those of another, such as a password's, are not for it.
pub(super) fn named_by(key: Key, setting: &Setting) -> Vec<String> {
    let mut alone = Raw::default();
    alone.set(key, setting.node.clone(), setting.origin.clone());
    files::named(&alone)
}

fn layers(written: &Written) -> impl Iterator<Item = &Raw> {
    std::iter::once(&written.file).chain(written.entries.iter().flatten().map(|(raw, _)| raw))
}

/// A source that runs a program, and those in a quorum.
fn programs(source: &Source) -> Vec<&Source> {
    match source {
        Source::Command(_) | Source::Shell(_) => vec![source],
        Source::Quorum(_, sources) => sources.iter().flat_map(programs).collect(),
        _ => Vec::new(),
    }
}

/// What the file, the options and the environment name already.
struct Known {
    programs: Vec<Source>,
    paths: Vec<(Key, String)>,
    values: Vec<String>,
}

impl Known {
    fn of(old: &Written, edit: &Edit<'_>) -> Self {
        let mut known = Self { programs: Vec::new(), paths: Vec::new(), values: Vec::new() };
        for raw in layers(old).chain([&edit.around.options, &edit.around.environment]) {
            for field in &FIELDS {
                let Some(setting) = raw.get(field.key) else { continue };
                match power(field.key) {
                    Power::Programs => known.add_programs(&setting.node),
                    Power::Path => {
                        let text = setting.node.value.text().map(|text| text.trim().to_owned());
                        known.paths.extend(text.map(|path| (field.key, path)));
                    }
                    Power::Values => known.values.extend(named_by(field.key, setting)),
                    Power::None | Power::Locked | Power::Entries => {}
                }
            }
        }
        known
    }

    fn add_programs(&mut self, node: &Node) {
        match &node.value {
            Value::Array(items) => items.iter().for_each(|item| self.add_programs(item)),
            Value::String(text) => {
                let in_text = value::list(text).unwrap_or_default();
                let texts = split_list(text).into_iter().chain(in_text.iter().filter_map(|item| item.value.text()));
                let sources: Vec<Source> = texts.filter_map(|text| Source::parse(text).ok()).collect();
                self.programs.extend(sources.iter().flat_map(programs).cloned());
            }
            _ => {}
        }
    }

    fn has_path(&self, key: Key, path: &str) -> bool {
        self.paths.iter().any(|(known, text)| *known == key && text == path)
    }
}

/// Fields that are locked and are not as they were.
fn locked(edit: &Edit<'_>, restored: &str) -> Vec<Finding> {
    let (Ok(old), Ok(new)) = (parse(edit.old, Dialect::CONFIG), parse(restored, Dialect::CONFIG)) else {
        return Vec::new();
    };
    let edited = parse(edit.edited, Dialect::CONFIG).ok();
    let fields = FIELDS.iter().filter(|field| matches!(power(field.key), Power::Locked)).map(|field| field.name);
    let changed = fields.filter(|name| values(&old, name) != values(&new, name));
    let finding = |name: &str| {
        let message = format!("`{name}` cannot be changed in a browser");
        let members = edited.as_ref().and_then(|root| root.value.members()).unwrap_or_default();
        match members.iter().find(|member| member.key == name) {
            Some(Member { key_span, .. }) => error(edit.edited, *key_span, message, ON_THE_HOST),
            None => whole(message, ON_THE_HOST),
        }
    };
    changed.map(finding).collect()
}

/// Every value of a field, wherever it stands: where one is written twice, the last counts.
fn values(root: &Node, name: &str) -> Vec<Value> {
    let members = root.value.members().unwrap_or_default();
    let same = members.iter().filter(|member| member.key == name);
    same.map(|member| member.node.clone().at(Span::default()).value).collect()
}
