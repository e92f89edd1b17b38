//! `ddns listen`: a receiver on this host that shows every request, and responds as its options say. Shows what an
//! endpoint would see, and how `ddns` handles its responses.

mod options;
mod show;

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;

use ddns_core::text::diagnostic::{Diagnostic, Place};
use futures_util::future::select;
use tokio::net::TcpListener;

use crate::cli::{ParsedArgs, ReportFormat};
use crate::http::server::{InvalidRequest, Reaction, Received, not_listening, serve};
use crate::output::{Ended, complain, put, say};
use crate::signals::{SIGINT, SIGTERM, Signals};
use options::ListenOptions;

/// Receives until a signal comes or `--count` is reached. Exits with 0; with 1 if it cannot listen; with 2 for a wrong
/// option or address.
pub(crate) async fn run(given: ParsedArgs) -> Ended {
    let options = ListenOptions::read(&given).map_err(|error| complain(&[error]))?;
    let refused = |error: io::Error| refused(options.address, &error);
    let listener = TcpListener::bind(options.address).await.map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    if !address.ip().is_loopback() {
        let ip = address.ip();
        say(&format!("warning: {ip} can be reached by other hosts: ddns shows everything they send\n"));
    }
    let form = given.form();
    if !printed(&show::beginning(address, &options, form)) {
        return Ok(0);
    }
    let receiver = RefCell::new(Receiver { options, form, count: 0 });
    let interrupted = pin!(interrupted());
    let served = pin!(serve(listener, |heard| receiver.borrow_mut().hear(heard)));
    select(served, interrupted).await;
    Ok(0)
}

/// Counts the requests, and responds to them.
struct Receiver {
    options: ListenOptions,
    form: ReportFormat,
    count: usize,
}

impl Receiver {
    /// Prints a request, and decides on the response.
    fn hear(&mut self, heard: Result<&Received, &InvalidRequest>) -> Reaction {
        let (text, verdict) = match heard {
            Ok(_) if self.options.count.is_some_and(|most| self.count >= most) => return Reaction::Ignore,
            Ok(request) => {
                self.count += 1;
                let response = self.options.response(self.count);
                (show::request(request, &response, self.count, self.form), Reaction::Respond(response))
            }
            Err(refusal) => (show::refusal(refusal, self.form), Reaction::Respond(self.options.response(1))),
        };
        if printed(&text) { verdict } else { Reaction::Stop }
    }
}

/// Prints at once; `false` if the reader of the pipe is gone.
fn printed(text: &str) -> bool {
    put(text).is_ok()
}

/// Waits for Ctrl-C, or the SIGTERM of a service manager.
async fn interrupted() {
    match Signals::new(&[SIGINT, SIGTERM]) {
        Ok(mut signals) => {
            poll_fn(|context| signals.poll(context)).await;
        }
        // Without handlers, the signals end the process anyway.
        Err(_) => std::future::pending().await,
    }
}

/// Prints why ddns cannot listen; returns the exit status.
fn refused(address: SocketAddr, error: &io::Error) -> u8 {
    let (message, hint) = not_listening(address, error);
    let diagnostic = Diagnostic::error(Place::Nowhere, message).hint(hint);
    if error.kind() == io::ErrorKind::AddrNotAvailable {
        return complain(&[diagnostic]);
    }
    say(&(diagnostic.shown() + "\n"));
    1
}
