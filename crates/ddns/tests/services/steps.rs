//! H14 to H22: requests around the update. The example configurations of sixteen services, word for word, each against a
//! fake that refuses what the service refuses.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::fakes::{self, Fake, PEM, Record, Service, Trouble};
use crate::support::given::{SOURCE, ends, with};
use crate::support::watching::{SOON, Watch, host, until};
use crate::support::{Run, Sandbox};

macro_rules! examples {
    ($($name:ident),*) => {
        [$((fakes::$name::SERVICE, include_str!(concat!("steps/", stringify!($name), ".json")))),*]
    };
}

const EXAMPLES: [(Service, &str); 16] = examples!(
    route53,
    alidns,
    tencentcloud,
    huaweidns,
    netcup,
    cloudflare,
    hetzner,
    porkbun,
    spaceship,
    ovh,
    google,
    transip,
    godaddy,
    digitalocean,
    linode,
    vultr
);

/// Those that have one set of values for a name and type, so that there are no two records.
const SETS: [&str; 4] = ["route53", "huaweidns", "hetzner", "google"];

/// What is in the zone beside the A record of `home`, each for half an hour.
const OTHERS: [(&str, &str, &str); 4] = [
    ("@", "A", "198.51.100.9"),
    ("other", "A", "198.51.100.1"),
    ("home", "AAAA", "2001:db8::1"),
    ("home", "TXT", "hello"),
];

const TTL: u64 = 1800;
const OLD: &str = "203.0.113.9";
const NEW: &str = "203.0.113.7";

/// A fake with the other records, and a sandbox with the example for it and its keys.
struct Setup {
    name: &'static str,
    fake: Fake,
    sandbox: Sandbox,
    config: Value,
}

impl Setup {
    fn new(name: &str) -> Self {
        Self::swapped(name, ("", ""))
    }

    /// With one text in the place of another, in the configuration and in the files with keys.
    fn swapped(name: &str, (from, to): (&str, &str)) -> Self {
        let (service, text) = EXAMPLES.iter().find(|(service, _)| service.name == name).expect("an example");
        let swap = |text: &str| if from.is_empty() { text.to_owned() } else { text.replace(from, to) };
        let (fake, sandbox) = (Fake::start(service), host());
        for (name, kind, value) in OTHERS {
            fake.zone().add(name, kind, value, TTL).expect("a record");
        }
        let account = json!({"type": "service_account", "client_email": "ddns@my-project.example", "private_key": PEM,
            "private_key_id": "7"});
        for file in text.split("\"/etc/ddns/").skip(1).filter_map(|rest| rest.split('"').next()) {
            let content = match file {
                "google.json" => account.to_string(),
                "transip.pem" => PEM.to_owned(),
                _ => format!("{file}-s3cret"),
            };
            sandbox.write(&format!("keys/{file}"), swap(&content));
        }
        let text = swap(text).replace("/etc/ddns/", &format!("{}/", sandbox.path("keys").display()));
        let config: Value = serde_json::from_str(&text).expect("JSON");
        let id = config["id"].as_str().and_then(|id| id.splitn(4, '/').last()).expect("an address");
        let more = json!({"id": fake.receiver.url(&format!("/{id}")), "index4": SOURCE});
        Self { name: service.name, fake, sandbox, config: with(&config, &more) }
    }

    /// Adds an A record of `home`.
    fn has(self, value: &str) -> Self {
        self.fake.zone().add("home", "A", value, TTL).expect("a record");
        self
    }

    fn run(&self) -> Run {
        self.sandbox.sync(&self.config)
    }

    /// The A records of `home`: their addresses and TTLs.
    fn home(&self) -> Vec<(String, u64)> {
        self.fake.zone().of("home", "A").into_iter().map(|record| (record.value, record.ttl)).collect()
    }

    /// Whether nothing but the A record of `home` was touched.
    fn is_rest_untouched(&self) -> bool {
        let is_other = |record: &&Record| record.name != "home" || record.kind != "A";
        let zone = self.fake.zone();
        let rest = zone.records.iter().filter(is_other);
        let rest: Vec<_> =
            rest.map(|one| (one.name.as_str(), one.kind.as_str(), one.value.as_str(), one.ttl)).collect();
        rest == OTHERS.map(|(name, kind, value)| (name, kind, value, TTL))
    }

    /// How many requests go before the update.
    fn steps(&self) -> usize {
        self.config["before"].as_array().map_or(0, Vec::len)
    }

