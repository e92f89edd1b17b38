use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::limits::MAX_HEADERS;
use super::*;

fn request(url: &str, body: Option<&str>) -> Request {
    Request::new(Url::parse(url).expect("an address"), body.map(str::to_owned))
}

/// The result of an exchange: status, body, whether the body is complete, whether the connection can be kept.
type Result = std::result::Result<(u16, String, bool, bool), String>;

/// Reads a response that comes in pieces of this size; then the other side closes, or waits.
fn exchanged(response: &[u8], piece: usize, closes: bool) -> Result {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(piece);
        let response = response.to_vec();
        let other = tokio::spawn(async move {
            head(&mut theirs).await;
            let _ = theirs.write_all(&response).await;
            if closes { None } else { Some(theirs) }
        });
        let deadline = Instant::now() + Duration::from_secs(5);
        let request = request("http://h/", None);
        let mut conversation = Conversation::new(ours).await.expect("it begins");
        let result = exchange(&mut conversation, &request, None, BodyUse::Body, (deadline, &Cell::default())).await;
        drop(conversation);
        let _ = other.await;
        let (response, next) = result.map_err(|fault| fault.describe("it"))?;
        let is_kept = next != Reuse::Never;
        Ok((response.status, String::from_utf8_lossy(&response.body).into_owned(), response.is_whole, is_kept))
    })
}

impl ByteStream for DuplexStream {
    fn acknowledge(&self) {}

    fn discard_unsent(&self, _: bool) {}
}

async fn head(stream: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a request"));
    }
    String::from_utf8(head).expect("text")
}

#[test]
fn d4_responses_are_read_whatever_their_framing() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    let cases = [
        ("HTTP/1.1 204 No Content\r\n\r\n".to_owned(), 204, ""),
        ("HTTP/1.1 204 X\r\nContent-Length: 0\r\n\r\n".to_owned(), 204, ""),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_owned(), 200, "abc"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc".to_owned(), 200, "abc"),
        (format!("{interim}HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n"), 201, ""),
        (format!("{chunked}\r\n2\r\nab\r\n1;x=y\r\nc\r\n0\r\nT: x\r\n\r\n"), 200, "abc"),
    ];
    for (text, status, body) in cases {
        for piece in [1, 7, 4096] {
            let expected = Ok((status, body.to_owned(), true, true));
            assert_eq!(exchanged(text.as_bytes(), piece, false), expected, "{text} by {piece}");
        }
    }
}

#[test]
fn a4_what_is_odd_about_a_body_costs_the_connection_alone() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    let cases = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_owned(), 200, "abc", false),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na".to_owned(), 200, "a", true),
        ("HTTP/1.0 200 OK\r\n\r\nabc".to_owned(), 200, "abc", true),
        ("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_owned(), 500, "", false),
        (format!("{chunked}\r\n5\r\nab"), 200, "ab", false),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n".to_owned(), 304, "", true),
        ("HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(), 204, "", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: gzip\r\n\r\nabc".to_owned(), 200, "abc", true),
        (format!("{chunked}Content-Length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n"), 200, "a", true),
    ];
    for (text, status, body, is_whole) in cases {
        for piece in [1, 7, 4096] {
            let expected = Ok((status, body.to_owned(), is_whole, false));
            assert_eq!(exchanged(text.as_bytes(), piece, true), expected, "{text} by {piece}");
        }
    }
    for text in [
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc",
    ] {
        assert!(exchanged(text.as_bytes(), 4096, false).is_ok_and(|(.., is_kept)| !is_kept), "{text}");
    }
}

#[test]
fn a4_odd_headers_do_not_hide_the_status() {
    let many = format!("HTTP/1.1 204 OK\r\n{}\r\n", "A: b\r\n".repeat(MAX_HEADERS));
    let bare = many.replace("\r\n", "\n");
    let long = format!("HTTP/1.1 204 OK\r\nA: {}\r\n\r\n", "x".repeat(60_000));
    let folded = "HTTP/1.1 204 OK\r\nFolded: a\r\n b\r\n\r\n";
    for text in [many.as_str(), bare.as_str(), long.as_str(), folded] {
        assert_eq!(exchanged(text.as_bytes(), 4096, false).map(|(status, ..)| status), Ok(204), "{text:.60}");
    }
}

#[test]
fn a4_a_head_that_breaks_the_rules_is_a_failure() {
    for header in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 3",
        "Content-Length: -5",
        "Content-Length: five",
        "Content-Length: 99999999999999999999999",
        "Content-Length: 18446744073709551615",
        "Bad Header: x",
        "No colon",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\nhello");
        let error = exchanged(text.as_bytes(), 4096, true).expect_err(header);
        assert!(error.contains("it sent a response that is not valid HTTP ("), "{header}: {error}");
    }
}

