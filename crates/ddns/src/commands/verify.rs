//! `ddns verify`: checks whether DNS shows the accepted addresses (K21). Sends no update and changes no cache.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ddns_core::config::Config;
use ddns_core::dns::{
    DnsObservation, DnsQuery, DnsServerKind, DnsVerdict, MAX_SERVERS, ROUNDS_BEFORE_RESOLVER, SeenInDns, ServerAnswer,
    Verify, judge, may_ask_resolver, next_round, why_not_asked,
};
use ddns_core::engine::plan::Plan;
use ddns_core::journal::Row;
use ddns_core::net::family::Family;
use ddns_core::object;
use ddns_core::text::duration;
use futures_util::stream::{self, StreamExt as _};
use serde::Serialize;
use tokio::time::sleep;

use crate::cli::{ParsedArgs, ReportFormat, time};
use crate::clock::{steady_time, unix_time};
use crate::compose::{self, look};
use crate::dns::{DnsClient, system_resolvers};
use crate::load;
use crate::lookup::look_up_entries;
use crate::output::layout::table;
use crate::output::{Ended, complain, json, print, say};

/// How many names are asked about at the same time.
const MAX_AT_ONCE: usize = 16;

/// Exit status if some verdicts are unknown, and none is bad.
const CANNOT_TELL: u8 = 3;

/// One update, and what DNS shows of it.
struct Checked {
    row: Row,
    family: Family,
    verify: Verify,
    /// Consecutive rounds with an unknown verdict.
    unknown: u32,
    /// Do not ask a resolver before this time: it would repeat its answer (K15).
    ask_after: Duration,
    seen: SeenInDns,
    observation: DnsObservation,
}

/// Exits with 0 if all addresses are visible, with 1 if one is not, with 2 for a wrong option or configuration, with 3
/// if some verdicts are unknown.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let form = given.form();
    let wait = given.value("wait").map(|text| time("--wait", text)).transpose().map_err(|error| complain(&[error]))?;
    let wait = wait.unwrap_or_default();
    let names = given.words().to_vec();
    let (configs, environment, client) = load::begin(given.settings).await?;
    for warning in configs.iter().flat_map(|(_, warnings)| warnings) {
        say(&format!("{}\n", warning.shown()));
    }
    let plan = compose::plan(&Rc::new(configs), &environment);
    let chosen = compose::named(&plan, "DOMAIN", &names).map_err(|wrong| complain(&wrong))?;
    let is_chosen = |row: &Row| chosen.is_empty() || chosen.iter().any(|domain| domain.as_str() == row.domain);
    let mut rows = look(&plan, &[]).rows();
    if rows.iter().any(|row| is_chosen(row) && row.accepted_address.is_none()) {
        let configs: Vec<&Config> = plan.configs().iter().map(|(config, _)| config).collect();
        rows = look(&plan, &look_up_entries(&configs, [None; 2], &client).await).rows();
    }
    let mut all: Vec<Checked> = checks(&plan, rows).into_iter().filter(|checked| is_chosen(&checked.row)).collect();
    let (dns, begun) = (DnsClient::default(), steady_time());
    loop {
        ask(&mut all, &dns).await;
        let open = all.iter().filter(|checked| !checked.seen.verdict.is_good() && checked.never().is_none()).count();
        let since = steady_time().saturating_sub(begun);
        // The last round is at the end of the time to wait.
        let next = next_round(since).unwrap_or(since + Duration::from_secs(300)).min(wait);
        let left = next.saturating_sub(since);
        if open == 0 || left.is_zero() {
            break;
        }
        if !form.json {
            let left = duration::duration(left);
            say(&format!("{open} of {} not visible yet; asking again in {left}\n", all.len()));
        }
        sleep(left).await;
    }
    let code = exit_code(all.iter().map(|checked| checked.seen.verdict));
    Ok(print(&if form.json { json(&all.iter().map(Checked::report).collect::<Vec<_>>()) } else { text(&all, form) })
        .max(code))
}

fn exit_code(verdicts: impl Iterator<Item = DnsVerdict>) -> u8 {
    let worst = |verdict: DnsVerdict| match verdict {
        DnsVerdict::Visible | DnsVerdict::Proxied => 0,
        DnsVerdict::Unknown => 1,
        DnsVerdict::Partly | DnsVerdict::NotVisible | DnsVerdict::Drifted => 2,
    };
    [0, CANNOT_TELL, 1][verdicts.map(worst).max().unwrap_or(1)]
}

/// Combines each row with its settings for DNS; the rows are those of the plan, in its order.
fn checks(plan: &Plan, rows: Vec<Row>) -> Vec<Checked> {
    let mut rows = rows.into_iter();
    let mut all = Vec::new();
    for at in 0..plan.entry_count() {
        let entry = plan.entry(at);
        for family in Family::ALL {
            for (domain, row) in entry.domains_of(family).iter().zip(rows.by_ref()) {
                let verify = entry.verify_of(domain, family).cloned().unwrap_or_default();
                let seen = SeenInDns::unknown(String::new());
                let observation = DnsObservation::default();
                all.push(Checked { row, family, verify, unknown: 0, ask_after: Duration::ZERO, seen, observation });
            }
        }
    }
    all
}

