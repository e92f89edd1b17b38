//! Tables and properties: each event is reported once, together with others, after enough failures; and so is each recovery.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::net::family::Family;
use crate::update::domain::Domain;

const ALL: NotifyEvents = NotifyEvents::DEFAULT;
const ACCEPTED: Outcome = Outcome::Accepted(200);

fn stopped() -> Outcome {
    Outcome::Stopped { status: 200, words: "badauth".to_owned(), until_address: false, all: false }
}

fn about(number: usize) -> About {
    About { entry: 0, domain: Domain::parse(&format!("h{number}.example")).expect("a domain"), family: Family::V4 }
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([203, 0, 113, last])
}

fn second(number: u64) -> Duration {
    Duration::from_secs(number)
}

/// A ledger with the streaks that a cache would hold.
struct CachedLedger {
    ledger: Ledger,
    streaks: BTreeMap<About, Streak>,
    fine: bool,
    waiting: Vec<usize>,
}

impl CachedLedger {
    fn new(on: NotifyEvents, after: u32) -> Self {
        Self { ledger: Ledger::new(on, after), streaks: BTreeMap::new(), fine: false, waiting: Vec::new() }
    }

    fn set(&mut self, about: About, streak: Streak) {
        if streak == Streak::default() {
            self.streaks.remove(&about);
        } else {
            self.streaks.insert(about, streak);
        }
    }

    fn take(&mut self, number: usize, outcome: &Outcome) {
        let streak = self.streaks.get(&about(number)).copied().unwrap_or_default();
        let streak = self.ledger.take(&about(number), outcome, streak, 1);
        self.set(about(number), streak);
    }

    fn change(&mut self, number: usize, ip: IpAddr, previous: Option<IpAddr>) {
        self.ledger.change(&about(number), ip, previous);
        self.take(number, &ACCEPTED);
    }

    fn fail(&mut self, number: usize) {
        self.take(number, &Outcome::of_status(503));
    }

    /// The notification to send now.
    fn begin(&mut self, now: u64) -> Option<Outgoing> {
        let standing = |(about, streak): (&About, &Streak)| StreakStatus {
            about: about.clone(),
            streak: *streak,
            ip: Some(ip(7)),
            is_fine: self.fine,
        };
        let streak_statuses = self.streaks.iter().map(standing).collect();
        let waiting = self.waiting.iter().map(|number| (about(*number), None)).collect();
        let (changes, outgoing) = self.ledger.review(streak_statuses, || waiting, second(now), 1);
        for (about, streak) in changes {
            self.set(about, streak);
        }
        outgoing
    }

    fn end(&mut self, has_arrived: bool, now: u64) {
        let Some(outgoing) = self.ledger.ended(has_arrived, second(now)) else { return };
        for line in outgoing.lines {
            let streak = self.streaks.get(&line.about).copied().unwrap_or_default();
            self.set(line.about, Ledger::streak_after(outgoing.event, has_arrived, streak));
        }
    }

    /// Everything that is reported now, one after the other; all of it arrives. The key, and the number of updates.
    fn reported(&mut self, now: u64) -> Vec<(&'static str, usize)> {
        let mut all = Vec::new();
        while let Some(outgoing) = self.begin(now) {
            all.push((outgoing.event.key(), outgoing.lines.len()));
            self.end(true, now);
        }
        all
    }
}

#[test]
fn i5_failed_is_told_once_after_so_many_failures_and_recovered_once() {
    let mut kept = CachedLedger::new(ALL, 3);
    for expected in [vec![], vec![], vec![("failed", 1)], vec![], vec![]] {
        kept.fail(0);
        assert_eq!(kept.reported(0), expected);
    }
    kept.take(0, &ACCEPTED);
    assert_eq!(kept.reported(100), [("recovered", 1)]);
    assert_eq!(kept.reported(200), []);
    assert!(kept.streaks.is_empty(), "nothing is left of it");
    for expected in [vec![], vec![], vec![("failed", 1)]] {
        kept.fail(0);
        assert_eq!(kept.reported(300), expected, "it begins anew");
    }
}

