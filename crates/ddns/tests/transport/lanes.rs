//! Many updates at once: one endpoint does not wait for another, the first request to an origin goes alone, order is kept.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::given::{home, with};
use crate::support::odd_server::stalling;
use crate::support::scripted::{Server, Step, say};
use crate::support::tools::needed;
use crate::support::watching::{host, until};
use crate::support::{Received, Receiver, Response, Sandbox};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("h{number}.example.com")).collect()
}

/// A receiver that counts how many requests it had under way at once, at most.
fn counting(status: u16, delay: Duration) -> (Receiver, Arc<AtomicUsize>) {
    let (most, now) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let receiver = Receiver::responding(move |_| {
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(delay);
        now.fetch_sub(1, Ordering::SeqCst);
        Response::status(status)
    });
    (receiver, most)
}

fn targets(received: &[Received]) -> Vec<&str> {
    received.iter().map(Received::target).collect()
}

/// One endpoint that takes requests and never responds, and one that works: as entries of a file.
fn hanging_and(good: &Receiver, more: &Value) -> Value {
    let hanging = stalling(b"");
    let entry = |id: String, domains: usize| json!({"provider": "callback", "id": id, "ipv4": names(domains)});
    let providers = [
        entry(format!("http://{hanging}/__DOMAIN__"), 5),
        entry(good.url("/__DOMAIN__?a=__IP__"), 40),
        entry(format!("http://{hanging}/again/__DOMAIN__"), 5),
    ];
    with(&json!({"index4": "shell:echo 203.0.113.7", "timeout": 3, "providers": providers}), more)
}

#[test]
fn a6_an_endpoint_that_hangs_does_not_hold_the_others() {
    for concurrency in [json!("auto"), json!(3)] {
        let good = Receiver::new();
        let config = hanging_and(&good, &json!({ "concurrency": concurrency }));
        let sandbox = Sandbox::new().configure(&config);
        let mut child = sandbox.command(&[]).stderr(Stdio::null()).spawn().expect("the program starts");
        let begun = Instant::now();
        while good.callbacks().len() < 40 {
            assert!(begun.elapsed() < Duration::from_millis(2500), "{} of 40", good.callbacks().len());
            thread::sleep(Duration::from_millis(10));
        }
        child.kill().expect("the program still waits for the one that hangs");
        child.wait().expect("it ended");
    }
}

/// Some names hang, and those behind them in the same lane arrive all the same.
#[test]
fn a6_names_that_hang_do_not_hold_the_others_of_their_origin() {
    for (hanging, good, timeout, limit) in [(1, 4, 3, 2), (10, 1, 8, 6)] {
        for command in [&["-c", "config.json"][..], &["watch", "-c", "config.json"]] {
            let accepted = say("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
            let server = Server::start(Vec::new(), move |target| {
                vec![if target.starts_with("/good") { accepted.clone() } else { Step::Stall }]
            });
            let names = names(hanging).into_iter().chain((0..good).map(|number| format!("good{number}.example.com")));
            let more = json!({"ipv4": names.collect::<Vec<_>>(), "timeout": timeout});
            let sandbox = host().configure(&with(&home(&server.url("/__DOMAIN__")), &more));
            let mut child = sandbox.command(command).stderr(Stdio::null()).spawn().expect("the program starts");
            let mut seen = server.take();
            until(Duration::from_secs(limit), &format!("{good} behind {hanging} that hang"), || {
                for (target, count) in server.take() {
                    *seen.entry(target).or_default() += count;
                }
                seen.keys().filter(|target| target.starts_with("/good")).count() == good
            });
            assert!(seen.values().all(|count| *count == 1) && seen.len() == hanging + good, "{seen:?}");
            child.kill().expect("the program still waits for those that hang");
            child.wait().expect("it ended");
        }
    }
}

#[test]
fn a6_a_file_whose_endpoint_hangs_does_not_hold_another_file() {
    let good = Receiver::new();
    let sandbox = Sandbox::new();
    let hanging = json!({"dns": "callback", "id": format!("http://{}/", stalling(b"")), "ipv4": ["a.example"],
        "index4": "shell:echo 203.0.113.7", "timeout": 5});
    sandbox.write("hanging.json", hanging.to_string());
    sandbox.write("good.json", home(&good.url("/")).to_string());
    let mut child = sandbox
        .command(&["-c", "hanging.json", "good.json"])
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let begun = Instant::now();
    while good.callbacks().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(4), "it waited for the other file");
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("the program still waits");
    child.wait().expect("it ended");
}

