//! `ddns service`, for a user's own service: with scripts in place of `systemctl`, `crontab` and the others, below a home of
//! the test. The host's services are tested in `service_of_host`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use ddns_core::service::{ServiceScope, ServiceSpec, Starts, systemd};
use serde_json::json;

use crate::support::stand_ins::FakePrograms;
use crate::support::tools::{needed, skipped, tool};
use crate::support::watching::{Endpoint, SOON, Watch, host};
use crate::support::{Run, Sandbox, mode};

const CONFIG: &str = r#"{"dns": "callback", "id": "https://example.com/?n=__DOMAIN__&ip=__IP__&key=s3cret-key", "ipv4": ["a.example.com"]}"#;

const UNIT: &str = ".config/systemd/user/ddns.service";

fn place() -> FakePrograms {
    let place = FakePrograms::new(Sandbox::new());
    place.configure("config.json", 0o600, CONFIG);
    place
}

/// An action on the user's own service of systemd.
fn own(place: &FakePrograms, action: &str, more: &[&str]) -> Run {
    place.run(&[&["service", action, "--user", "--manager", "systemd"], more].concat())
}

#[test]
fn a_users_service_is_installed_updated_and_removed() {
    let place = place();
    let run = own(&place, "install", &[]).expect(0).never_prints("s3cret");
    let unit = place.sandbox.read(UNIT);
    assert!(unit.starts_with("# Written by `ddns service install`; `ddns service uninstall --user` removes it."));
    let config = place.sandbox.path("config.json").display().to_string();
    assert!(unit.contains(&format!(" watch -c {config}\n")), "{unit}");
    assert_eq!(mode(&place.sandbox.path(UNIT)), 0o644);
    let started = ["systemctl --user enable --quiet ddns.service", "systemctl --user restart ddns.service"];
    assert_eq!(place.calls(), [&["systemctl --user daemon-reload"], &started[..]].concat());
    for words in [
        "Wrote ",
        "ddns service uninstall --user --manager systemd",
        "ddns service logs --user --manager systemd -f",
        "enable-linger",
        &config,
    ] {
        assert!(run.stdout.contains(words), "{words}:\n{}", run.stdout);
    }
    assert_eq!(run.stderr, "");

    own(&place, "install", &[]).expect(0).shows("ddns.service is up to date\n");
    place.configure("other.json", 0o600, CONFIG);
    let other = own(&place, "install", &["-c", "other.json"]).expect(0);
    assert!(other.stdout.contains("Updated ") && place.sandbox.read(UNIT).contains("/other.json\n"));
    let files = fs::read_dir(place.sandbox.path(".config/systemd/user")).expect("the folder").count();
    assert_eq!(files, 1, "nothing is left beside the unit");
    place.calls();

    fs::create_dir_all(place.sandbox.path(".local/state/ddns")).expect("a state");
    let gone = own(&place, "uninstall", &[]).expect(0);
    assert!(!place.sandbox.path(UNIT).exists() && place.sandbox.path("other.json").exists());
    assert_eq!(place.calls(), ["systemctl --user disable --now ddns.service", "systemctl --user daemon-reload"]);
    assert!(gone.stdout.contains("other.json") && gone.stdout.contains(".local/state/ddns"), "{}", gone.stdout);
    own(&place, "uninstall", &[]).expect(0).shows("ddns.service does not exist");
    assert!(place.calls().is_empty());
}

#[test]
fn print_shows_everything_and_does_nothing() {
    for manager in ["systemd", "cron"] {
        let place = place();
        let run = place.run(&["service", "install", "--user", "--manager", manager, "--print"]).expect(0);
        assert!(run.stdout.contains("Written by `ddns service install`"), "{}", run.stdout);
        let is_called = |line: &String| line != "crontab -l";
        assert_eq!(place.calls().into_iter().filter(is_called).count(), 0, "{manager}");
        let files = fs::read_dir(place.sandbox.path(".")).expect("the folder").count();
        assert_eq!(files, 2, "{manager}: only bin and config.json are there");
    }
    let place = place();
    own(&place, "install", &[]).expect(0);
    place.calls();
    let run = own(&place, "uninstall", &["--print"]).expect(0);
    assert!(run.stdout.contains("disable --now") && run.stdout.contains("rm ") && place.calls().is_empty());
    assert!(place.sandbox.path(UNIT).exists());
    assert_eq!(own(&place, "logs", &["--print", "-f"]).expect(0).stdout.split(' ').next(), Some("journalctl"));
}

