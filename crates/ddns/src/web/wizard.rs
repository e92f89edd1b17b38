//! From a service to its configuration, step by step (H12): *Recipes* shows the text of it, set-up sends it once, saves it and
//! runs it. Every step is a form; what was typed goes from one to the next inside of it, never in an address.

use std::path::Path;

use ddns_core::address::local::is_private;
use ddns_core::address::observation::Observed;
use ddns_core::callback::Parcel;
use ddns_core::config::fields::Key;
use ddns_core::config::raw::{Origin, Raw};
use ddns_core::config::{Config, starter, value};
use ddns_core::net::family::Family;
use ddns_core::recipe::{self, Form, Recipe};
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::text::json::{Node, Value};
use ddns_core::update::Sendable;
use ddns_core::update::domain::Domain;
use ddns_core::web::addition::{self, Outside};

use super::pages::{GONE, frame};
use super::reply::{PageRequest, Reply};
use super::save;
use super::sent::{self, RedactedRequest};
use super::site::{Ask, Configured, Site};
use super::views::layout::Tab;
use super::views::parts::Tone;
use super::views::wizard::{self as view, FoundAddress, QuestionView, Responded, Typed, WizardForm, WizardMode};
use crate::clock::unix_time;
use crate::http::Client;
use crate::lookup::{look_up_entries, own_address};
use crate::steps;
use ddns_core::net::status::with_reason;

/// How many requests are sent at once to test whether the service accepts them.
const MAX_TEST_REQUESTS: usize = 2;

/// How many domains of one family a form names.
const MAX_DOMAINS: usize = 100;

/// The name that stands for no recipe.
const OWN: &str = "own";

fn mode(request: &PageRequest) -> WizardMode {
    if request.path == "/setup" { WizardMode::SetUp } else { WizardMode::Recipes }
}

fn page(request: &PageRequest, status: u16, content: &maud::Markup) -> Reply {
    let (title, tab) = match mode(request) {
        WizardMode::SetUp => ("Set-up", None),
        WizardMode::Recipes => ("Recipes", Some(Tab::Recipes)),
    };
    let mut frame = frame(request, title, tab);
    frame.is_live = false;
    Reply::page(status, frame.around(content))
}

/// The list of services, or the questions of one.
pub(super) async fn begin(site: &Site, request: &PageRequest) -> Reply {
    let Some(configured) = site.ask(Ask::Configured).await else { return Reply::text(503, GONE) };
    if mode(request) == WizardMode::SetUp && configured.set_up.is_none() {
        return Reply::see("/");
    }
    let Some(name) = request.queried("name") else {
        let word = request.queried("find").unwrap_or_default();
        let recipes: Vec<Recipe> = services().filter(|recipe| recipe.matches(word.trim())).collect();
        let target = configured.set_up.as_deref();
        return page(request, 200, &view::list(mode(request), word.trim(), &recipes, target));
    };
    let mut typed = Typed { name, ..Typed::default() };
    typed.sources = Family::ALL.map(suggested_source);
    ask(request, &typed, &[], None)
}

/// Takes answers, and goes on to what is left.
pub(super) async fn go_on(site: &Site, request: &PageRequest) -> Reply {
    let Some(configured) = site.ask(Ask::Configured).await else { return Reply::text(503, GONE) };
    if mode(request) == WizardMode::SetUp && configured.set_up.is_none() {
        return Reply::see("/");
    }
    let typed = typed(request);
    let text = match filled(request, &typed) {
        Ok(text) => text,
        Err(reply) => return reply,
    };
    if let Err(why) = addition::checked(&text) {
        return ask(request, &typed, &[], Some(&why));
    }
    match mode(request) {
        WizardMode::Recipes => recipe_done(site, request, &configured, &typed, &text).await,
        WizardMode::SetUp => match addition::first(&text, &configured.around) {
            Ok(config) => set_up(site, request, &configured, &typed, &text, &config).await,
            Err(why) => ask(request, &typed, &[], Some(&why)),
        },
    }
}

/// What a family's address comes from, most likely.
fn suggested_source(family: Family) -> String {
    let is_public = own_address(family).is_some_and(|ip| !is_private(ip));
    if is_public { "default" } else { "public" }.to_owned()
}

fn typed(request: &PageRequest) -> Typed {
    let field = |name: &str| request.field(name).unwrap_or_default();
    let answers = request.fields().into_iter();
    Typed {
        name: field("name"),
        domains: [field("ipv4"), field("ipv6")],
        sources: [field("index4"), field("index6")],
        address: field("id"),
        body: field("body"),
        answers: answers.filter_map(|(name, text)| Some((name.strip_prefix("answer.")?.to_owned(), text))).collect(),
    }
}

