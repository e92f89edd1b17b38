//! What of a configuration's text must not be seen: every secret with its place. What is not known to be harmless is a secret.

use std::iter::once;
use std::ops::Range;

use crate::address::source::{Source, split_list};
use crate::callback::{Format, hidden_in_address, hidden_in_form, hidden_in_header, hidden_in_text};
use crate::config::fields::{Field, Kind, SubField, Visibility, part};
use crate::config::files::{FileContents, is_path, is_shown, path_of};
use crate::config::value::is_off;
use crate::net::proxy::ProxyItem;
use crate::text::json::{Dialect, Member, Node, TokenKind, Value, first_token, parse};
use crate::text::secrets::Secrets;

/// Shorter secrets, in bytes, match ordinary words.
const MIN_SECRET_BYTES: usize = 6;

/// A stretch of the text that is shown as `***`.
pub(super) struct Hidden {
    pub(super) range: Range<usize>,
    /// Whether it is a number, which shows as a string.
    pub(super) is_bare: bool,
}

/// Everything in a text that must not be seen, in order; none of them touch. A text that is not JSON shows nothing but its
/// marks and keys.
pub(super) fn hidden(text: &str) -> Vec<Hidden> {
    let Ok(root) = parse(text, Dialect::CONFIG) else { return unreadable(text) };
    let mut hider = Hider { text, found: Vec::new(), leaves: Vec::new(), known: Vec::new(), public: Vec::new() };
    hider.object(&root, Format::Json);
    let public: Vec<&str> = hider.public.iter().map(String::as_str).collect();
    let secrets = Secrets::new(hider.known.drain(..), &public).longer_than(MIN_SECRET_BYTES);
    let mut all = hider.found;
    let mut hide = |range: Range<usize>| all.push(Hidden { range, is_bare: false });
    for leaf in &hider.leaves {
        let known = secrets.found(&text[leaf.clone()]).into_iter();
        known.for_each(|range| hide(range.start + leaf.start..range.end + leaf.start));
    }
    comments(text).into_iter().for_each(hide);
    all.retain(|hidden| !hidden.range.is_empty());
    all.sort_by_key(|hidden| hidden.range.start);
    all.dedup_by(|next, before| {
        let touches = next.range.start <= before.range.end;
        if touches {
            before.range.end = before.range.end.max(next.range.end);
        }
        touches
    });
    all
}

/// What comments say: anything may stand there, a key of former days too.
fn comments(text: &str) -> Vec<Range<usize>> {
    let is_around = |letter: char| "/*#".contains(letter) || letter.is_whitespace();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let (length, kind) = first_token(&text[at..], true);
        if matches!(kind, TokenKind::Comment) {
            let whole = &text[at..at + length];
            let said = if whole.starts_with("/*") { whole.trim_end_matches("*/") } else { whole };
            let start = length - whole.trim_start_matches(is_around).len();
            found.push(at + start..at + said.trim_end().len().max(start));
        }
        at += length.max(1);
    }
    found
}

/// The values and comments of a text that is not JSON.
fn unreadable(text: &str) -> Vec<Hidden> {
    let (mut all, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let (length, kind) = first_token(&text[at..], true);
        let is_key = matches!(kind, TokenKind::String) && text[at + length..].trim_start().starts_with(':');
        if !is_key && !matches!(kind, TokenKind::Blank | TokenKind::Mark) {
            all.push(Hidden { range: at..at + length, is_bare: true });
        }
        at += length.max(1);
    }
    all
}

struct Hider<'a> {
    text: &'a str,
    found: Vec<Hidden>,
    /// The insides of all strings that are values.
    leaves: Vec<Range<usize>>,
    /// What is hidden, as it is meant.
    known: Vec<String>,
    /// Domains: whatever is part of one is no secret.
    public: Vec<String>,
}

