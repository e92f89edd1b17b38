//! Linux.

mod addresses;
mod folders;
mod kernel;
mod readable;
mod time;

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rustix::fs::getxattr;
use rustix::net::sockopt::{set_tcp_quickack, set_tcp_user_timeout};
use tokio::net::TcpStream;

pub(crate) use addresses::{gateway, local_addresses};
pub(crate) use folders::Folders;
pub(crate) use kernel::Kernel;
pub(crate) use time::{Timer, steady_time};

/// Acknowledges received data at once.
pub(crate) fn acknowledge(socket: &TcpStream) {
    let _ = set_tcp_quickack(socket, true);
}

/// Data that is not delivered within this time is dropped, with the connection.
pub(crate) fn limit_unsent(socket: &TcpStream, limit: Duration) {
    let _ = set_tcp_user_timeout(socket, u32::try_from(limit.as_millis()).unwrap_or(u32::MAX));
}

/// The address of a socket with a name, but without a file.
pub(crate) fn abstract_name(name: &str) -> Option<SocketAddr> {
    SocketAddr::from_abstract_name(name).ok()
}

/// Whether an access control list may let others read a file.
pub(crate) fn has_acl(path: &Path) -> bool {
    let mut none: [u8; 0] = [];
    getxattr(path, "system.posix_acl_access", &mut none).is_ok_and(|size| size > 0)
}

/// The signals that this process was started to ignore: a bit for each, from signal 1.
pub(crate) fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}
