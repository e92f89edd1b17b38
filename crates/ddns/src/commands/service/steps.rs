//! Carries out the steps that the core decided on, and reports each.

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use ddns_core::engine::Durability;
use ddns_core::service::Step;
use ddns_core::text::{screen, shell};

use crate::output::print;
use crate::store::replace;

/// Carries out all steps, up to the first that fails. The error says why.
pub(super) fn carry_out(steps: &[Step]) -> Result<(), String> {
    steps.iter().try_for_each(carry_out_one)
}

/// Carries out every step, even after one that fails: an uninstallation removes what it can. Returns the steps that
/// failed, and why.
pub(super) fn carry_out_each(steps: &[Step]) -> Vec<(&Step, String)> {
    steps.iter().filter_map(|step| Some((step, carry_out_one(step).err()?))).collect()
}

fn carry_out_one(step: &Step) -> Result<(), String> {
    let done = match step {
        Step::Write { path, text, mode } => write(path, text, *mode)?,
        Step::Remove(path) => remove(path)?,
        Step::RemoveFolder(path) => match fs::remove_dir(path) {
            Ok(()) => format!("Removed {path}"),
            Err(_) => return Ok(()),
        },
        Step::Run { words, input, must_succeed } => match run(words, input.as_deref()) {
            Err(why) if *must_succeed => return Err(why),
            Err(_) => return Ok(()),
            Ok(()) => format!("Ran {}", shell::line(words.iter().map(String::as_str))),
        },
    };
    print(&format!("{done}\n"));
    Ok(())
}

/// As `--print` shows them.
pub(super) fn shown(steps: &[Step]) -> String {
    steps.iter().map(Step::shown).collect()
}

fn write(path: &str, text: &str, mode: u32) -> Result<String, String> {
    let before = fs::read_to_string(path).ok();
    let is_same = fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o777 == mode);
    if is_same && before.as_deref() == Some(text) {
        return Ok(format!("{path} is up to date"));
    }
    let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
    let written = fs::create_dir_all(folder)
        .and_then(|()| replace(Path::new(path), &text, Durability::Power))
        .and_then(|_| fs::set_permissions(path, Permissions::from_mode(mode)));
    match written {
        Ok(()) => Ok(format!("{} {path}", if before.is_some() { "Updated" } else { "Wrote" })),
        Err(error) => Err(format!("{path} cannot be written ({error})")),
    }
}

fn remove(path: &str) -> Result<String, String> {
    match fs::remove_file(path) {
        Ok(()) => Ok(format!("Removed {path}")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(format!("{path} was already removed")),
        Err(error) => Err(format!("{path} cannot be removed ({error})")),
    }
}

/// Runs a program. The error contains what it printed, or its exit status.
fn run(words: &[String], input: Option<&str>) -> Result<(), String> {
    let line = shell::line(words.iter().map(String::as_str));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::piped());
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("`{line}` cannot be run: {} is not installed", words[0]),
        _ => format!("`{line}` cannot be run ({error})"),
    })?;
    if let (Some(text), Some(mut pipe)) = (input, child.stdin.take()) {
        // If the program does not read its input, its exit status tells what that means.
        let _ = pipe.write_all(text.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| format!("`{line}` was lost ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let why = if said.is_empty() { output.status.to_string() } else { screen::line(&said.join(" ")).into_owned() };
    Err(format!("`{line}` failed: {why}"))
}
