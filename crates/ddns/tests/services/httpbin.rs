//! H1 to H4 with a real receiver: httpbin, where it is installed. It responds with what it received, and `expect` compares
//! that.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::given::{ends, home, with};
use crate::support::tools::{Ended, receiver_tool, skipped, started};
use crate::support::{Run, Sandbox};

struct Httpbin {
    _server: Ended,
    port: u16,
}

impl Httpbin {
    fn start() -> Option<Self> {
        let Some(python) = receiver_tool("venv/bin/python") else {
            skipped("httpbin is not installed: `.ci/receivers` does it");
            return None;
        };
        let (server, port) = started(|port| {
            let mut command = Command::new(&python);
            command.args([
                "-m",
                "flask",
                "--app",
                "httpbin",
                "run",
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
            ]);
            // It reads variables from files of its folder.
            command.current_dir(python.parent().expect("a folder"));
            command
        });
        Some(Self { _server: server, port })
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// One update in a sandbox of its own.
    fn run(&self, path: &str, more: &Value) -> Run {
        Sandbox::new().sync(&with(&home(&self.url(path)), more))
    }

    /// Fails unless the response has these values.
    #[track_caller]
    fn shows(&self, path: &str, more: &Value, values: &Value) {
        let run = self.run(path, &with(more, &json!({"expect": {"accept": {"json": values}}, "debug": true})));
        ends(&run, 0, &format!("{path} {more} {values}"));
    }
}

#[test]
fn h1_httpbin_sees_the_method_and_the_body() {
    let Some(httpbin) = Httpbin::start() else { return };
    let token = json!({"domain": "__DOMAIN__", "type": "__RECORDTYPE__", "ip": "__IP__", "text": "ä \"&\" \\"});
    let body = json!({"domain": "home.example.com", "type": "A", "ip": "203.0.113.7", "text": "ä \"&\" \\"});
    for (method, path) in [("POST", "/post"), ("PUT", "/put"), ("PATCH", "/patch"), ("DELETE", "/delete")] {
        let values = json!({"/json": body, "/headers/Content-Type": "application/json"});
        httpbin.shows(path, &json!({"method": method, "token": token}), &values);
        httpbin.shows("/anything", &json!({"method": method}), &json!({"/method": method, "/data": "", "/json": null}));
        // Each of these pages takes one method.
        httpbin.run(path, &json!({"method": "GET"})).expect(1).prints("405 Method Not Allowed");
    }
    let other = json!({"token": token, "expect": {"accept": {"json": {"/json/ip": "203.0.113.8"}}}});
    httpbin.run("/post", &other).expect(1).prints("failed: the endpoint responded with 200");
}

#[test]
fn h3_httpbin_reads_forms_and_texts() {
    let Some(httpbin) = Httpbin::start() else { return };
    let form = json!({"host": "home.example.com", "ip": "203.0.113.7", "key": "a b&c=d+%41ä"});
    let values = json!({"/form": form, "/headers/Content-Type": "application/x-www-form-urlencoded"});
    let token = json!({"host": "__DOMAIN__", "ip": "__IP__", "key": "a b&c=d+%41ä"});
    httpbin.shows("/post", &json!({"format": "form", "token": token}), &values);
    let (token, extra) = ("host=__DOMAIN__&ip=__IP__&key=__KEY__", json!({"__KEY__": "a b&c=d+%41ä"}));
    httpbin.shows("/put", &json!({"method": "PUT", "format": "form", "token": token, "extra": extra}), &values);

    let token = "__DOMAIN__ is now __IP__\nä {\"&\"}";
    let text = "home.example.com is now 203.0.113.7\nä {\"&\"}";
    let values = json!({"/data": text, "/form": {}, "/headers/Content-Type": "text/plain; charset=utf-8"});
    httpbin.shows("/post", &json!({"format": "text", "token": token}), &values);
}

#[test]
fn h2_httpbin_takes_a_key_in_a_header() {
    let Some(httpbin) = Httpbin::start() else { return };
    let bearer = json!({"headers": {"Authorization": "Bearer __KEY__"}, "extra": {"__KEY__": "SecretKey123"}});
    httpbin.shows("/bearer", &bearer, &json!({"/authenticated": true, "/token": "SecretKey123"}));
    let run = httpbin.run("/bearer", &with(&bearer, &json!({"debug": true}))).expect(0);
    run.prints("Authorization: Bearer ***").never_prints("SecretKey123");
    httpbin.run("/bearer", &json!({})).expect(1).prints("responded with 401 Unauthorized");

    let own = json!({"headers": {"X-Source": "__IP__", "user-agent": "Example Client/1.0 me@example.com"}});
    let values =
        json!({"/headers/X-Source": "203.0.113.7", "/headers/User-Agent": "Example Client/1.0 me@example.com"});
    httpbin.shows("/anything", &own, &values);

    for (password, code) in [("SecretKey123", 0), ("WrongKey123", 1)] {
        let id = httpbin.url("/basic-auth/me/SecretKey123").replace("//", &format!("//me:{password}@"));
        let run = Sandbox::new().sync(&home(&id)).expect(code);
        run.never_prints("SecretKey123").never_prints("WrongKey123");
    }
}

#[test]
fn e1_httpbin_decides_by_its_status() {
    let Some(httpbin) = Httpbin::start() else { return };
    for status in [200, 201, 202, 204, 299] {
        ends(&httpbin.run(&format!("/status/{status}"), &json!({})), 0, &status.to_string());
    }
    for status in [400, 403, 404, 409, 410, 418, 429, 500, 502, 503] {
        let run = httpbin.run(&format!("/status/{status}"), &json!({}));
        ends(&run, 1, &status.to_string());
        run.prints(&format!("failed: the endpoint responded with {status}"));
    }
    let expect = json!({"expect": {"accept": {"status": [200, 409]}}});
    httpbin.run("/status/409", &expect).expect(0);
    httpbin.run("/status/204", &expect).expect(1);
}

#[test]
fn e2_httpbin_may_take_as_long_as_the_time_limit_says() {
    let Some(httpbin) = Httpbin::start() else { return };
    httpbin.run("/delay/1", &json!({})).expect(0);
    httpbin.run("/delay/10", &json!({"timeout": 1})).expect(1).prints("did not respond within 1 s");
    // The body comes slowly.
    let slow = json!({"expect": {"accept": "^[*]{4}$"}});
    httpbin.run("/drip?numbytes=4&duration=1", &slow).expect(0);
    httpbin.run("/drip?numbytes=4&duration=8", &with(&slow, &json!({"timeout": 1}))).expect(1);
}

#[test]
fn d3_httpbin_redirects_and_the_method_stays() {
    let Some(httpbin) = Httpbin::start() else { return };
    let put = json!({"method": "PUT", "token": {"ip": "__IP__"}, "headers": {"X-Key": "SecretKey123"}});
    for status in [301, 302, 307, 308] {
        let values = json!({"/method": "PUT", "/json": {"ip": "203.0.113.7"}, "/headers/X-Key": "SecretKey123"});
        httpbin.shows(&format!("/redirect-to?url=%2Fanything&status_code={status}"), &put, &values);
    }
    let path = "/redirect-to?url=%2Fanything&status_code=303";
    httpbin.shows(path, &put, &json!({"/method": "GET", "/data": ""}));
}
