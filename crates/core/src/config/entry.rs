//! One entry of a configuration: a callback, its domains and its sources, or everything that is wrong with them.

pub(super) mod callback;
pub(super) mod combine;
mod domains;
mod expect;
mod providers;
mod sign;
mod steps;
mod verify;

pub(crate) use callback::NO_PLACEHOLDER;
pub use providers::{providers, served};

use std::time::Duration;

use super::fields::{Field, Key};
use super::files::{FileContents, path_of};
use super::layers::Surroundings;
use super::raw::{Setting, Start};
use super::read::{BoolOrText, SettingReader};
use super::value::{is_auto, is_off, is_off_word};
use super::{Cache, Entry, Ssl};
use crate::address::source::{FORMS, Source};
use crate::callback::expect::Expect;
use crate::callback::{Callback, Target};
use crate::net::family::Family;
use crate::net::proxy::{self, Proxies, ProxyItem, Route};
use crate::text::diagnostic::{Place, Severity};
use crate::text::duration;
use crate::text::json::{Span, Value};

/// The default `cache_max_age` for dyndns2 services (H4).
const DYNDNS2_MAX_AGE: Duration = Duration::from_secs(28 * 86_400);

const MAX_MIN_INTERVAL: Duration = Duration::from_secs(30 * 86_400);

/// Makes one entry.
pub(super) struct EntryBuilder<'a, 'b> {
    pub(super) reader: SettingReader<'a>,
    /// Where the entry begins, for errors about something missing.
    pub(super) start: &'b Start,
    pub(super) around: &'b Surroundings,
}

impl EntryBuilder<'_, '_> {
    /// `None`: something is wrong, which is noted as an error.
    pub(super) fn entry(mut self) -> Option<Entry> {
        let before = self.errors();
        if self.is_for_other_client() {
            return None;
        }
        let ssl = self.ssl();
        let mut callback = self.callback();
        let proxies = self.proxy(callback.as_ref().map(|callback| &callback.request.target));
        let before_domains = self.errors();
        let domains = [self.domains(Key::Ipv4), self.domains(Key::Ipv6)];
        if let Some(callback) = &mut callback {
            self.own_variables(&domains, &mut callback.variables);
            self.check_domains(callback, &domains);
        }
        let [of_ipv4, of_ipv6] = domains;
        let own_verify = [of_ipv4.verify, of_ipv6.verify];
        let (domains, interface_ids) = ([of_ipv4.names, of_ipv6.names], of_ipv6.interface_ids);
        if domains.iter().all(Vec::is_empty) && self.errors() == before_domains {
            self.missing(
                "no domain is set: there is nothing to update",
                "set `ipv4` or `ipv6`, e.g. \"ipv4\": [\"home.example.com\"]",
            );
        }
        let sources = [self.sources(Key::Index4), self.sources(Key::Index6)];
        let is_sent = |family: Family| !domains[family.index()].is_empty() && !sources[family.index()].is_empty();
        let is_right = self.errors() == before_domains;
        if is_right && domains.iter().any(|names| !names.is_empty()) && !Family::ALL.into_iter().any(is_sent) {
            let message = "every family with domains is turned off: nothing is sent";
            self.note(Severity::Warning, message, &|| None);
        }
        let cache = self.reader.choice(Key::Cache).map(|choice| match choice {
            BoolOrText::Flag(true) => Cache::Standard,
            BoolOrText::Flag(false) => Cache::Off,
            BoolOrText::Text(word) if is_off_word(&word) => Cache::Off,
            BoolOrText::Text(path) => {
                self.refuse_word(Key::Cache, &path);
                self.reader.refuse_fetched_path(Key::Cache);
                Cache::File(path)
            }
        });
        let max_age = self.cache_max_age(callback.as_ref().and_then(|callback| callback.request.expect.as_ref()));
        let min_interval = self.min_interval();
        let expect = callback.as_ref().and_then(|callback| callback.request.expect.as_ref());
        let expects_memory = expect.is_some_and(Expect::must_be_remembered);
        if cache == Some(Cache::Off) && !min_interval.is_zero() {
            self.warn_forgetful(Key::MinInterval);
        } else if cache == Some(Cache::Off) && expects_memory {
            self.warn_forgetful(Key::Expect);
        } else if cache == Some(Cache::Off) && callback.as_ref().is_some_and(Callback::makes) {
            self.warn_forgetful(Key::Absent);
        }
        let timeout = self.timeout();
        let verify = self.verify();
        if self.errors() > before {
            return None;
        }
        Some(Entry {
            callback: callback?,
            domains,
            interface_ids,
            sources,
            proxies,
            ssl: ssl?,
            cache: cache?,
            cache_max_age: max_age?,
            min_interval,
            timeout: Duration::from_secs_f64(timeout?),
            verify,
            own_verify,
        })
    }

