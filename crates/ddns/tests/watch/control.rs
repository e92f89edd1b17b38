//! Asking a service that runs: SIGUSR1, `ddns sync` and `ddns status`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::thread;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::tools::{skipped, tool};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, status, until};
use crate::support::{Response, Run, Sandbox};

#[test]
fn watch_sigusr1_synchronizes() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    endpoint.receiver.set_ip("203.0.113.8");
    thread::sleep(ms(300));
    assert_eq!(endpoint.count(), 1, "nobody asked");
    watch.signal(Signal::USR1);
    assert_eq!(endpoint.wait(2, SOON).ip(), "203.0.113.8");
    watch.prints("synchronization requested");
    watch.stop();
}

#[test]
fn sync_waits_and_reports_what_it_came_to() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| match number {
        0 => Response::status(204),
        1 => Response::status(204).after(ms(1000)),
        _ => Response::status(404),
    });
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    sandbox.run(&["sync", "-c", "config.json"]).expect(0).shows("1 already up to date");
    assert_eq!(endpoint.count(), 1);

    endpoint.receiver.set_ip("203.0.113.8");
    let begun = Instant::now();
    let run = sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    assert!(begun.elapsed() > ms(900), "it waits for the response: {:?}", begun.elapsed());
    assert!(run.stdout.contains("1 accepted") || run.stdout.contains("accepted"), "{}", run.stdout);
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    assert_eq!(endpoint.ips(), ["203.0.113.7", "203.0.113.8"]);

    endpoint.receiver.set_ip("203.0.113.9");
    let failed = sandbox.run(&["sync", "-c", "config.json"]).expect(1);
    assert!(failed.stdout.contains("1 failed") || failed.stdout.contains("failed"), "{}", failed.stdout);
    watch.stop();
}

#[test]
fn sync_without_a_service_reports_that() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let run = sandbox.run(&["sync", "-c", "config.json"]).expect(1).prints("No running service found");
    assert_eq!(run.stdout, "");
    // One that was killed leaves its socket, and nobody behind it.
    let mut watch = Watch::again(&sandbox);
    endpoint.wait(1, SOON);
    until(SOON, "it responds", || sandbox.run(&["sync", "-c", "config.json"]).code == 0);
    watch.signal(Signal::KILL);
    watch.ended(SOON);
    sandbox.run(&["sync", "-c", "config.json"]).expect(1).prints("No running service found");
    // A service of another file is not meant.
    sandbox.write("other.json", endpoint.config(&json!({"cache": false})).to_string());
    let watch = Watch::run(sandbox.command(&["watch", "-c", "other.json"]));
    endpoint.wait(2, SOON);
    sandbox.run(&["sync", "-c", "config.json"]).expect(1).prints("No running service found");
    watch.stop();
}

/// A service that ends while somebody waits for it.
#[test]
fn sync_reports_that_the_service_ended_before_it_was_done() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(204).after(ms(if number == 0 { 0 } else { 20_000 })));
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    endpoint.receiver.set_ip("203.0.113.8");
    thread::scope(|scope| {
        let asking = scope.spawn(|| sandbox.run(&["sync", "-c", "config.json"]));
        endpoint.wait(2, SOON);
        watch.signal(Signal::KILL);
        watch.ended(SOON);
        asking.join().expect("it ends").expect(1).prints("stopped before");
    });
}

/// Whoever asks while the service is still at it gets a response that holds what they asked for.
#[test]
fn sync_by_many_at_once_responds_to_all() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(300)));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("watching");
    thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| sandbox.run(&["sync", "-c", "config.json"]))).collect();
        for one in all {
            one.join().expect("it ends").expect(0);
        }
    });
    assert_eq!(endpoint.count(), 1, "{:?}", endpoint.ips());
    watch.stop();
}

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn status_of_a_service_that_is_up_to_date() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    let run = sandbox.run(&["status", "-c", "config.json"]).expect(0);
    for part in ["1 record up to date", "home.example.com", " A ", "203.0.113.7", "ago", "next synchronization in"] {
        assert!(run.stdout.contains(part), "no word of {part:?}:\n{}", run.stdout);
    }
    assert!(run.stdout.contains(&format!("process {}", watch.process())), "{}", run.stdout);
    fits(&run.stdout);
    let (report, code) = status(&sandbox);
    assert_eq!(code, 0);
    assert_eq!(report["process"], watch.process());
    let row = &report["updates"][0];
    assert_eq!((&row["domain"], &row["type"]), (&json!("home.example.com"), &json!("A")));
    assert_eq!((&row["address"], &row["state"]), (&json!("203.0.113.7"), &json!("up_to_date")));
    assert!(row["accepted"].as_u64().is_some_and(|at| at > 1_700_000_000), "{row}");
    assert!(report["next_in"].as_u64().is_some_and(|next| (260..=330).contains(&next)), "{report:#}");
    watch.stop();
}

