//! What `ddns status` shows of a failure is often the text of somebody else: no secret may be in it (G2).

use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::watching::{Endpoint, SOON, Watch, host, status, until};
use crate::support::{Response, Sandbox};

const SECRET: &str = "s3cr3tkey";

/// Waits for a failure, and hands back its reason and everything that was printed about it.
fn failure(sandbox: &Sandbox, config: &Value) -> (String, String) {
    let watch = Watch::start(sandbox, config);
    let mut reason = String::new();
    until(SOON, "the failure shows in status", || {
        let row = &status(sandbox).0["updates"][0];
        row["reason"].as_str().unwrap_or_default().clone_into(&mut reason);
        // Until there is an address, the reason says why there is none.
        row["state"] != "no_address" && !reason.is_empty()
    });
    let run = sandbox.run(&["status", "-c", "config.json"]);
    let printed = format!("{}{}{}", run.stdout, run.stderr, status(sandbox).0);
    (reason, printed + &watch.stop())
}

#[test]
fn g2_status_shows_no_secret_that_an_endpoint_sent_back() {
    let (sandbox, location) = (host(), format!("http://no-host!{SECRET}/"));
    let endpoint = Endpoint::responding(move |_| Response::status(302).header("Location", &location));
    let id = format!("{}&key={SECRET}", endpoint.id());
    let (reason, printed) = failure(&sandbox, &with(&endpoint.config(&json!({})), &json!({"id": id})));
    assert!(reason.contains("no-host") && reason.contains("***"), "{reason}");
    assert!(!printed.contains(SECRET), "{printed}");
}

#[test]
fn g2_status_shows_no_secret_that_makes_an_address_impossible() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    // Short: the last gate of the log lets it pass.
    let more = json!({"id": "http://x__ZONE__/?ip=__IP__", "extra": {"__ZONE__": "k3y!"}});
    let (reason, printed) = failure(&sandbox, &with(&endpoint.config(&json!({})), &more));
    assert!(reason.contains("the address") && reason.contains("***"), "{reason}");
    assert!(!printed.contains("k3y"), "{printed}");
}
