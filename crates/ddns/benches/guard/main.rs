//! Checks whether the program became more expensive: compares instructions, memory and size of the static file with `table.md`
//! beside this file. Exits with 1 if a value exceeds the table by more than its limit.
//!
//! `cargo bench --profile dev -p ddns-callback --bench guard` measures the static file, whatever the profile, and
//! `… -- --update "REASON"` writes the measured values into the table.
//!
//! Other load on the machine mostly increases a value, so a value that is too high is measured again, and the lowest counts.
//! The first values of 13 runs, on two busy cores (6 to 19 processes waiting for them), with two copies of the file, inside and outside
//! a network namespace, differed by: instructions 0.5 % (of a service 1.6 %: it may wake once more), kB 1.1 %, but for 1,000 domains
//! 1.8 % (which buffers exist at the same time), for 10,000 2.9 % (which pages of the file are loaded after the peak), and for 1
//! 2 pages of 72. None was measured again. With `concurrency` at `auto` it was 5 %, with a cache for 10,000 domains 2 to 10 %.

#[path = "../program/mod.rs"]
mod program;
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
#[path = "../../tests/support/programs.rs"]
mod programs;
#[path = "../receiver/mod.rs"]
mod receiver;
mod table;
mod take;

use std::env;
use std::fs;
use std::process::{Command, ExitCode};

use program::program;
use table::{Row, grouped, row};
use take::{Load, Missing};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/guard/table.md");

/// How often a value that is too high is measured at most.
const TRIES: usize = 5;

/// How often a value for the table is measured.
const TRIES_FOR_TABLE: usize = 3;

type Take = fn(&Load) -> Result<u64, Missing>;

/// The cache is written once a second while updates are sent, and under valgrind the number of seconds varies. So many updates are
/// counted without a cache, and a large cache with one update.
const MEASURES: [(&str, Take); 15] = [
    ("instructions, 1 changed", |load| load.instructions(1, "cache.json", "ERROR")),
    ("instructions, 1,000 changed", |load| load.instructions(1_000, "cache.json", "ERROR")),
    ("instructions, 1,000 changed, without a cache, logged", |load| load.instructions(1_000, "", "INFO")),
    ("instructions, 10,000 changed, without a cache", |load| load.instructions(10_000, "", "ERROR")),
    ("instructions, 100,000 changed, without a cache", |load| load.instructions(100_000, "", "ERROR")),
    ("instructions, 1 changed of 10,000", |load| load.instructions_of_one_more(10_000)),
    ("instructions, a service with 1 domain, until it rests", |load| load.instructions_of_service(1)),
    ("kB at the peak, 1 changed", |load| load.peak(1)),
    ("kB at the peak, 1,000 changed", |load| load.peak(1_000)),
    ("kB at the peak, 10,000 changed", |load| load.peak(10_000)),
    ("kB at the peak, 100,000 changed", |load| load.peak(100_000)),
    ("kB of a service with 1 domain, at rest", |load| load.at_rest(1)),
    ("kB of a service with 10,000 domains, at rest", |load| load.at_rest(10_000)),
    ("wake-ups of a service in 5 s at rest", |load| Ok(load.wake_ups())),
    ("bytes of the static file", |_| Ok(fs::metadata(program()).expect("the static file").len())),
];

fn main() -> ExitCode {
    // cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let reason = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        ["--update", reason] if !reason.trim().is_empty() && !reason.contains(['|', '\n']) => Some(reason),
        _ => {
            eprintln!("guard: nothing, or --update \"REASON\", the reason without | and on one line");
            return ExitCode::from(2);
        }
    };
    let text = fs::read_to_string(TABLE).expect("the table");
    let table = table::read(&text);
    let load = Load::new();
    let must_not_skip = env::var_os("DDNS_TEST_MUST_NOT_SKIP").is_some();
    println!("{:<56} {:>13} {:>13} {:>6} {:>5}", "", "measured", "table", "ratio", "limit");
    let mut measured = Vec::new();
    let mut wrong = Vec::new();
    for (name, take) in MEASURES {
        let known = row(&table, name);
        let taken = least(take, &load, known, reason.is_some());
        match (&taken, known) {
            (Ok((value, tries)), Some(row)) => {
                #[allow(clippy::cast_precision_loss)] // two digits of it are shown
                let ratio = if *value == row.value { 1.0 } else { *value as f64 / row.value as f64 };
                let lower = if row.could_be_less(*value) { "  (lower: --update keeps it so)" } else { "" };
                let [measured, expected] = [*value, row.value].map(grouped);
                println!("{name:<56} {measured:>13} {expected:>13} {ratio:>6.3} {:>3} %{tries}{lower}", row.limit);
                if !row.allows(*value) {
                    wrong.push(format!("{name}: {measured} is more than {} % above {expected}", row.limit));
                }
            }
            (Ok((value, _)), None) => {
                println!("{name:<56} {:>13} {:>13}", grouped(*value), "none");
                wrong.push(format!("{name}: the table has no such row"));
            }
            (Err(Missing(why)), _) => {
                println!("{name:<56} skipped: {why}");
                if must_not_skip {
                    wrong.push(format!("{name}: this may not be skipped: {why}"));
                }
            }
        }
        measured.push((name, taken.ok().map(|(value, _)| value)));
    }
    if let Some(reason) = reason {
        fs::write(TABLE, table::changed(&text, &measured, &made_with(), reason)).expect("the table is written");
        println!("\n{TABLE}: rows that differ are changed");
        return ExitCode::SUCCESS;
    }
    let is_unknown = |row: &&Row| !MEASURES.iter().any(|(name, _)| *name == row.measure);
    wrong.extend(table.iter().filter(is_unknown).map(|row| format!("{}: nothing measures this row", row.measure)));
    if wrong.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("\n{}", wrong.join("\n"));
    let made_with = made_with();
    if !text.contains(&made_with) {
        eprintln!("This is {made_with}; the table was made with another.");
        if !must_not_skip {
            return ExitCode::SUCCESS;
        }
    }
    eprintln!("If it is worth that much, change the table: add `-- --update \"REASON\"` to the command.");
    ExitCode::FAILURE
}

/// The lowest of several measurements, and a note if there was more than one. The first value within the limit is enough, unless it
/// goes into the table.
fn least(take: Take, load: &Load, row: Option<&Row>, for_table: bool) -> Result<(u64, String), Missing> {
    let mut least = take(load)?;
    let mut tries = 1;
    let is_within = |least| row.is_none_or(|row| row.allows(least));
    while if for_table { tries < TRIES_FOR_TABLE } else { tries < TRIES && !is_within(least) } {
        least = least.min(take(load)?);
        tries += 1;
    }
    Ok((least, if tries > 1 { format!("  (least of {tries})") } else { String::new() }))
}

/// What else determines the number of instructions: the versions of rustc and valgrind, and the processor. If they differ from those
/// of the table, only CI fails.
fn made_with() -> String {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&output).split(' ').take(2).collect::<Vec<_>>().join(" ").trim().to_owned()
    };
    format!("{}, {}, {}", version("rustc"), version("valgrind"), env::consts::ARCH)
}
