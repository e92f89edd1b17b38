//! Warnings about settings that are valid but probably a mistake. Only `ddns check` shows them, because they need a
//! second pass over everything.

use std::collections::{HashMap, HashSet};

use super::fields::{Field, Key};
use super::raw::{FileLayers, Raw};
use super::read::SettingReader;
use super::validate::Surroundings;
use super::value::domain_name;
use super::{Config, Entry, Notification};
use crate::callback::{Notice, Timestamp};
use crate::dns::why_not_asked;
use crate::net::family::Family;
use crate::net::url::Url;
use crate::notify::NotifyEvent;
use crate::text::diagnostic::{Diagnostic, Place, Severity};
use crate::text::diagnostics::Diagnostics;
use crate::text::json::{Node, Span};
use crate::update::domain::Domain;

/// The warnings about a valid configuration and the file that it was made from.
pub fn lint(config: &Config, written: Option<&FileLayers>, around: &Surroundings) -> Vec<Diagnostic> {
    let empty = Raw::default();
    let file = written.map_or(&empty, |written| &written.file);
    let raws: Vec<&Raw> = match written.and_then(|written| written.entries.as_ref()) {
        Some(entries) => entries.iter().map(|(raw, _)| raw).collect(),
        None => vec![&empty],
    };
    let mut warnings = Diagnostics::default();
    for (raw, entry) in raws.into_iter().zip(&config.entries) {
        let mut reader = SettingReader { layers: around.layers(raw, file), diagnostics: &mut warnings };
        warn_plain(&mut reader, entry);
        warn_without_address(&mut reader, entry);
        warn_without_domain(&mut reader, entry);
        hint_at_dyndns2(&mut reader, entry);
        warn_not_asked(&mut reader, entry);
        for key in [Key::Ipv4, Key::Ipv6] {
            warn_twice(&mut reader, key);
        }
    }
    let mut reader = SettingReader { layers: around.layers(&empty, file), diagnostics: &mut warnings };
    let objects = if config.notify.is_empty() { Vec::new() } else { reader.objects(Key::Notify) };
    for (object, notification) in objects.iter().zip(&config.notify) {
        warn_about(&mut reader, object, notification, config.group.is_some());
    }
    warnings.into_vec(&Place::file(&config.name))
}

/// Warns about a notification that tells its reader too little, never fires, or sends keys unencrypted.
fn warn_about(
    reader: &mut SettingReader<'_>,
    object: &Node,
    Notification { callback, on, .. }: &Notification,
    has_group: bool,
) {
    let mut warn = |message: String, hint: &str| {
        reader.note(Severity::Warning, Key::Notify, object.span, &message, hint);
    };
    let url = callback.url(&Notice::default(), Timestamp { seconds: 0, micros: 0 }).ok();
    if let Some(host) = url.filter(|url| !callback.request.target.is_secure() && !url.is_local()).map(|url| url.host)
        && !callback.secrets().is_empty()
    {
        let message = format!("`notify`: an unencrypted http address: anyone on the path to {host} can read your keys");
        warn(message, "use https:// if the service supports it");
    }
    if on.iter().count() > 1 && !callback.uses("__EVENT__") && !callback.uses("__MESSAGE__") {
        let message = "`notify`: neither __EVENT__ nor __MESSAGE__ is sent: its reader cannot tell what happened";
        warn(message.to_owned(), "put __MESSAGE__ into `id` or `token`, or name one event in `on`");
    }
    let of_group: Vec<String> =
        on.iter().filter(|event| event.is_of_group()).map(|event| format!("`{}`", event.key())).collect();
    if !has_group && !of_group.is_empty() {
        let verb = if of_group.len() == 1 { "happens" } else { "happen" };
        let message = format!("`notify`: {} never {verb} without `group`", of_group.join(" and "));
        warn(message, "leave it out of `on`, or add `group`");
    }
    let has_updates = on.iter().any(NotifyEvent::names_updates);
    for name in ["__DOMAINS__", "__DOMAIN__", "__IP__", "__OLDIP__", "__RECORDTYPE__"] {
        let is_set = has_updates && (name != "__OLDIP__" || on.has(NotifyEvent::Changed));
        if callback.uses(name) && !is_set {
            let words: Vec<&str> = on.iter().map(NotifyEvent::key).collect();
            warn(format!("`notify`: {name} is always empty on {}", words.join(", ")), "use __MESSAGE__");
        }
    }
    let counts = on.has(NotifyEvent::Failed) || on.has(NotifyEvent::Recovered);
    if !counts && object.value.members().is_some_and(|members| members.iter().any(|member| member.key == "after")) {
        warn("`notify`: `after` has no effect without `failed` or `recovered` in `on`".to_owned(), "leave it out");
    }
}

