//! `ddns`: tells any HTTP endpoint this host's address when it changes.
//!
//! This crate does; [`ddns_core`] decides. Arguments and environment are read here, once, and handed on.

mod cli;
mod clock;
mod commands;
mod environment;
mod http;
mod layout;
mod load;
mod log;
mod progress;
mod receiver;
mod report;
mod sources;
mod store;
mod sync;
mod watch;

use std::io::{self, Write as _};
use std::process::exit;
use std::rc::Rc;

use cli::table::Name;
use cli::{Given, Invocation, Settings};
use ddns_core::config::validate::Valid;
use ddns_core::diagnostic::Diagnostic;
use ddns_core::outcome::Tally;
use ddns_core::schedule::Look;
use tokio::runtime::LocalOptions;

use environment::Environment;
use http::Client;
use log::Log;
use progress::Progress;
use sync::Sync;

/// Configuration or usage is wrong; nothing was sent (E7).
const USAGE: u8 = 2;

fn main() {
    let code = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Synchronize(settings)) => wait_for(synchronize(settings)),
        Ok(Invocation::Command(name, given)) => command(name, given),
        Ok(Invocation::Template(given)) => commands::init::template(&given),
        Ok(Invocation::Show(text)) => print(&text),
        Err(error) => complain(&[error]),
    };
    exit(code.into())
}

/// Does what one command is there for: a line for each row of the table.
fn command(name: Name, given: Given) -> u8 {
    match name {
        Name::Demo => wait_for(commands::demo::run()),
        Name::Watch => wait_for(watch::run(given.settings)),
        Name::Status => wait_for(commands::status::run(given)),
        Name::Sync => wait_for(commands::sync::run(given)),
        Name::Init => wait_for(commands::init::run(given)),
        Name::Addresses => wait_for(commands::addresses::run(given)),
        Name::Listen => wait_for(commands::listen::run(given)),
        Name::Check => wait_for(commands::check::run(given)),
        Name::Preview => wait_for(commands::preview::run(given)),
        Name::Schema => print(&ddns_core::config::reference::schema()),
        Name::Completions => commands::completions::run(&given),
        Name::Man => commands::man::run(),
        Name::Help => commands::help::run(&given),
    }
}

/// Runs one task to its end, on this thread.
fn wait_for(task: impl Future<Output = u8> + 'static) -> u8 {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // Few events at a time: a buffer for a thousand would be most of our memory.
    builder.enable_all().max_blocking_threads(4).max_io_events_per_tick(64);
    match builder.build_local(LocalOptions::default()) {
        Ok(runtime) => {
            // As a task of its own it is woken without a call to the system.
            let code = runtime.block_on(async { tokio::task::spawn_local(task).await });
            // Not taken apart: the system takes everything back, and a name look-up that hangs is not waited for.
            std::mem::forget(runtime);
            code.unwrap_or(1)
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the system gives no means to wait for the network ({error})");
            1
        }
    }
}

/// Loads everything, then tells everything.
async fn synchronize(settings: Settings) -> u8 {
    let environment = Environment::read();
    let client = Client::default();
    let configs = match load::load(settings.clone(), &environment, &client).await {
        Ok(configs) => configs,
        Err(wrong) => return complain(&wrong),
    };
    if configs.iter().any(|(config, _)| config.interval.is_some()) {
        return Box::pin(watch::serve(settings, configs, environment, client)).await;
    }
    let progress = Rc::new(Progress::default());
    let open = |valid| open_log(valid, &environment).above(&progress);
    let logs: Vec<Log<'_>> = configs.iter().map(open).collect();
    let tellers = sync::tellers(&configs, &logs, &client);
    let mut sync = Sync::new(&tellers, &environment, None);
    if environment.allows_progress() {
        progress.begin();
        sync.progress = progress;
    }
    sync.look(&Look::everything(configs.len()));
    while !sync.is_done() {
        sync.turn().await;
    }
    let mut all = Tally::default();
    for (tally, log) in sync.finish().iter().zip(&logs) {
        log.info(tally.to_string());
        all = all.plus(*tally);
    }
    all.exit_code()
}

/// The log of one configuration, with what is doubtful about it as its first lines.
fn open_log<'a>((config, warnings): &'a Valid, environment: &Environment) -> Log<'a> {
    let path = config.log.file.as_deref().map(|file| environment.path(file));
    let log = Log::open(&config.log, path.as_deref(), || sync::secrets(config), environment.allows_colour());
    for warning in warnings {
        log.warning(warning.one_line());
    }
    log
}

/// Tells everything that is wrong at once.
fn complain(wrong: &[Diagnostic]) -> u8 {
    let told: Vec<String> = wrong.iter().map(Diagnostic::shown).collect();
    let _ = writeln!(io::stderr(), "{}", told.join("\n"));
    USAGE
}

/// Says why a command cannot do what it is there for.
fn fail(why: &str) -> u8 {
    let _ = writeln!(io::stderr(), "error: {why}");
    1
}

/// Prints what was asked for. A closed pipe is no reason to complain.
fn print(text: &str) -> u8 {
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(io::stderr(), "error: standard output cannot be written to ({error})");
            1
        }
        _ => 0,
    }
}
