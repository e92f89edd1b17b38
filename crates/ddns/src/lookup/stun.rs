//! `stun:`: what a STUN server sees, for one small packet and no certificate.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ddns_core::address::observation::Choice;
use ddns_core::net::family::Family;
use ddns_core::net::reach::{Trust, unusable};
use ddns_core::net::stun::{StunResponse, TransactionId, read, request};
use ddns_core::text::duration::duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::Query;
use super::default::stable_source;
use crate::http::{Client, Over};
use crate::random::random;

/// Packets get lost: how long each try is waited for.
const TRIES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_millis(1500)];

/// The longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1500;

/// How many addresses of a server are asked.
const MAX_SERVERS: usize = 3;

pub(super) async fn ask((host, port): (&str, u16), query: Query<'_>, client: &Client) -> Result<Choice, String> {
    let result = timeout(query.time, ask_within(host, port, query.family, client)).await;
    result.unwrap_or_else(|_| Err(format!("no response within {}", duration(query.time))))
}

async fn ask_within(host: &str, port: u16, family: Family, client: &Client) -> Result<Choice, String> {
    let servers = client.look_up(host, Over::Only(family)).await?;
    let mut refused = Vec::new();
    for server in servers.into_iter().take(MAX_SERVERS).map(|ip| SocketAddr::new(ip, port)) {
        match exchange(server, stable_source(server.ip())).await {
            Ok(StunResponse::Address(ip)) if Family::of(ip) == Some(family) => match unusable(ip, Trust::User) {
                None => return Ok(Choice { ip, why: format!("{server} saw it") }),
                Some(why) => refused.push(format!("{server} saw {ip}, but {why}")),
            },
            Ok(StunResponse::Address(ip)) => {
                refused.push(format!("{server} saw {ip}, which is not an {family} address"));
            }
            Ok(StunResponse::Refused) => refused.push(format!("{server} refused")),
            Ok(StunResponse::Empty | StunResponse::Foreign) => refused.push(format!("{server} gave no address")),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                refused.push(format!("{server} did not respond to {} requests", TRIES.len()));
            }
            Err(error) => refused.push(format!("{server}: {error}")),
        }
    }
    Err(refused.join("; "))
}

async fn exchange(server: SocketAddr, own: Option<IpAddr>) -> io::Result<StunResponse> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((own.unwrap_or(any), 0)).await?;
    socket.connect(server).await?;
    let id: TransactionId = random()?;
    for patience in TRIES {
        socket.send(&request(&id)).await?;
        if let Ok(response) = timeout(patience, receive(&socket, &id)).await {
            return response;
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// Waits for the response to this request; whatever else comes is passed over.
async fn receive(socket: &UdpSocket, id: &TransactionId) -> io::Result<StunResponse> {
    let mut buffer = [0; MAX_RESPONSE_BYTES];
    loop {
        let length = socket.recv(&mut buffer).await?;
        match read(&buffer[..length], id) {
            StunResponse::Foreign => {}
            response => return Ok(response),
        }
    }
}