#[test]
fn i5_what_recovers_before_it_is_told_is_not_told() {
    let mut kept = CachedLedger::new(ALL, 3);
    kept.fail(0);
    kept.fail(0);
    kept.take(0, &ACCEPTED);
    assert_eq!((kept.reported(0), kept.streaks.len()), (vec![], 0));
    kept.fail(0);
    assert_eq!(kept.reported(0), [], "failures in a row");
}

#[test]
fn i5_what_is_up_to_date_without_being_sent_has_recovered() {
    let mut kept = CachedLedger::new(ALL, 1);
    kept.fail(0);
    assert_eq!(kept.reported(0), [("failed", 1)]);
    kept.fine = true;
    assert_eq!(kept.reported(1), [("recovered", 1)]);
}

#[test]
fn i5_many_updates_are_one_notification_of_a_kind() {
    let mut kept = CachedLedger::new(ALL, 3);
    // An update that failed less often is reported with the others, and so are those that wait for the endpoint.
    (0..100).for_each(|number| (0..3).for_each(|_| kept.fail(number)));
    kept.fail(100);
    kept.waiting = (50..150).collect();
    assert_eq!(kept.reported(0), [("failed", 150)]);
    kept.waiting.clear();
    (0..150).for_each(|number| kept.fail(number));
    assert_eq!(kept.reported(100), [], "all of them were reported");
    (0..150).for_each(|number| kept.change(number, ip(8), Some(ip(7))));
    assert_eq!(kept.reported(200), [("recovered", 150), ("changed", 150)]);
    assert!(kept.streaks.is_empty());
}

#[test]
fn i5_stopped_is_told_at_once_and_never_as_failed_too() {
    let mut kept = CachedLedger::new(ALL, 3);
    kept.take(0, &stopped());
    assert_eq!(kept.reported(0), [("stopped", 1)]);
    assert_eq!(kept.reported(100), []);
    kept.take(0, &ACCEPTED);
    assert_eq!(kept.reported(200), [("recovered", 1)]);
    // A receiver of `failed` alone must be told as well: no further failure will come.
    let mut kept = CachedLedger::new(NotifyEvents::NONE.with(NotifyEvent::Failed), 3);
    kept.take(0, &stopped());
    assert_eq!(kept.reported(0), [("failed", 1)]);
    // An update that failed often enough and is then stopped is not sent any more.
    let mut kept = CachedLedger::new(ALL, 1);
    kept.fail(0);
    assert_eq!(kept.reported(0), [("failed", 1)]);
    kept.take(0, &stopped());
    assert_eq!(kept.reported(100), [("stopped", 1)]);
    kept.take(0, &stopped());
    assert_eq!(kept.reported(200), [], "it was tried again, and refused again");
    kept.take(0, &ACCEPTED);
    assert_eq!(kept.reported(300), [("recovered", 1)]);
}

#[test]
fn i5_only_what_is_asked_for_is_told() {
    for (on, expected) in [
        (NotifyEvent::Changed, vec![("changed", 1)]),
        (NotifyEvent::Failed, vec![("failed", 1)]),
        (NotifyEvent::Recovered, vec![("recovered", 1)]),
        (NotifyEvent::Stopped, vec![("stopped", 1)]),
        (NotifyEvent::Synchronized, vec![("synchronized", 0)]),
    ] {
        let mut kept = CachedLedger::new(NotifyEvents::NONE.with(on), 1);
        kept.fail(0);
        let mut outgoing = kept.reported(0);
        kept.change(0, ip(1), None);
        outgoing.extend(kept.reported(100));
        kept.take(1, &stopped());
        if on == NotifyEvent::Stopped {
            outgoing.extend(kept.reported(200));
        }
        kept.ledger.synchronized(true);
        kept.streaks.remove(&about(1));
        outgoing.extend(kept.reported(300));
        assert_eq!(outgoing, expected, "{on:?}");
    }
}

