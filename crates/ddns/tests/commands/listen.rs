//! `ddns listen`: what a receiver of one's own shows, and how it responds.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::tools::sh;
use crate::support::{Run, Sandbox};

/// A receiver that runs on a free port; it ends with the test.
struct Listen {
    child: Child,
    /// None when it is read elsewhere.
    out: Option<BufReader<ChildStdout>>,
    address: String,
}

impl Listen {
    fn new(args: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        let mut command = sandbox.command(&[&["listen", "127.0.0.1:0"], args].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        out.read_line(&mut first).expect("a first line");
        let (_, rest) = first.split_once("http://").unwrap_or_else(|| panic!("no address: {first}"));
        let address: String = rest.chars().take_while(|letter| !matches!(letter, '"' | '\n')).collect();
        Self { child, out: Some(out), address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(15))).expect("a limit");
        stream
    }

    /// Sends these bytes on a connection of their own, and gives back everything that comes back.
    fn send(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).expect("it reads");
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8_lossy(&response).into_owned()
    }

    /// A GET on a connection of its own.
    fn get(&self, target: &str) -> String {
        self.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    }

    /// Waits for its end, half a minute at most; gives back what else it printed.
    fn end(mut self) -> Run {
        let (stdout, stderr) = (self.out.take().expect("once"), self.child.stderr.take().expect("once"));
        let [stdout, stderr] = [Box::new(stdout) as Box<dyn Read + Send>, Box::new(stderr)].map(|mut pipe| {
            thread::spawn(move || {
                let mut text = String::new();
                pipe.read_to_string(&mut text).map(|_| text)
            })
        });
        let limit = Instant::now() + Duration::from_secs(30);
        let status = loop {
            match self.child.try_wait().expect("it can be waited for") {
                None if Instant::now() < limit => thread::sleep(Duration::from_millis(10)),
                status => break status,
            }
        };
        let _ = self.child.kill();
        let [stdout, stderr] = [stdout, stderr].map(|pipe| pipe.join().expect("it reads").expect("text"));
        let Some(status) = status else { panic!("it did not end:\n{stdout}\n{stderr}") };
        Run { code: status.code().unwrap_or(-1), stdout, stderr }
    }
}

impl Drop for Listen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was shown of requests, behind the introduction, with times as `TIME` and the address as `ADDRESS`.
fn shown(run: &Run, address: &str) -> String {
    let (_, requests) = run.stdout.split_once("__IP__'\n\n").expect("an introduction");
    let mut text = String::new();
    for line in requests.lines() {
        let is_title = line.starts_with(|letter: char| letter.is_ascii_digit());
        let time = line.find(". ").filter(|_| is_title).map(|at| at + 2);
        match time {
            Some(at) => text += &format!("{}TIME{}", &line[..at], &line[at + 8..]),
            None => text += line,
        }
        text.push('\n');
    }
    text.replace(address, "ADDRESS")
}

