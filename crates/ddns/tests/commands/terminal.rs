//! What is printed fits the terminal, and no word is broken.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::given::{basic, with};
use crate::support::terminal::{at_terminal, fits};
use crate::support::{Receiver, Response, Sandbox};

/// A name that is longer than a line of the narrow terminal.
const LONG: &str = "a-rather-long-name-for-a-machine-in-the-cellar.of-some-house.example.com";

fn words(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

/// What the program prints at a terminal of each width; none where the system cannot.
fn printed(sandbox: &Sandbox, args: &[&str]) -> Option<Vec<(usize, String)>> {
    let program = [&[env!("CARGO_BIN_EXE_ddns")], args].concat();
    let widths = [50, 80, 200];
    let runs = widths.map(|width| Some((width.into(), at_terminal(sandbox, width, &program, &[])?.stdout)));
    runs.into_iter().collect()
}

#[test]
fn cli_help_fits_the_terminal_and_breaks_no_word() {
    let sandbox = Sandbox::new();
    let pages = ["options", "config", "placeholders", "sources", "exit-codes", "watch", "completions", "init"];
    for page in pages.iter().map(|page| vec!["help", page]).chain([vec!["--help"]]) {
        let Some(printed) = printed(&sandbox, &page) else { return };
        for (width, text) in &printed {
            fits(*width, text);
            assert_eq!(words(text), words(&printed[1].1), "{page:?} at {width}");
        }
    }
    let Some(options) = printed(&sandbox, &["help", "options"]) else { return };
    assert!(options[2].1.lines().any(|line| line.chars().count() > 100), "it uses the room:\n{}", options[2].1);
    let unknown = at_terminal(&sandbox, 0, &[env!("CARGO_BIN_EXE_ddns"), "help", "options"], &[]).expect("a terminal");
    assert_eq!(unknown.stdout, options[1].1, "80 columns where the terminal does not know");
}

#[test]
fn cli_reports_and_log_lines_fit_the_terminal_and_break_no_word() {
    let receiver = Receiver::responding(|_| Response::status(405).header("Allow", "PUT"));
    let config = with(&basic(&receiver), &json!({"ipv4": [LONG, "b.example.com"], "concurrency": 1}));
    let sandbox = Sandbox::new().configure(&config);
    for args in [&[][..], &["check"], &["preview"], &["status"], &["addresses"], &["--ttl", "many"], &["--debug"]] {
        let Some(printed) = printed(&sandbox, args) else { return };
        for (width, text) in printed {
            fits(width, &text);
            assert!(text.contains(LONG) || args.contains(&"--ttl"), "{args:?} at {width}: {LONG} is broken\n{text}");
        }
    }
    // Where somebody else reads it, a line of the log is one line.
    let run = sandbox.run(&[]).expect(1);
    assert_eq!(run.stderr.lines().count(), 3, "{}", run.stderr);
}