/// The recipes of services that receive updates.
fn services() -> impl Iterator<Item = Recipe> {
    recipe::built_in().filter(Recipe::has_entry)
}

/// One of them; the page that says why there is none otherwise.
fn service(request: &PageRequest, name: &str) -> Result<Recipe, Reply> {
    let why = match recipe::named(name) {
        Ok(recipe) if recipe.has_entry() && recipe.needs_file() => format!(
            "{} needs the file of a key, and the page names no files: run `ddns init --recipe {name}` on the host.",
            recipe.title
        ),
        Ok(recipe) if recipe.has_entry() => return Ok(recipe),
        Ok(recipe) => format!("{} receives notifications, no updates.", recipe.title),
        Err(wrong) => {
            // What a command would do is no help here.
            let hint =
                |hint: Option<&String>| hint.and_then(|hint| hint.split("`ddns recipes`").next()).map(str::to_owned);
            let why =
                |wrong: &Diagnostic| format!("{}. {}", wrong.message, hint(wrong.hint.as_ref()).unwrap_or_default());
            wrong.iter().map(why).collect()
        }
    };
    Err(page(request, 404, &view::unknown(mode(request), &why)))
}

/// The page with the questions; `wrong` are names of fields and what is wrong with each.
fn ask(request: &PageRequest, typed: &Typed, wrong: &[(String, String)], notice: Option<&str>) -> Reply {
    let status = if wrong.is_empty() && notice.is_none() { 200 } else { 422 };
    let (mode, token, own) = (mode(request), &request.token, Family::ALL.map(own_address));
    let filled = WizardForm { mode, typed, wrong, problem: notice, token, own };
    if typed.name == OWN {
        return page(request, status, &view::own(&filled));
    }
    let recipe = match service(request, &typed.name) {
        Ok(recipe) => recipe,
        Err(reply) => return reply,
    };
    // Without domains a form knows only what is asked once.
    let domains = parsed_domains(&recipe, typed).unwrap_or_default();
    let form = match Form::new(&recipe, domains) {
        Ok(form) => form,
        Err(why) => return page(request, 404, &view::unknown(mode, &why)),
    };
    let slots = form.unanswered();
    let asked = slots.iter().filter_map(|slot| {
        let question = form.question(slot)?;
        let name = slot.to_string();
        let known = typed.answers.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
        let why = wrong.iter().find(|(known, _)| *known == format!("answer.{name}")).map(|(_, why)| why.clone());
        Some(QuestionView {
            label: form.label(slot),
            help: question.help.clone(),
            is_secret: question.secret,
            value: known.or_else(|| form.suggested(slot)).unwrap_or_default(),
            wrong: why,
            name,
        })
    });
    let asked: Vec<QuestionView> = asked.collect();
    page(request, status, &view::questions(&filled, &recipe, &asked))
}

/// The items in the list of a family; what is wrong otherwise: the field and why.
fn listed(typed: &Typed, family: Family) -> Result<Vec<Node>, (String, String)> {
    let items = value::list(&typed.domains[family.index()]).unwrap_or_default();
    if items.len() <= MAX_DOMAINS {
        return Ok(items);
    }
    let why = format!("Name {MAX_DOMAINS} domains at most, and add the others to the file.");
    Err((["ipv4", "ipv6"][family.index()].to_owned(), why))
}

/// The domains of the families that a service takes; what is wrong otherwise: the field and why.
fn parsed_domains(recipe: &Recipe, typed: &Typed) -> Result<[Vec<Domain>; 2], (String, String)> {
    let mut domains: [Vec<Domain>; 2] = Default::default();
    for family in Family::ALL.into_iter().filter(|family| recipe.takes(*family)) {
        let field = ["ipv4", "ipv6"][family.index()];
        for item in listed(typed, family)? {
            let text = item.value.text().unwrap_or_default();
            let wrong = |why| (field.to_owned(), format!("{text} is not a domain name: {why}"));
            domains[family.index()].push(Domain::parse(text).map_err(|why| wrong(why.to_string()))?);
        }
    }
    Ok(domains)
}

