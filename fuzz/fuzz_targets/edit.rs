//! A configuration and an edit of it, `---` between them: what a browser gets gives back the configuration it was made of, and
//! what is said about an edit shows no secret that the browser did not send itself.
#![no_main]

use ddns_core::config::validate::Surroundings;
use ddns_core::web::edit::{Edit, appended, can_be_edited, from_form, judge, mask};
use libfuzzer_sys::fuzz_target;

const SECRET: &str = "s3cret-0123456789";
const NEW: &str = r#"{"dns": "callback", "id": "https://n.example/__IP__", "ipv4": ["n.example"]}"#;

fuzz_target!(|text: &str| {
    let (old, edited) = text.split_once("\n---\n").unwrap_or((text, ""));
    let around = Surroundings::default();
    let masked = mask(old);
    let same = judge(&Edit { name: "c", old, edited: &masked, around: &around });
    if let Some((text, _)) = same.result {
        assert_eq!(text, old);
    }
    let is_shown = masked.contains(SECRET) || edited.contains(SECRET);
    let edited = from_form(old, edited);
    let judged = judge(&Edit { name: "c", old, edited: &edited, around: &around });
    for finding in &judged.findings {
        assert!(is_shown || !finding.message.contains(SECRET), "{}", finding.message);
    }
    if let Some((text, _)) = judged.result {
        assert!(can_be_edited(&text));
        assert!(is_shown || !mask(&text).contains(SECRET));
    }
    if let Ok(more) = appended(old, NEW) {
        mask(&more);
    }
});
