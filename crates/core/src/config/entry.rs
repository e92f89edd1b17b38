//! One entry of a configuration: a callback, its domains and its sources, or everything that is wrong with them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::fields::{Field, Key};
use super::raw::{Setting, Start};
use super::read::{Choice, Reader};
use super::{Cache, Entry, Ssl};
use crate::address::source::{FORMS, Source};
use crate::callback::{Body, Callback, Target, TargetError, Variables};
use crate::net::family::Family;
use crate::net::proxy::{Item, Proxies, ProxyError, Route, System};
use crate::text::diagnostic::{Diagnostic, Place, Severity};
use crate::text::json::{Dialect, Node, Value, is_placeholder_name, parse};
use crate::update::domain::Domain;

/// Makes one entry.
pub(super) struct Maker<'a, 'b> {
    pub(super) reader: Reader<'a>,
    /// Where the entry begins: the place of what is missing.
    pub(super) start: &'b Start,
    /// The environment's proxies.
    pub(super) system: &'b Arc<System>,
}

impl Maker<'_, '_> {
    /// None where something is wrong: it is among the errors then.
    pub(super) fn entry(mut self) -> Option<Entry> {
        let before = self.errors();
        self.dns();
        let ssl = self.ssl();
        let variables = self.variables();
        let mut unknown = Vec::new();
        let target = self.target(&variables, &mut unknown);
        let proxies = self.proxy(target.as_ref());
        let body = self.body(&variables, &mut unknown);
        self.warn_unknown(&unknown, &variables);
        let before_domains = self.errors();
        let domains = [self.domains(Key::Ipv4), self.domains(Key::Ipv6)];
        if domains.iter().all(Vec::is_empty) && self.errors() == before_domains {
            self.missing(
                "no domain is named: there is nothing to tell",
                "set `ipv4` or `ipv6`, e.g. \"ipv4\": [\"home.example.com\"]",
            );
        }
        let sources = [self.sources(Key::Index4), self.sources(Key::Index6)];
        let is_told = |family: Family| !domains[family.index()].is_empty() && !sources[family.index()].is_empty();
        if domains.iter().any(|names| !names.is_empty()) && !Family::ALL.into_iter().any(is_told) {
            let message = "every family that has domains is switched off: nothing is told";
            self.reader.diagnostics.push(Diagnostic::warning(self.start.place(), message));
        }
        self.reader.refuse_fetched_path(Key::Cache);
        let cache = match self.reader.choice(Key::Cache) {
            None | Some(Choice::Flag(true)) => Cache::Standard,
            Some(Choice::Flag(false)) => Cache::Off,
            Some(Choice::Text(path)) => Cache::File(path),
        };
        let max_age = self.reader.number(Key::CacheMaxAge, |_: &u64| true).unwrap_or(259_200);
        let timeout = self.reader.number(Key::Timeout, |seconds: &f64| *seconds > 0.0 && *seconds <= 3600.0);
        if self.errors() > before {
            return None;
        }
        Some(Entry {
            callback: Callback { target: target?, body, variables },
            domains,
            sources,
            proxies,
            ssl,
            cache,
            cache_max_age: Duration::from_secs(max_age),
            timeout: Duration::from_secs_f64(timeout.unwrap_or(30.0)),
        })
    }

    fn errors(&self) -> usize {
        self.reader.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    }

    fn missing(&mut self, message: &str, hint: &str) {
        self.reader.diagnostics.push(Diagnostic::error(self.start.place(), message).hint(hint));
    }

    fn dns(&mut self) {
        let Some(setting) = self.reader.setting(Key::Dns) else {
            // An entry of `providers` has a place of its own.
            let name = if matches!(self.start, Start::Entry(..)) { "provider" } else { "dns" };
            let hint = match self.start {
                Start::Whole(Place::Nowhere) => "set --dns callback, or DDNS_DNS=callback".to_owned(),
                _ => format!("add \"{name}\": \"callback\""),
            };
            self.missing(&format!("`{name}` is missing"), &hint);
            return;
        };
        let (name, node) = (setting.name, &setting.node);
        let message = match &node.value {
            Value::String(text) if text.trim().eq_ignore_ascii_case("callback") => return,
            Value::String(text) => format!("`{name}` is `{text}`; the one provider of this program is `callback`"),
            other => format!("`{name}` must be the string `callback`, not {}", other.kind()),
        };
        let hint = format!("set `{name}` to `callback` and `id` to an address that takes the update");
        self.reader.wrong(Key::Dns, node, message, Some(hint));
    }

