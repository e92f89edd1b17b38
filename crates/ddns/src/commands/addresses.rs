//! `ddns addresses`: every address of this host with the verdict on it, what each configured source gives now, and which
//! address would be sent and why. Sends no update.

use std::io::{self, Write as _};

use ddns_core::address::local::is_private;
use ddns_core::address::observation::doubtful;
use ddns_core::config::Config;
use ddns_core::config::fields::{Field, Key};
use ddns_core::config::raw::Origin;
use ddns_core::net::family::Family;
use ddns_core::net::local_address::{Lifetime, LocalAddress, Scope};
use ddns_core::text::duration::seconds;
use ddns_core::text::json::{Node, Value, pretty};

use crate::cli::{Given, Settings};
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::lookup::{self, Lookup, Query};
use crate::output::complain;
use crate::output::layout::broken;
use crate::output::print;

/// What the sources of these domains give.
struct List {
    family: Family,
    domains: Vec<String>,
    lookup: Lookup,
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
    let configs: Vec<&Config> = configs.iter().map(|(config, _)| config).collect();
    let mut lists = Vec::new();
    for family in Family::ALL {
        lists.extend(lists_of(&configs, family, &client).await);
    }
    if !is_configured {
        for list in &mut lists {
            list.domains.clear();
        }
    }
    let report = Report { local, lists };
    print(&if form.json { pretty(&report.json()) } else { report.text(form.width) })
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

/// Asks every source of a family, one after the other, so that the times are their own.
async fn lists_of(configs: &[&Config], family: Family, client: &Client) -> Vec<List> {
    let all = configs.iter().flat_map(|config| config.entries.iter().map(move |entry| (*config, entry)));
    let queries = all.filter_map(|(config, entry)| Some((Query::needed(entry, family)?, (config, entry))));
    let mut lists = Vec::new();
    for (query, sharing) in lookup::shared(queries) {
        let secrets = sharing[0].0.secrets().longer_than(4);
        let lookup = lookup::look_up_all(query, client).await.masked(&secrets);
        let domains = sharing.iter().flat_map(|(_, entry)| entry.domains_of(family)).map(ToString::to_string).collect();
        lists.push(List { family, domains, lookup });
    }
    lists
}

impl List {
    fn text(&self, width: usize) -> String {
        let domains = match self.domains.as_slice() {
            [] => String::new(),
            [one] => format!("for {one}"),
            [one, .., last] => format!("for {one} to {last} ({} domains)", self.domains.len()),
        };
        let mut text = fitted(&format!("\n{} ({})", self.family, self.family.record_type()), &domains, width);
        for attempt in &self.lookup.attempts {
            let took = attempt.took.as_millis();
            let result = match &attempt.result {
                Ok(choice) => format!("{} ({took} ms): {}", choice.ip, choice.why),
                Err(why) => format!("no address ({took} ms): {why}"),
            };
            text += &fitted(&format!("  {}", attempt.source), &result, width);
        }
        let Some((source, choice)) = self.lookup.found() else {
            return text + "  => No address found: nothing would be sent.\n";
        };
        let verdict = format!("{} would be sent: {source} is the first source with an address.", choice.ip);
        text += &fitted("  =>", &verdict, width);
        if is_private(choice.ip) {
            let hint = "It is private: the internet cannot reach it. `public` or `stun:` give the router's address.";
            text += &fitted("    ", hint, width);
        }
        if let Some(why) = doubtful(choice.ip) {
            text += &fitted("    ", &format!("Warning: {why}."), width);
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
        let all = self.lists.iter().flat_map(|list| list.lookup.attempts.iter().map(move |one| (list.family, one)));
        let sources = all.map(|(family, attempt)| {
            let (ip, why) = match &attempt.result {
                Ok(choice) => (string(&choice.ip), &choice.why),
                Err(why) => (Value::Null, why),
            };
            Value::object([
                ("family", string(&family)),
                ("source", string(&attempt.source)),
                ("ip", ip),
                ("why", string(why)),
                ("ms", Value::Number(attempt.took.as_millis().to_string())),
            ])
        });
        let chosen = Family::ALL.map(|family| {
            let first = self.lists.iter().find(|list| list.family == family).and_then(|list| list.lookup.found());
            let value = first.map_or(Value::Null, |(source, choice)| {
                Value::object([("ip", string(&choice.ip)), ("source", string(&source)), ("why", string(&choice.why))])
            });
            (family.record_type(), value)
        });
        Value::object([
            ("local", Value::list(local)),
            ("sources", Value::list(sources)),
            ("chosen", Value::object(chosen)),
        ])
    }

    fn text(&self, width: usize) -> String {
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
                Some(why) => format!("not usable: {why}"),
            };
            text += &fitted(&head, &format!("{verdict} ({})", described(row)), width);
        }
        for family in Family::ALL {
            if !self.lists.iter().any(|list| list.family == family) {
                text += &format!("\n{family} ({}): no domains, or switched off\n", family.record_type());
            }
            for list in self.lists.iter().filter(|list| list.family == family) {
                text += &list.text(width);
            }
        }
        text
    }
}

/// `head  rest` on one line or, where that is too wide, `rest` below it, broken between words.
fn fitted(head: &str, rest: &str, width: usize) -> String {
    let one = format!("{head}  {rest}");
    if one.chars().count() <= width {
        return format!("{}\n", one.trim_end());
    }
    let head = if head.trim().is_empty() { String::new() } else { format!("{}\n", head.trim_end()) };
    head + &broken(rest, 6, width)
}

/// Scope, flags and lifetimes in words.
fn described(row: &LocalAddress) -> String {
    let mut words = vec![format!("scope {}", scope(row.scope))];
    words.extend(flags(row).into_iter().filter(|flag| *flag != "permanent").map(str::to_owned));
    words.push(match (row.valid, row.preferred) {
        (Lifetime::Forever, _) => "forever".to_owned(),
        (Lifetime::Unknown, _) => return words.join(", "),
        (Lifetime::Seconds(valid), Lifetime::Seconds(preferred)) => {
            format!("valid {}, preferred {}", seconds(valid.into()), seconds(preferred.into()))
        }
        (Lifetime::Seconds(valid), _) => format!("valid {}", seconds(valid.into())),
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
