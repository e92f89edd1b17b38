//! `ddns init`: from an empty folder to a configuration and its first accepted update. Asks what no option answers,
//! looks up addresses, shows the requests, sends them once if the user agrees, and writes a commented file. The core
//! decides what to ask and what an answer means.

mod dialog;
mod push;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::absolute;

use ddns_core::address::source::Source;
use ddns_core::config::fields::Key;
use ddns_core::config::validate::Valid;
use ddns_core::config::{Config, Entry, starter};
use ddns_core::net::family::Family;
use ddns_core::net::reach::doubtful;
use ddns_core::net::reach::is_private;
use ddns_core::recipe::{Filled, Recipe, named};
use ddns_core::set_up::{SetUp, SetUpQuestion};
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::text::shell;

use crate::cli::ParsedArgs;
use crate::clock::unix_time;
use crate::commands::new_file::{NewFile, unwritable};
use crate::commands::recipes::load;
use crate::environment::Environment;
use crate::http::Client;
use crate::load::{read_text, validate_new};
use crate::lookup::{Query, look_up};
use crate::open_file::check_creatable;
use crate::output::layout::{broken, width_of};
use crate::output::{Ended, complain, fail, print, put, refuse};
use crate::set_up::{install_command, own_addresses, requests};
use dialog::{Dialog, SendChoice};

const EXAMPLE: &str = "e.g. ddns init --id 'https://example.com/update?name=__DOMAIN__&ip=__IP__' --ipv4 home.example.com, or \
     with one of `ddns recipes`: ddns init --recipe duckdns --ipv4 home.duckdns.org";
/// How many requests are rendered to show them.
const MAX_REQUESTS: usize = 10;

/// The sources of a family that were tried, and the address that they returned.
#[derive(Default)]
struct Looked {
    sources: Vec<Source>,
    ip: Option<IpAddr>,
}

/// The lookups of both families, by [`Family::index`].
type BothLooked = [Looked; 2];

/// Exits with 2 if an answer is missing or wrong, or the file already exists; with 1 if the user breaks off, or the
/// file cannot be written.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    if let Some(router) = given.value("push") {
        return push::explain(router);
    }
    let (environment, client) = (Environment::read(), Client::default());
    let target = target(&given, &environment)?;
    let folder = given.value("secrets").map(|folder| absolute(environment.path(folder)));
    let folder =
        folder.transpose().map_err(|error| fail(&format!("the folder for secrets cannot be used ({error})")))?;
    if let Some(folder) = &folder {
        check_creatable(&folder.join("secret")).map_err(|error| unwritable(&folder.to_string_lossy(), &error))?;
    }
    let folder = folder.as_ref().map(|folder| folder.to_string_lossy());
    let (is_yes, is_offline) = (given.has("yes"), given.has("offline"));
    let may_ask = !is_yes && is_somebody_there();
    let mut set_up = begun(&given, may_ask)?;
    let is_talk = may_ask && (set_up.needs_service() || !set_up.is_begun());
    if !is_talk && !is_yes {
        set_up.ask_little();
    }
    let mut dialog = Dialog::new(&client, is_offline);
    if may_ask && (set_up.needs_service() || set_up.question().is_some()) {
        dialog.begin();
    } else if let Some(code) = unanswered(&mut set_up, &given, is_yes) {
        return Err(code);
    }
    loop {
        dialog.ask_all(&mut set_up).await?;
        // The text to check and show contains its secrets: their files do not exist yet.
        let whole = set_up.configuration(None).map_err(|why| vec![Diagnostic::error(Place::Nowhere, why)]);
        let valid = match whole.and_then(|filled| validate_new(&target.name, &filled.text, &environment)) {
            Ok(valid) => valid,
            Err(wrong) if dialog.goes_back(&mut set_up, &wrong) => continue,
            Err(wrong) => return Err(complain(&wrong)),
        };
        if !is_offline {
            look_all(&valid, &mut dialog.looked, &client).await;
        }
        dialog.tell_rules(&set_up);
        show(&shown(&set_up.disclosed(&valid.0, &[]), &dialog.looked, is_offline));
        if let SendChoice::GoBack(count) = dialog.send(valid.clone(), &environment).await {
            for _ in 0..count {
                set_up.back();
            }
            continue;
        }
        let filled = set_up.configuration(folder.as_deref()).map_err(|why| fail(&why))?;
        target.write(&filled)?;
        return Ok(print(&ending(&target, &filled, &valid.0, &dialog.looked)));
    }
}

