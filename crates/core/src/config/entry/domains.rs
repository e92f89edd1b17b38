//! The domains of an entry: names, and objects with values of their own (H9); their zones (H8).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::super::fields::{Field, JSON_MARKS, Key, names, quoted};
use super::super::raw::Setting;
use super::super::read::did_you_mean;
use super::super::value::is_off;
use super::EntryBuilder;
use crate::callback::Callback;
use crate::dns::Verify;
use crate::net::family::Family;
use crate::net::interface_id::InterfaceId;
use crate::text::diagnostic::{Severity, nearest};
use crate::text::json::{Member, Node, Value, is_placeholder_name};
use crate::text::punycode::{ascii_name, is_composed};
use crate::text::screen;
use crate::update::domain::Domain;

/// A bit for each character that no domain name contains. (NewFuture/DDNS has `+` and `~` in names.)
const ODD: [u64; 2] = {
    let (odd, mut bits, mut at) = (b"!\"#$%&'(),/:;<=>?@[\\]^`{|}", [0; 2], 0);
    while at < odd.len() {
        bits[odd[at] as usize / 64] |= 1 << (odd[at] % 64);
        at += 1;
    }
    bits
};

/// The length of the longest word that means no domains, or looks like it.
const MAX_WORD_CHARS: usize = 8;

/// The domains of one family.
#[derive(Default)]
pub(super) struct Domains {
    pub(super) names: Vec<Domain>,
    /// `extra` of the domains that have their own.
    pub(super) extra: Vec<(Domain, Vec<Member>)>,
    pub(super) interface_ids: HashMap<Domain, InterfaceId>,
    pub(super) verify: HashMap<Domain, Option<Verify>>,
}

impl EntryBuilder<'_, '_> {
    pub(super) fn domains(&mut self, key: Key) -> Domains {
        // In NewFuture/DDNS, these values mean no domains.
        let is_none = |setting: &Setting| match &setting.node.value {
            Value::Array(items) => items.len() == 1 && is_off(&items[0].value),
            value => is_off(value),
        };
        if self.reader.setting(key).is_some_and(is_none) {
            return Domains::default();
        }
        let (items, field) = (self.reader.list(key), Field::of(key).name);
        let mut domains = Domains { names: Vec::with_capacity(items.len()), ..Domains::default() };
        let mut known = HashSet::with_capacity(items.len());
        // The domains that are written as objects.
        let mut objects = HashSet::new();
        for item in items {
            let (name, own) = match &item.value {
                Value::Object(members) => (self.name_of(key, &item, members), Some(members)),
                _ => (Some(Cow::Borrowed(&*item)), None),
            };
            let Some(domain) = name.and_then(|name| self.domain(key, &name)) else { continue };
            let is_new = known.insert(domain.clone());
            if !is_new && (own.is_some() || objects.contains(&domain)) {
                let message = format!("`{field}`: {domain} is listed twice, at least once with values of its own");
                self.reader.wrong(key, item.span, message, "remove one of them");
            }
            if is_new {
                if let Some(members) = own {
                    self.own(key, &domain, members, &mut domains);
                    objects.insert(domain.clone());
                }
                domains.names.push(domain);
            }
        }
        domains
    }

    fn domain(&mut self, key: Key, node: &Node) -> Option<Domain> {
        let (text, field) = (node.value.text().unwrap_or_default(), Field::of(key).name);
        // A single pass for the common case: there may be many domains.
        let is_odd = text.bytes().any(|byte| byte < 128 && ODD[usize::from(byte / 64)] >> (byte % 64) & 1 == 1);
        if is_odd && text.contains(JSON_MARKS) {
            let message = format!("`{field}`: a domain name cannot contain a brace or a quotation mark");
            let hint = "leave the marks out; or write a domain with values of its own as an object, not as a string; \
                        several of them as one JSON list";
            self.reader.wrong(key, node.span, message, hint);
            return None;
        }
        let parsed = Domain::parse(text).map_err(|why| {
            let text: String = screen::line(text).chars().take(80).collect();
            format!("`{field}`: `{text}` is not a domain name: {why}")
        });
        let domain = self.reader.valid(key, node.span, parsed, "")?;
        // Most names are longer: no need to compare them.
        let word = Some(domain.as_str()).filter(|name| name.len() <= MAX_WORD_CHARS).unwrap_or_default();
        if matches!(word, "none" | "false") {
            let message = format!("`{field}`: `{domain}` means no domains and can only stand alone");
            self.reader.wrong(key, node.span, message, "remove it");
            return None;
        }
        if matches!(word, "off" | "no" | "null" | "disabled" | "0") {
            let message = format!("`{field}` would update a domain called `{domain}`");
            self.reader.wrong(key, node.span, message, "write `none` for no domains");
            return None;
        }
        if is_odd {
            if text.contains([',', ';']) {
                let message = format!("`{field}`: `{domain}` is more than one domain");
                self.reader.wrong(key, node.span, message, "write each domain as an item of its own");
                return None;
            }
            let message = format!("`{field}`: `{domain}` does not look like a domain name; it is sent as it is");
            self.reader.note(Severity::Warning, key, node.span, &message, "");
        }
        Some(domain)
    }

