//! The text form, merging what several processes wrote, and what an outcome settles.

use super::text::{HOLDS, STREAKS};
use super::*;
use crate::dns::DnsVerdict;
use crate::update::hold::{Stopped, UnderWay};
use crate::update::outcome::Why;

const OWN: u32 = 7;
const OTHER: u32 = 8;

fn key(name: &str) -> ClaimKey {
    let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
    ClaimKey { callback, domain: Domain::parse(name).expect("a domain"), family: Family::V4 }
}

fn ip(last: u8) -> IpAddr {
    IpAddr::from([203, 0, 113, last])
}

fn accepted(last: u8, at: u64) -> Claim {
    Claim { accepted: Some(Accepted { ip: ip(last), at }), in_doubt: None }
}

fn changed(key: &ClaimKey, ours: &mut State) -> Changed {
    ours.change(key, ours.entry(key));
    Changed { claims: true, holds: [(key.clone(), Hold::default())].into_iter().collect(), ..Changed::default() }
}

fn marked(entry: Claim, last: u8, until: u64, by: u32) -> Claim {
    Claim { in_doubt: Some(InDoubt { ip: ip(last), until, by, message: 0 }), ..entry }
}

fn state_with(name: &str, entry: Claim) -> State {
    let mut state = State::new(vec![1, 2, 3]);
    state.set(&key(name), entry);
    state
}

#[test]
fn the_text_reads_back() {
    let mut state = state_with("a.example", accepted(7, 1000));
    state.set(&key("bücher.example"), accepted(7, 1001));
    state.set(&key("doubt.example"), marked(accepted(7, 1001), 8, 1030, OWN));
    state.set(&key("first.example"), marked(Claim::default(), 8, 1030, OWN));
    state.set(&ClaimKey { callback: Fingerprint::new([9; 16]), ..key("b.example") }, accepted(7, 1));
    let text = state.to_string();
    assert_eq!(State::from_parts(&text), Some(state.clone()), "as it is written");
    let pretty = text.replace(',', " ,\n ").replace(':', " : ");
    assert_eq!(State::from_text(&pretty), Some(state.clone()), "as somebody else may write it");
    assert_eq!(state.salt(), [1, 2, 3]);
    assert_eq!(State::from_text(&State::new(vec![7]).to_string()), Some(State::new(vec![7])));
}

/// Everything that a file may contain, as version 0.2.0 writes it. Members may be added to it; those here must keep their meaning.
const FILE: &str = r#"{"version":2,"salt":"010203","callbacks":{
"00112233445566778899aabbccddeeff":{"by":[],
 "a.example A":["203.0.113.7",1000,"203.0.113.8",1030,7]}},
"holds":{
 "00112233445566778899aabbccddeeff a.example A":{"sent":1,"wait":2,"unchanged":3,"under_way":[["203.0.113.9",1040,8]],"stopped":["203.0.113.8",5,true,"no \"host\""],"seen":{"ip":"203.0.113.7","accepted":1000,"found":{"verdict":"not_visible","ttl":300,"reason":"ns1.example has 203.0.113.6"},"since":1010,"last":1020,"next":1080}}},
"streaks":{
 "00112233445566778899aabbccddeeff a.example A":[2,1,3,900]}}
"#;

#[test]
fn e4_what_a_file_of_this_version_says_keeps_its_meaning() {
    let state = State::from_text(FILE).expect("a file");
    let key = key("a.example");
    assert_eq!(state.entry(&key), marked(accepted(7, 1000), 8, 1030, 7));
    let Hold { sent, wait_until, unchanged, under_way, stopped, seen, more } = state.hold(&key);
    assert_eq!((sent, wait_until, unchanged, more.as_str()), (1, 2, 3, ""));
    assert_eq!(under_way, [UnderWay { ip: ip(9), until: 1040, by: 8 }]);
    assert_eq!(stopped, Some(Stopped { ip: ip(8), at: 5, until_address: true, why: "no \"host\"".to_owned() }));
    let seen = seen.expect("what DNS showed");
    assert_eq!((seen.ip, seen.accepted, seen.since, seen.last, seen.next), (ip(7), 1000, 1010, 1020, 1080));
    assert_eq!((seen.found.verdict, seen.found.ttl), (DnsVerdict::NotVisible, Some(300)));
    assert!(state.streak(&key).is_some_and(|streak| streak.to_text() == "[2,1,3,900]"));
    assert_eq!(state.to_string(), FILE);
    // In a group's store, a pair has the same members.
    let (name, text) = state.pair(&key);
    let hold =
        FILE.lines().nth(4).and_then(|line| line.split_once("A\":")).map(|(_, hold)| hold.trim_end_matches("},"));
    assert_eq!(name, "00112233445566778899aabbccddeeff a.example A");
    let text = text.expect("a pair");
    assert!(text.starts_with("{\"entry\":[\"203.0.113.7\",1000,\"203.0.113.8\",1030,7],\"hold\":"), "{text}");
    assert!(hold.is_some_and(|hold| text.contains(hold)) && text.ends_with(",\"streak\":[2,1,3,900]}"), "{text}");
}

