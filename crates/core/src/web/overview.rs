//! The first view: whether everything is up to date, which address, what failed and why, and what happens next.

use std::cmp::{Ordering, Reverse};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;

use crate::journal::{DnsState, Row, Status, UpdateState};
use crate::lease::status::{MemberStatus, Role};
use crate::text::number::grouped;
use crate::text::order;
use crate::web::list::{ListQuery, Sort, link};

/// How many updates a page shows.
pub const PER_PAGE: usize = 50;

/// How many sentences about trouble are shown; the table has the rest.
const MAX_TROUBLE: usize = 6;

/// How many updates a sentence names.
const MAX_NAMED: usize = 3;

/// How many addresses are shown for each family.
const MAX_ADDRESSES: usize = 3;

/// Whether a query includes an update; `search` is its search text in lower case.
fn includes(query: &ListQuery, row: &Row, search: &str) -> bool {
    let has = |text: &str| text.to_lowercase().contains(search);
    query.state.is_none_or(|state| state == row.state)
        && (search.is_empty()
            || has(&row.domain)
            || address(row).is_some_and(|ip| has(&ip.to_string()))
            || row.source.as_deref().is_some_and(has)
            || row.endpoint.as_deref().is_some_and(has))
}

fn order(query: &ListQuery, rows: &mut Vec<&Row>) {
    let by = |one: &Row, other: &Row| match query.sort {
        Sort::Written => Ordering::Equal,
        Sort::Name => one.domain.cmp(&other.domain),
        Sort::State => other.state.cmp(&one.state),
        Sort::Address => address(one).cmp(&address(other)),
        Sort::Accepted => other.accepted.cmp(&one.accepted),
    };
    order::sort_by(rows, |one, other| if query.is_reverse { by(other, one) } else { by(one, other) });
}

/// The URL of the details of an update.
pub fn details_link(domain: &str, kind: &str, endpoint: Option<&str>) -> String {
    let pairs = [("domain", Some(domain)), ("type", Some(kind)), ("endpoint", endpoint)];
    link("/update", pairs.into_iter().filter_map(|(name, value)| Some((name, value?.to_owned()))))
}

/// The address of an update: the one that was looked up, or else the one that was accepted last.
pub fn address(row: &Row) -> Option<IpAddr> {
    row.address.or(row.accepted_address)
}

/// What the view shows.
#[derive(Debug, PartialEq, Eq)]
pub struct Overview<'a> {
    /// `11 of 12 up to date`
    pub headline: String,
    /// The worst state of all updates, and of the group; up to date if there are no updates.
    pub worst: UpdateState,
    /// The addresses that were found, IPv4 first; in each family, those of the most updates first.
    pub addresses: Vec<Current<'a>>,
    /// What is not up to date, the worst first.
    pub trouble: Vec<Trouble<'a>>,
    /// How many more reasons there are than `trouble` contains.
    pub more_trouble: usize,
    /// How many updates are in each state; states without updates are left out.
    pub counts: Vec<(UpdateState, usize)>,
    /// How many updates there are in all.
    pub all: usize,
    /// How many updates match the query.
    pub total: usize,
    /// The page that is shown: the last one if the query asks for a later one.
    pub page: usize,
    /// The updates on this page.
    pub rows: Vec<&'a Row>,
}

/// An address that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Current<'a> {
    /// The address.
    pub ip: IpAddr,
    /// The source that gave it.
    pub source: &'a str,
    /// How many updates have it.
    pub count: usize,
}

/// Updates that are not up to date, for the same reason.
#[derive(Debug, PartialEq, Eq)]
pub struct Trouble<'a> {
    /// Their state.
    pub state: UpdateState,
    /// The first of these updates.
    pub named: Vec<&'a Row>,
    /// How many updates there are.
    pub count: usize,
    /// Seconds until the first of them is sent again; `None`: not known.
    pub next: Option<u64>,
}

/// Prepares the view.
pub fn overview<'a>(status: &'a Status, query: &ListQuery) -> Overview<'a> {
    let mut numbers = [0; UpdateState::ALL.len()];
    for row in &status.rows {
        numbers[row.state as usize] += 1;
    }
    let counts: Vec<_> = UpdateState::ALL.into_iter().zip(numbers).filter(|(_, count)| *count > 0).collect();
    let worst = counts.last().map_or(UpdateState::UpToDate, |(state, _)| *state);
    let trouble_of_group = if status.obstacle().is_some() { UpdateState::Retrying } else { UpdateState::UpToDate };
    let (trouble, more_trouble) = trouble(&status.rows);
    let search = query.search.to_lowercase();
    let mut rows: Vec<&Row> = status.rows.iter().filter(|row| includes(query, row, &search)).collect();
    order(query, &mut rows);
    let total = rows.len();
    let page = query.within(PER_PAGE, total).page;
    Overview {
        headline: headline(status, numbers),
        worst: worst.max(trouble_of_group),
        addresses: addresses(&status.rows),
        trouble,
        more_trouble,
        counts,
        all: status.rows.len(),
        total,
        page,
        rows: rows.into_iter().skip((page - 1) * PER_PAGE).take(PER_PAGE).collect(),
    }
}

