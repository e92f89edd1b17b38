//! An update as somebody may see it before it is sent: what is to be done about it, and its request.

use std::borrow::Cow;
use std::net::IpAddr;

use ddns_core::callback::{Batch as Request, Callback, Moment, Redacted, Subject, curl};
use ddns_core::net::family::Family;
use ddns_core::net::proxy::{Proxies, Route};
use ddns_core::object;
use ddns_core::update::domain::Domain;
use ddns_core::update::plan::Verdict;
use serde::{Serialize, Serializer};

use super::Sync;
use crate::http::USER_AGENT;

/// Why the request of an update cannot be made where it needs another address.
pub(crate) const INCOMPLETE: &str = "the other address is missing, and `combine.missing` is not set";

/// One update.
pub(crate) struct Preview {
    pub(crate) domain: String,
    pub(crate) family: Family,
    /// The address it should have and its source; none where none was found.
    pub(crate) address: Option<(IpAddr, Option<String>)>,
    /// None where there is no address.
    pub(crate) verdict: Option<Verdict>,
    /// None where there is no address.
    pub(crate) request: Option<Result<Redacted, String>>,
    /// The same as a command of curl.
    pub(crate) curl: Option<String>,
    /// What decided on the last response; none where there was none.
    pub(crate) decided: Option<String>,
    /// Whether it goes in one request with an update that comes before it.
    pub(crate) is_together: bool,
}

impl Preview {
    /// What would be done, and why.
    pub(crate) fn sentence(&self, now: u64) -> String {
        sentence(self.family, self.verdict.as_ref(), self.request.as_ref(), now)
    }

    /// For programs, as `ddns preview --json` has it.
    pub(crate) fn json(&self, now: u64) -> impl Serialize {
        object! {
            domain: &self.domain,
            r#type: self.family,
            address: self.address.as_ref().map(|(ip, _)| ip),
            source: self.address.as_ref().and_then(|(_, source)| source.as_ref()),
            verdict: word(self.verdict.as_ref(), self.request.as_ref()),
            reason: self.sentence(now),
            request: self.request.as_ref().and_then(|request| request.as_ref().ok()).map(request_json),
            curl: &self.curl,
        }
    }
}

/// What would be done, in a word for programs.
pub(crate) fn word(verdict: Option<&Verdict>, request: Option<&Result<Redacted, String>>) -> &'static str {
    match (verdict, request) {
        (None, _) => "no address",
        (Some(Verdict::UpToDate(_)), _) => "up to date",
        (_, Some(Err(_))) => "impossible",
        (Some(Verdict::Wait(_)), _) => "wait",
        (Some(Verdict::Held(..)), _) => "held back",
        (Some(Verdict::Stopped(..)), _) => "stopped",
        (Some(Verdict::Send(_)), _) => "send",
    }
}

/// A request for programs.
pub(crate) fn request_json(request: &Redacted) -> impl Serialize {
    object! {
        method: request.method.as_str(),
        url: request.url.to_string(),
        headers: Headers(&request.headers),
        body: &request.body,
        proxy: request.proxy.as_ref().map(|proxy| &proxy.address),
    }
}

/// In their order.
struct Headers<'a>(&'a [(Cow<'static, str>, String)]);

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A part of all updates.
pub(crate) struct Previews {
    pub(crate) shown: Vec<Preview>,
    /// How many are wanted, on all pages.
    pub(crate) total: usize,
    /// How many of them would be sent now.
    pub(crate) due: usize,
}

/// What would be done about an update, and why.
pub(crate) fn sentence(
    family: Family,
    verdict: Option<&Verdict>,
    request: Option<&Result<Redacted, String>>,
    now: u64,
) -> String {
    match (verdict, request) {
        (Some(Verdict::Send(_)), Some(Err(why))) => format!("cannot be sent: {why}"),
        (Some(verdict), _) => verdict.sentence(now),
        (None, _) => format!("cannot be sent: no {family} address found"),
    }
}

/// A request as it may be seen, with the proxy that would be tried first. `reveal` shows the secrets, too.
pub(crate) fn redacted<'a>(
    (callback, proxies): (&'a Callback, &Proxies),
    subject: impl Into<Subject<'a>>,
    moment: Moment,
    reveal: bool,
) -> Result<Redacted, String> {
    let subject = subject.into();
    let url = callback.url(subject, moment).ok();
    let route = url.as_ref().and_then(|url| proxies.routes(url).next());
    let server = route.and_then(|route| match route {
        Route::Via(server) => Some(&**server),
        Route::Direct | Route::Unusable(..) => None,
    });
    let request = callback.redacted(subject, moment, USER_AGENT, reveal);
    request.map(|request| request.through(server, reveal))
}

impl Sync<'_> {
    /// The updates of these domains, without the first `skip`, and no more than `take`.
    pub(crate) fn previews(&self, is_wanted: impl Fn(&Domain, Family) -> bool, skip: usize, take: usize) -> Previews {
        let mut previews = Previews { shown: Vec::new(), total: 0, due: 0 };
        for (at, sender) in self.senders.iter().enumerate() {
            for family in Family::ALL {
                let jobs = (self.updates.first(at, family)..).zip(sender.entry.domains_of(family));
                for (job, domain) in jobs.filter(|(_, domain)| is_wanted(domain, family)) {
                    let number = previews.total;
                    previews.total += 1;
                    let update = self.updates.update(job).map(|(_, update)| update);
                    let verdict = update.map(|update| self.updates.judge(at, &update));
                    previews.due += usize::from(matches!(verdict, Some(Verdict::Send(_))));
                    if number < skip || number >= skip + take {
                        continue;
                    }
                    let batch = update.map(|_| self.updates.batch(job));
                    let request = batch.map(|batch| {
                        let (_, batch) = batch.ok_or_else(|| INCOMPLETE.to_owned())?;
                        let updates: Vec<_> = batch.into_iter().map(|(_, update)| *update).collect();
                        let request = Request::of(&updates).ok_or_else(String::new)?;
                        let way = (&sender.entry.callback, &sender.entry.proxies);
                        redacted(way, request, self.updates.moment(at, request.first), false)
                    });
                    let command = |request: &Redacted| curl::quoted(&curl::words(request, &sender.entry.ssl), None);
                    previews.shown.push(Preview {
                        domain: domain.to_string(),
                        family,
                        address: update.map(|update| (update.ip, self.updates.source(at, family))),
                        curl: request.as_ref().and_then(|request| request.as_ref().ok()).map(command),
                        decided: self.updates.decision(at, job),
                        is_together: self.updates.leader(job) != job,
                        verdict,
                        request,
                    });
                }
            }
        }
        previews
    }
}
