//! Section D, the environment's proxies (D5): which variable counts, `NO_PROXY`, and what is wrong with them.

use serde_json::json;

use crate::support::given::{home, with};
use crate::support::proxies::by;
use crate::support::{Receiver, Sandbox};

const ID: &str = "http://dns.example.com/hook";

#[test]
fn d5_without_proxy_the_environment_counts() {
    for (name, wins) in
        [("http_proxy", true), ("HTTP_PROXY", true), ("all_proxy", true), ("ALL_PROXY", true), ("https_proxy", false)]
    {
        let (proxy, endpoint) = (Receiver::new(), Receiver::new());
        let sandbox = Sandbox::new().env(name, proxy.url(""));
        sandbox.sync(&home(&endpoint.url("/hook"))).expect(0);
        let expected = if wins { (1, 0) } else { (0, 1) };
        assert_eq!((proxy.callbacks().len(), endpoint.callbacks().len()), expected, "{name}");
    }
}

/// What GNOME exports for its SOCKS proxy.
#[test]
fn d5_socks_without_a_version_is_socks5() {
    let proxy = crate::support::proxies::Proxy::serving(|mut stream, seen| {
        let mut greeting = [0; 3];
        std::io::Read::read_exact(&mut stream, &mut greeting)?;
        seen.lock().expect("no test thread failed").push(format!("{greeting:?}"));
        Ok(())
    });
    let sandbox = Sandbox::new().env("all_proxy", format!("socks://{}/", proxy.address));
    sandbox.sync(&home("http://192.0.2.1/hook")).expect(1).prints(&format!("proxy socks5://{}", proxy.address));
    assert_eq!(proxy.seen(), ["[5, 1, 0]"]);
}

#[test]
fn d5_system_and_default_are_the_environment() {
    for word in ["SYSTEM", "system", "DEFAULT", "Default"] {
        let proxy = Receiver::new();
        let sandbox = Sandbox::new().env("http_proxy", format!("127.0.0.1:{}", proxy.port()));
        sandbox.sync(&by(ID, json!([word]))).expect(0);
        assert_eq!(proxy.callbacks().len(), 1, "{word}");
    }
    // Without any the way is the direct one.
    let endpoint = Receiver::new();
    Sandbox::new().sync(&by(&endpoint.url("/"), "SYSTEM")).expect(0);
    assert_eq!(endpoint.callbacks().len(), 1);
}

#[test]
fn d5_lower_case_wins() {
    let (lower, upper) = (Receiver::new(), Receiver::new());
    let sandbox = Sandbox::new().env("HTTP_PROXY", upper.url("")).env("http_proxy", lower.url(""));
    sandbox.env("ALL_PROXY", upper.url("")).sync(&home(ID)).expect(0);
    assert_eq!((lower.callbacks().len(), upper.callbacks().len()), (1, 0));
}

#[test]
fn d5_no_proxy_names_hosts_that_are_reached_directly() {
    let cases = [
        ("*", true),
        ("other.example, *", false),
        ("127.0.0.1", true),
        ("127.0.0.0/8", true),
        ("10.0.0.0/8", false),
        ("example.com, 127.0.0.1", true),
        ("example.com 127.0.0.0/8", true),
        ("127.0.0.1:PORT", true),
        ("127.0.0.1:1", false),
        ("localhost", false),
        ("0.0.1", false),
    ];
    for (list, direct) in cases {
        for name in ["no_proxy", "NO_PROXY"] {
            let (proxy, endpoint) = (Receiver::new(), Receiver::new());
            let list = list.replace("PORT", &endpoint.port().to_string());
            let sandbox = Sandbox::new().env("http_proxy", proxy.url("")).env(name, &list);
            sandbox.sync(&home(&endpoint.url("/hook"))).expect(0);
            assert_eq!(
                (endpoint.callbacks().len() == 1, proxy.callbacks().len() == 1),
                (direct, !direct),
                "{name}={list}"
            );
        }
    }
    for (list, direct) in
        [("LOCALHOST.", true), (".localhost", true), ("*.localhost", true), ("a.localhost", false), ("host", false)]
    {
        let (proxy, endpoint) = (Receiver::new(), Receiver::new());
        let sandbox = Sandbox::new().env("http_proxy", proxy.url("")).env("NO_PROXY", list);
        sandbox.sync(&home(&endpoint.url("/hook").replace("127.0.0.1", "localhost"))).expect(0);
        assert_eq!((endpoint.callbacks().len() == 1, proxy.callbacks().len() == 1), (direct, !direct), "{list}");
    }
}

#[test]
fn d5_no_proxy_is_the_environments_alone() {
    let proxy = Receiver::new();
    let sandbox = Sandbox::new().env("NO_PROXY", "*");
    sandbox.sync(&by(ID, json!([proxy.url("")]))).expect(0);
    assert_eq!(proxy.callbacks().len(), 1);
}

