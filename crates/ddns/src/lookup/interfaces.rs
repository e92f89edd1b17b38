//! All addresses of this host's interfaces.

use ddns_core::net::local_address::LocalAddress;
use ddns_core::text::order;

use crate::platform;

/// By the number of the interface, then as the system lists them.
pub(crate) fn list() -> Result<Vec<LocalAddress>, String> {
    let mut found = platform::local_addresses()?;
    order::sort_by_key(&mut found, |address| address.index);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    #[test]
    fn the_loopback_address_is_listed() {
        let found = list().expect("a list");
        let loopback = found.iter().find(|address| address.ip == IpAddr::V4(Ipv4Addr::LOCALHOST));
        let loopback = loopback.expect("127.0.0.1");
        assert!(loopback.interface.starts_with("lo"), "{loopback:?}");
        assert_eq!(loopback.prefix, 8);
        assert!(found.is_sorted_by_key(|address| address.index), "{found:?}");
    }
}
