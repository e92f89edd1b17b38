//! What several targets need.

use std::rc::Rc;

use ddns_core::config::Config;
use ddns_core::config::raw::{self, Document};
use ddns_core::config::validate::{Surroundings, validate};

/// The configuration that a text makes; none where it is refused.
pub fn configuration(text: &str) -> Option<Config> {
    let document = Document { name: "config.json".to_owned(), text: text.to_owned(), fetched: false };
    let written = raw::read(&Rc::new(document)).ok()?;
    validate("config.json", Some(written), &Surroundings::default()).ok().map(|(config, _)| config)
}
