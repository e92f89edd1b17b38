//! `ddns demo`: the whole program in ten seconds, on this machine alone. A receiver on loopback stands in for the
//! endpoint; the real code loads a configuration, plans, sends and remembers.

use std::cell::RefCell;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

use ddns_core::callback::USER_AGENT;
use ddns_core::config;
use ddns_core::config::validate::{Valid, validate_text};
use ddns_core::engine::plan::{ConfigIdentity, Plan, StorePlace};
use ddns_core::engine::{Event, Mode};
use ddns_core::journal::{JournalEvent, What};
use ddns_core::net::family::Family;
use ddns_core::text::diagnostic::Diagnostic;
use ddns_core::text::log_format::Level;
use ddns_core::update::Update;
use tokio::net::TcpListener;

use crate::clock::unix_time;
use crate::compose;
use crate::driver::Driver;
use crate::environment::Environment;
use crate::http::Client;
use crate::http::server::{Reaction, ReceiverResponse, serve};
use crate::lookup::own_address;
use crate::output::layout::{broken, fitted, folded, width_of};
use crate::output::log::Log;
use crate::output::{Ended, fail};

/// Documentation addresses: sent if the host has no address of its own, and as the changed address.
const SPARE_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
const SPARE_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7));
const CHANGED_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 23));

/// Exits with 0, or with 1 if the demo cannot run.
pub(crate) async fn run() -> Ended {
    match show(&mut io::stdout().lock()).await {
        // The reader of the pipe has seen enough.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(fail(&format!("the demo cannot run: {error}"))),
        _ => Ok(0),
    }
}

async fn show(out: &mut impl Write) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(|error| io::Error::other(format!("it needs a port on 127.0.0.1 ({error})")))?;
    let origin = format!("http://{}", listener.local_addr()?);
    let text = include_str!("demo.json").replace("ORIGIN", &origin);
    let mut valid = load(&text)?;
    valid.0.log.level = Level::Critical;
    let configs = Rc::new(vec![valid]);
    let received = receive(listener);
    let (client, environment) = (Client::default(), Environment::read());
    let logs = [Log::open(&configs[0], &environment)];
    let identity = ConfigIdentity { name: String::new(), is_file: false };
    // Like a service, but with a cache in memory: nothing is written to the disk.
    let plan = Rc::new(Plan::new(Rc::clone(&configs), vec![identity], |_, _| StorePlace::Memory));
    let engine = compose::engine(Rc::clone(&plan), Mode::Service);
    let mut driver = Driver::new(engine, &plan, (&client, &logs), None);
    let v4 = own_address(Family::V4);
    let v6 = own_address(Family::V6);
    let note = match (v4, v6) {
        (Some(_), Some(_)) => "",
        (None, Some(_)) => " (an example: this host has no IPv4 route)",
        (Some(_), None) => " (the IPv6 address is an example: this host has no IPv6 route)",
        (None, None) => " (an example, like the IPv6 address: this host has no route)",
    };
    let (v4, v6) = (v4.unwrap_or(SPARE_V4), v6.unwrap_or(SPARE_V6));

    let width = width_of(io::stdout());
    let intro = "ddns sends this host's address to your HTTP endpoint whenever it changes.";
    let place = format!("The endpoint of this demo is {origin}: nothing leaves this machine.");
    writeln!(out, "{}", broken(&format!("{intro} {place}"), 0, width))?;
    let configuration = format!("The configuration has two callbacks, one GET and one POST:\n\n{}", indented(&text));
    writeln!(out, "{}", fitted(&configuration, width))?;

    let first = format!("1. The IPv4 address is {v4}{note}. Nothing was sent before, so every domain is updated.");
    writeln!(out, "{}", broken(&first, 0, width))?;
    round(&mut driver, Event::Begin, [v4, v6], &received, out).await?;
    writeln!(out, "2. No address changes, so nothing is sent.\n")?;
    round(&mut driver, Event::Synchronize, [v4, v6], &received, out).await?;
    let third = format!("3. The IPv4 address changes to {CHANGED_V4} (an example). Only that update is sent.");
    writeln!(out, "{}", broken(&third, 0, width))?;
    round(&mut driver, Event::Synchronize, [CHANGED_V4, v6], &received, out).await?;
    let outcome = "A status from 200 to 299 means that the update was accepted, and it is remembered. After any other \
        response the next run sends it again.";
    let keys = "Keys in a configuration appear as *** in every log, as above.";
    writeln!(out, "{}", broken(&format!("{outcome} {keys}"), 0, width))?;
    let next = "Next: `ddns init` asks a few questions and writes config.json; then run `ddns`.";
    write!(out, "{}", broken(next, 0, width))
}

