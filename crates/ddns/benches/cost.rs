//! Measures how the cost grows: `ddns check` on configurations with 1,000 and with 10,000 of something, and masking with 1,000
//! and 10,000 secrets. Prints both times and their ratio: about 10 if the cost is linear, 100 if it is quadratic.
//!
//! `cargo bench -p ddns-callback --bench cost`

mod program;

#[path = "../tests/support/large.rs"]
mod large;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ddns_core::text::secrets::Secrets;

use program::program;

const SIZES: [usize; 2] = [1_000, 10_000];

/// How often each size is measured; the shortest time counts.
const TRIES: usize = 3;

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!("{:<40} {:>10} {:>10} {:>7}", "", "1,000", "10,000", "ratio");
    for (case, text) in large::CASES {
        row(&format!("check: {case}"), |size| run(folder.path(), &text(size), &["check"]));
    }
    row("a run that fails: keys", |size| run(folder.path(), &large::keys(size), &[]));
    row("masking: letters that begin a secret", |size| {
        let secrets = Secrets::new((0..40).map(|at| format!("&&&&&&&&key-{at}")), &[]);
        let text = "&".repeat(10 * size);
        timed(|| drop(secrets.mask(&text)))
    });
    for (letter, form) in [("\\", "\\"), ("%", "%25"), ("&", "&amp;")] {
        row(&format!("masking: secret of 300 {letter} in {form}"), |size| {
            let secrets = Secrets::new([format!("{}x", letter.repeat(300))], &[]);
            let text = form.repeat(10 * size);
            timed(|| drop(secrets.mask(&text)))
        });
    }
    row("masking: secrets, made and searched", |size| {
        timed(|| {
            let secrets = Secrets::new((0..size).map(|at| format!("key-{at:08}-{}", at * 7919)), &[]);
            drop(secrets.mask(&"key-0000".repeat(size)));
        })
    });
}

fn row(name: &str, measure: impl Fn(usize) -> Duration) {
    let quickest = |size| (0..TRIES).map(|_| measure(size)).min().unwrap_or_default();
    let [few, many] = SIZES.map(quickest);
    let ratio = many.as_secs_f64() / few.as_secs_f64();
    println!("{name:<40} {:>10} {:>10} {ratio:>7.1}", shown(few), shown(many));
}

fn run(folder: &Path, text: &str, arguments: &[&str]) -> Duration {
    fs::write(folder.join("config.json"), text).expect("the file is written");
    let mut command = Command::new(program());
    command.args(arguments).args(["-c", "config.json"]).current_dir(folder).env_clear().env("HOME", folder);
    command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    timed(|| _ = command.status().expect("the program starts"))
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn shown(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
