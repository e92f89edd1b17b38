//! What to report, and what was reported: one ledger for each notification. Time is a parameter: a duration since some fixed
//! moment, or seconds since the epoch if it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use super::event::{NotifyEvent, NotifyEvents};
use crate::dns::DnsVerdict;
use crate::journal::{About, VisibilityChange};
use crate::lease::role_change::{LeaseChange, RoleChange};
use crate::net::status::with_reason;
use crate::text::order;
use crate::update::outcome::{Outcome, Why};
use crate::update::streak::Streak;

/// The shortest time between two notifications of one kind: what happens in between is reported together.
pub const PAUSE: Duration = Duration::from_secs(60);

/// How often the pause doubles after notifications that could not be sent.
const MAX_DOUBLINGS: u32 = 6;

/// After this many attempts to send a report, ddns drops it if the cache does not contain it: changed addresses, what DNS shows, the lease.
const MAX_TRIES: u32 = 10;

/// After this many attempts to report a streak, it counts as reported.
const MAX_SYNCHRONIZATIONS: u8 = 10;

/// The order of reports if several are due.
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

/// The state of an update that failed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreakStatus {
    /// The update.
    pub about: About,
    /// Its failures in a row.
    pub streak: Streak,
    /// The address that it should have; `None` if no address was found.
    pub ip: Option<IpAddr>,
    /// Whether the endpoint has this address.
    pub is_fine: bool,
}

/// One update in a notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateLine {
    /// The update.
    pub about: About,
    /// The address that it has or should have; `None` if no address was found.
    pub ip: Option<IpAddr>,
    /// The previous address; `None`: there was none, or it does not matter.
    pub previous: Option<IpAddr>,
    /// Failures in a row.
    pub failures: u32,
    /// Why it failed; empty if not known.
    pub why: String,
}

/// A notification that is to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// What it is about.
    pub event: NotifyEvent,
    /// The updates that it is about; empty for a sign of life and for what happens to the group.
    pub lines: Vec<UpdateLine>,
    /// What happened to the group; empty for everything else.
    pub words: String,
}

/// Streaks that changed, each with its update.
pub type Changes = Vec<(About, Streak)>;

/// What one notification has to report, in addition to the streaks.
#[derive(Debug, Default)]
pub struct Ledger {
    on: NotifyEvents,
    after: u32,
    /// The previous and the new address of updates, until they are reported.
    changed: BTreeMap<About, (Option<IpAddr>, IpAddr)>,
    /// What DNS shows, until it is reported: the event, the accepted address, and the reason.
    seen: BTreeMap<About, (NotifyEvent, IpAddr, String)>,
    /// Why updates failed last.
    reasons: BTreeMap<About, String>,
    is_synchronized: bool,
    /// What happened to the lease of the group, until it is reported.
    role: Option<(NotifyEvent, String)>,
    /// The notification that is being sent.
    under_way: Option<Outgoing>,
    /// The earliest time of the next notification, by event.
    not_before: [Duration; ORDER.len()],
    /// How often each event was sent since something was added to its report.
    tries: [u32; ORDER.len()],
    /// How many notifications in a row could not be sent: the pauses depend on it.
    unsent: u32,
    /// When to report what has to wait.
    wake_at: Option<Duration>,
}

impl Ledger {
    /// An empty ledger. `after`: failures in a row before `failed` is reported.
    pub fn new(on: NotifyEvents, after: u32) -> Self {
        Self { on, after, ..Self::default() }
    }

    /// Continues what another ledger still had to report. `now_called`: an update of before as it is called now.
    #[must_use]
    pub fn continuing(self, former: Self, now_called: impl Fn(&About) -> Option<About>) -> Self {
        fn renamed<T>(
            all: BTreeMap<About, T>,
            now_called: impl Fn(&About) -> Option<About>,
        ) -> impl Iterator<Item = (About, T)> {
            all.into_iter().filter_map(move |(about, what)| Some((now_called(&about)?, what)))
        }
        let Self { on, after, .. } = self;
        Self {
            on,
            after,
            changed: renamed(former.changed, &now_called).filter(|_| on.has(NotifyEvent::Changed)).collect(),
            seen: renamed(former.seen, &now_called).filter(|(_, (event, ..))| on.has(*event)).collect(),
            reasons: renamed(former.reasons, &now_called).collect(),
            role: former.role.filter(|(event, _)| on.has(*event)),
            is_synchronized: false,
            ..former
        }
    }

