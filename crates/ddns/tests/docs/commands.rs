//! Every command that README and the pages show is run as it stands there: in an empty folder with the page's
//! configuration, against a receiver in place of the endpoint. What a page shows as output must be what comes out.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::support::pages::{ENDPOINT, pages, root};
use crate::support::terminal::at_terminal;
use crate::support::tools::tool;
use crate::support::{Received, Receiver, Response, Run, Sandbox};

/// Programs of others: they are not run.
const OTHERS: [&str; 18] = [
    "bash",
    "brew",
    "cargo",
    "cat",
    "curl",
    "docker",
    "etcd",
    "etcdctl",
    "journalctl",
    "opkg",
    "packaging/build-static",
    "scp",
    "sha256sum",
    "skopeo",
    "sudo",
    "systemctl",
    "systemd-analyze",
    "tar",
];

/// Commands that do not end by themselves, need one that does not, ask for a secret, or change the host: their help is shown instead.
const ENDLESS: [&str; 6] = ["listen", "password", "watch", "sync", "status", "service"];

/// Where a trial listens on the pages.
const TRIAL: &str = "http://127.0.0.1:8080";

/// In place of the program: looks for no address outside of this machine.
const WRAPPER: &str = r#"#!/bin/sh
case "${1:-} $*" in
    *--help* | *--version* | *--index4* | *--new-config*) exec PROGRAM "$@" ;;
    -* | \ * | addresses* | preview* | check* | init*)
        exec PROGRAM "$@" --index4 'shell:echo 203.0.113.7' --index6 'shell:echo 2001:db8::7' ;;
    *) exec PROGRAM "$@" ;;
esac
"#;

/// Said at a terminal alone.
const NOTHING_NEW: &str = "1 already up to date";

/// A command, and what the page shows behind it.
struct Shown {
    line: String,
    output: Vec<String>,
}

/// The commands of one `console` block.
fn commands(block: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    let mut goes_on = false;
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(line), _) => commands.push(Shown { line: line.to_owned(), output: Vec::new() }),
            (None, Some(last)) if goes_on => last.line += &format!("\n{line}"),
            (None, Some(last)) => last.output.push(line.trim().to_owned()),
            (None, None) => panic!("a console block begins with `$ `:\n{block}"),
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// A page as it is worked through: its folder, its endpoint, and the status of the endpoint's responses.
struct Reader {
    sandbox: Sandbox,
    receiver: Receiver,
    status: Arc<AtomicU16>,
}

impl Reader {
    fn new() -> Self {
        let status = Arc::new(AtomicU16::new(200));
        let current = status.clone();
        let receiver = Receiver::responding(move |_| Response::status(current.load(Ordering::SeqCst)));
        let sandbox = Sandbox::new();
        let wrapper = sandbox.write("bin/ddns", WRAPPER.replace("PROGRAM", env!("CARGO_BIN_EXE_ddns")));
        fs::set_permissions(wrapper, fs::Permissions::from_mode(0o755)).expect("it can be run");
        Self { sandbox, receiver, status }
    }

    /// A text of the page with the receiver in place of the endpoint.
    fn real(&self, text: &str) -> String {
        text.replace(ENDPOINT, &self.receiver.url("")).replace(TRIAL, &self.receiver.url(""))
    }

    /// The output as the page shows it.
    fn as_shown(&self, text: &str) -> String {
        let address = format!("127.0.0.1:{}", self.receiver.port());
        without_times(&text.replace(&self.receiver.url(""), ENDPOINT).replace(&address, "example.com"))
    }

