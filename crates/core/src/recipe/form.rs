//! The answers of one use of a recipe: what is known, what must be asked, what it means.

use std::collections::BTreeMap;
use std::fmt;

use super::{Each, Question, Recipe};
use crate::net::family::Family;
use crate::text::diagnostic::nearest;
use crate::text::json::{Member, Value, pretty};
use crate::update::domain::Domain;

/// Stands before the path of a file that holds an answer. No answer of a person has it: control characters are refused.
pub(crate) const IN_FILE: &str = "\u{1c}";

/// One thing to know: an answer, for a domain and a family where it has one for each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AnswerSlot {
    name: String,
    domain: Option<Domain>,
    family: Option<Family>,
}

/// As `--set` takes it: `token`, `key.home.example.com`, `record_id.A.home.example.com`.
impl fmt::Display for AnswerSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.family.iter().try_for_each(|family| write!(f, ".{}", family.record_type()))?;
        self.domain.iter().try_for_each(|domain| write!(f, ".{domain}"))
    }
}

impl AnswerSlot {
    /// What it is called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it is, for people: `API token`, `Key of the record, for home.example.com`.
    pub(crate) fn label(&self, question: &Question) -> String {
        let ask = &question.ask;
        match (&self.domain, self.family) {
            (Some(domain), Some(family)) => format!("{ask}, for {domain} {}", family.record_type()),
            (Some(domain), None) => format!("{ask}, for {domain}"),
            _ => ask.clone(),
        }
    }
}

/// What something is done for.
#[derive(Clone, Copy, Default)]
pub(super) struct RecordScope<'a> {
    pub(super) domain: Option<&'a Domain>,
    pub(super) family: Option<Family>,
}

/// Domains, and what each gets beside its name.
pub(crate) type DomainRest = Vec<(Domain, Vec<(&'static str, Value)>)>;

/// A recipe and what is known so far. Does not show answers when printed.
pub struct Form<'a> {
    /// What is filled.
    pub recipe: &'a Recipe,
    /// By [`Family::index`].
    pub(super) domains: [Vec<Domain>; 2],
    /// What domains get beside what the recipe says.
    pub(crate) rest: DomainRest,
    known: BTreeMap<AnswerSlot, String>,
}

impl fmt::Debug for Form<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Form").field("recipe", &self.recipe.name).field("domains", &self.domains).finish()
    }
}

impl<'a> Form<'a> {
    /// Begins with the domains. Fails where the service does not take one of their families.
    pub fn new(recipe: &'a Recipe, domains: [Vec<Domain>; 2]) -> Result<Self, String> {
        for family in Family::ALL {
            if !domains[family.index()].is_empty() && !recipe.takes(family) {
                return Err(format!("{} takes no {family} addresses", recipe.title));
            }
        }
        Ok(Self { recipe, domains, rest: Vec::new(), known: BTreeMap::new() })
    }

    /// Takes `NAME=VALUE`, the NAME as a [`AnswerSlot`] is written. Without a domain it holds for all of them.
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

    /// What must be asked, in this order: what has no answer yet. A zone that may follow from the names waits for them.
    pub fn unanswered(&self) -> Vec<AnswerSlot> {
        let slots = self.recipe.questions.iter().flat_map(|question| self.slots(&question.name, question.each));
        let waits = |slot: &AnswerSlot| slot.name == "zone" && !self.has_domains() && self.recipe.suffix().is_some();
        slots.filter(|slot| !self.known.contains_key(slot) && !waits(slot)).collect()
    }

    /// Takes the zone where the names leave no doubt, and nobody gave it: below a suffix of the service every name is a zone, and
    /// one of two labels is its own.
    pub(crate) fn take_certain_zone(&mut self) {
        let slot = AnswerSlot { name: "zone".to_owned(), domain: None, family: None };
        if self.each_of("zone") != Some(Each::Once) || self.known.contains_key(&slot) {
            return;
        }
        let Some((first, zone)) = self.all_domains().next().zip(self.suggested(&slot)) else { return };
        let below =
            |suffix: &str| zone.strip_suffix(suffix).is_some_and(|label| label.len() > 1 && label.ends_with('.'));
        if first.as_str() == zone || self.recipe.suffix().is_some_and(below) {
            // Where another name is outside of it, it is asked for.
            let _ = self.answer(&slot, &zone);
        }
    }

