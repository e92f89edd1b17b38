//! Other systems: the kernel sends no notifications, so addresses are looked up only at every interval, and changed
//! files are noticed only when the service wakes anyway.

use std::future::Future as _;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ddns_core::net::family::Family;
use ddns_core::net::local_address::{Flags, Lifetime, LocalAddress, Scope};
use ddns_core::net::netlink::Gateway;
use if_addrs::{IfAddr, Interface, get_if_addrs};
use rustix::time::{ClockId, clock_gettime};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::wake::Wake;

#[cfg(target_os = "android")]
const STEADY: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "android"))]
const STEADY: ClockId = ClockId::Monotonic;

/// The time since a fixed moment before this process began. The clock cannot be set; on some systems it stops during
/// suspend.
pub(crate) fn steady_time() -> Duration {
    let time = clock_gettime(STEADY);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Not available on these systems.
pub(crate) enum Kernel {}

impl Kernel {
    pub(crate) fn listen() -> io::Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn poll(&mut self, _: &mut Context<'_>) -> Poll<[bool; 2]> {
        match *self {}
    }
}

/// Wakes at a time; does not notice a suspend.
pub(crate) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    #[expect(clippy::unnecessary_wraps, reason = "on Linux it can fail")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(None))
    }

    pub(crate) fn set(&mut self, at: Option<Duration>) {
        self.0 = at.map(|at| Box::pin(sleep_until(Instant::now() + at.saturating_sub(steady_time()))));
    }

    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Wake> {
        match &mut self.0 {
            Some(sleep) => sleep.as_mut().poll(context).map(|()| Wake::Time),
            None => Poll::Pending,
        }
    }
}

/// Not available on these systems.
pub(crate) enum Folders {}

impl Folders {
    pub(crate) fn around<'a>(_: impl Iterator<Item = &'a PathBuf>) -> io::Result<Self> {
        Err(unsupported())
    }

    pub(crate) fn poll(&self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match *self {}
    }
}

fn unsupported() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "not on this system")
}

/// In the order of the system's library.
pub(crate) fn local_addresses() -> Result<Vec<LocalAddress>, String> {
    let interfaces =
        get_if_addrs().map_err(|error| format!("the system does not list the addresses of this host ({error})"))?;
    Ok(interfaces.into_iter().map(address).collect())
}

/// Only Linux reports them.
pub(crate) fn ignored_signals() -> u64 {
    0
}

/// Only on Linux can ddns read the routes.
pub(crate) fn gateway() -> Result<Gateway, String> {
    Err("on this system the router must be named: `router:ADDRESS`".to_owned())
}

fn address(interface: Interface) -> LocalAddress {
    LocalAddress {
        index: interface.index.unwrap_or_default(),
        ip: interface.ip(),
        prefix: match &interface.addr {
            IfAddr::V4(v4) => v4.prefixlen,
            IfAddr::V6(v6) => v6.prefixlen,
        },
        interface: interface.name,
        scope: Scope::Unknown,
        flags: Flags::default(),
        valid: Lifetime::Unknown,
        preferred: Lifetime::Unknown,
    }
}

/// The system decides when to acknowledge.
pub(crate) fn acknowledge(_: &TcpStream) {}

/// The system drops nothing.
pub(crate) fn limit_unsent(_: &TcpStream, _: Duration) {}

/// Every socket has a file.
pub(crate) fn abstract_name(_: &str) -> Option<SocketAddr> {
    None
}

/// Access control lists are not checked on these systems.
pub(crate) fn has_acl(_: &Path) -> bool {
    false
}
