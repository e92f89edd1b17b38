//! What browsers are told while they show the page (I1).

use std::io::Write as _;
use std::net::TcpStream;

use crate::support::page::{Page, Visitor, within};
use crate::support::watching::{SOON, until};

const ALIVE: &str = "event: alive\ndata: 1\n\n";

fn listen(page: &Page, visitor: &Visitor) -> TcpStream {
    let mut stream = page.connect();
    let request = format!("GET /events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", page.host(), visitor.cookie);
    stream.write_all(request.as_bytes()).expect("it is taken");
    stream
}

#[test]
fn i1_a_change_is_told_to_whoever_shows_the_page() {
    let page = Page::open();
    page.endpoint.wait(1, SOON);
    let mut stream = listen(&page, &Visitor::default());
    let first = within(&mut stream, SOON);
    assert!(first.starts_with("HTTP/1.1 200 OK") && first.contains("text/event-stream"), "{first}");
    // A script can tell a service that hangs by the signs of life that do not come.
    until(SOON, "a sign of life", || first.contains(ALIVE) || within(&mut stream, SOON).contains(ALIVE));
    page.endpoint.receiver.set_ip("203.0.113.9");
    page.sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    until(SOON, "an event", || within(&mut stream, SOON).contains("event: changed\n"));
    // It says no more than that.
    assert!(!within(&mut stream, crate::support::watching::ms(500)).contains("203.0.113.9"));
}

#[test]
fn i2_events_end_with_the_session() {
    let page = Page::locked();
    let visitor = page.logged_in();
    let mut stream = listen(&page, &visitor);
    assert!(within(&mut stream, SOON).starts_with("HTTP/1.1 200 OK"));
    page.post("/logout", &visitor, "").expect(303);
    let mut rest = String::new();
    until(SOON, "the end of the events", || {
        rest += &within(&mut stream, SOON);
        rest.ends_with("0\r\n\r\n")
    });
}

#[test]
fn i2_the_number_of_listeners_is_bounded_and_the_newest_is_heard() {
    let page = Page::open();
    let mut streams: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut stream = listen(&page, &Visitor::default());
            assert!(within(&mut stream, SOON).starts_with("HTTP/1.1 200 OK"));
            stream
        })
        .collect();
    let mut is_over = |at: usize| {
        let stream: &mut TcpStream = &mut streams[at];
        let mut bytes = String::new();
        until(SOON, "it ends", || {
            bytes += &within(stream, SOON);
            bytes.ends_with("0\r\n\r\n")
        });
    };
    (0..80 - 16).for_each(&mut is_over);
    page.get("/").expect(200);
    page.sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    until(SOON, "an event", || within(&mut streams[79], SOON).contains("event: changed\n"));
}

/// A browser that is gone is noticed by itself, and one that takes nothing costs no more than the next event.
#[test]
fn i2_who_stops_reading_costs_nothing() {
    let page = Page::open();
    page.endpoint.wait(1, SOON);
    let before = (page.watch.open_files(), page.watch.measure("status", "VmRSS:"));
    let mut streams: Vec<TcpStream> = (0..10).map(|_| listen(&page, &Visitor::default())).collect();
    for stream in &mut streams {
        assert!(within(stream, SOON).starts_with("HTTP/1.1 200 OK"));
    }
    // From now on nobody reads.
    for _ in 0..50 {
        page.sandbox.run(&["sync", "-c", "config.json"]).expect(0);
    }
    assert!(page.watch.measure("status", "VmRSS:") < before.1 + 4000);
    drop(streams);
    until(SOON, "they are noticed", || page.watch.open_files() <= before.0);
}
