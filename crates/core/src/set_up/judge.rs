//! What an answer means: judged at once, by the rules of a file.

use std::net::IpAddr;

use super::{NONE, SetUp, SetUpSubject};
use crate::config::raw::Raw;
use crate::config::starter::checked;
use crate::config::value::{self, is_off};
use crate::net::family::Family;
use crate::net::url::Url;
use crate::recipe::Form;
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::text::json::Value;
use crate::update::domain::Domain;

/// How many domains an answer may name; more can be added to the file.
const MAX_DOMAINS: usize = 100;

impl SetUp {
    /// Takes an answer if it is valid, and returns remarks about it.
    pub(super) fn take(&mut self, subject: &SetUpSubject, text: &str) -> Result<Vec<String>, String> {
        let text = match (text.trim(), self.about(subject).suggested) {
            ("", Some(suggested)) => suggested,
            // The default body depends on the URL, which is wrong.
            ("", None) if *subject == SetUpSubject::Body => return Ok(Vec::new()),
            ("", None) => return Err("Please enter a value.".to_owned()),
            (text, _) => text.to_owned(),
        };
        if text.chars().any(char::is_control) {
            return Err("The answer contains a control character (an arrow key, perhaps).".to_owned());
        }
        let (value, notes) = self.judged(subject, text)?;
        let name = self.name_of(subject);
        self.before.retain(|(known, _)| *known != name);
        self.taken.push((subject.clone(), value));
        Ok(notes)
    }

    /// The value of an answer, and remarks about it.
    fn judged(&self, subject: &SetUpSubject, text: String) -> Result<(String, Vec<String>), String> {
        let is_none = text.eq_ignore_ascii_case(NONE);
        let notes = match subject {
            SetUpSubject::Service => Vec::new(),
            SetUpSubject::Url => {
                let small = text.to_ascii_lowercase();
                if !small.starts_with("http://") && !small.starts_with("https://") {
                    let is_local = Url::parse(&format!("http://{text}")).is_ok_and(|url| url.is_local());
                    let scheme = if is_local { "http" } else { "https" };
                    let meant =
                        if text.contains('.') { format!(": did you mean {scheme}://{text} ?") } else { String::new() };
                    return Err(format!("The URL must start with http:// or https://{meant}"));
                }
                self.checked_with(subject, &text)?
            }
            SetUpSubject::Body | SetUpSubject::Query if is_none => return Ok((NONE.to_owned(), Vec::new())),
            SetUpSubject::Domains => return self.judged_domains(&text),
            SetUpSubject::Source(family) if is_none || is_off(&Value::string(text.as_str())) => {
                let other = Family::ALL[1 - family.index()];
                if !self.takes(other) || !self.is_wanted(other) && !self.is_spare(other) {
                    return Err("One of the addresses is needed: IPv4 or IPv6.".to_owned());
                }
                return Ok((NONE.to_owned(), Vec::new()));
            }
            SetUpSubject::Source(_) => match text.parse::<IpAddr>() {
                Ok(ip) => return Err(not_a_source(ip)),
                Err(_) => self.checked_with(subject, &text)?,
            },
            SetUpSubject::Body | SetUpSubject::Query => self.checked_with(subject, &text)?,
            SetUpSubject::Answer { is_notify, slot } => {
                let mut form = self.form(*is_notify).ok_or("There is no such question.")??;
                form.answer(slot, &text).map_err(|why| sentence(&why))?;
                Vec::new()
            }
        };
        Ok((text, notes))
    }

    fn judged_domains(&self, text: &str) -> Result<(String, Vec<String>), String> {
        let items = value::list(text).map_err(|wrong| sentence(&wrong.message))?;
        let texts: Option<Vec<&str>> = items.iter().map(|item| item.value.text()).collect();
        let texts = texts.ok_or("Type names, separated by commas.")?;
        let names: Vec<&str> = texts.into_iter().flat_map(str::split_whitespace).collect();
        if names.len() > MAX_DOMAINS {
            return Err(format!("Name {MAX_DOMAINS} domains at most, and add the others to the file."));
        }
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        for name in names {
            let domain = self.completed(name)?;
            if name.starts_with("@.") || !name.contains('.') && domain.as_str().contains('.') {
                notes.push(format!("{name} becomes {domain}."));
            }
            if !all.contains(&domain) {
                all.push(domain);
            }
        }
        if all.is_empty() {
            return Err("Name at least one domain.".to_owned());
        }
        if let Some(recipe) = self.recipe() {
            let is_meant = |family| recipe.takes(family) && !self.is_spare(family);
            let domains = Family::ALL.map(|family| if is_meant(family) { all.clone() } else { Vec::new() });
            Form::new(recipe, domains).and_then(|form| form.check_domains()).map_err(|why| sentence(&why))?;
        }
        let text = all.iter().map(Domain::as_str).collect::<Vec<_>>().join(", ");
        notes.extend(self.checked_with(&SetUpSubject::Domains, &text)?);
        // Both families may give the same remark.
        notes.dedup();
        Ok((text, notes))
    }

