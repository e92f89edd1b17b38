//! `cmd:` and `shell:`: the first address of the family in the output of a program (F6). The program has no standard
//! input and 30 s at most. When it ends or its time is up, ddns kills the rest of its process group.

use std::cell::RefCell;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use ddns_core::address::in_text::{address_in, whole_words};
use ddns_core::address::observation::Choice;
use ddns_core::address::source::file_name;
use ddns_core::net::family::Family;
use ddns_core::text::duration::duration;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpid};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::open_file::reason;
use crate::signals::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, before_end, keep_children};

const LIMIT: Duration = Duration::from_secs(30);

/// How much output is read: 64 KiB, and one byte to know that there is more.
const MAX_OUTPUT_BYTES: usize = 64 * 1024 + 1;

/// The stack of a thread that only waits, in bytes.
const STACK: usize = 64 * 1024;

/// How long to wait between checks whether a silent program has ended; longer each time.
const ASK_FIRST: Duration = Duration::from_millis(2);
const MAX_POLL_PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn ask(words: &[String], family: Family) -> Result<Choice, String> {
    let [program, arguments @ ..] = words else { return Err("it names no program".to_owned()) };
    let mut command = Command::new(program);
    let program = file_name(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_ours(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    let child = ProcessGroup::spawn(&mut command);
    let mut child = child.map_err(|error| {
        let is_cut = error.kind() == io::ErrorKind::NotFound && !arguments.is_empty();
        let way_out = if is_cut { "; a path that contains spaces needs quotes" } else { "" };
        format!("`{program}` cannot be started ({}){way_out}", reason(&error))
    })?;
    let mut output = Vec::new();
    let ended = timeout(LIMIT, child.run(&mut output)).await;
    output.truncate(MAX_OUTPUT_BYTES);
    match ended {
        Err(_) => Err(format!("`{program}` did not finish within {} and was stopped", duration(LIMIT))),
        Ok(Err(error)) => Err(format!("the output of `{program}` cannot be read ({})", reason(&error))),
        Ok(Ok(Some(status))) if !status.success() => {
            Err(format!("`{program}` failed ({status}): run it by hand to see why"))
        }
        Ok(Ok(_)) => match address_in(whole_words(&output, MAX_OUTPUT_BYTES), family) {
            Ok(ip) => Ok(Choice { ip, why: format!("the first {family} address in the output of `{program}`") }),
            Err(why) => Err(format!("the output of `{program}` {why}")),
        },
    }
}

/// Whether a variable is for ddns alone: it may contain keys or a proxy's password, and programs must not notify
/// systemd.
fn is_ours(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with("ddns_") || name.ends_with("_proxy") || name == "notify_socket"
}

/// A child process with its process group. Dropping it kills what is left of the group.
struct ProcessGroup(Child);

thread_local! {
    /// The groups that are running.
    static RUNNING: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Whether no group is running.
static IS_IDLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

fn end(group: u32) {
    if let Some(group) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn note_idle() {
    IS_IDLE.store(RUNNING.with_borrow(Vec::is_empty), Ordering::SeqCst);
}

impl ProcessGroup {
    fn spawn(command: &mut Command) -> io::Result<Self> {
        // Signals from the terminal do not reach the child in its own group. Set this up before the child runs: a
        // signal may come at once.
        keep_children();
        IS_IDLE.store(false, Ordering::SeqCst);
        let end_all = || RUNNING.with_borrow(|running| running.iter().copied().for_each(end));
        let _ = before_end(&[SIGINT, SIGTERM, SIGHUP, SIGQUIT], &IS_IDLE, end_all);
        let child = command.process_group(0).spawn();
        RUNNING.with_borrow_mut(|running| running.extend(child.as_ref().map(Child::id)));
        note_idle();
        child.map(Self)
    }

    fn end(&self) {
        end(self.0.id());
    }

    /// Reads the output until the program ends: its background processes may keep the output open for longer. `None` if
    /// the output reached the limit, and ddns did not wait for the end.
    async fn run(&mut self, output: &mut Vec<u8>) -> io::Result<Option<ExitStatus>> {
        let Some(stdout) = self.0.stdout.take() else { return self.0.wait().map(Some) };
        let mut pipe = pipe::Receiver::from_owned_fd(stdout.into())?;
        let mut patience = ASK_FIRST;
        let mut is_open = true;
        loop {
            let heard = if is_open {
                timeout(patience, pipe.read_buf(output)).await
            } else {
                tokio::time::sleep(patience).await;
                Ok(Ok(0))
            };
            match heard {
                Ok(read) => is_open = read? > 0,
                Err(_) => patience = (patience * 2).min(MAX_POLL_PAUSE),
            }
            if output.len() >= MAX_OUTPUT_BYTES {
                return Ok(None);
            }
            if let Some(status) = self.0.try_wait()? {
                // Background processes print nothing more; the last output of the program may still be in the pipe.
                self.end();
                while output.len() < MAX_OUTPUT_BYTES
                    && let Ok(Ok(1..)) = timeout(ASK_FIRST, pipe.read_buf(output)).await
                {}
                return Ok(Some(status));
            }
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.end();
        let own = self.0.id();
        RUNNING.with_borrow_mut(|running| running.retain(|group| *group != own));
        note_idle();
        // Leave no zombie behind. ddns cannot kill a process of another user (`sudo`), so a thread waits for it.
        if let (Ok(None), Some(process)) = (self.0.try_wait(), Pid::from_raw(self.0.id().cast_signed())) {
            let wait = move || {
                let _ = waitpid(Some(process), WaitOptions::empty());
            };
            let _ = thread::Builder::new().stack_size(STACK).spawn(wait);
        }
    }
}
