//! From a URL to a connection: its routes in order (D5), the proxies on the way, TLS.
//!
//! Another route is tried only until there is a connection to the endpoint, and so before a byte of the request is sent (A7).

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ddns_core::net::proxy::{Route, Scheme, Server, is_local};
use ddns_core::net::socks::Destination;
use ddns_core::net::ssl::Ssl;
use ddns_core::net::url::Url;
use ddns_core::text::duration::duration;
use ddns_core::text::order;
use tokio::time::{Instant, timeout, timeout_at};

use super::dial::{DialError, Dialer, late, nearly};
use super::how::{AddressFamilies, How, endpoint};
use super::proxy;
use super::stream::{Connection, Stream};
use super::tls::{self, Peer, Tls, TlsTrust};

/// How long a proxy may take if another route is left.
const PROXY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a proxy that was slow and led nowhere is tried last.
const AVOID_PROXY_FOR: Duration = Duration::from_secs(60);

/// A proxy, and the origin that it did not lead to; `None`: any, because the proxy itself was not reached.
type FailedRoute = (Arc<Server>, Option<String>);

/// Opens connections.
#[derive(Default)]
pub(super) struct Connector {
    tls: Tls,
    pub(super) dialer: Dialer,
    /// The proxies that were slow and led nowhere, and when.
    dead: RefCell<HashMap<FailedRoute, Instant>>,
}

impl Connector {
    /// A connector with fixed trust, which ignores the `ssl` of requests.
    pub(super) fn trusting(trust: &TlsTrust<'_>) -> Result<Self, String> {
        Ok(Self { tls: Tls::trusting(trust)?, ..Self::default() })
    }

    /// A connection to the host of `url`. The error lists what was tried.
    pub(super) async fn connect(&self, url: &Url, how: How<'_>, deadline: Instant) -> Result<Connection, String> {
        let connection = self.reach(url, how, deadline).await?;
        if !url.secure {
            return Ok(connection);
        }
        let via = connection.via.clone();
        let is_local = is_local(url, via.as_deref());
        let (field, trust_field) = self.tls.fields();
        let peer = Peer { host: &url.host, is_local, name: url.origin(), field, trust_field };
        let again = async || {
            let route = via.as_ref().map_or(Route::Direct, Route::Via);
            self.by(route, url, how, deadline).await.map_err(DialError::into_text)
        };
        // Boxed: the future of a handshake is large, and most requests do without one.
        Box::pin(self.secure(connection, &peer, (how.ssl, deadline), again)).await
    }

    /// A connection to the endpoint over the first route that leads there.
    async fn reach(&self, url: &Url, how: How<'_>, deadline: Instant) -> Result<Connection, String> {
        let mut routes = how.proxies.routes(url);
        if let (Some(Route::Direct), None) = (routes.next(), routes.next()) {
            return self.by(Route::Direct, url, how, deadline).await.map_err(|why| match why {
                DialError::NoAddress(why) => why,
                DialError::Tried(why) => format!("no connection to {} ({why})", url.origin()),
            });
        }
        // Boxed: this future is large, and most requests go directly.
        Box::pin(self.by_any(url, how, deadline)).await
    }

