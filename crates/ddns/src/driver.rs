//! Drives the engine: carries out its effects, and reports the results. Decides nothing.

use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use ddns_core::address::lookup::Lookup;
use ddns_core::address::observation::Choice;
use ddns_core::address::source::Source;
use ddns_core::callback::Request;
use ddns_core::dns::{DnsObservation, DnsQuery};
use ddns_core::engine::plan::{Plan, StoreId, StorePlace};
use ddns_core::engine::{
    Effect, Engine, Event, Facts, LookupId, Note, Out, Reads, RequestId, ResponseFacts, RoundId, Term, Ticket,
};
use ddns_core::journal::{JournalEvent, sentence};
use ddns_core::net::family::Family;
use ddns_core::update::state::Pair;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::timeout_at;

use crate::clock::steady_time;
use crate::compose::now;
use crate::dns::{DnsClient, system_resolvers};
use crate::http::{BodyUse, Client, Failure, Response};
use crate::lookup::{self, Query};
use crate::open_file::reason;
use crate::output::log::Log;
use crate::steps::how;
use crate::store::FileStore;
#[cfg(debug_assertions)]
use crate::trace::DriverTrace;

/// What the driver needs of a group's lease.
pub(crate) trait Lease {
    /// Whether a request may be sent now under this lease.
    fn is_valid(&self, term: Term) -> bool;
    /// Queues a write to the store, and waits until the store has it.
    fn write(&self, term: Term, pairs: Vec<Pair>) -> LocalBoxFuture<'static, ()>;
    fn tell(&self, note: Note);
}

pub(crate) struct Driver<'a> {
    pub(crate) engine: Box<Engine>,
    out: Out,
    plan: Rc<Plan>,
    client: &'a Client,
    /// By configuration.
    logs: &'a [Log<'a>],
    /// By [`StoreId`]; `None` if the store is no file.
    files: Vec<Option<FileStore>>,
    /// `None`: this host is in no group.
    lease: Option<Rc<dyn Lease>>,
    lookups: FuturesUnordered<LocalBoxFuture<'a, (LookupId, Lookup)>>,
    requests: FuturesUnordered<LocalBoxFuture<'a, SentRequest>>,
    writes: FuturesUnordered<LocalBoxFuture<'static, (StoreId, Ticket)>>,
    rounds: FuturesUnordered<LocalBoxFuture<'static, (RoundId, DnsObservation)>>,
    /// `None` before the first round.
    dns: Option<Rc<DnsClient>>,
    /// Addresses that replace those of the sources, by [`Family::index`].
    given: Option<[IpAddr; 2]>,
    /// The text of the last response; `None`: it is not kept.
    heard: Option<String>,
    /// Effects that say that the engine is idle, closed or has ended.
    milestones: Vec<Effect>,
    #[cfg(debug_assertions)]
    trace: DriverTrace,
}

/// A request that has ended, its entry and its result.
type SentRequest = (RequestId, usize, Result<Response, Failure>);

