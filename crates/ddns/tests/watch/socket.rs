//! The control socket of `ddns watch`: for its owner alone, gone at the end, and not hurt by strangers.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::support::watching::{Endpoint, SOON, Watch, host, ms, sockets, status, until};
use crate::support::{Response, mode};

#[test]
fn watch_the_socket_is_for_the_owner_alone_and_goes_away() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    for signal in [Signal::TERM, Signal::INT] {
        let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
        until(SOON, "a socket", || !sockets(&sandbox).is_empty());
        let all = sockets(&sandbox);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!(mode(&all[0]), 0o600);
        assert_eq!(mode(&sandbox.path("run/ddns")), 0o700);
        endpoint.wait(1, SOON);
        watch.signal(signal);
        assert_eq!(watch.ended(SOON), 0);
        assert!(sockets(&sandbox).is_empty(), "{:?}", sockets(&sandbox));
    }
}

/// In a folder that others may write to, no socket is made.
#[test]
fn watch_a_folder_that_others_may_write_to_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let folder = sandbox.path("run/ddns");
    fs::create_dir(&folder).expect("the folder is made");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a mode");
    // systemd's folder comes first.
    let own = sandbox.path("own");
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    command.env("RUNTIME_DIRECTORY", &own);
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let watch = Watch::run(command);
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    assert!(sockets(&sandbox).is_empty());
    assert_eq!(fs::read_dir(&own).expect("systemd's folder is used").count(), 1);
    watch.stop();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o777)).expect("a mode");
    let mut command = sandbox.command(&["watch", "-c", "config.json"]);
    command.env("RUNTIME_DIRECTORY", &own).env("XDG_RUNTIME_DIR", sandbox.path("run2"));
    let watch = Watch::run(command);
    until(SOON, "the next folder is taken", || {
        fs::read_dir(sandbox.path("run2/ddns")).is_ok_and(|entries| entries.count() == 1)
    });
    assert_eq!(fs::read_dir(&own).expect("a folder").count(), 0);
    watch.stop();
}

/// What comes back to these bytes within the patience of the service; connections that it closes are fine.
fn exchange(path: &std::path::Path, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(path).expect("the socket is there");
    stream.set_read_timeout(Some(Duration::from_secs(8))).expect("a limit");
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    response
}

#[test]
fn watch_garbage_on_the_socket_does_no_harm() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    let path = sockets(&sandbox).remove(0);
    let lines = watch.log().lines().count();
    let long = vec![b'a'; 1_000_000];
    for bytes in [&b""[..], b"\n", b"stat", b"reboot\n", b"STATUS\n", b"\xff\xfe\x00\n", b"\0\0\0\0", &long] {
        let response = exchange(&path, bytes);
        assert!(response.is_empty(), "{:?}… got a response of {}", &bytes[..bytes.len().min(8)], response.len());
    }
    // Whether a question with much behind it is one does not matter, as long as it ends.
    exchange(&path, &[b"status".to_vec(), vec![b' '; 100_000]].concat());
    assert!(exchange(&path, b"status\n").starts_with(b"{"));
    assert_eq!(status(&sandbox).1, 0, "it still responds");
    assert!(watch.is_running() && endpoint.count() == 1);
    assert_eq!(watch.log().lines().count(), lines, "strangers do not fill the log:\n{}", watch.log());
    watch.stop();
}

/// The system gives no connection for a moment, and does not say when it has some again.
#[test]
fn watch_silent_clients_do_not_lock_others_out_where_few_files_may_be_open() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let watch = Watch::run(sandbox.limited_command(64, &["watch", "-c", "config.json"]));
    watch.prints("accepted");
    let path = sockets(&sandbox).remove(0);
    let silent: Vec<UnixStream> = (0..400).map(|_| UnixStream::connect(&path).expect("a connection")).collect();
    sandbox.run(&["status", "--alive"]).expect(0);
    drop(silent);
    sandbox.run(&["status", "--alive"]).expect(0);
    watch.stop();
}

