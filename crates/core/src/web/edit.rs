//! Edits a configuration for forms and programs (I7): operations on fields, applied to the text. Everything else keeps its bytes.
//! An edit sets nothing that belongs to the host, and sends no secret to a new receiver (I2).

mod patch;
#[cfg(test)]
mod tests;

use super::addition::{appended, checked, names_file, refusal};
use super::check::{Finding, check};
use super::controls::{Content, EditControl, EditForm, in_words, item_names};
use crate::address::source::Source;
use crate::config::fields::{FIELDS, Field, Key, Kind, RequestPart};
use crate::config::listing::outlined;
use crate::config::raw::{Document, FileLayers, Origin, Setting, read};
use crate::config::validate::Surroundings;
use crate::config::value::{is_off, list, natural};
use crate::config::{Config, Entry};
use crate::net::family::Family;
use crate::net::ssl::Ssl;
use crate::text::diagnostic::Severity;
use crate::text::json::{Dialect, Node, Value, parse, pretty};
use crate::text::secrets::MASK;

/// The limit for the text that all changes read together, in bytes: each reads the whole text again.
const MAX_WORK_BYTES: usize = 64 * 1024 * 1024;

/// The place of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// The number of the entry; `None`: the whole file.
    pub entry: Option<usize>,
    /// The field.
    pub key: Key,
}

/// One change. Its numbers are those after the changes before it.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Sets a field, or an item of its list.
    Set {
        /// The field.
        at: At,
        /// The number of the item; `None`: the whole value.
        item: Option<usize>,
        /// The new value.
        value: Value,
    },
    /// Unsets a field.
    Unset {
        /// The field.
        at: At,
    },
    /// Appends an item to a list.
    Add {
        /// The list.
        list: At,
        /// The item.
        item: Value,
    },
    /// Removes an item of a list.
    Remove {
        /// The list.
        list: At,
        /// The number of the item.
        item: usize,
    },
    /// Adds an entry with these fields.
    AddEntry(Vec<(String, Value)>),
    /// Removes an entry.
    RemoveEntry(usize),
}

impl Op {
    /// Reads an operation of the API, or says what is wrong with it.
    pub fn read(value: &Value) -> Result<Self, String> {
        let number = |name: &str| match value.member(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(digits)) => digits.parse().map(Some).map_err(|_| format!("`{name}` is a number from 0")),
            Some(_) => Err(format!("`{name}` is a number from 0")),
        };
        let name = value.member("field").and_then(Value::text).unwrap_or_default();
        let field = Field::written(name).ok_or_else(|| "`field` must be a field of the configuration".to_owned());
        let at = || Ok::<At, String>(At { entry: number("entry")?, key: field.clone()?.key });
        let new = || value.member("value").cloned().ok_or_else(|| "`value` is missing".to_owned());
        let needed = |name: &str| number(name)?.ok_or_else(|| format!("`{name}` is missing"));
        Ok(match value.member("op").and_then(Value::text).unwrap_or_default() {
            "set" => Self::Set { at: at()?, item: number("item")?, value: new()? },
            "unset" => Self::Unset { at: at()? },
            "add" => Self::Add { list: at()?, item: new()? },
            "remove" => Self::Remove { list: at()?, item: needed("item")? },
            "add_entry" => {
                let Value::Object(members) = new()? else { return Err("`value` must be an object".to_owned()) };
                Self::AddEntry(members.into_iter().map(|member| (member.key, member.node.value)).collect())
            }
            "remove_entry" => Self::RemoveEntry(needed("entry")?),
            _ => return Err("`op` is one of set, unset, add, remove, add_entry, remove_entry".to_owned()),
        })
    }

    /// The setting that the operation changes, and the value that it puts there; `None`: it only removes something.
    fn target(&self) -> Option<(At, Option<&Value>)> {
        match self {
            Self::Set { at, value, .. } => Some((*at, Some(value))),
            Self::Add { list, item } => Some((*list, Some(item))),
            Self::Unset { at } | Self::Remove { list: at, .. } => Some((*at, None)),
            Self::AddEntry(_) | Self::RemoveEntry(_) => None,
        }
    }
}

