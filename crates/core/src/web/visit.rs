//! Who sends a request, under which host name, and from which site (I2). A foreign name in `Host` means another site whose name
//! was pointed at this host (DNS rebinding).

use std::net::{IpAddr, SocketAddr};

use http::header::{AsHeaderName, HOST, HeaderMap, HeaderName};
use http::request::Parts;
use http::uri::Authority;
use http::{Method, Version};

use super::push::{is_push, is_two_in_one};
use crate::config::web::Web;
use crate::net::network::Network;

/// The response contains no secrets: a health check may come through a proxy, and may use HTTP/1.0.
pub const HEALTH: &str = "/healthz";

/// Headers that only proxies send, besides those that begin with [`FORWARDED`].
const OF_PROXIES: [&str; 6] = ["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"];
const FORWARDED: &str = "x-forwarded-";

/// Where a request comes from, as far as its headers can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The address of the client.
    pub client: IpAddr,
    /// The host name of the page in the browser, with its port.
    pub host: String,
    /// Whether it came over https.
    pub is_secure: bool,
}

/// Why a request is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitRefusal {
    /// The page does not have this name.
    Host,
    /// It came through a proxy, and there is no password that would keep strangers out.
    Proxy,
    /// It came through a named proxy that does not say for which client.
    Nobody,
}

/// The value of a header that occurs once; `None`: it is missing, repeated or not text.
pub fn single(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    first.to_str().ok().filter(|_| values.next().is_none())
}

/// Judges where a request comes from. `peer` is the other end of the connection, `is_secured` whether the connection uses TLS,
/// and `listen` the address where the page actually listens.
pub fn visit(
    head: &Parts,
    peer: IpAddr,
    is_secured: bool,
    web: &Web,
    listen: SocketAddr,
) -> Result<Visit, VisitRefusal> {
    let is_named = web.proxies.iter().any(|network| network.contains(peer.to_canonical()));
    if is_forwarded(head, web) && web.password.is_none() {
        return Err(VisitRefusal::Proxy);
    }
    // A host in the target itself, `GET http://host/`, counts as well.
    let target = head.uri.authority().map(Authority::as_str);
    let own = [target, single(&head.headers, HOST)].into_iter().flatten().collect::<Vec<_>>();
    if own.is_empty() || !own.iter().all(|host| is_known(host, web, listen)) {
        return Err(VisitRefusal::Host);
    }
    let forwarded = |name: &str| single(&head.headers, name).filter(|_| is_named).map(last);
    let host = forwarded("x-forwarded-host");
    if host.is_some_and(|host| !is_known(host, web, listen)) {
        return Err(VisitRefusal::Host);
    }
    let is_https = forwarded("x-forwarded-proto").is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
    Ok(Visit {
        client: if is_named { client(&head.headers, peer, &web.proxies)? } else { peer.to_canonical() },
        host: host.unwrap_or(own[0]).to_ascii_lowercase(),
        is_secure: is_secured || is_https,
    })
}

/// Whether a proxy apparently sent the request. Browsers do not use HTTP/1.0, but nginx does if only `proxy_pass` is set. So do
/// routers that push, and old ones that send two URLs as one; they need a password of their own.
fn is_forwarded(Parts { method, uri, version, headers, .. }: &Parts, web: &Web) -> bool {
    let is_push = || {
        is_push(web, method == Method::POST, uri.path(), uri.query().unwrap_or_default())
            || is_two_in_one(web, uri.path())
    };
    let is_of_proxy = |name: &HeaderName| name.as_str().starts_with(FORWARDED) || OF_PROXIES.contains(&name.as_str());
    uri.path() != HEALTH && (*version == Version::HTTP_10 && !is_push() || headers.keys().any(is_of_proxy))
}

/// The last value of a list: the nearest proxy wrote it.
fn last(list: &str) -> &str {
    list.rsplit(',').next().unwrap_or_default().trim()
}

