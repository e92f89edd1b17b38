//! What strangers on the network send: STUN, NAT-PMP, UPnP, SOCKS5, pages with an address, `Retry-After`.
#![no_main]

use ddns_core::address::in_text::{first_address, whole_words};
use ddns_core::net::family::Family;
use ddns_core::net::url::Url;
use ddns_core::net::{natpmp, socks, stun, upnp};
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
    let _ = natpmp::read(bytes);
    let router = [192, 168, 77, 1].into();
    if let Some(url) = upnp::location(bytes, router) {
        assert_eq!((url.host.as_str(), url.secure, url.credentials.is_none()), ("192.168.77.1", false, true));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let base = Url::parse("http://192.168.77.1:5000/d.xml").expect("an address");
        for service in upnp::services(text, &base) {
            assert_eq!((service.control.host.as_str(), service.control.port), ("192.168.77.1", 5000));
        }
        let _ = upnp::external_address(text);
        let _ = retry_after::parse(text, 1_763_170_000);
    }
});
