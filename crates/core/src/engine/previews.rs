//! Previews: what to do about an update, and its request, before it is sent.

use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;

use serde::{Serialize, Serializer};

use super::Engine;
use super::plan::Plan;
use crate::callback::steps::{RequestContext, RequestRole, Taken};
use crate::callback::{Batch, Callback, Moment, Redacted, RequestTemplate, SendableBatch, Subject, USER_AGENT, curl};
use crate::net::family::Family;
use crate::net::proxy::{Proxies, Route};
use crate::object;
use crate::schedule::queue::UpdateId;
use crate::update::Update;
use crate::update::domain::Domain;
use crate::update::plan::{Reason, Verdict};

/// Why a combined request cannot be made.
const INCOMPLETE: &str = "the other address is missing, and `combine.missing` is not set";

/// A preview of one update.
#[derive(Debug)]
pub struct Preview {
    plan: Rc<Plan>,
    /// The number of its entry.
    pub entry: usize,
    /// Its domain.
    pub domain: String,
    /// Its family.
    pub family: Family,
    /// The address it should have and its source; `None` if none was found.
    pub address: Option<(IpAddr, Option<String>)>,
    /// What to do about it; `None` if there is no address.
    pub verdict: Option<Verdict>,
    /// Its request, or why it cannot be made; `None` if there is no address.
    pub request: Option<Result<Redacted, String>>,
    /// That request and those around it, in order; empty if there are none around it.
    pub around: Vec<(RequestRole, Redacted)>,
    /// What decided on the last response; `None` if there was none.
    pub decided: Option<String>,
    /// Whether it goes in the request of an update before it.
    pub is_together: bool,
    /// Whether its request contains an example address (A8).
    pub is_example: bool,
}

/// A page of previews.
#[derive(Debug)]
pub struct Previews {
    /// The previews of this page.
    pub shown: Vec<Preview>,
    /// How many updates there are on all pages.
    pub total: usize,
    /// How many of them would be sent now.
    pub due: usize,
}

/// The verdict on the updates of one request, and on those that are stopped; `None` if it cannot be sent.
type BatchVerdict = Option<(Verdict, Vec<(UpdateId, Verdict)>)>;

impl Engine {
    /// Previews of the updates that `is_wanted` accepts: skips the first `skip`, and shows at most `take`.
    pub fn previews(&self, is_wanted: impl Fn(&Domain, Family) -> bool, skip: usize, take: usize) -> Previews {
        let mut previews = Previews { shown: Vec::new(), total: 0, due: 0 };
        let mut batches = HashMap::new();
        for at in 0..self.plan.entry_count() {
            for family in Family::ALL {
                let ids = (self.plan.first(at, family)..).zip(self.plan.entry(at).domains_of(family));
                for (id, _) in ids.filter(|(_, domain)| is_wanted(domain, family)) {
                    previews.due += usize::from(matches!(self.verdict(id, &mut batches), Some(Verdict::Send(_))));
                    if previews.total >= skip && previews.shown.len() < take {
                        previews.shown.push(self.preview(id, false));
                    }
                    previews.total += 1;
                }
            }
        }
        previews
    }

    /// A preview of an update. `reveal`: with its secrets.
    pub fn preview(&self, id: UpdateId, reveal: bool) -> Preview {
        let plan = &*self.plan;
        let (at, domain, family) = plan.about(id);
        let entry = plan.entry(at);
        let update = self.supposed(plan, id);
        let batch = update.map(|_| self.together(plan, id, |id| self.supposed(plan, id)));
        let members = || batch.iter().flatten().flat_map(|(_, members)| members);
        let shown = |template: &RequestTemplate| {
            let (_, members) = batch.as_ref()?.as_ref()?;
            let updates: Vec<Update<'_>> = members.iter().map(|(_, update)| *update).collect();
            Some(self.redacted(id, &updates, template, &[], reveal))
        };
        let request =
            batch.as_ref().map(|_| shown(&entry.callback.request).unwrap_or_else(|| Err(INCOMPLETE.to_owned())));
        let mut around = Vec::new();
        if entry.callback.around.is_some() {
            let all = entry.callback.requests().into_iter();
            around.extend(all.filter_map(|(role, template)| Some((role, shown(template)?.ok()?))));
        }
        Preview {
            entry: at,
            domain: domain.to_string(),
            family,
            address: update.map(|update| (update.ip, self.source(at, family))),
            verdict: self.verdict(id, &mut HashMap::new()),
            decided: self.decision(at, id),
            is_together: members().next().is_some_and(|(first, _)| *first != id),
            is_example: members().any(|(_, update)| self.found(at, update.family).is_none()),
            request,
            around,
            plan: Rc::clone(&self.plan),
        }
    }

