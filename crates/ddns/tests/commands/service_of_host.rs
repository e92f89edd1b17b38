//! `ddns service` for the whole host, as root of a namespace in which `/etc`, `/run` and `/opt` are empty: the real ones
//! are not touched.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::authority::Authority;
use crate::support::stand_ins::FakePrograms;
use crate::support::tools::{inside, sh};
use crate::support::{Sandbox, mode};

const CONFIG: &str = r#"{"dns": "callback", "id": "https://example.com/?n=__DOMAIN__&ip=__IP__&key=s3cret-key", "ipv4": ["a.example.com"]}"#;

const UNIT: &str = "/etc/systemd/system/ddns.service";

const STARTED: [&str; 3] =
    ["systemctl daemon-reload", "systemctl enable --quiet ddns.service", "systemctl restart ddns.service"];

/// Empty folders in place of the host's, with the program in `/opt`, where a service sees it.
fn host(more: &str) -> Option<()> {
    let setup = format!(
        "for folder in /etc /run /opt; do mount -t tmpfs -o mode=755 none $folder || exit 77; done
         touch /opt/ddns; mount --bind '{}' /opt/ddns || exit 77
         mkdir -p /etc/ddns\n{more}",
        env!("CARGO_BIN_EXE_ddns")
    );
    inside(&setup)
}

const SYSTEMD: &str = "mkdir -p /run/systemd/system";

/// No state is there, whatever the host has.
const NO_STATE: &str = "mount -t tmpfs -o mode=755 none /var/lib || exit 77";

fn place() -> FakePrograms {
    FakePrograms::of(Sandbox::new(), "/opt/ddns")
}

#[test]
fn a_service_of_the_host_is_installed_and_removed() {
    let Some(()) = host(&format!("{SYSTEMD}\n{NO_STATE}")) else { return };
    let place = place();
    place.run(&["service", "install"]).expect(2).prints("ddns init /etc/ddns/config.json");
    place.configure("/etc/ddns/config.json", 0o644, CONFIG);
    let run = place.run(&["service", "install"]).expect(0);
    assert_eq!(place.calls(), STARTED);
    assert_eq!(mode(Path::new(UNIT)), 0o644);
    let unit = fs::read_to_string(UNIT).expect("the unit");
    assert!(unit.contains("ExecStart=/opt/ddns watch -c /etc/ddns/config.json\n"), "{unit}");
    assert!(unit.contains("ExecPaths=/opt/ddns -/lib ") && unit.contains("DynamicUser=yes"), "{unit}");
    assert!(run.stdout.contains("State: /var/lib/ddns") && run.stdout.contains("ddns service uninstall "));
    place.run(&["service", "install"]).expect(0);
    place.calls();
    fs::create_dir("/var/lib/ddns").expect("a state");
    let run = place.run(&["service", "uninstall"]).expect(0).never_prints("chmod");
    assert_eq!(place.calls(), ["systemctl disable --now ddns.service", "systemctl daemon-reload"]);
    assert!(!Path::new(UNIT).exists() && Path::new("/etc/ddns/config.json").exists());
    assert!(run.stdout.contains("/etc/ddns/config.json, /var/lib/ddns"), "{}", run.stdout);

    sh("mount -o remount,ro /etc");
    place.run(&["service", "install"]).expect(1).prints("ddns.service cannot be written (Read-only file system");
    assert!(place.calls().is_empty());
}

