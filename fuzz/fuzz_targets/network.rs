//! What strangers on the network send: STUN, SOCKS5, pages with an address, `Retry-After`.
#![no_main]

use ddns_core::address::in_text::{first_address, whole_words};
use ddns_core::net::family::Family;
use ddns_core::net::{socks, stun};
use ddns_core::schedule::retry_after;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let id = std::array::from_fn(|at| bytes.get(at + 8).copied().unwrap_or_default());
    let _ = stun::read(bytes, &id);
    if let Some((start, _)) = bytes.split_first_chunk::<5>() {
        let _ = socks::rest_of_response(*start);
        let _ = socks::chosen(None, [start[0], start[1]]);
        let _ = socks::logged_in([start[0], start[1]]);
    }
    for family in Family::ALL {
        if let Some(ip) = first_address(whole_words(bytes, 64), family) {
            assert_eq!(Family::of(ip), Some(family));
        }
        first_address(bytes, family);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = retry_after::parse(text, 1_763_170_000);
    }
});