    /// Fails unless so many requests came since the last time.
    #[track_caller]
    fn sent(&self, count: usize, run: &Run) {
        let lines: Vec<String> = self.fake.receiver.take().into_iter().map(|request| request.line).collect();
        assert_eq!(lines.len(), count, "{}: {lines:#?}\n{}", self.name, run.stderr);
    }

    /// Fails unless the run ends so, without a word of what is secret.
    #[track_caller]
    fn ran(&self, code: i32) -> Run {
        let run = self.run();
        ends(&run, code, self.name);
        run.never_prints("s3cret")
    }
}

/// The names of the examples for which it holds, by name and text.
fn named(is_wanted: impl Fn(&str, &str) -> bool) -> Vec<&'static str> {
    let wanted = EXAMPLES.iter().filter(|(service, text)| is_wanted(service.name, text));
    wanted.map(|(service, _)| service.name).collect()
}

/// Each example by itself, side by side.
fn each(names: &[&'static str], case: impl Fn(&'static str) + Sync) {
    assert!(!names.is_empty());
    thread::scope(|scope| {
        for name in names {
            let case = &case;
            scope.spawn(move || case(name));
        }
    });
}

#[test]
fn h14_an_update_changes_the_record_that_is_there() {
    each(&named(|_, _| true), |name| {
        let setup = Setup::new(name).has(OLD);
        let run = setup.ran(0);
        // A record keeps its TTL but where it is made anew.
        let ttl = if matches!(name, "route53" | "spaceship") { 300 } else { TTL };
        assert_eq!(setup.home(), [(NEW.to_owned(), ttl)], "{name}");
        assert!(setup.is_rest_untouched(), "{name}");
        assert!(name != "ovh" || !setup.fake.zone().is_pending, "the zone is published");
        setup.sent(setup.steps() + 1 + usize::from(setup.config["after"].is_object()), &run);
        let again = setup.ran(0);
        setup.sent(0, &again);
    });
}

#[test]
fn h18_a_record_that_is_missing_is_made() {
    each(&named(|_, _| true), |name| {
        let setup = Setup::new(name);
        let run = setup.ran(0);
        let home: Vec<String> = setup.home().into_iter().map(|(value, _)| value).collect();
        assert_eq!(home, [NEW], "{name}");
        assert!(setup.is_rest_untouched(), "{name}");
        assert!(name != "ovh" || !setup.fake.zone().is_pending, "the zone is published");
        // Where there was no old record, there is none to remove.
        setup.sent(setup.steps() + 1 + usize::from(name == "ovh"), &run);
    });
}

#[test]
fn h17_what_is_already_there_is_not_sent() {
    each(&named(|_, text| text.contains("\"same\"")), |name| {
        let setup = Setup::new(name).has(NEW);
        let run = setup.ran(0).prints("already there");
        assert_eq!(setup.home(), [(NEW.to_owned(), TTL)], "{name}");
        setup.sent(setup.steps(), &run);
        let again = setup.ran(0);
        setup.sent(0, &again);
    });
}

/// The old record is still there because its removal failed.
#[test]
fn h19_what_after_did_not_do_is_done_by_the_next_try() {
    let setup = Setup::new("spaceship").has(NEW).has(OLD);
    let run = setup.ran(0);
    assert_eq!(setup.home(), [(NEW.to_owned(), 300)]);
    setup.sent(3, &run);
}

/// What makes the keys of an example those of nobody.
fn wrong_key(name: &str) -> (&'static str, &'static str) {
    match name {
        // A wrong secret looks like a wrong clock there.
        "route53" | "alidns" | "tencentcloud" => ("AKIDEXAMPLE", "AKIDOTHER"),
        "google" => ("ddns@my-project", "other@my-project"),
        "transip" => ("\"me\"", "\"you\""),
        _ => ("s3cret", "other"),
    }
}

#[test]
fn h20_a_wrong_key_stops_at_once() {
    each(&named(|_, _| true), |name| {
        let setup = Setup::swapped(name, wrong_key(name)).has(OLD);
        let run = setup.ran(1);
        setup.sent(1, &run);
        let again = setup.ran(1);
        // Vultr says the same where the new address is not on the list of the key.
        setup.sent(usize::from(name == "vultr"), &again);
        assert_eq!(again.stderr.contains("--retry-stopped"), name != "vultr", "{name}: {}", again.stderr);
        assert_eq!(setup.home(), [(OLD.to_owned(), TTL)], "{name}");
    });
}