/// Whether somebody can answer: at a terminal, or at the other end of a pipe (`ssh host ddns init`).
fn is_somebody_there() -> bool {
    let is_pipe = |kind: fs::FileType| kind.is_fifo() || kind.is_socket();
    io::stdin().is_terminal() || fs::metadata("/dev/stdin").is_ok_and(|input| is_pipe(input.file_type()))
}

/// The questions, with the answers that options give. Prints errors, and fails with the exit status.
fn begun(given: &ParsedArgs, may_ask: bool) -> Result<SetUp, u8> {
    let options = given.settings.options.clone();
    let recipe = given.value("recipe").map(load).transpose().map_err(|wrong| complain(&wrong))?;
    let is_alone = |option: &&'static str| match *option {
        "set" => given.has("set") && recipe.is_none() && !given.has("notify-recipe"),
        option => given.has(option) && recipe.is_none() && (!may_ask || !starter::lacks_address(&options)),
    };
    if let Some(option) = ["set", "secrets"].into_iter().find(is_alone) {
        return Err(refuse(format!("--{option} belongs to a recipe"), "add --recipe NAME; `ddns recipes` lists them"));
    }
    starter::checked(&options).map_err(|wrong| complain(&wrong))?;
    let is_own = !starter::lacks_address(&options) || !may_ask;
    let set_up = SetUp::new(options, own_addresses()).with_notify(notify_recipe(given)?);
    let mut set_up = match recipe {
        Some(recipe) => with_recipe(set_up, recipe, given)?,
        None if is_own => set_up.with_own(),
        None => set_up,
    };
    for assignment in given.values("set") {
        let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
        let name = name.trim();
        let value = if set_up.is_file(name) { key_file(value) } else { Ok(value.to_owned()) };
        let set = value.map_err(|why| (why, name.to_owned())).and_then(|value| set_up.set(name, &value));
        set.map_err(|(why, meant)| refuse(format!("--set: {why}"), format!("e.g. --set {meant}=…")))?;
    }
    Ok(set_up)
}

fn with_recipe(set_up: SetUp, recipe: Recipe, given: &ParsedArgs) -> Result<SetUp, u8> {
    for key in [Key::Id, Key::Endpoint, Key::Token] {
        if given.settings.options.get(key).is_some() {
            return Err(refuse("--recipe already says what is sent", "leave out --id, --endpoint and --token"));
        }
    }
    if !recipe.has_entry() {
        let message = format!("{} receives notifications, no updates", recipe.title);
        return Err(refuse(&message, "use --notify-recipe, with the --recipe of your service or with --id"));
    }
    let hint = format!("`ddns recipes show {}` has what it takes", recipe.name);
    set_up.with_recipe(recipe).map_err(|why| refuse(&why, &hint))
}

/// The recipe of --notify-recipe.
fn notify_recipe(given: &ParsedArgs) -> Result<Option<Recipe>, u8> {
    let Some(name) = given.value("notify-recipe") else { return Ok(None) };
    let recipe = load(name).map_err(|wrong| complain(&wrong))?;
    if recipe.has_notification() {
        return Ok(Some(recipe));
    }
    let hint = "`ddns recipes notification` lists those that do";
    Err(refuse(format!("the recipe `{name}` makes no notifications"), hint))
}

