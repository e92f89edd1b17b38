//! What DNS servers send: answers that are read, and rounds that are made of them.
#![no_main]

use std::net::SocketAddr;
use std::time::Duration;

use ddns_core::dns::{
    DnsQuery, DnsServerKind, NoAnswer, Replies, ServerQuestion, Verify, Zones, answer_to, judge, query, round,
};
use ddns_core::net::family::Family;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let server: SocketAddr = "192.0.2.53:53".parse().expect("an address");
    let dns_query = DnsQuery {
        name: "a.b.example.com".into(),
        family: Family::V4,
        way: if bytes.first().is_some_and(|byte| byte % 8 == 0) {
            DnsServerKind::Resolver
        } else {
            DnsServerKind::Zone
        },
        servers: Vec::new(),
        resolvers: vec![server],
        most: 4,
        seed: 1,
    };
    // Each question gets the next piece of the input behind its own bytes: flags, counts, records.
    let mut pieces = bytes.split(|byte| *byte == 0xfe);
    let mut reply = |ServerQuestion { question, .. }: &ServerQuestion| {
        let (piece, mut packet) = (pieces.next().ok_or(NoAnswer::Silent)?, query(7, question).ok_or(NoAnswer::Silent)?);
        let (head, records) = piece.split_at(piece.len().min(8));
        packet[2..2 + head.len().min(2)].copy_from_slice(&head[..head.len().min(2)]);
        for (at, byte) in head.iter().skip(2).enumerate() {
            packet[6 + at] = *byte;
        }
        packet.extend(records);
        answer_to(question, 7, &packet).ok_or(NoAnswer::Silent)
    };
    let (mut zones, mut replies) = (Zones::default(), Replies::default());
    // A pass for each of 200 questions at most, and one for the result.
    for _ in 0..=200 {
        match round(&dns_query, &mut zones, &replies, Duration::from_secs(1)) {
            Ok(seen) => {
                // Four servers of the name, and of each of eight CNAME targets.
                assert!(seen.servers.len() <= 9 * 4 && replies.len() <= 200);
                let said = judge(&seen, "203.0.113.7".parse().expect("an address"), &Verify::default());
                assert!(!said.sentence(None, &Verify::default()).contains(['\n', '\x1b']));
                return;
            }
            Err(wanted) => {
                assert!(!wanted.is_empty());
                for asking in wanted {
                    let said = reply(&asking);
                    assert!(replies.insert(asking, said).is_none(), "asked twice");
                }
            }
        }
    }
    panic!("the round has no end");
});
