//! `ddns`: tells any HTTP endpoint this host's address when it changes.
//!
//! This crate does; [`ddns_core`] decides. Arguments and environment are read here, once, and handed on.

mod cli;
mod commands;
mod environment;
mod http;
mod load;
mod log;
mod report;
mod sources;
mod store;
mod sync;

use std::io::{self, Write as _};
use std::process::exit;

use cli::Invocation;
use ddns_core::config::raw::Raw;
use ddns_core::config::validate::Valid;
use ddns_core::diagnostic::Diagnostic;
use ddns_core::outcome::Tally;

use environment::Environment;
use http::Client;
use log::Log;
use sync::Sync;

/// Configuration or usage is wrong; nothing was sent (E7).
const USAGE: u8 = 2;

fn main() {
    let code = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Synchronize(files, options)) => wait_for(synchronize(files, options)),
        Ok(Invocation::Demo) => wait_for(commands::demo::run()),
        Ok(Invocation::Help) => print(&cli::help()),
        Ok(Invocation::Version) => print(concat!("ddns ", env!("CARGO_PKG_VERSION"), "\n")),
        Err(error) => complain(&[error]),
    };
    exit(code.into())
}

/// Runs one task to its end, on this thread.
fn wait_for(task: impl Future<Output = u8>) -> u8 {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // Few events at a time: a buffer for a thousand would be most of our memory.
    let runtime = builder.enable_all().max_blocking_threads(4).max_io_events_per_tick(64).build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(task);
            // Not taken apart: the system takes everything back, and a name look-up that hangs is not waited for.
            std::mem::forget(runtime);
            code
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the system gives no means to wait for the network ({error})");
            1
        }
    }
}

/// Loads everything, then tells everything.
async fn synchronize(files: Vec<String>, options: Raw) -> u8 {
    let environment = Environment::read();
    let client = Client::new();
    let configs = match load::load(files, options, &environment, &client).await {
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    let mut sync = Sync::new(&client, &environment);
    let mut tally = Tally::default();
    for valid in &configs {
        tally = tally.plus(run(&mut sync, valid, &environment).await);
    }
    tally.exit_code()
}

/// Runs one configuration with its own log.
async fn run(sync: &mut Sync<'_>, (config, warnings): &Valid, environment: &Environment) -> Tally {
    let path = config.log.file.as_deref().map(|file| environment.path(file));
    let no_colour = environment.get("NO_COLOR").is_some();
    let log = Log::open(&config.log, path.as_deref(), || sync::secrets(config), no_colour);
    for warning in warnings {
        log.warning(warning.one_line());
    }
    let tally = sync.run(config, &log).await;
    log.info(tally.to_string());
    tally
}

/// Tells everything that is wrong at once.
fn complain(wrong: &[Diagnostic]) -> u8 {
    let told: Vec<String> = wrong.iter().map(Diagnostic::shown).collect();
    let _ = writeln!(io::stderr(), "{}", told.join("\n"));
    USAGE
}

/// Prints what was asked for. A closed pipe is no reason to complain.
fn print(text: &str) -> u8 {
    let _ = io::stdout().write_all(text.as_bytes());
    0
}
