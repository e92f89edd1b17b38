//! `UPnP`'s Internet Gateway Device, only to learn the router's outer address. ddns never maps a port, and no answer
//! can lead anywhere but to the gateway: every address in it must be the gateway's own (F9).
//!
//! No XML is parsed: each value is between a tag and its end tag, without attributes, entities or inner tags.

use std::net::Ipv4Addr;

use crate::net::url::Url;

/// The multicast group and port of the search. The gateway itself is asked first.
pub const GROUP: (Ipv4Addr, u16) = (Ipv4Addr::new(239, 255, 255, 250), 1900);

/// Port and path of a FRITZ!Box's description, which it does not always announce.
pub const FRITZBOX: (u16, &str) = (49000, "/igddesc.xml");

/// The device type to search for.
const DEVICE: &str = "InternetGatewayDevice";

/// The longest answer to a call, in bytes.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

/// The services that know the outer address, best first.
const SERVICES: [&str; 3] = ["WANIPConnection:2", "WANIPConnection:1", "WANPPPConnection:1"];

/// The search message: which device is a gateway?
pub fn search() -> String {
    let (group, port) = GROUP;
    format!(
        "M-SEARCH * HTTP/1.1\r\nHOST: {group}:{port}\r\nMAN: \"ssdp:discover\"\r\nMX: 1\r\n\
         ST: urn:schemas-upnp-org:device:{DEVICE}:1\r\n\r\n"
    )
}

/// The URL of the description in an answer to [`search`]; `None` if the gateway itself does not serve it, or the answer
/// is about another device.
pub fn location(answer: &[u8], gateway: Ipv4Addr) -> Option<Url> {
    let text = std::str::from_utf8(answer).ok()?;
    let mut lines = text.split("\r\n");
    lines.next().filter(|line| line.starts_with("HTTP/1.") && line.contains(" 200"))?;
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(':')).collect();
    let header = |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, text)| text);
    header("st").is_none_or(|device| device.contains(DEVICE)).then_some(())?;
    of_gateway(header("location")?.trim(), gateway)
}

/// A URL at the gateway: plain http, the gateway's IPv4 address as its host, no user.
fn of_gateway(text: &str, gateway: Ipv4Addr) -> Option<Url> {
    let is_clean = text.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains('@');
    let url = Url::parse(text).ok().filter(|_| is_clean)?;
    (!url.secure && url.credentials.is_none() && url.host == gateway.to_string()).then_some(url)
}

/// A service in a description: its type, and the URL for calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WanService {
    /// `urn:schemas-upnp-org:service:WANIPConnection:1`
    pub urn: String,
    /// The URL for calls, at the gateway.
    pub control: Url,
}

impl WanService {
    /// The body of a call, and the value of its `SOAPAction` header.
    pub fn call(&self) -> (String, String) {
        let urn = &self.urn;
        let body = format!(
            "<?xml version=\"1.0\"?>\r\n<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             s:encodingStyle=\"http://schemas.xmlsoap.org/soap/encoding/\"><s:Body>\
             <u:GetExternalIPAddress xmlns:u=\"{urn}\"/></s:Body></s:Envelope>\r\n"
        );
        (body, format!("\"{urn}#GetExternalIPAddress\""))
    }
}

/// The services in a description that know the outer address, best first.
pub fn services(description: &str, base: &Url) -> Vec<WanService> {
    let Ok(gateway) = base.host.parse() else { return Vec::new() };
    let of = |service| {
        let urn = between(service, "serviceType").next()?.trim();
        let path = between(service, "controlURL").next()?.trim();
        let rank = SERVICES.iter().position(|kind| urn.ends_with(&format!(":service:{kind}")))?;
        let control = if path.starts_with('/') && !path.starts_with("//") {
            Url { path: path.to_owned(), ..base.clone() }
        } else {
            of_gateway(path, gateway).filter(|url| url.port == base.port)?
        };
        let is_clean = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>&\"".contains(&byte));
        (is_clean(urn) && is_clean(path)).then(|| (rank, WanService { urn: urn.to_owned(), control }))
    };
    let mut found: Vec<(usize, WanService)> = between(description, "service").filter_map(of).collect();
    found.sort_by_key(|(rank, _)| *rank);
    found.into_iter().map(|(_, service)| service).collect()
}

