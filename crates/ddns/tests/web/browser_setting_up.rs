//! The configuration, recipes and set-up as a person uses them, in a real browser (I1, I2).

use serde_json::json;

use crate::support::browser::{Browser, ENTER};
use crate::support::loopback::{Hosted, Internet, SERVICES};
use crate::support::page::{Page, address};
use crate::support::watching::{SOON, Watch, host};
use crate::support::{Receiver, Sandbox};

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

/// A service without a configuration, and the address of its page.
fn set_up(sandbox: &Sandbox) -> (Watch, String) {
    let watch = Watch::run(sandbox.command(&["watch", "--web", "127.0.0.1:0"]));
    let url = format!("http://{}", address(&watch));
    (watch, url)
}

fn fill(browser: &Browser, selector: &str, text: &str) {
    browser.run(&format!("document.querySelector('{selector}').value = ''"));
    browser.type_into(selector, text);
}

#[test]
fn i1_set_up_is_done_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    browser.width(390);
    let (endpoint, sandbox) = (crate::support::watching::Endpoint::new(), host());
    let (watch, url) = set_up(&sandbox);
    browser.open(&url);
    browser.says("Where is your domain?");
    is_fine(&browser, "the list");
    // It narrows with every letter; what no letters fit is searched in full.
    let is_seen = |name: &str| {
        browser.run(&format!("return document.querySelector('a[href=\"/setup?name={name}\"]').checkVisibility()"))
    };
    browser.type_into("#find", "No IP");
    browser.says("1 service matches.");
    assert_eq!((is_seen("no-ip"), is_seen("duckdns"), is_seen("own")), (json!(true), json!(false), json!(true)));
    is_fine(&browser, "the list, narrowed");
    browser.type_into("#find", "xyzzy");
    browser.says("Enter searches all services.");
    browser.open(&format!("{url}/setup?name=own"));
    fill(&browser, "#id", "example.com/hook");
    fill(&browser, "#domains", "home.example.com");
    fill(&browser, "#index4", &endpoint.receiver.index4());
    fill(&browser, "#index6", "none");
    browser.click("button.main");
    browser.says("The URL must start with http:// or https://");
    assert_eq!(browser.console().len(), 1, "the status is said there");
    is_fine(&browser, "an error at its field");
    fill(&browser, "#id", &endpoint.id());
    fill(&browser, "#body", "none");
    browser.click("button.main");
    browser.says("Does this look right?");
    browser.says("203.0.113.7");
    browser.says("service install");
    is_fine(&browser, "the last step");
    browser.click("button[value=send]");
    browser.says("accepted");
    assert_eq!(endpoint.count(), 1);
    is_fine(&browser, "after sending");
    browser.click("button[value=save]");
    browser.says("home.example.com");
    watch.prints("there is a configuration now");
    browser.says("up to date");
    assert_eq!(endpoint.count(), 1, "it was sent again");
}

/// From an empty folder to an accepted update: a wrong key first, then the right one.
fn go_through(browser: &Browser, service: &Hosted, check: impl Fn(&str)) {
    let internet = Internet::new(host());
    let source = Receiver::new().index4();
    let (watch, url) = set_up(&internet.sandbox);
    browser.open(&url);
    browser.type_into("#find", service.typed);
    browser.press(ENTER);
    browser.until(&format!("document.querySelector('a[href=\"/setup?name={}\"]')", service.name));
    check("what was found");
    browser.click(&format!("a[href=\"/setup?name={}\"]", service.name));
    browser.until("document.querySelector('#domains')");
    fill(browser, "#domains", service.domain.0);
    fill(browser, "#index4", &source);
    fill(browser, "#index6", "none");
    let (place, wrong) = service.wrong;
    for (at, (name, answer)) in service.answers.iter().enumerate() {
        let id = format!("#{}-{}", service.name, name.replace('_', "-"));
        fill(browser, &id, if at == place { wrong } else { answer });
    }
    check("its questions");
    browser.click("button.main");
    browser.says("Does this look right?");
    browser.says(service.domain.1);
    browser.click("button[value=send]");
    browser.says("not accepted");
    check("refused");
    // Back, and only the wrong answer is typed again.
    browser.click("button[value=back]");
    browser.until("document.querySelector('#domains')");
    browser.type_into(&format!("#{}-{}", service.name, service.answers[place].0), service.answers[place].1);
    browser.click("button.main");
    browser.says("Does this look right?");
    browser.click("button[value=send]");
    browser.says("accepted: ");
    check("accepted");
    let count = internet.fake(service.name).callbacks().len();
    browser.click("button[value=save]");
    watch.prints("there is a configuration now");
    browser.says(service.domain.1);
    assert_eq!(internet.fake(service.name).callbacks().len(), count, "{} was sent again", service.name);
    browser.open("about:blank");
    watch.stop();
    browser.console();
}

/// Each service under its real name, wide and on a phone.
#[test]
fn i1_five_services_are_set_up_in_a_browser() {
    let Some(browser) = Browser::start() else { return };
    for (service, width) in SERVICES.iter().zip([1280, 390, 1280, 390, 1280]) {
        browser.width(width);
        go_through(&browser, service, |step| is_fine(&browser, &format!("{}, {step}", service.name)));
    }
}

#[test]
fn i1_set_up_needs_no_script() {
    let Some(browser) = Browser::start() else { return };
    browser.width(390);
    browser.chromium("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    go_through(&browser, &SERVICES[0], |_| {});
}