    fn run(&self, line: &str, needs_terminal: bool) -> Run {
        if line.starts_with("ddns init --id") {
            let _ = fs::remove_file(self.sandbox.path("config.json"));
        }
        let line = self.real(line).replace("--index4 public", "--index4 'shell:echo 203.0.113.7'");
        if needs_terminal && let Some(run) = at_terminal(&self.sandbox, 80, &["sh", "-c", &line], &[]) {
            return run;
        }
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(self.sandbox.path(".")).env_clear().stdin(Stdio::null());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.sandbox.path("bin").display());
        Run::of(&command.envs(self.sandbox.environment()).env("PATH", path).output().expect("sh starts"))
    }

    /// Runs a command and compares its output with the page.
    fn follow(&self, page: &str, shown: &Shown) {
        let words: Vec<&str> = shown.line.split_whitespace().filter(|word| !word.contains('=')).collect();
        let program = words.first().copied().unwrap_or_default();
        if OTHERS.contains(&program) {
            return;
        }
        assert_eq!(program, "ddns", "{page}: `{}`: add the program to the list of others", shown.line);
        let command = words.get(1).copied().filter(|word| !word.starts_with('-')).unwrap_or_default();
        if ENDLESS.contains(&command) {
            self.run(&format!("ddns {command} --help"), false).expect(0);
            return;
        }
        if command == "init" && !shown.line.contains("--id") {
            // It asks questions; the tests of `init` run it in a terminal.
            self.run("ddns init another.json", false).expect(2).prints("no terminal");
            return;
        }
        let output = shown.output.join("\n");
        let status =
            output.split("responded with ").nth(1).and_then(|rest| rest.get(..3)).and_then(|text| text.parse().ok());
        self.status.store(status.unwrap_or(200), Ordering::SeqCst);
        let run = self.run(&shown.line, output.starts_with(NOTHING_NEW));
        let printed = self.as_shown(&format!("{}{}", run.stdout, run.stderr));
        let is_failure = output.contains(": failed:") || output.contains("address found");
        let code = if is_failure { 1 } else { 2 * i32::from(output.contains("error:")) };
        assert_eq!(run.code, code, "{page}: `{}`\n{printed}", shown.line);
        let has_python = tool("python3").is_some();
        let is_seen =
            |line: &&String| !line.is_empty() && *line != "…" && (has_python || !line.starts_with(NOTHING_NEW));
        for line in shown.output.iter().filter(is_seen) {
            let line = without_times(line);
            assert!(printed.contains(&line), "{page}: `{}` does not say\n{line}\nbut\n{printed}", shown.line);
        }
    }
}

/// `12 ms` as `N ms`: the one thing that differs from run to run.
fn without_times(text: &str) -> String {
    let parts: Vec<&str> = text.split(" ms").collect();
    let last = parts.len() - 1;
    let timeless = |(at, part): (usize, &&str)| match part.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
        before if at < last && before.len() < part.len() => format!("{before}N"),
        _ => (*part).to_owned(),
    };
    parts.iter().enumerate().map(timeless).collect::<Vec<_>>().join(" ms")
}

/// The blocks of a page in order: language and text.
fn blocks(text: &str) -> Vec<(&str, &str)> {
    let mut blocks = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (block, further) = after.split_once("\n```").expect("a block ends");
        let (language, body) = block.split_once('\n').unwrap_or((block, ""));
        blocks.push((language, body));
        rest = further;
    }
    blocks
}

#[test]
fn docs_every_command_runs_and_prints_what_the_page_shows() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).expect("the page");
        let reader = Reader::new();
        for (language, body) in blocks(&text) {
            match language {
                "json" | "jsonc" => {
                    reader.sandbox.write("config.json", reader.real(body));
                    let _ = fs::remove_file(reader.sandbox.cache_file());
                }
                "console" => {
                    for shown in commands(body) {
                        reader.follow(&page, &shown);
                        count += 1;
                    }
                }
                _ => {}
            }
        }
    }
    assert!(count > 20, "{count} commands");
}

/// A request that a page shows is one that the configuration above it sends.
#[test]
fn docs_every_request_is_sent_by_the_configuration_above_it() {
    let mut count = 0;
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).expect("the page");
        let mut config = String::new();
        for (language, body) in blocks(&text) {
            match language {
                "json" => body.clone_into(&mut config),
                "http" => {
                    let receiver = crate::support::pages::endpoint();
                    crate::support::pages::run(&config, &receiver);
                    let sent = receiver.callbacks();
                    let lines: Vec<&str> = body.lines().collect();
                    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
                    let is_it = |it: &Received| {
                        let has =
                            |line: &&str| it.headers.iter().any(|(name, value)| format!("{name}: {value}") == *line);
                        lines[0] == it.line
                            && lines[1..end].iter().all(has)
                            && lines[end..].iter().all(|line| line.is_empty() || *line == it.text())
                    };
                    assert!(sent.iter().any(is_it), "{page}:\n{body}\n{sent:#?}");
                    count += 1;
                }
                _ => {}
            }
        }
    }
    assert!(count >= 4, "{count} requests");
}
