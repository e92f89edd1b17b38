//! `ddns watch` and a configuration that changes: SIGHUP, files that are written, replaced and linked anew, and files
//! that cannot be used.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::watching::{Endpoint, SOON, Watch, host, ms, sockets, status, until};
use crate::support::{Response, Sandbox};

/// What it logs when a new configuration takes the place of the old one.
const RELOADING: &str = "the configuration changed: reloading";

fn names(endpoint: &Endpoint) -> Vec<String> {
    endpoint.arrivals().iter().map(|arrival| arrival.name().to_owned()).collect()
}

/// The usual configuration with these domains.
fn of(endpoint: &Endpoint, domains: &[&str]) -> Value {
    endpoint.config(&json!({"ipv4": domains}))
}

/// A service that has updated `a.example.com`.
fn running(sandbox: &Sandbox) -> (Endpoint, Watch) {
    let endpoint = Endpoint::new();
    let watch = Watch::start(sandbox, &of(&endpoint, &["a.example.com"]));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    (endpoint, watch)
}

/// Puts a file in the place of another, as editors do.
fn rename_over(sandbox: &Sandbox, name: &str, text: &str) {
    let fresh = sandbox.write(&format!("{name}.new"), text);
    // What was heard of the new file is over when it takes the place.
    thread::sleep(ms(300));
    fs::rename(fresh, sandbox.path(name)).expect("it is renamed");
}

#[test]
fn watch_a_file_that_is_written_in_place_or_renamed_over_is_loaded() {
    let sandbox = host();
    let (endpoint, watch) = running(&sandbox);
    sandbox.write("config.json", of(&endpoint, &["a.example.com", "b.example.com"]).to_string());
    assert_eq!(endpoint.wait(2, SOON).name(), "b.example.com");
    watch.prints("b.example.com A 203.0.113.7: accepted");
    rename_over(&sandbox, "config.json", &of(&endpoint, &["b.example.com", "c.example.com"]).to_string());
    assert_eq!(endpoint.wait(3, SOON).name(), "c.example.com");
    watch.prints("c.example.com A 203.0.113.7: accepted");
    assert_eq!(watch.lines_with(RELOADING), 2, "{}", watch.log());
    // What is no longer in it is no longer sent.
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    endpoint.wait(5, SOON);
    thread::sleep(ms(500));
    let mut last = names(&endpoint).split_off(3);
    last.sort();
    assert_eq!(last, ["b.example.com", "c.example.com"]);
    let (report, _) = status(&sandbox);
    assert_eq!(report["updates"].as_array().map(Vec::len), Some(2), "{report:#}");
    watch.stop();
}

/// A link that leads elsewhere; the file that it leads to; and a folder of links, as containers are given them.
#[test]
fn watch_a_link_that_is_swapped_is_followed() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    for (folder, domain) in [("v1", "a.example.com"), ("v2", "b.example.com"), ("v3", "c.example.com")] {
        sandbox.write(&format!("{folder}/config.json"), of(&endpoint, &[domain]).to_string());
    }
    symlink("v1", sandbox.path("current")).expect("a link");
    symlink("current/config.json", sandbox.path("config.json")).expect("a link");
    let watch = Watch::again(&sandbox);
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    let swap = |target: &str, name: &str| {
        symlink(target, sandbox.path("fresh")).expect("a link");
        thread::sleep(ms(300));
        fs::rename(sandbox.path("fresh"), sandbox.path(name)).expect("it is renamed");
    };
    swap("v2", "current");
    assert_eq!(endpoint.wait(2, SOON).name(), "b.example.com", "the folder is another");
    watch.prints("b.example.com A 203.0.113.7: accepted");
    swap("v3/config.json", "config.json");
    assert_eq!(endpoint.wait(3, SOON).name(), "c.example.com", "the link is another");
    watch.prints("c.example.com A 203.0.113.7: accepted");
    sandbox.write("v3/config.json", of(&endpoint, &["d.example.com"]).to_string());
    assert_eq!(endpoint.wait(4, SOON).name(), "d.example.com", "the file is another");
    watch.stop();
}

#[test]
fn watch_sighup_loads_again() {
    let sandbox = host();
    let (endpoint, watch) = running(&sandbox);
    watch.signal(Signal::HUP);
    watch.prints("the configuration has not changed");
    assert_eq!((endpoint.count(), watch.lines_with(RELOADING)), (1, 0));
    sandbox.write("config.json", of(&endpoint, &["b.example.com"]).to_string());
    watch.signal(Signal::HUP);
    assert_eq!(endpoint.wait(2, SOON).name(), "b.example.com");
    watch.prints("b.example.com A 203.0.113.7: accepted");
    // A signal and a file at once are one reload.
    thread::sleep(ms(700));
    assert_eq!(watch.lines_with(RELOADING), 1, "{}", watch.log());
    assert_eq!(endpoint.count(), 2);
    watch.stop();
}

