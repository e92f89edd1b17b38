//! Who gets a secret: the origin of its entry, by its proxies, with certificates verified or not. An edit may send no secret to
//! anybody who did not get it before, whether it stands in the file, in another one, or in the environment.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::power::named_by;
use super::restore::{Layer, Place, Put, Restored};
use super::{Edit, Finding, error, whole};
use crate::callback::{Target, placeholders_in};
use crate::config::fields::{Field, Key};
use crate::config::layers::Layers;
use crate::config::notify;
use crate::config::raw::{self, Document, Origin, Raw, Setting, Written};
use crate::config::value;
use crate::net::url::Url;
use crate::text::json::{Node, Span, Value, pretty};
use crate::text::secrets::MASK;

/// The fields that may hold secrets of an endpoint.
const SENT: [Key; 8] = [Key::Id, Key::Endpoint, Key::Token, Key::Headers, Key::Extra, Key::Sign, Key::Ipv4, Key::Ipv6];

/// Those that hold secrets of others: of a proxy, of the page of a source.
const OTHERS: [Key; 3] = [Key::Proxy, Key::Index4, Key::Index6];

/// What a host or a port in an address may depend on, where it holds a placeholder.
const SHAPING: [Key; 9] =
    [Key::Ttl, Key::Line, Key::Extra, Key::Zone, Key::Ipv4, Key::Ipv6, Key::Index4, Key::Index6, Key::Combine];

/// Who gets what one entry sends.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Receiver {
    /// Scheme, host and port.
    origin: String,
    /// The proxies, without user and password.
    routes: String,
    /// How certificates are verified: not at all, not in a local network, always.
    verified: u8,
}

impl Receiver {
    /// Whether whoever gets something as `self` could get it as `other`, too.
    fn is_within(&self, other: &Self) -> bool {
        self.origin == other.origin && self.routes == other.routes && self.verified >= other.verified
    }
}

type Receivers = BTreeSet<Receiver>;

fn are_within(now: Option<&Receivers>, before: Option<&Receivers>) -> bool {
    let was = |receiver: &Receiver| before.into_iter().flatten().any(|other| receiver.is_within(other));
    now.into_iter().flatten().all(was)
}

const NOBODY: &str = "nobody";

/// The origins, for a sentence.
fn named(receivers: Option<&Receivers>) -> String {
    // What follows the first line may be secret.
    let first = |receiver: &'_ Receiver| receiver.origin.lines().next().unwrap_or_default().to_owned();
    let mut names: Vec<String> = receivers.into_iter().flatten().map(first).collect();
    names.dedup();
    if names.is_empty() || names.contains(&String::new()) { NOBODY.to_owned() } else { names.join(", ") }
}

/// Who gets what, by where it stands.
#[derive(Default)]
struct Reach {
    /// Settings of the file.
    file: BTreeMap<Place, Receivers>,
    /// Settings of options and environment, by their names there, each with a place in the file that shows where it goes.
    outside: BTreeMap<(String, &'static str), (Receivers, Option<Span>)>,
    /// What stands in files, by their paths, and the setting that names each.
    files: BTreeMap<String, (Receivers, Span)>,
}

/// What an edit would send to somebody who did not get it before.
pub(super) fn widened(edit: &Edit<'_>, restored: &Restored) -> Vec<Finding> {
    let (Some(old), Some(new)) = (read(edit, edit.old), read(edit, &restored.text)) else { return Vec::new() };
    let (before, now) = (Reach::of(&old, edit), Reach::of(&new, edit));
    let mut findings = Vec::new();
    for put in &restored.puts {
        let (Some(from), Some(to)) = (put.from, put.to) else { continue };
        let (gets, got) = (now.file.get(&to), before.file.get(&from));
        if !are_within(gets, got) || !is_same_page(put, to.1) {
            let message = if to.1.is_some_and(|key| SENT.contains(&key)) && named(gets) == NOBODY {
                format!("what is behind this `***` was for {}: its address changed", named(got))
            } else if to.1.is_some_and(|key| OTHERS.contains(&key)) || named(gets) == named(got) {
                "what is behind this `***` would reach somebody else: its address, its proxy or `ssl` changed"
                    .to_owned()
            } else {
                format!("what is behind this `***` was for {}, not for {}", named(got), named(gets))
            };
            let at = Span { start: put.edited.start, end: put.edited.end };
            findings.push(error(edit.edited, at, message, "type the secret again, or take back the change"));
        }
    }
    let place = |span: Span| Span { start: restored.back(span.start, false), end: restored.back(span.end, true) };
    for (path, (gets, span)) in &now.files {
        let got = before.files.get(path).map(|(got, _)| got);
        // One that is new is refused in any case.
        if got.is_some() && !are_within(Some(gets), got) {
            let message = format!("what is in a file was for {}, not for {}", named(got), named(Some(gets)));
            let hint = "type the secret in place of the file, or edit the configuration on the host";
            findings.push(error(edit.edited, place(*span), message, hint));
        }
    }
    for ((name, field), (gets, span)) in &now.outside {
        let got = before.outside.get(&(name.clone(), *field)).map(|(got, _)| got);
        if !are_within(Some(gets), got) {
            let message =
                format!("`{field}` comes from {name}: it was for {}, not for {}", named(got), named(Some(gets)));
            let hint = "edit the configuration on the host";
            findings.push(match span {
                Some(span) => error(edit.edited, place(*span), message, hint),
                None => whole(message, hint),
            });
        }
    }
    findings
}

fn read(edit: &Edit<'_>, text: &str) -> Option<Written> {
    raw::read(&Rc::new(Document { name: edit.name.to_owned(), text: text.to_owned(), fetched: false })).ok()
}

/// Whether the secret of a proxy or of a page goes to the same one.
fn is_same_page(put: &Put, key: Option<Key>) -> bool {
    let (old, new) = &put.values;
    match key {
        Some(Key::Proxy) => old == new,
        Some(Key::Index4 | Key::Index6) => {
            let origin = |text: &str| {
                let text = text.trim_matches('"');
                let address = text.get(..4).filter(|form| form.eq_ignore_ascii_case("url:")).map(|_| &text[4..])?;
                Url::parse(address.trim()).ok().map(|url| url.origin())
            };
            old == new || origin(old).is_some_and(|origin_before| origin(new) == Some(origin_before))
        }
        _ => true,
    }
}

impl Reach {
    fn of(written: &Written, edit: &Edit<'_>) -> Self {
        let empty = Raw::default();
        let raws: Vec<&Raw> = match &written.entries {
            Some(entries) => entries.iter().map(|(raw, _)| raw).collect(),
            None => vec![&empty],
        };
        let mut reach = Self::default();
        for (number, raw) in raws.into_iter().enumerate() {
            let around = edit.around;
            let layers = Layers(vec![&around.options, raw, &written.file, &around.environment]);
            let receiver = receiver(&layers);
            let settings = [Key::Id, Key::Endpoint, Key::Proxy, Key::Ssl].into_iter();
            let mut settings =
                settings.filter_map(|key| layers.get(key)).filter(|setting| matches!(setting.origin, Origin::File(_)));
            let shown = settings.next().map(|setting| setting.node.span);
            for key in SENT {
                let Some(setting) = layers.get(key) else { continue };
                let layer = if raw.get(key).is_some() { Layer::Entry(number) } else { Layer::File };
                reach.add((layer, Some(key)), setting, &receiver, shown);
            }
            for key in OTHERS {
                let Some(setting) = layers.get(key).filter(|setting| matches!(setting.origin, Origin::File(_))) else {
                    continue;
                };
                let layer = if raw.get(key).is_some() { Layer::Entry(number) } else { Layer::File };
                let other = Receiver { origin: String::new(), routes: String::new(), ..receiver.clone() };
                reach.add((layer, Some(key)), setting, &other, shown);
            }
        }
        reach.add_notifications(written, edit);
        reach
    }

