//! `ddns watch` where several things happen at once: a reload and a signal, a rest and somebody who asks, more news from
//! the kernel than there is room for.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::json;

use crate::support::tools::{LOOPBACK, inside, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, status, until};
use crate::support::{Receiver, Response};

/// An update that rests because the endpoint asked for it has not been sent: `sync` must report that.
#[test]
fn sync_of_an_update_that_rests_is_no_success() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(503).header("Retry-After", "60"));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    watch.prints("retry in");
    assert_eq!(status(&sandbox).1, 1);
    let run = sandbox.run(&["sync", "-c", "config.json"]);
    assert_eq!(endpoint.count(), 1, "it rests");
    assert_eq!(run.code, 1, "{}", run.stdout);
    watch.stop();
}

/// Those behind it in the same line are not being sent either, and nobody waits for them.
#[test]
fn sync_of_updates_whose_endpoint_is_left_alone_does_not_wait_for_them() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(503).header("Retry-After", "60"));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": ["a.example.com", "b.example.com"]})));
    watch.prints("retry in");
    let begun = Instant::now();
    let run = sandbox.run(&["sync", "-c", "config.json"]);
    assert!(run.code == 1 && begun.elapsed() < ms(10_000), "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("2 retrying"), "{}", run.stdout);
    let text = sandbox.run(&["status", "-c", "config.json"]).stdout;
    assert!(!text.contains("sending") && text.matches("retrying in ").count() == 2, "{text}");
    assert_eq!(text.matches(": 503").count(), 2, "{text}");
    watch.stop();
}

/// A second change of the file, while what was under way at the first is waited for.
#[test]
fn watch_a_file_that_changes_during_a_reload_is_loaded() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(204).after(ms(if number == 0 { 2500 } else { 0 })));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": ["a.example.com"]})));
    endpoint.wait(1, SOON);
    sandbox.write("config.json", endpoint.config(&json!({"ipv4": ["b.example.com"]})).to_string());
    watch.prints("the configuration changed: reloading");
    thread::sleep(ms(200));
    sandbox.write("config.json", endpoint.config(&json!({"ipv4": ["c.example.com"]})).to_string());
    let is_sent = || endpoint.arrivals().iter().any(|arrival| arrival.name() == "c.example.com");
    until(SOON, "what was written last counts", is_sent);
    watch.stop();
}

/// A signal to stop, while what was under way at a reload is waited for.
#[test]
fn watch_a_signal_during_a_reload_stops() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(204).after(ms(if number == 0 { 2500 } else { 0 })));
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": ["a.example.com"]})));
    endpoint.wait(1, SOON);
    sandbox.write("config.json", endpoint.config(&json!({"ipv4": ["b.example.com"]})).to_string());
    watch.prints("the configuration changed: reloading");
    thread::sleep(ms(200));
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended(SOON), 0, "{}", watch.log());
    assert_eq!(endpoint.count(), 1, "nothing new is started");
}

/// Whoever waits for a synchronization when the configuration changes gets the result of what comes after it.
#[test]
fn sync_that_meets_a_reload_gets_a_response() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(204).after(ms(if number == 1 { 2000 } else { 0 })));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"ipv4": ["a.example.com"]})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    endpoint.receiver.set_ip("203.0.113.8");
    thread::scope(|scope| {
        let asking = scope.spawn(|| sandbox.run(&["sync", "-c", "config.json"]));
        endpoint.wait(2, SOON);
        sandbox.write("config.json", endpoint.config(&json!({"ipv4": ["a.example.com"], "ttl": 5})).to_string());
        watch.prints("the configuration changed: reloading");
        let run = asking.join().expect("it ends");
        assert!(!run.stderr.contains("ended before"), "it did not end: {}", run.stderr);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    });
    watch.stop();
}

/// A configuration that is fetched, from a server that hangs at the second time.
#[test]
fn watch_a_configuration_that_is_fetched_slowly_does_not_hold_the_service() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let text = endpoint.config(&json!({})).to_string();
    let fetched = Arc::new(AtomicUsize::new(0));
    let counter = fetched.clone();
    let server = Receiver::responding(move |_| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        Response::with_body(200, &text).after(ms(if number == 0 { 0 } else { 20_000 }))
    });
    let url = server.url("/config.json");
    let mut watch = Watch::run(sandbox.command(&["watch", "-c", &url]));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    watch.signal(Signal::HUP);
    until(SOON, "it is fetched again", || fetched.load(Ordering::SeqCst) == 2);
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    let begun = Instant::now();
    while begun.elapsed() < ms(3000) && endpoint.count() < 2 {
        thread::sleep(ms(10));
    }
    let sent = endpoint.ips();
    watch.signal(Signal::TERM);
    assert_eq!(watch.ended(ms(4000)), 0, "{}", watch.log());
    assert_eq!(sent, ["203.0.113.7", "203.0.113.8"], "changes are sent meanwhile");
}

