//! Tests of the protocol of one member.

use super::*;
use crate::view::MemberView;
use ddns_core::lease::status::Role;

const LEASE: Duration = Duration::from_secs(15);

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// One member, and the store that the test plays.
struct Play {
    machine: Machine,
    now: Duration,
    view: View,
}

fn own_entry(ready: bool) -> MemberEntry {
    MemberEntry { member: "a".to_owned(), ready, prefer: 0 }
}

const OWN: LeaseId = LeaseId(7);
const OTHER: LeaseId = LeaseId(8);

impl Play {
    fn new() -> Self {
        let settings = Settings { member: "a".to_owned(), lease: LEASE, prefer: 0 };
        let now = seconds(100.0);
        Self { machine: Machine::new(settings, now), now, view: View::default() }
    }

    fn on(&mut self, event: MachineEvent) -> Vec<Action> {
        self.machine.on(event, self.now, 0.5)
    }

    /// Answers a call that was sent `took` seconds ago.
    fn answer_after(&mut self, took: f64, answer: Answer) -> Vec<Action> {
        let sent = self.now.saturating_sub(seconds(took));
        self.on(MachineEvent::Answered { sent, answer })
    }

    fn answer(&mut self, answer: Answer) -> Vec<Action> {
        self.answer_after(0.0, answer)
    }

    fn fail(&mut self, call: Call) -> Vec<Action> {
        self.on(MachineEvent::Failed { call, why: "no answer".to_owned() })
    }

    /// Lets `time` seconds pass, waking the member when it asks to. Returns its actions.
    fn pass(&mut self, time: f64) -> Vec<Action> {
        let end = self.now + seconds(time);
        let mut actions = Vec::new();
        while let Some(at) = self.machine.wake_at().filter(|at| *at <= end) {
            assert!(at >= self.now, "it wakes forever");
            self.now = at;
            actions.extend(self.on(MachineEvent::Woke));
        }
        self.now = end;
        actions
    }

    /// The same, with renewals in between.
    fn pass_renewed(&mut self, time: f64) -> Vec<Action> {
        let mut actions = Vec::new();
        for _ in 0..5 {
            actions.extend(self.pass(time / 5.0));
            actions.extend(self.answer(Answer::Renewed(OWN, Some(LEASE))));
        }
        actions
    }

    fn see(&mut self) -> Vec<Action> {
        self.view.revision += 1;
        let view = self.view.clone();
        self.on(MachineEvent::Viewed(view))
    }

    fn put_member(&mut self, lease: LeaseId, MemberEntry { member, ready, prefer }: MemberEntry) {
        self.view.members.retain(|member| member.lease != lease);
        let created = lease.0;
        self.view.members.push(MemberView { member, lease, ready, prefer, created });
    }

    fn put_other(&mut self, ready: bool, prefer: u8) {
        self.put_member(OTHER, MemberEntry { member: "b".to_owned(), ready, prefer });
    }

    fn put_holder(&mut self, lease: LeaseId, created: i64) -> Holder {
        let member = if lease == OWN { "a" } else { "b" }.to_owned();
        self.view.revision = self.view.revision.max(created);
        let holder = Holder { member, lease, created };
        self.view.holder = Some(holder.clone());
        holder
    }

    /// A member with an address, a lease and a key.
    fn joined() -> Self {
        let mut play = Self::new();
        play.on(MachineEvent::Address(true));
        play.answer(Answer::Granted(OWN, LEASE));
        play.view.version = Some(VERSION.to_owned());
        play.view.revision = 10;
        play.put_member(OWN, own_entry(true));
        play
    }

    /// A member that sends; its holder's key was created at revision 20.
    fn holder() -> Self {
        let mut play = Self::joined();
        play.see();
        let holder = play.put_holder(OWN, 20);
        play.answer(Answer::Campaigned(OWN, Some(holder)));
        play.see();
        assert_eq!(play.answer(Answer::Loaded(20)), [Action::Open]);
        assert!(play.machine.may_send(play.now));
        play
    }

    fn role(&self) -> Role {
        self.machine.status(self.now).role
    }
}

