//! `proxy`, `NO_PROXY` and the sources of an address, as a user may write them.
#![no_main]

use ddns_core::address::source::{Source, split_list};
use ddns_core::net::proxy::{NoProxy, ProxyItem, Server};
use ddns_core::net::url::Url;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (String, String, u16)| {
    let (text, host, port) = input;
    if let Ok(server) = Server::parse(&text) {
        let _ = server.to_string();
        if let Some(value) = server.authorization() {
            assert!(!value.contains(['\r', '\n']));
        }
    }
    let _ = ProxyItem::parse(&text);
    NoProxy::parse(&text).covers(&host, port);
    for part in split_list(&text) {
        if let Ok(source) = Source::parse(part) {
            let _ = source.to_string();
        }
    }
    let _ = Url::parse(&text);
});
