//! What the page shows of a configuration, and what can be edited there (I7): one form for each entry, made from the table of
//! fields. The forms contain no secrets, no comments and no unknown fields.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::config::fields::{EditRight, FIELDS, Field, FieldScope, Key, Kind};
use crate::config::layers::Layers;
use crate::config::listing::{outlined, outlined_items};
use crate::config::raw::{Document, Origin, Raw, Setting, read};
use crate::config::validate::Surroundings;
use crate::config::{Config, value};
use crate::text::json::{Node, Value, one_line, pretty};
use crate::text::secrets::{MASK, Secrets};

/// Shorter secrets, in bytes, match ordinary words.
const MIN_SECRET_BYTES: usize = 6;

/// The longest outline that is shown, in characters.
const MAX_OUTLINE: usize = 500;

/// The settings of one entry, or those of the whole file.
pub struct EditForm {
    /// The number of the entry; `None`: the settings of the whole file.
    pub entry: Option<usize>,
    /// In the order of the table.
    pub controls: Vec<EditControl>,
}

/// One setting.
pub struct EditControl {
    /// Its row of the table.
    pub field: &'static Field,
    /// What the file says.
    pub content: Content,
    /// The value that applies instead, and where it is set; `None`: no other value applies.
    pub elsewhere: Option<(String, String)>,
}

/// What may be seen of a setting, and what can be done with it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Not set here.
    Unset,
    /// The whole value, as it is typed into a form.
    Open(String),
    /// An outline of a value that can be replaced, but not read.
    WriteOnly(String),
    /// A list: each item as it may be shown, and whether that is the whole item.
    Items(Vec<(String, bool)>),
    /// An outline of a value that only the host can set.
    Locked(String),
}

impl EditForm {
    /// Marks of what the form shows, to find its entry after somebody else's edit: of everything, and of what tells entries
    /// apart; 0 for what is not set.
    fn marks(&self) -> [u64; 4] {
        let mark = |keys: &[Key]| {
            let is_meant = |control: &&EditControl| {
                keys.is_empty() || keys.contains(&control.field.key) && control.content != Content::Unset
            };
            let mut meant = self.controls.iter().filter(is_meant).peekable();
            let mut hash = DefaultHasher::new();
            let is_set = meant.peek().is_some();
            meant.for_each(|control| (control.field.name, &control.content).hash(&mut hash));
            if is_set { hash.finish() } else { 0 }
        };
        [mark(&[]), mark(&[Key::Ipv4]), mark(&[Key::Ipv6]), mark(&[Key::Id, Key::Endpoint])]
    }
}

/// What a form must send back so that [`find`] finds its entry again.
pub fn mark(form: &EditForm, all: &[EditForm]) -> String {
    let marks = form.marks().into_iter().chain([all.len() as u64]);
    marks.map(|mark| format!("{mark:x}")).collect::<Vec<_>>().join("-")
}

/// The form of the entry that had this number when its form was made, with this mark: it may have another number by now. `None`:
/// the entry is gone, or another one.
pub fn find(all: &[EditForm], entry: Option<usize>, mark: Option<&str>) -> Option<usize> {
    let place = all.iter().position(|form| form.entry == entry);
    let Some(mark) = mark.filter(|_| entry.is_some()) else { return place };
    let known: Vec<u64> = mark.split('-').filter_map(|mark| u64::from_str_radix(mark, 16).ok()).collect();
    let [whole, ipv4, ipv6, id, count] = known[..] else { return None };
    let is_same = |form: &EditForm| form.entry.is_some() && form.marks()[0] == whole;
    let is_alike = |form: &EditForm| {
        let [_, own4, own6, own_id] = form.marks();
        let is = |known: u64, own: u64| own != 0 && own == known;
        is(ipv4, own4) || is(ipv6, own6) || is(id, own_id) && count == all.len() as u64
    };
    place
        .filter(|place| is_same(&all[*place]))
        .or_else(|| all.iter().position(is_same))
        .or_else(|| place.filter(|place| is_alike(&all[*place])))
}

/// The names of the items of a list in a form, by what they show; the second of two that show the same has another name.
pub fn item_names(list: &str, items: &[(String, bool)]) -> Vec<String> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let name = |shown: &str, count: usize| match count {
        1 => format!("{list}.is.{shown}"),
        _ => format!("{list}.is.{shown}#{count}"),
    };
    let mut all = Vec::with_capacity(items.len());
    for (shown, _) in items {
        let count = seen.entry(shown).or_default();
        *count += 1;
        all.push(name(shown, *count));
    }
    all
}

impl EditControl {
    /// The items of a list.
    pub fn items(&self) -> &[(String, bool)] {
        if let Content::Items(items) = &self.content { items } else { &[] }
    }
}

/// Whether only the host can set a field, because it belongs to the host or is always a path.
pub fn is_locked(field: &Field) -> bool {
    field.edit == EditRight::Host || field.key == Key::LogFile
}

