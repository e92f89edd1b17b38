//! A configuration file to the requests it sends: no text may panic, and no value may break out of its place.
#![no_main]

use std::rc::Rc;

use ddns_core::address::observation::{Choice, Observed};
use ddns_core::address::source::Source;
use ddns_core::callback::{SendableBatch, Timestamp};
use ddns_core::config::lint::lint;
use ddns_core::config::listing::listing;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};
use ddns_core::net::family::Family;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let document = Rc::new(Document { name: "config.json".to_owned(), text: text.to_owned(), fetched: false });
    let around = Surroundings::default();
    let (Ok(written), Ok(again)) = (raw::read(&document), raw::read(&document)) else { return };
    listing(Some(&written), &around, true);
    let Ok((config, _)) = validate("config.json", Some(again), &around) else { return };
    lint(&config, Some(&written), &around);
    config.secrets().mask(text);
    let now = Timestamp { seconds: 1_763_170_000, micros: 42 };
    for entry in &config.entries {
        entry.callback.fingerprint(b"salt");
        for family in Family::ALL {
            let choice = Choice { ip: family.documentation(), why: String::new() };
            let found = Observed::by(&Source::Default, &choice);
            for domain in entry.domains_of(family) {
                let Some(parcel) = SendableBatch::of([entry.sendable(domain, family, found)]) else { continue };
                let Ok(request) = entry.callback.render(&parcel, now) else { continue };
                let url = &request.url;
                assert!(url.path.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", url.path);
                assert!(!url.host.is_empty() && !url.host.contains(['/', '?', '#', '@']), "{:?}", url.host);
                for (name, value) in request.headers("agent") {
                    assert!(!value.contains(['\r', '\n', '\0']), "{name}");
                }
            }
        }
    }
});
