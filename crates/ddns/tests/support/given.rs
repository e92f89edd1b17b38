//! What most tests begin with: a configuration that sends one update, ways to vary it, and what it sent.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};

use crate::support::{Received, Receiver, Response, Run, Sandbox};

/// A source that needs no network.
pub const SOURCE: &str = "shell:echo 203.0.113.7";

/// One IPv4 update of `home.example.com` to 203.0.113.7.
pub fn home(id: &str) -> Value {
    json!({"dns": "callback", "id": id, "ipv4": ["home.example.com"], "index4": SOURCE})
}

/// The same with the domain and the address in the query, sent to this receiver.
pub fn basic(receiver: &Receiver) -> Value {
    home(&receiver.url("/hook?d=__DOMAIN__&ip=__IP__"))
}

/// A sandbox with the configuration that a recipe makes of these answers: both addresses of `home.example.com`,
/// `203.0.113.7` and `2001:db8::7`.
#[track_caller]
pub fn by_recipe(recipe: &str, answers: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let sources = ["--index4", SOURCE, "--index6", "shell:echo 2001:db8::7"];
    let domains = ["--ipv4", "home.example.com", "--ipv6", "home.example.com"];
    let answers = answers.iter().flat_map(|answer| ["--set", answer]);
    let args: Vec<&str> =
        ["init", "--recipe", recipe].into_iter().chain(sources).chain(domains).chain(answers).collect();
    sandbox.run(&args).expect(0);
    // No test asks the DNS of this host.
    sandbox.write("config.json", sandbox.read("config.json").replace("\"verify\": true", "\"verify\": false"));
    sandbox
}

/// `base` with the fields of `more` in place of its own; a `null` stays a `null`.
pub fn with(base: &Value, more: &Value) -> Value {
    let mut all = base.as_object().expect("a configuration is an object").clone();
    all.extend(more.as_object().expect("fields come as an object").clone());
    Value::Object(all)
}

/// `config` without one field.
pub fn without(mut config: Value, field: &str) -> Value {
    config.as_object_mut().expect("a configuration").remove(field);
    config
}

/// The request targets that arrived, sorted: updates may run side by side.
pub fn targets(receiver: &Receiver) -> Vec<String> {
    let mut targets: Vec<_> = receiver.callbacks().iter().map(|request| request.target().to_owned()).collect();
    targets.sort();
    targets
}

/// Fails with the case and all output where the exit status is another.
#[track_caller]
pub fn ends(run: &Run, code: i32, case: &str) {
    assert_eq!(run.code, code, "{case}: exit status\n--- stdout\n{}\n--- stderr\n{}", run.stdout, run.stderr);
}

/// The one request that `config` makes in a sandbox of its own.
#[track_caller]
pub fn sent_by(receiver: &Receiver, config: &Value, case: &str) -> Received {
    let run = Sandbox::new().sync(config);
    ends(&run, 0, case);
    let mut seen = receiver.take();
    assert_eq!(seen.len(), 1, "{case}: one callback was expected: {seen:#?}\n{}", run.stderr);
    seen.remove(0)
}

/// The one request that [`home`] makes with a callback at `path` and these other fields.
#[track_caller]
pub fn sent(path: &str, more: &Value) -> Received {
    let receiver = Receiver::new();
    Sandbox::new().sync(&with(&home(&receiver.url(path)), more)).expect(0);
    receiver.only()
}

/// The same with a body, where token and other fields are given as text: `json!` would not keep digits and order.
#[track_caller]
pub fn sent_body(token: &str, more: &str) -> Received {
    let receiver = Receiver::new();
    let id = receiver.url("/");
    let config = format!(
        r#"{{"dns": "callback", "id": "{id}", "ipv4": "home.example.com", "index4": "{SOURCE}", "token": {token}{more}}}"#
    );
    Sandbox::new().sync_text(&config).expect(0);
    receiver.only()
}

/// A JSON document as the two forms in which `token` may hold it: the object, and a string around its text.
pub fn both_forms(document: &str) -> [String; 2] {
    [document.to_owned(), Value::from(document).to_string()]
}

/// A receiver whose status the test changes between two runs.
pub fn switched(status: u16) -> (Receiver, Arc<AtomicU16>) {
    let switch = Arc::new(AtomicU16::new(status));
    let read = switch.clone();
    (Receiver::responding(move |_| Response::status(read.load(Ordering::SeqCst))), switch)
}

/// Every file below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// What stands after `name=` in a query, up to the next `&`, as it was sent.
pub fn parameter<'a>(target: &'a str, name: &str) -> &'a str {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let found = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("{target} has no parameter {name}"))
}