    /// `name` of a domain that is written as an object.
    fn name_of<'n>(&mut self, key: Key, item: &Node, members: &'n [Member]) -> Option<Cow<'n, Node>> {
        let field = Field::of(key).name;
        let Some(Member { node, .. }) = members.iter().find(|member| member.key == "name") else {
            let parts = quoted(Field::of(key).parts, ", ");
            let hint = format!("a domain is a string, or an object with {parts}");
            self.reader.wrong(key, item.span, format!("`{field}`: a domain has no `name`"), &hint);
            return None;
        };
        let named = node.value.text().map(|_| Cow::Borrowed(node));
        let wrong = || format!("`{field}`: `name` must be a string, not {}", node.value.kind());
        self.reader.valid(key, node.span, named.ok_or_else(wrong), "")
    }

    /// `extra`, `interface_id` and `verify` of one domain.
    fn own(&mut self, key: Key, domain: &Domain, members: &[Member], domains: &mut Domains) {
        let field = Field::of(key).name;
        for member in members {
            // Messages point at the key, because the value may be a secret.
            let place = member.key_span;
            match (member.key.as_str(), &member.node.value) {
                ("name", _) | ("extra" | "interface_id" | "verify", Value::Null) => {}
                ("extra", Value::Object(own)) => domains.extra.push((domain.clone(), own.clone())),
                ("extra", other) => {
                    let message = format!("`{field}`: `extra` of {domain} must be an object, not {}", other.kind());
                    self.reader.wrong(key, place, message, "");
                }
                ("interface_id", _) if key == Key::Ipv4 => {
                    let message = format!("`{field}`: `interface_id` of {domain} only works for domains in `ipv6`");
                    self.reader.wrong(key, place, message, "");
                }
                ("interface_id", value) => {
                    let id = InterfaceId::parse(value.text().unwrap_or_default());
                    let id = id.map_err(|why| format!("`{field}`: `interface_id` of {domain} {why}"));
                    let id = self.reader.valid(key, member.node.span, id, "");
                    domains.interface_ids.extend(id.map(|id| (domain.clone(), id)));
                }
                ("verify", _) => {
                    let verify = self.verify_of(key, &format!("`{field}`: `verify` of {domain}"), &member.node);
                    domains.verify.insert(domain.clone(), verify);
                }
                (other, _) => {
                    let hint = did_you_mean(nearest(other, names(Field::of(key).parts)));
                    let message = format!("`{field}`: unknown field `{other}` of {domain}: it has no effect");
                    self.reader.note(Severity::Warning, key, member.key_span, &message, &hint);
                }
            }
        }
    }

    /// Adds the domains' own `extra` to the variables.
    pub(super) fn own_variables(&mut self, domains: &[Domains; 2], variables: &mut crate::callback::Variables) {
        for (family, key) in Family::ALL.into_iter().zip([Key::Ipv4, Key::Ipv6]) {
            for (domain, members) in &domains[family.index()].extra {
                for member in members {
                    let place = member.key_span;
                    let (field, name) = (Field::of(key).name, &member.key);
                    if !is_placeholder_name(name) {
                        let message = format!("`{field}`: `{name}` of {domain} is not of the form `__NAME__`");
                        let hint = "use capital letters between double underscores";
                        self.reader.wrong(key, place, message, hint);
                        continue;
                    }
                    let what = format!("`{field}`: `{name}` of {domain}");
                    let Some(value) = self.resolved(key, place, member.node.value.clone(), &what) else { continue };
                    let added = variables.add_own(family, domain, name, value).map_err(|why| format!("{what} {why}"));
                    self.reader.valid(key, place, added, "");
                }
            }
        }
    }

    /// Every domain must be in a zone, if there are zones, and have a value for each placeholder for which others have
    /// one.
    pub(super) fn check_domains(&mut self, callback: &Callback, domains: &[Domains; 2]) {
        for (key, domains) in [Key::Ipv4, Key::Ipv6].into_iter().zip(domains).filter(|_| !callback.steps().is_empty()) {
            for domain in domains.names.iter().filter(|domain| !domain.as_str().is_ascii()) {
                let message = format!("`{}`: {domain}: services list a name like this in ASCII", Field::of(key).name);
                let hint = match domain.as_str() {
                    name if is_composed(name) => format!("write {}", ascii_name(name)),
                    _ => "write its ASCII form (xn--…)".to_owned(),
                };
                self.reader.warn_whole(key, message, &hint);
            }
        }
        let has_own = domains.iter().any(|domains| !domains.extra.is_empty());
        let has_zones = !callback.variables.zones.is_empty();
        if !has_own && !has_zones {
            return;
        }
        let lacking = callback.lacking();
        for (family, key) in Family::ALL.into_iter().zip([Key::Ipv4, Key::Ipv6]) {
            for domain in &domains[family.index()].names {
                let field = Field::of(key).name;
                if has_zones && callback.variables.zone_of(domain).is_none() {
                    let message = format!("`{field}`: {domain} is not below any name in `zone`");
                    let hint = "add its zone to `zone`, or move it to another entry of `providers`";
                    self.reader.wrong_whole(key, message, hint);
                }
                if let Some(name) = lacking(domain, family) {
                    let message = format!("`{field}`: {domain} has no {name}, which other domains have");
                    let hint =
                        format!("write {{\"name\": \"{domain}\", \"extra\": {{\"{name}\": …}}}}, or add it to `extra`");
                    self.reader.wrong_whole(key, message, &hint);
                }
            }
        }
    }

    /// `zone`: names, without repeats.
    pub(super) fn zones(&mut self) -> Vec<Domain> {
        let mut zones = Vec::new();
        for item in self.reader.short_list(Key::Zone) {
            // Name servers write a zone with a dot at its end.
            let text = item.value.text().unwrap_or_default().trim();
            let text = text.strip_suffix('.').filter(|text| !text.is_empty()).unwrap_or(text);
            let zone = Domain::parse(text).map_err(|why| format!("`zone`: `{text}` is not a domain name: {why}"));
            let zone = self.reader.valid(Key::Zone, item.span, zone, "");
            zones.extend(zone.filter(|zone| !zones.contains(zone)));
        }
        zones
    }
}
