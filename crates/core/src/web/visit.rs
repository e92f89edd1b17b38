//! Who asks, under which name, and from which site (I2). A name in `Host` that is not the page's own is another site whose
//! name was pointed at this host.

use std::net::{IpAddr, SocketAddr};

use crate::config::web::Web;
use crate::net::network::Network;

/// What a request says about where it comes from.
#[derive(Debug, Clone, Copy)]
pub struct RequestOrigin<'a> {
    /// The other end of the connection.
    pub peer: IpAddr,
    /// Whether the connection is secured.
    pub is_secured: bool,
    /// The host in the target itself, `GET http://host/`; `None` if it is a path.
    pub target: Option<&'a str>,
    /// `Host`
    pub host: Option<&'a str>,
    /// `X-Forwarded-For`, all of them.
    pub forwarded_for: &'a str,
    /// `X-Forwarded-Host`
    pub forwarded_host: Option<&'a str>,
    /// `X-Forwarded-Proto`
    pub forwarded_proto: Option<&'a str>,
    /// Whether there is a header that only proxies send.
    pub is_forwarded: bool,
}

/// Where a request comes from, as far as it is to be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// Who sent it.
    pub client: IpAddr,
    /// The name of the page, as the browser knows it, with its port.
    pub host: String,
    /// Whether it came over https.
    pub is_secure: bool,
}

/// Why a request is turned away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turned {
    /// The page does not have this name.
    Host,
    /// It came through a proxy, and there is no password that would keep strangers out.
    Proxy,
    /// It came through a proxy of ours that does not say for whom.
    Nobody,
}

/// Judges where a request comes from. `listen` is where the page listens in fact.
pub fn visit(asked: &RequestOrigin<'_>, web: &Web, listen: SocketAddr) -> Result<Visit, Turned> {
    let is_named = web.proxies.iter().any(|network| network.contains(asked.peer.to_canonical()));
    if asked.is_forwarded && web.password.is_none() {
        return Err(Turned::Proxy);
    }
    let own = [asked.target, asked.host].into_iter().flatten().collect::<Vec<_>>();
    if own.is_empty() || !own.iter().all(|host| is_known(host, web, listen)) {
        return Err(Turned::Host);
    }
    let forwarded = asked.forwarded_host.filter(|_| is_named).map(last);
    if forwarded.is_some_and(|host| !is_known(host, web, listen)) {
        return Err(Turned::Host);
    }
    let is_https = asked.forwarded_proto.map(last).is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
    Ok(Visit {
        client: if is_named { client(asked, &web.proxies)? } else { asked.peer.to_canonical() },
        host: forwarded.unwrap_or(own[0]).to_ascii_lowercase(),
        is_secure: asked.is_secured || is_named && is_https,
    })
}

/// The last of several: it is from the nearest proxy.
fn last(list: &str) -> &str {
    list.rsplit(',').next().unwrap_or_default().trim()
}

/// The last address that is not one of the named proxies: whatever stands before it, anybody may have written. Where the nearest
/// proxy wrote none, nobody knows who it is; what the proxy sends for itself has no such header.
fn client(asked: &RequestOrigin<'_>, proxies: &[Network]) -> Result<IpAddr, Turned> {
    let mut client = None;
    for item in asked.forwarded_for.rsplit(',').filter(|_| !asked.forwarded_for.is_empty()) {
        let Some(ip) = address(item.trim()) else { break };
        client = Some(ip);
        if !proxies.iter().any(|network| network.contains(ip)) {
            break;
        }
    }
    let own = asked.forwarded_for.is_empty().then(|| asked.peer.to_canonical());
    client.or(own).ok_or(Turned::Nobody)
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:80`
fn address(text: &str) -> Option<IpAddr> {
    let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let ip = inside.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip()));
    ip.ok().map(|ip: IpAddr| ip.to_canonical())
}

/// Whether the page is called so: loopback, the address it listens on, or a name in `hosts`. The port is not looked at: it
/// may be forwarded, and no other site can have the name.
fn is_known(host: &str, web: &Web, listen: SocketAddr) -> bool {
    let Some(name) = without_port(host) else { return false };
    let address = match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').and_then(|inside| inside.parse().ok()).map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    };
    match address {
        // An address has no name that could be pointed elsewhere.
        Some(ip) => ip.is_loopback() || ip == listen.ip() || listen.ip().is_unspecified(),
        None => {
            name.eq_ignore_ascii_case("localhost") || web.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
        }
    }
}

/// `host`, `host:80`, `[::1]`, `[::1]:80` without the port; `None` if it is none of them.
fn without_port(host: &str) -> Option<&str> {
    let end = if host.starts_with('[') { host.find(']')? + 1 } else { host.find(':').unwrap_or(host.len()) };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_good = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (is_good && !name.is_empty()).then_some(name)
}

/// Whether a request that changes something was sent by a page of ours: `Origin` says so, or `Sec-Fetch-Site` where there is
/// none. What says neither was not sent by a browser of today.
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

    fn asked(host: Option<&str>) -> RequestOrigin<'_> {
        RequestOrigin {
            peer: IpAddr::from([127, 0, 0, 1]),
            is_secured: false,
            target: None,
            host,
            forwarded_for: "",
            forwarded_host: None,
            forwarded_proto: None,
            is_forwarded: false,
        }
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
        let judge = |host, listen| visit(&asked(host), &web, listen).is_ok();
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
        // What stands in the target counts as well.
        let both = RequestOrigin { target: Some("evil.example"), ..asked(Some("localhost")) };
        assert_eq!(visit(&both, &web, loopback), Err(Turned::Host));
    }

    #[test]
    fn i2_forwarded_headers_count_from_named_proxies_alone() {
        let listen: SocketAddr = "127.0.0.1:9876".parse().expect("an address");
        let named = |proxies: &[&str]| Web {
            proxies: proxies.iter().filter_map(|text| Network::parse(text)).collect(),
            hosts: vec!["ddns.example".to_owned()],
            ..locked()
        };
        let forwarded = RequestOrigin {
            forwarded_for: "203.0.113.9, 192.0.2.7, 10.0.0.1",
            forwarded_host: Some("ddns.example"),
            forwarded_proto: Some("https"),
            is_forwarded: true,
            ..asked(Some("127.0.0.1:9876"))
        };
        let seen = visit(&forwarded, &named(&["127.0.0.1", "10.0.0.0/8"]), listen).expect("it is let in");
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(seen, Visit { client: ip("192.0.2.7"), host: "ddns.example".to_owned(), is_secure: true });
        let seen = visit(&forwarded, &named(&["10.0.0.0/8"]), listen).expect("it is let in");
        assert_eq!(seen, Visit { client: ip("127.0.0.1"), host: "127.0.0.1:9876".to_owned(), is_secure: false });
        let other = RequestOrigin { forwarded_host: Some("evil.example"), ..forwarded };
        assert_eq!(visit(&other, &named(&["127.0.0.1"]), listen), Err(Turned::Host));
        // Garbage of a client stands before what the proxy wrote, and is not the proxy's.
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
            let odd = RequestOrigin { forwarded_for: given, ..forwarded };
            let seen = visit(&odd, &named(&["127.0.0.1", "10.0.0.0/8"]), listen).map(|visit| visit.client);
            assert_eq!(seen, expected.map(ip).ok_or(Turned::Nobody), "{given}");
        }
        // Without a password, anybody may come through a proxy.
        assert_eq!(visit(&forwarded, &Web::default(), listen), Err(Turned::Proxy));
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
