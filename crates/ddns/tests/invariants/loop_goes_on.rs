//! No request to the page, its interface or the control socket stops the event loop for a second, whatever it holds (I2): every field of the
//! table, filled up to the limit in every shape, right or wrong.
//!
//! While a request is under way, `/healthz` is asked again and again. How long an answer takes on a busy machine says nothing about us;
//! how long the thread of the loop has worked in between does.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use ddns_core::config::fields::FIELDS;
use serde_json::{Map, Value, json};

use crate::support::page::{Page, Visitor, address, cookie_of, encoded};
use crate::support::random::{Random, try_for_a_while};
use crate::support::watching::{Endpoint, SOON, Watch, host, ms, sockets};

/// No more is taken by the page, in bytes: of a text, and of a form.
const TEXT: usize = 1024 * 1024;
const FORM: usize = 32 * 1024;

/// The loop may work for so long without looking up.
const LIMIT: Duration = Duration::from_secs(1);

/// As much of it as fits into so many bytes.
fn filled(most: usize, item: impl Fn(usize) -> Value) -> Vec<Value> {
    let mut left = most;
    let fits = |value: &Value| {
        left = left.saturating_sub(value.to_string().len() + 1);
        left > 0
    };
    (0..most).map(item).take_while(fits).collect()
}

fn object(most: usize, member: impl Fn(usize) -> (String, Value)) -> Value {
    let members = filled(most, |at| json!({member(at).0: member(at).1}));
    members.into_iter().flat_map(|member| member.as_object().cloned().unwrap_or_default()).collect::<Map<_, _>>().into()
}

/// `__A__`, `__B__`, …
fn placeholder(at: usize) -> String {
    let letters = format!("{at:x}").replace(|letter: char| letter.is_ascii_digit(), "Q");
    format!("__X{at}{}__", letters.to_uppercase())
}

/// A value of about so many bytes, in one of many shapes.
fn large(random: &mut Random, most: usize) -> Value {
    let domain = |at: usize| format!("d{at}.example");
    let words = [
        domain as fn(usize) -> String,
        |_| "a.example".to_owned(),
        |at| format!("b {at}"),
        |at| format!("url:http://127.0.0.1:1/{at}"),
        |at| format!("http://p{at}.example:1"),
        |at| format!("(a{{1,40}}){{1,40}}{at}"),
        |at| format!("10.{}.{}.0/24", at / 256 % 256, at % 256),
        placeholder,
        |_| "__IP__".to_owned(),
        |_| format!("whsec_{}", "A".repeat(32)),
    ];
    let word = words[random.below(words.len())];
    let list = |most| filled(most, |at| json!(word(at)));
    match random.below(12) {
        0 | 1 => list(most).into(),
        2 => object(most, |at| (word(at), json!("v"))),
        3 => object(most, |at| (placeholder(at), json!("v"))),
        4 => filled(most, |at| json!({"name": domain(at), "extra": {placeholder(at): "v"}, "interface_id": "::1"}))
            .into(),
        5 => filled(
            most,
            |at| json!({"id": format!("https://h/{at}__MESSAGE__"), "on": ["failed"], "extra": {"__A__": "v"}}),
        )
        .into(),
        6 => list(most)
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join([",", "", "&", "/", "@", "\n"][random.below(6)])
            .into(),
        7 => Value::Array(list(most / 2)).to_string().into(),
        8 => {
            let part =
                ["stop", "wait", "reject", "accept", "hosts", "proxies", "on", "extra", "store"][random.below(9)];
            json!({part: list(most)})
        }
        9 => json!({"accept": {"json": object(most, |at| (format!("/{at}"), json!(at))), "status": 200}}),
        10 => json!({"accept": {"status": list(most)}}),
        _ => "[".repeat(most / 2).into(),
    }
}

/// A configuration of about so many bytes; some field of it is large, alone or inherited by many entries.
fn configuration(random: &mut Random, most: usize) -> String {
    let field = FIELDS[random.below(FIELDS.len())].name;
    let mut config = json!({"dns": "callback", "id": "https://h.example/?ip=__IP__&k=__A__", "ipv4": "a.example"});
    match random.below(6) {
        0 => config["providers"] = filled(most - 200, |_| json!({})).into(),
        1 => {
            let size = 1 << random.below(16);
            config[field] = large(random, size);
            config["providers"] = filled((most - 200).saturating_sub(size).min(64 * most / size), |_| json!({})).into();
        }
        2 => {
            config["providers"] =
                filled(most - 200, |at| json!({"provider": "callback", "ipv6": format!("d{at}")})).into();
        }
        _ => config[field] = large(random, most - 200),
    }
    let mut text = config.to_string();
    // Not all of it is JSON.
    if random.below(8) == 0 {
        text = text.replace(',', [",\n", " // \n,", "/* */,", ",,"][random.below(4)]);
    }
    text.truncate(if random.below(8) == 0 { random.below(most) } else { most });
    text
}