    /// Takes in how an update ended, and returns its new streak.
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

    /// Takes in that an update is stopped without having been sent, and returns its new streak.
    #[must_use]
    pub fn stop(&mut self, about: &About, why: &str, streak: Streak, now: u64) -> Streak {
        self.reasons.insert(about.clone(), why.to_owned());
        streak.stopped(now)
    }

    /// Takes in that an endpoint accepted another address than before. Several changes are reported as one, from the first
    /// address to the last; if these are equal, nothing is reported.
    pub fn change(&mut self, about: &About, ip: IpAddr, previous: Option<IpAddr>) {
        if !self.on.has(NotifyEvent::Changed) {
            return;
        }
        let before = self.changed.remove(about).map_or(previous, |(before, _)| before);
        if before != Some(ip) {
            self.changed.insert(about.clone(), (before, ip));
            self.tries[NotifyEvent::Changed as usize] = 0;
        }
    }

    /// Takes in what DNS shows of an accepted address. *Visible* is only reported after something else was.
    pub fn visibility(&mut self, visibility: &VisibilityChange) {
        let event = match visibility.verdict {
            DnsVerdict::Drifted => NotifyEvent::Drifted,
            DnsVerdict::NotVisible => NotifyEvent::NotVisible,
            _ => NotifyEvent::Visible,
        };
        let unsent = self.seen.remove(&visibility.about);
        let is_back = event == NotifyEvent::Visible && (!visibility.was_reported || unsent.is_some());
        if self.on.has(event) && !is_back {
            self.seen.insert(visibility.about.clone(), (event, visibility.ip, visibility.reason.clone()));
            self.tries[event as usize] = 0;
            // Report it now: no synchronization follows.
            self.wake_at = Some(Duration::ZERO);
        }
    }

    /// Takes in that this host took over the lease of its group, or lost it. Until they are reported, the two cancel each other out.
    pub fn change_role(&mut self, change: &RoleChange) {
        let event = if change.kind == LeaseChange::TookOver { NotifyEvent::TookOver } else { NotifyEvent::Lost };
        self.keep_role(event, format!("{} {}", change.member, change.sentence()));
        // Do not wait for a synchronization: a host on standby has none.
        if self.role.is_some() {
            self.tries[event as usize] = 0;
            self.wake_at = Some(Duration::ZERO);
        }
    }

    fn keep_role(&mut self, event: NotifyEvent, words: String) {
        let unsent = self.role.take();
        if self.on.has(event) && unsent.is_none_or(|(before, _)| before == event) {
            self.role = Some((event, words));
        }
    }

    /// Takes in the end of a synchronization; `is_good`: everything is up to date.
    pub fn synchronized(&mut self, is_good: bool) {
        self.is_synchronized = is_good && self.on.has(NotifyEvent::Synchronized);
    }

    /// Cancels all pauses, because the program ends.
    pub fn hurry(&mut self) {
        self.not_before = [Duration::ZERO; ORDER.len()];
    }

    /// When to review again, if nothing happens before.
    pub fn wake_at(&self) -> Option<Duration> {
        self.wake_at.filter(|_| self.under_way.is_none())
    }