/// Whoever read the log is gone.
#[test]
fn watch_survives_a_log_that_is_not_read() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = command.stderr(writer).spawn().expect("the program starts");
    drop(command);
    endpoint.wait(1, SOON);
    drop(reader);
    endpoint.receiver.set_ip("203.0.113.8");
    until(SOON, "it is asked", || sandbox.run(&["sync", "-c", "config.json"]).code == 0);
    let ips = endpoint.ips();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!(ips, ["203.0.113.7", "203.0.113.8"]);
}

/// As programs that rotate logs expect it.
#[test]
fn watch_sighup_opens_the_log_file_again() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"log": {"file": "ddns.log"}})));
    endpoint.wait(1, SOON);
    until(SOON, "a line", || fs::read_to_string(sandbox.path("ddns.log")).is_ok_and(|log| log.contains("accepted")));
    fs::rename(sandbox.path("ddns.log"), sandbox.path("ddns.log.1")).expect("it is renamed");
    watch.signal(Signal::HUP);
    thread::sleep(ms(500));
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    endpoint.wait(2, SOON);
    until(ms(3000), "the new file gets the lines", || {
        fs::read_to_string(sandbox.path("ddns.log")).is_ok_and(|log| log.contains("203.0.113.8"))
    });
}

/// There were more notifications than room for them: what is remembered of the time before may be wrong.
#[test]
fn watch_notifications_that_were_lost_lose_no_change() {
    let setup = format!("{LOOPBACK}\ninterface d0\ninterface d1");
    let Some(()) = inside(&setup) else { return };
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": ["interface:d0", "interface:d1"]})));
    watch.prints("no IPv4 address");
    // The kernel reports both to the service.
    sh("ip addr add 203.0.113.7/24 dev d0; ip addr add 198.51.100.7/24 dev d1");
    endpoint.wait(1, SOON);
    // No lookup that this led to is still to come.
    thread::sleep(ms(2500));
    let mut batch = String::new();
    for number in 0..4000 {
        let ip = format!("10.{}.{}.1/32", number / 200, number % 200);
        batch += &format!("addr add {ip} dev p-d0\naddr del {ip} dev p-d0\n");
    }
    let file = sandbox.write("batch", batch);
    let before = endpoint.count();
    watch.signal(Signal::STOP);
    sh(&format!("ip -batch {}; ip addr del 203.0.113.7/24 dev d0", file.display()));
    watch.signal(Signal::CONT);
    assert_eq!(endpoint.wait(before + 1, SOON).ip(), "198.51.100.7", "all notifications after the flood were lost");
    thread::sleep(ms(4000));
    sh("ip addr add 203.0.113.7/24 dev d0");
    assert_eq!(endpoint.wait(before + 2, SOON).ip(), "203.0.113.7");
    watch.stop();
}

/// Until the last request is settled, the service writes to the old cache.
#[test]
fn watch_an_old_cache_is_held_until_the_run_that_uses_it_ends() {
    let sandbox = host();
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    let endpoint = Endpoint::responding(move |_| {
        until(SOON, "the response may be sent", || told.load(Ordering::SeqCst));
        Response::status(204)
    });
    sandbox.write("old.json", endpoint.config(&json!({})).to_string());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    sandbox.write("config.json", endpoint.config(&json!({"cache": "elsewhere.json"})).to_string());
    watch.prints("the configuration changed: reloading");
    let mut second = Watch::run(sandbox.command(&["watch", "-c", "old.json"]));
    assert_eq!(second.ended(ms(4000)), 1, "{}", second.log());
    second.prints("already uses the cache");
    is_over.store(true, Ordering::SeqCst);
    let lock = sandbox.cache_file().with_file_name("cache.json.watch");
    until(SOON, "the old cache is free", || !lock.exists());
    watch.stop();
}