fn call(call: Call) -> Action {
    Action::Call(call)
}

#[test]
fn j1_a_member_joins_campaigns_reads_the_state_and_sends() {
    let mut play = Play::new();
    assert_eq!(play.pass(0.0), [call(Call::Grant), call(Call::Watch)]);
    assert_eq!(play.role(), Role::Joining);
    assert_eq!(play.on(MachineEvent::Address(true)), []);
    assert_eq!(play.answer(Answer::Granted(OWN, LEASE)), []);
    assert_eq!(play.see(), [call(Call::Register(OWN, own_entry(true)))]);
    assert_eq!(play.answer(Answer::Registered(OWN, Some(2))), []);
    play.view.revision = 1;
    play.view.version = Some(VERSION.to_owned());
    play.put_member(OWN, own_entry(true));
    assert_eq!(play.see(), [call(Call::Campaign(OWN))]);
    assert_eq!(play.role(), Role::StandBy);
    let holder = Holder { member: "a".to_owned(), lease: OWN, created: 3 };
    assert_eq!(play.answer(Answer::Campaigned(OWN, Some(holder))), [call(Call::Load(3, false))]);
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::TakingOver, false));
    assert_eq!(play.answer(Answer::Loaded(3)), [Action::Open]);
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::Holder, true));
    assert_eq!(play.machine.created(), Some(3));
}

#[test]
fn j1_who_is_not_the_first_in_the_order_waits_for_those_before() {
    let mut play = Play::joined();
    play.put_other(true, 9);
    play.put_holder(LeaseId(9), 12);
    play.see();
    assert_eq!((play.role(), play.machine.status(play.now).holder.as_deref()), (Role::StandBy, Some("b")));
    play.view.holder = None;
    assert_eq!(play.see(), []);
    assert_eq!(play.pass(0.29), []);
    assert_eq!(play.pass(0.02), [call(Call::Campaign(OWN))]);
    // Another member was faster.
    let other = Holder { member: "b".to_owned(), lease: OTHER, created: 20 };
    assert_eq!(play.answer(Answer::Campaigned(OWN, Some(other))), []);
    assert_eq!(play.pass(4.0), []);
    assert_eq!(play.machine.status(play.now).holder.as_deref(), Some("b"));
}

#[test]
fn j1_a_member_without_an_address_does_not_campaign() {
    let mut play = Play::joined();
    play.on(MachineEvent::Address(false));
    play.put_member(OWN, own_entry(false));
    assert_eq!(play.see(), []);
    assert_eq!(play.machine.status(play.now).ready, Err("this host has no address".to_owned()));
    let actions = play.on(MachineEvent::Address(true));
    assert_eq!(actions, [call(Call::Register(OWN, own_entry(true))), call(Call::Campaign(OWN))]);
}

#[test]
fn j3_the_deadline_counts_from_before_the_renewal_was_sent() {
    let mut play = Play::holder();
    let granted = play.now;
    assert_eq!(play.machine.deadline(), Some(granted + seconds(13.5)));
    assert_eq!(play.pass(5.0), [call(Call::Renew(OWN))]);
    play.pass(2.0);
    assert_eq!(play.answer_after(2.0, Answer::Renewed(OWN, Some(LEASE))), []);
    assert_eq!(play.machine.deadline(), Some(granted + seconds(5.0 + 13.5)));
    // An older answer does not shorten the deadline.
    play.answer_after(7.0, Answer::Renewed(OWN, Some(LEASE)));
    assert_eq!(play.machine.deadline(), Some(granted + seconds(5.0 + 13.5)));
}

#[test]
fn j3_a_holder_that_cannot_renew_stops_in_time_and_goes_on_only_when_confirmed() {
    let mut play = Play::holder();
    assert_eq!(play.pass(5.0), [call(Call::Renew(OWN))]);
    play.pass(5.0);
    assert_eq!(play.fail(Call::Renew(OWN)), []);
    assert_eq!(play.pass(0.2), [call(Call::Renew(OWN))]);
    assert!(play.machine.may_send(play.now));
    assert_eq!(play.pass(3.4), [Action::Stop]);
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::Unconfirmed, false));
    assert_eq!(play.machine.deadline(), None);
    // The lease is confirmed after all: no other member can have held in the meantime.
    let actions = play.answer_after(0.1, Answer::Renewed(OWN, Some(LEASE)));
    assert_eq!(actions, [call(Call::Watch), call(Call::Load(20, false))]);
    assert!(!play.machine.may_send(play.now));
    assert_eq!(play.answer(Answer::Loaded(20)), [Action::Open]);
}