/// What older versions wrote, and what later versions may add.
#[test]
fn e4_the_text_of_other_versions_is_read_and_kept() {
    let entry = r#" "a.example A":["203.0.113.7",1000]}"#;
    let head = r#"{"version":2,"salt":"010203","callbacks":{"#;
    let before = format!("{head}\n\"00112233445566778899aabbccddeeff\":{{\n{entry}}}}}\n");
    let known = state_with("a.example", accepted(7, 1000));
    assert_eq!(State::from_parts(&before), Some(known));
    let later = before
        .replace("\"salt\"", "\"new\":{\"a\":[\"}\\n\"]},\"salt\"")
        .replace("1000]", "1000,{\"b\":[1]}]")
        .replace(":{\n ", ":{\"c\":null,\n ")
        .replace("}}}\n", "}},\"holds\":{\"00112233445566778899aabbccddeeff a.example A\":{\"d\":1}},\"e\":2}\n");
    let mut state = State::from_text(&later).expect("a later version");
    assert_eq!(state.entry(&key("a.example")), accepted(7, 1000));
    for last in [8, 9] {
        let text = state.to_string();
        for part in ["\"new\":{", "\"a\":[", "\"c\":null", "\"b\":[", "\"d\":1", "\"e\":2"] {
            assert!(text.replace(' ', "").contains(part), "{part}: {text}");
        }
        assert_eq!(State::from_text(&text), Some(state.clone()), "{text}");
        state.set(&key("a.example"), marked(accepted(7, 1000), last, 1030, OWN));
        let update = Update { domain: &key("a.example").domain, family: Family::V4, ip: ip(last) };
        let hold = state.hold(&key("a.example")).settled(&Outcome::Accepted(200), &update, true, 1000);
        state.set_hold(&key("a.example"), hold);
    }
    state.prune(Duration::ZERO, u64::MAX);
    assert!(!state.to_string().contains("\"b\""), "{}", state.to_string());
}

#[test]
fn e3_what_a_request_replaces_is_told_by_file_origin_and_address() {
    let print = |number: u8| Fingerprint::new([number; 16]);
    let of = |callback: u8, name: &str| ClaimKey { callback: print(callback), ..key(name) };
    let (ours, theirs) = (print(101), print(102));
    let mut state = State::new(vec![1]);
    for (callback, by, last) in [
        (1, Some(ours), 7),
        (2, Some(theirs), 7),
        (3, None, 7),
        (4, Some(ours), 8),
        (5, Some(ours), 7),
        (6, Some(ours), 7),
    ] {
        state.set(&of(callback, "a.example"), accepted(last, 1000));
        state.set(&of(callback, "b.example"), accepted(7, 1000));
        if let Some(by) = by {
            state.note_maker(print(callback), by);
        }
    }
    // A callback that both files have.
    state.note_maker(print(6), theirs);
    let names = [key("a.example").domain, key("b.example").domain];
    // The fifth is still configured, but not the fourth: it is configured for the other domain only.
    let present =
        [(1, 0), (5, 0), (4, 1)].map(|(callback, name): (_, usize)| (print(callback), &names[name], Family::V4));
    let replaced = |ip: Option<IpAddr>, by| {
        let sending = [Sending { key: of(1, "a.example"), ip, by }];
        let mut found = state.replaced_by(&sending, present.into_iter());
        found.sort_by_key(|(_, key)| key.callback);
        assert!(found.iter().all(|(place, key)| *place == 0 && key.domain == names[0]));
        found.into_iter().map(|(_, key)| key.callback.as_bytes()[0]).collect::<Vec<_>>()
    };
    assert_eq!(replaced(Some(ip(8)), ours), [3, 6], "the fourth has this address");
    assert_eq!(replaced(Some(ip(7)), ours), [4]);
    assert_eq!(replaced(None, ours), [3, 4, 6], "something else stands in the place of an address");
    assert_eq!(replaced(Some(ip(8)), theirs), [2, 3, 6]);
    assert_eq!(State::from_parts(&state.to_string()), Some(state.clone()));
    // Makers are merged, too.
    let mut on_disk = State::new(vec![1]);
    let mut changed = changed(&of(6, "a.example"), &mut state);
    on_disk.merge(&state, &mut changed, OWN, 1000);
    assert_eq!(on_disk.callbacks[&print(6)].by, [ours, theirs]);
}