#[test]
fn status_of_a_service_with_a_failing_endpoint_shows_why_and_when() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(503).header("Retry-After", "60"));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    watch.prints("failed");
    let run = sandbox.run(&["status", "-c", "config.json"]).expect(1).shows("0 of 1 record");
    assert!(run.stdout.contains("retrying in ") && run.stdout.contains("503"), "{}", run.stdout);
    assert!(run.stdout.contains("never"), "{}", run.stdout);
    fits(&run.stdout);
    let (report, code) = status(&sandbox);
    assert_eq!(code, 1);
    let row = &report["updates"][0];
    assert_eq!((&row["state"], &row["reason"], &row["accepted"]), (&json!("retrying"), &json!("503"), &json!(null)));
    assert!(row["retry_in"].as_u64().is_some_and(|left| (50..=120).contains(&left)), "{row}");
    watch.stop();
}

/// The longest that there is, in every state, on a screen of 80 columns.
#[test]
fn status_of_a_service_without_an_address_and_with_long_names_fits_the_screen() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204));
    let long = format!("{}.{}.example.com", "a".repeat(40), "b".repeat(40));
    let dead = Sandbox::new();
    let missing = dead.path("nothing").display().to_string();
    let watch = Watch::start(
        &sandbox,
        &endpoint.config(&json!({"ipv4": [long, "home.example.com"], "ipv6": ["home.example.com"],
            "index6": format!("shell:cat {missing}")})),
    );
    endpoint.wait(2, SOON);
    watch.prints("no IPv6 address found");
    until(SOON, "both are accepted", || watch.lines_with("accepted") == 2);
    let run =
        sandbox.run(&["status", "-c", "config.json"]).expect(1).shows("no address").shows("2 of 3 records up to date");
    assert!(run.stdout.contains(&long), "{}", run.stdout);
    for line in run.stdout.lines().filter(|line| !line.starts_with(&long)) {
        fits(line);
    }
    let (report, _) = status(&sandbox);
    assert_eq!(report["updates"][2]["state"], "no_address", "{report:#}");
    assert!(report["updates"][2]["reason"].as_str().is_some_and(|why| why.contains("`sh` failed")), "{report:#}");
    watch.stop();
}

#[test]
fn status_while_a_request_is_under_way() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(2000)));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    let (report, code) = status(&sandbox);
    assert_eq!((&report["updates"][0]["state"], code), (&json!("sending"), 1), "{report:#}");
    watch.prints("accepted");
    assert_eq!(status(&sandbox).1, 0);
    watch.stop();
}

/// While nothing is known of an address yet, nothing can be up to date.
#[test]
fn status_before_the_first_look_has_ended_is_not_good() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "shell:sleep 2; echo 203.0.113.7"})));
    watch.prints("watching");
    let (report, code) = status(&sandbox);
    assert_eq!(code, 1, "{report:#}");
    assert_eq!(report["process"], watch.process());
    endpoint.wait(1, SOON);
    watch.stop();
}

#[test]
fn status_without_a_service_is_what_the_cache_remembers() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let before = sandbox.run(&["status", "-c", "config.json"]).expect(3);
    before.shows("No running service found").shows("not accepted yet").shows("never");
    assert!(!sandbox.cache_file().exists(), "looking leaves nothing behind");
    sandbox.run(&["-c", "config.json"]).expect(0);
    let after = sandbox.run(&["status", "-c", "config.json"]);
    assert!(after.stdout.contains("203.0.113.7") && !after.stdout.contains("not accepted"), "{}", after.stdout);
    fits(&after.stdout);
    let (report, code) = status(&sandbox);
    assert_eq!((code, &report["process"]), (3, &json!(null)), "{report:#}");
    assert_eq!(report["updates"][0]["state"], "accepted");
    // What the next run sends again, as `preview` has it, shows as that; nothing is wrong with it.
    sandbox.write("config.json", endpoint.config(&json!({"cache_max_age": 0})).to_string());
    let (report, code) = status(&sandbox);
    let row = &report["updates"][0];
    assert_eq!((code, &row["state"], &row["expired"]), (3, &json!("accepted"), &json!(true)), "{report:#}");
    assert_eq!(endpoint.count(), 1, "looking sends nothing");
}

