//! The configurations of the simulated processes: real configuration texts, made at random.

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::config::Cache;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};
use ddns_core::engine::plan::{ConfigIdentity, Plan, StorePlace};
use ddns_core::net::family::Family;
use ddns_core::text::diagnostic::Diagnostic;

use crate::random::Random;

/// How an entry judges responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judging {
    /// By the status.
    Status,
    /// By the codes of dyndns2.
    Dyndns2,
    /// By words in the response text.
    Conditions,
}

/// `combine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Combining {
    pub(crate) families: bool,
    pub(crate) domains: usize,
    pub(crate) has_missing: bool,
}

/// One entry of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryShape {
    /// Unique in the world: the names of domains contain it.
    pub(crate) number: usize,
    pub(crate) origin: usize,
    /// A different path makes a different callback.
    pub(crate) path: u32,
    /// How many domains each family has.
    pub(crate) domains: [usize; 2],
    pub(crate) combine: Option<Combining>,
    pub(crate) judging: Judging,
    pub(crate) min_interval: u64,
    pub(crate) timeout: u64,
    /// `None`: the cache is off.
    pub(crate) cache: Option<usize>,
    pub(crate) max_age: u64,
    pub(crate) around: Option<Asking>,
}

/// Requests around an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asking {
    /// `same`
    pub(crate) compares: bool,
    /// A login step with `keep` comes first.
    pub(crate) logs_in: bool,
    /// `after`
    pub(crate) follows: bool,
}

/// The configuration of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The number of its file.
    pub(crate) site: usize,
    pub(crate) interval: u64,
    /// `None`: `auto`.
    pub(crate) concurrency: Option<u16>,
    /// `verify`
    pub(crate) is_verified: bool,
    pub(crate) entries: Vec<EntryShape>,
}

/// The value that is sent for a missing address.
pub(crate) const MISSING: &str = "preserve";

impl EntryShape {
    pub(crate) fn any(number: usize, origins: u64, caches: u64, random: &mut Random) -> Self {
        let pick = |random: &mut Random, values: &[u64]| values[index(random, values.len())];
        let most = [1, 2, 3, 8][index(random, 4)];
        let mut domains = [0, 0].map(|_: u8| usize::try_from(random.below(most + 1)).unwrap_or(0));
        if domains == [0, 0] {
            domains = [1, 1];
        }
        let combine = (random.below(3) == 0).then(|| Combining {
            families: random.below(3) > 0,
            domains: [1, 2, 20][index(random, 3)],
            has_missing: random.below(2) == 0,
        });
        let combine = combine.filter(|combine| combine.families || combine.domains > 1);
        let judging = match random.below(6) {
            0 => Judging::Dyndns2,
            1 => Judging::Conditions,
            _ => Judging::Status,
        };
        Self {
            number,
            origin: index(random, usize::try_from(origins).unwrap_or(1)),
            path: 0,
            domains,
            combine,
            judging,
            min_interval: if random.below(5) == 0 { pick(random, &[10, 60, 120]) } else { 0 },
            timeout: pick(random, &[5, 10, 30]),
            cache: if random.below(12) == 0 { None } else { Some(index(random, usize::try_from(caches).unwrap_or(1))) },
            max_age: pick(random, &[259_200, 259_200, 259_200, 600]),
            around: None,
        }
    }

    /// One domain of each family, with default settings.
    pub(crate) fn plain(number: usize) -> Self {
        Self {
            number,
            origin: 0,
            path: 0,
            domains: [1, 1],
            combine: None,
            judging: Judging::Status,
            min_interval: 0,
            timeout: 10,
            cache: Some(0),
            max_age: 259_200,
            around: None,
        }
    }

    pub(crate) fn name(&self, domain: usize) -> String {
        format!("d{domain}.e{}.example", self.number)
    }

    /// With random requests around its updates, unless requests combine several updates.
    #[must_use]
    pub(crate) fn asking(self, random: &mut Random) -> Self {
        let around =
            Asking { compares: random.below(4) > 0, logs_in: random.below(3) == 0, follows: random.below(3) == 0 };
        Self { around: Some(around).filter(|_| self.combine.is_none()), ..self }
    }

    fn around_text(&self) -> String {
        let Some(Asking { compares, logs_in, follows }) = self.around else { return String::new() };
        let login =
            if logs_in { "{\"id\":\"/login\",\"take\":{\"/session\":\"__SESSION__\"},\"keep\":\"5m\"}," } else { "" };
        let same = if compares { ",\"same\":{\"/ip\":\"__IP__\"}" } else { "" };
        let find = "{\"id\":\"/find?d=__DOMAIN__&t=__RECORDTYPE__\",\"in\":\"/list\",\"take\":{\"/id\":\"__ID__\"}";
        let absent = "{\"id\":\"/new?d=__DOMAIN__&t=__RECORDTYPE__&ip=__IP__\"}";
        let after = if follows { ",\"after\":{\"id\":\"/after\"}" } else { "" };
        format!(",\"before\":[{login}{find}{same}}}],\"absent\":{absent}{after}")
    }

