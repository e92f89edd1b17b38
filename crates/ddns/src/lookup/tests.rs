//! Which entries share a lookup.

use std::rc::Rc;

use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};

use super::*;

/// The groups into which the IPv4 queries of entries with these fields fall.
fn groups(entries: &[&str]) -> Vec<Vec<usize>> {
    let entries: Vec<String> = entries
        .iter()
        .map(|fields| {
            format!(r#"{{"provider": "callback", "id": "http://127.0.0.1:9/", "ipv4": "a.example"{fields}}}"#)
        })
        .collect();
    let text = format!(r#"{{"providers": [{}]}}"#, entries.join(","));
    let document = Rc::new(Document { name: "config.json".to_owned(), text, fetched: false });
    let written = raw::read(&document).expect("a configuration");
    let (config, _) = validate("config.json", Some(written), &Surroundings::default()).expect("a valid one");
    let queries = config.entries.iter().enumerate();
    let queries = queries.filter_map(|(at, entry)| Some((Query::needed(entry, Family::V4)?, at)));
    shared(queries).into_iter().map(|(_, who)| who).collect()
}

#[test]
fn entries_with_the_same_sources_share_a_lookup() {
    let page = r#", "index4": "url:https://192.0.2.1/""#;
    let plain = page.to_owned();
    let other = r#", "index4": "url:https://192.0.2.2/""#.to_owned();
    let unverified = format!(r#"{page}, "ssl": false"#);
    let patient = format!(r#"{page}, "timeout": 60"#);
    assert_eq!(groups(&[&plain, &plain, &other, &plain]), [vec![0, 1, 3], vec![2]]);
    assert_eq!(groups(&[&plain, &unverified, &plain]), [vec![0, 2], vec![1]], "`ssl` decides what is believed");
    assert_eq!(groups(&[&plain, &patient]), [vec![0], vec![1]], "`timeout` decides how long is waited");
    assert_eq!(groups(&[&plain, r#", "index4": false"#]), [vec![0]], "switched off");
}
