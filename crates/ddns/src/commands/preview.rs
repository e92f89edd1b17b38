//! `ddns preview`: every request that a run would send now, with the address, where it comes from, and the verdict. Sends
//! no update, opens no log and changes no cache.

mod show;

use std::io::{self, IsTerminal as _};
use std::net::IpAddr;
use std::rc::Rc;

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::{Trust, unusable};
use ddns_core::callback::USER_AGENT;
use ddns_core::callback::{Batch as Request, Moment, Redacted};
use ddns_core::config::{Config, Entry, Notification};
use ddns_core::engine::{INCOMPLETE, moment_of, redacted};
use ddns_core::net::family::Family;
use ddns_core::notify::NotifyEvent;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::plan::{Reason, Verdict, judge};
use ddns_core::update::state::Memory;

use crate::cli::Given;
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::lookup::{self, LookupPair};
use crate::notify::{example, moment};
use crate::output::{complain, print, say};
use crate::store::{Caches, Remembered};

/// All updates of one family of one entry.
struct FamilyUpdates<'a> {
    config: &'a Config,
    /// The number of the entry in its configuration.
    number: usize,
    entry: &'a Entry,
    family: Family,
    lookup: Lookup,
    /// What was found for the entry, by [`Family::index`].
    addresses: [Option<IpAddr>; 2],
    /// Which of them are examples (A8).
    examples: [bool; 2],
    /// Which updates go in one request (H7); `None` if each has its own.
    groups: Rc<Option<Vec<RequestMembers>>>,
    /// What is remembered; `None` if the cache is off.
    remembered: Option<Remembered>,
    /// Whether secrets are shown.
    reveal: bool,
}

/// Updates that go in one request: families, and places in their lists.
type RequestMembers = Vec<(Family, usize)>;

/// One update, as it is shown.
struct PreviewItem<'a> {
    domain: &'a Domain,
    /// The address it should have; `None` if no address was found.
    ip: Option<IpAddr>,
    /// None where there is no address.
    verdict: Option<Verdict>,
    request: Option<Result<Redacted, String>>,
    /// Whether the request has an address that is an example.
    is_example: bool,
}

/// A notification as it could be (I5).
struct Sample<'a> {
    config: &'a Config,
    /// The number of the notification in its configuration.
    number: usize,
    notification: &'a Notification,
    event: NotifyEvent,
    message: String,
    request: Result<Redacted, String>,
}

/// A notification, about the first thing that it tells.
fn sample(config: &Config, number: usize, reveal: bool) -> Option<Sample<'_>> {
    let notification = &config.notify[number];
    let event = notification.on.iter().next()?;
    let notice = example(config, notification, event)?;
    let way = (&notification.callback, &notification.proxies);
    let request = redacted(way, &notice, moment(), reveal);
    Some(Sample { config, number, notification, event, message: notice.message, request })
}

/// Looks, judges and shows. 0 where every request could be made, 1 where one could not, 2 for a wrong configuration.
pub(crate) async fn run(given: Given) -> u8 {
    let options = match show::PreviewOptions::of(&given, io::stdout().is_terminal()) {
        Ok(options) => options,
        Err(error) => return complain(&[error]),
    };
    let addresses = match given_addresses(given.values("ip")) {
        Ok(addresses) => addresses,
        Err(error) => return complain(&[error]),
    };
    let (environment, client) = (Environment::read(), Client::default());
    let configs = match load::load(given.settings, &environment, &client).await {
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    for warning in configs.iter().flat_map(|(_, warnings)| warnings) {
        warn(&warning.shown());
    }
    let configs: Vec<&Config> = configs.iter().map(|(config, _)| config).collect();
    let lookups = lookup::look_up_entries(&configs, addresses, &client).await;
    let batches = batches(&configs, lookups, &environment, options.reveal);
    let notices = configs.iter().flat_map(|config| (0..config.notify.len()).map(move |number| (*config, number)));
    let notices: Vec<Sample<'_>> =
        notices.filter_map(|(config, number)| sample(config, number, options.reveal)).collect();
    let (text, has_all) = show::text(&batches, &notices, &options);
    match print(&text) {
        0 if has_all => 0,
        0 => 1,
        code => code,
    }
}

/// The addresses of `--ip`, by [`Family::index`].
fn given_addresses<'a>(texts: impl Iterator<Item = &'a str>) -> Result<[Option<IpAddr>; 2], Diagnostic> {
    let mut addresses = [None; 2];
    let wrong = |message: String| Diagnostic::error(Place::Option("--ip".to_owned()), message);
    for text in texts {
        let ip: IpAddr = text.trim().parse().map_err(|_| wrong(format!("`{text}` is not an IP address")))?;
        let reason = unusable(ip, Trust::User);
        let (Some(family), None) = (Family::of(ip), reason) else {
            return Err(wrong(format!("{ip} cannot be sent: {}", reason.unwrap_or("it belongs to neither family"))));
        };
        if addresses[family.index()].replace(ip).is_some_and(|before| before != ip) {
            return Err(wrong(format!("two {family} addresses are given: give one")));
        }
    }
    Ok(addresses)
}

