//! All addresses of this host's interfaces, from the kernel: only the kernel knows which ones are temporary or
//! deprecated.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use ddns_core::net::local_address::LocalAddress;
use ddns_core::net::netlink::{DumpState, Gateway, List, addresses, gateways, links, request};
use ddns_core::text::duration::duration;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::netdevice::index_to_name;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with};

/// The kernel fills at most 32 KiB at once.
const BUFFER: usize = 32 * 1024;

/// The kernel responds at once; this only keeps a fault from stopping ddns.
const LIMIT: Duration = Duration::from_secs(2);

/// How often ddns asks for a list that keeps changing.
const TRIES: usize = 10;

/// In the order of the kernel.
pub(crate) fn local_addresses() -> Result<Vec<LocalAddress>, String> {
    for _ in 0..TRIES {
        let mut found = Vec::new();
        let is_listed =
            dump(List::Addresses, |piece, socket| addresses(piece, |index| name(socket, index), &mut found))?;
        if is_listed && dump(List::Links, |piece, _| links(piece, &mut found))? {
            return Ok(found);
        }
    }
    Err("the addresses keep changing while they are listed".to_owned())
}

/// The router of the default route of IPv4, and the number of the interface that leads to it.
pub(crate) fn gateway() -> Result<Gateway, String> {
    for _ in 0..TRIES {
        let mut found = Vec::new();
        if dump(List::Routes, |piece, _| gateways(piece, &mut found))? {
            let best = found.into_iter().min_by_key(|gateway| gateway.metric);
            return match best {
                Some(gateway) if !gateway.ip.is_unspecified() => Ok(gateway),
                Some(_) => Err("the default route has no router (a tunnel?); `router:ADDRESS` names one".to_owned()),
                None => Err("there is no default route; `router:ADDRESS` names a router".to_owned()),
            };
        }
    }
    Err("the routes keep changing while they are listed".to_owned())
}

/// Reads one list, on a socket of its own, so that no earlier response is in the way. `false` if the list changed
/// meanwhile.
fn dump(list: List, mut read: impl FnMut(&[u8], &OwnedFd) -> Result<DumpState, String>) -> Result<bool, String> {
    let socket = ask(list).map_err(|error| why(&error.into()))?;
    let mut buffer = Vec::with_capacity(BUFFER);
    loop {
        buffer.clear();
        // TRUNC: the length is that of the whole message, even if it did not fit.
        let length = match retry_on_intr(|| recv(&socket, spare_capacity(&mut buffer), RecvFlags::TRUNC)) {
            Ok((_, length)) => length,
            Err(Errno::NOBUFS) => return Ok(false),
            Err(Errno::AGAIN) => return Err(format!("the kernel did not list them within {}", duration(LIMIT))),
            Err(error) => return Err(why(&error.into())),
        };
        let piece = buffer.get(..length).ok_or("the kernel sent too much at once")?;
        if piece.is_empty() {
            return Err("the kernel's list of addresses has no end".to_owned());
        }
        match read(piece, &socket)? {
            DumpState::More => {}
            DumpState::Complete => return Ok(true),
            DumpState::Changed => return Ok(false),
            DumpState::Refused(number) => return Err(why(&io::Error::from_raw_os_error(number))),
        }
    }
}

/// Asks the kernel, and returns the socket. It is connected to the kernel, so nothing else can respond.
fn ask(list: List) -> Result<OwnedFd, Errno> {
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(LIMIT))?;
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    retry_on_intr(|| send(&socket, &request(list), SendFlags::empty()))?;
    Ok(socket)
}

/// `None` if the interface is gone. A name that is not UTF-8 cannot be looked up, but its addresses count.
fn name(socket: &OwnedFd, index: u32) -> Option<String> {
    match index_to_name(socket, index) {
        Ok(name) => Some(name),
        Err(Errno::NODEV | Errno::NXIO) => None,
        Err(_) => Some(format!("number {index}")),
    }
}

fn why(error: &io::Error) -> String {
    format!("the kernel does not list the addresses of this host ({error})")
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use ddns_core::net::local_address::{Flags, Lifetime, Scope};

    use super::*;

    #[test]
    fn the_kernel_lists_all_of_it() {
        let found = local_addresses().expect("a list");
        let loopback = found.iter().find(|address| address.ip == IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("127.0.0.1");
        assert_eq!((loopback.interface.as_str(), loopback.scope), ("lo", Scope::Host));
        assert_eq!(loopback.flags, Flags { permanent: true, ..Flags::default() });
        assert_eq!((loopback.valid, loopback.preferred), (Lifetime::Forever, Lifetime::Forever));
    }
}
