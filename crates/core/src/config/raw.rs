//! Settings as written, field by field, each with its place. The only checks here are that fields are known, and
//! allowed where they are.

use std::fmt;
use std::rc::Rc;

use super::fields::{FIELDS, Field, FieldScope, Key, RequestPart, used};
use crate::text::diagnostic::{Diagnostic, Place, Severity, nearest};
use crate::text::diagnostics::Diagnostics;
use crate::text::json::{Dialect, Member, Node, Span, Value, is_placeholder_name, parse};
use crate::text::number::grouped;

/// A configuration text and its name.
pub struct Document {
    /// The file, as the user named it; a URL without its query.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// Whether it was fetched over the network, so that it may not run programs (B12).
    pub fetched: bool,
}

impl Document {
    /// A text from this host.
    pub fn local(name: &str, text: &str) -> Rc<Self> {
        Rc::new(Self { name: name.to_owned(), text: text.to_owned(), fetched: false })
    }
}

/// Where a setting was made.
#[derive(Clone)]
pub enum Origin {
    /// In a file.
    File(Rc<Document>),
    /// In this environment variable.
    Environment(String),
    /// With this option, dashes included.
    Option(String),
}

/// One value as written. `Debug` does not show it.
#[derive(Clone)]
pub struct Setting {
    /// The name of the field as written: `dns` is `provider` inside `providers`.
    pub name: &'static str,
    /// The value.
    pub node: Node,
    /// Where it was made.
    pub origin: Origin,
}

impl Setting {
    /// The place of a part of the value, for a message.
    pub fn place(&self, field: &Field, span: Span) -> Place {
        match &self.origin {
            Origin::File(document) => {
                Place::in_file(&document.name, &document.text, span, !field.shown.is_secret(&self.node.value))
            }
            Origin::Environment(name) => Place::Environment(name.clone()),
            Origin::Option(name) => Place::Option(name.clone()),
        }
    }

    /// The fields of an entry that an object of this field sets.
    pub(super) fn inner(&self, field: &Field, object: &Node) -> Raw {
        let mut own = Raw::default();
        for member in object.value.members().unwrap_or_default() {
            if let Some(field) = field.inside().and_then(|what| used(what, &member.key)) {
                own.set(field.key, member.node.clone(), self.origin.clone());
            }
        }
        own
    }

    /// Where an object of this field begins.
    pub(super) fn start(&self, field: &Field, object: &Node) -> Start {
        match &self.origin {
            Origin::File(document) => Start::Entry(document.clone(), object.span.first()),
            _ => Start::Whole(self.place(field, object.span)),
        }
    }

    pub(super) fn is_null(&self) -> bool {
        self.node.value == Value::Null
    }

    /// Whether it comes from a fetched file.
    pub fn is_fetched(&self) -> bool {
        matches!(&self.origin, Origin::File(document) if document.fetched)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.node.value.kind())
    }
}

/// One layer: the settings of one file, entry, environment or command line.
#[derive(Debug, Clone, Default)]
pub struct Raw {
    settings: Vec<(Key, Setting)>,
}

impl Raw {
    /// A setting; `None` if it is not set, or `null`.
    pub fn get(&self, key: Key) -> Option<&Setting> {
        self.written(key).filter(|setting| !setting.is_null())
    }

    /// A setting, `null` included.
    pub(super) fn written(&self, key: Key) -> Option<&Setting> {
        self.settings.iter().find(|(known, _)| *known == key).map(|(_, setting)| setting)
    }

    /// Adds a setting, which replaces an earlier one.
    pub fn set(&mut self, key: Key, node: Node, origin: Origin) {
        self.set_as(Field::of(key).name, key, node, origin);
    }

    fn set_as(&mut self, name: &'static str, key: Key, node: Node, origin: Origin) {
        self.settings.retain(|(known, _)| *known != key);
        self.settings.push((key, Setting { name, node, origin }));
    }

    /// The settings with this role in a request.
    pub(super) fn only(&self, part: RequestPart) -> Self {
        let is_meant = |(key, _): &&(Key, Setting)| Field::of(*key).request == part;
        Self { settings: self.settings.iter().filter(is_meant).cloned().collect() }
    }

    /// How many bytes of a file the settings take.
    fn size(&self) -> usize {
        self.settings.iter().map(|(_, setting)| setting.node.span.end - setting.node.span.start).sum()
    }

