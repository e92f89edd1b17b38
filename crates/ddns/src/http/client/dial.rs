//! From a host to a socket: a race between its addresses (RFC 8305).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use ddns_core::net::family::Family;
use ddns_core::net::reach::is_far;
use ddns_core::text::duration::duration;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout_at};

use super::exchange::ByteStream as _;
use super::how::AddressFamilies;
use super::names::Names;
use super::stream::{Connection, Host, LATE};
use crate::platform::limit_unsent;

/// How long a host may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an address may take before the next one is tried in parallel.
const HEAD_START: Duration = Duration::from_millis(250);

/// Opens sockets.
#[derive(Default)]
pub(super) struct Dialer {
    pub(super) names: Names,
    /// What a connection has not delivered within this time, or when it is closed, is discarded; `None`: the system keeps trying.
    pub(super) unsent_limit: Cell<Option<Duration>>,
    hosts: RefCell<HashMap<SocketAddr, Rc<Host>>>,
}

/// Why there is no socket.
pub(super) enum DialError {
    /// A sentence: the host has no address.
    NoAddress(String),
    /// What was tried, and what happened.
    Tried(String),
}

impl DialError {
    pub(super) fn into_text(self) -> String {
        let (Self::NoAddress(text) | Self::Tried(text)) = self;
        text
    }
}

impl Dialer {
    /// Forgets the addresses of hosts, and how long connections take.
    pub(super) fn refresh(&self) {
        self.names.refresh();
        // A host stays as long as it has connections, which count each other by it.
        self.hosts.borrow_mut().retain(|_, host| {
            host.usual.take();
            Rc::strong_count(host) > 1
        });
    }

    /// A connection to a host.
    pub(super) async fn tcp(
        &self,
        (host, port): (&str, u16),
        over: AddressFamilies,
        from: Option<IpAddr>,
        deadline: Instant,
    ) -> Result<Connection, DialError> {
        let addresses = self.look_up_by(host, over, deadline).await.map_err(DialError::NoAddress)?;
        let begun = Instant::now();
        let patience = CONNECT_TIMEOUT.min(nearly(deadline) - begun);
        let mut tried = Tried { is_named: host.parse::<IpAddr>().is_err(), failures: Vec::new() };
        let connected = if let [ip] = addresses[..] {
            self.single(SocketAddr::new(ip, port), from, begun + patience, &mut tried).await
        } else {
            let preferred = match over {
                AddressFamilies::Prefer(family) => {
                    addresses.iter().take_while(|ip| Family::of(**ip) == Some(family)).count()
                }
                AddressFamilies::Any | AddressFamilies::Only(_) => addresses.len(),
            };
            let (first, second) = addresses.split_at(preferred);
            let share = if first.is_empty() || second.is_empty() { patience } else { patience / 2 };
            // Boxed: a race is large, and most hosts have one address.
            let connected = Box::pin(self.race((first, port), from, begun + share, &mut tried)).await;
            match connected {
                Some(connection) => Some(connection),
                None => Box::pin(self.race((second, port), from, begun + patience, &mut tried)).await,
            }
        };
        let connection = connected.ok_or_else(|| DialError::Tried(tried.failures.join(", ")))?;
        // A request is one small write: waiting for more gains nothing.
        let _ = connection.stream.socket().set_nodelay(true);
        if let Some(limit) = self.unsent_limit.get() {
            connection.stream.discard_unsent(true);
            limit_unsent(connection.stream.socket(), limit);
        }
        Ok(connection)
    }

    /// The addresses of a host, if they are found in time.
    pub(super) async fn look_up_by(
        &self,
        host: &str,
        over: AddressFamilies,
        deadline: Instant,
    ) -> Result<Vec<IpAddr>, String> {
        let begun = Instant::now();
        let found = timeout_at(nearly(deadline), self.names.look_up(host, over)).await;
        let late = || format!("the name {host} could not be looked up within {}", duration(begun.elapsed()));
        found.unwrap_or_else(|_| Err(late()))
    }

    async fn single(
        &self,
        address: SocketAddr,
        from: Option<IpAddr>,
        end: Instant,
        tried: &mut Tried,
    ) -> Option<Connection> {
        let begun = Instant::now();
        match self.open(address, from, end).await {
            Some(Ok(connection)) => return Some(connection),
            Some(Err(error)) => tried.add(address, &reason(&error)),
            None => tried.add_late(address, begun),
        }
        None
    }

