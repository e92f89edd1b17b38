//! A NAT-PMP router announces a new outer address to all hosts of its network (F9). This is only a hint to ask the
//! router: any host in the network can send such a packet.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::task::{Context, Poll, ready};

use ddns_core::address::source::Source;
use ddns_core::config::Config;
use ddns_core::net::family::Family;
use ddns_core::net::natpmp::{ANNOUNCEMENT_PORT, NatPmpAnswer, read};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

use crate::platform::gateway;

/// Listens for routers that are sources.
pub(super) struct Announcements {
    socket: UdpSocket,
    /// The routers that the sources name; `None` is the router of the default route.
    routers: Vec<Option<Ipv4Addr>>,
}

impl Announcements {
    /// `None` if no router is a source.
    pub(super) fn of<'a>(configs: impl Iterator<Item = &'a Config>) -> Option<io::Result<Self>> {
        let entries = configs.flat_map(|config| &config.entries);
        let sources = entries.flat_map(|entry| entry.sources_of(Family::V4)).flat_map(Source::parts);
        let routers: Vec<Option<Ipv4Addr>> = sources.filter_map(Source::router).collect();
        (!routers.is_empty()).then(|| Ok(Self { socket: listening()?, routers }))
    }

    /// Ready when a router announces its address.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut bytes = [0; 64];
            let mut buffer = ReadBuf::new(&mut bytes);
            let Ok(from) = ready!(self.socket.poll_recv_from(context, &mut buffer)) else { continue };
            let is_address = matches!(read(buffer.filled()), Some(NatPmpAnswer::Address(_) | NatPmpAnswer::NoAddress));
            if is_address && self.is_router(from.ip()) {
                return Poll::Ready(());
            }
        }
    }

    fn is_router(&self, ip: IpAddr) -> bool {
        let default = || gateway().map(|gateway| gateway.ip).ok();
        self.routers.iter().any(|router| router.or_else(default).is_some_and(|router| ip == IpAddr::V4(router)))
    }
}

/// Other programs on this host may listen on the port, too.
fn listening() -> io::Result<UdpSocket> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &std::net::SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, ANNOUNCEMENT_PORT))?;
    UdpSocket::from_std(socket.into())
}