#[test]
fn i5_changes_are_taken_together() {
    let mut kept = CachedLedger::new(ALL, 3);
    kept.change(0, ip(1), None);
    let outgoing = kept.begin(0).expect("a notification");
    assert_eq!((outgoing.lines[0].previous, outgoing.lines[0].ip), (None, Some(ip(1))));
    kept.change(0, ip(2), Some(ip(1)));
    kept.end(true, 0);
    assert_eq!(kept.begin(30), None, "too soon after the last");
    assert_eq!(kept.ledger.wake_at(), Some(second(60)));
    kept.change(0, ip(3), Some(ip(2)));
    kept.change(1, ip(1), Some(ip(9)));
    kept.change(1, ip(9), Some(ip(1)));
    let outgoing = kept.begin(60).expect("a notification");
    assert_eq!(outgoing.lines.len(), 1, "back and forth is no change");
    assert_eq!((outgoing.lines[0].previous, outgoing.lines[0].ip), (Some(ip(1)), Some(ip(3))));
    kept.end(true, 60);
    assert_eq!((kept.begin(200), kept.ledger.wake_at()), (None, None));
}

/// The last report must show what the endpoint has.
#[test]
fn i5_a_change_that_is_taken_back_while_it_is_told_is_told_too() {
    let mut kept = CachedLedger::new(ALL, 3);
    kept.change(0, ip(2), Some(ip(1)));
    assert!(kept.begin(0).is_some());
    kept.change(0, ip(1), Some(ip(2)));
    kept.end(true, 0);
    let outgoing = kept.begin(100).expect("a notification");
    assert_eq!((outgoing.lines[0].previous, outgoing.lines[0].ip), (Some(ip(2)), Some(ip(1))));
    kept.end(true, 100);

    // If the first report did not arrive, there is nothing to report.
    kept.change(0, ip(2), Some(ip(1)));
    assert!(kept.begin(200).is_some());
    kept.change(0, ip(1), Some(ip(2)));
    kept.end(false, 200);
    assert_eq!(kept.begin(10_000), None);
    kept.change(0, ip(2), Some(ip(1)));
    assert!(kept.begin(20_000).is_some());
    kept.end(false, 20_000);
    let outgoing = kept.begin(30_000).expect("it is tried again");
    assert_eq!((outgoing.lines[0].previous, outgoing.lines[0].ip), (Some(ip(1)), Some(ip(2))));
}

#[test]
fn i5_what_cannot_be_sent_is_tried_again_later_and_not_for_ever() {
    let mut kept = CachedLedger::new(ALL, 1);
    kept.fail(0);
    let (mut now, mut pauses) = (0, Vec::new());
    for _ in 0..10 {
        assert!(kept.begin(now).is_some());
        assert_eq!(kept.begin(now), None, "one at a time");
        kept.end(false, now);
        assert_eq!(kept.begin(now), None);
        let next = kept.ledger.wake_at().map_or(now, |at| at.as_secs());
        pauses.push(next - now);
        now = next;
    }
    assert_eq!(pauses, [120, 240, 480, 960, 1920, 3840, 3840, 3840, 3840, 0]);
    assert_eq!(kept.begin(now + 10_000), None);
    kept.take(0, &ACCEPTED);
    assert_eq!(kept.reported(now + 20_000), [("recovered", 1)]);
}