    /// Every setting, `null` included.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static Field, &Setting)> {
        self.settings.iter().map(|(key, setting)| (Field::of(*key), setting))
    }

    /// Whether nothing is set at all.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }
}

/// Where an entry begins, for errors about something missing. The line to show is looked up only if it is shown.
pub enum Start {
    /// The file as a whole, or no file.
    Whole(Place),
    /// Here in this file.
    Entry(Rc<Document>, Span),
}

impl Start {
    /// The place in the file; empty for the file as a whole.
    pub(super) fn span(&self) -> Span {
        if let Self::Entry(_, span) = self { *span } else { Span::default() }
    }

    /// Where an error about something missing points.
    pub fn place(&self) -> Place {
        match self {
            Self::Whole(place) => place.clone(),
            Self::Entry(document, span) => Place::in_file(&document.name, &document.text, *span, false),
        }
    }
}

impl std::fmt::Debug for Start {
    /// The document may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Whole(_)) { "Whole" } else { "Entry" })
    }
}

/// The layers of one file.
#[derive(Debug, Default)]
pub struct FileLayers {
    /// The settings outside `providers`.
    pub file: Raw,
    /// A layer for each item of `providers`, and where it begins; `None`: there is no `providers`.
    pub entries: Option<Vec<(Raw, Start)>>,
    /// Errors and warnings about its structure.
    pub diagnostics: Diagnostics,
}

impl FileLayers {
    /// Every layer of the file.
    pub(crate) fn layers(&self) -> impl Iterator<Item = &Raw> {
        std::iter::once(&self.file).chain(self.entries.iter().flatten().map(|(raw, _)| raw))
    }
}

/// How many bytes all entries together may inherit, because each entry reads them again.
const MAX_INHERITED_BYTES: usize = 64 * 1024 * 1024;

/// Reads a file's text into layers. Fails if it is not a JSON object, or if its entries inherit too much; other errors
/// are collected.
pub fn read(document: &Rc<Document>) -> Result<FileLayers, Diagnostic> {
    let place = |span| Place::in_file(&document.name, &document.text, span, false);
    let root = parse(&document.text, Dialect::CONFIG)
        .map_err(|error| Diagnostic::error(place(error.span), format!("not valid JSON: {}", error.message)))?;
    read_root(document, root)
}

/// Like [`read`], for JSON that was not parsed from the text of the document.
pub(crate) fn read_root(document: &Rc<Document>, root: Node) -> Result<FileLayers, Diagnostic> {
    let mut reader = RawReader { document, diagnostics: Diagnostics::default() };
    let Value::Object(members) = root.value else {
        let message = format!("a configuration is a JSON object, not {}", root.value.kind());
        let hint = "for example { \"dns\": \"callback\", … }";
        return Err(Diagnostic::error(reader.place(root.span), message).hint(hint));
    };
    let mut providers = None;
    let mut file = Raw::default();
    for member in members {
        match member.key.as_str() {
            "providers" => {
                if providers.is_some() {
                    let message = "`providers` is written twice; the last one counts";
                    reader.note(Severity::Warning, member.key_span, message, &|| None);
                }
                providers = Some(member);
            }
            _ => reader.take(&mut file, member, "", false),
        }
    }
    let providers = providers.filter(|member| member.node.value != Value::Null);
    let entries = providers.map(|member| reader.entries(member));
    let count = entries.as_ref().map_or(0, Vec::len);
    if file.size().saturating_mul(count) > MAX_INHERITED_BYTES {
        let (count, size) = (grouped(count), grouped(file.size()));
        let message = format!("`providers` has {count} entries, and each inherits {size} bytes, which is too much");
        let hint = "move large values into the entries that need them";
        return Err(Diagnostic::error(Place::file(&document.name), message).hint(hint));
    }
    reader.warn_overridden(&file, entries.as_deref().unwrap_or_default());
    Ok(FileLayers { file, entries, diagnostics: reader.diagnostics })
}

/// The hint for a field inside `providers` that applies to the whole file.
const MOVE_OUT: &str = "move it out: it applies to the whole file";

struct RawReader<'a> {
    document: &'a Rc<Document>,
    diagnostics: Diagnostics,
}

