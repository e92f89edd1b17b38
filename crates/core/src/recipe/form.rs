//! A recipe with the answers of a user: which answers are known, which are missing, and what they mean.

use std::collections::BTreeMap;
use std::fmt;

use super::{Each, Question, Recipe};
use crate::net::family::Family;
use crate::text::diagnostic::nearest;
use crate::text::json::{Member, Value, pretty};
use crate::update::domain::Domain;

/// Precedes the path of a file that contains the answer. Typed answers never begin with it, because control characters are refused.
pub(crate) const IN_FILE: &str = "\u{1c}";

/// The place of one answer: the question, and the domain and family if it has an answer for each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerSlot {
    name: String,
    domain: Option<Domain>,
    family: Option<Family>,
}

/// The name for `--set`: `token`, `key.home.example.com`, `record_id.A.home.example.com`.
impl fmt::Display for AnswerSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.family.iter().try_for_each(|family| write!(f, ".{}", family.record_type()))?;
        self.domain.iter().try_for_each(|domain| write!(f, ".{domain}"))
    }
}

impl AnswerSlot {
    /// The name of the question.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The label for people: `API token`, `Key of the record, for home.example.com`.
    pub(crate) fn label(&self, question: &Question) -> String {
        let ask = &question.ask;
        match (&self.domain, self.family) {
            (Some(domain), Some(family)) => format!("{ask}, for {domain} {}", family.record_type()),
            (Some(domain), None) => format!("{ask}, for {domain}"),
            _ => ask.clone(),
        }
    }
}

/// The domain and family that a value is for.
#[derive(Clone, Copy, Default)]
pub(super) struct RecordScope<'a> {
    pub(super) domain: Option<&'a Domain>,
    pub(super) family: Option<Family>,
}

/// Domains, and what each has besides its name.
pub(crate) type DomainRest = Vec<(Domain, Vec<(&'static str, Value)>)>;

/// A recipe and the answers so far. `Debug` does not show the answers.
pub struct Form<'a> {
    /// The recipe to fill.
    pub recipe: &'a Recipe,
    /// The domains to update, by [`Family::index`].
    pub(super) domains: [Vec<Domain>; 2],
    /// What domains have besides what the recipe says.
    pub(crate) rest: DomainRest,
    known: BTreeMap<AnswerSlot, String>,
}

impl fmt::Debug for Form<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form").field("recipe", &self.recipe.name).field("domains", &self.domains).finish()
    }
}

impl<'a> Form<'a> {
    /// A form without answers. Fails if the service does not take addresses of a family that has domains.
    pub fn new(recipe: &'a Recipe, domains: [Vec<Domain>; 2]) -> Result<Self, String> {
        for family in Family::ALL {
            if !domains[family.index()].is_empty() && !recipe.takes(family) {
                return Err(format!("{} takes no {family} addresses", recipe.title));
            }
        }
        Ok(Self { recipe, domains, rest: Vec::new(), known: BTreeMap::new() })
    }

