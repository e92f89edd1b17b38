//! The kernel's notifications to a program that listens: about addresses, interfaces, and routes to the internet (with
//! the rules that choose among their tables) that come and go.
//!
//! Many notifications change nothing: every router advertisement renews lifetimes. The monitor remembers what they
//! said, so that only a change counts.

use std::collections::HashMap;
use std::net::IpAddr;

use super::{
    FAMILY_V4, FAMILY_V6, MalformedMessage, Message, NEW_ADDRESS, NEW_LINK, NEW_ROUTE, UP, address, attribute, ip_of,
    number,
};
use crate::net::family::Family;
use crate::net::local_address::{Flags, LocalAddress};
use crate::net::network::Network;

const DELETE_LINK: u16 = 17;
const DELETE_ADDRESS: u16 = 21;
const DELETE_ROUTE: u16 = 25;
const NEW_RULE: u16 = 32;
const DELETE_RULE: u16 = 33;

/// The attribute with the network that a route or a rule is about.
const DESTINATION: u16 = 1;

/// A network with a prefix no longer than this is a large part of the internet.
const LARGE: u8 = 3;

/// The flag of a rule that applies to everything except what it names.
const INVERT: u32 = 2;

/// The length of what comes before the attributes of a route or a rule.
const HEAD: usize = 12;

/// The groups to listen to: interfaces, and addresses, routes and rules of both families.
pub const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x80 | 0x100 | 0x400 | 0x4_0000;

/// The state at the start, and what the kernel has notified since.
#[derive(Debug, Default)]
pub struct Monitor {
    addresses: HashMap<(u32, IpAddr), Flags>,
    /// Whether each interface is switched on.
    links: HashMap<u32, bool>,
}

impl Monitor {
    /// Starts with these addresses.
    pub fn new(addresses: &[LocalAddress]) -> Self {
        let links = addresses.iter().map(|address| (address.index, !address.flags.down)).collect();
        let flags = |address: &LocalAddress| Flags { down: false, unplugged: false, ..address.flags };
        let addresses = addresses.iter().map(|address| ((address.index, address.ip), flags(address))).collect();
        Self { addresses, links }
    }

    /// Takes notifications. Returns, by [`Family::index`], whether the host's address may have changed.
    pub fn take(&mut self, bytes: &[u8]) -> [bool; 2] {
        let mut changed = [false; 2];
        let mut rest = bytes;
        while !rest.is_empty() {
            // A notification that is not understood may mean anything.
            let Ok(message) = Message::first(rest) else { return [true; 2] };
            rest = message.rest;
            match self.is_change(&message) {
                Ok(families) => changed = [changed[0] | families[0], changed[1] | families[1]],
                Err(MalformedMessage) => return [true; 2],
            }
        }
        changed
    }

