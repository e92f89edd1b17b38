//! Lists every setting that counts, redacted, with its origin.
//!
//! The settings need not be valid, because a listing helps most when something is wrong. A value of a secret field is
//! shown only as far as its meaning is understood; otherwise it is one mask (G2).

use super::entry::callback::read_body;
use super::entry::combine::combine;
use super::fields::{FIELDS, Field, FieldScope, JSON_MARKS, Key, Kind, SubField, SubKind, Visibility, part, used_by};
use super::files::{FileContents, is_shown, path_of};
use super::layers::Layers;
use super::raw::{FileLayers, Origin, Raw, Setting};
use super::read::SettingReader;
use super::validate::Surroundings;
use super::value::{domain_name, is_off, members, own_names};
use crate::address::source::Source;
use crate::callback::{Format, Header, Variables, outline, outline_literal};
use crate::net::proxy::ProxyItem;
use crate::net::url::{masked, split_scheme};
use crate::text::diagnostics::Diagnostics;
use crate::text::json::{Dialect, Member, Node, Value, is_placeholder_name, one_line};
use crate::text::secrets::MASK;
use crate::update::domain::Domain;

/// The settings of one entry, or those of the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The position of the entry in `providers`; `None`: the settings of the whole file.
    pub entry: Option<usize>,
    /// The settings, in the order of the table of fields.
    pub rows: Vec<SettingRow>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// The name of the field, as written.
    pub name: &'static str,
    /// Its value, redacted.
    pub value: String,
    /// `config.json:7`, `DDNS_TTL`, `--ttl`, or `default`.
    pub origin: String,
    /// Whether the file sets it.
    pub is_in_file: bool,
}

/// The settings of a file, or of the surroundings alone; with `all`, also the defaults.
pub fn listing(written: Option<&FileLayers>, around: &Surroundings, all: bool) -> Vec<Section> {
    let empty = Raw::default();
    let file = written.map_or(&empty, |written| &written.file);
    let lines = written.map(LineEnds::of).unwrap_or_default();
    let entries = written.and_then(|written| written.entries.as_ref());
    let section = |entry: Option<usize>, raw: &Raw, is_meant: &dyn Fn(&Field) -> bool| {
        let layers = around.layers(raw, file);
        let fields = FIELDS.iter().filter(|field| field.kind != Kind::Entries && is_meant(field));
        Section { entry, rows: fields.filter_map(|field| row(field, &layers, &lines, &around.files, all)).collect() }
    };
    let Some(entries) = entries else { return vec![section(None, &empty, &|_| true)] };
    let whole = section(None, &empty, &|field| field.scope != FieldScope::Entry);
    let each = entries.iter().enumerate().map(|(at, (raw, _))| {
        section(Some(at), raw, &|field| field.scope == FieldScope::Entry || raw.get(field.key).is_some())
    });
    std::iter::once(whole).filter(|whole| !whole.rows.is_empty()).chain(each).collect()
}

/// Whether a file contains something that only its owner should see.
pub fn holds_secrets(sections: &[Section]) -> bool {
    sections.iter().flat_map(|section| &section.rows).any(|row| row.is_in_file && row.value.contains(MASK))
}

/// Where the lines of a file end, found in one pass.
#[derive(Default)]
struct LineEnds(Vec<usize>);

impl LineEnds {
    fn of(written: &FileLayers) -> Self {
        let mut settings = written.layers().flat_map(Raw::settings);
        let document = settings.find_map(|(_, setting)| match &setting.origin {
            Origin::File(document) => Some(document),
            _ => None,
        });
        Self(document.map(|document| document.text.match_indices('\n').map(|(at, _)| at).collect()).unwrap_or_default())
    }

    /// The line number of a place, from 1.
    fn number(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }
}

