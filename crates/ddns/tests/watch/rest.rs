//! `ddns watch` at rest and over a long time: no word, no wake-up, nothing that grows; and hosts on which something is
//! missing: room on the disk, the right to write, the kernel's notifications.

use std::fs;
use std::io::{Read as _, Write as _, pipe};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::support::tools::{LOOPBACK, inside, needed, sh};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, status, until};

/// As much as a pipe holds that nobody reads.
const PIPE_SIZE: usize = 64 * 1024;

/// How often any of its threads went to sleep.
fn naps(watch: &Watch) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{}/task", watch.process())).expect("the process is there");
    let count = |task: fs::DirEntry| {
        let name = format!("task/{}/status", task.file_name().to_string_lossy());
        watch.measure(&name, "voluntary_ctxt_switches:")
    };
    tasks.flatten().map(count).sum()
}

#[test]
fn watch_at_rest_does_not_wake_up() {
    // A namespace of its own: whatever happens to the network of this machine would be heard.
    let Some(()) = inside(LOOPBACK) else { return };
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    thread::sleep(ms(2000));
    let before = naps(&watch);
    thread::sleep(ms(3000));
    assert_eq!(naps(&watch), before, "it was woken");
    watch.stop();
}

#[test]
fn watch_logs_nothing_where_nothing_happens_and_beats_at_debug() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"interval": "10s"})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    let before = watch.log();
    assert_eq!(before.lines().count(), 2, "what is watched, and what was sent:\n{before}");
    let looked = endpoint.receiver.lookups();
    // The other one at the same time: both wait for a round.
    let (other_sandbox, other_endpoint) = (host(), Endpoint::new());
    let detailed = other_endpoint.config(&json!({"interval": "10s", "log": {"level": "DEBUG"}}));
    let other = Watch::start(&other_sandbox, &detailed);
    until(ms(13_000), "a round", || endpoint.receiver.lookups() > looked);
    thread::sleep(ms(500));
    assert_eq!(watch.log(), before);
    watch.stop();

    until(ms(13_000), "a line for each round", || other.lines_with("next in ") > 1);
    assert_eq!(other_endpoint.count(), 1);
    other.stop();
}

/// As many rounds as a day has, and changes of the address: nothing is left open, nothing grows.
#[test]
fn watch_a_day_of_rounds_leaks_nothing() {
    let Some(()) = inside(&format!("{LOOPBACK}\ninterface d0")) else { return };
    sh("ip addr add 203.0.113.1/24 dev d0");
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let sources = json!({"index4": ["interface:d1", endpoint.receiver.index4()], "ipv6": "home.example.com",
        "index6": endpoint.receiver.index6()});
    let watch = Watch::start(&sandbox, &endpoint.config(&sources));
    endpoint.wait(2, SOON);
    watch.prints("accepted");
    let round = |number: usize| {
        // Each time another address: all the way through to the endpoint and the cache.
        endpoint.receiver.set_ip(&format!("203.0.113.{}", number % 200));
        sandbox.run(&["sync", "-c", "config.json"]).expect(0);
        if number.is_multiple_of(6) {
            let (old, new) = (number / 6 + 1, number / 6 + 2);
            sh(&format!("ip addr add 203.0.{new}.1/24 dev d0; ip addr del 203.0.{old}.1/24 dev d0 || true"));
        }
    };
    (0..20).for_each(round);
    thread::sleep(ms(1000));
    let measure = || (watch.open_files(), watch.measure("status", "VmRSS:"));
    let (files, memory) = measure();
    (20..300).for_each(round);
    thread::sleep(ms(2000));
    let (files_after, memory_after) = measure();
    assert!(files_after <= files + 1, "{files} files were open, now {files_after}");
    assert!(memory_after <= memory + 512, "{memory} kB, now {memory_after} kB");
    assert!(endpoint.count() >= 300, "{}", endpoint.count());
    watch.stop();
}

