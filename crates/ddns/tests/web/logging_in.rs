//! Passwords, sessions and tokens (I2).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::page::{Answer, PASSWORD, Page, Visitor, address, encoded};
use crate::support::terminal::at_terminal;
use crate::support::watching::{SOON, Watch, host, until};
use crate::support::{Run, Sandbox};

#[test]
fn i2_without_the_password_nothing_is_shown() {
    let page = Page::locked();
    let stranger = page.visitor("/login");
    for answer in [page.get("/"), page.get_as("/", &stranger)] {
        let answer = answer.expect(303);
        assert_eq!(answer.header("location"), Some("/login"));
    }
    for path in ["/api/v1/status", "/events"] {
        for answer in [page.get(path), page.get_as(path, &stranger)] {
            let answer = answer.expect(401);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            assert!(answer.json()["error"].is_string());
        }
    }
    // Whoever logs in gets to the page that was wanted, and to no other host.
    let wanted = "/history?q=a%20b&page=2";
    let way = page.get(wanted).expect(303).header("location").expect("a way in").to_owned();
    assert_eq!(way, "/login?to=%2Fhistory%3Fq%3Da%2520b%26page%3D2");
    assert!(page.get(&way).expect(200).body.contains("name=\"to\" value=\"/history?q=a%20b&amp;page=2\""));
    for (to, expected) in [
        (wanted, wanted),
        ("//evil.example/", "/"),
        ("https://evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("/\r\nX: 1", "/"),
    ] {
        let fields = format!("to={}&password={}", encoded(to), PASSWORD.replace(' ', "+"));
        let answer = page.post("/login", &stranger, &fields).expect(303);
        assert_eq!(answer.header("location"), Some(expected), "{to}");
    }
    page.post("/sync", &stranger, "").expect(403);
    page.post("/login", &stranger, "password=").expect(403);
    let invented = Visitor { cookie: format!("ddns-{}={}", page.address.port(), "0".repeat(64)), ..stranger.clone() };
    page.get_as("/", &invented).expect(303);
    let visitor = page.logged_in();
    assert_ne!(visitor.cookie, stranger.cookie, "logging in makes another session");
    page.get_as("/", &visitor).expect(200);
    page.get_as("/api/v1/status", &visitor).expect(200);
    page.get_as("/", &stranger).expect(303);
}

#[test]
fn i2_a_session_ends_by_logging_out_and_its_token_with_it() {
    let page = Page::locked();
    let (one, other) = (page.logged_in(), page.logged_in());
    page.post("/logout", &one, "").expect(303);
    page.get_as("/", &one).expect(303);
    // What was sent before is not sent again.
    page.post("/sync", &one, "").expect(403);
    page.get_as("/", &other).expect(200);
    page.post("/sync", &other, "").expect(303);
}

#[test]
fn i7_what_was_typed_outlives_the_session() {
    let page = Page::locked();
    let visitor = page.logged_in();
    page.post("/logout", &visitor, "").expect(303);
    let fields = "name=own&id=https%3A%2F%2Fa.example%2F&token=second";
    let kept = page.post("/recipes?a=1", &visitor, fields).expect(403);
    for part in ["Your session has ended", "action=\"/recipes?a=1\"", "name=\"id\" value=\"https://a.example/\""] {
        assert!(kept.body.contains(part), "{part}: {}", kept.body);
    }
    assert!(!kept.body.contains("value=\"second\""), "{}", kept.body);
    // A password is typed again.
    let stranger = Visitor { token: "00".to_owned(), ..page.visitor("/login") };
    let again = page.post("/login", &stranger, "to=%2Flog&password=s3cret").expect(403).body;
    assert!(
        again.contains("type it again") && again.contains("value=\"/log\"") && !again.contains("s3cret"),
        "{again}"
    );
    let lines = ["Origin: http://evil.example", &format!("Cookie: {}", visitor.cookie)];
    assert!(!page.request("POST", "/recipes", &lines, fields).expect(403).body.contains("a.example"));
}

#[test]
fn i2_another_password_ends_all_sessions() {
    let page = Page::locked();
    let visitor = page.logged_in();
    let run = hashed(&page.sandbox, "another one").expect(0);
    page.sandbox.write("password", &run.stdout);
    until(SOON, "the session ends", || page.get_as("/", &visitor).status == 303);
    let stranger = page.visitor("/login");
    page.post("/login", &stranger, &format!("password={}", PASSWORD.replace(' ', "+"))).expect(403);
    page.post("/login", &stranger, "password=another+one").expect(303);
    // One that cannot be used is refused, and the one before stays.
    page.sandbox.write("password", "plain text");
    page.watch.prints("keeping the previous one");
    page.post("/login", &page.visitor("/login"), "password=another+one").expect(303);
}

#[test]
fn i2_wrong_tries_are_slowed_down() {
    let page = Page::locked();
    let visitor = page.visitor("/login");
    let mut statuses = Vec::new();
    for _ in 0..5 {
        let answer = page.post("/login", &visitor, "password=wrong");
        statuses.push(answer.status);
        if answer.status == 429 {
            let wait: u64 = answer.header("retry-after").and_then(|text| text.parse().ok()).expect("a time");
            assert!((1..=3).contains(&wait), "{wait}");
            assert!(answer.body.contains("too many wrong tries"), "{}", answer.body);
        }
    }
    assert_eq!(statuses[..3], [403, 403, 403]);
    assert!(statuses[3..].contains(&429), "{statuses:?}");
    // The right one has to wait as well, and is taken then.
    let right = || page.post("/login", &visitor, &format!("password={}", PASSWORD.replace(' ', "+"))).status;
    until(SOON, "the right password is taken", || right() == 303);
    assert!(page.watch.lines_with("a wrong password on the page (127.0.0.1)") >= 3);
}

/// A page behind a proxy of ours, which says for whom it asks.
fn behind_a_proxy() -> Page {
    let web = json!({"password_file": "password", "token_file": "token", "proxies": ["127.0.0.1"]});
    Page::with(&web, &json!({}))
}

/// A try of somebody whose `X-Forwarded-For` has these bytes.
fn try_as(page: &Page, visitor: &Visitor, forwarded_for: &[u8], password: &str) -> Answer {
    let body = format!("token={}&password={}", visitor.token, password.replace(' ', "+"));
    let head = format!(
        "POST /login HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nCookie: {1}\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {2}\r\nX-Forwarded-For: ",
        page.host(),
        visitor.cookie,
        body.len()
    );
    page.send([head.as_bytes(), forwarded_for, b"\r\n\r\n", body.as_bytes()].concat())
}

const RIGHT_TOKEN: &str = "Authorization: Bearer 0123456789abcdef0123456789abcdef";

#[test]
fn i2_wrong_tries_of_others_lock_nobody_out() {
    let page = behind_a_proxy();
    let visitor = page.visitor("/login");
    for number in 0..40 {
        let from = format!("203.0.113.{}", number / 4);
        let expected = if number % 4 < 3 { 403 } else { 429 };
        try_as(&page, &visitor, from.as_bytes(), "wrong").expect(expected);
    }
    // A network of IPv6 is one client.
    for number in 0..4 {
        let from = format!("2001:db8:1:2::{number}");
        try_as(&page, &visitor, from.as_bytes(), "wrong").expect(if number < 3 { 403 } else { 429 });
    }
    try_as(&page, &visitor, b"2001:db8:1:3::1", PASSWORD).expect(303);
    try_as(&page, &visitor, b"198.51.100.7", PASSWORD).expect(303);
    // A right token is never limited, wherever it comes from.
    page.request("GET", "/metrics", &[RIGHT_TOKEN, "X-Forwarded-For: 203.0.113.1"], "").expect(200);
}

#[test]
fn i2_garbage_in_a_forwarded_header_is_not_the_proxys() {
    let page = behind_a_proxy();
    let visitor = page.visitor("/login");
    for _ in 0..3 {
        try_as(&page, &visitor, b"\xff, 203.0.113.9", "wrong").expect(403);
    }
    page.watch.prints("a wrong password on the page (203.0.113.9)");
    try_as(&page, &visitor, b"\xff, 203.0.113.9", "wrong").expect(429);
    // The proxy itself says nothing: nobody is booked.
    let answer = try_as(&page, &visitor, b"\xff", "wrong").expect(400);
    assert!(answer.body.contains("X-Forwarded-For"), "{}", answer.body);
    assert_eq!(page.watch.lines_with("a wrong password on the page (127.0.0.1)"), 0);
    try_as(&page, &visitor, b"203.0.113.10", PASSWORD).expect(303);
}

/// Many who guess at the same time, with a hash that takes a while: the page answers meanwhile, and the owner gets in.
#[test]
fn i2_a_flood_of_guesses_keeps_nobody_out() {
    let page = behind_a_proxy();
    page.sandbox.write("password", hashed(&page.sandbox, PASSWORD).expect(0).stdout);
    let visitor = page.visitor("/login");
    until(SOON, "the hash is read", || try_as(&page, &visitor, b"198.51.100.7", PASSWORD).status == 303);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for guesser in 0..40 {
            let (page, visitor, is_over) = (&page, &visitor, &is_over);
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    let from = format!("203.0.{}.{guesser}", number / 3);
                    try_as(page, visitor, from.as_bytes(), "wrong");
                }
            });
        }
        until(SOON, "the flood has begun", || page.watch.lines_with("a wrong password") > 0);
        let began = Instant::now();
        page.get("/healthz").expect(200);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        page.request("GET", "/metrics", &[RIGHT_TOKEN, "X-Forwarded-For: 203.0.0.1"], "").expect(200);
        until(SOON * 3, "the owner is let in", || try_as(&page, &visitor, b"198.51.100.7", PASSWORD).status == 303);
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn i2_programs_have_a_token() {
    let page = Page::with(&json!({"password_file": "password", "token_file": "token"}), &json!({}));
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let right = bearer("0123456789abcdef0123456789abcdef");
    let answer = page.request("GET", "/api/v1/status", &[&right], "").expect(200);
    assert_eq!(answer.header("set-cookie"), None);
    // It is no cookie that a browser sends by itself: no other site has it.
    page.request("POST", "/api/v1/sync", &[&right], "").expect(200);
    // For programs: people log in.
    page.request("GET", "/", &[&right], "").expect(303);
    for wrong in [bearer("0123456789abcdef0123456789abcdeF"), bearer("")] {
        page.request("GET", "/api/v1/status", &[&wrong], "").expect(401);
    }
    page.watch.prints("a wrong token to the page (127.0.0.1)");
    page.request("GET", "/api/v1/status", &[&right, &right], "").expect(401);
    let statuses: Vec<u16> =
        (0..4).map(|_| page.request("GET", "/api/v1/status", &[&bearer("guess")], "").status).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    page.request("GET", "/api/v1/status", &[&right], "").expect(200);
}