/// The text after these changes, and its configuration. Fails with everything that is wrong. Runs no program, reads no file and
/// asks no host.
pub fn apply(old: &str, ops: &[Op], around: &Surroundings) -> Result<(String, Config), Vec<Finding>> {
    let whole = |message: &str| vec![Finding::refused(None, message)];
    if ops.len().saturating_mul(old.len()) > MAX_WORK_BYTES {
        return Err(whole("these are too many changes at once for so large a file: edit it on the host"));
    }
    let (Some(before), _) = check("", old, around) else {
        return Err(whole("the file has errors: correct them on the host first"));
    };
    let mut text = old.to_owned();
    let entries = (0..before.entries.len()).map(|number| (Some(number), Vec::new())).collect();
    let mut history = Trace { entries, of_file: Vec::new(), sources: Vec::new() };
    let mut refused = Vec::new();
    for op in ops {
        let objection = op.target().and_then(|(at, value)| Some((at.key, objection(Field::of(at.key), value)?)));
        if let Some((key, why)) = objection {
            // The other mistakes are told at the same time.
            refused.push(Finding::refused(Some(Field::of(key)), why));
            continue;
        }
        let is_flat = layers(&text).entries.is_none();
        text = patched(&text, op, around).map_err(|why| vec![why])?;
        history.take(op, is_flat);
    }
    let (after, findings) = check("", &text, around);
    let Some(after) = after.filter(|_| refused.is_empty()) else {
        refused.extend(findings);
        return Err(refused);
    };
    let wrong = history.objections((old, &before), (&text, &after), around);
    if wrong.is_empty() { Ok((text, after)) } else { Err(wrong) }
}

/// Why a browser may not change a field like this; `None`: it may.
fn objection(field: &'static Field, value: Option<&Value>) -> Option<String> {
    let what = if field.label.is_empty() { Some(format!("`{}`", field.name)) } else { refusal(field, value) };
    what.map(|what| format!("{what} cannot be set in a browser: edit the configuration on the host"))
}

/// The settings of a text; empty if it cannot be read.
fn layers(text: &str) -> FileLayers {
    read(&Document::local("", text)).unwrap_or_default()
}

fn patched(text: &str, op: &Op, around: &Surroundings) -> Result<String, Finding> {
    let refused = |why: &str| Finding::refused(None, why);
    let root = parse(text, Dialect::CONFIG).map_err(|_| refused("the file is not valid JSON"))?;
    let members = root.value.members().unwrap_or_default();
    let providers = members.iter().rfind(|member| member.key == "providers").map(|member| &member.node);
    let entries = providers.and_then(|node| if let Value::Array(items) = &node.value { Some(items) } else { None });
    let object = |at: At| match (at.entry, entries) {
        (None, _) | (Some(0), None) => Ok(&root),
        (Some(number), Some(entries)) if number < entries.len() => Ok(&entries[number]),
        _ => Err(refused("there is no such entry")),
    };
    let list = |at: At| -> Result<Option<&Node>, Finding> {
        let field = Field::of(at.key);
        if !field.kind.is_list() {
            return Err(Finding::refused(Some(field), format!("`{}` is not a list", field.name)));
        }
        let members = object(at)?.value.members().unwrap_or_default();
        let written = members.iter().rfind(|member| member.key == field.name).map(|member| &member.node);
        Ok(written.filter(|node| node.value != Value::Null && !(field.kind == Kind::Sources && is_off(&node.value))))
    };
    let item = |at: At, number: usize| {
        let node = list(at)?.filter(|node| number < patch::items(text, node).len());
        node.ok_or_else(|| Finding::refused(Some(Field::of(at.key)), "there is no such item"))
    };
    let set = |at: At, value: &Value| Ok(patch::set(text, object(at)?, Field::of(at.key).name, value));
    let unset = |at: At| Ok(patch::unset(text, object(at)?, Field::of(at.key).name));
    match op {
        Op::Set { at, item: None, value } => set(*at, value),
        Op::Set { at, item: Some(number), value } => {
            Ok(patch::set_item(text, item(*at, *number)?, Some(*number), Some(value)))
        }
        Op::Unset { at } => unset(*at),
        Op::Add { list: at, item } => match list(*at)? {
            Some(node) => Ok(patch::set_item(text, node, None, Some(item))),
            None => set(*at, &Value::list([item.clone()])),
        },
        Op::Remove { list: at, item: number } => match item(*at, *number)? {
            // An empty list would mean the default; without the field, a value from outside would apply.
            node if patch::items(text, node).len() == 1 => {
                let unset = unset(*at)?;
                let is_set = counts(Field::of(at.key), &layers(&unset), at.entry, around).is_some();
                if is_set { set(*at, &Value::Null) } else { Ok(unset) }
            }
            node => Ok(patch::set_item(text, node, Some(*number), None)),
        },
        Op::AddEntry(fields) if fields.iter().any(|(name, _)| name == "providers") => {
            Err(refused("an entry has no `providers`"))
        }
        Op::AddEntry(fields) => {
            let own = fields.iter().filter(|(name, _)| name != "dns" && name != "provider");
            let own = own.map(|(name, value)| (name.as_str(), value.clone()));
            let entry = pretty(&Value::object([("dns", Value::string("callback"))].into_iter().chain(own)));
            checked(&entry).and_then(|()| appended(text, &entry, around)).map_err(|why| refused(&why))
        }
        Op::RemoveEntry(number) => match (providers, entries) {
            (Some(node), Some(entries)) if entries.len() > 1 && *number < entries.len() => {
                Ok(patch::set_item(text, node, Some(*number), None))
            }
            _ => Err(refused("the only entry cannot be removed")),
        },
    }
}