#[test]
fn listen_shows_each_request_as_an_endpoint_sees_it() {
    let listen = Listen::new(&["--count", "3"]);
    let address = listen.address.clone();
    listen.get("/update?name=home.example.com&ip=2001:db8::1&note=a+b%26%C3%A4&flag");
    let body = r#"{"key":"my-key","list":[1.50,"x"]}"#;
    listen.send(format!(
        "POST /hook HTTP/1.1\r\nHost: {address}\r\nAccept: */*\r\nContent-Type: application/json\r\nAuthorization: Basic dTpw\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    ));
    listen.send("PUT / HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nplain \r\n5;x=y\r\nte\nxt\r\n0\r\nA: b\r\n\r\n");
    let run = listen.end().expect(0);
    let expected = "\
1. TIME  GET /update
   query    name = home.example.com
            ip   = 2001:db8::1
            note = a b&ä
            flag =
   header   Host: x
   response 200 OK

2. TIME  POST /hook
   header   Host: ADDRESS
            Content-Type: application/json
            Authorization: Basic dTpw
   body     {
              \"key\": \"my-key\",
              \"list\": [
                1.50,
                \"x\"
              ]
            }
   response 200 OK

3. TIME  PUT /
   body     plain te
            xt
   response 200 OK

";
    assert_eq!(shown(&run, &address), expected);
    assert_eq!(run.stderr, "");
}

#[test]
fn listen_begins_with_where_it_is_and_what_would_call_it() {
    let listen = Listen::new(&["--count", "1", "--status", "503", "--then", "204"]);
    let address = listen.address.clone();
    listen.get("/");
    let run = listen.end().expect(0);
    let responses = "It responds with 503 Service Unavailable, then 204 No Content; Ctrl-C stops it.\n";
    assert!(run.stdout.starts_with(responses), "the first line was read before:\n{}", run.stdout);
    assert!(
        run.stdout.contains(&format!("--id 'http://{address}/update?name=__DOMAIN__&ip=__IP__'")),
        "{}",
        run.stdout
    );
}

#[test]
fn listen_responds_in_the_order_that_was_written() {
    let listen =
        Listen::new(&["--status", "503", "--then", "404", "--then", "204", "--retry-after", "30", "--count", "4"]);
    let responses: Vec<String> = (0..4).map(|_| listen.get("/")).collect();
    assert!(responses[0].starts_with("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 30\r\n"), "{responses:?}");
    assert!(responses[1].starts_with("HTTP/1.1 404 Not Found\r\nRetry-After: 30\r\n"), "{responses:?}");
    for last in &responses[2..] {
        assert_eq!(last, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    }
    listen.end().expect(0).shows("   response 503 Service Unavailable\n            Retry-After: 30\n");
}

#[test]
fn listen_what_is_asked_for_decides_the_status() {
    let listen = Listen::new(&["--redirect", "http://127.0.0.1:9/else"]);
    assert!(listen.get("/").starts_with("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/else\r\n"));
    let listen = Listen::new(&["--redirect", "/else", "--status", "308", "--then", "299"]);
    assert!(listen.get("/").starts_with("HTTP/1.1 308 Permanent Redirect\r\nLocation: /else\r\n"));
    let last = listen.get("/");
    assert!(last.starts_with("HTTP/1.1 299 \r\n") && !last.contains("Location"), "{last}");
    assert!(Listen::new(&["--retry-after", "5"]).get("/").starts_with("HTTP/1.1 503 "));
}

#[test]
fn listen_waits_before_it_responds() {
    let listen = Listen::new(&["--delay", "700ms", "--count", "1"]);
    let begun = Instant::now();
    listen.get("/");
    assert!(begun.elapsed() >= Duration::from_millis(700), "{:?}", begun.elapsed());
    assert!(listen.end().expect(0).stdout.contains("   response 200 OK, after 700 ms\n"));
}

#[test]
fn listen_two_requests_on_one_connection() {
    let listen = Listen::new(&["--count", "2"]);
    let one = "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n";
    let two = "POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    let responses = listen.send(format!("{one}{two}"));
    assert_eq!(responses.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{responses}");
    assert_eq!(responses.matches("Connection: close").count(), 1, "only the last one ends the connection: {responses}");
    listen.end().expect(0).shows("  GET /1\n").shows("  POST /2\n");
}

#[test]
fn listen_json_is_one_object_a_line() {
    let listen = Listen::new(&["--json", "--count", "2", "--status", "418"]);
    listen.get("/a?b=c%20d&b=%7f");
    listen.send("POST /\x20HTTP/1.1\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{\"a\":1.0}");
    let run = listen.end().expect(0);
    let rows: Vec<Value> = run.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!(rows.len(), 2, "{}", run.stdout);
    let [row, last] = &rows[..] else { unreachable!() };
    assert_eq!((&row["number"], &row["method"], &row["status"]), (&json!(1), &json!("GET"), &json!(418)));
    assert_eq!((&row["path"], &row["query"][0]), (&json!("/a"), &json!({"name": "b", "value": "c d"})));
    assert_eq!(row["headers"][0], json!({"name": "Host", "value": "x"}));
    assert_eq!((&last["json"], &last["body"]), (&json!({"a": 1.0}), &json!("{\"a\":1.0}")));
}

/// Whatever comes, the next request is served.
#[test]
fn listen_what_is_not_a_request_is_reported_and_changes_nothing() {
    let listen = Listen::new(&["--count", "1", "--wide"]);
    // A chunk that is too large, and one without an end.
    let chunk = |size: &str| {
        let head = format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{size}\r\n");
        [head.into_bytes(), vec![b'x'; (1 << 20) + 1]].concat()
    };
    let cases: [(Vec<u8>, &str); 9] = [
        (b"nonsense\x1b[2J\r\n\r\n".to_vec(), "HTTP/1.1 400 "),
        (vec![0x16, 3, 1, 0, 5, 1, 2, 3, 4, 5], ""),
        (format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(70_000)).into_bytes(), "HTTP/1.1 431 "),
        (format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(200)).into_bytes(), "HTTP/1.1 431 "),
        (b"POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n".to_vec(), "HTTP/1.1 413 "),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_vec(), "HTTP/1.1 400 "),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(), "HTTP/1.1 400 "),
        (chunk("fffffff"), "HTTP/1.1 413 "),
        (chunk("ffffffffffffffff"), "HTTP/1.1 413 "),
    ];
    for (bytes, response) in cases {
        let got = listen.send(&bytes);
        assert!(got.starts_with(response) && (got.is_empty() == response.is_empty()), "{bytes:.40?}: {got}");
    }
    // One that goes away in the middle, and one that sends nothing.
    listen.connect().write_all(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n12").expect("it reads");
    drop(listen.connect());
    // Less than a pipe holds that nobody reads yet.
    let deep = "[".repeat(40_000);
    let response = listen
        .send(format!("POST /deep HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{deep}", deep.len()));
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    let run = listen.end().expect(0).never_prints("panicked").never_prints("\u{1b}");
    assert!(run.stdout.contains("the client used https, but this is http"), "{}", &run.stdout[..2000]);
    assert!(run.stdout.contains("it got 413 Payload Too Large"), "{}", &run.stdout[..2000]);
}