#[test]
fn h20_a_limit_makes_it_wait() {
    each(&named(|_, _| true), |name| {
        let setup = Setup::new(name).has(OLD);
        setup.fake.zone().trouble = Some(Trouble::Limited);
        setup.sent(1, &setup.ran(1));
        setup.fake.zone().trouble = None;
        // Where nobody says for how long, the next run tries.
        let has_header = matches!(name, "cloudflare" | "digitalocean" | "linode");
        if !has_header && setup.config["expect"]["wait"]["for"].is_null() {
            setup.ran(0);
            return;
        }
        let again = setup.ran(1);
        setup.sent(0, &again);
        // netcup answers a wrong key in the same way.
        assert!(name == "netcup" || again.stderr.contains("held back"), "{name}: {}", again.stderr);
    });
}

#[test]
fn h15_two_records_are_a_failure_and_nothing_is_changed() {
    each(&named(|name, _| !SETS.contains(&name)), |name| {
        let setup = Setup::new(name).has(OLD).has("203.0.113.10");
        let run = setup.ran(1).prints("2 entries match");
        let has_id = !matches!(name, "spaceship" | "transip" | "godaddy");
        for record in setup.fake.zone().of("home", "A") {
            let ids = [record.id.to_string(), format!("{:012x}", record.id)];
            assert!(!has_id || ids.iter().any(|id| run.stderr.contains(id)), "{name}: {ids:?}: {}", run.stderr);
        }
        setup.sent(setup.steps(), &run);
        assert_eq!(setup.home().len(), 2, "{name}");
    });
}

#[test]
fn h15_pages_are_followed() {
    for has_record in [true, false] {
        let setup = Setup::new("vultr");
        for number in 0..1200 {
            setup.fake.zone().add(&format!("n{number}"), "A", "198.51.100.2", TTL).expect("a record");
        }
        let setup = if has_record { setup.has(OLD) } else { setup };
        let run = setup.ran(0);
        assert_eq!(setup.home().len(), 1, "{has_record}");
        assert_eq!(setup.home()[0].0, NEW, "{has_record}");
        let pages = setup.fake.receiver.callbacks();
        assert!(pages.iter().take(3).all(|page| page.target().contains("per_page=500")), "{pages:#?}");
        setup.sent(4, &run);
    }
}

#[test]
fn h15_a_list_that_is_shorter_than_it_says_is_a_failure() {
    each(&named(|_, text| text.contains("\"total\"")), |name| {
        let setup = Setup::new(name);
        setup.fake.zone().trouble = Some(Trouble::Short);
        let run = setup.ran(1).prints("the list has");
        setup.sent(setup.steps(), &run);
        assert!(setup.home().is_empty(), "{name}");
    });
}

#[test]
fn h21_a_session_that_ended_is_opened_again() {
    each(&named(|name, _| matches!(name, "netcup" | "transip")), |name| {
        let setup = Setup::new(name).has(OLD);
        let receiver = &setup.fake.receiver;
        let config = with(&setup.config, &json!({"index4": receiver.index4(), "proxy": "DIRECT"}));
        let watch = Watch::start(&setup.sandbox, &config);
        let updated = |ip: &str, logins: usize| {
            receiver.set_ip(ip);
            if ip != NEW {
                watch.signal(Signal::USR1);
            }
            let what = format!("{name}: {ip}");
            until(SOON * 2, &what, || setup.home() == [(ip.to_owned(), TTL)]);
            assert_eq!(setup.fake.zone().logins, logins, "{what}: {}", watch.log());
        };
        updated(NEW, 1);
        watch.prints("accepted");
        updated("203.0.113.8", 1);
        until(SOON, "the second to be accepted", || watch.lines_with("accepted") > 1);
        assert_eq!(watch.lines_with("retry in"), 0, "{}", watch.log());
        setup.fake.zone().sessions.clear();
        updated("203.0.113.10", 2);
        assert_eq!(watch.lines_with("retry in"), 1, "it fails once: {}", watch.log());
        for part in ["s3cret", "session-"] {
            assert_eq!(watch.lines_with(part), 0, "{}", watch.log());
        }
        watch.stop();
    });
}

