//! The network: URLs, proxies, and the bytes of netlink, STUN, NAT-PMP, `UPnP` and SOCKS5. Bytes in, values out.

pub mod family;
pub mod interface_id;
pub mod listen;
pub mod local_address;
pub mod natpmp;
pub mod netlink;
pub mod network;
pub mod proxy;
pub mod reach;
pub mod socks;
pub mod ssl;
pub mod status;
pub mod stun;
pub mod upnp;
pub mod url;
