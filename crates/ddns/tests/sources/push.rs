//! Section F, `push`: a router tells its address to the service's web server. By recorded requests of a FRITZ!Box, by real inadyn (which
//! `UniFi` has) and ddclient, and by strangers.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::given::with;
use crate::support::page::{Answer, HASH, Page};
use crate::support::programs::free_port;
use crate::support::tools::{LOOPBACK, inside, skipped, tool};
use crate::support::watching::{Endpoint, SOON, Watch, host, until};
use crate::support::{Sandbox, mode};

const PASSWORD: &str = "0123456789abcdef0123";
/// `router:0123456789abcdef0123`
const RIGHT: &str = "Authorization: Basic cm91dGVyOjAxMjM0NTY3ODlhYmNkZWYwMTIz";
/// `router:wrong-wrong-wrong-wrong`
const WRONG: &str = "Authorization: Basic cm91dGVyOndyb25nLXdyb25nLXdyb25nLXdyb25n";
/// `nas:correct horse`
const HASHED: &str = "Authorization: Basic bmFzOmNvcnJlY3QgaG9yc2U=";

/// Of the same password as `HASH`, as `ddns password` makes it.
const COSTLY: &str =
    "$argon2id$v=19$m=12288,t=3,p=1$u7nQEuKhKTZFWf/UHG7/Rg$ugcxFRf6mhrVlmMrBL1MGl4wKJkVwipRx14EMV5pzz4";

/// A service whose address is pushed. `web` and `more` are added to its page and to its configuration.
fn service(web: &Value, more: &Value) -> Page {
    let endpoint = Endpoint::new();
    let (config, sandbox) = (configuration(&endpoint, more), prepared());
    Page::start(endpoint, sandbox, web, config)
}

fn configuration(endpoint: &Endpoint, more: &Value) -> Value {
    with(&endpoint.config(&json!({"index4": "push"})), more)
}

fn prepared() -> Sandbox {
    let sandbox = host();
    sandbox.write("push.password", PASSWORD);
    sandbox
}

fn router() -> Value {
    json!({"push": {"router": {"password_file": "push.password"}}})
}

fn open() -> Page {
    service(&router(), &json!({}))
}

fn push(page: &Page, query: &str) -> Answer {
    page.request("GET", &format!("/nic/update?{query}"), &[RIGHT], "")
}

/// As a FRITZ!Box sends it.
fn fritzbox(page: &Page, query: &str) -> Answer {
    page.send(format!(
        "GET /nic/update?{query} HTTP/1.0\r\nHost: {}\r\n{RIGHT}\r\nUser-Agent: Fritz!Box DDNS/1.0.1\r\n\r\n",
        page.host()
    ))
}

fn memory(page: &Page) -> PathBuf {
    let mut name = page.sandbox.cache_file().into_os_string();
    name.push(".push");
    name.into()
}

#[track_caller]
fn answers(answer: &Answer, status: u16, word: &str) {
    assert_eq!((answer.status, answer.body.trim_end()), (status, word), "{}", answer.head);
}

/// Nothing was remembered, and nothing is sent.
#[track_caller]
fn nothing_changed(page: &Page) {
    assert!(!memory(page).exists());
    assert_eq!(page.endpoint.count(), 0);
}

#[test]
fn f10g_f10h_a_push_is_remembered_and_sent_at_once() {
    let page = open();
    let answer = fritzbox(&page, "hostname=home.example.com&myip=5.145.0.7&myipv6=&ip6lanprefix=");
    assert!(answer.head.to_lowercase().contains("connection: close"), "{}", answer.head);
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
    assert_eq!(answer.header("set-cookie"), None, "a push begins no session");
    answers(&answer, 200, "good 5.145.0.7");
    assert_eq!(mode(&memory(&page)), 0o600);
    assert_eq!(page.endpoint.wait(1, SOON).ip(), "5.145.0.7");
    answers(&push(&page, "myip=5.145.0.7"), 200, "nochg 5.145.0.7");
    answers(&page.request("POST", "/v3/update", &[RIGHT], "ip=5.145.0.8"), 200, "good 5.145.0.8");
    assert_eq!(page.endpoint.wait(2, SOON).ip(), "5.145.0.8");
    answers(&page.request("GET", "/update?ipv4=5.145.0.9", &[RIGHT], ""), 200, "good 5.145.0.9");
    assert_eq!(page.endpoint.wait(3, SOON).ip(), "5.145.0.9");
    // The page itself still has its view of an update there.
    page.get("/update?domain=home.example.com&type=A").expect(200);
    let history = || page.sandbox.run(&["history", "--json", "-c", "config.json"]).expect(0).stdout;
    until(SOON, "the history", || history().contains("5.145.0.9"));
    assert!(history().contains("push:router"), "{}", history());
    assert_eq!(page.endpoint.count(), 3);
}