#[test]
fn j3_renewals_that_are_answered_too_late_do_not_keep_the_lease_from_the_others() {
    let mut play = Play::holder();
    let renew = || call(Call::Renew(OWN));
    assert_eq!(play.pass(5.0), [renew()]);
    play.pass(5.0);
    let fail = |play: &mut Play| {
        play.fail(Call::Renew(OWN));
        play.fail(Call::Watch);
    };
    fail(&mut play);
    assert_eq!(play.pass(3.4), [renew(), call(Call::Watch)], "before its deadline it tries again");
    fail(&mut play);
    assert_eq!(play.pass(0.6), [Action::Stop, call(Call::Watch)]);
    for _ in 0..20 {
        play.fail(Call::Watch);
        assert_eq!(play.pass(2.0), [call(Call::Watch)], "it would prolong what it cannot use");
    }
    assert_eq!(play.see(), [renew()], "the store answers in time again");
}

#[test]
fn j3_after_a_pause_nothing_is_sent_although_nobody_said_so() {
    let mut play = Play::holder();
    // Like SIGSTOP: no event, and then the time has jumped.
    play.now += seconds(13.5);
    assert!(!play.machine.may_send(play.now));
    assert_eq!(play.on(MachineEvent::Reached(true)), [Action::Stop, call(Call::Renew(OWN))]);
    assert_eq!(play.answer(Answer::Renewed(OWN, None)), [call(Call::Grant)]);
    assert_eq!((play.role(), play.machine.created()), (Role::Joining, None));
}

#[test]
fn j3_a_state_that_was_read_too_late_is_read_again() {
    let mut play = Play::joined();
    play.put_holder(OWN, 20);
    assert_eq!(play.see(), [call(Call::Load(20, false))]);
    play.pass(14.0);
    assert_eq!(play.answer(Answer::Loaded(20)), []);
    assert!(!play.machine.may_send(play.now));
    assert_eq!(play.answer(Answer::Renewed(OWN, Some(LEASE))), [call(Call::Load(20, false))]);
}

#[test]
fn j3_whoever_sees_another_holder_stops_at_once() {
    let mut play = Play::holder();
    play.put_other(true, 0);
    play.put_holder(OTHER, 30);
    assert_eq!(play.see(), [Action::Stop]);
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::StandBy, false));
}

#[test]
fn j3_a_key_that_was_given_back_is_never_taken_up_again() {
    let mut play = Play::holder();
    play.put_other(true, 0);
    play.see();
    play.on(MachineEvent::Address(false));
    let actions = play.pass_renewed(15.5);
    assert!(actions.contains(&Action::Drain), "{actions:?}");
    assert_eq!(play.on(MachineEvent::Drained), [call(Call::Resign(OWN, 20))]);
    play.answer(Answer::Resigned(20));
    // A late watch still shows the old holder's key. In case it still exists, it is given back again.
    assert_eq!(play.see(), [call(Call::Resign(OWN, 20))]);
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::HandingOver, false));
    play.answer(Answer::Resigned(20));
    play.on(MachineEvent::Address(true));
    play.put_holder(OWN, 40);
    assert_eq!(play.see(), [call(Call::Load(40, false))]);
}

