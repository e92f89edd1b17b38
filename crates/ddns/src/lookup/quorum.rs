//! `quorum:`: asks several sources at the same time; enough of them must agree. Any other source is asked alone.

use std::time::Duration;

use ddns_core::address::observation::Choice;
use ddns_core::address::quorum::{agreed, agreement};
use ddns_core::address::source::Source;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::{Instant, timeout_at};

use super::{Query, source};
use crate::http::Client;

/// Once enough sources agree, the others have this long left; their results are shown, too.
const GRACE: Duration = Duration::from_millis(500);

pub(super) async fn ask(source: &Source, query: Query<'_>, client: &Client) -> Result<Choice, String> {
    let Source::Quorum(need, sources) = source else { return source::ask(source, query, client).await };
    let asked = sources.iter().enumerate();
    let mut pending: FuturesUnordered<_> =
        asked.map(async |(at, source)| (at, source::ask(source, query, client).await)).collect();
    let late = || Err("no response in time".to_owned());
    let mut results: Vec<(String, Result<Choice, String>)> =
        sources.iter().map(|source| (source.to_string(), late())).collect();
    let mut end = None;
    loop {
        let next = match end {
            None => pending.next().await,
            Some(end) => timeout_at(end, pending.next()).await.unwrap_or(None),
        };
        let Some((at, result)) = next else { return agreed(*need, &results) };
        results[at].1 = result;
        if agreement(*need, &results).is_some() {
            end.get_or_insert_with(|| Instant::now() + GRACE);
        }
    }
}