#[test]
fn e3_what_was_not_replaced_after_all_counts_again() {
    let doubted = accepted(7, 1000).doubted().expect("it counted");
    assert_eq!(doubted, marked(accepted(7, 1000), 7, 0, 0));
    assert_eq!(doubted.undoubted(), Some(accepted(7, 1000)));
    assert_eq!((doubted.doubted(), Claim::default().doubted()), (None, None));
    assert_eq!(marked(accepted(7, 1000), 8, 1030, OTHER).undoubted(), None, "somebody else sends");
    assert_eq!(accepted(7, 1000).undoubted(), None);
}

#[test]
fn e4_damaged_texts_are_refused_and_never_panic() {
    let text = state_with("a.example", marked(accepted(7, 1000), 8, 1030, OWN)).to_string();
    for end in 0..text.len() - 2 {
        assert_eq!(State::from_text(&text[..end]), None, "cut at {end}");
    }
    let parts = [
        ("\"version\":2", "\"version\":3"),
        ("\"version\":2,", ""),
        ("203.0", "2001:"),
        (" A\"", " MX\""),
        ("1000", "\"x\""),
    ];
    for (from, to) in parts.into_iter().chain([
        (",7]", "]"),
        (",1030,7]", "]"),
        (",7]", ",7,7,7]"),
        (",7]", ",-7]"),
        (",7]", ",7,x]"),
    ]) {
        assert_eq!(State::from_text(&text.replacen(from, to, 1)), None, "{from}");
    }
}

#[test]
fn e3_an_entry_counts_until_it_is_too_old() {
    let age = Duration::from_secs(60);
    let entry = Accepted { ip: ip(7), at: 10_000 };
    assert!(entry.counts(age, 10_059));
    assert!(!entry.counts(age, 10_060));
    assert!(!entry.counts(Duration::ZERO, 10_000));
}

#[test]
fn an_entry_of_a_clock_that_ran_ahead_does_not_count() {
    let age = Duration::from_secs(60);
    let entry = Accepted { ip: ip(7), at: 10_000_000 };
    assert!(entry.counts(age, 10_000_000 - 100));
    assert!(!entry.counts(age, 5_000_000));
}

#[test]
fn e4a_an_entry_is_marked_unless_another_process_sends_a_different_address() {
    let domain = Domain::parse("a.example").expect("a domain");
    let update = Update { domain: &domain, family: Family::V4, ip: ip(8) };
    let known = accepted(7, 1000);
    let ours = marked(known, 8, 1040, 1);
    let doubt = |last, until, by| InDoubt { ip: ip(last), until, by, message: 0 };
    let cases = [
        (known, Some((ours, None))),
        (marked(known, 9, 1030, 1), Some((ours, None))),
        (marked(known, 9, 0, 0), Some((ours, Some(doubt(9, 0, 0))))),
        (marked(known, 8, 1030, 2), Some((ours, Some(doubt(8, 1030, 2))))),
        (marked(known, 9, 1030, 2), None),
    ];
    for (before, expected) in cases {
        assert_eq!(before.marked((&update, Some(update.ip)), 1040, 1, 1010), expected, "{before:?}");
    }
}