#[test]
fn h18_a_creation_whose_response_was_lost_is_not_made_twice() {
    let names = ["cloudflare", "digitalocean", "linode", "vultr", "alidns", "ovh"];
    each(&named(|name, _| names.contains(&name)), |name| {
        let mut setup = Setup::new(name);
        setup.config["timeout"] = json!(1);
        setup.fake.zone().trouble = Some(Trouble::Lossy);
        setup.ran(1);
        assert_eq!(setup.fake.zone().trouble, None, "{name}: it was made");
        // H17: until then a late request of ours could undo what is found.
        thread::sleep(Duration::from_millis(1500));
        setup.ran(0);
        let home: Vec<String> = setup.home().into_iter().map(|(value, _)| value).collect();
        assert_eq!(home, [NEW], "{name}");
        assert!(name != "ovh" || !setup.fake.zone().is_pending, "the zone is published");
    });
}

/// Parts of the examples without which a service does what it is asked, or something else, and says that it did.
const NOT_NEEDED: [(&str, &str, &str); 55] = [
    ("route53", "/headers/Content-Type", "XML is read whatever it is called"),
    ("alidns", "/before/0/token/DomainName", "the whole name is in SubDomain"),
    ("alidns", "/before/0/token/Type", FILTER),
    ("alidns", "/before/0/token/PageSize", PAGE),
    ("alidns", "/token/TTL", DEFAULT),
    ("tencentcloud", "/before/0/token/Subdomain", FILTER),
    ("tencentcloud", "/before/0/token/RecordType", FILTER),
    ("tencentcloud", "/before/0/token/ErrorOnEmpty", "the code for none is in `none`, too"),
    ("tencentcloud", "/before/0/token/Limit", PAGE),
    ("tencentcloud", "/token/SubDomain", APEX),
    ("tencentcloud", "/token/TTL", DEFAULT),
    ("tencentcloud", "/absent/token/SubDomain", APEX),
    ("huaweidns", "/before/0?name", FILTER),
    ("huaweidns", "/before/0?search_mode", FILTER),
    ("huaweidns", "/before/1?name", FILTER),
    ("huaweidns", "/before/1?type", FILTER),
    ("huaweidns", "/before/1?search_mode", FILTER),
    ("huaweidns", "/absent/token/ttl", DEFAULT),
    ("netcup", "/token/param/dnsrecordset/dnsrecords/0/id", "a record without an id is a new one"),
    ("cloudflare", "/before/0?name", FILTER),
    ("cloudflare", "/before/1?type", FILTER),
    ("cloudflare", "/before/1?name", FILTER),
    ("cloudflare", "/absent/token/ttl", DEFAULT),
    ("cloudflare", "/absent/token/proxied", DEFAULT),
    ("hetzner", "/absent/token/ttl", DEFAULT),
    ("porkbun", "/token/name", APEX),
    ("porkbun", "/token/ttl", DEFAULT),
    ("porkbun", "/absent/token/name", APEX),
    ("porkbun", "/absent/token/ttl", DEFAULT),
    ("spaceship", "/token/force", "without it a record that conflicts is refused, and none does"),
    ("spaceship", "/token/items/0/ttl", DEFAULT),
    ("ovh", "/absent/token/subDomain", APEX),
    ("ovh", "/absent/token/ttl", DEFAULT),
    ("google", "/token/name", "it is in the path"),
    ("google", "/token/type", "it is in the path"),
    ("google", "/token/rrdatas", PARTIAL),
    ("google", "/absent/token/ttl", DEFAULT),
    ("transip", "/before/0/token/read_only", DEFAULT),
    ("transip", "/before/0/token/expiration_time", DEFAULT),
    ("transip", "/before/0/token/label", DEFAULT),
    ("godaddy", "/token/0/ttl", DEFAULT),
    ("godaddy", "/absent/token/0/ttl", DEFAULT),
    ("digitalocean", "/before/0?name", FILTER),
    ("digitalocean", "/before/0?type", FILTER),
    ("digitalocean", "/before/0?per_page", PAGE),
    ("digitalocean", "/token/data", PARTIAL),
    ("digitalocean", "/absent/token/ttl", DEFAULT),
    ("linode", "/before/0/headers/X-Filter", FILTER),
    ("linode", "/before/1?page_size", PAGE),
    ("linode", "/absent/token/name", APEX),
    ("linode", "/absent/token/ttl_sec", DEFAULT),
    ("vultr", "/before/0?per_page", PAGE),
    ("vultr", "/token/name", PARTIAL),
    ("vultr", "/token/data", PARTIAL),
    ("vultr", "/absent/token/ttl", DEFAULT),
];