/// Accepts the suggestions if nobody can answer. Returns the exit status if an answer is still missing.
fn unanswered(set_up: &mut SetUp, given: &ParsedArgs, is_yes: bool) -> Option<u8> {
    let left = set_up.take_suggestions(is_yes);
    let basic = [("id", "--id"), ("domains", "--ipv4 or --ipv6")];
    let is_left = |(name, _): &(&str, &str)| left.iter().any(|question| question.name == *name);
    let mut missing: Vec<String> = basic.into_iter().filter(is_left).map(|(_, option)| option.to_owned()).collect();
    let is_basic = !missing.is_empty();
    let why = if is_yes && is_basic { "there is no suggestion for it" } else { "there is no terminal to ask on" };
    let recipe = set_up.recipe().map(|recipe| recipe.name.clone());
    let option = |question: &SetUpQuestion| {
        let of_notify = Some(question.name.as_str()).filter(|name| name.starts_with("notify."));
        let own = recipe.as_deref().and_then(|recipe| question.name.strip_prefix(recipe)?.strip_prefix('.'));
        let name = own.or(of_notify)?;
        Some(format!("--set {name}=… ({})", question.label))
    };
    if !is_basic {
        missing.extend(left.iter().filter_map(option));
    }
    let hint = match given.value("recipe") {
        _ if missing.is_empty() => return None,
        Some(_) if is_basic => "e.g. --ipv4 home.example.com".to_owned(),
        Some(name) => format!("`ddns recipes show {name}` explains it"),
        None if is_basic => EXAMPLE.to_owned(),
        None => "`ddns recipes` lists what each of them asks for".to_owned(),
    };
    let message = format!("`ddns init` needs {}: {why}", missing.join(if is_basic { " and " } else { ", " }));
    Some(refuse(&message, &hint))
}

/// The absolute path of a file, or why the file cannot be read.
fn key_file(path: &str) -> Result<String, String> {
    let path = absolute(Environment::read().path(path.trim()));
    let path = path.map_err(|error| format!("the path is not possible ({error})"))?.to_string_lossy().into_owned();
    read_text(&path).map(|_| path.clone()).map_err(|why| format!("the file {path} {why}"))
}

fn show(text: &str) {
    let _ = put(text);
}

/// Shows a text, wrapped to the width of the terminal.
fn show_broken(text: &str, indent: usize) {
    show(&broken(text, indent, width_of(io::stdout())));
}

/// Shows the warnings about a configuration, and looks up its addresses.
async fn look_all((config, warnings): &Valid, looked: &mut BothLooked, client: &Client) {
    for warning in warnings {
        // Without its place: the file does not exist yet.
        let hint = warning.hint.as_deref().map(|hint| format!("; {hint}")).unwrap_or_default();
        show_broken(&format!("Warning: {}{hint}.", warning.message), 0);
    }
    for entry in &config.entries {
        for family in Family::ALL.into_iter().filter(|family| !entry.domains_of(*family).is_empty()) {
            look(entry, family, &mut looked[family.index()], client).await;
        }
    }
}

/// `--new-config`: writes a commented template with the values of the options.
pub(crate) fn template(given: &ParsedArgs) -> Ended {
    let target = target(given, &Environment::read())?;
    let settings = &given.settings.options;
    starter::checked(settings).map_err(|wrong| complain(&wrong))?;
    target.write(&Filled { text: starter::text(settings), secrets: Vec::new() })?;
    let is_whole = starter::missing(settings).is_empty();
    let next = if is_whole { "" } else { " Put your own address and domains into it." };
    Ok(print(&format!("Wrote {}: only you can read it.{next}\n", target.name)))
}

/// Looks up the address of a family and shows the result, unless the same sources were tried before.
async fn look(entry: &Entry, family: Family, looked: &mut Looked, client: &Client) {
    if looked.sources == entry.sources_of(family) {
        return;
    }
    *looked = Looked { sources: entry.sources_of(family).to_vec(), ip: None };
    let lookup = look_up(Query::new(entry, family), client).await;
    for (source, why) in lookup.failed() {
        show_broken(&format!("{family}: no address from {source}: {why}"), 2);
    }
    if let Some((source, choice)) = lookup.found() {
        show_broken(&format!("{family}: {} from {source}: {}", choice.ip, choice.why), 2);
        if is_private(choice.ip) {
            show_broken("It is private: it cannot be reached from outside. `public` gives the router's.", 2);
        }
        if let Some(why) = doubtful(choice.ip) {
            show_broken(&format!("Warning: {why}."), 2);
        }
        looked.ip = Some(choice.ip);
    }
}