#[test]
fn a_wrong_configuration_is_reported_and_nothing_is_written() {
    let place = place();
    let wrong = [
        (r#"{"dns": "callback", "id": "https://h/?ip=__IP__""#, "config.json:1:"),
        (r#"{"dns": "callback", "id": "https://h/?ip=__IP__"}"#, "domain"),
        (
            r#"{"dns": "callback", "id": "https://h/?k=__K__", "ipv4": "a.example.com", "extra": {"__K__": {"file": "k"}}}"#,
            "that it names does not exist",
        ),
    ];
    for (text, part) in wrong {
        place.configure("config.json", 0o600, text);
        own(&place, "install", &[]).expect(2).prints(part);
    }
    own(&place, "install", &["-c", "missing.json"]).expect(2).prints("missing.json").prints("does not exist");
    own(&place, "install", &["-c", "https://example.com/c.json"]).expect(2).prints("from a file");
    own(&place, "install", &["--ipv4", "a.example.com"]).expect(2).prints("no option --ipv4");
    fs::remove_file(place.sandbox.path("config.json")).expect("it was there");
    own(&place, "install", &[]).expect(2).prints("no configuration found");
    assert!(place.calls().is_empty() && !place.sandbox.path(".config").exists());
}

/// What a shell sets is not what the service sees.
#[test]
fn variables_of_the_shell_do_not_count() {
    let place = FakePrograms::new(
        Sandbox::new()
            .env("DDNS_IPV4", "a.example.com")
            .env("DDNS_TOKEN", "{\"k\": \"s3cret\"}")
            .env("https_proxy", "http://p:1"),
    );
    place.configure("config.json", 0o600, r#"{"dns": "callback", "id": "https://h/?ip=__IP__"}"#);
    let run = own(&place, "install", &[]).expect(2).never_prints("s3cret").prints("domain");
    for name in ["DDNS_IPV4", "DDNS_TOKEN", "https_proxy", "not for the service"] {
        assert!(run.stderr.contains(name), "{name}: {}", run.stderr);
    }
}

#[test]
fn a_unit_of_somebody_else_stays() {
    let place = place();
    place.sandbox.write(UNIT, "[Service]\nExecStart=/bin/true\n");
    own(&place, "install", &[]).expect(2).prints("did not write it").prints("move it away");
    own(&place, "uninstall", &[]).expect(1).prints("remove it yourself");
    assert!(place.sandbox.read(UNIT).contains("/bin/true") && place.calls().is_empty());
}

#[test]
fn a_step_that_fails_is_reported_with_the_way_back() {
    let place = place();
    place.sandbox.write("fails", "--user restart ddns.service");
    let run = own(&place, "install", &[]).expect(1);
    run.prints("`systemctl --user restart ddns.service` failed: systemctl: no luck today")
        .prints("`ddns service uninstall --user --manager systemd` undoes it");
    fs::remove_file(place.sandbox.path("fails")).expect("it was there");
    own(&place, "install", &[]).expect(0);
    fs::remove_file(place.sandbox.path("bin/systemctl")).expect("it was there");
    if tool("systemctl").is_none() {
        own(&place, "install", &[]).expect(1).prints("systemctl is not installed");
    }
}

#[test]
fn an_uninstallation_removes_what_it_can() {
    let place = place();
    place.sandbox.write("fails", "--user daemon-reload\n--user disable --now ddns.service\n");
    own(&place, "install", &[]).expect(1).prints("`ddns service uninstall --user --manager systemd` undoes it");
    assert!(place.sandbox.path(UNIT).exists());
    let run = own(&place, "uninstall", &[]).expect(1).shows("Removed ").shows("The configuration was kept:");
    assert!(!place.sandbox.path(UNIT).exists());
    assert!(!run.stdout.contains(".local/state"), "no state was ever written:\n{}", run.stdout);
    run.prints("systemctl failed, so the service may still be running")
        .prints("`systemctl --user disable --now ddns.service` failed: systemctl: no luck today")
        .prints("`systemctl --user daemon-reload` failed: systemctl: no luck today");
}

/// A service starts in another folder than the one in which the configuration was tried.
#[test]
fn a_relative_path_that_would_be_written_is_an_error() {
    let place = place();
    for (field, name) in
        [(r#""cache": "state/cache.json""#, "`cache`: state/"), (r#""log": {"file": "my.log"}"#, "`log.file`: my.log")]
    {
        place.configure("config.json", 0o600, &CONFIG.replacen('{', &format!("{{{field}, "), 1));
        for manager in ["systemd", "cron"] {
            let run = place.run(&["service", "install", "--user", "--manager", manager]).expect(2);
            run.prints(name).prints("is not a whole path").prints("config.json: ");
        }
    }
    assert!(!place.sandbox.path(".config").exists() && !place.sandbox.path("table").exists());
    for cache in ["true", "false", "\"/var/lib/ddns/cache.json\"", "\"~/cache.json\""] {
        place.configure("config.json", 0o600, &CONFIG.replacen('{', &format!("{{\"cache\": {cache}, "), 1));
        own(&place, "install", &["--print"]).expect(0);
    }
}

#[test]
fn what_cannot_be_written_is_a_sentence() {
    let place = place();
    place.sandbox.write(".config/systemd", "a file in the way");
    own(&place, "install", &[]).expect(2).prints("ddns.service already exists, and cannot be read");
    fs::remove_file(place.sandbox.path(".config/systemd")).expect("it was there");
    let folder = place.sandbox.path(".config");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("it is closed");
    let run = own(&place, "install", &[]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("it is open");
    // Root may write everywhere.
    if run.code != 0 {
        run.expect(1).prints("ddns.service cannot be written (Permission denied");
    }
}

#[test]
fn the_host_is_for_root() {
    let place = place();
    let Some(unshare) = needed("unshare") else { return };
    let as_nobody = |words: &[&str]| {
        let plain = place.command(&[&["service"], words, &["--manager", "systemd"]].concat());
        let mut command = Command::new(&unshare);
        command.arg("-U").arg(plain.get_program()).args(plain.get_args()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = command.output().expect("unshare starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = as_nobody(&["install"]);
    if text.contains("unshare") {
        return skipped("there is no right to become nobody");
    }
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("you must be root") && text.contains("`sudo ddns service install`"), "{text}");
    assert!(text.contains("--user"), "{text}");
    let (_, printed) = as_nobody(&["install", "--print"]);
    assert!(!printed.contains("root"), "whoever only looks needs no rights: {printed}");
    let sudo = FakePrograms::new(Sandbox::new().env("SUDO_USER", "alice"));
    if rustix::process::geteuid().is_root() {
        own(&sudo, "install", &[]).expect(2).prints("leave out either sudo");
    }
}

#[test]
fn cron_has_one_line_for_it_among_those_of_others() {
    let place = place();
    let cron =
        |action: &str, more: &[&str]| place.run(&[&["service", action, "--user", "--manager", "cron"], more].concat());
    place.sandbox.write("table", "0 5 * * * backup\n");
    for _ in 0..2 {
        cron("install", &[]).expect(0).never_prints("service logs");
        let table = place.sandbox.read("table");
        assert!(table.starts_with("0 5 * * * backup\n# Written by"), "{table}");
        let lines: Vec<&str> = table.lines().filter(|line| line.starts_with("*/5 ")).collect();
        assert_eq!(lines.len(), 1, "{table}");
        assert!(lines[0].ends_with(&format!(" -q -c {}", place.sandbox.path("config.json").display())), "{table}");
    }
    assert!(cron("status", &[]).expect(0).stdout.contains("cron starts it every five minutes"));
    cron("logs", &[]).expect(1).prints("log.file");
    cron("uninstall", &[]).expect(0);
    assert_eq!(place.sandbox.read("table"), "0 5 * * * backup\n");
    cron("status", &[]).expect(3);

    fs::remove_file(place.sandbox.path("table")).expect("it was there");
    let log = place.sandbox.write("my.log", "a line of ours\n").display().to_string();
    let with_log = CONFIG.replacen('{', &format!(r#"{{"log": {{"file": "{log}"}}, "#), 1);
    place.configure("config.json", 0o600, &with_log);
    cron("install", &[]).expect(0);
    assert_eq!(cron("logs", &[]).expect(0).stdout, "a line of ours\n");
    cron("uninstall", &[]).expect(0);
    assert!(!place.sandbox.path("table").exists(), "as it was before");

    // A table that cannot be read is not replaced.
    let others = b"0 5 * * * echo \xe9\n";
    place.sandbox.write("table", others);
    cron("install", &[]).expect(2).prints("not UTF-8");
    place.sandbox.write("fails", "-l");
    cron("install", &[]).expect(2).prints("no luck today");
    cron("uninstall", &[]).expect(1).prints("no luck today");
    fs::remove_file(place.sandbox.path("fails")).expect("it was there");
    assert_eq!(fs::read(place.sandbox.path("table")).expect("the table"), others);

    place.configure("config.json", 0o600, &CONFIG.replacen('{', r#"{"interval": "5m", "#, 1));
    cron("install", &[]).expect(2).prints("remove `interval`");
}

/// Nobody could push an address to it.
#[test]
fn cron_is_not_for_a_configuration_with_a_page() {
    let place = place();
    place.configure("page", 0o600, "s3cret-token-of-some-length\n");
    let token = place.sandbox.path("page").display().to_string();
    let with_page = CONFIG.replacen('{', &format!(r#"{{"web": {{"token_file": "{token}"}}, "#), 1);
    place.configure("config.json", 0o600, &with_page);
    let run = place.run(&["service", "install", "--user", "--manager", "cron"]).expect(2);
    run.prints("`web` needs a ddns that keeps running").prints("remove `web`").never_prints("s3cret");
    assert!(!place.sandbox.path("table").exists());
    own(&place, "install", &["--print"]).expect(0);
}

#[test]
fn without_a_crontab_nothing_is_known() {
    let place = place();
    fs::remove_file(place.sandbox.path("bin/crontab")).expect("it was there");
    let cron = |action: &str| {
        let mut command = place.command(&["service", action, "--user", "--manager", "cron"]);
        // The host may have one.
        Run::of(&command.env("PATH", place.sandbox.path("bin")).output().expect("the program starts"))
    };
    cron("status").expect(3).shows("unknown: `crontab` cannot be run").never_prints("every five minutes");
    cron("uninstall").expect(1).prints("`crontab` cannot be run").prints("unknown").never_prints("was kept");
}

#[test]
fn status_shows_the_unit_and_the_updates_in_short() {
    let endpoint = Endpoint::new();
    let place = FakePrograms::new(host());
    place.sandbox.write("config.json", endpoint.config(&json!({})).to_string());
    own(&place, "status", &[]).expect(3).shows("No ddns service is installed");
    own(&place, "logs", &[]).expect(3).prints("no ddns service is installed");
    own(&place, "install", &[]).expect(0);

    place
        .sandbox
        .write("shown", "ActiveState=failed\nSubState=failed\nUnitFileState=enabled\nResult=exit-code\nNRestarts=4\n");
    let failed = own(&place, "status", &[]).expect(3);
    assert!(
        failed.stdout.contains("failed (failed), enabled, last result: exit-code, restarted 4 times"),
        "{}",
        failed.stdout
    );
    assert!(failed.stdout.contains("does not respond"), "{}", failed.stdout);

    place
        .sandbox
        .write("shown", "ActiveState=active\nSubState=running\nUnitFileState=enabled\nResult=success\nNRestarts=0\n");
    let watch = Watch::run(place.sandbox.command(&["watch", "-c", "config.json"]));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    // Without --user too: the only one there is.
    for more in [&["--user"][..], &[]] {
        let run = place.run(&[&["service", "status", "--manager", "systemd"], more].concat()).expect(0);
        run.shows("active (running), enabled\n").shows("1 record up to date (process ");
    }
    watch.stop();
    place.calls();
    assert_eq!(own(&place, "logs", &["-f"]).expect(0).stdout, "a line of the journal\n");
    assert_eq!(place.calls(), ["journalctl -f --no-pager --lines=100 --user --unit ddns.service"]);
}

/// Another `ddns watch` of the same user is not the service.
#[test]
fn status_tells_the_service_from_other_processes() {
    let endpoint = Endpoint::new();
    let place = FakePrograms::new(host());
    place.sandbox.write("config.json", CONFIG);
    place.sandbox.write("other.json", endpoint.config(&json!({})).to_string());
    own(&place, "install", &[]).expect(0);
    let active = "ActiveState=active\nSubState=running\nUnitFileState=enabled\nResult=success\nNRestarts=0\n";
    place.sandbox.write("shown", active);
    let watch = Watch::run(place.sandbox.command(&["watch", "-c", "other.json"]));
    endpoint.wait(1, SOON);
    watch.prints("accepted");
    own(&place, "status", &[]).expect(3).shows("the service does not respond").never_prints("(process ");
    // After `systemctl edit`, the service may use another configuration than its unit names.
    place.sandbox.write("shown", format!("{active}MainPID={}\n", watch.process()));
    own(&place, "status", &[]).expect(0).shows("1 record up to date (process ");
    watch.stop();
}

#[test]
fn options_belong_to_their_actions() {
    let place = place();
    own(&place, "status", &["--print"]).expect(2).prints("has no option --print");
    own(&place, "install", &["-f"]).expect(2).prints("has no option --follow");
    own(&place, "uninstall", &["-c", "config.json"]).expect(2).prints("leave out -c");
    place.run(&["service", "install", "--manager", "systemdd"]).expect(2).prints("did you mean systemd?");
    place.run(&["service", "install", "--user", "--manager", "procd"]).expect(2).prints("leave out --user");
    place.run(&["service"]).expect(2).prints("needs an ACTION");
    place.run(&["service", "start"]).expect(2).prints("unknown ACTION");
}

/// Whatever the paths contain.
#[test]
fn systemd_reads_every_unit_that_is_written() {
    let Some(analyze) = needed("systemd-analyze") else { return };
    let sandbox = Sandbox::new();
    let program = sandbox.write("my tools/100% $HOME/ddns", "#!/bin/sh\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it can be run");
    let program = program.display().to_string();
    let config = sandbox.write("a b/it's %n \"$USER\" \\.json", "{}").display().to_string();
    for starts in [Starts::Nothing, Starts::Libraries, Starts::Programs] {
        for (scope, option) in [(ServiceScope::System, "--system"), (ServiceScope::User, "--user")] {
            let service = ServiceSpec { program: program.clone(), configs: vec![config.clone()], starts };
            let unit = sandbox.write("ddns.service", systemd::installed(&service, scope));
            let mut command = Command::new(&analyze);
            command.args(["verify", option, "--man=no", "--recursive-errors=no"]).arg(&unit);
            let output = command.env("XDG_RUNTIME_DIR", sandbox.path(".")).output().expect("systemd-analyze starts");
            let printed = String::from_utf8_lossy(&output.stderr);
            let ours = printed.lines().filter(|line| line.contains("ddns")).count();
            assert!(output.status.success() && ours == 0, "{scope:?} {starts:?}:\n{printed}");
        }
    }
}
