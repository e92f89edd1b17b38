//! A configuration to which the page adds an entry: where both are valid, so is the result, and what was there means what it
//! meant.
#![no_main]

use ddns_core::config::validate::Surroundings;
use ddns_core::web::addition::{appended, first};
use libfuzzer_sys::fuzz_target;

const NEW: &str = r#"{"dns": "callback", "id": "https://n.example/__IP__", "ipv4": ["n.example"]}"#;

fuzz_target!(|old: &str| {
    let around = Surroundings::default();
    if let (Ok(before), Ok(more)) = (first("", old, &around), appended(old, NEW, &around)) {
        let after = first("", &more, &around).expect("a valid configuration");
        let (added, same) = after.entries.split_last().expect("one more entry");
        assert_eq!((same, after.notify), (&before.entries[..], before.notify));
        assert_eq!(added.callback, first("", NEW, &around).expect("a valid entry").entries[0].callback);
    }
});