    fn text(&self) -> String {
        let names = |family: Family| {
            let names: Vec<String> =
                (0..self.domains[family.index()]).map(|domain| format!("\"{}\"", self.name(domain))).collect();
            names.join(",")
        };
        let query = match self.combine {
            None if self.around.is_some_and(|around| around.logs_in) => {
                "d=__DOMAIN__&t=__RECORDTYPE__&ip=__IP__&id=__ID__&s=__SESSION__"
            }
            None if self.around.is_some() => "d=__DOMAIN__&t=__RECORDTYPE__&ip=__IP__&id=__ID__",
            None => "d=__DOMAIN__&t=__RECORDTYPE__&ip=__IP__",
            Some(Combining { families: false, .. }) => "ds=__DOMAINS__&t=__RECORDTYPE__&ip=__IP__",
            Some(Combining { domains: 1, .. }) => "d=__DOMAIN__&v4=__IPV4__&v6=__IPV6__",
            Some(_) => "ds=__DOMAINS__&v4=__IPV4__&v6=__IPV6__",
        };
        let mut text = format!(
            "\"provider\":\"callback\",\"id\":\"http://{}/p{}?{query}\",\"timeout\":{},\"cache_max_age\":{}",
            origin(self.origin),
            self.path,
            self.timeout,
            self.max_age
        );
        text += &format!(",\"ipv4\":[{}],\"ipv6\":[{}]", names(Family::V4), names(Family::V6));
        text += &match self.cache {
            Some(cache) => format!(",\"cache\":\"file{cache}\""),
            None => ",\"cache\":false".to_owned(),
        };
        if let Some(Combining { families, domains, has_missing }) = self.combine {
            let missing = if has_missing { format!(",\"missing\":\"{MISSING}\"") } else { String::new() };
            let domains = if domains > 1 { format!(",\"domains\":{domains}") } else { String::new() };
            text += &format!(",\"combine\":{{\"families\":{families}{domains}{missing}}}");
        }
        text += match self.judging {
            Judging::Status => "",
            Judging::Dyndns2 => ",\"expect\":\"dyndns2\"",
            Judging::Conditions => concat!(
                ",\"expect\":{\"stop\":[{\"body\":\"badkey\",\"all\":true},\"never\",",
                "{\"body\":\"notthis\",\"until\":\"address\"}],\"wait\":{\"body\":\"later\",\"for\":\"40s\"}}"
            ),
        };
        text += &self.around_text();
        if self.min_interval > 0 {
            text += &format!(",\"min_interval\":\"{}s\"", self.min_interval);
        }
        text
    }

    /// Whether a request follows an update.
    pub(crate) fn follows(&self) -> bool {
        self.around.is_some_and(|around| around.follows)
    }

    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

impl Shape {
    pub(crate) fn plan(&self) -> Rc<Plan> {
        self.plan_in(|cache| match cache {
            Cache::File(path) => StorePlace::File(PathBuf::from(path)),
            Cache::Off | Cache::Standard => StorePlace::Memory,
        })
    }

    /// The plan of this configuration, with its caches in these places.
    pub(crate) fn plan_in(&self, place: impl Fn(&Cache) -> StorePlace) -> Rc<Plan> {
        let concurrency = self.concurrency.map(|number| format!("\"concurrency\":{number},")).unwrap_or_default();
        let entries: Vec<String> = self.entries.iter().map(|entry| format!("{{{}}}", entry.text())).collect();
        let verify = if self.is_verified { "\"verify\":true," } else { "" };
        let (interval, entries) = (self.interval, entries.join(","));
        let text = format!("{{\"interval\":\"{interval}s\",{concurrency}{verify}\"providers\":[{entries}]}}");
        let document = Document { name: "config.json".to_owned(), text, fetched: false };
        let written = raw::read(&Rc::new(document)).map_err(|error| vec![error]);
        let valid = written.and_then(|written| validate("config.json", Some(written), &Surroundings::default()));
        let valid = valid
            .unwrap_or_else(|wrong| panic!("{self:?}: {}", wrong.iter().map(Diagnostic::shown).collect::<String>()));
        let identity = ConfigIdentity { name: format!("site {}", self.site), is_file: true };
        Rc::new(Plan::new(Rc::new(vec![valid]), vec![identity], |_, entry| place(&entry.cache)))
    }
}

/// The host of an origin.
pub(crate) fn origin(number: usize) -> String {
    format!("o{number}.example")
}

pub(crate) fn index(random: &mut Random, count: usize) -> usize {
    usize::try_from(random.below(u64::try_from(count.max(1)).unwrap_or(1))).unwrap_or(0)
}