/// The text that the answers make; the page that asks for what is missing otherwise.
fn filled(request: &PageRequest, typed: &Typed) -> Result<String, Reply> {
    if typed.name == OWN {
        return own_text(request, typed);
    }
    let recipe = service(request, &typed.name)?;
    let domains = parsed_domains(&recipe, typed).map_err(|wrong| ask(request, typed, &[wrong], None))?;
    if domains.iter().all(Vec::is_empty) {
        let first = Family::ALL.into_iter().find(|family| recipe.takes(*family)).map_or(0, Family::index);
        let wrong = (["ipv4", "ipv6"][first].to_owned(), "Name at least one domain.".to_owned());
        return Err(ask(request, typed, &[wrong], None));
    }
    let mut form = Form::new(&recipe, domains).map_err(|why| ask(request, typed, &[], Some(&why)))?;
    form.check_domains().map_err(|why| ask(request, typed, &[], Some(&why)))?;
    answer(&mut form, typed).map_err(|wrong| ask(request, typed, &wrong, None))?;
    let mut settings = Vec::new();
    for (family, name) in Family::ALL.into_iter().zip(["index4", "index6"]) {
        let source = typed.sources[family.index()].trim();
        let is_needed = recipe.takes(family) && !typed.domains[family.index()].trim().is_empty();
        let source = if source.is_empty() { "default" } else { source };
        // Where it is added to a file, it would inherit another one.
        if is_needed && (source != "default" || mode(request) == WizardMode::Recipes) {
            settings.push((name.to_owned(), Value::string(source)));
        }
    }
    Ok(form.configuration(&settings, None).text)
}

