//! Faults of a server, byte by byte (A4, A7, D4, E2): whatever it sends, cuts off or leaves out, the run ends within
//! its limit with a sentence, no update is delivered twice in one run, and what failed is sent again by the next.
//! Kept connections and several updates stand in `transport/kept_connections.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::Sandbox;
use crate::support::given::{home, with};
use crate::support::scripted::Step::{Close, Flood, Note, Pause, Reset, Stall, TakeBody, Trickle};
use crate::support::scripted::{SLACK, Server, bounded, say};

fn config(server: &Server, timeout: u64) -> Value {
    with(&home(&server.url("/hook")), &json!({"timeout": timeout}))
}

/// The update fails with one of these sentences, on one connection; the next run sends it once, and it is known then.
#[track_caller]
fn fails_with(name: &str, server: &Server, config: &Value, sentences: &[&str]) {
    let sandbox = Sandbox::new();
    let run = bounded(&sandbox, config, name);
    assert_eq!(run.code, 1, "{name}: {}", run.stderr);
    let line = run.stderr.lines().find(|line| line.contains("home.example.com A 203.0.113.7: failed: "));
    let line = line.unwrap_or_else(|| panic!("{name}: no line for the update:\n{}", run.stderr));
    assert!(sentences.iter().any(|part| line.contains(part)), "{name}: {sentences:?} expected:\n{line}");
    assert_eq!(server.take_connections(), 1, "{name}: one try in one run");
    assert!(server.take().values().all(|count| *count == 1), "{name}: delivered once at most");
    server.mend();
    // Whatever the limit was, a busy machine has time for what is right.
    let config = &with(config, &json!({"timeout": 20}));
    let run = bounded(&sandbox, config, name);
    assert_eq!(run.code, 0, "{name}, sent again: {}", run.stderr);
    assert_eq!(server.take(), BTreeMap::from([("/hook".to_owned(), 1)]), "{name}: sent again once");
    bounded(&sandbox, config, name).says_nothing();
    assert!(server.take().is_empty(), "{name}: then it is known");
}

#[track_caller]
fn fails(name: &str, server: &Server, sentence: &str) {
    fails_with(name, server, &config(server, 2), &[sentence]);
}

/// The limit of one second ends it.
#[track_caller]
fn runs_out(name: &str, server: &Server) {
    fails_with(name, server, &config(server, 1), &["did not respond within 1 s"]);
}

/// The update is accepted with the first request and known afterwards.
#[track_caller]
fn passes(name: &str, server: &Server) {
    let (sandbox, config) = (Sandbox::new(), config(server, 2));
    let run = bounded(&sandbox, &config, name);
    assert_eq!(run.code, 0, "{name}: {}", run.stderr);
    assert!(run.stderr.contains("home.example.com A 203.0.113.7: accepted ("), "{name}: {}", run.stderr);
    assert_eq!(server.take(), BTreeMap::from([("/hook".to_owned(), 1)]), "{name}: delivered once");
    assert_eq!(server.take_connections(), 1, "{name}: one try");
    bounded(&sandbox, &config, name).says_nothing();
    assert_eq!(server.take_connections(), 0, "{name}: then it is known");
}

/// Whether the system reports an end or a reset depends on who is faster.
const ENDED: [&str; 2] = ["closed the connection without a response", "reset the connection"];

#[test]
fn e2_a_server_that_closes_at_any_stage_is_reported() {
    let server = Server::at_once(vec![Close]);
    fails_with("closes on accept", &server, &config(&server, 2), &ENDED);
    let server = Server::at_once(vec![Pause(Duration::from_millis(100)), Close]);
    fails_with("closes with the request unread", &server, &config(&server, 2), &ENDED);
    fails("closes after the request", &Server::always(vec![Close]), "closed the connection without a response");
    for cut in [
        "H",
        "HTTP/1.1",
        "HTTP/1.1 20",
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 204 X\r\nA: b\r\n",
    ] {
        let server = Server::always(vec![say(cut), Close]);
        fails(&format!("{cut:?}, then an end"), &server, "closed the connection in the middle of its response");
    }
}

