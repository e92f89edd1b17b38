//! `cmd:` and `shell:`: the first address of the family in the output of a program (F6). No standard input, 30 s at
//! most, and the whole process group is ended then.

use std::net::IpAddr;
use std::process::Stdio;
use std::time::Duration;

use ddns_core::observe::first_address;
use ddns_core::record::Family;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(30);

/// As much output is read; a program that says more is not listened to further.
const OUTPUT_LIMIT: u64 = 64 * 1024;

pub(super) async fn look(words: &[String], family: Family) -> Result<IpAddr, String> {
    let [program, arguments @ ..] = words else { return Err("it names no program".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("`{program}` cannot be started ({error})"))?;
    let group = Group::of(&child);
    let mut output = Vec::new();
    let ended = timeout(LIMIT, async {
        if let Some(stdout) = child.stdout.take() {
            let _ = stdout.take(OUTPUT_LIMIT).read_to_end(&mut output).await;
        }
        child.wait().await
    });
    let ended = ended.await;
    // Whatever is left of the group, a child of the program say, is ended too.
    group.end();
    match ended {
        Err(_) => Err(format!("`{program}` did not end within {} s and was stopped", LIMIT.as_secs())),
        Ok(Err(error)) => Err(format!("`{program}` cannot be waited for ({error})")),
        Ok(Ok(status)) => match first_address(&output, family) {
            Some(ip) if status.success() => Ok(ip),
            _ if !status.success() => Err(format!("`{program}` failed ({status})")),
            _ => Err(format!("the output of `{program}` holds no {family} address")),
        },
    }
}

/// The process group of a child.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw))
    }

    fn end(&self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