/// Takes the answers that are there; fails with what is missing or wrong.
fn answer(form: &mut Form<'_>, typed: &Typed) -> Result<(), Vec<(String, String)>> {
    let mut wrong = Vec::new();
    for slot in form.unanswered() {
        let name = slot.to_string();
        let given = typed.answers.iter().find(|(known, _)| *known == name).map(|(_, text)| text.trim());
        let default = form.question(&slot).and_then(|question| question.default.clone());
        let text = given.filter(|text| !text.is_empty()).map(str::to_owned).or(default);
        let taken = match (text, given) {
            (Some(text), _) => form.answer(&slot, &text),
            (None, Some(_)) => Err("This is needed.".to_owned()),
            // It was not asked yet.
            (None, None) => Err(String::new()),
        };
        if let Err(why) = taken {
            wrong.push((format!("answer.{name}"), why));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// The text for an address of the user's own, without a recipe.
fn own_text<'a>(request: &PageRequest, typed: &'a Typed) -> Result<String, Reply> {
    let mut settings = Raw::default();
    let usual = if mode(request) == WizardMode::Recipes { "default" } else { "" };
    let source = |typed: &'a String| if typed.trim().is_empty() { usual } else { typed.as_str() };
    let texts = [
        (Key::Id, typed.address.as_str()),
        (Key::Token, &typed.body),
        (Key::Ipv4, &typed.domains[0]),
        (Key::Ipv6, &typed.domains[1]),
        (Key::Index4, source(&typed.sources[0])),
        (Key::Index6, source(&typed.sources[1])),
    ];
    for (key, text) in texts.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        settings.set(key, Node::synthetic(Value::string(text.trim())), Origin::Option(String::new()));
    }
    let mut wrong = Vec::new();
    if typed.address.trim().is_empty() {
        wrong.push(("id".to_owned(), "This is needed.".to_owned()));
    }
    if starter::lacks_domains(&settings) {
        wrong.push(("ipv4".to_owned(), "Name at least one domain.".to_owned()));
    }
    wrong.extend(Family::ALL.into_iter().filter_map(|family| listed(typed, family).err()));
    if let (true, Err(all)) = (wrong.is_empty(), starter::checked(&settings)) {
        let why: Vec<String> = all.into_iter().map(|diagnostic| diagnostic.message).collect();
        return Err(ask(request, typed, &[], Some(&why.join("; "))));
    }
    if wrong.is_empty() { Ok(starter::text(&settings)) } else { Err(ask(request, typed, &wrong, None)) }
}

/// Shows the text, and adds it to a file where that is wanted.
async fn recipe_done(site: &Site, request: &PageRequest, configured: &Configured, typed: &Typed, text: &str) -> Reply {
    let file = configured.local_file(0).filter(|_| site.web.borrow().allow_edit);
    let shown = |status, notice| {
        let content = view::recipe_done(typed, text, file.map(String::as_str), notice, &request.token);
        page(request, status, &content)
    };
    let Some(name) = file.cloned().filter(|_| request.field("step").as_deref() == Some("add")) else {
        return shown(200, None);
    };
    let (addition, outside) = (text.to_owned(), Outside::of(&configured.around));
    let added = site.aside(move || {
        let of_file = |why: String| format!("{name} {why}");
        let opened = save::open(&name).map_err(of_file)?;
        let new = addition::appended(&opened.text, &addition, &outside)?;
        save::replace(&name, &opened.version, &new).map_err(|refused| match refused {
            save::Refused::Changed => of_file("was changed on the host at the same moment".to_owned()),
            save::Refused::Failed(why) => of_file(why),
        })
    });
    if let Err(why) = added.await.unwrap_or_else(|| Err(GONE.to_owned())) {
        return shown(422, Some((Tone::Bad, format!("Nothing was added: {why}."))));
    }
    match site.ask(Ask::Reload).await {
        None => Reply::text(503, GONE),
        Some(errors) if errors.is_empty() => Reply::see("/configuration"),
        Some(errors) => shown(
            500,
            Some((
                Tone::Bad,
                format!("It was added, but the service keeps the previous configuration: {}", errors.join("; ")),
            )),
        ),
    }
}

/// The last step of set-up: what was found, what would be sent, what came back, and saving it.
async fn set_up(
    site: &Site,
    request: &PageRequest,
    configured: &Configured,
    typed: &Typed,
    text: &str,
    config: &Config,
) -> Reply {
    let step = request.field("step");
    let target = configured.set_up.as_deref().unwrap_or_default();
    let mut notice = None;
    if step.as_deref() == Some("save") {
        match save_first(site, target, text).await {
            Ok(()) => return Reply::see("/"),
            Err(why) => notice = Some((Tone::Bad, why)),
        }
    }
    let client = Client::default();
    let lookups = look_up_entries(&[config], [None; 2], &client).await;
    let mut found: Vec<FoundAddress> = Vec::new();
    let mut observed = [None; 2];
    for family in Family::ALL {
        let Some(lookup) = lookups.iter().find_map(|pair| pair[family.index()].as_ref()) else { continue };
        observed[family.index()] = lookup.observed();
        let result = match lookup.found() {
            Some((source, choice)) => Ok((choice.ip.to_string(), source.to_owned(), choice.why.clone())),
            None => Err(lookup.failed().map(|(source, why)| format!("{source}: {why}")).collect()),
        };
        found.push(FoundAddress { family, result });
    }
    let addresses = observed.map(|found| found.map(Observed::ip));
    let (requests, total) = sent::first(view::MAX_REQUESTS, config, addresses, unix_time());
    let mut responses = Vec::new();
    if step.as_deref() == Some("send") {
        let mut left = MAX_TEST_REQUESTS;
        for sent in &requests {
            let is_tried = sent.missing.is_empty() && left > 0;
            left -= usize::from(is_tried);
            responses.push(match &sent.missing[..] {
                [] if is_tried => Some(send_once(config, sent, observed, &client).await),
                [] => None,
                missing => Some(Responded::Unsent(without(missing))),
            });
        }
    }
    let content = view::set_up(typed, target, &found, (&requests, total), &responses, notice, &request.token);
    page(request, 200, &content)
}

/// Why a request is not sent.
fn without(missing: &[Family]) -> String {
    let families: Vec<String> = missing.iter().map(Family::to_string).collect();
    format!("there is no {} address here", families.join(" and no "))
}

/// Sends a request, and says what came back.
async fn send_once(
    config: &Config,
    sent: &RedactedRequest,
    observed: [Option<Observed>; 2],
    client: &Client,
) -> Responded {
    let secrets = config.secrets();
    let entry = &config.entries[sent.entry];
    let updates = sent.members.iter().filter_map(|(family, place)| {
        Some(entry.sendable(&entry.domains_of(*family)[*place], *family, observed[family.index()]?))
    });
    let updates: Vec<Sendable<'_>> = updates.collect();
    let Some(parcel) = Parcel::of(updates.iter().copied()) else { return Responded::Unsent(without(&Family::ALL)) };
    match steps::send_once((entry, &secrets), &parcel, unix_time().into(), client).await {
        Err(why) => Responded::Unanswered(why),
        Ok((is_accepted, status, texts)) => {
            let body = secrets.mask(&texts.join("\n")).into_owned();
            Responded::Response { is_accepted, status: with_reason(status), body }
        }
    }
}

/// Writes the first configuration and runs it; fails with a sentence, and leaves no file then.
async fn save_first(site: &Site, target: &str, text: &str) -> Result<(), String> {
    let path = Path::new(target);
    save::create(path, text).map_err(|why| format!("Nothing was saved: {target} {why}."))?;
    let Some(errors) = site.ask(Ask::Reload).await else { return Err(GONE.to_owned()) };
    if errors.is_empty() {
        return Ok(());
    }
    let _ = std::fs::remove_file(path);
    Err(format!("Nothing was saved: {}", errors.join("; ")))
}