    /// Tries several routes in order. A proxy that was slow and led nowhere a moment ago is tried last: a thousand
    /// requests must not wait for the same dead proxy.
    async fn by_any(&self, url: &Url, how: How<'_>, deadline: Instant) -> Result<Connection, String> {
        let origin = url.origin();
        let mut routes: Vec<Route<'_>> = how.proxies.routes(url).collect();
        order::sort_by_key(&mut routes, |route| self.is_dead_end(*route, &origin));
        let mut tried = Vec::new();
        for (at, route) in routes.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let others = u32::try_from(routes.len() - at - 1).unwrap_or(u32::MAX - 1);
            let until = if others == 0 { deadline } else { Instant::now() + PROXY_TIMEOUT.min(left / (others + 1)) };
            let why = match self.by(*route, url, how, until).await {
                Ok(connection) => return Ok(connection),
                Err(why) => why.into_text(),
            };
            tried.push(match route {
                Route::Direct => format!("directly: {why}"),
                Route::Unusable(..) => why,
                Route::Via(server) => format!("proxy {server}: {why}"),
            });
        }
        Err(format!("no connection to {origin} ({})", tried.join("; ")))
    }

    fn is_dead_end(&self, route: Route<'_>, origin: &str) -> bool {
        let Route::Via(server) = route else { return false };
        let dead = self.dead.borrow();
        let is_dead =
            |toward| dead.get(&(server.clone(), toward)).is_some_and(|since| since.elapsed() < AVOID_PROXY_FOR);
        !dead.is_empty() && (is_dead(None) || is_dead(Some(origin.to_owned())))
    }

    /// A connection to the endpoint over one route.
    async fn by(&self, route: Route<'_>, url: &Url, how: How<'_>, until: Instant) -> Result<Connection, DialError> {
        match route {
            Route::Direct => {
                let connection = self.dialer.tcp((&url.host, url.port), how.over, how.from, until).await?;
                Ok(Connection { from: how.from, ..connection })
            }
            Route::Unusable(name, why) => Err(DialError::Tried(format!("{name} of the environment {why}"))),
            Route::Via(server) => {
                let begun = Instant::now();
                let costly = PROXY_TIMEOUT.min(until.saturating_duration_since(begun)) / 2;
                let until = nearly(until);
                let is_reached = Cell::new(false);
                let through = Box::pin(self.through(server, url, (how.ssl, until), &is_reached));
                let result = timeout_at(until, through).await.unwrap_or_else(|_| Err(late(begun)));
                if result.is_ok() {
                    self.revive(server, url);
                } else if begun.elapsed() >= costly {
                    let toward = is_reached.get().then(|| url.origin());
                    self.dead.borrow_mut().insert((server.clone(), toward), Instant::now());
                }
                result.map_err(DialError::Tried)
            }
        }
    }

    /// Notes that a proxy led to the endpoint.
    fn revive(&self, server: &Arc<Server>, url: &Url) {
        let mut dead = self.dead.borrow_mut();
        if !dead.is_empty() {
            dead.remove(&(server.clone(), None));
            dead.remove(&(server.clone(), Some(url.origin())));
        }
    }

    /// A connection to the endpoint through a proxy. For an http URL, an HTTP proxy needs no tunnel: it gets the request itself.
    async fn through(
        &self,
        server: &Arc<Server>,
        url: &Url,
        (ssl, until): (&Ssl, Instant),
        is_reached: &Cell<bool>,
    ) -> Result<Connection, String> {
        let to_proxy = async || {
            let connection = self.to_proxy(server, ssl, until).await?;
            is_reached.set(true);
            Ok(connection)
        };
        let mut connection = match server.scheme {
            Scheme::Http | Scheme::Https => {
                let mut connection = to_proxy().await?;
                if !server.relays(url.secure) {
                    connection.stream = proxy::tunnel(connection.stream, server, url).await?;
                }
                connection
            }
            Scheme::Socks5 | Scheme::Socks5h => self.through_socks(server, url, until, to_proxy).await?,
        };
        connection.via = Some(server.clone());
        Ok(connection)
    }

    /// If the endpoint's addresses are known here, they are tried one after the other, each for its share of the time.
    async fn through_socks(
        &self,
        server: &Server,
        url: &Url,
        until: Instant,
        to_proxy: impl AsyncFn() -> Result<Connection, String>,
    ) -> Result<Connection, String> {
        let destinations = match url.host.parse() {
            Err(_) if server.scheme == Scheme::Socks5h => vec![Destination::Name(url.host.clone())],
            Ok(ip) => vec![Destination::Address(ip)],
            Err(_) => {
                let addresses = self.dialer.look_up_by(&url.host, AddressFamilies::Any, until).await?;
                addresses.into_iter().map(Destination::Address).collect()
            }
        };
        let mut last = String::new();
        for (at, to) in destinations.iter().enumerate() {
            let mut connection = to_proxy().await?;
            let begun = Instant::now();
            let share = nearly(until) - begun;
            let share = share / u32::try_from(destinations.len() - at).unwrap_or(u32::MAX);
            match timeout(share, proxy::socks(&mut connection.stream, server, to, url.port)).await {
                Ok(Ok(Ok(()))) => return Ok(connection),
                Ok(Ok(Err(why))) => last = why,
                Ok(Err(own)) => return Err(own),
                Err(_) => last = late(begun),
            }
        }
        Err(last)
    }

    /// A connection to the proxy itself.
    async fn to_proxy(&self, server: &Server, ssl: &Ssl, until: Instant) -> Result<Connection, String> {
        let open = async || {
            let opened = self.dialer.tcp((&server.host, server.port), AddressFamilies::Any, None, until).await;
            opened.map_err(DialError::into_text)
        };
        let connection = open().await?;
        if server.scheme != Scheme::Https {
            return Ok(connection);
        }
        let name = format!("the proxy {server}");
        let is_local = server.is_local();
        let peer = Peer { host: &server.host, is_local, name, field: "proxy", trust_field: "ssl" };
        Box::pin(self.secure(connection, &peer, (ssl, until), open)).await
    }

    /// Starts TLS on a connection. If `auto` accepts an unknown issuer, TLS starts over on a new connection from `again` (D6).
    async fn secure(
        &self,
        connection: Connection,
        peer: &Peer<'_>,
        (ssl, until): (&Ssl, Instant),
        again: impl AsyncFnOnce() -> Result<Connection, String>,
    ) -> Result<Connection, String> {
        let via = connection.via.clone();
        let mut error = match self.handshake(connection, peer, ssl, until).await? {
            Ok(secured) => return Ok(secured),
            Err(error) => error,
        };
        if *ssl == Ssl::Auto && peer.is_local && tls::is_unknown_issuer(&error) {
            let connection = again().await?;
            match self.handshake(connection, peer, &Ssl::Off, until).await? {
                Ok(mut secured) => {
                    secured.unverified.push(peer.name.clone());
                    return Ok(secured);
                }
                Err(other) => error = other,
            }
        }
        Err(tls::explain(&error, &Peer { name: endpoint(&peer.name, via.as_deref()), ..*peer }))
    }

    async fn handshake(
        &self,
        connection: Connection,
        peer: &Peer<'_>,
        ssl: &Ssl,
        until: Instant,
    ) -> Result<std::io::Result<Connection>, String> {
        let connector = self.tls.connector(ssl)?;
        let name = tls::server_name(peer.host)?;
        let begun = Instant::now();
        let secured = timeout_at(nearly(until), connector.connect(name, connection.stream)).await.map_err(|_| {
            let (endpoint, took) = (endpoint(&peer.name, connection.via.as_deref()), duration(begun.elapsed()));
            format!("connected to {endpoint}, but the TLS handshake did not finish within {took}")
        })?;
        Ok(secured.map(|stream| Connection { stream: Stream::Tls(Box::new(stream)), ..connection }))
    }
}