    /// A value, or the line of the file that it names (H13); `None` if there is no line, which is noted as an error.
    /// `at` is the place, `what` begins the message.
    fn resolved(&mut self, key: Key, at: Span, value: Value, what: &str) -> Option<Value> {
        self.resolved_by(key, at, value, what, FileContents::line)
    }

    /// Like `resolved`, with a function that takes the text from the file.
    fn resolved_by(
        &mut self,
        key: Key,
        at: Span,
        value: Value,
        what: &str,
        text_of: fn(&FileContents, &str) -> Result<String, String>,
    ) -> Option<Value> {
        let Some(path) = path_of(&value) else { return Some(value) };
        if self.reader.setting(key).is_some_and(Setting::is_fetched) {
            let message = format!("{what} names a file, which a fetched configuration may not");
            self.reader.wrong(key, at, message, "put it into a local file");
            return None;
        }
        let files = &self.around.files;
        let text = text_of(files, path).map_err(|why| format!("{what}: {} {why}", files.shown(path)));
        let hint = "`file` is the path of a file that contains the value on one line";
        self.reader.valid(key, at, text, hint).map(Value::String)
    }

    fn errors(&self) -> usize {
        self.reader.diagnostics.errors()
    }

    /// Notes an error or a warning about the entry as a whole.
    fn note(&mut self, severity: Severity, message: &str, hint: &dyn Fn() -> Option<String>) {
        let start = self.start;
        self.reader.diagnostics.add(severity, start.span(), message, &mut || (start.place(), hint()));
    }

    fn missing(&mut self, message: &str, hint: &str) {
        self.note(Severity::Error, message, &|| Some(hint.to_owned()));
    }

    /// Checks `dns`, and returns whether it names a service as other clients do, whose other fields mean something
    /// else.
    fn is_for_other_client(&mut self) -> bool {
        let Some(setting) = self.reader.setting(Key::Dns) else {
            // Inside `providers`, the field is called `provider`.
            let name = if matches!(self.start, Start::Entry(..)) { "provider" } else { "dns" };
            let hint = match self.start {
                Start::Whole(Place::Nowhere) => "set --dns callback, or DDNS_DNS=callback".to_owned(),
                _ => format!("add \"{name}\": \"callback\""),
            };
            self.missing(&format!("`{name}` is missing"), &hint);
            return false;
        };
        let (name, node) = (setting.name, &setting.node);
        let message = match &node.value {
            Value::String(text) if text.trim().eq_ignore_ascii_case("callback") => return false,
            Value::String(text) => format!("`{name}` is `{text}`, but the only provider is `callback`"),
            other => format!("`{name}` must be the string `callback`, not {}", other.kind()),
        };
        let way_out = node.value.text().and_then(providers::way_out);
        let is_other = way_out.is_some();
        let hint = way_out.unwrap_or_else(|| {
            format!(
                "set `{name}` to `callback` and `id` to the URL of your endpoint; `ddns recipes` lists the services with a \
                 recipe"
            )
        });
        self.reader.wrong(Key::Dns, node.span, message, &hint);
        is_other
    }

    /// `proxy`, or the environment's proxies if it is not set (D5). An environment variable with an invalid proxy is an
    /// error only if it would be used.
    pub(super) fn proxy(&mut self, target: Option<&Target>) -> Proxies {
        let is_off = |setting: &Setting| match &setting.node.value {
            Value::Bool(is_on) => !is_on,
            // Options and environment variables are always texts.
            value => value
                .text()
                .is_some_and(|text| ["false", "no", "off"].iter().any(|no| no.eq_ignore_ascii_case(text.trim()))),
        };
        let is_off = self.reader.setting(Key::Proxy).is_some_and(is_off);
        let written = if is_off { Vec::new() } else { self.reader.short_list(Key::Proxy) };
        let mut items = Vec::with_capacity(written.len());
        items.extend(is_off.then_some(ProxyItem::Direct));
        for node in &written {
            let item = ProxyItem::parse(node.value.text().unwrap_or_default()).map_err(|why| format!("`proxy` {why}"));
            let hint = format!("{}, DIRECT, SYSTEM", proxy::FORMS);
            items.extend(self.reader.valid(Key::Proxy, node.span, item, &hint));
        }
        let proxies = Proxies::new(items, &self.around.proxies);
        if self.around.proxies.is_usable() {
            return proxies;
        }
        let url = target.and_then(Target::fixed_part);
        let wrong = url.as_ref().and_then(|url| {
            proxies.routes(url).find_map(|route| match route {
                Route::Unusable(name, why) => Some((name, why.to_owned())),
                _ => None,
            })
        });
        if let Some((name, why)) = wrong {
            let forms = proxy::FORMS;
            let hint = format!("fix or unset it, add the host to NO_PROXY, or set `proxy` to `DIRECT`; {forms}");
            let mut make = || (Place::Environment(name.to_owned()), Some(hint.clone()));
            self.reader.diagnostics.add(Severity::Error, Span::default(), &format!("it {why}"), &mut make);
        }
        proxies
    }

