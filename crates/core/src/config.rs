//! From what was written to what is valid.
//!
//! [`fields`](mod@fields) is the one table of everything that can be set. [`raw`] holds what was written, with its
//! place; [`layers`] decides which of several settings counts; [`value`] is what a written value means;
//! [`validate`](mod@validate) makes a [`Config`] of it, or reports everything that is wrong at once.

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

pub use entry::providers;

use group::Group;
use web::Web;

/// One valid configuration: one file with what environment and command line add to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// What it is called in messages: the file, as it was named.
    pub name: String,
    /// `log` and `debug`
    pub log: LogSettings,
    /// `concurrency`
    pub concurrency: Concurrency,
    /// `interval`: how often to synchronize; `None` if once is enough.
    pub interval: Option<Duration>,
    /// `web`: the page of a service; `None` if no page is configured.
    pub web: Option<Web>,
    /// `group`: who sends where several hosts share a name; `None` if this host always does.
    pub group: Option<Group>,
    /// The files that it names and that hold values of it (H13).
    pub files: Vec<String>,
    /// What to send where; one entry for a plain file, one for each of `providers`.
    pub entries: Vec<Entry>,
    /// `notify`
    pub notify: Vec<Notification>,
}

impl Config {
    /// Everything in it that must not be seen in a log.
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
    /// The domains in `ipv6` whose address is that of another host of the network (H9).
    pub interface_ids: HashMap<Domain, InterfaceId>,
    /// `index4` and `index6`: by [`Family::index`]; empty where the family is switched off.
    pub sources: [Vec<Source>; 2],
    /// `proxy`, with what the environment adds to it.
    pub proxies: Proxies,
    /// `ssl`
    pub ssl: Ssl,
    /// `cache`
    pub cache: Cache,
    /// `cache_max_age`
    pub cache_max_age: Duration,
    /// `min_interval`; zero where it is not set
    pub min_interval: Duration,
    /// `timeout`
    pub timeout: Duration,
    /// `verify`; `None` if nobody is asked (K1).
    pub verify: Option<Verify>,
    /// The same of domains that say it for themselves: by [`Family::index`].
    pub own_verify: [HashMap<Domain, Option<Verify>>; 2],
}

impl Entry {
    /// Whether anybody is asked whether the world sees any of its addresses.
    pub fn is_verified(&self) -> bool {
        self.verify.is_some() || self.own_verify.iter().any(|own| !own.is_empty())
    }

    /// How it is found out whether the world sees the address of a domain; `None` if nobody is asked.
    pub fn verify_of(&self, domain: &Domain, family: Family) -> Option<&Verify> {
        self.own_verify[family.index()].get(domain).unwrap_or(&self.verify).as_ref()
    }

    /// When its updates are sent. Without a cache what `is_due` is sent, whatever was accepted.
    pub fn rules(&self, is_due: bool) -> Rules {
        let counts = !is_due || self.cache != Cache::Off;
        Rules {
            max_age: counts.then_some(self.cache_max_age),
            min_interval: self.min_interval,
            is_asked_for: false,
            has_drifted: false,
        }
    }

    /// Whether something must be remembered of its updates besides what was accepted (H6).
    pub fn needs_memory(&self) -> bool {
        !self.min_interval.is_zero() || self.callback.must_be_remembered()
    }

    /// How long the update and what follows it may take.
    pub fn longest(&self) -> Duration {
        if self.callback.after().is_some() { 2 * self.timeout } else { self.timeout }
    }

    /// The domains of a family that is not switched off.
    pub fn domains_of(&self, family: Family) -> &[Domain] {
        if self.sources[family.index()].is_empty() { &[] } else { &self.domains[family.index()] }
    }

    /// The update of a domain to the address that was found: it can be sent (A8).
    pub fn sendable<'a>(&'a self, domain: &'a Domain, family: Family, found: Observed) -> Sendable<'a> {
        Sendable(self.update(domain, family, found.ip()))
    }

    /// The update of a domain where this address is found, or supposed: to be judged and shown.
    pub fn update<'a>(&'a self, domain: &'a Domain, family: Family, found: IpAddr) -> Update<'a> {
        let id = if self.interface_ids.is_empty() { None } else { self.interface_ids.get(domain) };
        let ip = match (id, found) {
            (Some(id), IpAddr::V6(found)) => IpAddr::V6(id.of(found)),
            _ => found,
        };
        Update { domain, family, ip }
    }

    /// The updates that go in one request each, as families and places in their lists; `None` if each has its own (H7).
    pub fn groups(&self) -> Option<Vec<Vec<(Family, usize)>>> {
        let combine = self.callback.variables.combine.as_ref()?;
        let mut places: HashMap<&Domain, usize> = HashMap::new();
        // What must be in one request in any case: both families of a domain, or one update.
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

    /// The same of every request, also where each update has its own.
    pub fn requests(&self) -> Vec<Vec<(Family, usize)>> {
        let of = |family: Family| (0..self.domains_of(family).len()).map(move |place| vec![(family, place)]);
        self.groups().unwrap_or_else(|| Family::ALL.into_iter().flat_map(of).collect())
    }

    /// Where a family's address is looked for.
    pub fn sources_of(&self, family: Family) -> &[Source] {
        &self.sources[family.index()]
    }
}

/// A callback that tells what happens (I5).
#[derive(Debug, Clone, PartialEq)]
pub struct Notification {
    /// What to send, and where.
    pub callback: Callback,
    /// `on`
    pub on: NotifyEvents,
    /// `after`: failures in a row before `failed` is sent.
    pub after: u32,
    /// `proxy`, with what the environment adds to it.
    pub proxies: Proxies,
    /// `ssl`
    pub ssl: Ssl,
    /// `timeout`, over all tries.
    pub timeout: Duration,
}

/// What domains in one request have in common: families, zone, `extra` and `interface_id` of their own.
type Alike<'a> = (Vec<Family>, Option<&'a Domain>, Vec<String>, Option<&'a InterfaceId>);

/// `cache`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Cache {
    /// Nothing is remembered.
    Off,
    /// The usual place (E5).
    Standard,
    /// This file.
    File(String),
}

/// `concurrency`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Concurrency {
    /// The program finds out how many the endpoint takes.
    Auto,
    /// As many requests at once.
    Fixed(NonZeroU16),
}

/// `log` and `debug`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// The least important lines that are written.
    pub level: Level,
    /// Where to; standard error where none is set.
    pub file: Option<String>,
    /// The form of a line.
    pub format: LogFormat,
    /// The form of the time in it, as in strftime.
    pub datefmt: String,
}
