//! `ddns init` and `--new-config`: from an empty folder to a delivered callback.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::support::terminal::at_terminal;
use crate::support::tools::{LOOPBACK, inside};
use crate::support::{Receiver, Run, Sandbox, mode};

/// Runs `ddns init` at a terminal; none where the system cannot.
fn typed(sandbox: &Sandbox, args: &[&str], answers: &[&str]) -> Option<Run> {
    at_terminal(sandbox, 80, &[&[env!("CARGO_BIN_EXE_ddns"), "init"], args].concat(), answers)
}

/// The options that are needed where no questions can be asked.
fn options<'a>(id: &'a str, index4: &'a str) -> Vec<&'a str> {
    vec!["init", "--id", id, "--ipv4", "home.example.com", "--index4", index4]
}

#[test]
fn init_a_new_user_gets_from_an_empty_folder_to_a_delivered_callback() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let id = receiver.url("/update?name=__DOMAIN__&ip=__IP__&key=S3cret-of-mine");
    let run = sandbox.run(&options(&id, &receiver.index4())).expect(0).never_prints("S3cret");
    assert_eq!(run.stderr, "");
    let shown = ["IPv4: 203.0.113.7", "Wrote config.json", "GET /update?name=home.example.com&ip=203.0.113.7&key=*** "];
    for part in shown.into_iter().chain(["  ddns preview ", "  ddns  "]) {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(receiver.callbacks().is_empty(), "nothing is sent before `ddns` is run");
    assert_eq!(mode(&sandbox.path("config.json")), 0o600);
    assert_eq!(fs::read_dir(sandbox.path(".")).expect("the folder").count(), 1, "nothing else is left behind");
    sandbox.run(&[]).expect(0).never_prints("warning");
    assert_eq!(receiver.only().target(), "/update?name=home.example.com&ip=203.0.113.7&key=S3cret-of-mine");
}

#[test]
fn init_a_token_is_written_as_an_object_and_sent() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (endpoint, index6) = (receiver.url("/api/"), receiver.index6());
    let token = r#"{"key": "S3cret-of-mine", "deep": [{"ip": "__IP__", "n": 1.10}]}"#;
    let args = ["init", "sub folder/my.json", "--endpoint", &endpoint, "--id", "hook", "--token", token];
    let more = ["--ipv6", "a.example", "B.example", "--index6", &index6, "--ttl", "60", "--log-level", "DEBUG"];
    let run = sandbox.run(&[&args[..], &more].concat()).expect(0).never_prints("S3cret");
    for part in ["POST /api/hook HTTP/1.1", r#"{"key":"***","deep":[{"ip":"2001:db8::7","#, "1 more"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(run.stdout.contains("ddns -c 'sub folder/my.json'"), "{}", run.stdout);
    let text = sandbox.read("sub folder/my.json");
    assert!(text.contains("  \"token\": {\n    \"key\": \"S3cret-of-mine\",\n"), "{text}");
    assert!(text.contains("\"ttl\": 60,") && text.contains("\"level\": \"DEBUG\","), "{text}");
    sandbox.run(&["-c", "sub folder/my.json"]).expect(0).never_prints("warning");
    let sent = receiver.callbacks();
    assert_eq!(sent[0].text(), r#"{"key":"S3cret-of-mine","deep":[{"ip":"2001:db8::7","n":1.10}]}"#);
    assert_eq!(sent.len(), 2);
}

#[test]
fn init_yes_takes_what_is_suggested() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let id = receiver.url("/hook");
    sandbox.run(&[&options(&id, &receiver.index4())[..], &["--yes"]].concat()).expect(0);
    sandbox.run(&[]).expect(0).never_prints("warning");
    assert_eq!(receiver.only().text(), r#"{"domain":"home.example.com","type":"A","ip":"203.0.113.7"}"#);
}

#[test]
fn init_e7_what_is_missing_is_named_where_no_questions_can_be_asked() {
    let sandbox = Sandbox::new();
    sandbox.run(&["init"]).expect(2).prints("--id and --ipv4 or --ipv6").prints("no terminal");
    sandbox.run(&["init", "--yes", "--ipv4", "a.example"]).expect(2).prints("`ddns init` needs --id:");
    let run = sandbox.run(&["init", "--id", "https://example.com/S3cret"]).expect(2);
    run.prints("needs --ipv4 or --ipv6").never_prints("S3cret");
    assert_eq!(fs::read_dir(sandbox.path(".")).expect("the folder").count(), 0);
}

#[test]
fn init_e7_a_wrong_option_is_an_error_as_in_a_configuration_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 6] = [
        (&["--id", "example.com/x", "--ipv4", "a.example"], "did you mean https://example.com/x ?"),
        (&["--id", "https://h.example/", "--ipv4", "a..b"], "not a domain name"),
        (&["--id", "https://h.example/", "--ipv4", "a.example", "--index4", "pubic"], "public"),
        (&["--id", "https://h.example/", "--ipv4", "a.example", "--token", "{S3cret"], "`token` is not JSON"),
        (&["https://h.example/S3cret", "--ipv4", "a.example"], "with --id"),
        (&["one.json", "-c", "two.json"], "only one file is written"),
    ];
    for (args, part) in cases {
        sandbox.run(&[&["init"], args].concat()).expect(2).prints(part).never_prints("S3cret");
    }
    assert_eq!(fs::read_dir(sandbox.path(".")).expect("the folder").count(), 0);
}

