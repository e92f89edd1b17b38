//! Fills a recipe with sample answers, and reports what is wrong with the configuration, at its place in the recipe.

use super::{Form, Recipe};
use crate::config::NO_PLACEHOLDER;
use crate::config::files::{FileContents, named_in};
use crate::config::raw::{Document, read_root};
use crate::config::validate::{Surroundings, validate};
use crate::net::family::Family;
use crate::text::diagnostic::{Diagnostic, Place, Severity, has_errors, without_repeats};
use crate::text::json::{Node, Span, Value};
use crate::update::domain::Domain;

/// For most questions, one of these is a valid answer.
const SAMPLES: &str = "example.com https://example.com http://example.com me@example.com 1234 a1b2c3d4e5 A1B2C3D4E5F6G7H8 \
    12345678-1234-1234-1234-123456789012 /a/key whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// The result of trying a recipe.
#[derive(Debug, Default)]
pub struct Trial {
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Questions for which no sample is valid: the rest of the recipe was not tried.
    pub unanswered: Vec<String>,
}

impl Recipe {
    /// Tries the recipe. `text` is its JSON, for the places of errors.
    pub fn tried(&self, text: &str) -> Trial {
        let document = Document::local(&self.name, text);
        let name = format!("home.{}", self.literal_zone().unwrap_or("example.com"));
        let mut trial = Trial::default();
        for families in [&[Family::V4][..], &[Family::V6], &Family::ALL, &[]] {
            // A recipe for only notifications has no families.
            if families.is_empty() == self.has_entry() || !families.iter().all(|family| self.takes(*family)) {
                continue;
            }
            if families.len() == 2 && self.has_one_address {
                continue;
            }
            let domains = |family: Family| Domain::parse(&name).ok().filter(|_| families.contains(&family));
            let domains = Family::ALL.map(|family| domains(family).into_iter().collect());
            let Ok(mut form) = Form::new(self, domains) else { continue };
            for slot in form.unanswered() {
                let own = form.question(&slot).and_then(|question| question.default.as_deref());
                if !own.into_iter().chain(SAMPLES.split(' ')).any(|sample| form.answer(&slot, sample).is_ok()) {
                    trial.unanswered.push(slot.name().to_owned());
                }
            }
            if !trial.unanswered.is_empty() {
                break;
            }
            for members in form.files() {
                let read = read_root(&document, Node::synthetic(Value::Object(members)));
                trial.diagnostics.extend(match read {
                    Err(wrong) => vec![wrong],
                    Ok(written) => {
                        let mut files = FileContents::default();
                        for path in named_in(&written) {
                            files.add(path, Ok("key".to_owned()));
                        }
                        let around = Surroundings { files, ..Surroundings::default() };
                        match validate(&self.name, Some(written), &around) {
                            Ok((_, all)) | Err(all) => all,
                        }
                    }
                });
            }
        }
        trial.diagnostics.iter_mut().for_each(|found| self.sharpen(found, text));
        trial.diagnostics = without_repeats(trial.diagnostics);
        trial
    }

    /// A name without a value is a mistake in a recipe: nobody wants it in a request. It is shown where it first stands.
    fn sharpen(&self, found: &mut Diagnostic, text: &str) {
        let Some(name) = found.message.strip_suffix(NO_PLACEHOLDER).map(str::trim_end) else { return };
        found.severity = Severity::Error;
        if let Some(start) = text.find(name) {
            found.place = Place::in_file(&self.name, text, Span { start, end: start + name.len() }, true);
        }
    }
}

impl Trial {
    /// Whether something is wrong.
    pub fn is_wrong(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::built_in;
    use crate::recipe::read::tests::with;

    #[test]
    fn h12_a_mistake_in_what_a_recipe_fills_is_found_at_its_place() {
        let cases = [
            (
                r#""config": {"id": "https://h.example/__ID__",\n"before": {"id": "https://i.example/", "take": {"/a": "__ID__"}}}"#,
                "my.json:2:18: error: `before`: step 1 goes to https://i.example",
            ),
            (
                r#""config": {"id": "https://h.example/__ID__", "before": {\n"take": {"a": "__ID__"}}}"#,
                "my.json:2:10: error: `before`: `a` is not a JSON pointer",
            ),
            (r#""config": {"id": "https://h.example/",\n"method": "FETCH"}"#, "my.json:2:11: error: `method`"),
            (r#""config": {"id": "https://h.example/"},\n"both": {"combine": {"families": 5}}"#, "my.json:2:"),
            (r#""config": {"id": "https://h.example/__IP__",\n"expect": {"stop": "("}}"#, "my.json:2:20: error: "),
            (r#""notify": {"id": "https://h.example/",\n"method": "FETCH"}"#, "my.json:2:11: error: "),
            (
                r#""config": {"id": "https://h.example/__IP__",\n"token": {"a": "__ID__"}}"#,
                "my.json:2:17: error: __ID__ is not a placeholder",
            ),
            (
                r#""config": {"id": "https://h.example/__IP__"},\n"both": {"id": "https://h.example/__IPV4__"}"#,
                "my.json:2:35: error: __IPV4__ is not a placeholder",
            ),
        ];
        for (rest, expected) in cases {
            let text = with(&rest.replace("\\n", "\n"));
            let recipe = Recipe::read("my.json", &text).expect(&text);
            let trial = recipe.tried(&text);
            let shown: Vec<String> = trial.diagnostics.iter().map(Diagnostic::shown).collect();
            assert!(trial.is_wrong() && shown.iter().any(|it| it.starts_with(expected)), "{expected}: {shown:#?}");
        }
        let text =
            with(r#""questions": [{"name": "a", "ask": "A", "check": "^Zz9$"}], "config": {"id": "https://h/${a}"}"#);
        assert_eq!(Recipe::read("my.json", &text).expect("a recipe").tried(&text).unanswered, ["a"]);
    }

    #[test]
    fn h12_every_recipe_stands_its_trial() {
        let mut untried = Vec::new();
        for recipe in built_in() {
            let trial = recipe.tried("");
            let shown: Vec<&str> = trial.diagnostics.iter().map(|it| it.message.as_str()).collect();
            assert!(shown.is_empty(), "{}: {shown:#?}", recipe.name);
            untried.extend((!trial.unanswered.is_empty()).then_some(recipe.name));
        }
        assert!(untried.len() < 8, "{untried:?}");
    }
}
