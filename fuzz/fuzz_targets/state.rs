//! The cache file and what the control socket says: whatever is read can be used, written, and reads back.
#![no_main]

use std::time::Duration;

use ddns_core::net::family::Family;
use ddns_core::text::own_json;
use ddns_core::update::Update;
use ddns_core::update::domain::Domain;
use ddns_core::update::hold::Hold;
use ddns_core::update::outcome::Outcome;
use ddns_core::update::state::{Changed, ClaimKey, Fingerprint, Saved, State};
use ddns_core::journal::Status;
use libfuzzer_sys::fuzz_target;

const NOW: u64 = 1_763_170_000;

fuzz_target!(|text: &str| {
    State::is_of_other_client(text);
    if let Some(state) = State::from_text(text) {
        use_up(state.clone());
        assert_eq!(State::from_text(&state.to_string()), Some(state));
    }
    if let Some(status) = own_json::read::<Status>(text) {
        assert_eq!(own_json::read(&own_json::indented(&status)).as_ref(), Some(&status));
        status.summary();
    }
});

/// What a run does with the update that the seeds remember.
fn use_up(mut state: State) {
    let callback = Fingerprint::parse("00112233445566778899aabbccddeeff").expect("a fingerprint");
    let (domain, family) = (Domain::parse("a.example").expect("a domain"), Family::V4);
    let key = ClaimKey { callback, domain: domain.clone(), family };
    let update = Update { domain: &domain, family, ip: family.documentation() };
    let (entry, hold) = (state.entry(&key), state.hold(&key));
    hold.until(Duration::from_secs(60), NOW);
    hold.stop_for(update.ip);
    entry.accepted.map(|accepted| accepted.counts(Duration::from_secs(60), NOW));
    if let Some((marked, before)) = entry.marked((&update, Some(update.ip)), NOW + 30, 7, NOW) {
        state.change(&key, marked.settled(&Outcome::of_status(500), &update, before, NOW));
    }
    state.set_hold(&key, hold.settled(&Outcome::Unchanged(200), &update, true, NOW));
    let ours = state.clone();
    let holds = [(key, Hold::default())].into_iter().collect();
    let mut changed = Changed { claims: true, holds, ..Changed::default() };
    state.merge(&ours, &mut changed, 7, NOW);
    state.prune(Duration::ZERO, NOW);
    state.turn(Saved::No, Saved::Yes);
    assert_eq!(State::from_text(&state.to_string()), Some(state));
}
