//! A configuration that works, ways to vary it, and what came of it.

use serde_json::{Value, json};

use crate::support::{Received, Receiver, Run, Sandbox};

/// A configuration that works: one domain, one address, told by a GET.
pub fn basic(receiver: &Receiver) -> Value {
    json!({
        "dns": "callback",
        "id": receiver.url("/hook?d=__DOMAIN__&ip=__IP__"),
        "ipv4": ["home.example.com"],
        "index4": "shell:echo 203.0.113.7",
    })
}

/// `config` with the fields of `more` put in or replaced; a `null` stays a `null`.
pub fn with(mut config: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("fields to put in") {
        config[key.as_str()] = value.clone();
    }
    config
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

/// Runs `config` in a sandbox of its own and hands back the one request that it must make.
#[track_caller]
pub fn told(receiver: &Receiver, config: &Value, case: &str) -> Received {
    let run = Sandbox::new().sync(config);
    ends(&run, 0, case);
    let mut seen = receiver.take();
    assert_eq!(seen.len(), 1, "{case}: one callback was expected: {seen:#?}\n{}", run.stderr);
    seen.remove(0)
}
