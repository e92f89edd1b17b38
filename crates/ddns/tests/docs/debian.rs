//! The Debian package: built, installed, upgraded, removed and purged with `dpkg` in a minimal Debian of its own, which
//! `.ci/debian-root` makes once.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::pages::root;
use crate::support::tools::{skipped, tool};
use crate::support::{Run, Sandbox};

const CONFIG: &str = "/etc/ddns/config.json";

/// What changes by itself where packages come and go, or where users do: backups, logs, caches, the books of apt and dpkg.
fn is_book(path: &str) -> bool {
    let folders = ["var/lib/apt/", "var/lib/dpkg/", "var/log/", "var/cache/", "var/lib/systemd/deb-systemd-helper"];
    folders.iter().any(|folder| path.starts_with(folder)) || (path.starts_with("etc/") && path.ends_with('-'))
}

/// A system that can be changed at will; removed at the end.
struct Debian {
    root: PathBuf,
}

impl Drop for Debian {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

impl Debian {
    /// A copy of the minimal system; none, and the test is skipped, where it cannot be had.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() || tool("debootstrap").is_none() || tool("dpkg-deb").is_none() {
            skipped("there is no `debootstrap` or `dpkg-deb`, or no root to run them");
            return None;
        }
        let made =
            Command::new(root().join(".ci/debian-root")).stdin(Stdio::null()).output().expect("the script starts");
        if !made.status.success() {
            skipped("no minimal Debian could be made: see target/debian-root.log");
            return None;
        }
        let debian = Self { root: root().join(format!("target/debian-try-{}", std::process::id())) };
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=auto"]).arg(root().join("target/debian-root")).arg(&debian.root);
        let copied = copy.status().expect("cp starts");
        assert!(copied.success(), "the system is copied");
        Some(debian)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Runs a command in the system, as this user of it.
    fn run_as(&self, user: &str, words: &[&str]) -> Run {
        let mut command = Command::new(tool("unshare").expect("unshare"));
        command.args(["--mount", "--pid", "--fork"]).arg(format!("--mount-proc={}", self.path("/proc").display()));
        command.arg(tool("chroot").expect("chroot")).arg(format!("--userspec={user}:{user}")).arg(&self.root);
        command.args(words).env_clear();
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
        Run::of(&command.env("HOME", "/").output().expect("chroot starts"))
    }

    fn run(&self, words: &[&str]) -> Run {
        self.run_as("root", words)
    }

    /// Every file and folder with its owner, its permissions and, in `/etc`, its content.
    fn everything(&self) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![self.root.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let name = path.strip_prefix(&self.root).expect("inside").display().to_string();
                let metadata = fs::symlink_metadata(&path).expect("it is there");
                if metadata.is_dir() {
                    open.push(path.clone());
                }
                if !is_book(&name) {
                    let is_setting = name.starts_with("etc/") && metadata.is_file();
                    let text = if is_setting { fs::read(&path).unwrap_or_default() } else { Vec::new() };
                    let text = String::from_utf8_lossy(&text).into_owned();
                    found.insert(format!("{name} {:o} {}:{} {text}", metadata.mode(), metadata.uid(), metadata.gid()));
                }
            }
        }
        found
    }
}

