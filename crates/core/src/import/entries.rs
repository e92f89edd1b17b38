//! Sections of another client's file as entries of a configuration: the recipes that `ddns init --recipe` knows, with the answers
//! that the file has.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::rules::{PeerName, variable};
use super::settings::{EntryFields, ImportNote, NotePart, PeerFile, PeerSettings, PeerSurroundings};
use super::table::{PeerTable, ServiceRow, filled};
use crate::config::fields::FIELDS;
use crate::config::starter;
use crate::net::family::Family;
use crate::recipe::{self, DomainRest, Each, Filled, Form, IN_FILE, Recipe, likely_zone};
use crate::text::json::Value;
use crate::text::order;
use crate::update::domain::Domain;
use crate::web::addition;

/// Names, or paths, and a text for each.
type TextPairs = Vec<(String, String)>;

/// No import has more domains.
const MAX_DOMAINS: usize = 10_000;

/// No import makes more entries.
const MAX_ENTRIES: usize = 1_000;

/// What the answers to a question about a contact may be called.
const CONTACTS: [&str; 6] = ["login", "username", "email", "id", "mail", "mail-failure"];

/// One entry that is to be written.
#[derive(Debug, Clone, Default)]
pub struct ImportedEntry {
    /// Where its first section begins.
    pub line: usize,
    /// What the other client calls the service.
    pub service: String,
    recipe: Option<Rc<Recipe>>,
    /// The request where there is no recipe.
    request: EntryFields,
    /// By family.
    pub domains: [Vec<Domain>; 2],
    /// What domains get beside their names.
    rest: DomainRest,
    /// By the names that `--set` takes: those for all domains, and those for one.
    answers: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
    /// Answers over those of the file, as they were given.
    set: Vec<(String, String)>,
    /// By family.
    pub sources: [Vec<String>; 2],
    settings: EntryFields,
    /// The zone, where it is a guess.
    pub guess: Option<String>,
}

/// An answer that the file does not have.
#[derive(Debug)]
pub struct MissingAnswer {
    /// As `--set` takes it.
    pub name: String,
    /// For people.
    pub label: String,
    /// Where to find it; empty where that is plain.
    pub help: String,
    /// What is wrong with the value that the file has.
    pub refused: Option<String>,
    /// Whether it must not be seen.
    pub secret: bool,
}

/// The entries that sections make by a table; what cannot become one is noted.
pub(super) fn entries(
    file: &mut PeerFile,
    table: PeerTable,
    around: &PeerSurroundings<'_>,
) -> Result<Vec<ImportedEntry>, String> {
    let rows = table.meanings();
    let mut sections = std::mem::take(&mut file.sections);
    let mut all: Vec<ImportedEntry> = Vec::new();
    let mut recipes: BTreeMap<&str, Rc<Recipe>> = BTreeMap::new();
    for section in &mut sections {
        let known = file.notes.len();
        let except = section.take_meanings(&rows, around, file);
        let names = Family::ALL.map(|family| section.names(family, &except, file));
        let is_left_out = |note: &ImportNote| note.part == NotePart::LeftOut;
        if file.notes[known..].iter().any(is_left_out) && names.iter().all(Vec::is_empty) {
            // That is said once.
            section.fields.take_all(&file.globals);
        }
        let field = |name: &str| section.fields.get(name).map(str::to_owned);
        let Some(services) = field(".services") else { continue };
        let service = services.split(" / ").next().unwrap_or_default();
        section.add_to(file);
        let mut request = section.request.take().or_else(|| section.request_by(table));
        let row = services.split(" / ").find_map(|name| table.row(name, &field));
        let (recipe, answers) = match (row, &request) {
            (Some(ServiceRow::Recipe(name, answers)), _) => {
                if !recipes.contains_key(name) {
                    let recipe = recipe::named(name).map_err(|_| format!("there is no recipe `{name}`"))?;
                    recipes.insert(name, Rc::new(recipe));
                }
                request = None;
                (Some(Rc::clone(&recipes[name])), answers)
            }
            (_, Some(_)) => (None, Vec::new()),
            (row, None) => {
                let why = match row {
                    Some(ServiceRow::Nothing(why)) => why,
                    _ => "the import does not know this service; `ddns recipes` lists what ddns knows",
                };
                // What it alone says needs no line of its own.
                section.fields.take_all(&file.globals);
                let mut names = names.iter().flatten().map(|name| name.name.as_str()).collect::<Vec<_>>();
                names.dedup();
                file.left_out(section.line, &format!("{service} ({})", names.join(", ")), why);
                continue;
            }
        };
        let draft = ImportedEntry {
            line: section.line,
            service: service.to_owned(),
            recipe,
            request: request.unwrap_or_default(),
            sources: Family::ALL.map(|family| section.sources(family)),
            settings: section.settings(),
            ..ImportedEntry::default()
        };
        // Both families of a host stay together: some services remove the one that is missing.
        let mut own: Vec<ImportedEntry> = Vec::new();
        for (family, names) in Family::ALL.into_iter().zip(&names) {
            for name in names {
                if let Some(entry) = draft.made(&section.fields, &answers, family, name, file) {
                    gather(&mut own, entry);
                }
            }
        }
        for entry in own {
            gather(&mut all, entry);
        }
        if all.len() > MAX_ENTRIES {
            return Err(format!("it makes more than {MAX_ENTRIES} entries"));
        }
    }
    file.sections = sections;
    let count: usize = all.iter().flat_map(|entry| &entry.domains).map(Vec::len).sum();
    if count > MAX_DOMAINS {
        return Err(format!("there are {count} domains; an import takes {MAX_DOMAINS} at most"));
    }
    Ok(all)
}

