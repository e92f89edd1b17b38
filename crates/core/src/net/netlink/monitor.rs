//! The kernel's notifications to a program that listens: addresses, default routes and interfaces that come and go.
//!
//! Many of them change nothing: lifetimes are renewed with every router advertisement. What they say is remembered, so
//! that only a change counts.

use std::collections::HashMap;
use std::net::IpAddr;

use super::{Broken, FAMILY_V4, FAMILY_V6, Message, NEW_ADDRESS, NEW_LINK, UP, address, number};
use crate::net::family::Family;
use crate::net::local_address::Flags;

const DELETE_LINK: u16 = 17;
const DELETE_ADDRESS: u16 = 21;
const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;

/// The groups to listen to: interfaces, and addresses and routes of both families.
pub const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

/// What the kernel has notified so far.
#[derive(Debug, Default)]
pub struct Monitor {
    addresses: HashMap<(u32, IpAddr), Flags>,
    /// Whether an interface is switched on.
    links: HashMap<u32, bool>,
}

impl Monitor {
    /// Takes notifications in. The result, by [`Family::index`]: whether the host's address may have changed.
    pub fn take(&mut self, bytes: &[u8]) -> [bool; 2] {
        let mut changed = [false; 2];
        let mut rest = bytes;
        while !rest.is_empty() {
            // What is not understood may be anything.
            let Ok(message) = Message::first(rest) else { return [true; 2] };
            rest = message.rest;
            match self.is_change(&message) {
                Ok(families) => changed = [changed[0] | families[0], changed[1] | families[1]],
                Err(Broken) => return [true; 2],
            }
        }
        changed
    }

    /// Whether an address of the family is there of which the kernel does not know yet whether it is good.
    pub fn is_settling(&self, family: Family) -> bool {
        let is_settling = |ip: &IpAddr, flags: &Flags| {
            Family::of(*ip) == Some(family) && flags.tentative && !flags.dad_failed && !is_link_local(*ip)
        };
        self.addresses.iter().any(|((_, ip), flags)| is_settling(ip, flags))
    }

    fn is_change(&mut self, message: &Message<'_>) -> Result<[bool; 2], Broken> {
        match message.kind {
            NEW_ADDRESS | DELETE_ADDRESS => {
                let Some(found) = address(message.body, &|_| Some(String::new()))? else { return Ok([false; 2]) };
                let key = (found.index, found.ip);
                // One that is not known to be good is not there yet, and its end is no change.
                let counts = |flags: Flags| !flags.tentative && !flags.dad_failed;
                let is_changed = if message.kind == DELETE_ADDRESS {
                    self.addresses.remove(&key).is_none_or(counts)
                } else {
                    let before = self.addresses.insert(key, found.flags);
                    before != Some(found.flags) && (counts(found.flags) || before.is_some_and(counts))
                };
                Ok(Family::ALL.map(|family| is_changed && Family::of(found.ip) == Some(family)))
            }
            // None comes for a route that is replaced, or goes with its interface: so each that comes counts.
            NEW_ROUTE | DELETE_ROUTE => {
                let changed = family_of_default_route(message.body)?;
                Ok(Family::ALL.map(|family| changed == Some(family)))
            }
            NEW_LINK | DELETE_LINK => {
                let field = |at: usize| number(message.body.get(at..).unwrap_or_default());
                let (index, is_up) = (field(4)?, field(8)? & UP != 0);
                let is_changed = if message.kind == DELETE_LINK {
                    self.links.remove(&index).is_none_or(|was_up| was_up)
                } else {
                    // One that was on and stays on is no change.
                    self.links.insert(index, is_up).map_or(!is_up, |was_up| was_up != is_up)
                };
                Ok([is_changed; 2])
            }
            _ => Ok([false; 2]),
        }
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// None where it is a route to somewhere in particular.
fn family_of_default_route(body: &[u8]) -> Result<Option<Family>, Broken> {
    let (&[family, length], _) = body.split_first_chunk().ok_or(Broken)?;
    Ok(match family {
        FAMILY_V4 if length == 0 => Some(Family::V4),
        FAMILY_V6 if length == 0 => Some(Family::V6),
        _ => None,
    })
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

    fn route(kind: u16, length: u8, gateway: [u8; 4]) -> Vec<u8> {
        let head = [FAMILY_V4, length, 0, 0, 254, 3, 0, 1, 0, 0, 0, 0];
        message(kind, 0, &[&head[..], &attribute(GATEWAY, &gateway)].concat())
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
    fn a_tentative_address_is_waited_for() {
        let mut monitor = Monitor::default();
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, TENTATIVE)), NOTHING);
        assert!(monitor.is_settling(Family::V6) && !monitor.is_settling(Family::V4));
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, 0)), V6_CHANGED);
        assert!(!monitor.is_settling(Family::V6));
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, 0x20)), V6_CHANGED, "deprecated");
        assert_eq!(monitor.take(&v6(DELETE_ADDRESS, 0)), V6_CHANGED);
        assert_eq!(monitor.take(&v6(NEW_ADDRESS, TENTATIVE | 0x08)), NOTHING, "somebody else has it");
        assert!(!monitor.is_settling(Family::V6));
        assert_eq!(monitor.take(&v6(DELETE_ADDRESS, TENTATIVE)), NOTHING);
    }

    #[test]
    fn only_default_routes_count() {
        let mut monitor = Monitor::default();
        assert_eq!(monitor.take(&route(NEW_ROUTE, 24, [10, 0, 0, 1])), NOTHING);
        assert_eq!(monitor.take(&route(NEW_ROUTE, 0, [10, 0, 0, 1])), V4_CHANGED);
        assert_eq!(monitor.take(&route(NEW_ROUTE, 0, [10, 0, 0, 2])), V4_CHANGED);
        assert_eq!(monitor.take(&route(NEW_ROUTE, 0, [10, 0, 0, 1])), V4_CHANGED, "there and back");
        assert_eq!(monitor.take(&route(DELETE_ROUTE, 0, [10, 0, 0, 1])), V4_CHANGED);
    }

    #[test]
    fn an_interface_counts_when_it_is_switched() {
        let mut monitor = Monitor::default();
        assert_eq!(monitor.take(&link(NEW_LINK, UP)), NOTHING);
        assert_eq!(monitor.take(&link(NEW_LINK, UP | 0x1_0000)), NOTHING, "its cable is another matter");
        assert_eq!(monitor.take(&link(NEW_LINK, 0)), [true, true]);
        assert_eq!(monitor.take(&link(NEW_LINK, UP)), [true, true]);
        assert_eq!(monitor.take(&link(DELETE_LINK, 0)), [true, true]);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken(bytes in vec(any::<u8>(), 0..200), cut in 0..100_usize) {
            let mut monitor = Monitor::default();
            monitor.take(&bytes);
            let whole = [v6(NEW_ADDRESS, 0), route(NEW_ROUTE, 0, [1, 2, 3, 4]), link(NEW_LINK, UP)].concat();
            monitor.take(&whole[..whole.len() - cut.min(whole.len())]);
        }
    }
}