/// Silent clients of the page leave files for everybody else.
#[test]
fn watch_silent_clients_of_the_page_lock_nobody_out_where_few_files_may_be_open() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    let watch = Watch::run(sandbox.limited_command(32, &["watch", "-c", "config.json", "--web", "127.0.0.1:0"]));
    watch.prints("accepted");
    watch.prints("the page is at http://");
    let log = watch.log();
    let after = log.split_once("the page is at http://").expect("the page").1;
    let address = after.split('/').next().expect("an address");
    let silent: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    sandbox.run(&["status", "--alive"]).expect(0);
    endpoint.receiver.set_ip("203.0.113.8");
    sandbox.run(&["sync"]).expect(0);
    assert_eq!(endpoint.count(), 2);
    drop(silent);
    watch.stop();
}

/// Whoever connects and says nothing makes room for those who speak, and does not last.
#[test]
fn watch_silent_clients_do_not_lock_others_out() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let mut watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    let path = sockets(&sandbox).remove(0);
    let before = watch.open_files();
    let silent: Vec<UnixStream> = (0..400).map(|_| UnixStream::connect(&path).expect("a connection")).collect();
    until(SOON, "some of them have a place", || watch.open_files() > before);
    assert!(watch.open_files() < before + 60, "{} files open", watch.open_files());
    assert_eq!(status(&sandbox).1, 0, "others are heard at once: {}", watch.log());
    let begun = Instant::now();
    // The network is heard all the same.
    endpoint.receiver.set_ip("203.0.113.8");
    watch.signal(Signal::USR1);
    endpoint.wait(2, SOON);
    until(ms(9000), "their time is over", || watch.open_files() <= before + 1);
    assert!(begun.elapsed() < ms(9000));
    drop(silent);
    assert!(watch.is_running());
    watch.stop();
}

/// Whoever waits for a synchronization keeps nobody from asking how things stand.
#[test]
fn i6_many_who_wait_do_not_make_the_service_look_dead() {
    let sandbox = host();
    let endpoint = Endpoint::responding(|_| Response::status(204).after(ms(3000)));
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    let path = sockets(&sandbox).remove(0);
    let waiting: Vec<UnixStream> = (0..40)
        .map(|_| {
            let mut stream = UnixStream::connect(&path).expect("a connection");
            stream.write_all(b"sync\n").expect("it listens");
            stream
        })
        .collect();
    sandbox.run(&["status", "--alive", "-c", "config.json"]).expect(0);
    for mut stream in waiting {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("a response");
        assert!(!text.is_empty());
    }
    watch.stop();
}

#[test]
fn i6_a_socket_that_was_removed_is_made_again() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({})));
    endpoint.wait(1, SOON);
    until(SOON, "up to date", || status(&sandbox).1 == 0);
    fs::remove_dir_all(sandbox.path("run/ddns")).expect("it is removed");
    watch.signal(Signal::USR1);
    until(SOON, "a socket", || !sockets(&sandbox).is_empty());
    assert_eq!(status(&sandbox).1, 0);
    watch.stop();
}

/// Somebody who asks and goes away before the response comes.
#[test]
fn watch_whoever_asks_and_leaves_is_forgotten() {
    let (sandbox, endpoint) = (host(), Endpoint::new());
    let watch = Watch::start(&sandbox, &endpoint.config(&json!({"index4": "shell:sleep 0.3; echo 203.0.113.7"})));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    let path = sockets(&sandbox).remove(0);
    let before = watch.open_files();
    for _ in 0..20 {
        let mut stream = UnixStream::connect(&path).expect("a connection");
        stream.write_all(b"sync\n").expect("it listens");
    }
    until(SOON, "they are forgotten", || watch.open_files() <= before + 1);
    assert_eq!(status(&sandbox).1, 0, "{}", watch.log());
    watch.stop();
}