impl<'a> Driver<'a> {
    /// `plan` is the one that the engine begins with.
    pub(crate) fn new(
        engine: Box<Engine>,
        plan: &Rc<Plan>,
        (client, logs): (&'a Client, &'a [Log<'a>]),
        lease: Option<Rc<dyn Lease>>,
    ) -> Self {
        let file = |place: &StorePlace| match place {
            StorePlace::File(path) => Some(FileStore::new(path.clone())),
            StorePlace::Memory | StorePlace::Group(_) => None,
        };
        Self {
            engine,
            out: Out::default(),
            files: plan.places().iter().map(file).collect(),
            plan: Rc::clone(plan),
            client,
            logs,
            lease,
            lookups: FuturesUnordered::new(),
            requests: FuturesUnordered::new(),
            writes: FuturesUnordered::new(),
            rounds: FuturesUnordered::new(),
            dns: None,
            given: None,
            heard: None,
            milestones: Vec::new(),
            #[cfg(debug_assertions)]
            trace: DriverTrace::new(),
        }
    }

    /// From now on, lookups return these addresses, whatever the sources say.
    pub(crate) fn give(&mut self, addresses: [IpAddr; 2]) {
        self.given = Some(addresses);
    }

    /// From now on, keeps the text of the last response.
    pub(crate) fn listen(&mut self) {
        self.heard = Some(String::new());
    }

    /// The text of the last response; empty if there was none.
    pub(crate) fn heard(&self) -> &str {
        self.heard.as_deref().unwrap_or_default()
    }

    /// Tells the engine what happened, and carries out what it asks for.
    pub(crate) fn on(&mut self, event: Event) {
        self.tell(event);
        while let Some(effect) = self.out.effects.pop_front() {
            #[cfg(debug_assertions)]
            self.trace.effect(&effect, &self.engine, &self.plan);
            if let Some(event) = self.carry_out(effect) {
                self.tell(event);
            }
        }
    }

    fn tell(&mut self, event: Event) {
        #[cfg(debug_assertions)]
        let (line, told) = (self.trace.event(&event, &self.plan), self.out.journal.len());
        self.engine.on(event, now(), &mut self.out);
        #[cfg(debug_assertions)]
        self.trace.told(line, &self.out.journal[told..]);
    }

    /// Takes the events since the last call, and writes them to the log.
    pub(crate) fn take_journal(&mut self) -> Vec<JournalEvent> {
        for event in &self.out.journal {
            let (Some(level), [entry, ..]) = (event.what.level(), event.what.entries()) else { continue };
            let (config, has_body) =
                (self.plan.config_of(*entry), self.plan.entry(*entry).callback.request.body.is_some());
            let is_one_of_several = self.plan.config(config).entries.len() > 1;
            let is_remembered = self.engine.remembers(*entry);
            self.logs[config].line(level, || sentence(event, is_one_of_several, has_body, is_remembered));
        }
        std::mem::take(&mut self.out.journal)
    }

    /// Takes what the engine said of itself, the oldest first: [`Effect::Idle`], [`Effect::Closed`] and
    /// [`Effect::Ended`].
    pub(crate) fn take_milestones(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.milestones)
    }

    /// Carries out an effect. Returns its result if that is known at once.
    fn carry_out(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Begin => self.client.refresh(),
            Effect::LookUp { lookup, entry, family } => self.look_up(lookup, entry, family),
            Effect::Read { store } => {
                let stored = self.files[store].as_mut()?.read();
                return Some(Event::Read { store, stored });
            }
            Effect::Persist { store, upto, durability } => {
                if let Some(file) = &mut self.files[store] {
                    let result = file.persist(store, &mut self.engine, durability).map_err(|error| reason(&error));
                    return Some(Event::Persisted { store, upto, result });
                }
                let (lease, term) = (self.lease.clone()?, self.engine.term()?);
                let written = lease.write(term, self.engine.pairs(store));
                self.writes.push(Box::pin(async move {
                    written.await;
                    (store, upto)
                }));
            }
            Effect::Discard { store } => self.files[store].as_mut()?.discard(),
            Effect::Send { request, entry, message, term, reads } => self.send(request, entry, message, (term, reads)),
            Effect::AskDns { round, dns_query } => self.ask_dns(round, *dns_query),
            Effect::Hide { entry, secrets } => self.logs[self.plan.config_of(entry)].hide(secrets),
            Effect::Cancel => self.requests = FuturesUnordered::new(),
            Effect::Tell(note) => self.lease.as_ref()?.tell(note),
            said @ (Effect::Idle { .. } | Effect::Closed | Effect::Ended(_)) => self.milestones.push(said),
        }
        None
    }

    fn look_up(&self, number: LookupId, entry: usize, family: Family) {
        let (plan, client) = (Rc::clone(&self.plan), self.client);
        if let Some(addresses) = self.given {
            let choice = Choice { ip: addresses[family.index()], why: String::new() };
            let mut lookup = Lookup::default();
            lookup.add(&Source::Default, Ok(choice), Duration::ZERO);
            self.lookups.push(Box::pin(async move { (number, lookup) }));
            return;
        }
        self.lookups.push(Box::pin(async move {
            (number, lookup::look_up(Query::new(plan.entry(entry), family), client).await)
        }));
    }

