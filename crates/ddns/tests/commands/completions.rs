//! What is generated for other programs: completions for shells, the manual page, the schema.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use crate::support::Sandbox;
use crate::support::tools::{needed, skipped, tool};

fn printed(args: &[&str]) -> String {
    let run = Sandbox::new().run(args).expect(0);
    assert_eq!(run.stderr, "", "{args:?}");
    run.stdout
}

/// Runs a program with a text as its standard input.
fn fed(program: &mut Command, text: &str) -> Output {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    child.wait_with_output().expect("it ends")
}

#[track_caller]
fn is_silent(output: &Output) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{}: {errors}", output.status);
}

/// What bash offers behind a line; the last word is being typed.
fn offered(line: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    sandbox.write("my config.json", "{}");
    sandbox.write("other.json", "{}");
    let script = sandbox.write("ddns.bash", printed(&["completions", "bash"]));
    let asking =
        "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _ddns; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", asking, "bash"]).arg(script).arg("ddns").args(line).current_dir(sandbox.path("."));
    let output = bash.output().expect("bash starts");
    is_silent(&output);
    String::from_utf8_lossy(&output.stdout).lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn completions_bash_offers_what_can_stand_there() {
    let Some(_) = needed("bash") else { return };
    is_silent(&fed(Command::new("bash").arg("-n"), &printed(&["completions", "bash"])));
    assert_eq!(offered(&["addr"]), ["addresses"]);
    assert_eq!(offered(&["addresses", "--wi"]), ["--wide"]);
    assert_eq!(offered(&["--no-c"]), ["--no-cache"]);
    assert_eq!(offered(&["--new"]), ["--new-config"]);
    assert_eq!(offered(&["--new-config", "o"]), ["other.json"]);
    assert_eq!(offered(&["init", "--y"]), ["--yes"]);
    assert_eq!(offered(&["--log-level", "W"]), ["WARNING"]);
    assert_eq!(offered(&["--log-level", "=", "W"]), ["WARNING"]);
    assert_eq!(offered(&["--index4", "public", "def"]), ["default"]);
    assert_eq!(offered(&["completions", "z"]), ["zsh"]);
    assert_eq!(offered(&["help", "pl"]), ["placeholders"]);
    assert_eq!(offered(&["-c", "my"]), ["my config.json"]);
    assert_eq!(offered(&["--config", "my config.json", "o"]), ["other.json"]);
    assert_eq!(offered(&["--cache", "o"]), ["other.json"]);
    assert_eq!(offered(&["--cache", "t"]), ["true"]);
    for nothing in [&["demo", "--j"][..], &["--id", "o"], &["--ttl", "5", "o"], &["demo", "o"], &["--wi"]] {
        assert_eq!(offered(nothing), [""; 0], "{nothing:?}");
    }
    let commands = offered(&[""]);
    assert!(["demo", "addresses", "help"].iter().all(|name| commands.iter().any(|word| word == name)), "{commands:?}");
}

#[test]
fn completions_zsh_and_fish_can_read_theirs() {
    for shell in ["zsh", "fish"] {
        let script = printed(&["completions", shell]);
        for part in ["addresses", "wide", "no-cache", "log-level", "placeholders"] {
            assert!(script.contains(part), "{shell}: {part}");
        }
        match tool(shell) {
            Some(program) => is_silent(&fed(Command::new(program).arg("-n"), &script)),
            None => skipped(&format!("`{shell}` is not installed")),
        }
    }
}

#[test]
fn completions_of_an_unknown_shell_are_refused() {
    Sandbox::new().run(&["completions"]).expect(2).prints("bash, zsh, fish");
    Sandbox::new().run(&["completions", "fsh"]).expect(2).prints("did you mean `fish`?");
    Sandbox::new().run(&["completions", "bash", "zsh"]).expect(2).prints("takes only one SHELL");
}

#[test]
fn man_is_a_page_without_a_fault() {
    let page = printed(&["man"]);
    assert!(page.starts_with(".TH DDNS 1 "), "{page}");
    assert!(page.is_ascii(), "a roff that does not know the encoding must read it too");
    let headings = ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "\"PLACEHOLDERS\"", "\"EXIT STATUS\""];
    for heading in headings {
        assert!(page.contains(&format!("\n.SH {heading}\n")), "{heading}");
    }
    let requests = [".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"];
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        assert!(requests.iter().any(|known| line.split(' ').next() == Some(known)), "{line}");
    }
    let Some(groff) = needed("groff") else { return };
    let output = fed(Command::new(groff).args(["-man", "-Tutf8", "-ww", "-P-c"]), &page);
    is_silent(&output);
    // Bold letters are struck twice.
    let mut text = String::new();
    for letter in String::from_utf8_lossy(&output.stdout).chars() {
        if letter == '\u{8}' {
            text.pop();
        } else {
            text.push(letter);
        }
    }
    for part in ["ddns addresses", "--log-datefmt", "__RECORDTYPE__", "quorum:N(A, B, …)", "DDNS_LOG_LEVEL"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The file in the repository and what the program prints are the same.
#[test]
fn schema_is_that_of_the_repository() {
    assert_eq!(printed(&["schema"]), include_str!("../../../../schema/ddns.schema.json"));
}
