//! The configuration, recipes and set-up as a person uses them, in a real browser (I1, I2).

use serde_json::json;

use crate::support::browser::Browser;
use crate::support::page::{Page, address};
use crate::support::watching::{SOON, Watch, host};

const SECRET: &str = "s3cret-key-of-mine";

/// Fails where something is wrong with what is shown: accessibility, width, the console, secrets.
#[track_caller]
fn is_fine(browser: &Browser, what: &str) {
    assert_eq!(browser.violations(), "", "{what}");
    assert_eq!(
        browser.run("return document.documentElement.scrollWidth <= innerWidth"),
        json!(true),
        "{what}: too wide"
    );
    assert_eq!(browser.console(), [""; 0], "{what}: the console");
    let markup = browser.run("return document.documentElement.outerHTML").to_string();
    assert!(!markup.contains(SECRET), "{what}: {markup}");
}

#[test]
fn i2_configuration_and_recipes_are_shown_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    let page = Page::with(&json!({"allow_edit": true}), &json!({"headers": {"X-Key": SECRET}}));
    page.endpoint.wait(1, SOON);
    for width in [1200, 320] {
        browser.width(width);
        for dark in [false, true] {
            browser.prefer_dark(dark);
            for path in
                ["/configuration", "/recipes", "/recipes?find=duck", "/recipes?name=cloudflare", "/recipes?name=own"]
            {
                browser.open(&format!("http://{}{path}", page.host()));
                is_fine(&browser, &format!("{path}, {width} wide"));
            }
        }
    }
}

#[test]
fn i1_set_up_is_done_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    browser.width(360);
    let (endpoint, sandbox) = (crate::support::watching::Endpoint::new(), host());
    let watch = Watch::run(sandbox.command(&["watch", "--web", "127.0.0.1:0"]));
    let url = format!("http://{}", address(&watch));
    browser.open(&url);
    browser.says("Where is your domain?");
    is_fine(&browser, "the list");
    browser.open(&format!("{url}/setup?name=own"));
    browser.type_into("#id", &endpoint.id());
    browser.type_into("#ipv4", "home.example.com");
    browser.run("document.querySelector('#index4').value = ''");
    browser.type_into("#index4", &endpoint.receiver.index4());
    is_fine(&browser, "the questions");
    browser.click("button.main");
    browser.says("Does this look right?");
    browser.says("203.0.113.7");
    is_fine(&browser, "the last step");
    browser.click("button[value=send]");
    browser.says("accepted");
    assert_eq!(endpoint.count(), 1);
    is_fine(&browser, "after sending");
    browser.click("button[value=save]");
    browser.says("home.example.com");
    assert_eq!(endpoint.wait(2, SOON).name(), "home.example.com");
}
