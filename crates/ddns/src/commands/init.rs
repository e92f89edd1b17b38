//! `ddns init`: from an empty folder to a configuration: asks what no option answers, tries the source of the address,
//! writes a commented file and shows what would be sent. Sends no callback. What is asked and what an answer means is
//! decided in the core.

mod recipe;

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::net::IpAddr;
use std::path::PathBuf;

use ddns_core::address::local::is_private;
use ddns_core::address::observation::doubtful;
use ddns_core::address::source::Source;
use ddns_core::callback::Batch;
use ddns_core::callback::USER_AGENT;
use ddns_core::config::fields::Key;
use ddns_core::config::interview::{Interview, QuestionSubject};
use ddns_core::config::raw::{Origin, Raw};
use ddns_core::config::validate::Valid;
use ddns_core::config::{Config, Entry, starter};
use ddns_core::net::family::Family;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::json::{Node, Value};
use ddns_core::text::shell;
use ddns_core::update::Update;

use crate::cli::Given;
use crate::clock::unix_time;
use crate::environment::Environment;
use crate::hidden_prompt;
use crate::http::Client;
use crate::lookup::{Query, look_up, own_address};
use crate::open_file::create;
use crate::output::layout::{broken, width_of};
use crate::output::{Ended, complain, fail, print, put, say};

/// Shown where no address was found: addresses for documentation.
const SPARE: [&str; 2] = ["203.0.113.7", "2001:db8::7"];

const INTRO: &str = "A few questions. Enter accepts the suggestion in [brackets]. Nothing is sent, and nothing is written \
                     before the end.";

/// What was found out about a family: which sources were tried, and the address that they gave.
#[derive(Default)]
struct Looked {
    sources: Vec<Source>,
    ip: Option<IpAddr>,
}

impl Looked {
    /// Whether sources were tried, and gave no address.
    fn is_missing(&self) -> bool {
        !self.sources.is_empty() && self.ip.is_none()
    }