/// Warns if keys are sent unencrypted.
fn warn_plain(reader: &mut SettingReader<'_>, entry: &Entry) {
    if entry.callback.request.target.is_secure() || entry.callback.secrets().is_empty() {
        return;
    }
    let Some(host) = sample(entry).filter(|url| !url.is_local()).map(|url| url.host) else { return };
    let is_whole = |text: &str| text.contains("://");
    let id = reader.setting(Key::Id).and_then(|setting| setting.node.value.text());
    let key = if id.is_some_and(is_whole) { Key::Id } else { Key::Endpoint };
    let name = Field::of(key).name;
    let message = format!("`{name}` is an unencrypted http address: anyone on the path to {host} can read your keys");
    reader.warn_whole(key, message, "use https:// if the endpoint supports it");
}

/// The setting that a warning about the whole request is shown at.
fn key_of_url(reader: &SettingReader<'_>) -> Key {
    if reader.setting(Key::Id).is_some() { Key::Id } else { Key::Endpoint }
}

/// Warns if the request does not contain the address. Some endpoints take the address of the connection instead.
fn warn_without_address(reader: &mut SettingReader<'_>, entry: &Entry) {
    if entry.callback.has_address() {
        return;
    }
    let key = key_of_url(reader);
    let message = "neither `id` nor `token` contains __IP__: the endpoint is not told the address";
    let hint = "e.g. add ip=__IP__ to `id`, unless the endpoint takes the address of the connection";
    reader.warn_whole(key, message, hint);
}

/// Warns if the requests for several domains are all the same.
fn warn_without_domain(reader: &mut SettingReader<'_>, entry: &Entry) {
    let most = Family::ALL.map(|family| entry.domains_of(family).len()).into_iter().max().unwrap_or(0);
    if most < 2 || entry.callback.has_domain() {
        return;
    }
    let key = key_of_url(reader);
    let message = format!("neither `id` nor `token` contains __DOMAIN__: {most} domains send the same request");
    reader.warn_whole(key, message, "e.g. add name=__DOMAIN__ to `id`, or name one domain");
}

/// Warns about names that ddns asks no DNS server about, whatever `verify` says (K9).
fn warn_not_asked(reader: &mut SettingReader<'_>, entry: &Entry) {
    for (family, key) in Family::ALL.into_iter().zip([Key::Ipv4, Key::Ipv6]) {
        for domain in entry.domains_of(family).iter().filter(|domain| entry.verify_of(domain, family).is_some()) {
            if let Some(why) = why_not_asked(domain.as_str()) {
                let message = format!("`verify`: {domain} {why}: no DNS server is asked about it");
                let is_ascii = domain.as_str().is_ascii();
                reader.warn_whole(key, message, if is_ascii { "" } else { "write the `xn--` form of the name" });
            }
        }
    }
}

/// A dyndns2 service responds with 200 even when it refuses an update.
fn hint_at_dyndns2(reader: &mut SettingReader<'_>, entry: &Entry) {
    let is_dyndns2 = |url: &Url| url.path.starts_with("/nic/update") || url.path.starts_with("/v3/update");
    if entry.callback.request.expect.is_none() && sample(entry).as_ref().is_some_and(is_dyndns2) {
        let message = "this looks like a dyndns2 service, whose response text says whether it accepted an update";
        reader.warn_whole(Key::Id, message, "add \"expect\": \"dyndns2\"");
    }
}

