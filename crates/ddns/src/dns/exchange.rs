//! One question to one server: over UDP, and over TCP if UDP gives no answer or a truncated one (K7). Never through a
//! proxy, which might reach other servers.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use ddns_core::dns::{DnsReply, NoAnswer, ServerQuestion, answer_to, query};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio::time::timeout;

use crate::random::random;
use crate::udp;

/// How long the exchange over TCP may take.
const TCP_TIME: Duration = Duration::from_secs(3);

/// The answer, or why there is none. `own` is the local address to ask from.
pub(crate) async fn exchange(asking: &ServerQuestion, own: Option<IpAddr>, tries: &[Duration]) -> DnsReply {
    let id = random().map(u16::from_be_bytes).map_err(|_| NoAnswer::Unreachable)?;
    let bytes = query(id, &asking.question).ok_or(NoAnswer::Unreachable)?;
    let read = |bytes: &[u8]| answer_to(&asking.question, id, bytes);
    let by_udp = match udp::ask(asking.server, own, &bytes, tries, read).await {
        Ok(Some(answer)) if !answer.is_cut => return Ok(answer),
        other => other,
    };
    let by_tcp = timeout(TCP_TIME, tcp(asking.server, own, &bytes)).await;
    match by_tcp.map(|answer| answer.map(|bytes| read(&bytes))) {
        Ok(Ok(Some(answer))) if answer.is_cut => Err(NoAnswer::Cut),
        Ok(Ok(Some(answer))) => Ok(answer),
        // UDP gave an answer, but a truncated one.
        _ if matches!(by_udp, Ok(Some(_))) => Err(NoAnswer::Cut),
        Ok(Err(_)) if by_udp.is_err() => Err(NoAnswer::Unreachable),
        _ => Err(NoAnswer::Silent),
    }
}

async fn tcp(server: SocketAddr, own: Option<IpAddr>, question: &[u8]) -> io::Result<Vec<u8>> {
    let socket = if server.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    if let Some(own) = own {
        socket.bind(SocketAddr::new(own, 0))?;
    }
    let mut stream = socket.connect(server).await?;
    let length = u16::try_from(question.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), question].concat()).await?;
    let mut answer = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut answer).await?;
    Ok(answer)
}
