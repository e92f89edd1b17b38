//! The page of a running service, asked by plain requests: each byte is the test's own.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::watching::{Endpoint, SOON, Watch, host};

/// The password of [`Page::locked`], and its hash with the smallest cost.
pub const PASSWORD: &str = "correct horse";
pub const HASH: &str = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$fGboIvzlkt1eU7JnWpaFoCiFdQqj41xKJW/x6HC4Hu4";

/// A service with a page on a free port of loopback.
pub struct Page {
    pub endpoint: Endpoint,
    pub sandbox: Sandbox,
    pub watch: Watch,
    pub address: SocketAddr,
}

/// A response of the page.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
    }

    /// Fails the test where the status is another.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n\n{}", self.head, self.body);
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The token of the forms on the page.
    #[track_caller]
    pub fn token(&self) -> String {
        let (_, rest) = self.body.split_once("name=\"token\" value=\"").unwrap_or_else(|| panic!("{}", self.body));
        rest.split('"').next().unwrap_or_default().to_owned()
    }
}

/// Somebody who keeps a cookie and a token, as a browser does.
#[derive(Debug, Clone, Default)]
pub struct Visitor {
    pub cookie: String,
    pub token: String,
}

impl Page {
    /// Open to whoever is on this host.
    pub fn open() -> Self {
        Self::with(&json!({}), &json!({}))
    }

    /// With [`PASSWORD`].
    pub fn locked() -> Self {
        Self::with(&json!({"password_file": "password"}), &json!({}))
    }

    /// With these members of `web`, and these fields. The file `password` holds a hash, `token` a token.
    pub fn with(web: &Value, more: &Value) -> Self {
        let endpoint = Endpoint::new();
        let config = endpoint.config(more);
        Self::start(endpoint, host(), web, config)
    }

    /// The same with a configuration of the test's own.
    pub fn start(endpoint: Endpoint, sandbox: Sandbox, web: &Value, mut config: Value) -> Self {
        sandbox.write("password", HASH);
        sandbox.write("token", "0123456789abcdef0123456789abcdef\n");
        config["web"] = web.clone();
        config["web"]["listen"] = json!("127.0.0.1:0");
        let watch = Watch::start(&sandbox, &config);
        let address = address(&watch);
        Self { endpoint, sandbox, watch, address }
    }

    /// `127.0.0.1:PORT`
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the page takes connections");
        stream.set_read_timeout(Some(SOON * 3)).expect("a time limit");
        stream
    }

    /// Sends these bytes, and reads until the page closes the connection.
    pub fn send(&self, bytes: impl AsRef<[u8]>) -> Answer {
        let mut stream = self.connect();
        // It may be closed before all of it is taken.
        let _ = stream.write_all(bytes.as_ref());
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        Answer::read(&response)
    }

    /// A request with these lines behind the first; `Host` and `Connection` are added where they are not among them.
    pub fn request(&self, method: &str, path: &str, lines: &[&str], body: &str) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !lines.iter().any(|line| line.starts_with("Host:")) {
            head += &format!("Host: {}\r\n", self.host());
        }
        for line in lines {
            head += &format!("{line}\r\n");
        }
        if !body.is_empty() {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        self.send(format!("{head}\r\n{body}"))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    /// Somebody who has opened a page with a form.
    #[track_caller]
    pub fn visitor(&self, path: &str) -> Visitor {
        let answer = self.get(path).expect(200);
        let cookie = cookie_of(&answer);
        let token = answer.token();
        Visitor { cookie, token }
    }

    /// A request of a page of ours, as a browser sends it.
    pub fn post(&self, path: &str, visitor: &Visitor, fields: &str) -> Answer {
        let origin = format!("Origin: http://{}", self.host());
        let cookie = format!("Cookie: {}", visitor.cookie);
        let body = format!("token={}&{fields}", visitor.token);
        self.request("POST", path, &[&origin, &cookie, "Content-Type: application/x-www-form-urlencoded"], &body)
    }

    pub fn get_as(&self, path: &str, visitor: &Visitor) -> Answer {
        self.request("GET", path, &[&format!("Cookie: {}", visitor.cookie)], "")
    }

    /// Somebody who has logged in with [`PASSWORD`], on a page that shows the token.
    #[track_caller]
    pub fn logged_in(&self) -> Visitor {
        let before = self.visitor("/login");
        let answer = self.post("/login", &before, &format!("password={}", PASSWORD.replace(' ', "+"))).expect(303);
        let mut visitor = Visitor { cookie: cookie_of(&answer), token: String::new() };
        visitor.token = self.get_as("/", &visitor).expect(200).token();
        visitor
    }
}

/// The cookie that a response sets, as a request sends it.
#[track_caller]
pub fn cookie_of(answer: &Answer) -> String {
    let cookie = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {}", answer.head));
    cookie.split(';').next().unwrap_or_default().to_owned()
}

/// Where a service says that its page is.
#[track_caller]
pub fn address(watch: &Watch) -> SocketAddr {
    watch.prints("the page is at ");
    let log = watch.log();
    let (_, url) = log.rsplit_once("the page is at ").expect("the line");
    let url = url.split("://").nth(1).and_then(|rest| rest.split('/').next());
    url.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("no address: {log}"))
}

/// What comes on a connection within so long.
pub fn within(stream: &mut TcpStream, time: Duration) -> String {
    stream.set_read_timeout(Some(time)).expect("a time limit");
    let mut bytes = vec![0; 65536];
    let count = stream.read(&mut bytes).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

/// A value as a form sends it.
pub fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

/// Markup without its escapes.
pub fn decoded(markup: &str) -> String {
    markup.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