/// After a long outage of the receiver, a new report has all of its attempts, whatever was lost before it.
#[test]
fn i5_each_report_has_its_own_attempts() {
    let mut kept = CachedLedger::new(ALL.with(NotifyEvent::Lost).with(NotifyEvent::Drifted), 1);
    let mut now = 0;
    let mut lose = |kept: &mut CachedLedger| {
        now += 10_000;
        let outgoing = kept.begin(now).map(|outgoing| outgoing.event);
        kept.end(false, now);
        outgoing
    };
    kept.fail(0);
    (0..10).for_each(|_| assert_eq!(lose(&mut kept), Some(NotifyEvent::Failed)));
    kept.ledger.change(&about(1), ip(2), Some(ip(1)));
    (0..9).for_each(|number| assert_eq!(lose(&mut kept), Some(NotifyEvent::Changed), "{number}"));
    // What is added to a report keeps it.
    kept.ledger.change(&about(2), ip(2), Some(ip(1)));
    (0..10).for_each(|number| assert_eq!(lose(&mut kept), Some(NotifyEvent::Changed), "{number}"));
    assert_eq!(lose(&mut kept), None, "not for ever");
    kept.ledger.change_role(&change(LeaseChange::Lost));
    (0..10).for_each(|number| assert_eq!(lose(&mut kept), Some(NotifyEvent::Lost), "{number}"));
    assert_eq!(lose(&mut kept), None);
    let (verdict, reason) = (DnsVerdict::Drifted, String::new());
    let sight = VisibilityChange {
        about: about(1),
        ip: ip(2),
        verdict,
        after: 60,
        ttl: None,
        reason,
        was_reported: false,
        is_timed: true,
    };
    kept.ledger.visibility(&sight);
    (0..10).for_each(|number| assert_eq!(lose(&mut kept), Some(NotifyEvent::Drifted), "{number}"));
    assert_eq!(lose(&mut kept), None);
}

#[test]
fn i5_what_changes_while_it_is_told_is_told_after_it() {
    let mut kept = CachedLedger::new(ALL, 1);
    kept.fail(0);
    assert!(kept.begin(0).is_some());
    kept.take(0, &ACCEPTED);
    kept.end(true, 1);
    assert_eq!(kept.reported(1), [("recovered", 1)]);
    kept.fail(0);
    assert_eq!(kept.reported(100), [("failed", 1)]);
    kept.take(0, &ACCEPTED);
    assert!(kept.begin(200).is_some_and(|outgoing| outgoing.event == NotifyEvent::Recovered));
    kept.fail(0);
    kept.end(true, 200);
    assert_eq!(kept.reported(200), [("failed", 1)]);
}

#[derive(Debug, Clone)]
enum LedgerStep {
    Fail(usize),
    Stop(usize),
    Accept(usize),
    /// Sends what is due; the value is whether it arrives.
    Tell(bool),
    /// The process ends, and another one starts with the same cache.
    Kill,
}

fn step() -> impl Strategy<Value = LedgerStep> {
    prop_oneof![
        4 => (0_usize..4).prop_map(LedgerStep::Fail),
        1 => (0_usize..4).prop_map(LedgerStep::Stop),
        3 => (0_usize..4).prop_map(LedgerStep::Accept),
        4 => any::<bool>().prop_map(LedgerStep::Tell),
        1 => Just(LedgerStep::Kill),
    ]
}

proptest! {
    /// In every order of events, an update is never reported as failing twice without being fine in between, never reported as
    /// fine without being reported as failing, and never reported as failing before some update failed often enough.
    #[test]
    fn i5_each_event_is_told_once(steps in prop::collection::vec(step(), 0..80), after in 1_u32..4) {
        let mut kept = CachedLedger::new(ALL, after);
        let mut failures = [0; 4];
        let mut has_failed_often = false;
        let (mut reported_to_fail, mut reported_to_stop, mut lost) = ([false; 4], [false; 4], 0);
        for (now, step) in (1_u64..).map(|number| number * 10_000).zip(steps) {
            match step {
                LedgerStep::Fail(number) => {
                    kept.fail(number);
                    reported_to_stop[number] = false;
                    failures[number] += 1;
                    has_failed_often |= failures[number] >= after;
                }
                LedgerStep::Stop(number) => {
                    kept.take(number, &stopped());
                    has_failed_often = true;
                }
                LedgerStep::Accept(number) => {
                    kept.take(number, &ACCEPTED);
                    failures[number] = 0;
                    reported_to_stop[number] = false;
                }
                LedgerStep::Kill => kept.ledger = Ledger::new(ALL, after),
                LedgerStep::Tell(has_arrived) => {
                    // A report that was lost too often counts as sent.
                    let has_arrived = has_arrived || lost == 9;
                    if let Some(outgoing) = kept.begin(now) {
                        lost += usize::from(!has_arrived);
                        prop_assert!(has_failed_often);
                        for line in &outgoing.lines {
                            let number = (0..4).find(|number| about(*number) == line.about).expect("one of ours");
                            let is_right = match outgoing.event {
                                NotifyEvent::Failed => !reported_to_fail[number],
                                NotifyEvent::Stopped => !reported_to_stop[number],
                                _ => reported_to_fail[number],
                            };
                            prop_assert!(is_right, "{:?} {:?}", &outgoing, &kept.streaks);
                            if has_arrived {
                                reported_to_fail[number] = outgoing.event != NotifyEvent::Recovered;
                                reported_to_stop[number] = outgoing.event == NotifyEvent::Stopped;
                            }
                        }
                        kept.end(has_arrived, now);
                    }
                }
            }
        }
    }
}

