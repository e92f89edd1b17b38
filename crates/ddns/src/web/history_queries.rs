//! Reads the history for the views, on another thread: the files may be large, and updates must go on.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;

use ddns_core::journal::{DAYS, Day, Days, EventKind, Filter, Record, Row};
use ddns_core::net::family::Family;
use ddns_core::text::order;

use super::site::{Site, SiteRequest};
use super::views::strip::HistoryStrips;
use crate::clock::local_offset;
use crate::history;

/// How many records are shown, on all pages together.
pub(super) const MAX_RECORDS: usize = 2_000;

/// The last days of these updates.
pub(super) async fn days(site: &Site, rows: &[&Row], now: u64) -> HistoryStrips {
    let updates: Vec<(String, Option<Family>)> =
        rows.iter().map(|row| (row.domain.clone(), Family::of_record(&row.kind))).collect();
    let read = move |paths: &[PathBuf]| {
        let domains: HashSet<&str> = updates.iter().map(|(domain, _)| domain.as_str()).collect();
        let mut days = Days::new(local_offset(now).into());
        let mut since = HashMap::new();
        for path in paths {
            history::each(path, &domains, |record| {
                if let (EventKind::Address, Some(ip)) = (record.event, record.address) {
                    since.insert(ip, record.at);
                }
                days.take(record);
            })?;
        }
        let of = |(domain, family): &(String, Option<Family>)| {
            family.map_or_else(|| [Day::default(); DAYS], |family| days.of(domain, family, now))
        };
        let strips = if paths.is_empty() { Vec::new() } else { updates.iter().map(of).collect() };
        Ok(HistoryStrips { strips, since })
    };
    // Without the history, the view shows everything else.
    on_files(site, read).await.unwrap_or_default()
}

/// The newest records, the newest first.
pub(super) async fn newest(site: &Site, filter: Filter, most: usize) -> io::Result<Vec<Record>> {
    on_files(site, move |paths| {
        let mut all = Vec::new();
        for path in paths {
            all.extend(history::newest(path, &filter, most)?);
        }
        order::sort_by_key(&mut all, |record: &Record| std::cmp::Reverse(record.at));
        all.truncate(most);
        Ok(all)
    })
    .await
}

/// Reads the files of the service's histories on another thread.
async fn on_files<T: Send + 'static>(
    site: &Site,
    work: impl FnOnce(&[PathBuf]) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let paths = site.ask(SiteRequest::Histories).await.unwrap_or_default();
    let done = tokio::task::spawn_blocking(move || {
        work(&paths).map_err(|error| match paths.first() {
            Some(path) => io::Error::new(error.kind(), format!("{}: {error}", path.display())),
            None => error,
        })
    });
    done.await.map_err(io::Error::other)?
}