    fn named(&self) -> String {
        self.sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// The file that is to be written.
struct OutputFile {
    /// As the user named it.
    name: String,
    path: PathBuf,
}

/// Asks, looks, writes and shows. 2 where an answer is missing or wrong or the file is there already; 1 where the
/// conversation was broken off or the file cannot be written.
pub(crate) async fn run(given: Given) -> Ended {
    let target = OutputFile::of(&given)?;
    let may_ask = !given.has("yes") && io::stdin().is_terminal() && io::stdout().is_terminal();
    if let Some(name) = given.value("recipe") {
        return recipe::run(name, &given, &target, may_ask).await.map(|text| print(&text));
    }
    let is_alone = |option: &&'static str| given.has(option) && (*option != "set" || !given.has("notify-recipe"));
    if let Some(option) = ["set", "secrets", "offline"].into_iter().find(is_alone) {
        let message = format!("--{option} belongs to a recipe");
        return Err(wrong(&message, "add --recipe NAME; `ddns recipes` lists them"));
    }
    let takes_suggestions = given.has("yes");
    let notify = notify(&given, may_ask)?;
    let mut settings = given.settings.options;
    if let Some(value) = notify {
        settings.set(Key::Notify, Node::synthetic(value), Origin::Option("--notify-recipe".to_owned()));
    }
    let missing = starter::missing(&settings);
    checked(&settings)?;
    if !missing.is_empty() && !may_ask {
        return Err(unanswered(&missing, takes_suggestions));
    }
    let client = Client::default();
    let mut interview = Interview::new(settings, Family::ALL.map(own_address));
    let mut looked: [Looked; 2] = Default::default();
    if !missing.is_empty() {
        converse(&mut interview, &mut looked, &client, INTRO).await?;
    } else if takes_suggestions {
        interview.take_suggestions();
    }
    let valid = checked(interview.settings())?;
    look_all(&valid, &mut looked, &client).await;
    target.write(&starter::text(interview.settings()))?;
    Ok(print(&shown(&target, &valid.0, &looked)))
}

/// What the settings mean. Fails, having printed why, with the exit status.
fn checked(settings: &Raw) -> Result<Valid, u8> {
    starter::checked(settings).map_err(|wrong| complain(&wrong))
}

fn wrong(message: &str, hint: &str) -> u8 {
    complain(&[Diagnostic::error(Place::Nowhere, message).hint(hint)])
}

/// Shows the warnings about a configuration, and looks up what it needs.
async fn look_all((config, warnings): &Valid, looked: &mut [Looked; 2], client: &Client) {
    for warning in warnings {
        say(&(warning.shown() + "\n"));
    }
    for entry in &config.entries {
        for family in Family::ALL.into_iter().filter(|family| !entry.domains_of(*family).is_empty()) {
            look(entry, family, &mut looked[family.index()], client).await;
        }
    }
}

/// The value of `notify` that --notify-recipe makes. Fails, having printed why, with the exit status.
fn notify(given: &Given, may_ask: bool) -> Result<Option<Value>, u8> {
    let Some(recipe) = recipe::notify_recipe(given)? else { return Ok(None) };
    let form = recipe::notify_form(&recipe, given, recipe::Manner::of(given, may_ask))?;
    Ok(Some(form.notification(None).0))
}

/// `--new-config`: a commented template, with the values of the options in it.
pub(crate) fn template(given: &Given) -> Ended {
    let target = OutputFile::of(given)?;
    let settings = &given.settings.options;
    checked(settings)?;
    target.write(&starter::text(settings))?;
    let is_whole = starter::missing(settings).is_empty();
    let next = if is_whole { "" } else { " Put your own address and domains into it." };
    Ok(print(&format!("Wrote {}: only you can read it.{next}\n", target.name)))
}

/// The error where an option is missing and questions cannot be asked.
fn unanswered(missing: &[&str], takes_suggestions: bool) -> u8 {
    let why = if takes_suggestions { "there is no suggestion for it" } else { "there is no terminal to ask on" };
    let message = format!("`ddns init` needs {}: {why}", missing.join(" and "));
    let example = "ddns init --id 'https://example.com/update?name=__DOMAIN__&ip=__IP__' --ipv4 home.example.com";
    wrong(&message, &format!("e.g. {example}"))
}

/// Asks what is left to ask. Fails where the answers end.
async fn converse(interview: &mut Interview, looked: &mut [Looked; 2], client: &Client, intro: &str) -> Result<(), u8> {
    let width = width_of(io::stdout());
    show(&broken(intro, 0, width));
    while let Some(question) = interview.question() {
        let suggested = question.suggested.map(|text| format!(" [{text}]")).unwrap_or_default();
        show(&format!("\n{}{}{suggested}: ", broken(&question.why, 0, width), question.asks));
        match interview.answer(&line()?) {
            Ok(warnings) => warnings.iter().for_each(|warning| show(&broken(&format!("Note: {warning}"), 2, width))),
            Err(why) => {
                why.lines().for_each(|line| show(&broken(&format!("Not possible: {line}"), 2, width)));
                continue;
            }
        }
        let QuestionSubject::Source(family) = question.subject else { continue };
        let Ok((config, _)) = starter::checked(interview.settings()) else { continue };
        let Some(entry) = config.entries.first() else { continue };
        let is_new = looked[family.index()].sources != entry.sources_of(family);
        look(entry, family, &mut looked[family.index()], client).await;
        if is_new && looked[family.index()].ip.is_none() && !entry.sources_of(family).is_empty() {
            interview.reconsider(family);
        }
    }
    Ok(())
}

fn show(text: &str) {
    let _ = put(text);
}

/// Reads an answer; fails at the end of the input.
fn line() -> Result<String, u8> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_until(b'\n', &mut bytes);
    // What is not text is refused: the control character makes it a wrong answer.
    let text = String::from_utf8(bytes).unwrap_or_else(|_| "\0".to_owned());
    answered(read.map(|length| (length > 0).then_some(text)))
}

/// Asks for an answer that must not be seen.
fn secret_line(question: &str) -> Result<String, u8> {
    answered(hidden_prompt::line(|| show(question)))
}

/// An answer that was read. The end of the input ends the conversation.
fn answered(read: io::Result<Option<String>>) -> Result<String, u8> {
    let why = match read {
        Ok(Some(line)) => return Ok(line),
        Ok(None) => "the input ended before the last question".to_owned(),
        Err(error) => format!("the answer cannot be read ({error})"),
    };
    say("\n");
    Err(fail(&format!("{why}: nothing was written")))
}

/// Looks up the address of a family and shows the result; not again for sources that were tried before.
async fn look(entry: &Entry, family: Family, looked: &mut Looked, client: &Client) {
    if looked.sources == entry.sources_of(family) {
        return;
    }
    *looked = Looked { sources: entry.sources_of(family).to_vec(), ip: None };
    let lookup = look_up(Query::new(entry, family), client).await;
    let width = width_of(io::stdout());
    for (source, why) in lookup.failed() {
        show(&broken(&format!("{family}: no address from {source}: {why}"), 2, width));
    }
    if let Some((source, choice)) = lookup.found() {
        show(&broken(&format!("{family}: {} from {source}: {}", choice.ip, choice.why), 2, width));
        if is_private(choice.ip) {
            let hint = "It is private: it cannot be reached from outside. `public` gives the router's.";
            show(&broken(hint, 2, width));
        }
        if let Some(why) = doubtful(choice.ip) {
            show(&broken(&format!("Warning: {why}."), 2, width));
        }
        looked.ip = Some(choice.ip);
    }
}

impl OutputFile {
    /// The file behind the command, or behind `-c`; none that is there already.
    fn of(given: &Given) -> Result<Self, u8> {
        let name = match (given.word(), given.settings.files.as_slice()) {
            (Some(name), []) => name,
            (None, [name]) => name.as_str(),
            (None, []) => "config.json",
            _ => return Err(wrong("only one file is written, but several are named", "name one: `ddns init FILE`")),
        };
        if name.contains("://") {
            return Err(wrong("the file to write cannot be an address", "pass the address of the endpoint with --id"));
        }
        let path = Environment::read().path(name);
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                let hint = format!("name a file in it: {}", path.join("config.json").display());
                Err(wrong(&format!("{name} is a folder"), &hint))
            }
            Ok(_) => Err(taken(name)),
            Err(_) => Ok(Self { name: name.to_owned(), path }),
        }
    }

    /// Writes a new file that nobody else can read; never takes the place of one. Fails, having printed why, with the exit
    /// status.
    fn write(&self, text: &str) -> Result<(), u8> {
        create(&self.path, text).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => taken(&self.name),
            _ => fail(&format!("{} cannot be written ({error}): there is no new file", self.name)),
        })
    }
}

