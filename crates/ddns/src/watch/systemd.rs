//! Notifies systemd of the service's state (`sd_notify`), if systemd listens. A notification that fails is no reason to
//! stop.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use crate::environment::Environment;
use crate::platform::abstract_name;

/// Most messages do not wait for systemd to read: others follow.
const NO_TIME: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// How long to wait for it to read that the service is ready: it waits for that itself.
const READY_TIMEOUT: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// The notification socket.
pub(super) struct Systemd {
    socket: Option<UnixDatagram>,
    /// How often to call [`Systemd::alive`]; `None`: systemd has no watchdog for ddns.
    pub(super) watchdog: Option<Duration>,
    last: String,
}

impl Systemd {
    pub(super) fn new(environment: &Environment) -> Self {
        let ours = |name| environment.get(name).and_then(|text| text.parse::<u64>().ok());
        let is_meant = ours("WATCHDOG_PID").is_none_or(|process| process == u64::from(std::process::id()));
        let socket = environment.get("NOTIFY_SOCKET").and_then(connect);
        // Twice as often as systemd asks for.
        let watchdog =
            ours("WATCHDOG_USEC").filter(|_| is_meant && socket.is_some()).map(|time| Duration::from_micros(time / 2));
        Self { socket, watchdog, last: String::new() }
    }

    /// Whether systemd listens.
    pub(super) fn is_there(&self) -> bool {
        self.socket.is_some()
    }

    pub(super) fn ready(&mut self, status: &str) {
        self.notify(&format!("READY=1\nSTATUS={status}"), &READY_TIMEOUT);
        status.clone_into(&mut self.last);
    }

    pub(super) fn reloading(&mut self) {
        let now = clock_gettime(ClockId::Monotonic);
        // The types of its fields depend on the processor.
        let now = Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0));
        self.notify(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_micros()), &NO_TIME);
    }

    pub(super) fn stopping(&mut self) {
        self.notify("STOPPING=1", &NO_TIME);
    }

    pub(super) fn alive(&mut self) {
        self.notify("WATCHDOG=1", &NO_TIME);
    }

    /// One line for `systemctl status`; sent if it changed.
    pub(super) fn status(&mut self, status: &str) {
        if self.last != status && self.notify(&format!("STATUS={status}"), &NO_TIME) {
            status.clone_into(&mut self.last);
        }
    }

    /// Returns whether the message was sent. If the queue is full, waits for systemd, but not for something that never reads.
    fn notify(&self, message: &str, limit: &Timespec) -> bool {
        let Some(socket) = &self.socket else { return false };
        let is_full =
            |sent: &io::Result<usize>| sent.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        let mut sent = socket.send(message.as_bytes());
        if is_full(&sent) && poll(&mut [PollFd::new(socket, PollFlags::OUT)], Some(limit)).is_ok() {
            sent = socket.send(message.as_bytes());
        }
        sent.is_ok()
    }
}

/// Connects to a path or, with `@` in front, to a name without a file.
fn connect(name: &str) -> Option<UnixDatagram> {
    let socket = UnixDatagram::unbound().ok()?;
    let connected = match name.strip_prefix('@') {
        Some(name) => socket.connect_addr(&abstract_name(name)?),
        None => socket.connect(name),
    };
    connected.and_then(|()| socket.set_nonblocking(true)).ok().map(|()| socket)
}