#[test]
fn a6_a_source_that_hangs_does_not_hold_the_other_family() {
    let good = Receiver::new();
    let config = with(
        &home(&good.url("/__RECORDTYPE__")),
        &json!({"ipv4": ["a.example"], "ipv6": ["a.example"], "index4": format!("url:http://{}/", stalling(b"")),
            "index6": "shell:echo 2001:db8::7", "timeout": 2}),
    );
    Sandbox::new().sync(&config).expect(1);
    assert_eq!(targets(&good.callbacks()), ["/AAAA"]);
}

#[test]
fn concurrency_1_is_strict_order_over_all_entries_of_a_file() {
    let (receiver, most) = counting(200, Duration::from_millis(5));
    let other = Receiver::responding(|_| Response::status(200).after(Duration::from_millis(100)));
    let entry = |id: String| json!({"provider": "callback", "id": id, "ipv4": names(4), "ipv6": names(2)});
    let config = json!({
        "concurrency": 1, "index4": "shell:sleep 0.3; echo 203.0.113.7", "index6": "shell:echo 2001:db8::7",
        "providers": [entry(receiver.url("/1/__RECORDTYPE__/__DOMAIN__")), entry(other.url("/")),
            entry(receiver.url("/2/__RECORDTYPE__/__DOMAIN__"))],
    });
    Sandbox::new().sync(&config).expect(0);
    let expected: Vec<String> = ["1", "2"]
        .into_iter()
        .flat_map(|entry| {
            let all =
                names(4).into_iter().map(|name| ("A", name)).chain(names(2).into_iter().map(|name| ("AAAA", name)));
            all.map(move |(kind, name)| format!("/{entry}/{kind}/{name}")).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(targets(&receiver.callbacks()), expected);
    assert_eq!(most.load(Ordering::SeqCst), 1);
}

#[test]
fn concurrency_auto_sends_the_first_alone_and_then_more_and_more() {
    let (receiver, most) = counting(200, Duration::from_millis(30));
    let config = with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": names(200)}));
    Sandbox::new().sync(&config).expect(0);
    let most = most.load(Ordering::SeqCst);
    assert!((20..=64).contains(&most), "{most} at once");
    // The first rounds: one, then two.
    let seen = receiver.callbacks();
    assert_eq!(seen[0].target(), "/h0.example.com");
    let mut second = targets(&seen[1..3]);
    second.sort_unstable();
    assert_eq!(second, ["/h1.example.com", "/h2.example.com"]);
}

#[test]
fn concurrency_auto_never_hurries_where_the_key_is_wrong() {
    let (receiver, most) = counting(403, Duration::from_millis(5));
    let config = with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": names(30)}));
    Sandbox::new().sync(&config).expect(1);
    assert_eq!((receiver.callbacks().len(), most.load(Ordering::SeqCst)), (30, 1));
}

#[test]
fn two_files_for_one_origin_share_its_lane() {
    let (receiver, most) = counting(403, Duration::from_millis(20));
    let sandbox = Sandbox::new();
    for name in ["a", "b", "c"] {
        let config = with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": [format!("{name}.example")]}));
        sandbox.write(&format!("{name}.json"), config.to_string());
    }
    sandbox.run(&["-c", "a.json", "b.json", "c.json"]).expect(1);
    assert_eq!((receiver.callbacks().len(), most.load(Ordering::SeqCst)), (3, 1));
}

#[test]
fn a_long_run_shows_on_a_terminal_how_far_it_is_and_nothing_of_it_in_a_pipe() {
    let Some(script) = needed("script") else { return };
    let receiver = Receiver::responding(|_| Response::status(200).after(Duration::from_millis(300)));
    let config =
        with(&home(&receiver.url("/__DOMAIN__")), &json!({"ipv4": names(10), "concurrency": 1, "cache": false}));
    let sandbox = Sandbox::new().env("TERM", "xterm");
    sandbox.sync(&config).expect(0).never_prints(" of 10 sent");

    let program = env!("CARGO_BIN_EXE_ddns");
    let mut command = Command::new(script);
    command.args(["-qec", &format!("{program} -c config.json"), "/dev/null"]).current_dir(sandbox.path("."));
    command.env_clear().env("HOME", sandbox.path(".")).env("PATH", "/usr/bin:/bin").env("TERM", "xterm");
    let output = command.stdin(Stdio::null()).output().expect("script starts");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("of 10 sent"), "{shown:?}");
    let end = shown.rsplit("10 accepted").next().unwrap_or_default();
    assert!(!end.contains("sent"), "it is gone at the end: {shown:?}");
}
