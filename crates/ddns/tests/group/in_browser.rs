//! The page of hosts in a group, in a real browser (I1, J4).

use serde_json::json;

use crate::support::browser::Browser;
use crate::support::etcd::Etcd;
use crate::support::members::Member;
use crate::support::page::Page;
use crate::support::watching::{Endpoint, SOON};

/// The width of a small phone.
const PHONE: u32 = 360;

/// How many members the section of the group lists, and its title.
const SECTION: &str = "const section = document.getElementById('group').closest('section'); \
                       return [section.querySelectorAll('tbody tr').length, section.querySelector('h2').innerText]";

fn page(name: &str, ip: &str, etcd: &Etcd, endpoint: &Endpoint) -> Page {
    let member = Member::new(name, ip, etcd, endpoint, &json!({}));
    let config = member.single(&json!({"interval": "10m", "ipv4": ["home.example.com", "www.example.com"]}));
    Page::start(Endpoint::new(), member.sandbox, &json!({}), config)
}

#[test]
fn j4_the_page_shows_the_group_to_everybody_and_claims_no_more_than_it_knows() {
    let (Some(etcd), Some(browser)) = (Etcd::start(), Browser::start()) else { return };
    browser.width(1200);
    let endpoint = Endpoint::new();
    let one = page("one", "203.0.113.1", &etcd, &endpoint);
    endpoint.wait(2, SOON);
    let other = page("other", "203.0.113.2", &etcd, &endpoint);
    other.watch.prints("is on standby: one");

    browser.open(&format!("http://{}/", one.host()));
    browser.says("All 2 up to date");
    browser.says("one holds the lease for");
    browser.until("document.getElementById('group').closest('section').innerText.includes('other')");
    assert_eq!(browser.run(SECTION), json!([2, "Group home"]));
    browser.looks_right("the holder", PHONE);

    browser.open(&format!("http://{}/", other.host()));
    browser.says("On standby for one");
    browser.says("other is on standby: one holds the lease.");
    assert_eq!(browser.run(SECTION), json!([2, "Group home"]));
    browser.looks_right("a host that stands by", PHONE);

    // News come by themselves: it takes over, and then its store is gone.
    one.watch.stop();
    browser.says("All 2 up to date");
    browser.says("other holds the lease for");
    etcd.pause();
    browser.says("Stands by: the lease of the group is not confirmed");
    browser.says("The store cannot be used: ");
    let headline = browser.run("return document.getElementById('headline').innerText");
    assert_eq!(headline, json!("Stands by: the lease of the group is not confirmed"));
    let states =
        browser.run("return [...document.querySelectorAll('main table .state')].map((node) => node.innerText)");
    assert!(!states.to_string().contains("up to date"), "{states}");
    browser.looks_right("a host without its store", PHONE);
    etcd.resume();
    browser.says("All 2 up to date");
    other.watch.stop();
}
