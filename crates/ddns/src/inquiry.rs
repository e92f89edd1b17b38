//! Requests that find what the user need not type (H12). They take the way that updates take (D5).

use std::time::Duration;

use ddns_core::net::proxy::Proxies;
use ddns_core::net::ssl::Ssl;
use ddns_core::recipe::Inquiry;
use ddns_core::text::diagnostic::{Diagnostic, Place};

use crate::http::{BODY_LIMIT, Client, How, Over, Want};
use crate::output::complain;
use ddns_core::net::status::with_reason;

/// How long a service may take to answer.
const LIMIT: Duration = Duration::from_secs(30);

/// The body of the response, or why there is none.
pub(crate) async fn send(
    inquiry: &Inquiry,
    (proxies, ssl): &(Proxies, Ssl),
    client: &Client,
) -> Result<String, String> {
    let how = How { limit: LIMIT, want: Want::Body, over: Over::Any, proxies, ssl, from: None };
    let response = client.send(&inquiry.request, how).await.map_err(|failure| failure.why)?;
    complain(&response.warnings.iter().map(|why| Diagnostic::warning(Place::Nowhere, why)).collect::<Vec<_>>());
    if !(200..300).contains(&response.status) {
        return Err(format!("the service responded with {}", with_reason(response.status)));
    }
    if !response.is_whole {
        return Err(format!("its answer was cut off, or is longer than {} KiB", BODY_LIMIT / 1024));
    }
    String::from_utf8(response.body).map_err(|_| "its answer is not text".to_owned())
}
