//! Turns the sections of another client's file into entries of a configuration: the recipes of `ddns init --recipe`, with the
//! answers from the file.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::rules::{PeerName, put_parameters, variable};
use super::settings::{EntryFields, ImportNote, NotePart, PeerFile, PeerSettings, PeerSurroundings};
use super::table::{PeerTable, ServiceRow, filled};
use crate::config::fields::FIELDS;
use crate::config::starter;
use crate::net::family::Family;
use crate::recipe::{self, DomainRest, Each, Filled, Form, IN_FILE, Recipe, likely_zone};
use crate::text::json::Value;
use crate::text::order;
use crate::text::punycode::{ascii_name, is_composed};
use crate::update::domain::Domain;
use crate::web::addition;

/// Names or paths, and a text for each.
type TextPairs = Vec<(String, String)>;

/// An import with more domains is refused.
pub(super) const MAX_DOMAINS: usize = 10_000;

/// An import with more entries is refused.
const MAX_ENTRIES: usize = 1_000;

/// The settings that may contain an answer to `contact`, a mail address.
const CONTACTS: [&str; 6] = ["login", "username", "email", "id", "mail", "mail-failure"];

/// An entry to write.
#[derive(Debug, Clone, Default)]
pub struct ImportedEntry {
    /// The line at which its first section begins.
    pub line: usize,
    /// The other client's name for the service.
    pub service: String,
    recipe: Option<Rc<Recipe>>,
    /// The request, if there is no recipe.
    request: EntryFields,
    /// The domains, by [`Family::index`].
    pub domains: [Vec<Domain>; 2],
    /// What domains have besides their names.
    rest: DomainRest,
    /// Answers for all domains, by their names for `--set`. `own` contains those for one domain or record.
    answers: BTreeMap<String, String>,
    own: BTreeMap<String, String>,
    /// Answers from the user, which replace those of the file, in order.
    set: Vec<(String, String)>,
    /// The sources of addresses, by [`Family::index`].
    pub sources: [Vec<String>; 2],
    settings: EntryFields,
    /// The zone, if it is only a guess.
    pub guess: Option<String>,
    /// The likely zone of names outside the zone in the file: they need an entry, and an answer, of their own.
    stray: Option<String>,
}

/// An answer that is missing in the file.
#[derive(Debug)]
pub struct MissingAnswer {
    /// The name for `--set`.
    pub name: String,
    /// The label, for people.
    pub label: String,
    /// Where to find the answer; empty if that is obvious.
    pub help: String,
    /// What is wrong with the value in the file; `None` if the file has no value.
    pub refused: Option<String>,
    /// Whether the answer is a secret.
    pub secret: bool,
}

