//! `default`: the address that the kernel would use toward the internet. No packet is sent: "connecting" a UDP socket
//! only asks the routing table. What the kernel reports about the address decides whether it may be sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ddns_core::address::local::toward_internet;
use ddns_core::address::observation::Choice;
use ddns_core::net::family::Family;
use ddns_core::net::reach::is_far;

use super::interfaces;
use crate::open_file::reason;

pub(super) fn ask(family: Family) -> Result<Choice, String> {
    let own = match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let asked = UdpSocket::bind((own, 0)).and_then(|socket| {
        socket.connect((family.far(), 53))?;
        socket.local_addr()
    });
    let route = asked.map_err(|error| format!("there is no {family} route to the internet ({})", reason(&error)))?.ip();
    match interfaces::list() {
        Ok(addresses) => toward_internet(route, &addresses),
        // The address may be a temporary one.
        Err(error) if family == Family::V6 => Err(error),
        // Take the kernel's choice, and say what is not known about it.
        Err(error) => toward_internet(route, &[]).map(|choice| Choice {
            why: format!("{} (the addresses of this host cannot be listed: {error})", choice.why),
            ..choice
        }),
    }
}

/// This host's address as `default` finds it.
pub(crate) fn own_address(family: Family) -> Option<IpAddr> {
    ask(family).ok().map(|choice| choice.ip)
}

/// The stable address from which to ask a server on the internet, which would otherwise see a temporary one.
pub(super) fn stable_source(server: IpAddr) -> Option<IpAddr> {
    if server.is_ipv6() && is_far(server) { own_address(Family::V6) } else { None }
}
