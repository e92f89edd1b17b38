//! The forms of the configuration as a person uses them, in a real browser (I7).

use serde_json::json;

use crate::support::browser::{Browser, ENTER, TAB};
use crate::support::page::Page;
use crate::support::watching::SOON;

const SECRET: &str = "s3cret-key-of-mine";

#[test]
fn i7_the_configuration_is_edited_in_a_browser_by_keyboard_alone() {
    let Some(browser) = Browser::start() else { return };
    let more = json!({"headers": {"X-Key": SECRET}, "ipv4": ["home.example.com", "www.example.com"], "ttl": 300});
    let page = Page::with(&json!({"allow_edit": true}), &more);
    page.endpoint.wait(2, SOON);
    let url = format!("http://{}", page.host());
    browser.width(1200);
    for view in ["/configuration", "/configuration/edit?file=0&entry=0", "/configuration/edit?file=0", "/log"] {
        browser.open(&format!("{url}{view}"));
        browser.run("for (const node of document.querySelectorAll('details')) node.open = true");
        browser.looks_right(view, 320);
        assert!(!browser.run("return document.documentElement.outerHTML").to_string().contains(SECRET), "{view}");
    }
    browser.open(&format!("{url}/configuration/edit?file=0&entry=0"));
    let asks = "const event = new Event('beforeunload', {cancelable: true}); dispatchEvent(event); return event.defaultPrevented";
    assert_eq!(browser.run(asks), json!(false), "nothing would be lost yet");
    browser.run("document.getElementById('ttl').select()");
    browser.type_into("#ttl", "soon");
    assert_eq!(browser.run(asks), json!(true), "what was typed would be lost");
    browser.press(ENTER);
    browser.says("TTL must be a whole number of seconds");
    browser.is_accessible("a form with an error");
    assert!(browser.console().len() <= 1, "422");
    browser.run("document.getElementById('ttl').value = ''");
    browser.type_into("#ttl", "600");
    browser.press(ENTER);
    browser.says("Save these changes?");
    browser.is_accessible("what would change");
    tab_to(&browser, "Save and run");
    browser.press(ENTER);
    browser.says("Saved. The service uses it now.");
    assert!(page.sandbox.read("config.json").contains("\"ttl\":600"));
    // Without the service everything says so at once.
    browser.open(&format!("{url}/"));
    browser.says("up to date");
    assert_eq!(browser.run("return document.title"), json!("All 2 up to date · Overview · ddns"));
    page.watch.stop();
    browser.says("Not connected");
    browser.until("document.documentElement.classList.contains('gone')");
    assert_eq!(browser.run("return document.querySelector('.hero button').ariaDisabled"), json!("true"));
    // On a phone the tab that is open is in view.
    let page = Page::with(&json!({}), &json!({}));
    browser.width(390);
    browser.open(&format!("http://{}/recipes", page.host()));
    let seen = "const box = document.querySelector('.tabs [aria-current]').getBoundingClientRect(); return box.left >= 0 && box.right <= innerWidth";
    assert_eq!(browser.run(seen), json!(true));
}

fn tab_to(browser: &Browser, label: &str) {
    for _ in 0..60 {
        browser.press(TAB);
        if browser.run("return document.activeElement.textContent") == json!(label) {
            return;
        }
    }
    panic!("{label} is not reached by keyboard");
}