impl RawReader<'_> {
    fn place(&self, span: Span) -> Place {
        Place::in_file(&self.document.name, &self.document.text, span, false)
    }

    fn note(&mut self, severity: Severity, span: Span, message: &str, hint: &dyn Fn() -> Option<String>) {
        let document = self.document;
        let mut make = || (Place::in_file(&document.name, &document.text, span, false), hint());
        self.diagnostics.add(severity, span, message, &mut make);
    }

    fn wrong(&mut self, span: Span, message: impl Into<String>) {
        self.note(Severity::Error, span, &message.into(), &|| None);
    }

    fn entries(&mut self, member: Member) -> Vec<(Raw, Start)> {
        let Value::Array(nodes) = member.node.value else {
            let message = format!("`providers` must be a list of objects, not {}", member.node.value.kind());
            self.wrong(member.node.span, message);
            return Vec::new();
        };
        if nodes.is_empty() {
            self.wrong(member.node.span, "`providers` has no entries: nothing would be sent");
        }
        let mut entries = Vec::new();
        for (at, node) in nodes.into_iter().enumerate() {
            let Value::Object(members) = node.value else {
                let message = format!("`providers[{at}]` must be an object, not {}", node.value.kind());
                self.wrong(node.span, message);
                continue;
            };
            let mut entry = Raw::default();
            for member in members {
                self.take(&mut entry, member, "", true);
            }
            entries.push((entry, Start::Entry(Rc::clone(self.document), node.span.first())));
        }
        entries
    }

    /// Domains outside `providers` apply to entries without their own. If every entry has its own, no entry updates
    /// them.
    fn warn_overridden(&mut self, file: &Raw, entries: &[(Raw, Start)]) {
        if entries.is_empty() {
            return;
        }
        for key in [Key::Ipv4, Key::Ipv6] {
            let Some(setting) = file.get(key) else { continue };
            if entries.iter().any(|(entry, _)| entry.written(key).is_none()) {
                continue;
            }
            let message = format!("`{}` outside of `providers` has no effect: each entry has its own", setting.name);
            let hint = || Some("move these domains into the entry that should update them".to_owned());
            self.note(Severity::Warning, setting.node.span, &message, &hint);
        }
    }

    /// Puts one member into its layer, and those of `log` one by one.
    fn take(&mut self, layer: &mut Raw, member: Member, prefix: &str, in_entry: bool) {
        let written = if prefix.is_empty() { member.key } else { [prefix, &member.key].concat() };
        if in_entry && written == "log" {
            let message = "`log` inside `providers` has no effect: it applies to the whole file";
            self.note(Severity::Warning, member.key_span, message, &|| Some(MOVE_OUT.to_owned()));
            return;
        }
        if written == "log" {
            match member.node.value {
                Value::Object(members) => {
                    for member in members {
                        self.take(layer, member, "log.", in_entry);
                    }
                }
                Value::Null => {
                    for field in FIELDS.iter().filter(|field| field.name.starts_with("log.")) {
                        layer.set(field.key, member.node.clone(), Origin::File(self.document.clone()));
                    }
                }
                other => {
                    let inside = FIELDS.iter().filter_map(|field| field.name.strip_prefix("log."));
                    let parts: Vec<String> = inside.map(|name| format!("`{name}`")).collect();
                    let message = format!("`log` must be an object with {}, not {}", parts.join(", "), other.kind());
                    self.wrong(member.node.span, message);
                }
            }
            return;
        }
        let name = if in_entry && written == "provider" { "dns" } else { &written };
        let Some(field) = FIELDS.iter().find(|field| field.name == name) else {
            self.unknown(&written, member.key_span, in_entry);
            return;
        };
        if in_entry && field.scope == FieldScope::File {
            let message = format!("`{written}` is not allowed inside `providers`");
            self.note(Severity::Error, member.key_span, &message, &|| Some(MOVE_OUT.to_owned()));
            return;
        }
        if layer.get(field.key).is_some() {
            let message = format!("`{written}` is written twice; the last one counts");
            self.note(Severity::Warning, member.key_span, &message, &|| None);
        }
        let name = if written == "provider" { "provider" } else { field.name };
        layer.set_as(name, field.key, member.node, Origin::File(self.document.clone()));
    }

    fn unknown(&mut self, written: &str, span: Span, in_entry: bool) {
        let own = if in_entry { "provider" } else { "log" };
        let known = || FIELDS.iter().map(|field| field.name).chain([own]);
        let hint = || match nearest(written, known()) {
            _ if is_placeholder_name(written) => Some("put it into `extra`".to_owned()),
            near => near.map(|name| format!("did you mean `{name}`?")),
        };
        self.note(Severity::Warning, span, &format!("unknown field `{written}`: it has no effect"), &hint);
    }
}
