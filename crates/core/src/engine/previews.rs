//! An update as somebody may see it before it is sent: what is to be done about it, and its request.

use std::borrow::Cow;
use std::net::IpAddr;

use serde::{Serialize, Serializer};

use super::Engine;
use crate::callback::{Batch, Callback, Moment, Redacted, Subject, Timestamp, USER_AGENT, curl};
use crate::net::family::Family;
use crate::net::proxy::{Proxies, Route};
use crate::object;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::plan::Verdict;
use crate::update::state::{Claim, Fingerprint, InDoubt};

/// Why the request of an update cannot be made where it needs another address.
pub const INCOMPLETE: &str = "the other address is missing, and `combine.missing` is not set";

/// One update.
#[derive(Debug)]
pub struct Preview {
    /// Its domain.
    pub domain: String,
    /// Its type.
    pub family: Family,
    /// The address it should have and its source; `None` if none was found.
    pub address: Option<(IpAddr, Option<String>)>,
    /// `None` if there is no address.
    pub verdict: Option<Verdict>,
    /// `None` if there is no address.
    pub request: Option<Result<Redacted, String>>,
    /// The same as a command of curl.
    pub curl: Option<String>,
    /// What decided on the last response; `None` if there was none.
    pub decided: Option<String>,
    /// Whether it goes in one request with an update that comes before it.
    pub is_together: bool,
}

/// A part of all updates.
#[derive(Debug)]
pub struct Previews {
    /// These.
    pub shown: Vec<Preview>,
    /// How many are wanted, on all pages.
    pub total: usize,
    /// How many of them would be sent now.
    pub due: usize,
}

impl Engine {
    /// The updates of these domains, without the first `skip`, and no more than `take`.
    pub fn previews(&self, is_wanted: impl Fn(&Domain, Family) -> bool, skip: usize, take: usize) -> Previews {
        let mut previews = Previews { shown: Vec::new(), total: 0, due: 0 };
        let plan = &self.plan;
        for at in 0..plan.entry_count() {
            let entry = plan.entry(at);
            for family in Family::ALL {
                let ids = (plan.first(at, family)..).zip(entry.domains_of(family));
                for (id, domain) in ids.filter(|(_, domain)| is_wanted(domain, family)) {
                    let number = previews.total;
                    previews.total += 1;
                    let update = self.update(plan, id).map(|(_, update)| update);
                    let verdict = update.map(|update| self.judge(at, &update));
                    previews.due += usize::from(matches!(verdict, Some(Verdict::Send(_))));
                    if number < skip || number >= skip + take {
                        continue;
                    }
                    let batch = update.map(|_| self.batch(plan, id));
                    let request = batch.map(|batch| {
                        let (_, batch) = batch.ok_or_else(|| INCOMPLETE.to_owned())?;
                        let updates: Vec<Update<'_>> = batch.into_iter().map(|(_, update)| *update).collect();
                        let all = Batch::of(&updates).ok_or_else(String::new)?;
                        let memory = self.memory(at, all.first.domain, all.first.family);
                        let known = memory.map(|memory| memory.entry(all.first.domain, all.first.family));
                        let key = self.entries[at].callback;
                        let moment = moment_of(
                            &entry.callback,
                            key,
                            known.unwrap_or_default(),
                            all.first.ip,
                            (self.now.day, self.own),
                        );
                        redacted((&entry.callback, &entry.proxies), all, moment, false)
                    });
                    let command = |request: &Redacted| curl::quoted(&curl::words(request, &entry.ssl), None);
                    previews.shown.push(Preview {
                        domain: domain.to_string(),
                        family,
                        address: update.map(|update| (update.ip, self.source(at, family))),
                        curl: request.as_ref().and_then(|request| request.as_ref().ok()).map(command),
                        decided: self.decision(at, id),
                        is_together: plan.leader(id) != id,
                        verdict,
                        request,
                    });
                }
            }
        }
        previews
    }
}

impl Preview {
    /// What would be done, and why.
    pub fn sentence(&self, now: u64) -> String {
        sentence(self.family, self.verdict.as_ref(), self.request.as_ref(), now)
    }

    /// For programs, as `ddns preview --json` has it.
    pub fn json(&self, now: u64) -> impl Serialize {
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
pub fn word(verdict: Option<&Verdict>, request: Option<&Result<Redacted, String>>) -> &'static str {
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
pub fn request_json(request: &Redacted) -> impl Serialize {
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

/// What would be done about an update, and why.
pub fn sentence(
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
pub fn redacted<'a>(
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

/// What a request depends on beside its update: the key of its callback, what is remembered of it, the time, and a number for a
/// message that has none yet.
pub fn moment_of(
    callback: &Callback,
    key: Option<Fingerprint>,
    entry: Claim,
    ip: IpAddr,
    (now, fresh): (Timestamp, u32),
) -> Moment {
    let moment = Moment { accepted: entry.accepted.map(|accepted| accepted.ip), ..Moment::from(now) };
    if callback.sign.is_empty() {
        return moment;
    }
    // The number of a try before, or a new one (H11).
    let before = entry.in_doubt.filter(|doubt: &InDoubt| doubt.ip == ip && doubt.message != 0);
    let number = before.map_or(fresh, |doubt| doubt.message);
    Moment { message: (key.unwrap_or(moment.message.0), number), ..moment }
}
