//! What is to be reported, and what was: one ledger for each notification. Time is a parameter: a duration since some fixed
//! moment, and seconds since the epoch where it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::event::{NotifyEvent, NotifyEvents};
use crate::dns::DnsVerdict;
use crate::journal::{About, SightChange};
use crate::lease::role_change::{LeaseChange, RoleChange};
use crate::net::status::with_reason;
use crate::text::order;
use crate::update::outcome::{Outcome, Why};
use crate::update::streak::Streak;

/// A service sends two notifications of one kind at least so long apart: what happens meanwhile is reported together.
pub const PAUSE: Duration = Duration::from_secs(60);

/// How often the pause doubles after notifications that could not be sent.
const MAX_DOUBLINGS: u32 = 6;

/// How often ddns tries to report changed addresses, which the cache does not hold.
const MAX_TRIES: u32 = 10;

/// So many synchronizations try to report how an update stands; then it counts as reported.
const MAX_SYNCHRONIZATIONS: u8 = 10;

/// What is reported first, where several things are to be reported.
const ORDER: [NotifyEvent; NotifyEvent::ALL.len()] = [
    NotifyEvent::Lost,
    NotifyEvent::TookOver,
    NotifyEvent::Failed,
    NotifyEvent::Stopped,
    NotifyEvent::Recovered,
    NotifyEvent::Changed,
    NotifyEvent::Drifted,
    NotifyEvent::NotVisible,
    NotifyEvent::Visible,
    NotifyEvent::Synchronized,
];

/// How an update stands that failed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreakStatus {
    /// Which one.
    pub about: About,
    /// Its failures.
    pub streak: Streak,
    /// The address that it should have; `None` if no address was found.
    pub ip: Option<IpAddr>,
    /// Whether the endpoint has this address.
    pub is_fine: bool,
}

/// One update in a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateLine {
    /// Which one.
    pub about: About,
    /// The address that it has or should have; `None` if no address was found.
    pub ip: Option<IpAddr>,
    /// The address before; `None` if there was no other, or it does not matter.
    pub previous: Option<IpAddr>,
    /// Failures in a row.
    pub failures: u32,
    /// Why it failed; empty where that is not known.
    pub why: String,
}

/// A notification that is to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// What it is about.
    pub event: NotifyEvent,
    /// The updates that it is about; none for a sign of life, and for what happens to the group.
    pub lines: Vec<UpdateLine>,
    /// What happened to the group; empty where it is about something else.
    pub words: String,
}

/// Streaks that changed, and what they are of.
pub type Changes = Vec<(About, Streak)>;

/// What one notification has to report, beside what the streaks say.
#[derive(Debug, Default)]
pub struct Ledger {
    on: NotifyEvents,
    after: u32,
    /// Addresses before and now, until they are reported.
    changed: BTreeMap<About, (Option<IpAddr>, IpAddr)>,
    /// What the world sees, until it is reported: the address that was accepted, and what was seen.
    seen: BTreeMap<About, (NotifyEvent, IpAddr, String)>,
    /// Why updates failed last.
    reasons: BTreeMap<About, String>,
    is_synchronized: bool,
    /// What happened to the lease of the group, until it is reported.
    role: Option<(NotifyEvent, String)>,
    /// What is being sent.
    under_way: Option<Outgoing>,
    /// Not before then, by event.
    not_before: [Duration; ORDER.len()],
    /// How many could not be sent in a row.
    unsent: u32,
    /// When what must wait may be reported.
    wake_at: Option<Duration>,
}

impl Ledger {
    /// Nothing happened yet.
    pub fn new(on: NotifyEvents, after: u32) -> Self {
        Self { on, after, ..Self::default() }
    }

    /// Takes in how an update ended. Its streak then.
    #[must_use]
    pub fn take(&mut self, about: &About, outcome: &Outcome, streak: Streak, now: u64) -> Streak {
        if outcome.is_accepted() {
            self.reasons.remove(about);
            return streak.fine(now);
        }
        let why = match outcome {
            Outcome::Failed(Why::Response { status, .. }) if !(200..300).contains(status) => with_reason(*status),
            outcome => outcome.reason(),
        };
        self.reasons.insert(about.clone(), why);
        if matches!(outcome, Outcome::Stopped { .. }) { streak.stopped(now) } else { streak.failed(now) }
    }

    /// An endpoint accepted another address than before.
    /// Of several changes the address before the first and that of the last are reported; back and forth is no change.
    pub fn change(&mut self, about: &About, ip: IpAddr, previous: Option<IpAddr>) {
        if !self.on.has(NotifyEvent::Changed) {
            return;
        }
        let before = self.changed.remove(about).map_or(previous, |(before, _)| before);
        if before != Some(ip) {
            self.changed.insert(about.clone(), (before, ip));
        }
    }

