//! The order of an older and a newer address.

use rustix::process::Signal;
use serde_json::json;

use crate::support::Response;
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, until};

/// E4a: a request that was begun is waited for before another for the same update is sent. What changed meanwhile is sent
/// then, the latest address alone.
#[test]
fn e4a_a_newer_address_waits_for_the_request_under_way() {
    let slow = ms(1500);
    let endpoint =
        Endpoint::responding(move |number| Response::status(204).after(if number == 0 { slow } else { ms(0) }));
    let sandbox = host();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    let first = endpoint.wait(1, SOON);
    for ip in ["203.0.113.8", "203.0.113.9"] {
        endpoint.receiver.set_ip(ip);
        let lookups = endpoint.receiver.lookups();
        watch.signal(Signal::USR1);
        until(SOON, "the new address is looked up", || endpoint.receiver.lookups() > lookups);
    }
    assert!(first.at.elapsed() < slow, "the first request is over: this proves nothing");
    let second = endpoint.wait(2, SOON);
    assert!(second.at - first.at >= slow, "sent after {:?}, while the older one was under way", second.at - first.at);
    watch.stop();
    assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.9"]);
}