/// Why an edit that would move a secret is refused.
const RETYPE: &str = "type this again: it would go to another host, or in another way, than before";
/// The same for an entry that the edit does not touch, such as one of the whole file.
const OF_ENTRY: &str =
    "a secret of an entry would go to another host, or in another way: edit the configuration on the host";
const OUTSIDE: &str =
    "this would go to another host, and it is not set in this file: edit the configuration on the host";
const INHERITED: &str =
    "the secret that is set outside of this entry would be used: edit the configuration on the host";

/// Follows the entries through the operations, and notes what was typed.
struct Trace {
    /// Each entry: its former number (`None`: it is new), and the settings that were set as a whole.
    entries: Vec<(Option<usize>, Vec<Key>)>,
    /// The settings of the whole file that were set as a whole.
    of_file: Vec<Key>,
    /// The items of source lists that were typed.
    sources: Vec<Source>,
}

impl Trace {
    fn take(&mut self, op: &Op, was_flat: bool) {
        match op {
            Op::Set { at, item: None, .. } => match at.entry.filter(|_| !was_flat) {
                Some(number) => self.entries.get_mut(number).into_iter().for_each(|(_, typed)| typed.push(at.key)),
                None => self.of_file.push(at.key),
            },
            Op::AddEntry(_) => {
                // The settings of the flat file are in its first entry now, or still outside.
                if let Some((_, typed)) = self.entries.first_mut().filter(|_| was_flat) {
                    typed.extend(&self.of_file);
                }
                self.entries.push((None, Vec::new()));
            }
            Op::RemoveEntry(number) if *number < self.entries.len() => drop(self.entries.remove(*number)),
            Op::Set { at, item: Some(_), value } | Op::Add { list: at, item: value }
                if Field::of(at.key).kind == Kind::Sources =>
            {
                self.sources.extend(value.text().and_then(|text| Source::parse(text).ok()));
            }
            _ => {}
        }
    }

