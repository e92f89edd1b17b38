//! Set-up and editing by a person who has no mouse, in a real browser: Tab, Enter, Space and typing alone (I1, I7).

use serde_json::json;

use crate::support::browser::{Browser, ENTER, TAB};
use crate::support::page::{Page, address};
use crate::support::watching::{Endpoint, SOON, Watch, host};

const SPACE: &str = " ";

/// Presses Tab until this holds of the `node` that has the focus, which must be seen there.
#[track_caller]
fn tab_to(browser: &Browser, what: &str, is_there: &str) {
    let there = format!("const node = document.activeElement; return Boolean({is_there})");
    for _ in 0..200 {
        if browser.run(&there) == json!(true) {
            let outline = "return getComputedStyle(document.activeElement).outlineStyle";
            assert_eq!(browser.run(outline), json!("solid"), "{what}: the focus is not seen");
            return;
        }
        browser.press(TAB);
    }
    panic!("{what} is not reached by Tab: {}", browser.text());
}

/// To the link, button or summary that begins with these words.
#[track_caller]
fn to(browser: &Browser, words: &str) {
    let is_there =
        format!("node.matches('a, button, summary') && node.textContent.trim().startsWith({})", json!(words));
    tab_to(browser, words, &is_there);
}

/// Types into the field of this id; what is in it is selected when Tab leads there.
#[track_caller]
fn fill(browser: &Browser, id: &str, text: &str) {
    tab_to(browser, id, &format!("node.id === {}", json!(id)));
    for letter in text.chars() {
        browser.press(&letter.to_string());
    }
    let typed = browser.run("return document.activeElement.value");
    assert_eq!(typed, json!(text), "{id}");
}

#[test]
fn i1_set_up_is_done_by_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    browser.width(1200);
    let (endpoint, sandbox) = (Endpoint::new(), host());
    let watch = Watch::run(sandbox.command(&["watch", "--web", "127.0.0.1:0"]));
    browser.open(&format!("http://{}/", address(&watch)));
    browser.says("Where is your domain?");
    to(&browser, "My own URL");
    browser.press(ENTER);
    browser.until("document.querySelector('#domains')");
    fill(&browser, "domains", "home.example.com");
    fill(&browser, "id", &endpoint.id());
    fill(&browser, "body", "none");
    fill(&browser, "index4", &endpoint.receiver.index4());
    fill(&browser, "index6", "none");
    to(&browser, "Continue");
    browser.press(ENTER);
    browser.says("Does this look right?");
    to(&browser, "Back");
    browser.press(SPACE);
    browser.until("document.querySelector('#domains')");
    to(&browser, "Continue");
    browser.press(SPACE);
    browser.says("Does this look right?");
    to(&browser, "Send it once");
    browser.press(SPACE);
    browser.says("accepted");
    to(&browser, "Save and run");
    browser.press(ENTER);
    browser.says("up to date");
    assert_eq!(endpoint.count(), 1, "sent once, and accepted");
    assert!(sandbox.read("config.json").contains("home.example.com"));
}

#[test]
fn i7_an_entry_is_edited_by_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    browser.width(1200);
    let more = json!({"headers": {"X-Key": "s3cret-key"}, "ipv4": ["home.example.com", "www.example.com"], "ttl": 300});
    let page = Page::with(&json!({"allow_edit": true}), &more);
    page.endpoint.wait(2, SOON);
    browser.open(&format!("http://{}/", page.host()));
    browser.says("up to date");
    to(&browser, "Configuration");
    browser.press(ENTER);
    browser.says("What is updated");
    to(&browser, "Edit");
    browser.press(ENTER);
    browser.until("document.querySelector('#ttl')");
    // A secret is replaced, a domain is removed, and a value is another one.
    to(&browser, "Replace Headers");
    browser.press(SPACE);
    fill(&browser, "headers", "X-Key: another-key");
    tab_to(&browser, "the second domain", "node.name === 'set.ipv4.is.www.example.com'");
    browser.press(SPACE);
    fill(&browser, "ttl", "600");
    to(&browser, "Continue");
    browser.press(ENTER);
    browser.says("Save these changes?");
    to(&browser, "Back");
    browser.press(ENTER);
    browser.until("document.querySelector('#ttl')?.value === '600'");
    to(&browser, "Continue");
    browser.press(SPACE);
    browser.says("Save these changes?");
    to(&browser, "Save and run");
    browser.press(SPACE);
    browser.says("Saved. The service uses it now.");
    let text = page.sandbox.read("config.json");
    assert!(text.contains("600") && text.contains("another-key") && !text.contains("www.example.com"), "{text}");
}