/// Adds an entry, or what it has to one that takes it in.
fn gather(all: &mut Vec<ImportedEntry>, entry: ImportedEntry) {
    match all.iter_mut().find(|known| known.takes_in(&entry)) {
        Some(known) => known.take_in(entry),
        None => all.push(entry),
    }
}

/// A name below its zone: `@`, `www` and `www.example.com` may all be meant.
fn joined(name: &str, zone: Option<&str>) -> String {
    let name = name.strip_prefix("@.").unwrap_or(name).trim_end_matches('.');
    match zone {
        Some(zone) if name.is_empty() || name == "@" => zone.to_owned(),
        Some(zone) if !name.contains('.') => format!("{name}.{zone}"),
        _ => name.to_owned(),
    }
}

/// A mail address that the file has anyway.
fn contact(fields: &PeerSettings) -> Option<String> {
    let is_address = |text: &str| text.split_once('@').is_some_and(|(_, host)| host.contains('.'));
    let mut known = CONTACTS.iter().filter_map(|name| fields.0.iter().find(|field| field.name == *name));
    known.find(|field| is_address(&field.value)).map(|field| {
        field.is_used.set(true);
        field.value.clone()
    })
}

impl ImportedEntry {
    /// The same for one name; what belongs together is put together later. `asked` are the questions of the recipe, and what they
    /// are called in the file.
    fn made(
        &self,
        fields: &PeerSettings,
        asked: &[(&str, &str)],
        family: Family,
        name: &PeerName,
        file: &mut PeerFile,
    ) -> Option<Self> {
        let value = |question: &str, domain: &str| {
            let (_, expression) =
                asked.iter().find(|(known, _)| *known == question).filter(|(_, it)| !it.is_empty())?;
            let braced = if expression.contains('{') { (*expression).to_owned() } else { format!("{{{expression}}}") };
            let behind = || domain.split_once('.').map(|(_, rest)| rest).filter(|rest| rest.contains('.'));
            let known = |name: &str| match name {
                "@" => Some(domain),
                "*" => behind(),
                name => fields.get(name),
            };
            filled(&braced, &|name| known(name).map(str::to_owned))
        };
        let own = value("name", &name.name).unwrap_or_else(|| name.name.clone());
        let known = name.zone.clone().or_else(|| value("zone", &own));
        let known = known.map(|zone| zone.trim_end_matches('.').to_lowercase());
        let full = joined(&own, known.as_deref());
        if let Some(recipe) = self.recipe.as_ref().filter(|recipe| !recipe.takes(family)) {
            let why = format!("{} takes no {family} addresses", recipe.title);
            file.left_out(self.line, &format!("{}: {full}", self.service), why);
            return None;
        }
        let Ok(domain) = Domain::parse(&full) else {
            file.left_out(self.line, &format!("{}: {full:?}", self.service), "it is not a domain name");
            return None;
        };
        let mut entry = self.clone();
        let zone = known.clone().unwrap_or_else(|| likely_zone(&full.to_lowercase()).to_owned());
        for question in self.recipe.iter().flat_map(|recipe| &recipe.questions) {
            let (slot, answers) = match question.each {
                Each::Once => (question.name.clone(), &mut entry.answers),
                Each::Domain => (format!("{}.{domain}", question.name), &mut entry.own),
                Each::Record => (format!("{}.{}.{domain}", question.name, family.record_type()), &mut entry.own),
            };
            let answer = match question.name.as_str() {
                "zone" => {
                    entry.guess = Some(zone.clone()).filter(|_| known.is_none());
                    Some(zone.clone())
                }
                "contact" => contact(fields).or_else(|| contact(&file.globals)),
                name => value(name, &full),
            };
            answers.extend(answer.map(|answer| (slot, answer)));
        }
        let mut rest: Vec<_> = name.interface_id.iter().map(|id| ("interface_id", Value::string(id))).collect();
        match &self.recipe {
            None if name.parameters.is_empty() => {}
            None => {
                let own = name.parameters.iter().map(|(key, value)| (variable(key), Value::string(value)));
                rest.push(("extra", Value::object(own)));
            }
            Some(recipe) => {
                for (key, value) in &name.parameters {
                    let is_line = ["line", "recordline", "record_line"].iter().any(|it| it.eq_ignore_ascii_case(key));
                    if is_line && recipe.has_line() {
                        entry.settings.push(("line", Value::string(value)));
                    } else {
                        let what = format!("{full}?{key}");
                        file.note(NotePart::Dropped, self.line, &what, "the recipe takes no such parameter");
                    }
                }
            }
        }
        if !rest.is_empty() {
            entry.rest.push((domain.clone(), rest));
        }
        entry.domains[family.index()].push(domain);
        Some(entry)
    }

