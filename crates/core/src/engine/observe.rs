//! Looking up addresses: when, which results are new, and which updates they concern.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use super::plan::Plan;
use super::{Effect, Engine, LookupId, Mode, Note};
use crate::address::lookup::Lookup;
use crate::address::observation::{Observation, Observed};
use crate::journal::What;
use crate::net::family::Family;
use crate::net::reach::doubtful;
use crate::schedule::lookups::{Due, Schedule};
use crate::text::log_format::Level;

#[derive(Debug)]
pub(super) struct LookupState {
    pub(super) family: Family,
    /// The entries that share it, each with its own number for this lookup.
    pub(super) entries: Vec<(usize, u32)>,
    /// Whether it belongs to a round.
    is_round: bool,
}

/// How many lookups of an entry and family may run at once: one that may have started too early, and one after it.
const MAX_LOOKUPS_AT_ONCE: u32 = 2;

/// The lookups of an entry and family. A round does not replace a lookup that takes longer than the interval: the next round
/// would replace the new one, too, and no lookup would ever end.
#[derive(Debug, Default)]
pub(super) struct EntryLookups {
    /// How many were started; also the number of the last one.
    begun: u32,
    under_way: u32,
    /// The number of the last lookup whose result counted. Results of older ones are ignored.
    taken: u32,
    /// Whether the last result was skipped because a newer lookup was under way. ddns never skips two in a row.
    has_skipped: bool,
    /// Whether to look up once more, because something changed while too many lookups were under way.
    again: bool,
}

impl EntryLookups {
    /// Whether to start another lookup. `is_fresh`: the address must be looked up after this moment.
    fn begins(&mut self, is_fresh: bool) -> bool {
        let begins = self.under_way == 0 || is_fresh && self.under_way < MAX_LOOKUPS_AT_ONCE;
        self.again |= is_fresh && !begins;
        if begins {
            self.begun += 1;
            self.under_way += 1;
        }
        begins
    }

    pub(super) fn are_under_way(&self) -> bool {
        self.under_way > 0
    }

    /// Notes that a lookup has ended. Returns whether its result counts, and whether to look up again.
    fn ended(&mut self, number: u32) -> (bool, bool) {
        self.under_way -= 1;
        let is_skipped = self.begun != number && !self.has_skipped;
        let is_news = number > self.taken && !is_skipped;
        self.has_skipped = is_skipped;
        if is_news {
            self.taken = number;
        }
        (is_news, std::mem::take(&mut self.again))
    }
}

impl Engine {
    /// Starts the lookups that are due.
    pub(super) fn begin_due(&mut self) {
        let now = self.now.steady;
        if let Some(schedule) = &mut self.schedule
            && schedule.wake_at().is_some_and(|at| at <= now)
        {
            let due = schedule.due(now, self.chance.jitter());
            self.look_up(&due);
        }
        // Only when all lookups that were due have ended, and what they found is queued: that comes first.
        if self.lookups.is_empty()
            && self.todos.is_empty()
            && let Some(everything) = self.schedule.as_mut().and_then(Schedule::take_retry)
        {
            self.queue.retry_now(everything);
            self.asked.retry_now(everything);
        }
    }

    pub(super) fn look_up_all(&mut self) {
        self.look_up(&Due::everything(self.plan.configs().len()));
    }

    /// Looks up what is due. Entries with the same sources share a lookup.
    fn look_up(&mut self, due: &Due) {
        self.is_busy = true;
        self.out.effects.push_back(Effect::Begin);
        let is_round = !due.rounds.is_empty();
        let mut shared: Vec<(usize, LookupState)> = Vec::new();
        for at in 0..self.entries.len() {
            for family in Family::ALL {
                let config = self.plan.config_of(at);
                if self.plan.entry(at).domains_of(family).is_empty() || !due.includes(config, at, family) {
                    continue;
                }
                let is_fresh = due.is_asked_for || due.families[family.index()];
                let lookups = &mut self.entries[at].lookups[family.index()];
                if !lookups.begins(is_fresh) {
                    let who = (at, lookups.begun);
                    let is_its = |of: &&mut LookupState| of.family == family && of.entries.contains(&who);
                    self.lookups.values_mut().find(is_its).into_iter().for_each(|of| of.is_round |= is_round);
                    continue;
                }
                self.open[config] += 1;
                let who = (at, lookups.begun);
                let first = self.plan.asks_with(at, family);
                match shared.iter_mut().find(|(other, lookup)| *other == first && lookup.family == family) {
                    Some((_, lookup)) => lookup.entries.push(who),
                    None => shared.push((first, LookupState { family, entries: vec![who], is_round })),
                }
            }
        }
        for (entry, state) in shared {
            let lookup = self.next_number();
            self.out.effects.push_back(Effect::LookUp { lookup, entry, family: state.family });
            self.lookups.insert(lookup, state);
        }
    }