/// The same for failures and reloads.
#[test]
fn watch_reloads_and_failures_leak_nothing() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "shell:exit 1"})));
    watch.prints("no IPv4 address found");
    let reload = |number: usize| {
        let config = endpoint.config(&json!({"index4": "shell:exit 1", "ttl": 100 + number}));
        sandbox.write("config.json", config.to_string());
        watch.signal(Signal::HUP);
        until(SOON, "it is loaded", || watch.lines_with("reloading") == number);
        sandbox.run(&["sync", "-c", "config.json"]).expect(1);
    };
    (1..=10).for_each(reload);
    let (files, memory) = (watch.open_files(), watch.measure("status", "VmRSS:"));
    (11..=60).for_each(reload);
    // Who asked for the last round may not be gone yet.
    until(SOON, &format!("no more than {files} open files"), || watch.open_files() <= files + 1);
    let after = watch.measure("status", "VmRSS:");
    assert!(after <= memory + 512, "{memory} kB, now {after} kB");
    watch.stop();
}

/// A cache that cannot be written, on a disk of the test's own: reported once, and everything continues.
fn continues_without_room(spoil: &str) {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let disk = sandbox.path("disk");
    fs::create_dir(&disk).expect("a folder");
    let disk = disk.display();
    sh(&format!("mount -t tmpfs -o size=64k tmpfs {disk}"));
    let config = endpoint.config(&json!({"cache": "disk/cache.json"}));
    sh(&spoil.replace("DISK", &disk.to_string()));
    let watch = Watch::start(&sandbox, &config);
    endpoint.wait(1, SOON);
    watch.prints("cannot be written");
    for (number, ip) in [(2, "203.0.113.8"), (3, "203.0.113.9")] {
        endpoint.receiver.set_ip(ip);
        watch.signal(Signal::USR1);
        assert_eq!(endpoint.wait(number, SOON).ip(), ip, "{}", watch.log());
    }
    // What was accepted is known as long as the service lives.
    watch.signal(Signal::USR1);
    until(SOON, "it is asked", || watch.lines_with("synchronization requested") == 3);
    thread::sleep(ms(1500));
    assert_eq!(endpoint.count(), 3);
    assert_eq!(status(&sandbox).1, 0);
    let log = watch.stop();
    for what in ["the cache cannot be written", "the history cannot be written"] {
        assert_eq!(log.matches(what).count(), 1, "{log}");
    }
    sh(&format!("umount {disk}"));
}

#[test]
fn watch_a_full_disk_is_logged_once_and_changes_are_sent() {
    if inside(LOOPBACK).is_some() {
        continues_without_room("dd if=/dev/zero of=DISK/much bs=4k 2>/dev/null || true");
    }
}

#[test]
fn watch_a_read_only_folder_is_logged_once_and_changes_are_sent() {
    if inside(LOOPBACK).is_some() {
        continues_without_room("mount -o remount,ro DISK");
    }
}

/// Where the kernel's notifications are not available, the interval remains, and that is reported once.
#[test]
fn watch_without_netlink_falls_back_to_the_interval_and_reports_it_once() {
    let Some(strace) = needed("strace") else { return };
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({"interval": "10s"})).to_string());
    let ddns = sandbox.command(&["watch", "-c", "config.json"]);
    let mut command = Command::new(strace);
    // The first socket that it makes is the one that listens to the kernel.
    command.args(["-D", "-qq", "-o", "/dev/null", "-e", "trace=socket"]);
    command.args(["-e", "inject=socket:error=EAFNOSUPPORT:when=1"]).arg(ddns.get_program()).args(ddns.get_args());
    command.current_dir(sandbox.path("")).env_clear();
    command.envs(ddns.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let watch = Watch::run(command);
    endpoint.wait(1, SOON);
    watch.prints("does not report address changes");
    endpoint.receiver.set_ip("203.0.113.8");
    assert_eq!(endpoint.wait(2, ms(13_000)).ip(), "203.0.113.8", "the interval is left");
    sandbox.write("config.json", endpoint.config(&json!({"interval": "11s"})).to_string());
    watch.prints("reloading");
    assert_eq!(watch.lines_with("does not report address changes"), 1, "{}", watch.log());
    watch.stop();
}