/// A form of about so many bytes.
fn form(random: &mut Random, most: usize) -> String {
    // Each of many domains has a long request.
    if random.below(4) == 0 {
        let first = 1 + random.below(most);
        let names: Vec<String> = (0..(most - first) / 8).map(|at| format!("{at:x}.b")).collect();
        let id = format!("http://127.0.0.1:1/{}", "__IP__".repeat(first / 6));
        return format!("name=own&index4=default&index6=false&body=&id={id}&domains={}", names.join(","));
    }
    let recipe = ["own", "cloudflare", "duckdns", "dynu", "godaddy", "nonsense"][random.below(6)];
    let names =
        ["domains", "index4", "id", "body", "cloudflare.token", "cloudflare.zone", "password", "find", "look", "x"];
    let name = names[random.below(names.len())];
    let value = match large(random, most) {
        Value::String(text) => text,
        other => other.to_string(),
    };
    // Nothing is asked on the internet.
    let mut text = format!("name={recipe}&index6=false");
    for (other, usual) in [
        ("domains", "home.example.com"),
        ("id", "http://127.0.0.1:1/__IP__"),
        ("cloudflare.token", "t0ken"),
        ("duckdns.token", "t0ken"),
        ("index4", "default"),
    ] {
        if other != name {
            text += &format!("&{other}={}", encoded(usual));
        }
    }
    if random.below(4) == 0 {
        (0..most / 20).for_each(|at| text += &format!("&cloudflare.r{at}=v"));
    }
    text += &format!("&{name}={}", encoded(&value));
    text.truncate(most);
    text
}

/// For how long a thread has worked; the first one has the number of its process.
fn worked(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/task/{process}/stat")).expect("the process is there");
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|number| number.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(10 * ticks)
}

/// Asks whether it is alive until the request has ended; fails where the loop works for too long between two answers.
fn goes_on(page: &Page, request: impl FnOnce() + Send) -> Result<(), String> {
    thread::scope(|scope| {
        let asked = scope.spawn(request);
        loop {
            let (before, is_last) = (worked(page.watch.process()), asked.is_finished());
            let status = page.get("/healthz").status;
            let busy = worked(page.watch.process()).saturating_sub(before);
            if status != 200 || busy > LIMIT {
                return Err(format!("/healthz: {status}, after {busy:?} of work"));
            }
            if is_last {
                return Ok(());
            }
            thread::sleep(ms(20));
        }
    })
    .map_err(|why: String| format!("{why}\n{}", page.watch.log()))
}

fn visitor(page: &Page, path: &str) -> Visitor {
    let answer = page.get(path).expect(200);
    Visitor { cookie: cookie_of(&answer), token: answer.token() }
}

/// Sends a request, and waits for the answer as long as somebody in a hurry does.
fn post(page: &Page, path: &str, lines: &[&str], body: &str) {
    let mut stream = page.connect();
    let _ = stream.set_read_timeout(Some(ms(1500)));
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\n", page.host(), lines.join("\r\n"));
    let _ = stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
}

#[test]
fn i2_no_text_that_is_checked_stops_the_loop() {
    let page = Page::with(&json!({"token_file": "token"}), &json!({}));
    try_for_a_while("the loop goes on while a text is checked", |random| {
        let most = if random.below(4) == 0 { 1 + random.below(TEXT) } else { TEXT }.max(1000);
        let text = configuration(random, most);
        let bearer = "Authorization: Bearer 0123456789abcdef0123456789abcdef";
        goes_on(&page, || post(&page, "/api/v1/check", &[bearer], &text))
            .map_err(|why| format!("{why}\n{}", text.chars().take(300).collect::<String>()))
    });
}

#[test]
fn i2_no_form_stops_the_loop() {
    let with = Page::with(&json!({"allow_edit": true}), &json!({}));
    let sandbox = host();
    let watch = Watch::run(sandbox.command(&["watch", "--web", "127.0.0.1:0"]));
    let address = address(&watch);
    let without = Page { endpoint: Endpoint::new(), sandbox, watch, address };
    let (visitor_with, visitor_without) = (visitor(&with, "/recipes?name=own"), visitor(&without, "/setup?name=own"));
    try_for_a_while("the loop goes on while a form is read", |random| {
        let paths = [
            "/recipes",
            "/recipes",
            "/recipes",
            "/login",
            "/logout",
            "/addresses",
            "/sync",
            "/retry-stopped",
            "/api/v1/sync",
        ];
        let (page, visitor, path) = match random.below(3) {
            0 => (&without, &visitor_without, "/setup"),
            _ => (&with, &visitor_with, paths[random.below(paths.len())]),
        };
        // What is too large is refused.
        let most = if random.below(8) == 0 { 2 * TEXT } else { FORM - 200 };
        let body = format!("token={}&{}", visitor.token, form(random, most));
        let (origin, cookie) = (format!("Origin: http://{}", page.host()), format!("Cookie: {}", visitor.cookie));
        let lines = [origin.as_str(), &cookie, "Content-Type: application/x-www-form-urlencoded"];
        goes_on(page, || post(page, path, &lines, &body))
            .map_err(|why| format!("{path}: {why}\n{}", body.chars().take(300).collect::<String>()))
    });
}

#[test]
fn i2_nothing_on_the_control_socket_stops_the_loop() {
    let page = Page::open();
    let socket = sockets(&page.sandbox).into_iter().next().expect("a socket");
    try_for_a_while("the loop goes on while the socket is used", |random| {
        let words = ["status", "sync", "history", "sync retry-stopped", "", "nonsense"];
        let mut text = words[random.below(words.len())].to_owned();
        if random.below(2) == 0 {
            text += &large(random, TEXT).to_string();
        }
        if random.below(2) == 0 {
            text += "\n";
        }
        let talk = || {
            let mut stream = UnixStream::connect(&socket).expect("it listens");
            let _ = stream.set_read_timeout(Some(SOON));
            let _ = stream.write_all(text.as_bytes());
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut response = Vec::new();
            let _ = stream.read_to_end(&mut response);
        };
        goes_on(&page, talk)
    });
}
