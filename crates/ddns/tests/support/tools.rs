//! What a test needs of the system and may not find: programs that are not installed, the right to make network
//! namespaces. Where something is missing the test is skipped, which its output shows, or fails where the environment
//! sets `DDNS_TEST_MUST_NOT_SKIP`.

use std::env;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use crate::support::Sandbox;
pub use crate::support::programs::{Ended, needed, skipped, started, tool};

/// Set for the copy of the test program that runs inside a namespace: the one test that it runs.
const INSIDE: &str = "DDNS_TEST_INSIDE_NAMESPACE";

/// A script that makes a namespace ends so where the system cannot do what it asks for.
const CANNOT: i32 = 77;

/// Where a program is that `.ci/receivers` installs.
pub fn receiver_tool(path: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/receivers"));
    Some(folder.join(path)).filter(|file| file.is_file())
}

/// Runs the test that calls this inside a new network namespace, as a copy of this test program that runs nothing else;
/// `Some` only in that copy: `let Some(()) = inside(…) else { return };` begins such a test. Its name (`module::function`)
/// is that of its thread.
///
/// `setup` is a shell script that is run in the namespace before; it ends with status 77 where the system lacks what it
/// needs. Mounts made there are seen by nobody else.
#[track_caller]
pub fn inside(setup: &str) -> Option<()> {
    let thread = thread::current();
    let test = thread.name().expect("the thread of a test has its name");
    if env::var_os(INSIDE).is_some_and(|name| name == test) {
        return Some(());
    }
    let (Some(unshare), Some(_)) = (tool("unshare"), tool("ip")) else {
        skipped("`unshare` or `ip` is not installed");
        return None;
    };
    let may = |options: &&&str| {
        let mut command = Command::new(&unshare);
        command.args([**options, "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let Some(options) = ["-nm", "-rnm"].iter().find(may) else {
        skipped("there is no right to make a network namespace");
        return None;
    };
    let path = format!("{}:/usr/sbin:/sbin", env::var("PATH").unwrap_or_default());
    let script = format!("exec 2>&1\nset -eu\n{setup}\nexec \"$0\" --exact \"$1\" --include-ignored --nocapture\n");
    let mut command = Command::new(unshare);
    command.args([options, "sh", "-c", &script]).arg(env::current_exe().expect("this program")).arg(test);
    command.env(INSIDE, test).env("PATH", path).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut copy = command.spawn().expect("unshare starts");
    let mut printed = String::new();
    for line in BufReader::new(copy.stdout.take().expect("a pipe")).lines().map_while(Result::ok) {
        println!("{line}");
        printed += &line;
        printed += "\n";
    }
    let status = copy.wait().expect("its status");
    if status.code() == Some(CANNOT) {
        skipped(&format!("this system cannot make what the namespace needs: {printed}"));
        return None;
    }
    assert!(status.success(), "it failed inside the namespace ({status}); what it printed is above");
    assert!(printed.contains("1 passed"), "there is no test {test}:\n{printed}");
    if let Some(line) = printed.lines().find(|line| line.starts_with("skipped ")) {
        let _ = writeln!(io::stderr(), "{line}");
    }
    None
}

/// Runs a line of shell in the namespace; fails the test where it fails.
#[track_caller]
pub fn sh(line: &str) {
    let output = Command::new("sh").args(["-euc", line]).stdin(Stdio::null()).output().expect("sh starts");
    assert!(output.status.success(), "{line}:\n{}", String::from_utf8_lossy(&output.stderr));
}

/// Setup of a namespace: loopback is up, and `interface NAME` makes an interface that is up and does not check whether its
/// addresses are unique.
pub const LOOPBACK: &str = "
    ip link set lo up
    interface() {
        { ip link add $1 type veth peer name p-$1 || ip link add $1 type dummy; } 2>/dev/null || exit 77
        echo 0 >/proc/sys/net/ipv6/conf/$1/accept_dad || exit 77
        echo 0 >/proc/sys/net/ipv6/conf/$1/dad_transmits || exit 77
        if ip link show p-$1 >/dev/null 2>&1; then
            echo 1 >/proc/sys/net/ipv6/conf/p-$1/disable_ipv6
            ip link set p-$1 up
        fi
        ip link set $1 up
    }
";

/// Setup of a namespace: a neighbour that never responds, over both families.
pub const SILENT: &str = "
    ip link set lo up
    { ip link add d0 type veth peer name p0 || ip link add d0 type dummy; } 2>/dev/null || exit 77
    if ip link show p0 >/dev/null 2>&1; then ip link set p0 up; fi
    ip addr add 198.51.100.1/24 dev d0
    ip addr add 2001:db8:1::1/64 dev d0 nodad || exit 77
    ip link set d0 up
    ip neigh add 198.51.100.2 lladdr 02:00:00:00:00:02 dev d0
    ip neigh add 2001:db8:1::2 lladdr 02:00:00:00:00:02 dev d0
";

/// The names that this namespace knows from now on.
pub fn hosts(sandbox: &Sandbox, text: &str) {
    let file = sandbox.write("hosts", format!("127.0.0.1 localhost\n{text}\n"));
    sh(&format!("mount --bind {} /etc/hosts", file.display()));
}
