//! Tables for `proxy` and the variables of the environment.

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).expect("an address")
}

type EnvironmentPairs<'a> = &'a [(&'static str, &'static str)];

fn system(variables: EnvironmentPairs<'_>) -> Arc<System> {
    Arc::new(System::new(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)))
}

/// The routes as text: `direct`, a proxy, or the variable that is invalid.
fn routes(proxies: &Proxies, to: &str) -> Vec<String> {
    let to = url(to);
    let text = |route| match route {
        Route::Direct => "direct".to_owned(),
        Route::Via(server) => server.to_string(),
        Route::Unusable(name, _) => format!("wrong {name}"),
    };
    proxies.routes(&to).map(text).collect()
}

#[test]
fn d5_every_form_of_a_proxy() {
    let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
    let cases = [
        ("http://p.example:3128", "http://p.example:3128", None),
        (" HTTP://P.example ", "http://p.example:80", None),
        ("https://p.example/", "https://p.example:443", None),
        ("socks5://p", "socks5://p:1080", None),
        ("socks://p:1081/", "socks5://p:1081", None),
        ("Socks5h://p:9050", "socks5h://p:9050", None),
        ("p.example:3128", "http://p.example:3128", None),
        ("127.0.0.1:3128", "http://127.0.0.1:3128", None),
        ("p", "http://p:80", None),
        ("http://[2001:db8::1]:3128", "http://[2001:db8::1]:3128", None),
        ("[::1]:3128", "http://[::1]:3128", None),
        ("socks5://[::1]", "socks5://[::1]:1080", None),
        ("http://me:word@p:1", "http://p:1", pair("me", "word")),
        ("me:word@p:1", "http://p:1", pair("me", "word")),
        ("http://me%40home:a%3Ab%2Fc%20d@p:1", "http://p:1", pair("me@home", "a:b/c d")),
        ("http://a@b:c@p:1", "http://p:1", pair("a@b", "c")),
        ("http://me@p:1", "http://p:1", pair("me", "")),
        ("http://@p:1", "http://p:1", None),
        ("socks5h://me:word@p", "socks5h://p:1080", pair("me", "word")),
    ];
    for (text, expected, credentials) in cases {
        let server = Server::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(server.to_string(), expected, "{text}");
        assert_eq!(format!("{server:?}"), expected, "{text}");
        assert_eq!(server.credentials, credentials, "{text}");
    }
    for word in ["DIRECT", "direct", " Direct "] {
        assert_eq!(ProxyItem::parse(word), Ok(ProxyItem::Direct));
    }
    for word in ["SYSTEM", "system", "DEFAULT", "default"] {
        assert_eq!(ProxyItem::parse(word), Ok(ProxyItem::System));
    }
}

