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
use std::process::ExitCode;

use ddns_core::config::validate::Valid;
use ddns_core::outcome::Tally;

use environment::Environment;
use http::Client;
use log::Log;
use sync::Sync;

/// Configuration or usage is wrong; nothing was sent (E7).
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let matches = match cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version are no errors. A closed pipe is no reason to complain.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let environment = Environment::read();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(4).build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: the system gives no means to wait for the network ({error})");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(async {
        match matches.subcommand() {
            Some(("demo", _)) => commands::demo::run().await,
            _ => synchronize(&matches, &environment).await,
        }
    });
    // At once: the system takes everything back, and a name look-up that hangs is not waited for.
    std::process::exit(code.into())
}

/// Loads everything, then tells everything.
async fn synchronize(matches: &clap::ArgMatches, environment: &Environment) -> u8 {
    let client = Client::new();
    let loaded = load::load(cli::config_files(matches), cli::settings(matches), environment, &client).await;
    let configs = match loaded {
        Ok(configs) => configs,
        Err(errors) => {
            let told: Vec<String> = errors.iter().map(|error| error.shown()).collect();
            let _ = writeln!(io::stderr(), "{}", told.join("\n"));
            return USAGE;
        }
    };
    let mut sync = Sync::new(&client, environment);
    let mut tally = Tally::default();
    for valid in &configs {
        tally = tally.plus(run(&mut sync, valid, environment).await);
    }
    tally.exit_code()
}

/// Runs one configuration with its own log.
async fn run(sync: &mut Sync<'_>, (config, warnings): &Valid, environment: &Environment) -> Tally {
    let path = config.log.file.as_deref().map(|file| environment.path(file));
    let log = Log::open(&config.log, path.as_deref(), || sync::secrets(config), environment.get("NO_COLOR").is_some());
    for warning in warnings {
        log.warning(warning.one_line());
    }
    let tally = sync.run(config, &log).await;
    log.info(tally.to_string());
    tally
}
