//! What a group shows: the page, the interface for programs, metrics, the history and notifications.

use rustix::process::Signal;
use serde_json::json;

use crate::support::etcd::Etcd;
use crate::support::inbox::Inbox;
use crate::support::members::{Member, TAKEN_OVER};
use crate::support::page::Page;
use crate::support::watching::{Endpoint, SOON, until};

/// A host of the group with a page, which notifies.
fn page(name: &str, ip: &str, etcd: &Etcd, endpoint: &Endpoint, inbox: &Inbox) -> Page {
    let member = Member::new(name, ip, etcd, endpoint, &json!({}));
    let notify = inbox.notify(&json!({"on": ["took-over", "lost"]}));
    let config = member.single(&json!({"interval": "10m", "notify": notify}));
    Page::start(Endpoint::new(), member.sandbox, &json!({}), config)
}

fn metric(page: &Page, name: &str) -> String {
    let text = page.get("/metrics").expect(200).body;
    let series = format!("ddns_group_{name}{{group=\"home\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&series)).unwrap_or_else(|| panic!("{series}\n{text}")).to_owned()
}

fn messages(inbox: &Inbox) -> Vec<String> {
    inbox.messages().iter().map(|message| message["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn j5_everything_shows_who_holds_who_took_over_and_who_gave_back() {
    let Some(etcd) = Etcd::start() else { return };
    let (endpoint, inbox) = (Endpoint::new(), Inbox::new());
    let one = page("one", "203.0.113.1", &etcd, &endpoint, &inbox);
    endpoint.wait(1, SOON);
    let other = page("other", "203.0.113.2", &etcd, &endpoint, &inbox);
    other.watch.prints("is on standby: one");
    until(SOON, "both see each other", || {
        metric(&one, "members_ready") == "2" && metric(&other, "members_ready") == "2"
    });

    assert_eq!((metric(&one, "holder"), metric(&one, "takeovers_total")), ("1".to_owned(), "1".to_owned()));
    assert_eq!((metric(&other, "holder"), metric(&other, "lease_seconds")), ("0".to_owned(), "0".to_owned()));
    let status = other.get("/api/v1/status").expect(200).json();
    assert_eq!(
        (&status[0]["group"]["role"], &status[0]["updates"][0]["state"]),
        (&json!("stand-by"), &json!("stand_by"))
    );
    let shown = other.get("/").expect(200).body;
    assert!(shown.contains("On standby for one") && !shown.contains("What needs attention"), "{shown}");
    other.get("/readyz").expect(200);
    inbox.wait(&["took-over"]);

    one.sandbox.write("address", "none");
    one.watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, TAKEN_OVER).ip(), "203.0.113.2");
    until(SOON, "both report it", || messages(&inbox).len() == 3);
    let said = messages(&inbox);
    for expected in
        ["one gave the lease of group home back: this host has no address", "other took over the lease of group home"]
    {
        assert!(said.iter().any(|message| message == expected), "{said:?}");
    }
    assert_eq!((metric(&one, "holder"), metric(&one, "losses_total")), ("0".to_owned(), "1".to_owned()));
    let kept = one.sandbox.run(&["history", "--group", "--json", "-c", "config.json"]).expect(0).stdout;
    let events: Vec<String> = serde_json::from_str::<Vec<serde_json::Value>>(&kept)
        .expect("JSON")
        .iter()
        .map(|record| record["event"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(events, ["took_over", "gave_back"], "{kept}");
    let shown = one.get("/history?outcome=group").expect(200).body;
    assert!(shown.contains("gave the lease of group home back: this host has no address"), "{shown}");

    // Who ends gives the lease back, and need not report it.
    other.watch.stop();
    let kept = other.sandbox.run(&["history", "--group", "-c", "config.json"]).expect(0).stdout;
    assert!(kept.contains("took over") && kept.contains("back"), "{kept}");
    assert_eq!(messages(&inbox).len(), 3, "{:?}", messages(&inbox));
    one.watch.stop();
}

#[test]
fn j4_without_the_store_no_member_is_ready_for_longer_than_its_lease() {
    let Some(etcd) = Etcd::start() else { return };
    let (endpoint, inbox) = (Endpoint::new(), Inbox::new());
    let one = page("one", "203.0.113.1", &etcd, &endpoint, &inbox);
    endpoint.wait(1, SOON);
    one.get("/readyz").expect(200);
    etcd.pause();
    until(TAKEN_OVER, "its lease is over", || one.get("/readyz").status == 503);
    let answer = one.get("/readyz").expect(503);
    assert!(answer.body.starts_with("not ready: the lease of the group is not confirmed"), "{}", answer.body);
    assert_eq!((metric(&one, "holder"), metric(&one, "store_up")), ("0".to_owned(), "0".to_owned()));
    let shown = one.get("/").expect(200).body;
    assert!(shown.contains("The store cannot be used: "), "{shown}");
    etcd.resume();
    until(TAKEN_OVER, "it is confirmed", || one.get("/readyz").status == 200);
    one.watch.stop();
}