    pub(super) fn looked_up(&mut self, lookup: LookupId, found: &Lookup) {
        let Some(LookupState { family, entries, is_round }) = self.lookups.remove(&lookup) else { return };
        let plan = Rc::clone(&self.plan);
        let (mut fresh, mut again) = (Vec::new(), Vec::new());
        for (at, number) in &entries {
            self.open[plan.config_of(*at)] -= 1;
            let state = &mut self.entries[*at];
            let (is_news, looks_again) = state.lookups[family.index()].ended(*number);
            if looks_again {
                again.push((*at, family));
            }
            if is_news {
                fresh.push(*at);
                let observation = found.observed().map_or(Observation::Unavailable, Observation::Found);
                state.observed[family.index()] = observation;
                if self.mode == Mode::Service {
                    state.sources[family.index()] = Some(found.source());
                }
                if let Some(schedule) = &mut self.schedule {
                    schedule.looked_up(*at, family, found.address(), self.now.steady, self.chance.jitter());
                }
            }
        }
        self.say_found(family, &fresh, found);
        self.tell_found(&plan, family, &fresh, found);
        let mut judged = None;
        for (at, _) in entries {
            let config = plan.config_of(at);
            if !plan.is_strict(at) {
                // The other family may have waited for this lookup, even if its result is not new.
                if fresh.contains(&at) || Family::ALL.iter().any(|other| self.uncounted.contains_key(&(at, *other))) {
                    self.judge_family(at, family, is_round);
                }
            } else if self.open[config] == 0 && judged.replace(config) != Some(config) {
                // Strict order: nothing starts before all addresses are known.
                self.judge_config(config, is_round);
            }
        }
        if !again.is_empty() {
            self.look_up(&Due { retries: again, is_asked_for: true, ..Due::default() });
        }
        if self.lease.is_some() {
            let has_address = self.has_address();
            self.out.effects.push_back(Effect::Tell(Note::Address(has_address)));
        }
    }

    /// What is known about an entry's address.
    pub(super) fn observed(&self, at: usize, family: Family) -> Observation {
        self.entries[at].observed[family.index()]
    }

    /// The address of an entry; `None` if none was found.
    pub(super) fn found(&self, at: usize, family: Family) -> Option<Observed> {
        match self.observed(at, family) {
            Observation::Found(found) => Some(found),
            Observation::Unavailable | Observation::Off => None,
        }
    }

    /// Whether any update has an address.
    pub fn has_address(&self) -> bool {
        (0..self.entries.len()).any(|at| {
            Family::ALL
                .into_iter()
                .any(|family| !self.plan.entry(at).domains_of(family).is_empty() && self.found(at, family).is_some())
        })
    }

    /// Logs a result once for all entries that share the lookup. Failures are warnings only until all of these entries count as
    /// missing their address.
    fn say_found(&mut self, family: Family, entries: &[usize], found: &Lookup) {
        let index = family.index();
        let Some(first) = entries.first() else { return };
        let fresh = entries.iter().find(|at| !self.entries[**at].is_missing[index]);
        let level = if fresh.is_some() { Level::Warning } else { Level::Debug };
        let at = *fresh.unwrap_or(first);
        for (source, why) in found.failed() {
            self.say(at, level, || format!("{family}: no address from {source}: {why}"));
        }
        let Some((source, choice)) = found.found() else { return };
        self.say(at, Level::Debug, || format!("{family}: {}, from {source}: {}", choice.ip, choice.why));
        let doubt = doubtful(choice.ip);
        let doubted = doubt.is_some().then_some(choice.ip);
        let mut is_news = false;
        for at in entries {
            is_news |= std::mem::replace(&mut self.entries[*at].doubted[index], doubted) != doubted;
        }
        if let Some(why) = doubt.filter(|_| is_news) {
            self.say(at, Level::Warning, || format!("{family}: {} from {source}: {why}", choice.ip));
        }
    }

    /// Reports a lookup whose result is new for these entries.
    fn tell_found(&mut self, plan: &Plan, family: Family, entries: &[usize], lookup: &Lookup) {
        let Some(first) = entries.first() else { return };
        let asking = plan.asks_with(*first, family);
        for (source, why) in lookup.failed() {
            let (source, why) = (source.to_owned(), plan.masked(*first, why).into_owned());
            let before = self.failing.insert((family, asking, source.clone()), why.clone());
            let is_repeat = before.as_ref() == Some(&why);
            self.tell(What::SourceFailed { entries: entries.to_vec(), family, source, why, is_repeat });
        }
        let found = lookup.found().map(|(source, choice)| (source, choice.ip));
        if let Some((source, _)) = found
            && !self.failing.is_empty()
            && lookup.failed().all(|(failed, _)| failed != source)
            && self.failing.remove(&(family, asking, source.to_owned())).is_some()
        {
            self.tell(What::SourceRecovered { entries: entries.to_vec(), family, source: source.to_owned() });
        }
        // Entries that had the same address before are reported together.
        let mut changes: BTreeMap<(Option<IpAddr>, bool), Vec<usize>> = BTreeMap::new();
        for at in entries {
            let state = &mut self.entries[*at];
            let (before, is_missing) = (&mut state.found[family.index()], &mut state.is_missing[family.index()]);
            let known = (*before, *is_missing);
            let is_news = match found {
                // The very first address is not a change.
                Some((_, ip)) => before.replace(ip).is_some_and(|before| before != ip) || *is_missing,
                None => !*is_missing,
            };
            *is_missing = found.is_none();
            match found {
                None => self.say_missing(*at, family, known.1),
                Some((_, ip)) if known.1 => {
                    self.say(*at, Level::Info, || format!("{family}: address found again: {ip}"));
                }
                Some(_) => {}
            }
            if is_news {
                changes.entry(known).or_default().push(*at);
            }
        }
        for ((previous, was_missing), entries) in changes {
            self.tell(match found {
                Some((source, ip)) => {
                    What::Address { entries, family, ip, previous, source: source.to_owned(), was_missing }
                }
                None => What::NoAddress { entries, family, previous },
            });
        }
    }

    fn say_missing(&mut self, at: usize, family: Family, was_missing: bool) {
        let count = self.plan.entry(at).domains_of(family).len();
        let plural = if count == 1 { "" } else { "s" };
        let level = if was_missing { Level::Debug } else { Level::Error };
        self.say(at, level, || format!("no {family} address found: {count} update{plural} cannot be sent"));
    }
}