fn row(
    field: &'static Field,
    layers: &Layers<'_>,
    lines: &LineEnds,
    files: &FileContents,
    all: bool,
) -> Option<SettingRow> {
    let Some(setting) = layers.get(field.key) else {
        let is_shown = all && !field.default.is_empty();
        let (value, origin) = (field.default.to_owned(), "default".to_owned());
        return is_shown.then_some(SettingRow { name: field.name, value, origin, is_in_file: false });
    };
    let origin = match &setting.origin {
        Origin::File(document) => format!("{}:{}", document.name, lines.number(setting.node.span.start)),
        Origin::Environment(name) | Origin::Option(name) => name.clone(),
    };
    let is_in_file = matches!(setting.origin, Origin::File(_));
    let value = outlined(field, setting, layers, files);
    Some(SettingRow { name: setting.name, value, origin, is_in_file })
}

/// What may be shown of a setting, which is the one that counts in `layers`.
pub(crate) fn outlined(field: &'static Field, setting: &Setting, layers: &Layers<'_>, files: &FileContents) -> String {
    match field.inside() {
        Some(_) => callbacks(field, setting, layers, files),
        None => redacted(field, setting, layers, files, false),
    }
}

/// The items of a list as they may be shown, and whether that is all of each.
pub(crate) fn outlined_items(field: &'static Field, layers: &Layers<'_>, files: &FileContents) -> Vec<(String, bool)> {
    let mut unused = Diagnostics::default();
    let items = reader(layers, &mut unused).list(field.key);
    let shown = items.iter().map(|item| {
        if field.shown == Visibility::Domains {
            let shown = domain(item, files, field.parts);
            let is_all = item.value.text() == Some(shown.as_str());
            return (shown, is_all);
        }
        let shown = source(item);
        let is_all = item.value.text().is_some_and(|text| text.trim() == shown);
        (shown, is_all || matches!(item.value, Value::Bool(_)))
    });
    shown.collect()
}

/// Notifications, or requests around the update: each with its parts, and then its fields in the order of the table.
fn callbacks(field: &'static Field, setting: &Setting, layers: &Layers<'_>, files: &FileContents) -> String {
    let mut wrong = Diagnostics::default();
    let objects = reader(layers, &mut wrong).objects(field.key);
    let is_notice = field.key == Key::Notify;
    if wrong.errors() > 0 {
        return MASK.to_owned();
    }
    let shown = objects.iter().map(|object| {
        let own = setting.inner(field, object);
        let layers = Layers(if is_notice { vec![&own] } else { [vec![&own], layers.0.clone()].concat() });
        let inside = field.inside().into_iter().flat_map(used_by);
        let set = inside.filter_map(|field| Some((field, own.get(field.key)?)));
        let fields = set.map(|(field, setting)| (field.name, redacted(field, setting, &layers, files, is_notice)));
        let conditions = object.value.members().unwrap_or_default().iter();
        let conditions = conditions.filter(|member| part(field.parts, &member.key).is_some());
        let conditions = conditions.map(|member| (member.key.as_str(), words(&member.node.value)));
        let all: Vec<String> = conditions.chain(fields).map(|(name, value)| format!("{name} {value}")).collect();
        all.join(", ")
    });
    shown.collect::<Vec<_>>().join("; ")
}

/// The value of a part, on one line.
fn words(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(|item| plain(&item.value)).collect::<Vec<_>>().join(" "),
        Value::Object(_) => one_line(value),
        other => plain(other),
    }
}

/// A value as it may be shown.
fn redacted(field: &Field, setting: &Setting, layers: &Layers<'_>, files: &FileContents, is_notice: bool) -> String {
    let node = &setting.node;
    match (field.shown, &node.value) {
        (Visibility::Url, Value::String(text)) => outline(text, &variables(layers, is_notice)),
        (Visibility::BaseUrl, Value::String(text)) => outline_literal(text),
        (Visibility::Body, _) => token(node, layers, is_notice),
        (Visibility::Headers, _) => headers(layers, is_notice),
        (Visibility::Never, _) if field.kind == Kind::Values => extra(layers, files),
        (Visibility::Never, _) => joined(field.key, layers, |node| secret(&node.value, files)),
        (Visibility::Sources, _) => joined(field.key, layers, source),
        (Visibility::Proxies, Value::Bool(false)) => "DIRECT".to_owned(),
        (Visibility::Proxies, _) => joined(field.key, layers, proxy),
        (Visibility::Parts, Value::Object(members)) => parts(members, files, field.parts),
        (Visibility::PlainOrParts, value) if field.shown.is_secret(value) => {
            let members = members(value, Dialect::IN_TEXT);
            members.map_or_else(|| MASK.to_owned(), |members| parts(&members, files, field.parts))
        }
        (Visibility::Domains, Value::Array(_) | Value::Object(_) | Value::String(_)) => {
            joined(field.key, layers, |node| domain(node, files, field.parts))
        }
        (shown, value) if shown.is_secret(value) => MASK.to_owned(),
        (_, Value::Array(items)) if field.kind == Kind::List || field.key == Key::Line => {
            items.iter().map(|item| plain(&item.value)).collect::<Vec<_>>().join(", ")
        }
        (Visibility::Deep, value @ Value::Object(_)) => one_line(value),
        (_, value) => plain(value),
    }
}

