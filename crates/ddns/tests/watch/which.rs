//! Which service a command means (I8), and whose sockets count.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::tools::skipped;
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, sockets, until};
use crate::support::{Response, Sandbox};

/// A service on a file of its own, with a cache of its own.
fn service(sandbox: &Sandbox, endpoint: &Endpoint, file: &str) -> Watch {
    let cache = sandbox.path(&format!("{file}.cache")).display().to_string();
    sandbox.write(file, endpoint.config(&json!({"cache": cache, "ipv4": [format!("{file}.example.com")]})).to_string());
    let watch = Watch::run(sandbox.command(&["watch", "-c", file]));
    watch.prints("accepted");
    watch
}

/// In a folder with a configuration, the service on it is meant, whatever else runs.
#[test]
fn i8_commands_mean_the_service_on_the_configuration_of_this_folder() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let (here, other) = (service(&sandbox, &endpoint, "config.json"), service(&sandbox, &endpoint, "other.json"));
    let status: Value = sandbox.run(&["status", "--json"]).expect(0).json();
    assert_eq!(status.as_array().map(Vec::len), Some(1), "{status:#}");
    assert_eq!(status[0]["process"], here.process());
    assert_eq!(
        sandbox.run(&["status", "--alive"]).expect(0).stdout,
        format!("Running (process {}).\n", here.process())
    );
    assert_eq!(sandbox.run(&["sync"]).expect(0).stdout.lines().count(), 1);
    here.prints("requested");
    assert_eq!((here.lines_with("requested"), other.lines_with("requested")), (1, 0), "only the one here is asked");
    let history = sandbox.run(&["history"]).expect(0).stdout;
    assert!(history.contains("config.json.example.com") && !history.contains("other.json.example.com"), "{history}");
    // The same file by another name, and by the environment.
    symlink(sandbox.path("other.json"), sandbox.path("link.json")).expect("a link");
    let alive = format!("Running (process {}).\n", other.process());
    assert_eq!(sandbox.run(&["status", "--alive", "-c", "link.json"]).expect(0).stdout, alive);
    let elsewhere = sandbox.env("DDNS_CONFIG", "other.json");
    assert_eq!(elsewhere.run(&["status", "--alive"]).expect(0).stdout, alive);
    here.stop();
    other.stop();
}

/// `--all` is everybody, and each part of the output says whose it is.
#[test]
fn i8_all_means_every_service_and_names_each() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let (here, other) = (service(&sandbox, &endpoint, "config.json"), service(&sandbox, &endpoint, "other.json"));
    let files = ["config.json", "other.json"].map(|name| fs::canonicalize(sandbox.path(name)).expect("a file"));
    for command in [&["status", "--all", "--wide"][..], &["sync", "--all"], &["history", "--all", "--wide"]] {
        let shown = sandbox.run(command).expect(0).stdout;
        for (watch, file) in [&here, &other].into_iter().zip(&files) {
            let named = format!("process {} on {}", watch.process(), file.display());
            assert!(shown.contains(&named), "{command:?} does not name {named}:\n{shown}");
        }
    }
    assert_eq!((here.lines_with("requested"), other.lines_with("requested")), (1, 1));
    assert_eq!(sandbox.run(&["status", "--alive", "--all"]).expect(0).stdout.lines().count(), 2);
    let history: Value = sandbox.run(&["history", "--all", "--json"]).expect(0).json();
    let mut whose: Vec<u64> =
        history.as_array().expect("a list").iter().filter_map(|one| one["process"].as_u64()).collect();
    whose.sort_unstable();
    let mut processes: [u64; 2] = [here.process().into(), other.process().into()];
    processes.sort_unstable();
    assert_eq!(whose, processes, "{history:#}");
    assert!(history[1]["records"].as_array().is_some_and(|records| !records.is_empty()), "{history:#}");
    here.stop();
    other.stop();
}

