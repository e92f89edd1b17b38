//! The questions behind a new configuration: what is asked, in which order, what is suggested, and what an answer means. Every
//! answer is judged at once, by the rules of a file, and going back loses none. A terminal asks one question after the other, and
//! the page shows all of them in a form; both show what is decided here. The program looks up the addresses.

mod ask;
mod disclose;
mod judge;
mod service;

use std::net::IpAddr;

use crate::config::fields::Key;
use crate::config::raw::{Origin, Raw};
use crate::config::starter::{self, checked, lacks_address, lacks_domains};
use crate::config::value::is_off;
use crate::net::family::Family;
use crate::net::reach::is_private;
use crate::recipe::{AnswerSlot, Filled, Form, Question, Recipe};
use crate::text::json::{Node, Value};
use crate::update::domain::Domain;

pub use service::ServiceChoice;

/// The answer that leaves something out.
pub const NONE: &str = "none";
/// The service without a recipe: the user's own URL.
pub const OWN: &str = "own";

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SetUpSubject {
    Service,
    Url,
    Body,
    /// Parameters that are added to the URL.
    Query,
    Domains,
    Source(Family),
    /// A question of the recipe, or of the recipe for notifications.
    Answer {
        is_notify: bool,
        slot: AnswerSlot,
    },
}

/// One question, ready to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUpQuestion {
    /// The name of its field in a form.
    pub name: String,
    /// The question in a few words.
    pub label: String,
    /// Help for the answer: sentences, or a clause if it comes from a recipe. Empty if the label says enough.
    pub help: String,
    /// What an empty answer means; `None`: there is no suggestion.
    pub suggested: Option<String>,
    /// Whether the answer is a secret.
    pub is_secret: bool,
    /// Whether the answer is the path of a file on this host.
    pub is_file: bool,
    /// The family whose source is asked for; `None`: the question is about something else.
    pub family: Option<Family>,
}

/// What is known about this host's addresses, by [`Family::index`].
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The address that this host uses toward the internet.
    pub own: [Option<IpAddr>; 2],
    /// The address that services on the internet see; `None`: they were not asked.
    pub public: [Option<Result<IpAddr, String>>; 2],
    /// The public IPv4 address of the router; `None`: it was not asked, or has none.
    pub router: Option<IpAddr>,
}

impl Survey {
    /// Whether services on the internet must be asked: the host has no address of its own that others can reach.
    pub fn needs_public(&self, family: Family) -> bool {
        self.own[family.index()].is_none_or(is_private)
    }
}

#[derive(Debug)]
enum ChosenService {
    Own,
    Recipe(Box<Recipe>),
}

/// A conversation about a new configuration.
#[derive(Debug, Default)]
pub struct SetUp {
    /// The settings from options; there are no questions about them.
    given: Raw,
    /// Answers that were given by name: `--set`.
    set: Vec<(String, String)>,
    service: Option<ChosenService>,
    /// Whether the service was named from the start.
    is_fixed: bool,
    /// Whether only the necessary questions are asked.
    asks_little: bool,
    notify: Option<Recipe>,
    /// The services that a number can choose from.
    listed: Vec<String>,
    /// The answers, in the order in which they were given.
    taken: Vec<(SetUpSubject, String)>,
    /// Answers from before the user went back, by the name of the question.
    before: Vec<(String, String)>,
    /// What is known about this host's addresses.
    pub survey: Survey,
}

impl SetUp {
    /// Begins with the settings from options.
    pub fn new(given: Raw, survey: Survey) -> Self {
        Self { given, survey, ..Self::default() }
    }

    /// Uses the user's own URL as the service.
    #[must_use]
    pub fn with_own(mut self) -> Self {
        (self.service, self.is_fixed) = (Some(ChosenService::Own), true);
        self
    }

