//! A recipe of a stranger's: no file is named outside of its folder, and what is written is JSON.
#![no_main]

use ddns_core::net::family::Family;
use ddns_core::recipe::{Form, Recipe, template};
use ddns_core::text::json::{Dialect, parse};
use ddns_core::update::domain::Domain;
use ddns_fuzz::configuration;
use libfuzzer_sys::fuzz_target;

const SECRET: &str = "s3cret-0123456789";

fuzz_target!(|text: &str| {
    let recipe = match Recipe::read("./my.json", text) {
        Ok(recipe) => recipe,
        Err(wrong) => return wrong.iter().for_each(|wrong| drop(wrong.shown())),
    };
    template(&recipe);
    let domain = |name| Domain::parse(name).expect("a domain");
    let domains = |family| match recipe.takes(family) {
        true => vec![domain("example.com"), domain("*.example.com")],
        false => Vec::new(),
    };
    let Ok(mut form) = Form::new(&recipe, Family::ALL.map(domains)) else { return };
    let _ = form.check_domains();
    for slot in form.unanswered() {
        form.label(&slot);
        let suggested = form.suggested(&slot).unwrap_or_else(|| "example.com".to_owned());
        let is_secret = form.question(&slot).is_some_and(|question| question.secret);
        let _ = form.answer(&slot, if is_secret { SECRET } else { &suggested });
        let _ = form.set(&slot.to_string(), &suggested).is_err();
        if is_secret {
            let _ = form.answer(&slot, SECRET);
        }
    }
    for folder in [None, Some("/secrets")] {
        let filled = form.configuration(&[], folder);
        parse(&filled.text, Dialect::CONFIG).expect("JSON of our own");
        configuration(&filled.text);
        for (path, _) in &filled.secrets {
            let name = path.strip_prefix("/secrets/").expect("a file in the folder");
            assert!(!name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']), "{name:?}");
        }
    }
});
