//! Finds the service that the user means: by its number in a list, or by one of its names.

use super::{ChosenService, OWN, SetUp, SetUpSubject};
use crate::recipe::{Recipe, is_exactly, named, search};

/// What means a URL of the user's own, in place of a service.
const OWN_WORDS: [&str; 5] = [OWN, "url", "my own", "my own url", "own url"];

/// How the recipe for another way of the same service ends: `desec` and `desec-api`.
const WAYS: [&str; 4] = ["-api", "-domain", "-dyndns", "-v2"];

/// The result of a search for a service.
#[derive(Debug, PartialEq, Eq)]
pub enum ServiceChoice {
    /// The service was chosen; this is its title.
    Taken(String),
    /// Several services match: the user chooses from [`SetUp::listed`] by number.
    Several,
    /// No service was chosen, and why.
    Nothing(String),
}

impl SetUp {
    /// Whether the service must be chosen next: see [`SetUp::choose`].
    pub fn needs_service(&self) -> bool {
        self.service.is_none()
    }

    /// The services that a number chooses from, counted from 1; 0 is the user's own URL.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }

    /// The number that an empty answer means: that of the only service in the list; `None`: there are several, or none.
    pub fn only_listed(&self) -> Option<usize> {
        (self.listed.len() == 1).then_some(1)
    }

    /// Chooses a service by its number in the last list, or by one of its names.
    pub fn choose(&mut self, text: &str) -> ServiceChoice {
        let text = text.trim();
        let number = if text.is_empty() { self.only_listed() } else { text.parse().ok() };
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        let is_own = OWN_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
        if number == Some(0) || is_own || is_url {
            self.take_service(OWN, ChosenService::Own);
            if is_url {
                self.suggest("id".to_owned(), text.to_owned());
            }
            return ServiceChoice::Taken("A URL of your own".to_owned());
        }
        let listed = number.and_then(|number: usize| self.listed.get(number.checked_sub(1)?));
        let found = match (listed, number, text) {
            (Some(name), ..) => named(name).into_iter().collect(),
            (None, None, "") => {
                let number = if self.listed.is_empty() { "" } else { "its number, or " };
                return ServiceChoice::Nothing(format!("Please type {number}a few letters of its name."));
            }
            (None, Some(_), _) if !self.listed.is_empty() => {
                return ServiceChoice::Nothing("There is no such number in the list.".to_owned());
            }
            _ => search(if text == "?" { "" } else { text }).into_iter().filter(Recipe::has_entry).collect::<Vec<_>>(),
        };
        let is_meant = |recipe: &&Recipe| listed.is_some() || is_exactly(text, recipe) && text != "?";
        if let Some(recipe) = found.iter().find(is_meant) {
            let mut title = recipe.title.clone();
            let is_way =
                |long: &Recipe, short: &Recipe| WAYS.iter().any(|way| long.name == format!("{}{way}", short.name));
            let is_other = |it: &&Recipe| listed.is_none() && (is_way(it, recipe) || is_way(recipe, it));
            if let Some(other) = found.iter().find(is_other) {
                title += &format!(". For {}, type < and then {}", other.title, other.name);
            }
            self.take_service(&recipe.name, ChosenService::Recipe(Box::new(recipe.clone())));
            return ServiceChoice::Taken(title);
        }
        if found.is_empty() {
            return ServiceChoice::Nothing(
                "No service matches: try fewer letters, or 0 for a URL of your own.".to_owned(),
            );
        }
        self.listed = found.into_iter().map(|recipe| recipe.name).collect();
        ServiceChoice::Several
    }

    fn take_service(&mut self, name: &str, service: ChosenService) {
        self.taken.push((SetUpSubject::Service, name.to_owned()));
        self.service = Some(service);
        // After going back, the user starts a new search.
        self.listed.clear();
    }
}