    /// A notification has a receiver of its own, but may inherit the way there.
    fn add_notifications(&mut self, written: &Written, edit: &Edit<'_>) {
        let around = edit.around;
        let all = Layers(vec![&around.options, &written.file, &around.environment]);
        let Some(setting) = all.get(Key::Notify) else { return };
        let inherited = all.0.iter().map(|layer| layer.only(&notify::INHERITED)).collect::<Vec<Raw>>();
        for own in notify::each(setting) {
            let layers = Layers(vec![&inherited[0], &own, &inherited[1], &inherited[2]]);
            self.add((Layer::File, Some(Key::Notify)), setting, &receiver(&layers), Some(setting.node.span));
        }
    }

    fn add(&mut self, place: Place, setting: &Setting, receiver: &Receiver, shown: Option<Span>) {
        match &setting.origin {
            Origin::File(_) => {
                self.file.entry(place).or_default().insert(receiver.clone());
                for path in place.1.map(|key| named_by(key, setting)).unwrap_or_default() {
                    let (receivers, _) = self.files.entry(path).or_insert((Receivers::new(), setting.node.span));
                    receivers.insert(receiver.clone());
                }
            }
            Origin::Environment(name) | Origin::Option(name) => {
                let field = place.1.map_or("", |key| Field::of(key).name);
                let (receivers, _) = self.outside.entry((name.clone(), field)).or_insert((Receivers::new(), shown));
                receivers.insert(receiver.clone());
            }
        }
    }
}

fn receiver(layers: &Layers<'_>) -> Receiver {
    Receiver { origin: origin(layers), routes: routes(layers), verified: verified(layers) }
}

/// Scheme, host and port; where they hold placeholders, with everything that these may come from.
fn origin(layers: &Layers<'_>) -> String {
    let text = |key| layers.get(key).and_then(|setting| setting.node.value.text()).unwrap_or_default();
    let variables = placeholders_in(text(Key::Id));
    let Ok(target) = Target::new(text(Key::Endpoint), text(Key::Id), &variables, &mut Vec::new()) else {
        return String::new();
    };
    if let Some(url) = target.fixed_part() {
        return url.origin();
    }
    let shaping = SHAPING.iter().filter_map(|key| layers.get(*key)).map(|setting| pretty(&setting.node.value));
    shaping.fold(target.authority(&variables), |all, value| format!("{all}\n{value}"))
}

fn routes(layers: &Layers<'_>) -> String {
    let Some(setting) = layers.get(Key::Proxy) else { return String::new() };
    let host = |node: &Node| {
        let text = node.value.text().unwrap_or(MASK);
        let (before, host) = text.rsplit_once('@').unwrap_or(("", text));
        let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
        format!("{scheme} {host}\n").to_lowercase()
    };
    match &setting.node.value {
        Value::Array(items) => items.iter().map(host).collect(),
        _ => host(&setting.node),
    }
}

fn verified(layers: &Layers<'_>) -> u8 {
    let flag = match layers.get(Key::Ssl).map(|setting| &setting.node.value) {
        None => return 1,
        Some(Value::Bool(flag)) => Some(*flag),
        Some(Value::String(text) | Value::Number(text)) => match text.trim() {
            word if word.is_empty() || word.eq_ignore_ascii_case("auto") => return 1,
            word => value::flag(word),
        },
        Some(_) => return 0,
    };
    if flag == Some(false) { 0 } else { 2 }
}
