//! The program to measure: the static file from `packaging/`, as users get it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The path of the static file, which the first call builds unless `DDNS_TEST_STATIC` names one. `packaging/build-static` prints the
/// path as its last line.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(file) = env::var_os("DDNS_TEST_STATIC") {
            return PathBuf::from(file);
        }
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/build-static");
        let output = Command::new(script).output().expect("packaging/build-static starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let printed = String::from_utf8(output.stdout).expect("a text");
        PathBuf::from(printed.lines().last().expect("a path"))
    })
}