    /// Takes the answer of `--set NAME=VALUE`; `name` is the text of an [`AnswerSlot`]. Without a domain, the answer is for all of them.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let Some(each) = self.each_of(first) else {
            let known: Vec<&str> = self.names().collect();
            let near = nearest(first, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
            let near = near.unwrap_or_default();
            return Err(format!(
                "{} does not ask for `{first}`: {near}It asks for {}",
                self.recipe.title,
                known.join(", ")
            ));
        };
        let (family, domain) = match rest.split_once('.') {
            Some((word, domain)) if Family::of_record(word).is_some() => (Family::of_record(word), domain),
            _ => (None, rest),
        };
        let is_meant = |slot: &AnswerSlot| {
            let is_domain =
                domain.is_empty() || slot.domain.as_ref().is_some_and(|of| of.as_str() == domain.to_lowercase());
            is_domain && family.is_none_or(|family| slot.family == Some(family))
        };
        let meant: Vec<AnswerSlot> = self.slots(first, each).filter(is_meant).collect();
        if meant.is_empty() {
            let likely = self.slots(first, each).next().map(|slot| slot.to_string()).unwrap_or_default();
            return Err(format!("`{name}` is about a domain or record that is not configured; it would be `{likely}`"));
        }
        let answer = |slot: &AnswerSlot| self.answer(slot, value).map_err(|why| format!("`{slot}`: {why}"));
        meant.iter().try_for_each(answer)
    }

    /// The missing answers, in the order in which to ask. A zone that may follow from the domains is not asked for before they are
    /// known.
    pub fn unanswered(&self) -> Vec<AnswerSlot> {
        let slots = self.recipe.questions.iter().flat_map(|question| self.slots(&question.name, question.each));
        let waits = |slot: &AnswerSlot| slot.name == "zone" && !self.has_domains() && self.recipe.suffix().is_some();
        slots.filter(|slot| !self.known.contains_key(slot) && !waits(slot)).collect()
    }

    /// Sets the zone if it is missing and certain: each name directly below the service's suffix is a zone, and so is a domain that
    /// equals its own suggested zone.
    pub(crate) fn take_certain_zone(&mut self) {
        let slot = AnswerSlot { name: "zone".to_owned(), domain: None, family: None };
        if self.each_of("zone") != Some(Each::Once) || self.known.contains_key(&slot) {
            return;
        }
        let Some((first, zone)) = self.all_domains().next().zip(self.suggested(&slot)) else { return };
        let below =
            |suffix: &str| zone.strip_suffix(suffix).is_some_and(|label| label.len() > 1 && label.ends_with('.'));
        if first.as_str() == zone || self.recipe.suffix().is_some_and(below) {
            // This fails if another domain is outside the zone: then the user is asked.
            let _ = self.answer(&slot, &zone);
        }
    }

    /// The question of a slot.
    pub fn question(&self, slot: &AnswerSlot) -> Option<&'a Question> {
        self.recipe.questions.iter().find(|question| question.name == slot.name)
    }

    /// The label of a slot, for people.
    pub fn label(&self, slot: &AnswerSlot) -> String {
        self.question(slot).map(|question| slot.label(question)).unwrap_or_default()
    }

    /// Whether the form has domains.
    pub(crate) fn has_domains(&self) -> bool {
        self.all_domains().next().is_some()
    }

    /// The suggestion for a slot: its default, or for a zone the end of the first domain.
    pub fn suggested(&self, slot: &AnswerSlot) -> Option<String> {
        let question = self.question(slot)?;
        let zone = || {
            let domain = self.all_domains().next().filter(|_| question.name == "zone")?;
            let name = domain.as_str();
            // Each name directly below the service's suffix is a zone.
            let suffix =
                self.recipe.suffix().filter(|suffix| within(domain, suffix).is_some_and(|rest| !rest.is_empty()));
            let zone =
                suffix.map_or_else(|| likely_zone(name), |suffix| last_labels(name, suffix.split('.').count() + 1));
            Some(zone.to_owned())
        };
        question.default.clone().or_else(zone)
    }

    /// Takes an answer. The error says why it is not valid.
    pub fn answer(&mut self, slot: &AnswerSlot, text: &str) -> Result<(), String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("please enter a value".to_owned());
        }
        if let Some(why) = self.question(slot).and_then(|question| question.complaint(text)) {
            return Err(why);
        }
        // Name servers write a zone with a dot at its end.
        let text = text.strip_suffix('.').filter(|_| slot.name == "zone").unwrap_or(text);
        if slot.name == "zone" {
            self.check_zone(text)?;
        }
        self.known.insert(slot.clone(), text.to_owned());
        Ok(())
    }

    /// Takes the contents of a file with one line as the answer. The configuration will name that file.
    pub(crate) fn take_file(&mut self, slot: &AnswerSlot, path: &str) {
        self.known.insert(slot.clone(), format!("{IN_FILE}{path}"));
    }

    /// Checks the domains. Each must be in the fixed zone of the service, if it has one. If the requests do not name the domain, both
    /// families must have the same domains: otherwise two entries would overwrite each other's records in turn. If a name has only one
    /// address, it must not be in both families.
    pub fn check_domains(&self) -> Result<(), String> {
        let is_of_one_host = |both: &Vec<Member>| {
            let text = pretty(&Value::Object(both.clone()));
            !text.contains("DOMAIN") && !text.contains("\"missing\"")
        };
        let has_both = self.domains.iter().all(|domains| !domains.is_empty());
        let differs = self.all_domains().any(|domain| !self.domains.iter().all(|domains| domains.contains(domain)));
        if has_both && differs && self.recipe.both.as_ref().is_some_and(is_of_one_host) {
            let title = &self.recipe.title;
            return Err(format!("{title} takes both addresses of one host: give the same domains for IPv4 and IPv6"));
        }
        let [v4, v6] = &self.domains;
        if let Some(domain) = v4.iter().find(|domain| self.recipe.has_one_address && v6.contains(domain)) {
            return Err(format!(
                "{} takes one address for {domain}: name it for IPv4 or IPv6, not both",
                self.recipe.title
            ));
        }
        self.recipe.literal_zone().map_or(Ok(()), |zone| self.check_zone(zone))
    }

    fn check_zone(&self, zone: &str) -> Result<(), String> {
        let outside = self.all_domains().find(|domain| within(domain, zone).is_none());
        outside.map_or(Ok(()), |domain| Err(format!("{domain} is not in the zone {zone}: names there end in .{zone}")))
    }

    /// The domains of both families, without duplicates.
    fn all_domains(&self) -> impl Iterator<Item = &Domain> {
        let [v4, v6] = &self.domains;
        v4.iter().chain(v6.iter().filter(|domain| !v4.contains(domain)))
    }

    /// The names for `set`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.recipe.questions.iter().map(|question| question.name.as_str())
    }

    fn each_of(&self, name: &str) -> Option<Each> {
        self.recipe.questions.iter().find(|question| question.name == name).map(|question| question.each)
    }

    /// The slots of a question.
    pub(super) fn slots(&self, name: &str, each: Each) -> impl Iterator<Item = AnswerSlot> {
        let slot =
            |domain: Option<&Domain>, family| AnswerSlot { name: name.to_owned(), domain: domain.cloned(), family };
        let slots: Vec<AnswerSlot> = match each {
            Each::Once => vec![slot(None, None)],
            Each::Domain => self.all_domains().map(|domain| slot(Some(domain), None)).collect(),
            Each::Record => Family::ALL
                .into_iter()
                .flat_map(|family| self.domains[family.index()].iter().map(move |domain| (domain, family)))
                .map(|(domain, family)| slot(Some(domain), Some(family)))
                .collect(),
        };
        slots.into_iter()
    }

    /// The slot that a name means in a scope; `None` for names that need no answer.
    pub(super) fn slot(&self, name: &str, scope: RecordScope<'_>) -> Option<AnswerSlot> {
        let each = self.each_of(name)?;
        let domain = scope.domain.filter(|_| each != Each::Once).cloned();
        Some(AnswerSlot { name: name.to_owned(), domain, family: scope.family.filter(|_| each == Each::Record) })
    }

    /// Whether the answer of a slot is a secret.
    pub(super) fn is_secret(&self, slot: &AnswerSlot) -> bool {
        self.question(slot).is_some_and(|question| question.secret)
    }

    /// The value of a name in a scope; empty if it is unknown.
    pub(super) fn value(&self, name: &str, scope: RecordScope<'_>) -> String {
        if let Some(slot) = self.slot(name, scope) {
            return self.known.get(&slot).cloned().unwrap_or_default();
        }
        let (domain, family) = (scope.domain.map(Domain::as_str).unwrap_or_default(), scope.family);
        let zone =
            || self.recipe.literal_zone().map_or_else(|| self.value("zone", RecordScope::default()), str::to_owned);
        let subdomain = || scope.domain.and_then(|domain| within(domain, &zone())).unwrap_or_default();
        match name {
            "domain" => domain.to_owned(),
            "type" => family.map(Family::record_type).unwrap_or_default().to_owned(),
            "zone" if self.recipe.literal_zone().is_some() => zone(),
            "host" if subdomain().is_empty() => "@".to_owned(),
            "host" | "subdomain" => subdomain(),
            _ => {
                let values = self.recipe.values.iter().find(|(known, _)| known == name);
                values.zip(family).map(|((_, texts), family)| texts[family.index()].clone()).unwrap_or_default()
            }
        }
    }
}