#[test]
fn e2_floods_end() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100_000);
    let error = exchanged(interim.as_bytes(), 4096, false).expect_err("no final response");
    assert!(error.contains("keeps sending interim responses (1xx)"), "{error}");
    let trailers = "T: x\r\n".repeat(500_000);
    let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{trailers}");
    assert_eq!(exchanged(text.as_bytes(), 4096, false), Ok((200, String::new(), false, false)));
}

#[test]
fn e2_what_is_no_response_is_reported() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(70_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(MAX_HEADERS + 1));
    for (text, part) in [
        ("", "closed the connection without a response"),
        ("HTTP/1.1 100 Continue\r\n\r\n", "closed the connection without a response"),
        ("HTTP/1.1 200 OK\r\nA", "in the middle of its response"),
        ("SSH-2.0-x\r\n\r\n", "not valid HTTP"),
        ("HTTP/1.1 OK\r\n\r\n", "not valid HTTP"),
        ("\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{46}", "speaks TLS"),
        (long.as_str(), "longer than 64 KiB"),
        (many.as_str(), "more than 256 headers"),
    ] {
        let error = exchanged(text.as_bytes(), 4096, true).expect_err(text);
        assert!(error.contains(part), "{text:.60}: {error}");
    }
}

#[test]
fn d4_no_more_than_the_limit_is_read() {
    for (more, is_whole) in [(0, true), (1, false)] {
        let text = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(MAX_BODY_BYTES + more));
        let (_, body, whole, is_kept) = exchanged(text.as_bytes(), 4096, true).expect("a response");
        assert_eq!((body.len(), whole, is_kept), (MAX_BODY_BYTES, is_whole, false));
    }
}

/// What is sent for a request, byte for byte.
fn sent(request: &Request, relay: Option<&Server>) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let deadline = Instant::now() + Duration::from_millis(50);
        let mut conversation = Conversation::new(ours).await.expect("it begins");
        let is_slow = Cell::default();
        let exchange = exchange(&mut conversation, request, relay, BodyUse::Status, (deadline, &is_slow));
        let _ = timeout_at(deadline, exchange).await;
        drop(conversation);
        let mut text = String::new();
        theirs.read_to_string(&mut text).await.expect("a request");
        text
    })
}

#[test]
fn d2_the_bytes_of_a_request() {
    let common = format!("User-Agent: {USER_AGENT}\r\nAccept: */*\r\n");
    let get = request("http://u:p@h:81/a//b?x=1&y=%2F+#part", None);
    let authorization = "Authorization: Basic dTpw\r\n";
    let expected = format!("GET /a//b?x=1&y=%2F+ HTTP/1.1\r\nHost: h:81\r\n{common}{authorization}\r\n");
    assert_eq!(sent(&get, None), expected);
    let post = request("https://[::1]?", Some("{\"a\":1}"));
    let length = "Content-Type: application/json\r\nContent-Length: 7\r\n";
    let expected = format!("POST /? HTTP/1.1\r\nHost: [::1]\r\n{common}{length}\r\n{{\"a\":1}}");
    assert_eq!(sent(&post, None), expected);
}

/// Whatever a URL may contain after it was read (C6) can be sent, and unchanged.
#[test]
fn c6_no_letter_of_an_address_is_lost_or_refused() {
    let letters: String = (' '..='~').filter(|letter| *letter != '#').chain("ä€\u{7f}".chars()).collect();
    for text in [format!("http://h/{letters}"), format!("http://h/p?{letters}"), "http://h//x?".to_owned()] {
        let request = request(&text, None);
        let outgoing = outgoing(&request, None).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(outgoing.uri().to_string(), request.url.path, "{text}");
    }
    let long = request(&format!("http://h/{}", "x".repeat(70_000)), None);
    assert!(outgoing(&long, None).is_err_and(|why| why.contains("longer than 64 KiB")));
}

#[test]
fn a7_a_server_says_that_it_keeps_a_connection_in_either_header() {
    let cases = [
        ("Connection", "keep-alive", true),
        ("Connection", "x, Keep-Alive ,y", true),
        ("Keep-Alive", "timeout=5", true),
        ("Connection", "upgrade", false),
        ("X", "keep-alive", false),
    ];
    for (name, value, expected) in cases {
        let response = hyper::Response::builder().header(name, value).body(()).expect("a response");
        assert_eq!(says_kept(&response.into_parts().0), expected, "{name}: {value}");
    }
}
