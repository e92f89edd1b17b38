//! What a test needs of the system and may not find: programs that are not installed, the right to make network
//! namespaces. Where something is missing the test is skipped with a word about it or, where the environment sets
//! `DDNS_TEST_MUST_NOT_SKIP`, fails.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Set for the copy of the test program that runs inside a namespace: the one test that it runs.
const INSIDE: &str = "DDNS_TEST_INSIDE_NAMESPACE";

/// A script that makes a namespace ends so where the system cannot do what it asks for.
const CANNOT: i32 = 77;

/// Where a program is; folders of administrators count even where the user's `PATH` lacks them.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(more).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Tells that a test is skipped; fails it where nothing may be.
#[track_caller]
pub fn skipped(why: &str) {
    assert!(env::var_os("DDNS_TEST_MUST_NOT_SKIP").is_none(), "this may not be skipped: {why}");
    eprintln!("skipped: {why}");
}

/// Runs the test of this name (`module::function`) inside a new network namespace, as a copy of this test program that
/// runs nothing else, and says whether this process is that copy: `if !inside(…) { return; }` begins such a test.
///
/// `setup` is a shell script that is run in the namespace before; it ends with status 77 where the system lacks what it
/// needs. Mounts made there are seen by nobody else.
#[track_caller]
pub fn inside(test: &str, setup: &str) -> bool {
    if env::var_os(INSIDE).is_some_and(|name| name == test) {
        return true;
    }
    let (Some(unshare), Some(_)) = (tool("unshare"), tool("ip")) else {
        skipped("`unshare` or `ip` is not installed");
        return false;
    };
    let may = |options: &&&str| {
        let mut command = Command::new(&unshare);
        command.args([**options, "true"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let Some(options) = ["-nm", "-rnm"].iter().find(may) else {
        skipped("there is no right to make a network namespace");
        return false;
    };
    let path = format!("{}:/usr/sbin:/sbin", env::var("PATH").unwrap_or_default());
    let script = format!("set -eu\n{setup}\nexec \"$0\" --exact \"$1\" --include-ignored --nocapture\n");
    let mut command = Command::new(unshare);
    command.args([options, "sh", "-c", &script]).arg(env::current_exe().expect("this program")).arg(test);
    let output = command.env(INSIDE, test).env("PATH", path).stdin(Stdio::null()).output().expect("unshare starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(CANNOT) {
        skipped(&format!("this system cannot make what the namespace needs: {said}"));
        return false;
    }
    assert!(output.status.success(), "inside the namespace ({}):\n{said}", output.status);
    assert!(said.contains("1 passed"), "there is no test {test}:\n{said}");
    false
}

/// Runs a line of shell in the namespace; fails the test where it fails.
#[track_caller]
pub fn sh(line: &str) {
    let output = Command::new("sh").args(["-euc", line]).stdin(Stdio::null()).output().expect("sh starts");
    assert!(output.status.success(), "{line}:\n{}", String::from_utf8_lossy(&output.stderr));
}
