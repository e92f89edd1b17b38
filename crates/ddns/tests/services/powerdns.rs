//! H1, H2, H8 and H12 with a real receiver: `PowerDNS`, where it is installed, by the recipe for it. DNS queries show
//! what it took.

use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

use crate::support::Sandbox;
use crate::support::given::by_recipe;
use crate::support::powerdns::PowerDns;

impl PowerDns {
    /// The addresses of home.example.com that a DNS query of this record type shows, with their TTL.
    fn addresses(&self, kind: u16) -> Vec<(IpAddr, u32)> {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        let mut query = b"\x12\x34\0\0\0\x01\0\0\0\0\0\0\x04home\x07example\x03com\0".to_vec();
        query.extend([kind.to_be_bytes(), [0, 1]].concat());
        socket.send_to(&query, ("127.0.0.1", self.dns)).expect("the query is sent");
        let mut response = [0; 512];
        let length = socket.recv(&mut response).expect("the server responds");
        assert_eq!(response[..2], query[..2], "the response to this query");
        let (count, mut rest) = (response[7], &response[query.len()..length]);
        (0..count)
            .map(|_| {
                // Each name is two bytes that point to that of the query; then type, class, TTL, length and address.
                let ttl = u32::from_be_bytes(rest[6..10].try_into().expect("four bytes"));
                let (bytes, after) = rest[12..].split_at(rest[11].into());
                rest = after;
                let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
                let ip = v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from));
                (ip.expect("an address"), ttl)
            })
            .collect()
    }

    /// What both record types show.
    fn shown(&self) -> Vec<String> {
        let all = [self.addresses(1), self.addresses(28)].concat();
        all.iter().map(|(ip, ttl)| format!("{ip} for {ttl} s")).collect()
    }
}

#[test]
fn h12_powerdns_takes_the_updates_of_its_recipe_and_a_dns_query_shows_them() {
    let place = Sandbox::new();
    let Some(server) = PowerDns::start(&place, "example.com", ("127.0.0.1", 0)) else { return };
    assert_eq!(server.shown(), [""; 0]);
    let base = format!("base=http://127.0.0.1:{}", server.api);

    let sandbox = by_recipe("powerdns", &[&base, "zone=example.com", "key=WrongKey123"]);
    let run = sandbox.run(&[]).expect(1).prints("permanently: 401, before 1 of 1 (GET http://127.0.0.1:");
    run.prints("): `Unauthorized`; the update was not sent").never_prints("WrongKey123");
    assert_eq!(server.shown(), [""; 0]);

    sandbox.write("config.json", sandbox.read("config.json").replace("WrongKey123", "SecretKey123"));
    sandbox.run(&[]).expect(0).prints("the record was created (204").prints("2 accepted").never_prints("SecretKey123");
    assert_eq!(server.shown(), ["203.0.113.7 for 60 s", "2001:db8::7 for 60 s"]);
    sandbox.run(&[]).says_nothing();

    // A changed address takes the place of the old one, and the other family stays.
    sandbox.run(&["--index4", "shell:echo 203.0.113.8"]).expect(0).prints("1 accepted, 1 already up to date");
    assert_eq!(server.shown(), ["203.0.113.8 for 60 s", "2001:db8::7 for 60 s"]);

    let elsewhere = by_recipe("powerdns", &[&base, "zone=com", "key=SecretKey123"]);
    elsewhere.run(&[]).expect(1).prints("404 Not Found: `Not Found`; the update was not sent");
}