    /// The first connection to one of several addresses. The next address is tried as soon as the last one failed, or
    /// has been silent for a moment. The first that responds wins, and the others are dropped.
    async fn race(
        &self,
        (addresses, port): (&[IpAddr], u16),
        from: Option<IpAddr>,
        end: Instant,
        tried: &mut Tried,
    ) -> Option<Connection> {
        let mut waiting = addresses.iter().map(|ip| SocketAddr::new(*ip, port));
        let mut under_way = FuturesUnordered::new();
        let mut begun: Vec<(SocketAddr, Instant)> = Vec::new();
        loop {
            if let Some(address) = waiting.next() {
                begun.push((address, Instant::now()));
                under_way.push(async move { (address, self.open(address, from, end).await) });
            }
            let until = if waiting.len() > 0 { end.min(Instant::now() + HEAD_START) } else { end };
            match timeout_at(until, under_way.next()).await {
                Ok(Some((_, Some(Ok(connection))))) => return Some(connection),
                Ok(Some((address, Some(Err(error))))) => {
                    begun.retain(|(known, _)| *known != address);
                    tried.add(address, &reason(&error));
                }
                Ok(None) => return None,
                Err(_) if Instant::now() < end => {}
                Ok(Some((_, None))) | Err(_) => {
                    for (address, begun) in begun {
                        tried.add_late(address, begun);
                    }
                    return None;
                }
            }
        }
    }

    /// A connection to an address; `None` if there was none in time. An attempt that takes much longer than usual is started over.
    async fn open(&self, address: SocketAddr, from: Option<IpAddr>, end: Instant) -> Option<io::Result<Connection>> {
        let host = self.hosts.borrow_mut().entry(address).or_default().clone();
        let opening = Some(host.open());
        let mut late = host.usual.get().map(|usual| LATE + 4 * usual);
        let mut is_late = false;
        loop {
            let begun = Instant::now();
            let until = late.map_or(end, |late| end.min(begun + late));
            if let Ok(connected) = timeout_at(until, socket(address, from)).await {
                if connected.is_ok() {
                    let took = begun.elapsed();
                    host.usual.set(Some(host.usual.get().map_or(took, |usual| (7 * usual + took) / 8)));
                }
                return Some(connected.map(|socket| Connection {
                    is_late,
                    opening,
                    ..Connection::plain(socket, host)
                }));
            }
            if until == end {
                return None;
            }
            is_late = true;
            late = late.map(|late| 2 * late);
        }
    }
}

/// A little before the end of the time left, so that there is time to say what was tried.
pub(super) fn nearly(end: Instant) -> Instant {
    let now = Instant::now();
    now + end.saturating_duration_since(now).mul_f32(0.9)
}

/// The message for an address that did not respond.
pub(super) fn late(begun: Instant) -> String {
    format!("no response within {}", duration(begun.elapsed()))
}

/// The failed attempts.
struct Tried {
    /// Whether the host is a name: then a failure includes the address.
    is_named: bool,
    failures: Vec<String>,
}

impl Tried {
    fn add(&mut self, address: SocketAddr, why: &str) {
        self.failures.push(if self.is_named { format!("{address}: {why}") } else { why.to_owned() });
    }

    fn add_late(&mut self, address: SocketAddr, begun: Instant) {
        self.add(address, &late(begun));
    }
}

/// A socket, bound to this local address if one is given and the route to the other side can start there.
async fn socket(address: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    if let Some(from) = from.filter(|from| from.is_ipv6() == address.is_ipv6() && is_far(address.ip())) {
        let socket = if from.is_ipv6() { TcpSocket::new_v6()? } else { TcpSocket::new_v4()? };
        if socket.bind(SocketAddr::new(from, 0)).is_ok() {
            return socket.connect(address).await;
        }
    }
    TcpStream::connect(address).await
}

/// What a system error means, without its number.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::ConnectionReset => "connection reset".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::TimedOut => "timed out".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A request closes kept connections that may block it, unless it is alone; so it must see those from before.
    #[test]
    fn a7_a_refresh_keeps_the_hosts_that_have_connections() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
            let port = listener.local_addr().expect("the port that was bound").port();
            let dialer = Dialer::default();
            let connection = async || {
                let deadline = Instant::now() + Duration::from_secs(5);
                let Ok(opened) = dialer.tcp(("127.0.0.1", port), AddressFamilies::Any, None, deadline).await else {
                    panic!("it is accepted");
                };
                opened.begin().await.expect("it begins")
            };
            let one = connection().await;
            dialer.refresh();
            assert!(one.is_alone() && one.host.usual.get().is_none());
            let other = connection().await;
            assert!(!one.is_alone() && !other.is_alone());
            dialer.refresh();
            assert!(!one.is_alone() && !other.is_alone());
            drop((one, other));
            dialer.refresh();
            assert!(dialer.hosts.borrow().is_empty());
        });
    }
}
