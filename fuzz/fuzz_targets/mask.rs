//! No secret is left in a text that was masked, however the two are made.
#![no_main]

use ddns_core::text::secrets::{MASK, Secrets};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<String>, String)| {
    let (literals, text) = input;
    let secrets = Secrets::new(literals.clone(), &[]);
    let masked = secrets.mask(&text);
    for literal in literals.iter().map(|literal| literal.trim()) {
        let is_value = literal.parse::<std::net::IpAddr>().is_ok() || literal.starts_with("__");
        // One letter is no secret, however many bytes it takes.
        let is_letter = literal.chars().nth(1).is_none();
        // A piece of a mask and what stands beside it may spell a secret that has stars in it.
        if literal.len() >= 4 && !is_value && !is_letter && !literal.contains(MASK.as_bytes()[0] as char) {
            assert!(!masked.contains(literal), "{literal:?} in {masked:?}");
        }
    }
});