fn load(text: &str) -> io::Result<Valid> {
    validate_text("config.json", text)
        .map_err(|wrong| io::Error::other(wrong.iter().map(Diagnostic::shown).collect::<String>()))
}

/// One synchronization with these addresses; shows each request as it is sent and as it is received.
async fn round(
    driver: &mut Driver<'_>,
    event: Event,
    addresses: [IpAddr; 2],
    received: &ReceivedLog,
    out: &mut impl Write,
) -> io::Result<()> {
    // The demo replaces the sources, which is allowed because its endpoint is on loopback (A8).
    driver.give(addresses);
    driver.on(event);
    while driver.take_milestones().is_empty() {
        let event = driver.next(None).await;
        driver.on(event);
    }
    let journal = driver.take_journal();
    let mut received = received.take().into_iter();
    let plan = Rc::clone(driver.engine.plan());
    // At most two requests go to one origin, so they arrive in the order in which they are sent.
    for (at, family) in [(0, Family::V4), (1, Family::V6)] {
        let entry = plan.entry(at);
        for domain in entry.domains_of(family) {
            let update = entry.update(domain, family, addresses[family.index()]);
            let is_sent =
                |event: &JournalEvent| matches!(&event.what, What::Settled(settled) if settled.about.entry == at);
            if !journal.iter().any(is_sent) {
                writeln!(out, "   {update}: already up to date\n")?;
                continue;
            }
            show_sent(entry, &update, out)?;
            if let Some(received) = received.next() {
                show_received(&received, out)?;
            }
        }
    }
    Ok(())
}

fn show_sent(entry: &config::Entry, update: &Update<'_>, out: &mut impl Write) -> io::Result<()> {
    let request = entry.callback.redacted(update, unix_time(), USER_AGENT, false).map_err(io::Error::other)?;
    writeln!(out, "   {update}")?;
    show_lines("sent", request.lines().iter().map(String::as_str), out)
}

fn show_received((line, body): &(String, String), out: &mut impl Write) -> io::Result<()> {
    let body = Some(body.as_str()).filter(|body| !body.is_empty());
    show_lines("received", [line.as_str()].into_iter().chain(body), out)?;
    show_lines("response", ["204 No Content: accepted, and remembered"].into_iter(), out)?;
    writeln!(out)
}

/// Writes lines beside a label.
fn show_lines<'a>(label: &str, lines: impl Iterator<Item = &'a str>, out: &mut impl Write) -> io::Result<()> {
    for (at, line) in lines.flat_map(|line| folded(line, width_of(io::stdout()) - 15)).enumerate() {
        let label = if at == 0 { label } else { "" };
        writeln!(out, "{}", format!("     {label:<9} {line}").trim_end())?;
    }
    Ok(())
}

/// Request lines and bodies that were received and not shown yet.
type ReceivedLog = Rc<RefCell<Vec<(String, String)>>>;

/// Receives requests in a task of its own, and responds with 204.
fn receive(listener: TcpListener) -> ReceivedLog {
    let received = ReceivedLog::default();
    let seen = received.clone();
    tokio::task::spawn_local(serve(listener, move |heard| {
        let Ok(request) = heard else { return Reaction::Ignore };
        let line = format!("{} {} HTTP/1.1", request.method, request.target);
        seen.borrow_mut().push((line, String::from_utf8_lossy(&request.body).into_owned()));
        Reaction::Respond(ReceiverResponse { status: 204, ..ReceiverResponse::default() })
    }));
    received
}

fn indented(text: &str) -> String {
    text.lines().flat_map(|line| ["   ", line, "\n"]).collect()
}
