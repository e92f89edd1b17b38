//! Sections of another client's file as entries of a configuration: the recipes that `ddns init --recipe` knows, with the answers
//! that the file has.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::settings::{PeerFile, PeerName, PeerSection, PeerSetting, PeerSettings};
use super::table::{PeerTable, ServiceRow};
use crate::config::starter;
use crate::net::family::Family;
use crate::recipe::{self, Each, Filled, Form, Recipe};
use crate::text::json::{Dialect, Member, Node, Value, parse};
use crate::update::domain::Domain;
use crate::web::addition;

/// Stands in place of a secret that is in a file already; the path follows.
const IN_FILE: &str = "ddns-import-file:";

/// Names, or paths, and a text for each.
type TextPairs = Vec<(String, String)>;

/// No import has more domains.
const MAX_DOMAINS: usize = 10_000;

/// No import makes more entries.
const MAX_ENTRIES: usize = 1_000;

/// What the answers to a question about a contact may be called.
const CONTACTS: [&str; 6] = ["login", "username", "email", "id", "mail", "mail-failure"];

/// The answer that names a file of one line, which stays where it is (L13).
pub(super) fn in_file(path: &str) -> String {
    format!("{IN_FILE}{path}")
}

/// One entry that is to be written.
#[derive(Debug, Default)]
pub struct ImportedEntry {
    /// Where its first section begins.
    pub line: usize,
    /// What the other client calls the service.
    pub service: String,
    recipe: Option<Rc<Recipe>>,
    /// The request where there is no recipe.
    request: Vec<(&'static str, Value)>,
    /// By family.
    pub domains: [Vec<Domain>; 2],
    /// What domains get beside their names.
    rest: Vec<(Domain, Vec<(&'static str, Value)>)>,
    /// By the names that `--set` takes: those for all domains, and those for one.
    answers: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
    /// Answers over those of the file, as they were given.
    set: Vec<(String, String)>,
    /// By family.
    pub sources: [Vec<String>; 2],
    settings: Vec<(&'static str, Value)>,
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
    /// Where to find it, or what is wrong with what the file has.
    pub help: String,
    /// Whether it must not be seen.
    pub secret: bool,
}

/// The entries that sections make; what cannot become one is noted.
pub(super) fn entries(file: &mut PeerFile, table: PeerTable) -> Result<Vec<ImportedEntry>, String> {
    let mut all: Vec<ImportedEntry> = Vec::new();
    let mut recipes: BTreeMap<&str, Rc<Recipe>> = BTreeMap::new();
    for mut section in std::mem::take(&mut file.sections) {
        let row = section.services.iter().find_map(|name| table.row(name, |field| section.fields.get(field)));
        let made = match (row, section.request.take()) {
            (Some(ServiceRow::Recipe(name, answers)), _) => {
                if !recipes.contains_key(name) {
                    let recipe = recipe::named(name).map_err(|_| format!("there is no recipe `{name}`"))?;
                    recipes.insert(name, Rc::new(recipe));
                }
                of_recipe(&section, &recipes[name], &answers, file)
            }
            (_, Some(request)) => plain(&section, request, file),
            (row, None) => {
                let why = match row {
                    Some(ServiceRow::Nothing(why)) => why,
                    _ => "the import does not know this service; `ddns recipes` lists what ddns knows",
                };
                // What it alone says needs no line of its own.
                let is_shared = |field: &&Rc<PeerSetting>| file.globals.0.iter().any(|known| Rc::ptr_eq(known, field));
                section.fields.0.iter().filter(|field| !is_shared(field)).for_each(|field| field.is_used.set(true));
                let mut names = section.names.iter().flatten().map(|name| name.name.as_str()).collect::<Vec<_>>();
                names.dedup();
                file.left_out(section.line, &format!("{} ({})", section.service(), names.join(", ")), why);
                Vec::new()
            }
        };
        for entry in made {
            match all.iter_mut().find(|known| known.takes_in(&entry)) {
                Some(known) => known.take_in(entry),
                None => all.push(entry),
            }
        }
        if all.len() > MAX_ENTRIES {
            return Err(format!("it makes more than {MAX_ENTRIES} entries"));
        }
    }
    all.retain(|entry| entry.domains.iter().any(|domains| !domains.is_empty()));
    let count: usize = all.iter().flat_map(|entry| &entry.domains).map(Vec::len).sum();
    if count > MAX_DOMAINS {
        return Err(format!("there are {count} domains; an import takes {MAX_DOMAINS} at most"));
    }
    Ok(all)
}

impl PeerSection {
    fn service(&self) -> &str {
        self.services.first().map_or("no service", String::as_str)
    }
}

/// The value of an expression of the table.
fn value(expression: &str, fields: &PeerSettings, domain: &str) -> Option<String> {
    if let Some(text) = expression.strip_prefix('\'') {
        return Some(text.trim_end_matches('\'').to_owned());
    }
    if !expression.contains('{') {
        let behind = || domain.split_once('.').map(|(_, rest)| rest).filter(|rest| rest.contains('.'));
        let mut values = expression.split('|').map(|name| if name == "*" { behind() } else { fields.get(name) });
        return values.find_map(|value| value.map(str::to_owned));
    }
    let mut text = String::new();
    for (place, part) in expression.split(['{', '}']).enumerate() {
        text += if place % 2 == 0 { part } else { fields.get(part)? };
    }
    Some(text)
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

/// The zone that a name is likely to be in.
pub(super) fn guessed(name: &str) -> String {
    let labels: Vec<&str> = name.split('.').collect();
    let is_second_level = match labels.as_slice() {
        [.., _, second, top] if top.len() == 2 => "co com net org gov edu ac".split(' ').any(|known| known == *second),
        _ => false,
    };
    let is_shared = name.ends_with(".dedyn.io") || name.ends_with(".eu.org");
    let count = if is_second_level || is_shared { 3 } else { 2 };
    labels[labels.len().saturating_sub(count)..].join(".")
}

fn new(section: &PeerSection, recipe: Option<&Rc<Recipe>>) -> ImportedEntry {
    ImportedEntry {
        line: section.line,
        service: section.service().to_owned(),
        recipe: recipe.cloned(),
        sources: section.sources.clone(),
        settings: section.settings.clone(),
        ..ImportedEntry::default()
    }
}

/// A domain, added where it can be one.
fn add(entry: &mut ImportedEntry, family: Family, name: &PeerName, full: &str, file: &mut PeerFile) -> Option<Domain> {
    let Ok(domain) = Domain::parse(full) else {
        file.left_out(entry.line, &format!("{}: {full:?}", entry.service), "it is not a domain name");
        return None;
    };
    let domains = &mut entry.domains[family.index()];
    if !domains.contains(&domain) {
        domains.push(domain.clone());
    }
    if !name.rest.is_empty() && !entry.rest.iter().any(|(known, _)| *known == domain) {
        entry.rest.push((domain.clone(), name.rest.clone()));
    }
    Some(domain)
}

fn plain(section: &PeerSection, request: Vec<(&'static str, Value)>, file: &mut PeerFile) -> Vec<ImportedEntry> {
    let mut entry = ImportedEntry { request, ..new(section, None) };
    for family in Family::ALL {
        for name in &section.names[family.index()] {
            add(&mut entry, family, name, &joined(&name.name, name.zone.as_deref()), file);
        }
    }
    vec![entry]
}

/// One entry for each zone where the recipe asks for it.
fn of_recipe(
    section: &PeerSection,
    recipe: &Rc<Recipe>,
    answers: &[(&str, &str)],
    file: &mut PeerFile,
) -> Vec<ImportedEntry> {
    let expression = |question: &str| answers.iter().find(|(known, _)| *known == question).map(|(_, value)| *value);
    let asks_zone = recipe.questions.iter().any(|question| question.name == "zone");
    let mut all: Vec<(Option<String>, ImportedEntry)> = Vec::new();
    for family in Family::ALL {
        for name in &section.names[family.index()] {
            let own = expression("name").and_then(|it| value(it, &section.fields, &name.name));
            let own = own.unwrap_or_else(|| name.name.clone());
            let zone = || expression("zone").and_then(|it| value(it, &section.fields, &own));
            let known = name.zone.clone().or_else(zone).map(|zone| zone.trim_end_matches('.').to_lowercase());
            let full = joined(&own, known.as_deref());
            if !recipe.takes(family) {
                let why = format!("{} takes no {family} addresses", recipe.title);
                file.left_out(section.line, &format!("{}: {full}", section.service()), why);
                continue;
            }
            let zone = asks_zone.then(|| known.clone().unwrap_or_else(|| guessed(&full.to_lowercase())));
            let place = all.iter().position(|(of, _)| *of == zone).unwrap_or_else(|| {
                let guess = zone.clone().filter(|_| known.is_none());
                all.push((zone.clone(), ImportedEntry { guess, ..new(section, Some(recipe)) }));
                all.len() - 1
            });
            let Some(domain) = add(&mut all[place].1, family, name, &full, file) else { continue };
            for question in &recipe.questions {
                let slot = match question.each {
                    Each::Once => question.name.clone(),
                    Each::Domain => format!("{}.{domain}", question.name),
                    Each::Record => format!("{}.{}.{domain}", question.name, family.record_type()),
                };
                let answer = match question.name.as_str() {
                    "zone" => zone.clone(),
                    "contact" => contact(&section.fields).or_else(|| contact(&file.globals)),
                    _ => expression(&question.name).and_then(|it| value(it, &section.fields, &own)),
                };
                let entry = &mut all[place].1;
                let answers = if question.each == Each::Once { &mut entry.answers } else { &mut entry.own };
                if let Some(answer) = answer {
                    answers.entry(slot).or_insert(answer);
                }
            }
        }
    }
    all.into_iter().map(|(_, entry)| entry).collect()
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
    /// The recipe that it is made of; none where the request is the file's own.
    pub fn recipe(&self) -> Option<&str> {
        self.recipe.as_ref().map(|recipe| recipe.name.as_str())
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
        form.check_domains()?;
        let mut wrong = Vec::new();
        for slot in form.unanswered() {
            let name = slot.to_string();
            let general = || self.answers.get(name.split('.').next().unwrap_or_default());
            let default = form.question(&slot).and_then(|question| question.default.as_ref());
            let Some(answer) = self.own.get(&name).or_else(general).or(default) else { continue };
            if let Err(why) = form.answer(&slot, answer) {
                wrong.push((name, why));
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
            let why = wrong.iter().find(|(known, _)| *known == name).map(|(_, why)| format!("the file has {why}"));
            let help = why.or_else(|| question.map(|question| question.help.clone())).unwrap_or_default();
            let secret = question.is_some_and(|question| question.secret);
            MissingAnswer { label: form.label(&slot), name, help, secret }
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

    /// The fields of a configuration, and what stands above it; secrets go to files in `folder`, where there is one.
    fn filled(&self, folder: Option<&str>) -> Result<(String, addition::NewEntry, TextPairs), String> {
        let (mut above, mut secrets, mut moved) = (String::new(), Vec::new(), Vec::new());
        let mut fields: Vec<(String, Value)> = match self.form()? {
            Some((form, _)) => {
                let filled = form.configuration(&[], folder);
                above =
                    filled.text.lines().take_while(|line| line.starts_with("//")).collect::<Vec<_>>().join("\n") + "\n";
                for (path, secret) in filled.secrets {
                    match secret.strip_prefix(IN_FILE) {
                        Some(known) => moved.push((path, known.to_owned())),
                        None => secrets.push((path, secret)),
                    }
                }
                let root = parse(&filled.text, Dialect::CONFIG).map_err(|error| error.message)?;
                root.value
                    .members()
                    .unwrap_or_default()
                    .iter()
                    .map(|it| (it.key.clone(), it.node.value.clone()))
                    .collect()
            }
            None => self.plain(folder, &mut secrets),
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
        let patched = fields.into_iter().map(|(name, value)| {
            let value = self.patched(&name, value, &moved);
            (name, value)
        });
        Ok((above, patched.collect(), secrets))
    }

    /// The fields of an entry without a recipe.
    fn plain(&self, folder: Option<&str>, secrets: &mut Vec<(String, String)>) -> Vec<(String, Value)> {
        let mut fields = vec![("dns".to_owned(), Value::string("callback"))];
        fields.extend(self.request.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        if let (Some(folder), Some((_, Value::Object(extra)))) =
            (folder, fields.iter_mut().find(|(name, _)| name == "extra"))
        {
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
            let domains = &self.domains[family.index()];
            if !domains.is_empty() {
                fields
                    .push((name.to_owned(), Value::list(domains.iter().map(|domain| Value::string(domain.as_str())))));
            }
        }
        fields
    }

    /// A value with the files that stay where they are, and what domains get beside their names.
    fn patched(&self, name: &str, value: Value, moved: &[(String, String)]) -> Value {
        let node = |name: &str, node: Node| Node { value: self.patched(name, node.value, moved), ..node };
        match value {
            Value::String(text) if text.starts_with(IN_FILE) => {
                Value::object([("file", Value::string(&text[IN_FILE.len()..]))])
            }
            Value::String(text) => {
                Value::String(moved.iter().find(|(from, _)| *from == text).map_or(text, |(_, to)| to.clone()))
            }
            Value::Array(items) if matches!(name, "ipv4" | "ipv6") && !self.rest.is_empty() => {
                Value::Array(items.into_iter().map(|item| Node::synthetic(self.detailed(name, item.value))).collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| node("", item)).collect()),
            Value::Object(members) => {
                let inner = |it: Member| Member { node: node(&it.key, it.node), ..it };
                Value::Object(members.into_iter().map(inner).collect())
            }
            other => other,
        }
    }

    /// A domain with what it gets beside its name; an interface id is for IPv6 alone.
    fn detailed(&self, family: &str, domain: Value) -> Value {
        let mut members = match domain {
            Value::Object(members) => members,
            name => Value::object([("name", name)]).members().unwrap_or_default().to_vec(),
        };
        let name = members.iter().find(|member| member.key == "name").and_then(|member| member.node.value.text());
        let rest = self.rest.iter().find(|(domain, _)| Some(domain.as_str()) == name).map(|(_, rest)| rest.clone());
        for (key, value) in rest.unwrap_or_default() {
            if key != "interface_id" || family == "ipv6" {
                members.extend_from_slice(Value::object([(key, value)]).members().unwrap_or_default());
            }
        }
        match members.as_slice() {
            [only] => only.node.value.clone(),
            _ => Value::Object(members),
        }
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
        let (comment, members, files) = entry.filled(own.as_deref())?;
        secrets.extend(files);
        if is_single {
            above += &comment;
            fields = members;
            break;
        }
        let object = Value::object(members.iter().map(|(name, value)| (name.as_str(), value.clone())));
        let members = object.members().unwrap_or_default();
        let objects = addition::entries(members)
            .into_iter()
            .map(|entry| Value::object(entry.iter().map(|(name, value)| (name.as_str(), value.clone()))));
        all.extend(objects);
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
