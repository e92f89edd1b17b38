//! For programs that look after the service (I3): `/healthz`, `/readyz` and `/metrics`. The event loop itself responds: where
//! it hangs, nobody says that all is well.

use std::time::Duration;

use tokio::time::timeout;

use super::reply::Reply;
use super::site::{Ask, Site};

/// So long the event loop may be busy.
const PATIENCE: Duration = Duration::from_secs(5);

const HANGS: &str = "the service does not respond";

pub(super) async fn alive(site: &Site) -> Reply {
    match timeout(PATIENCE, site.ask(Ask::Alive)).await {
        Ok(Some(())) => Reply::text(200, "alive"),
        _ => Reply::text(503, HANGS),
    }
}

pub(super) async fn ready(site: &Site) -> Reply {
    match timeout(PATIENCE, site.ask(Ask::Ready)).await {
        Ok(Some(None)) => Reply::text(200, "ready"),
        Ok(Some(Some(why))) => Reply::text(503, &format!("not ready: {why}")),
        _ => Reply::text(503, HANGS),
    }
}

pub(super) async fn metrics(site: &Site) -> Reply {
    match timeout(PATIENCE, site.ask(Ask::Metrics)).await {
        Ok(Some(text)) => Reply::metrics(text),
        _ => Reply::text(503, HANGS),
    }
}