fn warn(text: &str) {
    say(&format!("{text}\n"));
}

/// Every update, entry by entry.
fn batches<'a>(
    configs: &[&'a Config],
    lookups: Vec<LookupPair>,
    environment: &Environment,
    reveal: bool,
) -> Vec<FamilyUpdates<'a>> {
    let all = configs.iter().flat_map(|config| config.entries.iter().enumerate().map(move |entry| (*config, entry)));
    let mut caches = Caches::default();
    let mut batches = Vec::new();
    for ((config, (number, entry)), pair) in all.zip(lookups) {
        let remembered = if config.group.is_none() { caches.of(entry, environment) } else { None };
        let groups = Rc::new(entry.groups());
        let addresses = [0, 1].map(|family: usize| pair[family].as_ref().and_then(Lookup::address));
        let examples = [0, 1].map(|family: usize| pair[family].as_ref().is_some_and(Lookup::is_example));
        for (family, lookup) in Family::ALL.into_iter().zip(pair) {
            let Some(lookup) = lookup else { continue };
            let (remembered, groups) = (remembered.clone(), Rc::clone(&groups));
            batches.push(FamilyUpdates {
                config,
                number,
                entry,
                family,
                lookup,
                addresses,
                examples,
                groups,
                remembered,
                reveal,
            });
        }
    }
    for warning in caches.warnings {
        warn(&format!("warning: {warning}"));
    }
    batches
}

impl<'a> FamilyUpdates<'a> {
    fn domains(&self) -> &'a [Domain] {
        self.entry.domains_of(self.family)
    }

    fn update(&self, domain: &'a Domain) -> Option<Update<'a>> {
        Some(self.entry.update(domain, self.family, self.lookup.address()?))
    }

    /// What is remembered of a domain; `None` if the cache is off.
    fn memory(&self, domain: &Domain) -> Option<Memory<'_>> {
        self.remembered.as_ref().map(|remembered| remembered.memory(self.entry, domain, self.family))
    }

    /// What a request depends on beside its update.
    fn moment(&self, update: &Update<'_>) -> Moment {
        let entry = self.memory(update.domain).map(|memory| memory.entry(update.domain, update.family));
        let key = self.remembered.as_ref().map(Remembered::callback);
        let fresh = moment();
        moment_of(&self.entry.callback, key, entry.unwrap_or_default(), update.ip, (fresh.now, fresh.message.1))
    }

    /// The updates of the request that one belongs to, the first of them first; the reason where it is not sent.
    fn together(&self, update: Update<'a>) -> Result<Vec<Update<'a>>, String> {
        let at = |(family, place): (Family, usize)| {
            let domain = &self.entry.domains_of(family)[place];
            self.addresses[family.index()].map(|ip| self.entry.update(domain, family, ip))
        };
        let is_own = |(family, place): &(Family, usize)| {
            *family == update.family && self.entry.domains_of(*family)[*place] == *update.domain
        };
        let Some(group) = self.groups.iter().flatten().find(|group| group.iter().any(is_own)) else {
            return Ok(vec![update]);
        };
        let together: Vec<Update<'a>> = group.iter().filter_map(|member| at(*member)).collect();
        let may_lack = self.entry.callback.variables.combine().is_some_and(|combine| combine.missing.is_some());
        if together.len() < group.len() && !may_lack {
            return Err(INCOMPLETE.to_owned());
        }
        Ok(together)
    }

    /// Whether the request of an update is shown with another one.
    fn is_shown_elsewhere(&self, domain: &'a Domain) -> bool {
        let Some(update) = self.update(domain) else { return false };
        self.together(update).is_ok_and(|all| all.first().is_some_and(|first| *first != update))
    }

    /// None where there is no address.
    fn verdict(&self, domain: &'a Domain, now: u64) -> Option<Verdict> {
        let update = self.update(domain)?;
        if self.config.group.is_some() {
            return Some(Verdict::Send(Reason::InGroup));
        }
        Some(judge(&update, self.entry.rules(), self.memory(domain), 0, now))
    }

    /// Whether a request can be made at all.
    fn can_be_sent(&self, domain: &'a Domain) -> bool {
        let Some(Ok(updates)) = self.update(domain).map(|update| self.together(update)) else { return false };
        Request::of(&updates)
            .is_some_and(|request| self.entry.callback.redacted(request, unix_time(), USER_AGENT, false).is_ok())
    }

    fn item(&self, domain: &'a Domain, now: u64) -> PreviewItem<'a> {
        let together = self.update(domain).map(|update| self.together(update));
        let is_example = together.iter().flatten().flatten().any(|update| self.examples[update.family.index()]);
        let request = together.map(|updates| {
            let updates = updates?;
            let request = Request::of(&updates).ok_or_else(String::new)?;
            let moment = self.moment(request.first);
            redacted((&self.entry.callback, &self.entry.proxies), request, moment, self.reveal)
        });
        let ip = self.update(domain).map(|update| update.ip);
        PreviewItem { domain, ip, verdict: self.verdict(domain, now), request, is_example }
    }
}
