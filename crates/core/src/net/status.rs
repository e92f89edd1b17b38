//! HTTP status codes with their names.

use http::StatusCode;

/// `404 Not Found`, or only the number if the status has no name.
pub fn with_reason(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| status.to_string(), |reason| format!("{status} {reason}"))
}