/// Without a configuration here, the only service is meant; of several, none is.
#[test]
fn i8_without_a_configuration_the_only_service_is_meant_and_several_are_listed() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let one = service(&sandbox, &endpoint, "one.json");
    sandbox.run(&["status"]).expect(0);
    let sync = sandbox.run(&["sync"]).expect(0).stdout;
    let file = fs::canonicalize(sandbox.path("one.json")).expect("a file");
    assert!(sync.starts_with(&format!("process {} on {}: ", one.process(), file.display())), "{sync}");
    assert!(sandbox.run(&["history"]).expect(0).stdout.contains("one.json.example.com"));
    let two = service(&sandbox, &endpoint, "two.json");
    for command in [&["status"][..], &["status", "--json"], &["status", "--alive"], &["sync"], &["history"]] {
        let run =
            sandbox.run(command).expect(2).prints("several services are running").prints("use --all for all of them");
        for watch in [&one, &two] {
            assert!(run.stderr.contains(&format!("process {} on ", watch.process())), "{}", run.stderr);
        }
        assert_eq!(run.stdout, "");
    }
    assert_eq!(one.lines_with("requested") + two.lines_with("requested"), 1, "nobody was asked");
    sandbox.run(&["status", "-c", "two.json"]).expect(0);
    one.stop();
    two.stop();
}

/// One that has no file runs on environment and options: it is found where no file is.
#[test]
fn i8_a_service_without_a_file_is_the_only_one() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let sandbox =
        sandbox.env("DDNS_DNS", "callback").env("DDNS_ID", endpoint.id()).env("DDNS_IPV4", "home.example.com");
    let source = endpoint.receiver.index4();
    let watch = Watch::run(sandbox.command(&["watch", "--index4", &source]));
    watch.prints("accepted");
    sandbox.run(&["status", "--alive"]).expect(0);
    let shown = sandbox.run(&["status", "--all"]).expect(0).stdout;
    assert!(shown.contains("on environment and options"), "{shown}");
    watch.stop();
}

/// A configuration here, and no service on it: what runs is named, and not touched.
#[test]
fn i8_where_no_service_runs_on_this_configuration_the_others_are_named() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let other = service(&sandbox, &endpoint, "other.json");
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let named = format!("process {} on ", other.process());
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = plain(&sandbox.run(&["status"]).expect(3).stdout);
    for part in ["No running service found for ", &named, "--all", "not accepted yet"] {
        assert!(status.contains(part), "no word of {part:?}: {status}");
    }
    assert!(sandbox.run(&["status", "--alive"]).expect(3).stdout.contains(&named));
    sandbox.run(&["sync"]).expect(1).prints(&named).prints("--all");
    assert!(sandbox.run(&["history"]).expect(0).stdout.contains("No records"));
    assert_eq!(other.lines_with("requested"), 0);
    // A reload does not change which service it is.
    let changed = sandbox.read("other.json").replacen('{', "{\"interval\": \"9m\", ", 1);
    sandbox.write("other.json", changed);
    other.prints("every 9 min");
    until(SOON, "it responds", || sandbox.run(&["status", "--alive", "-c", "other.json"]).code == 0);
    sandbox.run(&["status", "--alive"]).expect(3);
    other.stop();
}

/// Responds to every command as a service would that is up to date, `more` at the end.
fn forge(socket: &Path, more: usize) {
    let listener = UnixListener::bind(socket).expect("a socket");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = [0; 64];
            let read = stream.read(&mut line).unwrap_or(0);
            let response = match &line[..read] {
                b"status\n" => "{\"process\":1,\"configurations\":[\"x\"],\"next_in\":1,\"errors\":[],\"updates\":[]}",
                b"history\n" => "[\"/forged\"]",
                _ => "{\"text\":\"all is \u{9b}31mwell\",\"good\":true}",
            };
            let _ = stream.write_all(response.as_bytes());
            let blank = vec![b' '; 1 << 20];
            for _ in 0..more {
                if stream.write_all(&blank).is_err() {
                    break;
                }
            }
        }
    });
}