/// The package, with the static program where there is one.
fn package(folder: &Path) -> String {
    let program = env::var_os("DDNS_TEST_STATIC").unwrap_or_else(|| env!("CARGO_BIN_EXE_ddns").into());
    let mut command = Command::new(root().join("packaging/build-deb"));
    // Packing takes longer than everything else.
    command.arg(program).arg(folder).env("DPKG_DEB_COMPRESSOR_TYPE", "none").stdin(Stdio::null());
    let output = command.output().expect("the script starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    printed.lines().last().expect("a path").to_owned()
}

#[test]
fn the_debian_package_comes_and_goes_without_a_trace() {
    let Some(debian) = Debian::new() else { return };
    let sandbox = Sandbox::new();
    let file = package(&sandbox.path("."));
    fs::copy(&file, debian.path("/root/ddns.deb")).expect("the package is copied");
    // As if systemd ran there.
    for folder in ["/run/systemd/system", "/var/lib/private"] {
        fs::create_dir_all(debian.path(folder)).expect("a folder");
    }
    fs::write(debian.path("/usr/local/bin/systemctl"), "#!/bin/sh\necho \"$*\" >>/root/calls\n").expect("a script");
    fs::set_permissions(debian.path("/usr/local/bin/systemctl"), fs::Permissions::from_mode(0o755)).expect("a program");
    fs::write(debian.path("/root/calls"), "").expect("a file");
    let before = debian.everything();

    // README's line, with what is in the minimal system.
    debian.run(&["apt-get", "install", "-qq", "-y", "--no-install-recommends", "/root/ddns.deb"]).expect(0);
    let version = debian.run(&["ddns", "--version"]).expect(0).stdout;
    assert_eq!(version, format!("ddns {}\n", env!("CARGO_PKG_VERSION")));
    debian.run(&["ddns", "check", "-c", "/usr/share/doc/ddns/examples/get.json"]).expect(0);
    let changed = debian.run(&["dpkg", "-V", "ddns"]).expect(0).stdout;
    assert_eq!(changed, "", "every file is as md5sums has it");
    let listed = debian.run(&["dpkg", "-L", "ddns"]).expect(0).stdout;
    for path in ["man/man1/ddns.1.gz", "completions/ddns", "_ddns", "ddns.fish", "ddns.timer", "doc/ddns/copyright"] {
        assert!(listed.lines().any(|line| line.ends_with(path)), "{path}:\n{listed}");
    }
    let unit = fs::read_to_string(debian.path("/usr/lib/systemd/system/ddns.service")).expect("the unit");
    assert!(unit.contains("ExecStart=/usr/bin/ddns watch") && !unit.contains("/usr/local"), "{unit}");

    // As `ddns init` leaves it; then the service is installed, upgraded, and nobody's edit is lost.
    let text = r#"{"dns": "callback", "id": "https://example.com/?ip=__IP__&key=s3cret", "ipv4": "a.example.com", "index4": "shell:x"}"#;
    fs::write(debian.path(CONFIG), text).expect("a configuration");
    fs::set_permissions(debian.path(CONFIG), fs::Permissions::from_mode(0o600)).expect("it is closed");
    debian.run_as("ddns", &["ddns", "check", "-c", CONFIG]).expect(2);
    debian.run(&["ddns", "service", "install"]).expect(0);
    debian.run_as("ddns", &["ddns", "check", "-c", CONFIG]).expect(0);
    let calls = fs::read_to_string(debian.path("/root/calls")).expect("the calls");
    assert!(calls.ends_with("enable --quiet ddns.service\nrestart ddns.service\n"), "{calls}");
    assert!(debian.path("/etc/systemd/system/ddns.service.d/programs.conf").exists(), "for `shell:`");
    let edited = fs::read_to_string(debian.path(CONFIG)).expect("it is there") + "// edited\n";
    fs::write(debian.path(CONFIG), &edited).expect("it is edited");
    let mode = fs::metadata(debian.path(CONFIG)).expect("it is there").mode();
    debian.run(&["dpkg", "-i", "/root/ddns.deb"]).expect(0);
    assert_eq!(fs::read_to_string(debian.path(CONFIG)).expect("it is there"), edited);
    assert_eq!(fs::metadata(debian.path(CONFIG)).expect("it is there").mode(), mode);

    debian.run(&["dpkg", "-r", "ddns"]).expect(0);
    assert!(!debian.path("/usr/bin/ddns").exists());
    assert_eq!(fs::read_to_string(debian.path(CONFIG)).expect("it stays"), edited);
    fs::create_dir_all(debian.path("/var/lib/private/ddns")).expect("a state");
    debian.run(&["dpkg", "-P", "ddns"]).expect(0);
    fs::write(debian.path("/root/calls"), "").expect("a file");
    let after = debian.everything();
    let (new, gone): (Vec<_>, Vec<_>) = (after.difference(&before).collect(), before.difference(&after).collect());
    assert!(new.is_empty() && gone.is_empty(), "left behind: {new:#?}\nmissing: {gone:#?}");
}