fn taken(name: &str) -> u8 {
    wrong(&format!("{name} already exists and is not overwritten"), "name another file, or move this one away")
}

/// What was written, what it sends, and how to go on.
fn shown(target: &OutputFile, config: &Config, looked: &[Looked; 2]) -> String {
    let width = width_of(io::stdout());
    let mut text = format!("\nWrote {}: only you can read it.\n", target.name);
    for entry in &config.entries {
        let families = |request: &[(Family, usize)]| Family::ALL.map(|own| request.iter().any(|(of, _)| *of == own));
        let mut requests = entry.requests();
        while let Some(first) = requests.first().cloned() {
            let before = requests.len();
            requests.retain(|request| families(request) != families(&first));
            let alike = before - requests.len() - 1;
            let update = |(family, place): &(Family, usize)| {
                let ip = looked[family.index()].ip.or_else(|| SPARE[family.index()].parse().ok())?;
                Some(entry.update(&entry.domains_of(*family)[*place], *family, ip))
            };
            let updates: Vec<Update<'_>> = first.iter().filter_map(update).collect();
            let is_found = first.iter().all(|(family, _)| looked[family.index()].ip.is_some());
            let note = if is_found { "" } else { " (an example: no address was found)" };
            let about = updates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            text += "\n";
            text += &broken(&format!("What is sent for {about}{note}; what you typed shows as ***:"), 0, width);
            text += "\n";
            text += &sent(entry, &updates);
            if alike > 0 {
                text += &format!("\nAnd the same for {alike} more.\n");
            }
        }
    }
    let file = if target.name == "config.json" { String::new() } else { format!(" -c {}", shell::quote(&target.name)) };
    for family in Family::ALL.into_iter().filter(|family| looked[family.index()].is_missing()) {
        let (index, sources) = (["index4", "index6"][family.index()], looked[family.index()].named());
        let note = format!("No {family} address was found. The file still says {sources} (`{index}`): try it with");
        let again = format!("`ddns addresses{file}`, or change it there. Until it gives an address, nothing is sent.");
        text += "\n";
        text += &broken(&format!("{note} {again}"), 0, width);
    }
    let mut next = vec![(format!("ddns preview{file}"), "show every request, send none")];
    if io::stdout().is_terminal() && config.entries.iter().any(|entry| !entry.callback.steps().is_empty()) {
        next.push((format!("ddns preview --lookup{file}"), "ask the service which record would be changed"));
    }
    next.push((format!("ddns{file}"), "look up the address, send what changed"));
    if !config.notify.is_empty() {
        next.push((format!("ddns notify{file}"), "send each notification once, to try it"));
    }
    let column = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    text += "\nNext:\n";
    text.extend(next.iter().map(|(command, what)| format!("  {command:<column$}   {what}\n")));
    text
}

/// The request of updates as it may be shown.
fn sent(entry: &Entry, updates: &[Update<'_>]) -> String {
    let Some(request) = Batch::of(updates) else { return String::new() };
    let lines = match entry.callback.redacted(request, unix_time(), USER_AGENT, false) {
        Ok(request) => request.lines(),
        Err(why) => return format!("    nothing: {why}\n"),
    };
    let mut text: String = lines.iter().flat_map(|line| ["    ", line, "\n"]).collect();
    if !updates.iter().any(|update| text.contains(&update.ip.to_string())) {
        text += "\nThe address is not part of it: neither `id` nor `token` contains __IP__.\n";
    }
    text.replace("    \n", "\n")
}
