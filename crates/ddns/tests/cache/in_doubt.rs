//! Where it is not known what an endpoint holds, and where a cache file is not what it should be: never a lost update,
//! never damage to somebody's files.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::authority::Authority;
use crate::support::given::{with, without};
use crate::support::tools::{LOOPBACK, inside, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, status, until};
use crate::support::{Receiver, Response, Sandbox};

fn config(receiver: &Receiver, ip: &str, cache: &str) -> Value {
    json!({
        "dns": "callback",
        "id": receiver.url("/hook?ip=__IP__"),
        "ipv4": ["home.example.com"],
        "index4": format!("shell:echo {ip}"),
        "cache": cache,
        "timeout": 4,
    })
}

#[test]
fn e4_after_a_kill_in_the_middle_of_a_change_the_old_address_is_sent_again() {
    let receiver = Receiver::responding(|request| {
        let wait = if request.target().contains("198.51.100.1") { 3000 } else { 0 };
        Response::status(200).after(Duration::from_millis(wait))
    });
    let sandbox = Sandbox::new();
    sandbox.sync(&config(&receiver, "203.0.113.7", "cache.json")).expect(0);
    sandbox.write("config.json", config(&receiver, "198.51.100.1", "cache.json").to_string());
    let mut child = sandbox.command(&["-c", "config.json"]).spawn().expect("the program starts");
    while receiver.callbacks().len() < 2 {
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    receiver.take();
    // The endpoint may hold the new address by now: the old one is no longer known.
    sandbox.sync(&config(&receiver, "203.0.113.7", "cache.json")).expect(0);
    assert!(receiver.only().target().ends_with("ip=203.0.113.7"));
}

/// Back at the first address after `spoil` kept the second one from being remembered, and `mend` has ended that.
#[track_caller]
fn is_sent_again(sandbox: &Sandbox, cache: &str, spoil: impl FnOnce(), mend: impl FnOnce()) {
    let receiver = Receiver::new();
    let sync = |ip| sandbox.sync(&config(&receiver, ip, cache)).expect(0);
    sync("203.0.113.7");
    spoil();
    sync("198.51.100.1").prints("cannot be written");
    mend();
    sync("203.0.113.7");
    let seen: Vec<String> = receiver.callbacks().iter().map(|request| request.target()[9..].to_owned()).collect();
    assert_eq!(seen, ["203.0.113.7", "198.51.100.1", "203.0.113.7"]);
}

#[test]
fn e4_a_claim_that_cannot_be_marked_on_a_full_disk_is_not_believed() {
    let Some(()) = inside(LOOPBACK) else { return };
    let sandbox = Sandbox::new();
    let folder = sandbox.path("state");
    let (at, fill) = (folder.display(), folder.join("fill"));
    let fill = fill.display();
    sh(&format!("mkdir {at} && mount -t tmpfs -o size=64k tmpfs {at}"));
    let spoil = || sh(&format!("dd if=/dev/zero of={fill} bs=4k 2>/dev/null || true"));
    is_sent_again(&sandbox, "state/cache.json", spoil, || sh(&format!("rm {fill}")));
}

#[test]
fn e4_a_claim_on_a_read_only_disk_is_not_believed() {
    let Some(()) = inside(LOOPBACK) else { return };
    let sandbox = Sandbox::new();
    let folder = sandbox.path("state");
    let at = folder.display();
    sh(&format!("mkdir {at} && mount -t tmpfs tmpfs {at}"));
    is_sent_again(&sandbox, "state/cache.json", || sh(&format!("mount -o remount,ro {at}")), || ());
}

/// A disk that went away and came back, for example: the service knows better.
#[test]
fn e4_a_former_file_that_was_put_back_is_not_believed() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let config = endpoint.config(&json!({"cache": "state/cache.json"}));
    let watch = Watch::start(&sandbox, &config);
    // A service that responds is not in the middle of a save.
    let is_saved = || until(SOON, "up to date", || status(&sandbox).1 == 0);
    let send = |count, ip: &str| {
        endpoint.receiver.set_ip(ip);
        watch.signal(Signal::USR1);
        endpoint.wait(count, SOON);
        is_saved();
    };
    let [state, away, later] = ["state", "away", "later"].map(|name| sandbox.path(name));
    endpoint.wait(1, SOON);
    is_saved();
    // Times are in seconds.
    thread::sleep(Duration::from_millis(1100));
    fs::rename(&state, &away).expect("the folder is moved");
    send(2, "203.0.113.8");
    fs::rename(&state, &later).expect("the new folder is moved");
    fs::rename(&away, &state).expect("the folder is moved back");
    send(3, "203.0.113.7");
    assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.8", "203.0.113.7"]);
    watch.stop();
}

#[test]
fn e4_a_claim_in_a_locked_file_is_not_believed() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("cache.json");
    let held = RefCell::new(None);
    let lock = || {
        let file = File::open(&path).expect("the cache");
        file.lock().expect("its lock");
        *held.borrow_mut() = Some(file);
    };
    is_sent_again(&sandbox, "cache.json", lock, || drop(held.take()));
}