#[test]
fn init_never_overwrites() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("file.json", "mine");
    fs::create_dir(sandbox.path("folder")).expect("a folder");
    symlink("nowhere", sandbox.path("dangling.json")).expect("a link");
    let (id, index4) = (receiver.url("/?ip=__IP__"), receiver.index4());
    let cases = [("file.json", "already exists"), ("folder", "is a folder"), ("dangling.json", "already exists")];
    for (name, part) in cases {
        let args = [&["init", name][..], &options(&id, &index4)[1..]].concat();
        sandbox.run(&args).expect(2).prints(part).prints(name);
        sandbox.run(&["--new-config", name]).expect(2).prints(part);
    }
    assert_eq!(sandbox.read("file.json"), "mine");
    assert!(!sandbox.path("nowhere").exists() && !sandbox.path("folder/config.json").exists());
    assert_eq!(receiver.lookups(), 0, "that is known before anything is looked up");
}

/// A limit on the size of files makes the writing fail half-way, as a full disk does.
#[test]
fn init_half_a_file_is_not_left_behind() {
    let sandbox = Sandbox::new();
    let line = format!("trap '' XFSZ; ulimit -f 1; exec '{}' --new-config new.json", env!("CARGO_BIN_EXE_ddns"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(sandbox.path(".")).env_clear().stdin(Stdio::null());
    let output = command.output().expect("sh starts");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains("new.json cannot be written") && printed.contains("there is no new file"), "{printed}");
    assert!(!sandbox.path("new.json").exists());
}

#[test]
fn init_a_folder_that_cannot_be_written_to_is_a_sentence() {
    let Some(()) = inside("mount -t tmpfs -o ro none /mnt || exit 77") else { return };
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (id, index4) = (receiver.url("/?ip=__IP__"), receiver.index4());
    let init = |words: &[&str]| sandbox.run(&[&["init"][..], words, &options(&id, &index4)[1..]].concat());
    let secrets = [
        "init",
        "--recipe",
        "dyndns2",
        "--ipv4",
        "a.example",
        "--index4",
        &index4,
        "--set",
        "server=127.0.0.1:9",
        "--set",
        "user=u",
        "--set",
        "password=p",
        "--yes",
        "--secrets",
        "/mnt/keys",
    ];
    for (name, run) in [
        ("/mnt/new.json", sandbox.run(&["--new-config", "/mnt/new.json"])),
        ("/mnt/new.json", init(&["/mnt/new.json"])),
        ("/mnt/folder/new.json", init(&["/mnt/folder/new.json"])),
        ("/mnt/keys", sandbox.run(&secrets)),
    ] {
        let run = run.expect(1);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        run.prints(&format!("error: {name} cannot be written (read-only file system): there is no new file"));
    }
    assert_eq!(receiver.lookups(), 0, "that is known before anything is looked up or sent");
    // What can be made is not made by the check.
    sandbox.run(&["init", "folder/new.json"]).expect(2).prints("needs --id");
    assert!(!sandbox.path("folder").exists());
    sandbox.write("file", "");
    sandbox.run(&["init", "file/new.json"]).expect(1).prints("file/new.json cannot be written (not a directory)");
}

#[test]
fn init_a_source_that_gives_nothing_is_reported_and_the_file_is_written() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&options("https://example.com/update", "shell:exit 1")).expect(0);
    let kept = "No IPv4 address was found. The file still says shell:… (`index4`)";
    for part in ["no address from shell", "an example", "The address is not part of it", kept, "ddns service install"] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    assert!(sandbox.path("config.json").exists());
}

