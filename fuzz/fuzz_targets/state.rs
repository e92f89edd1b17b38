//! The cache file and what the control socket says: whatever is read can be written and reads back.
#![no_main]

use ddns_core::text::json::pretty;
use ddns_core::update::state::State;
use ddns_core::update::status::Status;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(state) = State::from_text(text) {
        assert_eq!(State::from_text(&state.to_text()), Some(state));
    }
    if let Some(status) = Status::from_text(text) {
        assert!(Status::from_text(&pretty(&status.to_json())).is_some());
        let _ = status.summary();
    }
});