/// A URL that an entry calls, with sample addresses; `None` if none can be rendered.
fn sample(entry: &Entry) -> Option<Url> {
    let now = Timestamp { seconds: 0, micros: 0 };
    let mut updates = Family::ALL.into_iter().flat_map(|family| {
        let domains = entry.domains_of(family).iter();
        domains.map(move |domain| entry.update(domain, family, family.documentation()))
    });
    updates.find_map(|update| entry.callback.url(&update, now).ok())
}

/// A name listed twice is updated once; perhaps another name was meant.
fn warn_twice(reader: &mut SettingReader<'_>, key: Key) {
    let Some(setting) = reader.setting(key) else { return };
    let field = Field::of(key);
    let mut known = HashSet::new();
    for item in reader.list(key) {
        let Some(domain) = domain_name(&item).and_then(|text| Domain::parse(text).ok()) else { continue };
        if known.contains(&domain) {
            // Report each name once, however often it is listed.
            let message = format!("`{}`: {domain} is listed twice; it is updated once", field.name);
            let mut make = || (setting.place(field, item.span), None);
            reader.diagnostics.add(Severity::Warning, setting.node.span, &message, &mut make);
        } else {
            known.insert(domain);
        }
    }
}

/// Domains for which two entries send the same request: each update is sent twice.
pub fn sent_twice(configs: &[&Config]) -> Vec<Diagnostic> {
    let mut first: HashMap<_, (&str, usize)> = HashMap::new();
    let mut all = Vec::new();
    for config in configs {
        let (place, mut warnings) = (Place::file(&config.name), Diagnostics::default());
        for (number, entry) in config.entries.iter().enumerate() {
            let callback = entry.callback.fingerprint(b"");
            let mut again: Vec<(&Domain, Family, (&str, usize))> = Vec::new();
            for family in Family::ALL {
                for domain in entry.domains_of(family) {
                    let callback = entry.callback.fingerprint_of(callback, domain, family);
                    match first.get(&(callback, domain, family)) {
                        Some(before) => again.push((domain, family, *before)),
                        None => {
                            first.insert((callback, domain, family), (&config.name, number));
                        }
                    }
                }
            }
            let Some((domain, family, (name, before))) = again.first() else { continue };
            let more = if again.len() > 1 { format!(" (and {} more)", again.len() - 1) } else { String::new() };
            let other = if *name == config.name {
                format!("entry {}", before + 1)
            } else {
                format!("{name}, entry {}", before + 1)
            };
            let record = family.record_type();
            let message = format!("entry {} sends {domain} {record}{more} to the same endpoint as {other}", number + 1);
            let mut make = || (place.clone(), Some("remove it from one of them".to_owned()));
            warnings.add(Severity::Warning, Span::default(), &message, &mut make);
        }
        all.extend(warnings.into_vec(&place));
    }
    all
}

/// Names in `web.push` that no domain takes its address from: their pushes are refused.
pub fn unused_pushes(configs: &[&Config]) -> Vec<Diagnostic> {
    let is_used = |name: &str| {
        let mut entries = configs.iter().flat_map(|config| &config.entries);
        entries.any(|entry| Family::ALL.into_iter().any(|family| entry.takes_pushed(family, name)))
    };
    let webs = configs.iter().filter_map(|config| Some((config, config.web.as_ref()?)));
    let unused = webs.flat_map(|(config, web)| web.push.iter().map(move |rule| (config, &rule.name)));
    let warning = |(config, name): (&&Config, &String)| {
        let message = format!("`web.push.{name}`: no domain takes its address from push:{name}: pushes are refused");
        let hint = format!("put \"push:{name}\" into `index4` or `index6` of an entry with domains of that family");
        Diagnostic::warning(Place::file(&config.name), message).hint(hint)
    };
    unused.filter(|(_, name)| !is_used(name)).map(warning).collect()
}

