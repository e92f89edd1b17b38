//! What set-up does, at a terminal and on the page: finds out where addresses come from here, shows what would be sent, and sends it once.

use std::env;
use std::net::IpAddr;
use std::path::absolute;
use std::rc::Rc;
use std::slice;
use std::time::Duration;

use ddns_core::address::source::Source;
use ddns_core::callback::{Batch, Redacted, Timestamp};
use ddns_core::config::validate::Valid;
use ddns_core::config::{Config, Entry};
use ddns_core::engine::{Event, Mode, all_redacted, redacted};
use ddns_core::journal::{About, Settled, What, set_instead};
use ddns_core::net::family::Family;
use ddns_core::net::ssl::Ssl;
use ddns_core::net::status::with_reason;
use ddns_core::set_up::Survey;
use ddns_core::text::duration::seconds;
use ddns_core::text::order;
use ddns_core::text::shell;
use ddns_core::update::Update;
use ddns_core::update::outcome::{Outcome, Why};
use futures_util::future::join3;
use tokio::time::timeout;

use crate::compose;
use crate::driver::Driver;
use crate::environment::Environment;
use crate::history::History;
use crate::http::Client;
use crate::lookup::{Query, look_up, own_address};
use crate::output::log::Log;

/// How long services on the internet may take to say which address they see.
const PUBLIC_TIMEOUT: Duration = Duration::from_secs(4);

/// How long the router may take: enough for both of its protocols.
const ROUTER_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest text of a response that is shown, in characters.
const MAX_TEXT: usize = 500;

/// The addresses of this host itself, without asking others.
pub(crate) fn own_addresses() -> Survey {
    Survey { own: Family::ALL.map(own_address), ..Survey::default() }
}

/// Asks services on the internet, and the router, if others cannot reach the host's own address. `first` is the first family with
/// a question about its source; ddns asks nothing about an earlier one.
pub(crate) async fn ask_around(survey: &mut Survey, first: Family, client: &Client) {
    let ask = async |family: Family, source: Source, patience: Duration| {
        if family < first || !survey.needs_public(family) {
            return None;
        }
        let query = Query::of(family, slice::from_ref(&source), patience, &Ssl::Verify);
        let lookup = timeout(patience, look_up(query, client)).await.unwrap_or_default();
        let why = || lookup.failed().next().map_or("no response in time".to_owned(), |(_, why)| why.to_owned());
        Some(lookup.address().ok_or_else(why))
    };
    let public = |family: Family| ask(family, Source::Public, PUBLIC_TIMEOUT);
    let router = ask(Family::V4, Source::Router(None), ROUTER_TIMEOUT);
    let (v4, v6, router) = join3(public(Family::V4), public(Family::V6), router).await;
    (survey.public, survey.router) = ([v4, v6], router.and_then(Result::ok));
}

/// An update that was sent once or held back, and the result.
pub(crate) struct SentOnce {
    pub(crate) about: About,
    pub(crate) is_sent: bool,
    pub(crate) is_accepted: bool,
    /// The result in words: the status of the response, or why there was none, or why it was not sent.
    pub(crate) words: String,
    /// The text of the response, without secrets.
    pub(crate) text: String,
}

/// Sends the updates of a new configuration through the engine. What is accepted is remembered, so that the first run does not
/// send it again. The result leaves out updates that were accepted before, or that have no address.
pub(crate) async fn send_once(valid: Valid, client: &Client, environment: &Environment) -> Vec<SentOnce> {
    let configs = Rc::new(vec![valid]);
    let logs = [Log::silent(&configs[0].0, environment)];
    let plan = compose::plan(&configs, environment);
    let mut driver = Driver::new(compose::engine(Rc::clone(&plan), Mode::Once), &plan, (client, &logs), None);
    driver.listen();
    let mut history = History::new(Rc::clone(&plan), &logs, environment);
    // The user asks for it now, even if the service refused it before.
    driver.on(Event::RetryStopped);
    driver.on(Event::Begin);
    let mut sent = Vec::new();
    loop {
        let journal = driver.take_journal();
        history.take(&journal);
        for event in journal {
            sent.extend(match event.what {
                What::Settled(settled) => {
                    let (is_accepted, words) = (settled.outcome.is_accepted(), words_of(&settled));
                    let text = if is_of_update(&settled.outcome) { driver.heard() } else { "" };
                    let text: String = logs[0].masked(text).chars().take(MAX_TEXT).collect();
                    Some(SentOnce { about: settled.about, is_sent: true, is_accepted, words, text })
                }
                What::Held(held) => {
                    let words = match held.until {
                        Some(until) => {
                            format!("ddns waits for {}: {}", seconds(until.saturating_sub(event.at)), held.why)
                        }
                        None => format!("stopped: {}", held.why),
                    };
                    let text = String::new();
                    Some(SentOnce { about: held.about, is_sent: false, is_accepted: false, words, text })
                }
                _ => None,
            });
        }
        if !driver.take_milestones().is_empty() {
            break;
        }
        let event = driver.next(None).await;
        driver.on(event);
    }
    driver.on(Event::Save);
    history.save();
    sent
}

/// Whether the last response belongs to the update itself, not to a step before it.
fn is_of_update(outcome: &Outcome) -> bool {
    !matches!(outcome, Outcome::AlreadyThere | Outcome::Failed(Why::Step { .. } | Why::NoResponse { .. }))
}

