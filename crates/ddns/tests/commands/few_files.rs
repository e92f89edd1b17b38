//! Few files may be open: a sentence, whatever was asked for.

use crate::support::given::basic;
use crate::support::{Receiver, Sandbox};

#[test]
fn e7_too_few_open_files_end_with_a_sentence() {
    let (sandbox, receiver) = (Sandbox::new(), Receiver::new());
    sandbox.write("config.json", basic(&receiver).to_string());
    let commands: [&[&str]; 9] = [
        &[],
        &["watch"],
        &["status"],
        &["sync"],
        &["check"],
        &["preview"],
        &["addresses"],
        &["demo"],
        &["listen", "127.0.0.1:0"],
    ];
    for files in [4, 5, 6, 7, 8, 9, 12, 16] {
        for command in commands {
            let run = sandbox.limited(files, command);
            let is_plain = run.stderr.starts_with("error: too few files may be open at once: the limit is ");
            assert!(run.code == 1 && is_plain, "{files} {command:?}: {run:?}");
            assert_eq!(run.stderr.lines().count(), 1, "{files} {command:?}: {run:?}");
        }
    }
    assert_eq!(receiver.callbacks().len(), 0);
    sandbox.limited(32, &[]).expect(0);
    assert_eq!(receiver.callbacks().len(), 1);
}