#[test]
fn f10c_f10d_both_families_and_the_prefix_of_the_hosts() {
    let more = json!({"providers": [
        {"provider": "callback", "index4": "push:router", "index6": "push:router", "ipv6": ["home.example.com"]},
        {"provider": "callback", "ipv4": [], "index6": "push",
            "ipv6": [{"name": "nas.example.com", "interface_id": "::1234:5678:9abc:def0"}]},
    ]});
    let page = service(&router(), &more);
    let sent = |expected: &[&str]| {
        until(SOON, "the updates", || expected.iter().all(|ip| page.endpoint.ips().contains(&(*ip).to_owned())));
    };
    // Speedport: both in one.
    answers(&push(&page, "myip=2a02:8071::1,5.145.0.7"), 200, "good 5.145.0.7,2a02:8071::1");
    sent(&["5.145.0.7", "2a02:8071::1"]);
    // DS-Lite: no IPv4. The host behind the router has its own address in the new prefix.
    let query = "hostname=home.example.com,nas.example.com&myip=&myipv6=2a02:8071::2&ip6lanprefix=2a02:8071:1:2::/56";
    answers(&fritzbox(&page, query), 200, "good 2a02:8071::2\ngood 2a02:8071::2");
    sent(&["2a02:8071::2", "2a02:8071:1:2:1234:5678:9abc:def0"]);
    answers(&push(&page, "ip6lanprefix=2a02:8071:1:3::/64"), 200, "good 2a02:8071:1:3::");
    sent(&["2a02:8071:1:3:1234:5678:9abc:def0"]);
    let all = page.endpoint.ips();
    assert!(!all.iter().any(|ip| ip.ends_with("::")), "a network is no address: {all:?}");
}

#[test]
fn f10d_an_empty_prefix_gives_the_hosts_no_address_of_the_routers_own_network() {
    let more = json!({"providers": [
        {"provider": "callback", "index4": "push:router"},
        {"provider": "callback", "ipv4": [], "index6": "push:router",
            "ipv6": [{"name": "nas.example.com", "interface_id": "::1234"}]},
    ]});
    let page = service(&router(), &more);
    let query = |prefix: &str| format!("myip=5.145.0.7&myipv6=2a02:9:0:1::1&ip6lanprefix={prefix}");
    answers(&fritzbox(&page, &query("")), 200, "good 5.145.0.7,2a02:9:0:1::1");
    assert_eq!(page.endpoint.wait(1, SOON).ip(), "5.145.0.7");
    let report = || page.sandbox.run(&["addresses", "-c", "config.json"]).stdout;
    assert!(report().contains("`ip6lanprefix` was empty"), "{}", report());
    answers(&fritzbox(&page, &query("2a02:9:0:2::/64")), 200, "good 5.145.0.7,2a02:9:0:1::1");
    assert_eq!(page.endpoint.wait(2, SOON).ip(), "2a02:9:0:2::1234");
}