/// The entries for the sections of a file. Sections and names that cannot become entries are noted.
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
            // One note is enough: do not report the settings of this section as well.
            section.fields.take_all(&file.globals);
        }
        let field = |name: &str| section.fields.get(name).map(str::to_owned);
        let Some(services) = field(".services") else { continue };
        let service = services.split(" / ").next().unwrap_or_default();
        section.add_to(file);
        let row = services.split(" / ").find_map(|name| table.row(name, &field));
        let request = match row {
            Some(ServiceRow::Recipe(..)) => None,
            _ => section.request.take().or_else(|| section.request_by(table)),
        };
        let (recipe, answers) = match (row, &request) {
            (Some(ServiceRow::Recipe(name, answers)), _) => {
                if !recipes.contains_key(name) {
                    let recipe = recipe::named(name).map_err(|_| format!("there is no recipe `{name}`"))?;
                    recipes.insert(name, Rc::new(recipe));
                }
                (Some(Rc::clone(&recipes[name])), answers)
            }
            (_, Some(_)) => (None, Vec::new()),
            (row, None) => {
                let why = match row {
                    Some(ServiceRow::Nothing(why)) => why,
                    _ => "the import does not know this service; `ddns recipes` lists what ddns knows",
                };
                // The settings of a section that is left out need no notes of their own.
                section.fields.take_all(&file.globals);
                let mut names = names.iter().flatten().map(|name| name.name.as_str()).collect::<Vec<_>>();
                names.dedup();
                let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
                file.left_out(section.line, &format!("{service}{names}"), why);
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
        // Keep both families of a host in one entry: some services remove an address that is missing in the request.
        let mut own: Vec<ImportedEntry> = Vec::new();
        for (family, names) in Family::ALL.into_iter().zip(&names) {
            for name in names {
                if let Some(entry) = draft.made(&section.fields, &answers, table, family, name, file) {
                    gather(&mut own, entry);
                }
                if own.len() > MAX_ENTRIES {
                    return Err(format!("it makes more than {MAX_ENTRIES} entries"));
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
    if all.is_empty() {
        // Everything is left out, so no shared setting needs a note of its own either.
        file.globals.take_all(&PeerSettings::default());
    }
    let count: usize = all.iter().flat_map(|entry| &entry.domains).map(Vec::len).sum();
    if count > MAX_DOMAINS {
        return Err(format!("there are {count} domains; an import takes {MAX_DOMAINS} at most"));
    }
    Ok(all)
}

/// Merges an entry into a compatible one, or adds it.
fn gather(all: &mut Vec<ImportedEntry>, entry: ImportedEntry) {
    match all.iter_mut().find(|known| known.takes_in(&entry)) {
        Some(known) => known.take_in(entry),
        None => all.push(entry),
    }
}

/// The full name for a name and its zone. The name may be `@`, `www` or `www.example.com`.
fn joined(name: &str, zone: Option<&str>) -> String {
    let name = name.strip_prefix("@.").unwrap_or(name).trim_end_matches('.');
    match zone {
        Some(zone) if name.is_empty() || name == "@" => zone.to_owned(),
        Some(zone) if !name.contains('.') => format!("{name}.{zone}"),
        _ => name.to_owned(),
    }
}

/// A mail address from another setting.
fn contact(fields: &PeerSettings) -> Option<String> {
    let is_address = |text: &str| text.split_once('@').is_some_and(|(_, host)| host.contains('.'));
    let mut known = CONTACTS.iter().filter_map(|name| fields.find(name));
    known.find(|field| is_address(&field.value)).map(|field| {
        field.mark();
        field.value.clone()
    })
}

impl ImportedEntry {
    /// An entry for one name, with the fields of this one. `gather` merges entries later. `asked` are the questions of the recipe, each
    /// with the setting that has its answer.
    fn made(
        &self,
        fields: &PeerSettings,
        asked: &[(&str, &str)],
        table: PeerTable,
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
        let written = joined(&own, known.as_deref());
        // What the file sends itself stays as it is.
        let is_kept = |name: &str| self.recipe.is_none() || name.is_ascii() || !is_composed(name);
        let plain = |name: &str| if is_kept(name) { name.to_owned() } else { ascii_name(name) };
        let (full, known) = (plain(&written), known.as_deref().map(plain));
        if let Some(recipe) = self.recipe.as_ref().filter(|recipe| !recipe.takes(family)) {
            let why = format!("{} takes no {family} addresses", recipe.title);
            file.left_out(self.line, &format!("{}: {full}", self.service), why);
            return None;
        }
        let Ok(domain) = Domain::parse(&full) else {
            file.left_out(self.line, &format!("{}: {full:?}", self.service), "it is not a domain name");
            return None;
        };
        if full != written {
            file.note(NotePart::Changed, self.line, &written, format!("`{full}`, as services write this name"));
        }
        let mut entry = self.clone();
        if let Err(mark) = put_parameters(&mut entry.request, table, &name.parameters) {
            let why = format!("`{mark}` in its request has no value; add one behind the domain, or remove it");
            file.left_out(self.line, &format!("{}: {full}", self.service), why);
            return None;
        }
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
                    let is_inside = domain.as_str() == zone || domain.as_str().ends_with(&format!(".{zone}"));
                    entry.stray = (!is_inside).then(|| likely_zone(domain.as_str()).to_owned());
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

    /// The name of the recipe; `None` if the file has its own request.
    pub fn recipe(&self) -> Option<&str> {
        self.recipe.as_ref().map(|recipe| recipe.name.as_str())
    }

    /// Whether a secret is part of the URL, and so cannot be in a file.
    pub(super) fn has_typed_secret(&self) -> bool {
        let is_typed = |recipe: &Rc<Recipe>| recipe.questions.iter().any(|it| it.secret && recipe.is_typed(&it.name));
        self.recipe.as_ref().is_some_and(is_typed)
    }

    /// Whether another entry can be merged into this one: service, answers, settings and sources must be the same (L8).
    fn takes_in(&self, other: &Self) -> bool {
        let has_sources = |family: Family| {
            let at = family.index();
            let is_free = self.domains[at].is_empty() || other.domains[at].is_empty();
            is_free || self.sources[at] == other.sources[at]
        };
        // One domain cannot have two sets of values in an entry.
        let extra_of = |entry: &Self, domain: &Domain| {
            let (_, rest) = entry.rest.iter().find(|(known, _)| known == domain)?;
            rest.iter().find(|(field, _)| *field == "extra").map(|(_, values)| values.clone())
        };
        let has_extra = |domain: &Domain| {
            let is_new = !self.domains.iter().flatten().any(|known| known == domain);
            is_new || extra_of(self, domain) == extra_of(other, domain)
        };
        self.recipe() == other.recipe()
            && self.request == other.request
            && self.settings == other.settings
            && self.answers == other.answers
            && self.stray == other.stray
            && other.own.iter().all(|(name, answer)| self.own.get(name).is_none_or(|known| known == answer))
            && (other.rest.is_empty() && self.rest.is_empty() || other.domains.iter().flatten().all(has_extra))
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

    /// The settings, for the report: without their values, since a proxy may contain a password.
    pub(super) fn named_settings(&self) -> Option<String> {
        let named = self.settings.iter().map(|(name, value)| match value {
            Value::Bool(false) if *name == "ssl" => "`ssl: false` (certificates are not verified)".to_owned(),
            _ => format!("`{name}`"),
        });
        let named = named.collect::<Vec<_>>().join(", ");
        (!named.is_empty()).then(|| format!("with {named}"))
    }

    /// The form with all valid answers, and what is wrong with the others. `None` if there is no recipe.
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

    /// The answers that are missing before the entry can be written. Fails if answers cannot help.
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

    /// Takes an answer instead of the one in the file. The error says why it is not valid.
    pub fn answer(&mut self, name: &str, value: &str) -> Result<(), String> {
        let (mut form, _) = self.form()?.ok_or("this entry has no questions: it is made without a recipe")?;
        form.set(name, value)?;
        self.set.push((name.to_owned(), value.to_owned()));
        if name == "zone" {
            self.guess = None;
        }
        Ok(())
    }

    /// The fields of a configuration, and the files for its secrets in `folder`, if there is one.
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

    /// The fields of an entry without a recipe, and the files for its secrets.
    fn plain(&self, folder: Option<&str>) -> (addition::NewEntry, TextPairs) {
        let mut secrets = Vec::new();
        let mut fields = vec![("dns".to_owned(), Value::string("callback"))];
        fields.extend(self.request.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        let extra = fields.iter_mut().find(|(name, _)| name == "extra");
        if let (Some(folder), Some((_, Value::Object(extra)))) = (folder, extra) {
            for member in extra {
                if let Value::String(text) = &member.node.value
                    && !text.is_empty()
                {
                    // A name from the file must not lead out of the folder.
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

/// The text of a configuration with these numbered entries, and the files for secrets in `folder`. The fields of a single entry
/// are at the top level.
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
        // `concurrency` is a field for the whole file.
        let strict = members.iter().find(|member| member.key == "concurrency" && fields.is_empty());
        fields.extend(strict.map(|member| (member.key.clone(), member.node.value.clone())));
    }
    if !is_single {
        fields.push(("providers".to_owned(), Value::list(all)));
    }
    fields.extend(settings.iter().cloned());
    Ok(Filled { text: starter::file(&above, &fields), secrets })
}