#[test]
fn i6_status_shows_what_the_endpoint_has_after_a_failure() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(if number == 0 { 200 } else { 500 }));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    watch.prints("accepted");
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    watch.prints("failed");
    let run = sandbox.run(&["status", "-c", "config.json"]).expect(1);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(" Address: 203.0.113.8 from url:http://127.0.0.1:"), "{}", run.stdout);
    let last = text.split_once(": 500 (").and_then(|(_, after)| after.split_once(" ms)"));
    assert!(last.is_some_and(|(took, _)| took.parse::<u64>().is_ok()), "{}", run.stdout);
    let held = text.split_once("the endpoint had 203.0.113.7 (accepted ").map(|(_, after)| after);
    assert!(held.is_some_and(|after| after.contains(" s ago), 203.0.113.8 may have arrived")), "{}", run.stdout);
    // The address that is shown beside it is not accepted.
    assert!(text.contains(" A 203.0.113.8 not yet ") && !text.contains("never"), "{}", run.stdout);
    fits(&run.stdout);
    let row = status(&sandbox).0["updates"][0].clone();
    let parts = ["address", "accepted_address", "in_doubt", "last_status", "failures"].map(|name| row[name].clone());
    let expected = [json!("203.0.113.8"), json!("203.0.113.7"), json!("203.0.113.8"), json!(500), json!(1)];
    assert_eq!(parts, expected, "{row:#}");
    assert!(
        row["last_ms"].is_u64() && row["source"].as_str().is_some_and(|source| source.starts_with("url:")),
        "{row}"
    );
    // The same from the cache, when the service has ended.
    watch.stop();
    let row = status(&sandbox).0["updates"][0].clone();
    assert_eq!((&row["state"], &row["accepted_address"]), (&json!("in_doubt"), &json!("203.0.113.7")), "{row:#}");
}

#[test]
fn i6_status_shows_from_the_cache_what_the_endpoint_may_have() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(2000)));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    // Killed while the request is under way.
    drop(watch);
    let run = sandbox.run(&["status", "-c", "config.json"]).expect(3);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("in doubt: the next run sends it again; the endpoint may have 203.0.113.7"),
        "{}",
        run.stdout
    );
}

#[test]
fn i6_status_names_the_endpoints_of_a_domain_that_two_entries_share() {
    let sandbox = host();
    let (one, other) = (Endpoint::new(), Endpoint::new());
    let entry = |endpoint: &Endpoint| json!({"provider": "callback", "id": endpoint.id()});
    let mut config = one.config(&json!({"providers": [entry(&one), entry(&other)]}));
    config.as_object_mut().expect("an object").retain(|name, _| name != "dns" && name != "id");
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "both are up to date", || status(&sandbox).1 == 0);
    let run = sandbox.run(&["status", "-c", "config.json"]).expect(0);
    for endpoint in [&one, &other] {
        assert!(run.stdout.contains(&format!("127.0.0.1:{}", endpoint.receiver.port())), "{}", run.stdout);
    }
    watch.stop();
}

/// Two accounts of one service: the origin does not tell them apart.
#[test]
fn i6_status_names_the_addresses_where_two_entries_share_domain_and_origin() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let origin = format!("http://127.0.0.1:{}", endpoint.receiver.port());
    let entry = |path: &str| json!({"provider": "callback", "id": format!("{origin}{path}&ip=__IP__")});
    let mut config = endpoint.config(&json!({"providers": [entry("/one?key=k3y"), entry("/other?key=k3y")]}));
    config.as_object_mut().expect("an object").retain(|name, _| name != "dns" && name != "id");
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "both are up to date", || status(&sandbox).1 == 0);
    let check = |who: &str| {
        let named = status(&sandbox).0["updates"].as_array().expect("a list").clone();
        let named: Vec<&Value> = named.iter().map(|row| &row["endpoint"]).collect();
        let expected = ["one", "other"].map(|path| json!(format!("{origin}/{path}?key=***&ip=__IP__")));
        assert_eq!(named, expected.iter().collect::<Vec<_>>(), "{who}");
    };
    check("the service");
    watch.stop();
    check("the cache");
}

/// Two keys that are both masked.
#[test]
fn i6_status_names_the_entry_where_only_secrets_differ() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let entry =
        |key: &str| json!({"provider": "callback", "id": endpoint.receiver.url(&format!("/?key={key}&ip=__IP__"))});
    let mut config = endpoint.config(&json!({"providers": [entry("first-k3y"), entry("other-k3y")]}));
    config.as_object_mut().expect("an object").retain(|name, _| name != "dns" && name != "id");
    let watch = Watch::start(&sandbox, &config);
    until(SOON, "both are up to date", || status(&sandbox).1 == 0);
    let rows = status(&sandbox).0["updates"].as_array().expect("a list").clone();
    let named: Vec<&str> = rows.iter().filter_map(|row| row["endpoint"].as_str()).collect();
    assert!(named[0].ends_with("ip=__IP__ (entry 1)") && named[1].ends_with("(entry 2)"), "{named:?}");
    watch.stop();
}

