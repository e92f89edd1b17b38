//! Reads the Linux kernel's lists of all addresses, interfaces and routes (rtnetlink, `RTM_GETADDR`, `RTM_GETLINK`,
//! `RTM_GETROUTE`).
//!
//! Only the few fields that are needed are read here: a crate that knows all of netlink is many times this file. A
//! response is a sequence of messages, a message is a header and attributes, and both start with their own length:
//!
//! ```text
//! nlmsghdr   length u32 │ kind u16 │ flags u16 │ sequence u32 │ port u32
//! ifaddrmsg  family u8 │ prefix u8 │ flags u8 │ scope u8 │ index u32
//! ifinfomsg  family u8 │ unused u8 │ type u16 │ index u32 │ flags u32 │ change u32
//! rtmsg      family u8 │ destination u8 │ source u8 │ tos u8 │ table u8 │ protocol u8 │ scope u8 │ type u8 │ flags u32
//! rtattr     length u16 │ kind u16 │ value, filled up to a multiple of 4
//! ```
//!
//! Numbers are in the byte order of the host, addresses in that of the network.

mod monitor;

use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;

pub use monitor::{GROUPS, Monitor};

use crate::net::local_address::{Flags, Lifetime, LocalAddress, Scope};

const MESSAGE_HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;

// Kinds of messages, and the flag for a list that changed while it was read.
const ERROR: u16 = 2;
const DONE: u16 = 3;
const OVERRUN: u16 = 4;
const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const REQUEST_DUMP: u16 = 0x301;
const DUMP_INTERRUPTED: u16 = 0x10;

// Kinds of attributes. The two highest bits of a kind say how the value is written.
const KIND_BITS: u16 = 0x3fff;
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const CACHE_INFO: u16 = 6;
const FLAGS: u16 = 8;
// Attributes of a route.
const OUT_INTERFACE: u16 = 4;
const GATEWAY: u16 = 5;
const PRIORITY: u16 = 6;
const SEVERAL: u16 = 9;

/// Flag of an interface: it is switched on.
const UP: u32 = 0x01;

/// Flag of an interface: it has a cable, or an equivalent.
const LOWER_UP: u32 = 0x1_0000;

const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 10;

/// How far the kernel's response has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DumpState {
    /// There are more bytes to read.
    More,
    /// The response is complete.
    Complete,
    /// The addresses changed while they were listed: everything that was read may be wrong, and must be requested again.
    Changed,
    /// The kernel refuses, with this error number.
    Refused(i32),
}

/// What can be requested. The value is the kind of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum List {
    /// All interfaces.
    Links = 18,
    /// All addresses of both families.
    Addresses = 22,
    /// All IPv4 routes.
    Routes = 26,
}

/// The bytes of a request.
pub fn request(list: List) -> Vec<u8> {
    // Both messages may consist of their beginning alone: the fields left out count as 0 and filter nothing.
    const LENGTH: u8 = 32;
    let mut bytes = u32::from(LENGTH).to_ne_bytes().to_vec();
    bytes.extend((list as u16).to_ne_bytes());
    bytes.extend(REQUEST_DUMP.to_ne_bytes());
    // The only request on its socket needs no sequence number.
    bytes.resize(LENGTH.into(), 0);
    if list == List::Routes {
        bytes[MESSAGE_HEADER] = FAMILY_V4;
    }
    bytes
}

/// Reads one piece of the response, which may contain many messages, and appends its addresses to `found`.
///
/// `name` returns an interface's name; an interface without one has disappeared meanwhile, and its addresses with it.
/// Fails if the bytes are cut off or contradict themselves: a list with gaps could lead to a wrong address.
pub fn addresses(
    message_bytes: &[u8],
    name: impl Fn(u32) -> Option<String>,
    found: &mut Vec<LocalAddress>,
) -> Result<DumpState, String> {
    each(message_bytes, NEW_ADDRESS, |body| {
        found.extend(address(body, &name)?);
        Ok(())
    })
}

/// Reads one piece of the response, and marks each address whose interface is switched off or has no cable.
pub fn links(message_bytes: &[u8], addresses: &mut [LocalAddress]) -> Result<DumpState, String> {
    each(message_bytes, NEW_LINK, |body| {
        let field = |at: usize| number(body.get(at..).unwrap_or_default());
        let (index, flags) = (field(4)?, field(8)?);
        for address in addresses.iter_mut().filter(|address| address.index == index) {
            (address.flags.down, address.flags.unplugged) = (flags & UP == 0, flags & LOWER_UP == 0);
        }
        Ok(())
    })
}