#[test]
fn e4_what_is_in_doubt_is_settled_by_a_response_alone() {
    let domain = Domain::parse("a.example").expect("a domain");
    let update = Update { domain: &domain, family: Family::V4, ip: ip(8) };
    let failed = |reached| Outcome::Failed(Why::NoResponse { why: String::new(), reached });
    let entry = marked(accepted(7, 1000), 8, 1030, OWN);
    assert_eq!(entry.settled(&Outcome::Accepted(204), &update, None, 1010), accepted(8, 1010));
    for outcome in [Outcome::of_status(500), failed(true)] {
        assert_eq!(entry.settled(&outcome, &update, None, 1010), marked(accepted(7, 1000), 8, 0, 0), "{outcome:?}");
    }
    assert_eq!(entry.settled(&failed(false), &update, None, 1010), accepted(7, 1000), "nothing was sent");
    let before = InDoubt { ip: ip(9), until: 0, by: 0, message: 0 };
    let after = entry.settled(&failed(false), &update, Some(before), 1010);
    assert_eq!(after, marked(accepted(7, 1000), 9, 0, 0), "what was in doubt before is so again");
}

#[test]
fn e4a_the_first_mark_stays_and_the_later_acceptance_counts() {
    let on_disk = |entry| state_with("a.example", entry);
    let merged = |theirs: Claim, ours: Claim| {
        let (mut state, mut ours) = (on_disk(theirs), on_disk(ours));
        let mut changed = changed(&key("a.example"), &mut ours);
        state.merge(&ours, &mut changed, OWN, 1000);
        state.entry(&key("a.example"))
    };
    let ours = marked(accepted(7, 900), 8, 1030, OWN);
    assert_eq!(merged(accepted(7, 900), ours), ours);
    assert_eq!(merged(marked(accepted(7, 900), 9, 1020, OTHER), ours), marked(accepted(7, 900), 9, 1020, OTHER));
    assert_eq!(merged(marked(accepted(7, 900), 9, 999, OTHER), ours), ours, "theirs has ended");
    assert_eq!(merged(marked(accepted(7, 900), 9, 1020, OWN), ours), ours, "it was our own");
    assert_eq!(merged(marked(accepted(7, 900), 9, 999_999, OTHER), ours), ours, "a clock was wrong");
    assert_eq!(merged(accepted(9, 950), ours), marked(accepted(9, 950), 8, 1030, OWN));
    let doubt = marked(accepted(8, 1000), 9, 1020, OTHER);
    assert_eq!(merged(marked(accepted(7, 900), 9, 1020, OTHER), accepted(8, 1000)), doubt, "they are still sending");
    let others = marked(accepted(7, 900), 8, 1040, OTHER);
    assert_eq!(merged(others, ours), ours, "both send the same");
    assert_eq!(merged(others, accepted(8, 1000)), accepted(8, 1000), "theirs is the same");
}

#[test]
fn e4_a_former_file_that_was_put_back_is_not_believed() {
    let merged = |theirs: Claim, ours: Claim| {
        let mut state = state_with("a.example", theirs);
        state.merge(&state_with("a.example", ours), &mut Changed::default(), OWN, 1000);
        state.entry(&key("a.example"))
    };
    assert_eq!(merged(accepted(7, 900), accepted(8, 950)), marked(accepted(7, 900), 8, 0, 0));
    assert_eq!(merged(accepted(7, 900), accepted(7, 950)), accepted(7, 900), "the address is the same");
    assert_eq!(merged(accepted(7, 960), accepted(8, 950)), accepted(7, 960), "another process was the last");
    let doubt = marked(accepted(7, 900), 9, 1020, OTHER);
    assert_eq!(merged(doubt, accepted(8, 950)), doubt, "nobody believes it anyway");
    assert_eq!(merged(Claim::default(), accepted(8, 950)), Claim::default());
    let mark = marked(accepted(7, 900), 8, 1030, OWN);
    assert_eq!(merged(accepted(7, 900), mark), mark, "our request is under way: its mark stands again");
    let over = marked(accepted(7, 900), 8, 999, OWN);
    assert_eq!(merged(accepted(7, 900), over), accepted(7, 900), "it has ended");
}

#[test]
fn e4a_of_two_addresses_that_were_accepted_in_one_second_none_is_known() {
    let (mut state, mut ours) =
        (state_with("a.example", accepted(8, 1000)), state_with("a.example", accepted(7, 1000)));
    let mut changed = changed(&key("a.example"), &mut ours);
    state.merge(&ours, &mut changed, OWN, 1000);
    assert!(state.entry(&key("a.example")).in_doubt.is_some(), "{:?}", state.entry(&key("a.example")));
}

