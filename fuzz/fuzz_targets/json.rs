//! JSON in every dialect: what is written reads back as it was.
#![no_main]

use ddns_core::text::diagnostic::Place;
use ddns_core::text::json::{Dialect, parse, pretty};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for dialect in [Dialect::STRICT, Dialect::CONFIG, Dialect::TOKEN] {
        match parse(text, dialect) {
            Ok(node) => {
                assert!(node.span.end <= text.len());
                if let Ok(strict) = parse(text, Dialect::STRICT) {
                    let again = parse(&pretty(&strict.value), Dialect::STRICT).expect("our own text");
                    assert_eq!(pretty(&again.value), pretty(&strict.value));
                }
            }
            Err(error) => {
                Place::in_file("file", text, error.span, false);
            }
        }
    }
});
