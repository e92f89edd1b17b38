//! `ddns addresses`: every address of this host with the verdict on it, what each configured source says now, and which
//! one is told and why. Sends no callback.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use ddns_core::address::local::is_private;
use ddns_core::address::observation::Choice;
use ddns_core::config::Entry;
use ddns_core::config::fields::{Field, Key};
use ddns_core::config::raw::Origin;
use ddns_core::net::family::Family;
use ddns_core::net::local_address::{Lifetime, LocalAddress, Scope};
use ddns_core::text::calendar::in_words;
use ddns_core::text::json::{Node, Value, pretty};

use crate::cli::{Given, Settings};
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::lookup;
use crate::lookup::Limits;
use crate::output::complain;
use crate::output::layout::{WIDTH, broken};
use crate::output::print;

/// What one source said.
struct Asked {
    source: String,
    answer: Result<Choice, String>,
    took: Duration,
}

/// The sources of some domains, in the order in which they are asked.
struct List {
    family: Family,
    domains: Vec<String>,
    asked: Vec<Asked>,
}

/// Everything that is shown.
struct Report {
    local: Vec<LocalAddress>,
    lists: Vec<List>,
}

/// Looks, asks and shows. 0 whatever was found; 2 for a wrong configuration.
pub(crate) async fn run(given: Given) -> u8 {
    let form = given.form();
    let mut settings = given.settings;
    let environment = Environment::read();
    let client = Client::default();
    let is_configured = !settings.files.is_empty() || load::has_file(&environment);
    if !is_configured {
        complete(&mut settings, &environment);
    }
    let configs = match load::load(settings, &environment, &client).await {
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    let local = lookup::local_addresses().unwrap_or_else(|why| {
        let _ = writeln!(io::stderr(), "warning: the addresses of this host cannot be listed: {why}");
        Vec::new()
    });
    let entries: Vec<&Entry> = configs.iter().flat_map(|(config, _)| &config.entries).collect();
    let mut report = Report { local, lists: Vec::new() };
    for family in Family::ALL {
        for (asked_by, mut domains) in lists_of(&entries, family) {
            let mut asked = Vec::new();
            for source in asked_by.sources_of(family) {
                let start = Instant::now();
                let answer = lookup::look(source, family, Limits::of(asked_by), &client).await;
                asked.push(Asked { source: source.to_string(), answer, took: start.elapsed() });
            }
            domains.truncate(if is_configured { domains.len() } else { 0 });
            report.lists.push(List { family, domains, asked });
        }
    }
    print(&if form.json { pretty(&report.json()) } else { report.text(form.wide) })
}

/// Sources can be tried without a configuration: what else one needs is filled in, and not used.
fn complete(settings: &mut Settings, environment: &Environment) {
    let needed = [
        (Key::Dns, "callback"),
        (Key::Id, "http://localhost/"),
        (Key::Ipv4, "this-host.example"),
        (Key::Ipv6, "this-host.example"),
    ];
    for (key, value) in needed {
        let variable = Field::of(key).variable.unwrap_or_default();
        if settings.options.get(key).is_none() && environment.get(variable).is_none() {
            settings.options.set(key, Node::synthetic(Value::string(value)), Origin::Option(String::new()));
        }
    }
}

/// Each distinct list of sources once: an entry that has it, and the domains of all that do.
fn lists_of<'a>(entries: &[&'a Entry], family: Family) -> Vec<(&'a Entry, Vec<String>)> {
    let mut lists: Vec<(&Entry, Vec<String>)> = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.domains_of(family).is_empty()) {
        let names = entry.domains_of(family).iter().map(ToString::to_string);
        match lists.iter_mut().find(|(known, _)| known.sources_of(family) == entry.sources_of(family)) {
            Some((_, domains)) => domains.extend(names),
            None => lists.push((entry, names.collect())),
        }
    }
    lists
}

impl List {
    /// The first source that gave an address.
    fn chosen(&self) -> Option<(&Asked, &Choice)> {
        self.asked.iter().find_map(|asked| asked.answer.as_ref().ok().map(|choice| (asked, choice)))
    }

    fn text(&self, wide: bool) -> String {
        let domains = match self.domains.as_slice() {
            [] => String::new(),
            [one] => format!("for {one}"),
            [one, .., last] => format!("for {one} to {last} ({} domains)", self.domains.len()),
        };
        let mut text = fitted(&format!("\n{} ({})", self.family, self.family.record_type()), &domains, wide);
        for asked in &self.asked {
            let took = asked.took.as_millis();
            let said = match &asked.answer {
                Ok(choice) => format!("{} ({took} ms): {}", choice.ip, choice.why),
                Err(why) => format!("no address ({took} ms): {why}"),
            };
            text += &fitted(&format!("  {}", asked.source), &said, wide);
        }
        let Some((asked, choice)) = self.chosen() else {
            return text + "  => no address: nothing would be told\n";
        };
        let verdict = format!("{} would be told: {} is the first source to give one.", choice.ip, asked.source);
        text += &fitted("  =>", &verdict, wide);
        if is_private(choice.ip) {
            let hint = "It is private: nobody outside can reach it. `public` or `stun:` give the router's address.";
            text += &fitted("    ", hint, wide);
        }
        text
    }
}

