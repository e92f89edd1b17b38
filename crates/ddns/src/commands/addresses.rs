//! `ddns addresses`: shows every address of this host with a verdict, what each configured source returns now, and
//! which address would be sent and why. Sends no update.

use ddns_core::config::Config;
use ddns_core::config::fields::{Field, Key};
use ddns_core::config::raw::Origin;
use ddns_core::net::family::Family;
use ddns_core::net::local_address::LocalAddress;
use ddns_core::text::json::{Node, Value};

use crate::cli::{CliSettings, ParsedArgs};
use crate::environment::Environment;
use crate::http::Client;
use crate::load;
use crate::lookup::report::{LookupReport, SourceReport, described, verdict};
use crate::output::layout::broken;
use crate::output::{Ended, complain, json, print, say};

/// Exits with 0 whatever was found, and with 2 for an invalid configuration.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let form = given.form();
    let mut settings = given.settings;
    let environment = Environment::read();
    let client = Client::default();
    let is_configured = !settings.files.is_empty() || load::has_file(&environment);
    if !is_configured {
        complete(&mut settings, &environment);
    }
    let configs = load::load(settings, &environment, &client).await.map_err(|wrong| complain(&wrong))?;
    let configs: Vec<&Config> = configs.iter().map(|(config, _)| config).collect();
    let mut report = LookupReport::make(&configs, &client).await;
    if let Err(why) = &report.local {
        say(&format!("warning: the addresses of this host cannot be listed: {why}\n"));
    }
    if !is_configured {
        for list in &mut report.lists {
            list.domains.clear();
        }
    }
    Ok(print(&if form.json { json(&report.json()) } else { text(&report, form.width) }))
}

/// Fills in the other required fields, so that sources can be tried without a configuration. Their values are not used.
fn complete(settings: &mut CliSettings, environment: &Environment) {
    let needed = [
        (Key::Dns, "callback"),
        (Key::Id, "http://localhost/"),
        (Key::Ipv4, "this-host.example"),
        (Key::Ipv6, "this-host.example"),
    ];
    for (key, value) in needed {
        let variable = Field::of(key).variable.unwrap_or_default();
        if settings.options.get(key).is_none() && environment.get(variable).is_none() {
            settings.options.set(key, Node::synthetic(Value::string(value)), Origin::Option(String::new()));
        }
    }
}

fn text(report: &LookupReport, width: usize) -> String {
    let mut text = String::from("Addresses of this host\n");
    let local = report.local.as_deref().unwrap_or_default();
    let widest = |of: &dyn Fn(&LocalAddress) -> String| local.iter().map(|row| of(row).len()).max().unwrap_or(0);
    let shown_ip = |row: &LocalAddress| format!("{}/{}", row.ip, row.prefix);
    let (name_width, ip_width) = (widest(&|row| row.interface.clone()), widest(&shown_ip));
    if local.is_empty() {
        text += "  (none)\n";
    }
    for row in local {
        let head = format!("  {:<name_width$}  {:<ip_width$}", row.interface, shown_ip(row));
        text += &fitted(&head, &format!("{} ({})", verdict(row), described(row)), width);
    }
    for family in Family::ALL {
        if !report.lists.iter().any(|list| list.family == family) {
            text += &format!("\n{family} ({}): no domains, or turned off\n", family.record_type());
        }
        for list in report.lists.iter().filter(|list| list.family == family) {
            text += &list_text(list, width);
        }
    }
    text
}

fn list_text(list: &SourceReport, width: usize) -> String {
    let mut text = fitted(&format!("\n{} ({})", list.family, list.family.record_type()), &list.named(), width);
    for attempt in &list.lookup.attempts {
        let took = attempt.took.as_millis();
        let result = match &attempt.result {
            Ok(choice) => format!("{} ({took} ms): {}", choice.ip, choice.why),
            Err(why) => format!("no address ({took} ms): {why}"),
        };
        text += &fitted(&format!("  {}", attempt.source), &result, width);
    }
    let Some(verdict) = list.verdict() else {
        return text + "  => No address found: nothing would be sent.\n";
    };
    text += &fitted("  =>", &verdict, width);
    text.extend(list.doubts().iter().map(|doubt| fitted("    ", doubt, width)));
    text
}

/// `head  rest` on one line. If that is too wide, `rest` goes below, wrapped between words.
fn fitted(head: &str, rest: &str, width: usize) -> String {
    let one = format!("{head}  {rest}");
    if one.chars().count() <= width {
        return format!("{}\n", one.trim_end());
    }
    let head = if head.trim().is_empty() { String::new() } else { format!("{}\n", head.trim_end()) };
    head + &broken(rest, 6, width)
}
