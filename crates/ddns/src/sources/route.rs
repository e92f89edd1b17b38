//! `default`: the address that the kernel would use toward the internet. No packet is sent: a UDP socket that is
//! "connected" only asks the routing table. What the kernel says of the address decides whether it is told.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use ddns_core::local::toward_internet;
use ddns_core::observe::Choice;
use ddns_core::record::Family;

/// Some address of the internet; which one does not matter, only that the way to it is the default route.
const FAR_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(1, 1, 1, 1));
const FAR_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2606, 0x4700, 0x4700, 0, 0, 0, 0, 0x1111));

pub(super) fn look(family: Family) -> Result<Choice, String> {
    let (own, far) = match family {
        Family::V4 => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), FAR_V4),
        Family::V6 => (IpAddr::V6(Ipv6Addr::UNSPECIFIED), FAR_V6),
    };
    let asked = UdpSocket::bind((own, 0)).and_then(|socket| {
        socket.connect((far, 53))?;
        socket.local_addr()
    });
    let route = asked.map_err(|error| format!("there is no {family} route to the internet ({error})"))?.ip();
    // Where the system does not list its addresses, the kernel's choice stands.
    toward_internet(route, &super::local_addresses().unwrap_or_default())
}