#[test]
fn f10b_only_the_right_password_and_it_opens_nothing_else() {
    let web = json!({"password_file": "password", "push": {
        "router": {"password_file": "push.password"}, "box": {"user": "nas", "password_file": "password"}}});
    let page = service(&web, &json!({"index4": ["push:router", "push:box"], "debug": true}));
    let asked = page.get("/nic/update?myip=5.145.0.7");
    assert!(asked.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Basic")));
    answers(&asked, 401, "badauth");
    for query in ["user=router&password=", "username=router&pass=", "user=router&token="] {
        let query = format!("/nic/update?{query}{PASSWORD}&myip=5.145.0.7");
        let answer = page.get(&query).expect(200);
        assert!(answer.body.contains("5.145.0.7"), "{}", answer.body);
    }
    // By the hash that `ddns password` made, for the other name.
    answers(&page.request("GET", "/nic/update?myip=5.145.0.8", &[HASHED], ""), 200, "good 5.145.0.8");
    // Neither opens the page, the metrics or the interface.
    for path in ["/", "/metrics", "/api/v1/status", "/api/v1/config", "/configuration"] {
        assert_ne!(page.request("GET", path, &[RIGHT], "").status, 200, "{path}");
    }
    assert_ne!(page.request("POST", "/sync", &[RIGHT], "").status, 303);
    // A right password of another name is wrong.
    let crossed = format!("/nic/update?user=nas&password={PASSWORD}&myip=5.145.0.9");
    answers(&page.get(&crossed), 401, "badauth");
    answers(&page.get(&format!("/nic/update?token={PASSWORD}&myip=5.145.0.9")), 401, "badauth");
    answers(&page.get("/nic/update?user=nas&password=correct+horsf&myip=5.145.0.9"), 401, "badauth");
    // Three wrong ones were free: now its client waits, with the right one as well.
    let slow = page.request("GET", "/nic/update?myip=5.145.0.9", &[WRONG], "");
    let waits = slow.header("retry-after").map(str::to_owned);
    answers(&slow, 429, "abuse");
    assert!(waits.is_some());
    answers(&push(&page, "myip=5.145.0.9"), 429, "abuse");
    page.watch.prints("127.0.0.1 may not push for");
    // Whoever guesses passwords of pushes does not keep people from the page.
    page.logged_in();
    let log = page.watch.log();
    assert!(
        log.contains("wrong user or password") && !log.contains(PASSWORD) && !log.contains("correct horse"),
        "{log}"
    );
    assert!(!fs::read_to_string(memory(&page)).expect("the memory").contains("5.145.0.9"));
}

#[test]
fn f10b_a_right_push_clears_no_slate_of_the_page() {
    let web = json!({"password_file": "password", "push": {"router": {"password_file": "push.password"}}});
    let page = service(&web, &json!({}));
    let before = page.visitor("/login");
    for _ in 0..3 {
        page.post("/login", &before, "password=wrong").expect(403);
        push(&page, "myip=5.145.0.7").expect(200);
    }
    page.post("/login", &before, "password=wrong").expect(429);
}

#[test]
fn f10e_f10f_what_does_not_fit_changes_nothing() {
    let page = open();
    let ten = "myip=1.1.1.1,2.2.2.2,3.3.3.3,4.4.4.4,5.5.5.5,6.6.6.6,7.7.7.7,8.8.8.8,9.9.9.9,2600::1";
    for (query, word) in [
        ("myip=10.9.8.7", "badip"),
        ("myip=5.145.0.7&myipv6=fd00::1", "badip"),
        ("myip=100.64.3.4", "badip"),
        ("myip=127.0.0.1", "badip"),
        ("myip=", "badip"),
        ("", "badip"),
        (ten, "badip"),
        ("myip=5.145.0.7%20http://127.0.0.1/nic/update?myip=5.145.0.8", "badip"),
        ("hostname=other.example.com&myip=5.145.0.7", "nohost"),
        ("hostname=home.example.com,other.example.com&myip=5.145.0.7", "nohost"),
        ("hostname=a..b&myip=5.145.0.7", "notfqdn"),
        ("id=http://evil.example/&endpoint=http://evil.example/&ipv4=", "badip"),
    ] {
        let answer = push(&page, query);
        assert_eq!((answer.status, answer.body.trim_end()), (200, word), "{query}");
    }
    nothing_changed(&page);
    page.watch.prints("push:router changes nothing (badip): 10.9.8.7 is not a public address");
    page.watch.prints("push:router changes nothing (nohost): other.example.com does not take its address from it");
    // Two URLs as one, by old firmware: no wrong password, however often.
    for _ in 0..9 {
        for version in ["1.0", "1.1"] {
            let line = format!("GET /nic/update%20http:/127.0.0.1/nic/update?myip=5.145.0.7 HTTP/{version}");
            let two = page.send(format!("{line}\r\nHost: {}\r\nConnection: close\r\n{RIGHT}\r\n\r\n", page.host()));
            answers(&two, 404, "there is nothing at this address");
        }
    }
    page.watch.prints("sent two URLs as one");
    assert!(page.watch.lines_with("sent two URLs as one") < 9);
    nothing_changed(&page);
    answers(&push(&page, "myip=5.145.0.7"), 200, "good 5.145.0.7");
}

/// What a router means is taken where that is certain, and told where it is not.
#[test]
fn f10c_a_slash_too_many_does_no_harm_and_an_address_that_is_not_read_is_told() {
    let page = open();
    for (path, word) in [("//nic/update", "good"), ("/nic/update/", "nochg")] {
        let answer = page.request("GET", &format!("{path}?myip=5.145.0.7&hostname=home.example.com."), &[RIGHT], "");
        answers(&answer, 200, &format!("{word} 5.145.0.7"));
    }
    answers(&push(&page, "myip=5.145.0.8&ip6=2a02:8071::1"), 200, "good 5.145.0.8");
    page.watch.prints("push:router: 2a02:8071::1 is in a parameter that is not read: use `myip`, `myipv6`");
}

/// From loopback into the house: the step that everybody takes to let a router in.
#[test]
fn f10a_the_page_moves_to_another_address_of_its_port_at_once() {
    let Some(()) = inside(LOOPBACK) else { return };
    let (endpoint, sandbox, port) = (Endpoint::new(), prepared(), free_port());
    sandbox.write("password", HASH);
    let config = |listen: &str| {
        let web = json!({"listen": format!("{listen}:{port}"), "password_file": "password"});
        endpoint.config(&json!({"web": with(&web, &router()), "index4": "push"}))
    };
    let watch = Watch::start(&sandbox, &config("127.0.0.1"));
    watch.prints("the page is at");
    for (count, listen) in [(1, "0.0.0.0"), (2, "127.0.0.1"), (3, "[::]")] {
        sandbox.write("config.json", config(listen).to_string());
        until(SOON, "the page is open again", || watch.lines_with("the page is at") > count);
    }
    assert_eq!(watch.lines_with("cannot be opened"), 0, "{}", watch.log());
}

#[test]
fn f10j_browsers_and_other_names_are_refused() {
    let page = open();
    let path = "/nic/update?myip=5.145.0.7";
    page.request("GET", path, &[RIGHT, "Host: evil.example"], "").expect(421);
    page.send(format!("GET {path} HTTP/1.0\r\n{RIGHT}\r\n\r\n")).expect(421);
    // Few routers show why.
    page.watch.prints("127.0.0.1 could not push an address: the page does not have this name");
    for line in [
        "Origin: null",
        "Cookie: a=b",
        "Referer: http://evil.example/",
        "Sec-Fetch-Site: none",
        "Sec-Fetch-Mode: no-cors",
        "sec-fetch-dest: image",
        // All that Chromium sends for an image over plain http that no other client sends.
        "Accept-Language: en-US,en;q=0.9",
        "Upgrade-Insecure-Requests: 1",
        "Sec-GPC: 1",
    ] {
        assert_eq!(page.request("GET", path, &[RIGHT, line], "").status, 403, "{line}");
        assert_eq!(page.request("POST", path, &[RIGHT, line], "myip=5.145.0.7").status, 403, "{line}");
    }
    page.watch.prints("127.0.0.1 could not push an address: browsers cannot, and its request has `origin`");
    // A browser is not asked for a password, which it would keep, and what it sends is no wrong try of its host.
    for lines in [&["Accept-Language: en"][..], &[WRONG, "Accept-Language: en"]] {
        for _ in 0..4 {
            assert_eq!(page.request("GET", path, lines, "").expect(403).header("www-authenticate"), None);
        }
    }
    for method in ["PUT", "DELETE", "HEAD", "OPTIONS"] {
        assert_eq!(page.request(method, path, &[RIGHT], "").status, 405, "{method}");
    }
    let long = "a".repeat(9000);
    page.request("GET", &format!("{path}&x={long}"), &[RIGHT], "").expect(413);
    page.request("POST", path, &[RIGHT], &format!("x={long}")).expect(413);
    page.request("GET", path, &[RIGHT, "X-Forwarded-For: 5.145.0.1"], "").expect(403);
    nothing_changed(&page);
    // inadyn names no port.
    let request = format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\n{RIGHT}\r\n\r\n");
    answers(&page.send(request), 200, "good 5.145.0.7");
    // Without `web.push` there is no such path.
    let without = Page::open();
    for path in ["/nic/update?myip=5.145.0.7", "/v3/update?myip=5.145.0.7"] {
        without.request("GET", path, &[RIGHT], "").expect(404);
    }
}

/// Over plain http, away from loopback, a browser says least about itself: for an image, and for an address that was typed.
#[test]
fn f10j_a_real_browser_cannot_push() {
    let Some(()) = inside(&format!("{LOOPBACK}\nip addr add 198.51.100.7/24 dev lo")) else { return };
    let Some(chromium) = tool("chromium") else { return skipped("`chromium` is not installed") };
    let (endpoint, sandbox, port) = (Endpoint::new(), prepared(), free_port());
    sandbox.write("password", HASH);
    let web = json!({"listen": format!("0.0.0.0:{port}"), "password_file": "password"});
    let watch = Watch::start(&sandbox, &configuration(&endpoint, &json!({"web": with(&web, &router())})));
    watch.prints("the page is at");
    let url = format!("http://198.51.100.7:{port}/nic/update?user=router&password={PASSWORD}&myip=5.145.0.7");
    let image = format!("<meta name=referrer content=no-referrer><img src=\"{url}\">");
    let image = sandbox.write("image.html", image).display().to_string();
    let opened = |what: &str| {
        let mut command = Command::new(&chromium);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.arg(format!("--user-data-dir={}", sandbox.path("tmp").display())).args(["--dump-dom", what]);
        said(command)
    };
    let shown = opened(&image);
    watch.prints("198.51.100.7 could not push an address: browsers cannot, and its request has `accept-language`");
    assert!(shown.contains("<img "), "{shown}");
    let shown = opened(&url);
    assert!(shown.contains("a browser cannot push an address"), "{shown}");
    assert_eq!(endpoint.count(), 0);
}

#[test]
fn f10k_from_counts_before_the_password() {
    let push_from = |from: &str| json!({"push": {"router": {"password_file": "push.password", "from": [from]}}});
    let page = service(&push_from("192.168.178.1"), &json!({}));
    let answer = push(&page, "myip=5.145.0.7");
    answers(&answer, 403, "badauth");
    page.watch.prints("may not push an address");
    // The rest of its request is not waited for.
    let half = format!("POST /nic/update HTTP/1.1\r\nHost: {}\r\nContent-Length: 9\r\n\r\nab", page.host());
    answers(&page.send(half), 403, "badauth");
    nothing_changed(&page);
    for from in ["127.0.0.0/8", "::ffff:127.0.0.1", "::ffff:127.0.0.0/104"] {
        answers(&push(&service(&push_from(from), &json!({})), "myip=5.145.0.7"), 200, "good 5.145.0.7");
    }
    // Behind a proxy that is named, the client counts, and not what it wrote itself.
    let mut web = push_from("192.168.178.1");
    web["password_file"] = json!("password");
    web["proxies"] = json!(["127.0.0.1"]);
    let page = service(&web, &json!({}));
    let by = |forwarded: &str| {
        let line = format!("X-Forwarded-For: {forwarded}");
        page.request("GET", "/nic/update?myip=5.145.0.7", &[RIGHT, &line], "").status
    };
    assert_eq!(by("192.168.178.1, 192.168.178.66"), 403);
    assert_eq!(push(&page, "myip=5.145.0.7").status, 403);
    assert_eq!(by("192.168.178.66, 192.168.178.1"), 200);
}

/// Over IPv6, all hosts of a house share one network, which counts as one client where passwords are guessed.
#[test]
fn f10k_f10b_other_hosts_of_its_network_do_not_keep_a_router_out() {
    let mut web = json!({"password_file": "password", "proxies": ["127.0.0.1"], "push": {
        "router": {"password_file": "push.password", "from": ["fd00:77::1"]}}});
    let by = |page: &Page, from: &str, authorization: &str| {
        let lines = [authorization, &format!("X-Forwarded-For: {from}")];
        page.request("GET", "/nic/update?myip=5.145.0.7", &lines, "").status
    };
    // Who may not push at all.
    let page = service(&web, &json!({}));
    for authorization in [WRONG, "Accept: */*"] {
        let statuses: Vec<u16> = (0..5).map(|_| by(&page, "fd00:77::2", authorization)).collect();
        assert_eq!(statuses, [403; 5]);
    }
    assert_eq!(by(&page, "fd00:77::1", RIGHT), 200);
    page.watch.prints("fd00:77::2 may not push an address");
    let lines = page.watch.lines_with("may not push an address");
    assert!((1..10).contains(&lines), "{lines}");
    // Who may push for another name.
    web["push"]["nas"] = json!({"password_file": "password", "from": ["fd00::/8"]});
    let page = service(&web, &json!({"index4": ["push:router", "push:nas"]}));
    let guessed: Vec<u16> = (2..6).map(|host| by(&page, &format!("fd00:77::{host}"), WRONG)).collect();
    assert_eq!(guessed, [401, 401, 401, 429]);
    // The router answers for itself alone, and nobody for it.
    let own: Vec<u16> = (0..4).map(|_| by(&page, "fd00:77::1", WRONG)).collect();
    assert_eq!(own, [401, 401, 401, 429]);
}

/// The fastest of a few tries: what else this machine does only slows them down.
#[test]
fn f10b_the_time_does_not_tell_which_users_exist() {
    let sandbox = prepared();
    sandbox.write("nas.password", COSTLY);
    let push =
        json!({"push": {"router": {"password_file": "push.password"}, "nas": {"password_file": "nas.password"}}});
    let endpoint = Endpoint::new();
    let config = configuration(&endpoint, &json!({"index4": ["push:router", "push:nas"]}));
    let page = Page::start(endpoint, sandbox, &push, config);
    let mut fastest = [Duration::MAX; 3];
    for _ in 0..3 {
        for (user, fastest) in ["router", "nas", "nobody"].iter().zip(&mut fastest) {
            let started = Instant::now();
            page.get(&format!("/nic/update?user={user}&password=wrong&myip=5.145.0.7")).expect(401);
            *fastest = started.elapsed().min(*fastest);
            // It wipes the slate clean.
            page.request("GET", "/nic/update?myip=5.145.0.7", &[HASHED], "").expect(200);
        }
    }
    let [plain, hashed, unknown] = fastest;
    // A hash takes a hundred times as long as anything else, and a busy machine some times as long as an idle one.
    assert!(plain * 10 > hashed && unknown * 10 > hashed && hashed * 10 > unknown, "{fastest:?}");
}

#[test]
fn f10k_f10b_a_door_without_a_lock_is_refused() {
    let (endpoint, long) = (Endpoint::new(), "x".repeat(5000));
    for (web, file, expected) in [
        (json!({"listen": "0.0.0.0:0"}), PASSWORD, "so that others reach the page, and it has no password"),
        (json!({}), "too short", "holds fewer than 16 characters"),
        (json!({}), "$argon2id$v=19$m=1", "contains a hash with meaningless parameters"),
        (json!({}), "", "holds fewer than 16 characters"),
        (json!({}), long.as_str(), "holds more than 1024 bytes"),
    ] {
        let sandbox = host();
        sandbox.write("push.password", file);
        let mut config = configuration(&endpoint, &json!({"web": web}));
        config["web"]["push"] = router()["push"].clone();
        sandbox.write("config.json", config.to_string());
        let run = sandbox.run(&["watch", "-c", "config.json"]).expect(2);
        assert!(run.stderr.contains(expected) && !run.stderr.contains("too short"), "{}", run.stderr);
    }
    let sandbox = prepared();
    // A push that no domain uses would be refused.
    let config = configuration(&endpoint, &json!({"index4": "default", "index6": "push", "web": router()}));
    sandbox.write("config.json", config.to_string());
    let run = sandbox.run(&["check", "--wide", "-c", "config.json"]).expect(0);
    assert!(run.stdout.contains("no domain takes its address from push:router"), "{}", run.stdout);
    let config = configuration(&endpoint, &json!({"index4": "push:ruoter", "web": router()}));
    sandbox.sync(&config).expect(2).prints("`web.push` has no name for push:ruoter");
    assert_eq!(endpoint.count(), 0);
}

#[test]
fn f10g_too_many_and_what_cannot_be_remembered() {
    let page = open();
    let last = |number: u8| format!("myip=5.145.1.{number}");
    for number in 1..=30 {
        assert_eq!(push(&page, &last(number)).status, 200, "{number}");
    }
    for number in 31..=40 {
        answers(&push(&page, &last(number)), 429, "abuse");
    }
    until(SOON, "the last one", || page.endpoint.ips().last().is_some_and(|ip| ip == "5.145.1.30"));
    assert!(page.endpoint.count() < 30, "they are debounced: {}", page.endpoint.count());

    let page = open();
    fs::create_dir_all(memory(&page).join("in the way")).expect("a folder");
    answers(&push(&page, "myip=5.145.0.7"), 200, "911");
    page.watch.prints("cannot be remembered");
    assert_eq!(page.endpoint.count(), 0);
}

#[test]
fn f10i_f10l_it_counts_after_a_restart_and_in_single_runs() {
    let page = open();
    answers(&push(&page, "myip=5.145.0.7"), 200, "good 5.145.0.7");
    page.endpoint.wait(1, SOON);
    let Page { endpoint, sandbox, watch, .. } = page;
    watch.stop();
    let config = fs::read_to_string(sandbox.path("config.json")).expect("the configuration");
    let config: Value = serde_json::from_str(&config).expect("JSON");
    let cache = sandbox.cache_file();
    fs::remove_file(&cache).expect("a cache");
    sandbox.sync(&config).expect(0);
    assert_eq!(endpoint.wait(2, SOON).ip(), "5.145.0.7");
    fs::remove_file(&cache).expect("a cache");
    let watch = Watch::again(&sandbox);
    assert_eq!(endpoint.wait(3, SOON).ip(), "5.145.0.7");
    watch.stop();
    // Nothing was pushed: a single run says who receives it.
    let fresh = prepared();
    fresh
        .sync(&config)
        .expect(1)
        .prints("nothing has been pushed for `push:router` yet: `ddns watch --web` receives it");
    assert_eq!(endpoint.count(), 3);
}

#[test]
fn f10i_what_is_too_old_gives_way_to_the_next_source() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let endpoint = Endpoint::new();
    let run = |age: u64, max_age: Value| {
        let sandbox = prepared();
        let mut web = router();
        web["push"]["router"]["max_age"] = max_age;
        let cache = sandbox.path("c.json").display().to_string();
        let at = now - age;
        sandbox.write("c.json.push", json!({"router": {"ipv4": {"address": "5.145.0.7", "at": at}}}).to_string());
        let sources = json!(["push", "shell:echo 5.145.0.99"]);
        let config = configuration(&endpoint, &json!({"index4": sources, "cache": cache, "web": web}));
        (sandbox, config)
    };
    let sent = |age, max_age| {
        let (sandbox, config) = run(age, max_age);
        let before = endpoint.count();
        let run = sandbox.sync(&config).expect(0);
        (endpoint.wait(before + 1, SOON).ip().to_owned(), run.stderr)
    };
    assert_eq!(sent(3000, json!("1h")).0, "5.145.0.7");
    let (ip, log) = sent(4000, json!("1h"));
    assert_eq!(ip, "5.145.0.99");
    assert!(log.contains("`max_age`"), "{log}");
    assert_eq!(sent(36 * 86_400, Value::Null).0, "5.145.0.7");
    // A service says once that nothing comes.
    let (sandbox, config) = run(36 * 86_400, Value::Null);
    let watch = Watch::start(&sandbox, &config);
    watch.prints("push:router: nothing was pushed for 36 days");
    watch.stop();
    // What is damaged is no address.
    let (sandbox, config) = run(0, Value::Null);
    sandbox.write("c.json.push", "{\"router\": {\"ipv4\": ");
    let before = endpoint.count();
    sandbox.sync(&config).expect(0);
    assert_eq!(endpoint.wait(before + 1, SOON).ip(), "5.145.0.99");
}