#[test]
fn j7_after_the_store_went_back_nothing_of_it_is_believed_and_who_held_before_is_waited_for() {
    let mut play = Play::holder();
    let actions = play.on(MachineEvent::WentBack);
    assert_eq!(actions, [Action::Stop, call(Call::Renew(OWN)), call(Call::Watch)], "the lease may be there or not");
    assert!(play.machine.status(play.now).store.is_err_and(|why| why.contains("went back")));
    assert_eq!(play.answer(Answer::Renewed(OWN, None)), [call(Call::Grant)]);
    assert_eq!(play.answer(Answer::Granted(OWN, LEASE)), []);
    // The store was wiped: revisions start again.
    play.view = View::default();
    assert_eq!(play.see(), [call(Call::Register(OWN, own_entry(true)))]);
    play.put_member(OWN, own_entry(true));
    assert_eq!(play.see(), []);
    let actions = play.pass_renewed(14.0);
    assert!(!actions.contains(&call(Call::Campaign(OWN))), "{actions:?}");
    assert_eq!(play.pass(0.3), [call(Call::Campaign(OWN))]);
    let holder = play.put_holder(OWN, 4);
    assert_eq!(play.answer(Answer::Campaigned(OWN, Some(holder))), [call(Call::Load(4, true))]);
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::TakingOver, false));
    assert_eq!(play.answer(Answer::Loaded(4)), [Action::Open]);
    assert_eq!(play.machine.status(play.now).store, Ok(()));
}

#[test]
fn j7_a_key_that_a_restored_store_still_has_is_taken_up_and_its_claims_are_in_doubt() {
    let mut play = Play::holder();
    play.machine.resigned = 20;
    play.on(MachineEvent::WentBack);
    play.answer(Answer::Renewed(OWN, Some(LEASE)));
    play.view.revision = 19;
    assert_eq!(play.see(), [], "at first it waits");
    assert_eq!(play.role(), Role::TakingOver);
    let actions = play.pass_renewed(14.3);
    assert!(actions.contains(&call(Call::Load(20, true))), "{actions:?}");
    assert_eq!(play.answer(Answer::Loaded(20)), [Action::Open]);
}

#[test]
fn j4_calls_that_fail_are_tried_again_and_it_is_said() {
    let mut play = Play::new();
    play.pass(0.0);
    play.fail(Call::Watch);
    let mut waits = Vec::new();
    for _ in 0..6 {
        play.fail(Call::Grant);
        let before = play.now;
        while !play.pass(0.01).contains(&call(Call::Grant)) {}
        waits.push(play.now.saturating_sub(before).as_millis());
    }
    assert!(waits.iter().all(|wait| *wait <= 1010) && waits[0] < 100 && waits[5] > 700, "{waits:?}");
    assert_eq!(play.machine.status(play.now).store, Err("no answer".to_owned()));
    play.answer(Answer::Granted(OWN, LEASE));
    play.see();
    assert_eq!(play.machine.status(play.now).store, Ok(()));
}

#[test]
fn j5_a_holder_without_an_address_gives_the_lease_back_if_another_is_ready() {
    let mut play = Play::holder();
    assert_eq!(play.on(MachineEvent::Address(false)), [call(Call::Register(OWN, own_entry(false)))]);
    assert!(!play.pass(40.0).contains(&Action::Drain));
    let mut play = Play::holder();
    play.put_other(true, 0);
    play.see();
    play.on(MachineEvent::Address(false));
    assert!(!play.pass(5.0).contains(&Action::Drain));
    play.answer(Answer::Renewed(OWN, Some(LEASE)));
    assert!(!play.pass(9.9).contains(&Action::Drain));
    assert!(play.pass(0.2).contains(&Action::Drain));
    assert_eq!((play.role(), play.machine.may_send(play.now)), (Role::HandingOver, false));
    assert!(play.machine.deadline().is_some(), "what is under way goes on");
}

#[test]
fn j5_a_holder_that_reaches_no_endpoint_gives_the_lease_back_for_longer_each_time() {
    let mut play = Play::holder();
    play.put_other(true, 0);
    play.see();
    for (at, expected) in [1_u32, 2, 4, 8, 16, 32, 40, 40].into_iter().enumerate() {
        play.on(MachineEvent::Reached(false));
        play.pass_renewed(15.0);
        assert_eq!(play.role(), Role::HandingOver, "{at}");
        let pause = play.machine.readiness.paused_until.saturating_sub(play.now);
        assert_eq!(pause, LEASE * expected, "{at}");
        play.on(MachineEvent::Drained);
        let created = play.machine.created().expect("it is being given back");
        play.answer(Answer::Resigned(created));
        play.put_holder(OWN, created + 1);
        play.see();
        play.answer(Answer::Loaded(created + 1));
        assert_eq!(play.role(), Role::Holder);
    }
    play.on(MachineEvent::Reached(true));
    assert_eq!(play.machine.readiness.given_back, 0);
}

