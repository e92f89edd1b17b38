//! `router`: the outer address that the router reports by NAT-PMP, else by `UPnP` (F9). ddns only asks: it never maps a
//! port, and no answer can lead a request anywhere but to the router.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ddns_core::address::lookup::NO_PUBLIC_ADDRESS;
use ddns_core::address::observation::Choice;
use ddns_core::callback::{Format, Method, Request};
use ddns_core::net::family::Family;
use ddns_core::net::natpmp::{self, NatPmpAnswer};
use ddns_core::net::proxy::Proxies;
use ddns_core::net::reach::is_public;
use ddns_core::net::ssl::Ssl;
use ddns_core::net::upnp::{self, WanService};
use ddns_core::net::url::Url;
use ddns_core::text::duration::duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout, timeout_at};

use super::Query;
use crate::http::{AddressFamilies, BodyUse, Client, How};
use crate::platform::gateway;
use crate::udp;

/// How long the whole lookup may take.
const LIMIT: Duration = Duration::from_secs(5);

/// How long ddns waits for each try of NAT-PMP.
const TRIES: [Duration; 3] = [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1)];

/// How long ddns waits for answers to a search. The router may wait for a second itself (`MX`).
const SEARCH: Duration = Duration::from_millis(1300);

/// How long one `UPnP` request may take.
const REQUEST: Duration = Duration::from_secs(2);

pub(super) async fn ask(address: Option<Ipv4Addr>, query: Query<'_>, client: &Client) -> Result<Choice, String> {
    let router = address.map_or_else(|| gateway().map(|gateway| gateway.ip), Ok)?;
    let limit = query.time.min(LIMIT);
    let result = timeout(limit, ask_within(router, client)).await;
    result.unwrap_or_else(|_| Err(format!("the router {router} did not answer within {}", duration(limit))))
}

async fn ask_within(router: Ipv4Addr, client: &Client) -> Result<Choice, String> {
    let known = client.router.borrow().clone().filter(|(of, _)| *of == router);
    if let Some((_, service)) = known {
        if let Ok(Some(ip)) = call(&service, client).await
            && is_public(ip)
        {
            return judged(router, ip, "UPnP");
        }
        client.router.replace(None);
    }
    match udp::ask((router, natpmp::PORT).into(), None, &natpmp::QUESTION, &TRIES, natpmp::read).await {
        Ok(Some(NatPmpAnswer::Address(ip))) => judged(router, ip, "NAT-PMP"),
        Ok(Some(NatPmpAnswer::NoAddress)) => {
            Err(format!("{NO_PUBLIC_ADDRESS}, or has no address: it names none by NAT-PMP"))
        }
        by_natpmp => {
            let is_refused = matches!(by_natpmp, Ok(Some(NatPmpAnswer::Refused)));
            let ip = by_upnp(router, is_refused, client).await?;
            judged(router, ip, "UPnP")
        }
    }
}

fn judged(router: Ipv4Addr, ip: Ipv4Addr, how: &str) -> Result<Choice, String> {
    if is_public(ip) {
        return Ok(Choice { ip: ip.into(), why: format!("the router {router} said so by {how}") });
    }
    if ip.is_unspecified() {
        return Err(format!("the router {router} has no address: is it connected?"));
    }
    Err(format!("{NO_PUBLIC_ADDRESS}: it has {ip}"))
}

async fn by_upnp(router: Ipv4Addr, is_refused: bool, client: &Client) -> Result<Ipv4Addr, String> {
    let (port, path) = upnp::FRITZBOX;
    let spare = Url::parse(&format!("http://{router}:{port}{path}")).ok();
    let found = search(router).await.ok().flatten();
    let mut why = if is_refused {
        format!("the router {router} refuses NAT-PMP (switched off there?), and does not answer by UPnP")
    } else {
        format!("the router {router} answers neither by NAT-PMP nor by UPnP")
    };
    let mut services = Vec::new();
    for (url, is_found) in found.map(|url| (url, true)).into_iter().chain(spare.map(|url| (url, false))) {
        let description = get(Request::new(url.clone(), None), client).await;
        services = description.as_ref().map(|text| upnp::services(text, &url)).unwrap_or_default();
        let unread = match description {
            _ if !services.is_empty() => break,
            Ok(_) => "has no service that knows its address".to_owned(),
            Err(why) if is_found => format!("its description cannot be read: {why}"),
            Err(_) => continue,
        };
        why = format!("the router {router} answers by UPnP, but {unread}");
    }
    if services.is_empty() {
        return Err(why);
    }
    let (mut named, mut last) = (None, None);
    for service in services {
        match call(&service, client).await {
            Ok(Some(ip)) if is_public(ip) => {
                client.router.replace(Some((router, service)));
                return Ok(ip);
            }
            // One of several services may be without a connection.
            Ok(Some(ip)) => named = named.filter(|known: &Ipv4Addr| !known.is_unspecified()).or(Some(ip)),
            Ok(None) => {}
            Err(why) => last = Some(why),
        }
    }
    let nothing = || format!("{NO_PUBLIC_ADDRESS}, or has no address: it names none by UPnP");
    let refused = |why| format!("the router {router} refused to tell its address: {why}");
    named.ok_or_else(|| last.map_or_else(nothing, refused))
}

/// Finds the router's description: asks the router itself and the multicast group; only the router's own answers count.
async fn search(router: Ipv4Addr) -> io::Result<Option<Url>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    let mut buffer = [0; 2048];
    let end = Instant::now() + SEARCH;
    for to in [router, upnp::GROUP.0] {
        // Continue if the group cannot be reached.
        let _ = socket.send_to(upnp::search().as_bytes(), (to, upnp::GROUP.1)).await;
    }
    while let Ok(received) = timeout_at(end, socket.recv_from(&mut buffer)).await {
        let Ok((length, from)) = received else { break };
        let is_router = matches!(from, SocketAddr::V4(from) if *from.ip() == router);
        if let Some(url) = upnp::location(&buffer[..length], router).filter(|_| is_router) {
            return Ok(Some(url));
        }
    }
    Ok(None)
}

/// Asks a service for the address; `None` if it has none.
async fn call(service: &WanService, client: &Client) -> Result<Option<Ipv4Addr>, String> {
    let (body, action) = service.call();
    let headers = [("Content-Type", "text/xml; charset=\"utf-8\"".to_owned()), ("SOAPAction", action)];
    let request = Request {
        method: Method::Post,
        format: Format::Text,
        body: Some(body),
        headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
        ..Request::new(service.control.clone(), None)
    };
    get(request, client).await.map(|answer| upnp::external_address(&answer))
}

/// The answer of the router; fails if it is too long or a redirect.
async fn get(request: Request, client: &Client) -> Result<String, String> {
    // Marked as signed, because signed requests follow no redirect.
    let request = Request { is_signed: true, ..request };
    let over = AddressFamilies::Only(Family::V4);
    let (want, proxies, ssl) = (BodyUse::Body, Proxies::DIRECT, &Ssl::Verify);
    let how = How { limit: REQUEST, want, over, proxies, ssl, from: None };
    let response = client.send(&request, how).await.map_err(|failure| failure.why)?;
    if response.status != 200 {
        return Err(format!("it responded with {}", response.status));
    }
    if !response.is_whole {
        return Err("its response is too long, or was cut off".to_owned());
    }
    String::from_utf8(response.body).map_err(|_| "its response is not text".to_owned())
}