    /// What the world sees of an accepted address. That it is visible is news where something else was reported.
    pub fn sight(&mut self, sight: &SightChange) {
        let event = match sight.verdict {
            DnsVerdict::Drifted => NotifyEvent::Drifted,
            DnsVerdict::NotVisible => NotifyEvent::NotVisible,
            _ => NotifyEvent::Visible,
        };
        let unsent = self.seen.remove(&sight.about);
        let is_back = event == NotifyEvent::Visible && (!sight.was_reported || unsent.is_some());
        if self.on.has(event) && !is_back {
            self.seen.insert(sight.about.clone(), (event, sight.ip, sight.reason.clone()));
            // No synchronization follows.
            self.wake_at = Some(Duration::ZERO);
        }
    }

    /// This host took over the lease of its group, or lost it. Back and forth is no change.
    pub fn change_role(&mut self, change: &RoleChange) {
        let event = if change.kind == LeaseChange::TookOver { NotifyEvent::TookOver } else { NotifyEvent::Lost };
        self.keep_role(event, format!("{} {}", change.member, change.sentence()));
        // It does not wait for a synchronization: a host that stands by has none.
        if self.role.is_some() {
            self.wake_at = Some(Duration::ZERO);
        }
    }

    fn keep_role(&mut self, event: NotifyEvent, words: String) {
        let unsent = self.role.take();
        if self.on.has(event) && unsent.is_none_or(|(before, _)| before == event) {
            self.role = Some((event, words));
        }
    }

    /// A synchronization ended, and this is whether everything is up to date.
    pub fn synchronized(&mut self, is_good: bool) {
        self.is_synchronized = is_good && self.on.has(NotifyEvent::Synchronized);
    }

    /// Pauses no longer: the program ends.
    pub fn hurry(&mut self) {
        self.not_before = [Duration::ZERO; ORDER.len()];
    }