#[test]
fn watch_a_configuration_that_does_not_load_keeps_the_old_one() {
    let sandbox = host();
    let (endpoint, mut watch) = running(&sandbox);
    for (number, wrong) in ["{", "{\"dns\": \"callback\"}", ""].iter().enumerate() {
        sandbox.write("config.json", wrong);
        until(SOON, "it is logged", || watch.lines_with("keeping the previous one") == number + 1);
        assert!(watch.is_running());
    }
    assert!(watch.log().contains("config.json"), "the file is named:\n{}", watch.log());
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.8", "the previous one still runs");
    fs::remove_file(sandbox.path("config.json")).expect("it is removed");
    until(SOON, "it is logged", || watch.lines_with("keeping the previous one") == 4);
    assert!(watch.is_running());
    sandbox.write("config.json", of(&endpoint, &["b.example.com"]).to_string());
    assert_eq!(endpoint.wait(3, SOON).name(), "b.example.com", "mended");
    watch.stop();
}

#[test]
fn i6_a_configuration_that_is_put_back_and_loaded_on_request_is_not_called_wrong() {
    let sandbox = host();
    let (_endpoint, watch) = running(&sandbox);
    let text = sandbox.read("config.json");
    sandbox.write("config.json", "{");
    until(SOON, "it is called wrong", || status(&sandbox).1 == 1);
    sandbox.write("config.json", text);
    watch.signal(Signal::HUP);
    watch.prints("the configuration has not changed");
    until(SOON, "all is well", || status(&sandbox).1 == 0);
    watch.stop();
}

#[test]
fn watch_what_does_not_change_the_configuration_is_no_reload() {
    let sandbox = host();
    let (endpoint, watch) = running(&sandbox);
    let text = sandbox.read("config.json");
    let (lines, look_ups) = (watch.log().lines().count(), endpoint.receiver.lookups());
    for _ in 0..5 {
        sandbox.write("neighbour.json", "{");
        fs::remove_file(sandbox.path("neighbour.json")).expect("it is removed");
    }
    thread::sleep(ms(1000));
    assert_eq!(watch.log().lines().count(), lines, "neighbours are passed over:\n{}", watch.log());
    rename_over(&sandbox, "config.json", &text);
    thread::sleep(ms(1000));
    sandbox.write("config.json", format!("{text}\n// a word\n"));
    thread::sleep(ms(1000));
    assert_eq!(watch.lines_with(RELOADING), 0, "{}", watch.log());
    assert!(watch.log().lines().count() <= lines + 2, "{}", watch.log());
    assert_eq!((endpoint.count(), endpoint.receiver.lookups()), (1, look_ups));
    watch.stop();
}

#[test]
fn watch_a_new_cache_is_taken_and_the_old_one_let_go() {
    let sandbox = host();
    let (endpoint, watch) = running(&sandbox);
    let domains = json!({"ipv4": ["a.example.com"], "cache": "elsewhere.json"});
    sandbox.write("config.json", endpoint.config(&domains).to_string());
    endpoint.wait(2, SOON);
    until(SOON, "it is accepted and saved", || sandbox.path("elsewhere.json").exists());
    sandbox.run(&["watch", "-c", "config.json"]).expect(1).prints("elsewhere.json");
    assert_eq!(sockets(&sandbox).len(), 1, "{:?}", sockets(&sandbox));
    sandbox.write("old.json", of(&endpoint, &["a.example.com"]).to_string());
    let other = Watch::run(sandbox.command(&["watch", "-c", "old.json"]));
    until(SOON, "the old cache is free", || sockets(&sandbox).len() == 2);
    // With the other cache another address may have been sent since (E3).
    endpoint.wait(3, SOON);
    other.stop();
    watch.stop();
    assert_eq!(sockets(&sandbox), [] as [&Path; 0]);
    assert_eq!(endpoint.count(), 3, "{:?}", endpoint.ips());
}

/// Somebody else holds the new cache: a configuration that cannot be used.
#[test]
fn watch_a_new_cache_that_another_service_holds_keeps_the_old_configuration() {
    let sandbox = host();
    let (endpoint, mut watch) = running(&sandbox);
    sandbox.write("other.json", endpoint.config(&json!({"cache": "taken.json"})).to_string());
    let other = Watch::run(sandbox.command(&["watch", "-c", "other.json"]));
    endpoint.wait(2, SOON);
    let taken = json!({"ipv4": ["a.example.com"], "cache": "taken.json"});
    sandbox.write("config.json", endpoint.config(&taken).to_string());
    watch.prints("keeping the previous one");
    assert!(watch.is_running(), "it ended:\n{}", watch.log());
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(3, SOON).name(), "a.example.com");
    other.stop();
    watch.stop();
}