#[test]
fn j5_without_another_that_is_ready_a_holder_goes_on() {
    let mut play = Play::holder();
    play.put_other(false, 0);
    play.see();
    play.on(MachineEvent::Reached(false));
    play.pass_renewed(45.0);
    assert_eq!(play.role(), Role::Holder);
    play.put_other(true, 0);
    assert!(play.see().contains(&Action::Drain));
}

#[test]
fn a_preferred_member_gets_the_lease_after_it_was_ready_for_a_while() {
    let mut play = Play::holder();
    play.put_other(true, 1);
    play.see();
    assert!(!play.pass_renewed(45.0).contains(&Action::Drain));
    // The other member was not ready for a moment: the time counts from the start again.
    play.put_other(false, 1);
    play.see();
    play.put_other(true, 1);
    play.see();
    assert!(!play.pass_renewed(58.0).contains(&Action::Drain));
    assert!(play.pass_renewed(3.0).contains(&Action::Drain));
    play.on(MachineEvent::Drained);
    play.answer(Answer::Resigned(20));
    play.view.holder = None;
    assert_eq!(play.see(), []);
    // It lets the other member campaign first.
    assert!(!play.pass(1.0).contains(&call(Call::Campaign(OWN))));
    let actions = play.pass(4.0);
    assert!(actions.contains(&call(Call::Campaign(OWN))), "{actions:?}");
}

#[test]
fn j1_a_holder_that_ends_waits_for_what_is_under_way_and_revokes_its_lease() {
    let mut play = Play::holder();
    assert_eq!(play.on(MachineEvent::Terminate), [Action::Drain]);
    assert!(!play.machine.may_send(play.now));
    assert_eq!(play.pass(5.0), [call(Call::Renew(OWN))]);
    assert_eq!(play.on(MachineEvent::Drained), [call(Call::Revoke(OWN))]);
    assert_eq!(play.answer(Answer::Revoked(OWN)), [Action::Left]);
    assert_eq!((play.role(), play.machine.wake_at()), (Role::Left, None));
}

#[test]
fn j4_a_member_that_ends_does_not_wait_for_a_store_that_is_away() {
    let mut play = Play::joined();
    assert_eq!(play.on(MachineEvent::Terminate), [call(Call::Revoke(OWN))]);
    play.pass(5.0);
    assert_eq!(play.fail(Call::Revoke(OWN)), []);
    // The lease is not renewed in the meantime.
    assert_eq!(play.pass(1.0), [call(Call::Revoke(OWN))]);
    assert_eq!(play.fail(Call::Revoke(OWN)), [Action::Left]);
    let mut play = Play::new();
    assert_eq!(play.on(MachineEvent::Terminate), [Action::Left]);
}

#[test]
fn j1_a_drain_that_does_not_end_is_cut_off_after_a_lease() {
    let mut play = Play::holder();
    play.on(MachineEvent::Terminate);
    for _ in 0..3 {
        assert!(!play.pass(4.9).contains(&Action::Stop));
        play.answer(Answer::Renewed(OWN, Some(LEASE)));
    }
    assert_eq!(play.pass(0.4), [Action::Stop, call(Call::Revoke(OWN))]);
}

#[test]
fn j1_a_group_of_another_version_is_left_alone() {
    let mut play = Play::new();
    play.on(MachineEvent::Address(true));
    play.answer(Answer::Granted(OWN, LEASE));
    play.view.version = Some("2".to_owned());
    assert_eq!(play.see(), []);
    assert_eq!(play.pass(4.0), []);
    let trouble = play.machine.status(play.now).trouble.expect("it is said");
    assert!(trouble.starts_with("the group in the store has version 2, but this program uses version 1"), "{trouble}");
}