impl Hider<'_> {
    /// The file, or an entry of it.
    fn object(&mut self, node: &Node, format: Format) {
        let Value::Object(members) = &node.value else { return self.everything(node) };
        let word = members.iter().rfind(|member| member.key == "format").and_then(|member| member.node.value.text());
        let format = word.and_then(Format::parse).unwrap_or(format);
        for member in members {
            match (Field::written(&member.key), &member.node.value) {
                (Some(field), _) => self.field(field, &member.node, format),
                (None, Value::Object(inside)) if member.key == "log" => self.log(inside),
                _ => self.everything(&member.node),
            }
        }
    }

    /// A callback, and when it is sent.
    fn notification(&mut self, node: &Node, parts: &'static [SubField]) {
        let Value::Object(members) = &node.value else { return self.everything(node) };
        let (when, callback): (Vec<Member>, Vec<Member>) =
            members.iter().cloned().partition(|member| part(parts, &member.key).is_some());
        for member in &when {
            self.open(&member.node);
        }
        self.object(&Node { span: node.span, value: Value::Object(callback) }, Format::Json);
    }

    fn log(&mut self, members: &[Member]) {
        for member in members {
            match Field::written(&format!("log.{}", member.key)) {
                Some(_) => self.public(&member.node),
                None => self.everything(&member.node),
            }
        }
    }

    fn field(&mut self, of: &Field, node: &Node, format: Format) {
        if matches!(of.kind, Kind::Word | Kind::ObjectOrText) {
            self.public.extend(node.value.text().map(str::to_lowercase));
        }
        match (of.shown, &node.value) {
            (_, Value::Array(items)) if of.kind.is_list() || of.shown == Visibility::Fields => {
                for item in items {
                    self.field(of, item, format);
                }
            }
            (Visibility::Fields, _) if of.kind == Kind::Callbacks => self.notification(node, of.parts),
            (Visibility::Fields, _) => self.object(node, format),
            (Visibility::Parts | Visibility::PlainOrParts, Value::Object(members)) => {
                // Which files were read is not known here.
                let unread = FileContents::default();
                for member in members {
                    let is_shown = is_shown(member, &unread, of.parts);
                    if is_shown { self.open(&member.node) } else { self.everything(&member.node) }
                }
            }
            (Visibility::Deep, _) => self.open(node),
            (Visibility::Plain, _) => self.public(node),
            // An object in a text may have any members.
            (Visibility::PlainOrParts, value) if !of.shown.is_secret(value) => self.public(node),
            (Visibility::Url, _) => self.leaf(node, |text| hidden_in_address(text, true)),
            (Visibility::BaseUrl, _) => self.leaf(node, |text| hidden_in_address(text, false)),
            (Visibility::Body, Value::String(_)) => self.body(node, format),
            (Visibility::Headers, Value::Object(members)) => {
                for member in members {
                    self.leaf(&member.node, |text| hidden_in_header(&member.key, text));
                }
            }
            (Visibility::Proxies, _) => self.leaf(node, in_proxy),
            (Visibility::Sources, _) => self.source(node),
            (Visibility::Domains, _) => self.domain(node, of.parts),
            (Visibility::Never, _) => self.secret(node),
            _ => self.everything(node),
        }
    }

    /// The inside of a string, with what is hidden in it as it is meant; anything else is hidden as a whole.
    fn leaf(&mut self, node: &Node, hidden_in: impl Fn(&str) -> Vec<Range<usize>>) {
        let Value::String(value) = &node.value else { return self.everything(node) };
        let inside = node.span.start + 1..node.span.end.saturating_sub(1);
        let places = OffsetMap::of(&self.text[inside.clone()]);
        for range in hidden_in(value) {
            self.known.push(value[range.clone()].to_owned());
            let range = inside.start + places.0[range.start]..inside.start + places.0[range.end];
            self.found.push(Hidden { range, is_bare: false });
        }
        self.leaves.push(inside);
    }

    /// A scalar that may be seen; inside of anything else, nothing may.
    fn public(&mut self, node: &Node) {
        match &node.value {
            Value::String(_) => self.leaf(node, |_| Vec::new()),
            Value::Array(_) | Value::Object(_) => self.everything(node),
            _ => {}
        }
    }

    /// All scalars of it may be seen.
    fn open(&mut self, node: &Node) {
        match &node.value {
            Value::Array(items) => items.iter().for_each(|item| self.open(item)),
            Value::Object(members) => members.iter().for_each(|member| self.open(&member.node)),
            _ => self.public(node),
        }
    }

    /// Nothing of it may be seen but keys and placeholders.
    fn everything(&mut self, node: &Node) {
        match &node.value {
            Value::String(_) => self.leaf(node, hidden_in_text),
            Value::Number(number) => {
                self.known.push(number.clone());
                self.found.push(Hidden { range: node.span.start..node.span.end, is_bare: true });
            }
            Value::Array(items) => items.iter().for_each(|item| self.everything(item)),
            Value::Object(members) => members.iter().for_each(|member| self.everything(&member.node)),
            Value::Null | Value::Bool(_) | Value::Placeholder(_) => {}
        }
    }

    /// The same, but for the path of a file that holds the secret.
    fn secret(&mut self, node: &Node) {
        match &node.value {
            Value::Object(members) if path_of(&node.value).is_some_and(is_path) => self.public(&members[0].node),
            Value::Object(members) if path_of(&node.value).is_some() => self.everything(&members[0].node),
            Value::Array(items) => items.iter().for_each(|item| self.secret(item)),
            Value::Object(members) => members.iter().for_each(|member| self.secret(&member.node)),
            // A placeholder in a value of `extra` is not filled in: it is a part of the secret.
            Value::String(_) => self.leaf(node, |text| once(0..text.len()).filter(|all| !all.is_empty()).collect()),
            _ => self.everything(node),
        }
    }

    fn source(&mut self, node: &Node) {
        match &node.value {
            Value::String(_) => self.leaf(node, in_source),
            Value::Number(_) | Value::Bool(_) => {}
            _ => self.everything(node),
        }
    }

    fn domain(&mut self, node: &Node, parts: &'static [SubField]) {
        match &node.value {
            // A JSON text may hold values of its own.
            Value::String(text) if text.contains('{') => self.leaf(node, hidden_in_text),
            Value::String(text) => {
                self.public.push(text.to_lowercase());
                self.public(node);
            }
            Value::Object(members) => {
                for member in members {
                    match part(parts, &member.key).map(|part| part.shown) {
                        Some(Visibility::Domains) => self.domain(&member.node, parts),
                        Some(Visibility::Plain) => self.public(&member.node),
                        Some(Visibility::Deep) => self.open(&member.node),
                        Some(Visibility::Never) => self.secret(&member.node),
                        _ => self.everything(&member.node),
                    }
                }
            }
            _ => self.everything(node),
        }
    }

    /// A body that is written as a string.
    fn body(&mut self, node: &Node, format: Format) {
        self.leaf(node, |text| match (format, parse(text, Dialect::TOKEN)) {
            (Format::Text, _) | (Format::Json, Err(_)) => hidden_in_text(text),
            (_, Ok(document)) => {
                let mut found = Vec::new();
                in_document(text, &document, &mut found);
                found
            }
            (Format::Form, Err(_)) => hidden_in_form(text),
        });
    }
}