/// The file that the word or `-c` names. Refuses one that already exists.
fn target(given: &ParsedArgs, environment: &Environment) -> Result<NewFile, u8> {
    let name = match (given.word(), given.settings.files.as_slice()) {
        (Some(name), []) => name,
        (None, [name]) => name.as_str(),
        (None, []) => "config.json",
        _ => return Err(refuse("only one file is written, but several are named", "name one: `ddns init FILE`")),
    };
    if named(name).is_ok() {
        let hint = format!("did you mean `ddns init --recipe {name}`? A file needs a name such as {name}.json");
        return Err(refuse(format!("`{name}` is a service"), &hint));
    }
    let hints = ["pass the address of the endpoint with --id", "name another file, or move this one away"];
    NewFile::named(name, hints, environment)
}

/// The requests that would be sent.
fn shown(config: &Config, looked: &BothLooked, is_offline: bool) -> String {
    let width = width_of(io::stdout());
    let addresses = [looked[0].ip, looked[1].ip];
    let (mut requests, total) = requests(MAX_REQUESTS, config, |_| addresses, unix_time());
    // Show one of each kind: requests for other domains differ only in their names.
    let mut kinds = Vec::new();
    requests.retain(|request| {
        let kind = (request.entry, Family::ALL.map(|family| request.members.iter().any(|(own, _)| *own == family)));
        let is_new = !kinds.contains(&kind);
        kinds.push(kind);
        is_new
    });
    let mut text = String::new();
    for request in &requests {
        let why = if is_offline { "nothing was looked up" } else { "no address was found" };
        let note = if request.missing.is_empty() { String::new() } else { format!(" (an example: {why})") };
        let heading = format!("What is sent for {}{note}; *** hides what may be a password or key:", request.about);
        text += &format!("\n{}\n", broken(&heading, 0, width));
        text.extend(request.shown.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n"));
        if let Some(lookup_note) = &request.lookup_note {
            text += &format!("\n{}", broken(lookup_note, 0, width));
        }
        let entry = &config.entries[request.entry];
        let ip = |family: Family| addresses[family.index()].unwrap_or_else(|| family.documentation()).to_string();
        let has_ip = request.members.iter().any(|(family, _)| request.shown.contains(&ip(*family)));
        if !has_ip && entry.callback.steps().is_empty() {
            text += "\nThe address is not part of it: neither the URL nor the body contains __IP__.\n";
        }
    }
    if total > requests.len() {
        text += &format!("\nAnd the same for {} more.\n", total - requests.len());
    }
    text
}

/// What was written, and the next steps.
fn ending(target: &NewFile, filled: &Filled, config: &Config, looked: &BothLooked) -> String {
    let width = width_of(io::stdout());
    let secrets = filled.secrets.iter().map(|(path, _)| format!("Wrote {path}: a secret; only you can read it.\n"));
    let mut text = format!("\nWrote {}: only you can read it.\n", target.name) + &secrets.collect::<String>();
    let file = if target.name == "config.json" { String::new() } else { format!(" -c {}", shell::quote(&target.name)) };
    for family in Family::ALL {
        let Looked { sources, ip } = &looked[family.index()];
        if !sources.is_empty() && ip.is_none() {
            let named = sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let index = ["index4", "index6"][family.index()];
            let note = format!("No {family} address was found. The file still says {named} (`{index}`): try it with");
            let again =
                format!("`ddns addresses{file}`, or change it there. No {family} update is sent until it works.");
            text += &format!("\n{}", broken(&format!("{note} {again}"), 0, width));
        }
    }
    let mut next = vec![(format!("ddns preview{file}"), "show every request, send none")];
    if config.entries.iter().any(|entry| !entry.callback.steps().is_empty()) && io::stdout().is_terminal() {
        next.push((format!("ddns preview --lookup{file}"), "ask the service which record would be changed"));
    }
    next.push((format!("ddns{file}"), "look up the address, send what changed"));
    if !config.notify.is_empty() {
        next.push((format!("ddns notify{file}"), "send each notification once, to try it"));
    }
    let column = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    text += "\nNext:\n";
    text.extend(next.iter().map(|(command, what)| format!("  {command:<column$}   {what}\n")));
    let install =
        "To keep the address up to date from now on, also after a reboot, install ddns as a service of this host:";
    text + &format!("\n{}  {}\n", broken(install, 0, width), install_command(&target.name))
}