/// In a network without a router: `ddns init` would ask that of the host.
#[test]
fn init_at_a_terminal_asks_and_asks_again() {
    let Some(()) = inside(LOOPBACK) else { return };
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let (id, index4) = (receiver.url("/update?key=S3cret"), receiver.index4());
    let answers = [
        "0",
        "example.com", // not a complete address
        &id,
        "{",
        "none",
        "", // the parameters as suggested
        "a..b",
        "Home.example.com",
        "interface:nothing0", // gives no address, and is asked for again
        &index4,
        "no",
    ];
    let Some(run) = typed(&sandbox, &["my.json", "--index6", "none"], &answers) else { return };
    let run = run.expect(0);
    let parts = [
        "The URL must start with http:// or https://: did you mean",
        "The body is not JSON",
        "is not a domain name",
        "no address from",
    ];
    for part in parts.into_iter().chain(["203.0.113.7 from url:", "key=***&name=home.example.com", "ddns -c my.json"]) {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
    let shown = run.stdout.split("What is sent").nth(1).expect("the end");
    assert!(!shown.contains("S3cret"), "{shown}");
    assert_eq!(mode(&sandbox.path("my.json")), 0o600);
    sandbox.run(&["-c", "my.json"]).expect(0).never_prints("warning");
    assert_eq!(receiver.only().target(), "/update?key=S3cret&name=home.example.com&type=A&ip=203.0.113.7");
}

/// In a network without a router: `ddns init` would ask that of the host.
#[test]
fn init_at_a_terminal_a_source_that_failed_is_not_kept_without_a_word() {
    let Some(()) = inside(LOOPBACK) else { return };
    let sandbox = Sandbox::new();
    let args = ["--id", "https://example.com/?ip=__IP__", "--token", "", "--index6", "none"];
    let answers = ["home.example.com", "198.51.100.1", "pubic", "interface:nothing0", ""];
    let Some(run) = typed(&sandbox, &args, &answers) else { return };
    let text = run.expect(0).stdout;
    assert!(!text.contains("stun:HOST"), "the list of all sources is not wanted: {text}");
    let text = text.replace("\n  ", " ").replace('\n', " ");
    let parts = ["It gave no address. Enter keeps it", "It is kept, although it gave no address."];
    let parts = parts.into_iter().chain([
        "198.51.100.1 is an address; ddns needs to know where to look it up. If this host has it, type default;",
        "pubic is not a source of addresses: did you mean public? ddns help sources lists all of them.",
    ]);
    for part in parts.chain(["No IPv4 address was found. The file still says interface:nothing0"]) {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn init_at_a_terminal_a_post_has_the_body_that_was_typed() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let id = receiver.url("/hook");
    let answers = [r#"{"at": "__IP__", "key": "K-1"}"#, "no"];
    let args = ["--id", &id, "--ipv6", "a.example", "--index6", &receiver.index6(), "--yes"];
    let Some(run) = typed(&sandbox, &args, &[]) else { return };
    assert!(!run.expect(0).stdout.contains("JSON body"), "with --yes nothing is asked");
    fs::remove_file(sandbox.path("config.json")).expect("it was written");
    let args = ["--ipv6", "a.example", "--index6", &receiver.index6()];
    let run = typed(&sandbox, &args, &[&["own", id.as_str()], &answers[..]].concat()).expect("a terminal").expect(0);
    assert!(run.stdout.contains("JSON body") && !run.stdout.contains("Domains:"), "{}", run.stdout);
    sandbox.run(&[]).expect(0).never_prints("warning");
    assert_eq!(receiver.only().text(), r#"{"at":"2001:db8::7","key":"K-1"}"#);
}

#[test]
fn init_the_end_of_the_answers_writes_nothing() {
    let sandbox = Sandbox::new();
    let Some(run) = typed(&sandbox, &[], &["https://example.com/?ip=__IP__", "", "EOF"]) else { return };
    run.expect(1).shows("error: the input ended before the last question: nothing was written");
    assert_eq!(fs::read_dir(sandbox.path(".")).expect("the folder").count(), 0);
}

#[test]
fn init_new_config_writes_a_template_that_runs() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let run = sandbox.run(&["--new-config"]).expect(0);
    assert_eq!(run.stdout, "Wrote config.json: only you can read it. Put your own address and domains into it.\n");
    assert_eq!((run.stderr.as_str(), mode(&sandbox.path("config.json"))), ("", 0o600));
    let own = sandbox.read("config.json").replace("https://example.com", &receiver.url(""));
    sandbox.write("config.json", own);
    sandbox.run(&["--index4", &receiver.index4()]).expect(0).never_prints("warning");
    assert_eq!(receiver.only().target(), "/update?name=home.example.com&ip=203.0.113.7");
    for spelling in ["--new-config=a.json", "--new_config=b.json"] {
        sandbox.run(&[spelling, "--ttl", "5"]).expect(0);
    }
    assert!(sandbox.read("a.json").contains("\"ttl\": 5,"));
    sandbox.run(&["--new-confg"]).expect(2).prints("did you mean --new-config?");
    sandbox.run(&["demo", "--new-config"]).expect(2);
}

#[test]
fn h9_init_and_new_config_keep_a_domain_with_values_of_its_own() {
    let sandbox = Sandbox::new();
    let domain = r#"{"name":"a.example","interface_id":"::1"}"#;
    let given = ["--id", "http://127.0.0.1:9/__DOMAIN__/__IP__", "--ipv6", domain];
    for (name, more) in [("a.json", &given[..]), ("b.json", &[&given[..], &["--ipv6", "b.example"]].concat())] {
        sandbox.run(&[&["--new-config", name], more].concat()).expect(0);
        let checked = sandbox.run(&["check", "-c", name]).expect(0).stdout;
        assert!(checked.contains("a.example (interface_id") && checked.contains("no warnings"), "{checked}");
        assert_eq!(checked.contains("b.example"), name == "b.json", "{checked}");
    }
    sandbox.run(&[&["init", "c.json"], &given[..]].concat()).expect(0);
    let checked = sandbox.run(&["check", "-c", "c.json"]).expect(0).stdout;
    assert!(checked.contains("a.example (interface_id") && checked.contains("no warnings"), "{checked}");
}

#[test]
fn h13_init_and_new_config_take_values_in_files() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("key", "s3cret\n");
    let id = receiver.url("/__KEY__");
    let given = ["--id", &id, "--ipv4", "a.example", "--extra", r#"{"__KEY__":{"file":"key"}}"#];
    for command in [["--new-config", "a.json"], ["init", "b.json"]] {
        sandbox.run(&[&command, &given[..]].concat()).expect(0).never_prints("was not read");
        sandbox.run(&["-c", command[1], "--index4", &receiver.index4(), "--no-cache"]).expect(0);
        assert_eq!(receiver.take().last().map(|one| one.target().to_owned()).as_deref(), Some("/s3cret"));
    }
}