    /// `proxy`; what the environment says where it is not set (D5). A variable that names no proxy is an error only where
    /// it would be used.
    fn proxy(&mut self, target: Option<&Target>) -> Proxies {
        let written = self.reader.list(Key::Proxy);
        let mut items = Vec::with_capacity(written.len());
        for node in &written {
            match Item::parse(node.value.text().unwrap_or_default()) {
                Ok(item) => items.push(item),
                Err(why) => {
                    let hint = Some(format!("{}, DIRECT, SYSTEM", ProxyError::FORMS));
                    self.reader.wrong(Key::Proxy, node, format!("`proxy` {why}"), hint);
                }
            }
        }
        if written.is_empty() {
            items.push(Item::System);
        }
        let proxies = Proxies::new(items, self.system);
        let url = target.and_then(Target::fixed_part);
        let wrong = url.as_ref().and_then(|url| {
            proxies.routes(url).find_map(|route| match route {
                Route::Unusable(name, why) => Some((name, why.to_string())),
                _ => None,
            })
        });
        if let Some((name, why)) = wrong {
            let forms = ProxyError::FORMS;
            let hint = format!("mend or unset it, add the host to NO_PROXY, or set `proxy` to `DIRECT`; {forms}");
            let place = Place::Environment(name.to_owned());
            self.reader.diagnostics.push(Diagnostic::error(place, format!("it {why}")).hint(hint));
        }
        proxies
    }

    fn ssl(&mut self) -> Ssl {
        self.reader.refuse_fetched_path(Key::Ssl);
        match self.reader.choice(Key::Ssl) {
            None => Ssl::Auto,
            Some(Choice::Text(text)) if text.eq_ignore_ascii_case("auto") => Ssl::Auto,
            Some(Choice::Flag(true)) => Ssl::Verify,
            Some(Choice::Flag(false)) => {
                let message = "`ssl` is off: whoever answers in the endpoint's place gets your keys";
                self.reader.warn_whole(Key::Ssl, message, "name the CA's file instead: \"ssl\": \"/path/to/ca.pem\"");
                Ssl::Off
            }
            Some(Choice::Text(path)) => Ssl::Ca(path),
        }
    }

    fn variables(&mut self) -> Variables {
        let ttl = self.reader.number(Key::Ttl, |_: &u32| true);
        let mut variables = Variables::new(ttl, self.reader.text(Key::Line));
        let members = match self.reader.object(Key::Extra).map(|node| node.value) {
            Some(Value::Object(members)) => members,
            _ => Vec::new(),
        };
        for member in members {
            let node = Node { span: member.node.span, value: Value::Null };
            if !is_placeholder_name(&member.key) {
                let message = format!("`extra`: `{}` has not the form `__NAME__` and so no effect", member.key);
                self.reader.warn_whole(Key::Extra, message, "names are capital letters between double underscores");
            } else if let Err(why) = variables.add(&member.key, member.node.value) {
                self.reader.wrong(Key::Extra, &node, format!("`extra`: `{}` {why}", member.key), None);
            }
        }
        variables
    }