#[test]
fn j1_a_lease_that_is_shorter_than_the_way_to_the_store_is_said() {
    let mut play = Play::new();
    play.pass(0.0);
    play.pass(6.0);
    play.answer_after(6.0, Answer::Granted(OWN, LEASE));
    let trouble = play.machine.status(play.now).trouble.expect("it is said");
    let expected = "the store took 6 s to answer, which is too long for a lease of 15 s: check the nodes of `store`, or set a longer `lease`";
    assert_eq!(trouble, expected);
    play.answer_after(0.1, Answer::Renewed(OWN, Some(LEASE)));
    assert_eq!(play.machine.status(play.now).trouble, None);
}

#[test]
fn j6_another_host_with_the_same_name_is_said_and_an_earlier_process_is_not() {
    let mut play = Play::new();
    play.on(MachineEvent::Address(true));
    play.answer(Answer::Granted(OWN, LEASE));
    play.view.revision = 10;
    play.view.holder = Some(Holder { member: "a".to_owned(), lease: OTHER, created: 3 });
    play.see();
    play.now += LEASE * 2;
    assert_eq!(play.machine.status(play.now).trouble, None, "a process of this host may have died");
    play.now += seconds(1.0);
    let trouble = play.machine.status(play.now).trouble.expect("it is said");
    let expected =
        "another process in the group has the same `member`, a: give each its own name, or leave `member` out";
    assert_eq!(trouble, expected);
    play.view.holder = Some(Holder { member: "b".to_owned(), lease: OTHER, created: 4 });
    play.see();
    assert_eq!(play.machine.status(play.now).trouble, None);
}

/// The store ends a lease before the watch shows that the lease's keys are gone.
#[test]
fn j6_what_a_lease_of_this_process_held_is_not_held_by_another() {
    let trouble = |play: &Play| play.machine.status(play.now).trouble;
    let mut leaving = Play::holder();
    leaving.now += LEASE * 3;
    leaving.answer(Answer::Revoked(OWN));
    assert_eq!(trouble(&leaving), None, "it leaves");
    let mut renewing = Play::holder();
    renewing.now += LEASE * 3;
    renewing.answer(Answer::Renewed(OWN, None));
    renewing.answer(Answer::Granted(OTHER, LEASE));
    assert_eq!(trouble(&renewing), None, "it has another lease");
    renewing.view.holder = Some(Holder { lease: LeaseId(77), ..renewing.view.holder.clone().expect("a holder") });
    renewing.see();
    assert!(trouble(&renewing).is_some_and(|why| why.contains("the same `member`")), "somebody else holds");
}

#[test]
fn j4_answers_that_concern_an_older_lease_mean_nothing() {
    let mut play = Play::holder();
    let before = play.machine.deadline();
    let old = LeaseId(3);
    for answer in [
        Answer::Renewed(old, None),
        Answer::Registered(old, None),
        Answer::Campaigned(old, None),
        Answer::Revoked(old),
        Answer::Resigned(19),
        Answer::Loaded(19),
        Answer::Granted(old, LEASE),
    ] {
        assert_eq!(play.answer(answer.clone()), [], "{answer:?}");
        assert_eq!((play.role(), play.machine.deadline()), (Role::Holder, before), "{answer:?}");
    }
}

#[test]
fn j4_a_watch_is_begun_anew_after_a_call_failed() {
    let mut play = Play::holder();
    play.pass(5.0);
    assert_eq!(play.fail(Call::Renew(OWN)), []);
    assert_eq!(play.pass(0.2), [call(Call::Renew(OWN))]);
    assert_eq!(play.answer(Answer::Renewed(OWN, Some(LEASE))), [call(Call::Watch)]);
}

#[test]
fn j3_the_margin_covers_clocks_and_an_election() {
    for lease in [5, 10, 13, 14, 15, 20, 60, 600] {
        let lease = Duration::from_secs(lease);
        // Two election timeouts of the old leader less one of the new, plus a heartbeat; and clocks wrong by 1 % on both sides.
        let needed = Duration::from_millis(1100) + lease / 50;
        assert!(margin(lease) >= needed && margin(lease) < lease / 3, "{lease:?}");
    }
}