    /// dyndns2 services treat repeated updates as abuse, so an unchanged address is sent again only after 28 days.
    fn cache_max_age(&mut self, expect: Option<&Expect>) -> Option<Duration> {
        if expect == Some(&Expect::Dyndns2) && !self.reader.is_set(Key::CacheMaxAge) {
            return Some(DYNDNS2_MAX_AGE);
        }
        self.reader.number(Key::CacheMaxAge, |_: &u64| true).map(Duration::from_secs)
    }

    /// Warns that without a cache, ddns forgets what this field needs (H6).
    fn warn_forgetful(&mut self, key: Key) {
        let name = Field::of(key).name;
        let message = format!("`cache` is off: ddns forgets what `{name}` needs when it exits");
        self.reader.warn_whole(key, message, "leave `cache` on");
    }

    /// In seconds.
    pub(super) fn timeout(&mut self) -> Option<f64> {
        self.reader.number(Key::Timeout, |seconds: &f64| *seconds > 0.0 && *seconds <= 3600.0)
    }

    /// Zero if it is not set, or wrong.
    fn min_interval(&mut self) -> Duration {
        let Some(text) = self.reader.digits(Key::MinInterval) else { return Duration::ZERO };
        duration::parse(text).filter(|interval| *interval <= MAX_MIN_INTERVAL).unwrap_or_else(|| {
            let allowed = Field::of(Key::MinInterval).allowed;
            let message = format!("`min_interval` must be {allowed}, and at most 30 days, not `{text}`");
            self.reader.wrong_whole(Key::MinInterval, message, "");
            Duration::ZERO
        })
    }

    /// Refuses a word for yes or no where it would be the name of a file.
    fn refuse_word(&mut self, key: Key, path: &str) {
        let meant = match path.to_ascii_lowercase().as_str() {
            "off" | "disabled" | "null" | "none" => "false",
            "on" | "enabled" | "auto" => "true",
            _ => return,
        };
        let message = format!("`{}` would be a file called `{path}`", Field::of(key).name);
        self.reader.wrong_whole(key, message, &format!("write `{meant}`, or ./{path} for a file of this name"));
    }

    pub(super) fn ssl(&mut self) -> Option<Ssl> {
        Some(match self.reader.choice(Key::Ssl)? {
            BoolOrText::Text(text) if is_auto(&text) => Ssl::Auto,
            BoolOrText::Flag(true) => Ssl::Verify,
            BoolOrText::Flag(false) => {
                let message = "`ssl` is off: anyone who intercepts the connection gets your keys";
                self.reader.warn_whole(Key::Ssl, message, "set the CA file instead: \"ssl\": \"/path/to/ca.pem\"");
                Ssl::Off
            }
            BoolOrText::Text(path) => {
                self.refuse_word(Key::Ssl, &path);
                self.reader.refuse_fetched_path(Key::Ssl);
                Ssl::Ca(path)
            }
        })
    }

    /// `index4`, `index6`: empty if the family is switched off.
    fn sources(&mut self, key: Key) -> Vec<Source> {
        let name = Field::of(key).name;
        let items = self.reader.short_list(key);
        if items.len() == 1 && is_off(&items[0].value) {
            return Vec::new();
        }
        let fetched = self.reader.setting(key).is_some_and(Setting::is_fetched);
        let mut sources = Vec::new();
        for item in &items {
            let parsed = match &item.value {
                Value::String(text) | Value::Number(text) => Source::parse(text),
                other => Err(format!("{} is not a source of addresses", other.kind())),
            };
            let hint = if parsed.is_err() { format!("use one of {FORMS}") } else { String::new() };
            let parsed = parsed.map_err(|why| format!("`{name}`: {why}"));
            let Some(source) = self.reader.valid(key, item.span, parsed, &hint) else { continue };
            let doubt = if fetched && source.runs_a_program() {
                let why = format!("{source} would run a program, which a fetched configuration may not");
                Some((Severity::Error, why, "put `cmd:` and `shell:` into a local file"))
            } else if key == Key::Index6 && source.asks_router() {
                let why = format!("{source} gives only IPv4 addresses");
                Some((Severity::Error, why, "this host has an IPv6 address of its own: use `default`"))
            } else if let Some(sign) = source.sign_for_shell() {
                let why = format!("`cmd:` runs one program without a shell, so `{sign}` is only an argument");
                Some((Severity::Warning, why, "use `shell:` in place of `cmd:`"))
            } else {
                None
            };
            if let Some((severity, why, hint)) = doubt {
                self.reader.note(severity, key, item.span, &format!("`{name}`: {why}"), hint);
            }
            sources.push(source);
        }
        sources
    }
}
