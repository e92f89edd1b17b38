//! The questions behind a new configuration: what is asked, in which order, what is suggested, and what an answer means. Every
//! answer is judged at once, by the rules of a file; none is lost by going back. A terminal asks one question after the other, the
//! page shows all of them in a form: both draw what is decided here. Looking up addresses is the program's.

use std::net::IpAddr;

use crate::address::local::is_private;
use crate::config::fields::Key;
use crate::config::raw::{Origin, Raw};
use crate::config::starter::{self, checked, lacks_address, lacks_domains};
use crate::config::value::{self, is_off};
use crate::net::family::Family;
use crate::recipe::{AnswerSlot, Filled, Form, Question, Recipe, is_exactly, search};
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::text::json::{Node, Value};
use crate::update::domain::Domain;

/// The body that is suggested where the URL does not hold the address.
const BODY: &str = r#"{"domain": "__DOMAIN__", "type": "__RECORDTYPE__", "ip": "__IP__"}"#;
/// What is suggested to be added to such a URL where there is no body.
const QUERY: &str = "name=__DOMAIN__&type=__RECORDTYPE__&ip=__IP__";
/// An answer that leaves something out.
pub const NONE: &str = "none";
/// The service that is no recipe: a URL of the user's own.
pub const OWN: &str = "own";
/// So many domains are named in a form; more go into the file.
const MAX_DOMAINS: usize = 100;

/// What a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Service,
    Url,
    Body,
    /// What is added to the URL.
    Query,
    Domains,
    Source(Family),
    Answer(AnswerSlot),
    /// The same of a recipe for notifications.
    Notify(AnswerSlot),
}

/// One question, ready to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetUpQuestion {
    /// What a form calls its field.
    pub name: String,
    /// A few words.
    pub label: String,
    /// What to know for an answer; sentences. Empty where that is plain.
    pub help: String,
    /// What an empty answer means; `None` if there is nothing to suggest.
    pub suggested: Option<String>,
    /// Whether the answer must not be seen.
    pub is_secret: bool,
    /// Whether the answer is the path of a file of this host.
    pub is_file: bool,
    /// The family whose source is asked for.
    pub family: Option<Family>,
}

/// What became of a search for a service.
#[derive(Debug, PartialEq, Eq)]
pub enum ServiceChoice {
    /// It is this one: its title.
    Taken(String),
    /// One of [`SetUp::listed`] is meant, by its number.
    Several,
    /// Why there is none.
    Nothing(String),
}

/// What is known of this host's addresses, by [`Family::index`].
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// The one that it uses toward the internet.
    pub own: [Option<IpAddr>; 2],
    /// What services on the internet see; `None` if they were not asked, or do not matter.
    pub public: [Option<Result<IpAddr, String>>; 2],
}

impl Survey {
    /// Whether services on the internet must be asked: the host has no address of its own that others can reach.
    pub fn needs_public(&self, family: Family) -> bool {
        self.own[family.index()].is_none_or(is_private)
    }
}

#[derive(Debug)]
enum Service {
    Own,
    Recipe(Box<Recipe>),
}

/// A conversation about a new configuration.
#[derive(Debug, Default)]
pub struct SetUp {
    /// What options say. It is not asked.
    given: Raw,
    /// Answers that are given by their names: `--set`.
    set: Vec<(String, String)>,
    service: Option<Service>,
    /// Whether the service was named from the start.
    is_fixed: bool,
    /// Whether only what is needed is asked.
    asks_little: bool,
    notify: Option<Recipe>,
    /// The services that a number can choose from.
    listed: Vec<String>,
    /// In the order in which they were given.
    taken: Vec<(Subject, String)>,
    /// What was typed before somebody went back, by the names of the questions.
    before: Vec<(String, String)>,
    /// What is known of this host.
    pub survey: Survey,
}

impl SetUp {
    /// Begins with what options say.
    pub fn new(given: Raw, survey: Survey) -> Self {
        Self { given, survey, ..Self::default() }
    }

    /// The same for a URL of the user's own.
    #[must_use]
    pub fn with_own(mut self) -> Self {
        (self.service, self.is_fixed) = (Some(Service::Own), true);
        self
    }

