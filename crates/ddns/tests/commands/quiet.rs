//! What a timer gets to see: nothing, as long as nothing happens.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::support::given::{basic, switched, with};
use crate::support::terminal::at_terminal;
use crate::support::{Receiver, Sandbox};

#[test]
fn g3_a_run_in_which_nothing_happened_says_nothing() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    let config = basic(&receiver);
    sandbox.sync(&config).expect(0).prints("1 accepted");
    sandbox.sync(&config).says_nothing();
    let summary = "1 already up to date";
    sandbox.run(&["--debug"]).expect(0).prints(summary);
    sandbox.run(&["--log-file", "log"]).says_nothing();
    assert!(sandbox.read("log").contains(summary), "a file keeps what happened when");
    let Some(run) = at_terminal(&sandbox, 80, &[env!("CARGO_BIN_EXE_ddns")], &[]) else { return };
    assert_eq!(run.expect(0).stdout, format!("{summary}\n"));
}

#[test]
fn g3_quiet_leaves_warnings_and_errors() {
    let (sandbox, (receiver, status)) = (Sandbox::new(), switched(200));
    let config = with(&basic(&receiver), &json!({"debug": true, "log": {"level": "INFO"}}));
    sandbox.write("config.json", config.to_string());
    sandbox.run(&["-q"]).says_nothing();
    assert_eq!(receiver.take().len(), 1, "it was sent all the same");
    sandbox.run(&["--no-cache", "--quiet", "--debug"]).expect(0).prints("debug: ");
    status.store(500, Ordering::SeqCst);
    let run = sandbox.run(&["--no-cache", "--quiet"]).expect(1);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    run.prints("error: home.example.com A 203.0.113.7: failed");
    sandbox.run(&["demo", "-q"]).expect(2).prints("takes no options");
    let page = sandbox.run(&["--help"]).expect(0).stdout;
    assert!(page.contains("-q, --quiet"), "{page}");
}