#[test]
fn e2_a_reset_at_any_stage_is_reported() {
    let late = Duration::from_millis(100);
    let server = Server::at_once(vec![Reset]);
    let ended = ["reset the connection", "connection reset"];
    fails_with("on accept", &server, &config(&server, 2), &ended);
    let server = Server::at_once(vec![Pause(late), Reset]);
    fails_with("with the request unread", &server, &config(&server, 2), &ended);
    fails("after the request", &Server::always(vec![Reset]), "reset the connection");
    for cut in ["HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 100 Continue\r\n\r\n"] {
        for steps in [vec![say(cut), Reset], vec![say(cut), Pause(late), Reset]] {
            fails(&format!("after {cut:?}"), &Server::always(steps), "reset the connection");
        }
    }
}

/// A4: the status has come; what breaks after it is only the connection.
#[test]
fn a4_a_reset_after_the_status_does_not_matter() {
    for response in
        ["HTTP/1.1 204 X\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal", "HTTP/1.1 200 X\r\n\r\n"]
    {
        passes(response, &Server::always(vec![say(response), Reset]));
        passes(response, &Server::always(vec![say(response), Pause(Duration::from_millis(100)), Reset]));
    }
}

#[test]
fn e2_silence_at_any_stage_ends_with_the_limit() {
    runs_out("never reads", &Server::at_once(vec![Stall]));
    for start in ["HTTP/1.", "HTTP/1.1 200 OK\r\nContent-Len", "HTTP/1.1 204 No Content\r\nA: b\r\n"] {
        runs_out(start, &Server::always(vec![say(start), Stall]));
    }
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n";
    runs_out("interim responses and no final one", &Server::always(vec![say(interim), Stall]));
}

#[test]
fn e2_a_status_that_trickles_ends_with_the_limit() {
    let text = "HTTP/1.1 204 No Content\r\n\r\n";
    runs_out("a byte each 300 ms", &Server::always(vec![Trickle(text, Duration::from_millis(300))]));
}

#[test]
fn d4_a_body_that_trickles_or_stalls_does_not_matter() {
    for head in ["Content-Length: 100", "Transfer-Encoding: chunked", "X-Until: the end"] {
        let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
        passes(&head, &Server::always(vec![say(&head), Trickle("5\r\nhello\r\n", Duration::from_secs(1))]));
        passes(&head, &Server::always(vec![say(&head), Stall]));
    }
}

#[test]
fn e2_a_head_of_a_megabyte_is_reported() {
    let start = "HTTP/1.1 200 OK\r\n";
    let one = format!("{start}A: {}\r\n\r\n", "x".repeat(1 << 20));
    let many = format!("{start}{}\r\n", "A: bcdefghijklm\r\n".repeat(1 << 16));
    for (name, text) in [("one header", one), ("many headers", many)] {
        fails(name, &Server::always(vec![say(text), Stall]), "longer than 64 KiB");
    }
    fails("an endless line", &Server::always(vec![Flood(vec![b'H'; 65536])]), "not valid HTTP");
    let flood = vec![say("HTTP/1.1 200 "), Flood(vec![b'x'; 65536])];
    fails("an endless reason", &Server::always(flood), "longer than 64 KiB");
}