#[test]
fn e3_what_was_accepted_is_in_doubt_while_another_callback_sends_in_its_place() {
    let successor = ClaimKey { callback: Fingerprint::new([9; 16]), ..key("a.example") };
    let maker = Fingerprint::new([5; 16]);
    let merged = |other: Claim, by: Fingerprint| {
        let (mut state, mut ours) =
            (state_with("a.example", accepted(7, 900)), state_with("a.example", accepted(8, 990)));
        state.set(&successor, other);
        state.note_maker(successor.callback, by);
        for state in [&mut state, &mut ours] {
            state.note_maker(key("a.example").callback, maker);
        }
        let mut changed = changed(&key("a.example"), &mut ours);
        state.merge(&ours, &mut changed, OWN, 1000);
        state.entry(&key("a.example")).in_doubt.is_some()
    };
    let sending = |last| marked(Claim::default(), last, 1030, OTHER);
    assert!(merged(sending(9), maker), "another address is on its way");
    assert!(!merged(sending(8), maker), "the same one is");
    assert!(!merged(sending(9), Fingerprint::new([6; 16])), "somebody else's");
    assert!(merged(accepted(9, 995), maker), "accepted since");
    assert!(!merged(accepted(9, 980), maker), "accepted before");
    assert!(!merged(accepted(9, 9_999), maker), "by a clock that was ahead");
}

#[test]
fn entries_of_callbacks_that_are_gone_are_forgotten_in_the_end() {
    let mut state = state_with("a.example", accepted(7, 1000));
    let other = ClaimKey { family: Family::V6, ..key("a.example") };
    state.set(&other, Claim { accepted: Some(Accepted { ip: IpAddr::from([1; 8]), at: 1000 }), in_doubt: None });
    let is_there = |state: &State| [&key("a.example"), &other].iter().all(|key| state.entry(key) != Claim::default());
    state.prune(Duration::ZERO, 1000 + CLAIM_RETENTION.as_secs() - 1);
    assert!(is_there(&state));
    state.prune(CLAIM_RETENTION * 2, 1000 + CLAIM_RETENTION.as_secs());
    assert!(is_there(&state));
    state.prune(Duration::ZERO, 1000 + CLAIM_RETENTION.as_secs());
    assert_eq!(state, State::new(vec![1, 2, 3]), "nothing is left of the callback either");
}

#[test]
fn h5_what_keeps_updates_from_being_sent_reads_back() {
    use crate::update::hold::{Hold, Stopped};

    let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
    let key = |name: &str| ClaimKey { callback, domain: Domain::parse(name).expect("a domain"), family: Family::V4 };
    let ip = "203.0.113.7".parse().expect("an address");
    let why = "a \"quoted\" ],\n\"holds\":{ word".to_owned();
    let stopped = Some(Stopped { ip, at: 5, until_address: true, why });
    let mut state = State::new(vec![1]);
    state.set_hold(&key("a.example"), Hold { stopped, ..Hold::default() });
    state.set_hold(&key("b.example"), Hold { sent: 7, wait_until: 9, unchanged: 2, ..Hold::default() });
    assert_eq!(State::from_text(&state.to_string()), Some(state.clone()), "without entries");
    state.set(&key("b.example"), Claim { accepted: Some(Accepted { ip, at: 5 }), in_doubt: None });
    assert_eq!(State::from_text(&state.to_string()), Some(state.clone()), "with entries");

    state.prune(Duration::ZERO, 200 * 86_400);
    assert!(state.hold(&key("a.example")).stopped.is_some(), "a stop has no end");
    assert_eq!(state.hold(&key("b.example")), Hold::default());
    state.set_hold(&key("a.example"), Hold::default());
    assert!(!state.to_string().contains("holds"), "{}", state.to_string());
    for wrong in ["{}}\n", "{\"x\":{}}}\n", "[]}\n"] {
        let text = format!("{}{HOLDS}{wrong}", state.to_string().trim_end().strip_suffix('}').expect("an object"));
        assert!(State::from_text(&text).is_none() || wrong == "{}}\n", "{text}");
    }
}

