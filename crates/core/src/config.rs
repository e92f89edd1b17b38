//! From written settings to a valid [`Config`].
//!
//! [`fields`](mod@fields) is the table of everything that can be set. [`raw`] contains the settings as written, with
//! their places; [`layers`] decides which of several settings counts; [`value`] says what a written value means;
//! [`validate`](mod@validate) turns all of it into a [`Config`], or reports all errors at once.

mod entry;
pub mod fields;
pub mod files;
pub mod group;
pub mod layers;
pub mod lint;
pub mod listing;
pub(crate) mod notify;
mod parts;
pub mod pushes;
pub mod raw;
mod read;
pub mod reference;
pub mod starter;
pub mod validate;
pub mod value;
pub mod web;

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::time::Duration;

use crate::address::observation::Observed;
use crate::address::source::Source;
use crate::callback::Callback;
use crate::dns::Verify;
use crate::net::family::Family;
use crate::net::interface_id::InterfaceId;
use crate::net::proxy::Proxies;
use crate::net::ssl::Ssl;
use crate::notify::NotifyEvents;
use crate::text::log_format::{Level, LogFormat};
use crate::text::secrets::Secrets;
use crate::update::domain::Domain;
use crate::update::plan::Rules;
use crate::update::{Sendable, Update};

pub(crate) use entry::NO_PLACEHOLDER;
pub use entry::{providers, served};

use group::Group;
use web::Web;

/// One valid configuration: a file, and what the environment and the command line add to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Its name in messages: the file, as the user named it.
    pub name: String,
    /// `log` and `debug`
    pub log: LogSettings,
    /// `concurrency`
    pub concurrency: Concurrency,
    /// `interval`: how often to synchronize; `None` if it is not set.
    pub interval: Option<Duration>,
    /// `web`: the page of a service; `None` if no page is configured.
    pub web: Option<Web>,
    /// `group`: several hosts, of which one sends; `None`: this host always sends.
    pub group: Option<Group>,
    /// The files that the configuration names for its values (H13).
    pub files: Vec<String>,
    /// What to send, and where: an entry for each item of `providers`, or a single one without `providers`.
    pub entries: Vec<Entry>,
    /// `notify`
    pub notify: Vec<Notification>,
}

impl Config {
    /// Everything in the configuration that must not appear in a log.
    pub fn secrets(&self) -> Secrets {
        let domains = self.entries.iter().flat_map(|entry| entry.domains.iter().flatten());
        let public: Vec<&str> = domains.map(Domain::as_str).collect();
        let secrets = self.entries.iter().flat_map(|entry| {
            let sources = entry.sources.iter().flatten().flat_map(Source::secrets);
            entry.callback.secrets().into_iter().chain(entry.proxies.secrets()).chain(sources)
        });
        let of_notify = self
            .notify
            .iter()
            .flat_map(|notification| notification.callback.secrets().into_iter().chain(notification.proxies.secrets()));
        let of_group = self.group.iter().flat_map(Group::secrets);
        let of_push = self.web.iter().flat_map(|web| &web.push).filter_map(|rule| rule.password.text.as_ref().ok());
        let of_push = of_push.map(|text| text.trim().to_owned());
        Secrets::new(secrets.chain(of_notify).chain(of_group).chain(of_push), &public)
    }
}

/// One callback and the domains that it updates.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// What to send, and where.
    pub callback: Callback,
    /// `ipv4` and `ipv6`: by [`Family::index`].
    pub domains: [Vec<Domain>; 2],
    /// Domains in `ipv6` that belong to another host of this network, each with its interface ID (H9).
    pub interface_ids: HashMap<Domain, InterfaceId>,
    /// `index4` and `index6`: by [`Family::index`]; empty if the family is switched off.
    pub sources: [Vec<Source>; 2],
    /// `proxy`, with the proxies of the environment.
    pub proxies: Proxies,
    /// `ssl`
    pub ssl: Ssl,
    /// `cache`
    pub cache: Cache,
    /// `cache_max_age`
    pub cache_max_age: Duration,
    /// `min_interval`; zero if it is not set.
    pub min_interval: Duration,
    /// `timeout`
    pub timeout: Duration,
    /// `verify`; `None`: no DNS server is asked (K1).
    pub verify: Option<Verify>,
    /// `verify` of the domains that set their own: by [`Family::index`].
    pub own_verify: [HashMap<Domain, Option<Verify>>; 2],
}

impl Entry {
    /// Whether DNS may be asked about any of its domains.
    pub fn is_verified(&self) -> bool {
        self.verify.is_some() || self.own_verify.iter().any(|own| !own.is_empty())
    }

    /// The `verify` that applies to a domain; `None`: no DNS server is asked about it.
    pub fn verify_of(&self, domain: &Domain, family: Family) -> Option<&Verify> {
        self.own_verify[family.index()].get(domain).unwrap_or(&self.verify).as_ref()
    }

    /// When its updates are sent. With `cache: false`, an update that `is_due` is sent even if its address was accepted
    /// before.
    pub fn rules(&self, is_due: bool) -> Rules {
        let counts = !is_due || self.cache != Cache::Off;
        Rules {
            max_age: counts.then_some(self.cache_max_age),
            min_interval: self.min_interval,
            is_asked_for: false,
            has_drifted: false,
            makes: self.callback.makes(),
        }
    }

