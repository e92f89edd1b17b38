//! All addresses of this host's interfaces.

use std::time::Duration;

use ddns_core::net::local_address::LocalAddress;
use ddns_core::text::order;
use tokio::time::{Instant, sleep};

use crate::platform;

/// The kernel needs up to two seconds to know that an address is unique. ddns waits no longer than this…
const SETTLING: Duration = Duration::from_secs(3);

/// …and looks this often.
const EVERY: Duration = Duration::from_millis(50);

/// In the order of the interface numbers, then in that of the system.
pub(crate) fn list() -> Result<Vec<LocalAddress>, String> {
    let mut found = platform::local_addresses()?;
    order::sort_by_key(&mut found, |address| address.index);
    Ok(found)
}

/// Waits until the kernel knows whether the stable addresses are unique: before, a temporary one would be taken
/// instead. The kernel does not report when it begins to check.
pub(super) async fn settle() {
    let until = Instant::now() + SETTLING;
    while Instant::now() < until && list().is_ok_and(|found| found.iter().any(LocalAddress::is_settling)) {
        sleep(EVERY).await;
    }
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