/// As `ddns init` leaves it: for its owner alone.
#[test]
fn closed_files_are_opened_to_the_group_of_the_service() {
    let Some(()) = host(SYSTEMD) else { return };
    let place = place();
    let with_file = CONFIG.replacen('{', r#"{"extra": {"__K__": {"file": "/etc/ddns/key"}}, "#, 1);
    let with_page = CONFIG.replacen('{', r#"{"web": {"token_file": "/etc/ddns/page", "allow_edit": true}, "#, 1);
    place.configure("/etc/ddns/config.json", 0o644, &with_page);
    place.configure("/etc/ddns/page", 0o600, "s3cret-token-of-some-length\n");
    let run =
        place.run(&["service", "install", "--print"]).expect(0).prints("`web.allow_edit`: the service cannot write to");
    assert!(run.stdout.contains("chgrp ddns /etc/ddns/page\n"), "{}", run.stdout);
    let notify = r#"{"notify": {"id": "https://n.example/?m=__MESSAGE__", "ssl": "/etc/ddns/ca.pem"}, "#;
    place.configure("/etc/ddns/config.json", 0o644, &CONFIG.replacen('{', notify, 1));
    place.configure("/etc/ddns/ca.pem", 0o600, &Authority::new("a test").pem);
    place.run(&["service", "install", "--print"]).expect(0).shows("chgrp ddns /etc/ddns/ca.pem\n");
    place.configure("/etc/ddns/config.json", 0o600, &with_file);
    place.configure("/etc/ddns/key", 0o400, "s3cret");
    place.run(&["service", "install"]).expect(0).never_prints("s3cret");
    let opened = ["chgrp ddns /etc/ddns/config.json", "chgrp ddns /etc/ddns/key"];
    let made = ["systemd-sysusers --inline u ddns - \"Dynamic DNS\""];
    assert_eq!(place.calls(), [&made[..], &opened[..], &STARTED[..]].concat());
    assert_eq!((mode(Path::new("/etc/ddns/config.json")), mode(Path::new("/etc/ddns/key"))), (0o640, 0o440));

    // Its group is that of the service by then: here, where nothing can be given away, the root of the namespace.
    fs::write("/etc/passwd", "ddns:x:998:0::/:/bin/false\n").expect("a user");
    place.run(&["service", "install"]).expect(0);
    assert_eq!(place.calls(), STARTED);

    fs::set_permissions("/etc/ddns", fs::Permissions::from_mode(0o700)).expect("it is closed");
    place.run(&["service", "install"]).expect(2).prints("/etc/ddns is closed").prints("chmod o+x /etc/ddns");
    fs::set_permissions("/etc/ddns", fs::Permissions::from_mode(0o755)).expect("it is open");
    fs::write("/etc/passwd", "ddns:x:998:998::/:/bin/false\n").expect("a user");
    place.run(&["service", "install"]).expect(2).prints("belongs to another group");
    assert!(place.calls().is_empty());

    // They stay open, and the way to close them is said.
    fs::write("/etc/passwd", "ddns:x:998:0::/:/bin/false\n").expect("a user");
    let run = place.run(&["service", "uninstall"]).expect(0).never_prints("s3cret");
    run.shows("\n  chmod g-r /etc/ddns/config.json /etc/ddns/key\n");
    assert_eq!((mode(Path::new("/etc/ddns/config.json")), mode(Path::new("/etc/ddns/key"))), (0o640, 0o440));
}

#[test]
fn what_the_service_would_not_see_is_an_error_with_two_ways_out() {
    let Some(()) = host(SYSTEMD) else { return };
    let place = place();
    place.configure("/etc/ddns/target.json", 0o644, CONFIG);
    sh("mount -t tmpfs -o mode=755 none /root");
    place.configure("/root/config.json", 0o644, CONFIG);
    let run = place.run(&["service", "install", "-c", "/root/config.json"]).expect(2);
    for part in ["home folders", "install -D -m 600 /root/config.json /etc/ddns/config.json", "--user"] {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    // A link does not change what is seen.
    sh("ln -s /root/config.json /etc/ddns/config.json");
    place.run(&["service", "install"]).expect(2).prints("home folders");
    sh("touch /root/ddns; mount --bind /opt/ddns /root/ddns");
    let in_home = FakePrograms::of(Sandbox::new(), "/root/ddns");
    let run = in_home.run(&["service", "install", "-c", "/etc/ddns/target.json"]).expect(2);
    assert!(run.stderr.contains("install -m 755 /root/ddns /usr/local/bin/ddns"), "{}", run.stderr);
    let written = CONFIG.replacen('{', r#"{"log": {"file": "/var/log/ddns.log"}, "#, 1);
    place.configure("/etc/ddns/target.json", 0o644, &written);
    place
        .run(&["service", "install", "-c", "/etc/ddns/target.json"])
        .expect(0)
        .prints("cannot write to /var/log/ddns.log");
}

/// The unit that a package brings is started as it is, and stays when it is no longer wanted.
#[test]
fn the_unit_of_a_package_is_used() {
    let more =
        format!("{SYSTEMD}\n[ -d /usr/lib/systemd/system ] || exit 77\nmount -t tmpfs none /usr/lib/systemd/system");
    let Some(()) = host(&more) else { return };
    let place = place();
    let packaged = "/usr/lib/systemd/system/ddns.service";
    fs::write(packaged, "[Service]\nExecStart=/usr/bin/ddns watch -c /etc/ddns/config.json\n").expect("a unit");
    place.configure("/etc/ddns/config.json", 0o644, CONFIG);
    place.configure("/etc/ddns/other.json", 0o644, CONFIG);
    place.run(&["service", "install", "-c", "/etc/ddns/other.json"]).expect(2).prints("belongs to a package");
    place.run(&["service", "install"]).expect(0);
    assert_eq!(place.calls(), STARTED[1..]);
    assert!(!Path::new(UNIT).exists());
    let run = place.run(&["service", "uninstall"]).expect(0);
    assert_eq!(place.calls(), ["systemctl disable --now ddns.service"]);
    assert!(run.stdout.contains("belongs to a package") && Path::new(packaged).exists(), "{}", run.stdout);

    // What it may start is added to it.
    place.configure(
        "/etc/ddns/config.json",
        0o644,
        &CONFIG.replacen('{', r#"{"index4": "shell:echo 203.0.113.7", "#, 1),
    );
    place.run(&["service", "install"]).expect(0);
    assert_eq!(place.calls(), STARTED);
    let added = fs::read_to_string("/etc/systemd/system/ddns.service.d/programs.conf").expect("a drop-in");
    assert!(added.contains("\nNoExecPaths=\n"), "{added}");
    place.run(&["service", "uninstall"]).expect(0);
    assert!(!Path::new("/etc/systemd/system/ddns.service.d").exists());
}

/// In place of the one of `OpenWrt`: reads the script, and does what procd would be told.
const RC_COMMON: &str = r#"
script=$1 action=$2
echo "$action" >>/opt/calls
procd_open_instance() { :; }
procd_close_instance() { :; }
procd_set_param() { [ "$1" != command ] || { shift; printf '<%s>' "$@" >>/opt/calls; echo >>/opt/calls; }; }
procd_send_signal() { echo "signal $*" >>/opt/calls; }
mkdir() { :; }; chown() { :; }; chmod() { :; }
. "$script"
case $action in
    restart) start_service ;;
    reload) reload_service ;;
esac
"#;

#[test]
fn openwrt_gets_an_init_script() {
    let Some(()) = host(&format!("touch /etc/openwrt_release\n{NO_STATE}")) else { return };
    fs::write("/etc/rc.common", RC_COMMON).expect("a script");
    fs::write("/etc/passwd", "nobody:*:65534:65534:nobody:/var:/bin/false\n").expect("a user");
    let place = place();
    let calls = || {
        let text = fs::read_to_string("/opt/calls").unwrap_or_default();
        let _ = fs::remove_file("/opt/calls");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    place.configure("/etc/ddns/it's one.json", 0o600, CONFIG);
    place.run(&["service", "install", "-c", "/etc/ddns/it's one.json"]).expect(0);
    assert_eq!(place.calls(), ["chgrp 65534 /etc/ddns/it's one.json"]);
    assert_eq!(calls(), ["enable", "restart", "</opt/ddns><watch><-c></etc/ddns/it's one.json>"]);
    let script = Path::new("/etc/init.d/ddns-watch");
    assert_eq!(mode(script), 0o755);
    place.run(&["service", "status"]).expect(3);
    assert_eq!(calls(), ["running", "enabled"]);
    assert_eq!(place.run(&["service", "logs"]).expect(0).stdout, "a line of the log\n");
    // `chgrp` is only a stand-in here: the file still has the group of root.
    fs::write("/etc/passwd", "nobody:*:65534:0:nobody:/var:/bin/false\n").expect("a user");
    let run = place.run(&["service", "uninstall"]).expect(0).never_prints("/var/lib/ddns");
    run.shows("\n  chmod g-r '/etc/ddns/it'\\''s one.json'\n");
    assert_eq!(calls(), ["stop", "disable"]);
    assert!(!script.exists());
}

#[test]
fn where_nothing_starts_services_that_is_said() {
    let Some(()) = host("") else { return };
    let place = place();
    place.configure("/etc/ddns/config.json", 0o644, CONFIG);
    place.run(&["service", "install"]).expect(0).shows("every five minutes").shows("runs as root");
    fs::remove_file(place.sandbox.path("bin/crontab")).expect("it was there");
    if !Path::new("/usr/bin/crontab").exists() {
        place.run(&["service", "install"]).expect(2).prints("no service manager found");
    }
}