    /// Whether ddns must remember more about its updates than the accepted addresses (H6).
    pub fn needs_memory(&self) -> bool {
        !self.min_interval.is_zero() || self.callback.must_be_remembered()
    }

    /// How long the update may take, including its `after` request.
    pub fn longest(&self) -> Duration {
        if self.callback.after().is_some() { 2 * self.timeout } else { self.timeout }
    }

    /// The domains of a family; empty if the family is switched off.
    pub fn domains_of(&self, family: Family) -> &[Domain] {
        if self.sources[family.index()].is_empty() { &[] } else { &self.domains[family.index()] }
    }

    /// The update of a domain to an address that a source returned. Only such an update can be sent (A8).
    pub fn sendable<'a>(&'a self, domain: &'a Domain, family: Family, found: Observed) -> Sendable<'a> {
        Sendable(self.update(domain, family, found.ip()))
    }

    /// The update of a domain to an address that was found or only assumed. It can be judged and shown, but not sent.
    pub fn update<'a>(&'a self, domain: &'a Domain, family: Family, found: IpAddr) -> Update<'a> {
        let id = if self.interface_ids.is_empty() { None } else { self.interface_ids.get(domain) };
        let ip = match (id, found) {
            (Some(id), IpAddr::V6(found)) => IpAddr::V6(id.of(found)),
            _ => found,
        };
        Update { domain, family, ip }
    }

    /// The updates of each request, as families and positions in [`Entry::domains`]; `None`: each update has its own
    /// request (H7).
    pub fn groups(&self) -> Option<Vec<Vec<(Family, usize)>>> {
        let combine = self.callback.variables.combine.as_ref().filter(|combine| combine.joins())?;
        let mut places: HashMap<&Domain, usize> = HashMap::new();
        // Updates that always share a request: both families of a domain, or a single update.
        let mut units: Vec<(&Domain, Vec<(Family, usize)>)> = Vec::new();
        for family in Family::ALL {
            for (number, domain) in self.domains_of(family).iter().enumerate() {
                if let Some(unit) = places.get(domain).filter(|_| combine.families) {
                    units[*unit].1.push((family, number));
                } else {
                    places.insert(domain, units.len());
                    units.push((domain, vec![(family, number)]));
                }
            }
        }
        let mut groups: Vec<(Vec<(Family, usize)>, usize)> = Vec::new();
        let mut open: HashMap<Alike<'_>, usize> = HashMap::new();
        for (domain, unit) in units {
            let families: Vec<Family> = unit.iter().map(|(family, _)| *family).collect();
            let own = families.iter().map(|family| self.callback.own_text(domain, *family)).collect();
            let alike = (families, self.callback.variables.zone_of(domain), own, self.interface_ids.get(domain));
            if let Some(group) = open.get(&alike).filter(|group| groups[**group].1 < combine.domains) {
                groups[*group].0.extend(unit);
                groups[*group].1 += 1;
            } else {
                open.insert(alike, groups.len());
                groups.push((unit, 1));
            }
        }
        Some(groups.into_iter().map(|(members, _)| members).collect())
    }

    /// The updates of each request, also without `combine`.
    pub fn requests(&self) -> Vec<Vec<(Family, usize)>> {
        let of = |family: Family| (0..self.domains_of(family).len()).map(move |place| vec![(family, place)]);
        self.groups().unwrap_or_else(|| Family::ALL.into_iter().flat_map(of).collect())
    }

    /// Whether domains of a family take their address from `push:NAME`.
    pub fn takes_pushed(&self, family: Family, name: &str) -> bool {
        let is_it = |source: &Source| source.pushes().iter().any(|push| push.name.as_deref() == Some(name));
        !self.domains_of(family).is_empty() && self.sources_of(family).iter().any(is_it)
    }

    /// The sources of a family, in the order in which ddns tries them.
    pub fn sources_of(&self, family: Family) -> &[Source] {
        &self.sources[family.index()]
    }
}

/// A callback that reports events (I5).
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// What to send, and where.
    pub callback: Callback,
    /// `on`
    pub on: NotifyEvents,
    /// `after`: failures in a row before `failed` is sent.
    pub after: u32,
    /// `proxy`, with the proxies of the environment.
    pub proxies: Proxies,
    /// `ssl`
    pub ssl: Ssl,
    /// `timeout`, for all tries together.
    pub timeout: Duration,
}

/// What all domains in one request share: families, zone, their own `extra` and their `interface_id`.
type Alike<'a> = (Vec<Family>, Option<&'a Domain>, Vec<String>, Option<&'a InterfaceId>);

/// `cache`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cache {
    /// Nothing is remembered.
    Off,
    /// The default file (E5).
    Standard,
    /// This file.
    File(String),
}

/// `concurrency`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// ddns finds out how many requests the endpoint accepts at once.
    Auto,
    /// At most this many requests at once.
    Fixed(NonZeroU16),
}

/// `log` and `debug`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The lowest level that is logged.
    pub level: Level,
    /// The log file; `None`: standard error.
    pub file: Option<String>,
    /// The format of a line.
    pub format: LogFormat,
    /// The format of the time in a line, as in strftime.
    pub datefmt: String,
}
