//! `ddns`: sends this host's address to any HTTP endpoint when it changes.
//!
//! This crate acts; [`ddns_core`] decides. Arguments and environment are read once and passed on.

mod cli;
mod clock;
mod commands;
mod compose;
mod dns;
mod driver;
mod environment;
mod group;
mod hidden_prompt;
mod history;
mod http;
mod load;
mod lookup;
mod notify;
mod open_file;
mod output;
mod platform;
mod random;
mod rsa;
mod set_up;
mod signals;
mod steps;
mod store;
#[cfg(debug_assertions)]
mod trace;
mod udp;
mod watch;
mod web;

use std::process::exit;

use tokio::runtime::LocalOptions;

use cli::table::Name;
use cli::{Invocation, ParsedArgs};
use output::Ended;

fn main() {
    signals::survive_file_limit();
    let code = match cli::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Synchronize(settings)) => wait_for(commands::run::run(settings)),
        Ok(Invocation::Command(name, given)) => command(name, given),
        Ok(Invocation::Template(given)) => commands::init::template(&given).unwrap_or_else(|code| code),
        Ok(Invocation::Show(text)) => output::print(&text),
        Err(error) => output::complain(&[error]),
    };
    exit(code.into())
}

/// Runs one command: a line for each row of the table.
fn command(name: Name, given: ParsedArgs) -> u8 {
    match name {
        Name::Demo => wait_for(commands::demo::run()),
        Name::Watch => wait_for(watch::run(given.settings)),
        Name::Status => wait_for(commands::status::run(given)),
        Name::History => wait_for(commands::history::run(given)),
        Name::Sync => wait_for(commands::sync::run(given)),
        Name::Verify => wait_for(commands::verify::run(given)),
        Name::Init => wait_for(commands::init::run(given)),
        Name::Import => commands::import::run(&given),
        Name::Addresses => wait_for(commands::addresses::run(given)),
        Name::Listen => wait_for(commands::listen::run(given)),
        Name::Check => wait_for(commands::check::run(given)),
        Name::Preview => wait_for(commands::preview::run(given)),
        Name::Password => commands::password::run(),
        Name::Service => wait_for(commands::service::run(given)),
        Name::Notify => wait_for(commands::notify::run(given)),
        Name::Recipes => commands::recipes::run(&given),
        Name::Schema if given.has("recipe") => output::print(&ddns_core::recipe::schema()),
        Name::Schema => output::print(&ddns_core::config::reference::schema()),
        Name::Completions => commands::completions::run(&given),
        Name::Man => commands::man::run(),
        Name::Version => commands::version::run(&given),
        Name::Help => commands::help::run(&given),
    }
}

/// Runs one task to its end, on this thread.
fn wait_for(task: impl Future<Output = Ended> + 'static) -> u8 {
    if environment::spare_files().is_err() {
        let most = environment::max_open_files();
        return output::fail(&format!(
            "too few files may be open at once: the limit is {most}; raise it, with `ulimit -n 1024` for example"
        ));
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // The default buffer, for a thousand events, would be most of the memory of ddns.
    builder.enable_all().max_io_events_per_tick(64);
    match builder.build_local(LocalOptions::default()) {
        Ok(runtime) => {
            // A task of its own is woken without a system call.
            let code = runtime.block_on(async { tokio::task::spawn_local(task).await });
            // Not dropped: the process ends now, and must not wait for a name lookup that hangs.
            std::mem::forget(runtime);
            code.map_or(1, |ended| ended.unwrap_or_else(|code| code))
        }
        Err(error) => output::fail(&format!("this system cannot wait for network events ({error})")),
    }
}