    /// A domain; a name without a dot gets the suffix of the service.
    pub(super) fn completed(&self, name: &str) -> Result<Domain, String> {
        // Many services write `@` for the zone itself.
        let name = name.strip_prefix("@.").unwrap_or(name);
        let domain = Domain::parse(name).map_err(|why| format!("{name} is not a domain name: {why}."))?;
        let Some(recipe) = self.recipe() else { return Ok(domain) };
        let is_of_dns = matches!(recipe.kind, "dyndns" | "api");
        if is_of_dns && name.contains(['/', ':', '@']) {
            return Err(format!(
                "{name} is not a domain name: type the name alone, such as home.example.com, or the zone itself, such as \
                 example.com."
            ));
        }
        match recipe.suffix() {
            _ if domain.as_str().contains('.') => Ok(domain),
            Some(suffix) => Domain::parse(&format!("{domain}.{suffix}")).map_err(|why| format!("{name}: {why}.")),
            None if is_of_dns => {
                Err(format!("{name} is not a whole name: type it with its dots, such as {domain}.example.com."))
            }
            None => Ok(domain),
        }
    }

    /// Checks one more answer by the rules of a file. Returns the new warnings; the error contains the new errors.
    fn checked_with(&self, subject: &SetUpSubject, text: &str) -> Result<Vec<String>, String> {
        let mut now = Self { given: self.given.clone(), taken: self.taken.clone(), ..Self::default() };
        let before = findings(&now.settings());
        now.taken.push((subject.clone(), text.to_owned()));
        let found = findings(&now.settings()).into_iter().filter(|finding| !before.contains(finding));
        let (wrong, warnings): (Vec<_>, Vec<_>) = found.partition(|finding| finding.severity == Severity::Error);
        let words = |all: Vec<Diagnostic>| {
            let mut words: Vec<String> = all.iter().map(in_question_terms).collect();
            // Both families may have the same error.
            words.dedup();
            words
        };
        match subject {
            _ if wrong.is_empty() => Ok(words(warnings)),
            // Leave out the hint: it lists all kinds of sources, too much for a mistyped word.
            SetUpSubject::Source(_) => {
                let field = format!("`{}`: ", self.name_of(subject));
                let clause = |it: &Diagnostic| {
                    let text = it.message.strip_prefix(&field).unwrap_or(&it.message);
                    // Do not capitalize what was typed.
                    let text = if text.starts_with('`') { text.to_owned() } else { sentence(text) };
                    ended(&text.replace('`', ""))
                };
                let why: Vec<String> = wrong.iter().map(clause).collect();
                Err(format!("{} ddns help sources lists all of them.", why.join(" ")))
            }
            _ => Err(words(wrong).join(" ")),
        }
    }
}

fn findings(settings: &Raw) -> Vec<Diagnostic> {
    checked(settings).map_or_else(|wrong| wrong, |(_, warnings)| warnings)
}

/// A finding in the words of the questions: the user has seen no names of fields.
fn in_question_terms(finding: &Diagnostic) -> String {
    let hint = finding.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let own = ["`ipv4`: ", "`ipv6`: "].into_iter().find_map(|field| finding.message.strip_prefix(field));
    let mut text = sentence(&format!("{}{hint}", own.unwrap_or(&finding.message)));
    let words = [("`id`", "the URL"), ("`token`", "the body"), ("`ipv4`", "the answer"), ("`ipv6`", "the answer")];
    for (field, word) in words.into_iter().chain([("`index4`", "the source"), ("`index6`", "the source")]) {
        text = text.replace(field, word);
    }
    let plain = text.replace('`', "");
    // What is quoted at the beginning is somebody's own word.
    if text.starts_with('`') { ended(&plain) } else { sentence(&plain) }
}

/// What to type in place of an address.
fn not_a_source(ip: IpAddr) -> String {
    format!(
        "{ip} is an address; ddns needs to know where to look it up. If this host has it, type default; if your router has \
         it, type public. If it never changes, cmd:echo {ip} runs a program that prints it (in ddns init or in the file, not \
         in a browser)."
    )
}

/// A clause as a sentence.
pub(super) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    // Do not capitalize a domain name.
    let is_word = |rest: &str| rest.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let Some(first) = letters.next() else { return String::new() };
    let first = if is_word(clause) { first.to_uppercase().collect() } else { first.to_string() };
    ended(&format!("{first}{}", letters.as_str()))
}

fn ended(clause: &str) -> String {
    format!("{clause}{}", if clause.ends_with(['.', '?', '!']) { "" } else { "." })
}
