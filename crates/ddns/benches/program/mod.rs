//! The program that is measured: the static file that packaging makes, as users get it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Built at the first call, unless `DDNS_TEST_STATIC` names it; `packaging/build-static` prints its path as the last line.
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
