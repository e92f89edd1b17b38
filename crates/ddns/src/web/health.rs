//! For programs that look after the service (I3): `/healthz`, `/readyz` and `/metrics`. The event loop itself responds: where
//! it hangs, nobody says that all is well.

use std::time::Duration;

use tokio::sync::oneshot::Sender;
use tokio::time::timeout;

use super::reply::{Handled, Reply};
use super::site::{Ask, Site};

/// So long the event loop may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

async fn ask<T>(site: &Site, ask: fn(Sender<T>) -> Ask) -> Result<T, Reply> {
    let answer = timeout(PATIENCE, site.ask(ask)).await.ok().flatten();
    answer.ok_or_else(|| Reply::text(503, "the service does not respond"))
}

pub(super) async fn alive(site: &Site) -> Handled {
    ask(site, Ask::Alive).await.map(|()| Reply::text(200, "alive"))
}

pub(super) async fn ready(site: &Site) -> Handled {
    match ask(site, Ask::Ready).await? {
        None => Ok(Reply::text(200, "ready")),
        Some(why) => Err(Reply::text(503, &format!("not ready: {why}"))),
    }
}

pub(super) async fn metrics(site: &Site) -> Handled {
    ask(site, Ask::Metrics).await.map(Reply::metrics)
}