/// One round for all updates that are not visible. Equal questions are asked once.
async fn ask(all: &mut [Checked], dns: &DnsClient) {
    let (resolvers, now) = (system_resolvers(), unix_time().seconds);
    // Each round chooses its servers anew.
    let seed = getrandom::u64().unwrap_or_default();
    let mut rounds: HashMap<DnsQuery, Vec<usize>> = HashMap::new();
    let may_ask = |checked: &Checked| checked.ask_after <= steady_time();
    let is_open = |checked: &Checked| {
        !checked.seen.verdict.is_good() && (checked.verify.way == DnsServerKind::Zone || may_ask(checked))
    };
    for (at, checked) in all.iter_mut().enumerate().filter(|(_, checked)| is_open(checked)) {
        if let Some(why) = checked.never().or_else(|| checked.verify.too_early(checked.since(now))) {
            checked.seen = SeenInDns::unknown(why);
            continue;
        }
        let name = &checked.row.domain;
        let mut dns_query = checked.verify.dns_query(name, checked.family, &resolvers, MAX_SERVERS, seed);
        let is_silent = checked.unknown >= ROUNDS_BEFORE_RESOLVER;
        if is_silent && may_ask(checked) && may_ask_resolver(checked.since(now)) {
            dns_query = dns_query.by_resolver();
        }
        rounds.entry(dns_query).or_default().push(at);
    }
    // The first name of each zone finds the servers for the others.
    let parent = |dns_query: &DnsQuery| dns_query.name.split_once('.').map(|(_, parent)| parent.to_owned());
    let mut ways = HashSet::new();
    let (first, others): (Vec<_>, Vec<_>) =
        rounds.into_iter().partition(|(dns_query, _)| ways.insert(parent(dns_query)));
    for some in [first, others] {
        let asked = some.into_iter().map(async |(dns_query, who)| (dns.round(&dns_query).await, who));
        let mut asked = stream::iter(asked).buffer_unordered(MAX_AT_ONCE);
        while let Some((observation, who)) = asked.next().await {
            for at in who {
                all[at].take(&observation);
            }
        }
    }
}

impl Checked {
    /// The accepted address or, if there is none, the one that the sources return.
    fn expected(&self) -> Option<IpAddr> {
        self.row.accepted_address.or(self.row.address)
    }

    /// How long ago the address was accepted; `None`: never.
    fn since(&self, now: u64) -> Option<Duration> {
        self.row.accepted.map(|at| Duration::from_secs(now.saturating_sub(at)))
    }

    /// Why nothing can ever be told; `None` if somebody can be asked.
    fn never(&self) -> Option<String> {
        if self.expected().is_none() {
            return Some("no address was accepted, and no source gives one".to_owned());
        }
        why_not_asked(&self.row.domain).map(|why| format!("the name {why}"))
    }

    fn take(&mut self, observation: &DnsObservation) {
        let Some(expected) = self.expected() else { return };
        self.seen = judge(observation, expected, &self.verify);
        self.unknown = if self.seen.verdict == DnsVerdict::Unknown { self.unknown + 1 } else { 0 };
        if observation.way == DnsServerKind::Resolver {
            self.ask_after = steady_time() + Duration::from_secs(self.seen.ttl.unwrap_or_default().into());
        }
        self.observation = observation.clone();
    }

    /// The update as JSON. If `accepted`, the time of acceptance, is null, the address comes from the sources.
    fn report(&self) -> impl Serialize {
        let server = |one: &ServerAnswer| {
            let (addresses, error) = match &one.said {
                Ok((ips, _)) => (Some(ips.clone()), None),
                Err(why) => (None, Some(why.clone())),
            };
            object! { server: one.server.clone(), addresses: addresses, error: error }
        };
        object! {
            domain: &self.row.domain,
            r#type: &self.row.kind,
            address: self.expected(),
            accepted: self.row.accepted,
            verdict: self.seen.verdict.key(),
            by: self.observation.way.key(),
            ttl: self.seen.ttl,
            reason: &self.seen.reason,
            servers: self.observation.servers.iter().map(server).collect::<Vec<_>>(),
        }
    }
}

fn text(all: &[Checked], form: ReportFormat) -> String {
    let now = unix_time().seconds;
    let mut rows = vec![["DOMAIN", "TYPE", "ADDRESS", "ACCEPTED", "DNS"].map(str::to_owned)];
    rows.extend(all.iter().map(|checked| {
        let since = checked.since(now);
        let accepted = match (since, checked.row.source.as_deref()) {
            (Some(since), _) => format!("{} ago", duration::duration(since)),
            (None, Some(source)) => format!("never; from {source}"),
            (None, None) => "never".to_owned(),
        };
        let address = checked.expected().map_or_else(|| "-".to_owned(), |ip| ip.to_string());
        let dns = checked.seen.sentence(since, &checked.verify);
        [checked.row.domain.clone(), checked.row.kind.clone(), address, accepted, dns]
    }));
    table(&rows, form.width)
}