/// A reader that hangs must not hold up an update, nor the end.
#[test]
fn g1_a_service_whose_log_nobody_reads_sends_all_the_same() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let (mut reader, mut writer) = pipe().expect("a pipe");
    writer.write_all(&vec![b'x'; PIPE_SIZE]).expect("as much as fits");
    let mut service = sandbox.command(&["watch", "-c", "config.json"]).stderr(writer).spawn().expect("it starts");
    endpoint.wait(1, SOON);
    reader.read_exact(&mut vec![0; PIPE_SIZE]).expect("all of it");
    let process = i32::try_from(service.id()).ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(process, Signal::TERM).expect("it runs");
    assert!(service.wait().expect("it ended").success());
    let mut log = String::new();
    reader.read_to_string(&mut log).expect("a text");
    assert!(log.contains(" of these lines are missing: nobody read them)\n"), "{log}");
}

/// systemd's journal reads a socket.
#[test]
fn g1_a_service_whose_log_is_a_socket_that_nobody_reads_sends_all_the_same() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let names: Vec<String> = (0..300).map(|number| format!("h{number}.example.com")).collect();
    sandbox.write("config.json", endpoint.config(&json!({"ipv4": names, "debug": true})).to_string());
    let (_reader, writer) = UnixStream::pair().expect("two ends");
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    let mut service = command.stderr(OwnedFd::from(writer)).spawn().expect("it starts");
    endpoint.wait(300, SOON * 2);
    let process = i32::try_from(service.id()).ok().and_then(Pid::from_raw).expect("a process number");
    kill_process(process, Signal::TERM).expect("it runs");
    assert!(service.wait().expect("it ended").success());
}

#[test]
fn g3_where_a_log_file_cannot_be_opened_again_lines_go_to_standard_error() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"log": {"file": "logs/ddns.log"}})));
    endpoint.wait(1, SOON);
    fs::rename(sandbox.path("logs/ddns.log"), sandbox.path("logs/ddns.log.1")).expect("it is rotated");
    fs::create_dir(sandbox.path("logs/ddns.log")).expect("a folder in its place");
    watch.signal(Signal::HUP);
    watch.prints("the log file cannot be opened (is a directory); logging to standard error");
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    watch.prints("home.example.com A 203.0.113.8: accepted");
    assert!(!sandbox.read("logs/ddns.log.1").contains("203.0.113.8"));
    watch.stop();
}

/// Where a limit of the system is reached, changed files are still noticed, later, and that is reported once.
#[test]
fn watch_without_inotify_looks_at_its_files_when_it_wakes_and_reports_it_once() {
    let Some(strace) = needed("strace") else { return };
    for (call, error) in [("inotify_init1", "EMFILE"), ("inotify_add_watch", "ENOSPC")] {
        let (sandbox, endpoint) = (host(), Endpoint::new());
        sandbox.write("config.json", endpoint.config(&json!({})).to_string());
        let (trace, inject) = (format!("trace={call}"), format!("inject={call}:error={error}"));
        let starter = [strace.to_str().expect("a path"), "-D", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
        let watch = Watch::run(sandbox.command_by(&starter, &["watch", "-c", "config.json"]));
        watch.prints("accepted");
        for number in 1..3 {
            let domains = json!({"ipv4": ["home.example.com", format!("new{number}.example.com")]});
            sandbox.write("config.json", endpoint.config(&domains).to_string());
            watch.signal(Signal::USR1);
            watch.prints(&format!("new{number}.example.com A 203.0.113.7: accepted"));
        }
        assert_eq!(watch.lines_with("cannot be noticed at once"), 1, "{}", watch.log());
        watch.stop();
    }
}