/// An object, with a mask for each member that must not be shown.
fn parts(members: &[Member], files: &FileContents, parts: &'static [SubField]) -> String {
    one_line(&visible(members, files, parts))
}

fn visible(members: &[Member], files: &FileContents, parts: &'static [SubField]) -> Value {
    let named = |member: &Member| part(parts, &member.key).filter(|part| part.kind == SubKind::Named);
    let masked = || Value::string(MASK);
    let each = |member: &Member, parts| member.node.value.members().map_or_else(masked, |of| visible(of, files, parts));
    let shown = |member: &Member| match (named(member), member.node.value.members()) {
        (Some(part), Some(all)) => Value::object(all.iter().map(|one| (one.key.as_str(), each(one, part.parts)))),
        _ if is_shown(member, files, parts) => member.node.value.clone(),
        _ => masked(),
    };
    Value::object(members.iter().map(|member| (member.key.as_str(), shown(member))))
}

/// A mask for a secret, or the file that contains it.
fn secret(value: &Value, files: &FileContents) -> String {
    path_of(value).filter(|path| files.may_show(path)).map_or_else(|| MASK.to_owned(), |path| files.shown(path))
}

/// A value of a field without secrets.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) | Value::Number(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        other => other.kind().to_owned(),
    }
}

/// Reads settings. Errors in them are dropped, because `validate` reports them.
fn reader<'a>(layers: &Layers<'a>, wrong: &'a mut Diagnostics) -> SettingReader<'a> {
    SettingReader { layers: Layers(layers.0.clone()), diagnostics: wrong }
}

/// The items of a list, read as [`super::validate`] reads them.
fn joined(key: Key, layers: &Layers<'_>, redacted: impl Fn(&Node) -> String) -> String {
    let mut unused = Diagnostics::default();
    let items: Vec<String> = reader(layers, &mut unused).list(key).iter().map(|item| redacted(item)).collect();
    items.join(", ")
}

/// A domain, and the names of its own settings.
fn domain(node: &Node, files: &FileContents, parts: &'static [SubField]) -> String {
    let name = domain_name(node).filter(|name| !name.contains(JSON_MARKS)).unwrap_or(MASK).to_owned();
    let Value::Object(members) = &node.value else { return name };
    let own: Vec<&Member> = members.iter().filter(|member| member.key != "name").collect();
    let is_file = |value: &Member| secret(&value.node.value, files) != MASK;
    let names_files = |member: &&Member| member.node.value.members().is_some_and(|values| values.iter().all(is_file));
    if own.is_empty() {
        return name;
    }
    let is_public = |member: &&Member| part(parts, &member.key).is_some_and(|part| part.shown != Visibility::Never);
    let mask = if own.iter().all(|member| is_public(member) || names_files(member)) {
        String::new()
    } else {
        format!(" {MASK}")
    };
    let own: Vec<&str> = own.iter().map(|member| member.key.as_str()).collect();
    format!("{name} ({}{mask})", own.join(", "))
}

fn source(node: &Node) -> String {
    match &node.value {
        value if is_off(value) => "false".to_owned(),
        Value::String(text) | Value::Number(text) => {
            Source::parse(text).map_or_else(|_| MASK.to_owned(), |source| source.to_string())
        }
        _ => MASK.to_owned(),
    }
}

