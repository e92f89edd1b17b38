//! A network: an address, and how many of its bits count.

use std::net::IpAddr;

/// All addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    ip: IpAddr,
    bits: u32,
}

impl Network {
    /// `10.0.0.0/8`, `fd00::/8`, `[fd00::]/8`, or an address alone.
    pub fn parse(text: &str) -> Option<Self> {
        let (ip, bits) = text.split_once('/').map_or((text, None), |(ip, bits)| (ip, Some(bits)));
        let ip: IpAddr = ip.strip_prefix('[').and_then(|ip| ip.strip_suffix(']')).unwrap_or(ip).parse().ok()?;
        let most = if ip.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        match ip.to_canonical() {
            // `::ffff:192.0.2.1`: clients are compared in their usual form.
            v4 if v4 != ip && bits >= 96 => Self::of(v4, bits - 96),
            _ => Self::of(ip, bits),
        }
    }

    /// `None` if the address has fewer bits.
    pub fn of(ip: IpAddr, bits: u32) -> Option<Self> {
        let most = if ip.is_ipv4() { 32 } else { 128 };
        (bits <= most).then_some(Self { ip, bits })
    }

    /// Whether the network contains an address.
    pub fn contains(self, ip: IpAddr) -> bool {
        // If two addresses agree in their first bits, the shift leaves 0 of their difference.
        match (ip, self.ip) {
            (IpAddr::V4(ip), IpAddr::V4(network)) => {
                (ip.to_bits() ^ network.to_bits()).checked_shr(32 - self.bits).unwrap_or(0) == 0
            }
            (IpAddr::V6(ip), IpAddr::V6(network)) => {
                (ip.to_bits() ^ network.to_bits()).checked_shr(128 - self.bits).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}