/// A setup that would be open is refused: exit 2, and a sentence with the way out.
#[test]
fn i2_a_page_that_would_be_open_is_refused() {
    let sandbox = host();
    sandbox.write("plain", "s3cret-password");
    sandbox.write("empty", "\n");
    sandbox.write("short", "s3cret");
    let refused = |web: serde_json::Value, sentence: &str| {
        let config = json!({"dns": "callback", "id": "http://127.0.0.1:1/", "ipv4": ["a.example"], "web": web});
        sandbox.write("config.json", config.to_string());
        sandbox.run(&["watch", "-c", "config.json"]).expect(2).never_prints("s3cret").prints(sentence).prints("hint: ");
        let checked = sandbox.run(&["check", "--json", "-c", "config.json"]).expect(2).never_prints("s3cret").stdout;
        assert!(checked.contains(sentence), "{checked}");
        // It is for services: a single run has other things to do.
        let run = sandbox.run(&["--debug", "-c", "config.json"]);
        assert!(run.code == 1 && !run.stderr.contains("web"), "{}", run.stderr);
    };
    refused(json!("0.0.0.0:0"), "has no password");
    refused(json!("[::]:0"), "has no password");
    refused(json!({"hosts": ["ddns.example"]}), "has no password");
    refused(json!({"proxies": ["10.0.0.1"]}), "has no password");
    refused(json!({"password_file": "missing"}), "`web.password_file`: the file that it names does not exist");
    refused(json!({"password_file": "./missing"}), "`web.password_file`: the file ./missing does not exist");
    // What belongs into the file, in the place of its path.
    refused(json!({"password_file": "s3cret-password"}), "`web.password_file`: the file that it names does not exist");
    refused(json!({"token_file": "s3cret+/0123456="}), "`web.token_file`: the file that it names does not exist");
    refused(
        json!("{\"password_file\": \"s3cret-password\"}"),
        "`web.password_file`: the file that it names does not exist",
    );
    refused(json!({"password_file": "plain"}), "plain does not contain a hash");
    refused(json!({"password_file": "empty"}), "empty is empty");
    refused(json!({"token_file": "short"}), "short holds fewer than 16 characters");
    refused(json!({"certificate": "plain", "key": "plain"}), "contains no PEM certificate");
    let config =
        json!({"dns": "callback", "id": "http://127.0.0.1:1/", "ipv4": "a.example", "web": {"password": "s3cret"}});
    sandbox.write("config.json", config.to_string());
    let run = sandbox.run(&["check", "-c", "config.json"]).expect(2).never_prints("s3cret");
    assert!(run.stdout.contains("`web` has no field `password`"), "{}", run.stdout);
    if !rustix::process::geteuid().is_root() {
        let path = sandbox.write("closed", "x");
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("the mode is set");
        refused(json!({"password_file": "closed"}), "cannot be read by this user");
    }
}