    /// The recipe that it is made of; none where the request is the file's own.
    pub fn recipe(&self) -> Option<&str> {
        self.recipe.as_ref().map(|recipe| recipe.name.as_str())
    }

    /// Whether a secret is part of its address, where no file can hold it.
    pub(super) fn has_typed_secret(&self) -> bool {
        let is_typed = |recipe: &Rc<Recipe>| recipe.questions.iter().any(|it| it.secret && recipe.is_typed(&it.name));
        self.recipe.as_ref().is_some_and(is_typed)
    }

    /// Whether another one is part of it: the same service, answers and settings, and the same sources (L8).
    fn takes_in(&self, other: &Self) -> bool {
        let has_sources = |family: Family| {
            let at = family.index();
            let is_free = self.domains[at].is_empty() || other.domains[at].is_empty();
            is_free || self.sources[at] == other.sources[at]
        };
        self.recipe() == other.recipe()
            && self.request == other.request
            && self.settings == other.settings
            && self.answers == other.answers
            && other.own.iter().all(|(name, answer)| self.own.get(name).is_none_or(|known| known == answer))
            && Family::ALL.into_iter().all(has_sources)
    }

    fn take_in(&mut self, other: Self) {
        for family in Family::ALL.map(Family::index) {
            if self.domains[family].is_empty() {
                self.sources[family].clone_from(&other.sources[family]);
            }
            let new = other.domains[family].iter().filter(|domain| !self.domains[family].contains(domain));
            let new: Vec<Domain> = new.cloned().collect();
            self.domains[family].extend(new);
        }
        self.rest.extend(other.rest);
        self.own.extend(other.own);
    }

    /// The form with the answers that it takes, and what is wrong with the others. Nothing where there is no recipe.
    fn form(&self) -> Result<Option<(Form<'_>, TextPairs)>, String> {
        let Some(recipe) = &self.recipe else { return Ok(None) };
        let mut form = Form::new(recipe, self.domains.clone())?;
        form.rest.clone_from(&self.rest);
        form.check_domains()?;
        let mut wrong = Vec::new();
        for slot in form.unanswered() {
            let name = slot.to_string();
            let general = || self.answers.get(name.split('.').next().unwrap_or_default());
            let default = form.question(&slot).and_then(|question| question.default.as_ref());
            let Some(answer) = self.own.get(&name).or_else(general).or(default) else { continue };
            match answer.strip_prefix(IN_FILE) {
                Some(path) => form.take_file(&slot, path),
                None => wrong.extend(form.answer(&slot, answer).err().map(|why| (name, why))),
            }
        }
        self.set.iter().try_for_each(|(name, value)| form.set(name, value))?;
        Ok(Some((form, wrong)))
    }

    /// What must be answered before it can be written. Fails where no answer helps.
    pub fn missing(&self) -> Result<Vec<MissingAnswer>, String> {
        let Some((form, wrong)) = self.form()? else { return Ok(Vec::new()) };
        let missing = form.unanswered().into_iter().map(|slot| {
            let name = slot.to_string();
            let question = form.question(&slot);
            let refused = wrong.iter().find(|(known, _)| *known == name).map(|(_, why)| why.clone());
            let help = question.map(|question| question.help.clone()).unwrap_or_default();
            let secret = question.is_some_and(|question| question.secret);
            MissingAnswer { label: form.label(&slot), name, help, refused, secret }
        });
        Ok(missing.collect())
    }

