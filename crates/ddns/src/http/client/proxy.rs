//! What ddns sends to a proxy before it can reach the endpoint: CONNECT, or SOCKS5. No part of a request is sent here.
//! Errors continue a sentence that begins with the proxy's name.

use std::io;

use ddns_core::net::proxy::Server;
use ddns_core::net::socks::{self, Destination};
use ddns_core::net::url::Url;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::exchange::{self, ByteStream};
use ddns_core::net::status::with_reason;

/// Why an HTTP proxy refused with a 407.
pub(super) fn not_let_in(server: &Server) -> String {
    match server.credentials {
        None => "asks for a user and password (407)".to_owned(),
        Some(_) => "does not accept the user and password (407)".to_owned(),
    }
}

/// Asks for a tunnel to the host of `url`. Any 2xx opens one.
pub(super) async fn tunnel<S: ByteStream>(stream: S, server: &Server, url: &Url) -> Result<S, String> {
    match exchange::open_tunnel(stream, server, url).await.map_err(|fault| fault.describe("it"))? {
        (200..300, Some(stream)) => Ok(stream),
        (200..300, None) => Err("sends data into the tunnel before the endpoint does".to_owned()),
        (407, _) => Err(not_let_in(server)),
        (status, _) => Err(format!("responded with {} when asked for a tunnel", with_reason(status))),
    }
}

/// Asks a SOCKS5 proxy for a connection. The inner result says whether the proxy reached this address of the endpoint.
/// The outer one fails if the proxy itself is at fault, so that another address would not help.
pub(super) async fn socks(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    server: &Server,
    to: &Destination,
    port: u16,
) -> Result<Result<(), String>, String> {
    let login = server.credentials.as_ref();
    let chosen = exchanged(stream, &socks::greeting(login)).await?;
    if let Some(login) = socks::chosen(login, chosen)? {
        socks::logged_in(exchanged(stream, &socks::login(login)).await?)?;
    }
    let start = exchanged(stream, &socks::request(to, port)).await?;
    let rest = match socks::rest_of_response(start) {
        Ok(rest) => rest,
        Err(why) => return Ok(Err(why)),
    };
    stream.read_exact(&mut vec![0; rest]).await.map_err(|error| broke(&error))?;
    Ok(Ok(()))
}

/// Sends bytes, and waits for `N` bytes in response.
async fn exchanged<const N: usize>(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    bytes: &[u8],
) -> Result<[u8; N], String> {
    let mut response = [0; N];
    stream.write_all(bytes).await.map_err(|error| broke(&error))?;
    stream.flush().await.map_err(|error| broke(&error))?;
    stream.read_exact(&mut response).await.map_err(|error| broke(&error))?;
    Ok(response)
}

fn broke(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "closed the connection without a response".to_owned(),
        _ => format!("the connection to it broke ({error})"),
    }
}