#[test]
fn listen_nothing_that_came_drives_the_terminal_or_is_wider_than_it() {
    let long = "k".repeat(300);
    for (args, widest) in [(&["--count", "1"][..], 80), (&["--count", "1", "--wide"], 1000)] {
        let listen = Listen::new(args);
        let body = format!("esc \u{1b}[31m\u{7}\u{9b}2J\u{202e} {long}");
        listen.send(format!(
            "POST /{long}?a=%1b[2J&b={long} HTTP/1.1\r\nX-Key: \u{9b}{long}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ));
        let run = listen.end().expect(0);
        assert!(!run.stdout.chars().any(|letter| letter.is_control() && letter != '\n'), "{:?}", run.stdout);
        assert!(run.stdout.contains("esc \\u{1b}[31m\\u{7}") && !run.stdout.contains('\u{202e}'), "{}", run.stdout);
        let width = run.stdout.lines().map(|line| line.chars().count()).max();
        assert!(width.is_some_and(|width| width <= widest && (widest == 80 || width > 300)), "{width:?}");
    }
}

#[test]
fn listen_a_closed_pipe_is_no_panic() {
    let mut listen = Listen::new(&[]);
    // The reader goes away; the pipe of a program that has ended takes its place.
    let mut other = Sandbox::new().command(&["--version"]).stdout(Stdio::piped()).spawn().expect("it starts");
    listen.out = other.stdout.take().map(BufReader::new);
    other.wait().expect("it ends");
    // A program that another test starts at this moment may hold the pipe open for an instant: it is asked again.
    let limit = Instant::now() + Duration::from_secs(20);
    while listen.child.try_wait().expect("it can be waited for").is_none() && Instant::now() < limit {
        if let Ok(mut stream) = TcpStream::connect(&listen.address) {
            let _ = stream.write_all(b"GET / HTTP/1.1\r\n\r\n");
        }
        thread::sleep(Duration::from_millis(50));
    }
    let run = listen.end();
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stderr, "");
}

#[test]
fn listen_ctrl_c_ends_it_well() {
    for signal in ["INT", "TERM"] {
        let listen = Listen::new(&[]);
        listen.get("/");
        sh(&format!("kill -{signal} {}", listen.child.id()));
        assert_eq!(listen.end().expect(0).stderr, "", "{signal}");
    }
}

#[test]
fn listen_a_port_in_use_is_a_failure_and_a_wrong_option_is_usage() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let place = taken.local_addr().expect("its address").to_string();
    Sandbox::new().run(&["listen", &place]).expect(1).prints("is in use").prints("127.0.0.1:0");
    let cases: [(&[&str], &str); 12] = [
        (&["example.com:80"], "an address of this host"),
        (&["127.0.0.1:99999"], "an address of this host"),
        (&["192.0.2.77:0"], "this host has no address 192.0.2.77"),
        (&["--status", "99"], "--status: error: this must be a status"),
        (&["--then", "x"], "--then: error: this must be a status"),
        (&["--delay", "2d"], "500ms"),
        (&["--delay"], "--delay needs a value"),
        (&["--retry-after", "soon"], "whole number"),
        (&["--count", "0"], "1 or more"),
        (&["--redirect", "a\r\nb"], "without spaces"),
        (&["--redirect", "/x", "--status", "200"], "300 to 399"),
        (&["-c", "config.json"], "takes no configuration"),
    ];
    for (args, part) in cases {
        let run = Sandbox::new().run(&[&["listen"], args].concat()).expect(2).prints(part);
        assert_eq!(run.stdout, "", "{args:?}");
    }
}

