//! An address of this host to listen on, as people write it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads `127.0.0.1:8080`, `[::1]:8080`, an address or a port alone, or `localhost`. `port` applies if none is written.
pub fn listen_address(text: &str, port: u16) -> Option<SocketAddr> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let text = text.trim();
    let text = text.strip_prefix("http://").map_or(text, |rest| rest.trim_end_matches('/'));
    let text = match text.strip_prefix("localhost") {
        Some(rest) if rest.is_empty() || rest.starts_with(':') => format!("127.0.0.1{rest}"),
        _ => text.to_owned(),
    };
    let ip = || text.trim_start_matches('[').trim_end_matches(']').parse().ok().map(|ip| SocketAddr::new(ip, port));
    let port = || text.trim_start_matches(':').parse().ok().map(|port| SocketAddr::new(loopback, port));
    text.parse().ok().or_else(ip).or_else(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_a_port_or_both() {
        let cases = [
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]:80", "[::1]:80"),
            ("::1", "[::1]:9"),
            ("[::]", "[::]:9"),
            ("0.0.0.0", "0.0.0.0:9"),
            ("80", "127.0.0.1:80"),
            (" :80 ", "127.0.0.1:80"),
            ("localhost", "127.0.0.1:9"),
            ("localhost:0", "127.0.0.1:0"),
            ("http://localhost:80/", "127.0.0.1:80"),
        ];
        for (text, expected) in cases {
            assert_eq!(listen_address(text, 9), expected.parse().ok(), "{text}");
        }
        for text in ["", "example.com", "1.2.3.4:70000", "localhostx", "1.2.3"] {
            assert_eq!(listen_address(text, 9), None, "{text}");
        }
    }
}
