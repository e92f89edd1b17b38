//! `dns:SERVER/NAME`: which DNS server to ask, and for which name (F8).

use std::fmt;

use crate::net::url::{Url, bracketed};
use crate::update::domain::Domain;

const DNS_PORT: u16 = 53;

/// A DNS server, and a name for which it returns the address of the host that asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DnsSource {
    /// The server's host name or address.
    pub host: String,
    /// The server's port.
    pub port: u16,
    /// The name to ask for.
    pub name: String,
    /// Whether to ask for a TXT record instead of an address.
    pub is_text: bool,
    /// Whether to ask in the class CH instead of IN.
    pub is_chaos: bool,
}

impl DnsSource {
    /// `SERVER/NAME`, `SERVER/NAME/TXT`, `SERVER/NAME/TXT/CH`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split('/').map(str::trim).collect();
        let is = |at: usize, word: &str| parts.get(at).is_some_and(|part: &&str| part.eq_ignore_ascii_case(word));
        let is_right = match parts.len() {
            2 => true,
            3 => is(2, "TXT"),
            4 => is(2, "TXT") && is(3, "CH"),
            _ => false,
        };
        if !is_right {
            return Err("`dns:` must be SERVER/NAME, SERVER/NAME/TXT or SERVER/NAME/TXT/CH".to_owned());
        }
        let (host, port) = host_and_port(parts[0], DNS_PORT).map_err(|why| format!("the server after `dns:` {why}"))?;
        let name = Domain::parse(parts[1]).map_err(|why| format!("the name in `dns:` is wrong: {why}"))?;
        if !name.as_str().is_ascii() {
            return Err("the name in `dns:` must consist of ASCII letters".to_owned());
        }
        let name = name.as_str().to_owned();
        Ok(Self { host, port, name, is_text: parts.len() > 2, is_chaos: parts.len() > 3 })
    }
}

impl fmt::Display for DnsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, name, is_text, is_chaos } = self;
        let port = if *port == DNS_PORT { String::new() } else { format!(":{port}") };
        let text = if *is_text { "/TXT" } else { "" };
        write!(f, "{}{port}/{name}{text}{}", bracketed(host), if *is_chaos { "/CH" } else { "" })
    }
}

/// Reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`; `port` is the default. The error continues a sentence whose subject is the server.
pub fn host_and_port(server: &str, port: u16) -> Result<(String, u16), String> {
    // Hosts and ports follow the rules for URLs.
    let url = Url::parse(&format!("http://{server}")).map_err(|why| why.to_string())?;
    if server.contains(['/', '?', '#', '@']) || server.ends_with(':') {
        return Err("must be HOST or HOST:PORT".to_owned());
    }
    let has_port = server.rsplit_once(':').is_some_and(|(before, _)| !before.contains(':') || before.ends_with(']'));
    Ok((url.host, if has_port { url.port } else { port }))
}

#[cfg(test)]
mod tests {
    use super::super::Source;

    #[test]
    fn f8_a_server_and_a_name_of_dns_are_read() {
        assert_eq!(Source::parse("dns"), Ok(Source::Dns(None)));
        for text in
            ["dns:ns.example/ip.example", "dns:[2001:db8::1]:5353/a.b/TXT", "dns:1.1.1.1/whoami.cloudflare/TXT/CH"]
        {
            assert_eq!(Source::parse(text).expect(text).to_string(), text);
        }
        assert_eq!(
            Source::parse("DNS:2001:db8::1/A.B/txt").map(|it| it.to_string()).as_deref(),
            Ok("dns:[2001:db8::1]/a.b/TXT")
        );
        let wrong = [
            ("dns:", "needs a value"),
            ("dns:ns.example", "must be SERVER/NAME"),
            ("dns:ns.example/a/A", "must be SERVER/NAME"),
            ("dns:ns.example/a/TXT/IN", "must be SERVER/NAME"),
            ("dns:ns.example/a/TXT/CH/x", "must be SERVER/NAME"),
            ("dns:ns.example:99999/a", "the server after `dns:`"),
            ("dns:u@h/a", "the server after `dns:`"),
            ("dns:ns.example/a..b", "the name in `dns:`"),
            ("dns:ns.example/bücher.example", "ASCII"),
        ];
        for (text, why) in wrong {
            let error = Source::parse(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
