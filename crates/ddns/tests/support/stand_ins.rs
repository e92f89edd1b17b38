//! Programs of the system that must not be run by a test: scripts in their place note how they were called.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{Run, Sandbox};

/// Fails where a file `fails` contains its arguments; keeps a table, as crontab does; says what systemctl says.
const SCRIPT: &str = r#"#!/bin/sh
name=$(basename "$0")
folder=$(dirname "$0")/..
echo "$name $*" >>"$folder/calls"
if [ -e "$folder/fails" ] && grep -q -F -e "$*" "$folder/fails"; then
    echo "$name: no luck today" >&2
    exit 1
fi
case "$name $*" in
    "crontab -l") cat "$folder/table" 2>/dev/null || { echo "no crontab" >&2; exit 1; } ;;
    "crontab -r") rm "$folder/table" ;;
    "crontab -") cat >"$folder/table" ;;
    "systemctl "*"show "*) cat "$folder/shown" 2>/dev/null ;;
    "journalctl "*) echo "a line of the journal" ;;
    "logread "*) echo "a line of the log" ;;
esac
"#;

/// The programs that are replaced.
const NAMES: [&str; 7] = ["systemctl", "systemd-sysusers", "journalctl", "crontab", "chgrp", "launchctl", "logread"];

/// A place with such programs, in which `ddns` is run.
pub struct FakePrograms {
    pub sandbox: Sandbox,
    program: String,
}

impl FakePrograms {
    pub fn new(sandbox: Sandbox) -> Self {
        Self::of(sandbox, env!("CARGO_BIN_EXE_ddns"))
    }

    /// The same for a program that is elsewhere.
    pub fn of(sandbox: Sandbox, program: &str) -> Self {
        for name in NAMES {
            let path = sandbox.write(&format!("bin/{name}"), SCRIPT);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it can be run");
        }
        Self { sandbox, program: program.to_owned() }
    }

    /// `ddns`, with the stand-ins before everything else in `PATH`.
    pub fn command(&self, args: &[&str]) -> Command {
        let plain = self.sandbox.command(args);
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(self.sandbox.path(".")).env_clear().stdin(std::process::Stdio::null());
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.sandbox.path("bin").display()));
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        Run::of(&self.command(args).output().expect("the program starts"))
    }

    /// How the stand-ins were called since the last time.
    pub fn calls(&self) -> Vec<String> {
        let file = self.sandbox.path("calls");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let _ = fs::remove_file(file);
        text.lines().map(str::to_owned).collect()
    }

    /// Writes a configuration somewhere, readable as `mode` has it.
    pub fn configure(&self, path: impl AsRef<Path>, mode: u32, text: &str) {
        let path = self.sandbox.path("").join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        fs::write(&path, text).expect("the file is written");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the permissions are set");
    }
}