    /// The notification to send now, one at a time, and the streaks that changed. `waiting` returns the updates that wait for a
    /// failing endpoint: they are reported with those that failed.
    #[must_use]
    pub fn review(
        &mut self,
        mut streak_statuses: Vec<StreakStatus>,
        waiting: impl FnOnce() -> Vec<(About, Option<IpAddr>)>,
        now: Duration,
        unix: u64,
    ) -> (Changes, Option<Outgoing>) {
        let mut changes = Changes::new();
        for standing in &mut streak_statuses {
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
            if !self.is_due(event, &streak_statuses) {
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
                    lines: self.lines(event, &streak_statuses, &waiting.unwrap_or_default()),
                    words: words.unwrap_or_default(),
                });
            } else {
                // This event is next.
                self.wake_at = Some(now);
            }
        }
        if let Some(outgoing) = &outgoing {
            self.is_synchronized &= outgoing.event != NotifyEvent::Synchronized;
            self.not_before[outgoing.event as usize] = now + PAUSE;
            self.tries[outgoing.event as usize] += 1;
            // Waiting updates count as failed, too, so that they are reported as recovered once they are accepted.
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

    /// The streak, marked as reported if this notification does not want its event.
    fn without_telling(&self, streak: Streak) -> Streak {
        match self.event_of(streak) {
            Some(event) if !self.on.has(event) => Self::streak_after(event, true, streak),
            _ => streak,
        }
    }

    /// The event that a streak has to report; `None`: there is nothing to report.
    fn event_of(&self, streak: Streak) -> Option<NotifyEvent> {
        match streak {
            _ if streak.is_recovered() => Some(NotifyEvent::Recovered),
            Streak { is_stopped: true, is_stop_reported: false, .. } if self.on.has(NotifyEvent::Stopped) => {
                Some(NotifyEvent::Stopped)
            }
            Streak { is_reported: true, .. } | Streak { failures: 0, .. } => None,
            // A stopped update is not sent again, so it cannot reach `after`: report it now.
            Streak { is_stopped: true, .. } => Some(NotifyEvent::Failed),
            _ if streak.failures >= self.after => Some(NotifyEvent::Failed),
            _ => None,
        }
    }

    fn is_due(&self, event: NotifyEvent, streak_statuses: &[StreakStatus]) -> bool {
        match event {
            NotifyEvent::Changed => !self.changed.is_empty(),
            NotifyEvent::Synchronized => self.is_synchronized,
            _ if event.is_of_dns() => self.seen.values().any(|(own, ..)| *own == event),
            NotifyEvent::TookOver | NotifyEvent::Lost => self.role.as_ref().is_some_and(|(own, _)| *own == event),
            _ => streak_statuses.iter().any(|standing| self.event_of(standing.streak) == Some(event)),
        }
    }

    /// The updates that a notification names. Once one update failed often enough, everything that fails is named with it.
    fn lines(
        &self,
        event: NotifyEvent,
        streak_statuses: &[StreakStatus],
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
        let mut lines: Vec<UpdateLine> = streak_statuses
            .iter()
            .filter(is_meant)
            .map(|standing| line(&standing.about, standing.ip, standing.streak.failures))
            .collect();
        // The updates that failed most come first: they have the reasons.
        order::sort_by_key(&mut lines, |line| std::cmp::Reverse(line.failures));
        let known: BTreeSet<&About> = streak_statuses.iter().map(|standing| &standing.about).collect();
        lines.extend(waiting.iter().filter(|(about, _)| !known.contains(about)).map(|(about, ip)| line(about, *ip, 0)));
        lines
    }

    /// Takes in whether the notification arrived, and returns it for [`Ledger::streak_after`].
    pub fn ended(&mut self, has_arrived: bool, now: Duration) -> Option<Outgoing> {
        let outgoing = self.under_way.take()?;
        self.unsent = if has_arrived { 0 } else { self.unsent + 1 };
        let pause = PAUSE.saturating_mul(1 << self.unsent.min(MAX_DOUBLINGS));
        self.not_before[outgoing.event as usize] = now + pause;
        self.wake_at = Some(now);
        let tries = &mut self.tries[outgoing.event as usize];
        let is_lost = !has_arrived && *tries < MAX_TRIES;
        if !is_lost {
            *tries = 0;
        }
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
                // The address may have changed again in the meantime.
                let ip = self.changed.remove(&line.about).map(|(_, ip)| ip).or(line.ip);
                if let Some(ip) = ip.filter(|ip| line.previous != Some(*ip)) {
                    self.changed.insert(line.about.clone(), (line.previous, ip));
                }
            }
        }
        Some(outgoing)
    }

    /// The streak of an update after its report arrived, or did not. After `MAX_SYNCHRONIZATIONS` attempts, it counts as reported.
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
            // The update failed again in the meantime: this is a new streak.
            _ => Streak { is_reported: false, is_stop_reported: false, ..reported },
        }
    }
}

#[cfg(test)]
mod tests;