    /// Takes an answer in place of what the file has. Fails with why it is none.
    pub fn answer(&mut self, name: &str, value: &str) -> Result<(), String> {
        let (mut form, _) = self.form()?.ok_or("this entry has no questions: it is made without a recipe")?;
        form.set(name, value)?;
        self.set.push((name.to_owned(), value.to_owned()));
        if name == "zone" {
            self.guess = None;
        }
        Ok(())
    }

    /// The fields of a configuration, and the files of secrets in `folder`, where there is one.
    fn filled(&self, folder: Option<&str>) -> Result<(addition::NewEntry, TextPairs), String> {
        let (mut fields, secrets) = match self.form()? {
            Some((form, _)) => form.fields(folder),
            None => self.plain(folder),
        };
        for (family, name) in Family::ALL.into_iter().zip(["index4", "index6"]) {
            let sources = &self.sources[family.index()];
            if !self.domains[family.index()].is_empty() && !sources.is_empty() {
                fields.push((name.to_owned(), Value::list(sources.iter().map(Value::string))));
            }
        }
        for (name, value) in &self.settings {
            fields.retain(|(known, _)| known != name);
            fields.push(((*name).to_owned(), value.clone()));
        }
        order::sort_by_key(&mut fields, |(name, _)| FIELDS.iter().position(|field| field.name == name));
        Ok((fields, secrets))
    }

    /// The fields of an entry without a recipe, and the files of its secrets.
    fn plain(&self, folder: Option<&str>) -> (addition::NewEntry, TextPairs) {
        let mut secrets = Vec::new();
        let mut fields = vec![("dns".to_owned(), Value::string("callback"))];
        fields.extend(self.request.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let extra = fields.iter_mut().find(|(name, _)| name == "extra");
        if let (Some(folder), Some((_, Value::Object(extra)))) = (folder, extra) {
            for member in extra {
                if let Value::String(text) = &member.node.value {
                    // A name of the file's own must not lead anywhere else.
                    let plain =
                        |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '_' };
                    let name: String = member.key.trim_matches('_').chars().map(plain).collect();
                    let path = format!("{folder}/{}-{name}", secrets.len() + 1);
                    secrets.push((path.clone(), text.clone()));
                    member.node.value = Value::object([("file", Value::String(path))]);
                }
            }
        }
        for (family, name) in Family::ALL.into_iter().zip(["ipv4", "ipv6"]) {
            let domains = self.domains[family.index()].iter();
            let domains: Vec<Value> = domains.map(|it| recipe::domain(it, family, Vec::new(), &self.rest)).collect();
            fields.extend((!domains.is_empty()).then(|| (name.to_owned(), Value::list(domains))));
        }
        (fields, secrets)
    }
}

/// The text of a configuration with these entries, by their numbers; and the files of secrets in `folder`. An entry that is the
/// only one stands at the top.
pub(super) fn document(
    entries: &[(usize, &ImportedEntry)],
    settings: &[(String, Value)],
    folder: Option<&str>,
    heading: &str,
) -> Result<Filled, String> {
    let (mut fields, mut all, mut secrets) = (Vec::new(), Vec::new(), Vec::new());
    let mut above = heading.to_owned();
    let is_single = entries.len() == 1;
    for (number, entry) in entries {
        let own = folder.map(|folder| if is_single { folder.to_owned() } else { format!("{folder}/{number}") });
        let (members, files) = entry.filled(own.as_deref())?;
        secrets.extend(files);
        if is_single {
            above += &entry.recipe.as_deref().map(recipe::heading).unwrap_or_default();
            fields = members;
            break;
        }
        let whole = Value::object(members);
        let members = whole.members().unwrap_or_default();
        all.extend(addition::entries(members).into_iter().map(Value::object));
        // It is a field of the whole file.
        let strict = members.iter().find(|member| member.key == "concurrency" && fields.is_empty());
        fields.extend(strict.map(|member| (member.key.clone(), member.node.value.clone())));
    }
    if !is_single {
        fields.push(("providers".to_owned(), Value::list(all)));
    }
    fields.extend(settings.iter().cloned());
    Ok(Filled { text: starter::file(&above, &fields), secrets })
}
