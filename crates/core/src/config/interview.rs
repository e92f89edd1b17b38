//! The questions behind a new configuration: what is asked, in which order, what is suggested, and what an answer means.
//! Answers are judged by the same rules as a configuration. Asking and looking up addresses is the program's.

use std::net::IpAddr;

use super::fields::{Field, Key};
use super::raw::{Origin, Raw};
use super::starter::{checked, lacks_address, lacks_domains};
use crate::address::local::is_private;
use crate::net::family::Family;
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::text::json::{Node, Value};

/// The body that is suggested for a POST.
const BODY: &str = r#"{"domain": "__DOMAIN__", "type": "__RECORDTYPE__", "ip": "__IP__"}"#;
/// What is suggested to be added to the address of a GET.
const QUERY: &str = "name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__";
/// An answer that leaves something out.
const NONE: &str = "none";

/// What a question is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionSubject {
    /// `id`
    Address,
    /// Whether there is a `token`.
    Method,
    /// What is added to `id`.
    Query,
    /// `token`
    Body,
    /// `ipv4` or `ipv6`
    Domains(Family),
    /// `index4` or `index6`
    Source(Family),
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterviewQuestion {
    /// What it is about.
    pub subject: QuestionSubject,
    /// Why it is asked, on one line.
    pub why: String,
    /// The question itself: a few words.
    pub asks: String,
    /// What an empty answer means; `None` if there is nothing to suggest.
    pub suggested: Option<String>,
}

/// A conversation about a new configuration. What an option already answers is not asked.
#[derive(Debug)]
pub struct Interview {
    settings: Raw,
    /// The address that this host uses toward the internet: by [`Family::index`].
    own: [Option<IpAddr>; 2],
    left: Vec<QuestionSubject>,
}

impl Interview {
    /// Begins with what is known.
    pub fn new(settings: Raw, own: [Option<IpAddr>; 2]) -> Self {
        let mut left = Vec::new();
        if lacks_address(&settings) {
            left.push(QuestionSubject::Address);
        }
        if settings.get(Key::Token).is_none() {
            left.push(QuestionSubject::Method);
        }
        if lacks_domains(&settings) {
            left.extend(Family::ALL.map(QuestionSubject::Domains));
        }
        let unknown = Family::ALL.into_iter().filter(|family| settings.get(index_key(*family)).is_none());
        left.extend(unknown.map(QuestionSubject::Source));
        Self { settings, own, left }
    }

    /// Begins with what is known where a recipe says what is sent: domains and sources of the families that it takes.
    pub fn for_recipe(settings: Raw, own: [Option<IpAddr>; 2], takes: impl Fn(Family) -> bool) -> Self {
        let mut interview = Self::new(settings, own);
        interview.left.retain(|subject| match subject {
            QuestionSubject::Domains(family) | QuestionSubject::Source(family) => takes(*family),
            _ => false,
        });
        interview
    }

    /// Takes what is suggested, up to the first question without a suggestion.
    pub fn take_suggestions(&mut self) {
        while self.question().is_some_and(|question| question.suggested.is_some()) && self.answer("").is_ok() {}
    }

    /// What is known so far.
    pub fn settings(&self) -> &Raw {
        &self.settings
    }

    /// The next question; `None` if everything is known.
    pub fn question(&mut self) -> Option<InterviewQuestion> {
        // Where an address comes from matters only for a family with domains.
        let is_needless = |subject: &QuestionSubject| matches!(subject, QuestionSubject::Source(family) if self.domains(*family).is_none());
        let needless = self.left.iter().take_while(|subject| is_needless(subject)).count();
        self.left.drain(..needless);
        self.left.first().map(|subject| self.about(*subject))
    }

    /// Takes the answer to the next question; an empty one is what was suggested. Gives the warnings about it, or why
    /// it must be asked again.
    pub fn answer(&mut self, text: &str) -> Result<Vec<String>, String> {
        let Some(question) = self.question() else { return Ok(Vec::new()) };
        let text = match (text.trim(), question.suggested) {
            ("", Some(suggested)) => suggested,
            ("", None) => return Err("There is no suggestion: please type an answer.".to_owned()),
            (text, _) => text.to_owned(),
        };
        if text.chars().any(char::is_control) {
            return Err("The answer contains a control character (an arrow key, perhaps).".to_owned());
        }
        let warnings = self.take(question.subject, &text)?;
        self.left.remove(0);
        Ok(warnings)
    }

    /// Asks again where an address comes from, because it gave none. The last answer is suggested.
    pub fn reconsider(&mut self, family: Family) {
        self.left.insert(0, QuestionSubject::Source(family));
    }

    fn about(&self, subject: QuestionSubject) -> InterviewQuestion {
        let (why, asks, suggested) = match subject {
            QuestionSubject::Address => (
                "The http(s) address to call; __IP__ and __DOMAIN__ are filled in.".to_owned(),
                "Address of the endpoint".to_owned(),
                None,
            ),
            QuestionSubject::Method => {
                let method = if self.has_address() { "GET" } else { "POST" };
                let why = "GET puts everything into the address; POST sends a JSON body.".to_owned();
                (why, "GET or POST".to_owned(), Some(method.to_owned()))
            }
            QuestionSubject::Query => {
                let why = format!("The address does not contain __IP__. These are added to it; `{NONE}`: nothing.");
                (why, "Parameters".to_owned(), Some(QUERY.to_owned()))
            }
            QuestionSubject::Body => (
                "Placeholders in its values are filled in. What you type stays in the file.".to_owned(),
                "JSON body".to_owned(),
                Some(BODY.to_owned()),
            ),
            QuestionSubject::Domains(family) => self.about_domains(family),
            QuestionSubject::Source(family) => self.about_source(family),
        };
        InterviewQuestion { subject, why, asks, suggested }
    }

