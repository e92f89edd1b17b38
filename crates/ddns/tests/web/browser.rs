//! The page as a person uses it, in a real browser (I1, I2). One browser for all of it: it takes longer to start than to use.

use std::time::Duration;

use serde_json::json;

use crate::support::browser::{Browser, ENTER, TAB};
use crate::support::page::{PASSWORD, Page};
use crate::support::watching::{SOON, Watch, until};

/// Every view of the page.
const VIEWS: [&str; 7] = [
    "/",
    "/update?domain=home.example.com&type=A",
    "/addresses",
    "/requests",
    "/history",
    "/configuration",
    "/recipes",
];

#[test]
fn i1_the_page_is_used_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    browser.width(1200);
    // Two updates: what must be unique on a page is seen only then.
    let names = json!({"ipv4": ["home.example.com", "www.example.com"]});
    let page = Page::with(&json!({"password_file": "password"}), &names);
    page.endpoint.wait(2, SOON);
    let url = format!("http://{}", page.host());
    log_in(&browser, &url);
    news_come_without_reloading(&browser, &page);
    synchronizing(&browser, &page);
    by_keyboard(&browser, &url);
    views(&browser, &url);
    let own = format!("{url}/");
    let strange = browser
        .requested()
        .into_iter()
        .find(|other| other.contains("//") && !other.starts_with(&own) && !other.starts_with("chrome:"));
    assert_eq!(strange, None, "a request to another host");
    the_service_restarts(&browser);
}

fn log_in(browser: &Browser, url: &str) {
    browser.open(&format!("{url}/"));
    browser.says("Password");
    browser.is_accessible("the page for logging in");
    browser.is_quiet();
    browser.type_into("#password", &format!("wrong{ENTER}"));
    browser.says("The password is wrong.");
    browser.is_accessible("after a wrong password");
    // The browser itself notes the status of the response.
    assert!(browser.console().len() <= 1, "403");
    browser.type_into("#password", &format!("{PASSWORD}{ENTER}"));
    browser.says("All 2 up to date");
    browser.says("home.example.com");
    browser.is_quiet();
}

fn news_come_without_reloading(browser: &Browser, page: &Page) {
    // What was typed, where the focus is, and what a script left stay.
    browser.run("window.mark = 1; document.querySelector('input[type=search]').focus()");
    browser.type_into("input[type=search]", "hom");
    page.endpoint.receiver.set_ip("203.0.113.99");
    page.sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    browser.until("document.querySelector('.facts').innerText.includes('203.0.113.99')");
    browser.until("document.querySelector('table').innerText.includes('203.0.113.99')");
    let kept = "return [window.mark, document.activeElement.type, document.activeElement.value]";
    assert_eq!(browser.run(kept), json!([1, "search", "hom"]));
    browser.is_quiet();
}

fn synchronizing(browser: &Browser, page: &Page) {
    let before = page.watch.lines_with("synchronization requested");
    browser.click(".hero button");
    until(SOON, "a synchronization", || page.watch.lines_with("synchronization requested") > before);
    browser.says("All 2 up to date");
    assert_eq!(browser.run("return window.mark"), json!(1), "it was not reloaded");
    let left = "document.querySelector('[data-left]').textContent";
    let first = browser.run(&format!("return {left}"));
    browser.until(&format!("{left} !== {first}"));
    browser.is_quiet();
}

fn by_keyboard(browser: &Browser, url: &str) {
    browser.open(&format!("{url}/"));
    browser.press(TAB);
    assert_eq!(browser.run("return document.activeElement.className"), json!("skip"), "the first stop");
    browser.press(ENTER);
    browser.until("document.activeElement.id === 'content'");
    browser.press(TAB);
    assert_eq!(browser.run("return document.activeElement.textContent"), json!("Synchronize now"));
    let outline = "return getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.run(outline), json!("solid"), "the focus is seen");
    browser.is_quiet();
}

fn views(browser: &Browser, url: &str) {
    for view in VIEWS {
        browser.open(&format!("{url}{view}"));
        browser.until("!document.querySelector('[data-again]')");
        browser.looks_right(view, 320);
    }
}

fn the_service_restarts(browser: &Browser) {
    let page = Page::open();
    page.endpoint.wait(1, SOON);
    browser.open(&format!("http://{}/", page.host()));
    browser.says("Up to date");
    let Page { endpoint, sandbox, watch, address } = page;
    watch.stop();
    browser.says("Reconnecting");
    let mut config = endpoint.config(&json!({}));
    config["web"] = json!(address.to_string());
    let again = Watch::start(&sandbox, &config);
    browser.until("document.getElementById('connection').hidden");
    endpoint.receiver.set_ip("203.0.113.88");
    sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    browser.says("203.0.113.88");
    again.stop();
}

#[test]
fn i1_ten_thousand_domains_are_shown_quickly() {
    let names: Vec<String> = (0..10_000).map(|at| format!("host{at:05}.example.com")).collect();
    let page = Page::with(&json!({}), &json!({"ipv4": names, "index4": "url:http://127.0.0.1:1/"}));
    let mut best = Duration::MAX;
    until(SOON * 3, "the first lookup", || {
        let begun = std::time::Instant::now();
        let answer = page.get("/?page=7&sort=name").expect(200);
        best = best.min(begun.elapsed());
        answer.body.contains("301–350 of 10,000") && answer.body.contains("no address")
    });
    for _ in 0..5 {
        let begun = std::time::Instant::now();
        page.get("/?sort=-name&q=99").expect(200);
        best = best.min(begun.elapsed());
    }
    // Without optimization it takes about ten times as long.
    let limit = if cfg!(debug_assertions) { 2_000 } else { 200 };
    assert!(best < Duration::from_millis(limit), "{best:?}");
}
