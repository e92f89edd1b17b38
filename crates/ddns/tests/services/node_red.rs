//! E1, E2 and H12 with a real receiver: Node-RED, where it is installed, by the recipe for it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::given::{by_recipe, home, with};
use crate::support::tools::{Ended, receiver_tool, skipped, started};
use crate::support::watching::until;

/// Nodes of one flow: `/ddns` writes what it receives to a file, `/refused` responds with 403, `/silent` does not respond.
fn flow(place: &Sandbox) -> Value {
    // A node without a position would be taken for a configuration of others.
    let node = |id: &str, more: Value| with(&json!({"id": id, "z": "flow", "x": 0, "y": 0}), &more);
    let enters = |id: &str, method: &str, url: &str, next: &[&str]| {
        node(id, json!({"type": "http in", "method": method, "url": url, "wires": [next]}))
    };
    let responds =
        |id: &str, status: &str| node(id, json!({"type": "http response", "statusCode": status, "wires": []}));
    json!([
        {"id": "flow", "type": "tab", "label": "ddns"},
        enters("update", "post", "/ddns", &["record"]),
        node("record", json!({"type": "file", "filename": place.path("seen"), "filenameType": "str",
            "appendNewline": true, "overwriteFile": "false", "wires": [["created"]]})),
        responds("created", "201"),
        enters("put", "put", "/refused", &["forbidden"]),
        responds("forbidden", "403"),
        enters("get", "get", "/silent", &[]),
    ])
}

fn node_red(place: &Sandbox) -> Option<(Ended, u16)> {
    let Some(program) = receiver_tool("node_modules/.bin/node-red") else {
        skipped("Node-RED is not installed: `.ci/receivers` does it");
        return None;
    };
    let (server, port) = started(|port| {
        place.write("flows.json", flow(place).to_string());
        let settings = json!({"uiHost": "127.0.0.1", "uiPort": port, "flowFile": "flows.json", "httpAdminRoot": false,
            "telemetry": {"enabled": false}});
        let settings = place.write("settings.js", format!("module.exports = {settings};"));
        let mut command = Command::new(&program);
        command.arg("--userDir").arg(place.path("")).arg("--settings").arg(settings).env("HOME", place.path(""));
        command
    });
    // It listens before its flows have started.
    until(Duration::from_secs(90), "the flow", || status_of_put(port, "/refused").ends_with(" 403"));
    Some((server, port))
}

/// The first words of the response to a PUT.
fn status_of_put(port: u16, path: &str) -> String {
    let mut start = [0; 12];
    let request = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(request.as_bytes()).and_then(|()| stream.read_exact(&mut start)).expect("it responds");
    String::from_utf8_lossy(&start).into_owned()
}

#[test]
fn h12_node_red_receives_the_updates_of_its_recipe() {
    let place = Sandbox::new();
    let Some((_server, port)) = node_red(&place) else { return };
    let base = format!("http://127.0.0.1:{port}");
    let sandbox = by_recipe("node-red", &[&format!("base={base}"), "path=ddns"]);
    sandbox.run(&[]).expect(0).prints("accepted (201").prints("2 accepted");
    let mut seen: Vec<Value> =
        place.read("seen").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    seen.sort_by_key(|update| update["type"].to_string());
    let update = |kind: &str, ip: &str| json!({"domain": "home.example.com", "type": kind, "ip": ip});
    assert_eq!(seen, [update("A", "203.0.113.7"), update("AAAA", "2001:db8::7")]);
    sandbox.run(&[]).says_nothing();

    let at = |path: &str, more| Sandbox::new().sync(&with(&home(&format!("{base}{path}")), &more));
    at("/refused", json!({"method": "PUT"})).expect(1).prints("responded with 403 Forbidden");
    at("/refused", json!({"method": "PATCH"})).expect(1).prints("responded with 404 Not Found");
    at("/silent", json!({"timeout": 1})).expect(1).prints("did not respond within 1 s");
}
