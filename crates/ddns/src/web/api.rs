//! The interface for programs: JSON, as the commands print it.

use ddns_core::text::json::Value;

use super::reply::{Reply, Request};
use super::site::Site;

/// What is wrong, for programs.
pub(super) fn error(status: u16, why: &str) -> Reply {
    Reply::json(status, &Value::object([("error", Value::string(why))]))
}

fn gone() -> Reply {
    error(503, "the service ends")
}

pub(super) async fn status(site: &Site) -> Reply {
    match site.status().await {
        // As `ddns status --json` has it: a list of services.
        Some(status) => Reply::json(200, &Value::list([status.to_json()])),
        None => gone(),
    }
}

pub(super) async fn synchronize(site: &Site, request: &Request) -> Reply {
    let retry_stopped = request.queried("retry_stopped").is_some_and(|text| text == "true");
    match site.synchronize(retry_stopped).await {
        Some(result) => Reply::json(200, &result),
        None => gone(),
    }
}