    /// A request of an update, redacted.
    fn redacted(
        &self,
        id: UpdateId,
        updates: &[Update<'_>],
        template: &RequestTemplate,
        taken: &Taken,
        reveal: bool,
    ) -> Result<Redacted, String> {
        let at = self.plan.entry_of(id);
        let entry = self.plan.entry(at);
        let all = Batch::of(updates).ok_or_else(String::new)?;
        let moment = self.moment(at, all.first, self.own.wrapping_add(self.plan.leader(id)));
        redacted_as((&entry.callback, &entry.proxies), template, (all.into(), moment, taken), reveal)
    }

    /// The updates of one request as they can be sent, and what else it depends on; `None` if there is no address (A8).
    pub fn parcel<'p>(&self, plan: &'p Plan, id: UpdateId) -> Option<(SendableBatch<'p>, Moment)> {
        let (at, batch) = self.batch(plan, id)?;
        let parcel = SendableBatch::of(batch.iter().map(|(_, update)| *update))?;
        let moment = self.moment(at, parcel.batch().first, self.own.wrapping_add(plan.leader(id)));
        Some((parcel, moment))
    }

    /// The request of an update after its steps took these values, redacted.
    pub fn finished(
        &self,
        id: UpdateId,
        template: &RequestTemplate,
        taken: &Taken,
        reveal: bool,
    ) -> Option<Result<Redacted, String>> {
        let (_, batch) = self.batch(&self.plan, id)?;
        let updates: Vec<Update<'_>> = batch.iter().map(|(_, update)| **update).collect();
        Some(self.redacted(id, &updates, template, taken, reveal))
    }

    /// The verdict on an update; `None` if there is no address. `batches` keeps the verdicts on requests with several updates.
    fn verdict(&self, id: UpdateId, batches: &mut HashMap<UpdateId, BatchVerdict>) -> Option<Verdict> {
        let (at, update) = (self.plan.entry_of(id), self.supposed(&self.plan, id)?);
        let own = self.judge_by(at, &update, self.rules(id, at, false));
        if !self.plan.is_combined(at) {
            return Some(own);
        }
        let judge = || {
            let (at, mut batch) = self.batch(&self.plan, id)?;
            let (verdict, stopped) = self.judge_batch(at, &mut batch, false);
            Some((verdict, stopped.into_iter().map(|(id, _, verdict)| (id, verdict)).collect()))
        };
        let Some((verdict, stopped)) = batches.entry(self.plan.leader(id)).or_insert_with(judge) else {
            return Some(own);
        };
        let stopped = stopped.iter().find(|(stopped, _)| *stopped == id).map(|(_, verdict)| verdict.clone());
        Some(match (verdict, own, stopped) {
            (_, _, Some(stopped)) => stopped,
            (Verdict::Send(_), own @ Verdict::Send(_), _) | (Verdict::UpToDate(_), own, _) => own,
            (Verdict::Send(_), ..) => Verdict::Send(Reason::Along),
            (verdict, ..) => verdict.clone(),
        })
    }

    /// An update to judge and to show, whether or not it can be sent; `None` if there is no address.
    fn supposed<'p>(&self, plan: &'p Plan, id: UpdateId) -> Option<Update<'p>> {
        let (at, domain, family) = plan.about(id);
        Some(plan.entry(at).update(domain, family, self.address(at, family)?))
    }
}

impl Preview {
    /// Its request, if it can be made.
    pub fn redacted(&self) -> Option<&Redacted> {
        self.request.as_ref()?.as_ref().ok()
    }

    /// Its request as a curl command, in lines of this width.
    pub fn curl(&self, width: Option<usize>) -> Option<String> {
        self.redacted().map(|request| self.command(request, width))
    }

