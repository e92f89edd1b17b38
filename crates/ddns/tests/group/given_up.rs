//! What the holder of a lease gave up must not reach the endpoint later, from the buffers of its system: another host may
//! have sent its address by then (J3).

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::given::with;
use crate::support::members::Member;
use crate::support::unread::UnreadServer;
use crate::support::watching::{Endpoint, SOON, Watch};

/// Sends to an endpoint that reads nothing until `end` made the program give up.
fn after(end: impl FnOnce(&mut Watch)) {
    let Some(etcd) = Etcd::start() else { return };
    let unread = UnreadServer::new();
    let one = Member::new("one", "203.0.113.1", &etcd, &Endpoint::new(), &json!({}));
    let mut watch = Watch::start(&one.sandbox, &one.single(&with(&unread.fields(), &json!({"timeout": 2}))));
    unread.wait();
    end(&mut watch);
    unread.gets_no_more();
}

#[test]
fn j3_a_request_that_was_given_up_does_not_arrive_later() {
    after(|watch| watch.prints("failed: "));
}

#[test]
fn j3_a_request_of_a_holder_that_was_killed_does_not_arrive_later() {
    after(|watch| {
        watch.signal(Signal::KILL);
        watch.ended(SOON);
    });
}