fn change(kind: LeaseChange) -> RoleChange {
    RoleChange { group: "home".to_owned(), member: "a".to_owned(), kind, why: None }
}

#[test]
fn i5_a_change_of_the_lease_is_sent_once_and_not_where_it_comes_back_at_once() {
    let mut ledger = Ledger::new(NotifyEvents::NONE.with(NotifyEvent::TookOver).with(NotifyEvent::Lost), 3);
    let none = || Vec::new();
    let review = |ledger: &mut Ledger, now: u64| {
        let (_, outgoing) = ledger.review(Vec::new(), none, Duration::from_secs(now), now);
        outgoing.map(|outgoing| (outgoing.event, outgoing.words))
    };
    ledger.change_role(&change(LeaseChange::TookOver));
    assert_eq!(ledger.wake_at(), Some(Duration::ZERO), "it does not wait for a synchronization");
    let took_over = (NotifyEvent::TookOver, "a took over the lease of group home".to_owned());
    assert_eq!(review(&mut ledger, 1), Some(took_over.clone()));
    ledger.ended(true, Duration::from_secs(2));
    assert_eq!(review(&mut ledger, 3), None, "once");
    ledger.change_role(&change(LeaseChange::Lost));
    ledger.change_role(&change(LeaseChange::TookOver));
    assert_eq!(review(&mut ledger, 4), None, "back and forth");
    ledger.change_role(&change(LeaseChange::GaveBack));
    let lost = (NotifyEvent::Lost, "a gave the lease of group home back".to_owned());
    assert_eq!(review(&mut ledger, 5), Some(lost.clone()));
    ledger.ended(false, Duration::from_secs(6));
    assert_eq!(review(&mut ledger, 7), None, "not at once");
    assert_eq!(review(&mut ledger, 1000), Some(lost), "it did not arrive");
    ledger.change_role(&change(LeaseChange::TookOver));
    ledger.ended(false, Duration::from_secs(1001));
    assert_eq!(review(&mut ledger, 100_000), None, "nobody knows of the one, so the other is no news");

    let mut only_lost = Ledger::new(NotifyEvents::NONE.with(NotifyEvent::Lost), 3);
    only_lost.change_role(&change(LeaseChange::TookOver));
    assert_eq!(review(&mut only_lost, 1), None);
    only_lost.change_role(&change(LeaseChange::Lost));
    assert!(review(&mut only_lost, 2).is_some());
}

/// Only one notification is sent at a time, and an earlier one must not replace the sign of life.
#[test]
fn i5_a_sign_of_life_follows_what_else_a_synchronization_has_to_report() {
    let mut kept = CachedLedger::new(ALL.with(NotifyEvent::Synchronized), 1);
    kept.change(0, ip(1), None);
    kept.ledger.synchronized(true);
    assert_eq!(kept.reported(0), [("changed", 1), ("synchronized", 0)]);
    assert_eq!(kept.reported(100), [], "it was of that synchronization");
}