    fn about_domains(&self, family: Family) -> (String, String, Option<String>) {
        let asks = format!("Domains for {family}");
        let others = self.domains(Family::V4).filter(|_| family == Family::V6);
        let why = format!("Domains to update with your {family} address, separated by commas; `{NONE}`: no {family}.");
        let suggested = match (family, others) {
            (Family::V6, Some(others)) if self.own[family.index()].is_some() => Some(others),
            (Family::V6, Some(_)) => Some(NONE.to_owned()),
            _ => None,
        };
        (why, asks, suggested)
    }

    fn about_source(&self, family: Family) -> (String, String, Option<String>) {
        let asks = format!("Source of the {family} address");
        if let Some(answered) = self.text(index_key(family)) {
            let why = "It gave no address. Enter keeps it all the same; or type another source.";
            return (why.to_owned(), asks, Some(answered.to_owned()));
        }
        let (why, suggested) = match self.own[family.index()] {
            Some(ip) if is_private(ip) => {
                (format!("This host's address {ip} is private: it cannot be reached from outside."), "public")
            }
            Some(ip) => (format!("This host's own address is {ip}."), "default"),
            None => (format!("This host has no {family} address for the internet."), "public"),
        };
        (why, asks, Some(suggested.to_owned()))
    }

    /// Whether `id` contains the address.
    fn has_address(&self) -> bool {
        self.text(Key::Id).is_some_and(|id| id.contains("__IP__"))
    }

    fn text(&self, key: Key) -> Option<&str> {
        self.settings.get(key)?.node.value.text()
    }

    /// The domains of a family as they were written, where there are some.
    fn domains(&self, family: Family) -> Option<String> {
        let key = domains_key(family);
        match &self.settings.get(key)?.node.value {
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(text.clone()),
            Value::Array(items) if items.is_empty() => None,
            Value::Array(items) => {
                Some(items.iter().filter_map(|item| item.value.text()).collect::<Vec<_>>().join(", "))
            }
            _ => None,
        }
    }

    /// Makes a setting of a valid answer.
    fn take(&mut self, subject: QuestionSubject, text: &str) -> Result<Vec<String>, String> {
        match subject {
            QuestionSubject::Address => self.set(Key::Id, text),
            QuestionSubject::Method => {
                match text.to_ascii_lowercase().as_str() {
                    "get" if self.has_address() => {}
                    "get" => self.left.insert(1, QuestionSubject::Query),
                    "post" => self.left.insert(1, QuestionSubject::Body),
                    _ => return Err("Please answer GET or POST.".to_owned()),
                }
                Ok(Vec::new())
            }
            QuestionSubject::Query if text.eq_ignore_ascii_case(NONE) => Ok(Vec::new()),
            QuestionSubject::Query => {
                let id = self.text(Key::Id).unwrap_or_default();
                let joint = if !id.contains('?') {
                    "?"
                } else if id.ends_with(['?', '&']) {
                    ""
                } else {
                    "&"
                };
                let id = format!("{id}{joint}{}", text.trim_start_matches(['?', '&']));
                self.set(Key::Id, &id)
            }
            QuestionSubject::Body => self.set(Key::Token, text),
            QuestionSubject::Domains(family) if text.eq_ignore_ascii_case(NONE) => {
                if family == Family::V6 && self.domains(Family::V4).is_none() {
                    return Err("At least one domain is needed.".to_owned());
                }
                Ok(Vec::new())
            }
            QuestionSubject::Domains(family) => self.set(domains_key(family), text),
            QuestionSubject::Source(family) => {
                let is_kept = self.text(index_key(family)) == Some(text);
                let mut warnings = self.set(index_key(family), text)?;
                if is_kept {
                    warnings.push("It is kept, although it gave no address.".to_owned());
                }
                Ok(warnings)
            }
        }
    }

    /// Sets a field where its value is right; gives the warnings about it.
    fn set(&mut self, key: Key, text: &str) -> Result<Vec<String>, String> {
        let mut settings = self.settings.clone();
        let before = diagnostics(checked(&settings));
        settings.set(key, Node::synthetic(Value::string(text)), Origin::Option(option_of(key)));
        let now: Vec<Diagnostic> =
            diagnostics(checked(&settings)).into_iter().filter(|it| !before.contains(it)).collect();
        let sentence = |diagnostic: &Diagnostic| {
            let hint = diagnostic.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}{hint}", diagnostic.message)
        };
        let wrong: Vec<String> = now.iter().filter(|it| it.severity == Severity::Error).map(sentence).collect();
        if !wrong.is_empty() {
            return Err(wrong.join("\n"));
        }
        self.settings = settings;
        Ok(now.iter().map(sentence).collect())
    }
}

fn diagnostics(checked: Result<super::validate::Valid, Vec<Diagnostic>>) -> Vec<Diagnostic> {
    checked.map_or_else(|wrong| wrong, |(_, warnings)| warnings)
}

fn option_of(key: Key) -> String {
    format!("--{}", Field::of(key).option.unwrap_or_default())
}

fn domains_key(family: Family) -> Key {
    [Key::Ipv4, Key::Ipv6][family.index()]
}

fn index_key(family: Family) -> Key {
    [Key::Index4, Key::Index6][family.index()]
}

#[cfg(test)]
mod tests;