/// The scalars of a JSON document in a text.
fn in_document(text: &str, node: &Node, found: &mut Vec<Range<usize>>) {
    match &node.value {
        Value::String(value) => {
            let start = node.span.start + 1;
            let places = OffsetMap::of(&text[start..node.span.end.saturating_sub(1)]);
            let ranges = hidden_in_text(value).into_iter();
            found.extend(ranges.map(|range| start + places.0[range.start]..start + places.0[range.end]));
        }
        Value::Number(_) => found.push(node.span.start..node.span.end),
        Value::Array(items) => items.iter().for_each(|item| in_document(text, item, found)),
        Value::Object(members) => members.iter().for_each(|member| in_document(text, &member.node, found)),
        Value::Null | Value::Bool(_) | Value::Placeholder(_) => {}
    }
}

/// User and password of a proxy; all of what is none.
pub(super) fn in_proxy(text: &str) -> Vec<Range<usize>> {
    let is_plain = !text.contains('@') && text.split([',', ';']).all(|item| ProxyItem::parse(item).is_ok());
    if is_plain {
        return Vec::new();
    }
    match text.rfind('@') {
        Some(at) if ProxyItem::parse(text).is_ok() => {
            let start = text.find("://").map_or(0, |scheme| scheme + 3);
            once(start.min(at)..at).collect()
        }
        _ => hidden_in_text(text),
    }
}

/// What is hidden in sources: keys in addresses, commands but for the program's name, and all of what is not understood.
pub(super) fn in_source(text: &str) -> Vec<Range<usize>> {
    let items = split_list(text);
    let sources: Vec<Option<Source>> = items.iter().map(|item| Source::parse(item).ok()).collect();
    let is_plain = |source: &Option<Source>| {
        source.as_ref().is_some_and(|source| source.secrets().is_empty() && !source.runs_a_program())
    };
    if sources.iter().zip(&items).all(|(source, item)| is_plain(source) || is_off(&Value::string(*item))) {
        return Vec::new();
    }
    let after = text.find(':').map_or(0, |colon| colon + 1);
    let start = after + (text[after..].len() - text[after..].trim_start().len());
    match sources.as_slice() {
        [Some(Source::Url(_))] => {
            let ranges = hidden_in_address(&text[start..], false).into_iter();
            ranges.map(|range| range.start + start..range.end + start).collect()
        }
        [Some(Source::Command(_))] if !text[start..].starts_with(['"', '\'']) => {
            let program = text[start..].find(char::is_whitespace).map_or(text.len(), |end| start + end + 1);
            once(program..text.len()).collect()
        }
        [Some(Source::Command(_) | Source::Shell(_))] => once(start..text.len()).collect(),
        _ => hidden_in_text(text),
    }
}

/// For each byte of a JSON string as it is meant, and for its end, where it stands as it is written.
struct OffsetMap(Vec<usize>);

impl OffsetMap {
    /// `written` is the inside of a valid JSON string.
    fn of(written: &str) -> Self {
        let mut places = Vec::with_capacity(written.len() + 1);
        let mut at = 0;
        while let Some(letter) = written[at..].chars().next() {
            let (length, meant) = match (letter, written.as_bytes().get(at + 1)) {
                ('\\', Some(b'u')) => unicode(&written[at..]),
                ('\\', _) => (2, 1),
                _ => (letter.len_utf8(), letter.len_utf8()),
            };
            // Inside of a letter there is no place: that of its beginning stands for it.
            let is_written_out = length == meant;
            places.extend((0..meant).map(|byte| if is_written_out { at + byte } else { at }));
            at += length;
        }
        places.push(written.len());
        Self(places)
    }
}

/// How many bytes `\u00fc`, or two of them, takes, and how many it means.
fn unicode(written: &str) -> (usize, usize) {
    let unit = |at: usize| written.get(at..at + 6).and_then(|unit| u16::from_str_radix(unit.get(2..)?, 16).ok());
    match unit(0) {
        Some(0xd800..=0xdfff) => (12, 4),
        Some(unit) => (6, char::from_u32(u32::from(unit)).map_or(1, char::len_utf8)),
        None => (6, 1),
    }
}