    fn ask_dns(&mut self, round: RoundId, mut dns_query: DnsQuery) {
        if dns_query.resolvers.is_empty() {
            dns_query.resolvers = system_resolvers();
        }
        let dns = Rc::clone(self.dns.get_or_insert_default());
        self.rounds.push(Box::pin(async move { (round, dns.round(&dns_query).await) }));
    }

    fn send(&self, number: RequestId, entry: usize, message: Box<Request>, (term, reads): (Option<Term>, Reads)) {
        let (plan, client) = (Rc::clone(&self.plan), self.client);
        let sending = async move { (number, entry, client.send(&message, how(plan.entry(entry), want(reads))).await) };
        self.requests.push(match self.lease.clone().zip(term) {
            None => Box::pin(sending),
            // Checked before every step, so that a process that was paused or suspended sends nothing (J3).
            Some((lease, term)) => Box::pin(async move {
                let mut sending = pin!(sending);
                let step = |context: &mut Context<'_>| {
                    if lease.is_valid(term) { sending.as_mut().poll(context) } else { Poll::Pending }
                };
                poll_fn(step).await
            }),
        });
    }

    /// The next result; pending forever if nothing is in progress.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        if let Poll::Ready(Some((lookup, found))) = self.lookups.poll_next_unpin(context) {
            return Poll::Ready(Event::LookedUp { lookup, found });
        }
        if let Poll::Ready(Some((request, entry, result))) = self.requests.poll_next_unpin(context) {
            if let Some(heard) = &mut self.heard {
                *heard = result.as_ref().map_or_else(|_| String::new(), |it| String::from_utf8_lossy(&it.body).into());
            }
            return Poll::Ready(Event::Settled { request, facts: self.facts(entry, result) });
        }
        if let Poll::Ready(Some((round, observation))) = self.rounds.poll_next_unpin(context) {
            let questions = self.dns.as_ref().map(|dns| dns.take_counts()).unwrap_or_default();
            return Poll::Ready(Event::SeenInDns { round, observation, questions });
        }
        match self.writes.poll_next_unpin(context) {
            Poll::Ready(Some((store, upto))) => Poll::Ready(Event::Persisted { store, upto, result: Ok(()) }),
            _ => Poll::Pending,
        }
    }

    /// The next result, or [`Event::Time`] when the engine wants to wake up, or at `by`.
    pub(crate) async fn next(&mut self, by: Option<Instant>) -> Event {
        let wake = self.engine.wake_at().map(|at| Instant::now() + at.saturating_sub(steady_time()));
        let next = poll_fn(|context| self.poll(context));
        match wake.into_iter().chain(by).min() {
            None => next.await,
            Some(at) => timeout_at(at.into(), next).await.unwrap_or(Event::Time),
        }
    }

    fn facts(&self, entry: usize, result: Result<Response, Failure>) -> Facts {
        let (warnings, facts) = match result {
            Ok(response) => {
                let via = response.via.as_ref().map(ToString::to_string);
                let Response { status, body, is_whole, retry_after, allow, date, is_relayed, line, warnings, .. } =
                    response;
                let facts = ResponseFacts { status, body, is_whole, retry_after, allow, date, via, is_relayed, line };
                (warnings, Facts::Response(Box::new(facts)))
            }
            Err(Failure { why, reached, warnings }) => (warnings, Facts::Failed { why, reached }),
        };
        for warning in &warnings {
            self.logs[self.plan.config_of(entry)].warning(warning);
        }
        facts
    }
}

fn want(reads: Reads) -> BodyUse {
    match reads {
        Reads::Status => BodyUse::Status,
        Reads::Verdict => BodyUse::Verdict,
        Reads::Answer => BodyUse::Answer,
    }
}