#[test]
fn a4_interim_responses_are_passed_over() {
    let (go_on, hints) = ("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n");
    let done = "HTTP/1.1 204 No Content\r\n\r\n";
    let late = Pause(Duration::from_millis(100));
    passes("several", &Server::always(vec![say(format!("{go_on}{hints}{go_on}")), late, say(done)]));
    passes("by the byte", &Server::always(vec![Trickle(go_on, Duration::from_millis(5)), say(done)]));
    let refused = format!("{go_on}{hints}HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    fails("then a refusal", &Server::always(vec![say(refused)]), "responded with 503");
    fails("then an end", &Server::always(vec![say(go_on), Close]), "closed the connection without a response");
    fails("without end", &Server::always(vec![Flood(go_on.into())]), "keeps sending interim responses (1xx)");
    let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    fails("101", &Server::always(vec![say(switching), Stall]), "responded with 101");
    fails("101, then 204", &Server::always(vec![say(format!("{switching}{done}"))]), "responded with 101");
}

#[test]
fn d4_odd_chunks_do_not_matter() {
    for body in [
        "-1\r\nx\r\n",
        "\r\n\r\n",
        "5\r\nhello",
        "5\r\nhelloworld\r\n0\r\n\r\n",
        "FFFFFFFFFFFFFFFF\r\nx",
        "FFFFFFFFFFFFFFFFF\r\nx",
        "0000000000000000000000000000000000\r\n",
        "2\r\nok\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n",
        "2\r\nok\r\n0\r\nTrailer",
        "2;name=\"value\"\r\nok\r\n0\r\n\r\n",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        passes(body, &Server::always(vec![say(&text), Close]));
        let refused = Server::always(vec![say(text.replace("200 OK", "500 No")), Close]);
        fails(body, &refused, "responded with 500");
    }
}

#[test]
fn d4_odd_lengths_do_not_matter() {
    for header in [
        "Content-Length: 100",
        "Content-Length: 1",
        "Content-Length: 9223372036854775807",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nTransfer-Encoding: gzip",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\nhello");
        passes(header, &Server::always(vec![say(text), Close]));
    }
}

/// The head itself breaks HTTP's rules: then its status is not believed either.
#[test]
fn a4_a_head_that_breaks_the_rules_is_a_failure() {
    for header in [
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 5, 3",
        "Content-Length: -5",
        "Content-Length: five",
        "Content-Length: 99999999999999999999999",
        "Content-Length: 18446744073709551615",
        "Two words: x",
        "Without a colon",
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\nhello");
        fails(header, &Server::always(vec![say(text), Close]), "sent a response that is not valid HTTP (");
    }
}

#[test]
fn d4_an_endless_body_in_any_framing_does_not_matter() {
    let chunk = [b"10000\r\n", &vec![b'x'; 65536][..], b"\r\n"].concat();
    for (head, piece) in [
        ("Content-Length: 9999999999", vec![b'x'; 65536]),
        ("Transfer-Encoding: chunked", chunk),
        ("Transfer-Encoding: chunked\r\nX: tiny", b"1\r\nx\r\n".repeat(10_000)),
        ("Transfer-Encoding: chunked\r\nX: trailers", b"0\r\n".repeat(20_000)),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
        passes(&head, &Server::always(vec![say(&head), Flood(piece)]));
    }
}

#[test]
fn e2_what_is_not_a_response_is_reported_in_a_sentence() {
    for text in [
        "<html>all went well</html>\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\0\0\u{12}\u{4}\0\0\0\0\0\0\u{3}\0\0\0\u{64}\0\u{4}\0\0\u{7f}\u{7f}",
        "HTTP/2 204\r\n\r\n",
        "HTTP/2.0 204 No Content\r\n\r\n",
        "HTTP/1.1 99 Low\r\n\r\n",
        "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 000 None\r\n\r\n",
        "HTTP/1.1 2xx Fine\r\n\r\n",
        "HTTP/1.1  204 Blank\r\n\r\n",
        "HTTP/1.1 -20 Minus\r\n\r\n",
        "ICY 200 OK\r\n\r\n",
    ] {
        fails(text, &Server::always(vec![say(text), Close]), "is not valid HTTP");
    }
    for (text, part) in [
        ("HTTP/1.1 600 High\r\nContent-Length: 0\r\n\r\n", "responded with 600"),
        ("HTTP/1.0 500 Old\r\n\r\nno", "responded with 500"),
    ] {
        fails(text, &Server::always(vec![say(text), Close]), part);
    }
}

#[test]
fn a4_odd_but_whole_responses_count() {
    let many = format!("HTTP/1.1 204 X\n{}\n", "A: b\n".repeat(200));
    for text in [
        "HTTP/1.0 204 No Content\r\n\r\n",
        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 204 \r\n\r\n",
        "HTTP/1.1 204 No Content\n\n",
        "\r\nHTTP/1.1 204 No Content\r\n\r\n",
        "HTTP/1.1 204 Gr\u{fc}n \u{2713}\r\n\r\n",
        many.as_str(),
    ] {
        passes(text, &Server::always(vec![say(text), Stall]));
    }
}

