//! Requests as the contract needs them: each on one connection, with the status and a bounded part of the response.
//!
//! [`connect`] finds a way to the endpoint, over sockets from [`dial`] and through proxies ([`proxy`]), secured by
//! [`tls`]; [`exchange`] sends a request on it, and [`pool`] keeps the connection for the next one. This file decides
//! which connection a request takes, that a request which may have reached the endpoint is never sent again (A7), and
//! how long everything may take.

mod connect;
mod dial;
mod exchange;
mod how;
mod names;
mod pool;
mod probe;
mod proxy;
mod stream;
mod streaming;
mod tls;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::mem::replace;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use ddns_core::callback::{MAX_REDIRECTS, Request};
use ddns_core::net::proxy::{Route, Server};
use ddns_core::net::upnp::WanService;
use ddns_core::text::duration::duration;
use tokio::time::{Instant, timeout, timeout_at};

use connect::Connector;
use exchange::Reuse;
pub(crate) use exchange::{MAX_BODY_BYTES, Response};
use how::endpoint;
pub(crate) use how::{AddressFamilies, BodyUse, How};
use pool::{ASSUME_KEPT_AFTER, ConnectionLimit, Idle, ReuseKey};
pub(crate) use probe::ProbeStep;
use stream::{Connection, HttpConnection};
pub(crate) use streaming::Streaming;
pub(crate) use tls::{Pem, TlsTrust, WANTS_CERTIFICATE, certificates, private_key, read_ca};

use crate::clock::steady_time;

/// If a request takes longer than this, the system must not deliver it after this process ends: nobody would know
/// whether and when it arrives (E4a). That takes two system calls, which quick requests are spared.
const SLOW: Duration = Duration::from_secs(1);

/// How many warnings are remembered.
const MAX_WARNINGS: usize = 1000;

/// Why there is no response.
#[derive(Debug)]
pub(crate) struct Failure {
    /// A sentence without secrets.
    pub(crate) why: String,
    /// Whether the endpoint may have received the request anyway.
    pub(crate) reached: bool,
    /// Warnings about who received the request; each is given once for an origin.
    pub(crate) warnings: Vec<String>,
}

/// A request on its way: what holds for it and all its redirects.
struct SendingState<'a> {
    how: How<'a>,
    deadline: Instant,
    /// Whether the request has taken long, so that the system must not deliver it after this process ends.
    is_slow: Cell<bool>,
    /// Whether an endpoint may have received anything by now.
    is_sent: Cell<bool>,
    /// Where the request is now.
    hop: RefCell<Hop>,
    /// Warnings about who receives the request, noted before it is sent and reported whatever happens then.
    warnings: RefCell<Vec<String>>,
}

/// One of the origins that redirects take a request to.
#[derive(Default)]
struct Hop {
    origin: Rc<str>,
    /// Whether this origin may have received the request.
    is_sent: bool,
    /// The proxy that it was sent through.
    via: Option<Arc<Server>>,
}

impl SendingState<'_> {
    /// Says who did not respond in time.
    fn late(&self) -> String {
        let (hop, limit) = (self.hop.borrow(), duration(self.how.limit));
        if hop.is_sent {
            let endpoint = endpoint(&hop.origin, hop.via.as_deref());
            format!("{endpoint} took the connection but did not respond within {limit}")
        } else {
            format!("no connection to {} within {limit}", hop.origin)
        }
    }
}

/// Sends requests and keeps connections for the next ones.
#[derive(Default)]
pub(crate) struct Client {
    connector: Connector,
    idle: Idle,
    /// Determined at the first request.
    room: OnceCell<ConnectionLimit>,
    /// The service that last told a router's outer address, with the router's address.
    pub(crate) router: RefCell<Option<(Ipv4Addr, WanService)>>,
    /// The warnings that were given, so that each is given once.
    warned: RefCell<HashSet<String>>,
}

impl Client {
    /// A client with fixed trust, which ignores the `ssl` of requests.
    pub(crate) fn trusting(trust: &TlsTrust<'_>) -> Result<Self, String> {
        Ok(Self { connector: Connector::trusting(trust)?, ..Self::default() })
    }

