//! Whatever README, `docs/` and `examples/` show is run as it stands there, with the receiver in place of the endpoint.
//! Commands are run in `docs/commands.rs`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::authority::{Authority, params_for};
use crate::support::pages::{blocks, blocks_of, endpoint, pages, root, run};
use crate::support::{Receiver, Sandbox};

#[test]
fn readme_sends_the_request_it_shows() {
    let receiver = Receiver::new();
    run(&blocks("json")[0], &receiver);
    assert_eq!(receiver.only().line, blocks("http")[0].trim_end());
    assert_eq!(blocks("json")[0].lines().filter(|line| line.starts_with("  ")).count(), 3, "the first block is short");
}

/// What works in a fresh clone comes first, and is what `.ci/run` runs.
#[test]
fn readme_begins_with_two_commands_that_need_nothing_but_rust() {
    let commands = ["cargo run --release -- demo", "cargo test --workspace"];
    let readme = fs::read_to_string(root().join("README.md")).expect("README");
    let screen: Vec<&str> = readme.lines().take(40).collect();
    let first = blocks("console").into_iter().next().expect("a block");
    let typed = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
    assert_eq!(first.lines().map(typed).collect::<Vec<_>>(), commands.map(|command| format!("$ {command}")));
    let at = |text: &str| screen.iter().position(|line| line.starts_with(text));
    let install = at("$ cargo install").expect("how to install is on the first screen");
    let used = at("$ ddns").expect("a command of the program");
    assert!(at("$ cargo run").is_some_and(|at| at < install) && install < used, "{screen:#?}");
    let ci = fs::read_to_string(root().join(".ci/run")).expect("what CI runs");
    for command in commands {
        assert!(ci.lines().any(|line| line == command), ".ci/run does not run `{command}` as it stands:\n{ci}");
    }
}

#[test]
fn configurations_of_the_pages_run() {
    let mut count = 0;
    for page in pages() {
        for config in blocks_of(&page, "json") {
            let receiver = endpoint();
            run(&config, &receiver);
            assert!(!receiver.callbacks().is_empty(), "{page}:\n{config}");
            count += 1;
        }
    }
    assert!(count >= 8, "{count} configurations");
}

/// They need an etcd to run, and files that hold its certificates.
#[test]
fn configurations_of_groups_are_valid() {
    let page = "docs/several-hosts.md";
    let configs = blocks_of(page, "jsonc");
    assert_eq!(configs.len(), 2, "{page}");
    let authority = Authority::new("etcd");
    let sandbox = Sandbox::new();
    let (certificate, key) = authority.files(&params_for("ddns"));
    let files = [("ca.pem", authority.pem), ("client.pem", certificate), ("client.key", key)];
    for (name, text) in [files.as_slice(), &[("password", "s3cret\n".to_owned())]].concat() {
        let path = sandbox.write(&format!("etcd-{name}"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("the rights are set");
    }
    for config in configs {
        sandbox.write("config.json", config.replace("/etc/ddns/", &format!("{}/", sandbox.path(".").display())));
        sandbox.run(&["check", "-c", "config.json"]).expect(0).never_prints("warning:");
    }
}

/// A link that leads nowhere helps nobody.
#[test]
fn docs_every_link_leads_somewhere() {
    for page in pages() {
        let path = root().join(&page);
        let text = fs::read_to_string(&path).expect("the page");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_there = link.contains("://") || path.parent().expect("a folder").join(file).exists();
            assert!(is_there, "{page}: {link}");
        }
    }
}

#[test]
fn examples_run_without_a_warning() {
    let mut count = 0;
    for entry in fs::read_dir(root().join("examples")).expect("examples") {
        let path = entry.expect("an example").path();
        let receiver = Receiver::new();
        run(&fs::read_to_string(&path).expect("a text"), &receiver);
        let sent: Vec<String> = receiver.callbacks().iter().map(|callback| format!("{callback:?}")).collect();
        assert!(!sent.is_empty() && !sent.iter().any(|text| text.contains("__IP__")), "{}: {sent:?}", path.display());
        count += 1;
    }
    assert!(count >= 4);
}

#[test]
fn demo_shows_what_is_sent_and_what_is_not() {
    let run = Sandbox::new().run(&["demo"]).expect(0);
    let received = run.stdout.matches("received").count();
    assert_eq!(received, 3, "two callbacks, none, then the one that changed:\n{}", run.stdout);
    assert_eq!(run.stdout.matches("already up to date").count(), 3, "{}", run.stdout);
    assert_eq!(run.stdout.matches("my-secret-key").count(), 2 + 3, "in the configuration, and as received");
    for line in run.stdout.lines() {
        assert!(!line.trim_start().starts_with("sent") || !line.contains("my-secret-key"), "{line}");
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn demo_needs_no_home_and_leaves_nothing_behind() {
    let sandbox = Sandbox::new();
    let output = sandbox.command(&["demo"]).env_remove("HOME").output().expect("the program starts");
    assert!(output.status.success());
    assert_eq!(fs::read_dir(sandbox.path(".")).expect("the folder").count(), 0);
}