fn words_of(settled: &Settled) -> String {
    if let Outcome::Stopped { status, words, .. } = &settled.outcome
        && let Some(other) = set_instead(words, settled.ip)
    {
        return format!("{}: the service set {other} instead of {}", with_reason(*status), settled.ip);
    }
    match &settled.outcome {
        Outcome::AlreadyThere => "the service already has this address".to_owned(),
        Outcome::Failed(Why::NoResponse { why, .. } | Why::Step { why, .. }) => why.clone(),
        other => other.status().map(with_reason).unwrap_or_default(),
    }
}

/// The command that installs a configuration as a service that survives a reboot, with absolute paths.
pub(crate) fn install_command(file: &str) -> String {
    let program = env::current_exe().map_or_else(|_| "ddns".to_owned(), |path| path.display().to_string());
    let file = absolute(file).map_or_else(|_| file.to_owned(), |path| path.display().to_string());
    // The system's service cannot see home folders.
    let is_hidden = ["/home/", "/root/", "/tmp/", "/var/tmp/"].iter().any(|folder| file.starts_with(folder));
    let sudo = if is_hidden || rustix::process::geteuid().is_root() { "" } else { "sudo " };
    // Without lingering, the user's own service would end when they log out.
    let (user, then) = if is_hidden { (" --user", " && loginctl enable-linger") } else { ("", "") };
    format!("{sudo}{} service install{user} -c {}{then}", shell::quote(&program), shell::quote(&file))
}

/// A request as it may be shown.
pub(crate) struct RedactedRequest {
    /// The number of its entry.
    pub(crate) entry: usize,
    /// The updates in it: families, and places in their lists.
    pub(crate) members: Vec<(Family, usize)>,
    /// The updates in words.
    pub(crate) about: String,
    pub(crate) origin: String,
    pub(crate) shown: String,
    /// The request with those around it, in order.
    pub(crate) all: String,
    /// Which values ddns asks the service for first; `None`: there are none.
    pub(crate) lookup_note: Option<String>,
    /// The families without an address: the request shows an example instead, and cannot be sent (A8).
    pub(crate) missing: Vec<Family>,
}

/// The first requests of a configuration, and how many there are in all. `known` gives the addresses of an entry, by
/// [`Family::index`]; an example replaces an unknown one. Requests that can be sent come first.
pub(crate) fn requests(
    most: usize,
    config: &Config,
    known: impl Fn(&Entry) -> [Option<IpAddr>; 2],
    now: Timestamp,
) -> (Vec<RedactedRequest>, usize) {
    let mut all = Vec::new();
    for (number, entry) in config.entries.iter().enumerate() {
        let addresses = known(entry);
        let has_address = |family: Family| addresses[family.index()].is_some();
        let may_lack = entry.callback.variables.combine.as_ref().is_some_and(|combine| combine.missing.is_some());
        for mut members in entry.requests() {
            if may_lack && members.iter().any(|(family, _)| has_address(*family)) {
                members.retain(|(family, _)| has_address(*family));
            }
            let is_missing = |family: &Family| !has_address(*family) && members.iter().any(|(own, _)| own == family);
            let missing: Vec<Family> = Family::ALL.into_iter().filter(is_missing).collect();
            all.push(((number, members, missing), addresses));
        }
    }
    order::sort_by_key(&mut all, |((.., missing), _)| !missing.is_empty());
    let total = all.len();
    let shown = |(request, addresses)| sent(config, request, addresses, now);
    (all.into_iter().take(most).filter_map(shown).collect(), total)
}

fn sent(
    config: &Config,
    (number, members, missing): (usize, Vec<(Family, usize)>, Vec<Family>),
    addresses: [Option<IpAddr>; 2],
    now: Timestamp,
) -> Option<RedactedRequest> {
    let entry = &config.entries[number];
    let update = |(family, place): &(Family, usize)| {
        let ip = addresses[family.index()].unwrap_or_else(|| family.documentation());
        entry.update(&entry.domains_of(*family)[*place], *family, ip)
    };
    let updates: Vec<Update<'_>> = members.iter().map(update).collect();
    let about: Vec<String> =
        updates.iter().map(|update| format!("{} {}", update.domain, update.family.record_type())).collect();
    let batch = Batch::of(&updates)?;
    let origin = entry.callback.url(batch, now).map(|url| url.origin()).unwrap_or_default();
    let way = (&entry.callback, &entry.proxies);
    let shown = text(redacted(way, batch, now.into(), false));
    let all = if entry.callback.around.is_some() {
        let all = all_redacted(way, batch, now.into()).into_iter();
        all.map(|(role, request)| format!("{role}:\n{}", text(request))).collect::<Vec<_>>().join("\n\n")
    } else {
        shown.clone()
    };
    let lookup_note = entry.callback.lookup_note(&entry.callback.request);
    Some(RedactedRequest { entry: number, about: about.join(", "), origin, shown, all, lookup_note, missing, members })
}

/// A request as lines of text, or why there is none.
fn text(request: Result<Redacted, String>) -> String {
    match request {
        Ok(request) => {
            let mut lines = request.lines();
            lines.extend(request.proxy.map(|proxy| format!("(through {})", proxy.address)));
            lines.join("\n")
        }
        Err(why) => format!("nothing: {why}"),
    }
}
