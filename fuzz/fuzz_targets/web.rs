//! What a request to the page says of itself: its body, then on lines of their own who sent it, `Host`, `X-Forwarded-For`, `-Host`,
//! `-Proto`, `Origin` and `Cookie`. Only a name of the page is served, only a named proxy is believed, and no form leaves its fields.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ddns_core::config::web::Web;
use ddns_core::web::form;
use ddns_core::web::session::Id;
use ddns_core::web::visit::{VisitRefusal, is_own_site, visit};
use http::Request;
use libfuzzer_sys::fuzz_target;

const NAME: &str = "ddns.example.com";
const PAGE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 9876);

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let mut next = || lines.next().filter(|line| !line.is_empty());
    let body = next().unwrap_or_default();
    let peer = next().and_then(|line| line.parse::<IpAddr>().ok()).unwrap_or(PAGE.ip());
    let (host, forwarded_for, forwarded_host, forwarded_proto) = (next(), next(), next(), next());
    let (origin, cookies) = (next(), next().unwrap_or_default());

    for (name, value) in form::fields(body) {
        assert!(name.len() + value.len() <= 3 * body.len());
        assert!(form::value(body, &name).is_some());
    }
    if let Some(id) = Id::in_cookies(cookies, "ddns-9876") {
        assert!(cookies.to_ascii_lowercase().contains(&id.text()));
    }
    let is_forwarded = forwarded_for.is_some() || forwarded_host.is_some() || forwarded_proto.is_some();
    let headers = [
        ("host", host),
        ("x-forwarded-for", forwarded_for),
        ("x-forwarded-host", forwarded_host),
        ("x-forwarded-proto", forwarded_proto),
    ];
    let given = headers.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let asked = given.fold(Request::builder(), |asked, (name, value)| asked.header(name, value)).body(());
    // What no header can hold never comes so far.
    let Ok((asked, ())) = asked.map(Request::into_parts) else { return };
    let open = Web { hosts: vec![NAME.to_owned()], ..Web::default() };
    match visit(&asked, peer, false, &open, PAGE) {
        Ok(visit) => {
            assert!(!is_forwarded, "without a password nothing comes through a proxy");
            assert_eq!((visit.client, visit.is_secure), (peer.to_canonical(), false));
            let name = visit.host.rsplit_once(':').map_or(visit.host.as_str(), |(name, _)| name);
            let is_address = visit.host.contains('[') || name.parse::<IpAddr>().is_ok();
            assert!(is_address || name == NAME || name == "localhost" || visit.host == NAME, "{}", visit.host);
            if is_own_site(origin, None, &visit.host) {
                assert!(origin.is_some_and(|origin| origin.to_ascii_lowercase().contains(name)));
            }
        }
        Err(turned) => assert!(turned != VisitRefusal::Proxy || is_forwarded),
    }
});