/// The last address in `X-Forwarded-For` that is not a named proxy: anybody could have written what comes before it. Fails if the
/// header does not end with an address. Without the header, the proxy itself is the client.
fn client(headers: &HeaderMap, peer: IpAddr, proxies: &[Network]) -> Result<IpAddr, VisitRefusal> {
    let all = headers.get_all("x-forwarded-for").iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let all = all.collect::<Vec<_>>().join(",");
    if all.is_empty() {
        return Ok(peer.to_canonical());
    }
    let mut client = Err(VisitRefusal::Nobody);
    for item in all.rsplit(',') {
        let Some(ip) = address(item.trim()) else { break };
        client = Ok(ip);
        if !proxies.iter().any(|network| network.contains(ip)) {
            break;
        }
    }
    client
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`
fn address(text: &str) -> Option<IpAddr> {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let ip = inside.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip()));
    ip.ok().map(|ip: IpAddr| ip.to_canonical())
}

/// Whether the page has this name: loopback, the address that it listens on, or a name in `hosts`. The port is ignored: it may be
/// forwarded, and no other site can have the name.
fn is_known(host: &str, web: &Web, listen: SocketAddr) -> bool {
    let Some(name) = without_port(host) else { return false };
    let address = match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').and_then(|inside| inside.parse().ok()).map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    };
    match address {
        // An address needs no DNS, so nobody can point it elsewhere.
        Some(ip) => ip.is_loopback() || ip == listen.ip() || listen.ip().is_unspecified(),
        None => {
            name.eq_ignore_ascii_case("localhost") || web.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
        }
    }
}

/// `host`, `host:80`, `[::1]`, `[::1]:80` without the port; `None` for any other text.
fn without_port(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_good = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (is_good && !name.is_empty()).then_some(name)
}

/// Whether this page sent a request that changes something: `Origin` says so, or `Sec-Fetch-Site` if there is no `Origin`.
/// Current browsers send at least one of them.
pub fn is_own_site(origin: Option<&str>, fetch_site: Option<&str>, host: &str) -> bool {
    let Some(origin) = origin else { return fetch_site == Some("same-origin") };
    let (authority, usual) = match (origin.strip_prefix("https://"), origin.strip_prefix("http://")) {
        (Some(authority), _) => (authority, ":443"),
        (_, Some(authority)) => (authority, ":80"),
        _ => return false,
    };
    let plain = |authority: &str| authority.strip_suffix(usual).unwrap_or(authority).to_ascii_lowercase();
    plain(authority) == plain(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::web::SecretFile;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// A request for a target with these headers.
    fn asked(target: &str, headers: &[(&'static str, &str)]) -> Parts {
        let mut head = http::Request::builder().uri(target).body(()).expect("a request").into_parts().0;
        for (name, value) in headers {
            head.headers.append(*name, value.parse().expect("a header"));
        }
        head
    }

    fn locked() -> Web {
        Web {
            password: Some(SecretFile { path: String::new(), shown: String::new(), text: Ok(String::new()) }),
            ..Web::default()
        }
    }

    #[test]
    fn i2_only_the_names_of_the_page_are_served() {
        let web = Web { hosts: vec!["ddns.example".to_owned()], ..Web::default() };
        let loopback: SocketAddr = "127.0.0.1:9876".parse().expect("an address");
        let judge = |host: Option<&str>, listen| {
            let host: Vec<_> = host.map(|host| ("host", host)).into_iter().collect();
            visit(&asked("/", &host), LOCAL, false, &web, listen).is_ok()
        };
        for host in
            ["localhost", "LocalHost:1", "127.0.0.1:9876", "127.1.2.3", "[::1]:9876", "[::1]", "DDNS.example:443"]
        {
            assert!(judge(Some(host), loopback), "{host}");
        }
        for host in [
            "",
            ":",
            ":80",
            "evil.example",
            "evil.example:9876",
            "localhost.evil.example",
            "a.ddns.example",
            "192.0.2.1",
            "localhost:80:80",
            "localhost:x",
            "[::1",
            "127.0.0.1]",
            "[127.0.0.1]",
            "::1",
            "127.0.0.1.evil.example",
            "localhost,evil.example",
            "localhost ",
            "user@localhost",
            "127.0.0.1:999999",
        ] {
            assert!(!judge(Some(host), loopback), "{host}");
        }
        assert!(!judge(None, loopback));
        let all: SocketAddr = "0.0.0.0:9876".parse().expect("an address");
        assert!(
            judge(Some("192.0.2.1:80"), all) && judge(Some("[2001:db8::1]"), all) && !judge(Some("evil.example"), all)
        );
        let one: SocketAddr = "192.0.2.1:80".parse().expect("an address");
        assert!(judge(Some("192.0.2.1"), one) && !judge(Some("192.0.2.2"), one));
        // A host in the target counts as well.
        let both = asked("http://evil.example/", &[("host", "localhost")]);
        assert_eq!(visit(&both, LOCAL, false, &web, loopback), Err(VisitRefusal::Host));
    }

    #[test]
    fn i2_forwarded_headers_count_from_named_proxies_alone() {
        let listen: SocketAddr = "127.0.0.1:9876".parse().expect("an address");
        let named = |proxies: &[&str]| Web {
            proxies: proxies.iter().filter_map(|text| Network::parse(text)).collect(),
            hosts: vec!["ddns.example".to_owned()],
            ..locked()
        };
        let forwarded = |for_whom: &str, host: &str| {
            let proxy = [("x-forwarded-host", host), ("x-forwarded-proto", "https"), ("x-forwarded-for", for_whom)];
            asked("/", &[proxy.as_slice(), &[("host", "127.0.0.1:9876")]].concat())
        };
        let judge = |head: &Parts, web: &Web| visit(head, LOCAL, false, web, listen);
        let usual = forwarded("203.0.113.9, 192.0.2.7, 10.0.0.1", "ddns.example");
        let seen = judge(&usual, &named(&["127.0.0.1", "10.0.0.0/8"])).expect("it is let in");
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(seen, Visit { client: ip("192.0.2.7"), host: "ddns.example".to_owned(), is_secure: true });
        let seen = judge(&usual, &named(&["10.0.0.0/8"])).expect("it is let in");
        assert_eq!(seen, Visit { client: ip("127.0.0.1"), host: "127.0.0.1:9876".to_owned(), is_secure: false });
        let other = forwarded("203.0.113.9, 192.0.2.7, 10.0.0.1", "evil.example");
        assert_eq!(judge(&other, &named(&["127.0.0.1"])), Err(VisitRefusal::Host));
        // What a client invents comes before the address that the proxy wrote.
        for (given, expected) in [
            ("", Some("127.0.0.1")),
            ("203.0.113.9", Some("203.0.113.9")),
            ("\u{fffd}, 203.0.113.9", Some("203.0.113.9")),
            ("x, 10.0.0.1", Some("10.0.0.1")),
            ("203.0.113.9:4711", Some("203.0.113.9")),
            ("[2001:db8::1], 10.0.0.1", Some("2001:db8::1")),
            ("[2001:db8::1]:4711", Some("2001:db8::1")),
            ("203.0.113.9, x", None),
            ("\u{fffd}", None),
            ("203.0.113.9,", None),
        ] {
            let odd = forwarded(given, "ddns.example");
            let seen = judge(&odd, &named(&["127.0.0.1", "10.0.0.0/8"])).map(|visit| visit.client);
            assert_eq!(seen, expected.map(ip).ok_or(VisitRefusal::Nobody), "{given}");
        }
        // Without a password, a proxy would let anybody in.
        assert_eq!(judge(&usual, &Web::default()), Err(VisitRefusal::Proxy));
    }

    #[test]
    fn i2_only_our_own_site_changes_something() {
        let host = "127.0.0.1:9876";
        assert!(is_own_site(Some("http://127.0.0.1:9876"), None, host));
        assert!(is_own_site(Some("http://127.0.0.1:9876"), Some("same-origin"), host));
        assert!(is_own_site(None, Some("same-origin"), host));
        assert!(is_own_site(Some("https://ddns.example"), None, "ddns.example"));
        assert!(is_own_site(Some("https://DDNS.example"), None, "ddns.example:443"));
        assert!(is_own_site(Some("http://ddns.example"), None, "ddns.example:80"));
        for origin in [
            "null",
            "",
            "http://127.0.0.1",
            "http://127.0.0.1:9877",
            "http://evil.example",
            "127.0.0.1:9876",
            "file://",
        ] {
            assert!(!is_own_site(Some(origin), Some("same-origin"), host), "{origin}");
        }
        for site in [None, Some("none"), Some("same-site"), Some("cross-site")] {
            assert!(!is_own_site(None, site, host), "{site:?}");
        }
    }
}