#[test]
fn d5_a_wrong_variable_is_an_error_only_where_it_would_be_used() {
    let endpoint = Receiver::new();
    for value in
        ["ftp://proxy-word@p:1", "http://proxy-word:x@p:99999", "http://:proxy-word@/", "http://proxy-word@p/path"]
    {
        let sandbox = || Sandbox::new().env("http_proxy", value);
        let run = sandbox().sync(&home(&endpoint.url("/"))).expect(2);
        run.prints("http_proxy").prints("`proxy`").prints("DIRECT").prints("socks5h://").never_prints("proxy-word");
        assert_eq!(endpoint.callbacks().len(), 0, "{value}");
        sandbox().sync(&by(&endpoint.url("/"), "DIRECT")).expect(0);
        sandbox().env("no_proxy", "127.0.0.1").sync(&home(&endpoint.url("/"))).expect(0);
        assert_eq!(endpoint.take().len(), 2, "{value}");
        let run = sandbox().sync(&with(&home("https://127.0.0.1:1/"), &json!({"timeout": 1}))).expect(1);
        run.never_prints("http_proxy");
    }
}

#[test]
fn d5_a_wrong_variable_that_only_a_redirection_meets_is_reported() {
    let first =
        Receiver::responding(|_| crate::support::Response::status(307).header("Location", "http://dns.example.com/x"));
    let sandbox = Sandbox::new().env("http_proxy", "ftp://proxy-word@p").env("no_proxy", "127.0.0.1");
    let run = sandbox.sync(&home(&first.url("/"))).expect(1);
    run.prints("http_proxy of the environment names a proxy with the scheme `ftp`").never_prints("proxy-word");
}

#[test]
fn d5_a_wrong_item_of_proxy_is_an_error_that_shows_no_secret() {
    for (item, part) in [
        ("ftp://proxy-user:proxy-word@p:1", "scheme `ftp`"),
        ("socks4://p:1", "scheme `socks4`"),
        ("http://proxy-user:proxy-word@p:x", "port"),
        ("http://proxy-user:proxy-word@", "host"),
        ("http://proxy-user:proxy/word@p:1", "path"),
        ("socks5://proxy-user@p:1", "user or password"),
        ("", "empty"),
    ] {
        let run = Sandbox::new().sync(&by(ID, json!(["DIRECT", item]))).expect(2);
        run.prints("`proxy`")
            .prints(part)
            .prints("use http://HOST:PORT")
            .never_prints("proxy-user")
            .never_prints("word@");
        let sandbox = Sandbox::new().configure(&home(ID));
        if !item.is_empty() {
            let run = sandbox.run(&["-c", "config.json", "--proxy", item]).expect(2);
            run.prints("--proxy").never_prints("proxy-user").never_prints("word@");
        }
    }
}

#[test]
fn d5_options_and_variables_name_proxies() {
    let proxy = Receiver::new();
    let sandbox = Sandbox::new().configure(&with(&home(ID), &json!({"cache": false})));
    sandbox.run(&["-c", "config.json", "--proxy", &proxy.url("")]).expect(0);
    let sandbox = sandbox.env("DDNS_PROXY", format!("{};DIRECT", proxy.url("")));
    sandbox.run(&["-c", "config.json"]).expect(0);
    let sandbox = sandbox.env("DDNS_PROXY", format!("[\"{}\"]", proxy.url("")));
    sandbox.run(&["-c", "config.json"]).expect(0);
    assert_eq!(proxy.callbacks().len(), 3);
}

#[test]
fn d5_an_ipv6_proxy_stands_in_brackets() {
    let Ok(listener) = std::net::TcpListener::bind("[::1]:0") else {
        crate::support::tools::skipped("this host has no ::1");
        return;
    };
    let address = listener.local_addr().expect("the port that was bound");
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 2048]);
            let _ = stream.write_all(b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n");
        }
    });
    for form in [json!(format!("http://{address}")), json!(address.to_string()), json!([address.to_string()])] {
        Sandbox::new().sync(&by(ID, form)).expect(0);
    }
}

#[test]
fn b12_a_configuration_is_fetched_through_the_environments_proxy() {
    let endpoint = Receiver::new();
    let text = home(&endpoint.url("/hook")).to_string().replace("shell:echo 203.0.113.7", &endpoint.index4());
    let proxy = Receiver::responding(move |_| crate::support::Response::with_body(200, &text));
    let sandbox = Sandbox::new().env("http_proxy", proxy.url("")).env("no_proxy", "127.0.0.1");
    sandbox.run(&["-c", "http://config.example.com/ddns.json"]).expect(0);
    assert_eq!(proxy.only().target(), "http://config.example.com/ddns.json");
    assert_eq!(endpoint.callbacks().len(), 1);
}