impl Report {
    fn json(&self) -> Value {
        let string = |text: &dyn ToString| Value::string(text.to_string());
        let local = self.local.iter().map(|address| {
            Value::object([
                ("interface", string(&address.interface)),
                ("ip", string(&address.ip)),
                ("prefix", Value::Number(address.prefix.to_string())),
                ("scope", Value::string(scope(address.scope))),
                ("flags", Value::list(flags(address).into_iter().map(Value::string))),
                ("valid", lifetime_json(address.valid)),
                ("preferred", lifetime_json(address.preferred)),
                ("private", Value::Bool(is_private(address.ip))),
                ("verdict", Value::string(address.unusable().unwrap_or("usable"))),
            ])
        });
        let all = self.lists.iter().flat_map(|list| list.asked.iter().map(move |asked| (list.family, asked)));
        let asked = all.map(|(family, asked)| {
            let (ip, why) = match &asked.answer {
                Ok(choice) => (string(&choice.ip), &choice.why),
                Err(why) => (Value::Null, why),
            };
            Value::object([
                ("family", string(&family)),
                ("source", string(&asked.source)),
                ("ip", ip),
                ("why", string(why)),
                ("ms", Value::Number(asked.took.as_millis().to_string())),
            ])
        });
        let chosen = Family::ALL.map(|family| {
            let first = self.lists.iter().find(|list| list.family == family).and_then(List::chosen);
            let value = first.map_or(Value::Null, |(asked, choice)| {
                Value::object([
                    ("ip", string(&choice.ip)),
                    ("source", string(&asked.source)),
                    ("why", string(&choice.why)),
                ])
            });
            (family.record_type(), value)
        });
        Value::object([
            ("local", Value::list(local)),
            ("sources", Value::list(asked)),
            ("chosen", Value::object(chosen)),
        ])
    }

    fn text(&self, wide: bool) -> String {
        let mut text = String::from("Addresses of this host\n");
        let widest =
            |of: &dyn Fn(&LocalAddress) -> String| self.local.iter().map(|row| of(row).len()).max().unwrap_or(0);
        let shown_ip = |row: &LocalAddress| format!("{}/{}", row.ip, row.prefix);
        let (name_width, ip_width) = (widest(&|row| row.interface.clone()), widest(&shown_ip));
        if self.local.is_empty() {
            text += "  (none)\n";
        }
        for row in &self.local {
            let head = format!("  {:<name_width$}  {:<ip_width$}", row.interface, shown_ip(row));
            let verdict = match row.unusable() {
                None if is_private(row.ip) => "usable, but private".to_owned(),
                None => "usable".to_owned(),
                Some(why) => format!("not told: {why}"),
            };
            text += &fitted(&head, &format!("{verdict} ({})", described(row)), wide);
        }
        for family in Family::ALL {
            if !self.lists.iter().any(|list| list.family == family) {
                text +=
                    &format!("\n{family} ({}): no domain, or switched off; nothing is asked\n", family.record_type());
            }
            for list in self.lists.iter().filter(|list| list.family == family) {
                text += &list.text(wide);
            }
        }
        text
    }
}

/// `head  rest` on one line or, where that is too wide, `rest` below it, broken between words.
fn fitted(head: &str, rest: &str, wide: bool) -> String {
    let one = format!("{head}  {rest}");
    if wide || one.chars().count() <= WIDTH {
        return format!("{}\n", one.trim_end());
    }
    let head = if head.trim().is_empty() { String::new() } else { format!("{}\n", head.trim_end()) };
    head + &broken(rest, 6)
}

/// Scope, flags and lifetimes in words.
fn described(row: &LocalAddress) -> String {
    let mut words = vec![format!("scope {}", scope(row.scope))];
    words.extend(flags(row).into_iter().filter(|flag| *flag != "permanent").map(str::to_owned));
    words.push(match (row.valid, row.preferred) {
        (Lifetime::Forever, _) => "forever".to_owned(),
        (Lifetime::Unknown, _) => return words.join(", "),
        (Lifetime::Seconds(valid), Lifetime::Seconds(preferred)) => {
            format!("valid {}, preferred {}", in_words(valid.into()), in_words(preferred.into()))
        }
        (Lifetime::Seconds(valid), _) => format!("valid {}", in_words(valid.into())),
    });
    words.join(", ")
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Global => "global",
        Scope::Site => "site",
        Scope::Link => "link",
        Scope::Host => "host",
        Scope::Unknown => "unknown",
    }
}

fn flags(row: &LocalAddress) -> Vec<&'static str> {
    let flags = &row.flags;
    let all = [
        (flags.temporary, "temporary"),
        (flags.deprecated, "deprecated"),
        (flags.tentative, "tentative"),
        (flags.dad_failed, "dadfailed"),
        (flags.permanent, "permanent"),
        (flags.down, "down"),
    ];
    all.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect()
}

fn lifetime_json(lifetime: Lifetime) -> Value {
    match lifetime {
        Lifetime::Forever => Value::string("forever"),
        Lifetime::Seconds(seconds) => Value::Number(seconds.to_string()),
        Lifetime::Unknown => Value::Null,
    }
}
