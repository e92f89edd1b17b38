//! What set-up may show of a request. Only set-up knows who wrote a text: in a file, it could be a key (G2).

use super::SetUp;
use crate::config::Config;
use crate::config::fields::{FIELDS, Key, RequestPart};
use crate::config::raw::Raw;

impl SetUp {
    /// The configuration of these answers, layered with what is `around`, as it may be shown: texts of the recipe and answers
    /// that are not secret can be seen. They stay hidden as usual if a secret of the user's could be part of a text.
    #[must_use]
    pub fn disclosed(&self, config: &Config, around: &[&Raw]) -> Config {
        let mut shown = config.clone();
        let is_ours =
            |raw: &Raw| FIELDS.iter().all(|field| !is_text(field.key, field.request) || raw.get(field.key).is_none());
        let recipe = self.recipe().filter(|recipe| recipe.has_public_texts());
        if let Some(recipe) = recipe.filter(|_| is_ours(&self.given) && around.iter().all(|raw| is_ours(raw))) {
            for entry in &mut shown.entries {
                entry.callback.request.disclose(!recipe.has_typed_address());
            }
        }
        shown
    }
}

/// Whether a field that is set outside of the recipe can put a text into a request.
fn is_text(key: Key, part: RequestPart) -> bool {
    part == RequestPart::Content && !matches!(key, Key::Ipv4 | Key::Ipv6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::callback::{Batch, Timestamp};
    use crate::config::validate::{Surroundings, validate};
    use crate::engine::redacted;
    use crate::net::family::Family;
    use crate::recipe::{Recipe, built_in, named};
    use crate::set_up::{NONE, Survey, put};
    use crate::text::json::{Node, Value};

    /// One of these fits most questions for a secret; one of `OPEN`, most other questions.
    const SECRETS: [&str; 6] = [
        "Zq9-s3cret:of/mine=",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "87654321-4321-4321-4321-210987654321",
        "f9e8d7c6b5",
        "Q9W8E7R6T5Z4U3I2",
        "987654,fedcba9876543210fedcba9876543210",
    ];
    const OPEN: [&str; 7] = [
        "example.com",
        "me@example.com",
        "1234",
        "A1B2C3D4E5F6G7H8",
        "Z0123456789",
        "TB1",
        "https://user:s3cret@example.com/x",
    ];

    /// The first request of a service as set-up shows it, and the secrets that were typed for it; `None`: it needs a file, or no
    /// sample fits.
    fn shown(recipe: Recipe, given: Raw) -> Option<(String, Vec<&'static str>)> {
        let suffix = recipe.suffix().unwrap_or("example.com").to_owned();
        let name = recipe.name.clone();
        let mut set_up = SetUp::new(given, Survey::default()).with_recipe(recipe).expect(&name);
        let mut typed = Vec::new();
        while let Some(question) = set_up.question().filter(|question| !question.is_file) {
            let home = format!("home.{suffix}");
            let known: &[&'static str] = match question.name.as_str() {
                "domains" => {
                    set_up.answer(&home).expect(&name);
                    continue;
                }
                "index4" if question.suggested.as_deref() == Some(NONE) => &["default"],
                "index4" | "index6" => {
                    set_up.answer("").expect(&name);
                    continue;
                }
                _ if question.is_secret => &SECRETS,
                _ => &OPEN,
            };
            let all = question.suggested.is_some().then_some(&"").into_iter().chain(known);
            let taken = all.copied().find(|text| set_up.answer(text).is_ok())?;
            typed.extend(question.is_secret.then_some(taken));
        }
        let text = set_up.configuration(None).ok()?.text;
        let written = crate::config::raw::read(&crate::config::raw::Document::local("c.json", &text)).expect("JSON");
        let (config, _) = validate("c.json", Some(written), &Surroundings::default()).ok()?;
        let entry = &set_up.disclosed(&config, &[]).entries[0];
        let family = Family::ALL.into_iter().find(|family| !entry.domains_of(*family).is_empty())?;
        let update = entry.update(&entry.domains_of(family)[0], family, family.documentation());
        let now = Timestamp { seconds: 1_700_000_000, micros: 0 };
        let request =
            redacted((&entry.callback, &entry.proxies), Batch::from(&update), now.into(), false).expect(&name);
        Some((format!("{}\n{}", request.url, request.lines().join("\n")), typed))
    }

    #[test]
    fn g2_no_service_shows_a_secret_in_set_up() {
        let mut count = 0;
        for recipe in built_in().filter(Recipe::has_entry) {
            let name = recipe.name.clone();
            let Some((text, typed)) = shown(recipe, Raw::default()) else { continue };
            count += 1;
            for secret in typed.into_iter().chain(["s3cret"]) {
                let encoded = secret.replace('/', "%2F").replace(':', "%3A").replace('=', "%3D");
                for part in [secret, encoded.as_str(), secret.split([':', '/']).next().unwrap_or(secret)] {
                    assert!(!text.contains(part), "{name} shows {part}: {text}");
                }
            }
        }
        assert!(count > 60, "{count}");
    }

    #[test]
    fn g2_what_a_recipe_says_and_what_was_typed_in_sight_is_shown() {
        let text = |name: &str, given: Raw| shown(named(name).expect(name), given).expect(name).0;
        for (name, part) in [
            ("desec", "&myipv6=preserve"),
            ("route53", "<Action>UPSERT</Action>"),
            ("route53", "<TTL>300</TTL>"),
            ("route53", "/hostedzone/Z0123456789/rrset"),
            ("dynadot", "&ttl=300"),
        ] {
            let text = text(name, Raw::default());
            assert!(text.contains(part), "{name}, {part}: {text}");
        }
        // The URL contains a key: any part of it could be the key. The same holds for a typed URL, and for an additional header.
        assert!(text("freedns", Raw::default()).contains("?***&address="));
        let mut given = Raw::default();
        let header = Value::object([("X-Own", Value::string("k3y-of-mine"))]);
        given.set(Key::Headers, Node::synthetic(header), crate::config::raw::Origin::Option("--header".to_owned()));
        put(&mut given, Key::Ipv6, "home.dedyn.io");
        let own = text("desec", given);
        assert!(!own.contains("k3y-of-mine") && own.contains("&myipv4=***"), "{own}");
    }
}
