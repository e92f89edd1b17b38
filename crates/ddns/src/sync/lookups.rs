//! The lookups of all senders: which are under way, which result is news, and what is logged of it.

use std::net::IpAddr;
use std::task::{Context, Poll};

use ddns_core::address::observation::doubtful;
use ddns_core::net::family::Family;
use ddns_core::schedule::lookups::Due;
use ddns_core::text::log_format::Level;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::sender::Sender;
use crate::lookup::{self, Lookup, Query};

pub(super) struct Lookups<'a> {
    senders: &'a [Sender<'a>],
    running: FuturesUnordered<LocalBoxFuture<'a, Finished>>,
    /// By sender.
    states: Vec<SenderState>,
    /// How many have not ended, by configuration.
    open: Vec<usize>,
}

/// By [`Family::index`].
#[derive(Clone, Default)]
struct SenderState {
    /// How many lookups were begun: the result of an older one is no news.
    begun: [u32; 2],
    /// Whether the last one gave no address, and that was logged.
    is_missing: [bool; 2],
    /// An address that was warned about.
    doubted: [Option<IpAddr>; 2],
}

/// A lookup that has ended.
pub(super) struct Finished {
    pub(super) lookup: Lookup,
    pub(super) family: Family,
    /// The senders that share it, and the number that it has for each of them.
    pub(super) senders: Vec<(usize, u32)>,
    /// Whether it belongs to a round.
    pub(super) is_round: bool,
}

impl<'a> Lookups<'a> {
    pub(super) fn new(senders: &'a [Sender<'a>]) -> Self {
        let configs = senders.last().map_or(0, |sender| sender.config + 1);
        Self {
            senders,
            running: FuturesUnordered::new(),
            states: vec![SenderState::default(); senders.len()],
            open: vec![0; configs],
        }
    }

    /// Begins what is due. A list of sources is asked once, however many entries share it.
    pub(super) fn begin(&mut self, due: &Due) {
        let mut queries = Vec::new();
        for (at, sender) in self.senders.iter().enumerate() {
            for family in Family::ALL {
                let Some(query) = Query::needed(sender.entry, family) else { continue };
                if due.includes(sender.config, at, family) {
                    self.open[sender.config] += 1;
                    let begun = &mut self.states[at].begun[family.index()];
                    *begun += 1;
                    queries.push((query, (at, *begun)));
                }
            }
        }
        let is_round = !due.rounds.is_empty();
        for (query, senders) in lookup::shared(queries) {
            let client = self.senders[senders[0].0].client;
            self.running.push(Box::pin(async move {
                let lookup = lookup::look_up(query, client).await;
                Finished { lookup, family: query.family, senders, is_round }
            }));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The next one that ends; pending for ever where none is under way.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Finished> {
        match self.running.poll_next_unpin(context) {
            Poll::Ready(Some(finished)) => Poll::Ready(finished),
            _ => Poll::Pending,
        }
    }

    /// Takes in that a sender's lookup of this number ended. Whether it is news: no newer one was begun meanwhile.
    pub(super) fn finish(&mut self, at: usize, family: Family, number: u32) -> bool {
        self.open[self.senders[at].config] -= 1;
        self.states[at].begun[family.index()] == number
    }

    /// Whether lookups of a configuration are under way.
    pub(super) fn is_open(&self, config: usize) -> bool {
        self.open[config] > 0
    }

    /// Notes whether a sender has an address. Whether it had none before.
    pub(super) fn set_missing(&mut self, at: usize, family: Family, is_missing: bool) -> bool {
        std::mem::replace(&mut self.states[at].is_missing[family.index()], is_missing)
    }

    /// Once for all that share a lookup, and as a warning only while one of them has not been warned yet.
    pub(super) fn log(&mut self, finished: &Finished) {
        let family = finished.family;
        let is_missing = |at: usize| self.states[at].is_missing[family.index()];
        let fresh = finished.senders.iter().map(|(at, _)| *at).find(|at| !is_missing(*at));
        let level = if fresh.is_some() { Level::Warning } else { Level::Debug };
        let log = self.senders[fresh.unwrap_or(finished.senders[0].0)].log;
        for (source, why) in finished.lookup.failed() {
            log.line(level, || format!("{family}: no address from {source}: {why}"));
        }
        if let Some((source, choice)) = finished.lookup.found() {
            log.debug(|| format!("{family}: {}, from {source}: {}", choice.ip, choice.why));
            let doubt = doubtful(choice.ip);
            let doubted = doubt.is_some().then_some(choice.ip);
            let mut is_news = false;
            for (at, _) in &finished.senders {
                let before = std::mem::replace(&mut self.states[*at].doubted[family.index()], doubted);
                is_news |= before != doubted;
            }
            if let Some(why) = doubt.filter(|_| is_news) {
                log.warning(format!("{family}: {} from {source}: {why}", choice.ip));
            }
        }
    }
}