    fn target(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Option<Target> {
        let before = self.errors();
        let endpoint = self.reader.text(Key::Endpoint).unwrap_or_default();
        let id = self.reader.text(Key::Id).unwrap_or_default();
        if self.errors() > before {
            return None;
        }
        let error = match Target::new(&endpoint, &id, variables, unknown) {
            Ok(target) => {
                self.warn_target(&target, &endpoint, variables);
                return Some(target);
            }
            Err(error) => error,
        };
        match error {
            TargetError::Empty => {
                let hint = "set `id` to the address to call, e.g. https://example.com/update?ip=__IP__&name=__DOMAIN__";
                self.missing("`id` and `endpoint` are both empty: there is no address to call", hint);
            }
            TargetError::Relative(likely) => {
                let message = "`id` is no whole address, and there is no `endpoint` to append it to";
                self.reader.wrong_whole(Key::Id, message, Some(format!("did you mean {likely} ?")));
            }
            TargetError::Endpoint(why) => {
                self.reader.wrong_whole(Key::Endpoint, format!("`endpoint` {why}"), None);
            }
            TargetError::Id(why) => self.reader.wrong_whole(Key::Id, format!("`id` {why}"), None),
        }
        None
    }

    fn warn_target(&mut self, target: &Target, endpoint: &str, variables: &Variables) {
        if target.has_fragment() {
            self.reader.warn_whole(
                Key::Id,
                "`id` has a `#`: what follows it is never sent",
                "a `#` that is meant is written %23",
            );
        }
        if let Some(name) = variables.names().find(|name| endpoint.contains(name)) {
            let message = format!("`endpoint` holds {name}, which is not filled in there");
            self.reader.warn_whole(Key::Endpoint, message, "placeholders belong into `id` or `token`");
        }
    }

    fn warn_unknown(&mut self, unknown: &[String], variables: &Variables) {
        for (at, name) in unknown.iter().enumerate() {
            if unknown[..at].contains(name) {
                continue;
            }
            let mut warning =
                Diagnostic::warning(self.start.place(), format!("{name} is no placeholder: it is sent as it is"));
            warning.hint = nearest_placeholder(name, variables).map(|near| format!("did you mean {near}?"));
            self.reader.diagnostics.push(warning);
        }
    }

    /// `token`: none where it is empty (B7).
    fn body(&mut self, variables: &Variables, unknown: &mut Vec<String>) -> Option<Body> {
        let setting = self.reader.setting(Key::Token)?;
        let (document, in_string) = match &setting.node.value {
            Value::String(text) if text.trim().is_empty() => return None,
            Value::String(text) => match parse(text, Dialect::TOKEN) {
                Ok(document) => (document, true),
                Err(error) => {
                    let (at, all) = (text[..error.span.start].chars().count() + 1, text.chars().count());
                    let place = if at > all { "at its end".to_owned() } else { format!("at character {at} of {all}") };
                    let message = format!("`token` is no JSON: {place}, {}", error.message);
                    let hint = "a token is a JSON object, or a string that holds one, e.g. {\"ip\": \"__IP__\"}";
                    self.reader.wrong_whole(Key::Token, message, Some(hint.to_owned()));
                    return None;
                }
            },
            _ => (setting.node.clone(), false),
        };
        // A string that is not blank is not empty: `"{}"` is a body (B7).
        if !in_string && document.value.members().is_some_and(<[_]>::is_empty) {
            return None;
        }
        match Body::new(&document, variables, unknown) {
            Ok(Some(body)) => return Some(body),
            Ok(None) => {
                let kind = document.value.kind();
                let message = format!("`token` must be {}, not {kind}", Field::of(Key::Token).allowed());
                self.reader.wrong_whole(Key::Token, message, None);
            }
            Err(node) => {
                let message = match (&node.value, in_string) {
                    (Value::Placeholder(name), true) => {
                        let text = setting.node.value.text().unwrap_or_default();
                        let at = text.get(..node.span.start).unwrap_or_default().chars().count() + 1;
                        format!("`token` is no JSON: at character {at}, {name} has no value")
                    }
                    _ => "`token` holds a placeholder that has no value".to_owned(),
                };
                let hint = "put it in double quotes to send it as it is";
                self.reader.wrong_whole(Key::Token, message, Some(hint.to_owned()));
            }
        }
        None
    }

    fn domains(&mut self, key: Key) -> Vec<Domain> {
        let items = self.reader.list(key);
        let mut domains = Vec::with_capacity(items.len());
        let mut known = HashSet::with_capacity(items.len());
        for item in items {
            let text = item.value.text().unwrap_or_default();
            match Domain::parse(text) {
                Ok(domain) => {
                    if text.contains(['/', ':', '@']) {
                        let place = self.reader.setting(key).map(|setting| setting.place(Field::of(key), item.span));
                        let message = format!(
                            "`{}`: `{domain}` is told as it is, but is hardly a domain name",
                            Field::of(key).name
                        );
                        self.reader.diagnostics.extend(place.map(|place| Diagnostic::warning(place, message)));
                    }
                    if known.insert(domain.clone()) {
                        domains.push(domain);
                    }
                }
                Err(why) => {
                    let text: String =
                        text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(80).collect();
                    let message = format!("`{}`: `{text}` is no domain name: {why}", Field::of(key).name);
                    self.reader.wrong(key, &item, message, None);
                }
            }
        }
        domains
    }

    /// `index4`, `index6`: `default` where nothing is set; empty where the family is switched off.
    fn sources(&mut self, key: Key) -> Vec<Source> {
        let name = Field::of(key).name;
        let is_off = |node: &Node| match &node.value {
            Value::Bool(value) => !value,
            Value::String(text) => text.trim().eq_ignore_ascii_case("false"),
            _ => false,
        };
        let items = self.reader.list(key);
        if items.len() == 1 && is_off(&items[0]) {
            return Vec::new();
        }
        let fetched = self.reader.setting(key).is_some_and(Setting::is_fetched);
        let mut sources = Vec::new();
        for item in &items {
            let parsed = match &item.value {
                Value::String(text) | Value::Number(text) => Source::parse(text),
                other => Err(format!("{} is no source of addresses", other.kind())),
            };
            match parsed {
                Ok(source) if fetched && source.runs_a_program() => {
                    let message =
                        format!("`{name}`: {source} would run a program, which a fetched configuration may not");
                    self.reader.wrong(
                        key,
                        item,
                        message,
                        Some("put `cmd:` and `shell:` into a file of this machine".to_owned()),
                    );
                }
                Ok(source) => sources.push(source),
                Err(why) => {
                    self.reader.wrong(key, item, format!("`{name}`: {why}"), Some(format!("possible are {FORMS}")));
                }
            }
        }
        if sources.is_empty() { vec![Source::Default] } else { sources }
    }
}

fn nearest_placeholder<'a>(name: &str, variables: &'a Variables) -> Option<&'a str> {
    let name = name.to_ascii_uppercase();
    let likeness = |known: &&str| strsim::levenshtein(known, &name);
    variables.names().filter(|known| likeness(known) <= 3).min_by_key(likeness)
}