    /// The question behind a slot.
    pub fn question(&self, slot: &AnswerSlot) -> Option<&'a Question> {
        self.recipe.questions.iter().find(|question| question.name == slot.name)
    }

    /// What a slot is, for people.
    pub fn label(&self, slot: &AnswerSlot) -> String {
        self.question(slot).map(|question| slot.label(question)).unwrap_or_default()
    }

    /// Whether it is known what is to be updated.
    pub(crate) fn has_domains(&self) -> bool {
        self.all_domains().next().is_some()
    }

    /// What is suggested for a slot: its default; for a zone the end of the first domain.
    pub fn suggested(&self, slot: &AnswerSlot) -> Option<String> {
        let question = self.question(slot)?;
        let zone = || {
            let domain = self.all_domains().next().filter(|_| question.name == "zone")?;
            let name = domain.as_str();
            // Below a suffix of the service, every name is a zone.
            let suffix =
                self.recipe.suffix().filter(|suffix| within(domain, suffix).is_some_and(|rest| !rest.is_empty()));
            let zone =
                suffix.map_or_else(|| likely_zone(name), |suffix| last_labels(name, suffix.split('.').count() + 1));
            Some(zone.to_owned())
        };
        question.default.clone().or_else(zone)
    }

    /// Takes an answer. Fails with why it is none.
    pub fn answer(&mut self, slot: &AnswerSlot, text: &str) -> Result<(), String> {
        let text = text.trim();
        if text.is_empty() {
            return Err("please enter a value".to_owned());
        }
        if let Some(why) = self.question(slot).and_then(|question| question.complaint(text)) {
            return Err(why);
        }
        if slot.name == "zone" {
            self.check_zone(text)?;
        }
        self.known.insert(slot.clone(), text.to_owned());
        Ok(())
    }

    /// Takes what is in a file of one line as the answer: that stays where it is.
    pub(crate) fn take_file(&mut self, slot: &AnswerSlot, path: &str) {
        self.known.insert(slot.clone(), format!("{IN_FILE}{path}"));
    }

    /// Whether every domain is in the zone that is always the same, and those of both families are the same where a request
    /// does not name them: two entries would change the records of one host in turn, as two families change one address.
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

    /// The domains of both families, each once.
    fn all_domains(&self) -> impl Iterator<Item = &Domain> {
        let [v4, v6] = &self.domains;
        v4.iter().chain(v6.iter().filter(|domain| !v4.contains(domain)))
    }

    /// What can be set.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.recipe.questions.iter().map(|question| question.name.as_str())
    }

    fn each_of(&self, name: &str) -> Option<Each> {
        self.recipe.questions.iter().find(|question| question.name == name).map(|question| question.each)
    }

    /// The slots of a name.
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

    /// The slot that a name means in a scope; none for names that need no answer.
    pub(super) fn slot(&self, name: &str, scope: RecordScope<'_>) -> Option<AnswerSlot> {
        let each = self.each_of(name)?;
        let domain = scope.domain.filter(|_| each != Each::Once).cloned();
        Some(AnswerSlot { name: name.to_owned(), domain, family: scope.family.filter(|_| each == Each::Record) })
    }

    /// Whether the answer of a slot must not be seen.
    pub(super) fn is_secret(&self, slot: &AnswerSlot) -> bool {
        self.question(slot).is_some_and(|question| question.secret)
    }

    /// The value of a name in a scope; empty where it is not known.
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

/// The part of a domain before its zone, empty for the zone itself; `None` if it is outside.
fn within(domain: &Domain, zone: &str) -> Option<String> {
    let zone = zone.to_lowercase();
    let rest = domain.as_str().strip_suffix(zone.as_str())?;
    if rest.is_empty() { Some(String::new()) } else { rest.strip_suffix('.').map(str::to_owned) }
}

/// The zone that a name is likely to be in.
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