/// In the temporary folder anybody can make a folder that is called like that of another user.
#[test]
fn i8_a_socket_in_a_folder_of_somebody_else_is_not_asked() {
    let sandbox = host();
    let temporary = sandbox.path("tmp");
    fs::set_permissions(&temporary, fs::Permissions::from_mode(0o1777)).expect("a mode");
    let user = fs::metadata(&temporary).expect("a folder").uid();
    let folder = temporary.join(format!("ddns-{user}"));
    fs::create_dir(&folder).expect("a folder");
    let socket = folder.join("watch-forged.sock");
    forge(&socket, 0);
    let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("a mode");
    let expect = |code: i32, what: &str| {
        assert_eq!(sandbox.run(&["status"]).code, code, "{what}");
        assert_eq!(sandbox.run(&["status", "--alive"]).code, code, "{what}");
        let run = sandbox.run(&["sync"]).expect(i32::from(code > 0));
        assert_eq!(run.stdout.contains("well"), code == 0, "{what}");
        assert!(!run.stdout.contains('\u{9b}'), "{run:?}");
        assert_eq!(sandbox.run(&["history"]).expect(0).stdout.contains("forged"), code == 0, "{what}");
    };
    mode(0o700);
    expect(0, "its own");
    for others in [0o770, 0o707, 0o1777] {
        mode(others);
        expect(3, "others may write there");
    }
    mode(0o755);
    let kept = temporary.join("kept");
    fs::rename(&folder, &kept).expect("it is moved");
    symlink(&kept, &folder).expect("a link");
    expect(3, "a link");
    fs::remove_file(&folder).expect("the link goes");
    fs::rename(&kept, &folder).expect("it is back");
    if chown(&socket, Some(12345), None).is_err() {
        return skipped("only root can give a file away");
    }
    expect(3, "the socket of somebody else");
    chown(&folder, Some(12345), None).expect("root may");
    expect(3, "everything of somebody else");
    // The service does not listen there either.
    let endpoint = Endpoint::new();
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    command.env("RUNTIME_DIRECTORY", &folder).env("TMPDIR", &temporary);
    let watch = Watch::run(command);
    watch.prints("cannot reach this service");
    watch.stop();
    // Where only root can make a folder, the one of a service's own user counts for root.
    let given = sandbox.path("run/ddns");
    fs::create_dir_all(&given).expect("a folder");
    fs::set_permissions(&given, fs::Permissions::from_mode(0o700)).expect("a mode");
    forge(&given.join("watch-given.sock"), 0);
    chown(&given, Some(12345), None).expect("root may");
    chown(given.join("watch-given.sock"), Some(12345), None).expect("root may");
    sandbox.run(&["status", "--alive", "--all"]).expect(0);
}

/// What a service says has an end.
#[test]
fn i8_a_response_without_end_is_given_up() {
    let sandbox = host();
    let folder = sandbox.path("run/ddns");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a mode");
    forge(&folder.join("watch-endless.sock"), 1 << 20);
    let limited = "ulimit -v 1500000; exec \"$0\" \"$@\"";
    let mut command = sandbox.command_by(&["sh", "-c", limited], &["status", "--alive"]);
    let output = command.output().expect("sh starts");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}

/// A service that hangs while somebody waits for its synchronization.
#[test]
fn i8_sync_does_not_wait_for_a_service_that_hangs() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|number| Response::status(204).after(ms(if number == 0 { 0 } else { 60_000 })));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    watch.prints("accepted");
    endpoint.receiver.set_ip("203.0.113.8");
    thread::scope(|scope| {
        let asking = scope.spawn(|| sandbox.run(&["sync"]));
        endpoint.wait(2, SOON);
        watch.signal(Signal::STOP);
        asking.join().expect("it ends").expect(1).prints("no longer responds");
        watch.signal(Signal::CONT);
    });
}