/// A domain that failed and is taken out is not tried again.
#[test]
fn watch_a_domain_that_is_taken_out_is_not_retried() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(if number == 0 { 500 } else { 204 }));
    let watch = Watch::start(&sandbox, &of(&endpoint, &["a.example.com"]));
    watch.prints("retry in");
    sandbox.write("config.json", of(&endpoint, &["b.example.com"]).to_string());
    until(SOON, "b is sent", || names(&endpoint).contains(&"b.example.com".to_owned()));
    let before = names(&endpoint).len();
    thread::sleep(ms(6000));
    assert_eq!(names(&endpoint).len(), before, "{:?}", names(&endpoint));
    watch.stop();
}

/// What is under way when the configuration changes is waited for, remembered, and not sent twice.
#[test]
fn watch_a_reload_waits_for_the_request_under_way() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(1500)));
    let watch = Watch::start(&sandbox, &of(&endpoint, &["a.example.com"]));
    endpoint.wait(1, SOON);
    sandbox.write("config.json", of(&endpoint, &["a.example.com", "b.example.com"]).to_string());
    endpoint.wait(2, SOON);
    watch.prints("b.example.com A 203.0.113.7: accepted");
    assert_eq!(names(&endpoint), ["a.example.com", "b.example.com"]);
    watch.stop();
}

/// A rest that the endpoint asked for outlives a reload.
#[test]
fn watch_a_rest_that_was_asked_for_outlives_a_reload() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| match number {
        0 => Response::status(503).header("Retry-After", "5"),
        _ => Response::status(204),
    });
    let watch = Watch::start(&sandbox, &of(&endpoint, &["a.example.com"]));
    let first = endpoint.wait(1, SOON);
    watch.prints("retry in");
    sandbox.write("config.json", of(&endpoint, &["a.example.com", "b.example.com"]).to_string());
    watch.prints(RELOADING);
    // Up to as long again: hosts do not come back together.
    let second = endpoint.wait(2, SOON * 2);
    assert!(second.at - first.at > ms(4900), "{:?} after it asked for 5 s", second.at - first.at);
    watch.stop();
}

#[test]
fn watch_a_file_that_holds_a_secret_is_watched_too() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let token = sandbox.write("token", "{\"key\": \"value-one\", \"ip\": \"__IP__\"}");
    sandbox.write("config.json", of(&endpoint, &["a.example.com"]).to_string());
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    command.env("DDNS_TOKEN_FILE", token);
    let watch = Watch::run(command);
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    sandbox.write("token", "{\"key\": \"value-two\", \"ip\": \"__IP__\"}");
    endpoint.wait(2, SOON);
    let bodies: Vec<Value> = endpoint.receiver.callbacks().iter().map(|seen| seen.json()["key"].clone()).collect();
    assert_eq!(bodies, ["value-one", "value-two"]);
    watch.stop();
}

/// A pipe that nobody writes to, wherever a file is read or written: refused with a sentence, and never waited for.
#[test]
fn watch_a_pipe_in_the_place_of_a_file_stops_nothing() {
    let sandbox = host().env("DDNS_TOKEN_FILE", "token");
    sandbox.write("token", "");
    let endpoint = Endpoint::new();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"timeout": 5})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    for name in ["config.json", "token"] {
        let before = fs::read(sandbox.path(name)).expect("the file");
        let lines = watch.lines_with("is not a regular file");
        // There is no moment in which neither is there.
        assert!(Command::new("mkfifo").arg(sandbox.path("new")).status().expect("mkfifo runs").success());
        fs::rename(sandbox.path("new"), sandbox.path(name)).expect("it takes the place");
        watch.signal(Signal::HUP);
        until(SOON, "it is refused", || watch.lines_with("is not a regular file") > lines);
        sandbox.run(&["status"]).expect(1);
        sandbox.write("new", before);
        fs::rename(sandbox.path("new"), sandbox.path(name)).expect("it is back");
        until(SOON, "all is well", || sandbox.run(&["status"]).code == 0);
    }
    // What the service writes itself is put in their place while it runs.
    for name in ["cache.json", "cache.json.history", "cache.json.watch"] {
        let path = sandbox.cache_file().with_file_name(name);
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo runs").success());
    }
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    endpoint.wait(2, SOON);
    sandbox.run(&["status", "--alive"]).expect(0);
    watch.stop();
    assert!(Command::new("mkfifo").arg(sandbox.path("pipe")).status().expect("mkfifo runs").success());
    sandbox.write("ca.json", endpoint.config(&json!({"ssl": "pipe"})).to_string());
    sandbox.run(&["-c", "ca.json"]).expect(2).prints("is not a regular file");
    sandbox.write("log.json", endpoint.config(&json!({"log": {"file": "pipe"}, "cache": false})).to_string());
    sandbox.run(&["-c", "log.json"]).expect(0).prints("cannot be opened");
    let secure = json!({"id": endpoint.id().replacen("http:", "https:", 1), "cache": false, "timeout": 5});
    sandbox.write("roots.json", endpoint.config(&secure).to_string());
    sandbox.env("SSL_CERT_FILE", "pipe").run(&["-c", "roots.json"]).expect(1).prints("failed");
}