fn headline(status: &Status, numbers: [usize; UpdateState::ALL.len()]) -> String {
    let all = status.rows.len();
    let stands_by = |role: Role| role.is_standing_by() && all > 0 || numbers[UpdateState::StandBy as usize] > 0;
    if let Some(group) = status.group.as_ref().filter(|group| stands_by(group.status.role)) {
        let MemberStatus { role, holder, member, .. } = &group.status;
        return match (status.obstacle(), role, holder) {
            (Some(why), ..) => format!("Stands by: {why}"),
            (None, Role::TakingOver, _) => "Takes over".to_owned(),
            (None, Role::Joining, _) => "Joins the group".to_owned(),
            (None, _, Some(holder)) if holder != member => format!("On standby for {holder}"),
            _ => "Stands by".to_owned(),
        };
    }
    let headline = match (all, numbers[UpdateState::UpToDate as usize]) {
        (0, _) => "No updates configured".to_owned(),
        (1, 1) => "Up to date".to_owned(),
        (1, _) => "Not up to date".to_owned(),
        (_, good) if all == good => format!("All {} up to date", grouped(all)),
        (_, good) => format!("{} of {} up to date", grouped(good), grouped(all)),
    };
    // The headline is about acceptance; DNS only adds to it (K24).
    match status.rows.iter().filter(|row| row.dns.as_ref().is_some_and(DnsState::is_wrong)).count() {
        0 => headline,
        1 if all == 1 => format!("{headline}, not visible in DNS"),
        count => format!("{headline}, {} not visible in DNS", grouped(count)),
    }
}

/// Groups rows by key, in the order in which the keys first appear.
fn grouped_by<'a, K: Eq + Hash + Copy>(rows: impl Iterator<Item = (K, &'a Row)>) -> Vec<(K, Vec<&'a Row>)> {
    let mut all: Vec<(K, Vec<&Row>)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (key, row) in rows {
        let place = *places.entry(key).or_insert_with(|| {
            all.push((key, Vec::new()));
            all.len() - 1
        });
        all[place].1.push(row);
    }
    all
}

fn addresses(rows: &[Row]) -> Vec<Current<'_>> {
    let found = rows.iter().filter_map(|row| Some(((row.address?, row.source.as_deref()?), row)));
    let groups = grouped_by(found).into_iter();
    let mut all: Vec<_> = groups.map(|((ip, source), rows)| Current { ip, source, count: rows.len() }).collect();
    order::sort_by_key(&mut all, |current| (current.ip.is_ipv6(), Reverse(current.count)));
    let families = all.chunk_by(|one, other| one.ip.is_ipv6() == other.ip.is_ipv6());
    families.flat_map(|family| family.iter().take(MAX_ADDRESSES)).copied().collect()
}

/// What is not up to date, grouped by state and reason; and how many groups were left out.
fn trouble(rows: &[Row]) -> (Vec<Trouble<'_>>, usize) {
    let reasons = rows.iter().filter_map(|row| {
        let why = match row.state {
            UpdateState::UpToDate | UpdateState::Accepted | UpdateState::Sending | UpdateState::StandBy => return None,
            // An update that has an address lacks that of the other family.
            UpdateState::NoAddress if (row.kind == "A") == row.address.is_none() => "A",
            UpdateState::NoAddress => "AAAA",
            _ => row.reason.as_deref().unwrap_or_default(),
        };
        Some(((row.state, why), row))
    });
    let mut all = grouped_by(reasons);
    order::sort_by_key(&mut all, |((state, _), _)| Reverse(*state));
    let more = all.len().saturating_sub(MAX_TROUBLE);
    let told = all.into_iter().take(MAX_TROUBLE).map(|((state, _), mut rows)| {
        let (count, next) = (rows.len(), rows.iter().filter_map(|row| row.next).min());
        // An update that failed itself says more than those that wait for its endpoint.
        let first = rows.iter().position(|row| row.failures.is_some()).unwrap_or(0);
        rows[..=first].rotate_right(1);
        rows.truncate(MAX_NAMED);
        Trouble { state, named: rows, count, next }
    });
    (told.collect(), more)
}

#[cfg(test)]
mod tests;