/// The router of a default route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gateway {
    /// The kernel prefers lower values.
    pub metric: u32,
    /// Its address.
    pub ip: Ipv4Addr,
    /// The number of the interface that leads to it.
    pub interface: u32,
}

/// Reads one piece of the response, and appends the routers of the default IPv4 routes to `found`. The address is unspecified
/// if a route has no router: it leads into a tunnel, or nowhere.
pub fn gateways(message_bytes: &[u8], found: &mut Vec<Gateway>) -> Result<DumpState, String> {
    const MAIN_TABLE: u8 = 254;
    const UNICAST: u8 = 1;
    const DEAD: u32 = 1;
    // Routes that answer with an error, or not at all.
    const REFUSING: RangeInclusive<u8> = 6..=8;
    each(message_bytes, NEW_ROUTE, |body| {
        let (&[family, destination, _, _, table, _, _, kind], after) =
            body.split_first_chunk().ok_or(MalformedMessage)?;
        let is_dead = number(after.get(..4).ok_or(MalformedMessage)?)? & DEAD != 0;
        let mut rest = after.get(4..).ok_or(MalformedMessage)?;
        let is_meant = kind == UNICAST && !is_dead || REFUSING.contains(&kind);
        if family != FAMILY_V4 || destination != 0 || table != MAIN_TABLE || !is_meant {
            return Ok(());
        }
        let mut route = Gateway { metric: 0, ip: Ipv4Addr::UNSPECIFIED, interface: 0 };
        let mut routers = Vec::new();
        while !rest.is_empty() {
            let (kind, value) = attribute(&mut rest)?;
            match kind {
                GATEWAY => route.ip = ipv4(value)?,
                OUT_INTERFACE => route.interface = number(value)?,
                PRIORITY => route.metric = number(value)?,
                SEVERAL => routers = next_hops(value)?,
                _ => {}
            }
        }
        if routers.is_empty() {
            routers.push((route.ip, route.interface));
        }
        found.extend(routers.into_iter().map(|(ip, interface)| Gateway { ip, interface, ..route }));
        Ok(())
    })
}

/// The routers of a multipath route, and the interfaces that lead to them, in the kernel's order.
fn next_hops(mut rest: &[u8]) -> Result<Vec<(Ipv4Addr, u32)>, MalformedMessage> {
    const HEADER: usize = 8;
    // The interface is down, or its link is.
    const DOWN_HOP: u16 = u16::from_ne_bytes([1 | 16, 0]);
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (mut attributes, next) = cut(rest, half(rest, 0)?.into(), HEADER)?;
        let interface = number(rest.get(4..).unwrap_or_default())?;
        let is_down = half(rest, 2)? & DOWN_HOP != 0;
        while !attributes.is_empty() {
            if let (GATEWAY, value) = attribute(&mut attributes)?
                && !is_down
            {
                found.push((ipv4(value)?, interface));
            }
        }
        rest = next;
    }
    Ok(found)
}

fn ipv4(value: &[u8]) -> Result<Ipv4Addr, MalformedMessage> {
    <[u8; 4]>::try_from(value).map(Ipv4Addr::from).map_err(|_| MalformedMessage)
}

/// Hands the messages of one kind to `take`.
fn each(
    message_bytes: &[u8],
    kind: u16,
    mut take: impl FnMut(&[u8]) -> Result<(), MalformedMessage>,
) -> Result<DumpState, String> {
    let mut rest = message_bytes;
    while !rest.is_empty() {
        let message = Message::first(rest)?;
        rest = message.rest;
        if message.flags & DUMP_INTERRUPTED != 0 {
            return Ok(DumpState::Changed);
        }
        match message.kind {
            // Both contain a negative error number; 0 means no error.
            ERROR | DONE => match number(message.body) {
                Ok(code) if code.cast_signed() < 0 => {
                    return Ok(DumpState::Refused(code.cast_signed().saturating_neg()));
                }
                _ if message.kind == DONE => return Ok(DumpState::Complete),
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            },
            OVERRUN => return Ok(DumpState::Changed),
            found if found == kind => take(message.body)?,
            _ => {}
        }
    }
    Ok(DumpState::More)
}

/// The bytes end too early or contradict themselves.
struct MalformedMessage;

impl From<MalformedMessage> for String {
    fn from(MalformedMessage: MalformedMessage) -> Self {
        "the kernel's list of addresses is broken".to_owned()
    }
}