/// The part of a domain before its zone; empty for the zone itself, and `None` for a domain outside the zone.
fn within(domain: &Domain, zone: &str) -> Option<String> {
    let zone = zone.to_lowercase();
    let rest = domain.as_str().strip_suffix(zone.as_str())?;
    if rest.is_empty() { Some(String::new()) } else { rest.strip_suffix('.').map(str::to_owned) }
}

/// The zone that a name is probably in.
pub(crate) fn likely_zone(name: &str) -> &str {
    let labels: Vec<&str> = name.rsplit('.').take(3).collect();
    let is_second_level = match labels.as_slice() {
        [top, second, _] if top.len() == 2 => "co com net org gov edu ac".split(' ').any(|known| known == *second),
        _ => false,
    };
    let is_shared = name.ends_with(".dedyn.io") || name.ends_with(".eu.org");
    last_labels(name, if is_second_level || is_shared { 3 } else { 2 })
}

fn last_labels(name: &str, count: usize) -> &str {
    name.rmatch_indices('.').nth(count - 1).map_or(name, |(at, _)| &name[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_of_a_name_is_what_can_be_registered() {
        for (name, zone) in [
            ("example.com", "example.com"),
            ("a.b.example.com", "example.com"),
            ("example.co.uk", "example.co.uk"),
            ("a.b.example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("a.me.dedyn.io", "me.dedyn.io"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(likely_zone(name), zone);
        }
    }
}