/// A proxy without its user and password.
fn proxy(node: &Node) -> String {
    let text = node.value.text().unwrap_or_default().trim();
    if ProxyItem::parse(text).is_err() {
        return masked(text);
    }
    let (before, host) = text.rsplit_once('@').unwrap_or(("", text));
    let scheme = split_scheme(before).map_or(String::new(), |(scheme, _)| format!("{scheme}://"));
    if before.is_empty() { host.to_owned() } else { format!("{scheme}{MASK}@{host}") }
}

fn token(node: &Node, layers: &Layers<'_>, is_notice: bool) -> String {
    let variables = variables(layers, is_notice);
    let format = layers.get(Key::Format).and_then(|setting| setting.node.value.text()).unwrap_or_default();
    let format = Format::parse(format).unwrap_or_default();
    match read_body(format, node, &variables, &mut Vec::new()) {
        Ok(Some(body)) => body.outline(&variables),
        Ok(None) if format == Format::Json && node.value.members().is_some() => "{}".to_owned(),
        Ok(None) => String::new(),
        Err(_) => MASK.to_owned(),
    }
}

/// Names, and what may be shown of the values.
fn headers(layers: &Layers<'_>, is_notice: bool) -> String {
    let mut wrong = Diagnostics::default();
    let members = reader(layers, &mut wrong).headers(Key::Headers);
    if wrong.errors() > 0 {
        return MASK.to_owned();
    }
    let variables = variables(layers, is_notice);
    let headers = members.iter().map(|member| {
        let value = member.node.value.text()?;
        Header::new(&member.key, value, &variables, &mut Vec::new()).ok()
    });
    let rows = headers.map(|header| match header {
        Some(header) => (header.name().to_owned(), header.outline(&variables)),
        None => (MASK.to_owned(), MASK.to_owned()),
    });
    object(rows)
}

/// The members of `extra`; `None` if it is not an object, or has too many members.
fn extra_members(layers: &Layers<'_>) -> Option<Vec<(String, Value)>> {
    let node = reader(layers, &mut Diagnostics::default()).object(Key::Extra)?;
    let Value::Object(members) = node.value else { return None };
    let mut all = layers.below_extra().and_then(|below| extra_members(&below)).unwrap_or_default();
    all.retain(|(key, _)| members.iter().all(|member| member.key != *key));
    let is_right = members.len() <= Variables::MAX_EXTRA;
    all.extend(members.into_iter().map(|member| (member.key, member.node.value)));
    is_right.then_some(all)
}

fn extra(layers: &Layers<'_>, files: &FileContents) -> String {
    let Some(members) = extra_members(layers) else { return MASK.to_owned() };
    object(members.into_iter().map(|(key, value)| (key, secret(&value, files))))
}

/// An object of strings, on one line.
fn object(members: impl Iterator<Item = (String, String)>) -> String {
    let quoted = |text: &str| one_line(&Value::string(text));
    let members: Vec<String> = members.map(|(key, value)| format!("{}:{}", quoted(&key), quoted(&value))).collect();
    format!("{{{}}}", members.join(","))
}

/// The known placeholders; those of `extra` have a mask as their value.
fn variables(layers: &Layers<'_>, is_notice: bool) -> Variables {
    let mut variables = if is_notice { Variables::of_notice() } else { of_updates(layers) };
    for (name, _) in extra_members(layers).unwrap_or_default() {
        if is_placeholder_name(&name) {
            let _ = variables.add(&name, Value::string(MASK));
        }
    }
    variables
}

fn of_updates(layers: &Layers<'_>) -> Variables {
    let mut unused = Diagnostics::default();
    let mut reader = reader(layers, &mut unused);
    // Invalid zones are dropped here, because `validate` reports them.
    let zones = reader.short_list(Key::Zone).iter().filter_map(|zone| Domain::parse(zone.value.text()?).ok()).collect();
    let mut variables = Variables::default();
    variables.zones = zones;
    variables.combine = combine(&mut reader);
    for name in own_names(layers) {
        variables.declare(&name);
    }
    variables
}

#[cfg(test)]
mod tests;