/// Whatever runs on this machine, each test is alone.
#[test]
fn watch_a_service_in_the_usual_place_is_not_seen_by_another_test() {
    let (outside, endpoint) = (host(), Endpoint::new());
    outside.write("config.json", endpoint.config(&json!({})).to_string());
    let mut command = outside.command(&["watch", "-c", "config.json"]);
    let usual = ["/run/ddns", "/var/run/ddns"].map(Path::new);
    let was_there = usual.map(Path::exists);
    command.env_remove("RUNTIME_DIRECTORY").env_remove("TMPDIR");
    let watch = Watch::run(command);
    watch.prints("accepted");
    assert!(sockets(&outside).is_empty(), "it is where services of this user are");
    let mut seen = outside.command(&["status", "--alive", "-c", "config.json"]);
    let seen = seen.env_remove("RUNTIME_DIRECTORY").env_remove("TMPDIR").output().expect("it starts");
    assert_eq!(seen.status.code(), Some(0), "{seen:?}");
    for sandbox in [Sandbox::new(), host(), outside] {
        let run = sandbox.run(&["status", "--alive", "--all"]).expect(3);
        assert_eq!(run.stdout, "No running service found.\n");
    }
    watch.stop();
    for (folder, was_there) in usual.into_iter().zip(was_there) {
        if !was_there {
            // Where nobody else uses it by now.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// A service in a folder of its own, with relative paths.
fn service_in(sandbox: &Sandbox, endpoint: &Endpoint, folder: &str, cache: &Value) -> Watch {
    let config = endpoint.config(&json!({"cache": cache, "ipv4": [format!("{folder}.example.com")]}));
    sandbox.write(&format!("{folder}/config.json"), config.to_string());
    let watch = Watch::run(command_in(sandbox, folder, &["watch"]));
    watch.prints("accepted");
    watch
}

fn command_in(sandbox: &Sandbox, folder: &str, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    command.current_dir(sandbox.path(folder));
    command
}

/// What is written alike in two folders is not the same: neither takes the socket of the other, at its start or at its end.
#[test]
fn i8_services_that_write_the_same_relative_paths_have_sockets_of_their_own() {
    for cache in [json!("cache.json"), json!(false)] {
        let (sandbox, endpoint) = (host(), Endpoint::new());
        let is_alive = |folder: &str, watch: &Watch| {
            let output = command_in(&sandbox, folder, &["status", "--alive"]).output().expect("it runs");
            String::from_utf8_lossy(&output.stdout) == format!("Running (process {}).\n", watch.process())
        };
        let (a, b) = (service_in(&sandbox, &endpoint, "a", &cache), service_in(&sandbox, &endpoint, "b", &cache));
        assert_eq!(sockets(&sandbox).len(), 2, "{cache}: one for each");
        assert!(is_alive("a", &a) && is_alive("b", &b), "{cache}: both are found");
        a.stop();
        assert!(is_alive("b", &b), "{cache}: the other is still found");
        assert_eq!(sockets(&sandbox).len(), 1, "{cache}");
        // A socket that nobody listens on is replaced.
        b.signal(Signal::KILL);
        drop(b);
        let b = Watch::run(command_in(&sandbox, "b", &["watch"]));
        until(SOON, "it is found after it was killed", || is_alive("b", &b));
        assert_eq!(sockets(&sandbox).len(), 1, "{cache}: none is left over");
        b.stop();
    }
}

/// Without a cache nothing keeps two services from running on one file.
#[test]
fn i8_two_services_on_one_file_have_sockets_of_their_own() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let one = service_in(&sandbox, &endpoint, "a", &json!(false));
    let two = service_in(&sandbox, &endpoint, "a", &json!(false));
    let alive = || sandbox.run(&["status", "--alive", "--all"]).expect(0).stdout;
    assert_eq!(alive().lines().count(), 2, "{}", alive());
    one.stop();
    assert_eq!(alive(), format!("Running (process {}).\n", two.process()));
    two.stop();
    assert!(sockets(&sandbox).is_empty());
}

/// The client is in another folder than the service.
#[test]
fn i8_i4_history_reads_the_files_of_the_service_from_any_folder() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = service_in(&sandbox, &endpoint, "a", &json!("cache.json"));
    for command in [&["history"][..], &["history", "-c", "a/config.json"], &["history", "--all"]] {
        let shown = sandbox.run(command).expect(0).stdout;
        assert!(shown.contains("a.example.com"), "{command:?}:\n{shown}");
    }
    watch.stop();
}