    /// One of its requests as a curl command.
    pub fn command(&self, request: &Redacted, width: Option<usize>) -> String {
        curl::quoted(&curl::words(request, &self.plan.entry(self.entry).ssl), width)
    }

    /// What would be done, and why.
    pub fn sentence(&self, now: u64) -> String {
        match (&self.verdict, &self.request) {
            (Some(Verdict::Send(_)), Some(Err(why))) => format!("cannot be sent: {why}"),
            (Some(verdict), _) => verdict.sentence(now),
            (None, _) => format!("cannot be sent: no {} address found", self.family),
        }
    }

    /// What would be done, as a keyword for programs.
    pub fn word(&self) -> &'static str {
        match (&self.verdict, &self.request) {
            (None, _) => "no address",
            (Some(Verdict::UpToDate(_)), _) => "up to date",
            (_, Some(Err(_))) => "impossible",
            (Some(Verdict::Wait(_)), _) => "wait",
            (Some(Verdict::Held(..)), _) => "held back",
            (Some(Verdict::Stopped(..)), _) => "stopped",
            (Some(Verdict::Send(_)), _) => "send",
        }
    }

    /// As JSON, for `ddns preview --json`.
    pub fn json(&self, now: u64) -> impl Serialize {
        object! {
            domain: &self.domain,
            r#type: self.family,
            address: self.address.as_ref().map(|(ip, _)| ip),
            source: self.address.as_ref().and_then(|(_, source)| source.as_ref()),
            verdict: self.word(),
            reason: self.sentence(now),
            request: self.redacted().map(request_json),
            curl: self.curl(None);
            together: self.is_together.then_some(true),
            requests: self.around_json(true),
        }
    }
}

impl Preview {
    /// All requests in order, as JSON; `None` if there is only one. An example has no commands: nobody should run them.
    pub fn around_json(&self, has_commands: bool) -> Option<impl Serialize> {
        let all = self.around.iter().map(move |(role, request)| self.one_json(*role, request, has_commands));
        (!self.around.is_empty()).then(|| all.collect::<Vec<_>>())
    }

    fn one_json<'a>(&'a self, role: RequestRole, request: &'a Redacted, has_commands: bool) -> impl Serialize + 'a {
        let curl = has_commands.then(|| (!self.is_example).then(|| self.command(request, None)));
        object! { part: role.to_string(), request: request_json(request); curl: curl }
    }
}

/// A request as JSON.
pub fn request_json(request: &Redacted) -> impl Serialize {
    object! {
        method: request.method.as_str(),
        url: request.url.to_string(),
        headers: Headers(&request.headers),
        body: &request.body,
        proxy: request.proxy.as_ref().map(|proxy| &proxy.address),
    }
}

/// Headers in their order.
struct Headers<'a>(&'a [(Cow<'static, str>, String)]);

impl Serialize for Headers<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A request, redacted, with the proxy that would be tried first. `reveal` also shows the secrets.
pub fn redacted<'a>(
    (callback, proxies): (&'a Callback, &Proxies),
    subject: impl Into<Subject<'a>>,
    moment: Moment,
    reveal: bool,
) -> Result<Redacted, String> {
    redacted_as((callback, proxies), &callback.request, (subject.into(), moment, &[]), reveal)
}

/// All requests of a callback in order, redacted, before any of them is sent.
pub fn all_redacted<'a>(
    way: (&'a Callback, &Proxies),
    subject: impl Into<Subject<'a>>,
    moment: Moment,
) -> Vec<(RequestRole, Result<Redacted, String>)> {
    let subject = subject.into();
    let all = way.0.requests().into_iter();
    all.map(|(role, template)| (role, redacted_as(way, template, (subject, moment, &[]), false))).collect()
}

/// One request of a callback, redacted.
fn redacted_as(
    (callback, proxies): (&Callback, &Proxies),
    template: &RequestTemplate,
    about: RequestContext<'_>,
    reveal: bool,
) -> Result<Redacted, String> {
    let url = callback.url(about.0, about.1).ok();
    let route = url.as_ref().and_then(|url| proxies.routes(url).next());
    let server = route.and_then(|route| match route {
        Route::Via(server) => Some(&**server),
        Route::Direct | Route::Unusable(..) => None,
    });
    let request = callback.redacted_as(template, about, USER_AGENT, reveal);
    request.map(|request| request.through(server, reveal))
}