    /// When to review again, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        self.wake_at.filter(|_| self.under_way.is_none())
    }

    /// What is to be sent now, one at a time, and streaks that changed. `waiting` are updates that wait for an endpoint that
    /// fails: they are reported with those that failed.
    #[must_use]
    pub fn review(
        &mut self,
        mut standings: Vec<StreakStatus>,
        waiting: impl FnOnce() -> Vec<(About, Option<IpAddr>)>,
        now: Duration,
        unix: u64,
    ) -> (Changes, Option<Outgoing>) {
        let mut changes = Changes::new();
        for standing in &mut standings {
            let before = standing.streak;
            let streak = if standing.is_fine && before.failures > 0 { before.fine(unix) } else { before };
            standing.streak = self.without_telling(streak);
            if standing.streak != before {
                changes.push((standing.about.clone(), standing.streak));
            }
        }
        self.wake_at = None;
        if self.under_way.is_some() {
            return (changes, None);
        }
        let (mut outgoing, mut waiting) = (None, Some(waiting));
        for event in ORDER {
            if !self.is_due(event, &standings) {
                continue;
            }
            let not_before = self.not_before[event as usize];
            if event != NotifyEvent::Synchronized && now < not_before {
                self.wake_at = Some(self.wake_at.map_or(not_before, |at| at.min(not_before)));
            } else if outgoing.is_none() {
                let waiting = if event == NotifyEvent::Failed { waiting.take().map(|waiting| waiting()) } else { None };
                let words = self.role.as_ref().filter(|(own, _)| *own == event).map(|(_, words)| words.clone());
                outgoing = Some(Outgoing {
                    event,
                    lines: self.lines(event, &standings, &waiting.unwrap_or_default()),
                    words: words.unwrap_or_default(),
                });
            } else {
                // It is next.
                self.wake_at = Some(now);
            }
        }
        if let Some(outgoing) = &outgoing {
            self.is_synchronized &= outgoing.event != NotifyEvent::Synchronized;
            self.not_before[outgoing.event as usize] = now + PAUSE;
            // What only waits has failed as well: it is fine again when it is accepted.
            for line in outgoing.lines.iter().filter(|line| outgoing.event == NotifyEvent::Failed && line.failures == 0)
            {
                changes.push((line.about.clone(), Streak::default().failed(unix)));
            }
            if outgoing.event == NotifyEvent::Changed {
                self.changed.clear();
            }
            if outgoing.event.is_of_group() {
                self.role = None;
            }
            self.seen.retain(|_, (event, ..)| *event != outgoing.event);
            self.under_way = Some(outgoing.clone());
        }
        (changes, outgoing)
    }

    /// The streak where nobody wants to know of it.
    fn without_telling(&self, streak: Streak) -> Streak {
        match self.event_of(streak) {
            Some(event) if !self.on.has(event) => Self::streak_after(event, true, streak),
            _ => streak,
        }
    }

    /// What is to be reported because of a streak.
    fn event_of(&self, streak: Streak) -> Option<NotifyEvent> {
        match streak {
            _ if streak.is_recovered() => Some(NotifyEvent::Recovered),
            Streak { is_stopped: true, is_stop_reported: false, .. } if self.on.has(NotifyEvent::Stopped) => {
                Some(NotifyEvent::Stopped)
            }
            Streak { is_reported: true, .. } | Streak { failures: 0, .. } => None,
            // It is not tried again: however many were wanted, this was the last failure.
            Streak { is_stopped: true, .. } => Some(NotifyEvent::Failed),
            _ if streak.failures >= self.after => Some(NotifyEvent::Failed),
            _ => None,
        }
    }

    fn is_due(&self, event: NotifyEvent, standings: &[StreakStatus]) -> bool {
        match event {
            NotifyEvent::Changed => !self.changed.is_empty(),
            NotifyEvent::Synchronized => self.is_synchronized,
            _ if event.is_of_dns() => self.seen.values().any(|(own, ..)| *own == event),
            NotifyEvent::TookOver | NotifyEvent::Lost => self.role.as_ref().is_some_and(|(own, _)| *own == event),
            _ => standings.iter().any(|standing| self.event_of(standing.streak) == Some(event)),
        }
    }

    /// What a notification names. Where one update failed often enough, everything that fails is named with it.
    fn lines(
        &self,
        event: NotifyEvent,
        standings: &[StreakStatus],
        waiting: &[(About, Option<IpAddr>)],
    ) -> Vec<UpdateLine> {
        if !event.names_updates() {
            return Vec::new();
        }
        let is_meant = |standing: &&StreakStatus| {
            let Streak { failures, is_reported, .. } = standing.streak;
            match self.event_of(standing.streak) {
                Some(own) => own == event,
                None => event == NotifyEvent::Failed && failures > 0 && !is_reported,
            }
        };
        let line = |about: &About, ip, failures| {
            let why = self.reasons.get(about).cloned().unwrap_or_default();
            UpdateLine { about: about.clone(), ip, previous: None, failures, why }
        };
        if event == NotifyEvent::Changed {
            let all = self.changed.iter();
            return all
                .map(|(about, (before, ip))| UpdateLine { previous: *before, ..line(about, Some(*ip), 0) })
                .collect();
        }
        if event.is_of_dns() {
            let all = self.seen.iter().filter(|(_, (own, ..))| *own == event);
            return all
                .map(|(about, (_, ip, why))| UpdateLine { why: why.clone(), ..line(about, Some(*ip), 0) })
                .collect();
        }
        let mut lines: Vec<UpdateLine> = standings
            .iter()
            .filter(is_meant)
            .map(|standing| line(&standing.about, standing.ip, standing.streak.failures))
            .collect();
        // Those that failed often have the reasons.
        order::sort_by_key(&mut lines, |line| std::cmp::Reverse(line.failures));
        let known: BTreeSet<&About> = standings.iter().map(|standing| &standing.about).collect();
        lines.extend(waiting.iter().filter(|(about, _)| !known.contains(about)).map(|(about, ip)| line(about, *ip, 0)));
        lines
    }

    /// What was sent has ended: it arrived, or it did not. What it was about, for [`Ledger::streak_after`].
    pub fn ended(&mut self, has_arrived: bool, now: Duration) -> Option<Outgoing> {
        let outgoing = self.under_way.take()?;
        self.unsent = if has_arrived { 0 } else { self.unsent + 1 };
        let pause = PAUSE.saturating_mul(1 << self.unsent.min(MAX_DOUBLINGS));
        self.not_before[outgoing.event as usize] = now + pause;
        self.wake_at = Some(now);
        let is_lost = !has_arrived && self.unsent < MAX_TRIES;
        if outgoing.event.is_of_group()
            && is_lost
            && self.role.as_ref().is_none_or(|(newer, _)| *newer != outgoing.event)
        {
            self.keep_role(outgoing.event, outgoing.words.clone());
        }
        for line in outgoing.lines.iter().filter(|_| outgoing.event.is_of_dns() && is_lost) {
            if let Some(ip) = line.ip {
                self.seen.entry(line.about.clone()).or_insert_with(|| (outgoing.event, ip, line.why.clone()));
            }
        }
        if outgoing.event == NotifyEvent::Changed && is_lost {
            for line in &outgoing.lines {
                // It may have changed again meanwhile.
                let ip = self.changed.remove(&line.about).map(|(_, ip)| ip).or(line.ip);
                if let Some(ip) = ip.filter(|ip| line.previous != Some(*ip)) {
                    self.changed.insert(line.about.clone(), (line.previous, ip));
                }
            }
        }
        Some(outgoing)
    }

    /// The streak of an update that was reported, or could not be: that is not tried for ever.
    #[must_use]
    pub fn streak_after(event: NotifyEvent, has_arrived: bool, streak: Streak) -> Streak {
        let tries = streak.tries.saturating_add(1);
        let reported = Streak { is_reported: true, tries: 0, ..streak };
        match (event, streak.failures) {
            _ if !matches!(event, NotifyEvent::Failed | NotifyEvent::Stopped | NotifyEvent::Recovered) => streak,
            _ if !has_arrived && tries < MAX_SYNCHRONIZATIONS => Streak { tries, ..streak },
            (NotifyEvent::Failed, _) => reported,
            (NotifyEvent::Stopped, _) => Streak { is_stop_reported: streak.is_stopped, ..reported },
            (NotifyEvent::Recovered, 0) => Streak::default(),
            // It failed again meanwhile: that is a new streak.
            _ => Streak { is_reported: false, is_stop_reported: false, ..reported },
        }
    }
}

#[cfg(test)]
mod tests;
