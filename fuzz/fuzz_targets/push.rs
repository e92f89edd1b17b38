//! What anybody may send as a push: the query, the form and the login; and the file that remembers it.
#![no_main]

use std::net::IpAddr;

use ddns_core::net::reach::is_public;
use ddns_core::address::pushed::PushMemory;
use ddns_core::address::source::PushSource;
use ddns_core::config::web::Web;
use ddns_core::net::family::Family;
use ddns_core::web::push::{PushAnswer, PushLogin, PushRequest, is_push, is_two_in_one};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut parts = text.splitn(3, '\n');
    let (authorization, query) = (parts.next(), parts.next().unwrap_or_default());
    let body = parts.next().unwrap_or_default();
    let _ = PushLogin::read(authorization, query, body);
    assert!(!is_push(&Web::default(), true, query, body) && !is_two_in_one(&Web::default(), query));
    let request = PushRequest::read(query, body);
    match &request.push {
        Ok(push) => {
            let is_v6 = |ip: IpAddr| ip.is_ipv6() && is_public(ip);
            assert!(push.ipv4.is_none_or(|ip| ip.is_ipv4() && is_public(ip)) && push.ipv6.is_none_or(is_v6));
            assert!(push.prefix.is_none_or(|ip| is_v6(ip) && matches!(ip, IpAddr::V6(ip) if ip.to_bits() << 64 == 0)));
            let words = PushAnswer::Good(*push, 2).text();
            assert!(words.lines().count() == 2 && words.lines().all(|line| line.starts_with("good ") && line.len() < 70));
            let mut memory = PushMemory::default();
            assert!(memory.take("r", push, None, 7) && !memory.take("r", push, None, 8));
            assert_eq!(PushMemory::from_text(&memory.text()), Some(memory.clone()));
            for (family, is_told) in Family::ALL.into_iter().zip(push.families()) {
                let source = PushSource { is_prefix: true, ..PushSource::default() };
                let found = memory.choice(&source, family, 9);
                // With an empty prefix, the hosts behind the router have no address.
                let is_told = is_told && (family == Family::V4 || push.prefix.is_some() || !push.is_prefix_empty);
                assert_eq!(found.is_ok_and(|choice| Family::of(choice.ip) == Some(family)), is_told);
            }
        }
        // What somebody typed in the wrong place may be a password: no text of it is repeated.
        Err(why) => assert!(why.len() < 100 && !why.contains(char::is_control)),
    }
    if let Some(memory) = PushMemory::from_text(text) {
        for family in Family::ALL {
            if let Ok(choice) = memory.choice(&PushSource::default(), family, u64::MAX) {
                assert_eq!(Family::of(choice.ip), Some(family));
            }
        }
        let _ = memory.silence(&PushSource::default(), u64::MAX);
        assert_eq!(PushMemory::from_text(&memory.text()), Some(memory));
    }
});
