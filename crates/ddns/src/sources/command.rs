//! `cmd:` and `shell:`: the first address of the family in the output of a program (F6). No standard input, 30 s at
//! most, and the whole process group is ended then.

use std::io;
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use ddns_core::observe::first_address;
use ddns_core::record::Family;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{sleep, timeout};

const LIMIT: Duration = Duration::from_secs(30);

/// As much output is read; a program that says more is not listened to further.
const OUTPUT_LIMIT: u64 = 64 * 1024;

/// How often a program that has closed its output is asked whether it has ended.
const ASK_EVERY: Duration = Duration::from_millis(2);

pub(super) async fn look(words: &[String], family: Family) -> Result<IpAddr, String> {
    let [program, arguments @ ..] = words else { return Err("it names no program".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = command.process_group(0).spawn();
    let mut child = Group(child.map_err(|error| format!("`{program}` cannot be started ({error})"))?);
    let mut output = Vec::new();
    match timeout(LIMIT, child.run(&mut output)).await {
        Err(_) => Err(format!("`{program}` did not end within {} s and was stopped", LIMIT.as_secs())),
        Ok(Err(error)) => Err(format!("`{program}` cannot be listened to ({error})")),
        Ok(Ok(status)) if !status.success() => Err(format!("`{program}` failed ({status})")),
        Ok(Ok(_)) => {
            first_address(&output, family).ok_or_else(|| format!("the output of `{program}` holds no {family} address"))
        }
    }
}

/// A child with its process group; whatever is left of the group is ended when this is dropped.
struct Group(Child);

impl Group {
    /// Reads the output to its end and waits for the program's.
    async fn run(&mut self, output: &mut Vec<u8>) -> io::Result<ExitStatus> {
        if let Some(stdout) = self.0.stdout.take() {
            let pipe = pipe::Receiver::from_owned_fd(stdout.into())?;
            pipe.take(OUTPUT_LIMIT).read_to_end(output).await?;
        }
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            sleep(ASK_EVERY).await;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // Nothing is left behind, not even the name of an ended process.
        let _ = self.0.wait();
    }
}
