//! `default`: the address that the kernel would use toward the internet. No packet is sent: a UDP socket that is
//! "connected" only asks the routing table.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ddns_core::observe::{Trust, stable_address, unusable};
use ddns_core::record::Family;

/// Some address of the internet; which one does not matter, only that the way to it is the default route.
const FAR_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1));
const FAR_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111));

pub(super) fn look(family: Family) -> Result<IpAddr, String> {
    let (own, far) = match family {
        Family::V4 => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), FAR_V4),
        Family::V6 => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), FAR_V6),
    };
    let asked = UdpSocket::bind((own, 0)).and_then(|socket| {
        socket.connect((far, 53))?;
        socket.local_addr()
    });
    let ip = asked.map_err(|error| format!("there is no {family} route to the internet ({error})"))?.ip();
    match unusable(ip, Trust::Own) {
        None => Ok(stable_instead_of(ip)),
        Some(why) => Err(format!("the route to the internet uses {ip}, and {why}")),
    }
}

/// A temporary IPv6 address changes every day: the stable one beside it is told instead (F2).
fn stable_instead_of(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    // Without the table (another system) the kernel's choice stands.
    let table = fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    IpAddr::V6(stable_address(v6, &table).unwrap_or(v6))
}
