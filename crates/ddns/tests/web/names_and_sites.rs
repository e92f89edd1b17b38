//! Who may ask: the names of the page, and requests of other sites (I2).

use std::net::SocketAddr;
use std::process::Command;

use serde_json::json;

use crate::support::Sandbox;
use crate::support::page::{Page, cookie_of};
use crate::support::tools::{needed, started};
use crate::support::watching::SOON;

#[test]
fn i2_a_name_that_is_not_the_pages_own_is_refused() {
    let page = Page::open();
    let port = page.address.port();
    for host in ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", "127.0.0.9"] {
        for host in [host.to_owned(), format!("{host}:{port}"), format!("{host}:80")] {
            page.request("GET", "/", &[&format!("Host: {host}")], "").expect(200);
        }
    }
    let strange = "127.0.0.1.evil.example";
    for host in ["evil.example", strange, "", "192.0.2.1", "localhost.", "localhost:x", "a@localhost", "0.0.0.0"] {
        for path in ["/", "/api/v1/status", "/events", "/login", "/nothing"] {
            page.request("GET", path, &[&format!("Host: {host}")], "").expect(421);
        }
    }
    // None, two, and one in the target itself.
    assert_eq!(page.send("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status, 421);
    page.request("GET", "/", &["Host: localhost", "Host: evil.example"], "").expect(421);
    page.request("GET", "/", &["Host: evil.example", "Host: localhost"], "").expect(421);
    page.request("GET", "http://evil.example/", &["Host: localhost"], "").expect(421);
    page.request("GET", "http://localhost/", &["Host: localhost"], "").expect(200);
}

#[test]
fn i2_hosts_names_further_hosts() {
    let page = Page::with(&json!({"password_file": "password", "hosts": ["DDNS.example"]}), &json!({}));
    page.request("GET", "/login", &["Host: ddns.example"], "").expect(200);
    page.request("GET", "/login", &["Host: www.ddns.example"], "").expect(421);
}

/// Also where no password is asked for: a page of another site that is open in a browser on this host can send requests
/// to loopback.
#[test]
fn i2_nothing_is_done_for_another_site() {
    for page in [Page::open(), Page::locked()] {
        let is_open = page.get("/").status == 200;
        let visitor = if is_open { page.visitor("/") } else { page.logged_in() };
        let own = format!("http://{}", page.host());
        let cookie = format!("Cookie: {}", visitor.cookie);
        let body = format!("token={}", visitor.token);
        page.endpoint.wait(1, SOON);
        let other_port = format!("http://127.0.0.1:{}", page.address.port() ^ 1);
        for origin in ["http://evil.example", "null", "http://127.0.0.1", &other_port, "file://", ""] {
            let origin = format!("Origin: {origin}");
            page.request("POST", "/sync", &[&origin, &cookie], &body).expect(403);
            // Whatever else it says.
            page.request("POST", "/sync", &[&origin, "Sec-Fetch-Site: same-origin", &cookie], &body).expect(403);
        }
        for site in ["cross-site", "same-site", "none"] {
            page.request("POST", "/sync", &[&format!("Sec-Fetch-Site: {site}"), &cookie], &body).expect(403);
        }
        page.request("POST", "/sync", &[&cookie], &body).expect(403);
        // The right site, and no token, a wrong one, one of somebody else, or no cookie.
        let origin = format!("Origin: {own}");
        for wrong in
            ["", "token=", "token=00", &format!("token={}", "0".repeat(64)), &format!("other={}", visitor.token)]
        {
            page.request("POST", "/sync", &[&origin, &cookie], wrong).expect(403);
        }
        let stranger = page.visitor(if is_open { "/" } else { "/login" }).token;
        page.request("POST", "/sync", &[&origin, &cookie], &format!("token={stranger}")).expect(403);
        page.request("POST", "/sync", &[&origin], &body).expect(403);
        page.request("POST", "/api/v1/sync", &[&origin, &cookie], "").expect(403);
        assert_eq!(page.watch.lines_with("synchronization requested"), 0);
        // And so it is done.
        page.request("POST", "/sync", &[&origin, &cookie], &body).expect(303);
        page.watch.prints("synchronization requested");
        page.request("POST", "/sync", &["Sec-Fetch-Site: same-origin", &cookie], &body).expect(303);
        let token = format!("X-Ddns-Token: {}", visitor.token);
        page.request("POST", "/api/v1/sync", &[&origin, &cookie, &token], "").expect(200);
    }
}

#[test]
fn i2_another_site_gets_no_part_of_the_page() {
    let page = Page::open();
    for path in ["/", "/api/v1/status", "/events"] {
        for mode in ["no-cors", "cors", "same-origin"] {
            let mode = format!("Sec-Fetch-Mode: {mode}");
            page.request("GET", path, &["Sec-Fetch-Site: cross-site", &mode], "").expect(403);
        }
    }
    // A link is no more than a link.
    page.request("GET", "/", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"], "").expect(200);
    // Nobody is told that another site may read.
    let answer = page.request("OPTIONS", "/api/v1/sync", &["Origin: http://evil.example"], "").expect(405);
    assert_eq!(answer.header("allow"), Some("POST"));
    let answer = page.request("GET", "/api/v1/status", &["Origin: http://evil.example"], "");
    assert!(!answer.head.to_ascii_lowercase().contains("access-control"), "{}", answer.head);
}

#[test]
fn i2_every_answer_forbids_what_browsers_allow() {
    let page = Page::open();
    for path in ["/", "/login", "/nothing", "/api/v1/status"] {
        let answer = page.get(path);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    let answer = page.get("/");
    let cookie = answer.header("set-cookie").expect("a cookie");
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    // Nothing that a policy without `unsafe-inline` would not run, and nothing of another host.
    for wrong in ["<script>", "<style", " style=\"", " onclick", "=\"http://", "=\"https://"] {
        assert!(!answer.body.contains(wrong), "{wrong}: {}", answer.body);
    }
    let (_, rest) = answer.body.split_once("href=\"/assets/").expect("a style sheet");
    let asset = format!("/assets/{}", rest.split('"').next().unwrap_or_default());
    let answer = page.get(&asset).expect(200);
    assert!(answer.header("cache-control").is_some_and(|value| value.contains("immutable")));
}

#[test]
fn i2_what_came_through_a_proxy_is_refused_without_a_password() {
    let page = Page::open();
    for line in [
        "X-Forwarded-For: 203.0.113.9",
        "X-Forwarded-For: ",
        "Forwarded: for=203.0.113.9",
        "X-Forwarded-Host: localhost",
        "X-Forwarded-Server: proxy",
        "X-Real-IP: 203.0.113.9",
        "Via: 1.1 proxy",
    ] {
        let answer = page.request("GET", "/", &[line], "").expect(403);
        assert!(answer.body.contains("web.password_file"), "{}", answer.body);
    }
    page.send(format!("GET / HTTP/1.0\r\nHost: {}\r\n\r\n", page.host())).expect(403);
    // A health check of HTTP/1.0 is no proxy, and learns nothing.
    page.send(format!("GET /healthz HTTP/1.0\r\nHost: {}\r\n\r\n", page.host())).expect(200);
    page.send(format!("GET /readyz HTTP/1.0\r\nHost: {}\r\n\r\n", page.host())).expect(403);
    page.get("/").expect(200);
}

/// Nothing but `proxy_pass`: nginx names the page by its own address, adds no header, and speaks HTTP/1.0.
#[test]
fn i2_a_real_proxy_that_says_nothing_is_refused_without_a_password() {
    let Some(program) = needed("nginx") else { return };
    let (page, place) = (Page::open(), Sandbox::new());
    let folder = place.path("").display().to_string();
    place.write("error.log", "");
    let (_nginx, port) = started(|port| {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {folder}/{kind};"))
            .concat();
        let text = format!(
            "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\n\
             http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port};\n\
             location / {{ proxy_pass http://{}; }} }} }}\n",
            page.host()
        );
        let file = place.write("nginx.conf", text);
        let mut command = Command::new(&program);
        command.arg("-p").arg(place.path("")).arg("-c").arg(file).arg("-e").arg(place.path("error.log"));
        command
    });
    let proxied = Page { address: SocketAddr::from(([127, 0, 0, 1], port)), ..page };
    let answer = proxied.get("/").expect(403);
    assert!(answer.body.contains("through a proxy"), "{}", answer.body);
}

#[test]
fn i2_forwarded_headers_count_from_named_proxies_alone() {
    let forwarded = ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https", "X-Forwarded-Host: ddns.example"];
    let login = |page: &Page| page.request("GET", "/login", &forwarded, "").expect(200);
    let web = json!({"password_file": "password", "hosts": "ddns.example", "proxies": ["127.0.0.0/8"]});
    let page = Page::with(&web, &json!({}));
    let answer = login(&page);
    assert!(answer.header("set-cookie").is_some_and(|cookie| cookie.ends_with("; Secure")), "{}", answer.head);
    let (cookie, token) = (cookie_of(&answer), answer.token());
    let cookie = format!("Cookie: {cookie}");
    let lines = [&forwarded[..], &["Origin: https://ddns.example", &cookie]].concat();
    page.request("POST", "/login", &lines, &format!("token={token}&password=wrong")).expect(403);
    page.watch.prints("a wrong password on the page (203.0.113.9)");
    let page = Page::with(&json!({"password_file": "password", "hosts": "ddns.example"}), &json!({}));
    assert!(login(&page).header("set-cookie").is_some_and(|cookie| !cookie.contains("Secure")));
}