    fn is_change(&mut self, message: &Message<'_>) -> Result<[bool; 2], MalformedMessage> {
        match message.kind {
            NEW_ADDRESS | DELETE_ADDRESS => {
                let Some(found) = address(message.body, &|_| Some(String::new()))? else { return Ok([false; 2]) };
                let key = (found.index, found.ip);
                // An address that is tentative or a duplicate is not there yet, and its end is no change.
                let counts = |flags: Flags| !flags.tentative && !flags.dad_failed;
                let is_changed = if message.kind == DELETE_ADDRESS {
                    self.addresses.remove(&key).is_none_or(counts)
                } else {
                    let before = self.addresses.insert(key, found.flags);
                    before != Some(found.flags) && (counts(found.flags) || before.is_some_and(counts))
                };
                Ok(Family::ALL.map(|family| is_changed && Family::of(found.ip) == Some(family)))
            }
            // The kernel sends no notification for a route that is replaced, or goes with its interface. So each one
            // that arrives counts.
            NEW_ROUTE | DELETE_ROUTE | NEW_RULE | DELETE_RULE => {
                let is_rule = matches!(message.kind, NEW_RULE | DELETE_RULE);
                let is_inverted = is_rule && number(message.body.get(8..).unwrap_or_default())? & INVERT != 0;
                // A rule about a source has no say in which source is chosen. A rule about everything except one
                // network leads to the internet.
                let is_about_source = is_rule && *message.body.get(2).ok_or(MalformedMessage)? > 0;
                let changed = match leads_far(message.body)? {
                    _ if is_inverted => family_of(message.body),
                    changed => changed.filter(|_| !is_about_source),
                };
                Ok(Family::ALL.map(|family| changed == Some(family)))
            }
            NEW_LINK | DELETE_LINK => {
                let field = |at: usize| number(message.body.get(at..).unwrap_or_default());
                let (index, is_up) = (field(4)?, field(8)? & UP != 0);
                let was_up = if message.kind == DELETE_LINK {
                    self.links.remove(&index)
                } else {
                    self.links.insert(index, is_up)
                };
                // If an interface stays on or off, nothing changed. The interfaces of containers come and go without an address.
                let is_changed = was_up != Some(is_up);
                let has = |family| {
                    let is_on = |(at, ip): &(u32, IpAddr)| {
                        *at == index && Family::of(*ip) == Some(family) && !is_link_local(*ip)
                    };
                    self.addresses.keys().any(is_on)
                };
                Ok(Family::ALL.map(|family| is_changed && has(family)))
            }
            _ => Ok([false; 2]),
        }
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// The family of a route or a rule; `None` if it is neither IPv4 nor IPv6.
fn family_of(body: &[u8]) -> Option<Family> {
    match *body.first()? {
        FAMILY_V4 => Some(Family::V4),
        FAMILY_V6 => Some(Family::V6),
        _ => None,
    }
}

/// The family in which a route or a rule leads to the internet, in any table: as a default route, or as the half of it
/// that a VPN takes. `None` if it leads to a particular network.
fn leads_far(body: &[u8]) -> Result<Option<Family>, MalformedMessage> {
    let (&[number, length], _) = body.split_first_chunk().ok_or(MalformedMessage)?;
    let Some(family) = family_of(body) else { return Ok(None) };
    let mut is_far = length <= LARGE;
    let mut rest = body.get(HEAD..).ok_or(MalformedMessage)?;
    while !rest.is_empty() {
        let (kind, value) = attribute(&mut rest)?;
        if kind == DESTINATION {
            let network = Network::of(ip_of(number, value)?, length.into()).ok_or(MalformedMessage)?;
            is_far |= network.contains(family.far());
        }
    }
    Ok(is_far.then_some(family))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::tests::{V4, V6, attribute, message};
    use super::super::{ADDRESS, FLAGS, LOCAL};
    use super::*;

    const TENTATIVE: u32 = 0x40;
    const NOTHING: [bool; 2] = [false; 2];
    const V4_CHANGED: [bool; 2] = [true, false];
    const V6_CHANGED: [bool; 2] = [false, true];

    fn v6(kind: u16, flags: u32) -> Vec<u8> {
        let attributes = [attribute(ADDRESS, &V6), attribute(FLAGS, &flags.to_ne_bytes())].concat();
        message(kind, 0, &[&[FAMILY_V6, 64, 0, 0][..], &2_u32.to_ne_bytes(), &attributes].concat())
    }

    fn v4(kind: u16) -> Vec<u8> {
        let attributes = attribute(LOCAL, &V4);
        message(kind, 0, &[&[FAMILY_V4, 24, 0, 0][..], &2_u32.to_ne_bytes(), &attributes].concat())
    }

    const GATEWAY: u16 = 5;

    fn route(kind: u16, length: u8, to: [u8; 4], gateway: [u8; 4]) -> Vec<u8> {
        let head = [FAMILY_V4, length, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        let to = if length == 0 { Vec::new() } else { attribute(DESTINATION, &to) };
        message(kind, 0, &[&head[..], &to, &attribute(GATEWAY, &gateway)].concat())
    }

    fn rule(kind: u16, family: u8, (to, from): (u8, u8)) -> Vec<u8> {
        message(kind, 0, &[family, to, from, 0, 100, 0, 0, 1, 0, 0, 0, 0])
    }

    fn link(kind: u16, flags: u32) -> Vec<u8> {
        message(kind, 0, &[&[0; 4][..], &2_u32.to_ne_bytes(), &flags.to_ne_bytes(), &[0; 4]].concat())
    }

    #[test]
    fn an_address_counts_once_when_it_comes_and_once_when_it_goes() {
        let mut monitor = Monitor::default();
        assert_eq!(monitor.take(&v4(NEW_ADDRESS)), V4_CHANGED);
        assert_eq!(monitor.take(&v4(NEW_ADDRESS)), NOTHING, "renewed");
        assert_eq!(monitor.take(&v4(DELETE_ADDRESS)), V4_CHANGED);
        assert_eq!(monitor.take(&[v4(NEW_ADDRESS), v6(NEW_ADDRESS, 0)].concat()), [true, true]);
    }

    #[test]
    fn a_tentative_address_is_no_change_before_it_is_good() {
        let mut monitor = Monitor::default();
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, TENTATIVE)), NOTHING);
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, 0)), V6_CHANGED);
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, 0x20)), V6_CHANGED, "deprecated");
        assert_eq!(monitor.take(&v6(DELETE_ADDRESS, 0)), V6_CHANGED);
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, TENTATIVE | 0x08)), NOTHING, "somebody else has it");
        assert_eq!(monitor.take(&v6(DELETE_ADDRESS, TENTATIVE)), NOTHING);
    }

    #[test]
    fn only_routes_to_the_internet_count() {
        let mut monitor = Monitor::default();
        let far = |kind, gateway| route(kind, 0, [0; 4], gateway);
        assert_eq!(monitor.take(&far(NEW_ROUTE, [10, 0, 0, 1])), V4_CHANGED);
        assert_eq!(monitor.take(&far(NEW_ROUTE, [10, 0, 0, 2])), V4_CHANGED);
        assert_eq!(monitor.take(&far(NEW_ROUTE, [10, 0, 0, 1])), V4_CHANGED, "there and back");
        assert_eq!(monitor.take(&far(DELETE_ROUTE, [10, 0, 0, 1])), V4_CHANGED);
        let cases = [
            ((1, [0, 0, 0, 0]), V4_CHANGED),
            ((1, [128, 0, 0, 0]), V4_CHANGED),
            ((2, [64, 0, 0, 0]), V4_CHANGED),
            ((7, [198, 0, 0, 0]), V4_CHANGED),
            ((24, [198, 41, 0, 0]), V4_CHANGED),
            ((7, [12, 0, 0, 0]), NOTHING),
            ((16, [172, 17, 0, 0]), NOTHING),
            ((32, [203, 0, 113, 9]), NOTHING),
        ];
        for ((length, to), expected) in cases {
            assert_eq!(monitor.take(&route(NEW_ROUTE, length, to, [10, 0, 0, 1])), expected, "{to:?}/{length}");
        }
    }

    #[test]
    fn rules_count_that_choose_the_table_of_the_way_to_the_internet() {
        let mut monitor = Monitor::default();
        assert_eq!(monitor.take(&rule(NEW_RULE, FAMILY_V4, (0, 0))), V4_CHANGED);
        assert_eq!(monitor.take(&rule(DELETE_RULE, FAMILY_V6, (0, 0))), V6_CHANGED);
        assert_eq!(monitor.take(&rule(NEW_RULE, FAMILY_V4, (0, 32))), NOTHING, "of one source");
        let mut inverted = rule(NEW_RULE, FAMILY_V4, (0, 16));
        let flags = inverted.len() - 4;
        inverted[flags..].copy_from_slice(&INVERT.to_ne_bytes());
        assert_eq!(monitor.take(&inverted), V4_CHANGED, "of all sources but one");
        assert_eq!(monitor.take(&rule(NEW_RULE, 128, (0, 0))), NOTHING, "of another family");
        assert_eq!(monitor.take(&message(NEW_RULE, 0, &[FAMILY_V4])), [true; 2], "what is not understood");
    }

    #[test]
    fn an_interface_with_an_address_counts_when_it_is_switched() {
        let mut monitor = Monitor::default();
        for (kind, flags) in [(NEW_LINK, UP), (NEW_LINK, 0), (DELETE_LINK, 0), (NEW_LINK, UP)] {
            assert_eq!(monitor.take(&link(kind, flags)), NOTHING, "no address");
        }
        assert_eq!(monitor.take(&v4(NEW_ADDRESS)), V4_CHANGED);
        assert_eq!(monitor.take(&link(NEW_LINK, UP | 0x1_0000)), NOTHING, "its cable is another matter");
        assert_eq!(monitor.take(&link(NEW_LINK, 0)), V4_CHANGED);
        assert_eq!(monitor.take(&link(NEW_LINK, UP)), V4_CHANGED);
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, 0)), V6_CHANGED);
        assert_eq!(monitor.take(&link(DELETE_LINK, 0)), [true, true]);
    }

    #[test]
    fn what_was_there_at_first_is_known() {
        let mut found = Vec::new();
        super::super::addresses(&v4(NEW_ADDRESS), |_| Some(String::new()), &mut found).expect("an address");
        let mut monitor = Monitor::new(&found);
        assert_eq!(monitor.take(&v4(NEW_ADDRESS)), NOTHING, "renewed");
        assert_eq!(monitor.take(&link(NEW_LINK, UP)), NOTHING);
        assert_eq!(monitor.take(&link(NEW_LINK, 0)), V4_CHANGED);
        assert_eq!(monitor.take(&v4(DELETE_ADDRESS)), V4_CHANGED);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken(bytes in vec(any::<u8>(), 0..200), cut in 0..100_usize) {
            let mut monitor = Monitor::default();
            monitor.take(&bytes);
            let whole = [v6(NEW_ADDRESS, 0), route(NEW_ROUTE, 24, [1, 2, 3, 0], [1, 2, 3, 4]), link(NEW_LINK, UP)].concat();
            monitor.take(&whole[..whole.len() - cut.min(whole.len())]);
        }
    }
}
