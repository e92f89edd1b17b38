//! One question to one server: over UDP, and over TCP where that gives nothing, or only a part (K7). Always directly: a proxy
//! would see other servers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use ddns_core::dns::{Asking, DnsAnswer, DnsReply, NoAnswer, answer_to, query};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, UdpSocket};
use tokio::time::timeout;

use crate::random::random;

/// How long each try over UDP is waited for.
pub(crate) const TRIES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_millis(1500)];

/// How long it may take over TCP.
const TCP_TIME: Duration = Duration::from_secs(3);

/// More than any server sends without being asked to.
const MAX_PACKET_BYTES: usize = 4096;

/// The answer, from a port of its own for each question. `own` is the address to ask from.
pub(crate) async fn exchange(asking: &Asking, own: Option<IpAddr>, tries: &[Duration]) -> DnsReply {
    let id = random().map(u16::from_be_bytes).map_err(|_| NoAnswer::Unreachable)?;
    let bytes = query(id, &asking.question).ok_or(NoAnswer::Unreachable)?;
    let any: IpAddr = if asking.server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let own = SocketAddr::new(own.unwrap_or(any), 0);
    let by_udp = udp(asking, id, &bytes, own, tries).await;
    if let Ok(Some(answer)) = &by_udp
        && !answer.is_cut
    {
        return by_udp.ok().flatten().ok_or(NoAnswer::Silent);
    }
    match timeout(TCP_TIME, tcp(asking, id, &bytes, own)).await {
        Ok(Ok(Some(answer))) if answer.is_cut => Err(NoAnswer::Cut),
        Ok(Ok(Some(answer))) => Ok(answer),
        // It said something over UDP: not all of it.
        _ if matches!(by_udp, Ok(Some(_))) => Err(NoAnswer::Cut),
        Ok(Err(_)) if by_udp.is_err() => Err(NoAnswer::Unreachable),
        _ => Err(NoAnswer::Silent),
    }
}

/// `None` where no try was answered.
async fn udp(
    asking: &Asking,
    id: u16,
    bytes: &[u8],
    own: SocketAddr,
    tries: &[Duration],
) -> io::Result<Option<DnsAnswer>> {
    let socket = UdpSocket::bind(own).await?;
    socket.connect(asking.server).await?;
    for patience in tries {
        socket.send(bytes).await?;
        if let Ok(answer) = timeout(*patience, receive(&socket, asking, id)).await {
            return answer.map(Some);
        }
    }
    Ok(None)
}

/// Waits for the answer; whatever else comes is passed over (K6).
async fn receive(socket: &UdpSocket, asking: &Asking, id: u16) -> io::Result<DnsAnswer> {
    let mut buffer = [0; MAX_PACKET_BYTES];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await?;
        if let Some(answer) = answer_to(&asking.question, id, asking.server, from, &buffer[..length]) {
            return Ok(answer);
        }
    }
}

/// `None` where something else came.
async fn tcp(asking: &Asking, id: u16, bytes: &[u8], own: SocketAddr) -> io::Result<Option<DnsAnswer>> {
    let socket = if own.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(own)?;
    let mut stream = socket.connect(asking.server).await?;
    let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), bytes].concat()).await?;
    let mut answer = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut answer).await?;
    Ok(answer_to(&asking.question, id, asking.server, asking.server, &answer))
}