#[test]
fn e4_a_connection_that_was_never_made_leaves_the_claim() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.sync(&config(&receiver, "203.0.113.7", "cache.json")).expect(0);
    let through = |ip, proxy: &str| {
        let mut config = config(&receiver, ip, "cache.json");
        config["proxy"] = json!(proxy);
        config
    };
    sandbox.sync(&through("198.51.100.1", "http://127.0.0.1:9")).expect(1);
    sandbox.sync(&through("203.0.113.7", "DIRECT")).says_nothing();
    assert_eq!(receiver.callbacks().len(), 1, "nothing was sent since");
}

#[test]
fn e4_what_is_no_regular_file_is_left_alone() {
    let sandbox = Sandbox::new();
    let made = Command::new("mkfifo").arg(sandbox.path("pipe")).status().expect("mkfifo runs");
    assert!(made.success());
    fs::create_dir(sandbox.path("folder")).expect("a folder");
    for cache in ["pipe", "folder"] {
        let receiver = Receiver::new();
        sandbox.sync(&config(&receiver, "203.0.113.7", cache)).expect(0).prints("is not a regular file");
        receiver.only();
    }
    // What must remember is not sent.
    for cache in ["pipe", "folder"] {
        let receiver = Receiver::new();
        let config = with(&config(&receiver, "203.0.113.7", cache), &json!({"expect": "dyndns2"}));
        sandbox.sync(&config).expect(1).prints("is not a regular file").prints("not sent");
        assert!(receiver.callbacks().is_empty(), "{cache}");
    }
    let kind = fs::metadata(sandbox.path("pipe")).expect("still there").file_type();
    assert!(kind.is_fifo() && sandbox.path("folder").is_dir());
    for file in ["pipe.history", "folder.history"] {
        assert!(!sandbox.path(file).exists(), "nothing is written beside it: {file}");
    }
}

#[test]
fn e4_a_link_beside_the_cache_is_not_written_through() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("victim", "precious");
    symlink(sandbox.path("victim"), sandbox.path("cache.json.new")).expect("a link");
    sandbox.sync(&config(&receiver, "203.0.113.7", "cache.json")).expect(0);
    assert_eq!(sandbox.read("victim"), "precious");
    assert!(sandbox.path("cache.json").is_file());
}

#[test]
fn e4_no_link_is_followed() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("victim", "precious");
    for target in ["victim", "nowhere"] {
        for name in ["cache.json", "cache.json.watch"] {
            let _ = fs::remove_file(sandbox.path(name));
            symlink(sandbox.path(target), sandbox.path(name)).expect("a link");
        }
        let config = config(&receiver, "203.0.113.7", "cache.json");
        sandbox.sync(&config).expect(0).prints("is not a regular file");
        let mut watch = sandbox.command(&["watch", "-c", "config.json"]).spawn().expect("the program starts");
        let before = receiver.callbacks().len();
        until(SOON, "the service sends", || receiver.callbacks().len() > before);
        watch.kill().expect("it is killed");
        watch.wait().expect("it has ended");
    }
    assert_eq!(sandbox.read("victim"), "precious");
    assert!(!sandbox.path("nowhere").exists(), "a link that leads nowhere makes no file");
}

/// A link that comes while the service runs, in a folder that all may write to, and where the service may not replace it.
#[test]
fn e4_a_link_that_is_planted_while_the_service_runs_is_not_followed() {
    let sandbox = host();
    let endpoint = Endpoint::new();
    let cache = sandbox.path("cache.json");
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"cache": "cache.json"})));
    watch.prints("accepted");
    sandbox.write("victim", "precious");
    for (round, target) in ["victim", "nowhere"].into_iter().enumerate() {
        for name in ["cache.json", "cache.json.history", "cache.json.new"] {
            // The service may be about to save.
            until(SOON, "a link", || {
                let _ = fs::remove_file(cache.with_file_name(name));
                symlink(sandbox.path(target), cache.with_file_name(name)).is_ok()
            });
        }
        endpoint.receiver.set_ip(&format!("203.0.113.{}", 8 + round));
        watch.signal(Signal::USR1);
        endpoint.wait(2 + round, SOON);
        until(SOON, "it is accepted", || watch.lines_with("accepted") == 2 + round);
    }
    watch.stop();
    assert_eq!(sandbox.read("victim"), "precious");
    assert!(!sandbox.path("nowhere").exists(), "a link that leads nowhere makes no file");
}

#[test]
fn e4_a_second_damaged_file_does_not_replace_the_first() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    for text in ["first", "second"] {
        sandbox.write("cache.json", text);
        sandbox.sync(&config(&receiver, "203.0.113.7", "cache.json")).expect(0).prints("moved to");
    }
    assert_eq!(sandbox.read("cache.json.damaged"), "first");
    assert_eq!(sandbox.read("cache.json.damaged-2"), "second");
}