/// The address in the answer to a call; `None` if there is none.
pub fn external_address(answer: &str) -> Option<Ipv4Addr> {
    let answer = Some(answer).filter(|answer| answer.len() <= MAX_ANSWER_BYTES)?;
    between(answer, "NewExternalIPAddress").next()?.trim().parse().ok()
}

/// The text between each `<name>` and the `</name>` that follows, including inner tags.
fn between<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(&open)?;
        let (inside, next) = after.split_once(&close)?;
        rest = next;
        Some(inside)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 168, 77, 1);

    fn answer(location: &str) -> Vec<u8> {
        let device = "ST: urn:schemas-upnp-org:device:InternetGatewayDevice:1";
        format!("HTTP/1.1 200 OK\r\n{device}\r\nLocation: {location}\r\n\r\n").into_bytes()
    }

    #[test]
    fn f9_e_a_location_is_at_the_gateway_or_it_is_none() {
        let url = location(&answer("http://192.168.77.1:5000/rootDesc.xml"), GATEWAY).expect("a location");
        assert_eq!((url.port, url.path.as_str()), (5000, "/rootDesc.xml"));
        for wrong in [
            "https://192.168.77.1/d.xml",
            "http://192.168.77.2/d.xml",
            "http://127.0.0.1/d.xml",
            "http://router.lan/d.xml",
            "http://user@192.168.77.1/d.xml",
            "http://192.168.77.1@10.0.0.1/d.xml",
            "http://10.0.0.1/@192.168.77.1",
            "http://3232255233/d.xml",
            "http://[::ffff:192.168.77.1]/d.xml",
            "/d.xml",
            "",
        ] {
            assert!(location(&answer(wrong), GATEWAY).is_none(), "{wrong}");
        }
        let other =
            "HTTP/1.1 200 OK\r\nLocation: http://192.168.77.1/d.xml\r\nst: urn:schemas-upnp-org:device:Printer:1\r\n";
        assert!(location(other.as_bytes(), GATEWAY).is_none(), "another device");
        for wrong in
            [&b"HTTP/1.1 404 x\r\nLocation: http://192.168.77.1/\r\n"[..], b"", b"\xff", b"HTTP/1.1 200 OK\r\n"]
        {
            assert!(location(wrong, GATEWAY).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn f9_f_type_and_control_path_are_of_the_same_service_and_the_best_comes_first() {
        let service = |urn: &str, control: &str| {
            format!("<service><serviceType>{urn}</serviceType><controlURL>{control}</controlURL></service>")
        };
        let urn = |kind: &str| format!("urn:schemas-upnp-org:service:{kind}");
        let base = Url::parse("http://192.168.77.1:5000/rootDesc.xml").expect("an address");
        let paths = |text: &str| -> Vec<String> {
            services(text, &base)
                .into_iter()
                .map(|service| format!("{}{}", service.control.port, service.control.path))
                .collect()
        };
        let text = service(&urn("Layer3Forwarding:1"), "/no")
            + &service(&urn("WANPPPConnection:1"), "/ppp")
            + &service(&urn("WANIPConnection:1"), "/one")
            + &service(&urn("WANIPConnection:2"), "http://192.168.77.1:5000/two");
        assert_eq!(paths(&text), ["5000/two", "5000/one", "5000/ppp"]);
        for wrong in
            ["//10.0.0.1/x", "http://10.0.0.1:5000/x", "http://192.168.77.1:80/x", "x", "/a b", "/a&b", "/a\r\nHost: x"]
        {
            assert!(paths(&service(&urn("WANIPConnection:1"), wrong)).is_empty(), "{wrong}");
        }
        let cut = service(&urn("WANIPConnection:1"), "/x");
        assert!((0..cut.len()).all(|end| paths(&cut[..end]).is_empty()));
    }

    #[test]
    fn f9_g_an_address_is_one_without_anything_else() {
        let read =
            |inside: &str| external_address(&format!("<a><NewExternalIPAddress>{inside}</NewExternalIPAddress></a>"));
        assert_eq!(read(" 203.0.113.7\n"), Some(Ipv4Addr::new(203, 0, 113, 7)));
        for wrong in
            ["", "&#50;03.0.113.7", "<!-- -->203.0.113.7", "203.0.113.7 x", "2001:db8::1", "203.0.113.07", "host"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(external_address("<NewExternalIPAddress>203.0.113.7"), None);
        assert_eq!(read(&format!("203.0.113.7{}", " ".repeat(MAX_ANSWER_BYTES))), None, "more than any router says");
    }
}