struct Message<'a> {
    kind: u16,
    flags: u16,
    body: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Message<'a> {
    fn first(bytes: &'a [u8]) -> Result<Self, MalformedMessage> {
        let length = usize::try_from(number(bytes)?).map_err(|_| MalformedMessage)?;
        let (body, rest) = cut(bytes, length, MESSAGE_HEADER)?;
        Ok(Self { kind: half(bytes, 4)?, flags: half(bytes, 6)?, body, rest })
    }
}

/// One address message; `None` if it is of another family, or its interface has disappeared.
fn address(body: &[u8], name: &impl Fn(u32) -> Option<String>) -> Result<Option<LocalAddress>, MalformedMessage> {
    let (&[family, prefix, short_flags, scope], after) = body.split_first_chunk().ok_or(MalformedMessage)?;
    let longest = match family {
        FAMILY_V4 => 32,
        FAMILY_V6 => 128,
        _ => return Ok(None),
    };
    let index = number(after)?;
    let (mut ip, mut local, mut lifetimes, mut flags) = (None, None, None, u32::from(short_flags));
    let mut rest = after.get(4..).unwrap_or_default();
    while !rest.is_empty() {
        let (kind, value) = attribute(&mut rest)?;
        match kind {
            ADDRESS => ip = Some(ip_of(family, value)?),
            LOCAL => local = Some(ip_of(family, value)?),
            // How long the address is preferred, how long it is valid, then when it was made and changed.
            CACHE_INFO => lifetimes = Some((number(value)?, number(value.get(4..).unwrap_or_default())?)),
            FLAGS => flags = number(value)?,
            _ => {}
        }
    }
    // On a link with two ends, ADDRESS is the other end.
    let ip = local.or(ip).ok_or(MalformedMessage)?;
    if prefix > longest {
        return Err(MalformedMessage);
    }
    let flags = flags_of(flags, ip);
    let unlimited = if flags.permanent { Lifetime::Forever } else { Lifetime::Unknown };
    let (preferred, valid) =
        lifetimes.map_or((unlimited, unlimited), |(preferred, valid)| (lifetime_of(preferred), lifetime_of(valid)));
    Ok(name(index).map(|interface| LocalAddress {
        interface,
        index,
        ip,
        prefix,
        scope: scope_of(scope),
        flags,
        valid,
        preferred,
    }))
}

fn ip_of(family: u8, value: &[u8]) -> Result<IpAddr, MalformedMessage> {
    let ip = match family {
        FAMILY_V4 => <[u8; 4]>::try_from(value).map(IpAddr::from),
        _ => <[u8; 16]>::try_from(value).map(IpAddr::from),
    };
    ip.map_err(|_| MalformedMessage)
}

fn flags_of(bits: u32, ip: IpAddr) -> Flags {
    let has = |bit: u32| bits & bit != 0;
    Flags {
        // For an IPv4 address, the same bit means that it is not the first one of its network.
        temporary: ip.is_ipv6() && has(0x01),
        dad_failed: has(0x08),
        deprecated: has(0x20),
        tentative: has(0x40),
        permanent: has(0x80),
        // `links` sets both.
        down: false,
        unplugged: false,
    }
}

fn scope_of(scope: u8) -> Scope {
    match scope {
        0 => Scope::Global,
        200 => Scope::Site,
        253 => Scope::Link,
        254 => Scope::Host,
        _ => Scope::Unknown,
    }
}

fn lifetime_of(seconds: u32) -> Lifetime {
    if seconds == u32::MAX { Lifetime::Forever } else { Lifetime::Seconds(seconds) }
}

/// Takes the first attribute off a sequence: its kind and value.
fn attribute<'a>(rest: &mut &'a [u8]) -> Result<(u16, &'a [u8]), MalformedMessage> {
    let kind = half(rest, 2)? & KIND_BITS;
    let (value, next) = cut(rest, half(rest, 0)?.into(), ATTRIBUTE_HEADER)?;
    *rest = next;
    Ok((kind, value))
}

/// Splits off the first item, which is `length` bytes long with its header: its body, and what follows from the next multiple of 4.
fn cut(bytes: &[u8], length: usize, header: usize) -> Result<(&[u8], &[u8]), MalformedMessage> {
    let body = bytes.get(header..length).ok_or(MalformedMessage)?;
    // The last item need not be filled up.
    Ok((body, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn number(bytes: &[u8]) -> Result<u32, MalformedMessage> {
    bytes.first_chunk().copied().map(u32::from_ne_bytes).ok_or(MalformedMessage)
}

fn half(bytes: &[u8], at: usize) -> Result<u16, MalformedMessage> {
    bytes.get(at..).and_then(<[u8]>::first_chunk).copied().map(u16::from_ne_bytes).ok_or(MalformedMessage)
}

#[cfg(test)]
mod tests;
