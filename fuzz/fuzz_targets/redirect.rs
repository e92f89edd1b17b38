//! Where a redirection leads: never from https to http, and another origin gets no credentials.
#![no_main]

use ddns_core::callback::Request;
use ddns_core::net::url::Url;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u16, String)| {
    let (secure, status, location) = input;
    let scheme = if secure { "https" } else { "http" };
    let url = Url::parse(&format!("{scheme}://user:password@a.example/base/path?q=1")).expect("an address");
    let request = Request::new(url, Some("{}".to_owned()));
    if let Some(Ok(next)) = request.redirected(status, Some(&location)) {
        assert!(next.url.secure || !secure);
        assert!(next.url.path.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", next.url.path);
        if next.url.origin() != request.url.origin() {
            assert!(!next.headers("agent").iter().any(|(name, value)| *name == "Authorization" && value.contains("dXNlcjpwYXNzd29yZA")));
        }
    }
});