const FILTER: &str = "a filter: `where` picks from a longer list";
const PAGE: &str = "pages have a size of their own";
const DEFAULT: &str = "there is a default";
const APEX: &str = "no name is that of the zone";
const PARTIAL: &str = "what is not named stays as it is";

/// The configuration without each part in turn: each member of a body, each header, each parameter.
fn reduced(config: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let requests = ["", "/before/0", "/before/1", "/absent", "/after"].iter();
    for (at, request) in requests.filter_map(|at| Some((*at, config.pointer(at)?))) {
        let mut change = |part: String, field: &str, value: Value| {
            let mut config = config.clone();
            config.pointer_mut(at).expect("it is there")[field] = value;
            all.push((format!("{at}{part}"), config));
        };
        if let Some((path, query)) = request["id"].as_str().and_then(|id| id.split_once('?')) {
            for gone in query.split('&') {
                let rest: Vec<&str> = query.split('&').filter(|part| *part != gone).collect();
                let id = if rest.is_empty() { path.to_owned() } else { format!("{path}?{}", rest.join("&")) };
                change(format!("?{}", gone.split('=').next().unwrap_or_default()), "id", json!(id));
            }
        }
        for (part, value) in less(&request["headers"]) {
            change(format!("/headers{part}"), "headers", value);
        }
        match request["token"].as_str() {
            None => less(&request["token"])
                .into_iter()
                .for_each(|(part, value)| change(format!("/token{part}"), "token", value)),
            Some(text) if text.starts_with('<') => {
                for tag in ["Action", "Name", "Type", "TTL", "Value", "ResourceRecords", "ResourceRecordSet"] {
                    let (head, rest) = text.split_once(&format!("<{tag}>")).expect("the element");
                    let (_, tail) = rest.split_once(&format!("</{tag}>")).expect("its end");
                    change(format!("/token/{tag}"), "token", json!(format!("{head}{tail}")));
                }
            }
            Some(text) => {
                // Placeholders without quotes are no JSON.
                let bare = ["__RECORD_ID__", "__TTL__"];
                let quoted = bare
                    .iter()
                    .fold(text.to_owned(), |text, name| text.replace(&format!(":{name}"), &format!(":\"~{name}\"")));
                for (part, value) in less(&serde_json::from_str(&quoted).expect("JSON")) {
                    let text =
                        bare.iter().fold(value.to_string(), |text, name| text.replace(&format!("\"~{name}\""), name));
                    change(format!("/token{part}"), "token", json!(text));
                }
            }
        }
    }
    all
}

/// A value without each of its members in turn, however deep.
fn less(value: &Value) -> Vec<(String, Value)> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(number, value)| (number.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for (name, child) in children {
        let mut without = value.clone();
        if without.as_object_mut().is_some_and(|members| members.remove(&name).is_some()) {
            all.push((format!("/{name}"), without));
        }
        for (part, smaller) in less(child) {
            let mut changed = value.clone();
            *changed.pointer_mut(&format!("/{name}")).expect("it is there") = smaller;
            all.push((format!("/{name}{part}"), changed));
        }
    }
    all
}

/// A fake that takes everything would prove nothing.
#[test]
fn a_fake_refuses_a_request_without_one_of_its_parts() {
    each(&named(|_, _| true), |name| {
        let is_listed = |part: &str| NOT_NEEDED.iter().any(|(service, known, _)| (*service, *known) == (name, part));
        let parts: Vec<String> = reduced(&Setup::new(name).config).into_iter().map(|(part, _)| part).collect();
        let mut wrong = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let mut setup = Setup::new(name);
            if !part.starts_with("/absent") {
                setup = setup.has(OLD);
            }
            setup.config = reduced(&setup.config).swap_remove(number).1;
            let run = setup.run();
            if (run.code == 0) != is_listed(part) {
                wrong.push(format!("{name} without {part}: {}\n{}", run.code, run.stderr));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        // Those two have no secret but the key that signs, see `wrong_key`.
        let run = Setup::swapped(name, ("s3cret", "other")).has(OLD).run();
        assert_eq!(run.code == 0, matches!(name, "google" | "transip"), "{name}: {}", run.stderr);
        let listed = NOT_NEEDED.iter().filter(|(service, ..)| *service == name);
        for (_, part, reason) in listed {
            assert!(parts.iter().any(|known| known == part), "{name} has no {part} ({reason})");
        }
    });
}