#[test]
fn f10_f10g_real_inadyn_and_ddclient_push() {
    let (Some(inadyn), Some(ddclient)) = (tool("inadyn"), tool("ddclient")) else {
        return skipped("`inadyn` or `ddclient` is not installed");
    };
    let page = open();
    let port = page.address.port();
    let sandbox = &page.sandbox;
    let inadyn_conf = format!(
        "period = 300\ncustom push {{\n    username = router\n    password = {PASSWORD}\n    ssl = false\n    \
         checkip-command = \"echo 5.145.0.7\"\n    ddns-server = \"127.0.0.1:{port}\"\n    \
         ddns-path = \"/nic/update?hostname=%h&myip=%i\"\n    hostname = home.example.com\n}}\n"
    );
    let inadyn_conf = sandbox.write("inadyn.conf", inadyn_conf);
    let run_inadyn = || {
        let mut command = Command::new(&inadyn);
        command.args(["-1", "-n", "-C", "--force", "--no-pidfile", "-l", "debug", "-f"]).arg(&inadyn_conf);
        command.arg(format!("--cache-dir={}", sandbox.path("tmp").display()));
        said(command)
    };
    let first = run_inadyn();
    assert_eq!(page.endpoint.wait(1, SOON).ip(), "5.145.0.7", "{first}");
    assert!(first.contains("good 5.145.0.7"), "{first}");
    let again = run_inadyn();
    assert!(again.contains("nochg 5.145.0.7"), "{again}");
    let ddclient_conf = format!(
        "daemon=0\nssl=no\nuse=cmd, cmd='echo 5.145.0.8'\nprotocol=dyndns2\nserver=127.0.0.1:{port}\nlogin=router\n\
         password='{PASSWORD}'\nhome.example.com\n"
    );
    let ddclient_conf = sandbox.write("ddclient.conf", ddclient_conf);
    fs::set_permissions(&ddclient_conf, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its mode");
    let mut command = Command::new(ddclient);
    command.args(["-daemon=0", "-noquiet", "-verbose", "-debug", "-force", "-file"]).arg(&ddclient_conf);
    command.arg("-cache").arg(sandbox.path("ddclient.cache"));
    let said = said(command);
    assert_eq!(page.endpoint.wait(2, SOON).ip(), "5.145.0.8", "{said}");
    assert!(said.contains("SUCCESS") && said.contains("good"), "{said}");
}

fn said(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn f10m_init_prints_what_to_type() {
    let page = open();
    let sandbox = prepared();
    for (name, url, holders) in [
        ("fritzbox", "/nic/update?", [("<domain>", "home.example.com"), ("<ipaddr>", "5.145.0.7")]),
        ("unifi", "/nic/update?", [("%h", "home.example.com"), ("%i", "5.145.0.7")]),
        ("OpenWrt", "/nic/update?", [("[DOMAIN]", "home.example.com"), ("[IP]", "5.145.0.7")]),
    ] {
        let run = sandbox.run(&["init", "--push", name]).expect(0).shows("push.password").shows("\"push:router\"");
        let line = run.stdout.lines().find_map(|line| line.split_once(url)).expect("a URL").1;
        let mut query = line.to_owned();
        for (holder, value) in holders.iter().chain(&[("<ip6addr>", ""), ("<ip6lanprefix>", "")]) {
            query = query.replace(holder, value);
        }
        let answer = fritzbox(&page, &query).expect(200);
        assert!(answer.body.contains(" 5.145.0.7"), "{name}: {}", answer.body);
    }
    sandbox.run(&["init", "--push", "speedport"]).expect(2).prints("fritzbox, unifi, openwrt");
    assert!(!sandbox.path("config.json").exists(), "nothing is written");
}

/// Nothing that a stranger sends stops the service, makes it remember something, or is in its log.
#[test]
fn f10j_hostile_bytes_change_nothing() {
    let page = open();
    let requests: [&[u8]; 8] = [
        b"GET /nic/update?myip=5.145.0.7 http://x/ HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /nic/update?myip=5.145.0.7 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic \xff\xfe\r\n\r\n",
        b"GET /nic/update?myip=5.145.0.7&user=%00&password=%ff%0d%0a HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /nic/../nic/update?myip=5.145.0.7 HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http://evil.example/nic/update?myip=5.145.0.7 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"POST /nic/update HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /nic/update?myip=5.145.0.7 HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET /nic/update?myip=5.145.0.7 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic Og==\r\nAuthorization: Basic Og==\r\n\r\n",
    ];
    for request in requests {
        let mut stream = page.connect();
        let _ = std::io::Write::write_all(&mut stream, request);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut said = Vec::new();
        let _ = std::io::Read::read_to_end(&mut stream, &mut said);
        assert!(!String::from_utf8_lossy(&said).contains(" 200 "), "{}", String::from_utf8_lossy(request));
    }

    nothing_changed(&page);
    assert!(!page.watch.log().contains('\u{1b}'));
}