#[cfg(test)]
mod tests {

    use super::super::raw::{Document, read};
    use super::super::validate::validate;
    use super::*;

    fn warnings(text: &str) -> Vec<String> {
        let document = Document::local("c.json", text);
        let around = Surroundings::default();
        let written = || read(&document).expect("JSON");
        let (config, _) = validate("c.json", Some(written()), &around).expect("valid");
        let mut warnings = lint(&config, Some(&written()), &around);
        warnings.extend(sent_twice(&[&config]));
        warnings.iter().map(Diagnostic::one_line).collect()
    }

    #[test]
    fn each_warning_stands_at_its_place() {
        let cases: [(&str, &[&str]); 12] = [
            (r#"{"dns":"callback","id":"https://h.example/?k=1&ip=__IP__","ipv4":"a.example"}"#, &[]),
            (r#"{"dns":"callback","id":"http://h.example/?ip=__IP__","ipv4":"a.example"}"#, &[]),
            (r#"{"dns":"callback","id":"http://192.168.1.1/?k=1&__IP__","ipv4":"a.example"}"#, &[]),
            (
                r#"{"dns":"callback","id":"http://h.example/?k=1&__IP__","ipv4":"a.example"}"#,
                &[
                    "c.json:1:24: `id` is an unencrypted http address: anyone on the path to h.example can read your keys \
                   (use https:// if the endpoint supports it)",
                ],
            ),
            (
                r#"{"dns":"callback","endpoint":"http://u:p@h.example","id":"__IP__","ipv6":"a.example"}"#,
                &[
                    "c.json:1:30: `endpoint` is an unencrypted http address: anyone on the path to h.example can read your keys \
                   (use https:// if the endpoint supports it)",
                ],
            ),
            (
                r#"{"dns":"callback","id":"https://h/__DOMAIN__/__IP__","ipv4":["a.example","b.example"," A.example","a.example"]}"#,
                &["c.json:1:86: `ipv4`: a.example is listed twice; it is updated once"],
            ),
            (
                r#"{"id":"https://h/__DOMAIN__/__IP__","providers":[{"provider":"callback","ipv4":"a.example"},
                    {"provider":"callback","ipv4":["b.example","a.example"],"ipv6":"a.example"}]}"#,
                &["c.json: entry 2 sends a.example A to the same endpoint as entry 1 (remove it from one of them)"],
            ),
            (
                r#"{"id":"https://h/__IP__","ipv4":"a.example","providers":[{"provider":"callback"},
                    {"provider":"callback","ttl":5}]}"#,
                &[],
            ),
            (r#"{"dns":"callback","id":"https://h/","token":{"a":["__IP__"]},"ipv4":"a.example"}"#, &[]),
            (
                r#"{"dns":"callback","id":"https://h/?d=__DOMAIN__","ipv4":"a.example"}"#,
                &["c.json:1:24: neither `id` nor `token` contains __IP__: the endpoint is not told the address \
                   (e.g. add ip=__IP__ to `id`, unless the endpoint takes the address of the connection)"],
            ),
            (
                r#"{"dns":"callback","id":"https://h/?ip=__IP__","ipv4":["a.example","b.example"],"ipv6":"a.example"}"#,
                &[
                    "c.json:1:24: neither `id` nor `token` contains __DOMAIN__: 2 domains send the same request (e.g. add \
                   name=__DOMAIN__ to `id`, or name one domain)",
                ],
            ),
            (
                // Keys of the body are not substituted, and neither is `endpoint`.
                r#"{"dns":"callback","endpoint":"https://h/__IP__","token":{"__IP__":"x"},"ipv4":"a.example"}"#,
                &["c.json:1:30: neither `id` nor `token` contains __IP__: the endpoint is not told the address \
                   (e.g. add ip=__IP__ to `id`, unless the endpoint takes the address of the connection)"],
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(warnings(text), expected, "{text}");
        }
    }
}