#[test]
fn i2_what_is_wrong_with_web_is_said_with_its_place() {
    let sandbox = host();
    for (web, sentence) in [
        (json!("example.com:80"), "`web` must be"),
        (json!(7), "`web` must be"),
        (json!({"listen": "x"}), "`web.listen` must be"),
        (json!({"allow_edit": "maybe"}), "`web.allow_edit` must be"),
        (json!({"hosts": ["a b"]}), "`web.hosts` must be"),
        (json!({"proxies": ["10.0.0.0/33"]}), "`web.proxies` must be"),
        (json!({"password": "x"}), "`web` has no field `password`"),
        (json!({"certificate": "c.pem"}), "one of them is missing"),
    ] {
        let config = json!({"dns": "callback", "id": "http://127.0.0.1:1/", "ipv4": ["a.example"], "web": web});
        sandbox.sync(&config).expect(2).prints(sentence).prints("config.json:1:");
    }
}

fn hashed(sandbox: &Sandbox, password: &str) -> Run {
    let file = sandbox.write("typed", format!("{password}\n"));
    let mut command = sandbox.command(&["password"]);
    Run::of(&command.stdin(fs::File::open(file).expect("the file")).output().expect("the program starts"))
}

#[test]
fn i2_the_password_command_prints_a_hash_alone() {
    let sandbox = host();
    let run = hashed(&sandbox, "s3cret-word").expect(0).never_prints("s3cret");
    assert!(run.stdout.starts_with("$argon2id$") && run.stdout.lines().count() == 1 && run.stderr.is_empty());
    for short in ["", "x", "1234567"] {
        hashed(&sandbox, short).expect(2).prints("use 8 characters or more");
    }
    hashed(&sandbox, &"x".repeat(2000)).expect(2);
    sandbox.run(&["password"]).expect(1).prints("no password was given");
}