#[test]
fn listen_warns_where_others_can_reach_it() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["listen", "0.0.0.0:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut printed = String::new();
    BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut printed).expect("a line");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(printed.starts_with("warning: 0.0.0.0 can be reached by other hosts"), "{printed}");
}

/// The whole way: a failure is sent again by the next run, a success is not.
#[test]
fn listen_a5_a_rehearsal_of_a_failing_endpoint() {
    let listen = Listen::new(&["--status", "503", "--then", "204", "--count", "2"]);
    let address = listen.address.clone();
    let sandbox = Sandbox::new();
    let config = json!({
        "dns": "callback",
        "id": format!("http://{address}/update?ip=__IP__&key=my-secret-key"),
        "token": {"domain": "__DOMAIN__"},
        "ipv4": ["home.example.com"],
        "index4": "cmd:echo 203.0.113.7",
    });
    sandbox.sync(&config).expect(1).prints("503").never_prints("my-secret-key");
    sandbox.sync(&config).expect(0).prints("accepted (204");
    sandbox.sync(&config).says_nothing();
    let run = listen.end().expect(0);
    let expected = "   query    ip  = 203.0.113.7
            key = my-secret-key
   header   Host: ADDRESS
            User-Agent: ddns-callback/0.2.0
            Content-Type: application/json
   body     {
              \"domain\": \"home.example.com\"
            }
   response ";
    let shown = shown(&run, &address);
    assert_eq!(
        shown,
        format!(
            "1. TIME  POST /update\n{expected}503 Service Unavailable\n\n2. TIME  POST /update\n{expected}204 No Content\n\n"
        )
    );
}

#[test]
fn listen_silent_clients_do_not_lock_others_out() {
    let listen = Listen::new(&["--count", "1"]);
    let silent: Vec<_> = (0..150).map(|_| listen.connect()).collect();
    let response = listen.get("/");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response:?}");
    drop(silent);
    listen.end().expect(0);
}
