//! `ddns version`: which program this is.

use std::env::consts::{ARCH, OS};

use crate::cli::{ParsedArgs, VERSION};
use crate::output::print;

/// Set by `packaging/build-static`. An archive of the source has no commit.
const COMMIT: Option<&str> = option_env!("DDNS_COMMIT");

const C_LIBRARY: &str = if cfg!(target_env = "musl") {
    "musl"
} else if cfg!(target_env = "gnu") {
    "gnu"
} else {
    "system"
};

const LINKED: &str = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };

/// Prints the version, and how the program was built.
pub(crate) fn run(given: &ParsedArgs) -> u8 {
    let mut text = VERSION.to_owned();
    if given.has("verbose") {
        let commit = COMMIT.filter(|commit| !commit.is_empty()).unwrap_or("unknown");
        // No feature can be left out of a build.
        text += &format!("commit: {commit}\ntarget: {ARCH}-{OS}-{C_LIBRARY}, {LINKED}\nfeatures: all\n");
    }
    print(&text)
}
