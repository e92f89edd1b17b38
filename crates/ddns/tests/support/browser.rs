//! A real browser: Chromium, driven over `WebDriver`. The protocol is JSON over HTTP, and needs no more than this.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::tools::{Ended, receiver_tool, skipped, started, tool};
use crate::support::watching::until;

/// A browser on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(30);

/// The name under which the protocol names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// One window of a browser.
pub struct Browser {
    port: u16,
    session: String,
    /// What finds violations of the rules for accessibility.
    axe: String,
    _driver: Ended,
    _profile: tempfile::TempDir,
}

/// Keys that are no letters.
pub const TAB: &str = "\u{e004}";
pub const ENTER: &str = "\u{e007}";

impl Browser {
    /// None, which is reported, where something is not installed.
    pub fn start() -> Option<Self> {
        let (Some(driver), Some(chromium)) = (tool("chromedriver"), tool("chromium")) else {
            skipped("`chromium` or `chromedriver` is not installed");
            return None;
        };
        let Some(axe) = receiver_tool("node_modules/axe-core/axe.min.js") else {
            skipped("axe-core is not installed: `.ci/receivers` does it");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let (ended, port) = started(|port| {
            let mut command = Command::new(&driver);
            command.arg(format!("--port={port}")).env("HOME", profile.path());
            command
        });
        let folder = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            &folder,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"binary": chromium, "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}});
        let axe = std::fs::read_to_string(axe).expect("a script");
        let mut browser = Self { port, session: String::new(), axe, _driver: ended, _profile: profile };
        let session = browser.command("POST", "/session", &wanted);
        browser.session = format!("/session/{}", session["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    /// One command of the protocol; fails the test where it fails.
    #[track_caller]
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_command(method, path, body).unwrap_or_else(|why| panic!("{method} {path}: {why}"))
    }

    fn try_command(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(PATIENCE * 2)).expect("a time limit");
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {}{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            self.session,
            self.port,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        let mut bytes = [0; 16384];
        // It says how long the body is, and need not close the connection.
        while !is_whole(&text) {
            match stream.read(&mut bytes) {
                Ok(0) => break,
                Ok(count) => text.extend_from_slice(&bytes[..count]),
                Err(error) => return Err(error.to_string()),
            }
        }
        let text = String::from_utf8_lossy(&text);
        let (head, body) = text.split_once("\r\n\r\n").ok_or("no response")?;
        let response: Value = serde_json::from_str(body).map_err(|error| format!("{error}: {body}"))?;
        if head.starts_with("HTTP/1.1 200") { Ok(response["value"].clone()) } else { Err(response.to_string()) }
    }

    /// Opens a page, and waits until it is there.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.command("POST", "/url", &json!({"url": url}));
    }

    /// Runs a script in the page: what it returns.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression is true in the page.
    #[track_caller]
    pub fn until(&self, expression: &str) {
        let script = format!("return !!({expression})");
        until(PATIENCE, &format!("{expression}; the page says: {}", self.text()), || self.run(&script) == json!(true));
    }

    /// What the page says.
    pub fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page says this.
    #[track_caller]
    pub fn says(&self, text: &str) {
        self.until(&format!("document.body.innerText.includes({})", json!(text)));
    }

    #[track_caller]
    fn find(&self, selector: &str) -> String {
        let found = self.command("POST", "/element", &json!({"using": "css selector", "value": selector}));
        found[ELEMENT].as_str().expect("an element").to_owned()
    }

    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.find(selector);
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element.
    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.command("POST", &format!("/element/{element}/value"), &json!({"text": text}));
    }

    /// Presses keys, wherever the focus is.
    #[track_caller]
    pub fn press(&self, key: &str) {
        let actions = json!([{"type": "key", "id": "keys", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]);
        self.command("POST", "/actions", &json!({"actions": actions}));
    }

    /// A command of Chromium's own protocol.
    #[track_caller]
    pub fn chromium(&self, command: &str, parameters: &Value) {
        self.command("POST", "/goog/cdp/execute", &json!({"cmd": command, "params": parameters}));
    }

    /// As wide as a phone, or as a screen.
    #[track_caller]
    pub fn width(&self, width: u32) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.chromium("Emulation.setDeviceMetricsOverride", &size);
    }

    #[track_caller]
    pub fn prefer_dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.chromium("Emulation.setEmulatedMedia", &features);
    }

    /// The violations of the rules for accessibility on the page.
    #[track_caller]
    pub fn violations(&self) -> String {
        if self.run("return typeof axe") != json!("object") {
            self.run(&self.axe);
        }
        let script = "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then((result) => \
                      done(result.violations.flatMap((rule) => rule.nodes.map((node) => \
                      `${rule.id}: ${node.html}: ${node.failureSummary}`)).join('\\n')), (error) => done(String(error)));";
        let found = self.command("POST", "/execute/async", &json!({"script": script, "args": []}));
        found.as_str().unwrap_or_default().to_owned()
    }

    /// Fails where somebody is shut out.
    #[track_caller]
    pub fn is_accessible(&self, what: &str) {
        assert_eq!(self.violations(), "", "{what}");
    }

    /// Fails where something went wrong in the page.
    #[track_caller]
    pub fn is_quiet(&self) {
        assert_eq!(self.console(), [""; 0], "the console");
    }

    /// Light and dark, wide and as narrow as a phone: nothing is cut off, and nobody is shut out.
    #[track_caller]
    pub fn looks_right(&self, view: &str, phone: u32) {
        for is_dark in [false, true] {
            self.prefer_dark(is_dark);
            let back = self.run("return getComputedStyle(document.body).backgroundColor");
            assert_eq!(back == json!("rgb(14, 17, 22)"), is_dark, "{view}: {back}");
            self.is_accessible(&format!("{view}, dark: {is_dark}"));
        }
        self.prefer_dark(false);
        self.width(phone);
        let wide = "return [...document.querySelectorAll('main *')].filter((node) => \
                    node.getBoundingClientRect().right > innerWidth + 1 && !node.closest('.chips, thead')).map((node) => \
                    node.outerHTML.slice(0, 200))";
        assert_eq!(self.run(wide), json!([]), "{view}: wider than a phone");
        assert_eq!(self.run("return document.documentElement.scrollWidth <= innerWidth"), json!(true), "{view}");
        self.is_accessible(&format!("{view} on a phone"));
        self.width(1200);
        self.is_quiet();
    }

    /// What was written to the console since this was last asked.
    #[track_caller]
    pub fn console(&self) -> Vec<String> {
        self.log("browser").into_iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// The addresses that were requested since this was last asked.
    #[track_caller]
    pub fn requested(&self) -> Vec<String> {
        let messages = self.log("performance").into_iter();
        let messages = messages.filter_map(|entry| serde_json::from_str(entry["message"].as_str()?).ok());
        let urls = messages.filter_map(|message: Value| {
            let message = &message["message"];
            (message["method"] == "Network.requestWillBeSent")
                .then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        urls.collect()
    }

    #[track_caller]
    fn log(&self, kind: &str) -> Vec<Value> {
        self.command("POST", "/se/log", &json!({"type": kind})).as_array().cloned().unwrap_or_default()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser then.
        let _ = self.try_command("DELETE", "", &Value::Null);
    }
}

/// Whether the bytes are a whole response.
fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let lengths = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    lengths.next().and_then(|(_, value)| value.trim().parse().ok()).is_some_and(|length: usize| body.len() >= length)
}
