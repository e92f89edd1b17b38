//! What the kernel sends over netlink.
#![no_main]

use ddns_core::net::netlink::Monitor;
use ddns_core::net::netlink::{addresses, links};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut found = Vec::new();
    let _ = addresses(bytes, |index| (index % 3 != 0).then(|| format!("if{index}")), &mut found);
    let _ = links(bytes, &mut found);
    let mut monitor = Monitor::new(&found);
    let half = bytes.len() / 2;
    monitor.take(&bytes[..half]);
    monitor.take(&bytes[half..]);
    monitor.take(bytes);
});