    /// The same for a service. Fails where it does not take what options say.
    pub fn with_recipe(mut self, recipe: Recipe) -> Result<Self, String> {
        (self.service, self.is_fixed) = (Some(Service::Recipe(Box::new(recipe))), true);
        if !lacks_domains(&self.given) {
            let form = self.form().ok_or("the options are not valid")??;
            form.check_domains()?;
        }
        Ok(self)
    }

    /// Also asks what a recipe for notifications needs.
    #[must_use]
    pub fn with_notify(mut self, recipe: Option<Recipe>) -> Self {
        self.notify = recipe;
        self
    }

    /// Takes answers by their names; those for notifications begin with `notify.`. Fails with what is wrong with one, and with a
    /// name that can be set.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), (String, String)> {
        let (prefix, own) = name.strip_prefix("notify.").map_or(("", name), |own| ("notify.", own));
        let recipe = if prefix.is_empty() { self.recipe() } else { self.notify.as_ref() };
        let first = own.split('.').next().unwrap_or_default();
        let known =
            recipe.and_then(|recipe| recipe.questions.iter().find(|it| it.name == first).or(recipe.questions.first()));
        let example = known.map_or(String::new(), |known| format!("{prefix}{}", known.name));
        let tried = match (prefix, self.domains()) {
            // Which domains there are is not known yet: the name and the value are looked at.
            ("", domains) if domains.iter().all(Vec::is_empty) => recipe.map(|recipe| {
                let home = Domain::parse(&format!("home.{}", recipe.suffix().unwrap_or("example.com"))).into_iter();
                let some = Family::ALL.map(|family| home.clone().filter(|_| recipe.takes(family)).collect());
                Form::new(recipe, some).and_then(|mut form| form.set(first, value))
            }),
            ("", _) => self.form().map(|form| form.and_then(|mut form| form.set(own, value))),
            _ => recipe.map(|recipe| Form::new(recipe, Default::default()).and_then(|mut form| form.set(own, value))),
        };
        match tried {
            Some(Err(why)) => return Err((why, example)),
            None => return Err((format!("there is no recipe that asks for `{name}`"), "NAME".to_owned())),
            Some(Ok(())) => self.set.push((name.to_owned(), value.to_owned())),
        }
        Ok(())
    }

    /// Whether an answer by this name is the path of a file.
    pub fn is_file(&self, name: &str) -> bool {
        let (recipe, own) = match name.strip_prefix("notify.") {
            Some(own) => (self.notify.as_ref(), own),
            None => (self.recipe(), name),
        };
        let first = own.split('.').next().unwrap_or_default();
        recipe.is_some_and(|recipe| recipe.questions.iter().any(|question| question.is_file && question.name == first))
    }

    /// The recipe of the service; `None` if there is none, or it was not chosen yet.
    pub fn recipe(&self) -> Option<&Recipe> {
        match &self.service {
            Some(Service::Recipe(recipe)) => Some(recipe),
            _ => None,
        }
    }

    /// Whether the service must be chosen next: see [`SetUp::choose`].
    pub fn needs_service(&self) -> bool {
        self.service.is_none()
    }

    /// The services that a number chooses from: a URL of the user's own is 0.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }

    /// Takes a service by a number of the last list, or by what people call it. `all` are the recipes that can be chosen.
    pub fn choose(&mut self, text: &str) -> ServiceChoice {
        let text = text.trim();
        let number = if text.is_empty() { (!self.listed.is_empty()).then_some(1) } else { text.parse().ok() };
        let is_url = text.starts_with("http://") || text.starts_with("https://");
        if number == Some(0) || text.eq_ignore_ascii_case(OWN) || is_url {
            self.taken.push((Subject::Service, OWN.to_owned()));
            self.service = Some(Service::Own);
            if is_url {
                self.before.push(("id".to_owned(), text.to_owned()));
            }
            return ServiceChoice::Taken("A URL of your own".to_owned());
        }
        let listed = number.and_then(|number: usize| self.listed.get(number.checked_sub(1)?));
        let found = match (listed, number, text) {
            (Some(name), ..) => crate::recipe::named(name).into_iter().collect(),
            (None, None, "") => return ServiceChoice::Nothing("Please type a few letters of its name.".to_owned()),
            (None, Some(_), _) if !self.listed.is_empty() => {
                return ServiceChoice::Nothing("There is no such number in the list.".to_owned());
            }
            _ => search(if text == "?" { "" } else { text }).into_iter().filter(Recipe::has_entry).collect::<Vec<_>>(),
        };
        let is_meant = |recipe: &&Recipe| listed.is_some() || is_exactly(text, recipe) && text != "?";
        if let Some(recipe) = found.iter().find(is_meant) {
            let title = recipe.title.clone();
            self.taken.push((Subject::Service, recipe.name.clone()));
            self.service = Some(Service::Recipe(Box::new(recipe.clone())));
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

    /// The next question; `None` if everything is known, or the service must be chosen.
    pub fn question(&self) -> Option<SetUpQuestion> {
        self.next().filter(|_| !self.needs_service()).map(|subject| self.about(&subject))
    }

    /// Every question, with what was answered.
    pub fn questions(&self) -> Vec<SetUpQuestion> {
        self.subjects()
            .iter()
            .filter(|subject| **subject != Subject::Service)
            .map(|subject| self.about(subject))
            .collect()
    }

    /// Takes the answer to the next question; an empty one is what was suggested. Gives what there is to say about it, or why it
    /// must be asked again.
    pub fn answer(&mut self, text: &str) -> Result<Vec<String>, String> {
        let Some(subject) = self.next() else { return Ok(Vec::new()) };
        self.take(&subject, text)
    }

    /// Takes all answers of a form. Gives the questions whose answers are wrong or missing, each with the reason; there is none
    /// where a question was not in the form.
    pub fn fill(&mut self, typed: impl Fn(&str) -> Option<String>) -> Vec<(String, Option<String>)> {
        let (mut wrong, mut seen) = (Vec::new(), Vec::new());
        loop {
            let next = self.subjects().into_iter().find(|subject| !self.has(subject) && !seen.contains(subject));
            let Some(subject) = next else { return wrong };
            let name = name_of(&subject);
            match typed(&name).map(|text| self.take(&subject, &text)) {
                None => wrong.push((name, None)),
                Some(Err(why)) => wrong.push((name, Some(why))),
                Some(Ok(_)) => {}
            }
            seen.push(subject);
        }
    }

    /// Asks the last question again, and suggests what was answered. Whether there is one.
    pub fn back(&mut self) -> bool {
        let Some((subject, text)) = self.taken.pop() else { return false };
        if subject == Subject::Service {
            self.service = None;
        }
        let name = name_of(&subject);
        self.before.retain(|(known, _)| *known != name);
        self.before.push((name, text));
        true
    }

    /// Takes what is suggested; gives the questions that are left. Without `all`, only what a service takes for granted.
    pub fn take_suggestions(&mut self, all: bool) -> Vec<SetUpQuestion> {
        let (mut left, mut seen) = (Vec::new(), Vec::new());
        loop {
            let next = self.subjects().into_iter().find(|subject| !self.has(subject) && !seen.contains(subject));
            let Some(subject) = next else { return left };
            let question = self.about(&subject);
            let usual = self.question_of(&subject).and_then(|question| question.default.clone());
            let suggested = if all { question.suggested.clone() } else { usual };
            if suggested.is_none_or(|text| self.take(&subject, &text).is_err()) {
                left.push(question);
            }
            seen.push(subject);
        }
    }

    /// Whether options say where to send what: sources and bodies are not asked for then.
    pub fn is_begun(&self) -> bool {
        self.service.is_some()
            && !lacks_domains(&self.given)
            && (self.recipe().is_some() || !lacks_address(&self.given))
    }

    /// Asks only for what is needed: sources and bodies stay as they are without a word.
    pub fn ask_little(&mut self) {
        self.asks_little = true;
    }

    /// What was answered so far, as settings: all but what a recipe fills.
    pub fn settings(&self) -> Raw {
        let mut settings = self.given.clone();
        for (subject, text) in &self.taken {
            match subject {
                Subject::Url => put(&mut settings, Key::Id, text),
                Subject::Query if text != NONE => {
                    let id = self.taken(&Subject::Url).map_or_else(|| text_of(&self.given, Key::Id), str::to_owned);
                    let joint = match id.rfind('?') {
                        None => "?",
                        Some(_) if id.ends_with(['?', '&']) => "",
                        Some(_) => "&",
                    };
                    put(&mut settings, Key::Id, &format!("{id}{joint}{}", text.trim_start_matches(['?', '&'])));
                }
                Subject::Body if text != NONE => put(&mut settings, Key::Token, text),
                Subject::Domains => {
                    for family in Family::ALL.into_iter().filter(|family| self.is_wanted(*family)) {
                        put(&mut settings, [Key::Ipv4, Key::Ipv6][family.index()], text);
                    }
                }
                Subject::Source(family) if self.is_wanted(*family) => put(&mut settings, index_key(*family), text),
                _ => {}
            }
        }
        settings
    }

    /// The configuration that the answers make; secrets of a recipe go to files in `folder`, where there is one. Fails where an
    /// answer is missing.
    pub fn configuration(&self, folder: Option<&str>) -> Result<Filled, String> {
        let mut settings = self.settings();
        let notify = self.notify_form().transpose()?;
        let (notify, secrets) = notify.map(|form| form.notification(folder)).unzip();
        if let Some(value) = notify {
            settings.set(Key::Notify, Node::synthetic(value), Origin::Option("--notify-recipe".to_owned()));
        }
        let mut filled = match self.answered_form().transpose()? {
            Some(form) => {
                let mut rest = starter::settings_of(&settings);
                rest.retain(|(name, _)| !matches!(name.as_str(), "ipv4" | "ipv6" | "dns"));
                form.configuration(&rest, folder)
            }
            None => Filled { text: starter::text(&settings), secrets: Vec::new() },
        };
        filled.secrets.extend(secrets.unwrap_or_default());
        Ok(filled)
    }

    /// What is asked, in this order, as far as it is known by now.
    fn subjects(&self) -> Vec<Subject> {
        let mut all = Vec::new();
        if !self.is_fixed {
            all.push(Subject::Service);
        }
        match &self.service {
            None => return all,
            Some(Service::Own) => {
                all.extend(lacks_address(&self.given).then_some(Subject::Url));
                if self.given.get(Key::Token).is_none() && !self.asks_little {
                    all.push(Subject::Body);
                    let lacks_ip = self.taken(&Subject::Body) == Some(NONE) && !self.has_ip();
                    all.extend(lacks_ip.then_some(Subject::Query));
                }
            }
            Some(Service::Recipe(_)) => {}
        }
        let is_asked = lacks_domains(&self.given);
        all.extend(is_asked.then_some(Subject::Domains));
        let has_source = |family: &Family| self.given.get(index_key(*family)).is_some();
        let matters = |family: &Family| self.takes(*family) && (is_asked || !self.domains()[family.index()].is_empty());
        if !self.asks_little {
            all.extend(Family::ALL.into_iter().filter(|it| matters(it) && !has_source(it)).map(Subject::Source));
        }
        if let Some(Ok(form)) = self.form() {
            all.extend(form.unanswered().into_iter().map(Subject::Answer));
        }
        if let Some(Ok(form)) = self.bare_notify_form() {
            all.extend(form.unanswered().into_iter().map(Subject::Notify));
        }
        all
    }

    fn next(&self) -> Option<Subject> {
        self.subjects().into_iter().find(|subject| !self.has(subject))
    }

    fn has(&self, subject: &Subject) -> bool {
        self.taken(subject).is_some()
    }

    fn taken(&self, subject: &Subject) -> Option<&str> {
        self.taken.iter().find(|(known, _)| known == subject).map(|(_, text)| text.as_str())
    }

    fn takes(&self, family: Family) -> bool {
        self.recipe().is_none_or(|recipe| recipe.takes(family))
    }

    /// Whether a family is not left out.
    fn is_wanted(&self, family: Family) -> bool {
        let given = self.given.get(index_key(family)).is_some_and(|setting| is_off(&setting.node.value));
        self.takes(family) && !given && self.taken(&Subject::Source(family)) != Some(NONE)
    }

    /// Whether the URL contains the address.
    fn has_ip(&self) -> bool {
        self.taken(&Subject::Url).map_or_else(|| text_of(&self.given, Key::Id), str::to_owned).contains("__IP")
    }

    /// The domains of each family, as far as they are known.
    fn domains(&self) -> [Vec<Domain>; 2] {
        if let Some(text) = self.taken(&Subject::Domains) {
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

    /// The form of the recipe with its domains and what `--set` answers; `None` without a recipe.
    fn form(&self) -> Option<Result<Form<'_>, String>> {
        let form = Form::new(self.recipe()?, self.domains());
        Some(form.and_then(|mut form| {
            let own = self.set.iter().filter(|(name, _)| !name.starts_with("notify."));
            // Which domains there are may not be known yet.
            let is_known = form.has_domains();
            own.map(|(name, value)| form.set(name, value)).find(|set| set.is_err() && is_known).unwrap_or(Ok(()))?;
            Ok(form)
        }))
    }

    fn bare_notify_form(&self) -> Option<Result<Form<'_>, String>> {
        let form = Form::new(self.notify.as_ref()?, Default::default());
        Some(form.and_then(|mut form| {
            let own = self.set.iter().filter_map(|(name, value)| Some((name.strip_prefix("notify.")?, value)));
            own.map(|(name, value)| form.set(name, value)).collect::<Result<Vec<()>, String>>()?;
            Ok(form)
        }))
    }

    /// The same with every answer.
    fn answered_form(&self) -> Option<Result<Form<'_>, String>> {
        self.form().map(|form| form.and_then(|form| self.with_answers(form)))
    }

    fn notify_form(&self) -> Option<Result<Form<'_>, String>> {
        self.bare_notify_form().map(|form| form.and_then(|form| self.with_answers(form)))
    }

    fn with_answers<'a>(&self, mut form: Form<'a>) -> Result<Form<'a>, String> {
        for slot in form.unanswered() {
            let subject = [Subject::Answer(slot.clone()), Subject::Notify(slot.clone())];
            let text = subject.iter().find_map(|subject| self.taken(subject));
            let text = text.ok_or_else(|| format!("an answer is missing: {}", form.label(&slot)))?;
            form.answer(&slot, text)?;
        }
        Ok(form)
    }

    fn question_of(&self, subject: &Subject) -> Option<&Question> {
        let (recipe, slot) = match subject {
            Subject::Answer(slot) => (self.recipe()?, slot),
            Subject::Notify(slot) => (self.notify.as_ref()?, slot),
            _ => return None,
        };
        recipe.questions.iter().find(|question| question.name == slot.name())
    }

    fn about(&self, subject: &Subject) -> SetUpQuestion {
        let (label, help, suggested) = match subject {
            Subject::Service => ("Service".to_owned(), String::new(), None),
            Subject::Url => {
                let example = "https://example.com/update?name=__DOMAIN__&ip=__IP__";
                ("URL".to_owned(), format!("__DOMAIN__ and __IP__ in it are filled in. For example {example}"), None)
            }
            Subject::Body => {
                let suggested = if self.has_ip() { NONE } else { BODY };
                let help = format!("A JSON object is sent as a POST; {NONE} makes it a GET without a body.");
                ("JSON body".to_owned(), help, Some(suggested.to_owned()))
            }
            Subject::Query => {
                let help = format!("The URL does not contain __IP__. These are added to it; {NONE} adds nothing.");
                ("Parameters".to_owned(), help, Some(QUERY.to_owned()))
            }
            Subject::Domains => {
                let suffix = self.recipe().and_then(Recipe::suffix);
                let short = suffix.map(|suffix| format!(" home means home.{suffix}.")).unwrap_or_default();
                ("Domains".to_owned(), format!("The names to update, separated by commas.{short}"), None)
            }
            Subject::Source(family) => self.about_source(*family),
            Subject::Answer(slot) | Subject::Notify(slot) => {
                let is_notify = matches!(subject, Subject::Notify(_));
                let form = if is_notify { self.bare_notify_form() } else { self.form() };
                let suggested = form.and_then(Result::ok).and_then(|form| form.suggested(slot));
                let question = self.question_of(subject);
                let help = question.map(|question| sentence(&question.help)).unwrap_or_default();
                (question.map(|question| slot.label(question)).unwrap_or_default(), help, suggested)
            }
        };
        let name = name_of(subject);
        let before = self
            .taken(subject)
            .or_else(|| self.before.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str()));
        let suggested = before.map(str::to_owned).or(suggested);
        let (is_secret, is_file) = self.question_of(subject).map_or((false, false), |it| (it.secret, it.is_file));
        let family = if let Subject::Source(family) = subject { Some(*family) } else { None };
        SetUpQuestion { name, label, help, suggested, is_secret, is_file, family }
    }

    fn about_source(&self, family: Family) -> (String, String, Option<String>) {
        let Survey { own, public } = &self.survey;
        let (own, public) = (own[family.index()], &public[family.index()]);
        let other = Family::ALL[1 - family.index()];
        // Something must be updated.
        let may_leave = self.takes(other) && self.is_wanted(other);
        let last = format!("no {family} updates are sent with {NONE}");
        let (why, suggested) = match (own, public) {
            (Some(ip), _) if !is_private(ip) => (format!("This host's own address is {ip}"), "default"),
            (_, Some(Ok(ip))) => (format!("Services on the internet see {ip}"), "public"),
            (_, Some(Err(_))) if may_leave && (family == Family::V6 || self.has_address(other)) => {
                (format!("No {family} address was found here, so it is best left out for now"), NONE)
            }
            (_, Some(Err(_))) => (format!("No {family} address was found: is this host online?"), "public"),
            (Some(ip), None) => (format!("This host's address {ip} is private: others cannot reach it"), "public"),
            (None, None) if family == Family::V6 && may_leave => (format!("This host has no {family} address"), NONE),
            (None, None) => (format!("This host has no {family} address of its own"), "public"),
        };
        let help = format!("{why}; default is this host's own address, public what the internet sees, {last}.");
        (format!("{family} address from"), help, Some(suggested.to_owned()))
    }

    /// Whether an address of a family was found.
    fn has_address(&self, family: Family) -> bool {
        let Survey { own, public } = &self.survey;
        own[family.index()].is_some_and(|ip| !is_private(ip)) || matches!(public[family.index()], Some(Ok(_)))
    }

    /// Takes an answer where it is valid; gives what there is to say about it.
    fn take(&mut self, subject: &Subject, text: &str) -> Result<Vec<String>, String> {
        let text = match (text.trim(), self.about(subject).suggested) {
            ("", Some(suggested)) => suggested,
            ("", None) => return Err("Please enter a value.".to_owned()),
            (text, _) => text.to_owned(),
        };
        if text.chars().any(char::is_control) {
            return Err("The answer contains a control character (an arrow key, perhaps).".to_owned());
        }
        let (value, notes) = self.judged(subject, text)?;
        self.before.retain(|(known, _)| *known != name_of(subject));
        self.taken.push((subject.clone(), value));
        Ok(notes)
    }

    /// The value of an answer, and what there is to say about it.
    fn judged(&self, subject: &Subject, text: String) -> Result<(String, Vec<String>), String> {
        let is_none = text.eq_ignore_ascii_case(NONE);
        let notes = match subject {
            Subject::Service => Vec::new(),
            Subject::Url => {
                let small = text.to_ascii_lowercase();
                if !small.starts_with("http://") && !small.starts_with("https://") {
                    let meant =
                        text.contains('.').then(|| format!(": did you mean https://{text} ?")).unwrap_or_default();
                    return Err(format!("The URL must start with http:// or https://{meant}"));
                }
                self.checked_with(subject, &text)?
            }
            Subject::Body | Subject::Query if is_none => return Ok((NONE.to_owned(), Vec::new())),
            Subject::Body | Subject::Query => self.checked_with(subject, &text)?,
            Subject::Domains => return self.judged_domains(&text),
            Subject::Source(family) if is_none => {
                let other = Family::ALL[1 - family.index()];
                if !self.takes(other) || !self.is_wanted(other) {
                    return Err("One of the addresses is needed: IPv4 or IPv6.".to_owned());
                }
                return Ok((NONE.to_owned(), Vec::new()));
            }
            Subject::Source(_) => self.checked_with(subject, &text)?,
            Subject::Answer(slot) | Subject::Notify(slot) => {
                let is_notify = matches!(subject, Subject::Notify(_));
                let form = if is_notify { self.bare_notify_form() } else { self.form() };
                let mut form = form.ok_or("There is no such question.")??;
                form.answer(slot, &text).map_err(|why| sentence(&why))?;
                Vec::new()
            }
        };
        Ok((text, notes))
    }

    fn judged_domains(&self, text: &str) -> Result<(String, Vec<String>), String> {
        let items = value::list(text).map_err(|wrong| sentence(&wrong.message))?;
        let names = items.iter().filter_map(|item| item.value.text()).flat_map(str::split_whitespace);
        let (mut all, mut notes) = (Vec::new(), Vec::new());
        for name in names {
            let domain = self.completed(name)?;
            if !name.contains('.') && domain.as_str().contains('.') {
                notes.push(format!("{name} becomes {domain}."));
            }
            if !all.contains(&domain) {
                all.push(domain);
            }
        }
        if all.is_empty() {
            return Err("Name at least one domain.".to_owned());
        }
        if all.len() > MAX_DOMAINS {
            return Err(format!("Name {MAX_DOMAINS} domains at most, and add the others to the file."));
        }
        if let Some(recipe) = self.recipe() {
            let domains = Family::ALL.map(|family| if recipe.takes(family) { all.clone() } else { Vec::new() });
            Form::new(recipe, domains).and_then(|form| form.check_domains()).map_err(|why| sentence(&why))?;
        }
        let text = all.iter().map(Domain::as_str).collect::<Vec<_>>().join(", ");
        notes.extend(self.checked_with(&Subject::Domains, &text)?);
        Ok((text, notes))
    }

    /// A name, with what names of the service end in where it has no dot.
    fn completed(&self, name: &str) -> Result<Domain, String> {
        let domain = Domain::parse(name).map_err(|why| format!("{name} is not a domain name: {why}."))?;
        let Some(recipe) = self.recipe().filter(|_| !domain.as_str().contains('.')) else { return Ok(domain) };
        match recipe.suffix() {
            Some(suffix) => Domain::parse(&format!("{domain}.{suffix}")).map_err(|why| format!("{name}: {why}.")),
            None if matches!(recipe.kind, "dyndns" | "api") => {
                Err(format!("{name} is not a whole name: type it with its dots, such as {domain}.example.com."))
            }
            None => Ok(domain),
        }
    }

    /// What the rules of a file say about one more answer: errors, or the warnings.
    fn checked_with(&self, subject: &Subject, text: &str) -> Result<Vec<String>, String> {
        let mut now = Self { given: self.given.clone(), taken: self.taken.clone(), ..Self::default() };
        let before = findings(&now.settings());
        now.taken.push((subject.clone(), text.to_owned()));
        let found = findings(&now.settings()).into_iter().filter(|finding| !before.contains(finding));
        let (wrong, warnings): (Vec<_>, Vec<_>) = found.partition(|finding| finding.severity == Severity::Error);
        let words = |all: Vec<Diagnostic>| all.iter().map(spoken).collect::<Vec<_>>();
        if wrong.is_empty() { Ok(words(warnings)) } else { Err(words(wrong).join(" ")) }
    }
}

