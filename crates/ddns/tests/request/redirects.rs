//! Redirections (D3), as the receivers see them.

use std::io::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::authority::Authority;
use crate::support::odd_server::{serve, stalling};
use crate::support::{Receiver, Response, Sandbox};

fn config(id: &str, token: &Value) -> Value {
    json!({
        "dns": "callback", "id": id, "token": token, "ipv4": "home.example.com", "index4": "shell:echo 203.0.113.7",
    })
}

/// Sends `/start` on to `location` with a status; everything else is accepted.
fn sending_on(status: u16, location: &str) -> Receiver {
    let location = location.to_owned();
    Receiver::responding(move |request| match request.target() {
        "/start" => Response::status(status).header("Location", &location),
        _ => Response::status(204),
    })
}

#[test]
fn d3_method_and_body_are_kept_but_for_303() {
    for (status, method) in [(301, "POST"), (302, "POST"), (307, "POST"), (308, "POST"), (303, "GET")] {
        let receiver = sending_on(status, "/end?x=1");
        Sandbox::new()
            .sync(&config(&receiver.url("/start"), &json!({"ip": "__IP__"})))
            .expect(0)
            .prints("accepted (204");
        let seen = receiver.callbacks();
        assert_eq!(seen.len(), 2, "{status}: {seen:#?}");
        assert_eq!((seen[1].method(), seen[1].target()), (method, "/end?x=1"), "{status}");
        let body = if method == "POST" { r#"{"ip":"203.0.113.7"}"# } else { "" };
        assert_eq!(seen[1].text(), body, "{status}");
        assert_eq!(seen[1].header("content-type").is_some(), method == "POST", "{status}");
    }
}

#[test]
fn d3_the_final_status_counts() {
    let receiver = Receiver::responding(|request| match request.target() {
        "/start" => Response::status(302).header("Location", "gone"),
        _ => Response::status(404),
    });
    Sandbox::new().sync(&config(&receiver.url("/start"), &Value::Null)).expect(1).prints("404");
    assert_eq!(receiver.callbacks()[1].target(), "/gone");
}

#[test]
fn d3_without_a_location_the_redirection_is_the_final_response() {
    for status in [300, 302, 304] {
        let receiver = Receiver::responding(move |_| Response::status(status));
        Sandbox::new().sync(&config(&receiver.url("/start"), &Value::Null)).expect(1).prints(&status.to_string());
        receiver.only();
    }
}

#[test]
fn d3_loops_end_after_ten() {
    let receiver =
        Receiver::responding(|request| Response::status(302).header("Location", &format!("{}x", request.target())));
    let begun = Instant::now();
    let run = Sandbox::new().sync(&config(&receiver.url("/start"), &Value::Null)).expect(1);
    run.prints("redirects more than 10 times");
    assert_eq!(receiver.callbacks().len(), 11);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn d3_a_redirect_back_to_the_same_request_ends_at_once() {
    for (location, token, requests) in
        [("/start", Value::Null, 1), ("/other", Value::Null, 2), ("/start", json!({}), 1)]
    {
        let receiver = Receiver::responding(move |request| {
            let location = if request.target() == "/start" { location } else { "/start" };
            Response::status(307).header("Location", location)
        });
        let run = Sandbox::new().sync(&config(&receiver.url("/start"), &token)).expect(1);
        run.prints("redirects in a circle");
        assert_eq!(receiver.callbacks().len(), requests, "{location}");
    }
    // With another method it is another request.
    let receiver = Receiver::responding(|request| match request.method() {
        "POST" => Response::status(303).header("Location", "/start"),
        _ => Response::status(204),
    });
    Sandbox::new().sync(&config(&receiver.url("/start"), &json!({"a": 1}))).expect(0);
}

#[test]
fn d3_another_origin_gets_no_credentials() {
    let other = Receiver::new();
    let receiver = sending_on(307, &other.url("/end"));
    let with_password = |url: String| url.replace("http://", "http://user:s3cr3t-pw@");
    let run = Sandbox::new().sync(&config(&with_password(receiver.url("/start")), &json!({"a": 1})));
    // The body goes there too, so the log names the place.
    let warning = format!("redirects requests, with your keys, to http://127.0.0.1:{}", other.port());
    run.expect(0).never_prints("s3cr3t-pw").prints(&warning);
    assert!(receiver.only().header("authorization").is_some());
    assert_eq!(other.only().header("authorization"), None);
    assert_eq!(other.only().text(), r#"{"a":1}"#);

    let receiver = sending_on(307, "/end");
    Sandbox::new().sync(&config(&with_password(receiver.url("/start")), &Value::Null)).expect(0);
    assert!(receiver.callbacks()[1].header("authorization").is_some(), "the same origin keeps them");
}

/// With `expect` too, which reads the body of the response; once, however many requests are sent on.
#[test]
fn d3_a_request_with_keys_that_goes_to_another_origin_says_so_whoever_judges_the_response() {
    let other = Receiver::new();
    let reject = json!({"reject": "no such key"});
    for (token, expect) in
        [(json!({"key": "k3y-of-mine"}), reject.clone()), (json!({}), reject), (json!({}), json!({}))]
    {
        let receiver = sending_on(307, &other.url("/end"));
        let mut config = config(&receiver.url("/start"), &token);
        config["ipv4"] = json!(["a.example.com", "b.example.com"]);
        config["expect"] = expect;
        let run = Sandbox::new().sync(&config).expect(0).never_prints("k3y-of-mine");
        let keys = if token == json!({}) { "" } else { ", with your keys," };
        let warning = format!("{} redirects requests{keys} to {}", receiver.url(""), other.url(""));
        assert_eq!(run.stderr.matches(&warning).count(), 1, "{config:#}\n{}", run.stderr);
    }
    // A page has no keys.
    let page = Receiver::responding(|_| Response::with_body(200, "203.0.113.7"));
    let receiver = sending_on(302, &page.url("/address"));
    let mut config = config(&other.url("/"), &json!({}));
    config["index4"] = json!(format!("url:{}", receiver.url("/start")));
    Sandbox::new().sync(&config).expect(0).never_prints("redirects requests");
}

#[test]
fn d3_a_location_that_is_no_address_is_a_failure() {
    for location in ["ftp://h/x", "http://", "http://h:99999/", "http://[::1/"] {
        let receiver = sending_on(302, location);
        let run = Sandbox::new().sync(&config(&receiver.url("/start"), &Value::Null));
        run.expect(1).prints("redirects to an address that");
        receiver.only();
    }
}

#[test]
fn d3_the_time_limit_holds_for_all_of_it() {
    let receiver = Receiver::responding(|request| {
        let next = format!("{}x", request.target());
        Response::status(302).header("Location", &next).after(Duration::from_millis(400))
    });
    let mut config = config(&receiver.url("/start"), &Value::Null);
    config["timeout"] = json!(1);
    let begun = Instant::now();
    Sandbox::new().sync(&config).expect(1).prints("within 1 s");
    assert!(begun.elapsed() < Duration::from_secs(3));
}

/// Where the keys went is reported for every hop, whatever the next one does.
#[test]
fn d3_every_origin_that_got_the_keys_is_reported() {
    let end = Receiver::responding(
        |request| if request.target() == "/end" { Response::status(204) } else { Response::Close },
    );
    for (last, code) in [("/end", 0), ("/closes", 1)] {
        let between = sending_on(307, &end.url(last));
        let back = between.url("/start");
        let first = sending_on(307, &back);
        let run = Sandbox::new().sync(&config(&first.url("/start"), &json!({"a": 1}))).expect(code);
        let origin = |receiver: &Receiver| receiver.url("");
        run.prints(&format!("{} redirects requests, with your keys, to {}", origin(&first), origin(&between)))
            .prints(&format!("{} redirects requests, with your keys, to {}", origin(&first), origin(&end)));
    }
}

#[test]
fn d6_every_origin_that_was_trusted_unverified_is_reported() {
    let stranger = Authority::new("stranger");
    let (first, second) = (stranger.server("localhost"), stranger.server("localhost"));
    first.redirect_to(&second.url("/end"));
    let run = Authority::new("known").trusted().sync(&config(&first.url("/start"), &Value::Null)).expect(0);
    run.prints(&format!("https://localhost:{} is trusted unverified", first.port))
        .prints(&format!("https://localhost:{} is trusted unverified", second.port));
}

#[test]
fn e2_the_hop_that_hangs_is_the_one_that_is_blamed() {
    let hangs = stalling(b"");
    let first = sending_on(307, &format!("http://{hangs}/end"));
    let mut config = config(&first.url("/start"), &Value::Null);
    config["timeout"] = json!(1);
    let run = Sandbox::new().sync(&config).expect(1);
    run.prints(&format!("failed: http://{hangs} took the connection but did not respond within 1 s"))
        .prints(&format!("{} redirects requests to http://{hangs}", first.url("")));
}

#[test]
fn a4_the_body_of_a_redirect_is_not_waited_for_though_expect_needs_one() {
    let end = Receiver::responding(|_| Response::with_body(200, "good"));
    let head = format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 100\r\n\r\nx", end.url("/end"));
    let mut config = config(&format!("http://{}/start", stalling(head.leak().as_bytes())), &Value::Null);
    config["timeout"] = json!(5);
    config["expect"] = json!({"accept": "good"});
    Sandbox::new().sync(&config).expect(0);
    assert_eq!(end.callbacks().len(), 1);
}

#[test]
fn a4_a_redirect_behind_many_headers_is_followed_or_fails_with_a_sentence() {
    for (count, code) in [(99, 0), (150, 0), (250, 0), (300, 1)] {
        let receiver = Receiver::responding(move |request| match request.target() {
            "/start" => {
                let filled = (0..count).fold(Response::status(307), |response, number| {
                    response.header(&format!("X-Filler-{number}"), "filler")
                });
                filled.header("Location", "/end")
            }
            _ => Response::status(204),
        });
        let run = Sandbox::new().sync(&config(&receiver.url("/start"), &Value::Null)).expect(code);
        assert_eq!(receiver.callbacks().len(), 2 - usize::try_from(code).expect("0 or 1"), "{count} headers");
        if code == 1 {
            run.prints("sent a response whose head is longer than 64 KiB, or has more than 256 headers");
        }
    }
}

#[test]
fn d3_a_location_that_is_not_utf8_is_followed_byte_for_byte() {
    let receiver = Receiver::new();
    let to = receiver.url("/caf");
    let server = serve(move |mut stream| {
        let head =
            [b"HTTP/1.1 302 Found\r\nLocation: ", to.as_bytes(), b"\xe9?x=\xff\r\nContent-Length: 0\r\n\r\n"].concat();
        let _ = stream.write_all(&head);
    });
    Sandbox::new().sync(&config(&format!("http://{server}/?ip=__IP__"), &Value::Null)).expect(0);
    assert_eq!(receiver.take()[0].target(), "/caf%E9?x=%FF");
}