/// `https://` toward a port that speaks plain HTTP, and the other way round.
#[test]
fn e2_the_wrong_scheme_is_reported() {
    let secure =
        |server: &Server| with(&config(server, 2), &json!({"id": server.url("/hook").replace("http", "https")}));
    for (steps, sentences) in [
        (vec![say("HTTP/1.1 400 Bad Request\r\n\r\n"), Close], ["is it an http address?"; 2]),
        (vec![Close], ["is it an http address?"; 2]),
        (vec![Pause(Duration::from_millis(200)), Reset], ["is it an http address?"; 2]),
        (vec![Stall], ["connected to https://", "but the TLS handshake did not finish within 1."]),
    ] {
        let server = Server::at_once(steps);
        let run = bounded(&Sandbox::new(), &secure(&server), "https to a plain port").expect(1);
        assert!(sentences.iter().all(|part| run.stderr.contains(part)), "{sentences:?} expected:\n{}", run.stderr);
        assert!(server.take().is_empty(), "nothing is sent in the clear");
        assert_eq!(server.take_connections(), 1, "one try");
    }
    for alert in [&b"\x15\x03\x03\0\x02\x02\x46"[..], b"\x15\x03\x01\0\x02\x02\x16"] {
        fails("http to a TLS port", &Server::always(vec![say(alert), Close]), "is it an https address?");
    }
}

/// A body of 6 MiB: more than the buffers of both sides hold while the server does not read. It grows from a short value:
/// a literal of that size would be a secret, and take longer to mask than to send.
fn large(server: &Server, timeout: u64) -> Value {
    let token = json!({"long": "__LINE__".repeat(6 << 8)});
    with(&config(server, timeout), &json!({"token": token, "line": "x".repeat(4 << 10)}))
}

/// The response to a large body may come before the body is sent; it counts, whether the rest is read or not.
#[test]
fn a4_a_response_that_comes_before_the_request_is_sent_counts() {
    let refusal = say("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
    thread::scope(|scope| {
        for steps in [vec![refusal.clone(), Stall], vec![refusal, Close]] {
            scope.spawn(|| {
                let server = Server::always(steps);
                fails_with("413 at once", &server, &large(&server, 5), &["responded with 413"]);
            });
        }
        for end in [Stall, Reset] {
            scope.spawn(|| {
                let server = Server::always(vec![say("HTTP/1.1 204 No Content\r\n\r\n"), end]);
                let sandbox = Sandbox::new();
                bounded(&sandbox, &large(&server, 5), "204 at once").expect(0).prints("accepted (204");
                bounded(&sandbox, &large(&server, 5), "204 at once").says_nothing();
                assert_eq!(server.take(), BTreeMap::from([("/hook".to_owned(), 1)]));
            });
        }
    });
}

/// One that responds first and reads afterwards gets all of it all the same.
#[test]
fn a4_a_large_body_is_sent_to_its_end_though_the_response_came_first() {
    let read_whole = Arc::new(AtomicBool::new(false));
    let note = read_whole.clone();
    let server = Server::always(vec![
        say("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Pause(Duration::from_millis(20)),
        TakeBody,
        Note(note),
    ]);
    bounded(&Sandbox::new(), &large(&server, 2), "200 at once").expect(0).prints("accepted (200");
    // The end of it may still be on its way when the run is over.
    let begun = Instant::now();
    while !read_whole.load(Ordering::SeqCst) {
        assert!(begun.elapsed() < SLACK, "the body was not read to its end");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn e2_a_large_body_that_is_not_read_ends_with_the_limit() {
    thread::scope(|scope| {
        for server in [Server::at_once(vec![Stall]), Server::always(vec![Stall])] {
            scope.spawn(move || fails_with("never reads", &server, &large(&server, 1), &["within 1 s"]));
        }
        for end in [Close, Reset] {
            let server = Server::always(vec![Pause(Duration::from_millis(100)), end]);
            let sentences = ["reset the connection"];
            scope.spawn(move || fails_with("closes in the middle", &server, &large(&server, 5), &sentences));
        }
    });
}