fn findings(settings: &Raw) -> Vec<Diagnostic> {
    checked(settings).map_or_else(|wrong| wrong, |(_, warnings)| warnings)
}

/// A finding in the words of the questions: who answers them has seen no field.
fn spoken(finding: &Diagnostic) -> String {
    let hint = finding.hint.as_deref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let mut text = sentence(&format!("{}{hint}", finding.message));
    let words = [("`id`", "the URL"), ("`token`", "the body"), ("`ipv4`", "the list"), ("`ipv6`", "the list")];
    for (field, word) in words.into_iter().chain([("`index4`", "the source"), ("`index6`", "the source")]) {
        text = text.replace(field, word);
    }
    sentence(&text.replace('`', ""))
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    // The name of a domain stays as it is.
    let is_word = |rest: &str| rest.split(' ').next().is_some_and(|word| word.chars().all(char::is_alphabetic));
    let Some(first) = letters.next() else { return String::new() };
    let first = if is_word(clause) { first.to_uppercase().collect() } else { first.to_string() };
    let end = if clause.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// What a form calls the field of a question.
fn name_of(subject: &Subject) -> String {
    match subject {
        Subject::Service => "name".to_owned(),
        Subject::Url => "id".to_owned(),
        Subject::Body => "body".to_owned(),
        Subject::Query => "query".to_owned(),
        Subject::Domains => "domains".to_owned(),
        Subject::Source(family) => ["index4", "index6"][family.index()].to_owned(),
        Subject::Answer(slot) => format!("answer.{slot}"),
        Subject::Notify(slot) => format!("notify.{slot}"),
    }
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
