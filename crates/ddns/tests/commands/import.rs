//! `ddns import`: another client's configuration becomes one of ours, seen from outside.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::terminal::{at_terminal, fits};
use crate::support::tools::inside;
use crate::support::{Run, Sandbox, mode};

const SECRET: &str = "s3cret-Pa55";

/// Two accounts, one of them for both families.
fn ddclient() -> String {
    format!(
        "daemon=600\nusev4=ifv4, ifv4=lo\nprotocol=easydns, login=me, password={SECRET} a.example.com\n\
         protocol=cloudflare, zone=example.org, login=token, password={SECRET}2 usev6=webv6 b.example.org\n"
    )
}

const UNKNOWN: &str = "usev4=webv4\nprotocol=easydns, login=me, password=p a.example.com\nprotocol=nsupdate, password=s3cret-Pa55 b.example.com\n";

/// Looks for a text in the report, wherever its lines end.
fn reports(run: Run, text: &str) -> Run {
    let report = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains(text), "{text}: {}", run.stdout);
    run
}

fn files(sandbox: &Sandbox) -> Vec<String> {
    let names = fs::read_dir(sandbox.path(".")).expect("the folder").map(|file| file.expect("a file").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn l1_l16_a_file_becomes_a_configuration_that_check_and_preview_accept() {
    let sandbox = Sandbox::new();
    sandbox.write("ddclient.conf", ddclient());
    let run = sandbox.run(&["import", "ddclient.conf"]).expect(0).never_prints(SECRET);
    for part in [
        "of ddclient",
        "Taken over\n",
        "easydns (line 3)",
        "b.example.org",
        "Wrote config.json",
        "ddns preview",
        "systemctl disable --now ddclient",
        "ddns service install",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    fits(80, &run.stdout);
    assert_eq!(mode(&sandbox.path("config.json")), 0o600);
    sandbox.run(&["check"]).expect(0).never_prints(SECRET);
    let preview = sandbox.run(&["preview", "--ip", "192.0.2.7", "--ip", "2001:db8::7"]).never_prints(SECRET);
    preview.shows("a.example.com").shows("api.cloudflare.com");
    assert_eq!(sandbox.read("ddclient.conf"), ddclient(), "the other client's file stays as it was");
    assert_eq!(files(&sandbox), ["config.json", "ddclient.conf"]);
}

#[test]
fn l2_nothing_is_sent_and_nothing_is_run() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("nonblocking");
    let port = listener.local_addr().expect("an address").port();
    let sandbox = Sandbox::new();
    let text = format!(
        "use=cmd, cmd='touch ran'\nserver=127.0.0.1:{port}, ssl=no, login=u, password=p, script=/x a.example.com\n\
         use=web, web=http://127.0.0.1:{port}/ server=127.0.0.1:{port}, ssl=no, login=u, password=p b.example.com\n"
    );
    sandbox.write("ddclient.conf", text);
    sandbox.run(&["import", "ddclient.conf"]).expect(0);
    assert!(listener.accept().is_err(), "nobody connects");
    assert!(!sandbox.path("ran").exists());
    sandbox.run(&["check"]).expect(0);
}

#[test]
fn l3_a_target_that_exists_is_never_overwritten() {
    let sandbox = Sandbox::new();
    let old = r#"{"dns": "alidns", "id": "LTAI000000", "token": "s3cret-Pa55", "ipv4": ["a.example.com"]}"#;
    sandbox.write("config.json", old);
    let hint = "ddns import config.json new.json";
    sandbox.run(&["import", "config.json"]).expect(2).prints("already exists").prints(hint).never_prints(SECRET);
    sandbox.run(&["import", "missing"]).expect(2).prints("already exists");
    let run = sandbox.run(&["import", "config.json", "new.json"]).expect(0);
    assert!(run.stdout.contains("mv config.json config.old.json && mv new.json config.json"), "{}", run.stdout);
    assert_eq!(sandbox.read("config.json"), old);
    symlink("nowhere", sandbox.path("link.json")).expect("a link");
    sandbox.run(&["import", "config.json", "link.json"]).expect(2).prints("already exists");
    assert!(!sandbox.path("nowhere").exists());
    sandbox.run(&["import", "config.json", "-"]).expect(2).prints("the file to write cannot be `-`");
    fs::create_dir(sandbox.path("folder")).expect("a folder");
    sandbox.run(&["import", "config.json", "folder"]).expect(2).prints("is a folder");
    sandbox.run(&["check", "-c", "new.json"]).expect(0);
}

#[test]
fn l4_a_configuration_of_our_own_is_nothing_to_import_and_other_files_are_named() {
    let sandbox = Sandbox::new();
    sandbox.write("own.json", r#"{"dns": "callback", "id": "https://h.example/", "ipv4": "a.example"}"#);
    reports(sandbox.run(&["import", "own.json"]).expect(0), "nothing to import");
    sandbox.write("other", "hello s3cret-Pa55\n");
    sandbox
        .run(&["import", "other"])
        .expect(2)
        .prints("is not a configuration that the import knows")
        .prints("--from")
        .never_prints(SECRET);
    sandbox.run(&["import", "other", "--from", "ddclent"]).expect(2).prints("did you mean `ddclient`?");
    sandbox
        .run(&["import", "other", "--from", "inadyn"])
        .expect(2)
        .prints("other, line 1 is not understood")
        .never_prints(SECRET);
    sandbox.write("broken.json", format!("{{\"settings\": [\n{{\"token\": \"{SECRET}\" \"x\"}}]}}"));
    sandbox.run(&["import", "broken.json", "--from", "ddns-updater"]).expect(2).prints("line 2").never_prints(SECRET);
    let half = sandbox.run(&["import", "broken.json", "--dry-run"]).expect(2).prints("line 2").never_prints(SECRET);
    assert!(!half.stderr.contains("--from"), "{}", half.stderr);
    sandbox.run(&["import", "ddclient.cnf"]).expect(2).prints("does not exist").prints("usual places");
    assert!(!sandbox.path("config.json").exists());
}

#[test]
fn l5_without_a_file_the_usual_places_are_looked_at() {
    // Of the host on which the tests run.
    let others = ["/etc/config/ddns", "/etc/ddclient.conf", "/etc/ddclient/ddclient.conf", "/etc/inadyn.conf"];
    if others.iter().any(|place| Path::new(place).is_file()) {
        Sandbox::new().env("CF_API_TOKEN", SECRET).run(&["import"]).expect(2).prints("several").never_prints(SECRET);
        return;
    }
    let sandbox = Sandbox::new();
    sandbox
        .run(&["import"])
        .expect(2)
        .prints("no configuration of another client was found")
        .prints("ddns import FILE");
    fs::create_dir(sandbox.path("data")).expect("a folder");
    let settings = r#"{"settings": [{"provider": "easydns", "domain": "a.example.com", "username": "u", "token": "t", "ip_version": "ipv4"}]}"#;
    sandbox.write("data/config.json", settings);
    reports(
        sandbox.run(&["import", "--dry-run"]).expect(0),
        "data/config.json is a configuration of qdm12/ddns-updater",
    );
    let sandbox = sandbox.env("CF_API_TOKEN", SECRET).env("DOMAINS", "a.example.org");
    let run = sandbox.run(&["import"]).expect(2).prints("several").prints("data/config.json").prints("the environment");
    run.prints("ddns import --from").never_prints(SECRET);
    let run = sandbox.run(&["import", "--from", "cloudflare-ddns", "--dry-run"]).expect(0);
    reports(run, "the environment is a configuration of favonia/cloudflare-ddns");
    let run = sandbox.run(&["import", "--from", "ddns-updater", "--dry-run"]).expect(0);
    reports(run, "data/config.json is a configuration of qdm12/ddns-updater");
    fs::remove_dir_all(sandbox.path("data")).expect("removed");
    let run = reports(sandbox.run(&["import"]).expect(0).never_prints(SECRET), "cloudflare-ddns");
    assert!(!run.stdout.contains("HOME"), "{}", run.stdout);
    sandbox.run(&["check"]).expect(0);
}

#[test]
fn l5_standard_input_can_be_imported() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["import", "-", "new.json"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    std::io::Write::write_all(&mut child.stdin.take().expect("piped"), ddclient().as_bytes()).expect("written");
    let run = Run::of(&child.wait_with_output().expect("ended")).expect(0);
    reports(run, "standard input is a configuration of ddclient");
    sandbox.run(&["check", "-c", "new.json"]).expect(0);
}

#[test]
fn l5_a_file_that_cannot_be_read_is_named_with_the_way_out() {
    let sandbox = Sandbox::new();
    let path = sandbox.write("ddclient.conf", ddclient());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).expect("a mode");
    if fs::read(&path).is_ok() {
        eprintln!("skipped l5_a_file_that_cannot_be_read: root reads everything");
        return;
    }
    sandbox
        .run(&["import", "ddclient.conf"])
        .expect(2)
        .prints("cannot be read by this user")
        .prints("sudo ddns import");
}

#[test]
fn l12_l16_what_is_missing_is_left_out_or_answered() {
    let sandbox = Sandbox::new();
    sandbox.write("i.conf", "provider no-ip.com { username = u password = p hostname = a.example.com }\nprovider easydns.com { username = u password = p hostname = b.example.com }\n");
    let run = reports(sandbox.run(&["import", "i.conf", "one.json"]).expect(1), "--set 1.contact=…");
    reports(run, "Wrote one.json");
    assert!(!sandbox.read("one.json").contains("a.example.com"));
    sandbox.run(&["import", "i.conf", "two.json", "--set", "1.contact=me@example.com"]).expect(0);
    assert!(sandbox.read("two.json").contains("a.example.com"));
    sandbox.run(&["check", "-c", "two.json"]).expect(0);
    sandbox.run(&["import", "i.conf", "3.json", "--set", "contact=me@example.com"]).expect(2).prints("from 1 to 2");
    sandbox.run(&["import", "i.conf", "3.json", "--set", "1.contakt=x"]).expect(2).prints("did you mean `contact`?");
    sandbox.write("no-use.conf", "protocol=duckdns password=t a\n");
    let run = sandbox.run(&["import", "no-use.conf", "--set", "1.token=x", "--dry-run"]).expect(2);
    reports(run, "ddclient finds no address for it").prints("nothing can be taken over");
    sandbox.write("none.conf", "provider no-ip.com { username = u password = s3cret-Pa55 hostname = a.example.com }\n");
    sandbox.run(&["import", "none.conf", "3.json"]).expect(2).prints("nothing can be taken over").never_prints(SECRET);
    assert!(!sandbox.path("3.json").exists());
}

#[test]
fn l12_a_terminal_is_asked_and_secrets_are_not_shown() {
    let sandbox = Sandbox::new();
    sandbox.write("i.conf", "provider no-ip.com { username = u hostname = a.example.com }\n");
    let program = [env!("CARGO_BIN_EXE_ddns"), "import", "i.conf"];
    let answers = [SECRET, "nobody", "me@example.com"];
    let Some(run) = at_terminal(&sandbox, 80, &program, &answers) else { return };
    let run = run.expect(0).never_prints(SECRET);
    for part in ["Entry 1, no-ip.com in line 1.", "Password: ", "  This does not look like", "Wrote config.json"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(sandbox.read("config.json").contains(SECRET));
    sandbox.run(&["check"]).expect(0);
}

#[test]
fn l13_secrets_go_to_files_of_their_own() {
    let sandbox = Sandbox::new();
    sandbox.write("ddclient.conf", ddclient());
    let run = sandbox.run(&["import", "ddclient.conf", "--secrets", "keys"]).expect(0).never_prints(SECRET);
    assert!(run.stdout.contains("in files of their own in keys"), "{}", run.stdout);
    assert!(!sandbox.read("config.json").contains(SECRET));
    assert_eq!(sandbox.read("keys/1/password"), format!("{SECRET}\n"));
    assert_eq!(sandbox.read("keys/2/token"), format!("{SECRET}2\n"));
    assert_eq!((mode(&sandbox.path("keys")), mode(&sandbox.path("keys/1/password"))), (0o700, 0o600));
    sandbox.run(&["check"]).expect(0);
    // A file that is there already: nothing is written, not even the other secrets.
    fs::remove_file(sandbox.path("config.json")).expect("removed");
    fs::remove_file(sandbox.path("keys/1/password")).expect("removed");
    sandbox.run(&["import", "ddclient.conf", "--secrets", "keys"]).expect(2).prints("keys/2/token already exists");
    assert!(!sandbox.path("config.json").exists() && !sandbox.path("keys/1/password").exists());
    // Folders that were made for it go, too; others stay, even empty ones.
    fs::remove_dir(sandbox.path("keys/1")).expect("removed");
    sandbox.run(&["import", "ddclient.conf", "--secrets", "keys"]).expect(2);
    assert!(!sandbox.path("keys/1").exists() && sandbox.path("keys/2/token").exists());
}

/// A notification's key gets a file as well. What is one text with its key stays, and the report says so.
#[test]
fn l13_the_report_says_where_secrets_are_and_where_they_may_still_be() {
    let sandbox = Sandbox::new();
    let kuma = format!("https://kuma.example/api/push/{}?status=up", SECRET.replace('-', ""));
    sandbox.write("favonia.env", format!("CF_API_TOKEN_FILE=token\nDOMAINS=a.example.org\nUPTIMEKUMA={kuma}\n"));
    sandbox.write("token", "t\n");
    let run = sandbox.run(&["import", "favonia.env", "--secrets", "keys"]).expect(0);
    assert!(!reports(run, "in files of their own in keys").stdout.contains("may still contain"));
    assert!(!sandbox.read("config.json").contains("Pa55"), "{}", sandbox.read("config.json"));
    assert_eq!(sandbox.read("keys/notify.token"), SECRET.replace('-', "") + "\n");
    sandbox.run(&["check"]).expect(0);
    let hook = format!(
        "dnsconf:\n- ipv4:\n    enable: true\n    gettype: url\n    url: https://4.ipw.cn\n    domains:\n    - a.example\n  dns:\n\
         \x20   name: callback\n    id: https://h.example/?key={SECRET}\n    secret: '{{\"k\": \"{SECRET}\"}}'\n"
    );
    sandbox.write("ddns-go.yaml", hook);
    let run = sandbox.run(&["import", "ddns-go.yaml", "go.json", "--secrets", "none"]).expect(0).never_prints(SECRET);
    let run = reports(run, "Nothing was written to none");
    reports(run, "The configuration may still contain secrets, in `id`, `token`.");
    assert!(!sandbox.path("none").exists());
    let run = sandbox.run(&["import", "ddns-go.yaml", "2.json", "--secrets", "none", "--json"]).expect(0);
    let report: serde_json::Value = run.json();
    assert_eq!(report["secret_files"], serde_json::json!([]));
    assert_eq!(report["may_hold_secrets"], serde_json::json!(["`id`", "`token`"]));
}

#[test]
fn l7_l14_a_line_of_ddclient_that_counts_for_nothing_is_named() {
    let sandbox = Sandbox::new();
    let line = |zone: &str, password: &str| format!("protocol=namecheap, login={zone}, password={password} @,www\n");
    let twice = format!("usev4=webv4\n{}{}", line("foo.example", "pwfoo"), line("bar.example", "pwbar"));
    sandbox.write("two.conf", twice.as_str());
    let run = sandbox.run(&["import", "two.conf", "two.json"]).expect(0).never_prints("pwbar");
    reports(run, "login: as ddclient does, ignored for www: line 2 comes first");
    assert!(sandbox.read("two.json").contains("www.foo.example"), "{}", sandbox.read("two.json"));
    sandbox.run(&["check", "-c", "two.json"]).expect(0);
}

#[test]
fn l14_the_report_is_for_programs_too_and_a_dry_run_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("ddclient.conf", UNKNOWN);
    let run = sandbox.run(&["import", "ddclient.conf", "--json", "--dry-run"]).expect(1).never_prints(SECRET);
    let report: serde_json::Value = run.json();
    assert_eq!(
        (&report["client"], &report["written"], &report["taken_over"][0]["entry"]),
        (&"ddclient".into(), &false.into(), &1.into())
    );
    assert_eq!(
        (&report["not_taken_over"][0]["line"], &report["not_taken_over"][0]["sends"]),
        (&3.into(), &true.into())
    );
    assert_eq!(report["taken_over"][0].get("sends"), None, "it is about what is missing");
    reports(sandbox.run(&["import", "ddclient.conf", "--dry-run"]).expect(1), "Nothing was written (--dry-run)");
    assert_eq!(files(&sandbox), ["ddclient.conf"]);
    let report: serde_json::Value = sandbox.run(&["import", "ddclient.conf", "--json"]).expect(1).json();
    assert_eq!((&report["written"], &report["target"]), (&true.into(), &"config.json".into()));
    assert_eq!(files(&sandbox), ["config.json", "ddclient.conf"]);
}

#[test]
fn l17_files_have_limits_and_must_be_text() {
    let sandbox = Sandbox::new();
    sandbox.write("large", vec![b'#'; 1024 * 1024 + 1]);
    sandbox.run(&["import", "large"]).expect(2).prints("is larger than 1 MiB");
    sandbox.write("latin", b"use=web\npassword='\xe9' h.example\n");
    sandbox.run(&["import", "latin"]).expect(2).prints("is not UTF-8 text (line 2, column 11)");
    sandbox.run(&["import", "."]).expect(2).prints("is a folder");
    let path = sandbox.write("open.conf", ddclient());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("a mode");
    reports(sandbox.run(&["import", "open.conf", "--dry-run"]).expect(0), "Everybody can write to open.conf");
    sandbox.run(&["import", "open.conf", "--dry-run", "--json"]).expect(0).shows(r#""file_is_open": true"#);
    sandbox.run(&["import", "open.conf", "no/such/folder/c.json"]).expect(0);
    sandbox.run(&["check", "-c", "no/such/folder/c.json"]).expect(0);
}

#[test]
fn l14_a_client_that_still_runs_is_named() {
    let sandbox = Sandbox::new();
    let text = "config service 'x'\n option enabled '1'\n option service_name 'duckdns.org'\n option lookup_host 'a.duckdns.org'\n \
                option domain 'a'\n option password 't'\n";
    sandbox.write("ddns", text);
    let report = || sandbox.run(&["import", "ddns", "--json", "one.json"]).expect(0);
    assert!(!report().stdout.contains("still_running"));
    let mut client = Command::new("sleep").arg0("dynamic_dns_updater.sh").arg("60").spawn().expect("a program");
    fs::remove_file(sandbox.path("one.json")).expect("a file");
    let (for_programs, for_people) = (report(), sandbox.run(&["import", "ddns", "two.json"]).expect(0));
    client.kill().and_then(|()| client.wait()).expect("an end");
    assert!(for_programs.stdout.contains(r#""still_running": true"#), "{}", for_programs.stdout);
    reports(for_people, "is still running: stop it before ddns sends");
}

/// In a folder that is closed to this user, there may or may not be a file.
#[test]
fn l5_a_closed_folder_counts_only_where_nothing_else_was_found() {
    // Of the host, only /root is there, which is closed to most users.
    let setup =
        "for folder in /etc /root; do mount -t tmpfs -o mode=755 none $folder || exit 77; done; chmod 000 /root";
    let Some(()) = inside(setup) else { return };
    let sandbox = Sandbox::new().env("DDNS_CONFIG_FILE_PATH", "closed/ddns-go.yaml");
    fs::create_dir(sandbox.path("closed")).expect("a folder");
    let run = |mode| {
        fs::set_permissions(sandbox.path("closed"), fs::Permissions::from_mode(mode)).expect("a mode");
        // As nobody.
        let mut command = sandbox.command_by(&["unshare", "-U"], &["import", "--dry-run"]);
        Run::of(&command.output().expect("the program starts"))
    };
    run(0o755).expect(2).prints("no configuration of another client was found");
    run(0o000).expect(2).prints("closed/ddns-go.yaml cannot be read by this user").prints("sudo ddns import");
    let settings = r#"{"settings": [{"provider": "easydns", "domain": "a.example.com", "username": "u", "token": "t", "ip_version": "ipv4"}]}"#;
    sandbox.write("data/config.json", settings);
    reports(run(0o000).expect(0), "data/config.json is a configuration of qdm12/ddns-updater");
}