    /// Refuses an edit that would send a secret to another receiver, or change what belongs to the host.
    fn objections(&self, old: (&str, &Config), new: (&str, &Config), around: &Surroundings) -> Vec<Finding> {
        let (before, after) = (old.1, new.1);
        if (&before.web, &before.group, &before.notify) != (&after.web, &after.group, &after.notify) {
            let why = "notifications would go another way: edit the configuration on the host";
            return vec![Finding::refused(None, why)];
        }
        let (was, is) = (layers(old.0), layers(new.0));
        let mut wrong = Vec::new();
        for (number, (from, typed)) in self.entries.iter().enumerate() {
            let Some(entry) = after.entries.get(number) else { continue };
            let former = from.and_then(|from| before.entries.get(from).map(|entry| (from, entry)));
            let is_wider = former.is_none_or(|(_, former)| is_wider(former, entry));
            for field in &FIELDS {
                let is_content = field.request == RequestPart::Content;
                // A source asks its own host, so the endpoint does not matter to it: only the check of certificates does.
                let is_kept = |source: &Source| source.has_secret() && !self.sources.contains(source);
                let is_source = entry.ssl != Ssl::Verify && sources(entry, field.key).iter().any(is_kept);
                // Without a check of certificates, anybody could pose as the proxy and get its password.
                let is_proxy = field.key == Key::Proxy && entry.ssl != Ssl::Verify;
                if !is_content && !is_source && !is_proxy {
                    continue;
                }
                let is_wider =
                    if is_content { is_wider } else { former.is_none_or(|(_, former)| is_looser(former, entry)) };
                let Some((setting, place, is_secret)) = counts(field, &is, Some(number), around) else { continue };
                let is_typed = |at: At| if at.entry.is_some() { typed } else { &self.of_file }.contains(&at.key);
                if !is_secret && !is_source || place.is_some_and(is_typed) {
                    continue;
                }
                // Its place or its value is unchanged.
                let is_same = |(from, _): (usize, &Entry)| {
                    counts(field, &was, Some(from), around).is_some_and(|(was, former_place, _)| {
                        let former_place = former_place.map(|at| At { entry: at.entry.map(|_| number), ..at });
                        former_place == place || was.node.value == setting.node.value
                    })
                };
                let why = match former {
                    None if place.is_some_and(|at| at.entry == Some(number)) => continue,
                    Some(_) if is_wider && typed.is_empty() && place.is_some_and(|at| at.entry.is_some()) => OF_ENTRY,
                    Some(_) if is_wider && place.is_some() => RETYPE,
                    Some(_) if is_wider => OUTSIDE,
                    Some(former) if is_same(former) => continue,
                    _ => INHERITED,
                };
                wrong.push(Finding::refused(Some(field), why));
            }
        }
        wrong
    }
}

/// The setting that applies to an entry or to the whole file; its place (`None`: outside of the file); and whether it contains a
/// secret or names a file with one.
fn counts<'a>(
    field: &'static Field,
    written: &'a FileLayers,
    entry: Option<usize>,
    around: &'a Surroundings,
) -> Option<(&'a Setting, Option<At>, bool)> {
    let own = entry.and_then(|number| written.entries.as_ref()?.get(number)).map_or(&written.file, |(own, _)| own);
    let layers = around.layers(own, &written.file);
    let setting = layers.get(field.key)?;
    let is_own = written.entries.is_some() && own.get(field.key).is_some();
    let is_in_file = matches!(setting.origin, Origin::File(_));
    let place = is_in_file.then_some(At { entry: entry.filter(|_| is_own), key: field.key });
    let is_secret = outlined(field, setting, &layers, &around.files).contains(MASK) || names_file(field, &setting.node);
    Some((setting, place, is_secret))
}

/// The sources in a field of an entry.
fn sources(entry: &Entry, key: Key) -> &[Source] {
    match key {
        Key::Index4 => entry.sources_of(Family::V4),
        Key::Index6 => entry.sources_of(Family::V6),
        _ => &[],
    }
}

/// Whether the requests of an entry go to a new origin, through other proxies, or with a looser check of certificates.
fn is_wider(old: &Entry, new: &Entry) -> bool {
    let origins = |entry: &Entry| -> Option<Vec<String>> {
        entry.callback.requests().iter().map(|(_, request)| Some(request.target.fixed_part()?.origin())).collect()
    };
    let is_known = match (origins(old), origins(new)) {
        (Some(old), Some(new)) => new.iter().all(|origin| old.contains(origin)),
        // A placeholder decides who gets the request, so nothing that fills it may change.
        _ => {
            (&old.callback, &old.domains, &old.interface_ids, &old.sources)
                == (&new.callback, &new.domains, &new.interface_ids, &new.sources)
        }
    };
    !is_known || old.proxies != new.proxies || is_looser(old, new)
}

/// Whether the requests of an entry trust certificates that they did not trust before.
fn is_looser(old: &Entry, new: &Entry) -> bool {
    old.ssl != new.ssl && new.ssl != Ssl::Verify && old.ssl != Ssl::Off
}

/// What is wrong with an edit, in the words of the form: the field, and a sentence.
pub fn told(findings: &[Finding]) -> Vec<(Option<&'static Field>, String)> {
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
    errors.map(|finding| (finding.field, in_words(&finding.message, finding.field))).collect()
}

