//! `ddns preview`: shows every request that a run would send now, with the address, its source and the verdict. Sends
//! no update, opens no log and changes no cache.

mod show;

use std::io::{self, IsTerminal as _};
use std::net::IpAddr;
use std::rc::Rc;

use ddns_core::callback::Redacted;
use ddns_core::config::{Config, Notification};
use ddns_core::engine::plan::Plan;
use ddns_core::engine::{Engine, redacted};
use ddns_core::net::family::Family;
use ddns_core::net::reach::{Trust, unusable};
use ddns_core::notify::NotifyEvent;
use ddns_core::text::diagnostic::{Diagnostic, Place};
use ddns_core::update::plan::Verdict;

use crate::cli::ParsedArgs;
use crate::compose;
use crate::http::Client;
use crate::load;
use crate::lookup;
use crate::notify::{example, moment};
use crate::output::{Ended, complain, print, say};
use crate::steps::{StepAnswers, walk};

use show::{LookResult, WalkedUpdates};

/// A notification with example values (I5).
struct Sample<'a> {
    config: &'a Config,
    /// The number of the notification in its configuration.
    number: usize,
    notification: &'a Notification,
    event: NotifyEvent,
    message: String,
    request: Result<Redacted, String>,
}

/// A notification about the first event of its `on`.
fn sample(config: &Config, number: usize, reveal: bool) -> Option<Sample<'_>> {
    let notification = &config.notify[number];
    let event = notification.on.iter().next()?;
    let notice = example(config, notification, event)?;
    let way = (&notification.callback, &notification.proxies);
    let request = redacted(way, &notice, moment(), reveal);
    Some(Sample { config, number, notification, event, message: notice.message, request })
}

/// Exits with 0 if every request can be made, with 1 if one cannot, with 2 for a wrong option or configuration.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let wrong = |error: Diagnostic| complain(&[error]);
    let options = show::PreviewOptions::of(&given, io::stdout().is_terminal()).map_err(wrong)?;
    let addresses = given_addresses(given.values("ip")).map_err(wrong)?;
    let looks_up = given.has("lookup");
    let (configs, environment, client) = load::begin(given.into_settings()).await?;
    for warning in configs.iter().flat_map(|(_, warnings)| warnings) {
        say(&format!("{}\n", warning.shown()));
    }
    let plan = compose::plan(&Rc::new(configs), &environment);
    let configs: Vec<&Config> = plan.configs().iter().map(|(config, _)| config).collect();
    for (family, ip) in Family::ALL.into_iter().zip(addresses).filter_map(|(family, ip)| Some((family, ip?))) {
        if !configs.iter().flat_map(|config| &config.entries).any(|entry| !entry.domains_of(family).is_empty()) {
            let message = format!("{ip} has no effect: there is no domain for {family}");
            say(&format!("{}\n", Diagnostic::warning(Place::Option("--ip".to_owned()), message).shown()));
        }
    }
    let lookups = lookup::look_up_entries(&configs, addresses, &client).await;
    let engine = compose::look(&plan, &lookups);
    let notices = configs.iter().flat_map(|config| (0..config.notify.len()).map(move |number| (*config, number)));
    let notices: Vec<Sample<'_>> =
        notices.filter_map(|(config, number)| sample(config, number, options.reveal)).collect();
    let walked = if looks_up { Some(look_up(&engine, &plan, &client).await) } else { None };
    let looked = LookResult { engine: &engine, plan: &plan, lookups: &lookups, walked: walked.as_ref() };
    let (text, has_all) = show::text(&looked, &notices, &options);
    Ok(print(&text).max(u8::from(!has_all)))
}

/// Sends the steps of every update that is due. Returns what the steps of each found, or why they failed.
async fn look_up<'p>(engine: &Engine, plan: &'p Plan, client: &Client) -> WalkedUpdates<'p> {
    let mut all = WalkedUpdates::new();
    for at in (0..plan.entry_count()).filter(|at| !plan.entry(*at).callback.steps().is_empty()) {
        let mut answers = StepAnswers::new();
        for id in plan.updates_of(at).filter(|id| plan.leader(*id) == *id) {
            let is_due = matches!(engine.preview(id, false).verdict, Some(Verdict::Send(_)));
            let Some((parcel, moment)) = engine.parcel(plan, id).filter(|_| is_due) else { continue };
            let secrets = plan.config(plan.config_of(at)).secrets();
            all.insert(id, walk((plan.entry(at), &secrets), &parcel, moment, (client, &mut answers)).await);
        }
    }
    all
}

/// The addresses of `--ip`, by [`Family::index`].
fn given_addresses<'a>(texts: impl Iterator<Item = &'a str>) -> Result<[Option<IpAddr>; 2], Diagnostic> {
    let mut addresses = [None; 2];
    let wrong = |message: String| Diagnostic::error(Place::Option("--ip".to_owned()), message);
    for text in texts {
        let ip: IpAddr = text.trim().parse().map_err(|_| wrong(format!("`{text}` is not an IP address")))?;
        let reason = unusable(ip, Trust::User);
        let (Some(family), None) = (Family::of(ip), reason) else {
            return Err(wrong(format!("{ip} cannot be sent: {}", reason.unwrap_or("it belongs to neither family"))));
        };
        if addresses[family.index()].replace(ip).is_some_and(|before| before != ip) {
            return Err(wrong(format!("two {family} addresses are given: give only one")));
        }
    }
    Ok(addresses)
}