#[test]
fn i6_status_shows_what_is_wrong_with_a_new_configuration() {
    let sandbox = host();
    let endpoint = Endpoint::new();
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    until(SOON, "up to date", || status(&sandbox).1 == 0);
    sandbox.write("config.json", endpoint.config(&json!({"timeout": "soon"})).to_string());
    watch.prints("keeping the previous one");
    sandbox.run(&["status"]).expect(1).shows("is invalid").shows("timeout");
    watch.stop();
}

#[test]
fn i6_alive_asks_only_whether_the_service_responds() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(500));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    watch.prints("failed");
    sandbox.run(&["status"]).expect(1);
    sandbox.run(&["status", "--alive"]).expect(0);
    // One that hangs is not alive.
    watch.signal(Signal::STOP);
    let silence = format!("The service (process {}) does not respond.", watch.process());
    let says_so = |command: &[&str]| assert!(sandbox.run(command).expect(3).stdout.contains(&silence), "{command:?}");
    thread::scope(|all| {
        all.spawn(|| says_so(&["status", "--alive"]));
        all.spawn(|| says_so(&["status", "-c", "config.json"]));
        all.spawn(|| sandbox.run(&["sync"]).expect(1).prints(&silence));
    });
    watch.signal(Signal::CONT);
    sandbox.run(&["status", "--alive"]).expect(0);
    watch.stop();
    sandbox.run(&["status", "--alive"]).expect(3);
}

/// A service that hangs is not healthy because another one is.
#[test]
fn i6_alive_is_no_while_one_of_two_services_hangs() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let hanging = Watch::start(&sandbox, &endpoint.config(&json!({})));
    hanging.prints("accepted");
    sandbox.write(
        "other.json",
        endpoint.config(&json!({"cache": sandbox.path("other").display().to_string()})).to_string(),
    );
    let other = Watch::run(sandbox.command(&["watch", "-c", "other.json"]));
    other.prints("accepted");
    sandbox.run(&["status", "--alive"]).expect(0);
    hanging.signal(Signal::STOP);
    let silence = format!("process {}) does not respond", hanging.process());
    thread::scope(|all| {
        all.spawn(|| sandbox.run(&["status", "--alive"]).expect(3));
        all.spawn(|| assert!(sandbox.run(&["status"]).expect(3).stdout.contains(&silence)));
        all.spawn(|| sandbox.run(&["status", "--all"]).expect(3).prints(&silence));
        // Only the other one is meant.
        all.spawn(|| sandbox.run(&["status", "--alive", "-c", "other.json"]).expect(0));
    });
    hanging.signal(Signal::CONT);
    hanging.stop();
    other.stop();
}

/// Only root can give a folder to somebody else; in a user namespace that is a stranger.
#[test]
fn i6_a_service_of_another_user_is_named_as_such() {
    let sandbox = host();
    let folder = sandbox.path("run/ddns");
    fs::create_dir(&folder).expect("the folder is made");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a mode");
    let unshare = tool("unshare").map(|path| path.display().to_string());
    let (Some(unshare), Ok(())) = (unshare, chown(&folder, Some(12345), None)) else {
        skipped("`unshare` is not installed, or this user is not root");
        return;
    };
    let starter = [unshare.as_str(), "-r"];
    if !sandbox.command_by(&starter, &["--version"]).status().is_ok_and(|status| status.success()) {
        skipped("there is no right to make a user namespace");
        return;
    }
    for (command, code) in [(&["status"][..], 3), (&["status", "--alive"], 3), (&["sync"], 1), (&["history"], 0)] {
        let run = Run::of(&sandbox.command_by(&starter, command).output().expect("unshare starts"));
        run.expect(code).prints("run/ddns belongs to another user, who may have a service: `sudo ddns ");
    }
}

#[test]
fn i6_status_without_a_service_and_without_a_configuration_ends_with_3() {
    let sandbox = host();
    sandbox.run(&["status"]).expect(3).shows("No running service found. No configuration was found");
    assert_eq!(sandbox.run(&["status", "--json"]).expect(3).stdout.trim(), "[]");
}

#[test]
fn status_of_a_wrong_configuration_ends_with_2() {
    let sandbox = host();
    sandbox.write("config.json", "{");
    sandbox.run(&["status", "-c", "config.json"]).expect(2);
    sandbox.run(&["watch", "-c", "config.json"]).expect(2);
}