#[test]
fn e4_a_configuration_cannot_be_its_own_cache() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    let text = config(&receiver, "203.0.113.7", "config.json").to_string();
    sandbox.sync_text(&text).expect(2).prints("which is a configuration");
    assert_eq!(sandbox.read("config.json"), text);
    assert!(receiver.callbacks().is_empty());
    let text = config(&receiver, "203.0.113.7", "cache.json").to_string();
    sandbox.write("config.json", text.as_str());
    sandbox.run(&["--log-file", "config.json"]).expect(2).prints("`log.file` is config.json, which is a configuration");
    assert_eq!(sandbox.read("config.json"), text);
    sandbox.write("key", "s3cret-key");
    let text = with(&config(&receiver, "203.0.113.7", "key"), &json!({"extra": {"__KEY__": {"file": "key"}}}));
    sandbox.sync(&text).expect(2).prints("which is part of a configuration");
    assert_eq!(sandbox.read("key"), "s3cret-key");
    assert!(receiver.callbacks().is_empty());
}

#[test]
fn e4_no_file_that_is_read_or_written_otherwise_is_a_cache_or_a_log() {
    let (receiver, sandbox) = (Receiver::new(), Sandbox::new());
    sandbox.write("id", receiver.url("/hook"));
    let ca = Authority::new("own").pem;
    sandbox.write("ca.pem", &ca);
    let standard = sandbox.cache_file().display().to_string();
    let log = |file: &str| json!({"log": {"file": file}});
    let second =
        |cache: &str| json!({"providers": [{"provider": "callback"}, {"provider": "callback", "cache": cache}]});
    let cases = [
        (json!({"cache": "id"}), "`cache` is id, which is part of a configuration"),
        (log("./id"), "`log.file` is ./id, which is part of a configuration"),
        (json!({"ssl": "ca.pem", "cache": "ca.pem"}), "`cache` is ca.pem, which is part of a configuration"),
        (with(&json!({"ssl": "ca.pem"}), &log("ca.pem")), "`log.file` is ca.pem, which is part of a configuration"),
        (with(&json!({"cache": "x"}), &log("./x")), "`log.file` is ./x, which is the cache"),
        (log(&standard), "which is the cache"),
        (with(&json!({"cache": "x"}), &log("x.history")), "`log.file` is x.history, which belongs to the cache"),
        (with(&json!({"cache": "x"}), &second("x.history")), "`cache` is x.history, which belongs to the cache"),
    ];
    let sandbox = sandbox.env("DDNS_ID_FILE", "id");
    for (more, message) in cases {
        let mut config = without(with(&config(&receiver, "203.0.113.7", "cache.json"), &more), "id");
        if more.get("cache").is_none() {
            config = without(config, "cache");
        }
        if more.get("providers").is_some() {
            config = without(config, "dns");
        }
        sandbox.sync(&config).expect(2).prints(message);
    }
    assert_eq!((sandbox.read("id"), sandbox.read("ca.pem")), (receiver.url("/hook"), ca));
    assert!(receiver.callbacks().is_empty());
    // A device overwrites nothing, and entries may share a cache.
    let both = with(&config(&receiver, "203.0.113.7", "/dev/null"), &log("/dev/null"));
    sandbox.sync(&without(both, "id")).expect(0);
    let shared = without(with(&config(&receiver, "203.0.113.7", "x"), &second("x")), "dns");
    sandbox.sync(&without(shared, "id")).expect(0);
}

/// Responds with 200 without `Connection: close`, and closes. Counts what arrives.
fn closing_silently() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("a port").port();
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counter = counter.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                    line.clear();
                }
                counter.fetch_add(1, Ordering::SeqCst);
                let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            });
        }
    });
    (port, count)
}

#[test]
fn a7_an_endpoint_that_closes_without_saying_so_costs_few_failures_and_no_second_delivery() {
    let (port, count) = closing_silently();
    let domains: Vec<String> = (0..200).map(|number| format!("h{number}.example.com")).collect();
    let sandbox = Sandbox::new();
    let config = json!({
        "dns": "callback", "id": format!("http://127.0.0.1:{port}/?d=__DOMAIN__"),
        "ipv4": domains, "index4": "shell:echo 203.0.113.7",
    });
    let run = sandbox.sync(&config);
    let failed = run.stderr.matches(": failed:").count();
    assert!(failed < 70, "after the first break no connection is kept: {failed} failed");
    assert!(count.load(Ordering::SeqCst) <= 200, "none was delivered twice");
    if failed > 0 {
        sandbox.sync(&config);
    }
}

#[test]
fn f4_half_a_page_gives_no_address() {
    let page =
        Receiver::responding(|_| Response::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n203.0.113.1".to_vec()));
    let receiver = Receiver::new();
    let mut config = config(&receiver, "", "cache.json");
    config["index4"] = json!(format!("url:{}", page.url("/")));
    Sandbox::new().sync(&config).expect(1).prints("cut off");
    assert!(receiver.callbacks().is_empty());
}