    /// Sends a request once, follows its redirects (D3), and waits for the final status. The time limit covers all of
    /// that, and starts when there is room for another request.
    pub(crate) async fn send(&self, request: &Request, how: How<'_>) -> Result<Response, Failure> {
        let _turn = self.room().turns.acquire().await;
        let begun = Instant::now();
        let deadline = begun + how.limit;
        let (is_slow, is_sent) = (Cell::new(false), Cell::new(false));
        let sending =
            SendingState { how, deadline, is_slow, is_sent, hop: RefCell::default(), warnings: RefCell::default() };
        let mut exchanges = pin!(self.follow(request, &sending));
        let mut result = timeout_at(deadline.min(begun + SLOW), exchanges.as_mut()).await;
        if result.is_err() && begun + SLOW < deadline {
            // In a group, all connections discard unsent data anyway.
            sending.is_slow.set(self.connector.dialer.unsent_limit.get().is_none());
            result = timeout_at(deadline, exchanges).await;
        }
        let result = result.unwrap_or_else(|_| Err(sending.late()));
        let warnings = sending.warnings.take();
        match result {
            Ok(response) => Ok(Response { warnings, ..response }),
            Err(why) => Err(Failure { why, reached: sending.is_sent.get(), warnings }),
        }
    }

    async fn follow(&self, request: &Request, sending: &SendingState<'_>) -> Result<Response, String> {
        let mut response = self.exchange(request, sending).await?;
        let (mut current, mut before) = (Cow::Borrowed(request), Vec::<Cow<'_, Request>>::new());
        for _ in 0..MAX_REDIRECTS {
            let next = current.redirected(response.status, response.location.as_deref());
            let Some(next) = next else {
                if let Some(why) = current.unfollowed(response.status, response.location.as_deref()) {
                    self.warn(sending, why);
                }
                return Ok(response);
            };
            let next = next.map_err(|why| format!("{} {why}", current.url.origin()))?;
            let (from, to) = (request.url.origin(), next.url.origin());
            let is_back = |known: &Request| known.method == next.method && known.url == next.url;
            if is_back(&current) || before.iter().any(|known| is_back(known)) {
                return Err(format!("{from} redirects in a circle: is the address right?"));
            }
            if from != to && (sending.how.want.is_update() || request.has_keys()) {
                let has_keys = next.has_keys() || next.url.path.contains('?');
                let keys = if has_keys { ", with your keys," } else { "" };
                let warning = format!("{from} redirects requests{keys} to {to}: is that intended?");
                self.warn(sending, warning);
            }
            response = self.exchange(&next, sending).await?;
            before.push(replace(&mut current, Cow::Owned(next)));
        }
        match current.redirected(response.status, response.location.as_deref()) {
            None => Ok(response),
            Some(_) => Err(format!("{} redirects more than {MAX_REDIRECTS} times", request.url.origin())),
        }
    }

    async fn exchange(&self, request: &Request, sending: &SendingState<'_>) -> Result<Response, String> {
        let (how, deadline) = (sending.how, sending.deadline);
        let origin: Rc<str> = request.url.origin().into();
        let purpose = (origin.clone(), how.ssl.clone());
        let was_sent = sending.is_sent.get();
        loop {
            sending.hop.replace(Hop { origin: origin.clone(), ..Hop::default() });
            let (mut connection, was_kept) = self.connection(request, &purpose, sending).await?;
            sending.is_sent.set(true);
            sending.hop.replace(Hop { origin: origin.clone(), is_sent: true, via: connection.via.clone() });
            let relay = connection.via.as_deref().filter(|server| server.relays(request.url.secure));
            let is_alone = connection.is_alone();
            let limits = (deadline, &sending.is_slow);
            let exchange = exchange::exchange(&mut connection.stream, request, relay, how.want, limits);
            let exchanged = self.unblocked(exchange, is_alone, &purpose).await;
            let (mut response, next) = match exchanged {
                Ok(exchanged) => exchanged,
                Err(fault) => {
                    if !fault.is_sent {
                        sending.is_sent.set(was_sent);
                        if was_kept {
                            continue;
                        }
                    }
                    // The endpoint may have received the request before it closed the connection. Sending it again
                    // could deliver it twice (A7).
                    if was_kept {
                        self.idle.broke(&purpose, connection.via.as_ref());
                    }
                    return Err(fault.describe(&endpoint(&origin, connection.via.as_deref())));
                }
            };
            if let (Some(server), 407) = (relay, response.status) {
                // The proxy kept the request to itself.
                sending.is_sent.set(was_sent);
                return Err(format!("the proxy {server} {}", proxy::not_let_in(server)));
            }
            response.via.clone_from(&connection.via);
            let makes_way;
            (response.line, makes_way) = connection.responded();
            if next != Reuse::Never && !makes_way {
                self.idle.keep(purpose, connection, next == Reuse::Said, self.room().idle, steady_time());
            }
            return Ok(response);
        }
    }

    /// Waits for a response. A server that serves few connections at a time may be waiting for the next request on the
    /// kept ones, where none will come: they are closed meanwhile.
    async fn unblocked<T>(&self, exchange: impl Future<Output = T>, is_alone: bool, purpose: &ReuseKey) -> T {
        let mut exchange = pin!(exchange);
        if is_alone {
            return exchange.await;
        }
        loop {
            match timeout(ASSUME_KEPT_AFTER, exchange.as_mut()).await {
                Ok(exchanged) => return exchanged,
                Err(_) => self.idle.close(purpose, steady_time()),
            }
        }
    }

    /// A connection for a request, and whether it was kept from an earlier one.
    async fn connection(
        &self,
        request: &Request,
        purpose: &ReuseKey,
        sending: &SendingState<'_>,
    ) -> Result<(Box<HttpConnection>, bool), String> {
        let how = sending.how;
        let kept = self.idle.take(purpose, |connection| fits(connection, request, how), steady_time());
        let was_kept = kept.is_some();
        let connection = if let Some(kept) = kept {
            kept
        } else {
            let connection = self.connector.connect(&request.url, how, sending.deadline).await?;
            connection.begin().await.map_err(|fault| fault.describe(&purpose.0))?
        };
        for name in &connection.unverified {
            let why = "its certificate is from an issuer that this system does not trust";
            self.warn(sending, format!("{name} is trusted unverified, because it is a local host: {why}"));
        }
        Ok((connection, was_kept))
    }

    /// Forgets the addresses of hosts, and how long connections take: another synchronization begins.
    pub(crate) fn refresh(&self) {
        self.connector.dialer.refresh();
    }

    /// From now on, the system delivers no part of a request later than this, or after the request was given up (J3).
    /// `None`: the system decides.
    pub(crate) fn limit_unsent(&self, limit: Option<Duration>) {
        if self.connector.dialer.unsent_limit.replace(limit) != limit {
            // The kept connections have the previous limit.
            self.idle.clear();
        }
    }

    /// Closes the kept connections: nothing will be sent for a while.
    pub(crate) fn rest(&self) {
        self.idle.clear();
        self.refresh();
    }

    /// The addresses of a host that is not asked over HTTP (STUN).
    pub(crate) async fn look_up(&self, host: &str, over: AddressFamilies) -> Result<Vec<IpAddr>, String> {
        self.connector.dialer.names.look_up(host, over).await
    }

    /// Adds a warning, once for all updates. Other requests do not count: a source reports no warnings.
    fn warn(&self, sending: &SendingState<'_>, warning: String) {
        let mut warned = self.warned.borrow_mut();
        // Warnings name hosts, and a host that contains an address is another one after every change.
        if warned.len() >= MAX_WARNINGS {
            warned.clear();
        }
        if !sending.how.want.is_update() || warned.insert(warning.clone()) {
            sending.warnings.borrow_mut().push(warning);
        }
    }

    fn room(&self) -> &ConnectionLimit {
        self.room.get_or_init(ConnectionLimit::default)
    }
}

/// Whether a request may use a kept connection: its route, its address family and its local address.
fn fits<S>(connection: &Connection<S>, request: &Request, how: How<'_>) -> bool {
    let over = match how.over {
        AddressFamilies::Any => true,
        AddressFamilies::Prefer(family) | AddressFamilies::Only(family) => connection.family == Some(family),
    };
    // A server that must see a certain address of ours would see another one.
    let from = how.from.is_none() || how.from == connection.from;
    let route = connection.via.as_ref().map_or(Route::Direct, Route::Via);
    over && from && how.proxies.routes(&request.url).any(|possible| possible == route)
}

#[cfg(test)]
mod tests {
    use ddns_core::net::proxy::Proxies;
    use ddns_core::net::ssl::Ssl;
    use ddns_core::net::url::Url;
    use futures_util::future::{join, join_all, select};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn f2_a_connection_from_another_address_of_ours_does_not_fit() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
            let address = listener.local_addr().expect("the port that was bound");
            let socket = TcpStream::connect(address).await.expect("a connection");
            let mut connection = Connection::plain(socket, Rc::default());
            let request = Request::new(Url::parse("http://127.0.0.1/").expect("an address"), None);
            let [one, other] = [1, 2].map(|number| Some(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, number])));
            let cases =
                [(None, None, true), (one, None, true), (None, one, false), (one, one, true), (one, other, false)];
            for (made, asked, expected) in cases {
                connection.from = made;
                let (limit, want, over) = (Duration::from_secs(1), BodyUse::Status, AddressFamilies::Any);
                let how = How { limit, want, over, proxies: Proxies::DIRECT, ssl: &Ssl::Auto, from: asked };
                assert_eq!(fits(&connection, &request, how), expected, "{made:?} {asked:?}");
            }
        });
    }

    /// Serves until `count` connections were opened: each responds to its first request once all of them have one, and
    /// closes when a second one has come.
    async fn closing_after_one(listener: TcpListener, count: usize) {
        let mut open = Vec::new();
        for _ in 0..count {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            request_of(&mut stream).await;
            open.push(stream);
        }
        for stream in &mut open {
            stream.write_all(b"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5\r\n\r\n").await.expect("it reads");
        }
        let ends = open.into_iter().map(|mut stream| async move { request_of(&mut stream).await });
        let others = async {
            loop {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                request_of(&mut stream).await;
                stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.expect("it reads");
            }
        };
        join(join_all(ends), others).await;
    }

    /// Whether another request has come.
    async fn request_of(stream: &mut TcpStream) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return false,
            }
        }
        true
    }

    #[test]
    fn j3_a_connection_from_before_another_limit_of_unsent_data_is_not_used() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
            let url = format!("http://{}/", listener.local_addr().expect("the port that was bound"));
            let request = Request::new(Url::parse(&url).expect("an address"), None);
            let (limit, want, over) = (Duration::from_secs(5), BodyUse::Status, AddressFamilies::Any);
            let how = How { limit, want, over, proxies: Proxies::DIRECT, ssl: &Ssl::Auto, from: None };
            let (client, opened) = (Client::default(), Cell::new(0));
            let server = async {
                loop {
                    let (mut stream, _) = listener.accept().await.expect("a connection");
                    opened.set(opened.get() + 1);
                    let response = b"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5\r\n\r\n";
                    while request_of(&mut stream).await && stream.write_all(response).await.is_ok() {}
                }
            };
            let requests = async {
                let lease = Some(Duration::from_secs(15));
                for (limit, expected) in [(None, 1), (None, 1), (lease, 2), (lease, 2), (None, 3)] {
                    client.limit_unsent(limit);
                    client.send(&request, how).await.expect("it is answered");
                    assert_eq!(opened.get(), expected, "{limit:?}");
                }
            };
            select(pin!(requests), pin!(server)).await;
        });
    }

    /// After one kept connection broke, the others of its origin are as old, and each would cost an update, because
    /// none is sent twice.
    #[test]
    fn a7_where_a_kept_connection_broke_no_other_of_its_origin_is_used() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
            let url = format!("http://{}/", listener.local_addr().expect("the port that was bound"));
            let request = Request::new(Url::parse(&url).expect("an address"), None);
            let (limit, want, over) = (Duration::from_secs(5), BodyUse::Status, AddressFamilies::Any);
            let how = How { limit, want, over, proxies: Proxies::DIRECT, ssl: &Ssl::Auto, from: None };
            let client = Client::default();
            let requests = async {
                let send = || client.send(&request, how);
                let (one, other) = join(send(), send()).await;
                assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
                assert!(send().await.is_err_and(|failure| failure.why.contains("without a response")), "it breaks");
                let again = send().await;
                assert!(again.is_ok(), "a new connection is made: {again:?}");
            };
            select(pin!(requests), pin!(closing_after_one(listener, 2))).await;
        });
    }
}
