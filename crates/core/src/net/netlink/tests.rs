//! Reading the kernel's messages.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const FOREVER: u32 = u32::MAX;
pub(super) const V4: [u8; 4] = [203, 0, 113, 7];
pub(super) const V6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];

pub(super) fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(MESSAGE_HEADER + body.len()).expect("a short message");
    let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &flags.to_ne_bytes(), &[0; 8], body].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

pub(super) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(ATTRIBUTE_HEADER + value.len()).expect("a short attribute");
    let mut bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An address message for interface 2: family, prefix, flags, scope, then its attributes.
fn address_message(head: [u8; 4], attributes: &[Vec<u8>]) -> Vec<u8> {
    message(NEW_ADDRESS, 2, &[&head[..], &2_u32.to_ne_bytes(), &attributes.concat()].concat())
}

fn cache_info(preferred: u32, valid: u32) -> Vec<u8> {
    attribute(CACHE_INFO, &[preferred.to_ne_bytes(), valid.to_ne_bytes(), [0; 4], [0; 4]].concat())
}

#[test]
fn f9_the_router_is_that_of_the_default_route_also_where_there_are_several() {
    let route = |table: u8, attributes: &[Vec<u8>]| {
        message(NEW_ROUTE, 2, &[&[FAMILY_V4, 0, 0, 0, table, 0, 0, 1, 0, 0, 0, 0][..], &attributes.concat()].concat())
    };
    let hop = |ip: [u8; 4], interface: u32| {
        let way = attribute(GATEWAY, &ip);
        let length = u16::try_from(8 + way.len()).expect("short");
        [&length.to_ne_bytes()[..], &[if interface == 9 { 17 } else { 0 }, 0], &interface.to_ne_bytes(), &way].concat()
    };
    let read = |bytes: &[u8]| {
        let mut found = Vec::new();
        let state = gateways(bytes, &mut found)?;
        assert_eq!(state, DumpState::More);
        Ok::<_, String>(found)
    };
    let gateway = |ip: [u8; 4], metric, interface| Gateway { metric, ip: ip.into(), interface };
    let plain = [attribute(GATEWAY, &[10, 0, 0, 1]), attribute(OUT_INTERFACE, &3_u32.to_ne_bytes())];
    assert_eq!(read(&route(254, &plain)), Ok(vec![gateway([10, 0, 0, 1], 0, 3)]));
    assert_eq!(read(&route(255, &plain)), Ok(Vec::new()));
    let hops = [hop([10, 2, 0, 1], 9), hop([10, 0, 0, 1], 3), hop([10, 1, 0, 1], 4)].concat();
    let several = route(254, &[attribute(PRIORITY, &7_u32.to_ne_bytes()), attribute(SEVERAL, &hops)]);
    assert_eq!(read(&several), Ok(vec![gateway([10, 0, 0, 1], 7, 3), gateway([10, 1, 0, 1], 7, 4)]));
    // Without a router: a tunnel, and a route that refuses. A dead route counts as none.
    let of = |kind: u8, flags: u8, attributes: &[u8]| {
        message(NEW_ROUTE, 2, &[&[FAMILY_V4, 0, 0, 0, 254, 0, 0, kind, flags, 0, 0, 0][..], attributes].concat())
    };
    assert_eq!(read(&of(1, 0, &attribute(OUT_INTERFACE, &5_u32.to_ne_bytes()))), Ok(vec![gateway([0; 4], 0, 5)]));
    assert_eq!(read(&of(7, 0, &attribute(PRIORITY, &1_u32.to_ne_bytes()))), Ok(vec![gateway([0; 4], 1, 0)]));
    assert_eq!(read(&of(1, 17, &plain.concat())), Ok(Vec::new()));
    for broken in [&hops[..5], &hops[..12], &[0; 16]] {
        assert!(read(&route(254, &[attribute(SEVERAL, broken)])).is_err());
    }
}

fn done() -> Vec<u8> {
    message(DONE, 2, &[0; 4])
}

fn read(bytes: &[u8]) -> Result<(DumpState, Vec<LocalAddress>), String> {
    let mut found = Vec::new();
    let name = |index| (index != 99).then(|| format!("eth{index}"));
    addresses(bytes, name, &mut found).map(|progress| (progress, found))
}

fn one(bytes: &[u8]) -> LocalAddress {
    let (progress, mut found) = read(bytes).expect("a whole message");
    assert_eq!((progress, found.len()), (DumpState::More, 1));
    found.remove(0)
}

#[test]
fn a_request_is_one_whole_message() {
    for (list, kind) in [(List::Addresses, 22), (List::Links, 18)] {
        let bytes = request(list);
        let message = Message::first(&bytes).ok().expect("a message");
        assert_eq!((message.kind, message.flags, message.body.len(), message.rest.len()), (kind, 0x301, 16, 0));
    }
}