#[test]
fn d5_what_is_not_a_proxy_is_reported_without_its_secrets() {
    let long = format!("socks5://u:{}@p", "x".repeat(256));
    let cases = [
        ("", "an empty string"),
        ("  ", "an empty string"),
        ("ftp://u:pw-secret@p", "the scheme `ftp`"),
        ("socks4://p:1080", "the scheme `socks4`"),
        ("http://", "an invalid host"),
        ("http://u:pw-secret@", "an invalid host"),
        ("://p", "an invalid host"),
        ("http://a b:1", "an invalid host"),
        ("http://p..x:1", "an invalid host"),
        ("*:1", "an invalid host"),
        ("::1:3128x", "an invalid host"),
        ("http://p:0", "port is not between"),
        ("http://p:65536", "port is not between"),
        ("http://p:port", "port is not between"),
        ("u:pw-secret", "port is not between"),
        ("http://u:pw-se/cret@p:1", "with a path"),
        ("http://p:1/path", "with a path"),
        ("http://p:1?x=pw-secret", "with a path"),
        ("socks5://u@p", "user or password is empty or longer"),
        ("socks5://:pw-secret@p", "user or password is empty or longer"),
        (long.as_str(), "user or password is empty or longer"),
    ];
    for (text, expected) in cases {
        let error = ProxyItem::parse(text).expect_err(text);
        assert!(!error.contains("pw-se") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn d5_user_and_password_become_a_header_and_are_secrets() {
    let server = Server::parse("http://Aladdin:open%20sesame@p").expect("a proxy");
    assert_eq!(server.authorization().as_deref(), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
    assert_eq!(Server::parse("http://p").expect("a proxy").authorization(), None);
    let secrets = Proxies::new([ProxyItem::Server(server.into())], &system(&[])).secrets();
    for secret in ["Aladdin", "open sesame", "open%20sesame", "Aladdin:open sesame"] {
        assert!(secrets.iter().any(|known| known == secret), "{secret}: {secrets:?}");
    }
    let around = system(&[("https_proxy", "http://me:word@p")]);
    assert!(Proxies::system(&around).secrets().contains(&"word".to_owned()));
}

#[test]
fn d5_the_environment_names_proxies() {
    let plain = "http://h.example/";
    let secure = "https://h.example/";
    let cases: [(EnvironmentPairs<'_>, &str, &str); 14] = [
        (&[], plain, "direct"),
        (&[("http_proxy", "http://a:1")], plain, "http://a:1"),
        (&[("http_proxy", "http://a:1")], secure, "direct"),
        (&[("HTTP_PROXY", "a:1")], plain, "http://a:1"),
        (&[("HTTP_PROXY", "b:1"), ("http_proxy", "a:1")], plain, "http://a:1"),
        (&[("https_proxy", "a:1")], secure, "http://a:1"),
        (&[("HTTPS_PROXY", "a:1")], secure, "http://a:1"),
        (&[("https_proxy", "a:1"), ("HTTPS_PROXY", "b:1"), ("all_proxy", "c:1")], secure, "http://a:1"),
        (&[("all_proxy", "socks5://a")], secure, "socks5://a:1080"),
        (&[("ALL_PROXY", "socks5://a")], plain, "socks5://a:1080"),
        (&[("http_proxy", "a:1"), ("no_proxy", "other,.example")], plain, "direct"),
        (&[("http_proxy", "a:1"), ("no_proxy", "other"), ("NO_PROXY", "*")], plain, "http://a:1"),
        (&[("http_proxy", "a:1"), ("NO_PROXY", "h.example:80")], plain, "direct"),
        (&[("https_proxy", "ftp://a")], secure, "wrong https_proxy"),
    ];
    for (variables, to, expected) in cases {
        assert_eq!(routes(&Proxies::system(&system(variables)), to), [expected], "{variables:?} {to}");
    }
    // An invalid variable matters only if it would be used.
    let wrong = system(&[("http_proxy", "a:x"), ("no_proxy", "h.example")]);
    assert_eq!(routes(&Proxies::system(&wrong), plain), ["direct"]);
    assert_eq!(routes(&Proxies::system(&wrong), "http://other/"), ["wrong http_proxy"]);
    for name in ["http_proxy", "ALL_PROXY", "NO_PROXY", "no_proxy"] {
        assert!(is_variable(name), "{name}");
    }
    for name in ["PROXY", "ftp_proxy", "No_Proxy", "HOME"] {
        assert!(!is_variable(name), "{name}");
    }
}

#[test]
fn d5_routes_are_tried_in_order_and_once() {
    let around = system(&[("http_proxy", "http://env:1"), ("no_proxy", "near.example")]);
    let cases: [(&[&str], &str, &[&str]); 8] = [
        (&[], "http://far.example/", &["direct"]),
        (&["DIRECT"], "http://far.example/", &["direct"]),
        (&["a:1", "socks5://b:2", "DIRECT"], "http://far.example/", &["http://a:1", "socks5://b:2", "direct"]),
        (&["a:1", "b:1", "a:1"], "http://far.example/", &["http://a:1", "http://b:1"]),
        (&["SYSTEM", "DIRECT"], "http://far.example/", &["http://env:1", "direct"]),
        (&["SYSTEM", "DIRECT"], "http://near.example/", &["direct"]),
        (&["DEFAULT", "http://env:1"], "http://far.example/", &["http://env:1"]),
        // `NO_PROXY` belongs to the environment: a proxy of `proxy` is used for every host.
        (&["a:1"], "http://near.example/", &["http://a:1"]),
    ];
    for (items, to, expected) in cases {
        let items = items.iter().map(|item| ProxyItem::parse(item).expect("an item"));
        assert_eq!(routes(&Proxies::new(items, &around), to), expected, "{to}");
    }
    assert_eq!(routes(Proxies::DIRECT, "https://far.example/"), ["direct"]);
}

#[test]
fn d5_plain_requests_are_relayed_by_http_proxies_only() {
    for (text, plain) in [("http://p", true), ("https://p", true), ("socks5://p", false), ("socks5h://p", false)] {
        let server = Server::parse(text).expect("a proxy");
        assert_eq!((server.relays(false), server.relays(true)), (plain, false), "{text}");
    }
}

#[test]
fn d6_behind_a_proxy_a_host_is_local_only_where_the_proxy_is() {
    for (host, proxy, expected) in [
        ("nas.lan", None, true),
        ("nas.lan", Some("http://127.0.0.1:3128"), true),
        ("10.0.0.1", Some("socks5://192.168.1.1"), true),
        ("nas.lan", Some("http://proxy.lan"), true),
        ("nas.lan", Some("http://proxy.example.com"), false),
        ("127.0.0.1", Some("socks5h://192.0.2.1"), false),
        ("dns.example.com", Some("http://127.0.0.1:3128"), false),
        ("dns.example.com", None, false),
    ] {
        let server = proxy.map(|text| Server::parse(text).expect("a proxy"));
        assert_eq!(is_local(&url(&format!("https://{host}/")), server.as_ref()), expected, "{host} {proxy:?}");
    }
}