/// The warnings that are new in `after`, in the words of the form.
pub fn warned(before: &[Finding], after: &[Finding]) -> Vec<String> {
    let is_new = |finding: &&Finding| before.iter().all(|known| known.message != finding.message);
    let warnings = after.iter().filter(|finding| finding.severity == Severity::Warning).filter(is_new);
    let said = |finding: &Finding| {
        // Other hints say what to write into the file.
        let hint = finding.hint.as_deref().filter(|hint| hint.starts_with("did you mean"));
        let hint = hint.map(|hint| format!(" {}", in_words(hint, None))).unwrap_or_default();
        in_words(&finding.message, finding.field) + &hint
    };
    warnings.map(said).collect()
}

/// The operations that a form asks for; `typed` gives the content of its fields. An unchanged field makes no operation.
pub fn operations(form: &EditForm, typed: impl Fn(&str) -> Option<String>) -> Vec<Op> {
    let text_of = |name: &str| typed(name).map(|text| text.replace("\r\n", "\n").trim().to_owned());
    // An untouched field is not typed.
    let format = form.controls.iter().find_map(|control| match &control.content {
        Content::Open(now) if control.field.key == Key::Format => Some(now.clone()),
        _ => None,
    });
    let is_json = text_of("format").or(format).is_none_or(|it| it.is_empty() || it.eq_ignore_ascii_case("json"));
    let mut ops = Vec::new();
    for EditControl { field, content, .. } in &form.controls {
        let at = At { entry: form.entry, key: field.key };
        let text = text_of(field.name);
        let set = |text: String| {
            let value = Value::String(text);
            let is_text = field.key == Key::Token && !is_json;
            Op::Set { at, item: None, value: if is_text { value } else { natural(field.kind, &value) } }
        };
        let full = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        match content {
            Content::Locked(_) => {}
            Content::Items(items) => of_list(at, items, &text_of, &mut ops),
            Content::Unset if matches!(field.kind, Kind::Domains | Kind::Sources) => {
                of_list(at, &[], &text_of, &mut ops);
            }
            Content::Unset => ops.extend(full(&text).map(set)),
            Content::Open(now) => match text {
                Some(text) if text == now.trim() => {}
                // The form may write the word in another case.
                Some(text) if !field.words.is_empty() && text.eq_ignore_ascii_case(now.trim()) => {}
                Some(text) if text.is_empty() => ops.push(Op::Unset { at }),
                text => ops.extend(text.map(set)),
            },
            Content::WriteOnly(_) => match full(&text) {
                Some(text) => ops.push(set(text)),
                None if text_of(&format!("unset.{}", field.name)).is_some() => ops.push(Op::Unset { at }),
                None => {}
            },
        }
    }
    ops
}

/// A list has a field for each item (`keep`, `remove` or a new value), named by what it shows, and fields for more items.
fn of_list(at: At, items: &[(String, bool)], text_of: &dyn Fn(&str) -> Option<String>, ops: &mut Vec<Op>) {
    let name = Field::of(at.key).name;
    let each: Vec<Option<String>> = item_names(name, items).iter().map(|name| text_of(name)).collect();
    let more: Vec<String> = [text_of(&format!("{name}.add")), text_of(&format!("{name}.other"))]
        .into_iter()
        .flatten()
        .flat_map(|text| if text.starts_with("url:") { vec![text] } else { split(&text) })
        .collect();
    if each.iter().flatten().chain(&more).any(|text| is_off(&Value::string(text))) {
        if items.first().is_none_or(|(shown, _)| shown != "false") {
            ops.push(Op::Set { at, item: None, value: Value::Bool(false) });
        }
        return;
    }
    let is_change = |text: &str| !matches!(text, "" | "keep" | "remove");
    for (number, text) in each.iter().enumerate() {
        if let Some(text) = text.as_ref().filter(|text| is_change(text)) {
            ops.push(Op::Set { at, item: Some(number), value: Value::string(text) });
        }
    }
    for (number, text) in each.iter().enumerate().rev() {
        if text.as_deref() == Some("remove") {
            ops.push(Op::Remove { list: at, item: number });
        }
    }
    ops.extend(more.into_iter().map(|item| Op::Add { list: at, item: Value::string(item) }));
}

/// Items on lines of their own, or several on a line as in a list.
fn split(text: &str) -> Vec<String> {
    let lines = text.lines().flat_map(|line| list(line).unwrap_or_default());
    lines
        .filter_map(|item| item.value.text().map(|text| text.trim().to_owned()))
        .filter(|text| !text.is_empty())
        .collect()
}
