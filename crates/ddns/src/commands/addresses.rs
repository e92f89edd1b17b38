//! `ddns addresses`: every address of this host with the verdict on it, what each configured source says now, and which
//! one is told and why. Sends no callback.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use ddns_core::config::{Entry, Ssl};
use ddns_core::json::{Value, pretty};
use ddns_core::local::{Lifetime, LocalAddress, Scope};
use ddns_core::observe::Choice;
use ddns_core::record::Family;
use ddns_core::source::Source;

use crate::cli::{Form, Settings};
use crate::environment::Environment;
use crate::http::Client;
use crate::sources::Limits;
use crate::{complain, load, print, sources};

/// A source without a configuration may take so long.
const LIMIT: Duration = Duration::from_secs(30);

/// No line is wider, unless that was asked for.
const WIDTH: usize = 80;

/// What one source said.
struct Asked {
    family: Family,
    source: String,
    answer: Result<Choice, String>,
    took: Duration,
}

/// Everything that is shown.
struct Report {
    local: Vec<LocalAddress>,
    asked: Vec<Asked>,
}

/// Looks, asks and shows. 0 whatever was found; 2 for a wrong configuration.
pub(crate) async fn run(settings: Settings, form: Form) -> u8 {
    let environment = Environment::read();
    let client = Client::default();
    let configs = match load::load(settings, &environment, &client).await {
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    let local = sources::local_addresses().unwrap_or_else(|why| {
        let _ = writeln!(io::stderr(), "warning: the addresses of this host cannot be listed: {why}");
        Vec::new()
    });
    let entries: Vec<&Entry> = configs.iter().flat_map(|(config, _)| &config.entries).collect();
    let mut asked = Vec::new();
    for family in Family::ALL {
        for (source, limits) in sources_of(&entries, family) {
            let start = Instant::now();
            let answer = sources::look(&source, family, limits, &client).await;
            asked.push(Asked { family, source: source.to_string(), answer, took: start.elapsed() });
        }
    }
    let report = Report { local, asked };
    print(&if form.json { pretty(&report.json()) } else { report.text(form.wide) })
}

/// Every source of the configurations, each once and in order; `default` without a configuration.
fn sources_of<'a>(entries: &[&'a Entry], family: Family) -> Vec<(Source, Limits<'a>)> {
    if entries.is_empty() {
        return vec![(Source::Default, Limits { time: LIMIT, ssl: &Ssl::Auto })];
    }
    let mut all: Vec<(Source, Limits<'a>)> = Vec::new();
    for entry in entries {
        for source in entry.sources_of(family) {
            if !all.iter().any(|(known, _)| known == source) {
                all.push((source.clone(), Limits::of(entry)));
            }
        }
    }
    all
}

impl Report {
    /// The first source that gave an address.
    fn chosen(&self, family: Family) -> Option<(&Asked, &Choice)> {
        let mut own = self.asked.iter().filter(|asked| asked.family == family);
        own.find_map(|asked| asked.answer.as_ref().ok().map(|choice| (asked, choice)))
    }

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
                ("verdict", Value::string(address.unusable().unwrap_or("usable"))),
            ])
        });
        let asked = self.asked.iter().map(|asked| {
            let (ip, why) = match &asked.answer {
                Ok(choice) => (string(&choice.ip), &choice.why),
                Err(why) => (Value::Null, why),
            };
            Value::object([
                ("family", string(&asked.family)),
                ("source", string(&asked.source)),
                ("ip", ip),
                ("why", string(why)),
                ("ms", Value::Number(asked.took.as_millis().to_string())),
            ])
        });
        let chosen = Family::ALL.map(|family| {
            let value = self.chosen(family).map_or(Value::Null, |(asked, choice)| {
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
        for row in &self.local {
            let head = format!("  {:<name_width$}  {:<ip_width$}", row.interface, shown_ip(row));
            let verdict = match row.unusable() {
                None => "usable".to_owned(),
                Some(why) => format!("not told: {why}"),
            };
            text += &fitted(&head, &[verdict, described(row)].join("; "), wide);
        }
        for family in Family::ALL {
            text += &format!("\n{family} ({}): what each source says\n", family.record_type());
            for asked in self.asked.iter().filter(|asked| asked.family == family) {
                let took = asked.took.as_millis();
                let said = match &asked.answer {
                    Ok(choice) => format!("{} ({took} ms): {}", choice.ip, choice.why),
                    Err(why) => format!("no address ({took} ms): {why}"),
                };
                text += &fitted(&format!("  {}", asked.source), &said, wide);
            }
            text += &match self.chosen(family) {
                Some((asked, choice)) => {
                    fitted("  =>", &format!("{} is told: {} is the first to give one", choice.ip, asked.source), wide)
                }
                None if self.asked.iter().any(|asked| asked.family == family) => {
                    "  => no address: nothing is told\n".to_owned()
                }
                None => "  => switched off\n".to_owned(),
            };
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
    let mut lines = vec![head.trim_end().to_owned(), String::from("     ")];
    for word in rest.split(' ') {
        let last = lines.last_mut().map_or(0, |line| line.chars().count());
        if last + 1 + word.chars().count() > WIDTH && last > 5 {
            lines.push(String::from("     "));
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Scope, flags and lifetimes in words.
fn described(row: &LocalAddress) -> String {
    let mut words = vec![scope(row.scope).to_owned()];
    words.extend(flags(row).into_iter().filter(|flag| *flag != "permanent").map(str::to_owned));
    words.push(match (row.valid, row.preferred) {
        (Lifetime::Forever, _) => "forever".to_owned(),
        (Lifetime::Unknown, _) => return words.join(", "),
        (Lifetime::Seconds(valid), Lifetime::Seconds(preferred)) => {
            format!("valid {}, preferred {}", duration(valid), duration(preferred))
        }
        (Lifetime::Seconds(valid), _) => format!("valid {}", duration(valid)),
    });
    words.join(", ")
}

fn duration(seconds: u32) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
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
