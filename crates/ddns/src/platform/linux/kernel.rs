//! The kernel's notifications of changes.

use std::io;
use std::task::{Context, Poll, ready};

use ddns_core::net::netlink::{GROUPS, Monitor};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::addresses::local_addresses;
use super::readable::Readable;

/// A notification is a few hundred bytes long. A longer one is not understood, and so counts as a change.
const BUFFER: usize = 4 * 1024;

/// The kernel's notifications of addresses, routes and interfaces.
pub(crate) struct Kernel {
    socket: Readable,
    monitor: Monitor,
}

impl Kernel {
    pub(crate) fn listen() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        Ok(Self { socket: Readable::new(socket)?, monitor: known() })
    }

    /// The families whose addresses changed.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<[bool; 2]> {
        let mut buffer = [0; BUFFER];
        loop {
            let changed = if let Ok(length) = ready!(self.socket.poll(context, &mut buffer)) {
                self.monitor.take(&buffer[..length])
            } else {
                // Notifications were lost: anything may have changed, and the known addresses are outdated.
                self.monitor = known();
                [true; 2]
            };
            if changed != [false; 2] {
                return Poll::Ready(changed);
            }
        }
    }
}

/// A monitor that begins with the current addresses.
fn known() -> Monitor {
    Monitor::new(&local_addresses().unwrap_or_default())
}