    /// Uses the service of a recipe. Fails if the service does not take the domains from the options.
    pub fn with_recipe(mut self, recipe: Recipe) -> Result<Self, String> {
        (self.service, self.is_fixed) = (Some(ChosenService::Recipe(Box::new(recipe))), true);
        if !lacks_domains(&self.given) {
            self.form(false).ok_or("the options are not valid")??.check_domains()?;
        }
        Ok(self)
    }

    /// Also asks what a recipe for notifications needs.
    #[must_use]
    pub fn with_notify(mut self, recipe: Option<Recipe>) -> Self {
        self.notify = recipe;
        self
    }

    /// Takes an answer by its name; names for notifications begin with `notify.`. The error is what is wrong, and an example of a
    /// name that can be set.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), (String, String)> {
        let (is_notify, own) = of_notify(name);
        let recipe = self.recipe_of(is_notify);
        let recipe = recipe.ok_or_else(|| (format!("no recipe asks for `{name}`"), "NAME".to_owned()))?;
        let tried = match self.form(is_notify) {
            Some(Ok(mut form)) if is_notify || form.has_domains() => form.set(own, value),
            Some(Err(why)) => Err(why),
            // The domains are not known yet: check the name and the value with an example.
            _ => {
                let home = Domain::parse(&format!("home.{}", recipe.suffix().unwrap_or("example.com"))).into_iter();
                let some = Family::ALL.map(|family| home.clone().filter(|_| recipe.takes(family)).collect());
                Form::new(recipe, some).and_then(|mut form| form.set(first(own), value))
            }
        };
        tried.map_err(|why| {
            let known = recipe.questions.iter().find(|it| it.name == first(own)).or(recipe.questions.first());
            let prefix = &name[..name.len() - own.len()];
            (why, known.map_or(String::new(), |known| format!("{prefix}{}", known.name)))
        })?;
        self.set.push((name.to_owned(), value.to_owned()));
        Ok(())
    }

    /// Whether the answer with this name is the path of a file.
    pub fn is_file(&self, name: &str) -> bool {
        let (is_notify, own) = of_notify(name);
        let is_it = |question: &Question| question.is_file && question.name == first(own);
        self.recipe_of(is_notify).is_some_and(|recipe| recipe.questions.iter().any(is_it))
    }

    /// The recipe of the service; `None` if there is none, or it was not chosen yet.
    pub fn recipe(&self) -> Option<&Recipe> {
        match &self.service {
            Some(ChosenService::Recipe(recipe)) => Some(recipe),
            _ => None,
        }
    }

    /// The recipe of the service, or the one for notifications.
    fn recipe_of(&self, is_notify: bool) -> Option<&Recipe> {
        if is_notify { self.notify.as_ref() } else { self.recipe() }
    }

    /// The next question; `None`: everything is known, or the service must be chosen first.
    pub fn question(&self) -> Option<SetUpQuestion> {
        self.next(&[]).filter(|_| !self.needs_service()).map(|subject| self.about(&subject))
    }

    /// Every question that is known by now, except the service; an answer that was given is its suggestion.
    pub fn questions(&self) -> Vec<SetUpQuestion> {
        self.subjects()
            .iter()
            .filter(|subject| **subject != SetUpSubject::Service)
            .map(|subject| self.about(subject))
            .collect()
    }

    /// Takes the answer to the next question; an empty answer means the suggestion. Returns remarks about the answer, or why the
    /// question must be asked again.
    pub fn answer(&mut self, text: &str) -> Result<Vec<String>, String> {
        let Some(subject) = self.next(&[]) else { return Ok(Vec::new()) };
        self.take(&subject, text)
    }

    /// Takes all answers of a form. Returns the questions whose answers are wrong or missing, each with the reason; `None`: the
    /// question was not in the form.
    pub fn fill(&mut self, typed: impl Fn(&str) -> Option<String>) -> Vec<(String, Option<String>)> {
        let (mut wrong, mut seen) = (Vec::new(), Vec::new());
        while let Some(subject) = self.next(&seen) {
            let name = self.name_of(&subject);
            match typed(&name).map(|text| self.take(&subject, &text)) {
                None => wrong.push((name, None)),
                Some(Err(why)) => wrong.push((name, Some(why))),
                Some(Ok(_)) => {}
            }
            seen.push(subject);
        }
        wrong
    }

    /// Asks the last question again, and suggests its former answer. Returns whether there was a question to go back to.
    pub fn back(&mut self) -> bool {
        let Some((subject, text)) = self.taken.pop() else { return false };
        self.suggest(self.name_of(&subject), text);
        if subject == SetUpSubject::Service {
            self.service = None;
        }
        true
    }

    /// Suggests an answer to the question with this name, in place of an earlier one.
    fn suggest(&mut self, name: String, text: String) {
        self.before.retain(|(known, _)| *known != name);
        self.before.push((name, text));
    }

    /// Accepts the suggestions, and returns the questions that are left. Without `all`, accepts only the defaults of the recipe.
    pub fn take_suggestions(&mut self, all: bool) -> Vec<SetUpQuestion> {
        let (mut left, mut seen) = (Vec::new(), Vec::new());
        while let Some(subject) = self.next(&seen) {
            let question = self.about(&subject);
            let usual = self.question_of(&subject).and_then(|question| question.default.clone());
            let suggested = if all { Some(question.suggested.clone().unwrap_or_default()) } else { usual };
            if suggested.is_none_or(|text| self.take(&subject, &text).is_err()) {
                left.push(question);
            }
            seen.push(subject);
        }
        left
    }

    /// Whether the options already say which domains are updated, and where: sources and bodies are not asked for then.
    pub fn is_begun(&self) -> bool {
        self.service.is_some()
            && !lacks_domains(&self.given)
            && (self.recipe().is_some() || !lacks_address(&self.given))
    }

    /// Asks only the necessary questions: sources and bodies keep their defaults.
    pub fn ask_little(&mut self) {
        self.asks_little = true;
    }

    /// The answers so far as settings, except those that a recipe fills in.
    pub fn settings(&self) -> Raw {
        let mut settings = self.given.clone();
        for (subject, text) in &self.taken {
            match subject {
                SetUpSubject::Url => put(&mut settings, Key::Id, text),
                SetUpSubject::Query if text != NONE => {
                    let id =
                        self.taken(&SetUpSubject::Url).map_or_else(|| text_of(&self.given, Key::Id), str::to_owned);
                    let joint = match id.rfind('?') {
                        None => "?",
                        Some(_) if id.ends_with(['?', '&']) => "",
                        Some(_) => "&",
                    };
                    put(&mut settings, Key::Id, &format!("{id}{joint}{}", text.trim_start_matches(['?', '&'])));
                }
                SetUpSubject::Body if text != NONE => put(&mut settings, Key::Token, text),
                SetUpSubject::Domains => {
                    for family in Family::ALL.into_iter().filter(|family| self.is_wanted(*family)) {
                        put(&mut settings, [Key::Ipv4, Key::Ipv6][family.index()], text);
                    }
                }
                SetUpSubject::Source(family) if self.is_wanted(*family) => put(&mut settings, index_key(*family), text),
                _ => {}
            }
        }
        settings
    }

    /// The configuration from the answers; with a `folder`, the secrets of a recipe go to files in it. Fails if an answer is missing.
    pub fn configuration(&self, folder: Option<&str>) -> Result<Filled, String> {
        let mut settings = self.settings();
        let (notify, secrets) = self.answered_form(true)?.map(|form| form.notification(folder)).unzip();
        if let Some(value) = notify {
            settings.set(Key::Notify, Node::synthetic(value), Origin::Option("--notify-recipe".to_owned()));
        }
        let mut filled = match self.answered_form(false)? {
            Some(form) => {
                let mut rest = starter::settings_of(&settings);
                rest.retain(|(name, _)| !matches!(name.as_str(), "ipv4" | "ipv6" | "dns"));
                if self.recipe().is_some_and(Recipe::can_be_verified) {
                    rest.push(("verify".to_owned(), Value::Bool(true)));
                }
                form.configuration(&rest, folder)
            }
            None => Filled { text: starter::text(&settings), secrets: Vec::new() },
        };
        filled.secrets.extend(secrets.unwrap_or_default());
        Ok(filled)
    }

    /// The questions in their order, as far as they are known by now.
    fn subjects(&self) -> Vec<SetUpSubject> {
        let mut all = Vec::new();
        if !self.is_fixed {
            all.push(SetUpSubject::Service);
        }
        match &self.service {
            None => return all,
            Some(ChosenService::Own) => {
                all.extend(lacks_address(&self.given).then_some(SetUpSubject::Url));
                if self.given.get(Key::Token).is_none() && !self.asks_little {
                    all.push(SetUpSubject::Body);
                    let lacks_ip = self.taken(&SetUpSubject::Body) == Some(NONE) && !self.has_ip();
                    all.extend(lacks_ip.then_some(SetUpSubject::Query));
                }
            }
            Some(ChosenService::Recipe(_)) => {}
        }
        let is_asked = lacks_domains(&self.given);
        all.extend(is_asked.then_some(SetUpSubject::Domains));
        let has_source = |family: &Family| self.given.get(index_key(*family)).is_some();
        let is_used =
            |family: &Family| is_asked && !self.is_spare(*family) || !self.domains()[family.index()].is_empty();
        let matters = |family: &Family| self.takes(*family) && is_used(family);
        if !self.asks_little {
            all.extend(Family::ALL.into_iter().filter(|it| matters(it) && !has_source(it)).map(SetUpSubject::Source));
        }
        for is_notify in [false, true] {
            if let Some(Ok(form)) = self.form(is_notify) {
                all.extend(form.unanswered().into_iter().map(|slot| SetUpSubject::Answer { is_notify, slot }));
            }
        }
        all
    }

    /// The first question without an answer that is not in `seen`.
    fn next(&self, seen: &[SetUpSubject]) -> Option<SetUpSubject> {
        self.subjects().into_iter().find(|subject| self.taken(subject).is_none() && !seen.contains(subject))
    }

    fn taken(&self, subject: &SetUpSubject) -> Option<&str> {
        self.taken.iter().find(|(known, _)| known == subject).map(|(_, text)| text.as_str())
    }

    fn takes(&self, family: Family) -> bool {
        self.recipe().is_none_or(|recipe| recipe.takes(family))
    }

    /// Whether a family is left out because the service takes one address for a name, and gets the IPv4 address.
    fn is_spare(&self, family: Family) -> bool {
        let has_one = self.recipe().is_some_and(|recipe| recipe.has_one_address);
        family == Family::V6 && has_one && self.is_wanted(Family::V4)
    }

    /// Whether the addresses of a family are updated.
    fn is_wanted(&self, family: Family) -> bool {
        let given = self.given.get(index_key(family)).is_some_and(|setting| is_off(&setting.node.value));
        let is_none = given || self.taken(&SetUpSubject::Source(family)) == Some(NONE);
        self.takes(family) && !is_none && !self.is_spare(family)
    }

    /// Whether the URL is known by now.
    fn has_url(&self) -> bool {
        self.taken(&SetUpSubject::Url).is_some() || !lacks_address(&self.given)
    }

    /// Whether the URL contains a placeholder for the address.
    fn has_ip(&self) -> bool {
        self.taken(&SetUpSubject::Url).map_or_else(|| text_of(&self.given, Key::Id), str::to_owned).contains("__IP")
    }

    /// The domains of each family, as far as they are known.
    fn domains(&self) -> [Vec<Domain>; 2] {
        if let Some(text) = self.taken(&SetUpSubject::Domains) {
            let all: Vec<Domain> = text.split(", ").filter_map(|name| Domain::parse(name).ok()).collect();
            return Family::ALL.map(|family| if self.is_wanted(family) { all.clone() } else { Vec::new() });
        }
        if lacks_domains(&self.given) {
            return Default::default();
        }
        let Ok((config, _)) = checked(&self.given) else { return Default::default() };
        let whole = |domain: &Domain| self.completed(domain.as_str()).unwrap_or_else(|_| domain.clone());
        Family::ALL.map(|family| config.entries.iter().flat_map(|entry| entry.domains_of(family)).map(whole).collect())
    }

    /// The form of a recipe with its domains and the answers of `--set`; `None`: there is no recipe.
    fn form(&self, is_notify: bool) -> Option<Result<Form<'_>, String>> {
        let domains = if is_notify { Default::default() } else { self.domains() };
        let form = Form::new(self.recipe_of(is_notify)?, domains);
        Some(form.and_then(|mut form| {
            // An answer may not fit yet while the domains are not known.
            let is_known = is_notify || form.has_domains();
            for (name, value) in &self.set {
                let (is_other, own) = of_notify(name);
                if is_other == is_notify
                    && let Err(why) = form.set(own, value)
                    && is_known
                {
                    return Err(why);
                }
            }
            form.take_certain_zone();
            Ok(form)
        }))
    }

    /// The form with every answer. Fails if one is missing.
    fn answered_form(&self, is_notify: bool) -> Result<Option<Form<'_>>, String> {
        let Some(mut form) = self.form(is_notify).transpose()? else { return Ok(None) };
        for slot in form.unanswered() {
            let subject = SetUpSubject::Answer { is_notify, slot: slot.clone() };
            let text = self.taken(&subject).ok_or_else(|| format!("an answer is missing: {}", form.label(&slot)))?;
            form.answer(&slot, text)?;
        }
        Ok(Some(form))
    }

    /// The name of a question's field in a form. That of a recipe's question says the recipe: no service gets the secret of
    /// another.
    fn name_of(&self, subject: &SetUpSubject) -> String {
        match subject {
            SetUpSubject::Service => "name".to_owned(),
            SetUpSubject::Url => "id".to_owned(),
            SetUpSubject::Body => "body".to_owned(),
            SetUpSubject::Query => "query".to_owned(),
            SetUpSubject::Domains => "domains".to_owned(),
            SetUpSubject::Source(family) => ["index4", "index6"][family.index()].to_owned(),
            SetUpSubject::Answer { is_notify: true, slot } => format!("notify.{slot}"),
            SetUpSubject::Answer { slot, .. } => {
                format!("{}.{slot}", self.recipe().map_or("answer", |recipe| &recipe.name))
            }
        }
    }

    fn question_of(&self, subject: &SetUpSubject) -> Option<&Question> {
        let SetUpSubject::Answer { is_notify, slot } = subject else { return None };
        self.recipe_of(*is_notify)?.questions.iter().find(|question| question.name == slot.name())
    }
}

/// Whether the name of an answer is about notifications, and the name without this prefix.
fn of_notify(name: &str) -> (bool, &str) {
    name.strip_prefix("notify.").map_or((false, name), |own| (true, own))
}

/// The name of the question: what comes before a domain or record in the name of an answer.
fn first(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

fn index_key(family: Family) -> Key {
    [Key::Index4, Key::Index6][family.index()]
}

fn text_of(settings: &Raw, key: Key) -> String {
    settings.get(key).and_then(|setting| setting.node.value.text()).unwrap_or_default().to_owned()
}

fn put(settings: &mut Raw, key: Key, text: &str) {
    settings.set(key, Node::synthetic(Value::string(text)), Origin::Option(String::new()));
}

#[cfg(test)]
mod tests;