/// A message in the words of the form: with labels instead of the names of fields.
pub fn in_words(message: &str, field: Option<&'static Field>) -> String {
    if message.contains("must start with http:// or https://") {
        return "The URL must start with http:// or https://.".to_owned();
    }
    let own = field.and_then(|field| message.strip_prefix(&format!("`{}`: ", field.name)));
    let message = own.unwrap_or(message);
    // A browser cannot set a program.
    let message = message.split_once(": did you mean `cmd:").map_or(message, |(clause, _)| clause);
    let parts = message.split('`').enumerate().map(|(at, part)| match Field::written(part) {
        Some(field) if at % 2 == 1 && !field.label.is_empty() => field.label,
        _ => part,
    });
    let text: String = parts.collect();
    // What is quoted at the beginning, and a domain name, is somebody's own word.
    let is_own = message.starts_with('`') || message.split(' ').next().is_some_and(|word| word.contains('.'));
    let text = if is_own { text } else { capitalized(&text) };
    if text.ends_with(['.', '?', '!']) { text } else { text + "." }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// The forms of a file: first that of the whole file, then one for each entry; empty if the file cannot be read. `config` is the
/// configuration in the file, if it is valid: its secrets are hidden.
pub fn controls(text: &str, around: &Surroundings, config: Option<&Config>) -> Vec<EditForm> {
    let Ok(written) = read(&Document::local("", text)) else { return Vec::new() };
    let secrets = config.map_or_else(|| Secrets::new([], &[]), |config| config.secrets().longer_than(MIN_SECRET_BYTES));
    let file = &written.file;
    let form = |entry: Option<usize>, own: &Raw, is_meant: &dyn Fn(&Field) -> bool| {
        let fields = FIELDS.iter().filter(|field| !field.label.is_empty() && is_meant(field));
        let controls = fields.map(|field| control(field, own, file, around, &secrets)).collect();
        EditForm { entry, controls }
    };
    let of_file = |field: &Field| field.scope != FieldScope::Entry;
    let Some(entries) = &written.entries else {
        return vec![form(None, file, &of_file), form(Some(0), file, &|field| !of_file(field))];
    };
    // Settings outside of the entries apply to each entry that does not set them.
    let mut all = vec![form(None, file, &|field| of_file(field) || file.get(field.key).is_some())];
    all.extend(entries.iter().enumerate().map(|(at, (own, _))| form(Some(at), own, &|field| !of_file(field))));
    all
}

fn control(field: &'static Field, own: &Raw, file: &Raw, around: &Surroundings, secrets: &Secrets) -> EditControl {
    // Show what is set here, even if an option overrides it.
    let here = Layers(vec![own, file, &around.environment]);
    let content = match own.get(field.key) {
        None => Content::Unset,
        Some(_) if matches!(field.kind, Kind::Domains | Kind::Sources) => {
            let hide = |(shown, is_all): (String, bool)| match secrets.mask(&shown) {
                masked if masked == shown => (shown, is_all),
                masked => (masked.into_owned(), false),
            };
            Content::Items(outlined_items(field, &here, &around.files).into_iter().map(hide).collect())
        }
        Some(setting) => {
            let shown = outlined(field, setting, &here, &around.files);
            let outline = secrets.mask(&shown);
            match typed(field, setting) {
                _ if is_locked(field) => Content::Locked(cut(&outline)),
                typed if outline == shown && is_all(&shown, &setting.node.value) => Content::Open(typed),
                _ => Content::WriteOnly(cut(&outline)),
            }
        }
    };
    let elsewhere = || {
        let all = around.layers(own, file);
        let setting = all.get(field.key)?;
        let from = match &setting.origin {
            Origin::Environment(name) | Origin::Option(name) => name.clone(),
            Origin::File(_) if own.get(field.key).is_none() => "the whole file".to_owned(),
            Origin::File(_) => return None,
        };
        Some((cut(&secrets.mask(&outlined(field, setting, &all, &around.files))), from))
    };
    EditControl { field, content, elsewhere: elsewhere() }
}

/// Cuts an outline to [`MAX_OUTLINE`] characters.
fn cut(outline: &str) -> String {
    match outline.char_indices().nth(MAX_OUTLINE) {
        Some((end, _)) => format!("{} …", &outline[..end]),
        None => outline.to_owned(),
    }
}

/// A value as it is typed into a form.
fn typed(field: &Field, setting: &Setting) -> String {
    match &setting.node.value {
        Value::String(text) | Value::Number(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Array(items) if field.kind.is_list() && items.iter().all(|item| item.value.text().is_some()) => {
            items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>().join(", ")
        }
        Value::Object(members) if field.kind == Kind::Headers => {
            let line = |(name, value): (&str, &str)| format!("{name}: {value}\n");
            members
                .iter()
                .filter_map(|member| Some((member.key.as_str(), member.node.value.text()?)))
                .map(line)
                .collect()
        }
        value => pretty(value).trim_end().to_owned(),
    }
}

/// Whether an outline leaves nothing out.
fn is_all(outline: &str, value: &Value) -> bool {
    let plain = |value: &Value| one_line(value).replace([' ', '"'], "");
    let listed = |items: &[Node]| items.iter().map(|item| plain(&item.value)).collect::<Vec<_>>().join(",");
    let bare = outline.replace([' ', '"'], "");
    !outline.contains(MASK)
        && match value {
            Value::Array(items) => bare == listed(items) || bare == plain(value),
            Value::String(text) => {
                text.trim() == outline || value::list(text).is_ok_and(|items| bare == listed(&items))
            }
            value => bare == plain(value),
        }
}
