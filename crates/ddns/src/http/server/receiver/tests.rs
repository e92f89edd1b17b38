use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::*;

const PATIENCE: ConnectionTimeouts =
    ConnectionTimeouts { idle: Duration::from_millis(300), request: Duration::from_millis(300) };

/// Sends pieces, with pauses. Returns what the client could read, and what the receiver was handed.
fn conversed(pieces: &[(&str, u64)]) -> (String, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port on loopback");
        let address = listener.local_addr().expect("the port that was bound");
        let handled = Rc::new(RefCell::new(Vec::new()));
        let handle = |came: Result<&Received, &InvalidRequest>| {
            handled.borrow_mut().push(match came {
                Ok(request) => format!("{} {:?}", request.target, String::from_utf8_lossy(&request.body)),
                Err(refusal) => format!("{:?} {}", refusal.status, refusal.why),
            });
            Reaction::Respond(ReceiverResponse { status: 204, ..ReceiverResponse::default() })
        };
        let client = async {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            for (text, pause) in pieces {
                // The connection may have been closed meanwhile.
                let _ = stream.write_all(text.as_bytes()).await;
                sleep(Duration::from_millis(*pause)).await;
            }
            let mut response = Vec::new();
            let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut response)).await.expect("an end");
            String::from_utf8(response).expect("text")
        };
        let response = match select(pin!(client), pin!(serve_patiently(listener, handle, PATIENCE))).await {
            Either::Left((response, _)) => response,
            Either::Right(_) => panic!("no response is the last"),
        };
        let handled = handled.borrow().clone();
        (response, handled)
    })
}

#[test]
fn a_client_that_does_not_go_on_is_sent_away() {
    let head = "GET / HTTP/1.1\r\nHost: ";
    let body = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab";
    for start in [head, body] {
        let (response, handled) = conversed(&[(start, 0)]);
        assert!(response.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{start}: {response}");
        assert_eq!(handled, ["Some(408) a request took too long to arrive"], "{start}");
    }
}

/// A limit that starts over with every byte is no limit.
#[test]
fn a_request_that_trickles_is_not_waited_for() {
    let pieces = [("GET ", 100), ("/ H", 100), ("TTP", 100), ("/1.1", 100), ("\r\nA: b", 100), ("\r\n\r\n", 0)];
    let (response, handled) = conversed(&pieces);
    assert!(response.starts_with("HTTP/1.1 408 ") || response.is_empty(), "{response}");
    assert_eq!(handled, ["Some(408) a request took too long to arrive"]);
}

#[test]
fn an_idle_connection_is_closed_without_a_response() {
    assert_eq!(conversed(&[("", 0)]), (String::new(), Vec::new()));
    let (response, handled) = conversed(&[("GET /1 HTTP/1.1\r\n\r\n", 200), ("GET /2 HTTP/1.1\r\n\r\n", 0)]);
    assert_eq!(response, "HTTP/1.1 204 No Content\r\n\r\n".repeat(2), "each request has its own time");
    assert_eq!(handled, ["/1 \"\"", "/2 \"\""]);
}

#[test]
fn the_length_of_a_body_is_clear_or_refused() {
    for (headers, expected) in [
        ("Content-Length: 5", 204),
        ("Content-Length: 5\r\nContent-Length: 5", 204),
        ("Content-Length: 5\r\nContent-Length: 6", 400),
        ("Content-Length: +5", 400),
        ("Content-Length:", 400),
        ("Content-Length: 1048577", 413),
        ("Content-Length: 99999999999999999999999", 400),
        ("Transfer-Encoding: gzip", 400),
    ] {
        let request = format!("POST / HTTP/1.1\r\nConnection: close\r\n{headers}\r\n\r\nhello");
        let (response, handled) = conversed(&[(&request, 0)]);
        assert!(response.starts_with(&format!("HTTP/1.1 {expected} ")), "{headers}: {response}");
        let handled_as = if expected == 204 { "/ \"hello\"".to_owned() } else { format!("Some({expected}) ") };
        assert!(handled.len() == 1 && handled[0].starts_with(&handled_as), "{headers}: {handled:?}");
    }
}

#[test]
fn a_connection_is_kept_as_the_other_side_means_it() {
    for (text, is_kept) in [
        ("GET / HTTP/1.1\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n", false),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nconnection: x, keep-alive\r\n\r\n", true),
    ] {
        let (_, handled) = conversed(&[(text, 50), (text, 0)]);
        assert_eq!(handled.len(), if is_kept { 2 } else { 1 }, "{text}");
    }
}
