//! One question over UDP, asked again until it is answered.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

/// Packets get lost: how long to wait for each try, usually.
pub(crate) const TRIES: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_millis(1500)];

/// The longest answer that is read.
const MAX_PACKET_BYTES: usize = 4096;

/// Asks from a new port, and returns what `read` makes of the answer; skips packets of which it makes nothing: late,
/// foreign or forged ones. `own` is the address to ask from. `None` if no try was answered.
pub(crate) async fn ask<T>(
    server: SocketAddr,
    own: Option<IpAddr>,
    question: &[u8],
    tries: &[Duration],
    read: impl Fn(&[u8]) -> Option<T>,
) -> io::Result<Option<T>> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((own.unwrap_or(any), 0)).await?;
    // Only packets from the server's address and port arrive.
    socket.connect(server).await?;
    let mut buffer = [0; MAX_PACKET_BYTES];
    for patience in tries {
        socket.send(question).await?;
        let end = Instant::now() + *patience;
        while let Ok(length) = timeout_at(end, socket.recv(&mut buffer)).await {
            if let Some(answer) = read(&buffer[..length?]) {
                return Ok(Some(answer));
            }
        }
    }
    Ok(None)
}