#[test]
fn i5_failures_in_a_row_read_back_beside_everything_else() {
    use crate::update::hold::{Hold, Stopped};

    let ip = ip(7);
    let why = "a \"quoted\" ],\n\"streaks\":{ word]}}\n".to_owned();
    let streak =
        Streak { failures: 3, is_stopped: true, is_reported: true, is_stop_reported: false, tries: 2, at: 1000 };
    let mut state = state_with("a.example", accepted(7, 1000));
    let plain = state.to_string();
    state.set_hold(
        &key("b.example"),
        Hold { stopped: Some(Stopped { ip, at: 5, until_address: true, why }), ..Hold::default() },
    );
    assert_eq!(State::from_text(&state.to_string()), Some(state.clone()), "without them");
    for (name, streak) in [("a.example", streak), ("*.b.example", Streak { is_stop_reported: true, ..streak })] {
        state.set_streak(&key(name), streak);
        assert_eq!(State::from_text(&state.to_string()), Some(state.clone()), "{name}");
        assert_eq!(state.streak(&key(name)), Some(streak));
    }
    state.set_hold(&key("b.example"), Hold::default());
    assert_eq!(State::from_text(&state.to_string()), Some(state.clone()), "without the other");

    // Changes of another process are kept.
    let mut theirs = state.clone();
    theirs.set_streak(&key("c.example"), streak);
    state.set_streak(&key("a.example"), Streak::default());
    let mut changed = Changed { streaks: [key("a.example")].into_iter().collect(), ..Changed::default() };
    theirs.merge(&state, &mut changed, OWN, 1000);
    let known = ["a.example", "*.b.example", "c.example"].map(|name| theirs.streak(&key(name)).is_some());
    assert_eq!(known, [false, true, true]);

    state.prune(Duration::ZERO, 1000 + CLAIM_RETENTION.as_secs() - 1);
    assert!(state.has_streaks(key("a.example").callback));
    state.set_streak(&key("*.b.example"), Streak::default());
    assert_eq!(state.to_string(), plain, "nothing is left of them");
    for wrong in ["[1,2,3]", "[1,2,3,-4]", "[1,300,3,4]", "{}", "[1,2,3,4,5]"] {
        let text = plain
            .replace("}}}\n", &format!("}}}}{STREAKS}{{\"{} a.example A\":{wrong}}}}}\n", key("a.example").callback));
        assert!(State::from_text(&text).is_none(), "{text}");
    }
}

/// A receiver drops a message whose id it knows, so another address needs a new id, and so does one that returns (H11).
#[test]
fn h11_the_number_of_a_message_stays_over_its_tries() {
    let domain = Domain::parse("a.example").expect("a domain");
    let update = |last: u8| Update { domain: &domain, family: Family::V4, ip: ip(last) };
    let mark = |entry: Claim, last: u8, fresh: u32| {
        let (marked, _) = entry.marked((&update(last), Some(update(last).ip)), 100, 7, 50).expect("nobody else sends");
        marked.numbered(fresh)
    };
    let failed = |entry: Claim, last: u8| entry.settled(&Outcome::of_status(500), &update(last), None, 60);
    let number = |entry: &Claim| entry.in_doubt.map(|doubt| doubt.message);
    let first = mark(Claim::default(), 1, 11);
    let again = mark(failed(first, 1), 1, 12);
    assert_eq!((number(&first), number(&again)), (Some(11), Some(11)));
    let other = mark(failed(again, 1), 2, 13);
    let back = mark(failed(other, 2), 1, 14);
    assert_eq!((number(&other), number(&back)), (Some(13), Some(14)));
    let accepted = back.settled(&Outcome::of_status(200), &update(1), None, 70);
    assert_eq!(number(&mark(accepted, 1, 15)), Some(15));
    // The number is part of the text, in both forms in which it is read.
    let key = ClaimKey { callback: Fingerprint::new([1; 16]), domain: domain.clone(), family: Family::V4 };
    let mut state = State::new(vec![1]);
    state.set(&key, back);
    let text = state.to_string();
    assert_eq!(State::from_text(&text), Some(state.clone()));
    assert_eq!(State::from_text(&text.replace('\n', " ")), Some(state.clone()));
    state.set(&key, failed(first, 1));
    state.prune(Duration::ZERO, u64::MAX);
    assert_eq!(number(&state.entry(&key)), Some(11), "one that was never accepted has no time");
}
