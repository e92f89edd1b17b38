//! What happened, collected for whoever wants it: [`Sync::collect_news`] begins it, and where nobody does, it costs a branch.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::rc::Rc;

use ddns_core::lease::role_change::RoleChange;
use ddns_core::net::family::Family;
use ddns_core::update::Update;
use ddns_core::update::happened::{Happened, Settled, What};
use ddns_core::update::outcome::Outcome;
use ddns_core::update::plan::Verdict;

use super::Sync;
use super::lookups::Finished;
use super::sender::Sent;
use crate::output::log::Log;

/// What happened since it was last taken, and what must be known for that.
pub(super) struct News {
    list: Vec<Happened>,
    /// By sender.
    senders: Vec<SenderState>,
    /// Why the sources failed that failed when they were last asked.
    failing: HashMap<(Family, String), String>,
}

#[derive(Clone, Default)]
struct SenderState {
    /// Where it sends, once it has sent; none where that depends on the update.
    origin: Option<Rc<str>>,
    /// The last address that was found, by [`Family::index`].
    found: [Option<IpAddr>; 2],
    is_missing: [bool; 2],
}

impl News {
    fn new(senders: usize) -> Self {
        Self { list: Vec::new(), senders: vec![SenderState::default(); senders], failing: HashMap::new() }
    }

    /// Takes in a lookup that is news for these senders.
    fn looked_up(&mut self, finished: &Finished, senders: &[usize], log: &Log<'_>, at: u64) {
        let (family, lookup) = (finished.family, &finished.lookup);
        for (source, why) in lookup.failed() {
            // A response may hold what the user typed.
            let (entries, source, why) = (senders.to_vec(), source.to_owned(), log.masked(why).into_owned());
            let before = self.failing.insert((family, source.clone()), why.clone());
            let is_repeat = before.as_ref() == Some(&why);
            self.list.push(Happened { at, what: What::SourceFailed { entries, family, source, why, is_repeat } });
        }
        let found = lookup.found().map(|(source, choice)| (source, choice.ip));
        if let Some((source, _)) = found
            && !self.failing.is_empty()
            && self.failing.remove(&(family, source.to_owned())).is_some()
        {
            let (entries, source) = (senders.to_vec(), source.to_owned());
            self.list.push(Happened { at, what: What::SourceRecovered { entries, family, source } });
        }
        // Those that had the same before are reported together.
        let mut changes: BTreeMap<(Option<IpAddr>, bool), Vec<usize>> = BTreeMap::new();
        for sender in senders {
            let SenderState { found: before, is_missing, .. } = &mut self.senders[*sender];
            let (before, is_missing) = (&mut before[family.index()], &mut is_missing[family.index()]);
            let known = (*before, *is_missing);
            let is_news = match found {
                // The first one of all is no change.
                Some((_, ip)) => before.replace(ip).is_some_and(|before| before != ip) || *is_missing,
                None => !*is_missing,
            };
            *is_missing = found.is_none();
            if is_news {
                changes.entry(known).or_default().push(*sender);
            }
        }
        for ((previous, was_missing), entries) in changes {
            let what = match found {
                Some((source, ip)) => {
                    What::Address { entries, family, ip, previous, source: source.to_owned(), was_missing }
                }
                None => What::NoAddress { entries, family, previous },
            };
            self.list.push(Happened { at, what });
        }
    }
}

impl Sync<'_> {
    /// Collects from now on what happens.
    pub(crate) fn collect_news(&mut self) {
        let senders = self.senders.len();
        self.news.get_or_insert_with(|| Box::new(News::new(senders)));
    }

    /// What happened since this was last called; nothing where nobody wants to know.
    pub(crate) fn take_news(&mut self) -> Vec<Happened> {
        self.news.as_mut().map_or_else(Vec::new, |news| std::mem::take(&mut news.list))
    }

    /// A lookup ended that is news for these senders.
    pub(super) fn note_lookup(&mut self, finished: &Finished, senders: &[usize]) {
        if let Some(news) = &mut self.news
            && let Some(first) = senders.first()
        {
            news.looked_up(finished, senders, self.senders[*first].log, self.updates.now());
        }
    }

    /// This host took over the lease of its group, gave it back or lost it.
    pub(crate) fn note_role(&mut self, change: RoleChange) {
        let at = self.updates.now();
        if let Some(news) = &mut self.news {
            news.list.push(Happened { at, what: What::Role(change) });
        }
    }

    /// An update is held back or stopped.
    pub(super) fn note_held(&mut self, entry: usize, update: &Update<'_>, verdict: &Verdict) {
        let Some(news) = &mut self.news else { return };
        let (until, why) = match verdict {
            Verdict::Held(until, by) => (Some(*until), by.reason().to_owned()),
            Verdict::Stopped(words, _) => (None, words.clone()),
            _ => return,
        };
        let Update { domain, family, ip } = *update;
        let what = What::Held { entry, domain: domain.clone(), family, ip, until, why };
        news.list.push(Happened { at: self.updates.now(), what });
    }

    /// An update ended whose endpoint had accepted `previous` before. Called while the queue still knows the try before.
    pub(super) fn note_settled(
        &mut self,
        entry: usize,
        sent: &Sent<'_>,
        (update, outcome): (&Update<'_>, &Outcome),
        previous: Option<IpAddr>,
    ) {
        let Some(news) = &mut self.news else { return };
        let origin = &mut news.senders[entry].origin;
        if origin.is_none() {
            *origin = self.senders[entry].entry.callback.target.fixed_part().map(|url| url.origin().into());
        }
        let endpoint = origin.clone().or_else(|| sent.origin.as_deref().map(Rc::from));
        let retry = self.queue.retry(sent.start.0);
        let settled = Settled {
            entry,
            domain: update.domain.clone(),
            family: update.family,
            endpoint,
            ip: update.ip,
            previous,
            outcome: outcome.clone(),
            took: sent.took,
            attempt: retry.map_or(1, |retry| retry.failures.saturating_add(1)),
            is_repeat: retry.is_some_and(|retry| retry.outcome == *outcome),
        };
        news.list.push(Happened { at: self.updates.now(), what: What::Settled(settled) });
    }
}