#[test]
fn interfaces_that_are_switched_off_are_found() {
    let link = |index: u32, flags: u32| {
        let mut bytes = 32_u32.to_ne_bytes().to_vec();
        bytes.extend(NEW_LINK.to_ne_bytes());
        bytes.resize(16 + 4, 0);
        bytes.extend(index.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.resize(32, 0);
        bytes
    };
    let mut found = vec![one(&address_message([FAMILY_V4, 24, 0, 0], &[attribute(LOCAL, &V4)]))];
    let mut flags_with = |flags| {
        let piece = [link(1, 0x1_0049), link(2, flags), link(3, 0x1_1043)].concat();
        assert_eq!(links(&piece, &mut found), Ok(DumpState::More));
        assert!(links(&piece[..40], &mut found).is_err());
        (found[0].flags.down, found[0].flags.unplugged)
    };
    assert_eq!(flags_with(0x1002), (true, true));
    assert_eq!(flags_with(0x1003), (false, true));
    assert_eq!(flags_with(0x1_1043), (false, false));
}

#[test]
fn an_address_is_read_with_its_flags_and_lifetimes() {
    let attributes = [
        attribute(ADDRESS, &V6),
        cache_info(600, FOREVER),
        // The attribute counts, not the short flags of the header.
        attribute(FLAGS, &0x0329_u32.to_ne_bytes()),
    ];
    let expected = LocalAddress {
        interface: "eth2".to_owned(),
        index: 2,
        ip: V6.into(),
        prefix: 64,
        scope: Scope::Global,
        flags: Flags { temporary: true, deprecated: true, dad_failed: true, ..Flags::default() },
        valid: Lifetime::Forever,
        preferred: Lifetime::Seconds(600),
    };
    assert_eq!(one(&address_message([FAMILY_V6, 64, 0x80, 0], &attributes)), expected);
}

#[test]
fn the_own_end_of_a_link_is_the_address() {
    let peer = attribute(ADDRESS, &[203, 0, 113, 1]);
    for attributes in [[peer.clone(), attribute(LOCAL, &V4)], [attribute(LOCAL, &V4), peer]] {
        assert_eq!(one(&address_message([FAMILY_V4, 32, 0x80, 0], &attributes)).ip, IpAddr::from(V4));
    }
}

#[test]
fn only_ipv6_has_temporary_addresses() {
    let v4 = one(&address_message([FAMILY_V4, 24, 0x41, 0], &[attribute(LOCAL, &V4)]));
    let v6 = one(&address_message([FAMILY_V6, 64, 0x41, 0], &[attribute(ADDRESS, &V6)]));
    assert_eq!(v4.flags, Flags { tentative: true, ..Flags::default() });
    assert_eq!(v6.flags, Flags { tentative: true, temporary: true, ..Flags::default() });
}

#[test]
fn without_lifetimes_only_a_permanent_address_lasts() {
    for (flags, expected) in [(0x80, Lifetime::Forever), (0, Lifetime::Unknown)] {
        let address = one(&address_message([FAMILY_V4, 24, flags, 0], &[attribute(LOCAL, &V4)]));
        assert_eq!((address.valid, address.preferred), (expected, expected));
    }
}

#[test]
fn scopes() {
    let table = [(0, Scope::Global), (200, Scope::Site), (253, Scope::Link), (254, Scope::Host), (255, Scope::Unknown)];
    for (scope, expected) in table {
        assert_eq!(one(&address_message([FAMILY_V4, 8, 0, scope], &[attribute(LOCAL, &V4)])).scope, expected);
    }
}

#[test]
fn the_order_of_the_kernel_is_kept_and_the_end_is_seen() {
    let first = address_message([FAMILY_V4, 8, 0, 0], &[attribute(LOCAL, &V4)]);
    let second = address_message([FAMILY_V6, 64, 0, 0], &[attribute(ADDRESS, &V6)]);
    let (progress, found) = read(&[first, second, done()].concat()).expect("whole messages");
    assert_eq!(progress, DumpState::Complete);
    assert_eq!(found.iter().map(|address| address.ip).collect::<Vec<_>>(), [IpAddr::from(V4), V6.into()]);
}

#[test]
fn what_is_not_an_address_here_is_passed_over() {
    let gone = [&[FAMILY_V4, 8, 0, 0][..], &99_u32.to_ne_bytes(), &attribute(LOCAL, &V4)].concat();
    let table = [
        ("another family", address_message([45, 8, 0, 0], &[attribute(LOCAL, &[9])])),
        ("another kind of message", message(16, 2, &[1, 2, 3])),
        ("an acknowledgement", message(ERROR, 0, &[0; 20])),
        ("nothing", Vec::new()),
        ("an interface that has gone", message(NEW_ADDRESS, 2, &gone)),
    ];
    for (what, bytes) in table {
        assert_eq!(read(&bytes), Ok((DumpState::More, Vec::new())), "{what}");
    }
}

#[test]
fn an_error_and_a_change_end_the_response() {
    let refused = (-95_i32).to_ne_bytes();
    let table = [
        (message(ERROR, 0, &refused), DumpState::Refused(95)),
        (message(DONE, 2, &refused), DumpState::Refused(95)),
        (message(ERROR, 0, &i32::MIN.to_ne_bytes()), DumpState::Refused(i32::MAX)),
        (message(DONE, DUMP_INTERRUPTED | 2, &[0; 4]), DumpState::Changed),
        (message(NEW_ADDRESS, DUMP_INTERRUPTED | 2, &[]), DumpState::Changed),
        (message(OVERRUN, 0, &[]), DumpState::Changed),
        (message(DONE, 2, &[]), DumpState::Complete),
    ];
    for (bytes, expected) in table {
        assert_eq!(read(&bytes), Ok((expected, Vec::new())), "{bytes:?}");
    }
}

#[test]
fn what_is_broken_is_refused() {
    let mut too_long = done();
    too_long[..4].copy_from_slice(&u32::MAX.to_ne_bytes());
    let mut too_short = done();
    too_short[..4].copy_from_slice(&15_u32.to_ne_bytes());
    let table = [
        ("a length beyond the end", too_long),
        ("a length below that of the header", too_short),
        ("an attribute without a length", address_message([FAMILY_V4, 8, 0, 0], &[vec![0; 4]])),
        ("no address", address_message([FAMILY_V4, 8, 0, 0], &[])),
        ("an address of the wrong size", address_message([FAMILY_V4, 8, 0, 0], &[attribute(LOCAL, &V6)])),
        ("a prefix longer than the address", address_message([FAMILY_V4, 33, 0, 0], &[attribute(LOCAL, &V4)])),
        (
            "lifetimes of the wrong size",
            address_message([FAMILY_V4, 8, 0, 0], &[attribute(LOCAL, &V4), attribute(CACHE_INFO, &[0; 7])]),
        ),
        ("an error without a number", message(ERROR, 0, &[])),
    ];
    for (what, bytes) in table {
        assert_eq!(read(&bytes), Err(MalformedMessage.into()), "{what}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
    }

    /// Valid frames around any content get further than bytes alone.
    #[test]
    fn any_content_is_read_without_harm(
        kind in 0..24_u16,
        family in prop_oneof![Just(FAMILY_V4), Just(FAMILY_V6), any::<u8>()],
        head in any::<[u8; 7]>(),
        attributes in vec((0..12_u16, vec(any::<u8>(), 0..24)), 0..6),
    ) {
        let attributes: Vec<u8> = attributes.iter().flat_map(|(kind, value)| attribute(*kind, value)).collect();
        let _ = read(&message(kind, 2, &[&[family][..], &head, &attributes].concat()));
    }

    /// A response that is cut anywhere is refused or incomplete, and no address is invented.
    #[test]
    fn a_cut_response_is_never_complete(at in 0..200_usize) {
        let attributes = [attribute(ADDRESS, &V6), cache_info(1, 2), attribute(FLAGS, &[0; 4])];
        let whole = [address_message([FAMILY_V6, 64, 0, 0], &attributes), done()].concat();
        let (_, complete) = read(&whole).expect("a whole response");
        let at = at % whole.len();
        if let Ok((progress, found)) = read(&whole[..at]) {
            prop_assert_eq!(progress, DumpState::More);
            prop_assert!(found.is_empty() || found == complete);
        }
    }

    #[test]
    fn what_was_written_is_read(
        v6 in any::<[u8; 16]>(), prefix in 0..=128_u8, flags in any::<u32>(), lifetimes in any::<(u32, u32)>(),
        unknown in vec(any::<u8>(), 0..9),
    ) {
        let attributes = [
            attribute(ADDRESS, &v6),
            attribute(11, &unknown),
            cache_info(lifetimes.0, lifetimes.1),
            attribute(FLAGS, &flags.to_ne_bytes()),
        ];
        let address = one(&address_message([FAMILY_V6, prefix, 0, 253], &attributes));
        prop_assert_eq!(address.ip, IpAddr::from(v6));
        prop_assert_eq!(address.prefix, prefix);
        prop_assert_eq!(address.flags, flags_of(flags, address.ip));
        prop_assert_eq!(address.preferred, lifetime_of(lifetimes.0));
        prop_assert_eq!(address.valid, lifetime_of(lifetimes.1));
    }
}