#[test]
fn i2_the_password_is_asked_for_twice_and_not_shown() {
    let sandbox = host();
    let program = [env!("CARGO_BIN_EXE_ddns"), "password"];
    let Some(run) = at_terminal(&sandbox, 80, &program, &["s3cret-worx\x7fd", "s3cret-word"]) else { return };
    run.expect(0).never_prints("s3cret").shows("Password: \nAgain: \n$argon2id$");
    if let Some(run) = at_terminal(&sandbox, 80, &program, &["s3cret", "s3cret2"]) {
        assert!(run.expect(2).stdout.contains("the passwords differ"));
    }
    for key in ["\x03", "EOF"] {
        if let Some(run) = at_terminal(&sandbox, 80, &program, &[key]) {
            assert!(run.expect(1).stdout.contains("no password was given"));
        }
    }
}

#[test]
fn i1_the_option_opens_the_page_and_keeps_what_the_file_says() {
    let page = Page::locked();
    let sandbox = &page.sandbox;
    sandbox.write("other.json", sandbox.read("config.json").replace("home.example.com", "other.example.com"));
    let other = sandbox.read("other.json").replacen('{', "{\"cache\": \"other.cache\",", 1);
    sandbox.write("other.json", other);
    let watch = Watch::run(sandbox.command(&["watch", "-c", "other.json", "--web", "127.0.0.2:0"]));
    let address = address(&watch);
    assert_eq!(address.ip().to_string(), "127.0.0.2");
    let page = Page { address, ..page };
    page.get("/").expect(303);
}
